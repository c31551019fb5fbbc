//! What the steps of a group tell of the targets of a workload.
//!
//! ```text
//!   rows by rank         n n y │ n n n │ y y │ y y y       each with its class, y or n
//!   gain in bits per row       │       │     │
//!   of a cut between ranks   0.05    0.64   0.30           the second cut tells most
//! ```
//!
//! Source: Fung, Wang & Yu 2005, section 3.1 (`InfoGain`).
//! Departures: as in [`crate::split::workload`], numbers may be targets beside classes, and several
//! targets are a weighted sum. Rows that miss a target count for nothing in it. A gain that
//! rounding may have made is none.
//! Guarantee: gains come of whole numbers, so that no order of rows decides. They are those of all
//! rows with the group, and so never change.
//! Cost: O(rows of the group * targets). Memory for the rows of each attribute by rank, and for the
//! values of each target.

use rayon::prelude::*;

use super::Step;
use super::column::{Column, Span};
use crate::plan::PlannedWorkload;
use crate::split::tally::Tally;
use crate::split::workload::{Target, TargetPlace, Workload};

/// The targets of all rows.
pub struct Targets {
    workload: Workload,
    /// What the impurity of each target counts for.
    scales: Vec<f64>,
    /// The value of each target in each row.
    values: Vec<Vec<u32>>,
    /// The rows of each attribute, in the order of their ranks.
    rows: Vec<Vec<u32>>,
}

/// Tallies that have no rows between groups.
pub struct Tallies {
    whole: Vec<Tally>,
    part: Vec<Tally>,
}

impl Targets {
    /// The targets of the rows of these attributes, which are the whole table.
    pub fn new(own: PlannedWorkload<'_>, columns: &[Column<'_>]) -> Targets {
        let n_rows = columns.first().map_or(0, |column| column.ranks.len());
        let value = |target: &Target, row: usize| {
            target.value_of(match target.place {
                TargetPlace::Axis(axis) => columns[axis].codes[columns[axis].ranks[row] as usize],
                TargetPlace::Carried(place) => own.carried.of_row(row)[place],
            })
        };
        let targets = own.workload.targets.par_iter();
        let values: Vec<Vec<u32>> =
            targets.map(|target| (0..n_rows).map(|row| value(target, row)).collect()).collect();
        let root = |(mut tally, values): (Tally, &Vec<u32>)| {
            values.iter().for_each(|&value| tally.add(value));
            tally.impurity() / n_rows.max(1) as f64
        };
        let roots = own.workload.tallies().into_iter().zip(&values).map(root).collect();
        let workload = Workload { roots, ..own.workload.clone() };
        let rows = columns.par_iter().map(Column::rows_by_rank).collect();
        Targets { scales: workload.scales(), workload, values, rows }
    }

    /// Tallies of no rows.
    pub fn tallies(&self) -> Tallies {
        Tallies { whole: self.workload.tallies(), part: self.workload.tallies() }
    }

    /// What each division of a group tells, per row of the group: one gain for the children of its
    /// node, and one for a cut after each of its ranks but the last.
    pub fn gains(
        &self,
        attribute: usize,
        (column, span): (&Column<'_>, Span),
        step: &Step,
        tallies: &mut Tallies,
    ) -> Vec<f64> {
        let rows = &self.rows[attribute];
        let own = &rows[column.places(span)];
        let parts_of = |ends: &[u32]| -> Vec<&[u32]> {
            Span::parts(span, ends).map(|part| &rows[column.places(part)]).collect()
        };
        let Tallies { whole, part } = tallies;
        own.iter().for_each(|&row| self.add(row, whole));
        let mut gains = match step {
            Step::Cuts(cuts) if cuts.is_empty() => Vec::new(),
            Step::Children(ends) => vec![self.gain_of_parts(&parts_of(ends), whole, part)],
            Step::Cuts(_) => {
                let ranks: Vec<u32> = (span.first..=span.last).collect();
                self.gains_of_cuts(&parts_of(&ranks), whole, part)
            }
        };
        own.iter().for_each(|&row| self.remove(row, whole));
        gains.iter_mut().for_each(|gain| *gain /= own.len() as f64);
        gains
    }

    /// What is gained if each part stands alone.
    fn gain_of_parts(&self, parts: &[&[u32]], whole: &[Tally], part: &mut [Tally]) -> f64 {
        let mut left = vec![0.0; whole.len()];
        for rows in parts {
            rows.iter().for_each(|&row| self.add(row, part));
            left.iter_mut().zip(&*part).for_each(|(left, tally)| *left += tally.impurity());
            rows.iter().for_each(|&row| self.remove(row, part));
        }
        let gains = whole.iter().zip(left).map(|(tally, left)| gained(tally, left, parts.len()));
        gains.zip(&self.scales).map(|(gain, scale)| scale * gain).sum()
    }

    /// What is gained by a cut after each part but the last.
    fn gains_of_cuts(
        &self,
        parts: &[&[u32]],
        whole: &mut [Tally],
        before: &mut [Tally],
    ) -> Vec<f64> {
        let all = whole.to_vec();
        let after = whole;
        let others = &parts[..parts.len() - 1];
        let mut gains = Vec::with_capacity(others.len());
        for rows in others {
            for &row in *rows {
                self.add(row, before);
                self.remove(row, after);
            }
            let sides = before.iter().zip(&*after);
            let left = sides.map(|(before, after)| before.impurity() + after.impurity());
            let told = all.iter().zip(left).map(|(tally, left)| gained(tally, left, 2));
            gains.push(told.zip(&self.scales).map(|(gain, scale)| scale * gain).sum());
        }
        for &row in others.iter().copied().flatten() {
            self.remove(row, before);
            self.add(row, after);
        }
        gains
    }

    fn add(&self, row: u32, tallies: &mut [Tally]) {
        let values = self.values.iter().map(|values| values[row as usize]);
        tallies.iter_mut().zip(values).for_each(|(tally, value)| tally.add(value));
    }

    fn remove(&self, row: u32, tallies: &mut [Tally]) {
        let values = self.values.iter().map(|values| values[row as usize]);
        tallies.iter_mut().zip(values).for_each(|(tally, value)| tally.remove(value));
    }
}

/// What is gained if so much impurity is left in so many parts; nothing that may be rounding.
fn gained(whole: &Tally, left: f64, n_parts: usize) -> f64 {
    let gain = whole.impurity() - left;
    if gain > whole.rounding() * (n_parts + 1) as f64 { gain } else { 0.0 }
}
