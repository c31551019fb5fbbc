//! Paths from leaf to top become levels of nested code ranges.
//!
//! 1. Each path is taken apart into labels; a label names at most one node of a level, and a node
//!    keeps the parent that it was first seen with.
//! 2. Leaves are put into depth-first order by a stable counting sort per level, from the lowest
//!    to the top: siblings stay in the order of their first appearance.
//! 3. Equal labels on several levels must hold the same leaves.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Hierarchy, Level, Node, TOP, number};
use crate::code::{Code, CodeRange};

/// Stands for the parent of a top node.
const NO_PARENT: u32 = u32::MAX;

/// Why paths do not make a hierarchy. Lines are those given with the paths; level 0 is the leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conflict {
    /// A leaf has two paths.
    LeafTwice { first_line: u64, line: u64 },
    /// A label has two parents.
    TwoParents { level: usize, first_line: u64, line: u64 },
    /// A label stands at two levels for different leaves.
    TwoMeanings { lower: usize, upper: usize, first_line: u64, line: u64 },
}

/// Gathers paths.
pub(super) struct Builder {
    label_ids: FxHashMap<Arc<str>, u32>,
    labels: Vec<Arc<str>>,
    /// From the leaves to the highest level of the paths.
    levels: Vec<Draft>,
    /// The label ids of the path at hand, kept for its memory.
    path: Vec<u32>,
}

/// A level in the making; leaves are numbered in the order in which they came.
#[derive(Default)]
struct Draft {
    node_by_label: FxHashMap<u32, u32>,
    nodes: Vec<DraftNode>,
    node_of: Vec<u32>,
}

/// A level whose leaves and nodes have their final places; labels are still ids.
#[derive(Default)]
struct OrderedDraft {
    labels: Vec<u32>,
    starts: Vec<Code>,
    node_of: Vec<u32>,
}

struct DraftNode {
    label: u32,
    parent: u32,
    first_line: u64,
}

impl Builder {
    /// For paths with `n_groups` labels above each leaf.
    pub(super) fn new(n_groups: usize) -> Builder {
        Builder {
            label_ids: FxHashMap::default(),
            labels: Vec::new(),
            levels: (0..=n_groups).map(|_| Draft::default()).collect(),
            path: Vec::with_capacity(n_groups + 1),
        }
    }

    /// Adds a leaf and the labels above it, from specific to general.
    pub(super) fn add<S: AsRef<str>>(
        &mut self,
        line: u64,
        leaf: &str,
        groups: &[S],
    ) -> Result<(), Conflict> {
        assert_eq!(groups.len() + 1, self.levels.len(), "all paths are equally long");
        self.path.clear();
        for label in std::iter::once(leaf).chain(groups.iter().map(AsRef::as_ref)) {
            let label_id = self.label_id(label);
            self.path.push(label_id);
        }
        if let Some(&leaf) = self.levels[0].node_by_label.get(&self.path[0]) {
            let same = self.levels.iter().zip(&self.path).all(|(draft, &label)| {
                draft.nodes[draft.node_of[leaf as usize] as usize].label == label
            });
            let first_line = self.levels[0].nodes[leaf as usize].first_line;
            return if same { Ok(()) } else { Err(Conflict::LeafTwice { first_line, line }) };
        }
        let mut parent = NO_PARENT;
        for (level, draft) in self.levels.iter_mut().enumerate().rev() {
            let node = draft.node(self.path[level], parent, line);
            let known = &draft.nodes[node as usize];
            if known.parent != parent {
                return Err(Conflict::TwoParents { level, first_line: known.first_line, line });
            }
            draft.node_of.push(node);
            parent = node;
        }
        Ok(())
    }

    /// How many different leaves were added.
    pub(super) fn n_leaves(&self) -> usize {
        self.levels[0].nodes.len()
    }

    /// Whether a leaf was added.
    pub(super) fn has_leaf(&self, leaf: &str) -> bool {
        let label_id = self.label_ids.get(leaf);
        label_id.is_some_and(|id| self.levels[0].node_by_label.contains_key(id))
    }

    /// Orders the leaves and makes the hierarchy, with a root `*` if there are several tops or no
    /// groups at all.
    pub(super) fn finish(mut self) -> Result<Hierarchy, Conflict> {
        if self.n_leaves() == 0 {
            return Ok(Hierarchy::empty());
        }
        let added_top =
            self.levels.len() == 1 || self.levels.last().expect("leaves").nodes.len() > 1;
        if added_top {
            let label = self.label_id(TOP);
            let mut root = Draft::default();
            root.node(label, NO_PARENT, self.levels[0].nodes[0].first_line);
            root.node_of = vec![0; self.n_leaves()];
            self.levels.push(root);
        }
        let order = self.depth_first_order();
        let ordered: Vec<OrderedDraft> =
            self.levels.iter().map(|draft| draft.ordered(&order)).collect();
        let lowest = self.lowest_nodes(&ordered, &order)?;
        let levels = ordered.into_iter().map(|draft| draft.finish(&self.labels)).collect();
        let node_by_label = self
            .label_ids
            .into_iter()
            .map(|(label, id)| (label, lowest[id as usize].expect("every label has a node")))
            .collect();
        Ok(Hierarchy { levels, node_by_label, added_top, is_given: false, finest: 0 })
    }

    fn label_id(&mut self, label: &str) -> u32 {
        if let Some(&id) = self.label_ids.get(label) {
            return id;
        }
        let id = number(self.labels.len());
        let label: Arc<str> = Arc::from(label);
        self.labels.push(label.clone());
        self.label_ids.insert(label, id);
        id
    }

    fn depth_first_order(&self) -> Vec<u32> {
        let leaves = (0..number(self.n_leaves())).collect();
        self.levels[1..].iter().fold(leaves, |order, draft| draft.sorted_by_node(&order))
    }

    /// The lowest node of each label, if equal labels hold equal leaves.
    fn lowest_nodes(
        &self,
        ordered: &[OrderedDraft],
        order: &[u32],
    ) -> Result<Vec<Option<Node>>, Conflict> {
        let line_of = |code: Code| self.levels[0].nodes[order[code.index()] as usize].first_line;
        let mut lowest: Vec<Option<Node>> = vec![None; self.labels.len()];
        for (level, draft) in ordered.iter().enumerate() {
            for (index, &label) in draft.labels.iter().enumerate() {
                let node = *lowest[label as usize].get_or_insert(Node { level, index });
                let below = ordered[node.level].leaves_of(node.index);
                let here = draft.leaves_of(index);
                if below != here {
                    let extra = here.into_iter().filter(|&code| !below.contains(code));
                    let line = extra.map(line_of).min().expect("levels are nested");
                    let other_line =
                        below.into_iter().map(line_of).min().expect("no node is empty");
                    return Err(Conflict::TwoMeanings {
                        lower: node.level,
                        upper: level,
                        first_line: line.min(other_line),
                        line: line.max(other_line),
                    });
                }
            }
        }
        Ok(lowest)
    }
}

impl Draft {
    /// The node with this label, made if there is none yet.
    fn node(&mut self, label: u32, parent: u32, first_line: u64) -> u32 {
        let nodes = &mut self.nodes;
        *self.node_by_label.entry(label).or_insert_with(|| {
            nodes.push(DraftNode { label, parent, first_line });
            number(nodes.len() - 1)
        })
    }

    /// Sorts leaves by their node, keeping the order of those that share one.
    fn sorted_by_node(&self, order: &[u32]) -> Vec<u32> {
        let mut places = vec![0; self.nodes.len() + 1];
        for &node in &self.node_of {
            places[node as usize + 1] += 1;
        }
        for node in 0..self.nodes.len() {
            places[node + 1] += places[node];
        }
        let mut sorted = vec![0; order.len()];
        for &leaf in order {
            let place: &mut usize = &mut places[self.node_of[leaf as usize] as usize];
            sorted[*place] = leaf;
            *place += 1;
        }
        sorted
    }

    /// This level with leaves and nodes numbered by the leaves' final order.
    fn ordered(&self, order: &[u32]) -> OrderedDraft {
        let mut ordered = OrderedDraft::default();
        let mut last_node = None;
        for (place, &leaf) in order.iter().enumerate() {
            let node = self.node_of[leaf as usize];
            if last_node.replace(node) != Some(node) {
                ordered.labels.push(self.nodes[node as usize].label);
                ordered.starts.push(Code::of_index(place));
            }
            ordered.node_of.push(number(ordered.labels.len() - 1));
        }
        ordered.starts.push(Code::of_index(order.len()));
        ordered
    }
}

impl OrderedDraft {
    fn leaves_of(&self, index: usize) -> CodeRange {
        CodeRange { start: self.starts[index], end: self.starts[index + 1] }
    }

    fn finish(self, labels: &[Arc<str>]) -> Level {
        let labels = self.labels.iter().map(|&label| labels[label as usize].clone()).collect();
        // Before siblings change places, codes are places.
        let places = self.starts[..self.labels.len()].iter().map(|start| start.get()).collect();
        Level { labels, starts: self.starts, node_of: self.node_of, places }
    }
}
