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
    for memory in ["", "--memory 300KB --spill-dir ."] {
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
