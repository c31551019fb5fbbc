//! Rows of text: a header, then one line per row, ended by LF, quoted as RFC 4180 says where
//! needed.
//!
//! A missing value is an empty cell, an empty text is `""`, so that the two stay apart. In a table
//! of one column a missing value is `""` too: readers skip empty lines.

use std::io::{self, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, BooleanArray, LargeStringArray, PrimitiveArray, StringArray, StringViewArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Schema, TimeUnit};

use super::cell;
use super::lines::{LineFormat, LineWriter};
use super::runs::RunBatch;
use crate::{Result, TableError};

const MILLISECONDS_PER_DAY: i64 = 86_400_000;

/// Refuses types that have no text, before anything is written.
pub(super) fn check_types(schema: &Schema) -> Result<()> {
    for field in schema.fields() {
        if !is_writable(field.data_type()) {
            return Err(TableError::Column {
                column: field.name().clone(),
                problem: format!("values of type {} have no text form", field.data_type()),
                hint: "write a .parquet file, or leave the column out".into(),
            });
        }
    }
    Ok(())
}

/// A text that is being written.
pub(super) struct CsvWriter<W> {
    output: W,
    delimiter: u8,
    lines: LineWriter,
}

/// Cells between delimiters.
struct CsvLines {
    delimiter: u8,
    missing: &'static [u8],
}

impl LineFormat for CsvLines {
    #[inline]
    fn push_cell(&self, out: &mut Vec<u8>, column_idx: usize, column: &Column<'_>, place: usize) {
        if column_idx > 0 {
            out.push(self.delimiter);
        }
        if column.nulls.as_ref().is_some_and(|nulls| nulls.is_null(place)) {
            out.extend_from_slice(self.missing);
        } else {
            column.cells.push(out, place, self.delimiter);
        }
    }

    fn push_end(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
    }
}

impl<W: Write + Send> CsvWriter<W> {
    /// Starts the text with its header, whose types were checked.
    pub(super) fn new(mut output: W, schema: &Schema, delimiter: u8) -> io::Result<CsvWriter<W>> {
        let mut header = Vec::new();
        for (idx, field) in schema.fields().iter().enumerate() {
            if idx > 0 {
                header.push(delimiter);
            }
            push_text(&mut header, field.name().as_bytes(), delimiter);
        }
        header.push(b'\n');
        output.write_all(&header)?;
        Ok(CsvWriter { output, delimiter, lines: LineWriter::default() })
    }

    /// Appends some rows.
    pub(super) fn write(&mut self, rows: &RunBatch) -> io::Result<()> {
        // Readers skip an empty line, so the only column has no empty cells.
        let missing: &[u8] = if rows.columns().len() == 1 { b"\"\"" } else { b"" };
        let format = CsvLines { delimiter: self.delimiter, missing };
        self.lines.write(&mut self.output, rows, &format)
    }

    /// What was written to.
    pub(super) fn into_output(self) -> W {
        self.output
    }
}

/// The values of a column of some rows or runs.
pub(super) struct Column<'a> {
    nulls: Option<NullBuffer>,
    cells: Cells<'a>,
}

impl Column<'_> {
    /// Appends the value of a row as JSON: numbers and booleans as they are, all else as text.
    pub(super) fn push_json(&self, out: &mut Vec<u8>, row: usize) {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            out.extend_from_slice(b"null");
            return;
        }
        let is_bare = match &self.cells {
            Cells::Text(values) => return push_json_text(out, values.value(row)),
            Cells::LargeText(values) => return push_json_text(out, values.value(row)),
            Cells::TextView(values) => return push_json_text(out, values.value(row)),
            Cells::Date32(_) | Cells::Date64(_) | Cells::Timestamp { .. } => false,
            // JSON has no infinities.
            Cells::Float32(values) => values[row].is_finite(),
            Cells::Float64(values) => values[row].is_finite(),
            _ => true,
        };
        if !is_bare {
            out.push(b'"');
        }
        self.cells.push(out, row, b',');
        if !is_bare {
            out.push(b'"');
        }
    }
}

/// Appends a text as JSON.
pub(super) fn push_json_text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a buffer takes all");
}

enum Cells<'a> {
    Null,
    Boolean(&'a BooleanArray),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    UInt8(&'a [u8]),
    UInt16(&'a [u16]),
    UInt32(&'a [u32]),
    UInt64(&'a [u64]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    Decimal32(&'a [i32], i8),
    Decimal64(&'a [i64], i8),
    Decimal128(&'a [i128], i8),
    Decimal256(&'a PrimitiveArray<Decimal256Type>, i8),
    Date32(&'a [i32]),
    Date64(&'a [i64]),
    Timestamp { ticks: &'a [i64], ticks_per_second: i64, is_zoned: bool },
    Text(&'a StringArray),
    LargeText(&'a LargeStringArray),
    TextView(&'a StringViewArray),
}

/// Whether [`Column::of`] knows the type.
fn is_writable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => {
            is_writable(values) && !matches!(**values, DataType::Dictionary(..))
        }
        DataType::Null | DataType::Boolean => true,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Float16 => false,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => true,
        other => other.is_numeric(),
    }
}

impl<'a> Column<'a> {
    /// The values of an array whose type [`is_writable`], and no dictionary.
    pub(super) fn of(array: &'a dyn Array) -> Column<'a> {
        let cells = match array.data_type() {
            DataType::Null => Cells::Null,
            DataType::Boolean => Cells::Boolean(array.as_boolean()),
            DataType::Int8 => Cells::Int8(array.as_primitive::<Int8Type>().values()),
            DataType::Int16 => Cells::Int16(array.as_primitive::<Int16Type>().values()),
            DataType::Int32 => Cells::Int32(array.as_primitive::<Int32Type>().values()),
            DataType::Int64 => Cells::Int64(array.as_primitive::<Int64Type>().values()),
            DataType::UInt8 => Cells::UInt8(array.as_primitive::<UInt8Type>().values()),
            DataType::UInt16 => Cells::UInt16(array.as_primitive::<UInt16Type>().values()),
            DataType::UInt32 => Cells::UInt32(array.as_primitive::<UInt32Type>().values()),
            DataType::UInt64 => Cells::UInt64(array.as_primitive::<UInt64Type>().values()),
            DataType::Float32 => Cells::Float32(array.as_primitive::<Float32Type>().values()),
            DataType::Float64 => Cells::Float64(array.as_primitive::<Float64Type>().values()),
            DataType::Decimal32(_, scale) => {
                Cells::Decimal32(array.as_primitive::<Decimal32Type>().values(), *scale)
            }
            DataType::Decimal64(_, scale) => {
                Cells::Decimal64(array.as_primitive::<Decimal64Type>().values(), *scale)
            }
            DataType::Decimal128(_, scale) => {
                Cells::Decimal128(array.as_primitive::<Decimal128Type>().values(), *scale)
            }
            DataType::Decimal256(_, scale) => Cells::Decimal256(array.as_primitive(), *scale),
            DataType::Date32 => Cells::Date32(array.as_primitive::<Date32Type>().values()),
            DataType::Date64 => Cells::Date64(array.as_primitive::<Date64Type>().values()),
            DataType::Timestamp(unit, zone) => timestamps(array, *unit, zone.is_some()),
            DataType::Utf8 => Cells::Text(array.as_string()),
            DataType::LargeUtf8 => Cells::LargeText(array.as_string()),
            DataType::Utf8View => Cells::TextView(array.as_string_view()),
            other => unreachable!("check_types refuses columns of type {other}"),
        };
        Column { nulls: array.logical_nulls(), cells }
    }
}

fn timestamps(array: &dyn Array, unit: TimeUnit, is_zoned: bool) -> Cells<'_> {
    use arrow_array::types::{
        TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType,
    };
    let (ticks, ticks_per_second) = match unit {
        TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().values(), 1),
        TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().values(), 1_000),
        TimeUnit::Microsecond => {
            (array.as_primitive::<TimestampMicrosecondType>().values(), 1_000_000)
        }
        TimeUnit::Nanosecond => {
            (array.as_primitive::<TimestampNanosecondType>().values(), 1_000_000_000)
        }
    };
    Cells::Timestamp { ticks, ticks_per_second, is_zoned }
}

impl Cells<'_> {
    /// Appends the value of a row that has one.
    #[inline]
    fn push(&self, out: &mut Vec<u8>, row: usize, delimiter: u8) {
        match self {
            Cells::Null => {}
            Cells::Boolean(values) => {
                out.extend_from_slice(if values.value(row) { b"true" } else { b"false" });
            }
            Cells::Int8(values) => cell::push_i32(out, values[row].into()),
            Cells::Int16(values) => cell::push_i32(out, values[row].into()),
            Cells::Int32(values) => cell::push_i32(out, values[row]),
            Cells::Int64(values) => cell::push_i64(out, values[row]),
            Cells::UInt8(values) => cell::push_i32(out, values[row].into()),
            Cells::UInt16(values) => cell::push_i32(out, values[row].into()),
            Cells::UInt32(values) => cell::push_u64(out, values[row].into()),
            Cells::UInt64(values) => cell::push_u64(out, values[row]),
            Cells::Float32(values) => cell::push_float(out, values[row]),
            Cells::Float64(values) => cell::push_float(out, values[row]),
            Cells::Decimal32(values, scale) => cell::push_decimal(out, values[row].into(), *scale),
            Cells::Decimal64(values, scale) => cell::push_decimal(out, values[row].into(), *scale),
            Cells::Decimal128(values, scale) => cell::push_decimal(out, values[row], *scale),
            Cells::Decimal256(values, scale) => {
                cell::push_decimal_256(out, values.value(row), *scale);
            }
            Cells::Date32(values) => cell::push_date(out, values[row].into()),
            Cells::Date64(values) => push_milliseconds(out, values[row]),
            Cells::Timestamp { ticks, ticks_per_second, is_zoned } => {
                cell::push_timestamp(out, ticks[row], *ticks_per_second, *is_zoned);
            }
            Cells::Text(values) => push_text(out, values.value(row).as_bytes(), delimiter),
            Cells::LargeText(values) => push_text(out, values.value(row).as_bytes(), delimiter),
            Cells::TextView(values) => push_text(out, values.value(row).as_bytes(), delimiter),
        }
    }
}

/// A date counted in milliseconds is a whole day, or else shown with its time.
fn push_milliseconds(out: &mut Vec<u8>, milliseconds: i64) {
    if milliseconds % MILLISECONDS_PER_DAY == 0 {
        cell::push_date(out, milliseconds / MILLISECONDS_PER_DAY);
    } else {
        cell::push_timestamp(out, milliseconds, 1_000, false);
    }
}

/// Appends text, in quotes if it would not read back as one cell without them.
#[inline]
pub(crate) fn push_text(out: &mut Vec<u8>, text: &[u8], delimiter: u8) {
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\n' | b'\r') || *byte == delimiter;
    if !text.is_empty() && !text.iter().any(is_special) {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'"', rest) {
        out.extend_from_slice(&rest[..=at]);
        out.push(b'"');
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
