//! How densely rows lie in clusters: rows by volume, compared without rounding.
//!
//! A volume is counted in codes: the product of how many codes a region spans on each attribute,
//! without the regions that lie in it. With 64 attributes of 32 bits that is a number of 2048 bits.
//! A missing value's code lies a whole domain behind the others, so that a region with both has
//! the empty codes between them in its volume: it is thought up to twice as large on such an
//! attribute, and the cluster that much less dense.
//!
//! Source: Anjum & Raschia 2017, section 4.1, equations 6 and 7; Schikuta 1996.
//! Departures: how close two densities are is told by their quotient, not by their difference, so
//! that it means the same among dense and among sparse clusters.
//! Guarantee: comparisons are exact; ties are decided by the numbers of the clusters.
//! Cost: a product of a few words for each comparison.

use std::cmp::Ordering;

use albers_classes::Span;

use super::rounds::{Clusters, pair};
use crate::granularity::lists::Lists;

/// Large whole numbers of equal length, one after another, their least words first.
#[derive(Debug, Clone)]
pub struct Volumes {
    n_words: usize,
    words: Vec<u64>,
}

impl Volumes {
    /// No volumes yet of regions in a box; even all of them together have room.
    pub fn within(whole: &[Span], n_regions: usize) -> Volumes {
        let n_bits: u32 = whole.iter().map(|&span| 64 - length(span).leading_zeros()).sum();
        // As many as there are numbers of regions may be added up.
        let n_words = (n_bits as usize + 32) / 64 + 1;
        Volumes { n_words, words: Vec::with_capacity(n_words * n_regions) }
    }

    /// Adds the volume of a region without the holes in it, box after box, none of which meet.
    pub fn push(&mut self, region: &[Span], holes: &[Span]) {
        let start = self.words.len();
        self.words.resize(start + self.n_words, 0);
        set_product(region, &mut self.words[start..]);
        let mut hole_words = vec![0; if holes.is_empty() { 0 } else { self.n_words }];
        for hole in holes.chunks_exact(region.len().max(1)) {
            hole_words.fill(0);
            set_product(hole, &mut hole_words);
            subtract(&mut self.words[start..], &hole_words);
        }
    }

    /// A volume.
    pub fn get(&self, at: u32) -> &[u64] {
        &self.words[at as usize * self.n_words..(at as usize + 1) * self.n_words]
    }
}

/// How many codes a span has.
fn length((lo, hi): Span) -> u64 {
    u64::from(hi - lo) + 1
}

fn set_product(region: &[Span], words: &mut [u64]) {
    words[0] = 1;
    for &span in region {
        let mut carry = 0;
        for word in words.iter_mut() {
            (*word, carry) = product_step(*word, length(span), carry);
        }
        assert_eq!(carry, 0, "a region is not larger than all of space");
    }
}

/// The words of a product, the least first: the next one, and what is carried over.
#[inline]
fn product_step(word: u64, factor: u64, carry: u64) -> (u64, u64) {
    let product = u128::from(word) * u128::from(factor) + u128::from(carry);
    (product as u64, (product >> 64) as u64)
}

fn add(words: &mut [u64], other: &[u64]) {
    let mut carry = false;
    for (word, &more) in words.iter_mut().zip(other) {
        let (sum, first) = word.overflowing_add(more);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        (*word, carry) = (sum, first || second);
    }
    assert!(!carry, "all volumes together have room");
}

fn subtract(words: &mut [u64], other: &[u64]) {
    let mut borrow = false;
    for (word, &less) in words.iter_mut().zip(other) {
        let (rest, first) = word.overflowing_sub(less);
        let (rest, second) = rest.overflowing_sub(u64::from(borrow));
        (*word, borrow) = (rest, first || second);
    }
    assert!(!borrow, "the holes of a region lie in it");
}

/// The product of two numbers.
fn product(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut words = vec![0; a.len() + b.len()];
    for (at, &factor) in a.iter().enumerate() {
        let mut carry = 0;
        for (slot, &word) in words[at..].iter_mut().zip(b) {
            let sum = u128::from(word) * u128::from(factor) + u128::from(*slot) + u128::from(carry);
            (*slot, carry) = (sum as u64, (sum >> 64) as u64);
        }
        words[at + b.len()] = carry;
    }
    words
}

/// Compares `n_a * a` with `n_b * b`, which have equally many words.
fn compare_products((n_a, a): (u64, &[u64]), (n_b, b): (u64, &[u64])) -> Ordering {
    let (mut carry_a, mut carry_b) = (0, 0);
    let mut order = Ordering::Equal;
    for (&a, &b) in a.iter().zip(b) {
        let (word_a, word_b);
        (word_a, carry_a) = product_step(a, n_a, carry_a);
        (word_b, carry_b) = product_step(b, n_b, carry_b);
        order = word_a.cmp(&word_b).then(order);
    }
    carry_a.cmp(&carry_b).then(order)
}

/// Clusters with their rows and volumes: the closer their densities, the nearer they are.
pub struct Densities {
    /// Less than 2^32 in all.
    n_rows: Vec<u64>,
    volumes: Volumes,
}

impl Densities {
    /// Of clusters with so many rows and such volumes.
    pub fn new(n_rows: Vec<u64>, volumes: Volumes) -> Densities {
        Densities { n_rows, volumes }
    }

    /// Compares the densities of two clusters.
    pub fn compare(&self, a: u32, b: u32) -> Ordering {
        let of = |rows: u32, volume: u32| (self.n_rows[rows as usize], self.volumes.get(volume));
        compare_products(of(a, b), of(b, a))
    }

    /// Whether the density of `above` is closer to that of a cluster than `below` is, which is less
    /// dense than it.
    fn compare_sides(&self, of: u32, above: u32, below: u32) -> Ordering {
        let [own, above_rows, below_rows] =
            [of, above, below].map(|cluster| self.n_rows[cluster as usize]);
        let [own_volume, above_volume, below_volume] =
            [of, above, below].map(|cluster| self.volumes.get(cluster));
        compare_products(
            (above_rows * below_rows, &product(own_volume, own_volume)),
            (own * own, &product(above_volume, below_volume)),
        )
    }
}

impl Clusters for Densities {
    fn len(&self) -> usize {
        self.n_rows.len()
    }

    fn nearest(&self, of: u32, among: impl Iterator<Item = u32>) -> Option<u32> {
        let (mut above, mut below): (Option<u32>, Option<u32>) = (None, None);
        for other in among {
            let tie = |best: u32| pair(of, other).cmp(&pair(of, best));
            if self.compare(other, of).is_ge() {
                let is_nearer = |best: u32| self.compare(other, best).then_with(|| tie(best));
                above = above.filter(|&best| is_nearer(best).is_ge()).or(Some(other));
            } else {
                let is_nearer = |best: u32| self.compare(best, other).then_with(|| tie(best));
                below = below.filter(|&best| is_nearer(best).is_ge()).or(Some(other));
            }
        }
        let (Some(above), Some(below)) = (above, below) else { return above.or(below) };
        let order = self.compare_sides(of, above, below);
        let order = order.then_with(|| pair(of, above).cmp(&pair(of, below)));
        Some(if order.is_lt() { above } else { below })
    }

    fn merged(&self, groups: &Lists) -> Densities {
        let n_words = self.volumes.n_words;
        let mut words = vec![0; n_words * groups.len()];
        for (members, sum) in groups.iter().zip(words.chunks_exact_mut(n_words)) {
            members.iter().for_each(|&member| add(sum, self.volumes.get(member)));
        }
        let rows = |members: &[u32]| members.iter().map(|&own| self.n_rows[own as usize]).sum();
        Densities { n_rows: groups.iter().map(rows).collect(), volumes: Volumes { n_words, words } }
    }
}

#[cfg(test)]
mod tests;
