//! A part takes in what has arrived and lets go what was removed, and its tree is mended.
//!
//! Source: Iwuchukwu & Naughton 2007, section 2: leaves that overflow are split, leaves that
//! underflow are joined with their neighbours.
//! Departures: a leaf is split by the grower of the bulk load, as often as it can be. One that
//! misses the requirement climbs to the lowest split whose rows satisfy it together, and these are
//! grown anew. An empty side is dropped with its cut. Subtrees that have changed much are grown
//! anew.
//! Guarantee: every leaf satisfies the requirement if all rows do, and one that was changed has no
//! allowable split. The tree is a function of the part and the sets of rows that came and went.
//! Cost: that of routing what arrived, of growing what is split, and of copying all else.

use std::ops::Range;

use albers_classes::Region;
use albers_classes::packed::{RowBlock, RowLayout};
use albers_partition::cell::TableSize;
use albers_partition::split::extent::has_small_sets;
use albers_partition::split_tree::{SplitTree, TreeNode};
use albers_partition::top::{cells_of_rows, steps_of};
use albers_table::row::RowId;

use super::LivingPlan;
use super::part::{Part, cut_of, holds};
use super::pieces::{GrownRows, Pieces, Shape, gathered, pieces, starts_of};
use super::policy;
use crate::rplus_tree::grow::{Source, grow_cell};

/// Splits of a leaf that has so many times as many rows as before say nothing of it.
const NEW_CHANGE: u64 = 4;

/// What changes in a part.
pub(super) struct Changes<'c> {
    /// Rows that belong to it.
    pub(super) arrivals: Vec<RowBlock>,
    /// Rows that do not any more, also among the arrivals.
    pub(super) is_removed: &'c (dyn Fn(RowId) -> bool + Sync),
    /// Whether there are such rows.
    pub(super) has_removed: bool,
    /// Whether all leaves are looked at, not only those that changed.
    pub(super) looks_at_all: bool,
}

/// What becomes of a part.
pub(super) enum Mended {
    /// It stays as it is.
    Unchanged,
    /// Its rows are all gone.
    Empty,
    /// All its rows together miss the requirement: one leaf.
    Missing(Part),
    /// It is mended, and may be several parts now; so many rows went through the grower.
    Pieces { pieces: Pieces, n_grown: u64 },
}

/// How the rows below a node stand to the requirement, once all below it is mended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Empty,
    Holds,
    Misses,
}

/// Mends a part; `region` is its own, where regions are kept.
pub(super) fn mend(
    plan: &LivingPlan<'_>,
    table: TableSize,
    part: Part,
    changes: &Changes<'_>,
    region: Option<&Region>,
) -> Mended {
    let Some(mending) = Mending::of(plan, part, changes) else { return Mended::Unchanged };
    if mending.order.is_empty() {
        return Mended::Empty;
    }
    let source = mending.source();
    let bulk = &plan.bulk;
    let suffices = !bulk.has_coarser || holds(source, &mending.order, bulk.strictest);
    let shape = Shape::of(&mending.tree);
    let standings = mending.standings(&shape);
    if !suffices || standings.of[0] == Standing::Misses {
        let mut order = mending.order;
        let numbers = |&row: &u32| mending.pool.row_id(bulk.layout, row as usize);
        order.sort_unstable_by_key(numbers);
        return Mended::Missing(Part::of_leaf(gathered(bulk.layout, &mending.pool, &order)));
    }
    let (grown, n_grown) = mending.grown(table, &shape, &standings, region);
    let is_same = mending.is_same && grown.tree == mending.tree;
    if is_same && grown.order == mending.order {
        return Mended::Unchanged;
    }
    Mended::Pieces { pieces: pieces(plan, &mending.pool, &grown), n_grown }
}

/// Grows rows that are to become a part, all of them anew.
pub(super) fn grow_rows(
    plan: &LivingPlan<'_>,
    table: TableSize,
    (pool, order): (&RowBlock, &[u32]),
    region: Option<&Region>,
) -> GrownRows {
    let bulk = &plan.bulk;
    let source = Source { layout: bulk.layout, block: pool, facts: bulk.facts };
    let sets = has_small_sets(bulk.plan.space);
    let mut cell = albers_partition::with_lanes!(
        bulk.layout.n_attributes(),
        sets,
        grow_cell(source, order, &bulk.plan, table, region)
    );
    let mut start = 0;
    for n_rows in cell.tree.leaf_rows() {
        let end = start + n_rows as usize;
        let number = |&row: &u32| pool.row_id(bulk.layout, row as usize);
        cell.rows[start..end].sort_unstable_by_key(number);
        start = end;
    }
    let grown_rows = cell.tree.leaf_rows().collect();
    GrownRows { order: cell.rows, tree: plain(&cell.tree), grown_rows }
}

/// A tree in which every cut stands for itself.
pub(super) fn plain(tree: &SplitTree) -> SplitTree {
    let mut plain = SplitTree::default();
    for node in tree.nodes() {
        plain.push(match cut_of(node) {
            Some(cut) => TreeNode::Cut(cut),
            None => *node,
        });
    }
    plain
}

/// A part with its arrivals and without what was removed, leaf by leaf.
struct Mending<'p> {
    plan: &'p LivingPlan<'p>,
    /// All rows of before, and the arrivals.
    pool: RowBlock,
    /// The splits of before, and the rows that each leaf has now.
    tree: SplitTree,
    grown_rows: Vec<u32>,
    is_changed: Vec<bool>,
    /// The places of the rows in the pool, leaf by leaf.
    order: Vec<u32>,
    starts: Vec<usize>,
    /// Whether no row came or went.
    is_same: bool,
}

struct Standings {
    of: Vec<Standing>,
    /// Whether one side misses the requirement, but not both together.
    is_joined: Vec<bool>,
}

impl<'p> Mending<'p> {
    /// Nothing if nothing changes.
    fn of(plan: &'p LivingPlan<'_>, part: Part, changes: &Changes<'_>) -> Option<Mending<'p>> {
        let layout = plan.bulk.layout;
        let (mut pool, tree, grown_rows) = part.into_parts();
        let n_before = pool.n_rows();
        for block in &changes.arrivals {
            pool.extend(layout, block, 0..block.n_rows());
        }
        let stays = |row: &u32| {
            !changes.has_removed || !(changes.is_removed)(pool.row_id(layout, *row as usize))
        };
        let kept: Vec<u32> = (0..n_before as u32).filter(stays).collect();
        let new: Vec<u32> = (n_before as u32..pool.n_rows() as u32).filter(stays).collect();
        let is_same = kept.len() == n_before && pool.n_rows() == n_before;
        if is_same && !changes.looks_at_all {
            return None;
        }
        let new = by_leaf(layout, &pool, &tree, &new);
        let nodes =
            widened(&tree, &new, |row, axis| pool.code(layout, row as usize, axis as usize));
        let mut mending = Mending {
            plan,
            pool,
            tree: SplitTree::default(),
            is_changed: Vec::with_capacity(grown_rows.len()),
            grown_rows,
            order: Vec::with_capacity(kept.len() + new.len()),
            starts: Vec::new(),
            is_same,
        };
        mending.fill(&nodes, &kept, &new, changes.looks_at_all);
        Some(mending)
    }

    /// Puts the rows that stay and those that are new, with their leaves, into the leaves of a
    /// tree.
    fn fill(&mut self, nodes: &[TreeNode], kept: &[u32], new: &[(u32, u32)], looks_at_all: bool) {
        let (mut kept, mut new) = (kept, new);
        let (mut end, mut leaf) = (0, 0);
        for &node in nodes {
            let TreeNode::Leaf { n_rows } = node else {
                self.tree.push(node);
                continue;
            };
            end += n_rows;
            let (own, later) = kept.split_at(kept.partition_point(|&row| row < end));
            let (own_new, later_new) = new.split_at(new.partition_point(|new| new.0 == leaf));
            (kept, new) = (later, later_new);
            let start = self.order.len();
            self.order.extend(own);
            self.order.extend(own_new.iter().map(|(_, row)| row));
            let own_rows = &mut self.order[start..];
            if !own.is_empty() && !own_new.is_empty() {
                let number = |&row: &u32| self.pool.row_id(self.plan.bulk.layout, row as usize);
                own_rows.sort_unstable_by_key(number);
            }
            let is_changed = own.len() < n_rows as usize || !own_new.is_empty();
            self.is_changed.push(is_changed || looks_at_all);
            self.tree.push(TreeNode::Leaf { n_rows: own_rows.len() as u32 });
            leaf += 1;
        }
        self.starts = starts_of(&self.tree);
    }

    fn source(&self) -> Source<'_> {
        let bulk = &self.plan.bulk;
        Source { layout: bulk.layout, block: &self.pool, facts: bulk.facts }
    }

    fn rows_of(&self, leaves: &Range<u32>) -> &[u32] {
        &self.order[self.starts[leaves.start as usize]..self.starts[leaves.end as usize]]
    }

    /// How each node stands, children first.
    fn standings(&self, shape: &Shape) -> Standings {
        let nodes = self.tree.nodes();
        let requirement = self.plan.bulk.plan.requirement;
        let mut of = vec![Standing::Holds; nodes.len()];
        let mut is_joined = vec![false; nodes.len()];
        let holds =
            |leaves: &Range<u32>| match holds(self.source(), self.rows_of(leaves), requirement) {
                true => Standing::Holds,
                false => Standing::Misses,
            };
        for at in (0..nodes.len()).rev() {
            let leaves = &shape.leaves[at];
            let outside = shape.outside[at] as usize;
            of[at] = match nodes[at] {
                TreeNode::Leaf { n_rows: 0 } => Standing::Empty,
                TreeNode::Leaf { .. } if !self.is_changed[leaves.start as usize] => Standing::Holds,
                TreeNode::Leaf { .. } => holds(leaves),
                TreeNode::Cut(_) | TreeNode::Next(_) => match (of[at + 1], of[outside]) {
                    (Standing::Empty, other) | (other, Standing::Empty) => other,
                    (Standing::Holds, Standing::Holds) => Standing::Holds,
                    _ => {
                        let together = holds(leaves);
                        is_joined[at] = together == Standing::Holds;
                        together
                    }
                },
            };
        }
        Standings { of, is_joined }
    }

    /// The mended tree, and how many rows went through the grower.
    fn grown(
        &self,
        table: TableSize,
        shape: &Shape,
        standings: &Standings,
        region: Option<&Region>,
    ) -> (GrownRows, u64) {
        let nodes = self.tree.nodes();
        let mut grown = GrownRows::default();
        let mut n_grown = 0;
        let grown_before = sums_of(&self.grown_rows);
        let mut pending: Vec<(usize, Option<Region>)> = vec![(0, region.cloned())];
        while let Some((at, region)) = pending.pop() {
            let leaves = &shape.leaves[at];
            let rows = self.rows_of(leaves);
            let had_rows = grown_before[leaves.end as usize] - grown_before[leaves.start as usize];
            let Some(cut) = cut_of(&nodes[at]) else {
                let is_changed = self.is_changed[leaves.start as usize];
                match is_changed && rows.len() >= 2 * self.plan.bulk.plan.min_rows() {
                    true => {
                        n_grown += rows.len() as u64;
                        let mut new =
                            grow_rows(self.plan, table, (&self.pool, rows), region.as_ref());
                        share(had_rows, &mut new.grown_rows);
                        grown.append(new);
                    }
                    false => grown.push_leaf(rows, had_rows as u32),
                }
                continue;
            };
            let outside = shape.outside[at] as usize;
            let is_empty = |side: &usize| standings.of[*side] == Standing::Empty;
            if let Some(empty) = [at + 1, outside].into_iter().find(is_empty) {
                pending.push((if empty == outside { at + 1 } else { outside }, region));
            } else if standings.is_joined[at] || policy::is_due(&cut, rows.len() as u64, had_rows) {
                n_grown += rows.len() as u64;
                grown.append(grow_rows(self.plan, table, (&self.pool, rows), region.as_ref()));
            } else {
                let sides = region.as_ref().map(|own| cut.regions(own));
                let [inner, outer] = sides.map_or([None, None], |sides| sides.map(Some));
                grown.tree.push(TreeNode::Cut(cut));
                pending.extend([(outside, outer), (at + 1, inner)]);
            }
        }
        (grown, n_grown)
    }
}

impl GrownRows {
    pub(super) fn push_leaf(&mut self, rows: &[u32], grown_rows: u32) {
        self.tree.push(TreeNode::Leaf { n_rows: rows.len() as u32 });
        self.order.extend_from_slice(rows);
        self.grown_rows.push(grown_rows);
    }

    fn append(&mut self, other: GrownRows) {
        self.tree.append(other.tree);
        self.order.extend(other.order);
        self.grown_rows.extend(other.grown_rows);
    }
}

/// The leaf of each of some rows, and the row: by leaf, then by number.
fn by_leaf(layout: &RowLayout, pool: &RowBlock, tree: &SplitTree, rows: &[u32]) -> Vec<(u32, u32)> {
    let n_attributes = layout.n_attributes();
    let mut codes = vec![0; rows.len() * n_attributes];
    for (&row, out) in rows.iter().zip(codes.chunks_exact_mut(n_attributes)) {
        pool.codes(layout, row as usize, out);
    }
    let steps = steps_of(tree.nodes().iter().map(cut_of));
    let leaf_of = cells_of_rows(&codes, n_attributes, &steps, 0);
    let mut found: Vec<(u32, u32)> = leaf_of.into_iter().zip(rows.iter().copied()).collect();
    found.sort_unstable_by_key(|&(leaf, row)| (leaf, pool.row_id(layout, row as usize)));
    found
}

/// The nodes of a tree after rows have come to its leaves: where one lies outside of a cut, but not
/// where all rows outside were known to lie, that is known no more.
fn widened(tree: &SplitTree, rows: &[(u32, u32)], code: impl Fn(u32, u32) -> u32) -> Vec<TreeNode> {
    let mut nodes = tree.nodes().to_vec();
    let knows_rest = |node: &TreeNode| cut_of(node).is_some_and(|cut| cut != cut.without_rest());
    if !nodes.iter().any(knows_rest) {
        return nodes;
    }
    let shape = Shape::of(tree);
    for &(leaf, row) in rows {
        let mut at = 0;
        while let Some(cut) = cut_of(&nodes[at]) {
            let outside = shape.outside[at] as usize;
            let is_outside = shape.leaves[outside].contains(&leaf);
            let code = code(row, cut.axis);
            if is_outside && !(cut.rest.0..=cut.rest.1).contains(&code) {
                nodes[at] = TreeNode::Cut(cut.without_rest());
            }
            at = if is_outside { outside } else { at + 1 };
        }
    }
    nodes
}

/// The sums of some numbers up to each place.
fn sums_of(numbers: &[u32]) -> Vec<u64> {
    let mut sums = vec![0];
    let mut sum = 0;
    sums.extend(numbers.iter().map(|&number| {
        sum += u64::from(number);
        sum
    }));
    sums
}

/// Leaves each of some leaves its share, by their rows, of what they had as one. Where that was
/// next to nothing, their splits are as good as new.
fn share(had_rows: u64, n_rows: &mut [u32]) {
    let sums = sums_of(n_rows);
    if sums.last().is_some_and(|&n_all| n_all >= NEW_CHANGE * had_rows) {
        return;
    }
    let n_all = sums.last().copied().unwrap_or(0).max(1);
    let part = |sum: u64| (u128::from(sum) * u128::from(had_rows) / u128::from(n_all)) as u64;
    for (own, sides) in n_rows.iter_mut().zip(sums.windows(2)) {
        *own = (part(sides[1]) - part(sides[0])) as u32;
    }
}
