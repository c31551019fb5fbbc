//! `albers init` through the real binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

fn albers(folder: &Path, arguments: &[&str]) -> Output {
    Command::cargo_bin("albers").unwrap().current_dir(folder).args(arguments).output().unwrap()
}

/// What the visits of a clinic tell beside their classes: people have several, and their diseases
/// follow from their numbers.
const MEANT: &str = "rows-per-person,keep-tells-quasi,person-rules-class";

/// Runs and expects success; standard output.
fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = albers(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs and expects exit code 2; standard error.
fn refuse(folder: &Path, arguments: &[&str]) -> String {
    let output = albers(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

fn folder_with(name: &str, text: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), text).unwrap();
    folder
}

fn init_json(folder: &Path, arguments: &[&str]) -> Value {
    let all: Vec<&str> = ["init"].iter().chain(arguments).copied().chain(["--json"]).collect();
    serde_json::from_str(&succeed(folder, &all)).unwrap()
}

fn column<'a>(report: &'a Value, name: &str) -> &'a Value {
    let columns = report["columns"].as_array().unwrap();
    columns.iter().find(|column| column["name"] == name).unwrap()
}

fn role<'a>(report: &'a Value, name: &str) -> Option<&'a str> {
    column(report, name)["role"].as_str()
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Visits of 60 patients: a unique number, a person's number, dates, codes with leading zeros,
/// missing cells, a constant, a measurement.
fn clinic() -> String {
    let mut text = "visit,patient id,birth date,zip,sex,disease,pressure,site,note\n".to_owned();
    for row in 0..600u32 {
        let patient = row % 60;
        text.push_str(&format!(
            "V-{},{},19{:02}-{:02}-{:02},0{:04},{},{},{}.{:03},Berlin-Secret,{}\n",
            770_000 + row,
            88_000 + patient,
            30 + patient,
            1 + patient % 12,
            1 + patient % 28,
            1_000 + 37 * (patient % 20),
            ["f", "m"][(patient % 2) as usize],
            ["flu-secret", "gout-secret", "lupus-secret", ""][(row % 4) as usize],
            100 + row % 57,
            (row * 7919) % 1000,
            ["red", "blue", "green"][(row / 7 % 3) as usize],
        ));
    }
    text
}

#[test]
fn the_written_job_runs_unchanged() {
    let folder = folder_with("clinic.csv", &clinic());
    let folder = folder.path();
    let words = succeed(folder, &["init", "clinic.csv"]);
    for part in ["600 rows", "patient id", "albers anonymize --job job.toml"] {
        assert!(words.contains(part), "{words}");
    }
    // It says what stops the job, which then runs if that is meant.
    let finding =
        "severe finding: rows-per-person: 600 of 600 rows share their value of 'patient id'";
    assert!(words.contains(finding), "{words}");
    succeed(folder, &["anonymize", "--job", "job.toml", "--accept", MEANT]);
    let release = fs::read_to_string(folder.join("clinic.anonymized.csv")).unwrap();
    assert_eq!(release.lines().count(), 601);
    let header = release.lines().next().unwrap();
    for dropped in ["visit", "patient id", "site", "note"] {
        assert!(!header.contains(dropped), "{header}");
    }
    for shown in ["birth date", "zip", "sex", "disease"] {
        assert!(header.contains(shown), "{header}");
    }
}

#[test]
fn free_text_is_not_proposed_as_quasi_and_what_can_be_seen_is_said() {
    let mut text = "age,occupation,remark,shoe\n".to_owned();
    for row in 0..400u32 {
        let (work, shoe) = (row.min(250), row * 7919 % 1000);
        text.push_str(&format!("{},Secret work {work},Secret {work},{shoe}.5\n", 20 + row % 50));
    }
    let folder = folder_with("t.csv", &text);
    let report = init_json(folder.path(), &["t.csv"]);
    assert_eq!([role(&report, "occupation"), role(&report, "remark")], [None, None]);
    assert_eq!(role(&report, "age"), Some("quasi"));
    let findings = report["findings"].as_array().unwrap();
    let counts: Vec<(&str, &str, u64, bool)> = findings
        .iter()
        .map(|own| {
            let text = |field: &str| own[field].as_str().unwrap();
            let (count, severe) = (own["count"].as_u64().unwrap(), own["severe"] == true);
            (text("name"), text("column"), count, severe)
        })
        .collect();
    assert!(counts.contains(&("text-list", "occupation", 251, true)), "{counts:?}");
    assert!(counts.contains(&("text-list", "remark", 251, true)), "{counts:?}");
    let words = succeed(folder.path(), &["init", "t.csv", "--force"]);
    assert!(words.contains("severe finding: text-list:occupation: "), "{words}");
    assert!(!words.contains("Secret"), "{words}");
}

#[test]
fn roles_types_and_hierarchies_are_proposed_with_reasons() {
    let folder = folder_with("clinic.csv", &clinic());
    let folder = folder.path();
    let report = init_json(folder, &["clinic.csv"]);
    assert_eq!(report["rows"], 600);
    assert_eq!(report["job"], "job.toml");
    let expected = [
        ("visit", Some("identifier")),
        ("patient id", Some("identifier")),
        ("birth date", Some("quasi")),
        ("zip", Some("quasi")),
        ("sex", Some("quasi")),
        ("disease", Some("sensitive")),
        ("pressure", Some("quasi")),
        ("site", None),
        ("note", None),
    ];
    for (name, expected) in expected {
        assert_eq!(role(&report, name), expected, "{name}");
        assert!(!column(&report, name)["reason"].as_str().unwrap().is_empty());
    }
    let disease = column(&report, "disease");
    assert_eq!((&disease["distinct"], &disease["missing"]), (&3.into(), &150.into()));
    assert_eq!(column(&report, "visit")["unique_share"], 1.0);
    assert_eq!(column(&report, "visit")["distinct_is_estimate"], false);
    assert_eq!(column(&report, "zip")["type"], "code");
    let job = fs::read_to_string(folder.join("job.toml")).unwrap();
    for part in [
        "hierarchy = \"prefix\"",
        "hierarchy = \"dates\"",
        "l-diversity = \"distinct:3\"",
        "# role = \"subject\"",
        "# role = \"keep\"",
        "input = \"clinic.csv\"",
        "k = 5",
    ] {
        assert!(job.lines().any(|line| line == part), "{part} in\n{job}");
    }
}

#[test]
fn the_suggested_subject_makes_k_count_persons() {
    let folder = folder_with("clinic.csv", &clinic());
    let folder = folder.path();
    succeed(folder, &["init", "clinic.csv"]);
    let path = folder.join("job.toml");
    let job = fs::read_to_string(&path).unwrap();
    let taken = job.replace("role = \"identifier\"\n# role = \"subject\"", "role = \"subject\"");
    assert_ne!(job, taken);
    fs::write(&path, taken).unwrap();
    let words = succeed(folder, &["anonymize", "--job", "job.toml", "--json", "--accept", MEANT]);
    assert!(words.contains("subject"), "{words}");
}

#[test]
fn the_smallest_identifying_set_is_told() {
    let mut text = "birth,zip,sex,shade\n".to_owned();
    for row in 0..3_000u32 {
        let mixed = row.wrapping_mul(2_654_435_761) >> 8;
        text.push_str(&format!("{},0{},{},x\n", 1900 + row % 90, 1000 + row / 90, mixed % 2));
    }
    let folder = folder_with("t.csv", &text);
    let report = init_json(folder.path(), &["t.csv"]);
    let sets = report["identifying_sets"].as_array().unwrap();
    assert_eq!(sets.len(), 1, "{sets:?}");
    assert_eq!(sets[0]["columns"], serde_json::json!(["birth", "zip"]));
    assert_eq!(sets[0]["unique_share"], 1.0);
    let words = succeed(folder.path(), &["init", "t.csv", "--force"]);
    assert!(words.contains("birth + zip make 100 % of the rows unique"), "{words}");
}

#[test]
fn no_cell_value_is_in_any_output() {
    let folder = folder_with("clinic.csv", &clinic());
    let folder = folder.path();
    let mut said = succeed(folder, &["init", "clinic.csv"]);
    said += &fs::read_to_string(folder.join("job.toml")).unwrap();
    said += &succeed(folder, &["init", "clinic.csv", "--json", "--force"]);
    said += &refuse(folder, &["init", "clinic.csv", "--force", "--type", "zip=date"]);
    said += &refuse(folder, &["init", "clinic.csv", "--force", "--type", "disease=integer"]);
    for secret in ["secret", "Secret", "V-77", "8800", "8805", "1930", "01000", "100.000", "green"]
    {
        assert!(!said.contains(secret), "{secret} in\n{said}");
    }
}

#[test]
fn strange_column_names_survive_the_way_through_the_job_file() {
    let names =
        ["order date", "a.b", "say \"\"hi\"\"", "back\\slash", "Größe 日本", "#x", "new\nline"];
    let header: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let mut text = format!("age,{}\n", header.join(","));
    for row in 0..200 {
        let cells: Vec<String> = (0..7).map(|at| (row * (at + 3) % 11).to_string()).collect();
        text.push_str(&format!("{},{}\n", 20 + row % 50, cells.join(",")));
    }
    let folder = folder_with("strange names.csv", &text);
    let folder = folder.path();
    let report = init_json(folder, &["strange names.csv"]);
    assert_eq!(report["columns"].as_array().unwrap().len(), 8);
    assert_eq!(report["columns"][3]["name"], "say \"hi\"");
    succeed(folder, &["anonymize", "--job", "job.toml"]);
    assert!(folder.join("strange names.anonymized.csv").exists());
    let words = succeed(folder, &["init", "strange names.csv", "--force"]);
    assert!(!words.contains("new\nline"), "a name stays on its line");
}

#[test]
fn an_existing_file_is_replaced_only_by_force_and_the_table_never() {
    let folder = folder_with("clinic.csv", &clinic());
    let folder = folder.path();
    fs::write(folder.join("job.toml"), "k = 7\n").unwrap();
    let message = refuse(folder, &["init", "clinic.csv"]);
    assert!(message.contains("job.toml exists already") && message.contains("--force"));
    assert_eq!(fs::read_to_string(folder.join("job.toml")).unwrap(), "k = 7\n");
    succeed(folder, &["init", "clinic.csv", "--force"]);
    assert_ne!(fs::read_to_string(folder.join("job.toml")).unwrap(), "k = 7\n");
    refuse(folder, &["init", "clinic.csv", "-o", "clinic.csv", "--force"]);
    assert_eq!(fs::read_to_string(folder.join("clinic.csv")).unwrap(), clinic());
}

#[cfg(unix)]
#[test]
fn a_link_is_replaced_only_by_force_and_what_it_leads_to_never() {
    let folder = folder_with("clinic.csv", &clinic());
    let folder = folder.path();
    fs::write(folder.join("other.toml"), "k = 7\n").unwrap();
    for leads_to in ["other.toml", "nowhere.toml"] {
        let link = folder.join("job.toml");
        std::os::unix::fs::symlink(leads_to, &link).unwrap();
        let message = refuse(folder, &["init", "clinic.csv"]);
        assert!(message.contains("job.toml exists already") && message.contains("--force"));
        assert!(link.is_symlink());
        succeed(folder, &["init", "clinic.csv", "--force"]);
        assert!(!link.is_symlink());
        fs::remove_file(link).unwrap();
    }
    assert_eq!(fs::read_to_string(folder.join("other.toml")).unwrap(), "k = 7\n");
    assert!(!folder.join("nowhere.toml").exists());
}

#[test]
fn bad_input_is_refused_with_a_hint_and_leaves_nothing_behind() {
    let folder = folder_with("empty.csv", "");
    let folder = folder.path();
    fs::write(folder.join("header.csv"), "a,b\n").unwrap();
    fs::write(folder.join("ragged.csv"), "a,b\n1,2\n3\n").unwrap();
    fs::create_dir(folder.join("sub")).unwrap();
    for (arguments, expected) in [
        (vec!["missing.csv"], "missing.csv"),
        (vec!["empty.csv"], "the file is empty"),
        (vec!["header.csv"], "column names but no rows"),
        (vec!["ragged.csv"], "line 3"),
        (vec!["sub"], "the folder holds no tables"),
        (vec!["header.csv", "-o", "sub"], "is a folder"),
        (vec!["header.csv", "-o", "nowhere/job.toml"], "no folder nowhere"),
        (vec!["header.csv", "-k", "0"], "k = 0"),
        (vec!["header.csv", "--type", "c=text"], "no column 'c'"),
    ] {
        let all: Vec<&str> = ["init"].into_iter().chain(arguments).collect();
        let message = refuse(folder, &all);
        assert!(message.contains(expected), "{all:?}: {message}");
    }
    assert_eq!(files_in(folder).len(), 4);
}

#[test]
fn a_single_column_and_few_rows_give_a_job_that_runs() {
    let folder = folder_with("ages.csv", "age\n30\n40\n50\n");
    let folder = folder.path();
    let words = succeed(folder, &["init", "ages.csv"]);
    assert!(words.contains("k is 3 instead of 5"), "{words}");
    succeed(folder, &["anonymize", "--job", "job.toml"]);
}

#[test]
fn a_single_row_is_not_declared_hidden() {
    let folder = folder_with("one.csv", "age,name\n30,x\n");
    let folder = folder.path();
    let words = succeed(folder, &["init", "one.csv"]);
    assert!(words.contains("cannot be hidden"), "{words}");
    refuse(folder, &["anonymize", "--job", "job.toml"]);
    assert!(!folder.join("one.anonymized.csv").exists());
}

#[test]
fn a_table_without_quasi_identifiers_says_so() {
    let rows: String = (0..100).map(|row| format!("{},x\n", row % 2)).collect();
    let folder = folder_with("dull.csv", &format!("flag,constant\n{rows}"));
    let words = succeed(folder.path(), &["init", "dull.csv"]);
    assert!(words.contains("no quasi-identifier could be proposed"), "{words}");
    let job = fs::read_to_string(folder.path().join("job.toml")).unwrap();
    assert!(job.contains("no quasi-identifier could be proposed"), "{job}");
    assert!(refuse(folder.path(), &["anonymize", "--job", "job.toml"]).contains("--quasi"));
}

#[test]
fn the_job_finds_its_table_from_another_folder() {
    let folder =
        folder_with("people;x.csv", &clinic().replace(',', ";").replace("flu-secret", "NA"));
    let folder = folder.path();
    fs::create_dir_all(folder.join("jobs")).unwrap();
    let arguments = ["people;x.csv", "-o", "jobs/j.toml", "--delimiter", ";", "--missing", "NA"];
    let report = init_json(folder, &[&arguments[..], &["--type", "site=code"]].concat());
    assert_eq!(column(&report, "site")["type"], "code");
    assert_eq!(column(&report, "disease")["missing"], 300);
    let job = fs::read_to_string(folder.join("jobs/j.toml")).unwrap();
    for part in ["delimiter = \";\"", "missing = [\"NA\"]", "type = \"code\"", "distinct:2"] {
        assert!(job.contains(part), "{job}");
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let path = folder.join("jobs/j.toml");
    let path = path.to_str().unwrap();
    succeed(elsewhere.path(), &["anonymize", "--job", path, "--accept", MEANT]);
    assert!(folder.join("people;x.anonymized.csv").exists());
}

/// Exact share of the rows whose values in some columns no other row has, and the number of
/// distinct values.
fn exact(text: &str, places: &[usize]) -> (f64, usize) {
    let mut counts: HashMap<Vec<&str>, u32> = HashMap::new();
    let mut n_rows = 0;
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        *counts.entry(places.iter().map(|&place| cells[place]).collect()).or_default() += 1;
        n_rows += 1;
    }
    let n_unique = counts.values().filter(|&&n| n == 1).count();
    (n_unique as f64 / f64::from(n_rows), counts.len())
}

#[test]
fn estimates_on_a_large_table_are_within_a_few_percent() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    succeed(folder, &["generate", "customer", "-n", "200000", "-o", "c.csv"]);
    let report = init_json(folder, &["c.csv"]);
    let text = fs::read_to_string(folder.join("c.csv")).unwrap();
    assert!(!text.contains('"'), "the counts below cut lines at commas");
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let mut n_estimates = 0;
    for (place, name) in header.iter().enumerate() {
        let found = column(&report, name);
        let (share, n_distinct) = exact(&text, &[place]);
        let distinct = found["distinct"].as_u64().unwrap() as f64;
        let unique_share = found["unique_share"].as_f64().unwrap();
        if found["distinct_is_estimate"] == true {
            n_estimates += 1;
            assert!((distinct / n_distinct as f64 - 1.0).abs() < 0.03, "{name}: {distinct}");
            assert!((unique_share - share).abs() < 0.03, "{name}: {unique_share}");
        } else {
            assert_eq!((distinct, unique_share), (n_distinct as f64, share), "{name}");
        }
    }
    assert!(n_estimates > 0, "the table is large enough for estimates");
    let sets = report["identifying_sets"].as_array().unwrap();
    assert!(sets.len() > 1 && report["sets_are_estimates"] == true);
    for set in sets {
        let names = set["columns"].as_array().unwrap().iter();
        let places: Vec<usize> =
            names.map(|name| header.iter().position(|h| name == h).unwrap()).collect();
        let (share, _) = exact(&text, &places);
        let found = set["unique_share"].as_f64().unwrap();
        assert!((found - share).abs() < 0.03, "{set}: {share}");
    }
}

#[test]
fn packed_text_and_parquet_are_seen_alike() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut reports = Vec::new();
    for ending in ["csv", "csv.gz", "csv.zst", "parquet"] {
        let name = format!("c.{ending}");
        succeed(folder, &["generate", "customer", "-n", "3000", "-o", &name]);
        let report = init_json(folder, &[&name, "--force"]);
        let counts: Vec<Value> = report["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| serde_json::json!([column["name"], column["distinct"], column["role"]]))
            .collect();
        reports.push(counts);
        succeed(folder, &["anonymize", "--job", "job.toml"]);
        assert!(folder.join(format!("c.anonymized.{ending}")).exists());
    }
    assert!(reports.windows(2).all(|pair| pair[0] == pair[1]), "{reports:?}");
}

#[test]
fn the_help_shows_a_job_file_with_its_fields() {
    let folder = tempfile::tempdir().unwrap();
    let help = succeed(folder.path(), &["init", "--help"]);
    assert!(help.contains("l-diversity = \"distinct:3\""), "{help}");
}
