//! How far answers of a release are from the truth: queries between two records, by k and by how
//! many rows satisfy them; queries of one column that an index was biased to, and that it was not.
//!
//! ```text
//!   two records ──► a window ──┬──► rows of the original inside it: 12
//!                              └──► rows of the release whose cells meet it: 30 ──► error 1.5
//! ```
//!
//! Source: Iwuchukwu & Naughton 2007, section 5.4 and figures 12(a) to 12(d).
//! Departures: the table is made up and smaller. Selectivities are taken together by powers of ten,
//! where at least [`LEAST_QUERIES`] queries have one. The k of figures 12(b) and 12(d), which the
//! text does not tell, is 10. The paper's index is built for k = 5 and its leaves brought together
//! for other k; one that is built for each k stands beside it.
//! Guarantee: all releases are asked the same queries, and a row is counted where its cells meet a
//! query, as in the paper.

use albers_storage::watch::Silent;

use super::sales::{self, Contender, FEW_KS, KS};
use super::trial::{Rows, Table};
use super::{Experiment, Outcome, Setting};
use crate::chart::axis::figure;
use crate::chart::{Axis, Chart, Series};
use crate::error::Result;
use crate::job::{Job, Method};
use crate::measure::queries::{Predicates, QueryAnswer, QueryKind, QueryWorkload};
use crate::measure::query_answers;

pub(super) const BY_K: Experiment = Experiment {
    name: "query-error-by-k",
    source: "Iwuchukwu and Naughton 2007, figure 12(a)",
    claim: "Random queries of all columns are answered with smaller errors where Mondrian shows \
            bounds instead of regions, and with still smaller ones by an index, at every k.",
    seed: 120,
    run: run_by_k,
};

pub(super) const BY_SELECTIVITY: Experiment = Experiment {
    name: "query-error-by-selectivity",
    source: "Iwuchukwu and Naughton 2007, figure 12(b)",
    claim: "The more rows satisfy a query the smaller its error, and the less it matters how the \
            table was anonymized.",
    seed: 121,
    run: run_by_selectivity,
};

pub(super) const BIAS_BY_K: Experiment = Experiment {
    name: "bias-by-k",
    source: "Iwuchukwu and Naughton 2007, figure 12(c)",
    claim: "Queries of one column are answered with significantly smaller errors by an index that \
            cuts it before all others, at every k.",
    seed: 122,
    run: run_bias_by_k,
};

pub(super) const BIAS_BY_SELECTIVITY: Experiment = Experiment {
    name: "bias-by-selectivity",
    source: "Iwuchukwu and Naughton 2007, figure 12(d)",
    claim: "The biased index has the smaller errors whatever the selectivity, and the difference \
            diminishes as more rows satisfy a query.",
    seed: 123,
    run: run_bias_by_selectivity,
};

/// The k at which selectivities are told apart.
const SELECTIVITY_K: u64 = 10;
/// Queries of one power of ten from which on their mean error is told.
const LEAST_QUERIES: usize = 5;
/// The column that an index is biased to.
const BIASED: &str = "zipcode";
/// What is significantly smaller is at most this share.
const SIGNIFICANT: f64 = 0.5;

/// A table, and what its releases are asked.
struct Asked {
    table: Table,
    n_rows: usize,
    job: Job,
    workload: QueryWorkload,
}

impl Asked {
    fn of(setting: &Setting, predicates: Predicates) -> Result<Asked> {
        let n_rows = setting.pick(4_000, 1_000_000);
        let n_queries = setting.pick(300, 1_000);
        let table = sales::sales(n_rows, setting.seed)?;
        let job = sales::job(&table, 1)?;
        let workload =
            QueryWorkload { n_queries, kind: QueryKind::Window, predicates, seed: setting.seed };
        Ok(Asked { table, n_rows: n_rows as usize, job, workload })
    }

    /// What all queries of a release come to.
    fn answers(&self, published: &Rows) -> Result<Vec<QueryAnswer>> {
        let (original, release) = (self.table.source()?, published.source()?);
        Ok(query_answers(&self.job, &original, &release, None, &self.workload, &Silent)?.each)
    }

    /// The mean error at each k.
    fn by_k(
        &self,
        name: &str,
        ks: &[u64],
        release: impl Fn(&Table, u64) -> Result<Rows>,
    ) -> Result<Series> {
        let point = |&k: &u64| {
            let answers = self.answers(&release(&self.table, k)?)?;
            Ok((k as f64, mean_error(&answers)))
        };
        Ok(Series::new(name, ks.iter().map(point).collect::<Result<_>>()?))
    }

    /// The mean error of queries of each power of ten of selectivity.
    fn by_selectivity(
        &self,
        name: &str,
        release: impl Fn(&Table, u64) -> Result<Rows>,
    ) -> Result<Series> {
        let answers = self.answers(&release(&self.table, SELECTIVITY_K)?)?;
        Ok(Series::new(name, by_power_of_ten(&answers, self.n_rows)))
    }
}

/// The mean of how far answers are from the truth, by the truth.
fn mean_error(answers: &[QueryAnswer]) -> f64 {
    let errors = answers.iter().map(QueryAnswer::overlap_error);
    errors.sum::<f64>() / answers.len().max(1) as f64
}

/// The mean error of queries by the power of ten that their share of the rows begins with.
fn by_power_of_ten(answers: &[QueryAnswer], n_rows: usize) -> Vec<(f64, f64)> {
    const POWERS: std::ops::RangeInclusive<i32> = -7..=-1;
    let of_power = |power: i32| {
        let from = 10f64.powi(power);
        let is_inside = |own: &&QueryAnswer| {
            let share = own.truth as f64 / n_rows as f64;
            from <= share && (share < 10.0 * from || power == *POWERS.end())
        };
        let own: Vec<QueryAnswer> = answers.iter().filter(is_inside).copied().collect();
        (own.len() >= LEAST_QUERIES).then(|| (from, mean_error(&own)))
    };
    POWERS.filter_map(of_power).collect()
}

/// An index that is biased, or is not.
fn biased(table: &Table, k: u64, is_biased: bool) -> Result<Rows> {
    let mut job = Job { method: Some(Method::Rtree), ..sales::job(table, k)? };
    job.column(BIASED).bias = is_biased.then_some(true);
    table.release(&job)
}

fn chart(title: &str, x: Axis, series: Vec<Series>) -> Chart {
    Chart { title: title.to_owned(), x, y: Axis::log("mean relative error"), series }
}

/// At how many points one line is below another.
fn n_below(one: &Series, other: &Series) -> usize {
    one.points.iter().zip(&other.points).filter(|(own, its)| own.1 < its.1).count()
}

/// Whether a line goes down, or at least never up.
fn never_rises(series: &Series) -> bool {
    series.points.windows(2).all(|pair| pair[1].1 <= pair[0].1)
}

/// How far the greatest of some lines is above the least at one point.
fn spread(series: &[Series], at: usize) -> f64 {
    let values = || series.iter().map(|own| own.points[at].1);
    values().fold(0.0, f64::max) - values().fold(f64::MAX, f64::min)
}

fn run_by_k(setting: &Setting) -> Result<Outcome> {
    let asked = Asked::of(setting, Predicates::All)?;
    let ks = setting.pick(&FEW_KS[..], &KS);
    let line = |own: &Contender| asked.by_k(own.name(), ks, |table, k| own.release(table, k));
    let series: Vec<Series> = Contender::ALL.iter().map(line).collect::<Result<_>>()?;
    let [scan, built, regions, bounds] = &series[..] else { unreachable!("one line for each") };
    let n_ks = ks.len();
    let below = [n_below(bounds, regions), n_below(scan, bounds), n_below(built, bounds)];
    let at_k = |own: &Series, at: usize| figure(own.points[at].1);
    let found = format!(
        "bounds are below regions at {} of {n_ks} k, and the index below Mondrian with bounds at \
         {}, built for each k at {}; at k = {} the mean errors of regions, bounds, the index and \
         one built for k are {}, {}, {} and {}.",
        below[0],
        below[1],
        below[2],
        ks[1],
        at_k(regions, 1),
        at_k(bounds, 1),
        at_k(scan, 1),
        at_k(built, 1)
    );
    let holds = below[0] == n_ks && below[1] == n_ks;
    let panels = vec![chart("all columns", Axis::log("k"), series)];
    let title = "How far queries of a release are from the truth, by k".to_owned();
    Ok(Outcome { title, panels, holds, found })
}

fn run_by_selectivity(setting: &Setting) -> Result<Outcome> {
    let asked = Asked::of(setting, Predicates::All)?;
    let line = |own: &Contender| asked.by_selectivity(own.name(), |table, k| own.release(table, k));
    let series: Vec<Series> = Contender::ALL.iter().map(line).collect::<Result<_>>()?;
    let (holds, found) = selectivity_verdict(&series);
    let panels = vec![chart("all columns", Axis::log(SHARE), series)];
    let title = "How far queries are from the truth, by how many rows satisfy them".to_owned();
    Ok(Outcome { title, panels, holds, found })
}

const SHARE: &str = "share of the rows that satisfy a query, from";

/// Whether all lines fall and come closer to each other.
fn selectivity_verdict(series: &[Series]) -> (bool, String) {
    let last = series[0].points.len() - 1;
    let falling = series.iter().filter(|own| never_rises(own)).count();
    let (first_spread, last_spread) = (spread(series, 0), spread(series, last));
    let found = format!(
        "errors fall from one power of ten to the next in {falling} of {} lines, and differ by up \
         to {} where shares are least, from {} on, and by {} where they are greatest, from {} on.",
        series.len(),
        figure(first_spread),
        figure(series[0].points[0].0),
        figure(last_spread),
        figure(series[0].points[last].0)
    );
    (falling == series.len() && last > 0 && last_spread < first_spread, found)
}

fn run_bias_by_k(setting: &Setting) -> Result<Outcome> {
    let asked = Asked::of(setting, Predicates::Columns(vec![BIASED.to_owned()]))?;
    let ks = setting.pick(&FEW_KS[..], &KS);
    let series = vec![
        asked.by_k("index", ks, |table, k| biased(table, k, false))?,
        asked.by_k("index, biased", ks, |table, k| biased(table, k, true))?,
    ];
    let pairs = series[1].points.iter().zip(&series[0].points);
    let ratios: Vec<f64> = pairs.map(|(own, other)| own.1 / other.1).collect();
    let (least, most) =
        ratios.iter().fold((f64::MAX, 0.0f64), |(lo, hi), &own| (lo.min(own), hi.max(own)));
    let found = format!(
        "the mean errors of the biased index are {} to {} times those of the other.",
        figure(least),
        figure(most)
    );
    let panels = vec![chart(BIASED, Axis::log("k"), series)];
    let title = "How far queries of one column are from the truth, by k".to_owned();
    Ok(Outcome { title, panels, holds: most <= SIGNIFICANT, found })
}

fn run_bias_by_selectivity(setting: &Setting) -> Result<Outcome> {
    let asked = Asked::of(setting, Predicates::Columns(vec![BIASED.to_owned()]))?;
    let series = vec![
        asked.by_selectivity("index", |table, k| biased(table, k, false))?,
        asked.by_selectivity("index, biased", |table, k| biased(table, k, true))?,
    ];
    let n_points = series[0].points.len();
    let below = n_below(&series[1], &series[0]);
    let last = n_points - 1;
    let found = format!(
        "the biased index has the smaller error at {below} of {n_points} powers of ten, by {} from \
         a share of {} on and by {} from {} on.",
        figure(spread(&series, 0)),
        figure(series[0].points[0].0),
        figure(spread(&series, last)),
        figure(series[0].points[last].0)
    );
    let holds = below == n_points && last > 0 && spread(&series, last) < spread(&series, 0);
    let panels = vec![chart(BIASED, Axis::log(SHARE), series)];
    let title = "How far queries of one column are from the truth, by selectivity".to_owned();
    Ok(Outcome { title, panels, holds, found })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(truth: u64, overlap: u64) -> QueryAnswer {
        QueryAnswer { n_predicates: 1, truth, overlap, estimate: 0.0 }
    }

    #[test]
    fn errors_are_taken_together_by_powers_of_ten_where_there_are_enough() {
        let few = [answer(1, 100); LEAST_QUERIES - 1];
        let some = [answer(10, 20); LEAST_QUERIES];
        let whole = [answer(999, 999), answer(1_000, 2_000), answer(500, 500), answer(100, 300)];
        let all = [&few[..], &some[..], &whole[..], &[answer(200, 600)]].concat();
        let points = by_power_of_ten(&all, 1_000);
        assert_eq!(
            points,
            [(0.01, 1.0), (0.1, 1.0)],
            "0 + 1 + 0 + 2 + 2 of five, and no thousandth"
        );
    }
}
