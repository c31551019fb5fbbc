//! One cell of a sheet as text.

use std::borrow::Cow;
use std::fmt::Write as _;

/// What a cell holds that is not empty.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SheetCell<'a> {
    /// Text as it is.
    Text(Cow<'a, str>),
    /// A number, of whatever style.
    Number(f64),
    /// A boolean.
    Boolean(bool),
    /// A day, `YYYY-MM-DD`, and the time of day if it is not midnight.
    Moment { day: String, time: Option<String> },
    /// An error, as it is shown.
    Error(&'static str),
}

/// Above this, not all whole numbers are numbers of a sheet.
const MOST_WHOLE: f64 = 9_007_199_254_740_992.0;

impl SheetCell<'_> {
    /// Appends it; a day in a column with times of day begins at midnight.
    pub(super) fn push(&self, out: &mut String, has_times: bool) {
        let pushed = match self {
            SheetCell::Text(text) => out.write_str(text),
            SheetCell::Number(number) => push_number(out, *number),
            SheetCell::Boolean(value) => write!(out, "{value}"),
            SheetCell::Moment { day, time } => match (time, has_times) {
                (Some(time), _) => write!(out, "{day} {time}"),
                (None, true) => write!(out, "{day} 00:00:00"),
                (None, false) => out.write_str(day),
            },
            SheetCell::Error(shown) => out.write_str(shown),
        };
        pushed.expect("a text takes all");
    }

    /// The same, without a copy of its text.
    pub(super) fn borrowed(&self) -> SheetCell<'_> {
        match self {
            SheetCell::Text(text) => SheetCell::Text(Cow::Borrowed(text)),
            other => other.clone(),
        }
    }

    /// Bytes that it has at least when it is written: all of a text.
    pub(super) fn n_bytes(&self) -> u64 {
        match self {
            SheetCell::Text(text) => text.len() as u64,
            _ => 1,
        }
    }

    /// Whether nothing is in it: a text without letters.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, SheetCell::Text(text) if text.is_empty())
    }
}

/// The shortest digits that are this number, without a point where it is whole.
fn push_number(out: &mut String, number: f64) -> std::fmt::Result {
    let size = number.abs();
    if number.fract() == 0.0 && size <= MOST_WHOLE {
        write!(out, "{}", number as i64)
    } else if (1e-5..1e16).contains(&size) {
        write!(out, "{number}")
    } else {
        write!(out, "{number:e}")
    }
}

/// A time of day or a length of time, given in seconds, as `HH:MM:SS` with what is left of a
/// second.
pub(super) fn clock(seconds: f64) -> String {
    let milliseconds = (seconds.abs() * 1000.0).round() as u64;
    let (whole, rest) = (milliseconds / 1000, milliseconds % 1000);
    let sign = if seconds < 0.0 { "-" } else { "" };
    let mut text = format!("{sign}{:02}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
    if rest > 0 {
        text.push_str(format!(".{rest:03}").trim_end_matches('0'));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_more_digits_than_they_need() {
        for (number, expected) in [
            (3.0, "3"),
            (-0.0, "0"),
            (0.1, "0.1"),
            (1234.5, "1234.5"),
            (-2.75e-3, "-0.00275"),
            (1e300, "1e300"),
            (9_007_199_254_740_992.0, "9007199254740992"),
        ] {
            let mut text = String::new();
            SheetCell::Number(number).push(&mut text, false);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn a_day_begins_at_midnight_only_beside_times_of_day() {
        let day = SheetCell::Moment { day: "2024-02-29".to_owned(), time: None };
        let (mut alone, mut beside) = (String::new(), String::new());
        day.push(&mut alone, false);
        day.push(&mut beside, true);
        assert_eq!((alone.as_str(), beside.as_str()), ("2024-02-29", "2024-02-29 00:00:00"));
    }

    #[test]
    fn lengths_of_time_are_clocks() {
        assert_eq!(
            [clock(0.0), clock(45_296.5), clock(-60.0)],
            ["00:00:00", "12:34:56.5", "-00:01:00"]
        );
    }
}
