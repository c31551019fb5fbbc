//! `albers query`: what a release answers, without the table it was made of.

use std::path::PathBuf;
use std::process::ExitCode;

use albers::source::Layout;
use albers::{
    ColumnType, Dialect, Format, Job, QueryAnswer, QueryReport, Question, ReleaseBeside, Role,
    SqlSource, Totals, conditions_of, files,
};
use anyhow::Result;
use clap::Args;

use crate::flags::{self, Assignment, HierarchyFlag, LimitFlags, ResourceFlags, choice};
use crate::progress::Bar;
use crate::render;

/// Ask a release how many rows satisfy a condition, with bounds; the original is not needed
#[derive(Args)]
pub struct Arguments {
    /// The release: CSV, JSON Lines (both also .gz, .zst), Parquet, or - for standard input
    release: PathBuf,
    /// The condition, in SQL without where: "age between 40 and 50 and zip = '44120'"; all rows when
    /// not given
    #[arg(allow_hyphen_values = true)]
    condition: Option<String>,
    /// Answer every condition of a file, one on each line; lines that begin with # are skipped
    #[arg(long, value_name = "FILE", conflicts_with = "condition")]
    conditions: Option<PathBuf>,
    /// Answer for each value of a column apart
    #[arg(long, value_name = "COLUMN")]
    group_by: Option<String>,
    /// Add up the values of columns that left as they came, or whose means the release carries
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    sum: Vec<String>,
    /// The mean of such columns
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    avg: Vec<String>,
    /// The manifest of the release; that beside it, OUT.manifest.json, when not given
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// The format of the release; told by its ending when not given, csv for standard input
    #[arg(long, value_parser = choice::<Format>())]
    from: Option<Format>,
    /// Columns that are generalized, where neither a manifest nor a codebook tells
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    quasi: Vec<String>,
    /// Columns that left as they came, where neither a manifest nor a codebook tells
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    keep: Vec<String>,
    /// The column that tells how deep the regions of nested classes lie, where neither a manifest nor
    /// a codebook tells
    #[arg(long, value_name = "COLUMN")]
    level_column: Option<String>,
    /// What the labels of a column are of, where the codebook does not tell: a FILE (one row per
    /// value, from specific to general), prefix, ranges:5,10,20, dates, dates:month,year or
    /// suppress
    #[arg(long = "hierarchy", value_name = "COLUMN=HIERARCHY")]
    hierarchies: Vec<HierarchyFlag>,
    /// The type of a column: integer, decimal, float, date, timestamp, boolean, text or code
    #[arg(long = "type", value_name = "COLUMN=TYPE")]
    types: Vec<Assignment<ColumnType>>,
    /// The character between the cells of a CSV file, or tab; told from the header when not given
    #[arg(long, value_name = "CHARACTER", value_parser = flags::delimiter)]
    delimiter: Option<char>,
    /// Write plain SQL that gives the same answer in a database, instead of answering
    #[arg(long, value_name = "DIALECT", value_parser = choice::<Dialect>(), conflicts_with = "json")]
    sql: Option<Dialect>,
    /// The table that the SQL asks; of DuckDB the file of the release, of PostgreSQL a table called
    /// release when not given
    #[arg(long, value_name = "NAME", requires = "sql")]
    table: Option<String>,
    /// Print the answers as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: LimitFlags,
}

/// Runs the command.
pub fn run(mut arguments: Arguments) -> Result<ExitCode> {
    let job = job(&mut arguments)?;
    let question = question(&job, &arguments)?;
    let release = arguments.release.as_path();
    let manifest = files::manifest_of(&job, release, arguments.manifest.as_deref())?;
    let codebook = files::codebook_of(&job, release)?;
    match (&manifest, &codebook) {
        (Some(own), _) => files::check_digest(release, own.digest.as_deref(), "manifest")?,
        (None, Some(own)) => files::check_digest(release, own.digest.as_deref(), "codebook")?,
        (None, None) => {}
    }
    let source = files::open_table(&job, release, arguments.from)?;
    let beside = ReleaseBeside { manifest: manifest.as_ref(), codebook: codebook.as_ref() };
    if let Some(dialect) = arguments.sql {
        let path = release.to_string_lossy();
        let table = arguments.table.as_deref();
        if files::is_standard(release) && table.is_none() && dialect == Dialect::DuckDb {
            anyhow::bail!("DuckDB cannot read standard input again; name its table with --table");
        }
        if source.layout() == Layout::Sheet && table.is_none() && dialect == Dialect::DuckDb {
            anyhow::bail!("a spreadsheet is no release; name the table of a database with --table");
        }
        let to = SqlSource::of(dialect, &path, source.as_ref(), table);
        let sql = {
            let bar = Bar::new();
            albers::query_sql(&job, source.as_ref(), &beside, &question, &to, &bar)?
        };
        render::print_code(&sql)?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = {
        let bar = Bar::new();
        albers::query(&job, source.as_ref(), &beside, &question, &bar)?
    };
    match arguments.json {
        true if arguments.conditions.is_some() => render::print_json(&report)?,
        true => match report.single() {
            Some(single) => render::print_json(&single)?,
            None => render::print_json(&report)?,
        },
        false => render::print(&summary(&report))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn question(job: &Job, arguments: &Arguments) -> Result<Question> {
    let conditions = match &arguments.conditions {
        Some(path) => conditions_of(job, path)?,
        None => arguments.condition.iter().cloned().collect(),
    };
    Ok(Question {
        conditions,
        group_by: arguments.group_by.clone(),
        sums: arguments.sum.clone(),
        means: arguments.avg.clone(),
    })
}

/// What flags say of the release.
fn job(arguments: &mut Arguments) -> Result<Job> {
    let mut job = Job {
        delimiter: arguments.delimiter,
        level_column: arguments.level_column.clone(),
        ..Job::default()
    };
    for name in &arguments.quasi {
        job.set_role(name, Role::Quasi)?;
    }
    for name in &arguments.keep {
        job.set_role(name, Role::Keep)?;
    }
    flags::set_hierarchies(&mut job, &arguments.hierarchies)?;
    for given in &arguments.types {
        job.column(&given.column).column_type = Some(given.value);
    }
    ResourceFlags::from(std::mem::take(&mut arguments.limits)).apply(&mut job)?;
    Ok(job)
}

fn summary(report: &QueryReport) -> String {
    let has_conditions = report.answers.len() > 1;
    let mut lines: Vec<String> = Vec::new();
    let mut rows: Vec<Vec<String>> = vec![header(report, has_conditions)];
    for (place, answer) in report.answers.iter().enumerate() {
        let mut row = Vec::new();
        if has_conditions {
            row.push((place + 1).to_string());
        }
        if report.group_by.is_some() {
            row.push("(all)".to_owned());
        }
        let QueryAnswer { overlap, estimate, lower, upper, totals, groups, .. } = answer;
        row.extend(figures(*overlap, *estimate, *lower, *upper, totals));
        rows.push(row);
        for group in groups.iter().flatten() {
            let mut row = Vec::new();
            if has_conditions {
                row.push((place + 1).to_string());
            }
            row.push(group.value.clone().unwrap_or_else(|| "(missing)".to_owned()));
            let totals = &group.totals;
            row.extend(figures(group.overlap, group.estimate, group.lower, group.upper, totals));
            rows.push(row);
        }
    }
    lines.extend(render::aligned(&rows));
    if !report.notes.is_empty() {
        lines.push(String::new());
    }
    lines.extend(render::notes(&report.notes));
    lines.join("\n") + "\n"
}

fn header(report: &QueryReport, has_conditions: bool) -> Vec<String> {
    let mut header: Vec<String> = Vec::new();
    header.extend(has_conditions.then(|| "condition".to_owned()));
    header.extend(report.group_by.clone());
    header.extend(["overlap", "estimate", "lower", "upper"].map(str::to_owned));
    let totals = report.answers.first().map(|own| &own.totals);
    for (word, columns) in
        totals.into_iter().flat_map(|own| [("sum", &own.sums), ("avg", &own.means)])
    {
        for name in columns.keys() {
            header.push(format!("{word} {name}"));
            header.push("lower".to_owned());
            header.push("upper".to_owned());
        }
    }
    header
}

fn figures(overlap: u64, estimate: f64, lower: u64, upper: u64, totals: &Totals) -> Vec<String> {
    let mut cells = vec![
        render::count(overlap),
        format!("{estimate:.1}"),
        render::count(lower),
        render::count(upper),
    ];
    for total in totals.sums.values().chain(totals.means.values()) {
        let figure =
            |own: Option<f64>| own.map_or_else(|| "-".to_owned(), |own| format!("{own:.2}"));
        cells.extend([total.estimate, total.lower, total.upper].map(figure));
    }
    cells
}
