//! `albers index create`: a new index, with its first rows if there are any.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use albers::living::BatchReport;
use albers::{Acceptance, Format, Index, Job};
use anyhow::Result;
use clap::Args;

use super::batch::{self, Rows};
use crate::flags::{self, ColumnFlags, MethodFlags, RequirementFlags};
use crate::interrupt::{self, Work};
use crate::progress::Bar;
use crate::render;

/// Create an index in a new folder, which only its owner may read
///
/// What the columns are and what every class must satisfy is said once, by a job file or by flags,
/// and holds for all releases. If the first rows cannot be taken in, no folder is left. The input
/// and the output of a job file have no effect here.
#[derive(Args)]
pub struct Arguments {
    /// The folder of the index, which must not be there yet, or be empty; it is private
    dir: PathBuf,
    /// The first rows: a CSV or JSON Lines file (also .gz, .zst), Parquet or a workbook (.xlsx, .ods),
    /// a folder or a pattern of files with
    /// the same columns, or - for standard input; none when not given
    data: Option<PathBuf>,
    /// The column that tells rows apart: unique, never missing, and published only with 'release
    /// --keep'
    #[arg(long, value_name = "COLUMN")]
    key: String,
    /// A job file; flags override what it says
    #[arg(long, value_name = "FILE")]
    job: Option<PathBuf>,
    /// The format of the rows; told by the ending when not given, csv for standard input
    #[arg(long, value_parser = flags::choice::<Format>())]
    from: Option<Format>,
    /// A severe finding that stops no release of the index, such as unique-keep:note
    #[arg(long, value_name = "FINDING[:COLUMN]", value_delimiter = ',')]
    accept: Vec<Acceptance>,
    /// Print what was taken in as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    columns: ColumnFlags,
    #[command(flatten)]
    requirement: RequirementFlags,
    #[command(flatten)]
    method: MethodFlags,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments { dir, data, key, job, from, accept, json, columns, requirement, method } =
        arguments;
    let mut job = flags::job(job.as_ref(), columns, requirement, method)?;
    job.accept.extend(accept);
    let was_there = dir.exists();
    interrupt::at(Work::Creates, &dir);
    let index = Index::create(&dir, &job, key.trim())?;
    let report = match data {
        None => BatchReport::default(),
        Some(data) => match first_rows(index, &dir, &job, &Rows { data, from }) {
            Ok(report) => report,
            Err(error) => {
                take_back(&dir, was_there);
                return Err(error);
            }
        },
    };
    match json {
        true => render::print_json(&report)?,
        false => render::tell(&format!(
            "created {} with {} rows in {:.2} s\n",
            dir.display(),
            render::count(report.rows),
            report.seconds
        ))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn first_rows(mut index: Index, dir: &Path, job: &Job, rows: &Rows) -> Result<BatchReport> {
    let source = batch::open_rows(job, dir, rows)?;
    let bar = Bar::new();
    Ok(index.insert(source.as_ref(), &bar)?)
}

/// Removes an index that was just made, and its folder if that was made with it. What cannot be
/// removed is an index without rows: that the rows were refused matters more.
fn take_back(dir: &Path, was_there: bool) {
    if !was_there {
        let _ = std::fs::remove_dir_all(dir);
        return;
    }
    // The folder was empty: all files in it are those of the index.
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let _ = std::fs::remove_file(entry.path());
    }
}
