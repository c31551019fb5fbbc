//! The distinct values of a column, numbered in the order in which they come.
//!
//! Guarantee: numbers, and whether there is room for a value, are functions of the values and their
//! order.
//! Cost: a look into a table that is at most half full; the values are kept once, as the bytes of
//! the page that they become.

use std::hash::{BuildHasher as _, Hasher as _};

use rustc_hash::FxBuildHasher;

/// A value as a page holds it.
pub(super) trait PageValue: Copy {
    /// The bytes of every value, where all have the same.
    const N_BYTES: Option<usize>;

    /// A number that tells it from most others, in its highest bits.
    fn hash(self) -> u64;

    /// Appends it, encoded as `PLAIN`.
    fn push(self, out: &mut Vec<u8>);

    /// Whether it is what starts at a place of some encoded values.
    fn is_at(self, encoded: &[u8], start: usize) -> bool;

    /// The hash of a value of the same kind that starts at such a place.
    fn hash_at(self, encoded: &[u8], start: usize) -> u64;
}

/// Spreads the bits of a number.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

macro_rules! fixed_bytes {
    ($type:ty) => {
        impl PageValue for $type {
            const N_BYTES: Option<usize> = Some(size_of::<$type>());

            #[inline]
            fn hash(self) -> u64 {
                u64::from(self).wrapping_mul(SPREAD)
            }

            #[inline]
            fn push(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn is_at(self, encoded: &[u8], start: usize) -> bool {
                encoded[start..start + size_of::<$type>()] == self.to_le_bytes()
            }

            fn hash_at(self, encoded: &[u8], start: usize) -> u64 {
                let mut bytes = [0; size_of::<$type>()];
                bytes.copy_from_slice(&encoded[start..start + size_of::<$type>()]);
                PageValue::hash(<$type>::from_le_bytes(bytes))
            }
        }
    };
}

// Whole numbers, days, ticks and floats alike, by their bits.
fixed_bytes!(u32);
fixed_bytes!(u64);

/// What stands before a text: how long it is.
const LENGTH_BYTES: usize = size_of::<u32>();

/// A whole number as so many bytes, the highest first: a decimal with many digits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mantissa {
    pub(super) value: i128,
    pub(super) n_bytes: usize,
}

impl PageValue for Mantissa {
    const N_BYTES: Option<usize> = None;

    #[inline]
    fn hash(self) -> u64 {
        let (high, low) = ((self.value >> 64) as u64, self.value as u64);
        (low ^ high.wrapping_mul(SPREAD).rotate_left(32)).wrapping_mul(SPREAD)
    }

    #[inline]
    fn push(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.value.to_be_bytes()[16 - self.n_bytes..]);
    }

    #[inline]
    fn is_at(self, encoded: &[u8], start: usize) -> bool {
        encoded[start..start + self.n_bytes] == self.value.to_be_bytes()[16 - self.n_bytes..]
    }

    fn hash_at(self, encoded: &[u8], start: usize) -> u64 {
        let own = &encoded[start..start + self.n_bytes];
        let value = own.iter().fold(0, |value, &byte| value << 8 | i128::from(byte));
        // What was cut off before the highest byte are copies of the sign.
        let n_cut = 8 * (16 - self.n_bytes) as u32;
        Mantissa { value: value << n_cut >> n_cut, ..self }.hash()
    }
}

impl PageValue for &[u8] {
    const N_BYTES: Option<usize> = None;

    #[inline]
    fn hash(self) -> u64 {
        let mut hasher = FxBuildHasher.build_hasher();
        hasher.write(self);
        hasher.finish().wrapping_mul(SPREAD)
    }

    #[inline]
    fn push(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.len() as u32).to_le_bytes());
        out.extend_from_slice(self);
    }

    #[inline]
    fn is_at(self, encoded: &[u8], start: usize) -> bool {
        (self.len() as u32).is_at(encoded, start)
            && encoded[start + LENGTH_BYTES..].starts_with(self)
    }

    fn hash_at(self, encoded: &[u8], start: usize) -> u64 {
        let mut length = [0; LENGTH_BYTES];
        length.copy_from_slice(&encoded[start..start + LENGTH_BYTES]);
        let start = start + LENGTH_BYTES;
        (&encoded[start..start + u32::from_le_bytes(length) as usize]).hash()
    }
}

/// Values with their numbers.
#[derive(Default)]
pub(super) struct Dictionary {
    /// All values, encoded, and where each starts if they have not the same length.
    encoded: Vec<u8>,
    starts: Vec<u32>,
    n_values: u32,
    /// At the place of a value's hash, or soon after it: its number, plus one.
    slots: Vec<u32>,
}

/// Places of the smallest table.
const LEAST_SLOTS: usize = 64;

impl Dictionary {
    /// The number of a value, which is the next one if it is new; nothing if it is new and the
    /// values would have more than so many bytes.
    #[inline]
    pub(super) fn number(&mut self, value: impl PageValue, max_bytes: usize) -> Option<u32> {
        if self.slots.is_empty() {
            self.slots = vec![0; LEAST_SLOTS];
        }
        let mut slot = self.slot_of(value.hash());
        loop {
            match self.slots[slot] {
                0 => return self.add(value, slot, max_bytes),
                found if value.is_at(&self.encoded, self.start_of(value, found - 1)) => {
                    return Some(found - 1);
                }
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// How many values there are.
    pub(super) fn n_values(&self) -> u32 {
        self.n_values
    }

    /// What it takes.
    pub(super) fn n_bytes(&self) -> usize {
        self.encoded.len() + size_of::<u32>() * (self.starts.len() + self.slots.len())
    }

    /// All values in the order of their numbers, encoded one after another.
    pub(super) fn encoded(&self) -> &[u8] {
        &self.encoded
    }

    #[inline]
    fn slot_of(&self, hash: u64) -> usize {
        // The highest bits of the hash; the number of slots is a power of two.
        (hash >> (64 - self.slots.len().trailing_zeros())) as usize
    }

    #[inline]
    fn start_of<V: PageValue>(&self, _: V, number: u32) -> usize {
        match V::N_BYTES {
            Some(n_bytes) => number as usize * n_bytes,
            None => self.starts[number as usize] as usize,
        }
    }

    fn add<V: PageValue>(&mut self, value: V, slot: usize, max_bytes: usize) -> Option<u32> {
        let start = self.encoded.len();
        value.push(&mut self.encoded);
        if self.encoded.len() > max_bytes {
            self.encoded.truncate(start);
            return None;
        }
        if V::N_BYTES.is_none() {
            self.starts.push(start as u32);
        }
        let number = self.n_values;
        self.n_values += 1;
        self.slots[slot] = number + 1;
        if 2 * self.n_values as usize > self.slots.len() {
            self.grow(value);
        }
        Some(number)
    }

    /// Doubles the slots.
    #[cold]
    fn grow<V: PageValue>(&mut self, like: V) {
        self.slots = vec![0; 2 * self.slots.len()];
        for number in 0..self.n_values {
            let hash = like.hash_at(&self.encoded, self.start_of(like, number));
            let mut slot = self.slot_of(hash);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (self.slots.len() - 1);
            }
            self.slots[slot] = number + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// The numbers that a plain map gives, and those of the dictionary.
    fn numbers_are_those_of_a_map<V: PageValue>(values: &[V], max_bytes: usize) {
        let mut dictionary = Dictionary::default();
        let mut known: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut expected_bytes = Vec::new();
        for &value in values {
            let mut encoded = Vec::new();
            value.push(&mut encoded);
            let n_known = known.len() as u32;
            let has_room = expected_bytes.len() + encoded.len() <= max_bytes;
            let expected = match known.get(&encoded) {
                Some(&number) => Some(number),
                None => has_room.then(|| {
                    expected_bytes.extend_from_slice(&encoded);
                    known.insert(encoded, n_known);
                    n_known
                }),
            };
            assert_eq!(dictionary.number(value, max_bytes), expected);
        }
        assert_eq!(dictionary.encoded(), expected_bytes);
        assert_eq!(dictionary.n_values() as usize, known.len());
    }

    proptest! {
        #[test]
        fn equal_values_have_one_number_and_others_the_next(
            values in proptest::collection::vec(any::<i16>(), 0..600),
            modulus in 1i128..3000,
            max_bytes in prop_oneof![Just(usize::MAX), 0usize..4000],
        ) {
            let numbers: Vec<i128> = values.iter().map(|&own| i128::from(own) % modulus).collect();
            let all = |of: fn(i128) -> u64| numbers.iter().map(|&own| of(own)).collect::<Vec<_>>();
            numbers_are_those_of_a_map(&all(|own| own as u64), max_bytes);
            numbers_are_those_of_a_map(&all(|own| (own as f64).to_bits()), max_bytes);
            let narrow: Vec<u32> = numbers.iter().map(|&own| own as u32).collect();
            numbers_are_those_of_a_map(&narrow, max_bytes);
            for n_bytes in [2, 9, 16] {
                let wide: Vec<_> =
                    numbers.iter().map(|&value| Mantissa { value, n_bytes }).collect();
                numbers_are_those_of_a_map(&wide, max_bytes);
            }
            let texts: Vec<String> =
                numbers.iter().map(|own| "ab".repeat(own.unsigned_abs() as usize % 90)).collect();
            let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            numbers_are_those_of_a_map(&texts, max_bytes);
        }
    }
}
