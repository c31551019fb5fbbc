//! Releases that are made for what they will be asked for, end to end.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Folder, Numbers};

/// People with ages, incomes and towns; some incomes are missing.
fn people(n_rows: u64) -> String {
    let mut numbers = Numbers::new(11);
    let mut text = "age,income,town,shoe,illness\n".to_owned();
    for _ in 0..n_rows {
        let income = match numbers.below(12) {
            0 => String::new(),
            _ => (100 * numbers.below(900)).to_string(),
        };
        let (age, shoe) = (20 + numbers.below(60), 30 + numbers.below(18));
        let town = ["Ulm", "Bern", "Graz", "Riga"][numbers.below(4) as usize];
        let illness = ["flu", "cold", "none"][(numbers.below(2) + numbers.below(2)) as usize];
        text.push_str(&format!("{age},{income},{town},{shoe},{illness}\n"));
    }
    text
}

const QUASI: &str = "age,income,town,shoe";
const OLD: &str = "age >= 60 and income between 20050 and 60050";
const YOUNG: &str = "age < 30 and town = 'Bern'";

/// The arguments of a release of `in.csv`, with more of them after a line break each.
fn arguments(more: &str) -> Vec<String> {
    let all = format!("-o out.csv\n-k 8\n--quasi {QUASI}\n--sensitive illness\n{more}");
    let lines = all.lines().filter(|line| !line.is_empty());
    let parts = lines.flat_map(|line| match line.split_once(' ') {
        Some((flag, value)) => vec![flag.to_owned(), value.to_owned()],
        None => vec![line.to_owned()],
    });
    parts.collect()
}

fn release(folder: &Folder, table: &str, more: &str) -> serde_json::Value {
    let arguments = arguments(&format!("--accept secret-without-rule\n{more}"));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    folder.anonymize_with(&[&[table][..], &arguments[..]].concat())
}

fn measured(folder: &Folder, selects: &[&str]) -> serde_json::Value {
    let mut arguments = vec!["measure", "in.csv", "out.csv", "--quasi", QUASI, "--json"];
    selects.iter().for_each(|select| arguments.extend(["--select", select]));
    let run = folder.run_with(&arguments);
    assert_eq!(run.code, Some(0), "{}", run.said());
    serde_json::from_str(&run.out).unwrap()
}

#[test]
fn a_release_for_selections_returns_fewer_rows_in_vain_than_others() {
    let folder = Folder::with(people(4000));
    let selects = [OLD, YOUNG];
    let asked = format!("--select {OLD}\n--select {YOUNG}");
    for regions in ["", "--no-compact"] {
        let in_vain = |split: &str| {
            release(&folder, "in.csv", &format!("{split}\n{regions}"));
            let report = measured(&folder, &selects);
            let each = report["selections"]["each"].as_array().unwrap();
            let right = |text: &str| each.iter().find(|own| own["where"] == text).unwrap().clone();
            (
                right(OLD)["imprecision"].as_i64().unwrap(),
                right(YOUNG)["imprecision"].as_i64().unwrap(),
            )
        };
        let plain = in_vain("--split median");
        let made_for = in_vain(&format!("--split selection\n--then median\n{asked}"));
        assert!(3 * made_for.0 < plain.0 && 3 * made_for.1 < plain.1, "{made_for:?} {plain:?}");
        // After the selections, targets have a say.
        let both = in_vain(&format!("--split info-gain\n--target town\n{asked}"));
        assert!(2 * both.0 < plain.0 && 2 * both.1 < plain.1, "{both:?} beside {plain:?}");
    }
}

#[test]
fn what_is_measured_is_what_a_reader_of_the_release_counts() {
    let folder = Folder::with(people(1500));
    release(&folder, "in.csv", "--split median\n--values bounds");
    let select = "age >= 60 and income > 50000";
    let report = measured(&folder, &[select, "2: age < 30"]);
    let number = |name: &str, column: &str| -> Vec<Option<f64>> {
        folder.column(name, column).iter().map(|cell| cell.parse().ok()).collect()
    };
    let (ages, incomes) = (number("out.csv", "age_max"), number("out.csv", "income_max"));
    let rows = ages.iter().zip(&incomes);
    let returned = rows.filter(|(age, income)| {
        age.is_some_and(|age| age >= 60.0) && income.is_some_and(|income| income > 50000.0)
    });
    let (ages, incomes) = (number("in.csv", "age"), number("in.csv", "income"));
    let satisfying = ages.iter().zip(&incomes).filter(|(age, income)| {
        age.is_some_and(|age| age >= 60.0) && income.is_some_and(|income| income > 50000.0)
    });
    let (returned, satisfying) = (returned.count() as i64, satisfying.count() as i64);
    let found = &report["selections"]["each"][0];
    assert_eq!(found["returned"].as_i64(), Some(returned));
    assert_eq!(found["satisfying"].as_i64(), Some(satisfying));
    let young = report["selections"]["each"][1]["imprecision"].as_i64().unwrap();
    let weighted = (returned - satisfying + 2 * young) as f64;
    assert_eq!(report["selections"]["weighted_imprecision"].as_f64(), Some(weighted));
}

#[test]
fn a_release_for_selections_is_the_same_in_any_memory_order_and_number_of_threads() {
    let folder = Folder::with(people(12_000));
    folder.write_sorted("sorted.csv");
    let asked = format!("--split selection\n--select {OLD}\n--select 2: {YOUNG}");
    for more in ["", "--no-compact", "--also-k 40", "--l-diversity illness=distinct:2"] {
        let mut found = Vec::new();
        for (table, way) in [
            ("in.csv", ""),
            ("sorted.csv", "--threads 1"),
            ("in.csv", "--method rtree"),
            ("sorted.csv", "--memory 500KB\n--spill-dir ."),
        ] {
            let more = format!("{asked}\n{more}\n{way}\n--least-memory 400KB");
            let report = release(&folder, table, &more);
            if way.contains("--memory") {
                assert!(report["spilled_bytes"].as_u64().unwrap() > 0, "{more}");
            }
            let coarser = more.contains("also-k").then(|| folder.read("out.k40.csv"));
            found.push((folder.read("out.csv"), coarser));
        }
        assert!(found.iter().all(|own| *own == found[0]), "{more}");
    }
    // Regions and bounds are of the same classes.
    let sizes = |more: &str| {
        let report = release(&folder, "in.csv", &format!("{asked}\n{more}"));
        (report["classes"].clone(), report["class_size"].clone())
    };
    assert_eq!(sizes(""), sizes("--no-compact"));
}

#[test]
fn a_selection_of_few_rows_is_said_without_their_number() {
    let folder = Folder::with(people(300));
    let asked =
        "--split selection\n--select age >= 78 and town = 'Ulm' and shoe = 31\n--select age > 40";
    let arguments = arguments(&format!("--accept secret-without-rule\n{asked}"));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let run = folder.run_with(&[&["anonymize", "in.csv"][..], &arguments[..]].concat());
    assert_eq!(run.code, Some(0), "{}", run.said());
    assert!(run.said().contains("--select number 1 has fewer rows than a class"), "{}", run.said());
    assert!(!run.said().contains("--select number 2"), "{}", run.said());
    // A value that nobody has is told no other than one that some have.
    let none = "--split selection\n--select town = 'Oslo'\n--force";
    let arguments = self::arguments(&format!("--accept secret-without-rule\n{none}"));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let run = folder.run_with(&[&["anonymize", "in.csv"][..], &arguments[..]].concat());
    assert!(run.said().contains("--select number 1 has fewer rows than a class"), "{}", run.said());
    // Measured together, or not at all.
    let report = measured(&folder, &["shoe = 31 and age = 50", "age > 40"]);
    let each = report["selections"]["each"].as_array().unwrap();
    assert_eq!(each.len(), 1, "{report}");
    assert_eq!(each[0]["where"], "age > 40");
}

#[test]
fn what_few_rows_or_rows_left_out_satisfy_is_not_measured() {
    let mut table = "id,age,sex\n".to_owned();
    for (row, (age, sex)) in [(20, 'M'); 40].iter().chain(&[(30, 'M'); 40]).enumerate() {
        table.push_str(&format!("{row},{age},{sex}\n"));
    }
    (80..83).for_each(|row| table.push_str(&format!("{row},90,F\n")));
    let folder = Folder::with(table);
    folder.write("release.csv", {
        let kept = folder.read("in.csv");
        kept.lines().filter(|line| !line.ends_with('F')).collect::<Vec<_>>().join("\n") + "\n"
    });
    let measured = |more: &[&str]| -> serde_json::Value {
        let base = ["measure", "in.csv", "release.csv", "--quasi", "age,sex", "--json"];
        let run = folder.run_with(&[&base[..], more].concat());
        assert_eq!(run.code, Some(0), "{}", run.said());
        serde_json::from_str(&run.out).unwrap()
    };
    // Who was left out would be told by the difference.
    let report = measured(&["--select", "age > 25"]);
    let selection = &report["selections"]["each"][0];
    assert_eq!((&selection["returned"], selection.get("satisfying")), (&40.into(), None));
    assert!(report["notes"].to_string().contains("leaves rows out"), "{report}");
    let report = measured(&["--select", "age > 25", "--key", "id"]);
    assert_eq!(report["selections"]["each"][0]["satisfying"], 40);
    // The sum is over boxes that enough rows satisfy, and not over those of few.
    folder.write("release.csv", folder.read("in.csv").replace(",90,", ",\"[30, 90]\","));
    let flags = ["--key", "id", "--select", "1000: age = 90 or age = 20", "--select", "age = 90"];
    folder.write("job.toml", "k = 5\n");
    let report = measured(&[&["--job", "job.toml"][..], &flags].concat());
    assert_eq!(report["selections"]["weighted_imprecision"], 0.0, "{report}");
    assert_eq!(report["selections"]["each"].as_array().unwrap().len(), 1, "{report}");
}

#[test]
fn lists_of_values_are_as_good_as_alternatives() {
    let folder = Folder::with(people(3000));
    let in_vain = |select: &str| {
        release(&folder, "in.csv", &format!("--split selection\n--then median\n--select {select}"));
        let report = measured(&folder, &[select]);
        report["selections"]["each"][0]["imprecision"].as_i64().unwrap()
    };
    assert_eq!(in_vain("town in ('Bern', 'Riga')"), 0);
    assert_eq!(in_vain("town = 'Bern' or town = 'Riga'"), 0);
    assert!(in_vain("age not in (40, 41, 42)") < 20);
    // A box that cannot be is no reason to refuse the others.
    assert!(in_vain("not (age between 30 and 40) and not (age between 50 and 60)") < 60);
}

#[test]
fn mistakes_about_selections_end_with_2_and_a_hint() {
    let folder = Folder::with(people(200));
    for (more, word) in [
        ("--split selection", "--select"),
        ("--select age > 40", "--split selection"),
        ("--split median\n--select age > 40", "--split selection"),
        ("--split selection\n--select age > 40\n--target town", "--target has no effect"),
        ("--method local\n--select age > 40", "--select has no effect"),
        ("--method tds\n--target town\n--select age > 40", "--select has no effect"),
        ("--split selection\n--select illness = 'flu'", "no quasi-identifier"),
        ("--split selection\n--select height > 3", "has no role"),
        ("--split selection\n--select Age > 3", "has no role"),
        ("--split selection\n--select town = 'Bern' and town = 'Ulm'", "contradicts itself"),
        ("--split selection\n--select age >", "cannot be read"),
        ("--split selection\n--select age > 40 and age < 30", "contradicts itself"),
        ("--split selection\n--select 0: age > 40\n--select age < 30", "weight"),
        ("--split selection\n--select 2: age > 40", "there is no other"),
        ("--split selection\n--select age > 'old'", "not of type integer"),
        ("--split selection\n--select town > 'Bern'", "has none"),
        ("--split selection\n--select age > income", "single quotes"),
    ] {
        let arguments = arguments(more);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let refused = folder.run_with(&[&["anonymize", "in.csv"][..], &arguments[..]].concat());
        assert_eq!(refused.code, Some(2), "{more}: {}", refused.said());
        assert!(refused.err.contains(word), "{more}: {}", refused.err);
        assert!(!folder.path("out.csv").exists());
    }
    let many: Vec<String> =
        (0..13).map(|at| format!("--select shoe in (1) or {}", boxes(at))).collect();
    let arguments = arguments(&format!("--split selection\n{}", many.join("\n")));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let refused = folder.run_with(&[&["anonymize", "in.csv"][..], &arguments[..]].concat());
    assert!(refused.err.contains("comes to 65 boxes"), "{}", refused.err);
}

fn boxes(at: usize) -> String {
    (0..4).map(|box_idx| format!("age = {}", 20 + at + box_idx)).collect::<Vec<_>>().join(" or ")
}

#[test]
fn a_job_file_names_selections_as_flags_do() {
    let folder = Folder::with(people(900));
    let asked = format!("--split selection\n--select 2: {OLD}\n--select {YOUNG}\n--then median");
    release(&folder, "in.csv", &asked);
    let columns = ["age", "income", "town", "shoe"]
        .map(|name| format!("[columns.{name}]\nrole = \"quasi\"\n"));
    folder.write(
        "job.toml",
        format!(
            "input = \"in.csv\"\noutput = \"job.csv\"\nk = 8\nsplit = \"selection\"\nthen = \"median\"\n\
             accept = [\"secret-without-rule\"]\n\
             [[workload.select]]\nwhere = \"{OLD}\"\nweight = 2\n\
             [[workload.select]]\nwhere = \"{YOUNG}\"\n\
             {}[columns.illness]\nrole = \"sensitive\"\n",
            columns.concat()
        ),
    );
    folder.anonymize("--job job.toml");
    assert_eq!(folder.read("out.csv"), folder.read("job.csv"));
    folder.write("wrong.toml", "k = 2\n[[workload.select]]\nwhere = \"age ~ 3\"\n");
    let refused = folder.run("anonymize --job wrong.toml");
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("wrong.toml, line 3"), "{}", refused.err);
}

#[test]
fn a_bound_on_a_column_of_which_every_cell_is_missing_finds_no_row() {
    for (kind, bound) in [
        ("float", "5"),
        ("decimal", "5"),
        ("integer", "5"),
        ("date", "'2020-01-31'"),
        ("timestamp", "'2020-01-31 10:00:00'"),
    ] {
        let folder = Folder::with("age,pay\n30,\n31,\n40,\n41,\n");
        for select in [format!("pay >= {bound}"), format!("pay < {bound}")] {
            let job = "anonymize in.csv -o out.csv --force -k 2 --quasi age,pay --split selection";
            let mut arguments: Vec<&str> = job.split(' ').collect();
            let kind = format!("pay={kind}");
            arguments.extend(["--type", &kind, "--select", &select]);
            let run = folder.run_with(&arguments);
            assert_eq!(run.code, Some(0), "{kind}, {select}: {}", run.said());
            assert!(run.out.contains("4 rows in 2 classes"), "{kind}: {}", run.out);
        }
    }
}
