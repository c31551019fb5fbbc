//! Where the names of the columns stand in a text, and what separates its cells.
//!
//! ```text
//!   sep=;                     says the delimiter, as spreadsheets do
//!   Admissions of 2020        title lines: at most one cell, above rows with several, the first of
//!                             which surely holds names
//!   ;name;age;                names: the first may lack, as row numbers have none; those at the end
//!   1;Ann;34;                 may lack where no row has a cell there
//! ```
//!
//! Guarantee: a line is passed over only if what follows is surely the names of columns above their
//! values; otherwise the first line is taken for what it is, and judged.
//! Cost: a look at the first rows.

use albers_storage::wording;
use albers_storage::wording::Field;

use super::header;
use super::records::{BlankLines, Records};
use crate::TableError;
use crate::source::{ReadOptions, SourceColumn, table_error};

/// Bytes that cells are separated by, as far as that is told without asking.
pub(in crate::source) const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Other bytes that may separate cells, and how many a line must have of them at least.
const ODD_DELIMITERS: [(u8, usize); 4] = [(b':', 2), (b'^', 1), (b'~', 1), (b' ', 2)];

/// Rows that are looked at, and bytes that they may have.
const MAX_ROWS: usize = 64;
const MAX_BYTES: usize = 1 << 18;

/// Lines that may stand above the names.
const MAX_TITLE_LINES: usize = 20;

/// The shape of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// The byte between cells.
    pub(super) delimiter: u8,
    /// Bytes before the names, or before the first record.
    pub(super) n_skipped_bytes: usize,
    /// Title lines among them.
    pub(super) n_title_lines: u64,
    /// Columns at the end that have neither names nor cells.
    pub(super) n_empty_columns: usize,
    /// Whether the first column of the rows has no place in the line of names.
    pub(super) is_first_unnamed: bool,
}

/// A text of which the first lines are looked at.
pub(super) struct FirstText<'a> {
    /// What its table is called.
    pub(super) table: &'a str,
    /// Its first bytes, without a mark and without blank lines.
    pub(super) text: &'a [u8],
    /// Whether there are no more.
    pub(super) is_all: bool,
    /// The delimiter that is said.
    pub(super) delimiter: Option<u8>,
    pub(super) options: &'a ReadOptions,
}

impl FirstText<'_> {
    /// Tells how it is laid out.
    pub(super) fn layout(&self) -> Result<Layout, TableError> {
        let (said, n_said_bytes) = said_delimiter(self.text);
        let text = &self.text[n_said_bytes..];
        let given = self.delimiter.or(said);
        let (n_title_bytes, n_title_lines, delimiter) = match self.titles(text, given) {
            Some(titles) if self.options.header.is_none() => titles,
            _ => (0, 0, given.unwrap_or_else(|| self.sniff(text))),
        };
        let text = &text[n_title_bytes..];
        let rows = self.cells(text, delimiter);
        if rows.first().is_some_and(|first| first.len() == 1) {
            if rows.iter().any(|row| row.len() > 1) {
                return Err(table_error(
                    self.table,
                    "the first line has one cell, and rows below it have more",
                    wording![
                        "take away the lines above the names of the columns, or say ",
                        Field::Delimiter
                    ],
                ));
            }
            self.check_delimiter(text, delimiter)?;
        }
        if self.options.header.is_none() && is_title(&rows) {
            return Err(table_error(
                self.table,
                "only the first cell of the first line is filled, and rows below it have more",
                "take away the lines above the names of the columns",
            ));
        }
        let has_names = self.options.header != Some(false);
        let n_empty_columns = if has_names { empty_columns(&rows) } else { 0 };
        let is_first_unnamed = has_names
            && n_empty_columns == 0
            && has_row_numbers(&rows)
            && are_numbers_quoted(text, rows.len());
        Ok(Layout {
            delimiter,
            n_skipped_bytes: n_said_bytes + n_title_bytes,
            n_title_lines,
            n_empty_columns,
            is_first_unnamed,
        })
    }

    /// The cells of the first rows, as far as they are surely whole.
    fn cells(&self, text: &[u8], delimiter: u8) -> Vec<Vec<Vec<u8>>> {
        let bytes = &text[..text.len().min(MAX_BYTES)];
        let mut records = Records::new(bytes, delimiter, BlankLines::Skipped);
        let mut rows = Vec::new();
        while rows.len() <= MAX_ROWS
            && let Some(cells) = records.next_record()
        {
            rows.push((0..cells.len()).map(|at| cells.get(at).to_vec()).collect());
        }
        let is_cut = rows.len() <= MAX_ROWS && (bytes.len() < text.len() || !self.is_all);
        if is_cut {
            rows.pop();
        }
        rows
    }

    /// The delimiter of most cells in the first line, or one that divides all rows alike if that one
    /// does not.
    fn sniff(&self, text: &[u8]) -> u8 {
        let end = super::blocks::first_record_end(text, None);
        let line = match end {
            Ok(Some(end)) => &text[..end],
            _ => text,
        };
        let first = sniff_line(line);
        let divides_alike = |delimiter: u8| {
            let rows = self.cells(text, delimiter);
            let n_cells = rows.first().map_or(0, Vec::len);
            n_cells > 1 && rows.iter().all(|row| row.len() == n_cells)
        };
        if divides_alike(first) {
            return first;
        }
        DELIMITERS.into_iter().find(|&other| divides_alike(other)).unwrap_or(first)
    }

    /// The bytes and the number of lines above the names, and the delimiter below them.
    fn titles(&self, text: &[u8], given: Option<u8>) -> Option<(usize, u64, u8)> {
        let mut n_bytes = 0;
        for n_lines in 1..=MAX_TITLE_LINES {
            let line_end = memchr::memchr(b'\n', &text[n_bytes..])? + 1;
            let n_quotes = memchr::memchr_iter(b'"', &text[n_bytes..][..line_end]).count();
            if n_quotes % 2 == 1 {
                // The line goes on after its end.
                return None;
            }
            n_bytes += line_end;
            let n_breaks =
                text[n_bytes..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
            let below = &text[n_bytes + n_breaks..];
            let delimiter = given.unwrap_or_else(|| self.sniff(below));
            if self.are_titles(&text[..n_bytes], delimiter) && self.is_table(below, delimiter) {
                let n_blank = memchr::memchr_iter(b'\n', &text[n_bytes..][..n_breaks]).count();
                return Some((n_bytes + n_breaks, (n_lines + n_blank) as u64, delimiter));
            }
        }
        None
    }

    /// Whether each of some lines has at most one cell with a text.
    fn are_titles(&self, lines: &[u8], delimiter: u8) -> bool {
        let mut records = Records::new(lines, delimiter, BlankLines::Skipped);
        while let Some(cells) = records.next_record() {
            let n_texts = (0..cells.len()).filter(|&at| !cells.get(at).trim_ascii().is_empty());
            if n_texts.count() > 1 {
                return false;
            }
        }
        true
    }

    /// Whether a text surely begins with the names of several columns, all of which have a cell in
    /// every row.
    fn is_table(&self, text: &[u8], delimiter: u8) -> bool {
        let rows = self.cells(text, delimiter);
        let Some((names, below)) = rows.split_first() else { return false };
        let is_even = names.len() > 1 && below.iter().all(|row| row.len() == names.len());
        let column = |name: &Vec<u8>| SourceColumn {
            name: String::from_utf8_lossy(name).into_owned(),
            data_type: None,
        };
        let columns: Vec<SourceColumn> = names.iter().map(column).collect();
        let is_named = columns.iter().skip(1).all(|column| !column.name.trim().is_empty())
            || empty_columns(&rows) > 0;
        let mut records = Records::new(
            &text[..text.len().min(MAX_BYTES)],
            delimiter,
            BlankLines::of(columns.len()),
        );
        records.next_record();
        is_even && is_named && header::are_surely_names(&columns, records, self.options)
    }

    /// Refuses a table of one column whose lines all hold equally many of another delimiter.
    fn check_delimiter(&self, text: &[u8], delimiter: u8) -> Result<(), TableError> {
        if self.delimiter.is_none() && is_of_fixed_width(text) {
            return Err(table_error(
                self.table,
                "the table looks like columns of a fixed width, filled up with spaces",
                "convert it first, for example with python3 -c \"import pandas as p, sys; \
                 p.read_fwf(sys.argv[1]).to_csv(sys.argv[2], index=False)\" FILE FILE.csv",
            ));
        }
        let common = DELIMITERS.map(|other| (other, 1));
        // Whoever says one of the usual delimiters means a table of one column, if need be.
        let odd = ODD_DELIMITERS.into_iter().filter(|_| self.delimiter.is_none());
        let mut others = common.into_iter().chain(odd);
        let divides = |&(other, least): &(u8, usize)| {
            let rows = self.cells(text, other);
            let n_cells = rows.first().map_or(0, Vec::len);
            other != delimiter
                && rows.len() > 1
                && n_cells > least
                && rows.iter().all(|row| row.len() == n_cells)
        };
        match others.find(divides) {
            None => Ok(()),
            Some((other, _)) => {
                let name = match other {
                    b'\t' => "tab".to_owned(),
                    b' ' => "' '".to_owned(),
                    b';' | b'|' | b'^' | b'~' => format!("'{}'", char::from(other)),
                    other => char::from(other).to_string(),
                };
                Err(table_error(
                    self.table,
                    "the table has one column, and all of its lines hold equally many of another \
                     delimiter",
                    wording!["say ", Field::Delimiter.of(name), " if it separates cells"],
                ))
            }
        }
    }
}

/// Whether the first of several lines looks like a title that was padded with empty cells: only its
/// first cell is filled, and a line below has more. In a table of two columns it may be a person.
fn is_title(rows: &[Vec<Vec<u8>>]) -> bool {
    let Some((first, below)) = rows.split_first() else { return false };
    let n_filled =
        |row: &[Vec<u8>]| row.iter().filter(|cell| !cell.trim_ascii().is_empty()).count();
    first.len() > 2
        && !first[0].trim_ascii().is_empty()
        && n_filled(first) == 1
        && below.iter().any(|row| n_filled(row) > 1)
}

/// Whether several spaces stand between words at two places of the first line or more.
fn is_of_fixed_width(text: &[u8]) -> bool {
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
    let n_gaps = line.windows(3).filter(|own| own[..2] == *b"  " && own[2] != b' ').count();
    n_gaps >= 2 && !line.contains(&b'"')
}

/// The delimiter that a line such as `sep=;` says, and the bytes of the line.
fn said_delimiter(text: &[u8]) -> (Option<u8>, usize) {
    let end = memchr::memchr(b'\n', text).map_or(text.len(), |at| at + 1);
    let line = text[..end].trim_ascii_end();
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let (word, delimiter) = line.split_at(line.len().min(4));
    match delimiter {
        [delimiter] if word.eq_ignore_ascii_case(b"sep=") => (Some(*delimiter), end),
        // A tab at the end of the line is no blank there.
        [] if word.eq_ignore_ascii_case(b"sep=") && text[..end].contains(&b'\t') => {
            (Some(b'\t'), end)
        }
        _ => (None, 0),
    }
}

/// The delimiter that occurs most often in a line, a comma if none does.
pub(super) fn sniff_line(line: &[u8]) -> u8 {
    let mut best = (0, b',');
    for delimiter in DELIMITERS {
        let mut quoted = false;
        let count = line
            .iter()
            .filter(|&&byte| {
                quoted ^= byte == b'"';
                !quoted && byte == delimiter
            })
            .count();
        if count > best.0 {
            best = (count, delimiter);
        }
    }
    best.1
}

/// How many columns at the end have no name and no cell; the first row holds the names. All rows may
/// have more cells than there are names.
fn empty_columns(rows: &[Vec<Vec<u8>>]) -> usize {
    let n_cells = rows.iter().map(Vec::len).max().unwrap_or(0);
    let is_empty = |at: usize| {
        let cells = rows.iter().map(|row| row.get(at));
        cells.flatten().all(|cell| cell.trim_ascii().is_empty())
    };
    match rows.len() {
        0 | 1 => 0,
        _ => (1..n_cells).rev().take_while(|&at| is_empty(at)).count(),
    }
}

/// Whether all rows begin with a quoted number, as R writes them: an unquoted one may be a cell of
/// rows in which another has a delimiter too many.
fn are_numbers_quoted(text: &[u8], n_rows: usize) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.next();
    lines.take(n_rows.saturating_sub(1)).all(|line| line.starts_with(b"\""))
}

/// Whether all rows have one cell more than there are names, and begin with 1, 2, 3 and so on, as R
/// writes them.
fn has_row_numbers(rows: &[Vec<Vec<u8>>]) -> bool {
    let Some((names, below)) = rows.split_first() else { return false };
    let is_numbered = |(at, row): (usize, &Vec<Vec<u8>>)| {
        row.len() == names.len() + 1 && row[0] == (at + 1).to_string().as_bytes()
    };
    below.len() > 1 && below.iter().enumerate().all(is_numbered)
}
