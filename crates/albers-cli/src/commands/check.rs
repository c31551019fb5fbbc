//! `albers check`: audits a table, ours or anybody's.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use albers::Place;
use albers::{
    Acceptance, Beside, Categories, CheckReport, ConcernedRows, Finding, Format, Job, Original,
    Role, ThresholdFrom, figure, files,
};
use anyhow::Result;
use clap::Args;

use crate::flags::{MethodFlags, RequirementFlags, ResourceFlags, choice};
use crate::plain;
use crate::progress::Bar;
use crate::render;
use crate::table_flags::{SaidOfText, TableFlags};

/// No audit is limited unless it is asked to be.
const MEMORY_HELP: &str = "The memory to work in, such as 256MB; as much as the table takes when \
                           not given. What does not fit goes to temporary files";

/// Audit any table: which requirement holds, the smallest classes, the risk of being found
#[derive(Args)]
#[command(mut_arg("memory", |arg| arg.help(MEMORY_HELP)))]
pub struct Arguments {
    /// The table: CSV, JSON Lines (both also .gz, .zst), Parquet or a workbook (.xlsx, .ods), a
    /// folder or a pattern of files, or - for standard
    /// input
    table: PathBuf,
    /// The format of the table; told by its ending when not given, csv for standard input
    #[arg(long, value_parser = choice::<Format>())]
    from: Option<Format>,
    /// The manifest of the release, against which it is verified; that beside it, OUT.manifest.json,
    /// when not given. It tells the columns and the requirement where no flag does
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// The table that the release was made of, for the findings that need it: own-value-bounds,
    /// keep-tells-quasi and, with --subject and --key, person-rules-class. Both must fit in memory
    #[arg(long, value_name = "FILE")]
    original: Option<PathBuf>,
    /// A column that is unique in the table and in the original, and tells which rows belong together
    #[arg(long, value_name = "COLUMN", requires = "original")]
    key: Option<String>,
    /// How columns with a hierarchy are shown; when not given, as sets if a cell of the release is a
    /// set of values, else as labels
    #[arg(long, requires = "original", value_parser = choice::<Categories>())]
    categories: Option<Categories>,
    /// A job file; flags override what it says
    #[arg(long, value_name = "FILE")]
    job: Option<PathBuf>,
    /// The column that tells which rows belong to the same person: k counts persons, not rows. With
    /// --original it may be one that only the original has, and rows are counted
    #[arg(long, value_name = "COLUMN")]
    subject: Option<String>,
    /// Columns that are published as they are, of which it is told who stands alone by them
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    keep: Vec<String>,
    /// Columns that identify a person alone: rows that share one are told where no subject is named
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    identifier: Vec<String>,
    /// Write the numbers of the rows that findings are about to a CSV file that only its owner may
    /// read: finding, row
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
    /// Replace the file of --rows that is there already
    #[arg(long, requires = "rows")]
    force: bool,
    /// A severe finding that does not end the check with 1: low-k, rows-per-person, or of all columns
    /// or one unique-keep, keep-tells-quasi, secret-without-rule, text-list, person-rules-class; those
    /// of a manifest are accepted too
    #[arg(long, value_name = "FINDING[:COLUMN]", value_delimiter = ',')]
    accept: Vec<Acceptance>,
    /// A risk of being found above this is too high; when not given, that of a class of k (1 / k) where
    /// -k or a manifest tells k, else 0.2, a group of five
    #[arg(long, value_name = "RISK", value_parser = plain::number)]
    threshold: Option<f64>,
    /// The column that tells how deep the regions of nested classes lie, of a release by --method
    /// bang, bd-tree or hb-tree, where no manifest tells it; without it, classes that show the same
    /// are one
    #[arg(long, value_name = "COLUMN")]
    level_column: Option<String>,
    /// Print the audit as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    columns: TableFlags,
    #[command(flatten)]
    requirement: RequirementFlags,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// The files that a check reads.
struct Tables {
    table: PathBuf,
    from: Option<Format>,
    manifest: Option<PathBuf>,
    original: Option<PathBuf>,
    key: Option<String>,
}

/// What flags, and no job file, say of how the tables are read.
struct Said {
    header: Option<bool>,
    /// Of the original, if there is one.
    sheet: Option<String>,
    of_text: Option<SaidOfText>,
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let Arguments {
        table,
        from,
        manifest,
        original,
        key,
        categories,
        job,
        subject,
        keep,
        identifier,
        rows,
        force,
        accept,
        threshold,
        level_column,
        json,
        columns,
        requirement,
        resources,
    } = arguments;
    let tables = Tables { table, from, manifest, original, key };
    let method = MethodFlags {
        categories,
        level_column: level_column.clone(),
        resources,
        ..MethodFlags::default()
    };
    let (header, sheet) = (columns.header.given(), columns.sheet.clone());
    let of_text = columns.said_of_text();
    let mut job = columns.job(job.as_ref(), subject, requirement, method)?;
    for name in &keep {
        job.set_role(name, Role::Keep)?;
    }
    for name in &identifier {
        job.set_role(name, Role::Identifier)?;
    }
    job.force = force.then_some(true).or(job.force);
    let place = tables.check(&job, rows.as_deref())?;
    job.accept.extend(accept);
    let named: Vec<String> = identifier.into_iter().chain(level_column).collect();
    let said = Said { header, sheet, of_text };
    let (report, concerned) = tables.audit((job, said), &named, rows.is_some(), threshold)?;
    let rows = match place {
        Some(place) => Some(files::rows_file(place, &concerned)?),
        None => None,
    };
    say(&report, json)?;
    // All is said before anything appears.
    if let Some(rows) = rows {
        rows.name()?;
    }
    Ok(exit_code(&report))
}

impl Tables {
    /// Refuses an original that is the release, and a place for the numbers of rows that is there
    /// already, or that is read.
    fn check(&self, job: &Job, rows: Option<&Path>) -> Result<Option<Place>> {
        if let Some(original) = &self.original {
            files::check_original(&self.table, original)?;
        }
        let Some(rows) = rows else { return Ok(None) };
        let beside = files::manifest_beside(&self.table);
        let manifest = self.manifest.as_ref().or(beside.as_ref());
        let read = [Some(&self.table), manifest, self.original.as_ref()];
        let read: Vec<&Path> = read.into_iter().flatten().map(PathBuf::as_path).collect();
        Ok(Some(files::check_rows_place(job, rows, &read)?))
    }

    /// Audits the table with all that stands beside it.
    fn audit(
        &self,
        (mut job, said): (Job, Said),
        named: &[String],
        wants_rows: bool,
        threshold: Option<f64>,
    ) -> Result<(CheckReport, Vec<ConcernedRows>)> {
        let bar = Bar::new();
        let original = match &self.original {
            Some(path) => Some(files::open_table(&job, path, None)?),
            None => None,
        };
        // What a job file says of its input is not true of a release of it, which has names.
        job.header = said.header.or(job.header.filter(|&header| header));
        job.sheet = said.sheet.filter(|_| original.is_none());
        let manifest = files::manifest_of(&job, &self.table, self.manifest.as_deref())?;
        let digest = match &manifest {
            Some(_) => files::digest_of(&self.table)?,
            None => String::new(),
        };
        let table = files::open_table(&job, &self.table, self.from)?;
        if let Some(of_text) = said.of_text {
            let tables = std::iter::once(table.as_ref()).chain(original.as_deref());
            of_text.check(&tables.collect::<Vec<_>>())?;
        }
        // A job file may name what a release dropped, a flag may not.
        for name in named {
            albers::source::place_of(table.name(), table.columns(), name)?;
        }
        let key = self.key.as_deref();
        let beside = Beside {
            manifest: manifest.as_ref().map(|own| (own, digest.as_str())),
            original: original.as_deref().map(|table| Original { table, key }),
            wants_rows,
        };
        Ok(albers::check_beside(&job, table.as_ref(), &beside, threshold, &bar)?)
    }
}

/// 1 where something does not hold, is not what it should be or is not accepted.
fn exit_code(report: &CheckReport) -> ExitCode {
    let differs = report.manifest.as_ref().is_some_and(|manifest| !manifest.differs.is_empty());
    let is_missed = report.holds == Some(false) || differs || !report.not_accepted.is_empty();
    ExitCode::from(u8::from(is_missed))
}

/// Prints an audit, and what it advises.
fn say(report: &CheckReport, json: bool) -> Result<()> {
    if json {
        render::print_json(report)?;
        missed_lines(report).iter().for_each(|line| render::say(line));
        manifest_lines(report).iter().for_each(|line| render::say(line));
    } else if render::is_quiet() {
        quiet_lines(report).iter().for_each(|line| render::say(line));
    } else {
        render::print(&summary(report))?;
    }
    if let Some(advice) = report.advice() {
        let names = report.not_accepted.join(", ");
        render::say(&format!(
            "albers: severe findings are not accepted ({names}); {}",
            render::words(&advice)
        ));
    }
    Ok(())
}

/// What is said of an audit even where nothing need be: what does not hold.
fn quiet_lines(report: &CheckReport) -> Vec<String> {
    let differs = report.manifest.as_ref().is_some_and(|manifest| !manifest.differs.is_empty());
    let mut lines = missed_lines(report);
    lines.extend(manifest_lines(report).into_iter().filter(|_| differs));
    let stops = |own: &Finding| own.is_severe && !report.is_accepted(own);
    let severe: Vec<Finding> = report.findings.iter().filter(|own| stops(own)).cloned().collect();
    lines.extend(render::seen(&severe, |_| false));
    lines
}

fn summary(report: &CheckReport) -> String {
    let size = &report.class_size;
    let mut lines = vec![
        format!(
            "{} rows in {} of {} to {} rows (mean {:.1})",
            render::count(report.rows),
            render::classes(report.classes),
            render::count(size.min),
            render::count(size.max),
            size.mean,
        ),
        format!(
            "k = {}: every row shares what it shows with at least {} {}, itself included",
            report.k, report.k, report.k_counts
        ),
    ];
    if let Some(relation) = report.class_relation {
        lines.push(format!("classes are {}", render::relation(Some(relation))));
    }
    lines.push(String::new());
    lines.extend(sensitive_lines(report));
    lines.extend(risk_lines(report));
    lines.push(String::new());
    lines.extend(size_lines(report));
    lines.push(String::new());
    lines.extend(render::seen(&report.findings, |own| report.is_accepted(own)));
    lines.extend(render::notes(&report.notes));
    if let (Some(requirement), Some(true)) = (&report.requirement, report.holds) {
        lines.push(format!("holds: {requirement}"));
    }
    lines.extend(missed_lines(report));
    if let Some(manifest) = report.manifest.as_ref().filter(|own| own.differs.is_empty()) {
        lines.push(format!("as its manifest says: {}", manifest.verified.join(", ")));
    }
    lines.extend(manifest_lines(report));
    lines.join("\n").trim_end().to_owned() + "\n"
}

fn sensitive_lines(report: &CheckReport) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, reached) in &report.sensitive {
        let variance =
            reached.variance.map(|variance| format!(", least variance {}", figure(variance)));
        lines.push(format!(
            "'{name}', worst class of each: {} distinct values, entropy l {:.3}, t {:.4} \
             ({} distance), largest share {:.4}{}",
            reached.distinct_l,
            reached.entropy_l,
            reached.t,
            reached.distance,
            reached.max_share,
            variance.unwrap_or_default(),
        ));
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn risk_lines(report: &CheckReport) -> Vec<String> {
    let risk = &report.risk;
    vec![
        "risk of being found by somebody who knows the person is in the table:".to_owned(),
        format!(
            "  highest   {:.4}  ({} rows in {} classes of the smallest size)",
            risk.highest,
            render::count(risk.rows_in_smallest_classes),
            render::count(risk.smallest_classes),
        ),
        format!("  average   {:.4}", risk.average),
        format!(
            "  above {}: {} rows, {:.2} % of all",
            threshold_words(report),
            render::count(risk.rows_above_threshold),
            risk.above_threshold * 100.0,
        ),
    ]
}

/// A threshold, and where it comes from.
fn threshold_words(report: &CheckReport) -> String {
    let threshold = report.risk.threshold;
    let counted = if report.k_counts == "rows" { "rows" } else { "persons" };
    match report.risk.threshold_from {
        ThresholdFrom::K => {
            let k = (1.0 / threshold).round();
            format!("{threshold:.4} (1 in {k}, as k = {k} asks for groups of {k} {counted})")
        }
        ThresholdFrom::Convention => format!(
            "{threshold} (1 in 5; no k was asked for, and groups of 5 are a common convention, set \
             another with --threshold)"
        ),
        _ => format!("{threshold} (as --threshold says)"),
    }
}

/// In what a release differs from its manifest, and what cannot be told.
fn manifest_lines(report: &CheckReport) -> Vec<String> {
    let Some(manifest) = &report.manifest else { return Vec::new() };
    let differs = manifest.differs.iter().map(|own| {
        let (field, says, is) = (&own.field, &own.manifest, &own.release);
        format!("not what its manifest says: {field} is {is}, the manifest says {says}")
    });
    let unverified = manifest.unverified.iter();
    differs.chain(unverified.map(|what| format!("not verified: {what}"))).collect()
}

/// Classes by size, with bars as long as their number.
fn size_lines(report: &CheckReport) -> Vec<String> {
    const BAR_CHARS: f64 = 40.0;
    let most = report.sizes.iter().map(|bin| bin.classes).max().unwrap_or(1).max(1);
    let rows: Vec<[String; 3]> = report
        .sizes
        .iter()
        .map(|bin| {
            let size = if bin.from == bin.to {
                render::count(bin.from)
            } else {
                format!("{}-{}", render::count(bin.from), render::count(bin.to))
            };
            [size, render::count(bin.classes), render::count(bin.rows)]
        })
        .collect();
    let size = if report.k_counts == "rows" { "class size" } else { report.k_counts };
    let heads = [size, "classes", "rows"];
    let widths: Vec<usize> = (0..3)
        .map(|at| rows.iter().map(|row| row[at].len()).chain([heads[at].len()]).max().unwrap_or(0))
        .collect();
    let line = |cells: [&str; 3], bar: String| {
        let [size, classes, rows] = cells;
        let (a, b, c) = (widths[0], widths[1], widths[2]);
        format!("  {size:>a$}  {classes:>b$}  {rows:>c$}  {bar}").trim_end().to_owned()
    };
    let mut lines = vec![line(heads, String::new())];
    for (row, bin) in rows.iter().zip(&report.sizes) {
        let length = bin.classes as f64 / most as f64 * BAR_CHARS;
        lines.push(line([&row[0], &row[1], &row[2]], bar(length)));
    }
    lines
}

/// A bar of so many characters, to an eighth; never nothing for something.
fn bar(length: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let n_eighths = (length * 8.0).round().max(if length > 0.0 { 1.0 } else { 0.0 }) as usize;
    "█".repeat(n_eighths / 8) + EIGHTHS[n_eighths % 8]
}

fn missed_lines(report: &CheckReport) -> Vec<String> {
    let missed = report.missed.iter().map(|missed| {
        format!(
            "does not hold: {}: asked {}, reached {} ({} classes with {} rows)",
            missed.what,
            figure(missed.asked),
            figure(missed.reached),
            render::count(missed.classes),
            render::count(missed.rows),
        )
    });
    missed.collect()
}
