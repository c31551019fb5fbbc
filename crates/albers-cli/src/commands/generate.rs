//! `albers generate`: the synthetic tables of the papers.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use albers::generate::{self, ClassFunction, Generator, Kind, Options, Salary, TargetFunction};
use albers::sink::{FileSink, Sealed, Sink, WriteOptions, name_all, write_rows};
use albers::{Job, Phase, Watch, files};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;

use crate::plain;
use crate::progress::Bar;
use crate::render;

/// Write a synthetic table of the papers: agrawal, lands-end, customer, adult or voters
#[derive(Args)]
pub struct Arguments {
    /// Which table
    kind: Kind,
    /// Rows; as many as in the papers when not given
    #[arg(short, value_name = "ROWS", value_parser = plain::whole::<u64>)]
    n: Option<u64>,
    /// The file; its ending tells the format
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the table, and hierarchies, that are there already
    #[arg(long)]
    force: bool,
    /// The same seed gives the same table
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = plain::whole::<u64>)]
    seed: u64,
    /// Class labels to add to agrawal: c2, c3, c4, c5, c6, c7, c9
    #[arg(long = "class", value_name = "FUNCTIONS", value_delimiter = ',')]
    classes: Vec<ClassFunction>,
    /// Draw the constants of c2 to c6 at random; the same seed gives the same constants
    #[arg(long, value_name = "SEED", value_parser = plain::whole::<u64>)]
    vary_constants: Option<u64>,
    /// How the salaries of agrawal are spread: uniform or normal
    #[arg(long, value_name = "DISTRIBUTION", default_value_t = Salary::Uniform)]
    salary: Salary,
    /// Add a postal code to adult, dense in some places and sparse in others
    #[arg(long)]
    zipcode: bool,
    /// Numeric targets to add to agrawal: r7, r10
    #[arg(long = "target", value_name = "FUNCTIONS", value_delimiter = ',')]
    targets: Vec<TargetFunction>,
    /// Write the table's hierarchies into this folder, as COLUMN.csv
    #[arg(long, value_name = "FOLDER")]
    hierarchies: Option<PathBuf>,
    /// Print what was written as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// What was written.
#[derive(Serialize)]
struct Written {
    rows: u64,
    columns: Vec<String>,
    output: PathBuf,
    hierarchies: Vec<PathBuf>,
    seed: u64,
}

/// The hierarchies of a table, and where they go.
fn hierarchies_in(
    folder: &Path,
    kind: Kind,
    options: &Options,
) -> Vec<(PathBuf, Vec<Vec<String>>)> {
    let hierarchies = generate::hierarchies(kind, options).into_iter();
    hierarchies.map(|(column, rows)| (folder.join(format!("{column}.csv")), rows)).collect()
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments { kind, n, output, seed, hierarchies, json, .. } = arguments;
    let n_rows = n.unwrap_or_else(|| kind.default_rows());
    let options = Options {
        class_functions: arguments.classes.into_iter().collect(),
        target_functions: arguments.targets.into_iter().collect(),
        constants_seed: arguments.vary_constants,
        salary: arguments.salary,
        has_zipcode: arguments.zipcode,
    };
    let generator = Generator::new(kind, n_rows, seed, options.clone())?;
    if let Some(folder) = &hierarchies {
        if generate::hierarchies(kind, &options).is_empty() {
            bail!("{kind} has no hierarchies; drop --hierarchies");
        }
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    }
    let coarser = match &hierarchies {
        Some(folder) => hierarchies_in(folder, kind, &options),
        None => Vec::new(),
    };
    let files: Vec<PathBuf> = coarser.iter().map(|(path, _)| path.clone()).collect();
    let job = Job { force: Some(arguments.force), ..Job::default() };
    let targets: Vec<&PathBuf> = std::iter::once(&output).chain(&files).collect();
    files::check_targets(&job, &targets, &[])?;
    let schema = generator.schema();
    let sink = FileSink::new(&output, None, None)?;
    let sink = if arguments.force { sink } else { sink.only_new() };
    let ControlFlow::Continue(table) = write_table(generator, n_rows, sink)? else {
        return Ok(ExitCode::FAILURE);
    };
    let columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    if json {
        render::print_json(&Written { rows: n_rows, columns, output, hierarchies: files, seed })?;
    } else {
        render::tell(&format!(
            "wrote {} rows of {kind} to {}: {}\n",
            render::count(n_rows),
            output.display(),
            columns.join(", ")
        ))?;
        for file in &files {
            render::tell(&format!("wrote the hierarchy {}\n", file.display()))?;
        }
    }
    // All is said before anything appears: what cannot be said in full is not written.
    name_all(vec![table])?;
    for (path, rows) in &coarser {
        write_rows(path, rows)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the rows to a file that has no name yet, unless somebody stops that.
fn write_table(
    generator: Generator,
    n_rows: u64,
    mut sink: FileSink,
) -> Result<ControlFlow<(), Box<dyn Sealed>>> {
    sink.begin(generator.schema(), WriteOptions::default())?;
    let bar = Bar::new();
    bar.phase(Phase::Write, Some(n_rows));
    for batch in generator.into_batches() {
        sink.write(&batch)?;
        if bar.advance(batch.num_rows() as u64).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(Box::new(sink).seal()?))
}
