//! Coarser releases from the leaves of an index built once.
//!
//! Source: Iwuchukwu & Naughton 2007, section 3.
//! Departures: `hierarchical` takes the lowest nodes whose siblings all satisfy the requirement, path
//! by path, since the index is not balanced; `cut` is not in the paper: it walks the split history and
//! merges what is too small with the neighbouring class that loses least by it.
//! Guarantee: classes are unions of whole leaves, so every record stays k-bound across all
//! granularities; every class satisfies the requirement, if all leaves together do.
//! Cost: one pass over the leaves and their splits; memory for the boxes of both.

use albers_partition::mondrian::Plan;
use albers_partition::split::Point;
use albers_partition::split::extent::{Extent, Weigher, has_small_sets};
use albers_privacy::{ClassSummary, Requirement};

use crate::rplus_tree::grow::Source;
use crate::rplus_tree::{Child, RPlusTree};

/// How leaves are brought together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granularity {
    /// Leaves in tree order, a class closed as soon as it satisfies the requirement.
    LeafScan,
    /// The lowest nodes of the index that satisfy it together with all their siblings.
    Hierarchical {
        /// The most children of a node.
        fan_out: usize,
    },
    /// The finest cut through the splits, with merges where a side is too small.
    Cut,
}

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
/// All leaves together must satisfy the requirement.
pub fn classes(
    rows: TreeRows<'_>,
    granularity: Granularity,
    requirement: &Requirement,
    plan: &Plan<'_>,
) -> Vec<u32> {
    let classes = match granularity {
        Granularity::LeafScan => leaf_scan(rows, requirement),
        Granularity::Hierarchical { fan_out } => hierarchical(rows, requirement, fan_out),
        Granularity::Cut => {
            let n_attributes = rows.tree.n_attributes();
            let sets = has_small_sets(plan.space);
            albers_partition::with_lanes!(n_attributes, sets, cut(rows, requirement, plan))
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
    while first > 0 {
        let class = classes[first - 1];
        first = classes[..first].iter().rposition(|&other| other != class).map_or(0, |at| at + 1);
        let mut summary = ClassSummary::new(requirement.shape());
        rows.add(first as u32..classes.len() as u32, &mut summary);
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

/// Classes in the making: leaves that belong together, with what they show.
struct Merger<'a, const L: usize, const M: usize> {
    rows: TreeRows<'a>,
    requirement: &'a Requirement,
    weigher: Weigher<'a, L, M>,
    /// Per leaf: another leaf of its class, or itself.
    parents: Vec<u32>,
    /// Per leaf that is its own parent: what its class shows ...
    extents: Vec<Extent<L, M>>,
    /// ... and how many rows it has.
    n_rows: Vec<u32>,
    /// What each split shows.
    split_extents: Vec<Extent<L, M>>,
}

fn cut<const L: usize, const M: usize>(
    rows: TreeRows<'_>,
    requirement: &Requirement,
    plan: &Plan<'_>,
) -> Vec<u32> {
    let tree = rows.tree;
    let mut merger = Merger::<L, M>::new(rows, requirement, plan);
    // Whether all leaves below a split are in classes that satisfy the requirement. If not, they
    // are all in one that does not.
    let mut split_holds = vec![false; tree.splits().len()];
    let leaf_holds: Vec<bool> =
        (0..tree.n_leaves() as u32).map(|leaf| holds(rows, leaf..leaf + 1, requirement)).collect();
    let child_holds = |child: Child, split_holds: &[bool]| match child {
        Child::Leaf(leaf) => leaf_holds[leaf as usize],
        Child::Split(split) => split_holds[split as usize],
    };
    for at in (0..tree.splits().len()).rev() {
        let split = tree.splits()[at];
        let inside = child_holds(split.inside, &split_holds);
        let outside = child_holds(split.outside, &split_holds);
        split_holds[at] = match (inside, outside) {
            (true, true) => true,
            (true, false) => merger.absorb(split.outside, split.inside),
            (false, true) => merger.absorb(split.inside, split.outside),
            (false, false) => merger.join(tree.leaves_of(Child::Split(at as u32))),
        };
    }
    (0..tree.n_leaves() as u32).map(|leaf| merger.class_of(leaf)).collect()
}

impl<'a, const L: usize, const M: usize> Merger<'a, L, M> {
    fn new(rows: TreeRows<'a>, requirement: &'a Requirement, plan: &Plan<'a>) -> Self {
        let tree = rows.tree;
        let Source { layout, block, .. } = rows.source;
        let n_leaves = tree.n_leaves();
        let leaves = 0..n_leaves as u32;
        let extent_of = |leaf: u32| {
            let mut extent = Extent::EMPTY;
            for &row in &rows.order[tree.rows_of(leaf..leaf + 1)] {
                let mut point: Point<L> = [0; L];
                block.codes(layout, row as usize, &mut point);
                extent.add(&point);
            }
            extent
        };
        let extents: Vec<Extent<L, M>> = leaves.clone().map(extent_of).collect();
        let mut split_extents = vec![Extent::EMPTY; tree.splits().len()];
        for at in (0..tree.splits().len()).rev() {
            let split = tree.splits()[at];
            for side in [split.inside, split.outside] {
                let extent = match side {
                    Child::Leaf(leaf) => extents[leaf as usize],
                    Child::Split(split) => split_extents[split as usize],
                };
                split_extents[at].merge(&extent);
            }
        }
        Merger {
            rows,
            requirement,
            weigher: Weigher::new(plan.space),
            parents: leaves.clone().collect(),
            extents,
            n_rows: leaves.map(|leaf| tree.rows_of(leaf..leaf + 1).len() as u32).collect(),
            split_extents,
        }
    }

    fn class_of(&mut self, leaf: u32) -> u32 {
        let mut at = leaf;
        while self.parents[at as usize] != at {
            let above = self.parents[self.parents[at as usize] as usize];
            self.parents[at as usize] = above;
            at = above;
        }
        at
    }

    fn merge(&mut self, a: u32, b: u32) {
        let (a, b) = (self.class_of(a), self.class_of(b));
        if a == b {
            return;
        }
        let other = self.extents[b as usize];
        self.extents[a as usize].merge(&other);
        self.n_rows[a as usize] += self.n_rows[b as usize];
        self.parents[b as usize] = a;
    }

    /// Makes one class of some neighbouring leaves and tells whether it satisfies the requirement.
    fn join(&mut self, leaves: std::ops::Range<u32>) -> bool {
        leaves.clone().for_each(|leaf| self.merge(leaves.start, leaf));
        holds(self.rows, leaves, self.requirement)
    }

    /// Brings the leaves of a side that does not satisfy the requirement into a class of the other
    /// side, and tells whether all then do.
    fn absorb(&mut self, short: Child, sound: Child) -> bool {
        let leaves = self.rows.tree.leaves_of(short);
        // Already one class, unless it is a single leaf.
        let piece = self.class_of(leaves.start);
        let extent = self.extents[piece as usize];
        let sound_leaves = self.rows.tree.leaves_of(sound);
        let near = self.nearest_leaf(sound, &extent);
        let candidates = [near, sound_leaves.start, sound_leaves.end - 1];
        let mut candidates = candidates.map(|leaf| {
            let class = self.class_of(leaf);
            (self.added_loss(class, piece), class)
        });
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (_, class) in candidates {
            if self.union_holds(class, piece, sound_leaves.clone(), leaves.clone()) {
                self.merge(class, piece);
                return true;
            }
        }
        self.join(leaves.start.min(sound_leaves.start)..leaves.end.max(sound_leaves.end))
    }

    /// What two classes lose more together than apart.
    fn added_loss(&self, a: u32, b: u32) -> f64 {
        let (a, b) = (a as usize, b as usize);
        let mut both = self.extents[a];
        both.merge(&self.extents[b]);
        let [n_a, n_b] = [a, b].map(|class| f64::from(self.n_rows[class]));
        let loss = |extent: &Extent<L, M>| f64::from(self.weigher.loss(extent));
        (n_a + n_b) * loss(&both) - n_a * loss(&self.extents[a]) - n_b * loss(&self.extents[b])
    }

    /// A leaf below a node whose boxes, all the way down, have to grow least to take something in.
    fn nearest_leaf(&self, node: Child, extent: &Extent<L, M>) -> u32 {
        let mut at = node;
        loop {
            let split = match at {
                Child::Leaf(leaf) => return leaf,
                Child::Split(split) => self.rows.tree.splits()[split as usize],
            };
            let growth = |side: Child| {
                let own = match side {
                    Child::Leaf(leaf) => &self.extents[leaf as usize],
                    Child::Split(split) => &self.split_extents[split as usize],
                };
                let mut both = *own;
                both.merge(extent);
                self.weigher.loss(&both) - self.weigher.loss(own)
            };
            let inside_is_near = growth(split.inside) <= growth(split.outside);
            at = if inside_is_near { split.inside } else { split.outside };
        }
    }

    /// Whether a class of the sound side and the piece satisfy the requirement together.
    fn union_holds(
        &mut self,
        class: u32,
        piece: u32,
        sound: std::ops::Range<u32>,
        short: std::ops::Range<u32>,
    ) -> bool {
        if let Some(k) = self.requirement.is_only_row_count() {
            return u64::from(self.n_rows[class as usize] + self.n_rows[piece as usize]) >= k;
        }
        let mut summary = ClassSummary::new(self.requirement.shape());
        self.rows.add(short, &mut summary);
        for leaf in sound {
            if self.class_of(leaf) == class {
                self.rows.add(leaf..leaf + 1, &mut summary);
            }
        }
        self.requirement.holds(&summary)
    }
}
