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
mod occupancy;
mod round;
mod ruler;
mod scale;
mod survey;

use std::sync::Arc;

use albers_storage::wording;
use albers_storage::wording::Field;
use arrow_schema::{DataType, TimeUnit};

use crate::chunk::{Cells, ColumnChunk, TickUnit};
use crate::hierarchy::{Hierarchy, HierarchySpec};
use crate::schema::ColumnType;
use crate::value::{self, TickFormat};
use crate::{Result, TableError};

pub use locate::{End, OrderedValue};
pub use ruler::Ruler;

pub use survey::{ChunkSurvey, ColumnCoder, ColumnSurvey, Look};

use occupancy::Occupancy;
use scale::{Grid, Scale};

/// The values of one column and their codes.
#[derive(Clone)]
pub struct Domain {
    name: String,
    column_type: ColumnType,
    data_type: Option<DataType>,
    kind: DomainKind,
    n_missing: u64,
}

/// How a domain's codes come about.
#[derive(Clone)]
enum DomainKind {
    /// Ordered values whose code is their distance from the least.
    Near { min: i64, max: i64, first_code: u32, format: TickFormat, occupancy: Occupancy },
    /// Ordered values that lie far apart.
    Far { scale: Arc<Scale>, first_code: u32 },
    /// Names in their natural order, with the number that each stands for where it is one.
    Names { names: Vec<String>, numbers: Option<Vec<f64>> },
    /// The leaves of a hierarchy.
    Tree { hierarchy: Hierarchy, numbers: Option<Vec<f64>> },
}

/// How a column is to be coded.
#[derive(Debug, Clone, Copy)]
pub enum Coding<'a> {
    /// As points on a line; for ordered types only.
    Ordered,
    /// As names in natural order, or as the leaves of a hierarchy.
    Categories {
        /// The hierarchy, if there is one.
        hierarchy: Option<&'a HierarchySpec>,
        /// Whether siblings may be reordered so that frequent values come first.
        by_frequency: bool,
    },
}

/// A column as read, before it is coded.
pub struct RawColumn {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub column_type: ColumnType,
    /// Its type in a typed file.
    pub data_type: Option<DataType>,
    /// Its cells, in file order.
    pub chunks: Vec<ColumnChunk>,
}

/// A column of codes, chunk by chunk as it was read.
pub struct CodedColumn {
    /// What the codes mean.
    pub domain: Domain,
    /// The codes of each chunk.
    pub codes: Vec<Vec<u32>>,
}

/// Turns a column of cells into a column of codes.
pub fn encode(mut column: RawColumn, coding: Coding<'_>) -> Result<CodedColumn> {
    let n_missing = column.chunks.iter().map(|chunk| chunk.missing.len() as u64).sum();
    bring_units_together(&mut column)?;
    let (kind, codes) = match coding {
        Coding::Ordered => encode_ordered(&mut column, n_missing > 0)?,
        Coding::Categories { hierarchy, by_frequency } => {
            encode_categories(&mut column, hierarchy, by_frequency)?
        }
    };
    let RawColumn { name, column_type, data_type, .. } = column;
    let domain = Domain { name, column_type, data_type, kind, n_missing };
    Ok(CodedColumn { domain, codes })
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

    /// The code of a missing cell, if there is any.
    pub fn missing_code(&self) -> Option<u32> {
        (self.n_missing > 0).then(|| match &self.kind {
            DomainKind::Near { .. } | DomainKind::Far { .. } => 0,
            DomainKind::Names { names, .. } => names.len() as u32,
            DomainKind::Tree { hierarchy, .. } => hierarchy.n_leaves(),
        })
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

    /// The interval of all codes, the missing one left out.
    pub fn code_range(&self) -> (u32, u32) {
        match &self.kind {
            DomainKind::Near { min, max, first_code, .. } => {
                (*first_code, first_code + max.abs_diff(*min) as u32)
            }
            DomainKind::Far { scale, first_code } => (*first_code, first_code + scale.length()),
            DomainKind::Names { names, .. } => (0, (names.len() as u32).saturating_sub(1)),
            DomainKind::Tree { hierarchy, .. } => (0, hierarchy.n_leaves().saturating_sub(1)),
        }
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
    pub fn n_distinct_between(&self, lo: u32, hi: u32) -> u64 {
        match &self.kind {
            DomainKind::Near { first_code, occupancy, .. } => {
                if hi < *first_code {
                    return 0;
                }
                let below = |code: u32| occupancy.n_below(code);
                below(hi - first_code + 1) - below(lo.max(*first_code) - first_code)
            }
            DomainKind::Far { scale, first_code } => {
                if hi < *first_code {
                    return 0;
                }
                scale.n_between(lo.max(*first_code) - first_code, hi - first_code)
            }
            DomainKind::Names { .. } | DomainKind::Tree { .. } => {
                let (_, last) = self.code_range();
                u64::from(hi.min(last) + 1).saturating_sub(u64::from(lo))
            }
        }
    }

    /// What an ordered class from code `lo` to `hi` loses, from 0 to 1.
    pub fn interval_loss(&self, lo: u32, hi: u32) -> f64 {
        if lo == hi {
            return 0.0;
        }
        if self.missing_code() == Some(lo) {
            return 1.0;
        }
        match &self.kind {
            DomainKind::Near { min, max, .. } => f64::from(hi - lo) / max.abs_diff(*min) as f64,
            DomainKind::Far { scale, first_code } => {
                scale.distance(lo - first_code, hi - first_code)
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
    pub fn interval_steps(&self, lo: u32, hi: u32) -> u64 {
        match &self.kind {
            DomainKind::Far { scale, first_code } => scale.steps(lo - first_code, hi - first_code),
            _ => u64::from(hi - lo),
        }
    }

    /// The ticks that an ordered code stands for, where the domain counts in ticks.
    pub fn ticks(&self, code: u32) -> Option<i64> {
        match &self.kind {
            DomainKind::Near { min, first_code, .. } => {
                Some(min.wrapping_add(i64::from(code - first_code)))
            }
            DomainKind::Far { scale, first_code } => scale.ticks(code - first_code),
            _ => None,
        }
    }

    /// The floating-point number that an ordered code stands for, where the domain holds such.
    pub fn float(&self, code: u32) -> Option<f64> {
        match &self.kind {
            DomainKind::Far { scale, first_code } => scale.float(code - first_code),
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
    pub fn category(&self, code: u32) -> Option<&str> {
        match &self.kind {
            DomainKind::Names { names, .. } => names.get(code as usize).map(String::as_str),
            DomainKind::Tree { hierarchy, .. } => {
                (code < hierarchy.n_leaves()).then(|| hierarchy.leaf(code))
            }
            _ => None,
        }
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
    pub fn write_value(&self, code: u32, out: &mut String) {
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
    pub fn value(&self, code: u32) -> Option<OrderedValue> {
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

/// The encoded form of an ordered column: near if the values allow it, far otherwise.
fn encode_ordered(
    column: &mut RawColumn,
    has_missing: bool,
) -> Result<(DomainKind, Vec<Vec<u32>>)> {
    assert!(column.column_type.is_ordered(), "only ordered types are coded as points on a line");
    let (min, max) = tick_bounds(&column.chunks).unwrap_or((0, 0));
    let is_near = !matches!(column.chunks.first().map(|c| &c.cells), Some(Cells::Floats(_)))
        && max.abs_diff(min) < u64::from(scale::LONGEST);
    if !is_near {
        let (scale, codes) = Scale::build(&column.chunks, tick_format(column), has_missing);
        let first_code = if has_missing { scale.length() + 1 } else { 0 };
        return Ok((DomainKind::Far { scale: Arc::new(scale), first_code }, codes));
    }
    let length = max.abs_diff(min) as u32;
    let first_code = if has_missing { length + 1 } else { 0 };
    let format = tick_format(column).expect("ticks have a format");
    let mut codes: Vec<Vec<u32>> = Vec::with_capacity(column.chunks.len());
    let mut occupancy = occupancy::Builder::new(length);
    for chunk in column.chunks.drain(..) {
        let mut of_chunk = match chunk.cells {
            Cells::Ticks { base, mut offsets, .. } => {
                let shift = base.wrapping_sub(min) as u32;
                offsets.iter_mut().for_each(|offset| *offset = offset.wrapping_add(shift));
                offsets
            }
            Cells::WideTicks { ticks, .. } => {
                ticks.iter().map(|tick| tick.wrapping_sub(min) as u32).collect()
            }
            Cells::Floats(_) | Cells::Names { .. } => unreachable!("checked by is_near"),
        };
        occupancy.add(&of_chunk, &chunk.missing);
        if has_missing {
            of_chunk.iter_mut().for_each(|code| *code = code.wrapping_add(first_code));
            chunk.missing.iter().for_each(|&row| of_chunk[row as usize] = 0);
        }
        codes.push(of_chunk);
    }
    let occupancy = occupancy.finish();
    Ok((DomainKind::Near { min, max, first_code, format, occupancy }, codes))
}

/// The least and the greatest ticks, missing cells left out.
fn tick_bounds(chunks: &[ColumnChunk]) -> Option<(i64, i64)> {
    let mut bounds: Option<(i64, i64)> = None;
    for chunk in chunks {
        if chunk.missing.len() == chunk.n_rows() {
            continue;
        }
        // A missing cell of a chunk with values holds the chunk's least value.
        let (min, max) = match &chunk.cells {
            Cells::Ticks { base, offsets, .. } => {
                let greatest = offsets.iter().copied().max().unwrap_or(0);
                (*base, base.wrapping_add(i64::from(greatest)))
            }
            Cells::WideTicks { ticks, .. } => {
                (ticks.iter().copied().min()?, ticks.iter().copied().max()?)
            }
            Cells::Floats(_) | Cells::Names { .. } => return None,
        };
        bounds = Some(bounds.map_or((min, max), |(a, b)| (a.min(min), b.max(max))));
    }
    bounds
}

fn tick_format(column: &RawColumn) -> Option<TickFormat> {
    column.chunks.iter().find_map(|chunk| match &chunk.cells {
        Cells::Ticks { unit, .. } | Cells::WideTicks { unit, .. } => Some(unit.format()),
        Cells::Floats(_) | Cells::Names { .. } => None,
    })
}

/// Gives all chunks of a decimal column the same number of digits after the point, and refuses
/// times of which only some carry an offset.
fn bring_units_together(column: &mut RawColumn) -> Result<()> {
    let mut widest_scale = 0;
    let mut zoned_seen = [false; 2];
    for chunk in &column.chunks {
        match &chunk.cells {
            Cells::Ticks { unit, .. } | Cells::WideTicks { unit, .. } => match unit {
                TickUnit::Decimal(scale) => widest_scale = widest_scale.max(*scale),
                TickUnit::Timestamp { zoned } if chunk.missing.len() < chunk.n_rows() => {
                    zoned_seen[usize::from(*zoned)] = true;
                }
                _ => {}
            },
            Cells::Floats(_) | Cells::Names { .. } => {}
        }
    }
    if zoned_seen == [true, true] {
        return Err(only_some_offsets(&column.name));
    }
    for chunk in &mut column.chunks {
        rescale(chunk, widest_scale).ok_or_else(|| too_wide(&column.name))?;
    }
    Ok(())
}

fn only_some_offsets(column: &str) -> TableError {
    TableError::Column {
        column: column.to_owned(),
        problem: "only some of its times carry an offset".to_owned(),
        hint: "write all of them with an offset, or none".into(),
    }
}

fn too_wide(column: &str) -> TableError {
    TableError::Column {
        column: column.to_owned(),
        problem: "its numbers do not fit in 64 bits at their longest fraction".to_owned(),
        hint: wording!["read the column with ", Field::Type.of_column(column, "float")],
    }
}

fn rescale(chunk: &mut ColumnChunk, scale: u8) -> Option<()> {
    let ticks: Vec<i64> = match &chunk.cells {
        Cells::Ticks { unit: TickUnit::Decimal(own), .. } if *own == scale => return Some(()),
        Cells::Ticks { unit: TickUnit::Decimal(own), base, offsets } => {
            let factor = 10i64.checked_pow(u32::from(scale - own))?;
            let ticks = offsets
                .iter()
                .map(|&offset| base.checked_add(i64::from(offset))?.checked_mul(factor));
            ticks.collect::<Option<_>>()?
        }
        Cells::WideTicks { unit: TickUnit::Decimal(own), ticks } => {
            let factor = 10i64.checked_pow(u32::from(scale - own))?;
            ticks.iter().map(|tick| tick.checked_mul(factor)).collect::<Option<_>>()?
        }
        _ => return Some(()),
    };
    chunk.cells = crate::chunk::narrow_ticks(ticks, &chunk.missing, TickUnit::Decimal(scale));
    Some(())
}

/// The encoded form of a column of names, whatever the type of its values.
fn encode_categories(
    column: &mut RawColumn,
    spec: Option<&HierarchySpec>,
    by_frequency: bool,
) -> Result<(DomainKind, Vec<Vec<u32>>)> {
    let distinct = scale::distinct_values(column, tick_format(column));
    let mut places = distinct.places;
    let mut rows = vec![0u64; distinct.names.len()];
    if by_frequency && spec.is_some() {
        for (of_chunk, chunk) in places.iter().zip(&column.chunks) {
            let mut holes = chunk.missing.iter().peekable();
            for (row_idx, &place) in of_chunk.iter().enumerate() {
                if holes.next_if(|&&hole| hole as usize == row_idx).is_none() {
                    rows[place as usize] += 1;
                }
            }
        }
    }
    let values = CategoryValues { names: distinct.names, numbers: distinct.numbers, rows };
    let (kind, code_of_place) = values.into_domain(column, spec, by_frequency)?;
    if !code_of_place.is_empty() {
        for place in places.iter_mut().flatten() {
            *place = code_of_place[(*place as usize).min(code_of_place.len() - 1)];
        }
    }
    let missing_code = match &kind {
        DomainKind::Tree { hierarchy, .. } => hierarchy.n_leaves(),
        _ => code_of_place.len() as u32,
    };
    mark_missing(&mut places, &column.chunks, missing_code);
    Ok((kind, places))
}

/// The distinct values of a category, in their natural order.
struct CategoryValues {
    names: Vec<String>,
    /// What each stands for, where the column holds numbers.
    numbers: Option<Vec<f64>>,
    /// How many rows have it.
    rows: Vec<u64>,
}

impl CategoryValues {
    /// The domain, and the code of each value.
    fn into_domain(
        self,
        column: &RawColumn,
        spec: Option<&HierarchySpec>,
        by_frequency: bool,
    ) -> Result<(DomainKind, Vec<u32>)> {
        let CategoryValues { names, mut numbers, rows } = self;
        let Some(spec) = spec else {
            let codes = (0..names.len() as u32).collect();
            return Ok((DomainKind::Names { names, numbers }, codes));
        };
        let values: Vec<String> = names
            .into_iter()
            .map(|name| value::canonical(column.column_type, &name).unwrap_or(name))
            .collect();
        let mut hierarchy = Hierarchy::build(spec, &column.name, column.column_type, &values)?;
        let mut codes: Vec<u32> = values
            .iter()
            .map(|name| hierarchy.code_of(name).expect("a built hierarchy covers every value"))
            .collect();
        if by_frequency {
            let mut rows_of_leaf = vec![0u64; hierarchy.n_leaves() as usize];
            codes.iter().zip(&rows).for_each(|(&code, n)| rows_of_leaf[code as usize] += n);
            let (reordered, new_codes) = hierarchy.ordered_by_frequency(&rows_of_leaf);
            hierarchy = reordered;
            codes.iter_mut().for_each(|code| *code = new_codes[*code as usize]);
        }
        numbers = numbers.map(|by_place| {
            let mut by_code = vec![f64::NAN; hierarchy.n_leaves() as usize];
            for (number, &code) in by_place.into_iter().zip(&codes) {
                by_code[code as usize] = number;
            }
            by_code
        });
        Ok((DomainKind::Tree { hierarchy, numbers }, codes))
    }
}

fn mark_missing(codes: &mut [Vec<u32>], chunks: &[ColumnChunk], missing_code: u32) {
    for (of_chunk, chunk) in codes.iter_mut().zip(chunks) {
        chunk.missing.iter().for_each(|&row| of_chunk[row as usize] = missing_code);
    }
}
