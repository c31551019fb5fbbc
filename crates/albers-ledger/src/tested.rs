//! A release whose sets were tested: what they reveal, and keeping or forgetting it.

use crate::error::LedgerError;
use crate::judge::Judge;
use crate::ledger::Ledger;
use crate::opened::{FactRows, Opened, Pending};
use crate::release::{Recorded, Release};
use crate::signatures::NEW;
use crate::verdict::Verdict;

/// A release that was tested. Dropping it leaves the ledger as it was.
pub struct Tested<'a> {
    pending: Pending<'a>,
    record: Recorded,
    verdict: Verdict,
    below: Vec<u32>,
    /// Sets before of which members moved on.
    divided: Vec<u32>,
}

impl Tested<'_> {
    /// What the release reveals.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Makes the release one of the ledger's.
    ///
    /// # Errors
    /// When sets are below and that is not accepted; the release is forgotten then.
    pub fn keep(mut self, linkage_accepted: bool) -> Result<(), LedgerError> {
        if !self.verdict.holds() && !linkage_accepted {
            let (n_sets, n_rows) = (self.verdict.sets_below, self.verdict.rows_below);
            return Err(LedgerError::Linkage { n_sets, n_rows });
        }
        self.record.release.linkage_accepted = linkage_accepted;
        let ledger = &mut *self.pending.ledger;
        for set in &self.divided {
            ledger.below.remove(set);
        }
        ledger.below.extend(&self.below);
        ledger.unsaved.release(ledger.releases.len() as u32, self.pending.first_set);
        ledger.releases.push(self.record);
        self.pending.is_kept = true;
        Ok(())
    }
}

impl<'a> Opened<'a> {
    /// Tests all sets that the release makes, and what it leaves of those before.
    ///
    /// # Errors
    /// When living rows were not named, or what is kept of rows does not fit the requirement.
    pub fn finish(mut self) -> Result<Tested<'a>, LedgerError> {
        self.end_class()?;
        if let Some(error) = self.failed {
            return Err(error);
        }
        if let Some(k) = self.judge.only_rows() {
            count_new_sets(&mut self, k);
        }
        let divided = settle(&mut self);
        test_remainders(&mut self, &divided)?;
        let Opened { pending, release, whole, n_rows, n_classes, verdict, below, .. } = self;
        let n_sets = pending.ledger.signatures.n_sets() - pending.first_set;
        let release = Release::of(release, n_rows, n_classes);
        let record = Recorded { release, first_set: pending.first_set, n_sets, whole };
        Ok(Tested { pending, record, verdict, below, divided })
    }
}

/// Where only rows are counted: the new sets, before members are taken off those before.
fn count_new_sets(opened: &mut Opened<'_>, k: u64) {
    let first_set = opened.pending.first_set;
    for set in first_set..opened.pending.ledger.signatures.n_sets() {
        let ledger = &*opened.pending.ledger;
        let n_rows = u64::from(ledger.n_living[set as usize]);
        let is_below = n_rows < k;
        let before = ledger.signatures.parent(set);
        if is_below && ledger.below.contains(&before) && n_rows == ledger.n_members(before) {
            opened.below.push(set);
        } else {
            opened.record(set, n_rows, n_rows, is_below);
        }
    }
}

/// Takes the members that moved on off the sets that they came from; gives these sets, as others
/// see them, each once.
fn settle(opened: &mut Opened<'_>) -> Vec<u32> {
    const SEEN: u32 = u32::MAX;
    let ledger = &mut *opened.pending.ledger;
    let mut divided = Vec::new();
    for set in opened.pending.first_set..ledger.signatures.n_sets() {
        let before = ledger.signatures.parent(set);
        if before == NEW {
            continue;
        }
        ledger.n_living[before as usize] -= ledger.n_living[set as usize];
        let shown = ledger.signatures.visible(before);
        if opened.child_of[shown as usize] != SEEN {
            opened.child_of[shown as usize] = SEEN;
            divided.push(shown);
        }
    }
    opened.pending.is_settled = true;
    divided
}

/// Tests what is left of sets of which members moved on.
fn test_remainders(opened: &mut Opened<'_>, divided: &[u32]) -> Result<(), LedgerError> {
    let mut waiting = std::mem::take(&mut opened.waiting);
    waiting.rows.sort_unstable_by_key(|&(set, row, ..)| (set, row));
    check_waiting(opened.pending.ledger, &waiting)?;
    for &shown in divided {
        let n_rows = opened.pending.ledger.n_members(shown);
        if n_rows == 0 {
            continue;
        }
        let (size, is_below) = match opened.judge.only_rows() {
            Some(k) => (n_rows, n_rows < k),
            None => {
                let ledger = &*opened.pending.ledger;
                let remainder = Remainder { ledger, shown, waiting: &waiting, n_rows };
                remainder.test(&mut opened.judge)?
            }
        };
        opened.record(shown, n_rows, size, is_below);
    }
    Ok(())
}

/// Each waiting row is named once and is in no class.
fn check_waiting(ledger: &Ledger, waiting: &FactRows) -> Result<(), LedgerError> {
    for pair in waiting.rows.windows(2) {
        if pair[0].1 == pair[1].1 {
            return Err(LedgerError::RowTwice { row: pair[0].1 });
        }
    }
    let moved = waiting.rows.iter().find(|row| ledger.living(row.1) != Ok(row.0));
    moved.map_or(Ok(()), |row| Err(LedgerError::RowTwice { row: row.1 }))
}

/// What is left of a set, with rules or persons.
struct Remainder<'a> {
    ledger: &'a Ledger,
    shown: u32,
    waiting: &'a FactRows,
    n_rows: u64,
}

impl Remainder<'_> {
    /// Its size in the last release that shows it, and whether it is below.
    fn test(&self, judge: &mut Judge) -> Result<(u64, bool), LedgerError> {
        let eras = self.ledger.signatures.eras(self.shown, &self.ledger.releases);
        let (mut size, mut holds) = (0, true);
        for (era_idx, era) in eras.iter().enumerate() {
            judge.summary.clear();
            self.add_era(judge, era_idx, era_idx + 1 == eras.len())?;
            let given = judge.summary.n_rows();
            if given != self.n_rows {
                judge.summary.clear();
                return Err(LedgerError::RowsMissing { expected: self.n_rows, given });
            }
            size = judge.summary.n_subjects();
            holds = holds && judge.held_in(era, &self.ledger.releases)?;
        }
        judge.summary.clear();
        Ok((size, !holds))
    }

    /// Adds all members with their facts in one era.
    fn add_era(&self, judge: &mut Judge, era_idx: usize, is_last: bool) -> Result<(), LedgerError> {
        let n_codes = self.ledger.needs.n_sensitive as usize;
        let changed = self.ledger.signatures.changed_of(self.shown);
        for set in [Some(self.shown), changed].into_iter().flatten() {
            for &(_, row, subject, at) in self.waiting_of(set) {
                if is_last && set == self.shown {
                    judge.add(row, subject, &self.waiting.codes[at..at + n_codes], 1)?;
                } else {
                    let kept = self.ledger.past.get(row).get(era_idx);
                    let kept = kept.ok_or(LedgerError::Facts { row })?;
                    judge.add(row, kept.subject, &kept.codes, 1)?;
                }
            }
            let dead = self.ledger.dead.of_set.get(&set);
            for (kept, &n) in dead.and_then(|dead| dead.eras.get(era_idx)).into_iter().flatten() {
                judge.add(0, kept.subject, &kept.codes, n)?;
            }
        }
        Ok(())
    }

    fn waiting_of(&self, set: u32) -> &[(u32, u32, u64, usize)] {
        let rows = &self.waiting.rows;
        let start = rows.partition_point(|row| row.0 < set);
        &rows[start..start + rows[start..].partition_point(|row| row.0 == set)]
    }
}
