//! The mean of a class's values on an attribute that is shown as an interval.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 3.3 (summary statistics).
//! Departures: the mean has few digits, and what is few follows from what the class publishes
//! anyway; where values are missing, it is shown only if at least five rows have one. It is not
//! shown where it would put all values but one within a tenth of the width of one end on average.
//! Guarantee: a sum has no rounding, so that a mean is the same in whatever order and pieces the
//! rows of a class come. It is a function of the values of the published rows, never lies beyond
//! the published ends, and tells neither how finely other rows are written nor what is left out.
//! Cost: one step for each row and attribute; a few hundred bytes for a sum of floats.
//!
//! ```text
//!   w = max - min                            step: the greatest power of ten that is at most
//!   u = the last place that min or max need     w / 10,  and at least u       small classes
//!                                               w / 100, and at least u / 10  from 20 rows on
//! ```
//!
//! Small classes are those of fewer than 20 rows, or with missing values. Whoever knows all values
//! of a class of n rows but one can compute the last to within n half steps, or less where it would
//! lie beyond the ends. Days are not
//! divided, and points in time are rounded to parts of days.

use albers_classes::space::Shown;
use albers_table::code::Code;
use albers_table::domain::{Domain, OrderedValue};
use albers_table::exact_sum::ExactSum;
use albers_table::value::{Decimal, TickFormat};

use crate::describe::{CellContent, Describer, ShownCell};

/// Rows from which on a class shows one digit more.
const MANY_ROWS: u64 = 20;

/// Rows, or persons, from which on a mean is not severe, and values that it must be of where rows
/// miss some: with fewer, the bounds and the mean of a class tell the values between them nearly, and
/// with three the one between them.
pub const FEWEST_VALUES: u64 = 5;

/// A tick is ten of these, since numbers may have one digit more than the ends.
const TENTHS: i128 = 10;

/// What points in time are rounded to below a day, in microseconds; then come powers of ten of
/// days.
const TIME_STEPS: [i128; 12] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    SECOND,
    10 * SECOND,
    60 * SECOND,
    600 * SECOND,
    3_600 * SECOND,
    6 * 3_600 * SECOND,
];
const SECOND: i128 = 1_000_000;
const DAY: i128 = 24 * 3_600 * SECOND;

/// A mean as it is published.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mean {
    /// In tenths of ticks; whole ticks where the attribute holds times.
    Tenths(i128),
    /// A floating-point number.
    Float(f64),
}

impl Mean {
    /// The value that it is, where it is one of the domain.
    pub(crate) fn value(self) -> OrderedValue {
        match self {
            Mean::Tenths(tenths) => OrderedValue::Ticks((tenths / TENTHS) as i64),
            Mean::Float(float) => OrderedValue::Float(float),
        }
    }
}

/// The values of some rows of a class on one attribute, added up.
#[derive(Debug, Clone)]
pub(crate) struct ValueSum {
    n_values: u64,
    sum: Sum,
}

#[derive(Debug, Clone)]
enum Sum {
    Ticks(i128),
    Floats(Box<ExactSum>),
}

impl ValueSum {
    /// A sum for each attribute, of no row yet; nothing for those that show no intervals.
    pub(crate) fn of_nothing(describers: &[Describer<'_>]) -> Vec<Option<ValueSum>> {
        let of = |describer: &Describer<'_>| {
            let attribute = describer.attribute();
            (attribute.shown == Shown::Interval).then(|| ValueSum {
                n_values: 0,
                sum: match attribute.domain.tick_format() {
                    Some(_) => Sum::Ticks(0),
                    None => Sum::Floats(Box::new(ExactSum::zero())),
                },
            })
        };
        describers.iter().map(of).collect()
    }

    /// Adds the values of some rows, given as part of a column of codes. Missing ones are not
    /// counted.
    pub(crate) fn add(&mut self, domain: &Domain, codes: impl Iterator<Item = u32>) {
        let missing = domain.missing_code();
        for code in codes.map(Code::new).filter(|&code| Some(code) != missing) {
            self.n_values += 1;
            match &mut self.sum {
                Sum::Ticks(sum) => {
                    *sum += i128::from(domain.ticks(code).expect("a sum of ticks is of ticks"));
                }
                Sum::Floats(sum) => {
                    sum.add(domain.float(code).expect("a sum of floats is of floats"), 1);
                }
            }
        }
    }

    /// What a class of so many rows that shows this cell publishes; nothing where too few of its
    /// rows have a value.
    pub(crate) fn mean(
        &self,
        describer: &Describer<'_>,
        cell: ShownCell,
        n_rows: u64,
    ) -> Option<Mean> {
        let CellContent::Interval { with_missing, .. } = describer.content(cell) else {
            return None;
        };
        if self.n_values == 0 || (with_missing && self.n_values < FEWEST_VALUES) {
            return None;
        }
        let is_small = n_rows < MANY_ROWS || with_missing;
        match (&self.sum, describer.ends(cell)?) {
            (Sum::Ticks(sum), (OrderedValue::Ticks(lo), OrderedValue::Ticks(hi))) => {
                let format = describer.attribute().domain.tick_format()?;
                let step = step_of(format, lo, hi, is_small);
                let n_values = i128::from(self.n_values);
                let mean = half_to_even(sum * TENTHS, n_values * step) * step;
                let [lo, hi] = [lo, hi].map(|end| i128::from(end) * TENTHS);
                let near = [mean, step, lo, hi].map(|own| own as f64);
                (!pins_the_others(near, self.n_values)).then(|| Mean::Tenths(mean.clamp(lo, hi)))
            }
            (Sum::Floats(sum), (OrderedValue::Float(lo), OrderedValue::Float(hi))) => {
                let mean = rounded(sum.mean(self.n_values), lo, hi, is_small);
                // No step is finer than a tenth of the most that it may be.
                let step = (hi / 2.0 - lo / 2.0) / if is_small { 50.0 } else { 500.0 };
                (!pins_the_others([mean, step, lo, hi], self.n_values)).then_some(Mean::Float(mean))
            }
            _ => None,
        }
    }
}

/// Whether a mean, told to within half a step, would leave all values but one near one end. Somebody
/// has each end, so that the others are what is left of the sum: where even the greatest sum that
/// rounds to the mean leaves them a tenth of the width or less above the least value on average, or
/// likewise below the greatest, whoever reads it knows nearly what everybody has.
fn pins_the_others([mean, step, lo, hi]: [f64; 4], n_values: u64) -> bool {
    let n_others = n_values.saturating_sub(2) as f64;
    if n_others == 0.0 || lo == hi {
        return false;
    }
    // Halved, so that the distance of the two ends of f64 stays finite.
    let width = hi / 2.0 - lo / 2.0;
    let (n_values, half) = (n_values as f64, step / 4.0);
    let above = n_values * (mean / 2.0 - lo / 2.0 + half) - width;
    let below = n_values * (hi / 2.0 - mean / 2.0 + half) - width;
    above.min(below) / n_others <= width / 10.0
}

/// The means of a class of so many rows, attribute by attribute.
pub(crate) fn means_of(
    sums: &[Option<ValueSum>],
    describers: &[Describer<'_>],
    cells: &[ShownCell],
    n_rows: u64,
) -> Vec<Option<Mean>> {
    let of_attribute = |((sum, describer), &cell): ((&Option<ValueSum>, _), &ShownCell)| {
        sum.as_ref()?.mean(describer, cell, n_rows)
    };
    sums.iter().zip(describers).zip(cells).map(of_attribute).collect()
}

/// What a mean between two ends is rounded to, in tenths of ticks.
fn step_of(format: TickFormat, lo: i64, hi: i64, is_small: bool) -> i128 {
    let width = i128::from(hi) - i128::from(lo);
    let most = width * TENTHS / if is_small { 10 } else { 100 };
    let least = match format {
        TickFormat::Timestamp { .. } => {
            return TENTHS * time_step(most / TENTHS, time_unit(lo).min(time_unit(hi)));
        }
        TickFormat::Date => TENTHS,
        TickFormat::Integer | TickFormat::Decimal { .. } => {
            let unit = unit_of(format, lo).min(unit_of(format, hi));
            if is_small { unit * TENTHS } else { unit }
        }
    };
    let mut step = least;
    while step * 10 <= most {
        step *= 10;
    }
    step
}

/// The ticks that the last digit of a number counts; those of a whole number are 1.
fn unit_of(format: TickFormat, ticks: i64) -> i128 {
    match format {
        TickFormat::Decimal { scale } => {
            let needed = Decimal { mantissa: ticks, scale }.without_trailing_zeros().scale;
            10i128.pow(u32::from(scale - needed))
        }
        _ => 1,
    }
}

/// The second, the millisecond or the microsecond that a point in time is told to.
fn time_unit(ticks: i64) -> i128 {
    let ticks = i128::from(ticks);
    [SECOND, 1_000].into_iter().find(|unit| ticks % unit == 0).unwrap_or(1)
}

/// The greatest step of times that is neither above the most nor below a unit.
fn time_step(most: i128, unit: i128) -> i128 {
    let mut step = unit;
    for longer in TIME_STEPS.into_iter().filter(|&longer| longer <= most) {
        step = step.max(longer);
    }
    let mut days = DAY;
    while days <= most {
        step = days;
        days *= 10;
    }
    step
}

/// A quotient of whole numbers, of which the lower one is positive; halves go to the even one.
fn half_to_even(upper: i128, lower: i128) -> i128 {
    let (quotient, rest) = (upper.div_euclid(lower), upper.rem_euclid(lower));
    match (2 * rest).cmp(&lower) {
        std::cmp::Ordering::Less => quotient,
        std::cmp::Ordering::Greater => quotient + 1,
        std::cmp::Ordering::Equal => quotient + quotient.rem_euclid(2),
    }
}

/// A number between two ends, rounded by their distance.
fn rounded(mean: f64, lo: f64, hi: f64, is_small: bool) -> f64 {
    let share = if is_small { 10.0 } else { 100.0 };
    // Divided first, so that the distance of the two ends of f64 stays finite.
    let most = hi / share - lo / share;
    if most <= 0.0 {
        return lo;
    }
    let n_more = exponent_of(mean) - exponent_of(most);
    let near = if n_more >= 0 {
        // Written with so many digits, which rounds the exact value.
        let n_digits = n_more as usize;
        format!("{mean:.n_digits$e}").parse().unwrap_or(mean)
    } else {
        // Less than a step: 0, or the step itself where there is more than half of it.
        let step = format!("1e{}", exponent_of(most)).parse().unwrap_or(most);
        if mean.abs() > step / 2.0 { step.copysign(mean) } else { 0.0 }
    };
    near.clamp(lo, hi)
}

/// The power of ten of a number's first digit.
fn exponent_of(number: f64) -> i32 {
    let text = format!("{number:e}");
    text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_mean_that_tells_what_all_but_one_have_is_not_shown() {
        // One of 22 has 319, and a mean that is shown as 14.0 leaves nothing for the others.
        assert!(pins_the_others([140.0, 10.0, 0.0, 3190.0], 22));
        assert!(pins_the_others([3050.0, 10.0, 0.0, 3190.0], 22), "nor where all are at the top");
        assert!(!pins_the_others([1400.0, 10.0, 0.0, 3190.0], 22));
        assert!(!pins_the_others([0.5, 0.1, 0.0, 1.0], 2), "two ends tell their mean");
        assert!(!pins_the_others([7.0, 1.0, 7.0, 7.0], 9), "a single value is told already");
        assert!(!pins_the_others([0.0, 1e307, f64::MIN, f64::MAX], 9));
    }

    fn tenths(values: &[i64], format: TickFormat, is_small: bool) -> i128 {
        let (lo, hi) = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
        let step = step_of(format, lo, hi, is_small);
        let sum: i128 = values.iter().map(|&value| i128::from(value)).sum();
        let mean = half_to_even(sum * TENTHS, values.len() as i128 * step) * step;
        mean.clamp(i128::from(lo) * TENTHS, i128::from(hi) * TENTHS)
    }

    #[test]
    fn small_classes_show_units_and_large_ones_a_digit_more() {
        let ages = [48, 50, 53, 55, 62];
        assert_eq!(tenths(&ages, TickFormat::Integer, true), 540);
        assert_eq!(tenths(&ages, TickFormat::Integer, false), 536);
        assert_eq!(tenths(&ages, TickFormat::Date, false), 540, "days are not divided");
        let pay = [31_250, 40_020, 77_000];
        assert_eq!(tenths(&pay, TickFormat::Integer, true), 490_000);
        assert_eq!(tenths(&pay, TickFormat::Integer, false), 494_000);
    }

    #[test]
    fn the_last_place_is_that_of_the_ends_however_finely_others_are_written() {
        let cents = TickFormat::Decimal { scale: 2 };
        let mills = TickFormat::Decimal { scale: 3 };
        assert_eq!(step_of(cents, 100, 350, true), 100, "a tenth");
        assert_eq!(step_of(cents, 100, 325, true), 100, "a tenth of 2.25 is above a tenth");
        assert_eq!(step_of(cents, 100, 105, true), 10, "a hundredth");
        assert_eq!(step_of(cents, 100, 105, false), 1, "a tenth of a hundredth");
        for (lo, hi) in [(100, 350), (100, 105), (-700, 12_345)] {
            for is_small in [true, false] {
                let [coarse, fine] = [(cents, 1), (mills, 10)]
                    .map(|(format, more)| step_of(format, lo * more, hi * more, is_small));
                assert_eq!(10 * coarse, fine, "{lo} {hi}");
            }
        }
    }

    #[test]
    fn times_are_rounded_to_parts_of_days() {
        let zoned = false;
        let step = |lo: i128, hi: i128, is_small: bool| {
            let step = step_of(TickFormat::Timestamp { zoned }, lo as i64, hi as i64, is_small);
            step / TENTHS
        };
        assert_eq!(step(0, 365 * DAY, false), DAY);
        assert_eq!(step(0, 365 * DAY, true), 10 * DAY);
        assert_eq!(step(0, DAY, true), 3_600 * SECOND);
        assert_eq!(step(0, 5 * SECOND, true), SECOND, "the ends are whole seconds");
        assert_eq!(step(1, 5 * SECOND, true), 100_000, "they are not");
        assert_eq!(step(7_000, 9_000, false), 1_000);
        assert_eq!(step(7, 9, false), 1);
    }

    #[test]
    fn floats_are_rounded_by_their_distance() {
        assert_eq!(rounded(0.123_456, 0.0, 1.0, true), 0.1);
        assert_eq!(rounded(0.123_456, 0.0, 1.0, false), 0.12);
        assert_eq!(rounded(-123_456.0, -200_000.0, 0.0, true), -120_000.0);
        assert_eq!(rounded(0.04, 0.0, 1.0, true), 0.0);
        assert_eq!(rounded(0.06, 0.0, 1.0, true), 0.1);
        assert_eq!(rounded(-0.06, -1.0, 0.0, true), -0.1);
        assert_eq!(rounded(1.02, 1.01, 2.1, true), 1.01, "never below the lower end");
        assert_eq!(rounded(2.5, 2.5, 2.5, true), 2.5);
        assert!(rounded(1e300, f64::MIN, f64::MAX, true).is_finite());
    }

    proptest! {
        #[test]
        fn a_mean_is_the_nearest_step_and_lies_between_the_ends(
            values in prop::collection::vec(-100_000i64..100_000, 1..30),
            scale in 0u8..4,
            is_small in any::<bool>(),
        ) {
            let format = TickFormat::Decimal { scale };
            let shown = tenths(&values, format, is_small);
            let (lo, hi) = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
            prop_assert!((i128::from(lo) * 10..=i128::from(hi) * 10).contains(&shown));
            let step = step_of(format, lo, hi, is_small);
            // By cross-multiplication: the distance from the exact mean is at most half a step, and
            // less where an end cut it off.
            let n = values.len() as i128;
            let sum: i128 = values.iter().map(|&value| i128::from(value) * 10).sum();
            prop_assert!(2 * (shown * n - sum).abs() <= step * n);
            let at_end = shown == i128::from(lo) * 10 || shown == i128::from(hi) * 10;
            prop_assert!(shown % step == 0 || at_end);
            // Few digits: neither finer than allowed nor coarser than the share of the width.
            let width = i128::from(hi - lo) * 10;
            let unit = unit_of(format, lo).min(unit_of(format, hi)) * 10;
            let (share, least) = if is_small { (10, unit) } else { (100, unit / 10) };
            prop_assert!(step == least || (step > least && step * share <= width));
            prop_assert!(step * 10 * share > width);
        }

        #[test]
        fn a_mean_of_floats_lies_between_the_ends_and_within_half_a_step(
            values in prop::collection::vec(-1e6f64..1e6, 1..30),
            is_small in any::<bool>(),
        ) {
            let mut sum = ExactSum::zero();
            values.iter().for_each(|&value| sum.add(value, 1));
            let mean = sum.mean(values.len() as u64);
            let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
            let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let shown = rounded(mean, lo, hi, is_small);
            prop_assert!(lo <= shown && shown <= hi);
            let share = if is_small { 10.0 } else { 100.0 };
            prop_assert!((shown - mean).abs() <= (hi - lo) / share / 2.0 * (1.0 + 1e-9));
        }
    }
}
