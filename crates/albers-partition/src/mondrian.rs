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

use albers_classes::Region;
use albers_classes::class_block::{ClassBlock, Groups};
use albers_classes::points::Points;
use albers_classes::space::Space;
use albers_privacy::Facts;
use albers_privacy::Requirement;
use albers_table::progress::Progress;
use rayon::prelude::*;

use crate::split::Policy;
use crate::split::extent::has_small_sets;
use crate::top::WHOLE_ROWS;

/// The most attributes a point can have.
pub const MAX_ATTRIBUTES: usize = 64;

/// What a partitioning is to do.
pub struct Plan<'a> {
    /// The attributes.
    pub space: &'a Space,
    /// What every class must satisfy.
    pub requirement: &'a Requirement,
    /// What the requirement looks at, by row number.
    pub facts: &'a Facts,
    /// How cuts are chosen.
    pub policy: Policy,
    /// Whether the regions of the classes are wanted, not only their points.
    pub keep_regions: bool,
}

impl Plan<'_> {
    /// No class has fewer rows.
    pub fn min_rows(&self) -> usize {
        usize::try_from(self.requirement.min_rows()).unwrap_or(usize::MAX).max(1)
    }

    /// Whether more than the number of rows decides.
    pub fn has_rule(&self) -> bool {
        self.requirement.is_only_row_count().is_none()
    }
}

/// Divides points into classes. The whole table must satisfy the requirement.
pub fn partition(points: Points, plan: &Plan<'_>, progress: &dyn Progress) -> Groups {
    assert!(points.n_attributes() <= MAX_ATTRIBUTES, "checked when the job was planned");
    progress.phase("partition", Some(points.n_rows() as u64));
    let sets = has_small_sets(plan.space);
    crate::with_lanes!(points.n_attributes(), sets, partition_lanes(points, plan, progress))
}

fn partition_lanes<const L: usize, const M: usize>(
    points: Points,
    plan: &Plan<'_>,
    progress: &dyn Progress,
) -> Groups {
    let n_attributes = points.n_attributes();
    let cutter = cell::Cutter::<L, M>::new(plan, points.n_rows() > WHOLE_ROWS);
    if points.n_rows() <= WHOLE_ROWS {
        let cell = cell::Cell::whole(points.into_chunks(), n_attributes, plan);
        let block = cutter.cut(cell);
        progress.advance(block.row_ids.len() as u64);
        return Groups::of_all(n_attributes, vec![block]);
    }
    let top = routed::grow_top::<L, M>(&points, plan);
    let routed = routed::route(&top, points, plan);
    let blocks: Vec<ClassBlock> = (0..routed.n_cells())
        .into_par_iter()
        .map(|cell_idx| {
            let block = cutter.cut(routed.cell(cell_idx, plan));
            progress.advance(block.row_ids.len() as u64);
            block
        })
        .collect();
    Groups::of_all(n_attributes, blocks)
}

/// The region of all points.
pub fn whole_region(plan: &Plan<'_>) -> Option<Region> {
    plan.keep_regions.then(|| vec![(0, u32::MAX); plan.space.axes.len()])
}
