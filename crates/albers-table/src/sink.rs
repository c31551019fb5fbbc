//! Where tables go.
//!
//! - `file`: a file, with its manifest and other texts in files beside it.
//! - `stream`: a stream, such as standard output.
//! - `batches`: record batches in memory.
//! - `csv`, `cell`: rows of text, and one value as text.
//! - `parquet`: row groups of bounded size, columns encoded in parallel.
//!
//! ```text
//!   Sink ──begin, write, write, ...──► seal ──► Sealed ──attach, name──► it is there
//! ```
//!
//! Nothing appears before [`Sealed::name`], and a sink that is dropped or fails leaves nothing
//! behind.

mod batches;
pub(crate) mod cell;
mod csv;
mod file;
mod parquet;
mod stream;
#[cfg(test)]
mod tests;
mod writer;

use std::io::Write as _;
use std::path::Path;

use albers_storage::StorageError;
use albers_storage::output::PackedOutput;
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

use crate::format::Format;
use crate::{Result, TableError};

pub use self::batches::{BatchSink, Collected};
pub use self::file::{FileSink, private_text, sealed_file};
pub use self::stream::StreamSink;

/// What is known about a table that is to be written.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteOptions {
    /// The byte between the cells of text, where the format does not tell it.
    pub delimiter: Option<u8>,
    /// Whether equal rows follow each other, in no order that a reader could use.
    pub has_runs: bool,
}

/// Takes a table, batch by batch.
pub trait Sink: Send {
    /// What people call it: a path, or `standard output`.
    fn name(&self) -> &str;

    /// Whether cells keep their types there, so that numbers and bounds need not become text.
    fn is_typed(&self) -> bool;

    /// How the table is stored there, where texts may stand beside it; nothing where none can.
    fn format_beside(&self) -> Option<Format> {
        None
    }

    /// Starts the table. Called once, before any batch.
    fn begin(&mut self, schema: SchemaRef, options: WriteOptions) -> Result<()>;

    /// Takes the rows of a batch, whose columns must be those of the schema.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Ends the table, so that nothing but its appearance is missing.
    fn seal(self: Box<Self>) -> Result<Box<dyn Sealed>>;
}

/// A table that is whole but does not appear yet. Dropped before [`Sealed::name`], it never does.
pub trait Sealed: Send {
    /// The SHA-256 of the bytes that will appear, as hexadecimal digits; nothing where a table does
    /// not appear as bytes.
    fn digest(&self) -> Option<&str> {
        None
    }

    /// Takes texts that appear together with the table, before its manifest, at the places that the
    /// sink was given for them; a sink that keeps none drops them.
    fn attach_texts(&mut self, _texts: &[String]) -> Result<()> {
        Ok(())
    }

    /// Takes the manifest, which appears together with the table; a sink that keeps none drops it.
    fn attach(&mut self, _manifest: &str) -> Result<()> {
        Ok(())
    }

    /// Lets it appear. If that fails, nothing of it stays, or [`TableError::Withdrawn`] says what.
    fn name(&mut self) -> Result<()>;

    /// Takes back what has appeared. Says what could not be taken back.
    fn withdraw(&mut self) -> std::result::Result<(), String>;
}

/// Lets some tables appear, in their order. If one cannot, none of them stays: what belongs
/// together appears together. What cannot be taken back once it appeared comes last.
pub fn name_all(tables: Vec<Box<dyn Sealed>>) -> Result<()> {
    let mut named: Vec<Box<dyn Sealed>> = Vec::new();
    for mut table in tables {
        if let Err(fault) = table.name() {
            // What a table could not take back of itself is told together with the others.
            let (source, mut left, is_alone) = match fault {
                TableError::Withdrawn { source, left } => (source, left, false),
                other => (Box::new(other), Vec::new(), named.is_empty()),
            };
            left.extend(named.iter_mut().filter_map(|table| table.withdraw().err()));
            return Err(match is_alone {
                true => *source,
                false => TableError::Withdrawn { source, left },
            });
        }
        named.push(table);
    }
    Ok(())
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
            hint: "give every batch the columns that the table was started with".into(),
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
            hint: "give every batch the columns that the table was started with".into(),
        }),
    }
}
