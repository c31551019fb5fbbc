//! The plan of a release with differential privacy.
//!
//! Guarantee: a plan is made only where the conditions of the proof hold that a job decides (see
//! `docs/differential-privacy.md`): a grid that is known before any row is, every published column
//! in it, a sampling that nothing repeats, and no figure of the rows beside the release.

use std::sync::Arc;

use albers_index::bang_file::scale::{ScaleProblem, ScaleSpec};
use albers_index::grid::fixed::FixedScale;
use albers_privacy::{DifferentialPrivacy, PrivacyError};
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use albers_table::hierarchy::{Hierarchy, HierarchySpec};
use albers_table::infer::TypeSample;
use albers_table::schema::{ColumnType, Role};

use super::PlannedColumn;
use crate::error::{Error, Result};
use crate::job::{ColumnJob, Job};

/// What a job promises, if it does; refuses what contradicts it.
pub(super) fn promise_of(job: &Job) -> Result<Option<DifferentialPrivacy>> {
    let (epsilon, delta) = match (job.epsilon, job.delta) {
        (None, None) => return Ok(None),
        (Some(epsilon), Some(delta)) => (epsilon, delta),
        (Some(_), None) => return Err(needs(Field::Epsilon, Field::Delta.of("1e-6"))),
        (None, Some(_)) => return Err(needs(Field::Delta, Field::Epsilon.of("1"))),
    };
    let mut promise = DifferentialPrivacy::of(epsilon, delta).map_err(|error| match error {
        PrivacyError::Parameter { parameter, given, hint } => {
            Error::usage(format!("{parameter} is {given}"), hint)
        }
        other => other.into(),
    })?;
    let is_dated = job.columns.values().any(|column| column.date_format.is_some());
    let idle = [(Field::Decimal, job.decimal.is_some()), (Field::DateFormat, is_dated)].into_iter();
    if let Some((field, _)) = idle.into_iter().find(|(_, is_given)| *is_given) {
        return Err(Error::usage(
            wording![field, " has no effect with ", Field::Epsilon],
            "write numbers as 1234.5 and dates as 2020-12-31 first",
        ));
    }
    match job.k {
        Some(k) if k < promise.k => {
            return Err(Error::usage(
                format!("k = {k} is less than the {} that keep this promise", promise.k),
                wording![
                    "drop ",
                    Field::K,
                    ", or use ",
                    Field::K.of(promise.k.to_string()),
                    " or more"
                ],
            ));
        }
        // More rows in a cell break no promise.
        k => promise.k = k.unwrap_or(promise.k),
    }
    check(job)?;
    Ok(Some(promise))
}

fn needs(given: Field, other: wording::Setting) -> Error {
    Error::usage(
        wording![given, " promises nothing without ", other.field],
        wording!["add ", other, ", for example"],
    )
}

/// Refuses what would tell of the rows beside the cells of the grid, or has no effect on these.
fn check(job: &Job) -> Result<()> {
    let refused: [(Field, bool, &str); 6] = [
        (Field::Seed, job.seed.is_some(), "rows are drawn in secret, and nothing may repeat that"),
        (Field::AlsoK, !job.also_k.is_empty(), "a second release would need a promise of its own"),
        (Field::Values, job.values.is_some(), "cells show the ranges of the grid"),
        (Field::Categories, job.categories.is_some(), "cells show the ranges of the grid"),
        (Field::Compact, job.compact == Some(false), "cells show the ranges of the grid anyway"),
        (Field::Accept, !job.accept.is_empty(), "what breaks the promise cannot be accepted"),
    ];
    for (field, is_given, why) in refused {
        if is_given {
            return Err(Error::usage(
                wording![field, " cannot stand beside ", Field::Epsilon, format!(": {why}")],
                wording!["drop it, or drop ", Field::Epsilon, " and ", Field::Delta],
            ));
        }
    }
    for (name, column) in &job.columns {
        if matches!(column.role, Some(Role::Keep | Role::Sensitive)) {
            let role = column.role.map_or("", Role::name);
            return Err(Error::usage(
                wording![
                    format!("column '{name}' is {role}, and with "),
                    Field::Epsilon,
                    " every published column must be in the grid"
                ],
                wording![
                    "make it ",
                    Field::Quasi.naming(name),
                    " with ",
                    Field::Scale.of_column(name, "equal:0..100:4"),
                    " or a hierarchy file, or leave it out"
                ],
            ));
        }
    }
    Ok(())
}

/// Gives every quasi-identifier its part of the grid.
pub(super) fn fix(job: &Job, planned: &mut [PlannedColumn]) -> Result<()> {
    for column in planned.iter_mut().filter(|column| column.role == Role::Quasi) {
        let of_job = &job.columns[&column.name];
        column.fixed = Some(Arc::new(fixed_scale(&column.name, of_job)?));
    }
    for column in planned.iter_mut().filter(|column| column.role == Role::Subject) {
        if column.column_type.is_some() {
            let name = &column.name;
            return Err(Error::usage(
                format!(
                    "the type of column '{name}' has no effect: persons are told by their texts"
                ),
                wording!["drop ", Field::Type.naming(name)],
            ));
        }
        column.column_type = Some(ColumnType::Text);
    }
    Ok(())
}

fn fixed_scale(name: &str, column: &ColumnJob) -> Result<FixedScale> {
    let unfit = |ScaleProblem { problem, hint }: ScaleProblem| {
        Error::usage(format!("the scale of column '{name}' {problem}"), hint)
    };
    match (&column.scale, &column.hierarchy) {
        (Some(ScaleSpec::Equal { ends: Some((lo, hi)), n_bits: Some(n_bits) }), None) => {
            if column.level.is_some() {
                return Err(Error::usage(
                    format!("the level of column '{name}' has no effect, since it has ranges"),
                    "drop it, or give the column a hierarchy file in place of its scale",
                ));
            }
            FixedScale::of_ends((lo, hi), *n_bits, column.column_type).map_err(unfit)
        }
        (
            None | Some(ScaleSpec::Hierarchy),
            Some(spec @ (HierarchySpec::File(_) | HierarchySpec::Rows(_))),
        ) => {
            let kind = match column.column_type {
                Some(kind) => kind,
                None => type_of_leaves(name, spec)?,
            };
            let tree = Hierarchy::build(spec, name, kind, &[])?;
            FixedScale::of_hierarchy(&tree, kind, column.level.unwrap_or(0).into()).map_err(unfit)
        }
        (scale, hierarchy) => Err(not_fixed(name, scale.as_ref(), hierarchy.as_ref())),
    }
}

/// The type that all leaves of a file have, without a look at the column.
fn type_of_leaves(name: &str, spec: &HierarchySpec) -> Result<ColumnType> {
    let tree = Hierarchy::build(spec, name, ColumnType::Text, &[])?;
    let mut sample = TypeSample::default();
    tree.leaves().for_each(|leaf| sample.add(leaf.as_bytes()));
    let kind = sample.column_type();
    // A type that nearly all have is not enough here: each leaf must be one.
    let is_of_all = tree.leaves().all(|leaf| albers_table::value::canonical(kind, leaf).is_some());
    Ok(if is_of_all { kind } else { ColumnType::Text })
}

/// The refusal of a grid that the rows would have a say in.
fn not_fixed(name: &str, scale: Option<&ScaleSpec>, hierarchy: Option<&HierarchySpec>) -> Error {
    let why: Wording = match (scale, hierarchy) {
        (None, None) => "has neither".into(),
        (Some(ScaleSpec::Equal { ends: None, .. }), _) => "has a scale without ends".into(),
        (Some(ScaleSpec::Equal { n_bits: None, .. }), _) => "has a scale without bits".into(),
        (Some(ScaleSpec::Equal { .. }), _) => "has both".into(),
        (Some(ScaleSpec::Quantile { .. }), _) => "has ranges of about equally many rows".into(),
        (Some(ScaleSpec::File(_) | ScaleSpec::Lines(_)), _) => "has a file of ranges".into(),
        (Some(ScaleSpec::Hierarchy), None) => "has the scale of a hierarchy, and none".into(),
        (_, Some(_)) => "has a hierarchy that is made of its values".into(),
    };
    let mut problem = wording![
        "with ",
        Field::Epsilon,
        format!(
            " every column needs a scale with ends and bits or a hierarchy file, which do not look \
             at the rows; column '{name}' "
        )
    ];
    problem.append(why);
    Error::usage(
        problem,
        wording![
            "use ",
            Field::Scale.of_column(name, "equal:0..100:4"),
            " or ",
            Field::Hierarchy.of_column(name, "FILE"),
            ", or leave the column out"
        ],
    )
}
