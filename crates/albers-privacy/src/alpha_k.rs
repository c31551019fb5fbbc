//! (alpha, k)-anonymity: no sensitive value holds more than a share alpha of a class.
//!
//! Source: Wong, Li, Fu & Wang 2006.
//! Departures: alpha bounds every value of the column, not one chosen value.
//!
//! # Guarantee
//! Whoever finds a person's class can attribute no value of the column to the person with more
//! confidence than alpha. It does not limit how much a class differs from the table, and values
//! that mean nearly the same are bounded one by one. It is monotone under merging, because the top
//! count of a union is at most the sum of its parts' top counts.
//!
//! Cost: O(d) for d distinct values in the class.

use crate::histogram::Histogram;

/// The share of the most frequent value; 0 when the class is empty.
pub fn max_share(class: &Histogram) -> f64 {
    if class.n_rows() == 0 {
        return 0.0;
    }
    class.max_count() as f64 / class.n_rows() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_that_of_the_most_frequent_value() {
        let mut class = Histogram::new(3);
        assert_eq!(max_share(&class), 0.0);
        [0, 1, 1, 2].into_iter().for_each(|code| class.add(code));
        assert_eq!(max_share(&class), 0.5);
    }
}
