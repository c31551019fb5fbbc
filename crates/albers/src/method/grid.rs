//! The cells of a grid as classes: at the finest resolution that satisfies the requirement.

use albers_classes::class_block::Groups;
use albers_classes::points::Points;
use albers_index::grid::Grid;
use albers_partition::plan::Plan as Settings;
use albers_partition::split::rule::{Allowance, Rule};

use super::scales::scales_of;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::rows::Table;

/// The cells of all points.
pub(super) fn groups(
    run: &Context<'_>,
    table: &Table,
    points: Points,
    settings: &Settings<'_>,
) -> Result<Groups> {
    let rule = Rule { requirement: settings.requirement, facts: settings.facts };
    let n_rows = points.n_rows() as u64;
    let allowance =
        Allowance { min_rows: settings.min_rows(), rule: settings.has_rule().then_some(rule) };
    let grid = Grid::of(&points, scales_of(run.plan, table, &points)?, run.watch)?;
    match grid.finest(&allowance, run.watch)? {
        Some(n_halvings) => Ok(grid.groups(points, n_halvings)),
        None => Err(Error::NothingSatisfies { n_rows, max_suppressed: 0 }),
    }
}
