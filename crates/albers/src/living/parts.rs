//! Parts in the store: loaded with the codes of the last epoch, and written whole.

use std::collections::BTreeMap;
use std::sync::Mutex;

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

/// Where the parts of an index are while its buffers are emptied.
pub(super) struct StoredParts<'s> {
    pub(super) rows: StoredRows<'s>,
    pub(super) changes: Mutex<&'s mut Changes>,
    pub(super) next_part: u32,
    /// Rows that are gone, and their facts where somebody asks for them.
    pub(super) removed: &'s RowSet,
    pub(super) gone: Option<(&'s FactColumns, Mutex<GoneFacts>)>,
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
        let Some(record) = self.parts.get(&part.0) else { return Ok(Part::empty()) };
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

    fn size(&self, part: PartId) -> PartSize {
        let record = self.parts.get(&part.0);
        let mut size = PartSize {
            n_rows: record.map_or(0, |own| own.n_rows as usize),
            n_arrivals: 0,
            n_bytes: record.map_or(0, |own| own.extent.n_bytes() as usize),
        };
        for &(run_idx, piece_idx) in self.pieces.get(&part.0).into_iter().flatten() {
            let piece = &self.arrivals[run_idx].pieces[piece_idx];
            size.n_arrivals += piece.n_rows as usize;
            size.n_bytes += piece.n_bytes as usize;
        }
        size
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
        self.rows.size(part)
    }

    fn load(&self, part: PartId) -> Result<Part> {
        let loaded = self.rows.part(part)?;
        self.note_gone(loaded.rows());
        Ok(loaded)
    }

    fn each_arrival(
        &self,
        part: PartId,
        take: &mut dyn FnMut(RowBlock) -> Result<()>,
    ) -> Result<()> {
        self.rows.each_arrival(part, take)
    }

    fn add(&mut self, part: Part) -> Result<PartId> {
        let layout = self.rows.layout();
        let mut bytes = Vec::new();
        part.write_to(&mut bytes);
        let changes = self.changes.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        let record = PartRecord {
            extent: changes.write(&bytes)?,
            n_rows: part.n_rows() as u64,
            n_leaves: part.n_leaves() as u64,
            epoch: self.rows.coding.epoch(),
            n_missing: n_missing(self.rows.coding, layout, part.rows()),
        };
        let id = self.next_part;
        self.next_part += 1;
        self.rows.parts.insert(id, record);
        Ok(PartId(id))
    }

    fn remove(&mut self, part: PartId) -> Result<()> {
        self.rows.pieces.remove(&part.0);
        if let Some(record) = self.rows.parts.remove(&part.0) {
            let changes = self.changes.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
            changes.free(record.extent)?;
        }
        Ok(())
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
