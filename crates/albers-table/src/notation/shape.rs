//! What dates look like that are not written as the program writes them.
//!
//! ```text
//!   31.12.2020   31/12/2020   31-12-2020    day first
//!   12/31/2020                              month first
//!   03/04/2020                              one of both: other cells of the column tell
//!   2020/12/31   2020-1-5                   year first
//!   31-Dec-2020  31 December 2020  31DEC2020  Dec 31, 2020
//!   31-Dec-20    31.12.20                   of which century?
//!   ... 14:30    ... 14:30:05    ... 2:30 PM
//! ```
//!
//! Guarantee: what is counted is a function of the cells, whatever their order.

use super::date::DateFormat;
use super::doubt::Doubt;
use crate::calendar::CivilDate;

/// What the dates of a column look like, and how many do.
#[derive(Debug, Clone, Default)]
pub(crate) struct DateShapes(Vec<(DateShape, ShapeCounts)>);

/// The shape of a date, but for whether day or month come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DateShape {
    order: Order,
    /// What stands between day, month and year; nothing in `31DEC2020`.
    separator: Option<u8>,
    month: Month,
    is_short_year: bool,
    time: Option<TimeShape>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Day and month in numbers, then the year.
    YearLast,
    YearFirst,
    /// Day, name of the month, year.
    DayNameYear,
    /// `Dec 31, 2020`, with a comma or without.
    NameDayYear {
        has_comma: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Month {
    Number,
    Short,
    Long,
    /// The one name that is as short as it is long.
    May,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TimeShape {
    has_t: bool,
    has_seconds: bool,
    has_fraction: bool,
    /// Whether AM or PM follows, and whether a space stands before it.
    half: Option<bool>,
}

/// How many cells have a shape, by how they can be read.
#[derive(Debug, Clone, Copy, Default)]
struct ShapeCounts {
    only_day_first: u64,
    only_month_first: u64,
    both: u64,
}

impl ShapeCounts {
    fn n_cells(self) -> u64 {
        self.only_day_first + self.only_month_first + self.both
    }
}

/// What is told of dates.
pub(crate) enum ToldDates {
    In(DateFormat),
    Undecided(Doubt),
}

impl DateShapes {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Cells of days with points between day, month and a year of four digits.
    pub(crate) fn n_dotted(&self) -> u64 {
        let is_dotted = |shape: &DateShape| {
            let DateShape { order, separator, is_short_year, .. } = *shape;
            order == Order::YearLast && separator == Some(b'.') && !is_short_year
        };
        let dotted = self.0.iter().filter(|(shape, _)| is_dotted(shape));
        dotted.map(|(_, counts)| counts.n_cells()).sum()
    }

    /// Counts a cell if it has a shape of dates.
    pub(crate) fn add(&mut self, cell: &[u8], n_cells: u64) -> bool {
        let Some((shape, counts)) = shape_of(cell) else { return false };
        self.count(shape, counts, n_cells);
        true
    }

    fn count(&mut self, shape: DateShape, counts: ShapeCounts, times: u64) {
        let own = match self.0.iter().position(|(own, _)| *own == shape) {
            Some(place) => &mut self.0[place].1,
            None => {
                self.0.push((shape, ShapeCounts::default()));
                &mut self.0.last_mut().expect("one was just added").1
            }
        };
        own.only_day_first += counts.only_day_first * times;
        own.only_month_first += counts.only_month_first * times;
        own.both += counts.both * times;
    }

    /// Adds what other cells look like.
    pub(crate) fn merge(&mut self, other: &DateShapes) {
        other.0.iter().for_each(|&(shape, counts)| self.count(shape, counts, 1));
    }

    /// A shape with the cells in May, which may be of it.
    fn with_may(&self, shape: DateShape, mut counts: ShapeCounts) -> ShapeCounts {
        let in_may = DateShape { month: Month::May, ..shape };
        let is_named = matches!(shape.month, Month::Short | Month::Long);
        if let Some((_, may)) = self.0.iter().find(|(own, _)| is_named && *own == in_may) {
            counts.both += may.both;
        }
        counts
    }

    /// The format of the dates if so many of them, with those of the plain notation, are enough.
    pub(crate) fn told(
        &self,
        n_plain: u64,
        is_enough: impl Fn(u64) -> bool,
    ) -> Option<(bool, ToldDates)> {
        // May is taken for a short name only if there is no other.
        let is_may = |own: &&(DateShape, ShapeCounts)| own.0.month == Month::May;
        let others = self.0.iter().filter(|own| !is_may(own));
        let mut shapes = others
            .chain(self.0.iter().filter(is_may))
            .map(|&(shape, counts)| (shape, self.with_may(shape, counts)));
        let (shape, counts) = shapes.find(|(shape, counts)| {
            is_enough(counts.n_cells() + if shape.may_be_plain() { n_plain } else { 0 })
        })?;
        let format = |month_first| DateFormat::known(shape.pattern(month_first));
        let ShapeCounts { only_day_first, only_month_first, both } = counts;
        let told = if shape.is_short_year {
            let orders = match (shape.order, only_day_first, only_month_first) {
                (Order::YearLast, _, 0) if only_day_first > 0 => vec![false],
                (Order::YearLast, 0, _) if only_month_first > 0 => vec![true],
                (Order::YearLast, ..) => vec![false, true],
                _ => vec![false],
            };
            let formats = orders.into_iter().map(|month_first| shape.pattern(month_first));
            ToldDates::Undecided(Doubt::Century { formats: formats.collect() })
        } else if shape.order != Order::YearLast {
            ToldDates::In(format(false))
        } else {
            // The column is no dates if neither order reads nearly all of it, and undecided if both do.
            let day_first = is_enough(only_day_first + both);
            let month_first = is_enough(only_month_first + both);
            match (day_first, month_first) {
                (false, false) => return None,
                (true, _) if only_month_first == 0 && only_day_first > 0 => {
                    ToldDates::In(format(false))
                }
                (_, true) if only_day_first == 0 && only_month_first > 0 => {
                    ToldDates::In(format(true))
                }
                (true, false) => ToldDates::In(format(false)),
                (false, true) => ToldDates::In(format(true)),
                (true, true) => ToldDates::Undecided(Doubt::DayOrMonth {
                    day_first: shape.pattern(false),
                    month_first: shape.pattern(true),
                    is_mixed: only_day_first > 0,
                }),
            }
        };
        Some((shape.time.is_some(), told))
    }
}

impl DateShape {
    /// Whether dates of the plain notation are read by its format too.
    fn may_be_plain(&self) -> bool {
        self.order == Order::YearFirst && self.separator == Some(b'-') && self.time.is_none()
    }

    /// The format, with the month first or the day.
    fn pattern(&self, month_first: bool) -> String {
        let separator = self.separator.map(|byte| char::from(byte).to_string());
        let separator = separator.unwrap_or_default();
        let year = if self.is_short_year { "%y" } else { "%Y" };
        let month = match self.month {
            Month::Number => "%m",
            Month::Short | Month::May => "%b",
            Month::Long => "%B",
        };
        let mut pattern = match self.order {
            Order::YearLast if month_first => [month, "%d", year].join(&separator),
            Order::YearLast | Order::DayNameYear => ["%d", month, year].join(&separator),
            Order::YearFirst => [year, month, "%d"].join(&separator),
            Order::NameDayYear { has_comma: true } => format!("{month} %d, {year}"),
            Order::NameDayYear { has_comma: false } => format!("{month} %d {year}"),
        };
        if let Some(time) = self.time {
            pattern.push(if time.has_t { 'T' } else { ' ' });
            pattern.push_str(if time.half.is_some() { "%I:%M" } else { "%H:%M" });
            pattern.push_str(if time.has_seconds { ":%S" } else { "" });
            pattern.push_str(if time.has_fraction { "%.f" } else { "" });
            pattern.push_str(match time.half {
                Some(true) => " %p",
                Some(false) => "%p",
                None => "",
            });
        }
        pattern
    }
}

/// The month of a cell that is a month and a year with a point between them, `03.2019`, and whether it
/// begins with a zero.
pub(crate) fn month_of_year(cell: &[u8]) -> Option<(u8, bool)> {
    let (month, year) = match cell {
        [month, b'.', year @ ..] => (std::slice::from_ref(month), year),
        [_, _, b'.', year @ ..] => (&cell[..2], year),
        _ => return None,
    };
    let is_month = matches!(month, [b'1'..=b'9'] | [b'0', b'1'..=b'9'] | [b'1', b'0'..=b'2']);
    let is_year = matches!(year, [b'1', b'9', a, b] | [b'2', b'0', a, b]
        if a.is_ascii_digit() && b.is_ascii_digit());
    let number = || month.iter().fold(0, |number, digit| number * 10 + (digit - b'0'));
    (is_month && is_year).then(|| (number(), month[0] == b'0'))
}

/// Whether a number is a day of these centuries, `20201231`.
pub(crate) fn is_day_without_separators(number: i64) -> bool {
    const YEARS: std::ops::RangeInclusive<i64> = 1800..=2199;
    let part = |of: i64, digits: i64| u8::try_from(of % digits);
    match (part(number / 100, 100), part(number, 100)) {
        (Ok(month), Ok(day)) if YEARS.contains(&(number / 10_000)) => {
            CivilDate::new(number / 10_000, month, day).is_some()
        }
        _ => false,
    }
}

/// The shape of a cell that is a date of the calendar in some order.
fn shape_of(cell: &[u8]) -> Option<(DateShape, ShapeCounts)> {
    let cell = cell.trim_ascii();
    let (parts, rest) = match cell.first()? {
        b'0'..=b'9' => number_first(cell)?,
        _ => name_first(cell)?,
    };
    let time = match rest {
        [] => None,
        rest => Some(time_of(rest)?),
    };
    let Parts { order, separator, month, numbers: [a, b, c], year_digits } = parts;
    let is_short_year = year_digits == 2;
    let century = if is_short_year { 2000 } else { 0 };
    let is_date = |year: u32, month: u32, day: u32| {
        let of_calendar = |year| {
            CivilDate::new(i64::from(year), u8::try_from(month).ok()?, u8::try_from(day).ok()?)
        };
        // The 29th of February may be of the other century.
        of_calendar(year + century)
            .or_else(|| of_calendar(1900 + year).filter(|_| is_short_year))
            .is_some()
    };
    let mut counts = ShapeCounts::default();
    match order {
        Order::YearLast => match (is_date(c, b, a), is_date(c, a, b)) {
            (true, false) => counts.only_day_first = 1,
            (false, true) => counts.only_month_first = 1,
            (true, true) => counts.both = 1,
            (false, false) => return None,
        },
        Order::YearFirst => counts.both = u64::from(is_date(a, b, c)),
        Order::DayNameYear => counts.both = u64::from(is_date(c, b, a)),
        Order::NameDayYear { .. } => counts.both = u64::from(is_date(c, a, b)),
    }
    let shape = DateShape { order, separator, month, is_short_year, time };
    (counts.n_cells() > 0).then_some((shape, counts))
}

/// The three parts of a date, in the order in which they stand.
struct Parts {
    order: Order,
    separator: Option<u8>,
    month: Month,
    numbers: [u32; 3],
    year_digits: usize,
}

fn number_first(cell: &[u8]) -> Option<(Parts, &[u8])> {
    let (first, first_digits, rest) = number_at_start(cell)?;
    let separator = rest.first().copied().filter(|byte| matches!(byte, b'.' | b'/' | b'-' | b' '));
    let rest = if separator.is_some() { &rest[1..] } else { rest };
    if rest.first()?.is_ascii_alphabetic() {
        if first_digits > 2 {
            return None;
        }
        let (number, month, rest) = month_at_start(rest)?;
        let rest = match separator {
            Some(separator) => rest.strip_prefix(&[separator])?,
            None => rest,
        };
        let (year, year_digits, rest) = number_at_start(rest)?;
        let is_year = matches!(year_digits, 2 | 4);
        let parts = Parts {
            order: Order::DayNameYear,
            separator,
            month,
            numbers: [first, number, year],
            year_digits,
        };
        return is_year.then_some((parts, rest));
    }
    let separator = separator.filter(|&byte| byte != b' ')?;
    let (second, second_digits, rest) = number_at_start(rest)?;
    let (third, third_digits, rest) = number_at_start(rest.strip_prefix(&[separator])?)?;
    let (order, year_digits) = match (first_digits, second_digits, third_digits) {
        (1 | 2, 1 | 2, 2 | 4) => (Order::YearLast, third_digits),
        (4, 1 | 2, 1 | 2) => (Order::YearFirst, 4),
        _ => return None,
    };
    let (separator, month) = (Some(separator), Month::Number);
    let numbers = [first, second, third];
    Some((Parts { order, separator, month, numbers, year_digits }, rest))
}

fn name_first(cell: &[u8]) -> Option<(Parts, &[u8])> {
    let (number, month, rest) = month_at_start(cell)?;
    let (day, day_digits, rest) = number_at_start(rest.strip_prefix(b" ")?)?;
    let after_comma = rest.strip_prefix(b",");
    let has_comma = after_comma.is_some();
    let rest = after_comma.unwrap_or(rest).strip_prefix(b" ")?;
    let (year, year_digits, rest) = number_at_start(rest)?;
    let parts = Parts {
        order: Order::NameDayYear { has_comma },
        separator: Some(b' '),
        month,
        numbers: [number, day, year],
        year_digits,
    };
    (day_digits <= 2 && year_digits == 4).then_some((parts, rest))
}

/// At most four digits, and how many there are.
fn number_at_start(text: &[u8]) -> Option<(u32, usize, &[u8])> {
    let n_digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=4).contains(&n_digits) {
        return None;
    }
    let (digits, rest) = text.split_at(n_digits);
    let number = digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
    Some((number, n_digits, rest))
}

/// The number of a month whose name stands at the start.
fn month_at_start(text: &[u8]) -> Option<(u32, Month, &[u8])> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let n_letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, rest) = text.split_at(n_letters);
    let place = NAMES.iter().position(|name| {
        let name = name.as_bytes();
        (n_letters == 3 || n_letters == name.len()) && name[..3].eq_ignore_ascii_case(&word[..3])
    })?;
    let is_name = n_letters == 3 || NAMES[place].as_bytes().eq_ignore_ascii_case(word);
    let month = match n_letters {
        3 if NAMES[place] == "may" => Month::May,
        3 => Month::Short,
        _ => Month::Long,
    };
    is_name.then_some((place as u32 + 1, month, rest))
}

/// The time of the day that follows a date.
fn time_of(text: &[u8]) -> Option<TimeShape> {
    let [first @ (b' ' | b'T'), rest @ ..] = text else { return None };
    let (hour, hour_digits, rest) = number_at_start(rest)?;
    let (minute, 2, rest) = number_at_start(rest.strip_prefix(b":")?)? else { return None };
    let (second, has_seconds, rest) = match rest.strip_prefix(b":") {
        Some(rest) => {
            let (second, 2, rest) = number_at_start(rest)? else { return None };
            (second, true, rest)
        }
        None => (0, false, rest),
    };
    let n_fraction = match rest.strip_prefix(b".").filter(|_| has_seconds) {
        Some(rest) => rest.iter().take_while(|byte| byte.is_ascii_digit()).count() + 1,
        None => 0,
    };
    let rest = &rest[n_fraction..];
    let after_space = rest.strip_prefix(b" ");
    let half = match after_space.unwrap_or(rest) {
        [] if after_space.is_none() => None,
        [b'a' | b'A' | b'p' | b'P', b'm' | b'M'] => Some(after_space.is_some()),
        _ => return None,
    };
    let is_hour = match half {
        Some(_) => (1..=12).contains(&hour),
        None => hour <= 23,
    };
    let is_time = hour_digits <= 2 && is_hour && minute <= 59 && second <= 59 && n_fraction != 1;
    let has_fraction = n_fraction > 0;
    is_time.then_some(TimeShape { has_t: *first == b'T', has_seconds, has_fraction, half })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The format of cells all of which are of one shape, `?` where it is not told.
    fn told(cells: &[&str]) -> Option<String> {
        let mut shapes = DateShapes::default();
        for cell in cells {
            shapes.add(cell.as_bytes(), 1);
        }
        let n_cells = cells.len() as u64;
        let (_, told) = shapes.told(0, |n| n * 20 >= n_cells * 19)?;
        Some(match told {
            ToldDates::In(format) => format.to_string(),
            ToldDates::Undecided(Doubt::DayOrMonth { day_first, month_first, .. }) => {
                format!("{day_first}? {month_first}?")
            }
            ToldDates::Undecided(Doubt::Century { formats }) => format!("{}@?", formats.join(" ")),
            ToldDates::Undecided(Doubt::Thousands) => panic!("these are no numbers"),
        })
    }

    #[test]
    fn formats_are_told_from_all_cells() {
        for (cells, expected) in [
            (&["31.12.2020", "1.2.2020"][..], Some("%d.%m.%Y")),
            (&["12/31/2020", "1/2/2020"], Some("%m/%d/%Y")),
            (&["03/04/2020", "12/11/1999"], Some("%d/%m/%Y? %m/%d/%Y?")),
            (&["31/01/2020", "01/31/2020"], None),
            (&["2020/1/31", "2020/12/1"], Some("%Y/%m/%d")),
            (&["2020-1-31"], Some("%Y-%m-%d")),
            (&["31-Dec-2020", "1-may-1999"], Some("%d-%b-%Y")),
            (&["31 December 2020", "3 May 2020"], Some("%d %B %Y")),
            (&["31DEC2020"], Some("%d%b%Y")),
            (&["Dec 31, 2020"], Some("%b %d, %Y")),
            (&["31-Dec-20"], Some("%d-%b-%y@?")),
            (&["31.12.20"], Some("%d.%m.%y@?")),
            (&["01/02/03"], Some("%d/%m/%y %m/%d/%y@?")),
            (&["31.12.2020 14:30"], Some("%d.%m.%Y %H:%M")),
            (&["12/31/2020 2:30:05 PM"], Some("%m/%d/%Y %I:%M:%S %p")),
            (&["31.12.2020T14:30:05.25"], Some("%d.%m.%YT%H:%M:%S%.f")),
            (&["30.02.2020"], None),
            (&["192.168.1.1"], None),
            (&["1.2.3"], None),
            (&["Dec 2020"], None),
            (&["12:30:45"], None),
        ] {
            assert_eq!(told(cells).as_deref(), expected, "{cells:?}");
        }
    }

    #[test]
    fn every_format_that_is_told_reads_the_cells_it_was_told_from() {
        for cell in [
            "31.12.2020",
            "12/31/2020",
            "2020/1/31",
            "31-Dec-2020",
            "31 December 2020",
            "31DEC2020",
            "Dec 31, 2020",
            "December 31 2020",
            "31.12.2020 14:30",
            "12/31/2020 2:30:05 PM",
            "12/31/2020 2:30PM",
            "31.12.2020T14:30:05.25",
        ] {
            let format = told(&[cell]).unwrap();
            let format: DateFormat = format.parse().unwrap();
            let mut plain = Vec::new();
            format.plain(cell.as_bytes(), &mut plain).unwrap_or_else(|| panic!("{cell}: {format}"));
        }
    }
}
