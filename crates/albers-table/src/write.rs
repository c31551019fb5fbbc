//! Record batches to CSV and Parquet files.
//!
//! - `csv`: rows of text, packed on the way if the name ends in `.gz` or `.zst`.
//! - `cell`: one value as text, without an allocation.
//! - `parquet`: row groups of bounded size, columns encoded in parallel.
//!
//! ```text
//!   BatchWriter ─┬─ CsvWriter ───── PackedOutput ─┐
//!                └─ ParquetWriter ─ OutputFile ───┴─► temporary file ──rename──► target
//! ```
//!
//! Nothing appears under the target's name before [`BatchWriter::finish`] succeeds, and a writer
//! that is dropped or fails leaves no file behind.

mod cell;
mod csv;
mod parquet;

use std::io::Write as _;
use std::path::Path;

use albers_storage::StorageError;
use albers_storage::input::Packing;
use albers_storage::output::{PackedOutput, SealedFile};
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use crate::{Result, TableError};

use self::csv::CsvWriter;
use self::parquet::ParquetWriter;

/// How a table is written, told by the ending of its file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `.csv`, also `.csv.gz` and `.csv.zst`: cells between commas.
    Csv,
    /// `.tsv`, also `.tsv.gz` and `.tsv.zst`: cells between tabs.
    Tsv,
    /// `.parquet`
    Parquet,
}

impl Format {
    /// The format that the ending of `path` stands for; a name without a known ending is refused.
    pub fn of(path: &Path) -> Result<Format> {
        let packing = Packing::of(path);
        let unpacked = match packing {
            Packing::Plain => path.to_owned(),
            Packing::Gzip | Packing::Zstd => path.with_extension(""),
        };
        let ending = unpacked.extension().and_then(|ending| ending.to_str());
        match (ending.map(str::to_ascii_lowercase).as_deref(), packing) {
            (Some("csv"), _) => Ok(Format::Csv),
            (Some("tsv"), _) => Ok(Format::Tsv),
            (Some("parquet"), Packing::Plain) => Ok(Format::Parquet),
            (Some("parquet"), _) => Err(TableError::File {
                path: path.to_owned(),
                problem: "a Parquet file is not packed as a whole".to_owned(),
                hint: "end the name in .parquet; its columns are compressed anyway".to_owned(),
            }),
            _ => Err(TableError::File {
                path: path.to_owned(),
                problem: "the ending of the name does not tell how to write the table".to_owned(),
                hint: "end it in .csv, .csv.gz, .csv.zst, .tsv, .tsv.gz, .tsv.zst or .parquet"
                    .to_owned(),
            }),
        }
    }
}

/// What is known about a table that is to be written.
#[derive(Debug, Clone, Copy)]
pub struct WriteOptions {
    /// The byte between the cells of a `.csv` file; a comma when not given.
    pub delimiter: Option<u8>,
    /// Whether equal rows follow each other, in no order that a reader could use.
    pub has_runs: bool,
    /// A row group of a Parquet file ends when its encoded columns reach this size.
    pub group_bytes: usize,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions { delimiter: None, has_runs: false, group_bytes: 128 << 20 }
    }
}

/// A table that is being written, batch by batch.
pub struct BatchWriter {
    schema: SchemaRef,
    sink: Sink,
}

/// One variant per kind of file. Both are boxed: a writer lives long and moves rarely.
enum Sink {
    Csv(Box<CsvWriter>),
    Parquet(Box<ParquetWriter>),
}

impl BatchWriter {
    /// Starts a table with the columns of `schema`, in the format that the ending of `path` tells.
    pub fn create(path: &Path, schema: SchemaRef) -> Result<BatchWriter> {
        BatchWriter::create_with(path, schema, WriteOptions::default())
    }

    /// The same, with more known about the table.
    pub fn create_with(
        path: &Path,
        schema: SchemaRef,
        options: WriteOptions,
    ) -> Result<BatchWriter> {
        if path.is_dir() {
            return Err(StorageError::IsFolder { path: path.to_owned() }.into());
        }
        let sink = match Format::of(path)? {
            Format::Csv => {
                let delimiter = options.delimiter.unwrap_or(b',');
                Sink::Csv(Box::new(CsvWriter::create(path, &schema, delimiter)?))
            }
            Format::Tsv => Sink::Csv(Box::new(CsvWriter::create(path, &schema, b'\t')?)),
            Format::Parquet => {
                let writer = ParquetWriter::create(path, &schema, options)?;
                Sink::Parquet(Box::new(writer))
            }
        };
        Ok(BatchWriter { schema, sink })
    }

    /// Writes the rows of a batch, whose columns must be those of the schema.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        check_columns(&self.schema, batch)?;
        match &mut self.sink {
            Sink::Csv(writer) => writer.write(batch),
            Sink::Parquet(writer) => writer.write(batch),
        }
    }

    /// Ends the table and gives the file its name.
    pub fn finish(self) -> Result<()> {
        Ok(self.seal()?.name()?)
    }

    /// Ends the table, so that nothing but the name of its file is missing.
    pub fn seal(self) -> Result<SealedFile> {
        match self.sink {
            Sink::Csv(writer) => writer.seal(),
            Sink::Parquet(writer) => writer.seal(),
        }
    }
}

/// Writes rows of text without a header, cells between commas: the form of a hierarchy file.
pub fn write_rows(path: &Path, rows: &[Vec<String>]) -> Result<()> {
    let mut text = Vec::new();
    for row in rows {
        for (idx, cell) in row.iter().enumerate() {
            if idx > 0 {
                text.push(b',');
            }
            csv::push_text(&mut text, cell.as_bytes(), b',');
        }
        text.push(b'\n');
    }
    let mut output = PackedOutput::create(path)?;
    output
        .write_all(&text)
        .map_err(|source| StorageError::Write { path: path.to_owned(), source })?;
    Ok(output.finish(path)?)
}

/// Refuses a batch that is not a piece of the table: other columns, other types, or missing values
/// in a column that promised to have none.
fn check_columns(schema: &Schema, batch: &RecordBatch) -> Result<()> {
    let given = batch.schema_ref();
    for (idx, field) in schema.fields().iter().enumerate() {
        let wrong = |problem: &str| TableError::Column {
            column: field.name().clone(),
            problem: problem.to_owned(),
            hint: "give every batch the columns that the table was started with".to_owned(),
        };
        let Some(given) = given.fields().get(idx) else {
            return Err(wrong("a batch of rows lacks the column"));
        };
        if given.name() != field.name() || given.data_type() != field.data_type() {
            return Err(wrong("a batch of rows has another column in its place"));
        }
        if !field.is_nullable() && batch.column(idx).logical_null_count() > 0 {
            return Err(wrong("a value is missing where none may be"));
        }
    }
    match given.fields().get(schema.fields().len()) {
        None => Ok(()),
        Some(extra) => Err(TableError::Column {
            column: extra.name().clone(),
            problem: "the table was started without this column".to_owned(),
            hint: "give every batch the columns that the table was started with".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests;
