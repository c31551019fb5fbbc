//! Where tables go.
//!
//! - `file`: a file, with its manifest and other texts in files beside it.
//! - `stream`: a stream, such as standard output.
//! - `batches`: record batches in memory.
//! - `runs`: rows on their way to a sink, run by run.
//! - `lines`: rows of text, whose runs are made once; `csv`, `cell`: cells between delimiters, and
//!   one value as text; `json_lines`: rows as objects.
//! - `parquet`: row groups of bounded size, columns encoded in parallel, runs as runs.
//!
//! ```text
//!   Sink ──begin, write, write_runs, ...──► seal ──► Sealed ──attach; name_all──► it is there
//! ```
//!
//! Nothing appears before [`name_all`], and a sink that is dropped or fails leaves nothing
//! behind.

mod batches;
pub(crate) mod cell;
mod csv;
mod file;
mod json_lines;
mod lines;
mod parquet;
mod runs;
mod stream;
#[cfg(test)]
mod tests;
mod writer;

use std::io::Write as _;
use std::path::Path;

use albers_storage::StorageError;
use albers_storage::output::{PackedOutput, SealedFile, Staged};
use arrow_array::{Array as _, RecordBatch};
use arrow_schema::{Schema, SchemaRef};

use crate::format::Format;
use crate::{Result, TableError};

pub use self::batches::{BatchSink, Collected};
pub use self::file::{FileSink, private_text, sealed_file};
pub use self::runs::{RunBatch, RunColumn};
pub use self::stream::StreamSink;

pub(crate) use self::csv::push_text;

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

    /// Whether intervals are two columns there, unless somebody asks for something else.
    fn shows_bounds(&self) -> bool {
        self.is_typed()
    }

    /// How the table is stored there, where texts may stand beside it; nothing where none can.
    fn format_beside(&self) -> Option<Format> {
        None
    }

    /// Starts the table. Called once, before any batch.
    fn begin(&mut self, schema: SchemaRef, options: WriteOptions) -> Result<()>;

    /// Takes the rows of a batch, whose columns must be those of the schema.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Takes rows that come in runs. A sink that has no use for runs takes them as a batch.
    fn write_runs(&mut self, rows: &RunBatch) -> Result<()> {
        self.write(&rows.expanded()?)
    }

    /// Ends the table, so that nothing but its appearance is missing.
    fn seal(self: Box<Self>) -> Result<Box<dyn Sealed>>;
}

/// A table that is whole but does not appear yet. Dropped before [`name_all`], it never does.
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

    /// Hands over the files that it consists of, which get their names with those of all others.
    fn files(&mut self) -> Vec<SealedFile> {
        Vec::new()
    }

    /// Lets appear what is in no file, before files get their names. If that fails, nothing of it
    /// stays, or the error says what.
    fn appear(&mut self) -> Result<()> {
        Ok(())
    }

    /// Takes back what [`Sealed::appear`] did. Says what could not be taken back.
    fn withdraw(&mut self) -> std::result::Result<(), String> {
        Ok(())
    }
}

/// Lets some tables appear, with all that belongs to them. If one cannot, none of them stays, and
/// what was there before is there again. Manifests come last, so that a process that is killed
/// leaves none without its table; streams come first, since their table is no whole one before.
pub fn name_all(mut tables: Vec<Box<dyn Sealed>>) -> Result<()> {
    let files = tables.iter_mut().flat_map(|table| table.files()).collect();
    let staged = Staged::of(files)?;
    let mut n_named = 0;
    let mut outcome = Ok(());
    for table in &mut tables {
        outcome = table.appear();
        if outcome.is_err() {
            break;
        }
        n_named += 1;
    }
    let named = outcome.and_then(|()| Ok(staged.name()?));
    let Err(source) = named else { return Ok(()) };
    // What was replaced cannot be had again once all is there, so all stays.
    if matches!(source, TableError::Storage(StorageError::OldStays { .. })) {
        return Err(source);
    }
    let named = tables[..n_named].iter_mut();
    let left: Vec<String> = named.filter_map(|table| table.withdraw().err()).collect();
    match left.is_empty() {
        true => Err(source),
        false => Err(TableError::Withdrawn { source: Box::new(source), left }),
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
            push_text(&mut text, cell.as_bytes(), b',');
        }
        text.push(b'\n');
    }
    let mut output = PackedOutput::create(path)?;
    output
        .write_all(&text)
        .map_err(|source| StorageError::Write { path: path.to_owned(), source })?;
    Ok(output.finish(path)?)
}

/// Refuses rows that are not a piece of the table: other columns, other types, or missing values in
/// a column that promised to have none.
fn check_columns(schema: &Schema, rows: &RunBatch) -> Result<()> {
    let given = rows.schema();
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
        if !field.is_nullable() && rows.columns()[idx].cells().logical_null_count() > 0 {
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
