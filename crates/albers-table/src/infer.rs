//! The type of a column of text, told from its cells.
//!
//! A type is taken when nearly all cells have it, not only when all do: a date column with one bad
//! date is then refused where the bad date stands, instead of being read as names.
//!
//! Guarantee: the type is a function of how many cells look like what, whatever their order. What
//! is known of cells that were read as a type ([`TypeSample::of_read`]) stands for their texts: as
//! long as the type is one that the rule gave to some of the column's cells, all of them together
//! get the type that a look at every text gives them.
//!
//! ```text
//!   read as              is known of the texts                      and not, as it decides nothing
//!   integer              whole numbers without leading zeros
//!   decimal              decimals, and their longest parts          which are whole: some are not
//!   float                floats                                     which are decimals: some are
//!                                                                   not, or too long
//!   date, time, boolean  just that
//!   text, code           all distinct texts, with their numbers
//! ```

use crate::chunk::{Cells, ColumnChunk, TickUnit};
use crate::schema::ColumnType;
use crate::value::{self, ParseProblem};

/// What some cells of one column look like.
#[derive(Debug, Clone, Default)]
pub struct TypeSample {
    n_cells: u64,
    /// Cells that are whole numbers, of any size.
    n_integers: u64,
    /// Cells that are digits with a leading zero.
    n_leading_zeros: u64,
    /// Cells that are plain decimals, whole numbers among them.
    n_decimals: u64,
    /// Cells that any floating-point reader takes, decimals among them.
    n_floats: u64,
    /// The most digits of a plain decimal before the point, leading zeros left out.
    most_digits_before: usize,
    /// The most digits of a plain decimal after the point.
    most_digits_after: usize,
    n_dates: u64,
    n_timestamps: u64,
    n_booleans: u64,
}

impl TypeSample {
    /// Looks at one cell that is not missing.
    pub fn add(&mut self, cell: &[u8]) {
        self.add_times(cell, 1);
    }

    /// Looks at so many cells of one text, which is not missing.
    fn add_times(&mut self, cell: &[u8], n_cells: u64) {
        self.n_cells += n_cells;
        let cell = cell.trim_ascii();
        match cell.first() {
            Some(b'0'..=b'9' | b'-' | b'+' | b'.') => self.add_number_or_date(cell, n_cells),
            Some(b't' | b'T' | b'f' | b'F') if value::parse_boolean(cell).is_ok() => {
                self.n_booleans += n_cells;
            }
            Some(b'n' | b'N' | b'i' | b'I')
                if value::parse_float(cell) == Err(ParseProblem::NotFinite) =>
            {
                self.n_floats += n_cells;
            }
            _ => {}
        }
    }

    fn add_number_or_date(&mut self, cell: &[u8], n_cells: u64) {
        if let Some(has_point) = is_short_number(cell) {
            let is_whole = !has_point;
            self.n_integers += n_cells * u64::from(is_whole);
            self.n_leading_zeros += n_cells * u64::from(is_whole && value::has_leading_zero(cell));
            self.n_decimals += n_cells;
            self.n_floats += n_cells;
            self.count_digits(cell);
        } else if !matches!(value::parse_integer(cell), Err(ParseProblem::NotA(_))) {
            self.n_integers += n_cells;
            self.n_decimals += n_cells;
            self.n_floats += n_cells;
            self.n_leading_zeros += n_cells * u64::from(value::has_leading_zero(cell));
            self.count_digits(cell);
        } else if value::parse_decimal(cell).is_ok() {
            self.n_decimals += n_cells;
            self.n_floats += n_cells;
            self.count_digits(cell);
        } else if !matches!(value::parse_float(cell), Err(ParseProblem::NotA(_))) {
            self.n_floats += n_cells;
        } else if !matches!(value::parse_date(cell), Err(ParseProblem::NotA(_))) {
            self.n_dates += n_cells;
        } else if !matches!(value::parse_timestamp(cell), Err(ParseProblem::NotA(_))) {
            self.n_timestamps += n_cells;
        }
    }

    fn count_digits(&mut self, number: &[u8]) {
        let point = number.iter().position(|&byte| byte == b'.').unwrap_or(number.len());
        let before = number[..point].iter().skip_while(|byte| matches!(byte, b'-' | b'+' | b'0'));
        self.most_digits_before = self.most_digits_before.max(before.count());
        self.most_digits_after = self.most_digits_after.max(number[point..].len().max(1) - 1);
    }

    /// What is known of the texts of cells that were read as a type, which was inferred.
    pub fn of_read(column_type: ColumnType, chunk: &ColumnChunk) -> TypeSample {
        let n_cells = (chunk.n_rows() - chunk.missing.len()) as u64;
        let mut sample = TypeSample { n_cells, ..TypeSample::default() };
        match column_type {
            ColumnType::Integer => {
                sample.n_integers = n_cells;
                sample.n_decimals = n_cells;
                sample.n_floats = n_cells;
                sample.count_digits_of_ticks(&chunk.cells);
            }
            ColumnType::Decimal => {
                sample.n_decimals = n_cells;
                sample.n_floats = n_cells;
                sample.count_digits_of_ticks(&chunk.cells);
            }
            ColumnType::Float => sample.n_floats = n_cells,
            ColumnType::Date => sample.n_dates = n_cells,
            ColumnType::Timestamp => sample.n_timestamps = n_cells,
            ColumnType::Boolean => sample.n_booleans = n_cells,
            ColumnType::Text | ColumnType::Code => return TypeSample::of_names(chunk),
        }
        sample
    }

    fn of_names(chunk: &ColumnChunk) -> TypeSample {
        let n_cells = (chunk.n_rows() - chunk.missing.len()) as u64;
        let mut sample = TypeSample::default();
        let Cells::Names { names, .. } = &chunk.cells else { return sample };
        let is_text = |name: &String| {
            sample.add(name.as_bytes());
            sample.n_floats + sample.n_dates + sample.n_timestamps + sample.n_booleans == 0
        };
        if names.iter().all(is_text) {
            // Nothing but text, which need not be counted name by name.
            return TypeSample { n_cells, ..TypeSample::default() };
        }
        let mut sample = TypeSample::default();
        chunk.for_each_name(|name, n_rows| sample.add_times(name.as_bytes(), n_rows));
        debug_assert_eq!(sample.n_cells, n_cells, "every row that is not missing has a name");
        sample
    }

    /// Looks at the ends of ticks: one of them has the most digits before the point.
    fn count_digits_of_ticks(&mut self, cells: &Cells) {
        let (lo, hi, unit) = match cells {
            Cells::Ticks { base, offsets, unit } => {
                let longest = offsets.iter().copied().max().unwrap_or(0);
                (*base, base.wrapping_add(i64::from(longest)), unit)
            }
            Cells::WideTicks { ticks, unit } => {
                let ends = ticks.iter().copied().min().zip(ticks.iter().copied().max());
                let (lo, hi) = ends.unwrap_or((0, 0));
                (lo, hi, unit)
            }
            Cells::Floats(_) | Cells::Names { .. } => return,
        };
        let scale = match unit {
            TickUnit::Decimal(scale) => *scale,
            _ => 0,
        };
        let whole = lo.unsigned_abs().max(hi.unsigned_abs()) / 10u64.pow(u32::from(scale));
        let n_before = whole.checked_ilog10().map_or(0, |exponent| exponent as usize + 1);
        self.most_digits_before = self.most_digits_before.max(n_before);
        self.most_digits_after = self.most_digits_after.max(scale.into());
    }

    /// Adds what other cells of the column look like.
    pub fn merge(&mut self, other: &TypeSample) {
        self.n_cells += other.n_cells;
        self.n_integers += other.n_integers;
        self.n_leading_zeros += other.n_leading_zeros;
        self.n_decimals += other.n_decimals;
        self.n_floats += other.n_floats;
        self.most_digits_before = self.most_digits_before.max(other.most_digits_before);
        self.most_digits_after = self.most_digits_after.max(other.most_digits_after);
        self.n_dates += other.n_dates;
        self.n_timestamps += other.n_timestamps;
        self.n_booleans += other.n_booleans;
    }

    /// Whether decimals would not fit in 64 bits, brought to one length after the point. More cells
    /// never change that.
    pub fn is_too_wide(&self) -> bool {
        const MOST_DIGITS: usize = 18;
        self.most_digits_before + self.most_digits_after > MOST_DIGITS
    }

    /// The type that fits; text when none does or when every cell is missing.
    pub fn column_type(&self) -> ColumnType {
        if self.n_cells == 0 {
            return ColumnType::Text;
        }
        let nearly_all = |n: u64| n * 20 >= self.n_cells * 19;
        if nearly_all(self.n_floats) {
            // The narrowest type that takes all the numbers.
            if self.n_floats > self.n_decimals {
                ColumnType::Float
            } else if self.n_decimals > self.n_integers {
                if self.is_too_wide() { ColumnType::Float } else { ColumnType::Decimal }
            } else if self.n_leading_zeros > 0 {
                ColumnType::Code
            } else {
                ColumnType::Integer
            }
        } else if nearly_all(self.n_dates) {
            ColumnType::Date
        } else if nearly_all(self.n_timestamps) {
            ColumnType::Timestamp
        } else if self.n_booleans == self.n_cells {
            ColumnType::Boolean
        } else {
            ColumnType::Text
        }
    }
}

/// Whether a cell is a plain number of few digits, and then whether it has a point. Nearly all
/// numbers are, and need not be parsed to be known as what they are.
fn is_short_number(cell: &[u8]) -> Option<bool> {
    const MOST_DIGITS: usize = 18;
    let digits = match cell {
        [b'-' | b'+', digits @ ..] => digits,
        digits => digits,
    };
    let mut has_point = false;
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {}
            b'.' if !has_point => has_point = true,
            _ => return None,
        }
    }
    let n_digits = digits.len() - usize::from(has_point);
    (1..=MOST_DIGITS).contains(&n_digits).then_some(has_point)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_are_what_parsing_says() {
        let bytes = b"-+.0127e ";
        let n_texts = bytes.len().pow(5);
        for at in 0..n_texts {
            let text: Vec<u8> =
                (0..5).map(|i| bytes[at / bytes.len().pow(i) % bytes.len()]).collect();
            let cell = text.trim_ascii();
            let parsed =
                match (value::parse_integer(cell).is_ok(), value::parse_decimal(cell).is_ok()) {
                    (true, _) => Some(false),
                    (false, true) => Some(true),
                    (false, false) => None,
                };
            assert_eq!(is_short_number(cell), parsed, "{cell:?}");
        }
    }

    fn inferred(cells: &[&str]) -> ColumnType {
        let mut sample = TypeSample::default();
        cells.iter().for_each(|cell| sample.add(cell.as_bytes()));
        sample.column_type()
    }

    #[test]
    fn types_are_told_from_their_cells() {
        assert_eq!(inferred(&["1", "-2", "30"]), ColumnType::Integer);
        assert_eq!(inferred(&["01234", "99999"]), ColumnType::Code);
        assert_eq!(inferred(&["1.50", "2"]), ColumnType::Decimal);
        assert_eq!(inferred(&["1e5", "2"]), ColumnType::Float);
        assert_eq!(inferred(&["0.1234567890123456789", "2.5"]), ColumnType::Float);
        assert_eq!(inferred(&["2024-01-31"]), ColumnType::Date);
        assert_eq!(inferred(&["2024-01-31 10:00:00"]), ColumnType::Timestamp);
        assert_eq!(inferred(&["true", "False"]), ColumnType::Boolean);
        assert_eq!(inferred(&["a", "1"]), ColumnType::Text);
        assert_eq!(inferred(&[]), ColumnType::Text);
    }

    #[test]
    fn decimals_that_do_not_fit_in_64_bits_at_their_longest_fraction_are_floats() {
        assert_eq!(inferred(&["748.1234567890123", "0.12345678901234567"]), ColumnType::Float);
        assert_eq!(inferred(&["-748.1234567890123", "0.5"]), ColumnType::Decimal);
        assert_eq!(inferred(&["0.123456789012345678", "0.5"]), ColumnType::Decimal);
        assert_eq!(inferred(&["0.1234567890123456", "748"]), ColumnType::Float);
        assert_eq!(inferred(&["9223372036854775808", "0.5"]), ColumnType::Float);
    }

    #[test]
    fn one_decimal_among_many_integers_makes_the_column_decimal() {
        let mut cells = vec!["7"; 30];
        cells.push("7.5");
        assert_eq!(inferred(&cells), ColumnType::Decimal);
    }

    #[test]
    fn one_bad_date_among_many_does_not_make_the_column_text() {
        let mut cells = vec!["2024-01-31"; 30];
        cells.push("31.1.2024");
        assert_eq!(inferred(&cells), ColumnType::Date);
    }
}
