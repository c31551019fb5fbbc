//! How to add a sink: implement `Sink`, and hand it to any command that publishes.
//!
//! This one keeps a release as lines of JSON. It has to keep two promises: nothing appears before
//! `Sealed::name`, and nothing stays if it is dropped before.

mod accept;

use std::sync::{Arc, Mutex};

use albers::sink::{Sealed, Sink, WriteOptions};
use albers::source::{ReadOptions, StreamSource};
use albers::{Job, Role, Silent, TableError, anonymize};
use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::SchemaRef;

/// Where lines appear: all of them, or none.
type Appeared = Arc<Mutex<Vec<String>>>;

#[derive(Default)]
struct JsonLines {
    lines: Vec<String>,
    appeared: Appeared,
}

impl Sink for JsonLines {
    fn name(&self) -> &str {
        "lines of JSON"
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn begin(&mut self, _schema: SchemaRef, _options: WriteOptions) -> Result<(), TableError> {
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        let options = FormatOptions::new();
        for row in 0..batch.num_rows() {
            let mut line = serde_json::Map::new();
            for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                let cell = ArrayFormatter::try_new(column, &options).expect("cells can be shown");
                line.insert(field.name().clone(), cell.value(row).to_string().into());
            }
            self.lines.push(serde_json::to_string(&line).expect("a map of texts"));
        }
        Ok(())
    }

    fn seal(self: Box<Self>) -> Result<Box<dyn Sealed>, TableError> {
        Ok(self)
    }
}

impl Sealed for JsonLines {
    fn appear(&mut self) -> Result<(), TableError> {
        *self.appeared.lock().expect("nobody panics with it") = std::mem::take(&mut self.lines);
        Ok(())
    }

    fn withdraw(&mut self) -> Result<(), String> {
        self.appeared.lock().expect("nobody panics with it").clear();
        Ok(())
    }
}

#[test]
fn a_new_sink_takes_releases_and_shows_nothing_of_one_that_is_refused() {
    let text = "age,pay\n".to_owned() + &"30,1\n31,2\n50,1\n52,2\n".repeat(5);
    for (k, n_lines) in [(5, 20), (50, 0)] {
        let reader = Box::new(std::io::Cursor::new(text.clone().into_bytes()));
        let source = StreamSource::text(reader, "people", None, &ReadOptions::default()).unwrap();
        let mut job = Job { k: Some(k), accept: accept::all(), ..Job::default() };
        job.set_role("age", Role::Quasi).unwrap();
        job.set_role("pay", Role::Keep).unwrap();
        let sink = JsonLines::default();
        let appeared = Arc::clone(&sink.appeared);
        let outcome = anonymize(&job, &source, vec![Box::new(sink)], &Silent);
        assert_eq!(outcome.is_ok(), n_lines > 0);
        let lines = appeared.lock().unwrap();
        assert_eq!(lines.len(), n_lines);
        assert!(
            lines.iter().all(|line| line.contains("\"age_min\":") && line.contains("\"pay\":"))
        );
    }
}
