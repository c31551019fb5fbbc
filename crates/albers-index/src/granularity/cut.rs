//! The cut: runs of units that lose as little as possible; a unit is a leaf, or a class of the next
//! finer release.
//!
//! A walk through the index keeps neighbours adjacent; a unit is met where its first leaf is. Of all
//! divisions of the walk into runs that satisfy the requirement, the one that loses least is found by
//! dynamic programming.
//!
//! Source: Iwuchukwu & Naughton 2007, section 3.2 (the leaf scan that it improves on).
//! Departures: the walk, and the choice of where runs end; long walks are divided in stretches.
//! Guarantee: that of the leaf scan, and never more loss: where runs lose more, it is taken.
//! Cost: each unit is weighed against the units of up to two runs before it, at most 50 or so.
//!
//! ```text
//!   walk of units    5 7 6 5 9 5 6 8 5 ...       rows of each
//!   runs for k = 20  |-----| |-----| |-...       each between k and about 2 k rows
//! ```

use albers_classes::ClassId;
use albers_partition::mondrian::Plan;
use albers_partition::split::extent::{Extent, Weigher};
use albers_privacy::{ClassSummary, Requirement};
use rayon::prelude::*;

use super::leaves::LeafRuns;
use super::units::Units;

/// A run is made of about so many pieces; smaller ones are divided into runs first.
const PIECES_PER_RUN: u64 = 24;

/// Walks of more pieces are divided at these marks, so that all threads have work.
const STRETCH_PIECES: usize = 4096;

/// What every run must pass.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// It has at least so many rows.
    Rows(u64),
    /// It satisfies the requirement.
    Requirement,
    /// It is made of so many pieces, neither fewer nor more.
    Pieces {
        /// The fewest.
        least: usize,
        /// The most, which leave room for any number of pieces: at least `2 * least - 1`.
        most: usize,
    },
}

/// Neighbours in the walk.
#[derive(Clone, Copy)]
pub struct Piece<const L: usize, const M: usize> {
    /// The first unit, by its place in the walk.
    pub start: u32,
    /// The first unit after it.
    pub end: u32,
    n_rows: u64,
    extent: Extent<L, M>,
}

/// Finds the classes of one index.
pub struct Cutter<'a, const L: usize, const M: usize> {
    leaves: LeafRuns<'a>,
    units: &'a Units,
    weigher: Weigher<'a, L, M>,
    requirement: &'a Requirement,
    plan: &'a Plan<'a>,
    /// The units in the order of the walk.
    walk: &'a [u32],
}

impl<'a, const L: usize, const M: usize> Cutter<'a, L, M> {
    /// For a requirement that all leaves together satisfy, and the units in the order of a walk.
    pub fn new(
        leaves: LeafRuns<'a>,
        units: &'a Units,
        walk: &'a [u32],
        requirement: &'a Requirement,
        plan: &'a Plan<'a>,
    ) -> Self {
        Cutter { leaves, units, weigher: Weigher::new(plan.space), requirement, plan, walk }
    }

    /// The class of each unit; no worse than a given one, which numbers its classes from 0.
    pub fn classes(&self, given: Vec<ClassId>) -> Vec<ClassId> {
        let units = self.units();
        let given_loss = self.loss_of_classes(&units, &given);
        let Some(runs) = self.runs(units) else { return given };
        if runs.iter().map(|run| self.loss(run)).sum::<f64>() >= given_loss {
            return given;
        }
        let mut classes = given;
        for (class, run) in ClassId::first(runs.len()).zip(&runs) {
            let units = &self.walk[run.start as usize..run.end as usize];
            units.iter().for_each(|&unit| classes[unit as usize] = class);
        }
        classes
    }

    /// Each unit of the walk as a piece.
    pub fn units(&self) -> Vec<Piece<L, M>> {
        (0..self.walk.len() as u32).into_par_iter().map(|place| self.unit(place)).collect()
    }

    fn unit(&self, place: u32) -> Piece<L, M> {
        let unit = self.units.get(self.walk[place as usize] as usize);
        let (n_rows, extent) = (self.leaves.count(unit), self.leaves.extent(unit));
        Piece { start: place, end: place + 1, n_rows, extent }
    }

    #[inline]
    fn loss(&self, piece: &Piece<L, M>) -> f64 {
        piece.n_rows as f64 * f64::from(self.weigher.loss(&piece.extent))
    }

    fn loss_of_classes(&self, units: &[Piece<L, M>], classes: &[ClassId]) -> f64 {
        let n_classes = classes.iter().max().map_or(0, |class| class.index() + 1);
        let empty = Piece { start: 0, end: 0, n_rows: 0, extent: Extent::EMPTY };
        let mut by_class = vec![empty; n_classes];
        for (piece, &unit) in units.iter().zip(self.walk) {
            by_class[classes[unit as usize].index()].take(piece);
        }
        let filled = by_class.iter().filter(|piece| piece.n_rows > 0);
        filled.map(|piece| self.loss(piece)).sum()
    }

    /// Runs of the walk, in steps: the runs of one step are the pieces of the next.
    fn runs(&self, units: Vec<Piece<L, M>>) -> Option<Vec<Piece<L, M>>> {
        let mut pieces = units;
        let min_rows = self.plan.min_rows() as u64;
        let mut steps = Vec::new();
        let mut step_rows = self.requirement.min_rows() / PIECES_PER_RUN;
        while step_rows > 2 * min_rows {
            steps.push(step_rows);
            step_rows /= PIECES_PER_RUN / 3;
        }
        for step_rows in steps.into_iter().rev() {
            pieces = self.divide(&pieces, Test::Rows(step_rows))?;
        }
        match self.requirement.is_only_row_count() {
            Some(k) => self.divide(&pieces, Test::Rows(k)),
            None => self.divide(&pieces, Test::Requirement),
        }
    }

    /// The division of a walk into runs that all pass a test and together lose least, if there is
    /// any. Long walks are divided stretch by stretch.
    pub fn divide(&self, pieces: &[Piece<L, M>], test: Test) -> Option<Vec<Piece<L, M>>> {
        let n_stretches = pieces.len().div_ceil(STRETCH_PIECES).max(1);
        let start_of = |stretch: usize| stretch * pieces.len() / n_stretches;
        let divided: Vec<Option<Vec<Piece<L, M>>>> = (0..n_stretches)
            .into_par_iter()
            .map(|at| self.divide_stretch(&pieces[start_of(at)..start_of(at + 1)], test))
            .collect();
        let runs: Option<Vec<Vec<Piece<L, M>>>> = divided.into_iter().collect();
        Some(runs?.into_iter().flatten().collect())
    }

    fn divide_stretch(&self, pieces: &[Piece<L, M>], test: Test) -> Option<Vec<Piece<L, M>>> {
        // The least loss of the first so many pieces, and where the last of their runs starts.
        let mut least = vec![(f64::INFINITY, 0); pieces.len() + 1];
        least[0] = (0.0, 0);
        let mut summary = ClassSummary::new(self.requirement.shape());
        for end in 1..=pieces.len() {
            summary.clear();
            let mut run = pieces[end - 1];
            // Once a run passes, so do longer ones, but they are not worth more than twice its
            // rows.
            let mut most_rows = u64::MAX;
            for start in (0..end).rev() {
                if start < end - 1 {
                    run.take(&pieces[start]);
                }
                if run.n_rows >= most_rows || test.is_beyond(end - start) {
                    break;
                }
                if test == Test::Requirement {
                    self.add(&pieces[start], &mut summary);
                }
                if !self.passes((&run, end - start), &summary, test) {
                    continue;
                }
                if most_rows == u64::MAX && test.counts_rows() {
                    most_rows = 2 * run.n_rows;
                }
                let loss = least[start].0 + self.loss(&run);
                if loss < least[end].0 {
                    least[end] = (loss, start);
                }
            }
        }
        if least[pieces.len()].0.is_infinite() {
            return None;
        }
        let mut runs = Vec::new();
        let mut end = pieces.len();
        while end > 0 {
            let start = least[end].1;
            let mut run = pieces[start];
            pieces[start + 1..end].iter().for_each(|piece| run.take(piece));
            runs.push(run);
            end = start;
        }
        runs.reverse();
        Some(runs)
    }

    /// Adds the rows of a piece to a summary.
    fn add(&self, piece: &Piece<L, M>, summary: &mut ClassSummary) {
        for &unit in &self.walk[piece.start as usize..piece.end as usize] {
            self.leaves.add_leaves(self.units.get(unit as usize), summary);
        }
    }

    fn passes(
        &self,
        (run, n_pieces): (&Piece<L, M>, usize),
        summary: &ClassSummary,
        test: Test,
    ) -> bool {
        match test {
            Test::Pieces { least, most } => (least..=most).contains(&n_pieces),
            Test::Rows(least) => run.n_rows >= least,
            Test::Requirement => {
                run.n_rows >= self.requirement.min_rows() && self.requirement.holds(summary)
            }
        }
    }
}

impl Test {
    /// Whether runs of so many pieces are too long, and all longer ones too.
    fn is_beyond(self, n_pieces: usize) -> bool {
        matches!(self, Test::Pieces { most, .. } if n_pieces > most)
    }

    /// Whether a run of enough rows passes, so that longer ones need not be looked at.
    fn counts_rows(self) -> bool {
        !matches!(self, Test::Pieces { .. })
    }
}

impl<const L: usize, const M: usize> Piece<L, M> {
    /// Takes in another piece.
    #[inline]
    fn take(&mut self, other: &Piece<L, M>) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.n_rows += other.n_rows;
        self.extent.merge(&other.extent);
    }
}
