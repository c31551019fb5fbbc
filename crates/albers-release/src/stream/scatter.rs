//! Classes described, and their rows sorted by the buckets that their descriptions belong to.

use albers_table::packed::RowBlock;

use super::{ClassLeaves, LeafRows, Shuffle, StreamPlan};
use crate::cell::{Describer, ShownCell};
use crate::verify::{content_key, covering};

/// Rows of one leaf in one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The class, by a number that no other class of the release has.
    pub class_id: u64,
    /// The leaf of the index.
    pub leaf_id: u64,
    /// What orders the class.
    pub key: u64,
    /// How many rows.
    pub n_rows: u32,
}

/// Some classes, sorted by bucket.
#[derive(Default)]
pub struct Scattered {
    pub(super) runs: Vec<Run>,
    pub(super) rows: RowBlock,
    /// One region per run, where regions are shown.
    pub(super) regions: Vec<(u32, u32)>,
    /// Of each bucket that got any: its number, and where its runs and its rows end.
    pub(super) ends: Vec<(usize, usize, usize)>,
}

impl Scattered {
    /// The runs and the rows of each bucket.
    pub(super) fn by_bucket(
        &self,
    ) -> impl Iterator<Item = (usize, std::ops::Range<usize>, std::ops::Range<usize>)> + '_ {
        self.ends.iter().enumerate().map(|(at, &(bucket, runs_end, rows_end))| {
            let (runs_start, rows_start) = match at {
                0 => (0, 0),
                _ => (self.ends[at - 1].1, self.ends[at - 1].2),
            };
            (bucket, runs_start..runs_end, rows_start..rows_end)
        })
    }

    /// Notes that what was added since the last call belongs to a bucket.
    pub(super) fn end_bucket(&mut self, bucket: usize) {
        self.ends.push((bucket, self.runs.len(), self.rows.n_rows()));
    }
}

/// The bucket of a key among this many.
pub(super) fn bucket_of(key: u64, n_buckets: usize) -> usize {
    match n_buckets.trailing_zeros() {
        0 => 0,
        n_bits => (key >> (u64::BITS - n_bits)) as usize,
    }
}

/// Describes some classes and sorts their rows by bucket.
pub(super) fn scatter(
    shuffle: &Shuffle<'_>,
    leaves: LeafRows<'_>,
    classes: &ClassLeaves,
    range: std::ops::Range<usize>,
) -> Scattered {
    let plan = shuffle.plan;
    let n_attributes = plan.attributes.len();
    let mut cells = Vec::with_capacity(n_attributes);
    let mut codes = Vec::new();
    let mut region = Vec::new();
    let mut keyed: Vec<(u64, usize)> = Vec::with_capacity(range.len());
    for class in range {
        codes.clear();
        for &leaf in classes.of(class) {
            for &row in leaf_rows(leaves, leaf) {
                let start = codes.len();
                codes.resize(start + n_attributes, 0);
                leaves.rows.codes(plan.layout, row as usize, &mut codes[start..]);
            }
        }
        class_region(leaves, classes.of(class), n_attributes, &mut region);
        describe(&shuffle.describers, &codes, &region, &mut cells);
        keyed.push((content_key(&cells, &shuffle.describers, plan.seed), class));
    }
    // By key, which is by bucket too; ties by number, so that threads do not matter.
    keyed.sort_unstable();
    let mut scattered = Scattered::default();
    let n_buckets = plan.sizes.n_buckets;
    for (at, &(key, class)) in keyed.iter().enumerate() {
        let class_id = shuffle.n_classes + class as u64;
        for &leaf in classes.of(class) {
            let rows = leaf_rows(leaves, leaf);
            let leaf_id = leaves.first_leaf + u64::from(leaf);
            scattered.runs.push(Run { class_id, leaf_id, key, n_rows: rows.len() as u32 });
            if plan.show_regions {
                class_region(leaves, classes.of(class), n_attributes, &mut region);
                scattered.regions.extend_from_slice(&region);
            }
            for &row in rows {
                scattered.rows.extend_row(plan.layout, leaves.rows, row as usize);
            }
        }
        let bucket = bucket_of(key, n_buckets);
        if keyed.get(at + 1).is_none_or(|&(next, _)| bucket_of(next, n_buckets) != bucket) {
            scattered.end_bucket(bucket);
        }
    }
    scattered
}

fn leaf_rows<'s>(leaves: LeafRows<'s>, leaf: u32) -> &'s [u32] {
    let start = if leaf == 0 { 0 } else { leaves.ends[leaf as usize - 1] };
    &leaves.order[start as usize..leaves.ends[leaf as usize] as usize]
}

/// The smallest box around the regions of a class's leaves; nothing where regions are not shown.
fn class_region(
    leaves: LeafRows<'_>,
    class: &[u32],
    n_attributes: usize,
    region: &mut Vec<(u32, u32)>,
) {
    region.clear();
    let Some(regions) = leaves.regions else { return };
    for &leaf in class {
        let own = &regions[leaf as usize * n_attributes..(leaf as usize + 1) * n_attributes];
        if region.is_empty() {
            region.extend_from_slice(own);
        } else {
            for (all, own) in region.iter_mut().zip(own) {
                *all = (all.0.min(own.0), all.1.max(own.1));
            }
        }
    }
}

/// What a class with these codes shows.
pub(super) fn describe(
    describers: &[Describer<'_>],
    codes: &[u32],
    region: &[(u32, u32)],
    cells: &mut Vec<ShownCell>,
) {
    cells.clear();
    for (attribute, describer) in describers.iter().enumerate() {
        let own = codes[attribute..].iter().step_by(describers.len()).copied();
        cells.push(match region.get(attribute) {
            Some(&(lo, hi)) => covering(describer, lo, hi, own),
            None => describer.describe(own),
        });
    }
}

/// Sorts runs whose keys are known into one of two halves by a bit of the key.
pub(super) fn half_of(key: u64, n_bits: u32) -> usize {
    (key >> (u64::BITS - 1 - n_bits) & 1) as usize
}

impl StreamPlan<'_> {
    pub(super) fn region_len(&self) -> usize {
        if self.show_regions { self.attributes.len() } else { 0 }
    }
}
