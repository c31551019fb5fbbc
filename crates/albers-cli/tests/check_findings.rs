//! What `albers check` finds beside the requirement, what is accepted of it, and how it ends.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, Run};
use serde_json::Value;

/// Four people of each of 100 ages, with a note of their own.
fn people() -> String {
    let rows = (0..400).map(|row| format!("{},Quillon{row:05}", 70_300 + row / 4));
    format!("age,note\n{}\n", rows.collect::<Vec<_>>().join("\n"))
}

/// Runs the program once, whatever it advises.
fn run(folder: &Folder, arguments: &str) -> Run {
    let run = folder.run_once(&arguments.split_whitespace().collect::<Vec<_>>());
    assert!(!run.said().contains("Quillon"), "a cell is shown: {}", run.said());
    run
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}{}", run.out, run.err))
}

#[test]
fn a_severe_finding_that_is_not_accepted_ends_with_1_and_how_to_accept_it() {
    let folder = Folder::with(people());
    folder.write("job.toml", "accept = ['unique-keep']\n");
    for memory in ["", "--memory 100KB --spill-dir ."] {
        let check = format!("check in.csv --quasi age --keep note -k 4 {memory}");
        let refused = run(&folder, &check);
        assert_eq!(refused.code, Some(1), "{}", refused.err);
        assert!(
            refused.out.contains("severe finding: unique-keep:note: 400 of"),
            "{}",
            refused.out
        );
        assert!(refused.err.trim_end().ends_with("--accept unique-keep:note"), "{}", refused.err);
        assert_eq!(json(&run(&folder, &format!("{check} --json")))["not_accepted"][0], {
            "unique-keep:note"
        });
        for accept in ["--accept unique-keep:note", "--accept low-k,unique-keep", "--job job.toml"]
        {
            let accepted = run(&folder, &format!("{check} {accept}"));
            assert_eq!((accepted.code, accepted.err.as_str()), (Some(0), ""), "{accept}");
            assert!(accepted.out.contains("accepted: unique-keep:note: "), "{}", accepted.out);
            let is_idle = accepted.out.contains("note: --accept low-k meets no finding");
            assert_eq!(is_idle, accept.contains("low-k"), "{}", accepted.out);
        }
    }
    let unknown = run(&folder, "check in.csv --quasi age --accept unique");
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("use one of"), "{}", unknown.err);
}

#[test]
fn what_a_manifest_accepts_is_accepted_and_its_kept_columns_are_counted() {
    let folder = Folder::with(people());
    let job = "anonymize in.csv -o out.csv --quasi age --keep note -k 4 --accept unique-keep:note";
    assert_eq!(run(&folder, job).code, Some(0));
    let check = run(&folder, "check out.csv --json");
    assert_eq!(check.code, Some(0), "{}", check.err);
    let report = json(&check);
    assert_eq!(report["accepted"], serde_json::json!(["unique-keep:note"]));
    assert_eq!(report["not_accepted"], serde_json::json!([]));
    let found = &report["findings"][0];
    assert_eq!((&found["name"], &found["count"]), (&"unique-keep".into(), &400.into()));
    // Without its manifest nobody has accepted anything.
    std::fs::remove_file(folder.path("out.csv.manifest.json")).unwrap();
    assert_eq!(run(&folder, "check out.csv --quasi age --keep note").code, Some(1));
}

/// The findings of a check with their counts and whether they are severe, in memory and beyond it.
fn checked(folder: &Folder, arguments: &str) -> Vec<(String, u64, bool)> {
    let checks = ["", "--memory 100KB --spill-dir ."].map(|memory| {
        let report = json(&run(folder, &format!("check {arguments} --json {memory}")));
        let is_large = report["rows"].as_u64().unwrap() > 10_000;
        let is_spilled = report["spilled_bytes"].as_u64().unwrap_or(0) > 0;
        assert_eq!(is_spilled, is_large && !memory.is_empty(), "{arguments}");
        let told = report["findings"].as_array().unwrap().iter().map(|own| {
            let column = own["column"].as_str().map_or(String::new(), |name| format!(":{name}"));
            let label = format!("{}{column}", own["name"].as_str().unwrap());
            (label, own["count"].as_u64().unwrap(), own["severe"] == true)
        });
        told.collect::<Vec<_>>()
    });
    assert_eq!(checks[0], checks[1], "{arguments}");
    checks[0].clone()
}

/// 60,000 rows: two kept columns that are alone together but not each by itself, a name that every
/// person has in two rows, and a town.
fn visits() -> String {
    let rows = (0..60_000).map(|row| {
        let (left, right) = (row / 250, row % 250);
        format!("{},a{left},b{right},Quillon{:05},town{}", 70_300 + row / 100, row / 2, row % 30)
    });
    format!("age,left,right,name,town\n{}\n", rows.collect::<Vec<_>>().join("\n"))
}

#[test]
fn rows_alone_by_several_columns_texts_and_repeated_identifiers_are_seen_in_any_table() {
    let folder = Folder::with(visits());
    let found = |name: &str, count, is_severe| (name.to_owned(), count, is_severe);
    let kept = "in.csv --quasi age --keep left,right";
    assert_eq!(checked(&folder, kept), [found("unique-keeps", 60_000, false)]);
    let identified = "in.csv --quasi age --identifier name";
    assert_eq!(checked(&folder, identified), [found("rows-per-person", 60_000, true)]);
    assert_eq!(checked(&folder, &format!("{kept} --subject name")).len(), 1);
    assert_eq!(checked(&folder, "in.csv --quasi town"), [found("text-list:town", 30, false)]);
    // Names of two rows each are a list, but of nobody alone.
    assert_eq!(checked(&folder, "in.csv --quasi name"), [found("text-list:name", 30_000, false)]);
    let refused = run(&folder, "check in.csv --quasi age --identifier nam");
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("there is no column 'nam'"), "{}", refused.err);
}

#[test]
fn a_text_of_one_row_each_is_severe_raw_and_in_lists() {
    let folder = Folder::with(people());
    let raw = checked(&folder, "in.csv --quasi note");
    assert_eq!(raw[1], ("text-list:note".to_owned(), 400, true));
    let job = "anonymize in.csv -o out.csv --quasi note -k 4 --accept text-list";
    assert_eq!(run(&folder, job).code, Some(0));
    std::fs::remove_file(folder.path("out.csv.manifest.json")).unwrap();
    let released = checked(&folder, "out.csv --quasi note");
    assert_eq!(released, [("text-list:note".to_owned(), 400, true)]);
    // Labels are no lists of values.
    let labels = checked(&folder, "out.csv --quasi note --hierarchy note=prefix");
    assert_eq!(labels, []);
}

#[test]
fn the_numbers_of_the_rows_are_written_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let table = "age,pay,disease,note\n7301,1,flu,x\n7301,2,flu,y\n7302,3,cold,x\n7303,4,flu,x\n\
                 7303,5,cold,x\n";
    let folder = Folder::with(table);
    let check = "check in.csv --quasi age --keep note,pay --sensitive disease";
    let mut written = Vec::new();
    for (name, memory) in [("rows.csv", ""), ("more.csv", "--memory 100KB --spill-dir .")] {
        let run = run(&folder, &format!("{check} --rows {name} {memory}"));
        assert_eq!(run.code, Some(1), "{}", run.err);
        let mode = std::fs::metadata(folder.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        written.push(folder.read(name));
    }
    let of = |name: &str, rows: &[u64]| -> String {
        rows.iter().map(|row| format!("{name},{row}\n")).collect()
    };
    let expected = [
        "finding,row\n".to_owned(),
        of("low-k", &[3]),
        of("unique-keep:note", &[2]),
        of("unique-keep:pay", &[1, 2, 3, 4, 5]),
        of("unique-keeps", &[1, 2, 3, 4, 5]),
        of("secret-without-rule:disease", &[1, 2, 3]),
    ];
    assert_eq!(written, [expected.concat(), expected.concat()]);
    for (name, problem) in [("rows.csv", "--force"), ("in.csv", "also an input")] {
        let refused = run(&folder, &format!("{check} --rows {name}"));
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{name}");
        assert!(refused.err.contains(problem), "{}", refused.err);
    }
    assert_eq!(run(&folder, &format!("{check} --rows rows.csv --force")).code, Some(1));
    assert_eq!(folder.read("in.csv"), table);
}

#[test]
fn numbers_of_rows_that_do_not_fit_are_refused_with_the_memory_that_would_do() {
    let folder = Folder::with(visits());
    let check = "check in.csv --quasi age --keep left --rows rows.csv --spill-dir .";
    let refused = run(&folder, &format!("{check} --memory 300KB"));
    assert_eq!(refused.code, Some(2), "{}", refused.out);
    assert!(refused.err.contains("the numbers of rows"), "{}", refused.err);
    assert_eq!(folder.names(), ["in.csv"]);
    let (_, advised) = refused.err.split_once("give --memory ").unwrap();
    let memory = advised.split_whitespace().next().unwrap();
    let done = run(&folder, &format!("{check} --memory {memory} --json"));
    assert_eq!(done.code, Some(0), "{memory}: {}", done.err);
    let all = run(&folder, &format!("{check} --json").replace("rows.csv", "all.csv"));
    assert_eq!(json(&done)["findings"], json(&all)["findings"]);
    assert_eq!(folder.read("rows.csv"), folder.read("all.csv"));
}
