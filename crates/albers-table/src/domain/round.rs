//! Round values: those that are written with few digits, or that begin a year, a day or an hour.
//!
//! Guarantee: what is found depends on the ends of the gap and on what is taken, on nothing else.
//! Cost: a few tries for each level of roundness; a level is left when its values are not free.
//!
//! ```text
//!   integers, decimals   ..., multiples of 100, 50, 10, 5, 1
//!   dates                first of a century, ..., decade, year, half year, quarter, month; days
//!   timestamps           the same, then days, hours, minutes, seconds, parts of a second
//!   floats               one digit, two digits, ...
//! ```

use std::ops::RangeInclusive;

use crate::value::{TickFormat, days_of_month, month_of_days};

/// So many values of a level are tried, those nearest the middle of the gap first.
const N_TRIES: usize = 16;

/// The most digits that a float needs.
const FLOAT_DIGITS: i32 = 17;

const DAY: i64 = 86_400_000_000;
const HOUR: i64 = 3_600_000_000;
const MINUTE: i64 = 60_000_000;
const SECOND: i64 = 1_000_000;

/// Values that are equally round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// The beginnings of every so many months.
    Months(i64),
    /// The multiples of so many ticks.
    Ticks(i64),
}

const NUMBERS: [Level; 37] = numbers();

const MONTHS: [Level; 8] = [
    Level::Months(1200),
    Level::Months(600),
    Level::Months(120),
    Level::Months(60),
    Level::Months(12),
    Level::Months(6),
    Level::Months(3),
    Level::Months(1),
];

const CLOCK: [Level; 12] = [
    Level::Ticks(DAY),
    Level::Ticks(12 * HOUR),
    Level::Ticks(6 * HOUR),
    Level::Ticks(HOUR),
    Level::Ticks(30 * MINUTE),
    Level::Ticks(10 * MINUTE),
    Level::Ticks(5 * MINUTE),
    Level::Ticks(MINUTE),
    Level::Ticks(30 * SECOND),
    Level::Ticks(10 * SECOND),
    Level::Ticks(5 * SECOND),
    Level::Ticks(SECOND),
];

const DAYS: [Level; 1] = [Level::Ticks(1)];

/// Where the parts of a second begin among the numbers.
const PARTS_OF_A_SECOND: usize = 25;

const fn numbers() -> [Level; 37] {
    let mut levels = [Level::Ticks(1); 37];
    let mut unit: i64 = 1;
    let mut at = 36;
    while at > 0 {
        levels[at - 1] = Level::Ticks(5 * unit);
        unit *= 10;
        levels[at - 2] = Level::Ticks(unit);
        at -= 2;
    }
    levels
}

/// The roundest of the free ticks from `lo` to `hi`, of equals the one nearest the middle, and the
/// lower one of two.
pub fn roundest_ticks(
    format: TickFormat,
    (lo, hi): (i64, i64),
    is_free: impl Fn(i64) -> bool,
) -> Option<i64> {
    if lo > hi {
        return None;
    }
    let levels: [&[Level]; 2] = match format {
        TickFormat::Integer | TickFormat::Decimal { .. } => [&NUMBERS, &[]],
        TickFormat::Date => [&MONTHS, &DAYS],
        TickFormat::Timestamp { .. } => [&MONTHS, &CLOCK],
    };
    let parts: &[Level] = match format {
        TickFormat::Timestamp { .. } => &NUMBERS[PARTS_OF_A_SECOND..],
        _ => &[],
    };
    let day = if format == TickFormat::Date { 1 } else { DAY };
    levels.into_iter().chain([parts]).flatten().find_map(|level| match *level {
        Level::Ticks(unit) => {
            let (lo, hi, unit) = (i128::from(lo), i128::from(hi), i128::from(unit));
            let middle = (lo + hi + unit - 1).div_euclid(2 * unit);
            nearest_the_middle(-(-lo).div_euclid(unit)..=hi.div_euclid(unit), middle, |multiple| {
                i64::try_from(multiple * unit).ok().filter(|&ticks| is_free(ticks))
            })
        }
        Level::Months(n_months) => {
            let first_day = -(-i128::from(lo)).div_euclid(day.into()) as i64;
            let first = month_of_days(first_day - 1) + 1;
            let last = month_of_days(hi.div_euclid(day)).div_euclid(n_months);
            let first = -(-first).div_euclid(n_months);
            let middle = (first + last).div_euclid(2);
            nearest_the_middle(first.into()..=last.into(), middle.into(), |multiple| {
                let days = days_of_month(multiple as i64 * n_months);
                days.checked_mul(day).filter(|&ticks| is_free(ticks))
            })
        }
    })
}

/// The free float between two others, both left out, that has the fewest digits, of equals the one
/// nearest the middle.
pub fn roundest_float(lo: f64, hi: f64, is_free: impl Fn(f64) -> bool) -> Option<f64> {
    let fits = |float: f64| (lo < float && float < hi && is_free(float)).then_some(float);
    if let Some(zero) = fits(0.0) {
        return Some(zero);
    }
    let size = lo.abs().max(hi.abs());
    let first = size.log10().floor() as i32;
    let by_digits = (first - FLOAT_DIGITS..=first).rev().find_map(|exponent| {
        // Powers of ten up to 10^22 are exact; half of one does not overflow.
        let half = -exponent / 2;
        let in_units = |float: f64| match exponent < 0 {
            true => float * 10f64.powi(half) * 10f64.powi(-exponent - half),
            false => float / 10f64.powi(exponent),
        };
        let whole = |float: f64| i128::from(float as i64);
        let (first, last) = (whole(in_units(lo).floor()), whole(in_units(hi).ceil()));
        let middle = in_units(lo) / 2.0 + in_units(hi) / 2.0;
        let read = |mantissa: i128| format!("{mantissa}e{exponent}").parse().ok().and_then(fits);
        let fives = -(-first).div_euclid(5)..=last.div_euclid(5);
        nearest_the_middle(fives, whole((middle / 5.0 - 0.5).ceil()), |fives| read(fives * 5))
            .or_else(|| nearest_the_middle(first..=last, whole((middle - 0.5).ceil()), read))
    });
    by_digits.or_else(|| fits(lo.next_up()))
}

/// What is found for a number in a range, of which those nearest the middle are tried.
fn nearest_the_middle<T>(
    range: RangeInclusive<i128>,
    middle: i128,
    find: impl Fn(i128) -> Option<T>,
) -> Option<T> {
    let middle = middle.clamp(*range.start(), (*range.end()).max(*range.start()));
    let outward = (0..).map(|at: i128| middle + if at % 2 == 0 { at / 2 } else { -(at / 2) - 1 });
    outward.take(N_TRIES).filter(|number| range.contains(number)).find_map(find)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{parse_date, parse_timestamp};

    fn number(lo: i64, hi: i64) -> i64 {
        roundest_ticks(TickFormat::Integer, (lo, hi), |_| true).unwrap()
    }

    #[test]
    fn numbers_have_the_most_zeros_then_fives() {
        let cases = [
            ((21, 39), 30),
            ((22, 29), 25),
            ((26, 29), 27),
            ((850, 1230), 1000),
            ((1100, 1900), 1500),
            ((-30, 12), 0),
            ((-99, -51), -80),
            ((i64::MIN, i64::MIN + 3), i64::MIN + 3),
            ((i64::MAX - 1, i64::MAX), i64::MAX - 1),
            ((7, 7), 7),
        ];
        for ((lo, hi), expected) in cases {
            assert_eq!(number(lo, hi), expected, "{lo} to {hi}");
        }
        assert_eq!(roundest_ticks(TickFormat::Integer, (8, 7), |_| true), None);
    }

    #[test]
    fn the_ends_of_all_numbers_are_taken_in() {
        assert_eq!(number(i64::MIN, i64::MAX), 0);
        for (lo, hi) in [(1, i64::MAX), (i64::MIN, -1)] {
            assert_eq!(number(lo, hi) % 1_000_000_000_000_000_000, 0);
        }
    }

    #[test]
    fn dates_begin_a_year_or_a_month() {
        let day = |text: &str| parse_date(text.as_bytes()).unwrap();
        let cases = [
            ("1987-05-03", "2003-02-01", "2000-01-01"),
            ("1991-05-03", "1994-02-01", "1993-01-01"),
            ("1991-01-02", "1991-12-31", "1991-07-01"),
            ("1991-01-02", "1991-02-27", "1991-02-01"),
            ("1991-02-02", "1991-02-20", "1991-02-11"),
            ("2024-03-01", "2024-03-01", "2024-03-01"),
            ("0000-01-02", "0000-03-05", "0000-02-01"),
        ];
        for (lo, hi, expected) in cases {
            let found = roundest_ticks(TickFormat::Date, (day(lo), day(hi)), |_| true).unwrap();
            assert_eq!(TickFormat::Date.text(found), expected, "{lo} to {hi}");
        }
        // Years of more than four digits begin like all others.
        let found = roundest_ticks(TickFormat::Date, (90_000_000, 90_000_300), |_| true).unwrap();
        assert_eq!(TickFormat::Date.text(found), "+248382-01-01");
    }

    #[test]
    fn times_begin_a_day_an_hour_a_minute_or_a_second() {
        let format = TickFormat::Timestamp { zoned: false };
        let time = |text: &str| parse_timestamp(text.as_bytes()).unwrap().0;
        let cases = [
            ("1999-05-03 10:00:00", "2003-02-01 11:00:00", "2000-01-01 00:00:00"),
            ("1999-05-03 10:00:00", "1999-05-09 11:00:00", "1999-05-06 00:00:00"),
            ("1999-05-03 10:01:00", "1999-05-03 15:59:00", "1999-05-03 12:00:00"),
            ("1969-05-03 10:01:01", "1969-05-03 10:08:59", "1969-05-03 10:05:00"),
            ("1999-05-03 10:01:01.25", "1999-05-03 10:01:03.75", "1999-05-03 10:01:02"),
            ("1999-05-03 10:01:01.26", "1999-05-03 10:01:01.74", "1999-05-03 10:01:01.5"),
            ("1999-05-03 10:01:01.26", "1999-05-03 10:01:01.44", "1999-05-03 10:01:01.3"),
        ];
        for (lo, hi, expected) in cases {
            let found = roundest_ticks(format, (time(lo), time(hi)), |_| true).unwrap();
            assert_eq!(format.text(found), expected, "{lo} to {hi}");
        }
    }

    #[test]
    fn floats_have_the_fewest_digits() {
        let cases = [
            (0.21, 0.39, 0.3),
            (1.3, 9.7, 5.0),
            (-3.0, 1e-9, -0.0),
            (-3.25, -3.21, -3.23),
            (1e300, 3e300, 2e300),
            (1e-310, 3e-310, 2e-310),
            (123.456, 123.457, 123.4565),
            (f64::MIN, f64::MAX, 0.0),
            (900.0, 2100.0, 1000.0),
        ];
        for (lo, hi, expected) in cases {
            assert_eq!(roundest_float(lo, hi, |_| true), Some(expected), "{lo} to {hi}");
        }
        assert_eq!(roundest_float(1.0, 1.0f64.next_up(), |_| true), None);
        let next = 1.0f64.next_up();
        assert_eq!(roundest_float(1.0, next.next_up(), |_| true), Some(next));
    }

    #[test]
    fn what_is_taken_is_passed_over() {
        let found = roundest_ticks(TickFormat::Integer, (21, 59), |ticks| ticks % 10 != 0);
        assert_eq!(found, Some(35));
        assert_eq!(roundest_float(1.5, 2.5, |float| float != 2.0), Some(1.9));
    }
}
