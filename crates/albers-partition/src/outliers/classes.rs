//! Classes whose rows are divided anew together when some of them are left out.

use std::ops::Range;

use albers_classes::points::codes_hash;
use albers_classes::space::Space;
use albers_privacy::{ClassSummary, Facts, Requirement};
use albers_table::mix::mix;
use rayon::prelude::*;

use super::chain::{Chain, TrimmedClass};
use super::choice::{ClassPlace, Offer};
use super::covered::Covered;

/// So many classes before and after another are near to it.
const NEAR: usize = 4;

/// Classes of a first run.
#[derive(Clone, Copy)]
pub struct Classes<'a> {
    /// The attributes.
    pub space: &'a Space,
    /// What every class must satisfy.
    pub requirement: &'a Requirement,
    /// What all rows that stay must satisfy together, unless none are left out.
    pub strictest: &'a Requirement,
    /// The codes of all rows, row by row and class by class; classes near to each other are
    /// neighbours.
    pub codes: &'a [u32],
    /// Where each class ends among the rows.
    pub ends: &'a [u32],
    /// What the requirements look at, in the order of the rows.
    pub facts: &'a Facts,
}

/// What is left of the classes of a first run.
#[derive(Debug, Clone, PartialEq)]
pub struct Trimmed {
    /// Whether each row is left out. Classes that would violate the requirement keep their rows.
    pub is_out: Vec<bool>,
    /// What all rows lose that were to stay, each as its class of the first run is shown now.
    pub loss: f64,
}

impl Classes<'_> {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.ends.last().map_or(0, |&end| end as usize)
    }

    fn rows_of(&self, class: usize) -> Range<usize> {
        let start = if class == 0 { 0 } else { self.ends[class - 1] as usize };
        start..self.ends[class] as usize
    }

    fn row(&self, row: usize) -> &[u32] {
        let n_attributes = self.space.axes.len();
        &self.codes[row * n_attributes..(row + 1) * n_attributes]
    }

    /// Whether some rows satisfy a requirement.
    fn holds(&self, requirement: &Requirement, rows: impl ExactSizeIterator<Item = usize>) -> bool {
        match requirement.is_only_row_count() {
            Some(k) => rows.len() as u64 >= k,
            None => {
                let mut summary = ClassSummary::new(requirement.shape());
                rows.for_each(|row| self.facts.add(row, &mut summary));
                requirement.holds(&summary)
            }
        }
    }

    /// What each class covers.
    pub fn covered(&self) -> Vec<Covered> {
        let of_class =
            |class: usize| Covered::of(self.space, self.rows_of(class).map(|row| self.row(row)));
        (0..self.ends.len()).into_par_iter().map(of_class).collect()
    }

    /// What all rows lose.
    pub fn loss(&self) -> f64 {
        let covered = self.covered();
        let of_class = |(class, own): (usize, &Covered)| {
            self.rows_of(class).len() as f64 * own.loss(self.space)
        };
        covered.iter().enumerate().map(of_class).sum()
    }

    /// What may be left out of a class.
    pub fn chain(&self, covered: &[Covered], class: usize, max_rows: u64) -> Chain {
        let rows = self.rows_of(class);
        let n_attributes = self.space.axes.len();
        let others = class.saturating_sub(NEAR)..(class + NEAR + 1).min(self.ends.len());
        let near: Vec<(&Covered, usize)> = others
            .filter(|&other| other != class)
            .map(|other| (&covered[other], self.rows_of(other).len()))
            .collect();
        let trimmed = TrimmedClass {
            space: self.space,
            codes: &self.codes[rows.start * n_attributes..rows.end * n_attributes],
            near: &near,
            max_rows,
        };
        trimmed.chain(&mut |places| {
            let rows = places.iter().map(|&place| rows.start + place as usize);
            self.holds(self.requirement, rows)
        })
    }

    /// The steps of all classes, as far as what stays satisfies what it must if all of them are taken
    /// in the order of what they save.
    pub fn offers(&self, together: u32, max_rows: u64) -> Vec<Offer> {
        let covered = self.covered();
        let chains: Vec<(Chain, u64)> = (0..self.ends.len())
            .into_par_iter()
            .map(|class| (self.chain(&covered, class, max_rows), self.tie(class)))
            .collect();
        let mut offers: Vec<Offer> = Vec::new();
        for ((chain, tie), class) in chains.iter().zip(0..) {
            let place = ClassPlace { together, class };
            offers.extend(chain.steps().iter().zip(0..).map(|(step, number)| Offer {
                per_row: step.per_row,
                tie: *tie,
                step: number,
                n_rows: step.n_rows,
                place,
            }));
        }
        offers.sort_unstable();
        self.keep_satisfying(&chains, &mut offers);
        offers
    }

    /// A number that tells a class by the codes of its rows, whatever their order.
    fn tie(&self, class: usize) -> u64 {
        let hashes = self.rows_of(class).map(|row| mix(codes_hash(self.row(row))));
        hashes.fold(0, u64::wrapping_add)
    }

    /// Drops the steps after which all rows would violate what they must satisfy together, and those
    /// that follow them in their chains.
    fn keep_satisfying(&self, chains: &[(Chain, u64)], offers: &mut Vec<Offer>) {
        let requirement = self.strictest;
        let by_count = requirement.is_only_row_count();
        let mut summary = ClassSummary::new(requirement.shape());
        if by_count.is_none() {
            (0..self.n_rows()).for_each(|row| self.facts.add(row, &mut summary));
        }
        let mut n_rows = self.n_rows() as u64;
        let mut is_ended = vec![false; chains.len()];
        offers.retain(|offer| {
            let class = offer.place.class as usize;
            if is_ended[class] {
                return false;
            }
            let places = chains[class].0.rows_of(offer.step as usize).iter();
            let rows = places.map(|&place| self.rows_of(class).start + place as usize);
            let n_out = u64::from(offer.n_rows);
            let holds = match by_count {
                Some(k) => n_rows >= n_out + k.max(1),
                None => {
                    rows.clone().for_each(|row| self.facts.remove(row, &mut summary));
                    summary.n_rows() > 0 && requirement.holds(&summary)
                }
            };
            match holds {
                true => n_rows -= n_out,
                false => {
                    is_ended[class] = true;
                    if by_count.is_none() {
                        rows.for_each(|row| self.facts.add(row, &mut summary));
                    }
                }
            }
            holds
        });
    }

    /// Which rows are left out when so many steps are taken of each class, where any are; nothing if
    /// those that stay would not satisfy what they must.
    pub fn left_out(
        &self,
        max_rows: u64,
        n_steps_of: impl Fn(u32) -> Option<u32>,
    ) -> Option<Vec<bool>> {
        let classes = 0..self.ends.len() as u32;
        let taken: Vec<(usize, usize)> = classes
            .filter_map(|class| Some((class as usize, n_steps_of(class)? as usize)))
            .collect();
        if taken.is_empty() {
            return None;
        }
        let covered = self.covered();
        let mut is_out = vec![false; self.n_rows()];
        for (class, n_steps) in taken {
            let start = self.rows_of(class).start;
            let chain = self.chain(&covered, class, max_rows);
            chain
                .first_rows(n_steps)
                .iter()
                .for_each(|&place| is_out[start + place as usize] = true);
        }
        self.stay_together(&is_out).then_some(is_out)
    }

    /// Whether the rows that stay satisfy what they must together.
    fn stay_together(&self, is_out: &[bool]) -> bool {
        let stay: Vec<usize> = (0..self.n_rows()).filter(|&row| !is_out[row]).collect();
        !stay.is_empty() && self.holds(self.strictest, stay.into_iter())
    }

    /// The classes without the rows that are left out. A class that would violate the requirement
    /// keeps its rows, and so do all if those that stay would not satisfy what they must.
    pub fn trimmed(&self, is_out: &[bool]) -> Trimmed {
        let mut trimmed = Trimmed { is_out: is_out.to_vec(), loss: 0.0 };
        for class in 0..self.ends.len() {
            let rows = self.rows_of(class);
            let rest: Vec<usize> = rows.clone().filter(|&row| !is_out[row]).collect();
            if rest.is_empty() {
                continue;
            }
            let holds = self.holds(self.requirement, rest.iter().copied());
            let shown = |rows: &mut dyn Iterator<Item = usize>| {
                Covered::of(self.space, rows.map(|row| self.row(row))).loss(self.space)
            };
            let loss = match holds {
                true => shown(&mut rest.iter().copied()),
                false => {
                    trimmed.is_out[rows.clone()].fill(false);
                    shown(&mut rows.clone())
                }
            };
            trimmed.loss += rest.len() as f64 * loss;
        }
        if !self.stay_together(&trimmed.is_out) {
            trimmed.is_out.fill(false);
        }
        trimmed
    }
}
