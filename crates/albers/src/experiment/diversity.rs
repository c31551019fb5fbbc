//! What classes tell of a label that is itself the secret, by l.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 4.6 and figure 11.
//! Departures: a made-up census in place of the census; the mean is over tables instead of folds.
//! The accuracy of a learner, the other half of the figure, is not measured.
//! Guarantee: whatever the policy, entropy stays above log l, since every class has that much.

use albers_classes::ClassId;
use albers_generate::{Kind, Options};
use albers_measure::told::conditional_entropy_bits;
use albers_privacy::Criterion;
use albers_table::schema::Role;

use super::policies::{CONTENDERS, names};
use super::trial::Table;
use super::{Experiment, Outcome, Setting, lines, never_falls};
use crate::chart::axis::figure;
use crate::chart::{Axis, Chart, Series};
use crate::error::Result;
use crate::job::Diversity;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "entropy-by-l",
    source: "LeFevre, DeWitt and Ramakrishnan 2008, figure 11",
    claim: "With entropy l-diversity as the only requirement, the entropy of the label given the \
            class rises with l, and where l is 1 it is above 0 by rows that are alike alone.",
    seed: 11,
    run,
};

/// The quasi-identifiers of the census.
pub(super) const CENSUS: [&str; 8] = [
    "age",
    "sex",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
];

/// What is predicted, and hidden.
const LABEL: &str = "salary-class";

fn run(setting: &Setting) -> Result<Outcome> {
    let (n_trials, n_rows) = setting.pick((2, 3_000), (10, 30_000));
    let table =
        |trial| Table::generate(Kind::Adult, n_rows, setting.seed + trial, &Options::default());
    let tables: Vec<Table> = (0..n_trials).map(table).collect::<Result<_>>()?;
    let whole = |table: &Table| {
        let labels = table.rows().labels(LABEL);
        conditional_entropy_bits(&vec![ClassId::new(0); labels.len()], &labels)
    };
    // More than the whole table has no class can have.
    let most_bits = tables.iter().map(whole).fold(f64::INFINITY, f64::min);
    let tenths = (10..20).map(|tenth| f64::from(tenth) / 10.0);
    let ls: Vec<f64> = tenths.filter(|l| l.log2() < most_bits).collect();
    let [mut entropies] = lines(&names(), &ls, tables.len(), |contender, l, trial| {
        let mut job = tables[trial].job(1, &CENSUS)?;
        let rule = Criterion::EntropyLDiversity { l };
        // An l of 1 asks for nothing, so that the label is only kept.
        if rule.asks_for_something() {
            job.set_role(LABEL, Role::Sensitive)?;
            job.column(LABEL).l_diversity = Some(Diversity(rule));
        } else {
            job.set_role(LABEL, Role::Keep)?;
        }
        (CONTENDERS[contender].ask)(&mut job, LABEL);
        let published = tables[trial].release(&job)?;
        Ok([conditional_entropy_bits(&published.classes(LABEL), &published.labels(LABEL))])
    })?;
    let [alike] = lines(&["rows alike"], &[1.0], tables.len(), |_, _, trial| {
        let rows = tables[trial].rows();
        Ok([conditional_entropy_bits(&rows.classes(LABEL), &rows.labels(LABEL))])
    })?;
    let (holds, found) = verdict(&entropies, alike[0].points[0].1);
    let least = ls.iter().map(|&l| (l, l.log2())).collect();
    entropies.push(Series::limit("least possible", least));
    let panel = Chart {
        title: "census".to_owned(),
        x: Axis::linear("l"),
        y: Axis::linear("entropy of the label given the class, bits"),
        series: entropies,
    };
    let title = "What classes tell of a secret that is to be predicted".to_owned();
    Ok(Outcome { title, panels: vec![panel], holds, found })
}

/// `alike_bits` is what rows that are alike hide of each other in the tables as they are.
fn verdict(entropies: &[Series], alike_bits: f64) -> (bool, String) {
    let mut words = Vec::new();
    let mut holds = true;
    for series in entropies {
        let (Some(first), Some(last)) = (series.points.first(), series.points.last()) else {
            continue;
        };
        holds &= never_falls(series) && last.1 > first.1;
        holds &= (first.1 - alike_bits).abs() < 1e-9;
        words.push(format!(
            "{} from {} bits at l = {} to {} at l = {}",
            series.name,
            figure(first.1),
            figure(first.0),
            figure(last.1),
            figure(last.0)
        ));
    }
    let alike = format!("rows that are alike in the tables have {} bits", figure(alike_bits));
    (holds, format!("{}; {alike}.", words.join(", ")))
}
