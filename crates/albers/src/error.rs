//! What can keep a job from its end, by what the user can do about it.

use albers_privacy::{PrivacyError, Violation};
use albers_release::ReleaseError;
use albers_storage::StorageError;
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use albers_table::TableError;
use albers_table::row::RowId;

use crate::finding::Finding;

/// The result of a job.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The job contradicts itself or its table.
    Usage,
    /// A table, a hierarchy or a job file cannot be used as it is.
    Input,
    /// What was asked for cannot be met, or does not hold.
    Requirement,
    /// Something does not fit in the memory budget.
    Memory,
    /// The operating system refused to read or write.
    Storage,
    /// The job was cancelled by whoever watches it.
    Cancelled,
    /// The program noticed a defect of its own, and published nothing.
    Defect,
}

/// What can keep a job from its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The job contradicts itself or the table.
    #[error("{problem}; {advice}")]
    Usage {
        /// What is wrong.
        problem: Wording,
        /// What the user can do.
        advice: Wording,
    },
    /// A table does not fit in the memory budget, and there is no other way to do what is asked.
    #[error("the table does not fit in the memory budget, and {method} works in memory; {advice}")]
    DoesNotFit {
        /// What works in memory.
        method: String,
        /// What the user can do.
        advice: Wording,
    },
    /// Even all rows together do not satisfy the requirement.
    #[error(
        "the requirement cannot be met, even with all {n_rows} rows in one class ({}); \
         nothing was written; ask for less, or for more rows",
        listed(violations)
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
         the requirement, and only {max_suppressed} may be left out; nothing was written; {}",
        self.advice().unwrap_or_default()
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
         {max_suppressed} of them left out; nothing was written; {}",
        self.advice().unwrap_or_default()
    )]
    NothingSatisfies {
        /// Rows of the table.
        n_rows: u64,
        /// Rows that may be left out.
        max_suppressed: u64,
    },
    /// The release would put people at risk although the requirement holds.
    #[error(
        "the release would put people at risk although the requirement holds ({}); nothing was \
         written; {}",
        findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        self.advice().unwrap_or_default()
    )]
    Severe {
        /// What was found and is not accepted.
        findings: Vec<Finding>,
    },
    /// The release and the earlier ones together would leave rows in sets below the requirement.
    #[error(
        "this release and the earlier ones together would leave {rows_below} rows in sets below the \
         requirement{}; nothing was written; {}",
        smallest_set.map(|n| format!(", the smallest of {n}")).unwrap_or_default(),
        self.advice().unwrap_or_default()
    )]
    Linkage {
        /// Rows of these sets.
        rows_below: u64,
        /// The size of the smallest set.
        smallest_set: Option<u64>,
    },
    /// What an index has stored is not what it can have written.
    #[error(
        "the index is damaged: {problem}; see what 'albers index check' says of it, and restore it \
         from a copy"
    )]
    DamagedIndex {
        /// What is wrong.
        problem: String,
    },
    /// Rows of a release do not cover their rows of the original.
    #[error(
        "{release}: the release does not describe this original: {}; {}",
        columns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        self.advice().unwrap_or_default()
    )]
    DoesNotDescribe {
        /// The release.
        release: String,
        /// The columns that differ.
        columns: Vec<DifferingColumn>,
    },
    /// A class of a release that is to be compacted does not satisfy the requirement.
    #[error(
        "{release}: the class of row {first_row}, of {n_rows} rows, does not satisfy the requirement \
         ({}); nothing was written; ask for less, or make the release with this requirement",
        listed(violations)
    )]
    GivenViolates {
        /// The release.
        release: String,
        /// The row of the release that is the first of the class.
        first_row: RowId,
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

fn listed(violations: &[Violation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A share that allows so many rows to be left out, with few digits.
fn suggested_share(n_suppressed: u64, n_rows: u64) -> f64 {
    (n_suppressed as f64 / n_rows.max(1) as f64 * 1e4).ceil() / 1e4
}

/// A column of a release that does not cover the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferingColumn {
    /// The column's name.
    pub column: String,
    /// How many rows differ.
    pub n_rows: u64,
    /// The row of the release that is the first to differ.
    pub first_row: RowId,
}

impl std::fmt::Display for DifferingColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let DifferingColumn { column, n_rows, first_row } = self;
        write!(f, "column '{column}' does not cover the original in {n_rows} rows, ")?;
        write!(f, "the first is row {first_row}")
    }
}

impl Error {
    /// The same error of rows that were read once: all of them together are written in another way
    /// than the first, and nothing reads them again.
    pub(crate) fn of_rows_read_once(self) -> Error {
        match self {
            Error::Table(TableError::OtherTypes { table, .. }) => Error::usage(
                format!("{table}: all rows together are written in another way than the first"),
                wording![
                    "say how, with ",
                    Field::Decimal,
                    ", ",
                    Field::DateFormat,
                    " or ",
                    Field::Encoding
                ],
            ),
            other => other,
        }
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Usage { .. } | Error::Privacy(_) => ErrorKind::Usage,
            Error::DoesNotFit { .. } => ErrorKind::Memory,
            Error::DamagedIndex { .. } => ErrorKind::Storage,
            Error::CannotHold { .. }
            | Error::DoesNotDescribe { .. }
            | Error::GivenViolates { .. }
            | Error::LevelsViolate { .. }
            | Error::Linkage { .. }
            | Error::LevelsUnfit { .. }
            | Error::NothingSatisfies { .. }
            | Error::Severe { .. } => ErrorKind::Requirement,
            Error::Release(error) => kind_of_release(error),
            Error::Table(error) => kind_of_table(error),
        }
    }

    /// What the user can do, where that is to change a setting: each face names settings in its
    /// own words.
    pub fn advice(&self) -> Option<Wording> {
        match self {
            Error::Usage { advice, .. } | Error::DoesNotFit { advice, .. } => Some(advice.clone()),
            Error::LevelsViolate { n_suppressed, n_rows, .. } => {
                let share = suggested_share(*n_suppressed, *n_rows).to_string();
                let higher = "give higher levels (see 'albers lattice'), or ";
                Some(wording![higher, Field::Suppress.of(share)])
            }
            Error::NothingSatisfies { .. } => {
                Some(wording!["ask for less, or allow more with ", Field::Suppress])
            }
            Error::DoesNotDescribe { .. } => Some(wording![
                "make sure that ",
                Field::Key,
                " pairs the right rows and that both files belong together"
            ]),
            Error::Severe { findings } => {
                let labels: Vec<String> = findings.iter().map(Finding::label).collect();
                let accept = Field::Accept.of(labels.join(","));
                Some(wording!["change the job, or say that this is meant with ", accept])
            }
            Error::Linkage { .. } => Some(wording![
                "give new rows classes of their own with --batch, wait for more changes, or say that \
                 this is meant with ",
                Field::Accept.of("linkage")
            ]),
            Error::Table(error) => error.advice(),
            Error::Release(error) => error.advice(),
            _ => None,
        }
    }

    pub(crate) fn usage(problem: impl Into<Wording>, advice: impl Into<Wording>) -> Error {
        Error::Usage { problem: problem.into(), advice: advice.into() }
    }
}

fn kind_of_release(error: &ReleaseError) -> ErrorKind {
    match error {
        ReleaseError::RequirementViolated { .. }
        | ReleaseError::TooManySuppressed { .. }
        | ReleaseError::NothingLeft { .. } => ErrorKind::Requirement,
        ReleaseError::Storage(error) => kind_of_storage(error),
        ReleaseError::Table(error) => kind_of_table(error),
        _ => ErrorKind::Defect,
    }
}

fn kind_of_table(error: &TableError) -> ErrorKind {
    match error {
        TableError::Storage(error) => kind_of_storage(error),
        TableError::Withdrawn { source, .. } => kind_of_table(source),
        _ => ErrorKind::Input,
    }
}

fn kind_of_storage(error: &StorageError) -> ErrorKind {
    match error {
        StorageError::Cancelled => ErrorKind::Cancelled,
        StorageError::OverBudget { .. } => ErrorKind::Memory,
        _ => ErrorKind::Storage,
    }
}

impl From<StorageError> for Error {
    fn from(error: StorageError) -> Error {
        Error::Table(error.into())
    }
}
