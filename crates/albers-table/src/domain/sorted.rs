//! Ascending codes, and how many of them lie below a given one.
//!
//! ```text
//!   codes     3  9 | 17 | 33 38 40 | 55
//!   starts    0      2    3          6  7       the first of each stretch of codes, by leading bits
//! ```
//!
//! Guarantee: what a search of all codes gives.
//! Cost: a search among the codes of one stretch, of which there are about one for eight codes; where
//! codes crowd in a few stretches, as much as a search of all.

/// Codes for each stretch, if they were evenly spread.
const CODES_PER_STRETCH: usize = 8;

/// Distinct codes, ascending.
#[derive(Clone)]
pub struct SortedCodes {
    codes: Vec<u32>,
    /// The low bits of a code that its stretch leaves out.
    shift: u32,
    /// The place of the first code of each stretch, and at the end the number of codes.
    starts: Vec<u32>,
}

impl SortedCodes {
    /// Of codes that ascend.
    pub fn new(codes: Vec<u32>) -> SortedCodes {
        let greatest = codes.last().copied().unwrap_or(0);
        let n_bits = (codes.len() / CODES_PER_STRETCH).max(1).ilog2();
        let shift = (u32::BITS - greatest.leading_zeros()).saturating_sub(n_bits).min(31);
        let n_stretches = (greatest >> shift) as usize + 1;
        let mut starts = Vec::with_capacity(n_stretches + 1);
        for (place, &code) in (0u32..).zip(&codes) {
            let stretch = (code >> shift) as usize;
            starts.resize(starts.len().max(stretch + 1), place);
        }
        starts.resize(n_stretches + 1, codes.len() as u32);
        SortedCodes { codes, shift, starts }
    }

    /// The codes.
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// How many codes are less than this one.
    #[inline]
    pub fn n_below(&self, code: u32) -> usize {
        let stretch = (code >> self.shift) as usize;
        let (Some(&start), Some(&end)) = (self.starts.get(stretch), self.starts.get(stretch + 1))
        else {
            return self.codes.len();
        };
        let own = &self.codes[start as usize..end as usize];
        start as usize + own.partition_point(|&other| other < code)
    }

    /// How many codes are not greater than this one.
    #[inline]
    pub fn n_up_to(&self, code: u32) -> usize {
        code.checked_add(1).map_or(self.codes.len(), |next| self.n_below(next))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_search_of_one_stretch_finds_what_a_search_of_all_finds(
            codes in prop_oneof![
                prop::collection::btree_set(0..200u32, 0..200),
                prop::collection::btree_set(any::<u32>(), 0..500),
                prop::collection::btree_set(prop_oneof![0..3000u32, u32::MAX - 9..], 0..2000),
            ],
            others in prop::collection::vec(prop_oneof![any::<u32>(), 0..4000u32], 20),
        ) {
            let codes: Vec<u32> = codes.into_iter().collect();
            let sorted = SortedCodes::new(codes.clone());
            prop_assert_eq!(sorted.codes(), &codes[..]);
            let near = codes.iter().flat_map(|&own| [own.wrapping_sub(1), own, own.wrapping_add(1)]);
            for code in near.chain(others).chain([0, u32::MAX]) {
                let n_below = codes.partition_point(|&own| own < code);
                prop_assert_eq!(sorted.n_below(code), n_below);
                let n_up_to = codes.partition_point(|&own| own <= code);
                prop_assert_eq!(sorted.n_up_to(code), n_up_to);
            }
        }
    }
}
