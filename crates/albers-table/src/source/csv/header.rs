//! Whether the first line of a text holds the names of the columns, or is a record already.
//!
//! The names of columns are published, stand in job files and in messages: a record that is taken
//! for names shows a person everywhere. So what looks like a record is refused, and the user says
//! what it is.
//!
//! ```text
//!   Ann,34    a number above numbers      Ann,F     F occurs again below it
//!   Ben,29    is a value: a record        Ben,M     and is a value: a record
//!   Cleo,31                               Cleo,F
//!
//!   name,age  words above numbers are
//!   Ann,34    surely a name: names
//! ```
//!
//! Guarantee: a first line is refused if a cell of it is a number, a date, a boolean, an address
//! or figures as at least half of the cells below it are; or if cells of it occur again in their
//! columns: one is enough unless at least half of the columns speak for names, as a text above numbers
//! does. A record of nothing but words of which none occurs again in the first rows is taken for
//! names.
//! Cost: a look at the first rows, at some of them for what they are.

use albers_storage::wording;
use albers_storage::wording::{Field, Wording};

use super::records::Records;
use crate::TableError;
use crate::infer::TypeSample;
use crate::notation::is_known_missing;
use crate::schema::ColumnType;
use crate::source::{ReadOptions, SourceColumn, table_error};

/// Cells of a column whose kind is looked at; whether the first occurs again is looked at in all.
const MAX_CELLS: u32 = 1000;

/// Words that stand for no value, beside those that are known as missing: over numbers they speak
/// neither for names nor against.
const NO_VALUE: [&str; 16] = [
    "nil",
    "missing",
    "refused",
    "not known",
    "n.a.",
    "k.a.",
    "k. a.",
    "keine angabe",
    "unbek.",
    "unbekannt",
    "inconnu",
    "non renseigne",
    "non renseigné",
    "desconocido",
    "sin dato",
    "sin datos",
];

/// What the first line of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstLine {
    /// Names, as far as can be told; surely if the cells below one of them are of another kind.
    Names { surely: bool },
    /// A record: this column tells.
    Record { column_idx: usize },
}

/// What a cell is, as far as it tells names from values.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// A number, a code, a date or a time.
    Value,
    Boolean,
    /// It holds an `@`, and a dot after it.
    Address,
    /// It begins with a digit, perhaps behind signs, such as `3/12/1980`, `+49 171 5` or `>85`: its
    /// shape.
    Figures(String),
    Words,
}

/// What is known of one column.
struct Column<'a> {
    /// Its cell of the first line.
    first: &'a str,
    kind: Kind,
    n_cells: u32,
    /// Cells of the first one's kind.
    n_alike: u32,
    /// Values, booleans and addresses among the cells.
    n_of_kinds: [u32; 3],
    occurs_again: bool,
}

/// Tells names from a record by the first rows below it.
pub(super) fn judge(
    columns: &[SourceColumn],
    mut rows: Records<'_>,
    options: &ReadOptions,
) -> FirstLine {
    let mut columns: Vec<Column<'_>> =
        columns.iter().map(|column| Column::of(&column.name)).collect();
    while let Some(cells) = rows.next_record() {
        for (cell_idx, column) in columns.iter_mut().enumerate().take(cells.len()) {
            column.look_at(cells.get(cell_idx), options);
        }
    }
    if let Some(column_idx) = columns.iter().position(Column::is_like_those_below) {
        return FirstLine::Record { column_idx };
    }
    let n_sure = columns.iter().filter(|column| column.is_unlike_those_below()).count();
    let surely = n_sure > 0;
    let mut again = (0..columns.len()).filter(|&at| columns[at].occurs_again);
    match (again.next(), again.next()) {
        (Some(column_idx), None) if n_sure * 2 < columns.len() => FirstLine::Record { column_idx },
        (Some(column_idx), Some(_)) => FirstLine::Record { column_idx },
        _ => FirstLine::Names { surely },
    }
}

/// Whether a line surely holds names: it is no record, and of at least half of its columns the cells
/// below are of another kind. A line that others above it are passed over for must be that.
pub(super) fn are_surely_names(
    columns: &[SourceColumn],
    mut rows: Records<'_>,
    options: &ReadOptions,
) -> bool {
    let mut columns: Vec<Column<'_>> =
        columns.iter().map(|column| Column::of(&column.name)).collect();
    while let Some(cells) = rows.next_record() {
        for (cell_idx, column) in columns.iter_mut().enumerate().take(cells.len()) {
            column.look_at(cells.get(cell_idx), options);
        }
    }
    let n_sure = columns.iter().filter(|column| column.is_unlike_those_below()).count();
    let is_value = |column: &Column<'_>| column.is_like_those_below() || column.occurs_again;
    n_sure * 2 >= columns.len() && !columns.iter().any(is_value)
}

/// The refusal. It shows no cell of the line.
pub(super) fn not_names(table: &str, column_idx: usize) -> TableError {
    let problem = format!(
        "the first line looks like a record, not like the names of the columns: in column {} it \
         holds a value",
        column_idx + 1
    );
    let hint = wording![
        "say ",
        Field::Header.of("false"),
        " if the file has no line of names, or ",
        Field::Header.of("true"),
        " if this is one"
    ];
    table_error(table, problem, hint)
}

/// Whether a text begins as JSON does, and not with a name or a cell in brackets.
pub(super) fn is_json(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let second = text.get(1..).and_then(|rest| rest.trim_ascii_start().first());
    match text.first() {
        Some(b'{') => matches!(second, Some(b'"' | b'}')),
        Some(b'[') => matches!(second, Some(b'{' | b'[' | b'"' | b']')),
        _ => false,
    }
}

/// What to do about a text that begins as JSON does.
pub(super) fn json_hint(text: &[u8]) -> Wording {
    match text.trim_ascii_start().first() {
        Some(b'[') => "write one object per line, for example with jq -c '.[]'".into(),
        _ => wording!["if it has one object per line, say so with ", Field::From.of("jsonl")],
    }
}

impl<'a> Column<'a> {
    fn of(first: &'a str) -> Column<'a> {
        let kind = Kind::of(first.as_bytes());
        Column { first, kind, n_cells: 0, n_alike: 0, n_of_kinds: [0; 3], occurs_again: false }
    }

    fn look_at(&mut self, cell: &[u8], options: &ReadOptions) {
        let cell = cell.trim_ascii();
        self.occurs_again |= !cell.is_empty() && cell == self.first.as_bytes();
        if self.n_cells == MAX_CELLS || options.is_missing(cell) {
            return;
        }
        let kind = Kind::of(cell);
        self.n_cells += 1;
        self.n_alike += u32::from(kind == self.kind);
        match kind {
            Kind::Value => self.n_of_kinds[0] += 1,
            Kind::Boolean => self.n_of_kinds[1] += 1,
            Kind::Address => self.n_of_kinds[2] += 1,
            Kind::Figures(_) | Kind::Words => {}
        }
    }

    /// Whether the first cell is a value as at least half of those below it are, or could be.
    fn is_like_those_below(&self) -> bool {
        self.kind != Kind::Words && self.n_alike * 2 >= self.n_cells
    }

    /// Whether the first cell is words above what nearly always is something else.
    fn is_unlike_those_below(&self) -> bool {
        let is_nearly_all = |&n_cells: &u32| n_cells > 0 && n_cells * 20 >= self.n_cells * 19;
        let is_no_value = || {
            is_known_missing(self.first.as_bytes())
                || !self.first.chars().any(char::is_alphanumeric)
                || NO_VALUE.iter().any(|word| word.eq_ignore_ascii_case(self.first))
        };
        self.kind == Kind::Words
            && !self.first.is_empty()
            && self.n_of_kinds.iter().any(is_nearly_all)
            && !is_no_value()
    }
}

impl Kind {
    fn of(cell: &[u8]) -> Kind {
        let mut sample = TypeSample::default();
        sample.add(cell);
        if sample.has_value() {
            return Kind::Value;
        }
        if sample.column_type() == ColumnType::Boolean {
            return Kind::Boolean;
        }
        let after_at = cell.iter().position(|&byte| byte == b'@').filter(|&at| at > 0);
        if after_at.is_some_and(|at| cell[at..].contains(&b'.')) {
            return Kind::Address;
        }
        let is_sign = |byte: &u8| byte.is_ascii_punctuation() || byte.is_ascii_whitespace();
        match cell.iter().find(|byte| !is_sign(byte)) {
            Some(b'0'..=b'9') => Kind::Figures(shape_of(cell)),
            _ => Kind::Words,
        }
    }
}

/// A cell with one letter for each run of letters, and one digit for each run of digits.
fn shape_of(cell: &[u8]) -> String {
    let mut shape = String::new();
    for &byte in cell {
        let letter = match byte {
            b'0'..=b'9' => '9',
            b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => 'a',
            _ => char::from(byte),
        };
        if !shape.ends_with(letter) {
            shape.push(letter);
        }
    }
    shape
}

#[cfg(test)]
mod tests;
