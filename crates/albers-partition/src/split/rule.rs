//! Which parts are allowable.

use albers_privacy::{ClassSummary, Requirement};
use albers_table::packed::{RowBlock, RowLayout};

/// What the requirement looks at, row by row: the subject and the sensitive codes.
pub struct Facts {
    /// The subject of each row; empty when subjects are not counted.
    pub subjects: Vec<u32>,
    /// The sensitive codes of each row, row by row.
    pub sensitive: Vec<u32>,
    /// Sensitive codes per row.
    pub n_sensitive: usize,
}

impl Facts {
    /// Adds a row to a summary.
    pub fn add(&self, row_idx: usize, summary: &mut ClassSummary) {
        summary.add(self.subject(row_idx), self.codes(row_idx));
    }

    /// Removes a row from a summary.
    pub fn remove(&self, row_idx: usize, summary: &mut ClassSummary) {
        summary.remove(self.subject(row_idx), self.codes(row_idx));
    }

    /// The facts of some rows, in their order.
    pub fn gather(&self, row_ids: &[u32]) -> Facts {
        let mut sensitive = Vec::with_capacity(row_ids.len() * self.n_sensitive);
        for &row in row_ids {
            sensitive.extend_from_slice(self.codes(row as usize));
        }
        let subjects = if self.subjects.is_empty() {
            Vec::new()
        } else {
            row_ids.iter().map(|&row| self.subjects[row as usize]).collect()
        };
        Facts { subjects, sensitive, n_sensitive: self.n_sensitive }
    }

    /// The subject of a row; 0 when subjects are not counted.
    pub fn subject(&self, row_idx: usize) -> u32 {
        self.subjects.get(row_idx).copied().unwrap_or(0)
    }

    /// The sensitive codes of a row.
    pub fn codes(&self, row_idx: usize) -> &[u32] {
        &self.sensitive[row_idx * self.n_sensitive..(row_idx + 1) * self.n_sensitive]
    }
}

/// Where the facts of packed rows stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactColumns {
    /// The fact that tells the subject.
    pub subject: Option<usize>,
    /// The facts that the requirement looks at, in the order of its sensitive columns.
    pub ruled: Vec<usize>,
}

impl FactColumns {
    /// The facts of some packed rows, in their order.
    pub fn facts_of(
        &self,
        layout: &RowLayout,
        block: &RowBlock,
        rows: impl Iterator<Item = u32> + Clone,
    ) -> Facts {
        let subjects = match self.subject {
            Some(fact) => rows.clone().map(|row| block.fact(layout, row as usize, fact)).collect(),
            None => Vec::new(),
        };
        let mut sensitive = Vec::new();
        if !self.ruled.is_empty() {
            for row in rows {
                let codes = self.ruled.iter();
                sensitive.extend(codes.map(|&fact| block.fact(layout, row as usize, fact)));
            }
        }
        Facts { subjects, sensitive, n_sensitive: self.ruled.len() }
    }
}

/// Which parts are allowable.
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
