//! Which parts are allowable.

use albers_privacy::screen::WideSum;
use albers_privacy::{ClassSummary, Facts, Requirement, Screen, SummaryShape};

use super::place_of;

/// Which parts are allowable.
#[derive(Clone, Copy)]
pub struct Allowance<'a> {
    /// No part with fewer rows can satisfy the requirement.
    pub min_rows: usize,
    /// The whole requirement, unless the number of rows says it all.
    pub rule: Option<Rule<'a>>,
}

impl Allowance<'_> {
    /// Whether a part of so many rows is allowable; `rows` lists them if more than their number
    /// decides.
    pub fn holds<R: Iterator<Item = u32>>(
        &self,
        n_rows: usize,
        scratch: &mut RuleScratch,
        rows: impl FnOnce() -> R,
    ) -> bool {
        n_rows >= self.min_rows && self.rule.as_ref().is_none_or(|rule| rule.holds(rows(), scratch))
    }
}

/// What the parts of a node must satisfy, by the places of its points; nothing if it is a leaf.
pub type Stop<'a> = dyn Fn(&[u32]) -> Option<Allowance<'a>> + Sync + 'a;

/// What is asked of the rows of a part: a requirement itself, or that a sample lets expect it.
pub trait Asked: Sync {
    /// What summaries of rows count.
    fn shape(&self) -> &SummaryShape;

    /// Whether some rows are as asked.
    fn holds(&self, rows: &ClassSummary) -> bool;

    /// What refuses rows sooner that are not as asked.
    fn screens(&self) -> &[Screen] {
        &[]
    }
}

impl Asked for Requirement {
    fn shape(&self) -> &SummaryShape {
        Requirement::shape(self)
    }

    fn holds(&self, rows: &ClassSummary) -> bool {
        Requirement::holds(self, rows)
    }

    fn screens(&self) -> &[Screen] {
        Requirement::screens(self)
    }
}

/// A requirement that looks at more than the number of rows.
#[derive(Clone, Copy)]
pub struct Rule<'a> {
    /// The requirement.
    pub requirement: &'a dyn Asked,
    /// The rows it looks at.
    pub facts: &'a Facts,
}

/// Summaries that are reused from node to node.
#[derive(Default)]
pub struct RuleScratch {
    left: Option<ClassSummary>,
    right: Option<ClassSummary>,
}

impl Rule<'_> {
    /// An empty summary for the rows before a cut and one for the rows after it.
    pub fn sides<'s>(
        &self,
        scratch: &'s mut RuleScratch,
    ) -> (&'s mut ClassSummary, &'s mut ClassSummary) {
        let shape = self.requirement.shape();
        let left = scratch.left.get_or_insert_with(|| ClassSummary::new(shape));
        let right = scratch.right.get_or_insert_with(|| ClassSummary::new(shape));
        left.clear();
        right.clear();
        (left, right)
    }

    /// Whether some rows satisfy the requirement.
    pub fn holds(&self, rows: impl Iterator<Item = u32>, scratch: &mut RuleScratch) -> bool {
        let (summary, _) = self.sides(scratch);
        rows.for_each(|row| self.facts.add(row as usize, summary));
        self.requirement.holds(summary)
    }

    /// Whether a screen refuses one of two sides, without a look at the whole requirement. Of each
    /// row it is told on which side it is.
    pub(crate) fn refuses_a_side(
        &self,
        rows: &(impl Iterator<Item = (u32, bool)> + Clone),
    ) -> bool {
        self.requirement.screens().iter().any(|screen| {
            let mut sides = [WideSum::default(); 2];
            for (row, is_first) in rows.clone() {
                let code = self.facts.codes(row as usize)[screen.column()];
                sides[usize::from(is_first)].add(&screen.share(code));
            }
            sides.iter().any(|side| side.is_refused(screen))
        })
    }

    /// Rules out the cuts of which a screen refuses a side: they cost infinitely much from then on.
    /// A cut is told by the rows before it, in the order of `rows`.
    pub(crate) fn screen_cuts(
        &self,
        rows: &(impl Iterator<Item = u32> + Clone),
        costs: &mut [f32],
    ) {
        for screen in self.requirement.screens() {
            let share_of = |row: u32| screen.share(self.facts.codes(row as usize)[screen.column()]);
            let (mut all, mut before) = (WideSum::default(), WideSum::default());
            rows.clone().for_each(|row| all.add(&share_of(row)));
            for (row, cost) in rows.clone().zip(&mut costs[1..]) {
                before.add(&share_of(row));
                let is_open = cost.is_finite();
                if is_open && (before.is_refused(screen) || all.without(&before).is_refused(screen))
                {
                    *cost = f32::INFINITY;
                }
            }
        }
    }
}

/// The summaries on both sides of a boundary that moves along sorted points.
pub(crate) struct Sweep<'a, 's> {
    rule: &'a Rule<'a>,
    keys: &'a [u64],
    locals: &'a [u32],
    n_left: usize,
    left: &'s mut ClassSummary,
    right: &'s mut ClassSummary,
}

impl<'a, 's> Sweep<'a, 's> {
    /// With so many points on the left.
    pub(crate) fn new(
        rule: &'a Rule<'a>,
        keys: &'a [u64],
        locals: &'a [u32],
        n_left: usize,
        scratch: &'s mut RuleScratch,
    ) -> Sweep<'a, 's> {
        let (left, right) = rule.sides(scratch);
        for (key_idx, &key) in keys.iter().enumerate() {
            let local = locals[place_of(key)] as usize;
            rule.facts.add(local, if key_idx < n_left { left } else { right });
        }
        Sweep { rule, keys, locals, n_left, left, right }
    }

    /// Whether both sides satisfy the requirement with so many points on the left.
    pub(crate) fn holds_at(&mut self, n_left: usize) -> bool {
        let facts = self.rule.facts;
        for key in &self.keys[self.n_left.min(n_left)..self.n_left.max(n_left)] {
            let local = self.locals[place_of(*key)] as usize;
            if n_left > self.n_left {
                facts.remove(local, self.right);
                facts.add(local, self.left);
            } else {
                facts.remove(local, self.left);
                facts.add(local, self.right);
            }
        }
        self.n_left = n_left;
        self.rule.requirement.holds(self.left) && self.rule.requirement.holds(self.right)
    }
}
