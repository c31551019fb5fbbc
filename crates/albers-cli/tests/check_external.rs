//! `albers check` on tables that do not fit in the memory it is given: the same report.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::watched::watched;
use serde_json::Value;

/// As little as the program takes.
const LEAST: &str = "64KB";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn generate(&self, kind: &str, n_rows: &str, name: &str) -> PathBuf {
        let path = self.0.path().join(name);
        let made = albers(&["generate", kind, "-n", n_rows, "-o"]).arg(&path).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        path
    }
}

fn albers(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_albers"));
    command.args(arguments);
    command
}

/// The code and the report, and how many bytes were spilled for it.
fn check(table: &Path, flags: &[&str]) -> (i32, Value, u64) {
    let output = albers(&["check", "--json"]).arg(table).args(flags).output().unwrap();
    let shown = String::from_utf8(output.stderr).unwrap();
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        panic!("{flags:?}: {shown}");
    });
    // Looked at in memory only.
    report.as_object_mut().unwrap().remove("class_relation");
    let spilled = report.as_object_mut().unwrap().remove("spilled_bytes");
    (output.status.code().unwrap(), report, spilled.map_or(0, |n_bytes| n_bytes.as_u64().unwrap()))
}

/// Audits in memory and in little of it, and gives what both find.
fn check_both(table: &Path, flags: &[&str], memory: &str) -> (i32, Value) {
    let (code, whole, nothing) = check(table, flags);
    let (outside_code, outside, spilled) = check(table, &[flags, &["--memory", memory]].concat());
    assert_eq!(nothing, 0, "{flags:?}");
    assert!(spilled > 0, "{flags:?}");
    assert_eq!((code, &whole), (outside_code, &outside), "{flags:?}");
    (code, whole)
}

/// People with several visits each; some cells are missing.
fn visits(n_rows: u64) -> String {
    let mut text = "person,age,zip,disease,pay,born\n".to_owned();
    for row in 0..n_rows {
        let mixed = (row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        let (age, zip) = (mixed % 5 * 10, 100 + mixed / 7 % 40);
        let person = if row % 50 == 0 { String::new() } else { format!("p{}", mixed / 3 % 900) };
        let disease = ["flu", "cold", "gout", "", "mumps"][(mixed / 11 % 5) as usize];
        let zip = if mixed % 37 == 0 { String::new() } else { zip.to_string() };
        let (pay, day) = (mixed / 13 % 20, mixed / 17 % 28 + 1);
        writeln!(text, "{person},[{age}; {}],{zip},{disease},{pay}.25,1980-01-{day:02}", age + 9)
            .unwrap();
    }
    text
}

#[test]
fn tables_that_do_not_fit_have_the_report_of_those_that_do() {
    let folder = Folder::new();
    let table = folder.write("visits.csv", &visits(12_000));
    let asked: &[&[&str]] = &[
        &["--quasi", "age,zip"],
        &["--quasi", "age", "-k", "5"],
        &["--quasi", "age,zip", "--subject", "person", "-k", "40"],
        &["--quasi", "age", "--subject", "person", "--sensitive", "disease"],
        &["--quasi", "zip", "--sensitive", "disease,pay,born", "-k", "2000"],
        &["--quasi", "age,zip", "--sensitive", "pay", "--hierarchy", "pay=ranges:5,10"],
        &["--quasi", "age,zip", "--sensitive", "pay,disease", "--t-closeness", "pay=0.1"],
        &["--quasi", "zip", "--sensitive", "pay", "--variance", "pay=20", "--alpha", "pay=0.01"],
        &["--quasi", "age,zip", "--sensitive", "disease", "--l-diversity", "disease=entropy:4.5"],
        &["--quasi", "age,zip", "--missing", "flu", "--sensitive", "disease", "--threads", "1"],
    ];
    for flags in asked {
        check_both(&table, flags, LEAST);
    }
}

#[test]
fn bounds_and_parquet_do_not_have_to_fit() {
    let folder = Folder::new();
    let mut text = "age_min,age_max,age_missing,sex\n".to_owned();
    for row in 0..20_000 {
        let (least, is_missing) = (row * 7 % 90, row % 11 == 0);
        match row % 13 {
            0 => writeln!(text, ",,true,f").unwrap(),
            _ => writeln!(text, "{least},{},{is_missing},m", least + 9).unwrap(),
        }
    }
    let (_, found) = check_both(&folder.write("bounds.csv", &text), &["--quasi", "age,sex"], LEAST);
    assert!(found["notes"][0].as_str().unwrap().contains("age_min, age_max, age_missing"));

    let flags = ["--quasi", "age,sex,race", "--sensitive", "occupation", "-k", "3"];
    let parquet = folder.generate("adult", "20000", "adult.parquet");
    let (_, found) = check_both(&parquet, &flags, LEAST);
    let (_, same) = check_both(&folder.generate("adult", "20000", "adult.csv"), &flags, LEAST);
    assert_eq!(found, same);
}

#[test]
fn a_pipe_does_not_have_to_fit() {
    let folder = Folder::new();
    let table = folder.write("visits.csv", &visits(12_000));
    let flags = ["--quasi", "age,zip", "--subject", "person", "--sensitive", "pay", "-k", "3"];
    let (code, whole, _) = check(&table, &flags);
    let pipe = albers(&["check", "-", "--json", "--memory", LEAST])
        .args(flags)
        .stdin(std::fs::File::open(&table).unwrap())
        .output()
        .unwrap();
    let mut report: Value = serde_json::from_slice(&pipe.stdout).unwrap();
    let spilled = report.as_object_mut().unwrap().remove("spilled_bytes").unwrap();
    assert!(spilled.as_u64().unwrap() > 0);
    assert_eq!((pipe.status.code(), report), (Some(code), whole));
}

#[test]
fn refusals_are_the_same_and_show_no_value() {
    let folder = Folder::new();
    let levels = folder.write("levels.csv", "flu;ill\ncold;ill\n");
    let hierarchy = format!("disease={}", levels.display());
    let table = folder.write("visits.csv", &(visits(12_000) + "p1,[1; 2],7,flu,lots,1980\n"));
    let mistakes: &[&[&str]] = &[
        &["--quasi", "age", "--sensitive", "pay"],
        &["--quasi", "age", "--sensitive", "born"],
        &["--quasi", "age", "--sensitive", "disease", "--hierarchy", &hierarchy],
        &["--quasi", "age", "--sensitive", "disease", "--variance", "disease=2"],
        &["--quasi", "agee"],
        &["--quasi", "age", "--subject", "nobody"],
    ];
    for flags in mistakes {
        let run = |more: &[&str]| {
            let output = albers(&["check"]).arg(&table).args(*flags).args(more).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{flags:?}");
            String::from_utf8(output.stderr).unwrap()
        };
        let refusal = run(&[]);
        assert_eq!(refusal, run(&["--memory", LEAST]), "{flags:?}");
        assert!(!refusal.contains("lots") && !refusal.contains("mumps"), "{refusal}");
    }
    let nowhere = ["--quasi", "age", "--memory", LEAST, "--spill-dir", "/nowhere"];
    let output = albers(&["check"]).arg(&table).args(nowhere).output().unwrap();
    let refusal = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && refusal.contains("/nowhere"), "{refusal}");
}

#[cfg(target_os = "linux")]
#[test]
fn two_million_rows_are_audited_in_64_megabytes() {
    const BUDGET_BYTES: u64 = 64_000_000;
    const REST_BYTES: u64 = 64_000_000;
    let folder = Folder::new();
    let table = folder.generate("voters", "2000000", "voters.csv");
    let flags = ["--quasi", "age,zipcode", "--sensitive", "salary"];
    let (_, whole, _) = check(&table, &flags);
    // A file is read again, and a pipe is put aside.
    for is_pipe in [false, true] {
        let name = if is_pipe { "-" } else { table.to_str().unwrap() };
        let arguments = ["check", "--json", "--memory", "64MB", "--threads", "2", name];
        let input = Stdio::from(std::fs::File::open(&table).unwrap());
        let run = watched(folder.0.path(), &[&arguments[..], &flags].concat(), input);
        assert_eq!(run.code, Some(0), "{}", run.err);
        let mut report: Value = serde_json::from_slice(&run.out).unwrap();
        let spilled = report.as_object_mut().unwrap().remove("spilled_bytes").unwrap();
        assert!(spilled.as_u64().unwrap() > 0);
        assert_eq!(report, whole);
        assert!(run.peak_bytes < BUDGET_BYTES + REST_BYTES, "{}", run.peak_bytes);
    }
}
