//! What searches find, and what that cost.

use albers_storage::Result;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::counted_table::CountedTable;
use crate::lattice::{Lattice, Levels, NodeSet};
use crate::question::{Question, Verdict};

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

/// Tuples of frequency sets that were moved to derive other ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MovedTuples {
    /// Those of the sets that others were derived from, once for each.
    pub read: u64,
    /// Those of the sets that were derived.
    pub written: u64,
}

impl MovedTuples {
    /// What was moved since an earlier look.
    pub(crate) fn since(self, before: MovedTuples) -> MovedTuples {
        MovedTuples { read: self.read - before.read, written: self.written - before.written }
    }
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
    /// The tuples that were moved for all sets.
    pub moved: MovedTuples,
    /// The tuples that were moved for sets that were computed before the search.
    pub cube_moved: MovedTuples,
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

/// What some nodes add up to, in their order.
pub(crate) fn judge_nodes(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    lattice: &Lattice,
    nodes: &[usize],
) -> Result<Vec<(usize, Verdict)>> {
    nodes
        .par_iter()
        .map(|&node| {
            let set = counted.derive_all(counted.table(), &lattice.levels(node))?;
            Ok((node, question.judge(counted.workspace, &set)?))
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
