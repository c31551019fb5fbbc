//! What the published cells of each column look like, told as they are written.
//!
//! ```text
//!   door ──runs──► ToldSink ──runs──► sink
//!                      │
//!                  ToldCells: types, missing values, an example of each column
//! ```
//!
//! Guarantee: what is told is a function of the cells that are published, in their order, and of
//! how
//! they are stored.
//! Cost: a look at each cell that a class shows, and at each that rows have, columns in parallel.

use std::sync::{Arc, Mutex};

use albers_release::publish::{CellCounts, Typing};
use albers_table::Result as TableResult;
use albers_table::format::Format;
use albers_table::schema::ColumnType;
use albers_table::sink::{RunBatch, Sealed, Sink, WriteOptions};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, SchemaRef};
use rayon::prelude::*;

use super::cells::{self, Cell};

/// Names of a column that are remembered, to see how its hierarchy file is to be read.
const MAX_KNOWN: usize = 64;

/// What the recipes of a column show themselves on: the first cell that has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Example {
    /// The least value or name of the cell, and the greatest, or the same.
    pub(crate) low: String,
    pub(crate) high: String,
}

/// What a codebook needs to know of the cells of a release, shared with the sink that sees them.
#[derive(Clone)]
pub(crate) struct Told(Arc<Mutex<ToldCells>>);

/// What was seen of all columns of the file.
#[derive(Debug, Clone)]
pub(crate) struct ToldCells {
    /// How the release is stored.
    pub(crate) format: Format,
    /// What stands between the cells of text.
    pub(crate) delimiter: Option<char>,
    /// The columns of the file.
    pub(crate) columns: Vec<ToldColumn>,
    /// The quasi-identifiers, whose cells have a notation.
    quasi: Vec<String>,
}

/// What was seen of one column of the file.
#[derive(Debug, Clone)]
pub(crate) struct ToldColumn {
    /// Its name.
    pub(crate) name: String,
    look: Look,
    /// Whether a cell is missing, or shows the missing value beside others, or says `true`.
    pub(crate) has_missing: bool,
    pub(crate) shows_missing: bool,
    pub(crate) has_true: bool,
    /// Whether a cell is `*`.
    pub(crate) has_any: bool,
    /// The first cell with a value.
    pub(crate) example: Option<Example>,
    /// Names that it shows, the first ones.
    pub(crate) known: Vec<String>,
}

/// How the type of a column is told.
#[derive(Debug, Clone)]
enum Look {
    /// By its type in the file; told by text only if there is a cell.
    Stored(ColumnType, bool),
    /// By its texts, of which those of quasi-identifiers have a notation.
    Texts(Box<CellCounts>),
    Notation(Box<CellCounts>),
    /// Nothing more to see.
    Text,
}

impl Told {
    /// Of a release that is stored in a format, before anything is published.
    pub(crate) fn of_nothing(format: Format, quasi: Vec<String>) -> Told {
        let cells = ToldCells { format, delimiter: None, columns: Vec::new(), quasi };
        Told(Arc::new(Mutex::new(cells)))
    }

    /// What was seen.
    pub(crate) fn cells(&self) -> ToldCells {
        self.0.lock().expect("no thread panics while it looks").clone()
    }
}

impl ToldCells {
    /// What was seen of a column of the file.
    pub(crate) fn column(&self, name: &str) -> Option<&ToldColumn> {
        self.columns.iter().find(|own| own.name == name)
    }

    fn begin(&mut self, schema: &SchemaRef, options: WriteOptions) {
        self.delimiter = match self.format {
            Format::Csv => Some(options.delimiter.map_or(',', char::from)),
            Format::Tsv => Some('\t'),
            Format::Parquet | Format::JsonLines | Format::Sheet => None,
        };
        let is_quasi = |field: &Field| self.quasi.contains(field.name());
        let columns = schema.fields().iter();
        self.columns = columns.map(|own| ToldColumn::of(own, self.format, is_quasi(own))).collect();
    }

    /// Looks at some rows: at what runs show once.
    fn add(&mut self, rows: &RunBatch) {
        let columns = self.columns.par_iter_mut().zip(rows.columns());
        columns.for_each(|(column, own)| column.add(own.cells()));
    }
}

impl ToldColumn {
    fn of(field: &Field, format: Format, is_quasi: bool) -> ToldColumn {
        let counts = Box::new(CellCounts::nothing());
        let look = match field.data_type() {
            DataType::Utf8 if is_quasi => Look::Notation(counts),
            DataType::Utf8 => Look::Texts(counts),
            // Whether a float is shown with an exponent is seen in its text.
            DataType::Float32 | DataType::Float64 if !format.is_typed() => Look::Texts(counts),
            stored => Look::Stored(stored_type(stored), format.is_typed()),
        };
        ToldColumn {
            name: field.name().clone(),
            look,
            has_missing: false,
            shows_missing: false,
            has_true: false,
            has_any: false,
            example: None,
            known: Vec::new(),
        }
    }

    /// The type that the cells tell; nothing where there is none.
    pub(crate) fn column_type(&self) -> Option<ColumnType> {
        match &self.look {
            Look::Stored(column_type, is_told) => is_told.then_some(*column_type),
            Look::Texts(counts) | Look::Notation(counts) => counts.column_type(),
            Look::Text => Some(ColumnType::Text),
        }
    }

    fn add(&mut self, array: &ArrayRef) {
        let n_missing = array.logical_null_count();
        self.has_missing |= n_missing > 0;
        if n_missing == array.len() {
            return;
        }
        if let Some(flags) = array.as_boolean_opt() {
            self.has_true |= flags.true_count() > 0;
        }
        match &mut self.look {
            Look::Notation(_) => self.add_notation(array),
            Look::Texts(counts) => {
                match array.as_string_opt::<i32>() {
                    Some(_) => counts.add(&CellCounts::of(array, Typing::ByCells(None))),
                    None => add_floats(counts, array),
                }
                if counts.column_type() == Some(ColumnType::Text) {
                    self.look = Look::Text;
                }
                self.add_example(array);
            }
            Look::Stored(_, is_told) => {
                *is_told = true;
                self.add_example(array);
            }
            Look::Text => {}
        }
    }

    /// Keeps the first cell with a value.
    fn add_example(&mut self, array: &ArrayRef) {
        if self.example.is_some() {
            return;
        }
        let first = (0..array.len()).find(|&row| array.is_valid(row));
        let options = FormatOptions::new().with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"));
        let formatter = ArrayFormatter::try_new(array, &options).ok();
        let text = first.zip(formatter).map(|(row, own)| own.value(row).to_string());
        self.example = text.map(|text| Example { low: text.clone(), high: text });
    }

    fn add_notation(&mut self, array: &ArrayRef) {
        let mut last = None;
        for text in array.as_string::<i32>().iter().flatten() {
            // The rows of a class show the same, one after another.
            if last == Some(text) {
                continue;
            }
            last = Some(text);
            let (cell, with_missing) = cells::read(text);
            self.shows_missing |= with_missing;
            self.add_cell(&cell);
        }
    }

    fn add_cell(&mut self, cell: &Cell<'_>) {
        match cell {
            Cell::Any => self.has_any = true,
            Cell::Interval(lo, hi) => {
                self.add_value(lo);
                self.add_value(hi);
                self.example = self.example.take().or(example_of(lo, hi));
            }
            Cell::Name(name) => {
                self.add_value(name);
                if self.example.is_none() {
                    self.example = Some(Example { low: name.clone(), high: name.clone() });
                }
                if self.known.len() < MAX_KNOWN && !self.known.contains(name) {
                    self.known.push(name.clone());
                }
            }
            Cell::Set(members) => members.iter().for_each(|member| self.add_cell(member)),
        }
    }

    fn add_value(&mut self, value: &str) {
        if let Look::Notation(counts) = &mut self.look
            && !matches!(value, "-inf" | "inf")
        {
            counts.add_text(value.trim_end_matches('*'));
        }
    }
}

/// What to look for in an interval: its ends, or the only one that it has, of numbers.
fn example_of(lo: &str, hi: &str) -> Option<Example> {
    let is_open = |end: &str| matches!(end, "-inf" | "inf");
    let (low, high) = match (is_open(lo), is_open(hi)) {
        (false, false) => (lo, hi),
        (true, false) => (hi, hi),
        (false, true) => (lo, lo),
        (true, true) => return None,
    };
    let is_looked_for = (low, high) == (lo, hi) || low.parse::<f64>().is_ok();
    is_looked_for.then(|| Example { low: low.to_owned(), high: high.to_owned() })
}

fn add_floats(counts: &mut CellCounts, array: &ArrayRef) {
    // As a sink of text writes them.
    if let Some(floats) = array.as_primitive_opt::<arrow_array::types::Float64Type>() {
        floats.iter().flatten().for_each(|float| counts.add_text(&format!("{float:?}")));
    } else if let Some(floats) = array.as_primitive_opt::<arrow_array::types::Float32Type>() {
        floats.iter().flatten().for_each(|float| counts.add_text(&format!("{float:?}")));
    }
}

/// What a type of Arrow holds.
fn stored_type(stored: &DataType) -> ColumnType {
    match stored {
        own if own.is_integer() => ColumnType::Integer,
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) if *scale <= 0 => {
            ColumnType::Integer
        }
        DataType::Decimal128(..) | DataType::Decimal256(..) => ColumnType::Decimal,
        own if own.is_floating() => ColumnType::Float,
        DataType::Date32 | DataType::Date64 => ColumnType::Date,
        DataType::Timestamp(..) => ColumnType::Timestamp,
        DataType::Boolean => ColumnType::Boolean,
        _ => ColumnType::Text,
    }
}

/// A sink that looks at what goes through it.
pub(crate) struct ToldSink {
    sink: Box<dyn Sink>,
    told: Told,
}

impl ToldSink {
    /// Around another one.
    pub(crate) fn around(sink: Box<dyn Sink>, told: &Told) -> Box<dyn Sink> {
        Box::new(ToldSink { sink, told: told.clone() })
    }
}

impl Sink for ToldSink {
    fn name(&self) -> &str {
        self.sink.name()
    }

    fn is_typed(&self) -> bool {
        self.sink.is_typed()
    }

    fn shows_bounds(&self) -> bool {
        self.sink.shows_bounds()
    }

    fn format_beside(&self) -> Option<Format> {
        self.sink.format_beside()
    }

    fn begin(&mut self, schema: SchemaRef, options: WriteOptions) -> TableResult<()> {
        self.told.0.lock().expect("no thread panics while it looks").begin(&schema, options);
        self.sink.begin(schema, options)
    }

    fn write(&mut self, batch: &RecordBatch) -> TableResult<()> {
        self.write_runs(&RunBatch::of_rows(batch))
    }

    fn write_runs(&mut self, rows: &RunBatch) -> TableResult<()> {
        self.told.0.lock().expect("no thread panics while it looks").add(rows);
        self.sink.write_runs(rows)
    }

    fn seal(self: Box<Self>) -> TableResult<Box<dyn Sealed>> {
        self.sink.seal()
    }
}
