//! Discernibility, certainty penalty and divergence of a release, from what passes the door.
//!
//! Source: Iwuchukwu & Naughton 2007, definitions 3 to 5; Kifer & Gehrke 2006 for the divergence.
//! Departures: an exact category loses 0, not 1 / values, so that a release that changes nothing
//! loses nothing. The divergence counts each row's own class only; where classes overlap in space
//! it is an upper bound.
//! Guarantee: all figures are those of what is shown, recomputed from the published classes, and
//! the same to the last digit in whatever order and groups classes and rows come: only whole
//! numbers are added.
//! Cost: one pass over the rows; classes are sorted one by one to find equal rows.
//!
//! The divergence is in nats, between the table and its release as distributions over the tuples of
//! the quasi-identifiers, and of these and the sensitive columns. A class spreads its rows evenly
//! over the values it covers: the values that occur in the table for ordered attributes, the values
//! of the domain for categories.
//!
//! All of this is over the table's own domain and tells of it: for the owner, not for publication.

use std::collections::BTreeMap;

use albers_classes::Attribute;
use albers_classes::points::codes_hash;
use albers_release::door::{GiantClass, InMemory, LeftOut, Passed, PassedClasses, secret_hash};
use albers_release::{Describer, ShownCell};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// What a release loses, over the domain of its table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// The sum of the squared class sizes.
    pub discernibility: f64,
    /// The sum over rows and attributes of weight times loss.
    pub certainty_penalty: f64,
    /// The certainty penalty as a share of the greatest possible: 0 is nothing lost, 1 everything.
    pub ncp: f64,
    /// The mean loss of each attribute, before weights.
    pub ncp_by_column: BTreeMap<String, f64>,
}

/// The Kullback-Leibler divergence of a release from its table, in nats: never less than it is, and
/// more only where shown classes overlap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Divergence {
    /// Over the tuples of the quasi-identifiers.
    pub quasi: f64,
    /// Over the tuples of the quasi-identifiers and the sensitive columns.
    pub with_sensitive: f64,
}

/// The sums behind a [`Loss`], of some classes: whole numbers, which can be added in any order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) discernibility: u128,
    /// What all rows lose, attribute by attribute, in the steps of its domain.
    pub(crate) by_attribute: Vec<u128>,
    /// The sums over rows of the logarithms that the divergences are the means of.
    pub(crate) log_ratios: LogRatios,
}

/// Sums over rows of the logarithms that divergences are the means of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LogRatios {
    /// Of tuples of the quasi-identifiers.
    pub(crate) quasi: i128,
    /// Of these with the sensitive columns.
    pub(crate) with_sensitive: i128,
}

impl LogRatios {
    pub(crate) fn add(&mut self, other: LogRatios) {
        self.quasi += other.quasi;
        self.with_sensitive += other.with_sensitive;
    }

    /// What the rows of a class of this volume add, with these numbers for the secret and the codes
    /// of each row: per row the logarithm of its tuple's count, times the volume, over the rows of
    /// the class, or those of them that share its secret.
    pub(crate) fn of_class(log_volume: i64, tuples: &mut [(u64, u64)]) -> LogRatios {
        tuples.sort_unstable();
        let log_volumes = i128::from(tuples.len() as u64) * i128::from(log_volume);
        let with_sensitive = log_volumes + log_counts_sorted(tuples);
        if tuples.first().map(|first| first.0) == tuples.last().map(|last| last.0) {
            return LogRatios { quasi: with_sensitive, with_sensitive };
        }
        tuples.iter_mut().for_each(|(secret, _)| *secret = 0);
        tuples.sort_unstable();
        LogRatios { quasi: log_volumes + log_counts_sorted(tuples), with_sensitive }
    }
}

impl Sums {
    pub(crate) fn zero(n_attributes: usize) -> Sums {
        Sums {
            discernibility: 0,
            by_attribute: vec![0; n_attributes],
            log_ratios: LogRatios::default(),
        }
    }

    /// Adds what the cells of a class lose, and returns the logarithm of the volume they cover.
    fn add_cells(&mut self, describers: &[Describer<'_>], cells: &[ShownCell], n_rows: u64) -> i64 {
        let mut volume = Volume::default();
        for (attribute, (describer, &cell)) in describers.iter().zip(cells).enumerate() {
            self.by_attribute[attribute] += times(n_rows, describer.lost_steps(cell));
            volume.extend(describer.n_covered(cell));
        }
        volume.log()
    }

    pub(crate) fn plus(mut self, other: &Sums) -> Sums {
        self.discernibility += other.discernibility;
        self.log_ratios.add(other.log_ratios);
        for (sum, more) in self.by_attribute.iter_mut().zip(&other.by_attribute) {
            *sum += more;
        }
        self
    }

    /// The loss of `n_rows` rows, of attributes that have so many steps.
    pub(crate) fn into_loss<'a>(
        self,
        n_rows: usize,
        attributes: impl Iterator<Item = (&'a Attribute, u64)> + Clone,
    ) -> (Loss, Divergence) {
        let n_rows = n_rows.max(1) as f64;
        let mean_log = |sum: i128| (sum as f64 / LOG_STEPS / n_rows).max(0.0);
        let divergence = Divergence {
            quasi: mean_log(self.log_ratios.quasi),
            with_sensitive: mean_log(self.log_ratios.with_sensitive),
        };
        let weights: f64 = attributes.clone().map(|(attribute, _)| attribute.weight).sum();
        let by_attribute = attributes.zip(&self.by_attribute);
        let losses = by_attribute.map(|((attribute, n_steps), &lost_steps)| {
            (attribute, lost_steps as f64 / n_steps as f64)
        });
        let certainty_penalty: f64 =
            losses.clone().map(|(attribute, loss)| attribute.weight * loss).sum();
        let loss = Loss {
            discernibility: self.discernibility as f64,
            certainty_penalty,
            ncp: certainty_penalty / (n_rows * weights.max(f64::MIN_POSITIVE)),
            ncp_by_column: losses
                .map(|(attribute, loss)| (attribute.domain.name().to_owned(), loss / n_rows))
                .collect(),
        };
        (loss, divergence)
    }
}

/// The product of two counts.
pub(crate) fn times(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

/// The steps in which logarithms are added, of which 1 has so many: 64 bits hold the logarithm of
/// any volume, to 15 digits.
const LOG_STEPS: f64 = (1u64 << 48) as f64;

/// A logarithm in steps.
fn log_steps(log: f64) -> i64 {
    (log * LOG_STEPS).round() as i64
}

/// The sum of the logarithm of a count over so many rows.
fn sum_of_log(n_rows: u64) -> i128 {
    if n_rows < 2 { 0 } else { i128::from(n_rows) * i128::from(log_steps((n_rows as f64).ln())) }
}

/// How many tuples some cells cover: the product of the values that each covers.
pub(crate) struct Volume {
    product: f64,
    /// The logarithm of what no longer fits in the product.
    log: f64,
}

impl Default for Volume {
    fn default() -> Volume {
        Volume { product: 1.0, log: 0.0 }
    }
}

impl Volume {
    /// Adds a cell that covers so many values.
    pub(crate) fn extend(&mut self, n_covered: u64) {
        self.product *= n_covered.max(1) as f64;
        if self.product > 1e200 {
            self.log += self.product.ln();
            self.product = 1.0;
        }
    }

    /// The logarithm, in steps.
    pub(crate) fn log(&self) -> i64 {
        log_steps(self.log + self.product.ln())
    }

    /// The volume of the whole domain.
    pub(crate) fn of_all<'a>(attributes: impl Iterator<Item = &'a Attribute>) -> Volume {
        let mut volume = Volume::default();
        attributes.for_each(|attribute| volume.extend(attribute.domain.n_values()));
        volume
    }
}

/// The loss of a release, from what passes the door: all at once or part by part.
pub struct LossOfParts<'a> {
    attributes: &'a [Attribute],
    sums: Sums,
    n_rows: u64,
    n_left_out: u64,
}

impl<'a> LossOfParts<'a> {
    /// Of no part yet.
    pub fn new(attributes: &'a [Attribute]) -> LossOfParts<'a> {
        LossOfParts { attributes, sums: Sums::zero(attributes.len()), n_rows: 0, n_left_out: 0 }
    }

    /// Adds some classes, or the rows that are left out.
    pub fn add(&mut self, part: &Passed<'_, '_>) {
        let (more, n_rows) = match part {
            Passed::Classes(classes) => (sums_of_classes(*classes), classes.n_rows()),
            Passed::Giant(giant) => (sums_of_giant(giant), giant.n_rows),
            Passed::GiantRows(_) => return,
            Passed::LeftOut(left_out) => {
                self.n_left_out += left_out.n_rows();
                (sums_of_left_out(left_out, self.attributes), left_out.n_rows())
            }
        };
        self.plus(&more, n_rows);
    }

    /// Counts rows that are left out and never came to the door, since the domain does not have their
    /// values. In the divergence each covers the whole domain: who shares its values is not known.
    pub fn leave_out(&mut self, n_rows: u64) {
        let mut sums = lost_by_all(n_rows, self.attributes);
        let log_volume = Volume::of_all(self.attributes.iter()).log();
        let log_volumes = i128::from(n_rows) * i128::from(log_volume);
        sums.log_ratios = LogRatios { quasi: log_volumes, with_sensitive: log_volumes };
        self.n_left_out += n_rows;
        self.plus(&sums, n_rows);
    }

    fn plus(&mut self, more: &Sums, n_rows: u64) {
        let sums = std::mem::replace(&mut self.sums, Sums::zero(0));
        self.sums = sums.plus(more);
        self.n_rows += n_rows;
    }

    /// The loss of all parts, and their divergence from the table.
    pub fn finish(mut self) -> (Loss, Divergence) {
        // A row that is left out could be any of all rows.
        self.sums.discernibility += times(self.n_left_out, self.n_rows);
        let attributes = self.attributes.iter().map(|own| (own, own.domain.n_steps()));
        self.sums.into_loss(self.n_rows as usize, attributes)
    }
}

/// Rows that are left out lose everything. In the divergence they form one class that covers the
/// whole domain.
fn sums_of_left_out(left_out: &LeftOut, attributes: &[Attribute]) -> Sums {
    let log_volume = Volume::of_all(attributes.iter()).log();
    let log_ratios = LogRatios::of_class(log_volume, &mut left_out.tuples().to_vec());
    Sums { log_ratios, ..lost_by_all(left_out.n_rows(), attributes) }
}

/// What so many rows lose that show nothing of any attribute.
fn lost_by_all(n_rows: u64, attributes: &[Attribute]) -> Sums {
    let lost = attributes.iter().map(|attribute| times(n_rows, attribute.domain.n_steps()));
    Sums { by_attribute: lost.collect(), ..Sums::zero(0) }
}

/// The sums of all rows of some classes.
fn sums_of_classes(classes: PassedClasses<'_, '_>) -> Sums {
    const CLASSES_PER_TASK: usize = 4096;
    let nothing = || Sums::zero(classes.describers().len());
    classes
        .classes_by_memory()
        .par_chunks(CLASSES_PER_TASK)
        .map(|met| sums_of(classes, met))
        .reduce(nothing, |sum, task| sum.plus(&task))
}

fn sums_of(classes: PassedClasses<'_, '_>, classes_met: &[InMemory]) -> Sums {
    let describers = classes.describers();
    let mut sums = Sums::zero(describers.len());
    let mut tuples = Vec::new();
    for met in classes_met {
        let class = classes.class_of(met);
        let n_rows = class.n_rows() as u64;
        sums.discernibility += times(n_rows, n_rows);
        let log_volume = sums.add_cells(describers, class.cells, n_rows);
        tuples.clear();
        for (row_idxs, codes) in class.parts() {
            for (row, codes) in row_idxs.iter().zip(codes.chunks_exact(describers.len())) {
                let secrets = classes.sensitive().iter().map(|column| column[row.index()]);
                tuples.push((secret_hash(secrets), codes_hash(codes)));
            }
        }
        sums.log_ratios.add(LogRatios::of_class(log_volume, &mut tuples));
    }
    sums
}

fn sums_of_giant(giant: &GiantClass<'_>) -> Sums {
    let mut sums = Sums::zero(giant.describers.len());
    let n_rows = giant.n_rows;
    sums.discernibility = times(n_rows, n_rows);
    let log_volume = sums.add_cells(&giant.describers, &giant.cells, n_rows);
    let mut by_secret: FxHashMap<u64, u64> = FxHashMap::default();
    let mut by_codes: FxHashMap<u64, u64> = FxHashMap::default();
    let (mut of_tuples, mut n_counted) = (0, 0);
    for ((secret, codes), &n_tuple) in &giant.tuples {
        of_tuples += sum_of_log(n_tuple);
        n_counted += n_tuple;
        *by_secret.entry(*secret).or_insert(0) += n_tuple;
        *by_codes.entry(*codes).or_insert(0) += n_tuple;
    }
    let sum_of = |counts: &FxHashMap<u64, u64>| -> i128 {
        counts.values().map(|&n_rows| sum_of_log(n_rows)).sum()
    };
    let log_volumes = i128::from(n_rows) * i128::from(log_volume);
    sums.log_ratios = LogRatios {
        quasi: log_volumes + sum_of(&by_codes) - sum_of_log(n_counted),
        with_sensitive: log_volumes + of_tuples - sum_of(&by_secret),
    };
    sums
}

/// The sum over rows of the logarithm of how often the row's tuple occurs, less that of how often
/// its secret does; of tuples that are sorted.
fn log_counts_sorted(tuples: &[(u64, u64)]) -> i128 {
    let mut sum = 0;
    for same_secret in tuples.chunk_by(|a, b| a.0 == b.0) {
        sum -= sum_of_log(same_secret.len() as u64);
        for same_tuple in same_secret.chunk_by(|a, b| a.1 == b.1) {
            sum += sum_of_log(same_tuple.len() as u64);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_the_logarithms_of_their_definition() {
        let mut tuples = vec![(1, 1), (2, 7), (1, 1), (1, 3), (2, 7), (1, 1)];
        let expected = 3.0 * 3f64.ln() - 4.0 * 4f64.ln();
        let ratios = LogRatios::of_class(0, &mut tuples);
        let sum = ratios.with_sensitive as f64 / LOG_STEPS;
        assert!((sum - expected).abs() < 1e-13, "{sum} is not {expected}");
        let expected = 3.0 * 3f64.ln() + 2.0 * 2f64.ln() - 6.0 * 6f64.ln();
        let sum = ratios.quasi as f64 / LOG_STEPS;
        assert!((sum - expected).abs() < 1e-13, "{sum} is not {expected}");
        assert_eq!(LogRatios::of_class(7, &mut []), LogRatios::default());
    }

    #[test]
    fn volumes_that_no_float_holds_have_a_logarithm() {
        let mut volume = Volume::default();
        (0..500).for_each(|_| volume.extend(1 << 40));
        let log = volume.log() as f64 / LOG_STEPS;
        assert!((log / (500.0 * 40.0 * 2f64.ln()) - 1.0).abs() < 1e-13);
        assert_eq!(Volume::default().log(), 0);
    }
}
