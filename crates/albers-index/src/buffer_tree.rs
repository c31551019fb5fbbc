//! The buffer tree: loads an index from more rows than fit in memory.
//!
//! Source: Iwuchukwu & Naughton 2007, section 4; Arge 1995 for the buffers; van den Bercken &
//! Seeger 2001 for growing the top on a sample.
//! Departures: the top of the tree is grown on a sample before the first row arrives, so that its
//! splits do not depend on the order of the rows; a buffer is emptied once, when all rows have
//! arrived. Restructuring is deferred altogether: a subtree is built when its buffer is emptied, at
//! memory speed if its rows fit, and by smaller buffers below the same top if they do not.
//! Guarantee: every leaf satisfies the requirement; memory stays within the budget, or the rows are
//! refused. Leaves and units are functions of the rows and the plan: how many buffers there are,
//! and what fits in memory, decides nothing but what is spilled.
//! Cost: every row is written and read once per level of buffers, in large blocks; one level
//! suffices for about (budget / block) times (budget / row) rows.
//!
//! ```text
//!   rows ──route──► buffers of the parts ──blocks──► spill store
//!                        │ all rows have arrived
//!                        ▼
//!   part by part:  load ──► units ──► cells ──split to the end, all threads──► subtree ──► sink
//!                   │         │ too many to be cut at once, and not divided by the top
//!                   │         └──► a top of its own, and buffers below it
//!                   │ does not fit
//!                   └──► smaller buffers, below the same top
//! ```
//!
//! A unit is what coarser classes are made within: the highest node of the top that has no more
//! rows than are cut at once, or one below which some part violates the strictest requirement.

pub(crate) mod build;
pub(crate) mod drain;
pub(crate) mod part;

use std::sync::Arc;

use albers_classes::Region;
use albers_classes::packed::{FactColumns, RowBlock, RowLayout};
use albers_partition::cell::TableSize;
use albers_partition::grain::Grain;
use albers_partition::mondrian::Plan;
use albers_partition::portfolio::Portfolio;
use albers_partition::sample::Tuples;
use albers_partition::split::Policy;
use albers_partition::split::cut::Turn;
use albers_partition::split::extent::has_small_sets;
use albers_partition::split::workload::Workload;
use albers_partition::top::{SampledTops, Top, cells_of_rows};
use albers_privacy::Requirement;
use albers_storage::memory_budget::{MemoryBudget, Reservation};
use albers_storage::spill::{Block, SpillStore};
use albers_storage::{Result, StorageError};
use albers_table::row::RowId;

pub use build::Subtree;
pub(crate) use part::Part;

/// What is to be loaded, and how.
pub struct BulkPlan<'a> {
    /// How leaves are split.
    pub plan: Plan<'a>,
    /// What every unit must satisfy: the strictest of the requirements of all granularities.
    pub strictest: &'a Requirement,
    /// Whether there are granularities beside the leaves, so that units must stay whole.
    pub has_coarser: bool,
    /// How rows are packed.
    pub layout: &'a RowLayout,
    /// Their facts.
    pub facts: &'a FactColumns,
    /// Whether the table is cut with all its rows at hand.
    pub table: TableSize,
    /// The memory of all.
    pub budget: &'a MemoryBudget,
    /// Where what does not fit goes.
    pub store: &'a SpillStore,
    /// The sizes of things.
    pub sizes: Sizes,
}

/// The sizes of things in memory. They decide what is spilled, and nothing else.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// A part of the tree is to take no more than this while it is built. Twice as much should
    /// always be free.
    pub part_bytes: usize,
    /// All buffers together.
    pub buffer_bytes: usize,
    /// What is written at once.
    pub block_bytes: usize,
}

impl Sizes {
    /// Sizes that suit a budget.
    pub fn within(budget_bytes: usize) -> Sizes {
        let block_bytes = (budget_bytes / 1024).next_power_of_two().clamp(1 << 10, 1 << 18);
        Sizes {
            part_bytes: budget_bytes / 5,
            buffer_bytes: (budget_bytes / 8).max(4 * block_bytes),
            block_bytes,
        }
    }
}

impl BulkPlan<'_> {
    /// About how much a row takes while its part is built, its payload left out.
    pub(crate) fn row_bytes(&self) -> usize {
        // The row, its cell, its place before and after, and its share of a leaf and its splits.
        let leaf_bytes = 4 * 8 * self.layout.n_attributes() + 64;
        let min_rows = self.plan.min_rows().max(1);
        let is_tried = |own: &&Portfolio| self.table == TableSize::Small || own.joins_leaves();
        let tried = self.plan.portfolio.filter(is_tried);
        let tried_bytes = tried.map_or(0, |own| own.row_bytes(self.layout.n_attributes()));
        self.layout.stride_bytes() + 20 + leaf_bytes.div_ceil(min_rows) + tried_bytes
    }

    /// How cuts are chosen, and how large cells are: where several ways are tried, a sample decides it
    /// of a table that is not cut at once.
    pub fn decided(&self, tuples: &Tuples) -> (Policy, Grain) {
        let Some(portfolio) = self.plan.portfolio.filter(|_| self.table == TableSize::Large) else {
            return (self.plan.policy, self.plan.grain);
        };
        let sets = has_small_sets(self.plan.space);
        let n_attributes = self.layout.n_attributes();
        albers_partition::with_lanes!(n_attributes, sets, decided_lanes(self, portfolio, tuples))
    }

    /// The workload, with the impurities of the sample of a table that is not cut at once.
    pub fn rooted(&self, tuples: &Tuples, n_rows: u64) -> Option<Workload> {
        if self.table == TableSize::Small {
            return None;
        }
        let workload = self.plan.workload?.workload;
        let sets = has_small_sets(self.plan.space);
        let n_attributes = self.layout.n_attributes();
        Some(albers_partition::with_lanes!(
            n_attributes,
            sets,
            rooted_lanes(self, workload, tuples, n_rows)
        ))
    }

    /// The same plan with another workload, if there is one.
    pub fn with_workload<'w>(&'w self, rooted: Option<&'w Workload>) -> BulkPlan<'w> {
        let plan = match rooted {
            Some(_) => self.plan.with_workload(rooted),
            None => self.plan,
        };
        BulkPlan { plan, ..*self }
    }

    /// The top of a table of so many rows: of one that is not cut at once, grown on a sample.
    pub fn top_of_table(&self, tuples: &Tuples, n_rows: u64) -> Top {
        if self.table == TableSize::Small {
            return Top::single(&self.plan);
        }
        let sets = has_small_sets(self.plan.space);
        let n_attributes = self.layout.n_attributes();
        albers_partition::with_lanes!(n_attributes, sets, table_lanes(self, tuples, n_rows))
    }
}

fn decided_lanes<const L: usize, const M: usize>(
    plan: &BulkPlan<'_>,
    portfolio: &Portfolio,
    tuples: &Tuples,
) -> (Policy, Grain) {
    portfolio.decide::<L, M>(tuples, &plan.plan)
}

fn rooted_lanes<const L: usize, const M: usize>(
    plan: &BulkPlan<'_>,
    workload: &Workload,
    tuples: &Tuples,
    n_rows: u64,
) -> Workload {
    tuples.rooted::<L>(workload, n_rows, &plan.plan)
}

fn table_lanes<const L: usize, const M: usize>(
    plan: &BulkPlan<'_>,
    tuples: &Tuples,
    n_rows: u64,
) -> Top {
    Top::of_table::<L, M>(tuples, n_rows, &plan.plan)
}

/// What comes out of a buffer tree.
pub enum Loaded<'r> {
    /// A unit of the index, in memory.
    Subtree(Box<Subtree<'r>>),
    /// Rows that cannot be divided and are too many to be cut at once: one leaf.
    Giant(Giant),
}

/// A leaf with more rows than are cut at once.
pub struct Giant {
    /// Its rows, packed.
    pub blocks: Vec<Block>,
    /// How many.
    pub n_rows: u64,
    /// Its region, where regions are kept.
    pub region: Option<Region>,
    /// The way to it from the root of all.
    pub way: Vec<Turn>,
}

/// Rows on their way to the parts.
pub struct RoutedRows {
    block: RowBlock,
    /// Where the rows of each part end.
    ends: Vec<u32>,
}

/// Tells the part of each of some rows, given their codes row by row.
pub(crate) type PartsOf = dyn Fn(&[u32]) -> Vec<u32> + Send + Sync;

/// Sorts rows by the parts that they are to be taken into; shared by all threads.
#[derive(Clone)]
pub struct Router<'a> {
    layout: &'a RowLayout,
    parts_of: Arc<PartsOf>,
    n_parts: usize,
}

/// What takes in rows that need not fit in memory.
pub trait Intake<'a> {
    /// What sorts rows for it.
    fn router(&self) -> Router<'a>;

    /// Takes rows into the buffers of their parts; full buffers are handed to the store.
    fn append(&mut self, rows: &RoutedRows) -> Result<()>;

    /// Rows taken in.
    fn n_rows(&self) -> u64;

    /// Bytes of their payloads.
    fn n_payload_bytes(&self) -> usize;
}

/// A buffer tree that takes in rows.
pub struct BufferTree<'a> {
    plan: &'a BulkPlan<'a>,
    top: Arc<Top>,
    /// The node of the top that all rows belong to.
    root: u32,
    /// The roots of the parts in the top.
    roots: Vec<u32>,
    router: Router<'a>,
    parts: Vec<Part>,
    /// How many tops lie above this one.
    depth: usize,
    /// The way to the root of the top.
    way: Vec<Turn>,
    buffers: Reservation,
}

/// Rows that are to be divided among buffers.
#[derive(Debug, Clone, Copy)]
struct Expected {
    n_rows: u64,
    /// About what each has besides its codes.
    payload_bytes: usize,
    /// Whether there must be several parts, whatever the rows are thought to take: they did not
    /// fit, or it must be seen whether the first split holds.
    must_divide: bool,
}

impl<'a> BufferTree<'a> {
    /// A buffer tree below the top of a table of so many rows, each with about `payload_bytes`
    /// besides its codes.
    pub fn new(
        plan: &'a BulkPlan<'a>,
        top: Top,
        n_rows: u64,
        payload_bytes: usize,
    ) -> Result<BufferTree<'a>> {
        let expected = Expected { n_rows, payload_bytes, must_divide: false };
        BufferTree::below(plan, (Arc::new(top), 0), expected, (0, Vec::new()))
    }

    /// A buffer tree below a node of a top.
    fn below(
        plan: &'a BulkPlan<'a>,
        (top, root): (Arc<Top>, u32),
        expected: Expected,
        (depth, way): (usize, Vec<Turn>),
    ) -> Result<BufferTree<'a>> {
        let Expected { n_rows, payload_bytes, must_divide } = expected;
        let Sizes { part_bytes, buffer_bytes, block_bytes } = plan.sizes;
        let part_rows = (part_bytes / (plan.row_bytes() + payload_bytes)).max(1) as u64;
        let n_sampled = top.n_sampled(root);
        let mut limit = (part_rows * n_sampled as u64 / n_rows.max(1)) as usize;
        if must_divide {
            limit = limit.min(n_sampled / 2);
        }
        let roots = top.parts(root, limit.max(1), (buffer_bytes / block_bytes).max(2));
        let n_buffers_bytes = roots.len() * block_bytes;
        let buffers = plan.budget.try_reserve("the buffers of the tree", n_buffers_bytes)?;
        let parts = roots.iter().map(|_| Part::new(plan.strictest)).collect();
        let steps = top.steps_to(&roots);
        let n_attributes = plan.layout.n_attributes();
        let parts_of = move |codes: &[u32]| cells_of_rows(codes, n_attributes, &steps, root);
        let router = Router::new(plan.layout, Arc::new(parts_of), roots.len());
        Ok(BufferTree { plan, top, root, roots, router, parts, depth, way, buffers })
    }

    /// Whether the table is cut with all its rows at hand.
    pub fn table(&self) -> TableSize {
        self.plan.table
    }

    /// Number of parts.
    pub fn n_parts(&self) -> usize {
        self.parts.len()
    }

    /// Builds all parts and hands them on, unit by unit; the sink may fail in its own way. Tells what
    /// became of the trees that were grown on samples.
    pub fn drain<E: From<StorageError>>(
        self,
        sink: &mut dyn FnMut(Loaded<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<SampledTops, E> {
        drain::drain(self, sink)
    }
}

impl<'a> Intake<'a> for BufferTree<'a> {
    fn router(&self) -> Router<'a> {
        self.router.clone()
    }

    fn append(&mut self, rows: &RoutedRows) -> Result<()> {
        rows.append_to(self.plan, &mut self.parts)
    }

    fn n_rows(&self) -> u64 {
        self.parts.iter().map(|part| part.n_rows).sum()
    }

    fn n_payload_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.n_payload_bytes).sum()
    }
}

impl RoutedRows {
    /// All rows, in the order of their parts.
    pub(crate) fn block(&self) -> &RowBlock {
        &self.block
    }

    /// The places of the rows of each part.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let ends = self.ends.iter().map(|&end| end as usize);
        let mut start = 0;
        ends.map(move |end| std::mem::replace(&mut start, end)..end)
    }

    /// Takes the rows into their parts.
    pub(crate) fn append_to(&self, plan: &BulkPlan<'_>, parts: &mut [Part]) -> Result<()> {
        let mut start = 0;
        for (part, &end) in parts.iter_mut().zip(&self.ends) {
            let end = end as usize;
            if start < end {
                part.append(plan, &self.block, start..end)?;
            }
            start = end;
        }
        Ok(())
    }
}

impl<'a> Router<'a> {
    pub(crate) fn new(layout: &'a RowLayout, parts_of: Arc<PartsOf>, n_parts: usize) -> Router<'a> {
        Router { layout, parts_of, n_parts }
    }

    /// Packs rows in the order of their parts. `codes` are those of the attributes row by row,
    /// `facts` column by column.
    pub fn route<'p>(
        &self,
        first_row: RowId,
        codes: &[u32],
        facts: &[Vec<u32>],
        payload: impl Fn(usize) -> &'p [u8],
    ) -> RoutedRows {
        let layout = self.layout;
        let n_attributes = layout.n_attributes();
        let part_of = (self.parts_of)(codes);
        let (order, ends) = sorted_by_part(&part_of, self.n_parts);
        let mut block = RowBlock::with_capacity(layout, order.len());
        for &row in &order {
            let at = row as usize;
            let own = codes[at * n_attributes..(at + 1) * n_attributes].iter().copied();
            let values = own.chain(facts.iter().map(|column| column[at]));
            block.push(layout, first_row + u64::from(row), values, payload(at));
        }
        RoutedRows { block, ends }
    }

    /// The same for rows that are packed already.
    pub(crate) fn route_packed(&self, rows: &RowBlock) -> RoutedRows {
        let layout = self.layout;
        let codes = build::codes_of(layout, rows, 0..rows.n_rows());
        let part_of = (self.parts_of)(&codes);
        let (order, ends) = sorted_by_part(&part_of, self.n_parts);
        let mut block = RowBlock::with_capacity(layout, order.len());
        order.iter().for_each(|&row| block.extend_row(layout, rows, row as usize));
        RoutedRows { block, ends }
    }
}

/// The rows' places in the order of their parts, and where each part ends.
pub(crate) fn sorted_by_part(part_of: &[u32], n_parts: usize) -> (Vec<u32>, Vec<u32>) {
    let mut next = vec![0u32; n_parts + 1];
    part_of.iter().for_each(|&part| next[part as usize + 1] += 1);
    for part in 0..n_parts {
        next[part + 1] += next[part];
    }
    let ends = next[1..].to_vec();
    let mut order = vec![0u32; part_of.len()];
    for (row, &part) in (0u32..).zip(part_of) {
        order[next[part as usize] as usize] = row;
        next[part as usize] += 1;
    }
    (order, ends)
}
