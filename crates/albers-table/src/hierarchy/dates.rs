//! `dates` and `dates:month,year,10-years`: days to ever longer stretches of the calendar.
//!
//! ```text
//!   day ── month ── quarter ── year ── 5-years ── 10-years ── *
//!    └──── week ─────────────────────────────────────────── *
//! ```
//!
//! A list names levels from fine to coarse, each of which must be made of whole ones of the level
//! before: weeks begin in one month or year and end in another, so nothing but `*` stands above
//! them. `dates` alone is month, quarter and year, above the day where a column holds times.
//!
//! | level | label | holds |
//! | --- | --- | --- |
//! | `day` | `2024-03-15` | the times of a day; only for timestamps |
//! | `week` | `2024-W11` | Monday to Sunday, by the weeks of ISO 8601 |
//! | `month` | `2024-03` | |
//! | `quarter` | `2024-Q1` | |
//! | `year` | `2024` | |
//! | `5-years` | `2020-2024` | from a year that 5 divides |
//! | `10-years` | `2020-2029` | from a year that 10 divides |

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::builder::Builder;
use super::builtin::{ambiguous, wrong_type};
use super::{Hierarchy, Place, TOP};
use crate::Result;
use crate::calendar::{CivilDate, DateText};
use crate::schema::ColumnType;

/// A stretch of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DateLevel {
    /// A day, above a time.
    Day,
    /// A week from Monday on.
    Week,
    /// A month.
    Month,
    /// A quarter of a year.
    Quarter,
    /// A year.
    Year,
    /// Five years, from one that 5 divides.
    FiveYears,
    /// Ten years, from one that 10 divides.
    TenYears,
}

/// The levels of a hierarchy of dates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DateLevels {
    /// Those that were asked for; the usual ones when there are none.
    chosen: Vec<DateLevel>,
}

/// Every level and its word, from fine to coarse.
const WORDS: [(DateLevel, &str); 7] = [
    (DateLevel::Day, "day"),
    (DateLevel::Week, "week"),
    (DateLevel::Month, "month"),
    (DateLevel::Quarter, "quarter"),
    (DateLevel::Year, "year"),
    (DateLevel::FiveYears, "5-years"),
    (DateLevel::TenYears, "10-years"),
];

const USUAL: [DateLevel; 4] =
    [DateLevel::Day, DateLevel::Month, DateLevel::Quarter, DateLevel::Year];

/// Years that are written with four digits; others have no labels of several years, nor of weeks.
const PLAIN_YEARS: Range<i64> = 0..10_000;

impl fmt::Display for DateLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = WORDS.iter().find(|(level, _)| level == self).map(|&(_, word)| word);
        f.write_str(word.expect("every level has a word"))
    }
}

impl DateLevels {
    /// The levels above the values of a column, from fine to coarse.
    pub fn of(&self, has_time: bool) -> Vec<DateLevel> {
        match self.chosen.is_empty() {
            true => USUAL[usize::from(!has_time)..].to_vec(),
            false => self.chosen.clone(),
        }
    }

    /// The levels above the day, from fine to coarse.
    pub fn above_day(&self) -> Vec<DateLevel> {
        self.of(true).into_iter().filter(|&level| level != DateLevel::Day).collect()
    }

    /// Whether they are those of `dates` alone.
    pub fn are_usual(&self) -> bool {
        self.chosen.is_empty()
    }
}

impl FromStr for DateLevels {
    type Err = String;

    /// Reads `month,year,10-years`.
    fn from_str(text: &str) -> std::result::Result<DateLevels, String> {
        let level_of = |word: &str| {
            let known = WORDS.iter().find(|(_, known)| *known == word.trim());
            known.map(|&(level, _)| level).ok_or_else(|| {
                format!(
                    "'{word}' is no level of dates; use day, week, month, quarter, year, 5-years and \
                     10-years, for example dates:month,year,10-years"
                )
            })
        };
        let chosen = text.split(',').map(level_of).collect::<std::result::Result<Vec<_>, _>>()?;
        for pair in chosen.windows(2) {
            let (lower, upper) = (pair[0], pair[1]);
            if lower == upper {
                return Err(format!("level {upper} follows {lower}; name each level once"));
            }
            if upper < lower {
                return Err(format!(
                    "{upper} stands after {lower}, which is longer; name levels from fine to coarse"
                ));
            }
            if lower == DateLevel::Week {
                return Err(format!(
                    "a week may begin in one {upper} and end in the next, so {upper} cannot stand \
                     above week; use dates:week, or leave week out"
                ));
            }
        }
        Ok(DateLevels { chosen })
    }
}

impl fmt::Display for DateLevels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.chosen.iter().map(DateLevel::to_string).collect();
        let colon = if words.is_empty() { "" } else { ":" };
        write!(f, "dates{colon}{}", words.join(","))
    }
}

impl DateLevel {
    /// The level of a label above the day.
    pub fn of_label(label: &str) -> Option<DateLevel> {
        let Some((_, after)) = label.split_once('-').filter(|_| is_plain(label)) else {
            return is_plain(label).then_some(DateLevel::Year);
        };
        match (after.as_bytes(), years_of(label)) {
            (_, Some(years)) if years.end - years.start == 5 => Some(DateLevel::FiveYears),
            (_, Some(_)) => Some(DateLevel::TenYears),
            ([b'W', ..], None) => Some(DateLevel::Week),
            ([b'Q', _], None) => Some(DateLevel::Quarter),
            ([_, _], None) => Some(DateLevel::Month),
            _ => None,
        }
    }
}

/// The days, since 1970-01-01, of a label of a week or of several years.
pub fn days_of_label(label: &str) -> Option<Range<i64>> {
    let first_of = |year: i64| CivilDate::new(year, 1, 1).map(CivilDate::days);
    if let Some(years) = years_of(label) {
        return Some(first_of(years.start)?..first_of(years.end)?);
    }
    let (year, week) = label.split_once("-W").filter(|_| is_plain(label))?;
    let week: i64 = week.parse().ok().filter(|_| week.len() == 2)?;
    let start = monday_of(CivilDate::new(year.parse().ok()?, 1, 4)?.days()) + 7 * (week - 1);
    (week_label(start).as_deref() == Some(label)).then_some(start..start + 7)
}

/// The years of `2020-2024` and `2020-2029`.
fn years_of(label: &str) -> Option<Range<i64>> {
    let (first, last) = label.split_once('-').filter(|_| is_plain(label) && label.len() == 9)?;
    let (first, last): (i64, i64) = (first.parse().ok()?, last.parse().ok()?);
    let n_years = last - first + 1;
    (matches!(n_years, 5 | 10) && first % n_years == 0).then_some(first..last + 1)
}

/// Whether a label begins with a year of four digits.
fn is_plain(label: &str) -> bool {
    let year = label.split('-').next().unwrap_or_default();
    year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit())
}

/// The first day of the week that a day is in; 1970-01-01 was a Thursday.
fn monday_of(days: i64) -> i64 {
    days - (days + 3).rem_euclid(7)
}

/// `2024-W11`: a week is of the year that its Thursday is in.
fn week_label(days: i64) -> Option<String> {
    let thursday = monday_of(days) + 3;
    let year = CivilDate::of_days(thursday).year;
    let first = CivilDate::new(year, 1, 1)?.days();
    let week = (thursday - first) / 7 + 1;
    PLAIN_YEARS.contains(&year).then(|| format!("{year:04}-W{week:02}"))
}

/// The label of a day, given as text, at a level.
fn label_of(level: DateLevel, text: &str, date: CivilDate) -> Option<String> {
    // A day ends in -MM-DD, however many digits its year has.
    let (month, year) = (&text[..text.len() - 3], &text[..text.len() - 6]);
    let years = |n_years: i64| {
        let first = date.year - date.year.rem_euclid(n_years);
        let last = first + n_years - 1;
        PLAIN_YEARS.contains(&date.year).then(|| format!("{first:04}-{last:04}"))
    };
    match level {
        DateLevel::Day => Some(text.to_owned()),
        DateLevel::Week => week_label(date.days()),
        DateLevel::Month => Some(month.to_owned()),
        DateLevel::Quarter => Some(format!("{year}-Q{}", date.month.div_ceil(3))),
        DateLevel::Year => Some(year.to_owned()),
        DateLevel::FiveYears => years(5),
        DateLevel::TenYears => years(10),
    }
}

/// Builds the hierarchy.
pub(super) fn build(
    levels: &DateLevels,
    place: &Place,
    column_type: ColumnType,
    values: &[String],
) -> Result<Hierarchy> {
    let has_time = match column_type {
        ColumnType::Date => false,
        ColumnType::Timestamp => true,
        _ => return Err(wrong_type(place, column_type, "dates needs dates or timestamps")),
    };
    let levels = levels.of(has_time);
    if !has_time && levels.contains(&DateLevel::Day) {
        return Err(place.error("the column holds days itself", "leave out the level day"));
    }
    let mut builder = Builder::new(levels.len() + 1);
    let mut n_refused = 0usize;
    for value in values {
        let path = day_of(value).and_then(|(text, date)| {
            let labels = levels.iter().map(|&level| label_of(level, text, date));
            labels.chain([Some(TOP.to_owned())]).collect::<Option<Vec<String>>>()
        });
        match path {
            None => n_refused += 1,
            Some(path) => builder.add(0, value, &path).map_err(|_| ambiguous(place))?,
        }
    }
    if n_refused > 0 {
        return Err(place.error(
            format!(
                "{n_refused} of {} values do not start with a day, YYYY-MM-DD, that has labels at \
                 all levels",
                values.len()
            ),
            "write the hierarchy as a file",
        ));
    }
    builder.finish().map_err(|_| ambiguous(place))
}

/// `2024-03-15` of a text that starts with that day, and the day.
fn day_of(text: &str) -> Option<(&str, CivilDate)> {
    let found = DateText::at_start_of(text.as_bytes())?;
    let goes_on = found.rest.first().is_some_and(u8::is_ascii_digit);
    let date = found.date().filter(|_| !goes_on)?;
    Some((&text[..text.len() - found.rest.len()], date))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hierarchy::{HierarchySpec, Node};

    fn built(spec: &str, column_type: ColumnType, values: &[&str]) -> Result<Hierarchy> {
        let spec: HierarchySpec = spec.parse().unwrap();
        let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
        let hierarchy = Hierarchy::build(&spec, "day", column_type, &values)?;
        hierarchy.check_invariants();
        Ok(hierarchy)
    }

    fn path(spec: &str, column_type: ColumnType, value: &str) -> Vec<String> {
        let hierarchy = built(spec, column_type, &[value]).unwrap();
        let label = |level| hierarchy.label(Node { level, index: 0 }).to_owned();
        (1..=hierarchy.height()).map(label).collect()
    }

    #[test]
    fn chosen_levels_stand_above_their_days() {
        let date = |spec| path(spec, ColumnType::Date, "2024-03-15");
        assert_eq!(date("dates"), ["2024-03", "2024-Q1", "2024", "*"]);
        assert_eq!(date("dates:month,year,10-years"), ["2024-03", "2024", "2020-2029", "*"]);
        assert_eq!(date("dates:quarter,5-years"), ["2024-Q1", "2020-2024", "*"]);
        assert_eq!(date("dates:week"), ["2024-W11", "*"]);
        let time = |spec| path(spec, ColumnType::Timestamp, "2024-03-15 10:00:00");
        assert_eq!(time("dates:day,week"), ["2024-03-15", "2024-W11", "*"]);
        assert_eq!(time("dates:year"), ["2024", "*"]);
        assert_eq!(time("dates")[..2], ["2024-03-15", "2024-03"]);
    }

    #[test]
    fn lists_that_do_not_nest_are_refused_with_the_reason() {
        let refusal = |text: &str| text.parse::<HierarchySpec>().unwrap_err();
        let message = refusal("dates:week,month");
        assert!(message.contains("a week may begin in one month and end in the next"), "{message}");
        assert!(refusal("dates:week,year").contains("one year"));
        assert!(refusal("dates:month,week").contains("week stands after month"));
        assert!(refusal("dates:year,month").contains("from fine to coarse"));
        assert!(refusal("dates:year,year").contains("name each level once"));
        assert!(refusal("dates:decade").contains("'decade' is no level of dates"));
        assert!(refusal("dates:").contains("'' is no level of dates"));
        assert!(built("dates:day,month", ColumnType::Date, &["2024-03-15"]).is_err());
        assert!(built("dates:5-years", ColumnType::Date, &["-000001-12-31"]).is_err());
    }

    #[test]
    fn specs_are_written_as_they_are_read() {
        for text in ["dates", "dates:week", "dates:day,month,quarter,year,5-years,10-years"] {
            assert_eq!(text.parse::<HierarchySpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn weeks_are_those_of_iso_8601() {
        let week = |text: &str| week_label(day_of(text).unwrap().1.days()).unwrap();
        assert_eq!(week("2005-01-01"), "2004-W53");
        assert_eq!(week("2005-01-03"), "2005-W01");
        assert_eq!(week("2007-12-31"), "2008-W01");
        assert_eq!(week("2010-01-03"), "2009-W53");
        assert_eq!(week("1970-01-01"), "1970-W01");
        assert_eq!(days_of_label("2005-W53"), None, "the year has 52 weeks");
    }

    proptest! {
        #[test]
        fn labels_are_read_back_as_the_days_that_have_them(days in -600_000i64..2_900_000) {
            let text = CivilDate::of_days(days).to_string();
            let date = CivilDate::of_days(days);
            for level in [DateLevel::Week, DateLevel::FiveYears, DateLevel::TenYears] {
                let label = label_of(level, &text, date).unwrap();
                prop_assert_eq!(DateLevel::of_label(&label), Some(level));
                let span = days_of_label(&label).unwrap();
                prop_assert!(span.contains(&days), "{} {}", text, label);
                for (day, is_in) in [(span.start, true), (span.end - 1, true), (span.end, false)] {
                    let date = CivilDate::of_days(day);
                    let same = label_of(level, &date.to_string(), date).as_ref() == Some(&label);
                    prop_assert_eq!(same, is_in, "{}", label);
                }
            }
            for level in [DateLevel::Month, DateLevel::Quarter, DateLevel::Year] {
                let label = label_of(level, &text, date).unwrap();
                prop_assert_eq!(DateLevel::of_label(&label), Some(level));
                prop_assert_eq!(days_of_label(&label), None);
            }
            prop_assert_eq!(DateLevel::of_label(&text), None);
        }
    }
}
