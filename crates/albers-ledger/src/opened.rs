//! A release that is being tested: its classes come one by one, and divide the sets.
//!
//! ```text
//! sets before      class 0 of the release     sets after
//!   A {1 2 3 4}      {1 2 5}                    A0 {1 2}   A {4, and the deleted}
//!   B {5 6}        class 1                      B0 {5}     B {}
//!                    {3 6}                      A1 {3}     B1 {6}
//! ```
//!
//! Source: one group-by of the rows by (set before, class).
//! Departures: a set of which all members go into one class is the same set seen once more: only
//! the new release is tested. What is left behind is tested when all classes are known.
//! Guarantee: until the release is kept the ledger can be had back as it was, by dropping this.
//! Cost: for a requirement on rows alone two array accesses per row, whatever the number of
//! releases; 4 bytes for each set that ever was. With rules or persons also a sort of the rows of
//! each class that were published before, the facts of the largest class of such, and those of all
//! waiting rows that were published before.

use albers_privacy::{ClassSummary, Requirement};

use crate::error::LedgerError;
use crate::facts::{Needs, RowFacts};
use crate::judge::Judge;
use crate::ledger::Ledger;
use crate::release::{NewRelease, Whole};
use crate::signatures::{CHANGED, GONE, NEW};
use crate::verdict::Verdict;

/// A release whose classes are being named. Dropping it leaves the ledger as it was.
pub struct Opened<'a> {
    pub(crate) pending: Pending<'a>,
    pub(crate) judge: Judge,
    pub(crate) release: NewRelease,
    pub(crate) whole: Option<Whole>,
    pub(crate) n_rows: u64,
    pub(crate) n_classes: u32,
    /// By set before: the set made of it last; it is one of this class if not below the first.
    pub(crate) child_of: Vec<u32>,
    class_first_set: u32,
    n_rows_of_class: u64,
    rows: FactRows,
    pub(crate) waiting: FactRows,
    pub(crate) verdict: Verdict,
    /// New sets that miss the requirement, counted now or accepted before.
    pub(crate) below: Vec<u32>,
    /// Why a class could not be tested: the release cannot be finished then.
    pub(crate) failed: Option<LedgerError>,
}

/// The ledger with the sets of an open release, which are forgotten unless kept.
pub(crate) struct Pending<'a> {
    pub ledger: &'a mut Ledger,
    pub first_set: u32,
    pub n_rows: usize,
    /// Whether members that moved on were taken off the sets that they came from.
    pub is_settled: bool,
    pub is_kept: bool,
}

/// Rows with their facts, by set.
#[derive(Default)]
pub(crate) struct FactRows {
    /// Set, row, subject, and the place of the row's codes.
    pub rows: Vec<(u32, u32, u64, usize)>,
    pub codes: Vec<u32>,
}

impl FactRows {
    fn push(&mut self, set: u32, row: u32, facts: RowFacts<'_>) {
        self.rows.push((set, row, facts.subject, self.codes.len()));
        self.codes.extend_from_slice(facts.codes);
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.codes.clear();
    }
}

impl Ledger {
    /// Begins a release: `requirement` is the one that every set must satisfy, and `whole` sums up
    /// the rows that the release compares with, which only t-closeness needs.
    ///
    /// # Errors
    /// When the requirement is of another kind than the ledger's, or the whole is missing or empty
    /// though the requirement compares with it.
    pub fn open(
        &mut self,
        release: NewRelease,
        requirement: &Requirement,
        whole: Option<&ClassSummary>,
    ) -> Result<Opened<'_>, LedgerError> {
        if Needs::of(requirement) != self.needs {
            return Err(LedgerError::OtherRequirement);
        }
        let whole = if self.needs.wholes {
            let whole = whole.filter(|whole| whole.n_rows() > 0).ok_or(LedgerError::NoWhole)?;
            Some(Whole::of(whole, self.needs.n_sensitive))
        } else {
            None
        };
        let judge = Judge::new(requirement, whole.as_ref(), self.releases.len())
            .ok_or(LedgerError::OtherRequirement)?;
        let (first_set, n_rows) = (self.signatures.n_sets(), self.set_of.len());
        Ok(Opened {
            judge,
            release,
            whole,
            n_rows: 0,
            n_classes: 0,
            child_of: vec![0; first_set as usize],
            class_first_set: first_set,
            n_rows_of_class: 0,
            rows: FactRows::default(),
            waiting: FactRows::default(),
            verdict: Verdict::default(),
            below: Vec::new(),
            failed: None,
            pending: Pending { ledger: self, first_set, n_rows, is_settled: false, is_kept: false },
        })
    }
}

impl Opened<'_> {
    /// One class of the release, whole.
    ///
    /// # Errors
    /// As [`Self::add`] and [`Self::end_class`] do; the release cannot be finished then.
    pub fn class<'f>(
        &mut self,
        rows: impl IntoIterator<Item = (u32, RowFacts<'f>)>,
    ) -> Result<(), LedgerError> {
        for (row, facts) in rows {
            self.add(row, facts).inspect_err(|error| self.failed = Some(error.clone()))?;
        }
        self.end_class()
    }

    /// One class of the release, whole, where only rows are counted.
    ///
    /// # Errors
    /// As [`Self::class`] does.
    pub fn class_of_rows(&mut self, rows: &[u32]) -> Result<(), LedgerError> {
        self.class(rows.iter().map(|&row| (row, RowFacts::default())))
    }

    /// Adds a row to the class that [`Self::end_class`] will close; classes of any size can so be
    /// given in pieces.
    ///
    /// # Errors
    /// When the row is gone or was given before, or its facts do not fit; it is not added then.
    pub fn add(&mut self, row: u32, facts: RowFacts<'_>) -> Result<(), LedgerError> {
        let ledger = &mut *self.pending.ledger;
        let set = ledger.living(row)?;
        if set >= self.pending.first_set {
            return Err(LedgerError::RowTwice { row });
        }
        if ledger.needs.facts {
            self.judge.check(row, facts.codes)?;
        }
        let mut child = self.child_of[set as usize];
        if child < self.class_first_set {
            if self.n_classes == CHANGED {
                return Err(LedgerError::Full);
            }
            child = ledger.signatures.push(set, self.n_classes)?;
            ledger.n_living.push(0);
            self.child_of[set as usize] = child;
        }
        if ledger.needs.facts && set == NEW {
            self.judge.add(row, facts.subject, facts.codes, 1)?;
        } else if ledger.needs.facts {
            self.rows.push(set, row, facts);
        }
        ledger.assign(row, child);
        ledger.n_living[child as usize] += 1;
        self.n_rows_of_class += 1;
        Ok(())
    }

    /// Closes the class of the rows added; a class without rows is none.
    ///
    /// # Errors
    /// When what is kept of the rows does not fit the requirement; the release cannot be finished
    /// then.
    pub fn end_class(&mut self) -> Result<(), LedgerError> {
        if self.n_rows_of_class == 0 {
            return Ok(());
        }
        if self.pending.ledger.needs.facts {
            let n_fresh = self.judge.summary.n_rows();
            if n_fresh > 0 {
                let fresh = self.child_of[NEW as usize];
                let holds = self.judge.holds_now();
                self.record(fresh, n_fresh, self.judge.summary.n_subjects(), !holds);
                self.judge.summary.clear();
            }
            let judged = self.judge_known_rows();
            judged.inspect_err(|error| self.failed = Some(error.clone()))?;
        }
        self.class_first_set = self.pending.ledger.signatures.n_sets();
        self.n_rows += std::mem::take(&mut self.n_rows_of_class);
        self.n_classes += 1;
        Ok(())
    }

    /// Names a living row that is not published in this release. Where only rows are counted it
    /// need not be called; otherwise every such row must be named once.
    ///
    /// # Errors
    /// When the row is gone or was given before, or its facts do not fit.
    pub fn waiting(&mut self, row: u32, facts: RowFacts<'_>) -> Result<(), LedgerError> {
        let ledger = &*self.pending.ledger;
        let set = ledger.living(row)?;
        if set >= self.pending.first_set {
            return Err(LedgerError::RowTwice { row });
        }
        if ledger.needs.facts && set != NEW {
            self.judge.check(row, facts.codes)?;
            self.waiting.push(set, row, facts);
        }
        Ok(())
    }

    /// Counts one tested set that accepted linkage does not cover.
    pub(crate) fn record(&mut self, set: u32, n_rows: u64, size: u64, is_below: bool) {
        self.verdict.count(n_rows, size, is_below);
        if is_below {
            self.below.push(set);
        }
    }

    /// Tests the sets that the class makes of sets that were shown before.
    fn judge_known_rows(&mut self) -> Result<(), LedgerError> {
        let mut given = std::mem::take(&mut self.rows);
        given.rows.sort_unstable_by_key(|&(set, row, ..)| (set, row));
        for members in given.rows.chunk_by(|a, b| a.0 == b.0) {
            self.judge_members(members, &given.codes)?;
        }
        given.clear();
        self.rows = given;
        Ok(())
    }

    /// Tests the rows of one set that are in the class.
    fn judge_members(
        &mut self,
        members: &[(u32, u32, u64, usize)],
        codes: &[u32],
    ) -> Result<(), LedgerError> {
        let ledger = &*self.pending.ledger;
        let judge = &mut self.judge;
        let set = members[0].0;
        let child = self.child_of[set as usize];
        let shown = ledger.signatures.visible(set);
        let is_changed = set != shown;
        let is_whole = members.len() as u64 == ledger.n_members(shown);
        let was_below = ledger.below.contains(&shown);
        if is_whole && !is_changed && was_below {
            self.below.push(child);
            return Ok(());
        }
        let n_codes = ledger.needs.n_sensitive as usize;
        for &(_, row, subject, at) in members {
            judge.add(row, subject, &codes[at..at + n_codes], 1)?;
        }
        let size = judge.summary.n_subjects();
        let mut holds = judge.holds_now() && !(is_whole && was_below);
        if !is_whole && holds {
            let mut eras = ledger.signatures.eras(shown, &ledger.releases);
            let current = if is_changed { None } else { eras.pop() };
            holds = judge.held_in(&current.unwrap_or_default(), &ledger.releases)?;
            for (era_idx, era) in eras.iter().enumerate() {
                judge.summary.clear();
                for &(_, row, ..) in members {
                    let kept = ledger.past.get(row).get(era_idx);
                    let kept = kept.ok_or(LedgerError::Facts { row })?;
                    judge.add(row, kept.subject, &kept.codes, 1)?;
                }
                holds = holds && judge.held_in(era, &ledger.releases)?;
            }
        }
        judge.summary.clear();
        self.record(child, members.len() as u64, size, !holds);
        Ok(())
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let ledger = &mut *self.ledger;
        ledger.set_of.truncate(self.n_rows);
        for set in &mut ledger.set_of {
            if *set >= self.first_set && *set != GONE {
                *set = ledger.signatures.parent(*set);
            }
        }
        if self.is_settled {
            for set in self.first_set..ledger.signatures.n_sets() {
                let parent = ledger.signatures.parent(set) as usize;
                if parent != NEW as usize {
                    ledger.n_living[parent] += ledger.n_living[set as usize];
                }
            }
        }
        ledger.signatures.truncate(self.first_set);
        ledger.n_living.truncate(self.first_set as usize);
    }
}
