//! The main job: a table in, a verified release out.

use std::path::{Path, PathBuf};
use std::time::Instant;

use albers_classes::Attribute;
use albers_classes::points::Points;
use albers_classes::space::{Shown, Space};
use albers_measure::Loss;
use albers_partition::local;
use albers_partition::mondrian::{self, Plan};
use albers_partition::specialize::{self, SpecializePlan};
use albers_partition::split::Policy;
use albers_privacy::Requirement;
use albers_release::publish::{
    CarriedColumn, Destination, Values, manifest_path, publish, row_keys,
};
use albers_release::verify::{Expectation, Verified, verify};
use albers_table::hierarchy::HierarchySpec;
use albers_table::progress::Progress;
use albers_table::read::Format;
use albers_table::schema::Role;

use crate::error::{Error, Result};
use crate::full_domain::{self, codes_by_column, loss_with_suppressed};
use crate::indexed;
use crate::job::{Categories, Job, Method, SplitPolicy};
use crate::paths;
use crate::report::{
    ClassSize, ColumnReport, GeneralizationReport, KlBasis, Report, Seconds, peak_rss_bytes,
};
use crate::roles;
use crate::secrets::{Protection, protect};
use crate::table::{self, Table};

/// More threads than any machine has cores would only exhaust it.
const MAX_THREADS: usize = 1024;

/// Runs a job: reads, partitions, verifies, measures and writes.
pub fn anonymize(job: &Job, progress: &dyn Progress) -> Result<Report> {
    if job.method() == Method::OrderedSet {
        // Values are ordered, not climbed: hierarchies have no part in it.
        let categories = job.categories.or(Some(Categories::Set));
        let job = Job { categories, ..job.clone() };
        return on_threads(&job, || run(&job, progress));
    }
    on_threads(job, || run(job, progress))
}

/// Does the work on as many threads as the job says.
pub(crate) fn on_threads<T: Send>(job: &Job, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    match job.threads {
        None => work(),
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
            .install(work),
    }
}

fn run(job: &Job, progress: &dyn Progress) -> Result<Report> {
    let mut clock = Clock::start();
    let (input, output) = checked_paths(job)?;
    let format = Format::of(output);
    let values = values_of(job, format);
    roles::check_roles(job)?;
    roles::check_columns(job, input, values)?;
    if job.method().is_full_domain() {
        return full_domain::run(job, input, output, progress);
    }
    if job.is_indexed() {
        return indexed::run(job, input, output, progress);
    }
    let limit_bytes = table::limit_bytes(job)?;
    let loaded = table::load(job, input, format == Format::Parquet, limit_bytes, progress);
    let mut table = match loaded {
        Err(error) if error.is_over_budget() && job.method() == Method::Auto => {
            return indexed::run(job, input, output, progress);
        }
        Err(error) if error.is_over_budget() => {
            return Err(Error::usage(
                format!(
                    "the table does not fit in the memory budget, and {} works in memory",
                    job.method().name()
                ),
                "use --method auto, or give more --memory",
            ));
        }
        loaded => loaded?,
    };
    if job.method() == Method::OrderedSet {
        check_sets(&table)?;
    }
    let protection = protect(job, &mut table)?;
    clock.seconds.read = clock.lap();

    let points = std::mem::replace(&mut table.points, Points::new(Vec::new()));
    // The codes of rows that are left out are needed to measure what that loses.
    let codes = match job.max_suppressed(table.n_rows) {
        0 => Vec::new(),
        _ => codes_by_column(&points),
    };
    let release = partition(job, &table, points, &protection, &mut clock, progress)?;
    let loss = loss_with_suppressed(&release, table.n_rows, &codes, &protection);
    clock.seconds.verify = clock.lap();

    let destination = destination_of(job, &table, output, &table.carried);
    let pending = publish(&release, &destination, progress)?;
    clock.seconds.write = clock.lap();
    clock.seconds.total = clock.start.elapsed().as_secs_f64();
    let report = report(job, &table, &protection, &release, loss, clock.seconds);
    pending.finish(&manifest_of(&report))?;
    Ok(report)
}

/// Refuses sets that would fill every cell with a list of thousands of names.
fn check_sets(table: &Table) -> Result<()> {
    const MAX_NAMES: u64 = 1_000;
    let is_long = |attribute: &&Attribute| {
        attribute.shown == Shown::Set && attribute.domain.n_values() > MAX_NAMES
    };
    let Some(attribute) = table.attributes.iter().find(is_long) else { return Ok(()) };
    let (name, n_values) = (attribute.domain.name(), attribute.domain.n_values());
    Err(Error::usage(
        format!(
            "column '{name}' has {n_values} values without distances, more than the {MAX_NAMES} \
             that ordered-set can list in a cell"
        ),
        format!("give --type '{name}=integer' if they are numbers, or use --method subtree"),
    ))
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
    let is_global = matches!(job.method(), Method::Subtree | Method::OrderedSet);
    let show_regions = is_global || job.compact == Some(false);
    let space = Space { axes: table.attributes.iter().map(|attribute| attribute.axis()).collect() };
    let expected = Expectation {
        requirement: &protection.requirement,
        facts: &protection.facts,
        n_rows: table.n_rows,
        max_suppressed: job.max_suppressed(table.n_rows),
        fingerprint: points.fingerprint(),
        row_ids: None,
        seed: seed_of(job),
        show_regions,
    };
    let plan = Plan {
        space: &space,
        requirement: &protection.requirement,
        facts: &protection.facts,
        policy: policy_of(job),
        keep_regions: show_regions,
    };
    let groups = match job.method() {
        Method::Local => {
            let row_keys = row_keys(&table.carried, seed_of(job))?;
            local::partition(points, &row_keys, &plan, progress)
        }
        Method::Subtree | Method::OrderedSet => {
            let plan = SpecializePlan { plan: &plan, max_suppressed: expected.max_suppressed };
            specialize::partition(points, &plan, progress)
        }
        _ => mondrian::partition(points, &plan, progress),
    };
    clock.seconds.partition = clock.lap();
    progress.phase("verify", None);
    Ok(verify(groups, &table.attributes, &expected)?)
}

pub(crate) fn policy_of(job: &Job) -> Policy {
    match job.split.unwrap_or_default() {
        SplitPolicy::Compact => Policy::Compact,
        SplitPolicy::Median => Policy::Median,
    }
}

pub(crate) fn seed_of(job: &Job) -> u64 {
    job.seed.unwrap_or(0)
}

/// How intervals are written; the format decides where the job does not.
pub(crate) fn values_of(job: &Job, format: Format) -> Values {
    job.values.unwrap_or(match format {
        Format::Parquet => Values::Bounds,
        Format::Csv => Values::Interval,
    })
}

pub(crate) fn report(
    job: &Job,
    table: &Table,
    protection: &Protection,
    release: &Verified<'_>,
    loss: Loss,
    seconds: Seconds,
) -> Report {
    let sizes = (0..release.n_classes()).map(|class| release.class(class).n_rows() as u64);
    let outcome = Outcome {
        n_rows: release.n_rows() as u64,
        n_suppressed: release.n_suppressed() as u64,
        n_classes: release.n_classes() as u64,
        class_size: ClassSize::of(sizes),
        requirement: &protection.requirement,
        method: match job.method() {
            Method::Local | Method::Subtree | Method::OrderedSet => job.method().name().to_owned(),
            _ => format!("mondrian, {} split", job.split.unwrap_or_default().name()),
        },
        loss,
        notes: [protection.notes.clone(), notes_of(job.method())].concat(),
        spilled_bytes: 0,
        generalization: None,
    };
    report_of(job, table, outcome, seconds)
}

/// What the user should know of a method.
fn notes_of(method: Method) -> Vec<String> {
    let overlap = "classes may overlap: a value may be shown as it is in one row and generalized in \
        another";
    if method == Method::Local { vec![overlap.to_owned()] } else { Vec::new() }
}

/// What came out of a job.
pub(crate) struct Outcome<'a> {
    pub(crate) n_rows: u64,
    pub(crate) n_suppressed: u64,
    pub(crate) n_classes: u64,
    pub(crate) class_size: ClassSize,
    pub(crate) requirement: &'a Requirement,
    pub(crate) method: String,
    pub(crate) loss: Loss,
    pub(crate) notes: Vec<String>,
    pub(crate) spilled_bytes: u64,
    pub(crate) generalization: Option<GeneralizationReport>,
}

pub(crate) fn report_of(
    job: &Job,
    table: &Table,
    outcome: Outcome<'_>,
    seconds: Seconds,
) -> Report {
    let quasi = table.attributes.iter().map(|attribute| attribute.domain.name().to_owned());
    let is_sensitive = |name: &str| job.with_role(Role::Sensitive).any(|other| other == name);
    let header = table.header.iter().map(|column| column.name.clone());
    let sensitive = header.filter(|name| is_sensitive(name));
    let mut notes = outcome.notes;
    if outcome.n_classes == 1 {
        let cuts = matches!(job.method(), Method::Auto | Method::Mondrian | Method::Rtree);
        notes.push(
            match cuts {
                true => {
                    "all rows are in one class: no cut leaves classes that satisfy the requirement"
                }
                false => "all published rows are in one class",
            }
            .to_owned(),
        );
    }
    Report {
        rows: outcome.n_rows,
        suppressed: outcome.n_suppressed,
        classes: outcome.n_classes,
        class_size: outcome.class_size,
        requirement: outcome.requirement.describe(),
        method: outcome.method,
        seed: seed_of(job),
        loss: outcome.loss,
        kl_basis: KlBasis::over(quasi.chain(sensitive).collect()),
        generalization: outcome.generalization,
        columns: column_reports(job, table),
        notes,
        seconds,
        peak_rss_bytes: peak_rss_bytes(),
        spilled_bytes: outcome.spilled_bytes,
        read_back_bytes: 0,
        also: Vec::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Measures the time between two points.
pub(crate) struct Clock {
    pub(crate) start: Instant,
    last: Instant,
    pub(crate) seconds: Seconds,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        let now = Instant::now();
        Clock { start: now, last: now, seconds: Seconds::default() }
    }

    pub(crate) fn lap(&mut self) -> f64 {
        let now = Instant::now();
        let seconds = (now - self.last).as_secs_f64();
        self.last = now;
        seconds
    }
}

/// All files that a job reads, which none of its outputs may replace.
pub(crate) fn files_read(job: &Job, input: &Path) -> Result<Vec<PathBuf>> {
    let mut read = vec![input.to_owned()];
    read.extend(job.file.clone());
    for (name, column) in &job.columns {
        if let Some(HierarchySpec::File(file)) = column.hierarchy_spec(name)? {
            read.push(file);
        }
    }
    Ok(read)
}

pub(crate) fn checked_paths(job: &Job) -> Result<(&Path, &Path)> {
    let input = job
        .input
        .as_deref()
        .ok_or_else(|| Error::usage("there is no table to read", "name a CSV or Parquet file"))?;
    let output = job
        .output
        .as_deref()
        .ok_or_else(|| Error::usage("it is not said where the release goes", "give -o FILE"))?;
    albers_storage::input::open(input)?;
    let read = files_read(job, input)?;
    let read: Vec<&Path> = read.iter().map(PathBuf::as_path).collect();
    paths::check_output(output, &read)?;
    paths::check_place(&manifest_path(output), &read)?;
    Ok((input, output))
}

/// Where a release goes, and how it is written.
pub(crate) fn destination_of<'a>(
    job: &Job,
    table: &'a Table,
    path: &'a Path,
    carried: &'a [CarriedColumn],
) -> Destination<'a> {
    Destination {
        path,
        delimiter: table.delimiter,
        values: values_of(job, Format::of(path)),
        columns: &table.output_columns,
        carried,
        seed: seed_of(job),
    }
}

/// A report as it stands beside its release.
pub(crate) fn manifest_of(report: &Report) -> String {
    serde_json::to_string_pretty(report).expect("a report has only plain fields") + "\n"
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
