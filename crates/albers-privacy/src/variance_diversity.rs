//! Variance diversity: the numbers of a class are spread out.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, definition 2.4.
//! Departures: none; the variance divides by n, as there.
//!
//! # Guarantee
//! The sensitive numbers of a person's class have at least the asked variance, so that the class
//! does not narrow the number down to a small interval around its mean. One outlier can provide all
//! of the variance while the others agree; combine it with l-diversity. It is monotone under
//! merging, because the variance of a union is the mean of the parts' variances, weighted by their
//! sizes, plus the variance between their means.
//!
//! Cost: O(d) for d distinct values in the class.

use crate::histogram::Histogram;

/// The variance (dividing by n) of the class; `numbers` holds the number of each code. 0 when the
/// class is empty.
///
/// # Panics
/// When a code has no number.
pub fn variance(class: &Histogram, numbers: &[f64]) -> f64 {
    let Some((first, _)) = class.iter().next() else {
        return 0.0;
    };
    // Offsets from a value of the class: equal numbers give exactly 0, and large numbers close to
    // each other lose no digits.
    let anchor = numbers[first as usize];
    let n_rows = class.n_rows() as f64;
    let offset = |code: u32| numbers[code as usize] - anchor;
    let mean = class.iter().map(|(code, n)| n as f64 * offset(code)).sum::<f64>() / n_rows;
    let squares = class.iter().map(|(code, n)| n as f64 * (offset(code) - mean).powi(2));
    squares.sum::<f64>() / n_rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class_of(codes: &[u32]) -> Histogram {
        let mut class = Histogram::new(8);
        codes.iter().for_each(|&code| class.add(code));
        class
    }

    #[test]
    fn the_variance_is_as_computed_by_hand() {
        // 1, 2, 3, 6: mean 3, squares 4 + 1 + 0 + 9.
        let numbers = [1.0, 2.0, 3.0, 6.0];
        assert_eq!(variance(&class_of(&[0, 1, 2, 3]), &numbers), 3.5);
        assert_eq!(variance(&class_of(&[]), &numbers), 0.0);
    }

    #[test]
    fn equal_numbers_have_no_variance_however_large() {
        let numbers = [1e308, 0.1];
        assert_eq!(variance(&class_of(&[0, 0, 0]), &numbers), 0.0);
        assert_eq!(variance(&class_of(&[1, 1, 1]), &numbers), 0.0);
    }

    #[test]
    fn large_numbers_close_together_keep_their_variance() {
        let numbers = [1e15, 1e15 + 2.0];
        assert_eq!(variance(&class_of(&[0, 1]), &numbers), 1.0);
    }
}
