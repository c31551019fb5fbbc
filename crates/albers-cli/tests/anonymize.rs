//! `albers anonymize` end to end, where all is well.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::io::{Read as _, Write as _};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int16Type, Int64Type, TimestampMillisecondType,
    UInt64Type,
};
use arrow_array::{
    Array, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int16Array, Int64Array,
    StringArray, TimestampMillisecondArray, UInt64Array,
};
use arrow_schema::{DataType, TimeUnit};
use common::{Folder, PEOPLE, array, assert_is_part_of, csv_of, divergence, patients, table};
use serde_json::Value;

const ROLES: &str = "--quasi age,zip,city --sensitive disease --keep pay";

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items
}

/// The report without what differs from run to run.
fn timeless(mut report: Value) -> Value {
    let fields = report.as_object_mut().unwrap();
    fields.remove("seconds").unwrap();
    fields.remove("peak_rss_bytes").unwrap();
    report
}

// Texts.

#[test]
fn delimiters_quotes_line_ends_and_byte_order_marks_are_understood() {
    let plain = "age,city,note\n31,Aachen,a\n32,Bonn,b\n33,Celle,c\n34,Dresden,d\n";
    let expected = {
        let folder = Folder::with(plain);
        folder.anonymize("in.csv -o out.csv --quasi age,city --keep note -k 2");
        csv_of(&folder.read("out.csv"), ',')
    };
    for (what, text, delimiter) in [
        ("semicolons", plain.replace(',', ";"), ';'),
        ("tabs", plain.replace(',', "\t"), '\t'),
        ("bars", plain.replace(',', "|"), '|'),
        ("CRLF", plain.replace('\n', "\r\n"), ','),
        ("a byte order mark", format!("\u{feff}{plain}"), ','),
        ("no last line end", plain.trim_end().to_owned(), ','),
        ("blank lines", plain.replace('\n', "\n\n"), ','),
        ("quotes", plain.replace("Aachen", "\"Aachen\"").replace("age", "\"age\""), ','),
        ("all at once", format!("\u{feff}{}", plain.replace(',', ";").replace('\n', "\r\n")), ';'),
    ] {
        let folder = Folder::with(text);
        folder.anonymize("in.csv -o out.csv --quasi age,city --keep note -k 2");
        // A release is written with the delimiter of its table.
        assert_eq!(csv_of(&folder.read("out.csv"), delimiter), expected, "{what}");
    }
}

#[test]
fn a_delimiter_can_be_given() {
    // The commas of the header would be taken for the delimiter.
    let folder = Folder::with("a, or b:age\nx,y:31\nz,w:32\n");
    folder.anonymize("in.csv -o out.csv --quasi age -k 2 --delimiter :");
    // One that nobody would tell from the release is not handed on.
    assert_eq!(folder.read("out.csv"), "age\n\"[31, 32]\"\n\"[31, 32]\"\n");
}

#[test]
fn cells_with_delimiters_quotes_and_line_breaks_survive() {
    let folder = Folder::with(
        "age,note\n31,\"Smith, Ann\"\n32,\"she said \"\"no\"\"\"\n33,\"two\nlines\"\n34,\" x \"\n",
    );
    folder.anonymize("in.csv -o out.csv --quasi age --keep note -k 4");
    let text = folder.read("out.csv");
    for cell in ["\"Smith, Ann\"", "\"she said \"\"no\"\"\"", "\"two\nlines\"", " x "] {
        assert!(text.contains(cell), "{text}");
    }
    // The release is a table again, in which the interval is a name.
    folder.anonymize("out.csv -o again.csv --quasi age --keep note -k 1 --type age=text");
    let text = text.replace("\"[31, 34]\"", "\"\"\"[31, 34]\"\"\"");
    assert_eq!(sorted(text.lines().collect()), sorted(folder.read("again.csv").lines().collect()));
}

#[test]
fn packed_tables_are_read_and_written() {
    let folder = Folder::with(table(&patients(500, 1)));
    let flags = format!("{ROLES} -k 3");
    folder.anonymize(&format!("in.csv -o out.csv {flags}"));
    let plain = folder.bytes("in.csv");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    // Two members, as concatenated files have.
    gzip.write_all(&plain[..plain.len() / 2]).unwrap();
    let mut packed = gzip.finish().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain[plain.len() / 2..]).unwrap();
    packed.extend(gzip.finish().unwrap());
    folder.write("in.csv.gz", packed);
    folder.write("in.csv.zst", zstd::stream::encode_all(&plain[..], 3).unwrap());

    folder.anonymize(&format!("in.csv.gz -o out.csv.zst {flags}"));
    folder.anonymize(&format!("in.csv.zst -o out.csv.gz {flags}"));
    let mut text = Vec::new();
    let packed = folder.bytes("out.csv.gz");
    flate2::bufread::MultiGzDecoder::new(&packed[..]).read_to_end(&mut text).unwrap();
    assert_eq!(text, folder.bytes("out.csv"));
    let text = zstd::stream::decode_all(&folder.bytes("out.csv.zst")[..]).unwrap();
    assert_eq!(text, folder.bytes("out.csv"));
}

#[test]
fn a_tsv_is_written_with_tabs() {
    let folder = Folder::with(PEOPLE);
    folder.anonymize("in.csv -o out.tsv --quasi age --keep pay -k 3");
    assert_eq!(folder.read("out.tsv").lines().next(), Some("age\tpay"));
}

// Types.

/// A release with one class of two rows shows the least and the greatest value.
#[test]
fn every_type_is_shown_by_its_exact_bounds() {
    for (kind, a, b, shown) in [
        ("integer", "5", "-12", "[-12, 5]"),
        (
            "integer",
            "9223372036854775807",
            "-9223372036854775808",
            "[-9223372036854775808, 9223372036854775807]",
        ),
        ("decimal", "0.10", "2.5", "[0.1, 2.5]"),
        ("decimal", "-0.05", "3", "[-0.05, 3]"),
        ("float", "1e3", "0.1", "[0.1, 1000.0]"),
        ("float", "1e300", "-2.5", "[-2.5, 1e300]"),
        ("date", "2024-02-29", "1969-12-31", "[1969-12-31, 2024-02-29]"),
        (
            "timestamp",
            "2024-03-01 12:30:05",
            "2024-03-01T08:00:00",
            "[2024-03-01 08:00:00, 2024-03-01 12:30:05]",
        ),
        (
            "timestamp",
            "2024-03-01 12:30:05+02:00",
            "2024-03-01T12:00:00Z",
            "[2024-03-01 10:30:05Z, 2024-03-01 12:00:00Z]",
        ),
        ("boolean", "true", "False", "{false, true}"),
        ("text", "b", "a", "{a, b}"),
        ("code", "00501", "10001", "{00501, 10001}"),
    ] {
        let folder = Folder::with(format!("x,y\n{a},1\n{b},1\n"));
        let report = folder.anonymize("in.csv -o out.csv --quasi x --keep y -k 2");
        assert_eq!(report["columns"][0]["type"], kind, "{a} and {b} are told to be {kind}");
        assert_eq!(folder.csv("out.csv")[1..], [[shown, "1"], [shown, "1"]], "{kind}");
        // The same, and exact values, when the type is given and k is 1.
        folder.anonymize(&format!("in.csv -o out.csv --quasi x -k 1 --type x={kind}"));
        assert_eq!(folder.csv("out.csv").len(), 3);
    }
}

#[test]
fn leading_zeros_survive() {
    let folder = Folder::with("zip\n00501\n00501\n10001\n10001\n");
    folder.anonymize("in.csv -o out.csv --quasi zip -k 2");
    assert_eq!(sorted(folder.column("out.csv", "zip")), ["00501", "00501", "10001", "10001"]);
    folder.anonymize("in.csv -o out.csv --quasi zip -k 4 --hierarchy zip=prefix");
    assert_eq!(folder.column("out.csv", "zip"), ["*"; 4]);
    folder.anonymize("in.csv -o out.csv --quasi zip -k 2 --type zip=integer");
    assert_eq!(sorted(folder.column("out.csv", "zip")), ["10001", "10001", "501", "501"]);
}

#[test]
fn types_can_be_given() {
    let folder = Folder::with("n\n1\n2\n3\n4\n");
    let report = folder.anonymize("in.csv -o out.csv --quasi n -k 4 --type n=text");
    assert_eq!(report["columns"][0]["type"], "text");
    assert_eq!(folder.column("out.csv", "n"), ["{1, 2, 3, 4}"; 4]);
}

// Parquet.

#[test]
fn parquet_shows_bounds_in_the_type_of_the_column() {
    let folder = Folder::new();
    folder.write_parquet(
        "in.parquet",
        vec![
            ("small", array(Int16Array::from(vec![-5, 7]))),
            ("large", array(UInt64Array::from(vec![5, 7]))),
            (
                "decimal",
                array(Decimal128Array::from(vec![150, 20]).with_precision_and_scale(9, 2).unwrap()),
            ),
            ("float", array(Float64Array::from(vec![0.1, 2.5]))),
            ("day", array(Date32Array::from(vec![19_000, -1]))),
            ("time", array(TimestampMillisecondArray::from(vec![1_001, 5]))),
            ("flag", array(BooleanArray::from(vec![true, false]))),
            ("text", array(StringArray::from(vec!["b", "a"]))),
            ("keep", array(Int64Array::from(vec![1, 2]))),
        ],
    );
    folder.anonymize(
        "in.parquet -o out.parquet --quasi small,large,decimal,float,day,time,flag,text \
         --keep keep -k 2",
    );
    let batch = folder.parquet("out.parquet");
    let types: Vec<(String, DataType)> = batch
        .schema()
        .fields()
        .iter()
        .map(|field| (field.name().clone(), field.data_type().clone()))
        .collect();
    let time = DataType::Timestamp(TimeUnit::Millisecond, None);
    let bounded = [
        ("small", DataType::Int16),
        ("large", DataType::UInt64),
        ("decimal", DataType::Decimal128(9, 2)),
        ("float", DataType::Float64),
        ("day", DataType::Date32),
        ("time", time),
    ];
    let mut expected: Vec<(String, DataType)> = bounded
        .into_iter()
        .flat_map(|(name, kind)| ["min", "max"].map(|end| (format!("{name}_{end}"), kind.clone())))
        .collect();
    expected.push(("flag".to_owned(), DataType::Utf8));
    expected.push(("text".to_owned(), DataType::Utf8));
    expected.push(("keep".to_owned(), DataType::Int64));
    assert_eq!(types, expected);
    let column = |name: &str| batch.column_by_name(name).unwrap().clone();
    assert_eq!(column("small_min").as_primitive::<Int16Type>().value(0), -5);
    assert_eq!(column("large_max").as_primitive::<UInt64Type>().value(1), 7);
    assert_eq!(column("decimal_min").as_primitive::<Decimal128Type>().value(0), 20);
    assert_eq!(column("float_max").as_primitive::<Float64Type>().value(0), 2.5);
    assert_eq!(column("day_min").as_primitive::<Date32Type>().value(0), -1);
    assert_eq!(column("time_max").as_primitive::<TimestampMillisecondType>().value(0), 1_001);
    assert_eq!(column("text").as_string::<i32>().value(0), "{a, b}");
    assert_eq!(sorted(column("keep").as_primitive::<Int64Type>().values().to_vec()), [1, 2]);
}

#[test]
fn missing_values_of_parquet_have_a_column_of_their_own() {
    let folder = Folder::new();
    let ages = Int64Array::from(vec![Some(31), None, None, None, Some(60), Some(61)]);
    folder.write_parquet("in.parquet", vec![("age", array(ages))]);
    folder.anonymize("in.parquet -o out.parquet --quasi age -k 2 --bias age");
    let batch = folder.parquet("out.parquet");
    let ages = |name: &str| batch.column_by_name(name).unwrap().clone();
    let (low, missing) = (ages("age_min"), ages("age_missing"));
    let flags = missing.as_boolean();
    assert_eq!(missing.null_count(), 0);
    let n_unknown = (0..6).filter(|&row| low.is_null(row)).count();
    assert!(n_unknown == 0 || n_unknown >= 2);
    assert!((0..6).all(|row| !low.is_null(row) || flags.value(row)), "no bound, but no missing");
    assert!(flags.true_count() >= 3 && flags.true_count() < 6);
}

#[test]
fn text_becomes_parquet_and_comes_back() {
    let folder = Folder::with(table(&patients(400, 3)));
    folder.anonymize(&format!("in.csv -o out.parquet {ROLES} -k 3 --values interval"));
    folder.anonymize(&format!("in.csv -o out.csv {ROLES} -k 3"));
    // Kept numbers are numbers in a typed file.
    let pay = folder.parquet("out.parquet").column_by_name("pay").unwrap().clone();
    assert_eq!(pay.data_type(), &DataType::Int64);
    // As text, all columns kept: the same rows, with intervals as names.
    folder.anonymize(
        "out.parquet -o back.csv --quasi age --keep zip,city,disease,pay -k 1 --type age=text",
    );
    let rows = |name: &str| {
        let mut rows = folder.csv(name);
        rows.iter_mut().for_each(|row| row[0] = row[0].trim_matches('"').to_owned());
        sorted(rows)
    };
    assert_eq!(rows("back.csv"), rows("out.csv"));
}

#[test]
fn generated_parquet_is_anonymized() {
    let folder = Folder::new();
    let run = folder.run("generate agrawal -n 2000 -o in.parquet");
    assert_eq!(run.code, Some(0), "{}", run.err);
    let report = folder.anonymize("in.parquet -o out.parquet --quasi age,salary,zipcode -k 10");
    assert_eq!(report["rows"], 2000);
    assert_eq!(folder.parquet("out.parquet").num_rows(), 2000);
    assert!(report["class_size"]["min"].as_u64().unwrap() >= 10);
}

// Missing values.

#[test]
fn missing_values_are_shown_empty_counted_and_joined_only_as_a_set() {
    let folder = Folder::with("age,city\n31,\n32,\n33,Bonn\n34,Bonn\n");
    let report = folder.anonymize("in.csv -o out.csv --quasi age,city -k 2 --bias city");
    assert_eq!(
        sorted(folder.csv("out.csv")),
        [
            ["[31, 32]", ""],
            ["[31, 32]", ""],
            ["[33, 34]", "Bonn"],
            ["[33, 34]", "Bonn"],
            ["age", "city"]
        ]
    );
    assert_eq!(report["columns"][1]["missing"], 2);
    let run = folder.run("anonymize in.csv -o out.csv --force --quasi age,city -k 4");
    assert!(run.out.contains("city  quasi (text): set, 2 missing"), "{}", run.out);
    assert_eq!(folder.csv("out.csv")[1], ["[31, 34]", "{, Bonn}"]);

    let folder = Folder::with("age\n31\n\"\"\n33\n NA \n");
    let report = folder.anonymize("in.csv -o out.csv --quasi age -k 4 --missing NA");
    assert_eq!(folder.csv("out.csv")[1..], [["{, [31, 33]}"]; 4].map(|row| row.to_vec()));
    assert_eq!(report["columns"][0]["missing"], 2);
}

#[test]
fn a_column_of_missing_values_only_is_shown_empty() {
    let folder = Folder::with("age,city\n,a\n,b\n,c\n");
    for flags in ["", "--type age=integer", "--hierarchy city=suppress", "--split median"] {
        folder.anonymize(&format!("in.csv -o out.csv --quasi age,city -k 3 {flags}"));
        assert_eq!(folder.column("out.csv", "age"), ["", "", ""], "{flags}");
    }
}

#[test]
fn a_release_of_one_column_keeps_its_missing_rows() {
    let folder = Folder::with("age,x\n,1\n,2\n31,3\n31,4\n");
    folder.anonymize("in.csv -o out.csv --quasi age -k 2");
    assert_eq!(folder.read("out.csv").lines().filter(|line| !line.is_empty()).count(), 5);
}

// Roles.

#[test]
fn dropped_columns_are_dropped_and_the_summary_says_so() {
    let folder = Folder::with(PEOPLE);
    let run = folder.run(
        "anonymize in.csv -o out.csv --identifier name --quasi age --sensitive disease \
         --subject born -k 2",
    );
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(folder.csv("out.csv")[0], ["age", "disease"]);
    for line in [
        "  name     identifier: dropped",
        "  zip      no role: dropped",
        "  pay      no role: dropped",
        "  disease  sensitive (text): as is",
    ] {
        assert!(run.out.contains(line), "{line} is not in {}", run.out);
    }
    assert!(run.out.lines().any(|line| line.starts_with("  born ") && line.ends_with("dropped")));
}

#[test]
fn kept_and_sensitive_columns_leave_as_they_came() {
    let folder = Folder::with("age,note,disease\n31, a ,007\n32,1.50,008\n33,NaN,1e5\n34,,x\n");
    folder.anonymize("in.csv -o out.csv --quasi age --keep note --sensitive disease -k 2");
    assert_eq!(sorted(folder.column("out.csv", "note")), ["", " a ", "1.50", "NaN"]);
    assert_eq!(sorted(folder.column("out.csv", "disease")), ["007", "008", "1e5", "x"]);
}

#[test]
fn rows_keep_their_cells_together() {
    let rows = patients(700, 4);
    let folder = Folder::with(table(&rows));
    folder.anonymize("in.csv -o out.csv --quasi age --keep id,zip,city,disease,pay -k 5");
    let expected: Vec<String> = rows
        .iter()
        .map(|row| {
            let cells: Vec<&str> = row.split(',').collect();
            [&cells[..1], &cells[2..]].concat().join(",")
        })
        .collect();
    let released = folder.csv("out.csv").into_iter().skip(1);
    let released: Vec<String> =
        released.map(|row| [&row[..1], &row[2..]].concat().join(",")).collect();
    assert_eq!(sorted(released), sorted(expected));
}

// The same bytes.

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    let folder = Folder::with(table(&patients(20_000, 7)));
    for ending in ["csv", "parquet"] {
        for split in ["compact", "median"] {
            for flags in [
                "",
                "--hierarchy zip=prefix --categories set",
                "--hierarchy zip=prefix --hierarchy age=ranges:5,20",
                "--l-diversity disease=3",
                "--hierarchy zip=prefix --t-closeness disease=0.4 --no-compact",
            ] {
                let mut first = None;
                for threads in [1, 2, 4] {
                    let report = folder.anonymize(&format!(
                        "in.csv -o out.{ending} {ROLES} -k 5 --split {split} {flags} \
                         --threads {threads}"
                    ));
                    let made = (folder.bytes(&format!("out.{ending}")), timeless(report));
                    let same = first.get_or_insert_with(|| made.clone()) == &made;
                    assert!(same, "{ending}, {split}, {flags}, {threads} threads");
                }
            }
        }
    }
}

#[test]
fn the_seed_decides_the_order_and_nothing_else() {
    let folder = Folder::with(table(&patients(1000, 7)));
    let made = |name: &str, seed: u64| {
        folder.anonymize(&format!("in.csv -o {name}.csv {ROLES} -k 5 --seed {seed}"));
        folder.csv(&format!("{name}.csv"))
    };
    let (a, b, c) = (made("a", 1), made("b", 1), made("c", 2));
    assert!(a == b);
    assert!(a != c);
    assert!(sorted(a) == sorted(c));
}

#[test]
fn more_rows_than_a_block_are_published_in_the_same_way() {
    let folder = Folder::with(table(&patients(150_000, 7)));
    let report = folder.anonymize(&format!("in.csv -o out.csv {ROLES} -k 50 --threads 2"));
    assert_eq!(report["rows"], 150_000);
    assert_eq!(folder.read("out.csv").lines().count(), 150_001);
    let run = folder.run("check out.csv --quasi age,zip,city -k 50");
    assert_eq!(run.code, Some(0), "{}", run.out);
}

// The report.

#[test]
fn the_object_on_the_output_is_the_manifest_and_what_only_the_owner_may_see() {
    let folder = Folder::with(table(&patients(300, 1)));
    let job = format!("in.csv -o out.csv {ROLES} -k 3 --seed 9 --effort fast");
    let report = folder.anonymize(&job);
    let manifest = folder.json("out.csv.manifest.json");
    assert_is_part_of(&manifest, &report);
    assert_eq!(report["audience"], "owner");
    let mut published: Vec<&String> = manifest.as_object().unwrap().keys().collect();
    published.sort_unstable();
    let expected = [
        "accepted",
        "class_size",
        "classes",
        "columns",
        "digest",
        "findings",
        "loss",
        "method",
        "requirement",
        "rows",
        "seed",
        "suppressed",
        "version",
    ];
    assert_eq!(published, expected, "nothing else is published");
    for field in [
        "/rows",
        "/suppressed",
        "/classes",
        "/class_size/min",
        "/class_size/mean",
        "/class_size/max",
        "/seed",
        "/loss/discernibility",
        "/loss/certainty_penalty",
        "/loss/ncp",
        "/table_loss/ncp",
        "/table_loss/ncp_by_column/age",
        "/kl",
        "/loss/ncp_by_column/age",
        "/loss/ncp_by_column/zip",
        "/loss/ncp_by_column/city",
        "/seconds/read",
        "/seconds/partition",
        "/seconds/verify",
        "/seconds/write",
        "/seconds/total",
        "/peak_rss_bytes",
        "/spilled_bytes",
    ] {
        let value = report.pointer(field);
        assert!(value.is_some_and(Value::is_number), "{field} is {value:?}");
    }
    assert_eq!(report["rows"], 300);
    assert_eq!(report["suppressed"], 0);
    assert_eq!(report["seed"], 9);
    assert_eq!(report["spilled_bytes"], 0);
    assert!(report["peak_rss_bytes"].as_u64().unwrap() > 1 << 20);
    assert_eq!(report["requirement"], "k = 3");
    assert_eq!(
        (&report["method"], &report["ran"]),
        (&"auto, effort fast".into(), &"mondrian, compact split".into())
    );
    let rows = folder.csv("out.csv");
    assert_eq!(rows.len(), 301, "rows in are rows out");
    let classes = report["classes"].as_u64().unwrap();
    let mean = report["class_size"]["mean"].as_f64().unwrap();
    assert!((mean - 300.0 / classes as f64).abs() < 1e-12);
}

#[test]
fn the_summary_is_for_people_and_the_errors_stay_empty() {
    let folder = Folder::with(table(&patients(300, 1)));
    let run = folder.run(&format!("anonymize in.csv -o out.csv {ROLES} -k 3"));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    for part in ["300 rows in ", "0 suppressed", "verified: k = 3", "ncp 0.", "wrote out.csv"] {
        assert!(run.out.contains(part), "{part} is not in {}", run.out);
    }
}

#[test]
fn a_release_replaces_an_earlier_one_only_by_force() {
    let folder = Folder::with(table(&patients(300, 1)));
    let arguments = format!("anonymize in.csv -o out.csv {ROLES} -k 3");
    for name in ["out.csv", "out.csv.manifest.json"] {
        folder.write(name, "old");
        let run = folder.run(&arguments);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
        assert!(run.err.contains(name) && run.err.contains("--force"), "{}", run.err);
        assert_eq!(folder.names(), ["in.csv", name]);
        assert_eq!(folder.read(name), "old");
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    folder.write("out.csv", "old");
    folder.write("out.csv.manifest.json", "old");
    folder.write("job.toml", "force = true\n");
    let run = folder.run(&format!("{arguments} --job job.toml"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    std::fs::remove_file(folder.path("job.toml")).unwrap();
    folder.anonymize(&format!("in.csv -o out.csv {ROLES} -k 3"));
    assert_eq!(folder.csv("out.csv").len(), 301);
    assert_eq!(folder.names(), common::WITH_RELEASE);
}

// Flags that change the loss.

fn loss(report: &Value, column: &str) -> f64 {
    report["table_loss"]["ncp_by_column"][column].as_f64().unwrap()
}

#[test]
fn regions_cover_more_than_bounds() {
    let folder = Folder::with(table(&patients(600, 2)));
    for flags in ["compact", "median", "compact --hierarchy zip=prefix"] {
        let flags = format!("in.csv -o out.csv {ROLES} -k 5 --split {flags}");
        let compact = folder.anonymize(&flags);
        let regions = folder.anonymize(&format!("{flags} --no-compact"));
        let ncp = |report: &Value| report["table_loss"]["ncp"].as_f64().unwrap();
        assert!(ncp(&regions) > ncp(&compact), "{flags}");
        for column in ["age", "zip", "city"] {
            assert!(loss(&regions, column) >= loss(&compact, column) - 1e-12, "{flags}: {column}");
        }
    }
}

#[test]
fn bias_and_weight_lower_the_loss_of_their_column() {
    let folder = Folder::with(table(&patients(600, 2)));
    for split in ["compact", "median"] {
        for column in ["age", "zip", "city"] {
            let run = |flags: &str| {
                let report = folder
                    .anonymize(&format!("in.csv -o out.csv {ROLES} -k 5 --split {split} {flags}"));
                loss(&report, column)
            };
            let plain = run("");
            let biased = run(&format!("--bias {column}"));
            let weighted = run(&format!("--weight {column}=10"));
            let light = run(&format!("--weight {column}=0.1"));
            assert!(biased < plain, "{split}, {column}: bias {biased}, plain {plain}");
            assert!(weighted < plain, "{split}, {column}: weight 10 {weighted}, plain {plain}");
            assert!(light > plain, "{split}, {column}: weight 0.1 {light}, plain {plain}");
        }
    }
}

#[test]
fn a_larger_k_loses_more() {
    let folder = Folder::with(table(&patients(600, 2)));
    let ncp = |k: u64| {
        let report = folder.anonymize(&format!("in.csv -o out.csv {ROLES} -k {k}"));
        report["table_loss"]["ncp"].as_f64().unwrap()
    };
    let losses = [1, 2, 5, 20, 100, 600].map(ncp);
    assert!(losses.is_sorted(), "{losses:?}");
    assert_eq!((losses[0], losses[5]), (0.0, 1.0));
}

// Jobs.

#[test]
fn a_job_file_runs_and_flags_override_it() {
    let folder = Folder::with(table(&patients(300, 1)));
    std::fs::create_dir(folder.path("jobs")).unwrap();
    // Paths are relative to the job file.
    folder.write(
        "jobs/job.toml",
        "input = \"../in.csv\"\noutput = \"../out.csv\"\nk = 3\nsplit = \"median\"\nseed = 4\n\
         [columns.age]\nrole = \"quasi\"\n\
         [columns.zip]\nrole = \"quasi\"\nhierarchy = \"prefix\"\n\
         [columns.disease]\nrole = \"sensitive\"\nl-diversity = \"distinct:2\"\n\
         [columns.id]\nrole = \"identifier\"\n",
    );
    let report = folder.anonymize("--job jobs/job.toml");
    assert_eq!(report["requirement"], "k = 3, distinct 2-diversity of 'disease'");
    assert_eq!(report["ran"], "mondrian, median split");
    assert_eq!(report["seed"], 4);
    assert_eq!(folder.csv("out.csv")[0], ["age", "zip", "disease"]);
    let flags = "--quasi age,zip --sensitive disease --identifier id --hierarchy zip=prefix -k 3 \
                 --split median --seed 4 --l-diversity disease=distinct:2";
    folder.anonymize(&format!("in.csv -o flags.csv {flags}"));
    assert_eq!(folder.read("flags.csv"), folder.read("out.csv"));

    let report = folder.anonymize(
        "in.csv --job jobs/job.toml -o other.csv -k 7 --split compact --seed 5 --keep id \
         --l-diversity disease=distinct:3",
    );
    assert_eq!(report["requirement"], "k = 7, distinct 3-diversity of 'disease'");
    assert_eq!(report["ran"], "mondrian, compact split");
    assert_eq!(folder.csv("other.csv")[0], ["id", "age", "zip", "disease"]);
}

// Ends of the range.

#[test]
fn one_row_can_be_published_with_k_1() {
    for flags in ["", "--split median", "--no-compact", "--hierarchy city=suppress"] {
        let folder = Folder::with("age,city,disease\n31,Bonn,flu\n");
        let report = folder.anonymize(&format!(
            "in.csv -o out.csv --quasi age,city --sensitive disease -k 1 {flags}"
        ));
        assert_eq!(folder.csv("out.csv")[1], ["31", "Bonn", "flu"], "{flags}");
        assert_eq!(report["table_loss"]["ncp"], 0.0);
        assert_eq!(report["classes"], 1);
    }
}

#[test]
fn rows_that_are_all_alike_are_one_class_and_the_note_says_so() {
    let folder = Folder::with(format!("age,city\n{}", "31,Bonn\n".repeat(50)));
    for flags in ["", "--split median", "--no-compact", "--hierarchy city=prefix"] {
        let report = folder.anonymize(&format!("in.csv -o out.csv --quasi age,city -k 2 {flags}"));
        assert_eq!(report["classes"], 1);
        assert_eq!(report["table_loss"]["ncp"], 0.0, "{flags}");
        assert_eq!(*divergence(&report), 0.0, "{flags}");
        assert_eq!(folder.csv("out.csv")[50], ["31", "Bonn"], "{flags}");
        assert!(report["notes"][0].as_str().unwrap().contains("all rows are in one class"));
    }
}

#[test]
fn a_constant_column_loses_nothing() {
    let rows: Vec<String> = (0..40).map(|row| format!("{},same,7", 20 + row)).collect();
    let folder = Folder::with(format!("age,word,number\n{}\n", rows.join("\n")));
    for split in ["compact", "median"] {
        let report = folder
            .anonymize(&format!("in.csv -o out.csv --quasi age,word,number -k 4 --split {split}"));
        assert!(report["classes"].as_u64().unwrap() >= 8, "{split}");
        assert_eq!((loss(&report, "word"), loss(&report, "number")), (0.0, 0.0), "{split}");
    }
}

#[test]
fn a_column_of_unique_names_is_shown_as_sets_of_k() {
    let rows: Vec<String> = (0..100).map(|row| format!("name{row:03}")).collect();
    let folder = Folder::with(format!("name\n{}\n", rows.join("\n")));
    for split in ["compact", "median"] {
        let report =
            folder.anonymize(&format!("in.csv -o out.csv --quasi name -k 5 --split {split}"));
        let n_names: usize = folder
            .column("out.csv", "name")
            .iter()
            .map(|set| set.split(", ").count())
            .min()
            .unwrap();
        assert!(n_names >= 5, "{split}");
        assert!(report["classes"].as_u64().unwrap() >= 10, "{split}");
    }
}

#[test]
fn sixty_four_quasi_identifiers_are_taken() {
    let names: Vec<String> = (0..64).map(|at| format!("q{at}")).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..50 {
        let cells: Vec<String> = (0..64).map(|at| format!("{}", (row * (at + 3)) % 17)).collect();
        text += &(cells.join(",") + "\n");
    }
    let folder = Folder::with(text);
    for split in ["compact", "median"] {
        let report = folder.anonymize(&format!(
            "in.csv -o out.csv --quasi {} -k 5 --split {split}",
            names.join(",")
        ));
        assert!(report["class_size"]["min"].as_u64().unwrap() >= 5);
        assert_eq!(folder.csv("out.csv")[0], names);
    }
}

#[test]
fn a_label_with_thousands_of_children_keeps_those_that_are_large_enough() {
    // Enough rows for the top of the tree to be sampled.
    let mut rows = String::from("code\n");
    for value in 0..3_400 {
        rows.push_str(&format!("v{value}\n").repeat(40));
    }
    rows.push_str("alone\n");
    let folder = Folder::with(rows);
    for split in ["compact", "median"] {
        let report = folder.anonymize(&format!(
            "in.csv -o out.csv --quasi code --hierarchy code=suppress -k 5 --split {split}"
        ));
        assert_eq!(report["rows"], 136_001, "{split}");
        // The value of one row needs others to hide among; all the rest is shown as it is.
        assert_eq!(report["classes"], 3_400, "{split}");
        assert_eq!(report["class_size"]["max"], 41, "{split}");
    }
}
