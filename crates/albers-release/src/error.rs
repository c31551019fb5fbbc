//! Why a release cannot go out.

use albers_privacy::Violation;
use albers_storage::StorageError;
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
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
         nothing was written; {}",
        self.advice().unwrap_or_default()
    )]
    TooManySuppressed {
        /// Rows left out.
        n_suppressed: u64,
        /// Rows that may be.
        max_suppressed: u64,
        /// Rows of the table.
        n_rows: u64,
    },
    /// Every row would be left out.
    #[error(
        "all {n_rows} rows would be left out; nothing was written; ask for less, or give more rows"
    )]
    NothingLeft {
        /// Rows of the table.
        n_rows: u64,
    },
    /// Rows were lost, doubled or changed on their way through a method.
    #[error(
        "the rows to be published are not the rows that were read; nothing was written; \
         this is a defect of the program, please report it"
    )]
    RowsChanged,
    /// Several releases would tell more together than the finest of them.
    #[error(
        "a class of one release is torn by another, or two classes of one show the same; \
         nothing was written; this is a defect of the program, please report it"
    )]
    NotNested,
    /// A row is not where its class is.
    #[error(
        "a row lies outside of the region of its class, or in a hole of it; nothing was written; \
         this is a defect of the program, please report it"
    )]
    OutsideRegion,
    /// What a method handed over is not whole.
    #[error(
        "classes came without {missing}; nothing was written; \
         this is a defect of the program, please report it"
    )]
    Incomplete {
        /// What there should have been.
        missing: &'static str,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl ReleaseError {
    /// What the user can do, with settings that each face names in its own words.
    pub fn advice(&self) -> Option<Wording> {
        match self {
            ReleaseError::TooManySuppressed { .. } => {
                Some(wording!["allow more with ", Field::Suppress])
            }
            ReleaseError::Storage(error) => error.advice(),
            ReleaseError::Table(error) => error.advice(),
            _ => None,
        }
    }
}
