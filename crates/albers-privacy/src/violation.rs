//! How a class misses a requirement: what was asked and what was reached, in figures only.

use std::fmt;

use serde::Serialize;

/// On which side of the asked figure a class must lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The figure reached must be at least the one asked.
    AtLeast,
    /// The figure reached must be at most the one asked.
    AtMost,
    /// The figure reached must be strictly below the one asked.
    Below,
}

/// One part of a requirement that a class misses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Violation {
    /// The part, such as `distinct l-diversity of 'disease'`.
    pub what: String,
    /// On which side of `asked` the class must lie.
    pub bound: Bound,
    /// The figure asked.
    pub asked: f64,
    /// The figure the class reaches.
    pub reached: f64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needs = match self.bound {
            Bound::AtLeast => "needs",
            Bound::AtMost => "allows at most",
            Bound::Below => "allows less than",
        };
        let (what, asked) = (&self.what, self.asked);
        write!(f, "{what}: {needs} {asked}, the class reaches {}", figure(self.reached))
    }
}

/// Six significant digits, without trailing zeros.
pub fn figure(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_what_was_asked_and_what_was_reached() {
        let violation = |bound, asked, reached| {
            let what = "distinct l-diversity of 'disease'".to_owned();
            Violation { what, bound, asked, reached }.to_string()
        };
        assert_eq!(
            violation(Bound::AtLeast, 5.0, 3.0),
            "distinct l-diversity of 'disease': needs 5, the class reaches 3"
        );
        assert!(
            violation(Bound::AtMost, 0.2, 1.0 / 3.0)
                .ends_with("allows at most 0.2, the class reaches 0.333333")
        );
        assert!(violation(Bound::Below, 2.0, f64::INFINITY).ends_with("reaches inf"));
    }
}
