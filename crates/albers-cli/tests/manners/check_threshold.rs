//! The threshold of risk that `check` prints: it follows k, and it says where it comes from.

use crate::common::{Folder, PEOPLE};
use serde_json::Value;

/// Groups of 2, 4 and 6 rows.
const GROUPS: &str = "age\n1\n1\n3\n3\n3\n3\n5\n5\n5\n5\n5\n5\n";

fn risk(folder: &Folder, arguments: &str) -> Value {
    let run = folder.run(&format!("check {arguments} --json"));
    serde_json::from_str::<Value>(&run.out).unwrap()["risk"].take()
}

#[test]
fn the_threshold_is_that_of_the_k_that_is_asked_for() {
    let folder = Folder::with(GROUPS);
    for (k, n_rows) in [(2, 0), (3, 2), (4, 2), (5, 6), (7, 12)] {
        let risk = risk(&folder, &format!("in.csv --quasi age -k {k}"));
        assert_eq!(risk["threshold"].as_f64(), Some(1.0 / f64::from(k)), "k = {k}");
        assert_eq!(risk["threshold_from"], "k");
        assert_eq!(risk["rows_above_threshold"], n_rows, "k = {k}");
    }
    let words = folder.run("check in.csv --quasi age -k 4").out;
    let line =
        "  above 0.2500 (1 in 4, as k = 4 asks for groups of 4 rows): 2 rows, 16.67 % of all\n";
    assert!(words.contains(line), "{words}");
}

#[test]
fn the_threshold_of_a_release_is_that_of_the_k_of_its_manifest() {
    let folder = Folder::with(PEOPLE);
    folder.anonymize("in.csv -o out.csv --quasi age -k 3");
    let risk = risk(&folder, "out.csv");
    assert_eq!(
        (&risk["threshold_from"], risk["threshold"].as_f64()),
        (&"k".into(), Some(1.0 / 3.0))
    );
    assert_eq!(risk["rows_above_threshold"], 0);
}

#[test]
fn without_a_k_the_threshold_is_a_convention_that_says_so() {
    let folder = Folder::with(GROUPS);
    let usual = risk(&folder, "in.csv --quasi age");
    assert_eq!(
        (&usual["threshold_from"], usual["threshold"].as_f64()),
        (&"convention".into(), Some(0.2))
    );
    assert_eq!(usual["rows_above_threshold"], 6);
    let words = folder.run("check in.csv --quasi age").out;
    let says = "  above 0.2 (1 in 5; no k was asked for, and groups of 5 are a common convention, set \
                another with --threshold): 6 rows, 50.00 % of all\n";
    assert!(words.contains(says), "{words}");
    let given = risk(&folder, "in.csv --quasi age -k 4 --threshold 0.3");
    assert_eq!(
        (&given["threshold_from"], given["threshold"].as_f64()),
        (&"given".into(), Some(0.3))
    );
    let words = folder.run("check in.csv --quasi age --threshold 0.3").out;
    assert!(words.contains("  above 0.3 (as --threshold says): 2 rows"), "{words}");
}

#[test]
fn class_and_ncp_are_explained_where_they_are_first_used() {
    let folder = Folder::with(PEOPLE);
    let made = folder.run("anonymize in.csv -o out.csv --quasi age -k 3").out;
    assert!(
        made.starts_with("12 rows in 4 classes (groups of rows that show the same) of 3 to 3 rows"),
        "{made}"
    );
    assert!(made.contains(" (0: nothing lost, 1: everything), discernibility "), "{made}");
    let checked = folder.run("check out.csv").out;
    assert!(
        checked.starts_with("12 rows in 4 classes (groups of rows that show the same) of "),
        "{checked}"
    );
    let measured = folder.run("measure in.csv out.csv --quasi age").out;
    assert!(measured.contains("4 classes (groups of rows that show the same) of "), "{measured}");
    assert!(measured.contains("(0: nothing lost, 1: everything)"), "{measured}");
}
