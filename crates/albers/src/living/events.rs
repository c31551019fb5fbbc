//! What happens to rows between two releases, for the ledger.

use serde::{Deserialize, Serialize};

use super::row_number::RowNumber;

/// What a row holds, as a keyed hash: the upper half of what is published of it, the lower half of
/// all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Content(pub(super) u64);

impl Content {
    /// Whether two rows look alike in a release.
    pub(super) fn looks_like(self, other: Content) -> bool {
        self.0 >> 32 == other.0 >> 32
    }
}

/// What happened to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Event {
    /// It is gone.
    Removed { row: RowNumber },
    /// Another row with another content has its key now.
    Replaced { old: RowNumber, new: RowNumber, before: Content, after: Content },
    /// Its key, whose last row was gone, has a row again.
    Revived { old: RowNumber, new: RowNumber, before: Content, after: Content },
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

/// Adds what happened to a key to what happened before. A row that came back and went again, and was
/// in nobody's hands meanwhile, never came back: then the row that the key had before, and what it
/// held, is told.
pub(super) fn add(events: &mut Vec<Event>, event: Event) -> Option<(RowNumber, Content)> {
    let Some(&Event::Revived { old, new, before, .. }) = events.last() else {
        events.push(event);
        return None;
    };
    match event {
        Event::Removed { row } if row == new => {
            events.pop();
            Some((old, before))
        }
        Event::Replaced { old: replaced, new: next, after, .. } if replaced == new => {
            events.pop();
            events.push(Event::Revived { old, new: next, before, after });
            None
        }
        other => {
            events.push(other);
            None
        }
    }
}
