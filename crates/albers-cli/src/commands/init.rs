//! `albers init`: look at a table, propose a job.

use std::path::PathBuf;
use std::process::ExitCode;

use albers::ColumnType;
use albers::init::{
    ColumnProposal, IdentifyingSet, InitReport, InitRequest, JOB_FILE_FIELDS, percent, plain,
};
use anyhow::Result;
use clap::Args;

use crate::flags::{Assignment, HeaderFlags};
use crate::progress::Bar;
use crate::render;

/// Look at a table, propose roles, types and hierarchies, and write a commented job file
#[derive(Args)]
#[command(after_long_help = JOB_FILE_FIELDS)]
pub struct Arguments {
    /// The table: CSV (also .gz, .zst) or Parquet
    #[arg(required_unless_present = "schema")]
    data: Option<PathBuf>,
    /// Print the JSON schema of a job file and do nothing else
    #[arg(long, exclusive = true)]
    schema: bool,
    /// The job file
    #[arg(short, long, value_name = "FILE", default_value = "job.toml")]
    output: PathBuf,
    /// Replace an existing job file
    #[arg(long)]
    force: bool,
    /// Rows per class that the job asks for
    #[arg(short, value_name = "N", default_value_t = 5)]
    k: u64,
    /// The type of a column: integer, decimal, float, date, timestamp, boolean, text or code
    #[arg(long = "type", value_name = "COLUMN=TYPE")]
    types: Vec<Assignment<ColumnType>>,
    /// The character between the cells of a CSV file, or tab; told from the header when not given
    #[arg(long, value_name = "CHARACTER", value_parser = crate::flags::delimiter)]
    delimiter: Option<char>,
    #[command(flatten)]
    header: HeaderFlags,
    /// A text that stands for a missing value, besides the empty cell
    #[arg(long, value_name = "TEXT")]
    missing: Vec<String>,
    /// Print what was found and proposed as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments { data, schema, output, force, k, types, delimiter, header, missing, json } =
        arguments;
    let Some(data) = data.filter(|_| !schema) else {
        render::print(&albers::Job::schema())?;
        return Ok(ExitCode::SUCCESS);
    };
    let types = types.into_iter().map(|given| (given.column, given.value)).collect();
    let header = header.given();
    let request =
        InitRequest { input: data, job: output, force, k, delimiter, header, missing, types };
    let report = {
        let bar = Bar::new();
        albers::init(&request, &bar)?
    };
    if json {
        render::print_json(&report)?;
    } else {
        render::print(&summary(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn summary(report: &InitReport) -> String {
    let mut lines = vec![format!("{} rows", render::count(report.rows)), String::new()];
    let heads = ["column", "type", "distinct", "missing", "unique", "role", "why"];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(report.columns.iter().map(|column| cells(column, report.rows)));
    lines.extend(aligned(&rows));
    lines.push(String::new());
    lines.extend(report.identifying_sets.iter().map(|set| sentence(set, report)));
    if !report.identifying_sets.is_empty() {
        lines.push(String::new());
    }
    lines.extend(render::seen(&report.findings, |_| false));
    lines.extend(report.notes.iter().map(|note| format!("note: {note}")));
    let job = report.job.display();
    lines.push(format!("wrote {job}: read it, correct the roles, then run"));
    lines.push(format!("  albers anonymize --job {job}"));
    lines.join("\n") + "\n"
}

fn cells(column: &ColumnProposal, n_rows: u64) -> [String; 7] {
    let name = plain(&column.name);
    let role = column.role.clone().unwrap_or_else(|| "-".to_owned());
    let Some(kind) = column.column_type.clone() else {
        let none = String::new;
        return [name, "unknown".to_owned(), none(), none(), none(), role, column.reason.clone()];
    };
    let about = if column.distinct_is_estimate { "~" } else { "" };
    let missing = match column.missing {
        0 => "0".to_owned(),
        n => format!("{} ({})", render::count(n), percent(n as f64 / n_rows as f64)),
    };
    [
        name,
        kind,
        format!("{about}{}", render::count(column.distinct)),
        missing,
        format!("{about}{}", percent(column.unique_share)),
        role,
        column.reason.clone(),
    ]
}

/// Rows of text with aligned columns; figures stand to the right.
fn aligned(rows: &[[String; 7]]) -> Vec<String> {
    const FIGURES: std::ops::Range<usize> = 2..5;
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..7).map(width).collect();
    let line = |row: &[String; 7]| {
        let mut line = String::from(" ");
        for (at, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            line.push(' ');
            if FIGURES.contains(&at) {
                line.push_str(&format!("{cell:>width$} "));
            } else {
                line.push_str(&format!("{cell:width$} "));
            }
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn sentence(set: &IdentifyingSet, report: &InitReport) -> String {
    let names: Vec<String> = set.columns.iter().map(|name| plain(name)).collect();
    let is_one = names.len() == 1;
    let share = percent(set.unique_share);
    let about = if report.sets_are_estimates && !is_one && share.starts_with(char::is_numeric) {
        "about "
    } else {
        ""
    };
    let verb = if is_one { "makes" } else { "make" };
    format!("{} {verb} {about}{share} of the rows unique", names.join(" + "))
}
