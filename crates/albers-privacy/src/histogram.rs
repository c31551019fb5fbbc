//! Exact counts of one sensitive column within one class.
//!
//! ```text
//! dense (up to 64 * 64 codes)            sparse (more codes)
//!   summary  1 bit per non-zero word       hash map code -> count,
//!   words    1 bit per present code        sorted when iterated
//!   counts   1 u64 per code
//!
//! beside either, of a domain of more than 1024 codes:
//!   stretches  1 u64 per run of neighbouring codes, 256 runs at most
//! ```
//!
//! Source: the class histograms of LeFevre, DeWitt & Ramakrishnan 2008, section 2.1.
//! Departures: none; the two-level bitmap is only a way to visit present codes in order, and
//! stretches are sums that tell roughly where on a line the rows lie.
//! Guarantee: counts are integers, so that removing rows leaves no rounding behind, and iteration
//! is by ascending code, so that equal histograms give bit-equal figures.
//! Cost: add and remove O(1); iterate and clear O(distinct codes present) when dense, with a sort
//! when sparse; memory O(domain) up to 4096 codes, O(distinct codes present) beyond.

use std::fmt;

use rustc_hash::FxHashMap;

/// Largest domain that gets one slot per code: two levels of 64-bit words cover it.
const DENSE_MAX_VALUES: u32 = 64 * 64;

/// Smaller domains are looked at code by code.
const MIN_STRETCHED_VALUES: u32 = 1024;
/// The most stretches that a domain is divided into.
const MAX_STRETCHES: u32 = 256;

/// How often each code of a sensitive column occurs in a class.
#[derive(Clone)]
pub struct Histogram {
    n_values: u32,
    n_rows: u64,
    n_distinct: u32,
    counts: Counts,
    /// The rows of each stretch of codes; empty when the domain is small.
    stretches: Vec<u64>,
    /// The number of low bits of a code that its stretch leaves out.
    stretch_bits: u32,
}

#[derive(Clone)]
enum Counts {
    Dense { summary: u64, words: Vec<u64>, counts: Vec<u64> },
    Sparse(FxHashMap<u32, u64>),
}

impl Histogram {
    /// An empty histogram over the codes `0..n_values`.
    pub fn new(n_values: u32) -> Self {
        let counts = if n_values <= DENSE_MAX_VALUES {
            let n_slots = n_values as usize;
            Counts::Dense {
                summary: 0,
                words: vec![0; n_slots.div_ceil(64)],
                counts: vec![0; n_slots],
            }
        } else {
            Counts::Sparse(FxHashMap::default())
        };
        let stretch_bits = stretch_bits(n_values);
        let n_stretches = stretch_bits.map_or(0, |bits| ((n_values - 1) >> bits) as usize + 1);
        Self {
            n_values,
            n_rows: 0,
            n_distinct: 0,
            counts,
            stretches: vec![0; n_stretches],
            stretch_bits: stretch_bits.unwrap_or(0),
        }
    }

    /// Counts one more row with this code.
    ///
    /// # Panics
    /// When the code is outside the domain.
    pub fn add(&mut self, code: u32) {
        self.add_many(code, 1);
    }

    /// Counts one row less with this code.
    ///
    /// # Panics
    /// When no row with this code is counted: the guarantee would rest on a wrong count.
    pub fn remove(&mut self, code: u32) {
        self.remove_many(code, 1);
    }

    /// Adds every count of another histogram of the same column.
    ///
    /// # Panics
    /// When the domains differ.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.n_values, other.n_values, "merged histograms have different domains");
        match &other.counts {
            Counts::Dense { .. } => other.iter().for_each(|(code, n)| self.add_many(code, n)),
            // Integer addition needs no order, so the sort is spared.
            Counts::Sparse(map) => map.iter().for_each(|(&code, &n)| self.add_many(code, n)),
        }
    }

    /// Forgets all rows, at a cost proportional to the codes present.
    pub fn clear(&mut self) {
        match &mut self.counts {
            Counts::Dense { summary, words, counts } => {
                for word_idx in set_bits(*summary) {
                    for bit in set_bits(words[word_idx as usize]) {
                        counts[(word_idx * 64 + bit) as usize] = 0;
                    }
                    words[word_idx as usize] = 0;
                }
                *summary = 0;
            }
            Counts::Sparse(map) => clear_map(map),
        }
        self.stretches.fill(0);
        self.n_rows = 0;
        self.n_distinct = 0;
    }

    /// Number of codes in the domain, present or not.
    pub fn n_values(&self) -> u32 {
        self.n_values
    }

    /// Number of rows counted.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Number of distinct codes present.
    pub fn n_distinct(&self) -> u32 {
        self.n_distinct
    }

    /// Rows with this code; 0 outside the domain.
    pub fn count(&self, code: u32) -> u64 {
        match &self.counts {
            Counts::Dense { counts, .. } => counts.get(code as usize).copied().unwrap_or(0),
            Counts::Sparse(map) => map.get(&code).copied().unwrap_or(0),
        }
    }

    /// Rows with the most frequent code; 0 when empty.
    pub fn max_count(&self) -> u64 {
        match &self.counts {
            Counts::Dense { .. } => self.iter().map(|(_, n)| n).max().unwrap_or(0),
            Counts::Sparse(map) => map.values().copied().max().unwrap_or(0),
        }
    }

    /// The codes present and their counts, by ascending code.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let (dense, sparse) = match &self.counts {
            Counts::Dense { summary, words, counts } => {
                (Some((*summary, words.as_slice(), counts.as_slice())), Vec::new())
            }
            Counts::Sparse(map) => {
                let mut pairs: Vec<(u32, u64)> = map.iter().map(|(&c, &n)| (c, n)).collect();
                pairs.sort_unstable();
                (None, pairs)
            }
        };
        let dense = dense.into_iter().flat_map(|(summary, words, counts)| {
            set_bits(summary).flat_map(move |word_idx| {
                set_bits(words[word_idx as usize]).map(move |bit| {
                    let code = word_idx * 64 + bit;
                    (code, counts[code as usize])
                })
            })
        });
        dense.chain(sparse)
    }

    /// Walks the whole structure and asserts every invariant; for tests.
    ///
    /// # Panics
    /// When an invariant is broken.
    pub fn check_invariants(&self) {
        let pairs: Vec<(u32, u64)> = self.iter().collect();
        assert!(pairs.windows(2).all(|w| w[0].0 < w[1].0), "codes ascend");
        assert!(pairs.iter().all(|&(c, n)| c < self.n_values && n > 0), "codes are present");
        assert_eq!(pairs.iter().map(|p| p.1).sum::<u64>(), self.n_rows, "counts sum to the rows");
        assert_eq!(pairs.len(), self.n_distinct as usize, "distinct codes are counted");
        let mut stretches = vec![0; self.stretches.len()];
        if !stretches.is_empty() {
            pairs.iter().for_each(|&(c, n)| stretches[(c >> self.stretch_bits) as usize] += n);
        }
        assert_eq!(stretches, self.stretches, "stretches sum up their codes");
        if let Counts::Dense { summary, words, counts } = &self.counts {
            let n_nonzero = counts.iter().filter(|&&n| n > 0).count();
            assert_eq!(n_nonzero, pairs.len(), "the bitmap covers every count");
            for (word_idx, &word) in words.iter().enumerate() {
                assert_eq!(word != 0, summary >> word_idx & 1 == 1, "the summary covers words");
            }
        }
    }

    pub(crate) fn add_many(&mut self, code: u32, n: u64) {
        self.check_code(code);
        let count = match &mut self.counts {
            Counts::Dense { summary, words, counts } => {
                words[code as usize / 64] |= 1 << (code % 64);
                *summary |= 1 << (code / 64);
                &mut counts[code as usize]
            }
            Counts::Sparse(map) => map.entry(code).or_insert(0),
        };
        self.n_distinct += u32::from(*count == 0);
        *count += n;
        self.n_rows += n;
        if let Some(stretch) = self.stretches.get_mut((code >> self.stretch_bits) as usize) {
            *stretch += n;
        }
    }

    /// Counts so many rows less with this code, of one at least.
    pub(crate) fn remove_many(&mut self, code: u32, n: u64) {
        self.check_code(code);
        let emptied = match &mut self.counts {
            Counts::Dense { summary, words, counts } => {
                let count = &mut counts[code as usize];
                assert!(*count >= n, "a row was removed that was never added");
                *count -= n;
                if *count == 0 {
                    let word_idx = code as usize / 64;
                    words[word_idx] &= !(1 << (code % 64));
                    if words[word_idx] == 0 {
                        *summary &= !(1 << word_idx);
                    }
                }
                *count == 0
            }
            Counts::Sparse(map) => {
                let count = map.get_mut(&code).expect("a row was removed that was never added");
                assert!(*count >= n, "a row was removed that was never added");
                *count -= n;
                let emptied = *count == 0;
                if emptied {
                    map.remove(&code);
                }
                emptied
            }
        };
        self.n_distinct -= u32::from(emptied);
        self.n_rows -= n;
        if let Some(stretch) = self.stretches.get_mut((code >> self.stretch_bits) as usize) {
            *stretch -= n;
        }
    }

    /// The rows of each stretch of codes, see [`stretch_bits`]; none when the domain is small.
    pub(crate) fn stretches(&self) -> &[u64] {
        &self.stretches
    }

    fn check_code(&self, code: u32) {
        assert!(code < self.n_values, "a sensitive code lies outside its column's domain");
    }
}

/// Codes that differ only in so many low bits are in one stretch; nothing when the domain is small.
pub(crate) fn stretch_bits(n_values: u32) -> Option<u32> {
    let code_bits = u32::BITS - n_values.saturating_sub(1).leading_zeros();
    (n_values > MIN_STRETCHED_VALUES).then(|| code_bits.saturating_sub(MAX_STRETCHES.ilog2()))
}

/// Shows sizes only: which codes are present is what the class must hide.
impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("n_rows", &self.n_rows)
            .field("n_distinct", &self.n_distinct)
            .finish_non_exhaustive()
    }
}

/// Empties a map at a cost proportional to what it holds.
///
/// `HashMap::clear` costs the capacity, so a scratch map that once held a whole table would pay
/// for it at every tiny class after that; such a map is dropped instead.
pub(crate) fn clear_map<K, V>(map: &mut FxHashMap<K, V>) {
    if map.capacity() > 8 * (map.len() + 8) {
        *map = FxHashMap::default();
    } else {
        map.clear();
    }
}

/// Positions of the set bits of a word, ascending.
fn set_bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros();
            word &= word - 1;
            bit
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOMAINS: [u32; 5] = [200, 64, 4096, 4097, 1_000_000];

    fn pairs(histogram: &Histogram) -> Vec<(u32, u64)> {
        histogram.iter().collect()
    }

    #[test]
    fn codes_come_back_ascending_whatever_the_order_of_rows() {
        for n_values in DOMAINS {
            let mut histogram = Histogram::new(n_values);
            for code in [63, 0, n_values - 1, 5, 63] {
                histogram.add(code);
                histogram.check_invariants();
            }
            let last =
                if n_values == 64 { vec![(63, 3)] } else { vec![(63, 2), (n_values - 1, 1)] };
            assert_eq!(pairs(&histogram), [vec![(0, 1), (5, 1)], last].concat());
        }
    }

    #[test]
    fn a_code_removed_to_zero_is_no_longer_present() {
        for n_values in DOMAINS {
            let mut histogram = Histogram::new(n_values);
            for code in [1, 2, 2] {
                histogram.add(code);
            }
            histogram.remove(1);
            histogram.check_invariants();
            assert_eq!((histogram.n_distinct(), histogram.count(1)), (1, 0));
            assert_eq!(histogram.max_count(), 2);
            histogram.add(1);
            histogram.check_invariants();
            assert_eq!(pairs(&histogram), [(1, 1), (2, 2)]);
        }
    }

    #[test]
    fn clear_leaves_nothing_behind() {
        for n_values in DOMAINS {
            let mut histogram = Histogram::new(n_values);
            (0..64).for_each(|code| histogram.add(code));
            histogram.clear();
            histogram.check_invariants();
            assert_eq!((histogram.n_rows(), histogram.n_distinct()), (0, 0));
            assert_eq!(histogram.max_count(), 0);
            histogram.add(7);
            assert_eq!(pairs(&histogram), [(7, 1)]);
        }
    }

    #[test]
    fn clearing_a_mostly_emptied_map_drops_its_capacity() {
        let mut map: FxHashMap<u32, u64> = (0..10_000).map(|code| (code, 1)).collect();
        map.retain(|&code, _| code < 3);
        clear_map(&mut map);
        assert_eq!(map.capacity(), 0);
    }

    #[test]
    fn an_empty_domain_is_an_empty_histogram() {
        let histogram = Histogram::new(0);
        histogram.check_invariants();
        assert_eq!(pairs(&histogram), []);
    }

    #[test]
    #[should_panic(expected = "never added")]
    fn removing_what_was_never_added_is_refused_when_dense() {
        Histogram::new(3).remove(1);
    }

    #[test]
    #[should_panic(expected = "never added")]
    fn removing_what_was_never_added_is_refused_when_sparse() {
        Histogram::new(5000).remove(1);
    }

    #[test]
    #[should_panic(expected = "outside its column's domain")]
    fn a_code_outside_the_domain_is_refused() {
        Histogram::new(3).add(3);
    }

    #[test]
    fn debug_output_shows_no_codes() {
        let mut histogram = Histogram::new(100);
        histogram.add(42);
        assert!(!format!("{histogram:?}").contains("42"));
    }
}
