//! A table as record batches in memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::{RunBatch, Sealed, Sink, WriteOptions, check_columns};
use crate::Result;

/// Keeps the batches of a table.
pub struct BatchSink {
    schema: Option<SchemaRef>,
    batches: Vec<RecordBatch>,
    collected: Arc<Mutex<Appeared>>,
}

/// Where the batches are once the table has appeared.
#[derive(Clone)]
pub struct Collected {
    appeared: Arc<Mutex<Appeared>>,
}

#[derive(Default)]
struct Appeared {
    schema: Option<SchemaRef>,
    batches: Vec<RecordBatch>,
    manifest: Option<String>,
}

impl BatchSink {
    /// A sink, and where its batches will be.
    pub fn new() -> (BatchSink, Collected) {
        let appeared = Arc::new(Mutex::new(Appeared::default()));
        let sink = BatchSink { schema: None, batches: Vec::new(), collected: appeared.clone() };
        (sink, Collected { appeared })
    }
}

impl Collected {
    /// The batches; none before the table is named, and none the second time.
    pub fn take(&self) -> Vec<RecordBatch> {
        std::mem::take(&mut lock(&self.appeared).batches)
    }

    /// The columns; nothing before the table is named.
    pub fn schema(&self) -> Option<SchemaRef> {
        lock(&self.appeared).schema.clone()
    }

    /// The manifest; nothing before the table is named.
    pub fn manifest(&self) -> Option<String> {
        lock(&self.appeared).manifest.clone()
    }
}

fn lock(appeared: &Mutex<Appeared>) -> MutexGuard<'_, Appeared> {
    // A poisoned lock still guards a usable table: it is replaced as a whole.
    appeared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sink for BatchSink {
    fn name(&self) -> &str {
        "the record batches"
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn begin(&mut self, schema: SchemaRef, _options: WriteOptions) -> Result<()> {
        self.schema = Some(schema);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let schema = self.schema.as_ref().expect("a table begins before its rows");
        check_columns(schema, &RunBatch::of_rows(batch))?;
        self.batches.push(batch.clone());
        Ok(())
    }

    fn seal(self: Box<Self>) -> Result<Box<dyn Sealed>> {
        assert!(self.schema.is_some(), "a table begins before it ends");
        let waiting = Appeared { schema: self.schema, batches: self.batches, manifest: None };
        Ok(Box::new(SealedBatches { waiting: Some(waiting), collected: self.collected }))
    }
}

/// Batches that wait to appear.
struct SealedBatches {
    waiting: Option<Appeared>,
    collected: Arc<Mutex<Appeared>>,
}

impl Sealed for SealedBatches {
    fn attach(&mut self, manifest: &str) -> Result<()> {
        if let Some(waiting) = &mut self.waiting {
            waiting.manifest = Some(manifest.to_owned());
        }
        Ok(())
    }

    fn appear(&mut self) -> Result<()> {
        if let Some(waiting) = self.waiting.take() {
            *lock(&self.collected) = waiting;
        }
        Ok(())
    }

    fn withdraw(&mut self) -> std::result::Result<(), String> {
        *lock(&self.collected) = Appeared::default();
        Ok(())
    }
}
