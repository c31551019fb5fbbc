//! Packed records become points, the one grower splits them, and their boxes are found.

use albers_classes::packed::{FactColumns, RowBlock, RowLayout};
use albers_classes::region::span;
use albers_classes::{Region, Span};
use albers_partition::cell::{Cell, Start, TableSize};
use albers_partition::mondrian::Plan;
use albers_partition::plan::CellFacts;
use albers_partition::split::Point;
use albers_partition::split::extent::Extent;
use albers_partition::split_tree::SplitTree;
use albers_partition::top::SampledTops;

/// A cell, grown.
#[derive(Default)]
pub struct GrownCell {
    /// Its splits and leaves.
    pub tree: SplitTree,
    /// Its rows, leaf by leaf.
    pub rows: Vec<u32>,
    /// The boxes of its leaves.
    pub boxes: Vec<Span>,
    /// What became of trees that were grown on samples of its rows.
    pub tops: SampledTops,
}

/// Where the rows of a cell come from.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// How rows are packed.
    pub layout: &'a RowLayout,
    /// The rows.
    pub block: &'a RowBlock,
    /// Their facts.
    pub facts: &'a FactColumns,
}

/// Splits some rows until no allowable split is left; `region` is theirs, where regions are kept.
pub fn grow_cell<const L: usize, const M: usize>(
    source: Source<'_>,
    rows: &[u32],
    plan: &Plan<'_>,
    table: TableSize,
    region: Option<&Region>,
) -> GrownCell {
    grown::<L>(source, rows, plan, |cell, facts| cell.grow::<M>(plan, facts, table, region))
}

/// The same for rows below other splits, all of them at once.
pub fn grow_cell_below<const L: usize, const M: usize>(
    source: Source<'_>,
    rows: &[u32],
    plan: &Plan<'_>,
    table: TableSize,
    start: Start,
) -> GrownCell {
    grown::<L>(source, rows, plan, |cell, facts| cell.grow_below::<M>(plan, facts, table, start))
}

/// The cell of some rows, grown by `grow`.
fn grown<const L: usize>(
    source: Source<'_>,
    rows: &[u32],
    plan: &Plan<'_>,
    grow: impl FnOnce(&mut Cell<L>, CellFacts<'_>) -> SplitTree,
) -> GrownCell {
    let Source { layout, block, facts } = source;
    let point = |&row: &u32| {
        let mut point: Point<L> = [0; L];
        block.codes(layout, row as usize, &mut point);
        point
    };
    let numbers = || rows.iter().copied();
    let rule = plan.has_rule().then(|| facts.facts_of(layout, block, numbers()));
    let targets = plan.has_carried_targets().then(|| facts.targets_of(layout, block, numbers()));
    let facts = CellFacts { rule: rule.as_ref(), targets: targets.as_ref() };
    let mut cell = Cell::new(rows.iter().map(point).collect());
    let tree = grow(&mut cell, facts);
    GrownCell {
        boxes: boxes_of::<L>(&tree, &cell.points, layout.n_attributes()),
        tree,
        tops: cell.tops,
        rows: cell.places.into_iter().map(|place| rows[place as usize]).collect(),
    }
}

/// The boxes of the leaves.
fn boxes_of<const L: usize>(
    tree: &SplitTree,
    points: &[Point<L>],
    n_attributes: usize,
) -> Vec<Span> {
    let mut boxes = Vec::new();
    let mut start = 0;
    for n_rows in tree.leaf_rows() {
        let end = start + n_rows as usize;
        let extent = Extent::<L, 0>::of(&points[start..end]);
        boxes.extend((0..n_attributes).map(|axis| span(extent.lo[axis], extent.hi[axis])));
        start = end;
    }
    boxes
}
