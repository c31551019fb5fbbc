//! The widest attribute, cut at the allowable boundary nearest its median: [`crate::split::median`]
//! by counts.

use albers_privacy::Requirement;

use super::CountPlan;
use super::group::{AxisCounts, CountGroup};
use super::walk::{Allowed, Sweep, parts_of, step_of};
use crate::split::Split;

/// Chooses a split; see the module.
pub(super) fn choose(plan: &CountPlan<'_>, group: &CountGroup) -> Option<Split> {
    let axes = &plan.space.axes;
    let width = |axis: usize| {
        let shape = group.axis_shape(axis);
        axes[axis].width(shape.lo, shape.hi) * axes[axis].weight
    };
    let widths: Vec<f64> = (0..axes.len()).map(width).collect();
    let mut open: Vec<usize> =
        (0..axes.len()).filter(|&axis| !group.axes[axis].is_closed()).collect();
    // Preferred first, then wide before narrow, then in the given order.
    while let Some(axis) = open.iter().copied().reduce(|best, axis| {
        let rank = |axis: usize| (axes[axis].preferred, widths[axis]);
        if rank(axis) > rank(best) { axis } else { best }
    }) {
        let counts = &group.axes[axis];
        let code = match (plan.label_tree(axis), plan.rule) {
            (Some(tree), _) => {
                let step = step_of(tree, &counts.runs);
                let parts = parts_of(tree, step, &counts.runs);
                if Allowed::new(plan, counts).kept(&parts).is_some() {
                    return Some(Split::Specialize { axis, step });
                }
                None
            }
            (None, Some(rule)) => cut_by_rule(rule, plan.min_rows, counts, group.n_rows()),
            (None, None) => cut_by_count(plan.min_rows, counts, group.n_rows()),
        };
        if let Some(code) = code {
            return Some(Split::Cut { axis, code });
        }
        open.retain(|&other| other != axis);
    }
    None
}

/// The boundary nearest the median that leaves enough rows on both sides.
fn cut_by_count(min_rows: usize, counts: &AxisCounts, n: usize) -> Option<u32> {
    let half = n / 2;
    let mut n_less = 0;
    let mut below = None;
    for run in &counts.runs {
        let n_up_to = n_less + run.n_rows as usize;
        if n_up_to <= half {
            (n_less, below) = (n_up_to, Some(run.code));
            continue;
        }
        let allowed = |n_left: usize| n_left >= min_rows && n - n_left >= min_rows;
        let distance = |n_left: usize| (2 * n_left).abs_diff(n);
        let lower_is_nearer = distance(n_less) <= distance(n_up_to);
        if allowed(n_less) && (lower_is_nearer || !allowed(n_up_to)) {
            return below;
        }
        return allowed(n_up_to).then_some(run.code);
    }
    None
}

/// The boundary nearest the median whose sides satisfy the whole requirement.
fn cut_by_rule(rule: &Requirement, min_rows: usize, counts: &AxisCounts, n: usize) -> Option<u32> {
    // How many rows are left of a cut after each code but the last.
    let mut n_left = 0;
    let ends = counts.runs[..counts.runs.len() - 1].iter().map(|run| {
        n_left += run.n_rows;
        n_left
    });
    let ends: Vec<u32> = ends.collect();
    let end = |place: usize| ends[place] as usize;
    let distance = |n_left: usize| (2 * n_left).abs_diff(n);
    let half = n / 2;
    let range = min_rows.max(1)..(n + 1).saturating_sub(min_rows.max(1));
    let n_below = ends.partition_point(|&end| (end as usize) < half);
    let mut search = Sweep::new(rule, counts, n_below);
    let up = (n_below..ends.len())
        .filter(|&place| range.contains(&end(place)))
        .find(|&place| search.holds_at(place + 1));
    let limit = up.map_or(usize::MAX, |place| distance(end(place)));
    let down = (0..n_below)
        .rev()
        .filter(|&place| range.contains(&end(place)))
        .take_while(|&place| distance(end(place)) <= limit)
        .find(|&place| search.holds_at(place + 1));
    let place = down.or(up)?;
    Some(counts.runs[place].code)
}
