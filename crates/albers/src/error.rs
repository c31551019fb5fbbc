//! What can keep a job from its end, by what the user can do about it.

use albers_privacy::{PrivacyError, Violation};
use albers_release::ReleaseError;
use albers_storage::StorageError;
use albers_table::TableError;

/// The result of a job.
pub type Result<T> = std::result::Result<T, Error>;

/// What can keep a job from its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The job contradicts itself or the table.
    #[error("{problem}; {hint}")]
    Usage {
        /// What is wrong.
        problem: String,
        /// What the user can do.
        hint: String,
    },
    /// Even all rows together do not satisfy the requirement.
    #[error(
        "the requirement cannot be met, even with all {n_rows} rows in one class ({}); \
         nothing was written; ask for less, or for more rows",
        violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    CannotHold {
        /// Rows of the table.
        n_rows: u64,
        /// What does not hold, with the figure that is reached.
        violations: Vec<Violation>,
    },
    /// The levels that were asked for would leave out too many rows.
    #[error(
        "the levels {levels} leave {n_suppressed} of {n_rows} rows in classes that do not satisfy \
         the requirement, and only {max_suppressed} may be left out; nothing was written; give \
         higher levels (see 'albers lattice'), or --suppress {}",
        suggested_share(*n_suppressed, *n_rows)
    )]
    LevelsViolate {
        /// The levels, by column.
        levels: String,
        /// Rows that would be left out.
        n_suppressed: u64,
        /// Rows that may be.
        max_suppressed: u64,
        /// Rows of the table.
        n_rows: u64,
    },
    /// The levels that were asked for cannot be published, however many rows are left out.
    #[error("{problem} ({levels}); nothing was written; give higher levels (see 'albers lattice')")]
    LevelsUnfit {
        /// The levels, by column.
        levels: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// No generalization satisfies the requirement.
    #[error(
        "no generalization of the {n_rows} rows satisfies the requirement with at most \
         {max_suppressed} of them left out; nothing was written; ask for less, or allow more with \
         --suppress"
    )]
    NothingSatisfies {
        /// Rows of the table.
        n_rows: u64,
        /// Rows that may be left out.
        max_suppressed: u64,
    },
    /// Rows of a release do not cover their rows of the original.
    #[error(
        "{}: the release does not describe this original: {}; make sure that --key pairs the \
         right rows and that both files belong together",
        path.display(),
        columns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    DoesNotDescribe {
        /// The release.
        path: std::path::PathBuf,
        /// The columns that differ.
        columns: Vec<Differing>,
    },
    /// A class of a release that is to be compacted does not satisfy the requirement.
    #[error(
        "{}: the class of row {first_row}, of {n_rows} rows, does not satisfy the requirement ({}); \
         nothing was written; ask for less, or make the release with this requirement",
        path.display(),
        violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    GivenViolates {
        /// The release.
        path: std::path::PathBuf,
        /// The 1-based row of the release that is the first of the class.
        first_row: u64,
        /// Rows of the class.
        n_rows: u64,
        /// What it does not satisfy, with the figure that is reached.
        violations: Vec<Violation>,
    },
    /// A table or a hierarchy cannot be used.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A requirement has a parameter out of its range.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// The release cannot go out.
    #[error(transparent)]
    Release(#[from] ReleaseError),
}

/// A share that allows so many rows to be left out, with few digits.
fn suggested_share(n_suppressed: u64, n_rows: u64) -> f64 {
    (n_suppressed as f64 / n_rows.max(1) as f64 * 1e4).ceil() / 1e4
}

/// A column of a release that does not cover the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// The column's name.
    pub column: String,
    /// How many rows differ.
    pub n_rows: u64,
    /// The 1-based row of the release that is the first to differ.
    pub first_row: u64,
}

impl std::fmt::Display for Differing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Differing { column, n_rows, first_row } = self;
        write!(f, "column '{column}' does not cover the original in {n_rows} rows, ")?;
        write!(f, "the first is row {first_row}")
    }
}

impl Error {
    /// Whether something asked for cannot be met or does not hold, rather than the input being
    /// wrong.
    pub fn is_about_the_requirement(&self) -> bool {
        matches!(
            self,
            Error::CannotHold { .. }
                | Error::DoesNotDescribe { .. }
                | Error::GivenViolates { .. }
                | Error::LevelsViolate { .. }
                | Error::LevelsUnfit { .. }
                | Error::NothingSatisfies { .. }
                | Error::Release(
                    ReleaseError::RequirementViolated { .. }
                        | ReleaseError::TooManySuppressed { .. }
                        | ReleaseError::NothingLeft { .. }
                )
        )
    }

    /// Whether something did not fit in the memory budget.
    pub(crate) fn is_over_budget(&self) -> bool {
        matches!(
            self,
            Error::Table(TableError::Storage(StorageError::OverBudget { .. }))
                | Error::Release(ReleaseError::Storage(StorageError::OverBudget { .. }))
        )
    }

    pub(crate) fn usage(problem: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::Usage { problem: problem.into(), hint: hint.into() }
    }
}

impl From<StorageError> for Error {
    fn from(error: StorageError) -> Error {
        Error::Table(error.into())
    }
}
