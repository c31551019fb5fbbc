//! Classes described, and their rows sorted by the buckets that their descriptions belong to.

use albers_classes::packed::RowBlock;

use super::{ClassLeaves, LeafRows, StreamPlan};
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

/// Describes some classes and sorts their rows by bucket; `first_class` is the number of the first
/// of all classes at hand in the release.
pub(super) fn scatter(
    plan: &StreamPlan<'_>,
    describers: &[Describer<'_>],
    first_class: u64,
    leaves: LeafRows<'_>,
    classes: &ClassLeaves,
    range: std::ops::Range<usize>,
) -> Scattered {
    let n_attributes = plan.attributes.len();
    let mut region = Vec::new();
    let mut keyed: Vec<(u64, usize)> = Vec::with_capacity(range.len());
    for class in range {
        let own = classes.of(class);
        class_box(leaves.regions, own, n_attributes, &mut region);
        let cells = describe(plan, describers, leaves, own, &region);
        keyed.push((content_key(&cells, describers, plan.seed), class));
    }
    // By key, which is by bucket too; ties by number, so that threads do not matter.
    keyed.sort_unstable();
    let mut scattered = Scattered::default();
    let n_buckets = plan.sizes.n_buckets;
    for (at, &(key, class)) in keyed.iter().enumerate() {
        let class_id = first_class + class as u64;
        for &leaf in classes.of(class) {
            let rows = leaf_rows(leaves, leaf);
            let leaf_id = leaves.first_leaf + u64::from(leaf);
            scattered.runs.push(Run { class_id, leaf_id, key, n_rows: rows.len() as u32 });
            if plan.show_regions {
                class_box(leaves.regions, classes.of(class), n_attributes, &mut region);
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

/// The smallest box around the boxes of a class's leaves, where there are any.
fn class_box(
    boxes: Option<&[(u32, u32)]>,
    class: &[u32],
    n_attributes: usize,
    around: &mut Vec<(u32, u32)>,
) {
    around.clear();
    let Some(boxes) = boxes else { return };
    for &leaf in class {
        let own = &boxes[leaf as usize * n_attributes..(leaf as usize + 1) * n_attributes];
        if around.is_empty() {
            around.extend_from_slice(own);
        } else {
            for (all, own) in around.iter_mut().zip(own) {
                *all = (all.0.min(own.0), all.1.max(own.1));
            }
        }
    }
}

/// What a class of these leaves shows. The boxes of the index tell it where they can; the door will
/// look at the rows.
fn describe(
    plan: &StreamPlan<'_>,
    describers: &[Describer<'_>],
    leaves: LeafRows<'_>,
    class: &[u32],
    region: &[(u32, u32)],
) -> Vec<ShownCell> {
    let n_attributes = describers.len();
    let mut around = Vec::with_capacity(n_attributes);
    class_box(Some(leaves.boxes), class, n_attributes, &mut around);
    let of_attribute = |attribute: usize| {
        let describer = &describers[attribute];
        let rows = class.iter().flat_map(|&leaf| leaf_rows(leaves, leaf));
        let codes = rows.map(|&row| leaves.rows.code(plan.layout, row as usize, attribute));
        match region.get(attribute) {
            Some(&(lo, hi)) => covering(describer, lo, hi, codes),
            None if describer.is_plain_interval() => {
                ShownCell::plain_interval(around[attribute].0, around[attribute].1)
            }
            None => describer.describe(codes),
        }
    };
    (0..n_attributes).map(of_attribute).collect()
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
