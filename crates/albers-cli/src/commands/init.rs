//! `albers init`: look at a table, propose a job.

use std::path::PathBuf;
use std::process::ExitCode;

use albers::ColumnType;
use albers::init::{
    ColumnProposal, IdentifyingSet, InitReport, InitRequest, JOB_FILE_FIELDS, TextNotation,
    percent, plain, propose_job, wrapped,
};
use anyhow::Result;
use clap::Args;

use crate::flags::{Assignment, HeaderFlags};
use crate::progress::Bar;
use crate::render;
use crate::text_flags::TextFlags;

/// Look at a table, propose roles, types and hierarchies, and write a commented job file
#[derive(Args)]
#[command(after_long_help = JOB_FILE_FIELDS)]
pub struct Arguments {
    /// The table: CSV, JSON Lines (both also .gz, .zst), Parquet, or a workbook (.xlsx, .ods)
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
    #[arg(short, value_name = "N", default_value_t = 5, value_parser = crate::plain::whole::<u64>)]
    k: u64,
    /// The type of a column: integer, decimal, float, date, timestamp, boolean, text or code
    #[arg(long = "type", value_name = "COLUMN=TYPE")]
    types: Vec<Assignment<ColumnType>>,
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
    /// Print what was found and proposed as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments { data, schema, output, force, k, types, delimiter, header, .. } = arguments;
    let Arguments { sheet, missing, text, json, .. } = arguments;
    let Some(data) = data.filter(|_| !schema) else {
        render::print(&albers::Job::schema())?;
        return Ok(ExitCode::SUCCESS);
    };
    let types = types.into_iter().map(|given| (given.column, given.value)).collect();
    let header = header.given();
    let TextFlags { encoding, decimal, date_formats } = text;
    let date_formats = date_formats.into_iter().map(|given| (given.column, given.value)).collect();
    let text = TextNotation { encoding, decimal, date_formats };
    let request = InitRequest {
        input: data,
        job: output,
        force,
        k,
        delimiter,
        header,
        sheet,
        missing,
        types,
        text,
    };
    let proposed = {
        let bar = Bar::new();
        propose_job(&request, &bar)?
    };
    // All is said before anything appears: what cannot be said in full is not written.
    if json {
        render::print_json(&proposed.report)?;
    } else {
        render::tell(&summary(&proposed.report))?;
    }
    proposed.write()?;
    Ok(ExitCode::SUCCESS)
}

/// Characters of a line of the table.
const LINE_CHARS: usize = 80;
/// A reason stands beside its column where it has at least so many characters to a line.
const LEAST_REASON_CHARS: usize = 28;
const LEAST_NAME_CHARS: usize = 6;
/// What a reason below its column is set in by.
const INDENT: &str = "      ";

fn summary(report: &InitReport) -> String {
    let mut lines = vec![format!("{} rows", render::count(report.rows)), String::new()];
    let heads = ["column", "type", "distinct", "missing", "unique", "role", "why"];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(report.columns.iter().map(|column| cells(column, report.rows)));
    lines.extend(aligned(&rows));
    lines.push(String::new());
    let sets = report.identifying_sets.iter().map(|set| sentence(set, report));
    let related = report
        .columns
        .iter()
        .filter(|column| !column.relations.is_empty())
        .map(|own| format!("beware: '{}' {}", plain(&own.name), own.relations.join("; ")));
    let told: Vec<String> = sets.chain(related).collect();
    for sentence in &told {
        lines.extend(set_in(sentence, "", "  "));
    }
    if !told.is_empty() {
        lines.push(String::new());
    }
    lines.extend(render::seen(&report.findings, |_| false));
    lines.extend(report.notes.iter().map(|note| format!("note: {note}")));
    let job = report.job.display();
    lines.push(format!("wrote {job}: read it, correct the roles, then run"));
    lines.push(format!("  albers anonymize --job {job}"));
    lines.join("\n") + "\n"
}

/// A text in lines of the table's length, the first of which begins in another way than the others.
fn set_in(text: &str, first: &str, others: &str) -> Vec<String> {
    let wrapped = wrapped(text, LINE_CHARS - others.chars().count().max(first.chars().count()));
    let starts = std::iter::once(first).chain(std::iter::repeat(others));
    starts.zip(wrapped).map(|(start, line)| format!("{start}{line}")).collect()
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

/// Rows of text with aligned columns; figures stand to the right. The last cell of each row is
/// broken between words, beside the others or, where they leave no room, below them.
fn aligned(rows: &[[String; 7]]) -> Vec<String> {
    const FIGURES: std::ops::Range<usize> = 2..5;
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..6).map(width).collect();
    // A longer name stands on a line of its own, above the rest of its row.
    let n_beside_name = 1 + widths[1..].iter().map(|width| width + 2).sum::<usize>() + 2;
    widths[0] = widths[0].min(LINE_CHARS.saturating_sub(n_beside_name)).max(LEAST_NAME_CHARS);
    let n_before = 1 + widths.iter().map(|width| width + 2).sum::<usize>() + 1;
    let is_beside = n_before + LEAST_REASON_CHARS <= LINE_CHARS;
    let mut lines = Vec::new();
    for (row_idx, row) in rows.iter().enumerate() {
        let mut line = String::from(" ");
        for (at, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            line.push(' ');
            if cell.chars().count() > width {
                lines.push(format!("{line}{cell}"));
                line.push_str(&" ".repeat(width + 1));
            } else if FIGURES.contains(&at) {
                line.push_str(&format!("{cell:>width$} "));
            } else {
                line.push_str(&format!("{cell:width$} "));
            }
        }
        let reason = &row[6];
        if is_beside {
            line.push(' ');
            lines.extend(set_in(reason, &line, &" ".repeat(n_before)));
        } else {
            lines.push(line.trim_end().to_owned());
            lines.extend(set_in(reason, INDENT, INDENT).into_iter().filter(|_| row_idx > 0));
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
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
