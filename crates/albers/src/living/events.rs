//! What happens to rows between two releases, for the ledger.

use serde::{Deserialize, Serialize};

use super::row_number::RowNumber;

/// What happened to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Event {
    /// It is gone.
    Removed { row: RowNumber },
    /// Another row with another content has its key now.
    Replaced { old: RowNumber, new: RowNumber },
    /// Its key, whose last row was gone, has a row again.
    Revived {
        old: RowNumber,
        new: RowNumber,
        /// Whether it holds something else than the last one.
        is_changed: bool,
    },
}

impl Event {
    /// The row that is no longer there.
    pub(super) fn removed(&self) -> Option<RowNumber> {
        match *self {
            Event::Removed { row } => Some(row),
            Event::Replaced { old, .. } => Some(old),
            Event::Revived { .. } => None,
        }
    }
}
