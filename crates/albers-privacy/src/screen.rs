//! Screens: sums of a few numbers for each row that tell of most classes that t-closeness does not
//! hold, without a histogram.
//!
//! Source: Kantorovich & Rubinstein 1958. The earth mover's distance on a line is at least the
//! difference between what a class and the whole table have on average of any function that rises
//! no faster than the line.
//! Departures: the line is divided into a few stretches. What a row has of a stretch is how much of
//! it lies before the row's value; the differences of all stretches add up, each with its sign.
//!
//! ```text
//!   line        |----1----|--2--|-3-|---4---|
//!   a value                       ^             has all of 1 and 2, half of 3, nothing of 4
//! ```
//!
//! # Guarantee
//! What is refused is refused by the distance too: places on the line are whole numbers of units,
//! sums of them are exact, and what rounding may have added is taken off. What is not refused may
//! or may not hold.
//!
//! Cost: eight additions for each row, that need no look at other rows. Four bytes for each value.

use crate::t_closeness::WholeDistribution;

/// The stretches of a line.
const N_STRETCHES: usize = 8;

/// The length of a line, in units: sums over 128 rows fit in 32 bits.
const LENGTH: i32 = 1 << 23;

/// What rounding may add for each row: half a unit for its place, as much for those of the whole
/// table, and half a unit for what this has on average of each stretch.
const ROUNDED: f64 = 1.0 + N_STRETCHES as f64 / 2.0 + 1.0;

/// What a row has of each stretch, less what the rows of the whole table have of it on average.
pub type Share = [i32; N_STRETCHES];

/// The rows whose shares are added in 32 bits.
pub const MAX_NARROW_ROWS: usize = 128;

/// A screen for one rule, over values on a line.
#[derive(Clone)]
pub struct Screen {
    column: usize,
    /// Where each code lies.
    places: Vec<i32>,
    /// Where each stretch begins, and how long it is.
    starts: Share,
    widths: Share,
    /// What the rows of the whole table have of each, on average.
    means: Share,
    /// The most by which a class may differ, for each of its rows.
    limit: i32,
}

impl Screen {
    /// For values at ascending positions and their whole table; nothing where they do not differ, or
    /// where there is no row.
    pub(crate) fn new(
        (column, t): (usize, f64),
        positions: &[f64],
        whole: &WholeDistribution,
    ) -> Option<Screen> {
        let (first, last) = (*positions.first()?, *positions.last()?);
        let length = last - first;
        if whole.n_rows() == 0 || length <= 0.0 {
            return None;
        }
        let place = |position: &f64| ((position - first) / length * f64::from(LENGTH)).round();
        let places: Vec<i32> = positions.iter().map(|own| place(own) as i32).collect();
        let ends = stretch_ends(&places, whole);
        let starts: Share = std::array::from_fn(|at| if at == 0 { 0 } else { ends[at - 1] });
        let widths = std::array::from_fn(|at| ends[at] - starts[at]);
        let limit = (t.clamp(0.0, 1.0) * f64::from(LENGTH) + ROUNDED).ceil() as i32 + 1;
        let mut screen = Screen { column, places, starts, widths, means: [0; 8], limit };
        screen.means = screen.means_of(whole);
        Some(screen)
    }

    fn means_of(&self, whole: &WholeDistribution) -> Share {
        let mut sums = [0i128; N_STRETCHES];
        for (&place, &n_rows) in self.places.iter().zip(whole.counts()) {
            let before = self.before(place);
            let counted = sums.iter_mut().zip(before);
            counted.for_each(|(sum, own)| *sum += i128::from(own) * i128::from(n_rows));
        }
        let n_rows = i128::from(whole.n_rows());
        sums.map(|sum| ((2 * sum + n_rows) / (2 * n_rows)) as i32)
    }

    /// How much of each stretch lies before a place.
    #[inline(always)]
    fn before(&self, place: i32) -> Share {
        std::array::from_fn(|at| (place - self.starts[at]).max(0).min(self.widths[at]))
    }

    /// The sensitive column whose codes it looks at, by its position.
    pub fn column(&self) -> usize {
        self.column
    }

    /// What a row with this code has.
    ///
    /// # Panics
    /// When the code is outside the column's domain.
    #[inline(always)]
    pub fn share(&self, code: u32) -> Share {
        let before = self.before(self.places[code as usize]);
        std::array::from_fn(|at| before[at] - self.means[at])
    }

    /// Whether so many rows, at most [`MAX_NARROW_ROWS`], whose shares have this sum, do not satisfy
    /// the rule.
    #[inline(always)]
    pub fn refuses(&self, n_rows: usize, sum: &Share) -> bool {
        let mut off = 0;
        for at in 0..N_STRETCHES {
            off += sum[at].abs();
        }
        off > n_rows as i32 * self.limit
    }
}

/// Sums of the shares of any number of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WideSum {
    n_rows: i64,
    sum: [i64; N_STRETCHES],
}

impl WideSum {
    /// Adds a row.
    #[inline(always)]
    pub fn add(&mut self, share: &Share) {
        self.n_rows += 1;
        for at in 0..N_STRETCHES {
            self.sum[at] += i64::from(share[at]);
        }
    }

    /// The sum of what is not in a part of it.
    #[inline(always)]
    pub fn without(&self, part: &WideSum) -> WideSum {
        WideSum {
            n_rows: self.n_rows - part.n_rows,
            sum: std::array::from_fn(|at| self.sum[at] - part.sum[at]),
        }
    }

    /// Whether these rows do not satisfy the rule of a screen.
    #[inline(always)]
    pub fn is_refused(&self, screen: &Screen) -> bool {
        let mut off = 0;
        for at in 0..N_STRETCHES {
            off += self.sum[at].abs();
        }
        off > self.n_rows * i64::from(screen.limit)
    }
}

/// Where stretches end that differ as much from each other as chance lets them: a share p of rows
/// is off by the root of p (1 - p) where few rows are drawn.
fn stretch_ends(places: &[i32], whole: &WholeDistribution) -> Share {
    let n_rows = whole.n_rows() as f64;
    let mut n_up_to = 0;
    let spread = places.windows(2).zip(whole.counts()).map(|(pair, &n_own)| {
        n_up_to += n_own;
        let share = n_up_to as f64 / n_rows;
        f64::from(pair[1] - pair[0]) * (share * (1.0 - share)).max(0.0).sqrt()
    });
    let up_to: Vec<f64> = spread
        .scan(0.0, |sum, own| {
            *sum += own;
            Some(*sum)
        })
        .collect();
    let all = up_to.last().copied().unwrap_or(0.0);
    std::array::from_fn(|at| match at + 1 {
        N_STRETCHES => LENGTH,
        end => {
            let asked = all * end as f64 / N_STRETCHES as f64;
            places[up_to.partition_point(|&own| own < asked).min(places.len() - 1)]
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;
    use crate::sensitive_column::GroundDistance;
    use crate::t_closeness::emd_to;

    /// Numbers that look drawn.
    fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        }
    }

    /// A line of so many values, some of them far from the others in every third.
    fn line(round: usize, n_values: u32, draw: &mut impl FnMut(u64) -> u64) -> Vec<f64> {
        let mut position = -5.0;
        let next = |code: u32| {
            let is_far = round.is_multiple_of(3) && code.is_multiple_of(97);
            position += if is_far { draw(100_000) as f64 } else { 0.1 + draw(3) as f64 };
            position
        };
        (0..n_values).map(next).collect()
    }

    #[test]
    fn what_is_refused_is_farther_from_the_table_than_asked() {
        let mut draw = dice(11);
        let (mut n_refused, mut n_far) = (0, 0);
        for round in 0..600 {
            let n_values = [2, 3, 40, 1025, 4097, 30_000][round % 6];
            let positions = line(round, n_values, &mut draw);
            let distance = GroundDistance::Ordered { positions: positions.clone() };
            let mut histogram = Histogram::new(n_values);
            (0..500).for_each(|_| histogram.add(draw(u64::from(n_values)) as u32));
            let whole = WholeDistribution::new(&distance, &histogram);
            histogram.clear();
            let end = 1 + draw(u64::from(n_values));
            let codes: Vec<u32> = (0..1 + draw(128)).map(|_| draw(end) as u32).collect();
            codes.iter().for_each(|&code| histogram.add(code));
            let exact = emd_to(&distance, &histogram, &whole);
            // Just below the distance, just above it, and anywhere.
            for t in [exact - 1e-7, exact, exact + 1e-7, exact - 0.01, draw(1000) as f64 / 1e3] {
                let Some(screen) = Screen::new((0, t), &positions, &whole) else { continue };
                let (mut sum, mut wide) = ([0; N_STRETCHES], WideSum::default());
                for &code in &codes {
                    let share = screen.share(code);
                    wide.add(&share);
                    sum = std::array::from_fn(|at| sum[at] + share[at]);
                }
                let is_refused = screen.refuses(codes.len(), &sum);
                assert_eq!(is_refused, wide.is_refused(&screen));
                assert!(!is_refused || exact > t, "{exact} is not above {t}");
                n_refused += u32::from(is_refused);
                n_far += u32::from(exact > t + 0.001);
            }
        }
        assert!(n_refused * 2 > n_far, "{n_refused} of {n_far} are refused");
    }

    #[test]
    fn stretches_cover_the_line_whatever_its_values() {
        let mut draw = dice(3);
        for round in 0..60 {
            let n_values = 2 + draw(50) as u32;
            let positions = line(round, n_values, &mut draw);
            let mut histogram = Histogram::new(n_values);
            (0..1 + draw(9)).for_each(|_| histogram.add(draw(u64::from(n_values)) as u32));
            let distance = GroundDistance::Ordered { positions: positions.clone() };
            let whole = WholeDistribution::new(&distance, &histogram);
            let screen = Screen::new((0, 0.1), &positions, &whole).unwrap();
            assert_eq!(screen.widths.iter().sum::<i32>(), LENGTH);
            assert!(screen.widths.iter().all(|&width| width >= 0));
            assert_eq!(screen.before(LENGTH), screen.widths);
        }
    }

    #[test]
    fn a_line_without_rows_or_length_has_no_screen() {
        let screen = |n_values: u32, n_rows: u64| {
            let distance = GroundDistance::ranks(n_values);
            let mut histogram = Histogram::new(n_values);
            (0..n_rows).for_each(|_| histogram.add(0));
            let GroundDistance::Ordered { positions } = &distance else { unreachable!() };
            Screen::new((0, 0.1), positions, &WholeDistribution::new(&distance, &histogram))
        };
        assert!(screen(1, 3).is_none());
        assert!(screen(2, 0).is_none());
        assert!(screen(2, 1).is_some());
    }

    #[test]
    fn sums_of_as_many_rows_as_there_may_be_do_not_overflow() {
        let distance = GroundDistance::ranks(2);
        let mut histogram = Histogram::new(2);
        histogram.add(0);
        let whole = WholeDistribution::new(&distance, &histogram);
        let screen = Screen::new((0, 1.0), &[0.0, 1.0], &whole).unwrap();
        let share = screen.share(1);
        let sum = share.map(|own| own * MAX_NARROW_ROWS as i32);
        assert!(!screen.refuses(MAX_NARROW_ROWS, &sum));
        let strict = Screen::new((0, 0.9), &[0.0, 1.0], &whole).unwrap();
        assert!(strict.refuses(MAX_NARROW_ROWS, &sum));
    }
}
