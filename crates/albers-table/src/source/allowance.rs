//! What reading a table may take of the memory.
//!
//! ```text
//!   memory ├─ an eighth: one record, all its copies within the whole ─┤
//!          ├─ an eighth, and a little where that is nothing: the footer of Parquet ─┤
//!          ├─ a quarter, and a little where that is nothing: lanes of Parquet ─┤
//! ```
//!
//! How a table is cut into chunks decides nothing but what they take: what is told of its rows does
//! not depend on it.

use albers_storage::{StorageError, threads};

use super::ReadOptions;
use crate::TableError;

/// Bytes of a block of text where there is memory enough, and those among which the header is looked
/// for in any.
pub(super) const BLOCK_BYTES: usize = 4 << 20;
/// A block of fewer bytes costs more than it saves.
const SMALLEST_BLOCK_BYTES: u64 = 128 << 10;
/// No record is longer.
pub(super) const LONGEST_RECORD_BYTES: usize = 256 << 20;
/// How often a record is in memory at a time, from its text to the cells that are published.
const RECORD_COPIES: u64 = 8;
/// What lanes may take in any memory.
const LEAST_LANE_BYTES: u64 = 16 << 20;
/// What a footer may take in any memory.
const LEAST_FOOTER_BYTES: u64 = 16 << 20;
/// How much larger a footer is when it was read.
const FOOTER_TIMES: u64 = 8;
/// The same of the list of parts of a workbook, of which there is more than one copy.
const PARTS_TIMES: u64 = 16;
/// What that list may take in any memory.
const LEAST_PARTS_BYTES: u64 = 16 << 20;
/// Columns of a text that are read in any memory, and what each of more takes from its name to its
/// cells.
const LEAST_COLUMNS: u64 = 20_000;
const COLUMN_BYTES: u64 = 4 << 10;
/// Chunks of a lane that exist at a time: three rounds, and one in the making.
const LANE_CHUNKS: u64 = 4;

/// What reading may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    limit_bytes: u64,
    n_threads: usize,
}

impl Default for Allowance {
    fn default() -> Allowance {
        Allowance { limit_bytes: u64::MAX, n_threads: threads::of_machine() }
    }
}

impl Allowance {
    /// By what the reader may take for all.
    pub(super) fn of(options: &ReadOptions) -> Allowance {
        Allowance {
            limit_bytes: options.limit_bytes.unwrap_or(u64::MAX),
            n_threads: options.n_threads.unwrap_or_else(threads::of_machine).max(1),
        }
    }

    /// Bytes of a block of text. Every thread has one in each of three rounds, and cells take several
    /// times what their text takes.
    pub(super) fn block_bytes(self) -> usize {
        let bytes = self.limit_bytes / 64 / self.n_threads as u64;
        bytes.clamp(SMALLEST_BLOCK_BYTES, BLOCK_BYTES as u64) as usize
    }

    /// Bytes of the longest record.
    pub(super) fn record_bytes(self) -> usize {
        let bytes = self.limit_bytes / RECORD_COPIES;
        bytes.clamp(BLOCK_BYTES as u64, LONGEST_RECORD_BYTES as u64) as usize
    }

    /// Refuses a record of so many bytes.
    pub(super) fn refuse_record(self, n_bytes: u64) -> TableError {
        self.refuse("the longest row", n_bytes.saturating_mul(RECORD_COPIES))
    }

    /// Refuses a Parquet file whose footer has so many bytes, if they become too many.
    pub(super) fn check_footer(self, n_bytes: u64) -> Result<(), TableError> {
        let taken_bytes = n_bytes.saturating_mul(FOOTER_TIMES);
        match taken_bytes <= (self.limit_bytes / 8).saturating_add(LEAST_FOOTER_BYTES) {
            true => Ok(()),
            false => {
                let needed_bytes = (taken_bytes - LEAST_FOOTER_BYTES).saturating_mul(8);
                Err(self.refuse("the footer of a Parquet file", needed_bytes))
            }
        }
    }

    /// Refuses a workbook whose list of parts has so many bytes, if they become too many.
    pub(super) fn check_parts(self, n_bytes: u64) -> Result<(), TableError> {
        let taken_bytes = n_bytes.saturating_mul(PARTS_TIMES);
        match taken_bytes <= (self.limit_bytes / 8).saturating_add(LEAST_PARTS_BYTES) {
            true => Ok(()),
            false => {
                let needed_bytes = (taken_bytes - LEAST_PARTS_BYTES).saturating_mul(8);
                Err(self.refuse("the list of the parts of a workbook", needed_bytes))
            }
        }
    }

    /// Refuses a text with so many columns, if they become too many.
    pub(super) fn check_columns(self, n_columns: u64) -> Result<(), TableError> {
        let needed_bytes = n_columns.saturating_mul(COLUMN_BYTES);
        match n_columns <= LEAST_COLUMNS || needed_bytes <= self.limit_bytes {
            true => Ok(()),
            false => Err(self.refuse("the columns of the first line", needed_bytes)),
        }
    }

    /// What all lanes together may take for their pages.
    pub(super) fn lane_bytes(self) -> u64 {
        (self.limit_bytes / 4).saturating_add(LEAST_LANE_BYTES)
    }

    /// What the cells of a chunk may take, where there are so many lanes.
    pub(super) fn chunk_bytes(self, n_lanes: usize) -> u64 {
        self.lane_bytes() / (n_lanes as u64 * LANE_CHUNKS)
    }

    /// Refuses a lane that takes so much alone.
    pub(super) fn refuse_lane(self, n_bytes: u64) -> TableError {
        let needed_bytes = n_bytes.saturating_sub(LEAST_LANE_BYTES).saturating_mul(4);
        self.refuse("the pages of a Parquet file", needed_bytes)
    }

    fn refuse(self, what: &'static str, needed_bytes: u64) -> TableError {
        StorageError::OverBudget { what, needed_bytes, limit_bytes: self.limit_bytes }.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(limit_bytes: u64, n_threads: usize) -> Allowance {
        Allowance { limit_bytes, n_threads }
    }

    #[test]
    fn what_a_refusal_advises_is_enough() {
        let tight = within(32_000_000, 1);
        let advised = |error: TableError| match error {
            TableError::Storage(StorageError::OverBudget { needed_bytes, .. }) => {
                within(needed_bytes, 1)
            }
            other => panic!("{other}"),
        };
        for n_bytes in [5 << 20, 40_000_000, 250 << 20] {
            assert!(tight.record_bytes() < n_bytes);
            assert!(advised(tight.refuse_record(n_bytes as u64)).record_bytes() >= n_bytes);
            let footer = tight.check_footer(n_bytes as u64).unwrap_err();
            assert!(advised(footer).check_footer(n_bytes as u64).is_ok());
            let parts = tight.check_parts(n_bytes as u64).unwrap_err();
            assert!(advised(parts).check_parts(n_bytes as u64).is_ok());
            let columns = tight.check_columns(n_bytes as u64).unwrap_err();
            assert!(advised(columns).check_columns(n_bytes as u64).is_ok());
            let n_bytes = n_bytes as u64 + tight.lane_bytes();
            assert!(advised(tight.refuse_lane(n_bytes)).lane_bytes() >= n_bytes);
        }
    }

    #[test]
    fn sizes_follow_from_the_memory_within_their_bounds() {
        let tiny = within(1, 1);
        assert_eq!(tiny.block_bytes() as u64, SMALLEST_BLOCK_BYTES);
        assert_eq!(tiny.record_bytes(), BLOCK_BYTES);
        assert!(tiny.check_columns(LEAST_COLUMNS).is_ok());
        assert!(tiny.check_parts(LEAST_PARTS_BYTES / PARTS_TIMES).is_ok());
        let all = Allowance::default();
        assert_eq!((all.block_bytes(), all.record_bytes()), (BLOCK_BYTES, LONGEST_RECORD_BYTES));
        assert!(all.chunk_bytes(4) > 1 << 40);
    }

    #[test]
    fn more_threads_have_smaller_blocks_whatever_the_machine_has() {
        let options = |n_threads| ReadOptions {
            limit_bytes: Some(128 << 20),
            n_threads: Some(n_threads),
            ..ReadOptions::default()
        };
        let bytes = |n_threads| Allowance::of(&options(n_threads)).block_bytes();
        assert_eq!([1, 2, 8].map(bytes), [2 << 20, 1 << 20, 256 << 10]);
    }
}
