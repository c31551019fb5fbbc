//! Whole nodes of a tree as classes.
//!
//! Source: Iwuchukwu & Naughton 2007, section 3.1.
//! Departures: the lowest nodes whose siblings all satisfy the requirement are taken, path by path,
//! since the tree is not balanced.
//! Guarantee: every class satisfies the requirement, if all leaves together do.
//! Cost: each row is looked at once for each node above it, and not at all where rows are counted.

use albers_classes::ClassId;
use albers_privacy::Requirement;

use super::leaves::LeafRuns;
use crate::rplus_tree::{Child, RPlusTree};

/// The class of each leaf.
pub fn hierarchical(
    leaves: LeafRuns<'_>,
    tree: &RPlusTree,
    requirement: &Requirement,
    fan_out: usize,
) -> Vec<ClassId> {
    let nodes = tree.nodes(fan_out);
    let mut node_of_split = vec![u32::MAX; tree.splits().len()];
    for (at, node) in nodes.iter().enumerate() {
        node_of_split[node.split as usize] = at as u32;
    }
    let mut classes = vec![ClassId::new(0); tree.n_leaves()];
    let mut pending = vec![tree.root()];
    while let Some(child) = pending.pop() {
        if let Child::Split(split) = child {
            let children = &nodes[node_of_split[split as usize] as usize].children;
            let holds = |&child: &Child| leaves.run_holds(tree.leaves_of(child), requirement);
            if children.iter().all(holds) {
                pending.extend(children);
                continue;
            }
        }
        let own = tree.leaves_of(child);
        classes[own.start as usize..own.end as usize].fill(ClassId::new(own.start));
    }
    classes
}
