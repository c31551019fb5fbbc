//! What a search for generalizations finds, and what it cost.
//!
//! Guarantee: the searches differ in how they get there, not in what they find: all generalizations
//! that satisfy, or for a binary search those of the least height.
//!
//! Where the question is not monotone (see [`crate::question`]), each search runs with the part of
//! the requirement that is, and every generalization that it lets pass is then looked at.

use albers_storage::Result;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::bottom_up::{self, BottomUp};
use crate::ground::Ground;
use crate::incognito::{self, Variant};
use crate::lattice::{Lattice, Levels, NodeSet};
use crate::question::{Question, Verdict};
use crate::samarati;

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

/// A generalization that satisfies.
#[derive(Debug, Clone, PartialEq)]
pub struct Generalization {
    /// The level of each attribute.
    pub levels: Levels,
    /// What is known of it.
    pub verdict: Verdict,
}

/// What a search found.
pub struct Found {
    /// All combinations of levels.
    pub lattice: Lattice,
    /// Those that satisfy, as far as the search tells.
    pub satisfying: NodeSet,
    /// Those and others that are known to satisfy, but are not what was searched for.
    pub known: NodeSet,
    /// Those whose frequency set was looked at.
    pub looked_at: NodeSet,
    /// The satisfying ones that generalize no other satisfying one, in the order of their numbers.
    pub minimal: Vec<Generalization>,
    /// What it cost.
    pub effort: Effort,
}

/// What a search cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effort {
    /// Generalizations whose frequency set was looked at, of any subset of the attributes.
    pub checked: u64,
    /// The same by the size of the subset, from 1 on.
    pub checked_by_size: Vec<u64>,
    /// Frequency sets that were computed from the table.
    pub scans: u64,
    /// Frequency sets that were computed from another one.
    pub rollups: u64,
    /// The time that went into sets that were computed before the search.
    pub cube_seconds: f64,
    /// How many of these there were.
    pub cube_sets: u64,
}

impl Effort {
    /// Counts a frequency set.
    pub(crate) fn count(&mut self, is_scan: bool) {
        self.scans += u64::from(is_scan);
        self.rollups += u64::from(!is_scan);
    }

    pub(crate) fn add(&mut self, other: &Effort, size: usize) {
        self.checked += other.checked;
        self.scans += other.scans;
        self.rollups += other.rollups;
        if self.checked_by_size.len() < size {
            self.checked_by_size.resize(size, 0);
        }
        self.checked_by_size[size - 1] += other.checked;
    }
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
pub fn search(ground: &Ground<'_>, question: &Question<'_>, algorithm: Algorithm) -> Result<Found> {
    if question.is_monotone() {
        return search_monotone(ground, question, algorithm);
    }
    let requirement = question.requirement.lasting_part();
    let relaxed = Question { requirement: &requirement, ..*question };
    let passed = search_monotone(ground, &relaxed, algorithm)?;
    match algorithm {
        Algorithm::Samarati => samarati::climb(ground, question, passed),
        _ => look_at_all(ground, question, passed),
    }
}

fn search_monotone(
    ground: &Ground<'_>,
    question: &Question<'_>,
    algorithm: Algorithm,
) -> Result<Found> {
    match algorithm {
        Algorithm::Incognito(variant) => incognito::search(ground, question, variant),
        Algorithm::Samarati => samarati::search(ground, question),
        Algorithm::BottomUp(variant) => bottom_up::search(ground, question, variant),
    }
}

/// Looks at every generalization that passed a weaker question.
fn look_at_all(ground: &Ground<'_>, question: &Question<'_>, passed: Found) -> Result<Found> {
    let Found { lattice, satisfying: candidates, mut looked_at, mut effort, .. } = passed;
    let mut satisfying = NodeSet::empty(lattice.n_nodes());
    let mut verdicts = Vec::new();
    let nodes: Vec<usize> = candidates.iter().collect();
    for (node, verdict) in judge_nodes(ground, question, &lattice, &nodes)? {
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

/// What some nodes add up to, in their order.
pub(crate) fn judge_nodes(
    ground: &Ground<'_>,
    question: &Question<'_>,
    lattice: &Lattice,
    nodes: &[usize],
) -> Result<Vec<(usize, Verdict)>> {
    nodes
        .par_iter()
        .map(|&node| {
            let set = ground.derive_all(ground.table(), &lattice.levels(node))?;
            Ok((node, question.judge(ground.room, &set)?))
        })
        .collect()
}

/// Puts together what was found; `verdicts` holds at least those of the minimal nodes.
pub(crate) fn found(
    lattice: Lattice,
    satisfying: NodeSet,
    looked_at: NodeSet,
    verdicts: &[(usize, Verdict)],
    effort: Effort,
) -> Found {
    let verdicts: FxHashMap<usize, Verdict> = verdicts.iter().copied().collect();
    let of_node = |node: usize| Generalization {
        levels: lattice.levels(node),
        verdict: *verdicts.get(&node).expect("a minimal node was looked at"),
    };
    let minimal = satisfying.minimal(&lattice).into_iter().map(of_node).collect();
    let known = satisfying.clone();
    Found { lattice, satisfying, known, looked_at, minimal, effort }
}
