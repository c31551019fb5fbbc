//! What a cell of a release shows, as its text tells it: ours, or in ARX's notation where that can
//! be read in one way.
//!
//! ```text
//!   48   [48, 62]   [48, 63)   [48, 63[   48-62   (-inf, 15]    ordered values
//!   f   {f, m}   "{a, b}"                                       names
//!   4412*   441**                                               names that begin alike
//!   *   {, [48, 62]}   (empty)                                  any value, a missing one
//! ```
//!
//! Guarantee: a text that can be read in two ways is read as what covers more.

use albers_release::parse::{ShownMember, members_of};
use albers_table::hierarchy::Hierarchy;
use albers_table::hierarchy::dates::days_of_label;
use albers_table::value::{days_of_month, month_of_days, parse_date};

use super::yardstick::Yardstick;

/// The label of any value.
const ANY: &str = "*";

/// What a cell shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// Its values.
    pub(super) values: Values,
    /// Whether the missing value is one of them.
    pub(super) missing: bool,
}

/// The values that a cell shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Values {
    /// None: only the missing one.
    None,
    /// Any, also a missing one.
    Any,
    /// All between two ends.
    Range(Edge, Edge),
    /// Some names.
    Names(Vec<String>),
    /// All names that begin with this.
    Prefix(String),
    /// Leaves of a hierarchy, as ranges of places with both ends.
    Leaves(Vec<(u32, u32)>),
}

/// Where a range ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Edge {
    /// At a value, which belongs to it.
    At(i64),
    /// At a value that does not.
    Before(i64),
    /// Nowhere.
    Open,
}

/// How the texts of a column are read.
#[derive(Clone)]
pub(super) enum Notation {
    /// As values and intervals.
    Ordered(Yardstick),
    /// As days, months, quarters and years.
    Dates(Yardstick),
    /// As names and sets of names.
    Names,
    /// As `true` and `false`, in any case.
    Booleans,
    /// As names, and beginnings of names.
    Prefix,
    /// As labels of a hierarchy.
    Labels(Hierarchy),
    /// As places in the order of a hierarchy file.
    Places(Hierarchy),
    /// As labels that nothing explains: each may stand for anything.
    Unknown,
}

impl Shape {
    pub(super) const MISSING: Shape = Shape { values: Values::None, missing: true };

    fn of(values: Values) -> Shape {
        Shape { values, missing: false }
    }
}

impl Notation {
    /// What a text shows; nothing if it is not understood. `None` is the empty cell.
    pub(super) fn read(&self, text: Option<&str>) -> Option<Shape> {
        let Some(text) = text else { return Some(Shape::MISSING) };
        let mut members = members_of(text);
        let is_missing = |member: &ShownMember| !member.is_quoted && member.text.trim().is_empty();
        let missing = members.first().is_some_and(is_missing);
        if missing {
            members.remove(0);
        }
        let values = match &members[..] {
            [] => Values::None,
            [one] => self.member(one)?,
            several => self.union(several)?,
        };
        let missing = missing || values == Values::Any;
        Some(Shape { values, missing })
    }

    /// The same of a text that is a value.
    pub(super) fn value(&self, text: Option<&str>) -> Option<Shape> {
        let Some(text) = text else { return Some(Shape::MISSING) };
        Some(Shape::of(match self {
            Notation::Ordered(yardstick) => {
                let key = yardstick.key(text)?;
                Values::Range(Edge::At(key), Edge::At(key))
            }
            Notation::Booleans => Values::Names(vec![text.trim().to_ascii_lowercase()]),
            _ => Values::Names(vec![text.to_owned()]),
        }))
    }

    /// What two ends show, and whether the missing value is shown too.
    pub(super) fn read_bounds(&self, lo: &str, hi: &str) -> Option<Shape> {
        let values = match self {
            Notation::Ordered(yardstick) => {
                Values::Range(Edge::At(yardstick.key(lo)?), Edge::At(yardstick.key(hi)?))
            }
            Notation::Places(hierarchy) => {
                let (first, last): (u32, u32) = (lo.parse().ok()?, hi.parse().ok()?);
                let is_there = 1 <= first && first <= last && last <= hierarchy.n_leaves();
                let is_all = (first, last) == (1, hierarchy.n_leaves());
                // The places of all say nothing of missing values.
                match is_there {
                    true if is_all => return Some(Shape { values: Values::Any, missing: true }),
                    true => Values::Leaves(vec![(first - 1, last - 1)]),
                    false => return None,
                }
            }
            _ => return None,
        };
        Some(Shape::of(values))
    }

    fn member(&self, member: &ShownMember) -> Option<Values> {
        let text = member.text.as_str();
        if !member.is_quoted && text.trim() == ANY {
            return Some(Values::Any);
        }
        match self {
            Notation::Ordered(yardstick) => range(*yardstick, text.trim()),
            Notation::Dates(yardstick) => date_label(*yardstick, text.trim()),
            Notation::Names => Some(Values::Names(vec![text.to_owned()])),
            Notation::Booleans => Some(Values::Names(vec![text.to_ascii_lowercase()])),
            Notation::Prefix => Some(match text.trim_end_matches('*') {
                stem if stem.len() < text.len() && !member.is_quoted => {
                    Values::Prefix(stem.to_owned())
                }
                _ => Values::Names(vec![text.to_owned()]),
            }),
            Notation::Labels(hierarchy) => Some(Values::Leaves(places_of(hierarchy, text)?)),
            Notation::Places(_) => None,
            Notation::Unknown => Some(Values::Any),
        }
    }

    /// All values of several members.
    fn union(&self, members: &[ShownMember]) -> Option<Values> {
        let (mut names, mut leaves) = (Vec::new(), Vec::new());
        for member in members {
            match self.member(member)? {
                Values::Names(own) => names.extend(own),
                Values::Leaves(own) => leaves.extend(own),
                Values::Any => return Some(Values::Any),
                _ => return None,
            }
        }
        names.sort_unstable();
        names.dedup();
        leaves.sort_unstable();
        Some(if leaves.is_empty() { Values::Names(names) } else { Values::Leaves(leaves) })
    }
}

/// The places of the leaves below a label, or of a leaf; nothing if it is neither.
pub(super) fn places_of(hierarchy: &Hierarchy, label: &str) -> Option<Vec<(u32, u32)>> {
    let node = hierarchy.node_by_label(label)?;
    let n_leaves = hierarchy.leaves_of(node).len() as u32;
    let first = hierarchy.first_place(node);
    Some((n_leaves > 0).then(|| (first, first + n_leaves - 1)).into_iter().collect())
}

/// A value, or an interval.
fn range(yardstick: Yardstick, text: &str) -> Option<Values> {
    if let Some(key) = yardstick.key(text) {
        return Some(Values::Range(Edge::At(key), Edge::At(key)));
    }
    let bytes = text.as_bytes();
    let (Some(open @ (b'[' | b'(' | b']')), Some(close @ (b']' | b')' | b'['))) =
        (bytes.first(), bytes.last())
    else {
        return dashed(yardstick, text);
    };
    let inner = text.get(1..text.len().checked_sub(1)?)?;
    let Some((lo, hi)) = inner.split_once([',', ';']) else { return dashed(yardstick, inner) };
    let edge = |text: &str, is_in: bool, open: &[&str]| -> Option<Edge> {
        match text.trim() {
            text if open.contains(&text) => Some(Edge::Open),
            text if is_in => yardstick.key(text).map(Edge::At),
            text => yardstick.key(text).map(Edge::Before),
        }
    };
    let lo = edge(lo, *open == b'[', &["-inf", ""])?;
    let hi = edge(hi, *close == b']', &["inf", ""])?;
    let (lo, hi) = match yardstick.is_discrete() {
        true => (inward(lo, 1), inward(hi, -1)),
        false => (lo, hi),
    };
    let is_turned = match (lo, hi) {
        (Edge::At(lo) | Edge::Before(lo), Edge::At(hi) | Edge::Before(hi)) => lo > hi,
        _ => false,
    };
    (!is_turned).then_some(Values::Range(lo, hi))
}

/// An end that leaves its value out is the next one inside, where there is one.
fn inward(edge: Edge, step: i64) -> Edge {
    match edge {
        Edge::Before(key) => Edge::At(key.saturating_add(step)),
        other => other,
    }
}

/// `48-62`, of whole numbers that are not negative.
fn dashed(yardstick: Yardstick, text: &str) -> Option<Values> {
    if !matches!(yardstick, Yardstick::Integer | Yardstick::Whole(_)) {
        return None;
    }
    let (lo, hi) = text.split_once(['-', '\u{2013}'])?;
    let (lo, hi) = (yardstick.key(lo.trim())?, yardstick.key(hi.trim())?);
    (0 <= lo && lo <= hi).then_some(Values::Range(Edge::At(lo), Edge::At(hi)))
}

/// A day, or all days of a week, a month, a quarter, a year or several; points in time of these where
/// the column has such.
fn date_label(yardstick: Yardstick, label: &str) -> Option<Values> {
    if let Some(key) = yardstick.key(label).filter(|_| !is_whole_day(yardstick, label)) {
        return Some(Values::Range(Edge::At(key), Edge::At(key)));
    }
    let is_time = matches!(yardstick, Yardstick::Day | Yardstick::Timestamp);
    let day = if is_time { 86_400_000_000 } else { 1 };
    if let Some(days) = days_of_label(label) {
        let (first, last) = (days.start.checked_mul(day)?, days.end.checked_mul(day)? - 1);
        return Some(Values::Range(Edge::At(first), Edge::At(last)));
    }
    let (first, n_months) = match label.split_once("-Q") {
        Some((year, quarter)) => {
            let quarter: u32 = quarter.parse().ok().filter(|own| (1..=4).contains(own))?;
            (format!("{year}-{:02}-01", 3 * quarter - 2), 3)
        }
        None if parse_date(label.as_bytes()).is_ok() => (label.to_owned(), 0),
        None if parse_date(format!("{label}-01").as_bytes()).is_ok() => (format!("{label}-01"), 1),
        None => (format!("{label}-01-01"), 12),
    };
    let first = parse_date(first.as_bytes()).ok()?;
    let end = match n_months {
        0 => first + 1,
        n_months => days_of_month(month_of_days(first) + n_months),
    };
    let (first, last) = (first.checked_mul(day)?, end.checked_mul(day)? - 1);
    Some(Values::Range(Edge::At(first), Edge::At(last)))
}

/// Whether a label stands for a whole day of points in time.
fn is_whole_day(yardstick: Yardstick, label: &str) -> bool {
    matches!(yardstick, Yardstick::Day | Yardstick::Timestamp)
        && parse_date(label.as_bytes()).is_ok()
}

/// The ends that a text of an ordered column has, to tell what they are.
pub(super) fn ends_of(text: &str) -> Vec<String> {
    let members = members_of(text).into_iter();
    members.flat_map(|member| ends_of_member(member.text.trim())).collect()
}

fn ends_of_member(text: &str) -> Vec<String> {
    if text.is_empty() || text == ANY {
        return Vec::new();
    }
    let inner =
        text.strip_prefix(['[', '(', ']']).and_then(|own| own.strip_suffix([']', ')', '[']));
    let is_end = |own: &&str| !matches!(*own, "-inf" | "inf" | "");
    match inner.map(|inner| inner.split_once([',', ';']).ok_or(inner)) {
        Some(Ok((lo, hi))) => {
            [lo.trim(), hi.trim()].into_iter().filter(is_end).map(str::to_owned).collect()
        }
        Some(Err(inner)) => dashed_ends(inner),
        None => dashed_ends(text),
    }
}

fn dashed_ends(text: &str) -> Vec<String> {
    match dashed(Yardstick::Integer, text) {
        Some(_) => text.split(['-', '\u{2013}']).map(|own| own.trim().to_owned()).collect(),
        None => vec![text.to_owned()],
    }
}
