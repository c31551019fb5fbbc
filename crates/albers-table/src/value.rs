//! Text to typed values and back.
//!
//! Whole-number types (integers, decimals, dates, timestamps) become *ticks*: an `i64` that counts
//! units, the last digits of a decimal, days or microseconds. A [`TickFormat`] writes ticks back
//! the way their column writes them.

use albers_storage::wording;
use albers_storage::wording::{Field, Wording};

use crate::calendar::{CivilDate, DateText};
use crate::schema::ColumnType;

const DAY_MICROSECONDS: i64 = 86_400_000_000;
const SECOND_MICROSECONDS: i64 = 1_000_000;

/// Why a text is not a value of a type. Never holds the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseProblem {
    /// The text does not look like the type at all.
    NotA(ColumnType),
    /// A number, but one that only a wider type takes.
    NeedsWider {
        /// The type of the column.
        kind: ColumnType,
        /// The narrowest type that takes the number.
        wider: ColumnType,
    },
    /// A whole number, a decimal or a time that needs more than 64 bits.
    BeyondI64(ColumnType),
    /// A whole number with a leading zero, in a column whose type nobody declared.
    LeadingZero,
    /// A point in time with digits beyond the microsecond.
    BeyondMicrosecond,
    /// NaN or an infinity.
    NotFinite,
    /// A well-formed date or time that no calendar has.
    NoSuchDate,
    /// Bytes that are not UTF-8.
    NotUtf8,
}

impl ParseProblem {
    /// What is wrong, for a message.
    pub fn problem(self) -> String {
        match self {
            ParseProblem::NotA(kind) | ParseProblem::NeedsWider { kind, .. } => {
                format!("the cell is not of type {kind}")
            }
            ParseProblem::BeyondI64(ColumnType::Date | ColumnType::Timestamp) => {
                "the point in time is too far away to be shown".to_owned()
            }
            ParseProblem::BeyondI64(_) => "the number does not fit in 64 bits".to_owned(),
            ParseProblem::LeadingZero => {
                "the whole number has a leading zero, which would be lost".to_owned()
            }
            ParseProblem::BeyondMicrosecond => {
                "the time is finer than a microsecond, and rounding could leave it outside its \
                 interval"
                    .to_owned()
            }
            ParseProblem::NotFinite => "NaN and infinities have no place in an order".to_owned(),
            ParseProblem::NoSuchDate => "there is no such date".to_owned(),
            ParseProblem::NotUtf8 => "the cell is not valid UTF-8".to_owned(),
        }
    }

    /// What the user can do, for a message.
    pub fn hint(self, column: &str) -> Wording {
        let typed = |kind: &str| Field::Type.of_column(column, kind);
        let if_missing = " if it stands for a missing value";
        match self {
            ParseProblem::NotA(_) => wording![
                "correct the cell, name its text with ",
                Field::Missing,
                if_missing,
                ", or read the column as names with ",
                typed("text")
            ],
            ParseProblem::NeedsWider { wider, .. } => wording![
                "read the column with ",
                typed(wider.name()),
                ", correct the cell, or name its text with ",
                Field::Missing,
                if_missing
            ],
            ParseProblem::BeyondI64(ColumnType::Decimal) => {
                wording!["read the column with ", typed("float")]
            }
            ParseProblem::BeyondI64(ColumnType::Date | ColumnType::Timestamp)
            | ParseProblem::NoSuchDate => {
                wording!["correct the cell, or read the column with ", typed("text")]
            }
            ParseProblem::BeyondI64(_) | ParseProblem::LeadingZero => {
                wording!["read the digits as names with ", typed("code")]
            }
            ParseProblem::BeyondMicrosecond => wording![
                "round the times to microseconds, or read the column as names with ",
                typed("text")
            ],
            ParseProblem::NotFinite => {
                wording!["name its text with ", Field::Missing, if_missing]
            }
            ParseProblem::NotUtf8 => wording![
                "convert the file to UTF-8, or say how it is stored with ",
                Field::Encoding
            ],
        }
    }

    /// The same problem, with the wider type that takes the cell if there is one.
    pub fn or_needs_wider(self, cell: &[u8]) -> ParseProblem {
        let ParseProblem::NotA(kind @ (ColumnType::Integer | ColumnType::Decimal)) = self else {
            return self;
        };
        let wider = if kind == ColumnType::Integer && parse_decimal(cell).is_ok() {
            ColumnType::Decimal
        } else if parse_float(cell).is_ok() {
            ColumnType::Float
        } else {
            return self;
        };
        ParseProblem::NeedsWider { kind, wider }
    }
}

/// How the ticks of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TickFormat {
    /// The number itself.
    Integer,
    /// The number with its last `scale` digits after the point.
    Decimal {
        /// Digits after the point.
        scale: u8,
    },
    /// Days since 1970-01-01, written `YYYY-MM-DD`.
    Date,
    /// Microseconds since 1970-01-01 00:00:00, written `YYYY-MM-DD HH:MM:SS`.
    Timestamp {
        /// Whether the column's times carry an offset; shown in UTC with a `Z` then.
        zoned: bool,
    },
}

impl TickFormat {
    /// Writes ticks as text at the end of `out`.
    pub fn write(self, ticks: i64, out: &mut String) {
        use std::fmt::Write as _;
        let written = match self {
            TickFormat::Integer => write!(out, "{ticks}"),
            TickFormat::Decimal { scale } => return write_decimal(ticks, scale, out),
            TickFormat::Date => write!(out, "{}", CivilDate::of_days(ticks)),
            TickFormat::Timestamp { zoned } => return write_timestamp(ticks, zoned, out),
        };
        written.expect("writing to a String cannot fail");
    }

    /// Ticks as text.
    pub fn text(self, ticks: i64) -> String {
        let mut out = String::new();
        self.write(ticks, &mut out);
        out
    }
}

/// Writes a decimal with as few digits after the point as it takes: how many other cells of its
/// column need says nothing about it.
fn write_decimal(ticks: i64, scale: u8, out: &mut String) {
    use std::fmt::Write as _;
    let Decimal { mantissa, scale } = Decimal { mantissa: ticks, scale }.without_trailing_zeros();
    let sign = if mantissa < 0 { "-" } else { "" };
    let (size, unit) = (mantissa.unsigned_abs(), 10u64.pow(u32::from(scale)));
    let written = match scale {
        0 => write!(out, "{mantissa}"),
        _ => write!(out, "{sign}{}.{:0width$}", size / unit, size % unit, width = scale.into()),
    };
    written.expect("writing to a String cannot fail");
}

/// Writes a point in time with as much of a fraction as there is.
fn write_timestamp(ticks: i64, zoned: bool, out: &mut String) {
    use std::fmt::Write as _;
    let date = CivilDate::of_days(ticks.div_euclid(DAY_MICROSECONDS));
    let time = ticks.rem_euclid(DAY_MICROSECONDS);
    let (second, part) = (time / SECOND_MICROSECONDS, time % SECOND_MICROSECONDS);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    write!(out, "{date} {hour:02}:{minute:02}:{second:02}")
        .and_then(|()| if part == 0 { Ok(()) } else { write!(out, ".{part:06}") })
        .expect("writing to a String cannot fail");
    if part != 0 {
        out.truncate(out.trim_end_matches('0').len());
    }
    if zoned {
        out.push('Z');
    }
}

/// The month that a day lies in, counted from that of the year 0.
pub fn month_of_days(days: i64) -> i64 {
    let CivilDate { year, month, .. } = CivilDate::of_days(days);
    year * 12 + i64::from(month) - 1
}

/// The first day of a month.
pub fn days_of_month(month: i64) -> i64 {
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12) as u8 + 1);
    CivilDate { year, month, day: 1 }.days()
}

/// Writes a float at the end of `out`, by the shortest text that reads back as the same one: `1.0`,
/// `0.1`, `1e300`. Floats that are carried from a typed file to a text file look the same.
pub fn write_float(value: f64, out: &mut String) {
    use std::fmt::Write as _;
    write!(out, "{value:?}").expect("writing to a String cannot fail");
}

/// A float as [`write_float`] writes it.
pub fn float_text(value: f64) -> String {
    let mut out = String::new();
    write_float(value, &mut out);
    out
}

/// The one way in which a value of this type is written, or `None` if the text is not such a value.
pub fn canonical(column_type: ColumnType, text: &str) -> Option<String> {
    match column_type {
        ColumnType::Text | ColumnType::Code => Some(text.to_owned()),
        ColumnType::Boolean => parse_boolean(text.as_bytes()).ok().map(|value| value.to_string()),
        ColumnType::Integer => {
            parse_integer(text.as_bytes()).ok().map(|ticks| TickFormat::Integer.text(ticks))
        }
        ColumnType::Decimal => parse_decimal(text.as_bytes())
            .ok()
            .map(|decimal| decimal.without_trailing_zeros().text()),
        ColumnType::Float => parse_float(text.as_bytes()).ok().map(float_text),
        ColumnType::Date => {
            parse_date(text.as_bytes()).ok().map(|ticks| TickFormat::Date.text(ticks))
        }
        ColumnType::Timestamp => parse_timestamp(text.as_bytes())
            .ok()
            .map(|(ticks, zoned)| TickFormat::Timestamp { zoned }.text(ticks)),
    }
}

/// A whole number of 64 bits.
pub fn parse_integer(cell: &[u8]) -> Result<i64, ParseProblem> {
    const NOT: ParseProblem = ParseProblem::NotA(ColumnType::Integer);
    let cell = cell.trim_ascii();
    let (negative, digits) = split_sign(cell);
    if digits.is_empty() {
        return Err(NOT);
    }
    if digits.len() <= 18 {
        let mut size = 0i64;
        for &digit in digits {
            if !digit.is_ascii_digit() {
                return Err(NOT);
            }
            size = size * 10 + i64::from(digit - b'0');
        }
        return Ok(if negative { -size } else { size });
    }
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(NOT);
    }
    let text = std::str::from_utf8(cell).map_err(|_| NOT)?;
    text.parse().map_err(|_| ParseProblem::BeyondI64(ColumnType::Integer))
}

/// A whole number of 64 bits that is written without leading zeros: digits that start with one are
/// more likely a code than a number.
pub fn parse_plain_integer(cell: &[u8]) -> Result<i64, ParseProblem> {
    let ticks = parse_integer(cell)?;
    if has_leading_zero(cell) { Err(ParseProblem::LeadingZero) } else { Ok(ticks) }
}

/// Whether the digits of a whole number start with a zero that is not the number itself.
pub fn has_leading_zero(cell: &[u8]) -> bool {
    let (_, digits) = split_sign(cell.trim_ascii());
    digits.len() > 1 && digits[0] == b'0'
}

/// A decimal number: `mantissa / 10^scale`. Without `Debug`, since it is the value of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    /// All digits, without the point.
    pub mantissa: i64,
    /// How many of them stand after the point.
    pub scale: u8,
}

impl Decimal {
    /// The same number with as few digits after the point as it takes.
    pub fn without_trailing_zeros(mut self) -> Decimal {
        while self.scale > 0 && self.mantissa % 10 == 0 {
            self.mantissa /= 10;
            self.scale -= 1;
        }
        self
    }

    /// The digits of the number at a scale of at least its own, if they fit in 64 bits.
    pub fn mantissa_at(self, scale: u8) -> Option<i64> {
        let factor = 10i64.checked_pow(u32::from(scale.checked_sub(self.scale)?))?;
        self.mantissa.checked_mul(factor)
    }

    /// As text.
    pub fn text(self) -> String {
        TickFormat::Decimal { scale: self.scale }.text(self.mantissa)
    }
}

/// A number in plain digits with at most one point.
pub fn parse_decimal(cell: &[u8]) -> Result<Decimal, ParseProblem> {
    const NOT: ParseProblem = ParseProblem::NotA(ColumnType::Decimal);
    let cell = cell.trim_ascii();
    let (negative, digits) = split_sign(cell);
    let mut mantissa = 0i64;
    let mut scale = None;
    let mut n_digits = 0;
    let mut overflow = false;
    for &byte in digits {
        match byte {
            b'.' if scale.is_none() => scale = Some(0u8),
            b'0'..=b'9' => {
                n_digits += 1;
                let digit = i64::from(byte - b'0');
                match mantissa.checked_mul(10).and_then(|shifted| shifted.checked_add(digit)) {
                    Some(longer) => mantissa = longer,
                    None => overflow = true,
                }
                scale = scale.map(|scale| scale.saturating_add(1));
            }
            _ => return Err(NOT),
        }
    }
    if n_digits == 0 {
        return Err(NOT);
    }
    if overflow || scale.is_some_and(|scale| scale > 18) {
        return Err(ParseProblem::BeyondI64(ColumnType::Decimal));
    }
    let mantissa = if negative { -mantissa } else { mantissa };
    Ok(Decimal { mantissa, scale: scale.unwrap_or(0) })
}

/// A finite floating-point number.
pub fn parse_float(cell: &[u8]) -> Result<f64, ParseProblem> {
    const NOT: ParseProblem = ParseProblem::NotA(ColumnType::Float);
    let text = std::str::from_utf8(cell.trim_ascii()).map_err(|_| NOT)?;
    let value: f64 = text.parse().map_err(|_| NOT)?;
    if !value.is_finite() {
        return Err(ParseProblem::NotFinite);
    }
    Ok(if value == 0.0 { 0.0 } else { value })
}

/// `true` or `false`, in any case.
pub fn parse_boolean(cell: &[u8]) -> Result<bool, ParseProblem> {
    let cell = cell.trim_ascii();
    if cell.eq_ignore_ascii_case(b"true") {
        Ok(true)
    } else if cell.eq_ignore_ascii_case(b"false") {
        Ok(false)
    } else {
        Err(ParseProblem::NotA(ColumnType::Boolean))
    }
}

/// A day, as days since 1970-01-01.
pub fn parse_date(cell: &[u8]) -> Result<i64, ParseProblem> {
    const NOT: ParseProblem = ParseProblem::NotA(ColumnType::Date);
    let found = DateText::at_start_of(cell.trim_ascii()).ok_or(NOT)?;
    if !found.rest.is_empty() {
        return Err(NOT);
    }
    found.date().map(CivilDate::days).ok_or(ParseProblem::NoSuchDate)
}

/// A point in time, as microseconds since 1970-01-01, and whether it carried an offset.
pub fn parse_timestamp(cell: &[u8]) -> Result<(i64, bool), ParseProblem> {
    let (nanoseconds, zoned) = parse_time(cell)?;
    if nanoseconds % 1_000 != 0 {
        return Err(ParseProblem::BeyondMicrosecond);
    }
    let beyond = |_| ParseProblem::BeyondI64(ColumnType::Timestamp);
    Ok((i64::try_from(nanoseconds / 1_000).map_err(beyond)?, zoned))
}

/// A point in time as nanoseconds since 1970-01-01.
pub fn parse_nanoseconds(cell: &[u8]) -> Result<i128, ParseProblem> {
    parse_time(cell).map(|(nanoseconds, _)| nanoseconds)
}

/// Nanoseconds since 1970-01-01, and whether the text carried an offset. The calendar library reads
/// the time of the day, on a day from which no offset leads out of its range.
fn parse_time(cell: &[u8]) -> Result<(i128, bool), ParseProblem> {
    const NOT: ParseProblem = ParseProblem::NotA(ColumnType::Timestamp);
    const ON_THE_FIRST_DAY: &[u8] = b"1970-01-01";
    let cell = cell.trim_ascii();
    if !cell.is_ascii() {
        return Err(NOT);
    }
    let found = DateText::at_start_of(cell).filter(|found| found.rest.len() >= 6).ok_or(NOT)?;
    let days = found.date().map(CivilDate::days).ok_or(ParseProblem::NoSuchDate)?;
    let is_leap_second = found.rest.get(6..9) == Some(b":60");
    let text = [ON_THE_FIRST_DAY, found.rest].concat();
    let text = std::str::from_utf8(&text).map_err(|_| NOT)?;
    let (time, zoned) = match text.parse::<jiff::Timestamp>() {
        Ok(time) => (time, true),
        Err(_) => {
            let local: jiff::civil::DateTime = text.parse().map_err(|_| NOT)?;
            (jiff::tz::Offset::UTC.to_timestamp(local).map_err(|_| NOT)?, false)
        }
    };
    if is_leap_second {
        // It would be shown as the second before.
        return Err(ParseProblem::NoSuchDate);
    }
    Ok((i128::from(days) * i128::from(DAY_MICROSECONDS) * 1_000 + time.as_nanosecond(), zoned))
}

fn split_sign(cell: &[u8]) -> (bool, &[u8]) {
    match cell {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_reach_to_the_ends_of_64_bits_and_not_beyond() {
        assert_eq!(parse_integer(b"-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(parse_integer(b"9223372036854775807"), Ok(i64::MAX));
        assert_eq!(
            parse_integer(b"9223372036854775808"),
            Err(ParseProblem::BeyondI64(ColumnType::Integer))
        );
        assert_eq!(parse_integer(b"12a"), Err(ParseProblem::NotA(ColumnType::Integer)));
        assert_eq!(parse_integer(b"-"), Err(ParseProblem::NotA(ColumnType::Integer)));
    }

    #[test]
    fn decimals_keep_their_digits() {
        for text in ["0.05", "-0.5", "12.345", "7", "-3", "0"] {
            assert_eq!(parse_decimal(text.as_bytes()).unwrap().text(), text);
            // Zeros that only other cells of the column need are not written.
            let longer = parse_decimal(text.as_bytes()).unwrap().mantissa_at(9).unwrap();
            assert_eq!(TickFormat::Decimal { scale: 9 }.text(longer), text);
        }
        assert!(parse_decimal(b"1.2.3").is_err());
        assert!(parse_decimal(b"1e5").is_err());
    }

    #[test]
    fn dates_survive_a_round_trip_and_impossible_ones_are_refused() {
        let far = ["0000-01-01", "-000001-12-31", "+010000-01-01", "-5877641-06-23"];
        let near = ["1970-01-01", "1969-12-31", "2024-02-29", "0001-01-01", "9999-12-31"];
        for text in near.into_iter().chain(far) {
            let days = parse_date(text.as_bytes()).unwrap();
            assert_eq!(TickFormat::Date.text(days), text);
        }
        assert_eq!(parse_date(b"2023-02-29"), Err(ParseProblem::NoSuchDate));
        assert_eq!(parse_date(b"2023-2-9"), Err(ParseProblem::NotA(ColumnType::Date)));
    }

    #[test]
    fn timestamps_survive_a_round_trip() {
        let (ticks, zoned) = parse_timestamp(b"2024-03-01 12:30:05").unwrap();
        assert!(!zoned);
        assert_eq!(TickFormat::Timestamp { zoned }.text(ticks), "2024-03-01 12:30:05");
        let (ticks, zoned) = parse_timestamp(b"2024-03-01T12:30:05.25+02:00").unwrap();
        assert_eq!(TickFormat::Timestamp { zoned }.text(ticks), "2024-03-01 10:30:05.25Z");
    }

    #[test]
    fn times_at_the_ends_of_the_calendar_and_beyond_are_themselves() {
        for text in [
            "9999-12-31 00:00:00",
            "9999-12-31 23:59:59.999999",
            "0000-01-01 00:00:00",
            "-000001-12-31 23:59:59",
            "+010000-01-01 00:00:00.5",
            "+294247-01-10 04:00:54.775807",
            "-290308-12-21 19:59:05.224192",
        ] {
            let (ticks, zoned) = parse_timestamp(text.as_bytes()).unwrap();
            assert_eq!(TickFormat::Timestamp { zoned }.text(ticks), text);
        }
        let (ticks, zoned) = parse_timestamp(b"9999-12-31T23:00:00-02:00").unwrap();
        assert_eq!(TickFormat::Timestamp { zoned }.text(ticks), "+010000-01-01 01:00:00Z");
        let beyond = parse_timestamp(b"+294247-01-10 04:00:54.775808");
        assert_eq!(beyond, Err(ParseProblem::BeyondI64(ColumnType::Timestamp)));
        assert_eq!(parse_timestamp(b"2016-12-31 23:59:60"), Err(ParseProblem::NoSuchDate));
        assert_eq!(
            parse_timestamp(b"2016-12-31 23:59:61"),
            Err(ParseProblem::NotA(ColumnType::Timestamp))
        );
    }

    #[test]
    fn times_finer_than_a_microsecond_are_refused() {
        for text in ["2024-03-01 12:30:05.0000001", "1969-12-31T23:59:59.123456789Z"] {
            let outcome = parse_timestamp(text.as_bytes());
            assert_eq!(outcome, Err(ParseProblem::BeyondMicrosecond));
        }
        let (ticks, zoned) = parse_timestamp(b"1969-12-31 23:59:59.123456000").unwrap();
        assert_eq!(TickFormat::Timestamp { zoned }.text(ticks), "1969-12-31 23:59:59.123456");
    }

    #[test]
    fn a_number_of_a_wider_type_is_met_with_that_type() {
        let hint =
            |kind, cell: &[u8]| ParseProblem::NotA(kind).or_needs_wider(cell).hint("x").to_string();
        assert!(hint(ColumnType::Integer, b"7.5").contains("`type = decimal` for column 'x'"));
        assert!(hint(ColumnType::Integer, b"7e5").contains("`type = float` for column 'x'"));
        assert!(hint(ColumnType::Decimal, b"7e5").contains("`type = float` for column 'x'"));
        assert!(hint(ColumnType::Integer, b"seven").contains("`type = text` for column 'x'"));
    }

    #[test]
    fn numbers_beyond_64_bits_are_met_with_a_type_that_takes_them() {
        let of_decimal = parse_decimal(b"12345678901234567890.5").err();
        assert!(
            of_decimal.unwrap().hint("x").to_string().ends_with("`type = float` for column 'x'")
        );
        let of_integer = parse_integer(b"12345678901234567890").err();
        assert!(
            of_integer.unwrap().hint("x").to_string().ends_with("`type = code` for column 'x'")
        );
    }

    #[test]
    fn plain_integers_have_no_leading_zero() {
        for (text, expected) in [("0", 0), ("-0", 0), ("10", 10), ("-7", -7)] {
            assert_eq!(parse_plain_integer(text.as_bytes()), Ok(expected));
        }
        for text in ["00123", "-01", "+07", "00"] {
            assert_eq!(parse_plain_integer(text.as_bytes()), Err(ParseProblem::LeadingZero));
            assert!(parse_integer(text.as_bytes()).is_ok());
        }
    }

    #[test]
    fn floats_have_one_short_text() {
        let canonical = |text| canonical(ColumnType::Float, text).unwrap();
        assert_eq!(canonical("1000"), "1000.0");
        assert_eq!(canonical("1e300"), "1e300");
        assert_eq!(canonical("-0"), "0.0");
        assert_eq!(canonical("0.10"), "0.1");
    }

    #[test]
    fn nan_and_infinities_are_refused() {
        for text in ["NaN", "inf", "-Infinity"] {
            assert_eq!(parse_float(text.as_bytes()), Err(ParseProblem::NotFinite));
        }
    }
}
