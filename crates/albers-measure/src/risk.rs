//! How likely a person is found by somebody who knows that the person is in the table.
//!
//! Source: El Emam's prosecutor risk, with the formulas as ARX computes them.
//! Departures: where subjects are counted, a class hides its subjects, not its rows; the average is
//! then the mean over rows of 1 / subjects of the class.
//! Guarantee: figures of the table alone; nothing is assumed about the population.
//! Cost: one pass over the distinct sizes.

use std::collections::BTreeMap;

use serde::Serialize;

/// How many classes there are of each size. Mergeable, and the same in whatever order the classes
/// came; so many rows have few sizes, so that it stays small.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SizeHistogram {
    /// By the persons that a class hides: its subjects where these are counted, else its rows.
    by_group_size: BTreeMap<u64, ClassesOfSize>,
    /// The rows of the classes with the fewest and with the most.
    row_ends: Option<(u64, u64)>,
}

/// The classes of one size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ClassesOfSize {
    classes: u64,
    rows: u64,
}

impl SizeHistogram {
    /// Adds a class of so many rows that hides so many persons.
    pub fn add(&mut self, n_rows: u64, group_size: u64) {
        let row_ends = Some((n_rows, n_rows));
        self.grow(group_size, ClassesOfSize { classes: 1, rows: n_rows }, row_ends);
    }

    /// Adds all classes of another histogram.
    pub fn merge(&mut self, other: &SizeHistogram) {
        for (&group_size, &of_size) in &other.by_group_size {
            self.grow(group_size, of_size, other.row_ends);
        }
    }

    /// Number of classes.
    pub fn n_classes(&self) -> u64 {
        self.by_group_size.values().map(|of_size| of_size.classes).sum()
    }

    /// Number of rows.
    pub fn n_rows(&self) -> u64 {
        self.by_group_size.values().map(|of_size| of_size.rows).sum()
    }

    /// The fewest persons that a class hides; 0 without classes.
    pub fn least_group_size(&self) -> u64 {
        self.by_group_size.keys().next().copied().unwrap_or(0)
    }

    /// The rows of the classes with the fewest and with the most; 0 without classes.
    pub fn row_ends(&self) -> (u64, u64) {
        self.row_ends.unwrap_or((0, 0))
    }

    fn grow(&mut self, group_size: u64, more: ClassesOfSize, row_ends: Option<(u64, u64)>) {
        let of_size = self.by_group_size.entry(group_size).or_default();
        of_size.classes += more.classes;
        of_size.rows += more.rows;
        self.row_ends = match (self.row_ends, row_ends) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (ends, None) | (None, ends) => ends,
        };
    }
}

/// What those take who ask for no k of their own: groups of five. A convention, and no law.
const USUAL_THRESHOLD: f64 = 0.2;

/// Above which risk a row is said to be at risk, and why there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    risk: f64,
    from: ThresholdFrom,
}

/// Where a threshold comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ThresholdFrom {
    /// It was given.
    Given,
    /// From the k that was asked for, or that a manifest promises: 1 / k.
    K,
    /// Nothing was asked for: 0.2, groups of five, by convention.
    Convention,
}

impl Threshold {
    /// The one that is given, else 1 / k of the k that is asked for, else the usual one.
    pub fn of(given: Option<f64>, k: Option<u64>) -> Threshold {
        let (risk, from) = match (given, k) {
            (Some(risk), _) => (risk, ThresholdFrom::Given),
            (None, Some(k)) => (1.0 / k.max(1) as f64, ThresholdFrom::K),
            (None, None) => (USUAL_THRESHOLD, ThresholdFrom::Convention),
        };
        Threshold { risk, from }
    }
}

/// The risk of being found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Risk {
    /// Risks above this are too high.
    pub threshold: f64,
    /// Where the threshold comes from.
    pub threshold_from: ThresholdFrom,
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
    pub fn of(sizes: &SizeHistogram, threshold: Threshold) -> Risk {
        let Threshold { risk: threshold, from: threshold_from } = threshold;
        let n_rows = sizes.n_rows().max(1) as f64;
        let smallest = sizes.by_group_size.first_key_value();
        let (smallest_size, of_smallest) = smallest.map_or((0, ClassesOfSize::default()), |own| {
            let (&group_size, &of_size) = own;
            (group_size, of_size)
        });
        let by_size = sizes.by_group_size.iter();
        let risky = by_size.clone().filter(|(size, _)| 1.0 / **size as f64 > threshold);
        let rows_above_threshold: u64 = risky.map(|(_, of_size)| of_size.rows).sum();
        let risks = by_size.map(|(&size, of_size)| of_size.rows as f64 / size as f64);
        Risk {
            threshold,
            threshold_from,
            highest: if smallest_size == 0 { 0.0 } else { 1.0 / smallest_size as f64 },
            average: risks.sum::<f64>() / n_rows,
            above_threshold: rows_above_threshold as f64 / n_rows,
            rows_above_threshold,
            smallest_classes: of_smallest.classes,
            rows_in_smallest_classes: of_smallest.rows,
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
pub fn size_bins(sizes: &SizeHistogram) -> Vec<SizeBin> {
    let bin_of = |group_size: u64| group_size.max(1).ilog2();
    let mut group_sizes = sizes.by_group_size.keys().copied();
    let Some(least) = group_sizes.next() else { return Vec::new() };
    let (first, last) = (bin_of(least), bin_of(group_sizes.next_back().unwrap_or(least)));
    let mut bins: Vec<SizeBin> = (first..=last)
        .map(|bin| SizeBin { from: 1 << bin, to: (2u64 << bin) - 1, classes: 0, rows: 0 })
        .collect();
    for (&group_size, of_size) in &sizes.by_group_size {
        let bin = &mut bins[(bin_of(group_size) - first) as usize];
        bin.classes += of_size.classes;
        bin.rows += of_size.rows;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(of: &[(u64, u64)]) -> SizeHistogram {
        let mut sizes = SizeHistogram::default();
        of.iter().for_each(|&(n_rows, group_size)| sizes.add(n_rows, group_size));
        sizes
    }

    #[test]
    fn merged_sizes_are_those_of_all_classes() {
        let all = [(6, 2), (4, 4), (1, 1), (2, 2), (9, 4)];
        for at in 0..=all.len() {
            let (left, right) = all.split_at(at);
            let mut merged = sizes(left);
            merged.merge(&sizes(right));
            assert_eq!(merged, sizes(&all));
            assert_eq!((merged.n_classes(), merged.n_rows()), (5, 22));
            assert_eq!((merged.least_group_size(), merged.row_ends()), (1, (1, 9)));
        }
        assert_eq!(SizeHistogram::default().row_ends(), (0, 0));
    }

    #[test]
    fn risks_are_as_computed_by_hand() {
        let risk =
            Risk::of(&sizes(&[(1, 1), (2, 2), (2, 2), (15, 15)]), Threshold::of(Some(0.09), None));
        assert_eq!((risk.highest, risk.average), (1.0, 4.0 / 20.0));
        assert_eq!((risk.rows_above_threshold, risk.above_threshold), (5, 0.25));
        assert_eq!((risk.smallest_classes, risk.rows_in_smallest_classes), (1, 1));
    }

    #[test]
    fn classes_of_the_k_that_is_asked_for_are_not_above_the_threshold() {
        for k in [2, 3, 5, 7, 11, 49, 103] {
            let risk = Risk::of(&sizes(&[(k, k), (k - 1, k - 1)]), Threshold::of(None, Some(k)));
            assert_eq!((risk.rows_above_threshold, risk.threshold_from), (k - 1, ThresholdFrom::K));
        }
        let usual = Risk::of(&sizes(&[(5, 5), (4, 4)]), Threshold::of(None, None));
        assert_eq!((usual.threshold, usual.rows_above_threshold), (0.2, 4));
        assert_eq!(usual.threshold_from, ThresholdFrom::Convention);
    }

    #[test]
    fn persons_with_many_rows_are_found_more_easily() {
        let risk = Risk::of(&sizes(&[(6, 2), (4, 4)]), Threshold::of(Some(0.3), None));
        assert_eq!((risk.highest, risk.average), (0.5, (6.0 / 2.0 + 4.0 / 4.0) / 10.0));
        assert_eq!((risk.rows_above_threshold, risk.rows_in_smallest_classes), (6, 6));
    }

    #[test]
    fn bins_double_and_reach_from_the_smallest_to_the_largest_class() {
        let bins = size_bins(&sizes(&[(2, 2), (3, 3), (17, 17)]));
        let shown: Vec<_> = bins.iter().map(|b| (b.from, b.to, b.classes, b.rows)).collect();
        assert_eq!(shown, [(2, 3, 2, 5), (4, 7, 0, 0), (8, 15, 0, 0), (16, 31, 1, 17)]);
        assert!(size_bins(&sizes(&[])).is_empty());
    }
}
