//! A release in which earlier classes stay as they were: rows are grouped by the sets that the
//! releases so far cannot tell apart, and new rows have classes of their own.
//!
//! Guarantee: every set is whole in one class, and classes of new rows hold no others, so that the
//! releases together tell no rows of a set apart. New rows that miss the requirement as a whole wait,
//! all of them.
//! Cost: two passes over all rows; the new rows in memory.
//!
//! ```text
//!   rows ──┬─ never published ──► a tree of their own ──► classes
//!          └─ published ──by the first row of their set──► buckets ──► sets, joined until they satisfy
//! ```

use albers_classes::packed::{RowBlock, RowLayout};
use albers_index::living::{Directory, LivingPlan, Part, PartId, PartSize, PartStore, settle};
use albers_ledger::Ledger;
use albers_privacy::{ClassSummary, Requirement};
use albers_release::door::Door;
use albers_storage::memory_budget::Reservation;
use albers_storage::spill::Block;
use rustc_hash::FxHashMap;

use super::classes::{Admission, LoadedLeaves};
use super::decide::RowSet;
use super::ledger::refused;
use super::parts::number_of;
use super::release::Releasing;
use super::row_number::RowNumber;
use super::settle::{RowCounter, RowCounts};
use crate::error::{Error, Result};
use crate::protection::Protection;

/// Which rows are new, and whether they wait.
pub(super) struct Grouping {
    /// Rows that were never published.
    new: RowBlock,
    _memory: Reservation,
    /// Those of them that wait: all or none.
    waiting: RowSet,
    n_waiting: u64,
    /// How many of them have no value, by attribute.
    waiting_missing: Vec<u64>,
}

impl Grouping {
    /// Finds the new rows, and whether they satisfy the requirement as a whole.
    pub(super) fn of(
        releasing: &Releasing<'_>,
        protection: &Protection,
        ledger: &Ledger,
    ) -> Result<Grouping> {
        let tabled = releasing.state.tabled()?;
        let layout = tabled.layout();
        let stored = releasing.rows()?;
        let mut memory = releasing.memory.budget.reserve_nothing("the new rows of the index");
        let mut new = RowBlock::default();
        for part in releasing.state.directory.parts() {
            let part = stored.part(part)?;
            let before = new.n_bytes();
            for row in 0..part.n_rows() {
                if ledger.is_new(number_of(layout, part.rows(), row).get()) {
                    new.extend_row(layout, part.rows(), row);
                }
            }
            memory.try_grow(3 * (new.n_bytes() - before))?;
        }
        let requirement = &protection.requirements[0];
        let facts = tabled.schema.facts(&protection.ruled);
        let rows = 0..new.n_rows() as u32;
        let facts = facts.facts_of(layout, &new, rows.clone());
        let mut summary = ClassSummary::new(requirement.shape());
        rows.for_each(|row| facts.add(row as usize, &mut summary));
        let mut waiting = RowSet::default();
        let mut waiting_missing = vec![0; layout.n_attributes()];
        let waits = new.n_rows() > 0 && !requirement.holds(&summary);
        if waits {
            for row in 0..new.n_rows() {
                waiting.add(number_of(layout, &new, row));
                for (attribute, missing) in tabled.coding.missing_codes().enumerate() {
                    let code = new.code(layout, row, attribute);
                    waiting_missing[attribute] +=
                        u64::from(missing.is_some_and(|missing| missing.get() == code));
                }
            }
        }
        let n_waiting = if waits { new.n_rows() as u64 } else { 0 };
        Ok(Grouping { new, _memory: memory, waiting, n_waiting, waiting_missing })
    }

    /// Rows that are not published this time.
    pub(super) fn n_waiting(&self) -> u64 {
        self.n_waiting
    }

    /// Whether a row is not published this time.
    pub(super) fn waits(&self, row: RowNumber) -> bool {
        self.waiting.contains(row)
    }

    /// How many of the waiting rows have no value, by attribute.
    pub(super) fn waiting_missing(&self) -> &[u64] {
        &self.waiting_missing
    }

    /// What the requirement must know of the rows that are published.
    pub(super) fn counts(&self, releasing: &Releasing<'_>) -> Result<RowCounts> {
        let tabled = releasing.state.tabled()?;
        let mut counter = RowCounter::new(tabled, u64::MAX);
        if super::settle::has_rules(&tabled.schema) {
            let count = &mut |rows: &RowBlock, row: usize| counter.add(rows, row);
            let parts = releasing.state.directory.parts();
            releasing.rows()?.each_row(parts, &self.waiting, count)?;
        }
        Ok(counter.finish())
    }

    /// Admits all rows that do not wait; tells their fingerprint.
    pub(super) fn admit(
        &self,
        admission: &Admission<'_>,
        ledger: &Ledger,
        door: &mut Door<'_>,
    ) -> Result<u64> {
        let of_sets = admit_sets(admission, ledger, door)?;
        match self.n_waiting > 0 || self.new.n_rows() == 0 {
            true => Ok(of_sets),
            false => Ok(of_sets.wrapping_add(self.admit_new(admission, door)?)),
        }
    }

    /// Admits the new rows, in classes of a tree of their own.
    fn admit_new(&self, admission: &Admission<'_>, door: &mut Door<'_>) -> Result<u64> {
        let requirement = door.requirement(0).clone();
        let bulk = admission.bulk_for(&requirement);
        let plan = LivingPlan { part_rows: bulk.plan.grain.cell_rows, bulk, looks_at_all: false };
        let mut parts = MemoryParts { parts: vec![None], arrivals: vec![self.new.clone()] };
        let mut directory = Directory::new(PartId(0));
        let watch = admission.releasing.watch;
        settle(&mut directory, &mut parts, &plan, &|_| false, false, watch)?;
        let schema = &admission.releasing.state.tabled()?.schema;
        let mut fingerprint = 0u64;
        for part in directory.parts() {
            let Some(part) = parts.parts[part.0 as usize].take() else { continue };
            let memory = plan.bulk.budget.reserve_nothing("some new rows");
            let rows = admission.shown.without_keys(part.rows(), schema)?;
            let layout = &admission.shown.layout;
            let leaves = LoadedLeaves::of_classes(layout, rows, part.leaf_ends(), memory);
            admission.admit(&leaves, true, door)?;
            fingerprint = fingerprint.wrapping_add(leaves.fingerprint);
        }
        Ok(fingerprint)
    }
}

/// Parts in memory.
struct MemoryParts {
    parts: Vec<Option<Part>>,
    arrivals: Vec<RowBlock>,
}

impl PartStore for MemoryParts {
    type Error = Error;

    fn size(&self, part: PartId) -> PartSize {
        let own = self.parts[part.0 as usize].as_ref();
        let arrivals = self.arrivals.get(part.0 as usize);
        PartSize {
            n_rows: own.map_or(0, Part::n_rows),
            n_arrivals: arrivals.map_or(0, RowBlock::n_rows),
            n_bytes: own.map_or(0, |own| own.rows().n_bytes())
                + arrivals.map_or(0, RowBlock::n_bytes),
        }
    }

    fn load(&self, part: PartId) -> Result<Part> {
        Ok(self.parts[part.0 as usize].clone().unwrap_or_else(Part::empty))
    }

    fn each_arrival(
        &self,
        part: PartId,
        take: &mut dyn FnMut(RowBlock) -> Result<()>,
    ) -> Result<()> {
        self.arrivals.get(part.0 as usize).map_or(Ok(()), |rows| take(rows.clone()))
    }

    fn add(&mut self, part: Part) -> Result<PartId> {
        self.parts.push(Some(part));
        Ok(PartId(self.parts.len() as u32 - 1))
    }

    fn remove(&mut self, part: PartId) -> Result<()> {
        self.parts[part.0 as usize] = None;
        if let Some(arrivals) = self.arrivals.get_mut(part.0 as usize) {
            arrivals.clear();
        }
        Ok(())
    }
}

/// Admits the rows that were published before: every set whole, alone or joined with others.
fn admit_sets(admission: &Admission<'_>, ledger: &Ledger, door: &mut Door<'_>) -> Result<u64> {
    let releasing = admission.releasing;
    let places = set_places(releasing, ledger)?;
    let mut buckets = Buckets::of(admission, &places)?;
    buckets.fill(admission, ledger, &places)?;
    let requirement = door.requirement(0).clone();
    let layout = &admission.shown.layout;
    let mut carry = RowBlock::default();
    let mut fingerprint = 0u64;
    let n_buckets = buckets.blocks.len();
    for bucket in 0..n_buckets {
        let (mut rows, memory) = buckets.load(admission, bucket)?;
        rows.extend(layout, &carry, 0..carry.n_rows());
        let sorted = sorted_by_set(layout, &rows, ledger, &places)?;
        let joined = join_sets(admission, &sorted, &requirement, bucket + 1 == n_buckets)?;
        carry = sorted.rows_from(layout, joined.n_rows);
        let classes = sorted.rows_until(layout, joined.n_rows);
        if classes.n_rows() == 0 {
            continue;
        }
        let leaves = LoadedLeaves::of_classes(layout, classes, joined.ends, memory);
        admission.admit(&leaves, true, door)?;
        fingerprint = fingerprint.wrapping_add(leaves.fingerprint);
    }
    Ok(fingerprint)
}

/// The place of each set: that of its first row in the order of the tree, so that sets near each
/// other are joined.
fn set_places(releasing: &Releasing<'_>, ledger: &Ledger) -> Result<FxHashMap<u32, u32>> {
    let stored = releasing.rows()?;
    let layout = stored.layout();
    let mut places: FxHashMap<u32, u32> = FxHashMap::default();
    let mut n_rows = 0u32;
    for part in releasing.state.directory.parts() {
        let part = stored.part(part)?;
        for row in 0..part.n_rows() {
            let number = number_of(layout, part.rows(), row).get();
            let set = ledger.set_of(number).map_err(|error| refused(&error))?;
            if set != albers_ledger::SetId::NEW {
                places.entry(set.0).or_insert(n_rows);
                n_rows += 1;
            }
        }
    }
    Ok(places)
}

/// Rows by the places of their sets, in stretches that fit in memory.
struct Buckets {
    blocks: Vec<Vec<Block>>,
    buffers: Vec<RowBlock>,
    n_bytes: Vec<usize>,
    /// A place belongs to the bucket of this many.
    width: u32,
}

const BLOCK_BYTES: usize = 1 << 18;

impl Buckets {
    fn of(admission: &Admission<'_>, places: &FxHashMap<u32, u32>) -> Result<Buckets> {
        let catalogue = &admission.releasing.state.catalogue;
        let n_bytes: u64 = catalogue.parts.values().map(|own| own.extent.n_bytes()).sum();
        let most = (admission.bulk.budget.limit_bytes() as u64 / 16).max(1);
        let n_buckets = n_bytes.div_ceil(most).clamp(1, 256) as usize;
        let n_places = places.values().copied().max().map_or(0, |last| last + 1);
        Ok(Buckets {
            blocks: (0..n_buckets).map(|_| Vec::new()).collect(),
            buffers: vec![RowBlock::default(); n_buckets],
            n_bytes: vec![0; n_buckets],
            width: n_places.div_ceil(n_buckets as u32).max(1),
        })
    }

    fn fill(
        &mut self,
        admission: &Admission<'_>,
        ledger: &Ledger,
        places: &FxHashMap<u32, u32>,
    ) -> Result<()> {
        let releasing = admission.releasing;
        let buffer_bytes = self.buffers.len() * BLOCK_BYTES;
        let _memory = admission.bulk.budget.try_reserve("rows by their sets", buffer_bytes)?;
        let stored = releasing.rows()?;
        let layout = &admission.shown.layout;
        let schema = &releasing.state.tabled()?.schema;
        for part in releasing.state.directory.parts() {
            let part = stored.part(part)?;
            let rows = admission.shown.without_keys(part.rows(), schema)?;
            for row in 0..rows.n_rows() {
                let set = ledger
                    .set_of(number_of(layout, &rows, row).get())
                    .map_err(|error| refused(&error))?;
                let Some(&place) = places.get(&set.0) else { continue };
                let bucket = (place / self.width) as usize;
                self.buffers[bucket].extend_row(layout, &rows, row);
                if self.buffers[bucket].n_bytes() >= BLOCK_BYTES {
                    self.flush(admission, bucket)?;
                }
            }
        }
        (0..self.buffers.len()).try_for_each(|bucket| self.flush(admission, bucket))
    }

    fn flush(&mut self, admission: &Admission<'_>, bucket: usize) -> Result<()> {
        let rows = std::mem::take(&mut self.buffers[bucket]);
        if rows.n_rows() > 0 {
            let mut bytes = Vec::new();
            rows.write_to(&mut bytes);
            self.n_bytes[bucket] += bytes.len();
            self.blocks[bucket].push(admission.bulk.store.put(bytes)?);
        }
        Ok(())
    }

    fn load(
        &mut self,
        admission: &Admission<'_>,
        bucket: usize,
    ) -> Result<(RowBlock, Reservation)> {
        let n_bytes = 4 * self.n_bytes[bucket];
        let memory = admission.bulk.budget.try_reserve("the rows of some sets", n_bytes)?;
        let mut rows = RowBlock::default();
        for block in std::mem::take(&mut self.blocks[bucket]) {
            rows.read_from(&admission.shown.layout, &admission.bulk.store.take(block)?);
        }
        Ok((rows, memory))
    }
}

/// Rows in the order of their sets.
struct SortedRows {
    rows: RowBlock,
    order: Vec<u32>,
    /// Where each set ends in the order.
    ends: Vec<usize>,
}

impl SortedRows {
    fn rows_until(&self, layout: &RowLayout, end: usize) -> RowBlock {
        self.rows_of(layout, &self.order[..end])
    }

    fn rows_from(&self, layout: &RowLayout, start: usize) -> RowBlock {
        self.rows_of(layout, &self.order[start..])
    }

    fn rows_of(&self, layout: &RowLayout, order: &[u32]) -> RowBlock {
        let mut rows = RowBlock::with_capacity(layout, order.len());
        order.iter().for_each(|&row| rows.extend_row(layout, &self.rows, row as usize));
        rows
    }
}

fn sorted_by_set(
    layout: &RowLayout,
    rows: &RowBlock,
    ledger: &Ledger,
    places: &FxHashMap<u32, u32>,
) -> Result<SortedRows> {
    let mut keys: Vec<(u32, u32, u32)> = Vec::with_capacity(rows.n_rows());
    for row in 0..rows.n_rows() {
        let number = number_of(layout, rows, row).get();
        let set = ledger.set_of(number).map_err(|error| refused(&error))?;
        keys.push((places[&set.0], number, row as u32));
    }
    keys.sort_unstable();
    let mut ends = Vec::new();
    for at in 1..=keys.len() {
        if keys.get(at).is_none_or(|next| next.0 != keys[at - 1].0) {
            ends.push(at);
        }
    }
    let order = keys.into_iter().map(|(_, _, row)| row).collect();
    Ok(SortedRows { rows: rows.clone(), order, ends })
}

/// Classes of whole sets, and how many rows they take.
struct JoinedSets {
    ends: Vec<u32>,
    n_rows: usize,
}

/// Joins neighbouring sets until they satisfy the requirement. What is left over at the end, and the
/// class before it, are left for the next rows, unless there are no more.
fn join_sets(
    admission: &Admission<'_>,
    sorted: &SortedRows,
    requirement: &Requirement,
    is_last: bool,
) -> Result<JoinedSets> {
    let layout = &admission.shown.layout;
    let order = sorted.order.iter().copied();
    let facts = admission.bulk.facts.facts_of(layout, &sorted.rows, order);
    let mut summary = ClassSummary::new(requirement.shape());
    let mut ends: Vec<u32> = Vec::new();
    let mut start = 0;
    for &end in &sorted.ends {
        (start..end).for_each(|row| facts.add(row, &mut summary));
        start = end;
        if requirement.holds(&summary) {
            ends.push(end as u32);
            summary.clear();
        }
    }
    let n_rows = sorted.order.len();
    let has_rest = ends.last().is_none_or(|&end| (end as usize) < n_rows);
    match (has_rest, is_last) {
        (false, _) => {}
        (true, true) if n_rows > 0 => {
            // The last class takes what is left, if that satisfies; closeness may need more.
            loop {
                ends.pop();
                let start = ends.last().map_or(0, |&end| end as usize);
                summary.clear();
                (start..n_rows).for_each(|row| facts.add(row, &mut summary));
                if requirement.holds(&summary) || start == 0 {
                    break;
                }
            }
            ends.push(n_rows as u32);
        }
        _ => {
            ends.pop();
        }
    }
    let n_rows = ends.last().map_or(0, |&end| end as usize);
    Ok(JoinedSets { ends, n_rows })
}
