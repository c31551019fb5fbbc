//! Which tuples of quasi-identifiers are sampled: those of least hash, whatever their order.
//!
//! The hash is of the cells as they were read, so that it can be told before there are codes.

use albers_table::chunk::ColumnChunk;
use albers_table::mix::mix;
use albers_table::value_hash::add_values;
use rustc_hash::FxHashMap;

/// The hash of each row's tuple. Only quasi-identifiers may be among the columns: with secrets in
/// the hash, cuts would tell them.
pub(super) fn tuple_hashes(columns: &[&ColumnChunk], n_rows: usize, seed: u64) -> Vec<u64> {
    let mut hashes = vec![mix(seed ^ 0x1f83_d9ab_fb41_bd6b); n_rows];
    for (column_idx, cells) in columns.iter().enumerate() {
        // An odd number per column, so that equal values of two columns are told apart.
        let factor = mix(column_idx as u64) | 1;
        add_values(cells, factor, &mut hashes);
    }
    hashes.iter_mut().for_each(|hash| *hash = mix(*hash));
    hashes
}

/// A tuple of a chunk.
pub(super) struct ChunkTuple {
    pub(super) hash: u64,
    /// The first row that has it.
    pub(super) row: u32,
    pub(super) n_rows: u32,
}

/// The distinct tuples of a chunk with hashes up to a bound, no more than the `limit` least, by
/// their first rows.
pub(super) fn tuples_of(hashes: &[u64], bound: u64, limit: usize) -> Vec<ChunkTuple> {
    let mut rows: Vec<(u64, u32)> =
        hashes.iter().copied().zip(0..).filter(|(hash, _)| *hash <= bound).collect();
    rows.sort_unstable();
    let same = rows.chunk_by(|a, b| a.0 == b.0);
    let tuple = |rows: &[(u64, u32)]| ChunkTuple {
        hash: rows[0].0,
        row: rows[0].1,
        n_rows: rows.len() as u32,
    };
    let mut tuples: Vec<ChunkTuple> = same.map(tuple).take(limit).collect();
    tuples.sort_unstable_by_key(|tuple| tuple.row);
    tuples
}

/// The tuples of least hash, each with its number of rows and something else about it.
pub(super) struct LeastTuples<T> {
    limit: usize,
    /// Tuples with a greater hash are not among them. It only falls, so those that are among them
    /// have been counted from their first row on.
    bound: u64,
    found: FxHashMap<u64, (u64, T)>,
}

impl<T: Copy> LeastTuples<T> {
    /// None yet, of up to so many.
    pub(super) fn new(limit: usize) -> LeastTuples<T> {
        let bound = if limit == 0 { 0 } else { u64::MAX };
        LeastTuples { limit, bound, found: FxHashMap::default() }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn bound(&self) -> u64 {
        self.bound
    }

    /// Adds so many rows; tells whether the tuple is new and may be among the least.
    pub(super) fn add(&mut self, hash: u64, n_rows: u64, about: T) -> bool {
        if hash > self.bound {
            return false;
        }
        let n_before = self.found.len();
        self.found.entry(hash).or_insert((0, about)).0 += n_rows;
        self.found.len() > n_before
    }

    /// Whether it is time to trim.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() > self.limit + self.limit / 4
    }

    /// Drops all but the least.
    pub(super) fn trim(&mut self) {
        if self.found.len() <= self.limit {
            return;
        }
        let mut hashes: Vec<u64> = self.found.keys().copied().collect();
        let (_, &mut bound, _) = hashes.select_nth_unstable(self.limit - 1);
        self.bound = bound;
        self.found.retain(|&hash, _| hash <= bound);
    }

    /// Rows of a tuple.
    pub(super) fn n_rows(&self, hash: u64) -> u64 {
        self.found.get(&hash).map_or(0, |own| own.0)
    }

    /// Hash, number of rows and the rest of each.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64, T)> + '_ {
        self.found.iter().map(|(&hash, &(n_rows, about))| (hash, n_rows, about))
    }
}

/// The halves of numbers, the lower ones first.
pub(super) fn halves(numbers: &[u64]) -> [Vec<u32>; 2] {
    [0, 32].map(|shift| numbers.iter().map(|number| (number >> shift) as u32).collect())
}
