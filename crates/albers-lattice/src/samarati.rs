//! Binary search on the height of the lattice.
//!
//! Source: Samarati 2001, as in LeFevre, DeWitt & Ramakrishnan 2005, section 2.2.
//! Departures: all generalizations of the least height are returned, not just one.
//! Guarantee: finds the generalizations of the least height at which any satisfies, if the question
//! is monotone: if one satisfies at a height, one satisfies at every greater height. Others, of
//! greater heights, that generalize none of these are not found.
//! Cost: about log2 of the height levels of the lattice, each from the table.

use albers_storage::Result;

use crate::counted_table::CountedTable;
use crate::found::{Effort, Found, found, judge_nodes};
use crate::lattice::{Lattice, NodeSet};
use crate::question::{Question, Verdict};

/// Nodes that are looked at together before one of them may end the search of a height.
const BATCH_NODES: usize = 32;

/// A binary search so far.
struct Binary<'s> {
    counted: &'s CountedTable<'s>,
    question: &'s Question<'s>,
    by_height: Vec<Vec<usize>>,
    lattice: Lattice,
    looked_at: NodeSet,
    /// Nodes that satisfy, of any height.
    known: NodeSet,
    checked: u64,
}

/// Finds the generalizations of the least height that satisfy a monotone question.
pub fn search(counted: &CountedTable<'_>, question: &Question<'_>) -> Result<Found> {
    let mut binary = Binary::new(counted, question);
    let (mut low, mut high) = (0, binary.lattice.height());
    while low < high {
        let middle = low.midpoint(high);
        if binary.has_satisfying(middle)? { high = middle } else { low = middle + 1 }
    }
    let verdicts = binary.all_satisfying(low)?;
    Ok(binary.finish(&verdicts))
}

/// Finds the least height at which any generalization satisfies, from the least height at which one
/// passed a weaker question upwards.
pub(crate) fn climb(
    counted: &CountedTable<'_>,
    question: &Question<'_>,
    passed: Found,
) -> Result<Found> {
    let mut binary = Binary::new(counted, question);
    binary.looked_at = passed.looked_at;
    binary.checked = passed.effort.checked;
    let lowest = passed.satisfying.iter().map(|node| binary.lattice.height_of_node(node)).min();
    let mut verdicts = Vec::new();
    let Some(lowest) = lowest else { return Ok(binary.finish(&verdicts)) };
    for height in lowest..=binary.lattice.height() {
        verdicts = binary.all_satisfying(height)?;
        if !verdicts.is_empty() {
            break;
        }
    }
    Ok(binary.finish(&verdicts))
}

impl<'s> Binary<'s> {
    fn new(counted: &'s CountedTable<'s>, question: &'s Question<'s>) -> Binary<'s> {
        let lattice = Lattice::new(counted.heights());
        let by_height = lattice.nodes_by_height();
        let looked_at = NodeSet::empty(lattice.n_nodes());
        let known = looked_at.clone();
        Binary { counted, question, by_height, lattice, looked_at, known, checked: 0 }
    }

    fn has_satisfying(&mut self, height: usize) -> Result<bool> {
        for first in (0..self.by_height[height].len()).step_by(BATCH_NODES) {
            let end = (first + BATCH_NODES).min(self.by_height[height].len());
            if self.look(height, first..end)?.iter().any(|(_, verdict)| verdict.holds) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn all_satisfying(&mut self, height: usize) -> Result<Vec<(usize, Verdict)>> {
        let mut looked = self.look(height, 0..self.by_height[height].len())?;
        looked.retain(|(_, verdict)| verdict.holds);
        Ok(looked)
    }

    fn look(
        &mut self,
        height: usize,
        range: std::ops::Range<usize>,
    ) -> Result<Vec<(usize, Verdict)>> {
        let nodes = &self.by_height[height][range];
        let looked = judge_nodes(self.counted, self.question, &self.lattice, nodes)?;
        self.checked += nodes.len() as u64;
        nodes.iter().for_each(|&node| self.looked_at.insert(node));
        let holding = looked.iter().filter(|(_, verdict)| verdict.holds);
        holding.for_each(|&(node, _)| self.known.insert(node));
        Ok(looked)
    }

    fn finish(self, verdicts: &[(usize, Verdict)]) -> Found {
        let Binary { lattice, looked_at, known, checked, .. } = self;
        let mut satisfying = NodeSet::empty(lattice.n_nodes());
        verdicts.iter().for_each(|&(node, _)| satisfying.insert(node));
        let mut effort = Effort::default();
        let own = Effort { checked, scans: checked, ..Effort::default() };
        effort.add(&own, lattice.n_attributes());
        Found { known, ..found(lattice, satisfying, looked_at, verdicts, effort) }
    }
}
