//! The classes of a BANG file.

use albers_classes::class_block::Groups;
use albers_classes::points::Points;
use albers_index::bang_file::{BangFile, BangPlan};
use albers_partition::plan::Plan as Settings;
use albers_partition::split::rule::{Allowance, Rule};

use super::scales::scales_of;
use crate::context::Context;
use crate::error::Result;
use crate::rows::Table;

/// The blocks of a file that is built of all points.
pub(super) fn groups(
    run: &Context<'_>,
    table: &Table,
    points: Points,
    settings: &Settings<'_>,
) -> Result<Groups> {
    let rule = Rule { requirement: settings.requirement, facts: settings.facts };
    let plan = BangPlan {
        scales: scales_of(run.plan, table, &points)?,
        allowance: Allowance {
            min_rows: settings.min_rows(),
            rule: settings.has_rule().then_some(rule),
        },
        nests: run.plan.method.is_nested(),
    };
    let file = BangFile::build(&points, plan, run.watch)?;
    Ok(file.groups(points))
}
