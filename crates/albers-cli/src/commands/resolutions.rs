//! What the resolutions of a grid come to: `albers anonymize --method grid` without a k.

use std::process::ExitCode;

use albers::{Job, ResolutionsReport, files};
use anyhow::Result;

use crate::progress::Bar;
use crate::render;

/// Tells it. Nothing is published.
pub fn tell(job: &Job, json: bool) -> Result<ExitCode> {
    let source = files::open_input(job)?;
    let report = {
        let bar = Bar::new();
        albers::resolutions(job, source.as_ref(), &bar)?
    };
    match json {
        true => render::print_json(&report)?,
        false => render::print(&summary(&report))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn summary(report: &ResolutionsReport) -> String {
    let mut lines = vec![
        format!(
            "{} rows; the k in {} that each resolution of the grid reaches, for the owner of the table",
            render::count(report.rows),
            report.k_counts
        ),
        "ranges and cells are those that hold rows; nothing is published without -k".to_owned(),
        String::new(),
    ];
    lines.extend(table(report));
    lines.join("\n") + "\n"
}

/// The resolutions, one line each, below the names of what they show.
fn table(report: &ResolutionsReport) -> Vec<String> {
    let names = report.columns.iter().cloned();
    let head = ["halvings".to_owned()].into_iter().chain(names);
    let mut rows: Vec<Vec<String>> =
        vec![head.chain(["cells".to_owned(), "k".to_owned()]).collect()];
    for own in &report.resolutions {
        let ranges = report.columns.iter().map(|name| render::count(own.ranges[name]));
        let first = [own.halvings.to_string()].into_iter().chain(ranges);
        rows.push(first.chain([render::count(own.cells), render::count(own.k)]).collect());
    }
    render::aligned(&rows)
}
