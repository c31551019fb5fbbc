//! Full-domain generalization through the program: every option listed, one of them published.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::collections::BTreeSet;

use common::{Folder, PEOPLE, divergence, is_near, patients, table};
use serde_json::Value;

/// The Patients table of LeFevre, DeWitt & Ramakrishnan 2005, figure 1.
const PAPER: &str = "\
birthdate,sex,zipcode,disease
1976-01-21,Male,53715,Flu
1986-04-13,Female,53715,Hepatitis
1976-02-28,Male,53703,Bronchitis
1976-01-21,Male,53703,Broken arm
1986-04-13,Female,53706,Sprained ankle
1976-02-28,Female,53706,Hang nail
";

/// Its hierarchies, figure 2.
const PAPER_ROLES: &str = "--quasi birthdate,sex,zipcode --hierarchy birthdate=suppress \
    --hierarchy sex=suppress --hierarchy zipcode=zip.csv -k 2";

fn paper() -> Folder {
    let folder = Folder::with(PAPER);
    folder.write("zip.csv", "53715,5371*,537**\n53706,5370*,537**\n53703,5370*,537**\n");
    folder
}

const ROLES: &str = "--quasi age,zip,city --hierarchy age=ranges:5,20 --hierarchy zip=prefix \
    --hierarchy city=suppress --sensitive disease";

fn lattice(folder: &Folder, arguments: &str) -> Value {
    let run = folder.run(&format!("lattice {arguments} --json"));
    assert_eq!(run.code, Some(0), "{arguments}: {}", run.err);
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("not one object: {}", run.out))
}

fn levels(own: &Value) -> Vec<u64> {
    own["levels"].as_object().unwrap().values().map(|level| level.as_u64().unwrap()).collect()
}

fn minimal(report: &Value) -> BTreeSet<Vec<u64>> {
    report["minimal"].as_array().unwrap().iter().map(levels).collect()
}

const SEARCHES: [&str; 5] = [
    "--method incognito --variant basic",
    "--method incognito --variant super-roots",
    "--method incognito --variant cube",
    "--method bottom-up --variant rollup",
    "--method bottom-up --variant scan",
];

#[test]
fn the_paper_s_patients_have_three_minimal_generalizations() {
    let folder = paper();
    for search in SEARCHES {
        let report = lattice(&folder, &format!("in.csv {PAPER_ROLES} {search}"));
        let expected = BTreeSet::from([vec![0, 1, 2], vec![1, 0, 2], vec![1, 1, 0]]);
        assert_eq!(minimal(&report), expected, "{search}");
        assert_eq!(report["satisfying"], 5);
        assert_eq!(report["nodes"], 12.0);
        assert_eq!(report["complete"], true);
        for own in report["minimal"].as_array().unwrap() {
            assert_eq!(own["suppressed"], 0);
            assert_eq!(own["height"], levels(own).iter().sum::<u64>());
            assert!(own["classes"].as_u64().unwrap() >= 1);
        }
    }
    let report = lattice(&folder, &format!("in.csv {PAPER_ROLES} --method samarati"));
    assert_eq!(minimal(&report), BTreeSet::from([vec![1, 1, 0]]));
    assert_eq!(report["complete"], false);
}

#[test]
fn what_the_lattice_says_of_a_generalization_is_what_its_release_says() {
    let folder = Folder::with(table(&patients(1_500, 11)));
    for rest in
        ["-k 4", "-k 4 --suppress 0.05", "-k 3 --l-diversity disease=entropy:2 --suppress 0.1"]
    {
        let report = lattice(&folder, &format!("in.csv {ROLES} {rest}"));
        let all = report["minimal"].as_array().unwrap();
        assert!(!all.is_empty());
        for own in all.iter().take(4) {
            let given: Vec<String> = own["levels"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, level)| format!("{name}={level}"))
                .collect();
            let given = given.join(",");
            let release =
                folder.anonymize(&format!("in.csv -o out.csv {ROLES} {rest} --level {given}"));
            assert_eq!(release["suppressed"], own["suppressed"], "{rest}");
            assert_eq!(release["classes"], own["classes"], "{rest}");
            assert_eq!(release["table_loss"]["discernibility"], own["discernibility"], "{rest}");
            let close =
                |a: &Value, b: &Value| (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-9;
            assert!(close(&release["table_loss"]["ncp"], &own["ncp"]), "{rest}");
            let rows = release["rows"].as_u64().unwrap() + release["suppressed"].as_u64().unwrap();
            assert_eq!(rows, 1_500);
        }
    }
}

#[test]
fn the_best_release_is_no_worse_than_any_minimal_generalization() {
    let folder = Folder::with(table(&patients(1_000, 5)));
    let report = lattice(&folder, &format!("in.csv {ROLES} -k 5"));
    for (minimize, figure) in
        [("ncp", "ncp"), ("height", "height"), ("discernibility", "discernibility")]
    {
        let least = report["minimal"].as_array().unwrap().iter();
        let least = least.map(|own| own[figure].as_f64().unwrap()).fold(f64::INFINITY, f64::min);
        let release = folder.anonymize(&format!(
            "in.csv -o out.csv {ROLES} -k 5 --method incognito --minimize {minimize}"
        ));
        let reached = match figure {
            "height" => &release["generalization"]["height"],
            other => &release["table_loss"][other],
        };
        assert!((reached.as_f64().unwrap() - least).abs() <= 1e-9 * least.abs(), "{minimize}");
    }
}

#[test]
fn weights_keep_a_column_intact_even_if_others_suffer() {
    let folder = Folder::with(table(&patients(1_000, 5)));
    let city = |weight: &str| {
        let rest = format!("{ROLES} -k 5 --method incognito --minimize weights {weight}");
        let release = folder.anonymize(&format!("in.csv -o out.csv {rest}"));
        release["generalization"]["levels"]["city"].as_u64().unwrap()
    };
    assert_eq!(city("--weight city=0.001"), 1);
    assert_eq!(city("--weight city=1000"), 0);
}

#[test]
fn every_value_of_a_column_is_shown_at_the_same_level() {
    let folder = Folder::with(table(&patients(2_000, 3)));
    let rest = format!("{ROLES} -k 3 --level age=1,zip=3,city=1");
    folder.anonymize(&format!("in.csv -o out.csv {rest} --suppress 1"));
    let ages: BTreeSet<String> = folder.column("out.csv", "age").into_iter().collect();
    assert!(ages.len() > 5, "{ages:?}");
    for age in ages {
        let (lo, hi) = age.trim_matches(['[', ')', ']']).split_once(", ").unwrap();
        assert_eq!(hi.parse::<i64>().unwrap() - lo.parse::<i64>().unwrap(), 4, "{age}");
    }
    assert!(folder.column("out.csv", "zip").iter().all(|zip| zip == "00*"));
    assert!(folder.column("out.csv", "city").iter().all(|city| city == "*"));
}

#[test]
fn a_value_alone_below_its_label_is_shown_by_the_label_of_the_level() {
    let folder = Folder::with("town\nAachen\nAachen\nBonn\nBonn\nUlm\nUlm\n");
    folder.write("town.csv", "Aachen,Rhine\nBonn,Rhine\nUlm,Danube\n");
    let rest = "--quasi town --hierarchy town=town.csv -k 2 --level town=1";
    let report = folder.anonymize(&format!("in.csv -o out.csv {rest}"));
    let towns: BTreeSet<String> = folder.column("out.csv", "town").into_iter().collect();
    assert_eq!(towns, BTreeSet::from(["Danube".to_owned(), "Rhine".to_owned()]));
    let notes = report["notes"].to_string();
    assert!(notes.contains("hierarchy of 'town'") && notes.contains("'*'"), "{notes}");
    let top = folder.anonymize(&format!(
        "in.csv -o top.csv {} --level town=2",
        "--quasi town --hierarchy town=town.csv -k 2"
    ));
    assert_eq!(top["generalization"]["height"], 2);
    assert!(folder.column("top.csv", "town").iter().all(|town| town == "*"));
}

#[test]
fn missing_values_are_a_value_of_their_own_below_the_top_and_nothing_at_it() {
    let folder = Folder::with("zip,key\n100,a\n100,b\n,c\n,d\n200,e\n200,f\n200,g\n");
    let rest = "--quasi zip --type zip=code --hierarchy zip=prefix --keep key -k 2";
    folder.anonymize(&format!("in.csv -o out.csv {rest} --level zip=0"));
    assert_eq!(folder.column("out.csv", "zip").iter().filter(|zip| zip.is_empty()).count(), 2);
    folder.anonymize(&format!("in.csv -o top.csv {rest} --level zip=3"));
    assert!(folder.column("top.csv", "zip").iter().all(|zip| zip == "*"));
    for name in ["out.csv", "top.csv"] {
        let measured = folder.run(&format!(
            "measure in.csv {name} --quasi zip --type zip=code --hierarchy zip=prefix --key key --json"
        ));
        assert_eq!(measured.code, Some(0), "{}", measured.said());
    }
}

#[test]
fn rows_left_out_are_accounted_for_and_measured_as_lost() {
    let folder = Folder::with(table(&patients(1_200, 9)));
    let rest = format!("{ROLES} --keep id -k 4 --suppress 0.1 --method incognito");
    let report = folder.anonymize(&format!("in.csv -o out.csv {rest}"));
    let n_suppressed = report["suppressed"].as_u64().unwrap();
    assert!((1..=120).contains(&n_suppressed), "{n_suppressed}");
    assert_eq!(folder.rows("out.csv").len() as u64 - 1, 1_200 - n_suppressed);
    let run = folder.run(
        "measure in.csv out.csv --quasi age,zip,city --hierarchy age=ranges:5,20 --hierarchy \
         zip=prefix --hierarchy city=suppress --sensitive disease --key id --json",
    );
    let measured: Value =
        serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}", run.said()));
    assert_eq!(measured["suppressed"], n_suppressed);
    assert!(is_near(divergence(&measured["loss"]), divergence(&report)), "{measured}");
    for figure in ["ncp", "discernibility"] {
        let (a, b) = (&measured["loss"][figure], &report["table_loss"][figure]);
        let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{figure}: {a} {b}");
    }
}

#[test]
fn requirements_hold_in_the_release_alone() {
    let folder = Folder::with(table(&patients(3_000, 4)));
    for rule in [
        "--l-diversity disease=distinct:3",
        "--l-diversity disease=recursive:2,2",
        "--t-closeness disease=0.2",
        "--alpha disease=0.5",
    ] {
        for suppress in ["", "--suppress 0.05"] {
            for method in ["incognito", "samarati", "bottom-up", "attribute-suppression"] {
                let rest = format!("{ROLES} -k 3 {rule} {suppress} --method {method}");
                folder.anonymize(&format!("in.csv -o out.csv {rest}"));
                let check = folder.run(&format!(
                    "check out.csv --quasi age,zip,city --sensitive disease -k 3 {rule}"
                ));
                assert_eq!(check.code, Some(0), "{rest}: {}", check.said());
            }
        }
    }
}

#[test]
fn what_all_rows_together_miss_may_hold_without_some() {
    let rows = ["x,1\n".repeat(10), "y,1\n".repeat(5), "y,9\n".repeat(5)].concat();
    let folder = Folder::with(format!("a,s\n{rows}"));
    let rest = "--quasi a --sensitive s --hierarchy a=suppress -k 2 --variance s=15";
    // The variance of all rows is 12, that of those with y is 16.
    let refused = folder.run(&format!("lattice in.csv {rest}"));
    assert_eq!(refused.code, Some(1), "{}", refused.said());
    let report = lattice(&folder, &format!("in.csv {rest} --suppress 0.5"));
    assert_eq!(minimal(&report), BTreeSet::from([vec![0]]));
    assert_eq!(report["satisfying"], 1);
    for how in
        ["--level a=0", "--method incognito", "--method samarati", "--method incognito --time 9s"]
    {
        let release = folder.anonymize(&format!("in.csv -o out.csv {rest} --suppress 0.5 {how}"));
        assert_eq!((&release["rows"], &release["suppressed"]), (&10.into(), &10.into()), "{how}");
    }
}

#[test]
fn a_binary_search_publishes_the_least_height_also_with_rows_left_out() {
    let folder = Folder::with(table(&patients(300, 21)));
    for share in ["0.3", "0.6", "1"] {
        let rest = format!("in.csv {ROLES} -k 3 --suppress {share} --method samarati");
        let listed = lattice(&folder, &rest);
        let release = folder.anonymize(&format!("{rest} -o out.csv"));
        assert_eq!(release["generalization"]["height"], listed["minimal"][0]["height"], "{share}");
    }
}

#[test]
fn persons_with_several_rows_count_once() {
    let mut rows = String::from("person,zip\n");
    (0..30).for_each(|_| rows.push_str("anna,100\n"));
    (0..6).for_each(|person| rows.push_str(&format!("p{person},20{person}\n")));
    let folder = Folder::with(rows);
    let rest = "--quasi zip --type zip=code --hierarchy zip=prefix --subject person -k 3";
    let report = lattice(&folder, &format!("in.csv {rest}"));
    // Rows alone would let zip 100 stand at level 2.
    assert_eq!(minimal(&report), BTreeSet::from([vec![3]]));
    let report = lattice(&folder, &format!("in.csv {rest} --suppress 0.9"));
    assert_eq!(minimal(&report), BTreeSet::from([vec![1]]));
    assert_eq!(report["minimal"][0]["suppressed"], 30);
}

#[test]
fn a_table_larger_than_memory_is_published_the_same() {
    let folder = Folder::with(table(&patients(20_000, 8)));
    for rest in ["-k 20", "-k 20 --suppress 0.05", "-k 5 --t-closeness disease=0.2 --suppress 0.03"]
    {
        let rest = format!("{ROLES} --keep pay {rest} --method incognito");
        let whole = folder.anonymize(&format!("in.csv -o a.csv {rest}"));
        let external = folder.anonymize(&format!("in.csv -o b.csv {rest} --memory 700KB"));
        assert_eq!(whole["spilled_bytes"], 0);
        assert!(external["spilled_bytes"].as_u64().unwrap() > 0);
        assert_eq!(folder.read("a.csv"), folder.read("b.csv"), "{rest}");
        assert_eq!(whole["generalization"], external["generalization"]);
        assert_eq!(whole["suppressed"], external["suppressed"]);
        assert!(is_near(divergence(&whole), divergence(&external)), "{rest}");
        for figure in ["ncp", "discernibility"] {
            let (a, b) = (&whole["table_loss"][figure], &external["table_loss"][figure]);
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-9 * b.abs(), "{rest}: {figure}: {a} {b}");
        }
    }
    let listed = lattice(&folder, &format!("in.csv {ROLES} -k 20 --memory 700KB"));
    assert_eq!(minimal(&listed), minimal(&lattice(&folder, &format!("in.csv {ROLES} -k 20"))));
}

#[test]
fn the_summary_names_the_levels_as_the_flag_takes_them() {
    let folder = Folder::with(table(&patients(300, 6)));
    let rest = format!("anonymize in.csv -o out.csv {ROLES} -k 4");
    let run = folder.run(&format!("{rest} --method incognito"));
    let levels = run.out.lines().find_map(|line| line.strip_prefix("levels:   ")).unwrap();
    let first = folder.read("out.csv");
    let again = folder.run(&format!("{rest} --level {levels} --force"));
    assert_eq!(again.code, Some(0), "{}", again.said());
    assert_eq!(folder.read("out.csv"), first);
}

#[test]
fn threads_change_nothing() {
    let folder = Folder::with(table(&patients(2_000, 6)));
    let rest = format!("{ROLES} -k 4 --suppress 0.03 --method incognito");
    folder.anonymize(&format!("in.csv -o a.csv {rest} --threads 1"));
    folder.anonymize(&format!("in.csv -o b.csv {rest} --threads 2"));
    assert_eq!(folder.read("a.csv"), folder.read("b.csv"));
}

#[test]
fn whole_columns_are_shown_or_suppressed_without_any_hierarchy() {
    let folder = Folder::with(table(&patients(400, 2)));
    let rest = "--quasi age,zip,city --method attribute-suppression -k 3";
    let report = folder.anonymize(&format!("in.csv -o out.csv {rest}"));
    let levels = levels(&report["generalization"]);
    assert!(levels.iter().all(|&level| level <= 1) && levels.contains(&0), "{levels:?}");
    for name in ["age", "zip", "city"] {
        let column = folder.column("out.csv", name);
        let n_stars = column.iter().filter(|cell| *cell == "*").count();
        assert!(n_stars == 0 || n_stars == column.len(), "{name}");
    }
}

/// A table with more columns than a lattice can be searched for.
fn wide() -> (Folder, String) {
    let names: Vec<String> = (0..64).map(|at| format!("c{at}")).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..60u32 {
        let cells = (0..64u32).map(|at| (row.wrapping_mul(at + 7) % (2 + at % 5)).to_string());
        text.push_str(&(cells.collect::<Vec<_>>().join(",") + "\n"));
    }
    let hierarchies = names.iter().map(|name| format!("--hierarchy {name}=ranges:2,4"));
    let roles =
        format!("--quasi {} {}", names.join(","), hierarchies.collect::<Vec<_>>().join(" "));
    (Folder::with(text), roles)
}

#[test]
fn a_lattice_beyond_all_bounds_is_counted_and_searched_for_a_time() {
    let (folder, roles) = wide();
    let refused = folder.run(&format!("lattice in.csv {roles} -k 3"));
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    for part in ["64 columns", "more than 3e38 generalizations", "--time 30s"] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }
    let refused =
        folder.run(&format!("anonymize in.csv -o out.csv {roles} -k 3 --method incognito"));
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    let report = lattice(&folder, &format!("in.csv {roles} -k 3 --time 400ms"));
    let (bound, gap) = (report["bound"].as_f64().unwrap(), report["gap"].as_f64().unwrap());
    let best = &report["minimal"][0];
    assert!((0.0..=1.0).contains(&gap) && bound <= best["ncp"].as_f64().unwrap());
    let release = folder
        .anonymize(&format!("in.csv -o out.csv {roles} -k 3 --method incognito --time 400ms"));
    assert_eq!(release["rows"], 60);
    assert!(release["generalization"]["gap"].as_f64().is_some());
    let names = roles.split_whitespace().nth(1).unwrap();
    let check = folder.run(&format!("check out.csv --quasi {names} -k 3"));
    assert_eq!(check.code, Some(0), "{}", check.said());
}

#[test]
fn a_search_with_time_enough_proves_the_best() {
    let folder = Folder::with(table(&patients(500, 1)));
    let rest = format!("{ROLES} -k 4 --method incognito");
    let exact = folder.anonymize(&format!("in.csv -o a.csv {rest}"));
    let timed = folder.anonymize(&format!("in.csv -o b.csv {rest} --time 60s"));
    assert_eq!(timed["generalization"]["gap"], 0.0);
    assert_eq!(timed["generalization"]["levels"], exact["generalization"]["levels"]);
    assert_eq!(folder.read("a.csv"), folder.read("b.csv"));
}

#[test]
fn the_lattice_is_drawn_for_people() {
    let folder = paper();
    let run = folder.run(&format!("lattice in.csv {PAPER_ROLES} --svg lattice.svg"));
    assert_eq!(run.code, Some(0), "{}", run.said());
    let svg = folder.read("lattice.svg");
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    assert_eq!(svg.matches("text-anchor").count(), 12, "a name for each node");
    // Three minimal nodes and one in the legend.
    assert_eq!(svg.matches("class=\"minimal\"").count(), 4);
    assert_eq!(svg.matches("<line ").count(), 20);
    assert!(svg.contains("levels of birthdate, sex, zipcode"));
    // A binary search looks at nodes above the least height that satisfy too.
    let run = folder.run(&format!("lattice in.csv {PAPER_ROLES} --method samarati --svg s.svg"));
    assert_eq!(run.code, Some(0), "{}", run.said());
    for violating in
        ["birthdate 0, sex 1, zipcode 2: violates", "birthdate 1, sex 1, zipcode 1: violates"]
    {
        assert!(!folder.read("s.svg").contains(violating), "{violating}");
    }
    assert!(!svg.contains("Male") && !svg.contains("53715"), "a picture shows no cell");
}

#[test]
fn the_table_can_be_sorted_by_any_figure() {
    let folder = Folder::with(table(&patients(1_000, 5)));
    for sort in ["ncp", "height", "suppressed", "classes", "discernibility", "precision", "weights"]
    {
        let rest = format!("in.csv {ROLES} -k 5 --suppress 0.05 --sort {sort}");
        let report = lattice(&folder, &rest);
        let figure = if sort == "weights" { "weighted_height" } else { sort };
        let sign = if matches!(sort, "classes" | "precision") { -1.0 } else { 1.0 };
        let all = report["minimal"].as_array().unwrap().iter();
        let values: Vec<f64> = all.map(|own| sign * own[figure].as_f64().unwrap()).collect();
        assert!(values.len() > 1 && values.is_sorted(), "{sort}: {values:?}");
        let words = folder.run(&format!("lattice {rest}"));
        assert!(words.out.contains("minimal") && words.out.contains("precision"), "{}", words.out);
    }
}

/// Runs that must be refused: what the message holds and how it ends.
#[test]
fn what_makes_no_sense_is_refused_with_what_to_do() {
    let folder = Folder::with(PEOPLE);
    folder.write("top.csv", "x");
    let full = "--quasi age,zip --hierarchy age=ranges:5 --hierarchy zip=prefix";
    let cases: [(&str, i32, &[&str], &str); 23] = [
        (
            "--quasi age,zip -k 2 --method incognito",
            2,
            &["'age', 'zip' have no hierarchy"],
            "for each",
        ),
        (
            "--quasi age,zip --hierarchy age=ranges:5 -k 2 --method samarati",
            2,
            &["'zip' has no hierarchy", "samarati"],
            "--hierarchy 'zip=ranges:5,10,20' (or prefix, dates, suppress, a FILE)",
        ),
        (
            "{full} -k 2 --method incognito --suppress 1.5",
            2,
            &["1.5 is not a share"],
            "--suppress 0.02 for 2 %",
        ),
        ("{full} -k 2 --method incognito --suppress=-0.1", 2, &["-0.1 is not a share"], "for 2 %"),
        ("{full} -k 2 --method incognito --suppress NaN", 2, &["not a share"], "for 2 %"),
        (
            "{full} -k 2 --method bang --suppress 0.1",
            2,
            &["--suppress has no effect with --method bang"],
            "or use --method incognito",
        ),
        ("{full} -k 2 --method bd-tree --suppress 0.1", 2, &["no effect"], "incognito"),
        (
            "{full} -k 2 --method incognito --split median",
            2,
            &["--split has no effect"],
            "mondrian",
        ),
        (
            "{full} -k 2 --method incognito --variant scan",
            2,
            &["incognito has no variant scan"],
            "--method bottom-up",
        ),
        (
            "{full} -k 2 --method bottom-up --variant cube",
            2,
            &["bottom-up has no variant cube"],
            "--method incognito",
        ),
        (
            "{full} -k 2 --method samarati --variant cube",
            2,
            &["samarati has no variant cube"],
            "drop --variant",
        ),
        (
            "{full} -k 2 --method incognito --time 30",
            2,
            &["--time '30': there is no unit"],
            "30s, 500ms or 2m",
        ),
        (
            "{full} -k 2 --method incognito --categories set",
            2,
            &["shows the labels"],
            "--method mondrian",
        ),
        ("{full} -k 13 --method incognito", 2, &["k = 13 is more than the 12 rows"], "at most 12"),
        (
            "{full} -k 2 --level age=9",
            2,
            &["level 9 of column 'age' is above the top"],
            "from 0 to 2",
        ),
        (
            "{full} -k 2 --level pay=1",
            2,
            &["level of column 'pay' has no effect"],
            "or drop the level",
        ),
        (
            "{full} -k 2 --level age=0,zip=0",
            1,
            &["12 of 12 rows", "only 0 may be left out"],
            "or --suppress 1",
        ),
        (
            "{full} -k 2 --level age=1,zip=0 --suppress 0.5",
            1,
            &["only 6 may be left out"],
            "or --suppress 1",
        ),
        (
            "{full} -k 2 --level age=0 --suppress 1",
            1,
            &["no class at these levels satisfies"],
            "'albers lattice')",
        ),
        ("{full} -k 2 --level age=1 --minimize ncp", 2, &["nothing to search"], "and --minimize"),
        ("{full} -k 2 --method samarati --time 9s", 2, &["its own way"], "without --variant"),
        (
            "{full} -k 2 --method incognito --variant cube --time 9s",
            2,
            &["its own way"],
            "without --variant",
        ),
        ("{full} -k 2 --method incognito --also-k 4", 2, &["--also-k has no effect"], "rtree"),
    ];
    for (arguments, code, says, hint) in cases {
        let arguments = arguments.replace("{full}", full);
        let names = folder.names();
        let run = folder.run(&format!("anonymize in.csv -o out.csv {arguments}"));
        assert_eq!(run.code, Some(code), "{arguments}: {}", run.said());
        for part in says {
            assert!(run.err.contains(part), "{arguments}: '{part}' is not in: {}", run.err);
        }
        assert!(run.err.trim_end().ends_with(hint), "{arguments}: {}", run.err);
        assert_eq!(folder.names(), names, "{arguments}: nothing is written");
    }
    let large = Folder::with(table(&patients(200, 1)));
    let rest = "--quasi age,zip,city,pay --hierarchy age=ranges:2,4,8,16 --hierarchy zip=prefix \
        --hierarchy city=suppress --hierarchy pay=ranges:10,20,40,80,160,320 -k 2 --svg l.svg";
    let refused = large.run(&format!("lattice in.csv {rest}"));
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    assert!(refused.err.contains("nodes, more than the 400"), "{}", refused.err);
    assert!(!large.path("l.svg").exists());
    let refused =
        large.run("lattice in.csv --quasi age --hierarchy age=ranges:5 -k 2 --method local");
    assert!(refused.err.contains("local does not search a lattice"), "{}", refused.err);
}
