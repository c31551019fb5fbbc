//! `albers recode`: rows that came later, by the recoding function of an earlier release.

use std::path::PathBuf;
use std::process::ExitCode;

use albers::files::is_standard;
use albers::{Job, LearningReport, Outside, RecodeJob};
use anyhow::{Result, anyhow};
use clap::Args;

use crate::commands::anonymize;
use crate::flags::{self, HeaderFlags, ResourceFlags, StreamFlags};
use crate::progress::Bar;
use crate::render;
use crate::text_flags::TextFlags;

/// What stands first where rows are recoded for learning.
const NO_RELEASE: &str = "NO RELEASE: rows recoded for learning are not verified and tell of people; \
                          do not publish them";

/// Recode rows by the recoding function that 'albers anonymize --model' wrote
///
/// As a release: rows are grouped by the classes of the model, described anew from their own values and
/// verified; rows of classes that miss the requirement, and rows with values that the model does not
/// know, are left out and counted. People who are in both tables are then in two releases, which is
/// stopped as the finding second-release, unless the rows are exactly those of the model.
///
/// For learning (--for-learning): every row in its order, with what its class showed when the model was
/// made. That is no release.
#[derive(Args)]
pub struct Arguments {
    /// The recoding function
    model: PathBuf,
    /// The rows: a CSV or JSON Lines file (also .gz, .zst), Parquet or a workbook (.xlsx, .ods), a
    /// folder or a pattern of files with the same columns, or - for standard input. Columns that the model does not have are left out
    data: PathBuf,
    /// The release, or the table for learning; its ending tells the format; - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Write every row in its order with the cells that its class showed when the model was made: to
    /// train and test with, never to publish; only its owner may read the file
    #[arg(long)]
    for_learning: bool,
    /// What becomes of rows with values that the model does not know
    #[arg(long, value_parser = flags::choice::<Outside>())]
    outside: Option<Outside>,
    /// Print the owner's report as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    streams: StreamFlags,
    #[command(flatten)]
    reading: ReadingFlags,
}

/// How the rows are read, and what may be used.
#[derive(Args)]
#[command(next_help_heading = "Reading")]
struct ReadingFlags {
    /// The character between the cells of a CSV file, or tab; told from the header when not given
    #[arg(long, value_name = "CHARACTER", value_parser = flags::delimiter)]
    delimiter: Option<char>,
    #[command(flatten)]
    header: HeaderFlags,
    /// The sheet of a workbook; the only one that holds anything when not given
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
    /// A text that stands for a missing value, besides the empty cell; those of the model's table when
    /// not given
    #[arg(long, value_name = "TEXT")]
    missing: Vec<String>,
    #[command(flatten)]
    text: TextFlags,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments { model, data, output, for_learning, outside, json, streams, reading } =
        arguments;
    let ReadingFlags { delimiter, header, sheet, missing, text, resources } = reading;
    let mut job = Job {
        input: Some(data),
        output: Some(output),
        delimiter,
        header: header.given(),
        sheet,
        missing,
        ..Job::default()
    };
    text.apply(&mut job);
    resources.apply(&mut job)?;
    streams.apply(&mut job);
    let recode = RecodeJob { model, outside: outside.unwrap_or_default(), job };
    match for_learning {
        true => learn(&recode, json),
        false => release(&recode, json),
    }
}

fn release(recode: &RecodeJob, json: bool) -> Result<ExitCode> {
    anonymize::check_streams(&recode.job, json)?;
    let prepared = {
        let bar = Bar::new();
        albers::prepare_recode_files(recode, &bar)?
    };
    anonymize::print_report(&recode.job, &prepared.report, json, "")?;
    if !recode.job.dry_run {
        prepared.name()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn learn(recode: &RecodeJob, json: bool) -> Result<ExitCode> {
    let job = &recode.job;
    let without_effect = [
        ("--manifest", job.manifest.is_some(), "what is no release has no manifest"),
        ("--no-codebook", job.codebook.is_some(), "what is no release has no codebook"),
        ("--owner-report", job.owner_report.is_some(), "there is no release to report on"),
        ("--accept", !job.accept.is_empty(), "findings are about releases"),
    ];
    for (flag, is_given, why) in without_effect {
        if is_given {
            return Err(anyhow!("{flag} has no effect with --for-learning: {why}; drop it"));
        }
    }
    let is_stream = job.output.as_deref().is_some_and(is_standard);
    if json && is_stream {
        return Err(anyhow!(
            "the rows and the report cannot both go to standard output; drop --json, or name a file \
             with -o"
        ));
    }
    let prepared = {
        let bar = Bar::new();
        albers::prepare_learning_files(recode, &bar)?
    };
    let text = format!("{NO_RELEASE}\n{}", told(&prepared.report, recode));
    match (json, is_stream) {
        (true, _) => {
            render::say(NO_RELEASE);
            render::print_json(&prepared.report)?;
        }
        (false, true) => render::tell_aside(&text),
        (false, false) => render::tell(&text)?,
    }
    if !job.dry_run {
        prepared.name()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What came of rows for learning, in words.
fn told(report: &LearningReport, recode: &RecodeJob) -> String {
    let mut lines = vec![format!(
        "{} rows with the cells of {} classes",
        render::count(report.rows),
        render::count(report.leaves)
    )];
    if report.outside > 0 {
        lines.push(format!(
            "{} rows have values that the model does not know, and show * or nothing",
            render::count(report.outside)
        ));
    }
    if report.at_edge > 0 {
        lines.push(format!(
            "{} rows have values beyond those of the model, and show the nearest class",
            render::count(report.at_edge)
        ));
    }
    let job = &recode.job;
    let output = job.output.as_deref().map(|path| path.display().to_string());
    let wrote = if job.dry_run { "dry run, nothing was written: it would write" } else { "wrote" };
    match output.as_deref() {
        Some("-") | None => lines.push(format!("{wrote} to standard output")),
        Some(path) => lines.push(format!("{wrote} {path}, which only its owner may read")),
    }
    let written: Vec<PathBuf> =
        job.output.iter().filter(|own| !is_standard(own)).cloned().collect();
    lines.extend(anonymize::rehearsal_lines(job, &written));
    lines.join("\n") + "\n"
}
