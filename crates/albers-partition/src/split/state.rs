//! What a node knows of the splits above it.

use super::cut::Cut;
use super::selection::Selected;
use super::workload::Predicate;

/// The cuts in a row that may leave nearly all rows on one side before a workload has no say.
const MAX_UNEVEN: u32 = 32;

/// What a node knows of the splits above it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeState {
    /// Cuts in a row that left nearly all rows on its side.
    n_uneven: u32,
    /// Its region, as long as some predicates overlap it and return rows in vain.
    pub selected: Option<Selected>,
}

impl NodeState {
    /// At the root of a tree.
    pub fn root(selected: Option<Selected>) -> NodeState {
        NodeState { n_uneven: 0, selected }
    }

    /// Whether a workload has cut it unevenly too often to have a say.
    pub(crate) fn is_worn(&self) -> bool {
        self.n_uneven >= MAX_UNEVEN
    }

    /// The states of both sides of a cut, which have so many rows.
    pub(crate) fn sides(
        self,
        cut: Cut,
        [n_inside, n_outside]: [usize; 2],
        predicates: &[Predicate],
    ) -> [NodeState; 2] {
        let n_rows = n_inside + n_outside;
        let n_uneven = [n_inside, n_outside].map(|n_part| self.n_uneven_after(n_part, n_rows));
        let [inside, outside] = match &self.selected {
            None => [None, None],
            Some(selected) => selected.sides(&cut, predicates),
        };
        [
            NodeState { n_uneven: n_uneven[0], selected: inside },
            NodeState { n_uneven: n_uneven[1], selected: outside },
        ]
    }

    /// The states of many parts: one inside each cut of a chain, and what all of them leave.
    /// `part_rows` are the rows of each.
    pub(crate) fn parts(
        self,
        cuts: impl Iterator<Item = Cut>,
        part_rows: &[usize],
        predicates: &[Predicate],
    ) -> Vec<NodeState> {
        let n_rows = part_rows.iter().sum();
        let state =
            |&n_part| NodeState { n_uneven: self.n_uneven_after(n_part, n_rows), selected: None };
        let mut states: Vec<NodeState> = part_rows.iter().map(state).collect();
        let mut rest = self.selected;
        for (state, cut) in states.iter_mut().zip(cuts) {
            let Some(whole) = rest else { return states };
            [state.selected, rest] = whole.sides(&cut, predicates);
        }
        if let Some(last) = states.last_mut() {
            last.selected = rest;
        }
        states
    }

    fn n_uneven_after(&self, n_part: usize, n_rows: usize) -> u32 {
        if 64 * n_part > 63 * n_rows { self.n_uneven + 1 } else { 0 }
    }
}
