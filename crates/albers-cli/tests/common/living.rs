//! What the tests of `albers index` share: people with keys, and an index of them.

use serde_json::Value;

use super::{Folder, Run};

/// What the columns are, and what every class must satisfy.
pub const ROLES: &str = "--quasi age,zip --type zip=code --sensitive disease \
                         --l-diversity disease=distinct:2 -k 3";

/// The columns of the people.
pub const HEADER: &str = "id,age,zip,disease";

/// The cells of a person, of which none is part of any word or figure of a message.
pub fn person(number: usize) -> [String; 4] {
    const DISEASES: [&str; 3] = ["measles", "mumps", "rubella"];
    [
        format!("key{:05}", 81_000 + number),
        format!("{}", 7300 + number * 37 % 90),
        format!("{:05}", 1900 + number * 11 % 40),
        DISEASES[number % 3].to_owned(),
    ]
}

/// Some people as lines.
pub fn lines(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|number| person(number).join(",")).collect()
}

/// Lines as a table.
pub fn table_of(lines: &[String]) -> String {
    format!("{HEADER}\n{}\n", lines.join("\n"))
}

/// Some people as a table.
pub fn people(numbers: impl IntoIterator<Item = usize>) -> String {
    table_of(&lines(numbers))
}

/// A folder with an index `idx` of the first people.
pub fn index_of(n_rows: usize) -> Folder {
    let folder = Folder::with(people(0..n_rows));
    let made = json(&folder, &format!("index create idx in.csv --key id {ROLES}"));
    assert_eq!(made["rows"], n_rows);
    folder
}

/// What a run prints as JSON, which must succeed.
pub fn json(folder: &Folder, arguments: &str) -> Value {
    let run = done(folder, &format!("{arguments} --json"));
    assert_eq!(run.err, "", "{arguments}");
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("not one object: {}", run.out))
}

/// A run that must succeed at once, whatever it finds.
pub fn done(folder: &Folder, arguments: &str) -> Run {
    let run = once(folder, arguments);
    assert_eq!(run.code, Some(0), "{arguments}: {}", run.said());
    run
}

/// A run, once.
pub fn once(folder: &Folder, arguments: &str) -> Run {
    folder.run_once(&arguments.split_whitespace().collect::<Vec<_>>())
}

/// Refuses a run by its exit code, in one line with these words and no cell; the index, if there is
/// one, is as it was, and no file appears.
pub fn refused(folder: &Folder, arguments: &str, code: i32, says: &[&str]) {
    let (names, before) = (folder.names(), state(folder));
    let run = once(folder, arguments);
    assert_eq!(run.code, Some(code), "{arguments}: {}", run.said());
    assert_eq!(run.out, "", "{arguments}");
    for part in says {
        assert!(run.err.contains(part), "{arguments}: '{part}' is not in: {}", run.err);
    }
    assert_eq!(run.err.trim_end().lines().count(), 1, "{arguments}: one line: {}", run.err);
    assert!(run.err.contains("; "), "{arguments}: it says what to do: {}", run.err);
    shows_no_cell(folder, &run);
    assert_eq!(folder.names(), names, "{arguments}: nothing is written");
    assert_eq!(state(folder), before, "{arguments}: the index is as it was");
}

/// What a refused run must not change in an index, if there is one.
fn state(folder: &Folder) -> Option<[Value; 4]> {
    let info = folder.path("idx").is_dir().then(|| json(folder, "index info idx"))?;
    Some(["rows", "batches", "leaves", "releases"].map(|field| info[field].clone()))
}

/// No cell of any text in the folder is part of what was said.
pub fn shows_no_cell(folder: &Folder, run: &Run) {
    for (name, bytes) in folder.files().iter().filter(|(name, _)| name.ends_with(".csv")) {
        let text = String::from_utf8_lossy(bytes);
        let cells = text.lines().skip(1).flat_map(|line| line.split([',', '"']));
        for cell in cells.filter(|cell| cell.len() >= 4) {
            assert!(!run.said().contains(cell), "a cell of {name} is shown: {}", run.said());
        }
    }
}

/// The rows of a release without its header, sorted.
pub fn sorted_rows(folder: &Folder, name: &str) -> Vec<Vec<String>> {
    let mut rows = folder.csv(name).split_off(1);
    rows.sort();
    rows
}
