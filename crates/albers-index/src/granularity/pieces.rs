//! Leaves that are merged with the neighbours that lose least by it.

use albers_partition::split::Point;
use albers_partition::split::extent::{Extent, Weigher};
use albers_privacy::{ClassSummary, Requirement};
use rayon::prelude::*;

use super::TreeRows;
use crate::rplus_tree::grow::Source;

/// Neighbours among which a piece looks for its partner.
const RUN_PIECES: usize = 128;

/// Leaves that belong together, with what they show.
#[derive(Clone)]
pub struct Piece<const L: usize, const M: usize> {
    /// The leaves, ascending.
    pub leaves: Vec<u32>,
    /// Their rows.
    pub n_rows: u64,
    /// What they show together ...
    pub extent: Extent<L, M>,
    /// ... and what that loses, over all rows.
    pub loss: f64,
}

/// Makes and merges pieces.
pub struct Merger<'a, const L: usize, const M: usize> {
    /// The leaves.
    pub rows: TreeRows<'a>,
    /// The loss of a box.
    pub weigher: Weigher<'a, L, M>,
}

impl<const L: usize, const M: usize> Merger<'_, L, M> {
    /// The piece of one leaf.
    pub fn leaf(&self, leaf: u32) -> Piece<L, M> {
        let Source { layout, block, .. } = self.rows.source;
        let places = self.rows.tree.rows_of(leaf..leaf + 1);
        let n_rows = places.len() as u64;
        let mut extent = Extent::EMPTY;
        for &row in &self.rows.order[places] {
            let mut point: Point<L> = [0; L];
            block.codes(layout, row as usize, &mut point);
            extent.add(&point);
        }
        let loss = n_rows as f64 * f64::from(self.weigher.loss(&extent));
        Piece { leaves: vec![leaf], n_rows, extent, loss }
    }

    /// Whether a piece satisfies a requirement.
    pub fn holds(&self, piece: &Piece<L, M>, requirement: &Requirement) -> bool {
        if let Some(k) = requirement.is_only_row_count() {
            return piece.n_rows >= k;
        }
        let mut summary = ClassSummary::new(requirement.shape());
        self.add(piece, &mut summary);
        requirement.holds(&summary)
    }

    /// Adds the rows of a piece to a summary.
    pub fn add(&self, piece: &Piece<L, M>, summary: &mut ClassSummary) {
        piece.leaves.iter().for_each(|&leaf| self.rows.add(leaf..leaf + 1, summary));
    }

    /// What two pieces would lose together.
    pub fn union_loss(&self, a: &Piece<L, M>, b: &Piece<L, M>) -> f64 {
        let mut extent = a.extent;
        extent.merge(&b.extent);
        (a.n_rows + b.n_rows) as f64 * f64::from(self.weigher.loss(&extent))
    }

    /// What two pieces lose more together than apart.
    fn added_loss(&self, a: &Piece<L, M>, b: &Piece<L, M>) -> f64 {
        self.union_loss(a, b) - a.loss - b.loss
    }

    /// Takes a piece into another.
    pub fn merge(&self, into: &mut Piece<L, M>, from: Piece<L, M>) {
        into.loss = self.union_loss(into, &from);
        into.n_rows += from.n_rows;
        into.extent.merge(&from.extent);
        into.leaves.extend(from.leaves);
        into.leaves.sort_unstable();
    }

    /// Merges the pieces of every run of neighbours.
    pub fn merge_runs(
        &self,
        pieces: Vec<Piece<L, M>>,
        is_short: &(dyn Fn(&Piece<L, M>) -> bool + Sync),
    ) -> Vec<Piece<L, M>> {
        let n_runs = pieces.len().div_ceil(RUN_PIECES).max(1);
        let run_pieces = pieces.len().div_ceil(n_runs).max(1);
        let mut runs: Vec<Vec<Piece<L, M>>> = Vec::with_capacity(n_runs);
        let mut pieces = pieces.into_iter();
        for _ in 0..n_runs {
            runs.push(pieces.by_ref().take(run_pieces).collect());
        }
        let merged: Vec<Vec<Piece<L, M>>> =
            runs.into_par_iter().map(|run| self.merge_run(run, is_short)).collect();
        merged.into_iter().flatten().collect()
    }

    /// Merges the short pieces of a run, cheapest merge first, until none is short or one is left.
    fn merge_run(
        &self,
        run: Vec<Piece<L, M>>,
        is_short: &(dyn Fn(&Piece<L, M>) -> bool + Sync),
    ) -> Vec<Piece<L, M>> {
        let mut slots: Vec<Option<Piece<L, M>>> = run.into_iter().map(Some).collect();
        let mut short: Vec<bool> = slots.iter().flatten().map(is_short).collect();
        let mut best: Vec<(f64, usize)> =
            (0..slots.len()).map(|at| self.partner(&slots, &short, at)).collect();
        loop {
            let cheapest = (0..slots.len())
                .filter(|&at| short[at] && best[at].1 != NOBODY)
                .min_by(|&a, &b| best[a].0.total_cmp(&best[b].0));
            let Some(at) = cheapest else { break };
            let partner = best[at].1;
            let Some(piece) = slots[at].take() else { break };
            short[at] = false;
            if let Some(into) = &mut slots[partner] {
                self.merge(into, piece);
                short[partner] = is_short(into);
            }
            for other in 0..slots.len() {
                if !short[other] {
                    continue;
                }
                if other == partner || best[other].1 == at || best[other].1 == partner {
                    best[other] = self.partner(&slots, &short, other);
                } else if let (Some(own), Some(merged)) = (&slots[other], &slots[partner]) {
                    let added = self.added_loss(own, merged);
                    if added < best[other].0 {
                        best[other] = (added, partner);
                    }
                }
            }
        }
        let mut left: Vec<Piece<L, M>> = slots.into_iter().flatten().collect();
        left.sort_unstable_by_key(|piece| piece.leaves[0]);
        left
    }

    /// The piece that a short one loses least with, and what they lose more together.
    fn partner(&self, slots: &[Option<Piece<L, M>>], short: &[bool], at: usize) -> (f64, usize) {
        let (true, Some(own)) = (short[at], &slots[at]) else { return (f64::INFINITY, NOBODY) };
        let others = slots.iter().enumerate().filter(|(other, _)| *other != at);
        let added = others.filter_map(|(other, piece)| {
            piece.as_ref().map(|piece| (self.added_loss(own, piece), other))
        });
        let least = added.min_by(|a, b| a.0.total_cmp(&b.0));
        least.unwrap_or((f64::INFINITY, NOBODY))
    }

    /// Merges what is short even as the only piece of its run with the pieces beside it.
    pub fn merge_rest(
        &self,
        pieces: Vec<Piece<L, M>>,
        requirement: &Requirement,
    ) -> Vec<Piece<L, M>> {
        let mut done: Vec<Piece<L, M>> = Vec::with_capacity(pieces.len());
        let mut rest: Option<Piece<L, M>> = None;
        for mut piece in pieces {
            if let Some(rest) = rest.take() {
                self.merge(&mut piece, rest);
            }
            match self.holds(&piece, requirement) {
                true => done.push(piece),
                false => rest = Some(piece),
            }
        }
        while let Some(mut last) = rest.take() {
            let Some(before) = done.pop() else {
                done.push(last);
                break;
            };
            self.merge(&mut last, before);
            match self.holds(&last, requirement) {
                true => done.push(last),
                false => rest = Some(last),
            }
        }
        done
    }
}

/// The partner of a piece that has none.
const NOBODY: usize = usize::MAX;
