//! Rows of a part in memory become subtrees, unit by unit.

use albers_classes::Region;
use albers_classes::packed::{RowBlock, RowLayout};
use albers_partition::sample::{TupleSample, Tuples, tuple_hash};
use albers_partition::split::cut::Turn;
use albers_partition::split::extent::has_small_sets;
use albers_partition::split::rule::{Rule, RuleScratch};
use albers_partition::split_tree::{SplitTree, TreeNode};
use albers_partition::top::{Attempt, KeptNode, SampledTops, Span, Top, cells_of_rows};
use albers_privacy::Requirement;
use albers_storage::Result;
use rayon::prelude::*;

use super::part::Part;
use super::{BulkPlan, sorted_by_part};
use crate::granularity::leaves::{Index, LeafRuns};
use crate::rplus_tree::RPlusTree;
use crate::rplus_tree::grow::{GrownCell, Source, grow_cell};

/// Rows are sorted into cells in stretches of this many.
const STRETCH_ROWS: usize = 16_384;

/// A unit of the index, with its rows.
pub struct Subtree<'r> {
    /// The index.
    pub tree: RPlusTree,
    /// The rows, among others.
    pub rows: &'r RowBlock,
    /// Their places in tree order.
    pub order: Vec<u32>,
    /// The region of the whole, where regions are kept.
    pub region: Option<Region>,
    /// The way to it from the root of all.
    pub way: Vec<Turn>,
}

impl Subtree<'_> {
    /// The leaves with their rows, for coarser classes.
    pub fn leaf_runs<'s>(&'s self, plan: &'s BulkPlan<'_>) -> LeafRuns<'s> {
        let source = Source { layout: plan.layout, block: self.rows, facts: plan.facts };
        let (order, ends) = (&self.order, self.tree.leaf_ends());
        LeafRuns { source, order, ends, index: Index::Tree(&self.tree) }
    }
}

/// What becomes of the rows below a node of the top.
pub enum Unit {
    /// They are split to the end.
    Subtree {
        /// The node.
        node: u32,
        /// Their splits.
        tree: RPlusTree,
        /// Their places in tree order.
        order: Vec<u32>,
        /// The splits of the top that are left in it.
        n_kept: usize,
        /// What became of trees that were grown on samples of its cells.
        tops: SampledTops,
    },
    /// They are too many to be cut at once, and the top does not divide them.
    Large {
        /// The node.
        node: u32,
        /// Their places.
        order: Vec<u32>,
    },
}

/// The units below a node of the top, of rows that all belong there, and how many splits of the top
/// lie above them.
pub fn units(plan: &BulkPlan<'_>, top: &Top, root: u32, rows: &RowBlock) -> (Vec<Unit>, usize) {
    let source = Source { layout: plan.layout, block: rows, facts: plan.facts };
    let cells = Cells::of(plan, top, root, rows);
    let strict: Vec<bool> = (0..cells.ends.len())
        .into_par_iter()
        .map(|cell| cells.hold(source, cell, cell + 1, plan.strictest))
        .collect();
    let first_cell = cells.first_cell;
    let spans = top.spans(
        root,
        |cell| strict[cell - first_cell],
        |first, end| cells.hold(source, first - first_cell, end - first_cell, plan.strictest),
    );
    let mut found = Vec::new();
    let mut n_above = 0;
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        let Span { first, end, is_cell, .. } = spans[&node];
        let own = cells.rows(first - first_cell, end - first_cell);
        let is_whole = own.len() <= plan.plan.grain.whole_rows;
        match top.children(node) {
            Some(children) if !is_whole && !is_cell => {
                n_above += 1;
                pending.extend(children.into_iter().rev());
            }
            children => {
                let violates = |child: u32| {
                    let Span { first, end, holds, .. } = spans[&child];
                    let (first, end) = (first - first_cell, end - first_cell);
                    !holds && !cells.hold(source, first, end, plan.plan.requirement)
                };
                let is_large =
                    !is_whole && children.is_none_or(|own| own.into_iter().any(violates));
                found.push((node, is_large, own));
            }
        }
    }
    let unit = |(node, is_large, own): (u32, bool, &[u32])| match is_large {
        true => Unit::Large { node, order: own.to_vec() },
        false => {
            let sets = has_small_sets(plan.plan.space);
            let n_attributes = plan.layout.n_attributes();
            let strict = (!plan.has_coarser).then_some(&strict[..]);
            let GrownUnit { tree, order, boxes, n_kept, tops } = albers_partition::with_lanes!(
                n_attributes,
                sets,
                grow_unit(plan, (top, node), source, &cells, strict)
            );
            let tree = RPlusTree::new(n_attributes, &tree, boxes);
            Unit::Subtree { node, tree, order, n_kept, tops }
        }
    };
    (found.into_par_iter().map(unit).collect(), n_above)
}

/// A unit, split to the end.
#[derive(Default)]
struct GrownUnit {
    tree: SplitTree,
    order: Vec<u32>,
    boxes: Vec<albers_classes::Span>,
    n_kept: usize,
    tops: SampledTops,
}

/// Splits a unit to the end. `known` tells of each cell whether it satisfies the requirement, where
/// that is known.
fn grow_unit<const L: usize, const M: usize>(
    plan: &BulkPlan<'_>,
    (top, node): (&Top, u32),
    source: Source<'_>,
    cells: &Cells,
    known: Option<&[bool]>,
) -> GrownUnit {
    let (first_cell, requirement) = (cells.first_cell, plan.plan.requirement);
    let holds = |first: usize, end: usize| {
        cells.hold(source, first - first_cell, end - first_cell, requirement)
    };
    let kept = top.satisfying(
        node,
        |cell| known.map_or_else(|| holds(cell, cell + 1), |known| known[cell - first_cell]),
        holds,
    );
    let grown: Vec<(Option<TreeNode>, GrownCell)> = kept
        .into_par_iter()
        .map(|node| match node {
            KeptNode::Inner(cut) => (Some(TreeNode::Cut(cut)), GrownCell::default()),
            KeptNode::Cell(cell) => {
                let own = cells.rows(cell.first - first_cell, cell.end - first_cell);
                let region = cell.region.as_ref();
                (None, grow_cell::<L, M>(source, own, &plan.plan, plan.table, region))
            }
        })
        .collect();
    let mut unit = GrownUnit::default();
    for (cut, cell) in grown {
        unit.n_kept += usize::from(cut.is_some());
        cut.into_iter().for_each(|cut| unit.tree.push(cut));
        unit.tree.append(cell.tree);
        unit.order.extend(cell.rows);
        unit.boxes.extend(cell.boxes);
        unit.tops.merge(&cell.tops);
    }
    unit
}

/// The rows of a part, cell by cell; cells are numbered from the first one of the part.
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
        &self.order[end_of(first)..end_of(end)]
    }

    /// Whether the rows of a run of cells satisfy a requirement.
    fn hold(
        &self,
        source: Source<'_>,
        first: usize,
        end: usize,
        requirement: &Requirement,
    ) -> bool {
        let rows = self.rows(first, end);
        if let Some(k) = requirement.is_only_row_count() {
            return rows.len() as u64 >= k;
        }
        let facts = source.facts.facts_of(source.layout, source.block, rows.iter().copied());
        let rule = Rule { requirement, facts: &facts };
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

/// The top of a tree for the rows of a part below so many others, grown on a sample of them, within
/// their region.
pub fn top_of_part(
    plan: &BulkPlan<'_>,
    part: &Part,
    (attempt, depth): (Attempt, usize),
    region: Option<&Region>,
) -> Result<Top> {
    // Facts take as much again, and more.
    let n_bytes = plan.plan.grain.sample_bytes * if keeps_facts(plan) { 3 } else { 1 };
    let _memory = plan.budget.try_reserve("a sample of the rows", n_bytes)?;
    let tuples = tuples_of_part(plan, part, depth)?;
    let sets = has_small_sets(plan.plan.space);
    let n_attributes = plan.layout.n_attributes();
    let n_rows = part.n_rows;
    Ok(albers_partition::with_lanes!(
        n_attributes,
        sets,
        part_lanes(plan, (&tuples, n_rows), attempt, region)
    ))
}

fn part_lanes<const L: usize, const M: usize>(
    plan: &BulkPlan<'_>,
    (tuples, n_rows): (&Tuples, u64),
    attempt: Attempt,
    region: Option<&Region>,
) -> Top {
    Top::of_part::<L, M>(tuples, n_rows, attempt, &plan.plan, region)
}

/// Whether more of a row than its codes has a say.
fn keeps_facts(plan: &BulkPlan<'_>) -> bool {
    plan.plan.has_rule() || plan.plan.has_carried_targets()
}

fn tuples_of_part(plan: &BulkPlan<'_>, part: &Part, depth: usize) -> Result<Tuples> {
    let seed = plan.plan.sample_seed(depth);
    let n_attributes = plan.layout.n_attributes();
    let limit = plan.plan.grain.sample_tuples(n_attributes);
    let mut sample = TupleSample::new(limit, n_attributes, keeps_facts(plan));
    let mut codes = vec![0; n_attributes];
    let mut facts = Vec::new();
    for block in &part.blocks {
        let mut rows = RowBlock::default();
        rows.read_from(plan.layout, &plan.store.read(block)?);
        for row in 0..rows.n_rows() {
            rows.codes(plan.layout, row, &mut codes);
            facts.clear();
            let ruled = plan.facts.ruled.iter().filter(|_| plan.plan.has_rule());
            let known = ruled.chain(&plan.facts.targets);
            facts.extend(known.map(|&fact| rows.fact(plan.layout, row, fact)));
            sample.add(tuple_hash(&codes, seed), &codes, &facts, 1);
        }
    }
    Ok(sample.finish())
}
