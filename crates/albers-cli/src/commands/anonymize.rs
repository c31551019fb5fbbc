//! `albers anonymize`: the main job.

use std::path::PathBuf;
use std::process::ExitCode;

use albers::files::{self, is_standard};
use albers::{Job, Method, PrivacyReport, Relation, Report};
use anyhow::{Result, anyhow};
use clap::Args;

use super::resolutions;
use crate::flags::{self, ColumnFlags, MethodFlags, RequirementFlags, StreamFlags};
use crate::progress::Bar;
use crate::render;

/// Read a table, group its rows into classes that satisfy the requirement, and publish them
#[derive(Args)]
pub struct Arguments {
    /// The table: a CSV or JSON Lines file (also .gz, .zst), Parquet or a workbook (.xlsx, .ods), a
    /// folder or a pattern of files with the
    /// same columns, or - for standard input
    data: Option<PathBuf>,
    /// The release; its ending tells the format; - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A job file; flags override what it says
    #[arg(long, value_name = "FILE")]
    job: Option<PathBuf>,
    /// Print the owner's report as JSON on standard output: the manifest, and figures of the table
    /// that are not for publication
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    streams: StreamFlags,
    #[command(flatten)]
    columns: ColumnFlags,
    #[command(flatten)]
    requirement: RequirementFlags,
    #[command(flatten)]
    method: MethodFlags,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments { data, output, job, json, streams, columns, requirement, method } = arguments;
    let mut job = flags::job(job.as_ref(), columns, requirement, method)?;
    job.input = data.or(job.input);
    job.output = output.or(job.output);
    streams.apply(&mut job);
    if job.method == Some(Method::Grid) && is_without_promise(&job) {
        if job.dry_run {
            return Err(anyhow!(
                "--dry-run has no effect where nothing is published; drop it, or give -k"
            ));
        }
        return resolutions::tell(&job, json);
    }
    check_streams(&job, json)?;
    let prepared = {
        let bar = Bar::new();
        albers::prepare_files(&job, &bar)?
    };
    // All is said before anything appears: what cannot be said in full is not published.
    print_report(&job, &prepared.report, json, "")?;
    if !job.dry_run {
        prepared.name()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a job does not say how well people are to be hidden.
fn is_without_promise(job: &Job) -> bool {
    job.k.is_none() && job.epsilon.is_none() && job.delta.is_none()
}

/// Refuses a release and a report on the same stream.
pub fn check_streams(job: &Job, json: bool) -> Result<()> {
    if json && job.output.as_deref().is_some_and(is_standard) {
        return Err(anyhow!(
            "the release and the report cannot both go to standard output; drop --json, or name a \
             file with -o; --manifest FILE keeps the manifest of a stream"
        ));
    }
    Ok(())
}

/// Prints what came of a release, with words before it: to standard error where the release itself
/// is on standard output.
pub fn print_report(job: &Job, report: &Report, json: bool, first: &str) -> Result<()> {
    if json {
        return render::print_json(report);
    }
    if job.output.as_deref().is_some_and(is_standard) {
        render::tell_aside(&format!("{first}{}", summary(report, &written_to_stream(job))));
        rehearsal_lines(job, &files::written(job)).iter().for_each(|line| render::tell_aside(line));
        return Ok(());
    }
    let rehearsed = rehearsal_lines(job, &files::written(job));
    let rehearsed: String = rehearsed.iter().map(|line| format!("{line}\n")).collect();
    render::tell(&format!("{first}{}{rehearsed}", summary(report, &written_files(job))))
}

/// What a dry run says of files that it would have to replace.
pub fn rehearsal_lines(job: &Job, written: &[PathBuf]) -> Vec<String> {
    if !job.dry_run {
        return Vec::new();
    }
    let there = files::in_the_way(job, written);
    let there: Vec<String> = there.iter().map(|path| path.display().to_string()).collect();
    let needs_force = (!there.is_empty())
        .then(|| format!("there already, so that --force would be needed: {}", there.join(", ")));
    needs_force.into_iter().collect()
}

/// The files of the first release, and those of the owner, in words.
fn written_files(job: &Job) -> String {
    let first = Job { also_k: Vec::new(), ..job.clone() };
    let mut files: Vec<String> =
        files::written(&first).iter().map(|path| path.display().to_string()).collect();
    let last = files.pop().unwrap_or_default();
    format!("{} and {last}", files.join(", "))
}

fn written_to_stream(job: &Job) -> String {
    match &job.manifest {
        Some(manifest) => format!("to standard output, and {}", manifest.display()),
        None => "to standard output, without a manifest".to_owned(),
    }
}

/// How classes that lie within each other are told apart.
fn told_apart(report: &Report) -> String {
    let depth = report.columns.iter().find(|column| column.shown == "depth");
    let told = depth.filter(|_| report.class_relation != Some(Relation::Disjoint)).map(|column| {
        format!("; the greatest '{}' around a person is that of their class", column.name)
    });
    told.unwrap_or_default()
}

/// The levels of a full-domain release, as `--level` takes them, in file order.
fn levels_line(report: &Report) -> Option<String> {
    let levels = &report.generalization.as_ref()?.levels;
    let columns = report.columns.iter().map(|column| &column.name);
    let shown = columns.filter_map(|name| Some(format!("{name}={}", levels.get(name)?)));
    Some(format!("levels:   {}", shown.collect::<Vec<_>>().join(",")))
}

/// What is promised of a release whose rows were drawn in secret.
fn privacy_line(privacy: &PrivacyReport) -> String {
    let PrivacyReport { epsilon, delta, k, sampling_rate } = privacy;
    format!(
        "privacy:  ({epsilon}, {delta})-differential: drawn with probability {sampling_rate:.4}, \
         published from {k} on"
    )
}

/// The divergence, or what it is at most, in words.
fn divergence(report: &Report) -> String {
    match (report.kl, report.kl_at_most) {
        (Some(kl), _) => format!("{kl:.3} nats"),
        (None, at_most) => format!("at most {:.3} nats", at_most.unwrap_or_default()),
    }
}

/// What became of each column.
fn column_lines(report: &Report) -> Vec<String> {
    let width = report.columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for column in &report.columns {
        let role = column.role.as_deref().unwrap_or("no role");
        let loss = match report.table_loss.ncp_by_column.get(&column.name) {
            Some(loss) => format!(", loses {}", render::share(*loss)),
            None => String::new(),
        };
        let missing = match column.missing {
            Some(n) if n > 0 => format!(", {} missing", render::count(n)),
            _ => String::new(),
        };
        let kind = column.column_type.as_deref().map(|kind| format!(" ({kind})"));
        lines.push(format!(
            "  {:width$}  {role}{}: {}{missing}{loss}",
            column.name,
            kind.unwrap_or_default(),
            column.shown,
        ));
    }
    lines
}

/// A release in words; `written` says where it went.
fn summary(report: &Report, written: &str) -> String {
    let mut lines = vec![
        format!(
            "{} rows in {} of {} to {} rows (mean {:.1}), {} suppressed",
            render::count(report.rows),
            render::classes(report.classes),
            render::count(report.class_size.min),
            render::count(report.class_size.max),
            report.class_size.mean,
            render::count(report.suppressed),
        ),
        format!("verified: {}", report.requirement),
        format!("classes:  {}{}", render::relation(report.class_relation), told_apart(report)),
        format!("method:   {}", report.ran),
        format!(
            "loss:     ncp {} (0: nothing lost, 1: everything), discernibility {:.0}, KL divergence {}",
            render::share(report.table_loss.ncp),
            report.table_loss.discernibility,
            divergence(report),
        ),
    ];
    lines.extend(levels_line(report));
    lines.extend(report.privacy.as_ref().map(privacy_line));
    lines.push(String::new());
    lines.extend(column_lines(report));
    lines.push(String::new());
    lines.extend(render::findings(&report.findings));
    lines.extend(render::notes(&report.notes));
    if report.spilled_bytes > 0 {
        lines.push(format!(
            "temporary files: {} written, {} read back",
            albers::format_bytes(report.spilled_bytes),
            albers::format_bytes(report.read_back_bytes),
        ));
    }
    let wrote = if report.dry_run { "would write" } else { "wrote" };
    lines.extend(report.also.iter().map(|also| {
        format!(
            "{wrote} {} for k = {}: {} classes of {} to {} rows, ncp {} ({})",
            also.path,
            also.k,
            render::count(also.report.classes),
            render::count(also.report.class_size.min),
            render::count(also.report.class_size.max),
            render::share(also.report.table_loss.ncp),
            also.report.ran,
        )
    }));
    lines.push(match report.dry_run {
        true => format!("dry run, nothing was written: it would write {written}"),
        false => format!("wrote {written} in {:.2} s", report.seconds.total),
    });
    lines.join("\n") + "\n"
}
