//! The classes of a BANG file.

use albers_classes::class_block::Groups;
use albers_classes::points::Points;
use albers_index::bang_file::scale::{Scale, ScaleProblem};
use albers_index::bang_file::{BangFile, BangPlan};
use albers_partition::plan::Plan as Settings;
use albers_partition::split::rule::{Allowance, Rule};
use albers_storage::wording;
use albers_storage::wording::Field;

use crate::context::Context;
use crate::error::{Error, Result};
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
        scales: scales(run, table, &points)?,
        allowance: Allowance {
            min_rows: settings.min_rows(),
            rule: settings.has_rule().then_some(rule),
        },
        nests: run.plan.method.is_nested(),
    };
    let file = BangFile::build(&points, plan, run.watch)?;
    Ok(file.groups(points))
}

/// The scale of each quasi-identifier.
pub(super) fn scales(run: &Context<'_>, table: &Table, points: &Points) -> Result<Vec<Scale>> {
    let attributes = table.attributes.iter().enumerate();
    let scales = attributes.map(|(place, attribute)| {
        let name = attribute.domain.name();
        let column = run.plan.columns.iter().find(|own| own.name == name);
        let spec = column.and_then(|own| own.scale.as_ref());
        Scale::of(spec, attribute, (points, place)).map_err(|ScaleProblem { problem, hint }| {
            Error::usage(
                format!("the scale of column '{name}' {problem}"),
                wording![hint, ", or drop ", Field::Scale.naming(name)],
            )
        })
    });
    scales.collect()
}
