//! Rows by number: in a table of any size, and among rows that are in memory.
//!
//! ```text
//!   table          0  1  2  3  4  5  6  7  ...      RowId: whose row it is, 64 bits
//!   in memory            |  |     |
//!   loaded rows          0  1     2                 RowIdx: where it stands, 32 bits
//! ```
//!
//! Where a table is in memory as a whole, both are the same number, and a [`RowId`] is made from a
//! [`RowIdx`]. Where only some of its rows are, whoever loaded them knows which is which. Rows of a
//! chunk as read, and places in an order of rows, are neither, and plain numbers.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// The number of a row in its table, in the order of the source, from 0 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct RowId(u64);

impl RowId {
    /// The first row.
    pub const FIRST: RowId = RowId(0);

    /// The row with this number, from 0 on.
    #[inline]
    pub const fn new(number: u64) -> RowId {
        RowId(number)
    }

    /// Its number, from 0 on.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// As messages count rows: from 1 on.
impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0 + 1).fmt(f)
    }
}

/// The row so many further on.
impl Add<u64> for RowId {
    type Output = RowId;

    #[inline]
    fn add(self, n_rows: u64) -> RowId {
        RowId(self.0 + n_rows)
    }
}

impl AddAssign<u64> for RowId {
    #[inline]
    fn add_assign(&mut self, n_rows: u64) {
        self.0 += n_rows;
    }
}

/// The rows from an earlier one on to this.
impl Sub for RowId {
    type Output = u64;

    #[inline]
    fn sub(self, earlier: RowId) -> u64 {
        self.0 - earlier.0
    }
}

/// The place of a row among rows that are in memory, from 0 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct RowIdx(u32);

impl RowIdx {
    /// The first row.
    pub const FIRST: RowIdx = RowIdx(0);

    /// The row at this place, from 0 on.
    #[inline]
    pub const fn new(place: u32) -> RowIdx {
        RowIdx(place)
    }

    /// Its place, from 0 on.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Its place in a list with one entry for each row.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The row of a place in a list with one entry for each row.
    ///
    /// # Panics
    /// When the list is longer than rows in memory may be many.
    #[inline]
    pub fn of_index(index: usize) -> RowIdx {
        RowIdx(u32::try_from(index).expect("there are fewer than 2^32 rows in memory"))
    }

    /// The place of a row of a table that is in memory as a whole.
    ///
    /// # Panics
    /// When there cannot be so many rows in memory.
    #[inline]
    pub fn of_id(id: RowId) -> RowIdx {
        RowIdx(u32::try_from(id.0).expect("there are fewer than 2^32 rows in memory"))
    }

    /// The places of so many rows from this one on.
    pub fn take(self, n_rows: usize) -> impl ExactSizeIterator<Item = RowIdx> + Clone {
        let end = RowIdx::of_index(self.index() + n_rows);
        (self.0..end.0).map(RowIdx)
    }
}

/// The number of a row in its table, where that is in memory as a whole.
impl From<RowIdx> for RowId {
    #[inline]
    fn from(row_idx: RowIdx) -> RowId {
        RowId(u64::from(row_idx.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_from_0_inside_and_from_1_in_messages() {
        let row = RowId::FIRST + 6;
        assert_eq!((row.get(), row.to_string(), row - RowId::new(2)), (6, "7".to_owned(), 4));
        assert_eq!(RowId::from(RowIdx::new(6)), row);
        assert_eq!((RowIdx::of_id(row), RowIdx::of_index(6)), (RowIdx::new(6), RowIdx::new(6)));
        assert!(RowIdx::new(6).take(2).eq([RowIdx::new(6), RowIdx::new(7)]));
    }
}
