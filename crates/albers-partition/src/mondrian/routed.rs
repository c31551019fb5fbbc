//! The rows of a large table in memory, routed to the cells of the sampled top.

use albers_classes::points::{PointChunk, Points};
use rayon::prelude::*;

use super::Plan;
use super::cell::Cell;
use crate::split::Point;
use crate::split::rule::{Rule, RuleScratch};
use crate::top::{
    CELL_ROWS, KeptNode, RouteStep, RoutedCell, SAMPLE_ROWS, Top, cells_of_rows, is_sampled,
    sample_threshold,
};

/// Grows the top of the tree on a sample of the points.
pub fn grow_top<const L: usize, const M: usize>(points: &Points, plan: &Plan<'_>) -> Top {
    let (sample, row_ids) = sample::<L>(points);
    let facts = plan.has_rule().then(|| plan.facts.gather(&row_ids));
    Top::grow::<L, M>(sample, facts.as_ref(), points.n_rows(), CELL_ROWS, plan)
}

/// Routes all rows to the cells and merges cells that violate the requirement.
pub fn route(top: &Top, points: Points, plan: &Plan<'_>) -> Routed {
    let n_attributes = points.n_attributes();
    let steps = top.steps();
    let chunks: Vec<RoutedChunk> = points
        .into_chunks()
        .into_par_iter()
        .map(|chunk| RoutedChunk::new(chunk, &steps, top.n_cells()))
        .collect();
    let holds: Vec<bool> = (0..top.n_cells())
        .into_par_iter()
        .map(|cell_idx| cells_hold(&chunks, cell_idx, cell_idx + 1, plan))
        .collect();
    let kept = top.satisfying(
        0,
        |cell_idx| holds[cell_idx],
        |first, end| cells_hold(&chunks, first, end, plan),
    );
    let cells = kept
        .into_iter()
        .filter_map(|node| match node {
            KeptNode::Cell(cell) => Some(cell),
            KeptNode::Inner(_) => None,
        })
        .collect();
    Routed { chunks, cells, n_attributes }
}

/// About [`SAMPLE_ROWS`] points, chosen by a hash of their row number.
fn sample<const L: usize>(points: &Points) -> (Vec<Point<L>>, Vec<u32>) {
    let threshold = sample_threshold(SAMPLE_ROWS, points.n_rows());
    let mut sample = Vec::new();
    let mut row_ids = Vec::new();
    for chunk in points.chunks() {
        for row in 0..chunk.n_rows {
            let row_id = chunk.first_row + row as u32;
            if is_sampled(row_id, threshold) {
                let mut point = [0; L];
                for (lane, column) in chunk.columns.iter().enumerate() {
                    point[lane] = column[row];
                }
                sample.push(point);
                row_ids.push(row_id);
            }
        }
    }
    (sample, row_ids)
}

/// The rows of a chunk, cell by cell.
struct RoutedChunk {
    row_ids: Vec<u32>,
    codes: Vec<u32>,
    /// Where each cell's rows end.
    ends: Vec<u32>,
}

impl RoutedChunk {
    fn new(chunk: PointChunk, steps: &[RouteStep], n_cells: usize) -> RoutedChunk {
        let PointChunk { first_row, n_rows, columns } = chunk;
        let n_attributes = columns.len();
        let mut rows = vec![0; n_rows * n_attributes];
        for (attribute, column) in columns.into_iter().enumerate() {
            let slots = rows[attribute..].iter_mut().step_by(n_attributes);
            slots.zip(column).for_each(|(slot, code)| *slot = code);
        }
        let cell_of = cells_of_rows(&rows, n_attributes, steps, 0);
        let mut next = vec![0u32; n_cells + 1];
        cell_of.iter().for_each(|&cell| next[cell as usize + 1] += 1);
        for cell_idx in 0..n_cells {
            next[cell_idx + 1] += next[cell_idx];
        }
        let ends = next[1..].to_vec();
        let mut row_ids = vec![0; n_rows];
        let mut codes = vec![0; n_rows * n_attributes];
        for (row, &cell) in cell_of.iter().enumerate() {
            let slot = next[cell as usize] as usize;
            next[cell as usize] += 1;
            row_ids[slot] = first_row + row as u32;
            codes[slot * n_attributes..(slot + 1) * n_attributes]
                .copy_from_slice(&rows[row * n_attributes..(row + 1) * n_attributes]);
        }
        RoutedChunk { row_ids, codes, ends }
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
    let rows = chunks.iter().flat_map(|chunk| &chunk.row_ids[chunk.rows(first, end)]);
    let rule = Rule { requirement: plan.requirement, facts: plan.facts };
    rule.holds(rows.copied(), &mut RuleScratch::default())
}

/// All rows, sorted by cell within each chunk.
pub struct Routed {
    chunks: Vec<RoutedChunk>,
    cells: Vec<RoutedCell>,
    n_attributes: usize,
}

impl Routed {
    /// Number of cells.
    pub fn n_cells(&self) -> usize {
        self.cells.len()
    }

    /// The points of a cell.
    pub fn cell<const L: usize>(&self, cell_idx: usize, plan: &Plan<'_>) -> Cell<L> {
        debug_assert_eq!(plan.space.axes.len(), self.n_attributes);
        let RoutedCell { first, end, region, .. } = &self.cells[cell_idx];
        let n_rows = self.chunks.iter().map(|chunk| chunk.rows(*first, *end).len()).sum();
        let mut cell = Cell::with_capacity(n_rows, self.n_attributes, region.clone());
        for chunk in &self.chunks {
            let rows = chunk.rows(*first, *end);
            let codes = rows.start * self.n_attributes..rows.end * self.n_attributes;
            cell.extend(&chunk.row_ids[rows], &chunk.codes[codes]);
        }
        cell
    }
}
