//! Which codes of an ordered domain occur, and how many lie below a given one. Codes are counted
//! from the domain's first code.

use super::sorted::SortedCodes;

/// The occupied codes, as bits or, where the domain is long and thin, as a sorted list.
#[derive(Clone)]
pub enum Occupancy {
    /// One bit per code, and the number of bits set before each word.
    Bits { words: Vec<u64>, before: Vec<u32> },
    /// The occupied codes, ascending.
    List(SortedCodes),
    /// All codes up to this one count as occupied: it was not kept which occur.
    Every(u32),
}

impl Occupancy {
    /// Of these codes, which ascend.
    pub fn list(codes: Vec<u32>) -> Occupancy {
        Occupancy::List(SortedCodes::new(codes))
    }

    /// How many occupied codes are less than `code`.
    pub fn n_below(&self, code: u32) -> u64 {
        match self {
            Occupancy::Bits { words, before } => {
                let word_idx = (code / 64) as usize;
                let Some(word) = words.get(word_idx) else {
                    let last = before.last().copied().unwrap_or(0);
                    return u64::from(last) + u64::from(words.last().map_or(0, |w| w.count_ones()));
                };
                let lower = word & ((1u64 << (code % 64)) - 1);
                u64::from(before[word_idx]) + u64::from(lower.count_ones())
            }
            Occupancy::List(codes) => codes.n_below(code) as u64,
            Occupancy::Every(last) => u64::from(code).min(u64::from(*last) + 1),
        }
    }

    /// Whether no code is occupied.
    pub fn is_empty(&self) -> bool {
        self.n_below(u32::MAX) == 0
    }

    /// The occupied codes, ascending.
    pub fn codes(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match self {
            Occupancy::Bits { words, .. } => {
                let set = |word: u64| (0..64).filter(move |bit| word >> bit & 1 == 1);
                Box::new((0u32..).zip(words).flat_map(move |(word_idx, &word)| {
                    set(word).map(move |bit| word_idx * 64 + bit)
                }))
            }
            Occupancy::List(codes) => Box::new(codes.codes().iter().copied()),
            Occupancy::Every(last) => Box::new(0..=*last),
        }
    }
}

/// Collects occupied codes.
pub enum Builder {
    Bits(Vec<u64>),
    List { codes: Vec<u32>, compact_at: usize },
}

/// Up to this length a bitmap is small and fast enough: 16 MiB.
pub const LONGEST_BITMAP: u32 = 1 << 27;

impl Builder {
    /// For codes in `0..=length`.
    pub fn new(length: u32) -> Builder {
        if length < LONGEST_BITMAP {
            Builder::Bits(vec![0; (length / 64 + 1) as usize])
        } else {
            Builder::List { codes: Vec::new(), compact_at: 1 << 20 }
        }
    }

    /// From words of one bit per code.
    pub fn of_words(words: Vec<u64>) -> Builder {
        Builder::Bits(words)
    }

    /// Adds the codes of a chunk, except those of its missing rows.
    pub fn add(&mut self, codes: &[u32], missing: &[u32]) {
        let mut holes = missing.iter().peekable();
        match self {
            Builder::Bits(words) if missing.is_empty() => {
                for &code in codes {
                    words[(code / 64) as usize] |= 1 << (code % 64);
                }
            }
            Builder::Bits(words) => {
                for (row_idx, &code) in codes.iter().enumerate() {
                    if holes.next_if(|&&hole| hole as usize == row_idx).is_none() {
                        words[(code / 64) as usize] |= 1 << (code % 64);
                    }
                }
            }
            Builder::List { codes: seen, compact_at } => {
                for (row_idx, &code) in codes.iter().enumerate() {
                    if holes.next_if(|&&hole| hole as usize == row_idx).is_none() {
                        seen.push(code);
                    }
                }
                if seen.len() > *compact_at {
                    seen.sort_unstable();
                    seen.dedup();
                    *compact_at = (seen.len() * 2).max(1 << 20);
                }
            }
        }
    }

    /// The finished occupancy.
    pub fn finish(self) -> Occupancy {
        match self {
            Builder::Bits(words) => {
                let mut n_before = 0u32;
                let before = words
                    .iter()
                    .map(|word| {
                        let before = n_before;
                        n_before += word.count_ones();
                        before
                    })
                    .collect();
                Occupancy::Bits { words, before }
            }
            Builder::List { codes: mut seen, .. } => {
                seen.sort_unstable();
                seen.dedup();
                Occupancy::list(seen)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_lists_count_alike() {
        let codes = [3, 64, 64, 200, 63, 0];
        for length in [200, LONGEST_BITMAP] {
            let mut builder = Builder::new(length);
            builder.add(&codes, &[5]);
            let occupancy = builder.finish();
            for (code, expected) in [(0, 0), (3, 0), (4, 1), (64, 2), (65, 3), (201, 4), (999, 4)] {
                assert_eq!(occupancy.n_below(code), expected, "length {length}, code {code}");
            }
        }
    }
}
