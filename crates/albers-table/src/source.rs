//! Where tables come from.
//!
//! - `allowance`: what reading may take of the memory.
//! - `csv`: delimited text from anything that gives bytes.
//! - `parquet`: Parquet from anything that gives bytes at any place.
//! - `encoding`: bytes to letters, whatever they are stored in.
//! - `arrow`: record batches, and the typed cells of their arrays.
//! - `json_lines`: objects, one per line, as delimited text.
//! - `sheet`: a sheet of a workbook, as delimited text.
//! - `file`, `files`, `stream`: where the bytes come from.
//! - `remark`: what was found out about a text, for its owner.
//! - `content`, `foreign`: what a file is, and what is not read.
//! - `text`, `places`: where the text of a file comes from, and what messages call its lines.
//! - `unchanged`: whether a file is what it was when it was opened.
//! - `spilled`: chunks that were put aside, to be read again.
//! - `rounds`: chunks one after another, mapped on all threads.
//!
//! ```text
//!   Source ──► columns ──► types of the columns asked for ──► Scan ──► chunks, chunks, ...
//!                                 ▲                            │
//!                                 └── all rows have others ────┘ at most once
//! ```
//!
//! Chunks are parsed on all threads of the current pool.

mod allowance;
mod arrow;
mod content;
mod csv;
mod encoding;
mod file;
mod files;
mod foreign;
mod json_lines;
mod parquet;
mod places;
mod remark;
mod rounds;
mod sheet;
mod spilled;
mod stream;
#[cfg(test)]
mod tests;
mod text;
mod unchanged;

use std::path::PathBuf;
use std::time::SystemTime;

use albers_storage::spelling::{columns_hint, question};
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use arrow_array::ArrayRef;
use arrow_schema::DataType;
use rustc_hash::FxHashSet;

use crate::chunk::ColumnChunk;
use crate::infer::TypeSample;
use crate::notation::{DateFormat, DecimalMark, is_known_missing};
use crate::row::RowId;
use crate::schema::ColumnType;
use crate::{Result, TableError};

pub use self::arrow::{BatchSource, Batches};
pub use self::file::FileSource;
pub use self::files::{FilesSource, expand};
pub use self::remark::Remark;
pub use self::rounds::for_each_chunk;
pub use self::spilled::{SpillableChunk, SpilledChunks};
pub use self::stream::StreamSource;
pub use crate::notation::TextEncoding;
pub use crate::requested::RequestedTypes;

use self::remark::Remarks;

/// How a table is to be read where it does not say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The byte between the cells of a text; sniffed from the header when not given.
    pub delimiter: Option<u8>,
    /// Texts that stand for a missing value, besides the empty cell.
    pub missing: Vec<String>,
    /// Whether the first line of a text holds the names of its columns; if it does not, they are
    /// called `c1`, `c2` and so on. When not given it should, and is refused if it looks like a
    /// record.
    pub header: Option<bool>,
    /// How letters are stored as bytes; told from the bytes when not given.
    pub encoding: Option<TextEncoding>,
    /// The decimal mark of all numbers of a text; told from all rows when not given.
    pub decimal: Option<DecimalMark>,
    /// How the dates of columns are written; told from all rows where it is not given.
    pub date_formats: Vec<(String, DateFormat)>,
    /// Texts that stand for a missing value in one column.
    pub missing_in: Vec<(String, String)>,
    /// What becomes of columns that can be read in two ways.
    pub undecided: Undecided,
    /// Whether nothing may be told from the rows that is not said: numbers have a point and dates
    /// are written as the program writes them, unless these options say otherwise.
    pub is_fixed: bool,
    /// Whether numbers are what they are, and texts with separators are no numbers unless somebody
    /// says how they are written.
    pub numbers_are_plain: bool,
    /// The sheet of a workbook that holds the table; the only one that holds anything when not
    /// given.
    pub sheet: Option<String>,
    /// What whoever reads may take of memory: long records, large pages and workbooks are refused by
    /// it; anything when not given.
    pub limit_bytes: Option<u64>,
    /// On how many threads it is read; as many as the machine has when not given.
    pub n_threads: Option<usize>,
    /// Where the text of a sheet is put aside, in a file without a name; where the system keeps
    /// temporary files when not given.
    pub folder: Option<PathBuf>,
}

/// What becomes of columns that can be read in two ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Undecided {
    /// They are refused.
    #[default]
    Refused,
    /// They are read as names.
    Names,
}

impl ReadOptions {
    /// The decimal mark that is said, or that nothing else may be.
    pub(crate) fn said_mark(&self) -> Option<DecimalMark> {
        self.decimal.or(self.is_fixed.then_some(DecimalMark::Point))
    }

    /// The format of a column's dates that is said.
    pub(crate) fn date_format(&self, column: &str) -> Option<&DateFormat> {
        let mut formats = self.date_formats.iter();
        formats.find(|(name, _)| name == column).map(|(_, format)| format)
    }

    /// The texts that stand for a missing value in a column: those of all columns, and its own. A
    /// text such as `age=99` is one of the column `age`, where there is one.
    fn missing_of(&self, column: &str, columns: &[SourceColumn]) -> Vec<String> {
        let is_column = |name: &str| columns.iter().any(|own| own.name == name);
        let of_all = self.missing.iter().filter_map(|text| match text.split_once('=') {
            Some((name, text)) if is_column(name) => (name == column).then(|| text.to_owned()),
            _ => Some(text.clone()),
        });
        let own = self.missing_in.iter().filter(|(name, _)| name == column);
        of_all.chain(own.map(|(_, text)| text.clone())).collect()
    }

    /// Refuses a text such as `agge=99`, whose column was misspelt: no cell would be missing by it.
    fn check_missing(&self, table: &str, columns: &[SourceColumn]) -> Result<()> {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        if !columns.iter().all(is_surely_a_name) {
            return Ok(());
        }
        for text in &self.missing {
            // Every name of one or two letters is near to any other.
            let is_other = |name: &str| name.chars().count() > 2 && !names.contains(&name);
            let Some((name, _)) = text.split_once('=').filter(|(name, _)| is_other(name)) else {
                continue;
            };
            if let Some(question) = question(name, names.iter().copied()) {
                let problem =
                    format!("there is no column '{name}' that '{text}' could be missing in");
                let hint = format!(
                    "{question} if cells hold the whole of it, name their column: COLUMN={text}"
                );
                return Err(table_error(table, problem, hint));
            }
        }
        Ok(())
    }

    /// Whether a cell's text stands for a missing value.
    pub fn is_missing(&self, cell: &[u8]) -> bool {
        let cell = cell.trim_ascii();
        cell.is_empty() || self.missing.iter().any(|token| token.as_bytes() == cell)
    }
}

/// A column as its source announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceColumn {
    /// Its name.
    pub name: String,
    /// Its type in a typed source, or nothing where cells are text.
    pub data_type: Option<DataType>,
}

impl SourceColumn {
    /// Whether its cells can be asked for as coded: nested and binary cells cannot.
    pub fn can_be_coded(&self) -> bool {
        self.data_type.as_ref().is_none_or(arrow::can_be_coded)
    }
}

/// A column to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRequest {
    /// Its name.
    pub name: String,
    /// Its type; told from the source when not given.
    pub column_type: Option<ColumnType>,
    /// Whether its cells are needed as typed cells, to be coded.
    pub coded: bool,
    /// Whether its cells are needed as they are, to be published.
    pub carried: bool,
}

/// A stretch of rows.
pub struct SourceChunk {
    /// The number of its first row in the table.
    pub first_row: RowId,
    /// Number of rows.
    pub n_rows: usize,
    /// The coded columns, in the order of their requests.
    pub coded: Vec<ColumnChunk>,
    /// The carried columns, in the order of their requests; texts where the source is text.
    pub carried: Vec<ArrayRef>,
}

impl SourceChunk {
    /// No rows: a scan that hands on none for long says with it that it goes on.
    pub fn without_rows(first_row: RowId) -> SourceChunk {
        SourceChunk { first_row, n_rows: 0, coded: Vec::new(), carried: Vec::new() }
    }
}

/// What tells whether a source was changed between two scans, as far as anybody can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stamp {
    /// It cannot change.
    Fixed,
    /// The length and the time of the last change of each file.
    Files(Vec<(u64, Option<SystemTime>)>),
}

/// How a table is laid out, as far as it tells what can be said of reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Delimited text.
    Text,
    /// JSON Lines, which name their columns themselves.
    JsonLines,
    /// A sheet of a workbook.
    Sheet,
    /// Typed columns with names.
    Typed,
}

impl Layout {
    /// What messages call it.
    pub fn words(self) -> &'static str {
        match self {
            Layout::Text => "delimited text",
            Layout::JsonLines => "JSON Lines",
            Layout::Sheet => "a spreadsheet",
            Layout::Typed => "Parquet",
        }
    }
}

/// A table that can be read.
pub trait Source: Sync {
    /// What people call it: a path, or `standard input`.
    fn name(&self) -> &str;

    /// Its columns, in order.
    fn columns(&self) -> &[SourceColumn];

    /// The byte between its cells, where it is text or becomes text.
    fn delimiter(&self) -> Option<u8> {
        None
    }

    /// How it is laid out.
    fn layout(&self) -> Layout {
        if self.delimiter().is_some() { Layout::Text } else { Layout::Typed }
    }

    /// About how many rows it has, where that is known before they are read.
    fn n_rows(&self) -> Option<u64> {
        None
    }

    /// What was found out about it while it was read, for its owner.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }

    /// What tells whether it was changed; nothing if it can be scanned only once.
    fn stamp(&self) -> Option<Stamp>;

    /// The types of some of its columns, as far as they are known before all rows were seen.
    fn types(&self, requests: &[ColumnRequest]) -> Result<RequestedTypes>;

    /// Its rows, from the first on. If all of them together have other types than those that
    /// [`Source::types`] told, the scan ends with [`TableError::OtherTypes`] and can be begun again
    /// with those.
    fn scan<'s>(
        &'s self,
        requests: &'s [ColumnRequest],
        types: &'s RequestedTypes,
    ) -> Result<Box<dyn Scan + 's>>;

    /// Bytes that were read from it so far.
    fn read_bytes(&self) -> u64;

    /// How many rows have which values of some columns, if it can count them itself, as a database
    /// can. Nothing of them is carried.
    fn count_by(
        &self,
        _requests: &[ColumnRequest],
        _types: &RequestedTypes,
    ) -> Result<Option<CountedRows>> {
        Ok(None)
    }
}

/// Rows that a source has counted: those that are alike in all requested columns stand together.
pub struct CountedRows {
    /// The distinct rows.
    pub rows: SourceChunk,
    /// How many there are of each.
    pub counts: Vec<u32>,
}

/// The rows of a table on their way.
pub trait Scan: Send {
    /// The next stretches of rows, a few at a time; none when there are no more, and one without
    /// rows to say that it goes on. Their order may differ from that of the source, but is the same
    /// for any number of threads.
    fn next_round(&mut self) -> Result<Vec<SourceChunk>>;
}

/// Reads a table with the types that it tells at first, and once more if all rows have others;
/// gives back the types that they have.
pub fn with_settled_types<T>(
    source: &dyn Source,
    requests: &[ColumnRequest],
    read: &mut dyn FnMut(&RequestedTypes) -> Result<T>,
) -> Result<(RequestedTypes, T)> {
    let first = source.types(requests)?;
    match read(&first) {
        Err(TableError::OtherTypes { types, .. }) => {
            let outcome = read(&types)?;
            Ok((*types, outcome))
        }
        outcome => Ok((first, outcome?)),
    }
}

/// The byte between the cells of a text that is made of a table: the table's own, if anybody would
/// tell it from the text without being told.
pub fn usual_delimiter(source: &dyn Source) -> Option<u8> {
    source.delimiter().filter(|delimiter| csv::DELIMITERS.contains(delimiter))
}

/// The place of a column in a table, or an error that tells what was meant and lists what there is.
pub fn place_of(table: &str, columns: &[SourceColumn], name: &str) -> Result<usize> {
    columns.iter().position(|column| column.name == name).ok_or_else(|| {
        let hint = if columns.iter().all(is_surely_a_name) {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            columns_hint(name, &names)
        } else {
            HEADER_HINT.to_owned()
        };
        table_error(table, format!("there is no column '{name}'"), hint)
    })
}

const HEADER_HINT: &str = "check that the first line of the file holds the names of the columns";

/// What is to be made of the cells of a table.
struct Wanted<'a> {
    options: &'a ReadOptions,
    requests: &'a [ColumnRequest],
    /// The places of the requested columns in the table.
    places: Vec<usize>,
    types: &'a RequestedTypes,
    /// The texts that stand for a missing value in each requested column.
    missing: Vec<Vec<String>>,
}

impl<'a> Wanted<'a> {
    /// Finds the requested columns in a table.
    fn new(
        table: &str,
        columns: &[SourceColumn],
        requests: &'a [ColumnRequest],
        types: &'a RequestedTypes,
        options: &'a ReadOptions,
    ) -> Result<Wanted<'a>> {
        options.check_missing(table, columns)?;
        let places = requests.iter().map(|request| place_of(table, columns, &request.name));
        let missing = requests.iter().map(|request| options.missing_of(&request.name, columns));
        let (places, missing) = (places.collect::<Result<_>>()?, missing.collect());
        Ok(Wanted { options, requests, places, types, missing })
    }

    /// Whether the text of a cell stands for a missing value, whatever the type of its column is.
    #[inline]
    fn is_missing(&self, request_idx: usize, cell: &[u8]) -> bool {
        let cell = cell.trim_ascii();
        let texts = &self.missing[request_idx];
        cell.is_empty() || texts.iter().any(|text| text.as_bytes() == cell)
    }

    /// Whether the text of a cell that is not of its column's type stands for a missing value: it
    /// does where all others are numbers, dates or the like, and not where it may be a name.
    fn is_known_missing(&self, request_idx: usize, cell: &[u8]) -> bool {
        let is_typed = match self.types.column_types[request_idx] {
            ColumnType::Text => false,
            ColumnType::Code => self.requests[request_idx].column_type.is_none(),
            _ => true,
        };
        is_typed && is_known_missing(cell)
    }
}

/// Whether a name cannot be the cell of a table without a header, or text between two stray quotes:
/// messages show no others.
fn is_surely_a_name(column: &SourceColumn) -> bool {
    const LONGEST_CHARS: usize = 64;
    let name = column.name.as_str();
    let is_like_a_cell = || {
        let mut sample = TypeSample::default();
        sample.add(name.as_bytes());
        sample.has_value() || sample.column_type() != ColumnType::Text
    };
    let is_short_line = name.chars().take(LONGEST_CHARS + 1).count() <= LONGEST_CHARS
        && !name.contains(['\n', '\r']);
    column.data_type.is_some() || (is_short_line && !is_like_a_cell())
}

/// Refuses columns without a name, and two of the same name, which is shown only where it is surely
/// a name.
fn check_names(table: &str, columns: &[SourceColumn], are_names: bool) -> Result<()> {
    let mut seen = FxHashSet::default();
    for (column_idx, column) in columns.iter().enumerate() {
        if column.name.is_empty() {
            return Err(table_error(
                table,
                format!("column {} has no name", column_idx + 1),
                or_no_names("give every column a name in the first line", are_names),
            ));
        }
        if !seen.insert(column.name.as_str()) {
            let first = columns.iter().position(|other| other.name == column.name);
            let first = first.expect("the name was seen before") + 1;
            let places = format!("columns {first} and {}", column_idx + 1);
            return Err(if are_names && columns.iter().all(is_surely_a_name) {
                let problem = format!("{places} are both named '{}'", column.name);
                table_error(table, problem, "rename one of them")
            } else {
                let hint = or_no_names("rename one of them", are_names);
                table_error(table, format!("{places} have the same name"), hint)
            });
        }
    }
    Ok(())
}

/// A hint for names, and for a first line that may hold none.
fn or_no_names(hint: &str, are_names: bool) -> Wording {
    match are_names {
        true => hint.into(),
        false => {
            wording![hint, ", or say ", Field::Header.of("false"), " if the first line is a record"]
        }
    }
}

fn table_error(table: &str, problem: impl Into<String>, hint: impl Into<Wording>) -> TableError {
    TableError::File { table: table.to_owned(), problem: problem.into(), hint: hint.into() }
}
