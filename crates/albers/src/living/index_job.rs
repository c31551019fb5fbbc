//! The job of an index: what of a job lasts, and what an index cannot do.

use std::path::PathBuf;

use albers_release::publish::Values;
use albers_storage::choice::Choice as _;
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use albers_table::coding::ColumnCoding;
use albers_table::hierarchy::HierarchySpec;
use albers_table::schema::Role;

use super::catalogue::damaged;
use crate::error::{Error, Result};
use crate::job::{Job, Method, Split};

/// A job that an index can keep.
#[derive(Clone)]
pub(super) struct IndexJob {
    pub(super) job: Job,
}

impl IndexJob {
    /// Of a job and the column that tells rows apart.
    pub(super) fn of(job: &Job, key: &str) -> Result<IndexJob> {
        for (is_given, field, why) in refused(job) {
            if is_given {
                let mut problem = field;
                problem.append(wording![" has no place in an index: ", why]);
                return Err(Error::usage(problem, "drop it"));
            }
        }
        let role = job.columns.get(key).and_then(|column| column.role);
        if let Some(role @ (Role::Quasi | Role::Sensitive)) = role {
            return Err(Error::usage(
                format!("column '{key}' is the key of the rows, and is said to be {role}"),
                "a key tells rows apart and is published by --keep only: drop the role, or name \
                 another key",
            ));
        }
        if job.columns.values().any(|column| column.finest.is_some()) {
            return Err(Error::usage(
                wording![Field::Finest, " has no effect on an index"],
                "drop it, and give a hierarchy that begins with what may be shown",
            ));
        }
        let mut job = job.clone();
        job.method = Some(Method::Rtree);
        // Where things come from and go to is said with every command.
        (job.file, job.input, job.output) = (None, None, None);
        (job.from, job.to, job.force) = (None, None, None);
        (job.manifest, job.codebook, job.owner_report) = (None, None, None);
        // The job lasts longer than the folder that names are relative to now.
        job.spill_dir.iter_mut().for_each(make_absolute);
        for column in job.columns.values_mut() {
            if let Some(HierarchySpec::File(path)) = &mut column.hierarchy {
                make_absolute(path);
            }
        }
        job.with_hierarchies()?;
        Ok(IndexJob { job })
    }

    /// As it is stored.
    pub(super) fn text(&self) -> Result<String> {
        toml::to_string(&self.job)
            .map_err(|_| Error::usage("the job cannot be written down", "check its fields"))
    }

    /// As it was stored.
    pub(super) fn parse(text: &str) -> Result<IndexJob> {
        let job = toml::from_str(text).map_err(|_| damaged("its job cannot be read"))?;
        Ok(IndexJob { job })
    }

    /// What every class must satisfy, in words.
    pub(super) fn requirement(&self) -> String {
        let mut words = vec![format!("k = {}", self.job.k.unwrap_or(1))];
        for (name, column) in &self.job.columns {
            let rules = crate::plan::criteria_of(name, column).unwrap_or_default();
            words.extend(rules.into_iter().map(|rule| format!("{rule} of '{name}'")));
        }
        words.join(", ")
    }

    /// Takes the hierarchies that the columns were coded with: files may be gone by now.
    pub(super) fn set_hierarchies(&mut self, columns: &[ColumnCoding]) {
        for column in columns {
            if let Some(spec) = column.hierarchy_spec() {
                self.job.column(column.domain().name()).hierarchy = Some(spec.clone());
            }
        }
    }
}

/// Makes a path mean the same in any folder, as far as that can be told.
fn make_absolute(path: &mut PathBuf) {
    if let Ok(absolute) = std::path::absolute(&*path) {
        *path = absolute;
    }
}

/// What of a job an index cannot keep, by whether it is there, and why.
fn refused(job: &Job) -> Vec<(bool, Wording, &'static str)> {
    let is_other = |method: Method| !matches!(method, Method::Auto | Method::Rtree);
    let method = job.method.filter(|&method| is_other(method));
    let by_workload =
        matches!(job.split, Some(Split::InfoGain | Split::Regression | Split::Selection));
    let later = "it is said with every release";
    vec![
        (
            method.is_some(),
            wording![Field::Method.of(method.map_or("", |own| own.name()))],
            "only rtree takes in rows one by one",
        ),
        (
            !job.workload.is_empty() || by_workload || job.then.is_some(),
            wording![Field::Split, " by a workload"],
            "its cuts are made before its later rows have come",
        ),
        (
            job.compact == Some(false),
            wording![Field::Compact.of("false")],
            "the outermost regions would tell of rows that were deleted",
        ),
        (
            job.values == Some(Values::Mean),
            wording![Field::Values.of("mean")],
            "the means of two releases tell the values of the rows between them",
        ),
        (
            job.values == Some(Values::Features),
            wording![Field::Values.of("features")],
            "places are among the names of one release, and differ in the next",
        ),
        (
            job.exact == Some(true) || job.external.is_some(),
            wording![if job.external.is_some() { Field::External } else { Field::Exact }],
            "its cuts are made before its later rows have come",
        ),
        (
            job.effort.is_some() || job.disjoint == Some(true),
            wording![if job.effort.is_some() { Field::Effort } else { Field::Disjoint }],
            "its cuts are made before its later rows have come",
        ),
        (
            job.suppress.is_some(),
            wording![Field::Suppress],
            "rows that one release leaves out are in the next, and both together tell of them",
        ),
        (job.model.is_some(), wording![Field::Model], "its cuts change as rows come and go"),
        (!job.also_k.is_empty(), wording![Field::AlsoK], later),
        (job.granularity.is_some(), wording![Field::Granularity], later),
        (job.fan_out.is_some(), wording![Field::FanOut], "its nodes have at most 4 children"),
        (
            job.dendrogram.is_some(),
            wording![Field::Dendrogram],
            "its leaves are brought together part by part",
        ),
    ]
}
