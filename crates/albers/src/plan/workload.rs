//! What a job says a release will be used for.

use albers_privacy::Criterion;
use albers_storage::choice::Choice;
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::schema::Role;

use super::WEIGHTS;
use super::columns::criteria_of;
use crate::error::{Error, Result};
use crate::job::{Job, Split, TargetKind, TargetSpec};

/// A column that classes should tell.
#[derive(Debug, Clone)]
pub(crate) struct PlannedTarget {
    /// Its name.
    pub(crate) column: String,
    /// What is told of it.
    pub(crate) kind: TargetKind,
    /// How much it counts.
    pub(crate) weight: f64,
}

/// The targets of a job; none where cuts follow no target.
pub(super) fn planned(job: &Job) -> Result<Vec<PlannedTarget>> {
    let split = job.split.unwrap_or_default();
    let targets = &job.workload.targets;
    let Some(kind) = split.target_kind() else {
        return match (targets.first(), job.then) {
            (Some(_), _) => Err(without_effect(Field::Target, split)),
            (None, Some(_)) => Err(without_effect(Field::Then, split)),
            (None, None) => Ok(Vec::new()),
        };
    };
    followed(job, kind, split.name())
}

/// The targets of a job for what follows them, of which one at least must be of a kind.
pub(super) fn followed(job: &Job, kind: TargetKind, follower: &str) -> Result<Vec<PlannedTarget>> {
    let targets = &job.workload.targets;
    let planned: Vec<PlannedTarget> =
        targets.iter().map(|target| planned_target(job, target, kind)).collect::<Result<_>>()?;
    if planned.iter().all(|target| target.kind != kind) {
        return Err(Error::usage(
            format!("{follower} has no target that is a {kind}"),
            wording!["name the column that classes should tell with ", Field::Target],
        ));
    }
    for (place, target) in planned.iter().enumerate() {
        if planned[..place].iter().any(|other| other.column == target.column) {
            return Err(Error::usage(
                format!("column '{}' is a target twice", target.column),
                "name it once, with a weight if it is to count for more",
            ));
        }
    }
    Ok(planned)
}

fn without_effect(field: Field, split: Split) -> Error {
    Error::usage(
        wording![field, " has no effect with ", Field::Split.of(split.name())],
        wording!["drop it, or use ", Field::Split.of(Split::InfoGain.name())],
    )
}

fn planned_target(job: &Job, target: &TargetSpec, kind: TargetKind) -> Result<PlannedTarget> {
    let name = &target.column;
    let column = job.columns.get(name);
    match column.and_then(|own| own.role) {
        Some(Role::Quasi | Role::Keep) => {}
        Some(Role::Sensitive) => {
            let criteria = column.map_or(Ok(Vec::new()), |own| criteria_of(name, own))?;
            let has_rule = criteria.iter().any(Criterion::forbids_one_value);
            if !has_rule {
                return Err(Error::usage(
                    format!(
                        "target '{name}' is sensitive and has no requirement that forbids classes of \
                         one value: they would be made to share it"
                    ),
                    "add a diversity of 2 or more, a share below 1, or a variance of it",
                ));
            }
        }
        Some(role) => {
            return Err(Error::usage(
                format!("target '{name}' is {role}, and is not published"),
                wording![
                    "use a column that is ",
                    Field::Quasi,
                    ", ",
                    Field::Sensitive,
                    " or ",
                    Field::Keep
                ],
            ));
        }
        None => {
            return Err(Error::usage(
                format!("target '{name}' has no role, and is not published"),
                wording!["give it ", Field::Quasi, ", ", Field::Sensitive, " or ", Field::Keep],
            ));
        }
    }
    let weight = target.weight.unwrap_or(1.0);
    if !WEIGHTS.contains(&weight) {
        return Err(Error::usage(
            format!(
                "the weight of target '{name}' is not a number from {} to {}",
                WEIGHTS.start(),
                WEIGHTS.end()
            ),
            "use 1 for a target that counts like the others",
        ));
    }
    Ok(PlannedTarget { column: name.clone(), kind: target.kind.unwrap_or(kind), weight })
}
