//! The top of the tree of a large table: cuts chosen on a sample, then all rows routed to cells.

use albers_table::points::{PointChunk, Points};
use rayon::prelude::*;

use super::cell::{Cell, apply};
use super::{Plan, Region, whole_region};
use crate::space::{AxisKind, Space};
use crate::split::extent::Weigher;
use crate::split::rule::{Allowance, Rule, RuleScratch};
use crate::split::{Chooser, Point, Scratch, Split, place_of, sort_by_part, value_of};

const SAMPLE_ROWS: usize = 1 << 18;
/// A cell of about this many rows fits in a core's cache while it is cut.
const CELL_ROWS: usize = 16_384;
/// No part of the sample gets smaller: fewer points say too little about the rows they stand for.
const MIN_SAMPLE_ROWS: usize = 32;

/// A tree of splits whose leaves are cells, numbered from left to right.
pub struct Top {
    nodes: Vec<TopNode>,
    n_cells: usize,
}

enum TopNode {
    Cell { cell_idx: u32, region: Option<Region> },
    Inner { split: Split, children: Vec<u32>, region: Option<Region> },
}

impl Top {
    /// Grows the tree on a sample of the points.
    pub fn grow<const L: usize, const M: usize>(points: &Points, plan: &Plan<'_>) -> Top {
        let (mut sample, row_ids) = sample::<L>(points);
        let facts = plan.has_rule().then(|| plan.facts.gather(&row_ids));
        let chooser = Chooser::<L, M> {
            space: plan.space,
            weigher: Weigher::new(plan.space),
            allowance: Allowance {
                min_rows: plan.min_rows().max(MIN_SAMPLE_ROWS),
                rule: facts.as_ref().map(|facts| Rule { requirement: plan.requirement, facts }),
            },
            policy: plan.policy,
            may_sample: true,
            arch: pulp::Arch::new(),
        };
        let mut locals: Vec<u32> = (0..sample.len() as u32).collect();
        let cell_sample =
            (CELL_ROWS as u64 * sample.len() as u64 / points.n_rows() as u64) as usize;
        let mut top = Top { nodes: Vec::new(), n_cells: 0 };
        let mut scratch = Scratch::default();
        // Children are pushed in reverse, so that cells are numbered from left to right.
        let mut pending = vec![(0, sample.len(), None, whole_region(plan))];
        while let Some((start, end, parent, region)) = pending.pop() {
            let node_idx = top.nodes.len() as u32;
            if let Some(parent) = parent {
                top.add_child(parent, node_idx);
            }
            let own = &mut sample[start..end];
            let own_locals = &mut locals[start..end];
            let is_large = own.len() > cell_sample.max(2 * chooser.allowance.min_rows);
            let split = if is_large { chooser.choose(own, own_locals, &mut scratch) } else { None };
            let Some(split) = split else {
                top.nodes.push(TopNode::Cell { cell_idx: top.n_cells as u32, region });
                top.n_cells += 1;
                continue;
            };
            let split = as_binary(split, plan.space, own);
            let ends = apply(split, &chooser, own, own_locals, &mut scratch);
            let regions = binary_regions(split, region.as_ref());
            top.nodes.push(TopNode::Inner { split, children: Vec::new(), region });
            let [left, right] = regions;
            pending.push((start + ends[0], end, Some(node_idx), right));
            pending.push((start, start + ends[0], Some(node_idx), left));
        }
        top
    }

    fn add_child(&mut self, parent: u32, child: u32) {
        if let TopNode::Inner { children, .. } = &mut self.nodes[parent as usize] {
            children.push(child);
        }
    }

    /// Routes all rows to the cells and merges cells that violate the requirement.
    pub fn route(self, points: Points, plan: &Plan<'_>) -> Routed {
        let n_attributes = points.n_attributes();
        let steps = self.steps();
        let chunks: Vec<RoutedChunk> = points
            .into_chunks()
            .into_par_iter()
            .map(|chunk| RoutedChunk::new(chunk, &steps, self.n_cells))
            .collect();
        let holds: Vec<bool> = (0..self.n_cells)
            .into_par_iter()
            .map(|cell_idx| cells_hold(&chunks, cell_idx, cell_idx + 1, plan))
            .collect();
        let cells =
            self.satisfying_cells(&holds, |first, end| cells_hold(&chunks, first, end, plan));
        Routed { chunks, cells, n_attributes }
    }

    /// The cells to be cut. A node below which some cell violates the requirement becomes one cell, and
    /// so on upwards until the union satisfies it. Without recursion: the tree may be deep.
    fn satisfying_cells(
        &self,
        holds: &[bool],
        union_holds: impl Fn(usize, usize) -> bool,
    ) -> Vec<RoutedCell> {
        // Children stand after their parents, so that a walk from the end meets them first.
        let mut spans =
            vec![Span { first: 0, end: 0, is_cell: true, holds: true }; self.nodes.len()];
        for (node_idx, node) in self.nodes.iter().enumerate().rev() {
            spans[node_idx] = match node {
                TopNode::Cell { cell_idx, .. } => {
                    let first = *cell_idx as usize;
                    Span { first, end: first + 1, is_cell: true, holds: holds[first] }
                }
                TopNode::Inner { children, .. } => {
                    let [left, right] = [0, 1].map(|side| spans[children[side] as usize]);
                    let (first, end) = (left.first, right.end);
                    let is_cell = !(left.holds && right.holds);
                    // One satisfying part is not enough: many equal secrets can outweigh it.
                    Span { first, end, is_cell, holds: !is_cell || union_holds(first, end) }
                }
            };
        }
        let mut cells = Vec::new();
        let mut pending = vec![0];
        while let Some(node_idx) = pending.pop() {
            let Span { first, end, is_cell, .. } = spans[node_idx as usize];
            match &self.nodes[node_idx as usize] {
                TopNode::Inner { children, .. } if !is_cell => {
                    pending.extend(children.iter().rev());
                }
                TopNode::Cell { region, .. } | TopNode::Inner { region, .. } => {
                    cells.push(RoutedCell { first, end, region: region.clone() });
                }
            }
        }
        cells
    }

    /// The tree as a table of comparisons.
    fn steps(&self) -> Vec<RouteStep> {
        (0u32..)
            .zip(&self.nodes)
            .map(|(node_idx, node)| match node {
                TopNode::Cell { cell_idx, .. } => RouteStep {
                    axis: 0,
                    lo: 0,
                    length: 0,
                    children: [node_idx; 2],
                    cell_idx: *cell_idx,
                },
                TopNode::Inner { split, children, .. } => {
                    let (axis, lo, hi) = match *split {
                        Split::Cut { axis, code } => (axis, 0, code),
                        Split::Peel { axis, lo, hi } => (axis, lo, hi),
                        Split::Specialize { .. } => unreachable!("made binary when grown"),
                    };
                    RouteStep {
                        axis: axis as u32,
                        lo,
                        length: hi - lo,
                        children: [children[1], children[0]],
                        cell_idx: NO_CELL,
                    }
                }
            })
            .collect()
    }
}

/// What lies below a node of the tree.
#[derive(Clone, Copy)]
struct Span {
    /// The first cell.
    first: usize,
    /// The first cell after it.
    end: usize,
    /// Whether it is cut as one cell.
    is_cell: bool,
    /// Whether all that will be cut below it satisfies the requirement.
    holds: bool,
}

/// The cell of a step that still compares.
const NO_CELL: u32 = u32::MAX;

/// One comparison: points with codes in `lo..=lo + length` go to the second child. A cell leads to
/// itself.
#[derive(Clone, Copy)]
struct RouteStep {
    axis: u32,
    lo: u32,
    length: u32,
    children: [u32; 2],
    cell_idx: u32,
}

/// A specialization into many parts becomes a cut between two parts, as near the middle as there is
/// one; the halves are specialized further down. So a label with many children does not make a deep
/// tree. A sample may not show all parts, a comparison routes them anyway.
fn as_binary<const L: usize>(split: Split, space: &Space, points: &[Point<L>]) -> Split {
    let Split::Specialize { axis, step } = split else { return split };
    let AxisKind::Label(tree) = &space.axes[axis].kind else {
        unreachable!("only labels are specialized")
    };
    let mut keys = Vec::new();
    sort_by_part(points, axis, tree, step, &mut keys);
    let n_before = (1..keys.len())
        .filter(|&n_before| value_of(keys[n_before - 1]) != value_of(keys[n_before]))
        .min_by_key(|&n_before| (2 * n_before).abs_diff(keys.len()))
        .expect("a specialization has two parts or more");
    let (_, code) = tree.part_range(step, points[place_of(keys[n_before - 1])][axis]);
    Split::Cut { axis, code }
}

fn binary_regions(split: Split, region: Option<&Region>) -> [Option<Region>; 2] {
    let Some(region) = region else { return [None, None] };
    let narrowed = |axis: usize, lo: u32, hi: u32| {
        let mut part = region.clone();
        part[axis] = (part[axis].0.max(lo), part[axis].1.min(hi));
        Some(part)
    };
    match split {
        Split::Cut { axis, code } => [narrowed(axis, 0, code), narrowed(axis, code + 1, u32::MAX)],
        Split::Peel { axis, lo, hi } => [narrowed(axis, lo, hi), Some(region.clone())],
        Split::Specialize { .. } => unreachable!("made binary when grown"),
    }
}

/// About [`SAMPLE_ROWS`] points, chosen by a hash of their row number.
fn sample<const L: usize>(points: &Points) -> (Vec<Point<L>>, Vec<u32>) {
    let share = (SAMPLE_ROWS as f64 / points.n_rows() as f64).min(1.0);
    let threshold = (share * f64::from(u32::MAX)) as u32;
    let mut sample = Vec::new();
    let mut row_ids = Vec::new();
    for chunk in points.chunks() {
        for row in 0..chunk.n_rows {
            let row_id = chunk.first_row + row as u32;
            let hash = u64::from(row_id).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            if hash as u32 <= threshold {
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
        let cell_of = cells_of_rows(&rows, n_attributes, steps);
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

/// The cell of each row. Rows go down the tree in groups, step by step together: their steps do not
/// wait for each other.
fn cells_of_rows(rows: &[u32], n_attributes: usize, steps: &[RouteStep]) -> Vec<u32> {
    const GROUP: usize = 8;
    let n_rows = rows.len() / n_attributes;
    let mut cells = vec![0u32; n_rows];
    for (group, out) in cells.chunks_mut(GROUP).enumerate() {
        let first = group * GROUP;
        let mut at = [0u32; GROUP];
        loop {
            let mut all_arrived = true;
            for (member, at) in at.iter_mut().enumerate().take(out.len()) {
                let step = steps[*at as usize];
                let code = rows[(first + member) * n_attributes + step.axis as usize];
                let inside = code.wrapping_sub(step.lo) <= step.length;
                *at = step.children[usize::from(inside)];
                all_arrived &= step.cell_idx != NO_CELL;
            }
            if all_arrived {
                break;
            }
        }
        for (cell, at) in out.iter_mut().zip(at) {
            *cell = steps[at as usize].cell_idx;
        }
    }
    cells
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

/// A run of the tree's cells that is cut as one.
struct RoutedCell {
    first: usize,
    end: usize,
    region: Option<Region>,
}

impl Routed {
    /// Number of cells.
    pub fn n_cells(&self) -> usize {
        self.cells.len()
    }

    /// The points of a cell.
    pub fn cell<const L: usize>(&self, cell_idx: usize, plan: &Plan<'_>) -> Cell<L> {
        debug_assert_eq!(plan.space.axes.len(), self.n_attributes);
        let RoutedCell { first, end, region } = &self.cells[cell_idx];
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
