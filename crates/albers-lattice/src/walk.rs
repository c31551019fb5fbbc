//! The breadth-first search of one graph of candidates, from its roots upwards.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, section 3.1.1 and figure 8.
//! Departures: nodes of one height are looked at in parallel; a frequency set is rolled up from the
//! smallest set below, not from any.
//! Guarantee: afterwards exactly the satisfying candidates are left, if the question is monotone.
//! Cost: one frequency set per node that generalizes no satisfying one; those of two heights are
//! kept at a time.
//!
//! ```text
//!   height 2      +     +  (+)        (+)  generalizes a satisfying node: not looked at
//!                  \   / \  |          +   looked at, satisfies
//!   height 1        -     - +          -   looked at, violates: rolled up to the nodes above
//!                    \   / /
//!   height 0           -
//! ```

use std::collections::BTreeMap;

use albers_storage::Result;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::frequency_set::FrequencySet;
use crate::ground::Ground;
use crate::lattice::{Lattice, NodeSet};
use crate::question::{Question, Verdict};
use crate::search::Effort;

/// Generalizations of one subset of the attributes.
pub(crate) struct Family {
    /// The attributes, ascending.
    pub(crate) attributes: Vec<usize>,
    /// All combinations of their levels.
    pub(crate) lattice: Lattice,
    /// Those that may satisfy; with a node, all that generalize it.
    pub(crate) candidates: NodeSet,
}

/// Where the frequency sets of roots come from, and those of the others.
#[derive(Clone, Copy)]
pub(crate) struct Sourcing<'s> {
    /// A set with all attributes of the family, at levels that no candidate is below.
    pub(crate) source: &'s FrequencySet,
    /// Whether that is the table itself, rolled up or not.
    pub(crate) is_table: bool,
    /// Whether several roots come from their greatest lower bound, the super-root.
    pub(crate) super_root: bool,
    /// Whether the others come from a node below.
    pub(crate) rollup: bool,
}

/// What a walk leaves.
pub(crate) struct Walked {
    /// The candidates that satisfy.
    pub(crate) satisfying: NodeSet,
    /// Those that were looked at.
    pub(crate) looked_at: NodeSet,
    /// What is known of those that were looked at and satisfy.
    pub(crate) verdicts: Vec<(usize, Verdict)>,
    pub(crate) effort: Effort,
}

impl Family {
    /// The candidates that generalize no other candidate.
    pub(crate) fn roots(&self) -> Vec<usize> {
        let is_root =
            |&node: &usize| !self.lattice.below(node).any(|below| self.candidates.contains(below));
        self.candidates.iter().filter(is_root).collect()
    }

    /// The greatest levels that no root is below.
    pub(crate) fn meet(&self, roots: &[usize]) -> Vec<u16> {
        let lowest = |at: usize| roots.iter().map(|&root| self.lattice.level(root, at)).min();
        (0..self.attributes.len()).map(|at| lowest(at).unwrap_or(0)).collect()
    }
}

/// Searches a family.
pub(crate) fn walk(
    ground: &Ground<'_>,
    question: &Question<'_>,
    family: &Family,
    sourcing: Sourcing<'_>,
) -> Result<Walked> {
    let Family { attributes, lattice, candidates } = family;
    let roots = family.roots();
    let Sourcing { source, is_table, .. } = sourcing;
    let super_root = match sourcing.super_root && roots.len() > 1 {
        true => Some(ground.derive(source, attributes, &family.meet(&roots))?),
        false => None,
    };
    let of_super_root = super_root.as_ref();
    let mut walked = Walked {
        satisfying: candidates.clone(),
        looked_at: NodeSet::empty(lattice.n_nodes()),
        verdicts: Vec::new(),
        effort: Effort::default(),
    };
    if of_super_root.is_some() {
        walked.effort.count(is_table);
    }
    let mut queue: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for root in roots {
        queue.entry(lattice.height_of_node(root)).or_default().push(root);
    }
    let mut below: FxHashMap<usize, FrequencySet> = FxHashMap::default();
    let mut below_height = 0;
    while let Some((height, mut nodes)) = queue.pop_first() {
        nodes.sort_unstable();
        nodes.dedup();
        nodes.retain(|&node| !walked.generalizes_satisfying(family, node));
        if height > below_height + 1 {
            below.clear();
        }
        let looked: Vec<(FrequencySet, Verdict, bool)> = nodes
            .par_iter()
            .map(|&node| {
                let smallest = lattice.below(node).filter_map(|node| below.get(&node));
                let smallest = smallest.min_by_key(|set| set.n_entries());
                let smallest = smallest.filter(|_| sourcing.rollup).or(of_super_root);
                let is_scan = smallest.is_none() && is_table;
                let source = smallest.unwrap_or(source);
                let set = ground.derive(source, attributes, &lattice.levels(node))?;
                let verdict = question.judge(ground.room, &set)?;
                Ok((set, verdict, is_scan))
            })
            .collect::<Result<_>>()?;
        below = FxHashMap::default();
        below_height = height;
        for (node, (set, verdict, is_scan)) in nodes.into_iter().zip(looked) {
            walked.note(node, &verdict, is_scan);
            if !verdict.holds {
                queue.entry(height + 1).or_default().extend(lattice.above(node));
                below.insert(node, set);
            }
        }
        queue.retain(|_, nodes| !nodes.is_empty());
    }
    Ok(walked)
}

impl Walked {
    fn generalizes_satisfying(&self, family: &Family, node: usize) -> bool {
        family.lattice.below(node).any(|below| self.satisfying.contains(below))
    }

    fn note(&mut self, node: usize, verdict: &Verdict, is_scan: bool) {
        self.effort.checked += 1;
        self.effort.count(is_scan);
        self.looked_at.insert(node);
        if verdict.holds {
            self.verdicts.push((node, *verdict));
        } else {
            self.satisfying.remove(node);
        }
    }
}
