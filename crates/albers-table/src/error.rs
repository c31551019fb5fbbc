//! What can be wrong with a table, said without showing any of its values.

use albers_storage::StorageError;
use albers_storage::wording::Wording;

use crate::requested::RequestedTypes;

/// The result of an operation on tables.
pub type Result<T> = std::result::Result<T, TableError>;

/// What can be wrong with a table, by what the user can do about it.
///
/// Every message says where (file, line, column) and ends with a hint. No message holds a cell's
/// value: whoever reads a log must not learn what the table says about a person.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A cell does not fit its column.
    #[error("{table}, {place}, column '{column}': {problem}; {hint}")]
    Cell {
        /// What the table is called: a file, or `standard input`.
        table: String,
        /// `line 7` of a text, `row 7` of any other.
        place: String,
        /// The column's name.
        column: String,
        /// What is wrong with the cell.
        problem: String,
        /// What the user can do.
        hint: Wording,
    },
    /// A line of a text is not a row of the table.
    #[error("{table}, line {line}: {problem}; {hint}")]
    Line {
        /// What the table is called: a file, or `standard input`.
        table: String,
        /// The 1-based line.
        line: u64,
        /// What is wrong with it.
        problem: String,
        /// What the user can do.
        hint: Wording,
    },
    /// The whole is not a table, or not one that can be read or written as asked.
    #[error("{table}: {problem}; {hint}")]
    File {
        /// What the table is called: a file, or `standard input`.
        table: String,
        /// What is wrong with it.
        problem: String,
        /// What the user can do.
        hint: Wording,
    },
    /// A column cannot be used as asked.
    #[error("column '{column}': {problem}; {hint}")]
    Column {
        /// The column's name.
        column: String,
        /// What is wrong with it.
        problem: String,
        /// What the user can do.
        hint: Wording,
    },
    /// A hierarchy is incomplete, ragged or ambiguous.
    #[error("hierarchy of column '{column}' ({origin}{}): {problem}; {hint}",
        line.map(|line| format!(", line {line}")).unwrap_or_default())]
    Hierarchy {
        /// The column's name.
        column: String,
        /// The file, or the built-in hierarchy's name.
        origin: String,
        /// The 1-based line of the file, where one line is to blame.
        line: Option<u64>,
        /// What is wrong with it.
        problem: String,
        /// What the user can do.
        hint: Wording,
    },
    /// A table that can be read only once was to be read again.
    #[error("{table} can be read only once; write it to a file first")]
    ReadTwice {
        /// What the table is called.
        table: String,
    },
    /// All rows together have other types than those with which they were read: a table is then
    /// read again with these. Where it was read with them before, it is not the same table any
    /// more.
    #[error("{table} changed while it was read; let nobody write to it, and run again")]
    OtherTypes {
        /// What the table is called.
        table: String,
        /// The types of the requested columns over all rows.
        types: Box<RequestedTypes>,
    },
    /// Some tables had appeared already when another could not, and may not stand without it.
    #[error("{}; these stand without the rest, throw them away: {}", cause(source), left.join(", "))]
    Withdrawn {
        /// Why the other could not appear.
        source: Box<TableError>,
        /// What could not be taken back, and why.
        left: Vec<String>,
    },
}

impl TableError {
    /// What the user can do, with settings that each face names in its own words.
    pub fn advice(&self) -> Option<Wording> {
        match self {
            TableError::Storage(error) => error.advice(),
            TableError::Cell { hint, .. }
            | TableError::Line { hint, .. }
            | TableError::File { hint, .. }
            | TableError::Column { hint, .. }
            | TableError::Hierarchy { hint, .. } => Some(hint.clone()),
            TableError::ReadTwice { .. } | TableError::OtherTypes { .. } => None,
            TableError::Withdrawn { source, .. } => source.advice(),
        }
    }
}

/// What went wrong, without what it says of other tables.
fn cause(error: &TableError) -> String {
    match error {
        TableError::Storage(error) => error.cause(),
        other => other.to_string(),
    }
}
