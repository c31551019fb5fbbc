//! A job that only asks what the resolutions of a grid come to.

use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::schema::Role;

use super::criteria_of;
use crate::error::{Error, Result};
use crate::job::{ColumnJob, Job, Method};

/// The job without the columns that only a release needs; refuses what else it says of one.
pub(super) fn only_looking(job: &Job) -> Result<Job> {
    if job.method() != Method::Grid {
        return Err(Error::usage(
            format!("{} has no resolutions", job.method()),
            wording!["use ", Field::Method.of("grid")],
        ));
    }
    let has_weight = job.columns.values().any(|column| column.weight.is_some());
    let of_releases: [(Field, bool); 13] = [
        (Field::Output, job.output.is_some()),
        (Field::To, job.to.is_some()),
        (Field::Manifest, job.manifest.is_some()),
        (Field::Codebook, job.codebook == Some(false)),
        (Field::OwnerReport, job.owner_report.is_some()),
        (Field::Force, job.force == Some(true)),
        (Field::Accept, !job.accept.is_empty()),
        (Field::Suppress, job.suppress.is_some()),
        (Field::Compact, job.compact == Some(false)),
        (Field::Values, job.values.is_some()),
        (Field::Seed, job.seed.is_some()),
        (Field::AlsoK, !job.also_k.is_empty()),
        (Field::Weight, has_weight),
    ];
    for (field, is_given) in of_releases {
        if is_given {
            return Err(no_effect(wording![field]));
        }
    }
    for (name, column) in &job.columns {
        if !criteria_of(name, column)?.is_empty() {
            return Err(no_effect(wording![format!("the requirement on column '{name}'")]));
        }
    }
    let mut job = job.clone();
    for column in job.columns.values_mut() {
        if !matches!(column.role, Some(Role::Quasi | Role::Subject)) {
            *column = ColumnJob::default();
        }
    }
    Ok(job)
}

fn no_effect(what: wording::Wording) -> Error {
    let mut problem = what;
    problem.append(wording![
        " has no effect with ",
        Field::Method.of("grid"),
        " and without ",
        Field::K,
        ": nothing is published, only what each resolution comes to is told"
    ]);
    Error::usage(problem, wording!["drop it, or give ", Field::K.of("5")])
}
