//! Cells are the values that they stand for, whatever these look like: end to end, in every format
//! and by every method.

mod common;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{
    Date32Array, Int64Array, StringArray, TimestampMicrosecondArray, TimestampNanosecondArray,
    TimestampSecondArray,
};
use arrow_schema::{DataType, TimeUnit};
use common::{Folder, array};

/// 9999-12-31 00:00:00, as sentinels have it, in seconds.
const SENTINEL: i64 = 253_402_214_400;

/// Days and times far away, four rows each, as Parquet has them.
fn far_times() -> Folder {
    let days = [2_932_896, -719_528, -719_529, i32::MAX];
    let seconds = [SENTINEL, -62_167_219_200, -62_167_219_201, 9_000_000_000_000];
    let four = |row: usize| row / 4;
    let day = (0..16).map(|row| days[four(row)]);
    let time = (0..16).map(|row| seconds[four(row)] * 1_000_000 + 500_000);
    let folder = Folder::new();
    folder.write_parquet(
        "in.parquet",
        vec![
            ("day", array(Date32Array::from_iter_values(day.clone()))),
            ("time", array(TimestampMicrosecondArray::from_iter_values(time.clone()))),
            ("kept_day", array(Date32Array::from_iter_values(day))),
            ("kept_time", array(TimestampMicrosecondArray::from_iter_values(time))),
            ("id", array(Int64Array::from_iter_values(0..16))),
        ],
    );
    folder
}

const DAYS: [&str; 4] = ["9999-12-31", "0000-01-01", "-000001-12-31", "+5881580-07-11"];
const TIMES: [&str; 4] = [
    "9999-12-31 00:00:00.5",
    "0000-01-01 00:00:00.5",
    "-000001-12-31 23:59:59.5",
    "+287168-08-24 16:00:00.5",
];

fn sorted(mut cells: Vec<String>) -> Vec<String> {
    cells.sort();
    cells.dedup();
    cells
}

fn sorted_texts(cells: &[&str]) -> Vec<String> {
    sorted(cells.iter().map(|&cell| cell.to_owned()).collect())
}

#[test]
fn times_beyond_the_calendar_are_shown_as_they_are_in_every_way() {
    let folder = far_times();
    let keep = "--keep kept_day,kept_time,id";
    folder.anonymize(&format!("in.parquet -o out.csv -k 4 --quasi day,time {keep}"));
    for (column, expected) in [("day", DAYS), ("time", TIMES)] {
        assert_eq!(sorted(folder.column("out.csv", column)), sorted_texts(&expected));
        let kept = format!("kept_{column}");
        assert_eq!(folder.column("out.csv", column), folder.column("out.csv", &kept));
    }
    // The text is read back, and leaves in typed columns.
    folder.anonymize(&format!("out.csv -o again.parquet -k 4 --quasi day,time {keep}"));
    folder.anonymize(&format!("in.parquet -o out.parquet -k 4 --quasi day,time {keep}"));
    for name in ["again.parquet", "out.parquet"] {
        let batch = folder.parquet(name);
        let days = |column: &str| batch[column].as_primitive::<Date32Type>().values().to_vec();
        let times =
            |column: &str| batch[column].as_primitive::<TimestampMicrosecondType>().values();
        assert_eq!(days("day_min"), days("kept_day"), "{name}");
        assert_eq!(times("time_max"), times("kept_time"), "{name}");
    }
    // An interval, a region, regions, a label of each level, and a name.
    let dates = "--hierarchy day=dates";
    for (flags, more, column, expected) in [
        ("-k 16", "", "time", "[-000001-12-31 23:59:59.5, +287168-08-24 16:00:00.5]"),
        ("-k 16 --no-compact", "", "day", "[-000001-12-31, +5881580-07-11]"),
        ("-k 4 --no-compact", "", "day", "-000001-12-31"),
        ("-k 4 --method incognito --level day=1", dates, "day", "9999-12"),
        ("-k 4 --method incognito --level day=2", dates, "day", "-000001-Q4"),
        ("-k 4 --method incognito --level day=3", dates, "day", "+5881580"),
        ("-k 4", "--type time=text", "time", "+287168-08-24 16:00:00.5"),
    ] {
        let more = format!("--quasi {column} {more}");
        folder.anonymize(&format!("in.parquet -o shown.csv --keep id {flags} {more}"));
        let shown = sorted(folder.column("shown.csv", column));
        assert!(shown.iter().any(|cell| cell == expected), "{flags}: {shown:?}");
        let run = folder.run(&format!("measure in.parquet shown.csv --key id --json {more}"));
        assert_eq!(run.code, Some(0), "{flags}: {}", run.err);
    }
}

#[test]
fn a_time_that_cannot_be_shown_is_refused_with_row_and_column() {
    let folder = Folder::new();
    let ids = || array(Int64Array::from_iter_values(0..4));
    let nanoseconds = TimestampNanosecondArray::from(vec![0, 1_000, 2_000, 2_001]);
    folder.write_parquet("fine.parquet", vec![("seen", array(nanoseconds)), ("id", ids())]);
    let seconds = TimestampSecondArray::from(vec![0, 1, SENTINEL, i64::MAX / 1_000]);
    folder.write_parquet("far.parquet", vec![("seen", array(seconds)), ("id", ids())]);
    folder.write(
        "leap.csv",
        "seen,id\n2016-12-31 23:59:59,1\n2016-12-31 23:59:58,2\n\
         2016-12-31 23:59:57,3\n2016-12-31 23:59:60,4\n",
    );
    for name in ["fine.parquet", "far.parquet", "leap.csv"] {
        let flags = "-k 2 --quasi seen --keep id --type seen=timestamp";
        let run = folder.run(&format!("anonymize {name} -o out.csv {flags}"));
        assert_eq!(run.code, Some(2), "{name}: {}", run.err);
        let place = if name == "leap.csv" { "line 5" } else { "row 4" };
        assert!(run.err.contains(place) && run.err.contains("seen"), "{name}: {}", run.err);
        assert!(!run.err.contains("2016") && !run.err.contains("922"), "{name}: {}", run.err);
        assert!(!folder.path("out.csv").exists());
    }
}

/// Names that look like what a release is written with.
const NASTY: [&str; 12] =
    ["{a, b}", "*", "a", "b", "[1, 2]", "\"q\"", "x, y", "{", "(3; 4)", "a}", "{\"a\", b}", " *"];

fn quoted(cell: &str) -> String {
    format!("\"{}\"", cell.replace('"', "\"\""))
}

/// Each name in so many rows, with a number beside it and one that tells rows apart.
fn nasty_table(names: &[&str], n_each: usize) -> String {
    let row = |row: usize| {
        let name = quoted(names[row % names.len()]);
        format!(
            "{row},{name},{},{}\n",
            row % 7,
            if row.is_multiple_of(3) { "flu" } else { "cough" }
        )
    };
    let rows: String = (0..names.len() * n_each).map(row).collect();
    format!("id,name,age,ill\n{rows}")
}

#[test]
fn names_that_look_like_sets_or_everything_are_read_back_whatever_the_method() {
    // A name `*` beside other names is refused where `*` is the label of all of them.
    let with_labels: Vec<&str> = NASTY.iter().copied().filter(|name| name.trim() != "*").collect();
    for (method, hierarchy) in [
        ("mondrian", ""),
        ("rtree", ""),
        ("local", ""),
        ("ordered-set", ""),
        ("tds --target age", ""),
        ("mondrian", "suppress"),
        ("rtree", "prefix"),
        ("local", "prefix"),
        ("incognito", "suppress"),
        ("samarati", "prefix"),
        ("bottom-up", "prefix"),
        ("subtree", "prefix"),
        ("tds --target age", "prefix"),
        ("attribute-suppression", ""),
    ] {
        let names: &[&str] = match hierarchy.is_empty() && method != "attribute-suppression" {
            true => &NASTY,
            false => &with_labels,
        };
        for k in [2, 5, 11] {
            let folder = Folder::with(nasty_table(names, 5));
            let columns = "--quasi name,age --keep id --sensitive ill";
            let mut more = String::new();
            if !hierarchy.is_empty() {
                more = format!("--hierarchy name={hierarchy} --hierarchy age=suppress");
            }
            let report = folder
                .anonymize(&format!("in.csv -o out.csv -k {k} --method {method} {columns} {more}"));
            let case = format!("{method} {hierarchy} k = {k}");
            // Everything or nothing is shown as what it would be with a hierarchy.
            if method == "attribute-suppression" {
                more = "--hierarchy name=suppress --hierarchy age=suppress".to_owned();
            }
            let measured = folder.run(&format!(
                "measure in.csv out.csv --key id --quasi name,age --sensitive ill {more} --json"
            ));
            assert_eq!(measured.code, Some(0), "{case}: {}", measured.err);
            let measured: serde_json::Value = serde_json::from_str(&measured.out).unwrap();
            let (found, told) = (&measured["loss"]["ncp"], &report["table_loss"]["ncp"]);
            let distance = found.as_f64().unwrap() - told.as_f64().unwrap();
            assert!(distance.abs() < 1e-9, "{case}: {found} is not {told}");
            let checked = folder.run(&format!("check out.csv -k {k} --quasi name,age"));
            assert_eq!(checked.code, Some(0), "{case}: {}", checked.said());
            let again = folder.run(&format!(
                "compact in.csv out.csv -o again.csv --key id -k {k} {columns} {more} --json"
            ));
            assert_eq!(again.code, Some(0), "{case}: {}", again.err);
            let again: serde_json::Value = serde_json::from_str(&again.out).unwrap();
            assert!(again["ncp_before"].is_number(), "{case}: {}", again["notes"]);
        }
    }
}

#[test]
fn a_value_that_stands_alone_is_not_everything_and_no_set() {
    let folder = Folder::with(nasty_table(&["*", "{a, b}", "a", "b"], 4));
    folder.anonymize("in.csv -o out.csv -k 4 --quasi name --keep id");
    let shown = sorted(folder.column("out.csv", "name"));
    assert_eq!(shown, ["\"*\"", "\"{a, b}\"", "a", "b"]);
}

#[test]
fn kept_numbers_of_text_are_numbers_in_parquet() {
    let folder = Folder::with(
        "age,whole,price,rate,long,zip,ref\n\
         20,7,1.5,1e-5,12345678901234567890,01907,x1\n\
         20,-3,22.25,2.5,1,01908,2\n\
         30,,3,,2,1909,3\n\
         30,4,0.125,-3e10,3,1910,4\n",
    );
    folder.anonymize(
        "in.csv -o out.parquet -k 2 --quasi age --keep whole,price,rate,long,zip,ref --type zip=text",
    );
    let batch = folder.parquet("out.parquet");
    for (column, data_type, is_nullable) in [
        ("age_min", DataType::Int64, false),
        ("whole", DataType::Int64, true),
        ("price", DataType::Decimal128(5, 3), false),
        ("rate", DataType::Float64, true),
        ("long", DataType::Decimal128(20, 0), false),
        ("zip", DataType::Utf8, false),
        ("ref", DataType::Utf8, false),
    ] {
        let field = batch.schema().field_with_name(column).unwrap().clone();
        assert_eq!((field.data_type(), field.is_nullable()), (&data_type, is_nullable), "{column}");
    }
    let rates: f64 = batch["rate"].as_primitive::<Float64Type>().iter().flatten().sum();
    assert_eq!(rates, 1e-5 + 2.5 - 3e10);
    let prices = batch["price"].as_primitive::<Decimal128Type>();
    assert_eq!(prices.values().iter().sum::<i128>(), 1_500 + 22_250 + 3_000 + 125);
    assert_eq!(batch["whole"].as_primitive::<Int64Type>().iter().flatten().sum::<i64>(), 8);
}

#[test]
fn text_of_a_typed_file_stays_text() {
    let folder = Folder::new();
    let ages = array(Int64Array::from(vec![20, 20, 30, 30]));
    let notes = array(StringArray::from(vec!["1", "2", "3", "4"]));
    let times = array(TimestampMicrosecondArray::from(vec![1, 2, 3, SENTINEL * 1_000_000]));
    let columns = vec![("age", ages), ("note", notes), ("seen", times)];
    folder.write_parquet("in.parquet", columns);
    folder.anonymize("in.parquet -o out.parquet -k 2 --quasi age --keep note,seen");
    let batch = folder.parquet("out.parquet");
    assert_eq!(batch["note"].data_type(), &DataType::Utf8);
    assert_eq!(batch["seen"].data_type(), &DataType::Timestamp(TimeUnit::Microsecond, None));
}

#[test]
fn a_byte_order_mark_inside_the_data_is_text() {
    let folder = Folder::with(
        "\u{feff}city,note\n\u{feff}Rome,\u{feff}a\n\u{feff}Rome,b\nRome,\u{feff}c\nRome,d\n",
    );
    folder.anonymize("in.csv -o out.csv -k 2 --quasi city --keep note");
    let cities = sorted(folder.column("out.csv", "city"));
    assert_eq!(cities, ["Rome", "\u{feff}Rome"]);
    assert_eq!(sorted(folder.column("out.csv", "note")), ["b", "d", "\u{feff}a", "\u{feff}c"]);
}

#[test]
fn packed_releases_do_not_tell_the_order_of_the_input() {
    let mut rows = common::patients(30_000, 5);
    let mut packed = Vec::new();
    for _ in 0..2 {
        let folder = Folder::with(common::table(&rows));
        let flags = "-k 5 --quasi age,zip,city --keep id --sensitive disease";
        for name in ["out.csv.gz", "out.csv.zst"] {
            folder.anonymize(&format!("in.csv -o {name} {flags}"));
        }
        packed.push([folder.bytes("out.csv.gz"), folder.bytes("out.csv.zst")]);
        common::Numbers::new(9).shuffle(&mut rows);
    }
    assert!(packed[0] == packed[1]);
}

#[test]
fn a_compacted_release_tells_nothing_of_rows_that_the_given_one_lacks() {
    let rows = "1,20,1.5,7,x\n2,21,2.25,8,y\n3,30,3,9,x\n4,31,3.5,,y\n";
    let release = "id,age,pay\n1,20-21,*\n2,20-21,*\n3,30-31,*\n4,30-31,*\n";
    let mut files = std::collections::BTreeSet::new();
    for other in [
        "5,20,1.5,7,x",
        "5,,,,",
        "5,99,0.12345,x,z",
        "5,7000000000,123456.5,0.125,1",
        "5,20.5,1,2020-01-01,",
    ] {
        let folder = Folder::with(format!("id,age,pay,visits,note\n{rows}{other}\n"));
        folder.write("given.csv", release);
        let flags = "--key id -k 2 --quasi age,pay --keep visits,note";
        let mut of_table = Vec::new();
        for (name, values) in
            [("out.csv", "interval"), ("out.csv", "bounds"), ("out.parquet", "bounds")]
        {
            let output = format!("-o {name} --values {values}");
            let run = folder.run(&format!("compact in.csv given.csv {output} {flags} --force"));
            assert_eq!(run.code, Some(0), "{other}: {}", run.err);
            of_table.push(folder.bytes(name));
        }
        files.insert(of_table);
    }
    assert_eq!(files.len(), 1);
}
