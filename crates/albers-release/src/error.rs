//! Why a release cannot go out.

use albers_privacy::Violation;
use albers_storage::StorageError;
use albers_table::TableError;

/// The result of an operation on releases.
pub type Result<T> = std::result::Result<T, ReleaseError>;

/// Why a release cannot go out.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// A class does not satisfy the requirement.
    #[error(
        "a class of {n_rows} rows does not satisfy the requirement ({}); nothing was written",
        violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    RequirementViolated {
        /// Rows of the class.
        n_rows: u64,
        /// What it does not satisfy.
        violations: Vec<Violation>,
    },
    /// More rows are left out than may be.
    #[error(
        "{n_suppressed} of {n_rows} rows would be left out, and only {max_suppressed} may be; \
         nothing was written; allow more with --suppress"
    )]
    TooManySuppressed {
        /// Rows left out.
        n_suppressed: usize,
        /// Rows that may be.
        max_suppressed: usize,
        /// Rows of the table.
        n_rows: usize,
    },
    /// Every row would be left out.
    #[error("all {n_rows} rows would be left out; nothing was written; ask for less")]
    NothingLeft {
        /// Rows of the table.
        n_rows: usize,
    },
    /// Rows were lost, doubled or changed on their way through a method.
    #[error(
        "the rows to be published are not the rows that were read; nothing was written; \
         this is a defect of the program, please report it"
    )]
    RowsChanged,
    /// Some files had their names already when another could not be given its own.
    #[error("{source}; {consequence}")]
    NoManifest {
        /// Why the manifest cannot be written.
        source: StorageError,
        /// What became of the data.
        consequence: String,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
}
