//! Comparisons of computed figures with asked ones.
//!
//! Rounding must not refuse a class that reaches a bound exactly: three values in equal shares are
//! entropy 3-diverse even if `exp(H)` comes out as 2.9999999999999996. Non-strict comparisons
//! therefore give way by one part in a billion, far above rounding and far below anything that
//! matters to a person. Strict comparisons err on the other side: a tie up to rounding is a tie,
//! and a tie fails. A figure that is not a number satisfies nothing.

/// How far, relative to the bound, a non-strict comparison gives way to rounding.
pub const RELATIVE_TOLERANCE: f64 = 1e-9;

/// `reached >= bound`, up to rounding. Both are non-negative.
pub(crate) fn at_least(reached: f64, bound: f64) -> bool {
    reached >= bound * (1.0 - RELATIVE_TOLERANCE)
}

/// `reached <= bound`, up to rounding. Both are non-negative.
pub(crate) fn at_most(reached: f64, bound: f64) -> bool {
    reached <= bound * (1.0 + RELATIVE_TOLERANCE)
}

/// `reached < bound`, and not merely through rounding. Both are non-negative.
pub(crate) fn strictly_below(reached: f64, bound: f64) -> bool {
    reached < bound * (1.0 - RELATIVE_TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_does_not_refuse_equality() {
        assert!(at_least(0.1 + 0.2, 0.3) && at_most(0.1 + 0.2, 0.3));
        assert!(at_least(0.3, 0.1 + 0.2) && at_most(0.3, 0.1 + 0.2));
    }

    #[test]
    fn rounding_does_not_turn_a_tie_into_a_strict_win() {
        let (reached, bound) = (7.0, 0.07 * 100.0);
        assert_eq!(Some(std::cmp::Ordering::Less), reached.partial_cmp(&bound), "plainly fooled");
        assert!(!strictly_below(reached, bound));
    }

    #[test]
    fn a_shortfall_of_a_millionth_is_refused() {
        assert!(!at_least(2.999_997, 3.0));
        assert!(!at_most(0.200_000_2, 0.2));
    }

    #[test]
    fn a_bound_of_zero_has_no_tolerance() {
        assert!(at_most(0.0, 0.0));
        assert!(!at_most(f64::MIN_POSITIVE, 0.0));
    }

    #[test]
    fn a_figure_that_is_not_a_number_satisfies_nothing() {
        assert!(!at_least(f64::NAN, 0.0));
        assert!(!at_most(f64::NAN, 1.0));
        assert!(!strictly_below(f64::NAN, 1.0));
    }
}
