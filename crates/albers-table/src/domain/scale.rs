//! Ordered values that lie far apart.
//!
//! A far value's code is its place on a scale of 2^30 steps between the least and the greatest
//! value. Values that would fall on the same step are moved apart by one, so that distinct values
//! always have distinct codes.
//!
//! A region ends in the gap between two neighbouring values, whether or not a code is left there:
//! what is shown is the roundest value of the gap, which nobody has.

use crate::chunk::Cells;
use crate::domain::round::{roundest_float, roundest_ticks};
use crate::domain::sorted::SortedCodes;
use crate::domain::{End, OrderedValue};
use crate::value::{TickFormat, float_text};

/// The number of steps of a scale: with a missing value below, codes still fit in 31 bits.
pub const LONGEST: u32 = (1 << 30) - 2;

/// The length of a scale of floats in steps.
const FLOAT_STEPS: u64 = 1 << 63;

/// The distinct values of an ordered column and their codes, counted from the domain's first code.
#[derive(Clone)]
pub struct Scale {
    values: Values,
    /// Ascending, parallel to the values.
    codes: SortedCodes,
}

/// The values that a column can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Ticks between two of them.
    pub unit: i64,
    /// Whether floats have 32 bits.
    pub is_single: bool,
}

impl Grid {
    /// The float itself, or the one of 32 bits that is nearest to it.
    fn float(self, float: f64) -> f64 {
        if self.is_single { f64::from(float as f32) } else { float }
    }

    /// The ticks where the right side of a cut may begin, so that neither its first ticks nor the
    /// last ones of the left side are `lo` or `hi`.
    pub fn room(self, lo: i64, hi: i64) -> (i64, i64) {
        (lo.saturating_add(self.unit).saturating_add(self.unit), hi.saturating_sub(self.unit))
    }
}

#[derive(Clone)]
enum Values {
    Ticks(Vec<i64>, TickFormat),
    Floats(Vec<f64>),
}

impl Scale {
    /// The scale of ascending keys.
    pub fn of_keys(keys: Vec<i64>, format: Option<TickFormat>) -> Scale {
        let places: Vec<f64> = match format {
            Some(_) => {
                let first = keys.first().copied().unwrap_or(0);
                keys.iter().map(|&key| key.abs_diff(first) as f64).collect()
            }
            None => {
                // Halved, so that the distance of the two ends of f64 stays finite.
                let first = keys.first().map_or(0.0, |&key| float_of_key(key) / 2.0);
                keys.iter().map(|&key| float_of_key(key) / 2.0 - first).collect()
            }
        };
        Scale::of_codes(keys, spread(&places), format)
    }

    /// The scale of ascending keys that have these codes.
    pub fn of_codes(keys: Vec<i64>, codes: Vec<u32>, format: Option<TickFormat>) -> Scale {
        let values = match format {
            Some(format) => Values::Ticks(keys, format),
            None => Values::Floats(keys.into_iter().map(float_of_key).collect()),
        };
        Scale { values, codes: SortedCodes::new(codes) }
    }

    /// The keys of its values, ascending.
    pub fn keys(&self) -> Box<dyn Iterator<Item = i64> + '_> {
        match &self.values {
            Values::Ticks(ticks, _) => Box::new(ticks.iter().copied()),
            Values::Floats(floats) => Box::new(floats.iter().map(|&float| key_of_float(float))),
        }
    }

    /// How many of its values have lesser keys.
    pub fn n_below_key(&self, key: i128) -> usize {
        match &self.values {
            Values::Ticks(ticks, _) => ticks.partition_point(|&own| i128::from(own) < key),
            Values::Floats(floats) => {
                floats.partition_point(|&own| i128::from(key_of_float(own)) < key)
            }
        }
    }

    /// The keys of its least and its greatest value, if there is any.
    pub fn end_keys(&self) -> Option<(i64, i64)> {
        Some(match &self.values {
            Values::Ticks(ticks, _) => (*ticks.first()?, *ticks.last()?),
            Values::Floats(floats) => {
                (key_of_float(*floats.first()?), key_of_float(*floats.last()?))
            }
        })
    }

    /// The codes of its values, ascending.
    pub fn codes(&self) -> &[u32] {
        self.codes.codes()
    }

    /// The greatest code.
    pub fn length(&self) -> u32 {
        self.codes().last().copied().unwrap_or(0)
    }

    /// How many values have codes in `lo..=hi`.
    pub fn n_between(&self, lo: u32, hi: u32) -> u64 {
        let below = self.codes.n_below(lo);
        let up_to = self.codes.n_up_to(hi);
        (up_to - below.min(up_to)) as u64
    }

    /// The exact distance between two codes' values, as a share of the whole.
    pub fn distance(&self, lo: u32, hi: u32) -> f64 {
        let (lo, hi) = (self.place(lo), self.place(hi));
        match &self.values {
            Values::Ticks(ticks, _) => ticks_share(ticks, ticks[lo], ticks[hi]),
            Values::Floats(floats) => floats_share(floats, floats[lo], floats[hi]),
        }
    }

    /// The length in steps: ticks, or 2^63 parts of the length where the values are floats.
    pub fn n_steps(&self) -> u64 {
        match &self.values {
            Values::Ticks(ticks, _) => match (ticks.first(), ticks.last()) {
                (Some(first), Some(last)) => last.abs_diff(*first).max(1),
                _ => 1,
            },
            Values::Floats(_) => FLOAT_STEPS,
        }
    }

    /// The steps between two codes' values.
    pub fn steps(&self, lo: u32, hi: u32) -> u64 {
        let (lo, hi) = (self.place(lo), self.place(hi));
        match &self.values {
            Values::Ticks(ticks, _) => ticks_between(ticks, ticks[lo], ticks[hi]),
            Values::Floats(floats) => float_steps(floats_share(floats, floats[lo], floats[hi])),
        }
    }

    /// The steps between two values cut to the scale.
    pub fn steps_between(&self, lo: OrderedValue, hi: OrderedValue) -> u64 {
        match (&self.values, lo, hi) {
            (Values::Ticks(ticks, _), OrderedValue::Ticks(lo), OrderedValue::Ticks(hi)) => {
                ticks_between(ticks, lo, hi)
            }
            _ => float_steps(self.share_between(lo, hi)),
        }
    }

    /// The exact distance between two values cut to the scale, as a share of the whole.
    pub fn share_between(&self, lo: OrderedValue, hi: OrderedValue) -> f64 {
        match (&self.values, lo, hi) {
            (Values::Ticks(ticks, _), OrderedValue::Ticks(lo), OrderedValue::Ticks(hi)) => {
                ticks_share(ticks, lo, hi)
            }
            (Values::Floats(floats), OrderedValue::Float(lo), OrderedValue::Float(hi)) => {
                floats_share(floats, lo, hi)
            }
            _ => 0.0,
        }
    }

    /// The codes of the least and the greatest value between two others, if there is any.
    pub fn codes_between(&self, lo: OrderedValue, hi: OrderedValue) -> Option<(u32, u32)> {
        let (start, end) = match (&self.values, lo, hi) {
            (Values::Ticks(ticks, _), OrderedValue::Ticks(lo), OrderedValue::Ticks(hi)) => {
                (ticks.partition_point(|&v| v < lo), ticks.partition_point(|&v| v <= hi))
            }
            (Values::Floats(floats), OrderedValue::Float(lo), OrderedValue::Float(hi)) => {
                (floats.partition_point(|&v| v < lo), floats.partition_point(|&v| v <= hi))
            }
            _ => return None,
        };
        (start < end).then(|| (self.codes()[start], self.codes()[end - 1]))
    }

    /// What a region shows at an end that has the code of a value: the roundest value between it
    /// and its neighbour beyond, or the value itself where there is no room.
    pub fn region_end(&self, code: u32, end: End, grid: Grid) -> OrderedValue {
        let place = self.place(code);
        let is_last = place + 1 == self.codes().len();
        let left = match end {
            End::Low if place > 0 => place - 1,
            End::High if !is_last => place,
            _ => return self.value_at(place),
        };
        match &self.values {
            Values::Ticks(ticks, format) => {
                let (lo, hi) = (ticks[left], ticks[left + 1]);
                let first = roundest_ticks(*format, grid.room(lo, hi), |t| t % grid.unit == 0);
                // Without room the left side ends at its own value.
                let first = first.unwrap_or(lo.saturating_add(grid.unit));
                OrderedValue::Ticks(if end == End::Low { first } else { first - grid.unit })
            }
            Values::Floats(floats) => {
                let (lo, hi) = (floats[left], floats[left + 1]);
                let is_between = |float| lo < grid.float(float) && grid.float(float) < hi;
                let between = roundest_float(lo, hi, is_between).map(|float| grid.float(float));
                let own = if end == End::Low { hi } else { lo };
                OrderedValue::Float(between.unwrap_or(own))
            }
        }
    }

    /// The code of the value after which a cut between two codes of values is best placed: before
    /// the roundest value that nobody has.
    pub fn roundest_cut(&self, left: u32, right: u32, grid: Grid) -> u32 {
        let (first, last) = (self.place(left), self.place(right));
        if last <= first + 1 {
            return left;
        }
        let n_below = match &self.values {
            Values::Ticks(ticks, format) => {
                let is_taken = |t: i64| ticks[first..=last].binary_search(&t).is_ok();
                let is_free =
                    |t: i64| t % grid.unit == 0 && !is_taken(t) && !is_taken(t - grid.unit);
                let found = roundest_ticks(*format, grid.room(ticks[first], ticks[last]), is_free);
                found.map(|found| ticks.partition_point(|&t| t < found))
            }
            Values::Floats(floats) => {
                let is_free = |float| {
                    let float = grid.float(float);
                    let place = floats.partition_point(|&other| other < float);
                    (first + 1..=last).contains(&place) && floats[place] != float
                };
                let found = roundest_float(floats[first], floats[last], is_free);
                found.map(|found| floats.partition_point(|&other| other < grid.float(found)))
            }
        };
        n_below.map_or(left, |n_below| self.codes()[n_below - 1])
    }

    /// The value at a place.
    fn value_at(&self, place: usize) -> OrderedValue {
        match &self.values {
            Values::Ticks(ticks, _) => OrderedValue::Ticks(ticks[place]),
            Values::Floats(floats) => OrderedValue::Float(floats[place]),
        }
    }

    /// The code of the value that is shown for a code at an end of an interval.
    pub fn shown_code(&self, code: u32, end: End) -> u32 {
        let place = match end {
            End::Low => self.codes.n_below(code),
            End::High => self.place(code),
        };
        self.codes().get(place).copied().unwrap_or(code)
    }

    /// The ticks of a code; nothing where all cells are missing.
    pub fn ticks(&self, code: u32) -> Option<i64> {
        match &self.values {
            Values::Ticks(ticks, _) => ticks.get(self.place(code)).copied(),
            Values::Floats(_) => None,
        }
    }

    /// The number of a code; nothing where all cells are missing.
    pub fn float(&self, code: u32) -> Option<f64> {
        match &self.values {
            Values::Ticks(..) => None,
            Values::Floats(floats) => floats.get(self.place(code)).copied(),
        }
    }

    /// How the ticks are written.
    pub fn format(&self) -> Option<TickFormat> {
        match &self.values {
            Values::Ticks(_, format) => Some(*format),
            Values::Floats(_) => None,
        }
    }

    /// The place of the value with this code, or of the nearest one below it: region bounds may
    /// fall between values.
    fn place(&self, code: u32) -> usize {
        self.codes.n_up_to(code).saturating_sub(1)
    }
}

/// The distance from `lo` to `hi`, cut to the values, as a share of the whole.
fn ticks_share(values: &[i64], lo: i64, hi: i64) -> f64 {
    let (Some(&first), Some(&last)) = (values.first(), values.last()) else { return 0.0 };
    match ticks_between(values, lo, hi) {
        0 => 0.0,
        distance => distance as f64 / last.abs_diff(first) as f64,
    }
}

/// The distance from `lo` to `hi`, cut to the values.
fn ticks_between(values: &[i64], lo: i64, hi: i64) -> u64 {
    let (Some(&first), Some(&last)) = (values.first(), values.last()) else { return 0 };
    let (lo, hi) = (lo.max(first), hi.min(last));
    if lo >= hi { 0 } else { hi.abs_diff(lo) }
}

/// A share of the length in steps.
fn float_steps(share: f64) -> u64 {
    (share * FLOAT_STEPS as f64).round() as u64
}

/// The distance from `lo` to `hi`, cut to the values, as a share of the whole; halved, so that the
/// distance of the two ends of f64 stays finite.
fn floats_share(values: &[f64], lo: f64, hi: f64) -> f64 {
    let (Some(&first), Some(&last)) = (values.first(), values.last()) else { return 0.0 };
    let (lo, hi) = (lo.max(first), hi.min(last));
    if lo >= hi {
        return 0.0;
    }
    (hi / 2.0 - lo / 2.0) / (last / 2.0 - first / 2.0)
}

/// Codes on the scale for ascending places, all distinct.
fn spread(places: &[f64]) -> Vec<u32> {
    let whole = places.last().copied().unwrap_or(0.0);
    let n = places.len() as u64;
    let mut codes: Vec<u32> = Vec::with_capacity(places.len());
    for (value_idx, &place) in places.iter().enumerate() {
        let step = if whole > 0.0 { (place / whole * f64::from(LONGEST)).round() } else { 0.0 };
        let least = codes.last().map_or(0, |&code| u64::from(code) + 1);
        let greatest = u64::from(LONGEST) - (n - 1 - value_idx as u64);
        codes.push((step as u64).clamp(least, greatest.max(least)) as u32);
    }
    codes
}

/// What keys look like as text, and what they stand for.
pub fn names_and_numbers(keys: &[i64], format: Option<TickFormat>) -> (Vec<String>, Vec<f64>) {
    let name = |&key: &i64| match format {
        Some(format) => format.text(key),
        None => float_text(float_of_key(key)),
    };
    let number = |&key: &i64| match format {
        Some(TickFormat::Decimal { scale }) => key as f64 / 10f64.powi(i32::from(scale)),
        Some(_) => key as f64,
        None => float_of_key(key),
    };
    (keys.iter().map(name).collect(), keys.iter().map(number).collect())
}

/// A key per row, ordered like the values: the ticks themselves, or the bits of a float turned so
/// that they sort like the number.
pub fn all_keys(cells: &Cells) -> Box<dyn Iterator<Item = i64> + '_> {
    match cells {
        Cells::Ticks { base, offsets, .. } => {
            Box::new(offsets.iter().map(move |&offset| base.wrapping_add(i64::from(offset))))
        }
        Cells::WideTicks { ticks, .. } => Box::new(ticks.iter().copied()),
        Cells::Floats(floats) => Box::new(floats.iter().map(|&float| key_of_float(float))),
        Cells::Names { .. } => unreachable!("names have no keys"),
    }
}

fn key_of_float(float: f64) -> i64 {
    let bits = float.to_bits() as i64;
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

fn float_of_key(key: i64) -> f64 {
    f64::from_bits((if key < 0 { key ^ i64::MAX } else { key }) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_keys_sort_like_the_numbers() {
        let floats = [f64::MIN, -1.5, -1e-300, 0.0, 1e-300, 2.0, f64::MAX];
        let keys: Vec<i64> = floats.iter().map(|&float| key_of_float(float)).collect();
        assert!(keys.is_sorted());
        for (&key, &float) in keys.iter().zip(&floats) {
            assert_eq!(float_of_key(key), float);
        }
    }

    #[test]
    fn crowded_values_keep_distinct_codes() {
        let codes = spread(&[0.0, 1e-300, 2e-300, 0.5, 1.0 - 1e-16, 1.0]);
        assert!(codes.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(codes[5], LONGEST);
        assert!(codes[3].abs_diff(LONGEST / 2) <= 1);
    }
}
