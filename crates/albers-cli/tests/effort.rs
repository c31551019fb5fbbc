//! `auto` tries several ways to cut: how much it tries, what it says of it, and to whom.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::Folder;

const ROLES: &str = "--quasi age,education,marital-status,race,sex,native-country \
                     --sensitive occupation";

fn adult(n_rows: u64) -> Folder {
    let folder = Folder::new();
    folder.run(&format!("generate adult -n {n_rows} --seed 9 -o in.csv"));
    folder
}

fn ncp(report: &serde_json::Value) -> f64 {
    report["table_loss"]["ncp"].as_f64().unwrap()
}

/// Requirements that count, and such that look at secrets.
const REQUIREMENTS: [&str; 4] = [
    "-k 5",
    "-k 5 --l-diversity occupation=distinct:3",
    "-k 4 --l-diversity occupation=entropy:3",
    "-k 5 --t-closeness occupation=0.3",
];

#[test]
fn more_effort_never_loses_more_and_every_class_satisfies() {
    let folder = adult(2_000);
    for requirement in REQUIREMENTS {
        let of = |effort: &str| {
            let job = format!("in.csv -o out.csv {ROLES} {requirement} --effort {effort}");
            let report = folder.anonymize(&job);
            let check = folder.run(&format!(
                "check out.csv {ROLES} {requirement} --accept unique-keep,rows-per-person"
            ));
            assert_ne!(check.code, Some(1), "{requirement} {effort}: {}", check.said());
            report
        };
        let [fast, balanced, best] = ["fast", "balanced", "best"].map(of);
        assert!(fast["tried"].is_null() && fast["ran"] == "mondrian, compact split");
        assert_eq!(balanced["tried"].as_array().unwrap().len(), 6);
        assert_eq!(best["tried"].as_array().unwrap().len(), 7);
        assert!(ncp(&balanced) <= ncp(&fast) + 1e-9, "{requirement}");
        assert!(ncp(&best) <= ncp(&balanced) + 1e-9, "{requirement}");
    }
}

#[test]
fn the_owner_learns_what_was_tried_and_the_manifest_does_not() {
    let folder = adult(2_000);
    let report = folder.anonymize(&format!("in.csv -o out.csv {ROLES} -k 5"));
    let tried = report["tried"].as_array().unwrap();
    let ran = tried.iter().find(|own| own["method"] == report["ran"]).unwrap();
    assert!((ran["ncp"].as_f64().unwrap() - ncp(&report)).abs() < 1e-9);
    assert!(tried.iter().all(|own| own["ncp"].as_f64() >= ran["ncp"].as_f64()));
    assert_eq!(report["method"], "auto");
    for name in folder.names().into_iter().filter(|name| name.starts_with("out.")) {
        let text = folder.read(&name);
        let told = ["tried", "then cut", "compact split", "median split"];
        assert!(told.iter().all(|word| !text.contains(word)), "{name}");
    }
}

#[test]
fn one_release_in_any_memory_with_the_memory_that_it_is_planned_for() {
    let folder = adult(12_000);
    for (least, memories) in [("1MB", ["1MB", "2MB", "1GB"]), ("6MB", ["6MB", "7MB", "1GB"])] {
        let job = format!("in.csv -o out.csv {ROLES} -k 6 --least-memory {least}");
        let mut expected = None;
        for memory in memories {
            folder.anonymize(&format!("{job} --memory {memory}"));
            let found = folder.bytes("out.csv");
            assert!(*expected.get_or_insert_with(|| found.clone()) == found, "{least} {memory}");
        }
    }
}

#[test]
fn disjoint_classes_are_disjoint_or_refused() {
    let folder = adult(2_000);
    let job = format!("anonymize in.csv -o out.csv --force {ROLES} -k 5 --disjoint --json");
    let report: serde_json::Value = serde_json::from_str(&folder.run(&job).out).unwrap();
    assert_eq!(report["class_relation"], "disjoint");
    assert_eq!(report["tried"].as_array().unwrap().len(), 2);
    // Labels of these rows overlap, and sets of the same values do not.
    let labels = format!("{job} --hierarchy age=ranges:5,10,20");
    let run = folder.run(&labels);
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(run.err.contains("use --categories set, or drop --disjoint"), "{}", run.err);
    let report: serde_json::Value =
        serde_json::from_str(&folder.run(&format!("{labels} --categories set")).out).unwrap();
    assert_eq!(report["class_relation"], "disjoint");
}

#[test]
fn rows_that_are_left_out_do_not_cost_what_is_tried() {
    let folder = adult(2_000);
    let of = |flags: &str| folder.anonymize(&format!("in.csv -o out.csv {ROLES} -k 5 {flags}"));
    let mean = |report: &serde_json::Value| {
        let share = report["suppressed"].as_f64().unwrap() / 2_000.0;
        (ncp(report) - share) / (1.0 - share)
    };
    let whole = of("");
    for share in ["0.005", "0.02", "0.1"] {
        let report = of(&format!("--suppress {share}"));
        assert!(report["suppressed"].as_u64().unwrap() > 0, "{share}");
        assert_eq!(report["tried"].as_array().unwrap().len(), 6);
        assert!(mean(&report) < mean(&whole), "{share}: {} {}", mean(&report), mean(&whole));
    }
    let disjoint = of("--suppress 0.02 --disjoint");
    assert_eq!(disjoint["class_relation"], "disjoint");
    assert_eq!(disjoint["tried"].as_array().unwrap().len(), 2);
}

#[test]
fn where_one_way_is_taken_it_is_that_of_fast() {
    let folder = adult(2_000);
    std::fs::create_dir(folder.path("own")).unwrap();
    let release = |flags: &str| {
        let report = folder.anonymize(&format!("in.csv -o out.csv {ROLES} -k 5 {flags}"));
        (folder.read("out.csv"), report["classes"].clone())
    };
    let (fast, n_classes) = release("--effort fast");
    assert!(release("").0 != fast, "several ways are tried otherwise");
    for flags in ["--model own/model", "--also-k 20"] {
        assert!(release(flags).0 == fast, "{flags}");
    }
    assert_eq!(release("--no-compact").1, n_classes);
}

#[test]
fn an_effort_beside_what_says_how_classes_are_found_is_refused_by_name() {
    let folder = adult(2_000);
    let mistakes = [
        ("--effort best --split compact", "--effort has no effect with --split"),
        ("--effort fast --method local", "--effort has no effect with --method local"),
        ("--effort fast --level age=1", "--effort has no effect with --level:"),
        (
            "--effort fast --level age=1 --method samarati",
            "--effort has no effect with --method samarati",
        ),
        ("--effort balanced --also-k 20", "--effort has no effect with --also-k"),
        ("--effort best --exact", "--effort has no effect with --exact"),
        ("--effort best --suppress 0.1", "contradict each other"),
        ("--effort balanced --values features", "--effort has no effect with --values features"),
        ("--disjoint --no-compact", "--disjoint has no effect with --no-compact"),
        ("--disjoint --effort best", "contradict each other"),
        ("--effort best --memory 64KB", "--effort balanced"),
    ];
    for (flags, expected) in mistakes {
        let run = folder.run(&format!("anonymize in.csv -o out.csv {ROLES} -k 5 {flags}"));
        assert!(run.code == Some(2) && run.err.contains(expected), "{flags}: {}", run.said());
    }
}
