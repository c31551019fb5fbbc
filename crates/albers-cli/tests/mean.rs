//! Means of classes beside their bounds: what they are, what they tell, and what refuses them.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::collections::BTreeMap;

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Decimal128Type;
use arrow_schema::{DataType, TimeUnit};
use common::{Folder, Numbers};
use serde_json::{Value, json};

const QUASI: [&str; 5] = ["age", "pay", "rate", "born", "seen"];

/// People with ordered values of every type, some of them missing, and a copy of each value.
fn people(n_rows: usize) -> String {
    let mut numbers = Numbers::new(17);
    let mut below = |end: u64| numbers.below(end);
    let mut text =
        "age,pay,rate,born,seen,city,raw_age,raw_pay,raw_rate,raw_born,raw_seen\n".to_owned();
    for _ in 0..n_rows {
        let mut cells = [
            (20 + below(60)).to_string(),
            format!("{}.{:02}", 1000 + below(900), below(100)),
            format!("-{}.5e-3", below(700)),
            format!("19{}-{:02}-{:02}", 50 + below(40), 1 + below(12), 1 + below(28)),
            format!("2020-0{}-1{} {:02}:00:00", 1 + below(9), below(10), below(24)),
        ];
        for at in [0, 3] {
            if below(8) == 0 {
                cells[at].clear();
            }
        }
        let city = ["Aachen", "Bonn"][below(2) as usize];
        let cells = cells.join(",");
        text.push_str(&format!("{cells},{city},{cells}\n"));
    }
    text
}

const ROLES: &str = "--quasi age,pay,rate,born,seen,city \
                     --keep raw_age,raw_pay,raw_rate,raw_born,raw_seen";

/// A number, or a date or a point in time in days.
fn number(text: &str) -> f64 {
    if let Ok(number) = text.parse() {
        return number;
    }
    let (date, time) = text.split_once(' ').unwrap_or((text, "00:00:00"));
    let date: Vec<f64> = date.split('-').map(|part| part.parse().unwrap()).collect();
    let time: Vec<f64> = time.split(':').map(|part| part.parse().unwrap()).collect();
    // Years begin in March, so that leap days are their last.
    let (year, month) =
        if date[1] > 2.0 { (date[0], date[1] - 3.0) } else { (date[0] - 1.0, date[1] + 9.0) };
    let leap = (year / 4.0).floor() - (year / 100.0).floor() + (year / 400.0).floor();
    let days = 365.0 * year + leap + ((153.0 * month + 2.0) / 5.0).floor() + date[2];
    days + time[0] / 24.0 + time[1] / 1440.0 + time[2] / 86_400.0
}

/// The least step of a column in a class of few rows.
fn last_place(column: &str) -> f64 {
    match column {
        "age" | "born" => 1.0,
        "pay" => 0.01,
        "rate" => 0.0,
        _ => 1.0 / 86_400.0,
    }
}

/// Compares all means of a release with the copies of the values; how many are there, and not.
fn compare(folder: &Folder, release: &str) -> (u64, u64) {
    let rows = folder.csv(release);
    let at = |name: &str| rows[0].iter().position(|own| own == name);
    let mut classes: BTreeMap<Vec<&str>, Vec<&Vec<String>>> = BTreeMap::new();
    let is_shown = |name: &String| !name.starts_with("raw_") && !name.ends_with("_mean");
    let shown: Vec<usize> = (0..rows[0].len()).filter(|&at| is_shown(&rows[0][at])).collect();
    for row in &rows[1..] {
        let key = shown.iter().map(|&at| row[at].as_str()).collect();
        classes.entry(key).or_default().push(row);
    }
    let (mut n_means, mut n_empty) = (0, 0);
    for rows in classes.values() {
        for column in QUASI {
            let cells = |name: String| -> Vec<&str> {
                let at = at(&name).unwrap();
                rows.iter().map(|row| row[at].as_str()).collect()
            };
            let means = cells(format!("{column}_mean"));
            assert!(means.windows(2).all(|pair| pair[0] == pair[1]), "one mean for a class");
            let values: Vec<f64> = cells(format!("raw_{column}"))
                .into_iter()
                .filter(|text| !text.is_empty())
                .map(number)
                .collect();
            let has_missing = values.len() < rows.len();
            if values.is_empty() || (has_missing && values.len() < 5) {
                assert_eq!(means[0], "", "{column}");
                n_empty += 1;
                continue;
            }
            let [lo, hi] = ["min", "max"].map(|end| number(cells(format!("{column}_{end}"))[0]));
            if means[0].is_empty() {
                // All but one would be told to lie near an end.
                let n_others = values.len() as f64 - 2.0;
                let others = (values.iter().sum::<f64>() - lo - hi) / n_others;
                let near = (others - lo).min(hi - others);
                assert!(near <= 0.3 * (hi - lo) && values.len() > 2, "{column}: {near} {lo} {hi}");
                n_empty += 1;
                continue;
            }
            let mean = number(means[0]);
            assert!(lo <= mean && mean <= hi, "{column}: {lo} {mean} {hi}");
            let exact = values.iter().sum::<f64>() / values.len() as f64;
            let share = if rows.len() < 20 || has_missing { 10.0 } else { 100.0 };
            let half_step = ((hi - lo) / share).max(last_place(column)) / 2.0;
            assert!((mean - exact).abs() <= half_step + 1e-9, "{column}: {mean} {exact}");
            n_means += 1;
        }
    }
    (n_means, n_empty)
}

#[test]
fn means_are_those_of_the_rows_that_show_the_same_for_every_ordered_type() {
    let folder = Folder::with(people(600));
    for flags in
        ["-k 6", "-k 30", "--method local -k 6", "--method ordered-set -k 6 --suppress 0.9"]
    {
        folder.anonymize(&format!("in.csv -o out.csv {ROLES} --values mean {flags}"));
        let (n_means, n_empty) = compare(&folder, "out.csv");
        assert!(n_means >= 5 && (n_empty > 0 || flags != "-k 6"), "{flags}: {n_means} {n_empty}");
    }
}

#[test]
fn means_of_coarser_releases_which_sharpen_those_of_finer_ones_are_refused() {
    let folder = Folder::with(people(600));
    let job = format!("anonymize in.csv -o out.csv {ROLES} --values mean -k 6 --also-k 25");
    let refused = folder.run(&job);
    assert_eq!(refused.code, Some(2), "{}", refused.said());
    assert!(refused.err.contains("--values mean and --also-k"), "{}", refused.err);
}

/// Incomes of which most are 0: a class shows the greatest, and a mean would leave nothing for the
/// others but that.
#[test]
fn a_mean_never_tells_what_all_but_one_of_a_class_have() {
    let row = |row: u64| {
        format!("{},{}", row % 40, if row.is_multiple_of(21) { 300 + row % 7 } else { 0 })
    };
    let rows: Vec<String> = (0..2000).map(row).collect();
    let folder = Folder::with(format!("age,gain\n{}\n", rows.join("\n")));
    folder.anonymize("in.csv -o out.csv -k 20 --quasi age,gain --values mean --bias age");
    let rows = folder.csv("out.csv");
    let at = |name: &str| rows[0].iter().position(|own| own == name).unwrap();
    let (lo, hi, mean) = (at("gain_min"), at("gain_max"), at("gain_mean"));
    let mut classes: BTreeMap<Vec<&str>, u64> = BTreeMap::new();
    for row in &rows[1..] {
        *classes.entry(row.iter().map(String::as_str).collect()).or_insert(0) += 1;
    }
    let mut n_wide = 0;
    for (class, n_rows) in classes {
        let number = |cell: usize| class[cell].parse::<f64>().ok();
        let (Some(lo), Some(hi)) = (number(lo), number(hi)) else { continue };
        if lo == hi {
            continue;
        }
        n_wide += 1;
        // The greatest sum that a mean of so few digits can stand for.
        let Some(mean) = number(mean) else { continue };
        let most = n_rows as f64 * (mean + 0.5) - hi - lo * (n_rows - 1) as f64;
        assert!(most > (n_rows - 2) as f64 * (hi - lo) / 10.0, "{class:?} of {n_rows}");
    }
    assert!(n_wide > 3, "some classes show an interval: {n_wide}");
}

#[test]
fn means_have_the_same_bytes_in_any_memory_order_and_number_of_threads() {
    let table = people(3000);
    let folder = Folder::with(&table);
    let (header, rows) = table.split_once('\n').unwrap();
    let reversed: Vec<&str> = rows.lines().rev().collect();
    folder.write("reversed.csv", format!("{header}\n{}\n", reversed.join("\n")));
    // The second is one class, which does not fit in the least memory.
    for k in ["-k 6", "-k 2000"] {
        let mut all: Vec<Vec<Vec<u8>>> = Vec::new();
        let mut n_spilled = 0;
        for (table, memory, threads) in [
            ("in.csv", "1GB", 1),
            ("reversed.csv", "1GB", 2),
            ("in.csv", "2MB", 2),
            ("reversed.csv", "600KB", 1),
        ] {
            let report = folder.anonymize(&format!(
                "{table} -o out.csv {ROLES} --values mean {k} --method rtree \
                 --least-memory 500KB --memory {memory} --threads {threads}"
            ));
            n_spilled += u64::from(report["spilled_bytes"].as_u64().unwrap() > 0);
            let names = folder.names().into_iter().filter(|name| name.starts_with("out"));
            all.push(names.map(|name| folder.bytes(&name)).collect());
        }
        assert!(n_spilled > 0, "{k}");
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{k}");
        compare(&folder, "out.csv");
    }
}

#[test]
fn parquet_has_typed_means_with_the_same_values() {
    let folder = Folder::with(people(400));
    for release in ["out.csv", "out.parquet"] {
        folder.anonymize(&format!("in.csv -o {release} {ROLES} --values mean -k 6"));
    }
    let batch = folder.parquet("out.parquet");
    let schema = batch.schema();
    let kind = |name: &str| schema.field_with_name(name).unwrap().data_type().clone();
    assert_eq!(kind("age_mean"), DataType::Decimal128(21, 1));
    assert_eq!(kind("pay_mean"), DataType::Decimal128(7, 3));
    assert_eq!(kind("rate_mean"), DataType::Float64);
    assert_eq!(kind("born_mean"), DataType::Date32);
    assert_eq!(kind("seen_mean"), DataType::Timestamp(TimeUnit::Microsecond, None));
    assert!(schema.field_with_name("age_mean").unwrap().is_nullable());
    assert!(schema.field_with_name("pay_mean").unwrap().is_nullable(), "a class may show none");
    // The rows of both files stand in the same order.
    let in_text = folder.column("out.csv", "age_mean");
    let ages = batch.column_by_name("age_mean").unwrap();
    let ages = ages.as_primitive::<Decimal128Type>();
    let as_text = |row: usize| match ages.is_null(row) {
        true => String::new(),
        false => ages.value_as_string(row),
    };
    assert_eq!((0..batch.num_rows()).map(as_text).collect::<Vec<_>>(), in_text);
}

#[test]
fn a_release_with_means_is_read_back_as_one_with_bounds() {
    let folder = Folder::with(people(300));
    let mut figures: Vec<Value> = Vec::new();
    for values in ["bounds", "mean"] {
        let report =
            folder.anonymize(&format!("in.csv -o {values}.csv {ROLES} --values {values} -k 6"));
        let run = folder.run(&format!("check {values}.csv"));
        assert_eq!(run.code, Some(0), "{}", run.said());
        assert!(run.out.contains("loss, requirement"), "{}", run.out);
        let quasi = "--quasi age,pay,rate,born,seen,city --json";
        let run = folder.run(&format!("measure in.csv {values}.csv {quasi}"));
        assert_eq!(run.code, Some(0), "{}", run.said());
        let measured: Value = serde_json::from_str(&run.out).unwrap();
        figures.push(json!([report["classes"], report["loss"], measured["ncp"]]));
        let manifest = folder.json(&format!("{values}.csv.manifest.json"));
        let has_mean = |name: &str| {
            let columns = manifest["columns"].as_array().unwrap();
            let column = columns.iter().find(|own| own["name"] == name).unwrap();
            column.get("statistics").cloned()
        };
        let expected = (values == "mean").then(|| json!(["mean"]));
        assert_eq!(has_mean("age"), expected);
        assert_eq!((has_mean("city"), has_mean("raw_age")), (None, None));
    }
    assert_eq!(figures[0], figures[1]);
}

// What means tell.

const PAIRS: &str = "age,city\n21,Ulm\n39,Ulm\n50,Ulm\n22,Bonn\n23,Bonn\n60,Bonn\n";

#[test]
fn the_third_of_three_is_told_by_bounds_and_mean_and_a_finding_stops_it() {
    let folder = Folder::with(PAIRS);
    let job = "anonymize in.csv -o out.csv --quasi age,city -k 3 --method mondrian --values mean";
    let words: Vec<&str> = job.split_whitespace().collect();
    let run = folder.run_once(&words);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{}", run.err);
    assert!(run.err.contains("mean-below-5") && run.err.contains("6 of 6 rows"), "{}", run.err);
    assert_eq!(folder.names(), ["in.csv"]);
    let run = folder.run_once(&[&words[..], &["--accept", "mean-below-5"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.said());
    let manifest = folder.json("out.csv.manifest.json");
    assert_eq!(manifest["findings"][0], json!({ "name": "mean-below-5", "count": 6 }));
    // The attack: an interval of 29 years, and the age between its ends to 1.5 of them.
    // That of 23, a year above the least, is not shown.
    let column = |name: &str| -> Vec<Option<f64>> {
        folder.column("out.csv", name).iter().map(|text| text.parse().ok()).collect()
    };
    let (lo, hi, mean) = (column("age_min"), column("age_max"), column("age_mean"));
    let told = |row: usize| Some(3.0 * mean[row]? - lo[row]? - hi[row]?);
    let third: Vec<f64> = (0..6).filter_map(told).collect();
    assert_eq!(third.len(), 3);
    assert!(third.iter().all(|told| (told - 39.0).abs() <= 1.5), "{third:?}");
    let bounds = job.replace("mean", "bounds");
    assert_eq!(
        folder.run(&format!("{bounds} --force")).code,
        Some(0),
        "bounds alone are no finding"
    );
}

#[test]
fn classes_of_five_are_no_finding_and_few_persons_are_one() {
    let folder = Folder::with(people(300));
    let report = folder.anonymize(&format!("in.csv -o out.csv {ROLES} --values mean -k 5"));
    let found = |report: &Value| {
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|own| own["name"] == "mean-below-5").cloned()
    };
    assert_eq!(found(&report), None);
    let mut text = "id,age\n".to_owned();
    (0..60).for_each(|row| text.push_str(&format!("p{},{}\n", row / 3, 20 + row)));
    folder.write("in.csv", text);
    let job = "in.csv -o out.csv --quasi age --subject id --values mean";
    assert!(found(&folder.anonymize(&format!("{job} -k 4"))).is_some_and(|own| own["severe"]
        == true
        && own["sentence"].to_string().contains("persons")));
    assert_eq!(found(&folder.anonymize(&format!("{job} -k 5"))), None);
}

// What is refused.

#[test]
fn what_has_no_mean_is_refused_by_name_and_nothing_is_written() {
    let folder = Folder::with("age,zip,age_mean,note\n20,01067,1,a\n30,01069,2,b\n40,01097,3,c\n");
    folder.write("job.toml", "values = \"median\"\n");
    let run = "anonymize in.csv -o out.csv -k 2";
    for (flags, words) in [
        ("--quasi age --values median", &["median", "somebody", "union"][..]),
        ("--quasi age --job job.toml", &["median", "somebody", "union"]),
        ("--quasi age --values mean --no-compact", &["--values mean", "--no-compact", "regions"]),
        ("--quasi age --values mean --keep age_mean", &["'age_mean'", "mean of 'age'"]),
        ("--quasi zip --type zip=code --values mean", &["--values mean", "no effect"]),
        ("--quasi note --values mean", &["--values mean", "no effect", "interval"]),
        ("--quasi age --hierarchy age=ranges:10 --values mean", &["--values mean", "no effect"]),
    ] {
        let run = folder.run(&format!("{run} {flags}"));
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{flags}: {}", run.err);
        for word in words {
            assert!(run.err.contains(word), "{flags}: {word}: {}", run.err);
        }
        assert_eq!(folder.names(), ["in.csv", "job.toml"], "{flags}");
    }
    // A column without a role is dropped, and its name is free.
    folder.anonymize("in.csv -o out.csv -k 2 --quasi age --values mean");
    assert_eq!(folder.rows("out.csv")[0], ["age_min", "age_max", "age_mean"]);
}
