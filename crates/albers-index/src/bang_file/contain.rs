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
    /// The first word of each region in that order, with zeros behind its bits.
    first_words: Vec<u64>,
    /// The block of the smallest region around each block's.
    parents: Vec<Option<u32>>,
    /// How many regions lie around each block's.
    depths: Vec<u32>,
    /// The blocks whose regions lie directly in each block's, one after another.
    children: Vec<u32>,
    /// Where those of each block end.
    child_ends: Vec<u32>,
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
        let (mut parents, mut depths) = (vec![None; n_blocks], vec![0; n_blocks]);
        // The regions around the last one, the outermost first.
        let mut open: Vec<u32> = Vec::new();
        for &block in &order {
            let (key, _) = region(block);
            while open.pop_if(|outer| !encloses(region(*outer), key)).is_some() {}
            parents[block as usize] = open.last().copied();
            depths[block as usize] = open.len() as u32;
            open.push(block);
        }
        let first_word = |&block: &u32| {
            let (key, n_bits) = region(block);
            let n_own = n_bits.min(64) as u32;
            key[0] & u64::MAX.checked_shl(64 - n_own).unwrap_or(0)
        };
        let first_words = order.iter().map(first_word).collect();
        let (children, child_ends) = children_of(&order, &parents);
        Nesting { order, first_words, parents, depths, children, child_ends }
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
        let start = if block == 0 { 0 } else { self.child_ends[block as usize - 1] };
        &self.children[start as usize..self.child_ends[block as usize] as usize]
    }

    /// The block of the smallest region that holds a key; nothing if none does.
    pub(super) fn search<'k>(
        &self,
        key: &[u64],
        region: impl Fn(u32) -> (&'k [u64], usize),
    ) -> Option<u32> {
        // A point is the smallest region there can be.
        let point = (key, 64 * key.len());
        // Most regions are told apart by their first words, which lie side by side.
        let start = self.first_words.partition_point(|&word| word < key[0]);
        let same = self.first_words[start..].partition_point(|&word| word == key[0]);
        let same = &self.order[start..start + same];
        let is_before = |&block: &u32| compare_regions(region(block), point).is_le();
        let end = start + same.partition_point(is_before);
        let mut found = self.order[..end].last().copied();
        while let Some(block) = found.filter(|&block| !encloses(region(block), key)) {
            found = self.parent(block);
        }
        found
    }
}

/// The children of each block in the order of their regions, and where those of each block end.
fn children_of(order: &[u32], parents: &[Option<u32>]) -> (Vec<u32>, Vec<u32>) {
    let mut ends = vec![0u32; parents.len()];
    parents.iter().flatten().for_each(|&parent| ends[parent as usize] += 1);
    let mut end = 0;
    for own in &mut ends {
        end += *own;
        *own = end;
    }
    let mut next: Vec<u32> = std::iter::once(0).chain(ends.iter().copied()).collect();
    let mut children = vec![0; end as usize];
    for &block in order {
        if let Some(parent) = parents[block as usize] {
            let slot = &mut next[parent as usize];
            children[*slot as usize] = block;
            *slot += 1;
        }
    }
    (children, ends)
}

/// Whether a region holds a key.
pub(super) fn encloses((of, n_bits): (&[u64], usize), key: &[u64]) -> bool {
    common_bits(of, key) >= n_bits
}
