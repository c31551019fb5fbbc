//! The typed cells of an Arrow array.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, StringArray};
use arrow_schema::{DataType, TimeUnit};
use rustc_hash::FxHashMap;

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
    let are_names = matches!(kind, ColumnType::Text | ColumnType::Code);
    if let Some(ticks) = are_names.then(|| ticks_of(array)).flatten() {
        return names_of_ticks(&ticks, |ticks| text_of_ticks(array.data_type(), ticks), text);
    }
    let texts = texts_of(array).ok_or((0, ParseProblem::NotA(kind)))?;
    let texts = texts.as_string::<i32>();
    if are_names {
        return names_of_texts(texts, text);
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

/// Texts as names. One that stands below itself, as those of a class do, is looked up once.
fn names_of_texts(
    texts: &StringArray,
    text: &TextCells<'_>,
) -> std::result::Result<ColumnChunk, CellFault> {
    let mut names = NameBuilder::default();
    let mut missing = Vec::new();
    let mut before: Option<(&[u8], bool)> = None;
    for row_idx in 0..texts.len() {
        let cell = (!texts.is_null(row_idx)).then(|| texts.value(row_idx).as_bytes());
        let is_again = cell.is_some() && before.map(|(own, _)| own) == cell;
        let is_missing = match (cell, before) {
            (_, Some((_, is_missing))) if is_again => is_missing,
            (Some(cell), _) => (text.is_missing)(cell),
            (None, _) => true,
        };
        match cell {
            Some(_) if is_again && !is_missing => names.push_again(),
            Some(cell) if !is_missing => names.push(cell).map_err(|p| (row_idx, p))?,
            _ => {
                missing.push(row_idx as u32);
                names.push_missing();
            }
        }
        before = cell.map(|cell| (cell, is_missing));
    }
    Ok(ColumnChunk { cells: names.finish(), missing })
}

/// Whole numbers as names: each of them is written once.
fn names_of_ticks(
    ticks: &PrimitiveArray<Int64Type>,
    text_of: impl Fn(i64) -> String,
    text: &TextCells<'_>,
) -> std::result::Result<ColumnChunk, CellFault> {
    let mut names = NameBuilder::default();
    let mut missing = Vec::new();
    // The place of each that was met; nothing where its text stands for a missing value.
    let mut met: FxHashMap<i64, Option<u32>> = FxHashMap::default();
    for (row_idx, tick) in ticks.iter().enumerate() {
        let known = tick.map(|tick| (tick, met.get(&tick).copied()));
        let place = match known {
            None => None,
            Some((_, Some(place))) => place,
            Some((tick, None)) => {
                let cell = text_of(tick).into_bytes();
                let place = match (text.is_missing)(&cell) {
                    true => None,
                    false => Some(names.place_of(&cell).map_err(|p| (row_idx, p))?),
                };
                met.insert(tick, place);
                place
            }
        };
        match place {
            Some(place) => names.push_place(place),
            None => {
                missing.push(row_idx as u32);
                names.push_missing();
            }
        }
    }
    Ok(ColumnChunk { cells: names.finish(), missing })
}

/// The cells as whole numbers, where these alone tell how they are written.
fn ticks_of(array: &ArrayRef) -> Option<PrimitiveArray<Int64Type>> {
    let is_told = match array.data_type() {
        DataType::UInt64 => false,
        DataType::Date32 | DataType::Timestamp(..) => true,
        other => other.is_integer(),
    };
    let ticks = is_told.then(|| arrow_cast::cast(array, &DataType::Int64).ok()).flatten()?;
    Some(ticks.as_primitive::<Int64Type>().clone())
}

/// How a whole number is written that is a cell of this type: days and times as everywhere else,
/// since the library knows no zones and no years far away.
fn text_of_ticks(data_type: &DataType, ticks: i64) -> String {
    match data_type {
        DataType::Date32 => cell::date_text(ticks),
        DataType::Timestamp(unit, zone) => {
            cell::timestamp_text(ticks, ticks_per_second(*unit), zone.is_some())
        }
        _ => ticks.to_string(),
    }
}

/// The cells as text.
fn texts_of(array: &ArrayRef) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(_, values) if values.is_temporal() => {
            return texts_of(&arrow_cast::cast(array, values).ok()?);
        }
        DataType::Date32 | DataType::Timestamp(..) => {}
        _ => return arrow_cast::cast(array, &DataType::Utf8).ok(),
    };
    let text_of = |ticks: i64| text_of_ticks(array.data_type(), ticks);
    let ticks = ticks_of(array)?;
    let texts: StringArray = ticks.iter().map(|ticks| ticks.map(text_of)).collect();
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
    use arrow_array::{
        Date32Array, Date64Array, Int8Array, Int64Array, TimestampNanosecondArray,
        TimestampSecondArray,
    };

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

    /// The name of each row, nothing where it is missing.
    fn shown(chunk: &ColumnChunk) -> Vec<Option<String>> {
        let Cells::Names { names, places } = &chunk.cells else { panic!("names") };
        assert!((1..names.len()).all(|place| !names[..place].contains(&names[place])));
        let name = |row: u32| match chunk.missing.contains(&row) {
            true => None,
            false => Some(names[places[row as usize] as usize].clone()),
        };
        (0..chunk.n_rows() as u32).map(name).collect()
    }

    #[test]
    fn names_are_those_of_each_cell_alone_whatever_stands_above_it() {
        let cells =
            [7, 7, 9, -3, 9, 9, 0, 7, 0, 0, -3].map(|own| Some(own).filter(|&own| own != 0));
        let cell = |own: Option<i64>| own.map(|own| own.to_string());
        let text = TextCells { is_missing: &|cell| cell == b"9", notation: &Notation::Plain };
        let expected: Vec<Option<String>> =
            cells.into_iter().map(|own| cell(own).filter(|own| own != "9")).collect();
        let texts: StringArray = cells.into_iter().map(cell).collect();
        let arrays: [ArrayRef; 3] = [
            Arc::new(texts),
            Arc::new(Int64Array::from(cells.to_vec())),
            Arc::new(cells.iter().map(|own| own.map(|own| own as i8)).collect::<Int8Array>()),
        ];
        for array in arrays {
            let chunk = code_array(&array, ColumnType::Code, &text).map_err(|_| "fine").unwrap();
            assert_eq!(shown(&chunk), expected);
        }
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
