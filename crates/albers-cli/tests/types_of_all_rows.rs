//! The type of a column of text is that of all its rows: their order decides neither whether a
//! table is taken nor what is published of it, by whatever way it comes.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::io::Write as _;

use common::{Folder, Run, advised, piped};
use serde_json::Value;

/// More rows than types are told from at first.
const N_MANY: usize = 30_000;

/// A table with a column `x` of these cells.
fn table(cells: &[String]) -> String {
    let mut text = "age,x,disease,id\n".to_owned();
    for cell in cells {
        // What else a row holds is told by its cell alone, so that tables of the same cells have
        // the same rows.
        let n: usize = cell.bytes().map(usize::from).sum();
        let disease = ["measles", "mumps", "rubella"][n % 3];
        text += &format!("{},{cell},{disease},{}\n", 20 + n % 7, cell.len());
    }
    text
}

fn numbers(n_cells: usize) -> Vec<String> {
    (0..n_cells).map(|at| (100 + at % 50).to_string()).collect()
}

/// Tables of the same rows: some cells first, and last.
struct Orders {
    early: String,
    late: String,
}

impl Orders {
    fn of(many: &[String], few: &[String]) -> Orders {
        let early = table(&[few, many].concat());
        let late = table(&[many, few].concat());
        Orders { early, late }
    }
}

fn gzipped(text: &str) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

fn run_by_pipe(folder: &Folder, arguments: &str, input: &[u8]) -> Run {
    let run = |arguments: &str| {
        let (code, out, err) = piped(folder, arguments, input);
        Run { code, out: String::from_utf8(out).unwrap(), err }
    };
    let first = run(arguments);
    match advised(&first) {
        Some(accept) => run(&format!("{arguments} --accept {accept}")),
        None => first,
    }
}

/// The type of `x` as the owner was told it last.
fn type_of_x(folder: &Folder) -> String {
    let report = folder.json("mine.json");
    let columns = report["columns"].as_array().unwrap();
    let x = columns.iter().find(|column| column["name"] == "x").unwrap();
    x["type"].as_str().unwrap().to_owned()
}

/// Anonymizes a table that comes by every way, and returns what is published, which must be the
/// same by all.
fn published(folder: &Folder, text: &str, flags: &str) -> Vec<u8> {
    folder.write("in.csv", text);
    folder.write("in.csv.gz", gzipped(text));
    folder.write("in.csv.zst", zstd::encode_all(text.as_bytes(), 1).unwrap());
    folder.anonymize(&format!("in.csv -o out.csv --owner-report mine.json {flags}"));
    let expected = folder.bytes("out.csv");
    for input in ["in.csv.gz", "in.csv.zst"] {
        folder.anonymize(&format!("{input} -o again.csv {flags}"));
        assert!(folder.bytes("again.csv") == expected, "{input}");
    }
    for name in ["in.csv", "in.csv.gz"] {
        let run = run_by_pipe(
            folder,
            &format!("anonymize - -o again.csv --force {flags}"),
            &folder.bytes(name),
        );
        assert_eq!(run.code, Some(0), "{name}: {}", run.err);
        assert!(folder.bytes("again.csv") == expected, "{name} by a pipe");
    }
    std::fs::create_dir_all(folder.path("parts")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let middle = rows.len() / 2 + rows[rows.len() / 2..].find('\n').unwrap() + 1;
    for (name, part) in [("a", &rows[..middle]), ("b", &rows[middle..])] {
        folder.write(&format!("parts/{name}.csv"), format!("{header}\n{part}"));
    }
    folder.anonymize(&format!("parts -o again.csv {flags}"));
    assert!(folder.bytes("again.csv") == expected, "a folder");
    expected
}

const ROLES: &str = "--quasi age,x --sensitive disease -k 5";

#[test]
fn the_order_of_the_rows_does_not_decide_the_type_of_a_column() {
    let words: Vec<String> = (0..1_800).map(|at| format!("w{}", at % 9)).collect();
    let missing = vec![String::new(); N_MANY];
    for (many, few, expected) in [
        (numbers(N_MANY), vec!["007".to_owned(); 6], "code"),
        (numbers(N_MANY), vec!["1.5".to_owned(); 6], "decimal"),
        (numbers(N_MANY), words, "text"),
        (missing, numbers(5_000), "integer"),
    ] {
        let folder = Folder::new();
        let orders = Orders::of(&many, &few);
        let late = published(&folder, &orders.late, ROLES);
        assert_eq!(type_of_x(&folder), expected);
        let early = published(&folder, &orders.early, ROLES);
        assert_eq!(type_of_x(&folder), expected);
        assert!(late == early, "{expected}: another order gives another release");
    }
}

#[test]
fn one_leading_zero_is_taken_wherever_it_stands() {
    let folder = Folder::new();
    let orders = Orders::of(&numbers(N_MANY), &["007".to_owned()]);
    let late = published(&folder, &orders.late, ROLES);
    assert!(late == published(&folder, &orders.early, ROLES));
    assert!(String::from_utf8(late).unwrap().contains("007"), "the zeros are kept");
}

#[test]
fn one_cell_of_another_kind_is_refused_where_it_stands() {
    let folder = Folder::new();
    let orders = Orders::of(&numbers(N_MANY), &["Xanthippe".to_owned()]);
    for (text, line) in [(orders.early, "line 2,"), (orders.late, "line 30002,")] {
        folder.write("in.csv", &text);
        folder.write("in.csv.gz", gzipped(&text));
        let arguments = |input: &str| format!("anonymize {input} -o out.csv {ROLES}");
        let by_pipe = run_by_pipe(&folder, &arguments("-"), text.as_bytes());
        for run in [folder.run(&arguments("in.csv")), folder.run(&arguments("in.csv.gz")), by_pipe]
        {
            let said = run.said();
            assert_eq!(run.code, Some(2), "{said}");
            assert!(said.contains(line) && said.contains("column 'x'"), "{said}");
            assert!(said.contains("not of type integer") && said.contains("--type"), "{said}");
            assert!(!said.contains("Xanthippe"), "{said}");
        }
    }
    assert_eq!(folder.names(), ["in.csv", "in.csv.gz"]);
}

/// Junk among the first rows does not make a text of what is a date in nearly all.
#[test]
fn a_bad_date_among_few_good_ones_is_refused_if_more_good_ones_follow() {
    let folder = Folder::new();
    let good = |n_cells: usize| vec!["2024-01-31".to_owned(); n_cells];
    let bad = vec!["nobody".to_owned(); 1_400];
    let cells = [good(18_000), bad, good(20_000)].concat();
    folder.write("in.csv", table(&cells));
    let run = folder.run(&format!("anonymize in.csv -o out.csv {ROLES}"));
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(run.err.contains("line 18002, column 'x'"), "{}", run.err);
    assert!(run.err.contains("not of type date"), "{}", run.err);
    let taken = folder.run(&format!("anonymize in.csv -o out.csv {ROLES} --missing nobody"));
    assert_eq!(taken.code, Some(0), "{}", taken.said());
}

/// Nobody parses what is only carried, but a typed file needs its type.
#[test]
fn a_column_that_is_kept_leaves_with_the_type_of_all_rows() {
    let folder = Folder::new();
    let flags = "--quasi age --keep x -k 5 --to parquet";
    for (few, expected) in [("1.5", "decimal"), ("007", "code"), ("word", "integer")] {
        let orders = Orders::of(&numbers(N_MANY), &[few.to_owned()]);
        let release = |text: &str| {
            folder.write("in.csv", text);
            folder.anonymize(&format!("in.csv -o out.parquet --owner-report mine.json {flags}"));
            assert_eq!(type_of_x(&folder), expected);
            folder.bytes("out.parquet")
        };
        assert!(release(&orders.late) == release(&orders.early), "{expected}");
    }
}

#[test]
fn types_of_all_rows_are_found_in_the_least_memory_too() {
    let folder = Folder::new();
    let orders = Orders::of(&numbers(N_MANY), &vec!["1.5".to_owned(); 6]);
    let flags = format!("{ROLES} --memory 1MB --least-memory 1MB");
    let late = published(&folder, &orders.late, &flags);
    assert_eq!(type_of_x(&folder), "decimal");
    assert!(late == published(&folder, &orders.early, &flags));
}

/// What a command reports, without what depends on the way.
fn report_of(run: &Run) -> Value {
    assert_eq!(run.code, Some(0), "{}", run.said());
    let mut report: Value = serde_json::from_str(&run.out).unwrap();
    report.as_object_mut().unwrap().retain(|name, _| {
        !["seconds", "peak_rss_bytes", "bytes", "spilled_bytes", "read_back_bytes"]
            .contains(&name.as_str())
    });
    report
}

/// What a command reports of the two orders of a table.
fn reports_of_both(orders: &Orders, arguments: &str) -> [Value; 2] {
    [&orders.early, &orders.late].map(|text| {
        let folder = Folder::with(text);
        let report = report_of(&folder.run(arguments));
        let by_pipe = run_by_pipe(&folder, &arguments.replace("in.csv", "-"), text.as_bytes());
        assert_eq!(report_of(&by_pipe), report, "{arguments}");
        report
    })
}

#[test]
fn every_command_sees_the_types_of_all_rows() {
    let orders = Orders::of(&numbers(N_MANY), &vec!["00.5".to_owned(); 400]);
    for arguments in [
        "check in.csv --quasi age --sensitive x --t-closeness x=0.9 --json",
        "check in.csv --quasi age --sensitive x --json --memory 1MB",
        "lattice in.csv --quasi age,x --hierarchy age=ranges:5,10 --hierarchy x=ranges:100 -k 5 \
         --json",
    ] {
        let [early, late] = reports_of_both(&orders, arguments);
        assert_eq!(early, late, "{arguments}");
    }
}

#[test]
fn a_proposed_job_has_the_types_of_all_rows() {
    let orders = Orders::of(&numbers(N_MANY), &["007".to_owned()]);
    let [early, late] = [&orders.early, &orders.late].map(|text| {
        let folder = Folder::with(text);
        let run = folder.run("init in.csv -o job.toml");
        assert_eq!(run.code, Some(0), "{}", run.said());
        folder.read("job.toml")
    });
    assert_eq!(early, late);
    assert!(early.contains("code"), "{early}");
}

/// Releases are compared with their original by its types.
#[test]
fn measuring_and_compacting_take_the_types_of_all_rows() {
    let folder = Folder::new();
    let rows = |cells: &[String]| {
        let rows = cells.iter().enumerate().map(|(id, cell)| format!("{},{cell},{id}\n", id % 7));
        format!("age,x,id\n{}", rows.collect::<String>())
    };
    let mut cells = numbers(N_MANY);
    cells.extend(vec!["1.5".to_owned(); 6]);
    folder.write("in.csv", rows(&cells));
    let report = folder.anonymize("in.csv -o out.csv --quasi age,x --keep id -k 5");
    let measured = folder.run("measure in.csv out.csv --quasi age,x --key id --json");
    assert_eq!(measured.code, Some(0), "{}", measured.said());
    let measured: Value = serde_json::from_str(&measured.out).unwrap();
    assert_eq!(measured["loss"]["ncp"], report["table_loss"]["ncp"]);
    let compacted = folder.run(
        "compact in.csv out.csv -o compact.csv --quasi age,x --key id --keep id -k 5 \
                    --force --owner-report mine.json",
    );
    assert_eq!(compacted.code, Some(0), "{}", compacted.said());
    assert_eq!(type_of_x(&folder), "decimal");
}
