//! Where tables go.
//!
//! ```text
//!   Sink ──begin, write, write, ...──► seal ──► Sealed ──name──► it is there
//! ```
//!
//! Nothing appears before [`Sealed::name`], and a sink that is dropped or fails leaves nothing
//! behind.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::Result;

/// What is known about a table that is to be written.
#[derive(Debug, Clone, Copy)]
pub struct WriteOptions {
    /// The byte between the cells of text, where the format does not tell it.
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

/// Takes a table, batch by batch.
pub trait Sink: Send {
    /// What people call it: a path, or `standard output`.
    fn name(&self) -> &str;

    /// Whether cells keep their types there, so that numbers and bounds need not become text.
    fn is_typed(&self) -> bool;

    /// Starts the table. Called once, before any batch.
    fn begin(&mut self, schema: SchemaRef, options: WriteOptions) -> Result<()>;

    /// Takes the rows of a batch, whose columns must be those of the schema.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Ends the table, so that nothing but its appearance is missing. The manifest goes where this
    /// sink keeps it, if it keeps one.
    fn seal(self: Box<Self>, manifest: &str) -> Result<Box<dyn Sealed>>;
}

/// A table that is whole but does not appear yet. Dropped before [`Sealed::name`], it never does.
pub trait Sealed: Send {
    /// Lets it appear.
    fn name(&mut self) -> Result<()>;

    /// Takes back what has appeared. Says what could not be taken back.
    fn withdraw(&mut self) -> std::result::Result<(), String>;
}
