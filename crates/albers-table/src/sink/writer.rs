//! A table on its way to any output of bytes, in any format.

use std::io::{self, Write};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::csv::{self, CsvWriter};
use super::parquet::{self, ParquetWriter};
use super::{WriteOptions, check_columns};
use crate::Result;
use crate::format::Format;

/// A table that is being written to `W`.
pub(super) struct TableWriter<W: Write> {
    schema: SchemaRef,
    rows: RowWriter<W>,
}

/// One variant per kind of bytes. Both are boxed: a writer lives long and moves rarely.
enum RowWriter<W: Write> {
    Csv(Box<CsvWriter<W>>),
    Parquet(Box<ParquetWriter<W>>),
}

/// Refuses types that the format does not have, before anything is written.
pub(super) fn check_types(format: Format, schema: &SchemaRef) -> Result<()> {
    match format {
        Format::Csv | Format::Tsv => csv::check_types(schema),
        Format::Parquet => parquet::check_types(schema),
    }
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a table whose types were checked.
    pub(super) fn new(
        output: W,
        format: Format,
        schema: SchemaRef,
        options: WriteOptions,
    ) -> io::Result<TableWriter<W>> {
        let text = |output, delimiter| {
            CsvWriter::new(output, &schema, delimiter).map(|csv| RowWriter::Csv(Box::new(csv)))
        };
        let rows = match format {
            Format::Csv => text(output, options.delimiter.unwrap_or(b','))?,
            Format::Tsv => text(output, b'\t')?,
            Format::Parquet => {
                RowWriter::Parquet(Box::new(ParquetWriter::new(output, &schema, options)?))
            }
        };
        Ok(TableWriter { schema, rows })
    }

    /// Writes the rows of a batch; `fault` names the output where an error is about it.
    pub(super) fn write(
        &mut self,
        batch: &RecordBatch,
        fault: impl FnOnce(io::Error) -> albers_storage::StorageError,
    ) -> Result<()> {
        check_columns(&self.schema, batch)?;
        let written = match &mut self.rows {
            RowWriter::Csv(writer) => writer.write(batch),
            RowWriter::Parquet(writer) => writer.write(batch),
        };
        Ok(written.map_err(fault)?)
    }

    /// Ends the table, and gives back the output.
    pub(super) fn finish(self) -> io::Result<W> {
        match self.rows {
            RowWriter::Csv(writer) => Ok(writer.into_output()),
            RowWriter::Parquet(writer) => writer.finish(),
        }
    }
}
