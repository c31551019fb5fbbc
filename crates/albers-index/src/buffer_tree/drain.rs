//! All rows have arrived: parts are brought together where they must be, loaded and built, or
//! divided further.

use std::sync::Arc;

use albers_classes::Region;
use albers_classes::packed::RowBlock;
use albers_partition::cell::MAX_DEPTH;
use albers_partition::portfolio::Portfolio;
use albers_partition::split::cut::Turn;
use albers_partition::top::{Attempt, SampledTops, Top};
use albers_storage::memory_budget::Reservation;
use albers_storage::spill::Block;
use albers_storage::threads;
use albers_storage::{Result, StorageError};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::build::{self, Unit};
use super::part::Part;
use super::{BufferTree, BulkPlan, Expected, Giant, Intake, Loaded, RoutedRows};

/// How many times as large as planned a part may be: a sample tells its size only roughly.
const MAX_EXCESS: usize = 2;

type Sink<'s, E> = dyn FnMut(Loaded<'_>) -> std::result::Result<(), E> + 's;

/// Builds all parts of a tree and hands them on.
pub fn drain<E: From<StorageError>>(
    tree: BufferTree<'_>,
    sink: &mut Sink<'_, E>,
) -> std::result::Result<SampledTops, E> {
    let mut drain = Drain { plan: tree.plan, sink, tops: SampledTops::default() };
    let n_cells = tree.top.n_cells();
    let n_kept = drain.tree(tree)?;
    Ok(drain.tops.below(n_cells, n_kept))
}

/// Divides the rows of a part, which has this region where regions are kept, and hands on what comes
/// of them.
pub fn divide<E: From<StorageError>>(
    plan: &BulkPlan<'_>,
    part: Part,
    region: Option<Region>,
    sink: &mut Sink<'_, E>,
) -> std::result::Result<(), E> {
    let tops = SampledTops::default();
    Drain { plan, sink, tops }.divide(part, region, (0, Vec::new()))
}

/// Parts that are loaded together.
struct Group {
    node: u32,
    parts: std::ops::Range<usize>,
    why: Why,
}

/// Why parts are loaded together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// They are few, or one.
    Few,
    /// Some violate the strictest requirement alone: they are leaves of coarser classes.
    Coarser,
    /// Some violate the requirement of the leaves alone.
    Violating,
}

/// What lies below a node of the top, as far down as the parts.
#[derive(Clone)]
struct Below {
    parts: std::ops::Range<usize>,
    n_rows: u64,
    /// Whether it satisfies the strictest requirement.
    holds: bool,
    /// Whether it satisfies that of the leaves.
    holds_leaves: bool,
}

impl BufferTree<'_> {
    /// What lies below a node and below all nodes down to the parts.
    fn look_below(&self, node: u32, found: &mut FxHashMap<u32, Below>) -> Below {
        let (strictest, leaves) = (self.plan.strictest, self.plan.plan.requirement);
        let below = match (self.roots.binary_search(&node), self.top.children(node)) {
            (Err(_), Some(children)) => {
                let [left, right] = children.map(|child| self.look_below(child, found));
                let parts = left.parts.start..right.parts.end;
                let own = &self.parts[parts.clone()];
                let holds = left.holds && right.holds || Part::union_holds(own, strictest);
                let holds_leaves = holds || Part::union_holds(own, leaves);
                Below { parts, n_rows: left.n_rows + right.n_rows, holds, holds_leaves }
            }
            (place, _) => {
                let place = place.unwrap_or_else(|place| place);
                let part = &self.parts[place];
                let holds = part.holds(strictest);
                let holds_leaves = holds || part.holds(leaves);
                Below { parts: place..place + 1, n_rows: part.n_rows, holds, holds_leaves }
            }
        };
        found.insert(node, below.clone());
        below
    }

    /// Whether both sides of the first split satisfy the requirement of the leaves.
    fn is_divided(&self) -> bool {
        let mut below = FxHashMap::default();
        self.look_below(self.root, &mut below);
        let children = self.top.children(self.root);
        children.is_some_and(|children| children.iter().all(|child| below[child].holds_leaves))
    }

    /// The parts, brought together below nodes that are units, and where one alone violates the
    /// strictest requirement; and how many splits of the top lie above them.
    fn groups(&self) -> (Vec<Group>, usize) {
        let mut below = FxHashMap::default();
        self.look_below(self.root, &mut below);
        let mut groups = Vec::new();
        let mut n_above = 0;
        let mut pending = vec![self.root];
        while let Some(node) = pending.pop() {
            let Below { parts, n_rows, .. } = below[&node].clone();
            let children = self.top.children(node).filter(|_| parts.len() > 1);
            let Some(children) = children else {
                groups.push(Group { node, parts, why: Why::Few });
                continue;
            };
            let all = |holds: fn(&Below) -> bool| children.iter().all(|own| holds(&below[own]));
            let why = match (all(|own| own.holds), all(|own| own.holds_leaves)) {
                (true, _) => Why::Few,
                (false, true) => Why::Coarser,
                (false, false) => Why::Violating,
            };
            if why != Why::Few || n_rows <= self.plan.plan.grain.whole_rows as u64 {
                groups.push(Group { node, parts, why });
            } else {
                n_above += 1;
                pending.extend(children.into_iter().rev());
            }
        }
        (groups, n_above)
    }

    /// All rows as one part.
    fn into_part(mut self) -> Result<Part> {
        let mut whole = Part::new(self.plan.strictest);
        for part in &mut self.parts {
            part.flush(self.plan)?;
            whole.take(part);
        }
        Ok(whole)
    }

    /// Takes in rows that are packed already.
    fn append_blocks(&mut self, blocks: Vec<Block>) -> Result<()> {
        let (plan, router) = (self.plan, self.router());
        let mut blocks = blocks.into_iter();
        loop {
            let round: Vec<Block> = blocks.by_ref().take(threads::of_pool()).collect();
            if round.is_empty() {
                return Ok(());
            }
            let routed: Vec<Result<RoutedRows>> = round
                .into_par_iter()
                .map(|block| {
                    let bytes = plan.store.take(block)?;
                    let mut rows = RowBlock::default();
                    rows.read_from(plan.layout, &bytes);
                    Ok(router.route_packed(&rows))
                })
                .collect();
            for rows in routed {
                self.append(&rows?)?;
            }
        }
    }
}

/// Where a part lies.
struct Place<'t> {
    top: &'t Arc<Top>,
    node: u32,
    depth: usize,
    /// The way to the root of the top.
    way: &'t [Turn],
}

impl Place<'_> {
    fn way_to(&self, node: u32) -> Vec<Turn> {
        [self.way, &self.top.way_to(node)].concat()
    }

    fn region(&self, node: u32) -> Option<Region> {
        self.top.region(node).cloned()
    }
}

/// A refusal with advice that will do: some of what is held grows with the budget.
pub(crate) fn enough(refused: StorageError) -> StorageError {
    match refused {
        StorageError::OverBudget { what, needed_bytes, limit_bytes } => {
            let needed_bytes = needed_bytes + needed_bytes / 2;
            StorageError::OverBudget { what, needed_bytes, limit_bytes }
        }
        other => other,
    }
}

/// Hands units on as they are built.
struct Drain<'d, 'a, 's, E> {
    plan: &'a BulkPlan<'a>,
    sink: &'d mut Sink<'s, E>,
    /// What became of the tops of parts.
    tops: SampledTops,
}

impl<E: From<StorageError>> Drain<'_, '_, '_, E> {
    /// Returns how many splits of the top are left.
    fn tree(&mut self, mut tree: BufferTree<'_>) -> std::result::Result<usize, E> {
        for part in &mut tree.parts {
            part.flush(self.plan)?;
        }
        let (groups, mut n_kept) = tree.groups();
        let BufferTree { top, mut parts, depth, way, buffers, .. } = tree;
        drop(buffers);
        for group in groups {
            let mut part = Part::new(self.plan.strictest);
            for other in &mut parts[group.parts] {
                part.take(other);
            }
            if part.n_rows > 0 {
                let place = Place { top: &top, node: group.node, depth, way: &way };
                n_kept += self.group(&place, group.why, part)?;
            }
        }
        Ok(n_kept)
    }

    /// Loads the rows below a node, or divides them further. Returns how many splits of the top are
    /// left there.
    fn group(&mut self, place: &Place<'_>, why: Why, part: Part) -> std::result::Result<usize, E> {
        let plan = self.plan;
        let n_bytes = part.n_payload_bytes + part.n_rows as usize * plan.row_bytes();
        let is_whole = part.n_rows <= plan.plan.grain.whole_rows as u64;
        let is_cell = place.top.children(place.node).is_none();
        if !is_whole && (is_cell || why == Why::Violating) {
            let below = (place.depth, place.way_to(place.node));
            self.divide(part, place.region(place.node), below)?;
            return Ok(0);
        }
        let must_load = is_whole || why == Why::Coarser;
        let reserved = match n_bytes <= MAX_EXCESS * plan.sizes.part_bytes || must_load {
            true => Some(plan.budget.try_reserve("a part of the tree", n_bytes)),
            false => None,
        };
        match reserved {
            Some(Ok(memory)) => self.load(place, part, memory),
            Some(Err(refused)) if must_load => Err(enough(refused).into()),
            Some(Err(StorageError::OverBudget { .. })) | None => {
                let n_rows = part.n_rows;
                let payload_bytes = part.n_payload_bytes / n_rows.max(1) as usize;
                let expected = Expected { n_rows, payload_bytes, must_divide: true };
                let below = (place.top.clone(), place.node);
                let above = (place.depth, place.way.to_vec());
                let mut tree = BufferTree::below(plan, below, expected, above)?;
                tree.append_blocks(part.blocks)?;
                self.tree(tree)
            }
            Some(Err(error)) => Err(error.into()),
        }
    }

    /// Builds the units of rows that fit in memory. Returns how many splits of the top are left there.
    fn load(
        &mut self,
        place: &Place<'_>,
        part: Part,
        memory: Reservation,
    ) -> std::result::Result<usize, E> {
        let plan = self.plan;
        let rows = part.load(plan)?;
        let mut large = Vec::new();
        let (units, mut n_left) = build::units(plan, place.top, place.node, &rows);
        for unit in units {
            match unit {
                Unit::Subtree { node, tree, order, n_kept, tops } => {
                    n_left += n_kept;
                    self.tops.merge(&tops);
                    let region = place.region(node);
                    let way = place.way_to(node);
                    let subtree = build::Subtree { tree, rows: &rows, order, region, way };
                    (self.sink)(Loaded::Subtree(Box::new(subtree)))?;
                }
                Unit::Large { node, order } => {
                    let part = Part::of_rows(plan, &rows, &order)?;
                    large.push((part, place.region(node), place.way_to(node)));
                }
            }
        }
        drop((rows, memory));
        for (part, region, way) in large {
            self.divide(part, region, (place.depth, way))?;
        }
        Ok(n_left)
    }

    /// Divides rows that are too many to be cut at once by a top of their own.
    fn divide(
        &mut self,
        mut part: Part,
        region: Option<Region>,
        (depth, way): (usize, Vec<Turn>),
    ) -> std::result::Result<(), E> {
        let plan = self.plan;
        if plan.plan.portfolio.is_some_and(Portfolio::joins_leaves) {
            let (heavy, rest) = part.without_heavy(plan)?;
            if let Some(heavy) = heavy {
                let Part { blocks, n_rows, .. } = heavy;
                let (region, way) = (region.clone(), way.clone());
                (self.sink)(Loaded::Giant(Giant { blocks, n_rows, region, way }))?;
                let top = Arc::new(Top::single(&plan.plan));
                let place = Place { top: &top, node: 0, depth, way: &[] };
                return self.group(&place, Why::Few, rest).map(|_| ());
            }
            part = rest;
        }
        let n_rows = part.n_rows;
        let payload_bytes = part.n_payload_bytes / n_rows.max(1) as usize;
        let attempts = if depth < MAX_DEPTH { Attempt::all(&plan.plan) } else { &[] };
        for &attempt in attempts {
            let falls_back = attempt == Attempt::Cells && plan.plan.trust.is_some();
            self.tops.fell_back += u64::from(falls_back);
            let top = build::top_of_part(plan, &part, (attempt, depth), region.as_ref())?;
            let n_cells = top.n_cells();
            if n_cells == 1 {
                continue;
            }
            let expected = Expected { n_rows, payload_bytes, must_divide: true };
            let below = (Arc::new(top), 0);
            let above = (depth + 1, way.clone());
            let mut tree = BufferTree::below(plan, below, expected, above)?;
            tree.append_blocks(part.blocks)?;
            if tree.is_divided() {
                let n_kept = self.tree(tree)?;
                self.tops.add_tree(depth, n_cells, n_kept);
                return Ok(());
            }
            self.tops.add_tree(depth, n_cells, 0);
            part = tree.into_part()?;
        }
        self.tops.maybe_divisible += 1;
        (self.sink)(Loaded::Giant(Giant { blocks: part.blocks, n_rows, region, way }))
    }
}
