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

/// What stands where no cut tells two sides apart: nothing is inside of it.
const NOWHERE: Cut = Cut { axis: 0, lo: u32::MAX, hi: 0, rest: (0, u32::MAX) };

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

    /// Leaves of so many rows side by side, which no cut tells apart: for whoever asks for nothing but
    /// their rows.
    pub fn flat(sizes: &[u32]) -> SplitTree {
        let mut nodes = Vec::with_capacity(2 * sizes.len());
        for (place, &n_rows) in sizes.iter().enumerate() {
            if place + 1 < sizes.len() {
                nodes.push(TreeNode::Cut(NOWHERE));
            }
            nodes.push(TreeNode::Leaf { n_rows });
        }
        SplitTree { nodes }
    }

    /// A leaf of so many rows beside a tree of the others, which no cut tells apart.
    pub fn apart(n_rows: u32, others: SplitTree) -> SplitTree {
        let mut tree = SplitTree { nodes: vec![TreeNode::Cut(NOWHERE), TreeNode::Leaf { n_rows }] };
        tree.append(others);
        tree
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

    /// The same splits with other numbers of rows in the leaves: a leaf without rows is gone, and
    /// with it the split above it.
    pub fn with_rows(&self, n_rows: &[u32]) -> SplitTree {
        // From the end, so that children come before their parents.
        let mut leaves = n_rows.iter().rev();
        let mut roots: Vec<Option<Vec<TreeNode>>> = Vec::new();
        for node in self.nodes.iter().rev() {
            let own = match *node {
                TreeNode::Leaf { .. } => {
                    let n_rows = *leaves.next().expect("a number for each leaf");
                    (n_rows > 0).then(|| vec![TreeNode::Leaf { n_rows }])
                }
                TreeNode::Cut(cut) | TreeNode::Next(cut) => {
                    let children = [(); 2].map(|()| roots.pop().expect("a split has two children"));
                    match children {
                        [Some(inside), Some(outside)] => {
                            let mut nodes = Vec::with_capacity(1 + inside.len() + outside.len());
                            nodes.push(TreeNode::Cut(cut));
                            nodes.extend(inside);
                            nodes.extend(outside);
                            Some(nodes)
                        }
                        [inside, outside] => inside.or(outside),
                    }
                }
            };
            roots.push(own);
        }
        SplitTree { nodes: roots.pop().flatten().unwrap_or_default() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_without_rows_is_gone_with_the_split_above_it() {
        let cut = |axis| TreeNode::Cut(Cut::new(axis, 0, 7));
        let leaf = |n_rows| TreeNode::Leaf { n_rows };
        let nodes = vec![cut(0), cut(1), leaf(3), leaf(4), cut(2), leaf(5), leaf(6)];
        let tree = SplitTree { nodes };
        assert_eq!(tree.with_rows(&[3, 4, 5, 6]), tree);
        let without = |n_rows: [u32; 4]| tree.with_rows(&n_rows).nodes;
        assert_eq!(without([2, 4, 0, 6]), [cut(0), cut(1), leaf(2), leaf(4), leaf(6)]);
        assert_eq!(without([0, 0, 5, 1]), [cut(2), leaf(5), leaf(1)]);
        assert_eq!(without([0, 4, 0, 0]), [leaf(4)]);
        assert!(without([0; 4]).is_empty());
    }
}
