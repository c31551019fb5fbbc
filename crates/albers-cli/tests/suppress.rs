//! Outliers through the program: left out where that saves most loss, by methods that cut or group.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Folder, Numbers};
use serde_json::Value;

const METHODS: [&str; 4] = ["auto", "mondrian", "rtree", "local"];
const ROLES: &str = "--quasi age,zip,job --sensitive disease --keep key";

/// Rows that lie close together, told apart by their keys, and some far from them and each other.
fn rows(n_close: usize, n_far: usize, seed: u64) -> Vec<String> {
    const DISEASES: [&str; 4] = ["asthma", "bronchitis", "cough", "diabetes"];
    let mut numbers = Numbers::new(seed);
    let mut row = |key: String, is_far: bool| {
        let (mut age, mut zip) = (200 + numbers.below(60), 300 + numbers.below(60));
        if is_far {
            let band = [0, 950][numbers.below(2) as usize] + numbers.below(50);
            (age, zip) = (band, numbers.below(1000));
            if numbers.below(2) == 0 {
                (age, zip) = (zip, age);
            }
        }
        let job = ["cook", "dean", "maid"][numbers.below(3) as usize];
        format!("{age},{zip},{job},{},{key}", DISEASES[numbers.below(4) as usize])
    };
    let close: Vec<String> = (0..n_close).map(|at| row(format!("c{at}"), false)).collect();
    let far = (0..n_far).map(|at| row(format!("far{at}"), true));
    close.into_iter().chain(far).collect()
}

fn table(rows: &[String]) -> String {
    format!("age,zip,job,disease,key\n{}\n", rows.join("\n"))
}

/// The same rows in another order.
fn shuffled(rows: &[String], seed: u64) -> Vec<String> {
    let mut numbers = Numbers::new(seed);
    let mut keyed: Vec<(u64, &String)> =
        rows.iter().map(|row| (numbers.below(u64::MAX), row)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, row)| row.clone()).collect()
}

fn ncp(report: &Value) -> f64 {
    report["table_loss"]["ncp"].as_f64().unwrap()
}

/// The loss of the rows that are published: those that are left out count as lost entirely in all.
fn published_ncp(report: &Value) -> f64 {
    let [published, left_out] = ["rows", "suppressed"].map(|own| report[own].as_f64().unwrap());
    (ncp(report) * (published + left_out) - left_out) / published
}

fn keys(folder: &Folder, name: &str) -> BTreeSet<String> {
    let keys = folder.column(name, "key");
    let n_rows = keys.len();
    let keys: BTreeSet<String> = keys.into_iter().collect();
    assert_eq!(keys.len(), n_rows, "a row is published twice");
    keys
}

/// How wide the cells of a row are together, by its key; a set is as wide as it has more names.
fn widths(folder: &Folder, name: &str) -> BTreeMap<String, f64> {
    let rows = folder.csv(name);
    let width = |cell: &str, range: f64| match cell.strip_prefix('[') {
        Some(ends) => {
            let (lo, hi) = ends.trim_end_matches(']').split_once(", ").unwrap();
            (hi.parse::<f64>().unwrap() - lo.parse::<f64>().unwrap()) / range
        }
        None => 0.0,
    };
    let of_row = |row: &Vec<String>| {
        let names = row[2].split(", ").count() as f64 - 1.0;
        width(&row[0], 1000.0) + width(&row[1], 1000.0) + names / 2.0
    };
    rows[1..].iter().map(|row| (row[4].clone(), of_row(row))).collect()
}

#[test]
fn planted_outliers_and_no_others_are_left_out_and_the_loss_falls() {
    let folder = Folder::with(table(&rows(1_000, 20, 5)));
    for method in ["mondrian", "rtree", "auto --effort fast", "auto", "local"] {
        let rest = format!("--method {method} --quasi age,zip --keep key -k 5");
        let before = folder.anonymize(&format!("in.csv -o before.csv {rest}"));
        assert_eq!(before["suppressed"], 0);
        let after = folder.anonymize(&format!("in.csv -o out.csv {rest} --suppress 0.02"));
        // Leaves that are brought together may hide outliers among each other.
        if method != "auto" {
            assert_eq!(after["suppressed"], 20, "{method}");
            let published = keys(&folder, "out.csv");
            assert_eq!(published.len(), 1_000, "{method}");
            let n_far = published.iter().filter(|key| key.starts_with("far")).count();
            assert_eq!(n_far, 0, "{method}");
        }
        let (had, has) = (ncp(&before), published_ncp(&after));
        assert!(has < 0.5 * had, "{method}: {had} became {has}");
    }
}

#[test]
fn no_published_row_loses_by_it_on_the_whole() {
    for seed in 0..4 {
        let folder = Folder::with(table(&rows(300, 9, seed)));
        for method in METHODS {
            for (k, share) in [(2, "0.05"), (7, "0.03"), (5, "0.3")] {
                let rest = format!("--method {method} {ROLES} -k {k}");
                folder.anonymize(&format!("in.csv -o before.csv {rest}"));
                let report =
                    folder.anonymize(&format!("in.csv -o out.csv {rest} --suppress {share}"));
                let most = (share.parse::<f64>().unwrap() * 309.0).floor();
                let n_out = report["suppressed"].as_f64().unwrap();
                assert!(n_out > 0.0 && n_out <= most, "{method} {k}: {n_out} of {most}");
                let (before, after) = (widths(&folder, "before.csv"), widths(&folder, "out.csv"));
                let had: f64 = after.keys().map(|key| before[key]).sum();
                let has: f64 = after.values().sum();
                assert!(has <= had + 1e-6, "{method}, k = {k}, seed {seed}: {had} became {has}");
            }
        }
    }
}

#[test]
fn order_threads_and_memory_do_not_decide_who_is_left_out() {
    let rows = rows(6_000, 60, 3);
    let folder = Folder::with(table(&rows));
    folder.write("other.csv", table(&shuffled(&rows, 8)));
    for method in METHODS {
        let least = if method == "local" { "" } else { "--least-memory 256KB" };
        let rest = format!("--method {method} {ROLES} -k 5 --suppress 0.01 {least}");
        let report = folder.anonymize(&format!("in.csv -o a.csv {rest} --threads 1"));
        assert_eq!(report["suppressed"], 60, "{method}");
        folder.anonymize(&format!("other.csv -o b.csv {rest} --threads 3"));
        assert_eq!(folder.read("a.csv"), folder.read("b.csv"), "{method}");
        if method == "local" {
            continue;
        }
        let report = folder.anonymize(&format!("other.csv -o b.csv {rest} --memory 1MB"));
        assert!(report["spilled_bytes"].as_u64().unwrap() > 0, "{method}");
        assert_eq!(folder.read("a.csv"), folder.read("b.csv"), "{method} in little memory");
    }
    let [a, b] = [("a", "auto --effort fast"), ("b", "mondrian")].map(|(name, method)| {
        folder.anonymize(&format!(
            "in.csv -o {name}.csv --method {method} {ROLES} -k 5 --suppress 0.01"
        ));
        folder.read(&format!("{name}.csv"))
    });
    assert_eq!(a, b);
}

#[test]
fn all_releases_of_a_set_leave_out_the_same_rows() {
    let folder = Folder::with(table(&rows(2_000, 30, 11)));
    for granularity in ["cut", "leaf-scan", "hierarchical", "dendrogram", "dendrogram-cut"] {
        for memory in ["", "--least-memory 256KB --memory 1MB"] {
            let report = folder.anonymize(&format!(
                "in.csv -o out.csv {ROLES} -k 5 --also-k 12,40 --granularity {granularity} \
                 --suppress 0.02 {memory}"
            ));
            assert_eq!(report["suppressed"], 40, "{granularity} {memory}");
            let published = keys(&folder, "out.csv");
            for coarser in ["out.k12.csv", "out.k40.csv"] {
                assert_eq!(published, keys(&folder, coarser), "{granularity} {memory}");
            }
        }
    }
}

#[test]
fn requirements_hold_of_what_is_published() {
    let folder = Folder::with(table(&rows(900, 30, 2)));
    for method in METHODS {
        for rule in [
            "--l-diversity disease=distinct:3",
            "--l-diversity disease=entropy:2",
            "--alpha disease=0.6",
        ] {
            for share in ["0.01", "0.2", "1"] {
                let rest = format!("{ROLES} -k 4 {rule}");
                folder.anonymize(&format!(
                    "in.csv -o out.csv --method {method} {rest} --suppress {share}"
                ));
                let check = folder.run(&format!(
                    "check out.csv --quasi age,zip,job --sensitive disease -k 4 {rule}"
                ));
                assert_eq!(check.code, Some(0), "{method} {rule} {share}: {}", check.said());
                assert!(!keys(&folder, "out.csv").is_empty());
            }
        }
    }
}

#[test]
fn what_cannot_leave_out_rows_says_so() {
    let folder = Folder::with(table(&rows(60, 2, 1)));
    for (flags, says) in [
        ("--method bang", "--suppress has no effect with --method bang"),
        ("--no-compact", "regions reach to rows that are left out"),
        ("--model m.albers", "not that they are left out"),
        ("--t-closeness disease=0.4", "cannot leave out rows under t-closeness"),
        ("--external tree --split median", "counts of values do not tell"),
        ("--split info-gain --target job", "cuts follow something else"),
    ] {
        let arguments = format!("anonymize in.csv -o out.csv {ROLES} -k 3 --suppress 0.05 {flags}");
        let run = folder.run(&arguments);
        assert_eq!(run.code, Some(2), "{flags}: {}", run.said());
        assert!(run.err.contains(says), "{flags}: {}", run.err);
    }
}
