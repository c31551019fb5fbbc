//! Where tables come from.
//!
//! ```text
//!   Source ──► columns ──► types of the columns asked for ──► Scan ──► chunks, chunks, ...
//! ```
//!
//! Chunks are parsed on all threads of the current pool.

use std::time::SystemTime;

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use crate::Result;
use crate::chunk::ColumnChunk;
use crate::schema::ColumnType;

/// A column as its source announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceColumn {
    /// Its name.
    pub name: String,
    /// Its type in a typed source, or nothing where cells are text.
    pub data_type: Option<DataType>,
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

/// What is known of the requested columns before their rows arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedTypes {
    /// The type of each requested column.
    pub column_types: Vec<ColumnType>,
    /// The type of each requested column in a typed source.
    pub data_types: Vec<Option<DataType>>,
}

/// A stretch of rows.
pub struct SourceChunk {
    /// The number of its first row in the table.
    pub first_row: u64,
    /// Number of rows.
    pub n_rows: usize,
    /// The coded columns, in the order of their requests.
    pub coded: Vec<ColumnChunk>,
    /// The carried columns, in the order of their requests; texts where the source is text.
    pub carried: Vec<ArrayRef>,
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

/// A table that can be read.
pub trait Source: Sync {
    /// What people call it: a path, or `standard input`.
    fn name(&self) -> &str;

    /// Its columns, in order.
    fn columns(&self) -> &[SourceColumn];

    /// The byte between its cells, where it is text.
    fn delimiter(&self) -> Option<u8> {
        None
    }

    /// About how many rows it has, where that is known before they are read.
    fn n_rows(&self) -> Option<u64> {
        None
    }

    /// What tells whether it was changed; nothing if it can be scanned only once.
    fn stamp(&self) -> Option<Stamp>;

    /// The types of some of its columns.
    fn types(&self, requests: &[ColumnRequest]) -> Result<RequestedTypes>;

    /// Its rows, from the first on.
    fn scan<'s>(
        &'s self,
        requests: &'s [ColumnRequest],
        types: &'s RequestedTypes,
    ) -> Result<Box<dyn Scan + 's>>;

    /// Bytes that were read from it so far.
    fn read_bytes(&self) -> u64;
}

/// The rows of a table on their way.
pub trait Scan: Send {
    /// The next stretches of rows, a few at a time; none when there are no more. Their order may
    /// differ from that of the source, but is the same for any number of threads.
    fn next_round(&mut self) -> Result<Vec<SourceChunk>>;
}
