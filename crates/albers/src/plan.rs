//! A job, checked once: the only code that looks at a [`Job`].
//!
//! ```text
//!   Job + columns of the source ──► effects ──► columns, requirement, method ──► Plan
//! ```
//!
//! Guarantee: a plan says nothing that has no effect. Each method's plan holds just what the method
//! looks at; whatever else the job says of it has nowhere to go, and is refused by name.
//! Deliberately absent: rows and paths. What a table's cells decide comes after the plan.

mod columns;
mod effects;
mod external;
mod method;
mod portfolio;
mod private;
mod resolutions;
mod resources;
mod search;
mod workload;

use std::ops::RangeInclusive;

use albers_classes::space::Shown;
use albers_release::publish::Values;
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::format::Format;
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::Role;
use albers_table::source::{Source, SourceColumn};

use crate::error::{Error, Result};
use crate::finding::Acceptance;
use crate::job::{Categories, ColumnJob, Job, TargetKind};

pub(crate) use columns::{
    BOUND_ENDINGS, MEAN_ENDING, PlannedColumn, check_criteria_have_roles, counted_identifiers,
    criteria_of, no_means, place_of,
};
pub(crate) use method::{CutPlan, MethodPlan, Specialization};
pub(crate) use portfolio::PortfolioPlan;
pub use resources::Resources;
pub(crate) use search::SearchPlan;
pub(crate) use workload::{PlannedSelect, PlannedTarget, PlannedWorkload, planned_selects};

/// A job that contradicts neither itself nor the columns of its table.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The columns that are read, in the order of the source.
    pub(crate) columns: Vec<PlannedColumn>,
    /// All columns of the source, with their roles.
    pub(crate) table: Vec<TableColumn>,
    /// Identifiers that are looked at to see whether people have several rows: none where a
    /// subject column tells persons apart.
    pub(crate) identifiers: Vec<String>,
    /// The k of each release, the least first.
    pub(crate) ks: Vec<u64>,
    /// How classes are found.
    pub(crate) method: MethodPlan,
    /// The same in the words of the job.
    pub(crate) asked: String,
    /// What the release will be used for.
    pub(crate) workload: PlannedWorkload,
    /// How classes are shown.
    pub(crate) show: Show,
    /// Findings that do not stop the release.
    pub(crate) accept: Vec<Acceptance>,
    /// Whether the recoding function is kept.
    pub(crate) writes_model: bool,
    /// What the job may use.
    pub(crate) resources: Resources,
}

/// A column of the source.
#[derive(Debug, Clone)]
pub(crate) struct TableColumn {
    /// Its name.
    pub(crate) name: String,
    /// Its role; one without is dropped.
    pub(crate) role: Option<Role>,
}

/// How classes are shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Show {
    /// How columns with a hierarchy are shown, where the job says so.
    pub(crate) categories: Option<Categories>,
    /// How intervals are written, where the job says so.
    values: Option<Values>,
    /// Decides the order of classes and rows.
    pub(crate) seed: u64,
    /// The byte between cells, where the job asks for a format that has one of its own.
    pub(crate) delimiter: Option<u8>,
}

impl Show {
    /// How intervals are written; the sink decides where the job does not.
    pub(crate) fn values(&self, shows_bounds: bool) -> Values {
        self.values.unwrap_or(if shows_bounds { Values::Bounds } else { Values::Interval })
    }

    /// Whether what is shown in this way is shown by its places in an order.
    pub(crate) fn is_by_places(&self, shown: Shown) -> bool {
        self.values == Some(Values::Features) && shown != Shown::Interval
    }
}

/// The weights that leave a sum of losses exact enough to compare cuts.
const WEIGHTS: RangeInclusive<f64> = 1e-6..=1e6;

impl Plan {
    /// The plan of a job for a release of a table with these columns.
    pub fn of(job: &Job, table: &str, columns: &[SourceColumn]) -> Result<Plan> {
        effects::check(job)?;
        let method = MethodPlan::of(job)?;
        let ks = match &method {
            MethodPlan::Private { promise } => vec![promise.k],
            _ => ks_of(job)?,
        };
        let plan = Plan::with_method(job, table, columns, ks, method)?;
        Ok(Plan { identifiers: counted_identifiers(job, columns), ..plan })
    }

    /// The plan of a release of other rows by the recoding function of a job.
    pub(crate) fn of_recoding(job: &Job, table: &str, columns: &[SourceColumn]) -> Result<Plan> {
        let mut plan = Plan::of(job, table, columns)?;
        plan.method = match plan.method {
            MethodPlan::Cuts { cuts } | MethodPlan::Index { cuts, .. } => {
                MethodPlan::Recoded { cuts }
            }
            other => other,
        };
        // Nothing is cut, so that nobody looks at the cells of features.
        plan.columns.iter_mut().for_each(|column| column.is_feature = false);
        Ok(plan)
    }

    /// The plan of a search of the lattice: what only a release needs is left out.
    pub(crate) fn of_search(job: &Job, table: &str, columns: &[SourceColumn]) -> Result<Plan> {
        let job = search::only_searching(job)?;
        effects::check(&job)?;
        let ks = ks_of(&job)?;
        let search = SearchPlan::of(&job)?;
        Plan::with_method(&job, table, columns, ks, MethodPlan::FullDomain(search))
    }

    /// The plan of a look at the resolutions of a grid: what only a release needs is left out.
    pub(crate) fn of_resolutions(job: &Job, table: &str, columns: &[SourceColumn]) -> Result<Plan> {
        let job = resolutions::only_looking(job)?;
        effects::check(&job)?;
        Plan::with_method(&job, table, columns, vec![1], MethodPlan::of(&job)?)
    }

    /// The plan of a release whose classes are given. What the job says of the method is that of
    /// the release that it made, and has no part in this one; a k that it does not say is told
    /// later. `level` is the column of the release that tells how deep the regions of its classes lie.
    pub(crate) fn of_given(
        job: &Job,
        level: Option<&str>,
        table: &str,
        columns: &[SourceColumn],
    ) -> Result<Plan> {
        columns::check_roles(job)?;
        let k = job.k.map(|_| k_of(job)).transpose()?;
        let ks = vec![k.unwrap_or(1)];
        let features = level.map(columns::level_feature).into_iter().collect();
        let given = MethodPlan::Given { k, features };
        let plan = Plan::with_method(job, table, columns, ks, given)?;
        Ok(Plan { identifiers: counted_identifiers(job, columns), ..plan })
    }

    /// The plan that reads the original of a release, as far as it is to be compared with it: the
    /// columns of these roles. A quasi-identifier that the release shows by its bounds is ordered,
    /// whatever its hierarchy.
    pub(crate) fn of_original(
        job: &Job,
        roles: &[Role],
        original: &dyn Source,
        is_by_bounds: impl Fn(&str) -> bool,
    ) -> Result<Plan> {
        let mut job = job.clone();
        for (name, column) in &mut job.columns {
            if !column.role.is_some_and(|role| roles.contains(&role)) {
                *column = ColumnJob::default();
            }
            // Whoever says that labels are shown means places by the two columns.
            if is_by_bounds(name) && job.categories != Some(Categories::Label) {
                column.hierarchy = None;
            }
        }
        let given = MethodPlan::Given { k: None, features: Vec::new() };
        Plan::with_method(&job, original.name(), original.columns(), vec![1], given)
    }

    fn with_method(
        job: &Job,
        table: &str,
        columns: &[SourceColumn],
        ks: Vec<u64>,
        method: MethodPlan,
    ) -> Result<Plan> {
        columns::check_header(job, table, columns)?;
        columns::check_level_name(job, method.features())?;
        let categories = match method {
            // Values are ordered, not climbed: hierarchies have no part in it.
            MethodPlan::Specialize { kind: Specialization::OrderedSet, .. } => {
                job.categories.or(Some(Categories::Set))
            }
            _ => job.categories,
        };
        let all_or_nothing =
            matches!(&method, MethodPlan::FullDomain(search) if search.all_or_nothing);
        let role_of = |name: &str| job.columns.get(name).and_then(|own| own.role);
        let of_table = |column: &SourceColumn| TableColumn {
            name: column.name.clone(),
            role: role_of(&column.name),
        };
        let workload = match method {
            MethodPlan::Cuts { .. } | MethodPlan::Index { .. } => workload::planned(job)?,
            MethodPlan::Specialize { kind: Specialization::Tds, .. } => {
                let words = method.words(false);
                let targets = workload::followed(job, TargetKind::Class, &words)?;
                PlannedWorkload { targets, ..PlannedWorkload::default() }
            }
            _ => PlannedWorkload::default(),
        };
        let mut planned = columns::planned(job, columns, all_or_nothing, &workload)?;
        if let MethodPlan::Private { .. } = &method {
            private::fix(job, &mut planned)?;
        }
        Ok(Plan {
            columns: planned,
            workload,
            table: columns.iter().map(of_table).collect(),
            identifiers: Vec::new(),
            ks,
            asked: asked_words(job, &method),
            method,
            show: Show {
                categories,
                values: job.values,
                seed: job.seed.unwrap_or(0),
                delimiter: (job.to == Some(Format::Csv)).then_some(b','),
            },
            accept: job.accept.clone(),
            writes_model: job.model.is_some(),
            resources: Resources::of(job)?,
        })
    }

    /// How many of so many rows may be left out.
    pub(crate) fn max_left_out(&self, n_rows: u64) -> u64 {
        let share = match &self.method {
            MethodPlan::FullDomain(search) => search.suppress,
            MethodPlan::Specialize { suppress, .. } | MethodPlan::Local { suppress } => *suppress,
            MethodPlan::Cuts { cuts } | MethodPlan::Index { cuts, .. } => cuts.suppress,
            // What the given release leaves out stays left out, and what is not drawn.
            // Of rows that came later, those that miss the requirement are left out.
            MethodPlan::Given { .. } | MethodPlan::Private { .. } | MethodPlan::Recoded { .. } => {
                1.0
            }
            _ => 0.0,
        };
        // A share such as 0.07 of 100 rows is 7 rows, though the product is a little less.
        ((share * n_rows as f64 * (1.0 + 1e-12)).floor() as u64).min(n_rows)
    }

    /// Whether of an index nothing is asked for but its leaves, to which cuts in memory come too.
    /// Coarser releases, a drawing, a model and outliers need its tree.
    pub(crate) fn asks_for_leaves_only(&self) -> bool {
        let is_one = self.ks.len() == 1 && !self.writes_model;
        match &self.method {
            MethodPlan::Index { cuts, draws: false, .. } => is_one && cuts.suppress <= 0.0,
            _ => false,
        }
    }

    /// Whether k counts persons.
    pub(crate) fn counts_subjects(&self) -> bool {
        self.columns.iter().any(|column| column.role == Role::Subject)
    }

    /// The hierarchy of a column, as the job gives it.
    pub(crate) fn hierarchy_of(&self, column: &str) -> Option<&HierarchySpec> {
        self.columns.iter().find(|own| own.name == column)?.hierarchy.as_ref()
    }

    /// Whether a column is shown by the ranges of a fixed grid.
    pub(crate) fn has_fixed_ranges(&self, column: &str) -> bool {
        let own = self.columns.iter().find(|own| own.name == column);
        let fixed = own.and_then(|own| own.fixed.as_ref());
        fixed.is_some_and(|fixed| !fixed.is_of_hierarchy())
    }

    /// Sensitive columns that cuts follow.
    pub(crate) fn secret_targets(&self) -> Vec<String> {
        let is_target =
            |column: &&PlannedColumn| column.role == Role::Sensitive && column.target.is_some();
        self.columns.iter().filter(is_target).map(|column| column.name.clone()).collect()
    }

    /// The greatest k of all releases.
    pub(crate) fn greatest_k(&self) -> u64 {
        self.ks.iter().copied().max().unwrap_or(1)
    }

    /// Refuses bounds and means that would have the name of another published column, and means of
    /// nothing.
    pub(crate) fn check_bound_names(&self, values: Values, columns: &[SourceColumn]) -> Result<()> {
        match values {
            Values::Interval => Ok(()),
            Values::Bounds | Values::Mean | Values::Features => {
                columns::check_bound_names(self, columns, values)
            }
        }
    }
}

/// Refuses a job that contradicts itself, whatever its table.
pub(crate) fn check_job(job: &Job) -> Result<()> {
    effects::check(job)?;
    ks_of(job)?;
    Ok(())
}

/// What a job asks of the method, and nothing that it leaves open.
fn asked_words(job: &Job, method: &MethodPlan) -> String {
    if let MethodPlan::Given { .. } = method {
        return method.words(false);
    }
    let mut words = vec![job.method.unwrap_or_default().to_string()];
    words.extend(job.effort.map(|effort| format!("effort {effort}")));
    words.extend((job.disjoint == Some(true)).then(|| "disjoint".to_owned()));
    words.extend(job.split.map(|split| format!("{split} split")));
    words.extend(job.workload.targets.iter().map(|target| format!("target '{target}'")));
    words.extend(job.workload.features.iter().map(|name| format!("feature '{name}'")));
    match job.workload.select.len() {
        0 => {}
        1 => words.push("one selection".to_owned()),
        n_selects => words.push(format!("{n_selects} selections")),
    }
    words.extend(job.then.map(|then| format!("then {then}")));
    words.extend(method::how(job).map(str::to_owned));
    words.extend(job.variant.map(|variant| variant.to_string()));
    words.extend(job.granularity.map(|granularity| granularity.to_string()));
    words.extend(job.fan_out.map(|fan_out| format!("fan-out {fan_out}")));
    words.extend(job.minimize.map(|minimize| format!("least {minimize}")));
    words.extend((job.nesting == Some(false)).then(|| "no nesting".to_owned()));
    if job.columns.values().any(|column| column.level.is_some()) {
        words.push("given levels".to_owned());
    }
    words.join(", ")
}

/// The k of each release of a job, the least first.
fn ks_of(job: &Job) -> Result<Vec<u64>> {
    let base_k = k_of(job)?;
    let mut ks = vec![base_k];
    for &k in &job.also_k {
        if k <= base_k {
            return Err(Error::usage(
                format!("a coarser release for k = {k} is asked for besides k = {base_k}"),
                wording![
                    "give the least k with ",
                    Field::K,
                    ", and greater ones with ",
                    Field::AlsoK
                ],
            ));
        }
        if ks.contains(&k) {
            return Err(Error::usage(format!("k = {k} is asked for twice"), "give each k once"));
        }
        ks.push(k);
    }
    Ok(ks)
}

/// The k of a job, which must be there.
fn k_of(job: &Job) -> Result<u64> {
    match job.k {
        None => Err(Error::usage(
            "no k: how many rows must a class have at least",
            wording!["give ", Field::K.of("5"), ", for example"],
        )),
        Some(0) => Err(Error::usage("k = 0 hides nobody", "use a k of 2 or more")),
        Some(k) => Ok(k),
    }
}

#[cfg(test)]
mod tests;
