//! `ranges:5,10,20`: nested intervals of numbers, aligned at 0.
//!
//! Numbers are compared as exact decimals, never as binary fractions: a value is multiplied by the
//! power of ten that makes every size whole and rounded down, which keeps its interval, because the
//! ends of all intervals are whole then.
//!
//! Whole-number columns show both ends, `[20, 24]`, and intervals of one number as that number;
//! others leave the upper end out, `[20, 25)`.

use std::fmt;
use std::str::FromStr;

use super::builder::Builder;
use super::{Hierarchy, Place, TOP, builtin};
use crate::Result;
use crate::schema::ColumnType;

/// The length of an interval: more than 0, at most 10^18, with at most 18 decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The size times 10^`n_decimals`.
    units: i128,
    n_decimals: u32,
}

const MAX_DECIMALS: u32 = 18;
const MAX_SIZE: i128 = 10i128.pow(18);

impl Size {
    fn units_at(self, n_decimals: u32) -> i128 {
        self.units * 10i128.pow(n_decimals - self.n_decimals)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Size, String> {
        let exact = || {
            let units = floor_at(text.trim(), MAX_DECIMALS)?;
            let decimal = Decimal::parse(text.trim())?;
            let n_decimals =
                (0..=MAX_DECIMALS).find(|&n| units % 10i128.pow(MAX_DECIMALS - n) == 0)?;
            let is_exact = decimal.stripped().exponent >= -(MAX_DECIMALS as i32);
            let in_bounds = units > 0 && units <= MAX_SIZE * 10i128.pow(MAX_DECIMALS);
            let units = units / 10i128.pow(MAX_DECIMALS - n_decimals);
            (is_exact && in_bounds).then_some(Size { units, n_decimals })
        };
        exact().ok_or_else(|| {
            format!(
                "'{text}' is not the size of an interval; use numbers above 0 and up to 10^18, \
                 with at most 18 decimals, for example ranges:5,10,20"
            )
        })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&decimal_text(self.units, self.n_decimals))
    }
}

/// Says why these sizes do not make nested intervals.
pub(super) fn check_sizes(sizes: &[Size]) -> std::result::Result<(), String> {
    if sizes.is_empty() {
        return Err("ranges needs sizes; write for example ranges:5,10,20".to_owned());
    }
    for pair in sizes.windows(2) {
        let n_decimals = pair[0].n_decimals.max(pair[1].n_decimals);
        if pair[0] == pair[1] {
            return Err(format!("size {} follows {}; name each size once", pair[1], pair[0]));
        }
        if pair[1].units_at(n_decimals) % pair[0].units_at(n_decimals) != 0 {
            return Err(format!(
                "size {} is not a multiple of {}; each size must divide the next",
                pair[1], pair[0]
            ));
        }
    }
    Ok(())
}

/// Builds the hierarchy `ranges`.
pub(super) fn build(
    sizes: &[Size],
    place: &Place,
    column_type: ColumnType,
    values: &[String],
) -> Result<Hierarchy> {
    let is_whole = match column_type {
        ColumnType::Integer => true,
        ColumnType::Decimal | ColumnType::Float => false,
        _ => return Err(builtin::wrong_type(place, column_type, "ranges needs numbers")),
    };
    check_sizes(sizes).map_err(|problem| place.error(problem, "change the sizes"))?;
    let n_decimals = sizes.iter().map(|size| size.n_decimals).max().unwrap_or(0);
    if is_whole && n_decimals > 0 {
        return Err(place.error(
            "a size is not a whole number, but the column holds whole numbers",
            "use whole sizes, or read the column as decimal",
        ));
    }
    let mut builder = Builder::new(sizes.len() + 1);
    let mut n_refused = 0usize;
    for value in values {
        match path_of(value, sizes, n_decimals, is_whole) {
            None => n_refused += 1,
            Some(path) => {
                builder.add(0, value, &path).map_err(|_| builtin::ambiguous(place))?;
            }
        }
    }
    if n_refused > 0 {
        return Err(place.error(
            format!("{n_refused} of {} values are no numbers of at most 38 digits", values.len()),
            "write the hierarchy as a file",
        ));
    }
    builder.finish().map_err(|_| builtin::ambiguous(place))
}

/// The labels above a number, or `None` if it is none or too large.
fn path_of(value: &str, sizes: &[Size], n_decimals: u32, is_whole: bool) -> Option<Vec<String>> {
    let units = floor_at(value, n_decimals)?;
    let mut path = Vec::with_capacity(sizes.len() + 1);
    for size in sizes {
        let size = size.units_at(n_decimals);
        let low = units.div_euclid(size).checked_mul(size)?;
        let high = low.checked_add(size)?;
        path.push(match (is_whole, size) {
            (true, 1) => low.to_string(),
            (true, _) => format!("[{low}, {}]", high - 1),
            (false, _) => {
                format!("[{}, {})", decimal_text(low, n_decimals), decimal_text(high, n_decimals))
            }
        });
    }
    path.push(TOP.to_owned());
    Some(path)
}

/// An exact decimal number: `mantissa` times ten to the `exponent`.
#[derive(Clone, Copy)]
struct Decimal {
    mantissa: i128,
    exponent: i32,
}

impl Decimal {
    /// Reads `-12.5`, `.5`, `1e-7`; `None` for all else and for more than 38 digits.
    fn parse(text: &str) -> Option<Decimal> {
        const MAX_EXPONENT: i32 = 100_000;
        let (number, exponent) = match text.split_once(['e', 'E']) {
            None => (text, 0),
            Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        };
        let (is_negative, number) = match number.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut mantissa = 0i128;
        for digit in whole.bytes().chain(fraction.bytes()) {
            let digit = digit.is_ascii_digit().then(|| i128::from(digit - b'0'))?;
            mantissa = mantissa.checked_mul(10)?.checked_add(digit)?;
        }
        let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        let mantissa = if is_negative { -mantissa } else { mantissa };
        (exponent.abs() <= MAX_EXPONENT).then_some(Decimal { mantissa, exponent })
    }

    /// The same number without zeros at the end of its mantissa.
    fn stripped(mut self) -> Decimal {
        while self.mantissa != 0 && self.mantissa % 10 == 0 {
            self.mantissa /= 10;
            self.exponent += 1;
        }
        self
    }
}

/// A number times 10^`n_decimals`, rounded down; `None` if it is no number or too large.
fn floor_at(text: &str, n_decimals: u32) -> Option<i128> {
    let Decimal { mantissa, exponent } = Decimal::parse(text)?;
    if mantissa == 0 {
        return Some(0);
    }
    let shift = exponent + i32::try_from(n_decimals).ok()?;
    let power = 10i128.checked_pow(shift.unsigned_abs());
    if shift >= 0 {
        return power?.checked_mul(mantissa);
    }
    // A power that does not fit exceeds every mantissa, so only the sign is left.
    Some(power.map_or(if mantissa < 0 { -1 } else { 0 }, |power| mantissa.div_euclid(power)))
}

/// `units` divided by 10^`n_decimals`, without needless zeros.
fn decimal_text(units: i128, n_decimals: u32) -> String {
    let power = 10u128.pow(n_decimals);
    let sign = if units < 0 { "-" } else { "" };
    let (whole, fraction) = (units.unsigned_abs() / power, units.unsigned_abs() % power);
    if fraction == 0 {
        return format!("{sign}{whole}");
    }
    let fraction = format!("{fraction:0width$}", width = n_decimals as usize);
    format!("{sign}{whole}.{}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_down_exactly() {
        assert_eq!(floor_at("0.1", 1), Some(1));
        assert_eq!(floor_at("-0.1", 0), Some(-1));
        assert_eq!(floor_at("-12.50", 1), Some(-125));
        assert_eq!(floor_at("1e-7", 2), Some(0));
        assert_eq!(floor_at("-1e-300", 2), Some(-1));
        assert_eq!(floor_at("2.5E+3", 0), Some(2500));
        assert_eq!(floor_at("-0e99999", 0), Some(0));
        assert_eq!(floor_at("1e300", 0), None);
        for text in ["", ".", "-", "1e", "e5", "1.2.3", "NaN", "inf", "١"] {
            assert_eq!(floor_at(text, 0), None);
        }
    }

    #[test]
    fn decimals_are_written_without_needless_zeros() {
        assert_eq!(decimal_text(-50, 2), "-0.5");
        assert_eq!(decimal_text(2000, 2), "20");
        assert_eq!(decimal_text(5, 3), "0.005");
        assert_eq!(decimal_text(0, 3), "0");
    }
}
