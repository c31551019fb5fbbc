//! `albers anonymize`: the main job.

use std::path::PathBuf;
use std::process::ExitCode;

use albers::files::is_standard;
use albers::{Job, Report};
use anyhow::{Result, anyhow};
use clap::Args;

use crate::flags::{self, ColumnFlags, MethodFlags, RequirementFlags, StreamFlags};
use crate::progress::Bar;
use crate::render;

/// Read a table, group its rows into classes that satisfy the requirement, and publish them
#[derive(Args)]
pub struct Arguments {
    /// The table: a CSV (also .gz, .zst) or Parquet file, a folder or a pattern of files with the
    /// same columns, or - for standard input
    data: Option<PathBuf>,
    /// The release; its ending tells the format; - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A job file; flags override what it says
    #[arg(long, value_name = "FILE")]
    job: Option<PathBuf>,
    /// Print the manifest as JSON on standard output
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
    check_streams(&job, json)?;
    let report = {
        let bar = Bar::new();
        albers::anonymize_files(&job, &bar)?
    };
    print_report(&job, &report, json, "");
    Ok(ExitCode::SUCCESS)
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
pub fn print_report(job: &Job, report: &Report, json: bool, first: &str) {
    if json {
        render::print_json(report);
    } else if job.output.as_deref().is_some_and(is_standard) {
        render::say(&format!("{first}{}", summary(report, &written_to_stream(job))));
    } else {
        render::print(&format!("{first}{}", summary(report, &written_files(job))));
    }
}

/// The files of a release, in words.
fn written_files(job: &Job) -> String {
    let output = job.output.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
    match &job.manifest {
        Some(manifest) => format!("{output} and {}", manifest.display()),
        None => format!("{output} and {output}.manifest.json"),
    }
}

fn written_to_stream(job: &Job) -> String {
    match &job.manifest {
        Some(manifest) => format!("to standard output, and {}", manifest.display()),
        None => "to standard output, without a manifest".to_owned(),
    }
}

/// The levels of a full-domain release, as `--level` takes them, in file order.
fn levels_line(report: &Report) -> Option<String> {
    let levels = &report.generalization.as_ref()?.levels;
    let columns = report.columns.iter().map(|column| &column.name);
    let shown = columns.filter_map(|name| Some(format!("{name}={}", levels.get(name)?)));
    Some(format!("levels:   {}", shown.collect::<Vec<_>>().join(",")))
}

/// A release in words; `written` says where it went.
fn summary(report: &Report, written: &str) -> String {
    let mut lines = vec![
        format!(
            "{} rows in {} classes of {} to {} rows (mean {:.1}), {} suppressed",
            render::count(report.rows),
            render::count(report.classes),
            render::count(report.class_size.min),
            render::count(report.class_size.max),
            report.class_size.mean,
            render::count(report.suppressed),
        ),
        format!("verified: {}", report.requirement),
        format!("method:   {}", report.method),
        format!(
            "loss:     ncp {}, discernibility {:.0}, KL divergence {:.3} nats",
            render::share(report.loss.ncp),
            report.loss.discernibility,
            report.loss.kl,
        ),
    ];
    lines.extend(levels_line(report));
    lines.push(String::new());
    let width = report.columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0);
    for column in &report.columns {
        let role = column.role.as_deref().unwrap_or("no role");
        let loss = match report.loss.ncp_by_column.get(&column.name) {
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
    lines.push(String::new());
    lines.extend(render::notes(&report.notes));
    if report.spilled_bytes > 0 {
        lines.push(format!(
            "temporary files: {} written, {} read back",
            albers::format_bytes(report.spilled_bytes),
            albers::format_bytes(report.read_back_bytes),
        ));
    }
    lines.extend(report.also.iter().map(|also| {
        format!(
            "wrote {} for k = {}: {} classes of {} to {} rows, ncp {}",
            also.path,
            also.k,
            render::count(also.report.classes),
            render::count(also.report.class_size.min),
            render::count(also.report.class_size.max),
            render::share(also.report.loss.ncp),
        )
    }));
    lines.push(format!("wrote {written} in {:.2} s", report.seconds.total));
    lines.join("\n") + "\n"
}
