//! The codebook beside a release: what it says of every kind of column, that its recipes run in the
//! tools that they are for, and when there is none.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

mod codebook {
    pub mod tools;
}

use albers::files;
use codebook::tools::{answers_of, has_tools};
use common::{Folder, Numbers, Run};
use serde_json::{Value, json};

const JOBS: &str =
    "nurse;health;*\ndoctor;health;*\ncook;kitchen;*\nwaiter;kitchen;*\nbaker;kitchen;*\n";

/// People with values of every kind; some are missing.
fn people(n_rows: usize, delimiter: char) -> String {
    let mut numbers = Numbers::new(7);
    let mut below = |end: u64| numbers.below(end);
    let mut text =
        "id,age,pay,born,seen,city,zip,job,ill,note\n".replace(',', &delimiter.to_string());
    for id in 0..n_rows {
        let mut cells = [
            format!("p{id}"),
            (20 + below(60)).to_string(),
            format!("{}.{}", 100 + below(90), below(10)),
            format!("19{}-{:02}-{:02}", 50 + below(40), 1 + below(12), 1 + below(28)),
            format!("2020-0{}-1{} {:02}:30:00", 1 + below(9), below(10), below(24)),
            ["Aachen", "Bonn \"am Rhein\"", "Celle", "Essen | Ruhr"][below(4) as usize].to_owned(),
            format!("{:05}", 1000 + below(90)),
            ["nurse", "doctor", "cook", "waiter"][below(4) as usize].to_owned(),
            ["flu", "cough", "asthma"][below(3) as usize].to_owned(),
            (below(9)).to_string(),
        ];
        for at in [1, 5, 7] {
            if below(20) == 0 {
                cells[at].clear();
            }
        }
        let quoted = cells.map(|cell| match cell.contains('"') {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell,
        });
        text.push_str(&quoted.join(&delimiter.to_string()));
        text.push('\n');
    }
    text
}

fn folder() -> Folder {
    let folder = Folder::with(people(300, ','));
    folder.write("jobs.csv", JOBS);
    folder
}

const ROLES: &str = "--sensitive ill --keep note --identifier id -k 4";

/// Flags, and the endings of files that are asked for with them.
const RELEASES: [(&str, &str); 17] = [
    ("--quasi age,pay,city", "csv"),
    ("--quasi age,pay,born,seen", "csv.gz"),
    ("--quasi age,pay,born,seen --values bounds", "csv"),
    ("--quasi age,pay,born --values mean", "tsv"),
    ("--quasi age,city,job --values features --hierarchy job=jobs.csv", "csv"),
    ("--quasi age,job --hierarchy job=jobs.csv", "csv"),
    ("--quasi age,job --hierarchy job=jobs.csv", "parquet"),
    ("--quasi age,zip --hierarchy zip=prefix --hierarchy age=ranges:5,20", "csv"),
    (
        "--quasi born,city --hierarchy born=dates --hierarchy city=suppress --method incognito",
        "csv",
    ),
    ("--quasi age,pay --method bang", "csv"),
    ("--quasi age,pay,city,job --method bang --hierarchy job=jobs.csv", "csv"),
    ("--quasi age,pay --method bang --no-compact", "parquet"),
    ("--quasi age,job --no-compact --categories set --hierarchy job=jobs.csv", "csv"),
    ("--quasi age,zip,city --method rtree --also-k 12", "csv"),
    ("--quasi age,pay,born,seen,city", "jsonl"),
    ("--quasi age,pay,born,seen --values bounds", "jsonl"),
    ("--quasi age,pay,job --values mean --hierarchy job=jobs.csv", "jsonl"),
];

fn released(folder: &Folder, flags: &str, ending: &str) -> String {
    let release = format!("out.{ending}");
    folder.anonymize(&format!("in.csv -o {release} {flags} {ROLES}"));
    release
}

fn codebook_of(folder: &Folder, release: &str) -> Value {
    folder.json(&format!("{release}.codebook.json"))
}

fn column<'a>(codebook: &'a Value, name: &str) -> &'a Value {
    let columns = codebook["columns"].as_array().unwrap();
    columns.iter().find(|own| own["name"] == name).unwrap_or_else(|| panic!("no column {name}"))
}

/// Whether a column has these fields.
fn assert_has(column: &Value, fields: &Value) {
    for (name, value) in fields.as_object().unwrap() {
        assert_eq!(&column[name], value, "{name} of {column}");
    }
}

// What it says.

#[test]
fn the_codebook_is_told_by_the_release_and_the_job() {
    let folder = folder();
    for (flags, ending) in RELEASES {
        let release = released(&folder, flags, ending);
        let codebook = codebook_of(&folder, &release);
        let manifest = folder.json(&format!("{release}.manifest.json"));
        assert_eq!(codebook["digest"], manifest["digest"], "{flags}");
        assert_eq!((&codebook["release"], &codebook["dropped"]), (&json!(release), &json!(["id"])));
        let columns = codebook["columns"].as_array().unwrap();
        let shown = |own: &Value| {
            let names = own["in"].as_array().unwrap().iter().chain(own.get("mean"));
            names.map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let in_file: Vec<String> = match ending {
            "parquet" => {
                let schema = folder.parquet(&release).schema();
                schema.fields().iter().map(|own| own.name().clone()).collect()
            }
            "jsonl" => {
                let text = folder.read(&release);
                let row: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
                row.as_object().unwrap().keys().cloned().collect()
            }
            "csv.gz" => columns.iter().flat_map(shown).collect(),
            "tsv" => common::csv_of(&folder.read(&release), '\t').remove(0),
            _ => folder.csv(&release).remove(0),
        };
        assert_eq!(columns.iter().flat_map(shown).collect::<Vec<_>>(), in_file, "{flags}");
        let of_manifest = manifest["columns"].as_array().unwrap();
        for (own, published) in columns.iter().zip(of_manifest) {
            for field in ["name", "role", "shown"] {
                assert_eq!(own[field], published[field], "{flags}");
            }
        }
        // Nothing of the table but what is published: its other columns and paths are not named.
        let page = folder.read(&format!("{release}.codebook.md"));
        let folder_name = folder.path("").display().to_string();
        let told = page + &codebook.to_string();
        assert!(!told.contains("in.csv") && !told.contains(&folder_name), "{flags}");
        for name in ["seen", "zip", "born"] {
            let is_published = of_manifest.iter().any(|own| own["name"] == name);
            assert_eq!(told.contains(name), is_published, "{flags}: {name}");
        }
    }
}

#[test]
fn every_kind_of_column_is_told_with_its_type_and_how_it_is_read() {
    let folder = folder();
    let quasi = |shown: &str, column_type: &str, ends: &str| {
        let role = "quasi";
        json!({ "role": role, "shown": shown, "type": column_type, "ends": ends })
    };
    let codebook = codebook_of(&folder, &released(&folder, RELEASES[0].0, "csv"));
    assert_has(&codebook, &json!({ "codebook": 1, "format": "csv", "delimiter": "," }));
    assert_has(column(&codebook, "age"), &quasi("interval", "integer", "values"));
    assert_has(column(&codebook, "pay"), &quasi("interval", "decimal", "values"));
    assert_has(column(&codebook, "city"), &quasi("set", "text", "values"));
    assert_has(column(&codebook, "age"), &json!({ "in": ["age"], "missing": true }));
    assert_has(column(&codebook, "pay"), &json!({ "missing": false, "type_from": "cells" }));
    let carried = json!({ "role": "keep", "shown": "as is", "type": "integer", "missing": false });
    assert_has(column(&codebook, "note"), &carried);

    let codebook = codebook_of(&folder, &released(&folder, RELEASES[1].0, "csv.gz"));
    assert_has(column(&codebook, "born"), &quasi("interval", "date", "values"));
    assert_has(column(&codebook, "seen"), &quasi("interval", "timestamp", "values"));

    let codebook = codebook_of(&folder, &released(&folder, RELEASES[2].0, "csv"));
    let bounds =
        json!({ "in": ["age_min", "age_max", "age_missing"], "missing": true, "type": "integer" });
    assert_has(column(&codebook, "age"), &bounds);
    assert_has(
        column(&codebook, "born"),
        &json!({ "in": ["born_min", "born_max"], "type": "date" }),
    );

    let codebook = codebook_of(&folder, &released(&folder, RELEASES[3].0, "tsv"));
    assert_has(&codebook, &json!({ "format": "tsv", "delimiter": "\t" }));
    assert_has(column(&codebook, "pay"), &json!({ "mean": "pay_mean", "type": "decimal" }));

    let rows: Vec<Vec<&str>> = JOBS.lines().map(|line| line.split(';').collect()).collect();
    let file = json!({ "kind": "file", "rows": rows });
    let codebook = codebook_of(&folder, &released(&folder, RELEASES[4].0, "csv"));
    assert_has(column(&codebook, "job"), &quasi("places", "text", "regions"));
    assert_has(column(&codebook, "job"), &json!({ "hierarchy": file }));
    assert_has(column(&codebook, "city"), &quasi("places", "text", "values"));
    assert_eq!(column(&codebook, "city").get("hierarchy"), None);

    for at in [5, 6] {
        let codebook = codebook_of(&folder, &released(&folder, RELEASES[at].0, RELEASES[at].1));
        assert_has(column(&codebook, "job"), &quasi("label", "text", "regions"));
        assert_has(column(&codebook, "job"), &json!({ "hierarchy": file, "missing": true }));
    }
    let codebook = codebook_of(&folder, &released(&folder, RELEASES[7].0, "csv"));
    assert_has(column(&codebook, "zip"), &quasi("label", "code", "regions"));
    assert_has(column(&codebook, "zip"), &json!({ "hierarchy": { "kind": "prefix" } }));
    let ranges = json!({ "kind": "ranges", "spec": "ranges:5,20" });
    assert_has(column(&codebook, "age"), &json!({ "hierarchy": ranges, "type": "integer" }));

    let codebook = codebook_of(&folder, &released(&folder, RELEASES[8].0, "csv"));
    assert_has(
        column(&codebook, "born"),
        &json!({ "hierarchy": { "kind": "dates" }, "type": "date" }),
    );
    assert_has(column(&codebook, "city"), &json!({ "hierarchy": { "kind": "suppress" } }));

    let codebook = codebook_of(&folder, &released(&folder, RELEASES[9].0, "csv"));
    let level = json!({ "role": "level", "shown": "depth", "in": ["level"], "type": "integer" });
    assert_has(column(&codebook, "level"), &level);
    let codebook = codebook_of(&folder, &released(&folder, RELEASES[11].0, "parquet"));
    assert_eq!((&codebook["format"], codebook.get("delimiter")), (&json!("parquet"), None));
    assert_has(
        column(&codebook, "pay"),
        &json!({ "ends": "regions", "in": ["pay_min", "pay_max"] }),
    );
    let codebook = codebook_of(&folder, &released(&folder, RELEASES[12].0, "csv"));
    assert_has(column(&codebook, "job"), &quasi("set", "text", "regions"));
    let codebook = codebook_of(&folder, &released(&folder, RELEASES[13].0, "csv"));
    assert_has(column(&codebook, "zip"), &quasi("set", "code", "values"));
    assert_eq!(codebook_of(&folder, "out.k12.csv")["release"], "out.k12.csv");
}

#[test]
fn the_job_says_the_type_where_it_does_and_else_only_what_is_shown_does() {
    let folder = Folder::with("age,rate,note\n1,1,x\n1,1,x\n2,2,x\n2,2,x\n2,1.5,x\n1,1.5,x\n");
    folder.anonymize("in.csv -o out.csv --quasi age,rate --keep note -k 6 --type age=float");
    let codebook = codebook_of(&folder, "out.csv");
    assert_has(column(&codebook, "age"), &json!({ "type": "float", "type_from": "job" }));
    let told = json!({ "type": "integer", "type_from": "cells" });
    assert_has(column(&codebook, "rate"), &told);
    let reads = column(&codebook, "rate")["reads"].as_str().unwrap();
    assert!(reads.contains("may have fractions"), "{reads}");
}

#[test]
fn promises_are_those_of_the_job_and_what_is_not_promised_is_said() {
    let folder = folder();
    let flags = "--quasi age --l-diversity ill=2 --t-closeness ill=0.7 --alpha ill=0.9";
    let codebook = codebook_of(&folder, &released(&folder, flags, "csv"));
    let promised = codebook["promised"].to_string();
    for words in ["at least 4 rows", "2 different values of ill", "at most 0.7", "share of 0.9"] {
        assert!(promised.contains(words), "{words}: {promised}");
    }
    assert!(!codebook["not_promised"].to_string().contains("No rule protects"));
    let codebook = codebook_of(&folder, &released(&folder, "--quasi age", "csv"));
    assert!(codebook["not_promised"].to_string().contains("No rule protects ill"));
    assert!(codebook["not_promised"].to_string().contains("(note)"));
    folder.anonymize("in.csv -o out.csv --quasi age --subject id --accept low-k -k 3");
    let codebook = codebook_of(&folder, "out.csv");
    assert!(codebook["promised"].to_string().contains("at least 3 persons"));
    assert_eq!(codebook["dropped"], json!(["id"]));
}

#[test]
fn a_private_release_has_a_codebook_of_its_promise_and_its_file() {
    let folder = folder();
    let run = folder.run(
        "anonymize in.csv -o out.csv --quasi age,job --method grid --epsilon 2 --delta 1e-2 \
         --scale age=equal:0..99:1 --hierarchy job=jobs.csv --level job=1",
    );
    assert_eq!(run.code, Some(0), "{}", run.said());
    let codebook = codebook_of(&folder, "out.csv");
    assert!(codebook["promised"][0].to_string().contains("epsilon = 2 and delta = 0.01"));
    assert_has(column(&codebook, "age"), &json!({ "shown": "interval", "ends": "regions" }));
    assert!(folder.rows("out.csv").len() > 1, "something is drawn");
    assert_has(column(&codebook, "age"), &json!({ "type": "integer", "type_from": "cells" }));
    assert_eq!(codebook["dropped"], json!([]), "no column is named that the job does not");
    if has_tools("a_private_release_has_a_codebook_of_its_promise_and_its_file") {
        let answers = answers_of(&folder, &folder.read("out.csv.codebook.md"));
        assert!(
            answers.iter().all(|(_, own)| own.len() == 2 && own == &answers[0].1),
            "{answers:?}"
        );
    }
}

#[test]
fn a_codebook_is_read_back_as_it_was_written_and_a_damaged_one_is_refused() {
    let folder = folder();
    for at in [1, 4, 7, 11] {
        let release = folder.path(&released(&folder, RELEASES[at].0, RELEASES[at].1));
        let [_, path] = files::codebook_paths(&release);
        assert_eq!(files::codebook_beside(&release), Some(path.clone()));
        let codebook = files::codebook_of(&albers::Job::default(), &release).unwrap().unwrap();
        assert_eq!(codebook.text(), std::fs::read_to_string(&path).unwrap());
        std::fs::write(&path, "{\"codebook\": \"Zq\"}").unwrap();
        let refusal =
            files::codebook_of(&albers::Job::default(), &release).unwrap_err().to_string();
        assert!(refusal.contains("is no codebook of this program: line 1"), "{refusal}");
        assert!(!refusal.contains("Zq"), "{refusal}");
        std::fs::remove_file(path).unwrap();
        assert_eq!(files::codebook_of(&albers::Job::default(), &release).unwrap(), None);
    }
    assert_eq!(files::codebook_beside("-".as_ref()), None);
}

// Its recipes.

/// How many rows of a text release have an interval that meets the first one.
fn meeting_the_first(cells: &[String]) -> usize {
    let ends = |cell: &String| -> Option<(f64, f64)> {
        let bare: String = cell.chars().filter(|letter| !"[]{}".contains(*letter)).collect();
        let mut ends = bare.split(", ").filter(|own| !own.is_empty());
        let lo: f64 = ends.next()?.parse().unwrap();
        Some((lo, ends.next().map_or(lo, |own| own.parse().unwrap())))
    };
    let (low, high) = cells.iter().find_map(ends).unwrap();
    cells.iter().filter_map(ends).filter(|(lo, hi)| *lo <= high && *hi >= low).count()
}

#[test]
fn recipes_run_as_they_stand_and_give_the_same_answers_in_all_tools() {
    if !has_tools("recipes_run_as_they_stand_and_give_the_same_answers_in_all_tools") {
        return;
    }
    let folder = folder();
    let mut n_answers = 0;
    for (flags, ending) in RELEASES {
        let release = released(&folder, flags, ending);
        let page = folder.read(&format!("{release}.codebook.md"));
        let answers = answers_of(&folder, &page);
        let first = &answers[0].1;
        for (tool, own) in &answers {
            assert_eq!(own, first, "{tool} says otherwise of {flags} {ending}");
        }
        assert!(first.iter().all(|&answer| answer > 0), "{flags}: {first:?}");
        n_answers += first.len();
        let asked_first = flags.starts_with("--quasi age") && !flags.contains("ranges");
        if ending == "csv" && asked_first && !flags.contains("--values") {
            let cells = folder.column(&release, "age");
            assert_eq!(first[0], meeting_the_first(&cells) as u64, "{flags}");
        }
    }
    assert!(n_answers > 30, "{n_answers}");
}

#[test]
fn recipes_fit_other_delimiters_and_odd_names() {
    if !has_tools("recipes_fit_other_delimiters_and_odd_names") {
        return;
    }
    let folder = Folder::new();
    let table = people(120, ';').replacen("age", "age of \"it\" | 'now'", 1);
    let table = table.replacen("age of \"it\" | 'now'", "\"age of \"\"it\"\" | 'now'\"", 1);
    folder.write("in.csv", table);
    let quasi = "age of \"it\" | 'now'";
    let arguments = ["in.csv", "-o", "out.csv", "--quasi", quasi, "--keep", "note", "-k", "5"];
    folder.anonymize_with(&[&arguments[..], &["--quasi", "pay"]].concat());
    assert_eq!(codebook_of(&folder, "out.csv")["delimiter"], ";");
    let answers = answers_of(&folder, &folder.read("out.csv.codebook.md"));
    let first = &answers[0].1;
    assert!(first.len() == 2 && first[0] > 0, "{first:?}");
    assert!(answers.iter().all(|(_, own)| own == first), "{answers:?}");
}

// Where it stands, and where not.

fn refused(run: &Run, words: &[&str]) {
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{}", run.said());
    words.iter().for_each(|word| assert!(run.err.contains(word), "{word}: {}", run.err));
}

const FILES: [&str; 4] =
    ["out.csv", "out.csv.codebook.json", "out.csv.codebook.md", "out.csv.manifest.json"];

#[test]
fn the_codebook_appears_with_the_release_and_is_replaced_only_with_force() {
    let folder = Folder::with(people(60, ','));
    let command = "anonymize in.csv -o out.csv --quasi age -k 5";
    let run = folder.run(command);
    let wrote =
        "wrote out.csv, out.csv.codebook.md, out.csv.codebook.json and out.csv.manifest.json in";
    assert!(run.out.contains(wrote), "{}", run.out);
    assert_eq!(folder.names(), [&["in.csv"], &FILES[..]].concat());
    for name in FILES {
        let kept = folder.files();
        FILES.iter().for_each(|own| std::fs::remove_file(folder.path(own)).unwrap());
        folder.write(name, "old");
        refused(&folder.run(command), &[&format!("{name} is there already"), "--force"]);
        assert_eq!(folder.read(name), "old");
        assert_eq!(folder.run(&format!("{command} --force")).code, Some(0));
        assert_eq!(folder.files(), kept, "{name}");
    }
    let run = folder.run("anonymize in.csv -o other.csv --quasi age -k 5 --manifest m.json");
    assert!(run.out.contains("other.csv.codebook.json and m.json"), "{}", run.out);
    assert!(folder.path("other.csv.codebook.md").exists());
}

#[test]
fn no_codebook_leaves_it_out_and_none_of_another_release_stays() {
    let folder = Folder::with(people(60, ','));
    let command = "anonymize in.csv -o out.csv --quasi age -k 5";
    let run = folder.run(&format!("{command} --no-codebook"));
    assert!(run.out.contains("wrote out.csv and out.csv.manifest.json in"), "{}", run.out);
    assert_eq!(folder.names(), ["in.csv", "out.csv", "out.csv.manifest.json"]);
    folder.write("job.toml", "codebook = false\nk = 5\n[columns.age]\nrole = \"quasi\"\n");
    let by_job = "anonymize in.csv -o second.csv --job job.toml";
    assert_eq!(folder.run(by_job).code, Some(0));
    assert!(!folder.path("second.csv.codebook.md").exists());
    folder.run(&format!("{command} --force"));
    let before = folder.files();
    for name in ["out.csv.codebook.md", "out.csv.codebook.json"] {
        let words = ["is there already and would stand beside", "--no-codebook"];
        refused(&folder.run(&format!("{command} --no-codebook --force")), &words);
        assert_eq!(folder.files(), before);
        std::fs::rename(folder.path(name), folder.path("aside")).unwrap();
        refused(&folder.run(&format!("{command} --no-codebook --force")), &words);
        std::fs::rename(folder.path("aside"), folder.path(name)).unwrap();
    }
}

#[test]
fn standard_output_has_none_and_says_so_where_it_is_asked_for() {
    let folder = Folder::with(people(60, ','));
    let run = folder.run("anonymize in.csv -o - --quasi age -k 5 --manifest m.json");
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(folder.names(), ["in.csv", "m.json"]);
    let run = folder.run("anonymize in.csv -o - --quasi age -k 5 --no-codebook");
    refused(&run, &["--no-codebook has no effect on standard output"]);
    folder.write("job.toml", "codebook = true\n");
    let run = folder.run("anonymize in.csv -o - --quasi age -k 5 --job job.toml");
    refused(&run, &["standard output has no codebook", "-o"]);
    let run = folder.run("anonymize in.csv --method grid --quasi age --no-codebook");
    refused(&run, &["--no-codebook has no effect with --method grid"]);
}

#[test]
fn a_codebook_that_cannot_be_written_leaves_nothing() {
    let folder = Folder::with(people(60, ','));
    for name in ["out.csv.codebook.md", "out.csv.codebook.json"] {
        std::fs::create_dir(folder.path(name)).unwrap();
        let run = folder.run("anonymize in.csv -o out.csv --quasi age -k 5 --force");
        refused(&run, &[&format!("{name} is a folder")]);
        std::fs::remove_dir(folder.path(name)).unwrap();
        assert_eq!(folder.names(), ["in.csv"]);
        let run =
            folder.run(&format!("anonymize in.csv -o out.csv --quasi age -k 5 --manifest {name}"));
        refused(&run, &["would be written twice"]);
        folder.write(name, people(60, ','));
        let run =
            folder.run(&format!("anonymize {name} -o out.csv --quasi age -k 5 --force --from csv"));
        refused(&run, &["is also an input"]);
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    assert_eq!(folder.names(), ["in.csv"]);
}

#[test]
fn every_command_that_publishes_files_writes_one_and_rows_for_learning_have_none() {
    let folder = folder();
    std::fs::create_dir(folder.path("own")).unwrap();
    folder.anonymize(&format!("in.csv -o out.csv --quasi age,city --model own/model {ROLES}"));
    let made = codebook_of(&folder, "out.csv");

    let run = folder.run("recode own/model in.csv -o again.csv");
    assert_eq!(run.code, Some(0), "{}", run.said());
    let again = codebook_of(&folder, "again.csv");
    assert_eq!(again["columns"], made["columns"], "the same release has the same columns");
    assert_eq!(again["digest"], made["digest"]);
    folder.run("recode own/model in.csv -o third.csv --no-codebook");
    assert!(folder.path("third.csv").exists() && !folder.path("third.csv.codebook.md").exists());

    let learning = "recode own/model in.csv -o learning.csv --for-learning";
    assert_eq!(folder.run(learning).code, Some(0));
    assert!(!folder.path("learning.csv.codebook.md").exists());
    let run = folder.run(&format!("{learning} --force --no-codebook"));
    refused(&run, &["--no-codebook has no effect with --for-learning"]);
    std::fs::remove_file(folder.path("again.csv.manifest.json")).unwrap();
    let run = folder.run("recode own/model in.csv -o again.csv --for-learning --force");
    refused(&run, &["again.csv.codebook.json stands beside again.csv"]);

    folder.anonymize(&format!("in.csv -o wide.csv --quasi age --keep id --no-compact {}", "-k 4"));
    let run = folder.run("compact in.csv wide.csv --key id -o tight.csv --quasi age");
    assert_eq!(run.code, Some(0), "{}", run.said());
    let tight = codebook_of(&folder, "tight.csv");
    assert_has(column(&codebook_of(&folder, "wide.csv"), "age"), &json!({ "ends": "regions" }));
    assert_has(column(&tight, "age"), &json!({ "ends": "values", "type": "integer" }));
    assert!(tight["promised"][0].as_str().unwrap().contains("at least"), "{tight}");
    let run = folder.run("compact in.csv wide.csv --key id -o bare.csv --quasi age --no-codebook");
    assert!(run.code == Some(0) && !folder.path("bare.csv.codebook.json").exists());

    let run = folder.run("index create idx in.csv --key id --quasi age,city --keep note -k 4");
    assert_eq!(run.code, Some(0), "{}", run.said());
    let run = folder.run("index release idx -o first.csv --also-k 9");
    assert_eq!(run.code, Some(0), "{}", run.said());
    for release in ["first.csv", "first.k9.csv"] {
        let codebook = codebook_of(&folder, release);
        assert_has(column(&codebook, "age"), &json!({ "ends": "values", "type": "integer" }));
        assert_eq!(codebook["columns"].as_array().unwrap().len(), 3);
    }
    let run = folder.run("index release idx -o second.csv --accept linkage --no-codebook");
    assert!(run.code == Some(0) && !folder.path("second.csv.codebook.md").exists(), "{}", run.err);
}

#[test]
fn a_release_in_a_folder_of_tables_is_known_by_its_codebook() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("parts")).unwrap();
    folder.write("parts/a.csv", people(40, ','));
    folder.write("parts/b.csv", people(40, ','));
    folder.write("parts/b.csv.codebook.json", "{}");
    let run = folder.run("anonymize parts -o out.csv --quasi age -k 5");
    refused(&run, &["b.csv is a release: a codebook stands beside it"]);
}
