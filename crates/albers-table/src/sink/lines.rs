//! Lines of text, made on all threads: the cells that a run shows are made once and copied into
//! each of its lines.
//!
//! ```text
//!   cells of a run     "[20, 29],Berlin,"  "\n"
//!   cells of its rows                     a          line by line between them
//! ```
//!
//! Memory: a stretch of lines for each thread, twice: while some are written, the next are made.

use std::io::{self, Write};
use std::ops::Range;

use albers_storage::threads;
use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef};
use arrow_cast::cast;
use arrow_schema::DataType;
use rayon::prelude::*;

use super::csv::Column;
use super::runs::{RunBatch, RunColumn};

/// Rows that one thread turns into text at a time, and about how long that may be: fewer, where their
/// cells are long.
const PIECE_ROWS: usize = 1 << 13;
const PIECE_BYTES: usize = 2 << 20;
/// What dictionaries may unfold into at a time.
const UNFOLDED_BYTES: usize = 16 << 20;

/// How a line is made of cells.
pub(super) trait LineFormat: Sync {
    /// Appends a cell, by the place of its run or row, with what stands before it in a line.
    fn push_cell(&self, out: &mut Vec<u8>, column_idx: usize, column: &Column<'_>, place: usize);

    /// Appends what stands behind the last cell.
    fn push_end(&self, out: &mut Vec<u8>);
}

/// Writes lines, and keeps the memory in which they are made.
#[derive(Default)]
pub(super) struct LineWriter {
    /// Lines that are being written, and lines that are being made.
    written: Vec<Vec<u8>>,
    made: Vec<Vec<u8>>,
}

impl LineWriter {
    /// Writes the lines of some rows.
    pub(super) fn write(
        &mut self,
        output: &mut (impl Write + Send),
        rows: &RunBatch,
        format: &impl LineFormat,
    ) -> io::Result<()> {
        let n_at_once = (UNFOLDED_BYTES / unfolded_row_bytes(rows).max(1)).max(1);
        for start in (0..rows.n_rows()).step_by(n_at_once) {
            let n_rows = n_at_once.min(rows.n_rows() - start);
            self.write_unfolded(output, &rows.slice(start, n_rows), format)?;
        }
        Ok(())
    }

    fn write_unfolded(
        &mut self,
        output: &mut (impl Write + Send),
        rows: &RunBatch,
        format: &impl LineFormat,
    ) -> io::Result<()> {
        let plain: Vec<(ArrayRef, bool)> = rows.columns().iter().map(unfolded).collect();
        let columns = plain
            .iter()
            .map(|(cells, is_of_runs)| (Column::of(cells.as_ref()), *is_of_runs))
            .collect();
        let row_bytes: usize = plain.iter().map(|(cells, _)| cell_bytes(cells)).sum();
        let piece_rows = (PIECE_BYTES / row_bytes.max(1)).clamp(1, PIECE_ROWS);
        let lines = Lines { columns, run_ends: rows.run_ends(), piece_rows, format };
        let starts: Vec<usize> = (0..rows.n_rows()).step_by(piece_rows).collect();
        // As many pieces at a time as there are threads bound the memory at any number of rows.
        let LineWriter { written, made } = self;
        written.iter_mut().for_each(Vec::clear);
        for starts in starts.chunks(threads::of_pool()) {
            let (result, ()) = rayon::join(
                || write_all(output, written),
                || lines.make(made, starts, rows.n_rows()),
            );
            result?;
            std::mem::swap(written, made);
        }
        write_all(output, written)
    }
}

fn write_all(output: &mut impl Write, pieces: &[Vec<u8>]) -> io::Result<()> {
    pieces.iter().try_for_each(|piece| output.write_all(piece))
}

/// About what a cell of some takes.
fn cell_bytes(cells: &ArrayRef) -> usize {
    let n_bytes = cells.to_data().get_slice_memory_size().unwrap_or_default();
    n_bytes / cells.len().max(1)
}

/// What the cells of a row that stand in dictionaries take in a row of their own.
fn unfolded_row_bytes(rows: &RunBatch) -> usize {
    let folded = rows.columns().iter().filter_map(|column| column.cells().as_any_dictionary_opt());
    folded.map(|cells| cell_bytes(cells.values())).sum()
}

/// The cells as plain values, and whether there is one for each run. Dictionaries become plain; all
/// else is borrowed.
fn unfolded(column: &RunColumn) -> (ArrayRef, bool) {
    let cells = column.cells();
    let plain = match cells.data_type() {
        DataType::Dictionary(_, values) => {
            cast(cells, values).expect("a dictionary unfolds into its values")
        }
        _ => cells.clone(),
    };
    (plain, matches!(column, RunColumn::OfRuns(_)))
}

/// Rows that become lines.
struct Lines<'a, F> {
    /// The cells, and whether there is one for each run.
    columns: Vec<(Column<'a>, bool)>,
    run_ends: Vec<usize>,
    /// Rows of a piece.
    piece_rows: usize,
    format: &'a F,
}

impl<F: LineFormat> Lines<'_, F> {
    /// Makes pieces of lines from the rows that start at some places.
    fn make(&self, pieces: &mut Vec<Vec<u8>>, starts: &[usize], n_rows: usize) {
        pieces.resize_with(starts.len(), Vec::new);
        pieces.par_iter_mut().zip(starts).for_each(|(piece, &start)| {
            piece.clear();
            self.push_rows(piece, start..(start + self.piece_rows).min(n_rows));
        });
    }

    /// Appends the lines of some rows.
    fn push_rows(&self, out: &mut Vec<u8>, rows: Range<usize>) {
        let mut line = RunLine::default();
        let mut run = self.run_ends.partition_point(|&end| end <= rows.start);
        let mut start = rows.start;
        while start < rows.end {
            let end = self.run_ends[run].min(rows.end);
            self.make_line(&mut line, run);
            for row in start..end {
                let mut from = 0;
                for &(to, column_idx) in &line.cells_of_rows {
                    out.extend_from_slice(&line.text[from..to]);
                    self.format.push_cell(out, column_idx, &self.columns[column_idx].0, row);
                    from = to;
                }
                out.extend_from_slice(&line.text[from..]);
            }
            start = end;
            run += 1;
        }
    }

    /// Makes what all lines of a run share.
    fn make_line(&self, line: &mut RunLine, run: usize) {
        line.text.clear();
        line.cells_of_rows.clear();
        for (column_idx, (column, is_of_runs)) in self.columns.iter().enumerate() {
            match is_of_runs {
                true => self.format.push_cell(&mut line.text, column_idx, column, run),
                false => line.cells_of_rows.push((line.text.len(), column_idx)),
            }
        }
        self.format.push_end(&mut line.text);
    }
}

/// What all lines of a run share.
#[derive(Default)]
struct RunLine {
    text: Vec<u8>,
    /// Where in it the cells of rows stand, and their columns.
    cells_of_rows: Vec<(usize, usize)>,
}
