//! Releases larger than memory: classes are shuffled into buckets by what they show, and each
//! bucket goes through the door on its own.
//!
//! Guarantee: that of the whole door: every class is recomputed from its rows in the bucket that
//! its description belongs to, so that classes that show the same meet there; the rows of all
//! buckets are compared with those that were read; classes leave in the order of the same keys.
//! Over several releases of one index: no two classes of one show the same, and each class is a
//! union of whole classes of the next finer release, so that some of them together tell no more than
//! the finest of these.
//! Cost: every row is written and read once more, in large blocks.
//!
//! ```text
//!   classes of a subtree ──describe, key──► buckets ──blocks──► spill store
//!                                              │ all classes have come
//!                                              ▼
//!   bucket by bucket:   load ──► verify ──► measure ──► write
//! ```

pub(super) mod bucket;
pub(super) mod gate;
mod loaded;
pub(super) mod scatter;

use albers_classes::Attribute;
use albers_storage::memory_budget::Reservation;
use albers_storage::threads;
use albers_storage::watch::Watch;
use albers_table::mix::mix;
use albers_table::row::RowId;
use rayon::prelude::*;

use super::giant;
use super::leaves::{ClassLeaves, Finer, GiantLeaf, LeafClasses, LeafRows};
use super::plan::{BucketSizes, PackedRows};
use crate::describe::{Describer, ShownFacts};
use crate::error::Result;
use crate::verify::ShowOptions;
use bucket::Bucket;
use scatter::{Run, Scattered, Stretch, scatter};

/// How classes are shuffled.
#[derive(Clone, Copy)]
pub(super) struct BucketPlan<'a> {
    /// The quasi-identifiers.
    pub(super) attributes: &'a [Attribute],
    /// What rows have, and where they are kept.
    pub(super) rows: PackedRows<'a>,
    /// What classes show.
    pub(super) options: ShowOptions,
    /// Of which attributes all missing values are left out; empty until all classes have come.
    pub(super) hides_missing: &'a [bool],
    /// Whether there are several releases, of which no two classes may show the same.
    pub(super) are_several: bool,
    /// The sizes of things.
    pub(super) sizes: BucketSizes,
}

impl<'a> BucketPlan<'a> {
    /// Spans that travel with each run of rows.
    pub(super) fn region_len(&self) -> usize {
        let has_regions = self.options.show_regions || self.options.is_nested;
        if has_regions { self.attributes.len() } else { 0 }
    }

    pub(super) fn describers(&self) -> Vec<Describer<'a>> {
        self.options.describers(self.attributes, self.hides_missing)
    }
}

/// What a release adds up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Rows.
    pub(super) n_rows: u64,
    /// Tells whether every row is there with its codes.
    pub(super) fingerprint: u64,
    /// What its classes are made of: the classes of the next finer release.
    pub(super) parts: Division,
    /// Its classes.
    pub(super) classes: Division,
}

/// Tells which rows are together; equal for equal divisions of the same rows, by equal numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Division {
    /// Tells which rows there are of each.
    rows: u64,
    /// Tells whether each lies in one class as a whole.
    whole: u64,
}

impl Totals {
    pub(super) fn add(&mut self, other: &Totals) {
        self.n_rows += other.n_rows;
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
        self.parts.add(other.parts);
        self.classes.add(other.classes);
    }

    /// Adds a row of a run to its part and to its class.
    pub(super) fn add_row(&mut self, run: &Run, row_id: RowId) {
        self.parts.add_row(run.part_id, row_id);
        self.classes.add_row(run.class_id, row_id);
    }
}

impl Division {
    fn add(&mut self, other: Division) {
        self.rows = self.rows.wrapping_add(other.rows);
        self.whole = self.whole.wrapping_add(other.whole);
    }

    fn add_row(&mut self, id: u64, row_id: RowId) {
        self.rows = self.rows.wrapping_add(mix(mix(id) ^ row_id.get()));
    }

    /// Adds one with so many rows in one class.
    pub(super) fn add_whole(&mut self, id: u64, n_rows: u64) {
        self.whole = self.whole.wrapping_add(mix(mix(id ^ 0x3c6e_f372_fe94_f82b) ^ n_rows));
    }
}

/// A release whose classes are still coming.
pub(super) struct Shuffle<'a> {
    pub(super) describers: Vec<Describer<'a>>,
    pub(super) buckets: Vec<Bucket>,
    pub(super) n_classes: u64,
    pub(super) n_rows: u64,
    /// What the classes show, attribute by attribute.
    pub(super) shown: Vec<ShownFacts>,
    buffers: Reservation,
}

impl<'a> Shuffle<'a> {
    /// Of no classes yet.
    pub(super) fn new(plan: &BucketPlan<'a>) -> Result<Shuffle<'a>> {
        let BucketSizes { n_buckets, block_bytes, .. } = plan.sizes;
        assert!(n_buckets.is_power_of_two(), "buckets are told by the first bits of a key");
        let buffers =
            plan.rows.budget.try_reserve("the buffers of the release", n_buckets * block_bytes)?;
        Ok(Shuffle {
            describers: plan.describers(),
            buckets: (0..n_buckets).map(|_| Bucket::default()).collect(),
            n_classes: 0,
            n_rows: 0,
            shown: vec![ShownFacts::default(); plan.attributes.len()],
            buffers,
        })
    }

    /// Adds the classes of some leaves, made of what is given.
    pub(super) fn add(
        &mut self,
        plan: &BucketPlan<'a>,
        leaves: LeafRows<'_>,
        finer: Finer<'_>,
        classes: &LeafClasses,
        watch: &dyn Watch,
    ) -> Result<()> {
        let classes = ClassLeaves::new(leaves.ends.len(), classes, plan.options.n_features)?;
        let n_classes = classes.n_classes();
        let stretches = scatter::stretches(leaves, &classes, plan.sizes.stretch_bytes);
        let Shuffle { describers, buckets, n_classes: first_class, shown, .. } = &mut *self;
        let from = scatter::Numbers { first_class: *first_class, finer };
        let mut ready: Vec<Scattered> = Vec::new();
        // What was scattered in the last round goes to its buckets while the next is scattered.
        for round in stretches.chunks(2 * threads::of_pool()).chain([&[][..]]) {
            watch.check()?;
            let last = std::mem::take(&mut ready);
            let (appended, scattered) = rayon::join(
                || last.into_iter().try_for_each(|piece| append(plan, buckets, &piece)),
                || -> Vec<Scattered> {
                    let scatter_some =
                        |some: &Stretch| scatter(plan, describers, from, leaves, &classes, some);
                    round.par_iter().map(scatter_some).collect()
                },
            );
            appended?;
            scattered.iter().for_each(|piece| ShownFacts::add_all(shown, &piece.shown));
            ready = scattered;
        }
        self.n_classes += n_classes as u64;
        self.n_rows += leaves.order.len() as u64;
        Ok(())
    }

    /// Adds one class whose rows do not fit in memory: a leaf of the index, and a class of the next
    /// finer release, with its number there.
    pub(super) fn add_giant(
        &mut self,
        plan: &BucketPlan<'a>,
        leaf: GiantLeaf<'_>,
        part_id: u64,
        watch: &dyn Watch,
    ) -> Result<()> {
        self.n_rows += giant::scatter_giant(self, plan, leaf, part_id, watch)?;
        self.n_classes += 1;
        Ok(())
    }

    /// No more classes come: all of them are in the store.
    pub(super) fn into_buckets(mut self, plan: &BucketPlan<'a>) -> Result<Vec<Bucket>> {
        for bucket in &mut self.buckets {
            bucket.flush(plan)?;
        }
        drop(self.buffers);
        Ok(self.buckets)
    }
}

fn append(plan: &BucketPlan<'_>, buckets: &mut [Bucket], piece: &Scattered) -> Result<()> {
    for (bucket_idx, runs, rows) in piece.by_bucket() {
        buckets[bucket_idx].append(plan, piece, runs, rows)?;
    }
    Ok(())
}
