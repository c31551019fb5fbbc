//! Rows that share an identifier with others, counted as rows are read.
//!
//! Without a subject column each row counts as a person. An identifier that occurs in several rows
//! tells that some are the same person's.
//!
//! Guarantee: nothing of an identifier goes further than this count. It is exact up to a number of
//! distinct values, and beyond it an estimate from all rows of the values of least hash, which is
//! nothing where nothing repeats.
//! Cost: a hash per identifier; no more memory than a sample of the rows takes.

use albers_storage::memory_budget::Reservation;
use albers_table::chunk::ColumnChunk;
use albers_table::distinct_sample::DistinctSample;
use albers_table::mix::mix;
use albers_table::value_hash::{MISSING, value_hashes};

use super::Reading;

/// A hash and a count in a table that is half full.
const VALUE_BYTES: usize = 48;
/// Values of a column that are counted in any budget.
const LEAST_VALUES: usize = 1 << 10;

/// An identifier that some rows share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repeated {
    /// The column.
    pub(crate) column: String,
    /// Rows that have the value of another row.
    pub(crate) n_rows: u64,
    /// Whether the number is an estimate.
    pub(crate) is_about: bool,
}

/// The hashes of the identifiers of a chunk, column by column.
pub(super) struct HashedIdentifiers(Vec<Vec<u64>>);

impl HashedIdentifiers {
    pub(super) fn of(columns: &[ColumnChunk]) -> HashedIdentifiers {
        HashedIdentifiers(columns.iter().map(value_hashes).collect())
    }
}

/// What is counted of each identifier.
pub(super) struct IdentifierCounts {
    columns: Vec<DistinctSample>,
    _memory: Option<Reservation>,
}

impl IdentifierCounts {
    /// Of no row yet, within the budget.
    pub(super) fn new(reading: &Reading<'_>) -> IdentifierCounts {
        let n_columns = reading.plan.identifiers.len();
        let n_bytes = reading.plan.method.grain().unwrap_or_default().sample_bytes;
        let wanted = n_bytes / VALUE_BYTES / n_columns.max(1);
        let memory = reading
            .memory
            .budget
            .try_reserve("the values of identifiers", wanted * VALUE_BYTES * n_columns);
        let n_values = if memory.is_ok() { wanted.max(LEAST_VALUES) } else { LEAST_VALUES };
        let sample = || DistinctSample::new(n_values.div_ceil(2));
        IdentifierCounts {
            columns: (0..n_columns).map(|_| sample()).collect(),
            _memory: memory.ok(),
        }
    }

    /// Adds the rows of a chunk. A missing identifier is nobody's.
    pub(super) fn add(&mut self, chunk: &HashedIdentifiers) {
        for (counts, hashes) in self.columns.iter_mut().zip(&chunk.0) {
            let told = hashes.iter().filter(|&&hash| hash != MISSING);
            told.for_each(|&hash| counts.add(mix(hash), 1));
        }
    }

    /// The identifier that most rows share, if any do.
    pub(super) fn most_repeated(&self, names: &[String]) -> Option<Repeated> {
        most_repeated(names, &self.columns)
    }
}

/// The identifier that most rows share, if any do, by what was counted of each.
pub(crate) fn most_repeated(names: &[String], columns: &[DistinctSample]) -> Option<Repeated> {
    let repeated = names.iter().zip(columns).map(|(name, counts)| Repeated {
        column: name.clone(),
        n_rows: counts.n_rows_repeated().round() as u64,
        is_about: counts.is_estimate(),
    });
    // The first of several that are alike.
    let most = repeated.reduce(|a, b| if b.n_rows > a.n_rows { b } else { a });
    most.filter(|most| most.n_rows > 0)
}
