//! Rows of blocks on their way to counters and to partitions.

use std::sync::Arc;

use albers_classes::packed::RowBlock;
use albers_partition::counts::group::{CountColumns, CountGroup, CountedRows, Counter, GroupShape};
use albers_partition::top::{RouteStep, cells_of_rows};
use albers_storage::Result;
use albers_storage::spill::Block;
use albers_storage::threads;
use rayon::prelude::*;

use super::Passes;
use crate::buffer_tree::build::codes_of;
use crate::buffer_tree::part::Part;
use crate::buffer_tree::{BulkPlan, RoutedRows, Router};

/// What is counted of some packed rows, which belong to these groups.
pub(super) fn counted_rows<T>(
    bulk: &BulkPlan<'_>,
    rows: &RowBlock,
    group_of: &[u32],
    count: impl FnOnce(&CountedRows<'_>) -> T,
) -> T {
    let codes = codes_of(bulk.layout, rows, 0..rows.n_rows());
    let column = |&fact: &usize| -> Vec<u32> {
        (0..rows.n_rows()).map(|row| rows.fact(bulk.layout, row, fact)).collect()
    };
    let ruled = bulk.facts.ruled.iter().filter(|_| bulk.plan.has_rule());
    count(&CountedRows {
        codes: &codes,
        carried: bulk.facts.targets.iter().map(column).collect(),
        sensitive: ruled.map(column).collect(),
        group_of,
    })
}

/// Leads rows down a tree to its leaves.
#[derive(Clone)]
pub(super) struct Routes {
    /// The comparisons.
    pub(super) steps: Arc<[RouteStep]>,
    /// What the rows of each leaf belong to.
    pub(super) belongs: Arc<[u32]>,
}

impl Routes {
    /// What each row belongs to, given codes row by row.
    pub(super) fn of_rows(&self, codes: &[u32], n_attributes: usize) -> Vec<u32> {
        let mut found = cells_of_rows(codes, n_attributes, &self.steps, 0);
        found.iter_mut().for_each(|cell| *cell = self.belongs[*cell as usize]);
        found
    }
}

/// Counts the values of some nodes in one scan of a part.
pub(super) fn count(
    bulk: &BulkPlan<'_>,
    part: &Part,
    (columns, shapes): (&CountColumns, &[&GroupShape]),
    routes: &Routes,
    passes: &mut Passes,
) -> Result<Vec<CountGroup>> {
    let n_attributes = bulk.layout.n_attributes();
    let mut counter = Counter::new(columns, shapes);
    for round in part.blocks.chunks(threads::of_pool()) {
        let read: Vec<Result<(RowBlock, Vec<u32>)>> = round
            .par_iter()
            .map(|block| {
                let mut rows = RowBlock::default();
                rows.read_from(bulk.layout, &bulk.store.read(block)?);
                let codes = codes_of(bulk.layout, &rows, 0..rows.n_rows());
                let group_of = routes.of_rows(&codes, n_attributes);
                Ok((rows, group_of))
            })
            .collect();
        for rows in read {
            let (rows, group_of) = rows?;
            counted_rows(bulk, &rows, &group_of, |rows| counter.add(rows));
        }
    }
    passes.n_scans += 1;
    passes.counted_bytes += n_bytes(&part.blocks);
    Ok(counter.finish())
}

/// Divides the rows of a part among so many others.
pub(super) fn repartition(
    bulk: &BulkPlan<'_>,
    part: Part,
    routes: &Routes,
    n_parts: usize,
    passes: &mut Passes,
) -> Result<Vec<Part>> {
    let n_attributes = bulk.layout.n_attributes();
    let n_buffer_bytes = n_parts * bulk.sizes.block_bytes;
    let _buffers = bulk.budget.try_reserve("the buffers of the tree", n_buffer_bytes)?;
    let routes = routes.clone();
    let parts_of = move |codes: &[u32]| routes.of_rows(codes, n_attributes);
    let router = Router::new(bulk.layout, Arc::new(parts_of), n_parts);
    passes.n_repartitions += 1;
    passes.repartitioned_read += n_bytes(&part.blocks);
    let mut parts: Vec<Part> = (0..n_parts).map(|_| Part::counting_rows()).collect();
    let mut blocks = part.blocks.into_iter();
    loop {
        let round: Vec<Block> = blocks.by_ref().take(threads::of_pool()).collect();
        if round.is_empty() {
            break;
        }
        let routed: Vec<Result<RoutedRows>> = round
            .into_par_iter()
            .map(|block| {
                let mut rows = RowBlock::default();
                rows.read_from(bulk.layout, &bulk.store.take(block)?);
                Ok(router.route_packed(&rows))
            })
            .collect();
        for rows in routed {
            rows?.append_to(bulk, &mut parts)?;
        }
    }
    for part in &mut parts {
        part.flush(bulk)?;
        passes.repartitioned_written += n_bytes(&part.blocks);
    }
    Ok(parts)
}

/// The bytes of some blocks, as they were put.
pub(super) fn n_bytes(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| block.n_bytes() as u64).sum()
}
