//! Rows that a recoded release leaves out, through the real program: they change nothing of what is
//! published of others, and nobody is told why they were left out.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, Run};
use proptest::prelude::*;
use serde_json::Value;

/// A folder with a model of a table.
fn with_model(table: &str, flags: &str) -> Folder {
    let folder = Folder::with(table);
    std::fs::create_dir(folder.path("own")).unwrap();
    folder.write("jobs.csv", "nurse,care,all\nmidwife,care,all\nbaker,food,all\ncook,food,all\n");
    done(&folder, &format!("anonymize in.csv -o out.csv --model own/model {flags}"));
    folder
}

fn done(folder: &Folder, arguments: &str) -> Run {
    let run = folder.run(arguments);
    assert_eq!(run.code, Some(0), "{arguments}: {}", run.err);
    run
}

/// A release of some rows, sorted, and its manifest; the program itself must agree with both.
fn recoded(folder: &Folder, table: &str) -> (Vec<Vec<String>>, Value) {
    folder.write("later.csv", table);
    done(folder, "recode own/model later.csv -o release.csv --force");
    done(folder, "check release.csv");
    let mut rows = folder.csv("release.csv");
    rows[1..].sort_unstable();
    (rows, folder.json("release.csv.manifest.json"))
}

/// What a manifest tells, but for the number of rows left out and what follows from it.
fn beside_left_out(manifest: &Value) -> Value {
    let mut manifest = manifest.clone();
    let fields = manifest.as_object_mut().unwrap();
    for field in ["suppressed", "loss", "digest", "accepted"] {
        fields.remove(field);
    }
    if let Some(findings) = fields.get_mut("findings").and_then(Value::as_array_mut) {
        findings.retain(|finding| finding["name"] != "second-release");
    }
    manifest
}

const JOBS: &str =
    "age,job,d\n30,nurse,a\n30,,b\n30,midwife,a\n70,nurse,b\n70,cook,a\n70,midwife,b\n";

fn with_jobs(flags: &str) -> Folder {
    let roles = "--quasi age,job --sensitive d --hierarchy job=jobs.csv --categories label";
    with_model(JOBS, &format!("-k 3 {roles} {flags}"))
}

#[test]
fn a_label_covers_a_missing_value_though_as_many_are_left_out_as_the_model_had() {
    for flags in ["", "--no-compact"] {
        let folder = with_jobs(flags);
        let later = "age,job,d\n30,nurse,a\n30,midwife,a\n30,,b\n70,,b\n";
        let (rows, manifest) = recoded(&folder, later);
        assert_eq!((rows.len(), manifest["suppressed"].as_u64()), (4, Some(1)));
        assert!(rows[1..].iter().all(|row| row[1].starts_with("{, ")), "{rows:?}");
    }
}

#[test]
fn a_missing_value_that_is_left_out_changes_no_label() {
    for flags in ["", "--no-compact"] {
        let folder = with_jobs(flags);
        let later = "age,job,d\n30,nurse,a\n30,midwife,a\n30,nurse,b\n";
        let alone = recoded(&folder, later);
        for left_out in ["70,,b\n", "70,,b\n70,,a\n"] {
            let beside = recoded(&folder, &format!("{later}{left_out}"));
            assert_eq!(alone.0, beside.0);
            assert_eq!(beside_left_out(&alone.1), beside_left_out(&beside.1));
        }
    }
}

const FAR: &str = "big,d\n1000000000000,a\n2000000000000,b\n5000000000000,a\n6000000000000,b\n\
    8000000000000,a\n9000000000000,b\n";
const LATER: &str = "big,d\n1000000000000,a\n2000000000000,b\n8000000000000,a\n9000000000000,b\n";

#[test]
fn a_far_value_that_is_left_out_moves_no_end_of_a_region() {
    let folder = with_model(FAR, "-k 2 --quasi big --sensitive d --no-compact");
    let alone = recoded(&folder, LATER);
    let beside = recoded(&folder, &format!("{LATER}2345678900000,c\n"));
    assert_eq!(alone.0, beside.0);
    assert_eq!(beside_left_out(&alone.1), beside_left_out(&beside.1));
    // It is outside whether or not its class would be published.
    let both =
        recoded(&folder, &format!("{LATER}2345678900000,c\n5000000000000,b\n5500000000000,c\n"));
    assert_eq!((alone.0, both.1["suppressed"].as_u64()), (both.0, Some(3)));
    let refused = folder.run("recode own/model later.csv -o r.csv --outside refuse");
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("row 5") && !refused.said().contains("23456"), "{}", refused.err);
    let learning = done(&folder, "recode own/model later.csv -o l.csv --for-learning --json");
    assert!(learning.out.contains("\"outside\": 0"), "{}", learning.out);
}

#[test]
fn a_far_value_between_others_is_published_where_classes_show_the_bounds_of_their_rows() {
    let folder = with_model(FAR, "-k 2 --quasi big --sensitive d");
    let (rows, manifest) = recoded(&folder, &format!("{LATER}1345678900000,c\n"));
    assert_eq!((rows.len(), manifest["suppressed"].as_u64()), (6, Some(0)));
}

#[test]
fn rows_outside_and_rows_below_the_requirement_are_told_only_together() {
    let folder = with_model(FAR, "-k 2 --quasi big --sensitive d");
    let (rows, of_outside) = recoded(&folder, &format!("{LATER}99000000000000,c\n"));
    let (_, of_below) = recoded(&folder, &format!("{LATER}5000000000000,c\n"));
    assert_eq!(rows.len(), 5);
    assert_eq!(of_outside, of_below);
    assert_eq!(of_outside["loss"]["discernibility"].as_f64(), Some(4.0 + 4.0 + 5.0));
    let report = |table: &str| -> Value {
        folder.write("later.csv", table);
        let run = done(&folder, "recode own/model later.csv -o r.csv --force --json");
        serde_json::from_str(&run.out).unwrap()
    };
    let [outside, below] = ["99000000000000", "5000000000000"]
        .map(|big| report(&format!("{LATER}{big},c\n"))["table_loss"].clone());
    assert!(outside.is_object());
    assert_eq!(outside, below, "the owner's figures are over as many rows");
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// People with near and far numbers, a job and a city; with more digits and names if `is_later`.
    fn people(&mut self, n_rows: usize, is_later: bool) -> Vec<String> {
        (0..n_rows).map(|row| self.person(row, is_later)).collect()
    }

    fn person(&mut self, row: usize, is_later: bool) -> String {
        let is_odd = is_later && self.below(6) == 0;
        let n_steps = if is_odd { 1_000_007 } else { 1_000_000_000 };
        let far = (self.below(8) * 1_000_000_000 + self.below(2) * n_steps) as i64;
        let weight = 500 + self.below(if is_later { 60 } else { 50 });
        let digits = if is_later && self.below(9) == 0 { "25" } else { "" };
        let float = self.below(if is_odd { 500 } else { 5 }) as f64 / 7.0;
        let job = ["nurse", "midwife", "baker", "cook", "", "nurse"][self.below(6) as usize];
        let n_cities = if is_odd { 5 } else { 4 };
        let city = ["Ulm", "Bonn", "", "Jena", "Atlantis"][self.below(n_cities) as usize];
        let disease = ["flu", "mumps", "rubella"][self.below(3) as usize];
        format!(
            "n{row},{far},{}.{}{digits},{float},{job},{city},{disease}",
            weight / 10,
            weight % 10
        )
    }
}

fn table(people: &[String]) -> String {
    format!("note,far,weight,float,job,city,disease\n{}\n", people.join("\n"))
}

/// What a job asks for, of some of the columns.
fn job_of(dice: &mut Dice, flags: &str) -> String {
    let ordered = ["far", "weight", "float"][dice.below(3) as usize];
    let columns = ["far", "weight", "float", "job", "city"].into_iter();
    let quasi: Vec<&str> =
        columns.filter(|&column| column == ordered || dice.below(3) == 0).collect();
    let mut job =
        format!("-k 3 {flags} --keep note --sensitive disease --quasi {}", quasi.join(","));
    for column in quasi {
        job += match column {
            "weight" => " --type weight=decimal",
            "float" => " --type float=float",
            "job" => " --hierarchy job=jobs.csv --categories label",
            _ => "",
        };
    }
    job
}

const SHOWN: [&str; 8] = [
    "",
    "--no-compact",
    "--values features",
    "--values features --no-compact",
    "--values bounds --split median",
    "--values bounds --split median --no-compact",
    "--values mean",
    "--l-diversity disease=distinct:2 --no-compact",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 0, ..ProptestConfig::default() })]

    /// The release of some rows is that of those among them that it publishes.
    #[test]
    fn rows_that_are_left_out_change_nothing_of_what_is_published(
        seed in any::<u64>(),
        flags in prop::sample::select(&SHOWN[..]),
    ) {
        let mut dice = Dice(seed);
        let job = job_of(&mut dice, flags);
        let (of_model, later) = (dice.people(40, false), dice.people(30, true));
        let folder = with_model(&table(&of_model), &job);
        folder.write("later.csv", table(&later));
        let run = folder.run("recode own/model later.csv -o release.csv");
        if run.err.contains("would be left out") {
            return Ok(());
        }
        prop_assert_eq!(run.code, Some(0), "{}", run.err);
        let whole = recoded(&folder, &table(&later));
        let notes = folder.column("release.csv", "note");
        let is_published =
            |row: &&String| notes.iter().any(|note| row.starts_with(&format!("{note},")));
        let published: Vec<String> = later.iter().filter(is_published).cloned().collect();
        prop_assert_eq!(published.len(), notes.len());
        let alone = recoded(&folder, &table(&published));
        prop_assert_eq!(&alone.0, &whole.0, "{}", job);
        prop_assert_eq!(beside_left_out(&alone.1), beside_left_out(&whole.1), "{}", job);
        prop_assert_eq!(alone.1["suppressed"].as_u64(), Some(0));
        prop_assert_eq!(whole.1["suppressed"].as_u64(), Some((later.len() - notes.len()) as u64));
    }
}
