//! The random queries of `albers measure`: its flags, and what is printed of them.

use albers::measure::queries::{QueryErrors, QueryGroup, SelectivityBin, Spread};
use albers::{MeasuredQueries, Predicates, QueryKind, QueryWorkload};
use clap::Args;

use crate::flags;
use crate::plain;
use crate::render;

/// The random queries that a release is asked.
#[derive(Args)]
pub struct QueryFlags {
    /// Ask the release so many random queries of the original, and tell how far its answers are
    /// from the true ones: for the owner alone
    #[arg(long, value_name = "N", value_parser = plain::whole::<usize>)]
    queries: Option<usize>,
    /// What each asks for; window when not given
    #[arg(long, value_parser = flags::choice::<QueryKind>(), requires = "queries")]
    query_kind: Option<QueryKind>,
    /// Of how many columns each asks, 2 or 1..3 (in turn) or 1.. (up to all), drawn for each; or of
    /// which, by their names; of all quasi-identifiers when not given
    #[arg(long, value_name = "NUMBERS|COLUMNS", requires = "queries")]
    predicates: Option<Predicates>,
    /// Decides which queries are drawn; 0 when not given
    #[arg(long, value_name = "N", requires = "queries", value_parser = plain::whole::<u64>)]
    seed: Option<u64>,
}

impl QueryFlags {
    /// What is asked, if anything.
    pub fn workload(self) -> Option<QueryWorkload> {
        Some(QueryWorkload {
            n_queries: self.queries?,
            kind: self.query_kind.unwrap_or_default(),
            predicates: self.predicates.unwrap_or_default(),
            seed: self.seed.unwrap_or(0),
        })
    }
}

/// How errors stand in columns.
const HEADINGS: [&str; 6] = ["mean", "10 %", "25 %", "median", "75 %", "90 %"];

/// What is told of queries.
pub fn lines(queries: &MeasuredQueries) -> Vec<String> {
    let on = match queries.columns.is_empty() {
        true => String::new(),
        false => format!(" on {}", queries.columns.join(", ")),
    };
    let mut lines = vec![
        String::new(),
        format!(
            "{} {} queries{on}, seed {}: relative errors beside {} rows (for the owner alone)",
            render::count(queries.queries),
            queries.kind,
            queries.seed,
            render::count(queries.rows),
        ),
        format!(
            "  {:<24}{:>9} {:<9}{}",
            "rows that satisfy one",
            "queries",
            "",
            HEADINGS.map(|heading| format!("{heading:>9}")).concat()
        ),
    ];
    for group in &queries.by_predicates {
        lines.extend(group_lines(group));
    }
    lines
}

fn group_lines(group: &QueryGroup) -> Vec<String> {
    let noun = if group.predicates == 1 { "predicate" } else { "predicates" };
    let mut lines = vec![format!("  {} {noun}", group.predicates)];
    lines.extend(error_lines("all", &group.satisfied));
    for bin in group.by_selectivity.iter().filter(|bin| bin.errors.queries > 0) {
        lines.extend(error_lines(&bin_words(bin), &bin.errors));
    }
    if group.empty.queries > 0 {
        let means = match (group.empty.mean_overlap, group.empty.mean_estimate) {
            (Some(overlap), Some(estimate)) => {
                format!(" mean overlap {overlap:.1}, mean estimate {estimate:.1}")
            }
            _ => " too few for figures".to_owned(),
        };
        let n_queries = render::count(group.empty.queries);
        lines.push(format!("    {:<22}{n_queries:>9}{means}", "none"));
    }
    lines
}

fn bin_words(bin: &SelectivityBin) -> String {
    match bin.below {
        Some(below) if bin.from == 0.0 => format!("below {} %", percent(below)),
        Some(below) => format!("{} to {} %", percent(bin.from), percent(below)),
        None => format!("{} % and more", percent(bin.from)),
    }
}

fn percent(share: f64) -> String {
    format!("{}", (share * 1e5).round() / 1e3)
}

fn error_lines(words: &str, errors: &QueryErrors) -> Vec<String> {
    let n_queries = render::count(errors.queries);
    let (Some(overlap), Some(estimate)) = (&errors.overlap, &errors.estimate) else {
        return vec![format!("    {words:<22}{n_queries:>9} too few for figures")];
    };
    let figures = |spread: &Spread| {
        let Spread { mean, p10, p25, median, p75, p90 } = spread;
        [mean, p10, p25, median, p75, p90].map(|figure| format!("{figure:>9.3}")).concat()
    };
    let bias = errors.estimate_bias.unwrap_or_default();
    vec![
        format!("    {words:<22}{n_queries:>9} {:<9}{}", "overlap", figures(overlap)),
        format!("    {:<22}{:>9} {:<9}{}  bias {bias:+.3}", "", "", "estimate", figures(estimate)),
    ]
}
