//! `albers query` end to end: what a release answers without its original.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, PEOPLE};
use serde_json::Value;

fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let run = folder.run_with(&[&["query"], arguments, &["--json"]].concat());
    assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.said());
    serde_json::from_str(&run.out).unwrap()
}

fn figures(answer: &Value) -> [u64; 3] {
    ["overlap", "lower", "upper"].map(|name| answer[name].as_u64().unwrap())
}

/// The groups that have rows.
fn groups(answer: &Value) -> Vec<String> {
    let groups = answer["groups"].as_array().unwrap().iter();
    let with_rows = groups.filter(|group| group["overlap"] != 0);
    with_rows.map(|group| group["value"].as_str().unwrap().to_owned()).collect()
}

/// Table 1 of Raschia & Anjum 2011, with postal codes as ARX masks them.
const PATIENTS: &str = "\
Id,Age,Zip,Gender,Disease
1,[48-62],441**,*,Flu
2,[48-62],441**,*,Flu
3,[48-62],441**,*,HIV
4,[59-77],444**,*,Flu
5,[59-77],444**,*,Gastritis
6,[59-77],444**,*,HIV
";

#[test]
fn point_and_window_queries_of_the_paper_return_its_rows() {
    let folder = Folder::with(PATIENTS);
    let ask = |condition: &str| {
        let flags = ["in.csv", condition, "--quasi", "Age,Zip,Gender", "--keep", "Id"];
        json(&folder, &[&flags[..], &["--group-by", "Id", "--type", "Zip=code"]].concat())
    };
    let point = ask("Age = 62 and Zip = '44120' and Gender = 'F'");
    assert_eq!(groups(&point), ["1", "2", "3"]);
    assert_eq!(figures(&point), [3, 0, 3]);
    let window = ask("Zip between '44420' and '44479' and Age >= 50");
    assert_eq!(groups(&window), ["4", "5", "6"]);
}

/// Regions as in figure 4 of Raschia & Anjum 2011: C in B in A, and E, F and G in D in A.
const REGIONS: &str = "\
x,y,level,region
\"[0, 15]\",\"[0, 15]\",0,A
\"[0, 7]\",\"[8, 15]\",1,B
\"[0, 3]\",\"[12, 15]\",2,C
\"[8, 15]\",\"[0, 15]\",1,D
\"[8, 11]\",\"[0, 3]\",2,E
\"[8, 11]\",\"[8, 11]\",2,F
\"[12, 15]\",\"[0, 3]\",2,G
";

#[test]
fn of_nested_regions_the_innermost_around_a_point_answers_and_all_that_own_a_part_of_a_window() {
    let folder = Folder::with(REGIONS);
    let ask = |condition: &str, level: &[&str]| {
        let flags = ["in.csv", condition, "--quasi", "x,y", "--keep", "region"];
        let types = ["--type", "x=integer", "--type", "y=integer", "--group-by", "region"];
        json(&folder, &[&flags[..], level, &types].concat())
    };
    let level = ["--level-column", "level"];
    assert_eq!(groups(&ask("x = 9 and y = 2", &level)), ["E"]);
    // Filtering alone returns enclosing regions too.
    assert_eq!(groups(&ask("x = 9 and y = 2", &[])), ["A", "D", "E"]);
    let window = "x between 10 and 13 and y between 2 and 5";
    assert_eq!(groups(&ask(window, &[])), ["A", "D", "E", "G"]);
    let answer = ask(window, &level);
    assert_eq!(groups(&answer), ["D", "E", "G"]);
    // A window of two regions that fill it: all of their rows are inside.
    let both = ask("x between 8 and 15 and y between 0 and 3", &level);
    assert_eq!((groups(&both), figures(&both)), (vec!["E".to_owned(), "G".to_owned()], [2, 2, 2]));
}

/// Sixty people whose values are known, and a hierarchy of their jobs.
fn people() -> Folder {
    let mut table = "age,job,sex,stay,illness\n".to_owned();
    for place in 0..60 {
        let job = ["nurse", "surgeon", "teacher", "professor"][place % 4];
        let sex = if place % 3 == 0 { "" } else { ["f", "m"][place % 2] };
        let illness = ["flu", "asthma", "gout"][place % 3];
        table += &format!("{},{job},{sex},{},{illness}\n", 20 + place / 2, place % 7);
    }
    let folder = Folder::with(table);
    folder.write(
        "jobs.csv",
        "nurse,health,*\nsurgeon,health,*\nteacher,school,*\nprofessor,school,*\n",
    );
    folder
}

const COLUMNS: &str =
    "--quasi age,job,sex --hierarchy job=jobs.csv --keep stay --sensitive illness";

#[test]
fn labels_are_read_by_the_codebook_by_a_hierarchy_or_may_be_anything() {
    let folder = people();
    let run = folder.run(&format!("anonymize in.csv -o out.csv -k 12 {COLUMNS} --weight job=9"));
    assert_eq!(run.code, Some(0), "{}", run.said());
    let by_codebook = json(&folder, &["out.csv", "job = 'nurse'"]);
    assert!(by_codebook["notes"].as_array().unwrap().is_empty());
    std::fs::remove_file(folder.path("out.csv.codebook.json")).unwrap();
    let by_file = json(&folder, &["out.csv", "job = 'nurse'", "--hierarchy", "job=jobs.csv"]);
    assert_eq!(figures(&by_codebook), figures(&by_file));
    let unread = json(&folder, &["out.csv", "job = 'nurse'"]);
    let [overlap, lower, upper] = figures(&unread);
    assert_eq!((overlap, lower, upper), (60, 0, 60));
    assert!(unread["notes"][0].as_str().unwrap().contains("labels of 'job'"), "{unread}");
    folder.write("others.csv", "cook,kitchen,*\n");
    let run =
        folder.run_with(&["query", "out.csv", "job = 'cook'", "--hierarchy", "job=others.csv"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("no label of the hierarchy"), "{}", run.err);
}

#[test]
fn a_label_in_a_condition_means_all_values_below_it() {
    let folder = people();
    folder.run(&format!("anonymize in.csv -o out.csv -k 5 {COLUMNS}"));
    let label = json(&folder, &["out.csv", "job = 'health'"]);
    let values = json(&folder, &["out.csv", "job in ('nurse', 'surgeon')"]);
    assert_eq!(figures(&label), figures(&values));
    assert!(label["overlap"].as_u64().unwrap() >= 30);
}

#[test]
fn groups_cover_all_rows_and_carried_values_are_exact() {
    let folder = people();
    folder.run(&format!("anonymize in.csv -o out.csv -k 5 {COLUMNS}"));
    let answer =
        json(&folder, &["out.csv", "--group-by", "illness", "--sum", "stay", "--avg", "stay"]);
    assert_eq!(figures(&answer), [60, 60, 60]);
    for group in answer["groups"].as_array().unwrap() {
        assert_eq!(figures(group), [20, 20, 20], "{group}");
    }
    let sum: usize = (0..60).map(|place| place % 7).sum();
    assert_eq!(answer["sum"]["stay"]["estimate"], sum as f64);
    assert_eq!(answer["sum"]["stay"]["lower"], answer["sum"]["stay"]["upper"]);
    assert_eq!(answer["avg"]["stay"]["estimate"], sum as f64 / 60.0);
    let by_sex = json(&folder, &["out.csv", "--group-by", "sex"]);
    let estimates =
        by_sex["groups"].as_array().unwrap().iter().map(|own| own["estimate"].as_f64().unwrap());
    assert!((estimates.sum::<f64>() - 60.0).abs() < 1e-9, "{by_sex}");
}

#[test]
fn sums_and_means_of_quasi_identifiers_come_of_the_means_that_a_release_carries() {
    let folder = people();
    let run =
        folder.run("anonymize in.csv -o out.csv -k 5 --quasi age,sex --values mean --keep stay");
    assert_eq!(run.code, Some(0), "{}", run.said());
    let truth: f64 = (0..60).map(|place| f64::from(20 + place / 2)).sum();
    let all = json(&folder, &["out.csv", "--sum", "age", "--avg", "age"]);
    let sum = &all["sum"]["age"];
    let [estimate, lower, upper] =
        ["estimate", "lower", "upper"].map(|name| sum[name].as_f64().unwrap());
    assert!(lower <= truth && truth <= upper, "{sum}");
    assert!((estimate - truth).abs() <= 60.0, "{sum}");
    let young = json(&folder, &["out.csv", "age < 30", "--avg", "age"]);
    let mean = young["avg"]["age"]["estimate"].as_f64().unwrap();
    assert!((24.0..=25.5).contains(&mean), "{young}");
    folder.run("anonymize in.csv -o plain.csv -k 5 --quasi age,sex");
    let run = folder.run("query plain.csv --avg age");
    assert_eq!(run.code, Some(2));
    assert!(
        run.err.contains("carries no means of 'age'") && run.err.contains("--values mean"),
        "{}",
        run.err
    );
}

#[test]
fn every_format_gives_the_same_answer() {
    let folder = people();
    let condition = "age between 25 and 33 and sex = 'f' and stay < 5";
    let mut found = Vec::new();
    for name in ["out.csv", "out.csv.gz", "out.tsv", "out.parquet"] {
        let run = folder.run(&format!("anonymize in.csv -o {name} -k 5 {COLUMNS}"));
        assert_eq!(run.code, Some(0), "{}", run.said());
        let answer = json(&folder, &[name, condition]);
        found.push((figures(&answer), answer["estimate"].as_f64().unwrap()));
    }
    assert!(found.iter().all(|own| own.0 == found[0].0), "{found:?}");
    assert!(found.iter().all(|own| (own.1 - found[0].1).abs() < 1e-9), "{found:?}");
    // Threads and the order of conditions change nothing.
    folder.write("conditions.txt", format!("# two\n{condition}\nage > 30\n\n"));
    for threads in ["1", "3"] {
        let all =
            json(&folder, &["out.csv", "--conditions", "conditions.txt", "--threads", threads]);
        let answers = all["answers"].as_array().unwrap();
        assert_eq!((figures(&answers[0]), answers.len()), (found[0].0, 2));
    }
}

#[test]
fn an_estimate_is_right_on_average_where_rows_are_spread_evenly() {
    let mut state = 11u64;
    let mut draw = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let points: Vec<[u64; 2]> = (0..3_000).map(|_| [draw(1_000), draw(1_000)]).collect();
    let rows: String = points.iter().map(|[x, y]| format!("{x},{y}\n")).collect();
    let folder = Folder::with(format!("x,y\n{rows}"));
    folder.run("anonymize in.csv -o out.csv -k 10 --quasi x,y --no-compact --type x=integer --type y=integer");
    let windows: Vec<[u64; 4]> = (0..300)
        .map(|_| {
            let (a, b, c, d) = (draw(1_000), draw(1_000), draw(1_000), draw(1_000));
            [a.min(b), a.max(b), c.min(d), c.max(d)]
        })
        .collect();
    let conditions = windows
        .iter()
        .map(|[a, b, c, d]| format!("x between {a} and {b} and y between {c} and {d}\n"))
        .collect::<String>();
    folder.write("windows.txt", conditions);
    let told = json(&folder, &["out.csv", "--conditions", "windows.txt"]);
    let errors: Vec<f64> = windows
        .iter()
        .zip(told["answers"].as_array().unwrap())
        .map(|([a, b, c, d], answer)| {
            let is_in = |[x, y]: &&[u64; 2]| a <= x && x <= b && c <= y && y <= d;
            let truth = points.iter().filter(is_in).count() as u64;
            let [overlap, lower, upper] = figures(answer);
            assert!(lower <= truth && truth <= upper && upper <= overlap);
            answer["estimate"].as_f64().unwrap() - truth as f64
        })
        .collect();
    let n = errors.len() as f64;
    let mean = errors.iter().sum::<f64>() / n;
    let variance = errors.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let standard_error = (variance / n).sqrt();
    assert!(mean.abs() <= 3.0 * standard_error, "{mean} beyond {standard_error}");
}

#[test]
fn mistakes_end_with_2_and_are_marked_where_they_stand() {
    let folder = people();
    folder.run(&format!("anonymize in.csv -o out.csv -k 5 {COLUMNS}"));
    for (condition, said) in [
        (
            "agee < 40",
            "there is no column 'agee'; did you mean 'age'? the columns are age, job, sex, stay, illness\n    agee < 40\n    ^^^^\n",
        ),
        (
            "sex = 'f' and age < 'forty'",
            "    sex = 'f' and age < 'forty'\n                        ^^^^^^^\n",
        ),
        ("upper(sex) = 'F'", "the condition calls a function, 'upper'"),
        ("age <", "cannot be read"),
        ("age < 3 order by age", "goes on where it should end"),
        ("age < stay", "compares two columns"),
        ("name = 'x'", "there is no column 'name'"),
        ("", "the condition is empty"),
    ] {
        let run = folder.run_with(&["query", "out.csv", condition]);
        assert_eq!(run.code, Some(2), "{condition}: {}", run.said());
        assert!(run.err.contains(said), "{condition}: {}", run.err);
    }
    for (arguments, said) in [
        ("query out.csv --quasi age", "stands in the manifest"),
        ("query out.csv --group-by age", "no groups"),
        ("query out.csv --sum illness", "holds no numbers"),
        ("query out.csv --sum nothing", "there is no column 'nothing'"),
        ("query out.csv --hierarchy nothing=prefix", "there is no column 'nothing'"),
        ("query none.csv", "none.csv"),
        ("query out.csv --conditions none.txt", "none.txt"),
        ("query out.csv --memory 1KB", "memory"),
    ] {
        let run = folder.run(arguments);
        assert_eq!(run.code, Some(2), "{arguments}: {}", run.said());
        assert!(run.err.contains(said), "{arguments}: {}", run.err);
    }
}

#[test]
fn what_lies_outside_of_all_cells_or_contradicts_itself_has_no_rows() {
    let folder = people();
    folder.run(&format!("anonymize in.csv -o out.csv -k 5 {COLUMNS}"));
    for condition in ["age > 900", "age < -5", "sex = 'x'", "job = 'cook'", "age < 30 and age > 40"]
    {
        let answer = json(&folder, &["out.csv", condition]);
        assert_eq!(figures(&answer), [0, 0, 0], "{condition}");
        assert_eq!(answer["estimate"], 0.0);
    }
    assert_eq!(figures(&json(&folder, &["out.csv", "age > -5"])), [60, 60, 60]);
}

#[test]
fn a_file_that_is_not_that_of_its_manifest_is_refused() {
    let folder = people();
    folder.run(&format!("anonymize in.csv -o out.csv -k 5 {COLUMNS}"));
    let text = folder.read("out.csv");
    let longer = format!("{text}{}\n", text.lines().last().unwrap());
    folder.write("out.csv", &longer);
    let run = folder.run("query out.csv");
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("its bytes differ"), "{}", run.err);
    // Without what stands beside it, it is anybody's.
    for ending in ["manifest.json", "codebook.json"] {
        std::fs::remove_file(folder.path(&format!("out.csv.{ending}"))).unwrap();
    }
    let run = folder.run_with(&["query", "out.csv", "age < 30"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("nothing tells what column 'age' shows"), "{}", run.err);
    assert!(run.err.contains("--quasi") && run.err.contains("--keep"), "{}", run.err);
    assert_eq!(json(&folder, &["out.csv", "age < 30", "--quasi", "age"])["rows"], 61);
}

#[test]
fn a_release_without_rows_or_without_its_levels_is_refused() {
    let folder = Folder::with("age\n");
    let run = folder.run_with(&["query", "in.csv", "age < 3", "--quasi", "age"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("no rows"), "{}", run.err);
    folder.write("people.csv", PEOPLE);
    folder.run("anonymize people.csv -o out.csv -k 3 --quasi age,pay --method bang");
    let manifest = folder.read("out.csv.manifest.json");
    let text = folder.read("out.csv");
    let without: Vec<&str> = text.lines().map(|line| line.rsplit_once(',').unwrap().0).collect();
    folder.write("other.csv", without.join("\n") + "\n");
    let mut manifest: Value = serde_json::from_str(&manifest).unwrap();
    manifest.as_object_mut().unwrap().remove("digest");
    folder.write("other.csv.manifest.json", manifest.to_string());
    let run = folder.run("query other.csv");
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("has no column 'level'"), "{}", run.err);
    let run = folder.run("query people.csv --quasi age --level-column depth");
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("there is no column 'depth'"), "{}", run.err);
}

#[test]
fn rows_that_were_left_out_are_told_in_a_note() {
    let outliers = "91\n97\n";
    let folder = Folder::with(format!("age\n{}{outliers}", "30\n31\n32\n".repeat(20)));
    let flags = "-k 4 --suppress 0.1 --quasi age --method incognito --hierarchy age=ranges:5,10,20";
    let run = folder.run(&format!("anonymize in.csv -o out.csv {flags}"));
    assert_eq!(run.code, Some(0), "{}", run.said());
    let manifest: Value = serde_json::from_str(&folder.read("out.csv.manifest.json")).unwrap();
    let left_out = manifest["suppressed"].as_u64().unwrap();
    assert!(left_out > 0, "{manifest}");
    let answer = json(&folder, &["out.csv", "age < 30"]);
    let note = answer["notes"][0].as_str().unwrap();
    assert!(note.contains(&format!("{left_out} rows of the table were left out")), "{note}");
}
