//! Stretches of a table whose rows come class by class, as runs.
//!
//! ```text
//!   shown     a  a  a  b  b  b  b  a          kept:  a  b  a
//!   others    x  y  x  x  z  y  y  x          kept as they are
//!   runs      ├──0──┤  ├───1────┤  2
//! ```
//!
//! A release of this program shows the same in all rows of a class, and has them side by side. So
//! its cells are looked at once for each run, as soon as a chunk is read, and what is kept of them
//! takes little. Another table has runs of single rows, and is kept as it is.
//!
//! Guarantee: the rows of a run show the same in all columns that are shown, and every row is in one
//! run. A run ends with its chunk at the latest, so that runs that follow each other may show the
//! same.
//! Cost: a look at each cell and its neighbour.

use albers_measure::RowRuns;
use albers_table::chunk::{Cells, ColumnChunk};
use albers_table::row::RowId;
use albers_table::source::SourceChunk;

use crate::rows::cells_bytes;

/// A stretch of rows, of which some columns are kept by runs.
pub(crate) struct RunChunk {
    /// The number of its first row in the table.
    pub(crate) first_row: RowId,
    /// Number of rows.
    pub(crate) n_rows: usize,
    /// The columns that are shown, with a cell for each run.
    pub(crate) shown: Vec<ColumnChunk>,
    /// The other columns, with a cell for each row.
    pub(crate) others: Vec<ColumnChunk>,
    /// The first row of each run in the chunk.
    starts: Vec<u32>,
}

/// What a run takes besides its cells, while classes are made of runs.
const RUN_BYTES: usize = 28;

impl RunChunk {
    /// Of the coded columns of a chunk, the first of which are shown.
    pub(crate) fn of(chunk: SourceChunk, n_shown: usize) -> RunChunk {
        let SourceChunk { first_row, n_rows, coded: mut shown, .. } = chunk;
        let others = shown.split_off(n_shown.min(shown.len()));
        let starts = starts_of(n_rows, &shown);
        if starts.len() < n_rows {
            shown = shown.iter().map(|column| column.select(&starts)).collect();
        }
        RunChunk { first_row, n_rows, shown, others, starts }
    }

    /// How many rows each run has.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = u32> {
        let ends = self.starts.iter().skip(1).copied().chain([self.n_rows as u32]);
        self.starts.iter().zip(ends).map(|(&start, end)| end - start)
    }

    /// The number of the first row of each run in the table.
    pub(crate) fn first_rows(&self) -> impl Iterator<Item = RowId> {
        self.starts.iter().map(|&start| self.first_row + u64::from(start))
    }

    /// Number of runs.
    pub(crate) fn n_runs(&self) -> usize {
        self.starts.len()
    }

    /// What is of each run, for each of its rows.
    pub(crate) fn spread<T: Copy>(&self, of_run: &[T]) -> Vec<T> {
        let runs = of_run.iter().zip(self.sizes());
        let mut all = Vec::with_capacity(self.n_rows);
        runs.for_each(|(&own, size)| all.resize(all.len() + size as usize, own));
        all
    }

    /// The chunk with a cell for each row in all columns.
    pub(crate) fn into_rows(self) -> SourceChunk {
        let mut coded = match self.n_runs() < self.n_rows {
            true => {
                let runs: Vec<u32> = (0..self.n_runs() as u32).collect();
                let run_of_row = self.spread(&runs);
                self.shown.iter().map(|column| column.select(&run_of_row)).collect()
            }
            false => self.shown,
        };
        coded.extend(self.others);
        let (first_row, n_rows) = (self.first_row, self.n_rows);
        SourceChunk { first_row, n_rows, coded, carried: Vec::new() }
    }

    /// What it takes while its table is in memory.
    pub(crate) fn kept_bytes(&self) -> usize {
        cells_bytes(&self.shown) + cells_bytes(&self.others) + self.n_runs() * RUN_BYTES
    }

    /// What its cells take as they are.
    pub(crate) fn cell_bytes(&self) -> usize {
        self.shown.iter().chain(&self.others).map(ColumnChunk::n_bytes).sum()
    }
}

/// The runs of a table, from those of its chunks in their order.
pub(crate) fn runs_of(chunks: &[RunChunk]) -> RowRuns {
    RowRuns::of_sizes(chunks.iter().flat_map(RunChunk::sizes))
}

/// The first row of each run of rows that show the same.
fn starts_of(n_rows: usize, shown: &[ColumnChunk]) -> Vec<u32> {
    let mut differs = vec![false; n_rows];
    if let Some(first) = differs.first_mut() {
        *first = true;
    }
    shown.iter().for_each(|column| mark_changes(column, &mut differs));
    (0u32..).zip(differs).filter(|(_, differs)| *differs).map(|(row, _)| row).collect()
}

/// Marks the rows whose cell differs from that of the row before.
fn mark_changes(column: &ColumnChunk, differs: &mut [bool]) {
    fn changes<T: PartialEq>(cells: &[T], differs: &mut [bool]) {
        let pairs = cells.iter().zip(cells.iter().skip(1));
        for (differs, (before, own)) in differs.iter_mut().skip(1).zip(pairs) {
            *differs |= before != own;
        }
    }
    match &column.cells {
        Cells::Ticks { offsets, .. } => changes(offsets, differs),
        Cells::WideTicks { ticks, .. } => changes(ticks, differs),
        Cells::Floats(floats) => changes(floats, differs),
        Cells::Names { places, .. } => changes(places, differs),
    }
    // What stands in a missing cell's place has no meaning, but is the same in all of them.
    for (place, &row) in column.missing.iter().enumerate() {
        let follows = place.checked_sub(1).is_some_and(|before| column.missing[before] + 1 == row);
        differs[row as usize] |= !follows;
        let goes_on = column.missing.get(place + 1) == Some(&(row + 1));
        if let Some(next) = differs.get_mut(row as usize + 1).filter(|_| !goes_on) {
            *next = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use albers_table::chunk::TextColumnBuilder;
    use albers_table::schema::ColumnType;
    use albers_table::value_hash::value_hashes;
    use proptest::prelude::*;

    use super::*;

    fn column(column_type: ColumnType, cells: impl Iterator<Item = u8>) -> ColumnChunk {
        let mut builder = TextColumnBuilder::new(column_type);
        for cell in cells {
            match cell {
                0 => builder.push_missing(),
                _ => builder.push(cell.to_string().as_bytes()).unwrap(),
            }
        }
        builder.finish().map_err(|_| "valid").unwrap()
    }

    fn hashes(columns: &[ColumnChunk]) -> Vec<Vec<u64>> {
        columns.iter().map(value_hashes).collect()
    }

    proptest! {
        #[test]
        fn rows_come_back_from_runs_as_they_were_and_runs_show_the_same(
            runs in prop::collection::vec((0u8..3, 0u8..3, 0u8..3, 1usize..6), 0..40),
            n_shown in 0usize..4,
        ) {
            let rows: Vec<(u8, u8, u8)> =
                runs.iter().flat_map(|&(a, b, c, n)| vec![(a, b, c); n]).collect();
            let columns = vec![
                column(ColumnType::Integer, rows.iter().map(|own| own.0)),
                column(ColumnType::Text, rows.iter().map(|own| own.1)),
                column(ColumnType::Float, rows.iter().map(|own| own.2)),
            ];
            let expected = hashes(&columns);
            let first_row = RowId::new(7);
            let chunk = SourceChunk {
                first_row, n_rows: rows.len(), coded: columns, carried: Vec::new(),
            };
            let chunk = RunChunk::of(chunk, n_shown);
            let shown = |row: usize| -> Vec<u64> {
                expected[..n_shown.min(3)].iter().map(|own| own[row]).collect()
            };
            let n_changes = (1..rows.len()).filter(|&row| shown(row) != shown(row - 1)).count();
            prop_assert_eq!(chunk.n_runs(), n_changes + usize::from(!rows.is_empty()));
            prop_assert!(chunk.shown.iter().all(|own| own.n_rows() == chunk.n_runs()));
            prop_assert_eq!(chunk.sizes().map(|own| own as usize).sum::<usize>(), rows.len());
            for (size, first) in chunk.sizes().zip(chunk.first_rows()) {
                let row = (first.get() - 7) as usize;
                prop_assert!((row..row + size as usize).all(|own| shown(own) == shown(row)));
            }
            let back = chunk.into_rows();
            prop_assert_eq!((back.first_row, back.n_rows), (first_row, rows.len()));
            prop_assert_eq!(hashes(&back.coded), expected);
        }
    }
}
