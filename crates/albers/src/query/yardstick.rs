//! Ordered values without a table: as whole numbers in their order, exactly.

use albers_table::chunk::TickUnit;
use albers_table::schema::ColumnType;
use albers_table::value::{self, Decimal, TickFormat};

use super::axis::SpanEnd;
use super::line::Lengths;

/// The microseconds of a day.
const DAY_MICROSECONDS: i64 = 86_400_000_000;

/// What the ordered values of a column are. A key is a whole number that stands for a value: its
/// ticks, or for floats a number in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Yardstick {
    Integer,
    /// Numbers of so many digits after the point whose ends are all whole: others may lie between, and
    /// estimates count whole ones.
    Whole(u8),
    Decimal(u8),
    Date,
    /// Points in time that are shown by days alone: others may lie between, and estimates count days.
    Day,
    Timestamp,
    Float,
}

/// A value that need not have a key of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    /// The greatest key that is not above it.
    pub(super) floor: i64,
    /// Whether that is its own.
    pub(super) is_exact: bool,
}

impl Placed {
    fn exact(key: i64) -> Placed {
        Placed { floor: key, is_exact: true }
    }

    /// The least key that is not below it.
    pub(super) fn ceiling(self) -> i64 {
        if self.is_exact { self.floor } else { self.floor.saturating_add(1) }
    }
}

impl Yardstick {
    /// Of a type, if its values are ordered; decimals have as many digits as are asked for later.
    pub(super) fn of_type(column_type: ColumnType) -> Option<Yardstick> {
        Some(match column_type {
            ColumnType::Integer => Yardstick::Integer,
            ColumnType::Decimal => Yardstick::Decimal(0),
            ColumnType::Date => Yardstick::Date,
            ColumnType::Timestamp => Yardstick::Timestamp,
            ColumnType::Float => Yardstick::Float,
            ColumnType::Boolean | ColumnType::Code | ColumnType::Text => return None,
        })
    }

    /// Of ticks.
    pub(super) fn of_unit(unit: TickUnit) -> Yardstick {
        match unit {
            TickUnit::Integer => Yardstick::Integer,
            TickUnit::Decimal(scale) => Yardstick::Decimal(scale),
            TickUnit::Date => Yardstick::Date,
            TickUnit::Timestamp { .. } => Yardstick::Timestamp,
        }
    }

    /// The type of its values.
    pub(super) fn column_type(self) -> ColumnType {
        match self {
            Yardstick::Integer | Yardstick::Whole(_) => ColumnType::Integer,
            Yardstick::Decimal(_) => ColumnType::Decimal,
            Yardstick::Date => ColumnType::Date,
            Yardstick::Day | Yardstick::Timestamp => ColumnType::Timestamp,
            Yardstick::Float => ColumnType::Float,
        }
    }

    /// What all of some texts are, with as many digits as they have; nothing if they are no one
    /// thing.
    pub(super) fn of_texts<'t, I: Iterator<Item = &'t str> + Clone>(texts: I) -> Option<Yardstick> {
        let all = |reads: &dyn Fn(&[u8]) -> bool| texts.clone().all(|text| reads(text.as_bytes()));
        if texts.clone().any(is_code) {
            return None;
        }
        if all(&|text| value::parse_plain_integer(text).is_ok()) {
            return Some(Yardstick::Whole(0));
        }
        if all(&|text| value::parse_date(text).is_ok()) {
            return Some(Yardstick::Date);
        }
        if all(&|text| value::parse_timestamp(text).is_ok()) {
            return Some(Yardstick::Timestamp);
        }
        if all(&|text| value::parse_decimal(text).is_ok()) {
            return Some(Yardstick::Decimal(0).with_digits_of(texts));
        }
        all(&|text| value::parse_float(text).is_ok()).then_some(Yardstick::Float)
    }

    /// The same, with as many digits as some texts have.
    pub(super) fn with_digits_of<'t>(self, texts: impl Iterator<Item = &'t str>) -> Yardstick {
        let numbers = texts.filter_map(|text| value::parse_decimal(text.as_bytes()).ok());
        let scales = numbers.map(|own| own.without_trailing_zeros().scale);
        self.with_digits(scales.max().unwrap_or(0))
    }

    /// The same, with at least so many digits after the point.
    pub(super) fn with_digits(self, n_digits: u8) -> Yardstick {
        match self {
            Yardstick::Decimal(scale) => Yardstick::Decimal(scale.max(n_digits)),
            Yardstick::Whole(scale) => Yardstick::Whole(scale.max(n_digits)),
            other => other,
        }
    }

    /// How many digits after the point its keys have.
    pub(super) fn n_digits(self) -> u8 {
        match self {
            Yardstick::Decimal(scale) | Yardstick::Whole(scale) => scale,
            _ => 0,
        }
    }

    /// Whether its values are numbers.
    pub(super) fn is_number(self) -> bool {
        !matches!(self, Yardstick::Date | Yardstick::Day | Yardstick::Timestamp)
    }

    /// Whether nothing lies between two neighbouring keys.
    pub(super) fn is_discrete(self) -> bool {
        matches!(self, Yardstick::Integer | Yardstick::Date)
    }

    /// Where a text lies among the keys; nothing if it is no such value.
    pub(super) fn place(self, text: &str) -> Option<Placed> {
        let cell = text.as_bytes();
        match self {
            Yardstick::Integer => match value::parse_integer(cell) {
                Ok(key) => Some(Placed::exact(key)),
                Err(_) => placed_at(cell, 0),
            },
            Yardstick::Decimal(scale) | Yardstick::Whole(scale) => placed_at(cell, scale),
            Yardstick::Date => value::parse_date(cell).ok().map(Placed::exact).or_else(|| {
                let nanoseconds = value::parse_nanoseconds(cell).ok()?;
                divided(nanoseconds, i128::from(DAY_MICROSECONDS) * 1_000)
            }),
            Yardstick::Day | Yardstick::Timestamp => match value::parse_date(cell) {
                Ok(days) => days.checked_mul(DAY_MICROSECONDS).map(Placed::exact),
                Err(_) => divided(value::parse_nanoseconds(cell).ok()?, 1_000),
            },
            Yardstick::Float => {
                value::parse_float(cell).ok().map(|own| Placed::exact(float_key(own)))
            }
        }
    }

    /// The key of a text that has one.
    pub(super) fn key(self, text: &str) -> Option<i64> {
        self.place(text).filter(|own| own.is_exact).map(|own| own.floor)
    }

    /// The nearest key that is counted, inside of an end: itself where it is one and belongs to what it
    /// ends.
    pub(super) fn next_counted(self, end: SpanEnd, step: i64) -> i64 {
        let unit = self.counted_unit().unwrap_or(1);
        let is_counted = end.key.rem_euclid(unit) == 0;
        match (is_counted && end.is_in, step > 0) {
            (true, _) => end.key,
            (false, true) => (end.key.div_euclid(unit) + 1).saturating_mul(unit),
            (false, false) => end.key.saturating_sub(1).div_euclid(unit).saturating_mul(unit),
        }
    }

    /// The key between two values that are counted, where others may lie between.
    fn counted_unit(self) -> Option<i64> {
        match self {
            Yardstick::Whole(scale) => Some(10i64.saturating_pow(u32::from(scale))),
            Yardstick::Day => Some(DAY_MICROSECONDS),
            _ => None,
        }
    }

    /// Whether an estimate counts values.
    pub(super) fn is_counted(self) -> bool {
        self.is_discrete() || self.counted_unit().is_some()
    }

    /// The text of a key.
    pub(super) fn text(self, key: i64) -> String {
        match self {
            Yardstick::Integer => key.to_string(),
            Yardstick::Decimal(scale) | Yardstick::Whole(scale) => {
                Decimal { mantissa: key, scale }.without_trailing_zeros().text()
            }
            Yardstick::Date => TickFormat::Date.text(key),
            Yardstick::Day | Yardstick::Timestamp => {
                TickFormat::Timestamp { zoned: false }.text(key)
            }
            Yardstick::Float => value::float_text(float_of_key(key)),
        }
    }

    /// How far a key lies from 0, in units of the values; days and seconds for days and times.
    pub(super) fn number(self, key: i64) -> f64 {
        match self {
            Yardstick::Integer | Yardstick::Date => key as f64,
            Yardstick::Decimal(scale) | Yardstick::Whole(scale) => {
                key as f64 / 10f64.powi(i32::from(scale))
            }
            Yardstick::Day | Yardstick::Timestamp => key as f64 / 1e6,
            Yardstick::Float => float_of_key(key),
        }
    }
}

/// The lengths of what lies on a line of keys.
pub(super) struct KeyLengths {
    pub(super) yardstick: Yardstick,
    /// How long a range without an end is taken to be.
    pub(super) beyond: f64,
}

impl Lengths<i64> for KeyLengths {
    fn of_value(&self, value: &i64) -> f64 {
        let is_counted = match self.yardstick.counted_unit() {
            Some(unit) => value.rem_euclid(unit) == 0,
            None => self.yardstick.is_discrete(),
        };
        f64::from(u8::from(is_counted))
    }

    fn between(&self, below: &i64, above: &i64) -> Option<f64> {
        let [below_number, above_number] = [*below, *above].map(|own| self.yardstick.number(own));
        match (self.yardstick.counted_unit(), self.yardstick) {
            (Some(unit), _) => {
                let n_up_to = |key: i128| key.div_euclid(unit.into());
                let n_between = n_up_to(i128::from(*above) - 1) - n_up_to((*below).into());
                Some(n_between.max(0) as f64)
            }
            (None, own) if own.is_discrete() => {
                let is_gap = above.wrapping_sub(*below) != 1;
                is_gap.then_some(above_number - below_number - 1.0)
            }
            _ => Some(above_number - below_number),
        }
    }

    fn beyond(&self) -> f64 {
        self.beyond
    }
}

/// Whether a text is digits with a leading zero, which are a name.
fn is_code(text: &str) -> bool {
    value::has_leading_zero(text.as_bytes()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A decimal among the whole numbers of so many digits; beyond those of 64 bits at the ends.
fn placed_at(cell: &[u8], scale: u8) -> Option<Placed> {
    let text = std::str::from_utf8(cell).ok()?.trim();
    let number: f64 = text.parse().ok().filter(|own: &f64| own.is_finite())?;
    let beyond = Placed { floor: if number < 0.0 { i64::MIN } else { i64::MAX }, is_exact: false };
    // More digits than 128 bits have are those of no value.
    let Some((mantissa, own)) = digits_of(text) else {
        let is_small = number.abs() < 1.0;
        let near = Placed { floor: -i64::from(number < 0.0), is_exact: false };
        return Some(if is_small { near } else { beyond });
    };
    if mantissa == 0 {
        return Some(Placed::exact(0));
    }
    let more = i32::from(scale).saturating_sub(own);
    let power = 10i128.checked_pow(more.unsigned_abs());
    match (more >= 0, power) {
        (true, power) => {
            let key = power.and_then(|power| mantissa.checked_mul(power));
            let key = key.and_then(|key| i64::try_from(key).ok());
            Some(key.map_or(beyond, Placed::exact))
        }
        (false, Some(power)) => Some(divided(mantissa, power).unwrap_or(beyond)),
        (false, None) => Some(Placed { floor: -i64::from(mantissa < 0), is_exact: false }),
    }
}

/// The shortest text of a number that is written in another way, such as `30.0` or `3e1`.
pub(super) fn shorter_number(text: &str) -> Option<String> {
    let (mut mantissa, mut scale) = digits_of(text.trim())?;
    while scale > 0 && mantissa % 10 == 0 && mantissa != 0 {
        (mantissa, scale) = (mantissa / 10, scale - 1);
    }
    let power = 10i128.checked_pow(scale.min(0).unsigned_abs())?;
    let mantissa = i64::try_from(mantissa.checked_mul(power)?).ok()?;
    let scale = u8::try_from(scale.max(0)).ok().filter(|own| *own <= 18)?;
    let shorter = Decimal { mantissa, scale }.without_trailing_zeros().text();
    (shorter != text).then_some(shorter)
}

/// How many digits after the point a number needs; none where it is no number, or needs too many.
pub(super) fn digits_after_point(text: &str) -> u8 {
    let Some((mut mantissa, mut scale)) = digits_of(text.trim()) else { return 0 };
    while scale > 0 && mantissa % 10 == 0 && mantissa != 0 {
        (mantissa, scale) = (mantissa / 10, scale - 1);
    }
    u8::try_from(scale).ok().filter(|own| *own <= 18).unwrap_or(0)
}

/// The digits of a number, with or without a point and an exponent, and how many of them stand after
/// the point.
fn digits_of(text: &str) -> Option<(i128, i32)> {
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let is_negative = whole.starts_with('-');
    let mut mantissa = 0i128;
    for digit in whole.trim_start_matches(['-', '+']).bytes().chain(fraction.bytes()) {
        let digit = i128::from(digit.checked_sub(b'0').filter(|own| *own < 10)?);
        mantissa = mantissa.checked_mul(10)?.checked_add(digit)?;
    }
    let mantissa = if is_negative { -mantissa } else { mantissa };
    Some((mantissa, i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?))
}

fn divided(number: i128, by: i128) -> Option<Placed> {
    let floor = i64::try_from(number.div_euclid(by)).ok()?;
    Some(Placed { floor, is_exact: number.rem_euclid(by) == 0 })
}

/// A whole number for a float, in the same order.
pub(super) fn float_key(float: f64) -> i64 {
    let bits = float.to_bits() as i64;
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

fn float_of_key(key: i64) -> f64 {
    let bits = if key < 0 { i64::MIN.wrapping_sub(key) } else { key };
    f64::from_bits(bits as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_keys_in_their_order() {
        let key = |yardstick: Yardstick, text: &str| yardstick.key(text).expect(text);
        assert!(key(Yardstick::Float, "-2.5") < key(Yardstick::Float, "-1e-3"));
        assert!(key(Yardstick::Float, "-1e-3") < key(Yardstick::Float, "0"));
        assert!(key(Yardstick::Float, "0") < key(Yardstick::Float, "1e300"));
        for float in [-1e300, -2.5, -0.0, 0.0, 1e-9, 7.0] {
            assert!((float_of_key(float_key(float)) - float).abs() < f64::MIN_POSITIVE);
        }
        assert_eq!(key(Yardstick::Decimal(2), "1.5"), 150);
        assert_eq!(key(Yardstick::Date, "1970-01-03"), 2);
        assert_eq!(key(Yardstick::Timestamp, "1970-01-02"), 86_400_000_000);
    }

    #[test]
    fn what_lies_between_keys_is_placed_between_them() {
        let placed = |yardstick: Yardstick, text: &str| {
            let own = yardstick.place(text).expect(text);
            (own.floor, own.ceiling())
        };
        assert_eq!(placed(Yardstick::Integer, "40.5"), (40, 41));
        assert_eq!(placed(Yardstick::Integer, "-40.5"), (-41, -40));
        assert_eq!(placed(Yardstick::Integer, "40.0"), (40, 40));
        assert_eq!(placed(Yardstick::Decimal(1), "0.25"), (2, 3));
        assert_eq!(placed(Yardstick::Date, "1970-01-02 12:00"), (1, 2));
        assert_eq!(placed(Yardstick::Integer, "1e30").0, i64::MAX);
        assert_eq!(placed(Yardstick::Decimal(2), "2.9e-1"), (29, 29));
        assert_eq!(placed(Yardstick::Integer, "25e-1"), (2, 3));
        assert_eq!(placed(Yardstick::Integer, "-1e-50"), (-1, 0));
        assert_eq!(Yardstick::Integer.place("forty"), None);
        assert_eq!(Yardstick::Date.place("40"), None);
    }

    #[test]
    fn texts_are_told_to_be_what_all_of_them_are() {
        let of = |texts: &[&'static str]| Yardstick::of_texts(texts.iter().copied());
        assert_eq!(of(&["1", "-20"]), Some(Yardstick::Whole(0)));
        assert_eq!(of(&["1", "2.50"]), Some(Yardstick::Decimal(1)));
        assert_eq!(of(&["1", "2e5"]), Some(Yardstick::Float));
        assert_eq!(of(&["2020-01-31"]), Some(Yardstick::Date));
        assert_eq!(of(&["01067", "2"]), None);
        assert_eq!(of(&["0.5", "0"]), Some(Yardstick::Decimal(1)));
        assert_eq!(of(&["1", "x"]), None);
    }
}
