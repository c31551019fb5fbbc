//! Which parts are allowable.

use albers_privacy::{ClassSummary, Facts, Requirement};

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

/// A requirement that looks at more than the number of rows.
#[derive(Clone, Copy)]
pub struct Rule<'a> {
    /// The requirement.
    pub requirement: &'a Requirement,
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
}
