//! Scales: how the values of an attribute become cells that can be halved again and again.
//!
//! ```text
//!   codes        0  1  2  3  4  5  6  7  8  9       missing
//!   cells        00 ·  01 ·  ·  10 ·  11 ·  ·            behind a first bit: missing or not
//!   halves       └────0────┘  └────1────┘
//! ```
//!
//! Source: Anjum & Raschia 2017, section 3.1.1 and equation 3; Raschia & Anjum 2011, section 3.
//! Departures: ranges are half-open and the greatest value falls into the last one, which equation
//! 3 leaves open. A missing value has a range of its own, told apart by the first bit. Besides
//! ranges of equal length there are ranges of about equally many rows, given ones, and a scale
//! whose halves are the nodes of a hierarchy: children are padded to a power of two, so that every
//! label is one half of one half, and so on.
//! Guarantee: cells never fall as codes rise, but for the missing value's, so that the codes of any
//! dyadic range of cells are an interval, and no two such ranges of one length share a code.
//! Cost: O(1) for a code of a scale of equal ranges, a binary search for any other.
//!
//! - `spec`: a scale as a job asks for it. `build`: the scale of an attribute. `range`: the codes of
//!   any run of cells.

mod build;
mod range;
mod spec;

use albers_classes::Span;
use albers_classes::region::span;

pub use build::{CodeCounts, ScaleProblem};
pub use spec::{MAX_BITS, ScaleFileError, ScaleLines, ScaleSpec};

/// Cells have no more bits, the one of the missing value left out.
const MOST_BITS: u32 = 62;

/// Which cell of an attribute a code lies in.
#[derive(Debug, Clone)]
pub struct Scale {
    /// The code of the missing value, where rows have it.
    missing: Option<u32>,
    /// The least and the greatest code of the values.
    codes: (u32, u32),
    /// Bits of the cells of values.
    n_value_bits: u32,
    cells: Cells,
}

/// Where cells begin.
#[derive(Debug, Clone)]
enum Cells {
    /// Ranges of equal length of all codes.
    Codes,
    /// Ranges of equal length of a line of so many steps, on which the least code lies at `origin`.
    Line { origin: i128, length: i128 },
    /// The code at which each begins, and its number, both ascending; the first begins at the least
    /// code.
    Listed { starts: Vec<u32>, numbers: Vec<u64> },
}

impl Scale {
    /// Bits of a cell: how often the attribute can be halved.
    pub fn n_bits(&self) -> u32 {
        self.n_value_bits + u32::from(self.missing.is_some())
    }

    /// The cell of a code, its first halving the most significant of the bits. A code that no value
    /// has, between those of values and the missing one, is in the cell of the nearest value.
    #[inline]
    pub fn cell(&self, code: u32) -> u64 {
        match self.missing {
            Some(missing) if code == missing => self.bit_of_missing() << self.n_value_bits,
            Some(_) => (1 - self.bit_of_missing()) << self.n_value_bits | self.value_cell(code),
            None => self.value_cell(code),
        }
    }

    /// The codes of all cells that begin with so many bits; some row must have one of them.
    pub fn span(&self, bits: u64, n_bits: u32) -> Span {
        let (lo, hi) = match self.missing {
            None => self.value_span(bits, n_bits),
            Some(missing) if n_bits == 0 => (missing.min(self.codes.0), missing.max(self.codes.1)),
            Some(missing) if bits >> (n_bits - 1) == self.bit_of_missing() => (missing, missing),
            Some(_) => self.value_span(bits & ((1 << (n_bits - 1)) - 1), n_bits - 1),
        };
        span(lo, hi)
    }

    /// The first bit of the missing value: like its code, it lies below all values or above them.
    fn bit_of_missing(&self) -> u64 {
        u64::from(self.missing.is_some_and(|missing| missing > self.codes.0))
    }

    #[inline]
    fn value_cell(&self, code: u32) -> u64 {
        let code = code.clamp(self.codes.0, self.codes.1);
        match &self.cells {
            Cells::Codes => {
                // It fits: codes have 32 bits, and cells of codes no more than 24.
                let (first, last) = self.codes;
                (u64::from(code - first) << self.n_value_bits) / (u64::from(last - first) + 1)
            }
            Cells::Line { origin, length } => {
                let place = i128::from(code - self.codes.0) + origin;
                cell_on_line(place, *length, self.n_value_bits)
            }
            Cells::Listed { starts, numbers } => {
                let place = starts.partition_point(|&start| start <= code);
                numbers[place.saturating_sub(1)]
            }
        }
    }

    fn value_span(&self, bits: u64, n_bits: u32) -> (u32, u32) {
        let (first, last) = self.codes;
        let n_more = self.n_value_bits - n_bits;
        let least = bits << n_more;
        let end = least + (1 << n_more);
        let (origin, length) = match &self.cells {
            Cells::Codes => (0, i128::from(last - first) + 1),
            Cells::Line { origin, length } => (*origin, *length),
            Cells::Listed { starts, numbers } => {
                let lo = starts.get(numbers.partition_point(|&number| number < least));
                let end = numbers.partition_point(|&number| number < end);
                return (
                    lo.map_or(last, |start| *start),
                    starts.get(end).map_or(last, |start| start - 1),
                );
            }
        };
        // The first code whose cell is not below this one.
        let start_of = |cell: u64| -> i128 {
            let (scaled, unit) = (i128::from(cell) * length, 1i128 << self.n_value_bits);
            i128::from(first) + (scaled + unit - 1).div_euclid(unit) - origin
        };
        let within = |code: i128| code.clamp(first.into(), last.into()) as u32;
        let lo = if least == 0 { first } else { within(start_of(least)) };
        // The cell of the last step holds whatever lies beyond it, and those behind it nothing.
        let is_last = end > cell_on_line(length - 1, length, self.n_value_bits);
        (lo, if is_last { last } else { within(start_of(end) - 1) })
    }
}

/// The cell of a place on a line of so many steps; places beyond its ends are in the cells there.
pub(crate) fn cell_on_line(place: i128, length: i128, n_bits: u32) -> u64 {
    ((place.clamp(0, length - 1) << n_bits) / length) as u64
}

/// Bits that tell so many things apart.
fn bits_for(n: u128) -> u32 {
    n.saturating_sub(1).checked_ilog2().map_or(0, |log| log + 1)
}

#[cfg(test)]
mod tests;
