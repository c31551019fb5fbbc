//! How the classes of a table lie to each other, from its texts.
//!
//! Guarantee: nothing is told where a text may stand for others that only a hierarchy knows. Regions
//! of fractions that only touch at an end are taken for disjoint, where a manifest says that they
//! are regions: there a cut is.

use albers_measure::Classes;
use albers_measure::relation::{Cover, Relation, relation_of};
use albers_release::parse::names_of;
use albers_table::hierarchy::dates::days_of_label;
use albers_table::value::{days_of_month, month_of_days, parse_date};
use rustc_hash::FxHashMap;

use super::texts::{ANY, ShownTexts, TextKey, WITH_MISSING, end_of, ends_of};
use super::whole::InternedColumn;
use crate::report::{PLACES, PublishedColumn, REGIONS};

/// How a column is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Notation {
    Intervals,
    Sets,
    Prefixes,
    Dates,
    /// Values, or nothing.
    Values,
}

/// Whole numbers below it, microseconds of times too, are exact.
const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

/// A quasi-identifier, and how it is shown where a manifest tells.
pub(super) type Told<'m> = (&'m str, Option<&'m PublishedColumn>);

/// How the classes of a table lie to each other; nothing where its texts do not tell, or it takes
/// too long.
pub(super) fn relation_of_texts(
    quasi: &[Told<'_>],
    classes: &Classes,
    columns: &[InternedColumn],
) -> Option<Relation> {
    let mut covers: Vec<Vec<Cover>> = vec![Vec::with_capacity(quasi.len()); classes.n_classes()];
    for (name, told) in quasi {
        let shown = ShownTexts::of(name, columns, classes.row_runs())?;
        let by_key = covers_of(&shown, *told)?;
        for (class, covers) in classes.iter().zip(&mut covers) {
            covers.push(by_key[&shown.key(class.first_run())].clone());
        }
    }
    relation_of(&covers)
}

/// What each text of a column covers.
fn covers_of(
    shown: &ShownTexts<'_>,
    told: Option<&PublishedColumn>,
) -> Option<FxHashMap<TextKey, Cover>> {
    let shown: Vec<(TextKey, String)> = shown.texts().map(|(key, text, _)| (key, text)).collect();
    let texts = || shown.iter().map(|(_, text)| text.as_str());
    let notation = match told {
        Some(told) => notation_told(told)?,
        None => notation_guessed(texts)?,
    };
    let ends_are_cuts = told.is_some_and(|own| own.ends.as_deref() == Some(REGIONS));
    let touch_at_cuts = ends_are_cuts && texts().any(|text| text.contains('.'));
    let has_missing = texts().any(|text| text.is_empty() || text.starts_with(WITH_MISSING));
    if has_missing && texts().any(|text| text == ANY) {
        // Whether `*` stands for the missing value too is not told.
        return None;
    }
    let mut names: Vec<String> = match notation {
        Notation::Sets => texts().flat_map(names_of).collect(),
        Notation::Prefixes | Notation::Values => {
            texts().map(|text| stem(text).to_owned()).collect()
        }
        _ => texts().map(str::to_owned).collect(),
    };
    names.sort_unstable();
    names.dedup();
    let place = |name: &str| names.partition_point(|own| own.as_str() < name) as u32;
    let cover = |text: &str| -> Option<Cover> {
        match text {
            "" => return Some(Cover::missing()),
            ANY => return Some(Cover::any()),
            _ => {}
        }
        Some(match notation {
            Notation::Intervals => interval(text, touch_at_cuts)?,
            Notation::Sets => {
                let members = names_of(text);
                let mut places: Vec<u32> = members
                    .iter()
                    .filter(|name| !name.is_empty())
                    .map(|name| place(name))
                    .collect();
                places.sort_unstable();
                let missing = places.len() < members.len();
                Cover::names(places, missing)
            }
            Notation::Prefixes => {
                let is_label = text.trim_end_matches('}').ends_with(ANY);
                if is_label && texts().any(|other| other == stem(text)) {
                    // Whether a label stands for a value without any more letters is not told.
                    return None;
                }
                prefix_cover(text, is_label, &names)
            }
            Notation::Dates => date_label(text)?,
            Notation::Values => {
                let name = place(stem(text));
                Cover::names(vec![name], text.starts_with(WITH_MISSING))
            }
        })
    };
    shown.iter().map(|(key, text)| Some((*key, cover(text)?))).collect()
}

/// What a prefix covers, or a value where it is no label; `names` are the stems of all, in order.
fn prefix_cover(text: &str, is_label: bool, names: &[String]) -> Cover {
    let stem = stem(text);
    let first = names.partition_point(|own| own.as_str() < stem);
    let end = names.partition_point(|own| own.as_str() < stem || own.starts_with(stem));
    let last = if is_label { end - 1 } else { first };
    Cover::range(first as f64, last as f64, text.starts_with(WITH_MISSING))
}

fn notation_told(told: &PublishedColumn) -> Option<Notation> {
    Some(match (told.shown.as_str(), told.hierarchy.as_deref()) {
        ("interval" | PLACES, _) => Notation::Intervals,
        ("set", _) => Notation::Sets,
        ("label", Some("prefix")) => Notation::Prefixes,
        ("label", Some(dates)) if dates == "dates" || dates.starts_with("dates:") => {
            Notation::Dates
        }
        ("label", Some("suppress")) => Notation::Values,
        ("label", Some(ranges)) if ranges.starts_with("ranges:") => Notation::Intervals,
        _ => return None,
    })
}

/// The notation that all texts fit; names may be labels, of which only a hierarchy knows.
fn notation_guessed<'t, I: Iterator<Item = &'t str>>(texts: impl Fn() -> I) -> Option<Notation> {
    let shown = || texts().filter(|text| !text.is_empty() && *text != ANY);
    match shown().all(|text| interval(text, false).is_some()) {
        true => Some(Notation::Intervals),
        false => None,
    }
}

/// An interval or a value; the end of `[a, b)` is left out.
fn interval(text: &str, touch_at_cuts: bool) -> Option<Cover> {
    let end_of = |text: &str| match text {
        "-inf" => Some(f64::NEG_INFINITY),
        "inf" => Some(f64::INFINITY),
        _ => end_of(text).filter(|end| end.abs() < EXACT_BELOW),
    };
    if let Some(ends) = text.strip_prefix('(') {
        let (lo, hi) = ends.split_once(", ")?;
        let hi = match hi.strip_suffix(']') {
            Some(hi) => end_of(hi)?,
            None => end_of(hi.strip_suffix(')')?)?.next_down(),
        };
        return Some(Cover::range(end_of(lo)?, hi, false));
    }
    if let Some(ends) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(')')) {
        let (lo, hi) = ends.split_once(", ")?;
        return Some(Cover::range(end_of(lo)?, end_of(hi)?.next_down(), false));
    }
    let (lo, hi, missing) = ends_of(text)?;
    let (lo, mut hi) = (end_of(lo)?, end_of(hi)?);
    if touch_at_cuts && lo < hi {
        hi = hi.next_down();
    }
    Some(Cover::range(lo, hi, missing))
}

/// The characters that a label keeps, or those of a value.
fn stem(text: &str) -> &str {
    let text =
        text.strip_prefix(WITH_MISSING).and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
    text.strip_suffix(ANY).unwrap_or(text)
}

/// A day, or all days of a week, a month, a quarter, a year or several.
fn date_label(text: &str) -> Option<Cover> {
    const DAY_MICROSECONDS: f64 = 86_400e6;
    let missing = text.starts_with(WITH_MISSING);
    let label = stem(text);
    if let Some(days) = days_of_label(label) {
        let (first, end) = (days.start as f64, days.end as f64);
        return Some(Cover::range(first * DAY_MICROSECONDS, end * DAY_MICROSECONDS - 1.0, missing));
    }
    let (first, n_months) = match (label.len(), label.split_once("-Q")) {
        (4, _) => (format!("{label}-01-01"), 12),
        (7, Some((year, quarter))) => {
            let quarter: u32 = quarter.parse().ok()?;
            (format!("{year}-{:02}-01", 3 * quarter - 2), 3)
        }
        (7, None) => (format!("{label}-01"), 1),
        _ => (label.to_owned(), 0),
    };
    if n_months == 0 && label.len() > 10 {
        let time = end_of(label)?;
        return Some(Cover::range(time, time, missing));
    }
    let first = parse_date(first.as_bytes()).ok()?;
    let end = match n_months {
        0 => first + 1,
        n_months => days_of_month(month_of_days(first) + n_months),
    };
    let (first, end) = (first as f64 * DAY_MICROSECONDS, end as f64 * DAY_MICROSECONDS);
    Some(Cover::range(first, end - 1.0, missing))
}
