//! Values as the oracle sees them, read from text by code of its own.

use std::cmp::Ordering;

use albers::ColumnType;

/// A cell's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Missing,
    /// Whole numbers, days, millionths of a decimal.
    Ticks(i128),
    Float(f64),
    Name(String),
}

const MILLION: i128 = 1_000_000;

impl Value {
    /// Reads a cell; the empty one is missing.
    pub fn read(kind: ColumnType, text: &str) -> Value {
        if text.is_empty() {
            return Value::Missing;
        }
        match kind {
            ColumnType::Integer => Value::Ticks(text.parse().expect("an integer")),
            ColumnType::Decimal => Value::Ticks(millionths(text)),
            ColumnType::Float => Value::Float(text.parse().expect("a float")),
            ColumnType::Date => Value::Ticks(days(text)),
            ColumnType::Boolean => Value::Name(text.to_lowercase()),
            ColumnType::Text | ColumnType::Code => Value::Name(text.to_owned()),
            ColumnType::Timestamp => unreachable!("not drawn"),
        }
    }

    /// The one way to write a value: shortest for numbers.
    pub fn canonical(&self, kind: ColumnType) -> String {
        match (self, kind) {
            (Value::Missing, _) => String::new(),
            (Value::Name(name), _) => name.clone(),
            (Value::Float(number), _) => format!("{number:?}"),
            (Value::Ticks(ticks), ColumnType::Date) => date(*ticks),
            (Value::Ticks(ticks), ColumnType::Decimal) => {
                let sign = if *ticks < 0 { "-" } else { "" };
                let size = ticks.abs();
                let fraction = format!("{:06}", size % MILLION);
                let fraction = fraction.trim_end_matches('0');
                let point = if fraction.is_empty() { "" } else { "." };
                format!("{sign}{}{point}{fraction}", size / MILLION)
            }
            (Value::Ticks(ticks), _) => ticks.to_string(),
        }
    }

    pub fn is_missing(&self) -> bool {
        *self == Value::Missing
    }

    /// As a number.
    pub fn number(&self, kind: ColumnType) -> f64 {
        match self {
            Value::Ticks(ticks) if kind == ColumnType::Decimal => *ticks as f64 / 1e6,
            Value::Ticks(ticks) => *ticks as f64,
            Value::Float(number) => *number,
            Value::Missing | Value::Name(_) => f64::NAN,
        }
    }

    /// How far two ordered values lie apart, halved.
    pub fn half_distance(&self, other: &Value) -> f64 {
        match (self, other) {
            (Value::Ticks(a), Value::Ticks(b)) => (b - a) as f64 / 2.0,
            (Value::Float(a), Value::Float(b)) => b / 2.0 - a / 2.0,
            _ => panic!("no distance between these"),
        }
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Missing, Value::Missing) => Ordering::Equal,
            (Value::Missing, _) => Ordering::Less,
            (_, Value::Missing) => Ordering::Greater,
            (Value::Ticks(a), Value::Ticks(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).expect("finite"),
            (Value::Name(a), Value::Name(b)) => a.cmp(b),
            _ => panic!("values of two kinds"),
        }
    }
}

fn millionths(text: &str) -> i128 {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction: i128 = format!("{fraction:0<6}")[..6].parse().expect("digits");
    sign * (whole.parse::<i128>().expect("digits") * MILLION + fraction)
}

fn is_leap(year: i128) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn month_length(year: i128, month: i128) -> i128 {
    match month {
        2 => 28 + i128::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1900-01-01, counted month by month.
fn days(text: &str) -> i128 {
    let parts: Vec<i128> = text.split('-').map(|part| part.parse().expect("a date")).collect();
    let years: i128 = (1900..parts[0]).map(|year| 365 + i128::from(is_leap(year))).sum();
    let months: i128 = (1..parts[1]).map(|month| month_length(parts[0], month)).sum();
    years + months + parts[2] - 1
}

/// The date so many days after 1900-01-01.
pub fn date(mut days: i128) -> String {
    let mut year = 1900;
    while days >= 365 + i128::from(is_leap(year)) {
        days -= 365 + i128::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    while days >= month_length(year, month) {
        days -= month_length(year, month);
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", days + 1)
}
