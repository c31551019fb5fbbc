//! What cuts are chosen by: what classes lose, or how small they are.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, patients, table};
use serde_json::Value;

const ROLES: &str = "in.csv -o out.csv --quasi age,zip,city";

fn discernibility(report: &Value) -> f64 {
    report["table_loss"]["discernibility"].as_f64().unwrap()
}

fn ncp(report: &Value) -> f64 {
    report["table_loss"]["ncp"].as_f64().unwrap()
}

#[test]
fn least_discernibility_leaves_smaller_classes_and_least_ncp_is_what_is_not_said() {
    for seed in 0..4 {
        let folder = Folder::with(table(&patients(600 + 100 * seed as usize, seed)));
        for method in ["mondrian", "rtree"] {
            for (k, tree) in [(3, ""), (7, "--hierarchy zip=prefix"), (20, "")] {
                let of = |flags: &str| {
                    folder.anonymize(&format!("{ROLES} {tree} -k {k} --method {method} {flags}"))
                };
                let by_default = of("");
                let release = folder.read("out.csv");
                of("--minimize ncp");
                assert_eq!(folder.read("out.csv"), release, "{method} {k}: ncp is the default");
                let smallest = of("--minimize discernibility");
                let own = discernibility(&smallest);
                for other in [&by_default, &of("--split median")] {
                    let other = discernibility(other);
                    assert!(own <= other, "{method} {k} {tree}: {own} and {other}");
                }
                let (lost, least) = (ncp(&smallest), ncp(&by_default));
                assert!(lost > 0.0 && least > 0.0, "{method} {k}: {lost} and {least}");
                assert_ne!(own, discernibility(&by_default), "{method} {k}: it changes nothing");
            }
        }
    }
}

#[test]
fn reports_say_what_was_to_be_least() {
    let folder = Folder::with(table(&patients(300, 1)));
    let report = folder.anonymize(&format!("{ROLES} -k 5 --minimize discernibility"));
    assert_eq!(report["ran"], "mondrian, compact split, least discernibility");
    let manifest: Value = serde_json::from_str(&folder.read("out.csv.manifest.json")).unwrap();
    assert_eq!(manifest["method"], "auto, least discernibility");
    let report = folder.anonymize(&format!("{ROLES} -k 5 --minimize ncp --effort fast"));
    assert_eq!(report["ran"], "mondrian, compact split");
}

#[test]
fn what_nothing_can_have_least_of_is_refused() {
    let folder = Folder::with(table(&patients(100, 1)));
    for (rest, expected) in [
        ("--split median --minimize ncp", "--minimize has no effect with --split median"),
        ("--minimize height", "--minimize height has no effect with --method auto"),
        ("--method mondrian --minimize weights", "--minimize weights has no effect"),
        ("--method local --minimize ncp", "--minimize has no effect with --method local"),
        ("--method bang --minimize discernibility", "--minimize has no effect with --method bang"),
    ] {
        let run = folder.run(&format!("anonymize {ROLES} -k 5 {rest}"));
        assert_eq!(run.code, Some(2), "{rest}: {}", run.said());
        assert!(run.err.contains(expected), "{rest}: {}", run.err);
    }
}
