//! The rules a sensitive column can be put under, and their parameters.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::PrivacyError;
use crate::tolerance::RELATIVE_TOLERANCE;

/// One rule for one sensitive column. What each promises stands in its module.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// At least `l` distinct values; see [`crate::l_diversity`].
    DistinctLDiversity {
        /// Least number of values, at least 1.
        l: u32,
    },
    /// Entropy of at least ln `l`; see [`crate::l_diversity`].
    EntropyLDiversity {
        /// Least exp(entropy), at least 1.
        l: f64,
    },
    /// Recursive (c, l)-diversity; see [`crate::l_diversity`].
    RecursiveDiversity {
        /// The most frequent value stays below `c` times the tail; above 0.
        c: f64,
        /// The tail begins with the `l`-th most frequent value; at least 1.
        l: u32,
    },
    /// Earth mover's distance of at most `t` to the whole table; see [`crate::t_closeness`].
    TCloseness {
        /// Largest distance, in 0..=1.
        t: f64,
    },
    /// No value's share exceeds `alpha`; see [`crate::alpha_k`].
    AlphaK {
        /// Largest share, above 0 and at most 1.
        alpha: f64,
    },
    /// Variance of at least `minimum`; see [`crate::variance_diversity`].
    Variance {
        /// Least variance, at least 0.
        minimum: f64,
    },
}

impl Criterion {
    /// Whether some class could violate it: a diversity of one value asks for nothing.
    pub fn asks_for_something(&self) -> bool {
        match *self {
            Criterion::DistinctLDiversity { l } | Criterion::RecursiveDiversity { l, .. } => l > 1,
            Criterion::EntropyLDiversity { l } => l > 1.0,
            Criterion::TCloseness { t } => t < 1.0,
            Criterion::AlphaK { alpha } => alpha < 1.0,
            Criterion::Variance { minimum } => minimum > 0.0,
        }
    }

    /// Whether no class of one value satisfies it, whatever the table: closeness allows such a class
    /// where the value is frequent.
    pub fn forbids_one_value(&self) -> bool {
        self.asks_for_something() && !matches!(self, Criterion::TCloseness { .. })
    }

    /// Checks that every parameter lies in its range.
    ///
    /// # Errors
    /// Names the first parameter that does not.
    pub fn check(&self) -> Result<(), PrivacyError> {
        const L: &str = "give an l of at least 1 (2 or more to ask for anything)";
        let (parameter, given, in_range, hint) = match *self {
            Self::DistinctLDiversity { l } => ("l", f64::from(l), l >= 1, L),
            Self::EntropyLDiversity { l } => ("l", l, l >= 1.0 && l.is_finite(), L),
            Self::RecursiveDiversity { c, .. } if !(c > 0.0 && c.is_finite()) => {
                ("c", c, false, "give a finite c above 0")
            }
            Self::RecursiveDiversity { l, .. } => ("l", f64::from(l), l >= 1, L),
            Self::TCloseness { t } => {
                ("t", t, (0.0..=1.0).contains(&t), "give a t between 0 and 1")
            }
            Self::AlphaK { alpha } => {
                ("alpha", alpha, alpha > 0.0 && alpha <= 1.0, "give an alpha above 0, at most 1")
            }
            Self::Variance { minimum } => {
                let in_range = minimum >= 0.0 && minimum.is_finite();
                ("the least variance", minimum, in_range, "give a finite number, at least 0")
            }
        };
        if in_range {
            return Ok(());
        }
        Err(PrivacyError::Parameter { parameter, given: given.to_string(), hint })
    }

    /// Whether a class that satisfies the rule still does with any rows added to it.
    pub(crate) fn survives_additions(&self) -> bool {
        match *self {
            Self::DistinctLDiversity { .. } => true,
            Self::EntropyLDiversity { l } => l <= 1.0,
            Self::RecursiveDiversity { l, .. } => l <= 1,
            Self::TCloseness { t } => t >= 1.0,
            Self::AlphaK { alpha } => alpha >= 1.0,
            Self::Variance { minimum } => minimum <= 0.0,
        }
    }

    /// How many distinct values any class has that satisfies the rule, at least.
    pub(crate) fn implied_distinct(&self) -> Option<u32> {
        let l = match *self {
            Self::DistinctLDiversity { l } | Self::RecursiveDiversity { l, .. } => l,
            Self::EntropyLDiversity { l } => u32::try_from(least_integer_near(l)).ok()?,
            Self::AlphaK { alpha } => u32::try_from(least_integer_near(1.0 / alpha)).ok()?,
            Self::Variance { minimum } if minimum > 0.0 => 2,
            Self::Variance { .. } | Self::TCloseness { .. } => return None,
        };
        (l > 1).then_some(l)
    }

    /// A lower bound on the rows of any class that satisfies the rule.
    pub(crate) fn min_rows(&self) -> u64 {
        match *self {
            Self::DistinctLDiversity { l } => u64::from(l),
            Self::EntropyLDiversity { l } => least_integer_near(l),
            Self::RecursiveDiversity { l: 1, .. } => 0,
            // The top count is at least 1: the tail has more than 1 / c rows, beside l - 1 values.
            Self::RecursiveDiversity { c, l } => {
                ((1.0 / c).floor() as u64).saturating_add(u64::from(l))
            }
            Self::TCloseness { .. } => 0,
            Self::AlphaK { alpha } => least_integer_near(1.0 / alpha),
            Self::Variance { minimum } => 2 * u64::from(minimum > 0.0),
        }
    }
}

/// The rule's name with its parameters, such as `distinct 3-diversity`.
impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DistinctLDiversity { l } => write!(f, "distinct {l}-diversity"),
            Self::EntropyLDiversity { l } => write!(f, "entropy {l}-diversity"),
            Self::RecursiveDiversity { c, l } => write!(f, "recursive ({c}, {l})-diversity"),
            Self::TCloseness { t } => write!(f, "{t}-closeness"),
            Self::AlphaK { alpha } => write!(f, "largest share {alpha}"),
            Self::Variance { minimum } => write!(f, "least variance {minimum}"),
        }
    }
}

/// The least integer that is at least `bound` up to the tolerance of the checks; it may be one too
/// small, never too large.
fn least_integer_near(bound: f64) -> u64 {
    (bound * (1.0 - 2.0 * RELATIVE_TOLERANCE)).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_outside_their_range_are_refused() {
        for criterion in [
            Criterion::DistinctLDiversity { l: 0 },
            Criterion::EntropyLDiversity { l: 0.5 },
            Criterion::EntropyLDiversity { l: f64::NAN },
            Criterion::EntropyLDiversity { l: f64::INFINITY },
            Criterion::RecursiveDiversity { c: 0.0, l: 2 },
            Criterion::RecursiveDiversity { c: f64::NAN, l: 2 },
            Criterion::RecursiveDiversity { c: 1.0, l: 0 },
            Criterion::TCloseness { t: -0.1 },
            Criterion::TCloseness { t: 1.1 },
            Criterion::TCloseness { t: f64::NAN },
            Criterion::AlphaK { alpha: 0.0 },
            Criterion::AlphaK { alpha: 1.5 },
            Criterion::AlphaK { alpha: f64::NAN },
            Criterion::Variance { minimum: -1.0 },
            Criterion::Variance { minimum: f64::INFINITY },
        ] {
            assert!(criterion.check().is_err(), "{criterion}");
        }
    }

    #[test]
    fn parameters_at_the_edge_of_their_range_are_accepted() {
        for criterion in [
            Criterion::DistinctLDiversity { l: 1 },
            Criterion::EntropyLDiversity { l: 1.0 },
            Criterion::RecursiveDiversity { c: 0.01, l: 1 },
            Criterion::TCloseness { t: 0.0 },
            Criterion::TCloseness { t: 1.0 },
            Criterion::AlphaK { alpha: 1.0 },
            Criterion::Variance { minimum: 0.0 },
        ] {
            assert_eq!(criterion.check(), Ok(()), "{criterion}");
        }
    }

    #[test]
    fn lower_bounds_on_rows_are_as_computed_by_hand() {
        let bound = |criterion: Criterion| criterion.min_rows();
        assert_eq!(bound(Criterion::DistinctLDiversity { l: 4 }), 4);
        assert_eq!(bound(Criterion::EntropyLDiversity { l: 3.0 }), 3);
        assert_eq!(bound(Criterion::EntropyLDiversity { l: 2.5 }), 3);
        assert_eq!(bound(Criterion::RecursiveDiversity { c: 2.0, l: 3 }), 3);
        assert_eq!(bound(Criterion::RecursiveDiversity { c: 0.5, l: 3 }), 5);
        assert_eq!(bound(Criterion::RecursiveDiversity { c: 0.5, l: 1 }), 0);
        assert_eq!(bound(Criterion::AlphaK { alpha: 0.2 }), 5);
        assert_eq!(bound(Criterion::AlphaK { alpha: 0.3 }), 4);
        assert_eq!(bound(Criterion::Variance { minimum: 1.0 }), 2);
    }
}
