//! Regions end where cuts are: `--no-compact` shows no value of anybody, whatever its type, apart
//! from the least and the greatest of each column.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{Float32Array, StringArray, TimestampSecondArray};
use common::{Folder, Numbers, array};
use serde_json::Value;

const COLUMNS: [&str; 6] = ["count", "price", "born", "seen", "size", "wide"];

const QUASI: &str = "--quasi count,price,born,seen,size,wide \
    --type count=integer --type price=decimal --type born=date --type seen=timestamp \
    --type size=float --type wide=integer";

/// Rows with a value of every ordered type, all of them apart from each other; every 17th cell is
/// missing if any is. Many values are round, so that cuts which do not look would meet them.
fn table(n_rows: usize, has_missing: bool) -> String {
    let mut numbers = Numbers::new(5);
    let mut text = format!("id,{}\n", COLUMNS.join(","));
    for row in 0..n_rows {
        let mut pick = |end: u64| numbers.below(end);
        let cells = [
            format!("{}", pick(400) * 10),
            format!("{}.{:02}", pick(90), pick(20) * 5),
            format!("{}-{:02}-{:02}", 1950 + pick(60), 1 + pick(12), 1 + 9 * pick(3)),
            format!("20{:02}-{:02}-01 {:02}:00:00", pick(24), 1 + pick(12), pick(2) * 7),
            format!("{}.{}", pick(100), pick(4) * 25),
            format!("{}", pick(200) * 10_000_000_000),
        ];
        text.push_str(&format!("p{row:05}"));
        for (column, cell) in cells.iter().enumerate() {
            let is_missing = has_missing && (row * 7 + column * 5) % 17 == 0;
            text.push(',');
            text.push_str(if is_missing { "" } else { cell });
        }
        text.push('\n');
    }
    text
}

/// The ends that a cell shows.
fn ends(cell: &str) -> Vec<String> {
    let inner = cell.strip_prefix("{, ").and_then(|rest| rest.strip_suffix('}')).unwrap_or(cell);
    let inner = inner.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(inner);
    inner.split(", ").filter(|end| !end.is_empty()).map(str::to_owned).collect()
}

/// The one way in which a value is written, and a number that orders it.
fn written(column: &str, cell: &str) -> (f64, String) {
    let number = |text: &str| text.parse::<f64>().unwrap();
    match column {
        "size" => (number(cell), format!("{:?}", number(cell))),
        "born" | "seen" => {
            let digits: String = cell.chars().filter(char::is_ascii_digit).collect();
            (number(&digits), cell.to_owned())
        }
        _ => (number(cell), cell.to_owned()),
    }
}

/// The rows of each class, told by what their class shows.
fn classes(folder: &Folder, name: &str) -> BTreeSet<Vec<String>> {
    let rows = folder.csv(name);
    let id = rows[0].iter().position(|column| column == "id").unwrap();
    let mut classes: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for mut row in rows.into_iter().skip(1) {
        let own = row.remove(id);
        classes.entry(row).or_default().push(own);
    }
    classes
        .into_values()
        .map(|mut ids| {
            ids.sort();
            ids
        })
        .collect()
}

/// No end of any column is a value of a row, apart from the least and the greatest.
fn assert_nobodys_ends(folder: &Folder, release: &str, flags: &str) {
    for column in COLUMNS {
        let values: BTreeSet<String> = folder
            .column("in.csv", column)
            .iter()
            .filter(|cell| !cell.is_empty())
            .map(|cell| written(column, cell).1)
            .collect();
        let by_size =
            |a: &&String, b: &&String| written(column, a).0.total_cmp(&written(column, b).0);
        let outermost = [values.iter().min_by(by_size), values.iter().max_by(by_size)];
        let shown: BTreeSet<String> =
            folder.column(release, column).iter().flat_map(|cell| ends(cell)).collect();
        assert!(shown.len() > 3, "{flags}: {column} is hardly cut");
        let inner = |end: &&String| !outermost.contains(&Some(end)) && values.contains(*end);
        let met: Vec<&String> = shown.iter().filter(inner).collect();
        assert!(met.is_empty(), "{flags}: {column} ends at {met:?}");
    }
}

fn ncp(report: &Value) -> f64 {
    report["table_loss"]["ncp"].as_f64().unwrap()
}

#[test]
fn regions_end_at_nobodys_value_whatever_the_type() {
    for has_missing in [false, true] {
        let folder = Folder::with(table(600, has_missing));
        for flags in ["--method mondrian", "--method mondrian --split median", "--method rtree"] {
            let common = format!("in.csv {QUASI} --keep id -k 4 {flags}");
            let regions = folder.anonymize(&format!("{common} -o wide.csv --no-compact"));
            assert_nobodys_ends(&folder, "wide.csv", flags);
            let bounds = folder.anonymize(&format!("{common} -o tight.csv"));
            assert_eq!(classes(&folder, "wide.csv"), classes(&folder, "tight.csv"), "{flags}");
            assert!(ncp(&regions) > ncp(&bounds), "{flags}");
        }
    }
}

#[test]
fn a_release_of_regions_is_checked_and_measured_as_its_manifest_says() {
    for has_missing in [false, true] {
        let folder = Folder::with(table(600, has_missing));
        for (release, flags) in
            [("wide.csv", ""), ("wide.parquet", ""), ("wide.csv", "--values bounds")]
        {
            let report = folder.anonymize(&format!(
                "in.csv {QUASI} --keep id -k 4 -o {release} --no-compact {flags}"
            ));
            let check =
                folder.run(&format!("check {release} -k 4 {}", shown_roles(release, flags)));
            assert_eq!(check.code, Some(0), "{release} {flags}: {}", check.said());
            let measured = folder.run(&format!("measure in.csv {release} {QUASI} --key id --json"));
            assert_eq!(measured.code, Some(0), "{release} {flags}: {}", measured.err);
            let measured: Value = serde_json::from_str(&measured.out).unwrap();
            assert_eq!(measured["loss"]["ncp"], report["table_loss"]["ncp"], "{release} {flags}");
            let compacted = folder.run(&format!(
                "compact in.csv {release} --key id {QUASI} -o tight.csv --force --json"
            ));
            assert_eq!(compacted.code, Some(0), "{release} {flags}: {}", compacted.err);
        }
    }
}

/// The quasi-identifiers as a release shows them.
fn shown_roles(release: &str, flags: &str) -> String {
    if release.ends_with("csv") && flags.is_empty() {
        return format!("--quasi {}", COLUMNS.join(","));
    }
    let bounds = COLUMNS.map(|column| format!("{column}_min,{column}_max"));
    format!("--quasi {}", bounds.join(","))
}

#[test]
fn regions_are_the_same_in_little_memory() {
    for has_missing in [false, true] {
        let folder = Folder::with(table(8_000, has_missing));
        let common = format!("in.csv {QUASI} --keep id -k 4 --no-compact --least-memory 700KB");
        folder.anonymize(&format!("{common} -o memory.csv --method mondrian"));
        let index =
            folder.anonymize(&format!("{common} -o index.csv --method rtree --memory 700KB"));
        assert!(index["spilled_bytes"].as_u64().unwrap() > 0, "{}", index["spilled_bytes"]);
        assert!(folder.bytes("memory.csv") == folder.bytes("index.csv"));
    }
}

#[test]
fn where_there_is_no_room_ends_are_values() {
    let rows: Vec<String> = (20..60).map(|age| format!("{age}")).collect();
    let folder = Folder::with(format!("age\n{}\n", rows.join("\n")));
    folder.anonymize("in.csv -o out.csv --quasi age -k 4 --no-compact");
    let shown: BTreeSet<String> = folder.column("out.csv", "age").into_iter().collect();
    let mut spans: Vec<Vec<u32>> = shown
        .iter()
        .map(|cell| ends(cell).iter().map(|end| end.parse().unwrap()).collect())
        .collect();
    spans.sort();
    assert!(spans.len() > 5);
    assert_eq!((spans[0][0], spans[spans.len() - 1][1]), (20, 59));
    assert!(spans.windows(2).all(|pair| pair[1][0] == pair[0][1] + 1), "{spans:?}");
}

#[test]
fn cuts_lie_at_the_roundest_value_between_two_groups() {
    let rows = ["12,1.25", "13,1.5", "47,2.5", "49,2.75"];
    let folder = Folder::with(format!("age,size\n{}\n", rows.join("\n")));
    folder.anonymize("in.csv -o out.csv --quasi age,size --type size=float -k 2 --no-compact");
    let mut shown = folder.csv("out.csv")[1..].to_vec();
    shown.sort();
    shown.dedup();
    assert_eq!(shown, [["[12, 29]", "[1.25, 2.75]"], ["[30, 49]", "[1.25, 2.75]"]]);
}

#[test]
fn ends_of_typed_columns_are_values_that_their_types_can_hold() {
    let folder = Folder::new();
    let mut numbers = Numbers::new(9);
    let seconds: Vec<i64> =
        (0..300).map(|_| 1_700_000_000 + numbers.below(10_000_000) as i64).collect();
    let near: Vec<i64> = (0..300).map(|_| 1_700_000_000 + 2 * numbers.below(400) as i64).collect();
    let floats: Vec<f32> = (0..300).map(|_| numbers.below(5000) as f32 / 7.0).collect();
    let ids: Vec<String> = (0..300).map(|row| format!("p{row}")).collect();
    folder.write_parquet(
        "in.parquet",
        vec![
            ("id", array(StringArray::from(ids))),
            ("seen", array(TimestampSecondArray::from(seconds.clone()))),
            ("near", array(TimestampSecondArray::from(near.clone()))),
            ("size", array(Float32Array::from(floats.clone()))),
        ],
    );
    let quasi = "--quasi seen,near,size";
    for split in ["compact", "median"] {
        let report = folder.anonymize(&format!(
            "in.parquet {quasi} --keep id -k 4 --split {split} -o out.parquet --no-compact"
        ));
        let measured =
            folder.run(&format!("measure in.parquet out.parquet {quasi} --key id --json"));
        assert_eq!(measured.code, Some(0), "{}", measured.err);
        let measured: Value = serde_json::from_str(&measured.out).unwrap();
        assert_eq!(measured["loss"]["ncp"], report["table_loss"]["ncp"]);
        let batch = folder.parquet("out.parquet");
        let column = |name: &str| batch.column_by_name(name).unwrap().clone();
        for (name, values) in [("seen", &seconds), ("near", &near)] {
            let (least, greatest) = (values.iter().min(), values.iter().max());
            for end in ["min", "max"] {
                let shown = column(&format!("{name}_{end}"));
                let shown = shown.as_any().downcast_ref::<TimestampSecondArray>().unwrap();
                // Two seconds have one between them, which only one of two sides can end at.
                let met = |end: &i64| {
                    let is_outermost = Some(end) == least || Some(end) == greatest;
                    !is_outermost && values.contains(end)
                };
                let is_met = shown.values().iter().any(met);
                assert!(!is_met || name == "near", "{split}: {name}_{end}");
            }
        }
        let (least, greatest) = (
            floats.iter().copied().fold(f32::MAX, f32::min),
            floats.iter().copied().fold(f32::MIN, f32::max),
        );
        for end in ["size_min", "size_max"] {
            let shown = column(end);
            let shown = shown.as_any().downcast_ref::<Float32Array>().unwrap();
            let is_inner = |end: &&f32| **end != least && **end != greatest;
            assert!(!shown.values().iter().filter(is_inner).any(|end| floats.contains(end)));
        }
    }
}
