//! Points in the order of an attribute: found by counting, and divided as their node is.

use super::MAX_POINTS;
use super::lanes::Lanes;

/// Points in the order of an attribute. The upper half tells the values apart: it holds the points
/// with a lesser value where the order was made; the lower half is the place.
pub type Order = [u16; MAX_POINTS];

/// The bits of a key by which points are compared.
const KEY_BITS: u32 = 16;
/// The keys of a vector.
const N_KEYS: usize = 16;

#[inline(always)]
pub fn place_of(key: u16) -> usize {
    usize::from(key & 0x7f)
}

#[inline(always)]
pub fn rank_of(key: u16) -> u16 {
    key >> 8
}

/// Some points that are put in order.
pub struct Sorter<'p, F> {
    /// Their places, ascending.
    pub places: &'p [u16],
    /// The code at a place.
    pub code_of: F,
}

impl<F: Fn(usize) -> u32> Sorter<'_, F> {
    /// Puts the points in order, those of one value in the order of their places.
    ///
    /// Each point's rank is the number of points before it: more comparisons than a sort makes, but
    /// many at once and none that is guessed.
    #[inline(always)]
    pub fn sort<A: Lanes>(&self, lanes: A, order: &mut [u16]) {
        let codes = self.places.iter().map(|&place| (self.code_of)(place_of(place)));
        let (lo, hi) = codes.fold((u32::MAX, 0), |(lo, hi), code| (lo.min(code), hi.max(code)));
        let shift = (u32::BITS - (hi - lo).leading_zeros()).saturating_sub(KEY_BITS);
        let mut keys = [i16::MAX; MAX_POINTS];
        for (key, &place) in keys.iter_mut().zip(self.places) {
            let offset = ((self.code_of)(place_of(place)) - lo) >> shift;
            *key = (offset as u16 ^ 0x8000) as i16;
        }
        let ranks = ranks(lanes, &keys, self.places.len());
        let mut n_taken = [0u16; MAX_POINTS];
        for (&rank, &place) in ranks.iter().zip(self.places) {
            let n_taken = &mut n_taken[usize::from(rank) % MAX_POINTS];
            order[usize::from(rank + *n_taken)] = rank << 8 | place & 0x7f;
            *n_taken += 1;
        }
        if shift > 0 {
            self.tell_apart(order);
        }
    }

    /// Puts points in order whose codes differ in bits that were not compared.
    fn tell_apart(&self, order: &mut [u16]) {
        let code_at = |order: &[u16], at: usize| (self.code_of)(place_of(order[at]));
        let (mut rank, mut last) = (0, code_at(order, 0));
        for at in 1..order.len() {
            let (key, code) = (order[at], code_at(order, at));
            let mut to = at;
            while to > 0 && code_at(order, to - 1) > code {
                order[to] = order[to - 1];
                to -= 1;
            }
            order[to] = key;
        }
        for at in 0..order.len() {
            let code = code_at(order, at);
            if code != last {
                (rank, last) = (at as u16, code);
            }
            order[at] = rank << 8 | order[at] & 0x7f;
        }
    }
}

/// How many of the first `n` keys are less than each of them.
#[inline(always)]
fn ranks<A: Lanes>(lanes: A, keys: &[i16; MAX_POINTS], n: usize) -> [u16; MAX_POINTS] {
    /// The vectors that are counted at once, so that a key is spread out once for all of them.
    const N_VECTORS: usize = 4;
    let mut ranks = [0; MAX_POINTS];
    let (own, _) = keys.as_chunks::<N_KEYS>();
    let (own, _) = own.as_chunks::<N_VECTORS>();
    let (counted, _) = ranks.as_chunks_mut::<N_KEYS>();
    let (counted, _) = counted.as_chunks_mut::<N_VECTORS>();
    for (own, counted) in own.iter().zip(counted).take(n.div_ceil(N_KEYS * N_VECTORS)) {
        let mut n_before = [[0u16; N_KEYS]; N_VECTORS];
        for &other in &keys[..n] {
            for vector in 0..N_VECTORS {
                n_before[vector] = lanes.count_greater(n_before[vector], own[vector], other);
            }
        }
        *counted = n_before;
    }
    ranks
}

/// Moves the points of the first side to the front and keeps the order on both sides. Without
/// branches: each point is written to both places.
#[inline(always)]
pub fn divide_order(order: &mut [u16], is_first: &[u8; MAX_POINTS]) {
    let mut second = [0u16; MAX_POINTS];
    let n = order.len().min(MAX_POINTS);
    let order = &mut order[..n];
    let mut n_first = 0;
    for at in 0..n {
        let key = order[at];
        order[n_first] = key;
        second[at - n_first] = key;
        n_first += usize::from(is_first[place_of(key)]);
    }
    order[n_first..].copy_from_slice(&second[..n - n_first]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lanes::Plain;
    use super::*;

    proptest! {
        #[test]
        fn counting_sorts(
            codes in prop::collection::vec(
                prop_oneof![0..9u32, 0..70_000u32, 0..1u32 << 31],
                1..=MAX_POINTS,
            ),
        ) {
            let places: Vec<u16> = (0..codes.len() as u16).collect();
            let mut order = vec![0; codes.len()];
            Sorter { places: &places, code_of: |place: usize| codes[place] }
                .sort(Plain, &mut order);
            let mut expected = places.clone();
            expected.sort_by_key(|&place| codes[usize::from(place)]);
            let found: Vec<u16> = order.iter().map(|&key| key & 0x7f).collect();
            prop_assert_eq!(&found, &expected);
            for pair in order.windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|key| codes[place_of(key)]);
                prop_assert_eq!(rank_of(pair[0]) == rank_of(pair[1]), a == b);
            }
        }
    }
}
