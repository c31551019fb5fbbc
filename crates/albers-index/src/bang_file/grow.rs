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
//! halved where both halves satisfy, and a half without rows is cut off. A large block is divided by
//! lots of rows: regions with fewer rows than a lot may have are not taken out of it.
//! Guarantee: every block satisfies the requirement if all rows together do; rows with equal keys
//! stay together; the result depends on neither the order of the rows nor the threads. A row's
//! block is that of the smallest region that holds its key.
//! Cost: O(rows log rows) where the number of rows decides, since a split leaves a third on each
//! side or a part of equal keys; a rule that allows only uneven splits takes more. No recursion.

use std::ops::Range;

use albers_storage::Result;
use albers_storage::watch::Watch;
use rayon::prelude::*;

use super::items::{Items, Judge, RowItems};
use super::lots::{Lots, halves};

/// Items that are one class, and the region that they are the own items of: all of them lie in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// How many bits of their keys the region is.
    pub n_bits: u32,
    /// The places of its own items in key order, ascending.
    pub places: Vec<u32>,
}

/// What blocks are divided by.
#[derive(Debug, Clone, Copy)]
pub(super) struct GrowPlan {
    /// No part with fewer rows can satisfy the requirement.
    pub(super) min_rows: usize,
    /// Whether regions may lie in each other.
    pub(super) nests: bool,
}

/// Divides a block of rows to the end, with regions in regions or side by side.
pub(super) fn grow_rows(
    rows: RowItems<'_>,
    block: Block,
    plan: GrowPlan,
    watch: &dyn Watch,
) -> Result<Vec<Block>> {
    let grower = Grower { items: &rows, plan, large_rows: 0, lot_rows: 0 };
    let mut pending = vec![block];
    let mut done = Vec::new();
    while !pending.is_empty() {
        let grown = grower.grow(pending, watch)?;
        pending = Vec::new();
        for grown in grown {
            done.extend(grown.done);
            pending.extend(grown.pending);
        }
    }
    Ok(done)
}

/// A large block of lots, as it was divided: a leaf is a block that is not large, or cannot be
/// divided.
#[derive(Debug)]
pub struct LotTree {
    /// The root is the first.
    pub nodes: Vec<LotNode>,
}

/// A block of lots, and what it was divided into.
#[derive(Debug, Default)]
pub struct LotNode {
    /// The nodes that it was divided into, none of them for a leaf.
    pub parts: Vec<u32>,
    /// The block of a leaf.
    pub block: Option<Block>,
}

/// Divides all lots into blocks, as long as they have more than `large_rows` rows. Regions with no
/// more than `lot_rows` are not looked into.
pub(super) fn grow_lots(
    lots: &Lots<'_>,
    plan: GrowPlan,
    (large_rows, lot_rows): (usize, usize),
    watch: &dyn Watch,
) -> Result<LotTree> {
    let grower = Grower { items: lots, plan, large_rows, lot_rows };
    let all = Block { n_bits: 0, places: (0..lots.len() as u32).collect() };
    let mut nodes = vec![LotNode::default()];
    let mut pending = vec![(0u32, all)];
    while !pending.is_empty() {
        let (owners, blocks): (Vec<u32>, Vec<Block>) = pending.into_iter().unzip();
        pending = Vec::new();
        for (owner, mut grown) in owners.into_iter().zip(grower.grow(blocks, watch)?) {
            if grown.pending.is_empty() {
                nodes[owner as usize].block = grown.done.take();
            }
            let parts = grown.pending.into_iter().map(|own| (own, false));
            for (block, is_done) in parts.chain(grown.done.map(|own| (own, true))) {
                let node = nodes.len() as u32;
                nodes[owner as usize].parts.push(node);
                nodes.push(LotNode::default());
                match is_done {
                    true => nodes[node as usize].block = Some(block),
                    false => pending.push((node, block)),
                }
            }
        }
    }
    Ok(LotTree { nodes })
}

/// What became of a block.
#[derive(Default)]
struct Grown {
    done: Option<Block>,
    pending: Vec<Block>,
}

struct Grower<'a, I> {
    items: &'a I,
    plan: GrowPlan,
    /// Blocks of no more rows are left as they are, unless it is 0.
    large_rows: usize,
    /// Regions of no more rows are not looked into, unless it is 0.
    lot_rows: usize,
}

/// A region that may become a block of its own: the items inside are a run of the block's.
struct Candidate {
    run: Range<usize>,
    n_bits: usize,
    /// How far it is from taking one half of the rows, twice.
    imbalance: usize,
}

/// The two halves of a region among the items of a block, the one with more rows first.
struct Halves {
    dense: Range<usize>,
    sparse: Range<usize>,
    n_bits: usize,
}

impl<I: Items> Grower<'_, I> {
    fn grow(&self, blocks: Vec<Block>, watch: &dyn Watch) -> Result<Vec<Grown>> {
        let grown = blocks.into_par_iter().map_init(
            || self.items.judge(),
            |judge, block| {
                watch.check()?;
                if self.items.n_rows(&block.places) <= self.large_rows {
                    return Ok(Grown { done: Some(block), pending: Vec::new() });
                }
                Ok(match self.plan.nests {
                    true => self.split(block, judge),
                    false => self.halve(&block, judge),
                })
            },
        );
        grown.collect()
    }

    /// Takes the region out of a block that divides its rows best, if any may be.
    fn split(&self, block: Block, judge: &mut impl Judge) -> Grown {
        let Some(best) = self.best_candidate(&block.places, judge) else {
            return Grown { done: Some(block), pending: Vec::new() };
        };
        let Block { n_bits, places } = block;
        let inside = places[best.run.clone()].to_vec();
        let outside = [&places[..best.run.start], &places[best.run.end..]].concat();
        let inner = Block { n_bits: best.n_bits as u32, places: inside };
        Grown { done: None, pending: vec![inner, Block { n_bits, places: outside }] }
    }

    fn best_candidate(&self, places: &[u32], judge: &mut impl Judge) -> Option<Candidate> {
        let (n_rows, min_rows) = (self.items.n_rows(places), self.plan.min_rows);
        if n_rows < 2 * min_rows {
            return None;
        }
        judge.begin(places);
        let mut best: Option<Candidate> = None;
        let mut run = 0..places.len();
        while let Some(Halves { dense, sparse, n_bits }) = self.halves(places, &run) {
            judge.leave(&places[sparse.clone()]);
            for (half, is_dense) in [(&dense, true), (&sparse, false)] {
                let n_inside = self.items.n_rows(&places[half.clone()]);
                let imbalance = (2 * n_inside).abs_diff(n_rows);
                let may_be = n_inside >= min_rows
                    && n_rows - n_inside >= min_rows
                    && best.as_ref().is_none_or(|best| imbalance < best.imbalance);
                let holds = may_be
                    && match is_dense {
                        true => judge.holds_inside(),
                        false => judge.holds_apart(&places[half.clone()]),
                    };
                if holds {
                    best = Some(Candidate { run: half.clone(), n_bits, imbalance });
                }
            }
            let n_dense = self.items.n_rows(&places[dense.clone()]);
            let is_half = 2 * n_dense <= n_rows;
            if n_dense < min_rows || n_dense <= self.lot_rows || (is_half && best.is_some()) {
                break;
            }
            run = dense;
        }
        best
    }

    /// Halves a region while both halves that hold rows satisfy, and cuts off those without rows.
    fn halve(&self, block: &Block, judge: &mut impl Judge) -> Grown {
        let mut grown = Grown::default();
        let places = &block.places;
        let mut run = 0..places.len();
        judge.begin(places);
        let mut n_bits = None;
        while self.items.n_rows(&places[run.clone()]) > self.large_rows
            && let Some(halves) = self.halves(places, &run)
        {
            n_bits = Some(halves.n_bits - 1);
            let small = &places[halves.sparse];
            if self.items.n_rows(small) < self.plan.min_rows || !judge.holds_apart(small) {
                break;
            }
            grown.pending.push(Block { n_bits: 0, places: small.to_vec() });
            judge.forget(small);
            run = halves.dense;
            n_bits = None;
        }
        let n_bits = n_bits.unwrap_or(self.items.n_levels()) as u32;
        grown.done = Some(Block { n_bits, places: places[run].to_vec() });
        grown
    }

    /// The two halves of the smallest region around a run of a block's items, both with some;
    /// nothing if all have the same key.
    fn halves(&self, places: &[u32], run: &Range<usize>) -> Option<Halves> {
        let (middle, n_bits) = halves(self.items, &places[run.clone()])?;
        let middle = run.start + middle;
        let [first, second] = [run.start..middle, middle..run.end];
        let n_rows = |half: &Range<usize>| self.items.n_rows(&places[half.clone()]);
        let [dense, sparse] = match n_rows(&second) > n_rows(&first) {
            true => [second, first],
            false => [first, second],
        };
        Some(Halves { dense, sparse, n_bits })
    }
}
