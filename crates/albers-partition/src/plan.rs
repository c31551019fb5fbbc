//! What a partitioning is to do: what all methods that look at points are given.

use albers_classes::region::ALL_CODES;
use albers_classes::space::Space;
use albers_classes::{Region, TargetCodes};
use albers_privacy::{Facts, Requirement};
use albers_table::mix::mix;

use crate::grain::Grain;
use crate::portfolio::Portfolio;
use crate::sample::Tuples;
use crate::split::Point;
use crate::split::Policy;
use crate::split::gain::Gains;
use crate::split::workload::{Predicate, Workload};
use crate::trust::Trust;

pub use crate::split::MAX_ATTRIBUTES;

/// What a partitioning is to do.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// The attributes.
    pub space: &'a Space,
    /// What every class must satisfy.
    pub requirement: &'a Requirement,
    /// What the requirement looks at, by row number.
    pub facts: &'a Facts,
    /// What classes should tell: splits that tell enough of it are chosen first.
    pub workload: Option<PlannedWorkload<'a>>,
    /// How cuts are chosen, where the workload has no say.
    pub policy: Policy,
    /// Whether the regions of the classes are wanted, not only their points.
    pub keep_regions: bool,
    /// Whether no class on one side of a sampled cut may show what one on the other side shows: then
    /// labels are cut there into one child and all else, never into two runs of children.
    pub labels_apart: bool,
    /// Sizes that decide which cuts are made.
    pub grain: Grain,
    /// Whether every cut is weighed on all rows; its grain then cuts every table at once.
    pub is_exact: bool,
    /// How far a sample is trusted, where tests tell it; without it, a sampled top ends at cells.
    pub trust: Option<Trust>,
    /// Decides which tuples are sampled.
    pub seed: u64,
    /// Other ways that may lose less than the policy: regions and workloads know none of them.
    pub portfolio: Option<&'a Portfolio>,
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

    /// What the sample of a whole table is asked of the requirement: the codes of so many columns, if
    /// tests look at them. Otherwise its first cuts are made by counts alone.
    pub fn n_tested_columns(&self) -> usize {
        match self.trust.is_some() && self.has_rule() {
            true => self.requirement.columns().len(),
            false => 0,
        }
    }

    /// Decides which tuples of a part are sampled, below so many other samples. Where tests ask the
    /// sample, it must not be the one that chose the cuts above.
    pub fn sample_seed(&self, depth: usize) -> u64 {
        match self.trust {
            None => self.seed,
            Some(_) => self.seed ^ mix(depth as u64 + 1),
        }
    }

    /// Whether rows carry something of the workload.
    pub fn has_carried_targets(&self) -> bool {
        self.workload.is_some_and(|own| own.workload.has_carried())
    }

    /// What rows carry of the workload, where they do.
    pub fn carried_targets(&self) -> Option<&TargetCodes> {
        self.workload.filter(|own| own.workload.has_carried()).map(|own| own.carried)
    }

    /// The same plan, with a workload that knows the impurities of the whole table.
    pub fn with_workload<'w>(&'w self, rooted: Option<&'w Workload>) -> Plan<'w> {
        let workload = self.workload.zip(rooted);
        let workload = workload.map(|(own, workload)| PlannedWorkload { workload, ..own });
        Plan { workload, ..*self }
    }

    /// Forgets tuples of a sample that are taken out of their cells, and tells how many rows they have.
    pub fn drop_heavy(&self, tuples: &mut Tuples) -> u64 {
        match self.portfolio.is_some_and(Portfolio::joins_leaves) {
            true => tuples.drop_heavy(self.grain.whole_rows as u64 / 2),
            false => 0,
        }
    }

    /// What the workload gains by splits of some points.
    pub(crate) fn gains<'g, const L: usize>(
        &self,
        carried: Option<&'g TargetCodes>,
        points: &[Point<L>],
    ) -> Option<Gains<'g>> {
        let workload = self.workload.filter(|own| !own.workload.targets.is_empty());
        workload.map(|own| Gains::new(own.workload, carried, points))
    }

    /// Whether regions must be known: they are wanted, or predicates look at them.
    pub(crate) fn needs_regions(&self) -> bool {
        self.keep_regions || !self.predicates().is_empty()
    }

    /// What the release will be asked for.
    pub(crate) fn predicates(&self) -> &[Predicate] {
        self.workload.map_or(&[], |own| &own.workload.predicates)
    }
}

/// What classes should tell.
#[derive(Clone, Copy)]
pub struct PlannedWorkload<'a> {
    /// The targets.
    pub workload: &'a Workload,
    /// What rows carry of them, by row number; empty where rows are packed.
    pub carried: &'a TargetCodes,
}

/// What is known of the rows of a cell besides their codes, by their places in it.
#[derive(Clone, Copy, Default)]
pub struct CellFacts<'a> {
    /// What the requirement looks at, where more than the number of rows decides.
    pub rule: Option<&'a Facts>,
    /// What rows carry of the workload, where they do.
    pub targets: Option<&'a TargetCodes>,
}

impl CellFacts<'_> {
    /// All that is known of a row, as codes: first for the requirement, then for the workload.
    pub fn codes(&self, place: usize, out: &mut Vec<u32>) {
        out.clear();
        out.extend(self.rule.into_iter().flat_map(|facts| facts.codes(place)));
        out.extend(self.targets.into_iter().flat_map(|targets| targets.of_row(place)));
    }

    /// Whether anything is known.
    pub fn is_something(&self) -> bool {
        self.rule.is_some() || self.targets.is_some()
    }
}

/// The region of all points, where regions must be known.
pub fn whole_region(plan: &Plan<'_>) -> Option<Region> {
    plan.needs_regions().then(|| vec![ALL_CODES; plan.space.axes.len()])
}
