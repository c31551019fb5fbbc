//! The code of a value: its number in the order of the values of its column.
//!
//! Codes, rows, classes, nodes and counts are all numbers, and the compiler tells them apart only
//! if they are types of their own. Codes are points on a line: two of them have a distance, which
//! is a plain number, and a code and a distance make a code, but no two codes add up to anything.
//!
//! Where the border lies: whoever asks what a code *means*, a domain, a hierarchy or what is
//! made of them, gives and takes a [`Code`]. Codes in bulk,
//! which are only compared and counted, are plain `u32`: columns of codes, points in fixed lanes,
//! packed rows, and what methods that cut compute from these. [`Code::new`] and [`Code::get`] are
//! the two ways over the border.

use std::fmt;
use std::iter::Map;
use std::ops::{Add, Range, Sub};

use serde::{Deserialize, Serialize};

/// The code of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(transparent)]
pub struct Code(u32);

impl Code {
    /// The least code of all.
    pub const ZERO: Code = Code(0);
    /// The greatest code of all, which no value has.
    pub const MAX: Code = Code(u32::MAX);

    /// A number of a column of codes, as the code that it is.
    #[inline]
    pub const fn new(number: u32) -> Code {
        Code(number)
    }

    /// The number that stands in columns of codes.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Its place in a list with one entry for each code.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The code of a place in a list with one entry for each code.
    ///
    /// # Panics
    /// When the list is longer than there are codes.
    pub fn of_index(index: usize) -> Code {
        Code(u32::try_from(index).expect("a column has fewer than 2^32 distinct values"))
    }
}

/// Shows the number alone: what it stands for is a value of somebody.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The code so many steps further up.
impl Add<u32> for Code {
    type Output = Code;

    #[inline]
    fn add(self, n_steps: u32) -> Code {
        Code(self.0 + n_steps)
    }
}

/// The steps from a lesser code.
impl Sub for Code {
    type Output = u32;

    #[inline]
    fn sub(self, lesser: Code) -> u32 {
        self.0 - lesser.0
    }
}

/// Neighbouring codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CodeRange {
    /// The first of them.
    pub start: Code,
    /// The first one after them.
    pub end: Code,
}

impl CodeRange {
    /// No codes.
    pub const EMPTY: CodeRange = CodeRange { start: Code::ZERO, end: Code::ZERO };

    /// How many they are.
    pub fn len(self) -> usize {
        self.end.index().saturating_sub(self.start.index())
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether a code is one of them.
    pub fn contains(self, code: Code) -> bool {
        (self.start..self.end).contains(&code)
    }

    /// Their places in a list with one entry for each code.
    pub fn indexes(self) -> Range<usize> {
        self.start.index()..self.end.index()
    }
}

impl IntoIterator for CodeRange {
    type Item = Code;
    type IntoIter = Map<Range<u32>, fn(u32) -> Code>;

    fn into_iter(self) -> Self::IntoIter {
        (self.start.0..self.end.0).map(Code::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_distances_and_are_shown_as_numbers() {
        let (low, high) = (Code::new(3), Code::new(7));
        assert_eq!((high - low, low + 4), (4, high));
        assert_eq!(format!("{low:?} {:?}", (low, Some(high))), "3 (3, Some(7))");
        assert_eq!((Code::of_index(7), high.index()), (high, 7));
    }

    #[test]
    fn a_range_of_codes_holds_its_first_and_not_its_end() {
        let range = CodeRange { start: Code::new(3), end: Code::new(5) };
        assert_eq!(range.into_iter().map(Code::get).collect::<Vec<_>>(), [3, 4]);
        assert_eq!((range.len(), range.indexes(), CodeRange::EMPTY.is_empty()), (2, 3..5, true));
        assert!(range.contains(range.start) && !range.contains(range.end));
    }
}
