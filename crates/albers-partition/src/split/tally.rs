//! The values of a target among some rows, and how impure they are.
//!
//! Guarantee: a tally is made of whole numbers, also its logarithms, which are counted in steps of
//! 2^-20. So it does not depend on the order in which rows were added and removed.
//! Cost: O(1) per row.

mod cells;

use std::sync::OnceLock;

pub use cells::CellTally;

use crate::split::workload::NO_VALUE;

/// The steps in which logarithms are counted, as bits and as a number.
const STEP_BITS: u32 = 20;
pub(crate) const STEPS: f64 = (1 << STEP_BITS) as f64;
/// Products up to that of this number are looked up.
const N_KNOWN: usize = (1 << 17) + 1;

/// The values of a target among some rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tally {
    /// Of a class.
    Classes {
        /// Rows that have one.
        n_rows: u32,
        /// The sum of n log2 n over all classes, in steps.
        inner: i64,
        /// Rows by class.
        counts: Vec<u32>,
    },
    /// Of a number.
    Numbers {
        /// Rows that have one.
        n_rows: u64,
        /// The sum of the numbers.
        sum: i128,
        /// The sum of their squares.
        squares: i128,
    },
    /// Of either, cell by cell of a feature space.
    ByCell(CellTally),
}

impl Tally {
    /// No rows of so many classes.
    pub fn of_classes(n_classes: u32) -> Tally {
        Tally::Classes { n_rows: 0, inner: 0, counts: vec![0; n_classes as usize] }
    }

    /// No rows with numbers.
    pub fn of_numbers() -> Tally {
        Tally::Numbers { n_rows: 0, sum: 0, squares: 0 }
    }

    /// Adds a row.
    #[inline]
    pub fn add(&mut self, value: u32) {
        if value == NO_VALUE {
            return;
        }
        match self {
            Tally::Classes { n_rows, inner, counts } => {
                let count = &mut counts[value as usize];
                *inner += product(*count + 1) - product(*count);
                *count += 1;
                *n_rows += 1;
            }
            Tally::Numbers { n_rows, sum, squares } => {
                let value = i128::from(value);
                *n_rows += 1;
                *sum += value;
                *squares += value * value;
            }
            Tally::ByCell(tally) => tally.add(0, value),
        }
    }

    /// Removes a row that was added.
    #[inline]
    pub fn remove(&mut self, value: u32) {
        if value == NO_VALUE {
            return;
        }
        match self {
            Tally::Classes { n_rows, inner, counts } => {
                let count = &mut counts[value as usize];
                *inner -= product(*count) - product(*count - 1);
                *count -= 1;
                *n_rows -= 1;
            }
            Tally::Numbers { n_rows, sum, squares } => {
                let value = i128::from(value);
                *n_rows -= 1;
                *sum -= value;
                *squares -= value * value;
            }
            Tally::ByCell(tally) => tally.remove(0, value),
        }
    }

    /// Adds so many rows of a class.
    pub(crate) fn add_many(&mut self, class: u32, n_more: u32) {
        let Tally::Classes { n_rows, inner, counts } = self else {
            unreachable!("only classes are counted")
        };
        let count = &mut counts[class as usize];
        *inner += product(*count + n_more) - product(*count);
        *count += n_more;
        *n_rows += n_more;
    }

    /// Removes so many rows of a class that were added.
    pub(crate) fn remove_many(&mut self, class: u32, n_less: u32) {
        let Tally::Classes { n_rows, inner, counts } = self else {
            unreachable!("only classes are counted")
        };
        let count = &mut counts[class as usize];
        *inner -= product(*count) - product(*count - n_less);
        *count -= n_less;
        *n_rows -= n_less;
    }

    /// Adds a row of a cell, which is counted where there is a feature space.
    #[inline]
    pub fn add_in(&mut self, cell: u32, value: u32) {
        match self {
            Tally::ByCell(tally) if value != NO_VALUE => tally.add(cell, value),
            _ => self.add(value),
        }
    }

    /// Removes a row of a cell.
    #[inline]
    pub fn remove_in(&mut self, cell: u32, value: u32) {
        match self {
            Tally::ByCell(tally) if value != NO_VALUE => tally.remove(cell, value),
            _ => self.remove(value),
        }
    }

    /// The impurity of all rows: their number times the entropy in bits, or the sum of the squared
    /// distances from the mean.
    #[inline]
    pub fn impurity(&self) -> f64 {
        match self {
            Tally::Classes { n_rows, inner, .. } => (product(*n_rows) - inner) as f64 / STEPS,
            Tally::Numbers { n_rows: 0, .. } => 0.0,
            Tally::Numbers { n_rows, sum, squares } => {
                // Exact up to the division: about the nearest whole number to the mean.
                let n_rows = i128::from(*n_rows);
                let middle = sum / n_rows;
                let rest = sum - middle * n_rows;
                let about_middle = squares - 2 * middle * sum + middle * middle * n_rows;
                about_middle as f64 - (rest * rest) as f64 / n_rows as f64
            }
            Tally::ByCell(tally) => tally.impurity(),
        }
    }

    /// How far rounding may have moved the impurity, of these rows or of some of them.
    pub fn rounding(&self) -> f64 {
        match self {
            Tally::Classes { n_rows, counts, .. } => {
                // Half a step for all rows, and for each class that some of them have.
                let n_terms = counts.len().min(*n_rows as usize) + 1;
                n_terms as f64 / 2.0 / STEPS
            }
            Tally::Numbers { n_rows, .. } => {
                4.0 * f64::EPSILON * (self.impurity() + *n_rows as f64)
            }
            Tally::ByCell(tally) => tally.rounding(),
        }
    }
}

/// n log2 n, in steps.
#[inline]
pub(crate) fn product(n: u32) -> i64 {
    static KNOWN: OnceLock<Vec<i64>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| (0..N_KNOWN as u32).map(computed).collect());
    known.get(n as usize).copied().unwrap_or_else(|| computed(n))
}

fn computed(n: u32) -> i64 {
    match n {
        0 => 0,
        n => (f64::from(n) * f64::from(n).log2() * STEPS).round() as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impurity_is_that_of_the_definition_whatever_the_order() {
        let values = [3, 1, 1, 0, 3, 3, NO_VALUE, 2, 3];
        let mut classes = Tally::of_classes(4);
        let mut numbers = Tally::of_numbers();
        for value in values {
            classes.add(value);
            numbers.add(value);
        }
        let entropy: f64 =
            [1.0, 2.0, 1.0, 4.0].iter().map(|n| -n / 8.0 * (n / 8.0f64).log2()).sum();
        assert!((classes.impurity() - 8.0 * entropy).abs() < 1e-5, "{}", classes.impurity());
        assert!((numbers.impurity() - 10.0).abs() < 1e-9, "{}", numbers.impurity());
        let (all_classes, all_numbers) = (classes.clone(), numbers.clone());
        for value in [7, 2, 9, 0] {
            numbers.add(value);
            classes.add(value % 4);
        }
        for value in [9, 0, 7, 2] {
            numbers.remove(value);
            classes.remove(value % 4);
        }
        assert_eq!((classes, numbers), (all_classes, all_numbers));
    }

    #[test]
    fn large_numbers_keep_their_small_differences() {
        let mut numbers = Tally::of_numbers();
        for value in [u32::MAX - 4, u32::MAX - 2, u32::MAX - 3] {
            numbers.add(value);
        }
        assert!((numbers.impurity() - 2.0).abs() < 1e-9, "{}", numbers.impurity());
    }
}
