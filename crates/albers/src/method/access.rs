//! The classes of the relatives of a BANG file.

use albers_classes::class_block::Groups;
use albers_classes::points::Points;
use albers_index::access_methods::{AccessPlan, MAX_CELLS, Relative, Stop, divide};
use albers_partition::plan::Plan as Settings;
use albers_partition::split::rule::{Allowance, Rule};
use albers_storage::choice::Choice;
use albers_storage::wording;
use albers_storage::wording::Field;

use super::scales::scales_of;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::job::Method;
use crate::rows::Table;

/// The buckets of all points.
pub(super) fn groups(
    run: &Context<'_>,
    table: &Table,
    points: Points,
    (relative, settings): (Relative, &Settings<'_>),
) -> Result<Groups> {
    let rule = Rule { requirement: settings.requirement, facts: settings.facts };
    let plan = AccessPlan {
        relative,
        scales: match relative.is_regular() {
            true => scales_of(run.plan, table, &points)?,
            false => Vec::new(),
        },
        space: settings.space,
        allowance: Allowance {
            min_rows: settings.min_rows(),
            rule: settings.has_rule().then_some(rule),
        },
    };
    match divide(points, plan, run.watch) {
        Ok(division) => Ok(division.groups()),
        Err(Stop::Storage(error)) => Err(error.into()),
        Err(Stop::Directory { n_cells }) => Err(Error::usage(
            format!(
                "the directory of a grid-file would have {n_cells} cells or more, of which most are \
                 empty, and has at most {MAX_CELLS}"
            ),
            wording![
                "give fewer quasi-identifiers or a greater ",
                Field::K,
                ", or use ",
                Field::Method.of(Method::KdBTrie.name())
            ],
        )),
    }
}
