//! The rows of a large table in memory, routed to the cells of the sampled top.

use albers_classes::points::{PointChunk, Points};
use albers_table::row::RowIdx;
use rayon::prelude::*;

use super::{CellRows, Plan};
use crate::split::rule::{Rule, RuleScratch};
use crate::top::{KeptNode, RouteStep, RoutedCell, Top, cells_of_rows};

/// Routes all rows of a table to the cells, and merges cells that violate the requirement.
pub fn route(top: &Top, points: Points, plan: &Plan<'_>) -> RoutedRows {
    let steps = top.steps();
    let n_attributes = points.n_attributes();
    let chunks: Vec<RoutedChunk> = points
        .into_chunks()
        .into_par_iter()
        .map(|chunk| {
            let PointChunk { first_row, n_rows, columns } = chunk;
            let mut codes = vec![0; n_rows * n_attributes];
            for (attribute, column) in columns.into_iter().enumerate() {
                let slots = codes[attribute..].iter_mut().step_by(n_attributes);
                slots.zip(column).for_each(|(slot, code)| *slot = code);
            }
            RoutedChunk::new(first_row, &codes, n_attributes, &steps, top.n_cells())
        })
        .collect();
    RoutedRows::new(top, chunks, n_attributes, plan)
}

/// The rows of a chunk, cell by cell.
struct RoutedChunk {
    row_idxs: Vec<RowIdx>,
    codes: Vec<u32>,
    /// Where each cell's rows end.
    ends: Vec<u32>,
}

impl RoutedChunk {
    fn new(
        first_row: RowIdx,
        rows: &[u32],
        n_attributes: usize,
        steps: &[RouteStep],
        n_cells: usize,
    ) -> RoutedChunk {
        let cell_of = cells_of_rows(rows, n_attributes, steps, 0);
        let mut next = vec![0u32; n_cells + 1];
        cell_of.iter().for_each(|&cell| next[cell as usize + 1] += 1);
        for cell_idx in 0..n_cells {
            next[cell_idx + 1] += next[cell_idx];
        }
        let ends = next[1..].to_vec();
        let mut row_idxs = vec![first_row; cell_of.len()];
        let mut codes = vec![0; rows.len()];
        let own_rows = first_row.take(cell_of.len());
        for ((row, row_idx), &cell) in own_rows.enumerate().zip(&cell_of) {
            let slot = next[cell as usize] as usize;
            next[cell as usize] += 1;
            row_idxs[slot] = row_idx;
            codes[slot * n_attributes..(slot + 1) * n_attributes]
                .copy_from_slice(&rows[row * n_attributes..(row + 1) * n_attributes]);
        }
        RoutedChunk { row_idxs, codes, ends }
    }

    /// The rows of a run of cells.
    fn rows(&self, first: usize, end: usize) -> std::ops::Range<usize> {
        let start = if first == 0 { 0 } else { self.ends[first - 1] };
        start as usize..self.ends[end - 1] as usize
    }
}

/// Whether the rows of a run of cells satisfy the requirement together.
fn cells_hold(chunks: &[RoutedChunk], first: usize, end: usize, plan: &Plan<'_>) -> bool {
    if let Some(k) = plan.requirement.is_only_row_count() {
        let n_rows: usize = chunks.iter().map(|chunk| chunk.rows(first, end).len()).sum();
        return n_rows as u64 >= k;
    }
    let rows = chunks.iter().flat_map(|chunk| &chunk.row_idxs[chunk.rows(first, end)]);
    let rule = Rule { requirement: plan.requirement, facts: plan.facts };
    rule.holds(rows.map(|row| row.get()), &mut RuleScratch::default())
}

/// All rows, sorted by cell within each chunk.
pub struct RoutedRows {
    chunks: Vec<RoutedChunk>,
    cells: Vec<RoutedCell>,
    /// The splits between them.
    n_kept: usize,
    n_attributes: usize,
}

impl RoutedRows {
    fn new(
        top: &Top,
        chunks: Vec<RoutedChunk>,
        n_attributes: usize,
        plan: &Plan<'_>,
    ) -> RoutedRows {
        let holds: Vec<bool> = (0..top.n_cells())
            .into_par_iter()
            .map(|cell_idx| cells_hold(&chunks, cell_idx, cell_idx + 1, plan))
            .collect();
        let kept = top.satisfying(
            0,
            |cell_idx| holds[cell_idx],
            |first, end| cells_hold(&chunks, first, end, plan),
        );
        let n_kept = KeptNode::n_splits(&kept);
        let cells = kept
            .into_iter()
            .filter_map(|node| match node {
                KeptNode::Cell(cell) => Some(cell),
                KeptNode::Inner(_) => None,
            })
            .collect();
        RoutedRows { chunks, cells, n_kept, n_attributes }
    }

    /// Number of cells.
    pub fn n_cells(&self) -> usize {
        self.cells.len()
    }

    /// The splits of the tree that are left between them.
    pub fn n_kept(&self) -> usize {
        self.n_kept
    }

    /// The rows of a cell.
    pub fn cell<const L: usize>(&self, cell_idx: usize) -> CellRows<L> {
        let RoutedCell { first, end, region, .. } = &self.cells[cell_idx];
        let ranges = || self.chunks.iter().map(|chunk| (chunk, chunk.rows(*first, *end)));
        let n_rows = ranges().map(|(_, rows)| rows.len()).sum();
        let mut cell = CellRows {
            points: Vec::with_capacity(n_rows),
            row_idxs: Vec::with_capacity(n_rows),
            region: region.clone(),
        };
        for (chunk, rows) in ranges() {
            let codes = &chunk.codes[rows.start * self.n_attributes..rows.end * self.n_attributes];
            cell.row_idxs.extend_from_slice(&chunk.row_idxs[rows]);
            cell.points.extend(codes.chunks_exact(self.n_attributes).map(|row| {
                let mut point = [0; L];
                point[..row.len()].copy_from_slice(row);
                point
            }));
        }
        cell
    }
}
