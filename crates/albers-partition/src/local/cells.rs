//! Cells of near tuples, so that nothing is compared with the whole table.

use crate::grow::{Arity, Grower, grow};
use crate::plan::Plan;
use crate::split::extent::has_small_sets;
use crate::split::rule::Allowance;
use crate::split::{Chooser, Policy};

/// What is divided into cells: items, each with the codes of a point and a size.
pub struct Items<'a> {
    /// Number of items.
    pub n_items: usize,
    /// The codes of an item.
    pub codes: &'a (dyn Fn(u32) -> &'a [u32] + Sync),
    /// The size of an item.
    pub size: &'a (dyn Fn(u32) -> usize + Sync),
}

/// Divides items into cells of at most `cell_size`, unless they cannot be told apart. Cells are
/// lists of items.
pub fn cells(
    plan: &Plan<'_>,
    policy: Policy,
    items: &Items<'_>,
    cell_size: usize,
) -> Vec<Vec<u32>> {
    let sets = has_small_sets(plan.space);
    let cutter = Cutter { plan, policy, items, cell_size };
    crate::with_lanes!(plan.space.axes.len(), sets, cut(&cutter))
}

struct Cutter<'a, 'i> {
    plan: &'a Plan<'a>,
    policy: Policy,
    items: &'a Items<'i>,
    cell_size: usize,
}

fn cut<const L: usize, const M: usize>(cutter: &Cutter<'_, '_>) -> Vec<Vec<u32>> {
    let Cutter { plan, policy, items, cell_size } = *cutter;
    let mut points = vec![[0u32; L]; items.n_items];
    for (item, point) in (0u32..).zip(&mut points) {
        let own = (items.codes)(item);
        point[..own.len()].copy_from_slice(own);
    }
    let stop = |node: &[u32]| {
        let size: usize = node.iter().map(|&item| (items.size)(item)).sum();
        // Parts of a quarter of a cell or more, so that there are not many small ones.
        let min_rows = || (cell_size * node.len() / size / 4).max(1);
        (size > cell_size).then(|| Allowance { min_rows: min_rows(), rule: None })
    };
    let grower = Grower::<L, M> {
        chooser: Chooser::new(plan.space, policy, true),
        stop: &stop,
        arity: Arity::Many,
        placement: None,
    };
    let mut places: Vec<u32> = (0..items.n_items as u32).collect();
    let tree = grow(&grower, &mut points, &mut places, None);
    let mut rest = places.as_slice();
    let cells = tree.leaf_rows().map(|n_items| {
        let (own, after) = rest.split_at(n_items as usize);
        rest = after;
        own.to_vec()
    });
    // Level by level: classes are improved in the order of their cells.
    let mut by_level: Vec<(u32, Vec<u32>)> = tree.leaf_levels().into_iter().zip(cells).collect();
    by_level.sort_by_key(|&(level, _)| level);
    by_level.into_iter().map(|(_, cell)| cell).collect()
}
