//! The best of the generalizations that satisfy.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, section 2.1: minimality is the user's to define.
//! Departures: none.
//! Guarantee: nothing that the search found is better. Without suppression a best one is among the
//! minimal ones, since every cost rises with the levels. With suppression a higher level may leave
//! fewer rows out, so that all satisfying ones are weighed, unless a bound rules them out: the loss
//! of their levels alone, or the rows that even a generalization of them leaves out.
//! Cost: nothing without suppression; else a frequency set for each node that no bound rules out.

use albers_storage::Result;
use rayon::prelude::*;

use crate::counted_table::CountedTable;
use crate::found::{Found, Generalization, judge_nodes};
use crate::lattice::Levels;
use crate::question::{Question, Verdict};

/// What the best generalization has least of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Minimize {
    /// The normalized certainty penalty.
    #[default]
    Ncp,
    /// The sum of the levels.
    Height,
    /// The discernibility.
    Discernibility,
    /// The levels as shares of their hierarchies, with the weights of the attributes.
    Weights,
}

albers_storage::choices!(Minimize {
    Ncp: "ncp", "The normalized certainty penalty, by the weights of the columns";
    Height: "height", "The sum of the levels";
    Discernibility: "discernibility", "The sum of the squared class sizes";
    Weights: "weights", "The levels as shares of their hierarchies, by the weights of the columns";
});

impl Minimize {
    /// The cost of a generalization.
    pub fn cost(self, counted: &CountedTable<'_>, levels: &[u16], verdict: &Verdict) -> f64 {
        match self {
            Minimize::Ncp => counted.ncp(levels, verdict),
            Minimize::Height => counted.height(levels) as f64,
            Minimize::Discernibility => verdict.discernibility,
            Minimize::Weights => counted.weighted_height(levels),
        }
    }
}

const NOTHING_LEFT_OUT: Verdict = Verdict {
    holds: true,
    n_suppressed: 0,
    n_classes: 0,
    discernibility: 0.0,
    suppressed_loss: 0.0,
};

/// The best so far: by its cost, then by what it loses, then the lowest in the lattice.
pub(crate) struct Incumbent<'s> {
    counted: &'s CountedTable<'s>,
    minimize: Minimize,
    pub(crate) best: Option<Generalization>,
    costs: (f64, f64),
}

impl<'s> Incumbent<'s> {
    pub(crate) fn new(counted: &'s CountedTable<'s>, minimize: Minimize) -> Incumbent<'s> {
        Incumbent { counted, minimize, best: None, costs: (f64::INFINITY, f64::INFINITY) }
    }

    pub(crate) fn cost(&self) -> f64 {
        self.costs.0
    }

    /// Takes a generalization if it satisfies and is better.
    pub(crate) fn offer(&mut self, levels: &[u16], verdict: &Verdict) {
        if !verdict.holds {
            return;
        }
        let cost = self.minimize.cost(self.counted, levels, verdict);
        let costs = (without_noise(cost), without_noise(self.counted.ncp(levels, verdict)));
        let is_lower = || self.best.as_ref().is_none_or(|best| levels < &best.levels[..]);
        if costs < self.costs || (costs == self.costs && is_lower()) {
            self.costs = costs;
            self.best = Some(Generalization { levels: levels.to_vec(), verdict: *verdict });
        }
    }
}

/// A cost without its last digits, which depend on the order in which losses were added: levels that
/// lose the same are told apart by nothing but themselves.
fn without_noise(cost: f64) -> f64 {
    match cost.is_finite() {
        true => format!("{cost:.11e}").parse().unwrap_or(cost),
        false => cost,
    }
}

/// Nodes that are looked at together, whatever the number of threads, so that bounds and thus the
/// effort are the same for all.
const BATCH_NODES: usize = 16;

/// The best of what a search found; nothing if it found nothing.
pub fn best(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    found: &Found,
    minimize: Minimize,
) -> Result<Option<Generalization>> {
    let mut incumbent = Incumbent::new(counted, minimize);
    for own in &found.minimal {
        incumbent.offer(&own.levels, &own.verdict);
    }
    if question.max_suppressed > 0 {
        match minimize {
            Minimize::Ncp => least_ncp(counted, question, found, &mut incumbent)?,
            Minimize::Discernibility => {
                least_discernibility(counted, question, found, &mut incumbent)?;
            }
            Minimize::Height | Minimize::Weights => {
                least_levels(counted, question, found, &mut incumbent)?;
            }
        }
    }
    Ok(incumbent.best)
}

/// Weighs the nodes whose cost is known from their levels: those of the least cost.
fn least_levels(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    found: &Found,
    incumbent: &mut Incumbent<'_>,
) -> Result<()> {
    let lattice = &found.lattice;
    let least = incumbent.cost();
    let cost_of =
        |node: &usize| incumbent.minimize.cost(counted, &lattice.levels(*node), &NOTHING_LEFT_OUT);
    let ties: Vec<usize> = found.satisfying.iter().filter(|node| cost_of(node) <= least).collect();
    for (node, verdict) in judge_nodes(counted, question, lattice, &ties)? {
        incumbent.offer(&lattice.levels(node), &verdict);
    }
    Ok(())
}

/// Weighs nodes in the order of what their levels lose, which is a lower bound.
fn least_ncp(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    found: &Found,
    incumbent: &mut Incumbent<'_>,
) -> Result<()> {
    let lattice = &found.lattice;
    let mut nodes: Vec<(f64, usize)> = found
        .satisfying
        .iter()
        .map(|node| (counted.least_ncp(&lattice.levels(node)), node))
        .collect();
    nodes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut crowds = Crowds::new(counted, question);
    let mut nodes = nodes.into_iter().peekable();
    loop {
        let mut batch: Vec<Levels> = Vec::new();
        while batch.len() < BATCH_NODES
            && let Some((_, node)) = nodes.next_if(|(bound, _)| *bound < incumbent.cost())
        {
            let levels = lattice.levels(node);
            if crowds.least_suppressed(&levels) < incumbent.cost() {
                batch.push(levels);
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        let verdicts: Vec<Verdict> = batch
            .par_iter()
            .map(|levels| judge(counted, question, levels))
            .collect::<Result<_>>()?;
        for (levels, verdict) in batch.iter().zip(&verdicts) {
            incumbent.offer(levels, verdict);
        }
        let looked = batch.into_iter().zip(verdicts);
        let most = looked.max_by_key(|(_, verdict)| verdict.n_suppressed);
        if let Some((levels, verdict)) = most {
            crowds.climb(levels, verdict.n_suppressed, found, incumbent)?;
        }
    }
}

pub(crate) fn judge(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    levels: &[u16],
) -> Result<Verdict> {
    question.judge(counted.workspace, &counted.derive_all(counted.table(), levels)?)
}

/// Generalizations that leave so many rows out that nothing below them can be the best.
struct Crowds<'s> {
    counted: &'s CountedTable<'s>,
    question: &'s Question<'s>,
    /// Whether what is below leaves out no fewer rows.
    is_monotone: bool,
    known: Vec<(Levels, f64)>,
}

impl<'s> Crowds<'s> {
    fn new(counted: &'s CountedTable<'s>, question: &'s Question<'s>) -> Crowds<'s> {
        let is_monotone = question.requirement.survives_additions();
        Crowds { counted, question, is_monotone, known: Vec::new() }
    }

    /// The share of rows that some levels leave out at least.
    fn least_suppressed(&self, levels: &[u16]) -> f64 {
        let is_below =
            |other: &Levels| levels.iter().zip(other).all(|(level, other)| level <= other);
        let above = self.known.iter().filter(|(other, _)| is_below(other));
        above.map(|&(_, share)| share).fold(0.0, f64::max)
    }

    /// From levels that leave out too many rows, rises as far as that stays so.
    fn climb(
        &mut self,
        mut levels: Levels,
        n_suppressed: u64,
        found: &Found,
        incumbent: &mut Incumbent<'_>,
    ) -> Result<()> {
        let share = |n_suppressed: u64| n_suppressed as f64 / self.counted.n_rows().max(1) as f64;
        let mut reached = share(n_suppressed);
        if !self.is_monotone || reached < incumbent.cost() {
            return Ok(());
        }
        let heights = self.counted.heights();
        for attribute in 0..levels.len() {
            while levels[attribute] < heights[attribute] {
                levels[attribute] += 1;
                let verdict = judge(self.counted, self.question, &levels)?;
                if found.satisfying.contains(found.lattice.node(&levels)) {
                    incumbent.offer(&levels, &verdict);
                }
                if share(verdict.n_suppressed) < incumbent.cost() {
                    levels[attribute] -= 1;
                    break;
                }
                reached = share(verdict.n_suppressed);
            }
        }
        self.known.push((levels, reached));
        Ok(())
    }
}

/// Weighs nodes from the bottom up: the squares of class sizes only grow from there.
fn least_discernibility(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    found: &Found,
    incumbent: &mut Incumbent<'_>,
) -> Result<()> {
    let lattice = &found.lattice;
    let n_rows = counted.n_rows() as f64;
    let mut bounds = vec![0.0f64; lattice.n_nodes()];
    for nodes in lattice.nodes_by_height() {
        for &node in &nodes {
            let below = lattice.below(node).map(|below| bounds[below]);
            bounds[node] = below.fold(0.0, f64::max);
        }
        let promising =
            |node: &usize| found.satisfying.contains(*node) && bounds[*node] < incumbent.cost();
        let nodes: Vec<usize> = nodes.into_iter().filter(promising).collect();
        for (node, verdict) in judge_nodes(counted, question, lattice, &nodes)? {
            let squares = verdict.discernibility - verdict.n_suppressed as f64 * n_rows;
            bounds[node] = bounds[node].max(squares);
            incumbent.offer(&lattice.levels(node), &verdict);
        }
    }
    Ok(())
}
