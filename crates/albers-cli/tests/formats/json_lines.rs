//! JSON Lines, in and out.

use std::io::Write as _;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::common::{Folder, PEOPLE, piped};

const JOB: &str = "--quasi age,zip --type zip=code --hierarchy zip=prefix --sensitive disease -k 3";

/// The people as objects: numbers bare, codes as text.
fn people() -> String {
    let mut lines = PEOPLE.lines().map(|line| line.split(','));
    let names: Vec<&str> = lines.next().unwrap().collect();
    let objects = lines.map(|cells| {
        let entry = |(name, cell): (&&str, &str)| {
            let is_number = matches!(*name, "age" | "pay");
            let value = if is_number { cell.parse::<i64>().unwrap().into() } else { cell.into() };
            ((*name).to_owned(), value)
        };
        Value::Object(names.iter().zip(cells).map(entry).collect::<Map<String, Value>>())
    });
    objects.map(|object| format!("{object}\n")).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

#[test]
fn json_lines_give_the_release_that_csv_gives_however_they_come() {
    let folder = Folder::with(PEOPLE);
    folder.anonymize(&format!("in.csv -o expected.csv {JOB}"));
    let expected = folder.read("expected.csv");
    let text = people();
    folder.write("in.jsonl", &text);
    folder.write("in.ndjson", text.replace('\n', "\r\n\r\n"));
    folder.write("in.json", format!("\u{feff}{text}"));
    folder.write("in.jsonl.gz", gzip(text.as_bytes()));
    folder.write("in.ndjson.zst", zstd::encode_all(text.as_bytes(), 3).unwrap());
    folder.write("no_ending", &text);
    for input in [
        "in.jsonl",
        "in.ndjson",
        "in.json",
        "in.jsonl.gz",
        "in.ndjson.zst",
        "no_ending --from jsonl",
    ] {
        folder.anonymize(&format!("{input} -o out.csv {JOB}"));
        assert_eq!(folder.read("out.csv"), expected, "{input}");
    }
    let packed = gzip(text.as_bytes());
    for bytes in [text.as_bytes(), &packed] {
        let (code, out, err) =
            piped(&folder, &format!("anonymize - -o - --from jsonl {JOB}"), bytes);
        assert_eq!((code, String::from_utf8(out).unwrap()), (Some(0), expected.clone()), "{err}");
    }
}

#[test]
fn columns_are_the_keys_of_all_lines_in_the_order_in_which_they_appear() {
    let folder = Folder::new();
    folder.write(
        "in.jsonl",
        "{\"b\": 1.50, \"a\": true}\n\n{\"a\": null, \"c\": 12345678901234567890}\n\
         {\"c\": \"\", \"b\": \"x, \\\"y\\\"\\nz\"}\n{\"b\": 1e3}\n",
    );
    folder.anonymize("in.jsonl -o out.csv --quasi a --keep b,c --type b=text --type c=text -k 1");
    let text = folder.read("out.csv");
    assert!(text.starts_with("b,a,c\n"), "{text}");
    let mut rows: Vec<&str> = text["b,a,c\n".len()..].trim_end().split_inclusive(",\n").collect();
    rows.sort_unstable();
    let all = rows.concat();
    for record in ["1.50,true,", ",,12345678901234567890", "\"x, \"\"y\"\"\nz\",,", "1e3,,"] {
        assert!(all.contains(record), "{record}: {text}");
    }
}

#[test]
fn what_is_no_row_is_refused_with_its_line_and_its_key() {
    let folder = Folder::new();
    let good = "{\"age\": 7301, \"pay\": 52001}\n";
    for (line, says) in [
        ("{\"age\": {\"years\": 7302}}", "key 1 of the line holds an object"),
        ("{\"age\": [7302]}", "key 1 of the line holds an array"),
        ("{\"age\": 7302, \"pay\": 1, \"age\": 7303}", "key 3 of the line stands there before it"),
        ("[7302, 52002]", "not one whole JSON object"),
        ("7302", "not one whole JSON object"),
        ("{\"age\": 7302", "not one whole JSON object"),
        ("{\"age\": 7302} {\"age\": 7303}", "not one whole JSON object"),
        ("{\"age\": 007302}", "not one whole JSON object"),
        ("{\" \": 7302}", "a key has no name"),
        ("{\"age\": \"\\ud800 7302\"}", "the text of key 1 of the line is not valid"),
    ] {
        // The line stands behind a blank one, and behind a text of two lines.
        folder.write("in.jsonl", format!("{good}\n{{\"age\": \"a\\nb\"}}\n{line}\n{good}"));
        for command in ["anonymize in.jsonl -o out.csv --quasi age -k 2", "init in.jsonl"] {
            let run = folder.run(command);
            assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{line}: {}", run.err);
            assert!(run.err.contains("in.jsonl, line 4: "), "{line}: {}", run.err);
            assert!(run.err.contains(says) && !run.err.contains("730"), "{line}: {}", run.err);
        }
    }
    folder.write("in.jsonl", b"{\"age\": \"\xff7302\"}\n");
    let run = folder.run("init in.jsonl");
    assert!(run.err.contains("line 1: the line is not valid UTF-8"), "{}", run.err);
    assert!(run.err.contains("iconv") && !run.err.contains("--encoding"), "{}", run.err);
    // Keys may be people.
    folder.write("in.json", "{\"Ann Miller\": {\"age\": 7301}, \"Ben\": {\"age\": 7302}}\n");
    let run = folder.run("init in.json");
    assert!(run.err.contains("each key of the line holds an object"), "{}", run.err);
    assert!(run.err.contains("to_entries") && !run.err.contains("Ann"), "{}", run.err);
    folder.write("in.jsonl", "\n{}\n");
    let run = folder.run("init in.jsonl");
    assert!(run.code == Some(2) && run.err.contains("no object with a key"), "{}", run.err);
}

#[test]
fn a_cell_that_does_not_fit_is_told_by_its_line_of_the_json_file() {
    let folder = Folder::new();
    let mut text = String::new();
    for row in 0..400 {
        // Blank lines, and texts of several lines, which are more lines of delimited text.
        text.push_str(&format!("{{\"note\": \"a\\nb\\nc\", \"age\": {}}}\n\n", 20 + row % 50));
    }
    text.push_str("{\"age\": \"Xanthippe\"}\n");
    folder.write("in.jsonl", &text);
    for more in ["", "--type age=integer"] {
        let run = folder.run(&format!("anonymize in.jsonl -o out.csv --quasi age -k 2 {more}"));
        assert_eq!(run.code, Some(2), "{}", run.said());
        assert!(run.err.contains("line 801") && run.err.contains("age"), "{}", run.err);
        assert!(!run.said().contains("Xanthippe"), "{}", run.err);
        let (code, _, err) = piped(
            &folder,
            &format!("anonymize - --from jsonl -o - --quasi age -k 2 {more}"),
            text.as_bytes(),
        );
        assert!(code == Some(2) && err.contains("line 801"), "{err}");
    }
}

#[test]
fn an_array_of_objects_is_named_with_the_command_that_makes_lines_of_it() {
    let folder = Folder::new();
    let array = "[\n{\"name\": \"Xanthippe\", \"age\": 7301}\n]\n";
    folder.write("in.json", array);
    folder.write("in.jsonl", array);
    folder.write("in.csv", array);
    for (input, says) in [
        ("in.json", "jq -c '.[]' in.json > in.json.jsonl"),
        ("in.jsonl", "jq -c '.[]' in.jsonl > in.jsonl.jsonl"),
        ("in.csv --from jsonl", "jq -c '.[]' in.csv > in.csv.jsonl"),
        ("in.csv", "jq -c '.[]'"),
    ] {
        let run = folder.run(&format!("check {input} --quasi age"));
        assert_eq!(run.code, Some(2), "{}", run.said());
        assert!(run.err.contains(says) && !run.said().contains("Xan"), "{input}: {}", run.err);
    }
    let (code, _, err) = piped(&folder, "check - --quasi age", people().as_bytes());
    assert!(code == Some(2) && err.contains("--from jsonl"), "{err}");
}

#[test]
fn what_is_said_of_text_alone_is_refused_for_json_lines() {
    let folder = Folder::new();
    folder.write("in.jsonl", people());
    for (flags, says) in [
        ("--no-header", "--no-header has no effect on JSON Lines"),
        ("--delimiter ;", "--delimiter has no effect on JSON Lines"),
        ("--sheet people", "--sheet has no effect on JSON Lines"),
    ] {
        let run = folder.run(&format!("anonymize in.jsonl -o out.csv --quasi age -k 3 {flags}"));
        assert!(run.code == Some(2) && run.err.contains(says), "{flags}: {}", run.err);
    }
    // Of several tables that a command reads, one must be text.
    folder.write("other.csv", PEOPLE);
    for flag in ["--delimiter", "--encoding"] {
        let value = if flag == "--delimiter" { "," } else { "latin1" };
        for command in ["check in.jsonl", "measure in.jsonl in.jsonl"] {
            let run = folder.run(&format!("{command} --quasi age {flag} {value}"));
            let says = format!("{flag} has no effect on JSON Lines; drop it");
            assert!(run.code == Some(2) && run.err.contains(&says), "{command}: {}", run.err);
        }
        let run = folder.run(&format!("measure other.csv in.jsonl --quasi age {flag} {value}"));
        assert!(!run.err.contains("has no effect"), "{}", run.err);
    }
}

#[test]
fn several_files_of_json_lines_are_one_table() {
    let folder = Folder::with(PEOPLE);
    folder.anonymize(&format!("in.csv -o expected.csv {JOB}"));
    std::fs::create_dir(folder.path("parts")).unwrap();
    let text = people();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    folder.write("parts/a.jsonl", lines[..5].concat());
    folder.write("parts/b.jsonl.gz", gzip(lines[5..].concat().as_bytes()));
    folder.anonymize(&format!("parts -o out.csv {JOB}"));
    assert_eq!(folder.read("out.csv"), folder.read("expected.csv"));
    folder.write("parts/c.jsonl", "{\"age\": 7301}\n");
    let run = folder.run(&format!("anonymize parts -o out2.csv {JOB}"));
    assert!(run.code == Some(2) && run.err.contains("1 columns where"), "{}", run.err);
}

/// The objects of a release.
fn objects(folder: &Folder, name: &str) -> Vec<Map<String, Value>> {
    let text = folder.read(name);
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.map(|own: Value| own.as_object().unwrap().clone()).collect()
}

#[test]
fn a_release_of_json_lines_has_typed_cells_and_can_be_checked() {
    let folder = Folder::new();
    let mut table = "age,zip,disease,pay,rate,ok,born,seen\n".to_owned();
    for row in 0..24 {
        let seen = if row % 3 == 0 { "" } else { "2024-02-29 12:30:00" };
        table.push_str(&format!(
            "{},{:05},{},{},{}.50,{},1971-03-{:02},{seen}\n",
            20 + row,
            1900 + row,
            ["measles", "mumps"][row % 2],
            52_000 + row,
            row,
            row % 2 == 0,
            1 + row
        ));
    }
    folder.write("in.csv", table);
    let job = "--quasi age,zip --type zip=code --hierarchy zip=prefix --sensitive disease \
               --keep pay,rate,ok,born,seen -k 4";
    folder.anonymize(&format!("in.csv -o out.jsonl {job}"));
    let rows = objects(&folder, "out.jsonl");
    assert_eq!(rows.len(), 24);
    for row in &rows {
        let keys: Vec<&String> = row.keys().collect();
        assert_eq!(keys, ["age", "zip", "disease", "pay", "rate", "ok", "born", "seen"]);
        assert!(row["age"].as_str().unwrap().starts_with('['), "{row:?}");
        assert!(row["zip"].is_string() && row["disease"].is_string());
        assert!(row["pay"].is_i64() && row["rate"].is_f64() && row["ok"].is_boolean());
        assert!(row["born"].as_str().unwrap().starts_with("1971-03-"));
        assert!(row["seen"].is_null() || row["seen"] == "2024-02-29 12:30:00", "{row:?}");
    }
    assert!(rows.iter().any(|row| row["seen"].is_null()));
    let codebook = folder.json("out.jsonl.codebook.json");
    assert_eq!((&codebook["format"], codebook.get("delimiter")), (&json!("jsonl"), None));
    // The manifest is that of these bytes, and its promise holds of what is read again.
    let check = "--quasi age,zip --type zip=code --hierarchy zip=prefix";
    let run = folder.run(&format!("check out.jsonl {check}"));
    assert_eq!(run.code, Some(0), "{}", run.said());
    let digest = folder.json("out.jsonl.manifest.json")["digest"].clone();
    assert_eq!(digest, codebook["digest"]);
    folder.anonymize(&format!("in.csv -o out.csv {job}"));
    let (of_csv, of_json) = (
        folder.run(&format!("check out.csv {check} --json")),
        folder.run(&format!("check out.jsonl {check} --json")),
    );
    let report = |run: &str| -> Value { serde_json::from_str(run).unwrap() };
    assert_eq!(report(&of_csv.out)["classes"], report(&of_json.out)["classes"]);
    let run = folder
        .run("measure in.csv out.jsonl --quasi age,zip --type zip=code --hierarchy zip=prefix");
    assert_eq!(run.code, Some(0), "{}", run.said());
    let asked = ["age >= 30 and age <= 35"];
    let counts = ["out.csv", "out.jsonl"].map(|release| {
        let run = folder.run_with(&["query", release, asked[0], "--json"]);
        assert_eq!(run.code, Some(0), "{}", run.said());
        report(&run.out)["answers"].clone()
    });
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn bounds_in_json_lines_are_numbers_and_packed_files_hold_the_same() {
    let folder = Folder::with(PEOPLE);
    folder.anonymize(&format!("in.csv -o out.jsonl {JOB} --values bounds"));
    for row in objects(&folder, "out.jsonl") {
        let (low, high) = (row["age_min"].as_i64().unwrap(), row["age_max"].as_i64().unwrap());
        assert!((7301..=7312).contains(&low) && low <= high, "{row:?}");
    }
    let plain = folder.bytes("out.jsonl");
    folder.anonymize(&format!("in.csv -o out.ndjson.zst {JOB} --values bounds"));
    assert_eq!(zstd::decode_all(&folder.bytes("out.ndjson.zst")[..]).unwrap(), plain);
    let (code, out, err) = piped(
        &folder,
        &format!("anonymize - -o - --to jsonl {JOB} --values bounds"),
        PEOPLE.as_bytes(),
    );
    assert_eq!((code, out), (Some(0), plain), "{err}");
    let run = folder.run("check out.ndjson.zst");
    assert_eq!(run.code, Some(0), "{}", run.said());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever texts and numbers there are, and whatever keys are left out.
    #[test]
    fn a_table_as_json_lines_and_as_csv_gives_the_same_release(
        rows in prop::collection::vec(
            (20i64..60, "[a-z ,\"é]{0,6}", prop::option::of(-99i32..99)), 6..40),
    ) {
        let folder = Folder::new();
        let (mut csv, mut json) = ("age,note,n\n".to_owned(), String::new());
        for (row_idx, (age, note, n)) in rows.iter().enumerate() {
            let text = format!("\"{}\"", note.replace('"', "\"\""));
            csv.push_str(&format!("{age},{text},{}\n", n.map_or(String::new(), |n| n.to_string())));
            let mut object = Map::new();
            object.insert("age".to_owned(), (*age).into());
            object.insert("note".to_owned(), note.as_str().into());
            if row_idx == 0 || n.is_some() {
                object.insert("n".to_owned(), n.map_or(Value::Null, Value::from));
            }
            json.push_str(&format!("{}\n", Value::Object(object)));
        }
        folder.write("in.csv", csv);
        folder.write("in.jsonl", json);
        let job = "--header --quasi age --keep note,n --type note=text -k 3";
        folder.anonymize(&format!("in.csv -o a.csv {job}"));
        let job = job.trim_start_matches("--header ");
        folder.anonymize(&format!("in.jsonl -o b.csv {job}"));
        prop_assert_eq!(folder.read("a.csv"), folder.read("b.csv"));
        // And out again: what is read of a release of JSON Lines is what CSV says.
        folder.anonymize(&format!("in.jsonl -o c.jsonl {job}"));
        prop_assert_eq!(folder.run("check c.jsonl").code, Some(0));
    }
}
