//! The one grower: splits some points until no allowable split is left, and keeps the splits.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 2.2; Iwuchukwu & Naughton 2007, section
//! 2.1.
//! Departures: a split into many parts is kept as a chain of splits in two. Where regions are kept,
//! a cut is moved to a round value between the points of its sides, and to one that no other point
//! has if there is any.
//! Guarantee: every leaf satisfies the requirement if all points do, and has no allowable split.
//! The tree is a function of the points and their facts, whatever their order and the threads.
//! Cost: O(points * attributes) per level.

mod divide;

use albers_classes::space::AxisKind;
use albers_privacy::Facts;

use crate::grain::Grain;
use crate::plan::Plan;
use crate::sample::tuple_hash;
use crate::split::apply::{apply, move_first};
use crate::split::extent::Weigher;
use crate::split::place::Placement;
use crate::split::rule::{Allowance, Rule};
use crate::split::{Chooser, Point, Policy, Scratch, Split};
use crate::split_tree::{Cut, TreeNode};

/// Nodes above this size are split further on two threads.
const PARALLEL_ROWS: usize = 8192;

/// How often parts may be divided again before what is left is taken for indivisible.
pub const MAX_DEPTH: usize = 64;

/// Whether a table is cut with all its rows at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableSize {
    /// It is.
    Small,
    /// It is not: also the large nodes of its cells may be weighed on a sample.
    Large,
}

impl TableSize {
    /// Of a table of so many rows.
    pub fn of(n_rows: u64, grain: &Grain) -> TableSize {
        match n_rows > grain.whole_rows as u64 {
            true => TableSize::Large,
            false => TableSize::Small,
        }
    }
}

/// Points that are split, and the place of each in what they were taken from.
pub struct Cell<const L: usize> {
    /// The points, which are moved so that those of a leaf are neighbours.
    pub points: Vec<Point<L>>,
    /// Their places, which move along.
    pub places: Vec<u32>,
}

impl<const L: usize> Cell<L> {
    /// Points in their order.
    pub fn new(points: Vec<Point<L>>) -> Cell<L> {
        let places = (0..points.len() as u32).collect();
        Cell { points, places }
    }

    /// Splits the points until no allowable split is left. `facts` are by place. More points than
    /// are cut at once are divided first.
    pub fn grow<const M: usize>(
        &mut self,
        plan: &Plan<'_>,
        facts: Option<&Facts>,
        table: TableSize,
    ) -> Vec<TreeNode> {
        match self.points.len() > plan.grain.whole_rows {
            true => self.divide::<M>(plan, facts, 0),
            false => self.grow_whole::<M>(plan, facts, table),
        }
    }

    fn grow_whole<const M: usize>(
        &mut self,
        plan: &Plan<'_>,
        facts: Option<&Facts>,
        table: TableSize,
    ) -> Vec<TreeNode> {
        let chooser = Chooser::<L, M> {
            space: plan.space,
            weigher: Weigher::new(plan.space),
            allowance: Allowance {
                min_rows: plan.min_rows(),
                rule: facts.map(|facts| Rule { requirement: plan.requirement, facts }),
            },
            policy: plan.policy,
            may_sample: table == TableSize::Large,
            arch: pulp::Arch::new(),
        };
        if table == TableSize::Large && plan.policy == Policy::Compact {
            self.order_by_content(plan.space.axes.len(), plan.seed);
        }
        let Cell { points, places } = self;
        let placement = plan.keep_regions.then(|| Placement::among(points, plan.space));
        let grower = Grower { chooser, placement };
        grow(&grower, Node { points, places })
    }

    /// Puts the points in an order that depends on their codes alone, so that a sample of those at
    /// certain places does too.
    fn order_by_content(&mut self, n_attributes: usize, seed: u64) {
        // As much of the hash as fits beside the place.
        let place_bits = usize::BITS - self.points.len().leading_zeros();
        let mask = (1u64 << place_bits) - 1;
        let key = |(place, point): (u64, &Point<L>)| {
            tuple_hash(&point[..n_attributes], seed) & !mask | place
        };
        let mut order: Vec<u64> = (0..).zip(&self.points).map(key).collect();
        order.sort_unstable();
        let point = |key: u64| &self.points[(key & mask) as usize];
        for same in order.chunk_by_mut(|a, b| a & !mask == b & !mask) {
            same.sort_unstable_by(|&a, &b| point(a).cmp(point(b)));
        }
        let places = order.iter().map(|&key| self.places[(key & mask) as usize]).collect();
        self.points = order.iter().map(|&key| *point(key)).collect();
        self.places = places;
    }
}

/// What splits nodes.
struct Grower<'a, const L: usize, const M: usize> {
    chooser: Chooser<'a, L, M>,
    /// Where cuts are placed; without it they stay where they were chosen.
    placement: Option<Placement>,
}

impl<const L: usize, const M: usize> Grower<'_, L, M> {
    /// The split as it is kept, of points that are divided by it.
    fn placed(&self, split: Split, points: &[Point<L>], n_left: usize) -> Split {
        let Some(placement) = &self.placement else { return split };
        let (left, right) = points.split_at(n_left);
        placement.place(split, self.chooser.space, left, right)
    }
}

/// A stretch of points that is still to be split.
struct Node<'n, const L: usize> {
    points: &'n mut [Point<L>],
    places: &'n mut [u32],
}

/// The tree of a node; large nodes on two threads.
fn grow<const L: usize, const M: usize>(
    grower: &Grower<'_, L, M>,
    node: Node<'_, L>,
) -> Vec<TreeNode> {
    let mut nodes = Vec::new();
    // What follows the part that is split in the loop, the last first.
    let mut later: Vec<Vec<TreeNode>> = Vec::new();
    let mut next = Some(node);
    while let Some(node) = next.take() {
        if node.points.len() <= PARALLEL_ROWS {
            grow_here(grower, node, &mut nodes);
            break;
        }
        let n_points = node.points.len();
        let Some((cuts, mut parts)) = split_once(grower, node) else {
            nodes.push(TreeNode::Leaf { n_rows: n_points as u32 });
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
            nodes.extend(cuts.get(place).map(|cut| TreeNode::Cut(*cut)));
            nodes.extend(grown.next().into_iter().flatten());
        }
        if let Some(most) = most {
            nodes.extend(cuts.get(most).map(|cut| TreeNode::Cut(*cut)));
            let mut rest = Vec::new();
            for (place, part) in grow_all(grower, after).into_iter().enumerate() {
                rest.extend(cuts.get(most + 1 + place).map(|cut| TreeNode::Cut(*cut)));
                rest.extend(part);
            }
            later.push(rest);
        }
    }
    later.into_iter().rev().for_each(|rest| nodes.extend(rest));
    nodes
}

fn grow_all<const L: usize, const M: usize>(
    grower: &Grower<'_, L, M>,
    mut parts: Vec<Node<'_, L>>,
) -> Vec<Vec<TreeNode>> {
    match parts.len() {
        0 => Vec::new(),
        1 => parts.into_iter().map(|part| grow(grower, part)).collect(),
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
type Parts<'n, const L: usize> = (Vec<Cut>, Vec<Node<'n, L>>);

fn split_once<'n, const L: usize, const M: usize>(
    grower: &Grower<'_, L, M>,
    node: Node<'n, L>,
) -> Option<Parts<'n, L>> {
    let Node { mut points, mut places } = node;
    let mut scratch = Scratch::default();
    let split = grower.chooser.choose(points, places, &mut scratch)?;
    let ends = apply(split, &grower.chooser, points, places, &mut scratch);
    let split = grower.placed(split, points, ends[0]);
    let cuts = cuts_of(&split, &grower.chooser, points, &ends);
    let mut parts = Vec::with_capacity(ends.len());
    let mut start = 0;
    for end in ends {
        let (own_points, rest_points) = points.split_at_mut(end - start);
        let (own_places, rest_places) = places.split_at_mut(end - start);
        parts.push(Node { points: own_points, places: own_places });
        (points, places, start) = (rest_points, rest_places, end);
    }
    Some((cuts, parts))
}

/// What is still to be done.
enum Task {
    /// Split these points further.
    Split { start: usize, end: usize },
    /// A cut whose inside is done with, in a chain of cuts.
    Next(Cut),
}

/// The tree of a node, on this thread and without recursion.
fn grow_here<const L: usize, const M: usize>(
    grower: &Grower<'_, L, M>,
    node: Node<'_, L>,
    nodes: &mut Vec<TreeNode>,
) {
    let Node { points, places } = node;
    let mut scratch = Scratch::default();
    let mut pending = vec![Task::Split { start: 0, end: points.len() }];
    while let Some(task) = pending.pop() {
        let (start, end) = match task {
            Task::Split { start, end } => (start, end),
            Task::Next(cut) => {
                nodes.push(TreeNode::Cut(cut));
                continue;
            }
        };
        let (own_points, own_places) = (&mut points[start..end], &mut places[start..end]);
        let Some(split) = grower.chooser.choose(own_points, own_places, &mut scratch) else {
            nodes.push(TreeNode::Leaf { n_rows: (end - start) as u32 });
            continue;
        };
        if let Split::Cut { axis, code } = split {
            let is_first = |point: &Point<L>| point[axis] <= code;
            let n_left = move_first(own_points, own_places, &mut scratch, is_first);
            let middle = start + n_left;
            nodes.push(TreeNode::Cut(Cut::of(&grower.placed(split, own_points, n_left))));
            pending.push(Task::Split { start: middle, end });
            pending.push(Task::Split { start, end: middle });
            continue;
        }
        let ends = apply(split, &grower.chooser, own_points, own_places, &mut scratch);
        let cuts = cuts_of(&split, &grower.chooser, own_points, &ends);
        let part = |place: usize| {
            let from = if place == 0 { 0 } else { ends[place - 1] };
            Task::Split { start: start + from, end: start + ends[place] }
        };
        // The last part is what no cut takes.
        pending.push(part(ends.len() - 1));
        for (place, &cut) in cuts.iter().enumerate().rev() {
            pending.push(part(place));
            if place > 0 {
                pending.push(Task::Next(cut));
            }
        }
        nodes.push(TreeNode::Cut(cuts[0]));
    }
}

/// A split as a chain of cuts: one for each part but the last.
fn cuts_of<const L: usize, const M: usize>(
    split: &Split,
    chooser: &Chooser<'_, L, M>,
    points: &[Point<L>],
    ends: &[usize],
) -> Vec<Cut> {
    let Split::Specialize { axis, step } = *split else { return vec![Cut::of(split)] };
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
    cuts
}
