//! What the program takes of memory, measured from outside: never more than its budget and 64 MB
//! beside it, and what does not fit is refused with what would do.
//!
//! The whole matrix is made by `bench/memory_matrix.py`; these are its quick ones.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::process::Stdio;
use std::sync::Arc;

use albers::hierarchy_file::{ColumnValues, HierarchyRequest};
use albers::{ErrorKind, Job, Silent};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use common::Folder;
use common::watched::{Watched, watched};

/// What may be taken beside the budget: the program itself, and what does not grow with a table.
const BESIDE_BYTES: u64 = 64_000_000;

const ACCEPT: &str = "--accept unique-keep --accept text-list --accept secret-without-rule \
                      --accept keep-tells-quasi --accept rows-per-person -k 5 --force -q";

/// Runs the program, with arguments that hold no blanks.
fn measured(folder: &Folder, arguments: &str) -> Watched {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    watched(&folder.path(""), &arguments, Stdio::null())
}

/// Runs within a budget; refusals are told what would do, and write nothing.
fn within(folder: &Folder, budget_mb: u64, arguments: &str) -> Watched {
    let run = measured(folder, &format!("{arguments} --memory {budget_mb}MB"));
    let allowed = budget_mb * 1_000_000 + BESIDE_BYTES;
    assert!(
        run.peak_bytes <= allowed,
        "{arguments} took {} MB of {} MB: {}",
        run.peak_bytes / 1_000_000,
        allowed / 1_000_000,
        run.err
    );
    assert!(matches!(run.code, Some(0 | 2)), "{arguments} ended with {:?}: {}", run.code, run.err);
    if run.code == Some(2) {
        assert!(!folder.path("out.csv").exists() && !folder.path("out.parquet").exists());
    }
    run
}

/// The same, where it must be refused for its memory.
fn refused(folder: &Folder, budget_mb: u64, arguments: &str) {
    let run = within(folder, budget_mb, arguments);
    assert_eq!(run.code, Some(2), "{arguments}: {}", run.err);
    assert!(run.err.contains("memory"), "{arguments}: {}", run.err);
}

fn lines(folder: &Folder, name: &str, header: &str, rows: impl Iterator<Item = String>) {
    let mut file = BufWriter::new(File::create(folder.path(name)).unwrap());
    writeln!(file, "{header}").unwrap();
    rows.for_each(|row| writeln!(file, "{row}").unwrap());
    file.flush().unwrap();
}

fn names(folder: &Folder, n_rows: usize) {
    let row = |i: usize| format!("{},name-{:07}-of-a-person", i % 90, i * 7919 % 1_000_003);
    lines(folder, "in.csv", "age,text", (0..n_rows).map(row));
}

fn parquet(folder: &Folder, text: ArrayRef, properties: WriterProperties) {
    let parts = [(batch(text), 1)];
    parquet_of(folder, &parts, properties);
}

fn batch(text: ArrayRef) -> RecordBatch {
    let ages = Int32Array::from_iter_values((0..text.len() as i32).map(|row| row % 80));
    let columns: [(&str, ArrayRef); 2] = [("age", Arc::new(ages)), ("text", text)];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A file of batches, each so many times one after another.
fn parquet_of(folder: &Folder, parts: &[(RecordBatch, usize)], properties: WriterProperties) {
    let file = File::create(folder.path("in.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, parts[0].0.schema(), Some(properties)).unwrap();
    for (batch, times) in parts {
        (0..*times).for_each(|_| writer.write(batch).unwrap());
    }
    writer.close().unwrap();
}

#[test]
fn a_long_text_in_a_dictionary_of_parquet_is_not_unfolded_for_all_rows() {
    const N_ROWS: usize = 100_000;
    let folder = Folder::new();
    let keys = Int32Array::from_iter_values((0..N_ROWS as i32).map(|row| row % 2));
    let texts = StringArray::from_iter_values(["x".repeat(8_000), "y".repeat(8_000)]);
    let text = DictionaryArray::<Int32Type>::new(keys, Arc::new(texts));
    parquet(&folder, Arc::new(text), WriterProperties::default());
    for columns in ["--quasi age --keep text", "--quasi age,text", "--quasi age --identifier text"]
    {
        for method in ["auto", "rtree"] {
            let command =
                format!("anonymize in.parquet -o out.parquet --method {method} {columns}");
            within(&folder, 64, &format!("{command} {ACCEPT}"));
            let _ = std::fs::remove_file(folder.path("out.parquet"));
        }
    }
    within(&folder, 64, "check in.parquet --quasi age,text -k 1");
}

#[test]
fn pages_of_parquet_that_are_larger_than_the_memory_are_refused() {
    let folder = Folder::new();
    let texts = StringArray::from_iter_values((0..120).map(|_| "0".repeat(1_000_000)));
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_data_page_size_limit(1 << 30)
        .set_write_batch_size(1 << 20)
        .set_compression(parquet::basic::Compression::ZSTD(Default::default()));
    parquet(&folder, Arc::new(texts), properties.build());
    let size = std::fs::metadata(folder.path("in.parquet")).unwrap().len();
    assert!(size < 200_000, "{size}");
    refused(
        &folder,
        32,
        &format!("anonymize in.parquet -o out.csv --quasi age --keep text {ACCEPT}"),
    );
    refused(&folder, 32, "check in.parquet --quasi age,text");
}

#[test]
fn texts_that_share_their_beginnings_are_not_decoded_all_at_once() {
    let folder = Folder::new();
    let texts = StringArray::from_iter_values((0..500).map(|_| "x".repeat(20_000)));
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_column_encoding("text".into(), Encoding::DELTA_BYTE_ARRAY)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_compression(parquet::basic::Compression::ZSTD(Default::default()));
    parquet_of(&folder, &[(batch(Arc::new(texts)), 20)], properties.build());
    for columns in ["--keep text", "--identifier text"] {
        let command = format!("anonymize in.parquet -o out.csv --quasi age {columns} {ACCEPT}");
        within(&folder, 32, &command);
    }
    within(&folder, 32, "check in.parquet --quasi age,text");
}

#[test]
fn long_texts_among_many_short_ones_are_not_decoded_all_at_once() {
    let folder = Folder::new();
    let long = (0..100).map(|row| format!("{row:03}{}", "x".repeat(50_000)));
    let long = batch(Arc::new(StringArray::from_iter_values(long)));
    let short = batch(Arc::new(StringArray::from_iter_values((0..20_000).map(|_| ""))));
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_write_batch_size(16)
        .set_compression(parquet::basic::Compression::ZSTD(Default::default()));
    parquet_of(&folder, &[(long, 40), (short, 30)], properties.build());
    let command = format!("anonymize in.parquet -o out.csv --quasi age --keep text {ACCEPT}");
    within(&folder, 16, &command);
    within(&folder, 16, "check in.parquet --quasi age");
}

/// A file of many columns and few rows, of which what unpacks them would take most.
fn many_columns(folder: &Folder, n_columns: usize) -> String {
    const N_ROWS: i64 = 2_000;
    let column = |place: i64| -> ArrayRef {
        let numbers = (0..N_ROWS).map(|row| row * (place + 1) % 97);
        Arc::new(Int64Array::from_iter_values(numbers))
    };
    let names = (0..n_columns).map(|place| format!("c{place}"));
    let columns = names.clone().zip((0..n_columns as i64).map(column));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::None)
        .set_compression(parquet::basic::Compression::ZSTD(Default::default()));
    parquet_of(folder, &[(batch, 1)], properties.build());
    names.skip(1).collect::<Vec<_>>().join(",")
}

#[test]
fn many_columns_of_parquet_are_unpacked_within_the_memory() {
    let folder = Folder::new();
    let kept = many_columns(&folder, 600);
    let command = format!("anonymize in.parquet -o out.csv --quasi c0 --keep {kept} {ACCEPT}");
    let mut releases = Vec::new();
    for budget_mb in [32, 500] {
        let run = within(&folder, budget_mb, &command);
        assert_eq!(run.code, Some(0), "{}", run.err);
        releases.push(folder.bytes("out.csv"));
    }
    assert!(releases[0] == releases[1], "no memory decides what is published");
    let _ = std::fs::remove_file(folder.path("out.csv"));
    let kept = many_columns(&folder, 2_000);
    let command = format!("anonymize in.parquet -o out.csv --quasi c0 --keep {kept} {ACCEPT}");
    let run = within(&folder, 16, &command);
    assert!(run.code == Some(0) || run.err.contains("memory"), "{}", run.err);
}

#[test]
fn long_rows_of_few_classes_are_sorted_by_bucket_within_the_memory() {
    let folder = Folder::new();
    // As `sets.csv` and `one-group.parquet` of the matrix: all rows of a part are in a few classes.
    let set = |row: usize| {
        let names = (0..400).map(|name| format!("v{}", (row / 5 * 13 + name) % 5_000));
        format!("{},\"{{{}}}\"", row % 9, names.collect::<Vec<_>>().join(", "))
    };
    lines(&folder, "in.csv", "age,text", (0..8_000).map(set));
    let name = |row: i32| format!("name-{:07}-of-a-person", row.wrapping_mul(7919)).repeat(4);
    let texts = StringArray::from_iter_values((0..400_000).map(name));
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(400_000))
        .set_compression(parquet::basic::Compression::ZSTD(Default::default()));
    parquet(&folder, Arc::new(texts), properties.build());
    for command in [
        "anonymize in.csv -o out.csv --quasi age --sensitive text",
        "anonymize in.parquet -o out.csv --quasi age --keep text",
        "anonymize in.parquet -o out.csv --quasi age --keep text --method rtree",
    ] {
        let run = within(&folder, 32, &format!("{command} {ACCEPT}"));
        assert_eq!(run.code, Some(0), "{command}: {}", run.err);
        let small = folder.bytes("out.csv");
        let run = within(&folder, 500, &format!("{command} {ACCEPT}"));
        assert_eq!(run.code, Some(0), "{command}: {}", run.err);
        assert!(small == folder.bytes("out.csv"), "no memory decides what is published");
        std::fs::remove_file(folder.path("out.csv")).unwrap();
    }
}

#[test]
fn a_footer_that_is_larger_than_the_memory_is_refused() {
    let folder = Folder::new();
    let ages: ArrayRef = Arc::new(Int32Array::from_iter_values(0..2));
    let other = (0..60).map(|place| (format!("c{place}"), ages.clone()));
    let columns = std::iter::once(("age".to_owned(), ages.clone())).chain(other);
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_max_row_group_row_count(Some(2));
    parquet_of(&folder, &[(batch, 1_000)], properties.build());
    let run = within(&folder, 8, "check in.parquet --quasi age");
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(run.err.contains("the footer of a Parquet file"), "{}", run.err);
}

#[test]
fn keys_of_objects_that_are_longer_than_the_memory_are_refused() {
    let folder = Folder::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let long = "a".repeat(1_000_000);
    (0..200).for_each(|row| writeln!(gzip, "{{\"age\": 1, \"k{row}{long}\": 1}}").unwrap());
    folder.write("in.jsonl.gz", gzip.finish().unwrap());
    let command = format!("anonymize in.jsonl.gz -o out.csv --quasi age {ACCEPT}");
    let run = within(&folder, 32, &command);
    assert!(run.err.contains("line 5: the keys of all lines"), "{}", run.err);
}

#[test]
fn what_stands_beside_a_release_is_refused_where_it_is_larger_than_the_memory() {
    let folder = Folder::new();
    lines(&folder, "in.csv", "age", (0..100).map(|row| format!("{}", row % 3)));
    let run = measured(&folder, "anonymize in.csv -o r.csv --quasi age -k 5 -q");
    assert_eq!(run.code, Some(0), "{}", run.err);
    let grow = |name: &str| {
        let file = File::options().create(true).append(true).open(folder.path(name)).unwrap();
        file.set_len(300_000_000).unwrap();
    };
    grow("asked.txt");
    refused(&folder, 32, "query r.csv --conditions asked.txt");
    grow("r.csv.codebook.json");
    refused(&folder, 32, "query r.csv age<2");
    std::fs::remove_file(folder.path("r.csv.codebook.json")).unwrap();
    grow("r.csv.manifest.json");
    refused(&folder, 32, "check r.csv");
    refused(&folder, 32, "query r.csv age<2");
}

#[test]
fn a_model_whose_names_are_larger_than_the_memory_is_refused() {
    let folder = Folder::new();
    names(&folder, 60_000);
    std::fs::create_dir(folder.path("models")).unwrap();
    let command = "anonymize in.csv -o out.csv --quasi age,text --model models/model --memory 1GB";
    let run = measured(&folder, &format!("{command} {ACCEPT}"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    std::fs::remove_file(folder.path("out.csv")).unwrap();
    let command = format!("recode models/model in.csv -o out.csv {ACCEPT}");
    let run = within(&folder, 8, &command.replace("-k 5", "--accept second-release"));
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(run.err.contains("too small for the recoding function"), "{}", run.err);
}

#[test]
fn a_file_of_levels_that_is_checked_is_refused_where_it_is_larger_than_the_memory() {
    let folder = Folder::new();
    lines(&folder, "in.csv", "age", (0..100).map(|row| format!("{}", row % 3)));
    let levels = folder.path("levels.csv");
    File::create(&levels).unwrap().set_len(300_000_000).unwrap();
    let memory = Some("32MB".parse().unwrap());
    let job = Job { input: Some(folder.path("in.csv")), memory, ..Job::default() };
    let request = HierarchyRequest { job, column: "age".to_owned(), column_type: None };
    let values = ColumnValues::read(&request, &Silent).unwrap();
    assert_eq!(values.check(&levels).unwrap_err().kind(), ErrorKind::Memory);
    assert_eq!(values.of_file(&levels).unwrap_err().kind(), ErrorKind::Memory);
}

#[test]
fn many_names_stay_within_the_memory_or_are_refused() {
    let folder = Folder::new();
    names(&folder, 300_000);
    for columns in ["--keep text", "--subject text", "--identifier text", "--sensitive text"] {
        let command = format!("anonymize in.csv -o out.csv --quasi age {columns} {ACCEPT}");
        within(&folder, 16, &command);
        let _ = std::fs::remove_file(folder.path("out.csv"));
    }
    let command = format!("anonymize in.csv -o out.csv {ACCEPT}");
    refused(&folder, 16, &format!("{command} --quasi age,text"));
    refused(&folder, 64, &format!("{command} --quasi age,text --hierarchy text=prefix"));
}

#[test]
fn what_a_refusal_advises_is_enough() {
    let folder = Folder::new();
    names(&folder, 60_000);
    let command = format!("anonymize in.csv -o out.csv --quasi age,text {ACCEPT}");
    let run = within(&folder, 4, &command);
    assert_eq!(run.code, Some(2), "{}", run.err);
    let (_, advice) = run.err.split_once("--memory ").unwrap();
    let megabytes: u64 = advice.split_once("MB").unwrap().0.parse().unwrap();
    assert_eq!(within(&folder, megabytes, &command).code, Some(0));
}

#[test]
fn bombs_of_gzip_and_zstd_are_refused() {
    let folder = Folder::new();
    let bomb = |starts: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(starts).unwrap();
        let zeros = vec![b'0'; 1 << 20];
        (0..300).for_each(|_| gzip.write_all(&zeros).unwrap());
        gzip.finish().unwrap()
    };
    folder.write("line.csv.gz", bomb(b"age,text\n1,"));
    folder.write("header.csv.gz", bomb(b""));
    folder.write("line.jsonl.gz", bomb(b"{\"age\": 1, \"text\": \""));
    folder.write("levels.csv.gz", bomb(b"1,"));
    lines(&folder, "in.csv", "age,text", (0..100).map(|row| format!("{},a", row % 3)));
    folder.write("line.csv.zst", zstd_of_runs(20, b"age,text\n1,", 2_000));
    folder.write("window.csv.zst", zstd_of_runs(31, b"age,text\n1,", 10));
    for name in ["line.csv.gz", "header.csv.gz", "line.jsonl.gz", "line.csv.zst", "window.csv.zst"]
    {
        for command in ["anonymize -o out.csv --keep text --quasi age", "check --quasi age"] {
            let (verb, flags) = command.split_once(' ').unwrap();
            let flags =
                if verb == "anonymize" { format!("{flags} {ACCEPT}") } else { flags.into() };
            assert_eq!(within(&folder, 32, &format!("{verb} {name} {flags}")).code, Some(2));
        }
    }
    let command = "anonymize in.csv -o out.csv --quasi age";
    for levels in ["--hierarchy age=levels.csv.gz", "--method grid --scale age=levels.csv.gz"] {
        refused(&folder, 32, &format!("{command} {levels} {ACCEPT}"));
    }
}

/// A frame that asks for a window and holds some text, and runs of zeros of 128 KiB each.
fn zstd_of_runs(window_log: u8, starts: &[u8], n_runs: usize) -> Vec<u8> {
    let head = |length: usize, kind: u32, is_last: bool| {
        let head = (length as u32) << 3 | kind << 1 | u32::from(is_last);
        head.to_le_bytes()[..3].to_vec()
    };
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, (window_log - 10) << 3];
    frame.extend(head(starts.len(), 0, false));
    frame.extend_from_slice(starts);
    for run in 1..=n_runs {
        frame.extend(head(1 << 17, 1, run == n_runs));
        frame.push(b'0');
    }
    frame
}

#[test]
fn a_record_that_is_too_long_is_refused_with_what_would_do() {
    let folder = Folder::new();
    let long = "x".repeat(60_000_000);
    folder.write("in.csv", format!("age,text\n1,{long}\n2,y\n"));
    folder.write("in.jsonl", format!("{{\"age\": 1, \"text\": \"{long}\"}}\n{{\"age\": 2}}\n"));
    folder.write("open.csv", format!("age,text\n1,\"{}", "line\n".repeat(12_000_000)));
    for name in ["in.csv", "in.jsonl"] {
        let command = format!("anonymize {name} -o out.csv --quasi age --keep text {ACCEPT}");
        let run = within(&folder, 32, &command);
        assert!(
            run.err.contains("the longest row") && run.err.contains("--memory 490MB"),
            "{}",
            run.err
        );
    }
    let run = within(&folder, 32, &format!("anonymize open.csv -o out.csv --quasi age {ACCEPT}"));
    assert!(run.err.contains("line 2") && run.err.contains("never ends"), "{}", run.err);
}

#[test]
fn a_job_file_that_is_longer_than_any_is_refused() {
    let folder = Folder::new();
    lines(&folder, "in.csv", "age,text", (0..100).map(|row| format!("{},a", row % 3)));
    let missing = "  \"a text that stands for nothing\",\n".repeat(400_000);
    folder.write("job.toml", format!("k = 5\nmissing = [\n{missing}]\n"));
    let run = within(&folder, 32, "anonymize in.csv -o out.csv --job job.toml");
    assert!(run.err.contains("longer than 4 MB"), "{}", run.err);
    // What is read of it may end within a letter.
    for spaces in ["", " "] {
        folder.write("job.toml", format!("k = 5\n#{spaces}{}\n", "\u{e4}".repeat(3_000_000)));
        let run = within(&folder, 32, "anonymize in.csv -o out.csv --job job.toml");
        assert!(run.err.contains("longer than 4 MB"), "{}", run.err);
    }
}

#[test]
fn a_job_file_that_says_more_than_any_is_refused_and_its_comments_do_not_count() {
    let folder = Folder::new();
    lines(&folder, "in.csv", "age,text", (0..100).map(|row| format!("{},a", row % 3)));
    let columns = |n_columns: usize| -> String {
        (0..n_columns).map(|column| format!("[columns.a{column}]\n")).collect()
    };
    let accepted = "\"low-k\", ".repeat(400_000);
    let much = [columns(200_000), format!("accept = [{accepted}]\n"), "\n".repeat(3_000_000)];
    for said in much {
        folder.write("job.toml", format!("k = 5\n{said}"));
        let run = within(&folder, 32, "anonymize in.csv -o out.csv --job job.toml");
        assert_eq!(run.code, Some(2));
        let says = "job.toml has more than 256 KiB besides comments";
        assert!(run.err.contains(says), "{}", run.err);
    }
    // As many columns as there is room for, none of which the table has.
    folder.write("job.toml", format!("k = 5\n{}", columns(15_000)));
    let run = within(&folder, 32, "anonymize in.csv -o out.csv --job job.toml");
    assert!(run.code == Some(2) && !run.err.contains("KiB"), "{}", run.err);
    // A file that explains itself at length.
    let remarks = "  # a line that says nothing to the program\n".repeat(80_000);
    folder.write("job.toml", format!("{remarks}k = 5\n[columns.age]\nrole = \"quasi\"\n"));
    let run = within(&folder, 32, "anonymize in.csv -o out.csv --job job.toml");
    assert_eq!(run.code, Some(0), "{}", run.err);
}

#[test]
fn conditions_that_are_many_or_long_are_answered_or_refused_with_what_would_do() {
    let folder = Folder::new();
    lines(
        &folder,
        "in.csv",
        "age,text",
        (0..1_000).map(|row| format!("{},t{}", row % 90, row % 5)),
    );
    let anonymize = format!("anonymize in.csv -o r.csv --quasi age --keep text {ACCEPT}");
    let run = measured(&folder, &anonymize);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let query = "query r.csv --conditions conditions.txt";
    let in_list = (0..150).map(|value| value.to_string()).collect::<Vec<_>>().join(",");
    let boxes = "(age = 1 or text = 'a') and (age = 3 or text = 'b') and (age = 5 or text = 'c')";
    let many = [
        "age > 1\n".repeat(500_000),
        "a\n".repeat(2_000_000),
        format!("age in ({in_list})\n").repeat(5_000),
        format!("{boxes}\n").repeat(10_000),
    ];
    for conditions in many {
        folder.write("conditions.txt", conditions);
        let run = within(&folder, 32, query);
        assert_eq!(run.code, Some(2));
        assert!(run.err.contains("the conditions of a query; give --memory "), "{}", run.err);
    }
    // One for each value of a column, and as many as there is room for.
    folder.write("conditions.txt", "age > 1\n".repeat(5_000));
    for flags in ["", "--json", "--group-by text"] {
        let run = within(&folder, 32, &format!("{query} {flags}"));
        assert_eq!(run.code, Some(0), "{flags}: {}", run.err);
    }
    // What is said to do does.
    folder.write("conditions.txt", "age > 1\n".repeat(50_000));
    let run = within(&folder, 32, query);
    let (_, advised) = run.err.split_once("--memory ").unwrap();
    let advised_mb = advised.split("MB").next().unwrap().parse().unwrap();
    assert_eq!(within(&folder, advised_mb, query).code, Some(0), "{}", run.err);
}
