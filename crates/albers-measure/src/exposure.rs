//! Who stands alone in what is published beside the classes: by a value that is kept, by all of
//! them, or by a secret that a whole class shares.
//!
//! Rows are told by the hashes of their cells, and come class by class: rows of one class follow
//! each other.
//!
//! Guarantee: counts are exact up to a number of distinct values, and beyond it estimates from all
//! rows of the values of least hash, which do not depend on the memory. Only what is published has
//! a part in them.
//! Cost: O(1) per row and column, columns in parallel; a bounded number of hashes per column.

mod counted;

use albers_table::distinct_sample::DistinctSample;
use albers_table::mix::mix;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

pub use counted::{CountedRows, counts_of};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExposurePlan {
    /// Columns that are published as they are, and are not sensitive.
    pub n_kept: usize,
    /// Sensitive columns.
    pub n_secrets: usize,
    /// Distinct values of a column up to which counts are exact.
    pub max_values: usize,
}

/// Some rows, by the hashes of their cells.
pub struct HashedRows<'r> {
    /// What the quasi-identifiers show, one number for each row.
    pub shown: &'r [u64],
    /// Each sensitive column; a missing cell is a value of its own.
    pub secrets: &'r [Vec<u64>],
}

/// Counts as rows come.
pub struct Exposure {
    n_rows: u64,
    kept: Vec<DistinctSample>,
    tuples: Option<DistinctSample>,
    tuples_and_shown: Option<DistinctSample>,
    secrets: Vec<SharedSecrets>,
    class: Option<u64>,
}

/// A number of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCount {
    /// How many.
    pub n_rows: u64,
    /// Whether it is an estimate.
    pub is_about: bool,
}

/// The classes that share a secret.
#[derive(Default)]
struct SharedSecrets {
    of_class: FxHashMap<u64, u64>,
    n_rows: u64,
    highest_share: f64,
}

impl Exposure {
    /// No row yet.
    pub fn new(plan: &ExposurePlan) -> Exposure {
        let sample = || DistinctSample::new(plan.max_values.div_ceil(2).max(1));
        let has_kept = plan.n_kept > 0;
        Exposure {
            n_rows: 0,
            kept: (0..plan.n_kept).map(|_| sample()).collect(),
            tuples: has_kept.then(sample),
            tuples_and_shown: has_kept.then(sample),
            secrets: (0..plan.n_secrets).map(|_| SharedSecrets::default()).collect(),
            class: None,
        }
    }

    /// Adds rows, the classes of which may go on in the next ones. `kept` tells the cells of a kept
    /// column, nothing for a missing one; those of a few columns are there at a time.
    pub fn add<E: Send>(
        &mut self,
        rows: &HashedRows<'_>,
        kept: impl Fn(usize) -> Result<Vec<Option<u64>>, E> + Sync,
    ) -> Result<(), E> {
        self.n_rows += rows.shown.len() as u64;
        let mut row_tuples = vec![0u64; rows.shown.len()];
        #[expect(clippy::disallowed_methods, reason = "it is called on the pool of a job")]
        let n_at_once = rayon::current_num_threads().max(1);
        for (part, samples) in self.kept.chunks_mut(n_at_once).enumerate() {
            let counted = samples.par_iter_mut().enumerate().map(|(idx, sample)| {
                let cells = kept(part * n_at_once + idx)?;
                cells.iter().flatten().for_each(|&hash| sample.add(mix(hash), 1));
                Ok(cells)
            });
            for cells in counted.collect::<Result<Vec<_>, E>>()? {
                let tuples = row_tuples.iter_mut().zip(cells);
                tuples.for_each(|(tuple, cell)| *tuple = mix(*tuple ^ cell.unwrap_or(0)));
            }
        }
        if let (Some(tuples), Some(with_shown)) = (&mut self.tuples, &mut self.tuples_and_shown) {
            for (&tuple, &shown) in row_tuples.iter().zip(rows.shown) {
                tuples.add(tuple, 1);
                with_shown.add(mix(mix(tuple) ^ shown), 1);
            }
        }
        self.add_secrets(rows);
        Ok(())
    }

    /// Adds rows that were counted before, of which sensitive columns are not asked.
    ///
    /// # Panics
    /// When they are, or rows have other kept columns.
    pub fn add_counted(&mut self, rows: &CountedRows) {
        assert!(self.secrets.is_empty(), "counts tell of no class what it shares");
        assert!(rows.n_rows == 0 || rows.kept.len() == self.kept.len(), "the same columns");
        self.n_rows += rows.n_rows;
        let tuples = self.tuples.iter_mut().zip([&rows.tuples]);
        let with_shown = self.tuples_and_shown.iter_mut().zip([&rows.tuples_and_shown]);
        for (sample, counts) in tuples.chain(with_shown) {
            counts.iter().for_each(|&(hash, n_rows)| sample.add(hash, n_rows));
        }
        for (sample, counts) in self.kept.iter_mut().zip(&rows.kept) {
            counts.iter().for_each(|&(hash, n_rows)| sample.add(mix(hash), n_rows));
        }
    }

    fn add_secrets(&mut self, rows: &HashedRows<'_>) {
        if self.secrets.is_empty() {
            return;
        }
        for (row_idx, &shown) in rows.shown.iter().enumerate() {
            if self.class.replace(shown) != Some(shown) {
                self.secrets.iter_mut().for_each(SharedSecrets::end_class);
            }
            for (secret, cells) in self.secrets.iter_mut().zip(rows.secrets) {
                *secret.of_class.entry(cells[row_idx]).or_insert(0) += 1;
            }
        }
    }

    /// Ends the last class.
    pub fn finish(&mut self) {
        self.secrets.iter_mut().for_each(SharedSecrets::end_class);
        self.class = None;
    }

    /// Rows that were added.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Rows whose value of a kept column nobody else has.
    pub fn alone_by_value(&self, column: usize) -> RowCount {
        self.alone(&self.kept[column])
    }

    /// Distinct values of a kept column.
    pub fn n_values(&self, column: usize) -> u64 {
        self.kept[column].n_distinct()
    }

    /// Rows that nobody equals in all kept columns.
    pub fn alone_by_kept(&self) -> RowCount {
        self.tuples.as_ref().map_or(RowCount::default(), |tuples| self.alone(tuples))
    }

    /// Rows that nobody equals in all kept columns and in what is shown.
    pub fn alone_by_kept_and_shown(&self) -> RowCount {
        self.tuples_and_shown.as_ref().map_or(RowCount::default(), |tuples| self.alone(tuples))
    }

    /// Rows in classes that share one value of a sensitive column, and the highest share of a class
    /// that has the same value.
    pub fn shared_secrets(&self, column: usize) -> (u64, f64) {
        (self.secrets[column].n_rows, self.secrets[column].highest_share)
    }
}

impl Exposure {
    /// An estimate is never of more rows than there are.
    fn alone(&self, sample: &DistinctSample) -> RowCount {
        let n_rows = (sample.n_unique().round() as u64).min(self.n_rows);
        RowCount { n_rows, is_about: sample.is_estimate() }
    }
}

impl SharedSecrets {
    fn end_class(&mut self) {
        let n_rows: u64 = self.of_class.values().sum();
        if n_rows == 0 {
            return;
        }
        let most = self.of_class.values().copied().max().unwrap_or(0);
        self.highest_share = self.highest_share.max(most as f64 / n_rows as f64);
        if self.of_class.len() == 1 {
            self.n_rows += n_rows;
        }
        self.of_class.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use albers_table::value_hash::{MISSING, NumberedValues};
    use proptest::prelude::*;

    use super::*;
    use crate::classes::RowRuns;

    fn exposure(rows: &[(u64, Option<u64>, u64, u64)], n_per_batch: usize) -> Exposure {
        let mut exposure = Exposure::new(&ExposurePlan { n_kept: 2, n_secrets: 1, max_values: 64 });
        for rows in rows.chunks(n_per_batch) {
            let hashed = HashedRows {
                shown: &rows.iter().map(|row| row.0).collect::<Vec<_>>(),
                secrets: &[rows.iter().map(|row| row.3).collect()],
            };
            let kept = |column| match column {
                0 => Ok::<_, Infallible>(rows.iter().map(|row| row.1).collect()),
                _ => Ok(rows.iter().map(|row| Some(row.2)).collect()),
            };
            exposure.add(&hashed, kept).unwrap();
        }
        exposure.finish();
        exposure
    }

    #[test]
    fn rows_alone_are_counted_by_value_by_tuple_and_beside_what_is_shown() {
        let rows = [
            (1, Some(7), 5, 0),
            (1, Some(7), 5, 0),
            (1, None, 6, 0),
            (2, Some(7), 6, 1),
            (2, Some(8), 6, 2),
            (2, Some(7), 5, 1),
            (2, Some(7), 5, 1),
        ];
        for n_per_batch in 1..=7 {
            let exposure = exposure(&rows, n_per_batch);
            assert_eq!(exposure.n_rows(), 7);
            assert_eq!(exposure.alone_by_value(0).n_rows, 1, "8; a missing cell is no value");
            assert_eq!((exposure.alone_by_value(1).n_rows, exposure.n_values(1)), (0, 2));
            assert_eq!(exposure.alone_by_kept().n_rows, 3);
            assert_eq!(exposure.alone_by_kept_and_shown().n_rows, 3);
            assert_eq!(exposure.shared_secrets(0), (3, 1.0));
        }
    }

    /// A column of some chunk, whose values have numbers as they come.
    fn numbered(cells: impl Iterator<Item = u8>) -> NumberedValues {
        let mut met: Vec<u8> = Vec::new();
        let number = |cell: u8| match met.iter().position(|&own| own == cell) {
            Some(place) => place as u32,
            None => {
                met.push(cell);
                met.len() as u32 - 1
            }
        };
        let numbers = cells.map(number).collect();
        let hash = |cell: &u8| if *cell == 0 { MISSING } else { mix(u64::from(*cell)) };
        NumberedValues { numbers, hashes: met.iter().map(hash).collect() }
    }

    proptest! {
        #[test]
        fn rows_that_were_counted_are_those_that_come_one_by_one(
            chunks in prop::collection::vec(
                prop::collection::vec(
                    (0u8..4, prop::collection::vec((0u8..90, 0u8..3), 1..5)), 0..20,
                ),
                0..8,
            ),
            max_values in 2usize..200,
        ) {
            let plan = ExposurePlan { n_kept: 2, n_secrets: 0, max_values };
            let (mut plain, mut fast) = (Exposure::new(&plan), Exposure::new(&plan));
            for chunk in &chunks {
                let rows = || chunk.iter().flat_map(|(_, rows)| rows);
                let kept = [numbered(rows().map(|own| own.0)), numbered(rows().map(|own| own.1))];
                let runs = RowRuns::of_sizes(chunk.iter().map(|(_, rows)| rows.len() as u32));
                let shown: Vec<u64> = chunk.iter().map(|(own, _)| mix(u64::from(*own))).collect();
                fast.add_counted(&CountedRows::of(&runs, &shown, &kept));
                let spread = runs.iter().zip(&shown).flat_map(|(own, &hash)| own.map(move |_| hash));
                let told = |hash: u64| (hash != MISSING).then_some(hash);
                let cells = |column: usize| -> Result<Vec<Option<u64>>, Infallible> {
                    Ok((0..runs.n_rows()).map(|row| told(kept[column].hash(row))).collect())
                };
                let shown: Vec<u64> = spread.collect();
                plain.add(&HashedRows { shown: &shown, secrets: &[] }, cells).unwrap();
            }
            prop_assert_eq!(plain.n_rows(), fast.n_rows());
            for column in 0..2 {
                prop_assert_eq!(plain.alone_by_value(column), fast.alone_by_value(column));
                prop_assert_eq!(plain.n_values(column), fast.n_values(column));
            }
            prop_assert_eq!(plain.alone_by_kept(), fast.alone_by_kept());
            prop_assert_eq!(plain.alone_by_kept_and_shown(), fast.alone_by_kept_and_shown());
        }
    }

    #[test]
    fn many_values_are_estimated_and_said_to_be() {
        let rows: Vec<_> = (0..4000).map(|row| (row / 10, Some(mix(row)), 0, row % 3)).collect();
        let exposure = exposure(&rows, 100);
        let alone = exposure.alone_by_value(0);
        assert!(alone.is_about && (2000..6000).contains(&alone.n_rows), "{alone:?}");
        assert_eq!(exposure.alone_by_value(1), RowCount::default());
        assert_eq!(exposure.shared_secrets(0).0, 0);
    }
}
