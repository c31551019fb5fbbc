//! Whole nodes of a balanced tree above the leaves as classes.
//!
//! ```text
//!   root               [--------------------------------------]
//!   nodes of nodes     [------------------]  [----------------]     2 to 4 children each,
//!   nodes of leaves    [---]  [---]  [--]    [---]  [--]  [---]     where the fan-out is 4
//!   leaves, a walk     5 7 6  5 9 5  6 8     5 6 7  9 5   6 6 5     rows of each
//! ```
//!
//! Source: Iwuchukwu & Naughton 2007, section 3.1.
//! Departures: nodes are not those of an insertion history. They are built from the leaves up, along a
//! walk that keeps neighbours adjacent: of all divisions of a level into runs of half the fan-out to
//! the fan-out, the one that loses least. So all leaves lie equally deep, and a node at a height has
//! at least half the fan-out to the power of this height times as many rows as the smallest leaf. Of
//! these, the lowest nodes whose siblings all satisfy the requirement are taken, path by path.
//! Guarantee: every class satisfies the requirement, if all leaves together do.
//! Cost: every node is weighed with the up to fan-out runs that may end with it, once for all
//! releases; then each row is looked at once for each node above it, and not at all where rows are
//! counted.

use std::ops::Range;

use albers_classes::ClassId;
use albers_partition::mondrian::Plan;
use albers_partition::split::extent::has_small_sets;
use albers_privacy::Requirement;

use super::cut::{Cutter, Test};
use super::leaves::LeafRuns;
use super::units::Units;

/// The fewest children that a node may be allowed: two to three of them divide any number.
pub const LEAST_FAN_OUT: usize = 3;

/// The most: a walk is divided in stretches of thousands of nodes, each into nodes of its own.
pub const MOST_FAN_OUT: usize = 1024;

/// The nodes above the leaves of an index.
pub struct Nodes {
    /// The leaves, one after another.
    walk: Vec<u32>,
    /// Level by level from the leaves up: where each node ends in the level below, the last of one
    /// node. Of the leaves, where each ends in the walk.
    levels: Vec<Vec<u32>>,
}

impl Nodes {
    /// The nodes above the leaves of a walk, with half of `fan_out` to `fan_out` children each, but
    /// for the root, which may have fewer.
    pub fn of(leaves: LeafRuns<'_>, walk: Vec<u32>, fan_out: usize, plan: &Plan<'_>) -> Nodes {
        assert!((LEAST_FAN_OUT..=MOST_FAN_OUT).contains(&fan_out), "checked when it was planned");
        let (n_attributes, sets) = (leaves.n_attributes(), has_small_sets(plan.space));
        let levels = albers_partition::with_lanes!(
            n_attributes,
            sets,
            levels_of(leaves, &walk, fan_out, plan)
        );
        Nodes { walk, levels }
    }

    /// The class of each leaf: the lowest nodes that satisfy a requirement with all their siblings.
    pub fn classes(&self, leaves: LeafRuns<'_>, requirement: &Requirement) -> Vec<ClassId> {
        let mut classes = vec![ClassId::new(0); self.walk.len()];
        let top = self.levels.len() - 1;
        let roots = 0..self.levels[top].len();
        let mut pending: Vec<(usize, usize)> = roots.map(|node| (top, node)).collect();
        while let Some((level, node)) = pending.pop() {
            let holds = |child| leaves.hold(self.leaves_of((level - 1, child)), requirement);
            if level > 0 && self.children(level, node).all(holds) {
                pending.extend(self.children(level, node).map(|child| (level - 1, child)));
                continue;
            }
            let own = self.leaves_of((level, node));
            let first = own.iter().copied().min().unwrap_or(0);
            own.iter().for_each(|&leaf| classes[leaf as usize] = ClassId::new(first));
        }
        classes
    }

    /// The children of a node, as places in the level below it.
    fn children(&self, level: usize, node: usize) -> Range<usize> {
        let ends = &self.levels[level];
        let start = if node == 0 { 0 } else { ends[node - 1] };
        start as usize..ends[node] as usize
    }

    /// The leaves below a node, one after another in the walk.
    fn leaves_of(&self, (level, node): (usize, usize)) -> &[u32] {
        let mut own = node..node + 1;
        for level in (0..=level).rev() {
            own = self.children(level, own.start).start..self.children(level, own.end - 1).end;
        }
        &self.walk[own]
    }

    /// Asserts every invariant; for tests.
    ///
    /// # Panics
    /// When one is broken.
    #[cfg(test)]
    pub fn check_invariants(&self, fan_out: usize) {
        let mut n_below = self.walk.len();
        for (level, ends) in self.levels.iter().enumerate() {
            let is_root = ends.len() == 1;
            for node in 0..ends.len() {
                let n_children = self.children(level, node).len();
                let least = if is_root { 1 } else { fan_out.div_ceil(2) };
                let range = if level == 0 { 1..=1 } else { least..=fan_out };
                assert!(range.contains(&n_children), "{n_children} children at height {level}");
            }
            assert_eq!(ends.last().map_or(0, |&end| end as usize), n_below, "none is forgotten");
            n_below = ends.len();
        }
        assert!(n_below <= 1, "there is one root");
    }
}

/// Where the nodes of each level end in the level below, from the leaves up.
fn levels_of<const L: usize, const M: usize>(
    leaves: LeafRuns<'_>,
    walk: &[u32],
    fan_out: usize,
    plan: &Plan<'_>,
) -> Vec<Vec<u32>> {
    let single: Vec<ClassId> = ClassId::first(walk.len()).collect();
    let units = Units::of(&single);
    let cutter = Cutter::<L, M>::new(leaves, &units, walk, plan.requirement, plan);
    let mut pieces = cutter.units();
    let mut levels = vec![(1..=walk.len() as u32).collect::<Vec<u32>>()];
    let test = Test::Pieces { least: fan_out.div_ceil(2), most: fan_out };
    while pieces.len() > 1 {
        let divided = (pieces.len() > fan_out).then(|| cutter.divide(&pieces, test)).flatten();
        // So few are the children of the root.
        let Some(nodes) = divided else {
            levels.push(vec![pieces.len() as u32]);
            break;
        };
        let end_of = |end: u32| pieces.partition_point(|piece| piece.end <= end) as u32;
        levels.push(nodes.iter().map(|node| end_of(node.end)).collect());
        pieces = nodes;
    }
    levels
}
