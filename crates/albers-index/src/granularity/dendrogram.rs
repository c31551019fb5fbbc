//! A dendrogram of leaves: neighbours become clusters, and clusters larger ones, until one is left.
//!
//! ```text
//!               ┌───────┴──────┐          a release of any k is a cut through it: a cluster is
//!           ┌───┴───┐      ┌───┴──┐       divided as long as all its parts satisfy
//!         ┌─┴─┐   ┌─┴─┐  ┌─┼─┐  ┌─┴─┐
//!   rows  5   7   6   5  9 5 6  8   5     and its leaves stand in an order that runs can be cut from
//! ```
//!
//! Source: Anjum & Raschia 2017, sections 4.1 and 4.2; Schikuta & Erhart 1997 (BANG-clustering).
//! Departures: clusters merge in rounds, see `rounds`; nearest is who adds least to the certainty
//! penalty, unless the paper's closest density is asked for. A node is divided where all its parts
//! satisfy; the paper says it the other way round.
//! Guarantee: it is a function of the leaves and their rows. A cut satisfies the requirement in
//! every class, if all leaves together do; one for a stricter requirement is coarser.
//! Cost: a search for each face of a leaf, and a comparison for each pair of neighbours in each round.

mod density;
mod loss;
mod neighbours;
mod rounds;

use std::ops::Range;

use albers_classes::region::NO_CODES;
use albers_classes::{ClassId, Span};
use albers_partition::mondrian::Plan;
use albers_partition::split::extent::{Weigher, has_small_sets};
use albers_privacy::Requirement;
use rayon::prelude::*;

use super::leaves::LeafRuns;
use super::lists::Lists;
use super::walk::{in_order, width_of_both};
use density::Densities;
use loss::Losses;
use neighbours::Regions;
use rounds::{Merges, merge};

/// Which neighbour of a cluster is the nearest. On generated tables the default loses less at every
/// k, a quarter of it or more on eight attributes: densities of leaves with equally many rows follow
/// chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Closeness {
    /// That of closest density.
    Density,
    /// That which adds least to the certainty penalty, by row.
    #[default]
    Loss,
}

/// The leaves of an index, merged until one cluster is left.
///
/// Nodes are numbered: first the leaves, then what is merged of them, the last being the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dendrogram {
    /// What is merged, merge by merge.
    children: Lists,
    /// In which round, merge by merge.
    rounds: Vec<u32>,
    /// The leaves, so that those of any node follow each other.
    order: Vec<u32>,
    /// Where those of each node are in the order.
    runs: Vec<(u32, u32)>,
    /// Rows of each leaf.
    sizes: Vec<u64>,
}

impl Dendrogram {
    /// Merges the leaves of an index.
    pub fn of(leaves: LeafRuns<'_>, plan: &Plan<'_>, closeness: Closeness) -> Dendrogram {
        let walk = in_order(leaves);
        let regions = Regions::new(leaves, &walk);
        let sizes = leaves.sizes();
        let n_rows = walk.iter().map(|&leaf| sizes[leaf as usize]).collect();
        let neighbours = regions.neighbours();
        let merges = match closeness {
            Closeness::Density => merge(Densities::new(n_rows, regions.volumes()), neighbours),
            Closeness::Loss => {
                let (n_attributes, sets) = (leaves.n_attributes(), has_small_sets(plan.space));
                albers_partition::with_lanes!(
                    n_attributes,
                    sets,
                    merge_by_loss((leaves, &walk), plan, n_rows, neighbours)
                )
            }
        };
        Dendrogram::of_merges(merges, &walk, (&leaves.boxes(), plan), sizes)
    }

    /// About what it takes to merge so many leaves.
    pub fn work_bytes(n_leaves: usize, n_attributes: usize) -> usize {
        // Neighbours, found and put in lists twice; regions, boxes of leaves and nodes; the tree.
        const BYTES_PER_ATTRIBUTE: usize = 40 + 8 + 24 + 16;
        const BYTES_PER_LEAF: usize = 96;
        n_leaves * (n_attributes * BYTES_PER_ATTRIBUTE + BYTES_PER_LEAF)
    }

    /// Orders the leaves: of the parts of a node, the nearest to the last leaf comes first.
    fn of_merges(
        merges: Merges,
        walk: &[u32],
        (boxes, plan): (&[Span], &Plan<'_>),
        sizes: Vec<u64>,
    ) -> Dendrogram {
        let n_leaves = walk.len();
        let Merges { children, rounds } = merges;
        let leaf_or_node = |&node: &u32| walk.get(node as usize).copied().unwrap_or(node);
        let mut named = Lists::with_capacity(children.len(), n_leaves + children.len());
        children.iter().for_each(|own| named.push(own.iter().map(leaf_or_node)));
        let n_nodes = n_leaves + named.len();
        let mut dendrogram = Dendrogram {
            children: named,
            rounds,
            order: Vec::with_capacity(n_leaves),
            runs: vec![(0, 0); n_nodes],
            sizes,
        };
        let n_attributes = plan.space.axes.len();
        let boxes = dendrogram.boxes(boxes, n_attributes);
        let of = |node: u32| &boxes[node as usize * n_attributes..][..n_attributes];
        let mut last: Vec<Span> =
            n_nodes.checked_sub(1).map_or(&[][..], |at| of(at as u32)).to_vec();
        let n_below = dendrogram.n_below();
        let mut pending: Vec<u32> =
            n_nodes.checked_sub(1).map(|at| at as u32).into_iter().collect();
        while let Some(node) = pending.pop() {
            let start = dendrogram.order.len() as u32;
            dendrogram.runs[node as usize] = (start, start + n_below[node as usize]);
            if (node as usize) < n_leaves {
                dendrogram.order.push(node);
                last.copy_from_slice(of(node));
                continue;
            }
            let first = pending.len();
            pending.extend(dendrogram.children(node));
            // The nearest is on top. Parts at the same distance stay in the order of the index.
            let distance = |part: &u32| width_of_both(plan, of(*part), &last);
            pending[first..].reverse();
            pending[first..].sort_by(|a, b| distance(b).total_cmp(&distance(a)));
        }
        dendrogram
    }

    /// The box around the rows of each node.
    fn boxes(&self, of_leaves: &[Span], n_attributes: usize) -> Vec<Span> {
        let mut boxes = of_leaves.to_vec();
        for own in self.children.iter() {
            let at = boxes.len();
            boxes.resize(at + n_attributes, NO_CODES);
            let (done, around) = boxes.split_at_mut(at);
            for &child in own {
                let inner = &done[child as usize * n_attributes..][..n_attributes];
                for (all, span) in around.iter_mut().zip(inner) {
                    *all = (all.0.min(span.0), all.1.max(span.1));
                }
            }
        }
        boxes
    }

    /// How many leaves each node has.
    fn n_below(&self) -> Vec<u32> {
        let mut n_below = vec![1; self.n_leaves()];
        for own in self.children.iter() {
            n_below.push(own.iter().map(|&child| n_below[child as usize]).sum());
        }
        n_below
    }

    /// Number of leaves.
    pub fn n_leaves(&self) -> usize {
        self.sizes.len()
    }

    /// The node that holds all leaves, if there are any.
    pub fn root(&self) -> Option<u32> {
        self.runs.len().checked_sub(1).map(|node| node as u32)
    }

    /// The parts of a node; none of a leaf.
    pub fn children(&self, node: u32) -> &[u32] {
        match (node as usize).checked_sub(self.n_leaves()) {
            None => &[],
            Some(merge) => self.children.get(merge),
        }
    }

    /// In which round a node was merged; 0 for a leaf.
    pub fn round(&self, node: u32) -> u32 {
        (node as usize).checked_sub(self.n_leaves()).map_or(0, |merge| self.rounds[merge])
    }

    /// The leaves, so that those of any node follow each other.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Where the leaves of a node are in the order.
    pub fn run(&self, node: u32) -> Range<usize> {
        let (start, end) = self.runs[node as usize];
        start as usize..end as usize
    }

    /// How many rows a leaf has.
    pub fn n_rows(&self, leaf: u32) -> u64 {
        self.sizes[leaf as usize]
    }

    /// The class of each leaf: nodes are divided as long as all their parts satisfy the requirement.
    pub fn classes(&self, leaves: LeafRuns<'_>, requirement: &Requirement) -> Vec<ClassId> {
        let mut classes = vec![ClassId::new(0); self.n_leaves()];
        let mut pending: Vec<u32> = self.root().into_iter().collect();
        while let Some(node) = pending.pop() {
            let parts = self.children(node);
            let holds = |&part: &u32| leaves.hold(&self.order[self.run(part)], requirement);
            if !parts.is_empty() && parts.par_iter().all(holds) {
                pending.extend(parts);
                continue;
            }
            let run = self.run(node);
            let class = ClassId::new(run.start as u32);
            self.order[run].iter().for_each(|&leaf| classes[leaf as usize] = class);
        }
        classes
    }
}

fn merge_by_loss<const L: usize, const M: usize>(
    (leaves, walk): (LeafRuns<'_>, &[u32]),
    plan: &Plan<'_>,
    n_rows: Vec<u64>,
    neighbours: Lists,
) -> Merges {
    let weigher = Weigher::<L, M>::new(plan.space);
    let extents = walk.par_iter().map(|&leaf| leaves.extent(&[leaf])).collect();
    merge(Losses::new(&weigher, n_rows, extents), neighbours)
}

#[cfg(test)]
mod tests;
