//! Classes as points: bounds for every quasi-identifier, labels and sets by their places.
//!
//! What is expected is told by the texts of the same job with `--values interval`, row by row.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use arrow_schema::DataType;
use common::{Folder, Numbers};

/// Rows of one group stand apart, and some values nobody has.
const JOBS: &str = "Nurse;Health;*\nJudge;Law;*\nDoctor;Health;*\nMidwife;Health;*\n\
                    Porter;Health;*\nClerk;Law;*\nSheriff;Law;*\n";

/// The order of that file, groups brought together.
const JOB_ORDER: [&str; 7] = ["Nurse", "Doctor", "Midwife", "Porter", "Judge", "Clerk", "Sheriff"];

const QUASI: [&str; 9] = ["age", "pay", "rate", "born", "seen", "city", "code", "smoker", "job"];

/// People with values of every type, some of them missing.
fn people(n_rows: usize) -> String {
    let mut numbers = Numbers::new(23);
    let mut below = |end: u64| numbers.below(end);
    let mut text = "id,age,pay,rate,born,seen,city,code,smoker,job\n".to_owned();
    for row in 0..n_rows {
        let mut cells = [
            (20 + below(60)).to_string(),
            format!("{}.{:02}", below(90), below(100)),
            format!("-{}.5e-3", below(700)),
            format!("19{}-{:02}-{:02}", 50 + below(40), 1 + below(12), 1 + below(28)),
            format!("2020-0{}-1{} {:02}:00:00", 1 + below(9), below(10), below(24)),
            ["Ulm", "Bonn", "Kiel", "Trier", "Aachen", "Ulm, old"][below(6) as usize].to_owned(),
            ["12345", "1239", "123", "53715", "53703", "99", "9"][below(7) as usize].to_owned(),
            ["true", "false"][below(2) as usize].to_owned(),
            ["Clerk", "Clerk", "Judge", "Doctor", "Porter", "Nurse"][below(6) as usize].to_owned(),
        ];
        for at in [0, 3, 5, 8] {
            if below(12) == 0 {
                cells[at].clear();
            }
        }
        if cells[5].contains(',') {
            cells[5] = format!("\"{}\"", cells[5]);
        }
        text.push_str(&format!("{row},{}\n", cells.join(",")));
    }
    text
}

fn folder() -> Folder {
    let folder = Folder::with(people(400));
    folder.write("jobs.csv", JOBS);
    folder
}

/// A table by the id of its rows, with the names of its columns.
fn by_id(folder: &Folder, name: &str) -> (Vec<String>, BTreeMap<String, Vec<String>>) {
    let mut rows = folder.csv(name);
    let header = rows.remove(0);
    let id = header.iter().position(|own| own == "id").unwrap();
    (header, rows.into_iter().map(|row| (row[id].clone(), row)).collect())
}

/// The members of a cell's text: an empty one is the missing value.
fn members(text: &str) -> Vec<String> {
    let Some(inner) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return vec![text.to_owned()];
    };
    let (mut members, mut member, mut is_quoted) = (Vec::new(), String::new(), false);
    for letter in inner.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => members.push(std::mem::take(&mut member)),
            ' ' if !is_quoted && member.is_empty() => {}
            other => member.push(other),
        }
    }
    members.push(member);
    members
}

/// An end in an order: of a name, or where a prefix begins or ends.
type End = String;

/// The ends of a text that is no interval, and whether it tells of the missing value; no ends where
/// it shows nothing else.
fn ends(column: &str, text: &str) -> (Option<(End, End)>, bool) {
    let all = members(text);
    let present: Vec<&String> = all.iter().filter(|member| !member.is_empty()).collect();
    let with_missing = present.len() < all.len();
    let place = |name: &str| JOB_ORDER.iter().position(|own| *own == name).unwrap();
    let key = |name: &str| match column {
        "job" => format!("{:02}", 1 + place(name)),
        _ => name.to_owned(),
    };
    let of_group = |names: &[&str]| {
        let keys = || names.iter().map(|name| key(name));
        (keys().min().unwrap(), keys().max().unwrap())
    };
    let ends = match (column, &present[..]) {
        (_, []) => None,
        ("job", [label]) if *label == "*" => Some(of_group(&JOB_ORDER)),
        ("job", [label]) if *label == "Health" => Some(of_group(&JOB_ORDER[..4])),
        ("job", [label]) if *label == "Law" => Some(of_group(&JOB_ORDER[4..])),
        ("code", [label]) if label.ends_with('*') => {
            let stem = label.trim_end_matches('*').to_owned();
            // What is longer than the prefix lies between these two, and the prefix alone does not.
            Some((format!("{stem}\u{1}"), format!("{stem}~")))
        }
        (_, names) => Some(of_group(&names.iter().map(|name| name.as_str()).collect::<Vec<_>>())),
    };
    (ends, with_missing)
}

/// Compares the features of all rows with what their texts show.
fn compare(folder: &Folder, texts: &str, features: &str, has_file: bool) {
    let (text_header, texts) = by_id(folder, texts);
    let (header, features) = by_id(folder, features);
    assert_eq!(texts.len(), features.len());
    let at = |name: &str| header.iter().position(|own| own == name);
    for column in &QUASI[5..] {
        let Some(in_texts) = text_header.iter().position(|own| own == column) else { continue };
        // Without its file a job is a name like that of a city.
        let kind = if *column == "job" && !has_file { "city" } else { *column };
        let shown: Vec<_> = texts.values().map(|row| ends(kind, &row[in_texts])).collect();
        let all: BTreeSet<&End> =
            shown.iter().filter_map(|(ends, _)| ends.as_ref()).flat_map(|(a, b)| [a, b]).collect();
        let number = |end: &End| match kind {
            "job" => end.parse::<usize>().unwrap().to_string(),
            _ => (1 + all.iter().position(|own| *own == end).unwrap()).to_string(),
        };
        let [min, max] = ["min", "max"].map(|end| at(&format!("{column}_{end}")).unwrap());
        let missing = at(&format!("{column}_missing"));
        assert_eq!(missing.is_some(), shown.iter().any(|(_, told)| *told), "{column}");
        for (row, (ends, told)) in features.values().zip(&shown) {
            let expected = ends
                .as_ref()
                .map_or([String::new(), String::new()], |(lo, hi)| [number(lo), number(hi)]);
            assert_eq!([&row[min], &row[max]], [&expected[0], &expected[1]], "{column}");
            assert_eq!(missing.is_some_and(|at| row[at] == "true"), *told, "{column}");
        }
    }
    // Bounds of decimals have the digits of all bounds of their column.
    let short = |bound: &str| match bound.contains('.') {
        true => bound.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => bound.to_owned(),
    };
    for column in &QUASI[..5] {
        let Some(in_texts) = text_header.iter().position(|own| own == column) else { continue };
        let [min, max] = ["min", "max"].map(|end| at(&format!("{column}_{end}")).unwrap());
        for (row, texts) in features.values().zip(texts.values()) {
            let (text, [lo, hi]) = (&texts[in_texts], [min, max].map(|at| short(&row[at])));
            assert!(text.contains(&lo) && text.contains(&hi), "{column}: {text}");
        }
    }
}

/// Runs a job with both, and compares.
fn features_are_told_by_texts(folder: &Folder, flags: &str) {
    let job = format!("in.csv --keep id -k 4 {flags}");
    folder.anonymize(&format!("{job} --values interval -o texts.csv"));
    folder.anonymize(&format!("{job} --values features -o features.csv"));
    compare(folder, "texts.csv", "features.csv", flags.contains("jobs.csv"));
    let run = folder.run("check features.csv");
    assert_eq!(run.code, Some(0), "{flags}: {}", run.said());
    assert!(run.out.contains("loss"), "{flags}: {}", run.out);
}

const ALL: &str = "--quasi age,pay,rate,born,seen,city,code,smoker,job --type code=code";
const TREES: &str = "--hierarchy code=prefix --hierarchy job=jobs.csv";

#[test]
fn places_follow_from_what_texts_show_for_every_type_and_method() {
    let folder = folder();
    for flags in [
        "--method mondrian",
        "--method mondrian --no-compact",
        "--method rtree --seed 5",
        "--method local",
        "--split median --method mondrian --categories set",
    ] {
        features_are_told_by_texts(&folder, &format!("{ALL} {TREES} {flags}"));
    }
    features_are_told_by_texts(&folder, &format!("{ALL} --method mondrian"));
}

#[test]
fn places_follow_from_labels_that_a_whole_column_shares() {
    let folder = folder();
    let trees = format!("--quasi code,job --type code=code {TREES} --suppress 0.5");
    for method in ["incognito", "samarati", "subtree", "bottom-up"] {
        features_are_told_by_texts(&folder, &format!("{trees} --method {method}"));
    }
    features_are_told_by_texts(&folder, "--quasi city,smoker --method ordered-set");
    features_are_told_by_texts(
        &folder,
        &format!("--quasi job,code --type code=code {TREES} --level job=2 --method incognito"),
    );
}

#[test]
fn a_spilled_release_has_the_places_of_one_in_memory() {
    let folder = Folder::with(people(6000));
    folder.write("jobs.csv", JOBS);
    // Of one release alone the rows would be cut where they lie.
    let job = format!("in.csv --keep id -k 4 {ALL} {TREES} --method rtree --also-k 9");
    let job = format!("{job} --values features -o out.csv");
    folder.anonymize(&job);
    let whole = folder.read("out.csv");
    let report = folder.anonymize(&format!("{job} --memory 2MB --threads 1"));
    assert!(report["spilled_bytes"].as_u64().unwrap() > 0);
    assert!(folder.read("out.csv") == whole);
}

#[test]
fn classes_whose_sets_differ_between_the_same_names_are_one() {
    // Three names in one class, two in the other, the same ends: told apart, each would have two rows.
    let folder = Folder::with(
        "id,city,team\n1,Aachen,x\n2,Bonn,x\n3,Celle,x\n4,Aachen,y\n5,Celle,y\n6,Celle,y\n",
    );
    folder.anonymize(
        "in.csv -o out.csv --quasi city --keep id,team -k 2 --values features --method local",
    );
    let run = folder.run("check out.csv --json");
    let found: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let manifest = folder.json("out.csv.manifest.json");
    assert_eq!(found["classes"], manifest["classes"]);
    assert_eq!(found["class_size"]["min"], manifest["class_size"]["min"]);
}

#[test]
fn typed_files_have_whole_numbers_and_a_manifest_that_says_how_to_read_them() {
    let folder = folder();
    let job = format!("in.csv --keep id -k 4 {ALL} {TREES} --values features");
    folder.anonymize(&format!("{job} -o out.parquet"));
    let schema = folder.parquet("out.parquet").schema();
    let field = |name: &str| schema.field_with_name(name).unwrap().clone();
    for name in ["city_min", "code_max", "smoker_min", "job_max"] {
        assert_eq!(field(name).data_type(), &DataType::Int64, "{name}");
    }
    assert_eq!(field("born_min").data_type(), &DataType::Date32);
    assert_eq!(field("city_missing").data_type(), &DataType::Boolean);
    let manifest = folder.json("out.parquet.manifest.json");
    let column = |name: &str| {
        let columns = manifest["columns"].as_array().unwrap();
        columns.iter().find(|own| own["name"] == name).unwrap().clone()
    };
    assert_eq!(
        (column("job")["shown"].as_str(), column("job")["hierarchy"].as_str()),
        (Some("places"), Some("file"))
    );
    assert_eq!(column("code")["hierarchy"], "prefix");
    assert_eq!(
        (column("city")["shown"].as_str(), column("city").get("hierarchy")),
        (Some("places"), None)
    );
    assert_eq!(column("age")["shown"], "interval");
}

#[test]
fn places_of_a_file_are_read_back_and_others_are_refused_by_name() {
    let folder = folder();
    let run = "in.csv --keep id -k 4 --split compact --quasi age,job --hierarchy job=jobs.csv -o";
    folder.anonymize(&format!("{run} texts.csv --values interval"));
    folder.anonymize(&format!("{run} out.csv --values features"));
    let measure = |release: &str, more: &str| {
        let flags = "--key id --quasi age,job --hierarchy job=jobs.csv --json";
        folder.run(&format!("measure in.csv {release} {flags} {more}"))
    };
    let figures = ["texts.csv", "out.csv"].map(|release| {
        let run = measure(release, "--categories label");
        assert_eq!(run.code, Some(0), "{}", run.said());
        let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        (report["ncp"].clone(), report["classes"].clone())
    });
    assert_eq!(figures[0], figures[1]);
    let refused = measure("out.csv", "");
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    assert!(refused.err.contains("job_min") && refused.err.contains("order"), "{}", refused.err);
    let check = "check out.csv --original in.csv --key id --quasi age,job --keep id";
    let with_file = folder.run(&format!("{check} --hierarchy job=jobs.csv"));
    assert_eq!(with_file.code, Some(0), "{}", with_file.said());
    assert!(with_file.out.contains("own-value-bounds:age"), "{}", with_file.out);
    let without = folder.run(check);
    assert!(without.code == Some(2) && without.err.contains("'job'"), "{}", without.said());
}

#[test]
fn what_has_no_places_is_refused_by_name() {
    let folder = Folder::with("age,note,note_max\n20,a,1\n30,b,2\n40,c,3\n");
    let taken = folder
        .run("anonymize in.csv -o out.csv -k 2 --quasi age,note --keep note_max --values features");
    assert_eq!(taken.code, Some(2), "{}", taken.said());
    assert!(
        taken.err.contains("'note_max'") && taken.err.contains("bound of 'note'"),
        "{}",
        taken.err
    );
    let index =
        folder.run("index create people --quasi age,note -k 2 --key note_max --values features");
    assert!(index.code == Some(2) && index.err.contains("--values features"), "{}", index.said());
}
