use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    BinaryArray, Date32Array, DictionaryArray, StringArray, StringViewArray,
    TimestampMicrosecondArray,
};

use super::*;

fn published_type(column_type: ColumnType, cells: &[&str], typed: bool) -> DataType {
    // Empty cells are missing; a cut in the middle makes two chunks.
    let chunk = |cells: &[&str]| -> ArrayRef {
        let cells = cells.iter().map(|cell| (!cell.is_empty()).then_some(*cell));
        Arc::new(cells.collect::<StringArray>())
    };
    let (start, end) = cells.split_at(cells.len() / 2);
    let column =
        CarriedColumn::new("x".to_owned(), column_type, vec![chunk(start), chunk(end)], typed);
    column.field().data_type().clone()
}

#[test]
fn text_becomes_typed_when_every_cell_is_written_as_it_was_read() {
    let typed = |column_type, cells: &[&str]| published_type(column_type, cells, true);
    assert_eq!(typed(ColumnType::Integer, &["1", "", "-20"]), DataType::Int64);
    assert_eq!(typed(ColumnType::Float, &["1.5", "", "-0.25"]), DataType::Float64);
    assert_eq!(typed(ColumnType::Decimal, &["1.50", "", "0.25"]), DataType::Decimal128(38, 2));
    assert_eq!(typed(ColumnType::Date, &["2020-01-31", ""]), DataType::Date32);
    assert_eq!(typed(ColumnType::Boolean, &["true", "", "false"]), DataType::Boolean);
    let timestamp = DataType::Timestamp(TimeUnit::Microsecond, None);
    let times = ["2020-01-01 10:00:00", "", "2020-01-01 10:00:00.125"];
    assert_eq!(typed(ColumnType::Timestamp, &times), timestamp);
    let times = times.map(|time| time.replace(' ', "T"));
    assert_eq!(typed(ColumnType::Timestamp, &times.each_ref().map(String::as_str)), timestamp);
    assert_eq!(published_type(ColumnType::Integer, &["1", "2"], false), DataType::Utf8);
}

#[test]
fn text_that_a_type_would_change_stays_text() {
    for (column_type, cells) in [
        (ColumnType::Integer, ["1", "007"]),
        (ColumnType::Integer, ["+1", "2"]),
        (ColumnType::Integer, ["1", " 2"]),
        (ColumnType::Float, ["1.5", "1e5"]),
        (ColumnType::Float, ["1.5", "2"]),
        (ColumnType::Float, ["0.1", "0.10000000000000000001"]),
        (ColumnType::Decimal, ["1.50", "2.5"]),
        (ColumnType::Decimal, [".50", "2.50"]),
        (ColumnType::Date, ["2020-01-01", "2020-1-1"]),
        (ColumnType::Boolean, ["true", "1"]),
        (ColumnType::Boolean, ["TRUE", "FALSE"]),
        (ColumnType::Timestamp, ["2020-01-01T10:00:00+02:00", "2020-01-01T10:00:00+02:00"]),
        (ColumnType::Timestamp, ["2020-01-01T10:00:00Z", "2020-01-01T10:00:00"]),
        (ColumnType::Timestamp, ["2020-01-01T10:00:00", "2020-01-01 10:00:00"]),
        (ColumnType::Timestamp, ["2020-01-01", "2020-01-01 10:00:00"]),
    ] {
        assert_eq!(published_type(column_type, &cells, true), DataType::Utf8, "{cells:?}");
    }
}

/// The keys of a column of one chunk.
fn keys_of(chunk: ArrayRef) -> Vec<u64> {
    let column = CarriedColumn::new("x".to_owned(), ColumnType::Text, vec![chunk], false);
    RowKeys::of(&[column], 3).unwrap().unwrap().keys
}

#[test]
fn rows_of_every_type_are_told_apart() {
    let zoned = TimestampMicrosecondArray::from(vec![Some(1), Some(2), None, Some(1)]);
    let far = TimestampMicrosecondArray::from(vec![Some(i64::MAX), Some(2), None, Some(i64::MAX)]);
    let bytes: Vec<Option<&[u8]>> = vec![Some(b"\xff"), Some(b"\xfe"), None, Some(b"\xff")];
    let chunks: [ArrayRef; 4] = [
        Arc::new(zoned.with_timezone("Europe/Berlin")),
        Arc::new(far),
        Arc::new(BinaryArray::from(bytes)),
        Arc::new(StringViewArray::from(vec![Some("a"), Some("b"), None, Some("a")])),
    ];
    for chunk in chunks {
        let name = chunk.data_type().to_string();
        let keys = keys_of(chunk);
        assert_eq!(keys[0], keys[3], "{name}");
        assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2], "{name}");
    }
}

#[test]
fn the_key_of_a_row_does_not_depend_on_the_rows_beside_it() {
    let bytes = |first: &'static [u8]| -> ArrayRef {
        Arc::new(BinaryArray::from(vec![Some(first), Some(&b"abc"[..]), None]))
    };
    let time = |first: i64| -> ArrayRef {
        Arc::new(TimestampMicrosecondArray::from(vec![Some(first), Some(2), None]))
    };
    let day =
        |first: i32| -> ArrayRef { Arc::new(Date32Array::from(vec![Some(first), Some(2), None])) };
    for (plain, odd) in
        [(bytes(b"x"), bytes(b"\xff")), (time(1), time(i64::MAX)), (day(1), day(i32::MAX))]
    {
        let name = plain.data_type().to_string();
        assert_eq!(keys_of(plain)[1..], keys_of(odd)[1..], "{name}");
    }
}

#[test]
fn text_has_the_same_keys_however_it_is_stored() {
    let texts = StringArray::from(vec![Some("a"), None, Some("bc")]);
    let expected = keys_of(Arc::new(texts.clone()));
    for stored in [
        DataType::LargeUtf8,
        DataType::Utf8View,
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)),
    ] {
        assert_eq!(keys_of(arrow_cast::cast(&texts, &stored).unwrap()), expected, "{stored}");
    }
}

#[test]
fn dictionaries_that_do_not_fit_into_one_are_taken_as_values() {
    // Twice a hundred values: more than the keys of either dictionary can count.
    let chunk = |first: usize| -> ArrayRef {
        let cells: Vec<String> = (first..first + 100).map(|at| format!("cell {at}")).collect();
        Arc::new(cells.iter().map(String::as_str).collect::<DictionaryArray<Int8Type>>())
    };
    let chunks = vec![chunk(0), chunk(100)];
    let column = CarriedColumn::new("x".to_owned(), ColumnType::Text, chunks, false);
    let rows: Vec<u32> = (0..200).rev().collect();
    let taken = column.take(&rows).unwrap();
    assert_eq!(column.field().data_type(), &DataType::Utf8);
    assert_eq!(taken.as_string::<i32>().value(0), "cell 199");
    assert_eq!(taken.as_string::<i32>().value(199), "cell 0");
}
