//! Cells of the tables that are written here, as text and as Parquet.

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, StringArray,
    TimestampMicrosecondArray,
};

use crate::common::array;

/// A cell.
pub enum Cell {
    Missing,
    Integer(i64),
    /// Hundredths.
    Decimal(i64),
    Float(f64),
    /// Days since 1970.
    Date(i64),
    /// Seconds since 1970.
    Time(i64),
    Flag(bool),
    Text(String),
}

impl Cell {
    /// As it stands in a text file, before quotes.
    pub fn text(&self) -> String {
        match self {
            Cell::Missing => String::new(),
            Cell::Integer(value) => value.to_string(),
            Cell::Decimal(value) => decimal_of(*value),
            Cell::Float(value) => format!("{value:e}"),
            Cell::Date(days) => date_of(*days),
            Cell::Time(seconds) => {
                let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
                let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
                format!("{} {hour:02}:{minute:02}:{second:02}", date_of(days))
            }
            Cell::Flag(value) => value.to_string(),
            Cell::Text(text) => text.clone(),
        }
    }

    /// The whole number that stands for it, if one does.
    fn integer(&self) -> Option<i64> {
        match self {
            Cell::Integer(n) | Cell::Decimal(n) | Cell::Date(n) | Cell::Time(n) => Some(*n),
            _ => None,
        }
    }
}

/// Hundredths as text, with as few digits as they need: cells of one column differ in them.
fn decimal_of(hundredths: i64) -> String {
    let sign = if hundredths < 0 { "-" } else { "" };
    let (whole, rest) = (hundredths.abs() / 100, hundredths.abs() % 100);
    match rest % 10 {
        0 => format!("{sign}{whole}.{}", rest / 10),
        _ => format!("{sign}{whole}.{rest:02}"),
    }
}

/// A date of the Gregorian calendar, from days since 1970 (Hinnant's `civil_from_days`).
fn date_of(days: i64) -> String {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A table of text with a header.
pub fn text_of(names: &[&str], rows: &[Vec<Cell>], delimiter: char) -> String {
    let between = delimiter.to_string();
    let mut text = names.join(&between) + "\n";
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| quoted(cell, delimiter)).collect();
        text.push_str(&cells.join(&between));
        text.push('\n');
    }
    text
}

/// An empty text is quoted, since an empty cell is missing.
fn quoted(cell: &Cell, delimiter: char) -> String {
    let text = cell.text();
    let is_empty_text = text.is_empty() && matches!(cell, Cell::Text(_));
    match is_empty_text || text.contains([delimiter, '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

/// A column of Parquet: of the type of its first cell that is not missing.
pub fn array_of<'c>(mut cells: impl Iterator<Item = &'c Cell> + Clone) -> ArrayRef {
    let all = cells.clone();
    match cells.find(|cell| !matches!(cell, Cell::Missing)).expect("not all are missing") {
        Cell::Integer(_) => array(Int64Array::from_iter(all.map(Cell::integer))),
        Cell::Time(_) => {
            let micros = all.map(|cell| cell.integer().map(|seconds| seconds * 1_000_000));
            array(TimestampMicrosecondArray::from_iter(micros))
        }
        Cell::Date(_) => {
            let days = all.map(|cell| cell.integer().map(|days| days as i32));
            array(Date32Array::from_iter(days))
        }
        Cell::Decimal(_) => {
            let hundredths = all.map(|cell| cell.integer().map(i128::from));
            let decimals = Decimal128Array::from_iter(hundredths).with_precision_and_scale(9, 2);
            array(decimals.expect("the digits fit"))
        }
        Cell::Float(_) => array(Float64Array::from_iter(all.map(|cell| match cell {
            Cell::Float(value) => Some(*value),
            _ => None,
        }))),
        Cell::Flag(_) => array(BooleanArray::from_iter(all.map(|cell| match cell {
            Cell::Flag(value) => Some(*value),
            _ => None,
        }))),
        Cell::Text(_) | Cell::Missing => {
            let texts = all.map(|cell| match cell {
                Cell::Text(text) => Some(text.as_str()),
                _ => None,
            });
            array(StringArray::from_iter(texts))
        }
    }
}
