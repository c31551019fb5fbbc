//! Tables that are too large to be cut at once, cut as far as their samples support it, and by the
//! same cuts in any memory.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::collections::BTreeMap;

use common::{Folder, Numbers};
use proptest::prelude::*;
use serde_json::Value;

const ROLES: &str = "--quasi age,income,city,shoe";

/// People whose class follows from age and income, and whose pension follows from age.
fn people(n_rows: u64, seed: u64) -> String {
    let mut numbers = Numbers::new(seed);
    let mut text = "age,income,city,shoe,class,pension,illness,person\n".to_owned();
    for _ in 0..n_rows {
        let (age, income) = (20 + numbers.below(60), 1000 * (10 + numbers.below(90)));
        let city = ["Ulm", "Bern", "Graz", "Riga"][numbers.below(4) as usize];
        let class = if age < 45 && income > 50_000 { "buyer" } else { "other" };
        let illness =
            ["flu", "cold", "none", "gout"][(numbers.below(2) + numbers.below(3)) as usize];
        let (shoe, pension) = (30 + numbers.below(18), age * 7 + numbers.below(400));
        let person = numbers.below(n_rows * 2 / 3);
        text.push_str(&format!(
            "{age},{income},{city},{shoe},{class},{pension},{illness},p{person}\n"
        ));
    }
    text
}

/// Planned for little memory, tables of some thousand rows are large. The last of them fits.
const WAYS: [&str; 3] =
    ["--memory 500KB --threads 1", "--memory 1500KB --threads 3", "--memory 1GB --threads 2"];

/// Every way to split, and requirements of every kind.
const JOBS: [&str; 10] = [
    "-k 5 --keep class",
    "-k 20 --keep class --split median --no-compact",
    "-k 5 --keep class --split info-gain --target class --hierarchy city=suppress",
    "-k 10 --keep pension --split regression --target pension --then median",
    "-k 5 --keep class --split selection --select age<30",
    "-k 2 --sensitive illness --l-diversity illness=recursive:3,2 --split median",
    "-k 5 --sensitive illness --l-diversity illness=distinct:3 --t-closeness illness=0.4",
    "-k 5 --sensitive illness --alpha illness=0.8 --split info-gain --target illness",
    "-k 3 --sensitive pension --variance pension=15000 --split median",
    "-k 5 --subject person --sensitive illness --l-diversity illness=entropy:1.5",
];

/// The release with its manifest, byte by byte, and what the owner is told of samples.
type Released = (BTreeMap<String, Vec<u8>>, Value);

/// Runs a job; also tells whether it spilled.
fn released(folder: &Folder, job: &str) -> (Released, bool) {
    let accept = "target-in-classes,keep-tells-quasi,unique-keep,unique-keeps,rows-per-person,sensitive-target,\
                  person-rules-class,secret-without-rule";
    let report = folder.anonymize(&format!("in.csv -o out.csv {ROLES} {job} --accept {accept}"));
    let files = folder.files().into_iter().filter(|(name, _)| name.starts_with("out"));
    let spilled = report["spilled_bytes"].as_u64().unwrap() > 0;
    ((files.collect(), report["samples"].clone()), spilled)
}

/// Asserts that a job comes to the same in any memory, and that its release stands a check.
fn assert_one_release(folder: &Folder, job: &str) -> Released {
    let (expected, spilled) = released(folder, &format!("{job} {}", WAYS[0]));
    assert!(spilled, "{job}: all was kept in memory");
    for way in &WAYS[1..] {
        let (found, _) = released(folder, &format!("{job} {way}"));
        assert!(found.0 == expected.0, "{job} {way}: another release, or another manifest");
        assert_eq!(found.1, expected.1, "{job} {way}: other samples");
    }
    let checked = folder.run("check out.csv");
    assert_eq!(checked.code, Some(0), "{job}: {}", checked.said());
    expected
}

#[test]
fn mondrian_goes_on_outside_of_memory_with_the_same_bytes() {
    let folder = Folder::with(people(12_000, 1));
    for job in JOBS {
        let job = format!("{job} --least-memory 400KB");
        let [auto, mondrian] = ["auto", "mondrian"]
            .map(|method| assert_one_release(&folder, &format!("{job} --method {method}")));
        assert!(auto.0["out.csv"] == mondrian.0["out.csv"], "{job}: auto has another release");
        assert_eq!(auto.1["fell_back"], 0, "nothing was tested");
    }
}

#[test]
fn a_tested_sample_gives_the_same_bytes_in_any_memory_and_its_cuts_are_undone_and_made_again() {
    let folder = Folder::with(people(12_000, 2));
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for job in JOBS {
        let job = format!("{job} --least-memory 400KB --external sample --method mondrian");
        let (_, samples) = assert_one_release(&folder, &job);
        for name in ["repartitions", "trees", "splits", "pruned"] {
            *all.entry(name).or_default() += samples[name].as_u64().unwrap();
        }
    }
    assert!(all["repartitions"] > JOBS.len() as u64, "no part was divided again: {all:?}");
    assert!(0 < all["pruned"] && all["pruned"] < all["splits"], "{all:?}");
}

#[test]
fn a_sample_too_small_to_test_anything_falls_back_and_says_so() {
    let folder = Folder::with(people(6_000, 3));
    let job = format!("{ROLES} --keep class --split median --least-memory 200KB");
    let said = |job: &str| {
        let report = folder.anonymize(&format!("in.csv -o out.csv {job}"));
        let notes = report["notes"].as_array().unwrap().iter();
        let is_said = notes.filter(|note| note.as_str().unwrap().contains("supported no cut"));
        (report["samples"].clone(), is_said.count(), report["classes"].as_u64().unwrap())
    };
    let (samples, n_said, n_classes) = said(&format!("{job} -k 2900 --external sample"));
    assert!(samples["fell_back"].as_u64().unwrap() > 0, "{samples}");
    assert_eq!((n_said, n_classes), (1, 2));
    let (samples, n_said, _) = said(&format!("{job} -k 5 --external sample"));
    assert_eq!((&samples["fell_back"], n_said), (&0.into(), 0), "{samples}");
    let manifest = folder.read("out.csv.manifest.json");
    assert!(!manifest.contains("samples") && !manifest.contains("pruned"), "{manifest}");
}

#[test]
fn rows_that_are_all_alike_stay_whole_and_may_not_be_minimal() {
    let mut text = "age,income,city,shoe,class\n".to_owned();
    (0..3_000).for_each(|_| text.push_str("40,1000,Ulm,44,other\n"));
    let folder = Folder::with(text);
    for external in ["", "--external sample"] {
        let report = folder.anonymize(&format!(
            "in.csv -o out.csv {ROLES} --keep class -k 5 --least-memory 100KB {external}"
        ));
        assert_eq!(report["samples"]["maybe_divisible"], 1, "{report}");
        let is_said = |note: &Value| note.as_str().unwrap().contains("may still be allowable");
        assert!(report["notes"].as_array().unwrap().iter().any(is_said));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 6,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_tested_sample_has_one_release_whatever_is_asked_of_it(
        seed in any::<u64>(),
        n_rows in 2_000..5_000u64,
        k in 2..400u64,
        split in prop_oneof![Just("median"), Just("compact")],
        least_kb in 100..300u32,
    ) {
        let folder = Folder::with(people(n_rows, seed));
        let job = format!(
            "-k {k} --keep class --split {split} --external sample --least-memory {least_kb}KB"
        );
        let (found, _) = released(&folder, &format!("{job} --memory 500KB --threads 1"));
        let (other, _) = released(&folder, &format!("{job} --memory 2GB --threads 2"));
        prop_assert!(found == other, "{}", job);
        let checked = folder.run("check out.csv");
        prop_assert_eq!(checked.code, Some(0), "{}", checked.said());
    }
}
