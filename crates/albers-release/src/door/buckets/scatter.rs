//! Classes described, and their rows sorted by the buckets that their descriptions belong to.
//!
//! Rows are copied for that, some at a time: as many classes as fit into a stretch, or as many rows of
//! a class that does not.

use std::ops::Range;

use albers_classes::packed::RowBlock;
use albers_classes::{ClassDetails, Span};
use rayon::prelude::*;

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
    ) -> impl Iterator<Item = (usize, Range<usize>, Range<usize>)> + '_ {
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

/// Some classes, or some rows of one, that are sorted at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::door) struct Stretch {
    /// The classes.
    classes: Range<usize>,
    /// Which of their rows, where it is but one class; otherwise all.
    rows: Range<usize>,
    /// What these rows take, and how many they are.
    n_bytes: usize,
    n_rows: usize,
}

impl Stretch {
    fn empty(class: usize, row: usize) -> Stretch {
        Stretch { classes: class..class, rows: row..row, n_bytes: 0, n_rows: 0 }
    }

    /// Those rows of a leaf that belong to it, where `first` rows of the class are before them.
    fn of_leaf<'r>(&self, rows: &'r [u32], first: usize) -> &'r [u32] {
        let place = |row: usize| row.saturating_sub(first).min(rows.len());
        &rows[place(self.rows.start)..place(self.rows.end)]
    }
}

/// All classes in stretches of no more than so many bytes, or of one row.
pub(in crate::door) fn stretches(
    leaves: LeafRows<'_>,
    classes: &ClassLeaves<'_>,
    most_bytes: usize,
) -> Vec<Stretch> {
    const MOST_CLASSES: usize = 2048;
    let rows_of = |class: usize| classes.of(class).iter().flat_map(|&leaf| leaves.of(leaf));
    let row_bytes = |&row: &u32| leaves.rows.row_bytes(leaves.layout, row as usize);
    let size_of = |class: usize| -> (usize, usize) {
        let n_rows = classes.of(class).iter().map(|&leaf| leaves.of(leaf).len()).sum();
        match leaves.layout.has_payload() {
            true => (n_rows, rows_of(class).map(row_bytes).sum()),
            false => (n_rows, n_rows * leaves.layout.stride_bytes()),
        }
    };
    let sizes: Vec<(usize, usize)> =
        (0..classes.n_classes()).into_par_iter().with_min_len(MOST_CLASSES).map(size_of).collect();
    let (mut found, mut open) = (Vec::new(), Stretch::empty(0, 0));
    for (class, (n_rows, n_bytes)) in sizes.into_iter().enumerate() {
        let is_full = open.n_bytes + n_bytes > most_bytes || open.classes.len() == MOST_CLASSES;
        if is_full && open.n_rows > 0 {
            found.push(std::mem::replace(&mut open, Stretch::empty(class, 0)));
        }
        open.classes.end = class + 1;
        if n_bytes <= most_bytes {
            open.rows.end = usize::MAX;
            open.n_rows += n_rows;
            open.n_bytes += n_bytes;
            continue;
        }
        for (row, n_bytes) in rows_of(class).map(row_bytes).enumerate() {
            if open.n_rows > 0 && open.n_bytes + n_bytes > most_bytes {
                let next = Stretch { classes: class..class + 1, ..Stretch::empty(class, row) };
                found.push(std::mem::replace(&mut open, next));
            }
            open.rows.end = row + 1;
            open.n_rows += 1;
            open.n_bytes += n_bytes;
        }
        found.push(std::mem::replace(&mut open, Stretch::empty(class + 1, 0)));
    }
    found.extend((open.n_rows > 0).then_some(open));
    found
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
    stretch: &Stretch,
) -> Scattered {
    let n_attributes = plan.attributes.len();
    let n_features = plan.options.n_features;
    let mut region = Vec::new();
    let mut shown = Vec::new();
    let mut keyed: Vec<(u64, usize)> = Vec::with_capacity(stretch.classes.len());
    for class in stretch.classes.clone() {
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
    let layout = plan.rows.layout;
    let n_payload_bytes = stretch.n_bytes - stretch.n_rows * layout.stride_bytes();
    let rows = RowBlock::with_room(layout, stretch.n_rows, n_payload_bytes);
    let mut scattered = Scattered { shown, rows, ..Scattered::default() };
    let n_buckets = plan.sizes.n_buckets;
    for (place, &(key, class)) in keyed.iter().enumerate() {
        let class_id = numbers.first_class + class as u64;
        if plan.region_len() > 0 {
            class_box(leaves.regions, classes.of(class), n_attributes, &mut region);
        }
        let mut first = 0;
        for &leaf in classes.of(class) {
            let of_leaf = leaves.of(leaf);
            let rows = stretch.of_leaf(of_leaf, first);
            first += of_leaf.len();
            if rows.is_empty() {
                continue;
            }
            let part_id = numbers.finer.of(leaf);
            scattered.runs.push(Run { class_id, part_id, key, n_rows: rows.len() as u32 });
            scattered.regions.extend_from_slice(&region);
            scattered.details.features.extend_from_slice(classes.features(class, n_features));
            if plan.options.is_nested {
                scattered.details.holes.push(classes.holes(class).iter().copied());
            }
            for &row in rows {
                scattered.rows.extend_row(layout, leaves.rows, row as usize);
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

#[cfg(test)]
mod tests {
    use albers_classes::ClassId;
    use albers_classes::packed::RowLayout;
    use albers_table::row::RowId;

    use super::*;
    use crate::door::leaves::LeafClasses;

    /// The rows of all stretches, class by class, and whether each stretch is within the limit.
    fn told(leaves: LeafRows<'_>, classes: &ClassLeaves<'_>, most_bytes: usize) -> Vec<Vec<u32>> {
        let mut rows = vec![Vec::new(); classes.n_classes()];
        for stretch in stretches(leaves, classes, most_bytes) {
            let (mut n_rows, mut n_bytes) = (0, 0);
            for class in stretch.classes.clone() {
                let mut first = 0;
                for &leaf in classes.of(class) {
                    let own = stretch.of_leaf(leaves.of(leaf), first);
                    first += leaves.of(leaf).len();
                    n_rows += own.len();
                    let row_bytes = |&row: &u32| leaves.rows.row_bytes(leaves.layout, row as usize);
                    n_bytes += own.iter().map(row_bytes).sum::<usize>();
                    rows[class].extend_from_slice(own);
                }
            }
            assert_eq!((n_rows, n_bytes), (stretch.n_rows, stretch.n_bytes));
            assert!(n_rows == 1 || n_bytes <= most_bytes, "{n_bytes} of {most_bytes}");
        }
        rows
    }

    #[test]
    fn every_row_is_in_one_stretch_whatever_fits_into_it() {
        const N_LEAVES: u32 = 9;
        for has_payload in [true, false] {
            let layout = RowLayout::new(&[9], &[], has_payload);
            let mut rows = RowBlock::default();
            let ends: Vec<u32> = (1..=N_LEAVES).map(|leaf| leaf * (leaf + 1) / 2).collect();
            let n_rows = ends[N_LEAVES as usize - 1];
            for row in 0..n_rows {
                let payload = vec![b'x'; (row as usize * 37) % 90];
                rows.push(&layout, RowId::new(row.into()), [row % 9].into_iter(), &payload);
            }
            let order: Vec<u32> = (0..n_rows).rev().collect();
            let (boxes, regions) = (&[][..], None);
            let leaves = LeafRows {
                layout: &layout,
                rows: &rows,
                order: &order,
                ends: &ends,
                boxes,
                regions,
            };
            let together = [0, 1, 1, 0, 2, 2, 2, 3, 4].map(ClassId::of_index).to_vec();
            for of_leaf in [None, Some(together)] {
                let of_leaf = LeafClasses::from(of_leaf);
                let classes = ClassLeaves::new(N_LEAVES as usize, &of_leaf, 0).unwrap();
                let all = told(leaves, &classes, usize::MAX);
                assert_eq!(all.concat().len(), n_rows as usize);
                for most_bytes in 1..400 {
                    assert_eq!(told(leaves, &classes, most_bytes), all, "{most_bytes}");
                }
            }
        }
    }
}
