//! `albers measure --queries` end to end: errors of random queries, where all of them are known.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use common::{Folder, PEOPLE, Run};
use serde_json::Value;

/// A folder with an original and a release.
fn folder(original: &str, release: &str) -> Folder {
    let folder = Folder::with(original);
    folder.write("out.csv", release);
    folder
}

fn measure(folder: &Folder, flags: &str) -> Run {
    folder.run(&format!("measure in.csv out.csv {flags}"))
}

fn json(folder: &Folder, flags: &str) -> Value {
    let run = measure(folder, &format!("{flags} --json"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    serde_json::from_str(&run.out).unwrap()
}

/// The queries of the only number of predicates.
fn group(report: &Value) -> &Value {
    let groups = report["queries"]["by_predicates"].as_array().unwrap();
    assert_eq!(groups.len(), 1);
    &groups[0]
}

fn close(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("no number, {expected} was expected"));
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

/// Every figure of a spread.
fn all_are(spread: &Value, expected: f64) {
    for figure in ["mean", "p10", "p25", "median", "p75", "p90"] {
        close(&spread[figure], expected);
    }
}

/// Ten people of the ages 0 to 9.
fn ages() -> String {
    (0..10).fold("id,age\n".to_owned(), |text, age| text + &format!("{age},{age}\n"))
}

/// The same in two classes of five.
fn halves() -> String {
    let cell = |age: i32| if age < 5 { "\"[0, 4]\"" } else { "\"[5, 9]\"" };
    (0..10).fold("id,age\n".to_owned(), |text, age| text + &format!("{age},{}\n", cell(age)))
}

#[test]
fn point_queries_on_halves_err_by_the_others_of_the_class() {
    let folder = folder(&ages(), &halves());
    let found = json(&folder, "--quasi age --queries 200 --query-kind point --seed 3");
    let queries = &found["queries"];
    assert_eq!((&queries["audience"], &queries["kind"]), (&"owner".into(), &"point".into()));
    assert_eq!((&queries["queries"], &queries["seed"]), (&200.into(), &3.into()));
    let own = group(&found);
    assert_eq!((&own["predicates"], &own["satisfied"]["queries"]), (&1.into(), &200.into()));
    all_are(&own["satisfied"]["overlap"], 4.0);
    all_are(&own["satisfied"]["estimate"], 0.0);
    close(&own["satisfied"]["estimate_bias"], 0.0);
    // One of ten rows satisfies each.
    let bins = own["by_selectivity"].as_array().unwrap();
    let counts: Vec<u64> = bins.iter().map(|bin| bin["queries"].as_u64().unwrap()).collect();
    assert_eq!(counts, [0, 0, 0, 200]);
    assert!(bins[0].get("overlap").is_none() && bins[3].get("below").is_none());
    all_are(&bins[3]["overlap"], 4.0);
    assert_eq!(own["empty"]["queries"], 0);

    // By two columns of bounds the same is shown.
    let cell = |age: i32| if age < 5 { "0,4" } else { "5,9" };
    let bounds = (0..10).fold("id,age_min,age_max\n".to_owned(), |text, age| {
        text + &format!("{age},{}\n", cell(age))
    });
    folder.write("out.csv", bounds);
    let by_bounds = json(&folder, "--quasi age --queries 200 --query-kind point --seed 3");
    assert_eq!(by_bounds["queries"], found["queries"]);
}

#[test]
fn windows_are_answered_as_they_are_where_nothing_is_lost() {
    let text = "id,age,job,score\n1,20,cook,0.5\n2,,cook,1e9\n3,31,,-7\n4,20,smith,\n5,44,nurse,2\n\
                6,50,nurse,2\n7,51,smith,3.25\n8,,nurse,8\n";
    let folder = folder(text, text);
    for kind in ["window", "point"] {
        let flags = format!("--quasi age,job,score --queries 300 --query-kind {kind}");
        for predicates in ["", "--predicates 1..3", "--predicates job", "--predicates 2"] {
            let found = json(&folder, &format!("{flags} {predicates}"));
            for own in found["queries"]["by_predicates"].as_array().unwrap() {
                all_are(&own["satisfied"]["overlap"], 0.0);
                all_are(&own["satisfied"]["estimate"], 0.0);
                assert_eq!(own["empty"]["queries"], 0);
            }
        }
    }
}

#[test]
fn numbers_of_predicates_take_turns_and_named_columns_are_all_asked_of() {
    let people = "age,job,3\n1,a,x\n2,b,y\n3,a,y\n4,b,x\n5,a,x\n6,c,x\n";
    let folder = folder(people, people);
    let flags = "--quasi age,job,3 --queries 100";
    let numbers = |predicates: &str| -> Vec<(u64, u64)> {
        let found = json(&folder, &format!("{flags} --predicates {predicates}"));
        let own = |group: &Value| {
            let queries = group["satisfied"]["queries"].as_u64().unwrap();
            (group["predicates"].as_u64().unwrap(), queries)
        };
        found["queries"]["by_predicates"].as_array().unwrap().iter().map(own).collect()
    };
    assert_eq!(numbers("1..3"), [(1, 34), (2, 33), (3, 33)]);
    assert_eq!(numbers("2.."), [(2, 50), (3, 50)]);
    assert_eq!(numbers("3"), [(3, 100)]);
    assert_eq!(numbers("\"3\""), [(1, 100)]);
    assert_eq!(numbers("job,age"), [(2, 100)]);
    let all = json(&folder, flags);
    assert_eq!(group(&all)["predicates"], 3);
    assert!(all["queries"].get("columns").is_none());
    let named = json(&folder, &format!("{flags} --predicates \"3\",age"));
    assert_eq!(named["queries"]["columns"], serde_json::json!(["age", "3"]));
}

#[test]
fn a_category_is_asked_for_one_of_two_values_through_sets_and_labels() {
    // Six trades, each of two people, in two sets of three.
    let trades = ["p1", "p2", "p3", "q1", "q2", "q3"];
    let mut original = "trade\n".to_owned();
    let (mut sets, mut labels) = ("trade\n".to_owned(), "trade\n".to_owned());
    for trade in trades.iter().chain(&trades) {
        original += &format!("{trade}\n");
        let is_first = trade.starts_with('p');
        sets += if is_first { "\"{p1, p2, p3}\"\n" } else { "\"{q1, q2, q3}\"\n" };
        labels += if is_first { "P\n" } else { "Q\n" };
    }
    let folder = folder(&original, &sets);
    folder.write("labels.csv", labels);
    folder.write("trades.csv", "p1,P,*\np2,P,*\np3,P,*\nq1,Q,*\nq2,Q,*\nq3,Q,*\n");
    let flags = "--quasi trade --queries 400";
    let found = json(&folder, flags);
    let own = &group(&found)["satisfied"];
    // Two values of one set: 4 of 6 rows, or 2 where both are the same; of two sets: 4 of 12.
    close(&own["overlap"]["p10"], 0.5);
    close(&own["overlap"]["p90"], 2.0);
    all_are(&own["estimate"], 0.0);
    let run = folder
        .run(&format!("measure in.csv labels.csv {flags} --hierarchy trade=trades.csv --json"));
    assert_eq!(run.code, Some(0), "{}", run.err);
    let labelled: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(labelled["queries"], found["queries"]);
}

#[test]
fn numbers_are_asked_for_in_ranges_unless_their_hierarchy_has_another_order() {
    // A hundred numbers in one class: a window is a range of them, or two of them.
    let original = (0..100).fold("size\n".to_owned(), |text, size| text + &format!("{size}\n"));
    let folder = folder(&original, &("size\n".to_owned() + &"*\n".repeat(100)));
    let median = |flags: &str| {
        let found = json(&folder, &format!("--quasi size --queries 300 {flags}"));
        group(&found)["satisfied"]["overlap"]["median"].as_f64().unwrap()
    };
    let [plain, by_ranges, by_prefix] =
        ["", "--hierarchy size=ranges:10,50", "--hierarchy size=prefix"].map(median);
    // Half of all windows hold about 29 numbers or more.
    assert!((1.5..4.0).contains(&plain) && plain == by_ranges, "{plain} {by_ranges}");
    assert_eq!(by_prefix, 49.0);
}

#[test]
fn a_missing_value_is_a_value_that_points_ask_for() {
    // Four people without an age among eight, in one class with the others.
    let original = "id,age\n1,\n2,\n3,\n4,\n5,1\n6,1\n7,2\n8,2\n";
    let release = "age\n".to_owned() + &"\"{, [1, 2]}\"\n".repeat(8);
    let folder = folder(original, &release);
    let found = json(&folder, "--quasi age --queries 300 --query-kind point");
    let own = &group(&found)["satisfied"];
    assert_eq!(own["queries"], 300);
    // All eight may satisfy each; four miss it, two have each age. Half are taken to miss it.
    close(&own["overlap"]["p10"], 1.0);
    close(&own["overlap"]["p90"], 3.0);
    all_are(&own["estimate"], 0.0);
    // A window between a value and none asks for either.
    let found = json(&folder, "--quasi age --queries 300");
    let own = &group(&found)["satisfied"];
    close(&own["overlap"]["p90"], 3.0);
    all_are(&own["estimate"], 0.0);
}

#[test]
fn rows_left_out_make_queries_empty_where_a_key_tells_which() {
    let release = "id,age\n".to_owned()
        + &(0..5).fold(String::new(), |text, id| text + &format!("{id},\"[0, 4]\"\n"));
    let folder = folder(&ages(), &release);
    let flags = "--quasi age --queries 400 --query-kind point";
    let keyed = json(&folder, &format!("{flags} --key id"));
    assert_eq!(keyed["queries"]["rows"], 5);
    let own = group(&keyed);
    let (n_satisfied, n_empty) =
        (own["satisfied"]["queries"].as_u64().unwrap(), own["empty"]["queries"].as_u64().unwrap());
    assert!(n_satisfied + n_empty == 400 && n_satisfied.min(n_empty) > 150, "{n_satisfied}");
    all_are(&own["satisfied"]["overlap"], 4.0);
    close(&own["empty"]["mean_overlap"], 0.0);
    close(&own["empty"]["mean_estimate"], 0.0);
    assert!(!keyed["notes"].to_string().contains("true answers"));

    let unknown = json(&folder, flags);
    assert_eq!(unknown["queries"]["rows"], 10);
    assert!(unknown["notes"].to_string().contains("true answers of queries"), "{unknown}");
    let own = group(&unknown);
    assert_eq!(own["empty"]["queries"], 0);
    close(&own["satisfied"]["overlap"]["p10"], -1.0);
    close(&own["satisfied"]["overlap"]["p90"], 4.0);
    close(&own["satisfied"]["estimate"]["p90"], 1.0);
    let run = measure(&folder, &format!("{flags} --key id"));
    assert!(run.out.contains("none") && run.out.contains("mean overlap 0.0"), "{}", run.out);
}

#[test]
fn a_nested_class_is_its_box_without_those_inside() {
    let ages = [0, 1, 2, 7, 8, 9, 4, 4, 5, 5];
    let original = ages.iter().fold("age\n".to_owned(), |text, age| text + &format!("{age}\n"));
    let release =
        "age,depth\n".to_owned() + &"\"[0, 9]\",0\n".repeat(6) + &"\"[4, 5]\",1\n".repeat(4);
    let folder = folder(&original, &release);
    let flags = "--quasi age --queries 400 --query-kind point";
    let nested = json(&folder, &format!("{flags} --level-column depth"));
    let own = &group(&nested)["satisfied"];
    // Inside: 4 rows for 2. Outside: 6 rows for 1, spread over eight ages.
    close(&own["overlap"]["p10"], 1.0);
    close(&own["overlap"]["p90"], 5.0);
    close(&own["estimate"]["p10"], 0.0);
    close(&own["estimate"]["p90"], 0.25);
    let flat = json(&folder, flags);
    let own = &group(&flat)["satisfied"];
    close(&own["overlap"]["p10"], 4.0);
    close(&own["overlap"]["p90"], 5.0);

    // Levels that cannot be: two classes of one level share an age.
    let release =
        "age,depth\n".to_owned() + &"\"[0, 5]\",0\n".repeat(5) + &"\"[4, 9]\",0\n".repeat(5);
    folder.write("out.csv", release);
    let idle = json(&folder, &format!("{flags} --level-column depth"));
    assert!(idle["notes"].to_string().contains("levels tell nothing"), "{idle}");
    folder.write("out.csv", "age,depth\n\"[0, 9]\",deep\n");
    let run = measure(&folder, &format!("{flags} --level-column depth"));
    assert_eq!(run.code, Some(2), "{}", run.out);
    assert!(run.err.contains("--level-column") && !run.err.contains("deep"), "{}", run.err);
}

#[test]
fn of_few_queries_only_their_number_is_told() {
    let folder = folder(&ages(), &halves());
    let found = json(&folder, "--quasi age --queries 4");
    let own = &group(&found)["satisfied"];
    assert_eq!(own, &serde_json::json!({ "queries": 4 }));
    let run = measure(&folder, "--quasi age --queries 4");
    assert!(run.out.contains("too few for figures"), "{}", run.out);
}

#[test]
fn queries_are_repeated_by_their_seed_and_never_printed() {
    let folder = Folder::with(PEOPLE);
    folder.anonymize("in.csv -o out.csv -k 3 --quasi age,zip,born --sensitive disease");
    let flags = "--quasi age,zip,born --queries 50 --predicates 1..3";
    let first = measure(&folder, flags);
    assert_eq!(first.code, Some(0), "{}", first.err);
    assert!(first.out.contains("50 window queries, seed 0"), "{}", first.out);
    assert!(first.out.contains("for the owner alone"), "{}", first.out);
    assert_eq!(measure(&folder, &format!("{flags} --seed 0 --threads 1")).out, first.out);
    assert_ne!(measure(&folder, &format!("{flags} --seed 1")).out, first.out);
    folder.write_sorted("sorted.csv");
    let sorted = folder.run(&format!("measure sorted.csv out.csv {flags}"));
    assert_eq!(sorted.out, first.out);
    let mistakes = ["--predicates 9", "--predicates age,age", "--predicates disease"];
    for flags in [flags, &format!("{flags} --json"), &format!("{flags} --query-kind point")]
        .into_iter()
        .map(str::to_owned)
        .chain(mistakes.map(|own| format!("--quasi age,zip,born --queries 50 {own}")))
    {
        let said = measure(&folder, &flags).said();
        let cells = PEOPLE.lines().skip(1).flat_map(|row| row.split(','));
        for cell in cells {
            assert!(!said.contains(cell), "{flags}: {cell} in {said}");
        }
    }
}

#[test]
fn mistakes_end_with_2_and_a_hint() {
    let folder = folder(&ages(), &halves());
    let cases = [
        ("--query-kind point", "--queries"),
        ("--predicates 1", "--queries"),
        ("--seed 1", "--queries"),
        ("--queries 0", "use a number from 1"),
        ("--queries 10000000", "use a number from 1"),
        ("--queries many", "--queries"),
        ("--queries 5 --query-kind box", "window"),
        ("--queries 5 --predicates 2", "--quasi"),
        ("--queries 5 --predicates 1..2", "quasi-identifiers (1)"),
        ("--queries 5 --predicates 2..", "--quasi"),
        ("--queries 5 --predicates 0", "one column at least"),
        ("--queries 5 --predicates 3..2", "above the greatest"),
        ("--queries 5 --predicates id", "'id', which is not quasi"),
        ("--queries 5 --predicates nowhere", "--quasi"),
        ("--queries 5 --predicates age,age", "twice"),
        ("--queries 5 --predicates age,", "a name is empty"),
    ];
    for (flags, expected) in cases {
        let run = measure(&folder, &format!("--quasi age {flags}"));
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{flags}: {}", run.err);
        assert!(run.err.contains(expected), "{flags}: {}", run.err);
    }
}
