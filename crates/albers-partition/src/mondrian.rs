//! Mondrian: cut the space top-down until no allowable cut is left.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 2.2; for large tables the first cuts are
//! chosen on a sample, as in section 5.2 (Rothko-S).
//! Departures: a cell of the sampled top that violates the requirement is merged with its siblings,
//! then cut again with all its rows at hand, or divided by a sample of its own where it is too
//! large for that.
//! Guarantee: every class satisfies the requirement, if the whole table does; no class has a cut
//! that the policy would still allow, unless it has more rows than are cut at once. The result is
//! a function of the rows and the plan, whatever the order of the rows and the threads.
//! Cost: O(rows * attributes) per level of the tree; memory for the codes twice.
//!
//! ```text
//!   chunks of columns ──sample──► top of the tree ──route──► cells (about 16,000 rows each)
//!                                                              │ one thread per cell
//!                                                              ▼
//!                                                 cut until nothing is allowable ──► classes
//! ```

mod routed;

use albers_classes::Region;
use albers_classes::class_block::{ClassBlock, Groups};
use albers_classes::points::Points;
use albers_storage::Result;
use albers_storage::watch::{Phase, Watch};
use albers_table::row::RowIdx;
use rayon::prelude::*;

use crate::cell::{Cell, TableSize};
use crate::plan::{CellFacts, whole_region};
use crate::sample::{TupleSample, Tuples, tuple_hash};
use crate::split::extent::has_small_sets;
use crate::split_tree::SplitTree;
use crate::top::{SampledTops, Top};
use routed::route;

pub use crate::plan::{MAX_ATTRIBUTES, Plan};

/// Divides points into classes. The whole table must satisfy the requirement. `tuples` is a sample
/// of a table that is too large to be cut at once; without it the sample is of codes.
pub fn partition(
    points: Points,
    tuples: Option<Tuples>,
    plan: &Plan<'_>,
    watch: &dyn Watch,
) -> Result<Groups> {
    partition_counted(points, tuples, plan, watch).map(|(groups, _)| groups)
}

/// The same, with what became of the trees that were grown on samples, where the table is too large
/// to be cut at once.
pub fn partition_counted(
    points: Points,
    tuples: Option<Tuples>,
    plan: &Plan<'_>,
    watch: &dyn Watch,
) -> Result<(Groups, Option<SampledTops>)> {
    assert!(points.n_attributes() <= MAX_ATTRIBUTES, "checked when the job was planned");
    watch.phase(Phase::Partition, Some(points.n_rows() as u64));
    let sets = has_small_sets(plan.space);
    crate::with_lanes!(points.n_attributes(), sets, partition_lanes(points, tuples, plan, watch))
}

fn partition_lanes<const L: usize, const M: usize>(
    points: Points,
    tuples: Option<Tuples>,
    plan: &Plan<'_>,
    watch: &dyn Watch,
) -> Result<(Groups, Option<SampledTops>)> {
    let n_attributes = points.n_attributes();
    if points.n_rows() <= plan.grain.whole_rows {
        let rows = CellRows::<L>::whole(points, plan);
        let (block, _) = Cutter { plan, watch }.cut::<L, M>(rows, TableSize::Small)?;
        return Ok((Groups::of_all(n_attributes, vec![block]), None));
    }
    let n_rows = points.n_rows() as u64;
    let mut tuples = tuples.unwrap_or_else(|| tuples_of_points(&points, plan));
    if plan.has_carried_targets() || plan.n_tested_columns() > 0 {
        count_facts(&mut tuples, &points, plan);
    }
    let rooted = plan.workload.map(|own| tuples.rooted::<L>(own.workload, n_rows, plan));
    let plan = &plan.with_workload(rooted.as_ref());
    let decided = plan.portfolio.map(|own| own.decide::<L, M>(&tuples, plan));
    let (policy, grain) = decided.unwrap_or((plan.policy, plan.grain));
    let plan = &Plan { policy, grain, ..*plan };
    let cutter = Cutter { plan, watch };
    let n_heavy = plan.drop_heavy(&mut tuples);
    let top = Top::of_table::<L, M>(&tuples, n_rows - n_heavy, plan);
    drop(tuples);
    let routed = route(&top, points, plan);
    let cut: Vec<(ClassBlock, SampledTops)> = (0..routed.n_cells())
        .into_par_iter()
        .map(|cell_idx| cutter.cut::<L, M>(routed.cell(cell_idx), TableSize::Large))
        .collect::<Result<_>>()?;
    let mut below = SampledTops::default();
    cut.iter().for_each(|(_, own)| below.merge(own));
    let tops = below.below(top.n_cells(), routed.n_kept());
    let blocks = cut.into_iter().map(|(block, _)| block).collect();
    Ok((Groups::of_all(n_attributes, blocks), Some(tops)))
}

/// Counts what the rows of each tuple hold that tests look at, and what they carry of the workload.
fn count_facts(tuples: &mut Tuples, points: &Points, plan: &Plan<'_>) {
    let is_tested = plan.n_tested_columns() > 0;
    let mut own = Vec::new();
    let mut counter = tuples.fact_counter(plan.grain.sample_tuples(points.n_attributes()));
    let mut codes = vec![0; points.n_attributes()];
    for chunk in points.chunks() {
        for row in 0..chunk.n_rows {
            codes.iter_mut().zip(&chunk.columns).for_each(|(code, own)| *code = own[row]);
            let row_idx = chunk.first_row.index() + row;
            own.clear();
            own.extend(is_tested.then(|| plan.facts.codes(row_idx)).into_iter().flatten());
            own.extend(plan.carried_targets().into_iter().flat_map(|all| all.of_row(row_idx)));
            counter.add(&codes, &own);
        }
    }
}

fn tuples_of_points(points: &Points, plan: &Plan<'_>) -> Tuples {
    let n_attributes = points.n_attributes();
    let limit = plan.grain.sample_tuples(n_attributes);
    let mut sample = TupleSample::new(limit, n_attributes, false);
    let mut codes = vec![0; n_attributes];
    for chunk in points.chunks() {
        for row in 0..chunk.n_rows {
            codes.iter_mut().zip(&chunk.columns).for_each(|(code, own)| *code = own[row]);
            sample.add(tuple_hash(&codes, plan.seed), &codes, &[], 1);
        }
    }
    sample.finish()
}

/// Rows that are cut together.
struct CellRows<const L: usize> {
    points: Vec<[u32; L]>,
    row_idxs: Vec<RowIdx>,
    region: Option<Region>,
}

impl<const L: usize> CellRows<L> {
    /// All rows of a table.
    fn whole(points: Points, plan: &Plan<'_>) -> CellRows<L> {
        let mut rows = CellRows {
            points: Vec::with_capacity(points.n_rows()),
            row_idxs: RowIdx::FIRST.take(points.n_rows()).collect(),
            region: whole_region(plan),
        };
        for chunk in points.into_chunks() {
            for row in 0..chunk.n_rows {
                let mut point = [0; L];
                point.iter_mut().zip(&chunk.columns).for_each(|(lane, own)| *lane = own[row]);
                rows.points.push(point);
            }
        }
        rows
    }
}

/// Cuts cells; shared by all threads.
struct Cutter<'a> {
    plan: &'a Plan<'a>,
    watch: &'a dyn Watch,
}

impl Cutter<'_> {
    /// Cuts rows into classes.
    fn cut<const L: usize, const M: usize>(
        &self,
        rows: CellRows<L>,
        table: TableSize,
    ) -> Result<(ClassBlock, SampledTops)> {
        let CellRows { points, row_idxs, region } = rows;
        let plan = self.plan;
        let rule = plan.has_rule().then(|| {
            let places = row_idxs.iter().map(|row_idx| row_idx.index());
            plan.facts.gather(places)
        });
        let targets = plan.carried_targets().map(|carried| carried.gather(&row_idxs));
        let facts = CellFacts { rule: rule.as_ref(), targets: targets.as_ref() };
        let mut cell = Cell::new(points);
        let tree = cell.grow::<M>(plan, facts, table, region.as_ref());
        self.watch.done(row_idxs.len() as u64)?;
        let shown = region.as_ref().filter(|_| plan.keep_regions);
        Ok((self.block(&cell, &tree, &row_idxs, shown), cell.tops))
    }

    /// The leaves of a grown cell as classes.
    fn block<const L: usize>(
        &self,
        cell: &Cell<L>,
        tree: &SplitTree,
        row_idxs: &[RowIdx],
        region: Option<&Region>,
    ) -> ClassBlock {
        let n_attributes = self.plan.space.axes.len();
        let mut codes = Vec::with_capacity(cell.points.len() * n_attributes);
        cell.points.iter().for_each(|point| codes.extend_from_slice(&point[..n_attributes]));
        let ends = tree.leaf_rows().scan(0, |end, n_rows| {
            *end += n_rows;
            Some(*end)
        });
        ClassBlock {
            row_idxs: cell.places.iter().map(|&place| row_idxs[place as usize]).collect(),
            codes,
            class_ends: ends.collect(),
            regions: region.map_or(Vec::new(), |region| tree.leaf_regions(region)),
            ..ClassBlock::default()
        }
    }
}
