//! What a table looks like, told from one pass in memory that does not grow with the rows; from two
//! where all rows have other types than the first.
//!
//! ```text
//!   chunk ──► hash of every cell ─┬─► distinct sample of each column: values, rows that are alone
//!                                 └─► row sample: whole rows, to try combinations of columns on
//! ```
//!
//! - `cell_hash`: the same value has the same hash in every chunk.
//! - [`row_sample`]: rows drawn evenly from the whole table.
//! - [`shape`]: what values look like.
//! - [`dependence`]: whether the cells of one column follow from those of another, in all rows.
//!
//! Guarantee: a profile holds hashes, counts and round numbers, never a cell's text.
//! Cost: one hash per cell; at most [`MAX_COUNTED_VALUES`] hashes and counts over all columns and
//! [`MAX_SAMPLED_CELLS`] hashes of the row sample, each at most twice while the pass lasts.

mod cell_hash;
pub mod dependence;
pub mod row_sample;
pub mod shape;

use albers_storage::watch::{Phase, Watch};
use rayon::prelude::*;

use crate::Result;
use crate::chunk::{Cells, ColumnChunk, TickUnit};
use crate::row::RowId;
use crate::source::{
    ColumnRequest, RequestedTypes, Source, SourceChunk, for_each_chunk, with_settled_types,
};

use crate::distinct_sample::DistinctSample;
use cell_hash::HashedChunk;
use row_sample::{RowSample, SampledRows};
use shape::{ShapeProfiler, ValueShape};

/// Hashes that the distinct samples of all columns hold together.
pub const MAX_COUNTED_VALUES: usize = 1 << 19;
/// Hashes that the row sample holds, over all columns.
pub const MAX_SAMPLED_CELLS: usize = 1 << 22;

const COUNTED_VALUES: (usize, usize) = (512, 16_384);
const SAMPLED_ROWS: (usize, usize) = (2_000, 50_000);

/// The days that are written `YYYY-MM-DD`: years 0 to 9999.
const PLAIN_DAYS: (i64, i64) = (-719_528, 2_932_896);

/// What one column looks like.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnProfile {
    /// Cells without a value.
    pub n_missing: u64,
    /// Distinct values, the missing one left out.
    pub n_distinct: u64,
    /// Whether the number of distinct values is an estimate.
    pub is_estimate: bool,
    /// Rows whose value no other row has; an estimate where the number of values is one.
    pub n_unique: f64,
    /// Whether every value is a text of ASCII digits.
    pub all_digits: bool,
    /// Characters of the longest text; 0 for columns of numbers.
    pub n_longest_chars: usize,
    /// Whether every value is a day that is written with four digits for its year.
    pub all_plain_days: bool,
    /// What its values look like.
    pub shape: ValueShape,
    /// Equal for columns that have the same cells in all rows.
    pub fingerprint: u64,
}

/// What a table looks like.
#[derive(Debug)]
pub struct TableProfile {
    /// Rows of the table.
    pub n_rows: u64,
    /// The columns, in the order of their chunks.
    pub columns: Vec<ColumnProfile>,
    /// Rows drawn evenly from the table.
    pub sample: SampledRows,
}

/// What the requested columns of a table look like, all of which are asked for as coded; and their
/// types.
pub fn profile(
    source: &dyn Source,
    requests: &[ColumnRequest],
    watch: &dyn Watch,
) -> Result<(RequestedTypes, TableProfile)> {
    with_settled_types(source, requests, &mut |types| {
        watch.phase(Phase::Read, source.n_rows());
        let mut profiler = Profiler::new(requests.len());
        let mut scan = source.scan(requests, types)?;
        for_each_chunk(&mut *scan, watch, &Ok, &mut |chunk: SourceChunk| {
            profiler.add(&chunk);
            Ok(())
        })?;
        Ok(profiler.finish())
    })
}

/// Collects a profile, chunk by chunk.
pub struct Profiler {
    n_rows: u64,
    columns: Vec<ColumnProfiler>,
    sample: RowSample,
}

struct ColumnProfiler {
    n_missing: u64,
    values: DistinctSample,
    all_digits: bool,
    n_longest_chars: usize,
    all_plain_days: bool,
    shape: ShapeProfiler,
    fingerprint: u64,
}

impl Profiler {
    /// A profiler of a table with so many columns; the more, the fewer values and rows are held.
    pub fn new(n_columns: usize) -> Profiler {
        let share =
            |all: usize, (least, most): (usize, usize)| (all / n_columns.max(1)).clamp(least, most);
        let column = || ColumnProfiler {
            n_missing: 0,
            values: DistinctSample::new(share(MAX_COUNTED_VALUES / 2, COUNTED_VALUES)),
            all_digits: true,
            n_longest_chars: 0,
            all_plain_days: true,
            shape: ShapeProfiler::default(),
            fingerprint: 0,
        };
        Profiler {
            n_rows: 0,
            columns: (0..n_columns).map(|_| column()).collect(),
            sample: RowSample::new(share(MAX_SAMPLED_CELLS, SAMPLED_ROWS), n_columns),
        }
    }

    /// Looks at a stretch of rows, all of whose columns are coded.
    pub fn add(&mut self, chunk: &SourceChunk) {
        assert_eq!(chunk.coded.len(), self.columns.len(), "every column is asked for as coded");
        let drawn = self.sample.draw(chunk.first_row, chunk.n_rows);
        self.n_rows += chunk.n_rows as u64;
        let cells: Vec<Vec<u32>> = self
            .columns
            .par_iter_mut()
            .zip(&chunk.coded)
            .map(|(column, cells)| {
                let hashed = HashedChunk::new(cells);
                column.add(cells, &hashed, chunk.first_row);
                hashed.short_hashes_of(drawn.row_idxs())
            })
            .collect();
        self.sample.add(&drawn, &cells);
    }

    /// What the table looks like.
    pub fn finish(self) -> TableProfile {
        let column = |column: ColumnProfiler| ColumnProfile {
            n_missing: column.n_missing,
            n_distinct: column.values.n_distinct(),
            is_estimate: column.values.is_estimate(),
            n_unique: column.values.n_unique(),
            all_digits: column.all_digits,
            n_longest_chars: column.n_longest_chars,
            all_plain_days: column.all_plain_days,
            shape: column.shape.finish(column.values.n_distinct()),
            fingerprint: column.fingerprint,
        };
        TableProfile {
            n_rows: self.n_rows,
            columns: self.columns.into_iter().map(column).collect(),
            sample: self.sample.finish(),
        }
    }
}

impl ColumnProfiler {
    fn add(&mut self, chunk: &ColumnChunk, hashed: &HashedChunk<'_>, first_row: RowId) {
        self.n_missing += chunk.missing.len() as u64;
        self.shape.add(chunk, first_row);
        self.fingerprint = self.fingerprint.wrapping_add(hashed.fingerprint(first_row));
        hashed.for_each_value(|hash, n_rows| self.values.add(hash, n_rows));
        match &chunk.cells {
            Cells::Names { names, .. } => {
                for name in names {
                    self.all_digits &= name.bytes().all(|byte| byte.is_ascii_digit());
                    self.n_longest_chars = self.n_longest_chars.max(name.chars().count());
                }
                self.all_plain_days = false;
            }
            cells => {
                self.all_digits = false;
                self.all_plain_days &= are_plain_days(cells);
            }
        }
    }
}

fn are_plain_days(cells: &Cells) -> bool {
    let is_plain = |day: i64| (PLAIN_DAYS.0..=PLAIN_DAYS.1).contains(&day);
    match cells {
        Cells::Ticks { base, offsets, unit: TickUnit::Date } => {
            let longest = offsets.iter().copied().max().unwrap_or(0);
            is_plain(*base) && is_plain(base.saturating_add(i64::from(longest)))
        }
        Cells::WideTicks { ticks, unit: TickUnit::Date } => ticks.iter().all(|&day| is_plain(day)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::TextColumnBuilder;
    use crate::schema::ColumnType;

    fn chunk(first_row: u64, columns: &[(ColumnType, &[&str])]) -> SourceChunk {
        let coded: Vec<ColumnChunk> = columns
            .iter()
            .map(|(kind, cells)| {
                let mut builder = TextColumnBuilder::new(*kind);
                for cell in *cells {
                    match *cell {
                        "" => builder.push_missing(),
                        cell => builder.push(cell.as_bytes()).unwrap(),
                    }
                }
                builder.finish().unwrap()
            })
            .collect();
        let first_row = RowId::new(first_row);
        SourceChunk { first_row, n_rows: coded[0].n_rows(), coded, carried: Vec::new() }
    }

    #[test]
    fn values_are_the_same_in_every_chunk_whatever_its_scale_and_base() {
        let mut profiler = Profiler::new(3);
        let kinds = (ColumnType::Decimal, ColumnType::Integer, ColumnType::Code);
        profiler.add(&chunk(
            0,
            &[
                (kinds.0, &["1.5", "2", ""]),
                (kinds.1, &["7", "9000000000000", "8"]),
                (kinds.2, &["007", "08", ""]),
            ],
        ));
        profiler.add(&chunk(
            3,
            &[
                (kinds.0, &["1.50", "2.25", "2.0"]),
                (kinds.1, &["7", "8", ""]),
                (kinds.2, &["08", "12345", "09"]),
            ],
        ));
        let profile = profiler.finish();
        assert_eq!(profile.n_rows, 6);
        let found: Vec<_> =
            profile.columns.iter().map(|c| (c.n_distinct, c.n_missing, c.n_unique)).collect();
        assert_eq!(found, [(3, 1, 1.0), (3, 1, 1.0), (4, 1, 3.0)]);
        assert!(profile.columns[2].all_digits && !profile.columns[0].all_digits);
        assert_eq!(profile.columns[2].n_longest_chars, 5);
        assert_eq!(profile.sample.n_rows(), 6);
        assert_eq!(profile.sample.n_codes(1), 4, "the missing cell is a code of its own");
    }

    #[test]
    fn columns_of_equal_cells_have_equal_fingerprints_whatever_their_chunks() {
        let fingerprints = |parts: &[&[&str]]| {
            let mut profiler = Profiler::new(2);
            let mut first_row = 0;
            for part in parts {
                let reversed: Vec<&str> = part.iter().rev().copied().collect();
                let columns = [(ColumnType::Text, *part), (ColumnType::Text, &reversed)];
                profiler.add(&chunk(first_row, &columns));
                first_row += part.len() as u64;
            }
            profiler.finish().columns.iter().map(|c| c.fingerprint).collect::<Vec<_>>()
        };
        let whole = fingerprints(&[&["a", "b", "", "c"]]);
        assert_eq!(whole[0], fingerprints(&[&["a", "b", ""], &["c"]])[0]);
        assert_ne!(whole[0], whole[1], "the rows count");
    }

    #[test]
    fn more_columns_hold_fewer_values_and_rows_each() {
        for n_columns in [1, 20, 60, 1_000] {
            let profiler = Profiler::new(n_columns);
            let values: usize = profiler.columns.iter().map(|c| c.values.capacity()).sum();
            assert!(values <= 2 * MAX_COUNTED_VALUES, "{n_columns} columns");
            assert!(profiler.sample.capacity() * n_columns <= MAX_SAMPLED_CELLS);
        }
    }
}
