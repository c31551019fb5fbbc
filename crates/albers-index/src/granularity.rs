//! Coarser releases from the leaves of an index built once.
//!
//! Source: Iwuchukwu & Naughton 2007, section 3.
//! Departures: `hierarchical` takes the lowest nodes whose siblings all satisfy the requirement,
//! path by path, since the index is not balanced; `cut` is not in the paper, see its module.
//! Guarantee: classes are unions of whole leaves, so every record stays k-bound across all
//! granularities; every class satisfies the requirement, if all leaves together do.
//! Cost: one pass over the leaves; `cut` weighs each against its neighbours, on all threads.

mod cut;

use albers_partition::mondrian::Plan;
use albers_partition::split::extent::has_small_sets;
use albers_privacy::{ClassSummary, Requirement};

use crate::rplus_tree::grow::Source;
use crate::rplus_tree::{Child, RPlusTree};

/// How leaves are brought together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Granularity {
    /// The runs of a walk through the tree that lose least.
    #[default]
    Cut,
    /// Leaves in tree order, a class closed as soon as it satisfies the requirement.
    LeafScan,
    /// The lowest nodes of the index that satisfy it together with all their siblings.
    Hierarchical,
}

albers_storage::choices!(Granularity {
    Cut: "cut", "The runs of neighbouring leaves that lose least";
    LeafScan: "leaf-scan", "Leaves one after another, until they are enough";
    Hierarchical: "hierarchical", "Whole nodes of the index";
});

/// The most children of a node of the index, unless a test wants a deeper tree.
pub const FAN_OUT: usize = 16;

/// A tree with its rows.
#[derive(Clone, Copy)]
pub struct TreeRows<'a> {
    /// The tree.
    pub tree: &'a RPlusTree,
    /// Where its rows are packed.
    pub source: Source<'a>,
    /// The rows in tree order.
    pub order: &'a [u32],
}

impl TreeRows<'_> {
    /// Adds the rows of some neighbouring leaves to a summary.
    fn add(&self, leaves: std::ops::Range<u32>, summary: &mut ClassSummary) {
        let Source { layout, block, facts } = self.source;
        let rows = self.order[self.tree.rows_of(leaves)].iter().copied();
        let n_rows = rows.len();
        let facts = facts.facts_of(layout, block, rows);
        (0..n_rows).for_each(|row| facts.add(row, summary));
    }
}

/// Which leaves belong together: the number of each leaf's class, numbered by their first leaves.
/// All leaves together must satisfy the requirement. Nodes have at most `fan_out` children, see
/// [`FAN_OUT`].
pub fn classes(
    rows: TreeRows<'_>,
    granularity: Granularity,
    fan_out: usize,
    requirement: &Requirement,
    plan: &Plan<'_>,
) -> Vec<u32> {
    let classes = match granularity {
        Granularity::LeafScan => leaf_scan(rows, requirement),
        Granularity::Hierarchical => hierarchical(rows, requirement, fan_out),
        Granularity::Cut => {
            let n_attributes = rows.tree.n_attributes();
            let sets = has_small_sets(plan.space);
            albers_partition::with_lanes!(n_attributes, sets, cut_lanes(rows, requirement, plan))
        }
    };
    renumbered(classes)
}

/// Numbers classes in the order of their first leaves.
fn renumbered(mut classes: Vec<u32>) -> Vec<u32> {
    const NEW: u32 = u32::MAX;
    let mut numbers = vec![NEW; classes.len()];
    let mut next = 0;
    for class in &mut classes {
        let number = &mut numbers[*class as usize];
        if *number == NEW {
            *number = next;
            next += 1;
        }
        *class = *number;
    }
    classes
}

fn leaf_scan(rows: TreeRows<'_>, requirement: &Requirement) -> Vec<u32> {
    let mut summary = ClassSummary::new(requirement.shape());
    let mut n_rows = 0;
    let mut class = 0;
    let mut classes: Vec<u32> = Vec::with_capacity(rows.tree.n_leaves());
    let mut is_closed = true;
    for leaf in 0..rows.tree.n_leaves() as u32 {
        classes.push(class);
        is_closed = match requirement.is_only_row_count() {
            Some(k) => {
                n_rows += rows.tree.rows_of(leaf..leaf + 1).len() as u64;
                n_rows >= k
            }
            None => {
                rows.add(leaf..leaf + 1, &mut summary);
                requirement.holds(&summary)
            }
        };
        if is_closed {
            class += 1;
            n_rows = 0;
            summary.clear();
        }
    }
    if !is_closed {
        join_last(rows, requirement, &mut classes, class);
    }
    classes
}

/// What is left at the end joins the classes before it, as many as it needs.
fn join_last(rows: TreeRows<'_>, requirement: &Requirement, classes: &mut [u32], rest: u32) {
    let mut first = classes.iter().position(|&class| class == rest).unwrap_or(0);
    let mut summary = ClassSummary::new(requirement.shape());
    rows.add(first as u32..classes.len() as u32, &mut summary);
    while first > 0 {
        let (class, end) = (classes[first - 1], first);
        first = classes[..end].iter().rposition(|&other| other != class).map_or(0, |at| at + 1);
        rows.add(first as u32..end as u32, &mut summary);
        if requirement.holds(&summary) {
            break;
        }
    }
    let class = classes[first];
    classes[first..].fill(class);
}

fn hierarchical(rows: TreeRows<'_>, requirement: &Requirement, fan_out: usize) -> Vec<u32> {
    let tree = rows.tree;
    let nodes = tree.nodes(fan_out);
    let mut node_of_split = vec![u32::MAX; tree.splits().len()];
    for (at, node) in nodes.iter().enumerate() {
        node_of_split[node.split as usize] = at as u32;
    }
    let mut classes: Vec<u32> = vec![0; tree.n_leaves()];
    let mut pending = vec![tree.root()];
    while let Some(child) = pending.pop() {
        if let Child::Split(split) = child {
            let children = &nodes[node_of_split[split as usize] as usize].children;
            if children.iter().all(|&child| holds(rows, tree.leaves_of(child), requirement)) {
                pending.extend(children);
                continue;
            }
        }
        let leaves = tree.leaves_of(child);
        classes[leaves.start as usize..leaves.end as usize].fill(leaves.start);
    }
    classes
}

/// Whether the rows of some neighbouring leaves satisfy a requirement.
fn holds(rows: TreeRows<'_>, leaves: std::ops::Range<u32>, requirement: &Requirement) -> bool {
    if let Some(k) = requirement.is_only_row_count() {
        return rows.tree.rows_of(leaves).len() as u64 >= k;
    }
    let mut summary = ClassSummary::new(requirement.shape());
    rows.add(leaves, &mut summary);
    requirement.holds(&summary)
}

fn cut_lanes<const L: usize, const M: usize>(
    rows: TreeRows<'_>,
    requirement: &Requirement,
    plan: &Plan<'_>,
) -> Vec<u32> {
    cut::Cutter::<L, M>::new(rows, requirement, plan).classes(leaf_scan(rows, requirement))
}
