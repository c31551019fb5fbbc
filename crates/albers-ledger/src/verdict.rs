//! What a release would reveal together with those before.

/// What a release would reveal together with those before: figures for the owner.
///
/// Counted are the sets that the release makes and those that it makes smaller, except a set that
/// was below at an accepted release and that all members of, unchanged, are together in again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdict {
    /// The least size of a set: in persons where these are counted, as in the last release that
    /// shows the set; in rows otherwise. `None` when no set was tested.
    pub smallest_set: Option<u64>,
    /// Rows, also deleted ones, in sets that miss the requirement.
    pub rows_below: u64,
    /// Sets that miss the requirement.
    pub sets_below: u64,
}

impl Verdict {
    /// Whether every set satisfies the requirement.
    pub fn holds(&self) -> bool {
        self.sets_below == 0
    }

    pub(crate) fn count(&mut self, n_rows: u64, size: u64, is_below: bool) {
        self.smallest_set = Some(self.smallest_set.map_or(size, |least| least.min(size)));
        if is_below {
            self.rows_below += n_rows;
            self.sets_below += 1;
        }
    }
}
