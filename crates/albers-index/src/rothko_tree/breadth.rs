//! Grows the tree of a part breadth first, by the counts of all its open leaves in one scan.

use std::sync::Arc;

use albers_partition::counts::divide::{Division, divide};
use albers_partition::counts::group::{CountColumns, CountGroup, GroupShape, NO_GROUP};
use albers_partition::counts::{CountPlan, choose};
use albers_partition::split::cut::Turn;
use albers_partition::split::place::Placement;
use albers_partition::split::state::NodeState;
use albers_storage::memory_budget::Reservation;
use albers_storage::{Result, StorageError};
use rayon::prelude::*;

use super::grown::{Fate, GrownTree, Leaf};
use super::scan::{self, Routes};
use super::{COUNTS, Passes, RothkoPlan};
use crate::buffer_tree::part::Part;

/// A part is repartitioned early where less than this share of its rows is still to be counted.
const OPEN_SHARE: u64 = 4;

/// The counts of a root, and what they take.
pub(super) type Counted = (CountGroup, Reservation);

/// Chooses splits by counts.
pub(super) struct Breadth<'d, 'a> {
    /// How rows are split, and what memory there is.
    pub(super) plan: &'d RothkoPlan<'a>,
    /// What is counted.
    pub(super) columns: &'d CountColumns,
    /// What is known of all rows.
    pub(super) shape: GroupShape,
    /// What decides.
    pub(super) decide: CountPlan<'a>,
    /// Where cuts are placed, where regions are kept.
    pub(super) placement: Option<Placement>,
}

impl Breadth<'_, '_> {
    /// Grows the tree of a part by counts, as far as they fit.
    pub(super) fn grow(
        &self,
        part: &Part,
        (mut own, way): (Leaf, Arc<[Turn]>),
        counted: Option<Counted>,
        passes: &mut Passes,
    ) -> Result<GrownTree> {
        if let Fate::Small = own.fate {
            // It was thought to fit. Less is known of it then.
            own.fate = Fate::Open(GroupShape { n_rows: own.n_rows, ..self.shape.clone() });
        }
        let mut tree = GrownTree::new(own, way);
        let is_small = |n_rows: u64| self.plan.is_small_part(n_rows, part);
        let mut open = vec![0];
        let mut counts = match counted {
            Some((group, memory)) => (vec![group], memory),
            None => {
                let mut memory = self.plan.bulk.budget.reserve_nothing(COUNTS);
                let n_bytes = self.count_bytes(&tree, &open);
                super::grow(&mut memory, n_bytes, || n_bytes)?;
                (self.count(part, &tree, &open, passes)?, memory)
            }
        };
        loop {
            let (groups, memory) = counts;
            let chosen: Vec<Option<Division>> = open
                .par_iter()
                .zip(&groups)
                .map(|(&node, group)| self.division(&tree.leaf(node).state, group))
                .collect();
            drop((groups, memory));
            let mut next = Vec::new();
            for (&node, division) in open.iter().zip(chosen) {
                match division {
                    None => tree.finish(node),
                    Some(division) => next.extend(tree.divide(node, division, is_small)),
                }
            }
            next.retain(|&node| matches!(tree.leaf(node).fate, Fate::Open(_)));
            open = next;
            let Some(memory) = self.room_for(part, &tree, &open)? else { return Ok(tree) };
            counts = (self.count(part, &tree, &open, passes)?, memory);
        }
    }

    /// The split of a node; nothing if none is allowable.
    fn division(&self, state: &NodeState, group: &CountGroup) -> Option<Division> {
        let split = choose(&self.decide, group, state)?;
        Some(divide(&self.decide, split, group, state.clone(), self.placement.as_ref()))
    }

    /// Memory to count some leaves of a part together; nothing where it is repartitioned first.
    fn room_for(&self, part: &Part, tree: &GrownTree, open: &[u32]) -> Result<Option<Reservation>> {
        let n_open: u64 = open.iter().map(|&node| tree.leaf(node).n_rows).sum();
        let n_bytes = self.count_bytes(tree, open);
        if open.is_empty()
            || OPEN_SHARE * n_open < part.n_rows
            || self.plan.count_groups.is_some_and(|most| open.len() > most)
            || n_bytes > self.plan.count_bytes()
        {
            return Ok(None);
        }
        match self.plan.bulk.budget.try_reserve(COUNTS, n_bytes as usize) {
            Ok(memory) => Ok(Some(memory)),
            Err(StorageError::OverBudget { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What the counts of some leaves take, and the tree beside them.
    fn count_bytes(&self, tree: &GrownTree, open: &[u32]) -> u64 {
        let shapes = shapes_of(tree, open);
        let n_bytes = shapes.iter().map(|shape| shape.n_bytes(self.columns));
        n_bytes.fold(tree.n_bytes(), u64::saturating_add)
    }

    /// Counts some leaves of a part in one scan.
    fn count(
        &self,
        part: &Part,
        tree: &GrownTree,
        open: &[u32],
        passes: &mut Passes,
    ) -> Result<Vec<CountGroup>> {
        let mut group_of = vec![NO_GROUP; tree.n_nodes()];
        (0u32..).zip(open).for_each(|(group, &node)| group_of[node as usize] = group);
        let belongs = tree.leaves().into_iter().map(|leaf| group_of[leaf as usize]);
        let routes = Routes { steps: tree.steps(), belongs: belongs.collect() };
        let shapes = shapes_of(tree, open);
        let counted = (self.columns, &shapes[..]);
        scan::count(self.plan.bulk, part, counted, &routes, passes)
    }
}

/// What is known of some leaves that are to be counted.
fn shapes_of<'t>(tree: &'t GrownTree, open: &[u32]) -> Vec<&'t GroupShape> {
    let shape = |&node: &u32| match &tree.leaf(node).fate {
        Fate::Open(shape) => shape,
        Fate::Small | Fate::Final => unreachable!("only open leaves are counted"),
    };
    open.iter().map(shape).collect()
}
