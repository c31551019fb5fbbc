//! The leaves of a tree of splits one after another, so that those that follow each other lie near:
//! of each split the side that lies nearer to the leaf before it comes first.
//!
//! Cost: boxes of large nodes are found once and kept, those of small ones when they are met.

use std::ops::Range;

use albers_classes::space::Space;

use crate::split::Point;
use crate::split::extent::Extent;
use crate::split_tree::{SplitTree, TreeNode};

/// Boxes of nodes with no more rows are not kept.
const SMALL_ROWS: u32 = 64;

/// The rows of each leaf, in the order of the walk.
pub(super) fn nearer_first<const L: usize>(
    tree: &SplitTree,
    points: &[Point<L>],
    space: &Space,
) -> Vec<Range<u32>> {
    let nodes = Nodes::of(tree, points);
    let mut leaves = Vec::with_capacity(tree.nodes().len() / 2 + 1);
    let Some(mut last) = (!tree.nodes().is_empty()).then(|| nodes.extent(0)) else {
        return leaves;
    };
    let mut pending = vec![0];
    while let Some(node) = pending.pop() {
        let Some(sides) = nodes.children(node) else {
            last = nodes.extent(node);
            leaves.push(nodes.rows(node));
            continue;
        };
        let [inside, outside] = sides.map(|side| width_of_both(space, &nodes.extent(side), &last));
        let [inside_first, outside_first] = [[sides[1], sides[0]], [sides[0], sides[1]]];
        pending.extend(if inside <= outside { inside_first } else { outside_first });
    }
    leaves
}

/// How wide the box around two boxes is, over all attributes and by their weights.
fn width_of_both<const L: usize>(space: &Space, a: &Extent<L, 0>, b: &Extent<L, 0>) -> f64 {
    let width = |(at, axis): (usize, &albers_classes::space::Axis)| {
        axis.weight * axis.width(a.lo[at].min(b.lo[at]), a.hi[at].max(b.hi[at]))
    };
    space.axes.iter().enumerate().map(width).sum()
}

/// The nodes of a tree, by their places in it.
struct Nodes<'a, const L: usize> {
    points: &'a [Point<L>],
    /// The first row of each node, and the first after it.
    rows: Vec<Range<u32>>,
    /// The second child of each split; nothing of a leaf.
    outside: Vec<Option<u32>>,
    /// The box of each large node, and where it is.
    large: Vec<Extent<L, 0>>,
    large_of: Vec<u32>,
}

impl<'a, const L: usize> Nodes<'a, L> {
    fn of(tree: &SplitTree, points: &'a [Point<L>]) -> Nodes<'a, L> {
        let n_nodes = tree.nodes().len();
        let mut nodes = Nodes {
            points,
            rows: vec![0..0; n_nodes],
            outside: vec![None; n_nodes],
            large: Vec::new(),
            large_of: vec![u32::MAX; n_nodes],
        };
        // From the end, so that children come before their parents.
        let mut end = points.len() as u32;
        let mut roots: Vec<u32> = Vec::new();
        for (at, node) in tree.nodes().iter().enumerate().rev() {
            match *node {
                TreeNode::Leaf { n_rows } => {
                    nodes.rows[at] = end - n_rows..end;
                    end -= n_rows;
                    nodes.keep(at, |own| own.extent(at));
                }
                TreeNode::Cut(_) | TreeNode::Next(_) => {
                    let [inside, outside] =
                        [(); 2].map(|()| roots.pop().expect("a split has two children") as usize);
                    nodes.rows[at] = nodes.rows[inside].start..nodes.rows[outside].end;
                    nodes.outside[at] = Some(outside as u32);
                    nodes.keep(at, |own| {
                        let mut extent = own.extent(inside);
                        extent.merge(&own.extent(outside));
                        extent
                    });
                }
            }
            roots.push(at as u32);
        }
        nodes
    }

    /// Keeps the box of a node if it is large.
    fn keep(&mut self, at: usize, extent: impl FnOnce(&Self) -> Extent<L, 0>) {
        if self.rows[at].len() as u32 > SMALL_ROWS {
            let extent = extent(self);
            self.large_of[at] = self.large.len() as u32;
            self.large.push(extent);
        }
    }

    fn extent(&self, at: usize) -> Extent<L, 0> {
        match self.large.get(self.large_of[at] as usize) {
            Some(extent) => *extent,
            None => {
                let Range { start, end } = self.rows(at);
                Extent::of(&self.points[start as usize..end as usize])
            }
        }
    }

    fn rows(&self, at: usize) -> Range<u32> {
        self.rows[at].clone()
    }

    /// What lies inside follows its split.
    fn children(&self, at: usize) -> Option<[usize; 2]> {
        self.outside[at].map(|outside| [at + 1, outside as usize])
    }
}
