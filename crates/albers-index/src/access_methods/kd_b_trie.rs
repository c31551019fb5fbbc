//! A kd-B-trie: space is halved on any attribute, the next in the cycle first.
//!
//! Source: Orenstein 1982; Samet 2006, section 1.7.1 (buckets that are split regularly); Raschia &
//! Anjum 2011, table 2, where regions are boxes on a grid.
//! Departures: where the next attribute of the cycle cannot be halved so that both halves satisfy,
//! the others are tried in their order. Ranges without rows are cut off on every attribute. There
//! are no pages.
//! Guarantee: regions lie side by side, each a halved range on every attribute with a length of its
//! own.
//! Cost: O(rows attributes) for each round.

use albers_classes::Span;

use super::bucket::{AccessMethod, Bucket, Judge};
use super::cells::Cells;

/// Buckets of rows in any order.
pub(super) struct KdBTrie {
    cells: Cells,
}

impl KdBTrie {
    pub(super) fn new(cells: Cells) -> KdBTrie {
        KdBTrie { cells }
    }
}

impl AccessMethod for KdBTrie {
    /// The attribute that comes next.
    type Place = usize;

    fn whole(&self) -> Bucket<usize> {
        Bucket { place: 0, rows: self.cells.rows() }
    }

    fn split(&self, bucket: &Bucket<usize>, judge: &mut Judge<'_>) -> Option<Vec<Bucket<usize>>> {
        let n_attributes = self.cells.n_attributes();
        (0..n_attributes).find_map(|turn| {
            let attribute = (bucket.place + turn) % n_attributes;
            let halves = self.cells.halves(attribute, &bucket.rows)?;
            let [first, second] = self.cells.parted(attribute, &bucket.rows, halves.middle());
            let place = (attribute + 1) % n_attributes;
            let part = |rows: Vec<u32>| Bucket { place, rows };
            judge.hold_all(&[&first, &second]).then(|| vec![part(first), part(second)])
        })
    }

    fn region_box(&self, bucket: &Bucket<usize>) -> Vec<Span> {
        let attributes = 0..self.cells.n_attributes();
        attributes.map(|attribute| self.cells.halved_span(attribute, &bucket.rows)).collect()
    }
}
