//! Stretches of rows that were counted before they come: how many of them have which cell, which
//! tuple, and which tuple beside what is shown.
//!
//! Guarantee: what is counted is what [`Exposure::add`](super::Exposure::add) counts of the same
//! rows one by one.
//! Cost: per row a look into tables as long as the stretch has distinct values; hashes per distinct
//! value and tuple of a run, and not per row.

use albers_table::mix::mix;
use albers_table::value_hash::{MISSING, NumberedValues};

use crate::classes::{ClassNumbers, Codes, RowRuns};

/// Hashes, each with the number of its rows.
pub(super) type Counts = Vec<(u64, u32)>;

/// Rows that were counted.
#[derive(Debug, Default)]
pub struct CountedRows {
    pub(super) n_rows: u64,
    /// The values of each kept column, without the missing one.
    pub(super) kept: Vec<Counts>,
    pub(super) tuples: Counts,
    pub(super) tuples_and_shown: Counts,
}

impl CountedRows {
    /// Counts the rows of some runs, of each of which the quasi-identifiers show one number; the kept
    /// columns have a value for each row.
    ///
    /// # Panics
    /// When there is not a number for each run and a value for each row.
    pub fn of(runs: &RowRuns, shown: &[u64], kept: &[NumberedValues]) -> CountedRows {
        if kept.is_empty() {
            return CountedRows { n_rows: runs.n_rows() as u64, ..CountedRows::default() };
        }
        assert_eq!(shown.len(), runs.n_runs(), "a number for each run");
        let columns: Vec<Codes<'_>> = kept
            .iter()
            .map(|own| Codes { codes: &own.numbers, n_values: own.hashes.len() as u32 })
            .collect();
        let classes = ClassNumbers::of(runs.n_rows(), &columns);
        let tuple = |row: usize| kept.iter().fold(0, |tuple, own| mix(tuple ^ own.hash(row)));
        let hashes: Vec<u64> = classes.first_runs().map(tuple).collect();
        let tuple_of_row: Vec<u32> = classes.of_runs().map(|own| own.get()).collect();
        CountedRows {
            n_rows: runs.n_rows() as u64,
            kept: kept.iter().map(counts_of).collect(),
            tuples: counted(&tuple_of_row, &hashes),
            tuples_and_shown: counted_in_runs((runs, shown), (tuple_of_row, &hashes)),
        }
    }
}

/// The values of a column and the rows of each, without the missing one.
pub fn counts_of(column: &NumberedValues) -> Vec<(u64, u32)> {
    let mut counts = counted(&column.numbers, &column.hashes);
    counts.retain(|&(hash, _)| hash != MISSING);
    counts
}

/// The rows of each hash, by its number.
fn counted(numbers: &[u32], hashes: &[u64]) -> Counts {
    let mut n_rows = vec![0u32; hashes.len()];
    numbers.iter().for_each(|&number| n_rows[number as usize] += 1);
    let counts = hashes.iter().copied().zip(n_rows);
    counts.filter(|&(_, n_rows)| n_rows > 0).collect()
}

/// The rows of each tuple in each run.
fn counted_in_runs(
    (runs, shown): (&RowRuns, &[u64]),
    (mut tuple_of_row, hashes): (Vec<u32>, &[u64]),
) -> Counts {
    let mut counts = Counts::new();
    for (rows, &shown) in runs.iter().zip(shown) {
        let of_run = &mut tuple_of_row[rows];
        of_run.sort_unstable();
        for same in of_run.chunk_by(|a, b| a == b) {
            let hash = mix(mix(hashes[same[0] as usize]) ^ shown);
            counts.push((hash, same.len() as u32));
        }
    }
    counts
}
