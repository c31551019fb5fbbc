//! Rows in tree order become parts: one, or several along the cuts of their own tree.

use std::collections::BinaryHeap;
use std::ops::Range;

use albers_classes::packed::{RowBlock, RowLayout};
use albers_partition::split::cut::Cut;
use albers_partition::split_tree::{SplitTree, TreeNode};

use super::LivingPlan;
use super::part::{Part, cut_of, holds};
use crate::rplus_tree::grow::Source;

/// No more parts are made than this many times as many as the rows fill: a tree that takes few rows
/// off many, again and again, would become a crowd of tiny ones.
const MOST_PARTS: usize = 4;

/// A tree over rows of a pool.
#[derive(Default)]
pub(super) struct GrownRows {
    /// The places of the rows in the pool, leaf by leaf.
    pub(super) order: Vec<u32>,
    pub(super) tree: SplitTree,
    /// How many rows each leaf had when it was grown.
    pub(super) grown_rows: Vec<u32>,
}

/// The parts that some rows become, and the cuts that lead to them.
pub(super) struct Pieces {
    /// Parents first, what lies inside before what lies outside; the next part where there is no
    /// cut.
    pub(super) nodes: Vec<Option<Cut>>,
    pub(super) parts: Vec<Part>,
}

/// Where everything below each node of a tree lies.
pub(super) struct Shape {
    /// The first node after all below it.
    pub(super) node_ends: Vec<u32>,
    /// The child outside; of a leaf, the leaf.
    pub(super) outside: Vec<u32>,
    /// The leaves below it.
    pub(super) leaves: Vec<Range<u32>>,
}

impl Shape {
    pub(super) fn of(tree: &SplitTree) -> Shape {
        let nodes = tree.nodes();
        let mut shape = Shape {
            node_ends: vec![0; nodes.len()],
            outside: (0..nodes.len() as u32).collect(),
            leaves: vec![0..0; nodes.len()],
        };
        let mut next_leaf = tree.leaf_rows().count() as u32;
        let mut later: Vec<u32> = Vec::new();
        for (at, node) in nodes.iter().enumerate().rev() {
            match node {
                TreeNode::Leaf { .. } => {
                    shape.node_ends[at] = at as u32 + 1;
                    shape.leaves[at] = next_leaf - 1..next_leaf;
                    next_leaf -= 1;
                }
                TreeNode::Cut(_) | TreeNode::Next(_) => {
                    let [inside, outside] =
                        [(); 2].map(|()| later.pop().expect("every cut has two children") as usize);
                    shape.node_ends[at] = shape.node_ends[outside];
                    shape.outside[at] = outside as u32;
                    shape.leaves[at] = shape.leaves[inside].start..shape.leaves[outside].end;
                }
            }
            later.push(at as u32);
        }
        shape
    }
}

/// The places where the rows of each leaf start, and where the last one ends.
pub(super) fn starts_of(tree: &SplitTree) -> Vec<usize> {
    let mut starts = vec![0];
    let mut end = 0;
    starts.extend(tree.leaf_rows().map(|n_rows| {
        end += n_rows as usize;
        end
    }));
    starts
}

/// Makes parts of rows: one if they are few enough, and otherwise pieces of about the size that a
/// part should have.
pub(super) fn pieces(plan: &LivingPlan<'_>, pool: &RowBlock, grown: &GrownRows) -> Pieces {
    let n_rows = grown.order.len();
    let shape = Shape::of(&grown.tree);
    let starts = starts_of(&grown.tree);
    let rows_of = |node: usize| {
        let leaves = &shape.leaves[node];
        starts[leaves.start as usize]..starts[leaves.end as usize]
    };
    let is_divided = match n_rows > 2 * plan.part_rows {
        true => divided(plan, pool, grown, &shape, rows_of),
        false => vec![false; grown.tree.nodes().len()],
    };
    let mut pieces = Pieces { nodes: Vec::new(), parts: Vec::new() };
    let mut at = 0;
    while at < grown.tree.nodes().len() {
        if is_divided[at] {
            let cut = cut_of(&grown.tree.nodes()[at]).map(Cut::without_rest);
            pieces.nodes.push(cut);
            at += 1;
            continue;
        }
        let end = shape.node_ends[at] as usize;
        let leaves = &shape.leaves[at];
        let own = leaves.start as usize..leaves.end as usize;
        let rows = gathered(plan.bulk.layout, pool, &grown.order[rows_of(at)]);
        let mut tree = SplitTree::default();
        grown.tree.nodes()[at..end].iter().for_each(|&node| tree.push(node));
        pieces.nodes.push(None);
        pieces.parts.push(Part::new(rows, tree, grown.grown_rows[own].to_vec()));
        at = end;
    }
    pieces
}

/// Which nodes become cuts of the directory: the largest first, until all are small.
fn divided(
    plan: &LivingPlan<'_>,
    pool: &RowBlock,
    grown: &GrownRows,
    shape: &Shape,
    rows_of: impl Fn(usize) -> Range<usize>,
) -> Vec<bool> {
    let nodes = grown.tree.nodes();
    let mut is_divided = vec![false; nodes.len()];
    let most = MOST_PARTS * grown.order.len().div_ceil(plan.part_rows);
    let source = Source { layout: plan.bulk.layout, block: pool, facts: plan.bulk.facts };
    let suffices = |node: usize| {
        !plan.bulk.has_coarser || holds(source, &grown.order[rows_of(node)], plan.bulk.strictest)
    };
    let with_size = |node: usize| (rows_of(node).len(), std::cmp::Reverse(node));
    let mut largest_first = BinaryHeap::from([with_size(0)]);
    let mut n_parts = 1;
    while let Some((n_rows, std::cmp::Reverse(node))) = largest_first.pop() {
        if n_rows <= plan.part_rows || n_parts >= most {
            break;
        }
        let children = [node + 1, shape.outside[node] as usize];
        if cut_of(&nodes[node]).is_some() && children.into_iter().all(suffices) {
            is_divided[node] = true;
            n_parts += 1;
            largest_first.extend(children.map(with_size));
        }
    }
    is_divided
}

/// The rows at some places of a pool, neighbours together.
pub(super) fn gathered(layout: &RowLayout, pool: &RowBlock, order: &[u32]) -> RowBlock {
    let mut rows = RowBlock::with_capacity(layout, order.len());
    for run in order.chunk_by(|a, b| *b == *a + 1) {
        let start = run[0] as usize;
        rows.extend(layout, pool, start..start + run.len());
    }
    rows
}
