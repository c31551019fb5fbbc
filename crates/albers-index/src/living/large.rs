//! Parts are grown anew with all their rows: at once where these are few enough, and otherwise by
//! the buffer tree of the bulk load. So a first load of any size has the leaves of a bulk load.

use albers_classes::Region;
use albers_classes::packed::RowBlock;
use albers_partition::cell::TableSize;
use albers_partition::sample::{TupleSample, Tuples, tuple_hash};
use albers_partition::split::cut::Turn;
use albers_partition::split_tree::{SplitTree, TreeNode};
use albers_privacy::ClassSummary;
use albers_storage::StorageError;
use albers_storage::threads;
use rayon::prelude::*;

use super::directory::{DirectoryNode, PartId, by_way, nodes_of_ways};
use super::mend::{Changes, mend};
use super::part::{Part, holds};
use super::pieces::{GrownRows, gathered, pieces};
use super::settling::{Settling, n_all};
use super::{LivingPlan, PartSize, PartStore};
use crate::buffer_tree::drain::{divide, enough};
use crate::buffer_tree::part::{self as buffered, add_facts};
use crate::buffer_tree::{BufferTree, BulkPlan, Giant, Intake, Loaded, RoutedRows, Subtree};
use crate::rplus_tree::grow::Source;
use crate::rplus_tree::{Child, RPlusTree};

type Subtrees = Vec<(Vec<Turn>, Vec<DirectoryNode>)>;

/// What is seen of rows before they are divided.
struct Seen {
    n_rows: u64,
    n_payload_bytes: usize,
    summary: ClassSummary,
    tuples: Tuples,
}

/// Grows some parts anew, as one, and returns the nodes that lead to what they become. `is_all` if
/// they are the whole index.
pub(super) fn regrow<S: PartStore>(
    settling: &mut Settling<'_, S>,
    old: &[PartId],
    region: Option<Region>,
    is_all: bool,
) -> Result<Vec<DirectoryNode>, S::Error> {
    let bulk = &settling.plan.bulk;
    let size = size_of(settling, old);
    if n_all(size) <= bulk.plan.grain.whole_rows {
        return regrow_at_once(settling, old, region.as_ref());
    }
    let seen = look(settling, old)?;
    if seen.n_rows <= bulk.plan.grain.whole_rows as u64 {
        return regrow_at_once(settling, old, region.as_ref());
    }
    let requirements = [bulk.plan.requirement, bulk.strictest];
    if !requirements.iter().all(|asked| asked.holds(&seen.summary)) {
        let part = as_leaf(settling, old)?;
        settling.missing.insert(part);
        return Ok(vec![DirectoryNode::Part(part)]);
    }
    settling.settled.n_grown += seen.n_rows;
    let mut subtrees = match is_all {
        true => load_table(settling, old, seen)?,
        false => divide_parts(settling, old, region)?,
    };
    for &part in old {
        settling.remove(part)?;
    }
    subtrees.sort_by(|(a, _), (b, _)| by_way(a, b));
    Ok(nodes_of_ways(subtrees))
}

/// Whether something has arrived at a part or was removed from it.
pub(super) fn has_changed<S: PartStore>(
    settling: &Settling<'_, S>,
    part: PartId,
) -> Result<bool, S::Error> {
    let size = settling.parts.size(part);
    if size.n_arrivals > 0 {
        return Ok(true);
    }
    let _memory = settling.reserve(size).map_err(enough)?;
    let own = settling.parts.load(part)?;
    let layout = settling.plan.bulk.layout;
    let is_removed = |row: usize| (settling.is_removed)(own.rows().row_id(layout, row));
    let order: Vec<u32> = (0..own.n_rows() as u32).collect();
    let source = Source { layout, block: own.rows(), facts: settling.plan.bulk.facts };
    let is_missing = !holds(source, &order, settling.plan.bulk.strictest);
    Ok(is_missing || settling.has_removed && (0..own.n_rows()).any(is_removed))
}

/// Makes one part of one leaf of some parts.
pub(super) fn as_leaf<S: PartStore>(
    settling: &mut Settling<'_, S>,
    old: &[PartId],
) -> Result<PartId, S::Error> {
    let layout = settling.plan.bulk.layout;
    let _memory = settling.reserve(size_of(settling, old)).map_err(enough)?;
    let mut pool = RowBlock::default();
    each_block(settling, old, &mut |block| {
        pool.extend(layout, &block, 0..block.n_rows());
        Ok(())
    })?;
    let mut order: Vec<u32> = (0..pool.n_rows() as u32).collect();
    order.sort_unstable_by_key(|&row| pool.row_id(layout, row as usize));
    let part = settling.add(Part::of_leaf(gathered(layout, &pool, &order)))?;
    for &part in old {
        settling.remove(part)?;
    }
    Ok(part)
}

/// The size of some parts together.
pub(super) fn size_of<S: PartStore>(settling: &Settling<'_, S>, parts: &[PartId]) -> PartSize {
    let mut sum = PartSize::default();
    for &part in parts {
        let size = settling.parts.size(part);
        sum.n_rows += size.n_rows;
        sum.n_arrivals += size.n_arrivals;
        sum.n_bytes += size.n_bytes;
    }
    sum
}

fn regrow_at_once<S: PartStore>(
    settling: &mut Settling<'_, S>,
    old: &[PartId],
    region: Option<&Region>,
) -> Result<Vec<DirectoryNode>, S::Error> {
    let _memory = settling.reserve(size_of(settling, old)).map_err(enough)?;
    let mut arrivals = Vec::new();
    each_block(settling, old, &mut |block| {
        arrivals.push(block);
        Ok(())
    })?;
    let changes =
        Changes { arrivals, is_removed: &|_| false, has_removed: false, looks_at_all: true };
    let plan = settling.plan;
    let mended = mend(plan, plan.bulk.table, Part::empty(), &changes, region);
    let nodes = settling.put(old, mended)?;
    Ok(nodes.unwrap_or_default())
}

/// Hands on the rows of some parts, with what has arrived and without what was removed.
fn each_block<S: PartStore>(
    settling: &Settling<'_, S>,
    parts: &[PartId],
    take: &mut dyn FnMut(RowBlock) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    let layout = settling.plan.bulk.layout;
    let mut take_kept = |block: RowBlock| {
        if !settling.has_removed {
            return take(block);
        }
        let stays = |row: &u32| !(settling.is_removed)(block.row_id(layout, *row as usize));
        let kept: Vec<u32> = (0..block.n_rows() as u32).filter(stays).collect();
        match kept.len() == block.n_rows() {
            true => take(block),
            false => take(gathered(layout, &block, &kept)),
        }
    };
    for &part in parts {
        take_kept(settling.parts.load(part)?.into_parts().0)?;
        settling.parts.each_arrival(part, &mut take_kept)?;
    }
    Ok(())
}

/// Looks at all rows once: their number, what the requirement looks at, and a sample.
fn look<S: PartStore>(settling: &Settling<'_, S>, parts: &[PartId]) -> Result<Seen, S::Error> {
    let bulk = &settling.plan.bulk;
    let layout = bulk.layout;
    let n_attributes = layout.n_attributes();
    let targets = &bulk.facts.targets;
    let n_bytes = bulk.plan.grain.sample_bytes * if targets.is_empty() { 1 } else { 3 };
    let _memory = bulk.budget.try_reserve("a sample of the rows", n_bytes)?;
    let limit = bulk.plan.grain.sample_tuples(n_attributes);
    let mut sample = TupleSample::new(limit, n_attributes, !targets.is_empty());
    let mut summary = ClassSummary::new(bulk.strictest.shape());
    let (mut n_rows, mut n_payload_bytes, mut known_subject) = (0, 0, 0);
    let (mut codes, mut facts) = (vec![0; n_attributes], Vec::new());
    each_block(settling, parts, &mut |block| {
        n_rows += block.n_rows() as u64;
        n_payload_bytes += block.n_bytes() - block.n_rows() * layout.stride_bytes();
        add_facts(bulk, &block, 0..block.n_rows(), (&mut summary, &mut known_subject));
        for row in 0..block.n_rows() {
            block.codes(layout, row, &mut codes);
            facts.clear();
            facts.extend(targets.iter().map(|&fact| block.fact(layout, row, fact)));
            sample.add(tuple_hash(&codes, bulk.plan.seed), &codes, &facts, 1);
        }
        Ok(settling.watch.check()?)
    })?;
    Ok(Seen { n_rows, n_payload_bytes, summary, tuples: sample.finish() })
}

/// Loads all rows as a table, as a bulk load does.
fn load_table<S: PartStore>(
    settling: &mut Settling<'_, S>,
    old: &[PartId],
    seen: Seen,
) -> Result<Subtrees, S::Error> {
    let Seen { n_rows, n_payload_bytes, tuples, .. } = seen;
    let plan = BulkPlan { table: TableSize::Large, ..settling.plan.bulk };
    let rooted = plan.rooted(&tuples, n_rows);
    let plan = plan.with_workload(rooted.as_ref());
    let top = plan.top_of_table(&tuples, n_rows);
    drop(tuples);
    let mut tree = BufferTree::new(&plan, top, n_rows, n_payload_bytes / n_rows as usize)?;
    let router = tree.router();
    let mut round: Vec<RowBlock> = Vec::new();
    let mut append = |round: &mut Vec<RowBlock>| -> Result<(), S::Error> {
        let routed: Vec<RoutedRows> =
            std::mem::take(round).par_iter().map(|block| router.route_packed(block)).collect();
        routed.iter().try_for_each(|rows| tree.append(rows))?;
        Ok(settling.watch.check()?)
    };
    each_block(settling, old, &mut |block| {
        round.push(block);
        if round.len() < threads::of_pool() {
            return Ok(());
        }
        append(&mut round)
    })?;
    append(&mut round)?;
    let mut subtrees = Subtrees::new();
    tree.drain(&mut |loaded| keep(settling, loaded, &mut subtrees))?;
    Ok(subtrees)
}

/// Divides rows by tops of their own.
fn divide_parts<S: PartStore>(
    settling: &mut Settling<'_, S>,
    old: &[PartId],
    region: Option<Region>,
) -> Result<Subtrees, S::Error> {
    let plan = settling.plan;
    let mut rows = buffered::Part::new(plan.bulk.strictest);
    each_block(settling, old, &mut |block| {
        Ok(rows.append(&plan.bulk, &block, 0..block.n_rows())?)
    })?;
    rows.flush(&plan.bulk)?;
    let mut subtrees = Subtrees::new();
    divide(&plan.bulk, rows, region, &mut |loaded| keep(settling, loaded, &mut subtrees))?;
    Ok(subtrees)
}

/// Keeps what comes out of a buffer tree as parts.
fn keep<S: PartStore>(
    settling: &mut Settling<'_, S>,
    loaded: Loaded<'_>,
    subtrees: &mut Subtrees,
) -> Result<(), S::Error> {
    let plan = settling.plan;
    match loaded {
        Loaded::Subtree(subtree) => {
            let Subtree { tree, rows, order, way, .. } = *subtree;
            let grown = grown_of(plan, &tree, rows, order);
            let nodes = settling.add_pieces(pieces(plan, rows, &grown))?;
            subtrees.push((way, nodes));
            Ok(settling.watch.done(tree.n_rows() as u64)?)
        }
        Loaded::Giant(giant) => {
            let (n_rows, way) = (giant.n_rows, giant.way.clone());
            let part = giant_leaf(plan, giant)?;
            let part = settling.add(part)?;
            subtrees.push((way, vec![DirectoryNode::Part(part)]));
            Ok(settling.watch.done(n_rows)?)
        }
    }
}

fn giant_leaf(plan: &LivingPlan<'_>, giant: Giant) -> Result<Part, StorageError> {
    let bulk = &plan.bulk;
    let n_bytes: usize = giant.blocks.iter().map(|block| block.n_bytes()).sum();
    let reserved = bulk.budget.try_reserve("a leaf of rows that cannot be told apart", 2 * n_bytes);
    let _memory = reserved.map_err(enough)?;
    let mut pool = RowBlock::default();
    for block in giant.blocks {
        pool.read_from(bulk.layout, &bulk.store.take(block)?);
    }
    let mut order: Vec<u32> = (0..pool.n_rows() as u32).collect();
    order.sort_unstable_by_key(|&row| pool.row_id(bulk.layout, row as usize));
    Ok(Part::of_leaf(gathered(bulk.layout, &pool, &order)))
}

/// The rows of a subtree, those of a leaf by their numbers.
fn grown_of(
    plan: &LivingPlan<'_>,
    index: &RPlusTree,
    rows: &RowBlock,
    mut order: Vec<u32>,
) -> GrownRows {
    let number = |&row: &u32| rows.row_id(plan.bulk.layout, row as usize);
    let mut tree = SplitTree::default();
    let mut grown_rows = Vec::with_capacity(index.n_leaves());
    let mut pending = vec![index.root()];
    while let Some(child) = pending.pop() {
        match child {
            Child::Split(split) => {
                let split = &index.splits()[split as usize];
                tree.push(TreeNode::Cut(split.cut));
                pending.extend([split.outside, split.inside]);
            }
            Child::Leaf(leaf) => {
                let own = &mut order[index.rows_of(leaf..leaf + 1)];
                own.sort_unstable_by_key(number);
                tree.push(TreeNode::Leaf { n_rows: own.len() as u32 });
                grown_rows.push(own.len() as u32);
            }
        }
    }
    GrownRows { order, tree, grown_rows }
}
