//! The points of a cell, split until no allowable split is left: what Mondrian and the index do with
//! a table, or with a cell of its top.
//!
//! Departures: where regions are known, a cut is moved to a round value between the points of its
//! sides, and to one that no other point has if there is any.
//! Guarantee: every leaf satisfies the requirement if all points do, and has no allowable split
//! unless it has more rows than are cut at once. The tree is a function of the points and their
//! facts, whatever their order and the threads.
//! Cost: O(points * attributes) per level.

mod divide;

use std::ops::Range;

use albers_classes::Region;

use crate::grain::Grain;
use crate::grow::{Arity, Grower, grow_from};
use crate::plan::{CellFacts, Plan};
use crate::sample::tuple_hash;
use crate::split::place::Placement;
use crate::split::rule::{Allowance, Rule};
use crate::split::selection::Selected;
use crate::split::state::NodeState;
use crate::split::{Chooser, Point, Policy};
use crate::split_tree::SplitTree;
use crate::top::SampledTops;

/// How often parts may be divided again before what is left is taken for indivisible.
pub const MAX_DEPTH: usize = 64;

/// Whether a table is cut with all its rows at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableSize {
    /// It is.
    Small,
    /// It is not: also the large nodes of its cells may be weighed on a sample.
    Large,
}

impl TableSize {
    /// Of a table of so many rows.
    pub fn of(n_rows: u64, grain: &Grain) -> TableSize {
        match n_rows > grain.whole_rows as u64 {
            true => TableSize::Large,
            false => TableSize::Small,
        }
    }
}

/// Points that are split, and the place of each in what they were taken from.
pub struct Cell<const L: usize> {
    /// The points, which are moved so that those of a leaf are neighbours.
    pub points: Vec<Point<L>>,
    /// Their places, which move along.
    pub places: Vec<u32>,
    /// What became of the trees that were grown on samples of them.
    pub tops: SampledTops,
}

/// What is known of points from the splits above them.
#[derive(Clone, Default)]
pub struct Start {
    /// What their node knows.
    pub state: NodeState,
    /// Where cuts are placed, where regions are known.
    pub placement: Option<Placement>,
}

impl<const L: usize> Cell<L> {
    /// Points in their order.
    pub fn new(points: Vec<Point<L>>) -> Cell<L> {
        let places = (0..points.len() as u32).collect();
        Cell::at(points, places)
    }

    /// Points with their places.
    fn at(points: Vec<Point<L>>, places: Vec<u32>) -> Cell<L> {
        Cell { points, places, tops: SampledTops::default() }
    }

    /// Splits the points until no allowable split is left. `facts` are by place. More points than
    /// are cut at once are divided first. `region` is that of all points, where regions are known.
    pub fn grow<const M: usize>(
        &mut self,
        plan: &Plan<'_>,
        facts: CellFacts<'_>,
        table: TableSize,
        region: Option<&Region>,
    ) -> SplitTree {
        match self.points.len() > plan.grain.whole_rows {
            true => self.divide::<M>(plan, facts, region, 0),
            false => self.grow_whole::<M>(plan, facts, table, region),
        }
    }

    fn grow_whole<const M: usize>(
        &mut self,
        plan: &Plan<'_>,
        facts: CellFacts<'_>,
        table: TableSize,
        region: Option<&Region>,
    ) -> SplitTree {
        if table == TableSize::Large && plan.policy != Policy::Median {
            self.order_by_content(plan.space.axes.len(), plan.seed);
        }
        if let Some(portfolio) = plan.portfolio {
            return portfolio.grow::<L, M>(self, plan, facts, table);
        }
        let selected = region.and_then(|own| Selected::new(own, plan.predicates()));
        let start = Start {
            state: NodeState::root(selected),
            placement: plan.needs_regions().then(|| Placement::among(&self.points, plan.space)),
        };
        self.grow_below::<M>(plan, facts, table, start)
    }

    /// Splits points that lie below other splits, all of them at once, until no allowable split is
    /// left. A workload must know the impurities of the whole table.
    pub fn grow_below<const M: usize>(
        &mut self,
        plan: &Plan<'_>,
        facts: CellFacts<'_>,
        table: TableSize,
        start: Start,
    ) -> SplitTree {
        let rule = facts.rule.map(|facts| Rule { requirement: plan.requirement, facts });
        let allowance = Allowance { min_rows: plan.min_rows(), rule };
        let Cell { points, places, .. } = self;
        let grower = Grower::<L, M> {
            chooser: Chooser::new(plan.space, plan.policy, table == TableSize::Large)
                .with_exactness(plan.is_exact)
                .with_predicates(plan.predicates())
                .with_gains(plan.gains(facts.targets, points)),
            stop: &|_| Some(allowance),
            arity: Arity::Many,
            placement: start.placement,
        };
        grow_from(&grower, points, places, start.state)
    }

    /// Puts the points in another order of their places.
    pub(crate) fn order_as(&mut self, places: Vec<u32>) {
        let mut found: Vec<(u32, u32)> = self.places.iter().copied().zip(0..).collect();
        found.sort_unstable();
        let at = |place: u32| found[found.partition_point(|own| own.0 < place)].1 as usize;
        self.points = places.iter().map(|&place| self.points[at(place)]).collect();
        self.places = places;
    }

    /// Puts runs of the points in another order, and returns where each of them ends then.
    pub(crate) fn order_by(&mut self, runs: &[Range<u32>]) -> Vec<u32> {
        let all = || runs.iter().flat_map(|run| run.start as usize..run.end as usize);
        self.points = all().map(|at| self.points[at]).collect();
        self.places = all().map(|at| self.places[at]).collect();
        let ends = runs.iter().scan(0, |end, run| {
            *end += run.len() as u32;
            Some(*end)
        });
        ends.collect()
    }

    /// Puts the points in an order that depends on their codes alone, so that a sample of those at
    /// certain places does too.
    fn order_by_content(&mut self, n_attributes: usize, seed: u64) {
        // As much of the hash as fits beside the place.
        let place_bits = usize::BITS - self.points.len().leading_zeros();
        let mask = (1u64 << place_bits) - 1;
        let key = |(place, point): (u64, &Point<L>)| {
            tuple_hash(&point[..n_attributes], seed) & !mask | place
        };
        let mut order: Vec<u64> = (0..).zip(&self.points).map(key).collect();
        order.sort_unstable();
        let point = |key: u64| &self.points[(key & mask) as usize];
        for same in order.chunk_by_mut(|a, b| a & !mask == b & !mask) {
            same.sort_unstable_by(|&a, &b| point(a).cmp(point(b)));
        }
        let places = order.iter().map(|&key| self.places[(key & mask) as usize]).collect();
        self.points = order.iter().map(|&key| *point(key)).collect();
        self.places = places;
    }
}
