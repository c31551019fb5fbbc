//! What published cells lose, by `docs/formats.md` and by nothing else.

use std::collections::{BTreeMap, BTreeSet};

/// How a column is shown, as far as a job tells it.
#[derive(Clone)]
pub enum Shown {
    /// Intervals of numbers.
    Numbers,
    /// Intervals of dates or points in time.
    Dates,
    Set,
    /// Labels of a file, with the number of leaves below each.
    File(BTreeMap<String, usize>),
    Ranges(Vec<f64>),
    DateLabels,
    Prefix,
    Suppress,
}

/// The sum of what the cells of a column lose.
pub fn lost(shown: &Shown, cells: &[&str]) -> f64 {
    match shown {
        Shown::Numbers => intervals(cells, |text| text.parse().unwrap()),
        Shown::Dates => intervals(cells, seconds_of),
        Shown::Set => sets(cells),
        Shown::File(leaves) => labels(cells, |label| {
            (leaves[label] - 1) as f64 / (leaves.values().max().unwrap() - 1) as f64
        }),
        Shown::Ranges(sizes) => labels(cells, |label| {
            let Some(ends) = label.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
                return 0.0;
            };
            let (lo, hi) = ends.split_once(", ").unwrap();
            let size = hi.parse::<f64>().unwrap() - lo.parse::<f64>().unwrap() + 1.0;
            let level = sizes.iter().position(|own| *own == size).unwrap() + 1;
            level as f64 / (sizes.len() + 1) as f64
        }),
        Shown::DateLabels => labels(cells, |label| match label.len() {
            4 => 0.75,
            7 if label.contains('Q') => 0.5,
            7 => 0.25,
            _ => 0.0,
        }),
        Shown::Prefix => {
            let others = cells.iter().filter(|cell| **cell != "*" && !cell.starts_with("{, "));
            let longest = others.map(|cell| cell.chars().count()).max().unwrap_or(0);
            labels(cells, |label| match label.strip_suffix('*') {
                Some(kept) => (longest - kept.chars().count()) as f64 / longest as f64,
                None => 0.0,
            })
        }
        Shown::Suppress => labels(cells, |_| 0.0),
    }
}

fn labels(cells: &[&str], loss: impl Fn(&str) -> f64) -> f64 {
    let of_cell = |cell: &&str| match *cell {
        "" => 0.0,
        "*" => 1.0,
        cell if cell.starts_with("{, ") => 1.0,
        cell => loss(cell),
    };
    cells.iter().map(of_cell).sum()
}

fn sets(cells: &[&str]) -> f64 {
    let members = |cell: &str| -> Vec<String> {
        let inner = cell.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        inner.unwrap_or(cell).split(", ").map(str::to_owned).collect()
    };
    let names: BTreeSet<String> = cells.iter().flat_map(|cell| members(cell)).collect();
    let n_more = (names.len() - 1).max(1) as f64;
    cells.iter().map(|cell| (members(cell).len() - 1) as f64 / n_more).sum()
}

fn intervals(cells: &[&str], number: impl Fn(&str) -> f64) -> f64 {
    let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut lengths, mut n_any) = (0.0, 0.0);
    for cell in cells.iter().filter(|cell| !cell.is_empty()) {
        let with_missing = cell.strip_prefix("{, ").and_then(|rest| rest.strip_suffix('}'));
        let shown = with_missing.unwrap_or(cell);
        let ends = shown.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let (lo, hi) = ends.map_or((shown, shown), |ends| ends.split_once(", ").unwrap());
        let (lo, hi) = (number(lo), number(hi));
        (least, greatest) = (least.min(lo), greatest.max(hi));
        match with_missing {
            Some(_) => n_any += 1.0,
            None => lengths += hi - lo,
        }
    }
    n_any + if greatest > least { lengths / (greatest - least) } else { 0.0 }
}

/// Seconds since the year 0, of `YYYY-MM-DD` and perhaps ` HH:MM:SS` after it.
fn seconds_of(text: &str) -> f64 {
    let number = |text: &str| text.parse::<i64>().unwrap();
    let (year, month, day) = (number(&text[..4]), number(&text[5..7]), number(&text[8..10]));
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let of_month = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30];
    let before = (0..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum::<i64>();
    let days = before + of_month[..month as usize - 1].iter().sum::<i64>() + day - 1;
    let time = text.get(11..).map_or(0, |time| {
        number(&time[..2]) * 3600 + number(&time[3..5]) * 60 + number(&time[6..8])
    });
    (days * 86_400 + time) as f64
}
