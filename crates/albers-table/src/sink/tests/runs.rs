//! Rows that are written by runs read back as those that are written one by one.

use std::path::Path;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Encoding;
use ::parquet::file::metadata::ParquetMetaData;
use arrow_array::{
    Decimal128Array, Float32Array, Int8Array, Int16Array, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array,
};
use arrow_select::concat::concat_batches;

use super::*;

const RUNS: WriteOptions = WriteOptions { delimiter: None, has_runs: true };

/// A column of any type that a release shows, by the numbers of its values.
fn column_of(kind: usize, values: &[Option<i64>]) -> ArrayRef {
    macro_rules! numbers {
        ($array:ty, $own:ty) => {
            Arc::new(values.iter().map(|own| own.map(|own| own as $own)).collect::<$array>())
        };
    }
    let decimals = |n_digits, scale| -> ArrayRef {
        let values = values.iter().map(|own| own.map(i128::from));
        let array = values.collect::<Decimal128Array>();
        Arc::new(array.with_precision_and_scale(n_digits, scale).unwrap())
    };
    match kind {
        0 => numbers!(Int8Array, i8),
        1 => numbers!(Int16Array, i16),
        2 => numbers!(Int32Array, i32),
        3 => numbers!(Int64Array, i64),
        4 => numbers!(UInt8Array, u8),
        5 => numbers!(UInt16Array, u16),
        6 => numbers!(UInt32Array, u32),
        7 => numbers!(UInt64Array, u64),
        8 => numbers!(Date32Array, i32),
        9 => {
            let values = values.iter().map(|own| own.map(|own| own as f32 / 3.0));
            Arc::new(values.collect::<Float32Array>())
        }
        10 => {
            let special = |own: i64| match own {
                -1 => f64::NEG_INFINITY,
                0 => -0.0,
                own => own as f64 / 7.0,
            };
            Arc::new(values.iter().map(|own| own.map(special)).collect::<Float64Array>())
        }
        11 => numbers!(TimestampSecondArray, i64),
        12 => numbers!(TimestampMillisecondArray, i64),
        13 => numbers!(TimestampNanosecondArray, i64),
        14 => {
            let array = values.iter().copied().collect::<TimestampMicrosecondArray>();
            Arc::new(array.with_timezone("Europe/Berlin"))
        }
        15 => decimals(4, 2),
        16 => decimals(12, 2),
        17 => decimals(21, 1),
        18 => decimals(38, 4),
        19 => {
            let text = |own: i64| "é,".repeat(own.unsigned_abs() as usize % 40);
            Arc::new(values.iter().map(|own| own.map(text)).collect::<StringArray>())
        }
        20 => Arc::new(values.iter().map(|own| own.map(|own| own > 0)).collect::<BooleanArray>()),
        _ => {
            let text = |own: i64| own.to_string();
            Arc::new(values.iter().map(|own| own.map(text)).collect::<LargeStringArray>())
        }
    }
}

const N_KINDS: usize = 22;

/// Rows whose every other column comes row by row.
fn rows_of(run_rows: &[u32], cells: &[Option<i64>], has_nulls: bool) -> RunBatch {
    let cell = |idx: usize| {
        let cell = cells[idx % cells.len()];
        if has_nulls { cell } else { cell.or(Some(5)) }
    };
    let of_runs: Vec<_> = (0..run_rows.len()).map(cell).collect();
    let n_rows: u32 = run_rows.iter().sum();
    let of_rows: Vec<_> = (0..n_rows as usize).map(|row| cell(row * 7)).collect();
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for kind in 0..N_KINDS {
        let own = column_of(kind, &of_runs);
        fields.push(Field::new(format!("runs {kind}"), own.data_type().clone(), has_nulls));
        columns.push(RunColumn::OfRuns(own));
    }
    for kind in [3, 10, 19] {
        let own = column_of(kind, &of_rows);
        fields.push(Field::new(format!("rows {kind}"), own.data_type().clone(), has_nulls));
        columns.push(RunColumn::OfRows(own));
    }
    RunBatch::try_new(Arc::new(Schema::new(fields)), run_rows.to_vec(), columns).unwrap()
}

/// Writes rows by their runs, in batches that end at some rows.
fn written_by_runs(path: &Path, rows: &RunBatch, ends: &[usize]) {
    let mut sink = FileSink::new(path, None, None).unwrap();
    sink.begin(rows.schema().clone(), RUNS).unwrap();
    let mut start = 0;
    for &end in ends.iter().chain([&rows.n_rows()]) {
        sink.write_runs(&rows.slice(start, end - start)).unwrap();
        start = end;
    }
    sink.finish().unwrap();
}

/// All rows of a file, and what it says of itself.
fn read_back(path: &Path) -> (RecordBatch, Arc<ParquetMetaData>) {
    let file = std::fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let (schema, metadata) = (reader.schema().clone(), reader.metadata().clone());
    let batches: Vec<RecordBatch> =
        reader.with_batch_size(1000).build().unwrap().map(|batch| batch.unwrap()).collect();
    (concat_batches(&schema, &batches).unwrap(), metadata)
}

/// Compares what is read of runs with what is read of a file that Arrow wrote row by row.
fn assert_equal_to_plain(rows: &RunBatch, ends: &[usize]) -> Arc<ParquetMetaData> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.parquet");
    written_by_runs(&path, rows, ends);
    let (read, metadata) = read_back(&path);
    let plain_path = folder.path().join("plain.parquet");
    let file = std::fs::File::create(&plain_path).unwrap();
    let mut plain = ArrowWriter::try_new(file, rows.schema().clone(), None).unwrap();
    plain.write(&rows.expanded().unwrap()).unwrap();
    plain.close().unwrap();
    let (expected, plain_metadata) = read_back(&plain_path);
    assert_eq!(read.schema(), expected.schema());
    assert!(read == expected, "the cells differ");
    let (own, plain) = (metadata.file_metadata(), plain_metadata.file_metadata());
    assert_eq!(own.num_rows(), plain.num_rows());
    assert_eq!(own.schema_descr().root_schema(), plain.schema_descr().root_schema());
    assert_eq!(own.key_value_metadata(), plain.key_value_metadata());
    metadata
}

/// Rows of runs, where a few runs are longer than a slice.
fn run_sizes() -> impl Strategy<Value = Vec<u32>> {
    let size = prop_oneof![20 => 1u32..6, 5 => 100u32..300, 1 => 60_000u32..140_000];
    proptest::collection::vec(size, 0..30)
}

fn cells() -> impl Strategy<Value = Vec<Option<i64>>> {
    let cell =
        prop_oneof![Just(None), (-3i64..4).prop_map(Some), (-9_000i64..9_000).prop_map(Some)];
    proptest::collection::vec(cell, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn runs_read_back_as_rows_of_every_type(
        run_rows in run_sizes(),
        cells in cells(),
        has_nulls: bool,
        end: prop::sample::Index,
    ) {
        let rows = rows_of(&run_rows, &cells, has_nulls);
        let end = end.index(rows.n_rows() + 1);
        assert_equal_to_plain(&rows, &[end]);
    }

    #[test]
    fn lines_of_runs_are_those_of_their_rows(
        run_rows in proptest::collection::vec(prop_oneof![9 => 1u32..6, 1 => 9_000u32..20_000], 0..20),
        cells in cells(),
        has_nulls: bool,
    ) {
        let rows = rows_of(&run_rows, &cells, has_nulls);
        let folder = tempfile::tempdir().unwrap();
        for name in ["t.csv", "t.jsonl"] {
            let path = folder.path().join(name);
            written_by_runs(&path, &rows, &[]);
            let text = std::fs::read_to_string(&path).unwrap();
            prop_assert!(text == text_of(name, &[rows.expanded().unwrap()]), "{}", name);
        }
    }
}

#[test]
fn the_bytes_of_a_file_do_not_depend_on_how_its_runs_were_cut() {
    let run_rows: Vec<u32> = (0..9_000).map(|run| 5 + run * 7 % 31).collect();
    let cells: Vec<_> = (0..977).map(|at| (at % 11 > 0).then_some(at * 13 % 701)).collect();
    let rows = rows_of(&run_rows, &cells, true);
    let folder = tempfile::tempdir().unwrap();
    let bytes_of = |ends: &[usize]| {
        let path = folder.path().join("t.parquet");
        written_by_runs(&path, &rows, ends);
        std::fs::read(path).unwrap()
    };
    let expected = bytes_of(&[]);
    let thousands: Vec<usize> = (1..150).map(|n| n * 1_003).collect();
    for ends in [&[1, 65_536, 65_537][..], &[70_001, 70_001, 149_999], &thousands] {
        assert!(bytes_of(ends) == expected, "{} batches", ends.len() + 1);
    }
}

#[test]
fn values_that_a_dictionary_has_no_room_for_stand_in_the_pages() {
    // As many numbers as a dictionary has no room for, and as much text.
    let n_runs = 300_000u32;
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..n_runs).map(i64::from)));
    let few: ArrayRef = Arc::new(Int64Array::from_iter_values((0..n_runs).map(|n| (n % 9).into())));
    let texts =
        (0..n_runs).map(|n| (n % 5 > 0).then(|| "text ".repeat(n as usize % 7) + &n.to_string()));
    let texts: ArrayRef = Arc::new(texts.collect::<StringArray>());
    let fields = [("number", &numbers, false), ("few", &few, false), ("text", &texts, true)];
    let fields =
        fields.map(|(name, own, is_null)| Field::new(name, own.data_type().clone(), is_null));
    let columns = [numbers, few, texts].map(RunColumn::OfRuns).to_vec();
    let run_rows = (0..n_runs).map(|run| 1 + run % 4).collect();
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let rows = RunBatch::try_new(schema, run_rows, columns).unwrap();
    let metadata = assert_equal_to_plain(&rows, &[]);
    // Whether data pages hold values, beside those that hold numbers of a dictionary.
    let has_plain = [0, 1, 2].map(|column| {
        let pages = metadata.row_group(0).column(column).page_encoding_stats_mask().unwrap();
        assert!(pages.is_set(Encoding::RLE_DICTIONARY));
        pages.is_set(Encoding::PLAIN)
    });
    assert_eq!(has_plain, [true, false, true]);
}

#[test]
fn a_table_of_runs_without_rows_and_one_of_a_single_run_read_back() {
    assert_equal_to_plain(&rows_of(&[], &[Some(1)], true), &[]);
    for has_nulls in [false, true] {
        assert_equal_to_plain(&rows_of(&[100_000], &[None], has_nulls), &[]);
        assert_equal_to_plain(&rows_of(&[1, 70_000], &[None, Some(3)], has_nulls), &[]);
    }
}

#[test]
fn runs_tell_nothing_of_themselves_but_their_cells() {
    let rows = rows_of(&[40, 30], &[Some(3), None], true);
    for group in assert_equal_to_plain(&rows, &[]).row_groups() {
        assert!(group.columns().iter().all(|column| column.statistics().is_none()));
        assert!(group.sorting_columns().is_none());
    }
}
