//! `--finest`: nothing is shown below a level of a hierarchy, by any method.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, PEOPLE};

/// Forty people with days and postal codes of all kinds.
fn table() -> String {
    let mut text = "birth,zip,age,disease\n".to_owned();
    for at in 0..40u32 {
        let (year, month, day) = (1950 + at % 7, 1 + at % 12, 1 + (at * 5) % 28);
        let disease = ["mumps", "measles", "rubella"][at as usize % 3];
        let zip = 1060 + at * 37;
        text += &format!("{year}-{month:02}-{day:02},{zip:05},{},{disease}\n", 20 + at);
    }
    text
}

const METHODS: [&str; 6] = [
    "--method auto",
    "--method mondrian --split median",
    "--method mondrian --no-compact",
    "--method rtree",
    "--method rtree --also-k 4",
    "--method local",
];

/// The cells of two columns in a release.
fn cells(folder: &Folder, name: &str) -> Vec<(String, String)> {
    let text = folder.read(name);
    let rows = text.lines().skip(1).map(|line| {
        let mut cells = line.split(',');
        (cells.next().unwrap().to_owned(), cells.next().unwrap().to_owned())
    });
    rows.collect()
}

/// A year or more: `1950`, `*`; never a quarter, a month or a day.
fn is_year_or_more(label: &str) -> bool {
    label == "*" || (label.len() == 4 && label.bytes().all(|byte| byte.is_ascii_digit()))
}

/// At most three digits of a postal code.
fn is_short(label: &str) -> bool {
    label.ends_with('*') && label.len() <= 4
}

#[test]
fn no_method_shows_anything_finer_than_is_said() {
    for method in METHODS {
        for k in [1, 2, 3] {
            let folder = Folder::with(table());
            let run = folder.run(&format!(
                "anonymize in.csv -o out.csv -k {k} --quasi birth,zip --keep disease {method} \
                 --hierarchy birth=dates --hierarchy zip=prefix --finest birth=year \
                 --finest zip=3-characters"
            ));
            assert_eq!(run.code, Some(0), "{method}, k = {k}: {}", run.said());
            let mut shown = cells(&folder, "out.csv");
            if method.contains("also-k") {
                shown.extend(cells(&folder, "out.k4.csv"));
            }
            for (birth, zip) in shown {
                assert!(is_year_or_more(&birth), "{method}, k = {k}: {birth}");
                assert!(is_short(&zip), "{method}, k = {k}: {zip}");
            }
            let check = folder.run(&format!("check out.csv --quasi birth,zip -k {k}"));
            assert_eq!(check.code, Some(0), "{method}, k = {k}: {}", check.said());
        }
    }
}

#[test]
fn what_is_not_finer_anyway_is_the_same_and_a_number_means_the_same_as_a_name() {
    let release = |finest: &str| {
        let folder = Folder::with(table());
        let run = folder.run(&format!(
            "anonymize in.csv -o out.csv -k 2 --quasi birth --hierarchy birth=dates {finest}"
        ));
        assert_eq!(run.code, Some(0), "{}", run.said());
        folder.read("out.csv")
    };
    assert_eq!(release("--finest birth=3"), release("--finest birth=year"));
    assert_ne!(release("--finest birth=year"), release(""));
    // Twelve classes of three or four show years at best, also without being told.
    let wide = |finest: &str| {
        let folder = Folder::with(table());
        let job = "-k 40 --quasi birth --hierarchy birth=dates";
        let run = folder.run(&format!("anonymize in.csv -o out.csv {job} {finest}"));
        assert_eq!(run.code, Some(0), "{}", run.said());
        folder.read("out.csv")
    };
    assert_eq!(wide(""), wide("--finest birth=month"));
}

#[test]
fn the_loss_is_that_of_the_values_and_not_of_the_level() {
    let ncp = |finest: &str| {
        let folder = Folder::with(table());
        let job = "-k 1 --accept low-k --quasi birth --hierarchy birth=dates";
        let report = folder.anonymize(&format!("in.csv -o out.csv {job} {finest}"));
        report["table_loss"]["ncp"].as_f64().unwrap()
    };
    assert_eq!(ncp(""), 0.0);
    let (by_month, by_year) = (ncp("--finest birth=month"), ncp("--finest birth=year"));
    assert!(0.0 < by_year && by_month <= by_year, "{by_month} and {by_year}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let quasi = "--quasi born,zip --sensitive disease -k 2";
    for (more, says) in [
        ("--finest born=year", "column 'born' has no hierarchy"),
        ("--hierarchy born=dates --finest born=decade", "there is no level decade"),
        ("--hierarchy born=dates --finest born=9", "there is no level 9"),
        ("--hierarchy born=dates --finest born=0", "level 0 is the values themselves"),
        ("--hierarchy zip=prefix --finest zip=year", "there is no level year"),
        ("--hierarchy born=dates --finest born=year --categories set", "finer than --finest"),
        ("--hierarchy born=dates --finest born=year --values features", "finer than --finest"),
        ("--hierarchy born=dates --finest born=year --method bang", "--finest has no effect with"),
        ("--hierarchy born=dates --finest born=year --method incognito", "--finest has no effect"),
        ("--hierarchy born=dates --finest born=year --model m", "--model does not keep"),
        ("--hierarchy disease=suppress --finest disease=1", "finest of column 'disease'"),
    ] {
        let folder = Folder::with(PEOPLE);
        let run = folder.run(&format!("anonymize in.csv -o out.csv {quasi} {more}"));
        assert_eq!(run.code, Some(2), "{more}: {}", run.said());
        assert!(run.err.contains(says), "{more}: {}", run.err);
        assert_eq!(folder.names(), ["in.csv"], "{more}");
    }
}

#[test]
fn a_job_file_says_it_too() {
    let folder = Folder::with(table());
    folder.write(
        "job.toml",
        "input = \"in.csv\"\noutput = \"out.csv\"\nk = 2\n[columns.birth]\nrole = \"quasi\"\n\
         hierarchy = \"dates\"\nfinest = \"year\"\n",
    );
    let run = folder.run("anonymize --job job.toml");
    assert_eq!(run.code, Some(0), "{}", run.said());
    let shown = folder.read("out.csv");
    assert!(shown.lines().skip(1).all(is_year_or_more), "{shown}");
}
