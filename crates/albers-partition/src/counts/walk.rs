//! The codes of an attribute in their order: the sides of a cut, and the parts of a label.

use std::ops::Range;

use albers_classes::space::{LabelTree, Specialization};
use albers_privacy::{ClassSummary, Requirement};

use super::CountPlan;
use super::group::{AxisCounts, Run};
use crate::split::kept_of;

/// The summaries on both sides of a cut that moves along the codes of an attribute.
pub(super) struct Sweep<'a> {
    rule: &'a Requirement,
    axis: &'a AxisCounts,
    /// Codes on the left.
    n_left: usize,
    left: ClassSummary,
    right: ClassSummary,
}

impl<'a> Sweep<'a> {
    /// With so many codes on the left.
    pub(super) fn new(rule: &'a Requirement, axis: &'a AxisCounts, n_left: usize) -> Sweep<'a> {
        let mut left = ClassSummary::new(rule.shape());
        let mut right = left.clone();
        for (place, &run) in axis.runs.iter().enumerate() {
            let side = if place < n_left { &mut left } else { &mut right };
            side.add_counts(u64::from(run.n_rows), axis.sensitive(run));
        }
        Sweep { rule, axis, n_left, left, right }
    }

    /// Whether both sides satisfy the requirement with so many codes on the left.
    pub(super) fn holds_at(&mut self, n_left: usize) -> bool {
        let (axis, is_more) = (self.axis, n_left > self.n_left);
        let (to, from) = match is_more {
            true => (&mut self.left, &mut self.right),
            false => (&mut self.right, &mut self.left),
        };
        for &run in &axis.runs[self.n_left.min(n_left)..self.n_left.max(n_left)] {
            from.remove_counts(u64::from(run.n_rows), axis.sensitive(run));
            to.add_counts(u64::from(run.n_rows), axis.sensitive(run));
        }
        self.n_left = n_left;
        self.rule.holds(&self.left) && self.rule.holds(&self.right)
    }
}

/// The rows of one part of a specialization.
pub(super) struct Part {
    /// The codes that it has by its hierarchy.
    pub(super) range: (u32, u32),
    /// Those that occur, by their places.
    pub(super) runs: Range<usize>,
    /// Its rows.
    pub(super) n_rows: usize,
}

/// The parts of a specialization, in code order.
pub(super) fn parts_of(tree: &LabelTree, step: Specialization, runs: &[Run]) -> Vec<Part> {
    let part_of = |run: &Run| tree.part_of(step, run.code);
    let mut start = 0;
    let part = |own: &[Run]| {
        let runs = start..start + own.len();
        start = runs.end;
        let n_rows = own.iter().map(|run| run.n_rows as usize).sum();
        Part { range: tree.part_range(step, own[0].code), runs, n_rows }
    };
    runs.chunk_by(|a, b| part_of(a) == part_of(b)).map(part).collect()
}

/// The step down that the codes of a label allow.
pub(super) fn step_of(tree: &LabelTree, runs: &[Run]) -> Specialization {
    tree.specialization(runs.iter().map(|run| run.code))
}

/// Tells which parts of an attribute are allowable.
pub(super) struct Allowed<'a> {
    plan: &'a CountPlan<'a>,
    axis: &'a AxisCounts,
    summary: Option<ClassSummary>,
}

impl<'a> Allowed<'a> {
    pub(super) fn new(plan: &'a CountPlan<'a>, axis: &'a AxisCounts) -> Allowed<'a> {
        let summary = plan.rule.map(|rule| ClassSummary::new(rule.shape()));
        Allowed { plan, axis, summary }
    }

    /// Whether some parts satisfy the requirement together.
    pub(super) fn holds<'p>(&mut self, parts: impl Iterator<Item = &'p Part> + Clone) -> bool {
        let n_rows: usize = parts.clone().map(|part| part.n_rows).sum();
        if n_rows < self.plan.min_rows {
            return false;
        }
        let Some((rule, summary)) = self.plan.rule.zip(self.summary.as_mut()) else { return true };
        summary.clear();
        for &run in parts.flat_map(|part| &self.axis.runs[part.runs.clone()]) {
            summary.add_counts(u64::from(run.n_rows), self.axis.sensitive(run));
        }
        rule.holds(summary)
    }

    /// Which parts of a specialization stand alone.
    pub(super) fn kept(&mut self, parts: &[Part]) -> Option<Vec<bool>> {
        let part_rows: Vec<usize> = parts.iter().map(|part| part.n_rows).collect();
        kept_of(&part_rows, |some| self.holds(some.iter().map(|&at| &parts[at])))
    }
}
