//! What can be wrong with a table, said without showing any of its values.

use std::path::PathBuf;

use albers_storage::StorageError;

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
    #[error("{}, {place}, column '{column}': {problem}; {hint}", path.display())]
    Cell {
        /// The file.
        path: PathBuf,
        /// `line 7` of a text file, `row 7` of any other.
        place: String,
        /// The column's name.
        column: String,
        /// What is wrong with the cell.
        problem: String,
        /// What the user can do.
        hint: String,
    },
    /// A line of a text file is not a row of the table.
    #[error("{}, line {line}: {problem}; {hint}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The 1-based line.
        line: u64,
        /// What is wrong with it.
        problem: String,
        /// What the user can do.
        hint: String,
    },
    /// The file as a whole is not a table.
    #[error("{}: {problem}; {hint}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What the user can do.
        hint: String,
    },
    /// A column cannot be used as asked.
    #[error("column '{column}': {problem}; {hint}")]
    Column {
        /// The column's name.
        column: String,
        /// What is wrong with it.
        problem: String,
        /// What the user can do.
        hint: String,
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
        hint: String,
    },
}
