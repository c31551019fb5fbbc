//! Classes described, and their rows sorted by the buckets that their descriptions belong to.

use albers_classes::packed::RowBlock;
use albers_classes::{ClassDetails, Span};

use super::BucketPlan;
use crate::describe::{Describer, ShownFacts};
use crate::door::leaves::{ClassLeaves, Finer, LeafRows, class_box};
use crate::verify::content_key;

/// Some rows of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::door) struct Run {
    /// The class, by a number that no other class of the release has.
    pub(in crate::door) class_id: u64,
    /// What the class is made of: a class of the next finer release, or a leaf of the index.
    pub(in crate::door) part_id: u64,
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

/// The numbers of the classes at hand, and of what they are made of.
#[derive(Clone, Copy)]
pub(in crate::door) struct Numbers<'c> {
    /// The first, among all classes of the release.
    pub(in crate::door) first_class: u64,
    /// What they are made of.
    pub(in crate::door) finer: Finer<'c>,
}

/// Describes some classes and sorts their rows by bucket.
pub(in crate::door) fn scatter(
    plan: &BucketPlan<'_>,
    describers: &[Describer<'_>],
    numbers: Numbers<'_>,
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
        let cells = leaves.describe(describers, of_class, &region);
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
            let part_id = numbers.finer.of(leaf);
            scattered.runs.push(Run { class_id, part_id, key, n_rows: rows.len() as u32 });
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

/// Sorts runs whose keys are known into one of two halves by a bit of the key.
pub(in crate::door) fn half_of(key: u64, n_bits: u32) -> usize {
    (key >> (u64::BITS - 1 - n_bits) & 1) as usize
}
