//! Help that fits a terminal, and whose examples run.

use std::path::Path;

use crate::common::{Folder, helped};

/// A folder with a copy of the examples.
fn folder() -> Folder {
    let folder = Folder::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::fs::create_dir(folder.path("examples")).unwrap();
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path("examples").join(path.file_name().unwrap())).unwrap();
    }
    folder
}

/// The words of a command, of which some stand between double quotes.
fn words_of(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (place, text) in command.split('"').enumerate() {
        match place % 2 {
            0 => words.extend(text.split_whitespace().map(str::to_owned)),
            _ => words.push(text.to_owned()),
        }
    }
    words
}

/// The commands at the end of a help text.
fn examples(help: &str) -> Vec<String> {
    let (_, end) = help.rsplit_once("\nExamples:\n").expect("there are examples");
    let joined = end.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| line.strip_prefix("albers ").expect("all are commands").to_owned()).collect()
}

#[test]
fn no_line_of_any_help_is_wider_than_80_columns() {
    let folder = Folder::new();
    for words in helped::commands(&folder) {
        for flag in ["-h", "--help"] {
            for line in helped::help(&folder, &words, flag).lines() {
                assert!(line.chars().count() <= 80, "{words} {flag}: {line}");
            }
        }
    }
}

#[test]
fn short_help_fits_two_screens_and_long_help_has_all_flags() {
    let folder = Folder::new();
    for words in helped::commands(&folder) {
        let (short, long) =
            (helped::help(&folder, &words, "-h"), helped::help(&folder, &words, "--help"));
        assert!(short.lines().count() <= 100, "{words}: {} lines", short.lines().count());
        assert!(short.lines().count() < long.lines().count(), "{words}");
        let shown = |help: &str| help.matches("\n      --").count() + help.matches("\n  -").count();
        assert!(shown(&short) <= shown(&long), "{words}");
    }
    let short = helped::help(&folder, "anonymize", "-h");
    assert!(short.contains("--quasi") && short.contains("-k <N>"), "{short}");
    assert!(!short.contains("--least-memory"), "{short}");
    assert!(helped::help(&folder, "anonymize", "--help").contains("--least-memory"));
}

#[test]
fn flags_stand_under_headings() {
    let folder = Folder::new();
    for words in helped::commands(&folder) {
        let help = helped::help(&folder, &words, "--help");
        let Some((_, rest)) = help.split_once("\nOptions:\n") else { continue };
        let end = rest.lines().take_while(|line| line.is_empty() || line.starts_with(' '));
        let flags = end.filter(|line| line.trim_start().starts_with('-'));
        for flag in flags {
            let is_general = ["--help", "--version"].iter().any(|own| flag.contains(own));
            let is_own = flag.contains("-k <N>") || flag.contains("-n <ROWS>");
            assert!(is_general || is_own, "{words}: {flag} stands under no heading");
        }
    }
    let help = helped::help(&folder, "anonymize", "--help");
    for heading in [
        "Files:",
        "Columns (one without a role is dropped):",
        "Requirement:",
        "Method:",
        "Resources:",
        "Printed:",
    ] {
        assert!(help.contains(&format!("\n{heading}\n")), "{heading}");
    }
}

#[test]
fn the_examples_of_every_help_run() {
    let plain = Folder::new();
    for words in helped::commands(&plain) {
        let folder = folder();
        let examples = examples(&helped::help(&plain, &words, "--help"));
        assert!((2..=4).contains(&examples.len()), "{words}: {examples:?}");
        let own = examples.iter().filter(|own| own.starts_with(&words)).count();
        assert!(own > 0, "{words}: {examples:?}");
        for example in examples {
            let arguments = words_of(&example);
            let run = folder.run_once(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(run.code, Some(0), "{words}: {example}: {}", run.said());
        }
    }
}

#[test]
fn the_list_of_all_fields_in_the_help_can_be_pasted() {
    let folder = folder();
    let help = helped::help(&folder, "init", "--help");
    let (_, rest) = help.split_once("A job file with all its fields:\n").unwrap();
    let (sample, _) = rest.split_once("\nExamples:\n").unwrap();
    assert!(sample.lines().count() > 40, "{sample}");
    folder.write("job.toml", sample);
    // The fields are read one and all; that all of them together make no sense is said next.
    let run = folder.run_once(&["anonymize", "--job", "job.toml"]);
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(!run.err.contains("job.toml"), "{}", run.err);
}

#[test]
fn the_job_file_in_the_help_can_be_pasted() {
    let folder = folder();
    let help = helped::help(&folder, "anonymize", "--help");
    let (_, rest) =
        help.split_once("A job file says the same as flags, and can be kept:\n").unwrap();
    let (sample, _) = rest.split_once("Save it as job.toml").unwrap();
    assert!(sample.contains("[columns.diagnosis]"), "{sample}");
    folder.write("job.toml", sample);
    let run = folder.run_once(&["anonymize", "--job", "job.toml"]);
    assert_eq!(run.code, Some(0), "{}", run.said());
    assert!(folder.path("patients.anonymized.csv").exists());
}
