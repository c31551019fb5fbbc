//! Sixteen attributes at once: the few vector operations that the kernel is made of, for machines
//! that have them, and the same in plain words.
//!
//! All of it is arithmetic of integers without overflow, so that both give the same numbers.

/// Sixteen attributes of a point or of an end of a box.
pub type Vector = [u16; 16];

/// Sums of neighbours.
pub type Partial = [i32; 8];

/// The operations.
pub trait Lanes: Copy {
    /// The lesser of each attribute.
    fn min(self, a: Vector, b: Vector) -> Vector;

    /// The greater of each attribute.
    fn max(self, a: Vector, b: Vector) -> Vector;

    /// The lengths of a box, two and two together; each fits in 15 bits.
    fn lengths(self, hi: Vector, lo: Vector) -> Partial;

    /// Sums of partial sums.
    fn add(self, a: Partial, b: Partial) -> Partial;

    /// The whole sums of eight partial ones.
    fn sums(self, eight: &[Partial; 8]) -> [i32; 8];

    /// Adds one to the counts of those keys that are greater than another.
    fn count_greater(self, counts: Vector, keys: [i16; 16], other: i16) -> Vector;
}

/// Without vector instructions, or with those that the compiler finds.
#[derive(Clone, Copy)]
pub struct Plain;

impl Lanes for Plain {
    #[inline(always)]
    fn min(self, a: Vector, b: Vector) -> Vector {
        std::array::from_fn(|lane| a[lane].min(b[lane]))
    }

    #[inline(always)]
    fn max(self, a: Vector, b: Vector) -> Vector {
        std::array::from_fn(|lane| a[lane].max(b[lane]))
    }

    #[inline(always)]
    fn lengths(self, hi: Vector, lo: Vector) -> Partial {
        let length = |lane: usize| i32::from(hi[lane]) - i32::from(lo[lane]);
        std::array::from_fn(|pair| length(2 * pair) + length(2 * pair + 1))
    }

    #[inline(always)]
    fn add(self, a: Partial, b: Partial) -> Partial {
        std::array::from_fn(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    fn sums(self, eight: &[Partial; 8]) -> [i32; 8] {
        std::array::from_fn(|at| eight[at].iter().sum())
    }

    #[inline(always)]
    fn count_greater(self, counts: Vector, keys: [i16; 16], other: i16) -> Vector {
        std::array::from_fn(|lane| counts[lane].wrapping_add(u16::from(keys[lane] > other)))
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
impl Lanes for pulp::x86::V3 {
    #[inline(always)]
    fn min(self, a: Vector, b: Vector) -> Vector {
        pulp::cast(self.min_u16x16(pulp::cast(a), pulp::cast(b)))
    }

    #[inline(always)]
    fn max(self, a: Vector, b: Vector) -> Vector {
        pulp::cast(self.max_u16x16(pulp::cast(a), pulp::cast(b)))
    }

    #[inline(always)]
    fn lengths(self, hi: Vector, lo: Vector) -> Partial {
        let lengths = self.wrapping_sub_u16x16(pulp::cast(hi), pulp::cast(lo));
        let lengths = self.convert_u16x16_to_i16x16(lengths);
        pulp::cast(self.multiply_wrapping_add_adjacent_i16x16(lengths, self.splat_i16x16(1)))
    }

    #[inline(always)]
    fn add(self, a: Partial, b: Partial) -> Partial {
        pulp::cast(self.wrapping_add_i32x8(pulp::cast(a), pulp::cast(b)))
    }

    #[inline(always)]
    fn sums(self, eight: &[Partial; 8]) -> [i32; 8] {
        let pairs = |at: usize| {
            self.horizontal_add_pack_i32x8(pulp::cast(eight[at]), pulp::cast(eight[at + 1]))
        };
        // Four sums in each half, of the lower and of the upper lanes.
        let first: [[i32; 4]; 2] = pulp::cast(self.horizontal_add_pack_i32x8(pairs(0), pairs(2)));
        let second: [[i32; 4]; 2] = pulp::cast(self.horizontal_add_pack_i32x8(pairs(4), pairs(6)));
        let lower: Partial = pulp::cast([first[0], second[0]]);
        let upper: Partial = pulp::cast([first[1], second[1]]);
        self.add(lower, upper)
    }

    #[inline(always)]
    fn count_greater(self, counts: Vector, keys: [i16; 16], other: i16) -> Vector {
        // A mask is minus one.
        let greater = self.cmp_gt_i16x16(pulp::cast(keys), self.splat_i16x16(other));
        pulp::cast(self.wrapping_sub_u16x16(pulp::cast(counts), pulp::cast(greater)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn vectors_compute_what_plain_words_do(
            a in prop::array::uniform16(0u16..2000),
            b in prop::array::uniform16(0u16..2000),
            eight in prop::array::uniform8(prop::array::uniform8(-100_000i32..100_000)),
        ) {
            let Some(vectors) = super::super::vectors() else { return Ok(()) };
            let (lo, hi) = (Plain.min(a, b), Plain.max(a, b));
            prop_assert_eq!(vectors.min(a, b), lo);
            prop_assert_eq!(vectors.max(a, b), hi);
            prop_assert_eq!(vectors.lengths(hi, lo), Plain.lengths(hi, lo));
            prop_assert_eq!(vectors.add(eight[0], eight[1]), Plain.add(eight[0], eight[1]));
            prop_assert_eq!(vectors.sums(&eight), Plain.sums(&eight));
            let keys = a.map(|key| key as i16 - 1000);
            for other in [keys[0], keys[1], b[0] as i16 - 1000] {
                let counted = vectors.count_greater(b, keys, other);
                prop_assert_eq!(counted, Plain.count_greater(b, keys, other));
            }
        }
    }
}
