//! Distinct sample: how many values a column has and how many occur once, in bounded memory.
//!
//! Source: Gibbons 2001, "Distinct sampling for highly-accurate answers to distinct values
//! queries"; Bar-Yossef et al. 2002, the k minimum values of a hash.
//! Departures: none.
//! Guarantee: a value is in the sample if and only if its hash lies below the bound, and the bound
//! only falls, so a sampled value has been counted from its first row on. The bound is the greatest
//! power of two below which there are fewer than 2 k values: neither the order of the rows nor how
//! they were divided into parts has a say in it. Counts are exact until
//! 2 k values have been seen; beyond that both estimates are unbiased, with a relative standard
//! error of about 1 / sqrt(k) for the number of values (0.8 % for k = 16,384).
//! Cost: O(1) per value, 2 k hashes with their counts whatever the number of rows.

use rustc_hash::FxHashMap;

/// Values drawn by their hash, with the number of rows of each.
#[derive(Debug, Clone)]
pub struct DistinctSample {
    k: usize,
    /// Values whose hash is this or more are not in the sample; nothing when all are.
    bound: Option<u64>,
    n_rows_by_hash: FxHashMap<u64, u32>,
}

impl DistinctSample {
    /// An empty sample that shrinks to about `k` values whenever it has `2 k`.
    pub fn new(k: usize) -> DistinctSample {
        assert!(k > 0, "a sample of nothing tells nothing");
        DistinctSample { k, bound: None, n_rows_by_hash: FxHashMap::default() }
    }

    /// Adds `n_rows` rows with the value of this hash.
    #[inline]
    pub fn add(&mut self, hash: u64, n_rows: u32) {
        if self.bound.is_some_and(|bound| hash >= bound) {
            return;
        }
        let count = self.n_rows_by_hash.entry(hash).or_default();
        *count = count.saturating_add(n_rows);
        if self.n_rows_by_hash.len() >= self.capacity() {
            self.shrink();
        }
    }

    /// Adds all rows of another sample.
    pub fn merge(&mut self, other: &DistinctSample) {
        if let Some(bound) = other.bound {
            let bound = self.bound.map_or(bound, |own| own.min(bound));
            self.bound = Some(bound);
            self.n_rows_by_hash.retain(|&hash, _| hash < bound);
        }
        for (&hash, &n_rows) in &other.n_rows_by_hash {
            self.add(hash, n_rows);
        }
    }

    /// The most values it ever holds.
    pub fn capacity(&self) -> usize {
        2 * self.k
    }

    /// Whether some values have been left out.
    pub fn is_estimate(&self) -> bool {
        self.bound.is_some()
    }

    /// The number of distinct values.
    pub fn n_distinct(&self) -> u64 {
        (self.n_rows_by_hash.len() as f64 / self.sampled_share()).round() as u64
    }

    /// The number of values that occur in one row only.
    pub fn n_unique(&self) -> f64 {
        let n_once = self.n_rows_by_hash.values().filter(|&&n_rows| n_rows == 1).count();
        n_once as f64 / self.sampled_share()
    }

    /// The number of rows whose value occurs in another row too.
    pub fn n_rows_repeated(&self) -> f64 {
        let counts = self.n_rows_by_hash.values().filter(|&&n_rows| n_rows > 1);
        let n_rows: u64 = counts.map(|&n_rows| u64::from(n_rows)).sum();
        n_rows as f64 / self.sampled_share()
    }

    fn sampled_share(&self) -> f64 {
        self.bound.map_or(1.0, |bound| bound as f64 / 2f64.powi(64))
    }

    fn shrink(&mut self) {
        while self.n_rows_by_hash.len() >= self.capacity() {
            let bound = halved(self.bound);
            self.n_rows_by_hash.retain(|&hash, _| hash < bound);
            self.bound = Some(bound);
        }
    }
}

/// The half of a bound on hashes; none is beyond all of them. Bounds that are halved whenever too
/// many values lie below them do not depend on the order in which these came.
pub fn halved(bound: Option<u64>) -> u64 {
    bound.map_or(1 << 63, |bound| bound / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::mix;

    #[test]
    fn the_sample_never_holds_more_than_its_capacity() {
        let mut sample = DistinctSample::new(64);
        for value in 0..100_000u64 {
            sample.add(mix(value), 1);
            assert!(sample.n_rows_by_hash.len() < sample.capacity());
        }
        assert!(sample.n_rows_by_hash.capacity() <= 4 * sample.capacity());
    }

    #[test]
    fn few_values_are_counted_exactly() {
        let mut sample = DistinctSample::new(64);
        for row in 0..10_000u64 {
            sample.add(mix(row % 100), 1);
        }
        sample.add(mix(100), 1);
        assert!(!sample.is_estimate());
        assert_eq!((sample.n_distinct(), sample.n_unique()), (101, 1.0));
        assert_eq!(sample.n_rows_repeated(), 10_000.0);
    }

    #[test]
    fn many_values_are_estimated_within_a_few_percent() {
        let mut sample = DistinctSample::new(16_384);
        // Each value below 100,000 twice, each other once.
        for value in (0..400_000u64).chain(0..100_000) {
            sample.add(mix(value), 1);
        }
        assert!(sample.is_estimate());
        let near = |found: f64, truth: f64| (found / truth - 1.0).abs() < 0.03;
        assert!(near(sample.n_distinct() as f64, 400_000.0), "{}", sample.n_distinct());
        assert!(near(sample.n_unique(), 300_000.0), "{}", sample.n_unique());
    }

    #[test]
    fn the_order_of_the_values_and_their_parts_decide_nothing() {
        let values: Vec<u64> = (0..5_000).map(|value| mix(value % 3_000)).collect();
        let sample_of = |values: &mut dyn Iterator<Item = u64>| {
            let mut sample = DistinctSample::new(100);
            values.for_each(|hash| sample.add(hash, 1));
            sample
        };
        let whole = sample_of(&mut values.iter().copied());
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let mut merged = sample_of(&mut values[..700].iter().copied());
        merged.merge(&sample_of(&mut values[700..].iter().copied()));
        let same = |other: &DistinctSample| {
            (other.bound, &other.n_rows_by_hash) == (whole.bound, &whole.n_rows_by_hash)
        };
        assert!(same(&sample_of(&mut sorted.iter().copied())), "ascending");
        assert!(same(&sample_of(&mut sorted.iter().rev().copied())), "descending");
        assert!(same(&merged), "in parts");
    }

    #[test]
    fn parts_merge_to_the_sample_of_the_whole() {
        let (mut left, mut right) = (DistinctSample::new(256), DistinctSample::new(256));
        for value in 0..20_000u64 {
            left.add(mix(value), 1);
            right.add(mix(value + 10_000), 1);
        }
        left.merge(&right);
        let bound = left.bound.unwrap();
        for value in 0..30_000u64 {
            let expected = if (10_000..20_000).contains(&value) { 2 } else { 1 };
            let found = left.n_rows_by_hash.get(&mix(value)).copied();
            assert_eq!(found, (mix(value) < bound).then_some(expected), "value {value}");
        }
    }
}
