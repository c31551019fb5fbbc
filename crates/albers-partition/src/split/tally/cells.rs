//! The values of a target among some rows, cell by cell of a feature space.
//!
//! Guarantee: the impurity of a cell is a whole number of steps and follows from what is counted in
//! it, so that their sum does not depend on the order in which rows were added and removed.
//! Cost: O(1) per row; memory for the cells up to the last one that was seen.

use super::{STEP_BITS, STEPS, product};

/// The values of a target, cell by cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellTally {
    /// Of a class.
    Classes {
        /// How many classes there are.
        n_classes: u32,
        /// The sum of the impurities of all cells, in steps.
        impurity: i64,
        /// Rows by cell.
        totals: Vec<u32>,
        /// Rows by cell and class.
        counts: Vec<u32>,
    },
    /// Of a number.
    Numbers {
        /// The sum of the impurities of all cells, in steps.
        impurity: i128,
        /// What the rows of each cell add up to.
        cells: Vec<NumberCell>,
    },
}

/// The numbers of a cell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumberCell {
    n_rows: i128,
    sum: i128,
    squares: i128,
    /// The impurity, in steps.
    impurity: i128,
}

impl NumberCell {
    /// Adds or removes a row; returns by how much the impurity has changed.
    #[inline]
    fn change(&mut self, value: u32, sign: i128) -> i128 {
        let value = i128::from(value);
        self.n_rows += sign;
        self.sum += sign * value;
        self.squares += sign * value * value;
        let earlier = self.impurity;
        self.impurity = match self.n_rows {
            0 => 0,
            n_rows => {
                // Exact about the whole number below the mean, then down to a step.
                let middle = self.sum / n_rows;
                let rest = self.sum - middle * n_rows;
                let about_middle = self.squares - 2 * middle * self.sum + middle * middle * n_rows;
                let beside = ((rest * rest) << STEP_BITS) + n_rows - 1;
                (about_middle << STEP_BITS) - beside / n_rows
            }
        };
        self.impurity - earlier
    }
}

impl CellTally {
    /// No rows of so many classes.
    pub fn of_classes(n_classes: u32) -> CellTally {
        let (totals, counts) = (Vec::new(), Vec::new());
        CellTally::Classes { n_classes, impurity: 0, totals, counts }
    }

    /// No rows with numbers.
    pub fn of_numbers() -> CellTally {
        CellTally::Numbers { impurity: 0, cells: Vec::new() }
    }

    /// Adds a row that has a value.
    #[inline]
    pub fn add(&mut self, cell: u32, value: u32) {
        let cell = cell as usize;
        match self {
            CellTally::Classes { n_classes, impurity, totals, counts } => {
                let n_classes = *n_classes as usize;
                if cell >= totals.len() {
                    totals.resize(cell + 1, 0);
                    counts.resize((cell + 1) * n_classes, 0);
                }
                let total = &mut totals[cell];
                let count = &mut counts[cell * n_classes + value as usize];
                *impurity += product(*total + 1) - product(*total);
                *impurity -= product(*count + 1) - product(*count);
                *total += 1;
                *count += 1;
            }
            CellTally::Numbers { impurity, cells } => {
                if cell >= cells.len() {
                    cells.resize(cell + 1, NumberCell::default());
                }
                *impurity += cells[cell].change(value, 1);
            }
        }
    }

    /// Removes a row that was added.
    #[inline]
    pub fn remove(&mut self, cell: u32, value: u32) {
        let cell = cell as usize;
        match self {
            CellTally::Classes { n_classes, impurity, totals, counts } => {
                let total = &mut totals[cell];
                let count = &mut counts[cell * *n_classes as usize + value as usize];
                *impurity -= product(*total) - product(*total - 1);
                *impurity += product(*count) - product(*count - 1);
                *total -= 1;
                *count -= 1;
            }
            CellTally::Numbers { impurity, cells } => {
                *impurity += cells[cell].change(value, -1);
            }
        }
    }

    /// The sum of the impurities of all cells.
    #[inline]
    pub fn impurity(&self) -> f64 {
        match self {
            CellTally::Classes { impurity, .. } => *impurity as f64 / STEPS,
            CellTally::Numbers { impurity, .. } => *impurity as f64 / STEPS,
        }
    }

    /// How far rounding may have moved the impurity, of these rows or of some of them.
    pub fn rounding(&self) -> f64 {
        let (n_terms, beside) = match self {
            CellTally::Classes { totals, counts, .. } => (totals.len() + counts.len(), 0.0),
            CellTally::Numbers { cells, .. } => (cells.len(), f64::EPSILON * self.impurity()),
        };
        n_terms as f64 / STEPS + beside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::tally::Tally;

    #[test]
    fn an_impurity_is_the_sum_over_the_cells_whatever_the_order() {
        let rows: Vec<(u32, u32)> = (0..60).map(|row| (row * row % 5, row * 7 % 11 % 4)).collect();
        for (mut own, of_cell) in [
            (CellTally::of_classes(4), Tally::of_classes(4)),
            (CellTally::of_numbers(), Tally::of_numbers()),
        ] {
            rows.iter().for_each(|&(cell, value)| own.add(cell, value));
            let expected: f64 = (0..5)
                .map(|cell| {
                    let mut tally = of_cell.clone();
                    rows.iter().filter(|row| row.0 == cell).for_each(|row| tally.add(row.1));
                    tally.impurity()
                })
                .sum();
            assert!((own.impurity() - expected).abs() < 1e-5, "{} {expected}", own.impurity());
            let all = own.clone();
            rows.iter().rev().take(40).for_each(|&(cell, value)| own.remove(cell, value));
            assert!(own.impurity() < all.impurity());
            rows.iter().skip(20).for_each(|&(cell, value)| own.add(cell, value));
            assert_eq!(own, all);
        }
    }

    #[test]
    fn numbers_that_lie_near_each_other_and_far_away_keep_their_differences() {
        let mut own = CellTally::of_numbers();
        for value in [0, 1, 1, u32::MAX - 4, u32::MAX - 2, u32::MAX - 3] {
            own.add(u32::from(value > 1), value);
        }
        assert!((own.impurity() - 2.0 - 2.0 / 3.0).abs() < 1e-5, "{}", own.impurity());
    }
}
