//! The rows that findings are about, by their numbers.
//!
//! Guarantee: rows are told by the hashes of their cells, all of them, so that the numbers are exact
//! also where the count of a finding is an estimate; two different cells of a column share a hash
//! with a chance of one in 2^64. Nothing of a cell is kept but its hash.
//! Cost: 8 bytes per row and column while rows are read, and a table of the distinct hashes of one
//! column at a time.

use albers_table::mix::mix;
use albers_table::row::RowId;
use albers_table::value_hash::MISSING;
use rustc_hash::FxHashMap;

use super::columns::AuditedColumns;
use super::seen::ChunkHashes;
use crate::finding::{Finding, FindingName};
use crate::report::ConcernedRows;

/// What the table of one column takes for each row, at most, beside the hashes.
const TABLE_BYTES: usize = 48;

/// The hashes of all rows.
#[derive(Default)]
pub(super) struct RowHashes {
    chunks: Vec<ChunkHashes>,
}

impl RowHashes {
    /// What the rows of a chunk take, with what is needed to look at them.
    pub(super) fn bytes_of(chunk: &ChunkHashes) -> usize {
        let n_columns = 2 + chunk.sensitive.len() + chunk.counted.len();
        chunk.shown.len() * (n_columns * size_of::<u64>() + TABLE_BYTES)
    }

    /// Adds the rows of a chunk.
    pub(super) fn add(&mut self, chunk: ChunkHashes) {
        let place = self.chunks.partition_point(|own| own.first_row < chunk.first_row);
        self.chunks.insert(place, chunk);
    }

    /// The rows of each finding that is about rows of this table.
    pub(super) fn concerned(
        &self,
        findings: &[Finding],
        columns: &AuditedColumns,
    ) -> Vec<ConcernedRows> {
        let of_finding = |finding: &Finding| {
            let rows = self.rows_of(finding, columns)?;
            Some(ConcernedRows { finding: finding.label(), rows })
        };
        findings.iter().filter_map(of_finding).collect()
    }

    fn rows_of(&self, finding: &Finding, columns: &AuditedColumns) -> Option<Vec<RowId>> {
        let name = finding.column.as_deref();
        let counted = || columns.counted.0.iter().position(|own| Some(own.name.as_str()) == name);
        let sensitive = &columns.requests[columns.first_sensitive()..];
        match finding.name {
            FindingName::UniqueKeep => {
                let place = counted()?;
                Some(self.with_count(|chunk, row| chunk.counted[place][row], |n| n == 1))
            }
            FindingName::UniqueKeeps => {
                let tuple = |chunk: &ChunkHashes, row: usize| {
                    let cells = chunk.counted[..columns.n_kept].iter().map(|cells| cells[row]);
                    // A tuple of nothing but missing cells is a tuple too.
                    cells.fold(1, |tuple, cell| mix(tuple ^ cell)).max(MISSING + 1)
                };
                Some(self.with_count(tuple, |n| n == 1))
            }
            FindingName::LowK => {
                let person = |chunk: &ChunkHashes, row: usize| {
                    chunk.subjects.get(row).copied().unwrap_or((chunk.first_row + row as u64).get())
                };
                Some(self.alike(person))
            }
            FindingName::SecretWithoutRule => {
                let place = sensitive.iter().position(|own| Some(own.name.as_str()) == name)?;
                Some(self.alike(|chunk, row| chunk.sensitive[place][row]))
            }
            _ => None,
        }
    }

    /// The rows of which something is true.
    fn rows(&self, is_concerned: impl Fn(&ChunkHashes, usize) -> bool) -> Vec<RowId> {
        let mut found = Vec::new();
        for chunk in &self.chunks {
            let rows = (0..chunk.shown.len()).filter(|&row| is_concerned(chunk, row));
            found.extend(rows.map(|row| chunk.first_row + row as u64));
        }
        found
    }

    /// Rows whose hash, unless it is that of a missing cell, is that of so many rows.
    fn with_count(
        &self,
        hash: impl Fn(&ChunkHashes, usize) -> u64,
        is_so_many: impl Fn(u32) -> bool,
    ) -> Vec<RowId> {
        let mut counts: FxHashMap<u64, u32> = FxHashMap::default();
        for chunk in &self.chunks {
            for row in 0..chunk.shown.len() {
                *counts.entry(hash(chunk, row)).or_default() += 1;
            }
        }
        self.rows(|chunk, row| {
            let hash = hash(chunk, row);
            hash != MISSING && counts.get(&hash).is_some_and(|&n_rows| is_so_many(n_rows))
        })
    }

    /// Rows of classes whose rows are all alike in something.
    fn alike(&self, of_row: impl Fn(&ChunkHashes, usize) -> u64) -> Vec<RowId> {
        // Nothing where rows of a class differ.
        let mut classes: FxHashMap<u64, Option<u64>> = FxHashMap::default();
        for chunk in &self.chunks {
            for (row, &class) in chunk.shown.iter().enumerate() {
                let own = of_row(chunk, row);
                let seen = classes.entry(class).or_insert(Some(own));
                *seen = seen.filter(|&seen| seen == own);
            }
        }
        self.rows(|chunk, row| classes.get(&chunk.shown[row]).is_some_and(Option::is_some))
    }
}
