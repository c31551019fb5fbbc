//! The history of the splits of some rows, as every method that cuts keeps it.
//!
//! ```text
//!        age in [0, 40]?                 nodes: parents first, what lies inside before what lies
//!        /            \                  outside; leaves hold the next rows
//!   zip in [0, 7]?    leaf 2
//!     /       \                          cut, cut, leaf 0, leaf 1, leaf 2
//!  leaf 0    leaf 1
//! ```

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
