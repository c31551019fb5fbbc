//! Parts in the store: loaded with the codes of the last epoch, and written whole.

use std::collections::BTreeMap;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use albers_classes::packed::{FactColumns, RowBlock, RowLayout};
use albers_index::living::{Part, PartId, PartSize, PartStore};
use albers_storage::store::{Changes, Pages};
use albers_table::code::Code;

use super::catalogue::{ArrivalRun, PartRecord, damaged};
use super::coding::LivingCoding;
use super::decide::RowSet;
use super::ledger::GoneFacts;
use super::row_number::RowNumber;
use super::state::read_rows;
use crate::error::{Error, Result};
use crate::memory::no_thread;

/// Where the parts of an index are while its buffers are emptied. New parts are written by a thread
/// of their own, while others are mended.
pub(super) struct StoredParts<'s> {
    pub(super) rows: StoredRows<'s>,
    pub(super) next_part: u32,
    /// Rows that are gone, and their facts where somebody asks for them.
    pub(super) removed: &'s RowSet,
    pub(super) gone: Option<(&'s FactColumns, Mutex<GoneFacts>)>,
    shelf: &'s Shelf,
    jobs: SyncSender<Job>,
}

/// What the thread that writes parts is asked to do, in this order.
enum Job {
    Write(u32, Arc<Part>),
    Free(u32),
}

/// Parts that wait to be written are no more than these.
const MOST_WAITING: usize = 16;

/// The parts, those that wait to be written too.
pub(super) struct Shelf {
    known: Mutex<KnownParts>,
}

#[derive(Default)]
struct KnownParts {
    written: BTreeMap<u32, PartRecord>,
    waiting: BTreeMap<u32, Arc<Part>>,
    failed: Option<Error>,
}

impl Shelf {
    /// With the parts that are there.
    pub(super) fn new(parts: BTreeMap<u32, PartRecord>) -> Shelf {
        Shelf { known: Mutex::new(KnownParts { written: parts, ..KnownParts::default() }) }
    }

    fn known(&self) -> MutexGuard<'_, KnownParts> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The parts, when all are written.
    pub(super) fn into_parts(self) -> Result<BTreeMap<u32, PartRecord>> {
        let known = self.known.into_inner().unwrap_or_else(PoisonError::into_inner);
        known.failed.map_or(Ok(known.written), Err)
    }

    /// Does the work on parts, whose new ones are written meanwhile.
    pub(super) fn while_writing<T>(
        &self,
        coding: &LivingCoding,
        changes: &mut Changes,
        work: impl FnOnce(Shelving<'_>) -> Result<T>,
    ) -> Result<T> {
        let (jobs, asked) = sync_channel(MOST_WAITING);
        std::thread::scope(|scope| {
            let write = move || asked.into_iter().for_each(|job| self.write(coding, changes, job));
            std::thread::Builder::new().spawn_scoped(scope, write).map_err(|_| no_thread())?;
            work(Shelving { shelf: self, jobs })
        })
    }

    fn write(&self, coding: &LivingCoding, changes: &mut Changes, job: Job) {
        if self.known().failed.is_some() {
            return;
        }
        let outcome = match job {
            Job::Write(id, part) => written(coding, changes, &part).map(|record| {
                let mut known = self.known();
                known.waiting.remove(&id);
                known.written.insert(id, record);
            }),
            Job::Free(id) => {
                let record = self.known().written.remove(&id);
                record.map_or(Ok(()), |record| Ok(changes.free(record.extent)?))
            }
        };
        if let Err(error) = outcome {
            self.known().failed = Some(error);
        }
    }
}

/// The way to the thread that writes parts.
pub(super) struct Shelving<'s> {
    shelf: &'s Shelf,
    jobs: SyncSender<Job>,
}

impl<'s> Shelving<'s> {
    /// The parts of an index, of which the next has this number.
    pub(super) fn parts(
        self,
        rows: StoredRows<'s>,
        next_part: u32,
        removed: &'s RowSet,
        gone: Option<(&'s FactColumns, Mutex<GoneFacts>)>,
    ) -> StoredParts<'s> {
        StoredParts { rows, next_part, removed, gone, shelf: self.shelf, jobs: self.jobs }
    }
}

/// Writes a part.
pub(super) fn written(
    coding: &LivingCoding,
    changes: &mut Changes,
    part: &Part,
) -> Result<PartRecord> {
    let mut bytes = Vec::new();
    part.write_to(&mut bytes);
    Ok(PartRecord {
        extent: changes.write(&bytes)?,
        n_rows: part.n_rows() as u64,
        n_leaves: part.n_leaves() as u64,
        epoch: coding.epoch(),
        n_missing: n_missing(coding, coding.layout(), part.rows()),
    })
}

/// The rows of an index, wherever they are.
pub(super) struct StoredRows<'s> {
    pub(super) parts: BTreeMap<u32, PartRecord>,
    pub(super) arrivals: &'s [ArrivalRun],
    /// The pieces of each part: of which run, and which one there.
    pieces: BTreeMap<u32, Vec<(usize, usize)>>,
    pub(super) pages: Pages,
    pub(super) coding: &'s LivingCoding,
}

impl<'s> StoredRows<'s> {
    /// Of parts, and of rows that have arrived.
    pub(super) fn new(
        parts: BTreeMap<u32, PartRecord>,
        arrivals: &'s [ArrivalRun],
        pages: Pages,
        coding: &'s LivingCoding,
    ) -> StoredRows<'s> {
        let mut pieces: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
        for (run_idx, run) in arrivals.iter().enumerate() {
            for (piece_idx, piece) in run.pieces.iter().enumerate() {
                pieces.entry(piece.part).or_default().push((run_idx, piece_idx));
            }
        }
        StoredRows { parts, arrivals, pieces, pages, coding }
    }

    /// How rows are packed.
    pub(super) fn layout(&self) -> &'s RowLayout {
        self.coding.layout()
    }

    /// A part, with the codes of the last epoch.
    pub(super) fn part(&self, part: PartId) -> Result<Part> {
        self.parts.get(&part.0).map_or_else(|| Ok(Part::empty()), |own| self.read(part, own))
    }

    fn read(&self, part: PartId, record: &PartRecord) -> Result<Part> {
        let bytes = self.pages.read(record.extent)?;
        let layout = self.coding.layout_of(record.epoch)?;
        let loaded = Part::read_from(layout, &bytes);
        let loaded = loaded.map_err(|error| damaged(&format!("part {}: {error}", part.0)))?;
        match loaded.n_rows() as u64 == record.n_rows {
            true => self.coding.recoded_part(loaded, record.epoch),
            false => Err(damaged(&format!("part {} has not the rows it should have", part.0))),
        }
    }

    /// Hands on the rows that have arrived at a part, with the codes of the last epoch.
    pub(super) fn each_arrival(
        &self,
        part: PartId,
        take: &mut dyn FnMut(RowBlock) -> Result<()>,
    ) -> Result<()> {
        for &(run_idx, piece_idx) in self.pieces.get(&part.0).into_iter().flatten() {
            let run = &self.arrivals[run_idx];
            let piece = &run.pieces[piece_idx];
            let range = piece.start..piece.start + piece.n_bytes;
            let bytes = self.pages.read_range(run.extent, range)?;
            let rows = read_rows(self.coding.layout_of(run.epoch)?, &bytes)?;
            take(self.coding.recoded(rows, run.epoch)?)?;
        }
        Ok(())
    }

    /// How many rows have arrived at a part, and their bytes.
    fn arrived(&self, part: PartId) -> (usize, usize) {
        let pieces = self.pieces.get(&part.0).into_iter().flatten();
        let sizes = pieces.map(|&(run_idx, piece_idx)| {
            let piece = &self.arrivals[run_idx].pieces[piece_idx];
            (piece.n_rows as usize, piece.n_bytes as usize)
        });
        sizes.fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1))
    }

    /// Hands on all rows of the index, those that are gone left out.
    pub(super) fn each_row(
        &self,
        parts: impl Iterator<Item = PartId>,
        removed: &RowSet,
        see: &mut dyn FnMut(&RowBlock, usize),
    ) -> Result<()> {
        let layout = self.layout();
        let mut see_all = |rows: &RowBlock| {
            for row in 0..rows.n_rows() {
                if !removed.contains(number_of(layout, rows, row)) {
                    see(rows, row);
                }
            }
        };
        for part in parts {
            see_all(self.part(part)?.rows());
            self.each_arrival(part, &mut |rows| {
                see_all(&rows);
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// The number of a packed row.
pub(super) fn number_of(layout: &RowLayout, rows: &RowBlock, row: usize) -> RowNumber {
    RowNumber::new(rows.row_id(layout, row).get() as u32)
}

impl StoredParts<'_> {
    /// Keeps the facts of rows that are gone.
    fn note_gone(&self, rows: &RowBlock) {
        let Some((facts, gone)) = &self.gone else { return };
        let layout = self.rows.layout();
        for row in 0..rows.n_rows() {
            let number = number_of(layout, rows, row);
            if self.removed.contains(number) {
                let subject = facts.subject_of(layout, rows, row as u32);
                let codes = facts.ruled.iter().map(|&fact| rows.fact(layout, row, fact)).collect();
                gone.lock()
                    .unwrap_or_else(|poisoned| poisoned.into_inner())
                    .insert(number, (subject, codes));
            }
        }
    }
}

impl PartStore for StoredParts<'_> {
    type Error = Error;

    fn size(&self, part: PartId) -> PartSize {
        let known = self.shelf.known();
        let (n_rows, n_own) = match (known.waiting.get(&part.0), known.written.get(&part.0)) {
            (Some(own), _) => (own.n_rows(), own.rows().n_bytes()),
            (None, Some(own)) => (own.n_rows as usize, own.extent.n_bytes() as usize),
            (None, None) => (0, 0),
        };
        let (n_arrivals, n_bytes) = self.rows.arrived(part);
        PartSize { n_rows, n_arrivals, n_bytes: n_own + n_bytes }
    }

    fn load(&self, part: PartId) -> Result<Part> {
        let (waiting, written) = {
            let known = self.shelf.known();
            (known.waiting.get(&part.0).cloned(), known.written.get(&part.0).cloned())
        };
        let loaded = match (waiting, written) {
            (Some(own), _) => Part::clone(&own),
            (None, Some(record)) => self.rows.read(part, &record)?,
            (None, None) => Part::empty(),
        };
        self.note_gone(loaded.rows());
        Ok(loaded)
    }

    fn each_arrival(
        &self,
        part: PartId,
        take: &mut dyn FnMut(RowBlock) -> Result<()>,
    ) -> Result<()> {
        // A row may have come back and gone again since it was published.
        self.rows.each_arrival(part, &mut |rows| {
            self.note_gone(&rows);
            take(rows)
        })
    }

    fn add(&mut self, part: Part) -> Result<PartId> {
        let id = self.next_part;
        self.next_part += 1;
        let part = Arc::new(part);
        {
            let mut known = self.shelf.known();
            if let Some(error) = known.failed.take() {
                return Err(error);
            }
            known.waiting.insert(id, part.clone());
        }
        self.ask(Job::Write(id, part));
        Ok(PartId(id))
    }

    fn remove(&mut self, part: PartId) -> Result<()> {
        self.rows.pieces.remove(&part.0);
        self.ask(Job::Free(part.0));
        Ok(())
    }
}

impl StoredParts<'_> {
    fn ask(&self, job: Job) {
        self.jobs.send(job).expect("the thread that writes lives as long as the way to it");
    }
}

/// How many rows have no value, by attribute.
fn n_missing(coding: &LivingCoding, layout: &RowLayout, rows: &RowBlock) -> Vec<u64> {
    let of_attribute = |(attribute, missing): (usize, Option<Code>)| match missing {
        None => 0,
        Some(missing) => {
            let codes = (0..rows.n_rows()).map(|row| rows.code(layout, row, attribute));
            codes.filter(|&code| code == missing.get()).count() as u64
        }
    };
    coding.missing_codes().enumerate().map(of_attribute).collect()
}
