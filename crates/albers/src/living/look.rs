//! All of an index looked at, and all of it written anew.

use albers_index::living::PartId;
use albers_ledger::Needs;
use albers_storage::StorageError;
use albers_storage::store::{Changes, Pages, Store, StoreError};
use albers_storage::watch::{Phase, Watch};
use albers_table::TableError;
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;

use super::catalogue::{PENDING, PendingKey, decoded};
use super::decide::RowSet;
use super::keys::{KeyHash, NewestKeys};
use super::parts::{StoredRows, number_of, written};
use super::report::{IndexCheck, IndexInfo, IndexProblem};
use super::settle::{count_rows, removed_rows, settle_all};
use super::state::State;
use crate::error::{Error, Result};
use crate::memory::Memory;

/// What an index is.
pub(super) fn info(state: &State, n_bytes: u64) -> IndexInfo {
    let parts = state.catalogue.parts.values();
    IndexInfo {
        rows: state.counters.n_rows,
        leaves: parts.clone().map(|part| part.n_leaves).sum(),
        parts: parts.count() as u64,
        buffered: state.n_buffered(),
        batches: state.counters.n_batches,
        key: state.catalogue.key.clone(),
        requirement: state.job.requirement(),
        releases: state.catalogue.ledger.releases.clone(),
        bytes: n_bytes,
    }
}

/// Looks at everything, and says what is wrong.
pub(super) fn check(store: &Store, memory: &Memory, watch: &dyn Watch) -> Result<IndexCheck> {
    let mut problems = Vec::new();
    store.check(&mut |problem| {
        problems.push(IndexProblem { problem: problem.to_string() });
    })?;
    let mut found = IndexCheck { rows: 0, leaves: 0, problems };
    if !found.problems.is_empty() {
        return Ok(found);
    }
    let state = State::read(&store.snapshot()?)?;
    found.rows = state.counters.n_rows;
    found.leaves = state.catalogue.parts.values().map(|part| part.n_leaves).sum();
    if state.is_untouched() {
        return Ok(found);
    }
    let mut looked =
        Look { state: &state, pages: store.pages()?, memory, watch, problems: Vec::new() };
    looked.rows_and_keys(store)?;
    looked.leaves()?;
    looked.ledger()?;
    found.problems = looked.problems;
    Ok(found)
}

/// What a look found that damage has ended; any other end stays an error.
pub(super) fn damage(error: Error) -> Result<IndexCheck> {
    let problem = match &error {
        Error::DamagedIndex { problem } => problem.clone(),
        Error::Table(TableError::Storage(StorageError::Store(
            problem @ (StoreError::Damaged { .. }
            | StoreError::DamagedPage { .. }
            | StoreError::NoExtent { .. }),
        ))) => problem.to_string(),
        _ => return Err(error),
    };
    Ok(IndexCheck { rows: 0, leaves: 0, problems: vec![IndexProblem { problem }] })
}

struct Look<'l> {
    state: &'l State,
    pages: Pages,
    memory: &'l Memory,
    watch: &'l dyn Watch,
    problems: Vec<IndexProblem>,
}

impl Look<'_> {
    fn say(&mut self, problem: String) {
        self.problems.push(IndexProblem { problem });
    }

    /// Every key has its row, and every row its key.
    fn rows_and_keys(&mut self, store: &Store) -> Result<()> {
        let state = self.state;
        let catalogue = &state.catalogue;
        let removed = removed_rows(state, &self.pages)?;
        let n_bytes = state.counters.next_row as usize / 4;
        let _memory = self.memory.budget.try_reserve("the rows of the index", n_bytes)?;
        let mut by_key = RowSet::of(state.counters.next_row);
        let mut n_by_key = 0u64;
        let pages = self.pages.clone();
        let read = |extent, range| pages.read_range(extent, range);
        let mut pending: FxHashMap<Vec<u8>, PendingKey> = FxHashMap::default();
        store.snapshot()?.for_each(PENDING, None, &mut |key, record| {
            if KeyHash::from_bytes(key).is_some() {
                pending.extend(decoded(record, "a single row").ok().map(|own| (key.to_vec(), own)));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for entry in NewestKeys::new(&catalogue.keys, &read)? {
            let entry = entry?;
            if !entry.is_gone && !pending.contains_key(&entry.hash.to_bytes()[..]) {
                n_by_key += u64::from(!by_key.contains(entry.row));
                by_key.add(entry.row);
            }
        }
        let n_single = pending.values().filter(|own| own.packed.is_some()).count() as u64;
        if pending.len() as u64 != state.counters.n_pending {
            self.say("a single row cannot be read".to_owned());
        }
        if n_by_key + n_single != state.counters.n_rows {
            self.say(format!(
                "there are {} keys and {} rows",
                n_by_key + n_single,
                state.counters.n_rows
            ));
        }
        let replaced: FxHashMap<u32, ()> = pending
            .values()
            .flat_map(|own| &own.events)
            .filter_map(|event| Some((event.removed()?.get(), ())))
            .collect();
        let parts = catalogue.parts.clone();
        let coding = &state.tabled()?.coding;
        let rows = StoredRows::new(parts, &catalogue.arrivals, self.pages.clone(), coding);
        let layout = rows.layout();
        let (mut n_rows, mut n_strange) = (0u64, 0u64);
        rows.each_row(state.directory.parts(), &removed, &mut |rows, row| {
            let number = number_of(layout, rows, row);
            if !replaced.contains_key(&number.get()) {
                n_rows += 1;
                n_strange += u64::from(!by_key.contains(number));
            }
        })?;
        if n_strange > 0 || n_rows != n_by_key {
            self.say(format!("{n_rows} rows lie in parts, of which {n_strange} belong to no key"));
        }
        Ok(())
    }

    /// Every row lies in the part and in the leaf that it belongs to.
    fn leaves(&mut self) -> Result<()> {
        let state = self.state;
        let tabled = state.tabled()?;
        let parts = state.catalogue.parts.clone();
        let stored = StoredRows::new(parts, &[], self.pages.clone(), &tabled.coding);
        let layout = stored.layout();
        let router = state.router()?;
        self.watch.phase(Phase::Verify, Some(state.counters.n_rows));
        for part_id in state.directory.parts() {
            let part = stored.part(part_id)?;
            let index = part.index(layout);
            let mut codes = vec![0; layout.n_attributes()];
            let (mut leaf, mut n_strays) = (0u32, 0u64);
            for row in 0..part.n_rows() {
                while index.leaf_ends()[leaf as usize] as usize <= row {
                    leaf += 1;
                }
                part.rows().codes(layout, row, &mut codes);
                let is_home = index.search(&codes) == leaf && router.route(&codes) == [part_id];
                n_strays += u64::from(!is_home);
            }
            if n_strays > 0 {
                self.say(format!("part {}: {n_strays} rows lie in a wrong leaf", part_id.0));
            }
            self.watch.done(part.n_rows() as u64)?;
        }
        Ok(())
    }

    fn ledger(&mut self) -> Result<()> {
        let read = |extent| Ok(self.pages.read(extent)?);
        let no_needs = Needs { facts: false, subjects: false, n_sensitive: 0, wholes: false };
        if let Err(error) = self.state.catalogue.ledger.read(no_needs, &read) {
            self.say(error.to_string());
        }
        Ok(())
    }
}

/// Empties the buffers, and writes all keys and parts anew.
pub(super) fn rewrite(
    state: &mut State,
    changes: &mut Changes,
    memory: &Memory,
    watch: &dyn Watch,
) -> Result<()> {
    if state.is_untouched() {
        return Ok(());
    }
    state.flush_pending(changes)?;
    if state.is_unsettled() {
        let pages = changes.pages()?;
        let removed = removed_rows(state, &pages)?;
        let base_k = state.job.job.k.unwrap_or(1);
        let counts = count_rows(state, pages, &removed, base_k)?;
        // Rows that miss the requirement as a whole stay where they are.
        if let Ok(protection) = counts.protection(state, &[base_k], state.counters.n_rows) {
            settle_all(state, changes, &protection, memory, watch)?;
        }
    }
    if state.catalogue.keys.len() > 1 {
        state.merge_keys(0, changes)?;
    }
    rewrite_parts(state, changes)
}

/// Brings all parts to the last epoch, so that earlier ones can be forgotten.
fn rewrite_parts(state: &mut State, changes: &mut Changes) -> Result<()> {
    let epoch = state.tabled()?.coding.epoch();
    let old: Vec<u32> = state
        .catalogue
        .parts
        .iter()
        .filter(|(_, part)| part.epoch < epoch)
        .map(|(&id, _)| id)
        .collect();
    let pages = changes.pages()?;
    for id in old {
        let tabled = state.tabled()?;
        let parts = state.catalogue.parts.clone();
        let stored = StoredRows::new(parts, &[], pages.clone(), &tabled.coding);
        let record = written(&tabled.coding, changes, &stored.part(PartId(id))?)?;
        if let Some(before) = state.catalogue.parts.insert(id, record) {
            changes.free(before.extent)?;
        }
    }
    state.touch();
    super::settle::forget_epochs(state, changes)
}
