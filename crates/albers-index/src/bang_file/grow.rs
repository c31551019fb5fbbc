//! How blocks come about: a region is taken out of a block wherever both have enough.
//!
//! ```text
//!   ┌───────────────┐    halved again and again, into the denser half each time:
//!   │ ·   ·         │      all 12   ▸  left 9 | right 3   ▸  lower left 6 | upper left 3 ▸ ..
//!   │ ┌────────┐  · │    of all halves on that way, the one that divides the rows best; the block
//!   │ │::: ::  │    │    keeps its region and the rows outside, and both go on
//!   └─┴────────┴────┘
//! ```
//!
//! Source: Freeston 1987 (balanced splits by iterative halving); Anjum & Raschia 2017, section 3.3.
//! Departures: no block is split at a fixed size, but wherever both parts satisfy the whole
//! requirement; whole blocks are split, not single insertions, so that the order of the rows has no
//! part in it. The other half of each step is a candidate too. Without nesting a region is only
//! halved where both halves satisfy, and a half without rows is cut off.
//! Guarantee: every block satisfies the requirement if all rows together do; rows with equal keys
//! stay together; the result depends on neither the order of the rows nor the threads. A row's
//! block is that of the smallest region that holds its key.
//! Cost: O(rows log rows) where the number of rows decides, since a split leaves a third on each
//! side or a part of equal keys; a rule that allows only uneven splits takes more. No recursion.

use std::ops::Range;

use albers_partition::split::rule::{Allowance, Rule};
use albers_privacy::ClassSummary;
use albers_storage::Result;
use albers_storage::watch::Watch;
use rayon::prelude::*;

use super::key::{bit, common_bits};
use super::sorted::SortedKeys;

/// Rows that are one class, and the region that they are the own rows of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// A place in key order that lies in the region: the region's bits are the first of its key.
    pub at: u32,
    /// How many bits those are.
    pub n_bits: u32,
    /// The places of its own rows in key order, ascending.
    pub places: Vec<u32>,
}

/// Divides all rows into blocks, with regions in regions or side by side.
pub(super) fn grow(
    keys: &SortedKeys,
    allowance: Allowance<'_>,
    nests: bool,
    watch: &dyn Watch,
) -> Result<Vec<Block>> {
    let n_rows = keys.n_rows() as u32;
    let mut pending = vec![Block { at: 0, n_bits: 0, places: (0..n_rows).collect() }];
    let mut done = Vec::new();
    let grower = Grower { keys, allowance };
    while !pending.is_empty() {
        let grown: Vec<Grown> = pending
            .into_par_iter()
            .map_init(
                || Judge::new(allowance.rule),
                |judge, block| {
                    watch.check()?;
                    Ok(if nests { grower.split(block, judge) } else { grower.halve(&block, judge) })
                },
            )
            .collect::<Result<_>>()?;
        pending = Vec::new();
        for grown in grown {
            if let Some(block) = grown.done {
                watch.done(block.places.len() as u64)?;
                done.push(block);
            }
            pending.extend(grown.pending);
        }
    }
    Ok(done)
}

/// What became of a block.
#[derive(Default)]
struct Grown {
    done: Option<Block>,
    pending: Vec<Block>,
}

struct Grower<'a> {
    keys: &'a SortedKeys,
    allowance: Allowance<'a>,
}

/// A region that may become a block of its own: the rows inside are a run of the block's rows.
struct Candidate {
    run: Range<usize>,
    n_bits: usize,
    /// How far it is from taking one half of the rows, twice.
    imbalance: usize,
}

impl Grower<'_> {
    /// Takes the region out of a block that divides its rows best, if any may be.
    fn split(&self, block: Block, judge: &mut Judge<'_>) -> Grown {
        let Some(best) = self.best_candidate(&block.places, judge) else {
            return Grown { done: Some(block), pending: Vec::new() };
        };
        let Block { at, n_bits, places } = block;
        let inside = places[best.run.clone()].to_vec();
        let outside = [&places[..best.run.start], &places[best.run.end..]].concat();
        let inner = Block { at: inside[0], n_bits: best.n_bits as u32, places: inside };
        Grown { done: None, pending: vec![inner, Block { at, n_bits, places: outside }] }
    }

    fn best_candidate(&self, places: &[u32], judge: &mut Judge<'_>) -> Option<Candidate> {
        let (n_rows, min_rows) = (places.len(), self.allowance.min_rows);
        if n_rows < 2 * min_rows {
            return None;
        }
        judge.begin(self.keys.rows(places));
        let mut best: Option<Candidate> = None;
        let mut run = 0..n_rows;
        while let Some((halves, n_bits)) = self.halves(&places[run.clone()]) {
            let at = |half: &Range<usize>| run.start + half.start..run.start + half.end;
            let [first, second] = [at(&halves[0]), at(&halves[1])];
            let [dense, sparse] = match second.len() > first.len() {
                true => [second, first],
                false => [first, second],
            };
            judge.leave(self.keys.rows(&places[sparse.clone()]));
            for (half, is_dense) in [(&dense, true), (&sparse, false)] {
                let n_inside = half.len();
                let imbalance = (2 * n_inside).abs_diff(n_rows);
                let may_be = n_inside >= min_rows
                    && n_rows - n_inside >= min_rows
                    && best.as_ref().is_none_or(|best| imbalance < best.imbalance);
                let holds = may_be
                    && match is_dense {
                        true => judge.holds_inside(),
                        false => judge.holds_apart(self.keys.rows(&places[half.clone()])),
                    };
                if holds {
                    best = Some(Candidate { run: half.clone(), n_bits, imbalance });
                }
            }
            let is_half = 2 * dense.len() <= n_rows;
            if dense.len() < min_rows || (is_half && best.is_some()) {
                break;
            }
            run = dense;
        }
        best
    }

    /// Halves a region while both halves that hold rows satisfy, and cuts off those without rows.
    fn halve(&self, block: &Block, judge: &mut Judge<'_>) -> Grown {
        let mut grown = Grown::default();
        let mut run = 0..block.places.len();
        judge.begin(self.keys.rows(&block.places));
        let mut n_bits = self.keys.n_levels();
        while let Some((halves, n_half_bits)) = self.halves(&block.places[run.clone()]) {
            n_bits = n_half_bits - 1;
            let at = |half: &Range<usize>| run.start + half.start..run.start + half.end;
            let [first, second] = [at(&halves[0]), at(&halves[1])];
            let [large, small] = match second.len() > first.len() {
                true => [second, first],
                false => [first, second],
            };
            let places = &block.places[small];
            if places.len() < self.allowance.min_rows || !judge.holds_apart(self.keys.rows(places))
            {
                break;
            }
            grown.pending.push(Block { at: 0, n_bits: 0, places: places.to_vec() });
            judge.forget(self.keys.rows(places));
            run = large;
            n_bits = self.keys.n_levels();
        }
        let places = block.places[run].to_vec();
        grown.done = Some(Block { at: places[0], n_bits: n_bits as u32, places });
        grown
    }

    /// The two halves of the smallest region around some rows, both with rows, and their bits;
    /// nothing if all rows have the same key.
    fn halves(&self, places: &[u32]) -> Option<([Range<usize>; 2], usize)> {
        let [first, last] = [places.first()?, places.last()?].map(|&place| self.keys.key(place));
        let level = common_bits(first, last);
        if level >= self.keys.n_levels() {
            return None;
        }
        let middle = places.partition_point(|&place| !bit(self.keys.key(place), level));
        Some(([0..middle, middle..places.len()], level + 1))
    }
}

/// Whether parts of a block satisfy a requirement that looks at more than their number of rows.
struct Judge<'a> {
    sides: Option<Sides<'a>>,
}

struct Sides<'a> {
    rule: Rule<'a>,
    /// All rows of the block, of the region that was reached, those outside of it, and of a part.
    all: ClassSummary,
    inside: ClassSummary,
    outside: ClassSummary,
    part: ClassSummary,
}

impl<'a> Judge<'a> {
    fn new(rule: Option<Rule<'a>>) -> Judge<'a> {
        let sides = rule.map(|rule| {
            let empty = || ClassSummary::new(rule.requirement.shape());
            Sides { rule, all: empty(), inside: empty(), outside: empty(), part: empty() }
        });
        Judge { sides }
    }

    /// The rows of the next block, all of them inside.
    fn begin(&mut self, rows: impl Iterator<Item = u32>) {
        let Some(sides) = &mut self.sides else { return };
        [&mut sides.all, &mut sides.inside, &mut sides.outside]
            .into_iter()
            .for_each(ClassSummary::clear);
        for row in rows {
            sides.rule.facts.add(row as usize, &mut sides.all);
            sides.rule.facts.add(row as usize, &mut sides.inside);
        }
    }

    /// Some rows are no longer inside.
    fn leave(&mut self, rows: impl Iterator<Item = u32>) {
        let Some(sides) = &mut self.sides else { return };
        for row in rows {
            sides.rule.facts.remove(row as usize, &mut sides.inside);
            sides.rule.facts.add(row as usize, &mut sides.outside);
        }
    }

    /// Whether the rows inside satisfy, and those outside do.
    fn holds_inside(&self) -> bool {
        self.sides.as_ref().is_none_or(|sides| {
            let requirement = sides.rule.requirement;
            requirement.holds(&sides.inside) && requirement.holds(&sides.outside)
        })
    }

    /// Whether some rows satisfy, and all others of the block do.
    fn holds_apart(&mut self, rows: impl Iterator<Item = u32> + Clone) -> bool {
        let Some(sides) = &mut self.sides else { return true };
        let Rule { requirement, facts } = sides.rule;
        sides.part.clear();
        for row in rows.clone() {
            facts.add(row as usize, &mut sides.part);
            facts.remove(row as usize, &mut sides.all);
        }
        let holds = requirement.holds(&sides.part) && requirement.holds(&sides.all);
        rows.for_each(|row| facts.add(row as usize, &mut sides.all));
        holds
    }

    /// Some rows are no longer of the block.
    fn forget(&mut self, rows: impl Iterator<Item = u32>) {
        let Some(sides) = &mut self.sides else { return };
        rows.for_each(|row| sides.rule.facts.remove(row as usize, &mut sides.all));
    }
}
