//! The README's commands through the real binary: they run, and print what the README says.
//!
//! An example is a comment `<!-- checked ... -->`, a block `sh` with one command and a block `text`
//! with its output. All run in one folder, in order; only the seconds may differ.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::path::{Path, PathBuf};

use assert_cmd::Command;

const RUN: &str = "cargo run --release -- ";

struct Example {
    command: String,
    output: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

/// A folder with a copy of the examples.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("examples");
    std::fs::create_dir(&copy).unwrap();
    std::fs::create_dir(folder.path().join("own")).unwrap();
    let names = ["patients.csv", "new-patients.csv", "diagnosis.csv", "job.toml"];
    for name in names.into_iter().chain(["admissions.csv", "admissions.toml"]) {
        std::fs::copy(root().join("examples").join(name), copy.join(name)).unwrap();
    }
    folder
}

/// The text of the first block of a language, and what follows the block.
fn block<'t>(text: &'t str, language: &str) -> (&'t str, &'t str) {
    let start = format!("```{language}\n");
    let (_, rest) = text.split_once(&start).expect("every example has both blocks");
    rest.split_once("```").expect("blocks are closed")
}

fn examples(readme: &str) -> Vec<Example> {
    let marked = readme.split("<!-- checked").skip(1);
    marked
        .map(|text| {
            let (command, rest) = block(text, "sh");
            let (output, _) = block(rest, "text");
            let command = command.replace("\\\n", " ").trim().to_owned();
            Example { command, output: output.to_owned() }
        })
        .collect()
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

/// Runs `albers` with the words of a command and returns what it prints.
fn albers(folder: &Path, words: &str) -> String {
    let mut command = Command::cargo_bin("albers").unwrap();
    let output = command.current_dir(folder).args(words_of(words)).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "albers {words}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn run(folder: &Path, command: &str) -> String {
    if let Some(words) = command.strip_prefix(RUN).or(command.strip_prefix("albers ")) {
        return albers(folder, words);
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    let ["head", "-n", n, file] = words[..] else { panic!("not understood: {command}") };
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    text.lines().take(n.parse().unwrap()).map(|line| format!("{line}\n")).collect()
}

/// The text without the seconds of `in 0.01 s`.
fn without_seconds(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once(" in ") {
        Some((before, after)) if after.ends_with(" s") => format!("{before} in SECONDS s\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The commands in the table of commands.
fn table_commands(readme: &str) -> Vec<&str> {
    let (_, table) = readme.split_once("| command |").expect("there is a table of commands");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.split_once("`albers ")?.1.split_once('`').map(|(words, _)| words))
        .collect()
}

/// The command that makes the release that `compact` narrows.
fn anonymize_regions(readme: &str) -> String {
    let joined = readme.replace("\\\n", " ");
    let mut commands = joined.lines().filter_map(|line| line.strip_prefix("albers anonymize "));
    let regions = commands.find(|words| words.contains("--no-compact"));
    format!("anonymize {}", regions.expect("a release of regions is made"))
}

/// The command that publishes chosen levels.
fn anonymize_levels(readme: &str) -> String {
    let commands = readme.split("```sh\n").skip(1).filter_map(|text| text.split_once("```"));
    let mut levels = commands.map(|(command, _)| command.replace("\\\n", " "));
    let command = levels.find(|command| command.contains("--level ")).expect("levels are chosen");
    command.trim().strip_prefix("albers ").expect("it is the program").to_owned()
}

/// The command that keeps a model.
fn anonymize_with_model(examples: Vec<Example>) -> String {
    let mut commands = examples.into_iter().map(|example| example.command);
    commands.find(|command| command.contains("--model ")).expect("a model is kept")
}

#[test]
fn the_readme_shows_what_its_examples_print() {
    let (readme, folder) = (readme(), folder());
    let examples = examples(&readme);
    assert!(examples.len() >= 2, "the examples are marked");
    for Example { command, output } in examples {
        let printed = run(folder.path(), &command);
        assert_eq!(without_seconds(&printed), without_seconds(&output), "of {command}\n{printed}");
    }
}

#[test]
fn the_readmes_other_commands_run() {
    let (readme, folder) = (readme(), folder());
    run(folder.path(), &examples(&readme)[0].command);
    albers(folder.path(), "anonymize --job examples/job.toml");
    albers(folder.path(), &anonymize_regions(&readme));
    albers(folder.path(), &anonymize_levels(&readme));
    run(folder.path(), &anonymize_with_model(examples(&readme)));
    let commands = table_commands(&readme);
    let expected = "init, hierarchy twice, check thrice, measure twice, query, compact, recode, lattice, \
                    index twice, generate, experiment, completions and man";
    assert_eq!(commands.len(), 18, "{expected}");
    for words in commands {
        albers(folder.path(), words);
    }
}

fn guide() -> String {
    std::fs::read_to_string(root().join("docs/guide.md")).unwrap()
}

#[test]
fn the_guide_shows_what_its_examples_print() {
    let (guide, folder) = (guide(), folder());
    let (before, _) = guide.split_once("-o own/").expect("a job is written into a folder");
    assert!(before.contains("mkdir own"), "the folder is there already");
    let examples = examples(&guide);
    assert!(examples.len() >= 4, "the examples are marked");
    for Example { command, output } in examples {
        let printed = run(folder.path(), &command);
        assert_eq!(without_seconds(&printed), without_seconds(&output), "of {command}\n{printed}");
    }
}

/// The figures that the guide gives for each k.
#[test]
fn the_guide_tells_what_k_costs() {
    let (guide, folder) = (guide(), folder());
    let (_, table) = guide.split_once("| k | classes | ncp |\n").expect("there is a table");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let mut n_rows = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [k, classes, ncp] = cells[..] else { panic!("three cells: {row}") };
        let job = "--quasi age,sex,zip --hierarchy zip=prefix --force --json";
        let words = format!("anonymize examples/patients.csv -o k.csv -k {k} {job}");
        let report: serde_json::Value =
            serde_json::from_str(&albers(folder.path(), &words)).unwrap();
        let found = format!("{:.2}", report["table_loss"]["ncp"].as_f64().unwrap());
        assert_eq!(
            (report["classes"].to_string().as_str(), found.as_str()),
            (classes, ncp),
            "k = {k}"
        );
        n_rows += 1;
    }
    assert!(n_rows >= 4, "{n_rows} rows");
}

/// Every flag that the guide names is one.
#[test]
fn the_guide_names_flags_that_there_are() {
    let guide = guide();
    let commands = ["anonymize", "check", "measure", "query", "index release", "init"];
    let help: String =
        commands.iter().map(|words| albers(root().as_path(), &format!("{words} --help"))).collect();
    let flags = guide.split("--").skip(1).map(|text| {
        text.split(|letter: char| !letter.is_ascii_lowercase() && letter != '-').next().unwrap()
    });
    for flag in flags.filter(|flag| flag.len() > 2) {
        assert!(help.contains(&format!("--{flag}")), "--{flag} is no flag");
    }
}

/// The names of tests that a document mentions: words of five parts or more.
fn tests_in(text: &str) -> Vec<String> {
    let words = text.split('`').skip(1).step_by(2);
    let is_name = |word: &&str| {
        word.matches('_').count() >= 4
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    words.filter(is_name).map(str::to_owned).collect()
}

/// The text of all Rust files below a folder.
fn sources(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| !path.ends_with("target"))
        .map(|path| match path.extension().is_some_and(|ending| ending == "rs") {
            true => std::fs::read_to_string(&path).unwrap(),
            false if path.is_dir() => sources(&path),
            false => String::new(),
        })
        .collect()
}

#[test]
fn every_test_that_a_document_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = sources(&root.join("crates"));
    for (document, n_least) in [("docs/attack-model.md", 15), ("ARCHITECTURE.md", 10)] {
        let names = tests_in(&std::fs::read_to_string(root.join(document)).unwrap());
        assert!(names.len() >= n_least, "{document} names {} tests", names.len());
        for name in names {
            assert!(sources.contains(&format!("fn {name}(")), "{document}: there is no {name}");
        }
    }
}
