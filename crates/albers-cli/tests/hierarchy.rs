//! `albers hierarchy` and the levels of `dates`, through the real binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

fn albers(folder: &Path, arguments: &[&str]) -> Output {
    Command::cargo_bin("albers").unwrap().current_dir(folder).args(arguments).output().unwrap()
}

/// Runs and expects success; standard output.
fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = albers(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs and expects this exit code; both outputs.
fn end_with(code: i32, folder: &Path, arguments: &[&str]) -> String {
    let output = albers(folder, arguments);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    said
}

/// Visits with days over eight years, half of them in one month, postal codes, ages, decimals and work of a few kinds.
fn visits() -> TempDir {
    let mut text = "day,zip,age,dose,work,sex\n".to_owned();
    for row in 0..400u32 {
        let mixed = row.wrapping_mul(2_654_435_761) >> 7;
        let (year, month) =
            if row % 2 == 0 { (2020, 1) } else { (2016 + mixed % 8, 1 + mixed / 8 % 12) };
        text.push_str(&format!(
            "{year}-{month:02}-{:02},0{},{},{}.{},{},{}\n",
            1 + mixed / 96 % 28,
            1000 + 7 * (mixed % 61),
            18 + mixed / 5 % 70,
            mixed / 3 % 9,
            mixed % 10,
            ["Secret-nurse", "Secret-cook", "Secret-clerk"][(mixed % 3) as usize],
            ["f", "m"][(mixed / 11 % 2) as usize],
        ));
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), text).unwrap();
    folder
}

fn release(folder: &Path, column: &str, hierarchy: &str, name: &str) -> String {
    let hierarchy = format!("{column}={hierarchy}");
    let columns = format!("{column},sex");
    let flags = ["--quasi", &columns, "--hierarchy", &hierarchy];
    let arguments =
        [&["anonymize", "t.csv", "-k", "5", "-o", name, "--force"], &flags[..]].concat();
    succeed(folder, &arguments);
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn a_skeleton_gives_the_release_of_the_hierarchy_that_it_spells_out() {
    let folder = visits();
    let folder = folder.path();
    for (column, like) in [
        ("day", "dates"),
        ("day", "dates:month,year,5-years,10-years"),
        ("day", "dates:week"),
        ("zip", "prefix"),
        ("age", "ranges:5,10,20"),
        ("dose", "ranges:0.5,1,2"),
        ("work", "suppress"),
    ] {
        succeed(folder, &["hierarchy", "t.csv", column, "--like", like, "-o", "h.csv", "--force"]);
        let built_in = release(folder, column, like, "a.csv");
        let by_file = release(folder, column, "h.csv", "b.csv");
        assert_eq!(built_in, by_file, "{column} {like}");
        let said = succeed(folder, &["hierarchy", "t.csv", column, "--check", "h.csv"]);
        assert!(said.ends_with("it fits\n"), "{said}");
    }
}

#[test]
fn levels_are_told_by_the_type_and_have_names() {
    let folder = visits();
    let folder = folder.path();
    for (column, header, like) in [
        ("day", "day,month,quarter,year,all", "dates"),
        ("zip", "zip,level 1,level 2,level 3,level 4,all", "prefix"),
        ("age", "age,by 5,by 10,by 20,all", "ranges:5,10,20"),
        ("dose", "dose,by 0.5,by 1,by 2,all", "ranges:0.5,1,2"),
        ("work", "work,group", "suppress"),
    ] {
        let file = format!("{column}.h.csv");
        let arguments = ["hierarchy", "t.csv", column, "-o", &file, "--json"];
        let report: Value = serde_json::from_str(&succeed(folder, &arguments)).unwrap();
        assert_eq!(report["like"], like, "{column}");
        let text = fs::read_to_string(folder.join(&file)).unwrap();
        assert_eq!(text.lines().next(), Some(header));
        assert_eq!(report["values"], text.lines().count() as u64 - 1);
    }
    let groups =
        succeed(folder, &["hierarchy", "t.csv", "work", "--like", "groups", "-o", "g.csv"]);
    assert!(groups.contains("all values are in one group"), "{groups}");
    let text = fs::read_to_string(folder.join("g.csv")).unwrap();
    assert_eq!(text.lines().nth(1), Some("Secret-clerk,*"), "values are sorted");
}

#[cfg(unix)]
#[test]
fn a_skeleton_is_its_owners_alone_and_replaces_nothing_by_itself() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = visits();
    let folder = folder.path();
    let arguments = ["hierarchy", "t.csv", "work", "-o", "h.csv"];
    let said = succeed(folder, &arguments);
    assert!(said.contains("only you can read it (mode 0600)"), "{said}");
    assert!(!said.contains("Secret"), "{said}");
    let mode = fs::metadata(folder.join("h.csv")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(end_with(2, folder, &arguments).contains("--force"));
    succeed(folder, &[&arguments[..], &["--force"]].concat());
    let table = ["hierarchy", "t.csv", "work", "-o", "t.csv", "--force"];
    end_with(2, folder, &table);
}

#[test]
fn a_value_that_reads_like_the_header_is_no_header() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("t.csv"), "work,sex\nwork,f\ncook,m\ncook,f\n").unwrap();
    succeed(folder, &["hierarchy", "t.csv", "work", "-o", "h.csv", "--header"]);
    assert_eq!(fs::read_to_string(folder.join("h.csv")).unwrap(), "cook,*\nwork,*\n");
    succeed(folder, &["hierarchy", "t.csv", "work", "--check", "h.csv", "--header"]);
}

#[test]
fn what_does_not_fit_is_told_by_counts_and_lines_and_never_by_value() {
    let folder = visits();
    let folder = folder.path();
    let faults = [
        ("Secret-nurse,A\nSecret-cook,A\n", 1, "1 value without a line"),
        (
            "Secret-nurse,A,X\nSecret-cook,A,Y\nSecret-clerk,B,X\n",
            1,
            "line 2: the label of level 1",
        ),
        (
            "Secret-nurse,A\nSecret-cook\nSecret-clerk,\n",
            1,
            "line 3: the label of level 1 is empty",
        ),
        (
            "Secret-nurse,A\nSecret-nurse,B\nSecret-cook,A\nSecret-clerk,A\n",
            1,
            "the leaf of line 1",
        ),
        ("Secret-nurse,Secret-cook\nSecret-cook,B\nSecret-clerk,B\n", 1, "for other values too"),
        ("Secret-nurse,A\nSecret-cook,A\nSecret-clerk,B\nSecret-king,B\n", 0, "does not have"),
    ];
    for (text, code, expected) in faults {
        fs::write(folder.join("h.csv"), text).unwrap();
        let said = end_with(code, folder, &["hierarchy", "t.csv", "work", "--check", "h.csv"]);
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains("Secret"), "{said}");
        assert_eq!(said.ends_with("it fits\n"), code == 0, "{said}");
    }
    let arguments = ["hierarchy", "t.csv", "work", "--check", "h.csv", "--json"];
    let found: Value = serde_json::from_str(&succeed(folder, &arguments)).unwrap();
    assert_eq!(
        (&found["lines_without_value"], &found["fits"]),
        (&serde_json::json!([4]), &true.into())
    );
}

#[test]
fn a_drawing_shows_labels_and_counts_and_no_value() {
    let folder = visits();
    let folder = folder.path();
    let groups = "Secret-nurse,Care\nSecret-cook,Service\nSecret-clerk,Service\n";
    fs::write(folder.join("h.csv"), groups).unwrap();
    let said = succeed(folder, &["hierarchy", "t.csv", "work", "--check", "h.csv", "--draw"]);
    assert!(said.contains("*           3 values, 400 rows\n"), "{said}");
    assert!(said.contains("├─ Care     1 value, "), "{said}");
    assert!(said.contains("└─ Service  2 values, "), "{said}");
    assert!(!said.contains("Secret"), "{said}");
    for column in ["day", "zip", "age"] {
        let said = succeed(folder, &["hierarchy", "t.csv", column, "--draw"]);
        assert!(said.lines().count() <= 41, "{said}");
        assert!(said.contains("* "), "{said}");
    }
    let days = succeed(folder, &["hierarchy", "t.csv", "day", "--draw"]);
    assert!(days.contains("├─ 2016") && days.contains("labels at"), "{days}");
}

#[test]
fn wrong_calls_are_refused_with_a_hint() {
    let folder = visits();
    let folder = folder.path();
    for (arguments, expected) in [
        (vec!["t.csv", "work"], "nothing to do"),
        (vec!["t.csv", "salary", "--draw"], "no column 'salary'"),
        (vec!["t.csv", "work", "--like", "dates", "--draw"], "dates needs dates"),
        (vec!["t.csv", "work", "--like", "ranges", "--draw"], "sizes of intervals cannot be told"),
        (
            vec!["t.csv", "day", "--like", "dates:week,month", "--draw"],
            "a week may begin in one month",
        ),
        (
            vec!["t.csv", "work", "--like", "kinds", "--draw"],
            "'kinds' is nothing that levels are like",
        ),
        (vec!["t.csv", "work", "--check", "none.csv"], "none.csv"),
        (vec!["t.csv", "work", "--check", "h.csv", "-o", "g.csv"], "cannot be used with"),
        (vec!["t.csv", "work", "--draw", "--force"], "--output"),
    ] {
        let all: Vec<&str> = ["hierarchy"].into_iter().chain(arguments).collect();
        let said = end_with(2, folder, &all);
        assert!(said.contains(expected), "{all:?}: {said}");
        assert!(!said.contains("Secret"), "{said}");
    }
}

#[test]
fn lists_of_date_levels_that_do_not_nest_are_refused() {
    let folder = visits();
    let folder = folder.path();
    for (levels, expected) in [
        ("dates:week,month", "a week may begin in one month and end in the next"),
        ("dates:year,month", "from fine to coarse"),
        ("dates:decade", "'decade' is no level of dates"),
    ] {
        let hierarchy = format!("day={levels}");
        let arguments = ["anonymize", "t.csv", "--quasi", "day", "--hierarchy", &hierarchy];
        let said = end_with(2, folder, &[&arguments[..], &["-k", "5", "-o", "r.csv"]].concat());
        assert!(said.contains(expected), "{said}");
    }
}

/// Rows of a release that surely, and that perhaps, satisfy a condition.
fn bounds(folder: &Path, condition: &str) -> (u64, u64) {
    let said = succeed(folder, &["query", "r.csv", condition, "--json"]);
    let answer: Value = serde_json::from_str(&said).unwrap();
    (answer["lower"].as_u64().unwrap(), answer["upper"].as_u64().unwrap())
}

#[test]
fn weeks_and_spans_of_years_are_read_back_by_query_check_and_measure() {
    let folder = visits();
    let folder = folder.path();
    let table = fs::read_to_string(folder.join("t.csv")).unwrap();
    for (levels, label) in
        [("dates:week", "2020-W02"), ("dates:month,5-years,10-years", "2015-2019")]
    {
        let text = release(folder, "day", levels, "r.csv");
        assert!(text.contains(label), "{text}");
        // The loss that the manifest tells is found again from the labels alone.
        let checked = succeed(folder, &["check", "r.csv"]);
        assert!(!checked.contains("does not hold"), "{checked}");
        let hierarchy = format!("day={levels}");
        let flags = ["--quasi", "day,sex", "--hierarchy", &hierarchy, "--json"];
        let measured = succeed(folder, &[&["measure", "t.csv", "r.csv"], &flags[..]].concat());
        assert!(measured.contains("\"ncp\""), "{measured}");
        for condition in ["day >= '2019-12-30'", "day < '2018-07-01'", "day <= '2020-01-12'"] {
            let (least, most) = bounds(folder, condition);
            let day = condition.split('\'').nth(1).unwrap();
            let holds = |own: &str| match condition.split(' ').nth(1).unwrap() {
                ">=" => own >= day,
                "<" => own < day,
                _ => own <= day,
            };
            let truth = table.lines().skip(1).filter(|line| holds(&line[..10])).count() as u64;
            assert!(least <= truth && truth <= most, "{condition}: {least} {truth} {most}");
            assert!(least > 0 || condition.contains('<'), "{condition}: labels tell their days");
        }
        let codebook = fs::read_to_string(folder.join("r.csv.codebook.json")).unwrap();
        assert!(codebook.contains(&format!("\"{levels}\"")), "it tells the levels: {codebook}");
    }
}
