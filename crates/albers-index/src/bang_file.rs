//! A BANG file: blocks of rows in regions that may lie in each other.
//!
//! ```text
//!   codes ──scale──► cells ──interleave──► keys ──sort──► runs ──grow──► blocks ──contain──► holes
//!
//!   ┌─────────────────┐  depth 0      a block is its region without those that lie in it; a point
//!   │        ┌──────┐ │  depth 1      belongs to the block of the smallest region around it
//!   │  ┌──┐  │  ┌─┐ │ │  depth 2
//!   │  └──┘  └──┴─┴─┘ │
//!   └─────────────────┘
//! ```
//!
//! Source: Freeston 1987 (the BANG file); Raschia & Anjum 2011; Anjum & Raschia 2017, sections 2.2
//! and 3 (its blocks as classes).
//! Departures: there is no directory of pages, since the file is built for one release: sorted
//! regions are searched instead. Scales, keys and splits: see there. Rows are not inserted one by one
//! yet, nor switched between blocks.
//! Guarantee: every row is in one block, that of the smallest region around it; every block
//! satisfies the requirement, if all rows together do. The file is a function of the rows, the
//! scales and the requirement, whatever the order of the rows and the threads.
//! Cost: O(rows log rows) and a key for each row.
//!
//! - [`scale`]: which cell a code lies in. [`key`]: cells as keys, and regions as prefixes.
//!   [`space`]: both together. [`sorted`]: the keys of some rows.
//! - [`grow`]: how blocks come about, of `items`: rows, or [`lots`] of them.
//! - [`units`]: what is divided together where rows do not fit in memory.
//! - [`contain`]: which region lies in which. `invariants`: what must be true of every file.

pub mod contain;
pub mod grow;
mod invariants;
mod items;
pub mod key;
pub mod lots;
pub mod scale;
pub mod sorted;
pub mod space;
pub mod units;

use std::sync::Arc;

use albers_classes::Span;
use albers_partition::grain::Grain;
use albers_partition::split::rule::Allowance;
use albers_storage::Result;
use albers_storage::watch::{Phase, Watch};

use contain::{Nesting, encloses};
use grow::{Block, GrowPlan};
use items::RowItems;
use key::RegionNumber;
use lots::Lots;
use sorted::SortedKeys;
use space::HalvedSpace;
use units::{Joins, Unit};

/// Blocks of rows, each with its region.
pub struct BangFile {
    space: Arc<HalvedSpace>,
    keys: Arc<SortedKeys>,
    blocks: Vec<Block>,
    nesting: Nesting,
    /// Regions of other files that lie in this one's, and the block that each lies directly in.
    foreign: Vec<Foreign>,
    is_nested: bool,
}

/// A region that is not of this file, and lies in its regions.
struct Foreign {
    key: Vec<u64>,
    n_bits: usize,
    /// The block of the smallest region around it.
    block: u32,
}

/// What a file is built with.
#[derive(Clone)]
pub struct BangPlan<'a> {
    /// The scale of each attribute.
    pub space: Arc<HalvedSpace>,
    /// What every block must satisfy.
    pub allowance: Allowance<'a>,
    /// Whether regions may lie in each other.
    pub nests: bool,
    /// Sizes that decide how large blocks are divided.
    pub lot_sizes: LotSizes,
}

/// Sizes that decide how large blocks are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LotSizes {
    /// Blocks of more rows are divided by lots.
    pub large_rows: usize,
    /// The most rows of a lot, no more than are large.
    pub lot_rows: usize,
}

impl LotSizes {
    /// For a table of so many rows.
    pub fn of(n_rows: u64, grain: &Grain) -> LotSizes {
        let large_rows = grain.whole_rows;
        // A table that is not large is one lot, and no lot is large.
        let is_large = n_rows > large_rows as u64;
        let lot_rows = if is_large { grain.cell_rows.clamp(1, large_rows) } else { large_rows };
        LotSizes { large_rows, lot_rows }
    }
}

impl BangPlan<'_> {
    fn grow_plan(&self) -> GrowPlan {
        GrowPlan { min_rows: self.allowance.min_rows, nests: self.nests }
    }

    /// The units of all rows: what is divided together.
    pub fn units(&self, lots: &Lots<'_>, joins: Joins<'_>, watch: &dyn Watch) -> Result<Vec<Unit>> {
        if lots.is_empty() {
            return Ok(Vec::new());
        }
        let LotSizes { large_rows, lot_rows } = self.lot_sizes;
        let tree = grow::grow_lots(lots, self.grow_plan(), (large_rows, lot_rows), watch)?;
        Ok(units::units(lots, tree, joins, large_rows))
    }
}

/// Rows of a unit, by their places in key order, and whether they are a class as they are.
pub struct UnitRows {
    /// How many bits of their keys their region is.
    pub n_bits: u32,
    /// Their places, ascending.
    pub places: Vec<u32>,
    /// Whether they are not divided any further.
    pub is_whole: bool,
}

impl BangFile {
    /// Builds a file of all rows, which together must satisfy what every block must. `codes` writes
    /// those of a row.
    pub fn build(
        n_rows: usize,
        codes: impl Fn(usize, &mut [u32]) + Sync,
        plan: &BangPlan<'_>,
        watch: &dyn Watch,
    ) -> Result<BangFile> {
        watch.phase(Phase::Partition, Some(n_rows as u64));
        let keys = Arc::new(SortedKeys::of(&plan.space, n_rows, codes));
        watch.check()?;
        let rule = plan.allowance.rule;
        let asked = rule.map(|rule| rule.requirement);
        let mut lots = Lots::new(&plan.space, asked, asked.map(|own| own.shape()));
        lots.extend(&keys, (plan.lot_sizes.lot_rows, false), |places, summary| {
            let rows = &keys.row_ids()[places.start as usize..places.end as usize];
            let facts = rule.iter().flat_map(|rule| rows.iter().map(|&row| (rule.facts, row)));
            facts.for_each(|(facts, row)| facts.add(row as usize, summary));
        });
        let mut rows = Vec::new();
        for unit in plan.units(&lots, Joins::Nothing, watch)? {
            rows.extend(unit.blocks.into_iter().map(|block| {
                let places = block.lots.iter().flat_map(|&lot| lots.places(lot));
                let places = places.map(|place| place as u32).collect();
                UnitRows { n_bits: block.n_bits, places, is_whole: block.is_whole }
            }));
        }
        BangFile::of_unit(&keys, rows, &[], plan, watch)
    }

    /// Divides the blocks of a unit to the end. `inner` are the regions of units that lie directly
    /// in it: a key in each, and how many bits of it the region is.
    pub fn of_unit(
        keys: &Arc<SortedKeys>,
        rows: Vec<UnitRows>,
        inner: &[(&[u64], usize)],
        plan: &BangPlan<'_>,
        watch: &dyn Watch,
    ) -> Result<BangFile> {
        let items = RowItems { keys, rule: plan.allowance.rule };
        let mut blocks = Vec::new();
        for UnitRows { n_bits, places, is_whole } in rows {
            let block = Block { n_bits, places };
            match is_whole {
                true => blocks.push(block),
                false => blocks.extend(grow::grow_rows(items, block, plan.grow_plan(), watch)?),
            }
        }
        let nesting = Nesting::of(blocks.len(), |block| region(keys, &blocks[block as usize]));
        let mut file = BangFile {
            space: plan.space.clone(),
            keys: keys.clone(),
            blocks,
            nesting,
            foreign: Vec::new(),
            is_nested: plan.nests,
        };
        // No region of this file lies in one of another, so that the smallest around a key of it is
        // the smallest around it.
        let foreign = inner.iter().filter_map(|&(key, n_bits)| {
            let block = file.nesting.search(key, |block| file.region(block))?;
            Some(Foreign { key: key.to_vec(), n_bits, block })
        });
        file.foreign = foreign.collect();
        Ok(file)
    }

    /// Number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Whether regions may lie in each other.
    pub fn is_nested(&self) -> bool {
        self.is_nested
    }

    /// How regions lie in each other.
    pub fn nesting(&self) -> &Nesting {
        &self.nesting
    }

    /// The rows of a block.
    pub fn rows_of(&self, block: u32) -> impl Iterator<Item = u32> {
        self.keys.rows(&self.blocks[block as usize].places)
    }

    /// The codes of a block's region.
    pub fn region_box(&self, block: u32) -> Vec<Span> {
        let (key, n_bits) = self.region(block);
        self.space.region_box(key, n_bits)
    }

    /// The codes of the regions that lie directly in a block's.
    pub fn hole_boxes(&self, block: u32) -> Vec<Vec<Span>> {
        let own = self.nesting.children(block).iter().map(|&child| self.region_box(child));
        let foreign = self.foreign.iter().filter(|other| other.block == block);
        own.chain(foreign.map(|other| self.space.region_box(&other.key, other.n_bits))).collect()
    }

    /// The block in which each of the regions lies directly that are not of this file, in the order
    /// in which they were given.
    pub fn around_inner(&self) -> impl Iterator<Item = u32> {
        self.foreign.iter().map(|other| other.block)
    }

    /// The codes of the regions that are not of this file, in the order in which they were given.
    pub fn inner_boxes(&self) -> impl Iterator<Item = Vec<Span>> {
        self.foreign.iter().map(|other| self.space.region_box(&other.key, other.n_bits))
    }

    /// The number of a block's region as the papers have it, where it is not too long.
    pub fn region_number(&self, block: u32) -> Option<RegionNumber> {
        let (key, n_bits) = self.region(block);
        RegionNumber::of(key, n_bits)
    }

    /// The block of the smallest region around a point. There may be none without nesting, and
    /// where the smallest region is not of this file.
    pub fn search(&self, codes: &[u32]) -> Option<u32> {
        self.space.with_key(codes, |key| {
            let found = self.nesting.search(key, |block| self.region(block))?;
            let mut foreign = self.foreign.iter().filter(|other| other.block == found);
            let is_foreign = foreign.any(|other| encloses((&other.key, other.n_bits), key));
            (!is_foreign).then_some(found)
        })
    }

    /// A key in a block's region, and how many bits of it are the region.
    fn region(&self, block: u32) -> (&[u64], usize) {
        region(&self.keys, &self.blocks[block as usize])
    }
}

fn region<'k>(keys: &'k SortedKeys, block: &Block) -> (&'k [u64], usize) {
    (keys.key(block.places[0]), block.n_bits as usize)
}

#[cfg(test)]
mod tests;
