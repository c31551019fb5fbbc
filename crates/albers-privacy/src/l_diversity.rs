//! l-diversity: the sensitive values of a class are many (distinct), even (entropy) or not ruled by
//! one (recursive).
//!
//! Source: Machanavajjhala et al. 2007; LeFevre et al. 2008, definitions 2.2 and 2.3.
//! Departures: each sensitive column is looked at alone (see [`crate::Requirement`]).
//!
//! # Guarantee
//! Distinct: a person's class shows at least l values of the column. One of them may still hold
//! nearly all rows, so that a guess is nearly certain.
//!
//! Entropy: the values are as uncertain as l values in equal shares. No value can rule the class;
//! still, values that mean nearly the same count as different.
//!
//! Recursive (c, l): the most frequent value stays below c times all but the l - 1 most frequent
//! ones, so that whoever can rule out l - 2 values still faces no near certainty. With l = 1 it
//! promises nothing.
//!
//! None of them hides what the whole table shows, nor resists knowledge beyond their model.
//!
//! All are monotone under merging: a union has every value of its parts; entropy is concave; and in
//! a union the top count is at most the sum of the parts' top counts while the tail beyond the
//! l - 1 most frequent values is at least the sum of the parts' tails.
//!
//! Cost: O(1), O(d) and O(d) for d distinct values in the class.

use crate::histogram::Histogram;
use crate::tolerance::strictly_below;

/// The largest l for which the class is distinct l-diverse: its number of distinct values.
pub fn distinct_l(class: &Histogram) -> u32 {
    class.n_distinct()
}

/// The largest l for which the class is entropy l-diverse: exp(entropy), 0 when it is empty.
pub fn entropy_l(class: &Histogram) -> f64 {
    if class.n_rows() == 0 {
        return 0.0;
    }
    let n_rows = class.n_rows() as f64;
    // Every term is non-negative, so nothing cancels.
    let entropy: f64 =
        class.iter().map(|(_, n)| n as f64 / n_rows * (n_rows / n as f64).ln()).sum();
    entropy.exp()
}

/// The smallest c beyond which the class is recursive (c, l)-diverse: (c, l) holds for every larger
/// c, and not for this one. Infinite when the class has fewer than l values, 0 when l is 1.
pub fn recursive_c(class: &Histogram, l: u32) -> f64 {
    if l <= 1 {
        return 0.0;
    }
    match top_and_tail(class, l) {
        Some((top, tail)) => top as f64 / tail as f64,
        None => f64::INFINITY,
    }
}

/// Whether top < c * tail, strictly: a tie up to rounding is a tie.
pub(crate) fn is_recursive(class: &Histogram, c: f64, l: u32) -> bool {
    l <= 1
        || top_and_tail(class, l)
            .is_some_and(|(top, tail)| strictly_below(top as f64, c * tail as f64))
}

/// The largest count, and the sum of all counts from the l-th largest on; `None` when the class has
/// fewer than l values.
pub fn top_and_tail(class: &Histogram, l: u32) -> Option<(u64, u64)> {
    if class.n_distinct() < l {
        return None;
    }
    let mut counts: Vec<u64> = class.iter().map(|(_, n)| n).collect();
    let (head, nth, rest) = counts.select_nth_unstable_by(l as usize - 1, |a, b| b.cmp(a));
    let top = head.iter().copied().max().unwrap_or(*nth);
    Some((top, *nth + rest.iter().sum::<u64>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tolerance::at_least;

    fn histogram(counts: &[u64]) -> Histogram {
        let mut histogram = Histogram::new(counts.len() as u32);
        for (code, &n) in counts.iter().enumerate() {
            (0..n).for_each(|_| histogram.add(code as u32));
        }
        histogram
    }

    #[test]
    fn distinct_diversity_ignores_absent_codes() {
        assert_eq!(distinct_l(&histogram(&[5, 0, 1, 0])), 2);
        assert_eq!(distinct_l(&histogram(&[0, 0])), 0);
    }

    #[test]
    fn equal_shares_of_any_number_of_values_reach_that_entropy_diversity() {
        for n_values in 1..200 {
            for share in [1, 3, 7] {
                let class = histogram(&vec![share; n_values]);
                assert!(at_least(entropy_l(&class), n_values as f64), "{n_values} of {share}");
                assert!(!at_least(entropy_l(&class), n_values as f64 + 1e-5));
            }
        }
    }

    #[test]
    fn entropy_diversity_of_a_skewed_class_is_as_computed_by_hand() {
        // H = 1/2 ln 2 + 1/4 ln 4 + 1/4 ln 4 = 3/2 ln 2.
        assert!((entropy_l(&histogram(&[2, 1, 1])) - 2f64.powf(1.5)).abs() < 1e-12);
        assert_eq!(entropy_l(&histogram(&[9])), 1.0);
        assert_eq!(entropy_l(&histogram(&[0])), 0.0);
    }

    #[test]
    fn recursive_diversity_is_strict() {
        // Counts 4, 2, 1, 1: the tail from the 2nd is 4, from the 3rd is 2.
        let class = histogram(&[1, 4, 1, 2]);
        assert_eq!(recursive_c(&class, 2), 1.0);
        assert_eq!(recursive_c(&class, 3), 2.0);
        assert!(!is_recursive(&class, 2.0, 3));
        assert!(is_recursive(&class, 2.001, 3));
    }

    #[test]
    fn recursive_diversity_with_l_one_always_holds() {
        assert!(is_recursive(&histogram(&[9]), 0.001, 1));
        assert_eq!(recursive_c(&histogram(&[9]), 1), 0.0);
    }

    #[test]
    fn recursive_diversity_needs_l_values() {
        assert!(!is_recursive(&histogram(&[1, 1]), 1e9, 3));
        assert_eq!(recursive_c(&histogram(&[1, 1]), 3), f64::INFINITY);
    }

    #[test]
    fn a_tie_hidden_by_rounding_is_not_recursive_diverse() {
        // 0.07 * 100 rounds to slightly more than 7.
        let mut counts = vec![7; 14];
        counts.extend([7, 2]);
        let class = histogram(&counts);
        assert_eq!(top_and_tail(&class, 2), Some((7, 100)));
        assert!(!is_recursive(&class, 0.07, 2));
    }
}
