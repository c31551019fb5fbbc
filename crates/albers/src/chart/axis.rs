//! Where values lie on an axis, and which round numbers stand beside it.

/// How values are spread along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios; an axis with values that are not positive is linear.
    Log,
}

/// The numbers that a person counts in.
const ROUND: [f64; 3] = [1.0, 2.0, 5.0];

/// A stretch of numbers with marks at round ones.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    /// The round numbers, in order.
    pub(super) ticks: Vec<f64>,
    n_decimals: usize,
}

impl Ruler {
    /// A ruler for some values. It reaches from one round number to another where `is_rounded`,
    /// else from the least value to the greatest.
    pub(super) fn new(values: &[f64], scale: Scale, n_ticks: usize, is_rounded: bool) -> Ruler {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (least, greatest) = if values.is_empty() { (0.0, 1.0) } else { (least, greatest) };
        if scale == Scale::Log && least > 0.0 {
            return logarithmic(least, greatest, is_rounded);
        }
        // Small figures beside zero are read against zero.
        let least = if is_rounded && least >= 0.0 && least < greatest / 2.0 { 0.0 } else { least };
        linear(least, greatest, n_ticks, is_rounded)
    }

    /// Where a value lies, from 0 at the low end to 1 at the high one.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    /// A tick in words.
    pub(super) fn label(&self, tick: f64) -> String {
        match self.scale {
            Scale::Linear => grouped(&format!("{tick:.*}", self.n_decimals)),
            Scale::Log => figure(tick),
        }
    }
}

fn linear(least: f64, greatest: f64, n_ticks: usize, is_rounded: bool) -> Ruler {
    let (least, greatest) =
        if greatest > least { (least, greatest) } else { (least - 1.0, greatest + 1.0) };
    let wanted = (greatest - least) / n_ticks.max(1) as f64;
    let mut exponent = wanted.log10().floor() as i32;
    let fits = |factor: &&f64| **factor * 10f64.powi(exponent) >= wanted * (1.0 - 1e-9);
    let (factor, shift) = ROUND.iter().find(fits).map_or((1.0, 1), |&factor| (factor, 0));
    exponent += shift;
    // Dividing by a whole number keeps ticks such as 0.3 as they are read.
    let nth = |number: f64| match exponent {
        0.. => number * factor * 10f64.powi(exponent),
        ..0 => number * factor / 10f64.powi(-exponent),
    };
    let step = nth(1.0);
    let near = 1e-9;
    let (first, last) = match is_rounded {
        true => ((least / step + near).floor(), (greatest / step - near).ceil()),
        false => ((least / step - near).ceil(), (greatest / step + near).floor()),
    };
    let ticks: Vec<f64> =
        (0..=(last - first) as usize).map(|number| nth(first + number as f64)).collect();
    let (low, high) = if is_rounded { (nth(first), nth(last)) } else { (least, greatest) };
    Ruler { scale: Scale::Linear, low, high, ticks, n_decimals: (-exponent).max(0) as usize }
}

fn logarithmic(least: f64, greatest: f64, is_rounded: bool) -> Ruler {
    let (least, greatest) =
        if greatest > least { (least, greatest) } else { (least / 2.0, greatest * 2.0) };
    let factors = if greatest / least > 1000.0 { &ROUND[..1] } else { &ROUND[..] };
    let from = least.log10().floor() as i32 - 1;
    let to = greatest.log10().ceil() as i32 + 1;
    let candidates: Vec<f64> = (from..=to)
        .flat_map(|exponent| factors.iter().map(move |factor| factor * 10f64.powi(exponent)))
        .collect();
    let near = 1e-9;
    let above = |tick: &&f64| **tick >= greatest * (1.0 - near);
    let below = |tick: &&f64| **tick <= least * (1.0 + near);
    let (low, high) = match is_rounded {
        true => (
            candidates.iter().rev().find(below).copied().unwrap_or(least),
            candidates.iter().find(above).copied().unwrap_or(greatest),
        ),
        false => (least, greatest),
    };
    let within = |tick: &f64| (low * (1.0 - near)..=high * (1.0 + near)).contains(tick);
    let ticks = candidates.into_iter().filter(within).collect();
    Ruler { scale: Scale::Log, low, high, ticks, n_decimals: 0 }
}

/// A figure as short as four digits that count allow, with commas between thousands.
pub(crate) fn figure(value: f64) -> String {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let n_decimals = (3 - magnitude).clamp(0, 9) as usize;
    let text = format!("{value:.n_decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    grouped(if text == "-0" { "0" } else { text })
}

/// The same text with commas between thousands.
fn grouped(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole.split_at(usize::from(whole.starts_with('-')));
    let mut out = sign.to_owned();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ruler: &Ruler) -> Vec<String> {
        ruler.ticks.iter().map(|&tick| ruler.label(tick)).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_reach_around_the_values() {
        let ruler = Ruler::new(&[0.31, 0.78], Scale::Linear, 5, true);
        assert_eq!(labels(&ruler), ["0.0", "0.2", "0.4", "0.6", "0.8"]);
        let ruler = Ruler::new(&[9_900.0, 10_300.0], Scale::Linear, 4, true);
        assert_eq!(labels(&ruler), ["9,900", "10,000", "10,100", "10,200", "10,300"]);
        let ruler = Ruler::new(&[-3.0, 4.0], Scale::Linear, 4, true);
        assert_eq!(labels(&ruler), ["-4", "-2", "0", "2", "4"]);
    }

    #[test]
    fn log_ticks_are_one_two_and_five() {
        let ruler = Ruler::new(&[10.0, 25.0, 100.0], Scale::Log, 5, false);
        assert_eq!(labels(&ruler), ["10", "20", "50", "100"]);
        assert!(
            (ruler.place(10.0) - 0.0).abs() < 1e-12 && (ruler.place(100.0) - 1.0).abs() < 1e-12
        );
        let ruler = Ruler::new(&[3.0, 70_000.0], Scale::Log, 5, true);
        assert_eq!(labels(&ruler), ["1", "10", "100", "1,000", "10,000", "100,000"]);
    }

    #[test]
    fn every_value_lies_on_its_ruler() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [&[7.0][..], &[0.0, 0.0], &[1e-7, 3e9], &[0.1, 0.3], &[-2.0, -1.5], &[]] {
                for is_rounded in [false, true] {
                    let ruler = Ruler::new(values, scale, 5, is_rounded);
                    for &value in values {
                        let place = ruler.place(value);
                        assert!((-1e-9..=1.0 + 1e-9).contains(&place), "{value} at {place}");
                    }
                    assert!(ruler.ticks.windows(2).all(|pair| pair[0] < pair[1]));
                }
            }
        }
    }

    #[test]
    fn figures_have_four_digits_that_count() {
        let shown = [0.0, 1234567.0, 0.123456, 12.5, 3.0, -0.00001, 999.96].map(figure);
        assert_eq!(shown, ["0", "1,234,567", "0.1235", "12.5", "3", "-0.00001", "1,000"]);
    }
}
