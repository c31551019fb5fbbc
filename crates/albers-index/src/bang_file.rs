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
//! Departures: there is no directory of pages, since the file is built for one release and in
//! memory: sorted regions are searched instead. Scales, keys and splits: see there.
//! Guarantee: every row is in one block, that of the smallest region around it; every block
//! satisfies the requirement, if all rows together do. The file is a function of the rows, the
//! scales and the requirement, whatever the order of the rows and the threads.
//! Cost: O(rows log rows) and a key for each row.
//!
//! - [`scale`]: which cell a code lies in. [`key`]: cells as keys, and regions as prefixes.
//!   `sorted`: the keys of all rows.
//! - [`grow`]: how blocks come about. [`contain`]: which region lies in which.
//! - `groups`: the blocks as classes of a release. `invariants`: what must be true of every file.

pub mod contain;
mod groups;
pub mod grow;
mod invariants;
pub mod key;
pub mod scale;
mod sorted;

use albers_classes::Span;
use albers_classes::points::Points;
use albers_partition::split::rule::Allowance;
use albers_storage::Result;
use albers_storage::watch::{Phase, Watch};

use contain::Nesting;
use grow::Block;
use key::RegionNumber;
use scale::Scale;
use sorted::SortedKeys;

/// Blocks of rows, each with its region.
pub struct BangFile {
    scales: Vec<Scale>,
    keys: SortedKeys,
    blocks: Vec<Block>,
    nesting: Nesting,
    is_nested: bool,
}

/// What a file is built with.
pub struct BangPlan<'a> {
    /// The scale of each attribute.
    pub scales: Vec<Scale>,
    /// What every block must satisfy.
    pub allowance: Allowance<'a>,
    /// Whether regions may lie in each other.
    pub nests: bool,
}

impl BangFile {
    /// Builds a file of all points, which together must satisfy what every block must.
    pub fn build(points: &Points, plan: BangPlan<'_>, watch: &dyn Watch) -> Result<BangFile> {
        watch.phase(Phase::Partition, Some(points.n_rows() as u64));
        let BangPlan { scales, allowance, nests } = plan;
        let keys = SortedKeys::of(points, &scales);
        watch.check()?;
        let blocks = match keys.n_rows() {
            0 => Vec::new(),
            _ => grow::grow(&keys, allowance, nests, watch)?,
        };
        let nesting = Nesting::of(&blocks, &keys);
        Ok(BangFile { scales, keys, blocks, nesting, is_nested: nests })
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
        self.keys.interleaving().region_box(key, n_bits, &self.scales)
    }

    /// The codes of the regions that lie directly in a block's.
    pub fn hole_boxes(&self, block: u32) -> Vec<Vec<Span>> {
        self.nesting.children(block).iter().map(|&child| self.region_box(child)).collect()
    }

    /// The number of a block's region as the papers have it, where it is not too long.
    pub fn region_number(&self, block: u32) -> Option<RegionNumber> {
        let (key, n_bits) = self.region(block);
        RegionNumber::of(key, n_bits)
    }

    /// The block of the smallest region around a point; without nesting there may be none.
    pub fn search(&self, codes: &[u32]) -> Option<u32> {
        let mut cells: Vec<u64> =
            self.scales.iter().zip(codes).map(|(scale, &code)| scale.cell(code)).collect();
        let mut key = vec![0; self.keys.interleaving().n_words()];
        self.keys.interleaving().write_key(&mut cells, &mut key);
        self.nesting.search(&key, &self.blocks, &self.keys)
    }

    /// A key in a block's region, and how many bits of it are the region.
    fn region(&self, block: u32) -> (&[u64], usize) {
        let block = &self.blocks[block as usize];
        (self.keys.key(block.at), block.n_bits as usize)
    }
}

#[cfg(test)]
mod tests;
