//! The nodes of the index: pieces of the split history with a bounded number of children.

use super::{Child, RPlusTree};

/// An inner node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexNode {
    /// The split at its top.
    pub split: u32,
    /// Its children, in tree order: splits at the top of other nodes, and leaves.
    pub children: Vec<Child>,
    /// How far its farthest leaf lies below it; 1 for a node with leaves only.
    pub height: u32,
}

impl RPlusTree {
    /// The inner nodes with up to `fan_out` children each, parents before their children. A node
    /// takes in the largest splits below its top until it is full.
    pub fn nodes(&self, fan_out: usize) -> Vec<IndexNode> {
        assert!(fan_out >= 2, "a node has at least two children");
        let mut nodes = Vec::new();
        let mut pending = Vec::new();
        if let Child::Split(root) = self.root() {
            pending.push(root);
        }
        while let Some(top) = pending.pop() {
            let mut children = vec![Child::Split(top)];
            while children.len() < fan_out {
                let n_rows = |child: &Child| self.rows_of(self.leaves_of(*child)).len();
                let largest = (0..children.len())
                    .filter(|&at| matches!(children[at], Child::Split(_)))
                    .max_by_key(|&at| (n_rows(&children[at]), at));
                let Some(at) = largest else { break };
                let Child::Split(split) = children[at] else { break };
                let split = &self.splits()[split as usize];
                children.splice(at..=at, [split.inside, split.outside]);
            }
            let below = children.iter().rev().filter_map(|child| match child {
                Child::Split(split) => Some(*split),
                Child::Leaf(_) => None,
            });
            pending.extend(below);
            nodes.push(IndexNode { split: top, children, height: 1 });
        }
        self.set_heights(&mut nodes);
        nodes
    }

    fn set_heights(&self, nodes: &mut [IndexNode]) {
        let mut height_of_split = vec![0; self.splits().len()];
        for node in nodes.iter_mut().rev() {
            let below = node.children.iter().map(|child| match child {
                Child::Leaf(_) => 0,
                Child::Split(split) => height_of_split[*split as usize],
            });
            node.height = 1 + below.max().unwrap_or(0);
            height_of_split[node.split as usize] = node.height;
        }
    }
}
