//! Dates and times in a format that is said or was told from all rows.
//!
//! Guarantee: a cell is read by the format and by nothing else: a year has four digits unless the
//! format says two, digits may lack their leading zeros only between separators, and nothing may
//! follow. What is read is written back by the format as the cell, but for such zeros and for case.
//! Cost: one parse and one print by the calendar library per cell.

use std::fmt;
use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;

/// A format such as `%d.%m.%Y`, with the letters of `strptime`; `%d-%b-%y@1930` says that years of
/// two digits are those from 1930 to 2029.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateFormat {
    pattern: String,
    /// The first of the hundred years that two digits stand for.
    first_year: Option<i16>,
    has_time: bool,
}

/// The least year of four digits.
const LEAST_YEAR: i16 = 1000;

impl DateFormat {
    /// Whether it tells a time of the day, and not only a day.
    pub fn has_time(&self) -> bool {
        self.has_time
    }

    /// A format of the shapes that are known.
    pub(super) fn known(pattern: String) -> DateFormat {
        let has_time = pattern.contains("%H") || pattern.contains("%I");
        DateFormat { pattern, first_year: None, has_time }
    }

    /// Puts the date or the time of a cell into `plain`, as the program writes it.
    pub(crate) fn plain(&self, cell: &[u8], plain: &mut Vec<u8>) -> Option<()> {
        use std::io::Write as _;
        let time = self.read(cell.trim_ascii())?;
        plain.clear();
        let written = match self.has_time {
            true => write!(plain, "{} {}", time.date(), time.time()),
            false => write!(plain, "{}", time.date()),
        };
        written.ok()
    }

    fn read(&self, cell: &[u8]) -> Option<DateTime> {
        let parsed = BrokenDownTime::parse(&self.pattern, cell).ok()?;
        let time = match self.has_time {
            true => parsed.to_datetime().ok()?,
            false => parsed.to_date().ok()?.to_datetime(jiff::civil::Time::midnight()),
        };
        let shown = jiff::fmt::strtime::format(&self.pattern, time).ok()?;
        if !is_same(cell, shown.as_bytes()) {
            return None;
        }
        match self.first_year {
            Some(first_year) => {
                let year = first_year + (time.year() - first_year).rem_euclid(100);
                time.with().year(year).build().ok()
            }
            None => (time.year() >= LEAST_YEAR).then_some(time),
        }
    }
}

/// Whether two texts are the same but for case and for zeros before digits between separators.
fn is_same(given: &[u8], shown: &[u8]) -> bool {
    let (mut given, mut shown) = (given, shown);
    loop {
        match (given, shown) {
            ([], []) => return true,
            ([a, ..], [b, ..]) if a.is_ascii_digit() && b.is_ascii_digit() => {
                let (own, given_rest) = number_at_start(given);
                let (other, shown_rest) = number_at_start(shown);
                if own != other {
                    return false;
                }
                (given, shown) = (given_rest, shown_rest);
            }
            ([a, given_rest @ ..], [b, shown_rest @ ..]) if a.eq_ignore_ascii_case(b) => {
                (given, shown) = (given_rest, shown_rest);
            }
            _ => return false,
        }
    }
}

/// The digits at the start of a text without leading zeros, and what follows them.
fn number_at_start(text: &[u8]) -> (&[u8], &[u8]) {
    let n_digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(n_digits);
    let n_zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    (&digits[n_zeros..], rest)
}

impl fmt::Display for DateFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first_year {
            Some(first_year) => write!(f, "{}@{first_year}", self.pattern),
            None => f.write_str(&self.pattern),
        }
    }
}

impl FromStr for DateFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<DateFormat, String> {
        let (pattern, first_year) = match text.rsplit_once('@') {
            Some((pattern, year)) => {
                let year: i16 = year.parse().map_err(|_| problem(text))?;
                if !(LEAST_YEAR..=9900).contains(&year) {
                    return Err(problem(text));
                }
                (pattern, Some(year))
            }
            None => (text, None),
        };
        if first_year.is_some() != has_short_year(pattern) {
            return Err(match first_year {
                Some(_) => format!("'{text}' names a first year, but has no %y for two digits"),
                None => format!(
                    "'{text}' has %y, which does not tell the century; add the first of the \
                     hundred years that are meant, such as '{text}@1930' for 1930 to 2029"
                ),
            });
        }
        let format = |has_time| DateFormat { pattern: pattern.to_owned(), first_year, has_time };
        // A format is whole if it reads what it writes itself.
        let year = first_year.map_or(2021, |first_year| first_year + 21);
        let whole = [true, false].map(|has_time| (format(has_time), sample_time(year, has_time)));
        for (format, time) in whole {
            let shown = jiff::fmt::strtime::format(pattern, time).map_err(|_| problem(text))?;
            if format.read(shown.as_bytes()) == Some(time) {
                return Ok(format);
            }
        }
        Err(problem(text))
    }
}

/// A time that no format writes without its day, month and year.
fn sample_time(year: i16, has_time: bool) -> DateTime {
    let date = jiff::civil::date(year, 11, 23);
    match has_time {
        true => date.at(17, 34, 0, 0),
        false => date.at(0, 0, 0, 0),
    }
}

fn has_short_year(pattern: &str) -> bool {
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter == '%' && letters.next() == Some('y') {
            return true;
        }
    }
    false
}

fn problem(text: &str) -> String {
    format!(
        "'{text}' is no format of dates; use for example %d.%m.%Y, %m/%d/%Y, %d-%b-%y@1930 or \
         '%d.%m.%Y %H:%M'"
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(format: &str, cell: &str) -> Option<String> {
        let mut plain = Vec::new();
        let format: DateFormat = format.parse().unwrap();
        format.plain(cell.as_bytes(), &mut plain)?;
        Some(String::from_utf8(plain).unwrap())
    }

    #[test]
    fn a_format_reads_its_dates_and_no_others() {
        for (format, cell, expected) in [
            ("%d.%m.%Y", "31.12.2020", Some("2020-12-31")),
            ("%d.%m.%Y", "1.2.2020", Some("2020-02-01")),
            ("%d.%m.%Y", "31.12.20", None),
            ("%d.%m.%Y", "12/31/2020", None),
            ("%d.%m.%Y", "30.02.2020", None),
            ("%d.%m.%Y", "31.12.2020 ", Some("2020-12-31")),
            ("%d.%m.%Y", "31.12.2020x", None),
            ("%m/%d/%Y", "12/31/2020", Some("2020-12-31")),
            ("%m/%d/%Y", "31/12/2020", None),
            ("%d-%b-%y@1930", "31-Dec-20", Some("2020-12-31")),
            ("%d-%b-%y@1930", "31-DEC-45", Some("1945-12-31")),
            ("%d-%b-%y@2000", "31-Dec-45", Some("2045-12-31")),
            ("%d-%b-%y@1900", "29-Feb-00", None),
            ("%Y%m%d", "20201231", Some("2020-12-31")),
            ("%Y%m%d", "2020111", None),
            ("%B %d, %Y", "May 3, 2020", Some("2020-05-03")),
            ("%d.%m.%Y %H:%M", "31.12.2020 7:05", Some("2020-12-31 07:05:00")),
            ("%m/%d/%Y %I:%M %p", "12/31/2020 7:05 PM", Some("2020-12-31 19:05:00")),
        ] {
            assert_eq!(read(format, cell).as_deref(), expected, "{cell} by {format}");
        }
    }

    #[test]
    fn formats_that_tell_no_whole_date_are_refused() {
        for text in ["%d.%m", "%Y", "dd.mm.yyyy", "%q", "", "%H:%M", "%d.%m.%Y@1930"] {
            assert!(text.parse::<DateFormat>().is_err(), "{text}");
        }
        let problem = "%d-%b-%y".parse::<DateFormat>().unwrap_err();
        assert!(problem.contains("century") && problem.contains("@1930"), "{problem}");
        assert_eq!("%d-%b-%y@1930".parse::<DateFormat>().unwrap().to_string(), "%d-%b-%y@1930");
    }

    proptest! {
        #[test]
        fn what_a_format_writes_is_read_back(days in -100_000i32..100_000, at in 0usize..7) {
            const FORMATS: [&str; 7] = [
                "%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%b-%Y", "%B %d, %Y", "%d%b%Y", "%Y%m%d",
            ];
            let date = jiff::civil::date(1970, 1, 1) + jiff::Span::new().days(days);
            let cell = date.strftime(FORMATS[at]).to_string();
            prop_assert_eq!(read(FORMATS[at], &cell), Some(date.to_string()));
        }

        #[test]
        fn what_is_read_is_written_back_as_the_cell(cell in "[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}") {
            for pattern in ["%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%y@1950"] {
                let Some(plain) = read(pattern, &cell) else { continue };
                let date: jiff::civil::Date = plain.parse().unwrap();
                let shown = date.strftime(pattern.split('@').next().unwrap()).to_string();
                let values = |text: &str| -> Vec<u32> {
                    text.split(['.', '/', '-']).map(|part| part.parse().unwrap()).collect()
                };
                prop_assert_eq!(values(&cell), values(&shown));
            }
        }
    }
}
