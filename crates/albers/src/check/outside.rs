//! The audit of a table that does not fit in memory.
//!
//! ```text
//!   rows once more ──► records ──► buckets ──┬─ fits ──► sort ──► classes ──► Auditor
//!                                     ▲      ├─ several classes: divide ──┐
//!                                     └──────│───────────────────────────┘
//!                                            └─ one class beyond memory ──► summed up ──► Auditor
//! ```
//!
//! Guarantee: every class is audited as a whole, by the code that audits classes in memory.
//! Cost: a second pass over the rows, and each record written and read once per division.

use albers_measure::audit::{Audit, Auditor};
use albers_privacy::{ClassSummary, Requirement, SummaryShape};
use albers_storage::memory_budget::Reservation;
use albers_storage::watch::{Phase, Watch};
use albers_table::coding::ColumnCoder;
use albers_table::source::{Scan, Source, SourceChunk, for_each_chunk};
use rayon::prelude::*;

use super::asked::requirement_of;
use super::buckets::{Bucket, Divider};
use super::columns::AuditedColumns;
use super::read::{Again, OutsideRows};
use super::records::{KEY_BYTES, Layout, Numbers};
use crate::error::Result;
use crate::job::Job;
use crate::memory::Memory;
use crate::protection::value_counts;
use crate::report::Note;
use crate::rows::source_changed;
use crate::runs::RunChunk;

/// What is read once more.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    /// The table.
    pub(super) source: &'a dyn Source,
    /// Its columns.
    pub(super) columns: &'a AuditedColumns,
    /// Who watches.
    pub(super) watch: &'a dyn Watch,
}

impl Reading<'_> {
    /// Audits rows that were surveyed.
    pub(super) fn audit(
        &self,
        job: &Job,
        rows: OutsideRows<'_>,
        memory: &Memory,
        notes: &mut Vec<Note>,
    ) -> Result<(Requirement, Audit)> {
        let OutsideRows { coders, n_rows, again, _values } = rows;
        let has_subject = self.columns.has_subject;
        let domains: Vec<_> = coders.iter().map(ColumnCoder::domain).collect();
        let mut requirement = requirement_of(job, &domains, has_subject, notes)?;
        let counts: Vec<_> = coders.iter().map(|coder| value_counts(coder.counts())).collect();
        // How many persons the whole table has is nothing that a class is compared with.
        let whole = ClassSummary::of_counts(requirement.shape(), n_rows, 1, &counts);
        drop(counts);
        let auditor = Auditor::new(&mut requirement, &whole);
        drop(whole);
        let layout = Layout { has_subject, n_sensitive: coders.len() };
        let buckets = self.divide(again, n_rows, &coders, layout, memory)?;
        self.watch.phase(Phase::Audit, Some(n_rows));
        let outside = Outside {
            beside_bytes: beside_bytes(auditor.requirement().shape()),
            auditor: &auditor,
            layout,
            memory,
            watch: self.watch,
        };
        let mut found = auditor.nothing();
        for bucket in buckets {
            found = outside.audit(bucket, found)?;
        }
        Ok((requirement, found))
    }

    /// Reads the rows once more, into buckets of records.
    fn divide(
        &self,
        again: Again<'_>,
        n_rows: u64,
        coders: &[ColumnCoder],
        layout: Layout,
        memory: &Memory,
    ) -> Result<Vec<Bucket>> {
        let Reading { source, columns, watch } = *self;
        let numbers = Numbers::new();
        let map = |chunk: SourceChunk| {
            let mut chunk = RunChunk::of(chunk, columns.n_quasi);
            let keys = chunk.spread(&numbers.keys_of(&chunk.shown, chunk.n_runs()));
            let mut others = std::mem::take(&mut chunk.others).into_iter();
            let subjects = others.by_ref().take(usize::from(columns.has_subject)).next();
            let of_subjects = |cells| numbers.subjects_of(columns.n_quasi, &cells);
            let subjects: Vec<u64> = subjects.map(of_subjects).unwrap_or_default();
            let codes = coders.iter().zip(others).map(|(coder, cells)| coder.encode(cells));
            let codes = codes.collect::<albers_table::Result<Vec<_>>>()?;
            Ok(layout.write(&keys, &subjects, &codes))
        };
        watch.phase(Phase::Read, Some(n_rows));
        let mut divider = Divider::new(&memory.store, &memory.budget, layout, 0)?;
        let (mut scan, stamp): (Box<dyn Scan + '_>, _) = match again {
            Again::Spilled(spilled) => (spilled.into_scan(), None),
            Again::Source(stamp) => (source.scan(&columns.requests, &columns.types)?, stamp),
        };
        for_each_chunk(scan.as_mut(), watch, &map, &mut |records: Vec<u8>| {
            Ok(divider.add(&records)?)
        })?;
        drop(scan);
        let buckets = divider.finish()?;
        let n_read: u64 = buckets.iter().map(Bucket::n_records).sum();
        let is_other = stamp.is_some() && source.stamp() != stamp;
        if is_other || n_read != n_rows {
            return Err(source_changed(source));
        }
        Ok(buckets)
    }
}

/// Audits buckets of records.
struct Outside<'a> {
    auditor: &'a Auditor<'a>,
    layout: Layout,
    /// What a record takes beside itself.
    beside_bytes: usize,
    memory: &'a Memory,
    watch: &'a dyn Watch,
}

/// What an entry of a summary's table takes, with the room that a table keeps free.
const ENTRY_BYTES: usize = 40;

/// What a record takes beside itself while its bucket is audited: places, and entries in the
/// summary of its class where that has a table.
fn beside_bytes(shape: &SummaryShape) -> usize {
    const FEW_VALUES: u32 = 4096;
    let n_tables = shape.n_values.iter().filter(|&&n_values| n_values > FEW_VALUES).count();
    let n_tables = n_tables + usize::from(shape.counts_subjects);
    2 * size_of::<u32>() + n_tables * ENTRY_BYTES
}

impl Outside<'_> {
    /// Adds the classes of a bucket to what was found.
    fn audit(&self, bucket: Bucket, found: Audit) -> Result<Audit> {
        self.watch.check()?;
        let n_records = bucket.n_records();
        let bucket = match self.load(bucket)? {
            Ok((records, memory)) => {
                let of_bucket = Sorted::of(&records, self.layout, memory).audit(self.auditor);
                self.watch.done(n_records)?;
                return Ok(found.merged(of_bucket));
            }
            Err(bucket) => bucket,
        };
        if bucket.is_one_class() {
            return self.audit_large(bucket, found);
        }
        self.divide(bucket)?.into_iter().try_fold(found, |found, part| self.audit(part, found))
    }

    fn load(
        &self,
        bucket: Bucket,
    ) -> albers_storage::Result<std::result::Result<(Vec<u8>, Reservation), Bucket>> {
        bucket.load(&self.memory.store, &self.memory.budget, self.beside_bytes)
    }

    /// Adds a class that does not fit to what was found.
    fn audit_large(&self, bucket: Bucket, mut found: Audit) -> Result<Audit> {
        let requirement = self.auditor.requirement();
        let mut large = LargeClass::new(requirement.shape());
        self.sum_up(bucket, &mut large)?;
        let n_listed = large.n_subjects.min(requirement.k());
        let n_bytes = (n_listed as usize).saturating_mul(ENTRY_BYTES);
        let _memory = self.memory.budget.try_reserve("the persons of a class", n_bytes)?;
        let summary = large.summary(requirement.shape(), n_listed);
        let counts_subjects = requirement.shape().counts_subjects;
        let n_persons = if counts_subjects { large.n_subjects } else { summary.n_rows() };
        self.auditor.add_sized(&summary, n_persons, &mut found);
        Ok(found)
    }

    /// Divides a bucket by further bits.
    fn divide(&self, bucket: Bucket) -> Result<Vec<Bucket>> {
        let Memory { store, budget, .. } = self.memory;
        let mut divider = Divider::new(store, budget, self.layout, bucket.next_bit())?;
        for block in bucket.into_blocks() {
            self.watch.check()?;
            divider.add(&store.take(block)?)?;
        }
        Ok(divider.finish()?)
    }

    /// Adds the records of a bucket to the class that all of them are of.
    fn sum_up(&self, bucket: Bucket, large: &mut LargeClass) -> Result<()> {
        let store = &self.memory.store;
        if bucket.is_one_person() {
            let n_records = bucket.n_records();
            large.n_subjects += 1;
            for block in bucket.into_blocks() {
                self.watch.check()?;
                large.add(&store.take(block)?, self.layout);
            }
            return Ok(self.watch.done(n_records)?);
        }
        let n_records = bucket.n_records();
        match self.load(bucket)? {
            Ok((records, memory)) => {
                let sorted = Sorted::of(&records, self.layout, memory);
                large.n_subjects += sorted.n_prefixes();
                large.add(&records, self.layout);
                Ok(self.watch.done(n_records)?)
            }
            Err(bucket) => {
                let mut parts = self.divide(bucket)?.into_iter();
                parts.try_for_each(|part| self.sum_up(part, large))
            }
        }
    }
}

/// Records in memory, in the order of their prefixes.
struct Sorted<'a> {
    records: &'a [u8],
    layout: Layout,
    order: Vec<u32>,
    _memory: Reservation,
}

impl<'a> Sorted<'a> {
    fn of(records: &'a [u8], layout: Layout, memory: Reservation) -> Sorted<'a> {
        let n_records = (records.len() / layout.n_bytes()) as u32;
        let mut sorted = Sorted { records, layout, order: Vec::new(), _memory: memory };
        let mut order: Vec<u32> = (0..n_records).collect();
        order.par_sort_unstable_by(|&a, &b| sorted.prefix(a).cmp(sorted.prefix(b)));
        sorted.order = order;
        sorted
    }

    fn record(&self, at: u32) -> &'a [u8] {
        let n_bytes = self.layout.n_bytes();
        &self.records[at as usize * n_bytes..][..n_bytes]
    }

    fn prefix(&self, at: u32) -> &'a [u8] {
        &self.record(at)[..self.layout.prefix_bytes()]
    }

    fn key(&self, at: u32) -> &'a [u8] {
        &self.record(at)[..KEY_BYTES]
    }

    /// How many distinct prefixes there are: the persons of a class.
    fn n_prefixes(&self) -> u64 {
        self.order.chunk_by(|&a, &b| self.prefix(a) == self.prefix(b)).count() as u64
    }

    /// Audits the classes.
    fn audit(&self, auditor: &Auditor<'_>) -> Audit {
        let mut ends: Vec<u32> = Vec::new();
        for class in self.order.chunk_by(|&a, &b| self.key(a) == self.key(b)) {
            ends.push(ends.last().copied().unwrap_or(0) + class.len() as u32);
        }
        auditor.audit(ends.len(), |class, summary| {
            let start = if class == 0 { 0 } else { ends[class - 1] };
            let mut codes = Vec::with_capacity(self.layout.n_sensitive);
            let of_class = &self.order[start as usize..ends[class] as usize];
            let persons = of_class.chunk_by(|&a, &b| self.prefix(a) == self.prefix(b));
            for (subject, rows) in (0u64..).zip(persons) {
                for &row in rows {
                    self.layout.read_codes(self.record(row), &mut codes);
                    summary.add(subject, &codes);
                }
            }
        })
    }
}

/// A class whose records do not fit in memory together.
struct LargeClass {
    /// Without its persons, which would grow with the rows.
    rows: ClassSummary,
    n_subjects: u64,
    codes: Vec<u32>,
}

impl LargeClass {
    fn new(shape: &SummaryShape) -> LargeClass {
        let shape = SummaryShape { counts_subjects: false, ..shape.clone() };
        LargeClass { rows: ClassSummary::new(&shape), n_subjects: 0, codes: Vec::new() }
    }

    fn add(&mut self, records: &[u8], layout: Layout) {
        for record in records.chunks_exact(layout.n_bytes()) {
            layout.read_codes(record, &mut self.codes);
            self.rows.add(0, &self.codes);
        }
    }

    /// With so many of its persons, who could be too many to list.
    fn summary(&self, shape: &SummaryShape, n_listed: u64) -> ClassSummary {
        let columns = 0..shape.n_values.len();
        let counts: Vec<Vec<(u32, u64)>> =
            columns.map(|column| self.rows.histogram(column).iter().collect()).collect();
        ClassSummary::of_counts(shape, self.rows.n_rows(), n_listed, &counts)
    }
}
