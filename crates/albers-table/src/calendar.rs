//! Days as dates of the Gregorian calendar, extended in both directions without end.
//!
//! Source: Howard Hinnant, "chrono-compatible low-level date algorithms".
//! Guarantee: every day that 64 bits of microseconds or 32 bits of days reach has one text, and the
//! text is read back as the day.
//! Cost: a few divisions.
//!
//! ```text
//!   0000-01-01 .. 9999-12-31     years of four digits
//!   -000001-12-31  +010000-01-01 all others: a sign and at least six digits, as ISO 8601 has it
//! ```

use std::fmt;

/// Months are counted in eras of 400 years from 0000-03-01, so that the leap day is the last of its
/// year.
const ERA_DAYS: i64 = 146_097;

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// The most digits of a year that 32 bits of days reach.
const YEAR_DIGITS: usize = 7;

/// A day of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CivilDate {
    /// The year; that before the year 1 is 0.
    pub(crate) year: i64,
    /// From 1 to 12.
    pub(crate) month: u8,
    /// From 1 to 31.
    pub(crate) day: u8,
}

impl CivilDate {
    /// The day that is so many days after 1970-01-01.
    pub(crate) fn of_days(days: i64) -> CivilDate {
        // Microseconds of 64 bits are days far from where this sum would overflow.
        let shifted = days + EPOCH_DAYS;
        let era = shifted.div_euclid(ERA_DAYS);
        let day_of_era = shifted.rem_euclid(ERA_DAYS);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        CivilDate { year, month: month as u8, day: day as u8 }
    }

    /// The day with this date, if there is one.
    pub(crate) fn new(year: i64, month: u8, day: u8) -> Option<CivilDate> {
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let n_days = match month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if is_leap => 29,
            2 => 28,
            _ => return None,
        };
        (1..=n_days).contains(&day).then_some(CivilDate { year, month, day })
    }

    /// Days since 1970-01-01.
    pub(crate) fn days(self) -> i64 {
        let CivilDate { year, month, day } = self;
        let year = year - i64::from(month <= 2);
        let (month, day) = (i64::from(month), i64::from(day));
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * ERA_DAYS + day_of_era - EPOCH_DAYS
    }
}

impl fmt::Display for CivilDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CivilDate { year, month, day } = self;
        match year {
            0..=9999 => write!(f, "{year:04}-{month:02}-{day:02}"),
            _ => write!(f, "{year:+07}-{month:02}-{day:02}"),
        }
    }
}

/// A text that begins like a date: the digits of its year, month and day, and what follows.
pub(crate) struct DateText<'t> {
    year: i64,
    month: u8,
    day: u8,
    /// What follows the day.
    pub(crate) rest: &'t [u8],
}

impl<'t> DateText<'t> {
    /// Takes a date from the beginning of a text, whether or not a calendar has it.
    pub(crate) fn at_start_of(text: &'t [u8]) -> Option<DateText<'t>> {
        let (is_negative, unsigned) = match text {
            [b'-', unsigned @ ..] => (true, unsigned),
            [b'+', unsigned @ ..] => (false, unsigned),
            unsigned => (false, unsigned),
        };
        let n_digits = unsigned.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_signed = unsigned.len() < text.len();
        let is_year = match is_signed {
            true => (6..=YEAR_DIGITS).contains(&n_digits),
            false => n_digits == 4,
        };
        let (year, after) = unsigned.split_at(n_digits);
        let &[b'-', m1, m2, b'-', d1, d2, ref rest @ ..] = after else { return None };
        if !is_year || ![m1, m2, d1, d2].iter().all(u8::is_ascii_digit) {
            return None;
        }
        let size = year.iter().fold(0i64, |year, digit| year * 10 + i64::from(digit - b'0'));
        let two = |tens: u8, ones: u8| (tens - b'0') * 10 + (ones - b'0');
        Some(DateText {
            year: if is_negative { -size } else { size },
            month: two(m1, m2),
            day: two(d1, d2),
            rest,
        })
    }

    /// The date, if a calendar has it.
    pub(crate) fn date(&self) -> Option<CivilDate> {
        CivilDate::new(self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<i64> {
        let found = DateText::at_start_of(text.as_bytes())?;
        found.rest.is_empty().then(|| found.date().map(CivilDate::days))?
    }

    #[test]
    fn every_day_of_ten_thousand_years_is_that_of_the_calendar() {
        let mut date = jiff::civil::date(-1, 1, 1);
        let mut days = CivilDate::new(-1, 1, 1).unwrap().days();
        while date < jiff::civil::Date::MAX {
            let own = CivilDate::of_days(days);
            assert_eq!(own.to_string(), date.to_string());
            assert_eq!(own.days(), days);
            date = date.tomorrow().unwrap();
            days += 1;
        }
    }

    #[test]
    fn days_that_no_calendar_has_are_refused() {
        for text in ["2023-02-29", "1900-02-29", "2024-13-01", "2024-00-10", "2024-04-31"] {
            assert!(DateText::at_start_of(text.as_bytes()).unwrap().date().is_none(), "{text}");
        }
        assert!(read("2000-02-29").is_some() && read("-000004-02-29").is_some());
    }

    #[test]
    fn years_beyond_four_digits_carry_a_sign() {
        assert_eq!(CivilDate::of_days(2_932_897).to_string(), "+010000-01-01");
        assert_eq!(CivilDate::of_days(-719_529).to_string(), "-000001-12-31");
        assert_eq!(CivilDate::of_days(i64::from(i32::MAX)).to_string(), "+5881580-07-11");
        for text in ["10000-01-01", "-0001-12-31", "+2024-01-01", "24-01-01", "2024-1-1"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_day_is_read_back(days in any::<i32>()) {
            let text = CivilDate::of_days(days.into()).to_string();
            prop_assert_eq!(read(&text), Some(days.into()), "{}", text);
        }
    }
}
