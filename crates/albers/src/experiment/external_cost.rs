//! How often the rows of a table are read and written that does not fit in memory: cut by counts of
//! values, of which more or fewer fit, and by samples of many sizes.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, sections 5.3 and 6.3 and figure 18.
//! Departures: reads and writes are counted in tables, not in blocks of a disk, so that figures follow from
//! name and scale. The paper has its rows as they are read; here they are imported from a source, and
//! counted while that is done: the first scan of the paper is the import, and its copy is no write of the
//! paper's. Tables are as many times as large as the memory as the paper's.

use albers_generate::{Kind, Options};

use super::imprecision::AGRAWAL;
use super::trial::Table;
use super::{Experiment, Outcome, Setting};
use crate::chart::{Axis, Chart, Series};
use crate::error::Result;
use crate::job::{External, Job, Knobs, Split};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "external-cost",
    source: "LeFevre, DeWitt and Ramakrishnan 2008, figure 18",
    claim: "The more counts fit in memory the less often rows are read, with diminishing returns, while \
            a sample of any size has them read three times and written once.",
    seed: 18,
    run,
};

/// Count groups in memory.
const GROUPS: [usize; 5] = [1, 2, 4, 8, 16];
/// Sampled tuples, at most as many as fit in memory.
const SMALL_SAMPLES: &[usize] = &[200, 400, 800];
const FULL_SAMPLES: &[usize] = &[1_000, 5_000, 20_000, 80_000];
/// How many times as large as the memory the table is, as in the paper.
const TABLE_IN_MEMORIES: usize = 25;

/// A table that does not fit.
struct Large {
    table: Table,
    n_rows: usize,
    k: u64,
}

/// How often all rows were read and written.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Moved {
    reads: f64,
    writes: f64,
}

impl Large {
    fn of(setting: &Setting) -> Result<Large> {
        let (n_rows, k) = setting.pick((20_000, 10), (2_000_000, 40));
        let table = Table::generate(Kind::Agrawal, n_rows, setting.seed, &Options::default())?;
        Ok(Large { table, n_rows: n_rows as usize, k })
    }

    fn memory_rows(&self) -> usize {
        self.n_rows / TABLE_IN_MEMORIES
    }

    fn job(&self, external: External, knobs: Knobs) -> Result<Job> {
        let mut job = self.table.job(self.k, &AGRAWAL)?;
        (job.split, job.external) = (Some(Split::Median), Some(external));
        job.knobs = Knobs { memory_rows: Some(self.memory_rows()), ..knobs };
        Ok(job)
    }

    /// What counts of so many parts move.
    fn by_counts(&self, count_groups: usize) -> Result<Moved> {
        let knobs = Knobs { count_groups: Some(count_groups), ..Knobs::default() };
        let report = self.table.report(&self.job(External::Tree, knobs)?)?;
        let passes = report.passes.expect("the table does not fit in the memory of the knob");
        let tables = |n_bytes: u64| n_bytes as f64 / passes.imported_bytes as f64;
        let reads = passes.counted_bytes + passes.repartitioned_read + passes.loaded_bytes;
        Ok(Moved { reads: 1.0 + tables(reads), writes: tables(passes.repartitioned_written) })
    }

    /// The same by the paper's model.
    fn expected(&self, count_groups: usize) -> Moved {
        let height = (TABLE_IN_MEMORIES as f64).log2().ceil();
        let levels = (count_groups as f64).log2().floor() + 1.0;
        let writes = (height / levels).ceil();
        Moved { reads: height + writes + 1.0, writes }
    }

    /// What a sample of so many tuples moves.
    fn by_sample(&self, n_sampled: usize) -> Result<Moved> {
        let knobs = Knobs { sample_rows: Some(n_sampled), ..Knobs::default() };
        let report = self.table.report(&self.job(External::Sample, knobs)?)?;
        let samples = report.samples.expect("the table is too large to be cut at once");
        let writes = samples.repartitions as f64;
        Ok(Moved { reads: 2.0 * writes + 1.0, writes })
    }
}

fn run(setting: &Setting) -> Result<Outcome> {
    let large = Large::of(setting)?;
    let counted: Vec<Moved> = GROUPS.iter().map(|&n| large.by_counts(n)).collect::<Result<_>>()?;
    let expected: Vec<Moved> = GROUPS.iter().map(|&n| large.expected(n)).collect();
    let sizes = setting.pick(SMALL_SAMPLES, FULL_SAMPLES);
    let sampled: Vec<Moved> = sizes.iter().map(|&n| large.by_sample(n)).collect::<Result<_>>()?;
    let (holds, found) = verdict(&counted, &expected, &sampled);
    let lines = |xs: &[usize], moved: &[Moved], what: &str| -> Vec<Series> {
        let line = |name: String, of: fn(&Moved) -> f64| {
            let points = xs.iter().zip(moved).map(|(&x, own)| (x as f64, of(own)));
            Series::new(&name, points.collect())
        };
        vec![
            line(format!("read{what}"), |own| own.reads),
            line(format!("written{what}"), |own| own.writes),
        ]
    };
    let by_counts =
        [lines(&GROUPS, &counted, ""), lines(&GROUPS, &expected, ", by the model")].concat();
    let chart = |title: &str, x: &str, series| Chart {
        title: title.to_owned(),
        x: Axis::log(x),
        y: Axis::linear("times all rows"),
        series,
    };
    let panels = vec![
        chart("counts of values", "count groups in memory", by_counts),
        chart("samples", "sampled tuples", lines(sizes, &sampled, "")),
    ];
    let title = "How often rows are moved that do not fit in memory".to_owned();
    Ok(Outcome { title, panels, holds, found })
}

fn verdict(counted: &[Moved], expected: &[Moved], sampled: &[Moved]) -> (bool, String) {
    // Parts are not cut exactly in halves: rows of some are read once more than those of others.
    let falls = counted.windows(2).all(|pair| pair[1].reads <= 1.01 * pair[0].reads);
    let saved: Vec<f64> = counted.windows(2).map(|pair| pair[0].reads - pair[1].reads).collect();
    let diminishes = saved.first() >= saved.last();
    let is_once = sampled.iter().all(|own| *own == Moved { reads: 3.0, writes: 1.0 });
    let told = |moved: &[Moved]| -> String {
        let own = moved.iter().map(|own| format!("{:.2} and {:.2}", own.reads, own.writes));
        own.collect::<Vec<_>>().join(", ")
    };
    let found = format!(
        "with 1, 2, 4, 8 and 16 count groups rows are read and written {} times, where the paper's model \
         has {}; by samples {}.",
        told(counted),
        told(expected),
        told(sampled)
    );
    (falls && diminishes && is_once, found)
}
