//! Splits the records of a cell to the end, and keeps the splits.
//!
//! Source: Iwuchukwu & Naughton 2007, section 2.1; the policies are those of Mondrian.
//! Departures: a leaf is split many ways at once, not record by record as it overflows.
//! Guarantee: every leaf satisfies the requirement if the cell does, and has no allowable split.
//! Cost: O(records * attributes) per level.

use albers_classes::packed::FactColumns;
use albers_classes::packed::{RowBlock, RowLayout};
use albers_classes::space::AxisKind;
use albers_partition::mondrian::Plan;
use albers_partition::split::apply::apply;
use albers_partition::split::extent::{Extent, Weigher};
use albers_partition::split::rule::{Allowance, Rule};
use albers_partition::split::{Chooser, Point, Scratch, Split};
use albers_privacy::Facts;

/// A node of a tree as it is grown: parents first, what lies inside before what lies outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grown {
    /// A leaf with the next rows.
    Leaf {
        /// How many.
        n_rows: u32,
    },
    /// A split; two children follow.
    Cut {
        /// The attribute that decides.
        axis: u32,
        /// The least code that goes inside.
        lo: u32,
        /// The greatest code that goes inside.
        hi: u32,
    },
}

impl Grown {
    /// A split in two.
    pub fn of(split: &Split) -> Grown {
        match *split {
            Split::Cut { axis, code } => Grown::Cut { axis: axis as u32, lo: 0, hi: code },
            Split::Peel { axis, lo, hi } => Grown::Cut { axis: axis as u32, lo, hi },
            Split::Specialize { .. } => unreachable!("a split into many parts is several cuts"),
        }
    }
}

/// A cell, grown.
#[derive(Default)]
pub struct GrownCell {
    /// Its splits and leaves.
    pub nodes: Vec<Grown>,
    /// Its rows, leaf by leaf.
    pub rows: Vec<u32>,
    /// The boxes of its leaves.
    pub boxes: Vec<(u32, u32)>,
}

/// Where the rows of a cell come from.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// How rows are packed.
    pub layout: &'a RowLayout,
    /// The rows.
    pub block: &'a RowBlock,
    /// Their facts.
    pub facts: &'a FactColumns,
}

/// Splits some rows until no allowable split is left.
pub fn grow_cell<const L: usize, const M: usize>(
    source: Source<'_>,
    rows: &[u32],
    plan: &Plan<'_>,
    may_sample: bool,
) -> GrownCell {
    let Source { layout, block, facts } = source;
    let mut points: Vec<Point<L>> = rows
        .iter()
        .map(|&row| {
            let mut point = [0; L];
            block.codes(layout, row as usize, &mut point);
            point
        })
        .collect();
    let facts = plan.has_rule().then(|| facts.facts_of(layout, block, rows.iter().copied()));
    let chooser = Chooser::<L, M> {
        space: plan.space,
        weigher: Weigher::new(plan.space),
        allowance: Allowance { min_rows: plan.min_rows(), rule: rule_of(plan, facts.as_ref()) },
        policy: plan.policy,
        may_sample,
        arch: pulp::Arch::new(),
    };
    let mut locals: Vec<u32> = (0..rows.len() as u32).collect();
    let nodes = split_to_the_end(&chooser, &mut points, &mut locals);
    GrownCell {
        boxes: boxes_of::<L, M>(&nodes, &points, layout.n_attributes()),
        nodes,
        rows: locals.into_iter().map(|local| rows[local as usize]).collect(),
    }
}

fn rule_of<'f>(plan: &Plan<'f>, facts: Option<&'f Facts>) -> Option<Rule<'f>> {
    facts.map(|facts| Rule { requirement: plan.requirement, facts })
}

/// What is still to be done.
enum Task {
    /// Split these points further.
    Split { start: usize, end: usize },
    /// A cut whose inside is done with, in a chain of cuts.
    Next(Grown),
}

/// The splits of some points; the points are moved so that those of a leaf are neighbours.
fn split_to_the_end<const L: usize, const M: usize>(
    chooser: &Chooser<'_, L, M>,
    points: &mut [Point<L>],
    locals: &mut [u32],
) -> Vec<Grown> {
    let mut nodes = Vec::new();
    let mut scratch = Scratch::default();
    let mut pending = vec![Task::Split { start: 0, end: points.len() }];
    while let Some(task) = pending.pop() {
        let (start, end) = match task {
            Task::Split { start, end } => (start, end),
            Task::Next(cut) => {
                nodes.push(cut);
                continue;
            }
        };
        let (own_points, own_locals) = (&mut points[start..end], &mut locals[start..end]);
        let Some(split) = chooser.choose(own_points, own_locals, &mut scratch) else {
            nodes.push(Grown::Leaf { n_rows: (end - start) as u32 });
            continue;
        };
        let ends = apply(split, chooser, own_points, own_locals, &mut scratch);
        let cuts = cuts_of(&split, chooser, own_points, &ends);
        let part = |at: usize| {
            let from = if at == 0 { 0 } else { ends[at - 1] };
            Task::Split { start: start + from, end: start + ends[at] }
        };
        // The last part is what no cut takes.
        pending.push(part(ends.len() - 1));
        for (at, &cut) in cuts.iter().enumerate().rev() {
            pending.push(part(at));
            if at > 0 {
                pending.push(Task::Next(cut));
            }
        }
        nodes.push(cuts[0]);
    }
    nodes
}

/// A split as a chain of cuts: one for each part but the last.
fn cuts_of<const L: usize, const M: usize>(
    split: &Split,
    chooser: &Chooser<'_, L, M>,
    points: &[Point<L>],
    ends: &[usize],
) -> Vec<Grown> {
    let Split::Specialize { axis, step } = *split else { return vec![Grown::of(split)] };
    let AxisKind::Label(tree) = &chooser.space.axes[axis].kind else {
        unreachable!("only labels are specialized")
    };
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts
        .take(ends.len() - 1)
        .map(|start| {
            let (lo, hi) = tree.part_range(step, points[start][axis]);
            Grown::Cut { axis: axis as u32, lo, hi }
        })
        .collect()
}

/// The boxes of the leaves.
fn boxes_of<const L: usize, const M: usize>(
    nodes: &[Grown],
    points: &[Point<L>],
    n_attributes: usize,
) -> Vec<(u32, u32)> {
    let mut boxes = Vec::new();
    let mut start = 0;
    for node in nodes {
        let Grown::Leaf { n_rows } = *node else { continue };
        let end = start + n_rows as usize;
        let extent = Extent::<L, 0>::of(&points[start..end]);
        boxes.extend((0..n_attributes).map(|axis| (extent.lo[axis], extent.hi[axis])));
        start = end;
    }
    boxes
}
