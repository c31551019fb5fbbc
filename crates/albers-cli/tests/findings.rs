//! Findings, end to end: what puts people at risk although the requirement holds is said, and stops
//! the release unless it is accepted by name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{Int64Array, StringArray};
use common::{Folder, Numbers, Run, array, piped};
use serde_json::Value;

/// Where the same release is made: in memory, by an index, and by one that spills.
const RUNS: [&str; 3] = [
    "",
    "--method rtree",
    "--method rtree --memory 900KB --least-memory 500KB --spill-dir . --threads 1",
];

/// People of whom each note is one person's, each disease that of an age, and each pay that of two.
/// No cell is part of any word or figure of a message.
fn people(n_rows: usize) -> String {
    let rows = (0..n_rows).map(|row| {
        let age = 70_300 + row * 50 / n_rows;
        let disease = if age < 70_325 { "measles" } else { "mumps" };
        format!("Quillon{row:05},{age},{disease},{}", 910_000 + row / 2)
    });
    format!("note,age,disease,pay\n{}\n", rows.collect::<Vec<_>>().join("\n"))
}

fn run(folder: &Folder, arguments: &str) -> Run {
    folder.run_once(&arguments.split_whitespace().collect::<Vec<_>>())
}

/// What an owner is told of a finding.
fn finding<'r>(report: &'r Value, name: &str) -> &'r Value {
    let findings = report["findings"].as_array().expect("there are findings");
    findings.iter().find(|own| own["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

/// A release that is refused, and leaves nothing but its table.
fn assert_is_refused(folder: &Folder, arguments: &str, label: &str) {
    let before = folder.files();
    let refused = run(folder, arguments);
    assert_eq!(refused.code, Some(1), "{arguments}: {}", refused.said());
    assert_eq!(refused.out, "", "{arguments}");
    assert!(refused.err.contains(&format!("{label}: ")), "{arguments}: {}", refused.err);
    assert!(refused.err.contains("nothing was written"), "{}", refused.err);
    assert!(refused.err.trim_end().ends_with(&format!("--accept {label}")), "{}", refused.err);
    assert_shows_no_cell(&refused);
    assert!(folder.files() == before, "{arguments} left something: {:?}", folder.names());
}

fn assert_shows_no_cell(run: &Run) {
    for cell in ["Quillon", "measles", "mumps", "703", "910", "911"] {
        assert!(!run.said().contains(cell), "a cell is shown: {}", run.said());
    }
}

#[test]
fn a_kept_value_that_half_of_the_rows_have_alone_stops_the_release() {
    let folder = Folder::with(people(3000));
    for method in RUNS {
        let job = format!("anonymize in.csv -o out.csv -k 5 --quasi age --keep note {method}");
        assert_is_refused(&folder, &job, "unique-keep:note");
        assert_is_refused(&folder, &format!("{job} --json"), "unique-keep:note");
        assert_is_refused(&folder, &format!("{job} --accept text-list"), "unique-keep:note");
    }
}

#[test]
fn what_is_accepted_by_name_or_by_column_is_published_and_said() {
    let folder = Folder::with(people(3000));
    for method in RUNS {
        for accept in ["unique-keep", "unique-keep:note"] {
            let job = format!(
                "anonymize in.csv -o out.csv -k 5 --quasi age --keep note --force {method} \
                 --accept {accept}"
            );
            let published = run(&folder, &job);
            assert_eq!(published.code, Some(0), "{}", published.err);
            // A small job counts some of the values, and says so.
            let about = if method.contains("least-memory") { "about " } else { "" };
            let manifest = folder.json("out.csv.manifest.json");
            let found = finding(&manifest, "unique-keep");
            let count = found["count"].as_u64().unwrap();
            let line = format!("accepted: unique-keep:note: {about}{count} of 3000 rows");
            assert!(published.out.contains(&line), "{}", published.out);
            assert_shows_no_cell(&published);
            assert!(count.abs_diff(3000) <= if about.is_empty() { 0 } else { 300 }, "{count}");
            assert_eq!(manifest["accepted"], serde_json::json!([accept]));
            assert_eq!(found.get("sentence"), None);
        }
        let job = format!("anonymize in.csv -o new.csv -k 5 --quasi age --keep note {method}");
        assert_is_refused(&folder, &format!("{job} --accept unique-keep:pay"), "unique-keep:note");
    }
}

#[test]
fn a_secret_that_whole_classes_share_stops_the_release_unless_a_rule_protects_it() {
    let folder = Folder::with(people(3000));
    for method in RUNS {
        let job = "anonymize in.csv -o out.csv -k 5 --quasi age --sensitive disease";
        assert_is_refused(&folder, &format!("{job} {method}"), "secret-without-rule:disease");
        let ruled = format!("{job} --l-diversity disease=distinct:2 --force --json {method}");
        let published = run(&folder, &ruled);
        assert_eq!(published.code, Some(0), "{}", published.err);
        let report: Value = serde_json::from_str(&published.out).unwrap();
        assert_eq!(report["findings"], serde_json::json!([]), "{method}");
        folder.remove_release("out.csv");
    }
}

#[test]
fn a_text_that_is_published_as_lists_of_itself_stops_the_release() {
    let folder = Folder::with(people(400));
    for method in RUNS {
        let job = format!("anonymize in.csv -o out.csv -k 5 --quasi age,note {method}");
        assert_is_refused(&folder, &job, "text-list:note");
        let published = run(&folder, &format!("{job} --force --json --accept text-list:note"));
        assert_eq!(published.code, Some(0), "{}", published.err);
        let report: Value = serde_json::from_str(&published.out).unwrap();
        let found = finding(&report, "text-list");
        assert_eq!((&found["count"], &found["severe"]), (&400.into(), &true.into()));
        folder.remove_release("out.csv");
    }
}

#[test]
fn a_release_that_hides_nobody_is_stopped_and_one_with_a_rule_is_not() {
    let folder = Folder::with(people(400));
    let job = "anonymize in.csv -o out.csv -k 1 --quasi age --sensitive disease";
    assert_is_refused(&folder, &format!("{job} --accept secret-without-rule"), "low-k");
    let ruled = run(&folder, &format!("{job} --l-diversity disease=distinct:2"));
    assert_eq!(ruled.code, Some(0), "{}", ruled.err);
}

#[test]
fn rows_alone_by_several_kept_columns_are_said_and_stop_nothing() {
    let folder = Folder::with(people(400));
    let published = run(&folder, "anonymize in.csv -o out.csv -k 5 --quasi age --keep pay,disease");
    assert_eq!(published.code, Some(0), "{}", published.err);
    assert!(!published.out.contains("unique-keep:"), "two have each pay: {}", published.out);
    assert!(!published.out.contains("unique-keeps:"), "and the same class: {}", published.out);
    // The last pay is one person's where the rows are odd in number.
    folder.write("odd.csv", people(401));
    let published = run(&folder, "anonymize odd.csv -o odd.out.csv -k 5 --quasi age --keep pay");
    assert!(published.out.contains("finding: unique-keep:pay: 1 of 401 rows"), "{}", published.out);
    assert!(published.out.contains("finding: unique-keeps: 1 of 401 rows"), "{}", published.out);
    assert_shows_no_cell(&published);
}

#[test]
fn an_acceptance_that_meets_nothing_is_a_note() {
    let folder = Folder::with(people(400));
    let job = "anonymize in.csv -o out.csv -k 5 --quasi age --accept low-k,unique-keep:pay";
    let published = run(&folder, job);
    assert_eq!(published.code, Some(0), "{}", published.err);
    for name in ["low-k", "unique-keep:pay"] {
        let note = format!("note: --accept {name} meets no finding");
        assert!(published.out.contains(&note), "{}", published.out);
    }
    let manifest = folder.json("out.csv.manifest.json");
    assert_eq!(manifest["accepted"], serde_json::json!(["low-k", "unique-keep:pay"]));
}

#[test]
fn a_job_file_accepts_in_the_same_words() {
    let folder = Folder::with(people(400));
    let job = "input = \"in.csv\"\noutput = \"out.csv\"\nk = 5\n\
               [columns.age]\nrole = \"quasi\"\n[columns.note]\nrole = \"keep\"\n";
    folder.write("job.toml", job);
    assert_is_refused(&folder, "anonymize --job job.toml", "unique-keep:note");
    folder.write("job.toml", format!("accept = [\"unique-keep:note\"]\n{job}"));
    let published = run(&folder, "anonymize --job job.toml");
    assert_eq!(published.code, Some(0), "{}", published.err);
    folder.write("job.toml", format!("accept = [\"unique\"]\n{job}"));
    let refused = run(&folder, "anonymize --job job.toml --force");
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("'unique' is no finding"), "{}", refused.err);
}

#[test]
fn names_that_are_no_finding_are_bad_usage() {
    let folder = Folder::with(people(40));
    for (accept, word) in [
        ("unique", "'unique' is no finding"),
        ("unique-keep:", "no column is named"),
        ("low-k:age", "no single column"),
    ] {
        let job = format!("anonymize in.csv -o out.csv -k 5 --quasi age --accept {accept}");
        let refused = run(&folder, &job);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(refused.err.contains(word), "{}", refused.err);
        assert_eq!(folder.names(), ["in.csv"]);
    }
}

#[test]
fn parquet_is_counted_like_text() {
    let folder = Folder::new();
    let notes = (0..400).map(|row| format!("Quillon{row:05}"));
    folder.write_parquet(
        "in.parquet",
        vec![
            ("note", array(StringArray::from_iter_values(notes))),
            ("age", array(Int64Array::from_iter_values((0..400).map(|row| 70_300 + row / 8)))),
        ],
    );
    for (input, output) in [("in.parquet", "out.parquet"), ("in.parquet", "out.csv")] {
        let job = format!("anonymize {input} -o {output} -k 5 --quasi age --keep note");
        assert_is_refused(&folder, &job, "unique-keep:note");
    }
    let published = run(
        &folder,
        "anonymize in.parquet -o out.parquet -k 5 --quasi age --keep note --accept unique-keep:note",
    );
    assert_eq!(published.code, Some(0), "{}", published.err);
    let manifest = folder.json("out.parquet.manifest.json");
    assert_eq!(finding(&manifest, "unique-keep")["count"], 400);
}

#[test]
fn a_severe_finding_lets_nothing_out_by_standard_output() {
    let folder = Folder::new();
    let table = people(3000);
    for method in RUNS {
        let job = format!("anonymize - -o - --from csv -k 5 --quasi age --keep note {method}");
        let (code, out, err) = piped(&folder, &job, table.as_bytes());
        assert_eq!((code, out.len()), (Some(1), 0), "{err}");
        assert!(err.contains("unique-keep:note"), "{err}");
        assert_eq!(folder.names(), Vec::<String>::new(), "{method}");
        let accepted = format!("{job} --accept unique-keep:note");
        let (code, out, err) = piped(&folder, &accepted, table.as_bytes());
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(out.iter().filter(|&&byte| byte == b'\n').count(), 3001);
    }
}

#[test]
fn a_severe_finding_of_a_coarser_release_stops_all() {
    let folder = Folder::with(people(400));
    let job = "anonymize in.csv -o out.csv -k 5 --also-k 20 --quasi age --keep note";
    assert_is_refused(&folder, job, "unique-keep:note");
}

/// Visits of people, of which the first ones are pairs of one person's.
fn visits(n_rows: usize, n_paired: usize) -> String {
    let rows = (0..n_rows).map(|row| {
        let person = if row < n_paired { row / 2 } else { row };
        format!("{},Quillon{person:05},visit{row}", 70_300 + row * 50 / n_rows)
    });
    format!("age,name,visit\n{}\n", rows.collect::<Vec<_>>().join("\n"))
}

#[test]
fn an_identifier_that_repeats_without_a_subject_stops_the_release() {
    // One in a hundred rows is severe, fewer are said, and none are nothing. Where only some values
    // are counted, all rows are.
    let cases = [(30, &RUNS[..2]), (28, &RUNS[..2]), (0, &RUNS[..]), (3000, &RUNS[2..])];
    for (n_paired, methods) in cases {
        let folder = Folder::with(visits(3000, n_paired));
        for method in methods {
            let job = format!(
                "anonymize in.csv -o out.csv -k 5 --quasi age --identifier visit,name {method}"
            );
            if n_paired >= 30 {
                assert_is_refused(&folder, &job, "rows-per-person");
            }
            let published = run(&folder, &format!("{job} --force --accept rows-per-person"));
            assert_eq!(published.code, Some(0), "{}", published.err);
            assert_eq!(published.out.contains("accepted: rows-per-person"), n_paired >= 30);
            assert_eq!(published.out.contains("finding: rows-per-person"), n_paired == 28);
            assert_shows_no_cell(&published);
            let manifest = folder.json("out.csv.manifest.json");
            assert_eq!(manifest["findings"], serde_json::json!([]), "it is the owner's");
            folder.remove_release("out.csv");
        }
    }
}

#[test]
fn rows_per_person_are_counted_exactly_and_the_column_is_named() {
    let folder = Folder::with(visits(400, 6));
    let job = "anonymize in.csv -o out.csv -k 5 --quasi age --identifier visit,name";
    let refused = run(&folder, job);
    let sentence = "6 of 400 rows share their value of 'name' with others";
    assert!(refused.err.contains(sentence), "{}", refused.err);
    assert!(refused.err.contains("apart with --subject"), "{}", refused.err);
    // Whoever tells persons apart has said it.
    let told = run(
        &folder,
        "anonymize in.csv -o out.csv -k 5 --quasi age --identifier visit --subject name",
    );
    assert_eq!(told.code, Some(0), "{}", told.err);
    assert!(!told.out.contains("rows-per-person"), "{}", told.out);
}

#[test]
fn missing_identifiers_are_nobodys() {
    let rows = (0..400).map(|row| {
        let name = ["", "NA", "Quillon"][row % 3];
        let number = if row % 3 == 2 { row.to_string() } else { String::new() };
        format!("{},{name}{number}", 70_300 + row / 8)
    });
    let folder = Folder::with(format!("age,name\n{}\n", rows.collect::<Vec<_>>().join("\n")));
    let job = "anonymize in.csv -o out.csv -k 5 --quasi age --identifier name --missing NA";
    let published = run(&folder, job);
    assert_eq!(published.code, Some(0), "{}", published.err);
    assert!(!published.out.contains("rows-per-person"), "{}", published.out);
}

#[test]
fn identifiers_of_parquet_are_counted_too() {
    let folder = Folder::new();
    folder.write_parquet(
        "in.parquet",
        vec![
            ("person", array(Int64Array::from_iter_values((0..400).map(|row| 910_000 + row / 2)))),
            ("age", array(Int64Array::from_iter_values((0..400).map(|row| 70_300 + row / 8)))),
        ],
    );
    let job = "anonymize in.parquet -o out.parquet -k 5 --quasi age --identifier person";
    assert_is_refused(&folder, job, "rows-per-person");
    let refused = run(&folder, job);
    assert!(refused.err.contains("400 of 400 rows share"), "{}", refused.err);
}

#[test]
fn an_identifier_is_looked_at_also_where_all_rows_have_other_types_than_the_first() {
    // The last age makes the column decimal, and the table is read again.
    let table = visits(3000, 60) + "70322.5,Quillon99999,visit9999\n";
    let folder = Folder::with(table);
    let refused = run(&folder, "anonymize in.csv -o out.csv -k 5 --quasi age --identifier name");
    assert_eq!(refused.code, Some(1), "{}", refused.err);
    assert!(refused.err.contains("60 of 3001 rows share"), "{}", refused.err);
}

/// The values at the ends of what cells show.
fn ends_of(cells: &[String]) -> BTreeSet<&str> {
    let trimmed = cells.iter().map(|cell| cell.trim_matches(['[', ']']));
    trimmed.flat_map(|cell| cell.split(", ")).collect()
}

/// How many rows have each value.
fn n_with(values: impl Iterator<Item = u64>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    values.for_each(|value| *counts.entry(value.to_string()).or_default() += 1);
    counts
}

#[test]
fn ends_that_are_the_value_of_few_rows_are_told_to_the_owner() {
    let mut numbers = Numbers::new(7);
    let mut row = || (70_300 + numbers.below(300), 910_000 + numbers.below(30).pow(2));
    let rows: Vec<(u64, u64)> = (0..3000).map(|_| row()).collect();
    let lines: Vec<String> = rows.iter().map(|(age, pay)| format!("{age},{pay}")).collect();
    let folder = Folder::with(format!("age,pay\n{}\n", lines.join("\n")));
    let counts = [
        ("age", n_with(rows.iter().map(|row| row.0))),
        ("pay", n_with(rows.iter().map(|row| row.1))),
    ];
    for options in RUNS.iter().flat_map(|run| [(*run).to_owned(), format!("{run} --no-compact")]) {
        let rest = format!("in.csv -o out.csv -k 12 --quasi age,pay {options}");
        let report = folder.anonymize(&rest);
        for (column, counts) in &counts {
            let cells = folder.column("out.csv", column);
            let ends = ends_of(&cells);
            let is_few = |end: &&&str| counts.get(**end).is_some_and(|&n_rows| n_rows < 12);
            let n_few = ends.iter().filter(is_few).count() as u64;
            let mut findings = report["findings"].as_array().unwrap().iter();
            let found =
                findings.find(|own| own["name"] == "own-value-bounds" && own["column"] == *column);
            let count = found.map_or(0, |own| own["count"].as_u64().unwrap());
            assert_eq!(count, n_few, "{column}, {options}");
            if let Some(found) = found {
                assert_eq!((&found["severe"], found.get("about")), (&false.into(), None));
                let sentence = found["sentence"].as_str().unwrap();
                assert_eq!(sentence.contains("compact"), !options.contains("no-compact"));
            }
        }
        let manifest = folder.json("out.csv.manifest.json");
        assert_eq!(manifest["findings"], serde_json::json!([]), "it is the owner's");
    }
    let published = run(&folder, "anonymize in.csv -o new.csv -k 12 --quasi age,pay");
    assert!(published.out.contains("finding: own-value-bounds:age: "), "{}", published.out);
    assert!(published.out.contains("with --no-compact they are"), "{}", published.out);
    assert!(!published.out.contains("703"), "a cell is shown: {}", published.out);
}

/// Groups of four persons of one age, of whom the first has a row for each of three diseases; all
/// others have measles, or each another disease.
fn groups(is_alike: bool) -> String {
    let diseases = ["measles", "mumps", "rubella"];
    let rows = (0..200).flat_map(|group| {
        let of_first = diseases.iter().map(move |disease| (0, *disease));
        let of_others = (0..3).map(move |own| (own + 1, diseases[if is_alike { 0 } else { own }]));
        of_first.chain(of_others).map(move |(person, disease)| {
            format!("Quillon{group:05}{person},{},{disease}", 70_300 + 3 * group)
        })
    });
    format!("person,age,disease\n{}\n", rows.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_class_that_only_one_persons_rows_make_diverse_stops_the_release() {
    let folder = Folder::with(groups(true));
    folder.write("other.csv", groups(false));
    for method in RUNS {
        let rest = format!(
            "-o out.csv -k 4 --subject person --quasi age --sensitive disease \
             --l-diversity disease=distinct:3 --force {method}"
        );
        let job = format!("anonymize in.csv {rest}");
        assert_is_refused(&folder, &job, "person-rules-class:disease");
        let accepted = run(&folder, &format!("{job} --json --accept person-rules-class:disease"));
        assert_eq!(accepted.code, Some(0), "{}", accepted.err);
        let report: Value = serde_json::from_str(&accepted.out).unwrap();
        assert_eq!(report["classes"], 200);
        assert_eq!(finding(&report, "person-rules-class")["count"], 200);
        let manifest = folder.json("out.csv.manifest.json");
        assert_eq!(manifest["findings"], serde_json::json!([]), "it is the owner's");
        let other = run(&folder, &format!("anonymize other.csv {rest}"));
        assert_eq!(other.code, Some(0), "{}", other.err);
        folder.remove_release("out.csv");
    }
}

/// People whose birth tells their age, of the first ones; of the others it is one for all. Three
/// people have each age, so that it is generalized.
fn births(n_told: usize) -> String {
    let rows = (0..3000).map(|row| {
        let age = 70_300 + row / 3;
        let born = if row < n_told { 990_000 - age } else { 910_000 };
        format!("{age},{born}")
    });
    format!("age,born\n{}\n", rows.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_column_that_tells_a_generalized_one_stops_the_release() {
    for n_told in [3000, 150, 147, 27, 0] {
        let folder = Folder::with(births(n_told));
        let runs = RUNS.iter().flat_map(|run| {
            let sensitive = "--sensitive born --accept secret-without-rule";
            ["--keep born".to_owned(), sensitive.to_owned()].map(|own| format!("{own} {run}"))
        });
        for options in runs {
            let job = format!("anonymize in.csv -o out.csv -k 5 --quasi age {options}");
            if n_told >= 150 {
                assert_is_refused(&folder, &job, "keep-tells-quasi:born");
            }
            let job = format!("{job} --force --json --accept keep-tells-quasi:born");
            let published = run(&folder, &job);
            assert_eq!(published.code, Some(0), "{}", published.err);
            let report: Value = serde_json::from_str(&published.out).unwrap();
            let mut findings = report["findings"].as_array().unwrap().iter();
            let found = findings.find(|own| own["name"] == "keep-tells-quasi");
            assert_eq!(found.is_some(), n_told >= 30, "{options}");
            if let Some(found) = found {
                assert_eq!((&found["count"], found.get("about")), (&n_told.into(), None));
                assert!(found["sentence"].as_str().unwrap().contains("one value only of 'age'"));
            }
            folder.remove_release("out.csv");
        }
    }
}

#[test]
fn a_column_tells_nothing_where_ages_are_shown_and_where_it_is_unique_or_shuffled() {
    let mut numbers = Numbers::new(11);
    let mut shuffled: Vec<usize> = (0..3000).map(|row| row / 3).collect();
    numbers.shuffle(&mut shuffled);
    let table = |born: &dyn Fn(usize) -> usize, n_each: usize| {
        let rows =
            (0..3000).map(|row| format!("{},{}", 70_300 + row / n_each, 910_000 + born(row)));
        format!("age,born\n{}\n", rows.collect::<Vec<_>>().join("\n"))
    };
    for table in [
        // Ten people have each age: it is shown as it is.
        table(&|row| row / 10, 10),
        table(&|row| row, 3),
        table(&|row| shuffled[row], 3),
    ] {
        let folder = Folder::with(table);
        let job = "anonymize in.csv -o out.csv -k 5 --quasi age --keep born --accept unique-keep";
        let published = run(&folder, job);
        assert_eq!(published.code, Some(0), "{}", published.err);
        assert!(!published.out.contains("keep-tells-quasi"), "{}", published.out);
    }
}

/// The findings of a check, in memory and beyond it.
fn checked(folder: &Folder, arguments: &str) -> Vec<(String, u64, bool)> {
    let checks = ["", "--memory 300KB --spill-dir ."].map(|memory| {
        let check = run(folder, &format!("check {arguments} --json {memory}"));
        let report: Value = serde_json::from_str(&check.out).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let is_severe = findings.iter().any(|own| own["severe"] == true);
        assert_eq!(check.code, Some(i32::from(is_severe)), "{}", check.err);
        let told = findings.iter().map(|own| {
            let name = own["name"].as_str().unwrap();
            let column =
                own["column"].as_str().map_or(String::new(), |column| format!(":{column}"));
            (format!("{name}{column}"), own["count"].as_u64().unwrap(), own["severe"] == true)
        });
        told.collect::<Vec<_>>()
    });
    assert_eq!(checks[0], checks[1], "{arguments}");
    checks[0].clone()
}

#[test]
fn check_tells_what_can_be_seen_in_any_table() {
    let folder = Folder::with(people(3001));
    let found = |name: &str, count, is_severe| (name.to_owned(), count, is_severe);
    assert_eq!(
        checked(&folder, "in.csv --quasi age --keep note,pay --sensitive disease"),
        [
            found("unique-keep:note", 3001, true),
            found("unique-keep:pay", 1, false),
            found("unique-keeps", 3001, false),
            found("secret-without-rule:disease", 3001, true),
        ]
    );
    let ruled = "--sensitive disease --t-closeness disease=0.9";
    assert_eq!(checked(&folder, &format!("in.csv --quasi age {ruled}")), []);
    // A rule that asks for nothing is none.
    let idle = "--sensitive disease --l-diversity disease=distinct:1";
    assert_eq!(
        checked(&folder, &format!("in.csv --quasi age {idle}")),
        [found("secret-without-rule:disease", 3001, true)]
    );
    assert_eq!(checked(&folder, "in.csv --quasi pay"), [found("low-k", 1, true)]);
    let said = run(&folder, "check in.csv --quasi pay --keep note");
    for line in
        ["severe finding: low-k: 1 of 3001 rows are in classes of one", "unique-keep:note: "]
    {
        assert!(said.out.contains(line), "{}", said.out);
    }
    assert!(!said.out.contains("Quillon"), "a cell is shown: {}", said.out);
    let refused = run(&folder, "check in.csv --quasi pay --keep nothing");
    assert_eq!(refused.code, Some(2), "{}", refused.err);
}

/// Most rows are one class, which in little memory does not fit there: it is looked at all the
/// same, so that neither the memory nor the order of the rows decides what is found.
#[test]
fn what_is_found_depends_neither_on_the_memory_nor_on_the_order_of_the_rows() {
    let row = |row: usize| {
        // No cut of the large class is allowable: each age has one disease.
        let (age, shade) = match row % 4 {
            0 => (20 + row % 60, row * 31 % 1009),
            place => (49 + place, 500),
        };
        let disease = ["flu", "mumps", "cold"][if age / 3 == 17 { age % 3 } else { row / 5 % 3 }];
        format!("p{},{age},{},{shade},{disease},{}", row / 3, 2000 - age, row * 7919 % 11_003)
    };
    let rows: Vec<String> = (0..12_000).map(row).collect();
    let table = |rows: &mut dyn Iterator<Item = &String>| {
        let rows: Vec<&str> = rows.map(String::as_str).collect();
        format!("person,age,born,shade,disease,shoe\n{}\n", rows.join("\n"))
    };
    let folder = Folder::with(table(&mut rows.iter()));
    folder.write("reversed.csv", table(&mut rows.iter().rev()));
    let job = "-k 6 --quasi age,shade --keep born,shoe --sensitive disease --subject person \
               --l-diversity disease=3 --least-memory 300KB --spill-dir . --threads 1";
    let mut found = Vec::new();
    for (name, memory) in [("in", "500MB"), ("reversed", "500MB"), ("in", "300KB")] {
        let report = folder.anonymize(&format!("{name}.csv -o out.csv {job} --memory {memory}"));
        let is_small = memory == "300KB";
        assert_eq!(report["spilled_bytes"].as_u64().unwrap() > 0, is_small, "{memory}");
        found.push((report["findings"].clone(), folder.read("out.csv")));
    }
    let names: Vec<&str> =
        found[0].0.as_array().unwrap().iter().map(|own| own["name"].as_str().unwrap()).collect();
    for name in ["keep-tells-quasi", "own-value-bounds", "unique-keep", "unique-keeps"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(found[0], found[1], "in another order");
    assert_eq!(found[0], found[2], "in less memory");
}
