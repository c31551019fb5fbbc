//! The recoding models beside full-domain generalization, through the program: subtrees, ordered
//! sets, specialization for a target, and local recoding.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::collections::BTreeMap;

use common::{Folder, divergence, is_near, patients, table};
use serde_json::Value;

const ROLES: &str = "--quasi age,zip,city --hierarchy age=ranges:5,20 --hierarchy zip=prefix \
    --hierarchy city=suppress --sensitive disease --keep id";

fn ncp(report: &Value) -> f64 {
    report["table_loss"]["ncp"].as_f64().unwrap()
}

/// What each value of a column is shown as, by the texts of the original.
fn shown(folder: &Folder, column: &str) -> BTreeMap<String, Vec<String>> {
    let pairs = |name: &str, column: &str| -> BTreeMap<String, String> {
        folder.column(name, "id").into_iter().zip(folder.column(name, column)).collect()
    };
    let original = pairs("in.csv", column);
    let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (id, text) in pairs("out.csv", column) {
        let texts = shown.entry(original[&id].clone()).or_default();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    shown
}

#[test]
fn global_recodings_show_a_value_the_same_wherever_it_stands() {
    let folder = Folder::with(table(&patients(3_000, 12)));
    let tds = "tds --target city";
    for method in ["subtree", "ordered-set", tds, "attribute-suppression", "incognito"] {
        let report = folder.anonymize(&format!("in.csv -o out.csv {ROLES} -k 3 --method {method}"));
        assert!(report["classes"].as_u64().unwrap() > 1, "{method}");
        for column in ["age", "zip", "city"] {
            for (value, texts) in shown(&folder, column) {
                assert_eq!(texts.len(), 1, "{method}: {column} {value}: {texts:?}");
            }
        }
    }
}

#[test]
fn local_recoding_loses_less_than_any_other() {
    let folder = Folder::with(table(&patients(2_000, 13)));
    let run = |method: &str| {
        let rest = format!("{ROLES} -k 5 --method {method}");
        ncp(&folder.anonymize(&format!("in.csv -o out.csv {rest}")))
    };
    let local = run("local");
    for method in ["mondrian", "subtree", "incognito", "attribute-suppression"] {
        let other = run(method);
        assert!(local < other, "{method}: {local} {other}");
    }
}

#[test]
fn requirements_hold_in_the_release_alone() {
    let folder = Folder::with(table(&patients(1_500, 14)));
    let rules = [
        "",
        "--l-diversity disease=distinct:3",
        "--l-diversity disease=entropy:2.5",
        "--alpha disease=0.6",
    ];
    for method in ["subtree", "ordered-set", "tds --target city", "local"] {
        let leaves_out = ["subtree", "ordered-set"].contains(&method);
        for rule in rules {
            for suppress in ["", "--suppress 0.05"] {
                if !leaves_out && !suppress.is_empty() {
                    continue;
                }
                let rest = format!("{ROLES} -k 4 {rule} {suppress} --method {method}");
                let report = folder.anonymize(&format!("in.csv -o out.csv {rest}"));
                let n_suppressed = report["suppressed"].as_u64().unwrap();
                assert!(n_suppressed <= if suppress.is_empty() { 0 } else { 75 }, "{rest}");
                assert_eq!(report["rows"].as_u64().unwrap() + n_suppressed, 1_500, "{rest}");
                let check = folder.run(&format!(
                    "check out.csv --quasi age,zip,city --sensitive disease -k 4 {rule}"
                ));
                assert_eq!(check.code, Some(0), "{rest}: {}", check.said());
            }
        }
    }
}

#[test]
fn what_is_measured_from_the_files_is_what_the_manifest_says() {
    let folder = Folder::with(table(&patients(1_000, 15)));
    for (rest, shown) in [
        ("--method subtree --suppress 0.1", ""),
        ("--method ordered-set --suppress 0.1", "--categories set"),
        ("--method tds --target city", ""),
        ("--method tds --target city --categories set --bias zip", "--categories set"),
        ("--method local", ""),
        ("--method local --categories set", "--categories set"),
    ] {
        let report = folder.anonymize(&format!("in.csv -o out.csv {ROLES} -k 3 {rest}"));
        let roles = ROLES.replace("--keep id", "");
        let run = folder.run(&format!("measure in.csv out.csv {roles} {shown} --key id --json"));
        let measured: Value =
            serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{rest}: {}", run.said()));
        assert_eq!(measured["suppressed"], report["suppressed"], "{rest}");
        assert!(is_near(divergence(&measured["loss"]), divergence(&report)), "{measured}");
        for figure in ["ncp", "discernibility"] {
            let (a, b) = (&measured["loss"][figure], &report["table_loss"][figure]);
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-9 * b.abs(), "{rest}: {figure}: {a} {b}");
        }
    }
}

#[test]
fn more_rows_to_leave_out_never_make_it_much_worse_and_never_leave_nothing() {
    let folder = Folder::with(table(&patients(800, 17)));
    for method in ["subtree", "ordered-set"] {
        let run = |share: &str| {
            let rest = format!("{ROLES} -k 8 --method {method} --suppress {share}");
            let report = folder.anonymize(&format!("in.csv -o out.csv {rest}"));
            assert!(report["rows"].as_u64().unwrap() > 0, "{rest}");
            ncp(&report)
        };
        let none = run("0");
        for share in ["0.05", "0.3", "0.9", "1"] {
            assert!(run(share) <= none + 1e-9, "{method} {share}");
        }
    }
}

#[test]
fn what_a_model_cannot_do_is_refused_with_what_to_do() {
    let folder = Folder::with(table(&patients(1_101, 16)));
    for (rest, says, hint) in [
        ("--quasi age,zip -k 2 --method subtree", "'age', 'zip' have no hierarchy", "for each"),
        ("{ROLES} -k 2 --method subtree --categories set", "not sets", "--method ordered-set"),
        ("{ROLES} -k 2 --method ordered-set --categories label", "not labels", "--method subtree"),
        ("{ROLES} -k 2 --method local --no-compact", "--no-compact has no effect", "mondrian"),
        ("{ROLES} -k 2 --method local --also-k 5", "--also-k has no effect", "rtree"),
        (
            "{ROLES} -k 2 --method subtree --t-closeness disease=0.3 --suppress 0.1",
            "under t-closeness",
            "--method incognito",
        ),
        (
            "--quasi id -k 2 --method ordered-set",
            "has 1101 values without distances",
            "--method subtree",
        ),
        ("{ROLES} -k 2 --method local --memory 64KB", "local works in memory", "would do"),
        ("{ROLES} -k 2 --method tds", "tds has no target that is a class", "--target"),
        ("{ROLES} -k 2 --method tds --target age:number", "no target that is a class", "--target"),
        ("{TDS} --split info-gain", "--split has no effect", "--method mondrian"),
        ("{TDS} --then median", "--then has no effect", "--method mondrian"),
        ("{TDS} --no-compact", "--no-compact has no effect", "--method mondrian"),
        ("{TDS} --suppress 0.1", "--suppress has no effect", "--method incognito"),
        ("{TDS} --also-k 5", "--also-k has no effect", "--method rtree"),
        ("{TDS} --least-memory 1MB", "--least-memory has no effect", "--method mondrian"),
        ("{TDS} --target disease", "forbids classes of one value", "a variance of it"),
        ("{TDS} --target id", "'id' has 1101 values", "as a number"),
        ("{TDS} --memory 64KB", "tds works in memory", "would do"),
        (
            "--quasi id,city -k 2 --method tds --target city",
            "has 1101 values without distances",
            "--hierarchy 'id=prefix'",
        ),
    ] {
        let rest = rest.replace("{TDS}", "{ROLES} -k 2 --method tds --target city");
        let run =
            folder.run(&format!("anonymize in.csv -o out.csv {}", rest.replace("{ROLES}", ROLES)));
        assert_eq!(run.code, Some(2), "{rest}: {}", run.said());
        assert!(run.err.contains(says), "{rest}: {}", run.err);
        assert!(run.err.trim_end().ends_with(hint), "{rest}: {}", run.err);
        assert!(!folder.path("out.csv").exists(), "{rest}");
    }
}
