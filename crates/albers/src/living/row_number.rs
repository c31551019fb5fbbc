//! The number of a row in an index: given when it comes, and never to another.

use albers_table::row::RowId;
use serde::{Deserialize, Serialize};

/// The number of a row in an index.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub(super) struct RowNumber(u32);

impl RowNumber {
    /// There are no more numbers than these.
    pub(super) const END: u32 = 1 << 31;

    pub(super) const fn new(number: u32) -> RowNumber {
        RowNumber(number)
    }

    pub(super) const fn get(self) -> u32 {
        self.0
    }

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    /// As packed rows carry it.
    pub(super) fn id(self) -> RowId {
        RowId::new(u64::from(self.0))
    }
}
