//! A stretch of rows as read: typed cells, column by column.
//!
//! Readers produce chunks; domains turn their cells into ordered codes once the whole
//! column has been seen. Whole numbers are kept as 32-bit distances from the chunk's least value,
//! so that a chunk of small 64-bit integers takes no more memory than its codes will.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use serde::{Deserialize, Serialize};

use crate::schema::ColumnType;
use crate::value::{self, Decimal, ParseProblem, TickFormat};

/// The cells of one column in a stretch of rows.
#[derive(Clone)]
pub struct ColumnChunk {
    /// One entry per row; what stands in a missing cell's place has no meaning.
    pub cells: Cells,
    /// The rows of the chunk whose cell is missing, ascending.
    pub missing: Vec<u32>,
}

/// Cells by how they are stored.
#[derive(Clone)]
pub enum Cells {
    /// Whole numbers as distances from a base.
    Ticks {
        /// The least value.
        base: i64,
        /// Value minus base.
        offsets: Vec<u32>,
        /// What the ticks count.
        unit: TickUnit,
    },
    /// Whole numbers that lie too far apart for 32-bit distances.
    WideTicks {
        /// The values.
        ticks: Vec<i64>,
        /// What the ticks count.
        unit: TickUnit,
    },
    /// Floating-point numbers.
    Floats(Vec<f64>),
    /// Names, as places in a list of the chunk's distinct names.
    Names {
        /// The distinct names, in the order in which they came.
        names: Vec<String>,
        /// One place per row.
        places: Vec<u32>,
    },
}

/// What a chunk's ticks count; chunks of one column may differ and are brought together later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TickUnit {
    /// Ones.
    Integer,
    /// The last of so many digits after the point.
    Decimal(u8),
    /// Days.
    Date,
    /// Microseconds, with or without an offset in the text.
    Timestamp {
        /// Whether the text carried an offset.
        zoned: bool,
    },
}

impl TickUnit {
    /// What the ticks of a type count when no cell tells it.
    pub fn of(column_type: ColumnType) -> TickUnit {
        match column_type {
            ColumnType::Decimal => TickUnit::Decimal(0),
            ColumnType::Date => TickUnit::Date,
            ColumnType::Timestamp => TickUnit::Timestamp { zoned: false },
            _ => TickUnit::Integer,
        }
    }

    /// How such ticks are written.
    pub fn format(self) -> TickFormat {
        match self {
            TickUnit::Integer => TickFormat::Integer,
            TickUnit::Decimal(scale) => TickFormat::Decimal { scale },
            TickUnit::Date => TickFormat::Date,
            TickUnit::Timestamp { zoned } => TickFormat::Timestamp { zoned },
        }
    }
}

impl ColumnChunk {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match &self.cells {
            Cells::Ticks { offsets, .. } => offsets.len(),
            Cells::WideTicks { ticks, .. } => ticks.len(),
            Cells::Floats(values) => values.len(),
            Cells::Names { places, .. } => places.len(),
        }
    }

    /// About how much memory it takes.
    pub fn n_bytes(&self) -> usize {
        let cells = match &self.cells {
            Cells::Ticks { offsets, .. } => offsets.len() * 4,
            Cells::WideTicks { ticks, .. } => ticks.len() * 8,
            Cells::Floats(values) => values.len() * 8,
            Cells::Names { names, places } => {
                let text: usize = names.iter().map(|name| name.len() + size_of::<String>()).sum();
                text + places.len() * 4
            }
        };
        cells + self.missing.len() * 4
    }

    /// About what its distinct texts take; nothing where cells are no texts.
    pub fn text_bytes(&self) -> usize {
        // The text, its place, and what is lost between texts.
        const NAME_BYTES: usize = size_of::<String>() + 16;
        match &self.cells {
            Cells::Names { names, .. } => names.iter().map(|name| name.len() + NAME_BYTES).sum(),
            _ => 0,
        }
    }

    /// Whether its values may lie so far apart that each of them has to be kept.
    pub fn is_wide(&self) -> bool {
        matches!(self.cells, Cells::WideTicks { .. } | Cells::Floats(_))
    }

    /// What its ticks count, where cells are ticks.
    pub fn unit(&self) -> Option<TickUnit> {
        match &self.cells {
            Cells::Ticks { unit, .. } | Cells::WideTicks { unit, .. } => Some(*unit),
            Cells::Floats(_) | Cells::Names { .. } => None,
        }
    }

    /// Brings decimals to as many digits after the point, which must not be fewer; nothing if they
    /// do not fit in 64 bits then.
    pub(crate) fn rescale(&mut self, scale: u8) -> Option<()> {
        let ticks: Vec<i64> = match &self.cells {
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
        self.cells = narrow_ticks(ticks, &self.missing, TickUnit::Decimal(scale));
        Some(())
    }

    /// Brings decimals to fewer digits after the point, where no value needs more.
    pub(crate) fn shorten(&mut self, scale: u8) {
        let Some(TickUnit::Decimal(own)) = self.unit() else { return };
        let Some(factor) = own.checked_sub(scale).and_then(|n| 10i64.checked_pow(u32::from(n)))
        else {
            return;
        };
        let ticks: Vec<i64> = match &self.cells {
            Cells::Ticks { base, offsets, .. } => {
                offsets.iter().map(|&offset| base.wrapping_add(i64::from(offset))).collect()
            }
            Cells::WideTicks { ticks, .. } => ticks.clone(),
            Cells::Floats(_) | Cells::Names { .. } => return,
        };
        let mut holes = self.missing.iter().peekable();
        let needs_more = |(row, tick): (usize, &i64)| {
            let is_missing = holes.next_if(|&&hole| hole as usize == row).is_some();
            !is_missing && tick % factor != 0
        };
        if !ticks.iter().enumerate().any(needs_more) {
            let ticks = ticks.into_iter().map(|tick| tick / factor).collect();
            self.cells = narrow_ticks(ticks, &self.missing, TickUnit::Decimal(scale));
        }
    }

    /// Shows each distinct name with the number of its rows.
    pub fn for_each_name(&self, mut see: impl FnMut(&str, u64)) {
        let Cells::Names { names, places } = &self.cells else { return };
        let mut n_rows = vec![0u32; names.len()];
        // What stands in the place of a missing cell is no name, or one that is not meant.
        let mut first = 0;
        let ends = self.missing.iter().map(|&hole| hole as usize).chain([places.len()]);
        for end in ends {
            places[first..end].iter().for_each(|&place| n_rows[place as usize] += 1);
            first = end + 1;
        }
        names.iter().zip(n_rows).for_each(|(name, n_rows)| see(name, n_rows.into()));
    }

    /// The cells of some rows, which must not descend; a row may be asked for several times.
    pub fn select(&self, rows: &[u32]) -> ColumnChunk {
        fn pick<T: Copy>(values: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter().map(|&row| values[row as usize]).collect()
        }
        let mut missing: Vec<u32> = Vec::new();
        let mut holes = self.missing.iter().peekable();
        for (place, &row) in rows.iter().enumerate() {
            while holes.next_if(|&&hole| hole < row).is_some() {}
            if holes.peek() == Some(&&row) {
                missing.push(place as u32);
            }
        }
        let cells = match &self.cells {
            // The least of these rows need not be the least of all.
            Cells::Ticks { base, offsets, unit } => {
                let ticks = pick(offsets, rows).into_iter();
                let ticks = ticks.map(|offset| base.wrapping_add(i64::from(offset)));
                narrow_ticks(ticks.collect(), &missing, *unit)
            }
            Cells::WideTicks { ticks, unit } => narrow_ticks(pick(ticks, rows), &missing, *unit),
            Cells::Floats(floats) => Cells::Floats(pick(floats, rows)),
            Cells::Names { names, places } => {
                let mut places = pick(places, rows);
                // What stands in the place of a missing cell is no name of these rows.
                missing.iter().for_each(|&row| places[row as usize] = u32::MAX);
                select_names(names, &places)
            }
        };
        ColumnChunk { cells, missing }
    }
}

/// Only the names that some places refer to.
fn select_names(names: &[String], places: &[u32]) -> Cells {
    const UNUSED: u32 = u32::MAX;
    let mut new_places = vec![UNUSED; names.len()];
    let mut kept = Vec::new();
    let renumbered = places.iter().map(|&place| {
        // A missing cell has a place without a name.
        let Some(new_place) = new_places.get_mut(place as usize) else { return 0 };
        if *new_place == UNUSED {
            *new_place = kept.len() as u32;
            kept.push(names[place as usize].clone());
        }
        *new_place
    });
    let places = renumbered.collect();
    Cells::Names { names: kept, places }
}

/// The least and the greatest ticks of a chunk, missing cells left out.
pub(crate) fn tick_bounds(chunk: &ColumnChunk) -> Option<(i64, i64)> {
    if chunk.missing.len() == chunk.n_rows() {
        return None;
    }
    // A missing cell of a chunk with values holds the chunk's least value.
    match &chunk.cells {
        Cells::Ticks { base, offsets, .. } => {
            let greatest = offsets.iter().copied().max().unwrap_or(0);
            Some((*base, base.wrapping_add(i64::from(greatest))))
        }
        Cells::WideTicks { ticks, .. } => {
            Some((ticks.iter().copied().min()?, ticks.iter().copied().max()?))
        }
        Cells::Floats(_) | Cells::Names { .. } => None,
    }
}

/// Stores ticks as narrowly as their spread allows; missing rows are ignored for the spread.
pub fn narrow_ticks(mut ticks: Vec<i64>, missing: &[u32], unit: TickUnit) -> Cells {
    let mut min = i64::MAX;
    let mut max = i64::MIN;
    if missing.is_empty() {
        for &tick in &ticks {
            min = min.min(tick);
            max = max.max(tick);
        }
    } else {
        let mut holes = missing.iter().peekable();
        for (row_idx, &tick) in ticks.iter().enumerate() {
            if holes.peek().is_some_and(|&&hole| hole as usize == row_idx) {
                holes.next();
                continue;
            }
            min = min.min(tick);
            max = max.max(tick);
        }
    }
    if min > max {
        return Cells::Ticks { base: 0, offsets: vec![0; ticks.len()], unit };
    }
    for &hole in missing {
        ticks[hole as usize] = min;
    }
    if max.abs_diff(min) < u64::from(u32::MAX) {
        let offsets = ticks.iter().map(|&tick| tick.wrapping_sub(min) as u32).collect();
        Cells::Ticks { base: min, offsets, unit }
    } else {
        Cells::WideTicks { ticks, unit }
    }
}

/// Collects the cells of one column from text.
pub struct TextColumnBuilder {
    missing: Vec<u32>,
    n_rows: u32,
    cells: TextCells,
}

enum TextCells {
    Ticks(Vec<i64>, fn(&[u8]) -> Result<i64, ParseProblem>, TickUnit),
    Decimals(Vec<Decimal>),
    Timestamps(Vec<i64>, Option<bool>),
    Floats(Vec<f64>),
    Booleans(NameBuilder),
    Names(NameBuilder),
}

impl TextColumnBuilder {
    /// A builder for cells of the given type.
    pub fn new(column_type: ColumnType) -> TextColumnBuilder {
        let cells = match column_type {
            ColumnType::Integer => {
                TextCells::Ticks(Vec::new(), value::parse_integer, TickUnit::Integer)
            }
            ColumnType::Date => TextCells::Ticks(Vec::new(), value::parse_date, TickUnit::Date),
            ColumnType::Decimal => TextCells::Decimals(Vec::new()),
            ColumnType::Timestamp => TextCells::Timestamps(Vec::new(), None),
            ColumnType::Float => TextCells::Floats(Vec::new()),
            ColumnType::Boolean => TextCells::Booleans(NameBuilder::default()),
            ColumnType::Text | ColumnType::Code => TextCells::Names(NameBuilder::default()),
        };
        TextColumnBuilder { missing: Vec::new(), n_rows: 0, cells }
    }

    /// A builder for cells of a type that was told from the cells and that the user has not
    /// confirmed: whole numbers with leading zeros are refused.
    pub fn inferred(column_type: ColumnType) -> TextColumnBuilder {
        let mut builder = TextColumnBuilder::new(column_type);
        if column_type == ColumnType::Integer {
            let parse = value::parse_plain_integer;
            builder.cells = TextCells::Ticks(Vec::new(), parse, TickUnit::Integer);
        }
        builder
    }

    /// Adds a missing cell.
    pub fn push_missing(&mut self) {
        self.missing.push(self.n_rows);
        self.n_rows += 1;
        match &mut self.cells {
            TextCells::Ticks(ticks, ..) | TextCells::Timestamps(ticks, _) => ticks.push(0),
            TextCells::Decimals(decimals) => decimals.push(Decimal { mantissa: 0, scale: 0 }),
            TextCells::Floats(values) => values.push(0.0),
            TextCells::Booleans(names) | TextCells::Names(names) => names.places.push(0),
        }
    }

    /// Adds a cell that is not missing.
    #[inline]
    pub fn push(&mut self, cell: &[u8]) -> Result<(), ParseProblem> {
        match &mut self.cells {
            TextCells::Ticks(ticks, parse, _) => {
                ticks.push(parse(cell).map_err(|problem| problem.or_needs_wider(cell))?);
            }
            TextCells::Decimals(decimals) => {
                let decimal = value::parse_decimal(cell);
                decimals.push(decimal.map_err(|problem| problem.or_needs_wider(cell))?);
            }
            TextCells::Timestamps(ticks, seen_zoned) => {
                let (tick, zoned) = value::parse_timestamp(cell)?;
                if *seen_zoned.get_or_insert(zoned) != zoned {
                    return Err(ParseProblem::NotA(ColumnType::Timestamp));
                }
                ticks.push(tick);
            }
            TextCells::Floats(values) => values.push(value::parse_float(cell)?),
            TextCells::Booleans(names) => {
                names.push(if value::parse_boolean(cell)? { b"true" } else { b"false" })?;
            }
            TextCells::Names(names) => names.push(cell)?,
        }
        self.n_rows += 1;
        Ok(())
    }

    /// The finished chunk, or the 0-based row that does not fit beside the others and why.
    pub fn finish(self) -> Result<ColumnChunk, (usize, ParseProblem)> {
        let missing = self.missing;
        let cells = match self.cells {
            TextCells::Ticks(ticks, _, unit) => narrow_ticks(ticks, &missing, unit),
            TextCells::Timestamps(ticks, zoned) => {
                let unit = TickUnit::Timestamp { zoned: zoned.unwrap_or(false) };
                narrow_ticks(ticks, &missing, unit)
            }
            TextCells::Decimals(decimals) => {
                let scale = decimals.iter().map(|decimal| decimal.scale).max().unwrap_or(0);
                let mut ticks = Vec::with_capacity(decimals.len());
                for (row_idx, decimal) in decimals.iter().enumerate() {
                    let tick = decimal.mantissa_at(scale);
                    let beyond = ParseProblem::BeyondI64(ColumnType::Decimal);
                    ticks.push(tick.ok_or((row_idx, beyond))?);
                }
                narrow_ticks(ticks, &missing, TickUnit::Decimal(scale))
            }
            TextCells::Floats(values) => Cells::Floats(values),
            TextCells::Booleans(names) | TextCells::Names(names) => names.finish(),
        };
        Ok(ColumnChunk { cells, missing })
    }
}

/// Collects names and the places of their distinct ones.
#[derive(Default)]
pub struct NameBuilder {
    /// Positions in `names` by the hash of the name.
    table: rustc_hash::FxHashMap<u64, u32>,
    /// Positions of names whose hash another name has taken; hardly ever any.
    colliding: Vec<u32>,
    names: Vec<String>,
    places: Vec<u32>,
}

impl NameBuilder {
    /// Adds a name.
    #[inline]
    pub fn push(&mut self, name: &[u8]) -> Result<(), ParseProblem> {
        let place = self.place_of(name)?;
        self.places.push(place);
        Ok(())
    }

    /// Adds a row whose cell is missing.
    pub fn push_missing(&mut self) {
        self.places.push(0);
    }

    /// Adds the name of the last row once more.
    ///
    /// # Panics
    /// When there is none.
    pub(crate) fn push_again(&mut self) {
        let last = self.places.last().copied();
        self.push_place(last.expect("there is a row before"));
    }

    /// Adds the name of a place that was given out.
    pub(crate) fn push_place(&mut self, place: u32) {
        self.places.push(place);
    }

    /// The place of a name.
    pub(crate) fn place_of(&mut self, name: &[u8]) -> Result<u32, ParseProblem> {
        let next = u32::try_from(self.names.len()).expect("a chunk has fewer than 2^32 rows");
        let is_name = |place: u32| self.names[place as usize].as_bytes() == name;
        let hash = FxBuildHasher.hash_one(name);
        let taken = self.table.get(&hash).copied();
        if let Some(place) = taken {
            let colliding = || self.colliding.iter().copied().find(|&place| is_name(place));
            if let Some(place) = Some(place).filter(|&place| is_name(place)).or_else(colliding) {
                return Ok(place);
            }
        }
        let text = std::str::from_utf8(name).map_err(|_| ParseProblem::NotUtf8)?;
        self.names.push(text.to_owned());
        match taken {
            None => drop(self.table.insert(hash, next)),
            Some(_) => self.colliding.push(next),
        }
        Ok(next)
    }

    /// The finished cells.
    pub fn finish(self) -> Cells {
        Cells::Names { names: self.names, places: self.places }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_far_apart_stay_wide_and_near_ones_become_narrow() {
        let near = narrow_ticks(vec![-5, 7, 0], &[2], TickUnit::Integer);
        assert!(
            matches!(near, Cells::Ticks { base: -5, ref offsets, .. } if offsets[..2] == [0, 12])
        );
        let far = narrow_ticks(vec![i64::MIN, i64::MAX], &[], TickUnit::Integer);
        assert!(matches!(far, Cells::WideTicks { .. }));
    }

    #[test]
    fn selected_rows_keep_their_cells_and_their_holes() {
        let mut builder = TextColumnBuilder::new(ColumnType::Text);
        builder.push(b"a").unwrap();
        builder.push_missing();
        builder.push(b"b").unwrap();
        builder.push(b"a").unwrap();
        builder.push_missing();
        let chunk = builder.finish().unwrap().select(&[2, 3, 4]);
        assert_eq!(chunk.missing, [2]);
        let Cells::Names { names, places } = chunk.cells else { panic!("text stays text") };
        assert_eq!(places[..2], [0, 1]);
        assert_eq!(names[..2], ["b", "a"]);
    }

    #[test]
    fn decimals_of_one_chunk_share_their_scale() {
        let mut builder = TextColumnBuilder::new(ColumnType::Decimal);
        for cell in ["1.5", "2", "0.25"] {
            builder.push(cell.as_bytes()).unwrap();
        }
        let chunk = builder.finish().unwrap();
        assert!(matches!(
            chunk.cells,
            Cells::Ticks { base: 25, ref offsets, unit: TickUnit::Decimal(2) }
                if offsets[..] == [125, 175, 0]
        ));
    }
}
