//! Units: blocks of lots that are loaded and divided together.
//!
//! ```text
//!   all lots ──divided──► blocks of lots ──joined where one alone is too little──► units
//!
//!   ┌──────────────────────┐     a unit lies around the units that lie in it: how deep these lie, and
//!   │ A   ┌──────┐  ┌────┐ │     in which of its blocks, is known when it has been divided; so the
//!   │     │ B    │  │ C  │ │     outer units come first
//!   └─────┴──────┴──┴────┴─┘
//! ```
//!
//! Guarantee: every lot is in one unit. The regions of a unit's blocks lie in the region of the
//! first of them, and nothing of another unit lies between two of them. Every unit satisfies the
//! requirement that units are to satisfy, if all rows together do.

use albers_privacy::Requirement;

use super::contain::Nesting;
use super::grow::{Block, LotTree};
use super::items::Items;
use super::lots::Lots;

/// Which blocks of lots are one unit.
#[derive(Debug, Clone, Copy)]
pub enum Joins<'a> {
    /// Each is a unit.
    Nothing,
    /// Those that came of one block, where one of them violates a requirement alone.
    Violating(&'a Requirement),
    /// All of them.
    All,
}

/// Blocks of lots that are divided together.
#[derive(Debug)]
pub struct Unit {
    /// Its blocks, the outermost first.
    pub blocks: Vec<UnitBlock>,
    /// The units that lie directly in it, by number; none where regions lie side by side.
    pub inner: Vec<u32>,
    /// A key in its region.
    pub key: Vec<u64>,
    /// How many bits of it the region is.
    pub n_bits: usize,
}

/// A block of lots.
#[derive(Debug)]
pub struct UnitBlock {
    /// How many bits of the keys its region is.
    pub n_bits: u32,
    /// Its lots, ascending.
    pub lots: Vec<u32>,
    /// Whether it is large and cannot be divided: it is a class as it is.
    pub is_whole: bool,
}

impl Unit {
    /// Its lots, ascending.
    pub fn lots(&self) -> Vec<u32> {
        let mut lots: Vec<u32> =
            self.blocks.iter().flat_map(|block| block.lots.iter().copied()).collect();
        lots.sort_unstable();
        lots
    }
}

/// The units of all lots, each before those that lie in it.
pub(super) fn units(
    lots: &Lots<'_>,
    tree: LotTree,
    joins: Joins<'_>,
    large_rows: usize,
) -> Vec<Unit> {
    let owners = match joins {
        Joins::Nothing => (0..tree.nodes.len() as u32).collect(),
        Joins::Violating(strictest) => owners(lots, &tree, strictest),
        Joins::All => vec![0; tree.nodes.len()],
    };
    let mut numbers = vec![u32::MAX; tree.nodes.len()];
    let owned = tree.nodes.into_iter().zip(owners);
    let (blocks, owners): (Vec<Block>, Vec<u32>) =
        owned.filter_map(|(node, owner)| Some((node.block?, owner))).unzip();
    let region = |block: u32| {
        let block = &blocks[block as usize];
        (lots.first_key(block.places[0]), block.n_bits as usize)
    };
    let nesting = Nesting::of(blocks.len(), region);
    let mut units: Vec<Unit> = Vec::new();
    for &block in nesting.order() {
        let owner = owners[block as usize] as usize;
        if numbers[owner] == u32::MAX {
            numbers[owner] = units.len() as u32;
            let around = nesting.parent(block).map(|own| numbers[owners[own as usize] as usize]);
            if let Some(around) = around {
                units[around as usize].inner.push(numbers[owner]);
            }
            let (key, n_bits) = region(block);
            let (blocks, inner) = (Vec::new(), Vec::new());
            units.push(Unit { blocks, inner, key: key.to_vec(), n_bits });
        }
        let Block { n_bits, places } = &blocks[block as usize];
        let is_whole = lots.n_rows(places) > large_rows;
        let own = UnitBlock { n_bits: *n_bits, lots: places.clone(), is_whole };
        units[numbers[owner] as usize].blocks.push(own);
    }
    units
}

/// The node of the tree that each node belongs to: the highest one below which some part violates
/// the strictest requirement alone, or else itself.
fn owners(lots: &Lots<'_>, tree: &LotTree, strictest: &Requirement) -> Vec<u32> {
    let nodes = &tree.nodes;
    let mut below: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
    // Parts follow the node that they are of.
    for at in (0..nodes.len()).rev() {
        let own = nodes[at].block.iter().flat_map(|block| block.places.iter().copied());
        let parts = nodes[at].parts.iter().flat_map(|&part| below[part as usize].iter().copied());
        below[at] = own.chain(parts).collect();
    }
    let mut owners: Vec<u32> = (0..nodes.len() as u32).collect();
    for at in 0..nodes.len() {
        let parts = &nodes[at].parts;
        let holds = |part: &u32| lots.hold(below[*part as usize].iter().copied(), strictest);
        let is_joined = owners[at] != at as u32 || !parts.iter().all(holds);
        if is_joined {
            let owner = owners[at];
            parts.iter().for_each(|&part| owners[part as usize] = owner);
        }
    }
    owners
}
