//! Parquet files: row groups of bounded size, Snappy, columns encoded in parallel.
//!
//! Guarantee: the bytes are a function of the rows and the options, whatever batches the rows came
//! in.
//! Memory: one row group, encoded, plus the batch at hand and up to a slice of rows before it.

use std::io::{self, Write};

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnWriter, ArrowLeafColumn, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use rayon::prelude::*;

use super::WriteOptions;
use crate::{Result, TableError};

/// A row group ends with the slice that brings it to this many rows, or its encoded columns to so
/// many bytes: no more than the least memory has room for.
const ROW_GROUP_ROWS: usize = 1 << 20;
const ROW_GROUP_BYTES: usize = 16 << 20;

/// Rows are written in slices of this many, so that neither bound is overshot by much, and so that
/// pages and row groups end where they end whatever the batches are. A row group is whole slices.
const SLICE_ROWS: usize = 1 << 16;

/// A dictionary of numbers ends when it reaches this size.
const NUMBER_DICTIONARY_BYTES: usize = 1 << 16;

/// A Parquet file that is being written.
pub(super) struct ParquetWriter<W: Write> {
    file: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// Fewer rows than a slice has, which wait for more.
    waiting: Vec<RecordBatch>,
    n_waiting: usize,
    /// The row group at hand: one writer per leaf column, and its rows so far.
    columns: Vec<ArrowColumnWriter>,
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
            waiting: Vec::new(),
            n_waiting: 0,
            columns: Vec::new(),
            n_group_rows: 0,
            n_groups: 0,
        })
    }

    /// Appends the rows of a batch.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let mut offset = 0;
        while offset < batch.num_rows() {
            let n_rows = (SLICE_ROWS - self.n_waiting).min(batch.num_rows() - offset);
            self.waiting.push(batch.slice(offset, n_rows));
            self.n_waiting += n_rows;
            offset += n_rows;
            if self.n_waiting == SLICE_ROWS {
                self.write_waiting()?;
            }
        }
        // What waits must not keep all of its batch.
        if let Some(last) = self.waiting.last_mut()
            && last.num_rows() < batch.num_rows()
        {
            *last = concat_batches(&self.schema, [&*last]).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Writes the rows that wait, as one slice.
    fn write_waiting(&mut self) -> io::Result<()> {
        self.n_waiting = 0;
        let slice = match &std::mem::take(&mut self.waiting)[..] {
            [] => return Ok(()),
            [one] => one.clone(),
            several => concat_batches(&self.schema, several).map_err(io::Error::other)?,
        };
        self.write_slice(&slice).map_err(io_error)
    }

    /// Writes the footer.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.write_waiting()?;
        self.end_group().map_err(io_error)?;
        self.file.into_inner().map_err(io_error)
    }

    fn write_slice(&mut self, slice: &RecordBatch) -> std::result::Result<(), ParquetError> {
        if self.columns.is_empty() {
            self.columns = self.factory.create_column_writers(self.n_groups)?;
        }
        let mut leaves: Vec<ArrowLeafColumn> = Vec::with_capacity(self.columns.len());
        for (field, column) in self.schema.fields().iter().zip(slice.columns()) {
            leaves.extend(compute_leaves(field, column)?);
        }
        self.columns
            .par_iter_mut()
            .zip(leaves)
            .try_for_each(|(column, leaf)| column.write(&leaf))?;
        self.n_group_rows += slice.num_rows();
        let group_bytes: usize = self.columns.iter().map(ArrowColumnWriter::memory_size).sum();
        if self.n_group_rows >= ROW_GROUP_ROWS || group_bytes >= ROW_GROUP_BYTES {
            self.end_group()?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> std::result::Result<(), ParquetError> {
        if self.n_group_rows == 0 {
            return Ok(());
        }
        let columns = std::mem::take(&mut self.columns);
        let chunks: Vec<_> = columns
            .into_par_iter()
            .map(ArrowColumnWriter::close)
            .collect::<std::result::Result<_, ParquetError>>()?;
        let mut group = self.file.next_row_group()?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
        self.n_group_rows = 0;
        self.n_groups += 1;
        Ok(())
    }
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
