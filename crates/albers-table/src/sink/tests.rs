//! Files read back as the batches that were written, or there is no file.

mod ends;
mod runs;

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::basic::Repetition;
use arrow_array::builder::{StringDictionaryBuilder, StringViewBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array,
    LargeStringArray, NullArray, StringArray, Time32SecondArray, TimestampMicrosecondArray,
    UInt64Array,
};
use arrow_schema::{DataType, Field};
use proptest::prelude::*;

use super::*;

fn batch(columns: Vec<(&str, ArrayRef, bool)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// A file that is being written.
fn begun(path: &Path, schema: SchemaRef) -> Result<FileSink> {
    let mut sink = FileSink::new(path, None, None)?;
    sink.begin(schema, WriteOptions::default())?;
    Ok(sink)
}

fn written(name: &str, batches: &[RecordBatch]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let mut writer = begun(&path, batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    (folder, path)
}

fn text_of(name: &str, batches: &[RecordBatch]) -> String {
    let (_folder, path) = written(name, batches);
    let mut text = String::new();
    albers_storage::input::open_unpacked(&path).unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_bytes_of_a_parquet_file_do_not_depend_on_the_batches_that_its_rows_came_in() {
    let n_rows = 150_000;
    let numbers: ArrayRef =
        Arc::new(Int64Array::from_iter_values((0..n_rows).map(|n| n * n % 977)));
    let names = (0..n_rows).map(|n| format!("name {}", n % 5_003));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(names));
    let whole = batch(vec![("number", numbers, false), ("name", names, true)]);
    let bytes_of = |ends: &[usize]| {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let slices: Vec<RecordBatch> =
            starts.zip(ends).map(|(start, &end)| whole.slice(start, end - start)).collect();
        let (_folder, path) = written("table.parquet", &slices);
        std::fs::read(path).unwrap()
    };
    let expected = bytes_of(&[150_000]);
    let thousands: Vec<usize> = (1..=150).map(|n| n * 1_000).collect();
    for ends in [&[1, 65_536, 65_537, 150_000][..], &[70_001, 70_001, 149_999, 150_000], &thousands]
    {
        assert!(bytes_of(ends) == expected, "{} batches", ends.len());
    }
}

/// The cells as an independent reader of CSV sees them.
fn cells_of(text: &str, delimiter: u8) -> Vec<Vec<String>> {
    let mut reader = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
    let (mut output, mut ends) = (vec![0; text.len() + 1], vec![0; text.len() + 1]);
    let (mut input, mut rows) = (text.as_bytes(), Vec::new());
    loop {
        let (result, n_read, _, n_ends) = reader.read_record(input, &mut output, &mut ends);
        input = &input[n_read..];
        match result {
            csv_core::ReadRecordResult::Record => {
                let starts = std::iter::once(0).chain(ends[..n_ends].iter().copied());
                let row = starts
                    .zip(&ends[..n_ends])
                    .map(|(start, &end)| String::from_utf8(output[start..end].to_vec()).unwrap());
                rows.push(row.collect());
            }
            csv_core::ReadRecordResult::InputEmpty => {}
            csv_core::ReadRecordResult::End => return rows,
            other => panic!("{other:?}"),
        }
    }
}

fn mixed_batch() -> RecordBatch {
    let mut repeated = StringDictionaryBuilder::<Int8Type>::new();
    repeated.append_value("x");
    repeated.append_null();
    repeated.append_value("x,y");
    let mut view = StringViewBuilder::new();
    view.append_value("a text that is longer than twelve bytes");
    view.append_value("v");
    view.append_null();
    let price = Decimal128Array::from(vec![Some(-5), None, Some(123_456)]);
    let time = TimestampMicrosecondArray::from(vec![Some(1_500_000), None, Some(-1)]);
    batch(vec![
        ("id", Arc::new(Int64Array::from(vec![i64::MIN, 0, i64::MAX])), false),
        ("text", Arc::new(StringArray::from(vec![Some("a \"b\", c"), Some(""), None])), true),
        ("large", Arc::new(LargeStringArray::from(vec!["line\nbreak", "cr\r", "plain"])), false),
        ("view", Arc::new(view.finish()), true),
        ("repeated", Arc::new(repeated.finish()), true),
        ("float", Arc::new(Float64Array::from(vec![0.1, 1.0, -1e300])), false),
        ("price", Arc::new(price.with_precision_and_scale(12, 2).unwrap()), true),
        ("day", Arc::new(Date32Array::from(vec![Some(0), Some(-1), None])), true),
        ("time", Arc::new(time.clone()), true),
        ("instant", Arc::new(time.with_timezone("Europe/Berlin")), true),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])), true),
        ("big", Arc::new(UInt64Array::from(vec![u64::MAX, 0, 10])), false),
    ])
}

#[test]
fn every_type_has_one_exact_text() {
    let text = text_of("t.csv", &[mixed_batch()]);
    let expected = concat!(
        "id,text,large,view,repeated,float,price,day,time,instant,flag,big\n",
        "-9223372036854775808,\"a \"\"b\"\", c\",\"line\nbreak\",",
        "a text that is longer than twelve bytes,x,0.1,-0.05,1970-01-01,",
        "1970-01-01 00:00:01.5,1970-01-01 00:00:01.5Z,true,18446744073709551615\n",
        "0,\"\",\"cr\r\",v,,1.0,,1969-12-31,,,false,0\n",
        "9223372036854775807,,plain,,\"x,y\",-1e300,1234.56,,",
        "1969-12-31 23:59:59.999999,1969-12-31 23:59:59.999999Z,,10\n",
    );
    assert_eq!(text, expected);
}

#[test]
fn a_table_without_rows_is_its_header() {
    let schema = mixed_batch().schema();
    let empty = RecordBatch::new_empty(schema.clone());
    assert_eq!(cells_of(&text_of("t.csv", std::slice::from_ref(&empty)), b',').len(), 1);
    let (_folder, path) = written("t.parquet", &[empty]);
    let file = std::fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    assert_eq!(reader.schema().fields(), schema.fields());
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
}

#[test]
fn packed_text_unpacks_to_the_same_text() {
    let plain = text_of("t.csv", &[mixed_batch()]);
    for name in ["t.csv.gz", "t.csv.zst", "t.csv.zstd", "t.CSV"] {
        assert_eq!(text_of(name, &[mixed_batch()]), plain, "{name}");
    }
}

#[test]
fn tsv_quotes_tabs_and_not_commas() {
    let values = StringArray::from(vec!["a,b", "a\tb"]);
    let table = batch(vec![("x", Arc::new(values), false)]);
    assert_eq!(text_of("t.tsv", std::slice::from_ref(&table)), "x\na,b\n\"a\tb\"\n");
    assert_eq!(text_of("t.tsv.gz", &[table]), "x\na,b\n\"a\tb\"\n");
}

#[test]
fn a_missing_value_in_the_only_column_keeps_its_row() {
    let table = batch(vec![("x", Arc::new(Int32Array::from(vec![Some(1), None])), true)]);
    assert_eq!(text_of("t.csv", &[table]), "x\n1\n\"\"\n");
    let nothing = batch(vec![("x", Arc::new(NullArray::new(2)), true)]);
    assert_eq!(text_of("t.csv", &[nothing]), "x\n\"\"\n\"\"\n");
}

#[test]
fn parquet_reads_back_as_written() {
    let table = mixed_batch();
    let (_folder, path) = written("t.parquet", &[table.clone(), table.slice(1, 2)]);
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap()).unwrap();
    let id = reader.parquet_schema().column(0);
    assert_eq!(id.self_type().get_basic_info().repetition(), Repetition::REQUIRED);
    let text = reader.parquet_schema().column(1);
    assert_eq!(text.self_type().get_basic_info().repetition(), Repetition::OPTIONAL);
    let read = reader.build().unwrap().next().unwrap().unwrap();
    assert_eq!(read.slice(0, 3), table);
    assert_eq!(read.slice(3, 2), table.slice(1, 2));
}

#[test]
fn parquet_row_groups_hold_at_most_a_million_rows() {
    let n_rows = 1_300_000;
    let ids = Arc::new(Int32Array::from_iter_values(0..n_rows));
    let (_folder, path) = written("t.parquet", &[batch(vec![("id", ids, false)])]);
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap()).unwrap();
    let sizes: Vec<_> = reader.metadata().row_groups().iter().map(|g| g.num_rows()).collect();
    assert_eq!(sizes, [1 << 20, i64::from(n_rows) - (1 << 20)]);
}

#[test]
fn an_unknown_ending_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["t", "t.gz", "t.parquet.gz", "csv"] {
        let path = folder.path().join(name);
        let error = begun(&path, mixed_batch().schema()).err().unwrap();
        assert!(matches!(error, TableError::File { .. }), "{name}");
        assert!(error.to_string().contains(".parquet"), "{error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_as_target_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["t.csv", "t.parquet", "t"] {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        let error = begun(&path, mixed_batch().schema()).err().unwrap();
        assert!(matches!(error, TableError::Storage(StorageError::IsFolder { .. })));
    }
}

#[test]
fn a_missing_folder_is_named_in_the_error() {
    let path = PathBuf::from("/no/such/folder/t.parquet");
    let error = begun(&path, mixed_batch().schema()).err().unwrap();
    assert!(error.to_string().contains("/no/such/folder/t.parquet"), "{error}");
}

#[test]
fn a_failed_or_dropped_write_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["t.csv", "t.csv.gz", "t.csv.zst", "t.parquet"] {
        let path = folder.path().join(name);
        let mut writer = begun(&path, mixed_batch().schema()).unwrap();
        writer.write(&mixed_batch()).unwrap();
        let other = batch(vec![("id", Arc::new(Int32Array::from(vec![1])), false)]);
        assert!(matches!(writer.write(&other), Err(TableError::Column { .. })), "{name}");
        drop(writer);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{name}");
    }
}

#[test]
fn a_target_that_became_a_folder_fails_at_the_end_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["t.csv", "t.parquet"] {
        let path = folder.path().join(name);
        let writer = begun(&path, mixed_batch().schema()).unwrap();
        std::fs::create_dir_all(path.join("inside")).unwrap();
        let error = writer.finish().unwrap_err();
        assert!(matches!(error, TableError::Storage(StorageError::Overtaken { .. })), "{error}");
        std::fs::remove_dir_all(&path).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{name}");
    }
}

#[test]
fn a_missing_value_in_a_column_without_any_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int32, false)]));
    let table = batch(vec![("x", Arc::new(Int32Array::from(vec![Some(1), None])), true)]);
    for name in ["t.csv", "t.parquet"] {
        let mut writer = begun(&folder.path().join(name), schema.clone()).unwrap();
        assert!(matches!(writer.write(&table), Err(TableError::Column { .. })));
        writer.write(&table.slice(0, 1)).unwrap();
    }
}

#[test]
fn a_type_without_text_is_refused_before_a_file_exists() {
    let folder = tempfile::tempdir().unwrap();
    let table = batch(vec![("t", Arc::new(Time32SecondArray::from(vec![1])), false)]);
    let error = begun(&folder.path().join("t.csv"), table.schema()).err().unwrap();
    assert!(error.to_string().contains("'t'"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_reads_back_from_csv(
        rows in proptest::collection::vec(("[a\",\n\r\t é]{0,5}", any::<i64>()), 1..20)
    ) {
        let texts = StringArray::from_iter_values(rows.iter().map(|(text, _)| text));
        let numbers = Int64Array::from_iter_values(rows.iter().map(|(_, number)| *number));
        let table =
            batch(vec![("t,\"1", Arc::new(texts), false), ("n", Arc::new(numbers), false)]);
        for (name, delimiter) in [("t.csv", b','), ("t.tsv", b'\t')] {
            let cells = cells_of(&text_of(name, std::slice::from_ref(&table)), delimiter);
            prop_assert_eq!(&cells[0], &["t,\"1", "n"]);
            prop_assert_eq!(cells.len(), rows.len() + 1);
            for (cells, (text, number)) in cells[1..].iter().zip(&rows) {
                prop_assert_eq!(cells, &[text.clone(), number.to_string()]);
            }
        }
    }
}
