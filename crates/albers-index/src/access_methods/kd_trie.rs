//! A kd-trie: space is halved, one attribute after another.
//!
//! Source: Orenstein 1982 (multidimensional tries); Samet 2006, section 1.6; Raschia & Anjum 2011,
//! table 2.
//! Departures: a region is halved only where both halves satisfy, and halves without rows are cut
//! off. An attribute without more bits drops out of the cycle.
//! Guarantee: regions are halves of halves side by side; the same classes as those of a BANG file
//! without nesting.
//! Cost: O(rows) for each round.

use albers_classes::Span;

use super::bucket::{AccessMethod, Bucket, Judge};
use super::keys::Keys;

/// Buckets of rows in key order.
pub(super) struct KdTrie {
    keys: Keys,
}

impl KdTrie {
    pub(super) fn new(keys: Keys) -> KdTrie {
        KdTrie { keys }
    }
}

impl AccessMethod for KdTrie {
    /// The region is the smallest around the rows.
    type Place = ();

    fn whole(&self) -> Bucket<()> {
        Bucket { place: (), rows: self.keys.order().to_vec() }
    }

    fn split(&self, bucket: &Bucket<()>, judge: &mut Judge<'_>) -> Option<Vec<Bucket<()>>> {
        let (middle, _) = self.keys.halves(&bucket.rows)?;
        let halves = <[&[u32]; 2]>::from(bucket.rows.split_at(middle));
        let part = |rows: &[u32]| Bucket { place: (), rows: rows.to_vec() };
        judge.hold_all(&halves).then(|| halves.map(part).into())
    }

    fn region_box(&self, bucket: &Bucket<()>) -> Vec<Span> {
        self.keys.region_box(bucket.rows[0], self.keys.n_common_of(&bucket.rows))
    }
}
