//! The experiments of the papers, repeated on made-up tables.
//!
//! ```text
//!   generate ──► source ──► anonymize, once per policy ──► batches ──► metrics ──► lines, verdict
//! ```
//!
//! An experiment has a name, a source, the paper's claim in a sentence, and a seed. It gives a
//! figure and says whether the claim holds here. A claim that does not hold is a result, not an
//! error.
//!
//! - [`all`]: the list. To add one, write a function from `Setting` to `Outcome` and enter it
//!   there.
//! - `policies`: the split policies that are compared; a new one is one entry.
//! - `class_size`, `diversity`, `imprecision`: LeFevre et al. 2008, figures 8, 11 and 12.
//! - `external_cost`, `sample_size`, `pruning`: LeFevre et al. 2008, figures 18 and 22 to 24.
//! - `nested_boxes`, `nested_queries`: Anjum & Raschia 2017, figures 9 to 11, 12 and 13.
//! - `build_cost`: Iwuchukwu & Naughton 2007, figures 7(a) and 9.
//! - `larger_tables`, `quality`, `query_error`: Iwuchukwu & Naughton 2007, figures 8, 10 and 12.
//! - `incremental`: Iwuchukwu & Naughton 2007, figures 7(b) and 11.
//! - `search_cost`: LeFevre et al. 2005, figures 10 to 12.
//! - `sales`: the table of Iwuchukwu & Naughton 2007, ordered.
//! - `trial`: a made-up table, what is asked of it, and what is published.
//! - `metrics`: what is measured on published rows alone.
//!
//! Source: named by each experiment.
//! Departures: tables are generated, so that anybody can repeat an experiment without data of
//! others; where a paper averages over folds of one table, the mean is over tables of several
//! seeds. No learner is trained.
//! Guarantee: figures follow from name and scale, to the last byte.
//! Cost: one table and one release in memory at a time; seconds at small scale.

mod build_cost;
mod class_size;
mod diversity;
mod external_cost;
mod imprecision;
mod incremental;
mod larger_tables;
mod metrics;
mod nested_boxes;
mod nested_queries;
mod policies;
mod pruning;
mod quality;
mod query_error;
mod sales;
mod sample_size;
mod search_cost;
mod trial;

use serde::{Serialize, Serializer};

use crate::chart::{Chart, Figure, Series};
use crate::error::{Error, Result};

/// How large the tables are and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExperimentScale {
    /// Seconds.
    #[default]
    Small,
    /// As in the papers, minutes.
    Full,
}

albers_storage::choices!(ExperimentScale {
    Small: "small", "Small tables and few of them: seconds";
    Full: "full", "Tables as large and as many as in the papers: minutes";
});

/// An experiment of a paper.
pub struct Experiment {
    /// What it is called.
    pub name: &'static str,
    /// Paper and figure.
    pub source: &'static str,
    /// What the paper says, in a sentence.
    pub claim: &'static str,
    /// What all its random numbers follow from.
    pub seed: u64,
    run: fn(&Setting) -> Result<Outcome>,
}

/// What an experiment is given.
struct Setting {
    scale: ExperimentScale,
    seed: u64,
}

impl Setting {
    /// One of two sizes.
    fn pick<T>(&self, small: T, full: T) -> T {
        match self.scale {
            ExperimentScale::Small => small,
            ExperimentScale::Full => full,
        }
    }
}

/// What an experiment comes to.
struct Outcome {
    title: String,
    panels: Vec<Chart>,
    /// Whether the claim holds.
    holds: bool,
    /// What was found, with figures, in a sentence.
    found: String,
}

/// What an experiment tells.
#[derive(Debug, Clone, Serialize)]
pub struct ExperimentReport {
    /// What it is called.
    pub name: &'static str,
    /// Paper and figure.
    pub source: &'static str,
    /// What the paper says.
    pub claim: &'static str,
    /// How large the tables were.
    #[serde(serialize_with = "as_word")]
    pub scale: ExperimentScale,
    /// What all random numbers followed from.
    pub seed: u64,
    /// Whether the claim holds.
    pub holds: bool,
    /// What was found, with figures.
    pub found: String,
    /// The points of all lines, below the names of their columns.
    #[serde(skip)]
    pub rows: Vec<Vec<String>>,
    /// The figure.
    #[serde(skip)]
    pub figure: Figure,
}

fn as_word<S: Serializer>(scale: &ExperimentScale, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(scale)
}

/// Every experiment, in the order in which they run.
pub fn all() -> &'static [Experiment] {
    &[
        class_size::EXPERIMENT,
        diversity::EXPERIMENT,
        imprecision::EXPERIMENT,
        external_cost::EXPERIMENT,
        sample_size::EXPERIMENT,
        pruning::EXPERIMENT,
        nested_boxes::EXPERIMENT,
        nested_queries::POINTS,
        nested_queries::WINDOWS,
        build_cost::BY_K,
        incremental::COST,
        larger_tables::BY_ROWS,
        larger_tables::BY_MEMORY,
        build_cost::COMPACTION,
        quality::EXPERIMENT,
        incremental::QUALITY,
        query_error::BY_K,
        query_error::BY_SELECTIVITY,
        query_error::BIAS_BY_K,
        query_error::BIAS_BY_SELECTIVITY,
        search_cost::BY_COLUMNS,
        search_cost::BY_K,
        search_cost::CUBE,
    ]
}

/// The experiments of some names, in the order of the list; `all` is the name of all.
pub fn named(names: &[String]) -> Result<Vec<&'static Experiment>> {
    for name in names {
        if name != "all" && all().iter().all(|experiment| experiment.name != name) {
            let known: Vec<&str> = all().iter().map(|experiment| experiment.name).collect();
            return Err(Error::usage(
                format!("there is no experiment '{name}'"),
                format!("use all, or one of {}", known.join(", ")),
            ));
        }
    }
    let is_asked = |own: &str| names.iter().any(|name| name == "all" || name == own);
    Ok(all().iter().filter(|experiment| is_asked(experiment.name)).collect())
}

/// Runs an experiment.
pub fn experiment(experiment: &Experiment, scale: ExperimentScale) -> Result<ExperimentReport> {
    let &Experiment { name, source, claim, seed, run } = experiment;
    let Outcome { title, panels, holds, found } = run(&Setting { scale, seed })?;
    let word = if holds { "holds" } else { "does not hold" };
    let note = format!("{source}, on made-up tables. {claim} This {word} here: {found}");
    let rows = rows_of(&panels);
    let figure = Figure { title, note, panels };
    Ok(ExperimentReport { name, source, claim, scale, seed, holds, found, rows, figure })
}

/// The points of all lines, one row each.
fn rows_of(panels: &[Chart]) -> Vec<Vec<String>> {
    let header = ["panel", "series", "x_name", "x", "y_name", "y"].map(str::to_owned);
    let mut rows = vec![header.to_vec()];
    for Chart { title, x, y, series } in panels {
        for Series { name, points, .. } in series {
            rows.extend(points.iter().map(|(at, value)| {
                let (at, value) = (at.to_string(), value.to_string());
                vec![title.clone(), name.clone(), x.name.clone(), at, y.name.clone(), value]
            }));
        }
    }
    rows
}

/// One line per name for each of `N` measures: the mean over the trials at every x.
fn lines<const N: usize>(
    names: &[&str],
    xs: &[f64],
    n_trials: usize,
    measure: impl Fn(usize, f64, usize) -> Result<[f64; N]>,
) -> Result<[Vec<Series>; N]> {
    let mut panels: [Vec<Series>; N] = std::array::from_fn(|_| Vec::new());
    for (at, name) in names.iter().enumerate() {
        for panel in &mut panels {
            panel.push(Series::new(name, Vec::new()));
        }
        for &x in xs {
            let mut sums = [0.0; N];
            for trial in 0..n_trials {
                for (sum, value) in sums.iter_mut().zip(measure(at, x, trial)?) {
                    *sum += value;
                }
            }
            for (panel, sum) in panels.iter_mut().zip(sums) {
                panel[at].points.push((x, sum / n_trials as f64));
            }
        }
    }
    Ok(panels)
}

/// Whether a line goes up, or at least never down.
fn never_falls(series: &Series) -> bool {
    series.points.windows(2).all(|pair| pair[0].1 <= pair[1].1)
}

#[cfg(test)]
mod tests;
