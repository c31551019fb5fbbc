//! The top of the tree of a large table: cuts chosen on a sample, along which all rows are routed
//! to cells.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 5.2 (Rothko-S); van den Bercken & Seeger
//! 2001 for indexes that are loaded along a sampled one.
//! Departures: unless the plan asks for it, no test decides whether the sample may be trusted: a tree
//! ends at cells that are large enough to be safe. Either way a cell whose rows violate the
//! requirement is merged with its siblings, up to the node that satisfies it. A cut is moved to a round value of the gap in
//! the sample, whether or not regions are kept, since it decides where rows go. Every split is one in
//! two: a sample may not show all children of a label, and a comparison routes them anyway. Where
//! the two sides must not show the same, it takes one child of a label from all else.
//! Guarantee: the same sample gives the same tree, whatever the order and the number of the rows.
//! Cost: that of cutting the sample; O(depth) per row to route it.

mod counts;
mod tested;

use std::collections::BinaryHeap;

use albers_classes::{Region, TargetCodes};
use albers_privacy::Facts;
use rustc_hash::FxHashMap;

use crate::grow::{Arity, Grower, grow};
use crate::plan::{Plan, whole_region};
use crate::sample::Tuples;
use crate::split::cut::{Cut, Turn};
use crate::split::place::Placement;
use crate::split::rule::{Allowance, Rule};
use crate::split::{Chooser, Point};
use crate::split_tree::{SplitTree, TreeNode};

pub use counts::SampledTops;

/// No part of the sample gets smaller: fewer points say too little about the rows they stand for.
const MIN_SAMPLE_ROWS: usize = 32;

/// A tree of splits whose leaves are cells, numbered from left to right.
pub struct Top {
    nodes: Vec<TopNode>,
    n_cells: usize,
}

struct TopNode {
    region: Option<Region>,
    /// Rows of the sample.
    n_sampled: u32,
    kind: TopKind,
}

enum TopKind {
    Cell { cell_idx: u32 },
    Inner { cut: Cut, children: [u32; 2] },
}

/// A node that is left when cells have been merged, in the order of a walk from left to right that
/// meets parents before their children.
pub enum KeptNode {
    /// A run of cells, cut as one.
    Cell(RoutedCell),
    /// Two children follow, the first with the codes inside the cut.
    Inner(Cut),
}

impl KeptNode {
    /// The splits among some nodes.
    pub fn n_splits(nodes: &[KeptNode]) -> usize {
        nodes.iter().filter(|node| matches!(node, KeptNode::Inner(_))).count()
    }
}

/// A run of the tree's cells that is cut as one.
pub struct RoutedCell {
    /// The first cell.
    pub first: usize,
    /// The first cell after it.
    pub end: usize,
    /// Its region, where regions are kept.
    pub region: Option<Region>,
}

/// Points that stand for so many rows, and what these carry of a workload.
struct Sample<'s, const L: usize> {
    points: Vec<Point<L>>,
    targets: Option<&'s TargetCodes>,
    n_rows: u64,
}

/// How a part of a table is divided that is too large to be cut at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// Into cells, as far as its sample supports it by test.
    Tested,
    /// Into cells, by all that its sample tells.
    Cells,
    /// In two or three, by counts alone: with all rows, smaller parts violated the requirement.
    Once,
    /// As far as its tuples can be told apart, where all of them are known: a few rows may keep
    /// company with many equal ones, too few to be seen beside them in a sample.
    Tuples,
}

impl Attempt {
    /// Those of a plan, in the order in which they are tried.
    pub fn all(plan: &Plan<'_>) -> &'static [Attempt] {
        const ALL: [Attempt; 4] = [Attempt::Tested, Attempt::Cells, Attempt::Once, Attempt::Tuples];
        &ALL[usize::from(plan.trust.is_none())..]
    }
}

impl Top {
    /// A tree that is one cell.
    pub fn single(plan: &Plan<'_>) -> Top {
        Top::of_tree(&SplitTree::leaf(1)).within(whole_region(plan))
    }

    /// The tree of a table of so many rows, grown on a sample: as far as tests support it, or by counts
    /// alone, until a cell has about as many rows as it should.
    pub fn of_table<const L: usize, const M: usize>(
        tuples: &Tuples,
        n_rows: u64,
        plan: &Plan<'_>,
    ) -> Top {
        if let Some(trust) = plan.trust {
            return Top::tested::<L, M>(tuples, n_rows, trust, plan, whole_region(plan));
        }
        let n_points = plan.grain.sample_tuples(plan.space.axes.len());
        let sample = tuples.points::<L>(n_points, n_rows);
        let (_, targets) = sample.known(0);
        let min_rows = plan.min_rows().max(MIN_SAMPLE_ROWS);
        let allowance = Allowance { min_rows, rule: None };
        let sample = Sample { points: sample.points, targets: targets.as_ref(), n_rows };
        let region = whole_region(plan);
        Top::grow_within::<L, M>(sample, allowance, plan.grain.cell_rows, plan, region)
    }

    /// The tree of a part of a table, which has this region where regions are kept.
    pub fn of_part<const L: usize, const M: usize>(
        tuples: &Tuples,
        n_rows: u64,
        attempt: Attempt,
        plan: &Plan<'_>,
        region: Option<&Region>,
    ) -> Top {
        let region = region.cloned();
        if let Some(trust) = plan.trust.filter(|_| attempt == Attempt::Tested) {
            return Top::tested::<L, M>(tuples, n_rows, trust, plan, region);
        }
        let n_points = plan.grain.sample_tuples(plan.space.axes.len());
        let min_rows = plan.min_rows();
        if attempt == Attempt::Tuples {
            let Some(points) = tuples.few_of_each::<L>(min_rows, 2 * n_points, n_rows) else {
                return Top::of_tree(&SplitTree::leaf(1)).within(region);
            };
            let allowance = Allowance { min_rows, rule: None };
            let sample = Sample { points, targets: None, n_rows };
            let by_counts = Plan { workload: None, ..*plan };
            return Top::grow_within::<L, M>(sample, allowance, 0, &by_counts, region);
        }
        let sample = tuples.points::<L>(n_points, n_rows);
        let n_ruled = if plan.has_rule() { plan.requirement.columns().len() } else { 0 };
        let (facts, targets) = sample.known(n_ruled);
        let facts = facts.filter(|_| plan.has_rule());
        let (cell_rows, facts, slack) = match attempt {
            // A little more than the share of the least part, since a sample is uneven.
            Attempt::Cells => (plan.grain.cell_rows, facts, 1.25),
            _ => ((n_rows / 4 * 3) as usize, None, 1.0),
        };
        let min_rows = match facts {
            Some(_) => plan.min_rows().max(MIN_SAMPLE_ROWS),
            None => {
                let share = sample.points.len() as f64 / n_rows.max(1) as f64;
                ((plan.min_rows() as f64 * share * slack).ceil() as usize).max(4)
            }
        };
        let rule = rule_of(plan, facts.as_ref());
        let sample = Sample { points: sample.points, targets: targets.as_ref(), n_rows };
        let allowance = Allowance { min_rows, rule };
        Top::grow_within::<L, M>(sample, allowance, cell_rows, plan, region)
    }

    fn grow_within<const L: usize, const M: usize>(
        sample: Sample<'_, L>,
        allowance: Allowance<'_>,
        cell_rows: usize,
        plan: &Plan<'_>,
        region: Option<Region>,
    ) -> Top {
        let Sample { mut points, targets, n_rows } = sample;
        let cell_sample = (cell_rows as u64 * points.len() as u64 / n_rows.max(1)) as usize;
        let most = cell_sample.max(2 * allowance.min_rows);
        let grower = Grower::<L, M> {
            chooser: Chooser::new(plan.space, plan.policy, true)
                .with_labels_apart(plan.labels_apart)
                .with_predicates(plan.predicates())
                .with_gains(plan.gains(targets, &points)),
            stop: &|places| (places.len() > most).then_some(allowance),
            arity: Arity::Two,
            placement: Some(Placement::default()),
        };
        let mut places: Vec<u32> = (0..points.len() as u32).collect();
        let tree = grow(&grower, &mut points, &mut places, region.as_ref());
        Top::of_tree(&tree).within(region)
    }

    /// The tree whose leaves are cells, of the whole space and without regions.
    fn of_tree(tree: &SplitTree) -> Top {
        let mut nodes: Vec<TopNode> = Vec::with_capacity(tree.nodes().len());
        let mut n_cells = 0;
        for node in tree.nodes() {
            let (n_sampled, kind) = match *node {
                TreeNode::Leaf { n_rows } => {
                    n_cells += 1;
                    (n_rows, TopKind::Cell { cell_idx: n_cells - 1 })
                }
                TreeNode::Cut(cut) | TreeNode::Next(cut) => {
                    (0, TopKind::Inner { cut, children: [0; 2] })
                }
            };
            nodes.push(TopNode { region: None, n_sampled, kind });
        }
        // From the end, so that children come before their parents.
        let mut roots: Vec<(u32, u32)> = Vec::new();
        for (node_idx, node) in nodes.iter_mut().enumerate().rev() {
            if let TopKind::Inner { children, .. } = &mut node.kind {
                for child in children {
                    let (root, n_sampled) = roots.pop().expect("every split has two children");
                    *child = root;
                    node.n_sampled += n_sampled;
                }
            }
            roots.push((node_idx as u32, node.n_sampled));
        }
        Top { nodes, n_cells: n_cells as usize }
    }

    /// The same tree of a part of space, where regions are kept.
    fn within(mut self, region: Option<Region>) -> Top {
        self.nodes[0].region = region;
        // Parents stand before their children.
        for node_idx in 0..self.nodes.len() {
            let TopNode { region: Some(region), kind: TopKind::Inner { cut, children }, .. } =
                &self.nodes[node_idx]
            else {
                continue;
            };
            let (children, regions) = (*children, cut.regions(region));
            for (child, region) in children.into_iter().zip(regions) {
                self.nodes[child as usize].region = Some(region);
            }
        }
        self
    }

    /// Number of cells.
    pub fn n_cells(&self) -> usize {
        self.n_cells
    }

    /// The highest nodes below a root with at most so many rows of the sample, from left to right;
    /// larger ones where there would be more than `max_parts`, of which the largest are divided
    /// first. Together they hold all cells below the root.
    pub fn parts(&self, root: u32, n_sampled: usize, max_parts: usize) -> Vec<u32> {
        let mut parts = Vec::new();
        let with_size = |node_idx: u32| (self.nodes[node_idx as usize].n_sampled, node_idx);
        let mut largest_first = BinaryHeap::from([with_size(root)]);
        while let Some((n_own, node_idx)) = largest_first.pop() {
            let n_divided = parts.len() + largest_first.len() + 2;
            match &self.nodes[node_idx as usize].kind {
                TopKind::Inner { children, .. }
                    if n_own as usize > n_sampled && n_divided <= max_parts =>
                {
                    largest_first.extend(children.iter().map(|&child| with_size(child)));
                }
                _ => parts.push(node_idx),
            }
        }
        // Nodes are numbered from left to right.
        parts.sort_unstable();
        parts
    }

    /// The cells below a node.
    pub fn cells_below(&self, node_idx: u32) -> std::ops::Range<usize> {
        let mut ends = [node_idx; 2];
        for (side, end) in ends.iter_mut().enumerate() {
            while let TopKind::Inner { children, .. } = &self.nodes[*end as usize].kind {
                *end = children[side];
            }
        }
        let [first, last] = ends.map(|end| match self.nodes[end as usize].kind {
            TopKind::Cell { cell_idx } => cell_idx as usize,
            TopKind::Inner { .. } => unreachable!("the walk ends at a cell"),
        });
        first..last + 1
    }

    /// What lies below each node below a root, and whether it satisfies the requirement: for sure
    /// if all cells below it do, and as `union_holds` says otherwise. Without recursion: the tree
    /// may be deep.
    pub fn spans(
        &self,
        root: u32,
        holds: impl Fn(usize) -> bool,
        union_holds: impl Fn(usize, usize) -> bool,
    ) -> FxHashMap<u32, Span> {
        let mut spans = FxHashMap::default();
        // Children stand after their parents, so that a walk from the end meets them first.
        for &node_idx in self.nodes_below(root).iter().rev() {
            let span = match &self.nodes[node_idx as usize].kind {
                TopKind::Cell { cell_idx } => {
                    let first = *cell_idx as usize;
                    Span { first, end: first + 1, is_cell: true, holds: holds(first) }
                }
                TopKind::Inner { children, .. } => {
                    let [left, right]: [Span; 2] = [0, 1].map(|side| spans[&children[side]]);
                    let (first, end) = (left.first, right.end);
                    let is_cell = !(left.holds && right.holds);
                    // One satisfying part is not enough: many equal secrets can outweigh it.
                    Span { first, end, is_cell, holds: !is_cell || union_holds(first, end) }
                }
            };
            spans.insert(node_idx, span);
        }
        spans
    }

    /// What is left below a node when a node below which some cell violates the requirement becomes
    /// one cell, and so on upwards until the union satisfies it.
    pub fn satisfying(
        &self,
        root: u32,
        holds: impl Fn(usize) -> bool,
        union_holds: impl Fn(usize, usize) -> bool,
    ) -> Vec<KeptNode> {
        let spans = self.spans(root, holds, union_holds);
        let mut kept = Vec::new();
        let mut pending = vec![root];
        while let Some(node_idx) = pending.pop() {
            let Span { first, end, is_cell, .. } = spans[&node_idx];
            let node = &self.nodes[node_idx as usize];
            match &node.kind {
                TopKind::Inner { children, cut } if !is_cell => {
                    kept.push(KeptNode::Inner(*cut));
                    pending.extend(children.iter().rev());
                }
                _ => {
                    let region = node.region.clone();
                    kept.push(KeptNode::Cell(RoutedCell { first, end, region }));
                }
            }
        }
        kept
    }

    /// The two children of a node, unless it is a cell.
    pub fn children(&self, node_idx: u32) -> Option<[u32; 2]> {
        match &self.nodes[node_idx as usize].kind {
            TopKind::Cell { .. } => None,
            TopKind::Inner { children, .. } => Some(*children),
        }
    }

    /// The way from the root to a node.
    pub fn way_to(&self, node_idx: u32) -> Vec<Turn> {
        let mut way = Vec::new();
        let mut at = 0;
        while at != node_idx {
            let TopKind::Inner { cut, children } = &self.nodes[at as usize].kind else {
                unreachable!("the node lies in the tree")
            };
            // Nodes are numbered from left to right.
            let is_inside = node_idx < children[1];
            way.push(Turn { cut: *cut, is_inside });
            at = children[usize::from(!is_inside)];
        }
        way
    }

    /// Rows of the sample below a node.
    pub fn n_sampled(&self, node_idx: u32) -> usize {
        self.nodes[node_idx as usize].n_sampled as usize
    }

    /// The region of a node, where regions are kept.
    pub fn region(&self, node_idx: u32) -> Option<&Region> {
        self.nodes[node_idx as usize].region.as_ref()
    }

    /// The comparisons that lead to some nodes, which must hold all cells; the rest of the tree is
    /// not walked.
    pub fn steps_to(&self, node_idxs: &[u32]) -> Vec<RouteStep> {
        let mut steps = self.steps();
        for (place, &node_idx) in (0u32..).zip(node_idxs) {
            let step = &mut steps[node_idx as usize];
            step.children = [node_idx; 2];
            step.cell_idx = place;
        }
        steps
    }

    /// A node and all below it, parents first, from left to right.
    fn nodes_below(&self, root: u32) -> Vec<u32> {
        let mut nodes = Vec::new();
        let mut pending = vec![root];
        while let Some(node_idx) = pending.pop() {
            nodes.push(node_idx);
            if let TopKind::Inner { children, .. } = &self.nodes[node_idx as usize].kind {
                pending.extend(children.iter().rev());
            }
        }
        nodes
    }

    /// The tree as a table of comparisons.
    pub fn steps(&self) -> Vec<RouteStep> {
        (0u32..)
            .zip(&self.nodes)
            .map(|(node_idx, node)| match &node.kind {
                TopKind::Cell { cell_idx } => RouteStep {
                    axis: 0,
                    lo: 0,
                    length: 0,
                    children: [node_idx; 2],
                    cell_idx: *cell_idx,
                },
                TopKind::Inner { cut, children } => RouteStep {
                    axis: cut.axis,
                    lo: cut.lo,
                    length: cut.hi - cut.lo,
                    children: [children[1], children[0]],
                    cell_idx: NO_CELL,
                },
            })
            .collect()
    }
}

/// What lies below a node of the tree.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// The first cell.
    pub first: usize,
    /// The first cell after it.
    pub end: usize,
    /// Whether it is cut as one cell: it is one, or some of what lies below it violates the
    /// requirement.
    pub is_cell: bool,
    /// Whether all that will be cut below it satisfies the requirement.
    pub holds: bool,
}

fn rule_of<'f>(plan: &Plan<'f>, facts: Option<&'f Facts>) -> Option<Rule<'f>> {
    facts.map(|facts| Rule { requirement: plan.requirement, facts })
}

/// The cell of a step that still compares.
const NO_CELL: u32 = u32::MAX;

/// One comparison: points with codes in `lo..=lo + length` go to the second child. A cell leads to
/// itself.
#[derive(Clone, Copy)]
pub struct RouteStep {
    axis: u32,
    lo: u32,
    length: u32,
    children: [u32; 2],
    cell_idx: u32,
}

impl RouteStep {
    /// A comparison: where codes inside the cut go next, and where all others do.
    pub fn compare(cut: &Cut, [inside, outside]: [u32; 2]) -> RouteStep {
        let Cut { axis, lo, hi, .. } = *cut;
        RouteStep { axis, lo, length: hi - lo, children: [outside, inside], cell_idx: NO_CELL }
    }

    /// The step of this number, where a cell is reached.
    pub fn cell(own: u32, cell_idx: u32) -> RouteStep {
        RouteStep { axis: 0, lo: 0, length: 0, children: [own; 2], cell_idx }
    }
}

/// The comparisons of a tree whose nodes are given with parents first and what lies inside before
/// what lies outside; a node without a cut is the next cell.
pub fn steps_of(
    nodes: impl DoubleEndedIterator<Item = Option<Cut>> + ExactSizeIterator,
) -> Vec<RouteStep> {
    let n_nodes = nodes.len();
    let mut steps = Vec::with_capacity(n_nodes);
    // Roots of the subtrees that follow, the next one last.
    let mut roots: Vec<u32> = Vec::new();
    for (node_idx, cut) in nodes.enumerate().rev() {
        let node_idx = node_idx as u32;
        let step = match cut {
            None => RouteStep { axis: 0, lo: 0, length: 0, children: [node_idx; 2], cell_idx: 0 },
            Some(Cut { axis, lo, hi, .. }) => {
                let [inside, outside] = [(); 2].map(|()| roots.pop().expect("a cut has two sides"));
                let (length, children) = (hi - lo, [outside, inside]);
                RouteStep { axis, lo, length, children, cell_idx: NO_CELL }
            }
        };
        steps.push(step);
        roots.push(node_idx);
    }
    steps.reverse();
    let cells = steps.iter_mut().filter(|step| step.cell_idx != NO_CELL);
    (0u32..).zip(cells).for_each(|(cell_idx, step)| step.cell_idx = cell_idx);
    steps
}

/// The cell of each row, whose codes stand row by row, from a node that the rows belong to. Rows go
/// down the tree in groups, step by step together: their steps do not wait for each other.
pub fn cells_of_rows(
    rows: &[u32],
    n_attributes: usize,
    steps: &[RouteStep],
    start: u32,
) -> Vec<u32> {
    const GROUP: usize = 8;
    let n_rows = rows.len() / n_attributes;
    let mut cells = vec![0u32; n_rows];
    for (group, out) in cells.chunks_mut(GROUP).enumerate() {
        let first = group * GROUP;
        let mut at = [start; GROUP];
        loop {
            let mut all_arrived = true;
            for (member, at) in at.iter_mut().enumerate().take(out.len()) {
                let step = steps[*at as usize];
                let code = rows[(first + member) * n_attributes + step.axis as usize];
                let inside = code.wrapping_sub(step.lo) <= step.length;
                *at = step.children[usize::from(inside)];
                all_arrived &= step.cell_idx != NO_CELL;
            }
            if all_arrived {
                break;
            }
        }
        for (cell, at) in out.iter_mut().zip(at) {
            *cell = steps[at as usize].cell_idx;
        }
    }
    cells
}

#[cfg(test)]
mod tests;
