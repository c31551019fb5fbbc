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

/// How far a bound of a distance must lie from what it is compared with to decide in its place. It
/// is far above what rounding can do to sums of a few hundred shares.
const CLEARLY: f64 = 1e-9;

/// Whether [`at_most`] holds of every figure up to `most`. Both are shares.
pub(crate) fn clearly_at_most(most: f64, bound: f64) -> bool {
    most <= bound - CLEARLY
}

/// Whether [`at_most`] holds of no figure from `least` on. Both are shares.
pub(crate) fn clearly_above(least: f64, bound: f64) -> bool {
    least > bound * (1.0 + RELATIVE_TOLERANCE) + CLEARLY
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
    fn what_is_clear_is_what_the_comparison_says_in_spite_of_rounding() {
        for bound in [0.0, 1e-12, 0.2, 1.0] {
            for figure in [0.0, bound - 1e-8, bound, bound + 1e-8].map(|own: f64| own.max(0.0)) {
                for off in [-1e-10, 0.0, 1e-10] {
                    assert!(!clearly_at_most(figure + off, bound) || at_most(figure, bound));
                    assert!(!clearly_above(figure + off, bound) || !at_most(figure, bound));
                }
            }
        }
        assert!(clearly_at_most(0.19, 0.2) && clearly_above(0.21, 0.2));
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
        assert!(!clearly_at_most(f64::NAN, 1.0));
    }
}
