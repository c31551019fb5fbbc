//! Keys: the cells of a point, interleaved, so that regions are prefixes.
//!
//! ```text
//!   cells   d1 = 10   d2 = 0110   d3 = 110
//!   round       1         2         3     4
//!   bits    1  0  1   0  1  1   1  0   0          an attribute without more bits drops out
//!           d1 d2 d3  d1 d2 d3  d2 d3  d2
//!   key     101011100, and the first so many bits are a region that holds it
//! ```
//!
//! Source: Anjum & Raschia 2017, section 3.2, rules 1 to 5 and algorithm 1; Freeston 1987.
//! Departures: algorithm 1 never ends when an attribute is exhausted; here rounds and bits are
//! counted apart. A key is kept with its first halving as the most significant bit, so that rows
//! sorted by their keys have every region in one run and enclosing is a prefix test; the number of
//! a region as the papers have it, with the first halving as the least significant bit, is only
//! shown.
//! Guarantee: of two regions one holds the other, or they share no point.
//! Cost: O(bits) for a key.

use std::cmp::Ordering;
use std::fmt;

use albers_classes::Span;

use super::scale::Scale;

/// Which attribute each halving of space halves: one after another, those without more bits left
/// out.
#[derive(Debug, Clone)]
pub struct Interleaving {
    n_bits: Vec<u32>,
    /// The attribute of each halving.
    attributes: Vec<u8>,
    /// Where the bits of each attribute go, a few at a time, the first halving first.
    spreads: Vec<Vec<Spread>>,
    /// How many bits those are.
    n_spread_bits: u32,
}

/// Where a few bits of an attribute go: into two neighbouring words, for each value of the bits.
#[derive(Debug, Clone)]
struct Spread {
    first_word: usize,
    words: [[u64; 2]; 1 << MAX_SPREAD_BITS],
}

/// More bits at a time would need tables that do not fit in a core's cache.
const MAX_SPREAD_BITS: u32 = 4;

/// A region in the papers' numbers: so many halvings, the first the least significant bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionNumber {
    /// Which half was taken each time.
    pub number: u128,
    /// How often space was halved.
    pub level: u32,
}

impl Interleaving {
    /// Of attributes that can be halved so often.
    pub fn new(n_bits: Vec<u32>) -> Interleaving {
        assert!(n_bits.len() <= 256, "attributes are checked when a job is planned");
        let n_rounds = n_bits.iter().copied().max().unwrap_or(0);
        let round = |round: u32| {
            let halved = n_bits.iter().enumerate().filter(move |(_, own)| **own > round);
            halved.map(|(attribute, _)| attribute as u8)
        };
        let attributes: Vec<u8> = (0..n_rounds).flat_map(round).collect();
        // So few that they lie in two neighbouring words.
        let n_spread_bits = (64 / n_bits.len().max(1) as u32).clamp(1, MAX_SPREAD_BITS);
        let spreads = (0..n_bits.len())
            .map(|attribute| {
                let levels = attributes.iter().enumerate();
                let own = levels.filter(|(_, own)| usize::from(**own) == attribute);
                let levels: Vec<usize> = own.map(|(level, _)| level).collect();
                let few = levels.chunks(n_spread_bits as usize);
                few.map(|few| Spread::of(few, n_spread_bits)).collect()
            })
            .collect();
        Interleaving { n_bits, attributes, spreads, n_spread_bits }
    }

    /// How often space can be halved.
    pub fn n_levels(&self) -> usize {
        self.attributes.len()
    }

    /// The attribute that a halving halves, the first being 0.
    pub fn attribute(&self, level: usize) -> usize {
        self.attributes[level].into()
    }

    /// The cell of an attribute, told from a key.
    pub fn cell_of(&self, key: &[u64], attribute: usize) -> u64 {
        let halvings = self.attributes.iter().enumerate();
        let own = halvings.filter(|(_, own)| usize::from(**own) == attribute);
        own.fold(0, |cell, (level, _)| cell << 1 | u64::from(bit(key, level)))
    }

    /// Words of a key.
    pub fn n_words(&self) -> usize {
        self.n_levels().div_ceil(64).max(1)
    }

    /// Writes the key of a point's cells.
    #[inline]
    pub fn write_key(&self, cells: &[u64], key: &mut [u64]) {
        key.fill(0);
        for ((cell, &n_bits), spreads) in cells.iter().zip(&self.n_bits).zip(&self.spreads) {
            // The next bits stand at the top.
            let mut rest = cell.checked_shl(64 - n_bits).unwrap_or(0);
            for Spread { first_word, words } in spreads {
                let [first, second] = words[(rest >> (64 - self.n_spread_bits)) as usize];
                key[*first_word] |= first;
                if let Some(word) = key.get_mut(first_word + 1) {
                    *word |= second;
                }
                rest <<= self.n_spread_bits;
            }
        }
    }

    /// The codes of a region: the first so many bits of a key.
    pub fn region_box(&self, key: &[u64], n_bits: usize, scales: &[Scale]) -> Vec<Span> {
        let mut prefixes = vec![(0u64, 0u32); scales.len()];
        for (level, &attribute) in self.attributes[..n_bits].iter().enumerate() {
            let (bits, n_own) = &mut prefixes[attribute as usize];
            *bits = *bits << 1 | u64::from(bit(key, level));
            *n_own += 1;
        }
        let spans = scales.iter().zip(prefixes);
        spans.map(|(scale, (bits, n_own))| scale.span(bits, n_own)).collect()
    }
}

impl Spread {
    /// Of so many bits at most, which go to these levels.
    fn of(levels: &[usize], n_bits: u32) -> Spread {
        let first_word = levels[0] / 64;
        let mut words = [[0; 2]; 1 << MAX_SPREAD_BITS];
        for (value, words) in words.iter_mut().enumerate() {
            for (place, level) in (0..n_bits).zip(levels) {
                let bit = (value >> (n_bits - 1 - place)) as u64 & 1;
                words[level / 64 - first_word] |= bit << (63 - level % 64);
            }
        }
        Spread { first_word, words }
    }
}

/// A bit of a key, the first being that of the first halving.
#[inline]
pub fn bit(key: &[u64], level: usize) -> bool {
    key[level / 64] >> (63 - level % 64) & 1 == 1
}

/// How many bits two keys have in common from the first on; all words of them, if they are equal.
#[inline]
pub fn common_bits(a: &[u64], b: &[u64]) -> usize {
    let differs = a.iter().zip(b).position(|(a, b)| a != b);
    differs.map_or(64 * a.len(), |at| 64 * at + (a[at] ^ b[at]).leading_zeros() as usize)
}

/// The order of regions: those that come first in key order, an enclosing one before what it holds.
pub fn compare_regions((a, n_a): (&[u64], usize), (b, n_b): (&[u64], usize)) -> Ordering {
    match common_bits(a, b) >= n_a.min(n_b) {
        true => n_a.cmp(&n_b),
        false => a.cmp(b),
    }
}

impl RegionNumber {
    /// The number of the first so many bits of a key; nothing where it has more than 128.
    pub fn of(key: &[u64], n_bits: usize) -> Option<RegionNumber> {
        let level = u32::try_from(n_bits).ok().filter(|&level| level <= 128)?;
        let number = (0..n_bits).fold(0, |number, at| number | u128::from(bit(key, at)) << at);
        Some(RegionNumber { number, level })
    }

    /// The two halves; nothing where they would have more than 128 bits.
    pub fn halves(self) -> Option<[RegionNumber; 2]> {
        let level = Some(self.level + 1).filter(|&level| level <= 128)?;
        let second = self.number | 1 << self.level;
        Some([self.number, second].map(|number| RegionNumber { number, level }))
    }

    /// Whether another region lies in it, or is the same.
    pub fn encloses(self, other: RegionNumber) -> bool {
        let mask = 1u128.checked_shl(self.level).map_or(u128::MAX, |unit| unit - 1);
        self.level <= other.level && other.number & mask == self.number
    }
}

impl fmt::Display for RegionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.number, self.level)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(n_bits: &[u32], cells: &[u64]) -> (Interleaving, Vec<u64>) {
        let interleaving = Interleaving::new(n_bits.to_vec());
        let mut key = vec![0; interleaving.n_words()];
        interleaving.write_key(cells, &mut key);
        (interleaving, key)
    }

    #[test]
    fn the_worked_example_has_the_number_of_the_paper() {
        let (interleaving, key) = key(&[2, 4, 3], &[0b10, 0b0110, 0b110]);
        let bits: String = (0..9).map(|at| if bit(&key, at) { '1' } else { '0' }).collect();
        assert_eq!((interleaving.n_levels(), bits.as_str()), (9, "101011100"));
        assert_eq!(RegionNumber::of(&key, 9).unwrap().to_string(), "(117, 9)");
    }

    #[test]
    fn regions_are_halved_as_the_paper_numbers_them() {
        let (_, key) = key(&[3], &[0b010]);
        let region = RegionNumber::of(&key, 3).unwrap();
        assert_eq!(region, RegionNumber { number: 2, level: 3 });
        let halves = region.halves().unwrap();
        assert_eq!(halves.map(|half| (half.number, half.level)), [(2, 4), (2 + 8, 4)]);
        let parent = RegionNumber::of(&key, 2).unwrap();
        assert!(parent.encloses(region) && !region.encloses(parent));
        assert!(!halves[0].encloses(halves[1]) && region.encloses(halves[1]));
    }

    #[test]
    fn many_attributes_have_long_keys() {
        let (interleaving, key) = key(&[31; 64], &[(1 << 31) - 1; 64]);
        assert_eq!((interleaving.n_levels(), interleaving.n_words()), (64 * 31, 31));
        assert!(key.iter().all(|&word| word == u64::MAX));
        assert_eq!(RegionNumber::of(&key, 129), None);
        assert_eq!(RegionNumber::of(&key, 128).unwrap().halves(), None);
    }

    proptest! {
        #[test]
        fn a_prefix_of_a_key_is_a_prefix_of_each_cell(
            cells in prop::collection::vec((0u32..20, any::<u64>()), 1..9),
            other in any::<u64>(),
        ) {
            let n_bits: Vec<u32> = cells.iter().map(|(n_bits, _)| *n_bits).collect();
            let cut = |(n_bits, cell): &(u32, u64)| cell & ((1 << n_bits) - 1);
            let cells: Vec<u64> = cells.iter().map(cut).collect();
            let mut others: Vec<u64> = cells.clone();
            others[0] = cut(&(n_bits[0], other));
            let (interleaving, a) = key(&n_bits, &cells);
            let (_, b) = key(&n_bits, &others);
            let n_same = common_bits(&a, &b).min(interleaving.n_levels());
            for level in 0..=interleaving.n_levels() {
                let halvings = interleaving.attributes[..level].iter();
                let n_own = halvings.filter(|&&attribute| attribute == 0).count() as u32;
                let rest = n_bits[0] - n_own;
                prop_assert_eq!(level <= n_same, cells[0] >> rest == others[0] >> rest);
            }
        }
    }
}
