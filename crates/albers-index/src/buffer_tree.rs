//! The buffer tree: loads an index from more rows than fit in memory.
//!
//! Source: Iwuchukwu & Naughton 2007, section 4; Arge 1995 for the buffers; van den Bercken &
//! Seeger 2001 for growing the top on a sample.
//! Departures: the top of the tree is grown on a sample before the first row arrives, so that its
//! splits do not depend on the order of the rows; a buffer is emptied once, when all rows have
//! arrived. Restructuring is deferred altogether: a subtree is built when its buffer is emptied, at
//! memory speed if its rows fit, and by a buffer tree of its own if they do not.
//! Guarantee: every leaf satisfies the requirement; memory stays within the budget.
//! Cost: every row is written and read once per level of buffers, in large blocks; one level
//! suffices for about (budget / block) times (budget / row) rows.
//!
//! ```text
//!   rows ──route──► buffers of the parts ──blocks──► spill store
//!                        │ all rows have arrived
//!                        ▼
//!   part by part:  load ──► cells ──split to the end, all threads──► subtree ──► sink
//!                   │ does not fit
//!                   ▼
//!              a buffer tree of its own
//! ```

mod build;
mod part;

use std::sync::Arc;

use albers_classes::packed::FactColumns;
use albers_classes::packed::{RowBlock, RowLayout};
use albers_partition::mondrian::Plan;
use albers_partition::top::{CELL_ROWS, KeptNode, RouteStep, Top, cells_of_rows};
use albers_privacy::Requirement;
use albers_storage::memory_budget::{MemoryBudget, Reservation};
use albers_storage::spill::{Block, SpillStore};
use albers_storage::{Result, StorageError};
use rayon::prelude::*;

pub use build::{Subtree, top_of};
use part::Part;

use albers_classes::Region;

/// How deep buffer trees may lie in one another before a part is taken for indivisible.
const MAX_DEPTH: usize = 16;
/// How many times as large as planned a part may be: a sample tells its size only roughly.
const MAX_EXCESS: usize = 2;

/// What is to be loaded, and how.
pub struct BulkPlan<'a> {
    /// How leaves are split.
    pub plan: Plan<'a>,
    /// What every part must satisfy: the strictest of the requirements of all granularities.
    pub strictest: &'a Requirement,
    /// How rows are packed.
    pub layout: &'a RowLayout,
    /// Their facts.
    pub facts: &'a FactColumns,
    /// Whether cuts of large nodes may be weighed on a sample of their points.
    pub may_sample: bool,
    /// The memory of all.
    pub budget: &'a MemoryBudget,
    /// Where what does not fit goes.
    pub store: &'a SpillStore,
    /// The sizes of things.
    pub sizes: Sizes,
}

/// The sizes of things in memory.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// A part of the tree is to take no more than this while it is built. Twice as much should
    /// always be free.
    pub part_bytes: usize,
    /// All buffers together.
    pub buffer_bytes: usize,
    /// What is written at once.
    pub block_bytes: usize,
    /// Rows of a sample.
    pub sample_rows: usize,
}

impl Sizes {
    /// Sizes that suit a budget.
    pub fn within(budget_bytes: usize) -> Sizes {
        let block_bytes = (budget_bytes / 1024).next_power_of_two().clamp(1 << 10, 1 << 18);
        Sizes {
            part_bytes: budget_bytes / 5,
            buffer_bytes: (budget_bytes / 8).max(4 * block_bytes),
            block_bytes,
            sample_rows: (budget_bytes / 512).clamp(64, albers_partition::top::SAMPLE_ROWS),
        }
    }
}

impl BulkPlan<'_> {
    /// About how much a row takes while its part is built, its payload left out.
    fn row_bytes(&self) -> usize {
        // The row, its cell, its place before and after, and its share of a leaf and its splits.
        let leaf_bytes = 4 * 8 * self.layout.n_attributes() + 64;
        let min_rows = self.plan.min_rows().max(1);
        self.layout.stride_bytes() + 20 + leaf_bytes.div_ceil(min_rows)
    }
}

/// What comes out of a buffer tree.
pub enum Loaded {
    /// A part of the index, in memory.
    Subtree(Box<Subtree>),
    /// Rows that cannot be divided and do not fit in memory: one leaf.
    Giant(Giant),
}

/// A leaf that is larger than memory.
pub struct Giant {
    /// Its rows, packed.
    pub blocks: Vec<Block>,
    /// How many.
    pub n_rows: u64,
    /// Its region, where regions are kept.
    pub region: Option<Region>,
}

/// Rows on their way to the parts.
pub struct RoutedRows {
    block: RowBlock,
    /// Where the rows of each part end.
    ends: Vec<u32>,
}

/// Sorts rows by the parts of a buffer tree; shared by all threads.
#[derive(Clone)]
pub struct Router<'a> {
    plan: &'a BulkPlan<'a>,
    steps: Arc<Vec<RouteStep>>,
    n_parts: usize,
}

/// A buffer tree that takes in rows.
pub struct BufferTree<'a> {
    plan: &'a BulkPlan<'a>,
    top: Top,
    /// The roots of the parts in the top.
    roots: Vec<u32>,
    router: Router<'a>,
    parts: Vec<Part>,
    depth: usize,
    /// The region of the part that it divides, where regions are kept.
    within: Option<Region>,
    buffers: Reservation,
}

/// Parts that are built as one, since some of them alone violate the requirement.
struct Group {
    root: u32,
    first_part: usize,
    end_part: usize,
}

impl<'a> BufferTree<'a> {
    /// A buffer tree below a top that was grown on `n_sampled` of `n_rows` rows, each with about
    /// `payload_bytes` besides its codes.
    pub fn new(
        plan: &'a BulkPlan<'a>,
        top: Top,
        n_sampled: usize,
        n_rows: u64,
        payload_bytes: usize,
    ) -> Result<BufferTree<'a>> {
        BufferTree::at_depth(plan, top, n_sampled, n_rows, payload_bytes, 0)
    }

    fn at_depth(
        plan: &'a BulkPlan<'a>,
        top: Top,
        n_sampled: usize,
        n_rows: u64,
        payload_bytes: usize,
        depth: usize,
    ) -> Result<BufferTree<'a>> {
        let Sizes { part_bytes, buffer_bytes, block_bytes, .. } = plan.sizes;
        let part_rows = (part_bytes / (plan.row_bytes() + payload_bytes)).max(1) as u64;
        let mut limit = (part_rows * n_sampled as u64 / n_rows.max(1)) as usize;
        if depth > 0 {
            // What did not fit is divided in any case, whatever its rows were thought to take.
            limit = limit.min(n_sampled / 2);
        }
        let roots = top.parts(limit.max(1), (buffer_bytes / block_bytes).max(2));
        let n_buffers_bytes = roots.len() * block_bytes;
        let buffers = plan.budget.try_reserve("the buffers of the tree", n_buffers_bytes)?;
        let parts = roots.iter().map(|_| Part::new(plan.strictest)).collect();
        let steps = Arc::new(top.steps_to(&roots));
        let router = Router { plan, steps, n_parts: roots.len() };
        Ok(BufferTree { plan, top, roots, router, parts, depth, within: None, buffers })
    }

    /// What sorts rows for it.
    pub fn router(&self) -> Router<'a> {
        self.router.clone()
    }

    /// Rows taken in.
    pub fn n_rows(&self) -> u64 {
        self.parts.iter().map(|part| part.n_rows).sum()
    }

    /// Bytes of their payloads.
    pub fn n_payload_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.n_payload_bytes).sum()
    }

    /// Number of parts.
    pub fn n_parts(&self) -> usize {
        self.parts.len()
    }

    /// Takes rows into the buffers of their parts; full buffers are handed to the store.
    pub fn append(&mut self, rows: &RoutedRows) -> Result<()> {
        let mut start = 0;
        for (part, &end) in self.parts.iter_mut().zip(&rows.ends) {
            let end = end as usize;
            if start < end {
                part.append(self.plan, &rows.block, start..end)?;
            }
            start = end;
        }
        Ok(())
    }

    /// Builds all parts, from left to right, and hands them on; the sink may fail in its own way.
    pub fn drain<E: From<StorageError>>(
        mut self,
        sink: &mut dyn FnMut(Loaded) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        for part in &mut self.parts {
            part.flush(self.plan)?;
        }
        let groups = self.groups();
        let BufferTree { plan, top, mut parts, depth, within, buffers, .. } = self;
        drop(buffers);
        for group in groups {
            let mut part = Part::new(plan.strictest);
            for other in &mut parts[group.first_part..group.end_part] {
                part.take(other);
            }
            if part.n_rows > 0 {
                let region = region_within(top.region(group.root), within.as_ref());
                drain_part(plan, (&top, group.root), part, region, depth, sink)?;
            }
        }
        Ok(())
    }

    /// The parts, brought together where one alone violates the strictest requirement.
    fn groups(&self) -> Vec<Group> {
        let n_cells = self.top.n_cells();
        let mut part_of_cell = vec![0; n_cells];
        for (part, &root) in self.roots.iter().enumerate() {
            part_of_cell[self.top.cells_below(root)].fill(part);
        }
        let holds: Vec<bool> =
            self.parts.iter().map(|part| part.holds(self.plan.strictest)).collect();
        let union_holds = |first: usize, end: usize| {
            let parts = &self.parts[part_of_cell[first]..=part_of_cell[end - 1]];
            Part::union_holds(parts, self.plan.strictest)
        };
        let kept = self.top.satisfying(0, |cell_idx| holds[part_of_cell[cell_idx]], union_holds);
        let mut groups: Vec<Group> = Vec::new();
        for node in kept {
            let KeptNode::Cell(cell) = node else { continue };
            let (first_part, end_part) = (part_of_cell[cell.first], part_of_cell[cell.end - 1] + 1);
            if groups.last().is_some_and(|last| last.end_part >= end_part) {
                continue;
            }
            let is_whole = end_part - first_part > 1;
            let root = if is_whole { cell.node_idx } else { self.roots[first_part] };
            groups.push(Group { root, first_part, end_part });
        }
        groups
    }
}

impl Router<'_> {
    /// Packs rows in the order of their parts. `codes` are those of the attributes row by row,
    /// `facts` column by column.
    pub fn route<'p>(
        &self,
        first_row: u32,
        codes: &[u32],
        facts: &[Vec<u32>],
        payload: impl Fn(usize) -> &'p [u8],
    ) -> RoutedRows {
        let layout = self.plan.layout;
        let n_attributes = layout.n_attributes();
        let part_of = cells_of_rows(codes, n_attributes, &self.steps, 0);
        let (order, ends) = sorted_by_part(&part_of, self.n_parts);
        let mut block = RowBlock::with_capacity(layout, order.len());
        for &row in &order {
            let at = row as usize;
            let own = codes[at * n_attributes..(at + 1) * n_attributes].iter().copied();
            let values = own.chain(facts.iter().map(|column| column[at]));
            block.push(layout, first_row + row, values, payload(at));
        }
        RoutedRows { block, ends }
    }

    /// The same for rows that are packed already.
    fn route_packed(&self, rows: &RowBlock) -> RoutedRows {
        let layout = self.plan.layout;
        let codes = build::codes_of(layout, rows, 0..rows.n_rows());
        let part_of = cells_of_rows(&codes, layout.n_attributes(), &self.steps, 0);
        let (order, ends) = sorted_by_part(&part_of, self.n_parts);
        let mut block = RowBlock::with_capacity(layout, order.len());
        order.iter().for_each(|&row| block.extend_row(layout, rows, row as usize));
        RoutedRows { block, ends }
    }
}

/// The rows' places in the order of their parts, and where each part ends.
fn sorted_by_part(part_of: &[u32], n_parts: usize) -> (Vec<u32>, Vec<u32>) {
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

/// What two regions have in common.
fn region_within(region: Option<&Region>, within: Option<&Region>) -> Option<Region> {
    let region = region?;
    let Some(within) = within else { return Some(region.clone()) };
    let pairs = region.iter().zip(within);
    Some(pairs.map(|(own, outer)| (own.0.max(outer.0), own.1.min(outer.1))).collect())
}

/// Builds a part in memory, or divides it further, or finds that it cannot be divided.
fn drain_part<E: From<StorageError>>(
    plan: &BulkPlan<'_>,
    (top, root): (&Top, u32),
    part: Part,
    region: Option<Region>,
    depth: usize,
    sink: &mut dyn FnMut(Loaded) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let n_bytes = part.n_payload_bytes + part.n_rows as usize * plan.row_bytes();
    // How much memory is free depends on the threads; what is divided must not.
    if n_bytes > MAX_EXCESS * plan.sizes.part_bytes {
        return divide(plan, part, region, depth, sink);
    }
    match plan.budget.try_reserve("a part of the tree", n_bytes) {
        Ok(reservation) => {
            let rows = part.load(plan)?;
            let subtree = build::subtree(plan, (top, root), rows, region, reservation);
            sink(Loaded::Subtree(Box::new(subtree)))
        }
        Err(StorageError::OverBudget { .. }) => divide(plan, part, region, depth, sink),
        Err(error) => Err(error.into()),
    }
}

/// Loads a buffer tree from a part that does not fit in memory.
fn divide<E: From<StorageError>>(
    plan: &BulkPlan<'_>,
    part: Part,
    region: Option<Region>,
    depth: usize,
    sink: &mut dyn FnMut(Loaded) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let n_rows = part.n_rows;
    let payload_bytes = part.n_payload_bytes / n_rows.max(1) as usize;
    let part_rows = plan.sizes.part_bytes / (plan.row_bytes() + payload_bytes);
    let (top, n_sampled) = build::top_of_part(plan, &part, (part_rows / 2).clamp(1, CELL_ROWS))?;
    if top.n_cells() == 1 || depth == MAX_DEPTH {
        return sink(Loaded::Giant(Giant { n_rows, blocks: part.blocks, region }));
    }
    let mut tree = BufferTree::at_depth(plan, top, n_sampled, n_rows, payload_bytes, depth + 1)?;
    tree.within = region.clone();
    let router = tree.router();
    let mut blocks = part.blocks.into_iter();
    loop {
        let round: Vec<Block> = blocks.by_ref().take(rayon::current_num_threads()).collect();
        if round.is_empty() {
            break;
        }
        let routed: Vec<Result<RoutedRows>> = round
            .into_par_iter()
            .map(|block| {
                let bytes = plan.store.take(block)?;
                let mut rows = RowBlock::default();
                rows.read_from(plan.layout, &bytes);
                Ok(router.route_packed(&rows))
            })
            .collect();
        for rows in routed {
            tree.append(&rows?)?;
        }
    }
    let groups = tree.groups();
    if groups.len() == 1 && tree.parts.len() > 1 {
        // Nothing was gained: alone, the parts do not satisfy the requirement.
        for part in &mut tree.parts {
            part.flush(plan)?;
        }
        let blocks = tree.parts.into_iter().flat_map(|part| part.blocks).collect();
        return sink(Loaded::Giant(Giant { n_rows, blocks, region }));
    }
    tree.drain(sink)
}
