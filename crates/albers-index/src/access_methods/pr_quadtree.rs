//! A PR quadtree: all attributes are halved at once.
//!
//! ```text
//!   ┌───┬───┐   a round of halvings of all attributes is one step, which has as many parts as hold
//!   │ : │ · │   rows: all of them must satisfy, or the region stays whole
//!   ├───┼───┤
//!   │ ::│   │
//!   └───┴───┘
//! ```
//!
//! Source: Samet 1984 and 2006, section 1.4; Raschia & Anjum 2011, table 2.
//! Departures: a region is divided only where all parts that hold rows satisfy, and parts without
//! rows are cut off. An attribute without more bits is no longer halved.
//! Guarantee: regions lie side by side, and were halved equally often on all attributes.
//! Cost: O(rows) for each round. A step has up to 2^attributes parts, so that more than
//! [`MAX_ATTRIBUTES`] leave hardly any table divided, and are refused when a job is planned.

use albers_classes::Span;

use super::bucket::{AccessMethod, Bucket, Judge};
use super::keys::Keys;

/// With more attributes a step has more than 64 parts.
pub const MAX_ATTRIBUTES: usize = 6;

/// Buckets of rows in key order.
pub(super) struct PrQuadtree {
    keys: Keys,
    /// How often space was halved before each round, ascending, and in all.
    rounds: Vec<usize>,
}

impl PrQuadtree {
    pub(super) fn new(keys: Keys) -> PrQuadtree {
        let n_rounds = keys.n_bits().max().unwrap_or(0);
        let mut rounds = vec![0];
        for round in 0..n_rounds {
            let n_halved = keys.n_bits().filter(|&n_bits| n_bits > round).count();
            rounds.push(rounds[round as usize] + n_halved);
        }
        PrQuadtree { keys, rounds }
    }

    /// The last round that is over after so many halvings.
    fn round_before(&self, n_halvings: usize) -> usize {
        self.rounds.partition_point(|&n_before| n_before <= n_halvings) - 1
    }
}

impl AccessMethod for PrQuadtree {
    /// The region is the smallest around the rows.
    type Place = ();

    fn whole(&self) -> Bucket<()> {
        Bucket { place: (), rows: self.keys.order().to_vec() }
    }

    fn split(&self, bucket: &Bucket<()>, judge: &mut Judge<'_>) -> Option<Vec<Bucket<()>>> {
        let round = self.round_before(self.keys.n_common_of(&bucket.rows));
        let n_bits = *self.rounds.get(round + 1)?;
        let is_one = |a: &u32, b: &u32| self.keys.n_common(*a, *b) >= n_bits;
        let parts: Vec<&[u32]> = bucket.rows.chunk_by(is_one).collect();
        let part = |rows: &&[u32]| Bucket { place: (), rows: rows.to_vec() };
        judge.hold_all(&parts).then(|| parts.iter().map(part).collect())
    }

    fn region_box(&self, bucket: &Bucket<()>) -> Vec<Span> {
        let round = self.round_before(self.keys.n_common_of(&bucket.rows));
        self.keys.region_box(bucket.rows[0], self.rounds[round])
    }
}
