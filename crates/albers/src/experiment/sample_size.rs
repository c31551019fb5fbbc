//! What classes tell of a target, by the size of the sample that their first cuts are chosen on.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 6.5 and figures 22 and 23.
//! Departures: the number of rows is tested exactly. Where a sample supports no cut, which the paper
//! only marks, its part is divided without a test. `salary` is what regression predicts, and no
//! quasi-identifier there. Parts of no more rows than a sample has are cut at once, as in the paper,
//! where both fill the memory. No census.

use albers_generate::{ClassFunction, Kind, Options};
use albers_measure::told::{conditional_entropy_bits, mean_squared_error};
use albers_partition::split::Policy;
use albers_table::schema::Role;

use super::imprecision::AGRAWAL;
use super::trial::Table;
use super::{Experiment, Outcome, Setting, lines};
use crate::chart::axis::figure;
use crate::chart::{Axis, Chart, Series};
use crate::error::Result;
use crate::job::{External, Job, Knobs, Split, TargetKind, TargetSpec};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "sample-size",
    source: "LeFevre, DeWitt and Ramakrishnan 2008, figures 22 and 23",
    claim: "The size of the sample that cuts are chosen on matters far less for what classes tell of \
            a target than k does.",
    seed: 22,
    run,
};

/// A target, and how it is followed and measured.
struct Case {
    title: &'static str,
    y: &'static str,
    split: Split,
    kind: TargetKind,
    target: &'static str,
}

const CASES: [Case; 2] = [
    Case {
        title: "info-gain, C2",
        y: "entropy of the label given the class, bits",
        split: Split::InfoGain,
        kind: TargetKind::Class,
        target: "class",
    },
    Case {
        title: "regression, salary",
        y: "mean squared error of the salary given the class",
        split: Split::Regression,
        kind: TargetKind::Number,
        target: "salary",
    },
];

impl Case {
    fn job(&self, table: &Table, k: u64, n_sampled: usize) -> Result<Job> {
        let quasi: Vec<&str> = AGRAWAL.into_iter().filter(|name| *name != self.target).collect();
        let mut job = table.job(k, &quasi)?;
        job.set_role(self.target, Role::Keep)?;
        (job.split, job.then) = (Some(self.split), Some(Policy::Median));
        job.workload.targets = vec![TargetSpec {
            column: self.target.to_owned(),
            kind: Some(self.kind),
            weight: None,
        }];
        job.external = Some(External::Sample);
        job.knobs = Knobs {
            sample_rows: Some(n_sampled),
            memory_rows: Some(n_sampled),
            ..Knobs::default()
        };
        Ok(job)
    }

    fn measured(&self, table: &Table, k: u64, n_sampled: usize) -> Result<f64> {
        let published = table.release(&self.job(table, k, n_sampled)?)?;
        let classes = published.classes(self.target);
        Ok(match self.kind {
            TargetKind::Class => conditional_entropy_bits(&classes, &published.labels(self.target)),
            TargetKind::Number => {
                let numbers = published.numbers(self.target).into_iter().map(Some);
                mean_squared_error(&classes, &numbers.collect::<Vec<_>>())
            }
        })
    }
}

fn run(setting: &Setting) -> Result<Outcome> {
    const SMALL: [f64; 3] = [100.0, 300.0, 1_000.0];
    const FULL: [f64; 8] = [100.0, 250.0, 500.0, 1e3, 2.5e3, 5e3, 1e4, 2.5e4];
    let (n_trials, n_rows) = setting.pick((2, 3_000), (10, 100_000));
    let ks = setting.pick(&[5, 100][..], &[10, 100, 1_000]);
    let sizes = setting.pick(&SMALL[..], &FULL);
    let options = Options { class_functions: [ClassFunction::C2].into(), ..Options::default() };
    let table = |trial| Table::generate(Kind::Agrawal, n_rows, setting.seed + trial, &options);
    let tables: Vec<Table> = (0..n_trials).map(table).collect::<Result<_>>()?;
    let names: Vec<String> = ks.iter().map(|k| format!("k = {k}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (mut panels, mut found, mut holds) = (Vec::new(), Vec::new(), true);
    for case in CASES {
        let [series] = lines(&names, sizes, tables.len(), |at, n_sampled, trial| {
            Ok([case.measured(&tables[trial], ks[at], n_sampled as usize)?])
        })?;
        let (by_sample, by_k) = spreads(&series);
        holds &= by_sample < by_k;
        found.push(format!(
            "with {} the spread over samples is at most {} for one k, and that over k at least {} for \
             one sample",
            case.title,
            figure(by_sample),
            figure(by_k)
        ));
        panels.push(Chart {
            title: case.title.to_owned(),
            x: Axis::log("rows of the sample"),
            y: Axis::linear(case.y),
            series,
        });
    }
    let title = "What classes tell of a target, by the size of the sample".to_owned();
    Ok(Outcome { title, panels, holds, found: found.join("; ") + "." })
}

/// The greatest spread of one line, and the least between the lines at one x.
fn spreads(series: &[Series]) -> (f64, f64) {
    let spread = |values: &mut dyn Iterator<Item = f64>| {
        let ends = values.fold((f64::MAX, f64::MIN), |(lo, hi), own| (lo.min(own), hi.max(own)));
        ends.1 - ends.0
    };
    let along = series.iter().map(|own| spread(&mut own.points.iter().map(|point| point.1)));
    let n_points = series.first().map_or(0, |own| own.points.len());
    let across = (0..n_points).map(|at| spread(&mut series.iter().map(|own| own.points[at].1)));
    (along.fold(0.0, f64::max), across.fold(f64::MAX, f64::min))
}
