//! The one grower: splits points until it is told to stop or no allowable split is left, and keeps
//! the splits.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 2.2; Iwuchukwu & Naughton 2007, section
//! 2.1.
//! Departures: a split into many parts is kept as a chain of splits in two, or made one in two.
//! Guarantee: every leaf is allowable if all points are, and the grower stops there or no split of
//! it is allowable. The tree is the same whatever the threads.
//! Cost: O(points * attributes) per level. Targets of a workload may peel off few rows at a time,
//! which would take quadratic time: after many such cuts in a row another policy goes on.
//!
//! | grown | stops | parts | cuts |
//! | --- | --- | --- | --- |
//! | cells of Mondrian and of the index | where no split is allowable | many | moved where regions are kept |
//! | the top of a large table | at the share of a cell in the sample | two | moved |
//! | the same, where tests ask the sample | where it supports no split | two | moved |
//! | cells of `local` | at some thousand tuples | many | as chosen |

use albers_classes::Region;
use albers_classes::space::AxisKind;

use crate::split::apply::{apply, as_allowed, as_binary, move_first};
use crate::split::cut::Cut;
use crate::split::kernel::{self, Step};
use crate::split::place::Placement;
use crate::split::rule::Allowance;
pub use crate::split::rule::Stop;
use crate::split::selection::Selected;
use crate::split::state::NodeState;
use crate::split::{Chooser, Point, Scratch, Split};
use crate::split_tree::{SplitTree, TreeNode};

/// Nodes above this size are split further on two threads.
const PARALLEL_ROWS: usize = 8192;

/// Into how many parts a node is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arity {
    /// In two.
    Two,
    /// In two that are both allowable, also where there are more parts to choose from.
    TwoAllowed,
    /// Into as many as were chosen.
    Many,
}

/// How a tree is grown.
pub struct Grower<'a, const L: usize, const M: usize> {
    /// Chooses the splits.
    pub chooser: Chooser<'a, L, M>,
    /// Tells which nodes are split.
    pub stop: &'a Stop<'a>,
    /// Into how many parts.
    pub arity: Arity,
    /// Where cuts are placed; without it they stay where they were chosen.
    pub placement: Option<Placement>,
}

impl<'a, const L: usize, const M: usize> Grower<'a, L, M> {
    /// The split of a node, and what its parts satisfy; nothing if the node is a leaf.
    fn choose(
        &self,
        points: &[Point<L>],
        places: &[u32],
        state: &mut NodeState,
        scratch: &mut Scratch<L, M>,
    ) -> Option<(Split, Allowance<'a>)> {
        let allowance = (self.stop)(places)?;
        let split = self.chooser.choose(&allowance, points, places, state, scratch)?;
        let split = match self.arity {
            Arity::Two => as_binary(split, self.chooser.space, points, self.chooser.labels_apart),
            Arity::TwoAllowed => {
                as_allowed(split, &self.chooser, &allowance, (points, places), scratch)?
            }
            Arity::Many => split,
        };
        Some((split, allowance))
    }

    /// The split as it is kept, of points that are divided by it.
    fn placed(&self, split: Split, points: &[Point<L>], n_left: usize) -> Split {
        let Some(placement) = &self.placement else { return split };
        let (left, right) = points.split_at(n_left);
        placement.place(split, self.chooser.space, left, right)
    }

    /// What becomes of a small node, as it is kept.
    fn kept(&self, step: Step) -> TreeNode {
        match step {
            Step::Leaf { n_rows } => TreeNode::Leaf { n_rows: n_rows as u32 },
            Step::Cut { axis, gap } => {
                let split = Split::Cut { axis, code: gap.0 };
                let split = match &self.placement {
                    None => split,
                    Some(placement) => placement.place_between(split, self.chooser.space, gap),
                };
                TreeNode::Cut(Cut::of(&split))
            }
        }
    }
}

/// The tree of some points, which are moved so that those of a leaf are neighbours, and their
/// places with them. Predicates of a workload ask for the region of the whole.
pub fn grow<const L: usize, const M: usize>(
    grower: &Grower<'_, L, M>,
    points: &mut [Point<L>],
    places: &mut [u32],
    region: Option<&Region>,
) -> SplitTree {
    let selected = region.and_then(|own| Selected::new(own, grower.chooser.predicates));
    grow_from(grower, points, places, NodeState::root(selected))
}

/// The same below other splits, of which the points' node knows.
pub fn grow_from<const L: usize, const M: usize>(
    grower: &Grower<'_, L, M>,
    points: &mut [Point<L>],
    places: &mut [u32],
    state: NodeState,
) -> SplitTree {
    grow_node(grower, Node { points, places, state })
}

/// A stretch of points that is still to be split.
struct Node<'n, const L: usize> {
    points: &'n mut [Point<L>],
    places: &'n mut [u32],
    state: NodeState,
}

/// The tree of a node; large nodes on two threads.
fn grow_node<const L: usize, const M: usize>(
    grower: &Grower<'_, L, M>,
    node: Node<'_, L>,
) -> SplitTree {
    let mut tree = SplitTree::default();
    // What follows the part that is split in the loop, the last first.
    let mut later: Vec<SplitTree> = Vec::new();
    let mut next = Some(node);
    while let Some(node) = next.take() {
        if node.points.len() <= PARALLEL_ROWS {
            grow_here(grower, node, &mut tree);
            break;
        }
        let n_points = node.points.len();
        let Some((cuts, mut parts)) = split_once(grower, node) else {
            tree.push(TreeNode::Leaf { n_rows: n_points as u32 });
            break;
        };
        // A part that is nearly the whole node is split in this loop: a long chain of such cuts
        // must not become a deep recursion.
        let is_most = |part: &Node<'_, L>| part.points.len() > n_points / 8 * 7;
        let most = parts.iter().position(is_most);
        let after = most.map_or(Vec::new(), |place| parts.split_off(place + 1));
        next = most.and_then(|_| parts.pop());
        let mut grown = grow_all(grower, parts).into_iter();
        for place in 0..grown.len() {
            cuts.get(place).into_iter().for_each(|&cut| tree.push(cut));
            grown.next().into_iter().for_each(|part| tree.append(part));
        }
        if let Some(most) = most {
            cuts.get(most).into_iter().for_each(|&cut| tree.push(cut));
            let mut rest = SplitTree::default();
            for (place, part) in grow_all(grower, after).into_iter().enumerate() {
                cuts.get(most + 1 + place).into_iter().for_each(|&cut| rest.push(cut));
                rest.append(part);
            }
            later.push(rest);
        }
    }
    later.into_iter().rev().for_each(|rest| tree.append(rest));
    tree
}

fn grow_all<const L: usize, const M: usize>(
    grower: &Grower<'_, L, M>,
    mut parts: Vec<Node<'_, L>>,
) -> Vec<SplitTree> {
    match parts.len() {
        0 => Vec::new(),
        1 => parts.into_iter().map(|part| grow_node(grower, part)).collect(),
        n_parts => {
            let second = parts.split_off(n_parts / 2);
            let (mut grown, more) =
                rayon::join(|| grow_all(grower, parts), || grow_all(grower, second));
            grown.extend(more);
            grown
        }
    }
}

/// The cuts of a node's split, one for each part but the last, and the parts; nothing if it is a
/// leaf.
type Parts<'n, const L: usize> = (Vec<TreeNode>, Vec<Node<'n, L>>);

fn split_once<'n, const L: usize, const M: usize>(
    grower: &Grower<'_, L, M>,
    node: Node<'n, L>,
) -> Option<Parts<'n, L>> {
    let Node { mut points, mut places, mut state } = node;
    let mut scratch = Scratch::default();
    let (split, allowance) = grower.choose(points, places, &mut state, &mut scratch)?;
    let ends = apply(split, &grower.chooser, &allowance, points, places, &mut scratch);
    let split = grower.placed(split, points, ends[0]);
    let cuts = cuts_of(&split, &grower.chooser, points, &ends);
    let mut parts = Vec::with_capacity(ends.len());
    let mut start = 0;
    for (state, end) in states_of(grower, state, &cuts, &ends).into_iter().zip(ends) {
        let (own_points, rest_points) = points.split_at_mut(end - start);
        let (own_places, rest_places) = places.split_at_mut(end - start);
        parts.push(Node { points: own_points, places: own_places, state });
        (points, places, start) = (rest_points, rest_places, end);
    }
    Some((cuts, parts))
}

/// The states of the parts of a node that end at these points.
fn states_of<const L: usize, const M: usize>(
    grower: &Grower<'_, L, M>,
    state: NodeState,
    cuts: &[TreeNode],
    ends: &[usize],
) -> Vec<NodeState> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let part_rows: Vec<usize> = ends.iter().zip(starts).map(|(end, start)| end - start).collect();
    let cuts = cuts.iter().filter_map(|node| match node {
        TreeNode::Cut(cut) | TreeNode::Next(cut) => Some(*cut),
        TreeNode::Leaf { .. } => None,
    });
    state.parts(cuts, &part_rows, grower.chooser.predicates)
}

/// What is still to be done.
enum Task {
    /// Split these points further.
    Split { start: usize, end: usize, state: NodeState },
    /// Go on with a chain of cuts.
    Next(TreeNode),
}

/// The tree of a node, on this thread and without recursion.
fn grow_here<const L: usize, const M: usize>(
    grower: &Grower<'_, L, M>,
    node: Node<'_, L>,
    tree: &mut SplitTree,
) {
    let Node { points, places, state } = node;
    let mut scratch = Scratch::default();
    let in_integers = grower.chooser.weighs_in_integers();
    let mut pending = vec![Task::Split { start: 0, end: points.len(), state }];
    while let Some(task) = pending.pop() {
        let (start, end, mut state) = match task {
            Task::Split { start, end, state } => (start, end, state),
            Task::Next(cut) => {
                tree.push(cut);
                continue;
            }
        };
        let (own_points, own_places) = (&mut points[start..end], &mut places[start..end]);
        if in_integers && own_points.len() <= kernel::MAX_POINTS {
            let (stop, own) = (grower.stop, (own_points, own_places));
            let keep = &mut |step| tree.push(grower.kept(step));
            kernel::grow(&grower.chooser, stop, &mut scratch.board, own, keep);
            continue;
        }
        let chosen = grower.choose(own_points, own_places, &mut state, &mut scratch);
        let Some((split, allowance)) = chosen else {
            tree.push(TreeNode::Leaf { n_rows: (end - start) as u32 });
            continue;
        };
        if let Split::Cut { axis, code } | Split::Bound { axis, code } = split {
            let is_first = |point: &Point<L>| point[axis] <= code;
            let n_left = move_first(own_points, own_places, &mut scratch, is_first);
            let middle = start + n_left;
            let cut = Cut::of(&grower.placed(split, own_points, n_left));
            tree.push(TreeNode::Cut(cut));
            let [left, right] = state.sides(cut, [n_left, end - middle], grower.chooser.predicates);
            pending.push(Task::Split { start: middle, end, state: right });
            pending.push(Task::Split { start, end: middle, state: left });
            continue;
        }
        let ends = apply(split, &grower.chooser, &allowance, own_points, own_places, &mut scratch);
        let cuts = cuts_of(&split, &grower.chooser, own_points, &ends);
        let mut states = states_of(grower, state, &cuts, &ends);
        let mut part = |place: usize| {
            let from = if place == 0 { 0 } else { ends[place - 1] };
            let state = std::mem::take(&mut states[place]);
            Task::Split { start: start + from, end: start + ends[place], state }
        };
        // The last part is what no cut takes.
        pending.push(part(ends.len() - 1));
        for (place, &cut) in cuts.iter().enumerate().rev() {
            pending.push(part(place));
            if place > 0 {
                pending.push(Task::Next(cut));
            }
        }
        tree.push(cuts[0]);
    }
}

/// A split as a chain of cuts: one for each part but the last.
fn cuts_of<const L: usize, const M: usize>(
    split: &Split,
    chooser: &Chooser<'_, L, M>,
    points: &[Point<L>],
    ends: &[usize],
) -> Vec<TreeNode> {
    let Split::Specialize { axis, step } = *split else {
        return vec![TreeNode::Cut(Cut::of(split))];
    };
    let AxisKind::Label(tree) = &chooser.space.axes[axis].kind else {
        unreachable!("only labels are specialized")
    };
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let ranges: Vec<(u32, u32)> =
        starts.take(ends.len()).map(|start| tree.part_range(step, points[start][axis])).collect();
    let (&(lo, hi), firsts) = ranges.split_last().expect("a split has parts");
    let mut cuts: Vec<Cut> = firsts.iter().map(|&(lo, hi)| Cut::new(axis, lo, hi)).collect();
    // Where the last part is a child of its own too, and not what is left of several, it is known
    // where it lies.
    let last = &points[ends[ends.len() - 2]..];
    if last.iter().all(|point| (lo..=hi).contains(&point[axis]))
        && let Some(cut) = cuts.last_mut()
    {
        cut.rest = (lo, hi);
    }
    let node = |(place, cut): (usize, Cut)| match place {
        0 => TreeNode::Cut(cut),
        _ => TreeNode::Next(cut),
    };
    cuts.into_iter().enumerate().map(node).collect()
}
