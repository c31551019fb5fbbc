//! The ledger between releases: which set each row is a member of.
//!
//! Source: the exact form of linkage across releases: rows of equal signature cannot be told apart.
//! Departures: rows are told by numbers that are never used again, not by hashes of keys, so that a
//! release costs one array access per row; an update gives a row a new number, and a deleted row's
//! number is given up.
//! Guarantee: a row keeps its signature through updates, and through a deletion if its key comes
//! again with the [`DeadRow`] that the deletion gave.
//! Cost: 4 bytes for each row number ever given, 12 for each set that ever was; beyond counts, the
//! values of rows in eras that are over.

use rustc_hash::FxHashSet;

use crate::dead::Dead;
use crate::error::LedgerError;
use crate::facts::{DeadRow, Needs, RowFacts};
use crate::past::Past;
use crate::recoding::Recoding;
use crate::release::{Recorded, Release};
use crate::signatures::{GONE, NEW, SetId, Signatures, release_of};
use crate::unsaved::Unsaved;

/// What all releases of a changing table tell together.
pub struct Ledger {
    pub(crate) needs: Needs,
    pub(crate) recodings: Vec<Recoding>,
    pub(crate) signatures: Signatures,
    /// By row number; rows beyond its end are new.
    pub(crate) set_of: Vec<u32>,
    /// By set: living members.
    pub(crate) n_living: Vec<u32>,
    pub(crate) past: Past,
    pub(crate) dead: Dead,
    /// Sets that were below at a release whose owner accepted that.
    pub(crate) below: FxHashSet<u32>,
    pub(crate) releases: Vec<Recorded>,
    pub(crate) unsaved: Unsaved,
}

/// One set that has members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentSet {
    /// Its number.
    pub id: SetId,
    /// Members that can be published again.
    pub n_living: u64,
    /// Members that were deleted.
    pub n_dead: u64,
    /// Whether its members changed since they were last published. They count with the other
    /// members of their last class until they are published again.
    pub is_changed: bool,
    /// Whether all members, as others see the set, are alive and unchanged: only then can a release
    /// show all of them together and divide nothing.
    pub is_whole: bool,
    /// Whether it misses the requirement, which an owner accepted. All other sets satisfy it with
    /// all their members.
    pub is_below: bool,
}

impl Ledger {
    /// A ledger without releases.
    pub fn new(needs: Needs) -> Self {
        Self {
            needs,
            recodings: Vec::new(),
            signatures: Signatures::new(),
            set_of: Vec::new(),
            n_living: vec![0],
            past: Past::default(),
            dead: Dead::default(),
            below: FxHashSet::default(),
            releases: Vec::new(),
            unsaved: Unsaved::all(),
        }
    }

    /// What the ledger was made to keep.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Gives a row the new number that an update gave it. `changed` says that a published column,
    /// the subject or a sensitive code differs; `was` is what the old row told.
    ///
    /// # Errors
    /// When the old row is gone, the new number is taken, or the facts do not fit; nothing is
    /// changed then.
    pub fn replace(
        &mut self,
        old_row: u32,
        new_row: u32,
        changed: bool,
        was: RowFacts<'_>,
    ) -> Result<(), LedgerError> {
        let set = self.living(old_row)?;
        self.check_free(new_row)?;
        if set == NEW {
            return Ok(());
        }
        let ends_era = changed && !self.signatures.is_changed(set);
        let kept = if ends_era { self.needs.keep(old_row, was)? } else { None };
        let new_set = if changed { self.change(set)? } else { set };
        let mut eras = self.past.take(old_row);
        eras.extend(kept);
        if !eras.is_empty() {
            self.unsaved.past(old_row);
            self.unsaved.past(new_row);
        }
        self.past.put(new_row, eras);
        self.leave(old_row, set);
        self.join(new_row, new_set);
        Ok(())
    }

    /// Takes the change of a row back: it holds again what it was published with last.
    ///
    /// # Errors
    /// When the row is gone; nothing is changed then.
    pub fn take_back(&mut self, row: u32) -> Result<(), LedgerError> {
        let set = self.living(row)?;
        if !self.signatures.is_changed(set) {
            return Ok(());
        }
        let mut eras = self.past.take(row);
        eras.pop();
        self.unsaved.past(row);
        self.past.put(row, eras);
        self.n_living[set as usize] -= 1;
        self.join(row, self.signatures.visible(set));
        Ok(())
    }

    /// Deletes a row. Where it was published it stays a member of its set, and what is returned
    /// continues its signature if its key comes again.
    ///
    /// # Errors
    /// When the row is gone already or the facts do not fit; nothing is changed then.
    pub fn delete(&mut self, row: u32, was: RowFacts<'_>) -> Result<Option<DeadRow>, LedgerError> {
        let set = self.living(row)?;
        if set == NEW {
            return Ok(None);
        }
        let shown = !self.signatures.is_changed(set);
        let kept = if shown { self.needs.keep(row, was)? } else { None };
        let mut eras = self.past.take(row);
        if !eras.is_empty() {
            self.unsaved.past(row);
        }
        eras.extend(kept);
        let dead = DeadRow { set, coding: self.recodings.len() as u32, eras };
        self.dead.add(&dead);
        self.unsaved.dead(set);
        self.leave(row, set);
        Ok(Some(dead))
    }

    /// Continues the signature of a deleted row whose key was inserted again.
    ///
    /// # Errors
    /// When the row was not deleted here or was revived before, or the new number is taken; nothing
    /// is changed then.
    pub fn revive(
        &mut self,
        mut dead: DeadRow,
        new_row: u32,
        changed: bool,
    ) -> Result<(), LedgerError> {
        let since = self.recodings.get(dead.coding as usize..).ok_or(LedgerError::UnknownDead)?;
        for recoding in since {
            let code_of = |column: usize, code: u32| recoding.code(column, code);
            dead.eras.iter_mut().for_each(|facts| facts.recode(&code_of));
        }
        self.check_free(new_row)?;
        self.dead.remove(&dead)?;
        self.unsaved.dead(dead.set);
        let set = if changed { self.change(dead.set) } else { Ok(dead.set) };
        let set = set.inspect_err(|_| self.dead.add(&dead))?;
        if !self.signatures.is_changed(set) {
            dead.eras.pop();
        }
        if !dead.eras.is_empty() {
            self.unsaved.past(new_row);
        }
        self.past.put(new_row, dead.eras);
        self.join(new_row, set);
        Ok(())
    }

    /// Rewrites all sensitive codes after the coding of a sensitive column grew: `n_values` is the
    /// size of each column's domain before, and `code_of` gives what a column's code became. Deleted
    /// rows that are kept elsewhere catch up when they are revived.
    ///
    /// # Errors
    /// When there is not one domain for each sensitive column.
    pub fn recode(
        &mut self,
        n_values: &[u32],
        code_of: &dyn Fn(usize, u32) -> u32,
    ) -> Result<(), LedgerError> {
        if !self.needs.facts {
            return Ok(());
        }
        if n_values.len() != self.needs.n_sensitive as usize {
            return Err(LedgerError::OtherRequirement);
        }
        let recoding = Recoding::new(n_values, code_of);
        if recoding.is_identity() {
            return Ok(());
        }
        let code_of = |column: usize, code: u32| recoding.code(column, code);
        self.past.recode(&code_of);
        self.dead.recode(&code_of);
        self.releases.iter_mut().filter_map(|r| r.whole.as_mut()).for_each(|w| w.recode(&code_of));
        self.recodings.push(recoding);
        self.unsaved = Unsaved::all();
        Ok(())
    }

    /// The set of a living row.
    ///
    /// # Errors
    /// When the row is gone.
    pub fn set_of(&self, row: u32) -> Result<SetId, LedgerError> {
        self.living(row).map(SetId)
    }

    /// Whether a row was never published.
    pub fn is_new(&self, row: u32) -> bool {
        self.living(row) == Ok(NEW)
    }

    /// A set by its number.
    ///
    /// # Panics
    /// When there is no such set.
    pub fn set(&self, id: SetId) -> CurrentSet {
        let n_living = u64::from(self.n_living[id.0 as usize]);
        let is_changed = self.signatures.is_changed(id.0);
        CurrentSet {
            id,
            n_living,
            n_dead: self.dead.n_rows_of(id.0),
            is_changed,
            is_whole: !is_changed && n_living == self.n_members(id.0),
            is_below: self.below.contains(&self.signatures.visible(id.0)),
        }
    }

    /// All sets that have members, by their numbers; new rows are no set.
    pub fn current_sets(&self) -> impl Iterator<Item = CurrentSet> + '_ {
        let sets = (1..self.signatures.n_sets()).map(|id| self.set(SetId(id)));
        sets.filter(|set| set.n_living + set.n_dead > 0)
    }

    /// The release, by its place, and the class in which a set was last published; `None` for new
    /// rows.
    ///
    /// # Panics
    /// When there is no such set.
    pub fn last_class(&self, id: SetId) -> Option<(u32, u32)> {
        let shown = self.signatures.visible(id.0);
        let class = self.signatures.nodes()[shown as usize].class;
        (shown != NEW).then(|| (release_of(shown, &self.releases), class))
    }

    /// The releases, oldest first.
    pub fn releases(&self) -> impl ExactSizeIterator<Item = &Release> {
        self.releases.iter().map(|recorded| &recorded.release)
    }

    /// Number of releases.
    pub fn n_releases(&self) -> usize {
        self.releases.len()
    }

    /// Number of sets that have members.
    pub fn n_sets(&self) -> u64 {
        self.current_sets().count() as u64
    }

    /// All members of a visible set: living, changed since, and deleted.
    pub(crate) fn n_members(&self, shown: u32) -> u64 {
        let own = |set: u32| u64::from(self.n_living[set as usize]) + self.dead.n_rows_of(set);
        own(shown) + self.signatures.changed_of(shown).map_or(0, own)
    }

    pub(crate) fn living(&self, row: u32) -> Result<u32, LedgerError> {
        match self.set_of.get(row as usize) {
            None if row < u32::MAX => Ok(NEW),
            None | Some(&GONE) => Err(LedgerError::UnknownRow { row }),
            Some(&set) => Ok(set),
        }
    }

    /// Puts a row into a set without counting it.
    pub(crate) fn assign(&mut self, row: u32, set: u32) {
        let row_idx = row as usize;
        if row_idx >= self.set_of.len() {
            let old_end = self.set_of.len() as u32;
            self.unsaved.row(old_end);
            self.set_of.resize(row_idx + 1, NEW);
        }
        self.set_of[row_idx] = set;
        self.unsaved.row(row);
    }

    fn check_free(&self, row: u32) -> Result<(), LedgerError> {
        match self.set_of.get(row as usize) {
            Some(&NEW) => Ok(()),
            None if row < u32::MAX => Ok(()),
            _ => Err(LedgerError::RowTaken { row }),
        }
    }

    fn change(&mut self, set: u32) -> Result<u32, LedgerError> {
        let (changed, is_new) = self.signatures.changed(set)?;
        if is_new {
            self.n_living.push(0);
            self.unsaved.node(changed);
        }
        Ok(changed)
    }

    fn leave(&mut self, row: u32, set: u32) {
        self.n_living[set as usize] -= 1;
        self.assign(row, GONE);
    }

    fn join(&mut self, row: u32, set: u32) {
        self.n_living[set as usize] += 1;
        self.assign(row, set);
    }
}
