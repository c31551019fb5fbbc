//! A BD-tree: halves of halves, taken out of what is around them.
//!
//! Source: Ohsawa & Sakauchi 1983; Samet 2006, section 1.6.2 (the BD-tree); Raschia & Anjum 2011,
//! table 2.
//! Departures: see `extract`; there is no tree of tests inside and outside, and so no rotation of
//! it. A BANG file takes the block that divides the rows best, and looks at the sparser half of each
//! step too; here the first denser half is taken that has at most two thirds.
//! Guarantee: regions lie in each other or apart; one holds all others, and all of space.
//! Cost: O(rows) for each round.

use std::ops::Range;

use albers_classes::Span;

use super::bucket::{AccessMethod, Bucket, Judge};
use super::extract::{Divided, extract};
use super::keys::Keys;

/// Buckets of rows in key order.
pub(super) struct BdTree {
    keys: Keys,
}

/// The first bits of the key of a row in it.
#[derive(Clone, Copy)]
pub(super) struct Prefix {
    row: u32,
    n_bits: usize,
}

impl BdTree {
    pub(super) fn new(keys: Keys) -> BdTree {
        BdTree { keys }
    }
}

impl Divided for BdTree {
    type Region = Prefix;

    fn parts(&self, _region: Prefix, rows: &[u32]) -> Option<(usize, [Prefix; 2])> {
        let (n_first, n_bits) = self.keys.halves(rows)?;
        Some((n_first, [rows[0], rows[n_first]].map(|row| Prefix { row, n_bits })))
    }
}

impl AccessMethod for BdTree {
    type Place = Prefix;

    fn whole(&self) -> Bucket<Prefix> {
        let rows = self.keys.order().to_vec();
        Bucket { place: Prefix { row: rows.first().copied().unwrap_or(0), n_bits: 0 }, rows }
    }

    fn split(&self, bucket: &Bucket<Prefix>, judge: &mut Judge<'_>) -> Option<Vec<Bucket<Prefix>>> {
        extract(self, bucket, judge)
    }

    fn region_box(&self, bucket: &Bucket<Prefix>) -> Vec<Span> {
        self.keys.region_box(bucket.place.row, bucket.place.n_bits)
    }

    fn run(&self, bucket: &Bucket<Prefix>) -> Option<Range<usize>> {
        Some(self.keys.run(bucket.place.row, bucket.place.n_bits))
    }
}
