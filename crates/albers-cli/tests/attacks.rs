//! Attacks on releases, through the program. Each test is named after what the attacker tries, and
//! holds if he fails.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;

use common::{Folder, Numbers, Run, csv_of, patients, send, table, wait_until_it_writes};

/// Flags that lead through different parts of the method and of the release.
const WAYS: [&str; 7] = [
    "",
    "--split median",
    "--no-compact",
    "--hierarchy zip=prefix --hierarchy age=ranges:5,10,20",
    "--hierarchy zip=prefix --categories set",
    "--split median --hierarchy zip=prefix --no-compact",
    "--l-diversity disease=distinct:3 --t-closeness pay=0.4",
];

const ROLES: &str = "--quasi age,zip,city --sensitive disease,pay";

/// Some patients; of some of them age, zip or city is not known.
fn patients_with_holes(n_rows: usize) -> Vec<String> {
    let mut numbers = Numbers::new(99);
    let mut holed = |row: &String| {
        let mut cells: Vec<&str> = row.split(',').collect();
        if numbers.below(12) == 0 {
            cells[1 + numbers.below(3) as usize] = "";
        }
        cells.join(",")
    };
    patients(n_rows, 5).iter().map(&mut holed).collect()
}

/// Whether a cell of a release may stand for a value. The missing value is the empty text.
fn covers(shown: &str, value: &str) -> bool {
    if shown == value || (shown == "*" && !value.is_empty()) {
        return true;
    }
    if let Some(inner) = shown.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        // The missing value and an interval, `{, [48, 62]}`, or and the label of a range, which is
        // quoted, `{, "[40, 59]"}`; else names.
        return match inner.strip_prefix(", ").map(|rest| rest.trim_matches('"')) {
            Some(rest) if rest.starts_with('[') => value.is_empty() || covers(rest, value),
            _ => inner.split(", ").any(|member| covers(member, value)),
        };
    }
    if let Some(inner) = shown.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let (lo, hi) = inner.split_once(", ").unwrap();
        let number = |text: &str| text.parse::<f64>().unwrap();
        return !value.is_empty() && (number(lo)..=number(hi)).contains(&number(value));
    }
    // A label of prefix, `000*`.
    shown.strip_suffix('*').is_some_and(|prefix| !value.is_empty() && value.starts_with(prefix))
}

/// The rows of a release, their quasi-identifiers apart from the rest.
fn released(folder: &Folder, name: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let rows = folder.csv(name);
    assert_eq!(rows[0], ["age", "zip", "city", "disease", "pay"]);
    rows[1..].iter().map(|row| (row[..3].to_vec(), row[3..].to_vec())).collect()
}

#[test]
fn linking_with_the_original_leaves_at_least_k_candidates() {
    let rows = patients_with_holes(300);
    let folder = Folder::with(table(&rows));
    for way in WAYS {
        for k in [2, 5] {
            folder.anonymize(&format!("in.csv -o out.csv {ROLES} -k {k} {way}"));
            let released = released(&folder, "out.csv");
            assert_eq!(released.len(), rows.len());
            for row in csv_of(&rows.join("\n"), ',') {
                let candidates = released.iter().filter(|(shown, _)| {
                    shown.iter().zip(&row[1..4]).all(|(shown, value)| covers(shown, value))
                });
                let candidates: Vec<_> = candidates.collect();
                assert!(candidates.len() >= k, "k = {k}, {way}: {} candidates", candidates.len());
                let own = &row[4..];
                assert!(candidates.iter().any(|(_, secrets)| secrets == own), "{way}: coverage");
            }
        }
    }
}

#[test]
fn singling_out_by_what_is_shown_finds_at_least_k_rows() {
    let folder = Folder::with(table(&patients_with_holes(1000)));
    for way in WAYS {
        for k in [2, 7] {
            let report = folder.anonymize(&format!("in.csv -o out.csv {ROLES} -k {k} {way}"));
            let mut sizes: BTreeMap<Vec<String>, u64> = BTreeMap::new();
            for (shown, _) in released(&folder, "out.csv") {
                *sizes.entry(shown).or_default() += 1;
            }
            assert!(sizes.values().all(|&size| size >= k), "k = {k}, {way}");
            assert_eq!(report["classes"], sizes.len() as u64, "{way}");
            assert_eq!(report["class_size"]["min"], *sizes.values().min().unwrap());
            assert_eq!(report["class_size"]["max"], *sizes.values().max().unwrap());
        }
    }
}

/// Three people are 30 and one is 31. Whoever knows that, the job and the program makes a release of
/// each way in which the illnesses may belong to them, and sees which of these come to the one at hand.
#[test]
fn a_person_beside_people_with_equal_quasi_identifiers_keeps_k_candidates() {
    const ILLNESSES: [&str; 7] = ["acne", "asthma", "cough", "flu", "gout", "hiv", "ulcer"];
    let folder = Folder::new();
    for (start, way) in
        (0..6).flat_map(|start| [(start, "--method local"), (start, "--effort best")])
    {
        let own = |at: usize| ILLNESSES[(start + at) % ILLNESSES.len()];
        let release = |of_the_last: usize| {
            let others = (0..4).filter(|&at| at != of_the_last);
            let others: String = others.map(|at| format!("30,{}\n", own(at))).collect();
            folder.write("in.csv", format!("age,illness\n{others}31,{}\n", own(of_the_last)));
            let job = "in.csv -o out.csv --quasi age --sensitive illness -k 2";
            folder.anonymize(&format!("{job} --accept secret-without-rule {way}"));
            folder.read("out.csv")
        };
        let releases: Vec<String> = (0..4).map(release).collect();
        for at_hand in &releases {
            let candidates = releases.iter().filter(|other| *other == at_hand).count();
            assert!(candidates >= 2, "{way}, from {}: one illness is left", own(0));
        }
    }
}

#[test]
fn a_person_with_many_rows_does_not_hide_in_them() {
    // Rows of the same person lie close together, so that a class of k rows may be one person.
    let mut rows = Vec::new();
    for person in 0..60 {
        rows.extend((0..4).map(|visit| format!("p{person:02},{},{visit}", 20 + person)));
    }
    let folder = Folder::with(format!("who,age,visit\n{}\n", rows.join("\n")));
    folder.anonymize("in.csv -o out.csv --quasi age --keep visit --subject who -k 3");
    let ages = folder.column("out.csv", "age");
    for shown in ages.iter().collect::<BTreeSet<_>>() {
        let people = (20..80).filter(|age| covers(shown, &age.to_string())).count();
        assert!(people >= 3, "{shown} is {people} people");
    }
}

#[test]
fn homogeneity_attack_fails_with_l_diversity() {
    // The disease follows from the age, so that a class without the requirement has one of them.
    let rows: Vec<String> = patients(600, 8)
        .iter()
        .map(|row| {
            let cells: Vec<&str> = row.split(',').collect();
            let age: u32 = cells[1].parse().unwrap();
            let disease = ["asthma", "bronchitis", "cough", "diabetes"][age as usize / 5 % 4];
            format!("{},{age},{},{},{disease},{}", cells[0], cells[2], cells[3], cells[5])
        })
        .collect();
    let folder = Folder::with(table(&rows));
    let fewest = |flags: &str| {
        folder.anonymize(&format!("in.csv -o out.csv {ROLES} -k 4 {flags}"));
        let mut diseases: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
        for (shown, secrets) in released(&folder, "out.csv") {
            diseases.entry(shown).or_default().insert(secrets[0].clone());
        }
        diseases.values().map(BTreeSet::len).min().unwrap()
    };
    assert_eq!(fewest(""), 1, "the attack works where nothing is asked for");
    for flags in [
        "--l-diversity disease=3",
        "--l-diversity disease=entropy:3",
        "--l-diversity disease=3 --split median",
        "--l-diversity disease=3 --hierarchy zip=prefix",
        "--l-diversity disease=3 --no-compact",
    ] {
        assert!(fewest(flags) >= 3, "{flags}");
    }
    assert!(fewest("--l-diversity disease=recursive:2,3") >= 3);
    assert!(fewest("--alpha disease=0.5") >= 2);
}

#[test]
fn skewness_attack_fails_with_alpha() {
    let folder = Folder::with(table(&patients(600, 9)));
    for split in ["compact", "median"] {
        folder.anonymize(&format!(
            "in.csv -o out.csv {ROLES} -k 4 --alpha disease=0.5 --split {split}"
        ));
        let mut counts: BTreeMap<Vec<String>, BTreeMap<String, usize>> = BTreeMap::new();
        for (shown, secrets) in released(&folder, "out.csv") {
            *counts.entry(shown).or_default().entry(secrets[0].clone()).or_default() += 1;
        }
        for counts in counts.values() {
            let size: usize = counts.values().sum();
            assert!(counts.values().all(|&count| 2 * count <= size), "{split}");
        }
    }
}

#[test]
fn order_of_the_input_does_not_change_the_release() {
    let mut rows = patients_with_holes(3000);
    let folder = Folder::with(table(&rows));
    Numbers::new(4).shuffle(&mut rows);
    folder.write("shuffled.csv", table(&rows));
    rows.sort_by_key(|row| row.split(',').nth(5).unwrap().to_owned());
    folder.write("sorted.csv", table(&rows));
    for way in WAYS {
        for ending in ["csv", "parquet"] {
            for input in ["in", "shuffled", "sorted"] {
                folder.anonymize(&format!(
                    "{input}.csv -o {input}.out.{ending} {ROLES} --keep id -k 3 {way}"
                ));
            }
            let bytes = |input: &str| folder.bytes(&format!("{input}.out.{ending}"));
            assert!(bytes("in") == bytes("shuffled"), "{ending}, {way}");
            assert!(bytes("in") == bytes("sorted"), "{ending}, {way}");
        }
    }
}

#[test]
fn order_of_the_output_does_not_tell_the_order_of_the_input() {
    let folder = Folder::with(table(&patients(5000, 6)));
    // All rows of one class, and rows of many.
    for (quasi, k) in [("age,zip,city", 5), ("age", 3000)] {
        folder.anonymize(&format!("in.csv -o out.csv --quasi {quasi} --keep id -k {k}"));
        let ids = folder.column("out.csv", "id");
        let places: Vec<f64> =
            ids.iter().map(|id| id.trim_start_matches('p').parse().unwrap()).collect();
        let n = places.len() as f64;
        let mean = (n - 1.0) / 2.0;
        let covariance: f64 = places
            .iter()
            .enumerate()
            .map(|(out, place)| (out as f64 - mean) * (place - mean))
            .sum::<f64>()
            / n;
        let correlation = covariance / ((n * n - 1.0) / 12.0);
        // Four standard deviations of the rank correlation of random orders.
        assert!(correlation.abs() < 4.0 / n.sqrt(), "{quasi}: {correlation}");
        let neighbours = places.windows(2).filter(|pair| pair[1] == pair[0] + 1.0).count();
        assert!(neighbours < 20, "{quasi}: {neighbours} rows still follow their neighbour");
    }
}

#[test]
fn order_of_classes_does_not_tell_what_they_show() {
    let folder = Folder::with(table(&patients(5000, 6)));
    folder.anonymize("in.csv -o out.csv --quasi age,pay -k 5");
    let mut lows: Vec<f64> = Vec::new();
    for shown in folder.column("out.csv", "pay") {
        let low = shown.trim_start_matches('[').split(", ").next().unwrap().parse().unwrap();
        if lows.last() != Some(&low) {
            lows.push(low);
        }
    }
    let rises = lows.windows(2).filter(|pair| pair[0] < pair[1]).count();
    let share = rises as f64 / (lows.len() - 1) as f64;
    assert!((0.42..0.58).contains(&share), "{share} of the classes lie above the one before");
}

#[test]
fn a_release_shows_no_value_of_a_column_that_is_dropped() {
    let rows: Vec<String> = (0..200)
        .map(|row| {
            let person = row / 2;
            format!("Ident{row:03},Subject{person:03},Other{row:03},{},cough", 20 + row % 50)
        })
        .collect();
    let folder = Folder::with(format!("name,who,note,age,disease\n{}\n", rows.join("\n")));
    let roles = "--identifier name --subject who --quasi age --sensitive disease -k 3";
    for ending in ["csv", "csv.gz", "parquet"] {
        let out = format!("out.{ending}");
        folder.anonymize(&format!("in.csv -o {out} {roles}"));
        let run = folder.run(&format!("anonymize in.csv -o {out} {roles}"));
        let mut shown = run.said().into_bytes();
        for beside in ["manifest.json", "codebook.json", "codebook.md"] {
            shown.extend(folder.bytes(&format!("{out}.{beside}")));
        }
        if ending == "csv" {
            assert_eq!(folder.csv(&out)[0], ["age", "disease"]);
            shown.extend(folder.bytes(&out));
        }
        if ending == "parquet" {
            let names: Vec<String> = folder
                .parquet(&out)
                .schema()
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect();
            assert_eq!(names, ["age_min", "age_max", "disease"]);
            // Statistics and dictionaries of the file are searched as well.
            shown.extend(folder.bytes(&out));
        }
        let shown = String::from_utf8_lossy(&shown);
        for word in ["Ident", "Subject", "Other"] {
            assert!(!shown.contains(word), "{ending} shows a value that starts with {word}");
        }
    }
}

#[test]
fn messages_and_manifests_show_no_cell() {
    let rows: Vec<String> = (0..60)
        .map(|row| format!("Zq{row}name,{},Zq{}city,Zq{}ill", 770_000 + row, row % 5, row % 4))
        .collect();
    let folder = Folder::with(format!("name,pin,city,disease\n{}\n", rows.join("\n")));
    let roles = "--quasi pin,city --sensitive disease";
    let says_nothing = |run: &Run, arguments: &str| {
        assert!(!run.said().contains("Zq"), "{arguments}: {}", run.said());
        // Seconds have any digits after the point.
        let whole = run.said();
        let whole =
            whole.split('.').map(|part| part.trim_start_matches(|own: char| own.is_ascii_digit()));
        assert!(!whole.collect::<String>().contains("7700"), "{arguments}: {}", run.said());
    };
    for (arguments, code) in [
        (format!("anonymize in.csv -o out.csv --force {roles} -k 3"), 0),
        (format!("anonymize in.csv -o out.csv --force {roles} -k 3 --json"), 0),
        (format!("anonymize in.csv -o out.csv --force {roles} -k 3 --l-diversity disease=3"), 0),
        (format!("anonymize in.csv -o out.csv --force {roles} -k 3 --t-closeness disease=0.3"), 0),
        (format!("anonymize in.csv -o out.csv --force {roles} -k 3 --alpha disease=0.1"), 1),
        (format!("anonymize in.csv -o out.csv --force {roles} -k 3 --type disease=date"), 2),
        (format!("anonymize in.csv -o out.csv --force {roles} -k 99"), 2),
        (format!("check in.csv {roles}"), 0),
        (format!("check in.csv {roles} -k 2 --json"), 1),
        ("init in.csv -o job.toml".to_owned(), 0),
    ] {
        let run = folder.run(&arguments);
        assert_eq!(run.code, Some(code), "{arguments}: {}", run.said());
        says_nothing(&run, &arguments);
    }
    assert!(!folder.read("out.csv.manifest.json").contains("Zq"));
    assert!(!folder.read("job.toml").contains("Zq"));
}

#[test]
fn a_killed_run_leaves_nothing_that_looks_like_a_release() {
    let folder = Folder::with(table(&patients(120_000, 2)));
    for ending in ["csv.gz", "parquet"] {
        let out = format!("out.{ending}");
        let mut child = folder.start(&format!("anonymize in.csv -o {out} {ROLES} -k 3"));
        wait_until_it_writes(&folder, &mut child);
        send("KILL", &child);
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        for name in folder.names() {
            assert!(name == "in.csv" || name.ends_with(".tmp"), "{name} looks like a release");
        }
        for name in folder.names().iter().filter(|name| name.ends_with(".tmp")) {
            std::fs::remove_file(folder.path(name)).unwrap();
        }
    }
}
