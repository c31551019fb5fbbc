//! The cut: classes of leaves that lose as little as possible.
//!
//! Two ways compete, and the leaf scan besides, so that the cut never loses more than that. Small
//! classes come best from merging each leaf with the neighbours that lose least by it. Large ones come
//! best from a walk through the tree that keeps neighbours adjacent, divided into runs: of all divisions
//! into runs that satisfy the requirement, the one with the least loss, found by dynamic programming.

use albers_partition::mondrian::Plan;
use albers_partition::split::extent::Weigher;
use albers_privacy::{ClassSummary, Requirement};
use rayon::prelude::*;

use super::TreeRows;
use super::pieces::{Merger, Piece};
use crate::rplus_tree::Child;

/// A run of the walk is made of about so many pieces; smaller ones are divided into runs first.
const PIECES_PER_RUN: u64 = 24;

/// Walks of more pieces are divided at these marks, so that all threads have work.
const STRETCH_PIECES: usize = 4096;

/// What every run of a walk must pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Test {
    /// It has at least so many rows.
    Rows(u64),
    /// It satisfies the requirement.
    Requirement,
}

/// Finds the classes of one tree.
pub struct Cutter<'a, const L: usize, const M: usize> {
    merger: Merger<'a, L, M>,
    requirement: &'a Requirement,
    plan: &'a Plan<'a>,
}

impl<'a, const L: usize, const M: usize> Cutter<'a, L, M> {
    /// For a tree and a requirement that all its leaves together satisfy.
    pub fn new(rows: TreeRows<'a>, requirement: &'a Requirement, plan: &'a Plan<'a>) -> Self {
        let merger = Merger { rows, weigher: Weigher::new(plan.space) };
        Cutter { merger, requirement, plan }
    }

    /// The class of each leaf; no worse than a given one.
    pub fn classes(&self, given: Vec<u32>) -> Vec<u32> {
        let ways = [self.merged(), self.runs()];
        let given_loss = self.loss_of_classes(&given);
        let best = ways
            .into_iter()
            .flatten()
            .map(|pieces| (pieces.iter().map(|piece| piece.loss).sum::<f64>(), pieces))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        match best {
            Some((loss, pieces)) if loss < given_loss => {
                let mut classes = vec![0; given.len()];
                for piece in &pieces {
                    let class = piece.leaves[0];
                    piece.leaves.iter().for_each(|&leaf| classes[leaf as usize] = class);
                }
                classes
            }
            _ => given,
        }
    }

    fn leaves(&self) -> Vec<Piece<L, M>> {
        let n_leaves = self.merger.rows.tree.n_leaves() as u32;
        (0..n_leaves).into_par_iter().map(|leaf| self.merger.leaf(leaf)).collect()
    }

    fn loss_of_classes(&self, classes: &[u32]) -> f64 {
        let mut by_class: Vec<Option<Piece<L, M>>> = classes.iter().map(|_| None).collect();
        for (leaf, &class) in self.leaves().into_iter().zip(classes) {
            match &mut by_class[class as usize] {
                Some(piece) => self.merger.merge(piece, leaf),
                empty => *empty = Some(leaf),
            }
        }
        by_class.iter().flatten().map(|piece| piece.loss).sum()
    }

    /// Merges in doubling steps: pieces of two leaves, of four, and so on up to the requirement.
    fn merged(&self) -> Option<Vec<Piece<L, M>>> {
        let mut pieces = self.leaves();
        let mut step_rows = 2 * self.plan.min_rows() as u64;
        while step_rows < self.requirement.min_rows() {
            pieces = self.merger.merge_runs(pieces, &|piece| piece.n_rows < step_rows);
            step_rows *= 2;
        }
        pieces =
            self.merger.merge_runs(pieces, &|piece| !self.merger.holds(piece, self.requirement));
        Some(self.merger.merge_rest(pieces, self.requirement))
    }

    /// Runs of the walk, in steps: the runs of one step are the pieces of the next.
    fn runs(&self) -> Option<Vec<Piece<L, M>>> {
        let walk = self.walk();
        let mut pieces: Vec<Piece<L, M>> =
            walk.into_par_iter().map(|leaf| self.merger.leaf(leaf)).collect();
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

    /// The leaves in the order of a walk that enters the nearer side of each split first.
    fn walk(&self) -> Vec<u32> {
        let tree = self.merger.rows.tree;
        let axes = &self.plan.space.axes;
        let mut last: Vec<(u32, u32)> = tree.box_of(tree.root()).to_vec();
        let mut leaves = Vec::with_capacity(tree.n_leaves());
        let mut pending = vec![tree.root()];
        while let Some(child) = pending.pop() {
            let Child::Split(split) = child else {
                if let Child::Leaf(leaf) = child {
                    last.copy_from_slice(tree.box_of(child));
                    leaves.push(leaf);
                }
                continue;
            };
            let split = tree.splits()[split as usize];
            let distance = |side: Child| {
                let sides = tree.box_of(side).iter().zip(&last).zip(axes);
                let union = sides.map(|((own, last), axis)| {
                    axis.weight * axis.width(own.0.min(last.0), own.1.max(last.1))
                });
                union.sum::<f64>()
            };
            let sides = match distance(split.inside) <= distance(split.outside) {
                true => [split.outside, split.inside],
                false => [split.inside, split.outside],
            };
            pending.extend(sides);
        }
        leaves
    }

    /// The division of a walk into runs that all pass a test and together lose least, if there is
    /// any. Long walks are divided stretch by stretch.
    fn divide(&self, pieces: &[Piece<L, M>], test: Test) -> Option<Vec<Piece<L, M>>> {
        let n_stretches = pieces.len().div_ceil(STRETCH_PIECES).max(1);
        let length = pieces.len().div_ceil(n_stretches).max(1);
        let stretches: Vec<&[Piece<L, M>]> = pieces.chunks(length).collect();
        let divided: Vec<Option<Vec<Piece<L, M>>>> =
            stretches.into_par_iter().map(|stretch| self.divide_stretch(stretch, test)).collect();
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
            let mut run = pieces[end - 1].without_leaves();
            // Once a run passes, so do longer ones, but they are not worth more than twice its rows.
            let mut most_rows = None;
            for start in (0..end).rev() {
                if start < end - 1 {
                    self.merger.merge(&mut run, pieces[start].without_leaves());
                }
                if test == Test::Requirement {
                    self.merger.add(&pieces[start], &mut summary);
                }
                if most_rows.is_some_and(|most| run.n_rows >= most) {
                    break;
                }
                if least[start].0 + run.loss >= least[end].0 && most_rows.is_some() {
                    continue;
                }
                if self.passes(&run, &summary, test) {
                    most_rows = most_rows.or(Some(2 * run.n_rows));
                    let loss = least[start].0 + run.loss;
                    if loss < least[end].0 {
                        least[end] = (loss, start);
                    }
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
            let mut run = pieces[end - 1].clone();
            pieces[start..end - 1]
                .iter()
                .for_each(|piece| self.merger.merge(&mut run, piece.clone()));
            runs.push(run);
            end = start;
        }
        runs.reverse();
        Some(runs)
    }

    fn passes(&self, run: &Piece<L, M>, summary: &ClassSummary, test: Test) -> bool {
        match test {
            Test::Rows(least) => run.n_rows >= least,
            Test::Requirement => {
                run.n_rows >= self.requirement.min_rows() && self.requirement.holds(summary)
            }
        }
    }
}

impl<const L: usize, const M: usize> Piece<L, M> {
    /// The same without its leaves, for weighing.
    fn without_leaves(&self) -> Piece<L, M> {
        Piece { leaves: Vec::new(), n_rows: self.n_rows, extent: self.extent, loss: self.loss }
    }
}
