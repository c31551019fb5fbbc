//! Relatives of the BANG file: other point access methods, to compare it with.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::collections::BTreeMap;

use common::{Folder, Numbers, PEOPLE};
use serde_json::Value;

const SIDE_BY_SIDE: [&str; 4] = ["kd-trie", "kd-b-trie", "pr-quadtree", "grid-file"];
const NESTED: [&str; 2] = ["bd-tree", "hb-tree"];

/// Rows that crowd around a few places, some without an age: id, age, height, disease.
fn crowd(n_rows: usize) -> Vec<String> {
    let mut numbers = Numbers::new(23);
    let mut pick = |end: u64| numbers.below(end);
    let rows = (0..n_rows).map(|row| {
        let place = 20 + 30 * pick(3);
        let (age, height) = match pick(4) {
            0 => (pick(100), 100 + pick(100)),
            _ => (place + pick(5), 100 + place + pick(6)),
        };
        let disease = ["asthma", "cough", "gout"][pick(3) as usize];
        format!("p{row:05},{age},{height},{disease}")
    });
    rows.collect()
}

fn table(rows: &[String]) -> String {
    format!("id,age,height,disease\n{}\n", rows.join("\n"))
}

fn job(method: &str, more: &str) -> String {
    format!(
        "in.csv -o out.csv -k 5 --quasi age,height --sensitive disease --keep id \
         --l-diversity disease=distinct:2 --method {method} {more}"
    )
}

/// The ends of an interval of whole numbers.
fn ends(cell: &str) -> (i64, i64) {
    let inner = cell.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let (lo, hi) = inner.and_then(|inner| inner.split_once(", ")).unwrap_or((cell, cell));
    (lo.parse().unwrap(), hi.parse().unwrap())
}

/// Every row lies in its own box, and in no other, or in no other of its level or a greater one.
/// Returns the number of boxes.
fn check_point_queries(folder: &Folder, level: Option<&str>) -> usize {
    let original = folder.csv("in.csv");
    let point_of: BTreeMap<&str, (i64, i64)> = original[1..]
        .iter()
        .map(|row| (row[0].as_str(), (row[1].parse().unwrap(), row[2].parse().unwrap())))
        .collect();
    let rows = folder.csv("out.csv");
    let place = |name: &str| rows[0].iter().position(|own| own == name).unwrap();
    let (id, age, height) = (place("id"), place("age"), place("height"));
    let level = level.map(place);
    let class = |row: &[String]| {
        let depth: u64 = level.map_or(0, |level| row[level].parse().unwrap());
        (depth, row[age].clone(), row[height].clone())
    };
    let mut boxes: Vec<_> = rows[1..].iter().map(|row| class(row)).collect();
    boxes.sort();
    boxes.dedup();
    for row in &rows[1..] {
        let (x, y) = point_of[row[id].as_str()];
        let holds = |cell: &str, at: i64| (ends(cell).0..=ends(cell).1).contains(&at);
        let around: Vec<_> =
            boxes.iter().filter(|own| holds(&own.1, x) && holds(&own.2, y)).collect();
        let deepest = around.iter().map(|own| own.0).max().unwrap();
        let found: Vec<_> = around.iter().filter(|own| own.0 == deepest).collect();
        assert_eq!(found.len(), 1, "one class of the greatest level");
        assert_eq!(**found[0], class(row), "and it is the row's own");
        assert!(level.is_some() || around.len() == 1, "boxes side by side share no point");
    }
    boxes.len()
}

/// What a release says of itself is what a check finds.
fn check_release(folder: &Folder, report: &Value, said: &str) -> Value {
    let run = folder.run("check out.csv --json --accept unique-keep");
    assert_eq!(run.code, Some(0), "{said}: {}", run.said());
    let checked: Value = serde_json::from_str(&run.out).unwrap();
    for figure in ["classes", "class_relation"] {
        assert_eq!(checked[figure], report[figure], "{said}");
    }
    let verified = checked["manifest"]["verified"].as_array().unwrap();
    for field in ["digest", "rows", "classes", "class_size", "loss", "requirement"] {
        assert!(verified.contains(&field.into()), "{said}: {field} of {verified:?}");
    }
    checked
}

#[test]
fn boxes_side_by_side_are_disjoint_and_verified() {
    let folder = Folder::with(table(&crowd(600)));
    for method in SIDE_BY_SIDE {
        let mut losses = Vec::new();
        for more in ["", "--no-compact", "--scale age=quantile --scale height=equal:0..300:5"] {
            let report = folder.anonymize(&job(method, more));
            assert_eq!(folder.csv("out.csv")[0], ["id", "age", "height", "disease"]);
            assert_eq!((&report["method"], &report["ran"]), (&method.into(), &method.into()));
            let n_classes = check_point_queries(&folder, None);
            assert_eq!(report["classes"], n_classes, "{method} {more}");
            assert!(n_classes > 3, "{method} {more}: {n_classes}");
            assert_eq!(report["class_relation"], "disjoint", "{method} {more}");
            assert!(report["class_size"]["min"].as_u64().unwrap() >= 5);
            check_release(&folder, &report, method);
            losses.push(report["table_loss"]["ncp"].as_f64().unwrap());
        }
        assert!(losses[0] < losses[1], "{method}: the bounds of rows lose less than regions");
        assert_ne!(losses[0], losses[2], "{method}: a scale has an effect");
    }
}

#[test]
fn nested_classes_are_told_apart_by_a_level_and_verified() {
    let folder = Folder::with(table(&crowd(600)));
    for method in NESTED {
        for (more, level) in [("", "level"), ("--no-compact --level-column depth", "depth")] {
            let report = folder.anonymize(&job(method, more));
            assert_eq!(folder.csv("out.csv")[0], ["id", "age", "height", level, "disease"]);
            let n_classes = check_point_queries(&folder, Some(level));
            assert_eq!(report["classes"], n_classes, "{method} {more}");
            assert!(n_classes > 30, "{method} {more}: {n_classes}");
            let relation = if more.is_empty() { "overlapping" } else { "nested" };
            assert_eq!(report["class_relation"], relation, "{method} {more}");
            assert!(report["class_size"]["min"].as_u64().unwrap() >= 5);
            check_release(&folder, &report, method);
            let levels = folder.column("out.csv", level);
            let levels: Vec<u64> = levels.iter().map(|own| own.parse().unwrap()).collect();
            assert!(levels.iter().max() > Some(&1) && levels.contains(&0), "{method}");
            let said = folder.run(&format!("anonymize {} --force", job(method, more))).said();
            let rule = format!("the greatest '{level}' around a person is that of their class");
            assert!(said.contains(&rule), "{said}");
        }
    }
    folder.anonymize(&job("bd-tree", ""));
    let equal = folder.bytes("out.csv");
    folder.anonymize(&job("bd-tree", "--scale age=quantile"));
    assert_ne!(folder.bytes("out.csv"), equal, "a scale has an effect");
}

#[test]
fn a_kd_trie_publishes_what_a_bang_file_without_nesting_does() {
    let folder = Folder::with(table(&crowd(500)));
    for more in ["", "--no-compact", "--scale age=quantile:4"] {
        let mut releases = Vec::new();
        for method in ["kd-trie", "bang --no-nesting"] {
            folder.anonymize(&job(method, more));
            releases.push(folder.bytes("out.csv"));
        }
        assert!(releases[0] == releases[1], "{more}");
    }
}

/// Figure 3b of Raschia & Anjum 2011.
#[test]
fn a_nested_box_divides_six_points_that_no_cut_does() {
    let folder = Folder::with("x,y\n1,2\n2,1\n2,2\n2,2\n2,3\n3,2\n");
    let classes = |method: &str| {
        let report = folder.anonymize(&format!(
            "in.csv -o out.csv -k 3 --quasi x,y --method {method} --accept own-value-bounds"
        ));
        report["classes"].as_u64().unwrap()
    };
    for method in ["mondrian", "mondrian --split median"].iter().chain(&SIDE_BY_SIDE) {
        assert_eq!(classes(method), 1, "{method}");
    }
    for method in ["bang"].iter().chain(&NESTED) {
        assert_eq!(classes(method), 2, "{method}");
    }
}

#[test]
fn neither_the_order_of_the_rows_nor_the_threads_change_a_byte() {
    let mut rows = crowd(500);
    let folder = Folder::with(table(&rows));
    for method in SIDE_BY_SIDE.iter().chain(&NESTED) {
        let mut releases = Vec::new();
        for order in 0..3 {
            match order {
                0 => rows.reverse(),
                1 => rows.sort(),
                _ => Numbers::new(3).shuffle(&mut rows),
            }
            folder.write("in.csv", table(&rows));
            folder.anonymize(&job(method, &format!("--threads {}", 1 + order % 2)));
            releases.push(folder.bytes("out.csv"));
        }
        assert!(releases.iter().all(|own| *own == releases[0]), "{method}");
    }
}

#[test]
fn labels_names_and_missing_values_are_divided_too() {
    let mut rows = crowd(500);
    for row in rows.iter_mut().step_by(11) {
        let age = row.split(',').nth(1).unwrap().to_owned();
        *row = row.replacen(&format!(",{age},"), ",,", 1);
    }
    let folder = Folder::with(table(&rows));
    for method in SIDE_BY_SIDE.iter().chain(&NESTED) {
        for more in [
            "--quasi age,height,disease",
            "--quasi age,height,disease --hierarchy age=ranges:10,50 --hierarchy disease=suppress",
            "--quasi age,height,disease --hierarchy height=prefix --categories set --values bounds",
            "--quasi age,height --values mean --accept mean-below-5",
            "--quasi age,height,disease --no-compact",
        ] {
            folder.anonymize(&format!("in.csv -o out.csv -k 5 --method {method} {more}"));
            let run = folder.run("check out.csv");
            assert_eq!(run.code, Some(0), "{method} {more}: {}", run.said());
        }
    }
}

#[test]
fn a_job_file_says_the_same_as_flags() {
    let folder = Folder::with(table(&crowd(300)));
    folder.anonymize(
        "in.csv -o flags.csv -k 4 --quasi age,height --keep id --method bd-tree \
         --level-column how-deep --scale height=quantile:4",
    );
    folder.write(
        "job.toml",
        "input = \"in.csv\"\noutput = \"file.csv\"\nk = 4\nmethod = \"bd-tree\"\n\
         level-column = \"how-deep\"\n[columns.age]\nrole = \"quasi\"\n\
         [columns.height]\nrole = \"quasi\"\nscale = \"quantile:4\"\n\
         [columns.id]\nrole = \"keep\"\n",
    );
    folder.anonymize("--job job.toml");
    assert_eq!(folder.read("flags.csv"), folder.read("file.csv"));
}

#[test]
fn what_cannot_serve_is_refused_with_the_reason() {
    let folder = Folder::with(PEOPLE);
    let refused = |flags: &str, says: &[&str]| {
        let run = folder.run(&format!("anonymize in.csv -o out.csv -k 3 {flags}"));
        assert_eq!(run.code, Some(2), "{flags}: {}", run.said());
        for says in says {
            assert!(run.err.contains(says), "{flags}: {}", run.err);
        }
        assert!(!folder.names().contains(&"out.csv".to_owned()), "{flags}");
    };
    for (method, why) in [
        ("bsp", "no boxes"),
        ("kd-tree", "'mondrian'"),
        ("kd-b-tree", "'mondrian'"),
        ("r+-tree", "'rtree'"),
        ("bv-tree", "'bang'"),
        ("bang-file", "'bang'"),
    ] {
        refused(&format!("--quasi age --method {method}"), &[why]);
    }
    for method in SIDE_BY_SIDE.iter().chain(&NESTED) {
        let base = format!("--quasi age,zip --method {method}");
        for setting in
            ["--split median", "--also-k 6", "--bias age", "--suppress 0.1", "--least-memory 64MB"]
        {
            let name = setting.split(' ').next().unwrap();
            let says = format!("{name} has no effect with --method {method}");
            refused(&format!("{base} {setting}"), &[&says]);
        }
        refused(&format!("{base} --no-nesting"), &["--no-nesting", "use --method bang"]);
        let is_nested = NESTED.contains(method);
        if !is_nested {
            refused(&format!("{base} --level-column depth"), &["--level-column has no effect"]);
        }
        match *method == "hb-tree" {
            true => refused(&format!("{base} --scale age=equal"), &["--scale has no effect"]),
            false => refused(&format!("{base} --scale age=equal:9..3"), &["ends before"]),
        }
        if is_nested {
            refused(&format!("{base} --keep pay --level-column pay"), &["--level-column"]);
        }
    }
}

#[test]
fn what_would_explode_is_refused_with_its_figure() {
    // Columns that rise together: a line divides one bucket, and is of no use to any other.
    let names: Vec<String> = (0..8).map(|at| format!("q{at}")).collect();
    let lines = (0..400).map(|row| vec![row.to_string(); 8].join(",") + "\n");
    let folder = Folder::with(format!("{}\n{}", names.join(","), lines.collect::<String>()));
    let quasi = names.join(",");
    let base = format!("anonymize in.csv -o out.csv -k 2 --quasi {quasi}");
    let run = folder.run(&format!("{base} --method grid-file"));
    assert_eq!(run.code, Some(2), "{}", run.said());
    for says in ["directory", "16777216", "--method kd-b-trie", "-k"] {
        assert!(run.err.contains(says), "{}", run.err);
    }
    let run = folder.run(&format!("{base} --method pr-quadtree"));
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(run.err.contains("2^8 parts") && run.err.contains("--method kd-trie"), "{}", run.err);
    for method in ["kd-trie", "kd-b-trie", "bd-tree", "hb-tree"] {
        let run = folder.run(&format!("{base} --method {method} --force"));
        assert_eq!(run.code, Some(0), "{method}: {}", run.said());
    }
}

#[test]
fn a_table_larger_than_memory_is_refused() {
    let folder = Folder::with(table(&crowd(20_000)));
    for method in SIDE_BY_SIDE.iter().chain(&NESTED) {
        let run = folder.run(&format!("anonymize {} --memory 64KB", job(method, "")));
        assert_eq!(run.code, Some(2), "{method}: {}", run.said());
        let says = format!("{method} works in memory; use --method auto");
        assert!(run.err.contains(&says), "{}", run.err);
    }
}
