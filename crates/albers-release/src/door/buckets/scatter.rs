//! Classes described, and their rows sorted by the buckets that their descriptions belong to.

use albers_classes::packed::RowBlock;
use albers_classes::{ClassDetails, Span};

use super::BucketPlan;
use crate::describe::{Describer, ShownCell, ShownFacts};
use crate::door::leaves::{ClassLeaves, LeafRows, class_box};
use crate::verify::{content_key, covering};

/// Rows of one leaf in one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::door) struct Run {
    /// The class, by a number that no other class of the release has.
    pub(in crate::door) class_id: u64,
    /// The leaf of the index.
    pub(in crate::door) leaf_id: u64,
    /// What orders the class.
    pub(in crate::door) key: u64,
    /// How many rows.
    pub(in crate::door) n_rows: u32,
}

/// Some classes, sorted by bucket.
#[derive(Default)]
pub(in crate::door) struct Scattered {
    pub(in crate::door) runs: Vec<Run>,
    pub(in crate::door) rows: RowBlock,
    /// One region per run, where classes have regions.
    pub(in crate::door) regions: Vec<Span>,
    /// What else there is to tell of each run's class: features where some are published, holes
    /// where regions are nested.
    pub(in crate::door) details: ClassDetails,
    /// Of each bucket that got any: its number, and where its runs and its rows end.
    pub(in crate::door) ends: Vec<(usize, usize, usize)>,
    /// What the classes show, attribute by attribute, while they are scattered.
    pub(in crate::door) shown: Vec<ShownFacts>,
}

impl Scattered {
    /// The runs and the rows of each bucket.
    pub(in crate::door) fn by_bucket(
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
    pub(in crate::door) fn end_bucket(&mut self, bucket: usize) {
        self.ends.push((bucket, self.runs.len(), self.rows.n_rows()));
    }
}

/// The bucket of a key among this many.
pub(in crate::door) fn bucket_of(key: u64, n_buckets: usize) -> usize {
    match n_buckets.trailing_zeros() {
        0 => 0,
        n_bits => (key >> (u64::BITS - n_bits)) as usize,
    }
}

/// The numbers of the first class and of the first leaf at hand.
#[derive(Clone, Copy)]
pub(in crate::door) struct Numbers {
    /// Among all classes of the release.
    pub(in crate::door) first_class: u64,
    /// Among all leaves of the index.
    pub(in crate::door) first_leaf: u64,
}

/// Describes some classes and sorts their rows by bucket.
pub(in crate::door) fn scatter(
    plan: &BucketPlan<'_>,
    describers: &[Describer<'_>],
    numbers: Numbers,
    leaves: LeafRows<'_>,
    classes: &ClassLeaves<'_>,
    range: std::ops::Range<usize>,
) -> Scattered {
    let n_attributes = plan.attributes.len();
    let n_features = plan.options.n_features;
    let mut region = Vec::new();
    let mut shown = Vec::new();
    let mut keyed: Vec<(u64, usize)> = Vec::with_capacity(range.len());
    for class in range {
        let of_class = classes.of(class);
        if plan.options.show_regions {
            class_box(leaves.regions, of_class, n_attributes, &mut region);
        }
        let cells = describe(plan, describers, leaves, of_class, &region);
        ShownFacts::add_class(&mut shown, describers, &cells);
        let features = classes.features(class, n_features);
        keyed.push((content_key(&cells, features, describers, plan.options.seed), class));
    }
    // By key, which is by bucket too; ties by number, so that threads do not matter. The number has
    // no part in the release: each bucket is put in order anew.
    keyed.sort_unstable();
    let mut scattered = Scattered { shown, ..Scattered::default() };
    let n_buckets = plan.sizes.n_buckets;
    for (place, &(key, class)) in keyed.iter().enumerate() {
        let class_id = numbers.first_class + class as u64;
        if plan.region_len() > 0 {
            class_box(leaves.regions, classes.of(class), n_attributes, &mut region);
        }
        for &leaf in classes.of(class) {
            let rows = leaves.of(leaf);
            let leaf_id = numbers.first_leaf + u64::from(leaf);
            scattered.runs.push(Run { class_id, leaf_id, key, n_rows: rows.len() as u32 });
            scattered.regions.extend_from_slice(&region);
            scattered.details.features.extend_from_slice(classes.features(class, n_features));
            if plan.options.is_nested {
                scattered.details.holes.push(classes.holes(class).iter().copied());
            }
            for &row in rows {
                scattered.rows.extend_row(plan.rows.layout, leaves.rows, row as usize);
            }
        }
        let bucket = bucket_of(key, n_buckets);
        if keyed.get(place + 1).is_none_or(|&(next, _)| bucket_of(next, n_buckets) != bucket) {
            scattered.end_bucket(bucket);
        }
    }
    scattered
}

/// What a class of these leaves shows. The boxes of the index tell it where they can; the door will
/// look at the rows.
fn describe(
    plan: &BucketPlan<'_>,
    describers: &[Describer<'_>],
    leaves: LeafRows<'_>,
    class: &[u32],
    region: &[Span],
) -> Vec<ShownCell> {
    let n_attributes = describers.len();
    let mut around = Vec::with_capacity(n_attributes);
    class_box(Some(leaves.boxes), class, n_attributes, &mut around);
    let of_attribute = |attribute: usize| {
        let describer = &describers[attribute];
        let rows = class.iter().flat_map(|&leaf| leaves.of(leaf));
        let codes = rows.map(|&row| leaves.rows.code(plan.rows.layout, row as usize, attribute));
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
pub(in crate::door) fn half_of(key: u64, n_bits: u32) -> usize {
    (key >> (u64::BITS - 1 - n_bits) & 1) as usize
}
