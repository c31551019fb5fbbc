//! The history of the splits of some rows, as every method that cuts keeps it.
//!
//! ```text
//!        age in [0, 40]?                 nodes: parents first, what lies inside before what lies
//!        /            \                  outside; leaves hold the next rows
//!   zip in [0, 7]?    leaf 2
//!     /       \                          cut, cut, leaf 0, leaf 1, leaf 2
//!  leaf 0    leaf 1
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use albers_classes::Region;

use crate::split::cut::Cut;

/// The splits of some rows, and their leaves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SplitTree {
    nodes: Vec<TreeNode>,
}

/// A node of a tree of splits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeNode {
    /// A leaf with the next rows.
    Leaf {
        /// How many.
        n_rows: u32,
    },
    /// A split, or the first cut of a split into many parts; two children follow.
    Cut(Cut),
    /// What the cut above leaves outside is cut further by the same split; two children follow.
    Next(Cut),
}

/// What lies below a node.
struct Below {
    n_rows: u32,
    /// The place of the first node after it.
    end: usize,
    children: Option<[usize; 2]>,
}

impl SplitTree {
    /// A tree that is one leaf.
    pub fn leaf(n_rows: usize) -> SplitTree {
        SplitTree { nodes: vec![TreeNode::Leaf { n_rows: n_rows as u32 }] }
    }

    /// All nodes: parents first, what lies inside before what lies outside.
    pub fn nodes(&self) -> &[TreeNode] {
        &self.nodes
    }

    /// Adds the next node.
    #[inline]
    pub fn push(&mut self, node: TreeNode) {
        self.nodes.push(node);
    }

    /// Adds a whole tree as the next child.
    pub fn append(&mut self, mut tree: SplitTree) {
        match self.nodes.is_empty() {
            true => *self = tree,
            false => self.nodes.append(&mut tree.nodes),
        }
    }

    /// The same with only some of its splits: none below so many others, and of all these those of
    /// the largest nodes, until there are as many leaves as there may be.
    pub fn trimmed(&self, max_leaves: usize, max_height: usize) -> SplitTree {
        // From the end, so that children come before their parents.
        let mut found: Vec<Below> = Vec::with_capacity(self.nodes.len());
        let mut roots: Vec<usize> = Vec::new();
        for (place, node) in self.nodes.iter().enumerate().rev() {
            let below = match *node {
                TreeNode::Leaf { n_rows } => Below { n_rows, end: place + 1, children: None },
                TreeNode::Cut(_) | TreeNode::Next(_) => {
                    let children = [(); 2].map(|()| roots.pop().expect("a split has two children"));
                    let [left, right] = children.map(|own| &found[self.nodes.len() - 1 - own]);
                    let n_rows = left.n_rows + right.n_rows;
                    Below { n_rows, end: right.end, children: Some(children) }
                }
            };
            found.push(below);
            roots.push(place);
        }
        found.reverse();
        let mut is_split = vec![false; self.nodes.len()];
        let mut largest_first = BinaryHeap::from([(found[0].n_rows, Reverse(0), 0)]);
        let mut n_leaves = 1;
        while let Some((_, Reverse(place), height)) = largest_first.pop() {
            let Some(children) = found[place].children.filter(|_| height < max_height) else {
                continue;
            };
            if n_leaves == max_leaves {
                break;
            }
            is_split[place] = true;
            n_leaves += 1;
            largest_first
                .extend(children.map(|child| (found[child].n_rows, Reverse(child), height + 1)));
        }
        let mut trimmed = SplitTree::default();
        let mut place = 0;
        while place < self.nodes.len() {
            let Below { n_rows, end, .. } = found[place];
            match is_split[place] {
                true => trimmed.push(self.nodes[place]),
                false => trimmed.push(TreeNode::Leaf { n_rows }),
            }
            place = if is_split[place] { place + 1 } else { end };
        }
        trimmed
    }

    /// The rows of each leaf.
    pub fn leaf_rows(&self) -> impl Iterator<Item = u32> + '_ {
        self.nodes.iter().filter_map(|node| match node {
            TreeNode::Leaf { n_rows } => Some(*n_rows),
            TreeNode::Cut(_) | TreeNode::Next(_) => None,
        })
    }

    /// How many splits lie above each leaf; one into many parts is one.
    pub fn leaf_levels(&self) -> Vec<u32> {
        let mut levels = Vec::new();
        let mut pending = vec![0];
        for node in &self.nodes {
            let level = pending.pop().expect("every split has two children");
            match node {
                TreeNode::Leaf { .. } => levels.push(level),
                TreeNode::Cut(_) => pending.extend([level + 1; 2]),
                TreeNode::Next(_) => pending.extend([level; 2]),
            }
        }
        levels
    }

    /// The region of each leaf inside the region of the whole tree, one after another.
    pub fn leaf_regions(&self, whole: &Region) -> Region {
        let mut regions = Vec::new();
        let mut pending = vec![whole.clone()];
        for node in &self.nodes {
            let region = pending.pop().expect("every split has two children");
            match node {
                TreeNode::Leaf { .. } => regions.extend(region),
                TreeNode::Cut(cut) | TreeNode::Next(cut) => {
                    let [inside, outside] = cut.regions(&region);
                    pending.extend([outside, inside]);
                }
            }
        }
        regions
    }
}
