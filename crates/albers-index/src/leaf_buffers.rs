//! Leaf buffers: rows that came later, grouped by the leaves of a tree that was grown before.
//!
//! ```text
//!   rows ──route──► buffers of runs of leaves ──blocks──► spill store
//!                        │ all rows have arrived
//!                        ▼
//!   run by run:  load ──► sorted by leaf ──► sink
//!                  │ does not fit
//!                  └──► smaller runs; a leaf that does not fit alone is handed on in blocks
//! ```
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 4 (recoding functions); the buffers are those
//! of the buffer tree.
//! Departures: the tree is given, and nothing is cut.
//! Guarantee: the leaf of a row follows from its codes alone. Memory decides what is spilled, and
//! nothing else.
//! Cost: the tree in memory, 24 bytes for each split and each leaf; every row is written and read
//! once, and once more where a run turns out to be larger than it was thought.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use albers_classes::Span;
use albers_classes::packed::{RowBlock, RowLayout};
use albers_classes::region::{NO_CODES, span};
use albers_partition::split::cut::Cut;
use albers_partition::top::{RouteStep, cells_of_rows, steps_of};
use albers_storage::memory_budget::{MemoryBudget, Reservation};
use albers_storage::spill::{Block, SpillStore};
use albers_storage::{Result, StorageError};
use rayon::prelude::*;

use crate::buffer_tree::build::codes_of;
use crate::buffer_tree::{Intake, RoutedRows, Router, Sizes, sorted_by_part};

/// Rows are sorted into leaves in stretches of this many.
const STRETCH_ROWS: usize = 16_384;

/// A tree of splits, as comparisons.
pub struct LeafTree {
    steps: Vec<RouteStep>,
    n_leaves: usize,
}

impl LeafTree {
    /// Of nodes that are given with parents first and what lies inside before what lies outside; one
    /// without a cut is the next leaf. Nothing if a cut lacks a side, or there is more than one tree.
    pub fn of(nodes: &[Option<Cut>]) -> Option<LeafTree> {
        let mut n_open = 1usize;
        for node in nodes {
            n_open = match node {
                _ if n_open == 0 => return None,
                Some(_) => n_open + 1,
                None => n_open - 1,
            };
        }
        let is_whole = n_open == 0 && u32::try_from(nodes.len()).is_ok();
        is_whole.then(|| LeafTree {
            steps: steps_of(nodes.iter().copied()),
            n_leaves: nodes.iter().filter(|node| node.is_none()).count(),
        })
    }

    /// What a tree of so many nodes takes.
    pub fn n_bytes(n_nodes: usize) -> usize {
        n_nodes * size_of::<RouteStep>()
    }

    /// Number of leaves.
    pub fn n_leaves(&self) -> usize {
        self.n_leaves
    }

    /// The leaf of each of some rows, given their codes row by row.
    pub fn leaves_of(&self, codes: &[u32], n_attributes: usize) -> Vec<u32> {
        cells_of_rows(codes, n_attributes, &self.steps, 0)
    }
}

/// How rows are packed and what they may take.
#[derive(Clone, Copy)]
pub struct LeafPlan<'a> {
    /// How rows are packed.
    pub layout: &'a RowLayout,
    /// The memory of all.
    pub budget: &'a MemoryBudget,
    /// Where what does not fit goes.
    pub store: &'a SpillStore,
    /// The sizes of things.
    pub sizes: Sizes,
}

impl LeafPlan<'_> {
    /// About how much a row takes while its run is sorted, its payload left out.
    fn row_bytes(&self) -> usize {
        // The row, its leaf, its place before and after.
        self.layout.stride_bytes() + 16
    }
}

/// The rows of a run of leaves while they arrive.
#[derive(Default)]
struct Run {
    leaves: Range<u32>,
    buffer: RowBlock,
    blocks: Vec<Block>,
    n_rows: u64,
    n_payload_bytes: usize,
}

impl Run {
    fn of(leaves: Range<u32>) -> Run {
        Run { leaves, ..Run::default() }
    }

    fn append(&mut self, plan: &LeafPlan<'_>, rows: &RowBlock, range: Range<usize>) -> Result<()> {
        let before = self.buffer.n_bytes();
        self.buffer.extend(plan.layout, rows, range.clone());
        self.n_rows += range.len() as u64;
        let n_bytes = self.buffer.n_bytes() - before;
        self.n_payload_bytes += n_bytes - range.len() * plan.layout.stride_bytes();
        if self.buffer.n_bytes() >= plan.sizes.block_bytes {
            self.flush(plan)?;
        }
        Ok(())
    }

    fn flush(&mut self, plan: &LeafPlan<'_>) -> Result<()> {
        if self.buffer.n_rows() > 0 {
            let mut bytes = Vec::with_capacity(16 + self.buffer.n_bytes());
            self.buffer.write_to(&mut bytes);
            self.buffer.clear();
            self.blocks.push(plan.store.put(bytes)?);
        }
        Ok(())
    }

    /// What it takes to have all its rows at hand.
    fn n_bytes(&self, plan: &LeafPlan<'_>) -> usize {
        self.n_payload_bytes + self.n_rows as usize * plan.row_bytes()
    }
}

/// Buffers that take in rows, run of leaves by run of leaves.
pub struct LeafBuffers<'a> {
    plan: LeafPlan<'a>,
    tree: Arc<LeafTree>,
    router: Router<'a>,
    runs: Vec<Run>,
    buffers: Reservation,
}

/// Some leaves with their rows.
pub struct LoadedLeaves<'r> {
    /// The leaves that have rows, ascending.
    pub leaves: Vec<u32>,
    /// The rows, among others.
    pub rows: &'r RowBlock,
    /// Their places, leaf by leaf.
    pub order: Vec<u32>,
    /// Where each leaf ends in the order.
    pub ends: Vec<u32>,
    /// The least and the greatest code of each leaf on each attribute.
    pub boxes: Vec<Span>,
}

/// What comes out of leaf buffers.
pub enum Recoded<'r> {
    /// Leaves in memory.
    Leaves(LoadedLeaves<'r>),
    /// A leaf whose rows do not fit there.
    Giant {
        /// The leaf.
        leaf: u32,
        /// Its rows, packed.
        blocks: &'r [Block],
        /// How many.
        n_rows: u64,
    },
}

type Sink<'s, E> = dyn FnMut(Recoded<'_>) -> std::result::Result<(), E> + 's;

impl<'a> LeafBuffers<'a> {
    /// Buffers for about so many rows, each with about `payload_bytes` besides its codes. The weights
    /// of the leaves tell how rows are thought to be divided among them: what is thought decides
    /// nothing but what is spilled.
    pub fn new(
        plan: LeafPlan<'a>,
        tree: Arc<LeafTree>,
        weights: &[u32],
        (n_rows, payload_bytes): (u64, usize),
    ) -> Result<LeafBuffers<'a>> {
        let Sizes { part_bytes, buffer_bytes, block_bytes } = plan.sizes;
        let n_bytes = n_rows as usize * (plan.row_bytes() + payload_bytes);
        let most = (buffer_bytes / block_bytes).max(2);
        let n_runs = n_bytes.div_ceil(part_bytes.max(1)).clamp(1, most);
        let runs = runs_of(0..tree.n_leaves as u32, weights, n_runs);
        LeafBuffers::of_runs(plan, tree, runs)
    }

    fn of_runs(
        plan: LeafPlan<'a>,
        tree: Arc<LeafTree>,
        runs: Vec<Range<u32>>,
    ) -> Result<LeafBuffers<'a>> {
        let n_bytes = runs.len() * plan.sizes.block_bytes;
        let buffers = plan.budget.try_reserve("the buffers of the leaves", n_bytes)?;
        let n_attributes = plan.layout.n_attributes();
        let ends: Vec<u32> = runs.iter().map(|run| run.end).collect();
        let routed = tree.clone();
        let run_of = move |codes: &[u32]| {
            let mut leaves = routed.leaves_of(codes, n_attributes);
            for leaf in &mut leaves {
                *leaf = ends.partition_point(|&end| end <= *leaf) as u32;
            }
            leaves
        };
        let router = Router::new(plan.layout, Arc::new(run_of), runs.len());
        let runs = runs.into_iter().map(Run::of).collect();
        Ok(LeafBuffers { plan, tree, router, runs, buffers })
    }

    /// All rows have arrived.
    pub fn gathered(mut self) -> Result<LeafGroups<'a>> {
        for run in &mut self.runs {
            run.flush(&self.plan)?;
        }
        let LeafBuffers { plan, tree, runs, .. } = self;
        drop(self.buffers);
        Ok(LeafGroups { plan, tree, runs })
    }
}

/// Runs of leaves of about equal weight, each with a leaf or more.
fn runs_of(leaves: Range<u32>, weights: &[u32], n_runs: usize) -> Vec<Range<u32>> {
    let weight_of = |leaf: u32| u64::from(weights.get(leaf as usize).copied().unwrap_or(1).max(1));
    let all: u64 = leaves.clone().map(weight_of).sum();
    let most = all.div_ceil(n_runs.max(1) as u64).max(1);
    let mut runs = Vec::new();
    let (mut start, mut weight) = (leaves.start, 0);
    for leaf in leaves.clone() {
        weight += weight_of(leaf);
        if weight >= most && runs.len() + 1 < n_runs {
            runs.push(start..leaf + 1);
            (start, weight) = (leaf + 1, 0);
        }
    }
    if start < leaves.end {
        runs.push(start..leaves.end);
    }
    runs
}

impl<'a> Intake<'a> for LeafBuffers<'a> {
    fn router(&self) -> Router<'a> {
        self.router.clone()
    }

    fn append(&mut self, rows: &RoutedRows) -> Result<()> {
        for (run, range) in self.runs.iter_mut().zip(rows.ranges()) {
            if !range.is_empty() {
                run.append(&self.plan, rows.block(), range)?;
            }
        }
        Ok(())
    }

    fn n_rows(&self) -> u64 {
        self.runs.iter().map(|run| run.n_rows).sum()
    }

    fn n_payload_bytes(&self) -> usize {
        self.runs.iter().map(|run| run.n_payload_bytes).sum()
    }
}

/// All rows, by runs of leaves; they can be looked at as often as needed.
pub struct LeafGroups<'a> {
    plan: LeafPlan<'a>,
    tree: Arc<LeafTree>,
    runs: Vec<Run>,
}

impl LeafGroups<'_> {
    /// Number of rows.
    pub fn n_rows(&self) -> u64 {
        self.runs.iter().map(|run| run.n_rows).sum()
    }

    /// Bytes of their payloads.
    pub fn n_payload_bytes(&self) -> usize {
        self.runs.iter().map(|run| run.n_payload_bytes).sum()
    }

    /// Shows all leaves that have rows, from left to right; the sink may fail in its own way.
    pub fn visit<E: From<StorageError>>(
        &mut self,
        sink: &mut Sink<'_, E>,
    ) -> std::result::Result<(), E> {
        let mut pending: Vec<Run> = std::mem::take(&mut self.runs);
        pending.reverse();
        let mut done = Vec::with_capacity(pending.len());
        while let Some(run) = pending.pop() {
            if run.n_rows == 0 {
                continue;
            }
            let n_bytes = run.n_bytes(&self.plan);
            match self.plan.budget.try_reserve("some leaves and their rows", n_bytes) {
                Ok(_memory) => {
                    let rows = self.load(&run)?;
                    sink(Recoded::Leaves(self.sorted(&rows, run.leaves.clone())))?;
                    done.push(run);
                }
                Err(StorageError::OverBudget { .. }) if run.leaves.len() > 1 => {
                    let mut smaller = self.divided(run)?;
                    smaller.reverse();
                    pending.extend(smaller);
                }
                Err(StorageError::OverBudget { .. }) => {
                    let (leaf, n_rows) = (run.leaves.start, run.n_rows);
                    sink(Recoded::Giant { leaf, blocks: &run.blocks, n_rows })?;
                    done.push(run);
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.runs = done;
        Ok(())
    }

    fn load(&self, run: &Run) -> Result<RowBlock> {
        let mut rows = RowBlock::with_capacity(self.plan.layout, run.n_rows as usize);
        for block in &run.blocks {
            rows.read_from(self.plan.layout, &self.plan.store.read(block)?);
        }
        Ok(rows)
    }

    /// The rows of a run, sorted by leaf.
    fn sorted<'r>(&self, rows: &'r RowBlock, run: Range<u32>) -> LoadedLeaves<'r> {
        let layout = self.plan.layout;
        let n_attributes = layout.n_attributes();
        let mut leaf_of = vec![0; rows.n_rows()];
        leaf_of.par_chunks_mut(STRETCH_ROWS).enumerate().for_each(|(stretch, leaves)| {
            let start = stretch * STRETCH_ROWS;
            let codes = codes_of(layout, rows, start..start + leaves.len());
            let found = self.tree.leaves_of(&codes, n_attributes);
            leaves.iter_mut().zip(found).for_each(|(slot, leaf)| *slot = leaf - run.start);
        });
        let (order, all_ends) = sorted_by_part(&leaf_of, run.len());
        let (mut leaves, mut ends) = (Vec::new(), Vec::new());
        for (leaf, &end) in run.zip(&all_ends) {
            if end > ends.last().copied().unwrap_or(0) {
                leaves.push(leaf);
                ends.push(end);
            }
        }
        let box_of = |place: usize| {
            let start = if place == 0 { 0 } else { ends[place - 1] };
            let mut around = vec![(u32::MAX, 0); n_attributes];
            let mut codes = vec![0; n_attributes];
            for &row in &order[start as usize..ends[place] as usize] {
                rows.codes(layout, row as usize, &mut codes);
                for (own, &code) in around.iter_mut().zip(&codes) {
                    *own = (own.0.min(code), own.1.max(code));
                }
            }
            around.into_iter().map(|(lo, hi)| if lo > hi { NO_CODES } else { span(lo, hi) })
        };
        let boxes: Vec<Span> = (0..ends.len()).into_par_iter().flat_map_iter(box_of).collect();
        LoadedLeaves { leaves, rows, order, ends, boxes }
    }

    /// The rows of a run that does not fit in memory, in smaller ones.
    fn divided(&self, run: Run) -> Result<Vec<Run>> {
        let plan = self.plan;
        let most = (plan.sizes.buffer_bytes / plan.sizes.block_bytes).max(2);
        let wanted = (run.n_bytes(&plan) / plan.sizes.part_bytes.max(1) + 1) * 2;
        let runs = runs_of(run.leaves.clone(), &[], wanted.clamp(2, most));
        let mut smaller = LeafBuffers::of_runs(plan, self.tree.clone(), runs)?;
        let router = smaller.router();
        for block in run.blocks {
            let mut rows = RowBlock::default();
            rows.read_from(plan.layout, &plan.store.take(block)?);
            smaller.append(&router.route_packed(&rows))?;
        }
        Ok(smaller.gathered()?.runs)
    }
}
