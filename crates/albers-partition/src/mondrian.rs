//! Mondrian: cut the space top-down until no allowable cut is left.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 2.2; for tables of more than 131,072 rows
//! the first cuts are chosen on a sample, as in section 5.2 (Rothko-S).
//! Departures: a cell of the sampled top that violates the requirement is merged with its siblings,
//! then cut again with all its rows at hand.
//! Guarantee: every class satisfies the requirement, if the whole table does; no class has a cut
//! that the policy would still allow. The result depends on the table, the plan and nothing else.
//! Cost: O(rows * attributes) per level of the tree; memory for the codes twice.
//!
//! ```text
//!   chunks of columns ──sample──► top of the tree ──route──► cells (about 16,000 rows each)
//!                                                              │ one thread per cell
//!                                                              ▼
//!                                                 cut until nothing is allowable ──► classes
//! ```

mod cell;
mod routed;

use albers_classes::class_block::{ClassBlock, Groups};
use albers_classes::points::Points;
use albers_storage::Result;
use albers_storage::watch::{Phase, Watch};
use rayon::prelude::*;

use crate::split::extent::has_small_sets;
use crate::top::WHOLE_ROWS;

pub use crate::plan::{MAX_ATTRIBUTES, Plan};

/// Divides points into classes. The whole table must satisfy the requirement.
pub fn partition(points: Points, plan: &Plan<'_>, watch: &dyn Watch) -> Result<Groups> {
    assert!(points.n_attributes() <= MAX_ATTRIBUTES, "checked when the job was planned");
    watch.phase(Phase::Partition, Some(points.n_rows() as u64));
    let sets = has_small_sets(plan.space);
    crate::with_lanes!(points.n_attributes(), sets, partition_lanes(points, plan, watch))
}

fn partition_lanes<const L: usize, const M: usize>(
    points: Points,
    plan: &Plan<'_>,
    watch: &dyn Watch,
) -> Result<Groups> {
    let n_attributes = points.n_attributes();
    let cutter = cell::Cutter::<L, M>::new(plan, points.n_rows() > WHOLE_ROWS);
    if points.n_rows() <= WHOLE_ROWS {
        let cell = cell::Cell::whole(points.into_chunks(), n_attributes, plan);
        let block = cutter.cut(cell);
        watch.done(block.row_ids.len() as u64)?;
        return Ok(Groups::of_all(n_attributes, vec![block]));
    }
    let top = routed::grow_top::<L, M>(&points, plan);
    let routed = routed::route(&top, points, plan);
    let blocks: Vec<ClassBlock> = (0..routed.n_cells())
        .into_par_iter()
        .map(|cell_idx| {
            let block = cutter.cut(routed.cell(cell_idx, plan));
            watch.done(block.row_ids.len() as u64)?;
            Ok(block)
        })
        .collect::<Result<_>>()?;
    Ok(Groups::of_all(n_attributes, blocks))
}
