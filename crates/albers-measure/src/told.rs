//! What classes tell of a column that is published as it is.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, equations 1 and 2.
//! Departures: the paper leaves the base of its logarithms open; entropy is in bits here. Rows
//! without a value have no part in either.
//! Cost: one pass over the rows, and a table of the values of each class.

use std::collections::BTreeMap;

use albers_classes::ClassId;

/// How uncertain a label is for who knows the class of a row: the mean entropy of the labels of a
/// class over all rows that have one, in bits.
pub fn conditional_entropy_bits(classes: &[ClassId], labels: &[Option<u32>]) -> f64 {
    assert_eq!(classes.len(), labels.len(), "every row has a class");
    let mut counts: BTreeMap<ClassId, BTreeMap<u32, u64>> = BTreeMap::new();
    for (&class, &label) in classes.iter().zip(labels) {
        if let Some(label) = label {
            *counts.entry(class).or_default().entry(label).or_default() += 1;
        }
    }
    let log_sum = |n: u64| n as f64 * (n as f64).log2();
    let (mut bits, mut n_all) = (0.0, 0);
    for of_class in counts.values() {
        let n_rows: u64 = of_class.values().sum();
        bits += log_sum(n_rows) - of_class.values().map(|&n| log_sum(n)).sum::<f64>();
        n_all += n_rows;
    }
    bits / n_all.max(1) as f64
}

/// How far a number is from the mean of its class: the mean of the squared distances over all rows
/// that have one.
pub fn mean_squared_error(classes: &[ClassId], numbers: &[Option<f64>]) -> f64 {
    assert_eq!(classes.len(), numbers.len(), "every row has a class");
    let mut of_class: BTreeMap<ClassId, Vec<f64>> = BTreeMap::new();
    for (&class, &number) in classes.iter().zip(numbers) {
        of_class.entry(class).or_default().extend(number);
    }
    let (mut squares, mut n_all) = (0.0, 0);
    for numbers in of_class.values() {
        let mean = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
        squares += numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>();
        n_all += numbers.len();
    }
    squares / n_all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entropy(classes: &[u32], labels: &[u32]) -> f64 {
        let labels: Vec<Option<u32>> = labels.iter().copied().map(Some).collect();
        conditional_entropy_bits(&ids(classes), &labels)
    }

    fn ids(classes: &[u32]) -> Vec<ClassId> {
        classes.iter().map(|&class| ClassId::new(class)).collect()
    }

    #[test]
    fn a_label_that_its_class_tells_has_no_entropy_and_an_even_one_a_bit() {
        assert_eq!(entropy(&[0, 0, 1, 1], &[0, 0, 1, 1]), 0.0);
        assert_eq!(entropy(&[0, 0, 1, 1], &[0, 1, 0, 1]), 1.0);
        assert_eq!(entropy(&[7, 7, 7, 7], &[0, 1, 2, 3]), 2.0);
        assert_eq!(entropy(&[], &[]), 0.0);
        let with_gaps = [Some(0), Some(1), None, None];
        assert_eq!(conditional_entropy_bits(&ids(&[0, 0, 0, 1]), &with_gaps), 1.0);
    }

    #[test]
    fn classes_count_by_their_rows() {
        // Four rows of one bit and twelve of none.
        let classes: Vec<u32> = (0..16).map(|row| u32::from(row >= 4)).collect();
        let labels: Vec<u32> = (0..16).map(|row| u32::from(row < 2)).collect();
        assert!((entropy(&classes, &labels) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn an_error_is_that_from_the_mean_of_the_own_class() {
        let numbers = [1.0, 3.0, 10.0, 10.0].map(Some);
        assert_eq!(mean_squared_error(&ids(&[0, 0, 1, 1]), &numbers), 0.5);
        let with_gaps = [Some(2.0), None, Some(4.0), None];
        assert_eq!(mean_squared_error(&ids(&[0; 4]), &with_gaps), 1.0);
        assert_eq!(mean_squared_error(&[], &[]), 0.0);
    }
}
