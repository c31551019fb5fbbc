//! The R+-tree: disjoint regions that tile the space, and boxes around the records inside them.
//!
//! Source: Iwuchukwu & Naughton 2007, section 2; Sellis, Roussopoulos & Faloutsos 1987.
//! Departures: the history of the splits is kept as a k-d tree, and no child is ever cut when a node
//! overflows, so that no forced split can drive a leaf below its minimum. Nodes above the leaves are
//! built where coarser releases ask for them, see [`crate::granularity`].
//! Guarantee: leaves are disjoint, hold every record, and each satisfies the requirement.
//! Cost: 40 bytes per split and two codes per attribute for each box.
//!
//! ```text
//!        age in [0, 40]?                 splits: codes in lo..=hi go inside, all others outside
//!        /            \
//!   zip in [0, 7]?    leaf 2             leaves in tree order; the rows of a subtree are neighbours
//!     /       \
//!  leaf 0    leaf 1
//! ```

pub mod grow;
mod invariants;

use albers_classes::region::NO_CODES;
use albers_classes::{Region, Span};
use albers_partition::split::cut::Cut;
use albers_partition::split_tree::{SplitTree, TreeNode};

/// A split or a leaf, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Child {
    /// A split.
    Split(u32),
    /// A leaf.
    Leaf(u32),
}

/// A split of a region in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitNode {
    /// What decides.
    pub cut: Cut,
    /// Where the codes that it names go.
    pub inside: Child,
    /// Where all others go.
    pub outside: Child,
    /// The first leaf below it.
    pub first_leaf: u32,
    /// The first leaf after it.
    pub end_leaf: u32,
}

/// The index of some rows.
pub struct RPlusTree {
    n_attributes: usize,
    root: Child,
    /// Parents before their children.
    splits: Vec<SplitNode>,
    /// Where the rows of each leaf end, in tree order.
    leaf_ends: Vec<u32>,
    /// The least and greatest code of each leaf's rows, attribute by attribute.
    leaf_boxes: Vec<Span>,
    /// The same of each split.
    split_boxes: Vec<Span>,
}

impl RPlusTree {
    /// The tree of splits and leaves as they were grown: parents first, inside before outside.
    pub fn new(n_attributes: usize, grown: &SplitTree, leaf_boxes: Vec<Span>) -> RPlusTree {
        let mut tree = RPlusTree {
            n_attributes,
            root: Child::Leaf(0),
            splits: Vec::new(),
            leaf_ends: Vec::new(),
            leaf_boxes,
            split_boxes: Vec::new(),
        };
        // Splits that still lack a child, and whether they have their first.
        let mut open: Vec<(u32, bool)> = Vec::new();
        for node in grown.nodes() {
            let n_leaves = tree.leaf_ends.len() as u32;
            let child = match *node {
                TreeNode::Leaf { n_rows } => {
                    let start = tree.leaf_ends.last().copied().unwrap_or(0);
                    tree.leaf_ends.push(start + n_rows);
                    Child::Leaf(n_leaves)
                }
                TreeNode::Cut(cut) | TreeNode::Next(cut) => {
                    let none = Child::Leaf(u32::MAX);
                    tree.splits.push(SplitNode {
                        cut,
                        inside: none,
                        outside: none,
                        first_leaf: n_leaves,
                        end_leaf: n_leaves,
                    });
                    Child::Split(tree.splits.len() as u32 - 1)
                }
            };
            match open.last_mut() {
                None => tree.root = child,
                Some((parent, has_inside)) if !*has_inside => {
                    tree.splits[*parent as usize].inside = child;
                    *has_inside = true;
                }
                Some((parent, _)) => {
                    tree.splits[*parent as usize].outside = child;
                    open.pop();
                }
            }
            if let Child::Split(split) = child {
                open.push((split, false));
            }
        }
        assert!(open.is_empty(), "every split has two children");
        tree.close_splits();
        tree
    }

    /// Finds the leaves and the box of each split, children first.
    fn close_splits(&mut self) {
        self.split_boxes = vec![NO_CODES; self.splits.len() * self.n_attributes];
        for at in (0..self.splits.len()).rev() {
            let split = self.splits[at];
            self.splits[at].end_leaf = match split.outside {
                Child::Leaf(leaf) => leaf + 1,
                Child::Split(child) => self.splits[child as usize].end_leaf,
            };
            for axis in 0..self.n_attributes {
                let (a, b) = (self.box_of(split.inside)[axis], self.box_of(split.outside)[axis]);
                self.split_boxes[at * self.n_attributes + axis] = (a.0.min(b.0), a.1.max(b.1));
            }
        }
    }

    /// Number of attributes.
    pub fn n_attributes(&self) -> usize {
        self.n_attributes
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.leaf_ends.last().copied().unwrap_or(0) as usize
    }

    /// Number of leaves.
    pub fn n_leaves(&self) -> usize {
        self.leaf_ends.len()
    }

    /// The root.
    pub fn root(&self) -> Child {
        self.root
    }

    /// The splits, parents before their children.
    pub fn splits(&self) -> &[SplitNode] {
        &self.splits
    }

    /// The rows of a run of leaves, as places in tree order.
    pub fn rows_of(&self, leaves: std::ops::Range<u32>) -> std::ops::Range<usize> {
        let end_of = |leaf: u32| match leaf {
            0 => 0,
            _ => self.leaf_ends[leaf as usize - 1] as usize,
        };
        end_of(leaves.start)..end_of(leaves.end)
    }

    /// Where the rows of each leaf end, in tree order.
    pub fn leaf_ends(&self) -> &[u32] {
        &self.leaf_ends
    }

    /// The boxes of the leaves, one after another.
    pub fn leaf_boxes(&self) -> &[Span] {
        &self.leaf_boxes
    }

    /// The leaves below a split, or the leaf.
    pub fn leaves_of(&self, child: Child) -> std::ops::Range<u32> {
        match child {
            Child::Leaf(leaf) => leaf..leaf + 1,
            Child::Split(split) => {
                let split = &self.splits[split as usize];
                split.first_leaf..split.end_leaf
            }
        }
    }

    /// The minimum bounding box of a split's or a leaf's rows.
    pub fn box_of(&self, child: Child) -> &[Span] {
        let (boxes, at) = match child {
            Child::Leaf(leaf) => (&self.leaf_boxes, leaf as usize),
            Child::Split(split) => (&self.split_boxes, split as usize),
        };
        &boxes[at * self.n_attributes..(at + 1) * self.n_attributes]
    }

    /// The leaf that a point belongs to.
    pub fn search(&self, point: &[u32]) -> u32 {
        let mut at = self.root;
        loop {
            match at {
                Child::Leaf(leaf) => return leaf,
                Child::Split(split) => {
                    let split = &self.splits[split as usize];
                    let Cut { axis, lo, hi, .. } = split.cut;
                    let is_inside = (lo..=hi).contains(&point[axis as usize]);
                    at = if is_inside { split.inside } else { split.outside };
                }
            }
        }
    }

    /// The leaves whose boxes meet a box: all that can hold a record inside it.
    pub fn leaves_meeting(&self, query: &[Span]) -> Vec<u32> {
        let mut found = Vec::new();
        let mut pending = vec![self.root];
        while let Some(child) = pending.pop() {
            let meets = |(own, asked): (&Span, &Span)| own.0 <= asked.1 && asked.0 <= own.1;
            if !self.box_of(child).iter().zip(query).all(meets) {
                continue;
            }
            match child {
                Child::Leaf(leaf) => found.push(leaf),
                Child::Split(split) => {
                    let split = &self.splits[split as usize];
                    pending.extend([split.outside, split.inside]);
                }
            }
        }
        found
    }

    /// The region of each leaf inside the region of the whole tree, one after another.
    pub fn leaf_regions(&self, whole: &Region) -> Region {
        let mut regions = vec![NO_CODES; self.n_leaves() * self.n_attributes];
        let mut pending = vec![(self.root, whole.clone())];
        while let Some((child, region)) = pending.pop() {
            match child {
                Child::Leaf(leaf) => {
                    let at = leaf as usize * self.n_attributes;
                    regions[at..at + self.n_attributes].copy_from_slice(&region);
                }
                Child::Split(split) => {
                    let split = &self.splits[split as usize];
                    let [inside, outside] = split.cut.regions(&region);
                    pending.push((split.outside, outside));
                    pending.push((split.inside, inside));
                }
            }
        }
        regions
    }
}
