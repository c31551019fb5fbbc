//! Scales that do not look at the rows: ranges between given ends, or the labels of a file.
//!
//! ```text
//!   equal:0..100:2    (-inf, 25]   [26, 50]   [51, 75]   [76, inf)      missing, or no number
//! ```
//!
//! Source: as in [`crate::bang_file::scale`], whose ranges of equal length these are.
//! Departures: the first and the last range are open, so that values beyond the ends are in a range
//! that is true of them. Fractions are floats of 64 bits, and their ranges leave the upper end out.
//! Guarantee: which range a cell lies in depends on its text and on what the job gives, and so do
//! the texts of all ranges; a cell that is no value of the scale's type, or no leaf of the file, is
//! in none.
//! Cost: one look at the text of a cell, and a binary search.

use albers_table::code::Code;
use albers_table::hierarchy::{Hierarchy, Node};
use albers_table::schema::ColumnType;
use albers_table::value::{
    TickFormat, canonical, float_text, parse_date, parse_float, parse_integer, parse_timestamp,
};
use rustc_hash::FxHashMap;

use crate::bang_file::scale::{ScaleProblem, cell_on_line};

/// A scale has no more than 2^16 ranges: all of them are spelled out.
pub const MAX_FIXED_BITS: u32 = 16;

/// Which of some ranges a cell lies in, by its text alone.
#[derive(Debug, Clone)]
pub struct FixedScale {
    column_type: ColumnType,
    labels: Vec<String>,
    finder: Finder,
}

/// How the range of a text is found.
#[derive(Clone)]
enum Finder {
    /// Whole numbers, days or points in time, by where the ranges begin; the first begins nowhere.
    Ticks { starts: Vec<i64>, format: TickFormat },
    /// The same for fractions.
    Floats(Vec<f64>),
    /// The place of each leaf's label.
    Leaves(FxHashMap<String, u32>),
}

/// Shows no leaves: they are values of the column.
impl std::fmt::Debug for Finder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Finder::Ticks { .. } => "Ticks",
            Finder::Floats(_) => "Floats",
            Finder::Leaves(_) => "Leaves",
        })
    }
}

fn problem(problem: impl Into<String>, hint: &str) -> ScaleProblem {
    ScaleProblem { problem: problem.into(), hint: hint.to_owned() }
}

impl FixedScale {
    /// Ranges of equal length between two values, of a type that they have, or that is given.
    pub fn of_ends(
        (lo, hi): (&str, &str),
        n_bits: u32,
        given: Option<ColumnType>,
    ) -> Result<FixedScale, ScaleProblem> {
        if n_bits > MAX_FIXED_BITS {
            return Err(problem(
                format!("has more than the {MAX_FIXED_BITS} bits that a fixed grid can spell out"),
                "use fewer, equal:0..100:4",
            ));
        }
        let column_type = match given {
            None => type_of_ends(lo, hi),
            Some(ColumnType::Decimal) => Some(ColumnType::Float),
            Some(given) => given.is_ordered().then_some(given),
        };
        let kind = column_type.ok_or_else(|| {
            let hint = "use a number, a date or a time for both, or another type";
            problem("has ends that are no values of one type", hint)
        })?;
        let reversed = || problem("ends before it begins", "write the least value first");
        if kind == ColumnType::Float {
            let read = |text: &str| parse_float(text.as_bytes()).ok();
            let ends = read(lo).zip(read(hi)).ok_or_else(|| not_a(kind))?;
            let width = ends.1 - ends.0;
            if width.is_infinite() {
                return Err(problem("has ends that lie too far apart", "use nearer ones"));
            }
            // Not so for what is not a number.
            let is_wide = width > 0.0;
            let scale = is_wide.then(|| of_floats(ends, n_bits)).ok_or_else(reversed)?;
            return match scale.labels.is_empty() {
                true => Err(problem(
                    "has ends with no value between them",
                    "use ends that lie further apart",
                )),
                false => Ok(scale),
            };
        }
        let read = |text: &str| ticks_of(kind, text);
        let (lo, hi) = read(lo).zip(read(hi)).ok_or_else(|| not_a(kind))?;
        match lo.1 == hi.1 && lo.0 < hi.0 {
            true => Ok(of_ticks((lo.0, hi.0), n_bits, kind, lo.1)),
            false => Err(reversed()),
        }
    }

    /// The labels of a level of a hierarchy that was built of a file alone.
    pub fn of_hierarchy(
        tree: &Hierarchy,
        column_type: ColumnType,
        level: usize,
    ) -> Result<FixedScale, ScaleProblem> {
        if level >= tree.height() {
            return Err(problem(
                format!("is at level {level}, where there is nothing but the top of its hierarchy"),
                "use a lower level, or leave the column out",
            ));
        }
        let node = |index: usize| tree.label(Node { level, index }).to_owned();
        let leaves = (0..tree.n_leaves()).map(Code::new);
        let place_of =
            leaves.map(|leaf| (tree.leaf(leaf).to_owned(), tree.node_at(level, leaf) as u32));
        Ok(FixedScale {
            column_type,
            labels: (0..tree.n_nodes(level)).map(node).collect(),
            finder: Finder::Leaves(place_of.collect()),
        })
    }

    /// The type of the values.
    pub fn column_type(&self) -> ColumnType {
        self.column_type
    }

    /// What the ranges show, in their order.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Whether ranges are labels of a file.
    pub fn is_of_hierarchy(&self) -> bool {
        matches!(self.finder, Finder::Leaves(_))
    }

    /// The range of a cell; nothing if its text is no value that lies in any.
    pub fn place(&self, text: &str) -> Option<u32> {
        match &self.finder {
            Finder::Ticks { starts, format } => {
                let (ticks, own) = ticks_of(self.column_type, text)?;
                let n_below = starts.partition_point(|&start| start <= ticks);
                (own == *format).then_some(n_below as u32)
            }
            Finder::Floats(starts) => {
                let number = parse_float(text.as_bytes()).ok()?;
                Some(starts.partition_point(|&start| start <= number) as u32)
            }
            Finder::Leaves(place_of) => {
                let leaf = canonical(self.column_type, text)?;
                place_of.get(&leaf).copied()
            }
        }
    }
}

fn not_a(kind: ColumnType) -> ScaleProblem {
    problem(format!("has an end that is no {kind}"), "write for example equal:0..100:4")
}

/// The narrowest type that both ends have.
fn type_of_ends(lo: &str, hi: &str) -> Option<ColumnType> {
    let fits = |kind: ColumnType, text: &str| match kind {
        ColumnType::Float => parse_float(text.as_bytes()).is_ok(),
        _ => ticks_of(kind, text).is_some(),
    };
    let kinds = [ColumnType::Integer, ColumnType::Float, ColumnType::Date, ColumnType::Timestamp];
    kinds.into_iter().find(|&kind| fits(kind, lo) && fits(kind, hi))
}

/// The ticks of a text, and how such are written.
fn ticks_of(kind: ColumnType, text: &str) -> Option<(i64, TickFormat)> {
    let cell = text.as_bytes();
    match kind {
        ColumnType::Integer => Some((parse_integer(cell).ok()?, TickFormat::Integer)),
        ColumnType::Date => Some((parse_date(cell).ok()?, TickFormat::Date)),
        ColumnType::Timestamp => {
            let (ticks, zoned) = parse_timestamp(cell).ok()?;
            Some((ticks, TickFormat::Timestamp { zoned }))
        }
        _ => None,
    }
}

fn of_ticks(
    (lo, hi): (i64, i64),
    n_bits: u32,
    column_type: ColumnType,
    format: TickFormat,
) -> FixedScale {
    let length = i128::from(hi) - i128::from(lo) + 1;
    // The first place of a cell; cells beyond the length of the line hold nothing.
    let start = |cell: i128| (cell * length + (1 << n_bits) - 1) >> n_bits;
    let cells = 1..=i128::from(cell_on_line(length - 1, length, n_bits));
    let starts = cells.map(start).filter(|&place| place < length);
    let mut starts: Vec<i64> = starts.map(|place| (i128::from(lo) + place) as i64).collect();
    starts.dedup();
    let text = |ticks: i64| format.text(ticks);
    let mut labels = Vec::with_capacity(starts.len() + 1);
    labels.extend(starts.first().map(|&end| format!("(-inf, {}]", text(end - 1))));
    for pair in starts.windows(2) {
        labels.push(match pair[1] - 1 {
            last if last == pair[0] => text(last),
            last => format!("[{}, {}]", text(pair[0]), text(last)),
        });
    }
    labels.extend(starts.last().map(|&first| format!("[{}, inf)", text(first))));
    FixedScale { column_type, labels, finder: Finder::Ticks { starts, format } }
}

fn of_floats((lo, hi): (f64, f64), n_bits: u32) -> FixedScale {
    let n_cells = 1u32 << n_bits;
    let start = |cell: u32| lo + (hi - lo) * (f64::from(cell) / f64::from(n_cells));
    let mut starts: Vec<f64> = (1..n_cells).map(start).filter(|&at| lo < at && at < hi).collect();
    starts.dedup();
    let mut labels = Vec::with_capacity(starts.len() + 1);
    labels.extend(starts.first().map(|&end| format!("(-inf, {})", float_text(end))));
    let texts = |pair: &[f64]| format!("[{}, {})", float_text(pair[0]), float_text(pair[1]));
    labels.extend(starts.windows(2).map(texts));
    labels.extend(starts.last().map(|&first| format!("[{}, inf)", float_text(first))));
    FixedScale { column_type: ColumnType::Float, labels, finder: Finder::Floats(starts) }
}

#[cfg(test)]
mod tests;
