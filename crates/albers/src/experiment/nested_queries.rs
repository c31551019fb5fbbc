//! How far answers of nested boxes are from the truth, beside boxes side by side, by how many
//! columns are asked for.
//!
//! Source: Anjum & Raschia 2017, section 5.4 and figures 12 and 13.
//! Departures: the paper tells neither k, nor how points and the columns of a query are drawn: k is
//! 5 and 100, points are random records, windows lie between two of them, and columns are random
//! ones. All columns are ordered, names by their ranks, so that both indexes see the same codes;
//! both are built for k = 5. Nested classes are counted where their box without the boxes inside it
//! meets a query, which is the innermost one for a point; classes of a dendrogram where their boxes
//! do. Beside the mean, which few rare values decide, stands the median. The seven columns are
//! ours.
//! Guarantee: all releases are asked the same queries.

use albers_generate::{Kind, Options};
use albers_index::granularity::Granularity;
use albers_storage::watch::Silent;
use albers_table::schema::{ColumnType, Role};

use super::trial::{Rows, Table};
use super::{Experiment, Outcome, Setting};
use crate::chart::axis::figure;
use crate::chart::{Axis, Chart, Series};
use crate::error::Result;
use crate::job::{Job, Method};
use crate::measure::queries::{Predicates, QueryAnswer, QueryKind, QueryWorkload};
use crate::measure::query_answers;

pub(super) const POINTS: Experiment = Experiment {
    name: "point-query-error",
    source: "Anjum and Raschia 2017, figure 12",
    claim: "Errors of point queries fall the more columns they ask for, and are smaller for a BANG \
            file than for an R+-tree whatever the number of columns.",
    seed: 130,
    run: |setting| run(setting, QueryKind::Point),
};

pub(super) const WINDOWS: Experiment = Experiment {
    name: "window-query-error",
    source: "Anjum and Raschia 2017, figure 13",
    claim: "Errors of window queries fall the more columns they ask for, and are smaller for a \
            BANG file than for an R+-tree whatever the number of columns.",
    seed: 131,
    run: |setting| run(setting, QueryKind::Window),
};

const QUASI: [&str; 7] = [
    "gender",
    "birth-date",
    "postal-code",
    "income",
    "household-size",
    "profession",
    "marital-status",
];
const NAMES: [&str; 4] = ["gender", "postal-code", "profession", "marital-status"];

const BASE_K: u64 = 5;
const COARSE_K: u64 = 100;

/// An index, and how its leaves are brought together.
struct Contender {
    name: &'static str,
    method: Method,
    granularity: Granularity,
}

/// How many of the contenders are R+-trees.
const N_TREES: usize = 2;

const CONTENDERS: [Contender; 4] = [
    Contender {
        name: "rtree, leaf-scan",
        method: Method::Rtree,
        granularity: Granularity::LeafScan,
    },
    Contender { name: "rtree, cut", method: Method::Rtree, granularity: Granularity::Cut },
    Contender { name: "bang, nested", method: Method::Bang, granularity: Granularity::Nested },
    Contender {
        name: "bang, dendrogram",
        method: Method::Bang,
        granularity: Granularity::Dendrogram,
    },
];

/// What a release is asked, and where the answers go.
struct Asked {
    table: Table,
    job: Job,
    workload: QueryWorkload,
}

impl Asked {
    fn of(setting: &Setting, kind: QueryKind) -> Result<Asked> {
        let n_rows = setting.pick(3_000, 1_000_000);
        let per_number = setting.pick(60, 300);
        let table = Table::generate(Kind::Customer, n_rows, setting.seed, &Options::default())?;
        let table = table.ranked(&NAMES);
        let mut job = table.job(BASE_K, &[])?;
        for name in QUASI {
            job.set_role(name, Role::Quasi)?;
        }
        for name in NAMES {
            job.column(name).column_type = Some(ColumnType::Integer);
        }
        let predicates = Predicates::Numbers { least: 1, most: Some(QUASI.len()) };
        let n_queries = per_number * QUASI.len();
        let workload = QueryWorkload { n_queries, kind, predicates, seed: setting.seed };
        Ok(Asked { table, job, workload })
    }

    /// The releases of an index for both k.
    fn releases(&self, contender: &Contender) -> Result<Vec<Rows>> {
        let mut job = Job { method: Some(contender.method), ..self.job.clone() };
        (job.also_k, job.granularity) = (vec![COARSE_K], Some(contender.granularity));
        self.table.releases(&job)
    }

    /// The mean and the median error of a release, by the number of columns.
    fn errors(&self, published: &Rows) -> Result<[Vec<(f64, f64)>; 2]> {
        let (original, release) = (self.table.source()?, published.source()?);
        let answers = query_answers(&self.job, &original, &release, None, &self.workload, &Silent)?;
        let mut points: [Vec<(f64, f64)>; 2] = Default::default();
        for n_columns in 1..=QUASI.len() {
            let own = answers.each.iter().filter(|own| own.n_predicates == n_columns);
            let [mean, median] = middles(own.map(QueryAnswer::overlap_error).collect());
            points[0].push((n_columns as f64, mean));
            points[1].push((n_columns as f64, median));
        }
        Ok(points)
    }
}

/// The mean and the median of some errors.
fn middles(mut errors: Vec<f64>) -> [f64; 2] {
    errors.sort_by(f64::total_cmp);
    let (n, half) = (errors.len(), errors.len() / 2);
    let median = match n % 2 {
        _ if n == 0 => f64::NAN,
        1 => errors[half],
        _ => f64::midpoint(errors[half - 1], errors[half]),
    };
    [errors.iter().sum::<f64>() / n as f64, median]
}

fn run(setting: &Setting, kind: QueryKind) -> Result<Outcome> {
    let asked = Asked::of(setting, kind)?;
    // By k, and by mean and median.
    let mut series: [[Vec<Series>; 2]; 2] = Default::default();
    for contender in &CONTENDERS {
        for (of_k, published) in series.iter_mut().zip(asked.releases(contender)?) {
            for (lines, points) in of_k.iter_mut().zip(asked.errors(&published)?) {
                lines.push(Series::new(contender.name, points));
            }
        }
    }
    let (mut panels, mut found, mut holds) = (Vec::new(), Vec::new(), true);
    for (k, of_k) in [BASE_K, COARSE_K].into_iter().zip(series) {
        let (own_holds, own_found) = verdict(&of_k[0], k);
        holds &= own_holds;
        found.push(own_found);
        for (word, lines) in ["mean", "median"].iter().zip(of_k) {
            panels.push(Chart {
                title: format!("k = {k}, {word}"),
                x: Axis::linear("columns asked for"),
                y: Axis::linear(&format!("{word} relative error")),
                series: lines,
            });
        }
    }
    let title = match kind {
        QueryKind::Point => "How far point queries are from the truth".to_owned(),
        QueryKind::Window => "How far window queries are from the truth".to_owned(),
    };
    Ok(Outcome { title, panels, holds, found: found.join("; ") + "." })
}

/// Whether mean errors fall with the number of columns, and those of the best BANG file are below
/// those of the best tree.
fn verdict(lines: &[Series], k: u64) -> (bool, String) {
    let n_falling =
        lines.iter().filter(|own| own.points.windows(2).all(|pair| pair[1].1 <= pair[0].1));
    let n_falling = n_falling.count();
    let least = |lines: &[Series], at: usize| {
        lines.iter().map(|own| own.points[at].1).fold(f64::INFINITY, f64::min)
    };
    let (trees, bangs) = lines.split_at(N_TREES);
    let n_below = (0..QUASI.len()).filter(|&at| least(bangs, at) < least(trees, at)).count();
    let ends =
        |lines: &[Series]| [0, QUASI.len() - 1].map(|at| figure(least(lines, at))).join(" and ");
    let found = format!(
        "at k = {k} mean errors fall with every column in {n_falling} of {} lines, and the best of \
         bang is below the best of rtree for {n_below} of {} numbers of columns (for 1 and {}: {} \
         against {})",
        lines.len(),
        QUASI.len(),
        QUASI.len(),
        ends(bangs),
        ends(trees)
    );
    (n_falling == lines.len() && n_below == QUASI.len(), found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(middles(vec![9.0, 1.0, 2.0, 4.0]), [4.0, 3.0]);
        assert_eq!(middles(vec![5.0, 1.0, 0.0]), [2.0, 1.0]);
    }
}
