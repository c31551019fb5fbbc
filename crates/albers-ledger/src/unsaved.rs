//! Which pieces of a ledger must be stored again.

use std::collections::BTreeSet;

/// Rows, or sets, of one piece.
pub(crate) const CHUNK: u32 = 65_520;

/// Which pieces differ from what was stored last.
#[derive(Default)]
pub(crate) struct Unsaved {
    pub all: bool,
    /// By piece of rows.
    pub rows: Vec<bool>,
    /// The first signature that was never stored; they are only ever appended.
    pub first_set: Option<u32>,
    pub past: BTreeSet<u32>,
    pub dead: BTreeSet<u32>,
    pub first_release: Option<u32>,
}

impl Unsaved {
    pub fn all() -> Self {
        Self { all: true, ..Self::default() }
    }

    pub fn none(n_rows: usize) -> Self {
        Self { rows: vec![false; n_rows.div_ceil(CHUNK as usize)], ..Self::default() }
    }

    pub fn row(&mut self, row: u32) {
        let chunk_idx = (row / CHUNK) as usize;
        if chunk_idx >= self.rows.len() {
            self.rows.resize(chunk_idx + 1, true);
        }
        self.rows[chunk_idx] = true;
    }

    pub fn node(&mut self, set: u32) {
        self.first_set = Some(self.first_set.map_or(set, |first| first.min(set)));
    }

    pub fn past(&mut self, row: u32) {
        self.past.insert(row / CHUNK);
    }

    pub fn dead(&mut self, set: u32) {
        self.dead.insert(set / CHUNK);
    }

    pub fn release(&mut self, release: u32, first_set: u32) {
        self.node(first_set);
        self.first_release.get_or_insert(release);
    }

    pub fn is_empty(&self) -> bool {
        !self.all
            && !self.rows.contains(&true)
            && self.first_set.is_none()
            && self.past.is_empty()
            && self.dead.is_empty()
            && self.first_release.is_none()
    }
}
