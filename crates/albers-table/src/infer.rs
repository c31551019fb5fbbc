//! The type of a column of text, told from its first rows.
//!
//! A type is taken when nearly all sampled cells have it, not only when all do: a date column with
//! one bad date is then refused where the bad date stands, instead of being read as names.

use crate::schema::ColumnType;
use crate::value::{self, ParseProblem};

/// What the sampled cells of one column look like.
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
        self.n_cells += 1;
        let cell = cell.trim_ascii();
        let Some(&first) = cell.first() else { return };
        if first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.') {
            self.add_number_or_date(cell);
        } else if value::parse_boolean(cell).is_ok() {
            self.n_booleans += 1;
        } else if value::parse_float(cell) == Err(ParseProblem::NotFinite) {
            self.n_floats += 1;
        }
    }

    fn add_number_or_date(&mut self, cell: &[u8]) {
        if !matches!(value::parse_integer(cell), Err(ParseProblem::NotA(_))) {
            self.n_integers += 1;
            self.n_decimals += 1;
            self.n_floats += 1;
            self.n_leading_zeros += u64::from(value::has_leading_zero(cell));
            self.count_digits(cell);
        } else if value::parse_decimal(cell).is_ok() {
            self.n_decimals += 1;
            self.n_floats += 1;
            self.count_digits(cell);
        } else if !matches!(value::parse_float(cell), Err(ParseProblem::NotA(_))) {
            self.n_floats += 1;
        } else if !matches!(value::parse_date(cell), Err(ParseProblem::NotA(_))) {
            self.n_dates += 1;
        } else if !matches!(value::parse_timestamp(cell), Err(ParseProblem::NotA(_))) {
            self.n_timestamps += 1;
        }
    }

    fn count_digits(&mut self, number: &[u8]) {
        let point = number.iter().position(|&byte| byte == b'.').unwrap_or(number.len());
        let before = number[..point].iter().skip_while(|byte| matches!(byte, b'-' | b'+' | b'0'));
        self.most_digits_before = self.most_digits_before.max(before.count());
        self.most_digits_after = self.most_digits_after.max(number[point..].len().max(1) - 1);
    }

    /// The type that fits; text when none does or when every cell is missing.
    pub fn column_type(&self) -> ColumnType {
        if self.n_cells == 0 {
            return ColumnType::Text;
        }
        let nearly_all = |n: u64| n * 20 >= self.n_cells * 19;
        if nearly_all(self.n_floats) {
            // The narrowest type that takes all the numbers. Decimals are brought to one length
            // after the point, at which all of them must fit in 64 bits.
            const MOST_DIGITS: usize = 18;
            if self.n_floats > self.n_decimals {
                ColumnType::Float
            } else if self.n_decimals > self.n_integers {
                if self.most_digits_before + self.most_digits_after > MOST_DIGITS {
                    ColumnType::Float
                } else {
                    ColumnType::Decimal
                }
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

#[cfg(test)]
mod tests {
    use super::*;

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
