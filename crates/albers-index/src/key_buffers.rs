//! Key buffers: load a BANG file from more rows than fit in memory.
//!
//! ```text
//!   rows ──by key──► buffers of the parts ──blocks──► spill store
//!                        │ all rows have arrived
//!                        ▼
//!   part by part:  load ──► sort by key ──► lots, and sorted blocks ──► spill store
//!                        │ all lots are known
//!                        ▼
//!   lots ──divided──► units ──► unit by unit: load its sorted blocks, divide to the end ──► sink
//! ```
//!
//! Source: Freeston 1987 for what is built; the order of a sort in place of a directory is ours.
//! Departures: rows are sorted by their keys before the first block is divided, so that a block of
//! any size is divided by the counts of its lots; no sample decides anything but what is spilled.
//! Guarantee: the blocks are those that are built of all rows in memory. Memory stays within the
//! budget, or the rows are refused.
//! Cost: every row is written and read twice, in large blocks; where all rows fit, not at all.

mod sort;
mod unit;

use std::sync::Arc;

use albers_classes::Span;
use albers_classes::packed::RowBlock;
use albers_partition::sample::Tuples;
use albers_partition::split::rule::Allowance;
use albers_privacy::{Requirement, SummaryShape};
use albers_storage::memory_budget::Reservation;
use albers_storage::spill::Block;
use albers_storage::watch::Watch;
use albers_storage::{Result, StorageError};

use crate::bang_file::space::HalvedSpace;
use crate::bang_file::units::Unit;
use crate::bang_file::{BangFile, BangPlan, LotSizes};
use crate::buffer_tree::{BulkPlan, Intake, Part, RoutedRows, Router};
use crate::granularity::leaves::{Index, LeafRuns};
use crate::rplus_tree::grow::Source;
use sort::{KeyRanges, Sorted};

/// What is to be loaded, and how.
#[derive(Clone, Copy)]
pub struct BangLoad<'a> {
    /// How rows are packed, what they must satisfy and the sizes of things.
    pub bulk: &'a BulkPlan<'a>,
    /// The scales of all attributes.
    pub space: &'a Arc<HalvedSpace>,
    /// Whether regions may lie in each other.
    pub nests: bool,
    /// Sizes that decide how large blocks are divided.
    pub lot_sizes: LotSizes,
    /// Whether all blocks are one unit, since classes of different units might show the same.
    pub is_one_unit: bool,
}

impl<'a> BangLoad<'a> {
    /// The plan of a file, with what blocks must satisfy beside a number of rows.
    fn bang_plan<'f>(&self, allowance: Allowance<'f>) -> BangPlan<'f> {
        let (space, nests, lot_sizes) = (self.space.clone(), self.nests, self.lot_sizes);
        BangPlan { space, allowance, nests, lot_sizes }
    }

    /// What every block must satisfy, where more than the number of rows decides.
    fn rule(&self) -> Option<&'a Requirement> {
        let requirement = self.bulk.plan.requirement;
        requirement.is_only_row_count().is_none().then_some(requirement)
    }

    /// What is counted of rows, where more than their number is ever asked for.
    fn shape(&self) -> Option<&'a SummaryShape> {
        let strictest = Some(self.bulk.strictest);
        let strictest = strictest.filter(|own| own.is_only_row_count().is_none());
        self.rule().or(strictest).map(Requirement::shape)
    }

    /// About how much a row takes while its part is sorted or its unit divided, its payload left
    /// out.
    fn row_bytes(&self) -> usize {
        // Its key twice while it is sorted, with its number and its place in a block; its share of a
        // block.
        let block_bytes = 4 * 8 * self.bulk.layout.n_attributes() + 96;
        let min_rows = self.bulk.plan.min_rows().max(1);
        let key_bytes = 16 * self.space.n_words() + 40;
        self.bulk.layout.stride_bytes() + key_bytes + block_bytes.div_ceil(min_rows)
    }
}

/// Buffers that take in rows.
pub struct KeyBuffers<'a> {
    load: BangLoad<'a>,
    router: Router<'a>,
    parts: Vec<Part>,
    buffers: Reservation,
}

/// What comes out of key buffers.
pub enum LoadedUnit<'r> {
    /// Blocks that were divided together, in memory.
    Unit(Box<BangUnit<'r>>),
    /// Rows that cannot be divided and are more than are looked at together: one block.
    Giant(BangGiant),
}

/// A unit of a BANG file, with its rows.
pub struct BangUnit<'r> {
    /// Its number; units that lie in others have greater ones.
    pub number: u32,
    /// The units that lie directly in it, in the order of the file's inner regions.
    pub inner: Vec<u32>,
    /// Its blocks.
    pub file: BangFile,
    /// The rows, among others.
    pub rows: &'r RowBlock,
    /// Their places, block by block.
    pub order: Vec<u32>,
    /// Where each block ends in the order.
    pub ends: Vec<u32>,
    /// The least and the greatest code of each block on each attribute.
    pub boxes: Vec<Span>,
    /// The regions of the blocks.
    pub regions: Vec<Span>,
}

/// A block with more rows than are looked at together.
pub struct BangGiant {
    /// The number of its unit.
    pub number: u32,
    /// The units that lie directly in it.
    pub inner: Vec<u32>,
    /// Its rows, packed.
    pub blocks: Vec<Block>,
    /// How many.
    pub n_rows: u64,
    /// Its region.
    pub region: Vec<Span>,
    /// The regions of the units that lie in it, one after another.
    pub holes: Vec<Span>,
}

impl<'a> KeyBuffers<'a> {
    /// Buffers for so many rows, each with about `payload_bytes` besides its codes. What is known of
    /// some tuples decides only where parts end.
    pub fn new(
        load: BangLoad<'a>,
        tuples: &Tuples,
        n_rows: u64,
        payload_bytes: usize,
    ) -> Result<KeyBuffers<'a>> {
        let keys = tuples.counted().map(|(codes, n_own)| (load.space.key(codes), n_own));
        let n_parts = sort::n_parts(&load, n_rows, payload_bytes);
        KeyBuffers::between(load, KeyRanges::of_sample(keys.collect(), n_parts))
    }

    fn between(load: BangLoad<'a>, ranges: KeyRanges) -> Result<KeyBuffers<'a>> {
        let plan = load.bulk;
        let n_parts = ranges.len();
        let n_bytes = n_parts * plan.sizes.block_bytes;
        let buffers = plan.budget.try_reserve("the buffers of the file", n_bytes)?;
        let space = load.space.clone();
        let parts_of = Arc::new(move |codes: &[u32]| ranges.parts_of(&space, codes));
        let router = Router::new(plan.layout, parts_of, n_parts);
        let parts = (0..n_parts).map(|_| Part::counting_rows()).collect();
        Ok(KeyBuffers { load, router, parts, buffers })
    }

    /// Sorts all rows by their keys, and finds the units.
    pub fn sort(self, watch: &dyn Watch) -> Result<SortedFile<'a>> {
        let load = self.load;
        let sorted = sort::sorted(self, watch)?;
        let units = unit::units(&load, &sorted.lots, watch)?;
        Ok(SortedFile { load, sorted, units })
    }
}

/// All rows in the order of their keys, to be divided unit by unit.
pub struct SortedFile<'a> {
    load: BangLoad<'a>,
    sorted: Sorted<'a>,
    units: Vec<Unit>,
}

/// Whether rows will be asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// They will.
    Again,
    /// They will not, and can be given up.
    Last,
}

impl SortedFile<'_> {
    /// Divides all rows and hands them on, unit by unit, each before those that lie in it; the sink
    /// may fail in its own way.
    pub fn visit<E: From<StorageError>>(
        &mut self,
        visit: Visit,
        watch: &dyn Watch,
        sink: &mut dyn FnMut(LoadedUnit<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        unit::visit(&self.load, (&mut self.sorted, &self.units), visit, watch, sink)
    }
}

impl BangUnit<'_> {
    /// The blocks with their rows, for coarser classes.
    pub fn leaf_runs<'s>(&'s self, plan: &'s BulkPlan<'_>) -> LeafRuns<'s> {
        let source = Source { layout: plan.layout, block: self.rows, facts: plan.facts };
        LeafRuns { source, order: &self.order, ends: &self.ends, index: Index::Blocks(&self.file) }
    }
}

impl<'a> Intake<'a> for KeyBuffers<'a> {
    fn router(&self) -> Router<'a> {
        self.router.clone()
    }

    fn append(&mut self, rows: &RoutedRows) -> Result<()> {
        rows.append_to(self.load.bulk, &mut self.parts)
    }

    fn n_rows(&self) -> u64 {
        self.parts.iter().map(|part| part.n_rows).sum()
    }

    fn n_payload_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.n_payload_bytes).sum()
    }
}
