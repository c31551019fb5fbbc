//! Rows that a selection returns too many, by k.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 4.7 and figure 12.
//! Departures: the mean is over several tables of 1,000 rows. The paper measures "the imprecision of
//! this selection" and optimizes a sum of three; both readings are shown. Where splits are
//! restricted to two columns, the others are left out, which changes no region of these two.

use crate::job::Split;
use albers_generate::{Kind, Options};
use albers_partition::split::Policy;
use albers_release::publish::Values;

use super::metrics::{Region, summed_imprecision, union_imprecision};
use super::trial::{Rows, Table};
use super::{Experiment, Outcome, Setting, lines, never_falls};
use crate::chart::axis::figure;
use crate::chart::{Axis, Chart, Series};
use crate::error::Result;
use crate::job::{Job, SelectSpec};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "imprecision-by-k",
    source: "LeFevre, DeWitt and Ramakrishnan 2008, figure 12",
    claim: "A selection returns fewer rows too many the more the cuts are made for it, and more of \
            them the greater k is.",
    seed: 12,
    run,
};

/// The quasi-identifiers of agrawal.
pub(super) const AGRAWAL: [&str; 9] =
    ["salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan"];

/// As in the paper.
const N_ROWS: u64 = 1_000;

/// What the selection looks at, in the order of its regions.
const SELECTED: [&str; 2] = ["age", "salary"];

/// Function C2 as three regions of age and salary.
const C2: [[(f64, f64); 2]; 3] = [
    [(20.0, 39.0), (50_000.0, 100_000.0)],
    [(40.0, 59.0), (75_000.0, 125_000.0)],
    [(60.0, 80.0), (25_000.0, 75_000.0)],
];

/// A way to cut, from the least made for the selection to the most: the claim is on this order.
struct Contender {
    name: &'static str,
    quasi: &'static [&'static str],
    ask: fn(job: &mut Job),
}

const CONTENDERS: &[Contender] = &[
    Contender { name: "median", quasi: &AGRAWAL, ask: |job| job.split = Some(Split::Median) },
    Contender {
        name: "median, age and salary",
        quasi: &SELECTED,
        ask: |job| job.split = Some(Split::Median),
    },
    Contender {
        name: "selection",
        quasi: &AGRAWAL,
        ask: |job| {
            (job.split, job.then) = (Some(Split::Selection), Some(Policy::Median));
            job.workload.select = C2.iter().map(selected).collect();
        },
    },
];

/// A region of the selection as a job asks for it.
fn selected(region: &[(f64, f64); 2]) -> SelectSpec {
    let between =
        |(name, (low, high)): (&str, &(f64, f64))| format!("{name} between {low} and {high}");
    let terms: Vec<String> = SELECTED.into_iter().zip(region).map(between).collect();
    let condition = terms.join(" and ").parse().expect("a region is a condition");
    SelectSpec { condition, weight: None }
}

fn run(setting: &Setting) -> Result<Outcome> {
    let ks = [10.0, 25.0, 50.0, 100.0];
    let n_trials = setting.pick(5, 100);
    let table =
        |trial| Table::generate(Kind::Agrawal, N_ROWS, setting.seed + trial, &Options::default());
    let tables: Vec<Table> = (0..n_trials).map(table).collect::<Result<_>>()?;
    let names: Vec<&str> = CONTENDERS.iter().map(|contender| contender.name).collect();
    let [mut union, mut summed] = lines(&names, &ks, tables.len(), |at, k, trial| {
        let mut job = tables[trial].job(k as u64, CONTENDERS[at].quasi)?;
        // Regions, not the bounds of their rows, are what the paper recodes to.
        (job.compact, job.values) = (Some(false), Some(Values::Bounds));
        (CONTENDERS[at].ask)(&mut job);
        let published = regions(&tables[trial].release(&job)?, "_min", "_max");
        Ok(both_readings(&published, &tables[trial]))
    })?;
    let [most_union, most_summed] = lines(&["every row"], &ks, tables.len(), |_, _, trial| {
        let everything = vec![(f64::NEG_INFINITY, f64::INFINITY); SELECTED.len()];
        Ok(both_readings(&vec![everything; N_ROWS as usize], &tables[trial]))
    })?;
    let holds = is_as_claimed(&union, &most_union[0]) && is_as_claimed(&summed, &most_summed[0]);
    let at = |k: usize| {
        let values = union.iter().map(|own| format!("{} {}", own.name, figure(own.points[k].1)));
        format!("at k = {} {}", figure(ks[k]), values.collect::<Vec<_>>().join(" and "))
    };
    let most = figure(most_union[0].points[0].1);
    let ends = format!("{}, {}", at(0), at(ks.len() - 1));
    let found = format!("rows too many, where every row is {most} too many: {ends}.");
    let as_limit = |own: Series| Series { is_limit: true, ..own };
    union.extend(most_union.into_iter().map(as_limit));
    summed.extend(most_summed.into_iter().map(as_limit));
    let panel = |title: &str, series| Chart {
        title: title.to_owned(),
        x: Axis::log("k"),
        y: Axis::linear("rows returned that do not satisfy"),
        series,
    };
    let panels =
        vec![panel("the selection as a whole", union), panel("its three regions added up", summed)];
    let title = "Rows that a selection returns too many".to_owned();
    Ok(Outcome { title, panels, holds, found })
}

/// Whether every line lies below the one before it, and rises but where every row is returned.
fn is_as_claimed(lines: &[Series], most: &Series) -> bool {
    let below = |pair: &[Series]| {
        pair[0].points.iter().zip(&pair[1].points).all(|(before, own)| own.1 < before.1)
    };
    let rises = |series: &Series| {
        let (first, last) = (series.points.first(), series.points.last());
        let is_at_most = first.map(|own| own.1) >= most.points.first().map(|own| own.1);
        never_falls(series) && (is_at_most || last.map(|own| own.1) > first.map(|own| own.1))
    };
    lines.windows(2).all(below) && lines.iter().all(rises)
}

/// The imprecision of C2 as a whole, and of its three regions added up.
fn both_readings(published: &[Region], table: &Table) -> [f64; 2] {
    let rows = regions(table.rows(), "", "");
    let predicates = C2.map(Vec::from);
    [
        union_imprecision(published, &rows, &predicates),
        summed_imprecision(published, &rows, &predicates),
    ]
}

/// The region of each row in the columns that the selection looks at.
fn regions(rows: &Rows, least: &str, greatest: &str) -> Vec<Region> {
    let ends = SELECTED.map(|name| {
        let numbers = |ending: &str| rows.numbers(&format!("{name}{ending}"));
        (numbers(least), numbers(greatest))
    });
    let n_rows = ends[0].0.len();
    let region = |row: usize| ends.iter().map(|(low, high)| (low[row], high[row])).collect();
    (0..n_rows).map(region).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(values: [f64; 3]) -> Series {
        let points = values.iter().enumerate().map(|(at, &value)| (at as f64, value));
        Series::new("", points.collect())
    }

    #[test]
    fn the_claim_needs_lines_in_order_that_rise_until_every_row_is_returned() {
        let most = line([9.0; 3]);
        let holds = |one, other| is_as_claimed(&[line(one), line(other)], &most);
        assert!(holds([5.0, 6.0, 8.0], [1.0, 2.0, 3.0]));
        assert!(holds([9.0, 9.0, 9.0], [1.0, 2.0, 3.0]), "more than every row is not possible");
        assert!(!holds([5.0, 6.0, 8.0], [1.0, 6.0, 7.0]), "the lines meet");
        assert!(!holds([5.0, 4.0, 8.0], [1.0, 2.0, 3.0]), "a line falls");
        assert!(!holds([5.0, 6.0, 8.0], [1.0, 1.0, 1.0]), "a line does not rise");
    }
}
