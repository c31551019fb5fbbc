//! Releases larger than memory: classes are shuffled into buckets by what they show, and each
//! bucket goes through the door on its own.
//!
//! Guarantee: that of [`mod@crate::verify`] and [`crate::publish`], for the whole release: every
//! class is recomputed from its rows in the bucket that its description belongs to, so that classes
//! that show the same meet there; the rows of all buckets are compared with those that were read;
//! classes leave in the order of the same keys. Nothing appears under its name before the last
//! bucket has passed. Over several releases of one index: each class is a union of whole leaves of
//! the index, so that every record is k-bound (Iwuchukwu & Naughton 2007, definition 2).
//! Cost: every row is written and read once more, in large blocks.
//!
//! ```text
//!   classes of a subtree ──describe, key──► buckets ──blocks──► spill store
//!                                              │ all classes have come
//!                                              ▼
//!   bucket by bucket:   load ──► verify ──► measure ──► write
//! ```

mod bucket;
mod giant;
mod scatter;

use std::time::Instant;

use albers_classes::Attribute;
use albers_classes::packed::FactColumns;
use albers_classes::packed::{RowBlock, RowLayout};
use albers_privacy::Requirement;
use albers_storage::memory_budget::{MemoryBudget, Reservation};
use albers_storage::spill::{Block, SpillStore};
use albers_table::progress::Progress;
use arrow_schema::Field;
use rayon::prelude::*;

use crate::cell::Describer;
use crate::error::{ReleaseError, Result};
use crate::publish::{CarriedColumn, Destination, Payload, Pending, SlabLimits, Writer};
use crate::verify::Verified;
use bucket::Bucket;

pub use giant::GiantClass;
use scatter::{Scattered, scatter};

/// What is released, and what it is checked against.
pub struct StreamPlan<'a> {
    /// The quasi-identifiers.
    pub attributes: &'a [Attribute],
    /// How rows are packed.
    pub layout: &'a RowLayout,
    /// Their facts.
    pub facts: &'a FactColumns,
    /// The facts that the measures look at: all sensitive columns.
    pub sensitive_facts: &'a [usize],
    /// Their payload.
    pub payload: &'a Payload,
    /// What every class must satisfy.
    pub requirement: &'a Requirement,
    /// Decides the order of classes and rows.
    pub seed: u64,
    /// Whether classes show their regions instead of their points' bounds.
    pub show_regions: bool,
    /// The memory of all.
    pub budget: &'a MemoryBudget,
    /// Where what does not fit goes.
    pub store: &'a SpillStore,
    /// The sizes of things.
    pub sizes: StreamSizes,
}

/// The sizes of things in memory.
#[derive(Debug, Clone, Copy)]
pub struct StreamSizes {
    /// Number of buckets; a power of two.
    pub n_buckets: usize,
    /// What is written to the store at once.
    pub block_bytes: usize,
    /// What is built before it is written to the release.
    pub slab: SlabLimits,
    /// What a row group of a Parquet file may take while it is written.
    pub group_bytes: usize,
}

impl StreamPlan<'_> {
    /// About how much a row takes while its bucket goes through the door, payload left out.
    pub fn row_bytes(layout: &RowLayout) -> usize {
        // Packed, as codes, row numbers, facts, and its share of a class's description.
        layout.stride_bytes() + 4 * layout.n_attributes() + 4 * layout.n_facts() + 32
    }
}

/// Some leaves of an index, with their rows in tree order.
#[derive(Clone, Copy)]
pub struct LeafRows<'s> {
    /// The rows.
    pub rows: &'s RowBlock,
    /// Their places, leaf by leaf.
    pub order: &'s [u32],
    /// Where each leaf ends in the order.
    pub ends: &'s [u32],
    /// The least and greatest code of each leaf on each attribute, one after another.
    pub boxes: &'s [(u32, u32)],
    /// The number of the first leaf in the whole index.
    pub first_leaf: u64,
    /// The regions of the leaves, one after another, where regions are shown.
    pub regions: Option<&'s [(u32, u32)]>,
}

/// What a release adds up to; equal for all releases of one index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Rows.
    pub n_rows: u64,
    /// Tells whether every row is there with its codes.
    pub fingerprint: u64,
    /// Tells which rows make a leaf.
    pub leaf_rows: u64,
    /// Tells whether every leaf lies in one class as a whole.
    pub whole_leaves: u64,
}

impl Totals {
    fn add(&mut self, other: &Totals) {
        self.n_rows += other.n_rows;
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
        self.leaf_rows = self.leaf_rows.wrapping_add(other.leaf_rows);
        self.whole_leaves = self.whole_leaves.wrapping_add(other.whole_leaves);
    }
}

/// A release that is written but not yet under its name.
pub struct Published {
    /// What gives it its name.
    pub pending: Pending,
    /// What its rows add up to.
    pub totals: Totals,
    /// The time that verifying and measuring took.
    pub verify_seconds: f64,
}

/// Some classes that passed the door, for those who measure them.
pub enum Passed<'p, 'a> {
    /// Classes in memory.
    Classes {
        /// The classes.
        classes: &'p Verified<'a>,
        /// The codes of each sensitive column by the rows' numbers in the classes.
        sensitive: &'p [Vec<u32>],
    },
    /// A class that does not fit there.
    Giant(&'p GiantClass<'a>),
}

impl Passed<'_, '_> {
    /// Rows of each class.
    pub fn class_sizes(&self) -> Vec<u64> {
        match self {
            Passed::Classes { classes, .. } => {
                let sizes = (0..classes.n_classes()).map(|class| classes.class(class).n_rows());
                sizes.map(|n_rows| n_rows as u64).collect()
            }
            Passed::Giant(giant) => vec![giant.n_rows],
        }
    }
}

/// A release whose classes are still coming.
pub struct Shuffle<'a> {
    plan: &'a StreamPlan<'a>,
    describers: Vec<Describer<'a>>,
    buckets: Vec<Bucket>,
    n_classes: u64,
    n_rows: u64,
    buffers: Reservation,
}

impl<'a> Shuffle<'a> {
    /// Of no classes yet.
    pub fn new(plan: &'a StreamPlan<'a>) -> Result<Shuffle<'a>> {
        let StreamSizes { n_buckets, block_bytes, .. } = plan.sizes;
        assert!(n_buckets.is_power_of_two(), "buckets are told by the first bits of a key");
        let buffers =
            plan.budget.try_reserve("the buffers of the release", n_buckets * block_bytes)?;
        Ok(Shuffle {
            plan,
            describers: plan.attributes.iter().map(Describer::new).collect(),
            buckets: (0..n_buckets).map(|_| Bucket::default()).collect(),
            n_classes: 0,
            n_rows: 0,
            buffers,
        })
    }

    /// What every class must satisfy.
    pub fn requirement(&self) -> &'a Requirement {
        self.plan.requirement
    }

    /// Adds the classes of some leaves. `class_of_leaf` numbers them from 0; without it each leaf
    /// is a class.
    pub fn add(&mut self, leaves: LeafRows<'_>, class_of_leaf: Option<&[u32]>) -> Result<()> {
        const CLASSES_PER_TASK: usize = 2048;
        let classes = ClassLeaves::new(leaves.ends.len(), class_of_leaf);
        let n_classes = classes.ends.len();
        let starts: Vec<usize> = (0..n_classes).step_by(CLASSES_PER_TASK).collect();
        let Shuffle { plan, describers, buckets, n_classes: first_class, .. } = &mut *self;
        let mut ready: Vec<Scattered> = Vec::new();
        // What was scattered in the last round goes to its buckets while the next is scattered.
        for round in starts.chunks(2 * rayon::current_num_threads()).chain([&[][..]]) {
            let last = std::mem::take(&mut ready);
            let (appended, scattered) = rayon::join(
                || last.iter().try_for_each(|piece| append(plan, buckets, piece)),
                || -> Vec<Scattered> {
                    let scatter_from = |&start: &usize| {
                        let range = start..(start + CLASSES_PER_TASK).min(n_classes);
                        scatter(plan, describers, *first_class, leaves, &classes, range)
                    };
                    round.par_iter().map(scatter_from).collect()
                },
            );
            appended?;
            ready = scattered;
        }
        self.n_classes += n_classes as u64;
        self.n_rows += leaves.order.len() as u64;
        Ok(())
    }

    /// Adds one class whose rows do not fit in memory: the blocks of a leaf of the index.
    pub fn add_giant(
        &mut self,
        blocks: &[Block],
        leaf_id: u64,
        region: Option<&[(u32, u32)]>,
    ) -> Result<()> {
        let n_rows = giant::scatter_giant(self, blocks, leaf_id, region)?;
        self.n_classes += 1;
        self.n_rows += n_rows;
        Ok(())
    }

    /// Publishes all classes, bucket by bucket; nothing appears before [`Pending::finish`]. What
    /// the rows add up to must be compared by the caller with what was read.
    pub fn publish(
        mut self,
        destination: &Destination<'_>,
        progress: &dyn Progress,
        measure: &mut dyn FnMut(&Passed<'_, '_>),
    ) -> Result<Published> {
        for bucket in &mut self.buckets {
            bucket.flush(self.plan)?;
        }
        let Shuffle { plan, describers, buckets, n_rows, buffers, .. } = self;
        drop(buffers);
        progress.phase("write", Some(n_rows));
        let fields: Vec<Field> = plan.payload.fields().iter().map(|field| field.field()).collect();
        let StreamSizes { slab, group_bytes, .. } = plan.sizes;
        let writer = Writer::create(&describers, destination, &fields, slab, group_bytes)?;
        drop(describers);
        let totals = Totals::default();
        let mut door =
            Door { plan, writer, progress, measure, totals, verify_seconds: 0.0, passed: None };
        let n_bits = plan.sizes.n_buckets.trailing_zeros();
        for (prefix, bucket) in (0u64..).zip(buckets) {
            door.pass(bucket, prefix, n_bits)?;
        }
        door.write_passed()?;
        if door.totals.n_rows != n_rows {
            return Err(ReleaseError::RowsChanged);
        }
        let Door { writer, totals, verify_seconds, .. } = door;
        Ok(Published { pending: writer.into_pending(), totals, verify_seconds })
    }
}

fn append(plan: &StreamPlan<'_>, buckets: &mut [Bucket], piece: &Scattered) -> Result<()> {
    for (bucket_idx, runs, rows) in piece.by_bucket() {
        buckets[bucket_idx].append(plan, piece, runs, rows)?;
    }
    Ok(())
}

/// Where buckets leave.
struct Door<'d, 'a> {
    plan: &'d StreamPlan<'a>,
    writer: Writer<'d>,
    progress: &'d dyn Progress,
    measure: &'d mut dyn FnMut(&Passed<'_, '_>),
    totals: Totals,
    verify_seconds: f64,
    /// A bucket that has passed and is still to be written.
    passed: Option<PassedBucket<'a>>,
}

/// A bucket that was verified.
struct PassedBucket<'a> {
    verified: Verified<'a>,
    carried: Vec<CarriedColumn>,
    sensitive: Vec<Vec<u32>>,
    totals: Totals,
    seconds: f64,
    _memory: Reservation,
}

impl Door<'_, '_> {
    /// Verifies, measures and writes the classes of a bucket, whose keys begin with these bits.
    fn pass(&mut self, bucket: Bucket, prefix: u64, n_bits: u32) -> Result<()> {
        if bucket.n_rows == 0 {
            return Ok(());
        }
        let n_bytes = bucket.n_bytes(self.plan);
        let reserve = || self.plan.budget.try_reserve("a bucket of classes", n_bytes);
        let mut memory = reserve();
        if memory.is_err() && self.passed.is_some() {
            self.write_passed()?;
            memory = self.plan.budget.try_reserve("a bucket of classes", n_bytes);
        }
        match memory {
            Ok(memory) => self.pass_whole(bucket, prefix, n_bits, memory),
            Err(_) if bucket.has_one_key => giant::pass_giant(self, bucket, prefix, n_bits),
            Err(_) => {
                // Two halves at a time, so that only two buffers are needed.
                for (bit, half) in (0u64..).zip(bucket.halves(self.plan, n_bits)?) {
                    self.pass(half, prefix << 1 | bit, n_bits + 1)?;
                }
                Ok(())
            }
        }
    }

    /// A bucket that fits in memory: verified while the one before it is written.
    fn pass_whole(
        &mut self,
        bucket: Bucket,
        prefix: u64,
        n_bits: u32,
        memory: Reservation,
    ) -> Result<()> {
        let Door { plan, writer, progress, passed, .. } = self;
        let last = passed.take();
        let (written, verified) = rayon::join(
            || match last {
                Some(last) => writer.write(&last.verified, &last.carried, *progress),
                None => Ok(()),
            },
            || verify_bucket(plan, bucket, prefix, n_bits, memory),
        );
        written?;
        let verified = verified?;
        self.totals.add(&verified.totals);
        let start = Instant::now();
        let classes = &verified.verified;
        (self.measure)(&Passed::Classes { classes, sensitive: &verified.sensitive });
        self.verify_seconds += verified.seconds + start.elapsed().as_secs_f64();
        self.passed = Some(verified);
        Ok(())
    }

    fn write_passed(&mut self) -> Result<()> {
        match self.passed.take() {
            Some(last) => self.writer.write(&last.verified, &last.carried, self.progress),
            None => Ok(()),
        }
    }
}

/// Loads a bucket and checks its classes, whose keys must begin with these bits.
fn verify_bucket<'a>(
    plan: &StreamPlan<'a>,
    bucket: Bucket,
    prefix: u64,
    n_bits: u32,
    memory: Reservation,
) -> Result<PassedBucket<'a>> {
    let start = Instant::now();
    let rows = bucket.load(plan)?;
    let totals = rows.leaf_totals(plan);
    let payloads = (0..rows.rows.n_rows()).map(|row| rows.rows.payload(row));
    let carried = plan.payload.decode(payloads)?;
    let sensitive = rows.sensitive(plan);
    let (verified, fingerprint) = rows.verify(plan)?;
    let in_bucket = |key: u64| n_bits == 0 || key >> (u64::BITS - n_bits) == prefix;
    if verified.key_range().is_some_and(|(a, b)| !in_bucket(a) || !in_bucket(b)) {
        return Err(ReleaseError::RowsChanged);
    }
    Ok(PassedBucket {
        verified,
        carried,
        sensitive,
        totals: Totals { fingerprint, ..totals },
        seconds: start.elapsed().as_secs_f64(),
        _memory: memory,
    })
}

/// The leaves of each class.
struct ClassLeaves {
    /// Class by class.
    leaves: Vec<u32>,
    ends: Vec<u32>,
}

impl ClassLeaves {
    fn new(n_leaves: usize, class_of_leaf: Option<&[u32]>) -> ClassLeaves {
        let Some(class_of) = class_of_leaf else {
            let n_leaves = n_leaves as u32;
            return ClassLeaves { leaves: (0..n_leaves).collect(), ends: (1..=n_leaves).collect() };
        };
        let n_classes = class_of.iter().max().map_or(0, |&class| class as usize + 1);
        let mut next = vec![0u32; n_classes + 1];
        class_of.iter().for_each(|&class| next[class as usize + 1] += 1);
        for class in 0..n_classes {
            next[class + 1] += next[class];
        }
        let ends = next[1..].to_vec();
        let mut leaves = vec![0; n_leaves];
        for (leaf, &class) in (0u32..).zip(class_of) {
            leaves[next[class as usize] as usize] = leaf;
            next[class as usize] += 1;
        }
        ClassLeaves { leaves, ends }
    }

    fn of(&self, class: usize) -> &[u32] {
        let start = if class == 0 { 0 } else { self.ends[class - 1] };
        &self.leaves[start as usize..self.ends[class] as usize]
    }
}
