//! Which region lies in which, told by where their rows stand.
//!
//! Guarantee: of two regions one holds the other or they share no row; every region has rows that
//! lie in none further in, so that no two have the same run.
//! Cost: O(regions log regions).

use std::cmp::Reverse;
use std::ops::Range;

/// How regions lie in each other.
pub(super) struct Nesting {
    /// How many regions lie around each.
    pub(super) depths: Vec<u32>,
    /// The regions that lie directly in each: its holes.
    pub(super) children: Vec<Vec<usize>>,
}

impl Nesting {
    /// Of regions that hold these runs of rows.
    pub(super) fn of(runs: &[Range<usize>]) -> Nesting {
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_unstable_by_key(|&at| (runs[at].start, Reverse(runs[at].end)));
        let mut nesting =
            Nesting { depths: vec![0; runs.len()], children: vec![Vec::new(); runs.len()] };
        // The regions around the last one, the outermost first.
        let mut open: Vec<usize> = Vec::new();
        for at in order {
            while open.pop_if(|outer| runs[*outer].end <= runs[at].start).is_some() {}
            if let Some(&outer) = open.last() {
                nesting.children[outer].push(at);
            }
            nesting.depths[at] = open.len() as u32;
            open.push(at);
        }
        nesting
    }
}
