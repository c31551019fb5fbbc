//! What people see on a terminal of 80 columns, and what an interrupt says.

use std::path::{Path, PathBuf};

use crate::common::living::index_of;
use crate::common::{Folder, PEOPLE, finished, send, wait_until_it_writes};

/// What a command writes to a terminal of 80 columns, with all its control characters.
fn on_terminal(folder: &Folder, arguments: &str) -> String {
    let albers = env!("CARGO_BIN_EXE_albers");
    let shell = format!("stty cols 80 rows 24; '{albers}' {arguments}");
    let mut script = folder.command_of("script");
    let run = finished(script.args(["-q", "-e", "-c", &shell, "/dev/null"]).env("TERM", "xterm"));
    assert_eq!(run.code, Some(0), "{arguments}: {}", run.said());
    run.out
}

/// The lines that a terminal shows or has shown, without control sequences.
fn lines(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => {
                // A sequence ends with a letter.
                let _ = letters.by_ref().find(char::is_ascii_alphabetic);
                plain.push('\n');
            }
            '\r' => plain.push('\n'),
            letter => plain.push(letter),
        }
    }
    plain.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

#[test]
fn the_progress_bar_fits_80_columns_and_speaks_plainly() {
    let folder = Folder::new();
    folder.run("generate adult -n 300000 -o in.csv");
    let quasi = "age,education,marital-status,occupation,race,sex,native-country";
    let shown =
        lines(&on_terminal(&folder, &format!("anonymize in.csv -o out.csv -k 5 --quasi {quasi}")));
    let is_bar =
        |line: &&String| line.contains(" left") && line.contains(" of ") && line.contains('%');
    let bars: Vec<&String> = shown.iter().filter(is_bar).collect();
    assert!(!bars.is_empty(), "{shown:?}");
    for line in &shown {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for bar in bars {
        let figures = bar.split('%').nth(1).unwrap();
        assert!(!figures.contains('.'), "whole numbers: {bar}");
        assert!(figures.contains(" rows, "), "{bar}");
        let figure = |text: &str| text.replace(',', "").trim().parse::<u64>().unwrap();
        let (done, total) = figures.split_once(" rows").unwrap().0.split_once(" of ").unwrap();
        assert!(figure(done) <= figure(total), "{bar}");
    }
    let words = ["reading rows", "finding groups", "verifying", "writing rows"];
    assert!(shown.iter().any(|line| words.iter().any(|own| line.starts_with(own))), "{shown:?}");
    let quiet = on_terminal(&folder, &format!("anonymize in.csv -o q.csv -k 5 --quasi {quasi} -q"));
    assert_eq!(quiet, "", "a quiet run shows nothing");
}

#[test]
fn what_is_printed_is_wrapped_at_words_on_a_terminal_and_nowhere_else() {
    let folder = Folder::with(PEOPLE);
    let hierarchies =
        "--hierarchy age=ranges:5,10,20 --hierarchy zip=prefix --hierarchy pay=ranges:10";
    for arguments in [
        "anonymize in.csv -o out.csv -k 3 --quasi age,zip --keep pay --accept unique-keep"
            .to_owned(),
        "check out.csv".to_owned(),
        "check in.csv --quasi age,zip --keep disease --accept low-k".to_owned(),
        "measure in.csv out.csv --quasi age,zip --queries 20".to_owned(),
        format!("lattice in.csv -k 3 --quasi age,zip,pay {hierarchies}"),
        "query out.csv --group-by pay --sum pay --avg pay".to_owned(),
    ] {
        let shown = lines(&on_terminal(&folder, &arguments));
        for line in &shown {
            assert!(line.chars().count() <= 80, "{arguments}: {line}");
        }
        if arguments.starts_with("anonymize") {
            folder.remove_release("out.csv");
        }
        let piped = folder.run_once(&arguments.split_whitespace().collect::<Vec<_>>());
        assert_eq!(piped.code, Some(0), "{arguments}: {}", piped.said());
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        if !arguments.starts_with("query") {
            let (on_terminal, in_pipe) = (words(&shown.join(" ")), words(&piped.out));
            let told = in_pipe.iter().filter(|word| !on_terminal.contains(word)).count();
            assert!(told <= 2, "{arguments}: all words are there, whole: {shown:?}");
        }
        let findings = piped.out.lines().filter(|line| line.starts_with("finding: "));
        assert!(
            findings
                .clone()
                .all(|line| line.ends_with(|end: char| end.is_alphanumeric() || end == ')'))
        );
    }
}

#[test]
fn tables_of_three_columns_fit_80_columns_in_pipes_too() {
    let folder = Folder::with(PEOPLE);
    let run = folder.run(
        "lattice in.csv -k 3 --quasi age,zip,pay --hierarchy age=ranges:5,10,20 \
         --hierarchy zip=prefix --hierarchy pay=ranges:10",
    );
    let table = run.out.lines().skip_while(|line| !line.trim_start().starts_with("age"));
    let table: Vec<&str> = table.take_while(|line| !line.is_empty()).collect();
    assert!(table.len() > 1, "{}", run.said());
    for line in table {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn an_interrupt_says_that_nothing_was_written() {
    let folder = Folder::new();
    folder.run("generate adult -n 60000 -o in.csv");
    let before = folder.names();
    let mut child =
        folder.start("anonymize in.csv -o out.csv -k 5 --quasi age,education,occupation,sex");
    wait_until_it_writes(&folder, &mut child);
    send("INT", &child);
    let ended = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{err}");
    assert_eq!(err, "albers: interrupted: nothing was written\n");
    assert_eq!(folder.names(), before);
}

#[test]
fn an_interrupted_batch_says_what_is_true_of_the_index() {
    use std::io::Write as _;
    let folder = index_of(60);
    let mut command = folder.command();
    command.args(["index", "insert", "idx", "-"]);
    let pipe = std::process::Stdio::piped;
    let mut child = command.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
    let mut rows = child.stdin.take().unwrap();
    rows.write_all(crate::common::living::people(60..64).as_bytes()).unwrap();
    // Looked at from outside: who opens the index to see whether it is taken may take it.
    let holds_a_file_of_the_index = |opened: &Path| {
        let folder = folder.path("idx").canonicalize().unwrap();
        std::fs::read_dir(opened)
            .unwrap()
            .flatten()
            .any(|file| std::fs::read_link(file.path()).is_ok_and(|path| path.starts_with(&folder)))
    };
    let opened = PathBuf::from(format!("/proc/{}/fd", child.id()));
    while !holds_a_file_of_the_index(&opened) {
        assert!(child.try_wait().unwrap().is_none(), "the batch waits for its rows");
        std::thread::yield_now();
    }
    send("INT", &child);
    let ended = child.wait_with_output().unwrap();
    drop(rows);
    let err = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{err}");
    let says = "albers: interrupted: the index has all of the change or nothing of it; \
                'albers index info idx' tells which\n";
    assert_eq!(err, says);
    assert!(folder.run("index info idx").out.starts_with("60 rows"), "nothing of it");
}
