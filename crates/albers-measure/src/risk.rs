//! How likely a person is found by somebody who knows that the person is in the table.
//!
//! Source: El Emam's prosecutor risk, with the formulas as ARX computes them.
//! Departures: where subjects are counted, a class hides its subjects, not its rows; the average is
//! then the mean over rows of 1 / subjects of the class.
//! Guarantee: figures of the table alone; nothing is assumed about the population.
//! Cost: one pass over the class sizes.

use serde::Serialize;

/// The sizes of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassSizes {
    /// Its rows.
    pub n_rows: u64,
    /// The persons it hides: its subjects where these are counted, else its rows.
    pub group_size: u64,
}

/// The risk of being found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Risk {
    /// Risks above this are too high.
    pub threshold: f64,
    /// The risk of a row of the smallest class: 1 / its size.
    pub highest: f64,
    /// The mean risk of all rows: classes / rows.
    pub average: f64,
    /// The share of rows whose risk is above the threshold.
    pub above_threshold: f64,
    /// How many rows that are.
    pub rows_above_threshold: u64,
    /// How many classes have the smallest size.
    pub smallest_classes: u64,
    /// How many rows are in them.
    pub rows_in_smallest_classes: u64,
}

impl Risk {
    /// The risk of a table whose classes have these sizes.
    pub fn of(sizes: &[ClassSizes], threshold: f64) -> Risk {
        let n_rows: u64 = sizes.iter().map(|class| class.n_rows).sum();
        let smallest = sizes.iter().map(|class| class.group_size).min().unwrap_or(0);
        let risk = |class: &ClassSizes| 1.0 / class.group_size as f64;
        let rows = |test: &dyn Fn(&ClassSizes) -> bool| -> u64 {
            sizes.iter().filter(|class| test(class)).map(|class| class.n_rows).sum()
        };
        let rows_above_threshold = rows(&|class| risk(class) > threshold);
        let n = n_rows.max(1) as f64;
        Risk {
            threshold,
            highest: if smallest == 0 { 0.0 } else { 1.0 / smallest as f64 },
            average: sizes.iter().map(|class| class.n_rows as f64 * risk(class)).sum::<f64>() / n,
            above_threshold: rows_above_threshold as f64 / n,
            rows_above_threshold,
            smallest_classes: sizes.iter().filter(|class| class.group_size == smallest).count()
                as u64,
            rows_in_smallest_classes: rows(&|class| class.group_size == smallest),
        }
    }
}

/// The classes whose size lies in an interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SizeBin {
    /// Least size.
    pub from: u64,
    /// Greatest size.
    pub to: u64,
    /// How many classes there are.
    pub classes: u64,
    /// How many rows they have.
    pub rows: u64,
}

/// Classes by size, in bins that double: 1, 2 to 3, 4 to 7, from the first bin with a class to the
/// last one.
pub fn size_bins(sizes: &[ClassSizes]) -> Vec<SizeBin> {
    let bin_of = |class: &ClassSizes| class.group_size.max(1).ilog2();
    let Some(first) = sizes.iter().map(bin_of).min() else { return Vec::new() };
    let last = sizes.iter().map(bin_of).max().unwrap_or(first);
    let mut bins: Vec<SizeBin> = (first..=last)
        .map(|bin| SizeBin { from: 1 << bin, to: (2u64 << bin) - 1, classes: 0, rows: 0 })
        .collect();
    for class in sizes {
        let bin = &mut bins[(bin_of(class) - first) as usize];
        bin.classes += 1;
        bin.rows += class.n_rows;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(of: &[(u64, u64)]) -> Vec<ClassSizes> {
        of.iter().map(|&(n_rows, group_size)| ClassSizes { n_rows, group_size }).collect()
    }

    #[test]
    fn risks_are_as_computed_by_hand() {
        let risk = Risk::of(&sizes(&[(1, 1), (2, 2), (2, 2), (15, 15)]), 0.09);
        assert_eq!((risk.highest, risk.average), (1.0, 4.0 / 20.0));
        assert_eq!((risk.rows_above_threshold, risk.above_threshold), (5, 0.25));
        assert_eq!((risk.smallest_classes, risk.rows_in_smallest_classes), (1, 1));
    }

    #[test]
    fn persons_with_many_rows_are_found_more_easily() {
        let risk = Risk::of(&sizes(&[(6, 2), (4, 4)]), 0.3);
        assert_eq!((risk.highest, risk.average), (0.5, (6.0 / 2.0 + 4.0 / 4.0) / 10.0));
        assert_eq!((risk.rows_above_threshold, risk.rows_in_smallest_classes), (6, 6));
    }

    #[test]
    fn bins_double_and_reach_from_the_smallest_to_the_largest_class() {
        let bins = size_bins(&sizes(&[(2, 2), (3, 3), (17, 17)]));
        let shown: Vec<_> = bins.iter().map(|b| (b.from, b.to, b.classes, b.rows)).collect();
        assert_eq!(shown, [(2, 3, 2, 5), (4, 7, 0, 0), (8, 15, 0, 0), (16, 31, 1, 17)]);
        assert!(size_bins(&[]).is_empty());
    }
}
