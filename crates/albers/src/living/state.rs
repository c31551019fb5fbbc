//! The state of an index in memory: what its catalogue says, ready for use.

use std::ops::ControlFlow;
use std::sync::Arc;

use albers_classes::packed::{RowBlock, RowLayout};
use albers_index::living::{Directory, DirectoryRouter, PartId};
use albers_storage::store::{Changes, Extent, Snapshot};
use albers_table::chunk::ColumnChunk;
use albers_table::coding::{Coding, ColumnCoding};
use albers_table::row::RowId;
use rayon::prelude::*;

use super::catalogue::{
    Catalogue, Counters, EventRun, PENDING, PendingKey, Records as _, damaged, decoded, encoded,
};
use super::coding::LivingCoding;
use super::events::Event;
use super::index_job::IndexJob;
use super::intake::run_of_packed;
use super::keys::{self, KeyEntry, KeyHash, KeyRun, NewestKeys};
use super::stored_table::{Schema, StoredTable, canary};
use crate::error::{Error, Result};

/// So many small batches are taken into a run.
const MOST_SMALL: u64 = 50;

/// What is known of an index.
pub(super) struct State {
    pub(super) catalogue: Catalogue,
    pub(super) counters: Counters,
    pub(super) job: IndexJob,
    pub(super) directory: Directory,
    tabled: Option<Tabled>,
    /// Whether more than the counters has changed since it was committed.
    is_changed: bool,
}

/// What is known when the first rows have come.
pub(super) struct Tabled {
    pub(super) schema: Arc<Schema>,
    pub(super) coding: LivingCoding,
}

impl Tabled {
    /// How rows are packed.
    pub(super) fn layout(&self) -> &RowLayout {
        self.coding.layout()
    }
}

impl State {
    /// Of an index without rows.
    pub(super) fn new(catalogue: Catalogue, job: IndexJob) -> State {
        let directory = Directory::new(PartId(0));
        State {
            catalogue,
            counters: Counters::default(),
            job,
            directory,
            tabled: None,
            is_changed: true,
        }
    }

    /// As it was committed last.
    pub(super) fn read(snapshot: &Snapshot) -> Result<State> {
        let catalogue = snapshot.catalogue()?;
        let counters = snapshot.counters()?;
        if canary(&catalogue.secret)? != catalogue.canary {
            return Err(Error::usage(
                "the index was made by a version of this program that hashes rows otherwise",
                "use that version, or create the index anew",
            ));
        }
        let mut job = IndexJob::parse(&catalogue.job)?;
        let read = |extent: Extent| Ok(snapshot.read(extent)?);
        let mut tabled = None;
        let mut n_attributes = 0;
        if let (Some(stored), Some(coding)) = (&catalogue.table, catalogue.epochs.coding()) {
            let coding = Coding::read_from(&mut read(coding)?.as_slice())
                .map_err(|error| damaged(&error.to_string()))?;
            job.set_hierarchies(coding.columns());
            let schema = Arc::new(Schema::of(&job.job, &catalogue.key, stored, catalogue.secret)?);
            n_attributes = schema.n_attributes();
            let coding = LivingCoding::read(&schema, coding, &catalogue.epochs, &read)?;
            tabled = Some(Tabled { schema, coding });
        }
        let directory = Directory::from_bytes(n_attributes, &catalogue.directory)
            .map_err(|error| damaged(&error.to_string()))?;
        Ok(State { catalogue, counters, job, directory, tabled, is_changed: false })
    }

    /// What is known when the first rows have come; refuses an index without any.
    pub(super) fn tabled(&self) -> Result<&Tabled> {
        self.tabled.as_ref().ok_or_else(no_rows)
    }

    /// The same, to be changed.
    pub(super) fn tabled_mut(&mut self) -> Result<&mut Tabled> {
        self.tabled.as_mut().ok_or_else(no_rows)
    }

    /// The columns.
    pub(super) fn schema(&self) -> Result<Arc<Schema>> {
        Ok(self.tabled()?.schema.clone())
    }

    /// Whether no row has ever come.
    pub(super) fn is_untouched(&self) -> bool {
        self.tabled.is_none()
    }

    /// The first rows have come, in these columns.
    pub(super) fn settle_table(
        &mut self,
        stored: StoredTable,
        columns: Vec<ColumnCoding>,
        changes: &mut Changes,
    ) -> Result<()> {
        self.job.set_hierarchies(&columns);
        let Catalogue { key, secret, .. } = &self.catalogue;
        let schema = Arc::new(Schema::of(&self.job.job, key, &stored, *secret)?);
        let coding = LivingCoding::new(&schema, columns, changes)?;
        self.catalogue.table = Some(stored);
        self.is_changed = true;
        self.tabled = Some(Tabled { schema, coding });
        Ok(())
    }

    /// A batch of no more rows than these goes to the engine's own table first.
    pub(super) fn small_rows(&self) -> Result<usize> {
        let grain = self.tabled()?.schema.cuts().grain;
        Ok((grain.cell_rows / 16).clamp(1, 1000))
    }

    /// What tells the part of a row.
    pub(super) fn router(&self) -> Result<DirectoryRouter> {
        Ok(self.directory.router(self.tabled()?.schema.n_attributes()))
    }

    /// What is known of a key, pending ones left out.
    pub(super) fn find_key(&self, hash: KeyHash, changes: &Changes) -> Result<Option<KeyEntry>> {
        let pages = changes.pages()?;
        let read = |extent, range| pages.read_range(extent, range);
        Ok(keys::find(&self.catalogue.keys, &[hash], &read)?.pop().flatten())
    }

    /// Lets the coding learn values, and brings to its codes what always has the last ones.
    pub(super) fn grow(
        &mut self,
        columns: &[Vec<(RowId, &ColumnChunk)>],
        changes: &mut Changes,
    ) -> Result<()> {
        let tabled = self.tabled.as_mut().ok_or_else(no_rows)?;
        let schema = tabled.schema.clone();
        if tabled.coding.grow(&schema, columns, changes)? {
            self.is_changed = true;
            let maps = tabled.coding.last_maps();
            self.directory = self.directory.recoded(&maps[..schema.n_attributes()]);
        }
        Ok(())
    }

    /// Adds what is known of some keys, each once.
    pub(super) fn add_keys(
        &mut self,
        mut entries: Vec<KeyEntry>,
        changes: &mut Changes,
    ) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        entries.par_sort_unstable_by_key(|entry| entry.hash);
        let sorted = entries.into_iter().map(Ok);
        let run = KeyRun::write(sorted, &mut |bytes| Ok(changes.write(bytes)?))?;
        self.catalogue.keys.push(run);
        self.is_changed = true;
        self.merge_keys_if_due(changes)
    }

    /// Merges runs of keys where they are many.
    pub(super) fn merge_keys_if_due(&mut self, changes: &mut Changes) -> Result<()> {
        match keys::due(&self.catalogue.keys) {
            Some(first) => self.merge_keys(first, changes),
            None => Ok(()),
        }
    }

    /// The same, while somebody walks along the runs.
    pub(super) fn add_keys_unmerged(
        &mut self,
        entries: Vec<KeyEntry>,
        changes: &mut Changes,
    ) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let sorted = entries.into_iter().map(Ok);
        let run = KeyRun::write(sorted, &mut |bytes| Ok(changes.write(bytes)?))?;
        self.catalogue.keys.push(run);
        self.is_changed = true;
        Ok(())
    }

    /// Makes one run of those from one on.
    pub(super) fn merge_keys(&mut self, first: usize, changes: &mut Changes) -> Result<()> {
        let old = self.catalogue.keys.split_off(first);
        let pages = changes.pages()?;
        let read = |extent, range| pages.read_range(extent, range);
        let newest = NewestKeys::new(&old, &read)?;
        let run = KeyRun::write(newest, &mut |bytes| Ok(changes.write(bytes)?))?;
        for extent in old.iter().flat_map(KeyRun::extents) {
            changes.free(extent)?;
        }
        self.catalogue.keys.push(run);
        self.is_changed = true;
        Ok(())
    }

    /// Adds what happened to rows.
    pub(super) fn add_events(&mut self, events: &[Event], changes: &mut Changes) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let run = |bytes: &[u8], n_events: usize, changes: &mut Changes| -> Result<EventRun> {
            Ok(EventRun { extent: changes.write(bytes)?, n_events: n_events as u64 })
        };
        let removed: Vec<u32> =
            events.iter().filter_map(Event::removed).map(|row| row.get()).collect();
        self.is_changed = true;
        self.catalogue.events.push(run(&encoded(&events), events.len(), changes)?);
        if !removed.is_empty() {
            self.catalogue.removed.push(run(&encoded(&removed), removed.len(), changes)?);
        }
        Ok(())
    }

    /// Takes the single rows into a run, if there are many.
    pub(super) fn flush_pending_if_many(&mut self, changes: &mut Changes) -> Result<()> {
        let most = MOST_SMALL * self.small_rows()? as u64;
        match self.counters.n_pending > most {
            true => self.flush_pending(changes),
            false => Ok(()),
        }
    }

    /// Takes the single rows into a run.
    pub(super) fn flush_pending(&mut self, changes: &mut Changes) -> Result<()> {
        if self.counters.n_pending == 0 {
            return Ok(());
        }
        let mut records: Vec<(KeyHash, PendingKey)> = Vec::new();
        changes.for_each(PENDING, None, &mut |key, record| {
            if let Some(hash) = KeyHash::from_bytes(key) {
                records.extend(decoded(record, "a single row").ok().map(|own| (hash, own)));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if records.len() as u64 != self.counters.n_pending {
            return Err(damaged("a single row cannot be read"));
        }
        let tabled = self.tabled()?;
        let mut rows = RowBlock::default();
        let (mut entries, mut events) = (Vec::new(), Vec::new());
        for (hash, record) in &records {
            let is_gone = record.packed.is_none();
            if let Some((epoch, bytes)) = &record.packed {
                let row = read_rows(tabled.coding.layout_of(*epoch)?, bytes)?;
                let row = tabled.coding.recoded(row, *epoch)?;
                rows.extend(tabled.layout(), &row, 0..row.n_rows());
            }
            let PendingKey { row, content, .. } = *record;
            entries.push(KeyEntry { hash: *hash, row, is_gone, content });
            events.extend_from_slice(&record.events);
        }
        let run = run_of_packed(tabled, rows, &self.router()?, changes)?;
        self.catalogue.arrivals.extend(run);
        self.add_keys(entries, changes)?;
        self.add_events(&events, changes)?;
        for (hash, _) in records {
            changes.remove(PENDING, &hash.to_bytes())?;
        }
        self.counters.n_pending = 0;
        Ok(())
    }

    /// Rows that are in no part yet, those that are gone again included.
    pub(super) fn n_buffered(&self) -> u64 {
        let pieces = self.catalogue.arrivals.iter().flat_map(|run| &run.pieces);
        pieces.map(|piece| piece.n_rows).sum::<u64>() + self.counters.n_pending
    }

    /// Whether rows wait in buffers, or things happened that the ledger does not know.
    pub(super) fn is_unsettled(&self) -> bool {
        let Catalogue { arrivals, removed, events, .. } = &self.catalogue;
        !(arrivals.is_empty() && removed.is_empty() && events.is_empty())
    }

    /// Says that more than the counters has changed.
    pub(super) fn touch(&mut self) {
        self.is_changed = true;
    }

    /// The catalogue's own record, if it has changed since it was written.
    pub(super) fn changed_catalogue(&mut self) -> Option<&Catalogue> {
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        self.catalogue.directory = self.directory.to_bytes();
        if let Some(tabled) = &self.tabled {
            self.catalogue.epochs = tabled.coding.epochs.clone();
        }
        Some(&self.catalogue)
    }
}

/// Rows of some bytes.
pub(super) fn read_rows(layout: &RowLayout, bytes: &[u8]) -> Result<RowBlock> {
    match RowBlock::try_read_from(layout, bytes) {
        Some((rows, [])) => Ok(rows),
        _ => Err(damaged("some rows cannot be read")),
    }
}

fn no_rows() -> Error {
    Error::usage(
        "the index has no rows yet",
        "insert some with 'albers index insert DIR DATA' first",
    )
}
