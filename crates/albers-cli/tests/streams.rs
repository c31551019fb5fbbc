//! Standard input and output, folders and patterns of files, and where the manifest goes.

mod common;

use common::{Folder, PEOPLE, piped};

const JOB: &str = "--quasi age,zip --type zip=code --hierarchy zip=prefix --sensitive disease -k 3";

/// The release of the table as a file.
fn release_of(folder: &Folder, output: &str, more: &str) -> Vec<u8> {
    folder.anonymize(&format!("in.csv -o {output} {JOB} {more}"));
    folder.bytes(output)
}

#[test]
fn a_pipe_through_the_program_gives_what_files_give() {
    let folder = Folder::with(PEOPLE);
    for (to, output) in [("csv", "out.csv"), ("tsv", "out.tsv"), ("parquet", "out.parquet")] {
        let expected = release_of(&folder, output, "");
        let arguments = format!("anonymize - -o - --to {to} {JOB} --manifest {to}.json");
        let (code, out, err) = piped(&folder, &arguments, PEOPLE.as_bytes());
        assert_eq!(code, Some(0), "{err}");
        assert!(out == expected, "{to}: the pipe gives other bytes than the file");
        assert!(err.contains("verified: k = 3"), "the summary goes to standard error: {err}");
        let manifest: serde_json::Value =
            serde_json::from_str(&folder.read(&format!("{to}.json"))).unwrap();
        assert_eq!(manifest["rows"], 12);
    }
}

#[test]
fn tables_of_every_format_come_through_a_pipe() {
    let folder = Folder::with(PEOPLE);
    let expected = String::from_utf8(release_of(&folder, "out.csv", "")).unwrap();
    let tabs = PEOPLE.replace(',', "\t");
    let packed = zstd::encode_all(PEOPLE.as_bytes(), 3).unwrap();
    for (from, input) in
        [("", PEOPLE.as_bytes()), ("--from tsv", tabs.as_bytes()), ("--from csv", &packed[..])]
    {
        let (code, out, err) =
            piped(&folder, &format!("anonymize - -o - --to csv {from} {JOB}"), input);
        assert_eq!(code, Some(0), "{from}: {err}");
        assert_eq!(String::from_utf8(out).unwrap(), expected, "{from}");
    }
    let keep = "--quasi age,zip --keep name,disease,pay,born -k 1";
    folder.anonymize(&format!("in.csv -o all.parquet --values interval {keep}"));
    let (code, out, err) = piped(
        &folder,
        "anonymize - -o - --from parquet --quasi pay -k 3",
        &folder.bytes("all.parquet"),
    );
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out.iter().filter(|&&byte| byte == b'\n').count(), 13);
}

/// What a reader gets is a whole release or nothing at all.
#[test]
fn nothing_reaches_standard_output_of_a_job_that_is_refused() {
    let folder = Folder::with(PEOPLE);
    for (job, exit_code) in [
        ("--quasi age -k 13", 2),
        ("--quasi age --sensitive disease --alpha disease=0.2 -k 2", 1),
        ("--quasi shoe -k 2", 2),
        ("--quasi age -k 2 --json", 2),
        ("--quasi age -k 2 --also-k 4", 2),
    ] {
        let (code, out, err) =
            piped(&folder, &format!("anonymize - -o - {job}"), PEOPLE.as_bytes());
        assert_eq!((code, out.len()), (Some(exit_code), 0), "{job}: {err}");
        assert_eq!(folder.names(), ["in.csv"], "{job}");
    }
}

#[test]
fn a_pipe_larger_than_memory_is_spilled_and_released_like_a_file() {
    let folder = Folder::new();
    folder.run("generate adult -n 9000 --seed 3 -o in.csv");
    let job = "--quasi age,sex,education,workclass -k 5 --memory 300KB \
               --least-memory 300KB";
    let report = folder.anonymize(&format!("in.csv -o out.csv {job}"));
    assert!(report["bytes"]["partition_spilled"].as_u64().unwrap() > 0, "{report}");
    let arguments = format!("anonymize - -o piped.csv --json {job}");
    let (code, out, err) = piped(&folder, &arguments, &folder.bytes("in.csv"));
    assert_eq!(code, Some(0), "{err}");
    assert!(folder.bytes("piped.csv") == folder.bytes("out.csv"));
    let piped: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert!(piped["bytes"]["partition_spilled"].as_u64().unwrap() > 0, "{piped}");
    // The size of the source would tell of rows that are left out.
    assert!(!folder.read("piped.csv.manifest.json").contains("bytes"));
    let n_bytes = folder.bytes("in.csv").len() as u64;
    assert_eq!(piped["bytes"]["source"], n_bytes, "a pipe is read once");
    assert_eq!(report["bytes"]["source"], 2 * n_bytes, "a file is read twice");
}

#[test]
fn a_folder_or_a_pattern_of_files_is_one_table() {
    let folder = Folder::with(PEOPLE);
    let expected = release_of(&folder, "out.csv", "");
    std::fs::create_dir(folder.path("parts")).unwrap();
    let lines: Vec<&str> = PEOPLE.lines().collect();
    for (part, rows) in lines[1..].chunks(5).enumerate() {
        let text = format!("{}\n{}\n", lines[0], rows.join("\n"));
        folder.write(&format!("parts/part-{part}.csv"), text);
    }
    folder.write("parts/_SUCCESS", "");
    for input in ["parts", "parts/*.csv", "parts/part-?.csv"] {
        let run = folder.run(&format!("anonymize {input} -o again.csv --force {JOB}"));
        assert_eq!(run.code, Some(0), "{}", run.said());
        assert!(folder.bytes("again.csv") == expected, "{input}");
    }
    folder.write("parts/part-9.csv", "name,age\nXerxes,7399\n");
    let run = folder.run(&format!("anonymize parts -o third.csv {JOB}"));
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("part-9.csv"), "{}", run.err);
    assert!(!folder.path("third.csv").exists());
    let run = folder.run(&format!("anonymize nowhere/*.csv -o third.csv {JOB}"));
    assert_eq!(run.code, Some(2), "{}", run.said());
}

#[test]
fn an_input_in_a_folder_cannot_be_the_output() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("parts")).unwrap();
    folder.write("parts/a.csv", PEOPLE);
    let run = folder.run(&format!("anonymize parts -o parts/a.csv {JOB}"));
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("is also an input"), "{}", run.err);
    assert_eq!(folder.read("parts/a.csv"), PEOPLE);
    let run = folder.run(&format!("anonymize parts -o out.csv --manifest parts/a.csv {JOB}"));
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert_eq!(folder.read("parts/a.csv"), PEOPLE);
}

/// Otherwise the next run would count everybody twice.
#[test]
fn people_of_a_folder_are_not_counted_twice() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("parts")).unwrap();
    folder.write("parts/a.csv", PEOPLE);
    let run = folder.run(&format!("anonymize parts -o parts/out.csv {JOB}"));
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(run.err.contains("among the tables"), "{}", run.err);
    let run = folder.run(&format!("anonymize parts/a.csv -o parts/out.csv {JOB}"));
    assert_eq!(run.code, Some(0), "one file may have its release beside it: {}", run.said());
    let run = folder.run(&format!("anonymize parts -o out.csv {JOB}"));
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(run.err.contains("is a release"), "{}", run.err);
    std::fs::create_dir(folder.path("links")).unwrap();
    folder.write("links/a.csv", PEOPLE);
    std::os::unix::fs::symlink("a.csv", folder.path("links/b.csv")).unwrap();
    let run = folder.run(&format!("anonymize links -o out.csv {JOB}"));
    assert_eq!(run.code, Some(2), "{}", run.said());
    assert!(run.err.contains("are the same file"), "{}", run.err);
}

#[test]
fn no_output_replaces_another_or_a_device_or_what_is_read() {
    let folder = Folder::with(PEOPLE);
    let made = std::process::Command::new("mkfifo").arg(folder.path("fifo.csv")).status().unwrap();
    assert!(made.success());
    for outputs in [
        "-o out.csv --manifest ./out.csv",
        "-o out.csv --also-k 4 --manifest out.k4.csv",
        "-o out.csv --also-k 4 --manifest out.k4.csv.manifest.json",
        "-o out.csv --manifest -",
        "-o - --manifest -",
        "-o fifo.csv",
        "-o out.csv --manifest fifo.csv",
    ] {
        let names = folder.names();
        let run = folder.run(&format!("anonymize in.csv {outputs} {JOB}"));
        assert_eq!(run.code, Some(2), "{outputs}: {}", run.said());
        assert_eq!(folder.names(), names, "{outputs}");
    }
    let script = format!("{} anonymize - -o in.csv {JOB} < in.csv", env!("CARGO_BIN_EXE_albers"));
    let mut shell = std::process::Command::new("sh");
    let status = shell.args(["-c", &script]).current_dir(folder.path("")).status().unwrap();
    assert_eq!((status.code(), folder.read("in.csv").as_str()), (Some(2), PEOPLE));
}

#[test]
fn compaction_takes_streams_and_folders_like_any_other_command() {
    let folder = Folder::with(PEOPLE);
    folder.run("anonymize in.csv -o wide.csv -k 3 --quasi age --keep name --no-compact");
    let arguments = "compact in.csv wide.csv --key name --quasi age -o -";
    let run = folder.run(arguments);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.starts_with("age\n") && run.out.lines().count() == 13, "{}", run.out);
    assert!(run.err.contains("wrote to standard output"), "{}", run.err);
    let run = folder.run(&format!("{arguments} --json"));
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    std::fs::create_dir(folder.path("given")).unwrap();
    std::fs::rename(folder.path("wide.csv"), folder.path("given/wide.csv")).unwrap();
    let before = folder.read("given/wide.csv");
    for release in ["given", "given/*.csv"] {
        let run = folder
            .run(&format!("compact in.csv {release} --key name --quasi age -o given/wide.csv"));
        assert_eq!(run.code, Some(2), "{}", run.said());
        assert_eq!(folder.read("given/wide.csv"), before, "{release}");
    }
}

#[test]
fn a_manifest_goes_where_it_is_told_to() {
    let folder = Folder::with(PEOPLE);
    let run = folder.run(&format!("anonymize in.csv -o out.csv --manifest told.json {JOB}"));
    assert_eq!(run.code, Some(0), "{}", run.said());
    assert!(run.out.contains("wrote out.csv, out.csv.codebook.md, "), "{}", run.out);
    assert!(run.out.contains(" and told.json in"), "{}", run.out);
    let names = ["in.csv", "out.csv", "out.csv.codebook.json", "out.csv.codebook.md", "told.json"];
    assert_eq!(folder.names(), names);
    let run = folder.run(&format!("anonymize in.csv -o out.csv --manifest out.csv {JOB}"));
    assert_eq!(run.code, Some(2), "{}", run.said());
}

#[test]
fn checks_read_pipes_too() {
    let folder = Folder::with(PEOPLE);
    let (code, out, err) =
        piped(&folder, "check - --quasi age --accept low-k --json", PEOPLE.as_bytes());
    assert_eq!(code, Some(0), "{err}");
    let report: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!((&report["rows"], &report["k"]), (&12.into(), &1.into()));
}

/// Every field of the example in the help can be found in the schema, and the other way round.
#[test]
fn the_schema_of_a_job_file_knows_its_fields() {
    let folder = Folder::new();
    let run = folder.run("init --schema");
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let schema: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let fields = schema["properties"].as_object().unwrap();
    for field in ["input", "output", "k", "method", "also-k", "spill-dir", "from", "manifest"] {
        assert!(fields.contains_key(field), "{field} is not in {:?}", fields.keys());
    }
    let methods = &fields["method"]["enum"];
    assert!(methods.as_array().unwrap().contains(&"bottom-up".into()), "{methods}");
    assert_eq!(schema["additionalProperties"], false);
    assert!(folder.names().is_empty(), "nothing is written");
}
