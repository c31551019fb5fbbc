//! What a search for generalizations finds, and what it cost.
//!
//! Guarantee: the searches differ in how they get there, not in what they find: all generalizations
//! that satisfy, or for a binary search those of the least height.
//!
//! Where the question is not monotone (see [`crate::question`]), each search runs with the part of
//! the requirement that is, and every generalization that it lets pass is then looked at.

use albers_storage::Result;

use crate::bottom_up::{self, BottomUp};
use crate::counted_table::CountedTable;
use crate::found::{found, judge_nodes};
use crate::incognito::{self, Variant};
use crate::lattice::NodeSet;
use crate::question::Question;
use crate::samarati;

pub use crate::found::{Effort, Found, Generalization, MovedTuples};

/// How generalizations are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// By ever larger subsets of the quasi-identifier.
    Incognito(Variant),
    /// By a binary search on the height.
    Samarati,
    /// From the bottom of the lattice, height by height.
    BottomUp(BottomUp),
}

/// Nodes of all subsets of the attributes that a search will keep track of.
const MAX_SUBSET_NODES: u128 = 1 << 24;
/// Nodes of the lattice that a search will keep track of.
const MAX_NODES: u128 = 1 << 22;

/// How many nodes the lattice has, if that is more than a search can keep track of.
pub fn too_many_nodes(heights: &[u16], algorithm: Algorithm) -> Option<u128> {
    let n_nodes = crate::lattice::count_nodes(heights.iter().copied());
    let with_none = heights.iter().map(|&height| height.saturating_add(1));
    let n_subset_nodes = crate::lattice::count_nodes(with_none);
    let is_too_many = match algorithm {
        Algorithm::Incognito(_) => n_subset_nodes > MAX_SUBSET_NODES,
        Algorithm::Samarati | Algorithm::BottomUp(_) => false,
    };
    (is_too_many || n_nodes > MAX_NODES).then_some(n_nodes)
}

/// Searches the lattice.
///
/// # Panics
/// When the lattice has too many nodes; see [`too_many_nodes`].
pub fn search(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    algorithm: Algorithm,
) -> Result<Found> {
    let before = counted.moved();
    let mut found = search_any(counted, question, algorithm)?;
    found.effort.moved = counted.moved().since(before);
    Ok(found)
}

fn search_any(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    algorithm: Algorithm,
) -> Result<Found> {
    if question.is_monotone() {
        return search_monotone(counted, question, algorithm);
    }
    let requirement = question.requirement.lasting_part();
    let relaxed = Question { requirement: &requirement, ..*question };
    let passed = search_monotone(counted, &relaxed, algorithm)?;
    match algorithm {
        Algorithm::Samarati => samarati::climb(counted, question, passed),
        _ => look_at_all(counted, question, passed),
    }
}

fn search_monotone(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    algorithm: Algorithm,
) -> Result<Found> {
    match algorithm {
        Algorithm::Incognito(variant) => incognito::search(counted, question, variant),
        Algorithm::Samarati => samarati::search(counted, question),
        Algorithm::BottomUp(variant) => bottom_up::search(counted, question, variant),
    }
}

/// Looks at every generalization that passed a weaker question.
fn look_at_all(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    passed: Found,
) -> Result<Found> {
    let Found { lattice, satisfying: candidates, mut looked_at, mut effort, .. } = passed;
    let mut satisfying = NodeSet::empty(lattice.n_nodes());
    let mut verdicts = Vec::new();
    let nodes: Vec<usize> = candidates.iter().collect();
    for (node, verdict) in judge_nodes(counted, question, &lattice, &nodes)? {
        looked_at.insert(node);
        if verdict.holds {
            satisfying.insert(node);
            verdicts.push((node, verdict));
        }
    }
    let more =
        Effort { checked: nodes.len() as u64, scans: nodes.len() as u64, ..Effort::default() };
    effort.add(&more, lattice.n_attributes());
    Ok(found(lattice, satisfying, looked_at, &verdicts, effort))
}
