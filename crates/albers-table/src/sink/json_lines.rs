//! JSON Lines: one object per row, its keys in the order of the columns, ended by LF.
//!
//! Numbers and booleans are bare, everything else is text as in CSV, and a missing value is `null`.

use std::io::{self, Write};

use arrow_schema::Schema;

use super::csv::{Column, push_json_text};
use super::lines::{LineFormat, LineWriter};
use super::runs::RunBatch;

/// Lines of objects that are being written.
pub(super) struct JsonWriter<W> {
    output: W,
    /// What stands before the value of each column: its key, and the comma or brace before it.
    keys: Vec<Vec<u8>>,
    lines: LineWriter,
}

/// Values behind their keys.
struct JsonLines<'a> {
    keys: &'a [Vec<u8>],
}

impl LineFormat for JsonLines<'_> {
    #[inline]
    fn push_cell(&self, out: &mut Vec<u8>, column_idx: usize, column: &Column<'_>, place: usize) {
        out.extend_from_slice(&self.keys[column_idx]);
        column.push_json(out, place);
    }

    fn push_end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"}\n");
    }
}

impl<W: Write + Send> JsonWriter<W> {
    /// Starts a file, whose types were checked as those of text are.
    pub(super) fn new(output: W, schema: &Schema) -> JsonWriter<W> {
        let keys = schema.fields().iter().enumerate().map(|(idx, field)| {
            let mut key = vec![if idx == 0 { b'{' } else { b',' }];
            push_json_text(&mut key, field.name());
            key.push(b':');
            key
        });
        JsonWriter { output, keys: keys.collect(), lines: LineWriter::default() }
    }

    /// Appends some rows.
    pub(super) fn write(&mut self, rows: &RunBatch) -> io::Result<()> {
        self.lines.write(&mut self.output, rows, &JsonLines { keys: &self.keys })
    }

    /// What was written to.
    pub(super) fn into_output(self) -> W {
        self.output
    }
}
