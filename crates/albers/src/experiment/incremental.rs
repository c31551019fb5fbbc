//! What batches cost a living index, and what its releases lose beside those that begin anew.
//!
//! ```text
//!   rows ──► index ──► release        the first batch
//!   rows ──► index ──► release        one more, eight times
//!              beside it: all rows so far, loaded at once and cut from the top, anew each time
//! ```
//!
//! Source: Iwuchukwu & Naughton 2007, sections 5.1 and 5.3 and figures 7(b) and 11.
//! Departures: work is counted in rows that are cut instead of seconds, so that figures follow from
//! name and scale. Whoever begins anew cuts all rows. Names are ordered by their ranks, so that all
//! columns are ordered in all methods. Mondrian is shown by the bounds of its rows too: what is
//! compared is where cuts lie, not how classes are shown. All is made at k = 10, without leaf scan.
//! Guarantee: what releases lose is measured from them and their table alone, over the values of the
//! table, so that it is counted alike for all methods; rows are paired by their numbers, which are
//! published for that. Only quality is looked at: what the releases of the index reveal together is
//! accepted by name (`linkage`), since the ledger would refuse all but the first.
//! Cost: the table, an index and a release in memory.

use std::sync::Arc;

use albers_storage::store::disk::MemoryDisk;
use albers_storage::watch::Silent;
use albers_table::schema::Role;
use albers_table::sink::BatchSink;

use super::trial::{Rows, Table};
use super::{Experiment, Outcome, Setting, sales};
use crate::chart::{Axis, Chart, Series};
use crate::error::Result;
use crate::job::{Job, Method, Split};
use crate::living::{Index, ReleaseRequest};
use crate::measure::{MeasuredLoss, measure};

pub(super) const COST: Experiment = Experiment {
    name: "incremental-cost",
    source: "Iwuchukwu and Naughton 2007, figure 7(b)",
    claim: "A batch of new rows costs an index about the same however many rows it has, while \
            whoever anonymizes anew cuts all of them.",
    seed: 7,
    run: run_cost,
};

pub(super) const QUALITY: Experiment = Experiment {
    name: "incremental-quality",
    source: "Iwuchukwu and Naughton 2007, figure 11",
    claim: "After batches of new rows a release of an index is comparable with one of the same rows \
            loaded at once, and better than Mondrian anonymizing anew, in discernibility, in \
            divergence and in certainty.",
    seed: 10,
    run: run_quality,
};

const KEY: &str = "number";
const K: u64 = 10;
/// Batches after the first.
const N_MORE: usize = 8;

/// A table that comes in batches.
struct Growing {
    table: Table,
    batch_rows: usize,
    job: Job,
}

impl Growing {
    fn of(setting: &Setting) -> Result<Growing> {
        let batch_rows = setting.pick(2_000, 500_000);
        let n_rows = (batch_rows * (1 + N_MORE)) as u64;
        let table = sales::sales(n_rows, setting.seed)?.numbered(KEY);
        let job = sales::job(&table, K)?;
        Ok(Growing { table, batch_rows, job })
    }

    /// Rows after so many batches, the first one included.
    fn n_rows(&self, n_batches: usize) -> usize {
        n_batches * self.batch_rows
    }

    /// Looks at the release of an index after each batch: the rows that were cut for it, and what is
    /// published.
    fn live<T>(&self, look: impl Fn(usize, u64, Rows) -> Result<T>) -> Result<Vec<T>> {
        let job = Job { method: Some(Method::Rtree), ..self.job.clone() };
        let mut index = Index::create_on(Arc::new(MemoryDisk::new()), &job, KEY)?;
        let request = ReleaseRequest { keep_key: true, ..ReleaseRequest::default() };
        let mut looked = Vec::new();
        for n_batches in 1..=1 + N_MORE {
            let batch = self.table.stretch(self.n_rows(n_batches - 1), self.batch_rows);
            index.insert(&batch.source()?, &Silent)?;
            let (sink, collected) = BatchSink::new();
            let report = index.release(&request, vec![Box::new(sink)], &Silent)?;
            looked.push(look(n_batches, report.rows_cut, Rows(collected.take()))?);
        }
        Ok(looked)
    }

    /// All rows so far.
    fn so_far(&self, n_batches: usize) -> Table {
        self.table.stretch(0, self.n_rows(n_batches))
    }

    /// What is lost of all rows so far.
    fn loss(&self, n_batches: usize, published: &Rows) -> Result<MeasuredLoss> {
        let original = self.so_far(n_batches).source()?;
        let report = measure(&self.job, &original, &published.source()?, Some(KEY), &Silent)?;
        Ok(report.loss)
    }

    /// What is lost by anonymizing all rows so far anew after each batch.
    fn anew(&self, method: Method, split: Split) -> Result<Vec<MeasuredLoss>> {
        let mut job = Job { method: Some(method), split: Some(split), ..self.job.clone() };
        job.set_role(KEY, Role::Keep)?;
        let losses = (1..=1 + N_MORE)
            .map(|n_batches| self.loss(n_batches, &self.so_far(n_batches).release(&job)?));
        losses.collect()
    }

    /// A line of figures after each batch.
    fn line(&self, name: &str, figures: impl Iterator<Item = f64>) -> Series {
        let rows = (1..).map(|n_batches| self.n_rows(n_batches) as f64);
        Series::new(name, rows.zip(figures).collect())
    }
}

fn run_cost(setting: &Setting) -> Result<Outcome> {
    let growing = Growing::of(setting)?;
    let cut = growing.live(|_, rows_cut, _| Ok(rows_cut as f64))?;
    let all = (1..=1 + N_MORE).map(|n_batches| growing.n_rows(n_batches) as f64);
    let series = vec![growing.line("index", cut.into_iter()), growing.line("anew", all)];
    let (holds, found) = cost_verdict(&series);
    let panel = Chart {
        title: "work".to_owned(),
        x: Axis::linear("rows of the table"),
        y: Axis::linear("rows cut for the last batch"),
        series,
    };
    let title = "What a batch costs an index, beside anonymizing anew".to_owned();
    Ok(Outcome { title, panels: vec![panel], holds, found })
}

/// Whether batches after the first cost about the same: none more than one and a half times what they
/// cost on average, which work that grows with the table does not stay below.
fn cost_verdict(series: &[Series]) -> (bool, String) {
    let (cut, all) = (&series[0].points, &series[1].points);
    let later = || cut[1..].iter().map(|point| point.1);
    let mean = later().sum::<f64>() / N_MORE as f64;
    let most = later().fold(0.0, f64::max);
    let found = format!(
        "batches of {} rows after the first cut {mean:.0} rows on average, none more than {most}, and \
         the last {} of {}.",
        all[0].1, cut[N_MORE].1, all[N_MORE].1
    );
    (most <= 1.5 * mean, found)
}

/// What a release loses, by one measure.
struct Measure {
    name: &'static str,
    y: &'static str,
    of: fn(&MeasuredLoss) -> f64,
}

const MEASURES: [Measure; 3] = [
    Measure { name: "discernibility", y: "discernibility", of: |own| own.discernibility },
    Measure {
        name: "divergence",
        y: "divergence, nats",
        of: |own| own.kl.or(own.kl_at_most).unwrap_or(f64::NAN),
    },
    Measure { name: "certainty", y: "certainty penalty per row and column", of: |own| own.ncp },
];

fn run_quality(setting: &Setting) -> Result<Outcome> {
    let growing = Growing::of(setting)?;
    let live = growing.live(|n_batches, _, published| growing.loss(n_batches, &published))?;
    let contenders: [(&str, Vec<MeasuredLoss>); 3] = [
        ("index, batch by batch", live),
        ("index, loaded at once", growing.anew(Method::Rtree, Split::Compact)?),
        ("Mondrian, anew", growing.anew(Method::Mondrian, Split::Median)?),
    ];
    let panel = |Measure { name, y, of }: &Measure| {
        let lines = contenders.iter();
        let lines = lines.map(|(contender, own)| growing.line(contender, own.iter().map(of)));
        let (x, y) = (Axis::linear("rows of the table"), Axis::linear(y));
        Chart { title: (*name).to_owned(), x, y, series: lines.collect() }
    };
    let panels: Vec<Chart> = MEASURES.iter().map(panel).collect();
    let (holds, found) = quality_verdict(&panels);
    let title = "What an index loses that takes in batches".to_owned();
    Ok(Outcome { title, panels, holds, found })
}

/// Whether the index is never more than a tenth above a bulk load, and always below Mondrian.
fn quality_verdict(panels: &[Chart]) -> (bool, String) {
    let mut holds = true;
    let mut found = Vec::new();
    for Chart { title, series, .. } in panels {
        let ratios = |other: &Series| -> Vec<f64> {
            let pairs = series[0].points.iter().zip(&other.points);
            pairs.map(|(own, other)| own.1 / other.1).collect()
        };
        let to_bulk = ratios(&series[1]).into_iter().fold(0.0, f64::max);
        let to_anew = ratios(&series[2]);
        let n_below = to_anew.iter().filter(|ratio| **ratio < 1.0).count();
        holds &= to_bulk <= 1.1 && n_below == to_anew.len();
        found.push(format!(
            "in {title} the index is at most {to_bulk:.3} times what is loaded at once, and below \
             Mondrian after {n_below} of {} batches",
            to_anew.len()
        ));
    }
    (holds, found.join("; ") + ".")
}
