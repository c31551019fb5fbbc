//! The typed cells of an Arrow array.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::{DataType, TimeUnit};

use crate::chunk::{Cells, ColumnChunk, NameBuilder, TextColumnBuilder, TickUnit, narrow_ticks};
use crate::notation::Notation;
use crate::schema::ColumnType;
use crate::sink::cell;
use crate::value::ParseProblem;
use crate::{Result, TableError};

/// The type that a column of this Arrow type has when the user does not say otherwise.
pub(in crate::source) fn native_type(column: &str, data_type: &DataType) -> Result<ColumnType> {
    Ok(match data_type {
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64 => ColumnType::Integer,
        DataType::Decimal128(_, 0..=18) => ColumnType::Decimal,
        DataType::Float32 | DataType::Float64 => ColumnType::Float,
        DataType::Date32 | DataType::Date64 => ColumnType::Date,
        DataType::Timestamp(..) => ColumnType::Timestamp,
        DataType::Boolean => ColumnType::Boolean,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => {
            ColumnType::Text
        }
        DataType::Dictionary(_, values) => return native_type(column, values),
        other => {
            return Err(TableError::Column {
                column: column.to_owned(),
                problem: format!("cells of the type {other} cannot be anonymized"),
                hint: "drop the column, or store it as numbers, dates or text".into(),
            });
        }
    })
}

const DAY_MILLISECONDS: i64 = 86_400_000;

/// A row of the array, and what is wrong with its cell.
pub(in crate::source) type CellFault = (usize, ParseProblem);
type TickOutcome = std::result::Result<i64, ParseProblem>;

/// The typed cells of an array, or the row that does not fit and why.
pub(in crate::source) fn code_array(
    array: &ArrayRef,
    kind: ColumnType,
    text: &TextCells<'_>,
) -> std::result::Result<ColumnChunk, CellFault> {
    let missing = missing_rows(array);
    let cells = match (array.data_type(), kind) {
        (DataType::Int32, ColumnType::Integer) if missing.is_empty() => {
            narrow_i32(array.as_primitive::<Int32Type>().values())
        }
        (DataType::Int32, ColumnType::Integer) => whole::<Int32Type>(array, &missing, i64::from),
        (DataType::Int64, ColumnType::Integer) => whole::<Int64Type>(array, &missing, |v| v),
        (DataType::Int16, ColumnType::Integer) => whole::<Int16Type>(array, &missing, i64::from),
        (DataType::Int8, ColumnType::Integer) => whole::<Int8Type>(array, &missing, i64::from),
        (DataType::UInt32, ColumnType::Integer) => whole::<UInt32Type>(array, &missing, i64::from),
        (DataType::UInt16, ColumnType::Integer) => whole::<UInt16Type>(array, &missing, i64::from),
        (DataType::UInt8, ColumnType::Integer) => whole::<UInt8Type>(array, &missing, i64::from),
        (DataType::UInt64, ColumnType::Integer) => {
            checked(array, &missing, TickUnit::Integer, |row_idx| {
                let value = array.as_primitive::<UInt64Type>().value(row_idx);
                i64::try_from(value).map_err(|_| ParseProblem::BeyondI64(kind))
            })?
        }
        (&DataType::Decimal128(_, scale), ColumnType::Decimal) => {
            let unit = TickUnit::Decimal(u8::try_from(scale).expect("checked by native_type"));
            checked(array, &missing, unit, |row_idx| {
                let value = array.as_primitive::<Decimal128Type>().value(row_idx);
                i64::try_from(value).map_err(|_| ParseProblem::BeyondI64(kind))
            })?
        }
        (DataType::Date32, ColumnType::Date) => {
            let days = array.as_primitive::<Date32Type>().values().iter();
            narrow_ticks(days.map(|&days| i64::from(days)).collect(), &missing, TickUnit::Date)
        }
        (DataType::Date64, ColumnType::Date) => {
            checked(array, &missing, TickUnit::Date, |row_idx| {
                match array.as_primitive::<Date64Type>().value(row_idx) {
                    value if value % DAY_MILLISECONDS == 0 => {
                        let days = i32::try_from(value / DAY_MILLISECONDS);
                        days.map(i64::from).map_err(|_| ParseProblem::BeyondI64(kind))
                    }
                    // The hour would be lost.
                    _ => Err(ParseProblem::NotA(kind)),
                }
            })?
        }
        (DataType::Timestamp(unit, zone), ColumnType::Timestamp) => {
            let unit_of_chunk = TickUnit::Timestamp { zoned: zone.is_some() };
            let ticks = microseconds(array, *unit);
            checked(array, &missing, unit_of_chunk, ticks)?
        }
        (DataType::Float64, ColumnType::Float) => {
            let values = array.as_primitive::<Float64Type>().values().iter().copied();
            floats(values, &missing)?
        }
        (DataType::Float32, ColumnType::Float) => {
            let values = array.as_primitive::<Float32Type>().values().iter();
            // Through the shortest text, so that 0.1 stays 0.1.
            floats(values.map(|v| v.to_string().parse().unwrap_or(f64::NAN)), &missing)?
        }
        _ => return code_as_text(array, kind, text),
    };
    Ok(ColumnChunk { cells, missing })
}

/// The commonest case, without a detour over 64 bits.
fn narrow_i32(values: &[i32]) -> Cells {
    let base = values.iter().copied().min().unwrap_or(0);
    let offsets = values.iter().map(|&value| value.wrapping_sub(base) as u32).collect();
    Cells::Ticks { base: i64::from(base), offsets, unit: TickUnit::Integer }
}

fn missing_rows(array: &ArrayRef) -> Vec<u32> {
    match array.logical_nulls() {
        Some(nulls) if nulls.null_count() > 0 => {
            (0..array.len()).filter(|&row| nulls.is_null(row)).map(|row| row as u32).collect()
        }
        _ => Vec::new(),
    }
}

fn whole<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    missing: &[u32],
    widen: impl Fn(T::Native) -> i64,
) -> Cells {
    let ticks = array.as_primitive::<T>().values().iter().map(|&value| widen(value)).collect();
    narrow_ticks(ticks, missing, TickUnit::Integer)
}

fn checked(
    array: &ArrayRef,
    missing: &[u32],
    unit: TickUnit,
    tick: impl Fn(usize) -> TickOutcome,
) -> std::result::Result<Cells, CellFault> {
    let mut ticks = Vec::with_capacity(array.len());
    for row_idx in 0..array.len() {
        if array.is_null(row_idx) {
            ticks.push(0);
        } else {
            ticks.push(tick(row_idx).map_err(|problem| (row_idx, problem))?);
        }
    }
    Ok(narrow_ticks(ticks, missing, unit))
}

fn microseconds(array: &ArrayRef, unit: TimeUnit) -> Box<dyn Fn(usize) -> TickOutcome + '_> {
    const BEYOND: ParseProblem = ParseProblem::BeyondI64(ColumnType::Timestamp);
    match unit {
        TimeUnit::Second => {
            let values = array.as_primitive::<TimestampSecondType>();
            Box::new(|row_idx| values.value(row_idx).checked_mul(1_000_000).ok_or(BEYOND))
        }
        TimeUnit::Millisecond => {
            let values = array.as_primitive::<TimestampMillisecondType>();
            Box::new(|row_idx| values.value(row_idx).checked_mul(1_000).ok_or(BEYOND))
        }
        TimeUnit::Microsecond => {
            let values = array.as_primitive::<TimestampMicrosecondType>();
            Box::new(|row_idx| Ok(values.value(row_idx)))
        }
        TimeUnit::Nanosecond => {
            let values = array.as_primitive::<TimestampNanosecondType>();
            Box::new(|row_idx| match values.value(row_idx) {
                value if value % 1_000 == 0 => Ok(value / 1_000),
                _ => Err(ParseProblem::BeyondMicrosecond),
            })
        }
    }
}

fn floats(
    values: impl Iterator<Item = f64>,
    missing: &[u32],
) -> std::result::Result<Cells, CellFault> {
    let mut values: Vec<f64> = values.map(|v| if v == 0.0 { 0.0 } else { v }).collect();
    for &row in missing {
        values[row as usize] = 0.0;
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(row_idx) => Err((row_idx, ParseProblem::NotFinite)),
        None => Ok(Cells::Floats(values)),
    }
}

/// How cells that are texts are read.
pub(in crate::source) struct TextCells<'a> {
    /// Whether a text stands for a missing value.
    pub(in crate::source) is_missing: &'a dyn Fn(&[u8]) -> bool,
    /// How numbers and dates are written.
    pub(in crate::source) notation: &'a Notation,
}

/// Any other pair of types: through the text of the cells.
fn code_as_text(
    array: &ArrayRef,
    kind: ColumnType,
    text: &TextCells<'_>,
) -> std::result::Result<ColumnChunk, CellFault> {
    let texts = texts_of(array).ok_or((0, ParseProblem::NotA(kind)))?;
    let texts = texts.as_string::<i32>();
    if matches!(kind, ColumnType::Text | ColumnType::Code) {
        let mut names = NameBuilder::default();
        let mut missing = Vec::new();
        for row_idx in 0..texts.len() {
            if texts.is_null(row_idx) || (text.is_missing)(texts.value(row_idx).as_bytes()) {
                missing.push(row_idx as u32);
                names.push_missing();
            } else {
                names.push(texts.value(row_idx).as_bytes()).map_err(|p| (row_idx, p))?;
            }
        }
        return Ok(ColumnChunk { cells: names.finish(), missing });
    }
    let mut builder = TextColumnBuilder::new(kind);
    let mut buffer = Vec::new();
    for row_idx in 0..texts.len() {
        if texts.is_null(row_idx) || (text.is_missing)(texts.value(row_idx).as_bytes()) {
            builder.push_missing();
        } else {
            let cell = texts.value(row_idx).as_bytes();
            let plain = text.notation.plain(kind, cell, &mut buffer);
            plain.and_then(|plain| builder.push(plain)).map_err(|p| (row_idx, p))?;
        }
    }
    builder.finish()
}

/// The cells as text; days and times as they are written everywhere else, since the library knows
/// no zones and no years far away.
fn texts_of(array: &ArrayRef) -> Option<ArrayRef> {
    let (per_second, is_zoned) = match array.data_type() {
        DataType::Dictionary(_, values) if values.is_temporal() => {
            return texts_of(&arrow_cast::cast(array, values).ok()?);
        }
        DataType::Date32 => (None, false),
        DataType::Timestamp(unit, zone) => (Some(ticks_per_second(*unit)), zone.is_some()),
        _ => return arrow_cast::cast(array, &DataType::Utf8).ok(),
    };
    let ticks = arrow_cast::cast(array, &DataType::Int64).ok()?;
    let text_of = |ticks: i64| match per_second {
        None => cell::date_text(ticks),
        Some(per_second) => cell::timestamp_text(ticks, per_second, is_zoned),
    };
    let ticks = ticks.as_primitive::<Int64Type>().iter();
    let texts: StringArray = ticks.map(|ticks| ticks.map(text_of)).collect();
    Some(Arc::new(texts))
}

fn ticks_per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Date32Array, Date64Array, TimestampNanosecondArray, TimestampSecondArray};

    use super::*;

    const AS_THEY_ARE: TextCells<'_> =
        TextCells { is_missing: &|cell| cell.is_empty(), notation: &Notation::Plain };

    #[test]
    fn nanoseconds_are_taken_if_they_are_whole_microseconds() {
        let coded = |values: Vec<Option<i64>>| {
            let array: ArrayRef = Arc::new(TimestampNanosecondArray::from(values));
            code_array(&array, ColumnType::Timestamp, &AS_THEY_ARE)
        };
        let chunk = coded(vec![Some(-3_000), None, Some(2_000)]).map_err(|_| "fine").unwrap();
        assert!(matches!(chunk.cells, Cells::Ticks { base: -3, .. }));
        let fault = coded(vec![Some(1_000), Some(-1)]).err();
        assert_eq!(fault, Some((1, ParseProblem::BeyondMicrosecond)));
    }

    fn coded<A: Array + 'static>(
        array: A,
        kind: ColumnType,
    ) -> std::result::Result<ColumnChunk, CellFault> {
        code_array(&(Arc::new(array) as ArrayRef), kind, &AS_THEY_ARE)
    }

    #[test]
    fn what_cannot_be_shown_is_refused_where_it_stands() {
        let seconds = TimestampSecondArray::from(vec![Some(0), None, Some(i64::MAX / 1000)]);
        let fault = coded(seconds, ColumnType::Timestamp).err();
        assert_eq!(fault, Some((2, ParseProblem::BeyondI64(ColumnType::Timestamp))));
        let noon = Date64Array::from(vec![86_400_000, 86_400_000 / 2]);
        let fault = coded(noon, ColumnType::Date).err();
        assert_eq!(fault, Some((1, ParseProblem::NotA(ColumnType::Date))));
        let far = Date64Array::from(vec![86_400_000, i64::MAX / 86_400_000 * 86_400_000]);
        let fault = coded(far, ColumnType::Date).err();
        assert_eq!(fault, Some((1, ParseProblem::BeyondI64(ColumnType::Date))));
    }

    #[test]
    fn days_and_times_that_are_read_as_names_are_written_as_everywhere() {
        fn names<A: Array + 'static>(array: A) -> Vec<String> {
            let chunk = coded(array, ColumnType::Text).map_err(|_| "fine").unwrap();
            let Cells::Names { names, .. } = chunk.cells else { panic!("names") };
            names
        }
        let days = Date32Array::from(vec![Some(i32::MAX), None, Some(2_932_896)]);
        assert_eq!(names(days), ["+5881580-07-11", "9999-12-31"]);
        let zoned = TimestampSecondArray::from(vec![253_402_214_400]).with_timezone("Europe/Rome");
        assert_eq!(names(zoned), ["9999-12-31 00:00:00Z"]);
    }
}
