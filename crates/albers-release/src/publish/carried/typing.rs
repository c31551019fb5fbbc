//! The type that the text of a carried column gets in a typed file.
//!
//! Guarantee: the type is a function of the cells that are published and of what the job says the
//! column is: what only cells of rows that are left out look like leaves no trace. No cell changes
//! its value: numbers are exact, days and times are those that were written; a column stays text
//! where that cannot be. Only numbers with an exponent, and those beside them, become the floats
//! that are nearest to them.
//! Cost: one look at each cell while it is read, and one while it is written.
//!
//! ```text
//!   7  -20                  whole numbers of 64 bits
//!   1.50  2                 decimals with as many digits as the cells have, up to 38 in all
//!   1e-5  2.5               floats
//!   007  +49 30  1,000      text: a type would change it
//! ```

use std::sync::Arc;

use albers_table::schema::ColumnType;
use albers_table::value::{self, TickFormat};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, TimeUnit};

/// Digits of the longest decimal.
const MOST_DIGITS: usize = 38;

/// Digits of the longest whole number of 64 bits.
const I64_DIGITS: usize = 19;

/// Whether the text of a carried column becomes typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    /// It leaves as it was read.
    AsRead,
    /// By the cells that are published, within what the job says that the column is.
    ByCells(Option<ColumnType>),
}

/// What some cells of a column look like. All of it are counts, so that cells of rows that are left
/// out can be taken away again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellCounts {
    n_cells: u64,
    n_missing: u64,
    /// Plain decimals by their digits before the point, leading zeros left out.
    by_whole: [u64; MOST_DIGITS + 1],
    /// The same by their digits after the point.
    by_fraction: [u64; MOST_DIGITS + 1],
    /// Those of them with a leading zero.
    n_leading_zeros: u64,
    /// Numbers with an exponent.
    n_floats: u64,
    n_booleans: u64,
    n_dates: u64,
    /// Times, by whether a `T` stands before them.
    n_times: [u64; 2],
    /// Times with an offset, which no typed file keeps as they are.
    n_zoned: u64,
}

/// What a cell looks like.
enum Look {
    Decimal { n_whole: usize, n_fraction: usize, has_leading_zero: bool },
    Float,
    Boolean,
    Date,
    Time { has_t: bool },
    Zoned,
    Text,
}

impl CellCounts {
    /// Of no cells.
    pub fn nothing() -> CellCounts {
        CellCounts {
            n_cells: 0,
            n_missing: 0,
            by_whole: [0; MOST_DIGITS + 1],
            by_fraction: [0; MOST_DIGITS + 1],
            n_leading_zeros: 0,
            n_floats: 0,
            n_booleans: 0,
            n_dates: 0,
            n_times: [0; 2],
            n_zoned: 0,
        }
    }

    /// Looks at the cells of an array.
    pub fn of(array: &dyn Array, typing: Typing) -> CellCounts {
        let mut counts = CellCounts::nothing();
        counts.n_cells = array.len() as u64;
        counts.n_missing = array.logical_null_count() as u64;
        if typing != Typing::AsRead && array.data_type() == &DataType::Utf8 {
            array.as_string::<i32>().iter().flatten().for_each(|cell| counts.add_cell(cell));
        }
        counts
    }

    /// Looks at one text that is not missing.
    pub fn add_text(&mut self, text: &str) {
        self.n_cells += 1;
        self.add_cell(text);
    }

    fn add_cell(&mut self, cell: &str) {
        match look_of(cell) {
            Look::Decimal { n_whole, n_fraction, has_leading_zero } => {
                self.by_whole[n_whole] += 1;
                self.by_fraction[n_fraction] += 1;
                self.n_leading_zeros += u64::from(has_leading_zero);
            }
            Look::Float => self.n_floats += 1,
            Look::Boolean => self.n_booleans += 1,
            Look::Date => self.n_dates += 1,
            Look::Time { has_t } => self.n_times[usize::from(has_t)] += 1,
            Look::Zoned => self.n_zoned += 1,
            Look::Text => {}
        }
    }

    /// Adds other cells.
    pub fn add(&mut self, other: &CellCounts) {
        self.combine(other, u64::saturating_add);
    }

    /// Takes away cells that were added.
    pub fn remove(&mut self, other: &CellCounts) {
        self.combine(other, u64::saturating_sub);
    }

    fn combine(&mut self, other: &CellCounts, both: impl Fn(u64, u64) -> u64) {
        let combine = |own: &mut [u64], other: &[u64]| {
            own.iter_mut().zip(other).for_each(|(own, &other)| *own = both(*own, other));
        };
        combine(&mut self.by_whole, &other.by_whole);
        combine(&mut self.by_fraction, &other.by_fraction);
        combine(&mut self.n_times, &other.n_times);
        self.n_cells = both(self.n_cells, other.n_cells);
        self.n_missing = both(self.n_missing, other.n_missing);
        self.n_leading_zeros = both(self.n_leading_zeros, other.n_leading_zeros);
        self.n_floats = both(self.n_floats, other.n_floats);
        self.n_booleans = both(self.n_booleans, other.n_booleans);
        self.n_dates = both(self.n_dates, other.n_dates);
        self.n_zoned = both(self.n_zoned, other.n_zoned);
    }

    /// Whether a cell is missing.
    pub fn has_missing(&self) -> bool {
        self.n_missing > 0
    }

    /// The type that takes all cells as they are; nothing where they stay text.
    pub fn data_type(&self, typing: Typing) -> Option<DataType> {
        let Typing::ByCells(declared) = typing else { return None };
        let n_present = self.n_cells.saturating_sub(self.n_missing);
        if matches!(declared, Some(ColumnType::Text | ColumnType::Code)) {
            return None;
        }
        if n_present == 0 {
            return declared.map(empty_type);
        }
        let n_decimals: u64 = self.by_whole.iter().sum();
        if n_decimals + self.n_floats == n_present {
            return self.number_type(declared, n_decimals == n_present);
        }
        match n_present {
            n if n == self.n_booleans => Some(DataType::Boolean),
            n if n == self.n_dates => Some(DataType::Date32),
            n if self.n_times.contains(&n) => {
                Some(DataType::Timestamp(TimeUnit::Microsecond, None))
            }
            _ => None,
        }
    }

    /// The type that all cells look like: that of a typed file, and codes, and times with an offset,
    /// which are text there. Nothing where there is no cell.
    pub fn column_type(&self) -> Option<ColumnType> {
        let n_present = self.n_cells.saturating_sub(self.n_missing);
        if n_present == 0 {
            return None;
        }
        let are_digits = self.by_fraction[0] == n_present;
        Some(match self.data_type(Typing::ByCells(None)) {
            Some(DataType::Int64) => ColumnType::Integer,
            Some(DataType::Decimal128(..)) => ColumnType::Decimal,
            Some(DataType::Float64) => ColumnType::Float,
            Some(DataType::Boolean) => ColumnType::Boolean,
            Some(DataType::Date32) => ColumnType::Date,
            Some(_) => ColumnType::Timestamp,
            None if self.n_zoned == n_present => ColumnType::Timestamp,
            None if are_digits && self.n_leading_zeros > 0 => ColumnType::Code,
            None => ColumnType::Text,
        })
    }

    /// The type of numbers, with an exponent or without.
    fn number_type(&self, declared: Option<ColumnType>, are_decimals: bool) -> Option<DataType> {
        if self.n_leading_zeros > 0 && declared.is_none() {
            return None;
        }
        if !are_decimals || declared == Some(ColumnType::Float) {
            return Some(DataType::Float64);
        }
        let most = |counts: &[u64]| counts.iter().rposition(|&n_cells| n_cells > 0).unwrap_or(0);
        let (n_whole, n_fraction) = (most(&self.by_whole), most(&self.by_fraction));
        if n_fraction == 0 && n_whole <= I64_DIGITS && declared != Some(ColumnType::Decimal) {
            return Some(DataType::Int64);
        }
        let n_digits = (n_whole + n_fraction).max(1);
        (n_digits <= MOST_DIGITS).then_some(DataType::Decimal128(n_digits as u8, n_fraction as i8))
    }
}

/// The type of a column without any cell.
fn empty_type(declared: ColumnType) -> DataType {
    match declared {
        ColumnType::Integer => DataType::Int64,
        ColumnType::Decimal => DataType::Decimal128(1, 0),
        ColumnType::Float => DataType::Float64,
        ColumnType::Date => DataType::Date32,
        ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::Text | ColumnType::Code => DataType::Utf8,
    }
}

fn look_of(cell: &str) -> Look {
    let is_text = !cell.starts_with(|first: char| {
        first.is_ascii_digit() || matches!(first, '-' | '+' | '.' | 't' | 'f')
    });
    if is_text {
        return Look::Text;
    }
    if let Some(decimal) = decimal_look(cell.as_bytes()) {
        return decimal;
    }
    let is_plain = !cell.starts_with('+') && !cell.ends_with(char::is_whitespace);
    if is_plain && value::parse_float(cell.as_bytes()).is_ok() {
        // What is no plain decimal has an exponent, or more digits than any type.
        return if cell.contains(['e', 'E']) { Look::Float } else { Look::Text };
    }
    if matches!(cell, "true" | "false") {
        return Look::Boolean;
    }
    if let Ok(days) = value::parse_date(cell.as_bytes()) {
        let is_itself = i32::try_from(days).is_ok() && TickFormat::Date.text(days) == cell;
        return if is_itself { Look::Date } else { Look::Text };
    }
    match value::parse_timestamp(cell.as_bytes()) {
        Ok((ticks, false)) => {
            let has_t = cell.contains('T');
            let text = TickFormat::Timestamp { zoned: false }.text(ticks);
            let text = if has_t { text.replacen(' ', "T", 1) } else { text };
            if text == cell { Look::Time { has_t } } else { Look::Text }
        }
        Ok((_, true)) => Look::Zoned,
        _ => Look::Text,
    }
}

/// The digits of a plain decimal, if the cell is one.
fn decimal_look(cell: &[u8]) -> Option<Look> {
    let unsigned = cell.strip_prefix(b"-").unwrap_or(cell);
    let point = unsigned.iter().position(|&byte| byte == b'.').unwrap_or(unsigned.len());
    let (whole, fraction) = unsigned.split_at(point);
    let fraction = fraction.strip_prefix(b".").unwrap_or_default();
    let are_digits = whole.iter().chain(fraction).all(u8::is_ascii_digit);
    if !are_digits || whole.len() + fraction.len() == 0 {
        return None;
    }
    let n_zeros = whole.iter().take_while(|&&digit| digit == b'0').count();
    let mut n_whole = whole.len() - n_zeros;
    // So many digits may or may not fit in 64 bits; those that do not count as one more.
    n_whole += usize::from(n_whole == I64_DIGITS && value::parse_integer(cell).is_err());
    let (n_fraction, has_leading_zero) = (fraction.len(), whole.len() > 1 && n_zeros > 0);
    let fits = n_whole <= MOST_DIGITS && n_fraction <= MOST_DIGITS;
    Some(match fits {
        true => Look::Decimal { n_whole, n_fraction, has_leading_zero },
        false => Look::Text,
    })
}

/// Cells of text in a type that takes them all; nothing if it does not.
pub(super) fn typed(cells: &StringArray, data_type: &DataType) -> Option<ArrayRef> {
    Some(match data_type {
        DataType::Int64 => {
            let read = |cell: &str| value::parse_integer(cell.as_bytes()).ok();
            Arc::new(Int64Array::from(read_all(cells, read)?))
        }
        DataType::Float64 => {
            let read = |cell: &str| value::parse_float(cell.as_bytes()).ok();
            Arc::new(Float64Array::from(read_all(cells, read)?))
        }
        DataType::Decimal128(n_digits, scale) => {
            let read = |cell: &str| mantissa(cell.as_bytes(), usize::try_from(*scale).ok()?);
            let mantissas = Decimal128Array::from(read_all(cells, read)?);
            Arc::new(mantissas.with_precision_and_scale(*n_digits, *scale).ok()?)
        }
        DataType::Date32 => {
            let read = |cell: &str| i32::try_from(value::parse_date(cell.as_bytes()).ok()?).ok();
            Arc::new(Date32Array::from(read_all(cells, read)?))
        }
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            let read = |cell: &str| Some(value::parse_timestamp(cell.as_bytes()).ok()?.0);
            Arc::new(TimestampMicrosecondArray::from(read_all(cells, read)?))
        }
        DataType::Boolean => {
            let read = |cell: &str| value::parse_boolean(cell.as_bytes()).ok();
            Arc::new(BooleanArray::from(read_all(cells, read)?))
        }
        _ => return None,
    })
}

/// Reads all cells that are not missing; nothing if one cannot be read.
fn read_all<T>(cells: &StringArray, read: impl Fn(&str) -> Option<T>) -> Option<Vec<Option<T>>> {
    let read_cell = |cell: Option<&str>| match cell {
        Some(cell) => read(cell).map(Some),
        None => Some(None),
    };
    cells.iter().map(read_cell).collect()
}

/// All digits of a plain decimal with so many of them after the point.
fn mantissa(cell: &[u8], scale: usize) -> Option<i128> {
    let unsigned = cell.strip_prefix(b"-").unwrap_or(cell);
    let point = unsigned.iter().position(|&byte| byte == b'.').unwrap_or(unsigned.len());
    let n_fraction = (unsigned.len() - point).saturating_sub(1);
    let digits = unsigned.iter().filter(|&&byte| byte != b'.').copied();
    let zeros = std::iter::repeat_n(b'0', scale.checked_sub(n_fraction)?);
    let size = digits.chain(zeros).try_fold(0i128, |size, digit| {
        let digit = digit.is_ascii_digit().then(|| i128::from(digit - b'0'))?;
        size.checked_mul(10)?.checked_add(digit)
    })?;
    Some(if unsigned.len() < cell.len() { -size } else { size })
}
