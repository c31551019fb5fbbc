//! A portfolio: several ways to divide the same points, of which the one that loses least is taken.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 2.2, for cuts; Iwuchukwu & Naughton 2007,
//! section 3.2, for classes that are unions of finer leaves.
//! Departures: the finer leaves are those of a requirement that is weaker than what is asked for, and
//! nobody ever sees them; where leaves are brought together is found by dynamic programming.
//! Guarantee: every class satisfies the requirement, if all points do. A table that is cut at once
//! never loses more than by the first way alone, before rows are left out. What is taken is a function of the points and the
//! plan, whatever the order of the rows, the threads and the memory.
//! Cost: that of all ways, one after another; the points, their places once more, and 100 bytes or so
//! for each. Where a requirement makes it costly to see which runs satisfy it, cuts are all there is.
//!
//! ```text
//!                 ┌─ cut until no cut is allowable ─────────────────────────┐
//!   points ──►  way                                                         ├──► loss ──► the least
//!                 └─ cut to leaves of 1 or 2 rows ──walk──► runs of leaves ─┘
//! ```
//!
//! - `walk`: leaves one after another, so that those that follow each other lie near.
//! - `runs`: the runs of a walk that satisfy the requirement and lose least.

mod runs;
mod walk;

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use albers_classes::space::Space;
use albers_privacy::{Facts, Requirement};
use rayon::prelude::*;

use crate::cell::{Cell, Start, TableSize};
use crate::grain::Grain;
use crate::n_lanes;
use crate::outliers::covered::Covered;
use crate::plan::{CellFacts, Plan};
use crate::sample::Tuples;
use crate::split::{Point, Policy};
use crate::split_tree::SplitTree;

/// One way to divide points into classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// How cuts are chosen.
    pub policy: Policy,
    /// The least rows of the leaves that classes are made of; without it the leaves are the classes.
    pub base: Option<u32>,
}

impl Way {
    /// Whether the boxes of its classes may overlap: leaves that follow each other are brought
    /// together, and others may lie between them.
    pub fn may_overlap(self) -> bool {
        self.base.is_some()
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.base {
            None => write!(f, "mondrian, {} split", self.policy),
            Some(base) => write!(f, "mondrian, {} split to {base}, then cut", self.policy),
        }
    }
}

/// All ways. The first is what others must not lose more than.
const WAYS: [Way; 6] = [
    Way { policy: Policy::Compact, base: None },
    Way { policy: Policy::Median, base: None },
    Way { policy: Policy::Compact, base: Some(1) },
    Way { policy: Policy::Median, base: Some(1) },
    Way { policy: Policy::Compact, base: Some(2) },
    Way { policy: Policy::Median, base: Some(2) },
];

/// A way is taken in the place of one before it only if it loses less by this share at least: no last
/// digit decides whether classes overlap.
const LEAST_GAIN: f64 = 1e-9;

/// Cells in which leaves are brought together have room for so many classes, if they may.
const CELL_CLASSES: usize = 16;

/// A sample has rows for so many classes at least, also where the classes of the table are larger.
const SAMPLED_CLASSES: usize = 256;

/// Ways that are tried on the same points, and what came of it.
#[derive(Debug)]
pub struct Portfolio {
    ways: Vec<Way>,
    found: OnceLock<Found>,
}

/// What came of a portfolio.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What each way loses, in the order in which they were tried: all rows' mean, over the sum of
    /// the weights.
    pub tried: Vec<(Way, f64)>,
    /// The way that was taken.
    pub ran: Way,
    /// Whether a sample was asked, since the table is too large to be cut at once.
    pub is_sampled: bool,
}

impl Portfolio {
    /// All ways, or only those whose classes do not overlap.
    pub fn new(is_disjoint: bool) -> Portfolio {
        let suits = |way: &&Way| !(is_disjoint && way.may_overlap());
        Portfolio { ways: WAYS.iter().filter(suits).copied().collect(), found: OnceLock::new() }
    }

    /// About how much a row takes while ways are tried, beside what it takes without.
    pub fn row_bytes(&self, n_attributes: usize) -> usize {
        let is_joined = self.ways.iter().any(|way| way.may_overlap());
        // Its place in the best way; two nodes of a finer tree and of the walk through it, where a
        // run starts that ends with it, and its point once more.
        let joined_bytes = 112 + size_of::<u32>() * n_lanes(n_attributes);
        2 * size_of::<u32>() + if is_joined { joined_bytes } else { 0 }
    }

    /// What came of it; nothing before points were divided.
    pub fn found(&self) -> Option<&Found> {
        self.found.get()
    }

    /// Decides for a table that is not cut at once, on a sample of it, how its first cuts are chosen
    /// and how large its cells are.
    pub fn decide<const L: usize, const M: usize>(
        &self,
        tuples: &Tuples,
        plan: &Plan<'_>,
    ) -> (Policy, Grain) {
        let Way { policy, base } = self.way_of::<L, M>(tuples, plan);
        let Grain { whole_rows, cell_rows, .. } = plan.grain;
        let room = plan.min_rows().saturating_mul(CELL_CLASSES).clamp(cell_rows, whole_rows);
        let cell_rows = if base.is_some() { room } else { cell_rows };
        (policy, Grain { cell_rows, ..plan.grain })
    }

    /// Whether a large table has classes that leaves are brought together for: then a tuple that has
    /// most rows of a cell is taken out of it first, and is no reason for a cut.
    pub fn joins_leaves(&self) -> bool {
        self.found.get().is_some_and(|own| own.is_sampled && own.ran.may_overlap())
    }

    /// The rows of a sample are only counted: what else the requirement looks at has no say.
    fn way_of<const L: usize, const M: usize>(&self, tuples: &Tuples, plan: &Plan<'_>) -> Way {
        let n_points = plan.grain.whole_rows / 2;
        let min_rows = plan.min_rows().min((n_points / SAMPLED_CLASSES).max(1));
        let mut cell = Cell::new(tuples.capped::<L>(2 * min_rows, n_points));
        let requirement = counting(min_rows as u64);
        let facts = no_facts();
        let plan = Plan { requirement: &requirement, facts: &facts, workload: None, ..*plan };
        if cell.points.len() >= min_rows {
            self.grow_all::<L, M>(&mut cell, &plan, CellFacts::default(), true);
        }
        let nothing_tried = || Found { tried: Vec::new(), ran: self.ways[0], is_sampled: true };
        self.found.get_or_init(nothing_tried).ran
    }

    /// Splits points that are cut at once by the way that loses least, or by the one that was
    /// decided on: of a sample, or of the same points with those that are left out.
    pub(crate) fn grow<const L: usize, const M: usize>(
        &self,
        cell: &mut Cell<L>,
        plan: &Plan<'_>,
        facts: CellFacts<'_>,
        table: TableSize,
    ) -> SplitTree {
        match (table, self.found.get()) {
            (_, Some(found)) => grow_by::<L, M>(found.ran, cell, plan, facts, table),
            (TableSize::Large, None) => unreachable!("a large table is decided by its sample"),
            (TableSize::Small, None) => self.grow_all::<L, M>(cell, plan, facts, false),
        }
    }

    /// Splits points in all ways, and keeps the one that loses least.
    fn grow_all<const L: usize, const M: usize>(
        &self,
        cell: &mut Cell<L>,
        plan: &Plan<'_>,
        facts: CellFacts<'_>,
        is_sampled: bool,
    ) -> SplitTree {
        let weights: f64 = plan.space.axes.iter().map(|axis| axis.weight).sum();
        let whole = (cell.points.len() as f64 * weights).max(f64::MIN_POSITIVE);
        let mut tried = Vec::with_capacity(self.ways.len());
        let mut best: Option<Best> = None;
        let mut direct: Vec<(Policy, Direct)> = Vec::new();
        for &way in &self.ways {
            let plan = &Plan { policy: way.policy, ..*plan };
            let known = direct.iter().find(|(policy, _)| *policy == way.policy).map(|own| own.1);
            let tree = match way.base {
                None => Some(cell.grow_below::<M>(plan, facts, TableSize::Small, Start::default())),
                Some(base) => {
                    join_leaves::<L, M>(cell, plan, facts, TableSize::Small, (base, known))
                }
            };
            let Some(tree) = tree else {
                // Where no leaves can be brought together, cuts are what the way comes to.
                tried.extend(known.map(|own| (way, own.loss / whole)));
                continue;
            };
            let loss = loss(&tree, &cell.points, plan.space);
            if way.base.is_none() {
                direct.push((way.policy, Direct { loss, n_classes: tree.leaf_rows().count() }));
            }
            tried.push((way, loss / whole));
            if best.as_ref().is_none_or(|best| loss < best.loss * (1.0 - LEAST_GAIN)) {
                best = Some(Best { way, loss, tree, places: cell.places.clone() });
            }
        }
        let Best { way: ran, tree, places, .. } = best.expect("there is a way");
        cell.order_as(places);
        let _ = self.found.set(Found { tried, ran, is_sampled });
        tree
    }
}

/// The way that loses least so far, and what it comes to.
struct Best {
    way: Way,
    loss: f64,
    tree: SplitTree,
    places: Vec<u32>,
}

/// A requirement of so many rows, and nothing else.
fn counting(min_rows: u64) -> Requirement {
    Requirement::new(min_rows.max(1), false, Vec::new(), Vec::new()).expect("one row or more")
}

fn no_facts() -> Facts {
    Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 }
}

/// What cuts by a policy come to.
#[derive(Clone, Copy)]
struct Direct {
    loss: f64,
    n_classes: usize,
}

/// Splits points in one way. The leaves of the tree are the classes; where they are unions of finer
/// leaves, no cut tells them apart.
fn grow_by<const L: usize, const M: usize>(
    way: Way,
    cell: &mut Cell<L>,
    plan: &Plan<'_>,
    facts: CellFacts<'_>,
    table: TableSize,
) -> SplitTree {
    let plan = &Plan { policy: way.policy, ..*plan };
    let direct = |cell: &mut Cell<L>| cell.grow_below::<M>(plan, facts, table, Start::default());
    let Some(base) = way.base else {
        return direct(cell);
    };
    if !plan.has_rule() {
        let joined = join_leaves::<L, M>(cell, plan, facts, table, (base, None));
        return joined.unwrap_or_else(|| direct(cell));
    }
    let tree = direct(cell);
    let own =
        Direct { loss: loss(&tree, &cell.points, plan.space), n_classes: tree.leaf_rows().count() };
    let places = cell.places.clone();
    match join_leaves::<L, M>(cell, plan, facts, table, (base, Some(own))) {
        Some(joined) if loss(&joined, &cell.points, plan.space) < own.loss => joined,
        _ => {
            cell.order_as(places);
            tree
        }
    }
}

/// Splits points to leaves of so many rows, and brings these together; nothing where that would take
/// too long. How large classes get is told by those of cuts, where more than the number of rows decides.
fn join_leaves<const L: usize, const M: usize>(
    cell: &mut Cell<L>,
    plan: &Plan<'_>,
    facts: CellFacts<'_>,
    table: TableSize,
    (base, direct): (u32, Option<Direct>),
) -> Option<SplitTree> {
    let (requirement, no_facts) = (counting(u64::from(base)), no_facts());
    let finer = Plan { requirement: &requirement, facts: &no_facts, ..*plan };
    let tree = cell.grow_below::<M>(&finer, CellFacts::default(), table, Start::default());
    let leaves = walk::nearer_first(&tree, &cell.points, plan.space);
    drop(tree);
    let class_rows = match direct.filter(|_| plan.has_rule()) {
        Some(direct) => cell.points.len() / direct.n_classes.max(1),
        None => plan.min_rows(),
    };
    runs::join::<L, M>(cell, leaves, plan, facts, (base as usize, class_rows))
}

/// What all points lose, class by class as they will be shown.
fn loss<const L: usize>(tree: &SplitTree, points: &[Point<L>], space: &Space) -> f64 {
    let n_attributes = space.axes.len();
    let ranges: Vec<Range<usize>> = tree
        .leaf_rows()
        .scan(0, |end, n_rows| {
            let start = std::mem::replace(end, *end + n_rows as usize);
            Some(start..*end)
        })
        .collect();
    let of_class = |own: &Range<usize>| {
        let rows = points[own.clone()].iter().map(|point| &point[..n_attributes]);
        own.len() as f64 * Covered::of(space, rows).loss(space)
    };
    // Added in the order of the classes, whatever the threads.
    let losses: Vec<f64> = ranges.par_iter().map(of_class).collect();
    losses.iter().sum()
}
