//! The tree of a part while it is grown breadth first: what is known of its leaves.

use std::sync::Arc;

use albers_classes::Region;
use albers_partition::counts::divide::Division;
use albers_partition::counts::group::GroupShape;
use albers_partition::split::cut::{Cut, Turn};
use albers_partition::split::state::NodeState;
use albers_partition::top::RouteStep;

/// A split into more parts than this is compared by halves, and not part by part.
const MANY_PARTS: usize = 4;

/// The tree of a part.
pub(super) struct GrownTree {
    nodes: Vec<Node>,
    /// The way to its root.
    way: Arc<[Turn]>,
}

struct Node {
    parent: Option<u32>,
    /// Whether it is what a cut of its parent's split leaves for the next.
    is_rest: bool,
    kind: Kind,
}

enum Kind {
    Leaf(Leaf),
    Inner { cut: Cut, children: [u32; 2] },
}

/// A leaf of the tree of a part.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    /// Its rows.
    pub(super) n_rows: u64,
    /// What is to become of it.
    pub(super) fate: Fate,
    /// What it knows of the splits above it.
    pub(super) state: NodeState,
    /// Its region, where regions are kept.
    pub(super) region: Option<Region>,
}

/// What is to become of the rows of a leaf.
#[derive(Debug, Clone)]
pub(super) enum Fate {
    /// They are split in memory.
    Small,
    /// They are counted.
    Open(GroupShape),
    /// They have no allowable split.
    Final,
}

impl GrownTree {
    /// A tree that is one leaf.
    pub(super) fn new(leaf: Leaf, way: Arc<[Turn]>) -> GrownTree {
        let root = Node { parent: None, is_rest: false, kind: Kind::Leaf(leaf) };
        GrownTree { nodes: vec![root], way }
    }

    /// How many nodes it has.
    pub(super) fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Its leaves from left to right, by their numbers.
    pub(super) fn leaves(&self) -> Vec<u32> {
        let mut found = Vec::new();
        let mut pending = vec![0];
        while let Some(node) = pending.pop() {
            match &self.nodes[node as usize].kind {
                Kind::Leaf(_) => found.push(node),
                Kind::Inner { children: [inside, outside], .. } => {
                    pending.extend([*outside, *inside]);
                }
            }
        }
        found
    }

    /// The comparisons that lead a row to its leaf, by the place of the leaf from left to right.
    pub(super) fn steps(&self) -> Arc<[RouteStep]> {
        let mut place_of = vec![0; self.nodes.len()];
        (0u32..).zip(self.leaves()).for_each(|(place, leaf)| place_of[leaf as usize] = place);
        let step = |(own, node): (u32, &Node)| match &node.kind {
            Kind::Leaf(_) => RouteStep::cell(own, place_of[own as usize]),
            Kind::Inner { cut, children } => RouteStep::compare(cut, *children),
        };
        let mut steps: Vec<RouteStep> = (0u32..).zip(&self.nodes).map(step).collect();
        for (own, _) in self.nodes.iter().enumerate().filter(|(_, node)| !node.is_rest) {
            let (parts, rest) = self.split_at(own as u32);
            if parts.len() > MANY_PARTS {
                steps[own] = by_halves(&parts, rest, &mut steps);
            }
        }
        steps.into()
    }

    /// The parts of the split of a node but the last, each with its cut, and the last.
    fn split_at(&self, node: u32) -> (Vec<(Cut, u32)>, u32) {
        let (mut parts, mut at) = (Vec::new(), node);
        while let Kind::Inner { cut, children: [inside, outside] } = &self.nodes[at as usize].kind {
            parts.push((*cut, *inside));
            at = *outside;
            if !self.nodes[at as usize].is_rest {
                break;
            }
        }
        (parts, at)
    }

    /// A leaf by its number.
    pub(super) fn leaf(&self, node: u32) -> &Leaf {
        match &self.nodes[node as usize].kind {
            Kind::Leaf(leaf) => leaf,
            Kind::Inner { .. } => unreachable!("only leaves are asked for"),
        }
    }

    /// Says that a leaf has no allowable split.
    pub(super) fn finish(&mut self, node: u32) {
        if let Kind::Leaf(leaf) = &mut self.nodes[node as usize].kind {
            leaf.fate = Fate::Final;
        }
    }

    /// Divides a leaf, and returns the leaves that it becomes. `is_small` tells which are split in
    /// memory.
    pub(super) fn divide(
        &mut self,
        node: u32,
        division: Division,
        is_small: impl Fn(u64) -> bool,
    ) -> Vec<u32> {
        let mut found = Vec::with_capacity(division.parts.len());
        let mut region = self.leaf(node).region.clone();
        let (mut at, mut cuts) = (node, division.cuts.into_iter());
        for part in division.parts {
            let cut = cuts.next();
            let [inside, outside] = match (&region, &cut) {
                (Some(region), Some(cut)) => cut.regions(region).map(Some),
                (region, _) => [region.clone(), None],
            };
            let n_rows = part.shape.n_rows;
            let fate = if is_small(n_rows) { Fate::Small } else { Fate::Open(part.shape) };
            let leaf = Leaf { n_rows, fate, state: part.state, region: inside };
            match cut {
                None => {
                    // The last part: a split of it is one of its own.
                    self.nodes[at as usize].is_rest = false;
                    self.nodes[at as usize].kind = Kind::Leaf(leaf);
                    found.push(at);
                }
                Some(cut) => {
                    let [own, rest] = [self.nodes.len() as u32, self.nodes.len() as u32 + 1];
                    // What the cut leaves becomes a node of its own, which the next part fills.
                    let empty = Leaf { fate: Fate::Final, region: None, ..leaf.clone() };
                    for (is_rest, leaf) in [(false, leaf), (true, empty)] {
                        let kind = Kind::Leaf(leaf);
                        self.nodes.push(Node { parent: Some(at), is_rest, kind });
                    }
                    self.nodes[at as usize].kind = Kind::Inner { cut, children: [own, rest] };
                    found.push(own);
                    (at, region) = (rest, outside);
                }
            }
        }
        found
    }

    /// The way to a node from the root of all.
    pub(super) fn way_to(&self, node: u32) -> Vec<Turn> {
        let mut back = Vec::new();
        let mut at = node;
        while let Some(parent) = self.nodes[at as usize].parent {
            if let Kind::Inner { cut, children } = &self.nodes[parent as usize].kind {
                back.push(Turn { cut: *cut, is_inside: children[0] == at });
            }
            at = parent;
        }
        let own = back.into_iter().rev();
        self.way.iter().copied().chain(own).collect()
    }

    /// About what it takes.
    pub(super) fn n_bytes(&self) -> u64 {
        let leaf_bytes = |leaf: &Leaf| {
            let shape = match &leaf.fate {
                Fate::Open(shape) => size_of_val(shape.axes.as_slice()),
                Fate::Small | Fate::Final => 0,
            };
            shape + leaf.region.as_ref().map_or(0, |own| size_of_val(own.as_slice()))
        };
        let node_bytes = |node: &Node| match &node.kind {
            Kind::Leaf(leaf) => size_of::<Node>() + leaf_bytes(leaf),
            Kind::Inner { .. } => size_of::<Node>(),
        };
        self.nodes.iter().map(|node| node_bytes(node) as u64).sum()
    }
}

/// The step that leads codes to one of some parts, which lie in the order of their codes, or to what
/// is left by all of them; further steps are added to the others.
fn by_halves(parts: &[(Cut, u32)], rest: u32, steps: &mut Vec<RouteStep>) -> RouteStep {
    if let [(cut, part)] = parts {
        return RouteStep::compare(cut, [*part, rest]);
    }
    let halves = parts.split_at(parts.len() / 2);
    let (last, _) = halves.0[halves.0.len() - 1];
    let children = [halves.0, halves.1].map(|half| {
        let step = by_halves(half, rest, steps);
        steps.push(step);
        steps.len() as u32 - 1
    });
    RouteStep::compare(&Cut::new(last.axis as usize, 0, last.hi), children)
}
