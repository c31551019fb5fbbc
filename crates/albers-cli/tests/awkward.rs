//! Small files as people have them, and what must come out: what was read, shown by a release that
//! hides nobody, what was said about it, or why it was refused.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod awkward {
    pub mod cases;
    pub mod layouts;
}
mod common;

use awkward::cases::{CELLS, Case, Outcome};
use awkward::layouts::LAYOUTS;
use common::{Folder, Run};

/// A release with k = 1 shows every cell as it was read.
fn run(case: &Case) -> (Folder, Run) {
    let folder = Folder::new();
    folder.write(case.file, case.bytes());
    let run = folder.run_with(&arguments(case, &case.columns.join(",")));
    (folder, run)
}

fn arguments<'c>(case: &Case, columns: &'c str) -> Vec<&'c str> {
    let words = ["anonymize", case.file, "-o", "out.csv", "--to", "csv", "-k", "1"];
    let words = words.into_iter().chain(["--accept", "low-k", "--quasi", columns]);
    words.chain(case.flags.iter().copied()).collect()
}

fn check(case: &Case) {
    let (folder, run) = run(case);
    let name = case.name;
    match &case.outcome {
        Outcome::Rows { rows, said } => {
            assert_eq!(run.code, Some(0), "{name}: {}", run.said());
            let release = folder.read("out.csv");
            let (header, below) = release.split_once('\n').unwrap();
            assert_eq!(header, case.columns.join(","), "{name}");
            let mut shown: Vec<&str> = below.lines().collect();
            shown.sort_unstable();
            let mut expected = rows.to_vec();
            expected.sort_unstable();
            assert_eq!(shown, expected, "{name}");
            for words in *said {
                assert!(run.out.contains(words), "{name}: not said: {words}\n{}", run.out);
            }
            if said.is_empty() {
                assert!(!run.out.contains("read"), "{name}: nothing is to be said\n{}", run.out);
            }
        }
        Outcome::Refused { said } => {
            assert_eq!(run.code, Some(2), "{name}: {}", run.said());
            assert_eq!(folder.names(), [case.file], "{name}: nothing is written");
            for words in *said {
                assert!(run.err.contains(words), "{name}: not said: {words}\n{}", run.err);
            }
        }
    }
}

#[test]
fn cells_are_read_as_they_are_written_or_refused() {
    CELLS.iter().for_each(check);
}

#[test]
fn tables_are_found_in_their_files_or_refused() {
    LAYOUTS.iter().for_each(check);
}

#[test]
fn there_are_many_awkward_files() {
    assert!(CELLS.len() + LAYOUTS.len() >= 60, "{} and {}", CELLS.len(), LAYOUTS.len());
}

/// What is read does not depend on the order of the rows.
#[test]
fn the_order_of_rows_decides_nothing() {
    for case in CELLS.iter().filter(|case| case.is_text()) {
        let text = String::from_utf8(case.bytes()).unwrap();
        let Some((header, rows)) = text.split_once('\n') else { continue };
        let mut rows: Vec<&str> = rows.lines().collect();
        rows.reverse();
        let turned = format!("{header}\n{}\n", rows.join("\n"));
        let (folder, forth) = run(case);
        let back = Folder::new();
        back.write(case.file, turned);
        let turned = back.run_with(&arguments(case, &case.columns.join(",")));
        assert_eq!(turned.code, forth.code, "{}", case.name);
        if forth.code == Some(0) {
            assert_eq!(back.read("out.csv"), folder.read("out.csv"), "{}", case.name);
        }
    }
}

/// A number that is published as it is stays a number, for whoever asks the release.
#[test]
fn kept_numbers_leave_in_one_notation_and_as_missing_where_they_are() {
    let folder = Folder::with("x;y\n1;5,5\n2;NA\n3;7,25\n4;8\n");
    let run = folder.run("anonymize in.csv -o out.csv -k 2 --quasi x --keep y");
    assert_eq!(run.code, Some(0), "{}", run.said());
    let release = folder.read("out.csv");
    let mut kept: Vec<&str> =
        release.lines().skip(1).map(|line| line.rsplit(';').next().unwrap()).collect();
    kept.sort_unstable();
    assert_eq!(kept, ["", "5.5", "7.25", "8"]);
    let answer = folder.run_with(&["query", "out.csv", "y > 6", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!((&answer["lower"], &answer["upper"]), (&2.into(), &2.into()), "{answer}");
    let check = folder.run("check out.csv --original in.csv");
    assert!(!check.said().contains("does not have"), "{}", check.said());
}

/// A delimiter that nobody would tell from a text is not handed on.
#[test]
fn a_release_of_an_odd_delimiter_is_read_without_being_told() {
    let folder = Folder::with("x^y\n1^a\n2^b\n3^a\n4^b\n");
    let run = folder.run("anonymize in.csv -o out.csv -k 2 --quasi x,y --delimiter ^");
    assert_eq!(run.code, Some(0), "{}", run.said());
    assert!(folder.read("out.csv").starts_with("x,y\n"));
    assert_eq!(folder.run("check out.csv").code, Some(0));
}

/// No message about what could not be read shows a cell.
#[test]
fn refusals_show_no_cell() {
    for case in CELLS.iter().chain(LAYOUTS) {
        let (_, run) = run(case);
        if run.code == Some(0) || !case.is_text() {
            continue;
        }
        let text = String::from_utf8(case.bytes()).unwrap();
        let cells = text.lines().skip(1).flat_map(|line| line.split([',', ';', '\t', '|']));
        for cell in cells.map(|cell| cell.trim_matches(['"', ' '])).filter(|cell| cell.len() > 3) {
            // Examples in messages are nobody's.
            let is_example = ["1.234"].contains(&cell);
            assert!(is_example || !run.err.contains(cell), "{}: {cell}\n{}", case.name, run.err);
        }
    }
}

/// What is to be said of many columns is said once.
#[test]
fn a_note_about_many_columns_is_one_line_that_names_ten() {
    let names: Vec<String> = (1..=14).map(|at| format!("n{at}")).collect();
    let row = |cell: &str| vec![cell; 14].join(";");
    let folder =
        Folder::with(format!("{};z\n{};1\n{};NA\n", names.join(";"), row("1,5"), row("NA")));
    let columns = format!("{},z", names.join(","));
    let run = folder.run(&format!("anonymize in.csv -o out.csv -k 2 --quasi {columns}"));
    assert_eq!(run.code, Some(0), "{}", run.said());
    let notes: Vec<&str> = run.out.lines().filter(|line| line.starts_with("note: ")).collect();
    let numbers = "note: the numbers of 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7', 'n8', 'n9', 'n10' \
                   and 4 more columns are read with a decimal comma";
    let missing = "'n9' (1), 'n10' (1) and 5 more columns are taken for missing, as they say NA";
    assert!(notes.contains(&numbers), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains(missing)), "{notes:?}");
    assert!(notes.len() <= 3, "{notes:?}");
}
