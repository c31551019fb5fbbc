//! Discernibility, certainty penalty and divergence of a release, from what passes the door.
//!
//! Source: Iwuchukwu & Naughton 2007, definitions 3 to 5; Kifer & Gehrke 2006 for the divergence.
//! Departures: an exact category loses 0, not 1 / values, so that a release that changes nothing
//! loses nothing. The divergence counts each row's own class only; where classes overlap in space
//! it is an upper bound.
//! Guarantee: all figures are those of what is shown, recomputed from the published classes.
//! Cost: one pass over the rows; classes are sorted one by one to find equal rows.
//!
//! The divergence is in nats, between the table and its release as distributions over the tuples of
//! the quasi-identifiers and the sensitive columns. A class spreads its rows evenly over the values
//! it covers: the values that occur in the table for ordered attributes, the values of the domain
//! for categories.

use std::collections::BTreeMap;

use albers_classes::Attribute;
use albers_classes::points::codes_hash;
use albers_release::door::{GiantClass, LeftOut, Passed, PassedClasses, secret_hash};
use albers_release::{Describer, ShownCell};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// What a release loses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// The sum of the squared class sizes.
    pub discernibility: f64,
    /// The sum over rows and attributes of weight times loss.
    pub certainty_penalty: f64,
    /// The certainty penalty as a share of the greatest possible: 0 is nothing lost, 1 everything.
    pub ncp: f64,
    /// The Kullback-Leibler divergence of the release from the table, in nats.
    pub kl: f64,
    /// The mean loss of each attribute, before weights.
    pub ncp_by_column: BTreeMap<String, f64>,
}

/// The sums behind a [`Loss`], of some classes.
#[derive(Clone)]
pub(crate) struct Sums {
    pub(crate) discernibility: f64,
    /// The losses of all rows, attribute by attribute.
    pub(crate) by_attribute: Vec<f64>,
    /// The sum over rows of the logarithms that the divergence is the mean of.
    pub(crate) log_ratios: f64,
}

impl Sums {
    pub(crate) fn zero(n_attributes: usize) -> Sums {
        Sums { discernibility: 0.0, by_attribute: vec![0.0; n_attributes], log_ratios: 0.0 }
    }

    /// Adds what the cells of a class lose, and returns the logarithm of the volume they cover.
    fn add_cells(&mut self, describers: &[Describer<'_>], cells: &[ShownCell], n_rows: f64) -> f64 {
        let mut log_volume = 0.0;
        let mut volume = 1.0;
        for (attribute, (describer, &cell)) in describers.iter().zip(cells).enumerate() {
            self.by_attribute[attribute] += n_rows * describer.loss(cell);
            volume *= describer.n_covered(cell) as f64;
            if volume > 1e200 {
                log_volume += volume.ln();
                volume = 1.0;
            }
        }
        log_volume + volume.ln()
    }

    pub(crate) fn plus(mut self, other: &Sums) -> Sums {
        self.discernibility += other.discernibility;
        self.log_ratios += other.log_ratios;
        for (sum, more) in self.by_attribute.iter_mut().zip(&other.by_attribute) {
            *sum += more;
        }
        self
    }

    /// The loss of `n_rows` rows.
    pub(crate) fn into_loss<'a>(
        self,
        n_rows: usize,
        attributes: impl Iterator<Item = &'a Attribute> + Clone,
    ) -> Loss {
        let n_rows = n_rows.max(1) as f64;
        let weights: f64 = attributes.clone().map(|attribute| attribute.weight).sum();
        let losses = attributes.zip(&self.by_attribute);
        let certainty_penalty: f64 =
            losses.clone().map(|(attribute, loss)| attribute.weight * loss).sum();
        Loss {
            discernibility: self.discernibility,
            certainty_penalty,
            ncp: certainty_penalty / (n_rows * weights.max(f64::MIN_POSITIVE)),
            kl: (self.log_ratios / n_rows).max(0.0),
            ncp_by_column: losses
                .map(|(attribute, loss)| (attribute.domain.name().to_owned(), loss / n_rows))
                .collect(),
        }
    }
}

/// The loss of a release, from what passes the door: all at once or part by part.
pub struct LossOfParts<'a> {
    attributes: &'a [Attribute],
    sums: Sums,
    n_rows: u64,
}

impl<'a> LossOfParts<'a> {
    /// Of no part yet.
    pub fn new(attributes: &'a [Attribute]) -> LossOfParts<'a> {
        LossOfParts { attributes, sums: Sums::zero(attributes.len()), n_rows: 0 }
    }

    /// Adds some classes, or the rows that are left out.
    pub fn add(&mut self, part: &Passed<'_, '_>) {
        let (more, n_rows) = match part {
            Passed::Classes(classes) => (sums_of_classes(*classes), classes.n_rows()),
            Passed::Giant(giant) => (sums_of_giant(giant), giant.n_rows),
            Passed::LeftOut(left_out) => {
                (sums_of_left_out(left_out, self.attributes), left_out.n_rows())
            }
        };
        let sums = std::mem::replace(&mut self.sums, Sums::zero(0));
        self.sums = sums.plus(&more);
        self.n_rows += n_rows;
    }

    /// The loss of all parts.
    pub fn finish(self) -> Loss {
        self.sums.into_loss(self.n_rows as usize, self.attributes.iter())
    }
}

/// Rows that are left out lose everything. In the divergence they form one class that covers the
/// whole domain.
fn sums_of_left_out(left_out: &LeftOut, attributes: &[Attribute]) -> Sums {
    let n_rows = left_out.n_rows() as f64;
    let volumes = attributes.iter().map(|attribute| (attribute.domain.n_values() as f64).ln());
    let log_volume: f64 = volumes.sum();
    Sums {
        discernibility: n_rows * left_out.n_original() as f64,
        by_attribute: vec![n_rows; attributes.len()],
        log_ratios: n_rows * log_volume + log_counts_sorted(left_out.tuples()),
    }
}

/// The sums of all rows of some classes.
fn sums_of_classes(classes: PassedClasses<'_, '_>) -> Sums {
    const CLASSES_PER_TASK: usize = 4096;
    let n_attributes = classes.describers().len();
    // Tasks are summed in their order, so that the figures do not depend on the threads.
    let by_task: Vec<Sums> = classes
        .classes_by_memory()
        .par_chunks(CLASSES_PER_TASK)
        .map(|class_idxs| sums_of(classes, class_idxs))
        .collect();
    by_task.iter().fold(Sums::zero(n_attributes), |sum, task| sum.plus(task))
}

fn sums_of(classes: PassedClasses<'_, '_>, class_idxs: &[u32]) -> Sums {
    let describers = classes.describers();
    let mut sums = Sums::zero(describers.len());
    let mut tuples = Vec::new();
    for &class_idx in class_idxs {
        let class = classes.class(class_idx as usize);
        let n_rows = class.n_rows() as f64;
        sums.discernibility += n_rows * n_rows;
        let log_volume = sums.add_cells(describers, class.cells, n_rows);
        tuples.clear();
        for (row_ids, codes) in class.parts() {
            for (&row, codes) in row_ids.iter().zip(codes.chunks_exact(describers.len())) {
                let secrets = classes.sensitive().iter().map(|column| column[row as usize]);
                tuples.push((secret_hash(secrets), codes_hash(codes)));
            }
        }
        // Per row: its tuple's count, times the volume, over the rows that share its secret.
        sums.log_ratios += n_rows * log_volume + log_counts(&mut tuples);
    }
    sums
}

fn sums_of_giant(giant: &GiantClass<'_>) -> Sums {
    let mut sums = Sums::zero(giant.describers.len());
    let n_rows = giant.n_rows as f64;
    sums.discernibility = n_rows * n_rows;
    let log_volume = sums.add_cells(&giant.describers, &giant.cells, n_rows);
    let mut by_secret: BTreeMap<u64, f64> = BTreeMap::new();
    // In the order of the hashes, so that the sum does not depend on that of the map.
    let tuples: BTreeMap<_, _> = giant.tuples.iter().collect();
    let mut log_counts = 0.0;
    for ((secret, _), &n_tuple) in tuples {
        let n_tuple = n_tuple as f64;
        log_counts += n_tuple * n_tuple.ln();
        *by_secret.entry(*secret).or_insert(0.0) += n_tuple;
    }
    log_counts -= by_secret.values().map(|n_secret| n_secret * n_secret.ln()).sum::<f64>();
    sums.log_ratios = n_rows * log_volume + log_counts;
    sums
}

/// The sum over rows of the logarithm of how often the row's tuple occurs, less that of how often
/// its secret does.
pub(crate) fn log_counts(tuples: &mut [(u64, u64)]) -> f64 {
    tuples.sort_unstable();
    log_counts_sorted(tuples)
}

/// The same, of tuples that are sorted.
fn log_counts_sorted(tuples: &[(u64, u64)]) -> f64 {
    let mut sum = 0.0;
    for same_secret in tuples.chunk_by(|a, b| a.0 == b.0) {
        let n_secret = same_secret.len() as f64;
        sum -= n_secret * n_secret.ln();
        for same_tuple in same_secret.chunk_by(|a, b| a.1 == b.1) {
            let n_tuple = same_tuple.len() as f64;
            if n_tuple > 1.0 {
                sum += n_tuple * n_tuple.ln();
            }
        }
    }
    sum
}
