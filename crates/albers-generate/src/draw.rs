//! Random numbers, the same on every machine.
//!
//! ChaCha8 gives the bits. All that follows is whole numbers and the four operations on floats,
//! which IEEE 754 fixes to the last bit; logarithms and powers, which it does not, stay out. The
//! samplers are our own because `rand` may change the values of its own between versions.

use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Int32Array, StringArray};
use arrow_schema::{DataType, Field};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
pub(super) struct Draw(ChaCha8Rng);

impl Draw {
    /// The stream of one block of a table.
    pub(super) fn new(seed: u64, kind_tag: u64, block_idx: u64) -> Draw {
        let mut key = [0u8; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&kind_tag.to_le_bytes());
        key[16..24].copy_from_slice(&block_idx.to_le_bytes());
        Draw(ChaCha8Rng::from_seed(key))
    }

    /// A whole number below `bound`, each equally likely (Lemire 2019).
    #[inline]
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        let mut wide = u64::from(self.0.next_u32()) * u64::from(bound);
        if (wide as u32) < bound {
            let n_surplus = bound.wrapping_neg() % bound;
            while (wide as u32) < n_surplus {
                wide = u64::from(self.0.next_u32()) * u64::from(bound);
            }
        }
        (wide >> 32) as u32
    }

    /// A whole number from `first` to `last`, both included.
    #[inline]
    pub(super) fn between(&mut self, first: i32, last: i32) -> i32 {
        first + self.below((last - first) as u32 + 1) as i32
    }

    /// A float in [0, 1) in steps of 2^-53.
    #[inline]
    pub(super) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True so many times in a thousand.
    #[inline]
    pub(super) fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < per_mille
    }

    /// A whole number from `-width` to `width`, most often near zero.
    #[inline]
    pub(super) fn around_zero(&mut self, width: i32) -> i32 {
        self.between(0, width) - self.between(0, width)
    }
}

/// Draws indices by weight in constant time (Vose's alias method).
pub(super) struct Weighted {
    /// Per slot: how much of 2^32 goes to the slot itself, and who gets the rest.
    slots: Vec<(u32, u32)>,
}

impl Weighted {
    /// An index is drawn in proportion to its weight; one of weight zero never.
    pub(super) fn new(weights: &[f64]) -> Weighted {
        let n = weights.len();
        let total: f64 = weights.iter().sum();
        assert!(n > 0 && total > 0.0, "something must have weight");
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight * n as f64 / total).collect();
        let mut slots: Vec<(u32, u32)> = (0..n as u32).map(|idx| (u32::MAX, idx)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..n).partition(|&idx| shares[idx] < 1.0);
        while let (Some(&poor), Some(&rich)) = (small.last(), large.last()) {
            small.pop();
            slots[poor] = ((shares[poor] * 4_294_967_296.0) as u32, rich as u32);
            shares[rich] -= 1.0 - shares[poor];
            if shares[rich] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Weighted { slots }
    }

    /// Weights 1, 2^-3/4, 3^-3/4, …: the skew of names, places and goods. The favourites are spread
    /// over the indices, not gathered at the front.
    pub(super) fn skewed(n: usize) -> Weighted {
        let mut weights = vec![0.0; n];
        for (rank, idx) in scattered(n).into_iter().enumerate() {
            let root = ((rank + 1) as f64).sqrt();
            weights[idx] = 1.0 / (root * root.sqrt());
        }
        Weighted::new(&weights)
    }

    /// An index.
    #[inline]
    pub(super) fn pick(&self, draw: &mut Draw) -> usize {
        let slot_idx = draw.below(self.slots.len() as u32);
        let (own, other) = self.slots[slot_idx as usize];
        if draw.0.next_u32() < own { slot_idx as usize } else { other as usize }
    }
}

/// The numbers below `n` in an order without pattern, always the same.
pub(super) fn scattered(n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut draw = Draw::new(0, 0, n as u64);
    for end in (1..n).rev() {
        order.swap(end, draw.below(end as u32 + 1) as usize);
    }
    order
}

/// Numbers with a given distribution: the values at equally spaced quantiles, straight lines
/// between.
pub(super) fn from_quantiles(draw: &mut Draw, quantiles: &[f64]) -> f64 {
    let place = draw.unit() * (quantiles.len() - 1) as f64;
    let step = place as usize;
    let (low, high) = (quantiles[step], quantiles[step + 1]);
    low + (high - low) * (place - step as f64)
}

/// A column without missing values.
pub(super) fn field(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, false)
}

/// A column of whole numbers.
pub(super) fn integers(values: Vec<i32>) -> ArrayRef {
    Arc::new(Int32Array::from(values))
}

/// A column of days since 1970-01-01.
pub(super) fn dates(values: Vec<i32>) -> ArrayRef {
    Arc::new(Date32Array::from(values))
}

/// A column of labels, each given by its index.
pub(super) fn labels<S: AsRef<str>>(indices: &[usize], labels: &[S]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(indices.iter().map(|&idx| labels[idx].as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_decide_how_often_an_index_is_drawn() {
        let weights = [1.0, 0.0, 5.0, 2.0, 2.0];
        let (weighted, mut draw) = (Weighted::new(&weights), Draw::new(1, 2, 3));
        let mut counts = [0u32; 5];
        for _ in 0..100_000 {
            counts[weighted.pick(&mut draw)] += 1;
        }
        for (count, weight) in counts.into_iter().zip(weights) {
            assert!((f64::from(count) - weight * 10_000.0).abs() < 600.0, "{counts:?}");
        }
        assert_eq!(counts[1], 0);
    }

    #[test]
    fn numbers_below_a_bound_reach_both_ends_and_stay_inside() {
        let mut draw = Draw::new(1, 1, 1);
        let drawn: Vec<u32> = (0..1000).map(|_| draw.below(7)).collect();
        assert!((0..7).all(|n| drawn.contains(&n)) && drawn.iter().all(|&n| n < 7));
        assert!((0..1000).all(|_| (-3..=4).contains(&draw.between(-3, 4))));
        assert!((0..1000).all(|_| (0.0..1.0).contains(&draw.unit())));
    }

    #[test]
    fn a_scattered_order_has_every_number_once() {
        let mut order = scattered(1000);
        assert_ne!(order[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..1000));
    }

    #[test]
    fn quantiles_bound_what_is_drawn() {
        let mut draw = Draw::new(4, 5, 6);
        let drawn: Vec<f64> =
            (0..1000).map(|_| from_quantiles(&mut draw, &[1.0, 2.0, 9.0])).collect();
        assert!(drawn.iter().all(|x| (1.0..9.0).contains(x)));
        let n_low = drawn.iter().filter(|&&x| x < 2.0).count();
        assert!((400..600).contains(&n_low));
    }
}
