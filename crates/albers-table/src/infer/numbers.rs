//! What the numbers of a column look like with one decimal mark.

use crate::chunk::{Cells, TickUnit};
use crate::notation::{NumberText, is_day_without_separators, is_undecided_decimal, month_of_year};
use crate::schema::ColumnType;
use crate::value;

/// Digits that surely fit in 64 bits.
pub(super) const MOST_DIGITS: usize = 18;
/// Digits of a day such as `20201231`.
pub(super) const DIGITS_OF_DAY: usize = 8;
/// A decimal of so many digits, its sign and its point.
const LONGEST_DECIMAL_BYTES: usize = MOST_DIGITS + 2;

/// What some numbers look like.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NumberCounts {
    /// Whole numbers, of any size.
    pub(super) n_integers: u64,
    /// Digits with a leading zero.
    pub(super) n_leading_zeros: u64,
    /// Decimals, whole numbers among them.
    pub(super) n_decimals: u64,
    /// Numbers that any floating-point reader takes, decimals among them.
    pub(super) n_floats: u64,
    /// Those that are not written as the program writes them.
    pub(super) n_foreign: u64,
    /// Whether a whole number is written with digits only.
    pub(super) has_integers: bool,
    /// Whether one of them is a thousand or more.
    pub(super) has_long_integers: bool,
    /// The most digits of a decimal before the point, leading zeros left out.
    pub(super) most_digits_before: usize,
    /// The most digits of a decimal after the point.
    pub(super) most_digits_after: usize,
}

/// How many of the decimals or floats that were read could be whole thousands.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PointCounts {
    /// Numbers without a point.
    pub(super) n_whole: u64,
    /// Those of them with a leading zero.
    pub(super) n_leading_zeros: u64,
    /// Numbers that are others with a decimal comma.
    pub(super) n_undecided: u64,
    /// Whether one of these ends in a zero.
    pub(super) has_final_zero: bool,
    /// Numbers that are none with a decimal comma.
    pub(super) n_decided: u64,
    /// Whether a whole number is written with digits only.
    pub(super) has_integers: bool,
    /// Whether one of them is a thousand or more.
    pub(super) has_long_integers: bool,
    /// What may be no number.
    pub(super) lookalikes: Lookalikes,
}

/// How many cells are read as numbers by any reader of numbers, and may be something else.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lookalikes {
    /// Codes such as `1E10`: no program writes a number without a point and without a sign so.
    pub(super) n_codes: u64,
    /// Months such as `12.2019`.
    pub(super) n_months: u64,
    /// Those of them whose month begins with a zero.
    pub(super) n_months_with_zero: u64,
    /// A bit for each month that occurs.
    pub(super) months: u16,
    /// Whole numbers that are days such as `20201231`.
    pub(super) n_days: u64,
}

impl Lookalikes {
    /// Looks at cells of one text, which is a number.
    pub(super) fn add(&mut self, cell: &[u8], n_cells: u64) {
        if let Some((month, has_zero)) = month_of_year(cell) {
            self.n_months += n_cells;
            self.months |= 1 << month;
            self.n_months_with_zero += n_cells * u64::from(has_zero);
        } else if is_code_with_exponent(cell) {
            self.n_codes += n_cells;
        }
    }

    pub(super) fn merge(&mut self, other: &Lookalikes) {
        self.n_codes += other.n_codes;
        self.n_months += other.n_months;
        self.n_months_with_zero += other.n_months_with_zero;
        self.months |= other.months;
        self.n_days += other.n_days;
    }

    /// Looks at cells of one whole number, which may be a day.
    pub(super) fn add_integer(&mut self, cell: &[u8], n_cells: u64) {
        let digits = cell.strip_prefix(b"+").unwrap_or(cell);
        if digits.len() == DIGITS_OF_DAY
            && value::parse_integer(digits).is_ok_and(is_day_without_separators)
        {
            self.n_days += n_cells;
        }
    }

    /// Looks at whole numbers that were read.
    pub(super) fn add_ticks(&mut self, cells: &Cells) {
        let count = |ticks: &mut dyn Iterator<Item = i64>| {
            ticks.filter(|&tick| is_day_without_separators(tick)).count() as u64
        };
        self.n_days += match cells {
            Cells::Ticks { base, offsets, .. } => {
                count(&mut offsets.iter().map(|&offset| base.wrapping_add(i64::from(offset))))
            }
            Cells::WideTicks { ticks, .. } => count(&mut ticks.iter().copied()),
            Cells::Floats(_) | Cells::Names { .. } => 0,
        };
    }
}

/// Whether a cell is digits, a capital `E` and digits.
fn is_code_with_exponent(cell: &[u8]) -> bool {
    let Some(at) = cell.iter().position(|&byte| byte == b'E') else { return false };
    let (before, after) = (&cell[..at], &cell[at + 1..]);
    [before, after].iter().all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
}

/// Whether the last digit of a number is a zero.
pub(super) fn ends_in_zero(cell: &[u8]) -> bool {
    cell.trim_ascii_end().ends_with(b"0")
}

/// Whether a cell is a sign and digits, and then whether it is a thousand or more.
fn digits_only(cell: &[u8]) -> Option<bool> {
    let digits = match cell {
        [b'-' | b'+', digits @ ..] => digits,
        digits => digits,
    };
    let n_zeros = digits.iter().take_while(|&&byte| byte == b'0').count();
    digits.iter().all(u8::is_ascii_digit).then_some(digits.len() - n_zeros > 3)
}

impl PointCounts {
    /// Looks at the text of a number.
    #[inline]
    pub(crate) fn add(&mut self, cell: &[u8]) {
        self.lookalikes.add(cell, 1);
        if !cell.contains(&b'.') {
            self.n_whole += 1;
            self.n_leading_zeros += u64::from(value::has_leading_zero(cell));
            if let Some(is_long) = digits_only(cell) {
                self.has_integers = true;
                self.has_long_integers |= is_long;
            }
        } else if is_undecided_decimal(cell) {
            self.n_undecided += 1;
            self.has_final_zero |= ends_in_zero(cell);
        } else {
            self.n_decided += 1;
        }
    }
}

impl NumberCounts {
    pub(super) fn add_integer(&mut self, cell: &[u8], n_cells: u64) {
        self.n_integers += n_cells;
        self.n_leading_zeros += n_cells * u64::from(value::has_leading_zero(cell));
        self.has_integers = true;
        self.has_long_integers |= digits_only(cell) == Some(true);
        self.add_decimal(cell, n_cells);
    }

    pub(super) fn add_decimal(&mut self, cell: &[u8], n_cells: u64) {
        self.n_decimals += n_cells;
        self.n_floats += n_cells;
        self.count_digits(cell);
    }

    /// Counts a number that is written in another way; `plain` is how the program writes it.
    pub(super) fn add_foreign(&mut self, text: NumberText, plain: &[u8], n_cells: u64) {
        self.n_foreign += n_cells;
        let is_short = plain.len() <= LONGEST_DECIMAL_BYTES;
        match text {
            NumberText { has_exponent: false, is_whole: true, .. } => {
                self.add_integer(plain, n_cells);
            }
            NumberText { has_exponent: false, .. } if is_short => self.add_decimal(plain, n_cells),
            _ => self.n_floats += n_cells,
        }
    }

    fn count_digits(&mut self, number: &[u8]) {
        let point = number.iter().position(|&byte| byte == b'.').unwrap_or(number.len());
        let before = number[..point].iter().skip_while(|byte| matches!(byte, b'-' | b'+' | b'0'));
        self.most_digits_before = self.most_digits_before.max(before.count());
        self.most_digits_after = self.most_digits_after.max(number[point..].len().max(1) - 1);
    }

    pub(super) fn merge(&mut self, other: &NumberCounts) {
        self.n_integers += other.n_integers;
        self.n_leading_zeros += other.n_leading_zeros;
        self.n_decimals += other.n_decimals;
        self.n_floats += other.n_floats;
        self.n_foreign += other.n_foreign;
        self.has_integers |= other.has_integers;
        self.has_long_integers |= other.has_long_integers;
        self.most_digits_before = self.most_digits_before.max(other.most_digits_before);
        self.most_digits_after = self.most_digits_after.max(other.most_digits_after);
    }

    pub(super) fn is_too_wide(&self) -> bool {
        self.most_digits_before + self.most_digits_after > MOST_DIGITS
    }

    /// The narrowest type that takes all of them.
    pub(super) fn column_type(&self) -> ColumnType {
        if self.n_floats > self.n_decimals {
            ColumnType::Float
        } else if self.n_decimals > self.n_integers {
            if self.is_too_wide() { ColumnType::Float } else { ColumnType::Decimal }
        } else if self.n_leading_zeros > 0 {
            ColumnType::Code
        } else {
            ColumnType::Integer
        }
    }

    /// Looks at the ends of ticks: one of them has the most digits before the point.
    pub(super) fn count_digits_of_ticks(&mut self, cells: &Cells) {
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
}
