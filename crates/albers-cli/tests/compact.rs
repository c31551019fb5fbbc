//! `albers compact` end to end: our own releases, releases in a foreign notation, and mistakes.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, StringArray};
use common::{Folder, Run, array, assert_is_part_of, divergence, patients, table};
use serde_json::Value;

/// Eight people in three classes of a foreign hand; no cell is part of a word of a message.
const ORIGINAL: &str = "\
id,age,zip,disease
x81,7301,01907,measles
x82,7304,01908,mumps
x83,7309,01907,rubella
x84,7311,01931,measles
x85,7315,01931,mumps
x86,7352,01955,rubella
x87,7355,01956,measles
x88,7358,01957,mumps
";

const FOREIGN: &str = "\
zip,age,id
019*,young ones,x83
*,*,x85
019*,young ones,x81
0195?,>= 7350,x88
*,*,x84
0195?,>= 7350,x86
019*,young ones,x82
0195?,>= 7350,x87
";

const ROLES: &str = "--quasi age,zip --type zip=code";

fn foreign() -> Folder {
    let folder = Folder::with(ORIGINAL);
    folder.write("release.csv", FOREIGN);
    folder
}

/// The owner's report of `albers compact`, which must succeed.
fn compact(folder: &Folder, arguments: &str) -> Value {
    let run = folder.run(&format!("compact {arguments} --json --force"));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{arguments}");
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("not one object: {}", run.out))
}

fn json(folder: &Folder, arguments: &str) -> Value {
    let run = folder.run(&format!("{arguments} --json"));
    assert_eq!(run.code, Some(0), "{arguments}: {}", run.err);
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("not one object: {}", run.out))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn close(a: &Value, b: &Value) {
    let (a, b) = (number(a), number(b));
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1e-3), "{a} is not {b}");
}

/// The keys of each class, from a table of text.
fn classes(folder: &Folder, name: &str, quasi: &[&str]) -> BTreeSet<Vec<String>> {
    let columns: Vec<Vec<String>> = quasi.iter().map(|quasi| folder.column(name, quasi)).collect();
    let mut keys_of: BTreeMap<Vec<&String>, Vec<String>> = BTreeMap::new();
    for (row, key) in folder.column(name, "id").into_iter().enumerate() {
        let shown = columns.iter().map(|column| &column[row]).collect();
        keys_of.entry(shown).or_default().push(key);
    }
    keys_of.values_mut().for_each(|keys| keys.sort());
    keys_of.into_values().collect()
}

fn has_note(report: &Value, part: &str) -> bool {
    let notes = report["notes"].as_array().expect("notes are a list");
    notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains(part)))
}

#[test]
fn a_release_of_regions_keeps_its_classes_and_loses_less() {
    let folder = Folder::with(table(&patients(500, 7)));
    let read = "--quasi age,zip,city,pay --sensitive disease";
    let roles = format!("{read} --keep id");
    let given = folder
        .anonymize(&format!("in.csv -o release.csv {roles} -k 5 --no-compact --split median"));
    let found = compact(&folder, &format!("in.csv release.csv --key id -o out.csv {roles} -k 5"));
    assert_is_part_of(&folder.json("out.csv.manifest.json"), &found);
    assert_eq!(found["method"], "compaction of a given release");
    assert_eq!((&found["rows"], &found["suppressed"]), (&500.into(), &0.into()));
    for field in ["classes", "class_size", "requirement"] {
        assert_eq!(found[field], given[field], "{field}");
    }
    let quasi = ["age", "zip", "city", "pay"];
    assert_eq!(classes(&folder, "out.csv", &quasi), classes(&folder, "release.csv", &quasi));

    close(&found["ncp_before"], &given["table_loss"]["ncp"]);
    assert!(number(&found["table_loss"]["ncp"]) < number(&found["ncp_before"]), "regions have air");
    let measured = json(&folder, &format!("measure in.csv out.csv --key id {read}"));
    for field in ["ncp", "discernibility", "certainty_penalty"] {
        close(&measured["loss"][field], &found["table_loss"][field]);
    }
    close(divergence(&measured["loss"]), divergence(&found));
    close(&measured["loss"]["kl_with_sensitive"], &found["kl_with_sensitive"]);
    for (column, loss) in given["table_loss"]["ncp_by_column"].as_object().expect("an object") {
        assert!(number(&found["table_loss"]["ncp_by_column"][column]) <= number(loss) + 1e-12);
    }

    // What is tight already stays as it is.
    let again = compact(&folder, &format!("in.csv out.csv --key id -o again.csv {roles} -k 5"));
    close(&again["ncp_before"], &again["table_loss"]["ncp"]);
    assert_eq!(folder.read("again.csv"), folder.read("out.csv"));
}

#[test]
fn a_compacted_release_of_our_own_is_reproduced() {
    let folder = Folder::with(table(&patients(400, 3)));
    let roles = "--quasi age,zip,city --hierarchy zip=prefix --sensitive disease --keep id -k 4";
    let given = folder.anonymize(&format!("in.csv -o release.csv {roles}"));
    let found = compact(&folder, &format!("in.csv release.csv --key id -o out.csv {roles}"));
    assert_eq!(folder.read("out.csv"), folder.read("release.csv"));
    for field in ["ncp", "discernibility", "certainty_penalty"] {
        close(&found["table_loss"][field], &given["table_loss"][field]);
    }
    close(divergence(&found), divergence(&given));
    assert_eq!(found["columns"], given["columns"]);
}

#[test]
fn any_notation_tells_the_classes() {
    let folder = foreign();
    let arguments = format!("in.csv release.csv --key id -o out.csv {ROLES} --sensitive disease");
    let found = compact(&folder, &arguments);
    assert_eq!(folder.rows("out.csv")[0], ["age", "zip", "disease"], "the key is not published");
    let mut rows = folder.csv("out.csv").split_off(1);
    rows.sort();
    let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
    let expected = [
        row(["[7301, 7309]", "{01907, 01908}", "measles"]),
        row(["[7301, 7309]", "{01907, 01908}", "mumps"]),
        row(["[7301, 7309]", "{01907, 01908}", "rubella"]),
        row(["[7311, 7315]", "01931", "measles"]),
        row(["[7311, 7315]", "01931", "mumps"]),
        row(["[7352, 7358]", "{01955, 01956, 01957}", "measles"]),
        row(["[7352, 7358]", "{01955, 01956, 01957}", "mumps"]),
        row(["[7352, 7358]", "{01955, 01956, 01957}", "rubella"]),
    ];
    assert_eq!(rows, expected);
    assert_eq!((&found["classes"], &found["class_size"]["min"]), (&3.into(), &2.into()));
    assert_eq!(found["requirement"], "k = 2");
    assert!(found["ncp_before"].is_null(), "nobody but its maker reads this notation");
    assert!(has_note(&found, "no k was given") && has_note(&found, "before compaction"), "{found}");

    let run = folder.run(&format!("compact {arguments} -k 2 --keep id --force"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains("unknown before") && run.out.contains("wrote out.csv"), "{}", run.out);
    assert!(run.out.contains("the key 'id' is published"), "{}", run.out);
    assert!(!run.out.contains("no k was given"), "{}", run.out);
    assert!(!run.out.contains("young"), "a note shows no cell: {}", run.out);
}

#[test]
fn labels_are_lowest_common_ancestors_and_may_be_coarser_than_the_release() {
    let folder = foreign();
    let trees = "--hierarchy zip=prefix --hierarchy age=ranges:10,100";
    compact(&folder, &format!("in.csv release.csv --key id -o out.csv {ROLES} {trees}"));
    let shown: BTreeSet<Vec<String>> = folder.csv("out.csv").split_off(1).into_iter().collect();
    let zips: BTreeSet<&str> = shown.iter().map(|row| row[1].as_str()).collect();
    assert_eq!(zips, BTreeSet::from(["0190*", "01931", "0195*"]));

    // Each set has two of the eight values of its column, its label three or more.
    let pairs = "id,zip\nx81,\"{01907, 01931}\"\nx84,\"{01907, 01931}\"\n";
    folder.write("sets.csv", pairs);
    let flags = "--key id -o out.csv --quasi zip --type zip=code --hierarchy zip=prefix";
    let found = compact(&folder, &format!("in.csv sets.csv {flags}"));
    assert!(number(&found["table_loss"]["ncp"]) > number(&found["ncp_before"]), "{found}");
    assert!(has_note(&found, "`categories = set`"), "{found}");
    let found = compact(&folder, &format!("in.csv sets.csv {flags} --categories set"));
    close(&found["table_loss"]["ncp"], &found["ncp_before"]);
    assert!(!has_note(&found, "--categories set"), "{found}");
}

#[test]
fn parquet_comes_in_and_goes_out() {
    let folder = Folder::with(table(&patients(300, 11)));
    let read = "--quasi age,pay,city --sensitive disease";
    let roles = format!("{read} --keep id");
    let given = folder.anonymize(&format!("in.csv -o release.parquet {roles} -k 6 --no-compact"));
    let arguments = format!("in.csv release.parquet --key id {roles}");
    let to_parquet = compact(&folder, &format!("{arguments} -o out.parquet"));
    let to_csv = compact(&folder, &format!("{arguments} -o out.csv"));
    assert_eq!(to_parquet["table_loss"], to_csv["table_loss"]);
    let least = number(&given["class_size"]["min"]);
    assert_eq!(to_parquet["requirement"], format!("k = {least}"));
    assert!(has_note(&to_parquet, "age_min, age_max"), "{to_parquet}");
    close(&to_parquet["ncp_before"], &given["table_loss"]["ncp"]);
    let bounds = folder.parquet("out.parquet");
    assert!(bounds.column_by_name("age_min").is_some() && bounds.column_by_name("id").is_some());
    let measured = json(&folder, &format!("measure in.csv out.parquet --key id {read}"));
    close(&measured["loss"]["ncp"], &to_parquet["table_loss"]["ncp"]);

    // A Parquet original whose key is a number, with a release in text.
    let ages = vec![20, 21, 30, 31];
    folder.write_parquet(
        "original.parquet",
        vec![
            ("row", array(Int64Array::from(vec![4, 3, 2, 1]))),
            ("age", array(Int64Array::from(ages))),
            ("city", array(StringArray::from(vec!["Ulm", "Ulm", "Ulm", "Jena"]))),
        ],
    );
    folder.write("text.csv", "row,age,city\n1,3x,?\n2,3x,?\n3,2x,?\n4,2x,?\n");
    compact(&folder, "original.parquet text.csv --key row -o typed.parquet --quasi age,city");
    let batch = folder.parquet("typed.parquet");
    let column = |name: &str| Arc::clone(batch.column_by_name(name).expect("the column is there"));
    let (min, max) = (column("age_min"), column("age_max"));
    let mut bounds: Vec<(i64, i64)> = (0..4)
        .map(|row| {
            let at = |bound: &arrow_array::ArrayRef| bound.as_primitive::<Int64Type>().value(row);
            (at(&min), at(&max))
        })
        .collect();
    bounds.sort_unstable();
    assert_eq!(bounds, [(20, 21), (20, 21), (30, 31), (30, 31)]);
}

#[test]
fn rows_that_the_release_deletes_stay_deleted_and_are_counted() {
    let folder = foreign();
    let kept: Vec<&str> = FOREIGN.lines().filter(|line| !line.starts_with("*,")).collect();
    folder.write("release.csv", kept.join("\n") + "\n");
    let roles = format!("{ROLES} --sensitive disease");
    let found = compact(
        &folder,
        &format!(
            "in.csv release.csv --key id -o out.csv {roles} --keep id --t-closeness disease=0"
        ),
    );
    assert_eq!((&found["rows"], &found["suppressed"]), (&6.into(), &2.into()));
    assert!(!folder.read("out.csv").contains("x84"));
    // Of the published rows every class has all three diseases once; of the original it has not.
    let measured = json(&folder, &format!("measure in.csv out.csv --key id {roles}"));
    assert_eq!(measured["suppressed"], 2);
    for field in ["ncp", "discernibility", "certainty_penalty"] {
        close(&measured["loss"][field], &found["table_loss"][field]);
    }
    close(divergence(&measured["loss"]), divergence(&found));
    close(&measured["loss"]["kl_with_sensitive"], &found["kl_with_sensitive"]);
}

#[test]
fn k_counts_subjects_where_a_column_tells_them() {
    let folder = Folder::with("id,who,age\n1,a,20\n2,a,21\n3,b,22\n4,c,40\n5,d,41\n");
    folder.write("release.csv", "id,age\n1,low\n2,low\n3,low\n4,high\n5,high\n");
    let arguments = "in.csv release.csv --key id -o out.csv --quasi age --subject who";
    let found = compact(&folder, arguments);
    assert!(has_note(&found, "has 2 subjects"), "{found}");
    let run = folder.run(&format!("compact {arguments} -k 3 --force"));
    assert_eq!(run.code, Some(1), "{}", run.said());
}

#[test]
fn a_release_that_does_not_cover_its_original_is_described_anew() {
    // Means of the classes, as microaggregation publishes them.
    let folder = Folder::with("id,age\n1,20\n2,24\n3,40\n4,44\n");
    folder.write("release.csv", "id,age\n1,22\n2,22\n3,42\n4,42\n");
    let found = compact(&folder, "in.csv release.csv --key id -o out.csv --quasi age");
    assert!(found["ncp_before"].is_null() && has_note(&found, "before compaction"), "{found}");
    let shown: BTreeSet<String> = folder.column("out.csv", "age").into_iter().collect();
    assert_eq!(shown, BTreeSet::from(["[20, 24]".to_owned(), "[40, 44]".to_owned()]));
}

#[test]
fn the_order_of_both_files_and_the_threads_change_nothing() {
    let folder = foreign();
    let arguments = format!("--key id {ROLES} --sensitive disease --keep id");
    compact(&folder, &format!("in.csv release.csv -o out.csv {arguments} --threads 1"));
    for name in ["in.csv", "release.csv"] {
        let text = folder.read(name);
        let (header, rows) = text.split_once('\n').expect("there is a header");
        let turned: Vec<&str> = rows.lines().rev().collect();
        folder.write(name, format!("{header}\n{}\n", turned.join("\n")));
    }
    compact(&folder, &format!("in.csv release.csv -o turned.csv {arguments} --threads 3"));
    assert_eq!(folder.read("out.csv"), folder.read("turned.csv"));
}

/// A run that must fail, write nothing, end with a hint and show no cell.
fn fails(folder: &Folder, arguments: &str, code: i32, expected: &str, hint: &str) -> Run {
    let before = folder.files();
    let run = folder.run(&format!("compact {arguments} --force"));
    assert_eq!((run.code, run.out.as_str()), (Some(code), ""), "{arguments}: {}", run.err);
    assert!(run.err.contains(expected), "{arguments}: {}", run.err);
    let end = run.err.trim_end().rsplit("; ").next().unwrap_or_default();
    assert!(end.contains(hint), "{arguments}: the hint is '{end}'");
    assert_eq!(folder.files(), before, "{arguments}: nothing is written");
    let cells = ORIGINAL.lines().chain(FOREIGN.lines()).flat_map(|line| line.split(','));
    let secrets = cells.filter(|cell| cell.len() > 2 && !["age", "zip", "disease"].contains(cell));
    for cell in secrets {
        assert!(!run.err.contains(cell), "{arguments} shows a cell: {}", run.err);
    }
    run
}

#[test]
fn keys_must_be_there_once_in_both() {
    let arguments = format!("in.csv release.csv --key id -o out.csv {ROLES}");
    let with = |original: String, release: String| {
        let folder = Folder::with(original);
        folder.write("release.csv", release);
        folder
    };
    let doubled = with(ORIGINAL.into(), FOREIGN.replace("x85", "x83").replace("x88", "x83"));
    let problem =
        "release.csv, row 2, column 'id': row 1 has the same key; a key repeats in 2 rows";
    fails(&doubled, &arguments, 2, problem, "--key");
    let doubled = with(ORIGINAL.replace("x82", "x81"), FOREIGN.into());
    fails(&doubled, &arguments, 2, "in.csv, row 2, column 'id': row 1 has the same key", "--key");
    let missing = with(ORIGINAL.into(), FOREIGN.replace("x85", "").replace("x82", ""));
    let problem = "release.csv, row 2, column 'id': the key is missing, in 2 rows in all";
    fails(&missing, &arguments, 2, problem, "--key");
    let unknown = with(ORIGINAL.into(), FOREIGN.replace("x88", "y1").replace("x87", "y2"));
    let problem = "release.csv, row 4, column 'id': the original has no row with this key, in 2";
    fails(&unknown, &arguments, 2, problem, "both files belong together");
}

#[test]
fn mistakes_end_with_a_hint_and_never_with_a_cell() {
    let folder = foreign();
    let files = "in.csv release.csv";
    let arguments = format!("{files} -o out.csv {ROLES}");
    fails(&folder, &format!("{arguments} --key nope"), 2, "there is no column 'nope'", "");
    fails(&folder, &format!("{arguments} --key disease"), 2, "no column 'disease'", "");
    fails(&folder, &format!("{arguments} --key age"), 2, "a quasi-identifier", "both files");
    let without_roles = format!("{files} -o out.csv --key id");
    fails(&folder, &without_roles, 2, "no column is a quasi-identifier", "--quasi");
    for output in ["in.csv", "release.csv"] {
        let onto = format!("{files} -o {output} --key id {ROLES}");
        fails(&folder, &onto, 2, "is also an input", "a name of its own");
    }
    let absent = format!("in.csv absent.csv -o out.csv --key id {ROLES}");
    fails(&folder, &absent, 2, "absent.csv", "");
    let threads = format!("{arguments} --key id --threads 0");
    fails(&folder, &threads, 2, "0 threads", "--threads 1");
}

#[test]
fn a_release_that_violates_the_requirement_is_refused_with_1() {
    let folder = foreign();
    let arguments = format!("in.csv release.csv --key id -o out.csv {ROLES} --sensitive disease");
    let problem = "release.csv: the class of row 2, of 2 rows, does not satisfy the requirement";
    let refused = |flags: &str| {
        fails(&folder, &format!("{arguments} {flags}"), 1, problem, "ask for less");
    };
    refused("-k 3");
    refused("--l-diversity disease=distinct:3");
    refused("-k 2 --t-closeness disease=0.1");
}

#[test]
fn classes_that_show_the_same_are_one_but_must_satisfy_the_requirement_alone() {
    let folder = Folder::with("id,age\n1,20\n2,30\n3,20\n4,30\n");
    folder.write("release.csv", "id,age\n1,a\n2,a\n3,b\n4,b\n");
    let arguments = "in.csv release.csv --key id -o out.csv --quasi age";
    let found = compact(&folder, arguments);
    assert_eq!((&found["classes"], &found["class_size"]["min"]), (&1.into(), &4.into()));
    assert_eq!(found["requirement"], "k = 2", "what the given release reaches");
    fails(&folder, &format!("{arguments} -k 3"), 1, "the class of row 1", "ask for less");
}

#[test]
fn a_job_file_gives_the_roles_and_its_method_has_no_effect() {
    let folder = Folder::with(table(&patients(200, 5)));
    folder.write(
        "job.toml",
        "input = 'in.csv'\noutput = 'release.csv'\nk = 4\nsplit = 'median'\ncompact = false\n\
         [columns.age]\nrole = 'quasi'\n[columns.city]\nrole = 'quasi'\n\
         [columns.id]\nrole = 'keep'\n",
    );
    folder.anonymize("--job job.toml");
    let found = compact(&folder, "in.csv release.csv --job job.toml --key id -o out.csv");
    assert_eq!(found["requirement"], "k = 4");
    assert!(number(&found["table_loss"]["ncp"]) < number(&found["ncp_before"]), "{found}");
}
