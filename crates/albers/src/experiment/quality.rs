//! What an index loses beside Mondrian, shown by regions and by bounds, by k.
//!
//! Source: Iwuchukwu & Naughton 2007, section 5.3 and figures 10(a) to 10(c).
//! Departures: the table is made up, with columns that hardly depend on each other. The paper
//! builds its index for k = 5 and brings leaves together for other k; that is shown, and an index
//! that is built for each k beside it.
//! Guarantee: figures are those of the owner's report.

use super::sales::{self, Contender, FEW_KS, KS};
use super::trial::Table;
use super::{Experiment, Outcome, Setting};
use crate::chart::{Axis, Chart, Series};
use crate::error::Result;
use crate::report::Report;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "quality-by-k",
    source: "Iwuchukwu and Naughton 2007, figures 10(a) to 10(c)",
    claim: "An index loses less than Mondrian in discernibility, in certainty and in divergence; \
            bounds instead of regions improve Mondrian greatly in the latter two, and not at all \
            in the first.",
    seed: 100,
    run,
};

/// Regions lose greatly more than bounds from this ratio on.
const GREATLY: f64 = 1.25;

/// A measure of what is lost.
struct Measure {
    name: &'static str,
    y: &'static str,
    of: fn(&Report) -> f64,
}

const MEASURES: [Measure; 3] = [
    Measure {
        name: "discernibility",
        y: "discernibility",
        of: |own| own.table_loss.discernibility,
    },
    Measure {
        name: "certainty",
        y: "certainty penalty per row and column",
        of: |own| own.table_loss.ncp,
    },
    Measure {
        name: "divergence",
        y: "divergence, nats",
        of: |own| own.kl.or(own.kl_at_most).unwrap_or(f64::NAN),
    },
];

fn run(setting: &Setting) -> Result<Outcome> {
    let table = sales::sales(setting.pick(4_000, 4_591_581), setting.seed)?;
    let ks = setting.pick(&FEW_KS[..], &KS);
    let mut series: [Vec<Series>; 3] = Default::default();
    for contender in Contender::ALL {
        let losses = losses(&table, contender, ks)?;
        for (place, all) in series.iter_mut().enumerate() {
            let points = ks.iter().zip(&losses).map(|(&k, own)| (k as f64, own[place]));
            all.push(Series::new(contender.name(), points.collect()));
        }
    }
    let (holds, found) = verdict(&series);
    let panels = MEASURES.iter().zip(series).map(|(Measure { name, y, .. }, series)| Chart {
        title: (*name).to_owned(),
        x: Axis::log("k"),
        y: Axis::log(y),
        series,
    });
    let title = "What an index loses, and Mondrian with bounds and without".to_owned();
    Ok(Outcome { title, panels: panels.collect(), holds, found })
}

/// What one of the contenders loses at each k.
fn losses(table: &Table, contender: Contender, ks: &[u64]) -> Result<Vec<[f64; 3]>> {
    let told = |report: &Report| [0, 1, 2].map(|place: usize| (MEASURES[place].of)(report));
    if contender == Contender::Scan {
        let report = table.report(&contender.job(table, ks)?)?;
        let of_k = |k: u64| {
            let also = report.also.iter().find(|own| own.k == k);
            told(also.map_or(&report, |own| &own.report))
        };
        return Ok(ks.iter().map(|&k| of_k(k)).collect());
    }
    let of_k = |&k: &u64| Ok(told(&table.report(&contender.job(table, &[k])?)?));
    ks.iter().map(of_k).collect()
}

/// Whether the index is below both forms of Mondrian at every k, and bounds far below regions.
fn verdict(series: &[Vec<Series>; 3]) -> (bool, String) {
    let mut holds = true;
    let mut found = Vec::new();
    for (measure, lines) in MEASURES.iter().zip(series) {
        let [scan, built, regions, bounds] = &lines[..] else { unreachable!("one for each") };
        let ratios = |one: &Series, other: &Series| -> Vec<f64> {
            let pairs = one.points.iter().zip(&other.points);
            pairs.map(|(one, other)| one.1 / other.1).collect()
        };
        let n_below = |one, other| ratios(one, other).iter().filter(|own| **own < 1.0).count();
        let n_ks = scan.points.len();
        let gain = ratios(regions, bounds);
        let (least, most) =
            gain.iter().fold((f64::MAX, 0.0f64), |(lo, hi), &own| (lo.min(own), hi.max(own)));
        let below = [n_below(scan, regions), n_below(scan, bounds)];
        let built = [n_below(built, regions), n_below(built, bounds)];
        let is_by_size = measure.name == "discernibility";
        holds &= below == [n_ks; 2];
        holds &= if is_by_size { most == 1.0 && least == 1.0 } else { least >= GREATLY };
        found.push(format!(
            "in {} the index is below Mondrian as regions at {} of {n_ks} k and with bounds at {}, \
             built for each k at {} and {}, and regions lose {least:.2} to {most:.2} times as much \
             as bounds",
            measure.name, below[0], below[1], built[0], built[1]
        ));
    }
    (holds, found.join("; ") + ".")
}
