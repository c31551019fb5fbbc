//! `albers check` end to end, on tables small enough to compute by hand.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// Two classes: (30s, f) with 2 rows and (40s, m) with 3 rows.
const PATIENTS: &str = "\
person;age;sex;disease;pay
p1;[30, 39];f;flu;10
p2;[30, 39];f;cold;20
p3;[40, 49];m;flu;10
p3;[40, 49];m;flu;20
p4;[40, 49];m;gout;30
";

fn albers() -> Command {
    Command::cargo_bin("albers").unwrap()
}

/// A table in a folder of its own.
struct Table {
    folder: tempfile::TempDir,
}

impl Table {
    fn new(text: &str) -> Table {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("table.csv"), text).unwrap();
        Table { folder }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn check(&self, flags: &[&str]) -> (i32, String, String) {
        run_check(&self.path("table.csv"), flags)
    }

    fn json(&self, flags: &[&str]) -> (i32, Value) {
        let (code, out, err) = self.check(&[flags, &["--json"]].concat());
        (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}")))
    }
}

fn run_check(path: &Path, flags: &[&str]) -> (i32, String, String) {
    let output = albers().arg("check").arg(path).args(flags).output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn close(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap();
    assert!((value - expected).abs() < 1e-12, "{value} is not {expected}");
}

#[test]
fn figures_are_as_computed_by_hand() {
    let table = Table::new(PATIENTS);
    let (code, found) = table.json(&["--quasi", "age,sex", "--sensitive", "disease,pay"]);
    assert_eq!(code, 0);
    assert_eq!((&found["rows"], &found["classes"], &found["k"]), (&5.into(), &2.into(), &2.into()));
    assert_eq!(found["class_size"]["min"], 2);
    assert_eq!(found["class_size"]["max"], 3);
    close(&found["class_size"]["mean"], 2.5);
    assert!(found.get("holds").is_none());

    let disease = &found["sensitive"]["disease"];
    assert_eq!(disease["distinct_l"], 2);
    // Shares 2/3 and 1/3: exp(entropy) = 3 / 2^(2/3).
    close(&disease["entropy_l"], 3.0 / 2f64.powf(2.0 / 3.0));
    // Table: flu 3/5, cold 1/5, gout 1/5. First class: 1/2, 1/2, 0: excess of cold 3/10.
    close(&disease["t"], 0.3);
    assert_eq!(disease["distance"], "equal");
    close(&disease["max_share"], 2.0 / 3.0);
    assert!(disease["variance"].is_null());

    let pay = &found["sensitive"]["pay"];
    assert_eq!((&pay["distinct_l"], &pay["distance"]), (&2.into(), &"ordered".into()));
    // Table: 2/5, 2/5, 1/5. First class 1/2, 1/2, 0: (1/10 + 1/5) / 2; second 1/3 each:
    // (1/15 + 2/15) / 2.
    close(&pay["t"], 0.15);
    close(&pay["variance"], 25.0);

    let risk = &found["risk"];
    close(&risk["highest"], 0.5);
    close(&risk["average"], 0.4);
    close(&risk["above_threshold"], 1.0);
    assert_eq!(
        (&risk["smallest_classes"], &risk["rows_in_smallest_classes"]),
        (&1.into(), &2.into())
    );
    assert_eq!(found["sizes"][0]["from"], 2);
    assert_eq!(found["sizes"][0]["classes"], 2);
}

#[test]
fn subjects_are_counted_once_per_class() {
    let table = Table::new(PATIENTS);
    let (_, found) = table.json(&["--quasi", "age,sex", "--subject", "person"]);
    assert_eq!((&found["k"], &found["k_counts"]), (&2.into(), &"subjects".into()));
    // p3 and p4 share the second class of 3 rows: all risks are 1/2.
    close(&found["risk"]["average"], 0.5);
    assert_eq!(found["risk"]["rows_in_smallest_classes"], 5);
    let (code, _) = table.json(&["--quasi", "sex", "--subject", "person", "-k", "2"]);
    assert_eq!(code, 0);
    let (code, found) = table.json(&["--quasi", "age,sex", "--subject", "person", "-k", "3"]);
    assert_eq!((code, &found["holds"]), (1, &false.into()));
    assert_eq!(found["missed"][0]["classes"], 2);
}

#[test]
fn a_requirement_that_does_not_hold_ends_with_1_and_each_part() {
    let table = Table::new(PATIENTS);
    let base = ["--quasi", "age,sex", "--sensitive", "disease,pay"];
    let asked = |more: &[&str]| table.check(&[&base[..], more].concat());
    let holding: &[&[&str]] = &[
        &["-k", "2"],
        &["-k", "2", "--l-diversity", "disease=distinct:2"],
        &["--t-closeness", "pay=0.15"],
        &["--alpha", "disease=0.67"],
        &["--variance", "pay=25"],
    ];
    for flags in holding {
        let (code, out, _) = asked(flags);
        assert_eq!(code, 0, "{out}");
        assert!(out.contains("holds: "), "{out}");
    }
    let (code, out, _) = asked(&["-k", "3", "--t-closeness", "pay=0.1", "--alpha", "disease=0.5"]);
    assert_eq!(code, 1);
    assert!(out.contains("k-anonymity: asked 3, reached 2 (1 classes with 2 rows)"), "{out}");
    assert!(out.contains("t-closeness of 'pay': asked 0.1, reached 0.15"), "{out}");
    assert!(out.contains("largest share of 'disease': asked 0.5, reached 0.666667"), "{out}");
    // More than the table has is no mistake here: it just does not hold.
    assert_eq!(asked(&["-k", "99", "--l-diversity", "disease=distinct:9"]).0, 1);
}

#[test]
fn rows_are_grouped_by_what_they_show_and_an_empty_cell_is_a_value() {
    let table = Table::new("zip,age\n01,1\n1,1\n,1\n,1\n1,1\n01,1\n");
    let (_, found) = table.json(&["--quasi", "zip,age"]);
    assert_eq!((&found["classes"], &found["k"]), (&3.into(), &2.into()));
}

#[test]
fn bounds_stand_for_their_column() {
    let table = Table::new("age_min,age_max,age_missing\n1,5,false\n1,5,false\n1,5,true\n,,true\n");
    let (_, found) = table.json(&["--quasi", "age"]);
    assert_eq!(found["classes"], 3);
    assert!(found["notes"][0].as_str().unwrap().contains("age_min, age_max, age_missing"));
}

#[test]
fn a_release_of_this_program_reaches_what_its_manifest_says() {
    let table = Table::new("");
    let (data, release) = (table.path("adult.parquet"), table.path("out.parquet"));
    albers().args(["generate", "adult", "-n", "500", "-o"]).arg(&data).assert().success();
    let roles = ["--quasi", "age,sex,race", "--sensitive", "occupation"];
    let rule = ["-k", "7", "--l-diversity", "occupation=distinct:3"];
    let anonymize = albers()
        .arg("anonymize")
        .arg(&data)
        .arg("-o")
        .arg(&release)
        .args(roles)
        .args(rule)
        .arg("--json")
        .output()
        .unwrap();
    let manifest: Value = serde_json::from_slice(&anonymize.stdout).unwrap();
    let flags = [&roles[..], &rule, &["--json"]].concat();
    let (code, out, _) = run_check(&release, &flags);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &found["holds"]), (0, &true.into()));
    assert_eq!(found["classes"], manifest["classes"]);
    assert_eq!(found["class_size"], manifest["class_size"]);
    // The table itself is not protected.
    assert_eq!(run_check(&data, &flags).0, 1);
}

#[test]
fn the_histogram_is_aligned_and_shows_every_size() {
    let rows: String = (0..40).map(|row| if row < 32 { "a\n" } else { "b\n" }).collect();
    let (_, out, _) = Table::new(&format!("x\n{rows}c\n")).check(&["--quasi", "x"]);
    let bars: Vec<&str> = out.lines().filter(|line| line.contains('█')).collect();
    assert_eq!(bars.len(), 3, "{out}");
    let widths: Vec<usize> = bars.iter().map(|line| line.find('█').unwrap()).collect();
    assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{out}");
    assert!(out.contains("16-31        0     0\n"), "{out}");
}

#[test]
fn mistakes_end_with_2_and_a_hint_and_never_a_value() {
    let table = Table::new(PATIENTS);
    let mistakes: &[(&[&str], &str)] = &[
        (&["--quasi", "agee"], "there is no column 'agee'"),
        (&["--quasi", "age", "--sensitive", "nope"], "there is no column 'nope'"),
        (&["--quasi", "age", "--subject", "nope"], "'nope'"),
        (&["--sensitive", "disease"], "--quasi"),
        (&["--quasi", "age", "--threshold", "1.5"], "between 0 and 1"),
        (&["--quasi", "age", "--threshold", "-0.1"], ""),
        (&["--quasi", "age", "-k", "0"], "k = 0"),
        (&["--quasi", "age", "--alpha", "disease=0.5"], "not sensitive"),
        (&["--quasi", "age", "--sensitive", "disease", "--alpha", "disease=2"], "alpha"),
        (&["--quasi", "age", "--sensitive", "disease", "--variance", "disease=2"], "disease"),
        (&["--quasi", "age", "--hierarchy", "diseas=prefix"], "'diseas'"),
        (&["--quasi", "age", "--sensitive", "age"], "both"),
        (&["--quasi", "age", "--sensitive", "disease", "--type", "disease=integer"], "line 2"),
    ];
    for (flags, expected) in mistakes {
        let (code, out, err) = table.check(flags);
        assert_eq!((code, out.as_str()), (2, ""), "{flags:?}: {err}");
        assert!(err.contains(expected), "{flags:?}: {err}");
        for value in ["flu", "gout", "[30", "p3"] {
            assert!(!err.contains(value), "{err}");
        }
    }
    let (code, _, err) = run_check(&table.path("absent.csv"), &["--quasi", "age"]);
    assert!(code == 2 && err.contains("absent.csv"), "{err}");
    for (text, expected) in [("", "empty"), ("age\n", "no rows")] {
        let (code, _, err) = Table::new(text).check(&["--quasi", "age"]);
        assert!(code == 2 && err.contains(expected), "{err}");
    }
}

#[test]
fn a_job_file_tells_the_roles() {
    let table = Table::new(PATIENTS);
    let job = table.path("job.toml");
    std::fs::write(
        &job,
        "k = 2\n[columns.age]\nrole = 'quasi'\ntype = 'integer'\n[columns.sex]\nrole = 'quasi'\n\
         [columns.disease]\nrole = 'sensitive'\nl-diversity = 'distinct:3'\n\
         [columns.gone]\nrole = 'identifier'\n",
    )
    .unwrap();
    let (code, found) = table.json(&["--job", job.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert_eq!(found["missed"][0]["what"], "distinct l-diversity of 'disease'");
    assert_eq!(found["missed"][0]["reached"], 2.0);
}
