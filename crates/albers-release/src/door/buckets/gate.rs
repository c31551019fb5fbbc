//! Where buckets leave: each is verified while the one before it is written.

use std::time::Instant;

use albers_classes::packed::PackedRowIds;
use albers_privacy::{Facts, Requirement};
use albers_storage::memory_budget::Reservation;
use albers_storage::watch::{Phase, Silent, Watch};

use super::bucket::Bucket;
use super::{BucketPlan, Totals};
use crate::door::giant;
use crate::door::passed::{ClassSizes, Passed, PassedClasses};
use crate::error::{ReleaseError, Result};
use crate::publish::{CarriedColumn, Writer};
use crate::verify::{Verified, describe};

/// Where the buckets of one release leave.
pub(in crate::door) struct Gate<'d, 'a> {
    pub(in crate::door) plan: &'d BucketPlan<'a>,
    pub(in crate::door) requirement: &'d Requirement,
    pub(in crate::door) writer: Writer<'a>,
    pub(in crate::door) watch: &'d dyn Watch,
    pub(in crate::door) measure: &'d mut dyn FnMut(&Passed<'_, '_>),
    pub(in crate::door) totals: Totals,
    pub(in crate::door) sizes: ClassSizes,
    /// The time that checking and measuring took.
    pub(in crate::door) verify_seconds: f64,
    /// Rows of the release.
    pub(in crate::door) n_rows: u64,
    /// Whether anything was written.
    is_writing: bool,
    /// A bucket that has passed and is still to be written.
    passed: Option<PassedBucket<'a>>,
}

/// A bucket that was verified.
struct PassedBucket<'a> {
    classes: Verified<'a>,
    carried: Vec<CarriedColumn>,
    row_ids: PackedRowIds,
    sensitive: Vec<Vec<u32>>,
    facts: Facts,
    totals: Totals,
    seconds: f64,
    _memory: Reservation,
}

impl<'d, 'a> Gate<'d, 'a> {
    /// A gate that nothing has passed yet.
    pub(in crate::door) fn new(
        plan: &'d BucketPlan<'a>,
        requirement: &'d Requirement,
        writer: Writer<'a>,
        watch: &'d dyn Watch,
        measure: &'d mut dyn FnMut(&Passed<'_, '_>),
        n_rows: u64,
    ) -> Gate<'d, 'a> {
        Gate {
            plan,
            requirement,
            writer,
            watch,
            measure,
            totals: Totals::default(),
            sizes: ClassSizes::default(),
            verify_seconds: 0.0,
            n_rows,
            is_writing: false,
            passed: None,
        }
    }

    /// Verifies, measures and writes all buckets.
    pub(in crate::door) fn pass_all(&mut self, buckets: Vec<Bucket>) -> Result<()> {
        let n_bits = self.plan.sizes.n_buckets.trailing_zeros();
        for (prefix, bucket) in (0u64..).zip(buckets) {
            self.pass(bucket, prefix, n_bits)?;
        }
        self.write_passed()?;
        match self.totals.n_rows == self.n_rows {
            true => Ok(()),
            false => Err(ReleaseError::RowsChanged),
        }
    }

    /// Verifies, measures and writes the classes of a bucket, whose keys begin with these bits.
    fn pass(&mut self, bucket: Bucket, prefix: u64, n_bits: u32) -> Result<()> {
        if bucket.n_rows == 0 {
            return Ok(());
        }
        self.watch.check()?;
        let n_bytes = bucket.n_bytes(self.plan);
        let budget = self.plan.rows.budget;
        let mut memory = budget.try_reserve("a bucket of classes", n_bytes);
        if memory.is_err() && self.passed.is_some() {
            self.write_passed()?;
            memory = budget.try_reserve("a bucket of classes", n_bytes);
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
        let last = self.passed.take();
        self.announce_writing(last.is_some());
        let Gate { plan, requirement, writer, watch, .. } = self;
        let (written, passed) = rayon::join(
            || match last {
                Some(last) => writer.write(&last.classes, &last.carried, *watch),
                None => Ok(()),
            },
            || verify_bucket(plan, requirement, bucket, (prefix, n_bits), memory),
        );
        written?;
        let passed = passed?;
        self.totals.add(&passed.totals);
        let start = Instant::now();
        self.sizes.add_all(&passed.classes);
        (self.measure)(&Passed::Classes(PassedClasses {
            classes: &passed.classes,
            row_ids: Some(&passed.row_ids),
            sensitive: &passed.sensitive,
            facts: &passed.facts,
            carried: &passed.carried,
            requirement: self.requirement,
        }));
        self.verify_seconds += passed.seconds + start.elapsed().as_secs_f64();
        self.passed = Some(passed);
        Ok(())
    }

    /// Writes the bucket that was verified last.
    pub(in crate::door) fn write_passed(&mut self) -> Result<()> {
        let Some(last) = self.passed.take() else { return Ok(()) };
        self.announce_writing(true);
        self.writer.write(&last.classes, &last.carried, self.watch)
    }

    /// Says once that rows are being written: from then on their number tells how far it is.
    pub(in crate::door) fn announce_writing(&mut self, is_writing: bool) {
        if is_writing && !self.is_writing {
            self.watch.phase(Phase::Write, Some(self.n_rows));
            self.is_writing = true;
        }
    }
}

/// Loads a bucket and checks its classes, whose keys must begin with so many bits of a prefix.
fn verify_bucket<'a>(
    plan: &BucketPlan<'a>,
    requirement: &Requirement,
    bucket: Bucket,
    (prefix, n_bits): (u64, u32),
    memory: Reservation,
) -> Result<PassedBucket<'a>> {
    let start = Instant::now();
    let rows = bucket.load(plan)?;
    let totals = rows.part_totals(plan);
    let n_rows = rows.rows.n_rows();
    let carried = plan.rows.payload.decode((0..n_rows).map(|row| rows.rows.payload(row)))?;
    let sensitive = rows.sensitive(plan);
    let row_ids = rows.rows.row_ids(plan.rows.layout);
    let facts = plan.rows.facts.facts_of(plan.rows.layout, &rows.rows, 0..n_rows as u32);
    let blocks = rows.class_blocks(plan);
    let described = describe(blocks, plan.describers(), plan.options, Some(&row_ids), &Silent)?;
    let fingerprint = described.fingerprint;
    let classes = described.verify(requirement, &facts)?;
    if plan.are_several && classes.has_alike() {
        return Err(ReleaseError::NotNested);
    }
    let in_bucket = |key: u64| n_bits == 0 || key >> (u64::BITS - n_bits) == prefix;
    if classes.key_range().is_some_and(|(a, b)| !in_bucket(a) || !in_bucket(b)) {
        return Err(ReleaseError::RowsChanged);
    }
    Ok(PassedBucket {
        classes,
        carried,
        row_ids,
        sensitive,
        facts,
        totals: Totals { fingerprint, ..totals },
        seconds: start.elapsed().as_secs_f64(),
        _memory: memory,
    })
}
