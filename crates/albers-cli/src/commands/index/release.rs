//! `albers index release`: all rows of an index, published.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use albers::files::{is_standard, open_outputs};
use albers::living::ReleaseReport;
use albers::{Format, Granularity, Job, ReleaseRequest};
use anyhow::{Result, anyhow};
use clap::Args;

use crate::commands::anonymize;
use crate::flags::{self, CodebookFlags, OwnerFlags, ResourceFlags};
use crate::interrupt::Work;
use crate::plain;
use crate::progress::Bar;
use crate::render;

/// Publish all rows of an index, if that tells nothing together with its earlier releases
///
/// Every set of rows that all releases together cannot tell apart must satisfy the requirement of
/// the index. Otherwise nothing is written, unless '--accept linkage' says that this is meant. What
/// is printed is for the owner of the index; the release and its manifest are for publication.
#[derive(Args)]
pub struct Arguments {
    /// The folder of the index
    dir: PathBuf,
    /// The release, outside of the folder of the index; its ending tells the format; - for standard
    /// output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Rows (or subjects) per class, at least; that of the index when not given, and never less
    #[arg(short, value_name = "N", value_parser = plain::whole::<u64>)]
    k: Option<u64>,
    /// More releases for greater k, written beside the first as NAME.k10.EXT; together they hide
    /// everybody as well as the first does
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = plain::whole::<u64>)]
    also_k: Vec<u64>,
    /// How leaves of the index are brought together for greater k
    #[arg(long, value_parser = flags::choice::<Granularity>())]
    granularity: Option<Granularity>,
    /// Leave earlier classes as they were, or join them, and give new rows classes of their own; new
    /// rows that do not satisfy the requirement together wait for the next release
    #[arg(long)]
    batch: bool,
    /// Publish the key too, which must be named; other columns are kept by the job of the index
    #[arg(long, value_name = "KEY")]
    keep: Option<String>,
    /// The format of the release; told by its ending when not given, csv for standard output
    #[arg(long, value_parser = flags::choice::<Format>())]
    to: Option<Format>,
    /// Where the manifest goes; beside the release when not given
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    #[command(flatten)]
    codebook: CodebookFlags,
    /// Print the owner's report as JSON on standard output: the manifest, and figures of the index
    /// that are not for publication
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    owner: OwnerFlags,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments { dir, output, k, also_k, granularity, batch, keep, .. } = arguments;
    let Arguments { to, manifest, codebook, json, owner, resources, .. } = arguments;
    let mut job = Job { output: Some(output), to, manifest, ..Job::default() };
    job.also_k.clone_from(&also_k);
    codebook.apply(&mut job);
    owner.apply(&mut job);
    resources.apply(&mut job)?;
    anonymize::check_streams(&job, json)?;
    let mut index = super::open(&dir, &job, Work::Publishes)?;
    if job.dry_run {
        index.rehearse();
    }
    check_kept(keep.as_deref(), &index.key()?)?;
    check_outside(&job, &dir)?;
    let sinks = open_outputs(&streams_of(&job, &dir), &[])?;
    let accept = job.accept.clone();
    let keep_key = keep.is_some();
    let request = ReleaseRequest { k, also_k, granularity, batch, keep_key, accept };
    let prepared = {
        let bar = Bar::new();
        index.prepare_release(&request, sinks, &bar)?
    };
    let prepared = prepared.with_owner_files(&job)?;
    // All is said before anything appears: what cannot be said in full is not published.
    let report = &prepared.report;
    match json {
        true => render::print_json(report)?,
        false => anonymize::print_report(&job, &report.report, false, &words(report))?,
    }
    prepared.name()?;
    Ok(ExitCode::SUCCESS)
}

/// What goes to standard output waits in the folder of the index until it is whole, unless the flags
/// name another.
fn streams_of(job: &Job, dir: &Path) -> Job {
    let is_stream = job.output.as_deref().is_some_and(is_standard);
    let spill_dir = job.spill_dir.clone().or(is_stream.then(|| dir.to_owned()));
    Job { spill_dir, ..job.clone() }
}

/// Refuses to keep what only the job of the index could.
fn check_kept(keep: Option<&str>, key: &str) -> Result<()> {
    match keep {
        Some(name) if name.trim() != key => Err(anyhow!(
            "--keep {name}: only the key '{key}' can be kept here; other columns are kept by the job \
             that the index was created with"
        )),
        _ => Ok(()),
    }
}

/// Refuses outputs in the folder of the index, which is private.
fn check_outside(job: &Job, dir: &Path) -> Result<()> {
    let Ok(dir_found) = dir.canonicalize() else { return Ok(()) };
    let outputs = job.output.iter().filter(|output| !is_standard(output));
    for output in outputs.chain(&job.manifest).chain(&job.owner_report) {
        let parent = output.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = parent.unwrap_or(Path::new(".")).canonicalize();
        if folder.is_ok_and(|folder| folder.starts_with(&dir_found)) {
            return Err(anyhow!(
                "{} lies in the folder of the index {}, which holds private rows; write it to \
                 another folder",
                output.display(),
                dir.display()
            ));
        }
    }
    Ok(())
}

/// What is told of a release of an index before what is told of any.
fn words(report: &ReleaseReport) -> String {
    let mut lines = vec![format!("release:  {} of the index", report.release)];
    lines.extend(report.smallest_set.map(|n_rows| {
        let n_rows = render::count(n_rows);
        format!("together: the smallest set that this release makes or leaves has {n_rows} members")
    }));
    if report.waiting > 0 {
        lines.push(format!(
            "waiting:  {} new rows, until they satisfy the requirement together",
            render::count(report.waiting)
        ));
    }
    if report.rows_below > 0 {
        lines.push(format!(
            "linkage:  {} rows lie in sets below the requirement, which is accepted",
            render::count(report.rows_below)
        ));
    }
    lines.join("\n") + "\n"
}
