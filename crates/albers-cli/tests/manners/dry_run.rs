//! Dry runs do all but write, and quiet ones say nothing that need not be said.

use crate::common::living::index_of;
use crate::common::{Folder, PEOPLE, Run, WITH_RELEASE};
use serde_json::Value;

const JOB: &str = "--quasi age --sensitive disease --l-diversity disease=distinct:2 -k 3";

fn once(folder: &Folder, arguments: &str) -> Run {
    folder.run_once(&arguments.split_whitespace().collect::<Vec<_>>())
}

/// A run that must succeed.
fn done(folder: &Folder, arguments: &str) -> Run {
    let run = once(folder, arguments);
    assert_eq!(run.code, Some(0), "{arguments}: {}", run.said());
    run
}

/// A report without what differs from run to run.
fn lasting(text: &str) -> Value {
    let mut report: Value = serde_json::from_str(text).unwrap();
    let fields = report.as_object_mut().unwrap();
    for field in ["seconds", "peak_rss_bytes", "dry_run", "sets_seconds", "bytes"] {
        fields.remove(field);
    }
    report
}

#[test]
fn a_dry_run_of_anonymize_reports_the_same_and_writes_nothing() {
    let folder = Folder::with(PEOPLE);
    let own = folder.path("own");
    std::fs::create_dir(&own).unwrap();
    let job = format!("anonymize in.csv -o out.csv {JOB} --owner-report own/r.json --model own/m");
    let before = folder.names();
    let run = done(&folder, &format!("{job} --dry-run"));
    assert!(run.out.contains("verified: k = 3"), "{}", run.out);
    let would = "dry run, nothing was written: it would write out.csv, out.csv.codebook.md, \
                 out.csv.codebook.json, out.csv.manifest.json, own/r.json and own/m\n";
    assert!(run.out.contains(would), "{}", run.out);
    assert!(!run.out.contains("--force"), "{}", run.out);
    assert_eq!(folder.names(), before);
    assert_eq!(std::fs::read_dir(&own).unwrap().count(), 0);
    let rehearsed = done(&folder, &format!("{job} --dry-run --json")).out;
    let report: Value = serde_json::from_str(&rehearsed).unwrap();
    assert_eq!(report["dry_run"], true);
    assert_eq!(folder.names(), before);
    let real = done(&folder, &format!("{job} --json")).out;
    assert!(serde_json::from_str::<Value>(&real).unwrap()["dry_run"].is_null());
    assert_eq!(lasting(&rehearsed), lasting(&real));
    let manifest = folder.read("out.csv.manifest.json");
    assert!(!manifest.contains("dry"), "{manifest}");
}

#[test]
fn a_dry_run_leaves_an_earlier_release_and_says_what_is_in_the_way() {
    let folder = Folder::with(PEOPLE);
    done(&folder, &format!("anonymize in.csv -o out.csv {JOB}"));
    let before = folder.files();
    let again = "anonymize in.csv -o out.csv --quasi age -k 4";
    assert_eq!(once(&folder, again).code, Some(2), "it is not replaced without --force");
    let run = done(&folder, &format!("{again} --dry-run"));
    let there = "there already, so that --force would be needed: out.csv, out.csv.codebook.md, \
                 out.csv.codebook.json, out.csv.manifest.json\n";
    assert!(run.out.ends_with(there), "{}", run.out);
    let forced = done(&folder, &format!("{again} --dry-run --force"));
    assert!(!forced.out.contains("--force"), "{}", forced.out);
    assert!(folder.files() == before);
}

#[test]
fn a_dry_run_tells_of_all_releases_and_sends_nothing_to_standard_output() {
    let folder = Folder::with(PEOPLE);
    let run = done(&folder, &format!("anonymize in.csv -o out.csv {JOB} --also-k 6 --dry-run"));
    assert!(run.out.contains("would write out.k6.csv for k = 6"), "{}", run.out);
    let run = done(&folder, &format!("anonymize in.csv -o - {JOB} --manifest m.json --dry-run"));
    assert_eq!(run.out, "");
    assert!(run.err.contains("it would write to standard output, and m.json"), "{}", run.err);
    assert_eq!(folder.names(), ["in.csv"]);
}

#[test]
fn a_dry_run_ends_as_the_run_would() {
    let folder = Folder::with(PEOPLE);
    for rest in ["-k 13 --quasi age", "-k 3 --quasi age --keep name", "-k 3 --quasi agee"] {
        let real = once(&folder, &format!("anonymize in.csv -o out.csv {rest}"));
        let dry = once(&folder, &format!("anonymize in.csv -o out.csv {rest} --dry-run"));
        assert_ne!(real.code, Some(0), "{rest}");
        assert_eq!((dry.code, &dry.err), (real.code, &real.err), "{rest}");
    }
    let grid = once(&folder, "anonymize in.csv --quasi age --method grid --dry-run");
    assert!(grid.err.contains("--dry-run has no effect"), "{}", grid.err);
    assert_eq!(folder.names(), ["in.csv"]);
}

#[test]
fn dry_runs_of_compact_and_recode_write_nothing() {
    let folder = Folder::with(PEOPLE);
    std::fs::create_dir(folder.path("own")).unwrap();
    done(
        &folder,
        &format!(
            "anonymize in.csv -o out.csv {JOB} --keep name --accept unique-keep --model own/m"
        ),
    );
    let before = folder.names();
    let run = done(&folder, "compact in.csv out.csv --key name --quasi age -o c.csv --dry-run");
    assert!(run.out.contains("it would write c.csv, "), "{}", run.out);
    let recode = "recode own/m in.csv -o r.csv --accept second-release,unique-keep";
    let run = done(&folder, &format!("{recode} --dry-run"));
    assert!(run.out.contains("it would write r.csv, "), "{}", run.out);
    let run = done(&folder, "recode own/m in.csv -o l.csv --for-learning --dry-run");
    assert!(run.out.contains("it would write l.csv, which only its owner may read"), "{}", run.out);
    let json = done(&folder, "recode own/m in.csv -o l.csv --for-learning --dry-run --json").out;
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["dry_run"], true);
    assert_eq!(folder.names(), before);
}

#[test]
fn a_dry_release_of_an_index_is_in_no_ledger() {
    let folder = index_of(60);
    let info = |folder: &Folder| lasting(&done(folder, "index info idx --json").out);
    let (before, names) = (info(&folder), folder.names());
    let run = done(&folder, "index release idx -o out.csv --dry-run");
    assert!(run.out.contains("release:  1 of the index"), "{}", run.out);
    assert!(run.out.contains("nothing was written: it would write out.csv, "), "{}", run.out);
    assert_eq!((info(&folder), folder.names()), (before, names));
    let rehearsed = done(&folder, "index release idx -o out.csv --dry-run --json").out;
    let real = done(&folder, "index release idx -o out.csv --json").out;
    assert_eq!(lasting(&rehearsed), lasting(&real));
    assert_eq!(info(&folder)["releases"].as_array().unwrap().len(), 1);
    let found: Value = serde_json::from_str(&done(&folder, "index check idx --json").out).unwrap();
    assert_eq!(found["problems"], Value::Array(Vec::new()));
}

#[test]
fn dry_batches_leave_the_index_as_it_was() {
    let folder = index_of(60);
    folder.write("more.csv", crate::common::living::people(60..70));
    folder.write("fewer.csv", crate::common::living::people(5..70));
    let info = || lasting(&done(&folder, "index info idx --json").out);
    let before = info();
    for (batch, field, n_rows) in [
        ("insert idx more.csv", "inserted", 10),
        ("update idx in.csv", "unchanged", 60),
        ("delete idx in.csv", "deleted", 60),
        ("sync idx fewer.csv", "deleted", 5),
    ] {
        let report = done(&folder, &format!("index {batch} --dry-run --json")).out;
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!((&report[field], &report["dry_run"]), (&n_rows.into(), &true.into()), "{batch}");
        assert_eq!(info(), before, "{batch}");
        let words = done(&folder, &format!("index {batch} --dry-run")).out;
        assert!(words.contains("dry run, nothing was written: it would change idx"), "{words}");
        assert_eq!(info(), before, "{batch}");
    }
    let real = done(&folder, "index insert idx more.csv --json").out;
    assert_eq!(lasting(&real)["rows"], 70);
}

#[test]
fn a_quiet_run_says_nothing_where_all_is_well() {
    let folder = Folder::with(PEOPLE);
    for arguments in [
        format!("-q anonymize in.csv -o out.csv {JOB}"),
        "check out.csv -q".to_owned(),
        "generate adult -n 50 -o adult.csv --quiet".to_owned(),
        "init in.csv --quiet".to_owned(),
        "index create idx in.csv --key name --quasi age -k 3 -q".to_owned(),
        "index insert idx none.csv -q".to_owned(),
        "index check idx -q".to_owned(),
        "man pages -q".to_owned(),
    ] {
        folder.write("none.csv", PEOPLE.lines().next().unwrap());
        let run = done(&folder, &arguments);
        assert_eq!((run.out.as_str(), run.err.as_str()), ("", ""), "{arguments}");
    }
    assert!(WITH_RELEASE.iter().all(|name| folder.path(name).exists()));
}

#[test]
fn a_quiet_run_still_says_what_stops_it_and_what_was_asked_for() {
    let folder = Folder::with(PEOPLE);
    let stopped = once(&folder, "anonymize in.csv -o out.csv -k 3 --quasi age --keep name -q");
    assert_eq!(stopped.code, Some(1));
    assert!(stopped.err.contains("unique-keep:name"), "{}", stopped.err);
    let streamed = done(&folder, &format!("anonymize in.csv -o - {JOB} -q"));
    assert!(streamed.out.starts_with("age,disease\n") && streamed.err.is_empty());
    let json = done(&folder, &format!("anonymize in.csv -o out.csv {JOB} -q --json"));
    assert!(json.out.starts_with('{') && json.err.is_empty());
    let missed = once(&folder, "check in.csv --quasi age -k 3 -q");
    assert_eq!((missed.code, missed.out.as_str()), (Some(1), ""));
    assert!(missed.err.contains("does not hold: k"), "{}", missed.err);
    let answer = done(&folder, "query out.csv -q");
    assert!(answer.out.contains("estimate"), "{}", answer.out);
}
