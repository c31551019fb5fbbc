//! What the cells of one quasi-identifier lose, by what is published.
//!
//! | cell | loses |
//! | --- | --- |
//! | `[lo, hi]` | (hi - lo) / (greatest - least published end of the column) |
//! | a set | (members - 1) / (names that occur in the column - 1) |
//! | a label of a file | (leaves below - 1) / (leaves of the file - 1) |
//! | a label of a built-in hierarchy | its level / the height, both told by the text |
//! | places, from lo to hi | as `[lo, hi]`, whatever they stand for |
//! | a value, or only the missing one | 0 |
//! | `*`, and an interval, a label or places with the missing value | 1 |

use albers_classes::Attribute;
use albers_classes::space::Shown;
use albers_release::describe::{CellContent, PlaceEnd, PlaceNumbers};
use albers_release::{Describer, ShownCell};
use albers_table::domain::OrderedValue;
use albers_table::exact_sum::ExactSum;
use albers_table::hierarchy::{Hierarchy, HierarchySpec, Node};
use rustc_hash::FxHashMap;

use crate::loss::times;

/// The label of any value.
const ANY: &str = "*";

/// What the cells of some classes add up to.
pub(super) struct ColumnSums {
    /// Rows whose cell shows nothing.
    n_any: u64,
    cells: Cells,
}

/// By how cells are shown.
enum Cells {
    Intervals(Option<Ends>),
    Sets {
        /// Members beyond the first, row by row.
        n_more: u128,
        /// Whether each code occurs.
        occurs: Vec<bool>,
    },
    /// Rows by label.
    Labels(FxHashMap<Node, u64>),
    /// Rows by the ends of their places: those that end there less those that begin there.
    Places(FxHashMap<PlaceEnd, i128>),
}

/// The ends of intervals: the least and the greatest, and the lengths of all rows.
enum Ends {
    Ticks { min: i64, max: i64, length: i128 },
    Floats { min: f64, max: f64, length: Box<ExactSum> },
}

impl ColumnSums {
    /// Of no class yet.
    pub(super) fn zero(attribute: &Attribute, shows_places: bool) -> ColumnSums {
        let cells = match attribute.shown {
            Shown::Set | Shown::Label if shows_places => Cells::Places(FxHashMap::default()),
            Shown::Interval => Cells::Intervals(None),
            Shown::Set => Cells::Sets { n_more: 0, occurs: Vec::new() },
            Shown::Label => Cells::Labels(FxHashMap::default()),
        };
        ColumnSums { n_any: 0, cells }
    }

    /// How many values its cells list, where they are sets.
    pub(super) fn n_listed(&self) -> Option<u64> {
        match &self.cells {
            Cells::Sets { occurs, .. } => Some(occurs.iter().filter(|&&own| own).count() as u64),
            Cells::Intervals(_) | Cells::Labels(_) | Cells::Places(_) => None,
        }
    }

    /// Adds the cell of a class of so many rows.
    pub(super) fn add(&mut self, describer: &Describer<'_>, cell: ShownCell, n_rows: u64) {
        if let Cells::Places(rows) = &mut self.cells {
            let Some((lo, hi)) = describer.place_ends(cell) else { return };
            let is_any = describer.tells_of_missing(cell);
            let n_shown = if is_any { 0 } else { i128::from(n_rows) };
            *rows.entry(lo).or_insert(0) -= n_shown;
            *rows.entry(hi).or_insert(0) += n_shown;
            self.n_any += if is_any { n_rows } else { 0 };
            return;
        }
        match (describer.content(cell), &mut self.cells) {
            (CellContent::Interval { with_missing, .. }, Cells::Intervals(ends)) => {
                let (n_any, n_rows) = if with_missing { (n_rows, 0) } else { (0, n_rows) };
                if let Some((lo, hi)) = describer.ends(cell) {
                    ends.get_or_insert_with(|| Ends::none_from(lo, hi)).add(lo, hi, n_rows);
                }
                self.n_any += n_any;
            }
            (CellContent::Set(codes), Cells::Sets { n_more, occurs }) => {
                *n_more += times(n_rows, codes.len().saturating_sub(1) as u64);
                let n_codes = codes.last().map_or(0, |last| last.index() + 1);
                occurs.resize(occurs.len().max(n_codes), false);
                codes.iter().for_each(|code| occurs[code.index()] = true);
            }
            (CellContent::Label { node, with_missing: false }, Cells::Labels(rows)) => {
                *rows.entry(node).or_insert(0) += n_rows;
            }
            (CellContent::Label { with_missing: true, .. } | CellContent::Everything, _) => {
                self.n_any += n_rows;
            }
            // A missing value is shown as it is, and cells are as their attribute is shown.
            _ => {}
        }
    }

    /// Adds the cells of other classes.
    pub(super) fn merge(&mut self, other: ColumnSums) {
        self.n_any += other.n_any;
        match (&mut self.cells, other.cells) {
            (Cells::Intervals(ends), Cells::Intervals(more)) => Ends::merge(ends, more),
            (Cells::Sets { n_more, occurs }, Cells::Sets { n_more: more, occurs: others }) => {
                *n_more += more;
                occurs.resize(occurs.len().max(others.len()), false);
                occurs.iter_mut().zip(others).for_each(|(own, other)| *own |= other);
            }
            (Cells::Labels(rows), Cells::Labels(others)) => {
                others.into_iter().for_each(|(node, n)| *rows.entry(node).or_insert(0) += n);
            }
            (Cells::Places(rows), Cells::Places(others)) => {
                others.into_iter().for_each(|(end, n)| *rows.entry(end).or_insert(0) += n);
            }
            _ => unreachable!("a column is shown in one way"),
        }
    }

    /// The sum of what all rows lose.
    pub(super) fn lost(&self, attribute: &Attribute, spec: Option<&HierarchySpec>) -> f64 {
        let shares = match &self.cells {
            Cells::Intervals(ends) => ends.as_ref().map_or(0.0, Ends::share),
            Cells::Sets { n_more, occurs } => {
                let n_names = occurs.iter().filter(|&&occurs| occurs).count();
                share(*n_more, (n_names as u64).saturating_sub(1))
            }
            Cells::Labels(rows) => match attribute.domain.hierarchy() {
                Some(hierarchy) => labels_share(hierarchy, spec, rows),
                None => 0.0,
            },
            Cells::Places(rows) => places_share(attribute, rows),
        };
        shares + self.n_any as f64
    }
}

/// So many steps by a length; nothing where there is no length.
fn share(n_steps: u128, length: u64) -> f64 {
    if length == 0 { 0.0 } else { n_steps as f64 / length as f64 }
}

/// What rows lose by their places.
fn places_share(attribute: &Attribute, rows: &FxHashMap<PlaceEnd, i128>) -> f64 {
    let numbers = PlaceNumbers::of(attribute, rows.keys().copied());
    let (mut least, mut greatest, mut length) = (i64::MAX, i64::MIN, 0);
    for (&end, n_rows) in rows {
        let number = numbers.number(end);
        (least, greatest) = (least.min(number), greatest.max(number));
        length += i128::from(number) * n_rows;
    }
    if greatest > least { length as f64 / (greatest - least) as f64 } else { 0.0 }
}

/// What rows lose by their labels.
fn labels_share(
    hierarchy: &Hierarchy,
    spec: Option<&HierarchySpec>,
    rows: &FxHashMap<Node, u64>,
) -> f64 {
    let is_any = |node: &Node| node.level > 0 && hierarchy.label(*node) == ANY;
    let n_any: u64 = rows.iter().filter(|(node, _)| is_any(node)).map(|(_, &n)| n).sum();
    let others = rows.iter().filter(|(node, _)| !is_any(node));
    let sum = |steps: &dyn Fn(&Node) -> u64| -> u128 {
        others.clone().map(|(node, &n_rows)| times(n_rows, steps(node))).sum()
    };
    let shares = match spec.map(HierarchySpec::whole) {
        Some(HierarchySpec::Prefix) => {
            let label = |node: &Node| hierarchy.label(*node);
            let longest = others.clone().map(|(node, _)| label(node).chars().count() as u64).max();
            // A label of n characters ends in a star, which stands for at least one more.
            let length = longest.unwrap_or(0);
            let cut = |node: &Node| {
                let n_chars = label(node).chars().count() as u64;
                if label(node).ends_with(ANY) { length + 1 - n_chars } else { 0 }
            };
            share(sum(&cut), length)
        }
        Some(HierarchySpec::Dates(levels)) => {
            // Above the day, up to any value. A time that is shown as its day loses nothing: where
            // coarser labels are shown nobody sees whether there were times.
            let n_levels = levels.above_day().len() as u64 + 1;
            let up_to_day = (hierarchy.height() as u64).saturating_sub(n_levels);
            let level = |node: &Node| lowest_level(hierarchy, node).saturating_sub(up_to_day);
            share(sum(&level), n_levels)
        }
        Some(HierarchySpec::Ranges(_) | HierarchySpec::Suppress) => {
            share(sum(&|node| lowest_level(hierarchy, node)), hierarchy.height() as u64)
        }
        Some(HierarchySpec::File(_) | HierarchySpec::Rows(_) | HierarchySpec::AtLeast(..))
        | None => {
            let n_more = |node: &Node| hierarchy.leaves_of(*node).len().saturating_sub(1) as u64;
            share(sum(&n_more), u64::from(hierarchy.n_leaves()).saturating_sub(1))
        }
    };
    shares + n_any as f64
}

/// The level of a label, which is all that its text tells: a value that stands alone below a label
/// of the same text is that value.
fn lowest_level(hierarchy: &Hierarchy, node: &Node) -> u64 {
    let named = hierarchy.node_by_label(hierarchy.label(*node));
    named.map_or(node.level, |named| named.level) as u64
}

impl Ends {
    /// Of no row yet, between these ends.
    fn none_from(lo: OrderedValue, hi: OrderedValue) -> Ends {
        match (lo, hi) {
            (OrderedValue::Ticks(min), OrderedValue::Ticks(max)) => {
                Ends::Ticks { min, max, length: 0 }
            }
            (OrderedValue::Float(min), OrderedValue::Float(max)) => {
                Ends::Floats { min, max, length: Box::new(ExactSum::zero()) }
            }
            _ => unreachable!("the values of a column are of one kind"),
        }
    }

    /// Adds a cell that so many rows show.
    fn add(&mut self, lo: OrderedValue, hi: OrderedValue, n_rows: u64) {
        match (self, lo, hi) {
            (
                Ends::Ticks { min, max, length },
                OrderedValue::Ticks(lo),
                OrderedValue::Ticks(hi),
            ) => {
                (*min, *max) = ((*min).min(lo), (*max).max(hi));
                *length += i128::from(n_rows) * (i128::from(hi) - i128::from(lo));
            }
            (
                Ends::Floats { min, max, length },
                OrderedValue::Float(lo),
                OrderedValue::Float(hi),
            ) => {
                (*min, *max) = (min.min(lo), max.max(hi));
                length.add(hi, n_rows);
                length.subtract(lo, n_rows);
            }
            _ => unreachable!("the values of a column are of one kind"),
        }
    }

    fn merge(ends: &mut Option<Ends>, other: Option<Ends>) {
        match (ends, other) {
            (_, None) => {}
            (ends @ None, other) => *ends = other,
            (
                Some(Ends::Ticks { min, max, length }),
                Some(Ends::Ticks { min: lo, max: hi, length: more }),
            ) => {
                (*min, *max) = ((*min).min(lo), (*max).max(hi));
                *length += more;
            }
            (
                Some(Ends::Floats { min, max, length }),
                Some(Ends::Floats { min: lo, max: hi, length: more }),
            ) => {
                (*min, *max) = (min.min(lo), max.max(hi));
                length.merge(&more);
            }
            _ => unreachable!("the values of a column are of one kind"),
        }
    }

    /// The lengths of all rows over that of what is published.
    fn share(&self) -> f64 {
        match self {
            Ends::Ticks { min, max, length } => {
                let whole = i128::from(*max) - i128::from(*min);
                if whole == 0 { 0.0 } else { *length as f64 / whole as f64 }
            }
            // Half of both, since the length of all floats is more than a float holds.
            Ends::Floats { min, max, length } => match max / 2.0 - min / 2.0 {
                0.0 => 0.0,
                half => length.over(half) / 2.0,
            },
        }
    }
}
