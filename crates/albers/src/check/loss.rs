//! What a release loses, from its texts and its manifest alone.
//!
//! Source: `docs/formats.md`, how the loss of a manifest is computed.
//! Departures: the labels of hierarchy files have leaves that a release does not show; what they
//! lose is not known here.
//! Guarantee: nothing but the cells enters, so that the figures of a manifest are found again.
//! Cost: one look at each distinct text of a column.

use albers_measure::published::WeighedColumn;
use albers_measure::{Classes, PublishedLoss};
use albers_release::parse::names_of;
use albers_table::hierarchy::HierarchySpec;
use albers_table::hierarchy::dates::DateLevel;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::texts::{ANY, ShownEnds, ShownTexts, WITH_MISSING};
use super::whole::InternedColumn;
use crate::report::{Manifest, PLACES, PublishedColumn};

/// What the texts of a release lose, filled in by an audit that has all of them.
pub(super) struct TextLoss<'m> {
    manifest: &'m Manifest,
    /// The squares of the class sizes, and what each quasi-identifier of the manifest loses, if
    /// that is known.
    found: Option<(u128, Vec<Option<f64>>)>,
}

/// Distinct texts of a column, with their rows.
type Texts = Vec<(String, u64)>;

impl<'m> TextLoss<'m> {
    pub(super) fn of(manifest: &'m Manifest) -> TextLoss<'m> {
        TextLoss { manifest, found: None }
    }

    fn quasi(&self) -> impl Iterator<Item = &'m PublishedColumn> {
        self.manifest.columns.iter().filter(|column| column.role == "quasi")
    }

    /// Looks at the classes and at the columns that show quasi-identifiers.
    pub(super) fn look(&mut self, classes: &Classes, columns: &[InternedColumn]) {
        let squares = classes.iter().map(|own| (own.n_rows() as u128).pow(2)).sum();
        let lost = |own: &PublishedColumn| {
            lost(own, &ShownTexts::of(&own.name, columns, classes.row_runs())?)
        };
        let quasi: Vec<&PublishedColumn> = self.quasi().collect();
        self.found = Some((squares, quasi.into_par_iter().map(lost).collect()));
    }

    /// The loss by the texts; nothing if the audit did not have all of them, and the names of the
    /// columns of which it is not known.
    pub(super) fn loss(&self) -> Option<(PublishedLoss, Vec<&'m str>)> {
        let (squares, lost) = self.found.as_ref()?;
        let n_left_out = self.manifest.suppressed.unwrap_or(0);
        let n_rows = self.manifest.rows + n_left_out;
        let names = self.quasi().map(|own| own.name.as_str());
        let unknown = names.zip(lost).filter(|(_, lost)| lost.is_none()).map(|(name, _)| name);
        let columns = self.quasi().zip(lost).map(|(own, lost)| WeighedColumn {
            name: own.name.clone(),
            weight: own.weight.unwrap_or(1.0),
            lost: lost.unwrap_or(0.0) + n_left_out as f64,
        });
        let squares = squares + u128::from(n_left_out) * u128::from(n_rows);
        let loss = PublishedLoss::of(squares, n_rows, &columns.collect::<Vec<_>>());
        Some((loss, unknown.collect()))
    }
}

/// The sum of what the cells of a column lose; nothing if their texts do not tell it.
fn lost(own: &PublishedColumn, shown: &ShownTexts<'_>) -> Option<f64> {
    let are_intervals = own.shown == "interval" || own.shown == PLACES;
    if are_intervals {
        return lost_by_intervals(&shown.ends()?);
    }
    let texts: &Texts = &shown.texts().map(|(_, text, n_rows)| (text, n_rows)).collect();
    match (own.shown.as_str(), own.hierarchy.as_deref()) {
        ("set", _) => Some(lost_by_sets(texts)),
        ("label", Some("suppress")) => lost_by_labels(texts, |_| Some(0.0)),
        ("label", Some(dates)) if dates == "dates" || dates.starts_with("dates:") => {
            let HierarchySpec::Dates(levels) = dates.parse().ok()? else { return None };
            let levels = levels.above_day();
            lost_by_labels(texts, |label| date_share(label, &levels))
        }
        ("label", Some("prefix")) => {
            let shown = texts.iter().filter(|(text, _)| !is_any(text));
            let lengths = shown.map(|(text, _)| unquoted(text).chars().count());
            let length = lengths.max().unwrap_or(1) as f64;
            lost_by_labels(texts, |label| {
                let kept = label.strip_suffix(ANY).map(|kept| kept.chars().count() as f64);
                Some(kept.map_or(0.0, |kept| (length - kept) / length))
            })
        }
        ("label", Some(ranges)) => {
            let sizes: Option<Vec<f64>> = ranges
                .strip_prefix("ranges:")?
                .split(',')
                .map(|size| size.trim().parse().ok())
                .collect();
            let sizes = sizes?;
            lost_by_labels(texts, |label| range_share(label, &sizes))
        }
        _ => None,
    }
}

/// Whole numbers below it, microseconds of times too, are exact; sums of greater ones are not.
const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

/// Whether a text shows nothing.
fn is_any(text: &str) -> bool {
    text == ANY || text.starts_with(WITH_MISSING)
}

fn lost_by_labels(texts: &Texts, share: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let of_text = |(text, n_rows): &(String, u64)| {
        let share = match text.as_str() {
            "" => 0.0,
            text if is_any(text) => 1.0,
            text => share(&unquoted(text))?,
        };
        Some(share * *n_rows as f64)
    };
    texts.iter().map(of_text).sum()
}

/// The label itself, where it is quoted because it reads like something else.
fn unquoted(label: &str) -> String {
    names_of(label).into_iter().next().unwrap_or_default()
}

/// The share of the levels above the day, of which any value is the last.
fn date_share(label: &str, levels: &[DateLevel]) -> Option<f64> {
    // Years of more digits have a sign.
    if label.starts_with(['+', '-']) {
        return None;
    }
    let Some(level) = DateLevel::of_label(label) else { return Some(0.0) };
    let place = levels.iter().position(|own| *own == level)?;
    Some((place + 1) as f64 / (levels.len() + 1) as f64)
}

/// The share of the height of an interval of one of these sizes.
fn range_share(label: &str, sizes: &[f64]) -> Option<f64> {
    let Some(inner) = label.strip_prefix('[') else { return Some(0.0) };
    let (is_closed, ends) = match inner.strip_suffix(']') {
        Some(ends) => (true, ends),
        None => (false, inner.strip_suffix(')')?),
    };
    let (lo, hi) = ends.split_once(", ")?;
    let length = hi.parse::<f64>().ok()? - lo.parse::<f64>().ok()?;
    let length = if is_closed { length + 1.0 } else { length };
    let is_it = |size: &f64| (length - size).abs() <= 1e-9 * size;
    let level = sizes.iter().position(is_it)? + 1;
    Some(level as f64 / (sizes.len() + 1) as f64)
}

fn lost_by_sets(texts: &Texts) -> f64 {
    let mut names: FxHashSet<String> = FxHashSet::default();
    let mut n_more = 0;
    for (text, n_rows) in texts {
        let shown = names_of(text);
        n_more += (shown.len() as u64 - 1) * n_rows;
        names.extend(shown);
    }
    n_more as f64 / names.len().saturating_sub(1).max(1) as f64
}

fn lost_by_intervals(intervals: &[ShownEnds]) -> Option<f64> {
    let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut lengths, mut n_any) = (0.0, 0);
    for &ShownEnds { lo, hi, with_missing, n_rows } in intervals {
        if lo.abs().max(hi.abs()) >= EXACT_BELOW {
            return None;
        }
        (least, greatest) = (least.min(lo), greatest.max(hi));
        match with_missing {
            true => n_any += n_rows,
            false => lengths += (hi - lo) * n_rows as f64,
        }
    }
    let shares = if greatest > least { lengths / (greatest - least) } else { 0.0 };
    Some(n_any as f64 + shares)
}
