//! How far the answers of a release are from the truth, over many queries.
//!
//! Source: Iwuchukwu & Naughton 2007, section 5.4: the error of a query is what the release answers
//! less the truth, by the truth.
//! Departures: besides the mean, which single queries of few rows rule, medians and quantiles are
//! told, by how many of all rows satisfy a query. An error needs a truth: queries that no row
//! satisfies are told apart.
//! Guarantee: nothing is told of fewer than five queries but how many they are.

use serde::Serialize;

use super::{QueryAnswer, QueryKind};

/// Of fewer queries no figures are told.
const LEAST_QUERIES: usize = 5;
/// Where the bins of selectivities end, as shares of the rows.
const BIN_ENDS: [f64; 3] = [0.001, 0.01, 0.1];

/// How well a release answers random queries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredQueries {
    /// Who this is for: `owner`.
    pub audience: &'static str,
    /// What queries ask for: `window` or `point`.
    pub kind: &'static str,
    /// How many queries there are.
    pub queries: u64,
    /// What they were drawn with.
    pub seed: u64,
    /// Rows that the true answers are counted on.
    pub rows: u64,
    /// The attributes of all queries, where they were named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// The queries by their number of predicates, ascending.
    pub by_predicates: Vec<QueryGroup>,
}

/// Queries with one number of predicates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryGroup {
    /// How many attributes a query asks of.
    pub predicates: usize,
    /// Those that some row satisfies.
    pub satisfied: QueryErrors,
    /// The same by the share of the rows that satisfy a query.
    pub by_selectivity: Vec<SelectivityBin>,
    /// Those that no row satisfies.
    pub empty: EmptyQueries,
}

/// Queries that some share of the rows satisfies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelectivityBin {
    /// The least share.
    pub from: f64,
    /// Shares are below this; nothing where they may be all rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
    /// How well they are answered.
    #[serde(flatten)]
    pub errors: QueryErrors,
}

/// Relative errors of queries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryErrors {
    /// How many queries there are.
    pub queries: u64,
    /// The errors of all rows that may satisfy a query; nothing for few queries, as what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Spread>,
    /// The errors of the estimate, without their signs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Spread>,
    /// The mean error of the estimate, with signs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate_bias: Option<f64>,
}

/// How errors are spread. A quantile between two errors lies there in proportion.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// A tenth is below.
    pub p10: f64,
    /// A quarter is below.
    pub p25: f64,
    /// Half is below.
    pub median: f64,
    /// A quarter is above.
    pub p75: f64,
    /// A tenth is above.
    pub p90: f64,
}

/// Queries that no row satisfies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmptyQueries {
    /// How many there are.
    pub queries: u64,
    /// The mean of the rows that may satisfy one; nothing for few queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_overlap: Option<f64>,
    /// The mean of the estimates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_estimate: Option<f64>,
}

impl MeasuredQueries {
    /// Of answers that are counted on so many rows.
    pub(super) fn of(
        kind: QueryKind,
        seed: u64,
        columns: Vec<String>,
        n_rows: u64,
        answers: &[QueryAnswer],
    ) -> MeasuredQueries {
        let mut numbers: Vec<usize> = answers.iter().map(|own| own.n_predicates).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let group = |predicates: usize| {
            let own = answers.iter().filter(|answer| answer.n_predicates == predicates);
            QueryGroup::of(predicates, n_rows, &own.collect::<Vec<_>>())
        };
        MeasuredQueries {
            audience: "owner",
            kind: albers_storage::choice::Choice::name(kind),
            queries: answers.len() as u64,
            seed,
            rows: n_rows,
            columns,
            by_predicates: numbers.into_iter().map(group).collect(),
        }
    }
}

impl QueryGroup {
    fn of(predicates: usize, n_rows: u64, answers: &[&QueryAnswer]) -> QueryGroup {
        let (empty, satisfied): (Vec<&QueryAnswer>, Vec<&QueryAnswer>) =
            answers.iter().copied().partition(|answer| answer.truth == 0);
        let share = |answer: &QueryAnswer| answer.truth as f64 / n_rows as f64;
        let starts = std::iter::once(0.0).chain(BIN_ENDS);
        let ends = BIN_ENDS.into_iter().map(Some).chain([None]);
        let bins = starts.zip(ends).map(|(from, below)| {
            let is_in = |answer: &QueryAnswer| {
                share(answer) >= from && below.is_none_or(|end| share(answer) < end)
            };
            let own: Vec<&QueryAnswer> =
                satisfied.iter().copied().filter(|answer| is_in(answer)).collect();
            SelectivityBin { from, below, errors: QueryErrors::of(&own) }
        });
        QueryGroup {
            predicates,
            by_selectivity: bins.collect(),
            satisfied: QueryErrors::of(&satisfied),
            empty: EmptyQueries::of(&empty),
        }
    }
}

impl QueryErrors {
    fn of(answers: &[&QueryAnswer]) -> QueryErrors {
        let queries = answers.len() as u64;
        if answers.len() < LEAST_QUERIES {
            return QueryErrors { queries, overlap: None, estimate: None, estimate_bias: None };
        }
        let of_estimate = answers.iter().map(|answer| answer.estimate_error());
        QueryErrors {
            queries,
            overlap: Some(Spread::of(answers.iter().map(|answer| answer.overlap_error()))),
            estimate: Some(Spread::of(of_estimate.clone().map(f64::abs))),
            estimate_bias: Some(mean(&of_estimate.collect::<Vec<_>>())),
        }
    }
}

impl Spread {
    /// Of one error or more.
    fn of(errors: impl Iterator<Item = f64>) -> Spread {
        let mut sorted: Vec<f64> = errors.collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * (sorted.len() - 1) as f64;
            let (below, rest) = (place.floor() as usize, place.fract());
            let above = (below + 1).min(sorted.len() - 1);
            sorted[below] + rest * (sorted[above] - sorted[below])
        };
        Spread {
            mean: mean(&sorted),
            p10: at(0.10),
            p25: at(0.25),
            median: at(0.50),
            p75: at(0.75),
            p90: at(0.90),
        }
    }
}

impl EmptyQueries {
    fn of(answers: &[&QueryAnswer]) -> EmptyQueries {
        let is_told = answers.len() >= LEAST_QUERIES;
        let mean_of = |of: &dyn Fn(&QueryAnswer) -> f64| {
            is_told.then(|| mean(&answers.iter().map(|answer| of(answer)).collect::<Vec<_>>()))
        };
        EmptyQueries {
            queries: answers.len() as u64,
            mean_overlap: mean_of(&|answer| answer.overlap as f64),
            mean_estimate: mean_of(&|answer| answer.estimate),
        }
    }
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}
