//! The main job: a table in, a verified release out.

use std::path::{Path, PathBuf};
use std::time::Instant;

use albers_measure::loss_of;
use albers_partition::mondrian::{self, MAX_ATTRIBUTES, Plan};
use albers_partition::space::{Shown, Space};
use albers_partition::split::Policy;
use albers_release::publish::{Destination, Values, publish};
use albers_release::verify::{Expectation, Verified, verify};
use albers_table::hierarchy::HierarchySpec;
use albers_table::progress::Progress;
use albers_table::read::Format;
use albers_table::schema::Role;

use crate::error::{Error, Result};
use crate::job::{Job, Method, SplitPolicy};
use crate::paths;
use crate::report::{ClassSize, ColumnReport, Report, Seconds, peak_rss_bytes};
use crate::secrets::{check_criteria_have_roles, given_k, protect};
use crate::table::{self, Table};

/// More threads than any machine has cores would only exhaust it.
const MAX_THREADS: usize = 1024;

/// Runs a job: reads, partitions, verifies, measures and writes.
pub fn anonymize(job: &Job, progress: &dyn Progress) -> Result<Report> {
    match job.threads {
        None => run(job, progress),
        Some(0) => Err(Error::usage("no work gets done on 0 threads", "use --threads 1 or more")),
        Some(n_threads) if n_threads > MAX_THREADS => Err(Error::usage(
            format!("{n_threads} threads are more than the {MAX_THREADS} possible"),
            "use about as many as the machine has cores",
        )),
        Some(n_threads) => rayon::ThreadPoolBuilder::new()
            .num_threads(n_threads)
            .build()
            .map_err(|_| {
                Error::usage(format!("{n_threads} threads cannot be started"), "use fewer")
            })?
            .install(|| run(job, progress)),
    }
}

fn run(job: &Job, progress: &dyn Progress) -> Result<Report> {
    let start = Instant::now();
    let mut clock = Clock { last: start };
    let mut seconds = Seconds::default();
    let (input, output) = checked_paths(job)?;
    let values = job.values.unwrap_or(match Format::of(output) {
        Format::Parquet => Values::Bounds,
        Format::Csv => Values::Interval,
    });
    let typed_output = Format::of(output) == Format::Parquet;
    check_roles(job)?;
    let mut table = table::load(job, input, typed_output, progress)?;
    let mut protection = protect(job, &mut table)?;
    let mut columns = column_reports(job, &table);
    seconds.read = clock.lap();

    let policy = job.split.unwrap_or_default();
    let show_regions = job.compact == Some(false);
    let space = Space { axes: table.attributes.iter().map(|attribute| attribute.axis()).collect() };
    let expected = Expectation {
        requirement: &protection.requirement,
        facts: &protection.facts,
        n_rows: table.n_rows,
        fingerprint: table.points.fingerprint(),
        seed: job.seed.unwrap_or(0),
        show_regions,
    };
    let plan = Plan {
        space: &space,
        requirement: &protection.requirement,
        facts: &protection.facts,
        policy: match policy {
            SplitPolicy::Compact => Policy::Compact,
            SplitPolicy::Median => Policy::Median,
        },
        keep_regions: show_regions,
    };
    let groups = mondrian::partition(table.points, &plan, progress);
    seconds.partition = clock.lap();

    progress.phase("verify", None);
    let release = verify(groups, &table.attributes, &expected)?;
    let loss = loss_of(&release, &protection.sensitive);
    seconds.verify = clock.lap();

    let seed = expected.seed;
    let pending = publish(
        &release,
        &Destination {
            path: output,
            delimiter: table.delimiter,
            values,
            columns: &table.output_columns,
            carried: &table.carried,
            seed,
        },
        progress,
    )?;
    seconds.write = clock.lap();
    seconds.total = start.elapsed().as_secs_f64();
    protection.notes.extend(notes_of(&release));
    columns.sort_by_key(|column| table.header.iter().position(|h| h.name == column.name));
    let report = Report {
        rows: release.n_rows() as u64,
        suppressed: 0,
        classes: release.n_classes() as u64,
        class_size: class_size(&release),
        requirement: protection.requirement.describe(),
        method: format!("mondrian, {} split", policy.name()),
        seed,
        loss,
        columns,
        notes: protection.notes,
        seconds,
        peak_rss_bytes: peak_rss_bytes(),
        spilled_bytes: 0,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let manifest = serde_json::to_string_pretty(&report).expect("a report has only plain fields");
    pending.finish(&(manifest + "\n"))?;
    Ok(report)
}

/// Measures the time between two points.
struct Clock {
    last: Instant,
}

impl Clock {
    fn lap(&mut self) -> f64 {
        let now = Instant::now();
        let seconds = (now - self.last).as_secs_f64();
        self.last = now;
        seconds
    }
}

fn checked_paths(job: &Job) -> Result<(&Path, &Path)> {
    let input = job
        .input
        .as_deref()
        .ok_or_else(|| Error::usage("there is no table to read", "name a CSV or Parquet file"))?;
    let output = job
        .output
        .as_deref()
        .ok_or_else(|| Error::usage("it is not said where the release goes", "give -o FILE"))?;
    albers_storage::input::open(input)?;
    let mut read = vec![input.to_owned()];
    for (name, column) in &job.columns {
        if let Some(HierarchySpec::File(file)) = column.hierarchy_spec(name)? {
            read.push(file);
        }
    }
    let read: Vec<&Path> = read.iter().map(PathBuf::as_path).collect();
    paths::check_output(output, &read)?;
    Ok((input, output))
}

fn check_roles(job: &Job) -> Result<()> {
    match job.method.unwrap_or_default() {
        Method::Auto | Method::Mondrian => {}
    }
    let n_quasi = job.with_role(Role::Quasi).count();
    if n_quasi == 0 {
        return Err(Error::usage(
            "no column is a quasi-identifier, so there is nothing to generalize",
            "name the columns that others know with --quasi, or let 'albers init' propose them",
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
    given_k(job)?;
    check_criteria_have_roles(job)
}

fn class_size(release: &Verified<'_>) -> ClassSize {
    let sizes = (0..release.n_classes()).map(|class| release.class(class).n_rows() as u64);
    let (min, max) = sizes.fold((u64::MAX, 0), |(min, max), n| (min.min(n), max.max(n)));
    let mean = release.n_rows() as f64 / release.n_classes().max(1) as f64;
    ClassSize { min, mean, max }
}

fn notes_of(release: &Verified<'_>) -> Option<String> {
    (release.n_classes() == 1).then(|| {
        "all rows are in one class: no cut leaves classes that satisfy the requirement".to_owned()
    })
}

/// What became of each column, in no particular order.
fn column_reports(job: &Job, table: &Table) -> Vec<ColumnReport> {
    let type_of = |name: &str| {
        let found = table.column_types.iter().find(|(column, _)| column == name);
        found.map(|(_, kind)| kind.to_string())
    };
    table
        .header
        .iter()
        .map(|column| {
            let name = column.name.as_str();
            let role = job.columns.get(name).and_then(|of_job| of_job.role);
            let attribute =
                table.attributes.iter().find(|attribute| attribute.domain.name() == name);
            let shown = match (role, attribute) {
                (_, Some(attribute)) => match attribute.shown {
                    Shown::Interval => "interval",
                    Shown::Set => "set",
                    Shown::Label => "label",
                },
                (Some(Role::Sensitive | Role::Keep), _) => "as is",
                _ => "dropped",
            };
            ColumnReport {
                name: name.to_owned(),
                role: role.map(|role| role.to_string()),
                column_type: type_of(name),
                missing: attribute.map(|attribute| attribute.domain.n_missing()),
                shown: shown.to_owned(),
            }
        })
        .collect()
}
