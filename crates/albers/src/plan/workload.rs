//! What a job says a release will be used for.

use albers_privacy::Criterion;
use albers_storage::choice::Choice;
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::schema::Role;

use super::WEIGHTS;
use super::columns::criteria_of;
use crate::condition::{Condition, MAX_BOXES};
use crate::error::{Error, Result};
use crate::job::{Job, SelectSpec, Split, TargetKind, TargetSpec};

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

/// Rows that the release will be asked for.
#[derive(Debug, Clone)]
pub(crate) struct PlannedSelect {
    /// Which.
    pub(crate) condition: Condition,
    /// How much a row that is returned in vain counts.
    pub(crate) weight: f64,
}

/// What a release will be used for; nothing where cuts follow no workload.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlannedWorkload {
    /// What classes should tell.
    pub(crate) targets: Vec<PlannedTarget>,
    /// Kept columns that are known beside the quasi-identifiers when targets are predicted.
    pub(crate) features: Vec<String>,
    /// What the release will be asked for.
    pub(crate) selects: Vec<PlannedSelect>,
}

/// The workload of a job.
pub(super) fn planned(job: &Job) -> Result<PlannedWorkload> {
    let split = job.split.unwrap_or_default();
    if !split.follows_workload() {
        let has = |is_there: bool, field: Field| is_there.then_some(field);
        let without = has(!job.workload.targets.is_empty(), Field::Target)
            .or(has(!job.workload.features.is_empty(), Field::Features))
            .or(has(!job.workload.select.is_empty(), Field::Select))
            .or(has(job.then.is_some(), Field::Then));
        return match without {
            Some(field) => Err(without_effect(field, split)),
            None => Ok(PlannedWorkload::default()),
        };
    }
    let targets = planned_targets(job, split)?;
    let features = planned_features(job, split, &targets)?;
    Ok(PlannedWorkload { targets, features, selects: selects_of(job, split)? })
}

/// What a release will be asked for, whatever cuts follow.
pub(crate) fn planned_selects(job: &Job) -> Result<Vec<PlannedSelect>> {
    let planned: Vec<PlannedSelect> =
        job.workload.select.iter().map(|own| planned_select(job, own)).collect::<Result<_>>()?;
    let n_boxes: usize = planned.iter().map(|own| own.condition.boxes().len()).sum();
    match n_boxes > MAX_BOXES {
        true => Err(Error::usage(
            wording![
                Field::Select,
                format!(" comes to {n_boxes} boxes, more than the {MAX_BOXES} possible")
            ],
            "ask for less, or with fewer alternatives",
        )),
        false => Ok(planned),
    }
}

fn selects_of(job: &Job, split: Split) -> Result<Vec<PlannedSelect>> {
    if split == Split::Selection && job.workload.select.is_empty() {
        return Err(Error::usage(
            "selection has nothing that the release will be asked for",
            wording!["say it with ", Field::Select.of("age >= 40 and sex = 'M'"), ", for example"],
        ));
    }
    if let [SelectSpec { weight: Some(_), .. }] = &job.workload.select[..] {
        return Err(weight_alone(Field::Select));
    }
    planned_selects(job)
}

/// A weight is beside others, or says nothing.
fn weight_alone(field: Field) -> Error {
    Error::usage(
        wording!["the weight of ", field, " has no effect, since there is no other"],
        "drop it, or add what it counts beside",
    )
}

fn planned_select(job: &Job, select: &SelectSpec) -> Result<PlannedSelect> {
    let role = |name: &str| job.columns.get(name).and_then(|own| own.role);
    if let Some(name) = select.condition.columns().find(|name| role(name).is_none()) {
        return Err(Error::usage(
            wording![Field::Select, format!(" asks for column '{name}', which has no role")],
            wording!["write the name as the table does, and name the column with ", Field::Quasi],
        ));
    }
    if let Some(name) = select.condition.columns().find(|name| role(name) != Some(Role::Quasi)) {
        return Err(Error::usage(
            wording![
                Field::Select,
                format!(" asks for column '{name}', which is no quasi-identifier")
            ],
            "ask for columns that are generalized: those of others would tell where their values lie",
        ));
    }
    let weight = select.weight.unwrap_or(1.0);
    match WEIGHTS.contains(&weight) {
        true => Ok(PlannedSelect { condition: select.condition.clone(), weight }),
        false => Err(Error::usage(
            wording![
                "the weight of ",
                Field::Select,
                format!(" is not a number from {} to {}", WEIGHTS.start(), WEIGHTS.end())
            ],
            "use 1 for a selection that counts like the others",
        )),
    }
}

/// The targets of a job.
fn planned_targets(job: &Job, split: Split) -> Result<Vec<PlannedTarget>> {
    let targets = &job.workload.targets;
    let Some(kind) = split.target_kind() else {
        return match targets.first() {
            Some(_) => Err(without_effect(Field::Target, split)),
            None => Ok(Vec::new()),
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
    if let [TargetSpec { weight: Some(_), .. }] = &targets[..] {
        return Err(weight_alone(Field::Target));
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

/// The features of a job: kept columns that are no targets.
fn planned_features(job: &Job, split: Split, targets: &[PlannedTarget]) -> Result<Vec<String>> {
    let features = &job.workload.features;
    if split.target_kind().is_none() && !features.is_empty() {
        return Err(without_effect(Field::Features, split));
    }
    for (place, name) in features.iter().enumerate() {
        let role = job.columns.get(name).and_then(|own| own.role);
        if role != Some(Role::Keep) {
            return Err(not_kept(name, role));
        }
        if targets.iter().any(|target| target.column == *name) {
            return Err(Error::usage(
                format!("column '{name}' is both a target and a feature"),
                "name it as one of them: nobody predicts what is known",
            ));
        }
        if features[..place].contains(name) {
            return Err(Error::usage(
                format!("column '{name}' is a feature twice"),
                "name it once",
            ));
        }
    }
    Ok(features.clone())
}

/// The refusal of a feature that is not published as it is, or is one anyway.
fn not_kept(name: &str, role: Option<Role>) -> Error {
    match role {
        Some(Role::Quasi) => Error::usage(
            format!("feature '{name}' is a quasi-identifier"),
            wording!["drop it from ", Field::Features, ": every quasi-identifier is one anyway"],
        ),
        Some(role) => Error::usage(
            format!("feature '{name}' is {role}, and not a column that is kept"),
            wording!["use columns that are ", Field::Keep, ", or drop it from ", Field::Features],
        ),
        None => Error::usage(
            format!("feature '{name}' has no role, and is not published"),
            wording!["add ", Field::Keep.naming(name), ", or drop it from ", Field::Features],
        ),
    }
}

fn without_effect(field: Field, split: Split) -> Error {
    let other = if field == Field::Select { Split::Selection } else { Split::InfoGain };
    Error::usage(
        wording![field, " has no effect with ", Field::Split.of(split.name())],
        wording!["drop it, or use ", Field::Split.of(other.name())],
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
