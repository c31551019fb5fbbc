//! Columns whose cells follow from those of another column, in all rows of a table.
//!
//! ```text
//!   sampled rows ──► pairs of columns that may depend ──one more pass──► those that do
//! ```
//!
//! Source: the functional dependencies of Huhtala et al. 1999 (TANE), of single columns.
//! Departures: a pair is a candidate if it holds in the row sample and chance would hardly let it;
//! where the sample is not the table, another pass looks at all rows. Of a column with many values
//! it follows those with the least hashes, from their first row to their last.
//! Guarantee: a dependence that is told holds in the table if it is the sample, or if each value of the
//! first column was followed; else for the values that were. A missing cell is a value like others.
//! Cost: candidates: pairs of columns x sampled rows, mostly far fewer. The pass: one lookup per row and
//! candidate, [`MAX_FOLLOWED`] values of 8 bytes for each of at most [`MAX_CANDIDATES`].

use albers_storage::watch::{Phase, Watch};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::cell_hash::HashedChunk;
use super::row_sample::SampledRows;
use crate::Result;
use crate::distinct_sample::halved;
use crate::source::{ColumnRequest, RequestedTypes, Source, SourceChunk, for_each_chunk};

/// Candidates that are followed through the table.
pub const MAX_CANDIDATES: usize = 256;
/// Values of the first column that are followed.
pub const MAX_FOLLOWED: usize = 16_384;

/// The natural logarithm of how seldom chance makes a column follow from another in a sample.
const LEAST_EVIDENCE: f64 = 14.0;
/// A column in which most rows have a value of their own tells everything, which says nothing.
const MAX_VALUES_PER_ROW: f64 = 0.5;

/// Each value of one column goes with a single value of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependence {
    /// The column that tells the other.
    pub from: usize,
    /// The column that is told.
    pub to: usize,
}

/// The pairs of columns that depend in the sample, and that chance would hardly make so.
pub fn candidates(sample: &SampledRows, n_columns: usize) -> Vec<Dependence> {
    let rarities: Vec<f64> = (0..n_columns).map(|column| rarity(sample, column)).collect();
    let n_rows = sample.n_rows();
    let found: Vec<Dependence> = (0..n_columns)
        .into_par_iter()
        .flat_map_iter(|from| {
            let n_values = sample.n_codes(from);
            let n_again = n_rows.saturating_sub(n_values) as f64;
            let can_tell = n_values > 1 && n_values as f64 <= MAX_VALUES_PER_ROW * n_rows as f64;
            let rarities = &rarities;
            (0..n_columns)
                .filter(move |&to| can_tell && to != from && sample.n_codes(to) <= n_values)
                .filter(move |&to| n_again * rarities[to] >= LEAST_EVIDENCE)
                .filter(move |&to| holds(sample, from, to))
                .map(move |to| Dependence { from, to })
        })
        .collect();
    found.into_iter().take(MAX_CANDIDATES).collect()
}

/// Minus the logarithm of the chance that two rows agree in a column; 0 where all do.
fn rarity(sample: &SampledRows, column: usize) -> f64 {
    let mut counts = vec![0u64; sample.n_codes(column)];
    for &code in sample.codes(column) {
        counts[code as usize] += 1;
    }
    let n_rows = sample.n_rows().max(1) as f64;
    let agree: f64 = counts.iter().map(|&count| (count as f64 / n_rows).powi(2)).sum();
    -agree.min(1.0).ln()
}

fn holds(sample: &SampledRows, from: usize, to: usize) -> bool {
    const UNSEEN: u32 = u32::MAX;
    let mut told = vec![UNSEEN; sample.n_codes(from)];
    sample.codes(from).iter().zip(sample.codes(to)).all(|(&code, &other)| {
        let known = &mut told[code as usize];
        if *known == UNSEEN {
            *known = other;
        }
        *known == other
    })
}

/// Those of the candidates that hold in all rows. The candidates are places among the requests, all
/// of which are asked for as coded.
pub fn that_hold(
    source: &dyn Source,
    requests: &[ColumnRequest],
    types: &RequestedTypes,
    candidates: &[Dependence],
    watch: &dyn Watch,
) -> Result<Vec<Dependence>> {
    watch.phase(Phase::Read, source.n_rows());
    let mut followed: Vec<Followed> = candidates.iter().map(|_| Followed::default()).collect();
    let mut scan = source.scan(requests, types)?;
    for_each_chunk(&mut *scan, watch, &Ok, &mut |chunk: SourceChunk| {
        let rows: Vec<u32> = (0..chunk.n_rows as u32).collect();
        let hashes: Vec<Vec<u32>> = chunk
            .coded
            .par_iter()
            .map(|cells| HashedChunk::new(cells).short_hashes_of(&rows))
            .collect();
        followed.par_iter_mut().zip(candidates).for_each(|(own, pair)| {
            own.add(&hashes[pair.from], &hashes[pair.to]);
        });
        Ok(())
    })?;
    let holding = candidates.iter().zip(&followed).filter(|(_, own)| !own.is_broken);
    Ok(holding.map(|(&pair, _)| pair).collect())
}

/// The values that go with those of a column.
#[derive(Default)]
struct Followed {
    is_broken: bool,
    /// Values whose hash is this or more are not followed; nothing when all are.
    bound: Option<u64>,
    told: FxHashMap<u32, u32>,
}

impl Followed {
    fn add(&mut self, from: &[u32], to: &[u32]) {
        for (&value, &other) in from.iter().zip(to) {
            if self.is_broken {
                self.told = FxHashMap::default();
                return;
            }
            if self.bound.is_some_and(|bound| place(value) >= bound) {
                continue;
            }
            self.is_broken = *self.told.entry(value).or_insert(other) != other;
            while self.told.len() > MAX_FOLLOWED {
                let bound = halved(self.bound);
                self.told.retain(|&value, _| place(value) < bound);
                self.bound = Some(bound);
            }
        }
    }
}

/// Where a short hash lies among all hashes.
fn place(hash: u32) -> u64 {
    u64::from(hash) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(codes: Vec<Vec<u32>>) -> Vec<(usize, usize)> {
        let n_columns = codes.len();
        let sample = SampledRows::from_codes(codes[0].len(), codes);
        candidates(&sample, n_columns).iter().map(|pair| (pair.from, pair.to)).collect()
    }

    #[test]
    fn what_follows_from_a_column_is_found_and_what_chance_makes_is_not() {
        let rows = 0..400u32;
        let age: Vec<u32> = rows.clone().map(|row| row * 7 % 40).collect();
        let decade: Vec<u32> = age.iter().map(|age| age / 10).collect();
        let renamed: Vec<u32> = age.iter().map(|age| 39 - age).collect();
        let number: Vec<u32> = rows.clone().collect();
        let constant = vec![0; 400];
        let rare: Vec<u32> = rows.map(|row| u32::from(row == 7)).collect();
        let found = pairs(vec![age, decade, renamed, number, constant, rare]);
        assert_eq!(found, [(0, 1), (0, 2), (2, 0), (2, 1)]);
    }

    #[test]
    fn one_row_that_differs_breaks_a_dependence() {
        let age: Vec<u32> = (0..400u32).map(|row| row % 40).collect();
        let mut decade: Vec<u32> = age.iter().map(|age| age / 10).collect();
        decade[399] = 0;
        assert_eq!(pairs(vec![age, decade]), []);
    }

    #[test]
    fn values_are_followed_in_memory_that_does_not_grow() {
        let mut followed = Followed::default();
        let values: Vec<u32> = (0..100_000u32).map(|v| v.wrapping_mul(2_654_435_761)).collect();
        followed.add(&values, &values);
        assert!(!followed.is_broken && followed.told.len() <= MAX_FOLLOWED);
        let kept = *followed.told.keys().next().unwrap();
        followed.add(&[kept], &[kept ^ 1]);
        followed.add(&[kept], &[kept]);
        assert!(followed.is_broken && followed.told.is_empty());
    }
}
