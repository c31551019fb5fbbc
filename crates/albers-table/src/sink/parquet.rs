//! Parquet files: row groups of bounded size, Snappy, columns encoded in parallel.
//!
//! - `run_column`, `pages`, `dictionary`: columns that come in runs, written by runs.
//!
//! ```text
//!   rows ──slices──► of runs ──► RunColumnWriter  ──┐
//!                    of rows ──► ArrowColumnWriter ─┴──► row group ──► file
//! ```
//!
//! Guarantee: the bytes are a function of the rows, of which columns come in runs, and of the
//! options, whatever batches the rows came in.
//! Memory: one row group, encoded, plus the batch at hand and up to a slice of rows before it.

mod dictionary;
mod pages;
mod run_column;

use std::io::{self, Write};
use std::ops::Range;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat;
use arrow_select::take::take;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::Compression;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use rayon::prelude::*;

use self::run_column::RunColumnWriter;
use super::WriteOptions;
use super::runs::{RunBatch, RunColumn};
use crate::{Result, TableError};

type Encoded<T> = std::result::Result<T, ParquetError>;

/// A row group ends with the slice that brings it to this many rows, or its encoded columns to so
/// many bytes: no more than the least memory has room for.
const ROW_GROUP_ROWS: usize = 1 << 20;
const ROW_GROUP_BYTES: usize = 16 << 20;

/// Rows are written in slices of this many, so that neither bound is overshot by much, and so that
/// pages and row groups end where they end whatever the batches are. A row group is whole slices.
const SLICE_ROWS: usize = 1 << 16;
/// What the texts of a slice may take, unless it is a single row. Told row by row, so that how rows
/// come in batches has no say in where slices end.
const SLICE_BYTES: usize = 8 << 20;

/// A dictionary of numbers that come row by row ends when it reaches this size.
const NUMBER_DICTIONARY_BYTES: usize = 1 << 16;

/// A Parquet file that is being written.
pub(super) struct ParquetWriter<W: Write> {
    file: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// Which columns are written by runs: those that came in runs first.
    by_runs: Option<Vec<bool>>,
    /// Fewer rows than a slice has, which wait for more.
    waiting: Vec<RunBatch>,
    n_waiting: usize,
    /// What the texts among their cells take.
    n_waiting_bytes: usize,
    /// The row group at hand: one writer per column, and its rows so far.
    columns: Vec<ColumnWriter>,
    n_group_rows: usize,
    n_groups: usize,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Starts the file, whose types were checked.
    pub(super) fn new(
        output: W,
        schema: &SchemaRef,
        options: WriteOptions,
    ) -> io::Result<ParquetWriter<W>> {
        let properties = properties(schema, options.has_runs);
        let (file, factory) = ArrowWriter::try_new(output, schema.clone(), Some(properties))
            .and_then(ArrowWriter::into_serialized_writer)
            .map_err(io_error)?;
        Ok(ParquetWriter {
            file,
            factory,
            schema: schema.clone(),
            by_runs: None,
            waiting: Vec::new(),
            n_waiting: 0,
            n_waiting_bytes: 0,
            columns: Vec::new(),
            n_group_rows: 0,
            n_groups: 0,
        })
    }

    /// Appends some rows.
    pub(super) fn write(&mut self, rows: &RunBatch) -> io::Result<()> {
        let texts = Texts::of(rows);
        let mut offset = 0;
        while offset < rows.n_rows() {
            let n_rows = (SLICE_ROWS - self.n_waiting).min(rows.n_rows() - offset);
            let n_fitting = texts.n_fitting(offset..offset + n_rows, self.n_waiting_bytes);
            let n_rows = n_fitting.max(usize::from(self.n_waiting == 0));
            if n_rows > 0 {
                self.waiting.push(rows.slice(offset, n_rows));
                self.n_waiting += n_rows;
                self.n_waiting_bytes += texts.n_bytes(offset..offset + n_rows);
                offset += n_rows;
            }
            // What does not fit begins the next slice, in whatever batch it comes.
            if offset < rows.n_rows() || self.n_waiting == SLICE_ROWS {
                self.write_waiting()?;
            }
        }
        // What waits must not keep all of its batch.
        if let Some(last) = self.waiting.last_mut()
            && last.n_rows() < rows.n_rows()
        {
            *last = last.shrunk().map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Writes the rows that wait, as one slice.
    fn write_waiting(&mut self) -> io::Result<()> {
        let n_rows = std::mem::take(&mut self.n_waiting);
        self.n_waiting_bytes = 0;
        let slice = std::mem::take(&mut self.waiting);
        if slice.is_empty() {
            return Ok(());
        }
        self.write_slice(&slice, n_rows).map_err(io_error)
    }

    /// Writes the footer.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.write_waiting()?;
        self.end_group().map_err(io_error)?;
        self.file.into_inner().map_err(io_error)
    }

    fn write_slice(&mut self, slice: &[RunBatch], n_rows: usize) -> Encoded<()> {
        if self.columns.is_empty() {
            self.columns = self.column_writers(slice)?;
        }
        let fields = self.schema.fields();
        let columns = self.columns.par_iter_mut().enumerate();
        columns.try_for_each(|(idx, column)| column.write(&fields[idx], slice, idx))?;
        self.n_group_rows += n_rows;
        let group_bytes: usize = self.columns.iter().map(ColumnWriter::memory_bytes).sum();
        if self.n_group_rows >= ROW_GROUP_ROWS || group_bytes >= ROW_GROUP_BYTES {
            self.end_group()?;
        }
        Ok(())
    }

    /// Writers for the columns of a row group that starts with a slice.
    fn column_writers(&mut self, slice: &[RunBatch]) -> Encoded<Vec<ColumnWriter>> {
        let first = &slice[0];
        let by_runs = self.by_runs.get_or_insert_with(|| {
            let comes_in_runs = |column: &RunColumn| {
                matches!(column, RunColumn::OfRuns(cells) if run_column::takes(cells.data_type()))
            };
            first.columns().iter().map(comes_in_runs).collect()
        });
        let leaves = self.factory.create_column_writers(self.n_groups)?;
        let descriptor = self.file.schema_descr();
        let mut columns: Vec<ColumnWriter> = Vec::with_capacity(by_runs.len());
        for (leaf_idx, leaf) in leaves.into_iter().enumerate() {
            let root_idx = descriptor.get_column_root_idx(leaf_idx);
            match columns.get_mut(root_idx) {
                Some(ColumnWriter::Rows(others)) => others.push(leaf),
                Some(ColumnWriter::Runs(_)) => unreachable!("what comes in runs is one leaf"),
                None if by_runs[root_idx] => {
                    let column = descriptor.column(leaf_idx);
                    columns.push(ColumnWriter::Runs(Box::new(RunColumnWriter::new(column))));
                }
                None => columns.push(ColumnWriter::Rows(vec![leaf])),
            }
        }
        Ok(columns)
    }

    fn end_group(&mut self) -> Encoded<()> {
        if self.n_group_rows == 0 {
            return Ok(());
        }
        let columns = std::mem::take(&mut self.columns);
        let chunks: Vec<ColumnChunk> =
            columns.into_par_iter().map(ColumnWriter::close).collect::<Encoded<_>>()?;
        let mut group = self.file.next_row_group()?;
        for chunk in chunks {
            match chunk {
                ColumnChunk::Runs(bytes, closed) => group.append_column(&bytes, *closed)?,
                ColumnChunk::Rows(leaves) => {
                    for leaf in leaves {
                        leaf.append_to_row_group(&mut group)?;
                    }
                }
            }
        }
        group.close()?;
        self.n_group_rows = 0;
        self.n_groups += 1;
        Ok(())
    }
}

/// The texts among the cells of some rows that are written row by row.
struct Texts<'a> {
    /// Where each begins and ends, column by column.
    offsets: Vec<&'a [i32]>,
}

impl<'a> Texts<'a> {
    fn of(rows: &'a RunBatch) -> Texts<'a> {
        let of_rows = rows.columns().iter().filter_map(|column| match column {
            RunColumn::OfRows(cells) => Some(cells),
            RunColumn::OfRuns(_) => None,
        });
        let offsets = of_rows.filter_map(|cells| match cells.data_type() {
            DataType::Utf8 => Some(cells.as_string::<i32>().value_offsets()),
            DataType::Binary => Some(cells.as_binary::<i32>().value_offsets()),
            _ => None,
        });
        Texts { offsets: offsets.collect() }
    }

    /// What those of some rows take.
    fn n_bytes(&self, rows: Range<usize>) -> usize {
        self.offsets.iter().map(|own| (own[rows.end] - own[rows.start]) as usize).sum()
    }

    /// How many of some rows fit in a slice beside so many bytes.
    fn n_fitting(&self, rows: Range<usize>, n_before: usize) -> usize {
        let fits =
            |n_rows: usize| n_before + self.n_bytes(rows.start..rows.start + n_rows) <= SLICE_BYTES;
        let (mut low, mut high) = (0, rows.len());
        while low < high {
            let middle = (low + high).div_ceil(2);
            match fits(middle) {
                true => low = middle,
                false => high = middle - 1,
            }
        }
        low
    }
}

/// A column of a row group that is being written.
enum ColumnWriter {
    Runs(Box<RunColumnWriter>),
    /// One writer for each leaf of the column's type.
    Rows(Vec<ArrowColumnWriter>),
}

/// The same when it is whole.
enum ColumnChunk {
    Runs(Bytes, Box<ColumnCloseResult>),
    Rows(Vec<ArrowColumnChunk>),
}

impl ColumnWriter {
    /// Appends the cells of a slice, which is some pieces.
    fn write(&mut self, field: &Field, slice: &[RunBatch], idx: usize) -> Encoded<()> {
        match self {
            ColumnWriter::Runs(writer) => {
                for piece in slice {
                    match &piece.columns()[idx] {
                        RunColumn::OfRuns(cells) => writer.write(cells, piece.run_rows())?,
                        RunColumn::OfRows(cells) => writer.write(cells, &vec![1; cells.len()])?,
                    }
                }
                writer.end_page()
            }
            ColumnWriter::Rows(writers) => {
                let pieces: Vec<ArrayRef> =
                    slice.iter().map(|piece| cells_of_rows(piece, idx)).collect::<Encoded<_>>()?;
                let cells = match &pieces[..] {
                    [one] => one.clone(),
                    several => {
                        let several: Vec<_> = several.iter().map(AsRef::as_ref).collect();
                        concat(&several)?
                    }
                };
                let leaves = compute_leaves(field, &cells)?;
                writers.iter_mut().zip(leaves).try_for_each(|(writer, leaf)| writer.write(&leaf))
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            ColumnWriter::Runs(writer) => writer.memory_bytes(),
            ColumnWriter::Rows(writers) => writers.iter().map(ArrowColumnWriter::memory_size).sum(),
        }
    }

    fn close(self) -> Encoded<ColumnChunk> {
        Ok(match self {
            ColumnWriter::Runs(writer) => {
                let (bytes, closed) = writer.close()?;
                ColumnChunk::Runs(bytes, Box::new(closed))
            }
            ColumnWriter::Rows(writers) => {
                let chunks = writers.into_iter().map(ArrowColumnWriter::close);
                ColumnChunk::Rows(chunks.collect::<Encoded<_>>()?)
            }
        })
    }
}

/// A cell for each row.
fn cells_of_rows(piece: &RunBatch, idx: usize) -> Encoded<ArrayRef> {
    Ok(match &piece.columns()[idx] {
        RunColumn::OfRows(cells) => cells.clone(),
        RunColumn::OfRuns(cells) => take(cells, &piece.run_of_rows(), None)?,
    })
}

/// Dictionaries of numbers end early: numbers that seldom repeat cost more time to look up than
/// their dictionary saves in bytes. Dictionaries of text keep the size that is usual.
///
/// Runs of equal rows need no dictionary, since the compression folds them; and where the order of
/// the runs is random, the bounds of a row group would tell a reader nothing.
fn properties(schema: &Schema, has_runs: bool) -> WriterProperties {
    let statistics = if has_runs { EnabledStatistics::None } else { EnabledStatistics::Chunk };
    let builder = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(statistics);
    let numbers = schema.fields().iter().filter(|field| field.data_type().is_primitive());
    let builder = numbers.fold(builder, |builder, field| {
        let column = ColumnPath::new(vec![field.name().clone()]);
        if has_runs {
            builder.set_column_dictionary_enabled(column, false)
        } else {
            builder.set_column_dictionary_page_size_limit(column, NUMBER_DICTIONARY_BYTES)
        }
    });
    builder.build()
}

/// Refuses types that Parquet does not have, before anything is written.
pub(super) fn check_types(schema: &Schema) -> Result<()> {
    use parquet::arrow::ArrowSchemaConverter;
    for field in schema.fields() {
        let alone = Schema::new(vec![field.clone()]);
        if ArrowSchemaConverter::new().convert(&alone).is_err() {
            return Err(TableError::Column {
                column: field.name().clone(),
                problem: format!("Parquet has no values of type {}", field.data_type()),
                hint: "convert the column, or leave it out".into(),
            });
        }
    }
    Ok(())
}

/// What the operating system said, if it was about the output; the encoder's words otherwise.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
