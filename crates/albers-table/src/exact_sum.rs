//! Sums of floats without rounding.
//!
//! Guarantee: a sum is the same in whatever order and groups its terms come, for all finite floats.
//! Cost: three words per term; 300 bytes per sum.
//!
//! ```text
//!   a float is m * 2^e: m times a count is added at bit e + 1074 of one long whole number
//!
//!   words   | ... | 2 | 1 | 0 |      word 0 begins at the least float, 2^-1074
//! ```

/// The bits of all floats, of 64 more for counts, and of 64 more for what they add up to.
const N_WORDS: usize = (2046 + 53 + 64 + 64) / 64 + 2;

/// A sum of floats, each taken some times. Positive and negative ones are added apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExactSum {
    positive: [u64; N_WORDS],
    negative: [u64; N_WORDS],
}

impl ExactSum {
    /// Of nothing yet.
    pub fn zero() -> ExactSum {
        ExactSum { positive: [0; N_WORDS], negative: [0; N_WORDS] }
    }

    /// Adds a finite float so many times.
    pub fn add(&mut self, number: f64, n_times: u64) {
        let words = if number < 0.0 { &mut self.negative } else { &mut self.positive };
        let (mantissa, place) = parts_of(number);
        let term = u128::from(mantissa) * u128::from(n_times);
        let (word, shift) = (place / 64, place % 64);
        // What does not fit in two words goes to the third.
        let above = if shift == 0 { 0 } else { (term >> (128 - shift)) as u64 };
        let low = term << shift;
        add_at(words, word, [low as u64, (low >> 64) as u64, above]);
    }

    /// Subtracts a finite float so many times.
    pub fn subtract(&mut self, number: f64, n_times: u64) {
        self.add(-number, n_times);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &ExactSum) {
        add_at(&mut self.positive, 0, other.positive);
        add_at(&mut self.negative, 0, other.negative);
    }

    /// The sum as a share of a length that is not 0; nothing below 0 is expected.
    pub fn over(&self, length: f64) -> f64 {
        share_of(&self.positive, &self.negative, length).unwrap_or(0.0)
    }

    /// The sum, which may be below 0, divided by a number of terms that is not 0.
    pub fn mean(&self, n_terms: u64) -> f64 {
        let length = n_terms as f64;
        share_of(&self.positive, &self.negative, length)
            .or_else(|| Some(-share_of(&self.negative, &self.positive, length)?))
            .unwrap_or(0.0)
    }
}

/// What is more than less, as a share of a length; nothing if it is not more.
fn share_of(more: &[u64; N_WORDS], less: &[u64; N_WORDS], length: f64) -> Option<f64> {
    let mut words = *more;
    let mut borrow = false;
    for (word, &less) in words.iter_mut().zip(less) {
        let (difference, first) = word.overflowing_sub(less);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        (*word, borrow) = (difference, first || second);
    }
    let top = words.iter().rposition(|&word| word > 0).filter(|_| !borrow)?;
    // Three words hold more digits than a float.
    let word_at = |down: usize| top.checked_sub(down).map_or(0.0, |at| words[at] as f64);
    let digits = word_at(0) + word_at(1) * 2f64.powi(-64) + word_at(2) * 2f64.powi(-128);
    let exponent = 64 * top as i32 - 1074;
    // By halves: either factor alone may be more than a float holds.
    let half = exponent / 2;
    Some(digits * 2f64.powi(half) / length * 2f64.powi(exponent - half))
}

/// The mantissa of a float, and how far it lies above the least one.
fn parts_of(number: f64) -> (u64, usize) {
    const MANTISSA_BITS: u32 = 52;
    let bits = number.abs().to_bits();
    let (exponent, fraction) = (bits >> MANTISSA_BITS, bits & ((1 << MANTISSA_BITS) - 1));
    match exponent {
        0 => (fraction, 0),
        _ => (fraction | 1 << MANTISSA_BITS, exponent as usize - 1),
    }
}

/// Adds some words from a place on.
fn add_at<const N: usize>(words: &mut [u64; N_WORDS], place: usize, more: [u64; N]) {
    let mut carry = false;
    for (at, word) in words.iter_mut().enumerate().skip(place) {
        let more = more.get(at - place).copied();
        if more.is_none() && !carry {
            break;
        }
        let (sum, first) = word.overflowing_add(more.unwrap_or(0));
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        (*word, carry) = (sum, first || second);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_floats_would_swallow_is_kept() {
        let mut sum = ExactSum::zero();
        sum.add(1e300, 3);
        sum.add(1.0, 7);
        sum.subtract(1e300, 3);
        assert_eq!(sum.over(1.0), 7.0);
        assert_eq!(sum.over(14.0), 0.5);
        sum.subtract(7.0, 1);
        assert_eq!(sum.over(1.0), 0.0);
        let least = f64::from_bits(1);
        sum.add(least, 1 << 40);
        assert_eq!(sum.over(least), (1u64 << 40) as f64);
    }

    #[test]
    fn the_greatest_floats_do_not_overflow() {
        let mut sum = ExactSum::zero();
        sum.add(f64::MAX, u64::MAX);
        sum.subtract(f64::MIN, u64::MAX);
        assert_eq!(sum.over(f64::MAX), 2.0 * u64::MAX as f64);
    }

    #[test]
    fn a_mean_may_be_negative_and_loses_nothing_to_greater_terms() {
        let mut sum = ExactSum::zero();
        [1e17, -7.0, -1e17, 1.0].iter().for_each(|&number| sum.add(number, 1));
        assert_eq!(sum.mean(4), -1.5);
        assert_eq!(ExactSum::zero().mean(3), 0.0);
    }

    proptest! {
        #[test]
        fn sums_do_not_depend_on_the_order(
            terms in prop::collection::vec((any::<f64>(), any::<u64>()), 0..20),
            n_first in 0usize..20,
        ) {
            let terms: Vec<(f64, u64)> =
                terms.into_iter().filter(|(number, _)| number.is_finite()).collect();
            let sum_of = |terms: &[(f64, u64)]| {
                let mut sum = ExactSum::zero();
                terms.iter().for_each(|&(number, n_times)| sum.add(number, n_times));
                sum
            };
            let (first, rest) = terms.split_at(n_first.min(terms.len()));
            let mut parts = sum_of(rest);
            parts.merge(&sum_of(first));
            let reversed: Vec<(f64, u64)> = terms.iter().rev().copied().collect();
            prop_assert_eq!(&parts, &sum_of(&terms));
            prop_assert_eq!(&parts, &sum_of(&reversed));
        }
    }
}
