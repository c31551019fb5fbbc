//! The best generalization that can be found in a given time, for lattices too large to search.
//!
//! Source: the descents are Datafly's idea (Sweeney 2002) turned around; the bound is that of a
//! best-first search over the order that LeFevre, DeWitt & Ramakrishnan 2005 search breadth-first.
//! Departures: both run on the same lattice and share what they learn.
//! Guarantee: what is returned satisfies; nothing that satisfies costs less than the bound. If both
//! meet, it is the best there is, and the same whatever the time. Otherwise it depends on the time.
//! Cost: as much time as is given, if the best is not proven before; each look takes one pass over
//! the table.
//!
//! ```text
//!        top  ●  satisfies
//!              \      descents: lower one level at a time, the dearest first, while it satisfies
//!               ●───●  incumbent
//!       ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ gap
//!              ○ ○ ○   best-first: cheapest levels first; none below this bound satisfies
//!               \|/
//!     bottom     ○
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use albers_storage::Result;
use rayon::prelude::*;

use crate::choose::{Incumbent, Minimize, judge};
use crate::counted_table::CountedTable;
use crate::found::Generalization;
use crate::lattice::{Lattice, Levels, NodeSet, height_of};
use crate::question::{Question, Verdict};
use crate::walk::{Family, Sourcing, walk};

/// What was found in the time.
pub struct Bounded {
    /// The best; nothing if not even the top satisfies.
    pub best: Option<Generalization>,
    /// Its cost.
    pub cost: f64,
    /// Nothing that satisfies costs less.
    pub bound: f64,
    /// Generalizations that were looked at.
    pub checked: u64,
}

impl Bounded {
    /// How much better the best could be, as a share of its cost.
    pub fn gap(&self) -> f64 {
        if self.cost > 0.0 { ((self.cost - self.bound) / self.cost).max(0.0) } else { 0.0 }
    }
}

/// More open nodes than this are not kept.
const MAX_OPEN: usize = 1 << 21;
/// Nodes that are looked at together.
const BATCH_NODES: usize = 8;

/// Searches until the deadline, or until the best is proven.
pub fn search(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    minimize: Minimize,
    time: std::time::Duration,
) -> Result<Bounded> {
    let start = Instant::now();
    let lasting = question.requirement.lasting_part();
    let relaxed = Question { requirement: &lasting, ..*question };
    let mut hunt = Hunt::new(counted, question, minimize, start + time / 2);
    let top = hunt.heights.clone();
    let top_holds = hunt.look(&top)?.holds;
    if !top_holds && question.is_monotone() {
        return Ok(hunt.finish(f64::INFINITY));
    }
    let floor = hunt.floor(&relaxed)?;
    if top_holds {
        hunt.descend(top, &floor)?;
    }
    hunt.rise_and_descend(&floor)?;
    hunt.improve(&floor)?;
    hunt.deadline = start + time / 4 * 3;
    let by_pairs = hunt.bound_by_pairs(&relaxed, &floor)?;
    hunt.deadline = start + time;
    let bound = hunt.best_first(floor)?.max(by_pairs);
    Ok(hunt.finish(bound))
}

/// A search under way.
struct Hunt<'s> {
    counted: &'s CountedTable<'s>,
    question: &'s Question<'s>,
    minimize: Minimize,
    incumbent: Incumbent<'s>,
    heights: Levels,
    /// Levels that violate, and with them all below, if the question is monotone.
    violating: Vec<Levels>,
    checked: u64,
    deadline: Instant,
}

/// Whether all levels are no higher than others.
fn is_below(levels: &[u16], others: &[u16]) -> bool {
    levels.iter().zip(others).all(|(level, other)| level <= other)
}

impl<'s> Hunt<'s> {
    fn new(
        counted: &'s CountedTable<'s>,
        question: &'s Question<'s>,
        minimize: Minimize,
        deadline: Instant,
    ) -> Hunt<'s> {
        Hunt {
            counted,
            question,
            minimize,
            incumbent: Incumbent::new(counted, minimize),
            heights: counted.heights(),
            violating: Vec::new(),
            checked: 0,
            deadline,
        }
    }
}

impl Hunt<'_> {
    fn finish(self, bound: f64) -> Bounded {
        let cost = self.incumbent.cost();
        Bounded { best: self.incumbent.best, cost, bound: bound.min(cost), checked: self.checked }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    fn look(&mut self, levels: &[u16]) -> Result<Verdict> {
        self.checked += 1;
        let verdict = judge(self.counted, self.question, levels)?;
        self.learn(levels, &verdict);
        Ok(verdict)
    }

    fn learn(&mut self, levels: &[u16], verdict: &Verdict) {
        const MAX_VIOLATING: usize = 512;
        self.incumbent.offer(levels, verdict);
        if !verdict.holds && self.question.is_monotone() && !self.is_known_to_violate(levels) {
            self.violating.retain(|other| !is_below(other, levels));
            if self.violating.len() < MAX_VIOLATING {
                self.violating.push(levels.to_vec());
            }
        }
    }

    fn is_known_to_violate(&self, levels: &[u16]) -> bool {
        self.violating.iter().any(|other| is_below(levels, other))
    }

    /// What levels cost at least, whatever is left out; no less for higher ones.
    fn least_cost(&self, levels: &[u16]) -> f64 {
        match self.minimize {
            Minimize::Ncp => self.counted.least_ncp(levels),
            Minimize::Height => height_of(levels) as f64,
            Minimize::Weights => self.counted.weighted_height(levels),
            // Every row shares its class with as many, or counts for all rows.
            Minimize::Discernibility => {
                let least = self.question.requirement.min_rows().min(self.counted.n_rows());
                self.counted.n_rows() as f64 * least.max(1) as f64
            }
        }
    }

    /// What orders descents and the best-first search: the cost, or the loss where that says
    /// little.
    fn rank(&self, levels: &[u16]) -> f64 {
        match self.minimize {
            Minimize::Discernibility => self.counted.least_ncp(levels),
            _ => self.least_cost(levels),
        }
    }

    /// The lowest level at which each attribute satisfies on its own.
    fn floor(&mut self, relaxed: &Question<'_>) -> Result<Levels> {
        let (counted, heights) = (self.counted, &self.heights);
        let lowest = |attribute: usize| -> Result<(u16, u64)> {
            for level in 0..heights[attribute] {
                let set = counted.derive(counted.table(), &[attribute], &[level])?;
                if relaxed.judge(counted.workspace, &set)?.holds {
                    return Ok((level, u64::from(level) + 1));
                }
            }
            Ok((heights[attribute], u64::from(heights[attribute])))
        };
        let attributes = 0..heights.len();
        let lowest: Vec<(u16, u64)> =
            attributes.into_par_iter().map(lowest).collect::<Result<_>>()?;
        self.checked += lowest.iter().map(|(_, n_looks)| n_looks).sum::<u64>();
        Ok(lowest.into_iter().map(|(level, _)| level).collect())
    }

    /// Lowers one level at a time, the one that saves most first, as long as the rest satisfies.
    fn descend(&mut self, mut levels: Levels, floor: &[u16]) -> Result<()> {
        loop {
            let now = self.rank(&levels);
            let saved = |attribute: usize| {
                let mut lowered = levels.clone();
                lowered[attribute] -= 1;
                now - self.rank(&lowered)
            };
            let can_fall = (0..levels.len()).filter(|&at| levels[at] > floor[at]);
            let mut steps: Vec<(f64, usize)> = can_fall.map(|at| (saved(at), at)).collect();
            steps.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let mut is_lower = false;
            for (_, attribute) in steps {
                if self.is_over() {
                    return Ok(());
                }
                levels[attribute] -= 1;
                if !self.is_known_to_violate(&levels) && self.look(&levels)?.holds {
                    is_lower = true;
                    break;
                }
                levels[attribute] += 1;
            }
            if !is_lower {
                return Ok(());
            }
        }
    }

    /// Raises the attribute with the most values until the rest satisfies, then descends.
    fn rise_and_descend(&mut self, floor: &[u16]) -> Result<()> {
        let mut levels = floor.to_vec();
        while !self.is_over() {
            if !self.is_known_to_violate(&levels) && self.look(&levels)?.holds {
                return self.descend(levels, floor);
            }
            let n_values =
                |attribute: usize| self.counted.dimensions[attribute].n_values(levels[attribute]);
            let can_rise = (0..levels.len()).filter(|&at| levels[at] < self.heights[at]);
            match can_rise.max_by_key(|&at| (n_values(at), Reverse(at))) {
                Some(attribute) => levels[attribute] += 1,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// From the best so far, raises one attribute and descends on the others, while that helps.
    fn improve(&mut self, floor: &[u16]) -> Result<()> {
        let mut is_better = true;
        while is_better && !self.is_over() {
            is_better = false;
            let Some(best) = &self.incumbent.best else { return Ok(()) };
            let (levels, cost) = (best.levels.clone(), self.incumbent.cost());
            for attribute in 0..levels.len() {
                if self.is_over() {
                    return Ok(());
                }
                if levels[attribute] < self.heights[attribute] {
                    let mut raised = levels.clone();
                    raised[attribute] += 1;
                    let mut own_floor = floor.to_vec();
                    own_floor[attribute] = raised[attribute];
                    self.descend(raised, &own_floor)?;
                }
            }
            is_better |= self.incumbent.cost() < cost;
        }
        Ok(())
    }

    /// A bound from pairs of attributes: disjoint pairs add up.
    fn bound_by_pairs(&mut self, relaxed: &Question<'_>, floor: &[u16]) -> Result<f64> {
        if self.minimize == Minimize::Discernibility {
            return Ok(0.0);
        }
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        let n_attributes = floor.len();
        'pairs: for a in 0..n_attributes {
            for b in a + 1..n_attributes {
                if self.is_over() {
                    break 'pairs;
                }
                pairs.push((self.excess_of_pair(relaxed, floor, a, b)?, a, b));
            }
        }
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let mut is_taken = vec![false; n_attributes];
        let mut bound = self.least_cost(floor);
        for (excess, a, b) in pairs {
            if !is_taken[a] && !is_taken[b] {
                (is_taken[a], is_taken[b]) = (true, true);
                bound += excess;
            }
        }
        Ok(bound)
    }

    /// What two attributes cost together beyond their lowest levels, at least.
    fn excess_of_pair(
        &mut self,
        relaxed: &Question<'_>,
        floor: &[u16],
        a: usize,
        b: usize,
    ) -> Result<f64> {
        let lattice = Lattice::new(vec![self.heights[a], self.heights[b]]);
        let mut candidates = NodeSet::empty(lattice.n_nodes());
        for node in 0..lattice.n_nodes() {
            if is_below(&[floor[a], floor[b]], &lattice.levels(node)) {
                candidates.insert(node);
            }
        }
        let family = Family { attributes: vec![a, b], lattice, candidates };
        let source = self.counted.table();
        let sourcing = Sourcing { source, is_table: true, super_roots: false, rollup: true };
        let walked = walk(self.counted, relaxed, &family, sourcing)?;
        self.checked += walked.effort.checked;
        let mut levels = floor.to_vec();
        let base = self.least_cost(&levels);
        let costs = walked.verdicts.iter().map(|&(node, _)| {
            levels[a] = family.lattice.level(node, 0);
            levels[b] = family.lattice.level(node, 1);
            self.least_cost(&levels) - base
        });
        Ok(costs.reduce(f64::min).unwrap_or(0.0).max(0.0))
    }

    /// Looks at the cheapest levels first; returns a bound on all that was not looked at.
    fn best_first(&mut self, floor: Levels) -> Result<f64> {
        let suppresses = self.question.max_suppressed > 0 || !self.question.is_monotone();
        let mut open: BinaryHeap<Reverse<Open>> = BinaryHeap::new();
        open.push(Reverse(Open { rank: Rank(self.rank(&floor)), levels: floor, last: 0 }));
        loop {
            let Some(Reverse(first)) = open.peek() else { return Ok(self.incumbent.cost()) };
            let bound = self.least_cost(&first.levels);
            let is_proven =
                self.minimize != Minimize::Discernibility && bound >= self.incumbent.cost();
            if is_proven || self.is_over() || open.len() > MAX_OPEN {
                return Ok(bound);
            }
            let mut batch: Vec<Open> = Vec::new();
            while batch.len() < BATCH_NODES
                && let Some(Reverse(node)) = open.pop()
            {
                batch.push(node);
            }
            let to_look: Vec<bool> =
                batch.iter().map(|node| !self.is_known_to_violate(&node.levels)).collect();
            let (counted, question) = (self.counted, self.question);
            let verdicts: Vec<Option<Verdict>> = batch
                .par_iter()
                .zip(&to_look)
                .map(|(node, look)| {
                    look.then(|| judge(counted, question, &node.levels)).transpose()
                })
                .collect::<Result<_>>()?;
            for (node, verdict) in batch.into_iter().zip(verdicts) {
                if let Some(verdict) = &verdict {
                    self.checked += 1;
                    self.learn(&node.levels, verdict);
                }
                let holds = verdict.is_some_and(|verdict| verdict.holds);
                // Without suppression nothing above a satisfying node is cheaper.
                if !holds || suppresses {
                    self.open_above(&node, &mut open);
                }
            }
        }
    }

    /// Opens the nodes directly above, each by one way only.
    fn open_above(&self, node: &Open, open: &mut BinaryHeap<Reverse<Open>>) {
        for attribute in node.last..node.levels.len() {
            if node.levels[attribute] < self.heights[attribute] {
                let mut levels = node.levels.clone();
                levels[attribute] += 1;
                if self.least_cost(&levels) < self.incumbent.cost() {
                    let rank = Rank(self.rank(&levels));
                    open.push(Reverse(Open { rank, levels, last: attribute }));
                }
            }
        }
    }
}

/// A node that is still to be looked at.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Open {
    rank: Rank,
    levels: Levels,
    /// The attribute that was raised last; only this and later ones are raised further.
    last: usize,
}

/// A finite number that can be ordered.
#[derive(PartialEq)]
struct Rank(f64);

impl Eq for Rank {}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Rank) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rank {
    fn cmp(&self, other: &Rank) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
