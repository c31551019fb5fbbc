//! All rows have arrived: trees are grown by counts, rows are repartitioned, loaded and split.

use std::ops::Range;
use std::sync::Arc;

use albers_classes::packed::RowBlock;
use albers_partition::cell::{Start, TableSize};
use albers_partition::counts::group::CountGroup;
use albers_partition::counts::{CountPlan, rooted};
use albers_partition::plan::whole_region;
use albers_partition::split::extent::has_small_sets;
use albers_partition::split::place::Placement;
use albers_partition::split::state::NodeState;
use albers_storage::memory_budget::Reservation;
use albers_storage::{Result, StorageError};
use rayon::prelude::*;

use super::breadth::{Breadth, Counted};
use super::grown::{Fate, GrownTree, Leaf};
use super::scan::{self, Routes};
use super::{Passes, RothkoPlan, RothkoTree};
use crate::buffer_tree::build::{Subtree, codes_of};
use crate::buffer_tree::part::Part;
use crate::buffer_tree::{BulkPlan, Giant, Loaded, sorted_by_part};
use crate::rplus_tree::RPlusTree;
use crate::rplus_tree::grow::{GrownCell, Source, grow_cell_below};

type Sink<'s, E> = dyn FnMut(Loaded<'_>) -> std::result::Result<(), E> + 's;

/// Splits all rows of a tree and hands them on.
pub(super) fn drain<E: From<StorageError>>(
    tree: RothkoTree<'_>,
    sink: &mut Sink<'_, E>,
) -> std::result::Result<Passes, E> {
    let RothkoTree { plan, columns, mut rows, counter, counts, .. } = tree;
    let bulk = plan.bulk;
    rows.flush(bulk)?;
    let passes = Passes { imported_bytes: scan::n_bytes(&rows.blocks), ..Passes::default() };
    let root = counter.finish().pop().expect("the root is counted");
    let workload = bulk.plan.workload.map(|own| rooted(own.workload, &root));
    let (placement, _taken) = placement_of(bulk, &root)?;
    let bulk = bulk.with_workload(workload.as_ref());
    let plan = RothkoPlan { bulk: &bulk, ..*plan };
    let (shape, decide) = (root.shape(), CountPlan::of(&bulk.plan));
    let leaf = Leaf {
        n_rows: rows.n_rows,
        fate: Fate::Open(shape.clone()),
        state: NodeState::default(),
        region: whole_region(&bulk.plan),
    };
    let tree = Arc::new(GrownTree::new(leaf, Arc::from([])));
    let breadth = Breadth { plan: &plan, columns: &columns, shape, decide, placement };
    let mut drain = Drain { breadth, passes, sink };
    if rows.n_rows > 0 {
        let task = Task { part: rows, tree, leaves: Arc::from([0]), places: 0..1 };
        drain.all(task, (root, counts))?;
    }
    Ok(drain.passes)
}

/// Where cuts are placed, where regions are kept: away from all codes of the table.
fn placement_of(
    bulk: &BulkPlan<'_>,
    root: &CountGroup,
) -> Result<(Option<Placement>, Reservation)> {
    let mut taken = bulk.budget.reserve_nothing("the values that occur");
    if !bulk.plan.keep_regions {
        return Ok((None, taken));
    }
    let codes = |axis: usize| root.runs(axis).iter().map(|run| run.code).collect();
    let placement = Placement::at_none_of(bulk.plan.space, codes);
    taken.try_grow(placement.n_bytes())?;
    Ok((Some(placement), taken))
}

/// Rows of some neighbouring leaves of a tree.
struct Task {
    part: Part,
    tree: Arc<GrownTree>,
    /// The leaves of the tree from left to right.
    leaves: Arc<[u32]>,
    /// Which of them have rows here.
    places: Range<usize>,
}

impl Task {
    /// The leaf, where it is one.
    fn leaf(&self) -> Option<u32> {
        (self.places.len() == 1).then(|| self.leaves[self.places.start])
    }
}

/// Hands leaves on as they are found.
struct Drain<'d, 'a, 's, E> {
    breadth: Breadth<'d, 'a>,
    passes: Passes,
    sink: &'d mut Sink<'s, E>,
}

impl<E: From<StorageError>> Drain<'_, '_, '_, E> {
    /// Splits the rows of a task and of all that it comes to, without recursion: a tree may be deep.
    fn all(&mut self, first: Task, counted: Counted) -> std::result::Result<(), E> {
        let mut counted = Some(counted);
        let mut pending = vec![first];
        while let Some(task) = pending.pop() {
            let mut next = self.task(task, counted.take())?;
            next.reverse();
            pending.append(&mut next);
        }
        Ok(())
    }

    /// Hands on the rows of a task, or divides them among others.
    fn task(&mut self, task: Task, counted: Option<Counted>) -> std::result::Result<Vec<Task>, E> {
        let is_final = |leaf: u32| matches!(task.tree.leaf(leaf).fate, Fate::Final);
        if task.leaf().is_some_and(is_final) {
            self.giant(task)?;
            return Ok(Vec::new());
        }
        if let Some(_memory) = self.room_for(&task.part)? {
            drop(counted);
            self.load(task)?;
            return Ok(Vec::new());
        }
        let Some(leaf) = task.leaf() else { return Ok(self.spread(task)?) };
        let root = (task.tree.leaf(leaf).clone(), task.tree.way_to(leaf).into());
        let tree = self.breadth.grow(&task.part, root, counted, &mut self.passes)?;
        let leaves: Arc<[u32]> = tree.leaves().into();
        let places = 0..leaves.len();
        let task = Task { part: task.part, tree: Arc::new(tree), leaves, places };
        match task.leaf() {
            Some(_) => {
                self.giant(task)?;
                Ok(Vec::new())
            }
            None => Ok(self.spread(task)?),
        }
    }

    /// Memory to split the rows of a part there; nothing where they do not fit.
    fn room_for(&self, part: &Part) -> Result<Option<Reservation>> {
        let plan = self.breadth.plan;
        if !plan.is_small(part.n_rows, part.n_payload_bytes) {
            return Ok(None);
        }
        let n_bytes = plan.load_bytes(part.n_rows, part.n_payload_bytes);
        match plan.bulk.budget.try_reserve("a part of the tree", n_bytes) {
            Ok(memory) => Ok(Some(memory)),
            Err(StorageError::OverBudget { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Divides the rows of several leaves among partitions.
    fn spread(&mut self, task: Task) -> Result<Vec<Task>> {
        let bulk = self.breadth.plan.bulk;
        let max_parts = (bulk.sizes.buffer_bytes / bulk.sizes.block_bytes).max(2);
        let partitions = self.partitions(&task, max_parts);
        let Task { part, tree, leaves, .. } = task;
        let mut belongs = vec![0; leaves.len()];
        for (partition, places) in (0u32..).zip(&partitions) {
            belongs[places.clone()].fill(partition);
        }
        let routes = Routes { steps: tree.steps(), belongs: belongs.into() };
        let n_parts = partitions.len();
        let parts = scan::repartition(bulk, part, &routes, n_parts, &mut self.passes)?;
        let task =
            |(part, places)| Task { part, tree: tree.clone(), leaves: leaves.clone(), places };
        Ok(parts.into_iter().zip(partitions).map(task).collect())
    }

    /// Runs of leaves, each with a partition of its own: neighbours that fit in memory together, and
    /// more of them where there would be too many partitions.
    fn partitions(&self, task: &Task, max_parts: usize) -> Vec<Range<usize>> {
        let leaf = |place: usize| task.tree.leaf(task.leaves[place]);
        let is_small = |place: usize| matches!(leaf(place).fate, Fate::Small);
        let fits = |n_rows: u64| self.breadth.plan.is_small_part(n_rows, &task.part);
        let mut runs: Vec<(Range<usize>, u64)> = Vec::new();
        for place in task.places.clone() {
            let n_rows = leaf(place).n_rows;
            match runs.last_mut() {
                // Never all in one: they did not fit.
                Some((run, sum))
                    if is_small(place)
                        && is_small(run.start)
                        && fits(*sum + n_rows)
                        && *sum + n_rows < task.part.n_rows =>
                {
                    run.end = place + 1;
                    *sum += n_rows;
                }
                _ => runs.push((place..place + 1, n_rows)),
            }
        }
        let each = runs.len().div_ceil(max_parts);
        let join = |some: &[(Range<usize>, u64)]| some[0].0.start..some[some.len() - 1].0.end;
        runs.chunks(each).map(join).collect()
    }

    /// Splits rows that fit in memory, leaf by leaf.
    fn load(&mut self, task: Task) -> std::result::Result<(), E> {
        let Task { part, tree, leaves, places } = task;
        let bulk = self.breadth.plan.bulk;
        self.passes.loaded_bytes += scan::n_bytes(&part.blocks);
        let rows = part.load(bulk)?;
        let leaves = &leaves[places.clone()];
        let (order, ends) = rows_of_leaves(bulk, &rows, &tree, places);
        let own_rows = |place: usize| {
            let start = if place == 0 { 0 } else { ends[place - 1] as usize };
            &order[start..ends[place] as usize]
        };
        let placement = &self.breadth.placement;
        let grow = |(place, &leaf): (usize, &u32)| {
            let state = tree.leaf(leaf).state.clone();
            let start = Start { state, placement: placement.clone() };
            grow_leaf(bulk, &rows, own_rows(place), start)
        };
        let grown: Vec<GrownCell> = leaves.par_iter().enumerate().map(grow).collect();
        for (cell, &leaf) in grown.into_iter().zip(leaves) {
            let subtree = Subtree {
                tree: RPlusTree::new(bulk.layout.n_attributes(), &cell.tree, cell.boxes),
                rows: &rows,
                order: cell.rows,
                region: tree.leaf(leaf).region.clone(),
                way: tree.way_to(leaf),
            };
            (self.sink)(Loaded::Subtree(Box::new(subtree)))?;
        }
        Ok(())
    }

    /// Hands on rows that have no allowable split, and are too many to be loaded.
    fn giant(&mut self, task: Task) -> std::result::Result<(), E> {
        let Task { part, tree, leaves, places } = task;
        let leaf = leaves[places.start];
        let (region, way) = (tree.leaf(leaf).region.clone(), tree.way_to(leaf));
        let Part { blocks, n_rows, .. } = part;
        (self.sink)(Loaded::Giant(Giant { blocks, n_rows, region, way }))
    }
}

/// The places of some rows, leaf by leaf, and where those of each leaf end.
fn rows_of_leaves(
    bulk: &BulkPlan<'_>,
    rows: &RowBlock,
    tree: &GrownTree,
    places: Range<usize>,
) -> (Vec<u32>, Vec<u32>) {
    if places.len() == 1 {
        let n_rows = rows.n_rows() as u32;
        return ((0..n_rows).collect(), vec![n_rows]);
    }
    let n_leaves = tree.leaves().len() as u32;
    let belongs = (0..n_leaves).map(|place| place.wrapping_sub(places.start as u32));
    let routes = Routes { steps: tree.steps(), belongs: belongs.collect() };
    let codes = codes_of(bulk.layout, rows, 0..rows.n_rows());
    let place_of = routes.of_rows(&codes, bulk.layout.n_attributes());
    sorted_by_part(&place_of, places.len())
}

/// Splits the rows of a leaf to the end.
fn grow_leaf(bulk: &BulkPlan<'_>, rows: &RowBlock, own: &[u32], start: Start) -> GrownCell {
    let source = Source { layout: bulk.layout, block: rows, facts: bulk.facts };
    let n_attributes = bulk.layout.n_attributes();
    let sets = has_small_sets(bulk.plan.space);
    albers_partition::with_lanes!(
        n_attributes,
        sets,
        grow_cell_below(source, own, &bulk.plan, TableSize::Small, start)
    )
}
