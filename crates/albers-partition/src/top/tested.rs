//! The tree of a table or of a part, grown as far as its sample supports it.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 5.2 (Rothko-S).
//! Departures: growth ends where no split is supported, where the tree is as high as it may be, or
//! where it has as many cells as it may, of which the largest are divided first. What the requirement
//! looks at is counted for the tuples of the sample, so that all of it is tested.

use albers_classes::Region;
use albers_privacy::Facts;

use super::Top;
use crate::grow::{Arity, Grower, grow};
use crate::plan::Plan;
use crate::sample::{SampledPoints, Tuples};
use crate::split::Chooser;
use crate::split::place::Placement;
use crate::split::rule::{Allowance, Rule};
use crate::trust::{Population, SampleTest, Trust};

impl Top {
    /// The tree of some rows, as far as a sample of them supports it.
    pub(super) fn tested<const L: usize, const M: usize>(
        tuples: &Tuples,
        n_rows: u64,
        trust: Trust,
        plan: &Plan<'_>,
        region: Option<Region>,
    ) -> Top {
        let n_attributes = plan.space.axes.len();
        let sample = tuples.points::<L>(plan.grain.sample_tuples(n_attributes), n_rows);
        let (facts, targets) = sample.known(plan.n_tested_columns());
        let facts = tested_facts(plan, facts, &sample);
        let population = Population { n_rows, n_sampled: sample.points.len() as u64 };
        let test = SampleTest::new(plan.requirement, plan.min_rows(), trust.test, population);
        let rule = facts.as_ref().map(|facts| Rule { requirement: &test, facts });
        let allowance = Allowance { min_rows: test.least_rows(), rule };
        let mut points = sample.points;
        let grower = Grower::<L, M> {
            chooser: Chooser::new(plan.space, plan.policy, true)
                .with_labels_apart(plan.labels_apart)
                .with_predicates(plan.predicates())
                .with_gains(plan.gains(targets.as_ref(), &points)),
            stop: &|_| Some(allowance),
            arity: Arity::TwoAllowed,
            placement: Some(Placement::default()),
        };
        let mut places: Vec<u32> = (0..points.len() as u32).collect();
        let tree = grow(&grower, &mut points, &mut places, region.as_ref());
        let max_height = trust.height.unwrap_or(usize::MAX);
        let tree = tree.trimmed(plan.grain.top_cells(n_attributes), max_height);
        Top::of_tree(&tree).within(region)
    }
}

/// What the requirement looks at. Persons need no counting: every point is taken for one.
fn tested_facts<const L: usize>(
    plan: &Plan<'_>,
    facts: Option<Facts>,
    sample: &SampledPoints<L>,
) -> Option<Facts> {
    let persons = || Facts {
        subjects: (0..sample.points.len() as u64).collect(),
        sensitive: Vec::new(),
        n_sensitive: 0,
    };
    match (plan.has_rule(), plan.n_tested_columns()) {
        (false, _) => None,
        (true, 0) => Some(persons()),
        (true, _) => facts,
    }
}
