//! Mondrian's split: the widest attribute, cut at the allowable boundary nearest its median.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 2.2 (Median Mondrian).
//! Departures: the boundary nearest the median on either side is taken, not always the one below;
//! if the widest attribute has no allowable cut, the next widest is tried; children of a hierarchy node
//! that do not satisfy the requirement stay together instead of forbidding the split.
//! Guarantee: every part of a chosen split satisfies the requirement; if nothing is chosen, no
//! attribute has an allowable cut.
//! Cost: O(points) per node for plain k-anonymity, O(points log points) otherwise.

use crate::split::extent::Extent;
use crate::split::rule::{Allowance, Rule, Sweep};
use crate::split::{
    Chooser, Point, Scratch, Split, kept_parts, sort_by_code, sort_by_part, value_of,
};

/// Chooses a split; see the module.
#[inline(always)]
pub fn choose<const L: usize, const M: usize>(
    chooser: &Chooser<'_, L, M>,
    allowance: &Allowance<'_>,
    points: &[Point<L>],
    locals: &[u32],
    scratch: &mut Scratch<L, M>,
) -> Option<Split> {
    let whole = Extent::<L, 0>::of(points);
    let axes = &chooser.space.axes;
    let mut widths = [0.0; L];
    let mut is_open = [false; L];
    for axis in 0..axes.len() {
        is_open[axis] = whole.lo[axis] < whole.hi[axis];
        widths[axis] = axes[axis].width(whole.lo[axis], whole.hi[axis]) * axes[axis].weight;
    }
    // Preferred first, then wide before narrow, then in the given order.
    while let Some(axis) = (0..axes.len()).filter(|&axis| is_open[axis]).reduce(|best, axis| {
        let rank = |axis: usize| (axes[axis].preferred, widths[axis]);
        if rank(axis) > rank(best) { axis } else { best }
    }) {
        let split = if chooser.label_tree(axis).is_some() {
            specialize(chooser, allowance, points, locals, axis, scratch)
        } else if let Some(rule) = &allowance.rule {
            let range = (whole.lo[axis], whole.hi[axis]);
            cut_by_rule(rule, allowance.min_rows, points, locals, axis, range, scratch)
        } else {
            cut_by_count(allowance.min_rows, points, axis, &mut scratch.values)
        };
        if split.is_some() {
            return split;
        }
        is_open[axis] = false;
    }
    None
}

/// The boundary nearest the median that leaves enough rows on both sides. Only the boundaries just
/// below and just above the median value can do so if any can.
#[inline(always)]
fn cut_by_count<const L: usize>(
    min_rows: usize,
    points: &[Point<L>],
    axis: usize,
    values: &mut Vec<u32>,
) -> Option<Split> {
    values.clear();
    values.extend(points.iter().map(|point| point[axis]));
    let half = values.len() / 2;
    let (below, &mut median, above) = values.select_nth_unstable(half);
    let n_equal_below = below.iter().filter(|&&value| value == median).count();
    let n_equal_above = above.iter().filter(|&&value| value == median).count();
    let n_less = half - n_equal_below;
    let n_up_to = half + 1 + n_equal_above;
    let n = points.len();
    let allowed = |n_left: usize| n_left >= min_rows && n - n_left >= min_rows;
    let distance = |n_left: usize| (2 * n_left).abs_diff(n);
    let lower_is_nearer = distance(n_less) <= distance(n_up_to);
    if allowed(n_less) && (lower_is_nearer || !allowed(n_up_to)) {
        let code = below.iter().copied().filter(|&value| value < median).max()?;
        return Some(Split::Cut { axis, code });
    }
    allowed(n_up_to).then_some(Split::Cut { axis, code: median })
}

/// The boundary nearest the median whose sides satisfy the whole requirement.
fn cut_by_rule<const L: usize, const M: usize>(
    rule: &Rule<'_>,
    min_rows: usize,
    points: &[Point<L>],
    locals: &[u32],
    axis: usize,
    range: (u32, u32),
    scratch: &mut Scratch<L, M>,
) -> Option<Split> {
    let Scratch { keys, values, rule: rule_scratch, .. } = scratch;
    sort_by_code(points, axis, range, values, keys);
    let n = keys.len();
    let is_boundary = |n_left: usize| value_of(keys[n_left - 1]) != value_of(keys[n_left]);
    let distance = |n_left: usize| (2 * n_left).abs_diff(n);
    let half = n / 2;
    let range = min_rows.max(1)..(n + 1).saturating_sub(min_rows.max(1));

    let mut search = Sweep::new(rule, keys, locals, half, rule_scratch);
    let up = (half.max(range.start)..range.end)
        .filter(|&n_left| is_boundary(n_left))
        .find(|&n_left| search.holds_at(n_left));
    let limit = up.map_or(usize::MAX, distance);
    let down = (range.start..half.min(range.end))
        .rev()
        .filter(|&n_left| is_boundary(n_left))
        .take_while(|&n_left| distance(n_left) <= limit)
        .find(|&n_left| search.holds_at(n_left));
    let n_left = down.or(up)?;
    Some(Split::Cut { axis, code: value_of(keys[n_left - 1]) })
}

/// The children of the label's node that satisfy the requirement, and the rest.
fn specialize<const L: usize, const M: usize>(
    chooser: &Chooser<'_, L, M>,
    allowance: &Allowance<'_>,
    points: &[Point<L>],
    locals: &[u32],
    axis: usize,
    scratch: &mut Scratch<L, M>,
) -> Option<Split> {
    let tree = chooser.label_tree(axis).expect("called for label axes");
    let step = tree.specialization(points.iter().map(|point| point[axis]));
    let Scratch { keys, rule, .. } = scratch;
    sort_by_part(points, axis, tree, step, keys);
    kept_parts(allowance, keys, locals, rule)?;
    Some(Split::Specialize { axis, step })
}
