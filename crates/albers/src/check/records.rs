//! A row as an audit needs it: what it shows as a number, its person, its sensitive codes.
//!
//! ```text
//!   key (16) | subject (8), if persons are counted | sensitive code (4 each)
//!   └──────────── prefix, highest byte first ─────┘
//! ```
//!
//! Source: the keys are sums of SipHash values, one per column, whose secret is drawn anew by each
//! audit.
//! Guarantee: rows that show the same have the same key. Whoever made the table does not know the
//! secret, so that nobody can make rows that show different things and share a key: that happens
//! with a chance of one in 2^128 per pair. Two persons of a class share a number with a chance of
//! one in 2^64, and then count as one: a class can only be thought smaller than it is.
//! Cost: two hashes per distinct text of a chunk, or per number of a run of rows that show the same.

use std::hash::{BuildHasher, RandomState};

use albers_table::chunk::{Cells, ColumnChunk};

/// Bytes of a key.
pub(super) const KEY_BYTES: usize = 16;
const SUBJECT_BYTES: usize = 8;
const CODE_BYTES: usize = 4;
/// Bytes of the longest prefix.
pub(super) const PREFIX_BYTES: usize = KEY_BYTES + SUBJECT_BYTES;

/// What records consist of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Whether persons are counted.
    pub(super) has_subject: bool,
    /// Sensitive columns.
    pub(super) n_sensitive: usize,
}

impl Layout {
    /// Bytes of a record.
    pub(super) fn n_bytes(self) -> usize {
        self.prefix_bytes() + self.n_sensitive * CODE_BYTES
    }

    /// Bytes of what records are sorted by.
    pub(super) fn prefix_bytes(self) -> usize {
        if self.has_subject { PREFIX_BYTES } else { KEY_BYTES }
    }

    /// Reads the sensitive codes of a record.
    pub(super) fn read_codes(self, record: &[u8], codes: &mut Vec<u32>) {
        codes.clear();
        let (bytes, _) = record[self.prefix_bytes()..].as_chunks::<CODE_BYTES>();
        codes.extend(bytes.iter().map(|bytes| u32::from_le_bytes(*bytes)));
    }

    /// The records of some rows.
    pub(super) fn write(self, keys: &[u128], subjects: &[u64], codes: &[Vec<u32>]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(keys.len() * self.n_bytes());
        for (row, key) in keys.iter().enumerate() {
            bytes.extend_from_slice(&key.to_be_bytes());
            if self.has_subject {
                bytes.extend_from_slice(&subjects[row].to_be_bytes());
            }
            codes.iter().for_each(|codes| bytes.extend_from_slice(&codes[row].to_le_bytes()));
        }
        bytes
    }
}

/// Makes numbers of cells, by a secret.
pub(super) struct Numbers {
    secrets: [RandomState; 2],
}

/// What a cell shows.
#[derive(Hash)]
enum Shown<'a> {
    Missing,
    Tick(i64),
    Float(u64),
    Name(&'a str),
}

impl Numbers {
    /// By a new secret.
    pub(super) fn new() -> Numbers {
        Numbers { secrets: [RandomState::new(), RandomState::new()] }
    }

    /// The keys of rows, or of runs of rows, that show these columns.
    pub(super) fn keys_of(&self, columns: &[ColumnChunk], n_cells: usize) -> Vec<u128> {
        let mut keys = vec![0u128; n_cells];
        for (column_idx, chunk) in columns.iter().enumerate() {
            let mut rows = keys.iter_mut();
            self.each(column_idx, chunk, |number| {
                rows.next().into_iter().for_each(|key| *key = key.wrapping_add(number));
            });
        }
        keys
    }

    /// The persons of rows; those without one are one person.
    pub(super) fn subjects_of(&self, column_idx: usize, chunk: &ColumnChunk) -> Vec<u64> {
        let mut subjects = Vec::with_capacity(chunk.n_rows());
        self.each(column_idx, chunk, |number| subjects.push((number >> 64) as u64));
        subjects
    }

    /// Gives a number for each cell. Columns are read as texts or whole numbers, so that equal
    /// cells are equal in all chunks.
    fn each(&self, column_idx: usize, chunk: &ColumnChunk, mut see: impl FnMut(u128)) {
        let number = |shown: Shown<'_>| self.number(column_idx, &shown);
        let missing = number(Shown::Missing);
        let of_names: Vec<u128> = match &chunk.cells {
            Cells::Names { names, .. } => {
                names.iter().map(|name| number(Shown::Name(name))).collect()
            }
            _ => Vec::new(),
        };
        let mut holes = chunk.missing.iter().peekable();
        for row in 0..chunk.n_rows() {
            if holes.next_if(|&&hole| hole as usize == row).is_some() {
                see(missing);
                continue;
            }
            see(match &chunk.cells {
                Cells::Ticks { base, offsets, .. } => {
                    number(Shown::Tick(base.wrapping_add(i64::from(offsets[row]))))
                }
                Cells::WideTicks { ticks, .. } => number(Shown::Tick(ticks[row])),
                Cells::Floats(floats) => number(Shown::Float(floats[row].to_bits())),
                Cells::Names { places, .. } => of_names[places[row] as usize],
            });
        }
    }

    fn number(&self, column_idx: usize, shown: &Shown<'_>) -> u128 {
        let [high, low] = self.secrets.each_ref().map(|own| own.hash_one((column_idx, shown)));
        u128::from(high) << 64 | u128::from(low)
    }
}

#[cfg(test)]
mod tests {
    use albers_table::chunk::{TextColumnBuilder, TickUnit, narrow_ticks};
    use albers_table::schema::ColumnType;

    use super::*;

    fn texts(cells: &[&str]) -> ColumnChunk {
        let mut builder = TextColumnBuilder::new(ColumnType::Text);
        for cell in cells {
            match cell.is_empty() {
                true => builder.push_missing(),
                false => builder.push(cell.as_bytes()).unwrap(),
            }
        }
        builder.finish().map_err(|_| "valid").unwrap()
    }

    #[test]
    fn rows_share_a_key_if_and_only_if_they_show_the_same() {
        let numbers = Numbers::new();
        let keys = |a: &[&str], b: &[&str]| numbers.keys_of(&[texts(a), texts(b)], a.len());
        let here = keys(&["x", "y", "", "x", "ab"], &["y", "x", "", "", "c"]);
        let there = keys(&["", "x", "a", "x"], &["", "y", "bc", ""]);
        assert_eq!((here[2], here[0], here[3]), (there[0], there[1], there[3]));
        let mut all = [here, there].concat();
        all.sort_unstable();
        all.dedup();
        // The row ("a", "bc") is not ("ab", "c").
        assert_eq!(all.len(), 6);
    }

    #[test]
    fn whole_numbers_have_one_key_wherever_a_chunk_begins() {
        let numbers = Numbers::new();
        let of = |ticks: Vec<i64>| {
            let cells = narrow_ticks(ticks, &[], TickUnit::Integer);
            numbers.subjects_of(1, &ColumnChunk { cells, missing: Vec::new() })
        };
        assert_eq!(of(vec![5, 9])[1], of(vec![9, i64::MAX])[0]);
    }

    #[test]
    fn nobody_can_foresee_a_key() {
        let keys = [(); 2].map(|()| Numbers::new().keys_of(&[texts(&["x"])], 1));
        assert_ne!(keys[0], keys[1]);
    }
}
