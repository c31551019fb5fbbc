//! `albers compact`: the tightest description of the classes of any release.

use std::path::PathBuf;
use std::process::ExitCode;

use albers::{Categories, Values, files};
use anyhow::Result;
use clap::Args;

use crate::commands::anonymize;
use crate::flags::{
    self, Assignment, CodebookFlags, ColumnFlags, LimitFlags, MethodFlags, OwnerFlags,
    RequirementFlags,
};
use crate::plain;
use crate::progress::Bar;
use crate::render;

/// Publish the tightest description of a release's classes, whoever made the release
///
/// Rows that show the same in the release stay together; what they show is told anew from the
/// original: intervals, sets, or labels where a hierarchy is given. All other columns come from the
/// original. Without -k, the smallest class of the release decides it.
#[derive(Args)]
#[command(
    override_usage = "albers compact [OPTIONS] --key <COLUMN> -o <FILE> <ORIGINAL> <RELEASE>"
)]
pub struct Arguments {
    /// The table that was anonymized: CSV, JSON Lines (both also .gz, .zst), Parquet, or a
    /// workbook (.xlsx, .ods)
    original: PathBuf,
    /// The release of it, in any notation
    release: PathBuf,
    /// A column that is unique in both files and tells which rows belong together; published only
    /// with --keep
    #[arg(long, value_name = "COLUMN")]
    key: String,
    /// The compacted release; its ending tells the format
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// A job file; flags override what it says, and its method has no effect
    #[arg(long, value_name = "FILE")]
    job: Option<PathBuf>,
    /// Print the owner's report as JSON on standard output: the manifest, and figures of the table
    /// that are not for publication
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    codebook: CodebookFlags,
    #[command(flatten)]
    owner: OwnerFlags,
    #[command(flatten)]
    columns: ColumnFlags,
    #[command(flatten)]
    requirement: RequirementFlags,
    #[command(flatten)]
    shown: ShownFlags,
}

/// How classes are shown.
#[derive(Args)]
#[command(next_help_heading = "Output")]
struct ShownFlags {
    /// How columns with a hierarchy are shown
    #[arg(long, value_parser = flags::choice::<Categories>())]
    categories: Option<Categories>,
    /// How intervals are written
    #[arg(long, value_parser = flags::choice::<Values>())]
    values: Option<Values>,
    /// The column of the release that tells how deep the regions of nested classes lie; it stays
    /// beside them
    #[arg(long, value_name = "COLUMN")]
    level_column: Option<String>,
    /// How much a loss on a column counts; 1 when not given
    #[arg(long = "weight", value_name = "COLUMN=WEIGHT")]
    weights: Vec<Assignment<f64>>,
    /// Decides the order of classes and rows
    #[arg(long, value_name = "N", value_parser = plain::whole::<u64>)]
    seed: Option<u64>,
    #[command(flatten)]
    limits: LimitFlags,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments { original, release, key, output, job, json, .. } = arguments;
    let Arguments { codebook, owner, columns, requirement, shown, .. } = arguments;
    let ShownFlags { categories, values, level_column, weights, seed, limits } = shown;
    let method = MethodFlags {
        categories,
        values,
        level_column: level_column.clone(),
        weights,
        seed,
        resources: limits.into(),
        ..MethodFlags::default()
    };
    let mut job = flags::job(job.as_ref(), columns, requirement, method)?;
    job.input = Some(original);
    job.output = Some(output);
    // One release comes of one release, and goes where the flags say.
    job.also_k.clear();
    (job.from, job.to, job.manifest, job.owner_report) = (None, None, None, None);
    job.dendrogram = None;
    codebook.apply(&mut job);
    owner.apply(&mut job);
    anonymize::check_streams(&job, json)?;
    let mut sinks = files::open_outputs(&job, &[&release])?;
    let original = files::open_input(&job)?;
    let given = files::open_release(&job, &release)?;
    // A job file may name what a release lacks, a flag may not.
    if let Some(name) = &level_column {
        albers::source::place_of(given.name(), given.columns(), name)?;
    }
    let prepared = {
        let bar = Bar::new();
        let sink = sinks.remove(0);
        albers::prepare_compact(&job, original.as_ref(), given.as_ref(), &key, sink, &bar)?
    };
    let prepared = files::with_owner_files(&job, prepared)?;
    let report = &prepared.report;
    let after = render::share(report.table_loss.ncp);
    let change = match report.ncp_before.flatten() {
        Some(before) => format!("ncp {} before, {after} after\n", render::share(before)),
        None => format!("ncp unknown before, {after} after\n"),
    };
    anonymize::print_report(&job, report, json, &change)?;
    if !job.dry_run {
        prepared.name()?;
    }
    Ok(ExitCode::SUCCESS)
}
