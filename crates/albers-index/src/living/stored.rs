//! What parts and directories have in common as bytes: cuts, and trees of them.

use albers_partition::split::cut::Cut;
use serde::{Deserialize, Serialize};

/// The bytes are not those of a part or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DamagedPart(pub &'static str);

impl std::fmt::Display for DamagedPart {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "the stored index is damaged: {}; restore it from a copy", self.0)
    }
}

impl std::error::Error for DamagedPart {}

/// A cut as it is stored: what is known of its outside only where something is.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredCut {
    axis: u32,
    lo: u32,
    hi: u32,
    rest: Option<(u32, u32)>,
}

impl StoredCut {
    pub(super) fn of(cut: &Cut) -> StoredCut {
        let Cut { axis, lo, hi, rest } = *cut;
        let is_known = *cut != cut.without_rest();
        StoredCut { axis, lo, hi, rest: is_known.then_some(rest) }
    }

    pub(super) fn checked(&self, n_attributes: usize) -> Result<Cut, DamagedPart> {
        let StoredCut { axis, lo, hi, rest } = *self;
        if axis as usize >= n_attributes || lo > hi || rest.is_some_and(|(lo, hi)| lo > hi) {
            return Err(DamagedPart("a cut makes no sense"));
        }
        let cut = Cut::new(axis as usize, lo, hi);
        Ok(Cut { rest: rest.unwrap_or(cut.rest), ..cut })
    }
}

/// Whether nodes make exactly one tree, where cuts have two children.
pub(super) fn is_one_tree(are_cuts: impl Iterator<Item = bool>) -> bool {
    let mut n_open = 1usize;
    for is_cut in are_cuts {
        match (n_open, is_cut) {
            (0, _) => return false,
            (_, true) => n_open += 1,
            (_, false) => n_open -= 1,
        }
    }
    n_open == 0
}
