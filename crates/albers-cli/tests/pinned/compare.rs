//! In what a run differs from what is expected of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::outcome::Outcome;
use super::record::{Files, Pinned};

/// Sums may be taken in another order: losses agree to 12 significant digits.
const DIGITS: f64 = 1e-12;
/// What is nothing but rounding, where a loss is zero.
const NOTHING: f64 = 1e-15;

/// All differences, each in words; none if the job came to what is expected.
pub fn differences(expected: &Pinned, found: &Outcome) -> Vec<String> {
    let mut differ = found.faults.clone();
    if expected.exit != found.exit {
        let (before, now) = (expected.exit, found.exit);
        differ.push(format!("exit code: {before:?} is {now:?} now: {}", found.said));
    }
    let no_report = Value::Null;
    let reports = [&expected.report, &found.report].map(|own| own.as_ref().unwrap_or(&no_report));
    files(&expected.files, &found.files, &mut differ);
    let compare = if expected.is_memory_dependent { in_any_memory } else { exactly };
    compare("report", reports[0], reports[1], &mut differ);
    differ
}

/// Files by name, and by content where that is expected to be the same.
pub fn files(expected: &Files, found: &BTreeMap<String, String>, differ: &mut Vec<String>) {
    for (name, digest) in expected {
        match (digest, found.get(name)) {
            (_, None) => differ.push(format!("{name}: not written any more")),
            (Some(before), Some(now)) if before != now => {
                differ.push(format!("{name}: other bytes than before"));
            }
            _ => {}
        }
    }
    let new = found.keys().filter(|name| !expected.contains_key(*name));
    differ.extend(new.map(|name| format!("{name}: not written before")));
}

/// Every field, losses to so many digits.
fn exactly(place: &str, expected: &Value, found: &Value, differ: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let place = format!("{place}.{name}");
                match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) => exactly(&place, a, b, differ),
                    (Some(_), None) => differ.push(format!("{place}: not there any more")),
                    _ => differ.push(format!("{place}: not there before")),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                exactly(&format!("{place}[{at}]"), a, b, differ);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let far = |a: f64, b: f64| (a - b).abs() > DIGITS * a.abs().max(b.abs()) + NOTHING;
            if a.as_f64().zip(b.as_f64()).is_none_or(|(a, b)| far(a, b)) {
                differ.push(format!("{place}: {a} is {b} now"));
            }
        }
        (a, b) if a != b => differ.push(format!("{place}: {a} is {b} now")),
        _ => {}
    }
}

/// What is said of a release in any memory. Which method did the work is said too, and what is
/// measured of values that there was no room to count.
fn in_any_memory(place: &str, expected: &Value, found: &Value, differ: &mut Vec<String>) {
    for field in ["rows", "suppressed", "classes", "class_size", "columns", "requirement", "seed"] {
        exactly(&format!("{place}.{field}"), &expected[field], &found[field], differ);
    }
    for field in ["discernibility", "certainty_penalty", "ncp", "ncp_by_column"] {
        for loss in ["loss", "table_loss"] {
            let [a, b] = [expected, found].map(|own| &own[loss][field]);
            exactly(&format!("{place}.{loss}.{field}"), a, b, differ);
        }
    }
    let [a, b] = [expected, found].map(|own| own["also"].as_array().map_or(&[][..], |own| own));
    if a.len() != b.len() {
        differ.push(format!("{place}.also: {} releases are {} now", a.len(), b.len()));
    }
    for (at, (a, b)) in a.iter().zip(b).enumerate() {
        let place = format!("{place}.also[{at}]");
        for field in ["k", "path"] {
            exactly(&format!("{place}.{field}"), &a[field], &b[field], differ);
        }
        in_any_memory(&place, &a["report"], &b["report"], differ);
    }
}
