//! `albers lattice`: all minimal full-domain generalizations.

use std::path::PathBuf;
use std::process::ExitCode;

use albers::{
    Format, LatticeReport, LatticeRequest, Method, MinimalReport, Minimize, SortBy, files,
};
use anyhow::Result;
use clap::Args;

use crate::flags::{
    self, Assignment, ColumnFlags, MethodFlags, RequirementFlags, ResourceFlags, SearchFlags,
};
use crate::plain;
use crate::progress::Bar;
use crate::render;

/// Find all ways to show every value of a column at the same level of its hierarchy
///
/// Prints the minimal generalizations: those that satisfy the requirement and generalize no other
/// one that does. Publish one of them with albers anonymize --level COLUMN=LEVEL,...
#[derive(Args)]
pub struct Arguments {
    /// The table: CSV, JSON Lines (both also .gz, .zst), Parquet or a workbook (.xlsx, .ods), a
    /// folder or a pattern of files, or - for standard
    /// input
    data: Option<PathBuf>,
    /// The format of the table; told by its ending when not given, csv for standard input
    #[arg(long, value_parser = flags::choice::<Format>())]
    from: Option<Format>,
    /// A job file; flags override what it says
    #[arg(long, value_name = "FILE")]
    job: Option<PathBuf>,
    /// What the generalizations are sorted by
    #[arg(long, value_parser = flags::choice::<SortBy>(), default_value_t = SortBy::Ncp)]
    sort: SortBy,
    /// Draw the lattice, if a person can read it
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print at most so many generalizations; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = plain::whole::<usize>)]
    limit: usize,
    /// Print all generalizations as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    columns: ColumnFlags,
    #[command(flatten)]
    requirement: RequirementFlags,
    #[command(flatten)]
    method: LatticeFlags,
}

/// How the lattice is searched.
#[derive(Args)]
#[command(next_help_heading = "Search")]
struct LatticeFlags {
    /// How the lattice is searched: incognito (default), samarati, bottom-up or
    /// attribute-suppression
    #[arg(long, value_parser = flags::choice::<Method>(), hide_possible_values = true)]
    method: Option<Method>,
    #[command(flatten)]
    search: SearchFlags,
    /// What a search with a time limit looks for the least of
    #[arg(long, value_parser = flags::choice::<Minimize>())]
    minimize: Option<Minimize>,
    /// How much a column counts; 1 when not given
    #[arg(long = "weight", value_name = "COLUMN=WEIGHT")]
    weights: Vec<Assignment<f64>>,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments { data, from, job, sort, svg, limit, json, columns, requirement, method } =
        arguments;
    let LatticeFlags { method, search, minimize, weights, resources } = method;
    let method = MethodFlags { method, search, minimize, weights, resources, ..Default::default() };
    let mut job = flags::job(job.as_ref(), columns, requirement, method)?;
    job.input = data.or(job.input);
    job.from = from.or(job.from);
    if let Some(svg) = &svg {
        files::check_output_place(&job, svg)?;
    }
    let source = files::open_input(&job)?;
    let report = {
        let bar = Bar::new();
        let request = LatticeRequest { sort, draws: svg.is_some() };
        albers::lattice(&job, source.as_ref(), request, &bar)?
    };
    match json {
        true => render::print_json(&report)?,
        false => render::print(&summary(&report, limit))?,
    }
    if let (Some(svg), Some(drawing)) = (&svg, &report.drawing) {
        files::write_text(&job, svg, drawing)?;
        if !json {
            render::tell_aside(&format!("drew the lattice: {}", svg.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn summary(report: &LatticeReport, limit: usize) -> String {
    let variant = report.variant.as_deref().map_or(String::new(), |name| format!(" ({name})"));
    let mut lines = vec![
        format!(
            "{} generalizations of {} columns, {} rows; {}",
            nodes(report.nodes),
            report.columns.len(),
            render::count(report.rows),
            found(report)
        ),
        format!("requirement: {}", report.requirement),
        format!(
            "searched by {}{variant}: {} looked at, {} sets from the table, {} from others, in {:.2} s",
            report.method,
            render::count(report.checked),
            render::count(report.scans),
            render::count(report.rollups + report.cube_sets),
            report.seconds.total,
        ),
        String::new(),
    ];
    let n_shown = if limit == 0 { report.minimal.len() } else { limit.min(report.minimal.len()) };
    lines.extend(table(report, &report.minimal[..n_shown]));
    if n_shown < report.minimal.len() {
        let n_more = render::count((report.minimal.len() - n_shown) as u64);
        lines.push(format!("  and {n_more} more; see --limit and --sort"));
    }
    lines.push(String::new());
    lines.extend(render::notes(&report.notes));
    lines.join("\n").trim_end().to_owned() + "\n"
}

fn found(report: &LatticeReport) -> String {
    if report.gap.is_some() {
        return "the best found in the time".to_owned();
    }
    let n_satisfying = render::count(report.satisfying);
    let suppressed = match report.max_suppressed {
        0 => String::new(),
        n_rows => format!(" with at most {} rows left out", render::count(n_rows)),
    };
    match report.complete {
        true => format!(
            "{n_satisfying} satisfy{suppressed}, {} of them minimal",
            render::count(report.minimal.len() as u64)
        ),
        false => format!("{n_satisfying} of the least height satisfy{suppressed}"),
    }
}

/// A count that may be beyond all bounds.
fn nodes(n_nodes: f64) -> String {
    if n_nodes < 1e12 { render::count(n_nodes as u64) } else { format!("{n_nodes:.1e}") }
}

/// The generalizations, one line each, below the names of what they show.
fn table(report: &LatticeReport, minimal: &[MinimalReport]) -> Vec<String> {
    let names = report.columns.iter().map(|column| column.name.clone());
    let figures = ["height", "left out", "classes", "discern.", "ncp", "precision"];
    let mut rows: Vec<Vec<String>> =
        vec![names.chain(figures.map(str::to_owned)).chain(["weights".to_owned()]).collect()];
    for own in minimal {
        let levels = report.columns.iter().map(|column| own.levels[&column.name].to_string());
        rows.push(
            levels
                .chain([
                    own.height.to_string(),
                    render::count(own.suppressed),
                    render::count(own.classes),
                    format!("{:.0}", own.discernibility),
                    render::share(own.ncp),
                    render::share(own.precision),
                    format!("{:.3}", own.weighted_height),
                ])
                .collect(),
        );
    }
    render::aligned(&rows)
}
