//! `albers experiment`: the experiments of the papers, repeated.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use albers::experiment::{self, Experiment};
use albers::sink::write_rows;
use albers::{ExperimentReport, ExperimentScale, Job, files};
use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use crate::flags;
use crate::render;

/// Repeat experiments of the papers on made-up tables, and say whether their claims hold
///
/// Writes NAME.csv and NAME.svg into a folder and replaces what was written there before. A claim
/// that does not hold is a result: the exit code is 0 all the same.
#[derive(Args)]
pub struct Arguments {
    /// Which ones; all for all of them
    #[arg(value_name = "NAME", required_unless_present = "list")]
    names: Vec<String>,
    /// How large the tables are
    #[arg(long, value_parser = flags::choice::<ExperimentScale>(), default_value_t)]
    scale: ExperimentScale,
    /// The folder; made if it is not there
    #[arg(short, long, value_name = "FOLDER", required_unless_present = "list")]
    output: Option<PathBuf>,
    /// List the experiments and run none
    #[arg(long, conflicts_with_all = ["names", "output"])]
    list: bool,
    /// Print what was found as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// An experiment as it is listed.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    source: &'static str,
    claim: &'static str,
    seed: u64,
}

/// What was found, and where it was written.
#[derive(Serialize)]
struct Written {
    #[serde(flatten)]
    report: ExperimentReport,
    csv: PathBuf,
    svg: PathBuf,
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Printed<T> {
    experiments: Vec<T>,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments { names, scale, output, list, json } = arguments;
    let Some(folder) = output.filter(|_| !list) else {
        print_list(json)?;
        return Ok(ExitCode::SUCCESS);
    };
    let experiments = experiment::named(&names)?;
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    for experiment in &experiments {
        let (csv, svg) = paths(&folder, experiment);
        files::check_output_place(&Job::default(), &csv)?;
        files::check_output_place(&Job::default(), &svg)?;
    }
    let mut written = Vec::new();
    for own in experiments {
        let report = albers::experiment(own, scale)?;
        let (csv, svg) = paths(&folder, own);
        write_rows(&csv, &report.rows)?;
        files::write_text(&Job::default(), &svg, &report.figure.svg())?;
        if !json {
            let holds = if report.holds { "holds" } else { "does not hold" };
            render::tell(&format!("{}: the claim {holds}: {}\n", report.name, report.found))?;
        }
        written.push(Written { report, csv, svg });
    }
    if json {
        render::print_json(&Printed { experiments: written })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the points and the figure go.
fn paths(folder: &Path, experiment: &Experiment) -> (PathBuf, PathBuf) {
    let path = |ending: &str| folder.join(format!("{}.{ending}", experiment.name));
    (path("csv"), path("svg"))
}

fn print_list(json: bool) -> Result<()> {
    let listed = experiment::all().iter().map(|own| Listed {
        name: own.name,
        source: own.source,
        claim: own.claim,
        seed: own.seed,
    });
    if json {
        return render::print_json(&Printed { experiments: listed.collect() });
    }
    let lines: Vec<String> =
        listed.map(|own| format!("{}: {}. {}\n", own.name, own.source, own.claim)).collect();
    render::print(&lines.concat())
}
