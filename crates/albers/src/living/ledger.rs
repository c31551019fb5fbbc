//! The ledger of an index, as it is stored, and what happens to rows between two releases.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use albers_ledger::{
    DeadRow, Ledger, LedgerError, Needs, Piece, PieceKey, Release, ReleaseKind, RowFacts, SetId,
};
use albers_storage::store::{Changes, Extent, Table};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::catalogue::{damaged, decoded};
use super::coding::LivingCoding;
use super::events::{Content, Event};
use super::report::ReleaseInfo;
use super::row_number::RowNumber;
use super::state::State;
use crate::error::{Error, Result};

/// What continues the signature of a row that is gone, by its number.
const DEAD: Table = Table::new("dead");

/// What rows looked like when they were published last, of those that look otherwise since.
const CHANGED: Table = Table::new("changed");

/// Where the ledger lies.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct LedgerRecord {
    pieces: BTreeMap<u64, Extent>,
    /// The epoch of its codes.
    epoch: u32,
    /// What it knows of each release, for whoever does not look at rows.
    pub(super) releases: Vec<ReleaseInfo>,
}

impl LedgerRecord {
    /// The epoch of its codes, where it has any.
    pub(super) fn epoch(&self) -> Option<u32> {
        (!self.pieces.is_empty()).then_some(self.epoch)
    }

    /// What the ledger of so many rows takes in memory.
    pub(super) fn memory_bytes(&self, n_rows: u32) -> usize {
        let of_piece = |(&key, extent): (&u64, &Extent)| match PieceKey::from_u64(key) {
            Some(PieceKey::Rows(_)) => 0,
            // What is known of a set, and of what becomes of it.
            _ => 2 * extent.n_bytes() as usize,
        };
        self.pieces.iter().map(of_piece).sum::<usize>() + 4 * n_rows as usize
    }

    /// The ledger; without releases where nothing was stored yet.
    pub(super) fn read(
        &self,
        needs: Needs,
        read: &dyn Fn(Extent) -> Result<Vec<u8>>,
    ) -> Result<Ledger> {
        if self.pieces.is_empty() {
            return Ok(Ledger::new(needs));
        }
        let mut pieces = Vec::with_capacity(self.pieces.len());
        for (&key, &extent) in &self.pieces {
            let key = PieceKey::from_u64(key);
            let key = key.ok_or_else(|| damaged("a piece of the ledger is not known"))?;
            pieces.push((key, read(extent)?));
        }
        Ledger::from_pieces(pieces).map_err(|error| refused(&error))
    }

    /// Stores what changed of a ledger.
    pub(super) fn write(
        &mut self,
        ledger: &mut Ledger,
        epoch: u32,
        changes: &mut Changes,
    ) -> Result<()> {
        for Piece { key, bytes } in ledger.take_changed_pieces() {
            if let Some(old) = self.pieces.remove(&key.to_u64()) {
                changes.free(old)?;
            }
            if let Some(bytes) = bytes {
                self.pieces.insert(key.to_u64(), changes.write(&bytes)?);
            }
        }
        self.epoch = epoch;
        let info = |(release, own): (u64, &Release)| ReleaseInfo {
            release,
            requirement: own.requirement.clone(),
            also_k: own.coarser_ks.clone(),
            rows: own.n_rows,
            classes: u64::from(own.n_classes),
            batch: own.kind == ReleaseKind::Batch,
            linkage_accepted: own.linkage_accepted,
        };
        self.releases = (1..).zip(ledger.releases()).map(info).collect();
        Ok(())
    }
}

/// The facts of rows that are gone, as they were published.
pub(super) type GoneFacts = FxHashMap<RowNumber, (u64, Vec<u32>)>;

/// Tells the ledger what happened to rows since it was told last. `ruled` are the sensitive columns
/// that its requirement looks at.
pub(super) fn tell(
    ledger: &mut Ledger,
    state: &mut State,
    (facts, ruled): (&GoneFacts, &[usize]),
    changes: &mut Changes,
) -> Result<()> {
    recode(ledger, state.catalogue.ledger.epoch, &state.tabled()?.coding, ruled)?;
    let runs = std::mem::take(&mut state.catalogue.events);
    for run in runs {
        let events: Vec<Event> = decoded(&changes.read(run.extent)?, "what happened to rows")?;
        if ledger.n_releases() > 0 {
            let mut dead: Vec<([u8; 4], Vec<u8>)> = Vec::new();
            for event in events {
                // Whoever comes back may have gone in the same run.
                if matches!(event, Event::Revived { .. }) {
                    changes.put_all(DEAD, std::mem::take(&mut dead))?;
                }
                dead.extend(tell_one(ledger, event, facts, changes)?);
            }
            dead.sort_unstable();
            changes.put_all(DEAD, dead)?;
        }
        changes.free(run.extent)?;
    }
    Ok(())
}

/// Tells the ledger one thing; gives what is to be kept of a row that is gone.
fn tell_one(
    ledger: &mut Ledger,
    event: Event,
    facts: &GoneFacts,
    changes: &mut Changes,
) -> Result<Option<([u8; 4], Vec<u8>)>> {
    match event {
        Event::Replaced { old, new, before, after } => {
            let base = published_before(ledger, old, before, changes)?;
            let is_changed = !after.looks_like(base);
            let was = facts_of(ledger, old, facts)?;
            let told = ledger.replace(old.get(), new.get(), is_changed, was);
            told.map_err(|error| refused(&error))?;
            settle_look(ledger, new, (base, after), changes)?;
        }
        Event::Removed { row } => {
            let was = facts_of(ledger, row, facts)?;
            let dead = ledger.delete(row.get(), was).map_err(|error| refused(&error))?;
            return Ok(dead.map(|dead| (row.get().to_be_bytes(), dead.to_bytes())));
        }
        Event::Revived { old, new, before, after } => {
            let key = old.get().to_be_bytes();
            if let Some(bytes) = changes.get(DEAD, &key)? {
                let dead = DeadRow::from_bytes(&bytes).map_err(|error| refused(&error))?;
                let base = changes.get(CHANGED, &key)?.and_then(content_of).unwrap_or(before);
                let is_changed = !after.looks_like(base);
                let told = ledger.revive(dead, new.get(), is_changed);
                told.map_err(|error| refused(&error))?;
                changes.remove(DEAD, &key)?;
                changes.remove(CHANGED, &key)?;
                settle_look(ledger, new, (base, after), changes)?;
            }
        }
    }
    Ok(None)
}

/// What a row looked like when it was published last: it may have changed several times since.
fn published_before(
    ledger: &Ledger,
    row: RowNumber,
    before: Content,
    changes: &mut Changes,
) -> Result<Content> {
    if ledger.is_new(row.get()) {
        return Ok(before);
    }
    let key = row.get().to_be_bytes();
    let base = changes.get(CHANGED, &key)?.and_then(content_of);
    changes.remove(CHANGED, &key)?;
    Ok(base.unwrap_or(before))
}

/// A row that looks as it did when it was published last has not changed, whatever happened in
/// between: nobody saw it.
fn settle_look(
    ledger: &mut Ledger,
    row: RowNumber,
    (base, after): (Content, Content),
    changes: &mut Changes,
) -> Result<()> {
    if ledger.is_new(row.get()) {
        return Ok(());
    }
    match after.looks_like(base) {
        true => ledger.take_back(row.get()).map_err(|error| refused(&error)),
        false => Ok(changes.put(CHANGED, &row.get().to_be_bytes(), &base.0.to_le_bytes())?),
    }
}

fn content_of(bytes: Vec<u8>) -> Option<Content> {
    Some(Content(u64::from_le_bytes(bytes.try_into().ok()?)))
}

/// Forgets what rows looked like before: all of them were published as they are.
pub(super) fn forget_changes(changes: &mut Changes) -> Result<()> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    changes.for_each(CHANGED, None, &mut |key, _| {
        keys.push(key.to_vec());
        Ok(ControlFlow::Continue(()))
    })?;
    // Those of rows that are gone stay: they may come back.
    for key in keys {
        if changes.get(DEAD, &key)?.is_none() {
            changes.remove(CHANGED, &key)?;
        }
    }
    Ok(())
}

/// What the requirement looks at in a row that is gone, as it was published.
fn facts_of<'f>(ledger: &Ledger, row: RowNumber, facts: &'f GoneFacts) -> Result<RowFacts<'f>> {
    let set = ledger.set_of(row.get()).map_err(|error| refused(&error))?;
    let is_shown = set != SetId::NEW && !ledger.set(set).is_changed;
    match facts.get(&row) {
        Some((subject, codes)) => Ok(RowFacts { subject: *subject, codes }),
        None if is_shown && ledger.needs().facts => {
            Err(damaged("it is not known what a row that is gone was published with"))
        }
        None => Ok(RowFacts::default()),
    }
}

/// Brings a ledger to the codes of the last epoch.
fn recode(
    ledger: &mut Ledger,
    from_epoch: u32,
    coding: &LivingCoding,
    ruled: &[usize],
) -> Result<()> {
    if !ledger.needs().facts || ledger.n_releases() == 0 {
        return Ok(());
    }
    for change in coding.sensitive_changes(from_epoch)? {
        let n_values: Vec<u32> = ruled.iter().map(|&column| change.n_values(column)).collect();
        let code_of = |column: usize, code: u32| change.code(ruled[column], code);
        ledger.recode(&n_values, &code_of).map_err(|error| refused(&error))?;
    }
    Ok(())
}

/// What a ledger refuses is a defect of the index, or of its bytes: users do not number rows.
pub(super) fn refused(error: &LedgerError) -> Error {
    damaged(&format!("its ledger does not go with its rows ({error})"))
}
