//! Runs of leaves that satisfy the requirement and lose least: of all divisions of a walk into such
//! runs the best one, found by dynamic programming.
//!
//! Departures: where that loses less, a leaf that alone satisfies the requirement and has many rows is
//! a class of its own before runs are looked for, so that few rows beside it are not shown with all of
//! them. Where runs have very many leaves, some neighbours are brought together first.
//! Guarantee: every run satisfies the requirement, if all leaves together do. Where the number of rows
//! says it all and no neighbours were brought together first, no division of the walk loses less.
//! Cost: each leaf is weighed with those of up to two runs before it. Where requirements look at more
//! than the number of rows, a run may have to be very long to satisfy them: then it is given up after
//! a number of looks that depends on the rows alone.

use std::ops::Range;

use albers_privacy::{ClassSummary, Facts, Requirement};

use crate::cell::Cell;
use crate::plan::{CellFacts, Plan};
use crate::split::Point;
use crate::split::extent::{Extent, Weigher};
use crate::split_tree::SplitTree;

/// Where neighbours are brought together first, a run has about so many pieces.
const PIECES_PER_RUN: usize = 24;

/// So many looks at a piece are worth the best division of all.
const MANY_LOOKS: usize = 1 << 24;

/// So many looks at rows and requirements are made before runs are given up, and so many more for each
/// row.
const MOST_LOOKS: u64 = 1 << 23;
const MOST_LOOKS_PER_ROW: u64 = 64;

/// How many looks it takes to see whether a requirement holds, besides one for each value of a secret.
const LOOKS_PER_TEST: u64 = 4;

/// A leaf of so many times the rows that a class needs is a class of its own.
const HEAVY: usize = 2;

/// Brings leaves together, given by their rows in the order of a walk; moves the points so that those
/// of a class are neighbours. Nothing if it would take too long. `base` is the least rows of a leaf, `class_rows` what classes have about.
pub(super) fn join<const L: usize, const M: usize>(
    cell: &mut Cell<L>,
    leaves: Vec<Range<u32>>,
    plan: &Plan<'_>,
    facts: CellFacts<'_>,
    (base, class_rows): (usize, usize),
) -> Option<SplitTree> {
    let ends = cell.order_by(&leaves);
    drop(leaves);
    let test = Test { requirement: plan.requirement, facts: facts.rule, min_rows: plan.min_rows() };
    let joined = {
        let runs = Runs::<L, M>::of(cell, plan, test);
        runs.joined(0, &ends, (base, class_rows))?
    };
    let Some((heavy, light)) = set_aside(cell, &ends, test) else {
        return Some(SplitTree::flat(&sizes(joined.ends.into_iter())));
    };
    let n_heavy = heavy.len();
    let apart: Vec<Range<u32>> = heavy.into_iter().chain(light).collect();
    let ends_apart = cell.order_by(&apart);
    let runs = Runs::<L, M>::of(cell, plan, test);
    let alone = &ends_apart[..n_heavy];
    let start = alone.last().copied().unwrap_or(0);
    let others = runs.joined(start, &ends_apart[n_heavy..], (base, class_rows));
    if let Some(others) = others
        && runs.loss_of(alone) + others.loss < joined.loss
    {
        let ends = alone.iter().copied().chain(others.ends);
        return Some(SplitTree::flat(&sizes(ends)));
    }
    cell.order_by(&back(&apart, &ends_apart));
    Some(SplitTree::flat(&sizes(joined.ends.into_iter())))
}

/// Leaves that are classes of their own, and the others, by their rows; nothing where there are none
/// of the former, or the others satisfy nothing.
type Aside = (Vec<Range<u32>>, Vec<Range<u32>>);

fn set_aside<const L: usize>(cell: &Cell<L>, ends: &[u32], test: Test<'_>) -> Option<Aside> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let is_heavy = |own: &Range<u32>| {
        own.len() >= HEAVY * test.min_rows && test.holds(&cell.places[as_usize(own)])
    };
    let leaves = starts.zip(ends).map(|(start, &end)| start..end);
    let (heavy, light): Aside = leaves.partition(is_heavy);
    let rest = light.iter().flat_map(|own| &cell.places[as_usize(own)]).copied();
    let is_some = !heavy.is_empty() && (light.is_empty() || test.holds_of(rest));
    is_some.then_some((heavy, light))
}

/// The runs that bring back the order before some runs were put in another.
fn back(runs: &[Range<u32>], ends: &[u32]) -> Vec<Range<u32>> {
    let mut moved: Vec<(u32, Range<u32>)> =
        runs.iter().zip(ends).map(|(run, &end)| (run.start, end - run.len() as u32..end)).collect();
    moved.sort_unstable_by_key(|(start, _)| *start);
    moved.into_iter().map(|(_, now)| now).collect()
}

fn as_usize(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// How many rows lie between each end and the one before it.
fn sizes(ends: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut start = 0;
    ends.map(|end| end - std::mem::replace(&mut start, end)).collect()
}

/// What every class must pass.
#[derive(Clone, Copy)]
struct Test<'a> {
    requirement: &'a Requirement,
    /// What it looks at, where more than the number of rows decides.
    facts: Option<&'a Facts>,
    min_rows: usize,
}

impl Test<'_> {
    fn holds(&self, places: &[u32]) -> bool {
        self.holds_of(places.iter().copied())
    }

    /// How many looks are worth a division.
    fn most_looks(&self, n_points: usize) -> u64 {
        // Where rows are only counted, no run is long.
        let own = MOST_LOOKS + MOST_LOOKS_PER_ROW * n_points as u64;
        self.facts.map_or(u64::MAX, |_| own)
    }

    /// How many looks it takes to add so many rows to others, and to test them together.
    fn looks_at(&self, n_rows: usize, others: Option<&ClassSummary>) -> u64 {
        let n_values = |summary: &ClassSummary| -> u64 {
            let columns = 0..self.requirement.columns().len();
            columns.map(|column| u64::from(summary.histogram(column).n_distinct())).sum()
        };
        n_rows as u64 + LOOKS_PER_TEST + others.map_or(0, n_values)
    }

    fn holds_of(&self, places: impl Iterator<Item = u32>) -> bool {
        let Some(facts) = self.facts else { return places.count() >= self.min_rows };
        let mut summary = ClassSummary::new(self.requirement.shape());
        places.for_each(|place| facts.add(place as usize, &mut summary));
        self.requirement.holds(&summary)
    }
}

/// Rows in the order of a walk.
struct Runs<'a, const L: usize, const M: usize> {
    points: &'a [Point<L>],
    places: &'a [u32],
    weigher: Weigher<'a, L, M>,
    test: Test<'a>,
}

/// Where runs end, and what they lose together.
struct Joined {
    ends: Vec<u32>,
    loss: f64,
}

impl<'a, const L: usize, const M: usize> Runs<'a, L, M> {
    fn of(cell: &'a Cell<L>, plan: &Plan<'a>, test: Test<'a>) -> Runs<'a, L, M> {
        let weigher = Weigher::new(plan.space);
        Runs { points: &cell.points, places: &cell.places, weigher, test }
    }

    /// What the first rows lose, in classes that end there.
    fn loss_of(&self, ends: &[u32]) -> f64 {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let of_class = |(start, &end): (u32, &u32)| self.run_loss(start..end);
        starts.zip(ends).map(of_class).sum()
    }

    fn run_loss(&self, run: Range<u32>) -> f64 {
        let extent = Extent::<L, M>::of(&self.points[as_usize(&run)]);
        run.len() as f64 * f64::from(self.weigher.loss(&extent))
    }

    /// Where the classes end that are made of the leaves from a row on, given where these end; nothing
    /// if that would take too long.
    fn joined(
        &self,
        start: u32,
        leaves: &[u32],
        (base, class_rows): (usize, usize),
    ) -> Option<Joined> {
        if leaves.is_empty() {
            return Some(Joined { ends: Vec::new(), loss: 0.0 });
        }
        let mut pieces = leaves.to_vec();
        // Two classes' rows of leaves are looked at from the end of each.
        if leaves.len().saturating_mul(2 * class_rows / base) > MANY_LOOKS {
            let mut steps = Vec::new();
            let mut step_rows = class_rows / PIECES_PER_RUN;
            while step_rows > 2 * base {
                steps.push(step_rows);
                step_rows /= PIECES_PER_RUN / 3;
            }
            for step_rows in steps.into_iter().rev() {
                let rows = Test { facts: None, min_rows: step_rows, ..self.test };
                pieces = self.divide(start, &pieces, rows).map_or(pieces, |own| own.ends);
            }
        }
        self.divide(start, &pieces, self.test)
    }

    /// The division into runs of pieces that all pass a test and together lose least, by where the
    /// runs end; nothing if there is none, or it would take too long.
    fn divide(&self, start: u32, ends: &[u32], test: Test<'_>) -> Option<Joined> {
        let start_of = |piece: usize| if piece == 0 { start } else { ends[piece - 1] };
        // The least loss of the first so many pieces, and the first piece of the last of their runs.
        let mut least = vec![(f64::INFINITY, 0u32); ends.len() + 1];
        least[0].0 = 0.0;
        let mut summary = test.facts.map(|_| ClassSummary::new(test.requirement.shape()));
        let mut looks = test.most_looks(self.points.len());
        for last in 0..ends.len() {
            summary.iter_mut().for_each(ClassSummary::clear);
            let mut extent = Extent::<L, M>::EMPTY;
            // No run is worth more than twice the rows of the shortest that passes.
            let mut most_rows = usize::MAX;
            for first in (0..=last).rev() {
                let own = start_of(first) as usize..ends[first] as usize;
                let n_rows = (ends[last] - start_of(first)) as usize;
                // The first rows may pass only together, however short a run behind them is.
                if n_rows >= most_rows && least[last + 1].0.is_finite() {
                    break;
                }
                looks = looks.checked_sub(test.looks_at(own.len(), summary.as_ref()))?;
                self.points[own.clone()].iter().for_each(|point| extent.add(point));
                if let Some((summary, facts)) = summary.as_mut().zip(test.facts) {
                    self.places[own].iter().for_each(|&place| facts.add(place as usize, summary));
                }
                let passes = n_rows >= test.min_rows
                    && summary.as_ref().is_none_or(|own| test.requirement.holds(own));
                if !passes {
                    continue;
                }
                most_rows = most_rows.min(2 * n_rows);
                let before = least[first].0;
                if before.is_infinite() {
                    continue;
                }
                let loss = before + n_rows as f64 * f64::from(self.weigher.loss(&extent));
                if loss < least[last + 1].0 {
                    least[last + 1] = (loss, first as u32);
                }
            }
        }
        if least[ends.len()].0.is_infinite() {
            return None;
        }
        let mut runs = Vec::new();
        let mut end = ends.len();
        while end > 0 {
            runs.push(ends[end - 1]);
            end = least[end].1 as usize;
        }
        runs.reverse();
        Some(Joined { ends: runs, loss: least[ends.len()].0 })
    }
}
