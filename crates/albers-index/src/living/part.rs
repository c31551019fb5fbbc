//! A part of the tree: its rows in tree order, and the history of their splits.

use albers_classes::Span;
use albers_classes::packed::{RowBlock, RowLayout};
use albers_classes::region::NO_CODES;
use albers_partition::split::rule::{Rule, RuleScratch};
use albers_partition::split_tree::{SplitTree, TreeNode};
use albers_partition::top::{cells_of_rows, steps_of};
use albers_privacy::Requirement;
use albers_table::code::Code;

use crate::buffer_tree::BulkPlan;
use crate::buffer_tree::build::codes_of;
use crate::granularity::leaves::{Index, LeafRuns};
use crate::rplus_tree::RPlusTree;
use crate::rplus_tree::grow::Source;

/// The rows below one node of the tree. The rows of a leaf stand by ascending row number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    rows: RowBlock,
    tree: SplitTree,
    /// How many rows each leaf had when a split above it was chosen last; a leaf that was split
    /// alone leaves each piece its share.
    grown_rows: Vec<u32>,
}

impl Part {
    pub(super) fn new(rows: RowBlock, tree: SplitTree, grown_rows: Vec<u32>) -> Part {
        Part { rows, tree, grown_rows }
    }

    /// A part without rows: the state of an index that has none.
    pub fn empty() -> Part {
        Part::of_leaf(RowBlock::default())
    }

    /// A part of one leaf.
    pub(super) fn of_leaf(rows: RowBlock) -> Part {
        let n_rows = rows.n_rows();
        Part { rows, tree: SplitTree::leaf(n_rows), grown_rows: vec![n_rows as u32] }
    }

    /// The rows, leaf by leaf.
    pub fn rows(&self) -> &RowBlock {
        &self.rows
    }

    /// The splits and leaves.
    pub fn tree(&self) -> &SplitTree {
        &self.tree
    }

    /// How many rows each leaf had when it was grown.
    pub(super) fn grown_rows(&self) -> &[u32] {
        &self.grown_rows
    }

    pub(super) fn into_parts(self) -> (RowBlock, SplitTree, Vec<u32>) {
        (self.rows, self.tree, self.grown_rows)
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.rows.n_rows()
    }

    /// Number of leaves.
    pub fn n_leaves(&self) -> usize {
        self.grown_rows.len()
    }

    /// Where the rows of each leaf end.
    pub fn leaf_ends(&self) -> Vec<u32> {
        let sum = |end: &mut u32, n_rows: u32| {
            *end += n_rows;
            Some(*end)
        };
        self.tree.leaf_rows().scan(0, sum).collect()
    }

    /// The least and greatest code of each leaf's rows, leaf by leaf.
    pub fn leaf_boxes(&self, layout: &RowLayout) -> Vec<Span> {
        let n_attributes = layout.n_attributes();
        let mut boxes = vec![NO_CODES; self.n_leaves() * n_attributes];
        let mut codes = vec![0; n_attributes];
        let mut row = 0;
        for (own, n_rows) in boxes.chunks_exact_mut(n_attributes).zip(self.tree.leaf_rows()) {
            for at in row..row + n_rows as usize {
                self.rows.codes(layout, at, &mut codes);
                for (span, &code) in own.iter_mut().zip(&codes) {
                    let code = Code::new(code);
                    *span = (span.0.min(code), span.1.max(code));
                }
            }
            row += n_rows as usize;
        }
        boxes
    }

    /// The part as an index of its own, of which the rows stand in tree order.
    pub fn index(&self, layout: &RowLayout) -> RPlusTree {
        RPlusTree::new(layout.n_attributes(), &self.tree, self.leaf_boxes(layout))
    }

    /// The leaves with their rows, for coarser classes. `index` is that of the part, `order` its
    /// places from 0 on.
    pub fn leaf_runs<'s>(
        &'s self,
        plan: &'s BulkPlan<'_>,
        index: &'s RPlusTree,
        order: &'s [u32],
    ) -> LeafRuns<'s> {
        assert_eq!(order.len(), self.n_rows(), "the order is that of the rows");
        let source = Source { layout: plan.layout, block: &self.rows, facts: plan.facts };
        LeafRuns { source, order, ends: index.leaf_ends(), index: Index::Tree(index) }
    }

    /// Asserts that the leaves hold all rows, each where routing finds it and in the order of their
    /// numbers, that no leaf is empty unless the part is, and that every leaf satisfies the
    /// requirement; for tests.
    ///
    /// # Panics
    /// When that is not so.
    pub fn check_invariants(&self, plan: &BulkPlan<'_>) {
        let layout = plan.layout;
        let ends = self.leaf_ends();
        assert_eq!(ends.last().copied(), Some(self.n_rows() as u32), "leaf sizes add up");
        assert_eq!(ends.len(), self.n_leaves(), "every leaf knows what it had");
        let codes = codes_of(layout, &self.rows, 0..self.n_rows());
        let steps = steps_of(self.tree.nodes().iter().map(cut_of));
        let leaf_of = cells_of_rows(&codes, layout.n_attributes(), &steps, 0);
        let source = Source { layout, block: &self.rows, facts: plan.facts };
        let mut start = 0;
        for (leaf, &end) in (0u32..).zip(&ends) {
            let rows: Vec<u32> = (start..end).collect();
            for &row in &rows {
                assert_eq!(leaf_of[row as usize], leaf, "every row is found where it is");
            }
            let number = |&row: &u32| self.rows.row_id(layout, row as usize);
            assert!(rows.is_sorted_by_key(number), "rows stand by their numbers");
            if self.n_rows() > 0 {
                assert!(holds(source, &rows, plan.plan.requirement), "every leaf satisfies");
            }
            start = end;
        }
    }
}

/// The cut of a node, unless it is a leaf.
pub(super) fn cut_of(node: &TreeNode) -> Option<albers_partition::split::cut::Cut> {
    match node {
        TreeNode::Leaf { .. } => None,
        TreeNode::Cut(cut) | TreeNode::Next(cut) => Some(*cut),
    }
}

/// Whether some rows satisfy a requirement.
pub(super) fn holds(source: Source<'_>, rows: &[u32], requirement: &Requirement) -> bool {
    if let Some(k) = requirement.is_only_row_count() {
        return rows.len() as u64 >= k;
    }
    if (rows.len() as u64) < requirement.min_rows() {
        return false;
    }
    let facts = source.facts.facts_of(source.layout, source.block, rows.iter().copied());
    let rule = Rule { requirement, facts: &facts };
    rule.holds(0..rows.len() as u32, &mut RuleScratch::default())
}
