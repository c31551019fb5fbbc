//! Values to ordered codes and back.
//!
//! Every column that an algorithm looks at becomes a column of `u32` codes whose order is the order
//! of its values, so that boxes, ranges, hierarchy nodes and sets are all intervals of codes:
//!
//! ```text
//!   ordered, near      code = value - least value                        (ages, dates, cents)
//!   ordered, far       code = the value's place on a scale of 2^30 steps (floats, wide numbers)
//!   category           code = place among the sorted names
//!   with a hierarchy   code = place of the leaf in depth-first order
//! ```
//!
//! Codes of ordered values keep distances (exactly when near, to one part in 2^30 when far), so
//! that the length of a code interval is its loss. What is published is always an exact value: that
//! of a row, or at the end of a region a round one that lies between the values of rows. A missing
//! value is a code of its own: for ordered values it lies a whole domain's length below the least
//! value, which makes any interval that mixes it with others lose everything; for categories it is
//! the last code.

mod locate;
pub(crate) mod occupancy;
mod round;
mod ruler;
pub(crate) mod scale;
pub(crate) mod sorted;

use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};

use crate::code::Code;
use crate::hierarchy::Hierarchy;
use crate::schema::ColumnType;
use crate::value::{self, TickFormat};

pub use locate::{End, OrderedValue};
pub use ruler::Ruler;

use occupancy::Occupancy;
use scale::{Grid, Scale};

/// The values of one column and their codes.
#[derive(Clone)]
pub struct Domain {
    pub(crate) name: String,
    pub(crate) column_type: ColumnType,
    pub(crate) data_type: Option<DataType>,
    pub(crate) kind: DomainKind,
    pub(crate) n_missing: u64,
    /// Values of a category that one row has each, where rows were counted.
    pub(crate) n_single: Option<u64>,
}

/// How a domain's codes come about.
#[derive(Clone)]
pub(crate) enum DomainKind {
    /// Ordered values whose code is their distance from the least.
    Near { min: i64, max: i64, first_code: Code, format: TickFormat, occupancy: Occupancy },
    /// Ordered values that lie far apart.
    Far { scale: Arc<Scale>, first_code: Code },
    /// Names in their natural order, with the number that each stands for where it is one.
    Names { names: Vec<String>, numbers: Option<Vec<f64>> },
    /// The leaves of a hierarchy.
    Tree { hierarchy: Hierarchy, numbers: Option<Vec<f64>> },
}

impl Domain {
    /// The column's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of the values.
    pub fn column_type(&self) -> ColumnType {
        self.column_type
    }

    /// The column's type in the typed file it came from.
    pub fn data_type(&self) -> Option<&DataType> {
        self.data_type.as_ref()
    }

    /// How many cells are missing.
    pub fn n_missing(&self) -> u64 {
        self.n_missing
    }

    /// The same domain, of rows of which so many are missing. A domain that has lost all of them keeps
    /// the place of their code, but nothing has it.
    ///
    /// # Panics
    /// When a domain without a code for them is to have some.
    pub fn with_missing(mut self, n_missing: u64) -> Domain {
        assert!(n_missing == 0 || self.n_missing > 0, "missing values have a code");
        self.n_missing = n_missing;
        self
    }

    /// How many values of a category one row has each, where rows were counted.
    pub fn n_single(&self) -> Option<u64> {
        self.n_single
    }

    /// The code of a missing cell, if there is any.
    pub fn missing_code(&self) -> Option<Code> {
        (self.n_missing > 0).then(|| match &self.kind {
            DomainKind::Near { .. } | DomainKind::Far { .. } => Code::ZERO,
            DomainKind::Names { names, .. } => Code::of_index(names.len()),
            DomainKind::Tree { hierarchy, .. } => hierarchy.leaves_end(),
        })
    }

    /// The code of the least value of an ordered domain, 0 of any other.
    pub(crate) fn first_code(&self) -> Code {
        match &self.kind {
            DomainKind::Near { first_code, .. } | DomainKind::Far { first_code, .. } => *first_code,
            DomainKind::Names { .. } | DomainKind::Tree { .. } => Code::ZERO,
        }
    }

    /// Whether codes are points on a line, so that an interval describes a class.
    pub fn is_ordered(&self) -> bool {
        matches!(self.kind, DomainKind::Near { .. } | DomainKind::Far { .. })
    }

    /// The hierarchy whose leaves the codes are.
    pub fn hierarchy(&self) -> Option<&Hierarchy> {
        match &self.kind {
            DomainKind::Tree { hierarchy, .. } => Some(hierarchy),
            _ => None,
        }
    }

    /// The codes of all values that occur, ascending, where they lie far apart.
    pub fn far_codes(&self) -> Option<impl Iterator<Item = Code>> {
        match &self.kind {
            DomainKind::Far { scale, first_code } => {
                Some(scale.codes().iter().map(|&code| *first_code + code))
            }
            _ => None,
        }
    }

    /// The interval of all codes, the missing one left out.
    pub fn code_range(&self) -> (Code, Code) {
        match &self.kind {
            DomainKind::Near { min, max, first_code, .. } => {
                (*first_code, *first_code + max.abs_diff(*min) as u32)
            }
            DomainKind::Far { scale, first_code } => (*first_code, *first_code + scale.length()),
            DomainKind::Names { names, .. } => {
                (Code::ZERO, Code::of_index(names.len().saturating_sub(1)))
            }
            DomainKind::Tree { hierarchy, .. } => {
                (Code::ZERO, Code::new(hierarchy.n_leaves().saturating_sub(1)))
            }
        }
    }

    /// The greatest of all codes, the missing one included.
    pub fn greatest_code(&self) -> Code {
        self.code_range().1.max(self.missing_code().unwrap_or(Code::ZERO))
    }

    /// How many values a category can have: the leaves, or the names, and the missing value if it
    /// occurs. For an ordered domain: how many distinct values occur.
    pub fn n_values(&self) -> u64 {
        let (lo, hi) = self.code_range();
        let missing = u64::from(self.n_missing > 0);
        match &self.kind {
            DomainKind::Names { names, .. } => names.len() as u64 + missing,
            DomainKind::Tree { hierarchy, .. } => u64::from(hierarchy.n_leaves()) + missing,
            DomainKind::Near { .. } | DomainKind::Far { .. } => {
                self.n_distinct_between(lo, hi) + missing
            }
        }
    }

    /// How many values of the domain have codes in `lo..=hi`, the missing one left out: values
    /// that occur for ordered domains, all values for categories.
    pub fn n_distinct_between(&self, lo: Code, hi: Code) -> u64 {
        match &self.kind {
            DomainKind::Near { first_code, occupancy, .. } => {
                if hi < *first_code {
                    return 0;
                }
                let below = |n_steps: u32| occupancy.n_below(n_steps);
                below(hi - *first_code + 1) - below(lo.max(*first_code) - *first_code)
            }
            DomainKind::Far { scale, first_code } => {
                if hi < *first_code {
                    return 0;
                }
                scale.n_between(lo.max(*first_code) - *first_code, hi - *first_code)
            }
            DomainKind::Names { .. } | DomainKind::Tree { .. } => {
                let (_, last) = self.code_range();
                u64::from(hi.min(last).get() + 1).saturating_sub(u64::from(lo.get()))
            }
        }
    }

    /// What an ordered class from code `lo` to `hi` loses, from 0 to 1.
    pub fn interval_loss(&self, lo: Code, hi: Code) -> f64 {
        if lo == hi {
            return 0.0;
        }
        if self.missing_code() == Some(lo) {
            return 1.0;
        }
        match &self.kind {
            DomainKind::Near { min, max, .. } => f64::from(hi - lo) / max.abs_diff(*min) as f64,
            DomainKind::Far { scale, first_code } => {
                scale.distance(lo - *first_code, hi - *first_code)
            }
            DomainKind::Names { .. } | DomainKind::Tree { .. } => {
                f64::from(hi - lo) / (self.n_values().max(2) - 1) as f64
            }
        }
    }

    /// The length of the domain in steps, of which intervals and categories lose whole numbers:
    /// ticks where the domain counts in ticks, 2^63 for floats, values beyond the first for
    /// categories.
    pub fn n_steps(&self) -> u64 {
        match &self.kind {
            DomainKind::Near { min, max, .. } => max.abs_diff(*min).max(1),
            DomainKind::Far { scale, .. } => scale.n_steps(),
            DomainKind::Names { .. } | DomainKind::Tree { .. } => self.n_values().max(2) - 1,
        }
    }

    /// The steps from code `lo` to code `hi`; neither is the missing one.
    pub fn interval_steps(&self, lo: Code, hi: Code) -> u64 {
        match &self.kind {
            DomainKind::Far { scale, first_code } => {
                scale.steps(lo - *first_code, hi - *first_code)
            }
            _ => u64::from(hi - lo),
        }
    }

    /// The ticks that an ordered code stands for, where the domain counts in ticks.
    pub fn ticks(&self, code: Code) -> Option<i64> {
        match &self.kind {
            DomainKind::Near { min, first_code, .. } => {
                Some(min.wrapping_add(i64::from(code - *first_code)))
            }
            DomainKind::Far { scale, first_code } => scale.ticks(code - *first_code),
            _ => None,
        }
    }

    /// The floating-point number that an ordered code stands for, where the domain holds such.
    pub fn float(&self, code: Code) -> Option<f64> {
        match &self.kind {
            DomainKind::Far { scale, first_code } => scale.float(code - *first_code),
            _ => None,
        }
    }

    /// How ticks of this domain are written.
    pub fn tick_format(&self) -> Option<TickFormat> {
        match &self.kind {
            DomainKind::Near { format, .. } => Some(*format),
            DomainKind::Far { scale, .. } => scale.format(),
            _ => None,
        }
    }

    /// The name of a category's code.
    pub fn category(&self, code: Code) -> Option<&str> {
        match &self.kind {
            DomainKind::Names { names, .. } => names.get(code.index()).map(String::as_str),
            DomainKind::Tree { hierarchy, .. } => {
                (code < hierarchy.leaves_end()).then(|| hierarchy.leaf(code))
            }
            _ => None,
        }
    }

    /// The names of a category and their codes, in the order of the codes.
    pub fn categories(&self) -> impl Iterator<Item = (Code, &str)> {
        (0..).map(Code::new).map_while(|code| Some((code, self.category(code)?)))
    }

    /// The number that each category stands for, where the column holds numbers.
    pub fn numbers(&self) -> Option<&[f64]> {
        match &self.kind {
            DomainKind::Names { numbers, .. } | DomainKind::Tree { numbers, .. } => {
                numbers.as_deref()
            }
            _ => None,
        }
    }

    /// Writes the value of a code at the end of `out`; nothing for the missing code.
    pub fn write_value(&self, code: Code, out: &mut String) {
        if self.missing_code() == Some(code) {
            return;
        }
        if let Some(name) = self.category(code) {
            out.push_str(name);
        } else if let Some(value) = self.value(code) {
            self.write_ordered(value, out);
        }
    }

    /// The value of a code, where values are ordered and the code is not the missing one.
    pub fn value(&self, code: Code) -> Option<OrderedValue> {
        let ticks = self.ticks(code).map(OrderedValue::Ticks);
        ticks.or_else(|| self.float(code).map(OrderedValue::Float))
    }

    /// Writes an ordered value at the end of `out`.
    pub fn write_ordered(&self, value: OrderedValue, out: &mut String) {
        match (value, self.tick_format()) {
            (OrderedValue::Ticks(ticks), Some(format)) => format.write(ticks, out),
            (OrderedValue::Ticks(_), None) => {}
            (OrderedValue::Float(number), _) => value::write_float(number, out),
        }
    }

    /// The values that the column can hold.
    fn grid(&self) -> Grid {
        let is_time = matches!(self.tick_format(), Some(TickFormat::Timestamp { .. }));
        let unit = match &self.data_type {
            Some(DataType::Timestamp(TimeUnit::Second, _)) if is_time => 1_000_000,
            Some(DataType::Timestamp(TimeUnit::Millisecond, _)) if is_time => 1_000,
            _ => 1,
        };
        Grid { unit, is_single: self.data_type == Some(DataType::Float32) }
    }
}
