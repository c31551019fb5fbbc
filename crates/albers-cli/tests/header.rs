//! A first line that is no line of names: no command takes a person for the names of columns.

mod common;

use std::io::Write as _;

use common::{Folder, PEOPLE, piped};

/// [`PEOPLE`] without its first line.
fn nameless() -> &'static str {
    PEOPLE.split_once('\n').expect("there is a line of names").1
}

/// [`PEOPLE`] with the names that columns without names get.
fn numbered() -> String {
    format!("c1,c2,c3,c4,c5,c6\n{}", nameless())
}

/// Every command that reads a table, for the table `in.csv` with columns of these names.
fn commands(age: &str, zip: &str, disease: &str) -> Vec<String> {
    let roles = format!("--quasi {age},{zip} --sensitive {disease} -k 3");
    let anonymize = format!("{roles} --l-diversity {disease}=distinct:2");
    let hierarchies = format!("--hierarchy {zip}=prefix --hierarchy {age}=ranges:2,4 ");
    vec![
        format!("anonymize in.csv -o new.csv {anonymize}"),
        format!("anonymize in.csv -o new.csv {anonymize} --json"),
        "init in.csv -o new.toml".to_owned(),
        "init in.csv -o new.toml --json".to_owned(),
        format!("check in.csv --quasi {age},{zip} -k 1"),
        format!("lattice in.csv {roles} --type {zip}=code {hierarchies}"),
        format!("measure in.csv release.csv --quasi {age},{zip}"),
        format!("compact in.csv keyed.csv -o new.csv --key {age} --quasi {zip} -k 3"),
    ]
}

/// No cell of the first record is part of this text.
fn shows_nobody(text: &str, about: &str) {
    for cell in nameless().lines().take(1).flat_map(|line| line.split(',')) {
        assert!(!text.contains(cell), "{about} shows a cell of the first record: {text}");
    }
}

/// With releases of the named table for the commands that look at one.
fn folder_with(table: impl AsRef<[u8]>) -> Folder {
    let folder = Folder::with(numbered());
    folder.anonymize("in.csv -o release.csv --header --quasi c2,c3 -k 3");
    folder.anonymize("in.csv -o keyed.csv --header --quasi c3 --keep c2 -k 3");
    folder.write("in.csv", table);
    folder
}

#[test]
fn every_command_refuses_a_table_without_names_and_shows_nobody() {
    let folder = folder_with(nameless());
    let before = folder.files();
    for command in commands("age", "zip", "disease") {
        let run = folder.run(&command);
        assert_eq!(run.code, Some(2), "{command}: {}", run.said());
        assert_eq!((run.out.as_str(), run.err.lines().count()), ("", 1), "{command}: {}", run.err);
        assert!(run.err.contains("in.csv: the first line looks like a record"), "{}", run.err);
        assert!(run.err.contains("--no-header") && run.err.contains("--header"), "{}", run.err);
        shows_nobody(&run.err, &command);
        assert_eq!(folder.files(), before, "{command}: nothing is written");
    }
}

#[test]
fn packed_tables_folders_and_pipes_without_names_are_refused() {
    let folder = Folder::new();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(nameless().as_bytes()).unwrap();
    folder.write("in.csv.gz", packer.finish().unwrap());
    folder.write("in.csv.zst", zstd::encode_all(nameless().as_bytes(), 3).unwrap());
    folder.write("in.tsv", nameless().replace(',', "\t"));
    std::fs::create_dir(folder.path("parts")).unwrap();
    folder.write("parts/a.csv", PEOPLE);
    folder.write("parts/b.csv", nameless());
    let roles = "--quasi age,zip -k 3";
    for input in ["in.csv.gz", "in.csv.zst", "in.tsv", "parts"] {
        let run = folder.run(&format!("anonymize {input} -o out.csv {roles}"));
        assert_eq!(run.code, Some(2), "{input}: {}", run.said());
        assert!(run.err.contains("looks like a record"), "{input}: {}", run.err);
        shows_nobody(&run.said(), input);
    }
    for command in ["anonymize - -o -", "check -", "lattice -"] {
        let (code, out, err) = piped(&folder, &format!("{command} {roles}"), nameless().as_bytes());
        assert_eq!((code, out.len()), (Some(2), 0), "{command}: {err}");
        assert!(err.contains("standard input: the first line looks like a record"), "{err}");
        shows_nobody(&err, command);
    }
}

#[test]
fn a_table_without_names_gives_what_one_with_numbered_names_gives() {
    let (nameless, named) = (folder_with(nameless()), folder_with(numbered()));
    for command in commands("c2", "c3", "c4") {
        let got = nameless.run(&format!("{command} --no-header"));
        let expected = named.run(&format!("{command} --header"));
        assert_eq!((got.code, expected.code), (Some(0), Some(0)), "{command}: {}", got.said());
        for (name, bytes) in named.files() {
            if name == "in.csv" {
                continue;
            }
            let mut text = String::from_utf8(bytes).unwrap();
            // A job says what its table is; recipes say that a release has names.
            if name.ends_with(".toml") {
                text = text.replace("header = true", "header = false");
            }
            assert_eq!(nameless.read(&name), text, "{command}: {name}");
        }
        for folder in [&nameless, &named] {
            for name in folder.names().iter().filter(|name| name.starts_with("new")) {
                std::fs::remove_file(folder.path(name)).unwrap();
            }
        }
    }
}

#[test]
fn every_file_of_a_folder_without_names_is_rows_from_its_first_line_on() {
    let folder = Folder::with(nameless());
    std::fs::create_dir(folder.path("parts")).unwrap();
    let lines: Vec<&str> = nameless().lines().collect();
    folder.write("parts/a.csv", lines[..5].join("\n"));
    folder.write("parts/b.csv", lines[5..].join("\n"));
    let job = "--no-header --quasi c2,c3 --sensitive c4 -k 3";
    let whole = folder.anonymize(&format!("in.csv -o whole.csv {job}"));
    folder.anonymize(&format!("parts -o out.csv {job}"));
    assert_eq!(whole["rows"], 12);
    assert_eq!(folder.read("out.csv"), folder.read("whole.csv"));
    let (code, out, err) = piped(
        &folder,
        &format!("anonymize - -o - {job} --accept secret-without-rule"),
        nameless().as_bytes(),
    );
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(String::from_utf8(out).unwrap(), folder.read("whole.csv"));
}

#[test]
fn a_job_file_says_what_the_first_line_is_and_init_writes_it() {
    let folder = Folder::with(nameless());
    let run = folder.run("init in.csv --no-header -k 3");
    assert_eq!(run.code, Some(0), "{}", run.said());
    let job = folder.read("job.toml");
    assert!(job.contains("\nheader = false\n") && job.contains("[columns.\"c2\"]"), "{job}");
    shows_nobody(&run.said(), "init");
    let run = folder.run("anonymize --job job.toml -o out.csv");
    assert_eq!(run.code, Some(0), "{}", run.said());
    let release = folder.read("out.csv");
    assert!(release.starts_with('c') && release.lines().count() == 13, "{release}");
    // What the job says of its input is not said of the release, which has names.
    let run = folder.run("check out.csv --job job.toml");
    assert_eq!(run.code, Some(0), "{}", run.said());
    let run = folder.run("anonymize --job job.toml -o again.csv --header");
    assert_eq!(run.code, Some(2), "a flag overrides the job: {}", run.said());
    assert!(folder.run("init --schema").out.contains("\"header\""));
}

#[test]
fn names_that_look_like_values_are_names_if_the_user_says_so() {
    let folder = Folder::with("town,2019,2020\nUlm,51,60\nKiel,52,61\nBonn,53,62\nHof,54,63\n");
    let job = "in.csv -o out.csv --quasi 2019,2020 -k 2";
    let run = folder.run(&format!("anonymize {job}"));
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(!run.err.contains("2019"), "{}", run.err);
    folder.anonymize(&format!("{job} --header"));
    assert!(folder.read("out.csv").starts_with("2019,2020\n"));
    let run = folder.run("measure in.csv out.csv --header --quasi 2019,2020");
    assert_eq!(run.code, Some(0), "{}", run.said());
}

#[test]
fn json_is_refused_as_what_it_is() {
    let folder = Folder::with("{\"name\": \"Xanthippe\", \"age\": 7301}\n{\"name\": \"Oswin\"}\n");
    folder.write("people.json", "[\n{\"name\": \"Xanthippe\"}\n]\n");
    for (input, says, hint) in [
        ("in.csv", "this looks like JSON", "--from jsonl"),
        ("people.json", "this is one JSON array", "jq -c '.[]' people.json"),
    ] {
        for command in ["anonymize X -o out.csv --quasi age -k 2", "init X", "check X --quasi age"]
        {
            let run = folder.run(&command.replace('X', input));
            assert_eq!(run.code, Some(2), "{}", run.said());
            assert!(run.err.contains(says) && run.err.contains(hint), "{}", run.err);
            shows_nobody(&run.said(), command);
        }
    }
    let (code, _, err) = piped(&folder, "anonymize - -o - --quasi age -k 2", b"[{\"age\": 7301}]");
    assert_eq!(code, Some(2));
    assert!(err.contains("this looks like JSON"), "{err}");
}

#[test]
fn the_flags_have_no_effect_on_parquet_and_contradict_each_other() {
    let folder = Folder::with(PEOPLE);
    folder.anonymize("in.csv -o in.parquet --quasi age,zip -k 3 --values bounds");
    for (flags, says) in [
        ("--header", "--header has no effect on Parquet"),
        ("--no-header", "--no-header has no effect on Parquet"),
    ] {
        for command in [
            "anonymize in.parquet -o out.csv --quasi age_lo -k 2",
            "init in.parquet",
            "check in.parquet --quasi age_lo",
            "lattice in.parquet --quasi age_lo -k 2",
        ] {
            let run = folder.run(&format!("{command} {flags}"));
            assert_eq!(run.code, Some(2), "{command}: {}", run.said());
            assert!(run.err.contains(says), "{command}: {}", run.err);
        }
    }
    let run = folder.run("check in.csv --quasi age --header --no-header");
    assert_eq!(run.code, Some(2), "{}", run.said());
}

#[test]
fn real_tables_need_no_flag() {
    let folder = Folder::new();
    for kind in ["agrawal", "lands-end", "customer", "adult", "voters"] {
        let run = folder.run(&format!("generate {kind} -n 300 -o {kind}.csv"));
        assert_eq!(run.code, Some(0), "{kind}: {}", run.said());
        let run = folder.run(&format!("init {kind}.csv -o {kind}.toml"));
        assert_eq!(run.code, Some(0), "{kind}: {}", run.said());
        let text = folder.read(&format!("{kind}.csv"));
        folder.write("nameless.csv", text.split_once('\n').unwrap().1);
        let run = folder.run("init nameless.csv -o nameless.toml");
        assert_eq!(run.code, Some(2), "{kind} without its names: {}", run.said());
    }
}
