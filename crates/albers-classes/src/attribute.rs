//! A quasi-identifier on its way out.

use albers_table::domain::Domain;

use crate::space::{Axis, Shown};

/// A quasi-identifier: its values, how they are shown and how much they count.
pub struct Attribute {
    /// Its values.
    pub domain: Domain,
    /// How a class shows them.
    pub shown: Shown,
    /// The level of the hierarchy at which every value is shown; without it a class shows the
    /// lowest label that covers its own values.
    pub level: Option<usize>,
    /// How much a loss on it counts.
    pub weight: f64,
    /// Whether it is cut before all others.
    pub preferred: bool,
}

impl Attribute {
    /// The attribute as a method sees it.
    pub fn axis(&self) -> Axis {
        Axis::new(&self.domain, self.shown, self.weight, self.preferred)
    }
}
