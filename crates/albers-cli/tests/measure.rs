//! `albers measure` end to end: against tables computed by hand and against our own reports.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;

fn albers() -> Command {
    Command::cargo_bin("albers").unwrap()
}

struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Folder {
        Folder { folder: tempfile::tempdir().unwrap() }
    }

    /// A folder with an original and a release.
    fn with(original: &str, release: &str) -> Folder {
        let folder = Folder::new();
        std::fs::write(folder.path("original.csv"), original).unwrap();
        std::fs::write(folder.path("release.csv"), release).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn measure(&self, release: &str, flags: &[&str]) -> (i32, String, String) {
        let output = albers()
            .arg("measure")
            .arg(self.path("original.csv"))
            .arg(self.path(release))
            .args(flags)
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    fn json(&self, flags: &[&str]) -> Value {
        let (code, out, err) = self.measure("release.csv", &[flags, &["--json"]].concat());
        assert_eq!(code, 0, "{err}");
        serde_json::from_str(&out).unwrap()
    }

    fn fails(&self, flags: &[&str], code: i32, expected: &str) -> String {
        let (found, out, err) = self.measure("release.csv", flags);
        assert_eq!((found, out.as_str()), (code, ""), "{flags:?}: {err}");
        assert!(err.contains(expected), "{flags:?}: {err}");
        err
    }
}

fn close(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("no number, {expected} was expected"));
    let distance = (value - expected).abs();
    assert!(distance <= 1e-9 * expected.abs().max(1e-3), "{value} is not {expected}");
}

const ORIGINAL: &str = "id,age,job\n1,20,nurse\n2,30,cook\n3,60,cook\n4,60,smith\n";

#[test]
fn losses_are_as_computed_by_hand() {
    let release = "id,age,job\n2,\"[20, 30]\",\"{cook, nurse}\"\n1,\"[20, 30]\",\"{cook, nurse}\"\n\
                   3,60,*\n4,60,*\n";
    let folder = Folder::with(ORIGINAL, release);
    let found = folder.json(&["--quasi", "age,job", "--key", "id"]);
    assert_eq!((&found["classes"], &found["suppressed"]), (&2.into(), &0.into()));
    let loss = &found["loss"];
    close(&loss["discernibility"], 8.0);
    // Age: 2 rows of 10/40. Job: 2 rows of 1/2 and 2 rows of 1.
    close(&loss["ncp_by_column"]["age"], 0.125);
    close(&loss["ncp_by_column"]["job"], 0.75);
    close(&loss["certainty_penalty"], 3.5);
    close(&loss["ncp"], 3.5 / 8.0);
    // First class: 2 rows, volume 2 * 2; second: 2 rows, volume 1 * 3; all tuples differ.
    close(&loss["kl"], (2.0 * 2f64.ln() + 2.0 * 1.5f64.ln()) / 4.0);
    assert_eq!(found["kl_basis"]["base"], "e (nats)");

    let weighted = folder.json(&["--quasi", "age,job", "--weight", "job=3"]);
    close(&weighted["loss"]["certainty_penalty"], 0.5 + 3.0 * 3.0);
    close(&weighted["loss"]["ncp"], 9.5 / 16.0);
    assert!(weighted["loss"]["kl"].is_null());
    let (_, out, _) = folder.measure("release.csv", &["--quasi", "age,job"]);
    assert!(out.contains("not computed") && out.contains("--key"), "{out}");
    let (_, out, _) = folder.measure("release.csv", &["--quasi", "age,job", "--key", "id"]);
    assert!(out.contains("nats") && out.contains("that occur"), "{out}");
}

#[test]
fn rows_left_out_lose_everything() {
    let folder = Folder::with(ORIGINAL, "id,age,job\n1,20-30,nurse\n3,[60;61[,cook\n");
    for flags in [&["--quasi", "age,job"][..], &["--quasi", "age,job", "--key", "id"]] {
        let found = folder.json(flags);
        assert_eq!(found["suppressed"], 2);
        close(&found["loss"]["discernibility"], 1.0 + 1.0 + 2.0 * 4.0);
        close(&found["loss"]["certainty_penalty"], 0.25 + 2.0 * 2.0);
        close(&found["loss"]["ncp"], 4.25 / 8.0);
    }
}

#[test]
fn the_divergence_of_rows_left_out_spreads_them_over_the_domain() {
    let folder = Folder::with(ORIGINAL, "id,age,job\n1,20-30,nurse\n3,60,cook\n");
    let found = folder.json(&["--quasi", "age,job", "--key", "id"]);
    // Row 1 covers 2 values; the two rows left out share a cell of 3 * 3 values.
    close(&found["loss"]["kl"], (2f64.ln() + 2.0 * 4.5f64.ln()) / 4.0);
}

/// A table with missing values, codes, floats far apart, dates and duplicates, by arithmetic alone.
fn table() -> String {
    let mut text = String::from("id,age,zip,score,day,job,pay,disease\n");
    let jobs = ["cook", "nurse", "smith, black", "say \"hm\"", "clerk", "{tailor}", "baker"];
    for row in 0..600u64 {
        let mixed = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let age = if mixed % 11 == 0 { String::new() } else { (17 + mixed % 60).to_string() };
        let zip = if mixed % 13 == 0 {
            String::new()
        } else {
            format!("0{}{}{}", mixed % 3, mixed / 3 % 4, mixed / 12 % 5)
        };
        let score = ((mixed % 97) as f64 * 1.7).powi(3) + 0.1;
        let day = format!("20{:02}-{:02}-{:02}", 10 + mixed % 9, 1 + mixed % 12, 1 + mixed % 28);
        let job = match mixed / 7 % 8 {
            7 => String::new(),
            at => format!("\"{}\"", jobs[at as usize].replace('"', "\"\"")),
        };
        let pay = format!("{}.{}", mixed % 50, mixed % 4 * 25);
        let disease = mixed / 5 % 6;
        text += &format!("{row},{age},{zip},{score},{day},{job},{pay},d{disease}\n");
    }
    text
}

fn assert_equals_the_report(output: &str, anonymize: &[&str], measure: &[&str]) {
    let folder = Folder::new();
    std::fs::write(folder.path("original.csv"), table()).unwrap();
    let quasi = ["--quasi", "age,zip,score,day,job,pay", "--type", "score=float"];
    let roles = [&quasi[..], &["--sensitive", "disease"]].concat();
    let anonymized = albers()
        .arg("anonymize")
        .arg(folder.path("original.csv"))
        .arg("-o")
        .arg(folder.path(output))
        .args(&roles)
        .args(["--keep", "id", "-k", "4", "--json"])
        .args(anonymize)
        .args(["--accept", "unique-keep,secret-without-rule"])
        .output()
        .unwrap();
    let err = String::from_utf8(anonymized.stderr).unwrap();
    assert!(anonymized.status.success(), "{err}");
    let report: Value = serde_json::from_slice(&anonymized.stdout).unwrap();
    let flags = [&roles[..], &["--key", "id", "--json"], measure].concat();
    let (code, out, err) = folder.measure(output, &flags);
    assert_eq!(code, 0, "{err}");
    let found: Value = serde_json::from_str(&out).unwrap();
    for field in ["rows", "suppressed", "classes", "class_size"] {
        assert_eq!(found[field], report[field], "{output} {anonymize:?}: {field}");
    }
    for field in ["discernibility", "certainty_penalty", "ncp"] {
        close(&found["loss"][field], report["table_loss"][field].as_f64().unwrap());
    }
    let kl = report.get("kl").or(report.get("kl_at_most")).and_then(Value::as_f64);
    let found_kl = found["loss"].get("kl_at_most").unwrap_or(&found["loss"]["kl"]);
    close(found_kl, kl.unwrap());
    for (column, loss) in report["table_loss"]["ncp_by_column"].as_object().unwrap() {
        close(&found["loss"]["ncp_by_column"][column], loss.as_f64().unwrap());
    }
    assert!(report["classes"].as_u64().unwrap() > 3, "there is something to measure");
}

#[test]
fn intervals_and_sets_measure_as_the_owner_is_told() {
    assert_equals_the_report("release.csv", &[], &[]);
    let weights = ["--weight", "age=3", "--weight", "job=0.5"];
    assert_equals_the_report("release.csv", &weights, &weights);
}

#[test]
fn bounds_and_parquet_measure_as_the_owner_is_told() {
    assert_equals_the_report("release.csv", &["--values", "bounds"], &[]);
    assert_equals_the_report("release.parquet", &[], &[]);
    assert_equals_the_report("release.parquet", &["--values", "interval"], &[]);
}

#[test]
fn regions_measure_as_the_owner_is_told() {
    assert_equals_the_report("release.csv", &["--no-compact"], &[]);
    let trees = ["--hierarchy", "zip=prefix", "--hierarchy", "day=dates"];
    let labels = [&trees[..], &["--no-compact"]].concat();
    assert_equals_the_report("release.csv", &labels, &trees);
}

#[test]
fn labels_measure_as_the_owner_is_told() {
    let trees = [
        "--hierarchy",
        "zip=prefix",
        "--hierarchy",
        "age=ranges:5,10,20",
        "--hierarchy",
        "day=dates",
        "--hierarchy",
        "job=suppress",
        "--hierarchy",
        "score=ranges:0.5,1000",
    ];
    assert_equals_the_report("release.csv", &trees, &trees);
    assert_equals_the_report("release.parquet", &trees, &trees);
    let sets = [&trees[..], &["--categories", "set"]].concat();
    assert_equals_the_report("release.csv", &sets, &sets);
    assert_equals_the_report("release.parquet", &sets, &sets);
    // Sets of a category with a hierarchy are told from the release.
    let zip = ["--hierarchy", "zip=prefix"];
    assert_equals_the_report("release.csv", &[&zip[..], &["--categories", "set"]].concat(), &zip);
}

/// Only the row that is left out misses its code, so that no label says anything of missing values.
#[test]
fn a_label_above_all_values_loses_what_it_shows_where_only_rows_left_out_miss_any() {
    let folder = Folder::new();
    let original = "zip,sex\n01067,m\n01067,m\n01069,m\n01069,m\n,f\n";
    std::fs::write(folder.path("original.csv"), original).unwrap();
    std::fs::write(folder.path("zips.csv"), "01067;Dresden\n01069;Dresden\n").unwrap();
    let zips = format!("zip={}", folder.path("zips.csv").display());
    for (method, tree, label) in [
        ("subtree", "zip=prefix", "0106*"),
        ("subtree", &zips, "Dresden"),
        ("incognito", &zips, "Dresden"),
    ] {
        let roles = ["--quasi", "zip,sex", "--type", "zip=code", "--hierarchy", tree];
        let roles = [&roles[..], &["--hierarchy", "sex=suppress", "--json"]].concat();
        let run = |command: &str, files: &[&str], flags: &[&str]| -> Value {
            let mut run = albers();
            run.arg(command).args(files.iter().map(|file| folder.path(file))).args(flags);
            let output = run.output().unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success(), "{command} {method} {label}: {err}");
            serde_json::from_slice(&output.stdout).unwrap()
        };
        let out = folder.path("release.csv");
        let how = ["-o", out.to_str().unwrap(), "-k", "3", "--method", method, "--force"];
        let how = [&roles[..], &how, &["--suppress", "0.2"]].concat();
        let report = run("anonymize", &["original.csv"], &how);
        let released = std::fs::read_to_string(&out).unwrap();
        assert_eq!(released, format!("zip,sex\n{}", format!("{label},m\n").repeat(4)));
        // Four rows show two of two codes and the missing one; the fifth loses everything.
        close(&report["table_loss"]["ncp_by_column"]["zip"], (4.0 * 0.5 + 1.0) / 5.0);
        let measured = run("measure", &["original.csv", "release.csv"], &roles);
        close(&measured["loss"]["ncp_by_column"]["zip"], 0.6);
        let checked = run("check", &["release.csv"], &["--json"]);
        assert_eq!(checked["manifest"]["differs"], Value::Array(Vec::new()), "{method} {label}");
    }
}

/// Six jobs are declared, four of them occur. Two of those below `kitchen` do, one of `workshop`.
#[test]
fn the_domain_of_a_loss_is_what_is_declared_or_what_occurs() {
    let release = "id,age,job\n1,20,care\n2,30,kitchen\n3,60,kitchen\n4,60,workshop\n";
    let folder = Folder::with(&ORIGINAL.replace("2,30,cook", "2,30,baker"), release);
    let jobs = "cook;kitchen\nbaker;kitchen\nbrewer;kitchen\nsmith;workshop\ntailor;workshop\n\
                nurse;care\n";
    std::fs::write(folder.path("jobs.csv"), jobs).unwrap();
    let flags = ["--quasi", "age,job", "--hierarchy", "job=jobs.csv"];
    let of = |domain: &[&str]| folder.json(&[&flags[..], domain].concat());
    // Of six values less one: two rows lose two steps, one row loses one, and one nothing.
    for declared in [of(&[]), of(&["--domain", "declared"])] {
        assert_eq!(declared["loss"]["domain"], "declared");
        close(&declared["loss"]["ncp_by_column"]["job"], 5.0 / 5.0 / 4.0);
    }
    // Of four values less one: two rows lose one step.
    let occurring = of(&["--domain", "occurring"]);
    assert_eq!(occurring["loss"]["domain"], "occurring");
    close(&occurring["loss"]["ncp_by_column"]["job"], 2.0 / 3.0 / 4.0);
    close(&occurring["loss"]["ncp_by_column"]["age"], 0.0);
    close(&occurring["loss"]["ncp"], 2.0 / 3.0 / 8.0);
    let (_, out, _) =
        folder.measure("release.csv", &[&flags[..], &["--domain=occurring"]].concat());
    assert!(out.contains("over occurring values"), "{out}");
    // A set counts those of its members that occur, and whoever is left out loses everything.
    let sets = "id,age,job\n1,20,nurse\n2,30,\"{baker, brewer}\"\n3,60,*\n";
    std::fs::write(folder.path("release.csv"), sets).unwrap();
    let occurring = of(&["--domain", "occurring", "--categories", "set"]);
    close(&occurring["loss"]["ncp_by_column"]["job"], 2.0 / 4.0);
    let declared = of(&["--categories", "set"]);
    close(&declared["loss"]["ncp_by_column"]["job"], (0.2 + 2.0) / 4.0);
    let quasi = ["--quasi", "age", "--domain", "occurring"];
    folder.fails(&quasi, 2, "domain of occurring values has no effect");
}

#[test]
fn a_release_that_does_not_cover_its_original_ends_with_1() {
    let flags = ["--quasi", "age", "--key", "id", "--sensitive", "job"];
    let swapped = "id,age,job\n1,\"[20, 30]\",nurse\n2,20,cook\n3,60,cook\n4,\"[20, 30]\",smith\n";
    let folder = Folder::with(ORIGINAL, swapped);
    let err = folder.fails(&flags, 1, "column 'age' does not cover the original in 2 rows");
    assert!(err.contains("first is row 2"), "{err}");
    let changed = "id,age,job\n1,20,nurse\n2,30,cook\n3,60,cook\n4,60,cook\n";
    let err = Folder::with(ORIGINAL, changed).fails(&flags, 1, "column 'job'");
    assert!(!err.contains("cook") && !err.contains("smith"), "{err}");
}

#[test]
fn keys_must_be_unique_and_known() {
    let flags = ["--quasi", "age", "--key", "id"];
    let fails = |release: &str, expected| {
        Folder::with(ORIGINAL, release).fails(&flags, 2, expected);
    };
    fails("id,age\n1,20\n1,20\n", "row 2, column 'id': row 1 has the same key");
    fails("id,age\n1,20\n,20\n", "row 2, column 'id': the key is missing");
    fails("id,age\n77,20\n", "row 1, column 'id': the original has no row with this key");
    fails("age\n20\n", "there is no column 'id'");
    let doubled = "id,age\n1,20\n1,30\n";
    Folder::with(doubled, "id,age\n1,20\n").fails(&flags, 2, "original.csv, row 2");
}

#[test]
fn cells_that_are_not_understood_are_named_by_row_and_column_only() {
    let fails = |cell: &str, expected| {
        let release = format!("id,age\n1,*\n2,{cell}\n");
        let err = Folder::with(ORIGINAL, &release).fails(&["--quasi", "age"], 2, expected);
        assert!(err.contains("release.csv, row 2, column 'age'"), "{err}");
        assert!(!err.contains("young") && !err.contains("70"), "{err}");
    };
    fails("young", "neither a value");
    fails("\"[30, young]\"", "neither a value");
    fails("\"[70, 30]\"", "above its greatest");
    fails("70-77", "no value of the original");
    fails("\"\"", "misses no value");
}

#[test]
fn mistakes_end_with_2_and_a_hint() {
    let folder = Folder::with(ORIGINAL, ORIGINAL);
    folder.fails(&["--quasi", "agee"], 2, "there is no column 'agee'");
    folder.fails(&["--key", "id"], 2, "--quasi");
    folder.fails(&["--quasi", "age", "--key", "age"], 2, "quasi-identifier");
    folder.fails(&["--quasi", "age", "--key", "nope"], 2, "there is no column 'nope'");
    folder.fails(&["--quasi", "age", "--weight", "job=2"], 2, "--weight names column 'job'");
    folder.fails(&["--quasi", "age", "--weight", "age=0"], 2, "from 0.000001");
    folder.fails(&["--quasi", "age", "--hierarchy", "age=nofile.csv"], 2, "nofile.csv");
    Folder::with("id,age\n", ORIGINAL).fails(&["--quasi", "age"], 2, "no rows");
    Folder::with(ORIGINAL, "id,age\n").fails(&["--quasi", "age"], 2, "no rows");
    Folder::with("age\n1\n", "age\n1\n1\n").fails(&["--quasi", "age"], 2, "more than the 1");
    let (code, _, err) = folder.measure("absent.csv", &["--quasi", "age"]);
    assert!(code == 2 && err.contains("absent.csv"), "{err}");
}

#[test]
fn an_unchanged_table_loses_nothing() {
    let folder = Folder::with(ORIGINAL, ORIGINAL);
    let found = folder.json(&["--quasi", "age,job", "--key", "id"]);
    close(&found["loss"]["ncp"], 0.0);
    close(&found["loss"]["kl"], 0.0);
}
