use std::sync::Arc;

use albers_table::schema::ColumnType;
use arrow_array::types::Int8Type;
use arrow_array::{
    BinaryArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int32Array,
    StringArray, StringViewArray, TimestampMicrosecondArray,
};

use arrow_schema::TimeUnit;

use super::*;

/// A column of these cells; empty ones are missing, and a cut in the middle makes two chunks.
fn column_of(typing: Typing, cells: &[&str]) -> CarriedColumn {
    let chunk = |cells: &[&str]| -> ArrayRef {
        let cells = cells.iter().map(|cell| (!cell.is_empty()).then_some(*cell));
        Arc::new(cells.collect::<StringArray>())
    };
    let (start, end) = cells.split_at(cells.len() / 2);
    CarriedColumn::new("x".to_owned(), typing, vec![chunk(start), chunk(end)])
}

/// The type in a release of all cells; the cells in it must be those that were read.
fn published_type(declared: Option<ColumnType>, cells: &[&str]) -> DataType {
    let column = column_of(Typing::ByCells(declared), cells);
    let field = column.field(&column.counts());
    assert_eq!(field.is_nullable(), cells.contains(&""));
    let rows: Vec<RowIdx> = RowIdx::FIRST.take(cells.len()).collect();
    let taken = column.take(&rows, field.data_type()).unwrap();
    assert_eq!(taken.data_type(), field.data_type());
    assert_eq!(taken.logical_null_count(), cells.iter().filter(|cell| cell.is_empty()).count());
    field.data_type().clone()
}

#[test]
fn text_becomes_typed_where_no_cell_changes_its_value() {
    let timestamp = DataType::Timestamp(TimeUnit::Microsecond, None);
    for (cells, expected) in [
        (&["1", "", "-20"][..], DataType::Int64),
        (&["9223372036854775807", "-9223372036854775808"], DataType::Int64),
        (&["9223372036854775808", "1"], DataType::Decimal128(20, 0)),
        (&["1.50", "", "0.25"], DataType::Decimal128(3, 2)),
        (&["1.50", "2.5", "700"], DataType::Decimal128(5, 2)),
        (&[".50", "-2."], DataType::Decimal128(3, 2)),
        (&["0.1", "0.10000000000000000001"], DataType::Decimal128(20, 20)),
        (&["123456789012345678901234567890.12345678", "1"], DataType::Decimal128(38, 8)),
        (&["1.5", "1e5", "2", ""], DataType::Float64),
        (&["-1E-300", "2.5e10"], DataType::Float64),
        (&["2020-01-31", "", "9999-12-31", "0001-01-01"], DataType::Date32),
        (&["true", "", "false"], DataType::Boolean),
        (&["2020-01-01 10:00:00", "", "9999-12-31 00:00:00.125"], timestamp.clone()),
        (&["2020-01-01T10:00:00", "", "2020-01-01T10:00:00.125"], timestamp),
        (&["", ""], DataType::Utf8),
    ] {
        assert_eq!(published_type(None, cells), expected, "{cells:?}");
    }
    let cells = ["1", "2"];
    let as_read = column_of(Typing::AsRead, &cells);
    assert_eq!(as_read.field(&as_read.counts()).data_type(), &DataType::Utf8);
}

#[test]
fn what_the_job_says_of_a_column_holds() {
    use ColumnType::{Code, Decimal, Float, Integer, Text};
    for (declared, cells, expected) in [
        (Text, ["1", "2"], DataType::Utf8),
        (Code, ["1", "2"], DataType::Utf8),
        (Decimal, ["1", "2"], DataType::Decimal128(1, 0)),
        (Float, ["1", "2.5"], DataType::Float64),
        (Integer, ["1", "007"], DataType::Int64),
        (Integer, ["", ""], DataType::Int64),
    ] {
        assert_eq!(published_type(Some(declared), &cells), expected, "{declared} {cells:?}");
    }
}

#[test]
fn text_that_a_type_would_change_stays_text() {
    for cells in [
        ["1", "007"],
        ["+1", "2"],
        ["1", " 2"],
        ["1", "1,000"],
        ["1.5", "NaN"],
        ["1.5", "1e400"],
        ["1.5", "x"],
        ["1", "123456789012345678901234567890.123456789"],
        ["2020-01-01", "2020-1-1"],
        ["2020-01-01", "+9999999-01-01"],
        ["true", "1"],
        ["TRUE", "FALSE"],
        ["2020-01-01T10:00:00+02:00", "2020-01-01T10:00:00+02:00"],
        ["2020-01-01T10:00:00Z", "2020-01-01T10:00:00"],
        ["2020-01-01T10:00:00", "2020-01-01 10:00:00"],
        ["2020-01-01", "2020-01-01 10:00:00"],
        ["2020-01-01 10:00:00.50", "2020-01-01 10:00:00"],
    ] {
        assert_eq!(published_type(None, &cells), DataType::Utf8, "{cells:?}");
    }
}

#[test]
fn cells_of_rows_that_are_left_out_decide_nothing() {
    let published = ["1.5", "2", "", "7.25"];
    let alone = column_of(Typing::ByCells(None), &published);
    let expected = alone.field(&alone.counts());
    for others in [&["x"][..], &["1e9", ""], &["0.12345", "123456"], &["007"], &["2020-01-01"]] {
        let cells = [&published[..], others].concat();
        let column = column_of(Typing::ByCells(None), &cells);
        let left_out: Vec<RowIdx> = RowIdx::of_index(published.len()).take(others.len()).collect();
        let mut counts = column.counts();
        counts.remove(&column.counts_of(&left_out).unwrap());
        assert_eq!(column.field(&counts), expected, "{others:?}");
    }
    let full = column_of(Typing::ByCells(None), &["1", "2", ""]);
    let mut counts = full.counts();
    counts.remove(&full.counts_of(&[RowIdx::new(2)]).unwrap());
    assert!(!full.field(&counts).is_nullable());
}

#[test]
fn views_of_text_leave_without_that_of_other_rows() {
    let texts = ["a secret that is long enough for a buffer", "a text of a row that is published"];
    let chunk: ArrayRef = Arc::new(StringViewArray::from(texts.to_vec()));
    let column = CarriedColumn::new("x".to_owned(), Typing::AsRead, vec![chunk]);
    let taken = column.take(&[RowIdx::new(1)], &DataType::Utf8View).unwrap();
    let buffers = taken.as_string_view().data_buffers().iter();
    assert_eq!(buffers.map(|buffer| buffer.len()).sum::<usize>(), texts[1].len());
}

/// The keys of a column of one chunk.
fn keys_of(chunk: ArrayRef) -> Vec<u64> {
    let n_rows = chunk.len();
    let column = CarriedColumn::new("x".to_owned(), Typing::AsRead, vec![chunk]);
    let keys = RowKeys::of(&[column], 3).unwrap().unwrap();
    (0..n_rows).map(|row| keys.key_of(row)).collect()
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
    let column = CarriedColumn::new("x".to_owned(), Typing::AsRead, chunks);
    let rows: Vec<RowIdx> = (0..200).rev().map(RowIdx::new).collect();
    let field = column.field(&column.counts());
    assert_eq!(field.data_type(), &DataType::Utf8);
    let taken = column.take(&rows, field.data_type()).unwrap();
    assert_eq!(taken.as_string::<i32>().value(0), "cell 199");
    assert_eq!(taken.as_string::<i32>().value(199), "cell 0");
}

#[test]
fn cells_that_repeat_have_the_hashes_that_each_has_alone() {
    let floats = [Some(0.0), Some(0.0), Some(-0.0), Some(-0.0), None, None, Some(f64::NAN)];
    let repeated = |cells: &[Option<f64>]| -> Vec<Option<f64>> {
        cells.iter().flat_map(|&cell| [cell; 5]).collect()
    };
    let numbers: Vec<Option<i32>> =
        (0..60).map(|row| (row % 20 < 15).then_some(row / 20)).collect();
    let columns: [ArrayRef; 4] = [
        Arc::new(Float64Array::from(repeated(&floats))),
        Arc::new(Int32Array::from(numbers.clone())),
        Arc::new(Date32Array::from(numbers.clone())),
        Arc::new(Decimal128Array::from_iter(numbers.iter().map(|cell| cell.map(i128::from)))),
    ];
    for column in columns {
        let alone = |row: usize| cell_hashes(&column.slice(row, 1)).unwrap()[0];
        let each: Vec<Option<u64>> = (0..column.len()).map(alone).collect();
        assert_eq!(cell_hashes(&column).unwrap(), each, "{}", column.data_type());
    }
}
