//! `albers index insert`, `update`, `delete` and `sync`: each is one batch, which happens as a whole
//! or not at all.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use albers::files::open_table;
use albers::living::BatchReport;
use albers::source::Source;
use albers::{Format, Index, Job};
use anyhow::{Result, anyhow};
use clap::Args;

use crate::flags::{self, ResourceFlags};
use crate::interrupt::Work;
use crate::plain;
use crate::progress::Bar;
use crate::render;

/// Take in new rows, whose keys the index does not have
#[derive(Args)]
pub struct Insert {
    #[command(flatten)]
    batch: BatchArguments,
}

/// Put rows into the place of those with the same keys
///
/// A row that comes as it was is left alone.
#[derive(Args)]
pub struct Update {
    #[command(flatten)]
    batch: BatchArguments,
}

/// Remove rows by their keys
///
/// Their bytes stay in the private folder until 'compact' rewrites it; the ledger remembers of them
/// what earlier releases tell.
#[derive(Args)]
pub struct Delete {
    /// The folder of the index
    dir: PathBuf,
    /// A table that has the key column, in the format of the rows; its other columns are not read;
    /// - for standard input
    keys: PathBuf,
    #[command(flatten)]
    rest: BatchFlags,
}

/// Make the index hold the rows of a whole new extract and no others
///
/// Rows that the extract lacks are removed, changed ones replaced, new ones taken in, all in one
/// batch.
#[derive(Args)]
pub struct Sync {
    #[command(flatten)]
    batch: BatchArguments,
    /// The share of the rows that may be removed: an extract that lacks more is refused, since it
    /// may not be whole
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = plain::number)]
    max_deletes: f64,
}

/// Which rows, and of which index.
#[derive(Args)]
struct BatchArguments {
    /// The folder of the index
    dir: PathBuf,
    /// The rows, in the columns and the format of the first ones: a file, a folder or a pattern of
    /// files with the same columns, or - for standard input
    data: PathBuf,
    #[command(flatten)]
    rest: BatchFlags,
}

#[derive(Args)]
struct BatchFlags {
    /// The format of the rows; told by the ending when not given, csv for standard input
    #[arg(long, value_parser = flags::choice::<Format>())]
    from: Option<Format>,
    /// Do all but change the index, and say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Print what was done as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// Where rows come from.
pub struct Rows {
    /// A file, a folder, a pattern, or standard input.
    pub data: PathBuf,
    /// Their format, where it is said.
    pub from: Option<Format>,
}

/// Runs `insert`.
pub fn insert(arguments: Insert) -> Result<ExitCode> {
    arguments.batch.run(|index, source, bar| Ok(index.insert(source, bar)?))
}

/// Runs `update`.
pub fn update(arguments: Update) -> Result<ExitCode> {
    arguments.batch.run(|index, source, bar| Ok(index.update(source, bar)?))
}

/// Runs `delete`.
pub fn delete(arguments: Delete) -> Result<ExitCode> {
    let Delete { dir, keys, rest } = arguments;
    let batch = BatchArguments { dir, data: keys, rest };
    batch.run(|index, source, bar| Ok(index.delete(source, bar)?))
}

/// Runs `sync`.
pub fn sync(arguments: Sync) -> Result<ExitCode> {
    let Sync { batch, max_deletes } = arguments;
    if !(0.0..=1.0).contains(&max_deletes) {
        return Err(anyhow!(
            "--max-deletes {max_deletes} is no share of the rows; use a number from 0 to 1"
        ));
    }
    batch.run(|index, source, bar| Ok(index.sync(source, max_deletes, bar)?))
}

impl BatchArguments {
    fn run(
        self,
        work: impl FnOnce(&mut Index, &dyn Source, &Bar) -> Result<BatchReport>,
    ) -> Result<ExitCode> {
        let BatchArguments { dir, data, rest } = self;
        let BatchFlags { from, dry_run, json, resources } = rest;
        let resources = super::resources_of(resources)?;
        let mut index = super::open(&dir, &resources, Work::Changes)?;
        if dry_run {
            index.rehearse();
        }
        let mut job = index.job()?;
        job.spill_dir = resources.spill_dir.or(job.spill_dir);
        let source = open_rows(&job, &dir, &Rows { data, from })?;
        let report = {
            let bar = Bar::new();
            work(&mut index, source.as_ref(), &bar)?
        };
        match json {
            true => render::print_json(&report)?,
            false => render::tell(&words(&report, &dir))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Opens rows as the job of an index says how they are read. What comes through a pipe waits in the
/// folder of the index, which is as private as the rows are, unless the job names another.
pub fn open_rows(job: &Job, dir: &Path, rows: &Rows) -> Result<Box<dyn Source>> {
    let spill_dir = job.spill_dir.clone().unwrap_or_else(|| dir.to_owned());
    // The sheet of the first rows says nothing about a file of another format.
    let is_sheet = Format::of(&rows.data) == Some(Format::Sheet);
    let sheet = job.sheet.clone().filter(|_| is_sheet);
    let job = Job { spill_dir: Some(spill_dir), sheet, ..job.clone() };
    Ok(open_table(&job, &rows.data, rows.from)?)
}

fn words(report: &BatchReport, dir: &Path) -> String {
    let (has, end) = match report.dry_run {
        true => {
            let end = format!("dry run, nothing was written: it would change {}", dir.display());
            ("would have", end)
        }
        false => ("has", format!("wrote {} in {:.2} s", dir.display(), report.seconds)),
    };
    format!(
        "inserted {} rows, updated {}, deleted {}, {} unchanged; the index {has} {} rows\n{end}\n",
        render::count(report.inserted),
        render::count(report.updated),
        render::count(report.deleted),
        render::count(report.unchanged),
        render::count(report.rows),
    )
}
