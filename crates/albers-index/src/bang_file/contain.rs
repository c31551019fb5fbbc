//! Which region lies in which: parents, depths and holes.
//!
//! Source: Anjum & Raschia 2017, section 3.1.3, equation 2; Raschia & Anjum 2011, section 3.2.
//! Departures: the depth of a region is how many others hold it, which ranks the regions around a
//! point as the number of halvings does and tells less.
//! Guarantee: a parent is the smallest region around another; regions of one parent share no point.
//! Cost: O(blocks log blocks) to sort; a search is a binary search and a climb.

use rayon::prelude::*;

use super::key::{common_bits, compare_regions};

/// How the regions of some blocks lie in each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nesting {
    /// The blocks, by the order of their regions: what lies in a region follows it.
    order: Vec<u32>,
    /// The block of the smallest region around each block's.
    parents: Vec<Option<u32>>,
    /// How many regions lie around each block's.
    depths: Vec<u32>,
    /// The blocks whose regions lie directly in each block's.
    children: Vec<Vec<u32>>,
}

impl Nesting {
    /// Of so many regions that differ from each other: a key in each, and how many bits of it the
    /// region is.
    pub(super) fn of<'k>(
        n_blocks: usize,
        region: impl Fn(u32) -> (&'k [u64], usize) + Sync,
    ) -> Nesting {
        let mut order: Vec<u32> = (0..n_blocks as u32).collect();
        order.par_sort_unstable_by(|&a, &b| compare_regions(region(a), region(b)));
        let mut nesting = Nesting {
            order: Vec::new(),
            parents: vec![None; n_blocks],
            depths: vec![0; n_blocks],
            children: vec![Vec::new(); n_blocks],
        };
        // The regions around the last one, the outermost first.
        let mut open: Vec<u32> = Vec::new();
        for &block in &order {
            let (key, _) = region(block);
            while open.pop_if(|outer| !encloses(region(*outer), key)).is_some() {}
            if let Some(&parent) = open.last() {
                nesting.parents[block as usize] = Some(parent);
                nesting.children[parent as usize].push(block);
            }
            nesting.depths[block as usize] = open.len() as u32;
            open.push(block);
        }
        Nesting { order, ..nesting }
    }

    /// The blocks, by the order of their regions: what lies in a region follows it.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The block of the smallest region around a block's.
    pub fn parent(&self, block: u32) -> Option<u32> {
        self.parents[block as usize]
    }

    /// How many regions lie around a block's.
    pub fn depth(&self, block: u32) -> u32 {
        self.depths[block as usize]
    }

    /// The blocks whose regions lie directly in a block's: its holes.
    pub fn children(&self, block: u32) -> &[u32] {
        &self.children[block as usize]
    }

    /// The block of the smallest region that holds a key; nothing if none does.
    pub(super) fn search<'k>(
        &self,
        key: &[u64],
        region: impl Fn(u32) -> (&'k [u64], usize),
    ) -> Option<u32> {
        // A point is the smallest region there can be.
        let point = (key, 64 * key.len());
        let is_before = |&block: &u32| compare_regions(region(block), point).is_le();
        let mut found = self.order[..self.order.partition_point(is_before)].last().copied();
        while let Some(block) = found.filter(|&block| !encloses(region(block), key)) {
            found = self.parent(block);
        }
        found
    }
}

/// Whether a region holds a key.
pub(super) fn encloses((of, n_bits): (&[u64], usize), key: &[u64]) -> bool {
    common_bits(of, key) >= n_bits
}
