//! What was found out about a text while it was read, for its owner.
//!
//! Remarks tell of all rows, also of those that a release leaves out: they are not for publication.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::notation::{DateFormat, DecimalMark, TextEncoding};

/// Something that nobody said and the text told.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// Letters are not stored as UTF-8.
    Encoding(TextEncoding),
    /// Lines before the names of the columns were passed over.
    TitleLines {
        /// How many.
        n_lines: u64,
    },
    /// The first column has no name.
    Unnamed {
        /// What it is called.
        column: String,
    },
    /// Columns at the end have neither names nor cells.
    EmptyColumns {
        /// How many.
        n_columns: usize,
    },
    /// Numbers are not written as the program writes them.
    Numbers {
        /// The column.
        column: String,
        /// The decimal mark.
        mark: DecimalMark,
    },
    /// Dates are not written as the program writes them.
    Dates {
        /// The column.
        column: String,
        /// Their format.
        format: DateFormat,
    },
    /// Numbers could all be thousands, and are read with a decimal point.
    AssumedPoint {
        /// The column.
        column: String,
    },
    /// Months of years, which are read as text.
    Months {
        /// The column.
        column: String,
    },
    /// Texts were taken for missing values.
    KnownMissing {
        /// The column.
        column: String,
        /// In how many rows.
        n_rows: u64,
    },
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remark::Encoding(encoding) => write!(f, "the table is read as {encoding}"),
            Remark::TitleLines { n_lines: 1 } => {
                f.write_str("a line before the names of the columns was passed over")
            }
            Remark::TitleLines { n_lines } => {
                write!(f, "{n_lines} lines before the names of the columns were passed over")
            }
            Remark::Unnamed { column } => {
                write!(f, "the first column has no name and is called '{column}'")
            }
            Remark::EmptyColumns { n_columns: 1 } => {
                f.write_str("a column at the end without a name and without cells was passed over")
            }
            Remark::EmptyColumns { n_columns } => write!(
                f,
                "{n_columns} columns at the end without names and without cells were passed over"
            ),
            Remark::Numbers { column, mark: DecimalMark::Comma } => {
                write!(f, "the numbers of '{column}' are read with a decimal comma")
            }
            Remark::Numbers { column, mark: DecimalMark::Point } => write!(
                f,
                "the numbers of '{column}' are read with a decimal point and separators between \
                 thousands"
            ),
            Remark::Dates { column, format } => {
                write!(f, "the dates of '{column}' are read as {format}")
            }
            Remark::AssumedPoint { column } => write!(
                f,
                "the numbers of '{column}' are read with a decimal point, though all have three \
                 digits after it, as thousands have"
            ),
            Remark::Months { column } => {
                write!(f, "'{column}' is read as text, as its cells are months such as 03.2019")
            }
            Remark::KnownMissing { column, n_rows: 1 } => write!(
                f,
                "a cell of '{column}' is taken for missing, as it says NA, NULL, ?, - or the like"
            ),
            Remark::KnownMissing { column, n_rows } => write!(
                f,
                "{n_rows} cells of '{column}' are taken for missing, as they say NA, NULL, ?, - or \
                 the like"
            ),
        }
    }
}

impl Remark {
    /// Whether another remark is about the same thing, and takes its place.
    fn is_of_same(&self, other: &Remark) -> bool {
        let column = |remark: &Remark| match remark {
            Remark::Numbers { column, .. }
            | Remark::Dates { column, .. }
            | Remark::AssumedPoint { column }
            | Remark::Months { column }
            | Remark::KnownMissing { column, .. } => Some(column.clone()),
            _ => None,
        };
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && column(self) == column(other)
    }
}

/// The remarks on a table, to which every scan adds.
#[derive(Debug, Clone, Default)]
pub(super) struct Remarks(Arc<Mutex<Vec<Remark>>>);

impl Remarks {
    pub(super) fn add(&self, remark: Remark) {
        let mut remarks = self.lock();
        match remarks.iter().position(|own| own.is_of_same(&remark)) {
            Some(place) => remarks[place] = remark,
            None => remarks.push(remark),
        }
    }

    pub(super) fn all(&self) -> Vec<Remark> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Remark>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
