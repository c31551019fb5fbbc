//! Outliers of an index: units wait until it is known which of their rows are left out.
//!
//! Source: none.
//! Departures: none.
//! Guarantee: no more rows are left out than may be, the same from all releases. Every leaf that
//! comes out satisfies the requirement, and the rows of a unit the strictest one; all rows of a unit
//! that stay together lose no more than in the leaves where they were. What is left out depends on
//! the leaves alone: the release is the same in any memory.
//! Cost: every row is written and read once more; a unit of which rows are left out is cut once
//! more.
//!
//! ```text
//!   unit ──► leaves ──► what their rows save ──► choice, when all units have come
//!     │                                            │
//!     └──► store ──► unit ──► without its outliers ┴──► cut anew, or its leaves trimmed ──► sink
//! ```

use albers_classes::Span;
use albers_classes::packed::RowBlock;
use albers_classes::region::span;
use albers_partition::outliers::choice::{Choice, ClassPlace, Offer};
use albers_partition::outliers::classes::Classes;
use albers_partition::outliers::covered::Covered;
use albers_partition::split::cut::{Cut, Turn};
use albers_partition::split::extent::has_small_sets;
use albers_partition::split_tree::{SplitTree, TreeNode};
use albers_privacy::Facts;
use albers_storage::memory_budget::Reservation;
use albers_storage::spill::Block;
use albers_storage::{Result, StorageError};
use rustc_hash::FxHashMap;

use crate::buffer_tree::build::{Subtree, codes_of};
use crate::buffer_tree::drain::enough;
use crate::buffer_tree::{BulkPlan, Giant, Loaded, Part};
use crate::rplus_tree::grow::{GrownCell, Source, grow_cell};
use crate::rplus_tree::{Child, RPlusTree};

/// Units that wait until it is known which of their rows are left out.
pub struct WaitingUnits<'a> {
    plan: &'a BulkPlan<'a>,
    max_rows: u64,
    waiting: Vec<Waiting>,
    choice: Choice,
    offers: Reservation,
}

/// A unit that waits.
enum Waiting {
    /// Rows in tree order, and their splits.
    Unit { rows: Part, splits: Block, way: Vec<Turn> },
    /// A leaf with more rows than are cut at once. Nothing is left out of it.
    Giant(Giant),
}

/// A unit when it is known which of its rows are left out.
pub struct Remaining<'r> {
    /// What stays.
    pub loaded: Loaded<'r>,
    /// What does not.
    pub left_out: Option<LeftOutRows<'r>>,
}

/// Rows that are left out.
#[derive(Clone, Copy)]
pub struct LeftOutRows<'r> {
    /// Where they are packed.
    pub rows: &'r RowBlock,
    /// Their places there.
    pub places: &'r [u32],
}

impl<'a> WaitingUnits<'a> {
    /// No units yet, of which so many rows may be left out.
    pub fn new(plan: &'a BulkPlan<'a>, max_rows: u64) -> WaitingUnits<'a> {
        let offers = plan.budget.reserve_nothing("the rows that may be left out");
        let choice = Choice::new(max_rows);
        WaitingUnits { plan, max_rows, waiting: Vec::new(), choice, offers }
    }

    /// Lets a unit wait.
    pub fn add(&mut self, loaded: Loaded<'_>) -> Result<()> {
        let plan = self.plan;
        let waiting = match loaded {
            Loaded::Giant(giant) => Waiting::Giant(giant),
            Loaded::Subtree(subtree) => {
                let together = u32::try_from(self.waiting.len()).expect("units are large");
                let _memory = reserve_look(plan, subtree.order.len())?;
                let looked = Looked::at(plan, subtree.rows, &subtree.order);
                let ends = subtree.tree.leaf_ends();
                let classes = looked.classes(plan, ends);
                let offers = classes.offers(together, self.max_rows);
                offers.into_iter().for_each(|own| self.choice.offer(own));
                let n_bytes = self.choice.n_offers() * Offer::N_BYTES;
                self.offers.try_grow(n_bytes.saturating_sub(self.offers.n_bytes()))?;
                let rows = Part::of_rows(plan, subtree.rows, &subtree.order)?;
                let splits = plan.store.put(bytes_of(&splits_of(&subtree.tree)))?;
                Waiting::Unit { rows, splits, way: subtree.way }
            }
        };
        self.waiting.push(waiting);
        Ok(())
    }

    /// Hands all units on, without the rows whose absence saves most.
    pub fn drain<E: From<StorageError>>(
        self,
        sink: &mut dyn FnMut(Remaining<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let WaitingUnits { plan, max_rows, waiting, choice, offers } = self;
        let taken = choice.taken();
        for (together, waiting) in (0u32..).zip(waiting) {
            match waiting {
                Waiting::Giant(giant) => {
                    sink(Remaining { loaded: Loaded::Giant(giant), left_out: None })?;
                }
                Waiting::Unit { rows, splits, way } => {
                    let n_bytes = rows.n_payload_bytes + rows.n_rows as usize * plan.row_bytes();
                    let reserved = plan.budget.try_reserve("a part of the tree", n_bytes);
                    let _memory = reserved.map_err(enough)?;
                    let tree = splits_from(&plan.store.take(splits)?);
                    let rows = rows.load(plan)?;
                    let unit = Unit { plan, rows: &rows, tree, max_rows };
                    let (tree, order, left_out) = unit.remaining((together, &taken))?;
                    let loaded = Loaded::Subtree(Box::new(Subtree {
                        tree,
                        rows: &rows,
                        order,
                        region: None,
                        way,
                    }));
                    let left_out = LeftOutRows { rows: &rows, places: &left_out };
                    sink(Remaining { loaded, left_out: Some(left_out) })?;
                }
            }
        }
        drop(offers);
        Ok(())
    }
}

/// A unit with the rows and splits that it came with.
struct Unit<'u> {
    plan: &'u BulkPlan<'u>,
    /// In tree order.
    rows: &'u RowBlock,
    tree: SplitTree,
    max_rows: u64,
}

impl Unit<'_> {
    /// The tree of the rows that stay, their places in its order, and those of the others.
    fn remaining(
        &self,
        (together, taken): (u32, &FxHashMap<ClassPlace, u32>),
    ) -> Result<(RPlusTree, Vec<u32>, Vec<u32>)> {
        let plan = self.plan;
        let _memory = reserve_look(plan, self.rows.n_rows())?;
        let order: Vec<u32> = (0..self.rows.n_rows() as u32).collect();
        let looked = Looked::at(plan, self.rows, &order);
        let ends = ends_of(&self.tree);
        let classes = looked.classes(plan, &ends);
        let n_steps_of = |class| taken.get(&ClassPlace { together, class }).copied();
        let Some(is_out) = classes.left_out(self.max_rows, n_steps_of) else {
            let tree = self.with_boxes(&self.tree, &looked.codes);
            return Ok((tree, order, Vec::new()));
        };
        let trimmed = classes.trimmed(&is_out);
        let divide = |is_out: &[bool]| -> (Vec<u32>, Vec<u32>) {
            order.iter().partition(|&&row| !is_out[row as usize])
        };
        let (stay, left_out) = divide(&is_out);
        let anew = self.cut_anew(&stay);
        let around = Looked::at(plan, self.rows, &anew.rows);
        if around.classes(plan, &ends_of(&anew.tree)).loss() <= trimmed.loss {
            let tree = RPlusTree::new(plan.layout.n_attributes(), &anew.tree, anew.boxes);
            return Ok((tree, anew.rows, left_out));
        }
        let (stay, left_out) = divide(&trimmed.is_out);
        let n_rows = leaf_ranges(&ends)
            .map(|range| trimmed.is_out[range].iter().filter(|is_out| !**is_out).count() as u32);
        let tree = self.tree.with_rows(&n_rows.collect::<Vec<_>>());
        let codes = Looked::at(plan, self.rows, &stay).codes;
        Ok((self.with_boxes(&tree, &codes), stay, left_out))
    }

    fn cut_anew(&self, stay: &[u32]) -> GrownCell {
        let BulkPlan { layout, facts, plan, .. } = *self.plan;
        let source = Source { layout, block: self.rows, facts };
        let (n_attributes, sets) = (layout.n_attributes(), has_small_sets(plan.space));
        let region = albers_partition::plan::whole_region(&plan);
        let (table, region) = (self.plan.table, region.as_ref());
        albers_partition::with_lanes!(
            n_attributes,
            sets,
            grow_cell(source, stay, &plan, table, region)
        )
    }

    /// A tree with the boxes around its rows, whose codes come in its order.
    fn with_boxes(&self, tree: &SplitTree, codes: &[u32]) -> RPlusTree {
        let n_attributes = self.plan.layout.n_attributes();
        let mut boxes: Vec<Span> = Vec::new();
        for range in leaf_ranges(&ends_of(tree)) {
            let own = codes[range.start * n_attributes..range.end * n_attributes]
                .chunks_exact(n_attributes);
            let covered = Covered::of(self.plan.plan.space, own);
            boxes.extend(covered.spans().iter().map(|&(lo, hi)| span(lo, hi)));
        }
        RPlusTree::new(n_attributes, tree, boxes)
    }
}

/// What is looked at of some rows, in their order.
struct Looked {
    codes: Vec<u32>,
    facts: Facts,
}

impl Looked {
    fn at(plan: &BulkPlan<'_>, rows: &RowBlock, order: &[u32]) -> Looked {
        let of_row = |&row: &u32| codes_of(plan.layout, rows, row as usize..row as usize + 1);
        let facts = plan.facts.facts_of(plan.layout, rows, order.iter().copied());
        Looked { codes: order.iter().flat_map(of_row).collect(), facts }
    }

    fn classes<'l>(&'l self, plan: &'l BulkPlan<'_>, ends: &'l [u32]) -> Classes<'l> {
        Classes {
            space: plan.plan.space,
            requirement: plan.plan.requirement,
            strictest: plan.strictest,
            codes: &self.codes,
            ends,
            facts: &self.facts,
        }
    }
}

/// Reserves what it takes to look at so many rows twice: before and after they are cut anew.
fn reserve_look(plan: &BulkPlan<'_>, n_rows: usize) -> Result<Reservation> {
    let row_bytes =
        2 * size_of::<u32>() * (plan.layout.n_attributes() + plan.facts.ruled.len() + 4);
    plan.budget.try_reserve("what rows would save", n_rows * row_bytes).map_err(enough)
}

/// The rows of each leaf.
fn leaf_ranges(ends: &[u32]) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends).map(|(start, &end)| start as usize..end as usize)
}

/// Where the rows of each leaf end.
fn ends_of(tree: &SplitTree) -> Vec<u32> {
    let ends = tree.leaf_rows().scan(0, |end, n_rows| {
        *end += n_rows;
        Some(*end)
    });
    ends.collect()
}

/// The splits of an index, as they were grown.
fn splits_of(tree: &RPlusTree) -> SplitTree {
    let mut splits = SplitTree::default();
    let mut pending = vec![tree.root()];
    while let Some(child) = pending.pop() {
        match child {
            Child::Leaf(leaf) => {
                let n_rows = tree.rows_of(leaf..leaf + 1).len() as u32;
                splits.push(TreeNode::Leaf { n_rows });
            }
            Child::Split(split) => {
                let split = &tree.splits()[split as usize];
                splits.push(TreeNode::Cut(split.cut));
                pending.extend([split.outside, split.inside]);
            }
        }
    }
    splits
}

/// Three numbers for each node; the first of a leaf is no attribute.
const N_NUMBERS: usize = 3;
const IS_LEAF: u32 = u32::MAX;

fn bytes_of(tree: &SplitTree) -> Vec<u8> {
    let numbers = tree.nodes().iter().flat_map(|node| match *node {
        TreeNode::Leaf { n_rows } => [IS_LEAF, n_rows, 0],
        TreeNode::Cut(cut) | TreeNode::Next(cut) => [cut.axis, cut.lo, cut.hi],
    });
    numbers.flat_map(u32::to_le_bytes).collect()
}

fn splits_from(bytes: &[u8]) -> SplitTree {
    let mut tree = SplitTree::default();
    for node in bytes.chunks_exact(N_NUMBERS * size_of::<u32>()) {
        let number = |at: usize| {
            let bytes = node[at * 4..(at + 1) * 4].try_into().expect("numbers have four bytes");
            u32::from_le_bytes(bytes)
        };
        tree.push(match number(0) {
            IS_LEAF => TreeNode::Leaf { n_rows: number(1) },
            axis => TreeNode::Cut(Cut::new(axis as usize, number(1), number(2))),
        });
    }
    tree
}
