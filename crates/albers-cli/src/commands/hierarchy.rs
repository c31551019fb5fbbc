//! `albers hierarchy`: write, check and draw the hierarchy file of a column.

use std::path::PathBuf;
use std::process::ExitCode;

use albers::hierarchy_file::{
    ColumnValues, HierarchyCheck, HierarchyRequest, Like, SkeletonReport,
};
use albers::{ColumnType, Job};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use crate::flags::HeaderFlags;
use crate::progress::Bar;
use crate::render;
use crate::text_flags::TextFlags;

/// Lines that are named of each kind.
const MAX_NAMED: usize = 10;

/// Write a hierarchy file of a column to edit, check one against a table, or draw one
#[derive(Args)]
pub struct Arguments {
    /// The table: CSV (also .gz, .zst) or Parquet
    data: PathBuf,
    /// The column
    column: String,
    /// What the levels of the file are like: ranges, ranges:5,10,20, dates, dates:month,year,
    /// prefix, or groups to be filled in; told by the column's type when not given
    #[arg(long, value_name = "LEVELS", conflicts_with = "check")]
    like: Option<Like>,
    /// The hierarchy file to write: one line per value, from specific to general
    #[arg(short, long, value_name = "FILE", conflicts_with = "check")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    force: bool,
    /// A hierarchy file to check: values without a line, lines without a value, labels that do not
    /// nest
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// Draw the hierarchy as a tree: its labels, and how many values and rows lie below each
    #[arg(long)]
    draw: bool,
    /// The type of the column: integer, decimal, float, date, timestamp, boolean, text or code
    #[arg(long = "type", value_name = "TYPE")]
    column_type: Option<ColumnType>,
    /// The character between the cells of a CSV file, or tab; told from the header when not given
    #[arg(long, value_name = "CHARACTER", value_parser = crate::flags::delimiter)]
    delimiter: Option<char>,
    #[command(flatten)]
    header: HeaderFlags,
    /// The sheet of a workbook; the only one that holds anything when not given
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
    /// A text that stands for a missing value, besides the empty cell
    #[arg(long, value_name = "TEXT")]
    missing: Vec<String>,
    #[command(flatten)]
    text: TextFlags,
    /// Print what was written or found as JSON on standard output
    #[arg(long, conflicts_with = "draw")]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments { data, column, like, output, force, check, draw, column_type, .. } = arguments;
    if output.is_none() && check.is_none() && !draw {
        bail!("nothing to do; give a file to write with -o, one to check with --check, or --draw");
    }
    let mut job = Job {
        input: Some(data),
        delimiter: arguments.delimiter,
        header: arguments.header.given(),
        sheet: arguments.sheet,
        missing: arguments.missing,
        force: Some(force),
        ..Job::default()
    };
    arguments.text.apply(&mut job);
    let request = HierarchyRequest { job, column, column_type };
    let values = {
        let bar = Bar::new();
        ColumnValues::read(&request, &bar)?
    };
    if let Some(file) = check {
        let found = values.check(&file)?;
        print(arguments.json, &found, checked)?;
        if draw && found.fits {
            render::print(&drawn(&values.draw(&values.of_file(&file)?)))?;
        }
        return Ok(if found.fits { ExitCode::SUCCESS } else { ExitCode::from(1) });
    }
    let like = like.unwrap_or_default();
    if let Some(file) = output {
        let skeleton = values.skeleton(&request.job, &like, &file)?;
        // All is said before anything appears: what cannot be said in full is not written.
        print(arguments.json, &skeleton.report, written)?;
        skeleton.write()?;
    }
    if draw {
        render::print(&drawn(&values.draw(&values.like(&like)?)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a report as JSON or in words.
fn print<T: Serialize>(json: bool, report: &T, in_words: impl Fn(&T) -> String) -> Result<()> {
    match json {
        true => render::print_json(report),
        false => render::tell(&in_words(report)),
    }
}

fn written(report: &SkeletonReport) -> String {
    let SkeletonReport { column, like, values, levels, file, .. } = report;
    let column = albers::init::plain(column);
    let file = file.display();
    let mut lines = vec![format!(
        "wrote {file}: {} of '{column}', {} above each, like {like}",
        amount(*values, "value"),
        amount(*levels, "level"),
    )];
    if like == "groups" {
        lines.push("  all values are in one group, *: give each the name of its own".to_owned());
    }
    lines.push(
        "  it holds every value of the column: only you can read it (mode 0600); keep it so"
            .to_owned(),
    );
    lines.push(format!("  albers anonymize ... --hierarchy {column}={file}"));
    lines.join("\n") + "\n"
}

fn checked(found: &HierarchyCheck) -> String {
    let mut lines = vec![format!(
        "{} of {} above the value, for {} of '{}'",
        amount(found.lines, "line"),
        amount(found.levels, "level"),
        amount(found.values, "value"),
        albers::init::plain(&found.column),
    )];
    if found.values_without_line > 0 {
        lines.push(format!(
            "  {} without a line, in {}: add a line for each",
            amount(found.values_without_line, "value"),
            amount(found.rows_without_line, "row"),
        ));
    }
    let n_idle = found.lines_without_value.len();
    if n_idle > 0 {
        let named: Vec<String> =
            found.lines_without_value.iter().take(MAX_NAMED).map(u64::to_string).collect();
        let more = if n_idle > MAX_NAMED { ", ..." } else { "" };
        lines.push(format!(
            "  {} whose value the column does not have, which is allowed and makes the domain \
             larger: {}{more}",
            amount(n_idle as u64, "line"),
            named.join(", "),
        ));
    }
    for own in found.problems.iter().take(MAX_NAMED) {
        let line = own.line.map_or_else(String::new, |line| format!("line {line}: "));
        lines.push(format!("  {line}{}", own.problem));
    }
    if found.problems.len() > MAX_NAMED {
        lines.push(format!("  and {} more problems", found.problems.len() - MAX_NAMED));
    }
    lines.push(if found.fits { "it fits" } else { "it does not fit" }.to_owned());
    lines.join("\n") + "\n"
}

fn drawn(lines: &[String]) -> String {
    format!("\n{}\n", lines.join("\n"))
}

fn amount(n: u64, word: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {word}{plural}", render::count(n))
}
