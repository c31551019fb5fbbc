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
use albers_classes::region::Span;

use crate::split::Split;

/// All codes of an attribute.
const ALL: Span = (0, u32::MAX);

/// A node of a tree of splits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeNode {
    /// A leaf with the next rows.
    Leaf {
        /// How many.
        n_rows: u32,
    },
    /// A split; two children follow.
    Cut(Cut),
}

/// A split in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The attribute that decides.
    pub axis: u32,
    /// The least code that goes inside.
    pub lo: u32,
    /// The greatest code that goes inside.
    pub hi: u32,
    /// What is known of the codes that go outside.
    pub rest: Span,
}

impl Cut {
    /// Codes from `lo` to `hi` against all others.
    pub fn new(axis: usize, lo: u32, hi: u32) -> Cut {
        Cut { axis: axis as u32, lo, hi, rest: ALL }
    }

    /// A split that has two parts.
    ///
    /// # Panics
    /// When it has more.
    pub fn of(split: &Split) -> Cut {
        match *split {
            Split::Cut { axis, code } => Cut::new(axis, 0, code),
            Split::Peel { axis, lo, hi } => Cut::new(axis, lo, hi),
            Split::Specialize { .. } => unreachable!("a split into many parts is several cuts"),
        }
    }

    /// The regions of both sides. What is left of a region when a piece is taken from its middle
    /// keeps the whole of it.
    pub fn regions(&self, region: &Region) -> [Region; 2] {
        let axis = self.axis as usize;
        let (lo, hi) = region[axis];
        let mut inside = region.clone();
        inside[axis] = (lo.max(self.lo), hi.min(self.hi));
        let mut outside = region.clone();
        let (lo, hi) = match (self.lo <= lo, hi <= self.hi) {
            (true, false) => (self.hi + 1, hi),
            (false, true) => (lo, self.lo - 1),
            _ => (lo, hi),
        };
        outside[axis] = (lo.max(self.rest.0), hi.min(self.rest.1));
        [inside, outside]
    }
}

/// The rows of each leaf.
pub fn leaf_rows(nodes: &[TreeNode]) -> impl Iterator<Item = u32> + '_ {
    nodes.iter().filter_map(|node| match node {
        TreeNode::Leaf { n_rows } => Some(*n_rows),
        TreeNode::Cut(_) => None,
    })
}

/// The region of each leaf inside the region of the whole tree, one after another.
pub fn leaf_regions(nodes: &[TreeNode], whole: &Region) -> Region {
    let mut regions = Vec::new();
    let mut pending = vec![whole.clone()];
    for node in nodes {
        let region = pending.pop().expect("every split has two children");
        match node {
            TreeNode::Leaf { .. } => regions.extend(region),
            TreeNode::Cut(cut) => {
                let [inside, outside] = cut.regions(&region);
                pending.extend([outside, inside]);
            }
        }
    }
    regions
}
