//! What an access method is: buckets, and the rounds in which they are split.
//!
//! Guarantee: what comes of a round depends on the buckets of the last one alone, so that threads
//! have no part in it. No recursion.
//! Cost: as many rounds as the longest chain of splits.

use std::ops::Range;

use albers_classes::Span;
use albers_partition::split::rule::{Allowance, RuleScratch};
use albers_storage::StorageError;
use albers_storage::watch::Watch;
use rayon::prelude::*;

/// Why there is no division.
#[derive(Debug)]
pub enum Stop {
    /// Something that has nothing to do with the method.
    Storage(StorageError),
    /// A grid file would need a directory of so many cells.
    Directory {
        /// Cells of the directory.
        n_cells: u128,
    },
}

impl From<StorageError> for Stop {
    fn from(error: StorageError) -> Stop {
        Stop::Storage(error)
    }
}

/// How a method divides space.
pub(super) trait AccessMethod: Sync {
    /// What it knows of a bucket beside its rows.
    type Place: Send + Sync;

    /// One bucket of all rows, in the order in which the method keeps them.
    fn whole(&self) -> Bucket<Self::Place>;

    /// Parts of a bucket that all hold rows and satisfy; nothing where it stays whole.
    fn split(
        &self,
        bucket: &Bucket<Self::Place>,
        judge: &mut Judge<'_>,
    ) -> Option<Vec<Bucket<Self::Place>>>;

    /// Takes note of all parts of a round, before the next one begins.
    fn settle(&mut self, _parts: &[Bucket<Self::Place>]) -> Result<(), Stop> {
        Ok(())
    }

    /// The codes of a bucket's region.
    fn region_box(&self, bucket: &Bucket<Self::Place>) -> Vec<Span>;

    /// Where all rows in a bucket's region stand in the order of all rows, its own and those of
    /// regions in it; nothing where regions lie side by side.
    fn run(&self, _bucket: &Bucket<Self::Place>) -> Option<Range<usize>> {
        None
    }
}

/// Rows that stay together as long as they are not split.
pub(super) struct Bucket<P> {
    /// What its method knows of it.
    pub(super) place: P,
    /// Its own rows, in the order of its method.
    pub(super) rows: Vec<u32>,
}

/// The parts of a bucket, or the bucket itself where it stays whole.
type Outcome<P> = Result<Vec<Bucket<P>>, Bucket<P>>;

/// A bucket that is split no further.
pub(super) struct Grown {
    pub(super) rows: Vec<u32>,
    /// The codes of its region.
    pub(super) region: Vec<Span>,
    /// Where all rows in its region stand, where regions may lie in each other.
    pub(super) run: Option<Range<usize>>,
}

/// Whether parts of a bucket satisfy.
pub(super) struct Judge<'a> {
    allowance: Allowance<'a>,
    scratch: RuleScratch,
}

impl<'a> Judge<'a> {
    fn new(allowance: Allowance<'a>) -> Judge<'a> {
        Judge { allowance, scratch: RuleScratch::default() }
    }

    /// No part with fewer rows satisfies.
    pub(super) fn min_rows(&self) -> usize {
        self.allowance.min_rows
    }

    /// Whether all parts satisfy.
    pub(super) fn hold_all(&mut self, parts: &[&[u32]]) -> bool {
        // Numbers are known at once, and rule most parts out.
        parts.iter().all(|part| part.len() >= self.allowance.min_rows)
            && parts.iter().all(|part| self.holds(part, &[]))
    }

    /// Whether the rows of two stretches satisfy as one part.
    pub(super) fn holds(&mut self, first: &[u32], second: &[u32]) -> bool {
        let n_rows = first.len() + second.len();
        self.allowance.holds(n_rows, &mut self.scratch, || first.iter().chain(second).copied())
    }
}

/// Splits all rows to the end.
pub(super) fn grow<M: AccessMethod>(
    method: &mut M,
    allowance: Allowance<'_>,
    watch: &dyn Watch,
) -> Result<Vec<Grown>, Stop> {
    let whole = method.whole();
    let mut pending = if whole.rows.is_empty() { Vec::new() } else { vec![whole] };
    let mut done = Vec::new();
    while !pending.is_empty() {
        let split_one = |judge: &mut Judge<'_>, bucket: Bucket<M::Place>| {
            watch.check()?;
            let parts = match bucket.rows.len() < 2 * allowance.min_rows {
                true => None,
                false => method.split(&bucket, judge),
            };
            Ok(parts.ok_or(bucket))
        };
        let split: Vec<Outcome<M::Place>> = pending
            .into_par_iter()
            .map_init(|| Judge::new(allowance), split_one)
            .collect::<Result<_, Stop>>()?;
        pending = Vec::new();
        for outcome in split {
            match outcome {
                Ok(parts) => pending.extend(parts),
                Err(whole) => {
                    watch.done(whole.rows.len() as u64)?;
                    done.push(whole);
                }
            }
        }
        method.settle(&pending)?;
    }
    // Regions are told when all lines are drawn.
    let method = &*method;
    let grown = |bucket: Bucket<M::Place>| Grown {
        region: method.region_box(&bucket),
        run: method.run(&bucket),
        rows: bucket.rows,
    };
    Ok(done.into_par_iter().map(grown).collect())
}
