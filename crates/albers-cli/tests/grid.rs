//! `--method grid`: space halved equally often everywhere, and differential privacy by it.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Folder, Numbers};
use serde_json::Value;

/// Rows: id, age, height, job.
fn people(n_rows: usize, seed: u64) -> Vec<String> {
    let mut numbers = Numbers::new(seed);
    let mut pick = |end: u64| numbers.below(end);
    let rows = (0..n_rows).map(|row| {
        let job = ["Nurse", "Doctor", "Clerk"][pick(3) as usize];
        format!("p{row:05},{},{},{job}", 18 + pick(60), 150 + pick(50))
    });
    rows.collect()
}

fn table(rows: &[String]) -> String {
    format!("id,age,height,job\n{}\n", rows.join("\n"))
}

const JOBS: &str = "Nurse;Health;*\nDoctor;Health;*\nClerk;Office;*\n";

const PRIVATE: &str = "in.csv -o out.csv --quasi age,job --method grid --epsilon 1 --delta 1e-6 \
                       --scale age=equal:0..99:2 --hierarchy job=jobs.csv";

fn private_folder(rows: &[String]) -> Folder {
    let folder = Folder::with(table(rows));
    folder.write("jobs.csv", JOBS);
    folder
}

/// The rows of each class of a release.
fn classes(rows: &[Vec<String>]) -> BTreeMap<Vec<String>, usize> {
    let mut classes = BTreeMap::new();
    rows[1..].iter().for_each(|row| *classes.entry(row.clone()).or_insert(0) += 1);
    classes
}

#[test]
fn the_resolution_that_is_told_for_a_k_is_the_one_that_is_published() {
    let folder = Folder::with(table(&people(500, 5)));
    let run = folder.run("anonymize in.csv --quasi age,height --method grid --json");
    assert_eq!(run.code, Some(0), "{}", run.said());
    let told: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&told["audience"], &told["rows"]), (&"owner".into(), &500.into()));
    let told = told["resolutions"].as_array().unwrap();
    let ks: Vec<u64> = told.iter().map(|own| own["k"].as_u64().unwrap()).collect();
    assert!(ks[0] == 500 && ks.is_sorted_by(|a, b| a >= b) && ks.last() < Some(&5), "{ks:?}");
    let arguments = "in.csv -o out.csv --quasi age,height --method grid";
    for k in [2, 5, 20] {
        let report = folder.anonymize(&format!("{arguments} -k {k}"));
        let finest = told.iter().rfind(|own| own["k"].as_u64().unwrap() >= k).unwrap();
        assert_eq!(report["classes"], finest["cells"], "k = {k}");
        assert_eq!(report["class_size"]["min"], finest["k"]);
        assert_eq!(
            (&report["ran"], &report["class_relation"]),
            (&"grid".into(), &"disjoint".into())
        );
        let checked = folder.run("check out.csv");
        assert_eq!(checked.code, Some(0), "{}", checked.said());
        folder.remove_release("out.csv");
    }
    let said = folder.run("anonymize in.csv --quasi age,height --method grid").out;
    assert!(said.contains("halvings") && said.contains("cells"), "{said}");
    assert_eq!(folder.names(), ["in.csv"], "nothing is published");
}

#[test]
fn all_ranges_of_a_column_are_halved_equally_often() {
    let folder = Folder::with(table(&people(800, 6)));
    let arguments = "in.csv -o out.csv -k 5 --quasi age,height --method grid --no-compact \
                     --scale age=equal:0..127:7 --scale height=equal:100..227:7";
    folder.anonymize(arguments);
    let ends = |cell: &str| -> (i64, i64) {
        let inner = cell.trim_matches(['[', ']']);
        let (lo, hi) = inner.split_once(", ").unwrap_or((inner, inner));
        (lo.parse().unwrap(), hi.parse().unwrap())
    };
    for (column, least) in [("age", 0), ("height", 100)] {
        let shown: BTreeSet<String> = folder.column("out.csv", column).into_iter().collect();
        assert!(shown.len() > 1);
        // Every range begins where one of the same length does, but for the ends of the table.
        let lengths: BTreeSet<i64> =
            shown.iter().map(|cell| ends(cell).1 - ends(cell).0 + 1).collect();
        let length = *lengths.iter().max().unwrap();
        assert!(length.count_ones() == 1, "{lengths:?}");
        let inner = shown.iter().filter(|cell| ends(cell).1 - ends(cell).0 + 1 == length);
        assert!(inner.into_iter().all(|cell| (ends(cell).0 - least) % length == 0), "{shown:?}");
    }
}

/// Where cells begin follows from all rows, and would tell of those that are not there.
#[test]
fn no_row_can_be_left_out_of_a_grid() {
    let folder = Folder::with(table(&people(100, 7)));
    let arguments = "anonymize in.csv -o out.csv -k 8 --quasi age,height --method grid";
    let run = folder.run(&format!("{arguments} --suppress 0.05"));
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("--suppress has no effect with --method grid"), "{}", run.err);
}

#[test]
fn what_has_no_effect_where_nothing_is_published_is_refused() {
    let folder = Folder::with(table(&people(50, 8)));
    for (more, named) in [
        ("-o out.csv", "-o has no effect"),
        ("--suppress 0.1", "--suppress has no effect"),
        ("--owner-report o.json", "--owner-report has no effect"),
        ("--level-column depth", "--level-column has no effect"),
    ] {
        let run = folder.run(&format!("anonymize in.csv --quasi age --method grid {more}"));
        assert_eq!(run.code, Some(2), "{}", run.said());
        assert!(run.err.contains(named), "{}", run.err);
    }
    let run = folder.run("anonymize in.csv --quasi age --epsilon 1 --delta 1e-6 -o out.csv -k 5");
    assert!(run.err.contains("--epsilon has no effect with --method auto"), "{}", run.err);
    assert_eq!(folder.names(), ["in.csv"]);
}

#[test]
fn a_private_release_shows_the_ranges_of_the_grid_and_cells_of_k_drawn_rows() {
    let folder = private_folder(&people(3000, 9));
    let run = folder.run(&format!("anonymize {PRIVATE} --level job=1"));
    assert_eq!(run.code, Some(0), "{}", run.said());
    assert!(run.out.contains("privacy:  (1, 0.000001)-differential"), "{}", run.out);
    let rows = folder.csv("out.csv");
    assert_eq!(rows[0], ["age", "job"]);
    let classes = classes(&rows);
    let ranges = ["(-inf, 24]", "[25, 49]", "[50, 74]", "[75, inf)"];
    for (class, &n_rows) in &classes {
        assert!(
            ranges.contains(&&class[0][..]) && ["Health", "Office"].contains(&&class[1][..]),
            "{class:?}"
        );
        assert!(n_rows >= 74, "{class:?}: {n_rows}");
    }
    assert!(classes.len() >= 4, "{classes:?}");
    // About 63 % of the rows are drawn.
    assert!((1400..2200).contains(&(rows.len() - 1)), "{}", rows.len());
    let checked = folder.run("check out.csv --json");
    assert_eq!(checked.code, Some(0), "{}", checked.said());
    let checked: Value = serde_json::from_str(&checked.out).unwrap();
    for field in ["digest", "rows", "classes", "class_size", "requirement"] {
        assert!(
            checked["manifest"]["verified"].as_array().unwrap().contains(&field.into()),
            "{checked}"
        );
    }
    let original =
        folder.run("measure in.csv out.csv --quasi age,job --hierarchy job=jobs.csv --json");
    assert_eq!(original.code, Some(0), "{}", original.said());
}

#[test]
fn the_manifest_of_a_private_release_has_what_its_file_tells_and_the_promise() {
    let folder = private_folder(&people(3000, 10));
    folder.anonymize(PRIVATE);
    let manifest = folder.json("out.csv.manifest.json");
    let fields: Vec<&str> = manifest.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "rows",
            "classes",
            "class_size",
            "requirement",
            "privacy",
            "method",
            "repeatable",
            "columns",
            "digest",
            "version"
        ]
    );
    assert_eq!(manifest["rows"], folder.csv("out.csv").len() - 1);
    assert_eq!(
        (&manifest["requirement"], &manifest["repeatable"]),
        (&"k = 74".into(), &false.into())
    );
    let privacy = &manifest["privacy"];
    assert_eq!(
        (&privacy["epsilon"], &privacy["delta"], &privacy["k"]),
        (&1.0.into(), &1e-6.into(), &74.into())
    );
    assert!((privacy["sampling_rate"].as_f64().unwrap() - 0.632_120_558).abs() < 1e-6);
    let columns = manifest["columns"].as_array().unwrap();
    let shown: Vec<_> =
        columns.iter().map(|own| (own["shown"].as_str().unwrap(), own.get("hierarchy"))).collect();
    assert_eq!(shown, [("interval", None), ("label", Some(&"file".into()))]);
}

#[test]
fn no_two_private_releases_are_the_same_and_no_seed_makes_them_so() {
    let folder = private_folder(&people(3000, 11));
    folder.anonymize(PRIVATE);
    let first = folder.read("out.csv");
    folder.anonymize(PRIVATE);
    assert_ne!(first, folder.read("out.csv"));
    let run = folder.run(&format!("anonymize {PRIVATE} --force --seed 1"));
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("--seed cannot stand beside --epsilon"), "{}", run.err);
}

#[test]
fn values_beyond_the_ends_and_cells_that_fit_nothing_have_ranges_and_tell_nothing_of_types() {
    let mut rows = people(2000, 12);
    rows.extend(
        (0..400).map(|row| format!("x{row},{},170,Nurse", if row < 200 { "-12" } else { "old" })),
    );
    rows.extend((0..3).map(|row| format!("y{row},250.5,170,Pilot")));
    let folder = private_folder(&rows);
    let report = folder.anonymize(&format!("{PRIVATE} --level job=1"));
    let notes = report["notes"].to_string();
    assert!(notes.contains("203 cells of 'age' are in none of its ranges"), "{notes}");
    assert!(notes.contains("3 cells of 'job' are in none"), "{notes}");
    let classes = classes(&folder.csv("out.csv"));
    assert!(classes.contains_key(&vec![String::new(), "Health".to_owned()]), "{classes:?}");
    assert!(classes[&vec!["(-inf, 24]".to_owned(), "Health".to_owned()]] > 150);
    let age = &report["columns"].as_array().unwrap()[1];
    assert_eq!((&age["type"], &age["missing"]), (&"integer".into(), &203.into()));
    // What is published beside it tells neither types nor how many are missing.
    let manifest = folder.json("out.csv.manifest.json");
    let fields = |own: &Value| own.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(fields(&manifest["columns"][0]), ["name", "role", "shown"]);
    assert!(manifest.get("notes").is_none());
}

#[test]
fn a_table_of_few_rows_or_none_ends_as_well_as_any_other() {
    for n_rows in [0, 1, 73] {
        let folder = private_folder(&people(n_rows, 13));
        if n_rows == 0 {
            folder.write("in.csv", "id,age,height,job\n");
        }
        let run = folder.run(&format!("anonymize {PRIVATE}"));
        assert_eq!(run.code, Some(0), "{n_rows}: {}", run.said());
        assert_eq!(folder.read("out.csv"), "age,job\n");
        let manifest = folder.json("out.csv.manifest.json");
        assert_eq!((&manifest["rows"], &manifest["classes"]), (&0.into(), &0.into()));
        assert_eq!(manifest["class_size"]["min"], 0);
    }
}

#[test]
fn typed_releases_and_tables_are_drawn_from_alike() {
    let folder = private_folder(&people(3000, 14));
    folder.anonymize(&PRIVATE.replace("out.csv", "out.parquet"));
    let release = folder.parquet("out.parquet");
    let names: Vec<&str> =
        release.schema_ref().fields().iter().map(|own| own.name().as_str()).collect();
    assert_eq!(names, ["age", "job"]);
    assert!(release.schema_ref().fields().iter().all(|own| own.data_type().is_string()));
    folder.anonymize("in.csv -o copy.parquet -k 1 --quasi id,height --keep age,job --accept low-k,text-list,unique-keep,keep-tells-quasi");
    let report = folder.anonymize(&PRIVATE.replace("in.csv", "copy.parquet"));
    assert!(report["classes"].as_u64().unwrap() >= 4, "{report}");
}

#[test]
fn persons_are_drawn_and_one_row_of_each_is_published() {
    // Everybody has four rows.
    let rows: Vec<String> = people(2400, 15)
        .iter()
        .enumerate()
        .map(|(row, own)| format!("p{}{}", row / 4, &own[own.find(',').unwrap()..]))
        .collect();
    let folder = private_folder(&rows);
    let run = folder.run(&format!("anonymize {PRIVATE} --identifier id"));
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(run.err.contains("--subject 'id'"), "{}", run.err);
    let run = folder.run(&format!("anonymize {PRIVATE} --identifier id --accept rows-per-person"));
    assert!(run.err.contains("--accept cannot stand beside --epsilon"), "{}", run.err);
    assert!(!folder.path("out.csv").exists());
    let ends = "--scale age=equal:0..99:1 --level job=1";
    let arguments = PRIVATE.replace("--scale age=equal:0..99:2", ends);
    let report = folder.anonymize(&format!("{arguments} --subject id"));
    assert!(report["rows"].as_u64().unwrap() <= 600, "{report}");
    assert!(report["class_size"]["min"].as_u64().unwrap() >= 74);
    assert_eq!(report["requirement"], "k = 74 subjects");
    let nobody: Vec<String> =
        rows.iter().map(|own| own[own.find(',').unwrap()..].to_owned()).collect();
    folder.write("in.csv", table(&nobody));
    let report = folder.anonymize(&format!("{arguments} --subject id"));
    assert_eq!(report["rows"], 0);
    assert!(report["notes"].to_string().contains("2400 rows name no person"), "{report}");
}

#[test]
fn the_file_of_a_private_release_does_not_tell_types_or_values_that_are_not_drawn() {
    // The same cells of the grid in other texts, and a hierarchy file whose leaves nobody has.
    let plain = people(3000, 16);
    let folder = private_folder(&plain);
    folder.anonymize(PRIVATE);
    let texts_of =
        || -> BTreeSet<String> { classes(&folder.csv("out.csv")).into_keys().flatten().collect() };
    let grid: BTreeSet<String> =
        ["(-inf, 24]", "[25, 49]", "[50, 74]", "[75, inf)", "Nurse", "Doctor", "Clerk"]
            .map(str::to_owned)
            .into();
    assert!(texts_of().is_subset(&grid) && texts_of().len() >= 5);
    let dressed: Vec<String> =
        plain.iter().map(|own| own.replacen(',', ", 0", 1).replace("Nurse", "Doctor")).collect();
    folder.write("in.csv", table(&dressed));
    folder.anonymize(PRIVATE);
    assert!(texts_of().is_subset(&grid) && texts_of().len() >= 4, "{:?}", texts_of());
}

/// A record that looks like a line of names must not decide whether there is a release.
#[test]
fn no_row_decides_whether_the_first_line_of_a_private_table_has_names() {
    let folder = Folder::with("");
    folder.write("jobs.csv", "clerk,*\nsmith,*\njob,*\n");
    for record in ["clerk", "job"] {
        folder.write("in.csv", format!("job\nclerk\nsmith\n{record}\n"));
        let run = folder.run(
            "anonymize in.csv -o out.csv --force --method grid --epsilon 1 --delta 1e-6 \
             --quasi job --hierarchy job=jobs.csv",
        );
        assert_eq!(run.code, Some(0), "{}", run.err);
    }
}

#[test]
fn ends_without_room_between_them_are_refused() {
    let folder = Folder::with(table(&people(20, 7)));
    for (ends, says) in [
        ("1.0..1.0000000000000002:4", "no value between them"),
        ("-1e308..1e308:3", "too far apart"),
        ("2.5..1.5:3", "ends before it begins"),
    ] {
        let run = folder.run(&format!(
            "anonymize in.csv -o out.csv --method grid --epsilon 1 --delta 1e-6 --quasi age \
             --scale age=equal:{ends}"
        ));
        assert_eq!(run.code, Some(2), "{ends}: {}", run.said());
        assert!(run.err.contains(says), "{ends}: {}", run.err);
    }
}
