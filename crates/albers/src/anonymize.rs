//! The main job: a table in, a verified release out.

use std::path::{Path, PathBuf};
use std::time::Instant;

use albers_measure::{Loss, loss_of};
use albers_partition::mondrian::{self, Plan};
use albers_partition::space::{Shown, Space};
use albers_partition::split::Policy;
use albers_release::publish::{Destination, Values, manifest_path, publish};
use albers_release::verify::{Expectation, Verified, verify};
use albers_table::hierarchy::HierarchySpec;
use albers_table::points::Points;
use albers_table::progress::Progress;
use albers_table::read::Format;
use albers_table::schema::Role;

use crate::error::{Error, Result};
use crate::job::{Job, SplitPolicy};
use crate::paths;
use crate::report::{ClassSize, ColumnReport, KlBasis, Report, Seconds, peak_rss_bytes};
use crate::roles;
use crate::secrets::{Protection, protect};
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
    let mut clock = Clock::start();
    let (input, output) = checked_paths(job)?;
    let format = Format::of(output);
    let values = job.values.unwrap_or(match format {
        Format::Parquet => Values::Bounds,
        Format::Csv => Values::Interval,
    });
    roles::check_roles(job)?;
    roles::check_columns(job, input, values)?;
    let mut table = table::load(job, input, format == Format::Parquet, progress)?;
    let protection = protect(job, &mut table)?;
    clock.seconds.read = clock.lap();

    let points = std::mem::replace(&mut table.points, Points::new(Vec::new()));
    let release = partition(job, &table, points, &protection, &mut clock, progress)?;
    let loss = loss_of(&release, &protection.sensitive);
    clock.seconds.verify = clock.lap();

    let destination = Destination {
        path: output,
        delimiter: table.delimiter,
        values,
        columns: &table.output_columns,
        carried: &table.carried,
        seed: seed_of(job),
    };
    let pending = publish(&release, &destination, progress)?;
    clock.seconds.write = clock.lap();
    clock.seconds.total = clock.start.elapsed().as_secs_f64();
    let report = report(job, &table, &protection, &release, loss, clock.seconds);
    let manifest = serde_json::to_string_pretty(&report).expect("a report has only plain fields");
    pending.finish(&(manifest + "\n"))?;
    Ok(report)
}

/// Groups the rows, and verifies the classes independently of how they were found.
fn partition<'t>(
    job: &Job,
    table: &'t Table,
    points: Points,
    protection: &Protection,
    clock: &mut Clock,
    progress: &dyn Progress,
) -> Result<Verified<'t>> {
    let show_regions = job.compact == Some(false);
    let space = Space { axes: table.attributes.iter().map(|attribute| attribute.axis()).collect() };
    let expected = Expectation {
        requirement: &protection.requirement,
        facts: &protection.facts,
        n_rows: table.n_rows,
        fingerprint: points.fingerprint(),
        seed: seed_of(job),
        show_regions,
    };
    let plan = Plan {
        space: &space,
        requirement: &protection.requirement,
        facts: &protection.facts,
        policy: match job.split.unwrap_or_default() {
            SplitPolicy::Compact => Policy::Compact,
            SplitPolicy::Median => Policy::Median,
        },
        keep_regions: show_regions,
    };
    let groups = mondrian::partition(points, &plan, progress);
    clock.seconds.partition = clock.lap();
    progress.phase("verify", None);
    Ok(verify(groups, &table.attributes, &expected)?)
}

fn seed_of(job: &Job) -> u64 {
    job.seed.unwrap_or(0)
}

fn report(
    job: &Job,
    table: &Table,
    protection: &Protection,
    release: &Verified<'_>,
    loss: Loss,
    seconds: Seconds,
) -> Report {
    let sizes = (0..release.n_classes()).map(|class| release.class(class).n_rows() as u64);
    let quasi = table.attributes.iter().map(|attribute| attribute.domain.name().to_owned());
    let is_sensitive = |name: &str| job.with_role(Role::Sensitive).any(|other| other == name);
    let header = table.header.iter().map(|column| column.name.clone());
    let sensitive = header.filter(|name| is_sensitive(name));
    let mut notes = protection.notes.clone();
    notes.extend(notes_of(release));
    Report {
        rows: release.n_rows() as u64,
        suppressed: 0,
        classes: release.n_classes() as u64,
        class_size: ClassSize::of(sizes),
        requirement: protection.requirement.describe(),
        method: format!("mondrian, {} split", job.split.unwrap_or_default().name()),
        seed: seed_of(job),
        loss,
        kl_basis: KlBasis::over(quasi.chain(sensitive).collect()),
        columns: column_reports(job, table),
        notes,
        seconds,
        peak_rss_bytes: peak_rss_bytes(),
        spilled_bytes: 0,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Measures the time between two points.
struct Clock {
    start: Instant,
    last: Instant,
    seconds: Seconds,
}

impl Clock {
    fn start() -> Clock {
        let now = Instant::now();
        Clock { start: now, last: now, seconds: Seconds::default() }
    }

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
    read.extend(job.file.clone());
    for (name, column) in &job.columns {
        if let Some(HierarchySpec::File(file)) = column.hierarchy_spec(name)? {
            read.push(file);
        }
    }
    let read: Vec<&Path> = read.iter().map(PathBuf::as_path).collect();
    paths::check_output(output, &read)?;
    paths::check_place(&manifest_path(output), &read)?;
    Ok((input, output))
}

fn notes_of(release: &Verified<'_>) -> Option<String> {
    (release.n_classes() == 1).then(|| {
        "all rows are in one class: no cut leaves classes that satisfy the requirement".to_owned()
    })
}

/// What became of each column, in file order.
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
