//! What `albers init` proposes for tables as people have them, through the real binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// Runs and expects success; standard output.
fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::cargo_bin("albers").unwrap();
    let output = command.current_dir(folder).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn folder_with(text: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), text).unwrap();
    folder
}

fn init(folder: &Path) -> (Value, String) {
    let report = succeed(folder, &["init", "t.csv", "--json", "--force"]);
    let job = fs::read_to_string(folder.join("job.toml")).unwrap();
    (serde_json::from_str(&report).unwrap(), job)
}

fn column<'a>(report: &'a Value, name: &str) -> &'a Value {
    let columns = report["columns"].as_array().unwrap();
    columns.iter().find(|column| column["name"] == name).unwrap()
}

fn role<'a>(report: &'a Value, name: &str) -> Option<&'a str> {
    column(report, name)["role"].as_str()
}

/// The part of a job file about a column.
fn part<'a>(job: &'a str, name: &str) -> &'a str {
    let (_, rest) = job.split_once(&format!("[columns.\"{name}\"]")).unwrap();
    rest.split("[columns.").next().unwrap()
}

/// Patients of a study: an index as pandas writes it, names, measurements of several kinds, remarks,
/// and columns that follow from others.
fn study() -> String {
    let mut text = "Unnamed: 0,patient,sequence,sample,age,age group,birth year,zip,city,lab,lab2,\
                    bilirubin,score time,temperature,remarks,sex,sex code,outcome\n"
        .to_owned();
    let words = ["came", "back", "with", "a", "cough", "and", "fever", "was", "sent", "home"];
    for row in 0..300u32 {
        let mixed = row.wrapping_mul(2_654_435_761) >> 9;
        let age = 18 + mixed % 70;
        let zip = mixed / 7 % 40;
        let remark: Vec<&str> = (0..8).map(|at| words[((mixed >> at) % 10) as usize]).collect();
        let lab = (mixed % 90_000) as f64 / 1_000.0;
        text.push_str(&format!(
            "{row},Jane-{row},{},S-{},{age},{}0s,{},0{},Town-{},{lab},{lab},{},{},{}.0,{} {row},{},{},{}\n",
            5_000 + row,
            (row * 7 + 1_000_003) % 9_000_011,
            age / 10,
            2024 - age,
            1_000 + zip,
            zip / 4,
            mixed % 4_001,
            (row * 37) % 3_001 + 3,
            18 + mixed / 13 % 60,
            remark.join(" "),
            ["f", "m"][(mixed / 3 % 2) as usize],
            ["1", "2"][(mixed / 3 % 2) as usize],
            mixed / 17 % 2,
        ));
    }
    text
}

#[test]
fn measurements_are_no_identifiers_and_row_numbers_are_told_as_such() {
    let folder = folder_with(&study());
    let (report, _) = init(folder.path());
    for name in ["lab", "bilirubin", "score time", "temperature", "age", "outcome"] {
        assert_ne!(role(&report, name), Some("identifier"), "{name}");
    }
    for (name, why) in [
        ("Unnamed: 0", "the number or name of a row"),
        ("sequence", "numbers that were counted on"),
        ("sample", "look like codes"),
    ] {
        let found = column(&report, name);
        assert_eq!(found["role"], "identifier", "{name}");
        assert!(found["reason"].as_str().unwrap().contains(why), "{found}");
    }
    let plain = folder_with("n,age\n1,20\n2,31\n3,44\n4,52\n5,60\n6,71\n");
    let (report, _) = init(plain.path());
    assert_eq!(role(&report, "n"), Some("identifier"));
    let reason = column(&report, "n")["reason"].as_str().unwrap();
    assert!(reason.contains("the numbers of the rows"), "{reason}");
}

/// A panel: a number of persons, a number of whatever, and names that only look like either.
#[test]
fn numbers_of_persons_are_not_published_and_few_values_are_no_persons() {
    let mut text =
        "pidnum,Individual ID,nr,PID,visit,number of visits,movement_balance,age\n".to_owned();
    for row in 0..400u32 {
        text.push_str(&format!(
            "{},N{}A,{},{},{},{},{},{}\n",
            10_000 + row * row * 7,
            row / 2,
            row / 5,
            row % 7,
            row % 5,
            row % 31,
            row % 37,
            20 + row % 41
        ));
    }
    let folder = folder_with(&text);
    let (report, job) = init(folder.path());
    for name in ["pidnum", "Individual ID"] {
        assert_eq!(role(&report, name), Some("identifier"), "{name}");
    }
    assert!(part(&job, "Individual ID").contains("# role = \"subject\""), "{job}");
    // Of whom a number is that some rows share, its name does not say.
    assert_eq!(role(&report, "nr"), None);
    assert!(part(&job, "nr").contains("# role = \"subject\""), "{job}");
    assert_eq!(role(&report, "PID"), None, "seven values are no persons");
    assert_ne!(role(&report, "movement_balance"), Some("sensitive"));
    let reason = column(&report, "number of visits")["reason"].to_string();
    assert!(!reason.contains("subject"), "a count is no key: {reason}");
}

/// What a note says of a setting can be pasted into the job file.
#[test]
fn settings_in_notes_are_toml() {
    let folder = folder_with("pay;born\n45.310;03/04/1980\n47.250;05/06/1981\n");
    let (report, _) = init(folder.path());
    let notes = report["notes"].to_string();
    for setting in ["decimal = \\\"comma\\\"", "date-format = \\\"%d/%m/%Y\\\""] {
        assert!(notes.contains(setting), "{setting} is not in {notes}");
    }
}

#[test]
fn free_text_is_neither_proposed_nor_offered_to_be_kept() {
    let folder = folder_with(&study());
    let (report, job) = init(folder.path());
    assert_eq!(role(&report, "remarks"), None);
    assert!(!part(&job, "remarks").contains("role ="), "{job}");
    let unnamed = folder_with(&study().replace(",remarks,", ",what,"));
    let (report, job) = init(unnamed.path());
    let reason = column(&report, "what")["reason"].as_str().unwrap();
    assert!(reason.contains("free text of many words"), "{reason}");
    assert!(role(&report, "what").is_none() && !part(&job, "what").contains("role ="), "{job}");
}

#[test]
fn columns_that_tell_each_other_are_noticed_and_not_both_published() {
    let folder = folder_with(&study());
    let (report, job) = init(folder.path());
    // The same cells, also where nearly every row has one of its own; and the same under other names.
    for (name, other) in [("lab2", "lab"), ("sex code", "sex"), ("birth year", "age")] {
        let relations = column(&report, name)["relations"].to_string();
        assert!(relations.contains(&format!("has the same cells as '{other}'")), "{relations}");
        assert_eq!(role(&report, name), None, "{name}");
        assert!(!part(&job, name).contains("role ="), "{job}");
    }
    let group = column(&report, "age group")["relations"].to_string();
    assert!(group.contains("follows from 'age'"), "{group}");
    let zip = column(&report, "zip")["relations"].to_string();
    assert!(zip.contains("tells 'city'"), "{zip}");
    assert!(column(&report, "outcome")["relations"].is_null(), "chance makes nothing follow");
    assert!(part(&job, "age group").contains("# Beware: follows from 'age'"), "{job}");
}

#[test]
fn a_kept_column_that_tells_a_quasi_identifier_is_said_to_be_severe() {
    let mut text = "age,ward,disease\n".to_owned();
    for row in 0..300u32 {
        let mixed = row.wrapping_mul(2_654_435_761) >> 9;
        let age = 20 + mixed % 30;
        text.push_str(&format!("{age},W{},D{}\n", age * 7 % 31, age / 10));
    }
    let folder = folder_with(&text);
    let (report, job) = init(folder.path());
    let ward = column(&report, "ward");
    assert_eq!(ward["role"], Value::Null);
    let disease = part(&job, "disease");
    assert!(disease.contains("follows from 'age'"), "{disease}");
    assert!(!part(&job, "ward").contains("role ="), "keep is not offered: {job}");
}

#[test]
fn a_dependence_is_told_only_if_it_holds_in_all_rows_of_a_large_table() {
    let mut text = "age,decade,shade,town,key\n".to_owned();
    for row in 0..70_000u32 {
        let mixed = row.wrapping_mul(2_654_435_761) >> 9;
        let (age, town) = (mixed % 80, mixed / 80 % 50);
        let shade = if row == 69_999 { 99 } else { town / 10 };
        text.push_str(&format!("{age},{},{shade},{town},{row}\n", age / 10));
    }
    let folder = folder_with(&text);
    let (report, _) = init(folder.path());
    assert_eq!(report["sets_are_estimates"], true, "the sample is not the table");
    let decade = column(&report, "decade")["relations"].to_string();
    assert!(decade.contains("follows from 'age'"), "{decade}");
    let shade = &column(&report, "shade")["relations"];
    assert!(shade.is_null(), "one row of many breaks it: {shade}");
}

#[test]
fn ranges_are_offered_for_decimals_with_round_sizes() {
    let folder = folder_with(&study());
    let (_, job) = init(folder.path());
    assert!(part(&job, "age").contains("# hierarchy = \"ranges:5,10,20\"\n"), "{job}");
    let decimals = folder_with(&study().replace(",temperature,", ",height,"));
    let (report, job) = init(decimals.path());
    assert_eq!(column(&report, "height")["type"], "decimal");
    assert!(part(&job, "height").contains("# hierarchy = \"ranges:5,10,20\"\n"), "{job}");
    let codes = part(&job, "zip");
    assert!(codes.contains("\nhierarchy = \"prefix\"\n"), "{codes}");
}

#[test]
fn the_table_fits_eighty_columns_and_shows_no_cell() {
    let long = "a name of a column that is longer than any other name of a column in it";
    let text = study().replace(",lab2,", &format!(",{long},"));
    let folder = folder_with(&text);
    let words = succeed(folder.path(), &["init", "t.csv"]);
    let table = words.split("\n\n").nth(1).unwrap();
    assert!(table.lines().count() > 18, "{table}");
    for line in table.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let report = succeed(folder.path(), &["init", "t.csv", "--force", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let flat = words.split_whitespace().collect::<Vec<_>>().join(" ");
    for own in report["columns"].as_array().unwrap() {
        let reason = own["reason"].as_str().unwrap();
        assert!(flat.contains(reason), "no word of it is broken: {reason}");
    }
    let job = fs::read_to_string(folder.path().join("job.toml")).unwrap();
    let said = format!("{words}{job}{report}");
    for secret in ["Jane", "Town-", "S-1000", "cough", "01000", "5000"] {
        assert!(!said.contains(secret), "{secret} in {said}");
    }
}

#[test]
fn the_proposed_job_of_a_study_runs() {
    let folder = folder_with(&study());
    succeed(folder.path(), &["init", "t.csv"]);
    succeed(folder.path(), &["anonymize", "--job", "job.toml"]);
}
