//! The leaves of an index, one after another, so that those that follow each other lie near.

use albers_classes::Span;
use albers_partition::mondrian::Plan;

use super::leaves::{Index, LeafRuns};
use super::units::Units;
use crate::bang_file::BangFile;
use crate::rplus_tree::{Child, RPlusTree};

/// How wide the box around two boxes is, over all attributes and by their weights.
pub fn width_of_both(plan: &Plan<'_>, a: &[Span], b: &[Span]) -> f64 {
    let sides = a.iter().zip(b).zip(&plan.space.axes);
    let both = sides.map(|((a, b), axis)| {
        let (lo, hi) = (a.0.min(b.0), a.1.max(b.1));
        axis.weight * axis.width(lo.get(), hi.get())
    });
    both.sum::<f64>()
}

/// The units in the order in which a walk over the leaves meets them.
pub fn units_of(walk: impl IntoIterator<Item = u32>, units: &Units) -> Vec<u32> {
    let mut is_met = vec![false; units.len()];
    let met = walk.into_iter().map(|leaf| units.of_leaf(leaf));
    met.filter(|&unit| !std::mem::replace(&mut is_met[unit as usize], true)).collect()
}

/// The leaves as the index has them: in tree order, or in the order of regions.
pub fn in_order(leaves: LeafRuns<'_>) -> Vec<u32> {
    match leaves.index {
        Index::Tree(tree) => (0..tree.n_leaves() as u32).collect(),
        Index::Blocks(file) => by_region(file),
    }
}

/// The leaves in the order of a walk: the nearer side of each split first, or by region.
pub fn nearer_first(leaves: LeafRuns<'_>, plan: &Plan<'_>) -> Vec<u32> {
    match leaves.index {
        Index::Tree(tree) => through_tree(tree, plan),
        Index::Blocks(file) => by_region(file),
    }
}

fn through_tree(tree: &RPlusTree, plan: &Plan<'_>) -> Vec<u32> {
    let mut last: Vec<Span> = tree.box_of(tree.root()).to_vec();
    let mut leaves = Vec::with_capacity(tree.n_leaves());
    let mut pending = vec![tree.root()];
    while let Some(child) = pending.pop() {
        let split = match child {
            Child::Split(split) => tree.splits()[split as usize],
            Child::Leaf(leaf) => {
                last.copy_from_slice(tree.box_of(child));
                leaves.push(leaf);
                continue;
            }
        };
        let distance = |side: Child| width_of_both(plan, tree.box_of(side), &last);
        let sides = match distance(split.inside) <= distance(split.outside) {
            true => [split.outside, split.inside],
            false => [split.inside, split.outside],
        };
        pending.extend(sides);
    }
    leaves
}

/// The blocks in the order of their regions: what lies in a region follows it.
pub fn by_region(file: &BangFile) -> Vec<u32> {
    let nesting = file.nesting();
    let all = 0..file.n_blocks() as u32;
    let mut roots: Vec<u32> = all.filter(|&block| nesting.parent(block).is_none()).collect();
    roots.sort_by_cached_key(|&block| file.region_box(block));
    roots.reverse();
    let mut pending = roots;
    let mut walk = Vec::with_capacity(file.n_blocks());
    while let Some(block) = pending.pop() {
        walk.push(block);
        pending.extend(nesting.children(block).iter().rev());
    }
    walk
}
