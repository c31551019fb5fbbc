//! Points that are too many to be cut at once: divided by a sample of their own, again and again.

use albers_classes::Region;
use rayon::prelude::*;

use super::{Cell, MAX_DEPTH, TableSize};
use crate::plan::{CellFacts, Plan};
use crate::sample::{TupleSample, Tuples, tuple_hash};
use crate::split::majority::Majority;
use crate::split::rule::{Rule, RuleScratch};
use crate::split_tree::{SplitTree, TreeNode};
use crate::top::{Attempt, KeptNode, Top, cells_of_rows};

impl<const L: usize> Cell<L> {
    /// The tree of the points; one leaf if no sample shows how to divide them.
    pub(super) fn divide<const M: usize>(
        &mut self,
        plan: &Plan<'_>,
        facts: CellFacts<'_>,
        region: Option<&Region>,
        depth: usize,
    ) -> SplitTree {
        let n_rows = self.points.len();
        if let Some(n_heavy) = self.put_heavy_first(plan, facts) {
            return self.grow_rest::<M>(plan, facts, (n_heavy, region), depth);
        }
        let tuples = self.tuples(plan, facts, depth);
        let attempts = if depth < MAX_DEPTH { Attempt::all(plan) } else { &[] };
        for &attempt in attempts {
            self.tops.fell_back += u64::from(attempt == Attempt::Cells && plan.trust.is_some());
            let top = Top::of_part::<L, M>(&tuples, n_rows as u64, attempt, plan, region);
            if top.n_cells() == 1 {
                continue;
            }
            let ends = self.sort_by_cell(&top, plan.space.axes.len());
            let holds = |first: usize, end: usize| self.holds(plan, facts, &ends, first, end);
            let kept = top.satisfying(0, |cell| holds(cell, cell + 1), holds);
            self.tops.add_tree(depth, top.n_cells(), KeptNode::n_splits(&kept));
            if kept.len() > 1 {
                return self.grow_kept::<M>(plan, facts, &kept, &ends, depth + 1);
            }
        }
        self.tops.maybe_divisible += 1;
        SplitTree::leaf(n_rows)
    }

    /// Puts the points of the tuple that most of them have before the others, where leaves are brought
    /// together and both satisfy the requirement; tells how many they are.
    fn put_heavy_first(&mut self, plan: &Plan<'_>, facts: CellFacts<'_>) -> Option<usize> {
        plan.portfolio.filter(|own| own.joins_leaves())?;
        let mut majority = Majority::default();
        self.points.iter().for_each(|point| majority.add(point));
        let tuple = majority.finish()?;
        let n_points = self.points.len();
        let is_heavy = |&at: &usize| self.points[at] == tuple;
        let (mut order, rest): (Vec<usize>, Vec<usize>) = (0..n_points).partition(is_heavy);
        let n_heavy = order.len();
        order.extend(rest);
        self.points = order.iter().map(|&at| self.points[at]).collect();
        self.places = order.iter().map(|&at| self.places[at]).collect();
        let holds = |first| self.holds(plan, facts, &[n_heavy, n_points], first, first + 1);
        let is_most = 2 * n_heavy > n_points && n_heavy < n_points;
        (is_most && holds(0) && holds(1)).then_some(n_heavy)
    }

    /// The tree of the points behind the first ones, which are a leaf of their own.
    fn grow_rest<const M: usize>(
        &mut self,
        plan: &Plan<'_>,
        facts: CellFacts<'_>,
        (n_first, region): (usize, Option<&Region>),
        depth: usize,
    ) -> SplitTree {
        let mut rest = Cell::at(self.points.split_off(n_first), self.places.split_off(n_first));
        let below = match rest.points.len() > plan.grain.whole_rows {
            true => rest.divide::<M>(plan, facts, region, depth),
            false => rest.grow_whole::<M>(plan, facts, TableSize::Large, region),
        };
        self.tops.merge(&rest.tops);
        self.points.extend(rest.points);
        self.places.extend(rest.places);
        SplitTree::apart(n_first as u32, below)
    }

    fn tuples(&self, plan: &Plan<'_>, facts: CellFacts<'_>, depth: usize) -> Tuples {
        let seed = plan.sample_seed(depth);
        let n_attributes = plan.space.axes.len();
        let limit = plan.grain.sample_tuples(n_attributes);
        let mut sample = TupleSample::new(limit, n_attributes, facts.is_something());
        let mut own = Vec::new();
        for (point, &place) in self.points.iter().zip(&self.places) {
            let codes = &point[..n_attributes];
            facts.codes(place as usize, &mut own);
            sample.add(tuple_hash(codes, seed), codes, &own, 1);
        }
        sample.finish()
    }

    /// Brings the points of each cell together, and returns where each cell ends.
    fn sort_by_cell(&mut self, top: &Top, n_attributes: usize) -> Vec<usize> {
        let mut codes = Vec::with_capacity(self.points.len() * n_attributes);
        self.points.iter().for_each(|point| codes.extend_from_slice(&point[..n_attributes]));
        let cell_of = cells_of_rows(&codes, n_attributes, &top.steps(), 0);
        let mut order: Vec<u32> = (0..self.points.len() as u32).collect();
        order.sort_by_key(|&place| cell_of[place as usize]);
        self.points = order.iter().map(|&place| self.points[place as usize]).collect();
        self.places = order.iter().map(|&place| self.places[place as usize]).collect();
        let mut ends = vec![0; top.n_cells()];
        cell_of.iter().for_each(|&cell| ends[cell as usize] += 1);
        let mut end = 0;
        ends.iter_mut().for_each(|own| {
            end += *own;
            *own = end;
        });
        ends
    }

    /// Whether the points of a run of cells satisfy the requirement together.
    fn holds(
        &self,
        plan: &Plan<'_>,
        facts: CellFacts<'_>,
        ends: &[usize],
        first: usize,
        end: usize,
    ) -> bool {
        let places = &self.places[start_of(ends, first)..ends[end - 1]];
        match facts.rule {
            None => places.len() >= plan.min_rows(),
            Some(facts) => {
                let rule = Rule { requirement: plan.requirement, facts };
                rule.holds(places.iter().copied(), &mut RuleScratch::default())
            }
        }
    }

    /// The tree whose top is what is left of the sampled one.
    fn grow_kept<const M: usize>(
        &mut self,
        plan: &Plan<'_>,
        facts: CellFacts<'_>,
        kept: &[KeptNode],
        ends: &[usize],
        depth: usize,
    ) -> SplitTree {
        let grown: Vec<Grown<L>> = kept
            .par_iter()
            .map(|node| match node {
                KeptNode::Inner(cut) => Grown::Inner(TreeNode::Cut(*cut)),
                KeptNode::Cell(cell) => {
                    let range = start_of(ends, cell.first)..ends[cell.end - 1];
                    let mut own =
                        Cell::at(self.points[range.clone()].to_vec(), self.places[range].to_vec());
                    let region = cell.region.as_ref();
                    let tree = match own.points.len() > plan.grain.whole_rows {
                        true => own.divide::<M>(plan, facts, region, depth),
                        false => own.grow_whole::<M>(plan, facts, TableSize::Large, region),
                    };
                    Grown::Cell(own, tree)
                }
            })
            .collect();
        self.points.clear();
        self.places.clear();
        let mut tree = SplitTree::default();
        for grown in grown {
            match grown {
                Grown::Inner(cut) => tree.push(cut),
                Grown::Cell(cell, below) => {
                    tree.append(below);
                    self.tops.merge(&cell.tops);
                    self.points.extend(cell.points);
                    self.places.extend(cell.places);
                }
            }
        }
        tree
    }
}

/// What has become of a node of the sampled top.
enum Grown<const L: usize> {
    Inner(TreeNode),
    Cell(Cell<L>, SplitTree),
}

fn start_of(ends: &[usize], cell: usize) -> usize {
    if cell == 0 { 0 } else { ends[cell - 1] }
}
