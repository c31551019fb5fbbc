//! A part whose rows are in memory becomes a subtree.

use albers_classes::Region;
use albers_classes::packed::{RowBlock, RowLayout};
use albers_partition::split::Point;
use albers_partition::split::extent::has_small_sets;
use albers_partition::split::rule::{Rule, RuleScratch};
use albers_partition::top::{KeptNode, Top, cells_of_rows, is_sampled, sample_threshold};
use albers_storage::Result;
use albers_storage::memory_budget::Reservation;
use rayon::prelude::*;

use super::part::Part;
use super::{BulkPlan, sorted_by_part};
use crate::granularity::TreeRows;
use crate::rplus_tree::RPlusTree;
use crate::rplus_tree::grow::{Grown, GrownCell, Source, grow_cell};

/// Rows are sorted into cells in stretches of this many.
const STRETCH_ROWS: usize = 16_384;

/// A part of the index, with its rows.
pub struct Subtree {
    /// The index.
    pub tree: RPlusTree,
    /// The rows, in the order in which they were loaded.
    pub rows: RowBlock,
    /// Their places in tree order.
    pub order: Vec<u32>,
    /// The region of the whole, where regions are kept.
    pub region: Option<Region>,
    _memory: Reservation,
}

impl Subtree {
    /// The tree with its rows, for a walk over its leaves.
    pub fn tree_rows<'s>(&'s self, plan: &'s BulkPlan<'_>) -> TreeRows<'s> {
        let source = Source { layout: plan.layout, block: &self.rows, facts: plan.facts };
        TreeRows { tree: &self.tree, source, order: &self.order }
    }
}

/// Builds the subtree of the part below a node of the top.
pub fn subtree(
    plan: &BulkPlan<'_>,
    (top, root): (&Top, u32),
    rows: RowBlock,
    region: Option<Region>,
    memory: Reservation,
) -> Subtree {
    let n_attributes = plan.layout.n_attributes();
    let sets = has_small_sets(plan.plan.space);
    let (nodes, order, boxes) =
        albers_partition::with_lanes!(n_attributes, sets, grow_part(plan, top, root, &rows));
    let tree = RPlusTree::new(n_attributes, &nodes, boxes);
    Subtree { tree, rows, order, region, _memory: memory }
}

type GrownPart = (Vec<Grown>, Vec<u32>, Vec<(u32, u32)>);

fn grow_part<const L: usize, const M: usize>(
    plan: &BulkPlan<'_>,
    top: &Top,
    root: u32,
    rows: &RowBlock,
) -> GrownPart {
    let source = Source { layout: plan.layout, block: rows, facts: plan.facts };
    let cells = Cells::of(plan, top, root, rows);
    let kept = top.satisfying(
        root,
        |cell_idx| cells.hold(plan, source, cell_idx, cell_idx + 1),
        |first, end| cells.hold(plan, source, first, end),
    );
    let grown: Vec<(Grown, Option<GrownCell>)> = kept
        .into_par_iter()
        .map(|node| match node {
            KeptNode::Inner(split) => (Grown::of(split), None),
            KeptNode::Cell(cell) => {
                let own = cells.rows(cell.first, cell.end);
                let grown = grow_cell::<L, M>(source, own, &plan.plan, plan.may_sample);
                (Grown::Leaf { n_rows: 0 }, Some(grown))
            }
        })
        .collect();
    drop(cells);
    let mut nodes = Vec::new();
    let mut order = Vec::with_capacity(rows.n_rows());
    let mut boxes = Vec::new();
    for (node, cell) in grown {
        match cell {
            None => nodes.push(node),
            Some(cell) => {
                nodes.extend(cell.nodes);
                order.extend(cell.rows);
                boxes.extend(cell.boxes);
            }
        }
    }
    (nodes, order, boxes)
}

/// The rows of a part, cell by cell.
struct Cells {
    first_cell: usize,
    order: Vec<u32>,
    ends: Vec<u32>,
}

impl Cells {
    fn of(plan: &BulkPlan<'_>, top: &Top, root: u32, rows: &RowBlock) -> Cells {
        let below = top.cells_below(root);
        let n_cells = below.len();
        if n_cells == 1 {
            let n_rows = rows.n_rows() as u32;
            let order = (0..n_rows).collect();
            return Cells { first_cell: below.start, order, ends: vec![n_rows] };
        }
        let steps = top.steps();
        let n_attributes = plan.layout.n_attributes();
        let mut cell_of = vec![0; rows.n_rows()];
        cell_of.par_chunks_mut(STRETCH_ROWS).enumerate().for_each(|(stretch, cells)| {
            let start = stretch * STRETCH_ROWS;
            let codes = codes_of(plan.layout, rows, start..start + cells.len());
            let found = cells_of_rows(&codes, n_attributes, &steps, root);
            let found = found.into_iter().map(|cell| cell - below.start as u32);
            cells.iter_mut().zip(found).for_each(|(slot, cell)| *slot = cell);
        });
        let (order, ends) = sorted_by_part(&cell_of, n_cells);
        Cells { first_cell: below.start, order, ends }
    }

    /// The rows of a run of cells.
    fn rows(&self, first: usize, end: usize) -> &[u32] {
        let end_of = |cell: usize| if cell == 0 { 0 } else { self.ends[cell - 1] as usize };
        &self.order[end_of(first - self.first_cell)..end_of(end - self.first_cell)]
    }

    fn hold(&self, plan: &BulkPlan<'_>, source: Source<'_>, first: usize, end: usize) -> bool {
        let rows = self.rows(first, end);
        if let Some(k) = plan.plan.requirement.is_only_row_count() {
            return rows.len() as u64 >= k;
        }
        let facts = source.facts.facts_of(source.layout, source.block, rows.iter().copied());
        let rule = Rule { requirement: plan.plan.requirement, facts: &facts };
        rule.holds(0..rows.len() as u32, &mut RuleScratch::default())
    }
}

/// The codes of some rows, row by row.
pub fn codes_of(layout: &RowLayout, rows: &RowBlock, range: std::ops::Range<usize>) -> Vec<u32> {
    let n_attributes = layout.n_attributes();
    let mut codes = vec![0; range.len() * n_attributes];
    for (row, out) in range.zip(codes.chunks_exact_mut(n_attributes)) {
        rows.codes(layout, row, out);
    }
    codes
}

/// The top of a tree for the rows of a part, grown on a sample of them, and the sample's size.
pub fn top_of_part(plan: &BulkPlan<'_>, part: &Part, cell_rows: usize) -> Result<(Top, usize)> {
    let threshold = sample_threshold(plan.sizes.sample_rows, part.n_rows as usize);
    let mut sample = RowBlock::default();
    for block in &part.blocks {
        let mut rows = RowBlock::default();
        rows.read_from(plan.layout, &plan.store.read(block)?);
        for row in 0..rows.n_rows() {
            if is_sampled(rows.row_id(plan.layout, row), threshold) {
                sample.extend_row(plan.layout, &rows, row);
            }
        }
    }
    let top = grown(plan, &sample, part.n_rows as usize, cell_rows, Growth::Bold);
    Ok((top, sample.n_rows()))
}

/// How a top is grown.
#[derive(Clone, Copy)]
enum Growth {
    /// See [`Top::grow`].
    Careful,
    /// See [`Top::grow_boldly`].
    Bold,
}

fn points_of<const L: usize>(plan: &BulkPlan<'_>, rows: &RowBlock) -> Vec<Point<L>> {
    let point_of = |row: usize| {
        let mut point = [0; L];
        rows.codes(plan.layout, row, &mut point);
        point
    };
    (0..rows.n_rows()).map(point_of).collect()
}

/// The top of a tree for so many rows, grown on a sample of them.
pub fn top_of(plan: &BulkPlan<'_>, sample: &RowBlock, n_rows: usize, cell_rows: usize) -> Top {
    grown(plan, sample, n_rows, cell_rows, Growth::Careful)
}

fn grown(
    plan: &BulkPlan<'_>,
    sample: &RowBlock,
    n_rows: usize,
    cell_rows: usize,
    growth: Growth,
) -> Top {
    if sample.n_rows() == 0 {
        return Top::single(&plan.plan);
    }
    let sets = has_small_sets(plan.plan.space);
    let n_attributes = plan.layout.n_attributes();
    albers_partition::with_lanes!(
        n_attributes,
        sets,
        grow_lanes(plan, sample, n_rows, cell_rows, growth)
    )
}

fn grow_lanes<const L: usize, const M: usize>(
    plan: &BulkPlan<'_>,
    sample: &RowBlock,
    n_rows: usize,
    cell_rows: usize,
    growth: Growth,
) -> Top {
    let points = points_of(plan, sample);
    match growth {
        Growth::Bold => Top::grow_boldly::<L, M>(points, n_rows, cell_rows, &plan.plan),
        Growth::Careful => {
            let rows = 0..sample.n_rows() as u32;
            let has_rule = plan.plan.has_rule();
            let facts = has_rule.then(|| plan.facts.facts_of(plan.layout, sample, rows));
            Top::grow::<L, M>(points, facts.as_ref(), n_rows, cell_rows, &plan.plan)
        }
    }
}
