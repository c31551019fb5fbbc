//! Tables as text, written and read by code of its own.

use std::fs::File;
use std::path::Path;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// A table of texts; an empty text is a missing cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Texts {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Texts {
    /// The places of a column, by name.
    pub fn place(&self, name: &str) -> usize {
        self.header.iter().position(|column| column == name).expect("the column is there")
    }
}

/// Writes records with this byte between fields.
pub fn write(path: &Path, delimiter: char, records: impl IntoIterator<Item = Vec<String>>) {
    let mut text = String::new();
    for record in records {
        let fields: Vec<String> = record.iter().map(|field| quoted(field, delimiter)).collect();
        let line = fields.join(&delimiter.to_string());
        // A lone empty field would be a blank line.
        text.push_str(if line.is_empty() { "\"\"" } else { &line });
        text.push('\n');
    }
    std::fs::write(path, text).expect("a temporary file can be written");
}

fn quoted(field: &str, delimiter: char) -> String {
    if field.contains([delimiter, '"', '\n', '\r']) || field.trim() != field {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// Reads a release.
pub fn read(path: &Path) -> Texts {
    if path.extension().is_some_and(|ending| ending == "parquet") {
        read_parquet(path)
    } else {
        read_csv(path)
    }
}

fn read_csv(path: &Path) -> Texts {
    let text = std::fs::read_to_string(path).expect("the release is UTF-8");
    let mut records = vec![vec![String::new()]];
    let mut in_quotes = false;
    let mut chars = text.chars().peekable();
    while let Some(letter) = chars.next() {
        let field = records.last_mut().and_then(|record| record.last_mut()).expect("one is open");
        match letter {
            '"' if in_quotes && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => in_quotes = !in_quotes,
            ',' if !in_quotes => records.last_mut().expect("one").push(String::new()),
            '\n' if !in_quotes => records.push(vec![String::new()]),
            letter => field.push(letter),
        }
    }
    assert!(!in_quotes, "a quote is never closed");
    assert_eq!(records.pop(), Some(vec![String::new()]), "the last line ends");
    let header = records.remove(0);
    assert!(records.iter().all(|record| record.len() == header.len()), "ragged rows");
    Texts { header, rows: records }
}

fn read_parquet(path: &Path) -> Texts {
    let file = File::open(path).expect("the release is there");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file");
    let header = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut rows = Vec::new();
    for batch in reader.build().expect("a reader") {
        let batch = batch.expect("a batch");
        for row in 0..batch.num_rows() {
            let cell = |column| arrow_cast::display::array_value_to_string(column, row);
            rows.push(batch.columns().iter().map(|column| cell(column).expect("text")).collect());
        }
    }
    Texts { header, rows }
}
