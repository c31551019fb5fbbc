//! Row sample: whole rows drawn evenly from a table of unknown length.
//!
//! Source: bottom-k sampling (Cohen & Kaplan 2007); every row gets a random rank, the least stay.
//! Departures: the rank is a hash of the row's number, so that the same file gives the same sample
//! whatever its chunks and threads; rows are dropped when twice as many as wanted are held.
//! Guarantee: every set of that many rows is equally likely, as far as the hash is random.
//! Cost: one hash per row, 2 x wanted rows x columns cells of 4 bytes.

use rustc_hash::FxHashMap;

use crate::mix::mix;
use crate::row::RowId;

/// Ranks must not follow from hashes of cells that are row numbers themselves.
const RANK_SEED: u64 = 0x726f_775f_7361_6d70;

/// Rows while they are drawn.
#[derive(Debug)]
pub struct RowSample {
    n_wanted: usize,
    /// Rows of this rank or more are not drawn.
    bound: u64,
    ranks: Vec<u64>,
    /// Half a hash per drawn row, by column.
    hashes: Vec<Vec<u32>>,
}

/// The rows of a chunk that are drawn.
pub struct Drawn {
    row_idxs: Vec<u32>,
    ranks: Vec<u64>,
}

impl Drawn {
    /// The rows, ascending.
    pub fn row_idxs(&self) -> &[u32] {
        &self.row_idxs
    }
}

/// Drawn rows, each cell as a code: equal cells of a column have equal codes, from 0 on.
#[derive(Debug, Clone)]
pub struct SampledRows {
    n_rows: usize,
    codes: Vec<Vec<u32>>,
    n_codes: Vec<usize>,
}

impl RowSample {
    /// An empty sample of at most `n_wanted` rows.
    pub fn new(n_wanted: usize, n_columns: usize) -> RowSample {
        assert!(n_wanted > 0, "a sample of nothing tells nothing");
        RowSample {
            n_wanted,
            bound: u64::MAX,
            ranks: Vec::new(),
            hashes: vec![Vec::new(); n_columns],
        }
    }

    /// The most rows it ends with; on the way it holds less than that and one chunk's more.
    pub fn capacity(&self) -> usize {
        self.n_wanted
    }

    /// Decides which rows of a chunk that starts at `first_row` are drawn.
    pub fn draw(&self, first_row: RowId, n_rows: usize) -> Drawn {
        let mut drawn = Drawn { row_idxs: Vec::new(), ranks: Vec::new() };
        for row_idx in 0..n_rows {
            let rank = mix((first_row + row_idx as u64).get() ^ RANK_SEED);
            if rank < self.bound {
                drawn.row_idxs.push(row_idx as u32);
                drawn.ranks.push(rank);
            }
        }
        drawn
    }

    /// Takes the drawn rows; `hashes` has a list of their cells for each column.
    pub fn add(&mut self, drawn: &Drawn, hashes: &[Vec<u32>]) {
        self.ranks.extend(&drawn.ranks);
        for (own, new) in self.hashes.iter_mut().zip(hashes) {
            own.extend(new);
        }
        if self.ranks.len() >= 2 * self.n_wanted {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        if self.ranks.len() <= self.n_wanted {
            return;
        }
        let mut ranks = self.ranks.clone();
        let (_, &mut bound, _) = ranks.select_nth_unstable(self.n_wanted);
        for column in &mut self.hashes {
            let mut ranks = self.ranks.iter();
            column.retain(|_| ranks.next().is_some_and(|&rank| rank < bound));
        }
        self.ranks.retain(|&rank| rank < bound);
        self.bound = bound;
    }

    /// The drawn rows.
    pub fn finish(mut self) -> SampledRows {
        self.shrink();
        let mut n_codes = Vec::new();
        for column in &mut self.hashes {
            let mut codes: FxHashMap<u32, u32> = FxHashMap::default();
            for cell in column {
                let next = codes.len() as u32;
                *cell = *codes.entry(*cell).or_insert(next);
            }
            n_codes.push(codes.len());
        }
        SampledRows { n_rows: self.ranks.len(), codes: self.hashes, n_codes }
    }
}

impl SampledRows {
    /// Rows, one list of codes per column; codes are dense. For tests of what looks at a sample.
    pub fn from_codes(n_rows: usize, codes: Vec<Vec<u32>>) -> SampledRows {
        assert!(codes.iter().all(|column| column.len() == n_rows), "columns are equally long");
        let n_codes = codes
            .iter()
            .map(|column| column.iter().max().map_or(0, |&greatest| greatest as usize + 1))
            .collect();
        SampledRows { n_rows, codes, n_codes }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The codes of a column, row by row.
    pub fn codes(&self, column_idx: usize) -> &[u32] {
        &self.codes[column_idx]
    }

    /// One more than the greatest code of a column.
    pub fn n_codes(&self, column_idx: usize) -> usize {
        self.n_codes[column_idx]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_of(n_rows: u64, chunk_rows: usize, n_wanted: usize) -> RowSample {
        let mut sample = RowSample::new(n_wanted, 1);
        let mut first_row = 0;
        while first_row < n_rows {
            let n = chunk_rows.min((n_rows - first_row) as usize);
            let drawn = sample.draw(RowId::new(first_row), n);
            let cells = drawn.row_idxs().iter().map(|&row| first_row as u32 + row).collect();
            sample.add(&drawn, &[cells]);
            assert!(sample.ranks.len() < 2 * n_wanted + chunk_rows);
            first_row += n as u64;
        }
        sample.shrink();
        sample
    }

    #[test]
    fn chunks_do_not_change_the_sample_and_its_size_is_bounded() {
        let small = sample_of(10_000, 7, 100);
        let large = sample_of(10_000, 5_000, 100);
        assert_eq!(small.ranks.len(), 100);
        assert_eq!(small.hashes, large.hashes);
    }

    #[test]
    fn rows_are_drawn_evenly_from_the_whole_table() {
        let sample = sample_of(100_000, 1_000, 5_000);
        let n_first_half = sample.hashes[0].iter().filter(|&&row| row < 50_000).count();
        assert!((2_300..2_700).contains(&n_first_half), "{n_first_half}");
    }

    #[test]
    fn a_small_table_is_its_own_sample() {
        let sample = sample_of(50, 20, 100).finish();
        assert_eq!((sample.n_rows(), sample.n_codes(0)), (50, 50));
    }
}
