//! Cells of near tuples, so that nothing is compared with the whole table.

use rayon::prelude::*;

use crate::plan::Plan;
use crate::split::apply::apply;
use crate::split::extent::{Weigher, has_small_sets};
use crate::split::rule::Allowance;
use crate::split::{Chooser, Policy, Scratch};

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
    let n_items = cutter.items.n_items;
    let mut points = vec![[0u32; L]; n_items];
    for (item, point) in (0u32..).zip(&mut points) {
        let own = (cutter.items.codes)(item);
        point[..own.len()].copy_from_slice(own);
    }
    let mut cells = Vec::new();
    let mut pending = vec![(points, (0..n_items as u32).collect())];
    while !pending.is_empty() {
        let parts: Vec<_> = pending
            .into_par_iter()
            .flat_map_iter(|(points, items)| divide::<L, M>(cutter, points, items))
            .collect();
        pending = Vec::new();
        for part in parts {
            match part {
                Part::Cell(items) => cells.push(items),
                Part::Large(points, items) => pending.push((points, items)),
            }
        }
    }
    cells
}

enum Part<const L: usize> {
    Cell(Vec<u32>),
    Large(Vec<[u32; L]>, Vec<u32>),
}

/// Cuts a set of items once, if it is too large for a cell.
fn divide<const L: usize, const M: usize>(
    cutter: &Cutter<'_, '_>,
    mut points: Vec<[u32; L]>,
    mut items: Vec<u32>,
) -> Vec<Part<L>> {
    let size: usize = items.iter().map(|&item| (cutter.items.size)(item)).sum();
    if size <= cutter.cell_size {
        return vec![Part::Cell(items)];
    }
    // Parts of a quarter of a cell or more, so that there are not many small ones.
    let min_rows = (cutter.cell_size * items.len() / size / 4).max(1);
    let chooser = Chooser::<L, M> {
        space: cutter.plan.space,
        weigher: Weigher::new(cutter.plan.space),
        allowance: Allowance { min_rows, rule: None },
        policy: cutter.policy,
        may_sample: true,
        arch: pulp::Arch::new(),
    };
    let mut scratch = Scratch::default();
    let Some(split) = chooser.choose(&points, &items, &mut scratch) else {
        return vec![Part::Cell(items)];
    };
    let mut start = 0;
    let ends = apply(split, &chooser, &mut points, &mut items, &mut scratch);
    ends.into_iter()
        .map(|end| {
            let range = std::mem::replace(&mut start, end)..end;
            Part::Large(points[range.clone()].to_vec(), items[range].to_vec())
        })
        .collect()
}
