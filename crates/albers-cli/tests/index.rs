//! An index through the program: its whole life, what it publishes, and what its folder is.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, StringArray};
use common::living::{
    HEADER, ROLES, done, index_of, json, lines, once, people, person, sorted_rows, table_of,
};
use common::{Folder, array, assert_is_part_of, piped, send};
use serde_json::Value;

/// Key and disease of all rows of a release that keeps the key.
fn diseases(folder: &Folder, release: &str) -> BTreeMap<String, String> {
    let keys = folder.column(release, "id");
    keys.into_iter().zip(folder.column(release, "disease")).collect()
}

/// What was done, without the time that it took.
fn counts(report: &Value) -> [u64; 5] {
    ["inserted", "updated", "deleted", "unchanged", "rows"]
        .map(|field| report[field].as_u64().unwrap_or_else(|| panic!("no {field}: {report}")))
}

/// Whether a text is in the bytes of a file of the index.
fn is_in_files(folder: &Folder, text: &str) -> bool {
    let entries = std::fs::read_dir(folder.path("idx")).unwrap();
    let mut files = entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    files.any(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
}

#[test]
fn help_lists_the_commands_in_the_order_of_a_life() {
    let run = done(&Folder::new(), "index --help");
    let commands =
        ["create", "insert", "update", "delete", "sync", "release", "info", "check", "compact"];
    let places: Vec<Option<usize>> =
        commands.iter().map(|name| run.out.find(&format!("\n  {name} "))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{}", run.out);
}

#[test]
fn an_index_lives() {
    let folder = index_of(30);
    let keep = "--keep id --accept unique-keep:id,linkage";
    let first = json(&folder, "index release idx -o first.csv");
    assert_eq!(
        (&first["release"], &first["rows"], &first["waiting"]),
        (&1.into(), &30.into(), &0.into())
    );
    assert!(first["smallest_set"].as_u64().unwrap() >= 3);
    assert_eq!(folder.csv("first.csv")[0], ["age", "zip", "disease"], "the key is not published");

    folder.write("more.csv", people(30..40));
    assert_eq!(counts(&json(&folder, "index insert idx more.csv")), [10, 0, 0, 0, 40]);
    let mut changed = lines([3, 4, 5]);
    changed[0] = changed[0].replace("measles", "mumps");
    changed[1] = changed[1].replace("mumps", "measles");
    folder.write("changed.csv", table_of(&changed));
    assert_eq!(counts(&json(&folder, "index update idx changed.csv")), [0, 2, 0, 1, 40]);
    folder.write("keys.csv", format!("note,id\nof no effect,{}\n", person(7)[0]));
    assert_eq!(counts(&json(&folder, "index delete idx keys.csv")), [0, 0, 1, 0, 39]);

    json(&folder, &format!("index release idx -o second.csv {keep}"));
    let all = (0..40).filter(|&number| number != 7).map(person);
    let mut expected: BTreeMap<String, String> =
        all.map(|[id, _, _, disease]| (id, disease)).collect();
    expected.insert(person(3)[0].clone(), "mumps".to_owned());
    expected.insert(person(4)[0].clone(), "measles".to_owned());
    assert_eq!(diseases(&folder, "second.csv"), expected);

    // The whole table as it was, with the row that was removed and one more, without two others.
    folder.write("extract.csv", people((0..39).chain([50]).filter(|&number| number != 20)));
    let synced = json(&folder, "index sync idx extract.csv");
    assert_eq!(counts(&synced), [2, 2, 2, 35, 39]);
    json(&folder, &format!("index release idx -o third.csv {keep}"));
    let all = (0..39).chain([50]).filter(|&number| number != 20).map(person);
    let expected = all.map(|[id, _, _, disease]| (id, disease)).collect();
    assert_eq!(diseases(&folder, "third.csv"), expected);

    let info = json(&folder, "index info idx");
    assert_eq!((&info["rows"], &info["key"]), (&39.into(), &"id".into()));
    assert_eq!(info["releases"].as_array().unwrap().len(), 3);
    assert!(info["leaves"].as_u64().unwrap() > 1 && info["bytes"].as_u64().unwrap() > 0);
    let compacted = json(&folder, "index compact idx");
    assert!(compacted["bytes_before"].as_u64() > Some(0), "{compacted}");
    assert_eq!(compacted["bytes_after"], json(&folder, "index info idx")["bytes"]);
    assert!(!is_in_files(&folder, &person(39)[0]), "nothing is left of a row that is gone");
    assert!(is_in_files(&folder, &person(38)[0]));
    let checked = json(&folder, "index check idx");
    assert_eq!((&checked["rows"], &checked["problems"]), (&39.into(), &Value::Array(Vec::new())));
    json(&folder, &format!("index release idx -o fourth.csv {keep}"));
    assert_eq!(sorted_rows(&folder, "fourth.csv"), sorted_rows(&folder, "third.csv"));
}

#[test]
fn an_index_of_parquet_lives() {
    let folder = Folder::new();
    let write = |name: &str, numbers: &[i64]| {
        let ids = array(Int64Array::from_iter_values(numbers.iter().copied()));
        let ages = numbers.iter().map(|number| 20 + number * 7 % 50);
        let ages = array(Int64Array::from_iter_values(ages));
        let pays = array(Int64Array::from_iter_values(numbers.iter().map(|number| number % 4)));
        folder.write_parquet(name, vec![("id", ids), ("age", ages), ("pay", pays)]);
    };
    write("in.parquet", &(0..20).collect::<Vec<_>>());
    done(&folder, "index create idx in.parquet --key id --quasi age --keep pay -k 2");
    done(&folder, "index release idx -o first.parquet");
    write("more.parquet", &(20..28).collect::<Vec<_>>());
    assert_eq!(counts(&json(&folder, "index insert idx more.parquet")), [8, 0, 0, 0, 28]);
    let ids = array(Int64Array::from_iter_values([3, 4]));
    folder.write_parquet("keys.parquet", vec![("id", ids)]);
    assert_eq!(counts(&json(&folder, "index delete idx keys.parquet")), [0, 0, 2, 0, 26]);
    let accept = "--keep id --accept unique-keep:id,linkage";
    let report = json(&folder, &format!("index release idx -o second.parquet {accept}"));
    assert_eq!(report["rows"], 26);
    let released = folder.parquet("second.parquet");
    let column = |name: &str| {
        released.column_by_name(name).unwrap().as_primitive::<Int64Type>().values().to_vec()
    };
    let rows = column("id").into_iter().zip(column("pay")).collect::<BTreeMap<_, _>>();
    let expected = (0..28).filter(|id| ![3, 4].contains(id)).map(|id| (id, id % 4));
    assert_eq!(rows, expected.collect());
    assert_eq!(json(&folder, "index check idx")["problems"], Value::Array(Vec::new()));

    let names = array(StringArray::from_iter_values(["x"]));
    folder.write_parquet("other.parquet", vec![("id", names)]);
    let run = once(&folder, "index delete idx other.parquet");
    assert_eq!(run.code, Some(2), "a key of another type: {}", run.said());
}

#[test]
fn words_tell_what_was_done() {
    let folder = Folder::with(people(0..30));
    let made = done(&folder, &format!("index create idx --key id {ROLES}"));
    assert!(made.out.starts_with("created idx with 0 rows"), "{}", made.out);
    let batch = done(&folder, "index insert idx in.csv");
    let words = "inserted 30 rows, updated 0, deleted 0, 0 unchanged; the index has 30 rows\n";
    assert!(batch.out.starts_with(words), "{}", batch.out);
    let info = done(&folder, "index info idx");
    assert!(info.out.contains("no releases yet"), "{}", info.out);
    let release = done(&folder, "index release idx -o first.csv");
    assert!(release.out.starts_with("release:  1 of the index\ntogether: "), "{}", release.out);
    let wrote = "wrote first.csv, first.csv.codebook.md, first.csv.codebook.json and \
                 first.csv.manifest.json";
    assert!(release.out.contains(wrote), "{}", release.out);
    let info = done(&folder, "index info idx");
    assert!(info.out.contains("release 1: 30 rows in "), "{}", info.out);
    let check = done(&folder, "index check idx");
    assert!(
        check.out.starts_with("30 rows in ") && check.out.contains("no problem"),
        "{}",
        check.out
    );
    let compact = done(&folder, "index compact idx");
    assert!(
        compact.out.contains(" before, ") && compact.out.contains("wrote idx"),
        "{}",
        compact.out
    );
}

#[test]
fn an_index_is_used_from_any_folder() {
    let folder = Folder::with(people(0..30));
    let leaves = (1900..1940).map(|zip| format!("0{zip};0{}*;*\n", zip / 10));
    folder.write("zip.txt", leaves.collect::<String>());
    done(&folder, &format!("index create idx --key id {ROLES} --hierarchy zip=zip.txt"));
    std::fs::create_dir(folder.path("sub")).unwrap();
    let mut command = folder.command();
    command.current_dir(folder.path("sub")).args(["index", "insert", "../idx", "../in.csv"]);
    let run = common::finished(&mut command);
    assert_eq!(run.code, Some(0), "{}", run.err);
    std::fs::remove_file(folder.path("zip.txt")).unwrap();
    assert_eq!(json(&folder, "index release idx -o out.csv")["rows"], 30);
    assert!(folder.column("out.csv", "zip").iter().any(|zip| zip.ends_with('*')));
}

#[test]
fn a_fresh_index_releases_what_anonymize_releases() {
    let folder = index_of(90);
    json(&folder, "index release idx -o index.csv");
    folder.anonymize(&format!("in.csv -o table.csv --method rtree {ROLES}"));
    assert_eq!(sorted_rows(&folder, "index.csv"), sorted_rows(&folder, "table.csv"));
}

#[test]
fn a_release_is_what_its_manifest_says() {
    let folder = index_of(60);
    let report = json(&folder, "index release idx -o out.csv --also-k 6 --owner-report own.json");
    for name in ["out.csv", "out.k6.csv"] {
        let checked = done(&folder, &format!("check {name}"));
        assert!(checked.out.contains("manifest"), "{}", checked.out);
    }
    assert_is_part_of(&folder.json("out.csv.manifest.json"), &report);
    let own = folder.json("own.json");
    assert_eq!((&own["release"], &own["digest"]), (&1.into(), &report["digest"]));
    let mode = folder.path("own.json").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    folder.write("out.csv", folder.read("out.csv").replacen("mumps", "rubella", 1));
    assert_eq!(once(&folder, "check out.csv").code, Some(1), "the digest is another");
}

#[test]
fn rows_come_and_releases_go_through_pipes() {
    let folder = Folder::with(people(0..30));
    let create = format!("index create idx - --key id {ROLES}");
    let (code, _, err) = piped(&folder, &create, people(0..30).as_bytes());
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let (code, _, err) = piped(&folder, "index insert idx - --from csv", people(30..36).as_bytes());
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let run = done(&folder, "index release idx -o -");
    assert_eq!(run.out.lines().count(), 37);
    assert!(run.err.contains("release:  1 of the index"), "{}", run.err);
    assert_eq!(folder.names(), ["idx", "in.csv"]);
}

#[test]
fn the_folder_is_private() {
    let folder = index_of(30);
    done(&folder, "index release idx -o out.csv");
    let mode = |path: std::path::PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.path("idx")), 0o700);
    let files: Vec<_> = std::fs::read_dir(folder.path("idx")).unwrap().collect();
    assert!(files.len() >= 3);
    for file in files {
        let path = file.unwrap().path();
        assert_eq!(mode(path.clone()), 0o600, "{}", path.display());
    }
}

#[test]
fn linkage_stops_a_release_until_it_is_accepted() {
    let folder = index_of(30);
    done(&folder, "index release idx -o first.csv");
    folder.write("one.csv", people([30]));
    done(&folder, "index insert idx one.csv");
    let names = folder.names();
    let run = once(&folder, "index release idx -o second.csv");
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{}", run.err);
    assert!(run.err.contains("--accept linkage"), "{}", run.err);
    assert_eq!(folder.names(), names, "nothing is written");
    assert_eq!(json(&folder, "index info idx")["releases"].as_array().unwrap().len(), 1);

    let report = json(&folder, "index release idx -o second.csv --accept linkage");
    assert!(report["rows_below"].as_u64().unwrap() > 0, "{report}");
    let manifest = folder.json("second.csv.manifest.json");
    assert_eq!(manifest["accepted"], serde_json::json!(["linkage"]));
    for field in ["release", "smallest_set", "rows_below", "waiting"] {
        assert!(manifest.get(field).is_none(), "{field} is the owner's");
    }
    let findings = manifest["findings"].as_array().unwrap();
    assert!(findings.iter().all(|own| own["name"] != "linkage"), "{manifest}");
    done(&folder, "check second.csv");
    assert_eq!(json(&folder, "index info idx")["releases"][1]["linkage_accepted"], true);
}

#[test]
fn a_batch_of_new_rows_passes_or_waits() {
    let folder = index_of(30);
    done(&folder, "index release idx -o first.csv");
    folder.write("one.csv", people([30]));
    done(&folder, "index insert idx one.csv");
    let report = json(&folder, "index release idx -o second.csv --batch");
    let told = ["rows", "suppressed", "waiting", "rows_below"].map(|field| &report[field]);
    assert_eq!(told, [30, 0, 1, 0]);
    assert_eq!(sorted_rows(&folder, "second.csv"), sorted_rows(&folder, "first.csv"));
    folder.write("more.csv", people(31..36));
    done(&folder, "index insert idx more.csv");
    let report = json(&folder, "index release idx -o third.csv --batch");
    let told = ["rows", "suppressed", "waiting", "rows_below"].map(|field| &report[field]);
    assert_eq!(told, [36, 0, 0, 0]);
    assert_eq!(folder.csv("third.csv").len(), 37);
}

#[test]
fn compacting_rows_that_cannot_be_released_yet_loses_none() {
    let folder = Folder::with(people([0]));
    done(&folder, &format!("index create idx in.csv --key id {ROLES}"));
    done(&folder, "index compact idx");
    // Its values are new, so that the rows have codes of two epochs.
    folder.write("more.csv", people([7]));
    done(&folder, "index insert idx more.csv");
    done(&folder, "index compact idx");
    done(&folder, "index check idx");
    folder.write("more.csv", people(8..20));
    done(&folder, "index insert idx more.csv");
    assert_eq!(json(&folder, "index release idx -o out.csv")["rows"], 14);
}

#[test]
fn an_interrupt_leaves_the_last_commit() {
    let folder = index_of(30);
    let mut command = folder.command();
    command.args(["index", "insert", "idx", "-"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // More than a pipe holds: when all of it is written, the program has begun to read.
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{HEADER}").unwrap();
    for line in lines(30..18_000) {
        writeln!(stdin, "{line}").unwrap();
    }
    send("INT", &child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdin);
    assert_eq!(json(&folder, "index info idx")["rows"], 30);
    assert_eq!(json(&folder, "index check idx")["problems"], Value::Array(Vec::new()));
    folder.write("more.csv", people(30..33));
    assert_eq!(counts(&json(&folder, "index insert idx more.csv")), [3, 0, 0, 0, 33]);
}

#[test]
fn a_flipped_byte_is_found_with_its_page() {
    const PAGE_BYTES: usize = 32 * 1024;
    let folder = index_of(30);
    done(&folder, "index release idx -o out.csv");
    let names = std::fs::read_dir(folder.path("idx")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let name = names.into_iter().find(|name| name.starts_with("pages.")).unwrap();
    let whole = folder.bytes(&format!("idx/{name}"));
    let mut n_found = 0;
    for page in 1..whole.len() / PAGE_BYTES {
        let mut bytes = whole.clone();
        bytes[page * PAGE_BYTES + 20] ^= 1;
        folder.write(&format!("idx/{name}"), &bytes);
        let run = once(&folder, "index check idx");
        if run.code == Some(0) {
            continue;
        }
        n_found += 1;
        assert_eq!((run.code, run.err.as_str()), (Some(1), ""), "page {page}: {}", run.out);
        let problem = format!("{name} is damaged: page {page} ");
        assert!(run.out.contains(&problem), "page {page}: {}", run.out);
        let told = once(&folder, "index check idx --json");
        let told: Value = serde_json::from_str(&told.out).unwrap();
        assert!(told["problems"][0]["problem"].as_str().unwrap().contains(&problem), "{told}");
    }
    assert!(n_found > 0, "some pages are in use");
    folder.write(&format!("idx/{name}"), &whole);
    done(&folder, "index check idx");
}
