//! The hashes of a chunk's cells: equal values have equal hashes in every chunk of a column.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use crate::chunk::{Cells, ColumnChunk, TickUnit};
use crate::mix::mix;
use crate::row::RowId;

/// Stands for a missing cell in the row sample.
const MISSING_HASH: u64 = 0x6d69_7373_696e_6721;

/// Distances up to this are counted in a table before anything is hashed.
const MAX_COUNTED_OFFSET: u32 = 1 << 16;

/// A chunk whose names are hashed already; numbers are hashed on the way.
pub struct HashedChunk<'a> {
    chunk: &'a ColumnChunk,
    name_hashes: Vec<u64>,
}

impl<'a> HashedChunk<'a> {
    /// Hashes the names of a chunk.
    pub fn new(chunk: &'a ColumnChunk) -> HashedChunk<'a> {
        let name_hashes = match &chunk.cells {
            Cells::Names { names, .. } => {
                names.iter().map(|name| mix(FxBuildHasher.hash_one(name.as_str()))).collect()
            }
            _ => Vec::new(),
        };
        HashedChunk { chunk, name_hashes }
    }

    /// The hash of a row's cell, which is not missing.
    fn hash(&self, row_idx: usize) -> u64 {
        match &self.chunk.cells {
            Cells::Ticks { base, offsets, unit } => {
                hash_tick(base.wrapping_add(i64::from(offsets[row_idx])), *unit)
            }
            Cells::WideTicks { ticks, unit } => hash_tick(ticks[row_idx], *unit),
            Cells::Floats(values) => mix(values[row_idx].to_bits()),
            Cells::Names { places, .. } => self.name_hashes[places[row_idx] as usize],
        }
    }

    /// Calls `visit` with hashes and numbers of rows that, added up by hash, count every value.
    pub fn for_each_value(&self, mut visit: impl FnMut(u64, u32)) {
        let missing = &self.chunk.missing;
        match &self.chunk.cells {
            Cells::Names { places, .. } => {
                let counts = counts_of(places, self.name_hashes.len(), missing);
                for (&hash, &count) in self.name_hashes.iter().zip(&counts) {
                    if count > 0 {
                        visit(hash, count);
                    }
                }
            }
            Cells::Ticks { base, offsets, unit } if are_near(offsets) => {
                let n_values = offsets.iter().max().map_or(0, |&longest| longest as usize + 1);
                for (offset, &count) in counts_of(offsets, n_values, missing).iter().enumerate() {
                    if count > 0 {
                        visit(hash_tick(base.wrapping_add(offset as i64), *unit), count);
                    }
                }
            }
            _ => {
                let mut holes = missing.iter().copied().peekable();
                for row_idx in 0..self.chunk.n_rows() {
                    if holes.next_if_eq(&(row_idx as u32)).is_none() {
                        visit(self.hash(row_idx), 1);
                    }
                }
            }
        }
    }

    /// A hash of all cells and of the rows that they stand in, from a row of the table on. Those of
    /// all chunks of a column, added up, are equal for columns of equal cells.
    pub fn fingerprint(&self, first_row: RowId) -> u64 {
        let mut holes = self.chunk.missing.iter().copied().peekable();
        let cell = |row_idx: usize| {
            let is_missing = holes.next_if_eq(&(row_idx as u32)).is_some();
            let hash = if is_missing { MISSING_HASH } else { self.hash(row_idx) };
            mix(hash ^ mix((first_row + row_idx as u64).get()))
        };
        (0..self.chunk.n_rows()).map(cell).fold(0, u64::wrapping_add)
    }

    /// Half of each row's hash, as the row sample keeps it. The rows are ascending.
    pub fn short_hashes_of(&self, row_idxs: &[u32]) -> Vec<u32> {
        let mut holes = self.chunk.missing.iter().copied().peekable();
        let short = |&row_idx: &u32| {
            while holes.next_if(|&hole| hole < row_idx).is_some() {}
            let is_missing = holes.peek() == Some(&row_idx);
            (if is_missing { MISSING_HASH } else { self.hash(row_idx as usize) } >> 32) as u32
        };
        row_idxs.iter().map(short).collect()
    }
}

/// How often each place occurs among the rows that are not missing.
fn counts_of(places: &[u32], n_places: usize, missing: &[u32]) -> Vec<u32> {
    let mut counts = vec![0u32; n_places];
    // What stands in a missing cell's place may lie outside of the list when that is empty.
    if n_places == 0 {
        return counts;
    }
    for &place in places {
        counts[place as usize] += 1;
    }
    for &row_idx in missing {
        counts[places[row_idx as usize] as usize] -= 1;
    }
    counts
}

fn are_near(offsets: &[u32]) -> bool {
    offsets.iter().all(|&offset| offset < MAX_COUNTED_OFFSET)
}

/// Chunks of one column may write decimals with different numbers of digits after the point.
fn hash_tick(mut tick: i64, unit: TickUnit) -> u64 {
    let TickUnit::Decimal(mut scale) = unit else { return mix(tick as u64) };
    while scale > 0 && tick % 10 == 0 {
        tick /= 10;
        scale -= 1;
    }
    mix(mix(tick as u64) ^ u64::from(scale))
}
