//! The plan of a full-domain search.

use std::collections::BTreeMap;
use std::time::Duration;

use albers_lattice::bottom_up::BottomUp;
use albers_lattice::choose::Minimize;
use albers_lattice::incognito::Variant;
use albers_lattice::search::Algorithm;
use albers_storage::choice::Choice;
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use albers_table::schema::Role;

use super::effects::searches;
use crate::error::{Error, Result};
use crate::job::{ColumnJob, Job, Method, SearchVariant};

/// What is asked of a search.
#[derive(Debug, Clone)]
pub(crate) struct SearchPlan {
    /// The word for the search.
    pub(crate) method: Method,
    /// How the lattice is searched.
    pub(crate) algorithm: Algorithm,
    /// What the best has least of.
    pub(crate) minimize: Minimize,
    /// Whether columns are shown as they are or not at all.
    pub(crate) all_or_nothing: bool,
    /// The time that the search may take, if that is limited.
    pub(crate) time: Option<Duration>,
    /// The levels that the job gives, by column, instead of a search.
    pub(crate) levels: Option<BTreeMap<String, u16>>,
    /// The share of the rows that may be left out.
    pub(crate) suppress: f64,
}

impl SearchPlan {
    /// What a job asks for; refuses what contradicts itself.
    pub(super) fn of(job: &Job) -> Result<SearchPlan> {
        let method = job.method();
        let algorithm = algorithm_of(method, job.variant)?;
        let time = job.time.map(|time| time.0);
        let levels: BTreeMap<String, u16> = job
            .columns
            .iter()
            .filter_map(|(name, column)| Some((name.clone(), column.level?)))
            .collect();
        let is_searched = [job.time.is_some(), job.variant.is_some(), job.minimize.is_some()];
        if !levels.is_empty() && is_searched.contains(&true) {
            return Err(Error::usage(
                "there is nothing to search where the levels are given",
                wording![
                    "drop ",
                    Field::Level,
                    ", or ",
                    Field::Time,
                    ", ",
                    Field::Variant,
                    " and ",
                    Field::Minimize
                ],
            ));
        }
        let is_own = matches!(method, Method::Incognito | Method::AttributeSuppression);
        if time.is_some() && (job.variant.is_some() || !is_own) {
            return Err(Error::usage(
                "a search with a time limit goes its own way through the lattice",
                wording![
                    "drop ",
                    Field::Time,
                    ", or use ",
                    Field::Method.of("incognito"),
                    " without ",
                    Field::Variant
                ],
            ));
        }
        Ok(SearchPlan {
            method,
            algorithm,
            minimize: job.minimize.unwrap_or_default(),
            all_or_nothing: method == Method::AttributeSuppression,
            time,
            levels: (!levels.is_empty()).then_some(levels),
            suppress: job.suppress.unwrap_or(0.0),
        })
    }

    /// The words for reports.
    pub(crate) fn words(&self) -> String {
        let method = self.method;
        if self.levels.is_some() {
            return format!("{method}, given levels");
        }
        let variant = match (self.time, self.all_or_nothing) {
            (Some(_), _) => ", bounded".to_owned(),
            (None, true) => String::new(),
            _ => self.variant().map_or(String::new(), |name| format!(", {name}")),
        };
        format!("{method}{variant}, least {}", self.minimize)
    }

    /// How the algorithm calls its variant.
    pub(crate) fn variant(&self) -> Option<&'static str> {
        let variant = match self.algorithm {
            Algorithm::Incognito(Variant::Basic) => SearchVariant::Basic,
            Algorithm::Incognito(Variant::SuperRoots) => SearchVariant::SuperRoots,
            Algorithm::Incognito(Variant::Cube) => SearchVariant::Cube,
            Algorithm::BottomUp(BottomUp::Rollup) => SearchVariant::Rollup,
            Algorithm::BottomUp(BottomUp::Scan) => SearchVariant::Scan,
            Algorithm::Samarati => return None,
        };
        Some(variant.name())
    }
}

/// The job without what only a release needs.
pub(super) fn only_searching(job: &Job) -> Result<Job> {
    let mut job = job.clone();
    if job.method.unwrap_or_default() == Method::Auto {
        job.method = Some(Method::Incognito);
    }
    if !searches(job.method()) {
        return Err(Error::usage(
            format!("{} does not search a lattice", job.method()),
            wording![
                "use ",
                Field::Method.of("incognito"),
                ", samarati, bottom-up or attribute-suppression"
            ],
        ));
    }
    if job.minimize.is_some() && job.time.is_none() {
        return Err(Error::usage(
            wording![
                Field::Minimize,
                " has no effect, since all minimal generalizations are found"
            ],
            wording![
                "drop it, or give ",
                Field::Time,
                "; ",
                Field::Sort,
                " orders what is printed"
            ],
        ));
    }
    // What a release of this job is made by has no part in the search.
    job.split = None;
    (job.effort, job.disjoint) = (None, None);
    job.compact = None;
    job.also_k.clear();
    job.granularity = None;
    job.fan_out = None;
    job.dendrogram = None;
    job.values = None;
    for column in job.columns.values_mut() {
        column.level = None;
        column.bias = None;
        if matches!(column.role, Some(Role::Keep | Role::Identifier)) {
            *column = ColumnJob::default();
        }
    }
    Ok(job)
}

fn algorithm_of(method: Method, variant: Option<SearchVariant>) -> Result<Algorithm> {
    let wrong = |advice: Wording| {
        let variant = variant.map_or("", SearchVariant::name);
        Err(Error::usage(format!("{method} has no variant {variant}"), advice))
    };
    match (method, variant) {
        (Method::BottomUp, None | Some(SearchVariant::Rollup)) => {
            Ok(Algorithm::BottomUp(BottomUp::Rollup))
        }
        (Method::BottomUp, Some(SearchVariant::Scan)) => Ok(Algorithm::BottomUp(BottomUp::Scan)),
        (Method::BottomUp, _) => {
            wrong(wording!["use rollup or scan, or ", Field::Method.of("incognito")])
        }
        (Method::Samarati, None) => Ok(Algorithm::Samarati),
        (Method::Samarati, _) => wrong(wording!["drop ", Field::Variant]),
        (_, None | Some(SearchVariant::SuperRoots)) => {
            Ok(Algorithm::Incognito(Variant::SuperRoots))
        }
        (_, Some(SearchVariant::Basic)) => Ok(Algorithm::Incognito(Variant::Basic)),
        (_, Some(SearchVariant::Cube)) => Ok(Algorithm::Incognito(Variant::Cube)),
        _ => wrong(wording!["use basic, super-roots or cube, or ", Field::Method.of("bottom-up")]),
    }
}
