//! One value as text, appended to a buffer of bytes without an allocation.
//!
//! Numbers are exact: integers and decimals digit by digit, floats by the shortest text that reads
//! back as the same float. Dates are `YYYY-MM-DD`, points in time `YYYY-MM-DD HH:MM:SS` with as
//! much of a fraction as there is, and a `Z` where the column knows its time zone.

use std::io::Write as _;

use arrow_buffer::i256;

use crate::calendar::CivilDate;

const DIGIT_PAIRS: [u8; 200] = digit_pairs();

const fn digit_pairs() -> [u8; 200] {
    let mut pairs = [0; 200];
    let mut number = 0;
    while number < 100 {
        pairs[2 * number] = b'0' + (number / 10) as u8;
        pairs[2 * number + 1] = b'0' + (number % 10) as u8;
        number += 1;
    }
    pairs
}

/// A whole number.
#[inline]
pub(super) fn push_i64(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_u64(out, value.unsigned_abs());
}

/// A whole number that is not negative.
#[inline]
pub(super) fn push_u64(out: &mut Vec<u8>, mut value: u64) {
    // 2^64 has 20 digits.
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        start -= 2;
        digits[start..start + 2].copy_from_slice(&DIGIT_PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        let pair = value as usize * 2;
        start -= 2;
        digits[start..start + 2].copy_from_slice(&DIGIT_PAIRS[pair..pair + 2]);
    } else {
        start -= 1;
        digits[start] = b'0' + value as u8;
    }
    out.extend_from_slice(&digits[start..]);
}

/// A number of 32 bits, the usual size: the same text as [`push_i64`] in half the time.
#[inline]
pub(super) fn push_i32(out: &mut Vec<u8>, value: i32) {
    if value < 0 {
        out.push(b'-');
    }
    let mut rest = value.unsigned_abs();
    // The digits gather in a register, the first in the lowest byte: a copy of fixed size and a cut
    // are cheaper than bytes written one by one and a copy of the very length.
    let (mut digits, mut n_digits) = (0u128, 0);
    while rest >= 100 {
        digits = digits << 16 | digit_pair(rest % 100);
        rest /= 100;
        n_digits += 2;
    }
    if rest >= 10 {
        digits = digits << 16 | digit_pair(rest);
        n_digits += 2;
    } else {
        digits = digits << 8 | u128::from(b'0' + rest as u8);
        n_digits += 1;
    }
    let end = out.len() + n_digits;
    out.extend_from_slice(&digits.to_le_bytes());
    out.truncate(end);
}

/// The two digits of a number below 100, the first in the lower byte.
#[inline]
fn digit_pair(number: u32) -> u128 {
    let at = number as usize * 2;
    u128::from(u16::from_le_bytes([DIGIT_PAIRS[at], DIGIT_PAIRS[at + 1]]))
}

/// A decimal: `value / 10^scale`, with exactly `scale` digits after the point.
pub(super) fn push_decimal(out: &mut Vec<u8>, value: i128, scale: i8) {
    let first = push_sign(out, value < 0);
    match u64::try_from(value.unsigned_abs()) {
        Ok(size) => push_u64(out, size),
        Err(_) => {
            write!(out, "{}", value.unsigned_abs()).expect("a buffer takes all");
        }
    }
    place_point(out, first, scale);
}

/// A decimal of 256 bits.
pub(super) fn push_decimal_256(out: &mut Vec<u8>, value: i256, scale: i8) {
    let first = out.len();
    write!(out, "{value}").expect("a buffer takes all");
    let first = if out[first] == b'-' { first + 1 } else { first };
    place_point(out, first, scale);
}

fn push_sign(out: &mut Vec<u8>, negative: bool) -> usize {
    if negative {
        out.push(b'-');
    }
    out.len()
}

/// Puts the point into the digits that start at `first`, with zeros where they are too few. A
/// negative scale means zeros at the end.
fn place_point(out: &mut Vec<u8>, first: usize, scale: i8) {
    let n_digits = out.len() - first;
    if scale < 0 {
        if out[first..] != *b"0" {
            out.extend(std::iter::repeat_n(b'0', scale.unsigned_abs().into()));
        }
        return;
    }
    let scale = usize::from(scale.unsigned_abs());
    if scale == 0 {
        return;
    }
    if n_digits <= scale {
        let n_missing = scale + 1 - n_digits;
        out.splice(first..first, std::iter::repeat_n(b'0', n_missing));
    }
    let point = out.len() - scale;
    out.insert(point, b'.');
}

/// A float, by the shortest text that reads back as the same one.
pub(super) fn push_float(out: &mut Vec<u8>, value: impl std::fmt::Debug) {
    // `Debug` is the form that keeps a point (`1.0`), so that a reader still sees a float, and that
    // turns to an exponent for very large and very small numbers.
    write!(out, "{value:?}").expect("a buffer takes all");
}

/// The day that is so many days after 1970-01-01.
pub(super) fn push_date(out: &mut Vec<u8>, days: i64) {
    let CivilDate { year, month, day } = CivilDate::of_days(days);
    if (0..=9999).contains(&year) {
        push_pair(out, year / 100);
        push_pair(out, year % 100);
    } else {
        // ISO 8601 writes years beyond four digits with a sign and six digits.
        write!(out, "{year:+07}").expect("a buffer takes all");
    }
    out.push(b'-');
    push_pair(out, month.into());
    out.push(b'-');
    push_pair(out, day.into());
}

/// The point in time that is so many ticks after 1970-01-01 00:00:00.
pub(super) fn push_timestamp(out: &mut Vec<u8>, ticks: i64, ticks_per_second: i64, is_zoned: bool) {
    let seconds = ticks.div_euclid(ticks_per_second);
    let second_of_day = seconds.rem_euclid(86_400);
    push_date(out, seconds.div_euclid(86_400));
    out.push(b' ');
    push_pair(out, second_of_day / 3600);
    out.push(b':');
    push_pair(out, second_of_day / 60 % 60);
    out.push(b':');
    push_pair(out, second_of_day % 60);
    push_fraction(out, ticks.rem_euclid(ticks_per_second), ticks_per_second);
    if is_zoned {
        out.push(b'Z');
    }
}

/// A day as text.
pub(crate) fn date_text(days: i64) -> String {
    CivilDate::of_days(days).to_string()
}

/// A point in time as text.
pub(crate) fn timestamp_text(ticks: i64, ticks_per_second: i64, is_zoned: bool) -> String {
    let mut out = Vec::new();
    push_timestamp(&mut out, ticks, ticks_per_second, is_zoned);
    String::from_utf8(out).expect("dates are ASCII")
}

/// The fraction `part / whole`, where `whole` is a power of ten, without zeros at its end.
fn push_fraction(out: &mut Vec<u8>, mut part: i64, mut whole: i64) {
    if part == 0 {
        return;
    }
    out.push(b'.');
    while part > 0 {
        whole /= 10;
        out.push(b'0' + (part / whole) as u8);
        part %= whole;
    }
}

fn push_pair(out: &mut Vec<u8>, number: i64) {
    let pair = number as usize * 2;
    out.extend_from_slice(&DIGIT_PAIRS[pair..pair + 2]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(push: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"before,".to_vec();
        push(&mut out);
        String::from_utf8(out.split_off(7)).unwrap()
    }

    #[test]
    fn decimals_have_exactly_their_scale() {
        let of = |value, scale| text(|out| push_decimal(out, value, scale));
        assert_eq!(of(0, 2), "0.00");
        assert_eq!(of(-5, 2), "-0.05");
        assert_eq!(of(12345, 2), "123.45");
        assert_eq!(of(123, 3), "0.123");
        assert_eq!(of(-7, 0), "-7");
        assert_eq!(of(12, -3), "12000");
        assert_eq!(of(0, -3), "0");
        assert_eq!(of(i128::MIN, 38), "-1.70141183460469231731687303715884105728");
        assert_eq!(
            text(|out| push_decimal_256(out, i256::from_i128(-15), 1)),
            "-1.5",
            "the sign is no digit"
        );
    }

    #[test]
    fn times_before_1970_and_fractions_are_exact() {
        let of = |ticks, unit| text(|out| push_timestamp(out, ticks, unit, false));
        assert_eq!(of(-1, 1_000_000), "1969-12-31 23:59:59.999999");
        assert_eq!(of(1_500, 1_000), "1970-01-01 00:00:01.5");
        assert_eq!(of(0, 1), "1970-01-01 00:00:00");
        assert_eq!(of(1, 1_000_000_000), "1970-01-01 00:00:00.000000001");
        assert_eq!(text(|out| push_timestamp(out, 3_723, 1, true)), "1970-01-01 01:02:03Z");
    }

    #[test]
    fn years_beyond_four_digits_carry_a_sign() {
        assert_eq!(text(|out| push_date(out, 2_932_897)), "+010000-01-01");
        assert_eq!(text(|out| push_date(out, -719_529)), "-000001-12-31");
    }

    proptest! {
        #[test]
        fn integers_are_written_as_the_standard_library_does(wide: i64, narrow: i32) {
            prop_assert_eq!(text(|out| push_i64(out, wide)), wide.to_string());
            prop_assert_eq!(text(|out| push_i32(out, narrow)), narrow.to_string());
            let short = wide % 1000;
            prop_assert_eq!(text(|out| push_i64(out, short)), short.to_string());
        }

        #[test]
        fn dates_are_written_as_everywhere(days: i32) {
            let date = CivilDate::of_days(days.into());
            prop_assert_eq!(text(|out| push_date(out, days.into())), date.to_string());
        }

        #[test]
        fn floats_read_back_as_themselves(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(!value.is_nan());
            prop_assert_eq!(text(|out| push_float(out, value)).parse::<f64>().unwrap(), value);
        }
    }

    #[test]
    fn the_ends_of_64_bits_are_written() {
        assert_eq!(text(|out| push_i64(out, i64::MIN)), i64::MIN.to_string());
        assert_eq!(text(|out| push_u64(out, u64::MAX)), u64::MAX.to_string());
        assert_eq!(text(|out| push_i32(out, i32::MIN)), i32::MIN.to_string());
    }
}
