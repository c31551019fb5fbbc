//! Splits of sampled trees that were undone, with tests and without, by the size of the sample.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 6.6 and figure 24.
//! Departures: what is counted are splits that were undone. Where a sample supports no cut of a part,
//! or all of them were undone, the paper stops and marks the figure by an x; here the part is divided
//! without a test, and such parts are counted beside: a figure has an x where there are any, and has no
//! part in the sums. Parts of no more rows than a sample has are cut at once, as in the paper, where
//! both fill the memory. The number of rows is tested exactly. The normal salary has the mean of the
//! uniform one.

use albers_generate::{Kind, Options, Salary};
use albers_partition::trust::Test;
use albers_privacy::Criterion;
use albers_table::schema::Role;

use super::imprecision::AGRAWAL;
use super::trial::Table;
use super::{Experiment, Outcome, Setting};
use crate::chart::{Axis, Chart, Series};
use crate::error::Result;
use crate::job::{Diversity, External, Job, Knobs, Split};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "pruning",
    source: "LeFevre, DeWitt and Ramakrishnan 2008, figure 24",
    claim: "Tests spare most of the splits that are undone where a sample is taken for the rows \
            themselves: all in all no more than a fifth is left.",
    seed: 24,
    run,
};

/// Rows are divided anew at this height, as in the paper.
const HEIGHT: usize = 8;
/// Without a test this many times as many splits are undone, at least.
const FACTOR: u64 = 5;

/// What is asked of every class.
#[derive(Clone, Copy)]
enum Asked {
    Rows(u64),
    Recursive(u32),
    Variance(f64),
}

impl Asked {
    fn name(self) -> String {
        match self {
            Asked::Rows(k) => format!("k = {k}"),
            Asked::Recursive(l) => format!("l = {l}"),
            Asked::Variance(minimum) => format!("v = {minimum:e}"),
        }
    }

    fn job(self, table: &Table, n_sampled: usize, test: Test) -> Result<Job> {
        let (k, secret) = match self {
            Asked::Rows(k) => (k, None),
            Asked::Recursive(_) => (1, Some("zipcode")),
            Asked::Variance(_) => (1, Some("salary")),
        };
        let quasi: Vec<&str> = AGRAWAL.into_iter().filter(|name| Some(*name) != secret).collect();
        let mut job = table.job(k, &quasi)?;
        if let Some(secret) = secret {
            job.set_role(secret, Role::Sensitive)?;
        }
        match self {
            Asked::Rows(_) => {}
            Asked::Recursive(l) => {
                let rule = Criterion::RecursiveDiversity { c: 1.0, l };
                job.column("zipcode").l_diversity = Some(Diversity(rule));
            }
            Asked::Variance(minimum) => job.column("salary").variance = Some(minimum),
        }
        (job.split, job.external) = (Some(Split::Median), Some(External::Sample));
        job.knobs = Knobs {
            sample_rows: Some(n_sampled),
            memory_rows: Some(n_sampled),
            test,
            height: Some(HEIGHT),
            ..Knobs::default()
        };
        Ok(job)
    }
}

/// One of the four tables of the figure.
struct Case {
    title: &'static str,
    salary: Salary,
    asked: &'static [Asked],
}

const SMALL: [Case; 4] = [
    Case {
        title: "k-anonymity",
        salary: Salary::Uniform,
        asked: &[Asked::Rows(10), Asked::Rows(50)],
    },
    Case { title: "recursive diversity", salary: Salary::Uniform, asked: &[Asked::Recursive(4)] },
    Case { title: "variance, uniform", salary: Salary::Uniform, asked: &[Asked::Variance(1.1e9)] },
    Case { title: "variance, normal", salary: Salary::Normal, asked: &[Asked::Variance(8e7)] },
];

const FULL: [Case; 4] = [
    Case {
        title: "k-anonymity",
        salary: Salary::Uniform,
        asked: &[Asked::Rows(10), Asked::Rows(100), Asked::Rows(1_000), Asked::Rows(10_000)],
    },
    Case {
        title: "recursive diversity",
        salary: Salary::Uniform,
        asked: &[
            Asked::Recursive(2),
            Asked::Recursive(4),
            Asked::Recursive(6),
            Asked::Recursive(8),
        ],
    },
    Case {
        title: "variance, uniform",
        salary: Salary::Uniform,
        asked: &[Asked::Variance(1.1e9), Asked::Variance(1.2e9), Asked::Variance(1.3e9)],
    },
    Case {
        title: "variance, normal",
        salary: Salary::Normal,
        asked: &[Asked::Variance(7e7), Asked::Variance(8e7), Asked::Variance(9e7)],
    },
];

/// What became of the samples of one run.
#[derive(Clone, Copy)]
struct Found {
    n_pruned: u64,
    /// Parts that may not be minimal by what their sample supports.
    n_marked: u64,
}

fn found(table: &Table, job: &Job) -> Result<Found> {
    let samples = table.report(job)?.samples;
    Ok(Found {
        n_pruned: samples.map_or(0, |own| own.pruned),
        n_marked: samples.map_or(0, |own| own.fell_back),
    })
}

/// Sums over the figures without an x, with tests and without, and how many figures of each have one.
#[derive(Default)]
struct Sums {
    n_pruned: [u64; 2],
    /// Where neither has an x.
    n_pruned_in_both: [u64; 2],
    n_marked: [u64; 2],
    n_figures: u64,
}

impl Sums {
    fn add(&mut self, found: [Found; 2]) {
        self.n_figures += 1;
        let in_both = found.iter().all(|own| own.n_marked == 0);
        for (at, own) in found.into_iter().enumerate() {
            match own.n_marked {
                0 => self.n_pruned[at] += own.n_pruned,
                _ => self.n_marked[at] += 1,
            }
            self.n_pruned_in_both[at] += if in_both { own.n_pruned } else { 0 };
        }
    }

    /// Whether tests spare enough, over all figures without an x and over those where neither has one.
    fn holds(&self) -> bool {
        [self.n_pruned, self.n_pruned_in_both]
            .iter()
            .all(|[tested, naive]| tested * FACTOR <= *naive)
    }

    fn words(&self) -> String {
        let [tested, naive] = self.n_pruned;
        let [tested_in_both, naive_in_both] = self.n_pruned_in_both;
        let [marked, marked_naive] = self.n_marked;
        format!(
            "{tested} splits are undone with tests and {naive} without, of these {tested_in_both} and \
             {naive_in_both} where neither has an x; of {} figures {marked} have one with tests and \
             {marked_naive} without.",
            self.n_figures
        )
    }
}

fn run(setting: &Setting) -> Result<Outcome> {
    const SIZES: [usize; 8] = [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000];
    let n_rows = setting.pick(3_000, 100_000);
    let (cases, sizes) = setting.pick((&SMALL, &[60, 250, 1_000][..]), (&FULL, &SIZES));
    let (mut panels, mut sums) = (Vec::new(), Sums::default());
    for case in cases {
        let options = Options { salary: case.salary, ..Options::default() };
        let table = Table::generate(Kind::Agrawal, n_rows, setting.seed, &options)?;
        let (mut pruned, mut marked) = (Vec::new(), Vec::new());
        for &asked in case.asked {
            let names = ["tests", "naive"].map(|test| format!("{}, {test}", asked.name()));
            let mut lines = [(); 4].map(|()| Vec::new());
            for &n_sampled in sizes {
                let run = |test| found(&table, &asked.job(&table, n_sampled, test)?);
                let own = [run(Test::Exact)?, run(Test::Naive)?];
                sums.add(own);
                let [tested, naive] = own;
                let figures = [tested.n_pruned, naive.n_pruned, tested.n_marked, naive.n_marked];
                for (line, figure) in lines.iter_mut().zip(figures) {
                    line.push((n_sampled as f64, figure as f64));
                }
            }
            let [tested, naive, tested_marked, naive_marked] = lines;
            pruned.extend([Series::new(&names[0], tested), Series::new(&names[1], naive)]);
            marked.extend([
                Series::new(&names[0], tested_marked),
                Series::new(&names[1], naive_marked),
            ]);
        }
        let panel = |y: &str, series| Chart {
            title: case.title.to_owned(),
            x: Axis::log("rows of the sample"),
            y: Axis::linear(y),
            series,
        };
        panels.push(panel("splits undone", pruned));
        panels.push(panel("parts divided without a test", marked));
    }
    let title = "Splits that samples chose and all rows undid".to_owned();
    Ok(Outcome { title, panels, holds: sums.holds(), found: sums.words() })
}
