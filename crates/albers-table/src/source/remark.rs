//! What was found out about a text while it was read, for its owner.
//!
//! Remarks tell of all rows, also of those that a release leaves out: they are not for publication.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::notation::{DateFormat, DecimalMark, TextEncoding};

/// So many columns are named in a sentence.
const MOST_NAMED: usize = 10;

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
        /// The columns.
        columns: Vec<String>,
        /// The decimal mark.
        mark: DecimalMark,
    },
    /// Dates are not written as the program writes them.
    Dates {
        /// The columns.
        columns: Vec<String>,
        /// Their format.
        format: DateFormat,
    },
    /// Numbers could all be thousands, and are read with a decimal point.
    AssumedPoint {
        /// The columns.
        columns: Vec<String>,
    },
    /// Texts of objects or of a sheet that would be numbers with another decimal mark or with
    /// something between thousands.
    TextsOfNumbers {
        /// The columns.
        columns: Vec<String>,
    },
    /// Months of years, which are read as text.
    Months {
        /// The columns.
        columns: Vec<String>,
    },
    /// Whole numbers that could be days such as 20201231.
    Days {
        /// The columns.
        columns: Vec<String>,
    },
    /// Texts that programs write where there is no value stand among names, and were taken for names.
    WordsForMissing {
        /// The columns, and in how many rows of each.
        columns: Vec<(String, u64)>,
    },
    /// Texts were taken for missing values.
    KnownMissing {
        /// The columns, and in how many rows of each.
        columns: Vec<(String, u64)>,
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
            Remark::Numbers { columns, mark: DecimalMark::Comma } => {
                write!(f, "the numbers of {} are read with a decimal comma", listed(columns))
            }
            Remark::Numbers { columns, mark: DecimalMark::Point } => write!(
                f,
                "the numbers of {} are read with a decimal point and separators between thousands",
                listed(columns)
            ),
            Remark::Dates { columns, format } => {
                write!(f, "the dates of {} are read as {format}", listed(columns))
            }
            Remark::AssumedPoint { columns } => write!(
                f,
                "the numbers of {} are read with a decimal point, though all have three digits \
                 after it, as thousands have",
                listed(columns)
            ),
            Remark::TextsOfNumbers { columns } => write!(
                f,
                "the cells of {} are read as text: they are texts that look like numbers such as \
                 1,5 or 1.234,5; make numbers of them if they are meant as such",
                listed(columns)
            ),
            Remark::Months { columns } => write!(
                f,
                "the cells of {} are read as text, as they are months such as 03.2019",
                listed(columns)
            ),
            Remark::Days { columns } => write!(
                f,
                "the cells of {} are read as whole numbers, though all could be days such as \
                 20201231; the format of dates %Y%m%d reads them as that",
                listed(columns)
            ),
            Remark::WordsForMissing { columns } => {
                let named = columns.iter().take(MOST_NAMED);
                let named = named.map(|(column, n_rows)| format!("'{column}' ({n_rows})"));
                write!(
                    f,
                    "cells of {} say NA, NULL or the like, which among texts is a value like others; \
                     declare it as missing if it stands for none",
                    in_words(named.collect(), columns.len())
                )
            }
            Remark::KnownMissing { columns } => f.write_str(&known_missing(columns)),
        }
    }
}

/// Names of columns, as far as anybody reads on.
fn listed(columns: &[String]) -> String {
    let named = columns.iter().take(MOST_NAMED).map(|column| format!("'{column}'"));
    in_words(named.collect(), columns.len())
}

/// So many names out of so many in a sentence.
fn in_words(mut named: Vec<String>, n_all: usize) -> String {
    match n_all - named.len() {
        0 => {}
        1 => named.push("1 more column".to_owned()),
        n_more => named.push(format!("{n_more} more columns")),
    }
    match named.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => named.concat(),
    }
}

fn known_missing(columns: &[(String, u64)]) -> String {
    match columns {
        [(column, 1)] => format!(
            "a cell of '{column}' is taken for missing, as it says NA, NULL, ?, - or the like"
        ),
        [(column, n_rows)] => format!(
            "{n_rows} cells of '{column}' are taken for missing, as they say NA, NULL, ?, - or the \
             like"
        ),
        columns => {
            let named = columns.iter().take(MOST_NAMED);
            let named = named.map(|(column, n_rows)| format!("'{column}' ({n_rows})"));
            format!(
                "cells of {} are taken for missing, as they say NA, NULL, ?, - or the like",
                in_words(named.collect(), columns.len())
            )
        }
    }
}

impl Remark {
    /// Takes the columns of another remark if it says the same of them; else it is given back.
    fn take(&mut self, other: Remark) -> Option<Remark> {
        match (self, other) {
            (
                Remark::Numbers { columns, mark },
                Remark::Numbers { columns: own, mark: as_well },
            ) if *mark == as_well => extend(columns, own),
            (
                Remark::Dates { columns, format },
                Remark::Dates { columns: own, format: as_well },
            ) if *format == as_well => extend(columns, own),
            (Remark::AssumedPoint { columns }, Remark::AssumedPoint { columns: own })
            | (Remark::TextsOfNumbers { columns }, Remark::TextsOfNumbers { columns: own })
            | (Remark::Months { columns }, Remark::Months { columns: own })
            | (Remark::Days { columns }, Remark::Days { columns: own }) => extend(columns, own),
            (Remark::KnownMissing { columns }, Remark::KnownMissing { columns: own })
            | (Remark::WordsForMissing { columns }, Remark::WordsForMissing { columns: own }) => {
                extend(columns, own)
            }
            (_, other) => Some(other),
        }
    }

    /// Whether another remark is about the same thing, and takes its place.
    fn is_of_same(&self, other: &Remark) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && self.column() == other.column()
    }

    /// The first column that it is about.
    fn column(&self) -> Option<&String> {
        match self {
            Remark::Numbers { columns, .. }
            | Remark::Dates { columns, .. }
            | Remark::AssumedPoint { columns }
            | Remark::TextsOfNumbers { columns }
            | Remark::Months { columns }
            | Remark::Days { columns } => columns.first(),
            Remark::KnownMissing { columns } | Remark::WordsForMissing { columns } => {
                columns.first().map(|(column, _)| column)
            }
            _ => None,
        }
    }
}

fn extend<T>(columns: &mut Vec<T>, others: Vec<T>) -> Option<Remark> {
    columns.extend(others);
    None
}

/// The remarks on a table, to which every scan adds.
#[derive(Debug, Clone, Default)]
pub(super) struct Remarks(Arc<Mutex<Vec<Remark>>>);

impl Remarks {
    /// Adds a remark on one column or on none.
    pub(super) fn add(&self, remark: Remark) {
        let mut remarks = self.lock();
        match remarks.iter().position(|own| own.is_of_same(&remark)) {
            Some(place) => remarks[place] = remark,
            None => remarks.push(remark),
        }
    }

    /// Adds what was remarked on another text of the same table.
    pub(super) fn add_all(&self, other: &Remarks) {
        let others = other.lock().clone();
        others.into_iter().for_each(|remark| self.add(remark));
    }

    /// All of them; what is to be said of several columns is said once.
    pub(super) fn all(&self) -> Vec<Remark> {
        let mut all: Vec<Remark> = Vec::new();
        for remark in self.lock().iter() {
            let left = all.iter_mut().try_fold(remark.clone(), |left, own| own.take(left));
            all.extend(left);
        }
        all
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Remark>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
