//! `--method bang`: classes within classes, told apart by a level column.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::collections::BTreeMap;

use common::{Folder, Numbers, PEOPLE};
use serde_json::Value;

/// Rows that crowd around a few places: id, age, height, pay, disease.
fn crowd(n_rows: usize) -> Vec<String> {
    let mut numbers = Numbers::new(11);
    let mut pick = |end: u64| numbers.below(end);
    let rows = (0..n_rows).map(|row| {
        let place = 20 + 30 * pick(3);
        let (age, height) = match pick(4) {
            0 => (pick(100), 100 + pick(100)),
            _ => (place + pick(5), 100 + place + pick(6)),
        };
        let disease = ["asthma", "cough", "gout"][pick(3) as usize];
        format!("p{row:05},{age},{height},{},{disease}", 1000 * pick(40))
    });
    rows.collect()
}

fn table(rows: &[String]) -> String {
    format!("id,age,height,pay,disease\n{}\n", rows.join("\n"))
}

const NESTED: &str = "in.csv -o out.csv -k 5 --quasi age,height --sensitive disease --keep id \
                      --l-diversity disease=distinct:2 --method bang";

/// The ends of an interval of whole numbers.
fn ends(cell: &str) -> (i64, i64) {
    let inner = cell.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let (lo, hi) = inner.and_then(|inner| inner.split_once(", ")).unwrap_or((cell, cell));
    (lo.parse().unwrap(), hi.parse().unwrap())
}

/// The papers' procedure for a spreadsheet: filter the boxes around a point, and take those of the
/// greatest level. Every row finds its own class so, and nothing else.
fn check_point_queries(folder: &Folder, release: &str, level: &str) -> usize {
    let original = folder.csv("in.csv");
    let point_of: BTreeMap<&str, (i64, i64)> = original[1..]
        .iter()
        .map(|row| (row[0].as_str(), (row[1].parse().unwrap(), row[2].parse().unwrap())))
        .collect();
    let rows = folder.csv(release);
    let place = |name: &str| rows[0].iter().position(|own| own == name).unwrap();
    let (id, age, height, level) = (place("id"), place("age"), place("height"), place(level));
    let class = |row: &[String]| (row[age].clone(), row[height].clone(), row[level].clone());
    let mut boxes: Vec<_> = rows[1..].iter().map(|row| class(row)).collect();
    boxes.sort();
    boxes.dedup();
    for row in &rows[1..] {
        let (x, y) = point_of[row[id].as_str()];
        let holds = |cell: &str, at: i64| (ends(cell).0..=ends(cell).1).contains(&at);
        let around = boxes.iter().filter(|own| holds(&own.0, x) && holds(&own.1, y));
        let around: Vec<_> = around.collect();
        let deepest = around.iter().map(|own| own.2.parse::<u64>().unwrap()).max().unwrap();
        let found: Vec<_> = around.iter().filter(|own| own.2 == deepest.to_string()).collect();
        assert_eq!(found.len(), 1, "one class of the greatest level");
        assert_eq!(**found[0], class(row), "and it is the row's own");
    }
    boxes.len()
}

#[test]
fn whoever_takes_the_greatest_level_around_a_point_finds_its_class() {
    let folder = Folder::with(table(&crowd(600)));
    let mut sizes = Vec::new();
    for more in ["", " --no-compact", " --scale age=quantile --scale height=equal:0..300:5"] {
        let report = folder.anonymize(&format!("{NESTED}{more}"));
        assert_eq!(folder.csv("out.csv")[0], ["id", "age", "height", "level", "disease"], "{more}");
        let n_classes = check_point_queries(&folder, "out.csv", "level");
        assert_eq!(report["classes"], n_classes, "{more}");
        // The box around the rows of an outer class may reach into an inner one, and end there.
        let relation = if more.contains("--no-compact") { "nested" } else { "overlapping" };
        assert_eq!(report["class_relation"], relation, "{more}");
        assert!(report["kl"].is_null() && report["kl_at_most"].is_number(), "{more}");
        assert!(report["class_size"]["min"].as_u64().unwrap() >= 5);
        sizes.push(report["table_loss"]["ncp"].as_f64().unwrap());
        let deepest: Vec<u64> =
            folder.column("out.csv", "level").iter().map(|own| own.parse().unwrap()).collect();
        assert!(deepest.iter().max() > Some(&1) && deepest.contains(&0), "{more}");
    }
    assert!(sizes[0] < sizes[1], "the bounds of rows lose less than regions");
    let said = |more: &str| folder.run(&format!("anonymize {NESTED} --force{more}")).said();
    let rule = "the greatest 'level' around a person is that of their class";
    assert!(said("").contains(rule) && said(" --no-compact").contains(rule), "{}", said(""));
    assert!(!said(" --no-nesting").contains("around a person"));
}

#[test]
fn a_check_knows_the_levels_by_the_manifest_or_a_flag() {
    let folder = Folder::with(table(&crowd(400)));
    for (more, name) in [("", "level"), (" --no-compact --level-column depth", "depth")] {
        let report = folder.anonymize(&format!("{NESTED}{more}"));
        let manifest = folder.json("out.csv.manifest.json");
        let column = |own: &&Value| own["role"] == "level";
        let column = manifest["columns"].as_array().unwrap().iter().find(column).unwrap();
        assert_eq!(
            (column["name"].as_str(), column["shown"].as_str()),
            (Some(name), Some("depth"))
        );
        let run = folder.run("check out.csv --json --accept unique-keep");
        let checked: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(run.code, Some(0), "{}", run.said());
        assert_eq!(checked["classes"], report["classes"]);
        assert_eq!(checked["class_relation"], report["class_relation"]);
        let verified = &checked["manifest"]["verified"];
        for field in ["digest", "rows", "classes", "class_size", "loss", "requirement"] {
            assert!(verified.as_array().unwrap().contains(&field.into()), "{field}: {verified}");
        }
        // Without the manifest a flag tells it.
        std::fs::rename(folder.path("out.csv.manifest.json"), folder.path("aside")).unwrap();
        let by_flag = format!("check out.csv --json --quasi age,height --level-column {name}");
        let by_flag: Value = serde_json::from_str(&folder.run(&by_flag).out).unwrap();
        assert_eq!(by_flag["classes"], report["classes"]);
    }
}

/// A recipient who drops the levels has fewer classes, never smaller ones.
#[test]
fn without_the_levels_classes_are_one_and_none_is_smaller() {
    // Halves of the names that are no labels: both classes show the label of all names.
    let names = ["asthma", "cough", "gout", "mumps"];
    let rows: String = (0..24).map(|row| format!("p{row:02},{}\n", names[row % 4])).collect();
    let folder = Folder::with(format!("id,disease\n{rows}"));
    folder.anonymize(
        "in.csv -o out.csv -k 7 --quasi disease --keep id --hierarchy disease=suppress \
         --scale disease=equal --method bang",
    );
    let checked = |flags: &str| -> Value {
        let run = folder.run(&format!("check dropped.csv --json --quasi disease {flags}"));
        serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}", run.said()))
    };
    let released = folder.csv("out.csv");
    assert_eq!(released[0], ["id", "disease", "level"]);
    let lines = |n_columns: usize| -> String {
        released.iter().map(|row| row[..n_columns].join(",") + "\n").collect()
    };
    folder.write("dropped.csv", lines(3));
    let with_levels = checked("--level-column level");
    assert_eq!((&with_levels["classes"], &with_levels["k"]), (&2.into(), &12.into()));
    // Levels that nobody tells of merge classes as well as those that were dropped.
    for n_columns in [3, 2] {
        folder.write("dropped.csv", lines(n_columns));
        let without = checked("");
        assert_eq!((&without["classes"], &without["k"]), (&1.into(), &24.into()));
    }
    // Beside its manifest, it is told what cannot be seen any more.
    std::fs::copy(folder.path("out.csv.manifest.json"), folder.path("dropped.csv.manifest.json"))
        .unwrap();
    let run = folder.run("check dropped.csv --accept unique-keep");
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains("no column 'level'"), "{}", run.said());
}

#[test]
fn a_release_is_measured_with_its_levels() {
    let folder = Folder::with(table(&crowd(400)));
    let report = folder.anonymize(NESTED);
    let measured = |flags: &str| -> Value {
        let run = folder.run(&format!(
            "measure in.csv out.csv --quasi age,height --sensitive disease --key id --json {flags}"
        ));
        assert_eq!(run.code, Some(0), "{}", run.said());
        serde_json::from_str(&run.out).unwrap()
    };
    let with_levels = measured("--level-column level");
    assert_eq!(with_levels["classes"], report["classes"]);
    for figure in ["ncp", "certainty_penalty", "discernibility"] {
        let found = &with_levels["loss"][figure];
        assert!(common::is_near(found, &report["table_loss"][figure]), "{figure}");
    }
    assert!(common::is_near(&with_levels["loss"]["kl_at_most"], &report["kl_at_most"]));
    assert!(measured("")["classes"].as_u64() <= report["classes"].as_u64());
}

#[test]
fn regions_are_compacted_within_each_other_and_keep_their_levels() {
    let folder = Folder::with(table(&crowd(400)));
    let tight = folder.anonymize(NESTED);
    let boxes = class_of(&folder, "out.csv", &["age", "height", "level"]);
    folder.anonymize(&format!("{NESTED} --no-compact"));
    let asked = "compact in.csv out.csv --key id -o tight.csv --quasi age,height --keep id \
                 --sensitive disease --l-diversity disease=distinct:2 --json --force";
    let run = folder.run(&format!("{asked} --level-column level"));
    assert_eq!(run.code, Some(0), "{}", run.said());
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["classes"], tight["classes"]);
    assert_eq!(class_of(&folder, "tight.csv", &["age", "height", "level"]), boxes);
    check_point_queries(&folder, "tight.csv", "level");
    assert_eq!(folder.run("check tight.csv").code, Some(0));
    // A job says so too; without either, classes that show the same are one.
    folder.write("job.toml", "method = \"bang\"\n");
    assert_eq!(folder.run(&format!("{asked} --job job.toml")).code, Some(0));
    assert_eq!(class_of(&folder, "tight.csv", &["age", "height", "level"]), boxes);
    let run = folder.run(asked);
    assert_eq!(run.code, Some(0), "{}", run.said());
    assert!(!folder.csv("tight.csv")[0].contains(&"level".to_owned()));
    for (more, says) in [("--level-column depth", "depth"), ("--level-column id", "role")] {
        let run = folder.run(&format!("{asked} {more}"));
        assert_eq!(run.code, Some(2));
        assert!(run.err.contains(says), "{}", run.err);
    }
    let run = folder.run(&format!(
        "{} --level-column disease",
        asked.replace("--sensitive disease --l-diversity disease=distinct:2 ", "")
    ));
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("no whole number") && !run.err.contains("gout"), "{}", run.err);
}

#[test]
fn a_release_is_compared_with_its_original_class_by_class() {
    // Everybody has two rows, so that a class may be ruled by one person.
    let rows = crowd(400).into_iter().enumerate();
    let rows: Vec<String> = rows.map(|(at, row)| format!("{row},s{}", at / 2)).collect();
    let text = format!("id,age,height,pay,disease,person\n{}\n", rows.join("\n"));
    let folder = Folder::with(text);
    let report = folder.anonymize(&format!("{NESTED} --subject person"));
    let run = folder.run(
        "check out.csv --original in.csv --key id --subject person --json --accept unique-keep",
    );
    let checked: Value = serde_json::from_str(&run.out).unwrap();
    let found = |of: &Value| -> Vec<Value> {
        let all = of["findings"].as_array().unwrap().iter();
        let both = ["own-value-bounds", "person-rules-class"];
        let both = all.filter(|own| both.iter().any(|name| own["name"] == *name));
        both.map(|own| own["count"].clone()).collect()
    };
    assert_eq!(found(&checked), found(&report));
    assert!(!found(&report).is_empty());
}

#[test]
fn classes_side_by_side_have_no_level() {
    let folder = Folder::with(table(&crowd(600)));
    let nested = folder.anonymize(NESTED);
    let report = folder.anonymize(&format!("{NESTED} --no-nesting"));
    assert_eq!(folder.csv("out.csv")[0], ["id", "age", "height", "disease"]);
    assert_eq!(report["class_relation"], "disjoint");
    assert!(report["kl"].is_number());
    assert!(report["classes"].as_u64() < nested["classes"].as_u64());
    assert_eq!(
        (&report["method"], &report["ran"]),
        (&"bang, no nesting".into(), &"bang, no nesting".into())
    );
    let run = folder.run("check out.csv --accept unique-keep");
    assert_eq!(run.code, Some(0), "{}", run.said());
}

#[test]
fn neither_the_order_of_the_rows_nor_the_threads_change_a_byte() {
    let mut rows = crowd(500);
    let folder = Folder::with(table(&rows));
    let mut releases = Vec::new();
    for order in 0..4 {
        match order {
            0 => rows.sort_by_key(|row| row[7..].to_owned()),
            1 => rows.reverse(),
            2 => rows.sort(),
            _ => Numbers::new(3).shuffle(&mut rows),
        }
        folder.write("in.csv", table(&rows));
        folder.anonymize(&format!("{NESTED} --threads {}", 1 + order % 2));
        releases.push(folder.bytes("out.csv"));
    }
    assert!(releases.iter().all(|own| *own == releases[0]));
}

#[test]
fn a_job_file_says_the_same_as_flags() {
    let folder = Folder::with(table(&crowd(300)));
    folder.write("ages.csv", "0,18\n18,40\n40,65\n65,120\n");
    folder.anonymize(
        "in.csv -o flags.csv -k 4 --quasi age,height --keep id --method bang \
         --level-column how-deep --scale age=ages.csv --scale height=quantile:4",
    );
    folder.write(
        "job.toml",
        "input = \"in.csv\"\noutput = \"file.csv\"\nk = 4\nmethod = \"bang\"\n\
         level-column = \"how-deep\"\n[columns.age]\nrole = \"quasi\"\nscale = \"ages.csv\"\n\
         [columns.height]\nrole = \"quasi\"\nscale = \"quantile:4\"\n\
         [columns.id]\nrole = \"keep\"\n",
    );
    folder.anonymize("--job job.toml");
    assert_eq!(folder.read("flags.csv"), folder.read("file.csv"));
    check_point_queries(&folder, "file.csv", "how-deep");
}

#[test]
fn labels_names_dates_and_missing_values_are_halved_too() {
    let mut rows = crowd(500);
    for (at, row) in rows.iter_mut().enumerate() {
        if at % 11 == 0 {
            *row = row.replacen(&row[7..row[7..].find(',').unwrap() + 7].to_owned(), "", 1);
        }
    }
    let folder = Folder::with(table(&rows));
    for more in [
        "--quasi age,height,pay,disease",
        "--quasi age,height,disease --hierarchy age=ranges:10,50 --hierarchy disease=suppress",
        "--quasi age,height,disease --hierarchy height=prefix --categories set --values bounds",
        "--quasi age,pay --values mean --accept mean-below-5",
    ] {
        for nesting in ["", " --no-nesting", " --no-compact"] {
            if more.contains("mean") && nesting.contains("compact") {
                continue;
            }
            folder.anonymize(&format!("in.csv -o out.csv -k 5 --method bang {more}{nesting}"));
            let run = folder.run("check out.csv");
            assert_eq!(run.code, Some(0), "{more}{nesting}: {}", run.said());
        }
    }
}

#[test]
fn mistakes_end_with_2_and_a_hint_and_never_a_value() {
    let folder = Folder::with(PEOPLE);
    folder.write("gap.csv", "7300,7305\n7306,7312\n");
    let base = "anonymize in.csv -o out.csv -k 3 --quasi age,zip --method bang";
    for (more, says) in [
        ("--split median", "--split has no effect with --method bang"),
        ("--then median", "--then has no effect"),
        ("--target age", "--target has no effect"),
        ("--granularity nested", "no coarser release is asked for"),
        ("--also-k 6 --granularity hierarchical", "no nodes above its blocks"),
        ("--also-k 6 --granularity nested --no-nesting", "without nesting"),
        (
            "--also-k 6 --granularity dendrogram --level-column depth",
            "--level-column has no effect with --granularity dendrogram",
        ),
        ("--also-k 6 --dendrogram tree.svg", "--dendrogram has no effect"),
        ("--also-k 6 --values mean", "contradict each other"),
        ("--bias age", "--bias has no effect"),
        ("--suppress 0.1", "--suppress has no effect"),
        ("--scale age=equal:0", "1 to 24"),
        ("--scale age=hierarchy", "--scale 'age'"),
        ("--scale age=equal:9..3", "ends before it begins"),
        ("--scale age=equal:9..9", "ends where it begins"),
        ("--scale age=quantile:99", "write for example quantile:8"),
        ("--scale age=equal:young..old", "no integer"),
        ("--scale zip=equal:01907..01918", "no distances"),
        ("--scale age=gap.csv", "line 2 leaves a gap"),
        ("--scale zip=gap.csv", "no distances"),
        ("--scale age=nowhere.csv", "nowhere.csv"),
        ("--scale pay=equal", "the scale of column 'pay' has no effect"),
        ("--no-nesting --level-column depth", "--level-column has no effect with --no-nesting"),
        ("--keep pay --level-column pay", "--level-column depth"),
        ("--values bounds --level-column age_min", "two columns of this name"),
        ("--no-compact --values mean", "contradict each other"),
    ] {
        let run = folder.run(&format!("{base} {more}"));
        assert_eq!(run.code, Some(2), "{more}: {}", run.said());
        assert!(run.err.contains(says), "{more}: {}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{more}: {}", run.err);
        for cell in ["7301", "7306", "01912", "Xanthippe"] {
            assert!(!run.err.contains(cell) || more.contains(cell), "{more}: {}", run.err);
        }
        assert!(!folder.names().contains(&"out.csv".to_owned()));
    }
    for more in ["--scale age=equal", "--no-nesting", "--level-column depth"] {
        let run = folder.run(&format!("anonymize in.csv -o out.csv -k 3 --quasi age,zip {more}"));
        assert_eq!(run.code, Some(2), "{more}");
        assert!(run.err.contains("use --method bang"), "{more}: {}", run.err);
    }
    folder.write("in.csv", PEOPLE);
    for command in ["check in.csv --quasi age", "measure in.csv in.csv --quasi age"] {
        let run = folder.run(&format!("{command} --level-column depth"));
        assert_eq!(run.code, Some(2), "{command}");
        assert!(run.err.contains("no column 'depth'"), "{command}: {}", run.err);
        let run = folder.run(&format!("{command} --level-column age"));
        assert!(run.err.contains("--level-column"), "{command}: {}", run.err);
    }
    folder.write("in.csv", PEOPLE.replace("pay", "level"));
    let run = folder.run(&format!("{base} --keep level"));
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("'level'") && run.err.contains("--level-column"), "{}", run.err);
}

#[test]
fn a_table_that_does_not_fit_in_memory_has_the_same_nested_classes() {
    let mut rows = crowd(6_000);
    // More rows of one point than are looked at together.
    rows.extend((0..1_500).map(|row| format!("q{row:05},44,144,1000,gout")));
    rows.extend((0..1_500).map(|row| format!("r{row:05},44,144,1000,cough")));
    let folder = Folder::with(table(&rows));
    for more in ["", " --no-compact", " --no-nesting", " --scale age=quantile"] {
        let asked = format!("{NESTED} --least-memory 256KB{more}");
        let report = folder.anonymize(&format!("{asked} --memory 1GB"));
        assert_eq!(report["spilled_bytes"], 0, "{more}");
        let roomy = std::fs::read(folder.path("out.csv")).unwrap();
        let report = folder.anonymize(&format!("{asked} --memory 1MB"));
        assert!(report["spilled_bytes"].as_u64().unwrap() > 0, "{more}");
        assert!(std::fs::read(folder.path("out.csv")).unwrap() == roomy, "{more}");
        if !more.contains("nesting") {
            assert!(check_point_queries(&folder, "out.csv", "level") > 100, "{more}");
        }
        std::fs::remove_file(folder.path("out.csv")).unwrap();
    }
}

/// The class of each row, by its id: all cells that tell classes apart.
fn class_of(folder: &Folder, release: &str, columns: &[&str]) -> BTreeMap<String, Vec<String>> {
    let rows = folder.csv(release);
    let place = |name: &str| rows[0].iter().position(|own| own == name).unwrap();
    let (id, places) = (place("id"), columns.iter().map(|name| place(name)).collect::<Vec<_>>());
    let class = |row: &[String]| places.iter().map(|&at| row[at].clone()).collect();
    rows[1..].iter().map(|row| (row[id].clone(), class(row))).collect()
}

/// Every class of one release lies in one class of the other.
fn check_is_coarser(folder: &Folder, fine: &str, coarse: &str, columns: &[&str]) {
    let (fine, coarse) = (class_of(folder, fine, columns), class_of(folder, coarse, columns));
    let mut around: BTreeMap<&Vec<String>, &Vec<String>> = BTreeMap::new();
    for (id, class) in &fine {
        let coarser = around.entry(class).or_insert(&coarse[id]);
        assert_eq!(*coarser, &coarse[id], "a class is whole in the next coarser release");
    }
}

#[test]
fn coarser_releases_of_a_file_are_nested_in_each_other_and_tell_the_innermost_class() {
    let folder = Folder::with(table(&crowd(900)));
    for more in ["", " --no-compact", " --least-memory 64KB"] {
        let asked = format!("{NESTED} --also-k 40,12 --granularity nested{more}");
        let report = folder.anonymize(&asked);
        assert_eq!(report["also"][0]["report"]["ran"], "bang, nested", "{more}");
        let columns = ["age", "height", "level"];
        check_is_coarser(&folder, "out.csv", "out.k12.csv", &columns);
        check_is_coarser(&folder, "out.k12.csv", "out.k40.csv", &columns);
        for (release, least) in [("out.csv", 60), ("out.k12.csv", 25), ("out.k40.csv", 6)] {
            assert!(check_point_queries(&folder, release, "level") >= least, "{release}{more}");
            let run = folder.run(&format!("check {release}"));
            assert_eq!(run.code, Some(0), "{more}: {}", run.said());
        }
    }
}

#[test]
fn clusters_of_blocks_have_no_level_and_the_way_that_loses_least_is_named() {
    let folder = Folder::with(table(&crowd(900)));
    let mut losses = BTreeMap::new();
    for granularity in ["nested", "dendrogram", "dendrogram-cut", "cut", "leaf-scan"] {
        let asked = format!("{NESTED} --also-k 12,40 --granularity {granularity}");
        let report = folder.anonymize(&asked);
        let has_level = folder.csv("out.k12.csv")[0].contains(&"level".to_owned());
        assert_eq!(has_level, granularity == "nested");
        let columns: &[&str] =
            if has_level { &["age", "height", "level"] } else { &["age", "height"] };
        check_is_coarser(&folder, "out.csv", "out.k12.csv", columns);
        check_is_coarser(&folder, "out.k12.csv", "out.k40.csv", columns);
        let also = report["also"].as_array().unwrap();
        let loss: f64 =
            also.iter().map(|own| own["report"]["table_loss"]["ncp"].as_f64().unwrap()).sum();
        losses.insert(granularity, loss);
    }
    let report = folder.anonymize(&format!("{NESTED} --also-k 12,40"));
    let ran = report["also"][0]["report"]["ran"].as_str().unwrap();
    let chosen = ran.strip_prefix("bang, ").unwrap();
    let tried = ["nested", "dendrogram", "dendrogram-cut", "cut"];
    let least = tried.iter().map(|own| losses[own]).fold(f64::INFINITY, f64::min);
    assert!(losses[chosen] <= least + 1e-9, "{chosen} of {losses:?}");
    // Where regions are shown, it is their loss that counts.
    let mut of_regions = BTreeMap::new();
    for granularity in tried {
        let asked = format!("{NESTED} --also-k 12,40 --no-compact --granularity {granularity}");
        let report = folder.anonymize(&asked);
        let also = report["also"].as_array().unwrap();
        let loss = also.iter().map(|own| own["report"]["table_loss"]["ncp"].as_f64().unwrap());
        of_regions.insert(granularity, loss.sum::<f64>());
    }
    let report = folder.anonymize(&format!("{NESTED} --also-k 12,40 --no-compact"));
    let ran = report["also"][0]["report"]["ran"].as_str().unwrap();
    let chosen = of_regions[ran.strip_prefix("bang, ").unwrap()];
    let least = of_regions.values().copied().fold(f64::INFINITY, f64::min);
    assert!(chosen <= least + 1e-9, "{ran} of {of_regions:?}");
    // Whoever names the column of levels gets levels.
    folder.anonymize(&format!("{NESTED} --also-k 12 --level-column depth"));
    assert!(folder.csv("out.k12.csv")[0].contains(&"depth".to_owned()));
}

/// A box, its level and the cells of its class.
type Leveled<'c> = ([(i64, i64); 2], u32, &'c Vec<String>);

/// The papers' procedure for a window: it is divided into elementary ranges by all bounds that occur,
/// and in each the box of the greatest level is taken.
#[test]
fn a_window_is_answered_by_the_innermost_boxes_of_its_elementary_ranges() {
    let folder = Folder::with(table(&crowd(500)));
    folder.anonymize(&format!("{NESTED} --no-compact --also-k 20 --granularity nested"));
    for release in ["out.csv", "out.k20.csv"] {
        let classes = class_of(&folder, release, &["age", "height", "level"]);
        let mut boxes: Vec<Leveled<'_>> = classes
            .values()
            .map(|class| ([ends(&class[0]), ends(&class[1])], class[2].parse().unwrap(), class))
            .collect();
        boxes.sort();
        boxes.dedup();
        let innermost = |at: [i64; 2]| {
            let is_in = |spans: &[(i64, i64); 2]| {
                spans.iter().zip(at).all(|((lo, hi), at)| (*lo..=*hi).contains(&at))
            };
            let around = boxes.iter().filter(|(spans, ..)| is_in(spans));
            around.max_by_key(|(_, level, _)| *level).map(|(.., class)| *class)
        };
        let original = folder.csv("in.csv");
        for window in [[(30, 62), (120, 160)], [(0, 99), (100, 199)], [(51, 51), (150, 152)]] {
            let starts = |axis: usize| -> Vec<i64> {
                let (lo, hi): (i64, i64) = window[axis];
                let bounds =
                    boxes.iter().flat_map(|(spans, ..)| [spans[axis].0, spans[axis].1 + 1]);
                let mut starts: Vec<i64> =
                    bounds.filter(|at| (lo..=hi).contains(at)).chain([lo]).collect();
                starts.sort_unstable();
                starts.dedup();
                starts
            };
            let mut answered: Vec<&Vec<String>> = Vec::new();
            for x in starts(0) {
                answered.extend(starts(1).iter().filter_map(|&y| innermost([x, y])));
            }
            // By a look at every point of the window.
            let mut true_classes: Vec<&Vec<String>> = Vec::new();
            for x in window[0].0..=window[0].1 {
                true_classes.extend((window[1].0..=window[1].1).filter_map(|y| innermost([x, y])));
            }
            for own in [&mut answered, &mut true_classes] {
                own.sort();
                own.dedup();
            }
            assert_eq!(answered, true_classes, "{release}, {window:?}");
            for row in &original[1..] {
                let at: [i64; 2] = [row[1].parse().unwrap(), row[2].parse().unwrap()];
                let is_in = window.iter().zip(at).all(|((lo, hi), at)| (*lo..=*hi).contains(&at));
                assert!(!is_in || answered.contains(&&classes[&row[0]]), "everybody is found");
            }
        }
    }
}

#[test]
fn whoever_drops_the_level_merges_classes_and_never_splits_one() {
    let folder = Folder::with(table(&crowd(600)));
    folder.anonymize(NESTED);
    let with = class_of(&folder, "out.csv", &["age", "height", "level"]);
    let without = class_of(&folder, "out.csv", &["age", "height"]);
    let mut sizes: BTreeMap<&Vec<String>, usize> = BTreeMap::new();
    without.values().for_each(|class| *sizes.entry(class).or_default() += 1);
    assert!(sizes.values().all(|&n_rows| n_rows >= 5));
    for (id, class) in &with {
        assert_eq!(class[..2], without[id][..], "what is left of a class is whole");
    }
}
