//! Attacks on recoded rows and on models: what somebody learns who has two of these things, and that
//! the program stops it.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::collections::BTreeMap;

use common::Folder;

const ROLES: &str = "--quasi age,zip --sensitive disease -k 3 --l-diversity disease=distinct:2";

/// Twelve people in classes that a newcomer fits into.
fn people() -> String {
    let mut text = "age,zip,disease\n".to_owned();
    for row in 0..12 {
        let disease = ["measles", "mumps", "rubella"][row % 3];
        text += &format!("{},{},{disease}\n", 20 + row / 3 * 10 + row % 3, 100 + row / 6 * 50);
    }
    text
}

fn with_model() -> Folder {
    let folder = Folder::with(people());
    std::fs::create_dir(folder.path("own")).unwrap();
    let run = folder.run(&format!("anonymize in.csv -o out.csv --model own/model {ROLES}"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    folder
}

/// How many rows of a release have which secret.
fn secrets(folder: &Folder, name: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for secret in folder.column(name, "disease") {
        *counts.entry(secret).or_default() += 1;
    }
    counts
}

/// Whoever has the release of the rows before and that of the same rows and one more knows what the
/// one more has.
#[test]
fn a_newcomers_secret_is_the_difference_of_two_releases_and_so_stopped() {
    let folder = with_model();
    folder.write("later.csv", people() + "21,100,smallpox\n");
    let recode = ["recode", "own/model", "later.csv", "-o", "later-release.csv"];
    let run = folder.run_once(&recode);
    assert_eq!(run.code, Some(1), "{}", run.said());
    assert!(run.err.contains("second-release") && run.err.contains("--accept"), "{}", run.err);
    assert!(!folder.path("later-release.csv").exists());

    // The attack works where the owner says that it does not matter.
    let run = folder.run_once(&[&recode[..], &["--accept", "second-release"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.err);
    let (before, after) = (secrets(&folder, "out.csv"), secrets(&folder, "later-release.csv"));
    let is_new = |(secret, n_rows): &(&String, &usize)| before.get(*secret) != Some(*n_rows);
    let new: Vec<&String> = after.iter().filter(is_new).map(|(secret, _)| secret).collect();
    assert_eq!(new, ["smallpox"]);
}

/// The other way round: one fewer tells as much.
#[test]
fn a_row_that_left_or_changed_makes_a_second_release_too() {
    let folder = with_model();
    let all = people();
    let left = all.lines().take(12).collect::<Vec<_>>().join("\n") + "\n";
    let changed = all.replacen("measles", "mumps", 1);
    let doubled = format!("{all}20,100,measles\n");
    for table in [left, changed, doubled] {
        folder.write("later.csv", table);
        let run = folder.run_once(&["recode", "own/model", "later.csv", "-o", "r.csv"]);
        assert_eq!(run.code, Some(1), "{}", run.said());
        assert!(run.err.contains("second-release"), "{}", run.err);
    }
}

/// What the owner accepted for the model's own release is not accepted for another.
#[test]
fn acceptances_of_the_model_do_not_count_for_recoding() {
    let folder = Folder::with(people());
    std::fs::create_dir(folder.path("own")).unwrap();
    let roles =
        "--quasi age,zip --keep disease -k 3 --accept second-release,unique-keep,unique-keeps";
    let run = folder.run(&format!("anonymize in.csv -o out.csv --model own/model {roles}"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    folder.write("later.csv", people() + "21,100,smallpox\n");
    let run = folder.run_once(&["recode", "own/model", "later.csv", "-o", "r.csv"]);
    assert_eq!(run.code, Some(1), "{}", run.said());
    assert!(run.err.contains("second-release"), "{}", run.err);
}

/// Whoever has a model has every value of the quasi-identifiers and where classes are cut: it does not
/// lie where a release lies, by whatever name the folder is called.
#[test]
fn a_model_beside_its_release_is_refused_by_any_name_of_the_folder() {
    let folder = Folder::with(people());
    std::fs::create_dir_all(folder.path("public/inner")).unwrap();
    std::os::unix::fs::symlink(folder.path("public"), folder.path("link")).unwrap();
    let absolute = folder.path("public").join("model").display().to_string();
    let names =
        ["public/model", "public/inner/../model", "./public/./model", "link/model", &absolute];
    for name in names {
        let arguments = format!("anonymize in.csv -o public/out.csv --model {name} {ROLES}");
        let run = folder.run_once(&arguments.split_whitespace().collect::<Vec<_>>());
        assert_eq!(run.code, Some(1), "{name}: {}", run.said());
        assert!(run.err.contains("model-beside-release"), "{name}: {}", run.err);
        assert!(!folder.path("public/out.csv").exists() && !folder.path("public/model").exists());
    }
    let beside = format!("anonymize in.csv -o public/out.csv --model public/model {ROLES}");
    let arguments: Vec<&str> = beside.split_whitespace().collect();
    let accepted = [&arguments[..], &["--accept", "model-beside-release"]].concat();
    let run = folder.run_once(&accepted);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains("model-beside-release"), "it is said: {}", run.out);
    assert!(!run.out.contains("meets no finding"), "{}", run.out);

    // The attack: the bytes hold values that the release hides.
    let model = folder.bytes("public/model");
    let holds = |text: &str| model.windows(text.len()).any(|own| own == text.as_bytes());
    assert!(holds("age") && holds("albers model"));
    // Nor does a recoded release lie beside the model.
    let beside = ["recode", "public/model", "in.csv", "-o", "public/again.csv"];
    let run = folder.run_once(&beside);
    assert_eq!(run.code, Some(1), "{}", run.said());
    assert!(run.err.contains("model-beside-release"), "{}", run.err);
    assert!(!folder.path("public/again.csv").exists());
    let run = folder.run_once(&[&beside[..], &["--accept", "model-beside-release"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(folder.bytes("public/again.csv") == folder.bytes("public/out.csv"));
    // Standard output lies in no folder.
    let arguments = format!("anonymize in.csv -o - --model public/other {ROLES}");
    let run = folder.run_once(&arguments.split_whitespace().collect::<Vec<_>>());
    assert_eq!(run.code, Some(0), "{}", run.err);
}
