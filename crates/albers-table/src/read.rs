//! Tables from files, in chunks of rows.
//!
//! ```text
//!   file ──► header ──► types of the columns asked for ──► chunk, chunk, chunk, ... (file order)
//! ```
//!
//! Chunks are parsed on all threads of the current pool and handed on in the order of the file.

mod csv;
mod parquet;

use std::path::{Path, PathBuf};

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use crate::chunk::ColumnChunk;
use crate::infer::TypeSample;
use crate::progress::Progress;
use crate::schema::ColumnType;
use crate::{Result, TableError};

/// How a file is to be read where the file does not say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The byte between the cells of a CSV file; sniffed from the header when not given.
    pub delimiter: Option<u8>,
    /// Texts that stand for a missing value, besides the empty cell.
    pub missing: Vec<String>,
}

impl ReadOptions {
    /// Whether a cell's text stands for a missing value.
    pub fn is_missing(&self, cell: &[u8]) -> bool {
        let cell = cell.trim_ascii();
        cell.is_empty() || self.missing.iter().any(|token| token.as_bytes() == cell)
    }
}

/// A column as the file announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderColumn {
    /// Its name.
    pub name: String,
    /// Its type in a typed file, or nothing in a text file.
    pub data_type: Option<DataType>,
}

impl HeaderColumn {
    /// Whether its cells can be asked for as coded: nested and binary cells cannot.
    pub fn can_be_coded(&self) -> bool {
        self.data_type.as_ref().is_none_or(parquet::can_be_coded)
    }
}

/// A column to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRequest {
    /// Its name.
    pub name: String,
    /// Its type; told from the file when not given.
    pub column_type: Option<ColumnType>,
    /// Whether its cells are needed as typed cells, to be coded.
    pub coded: bool,
    /// Whether its cells are needed as they are, to be published.
    pub carried: bool,
}

/// A stretch of rows.
pub struct SourceChunk {
    /// The number of its first row in the table.
    pub first_row: u64,
    /// Number of rows.
    pub n_rows: usize,
    /// The coded columns, in the order of their requests.
    pub coded: Vec<ColumnChunk>,
    /// The carried columns, in the order of their requests; texts where the file is text.
    pub carried: Vec<ArrayRef>,
}

/// What is known of the columns before their rows arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceColumns {
    /// The type of each requested column.
    pub column_types: Vec<ColumnType>,
    /// The type of each requested column in a typed file.
    pub data_types: Vec<Option<DataType>>,
    /// The byte between the cells of a text file.
    pub delimiter: Option<u8>,
}

/// The formats that can be read, told by the ending of the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text with a delimiter, perhaps packed.
    Csv,
    /// Parquet.
    Parquet,
}

impl Format {
    /// The format of a file by its name: `.parquet` is Parquet, everything else is text.
    pub fn of(path: &Path) -> Format {
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("parquet" | "pq") => Format::Parquet,
            _ => Format::Csv,
        }
    }
}

/// The columns of a file.
pub fn header(path: &Path, options: &ReadOptions) -> Result<Vec<HeaderColumn>> {
    let columns = match Format::of(path) {
        Format::Csv => csv::header(path, options)?,
        Format::Parquet => parquet::header(path)?,
    };
    check_names(path, &columns)?;
    Ok(columns)
}

/// Reads the requested columns and hands their chunks to `sink`, in file order.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    requests: &[ColumnRequest],
    progress: &dyn Progress,
    sink: &mut (dyn FnMut(SourceChunk) -> Result<()> + Send),
) -> Result<SourceColumns> {
    let places = places_of(path, options, requests)?;
    match Format::of(path) {
        Format::Csv => csv::read(path, options, requests, &places, progress, &Ok, sink),
        Format::Parquet => parquet::read(path, options, requests, &places, progress, sink),
    }
}

/// What is known of the requested columns before their rows are read.
pub fn source_columns(
    path: &Path,
    options: &ReadOptions,
    requests: &[ColumnRequest],
) -> Result<SourceColumns> {
    let places = places_of(path, options, requests)?;
    match Format::of(path) {
        Format::Csv => csv::source_columns(path, options, requests, &places),
        Format::Parquet => parquet::source_columns(path, options, requests, &places),
    }
}

/// Reads the requested columns of a table of any size: `map` makes something of each chunk, on all
/// threads, and `sink` gets what it made one after another. No more than a few chunks exist at a
/// time. Their order may differ from that of the file, but is the same for any number of threads.
pub fn read_mapped<T: Send>(
    path: &Path,
    options: &ReadOptions,
    requests: &[ColumnRequest],
    progress: &dyn Progress,
    map: &(dyn Fn(SourceChunk) -> Result<T> + Sync),
    sink: &mut (dyn FnMut(T) -> Result<()> + Send),
) -> Result<SourceColumns> {
    let places = places_of(path, options, requests)?;
    match Format::of(path) {
        Format::Csv => csv::read(path, options, requests, &places, progress, map, sink),
        Format::Parquet => {
            parquet::read_mapped(path, options, requests, &places, progress, map, sink)
        }
    }
}

/// The places of the requested columns in the file.
fn places_of(path: &Path, options: &ReadOptions, requests: &[ColumnRequest]) -> Result<Vec<usize>> {
    let columns = header(path, options)?;
    requests.iter().map(|request| place_of(path, &columns, &request.name)).collect()
}

/// The place of a column in the file, or an error that lists what there is.
pub fn place_of(path: &Path, columns: &[HeaderColumn], name: &str) -> Result<usize> {
    columns.iter().position(|column| column.name == name).ok_or_else(|| {
        let hint = if columns.iter().all(is_surely_a_name) {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            format!("the columns are {}", names.join(", "))
        } else {
            HEADER_HINT.to_owned()
        };
        file_error(path, format!("there is no column '{name}'"), hint)
    })
}

const HEADER_HINT: &str = "check that the first line of the file holds the names of the columns";

/// Whether a name cannot be the cell of a file without a header, or text between two stray quotes:
/// messages show no others.
fn is_surely_a_name(column: &HeaderColumn) -> bool {
    const LONGEST_CHARS: usize = 64;
    let name = column.name.as_str();
    let is_like_a_cell = || {
        let mut sample = TypeSample::default();
        sample.add(name.as_bytes());
        sample.column_type() != ColumnType::Text
    };
    let is_short_line = name.chars().take(LONGEST_CHARS + 1).count() <= LONGEST_CHARS
        && !name.contains(['\n', '\r']);
    column.data_type.is_some() || (is_short_line && !is_like_a_cell())
}

fn check_names(path: &Path, columns: &[HeaderColumn]) -> Result<()> {
    let mut seen = rustc_hash::FxHashSet::default();
    for (column_idx, column) in columns.iter().enumerate() {
        if column.name.is_empty() {
            return Err(file_error(
                path,
                format!("column {} has no name", column_idx + 1),
                "give every column a name in the first line",
            ));
        }
        if !seen.insert(column.name.as_str()) {
            let first = columns.iter().position(|other| other.name == column.name);
            let first = first.expect("the name was seen before") + 1;
            let places = format!("columns {first} and {}", column_idx + 1);
            return Err(if columns.iter().all(is_surely_a_name) {
                let problem = format!("{places} are both named '{}'", column.name);
                file_error(path, problem, "rename one of them")
            } else {
                file_error(path, format!("{places} have the same name"), HEADER_HINT)
            });
        }
    }
    Ok(())
}

fn file_error(path: &Path, problem: impl Into<String>, hint: impl Into<String>) -> TableError {
    TableError::File { path: path.to_owned(), problem: problem.into(), hint: hint.into() }
}

fn read_error(path: &Path, source: std::io::Error) -> TableError {
    albers_storage::StorageError::Read { path: PathBuf::from(path), source }.into()
}
