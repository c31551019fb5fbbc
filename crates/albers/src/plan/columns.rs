//! What a job says of its columns, checked before any row is read.

use std::sync::Arc;

use albers_index::bang_file::scale::ScaleSpec;
use albers_index::grid::fixed::FixedScale;
use albers_partition::mondrian::MAX_ATTRIBUTES;
use albers_privacy::{Criterion, PrivacyError};
use albers_release::publish::{FeatureColumn, FeatureKind, Values};
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::{ColumnType, Role};
use albers_table::source::{self, ColumnRequest, SourceColumn};

use super::{Plan, PlannedWorkload, WEIGHTS};
use crate::error::{Error, Result};
use crate::job::{Categories, ColumnJob, Job, TargetKind};

/// The endings of the columns that show a quasi-identifier by its bounds.
pub(crate) const BOUND_ENDINGS: [&str; 3] = ["_min", "_max", "_missing"];

/// The ending of the column that shows the mean beside them.
pub(crate) const MEAN_ENDING: &str = "_mean";

/// A column that is read.
#[derive(Debug, Clone)]
pub(crate) struct PlannedColumn {
    /// Its name.
    pub(crate) name: String,
    /// Its role; never that of an identifier, which is not read.
    pub(crate) role: Role,
    /// Its type, where the job says so.
    pub(crate) column_type: Option<ColumnType>,
    /// Its hierarchy.
    pub(crate) hierarchy: Option<HierarchySpec>,
    /// How much a loss on it counts.
    pub(crate) weight: f64,
    /// Whether it is cut before all others.
    pub(crate) preferred: bool,
    /// How it is halved, where the job says so.
    pub(crate) scale: Option<ScaleSpec>,
    /// Its part of a grid that does not look at the rows.
    pub(crate) fixed: Option<Arc<FixedScale>>,
    /// The requirements on it, besides k-anonymity.
    pub(crate) criteria: Vec<Criterion>,
    /// What classes should tell of it.
    pub(crate) target: Option<TargetKind>,
    /// Whether it is known beside the quasi-identifiers when targets are predicted.
    pub(crate) is_feature: bool,
}

impl PlannedColumn {
    /// How it is read.
    pub(crate) fn request(&self) -> ColumnRequest {
        ColumnRequest {
            name: self.name.clone(),
            // The text of a cell tells its range, or that it has none.
            column_type: self.fixed.as_ref().map_or(self.column_type, |_| Some(ColumnType::Text)),
            coded: self.role != Role::Keep || self.target.is_some() || self.is_feature,
            carried: matches!(self.role, Role::Keep | Role::Sensitive),
        }
    }
}

/// The columns with a role that is read, in the order of the source. Where columns are shown as
/// they are or not at all, those without a hierarchy can be suppressed as a whole.
pub(super) fn planned(
    job: &Job,
    columns: &[SourceColumn],
    all_or_nothing: bool,
    workload: &PlannedWorkload,
) -> Result<Vec<PlannedColumn>> {
    let mut planned = Vec::new();
    let PlannedWorkload { targets, features, .. } = workload;
    for column in columns {
        let Some(of_job) = job.columns.get(&column.name) else { continue };
        let Some(role) = of_job.role.filter(|&role| role != Role::Identifier) else { continue };
        let mut hierarchy = of_job.hierarchy.clone();
        if all_or_nothing && role == Role::Quasi {
            hierarchy.get_or_insert(HierarchySpec::Suppress);
        }
        if let (Some(spec), Some(finest)) = (&hierarchy, &of_job.finest) {
            hierarchy = Some(HierarchySpec::AtLeast(Box::new(spec.clone()), finest.clone()));
        }
        planned.push(PlannedColumn {
            name: column.name.clone(),
            role,
            column_type: of_job.column_type,
            hierarchy,
            weight: weight_of(&column.name, of_job)?,
            preferred: of_job.bias.unwrap_or(false),
            scale: of_job.scale.clone(),
            fixed: None,
            criteria: criteria_of(&column.name, of_job)?,
            target: targets.iter().find(|own| own.column == column.name).map(|own| own.kind),
            is_feature: features.contains(&column.name),
        });
    }
    Ok(planned)
}

/// The identifiers whose repetition tells that people have several rows, where nothing else tells
/// persons apart; those whose cells have no text are left out.
pub(crate) fn counted_identifiers(job: &Job, columns: &[SourceColumn]) -> Vec<String> {
    if job.with_role(Role::Subject).next().is_some() {
        return Vec::new();
    }
    let is_identifier =
        |name: &str| job.columns.get(name).is_some_and(|own| own.role == Some(Role::Identifier));
    let has_text = |column: &SourceColumn| {
        column.can_be_coded() && column.data_type.as_ref().is_none_or(|own| !own.is_temporal())
    };
    let counted = columns.iter().filter(|own| is_identifier(&own.name) && has_text(own));
    counted.map(|column| column.name.clone()).collect()
}

fn weight_of(name: &str, column: &ColumnJob) -> Result<f64> {
    let weight = column.weight.unwrap_or(1.0);
    if WEIGHTS.contains(&weight) {
        return Ok(weight);
    }
    Err(Error::usage(
        format!(
            "the weight of column '{name}' is not a number from {} to {}",
            WEIGHTS.start(),
            WEIGHTS.end()
        ),
        "use 1 for a column that counts like the others",
    ))
}

/// The requirements on a column, besides k-anonymity.
pub(crate) fn criteria_of(name: &str, column: &ColumnJob) -> Result<Vec<Criterion>> {
    let mut criteria = Vec::new();
    criteria.extend(column.l_diversity.map(|diversity| diversity.0));
    criteria.extend(column.t_closeness.map(|t| Criterion::TCloseness { t }));
    criteria.extend(column.alpha.map(|alpha| Criterion::AlphaK { alpha }));
    criteria.extend(column.variance.map(|minimum| Criterion::Variance { minimum }));
    for criterion in &criteria {
        criterion.check().map_err(|error| match error {
            PrivacyError::Parameter { parameter, given, hint } => {
                Error::usage(format!("{parameter} of column '{name}' is {given}"), hint)
            }
            other => other.into(),
        })?;
    }
    Ok(criteria)
}

/// Refuses roles that make no release, whatever the table.
pub(super) fn check_roles(job: &Job) -> Result<()> {
    let n_quasi = job.with_role(Role::Quasi).count();
    if n_quasi == 0 {
        return Err(Error::usage(
            "no column is a quasi-identifier, so there is nothing to generalize",
            wording![
                "name the columns that others know with ",
                Field::Quasi,
                ", or let 'albers init' propose them"
            ],
        ));
    }
    if n_quasi > MAX_ATTRIBUTES {
        return Err(Error::usage(
            format!("{n_quasi} quasi-identifiers are more than the {MAX_ATTRIBUTES} possible"),
            "drop some, or keep those that nobody else knows",
        ));
    }
    if job.with_role(Role::Subject).count() > 1 {
        return Err(Error::usage("there are several subject columns", "name one"));
    }
    check_criteria_have_roles(job)
}

/// A requirement on a column that is not sensitive would be silently without effect.
pub(crate) fn check_criteria_have_roles(job: &Job) -> Result<()> {
    for (name, column) in &job.columns {
        if column.role != Some(Role::Sensitive) && !criteria_of(name, column)?.is_empty() {
            return Err(Error::usage(
                format!("there is a requirement on column '{name}', which is not sensitive"),
                wording!["add ", Field::Sensitive.naming(name), ", or drop the requirement"],
            ));
        }
    }
    Ok(())
}

/// Methods that climb hierarchies need one for every quasi-identifier.
pub(super) fn check_hierarchies(job: &Job) -> Result<()> {
    let lacks = |name: &&str| job.columns[*name].hierarchy.is_none();
    let without: Vec<&str> = job.with_role(Role::Quasi).filter(lacks).collect();
    let Some(first) = without.first() else { return Ok(()) };
    let names: Vec<String> = without.iter().map(|name| format!("'{name}'")).collect();
    let is_one = without.len() == 1;
    Err(Error::usage(
        format!(
            "{} {} no hierarchy, which {} needs for every quasi-identifier",
            names.join(", "),
            if is_one { "has" } else { "have" },
            job.method()
        ),
        wording![
            "add ",
            Field::Hierarchy.of_column(first, "ranges:5,10,20"),
            " (or prefix, dates, suppress, a FILE)",
            if is_one { "" } else { " for each" }
        ],
    ))
}

/// Refuses columns that are not there, and what is said of a column without effect.
pub(super) fn check_header(job: &Job, table: &str, columns: &[SourceColumn]) -> Result<()> {
    for name in job.columns.keys() {
        place_of(table, columns, name)?;
    }
    job.columns.iter().try_for_each(|(name, column)| check_effects(name, column))
}

/// The place of a column in a source, or an error that lists what there is.
pub(crate) fn place_of(table: &str, columns: &[SourceColumn], name: &str) -> Result<usize> {
    Ok(source::place_of(table, columns, name)?)
}

/// What has no effect on a column of this role would be silently ignored.
fn check_effects(name: &str, column: &ColumnJob) -> Result<()> {
    check_date_format(name, column)?;
    if column.finest.is_some() && column.hierarchy.is_none() {
        return Err(Error::usage(
            format!("column '{name}' has no hierarchy, and so no level that may be the finest"),
            wording![
                "give it one with ",
                Field::Hierarchy.of_column(name, "prefix"),
                " (or dates, ranges:5,10, a FILE), or drop ",
                Field::Finest
            ],
        ));
    }
    let is_quasi = column.role == Some(Role::Quasi);
    let has_hierarchy = is_quasi || column.role == Some(Role::Sensitive);
    let quasi = || wording![Field::Quasi];
    type Needed = fn() -> Wording;
    let without_effect: [(&str, bool, Needed); 9] = [
        ("type", column.column_type.is_some() && column.role.is_none(), || "any role".into()),
        ("date-format", column.date_format.is_some() && column.role.is_none(), || {
            "any role".into()
        }),
        ("missing", !column.missing.is_empty() && column.role.is_none(), || "any role".into()),
        ("hierarchy", column.hierarchy.is_some() && !has_hierarchy, || {
            wording![Field::Quasi, " or ", Field::Sensitive]
        }),
        ("finest", column.finest.is_some() && !is_quasi, quasi),
        ("weight", column.weight.is_some() && !is_quasi, quasi),
        ("level", column.level.is_some() && !is_quasi, quasi),
        ("bias", column.bias == Some(true) && !is_quasi, quasi),
        ("scale", column.scale.is_some() && !is_quasi, quasi),
    ];
    for (field, is_idle, needed) in without_effect {
        if is_idle {
            let role = column.role.map_or("has no role".to_owned(), |role| format!("is {role}"));
            let mut advice = wording!["give it "];
            advice.append(needed());
            advice.append(wording![format!(", or drop the {field}")]);
            return Err(Error::usage(
                format!("the {field} of column '{name}' has no effect, since the column {role}"),
                advice,
            ));
        }
    }
    Ok(())
}

/// A format of dates is one of dates, or of times.
fn check_date_format(name: &str, column: &ColumnJob) -> Result<()> {
    let (Some(format), Some(kind)) = (&column.date_format, column.column_type) else {
        return Ok(());
    };
    let told = if format.has_time() { ColumnType::Timestamp } else { ColumnType::Date };
    if kind == told {
        return Ok(());
    }
    Err(Error::usage(
        wording![
            Field::DateFormat.of_column(name, format.to_string()),
            format!(" reads {told}s, and the column is of type {kind}")
        ],
        wording!["drop one of them, or say ", Field::Type.of_column(name, told.name())],
    ))
}

/// What classes show beside their cells: how deep they lie in others, where they may.
pub(super) fn level_features(job: &Job) -> Vec<FeatureColumn> {
    let level = job.level_column().filter(|_| job.nesting != Some(false));
    level.map(level_feature).into_iter().collect()
}

/// The column of a name that tells how deep the regions of classes lie.
pub(super) fn level_feature(name: &str) -> FeatureColumn {
    FeatureColumn { name: name.to_owned(), kind: FeatureKind::Integer }
}

/// What classes show beside their cells takes a name that no other published column has.
pub(super) fn check_level_name(job: &Job, features: &[FeatureColumn]) -> Result<()> {
    let published = |name: &str| {
        let role = job.columns.get(name).and_then(|column| column.role);
        matches!(role, Some(Role::Quasi | Role::Sensitive | Role::Keep))
    };
    if features.iter().any(|own| own.name.trim().is_empty()) {
        return Err(Error::usage(
            "the levels of nested classes have no name",
            wording!["give them one with ", Field::LevelColumn.of("level")],
        ));
    }
    match features.iter().find(|own| published(&own.name)) {
        None => Ok(()),
        Some(own) => Err(Error::usage(
            format!(
                "column '{}': there would be two columns of this name, one of them that of the \
                 levels of nested classes",
                own.name
            ),
            wording!["give the other a name with ", Field::LevelColumn.of("depth")],
        )),
    }
}

/// Bounds and means take new names; a column with a role that has one of them would be taken for
/// the bound. Means without an interval have no effect.
pub(super) fn check_bound_names(
    plan: &Plan,
    columns: &[SourceColumn],
    values: Values,
) -> Result<()> {
    let shows_means = values == Values::Mean;
    let may_show = |column: &&PlannedColumn| {
        values == Values::Features || may_show_bounds(plan, columns, column)
    };
    let is_taken = |name: &str| {
        plan.table.iter().any(|own| own.name == name && own.role.is_some())
            || plan.method.features().iter().any(|own| own.name == name)
    };
    let quasi = plan.columns.iter().filter(|column| column.role == Role::Quasi);
    let mut n_shown = 0;
    for column in quasi.filter(may_show) {
        n_shown += 1;
        let endings = BOUND_ENDINGS.into_iter().chain(shows_means.then_some(MEAN_ENDING));
        for bound in endings.map(|ending| format!("{}{ending}", column.name)) {
            if is_taken(&bound) {
                return Err(Error::usage(
                    format!(
                        "column '{bound}': there would be two columns of this name, one of them a \
                         {} of '{}'",
                        if bound.ends_with(MEAN_ENDING) { "mean" } else { "bound" },
                        column.name
                    ),
                    wording![
                        "rename the column, or write one column of text with ",
                        Field::Values.of("interval")
                    ],
                ));
            }
        }
    }
    if shows_means && n_shown == 0 { Err(no_means()) } else { Ok(()) }
}

/// The refusal of means where no quasi-identifier is shown as an interval.
pub(crate) fn no_means() -> Error {
    Error::usage(
        wording![
            Field::Values.of("mean"),
            " has no effect, since no quasi-identifier is shown as an interval"
        ],
        wording![
            "drop it; numbers and dates are shown as intervals without a hierarchy, or with ",
            Field::Categories.of("set")
        ],
    )
}

/// Whether a quasi-identifier is ordered, as far as is known before its cells are read.
fn may_show_bounds(plan: &Plan, columns: &[SourceColumn], column: &PlannedColumn) -> bool {
    let shows_labels = column.hierarchy.is_some() && plan.show.categories != Some(Categories::Set);
    if shows_labels || column.fixed.is_some() {
        return false;
    }
    let in_source = columns.iter().find(|own| own.name == column.name);
    let data_type = in_source.and_then(|own| own.data_type.as_ref());
    match (column.column_type, data_type) {
        (Some(kind), _) => kind.is_ordered(),
        (None, Some(own)) => own.is_numeric() || own.is_temporal(),
        (None, None) => true,
    }
}
