//! A table on its way to any output of bytes, in any format.

use std::io::{self, Write};

use arrow_schema::SchemaRef;

use super::csv::{self, CsvWriter};
use super::json_lines::JsonWriter;
use super::parquet::{self, ParquetWriter};
use super::runs::RunBatch;
use super::{WriteOptions, check_columns};
use crate::Result;
use crate::format::Format;

/// A table that is being written to `W`.
pub(super) struct TableWriter<W: Write> {
    schema: SchemaRef,
    rows: RowWriter<W>,
}

/// One variant per kind of bytes. All are boxed: a writer lives long and moves rarely.
enum RowWriter<W: Write> {
    Csv(Box<CsvWriter<W>>),
    Json(Box<JsonWriter<W>>),
    Parquet(Box<ParquetWriter<W>>),
}

/// Refuses types that the format does not have, before anything is written.
pub(super) fn check_types(format: Format, schema: &SchemaRef) -> Result<()> {
    match format {
        Format::Csv | Format::Tsv | Format::JsonLines => csv::check_types(schema),
        Format::Parquet => parquet::check_types(schema),
        Format::Sheet => Ok(format.check_written("the release").map(|_| ())?),
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
            Format::JsonLines => RowWriter::Json(Box::new(JsonWriter::new(output, &schema))),
            Format::Sheet => unreachable!("the types of what is written were checked"),
            Format::Parquet => {
                RowWriter::Parquet(Box::new(ParquetWriter::new(output, &schema, options)?))
            }
        };
        Ok(TableWriter { schema, rows })
    }

    /// Writes some rows; `fault` names the output where an error is about it.
    pub(super) fn write(
        &mut self,
        rows: &RunBatch,
        fault: impl FnOnce(io::Error) -> albers_storage::StorageError,
    ) -> Result<()> {
        check_columns(&self.schema, rows)?;
        let written = match &mut self.rows {
            RowWriter::Csv(writer) => writer.write(rows),
            RowWriter::Json(writer) => writer.write(rows),
            RowWriter::Parquet(writer) => writer.write(rows),
        };
        Ok(written.map_err(fault)?)
    }

    /// Ends the table, and gives back the output.
    pub(super) fn finish(self) -> io::Result<W> {
        match self.rows {
            RowWriter::Csv(writer) => Ok(writer.into_output()),
            RowWriter::Json(writer) => Ok(writer.into_output()),
            RowWriter::Parquet(writer) => writer.finish(),
        }
    }
}
