//! `albers measure`: what a release loses, from its file and the original.

mod queries;

use std::path::PathBuf;
use std::process::ExitCode;

use albers::{
    Categories, LossDomain, MeasureOptions, MeasureReport, MeasuredSelections, Role, SelectSpec,
    TargetSpec, files,
};
use anyhow::Result;
use clap::Args;

use crate::flags::{self, Assignment, LimitFlags, MethodFlags, RequirementFlags};
use crate::progress::Bar;
use crate::render;
use crate::table_flags::TableFlags;

use queries::QueryFlags;

/// Measure what a release loses, ours or anybody's, from its file and the original
#[derive(Args)]
pub struct Arguments {
    /// The table that was anonymized: CSV, JSON Lines (both also .gz, .zst), Parquet, or a
    /// workbook (.xlsx, .ods)
    original: PathBuf,
    /// The release of it
    release: PathBuf,
    /// A job file; flags override what it says
    #[arg(long, value_name = "FILE")]
    job: Option<PathBuf>,
    /// A column that is unique in both files and tells which rows belong together: every row is
    /// then checked, and the KL divergence computed
    #[arg(long, value_name = "COLUMN")]
    key: Option<String>,
    /// How much a loss on a column counts; 1 when not given
    #[arg(long = "weight", value_name = "COLUMN=WEIGHT")]
    weights: Vec<Assignment<f64>>,
    /// How columns with a hierarchy are shown; when not given, as sets if a cell of the release is a
    /// set of values, else as labels
    #[arg(long, value_parser = flags::choice::<Categories>())]
    categories: Option<Categories>,
    /// Which values of a column with a hierarchy its loss is a share of; declared when not given
    #[arg(long, value_parser = flags::choice::<LossDomain>())]
    domain: Option<LossDomain>,
    /// A column that the release holds as it is: how much is left to know of it for who knows a row's
    /// class, in bits, or with COLUMN:number as the squared error; may be given again
    #[arg(long = "target", value_name = "COLUMN[:KIND]")]
    targets: Vec<TargetSpec>,
    /// Rows that the release is asked for: how many it returns that do not satisfy the condition;
    /// may be given again
    #[arg(long = "select", value_name = "[WEIGHT:] CONDITION")]
    selects: Vec<SelectSpec>,
    /// The column that tells how deep the regions of nested classes lie, of a release by --method
    /// bang, bd-tree or hb-tree; without it, classes that show the same are one
    #[arg(long, value_name = "COLUMN")]
    level_column: Option<String>,
    /// Print the losses as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    queries: QueryFlags,
    #[command(flatten)]
    columns: TableFlags,
    #[command(flatten)]
    limits: LimitFlags,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments {
        original,
        release,
        job,
        key,
        weights,
        categories,
        domain,
        targets,
        selects,
        level_column,
        json,
        queries,
        columns,
        limits,
    } = arguments;
    let resources = limits.into();
    let method = MethodFlags {
        weights,
        categories,
        targets,
        selects,
        level_column: level_column.clone(),
        resources,
        ..MethodFlags::default()
    };
    let is_from_job = method.targets.is_empty();
    let of_text = columns.said_of_text();
    let mut job = columns.job(job.as_ref(), None, RequirementFlags::default(), method)?;
    if is_from_job {
        // Of those that the release generalizes, its losses tell.
        let quasi: Vec<String> = job.with_role(Role::Quasi).map(str::to_owned).collect();
        job.workload.targets.retain(|target| !quasi.contains(&target.column));
    }
    let original = files::open_table(&job, &original, None)?;
    let release = files::open_release(&job, &release)?;
    if let Some(of_text) = of_text {
        of_text.check(&[original.as_ref(), release.as_ref()])?;
    }
    // A job file may name what a release lacks, a flag may not.
    if let Some(name) = &level_column {
        albers::source::place_of(release.name(), release.columns(), name)?;
    }
    let report = {
        let bar = Bar::new();
        let (original, release, key) = (original.as_ref(), release.as_ref(), key.as_deref());
        let (domain, queries) = (domain.unwrap_or_default(), queries.workload());
        let options = MeasureOptions { domain, queries };
        albers::measure_with(&job, original, release, key, &options, &bar)?
    };
    if json {
        render::print_json(&report)?;
    } else {
        render::print(&summary(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn selection_lines(selections: &MeasuredSelections) -> Vec<String> {
    let line = |own: &albers::MeasuredSelection| {
        let what = match &own.condition {
            Some(condition) => format!("select {condition}:"),
            None => "selections that fewer than k rows satisfy, as one:".to_owned(),
        };
        let right = match (own.satisfying, own.imprecision) {
            (Some(satisfying), Some(imprecision)) => format!(
                ", {} satisfy it, imprecision {}",
                render::count(satisfying),
                render::count(imprecision)
            ),
            _ => String::new(),
        };
        format!("{what} returns {} rows{right}", render::count(own.returned))
    };
    let mut lines: Vec<String> = selections.each.iter().map(line).collect();
    let weighted = selections.weighted_imprecision.filter(|_| !lines.is_empty());
    lines.extend(weighted.map(|sum| format!("weighted imprecision, box by box: {sum}")));
    lines
}

fn summary(report: &MeasureReport) -> String {
    let (size, loss) = (&report.class_size, &report.loss);
    let mut lines = vec![
        format!(
            "{} of {} rows in {} of {} to {} rows (mean {:.1}), {} suppressed",
            render::count(report.rows),
            render::count(report.original_rows),
            render::classes(report.classes),
            render::count(size.min),
            render::count(size.max),
            size.mean,
            render::count(report.suppressed),
        ),
        String::new(),
        format!(
            "ncp                {}  (0: nothing lost, 1: everything), over {} values",
            render::share(loss.ncp),
            loss.domain
        ),
        format!("certainty penalty  {:.4}", loss.certainty_penalty),
        format!("discernibility     {:.0}", loss.discernibility),
    ];
    match (loss.kl.or(loss.kl_at_most), &report.kl_basis) {
        (Some(kl), Some(basis)) => {
            let at_most = if loss.kl.is_none() { "at most " } else { "" };
            lines.push(format!(
                "KL divergence      {at_most}{kl:.4}  (logarithms to base {}; over {})",
                basis.base,
                basis.columns.join(", ")
            ));
            lines.push(format!("                   domain of {}", basis.domain));
        }
        _ => lines.push("KL divergence      not computed".to_owned()),
    }
    for target in &report.targets {
        let left = match (target.conditional_entropy, target.mean_squared_error) {
            (Some(bits), _) => format!("{bits:.4} bits left to know of it in a class"),
            (None, error) => format!("squared error {:.4} in a class", error.unwrap_or_default()),
        };
        lines.push(format!("target '{}': {left}", target.name));
    }
    lines.extend(report.selections.iter().flat_map(selection_lines));
    lines.push(String::new());
    let width = report.columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0);
    for column in &report.columns {
        let lost = loss.ncp_by_column.get(&column.name).copied().unwrap_or(0.0);
        let weight = match column.weight {
            1.0 => String::new(),
            weight => format!(", weight {weight}"),
        };
        let missing = match column.missing {
            0 => String::new(),
            n_missing => format!(", {} missing", render::count(n_missing)),
        };
        lines.push(format!(
            "  {:width$}  loses {}  ({}, shown as {}{missing}{weight})",
            column.name,
            render::share(lost),
            column.column_type,
            column.shown,
        ));
    }
    lines.extend(report.queries.iter().flat_map(queries::lines));
    if !report.notes.is_empty() {
        lines.push(String::new());
    }
    lines.extend(render::notes(&report.notes));
    lines.join("\n") + "\n"
}
