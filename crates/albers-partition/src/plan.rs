//! What a partitioning is to do: what all methods that look at points are given.

use albers_classes::Region;
use albers_classes::space::Space;
use albers_privacy::{Facts, Requirement};

use crate::grain::Grain;
use crate::split::Policy;

/// The most attributes a point can have.
pub const MAX_ATTRIBUTES: usize = 64;

/// What a partitioning is to do.
pub struct Plan<'a> {
    /// The attributes.
    pub space: &'a Space,
    /// What every class must satisfy.
    pub requirement: &'a Requirement,
    /// What the requirement looks at, by row number.
    pub facts: &'a Facts,
    /// How cuts are chosen.
    pub policy: Policy,
    /// Whether the regions of the classes are wanted, not only their points.
    pub keep_regions: bool,
    /// Whether no class on one side of a sampled cut may show what one on the other side shows: then
    /// labels are cut there into one child and all else, never into two runs of children.
    pub labels_apart: bool,
    /// Sizes that decide which cuts are made.
    pub grain: Grain,
    /// Decides which tuples are sampled.
    pub seed: u64,
}

impl Plan<'_> {
    /// No class has fewer rows.
    pub fn min_rows(&self) -> usize {
        usize::try_from(self.requirement.min_rows()).unwrap_or(usize::MAX).max(1)
    }

    /// Whether more than the number of rows decides.
    pub fn has_rule(&self) -> bool {
        self.requirement.is_only_row_count().is_none()
    }
}

/// The region of all points.
pub fn whole_region(plan: &Plan<'_>) -> Option<Region> {
    plan.keep_regions.then(|| vec![(0, u32::MAX); plan.space.axes.len()])
}
