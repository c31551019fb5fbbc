//! Keys with their counts, one after another, in memory or as bytes.

/// Keys with their counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entries {
    n_words: usize,
    /// The words of each key.
    pub(crate) keys: Vec<u64>,
    /// How many rows have it.
    pub(crate) counts: Vec<u32>,
}

impl Entries {
    pub(crate) fn new(n_words: usize) -> Entries {
        Entries::with_capacity(n_words, 0)
    }

    pub(crate) fn with_capacity(n_words: usize, n_entries: usize) -> Entries {
        let keys = Vec::with_capacity(n_words * n_entries);
        Entries { n_words, keys, counts: Vec::with_capacity(n_entries) }
    }

    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    #[inline]
    pub(crate) fn key(&self, at: usize) -> &[u64] {
        &self.keys[at * self.n_words..(at + 1) * self.n_words]
    }

    #[inline]
    pub(crate) fn push(&mut self, key: &[u64], count: u32) {
        self.keys.extend_from_slice(key);
        self.counts.push(count);
    }

    pub(crate) fn append(&mut self, other: &Entries) {
        self.keys.extend_from_slice(&other.keys);
        self.counts.extend_from_slice(&other.counts);
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.counts.clear();
    }

    /// What an entry takes.
    pub(crate) fn entry_bytes(n_words: usize) -> usize {
        n_words * size_of::<u64>() + size_of::<u32>()
    }

    /// The bytes of some entries: their keys, then their counts.
    pub(crate) fn to_bytes(&self, range: std::ops::Range<usize>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(range.len() * Entries::entry_bytes(self.n_words));
        for word in &self.keys[range.start * self.n_words..range.end * self.n_words] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for count in &self.counts[range] {
            bytes.extend_from_slice(&count.to_le_bytes());
        }
        bytes
    }

    /// The entries of [`Self::to_bytes`].
    pub(crate) fn from_bytes(n_words: usize, bytes: &[u8]) -> Entries {
        let n_entries = bytes.len() / Entries::entry_bytes(n_words);
        let (words, counts) = bytes.split_at(n_entries * n_words * size_of::<u64>());
        let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        let count = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        Entries {
            n_words,
            keys: words.as_chunks().0.iter().map(word).collect(),
            counts: counts.as_chunks().0.iter().map(count).collect(),
        }
    }
}
