//! Leaves with their rows, of any index: what coarser classes are made of.

use std::ops::Range;

use albers_classes::Span;
use albers_classes::region::NO_CODES;
use albers_partition::split::Point;
use albers_partition::split::extent::Extent;
use albers_privacy::{ClassSummary, Requirement};
use albers_table::code::Code;
use rayon::prelude::*;

use crate::bang_file::BangFile;
use crate::rplus_tree::RPlusTree;
use crate::rplus_tree::grow::Source;

/// The index that leaves belong to.
#[derive(Clone, Copy)]
pub enum Index<'a> {
    /// The leaves of a tree.
    Tree(&'a RPlusTree),
    /// The blocks of a BANG file.
    Blocks(&'a BangFile),
}

/// The leaves of an index, with their rows.
#[derive(Clone, Copy)]
pub struct LeafRuns<'a> {
    /// Where the rows are packed.
    pub source: Source<'a>,
    /// The places of the rows, leaf by leaf.
    pub order: &'a [u32],
    /// Where each leaf ends in the order.
    pub ends: &'a [u32],
    /// What the leaves belong to.
    pub index: Index<'a>,
}

impl<'a> LeafRuns<'a> {
    /// Number of leaves.
    pub fn n_leaves(&self) -> usize {
        self.ends.len()
    }

    /// Number of attributes.
    pub fn n_attributes(&self) -> usize {
        self.source.layout.n_attributes()
    }

    /// The rows of a run of leaves, as places in what they are packed in.
    pub fn rows_of(&self, leaves: Range<u32>) -> &'a [u32] {
        let end_of = |leaf: u32| if leaf == 0 { 0 } else { self.ends[leaf as usize - 1] as usize };
        &self.order[end_of(leaves.start)..end_of(leaves.end)]
    }

    /// The rows of a leaf.
    pub fn rows(&self, leaf: u32) -> &'a [u32] {
        self.rows_of(leaf..leaf + 1)
    }

    /// How many rows each leaf has.
    pub fn sizes(&self) -> Vec<u64> {
        (0..self.n_leaves() as u32).map(|leaf| self.rows(leaf).len() as u64).collect()
    }

    /// Adds rows to a summary.
    fn add(&self, rows: &[u32], summary: &mut ClassSummary) {
        let Source { layout, block, facts } = self.source;
        let facts = facts.facts_of(layout, block, rows.iter().copied());
        (0..rows.len()).for_each(|row| facts.add(row, summary));
    }

    /// Adds the rows of some leaves to a summary.
    pub fn add_leaves(&self, leaves: &[u32], summary: &mut ClassSummary) {
        leaves.iter().for_each(|&leaf| self.add(self.rows(leaf), summary));
    }

    /// How many rows some leaves have.
    pub fn count(&self, leaves: &[u32]) -> u64 {
        leaves.iter().map(|&leaf| self.rows(leaf).len() as u64).sum()
    }

    /// Whether the rows of some leaves satisfy a requirement.
    pub fn hold(&self, leaves: &[u32], requirement: &Requirement) -> bool {
        if let Some(k) = requirement.is_only_row_count() {
            return self.count(leaves) >= k;
        }
        if self.count(leaves) < requirement.min_rows() {
            return false;
        }
        let mut summary = ClassSummary::new(requirement.shape());
        self.add_leaves(leaves, &mut summary);
        requirement.holds(&summary)
    }

    /// The box around the rows of some leaves, with the values seen on attributes that have few.
    pub fn extent<const L: usize, const M: usize>(&self, leaves: &[u32]) -> Extent<L, M> {
        let Source { layout, block, .. } = self.source;
        let mut extent = Extent::EMPTY;
        for &row in leaves.iter().flat_map(|&leaf| self.rows(leaf)) {
            let mut point: Point<L> = [0; L];
            block.codes(layout, row as usize, &mut point);
            extent.add(&point);
        }
        extent
    }

    /// The least and greatest code of each leaf's rows, leaf by leaf.
    pub fn boxes(&self) -> Vec<Span> {
        if let Index::Tree(tree) = self.index {
            return tree.leaf_boxes().to_vec();
        }
        let Source { layout, block, .. } = self.source;
        let n_attributes = self.n_attributes();
        let mut boxes = vec![NO_CODES; self.n_leaves() * n_attributes];
        let by_leaf = boxes.par_chunks_exact_mut(n_attributes.max(1)).enumerate();
        by_leaf.for_each(|(leaf, spans)| {
            for &row in self.rows(leaf as u32) {
                for (attribute, span) in spans.iter_mut().enumerate() {
                    let code = Code::new(block.code(layout, row as usize, attribute));
                    *span = (span.0.min(code), span.1.max(code));
                }
            }
        });
        boxes
    }
}
