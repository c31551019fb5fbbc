//! Class sizes and what classes tell of a label, by k.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 4.4 and figure 8.
//! Departures: a made-up census and `agrawal` with function C2 in place of the census; the mean is
//! over tables instead of folds. The paper calls sizes comparable; here that means within 25 %, and
//! entropies differ from 5 % on, in favour of the policy that looks at the label.

use albers_generate::{ClassFunction, Kind, Options};
use albers_measure::told::conditional_entropy_bits;
use albers_table::schema::Role;

use super::metrics::mean_class_size;
use super::policies::{CONTENDERS, names};
use super::trial::Table;
use super::{Experiment, Outcome, Setting, lines};
use crate::chart::{Axis, Chart, Series};
use crate::error::Result;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "class-size-by-k",
    source: "LeFevre, DeWitt and Ramakrishnan 2008, figure 8",
    claim: "Policies make classes of comparable size that tell more or less of the label: the size \
            of classes does not say how well a class label can be predicted.",
    seed: 8,
    run,
};

/// Sizes up to this ratio are comparable.
const COMPARABLE: f64 = 1.25;
/// Entropies from this ratio on differ.
const DIFFERENT: f64 = 1.05;

/// A table, what is hidden in it and what is predicted.
struct Case {
    title: &'static str,
    kind: Kind,
    options: Options,
    quasi: &'static [&'static str],
    label: &'static str,
}

fn cases() -> [Case; 2] {
    let options = Options { class_functions: [ClassFunction::C2].into(), ..Options::default() };
    [
        Case {
            title: "census",
            kind: Kind::Adult,
            options: Options::default(),
            quasi: &super::diversity::CENSUS,
            label: "salary-class",
        },
        Case {
            title: "agrawal, C2",
            kind: Kind::Agrawal,
            options,
            quasi: &super::imprecision::AGRAWAL,
            label: "class",
        },
    ]
}

fn run(setting: &Setting) -> Result<Outcome> {
    let ks = setting.pick(&[5.0, 25.0, 100.0][..], &[5.0, 10.0, 25.0, 50.0, 100.0, 250.0]);
    let (mut panels, mut found, mut holds) = (Vec::new(), Vec::new(), true);
    for case in cases() {
        let [sizes, entropies] = measured(setting, &case, ks)?;
        let size_ratio = widest(&sizes);
        let leads = leads(&entropies);
        let (least, greatest) =
            leads.iter().fold((f64::MAX, 0.0f64), |(lo, hi), &own| (lo.min(own), hi.max(own)));
        holds &= size_ratio <= COMPARABLE && least > 1.0 && greatest >= DIFFERENT;
        found.push(format!(
            "on {} sizes differ by at most {:.0} %, and the entropies of the others are {:.0} to \
             {:.0} % above that of info-gain",
            case.title,
            100.0 * (size_ratio - 1.0),
            100.0 * (least - 1.0),
            100.0 * (greatest - 1.0),
        ));
        let panel = |y: Axis, series: Vec<Series>| Chart {
            title: case.title.to_owned(),
            x: Axis::log("k"),
            y,
            series,
        };
        panels.push(panel(Axis::log("mean rows per class"), sizes));
        panels.push(panel(Axis::linear("entropy of the label given the class, bits"), entropies));
    }
    let title = "Size of classes, and what they tell of a label".to_owned();
    Ok(Outcome { title, panels, holds, found: found.join("; ") + "." })
}

/// The sizes and the entropies of all contenders.
fn measured(setting: &Setting, case: &Case, ks: &[f64]) -> Result<[Vec<Series>; 2]> {
    let (n_trials, n_rows) = setting.pick((2, 3_000), (10, 30_000));
    let table = |trial| Table::generate(case.kind, n_rows, setting.seed + trial, &case.options);
    let tables: Vec<Table> = (0..n_trials).map(table).collect::<Result<_>>()?;
    lines(&names(), ks, tables.len(), |contender, k, trial| {
        let mut job = tables[trial].job(k as u64, case.quasi)?;
        job.set_role(case.label, Role::Keep)?;
        (CONTENDERS[contender].ask)(&mut job, case.label);
        let published = tables[trial].release(&job)?;
        let classes = published.classes(case.label);
        let entropy = conditional_entropy_bits(&classes, &published.labels(case.label));
        Ok([mean_class_size(&classes), entropy])
    })
}

/// The greatest ratio between two lines at one x.
fn widest(series: &[Series]) -> f64 {
    let n_points = series.first().map_or(0, |own| own.points.len());
    let ratio = |at: usize| {
        let values = || series.iter().map(|own| own.points[at].1);
        values().fold(0.0, f64::max) / values().fold(f64::INFINITY, f64::min).max(f64::MIN_POSITIVE)
    };
    (0..n_points).map(ratio).fold(1.0, f64::max)
}

/// For each x, how many times the least of the lines that look away from the label is the greatest
/// of those that look at it.
fn leads(series: &[Series]) -> Vec<f64> {
    let n_points = series.first().map_or(0, |own| own.points.len());
    let lead = |at: usize| {
        let of = |looks: bool| {
            let own =
                series.iter().zip(CONTENDERS).filter(move |own| own.1.looks_at_target == looks);
            own.map(move |(line, _)| line.points[at].1)
        };
        of(false).fold(f64::INFINITY, f64::min) / of(true).fold(f64::MIN_POSITIVE, f64::max)
    };
    (0..n_points).map(lead).collect()
}
