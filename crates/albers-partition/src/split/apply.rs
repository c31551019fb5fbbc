//! Acts on a choice: moves the points of each part together, and makes it one in two if asked to.

use albers_classes::space::{AxisKind, Space};

use super::rule::Allowance;
use super::{Chooser, Point, Scratch, Split, kept_parts, place_of, sort_by_part, value_of};

/// A specialization into many parts becomes a cut between two parts, as near the middle as there is
/// one; the halves are specialized further down. So a label with many children does not make a deep
/// tree. A sample may not show all parts, a comparison routes them anyway.
///
/// Where both sides must show labels of their own (`apart`), the part that is nearest to half of
/// the points is taken from all others instead.
pub fn as_binary<const L: usize>(
    split: Split,
    space: &Space,
    points: &[Point<L>],
    apart: bool,
) -> Split {
    let Split::Specialize { axis, step } = split else { return split };
    let AxisKind::Label(tree) = &space.axes[axis].kind else {
        unreachable!("only labels are specialized")
    };
    let mut keys = Vec::new();
    sort_by_part(points, axis, tree, step, &mut keys);
    if apart {
        let part = keys
            .chunk_by(|a, b| value_of(*a) == value_of(*b))
            .min_by_key(|part| (2 * part.len()).abs_diff(keys.len()))
            .expect("a specialization has two parts or more");
        let (lo, hi) = tree.part_range(step, points[place_of(part[0])][axis]);
        return Split::Peel { axis, lo, hi };
    }
    let n_before = (1..keys.len())
        .filter(|&n_before| value_of(keys[n_before - 1]) != value_of(keys[n_before]))
        .min_by_key(|&n_before| (2 * n_before).abs_diff(keys.len()))
        .expect("a specialization has two parts or more");
    let (_, code) = tree.part_range(step, points[place_of(keys[n_before - 1])][axis]);
    Split::Cut { axis, code }
}

/// The same where both sides must be allowable: the cut between two parts that is nearest the middle
/// of those that are, else one part that stands alone, taken from all others. Nothing if there is
/// neither.
pub fn as_allowed<const L: usize, const M: usize>(
    split: Split,
    chooser: &Chooser<'_, L, M>,
    allowance: &Allowance<'_>,
    (points, locals): (&[Point<L>], &[u32]),
    scratch: &mut Scratch<L, M>,
) -> Option<Split> {
    let Split::Specialize { axis, step } = split else { return Some(split) };
    let tree = chooser.label_tree(axis).expect("only labels are specialized");
    let Scratch { keys, rule, .. } = scratch;
    sort_by_part(points, axis, tree, step, keys);
    let kept = kept_parts(allowance, keys, locals, rule)?;
    let parts: Vec<&[u64]> = keys.chunk_by(|a, b| value_of(*a) == value_of(*b)).collect();
    let from_middle = |n_rows: usize| (2 * n_rows).abs_diff(keys.len());
    let mut holds = |keys: &mut dyn Iterator<Item = &u64>| {
        let own: Vec<u32> = keys.map(|&key| locals[place_of(key)]).collect();
        allowance.holds(own.len(), rule, || own.iter().copied())
    };
    let range_of = |part: &[u64]| tree.part_range(step, points[place_of(part[0])][axis]);
    if !chooser.labels_apart {
        let ends = parts.iter().scan(0, |end, part| {
            *end += part.len();
            Some(*end)
        });
        let mut cuts: Vec<(usize, &[u64])> = ends.zip(parts.iter().copied()).collect();
        cuts.pop();
        cuts.sort_by_key(|&(n_before, _)| from_middle(n_before));
        for (n_before, last) in cuts {
            let (before, after) = keys.split_at(n_before);
            if holds(&mut before.iter()) && holds(&mut after.iter()) {
                return Some(Split::Cut { axis, code: range_of(last).1 });
            }
        }
    }
    let mut alone: Vec<usize> = (0..parts.len()).filter(|&at| kept[at]).collect();
    alone.sort_by_key(|&at| from_middle(parts[at].len()));
    let at = alone.into_iter().find(|&at| {
        let others = parts.iter().enumerate().filter(|(other, _)| *other != at);
        holds(&mut others.flat_map(|(_, part)| part.iter()))
    })?;
    let (lo, hi) = range_of(parts[at]);
    Some(Split::Peel { axis, lo, hi })
}

/// Moves the points of each part together and returns where each part ends.
pub fn apply<const L: usize, const M: usize>(
    split: Split,
    chooser: &Chooser<'_, L, M>,
    allowance: &Allowance<'_>,
    points: &mut [Point<L>],
    locals: &mut [u32],
    scratch: &mut Scratch<L, M>,
) -> Vec<usize> {
    match split {
        Split::Cut { axis, code } | Split::Bound { axis, code } => {
            let n_first = move_first(points, locals, scratch, |point| point[axis] <= code);
            vec![n_first, points.len()]
        }
        Split::Peel { axis, lo, hi } => {
            let n_first =
                move_first(points, locals, scratch, |point| (lo..=hi).contains(&point[axis]));
            vec![n_first, points.len()]
        }
        Split::Specialize { axis, step } => {
            let tree = chooser.label_tree(axis).expect("only labels are specialized");
            let Scratch { keys, rule, .. } = scratch;
            sort_by_part(points, axis, tree, step, keys);
            let kept = kept_parts(allowance, keys, locals, rule)
                .expect("a chosen specialization has parts");
            let parts = || keys.chunk_by(|a, b| value_of(*a) == value_of(*b)).zip(&kept);
            let old_points = points.to_vec();
            let old_locals = locals.to_vec();
            let mut ends = Vec::new();
            let mut slot = 0;
            let mut place = |part: &[u64]| {
                for &key in part {
                    points[slot] = old_points[place_of(key)];
                    locals[slot] = old_locals[place_of(key)];
                    slot += 1;
                }
                slot
            };
            for (part, _) in parts().filter(|(_, kept)| **kept) {
                ends.push(place(part));
            }
            let rest_end = parts().filter(|(_, kept)| !**kept).map(|(part, _)| place(part)).last();
            ends.extend(rest_end);
            ends
        }
    }
}

/// Moves the points that belong to the first part to the front, keeping the order within both
/// parts, and returns their number. Without branches: each point is written to both places.
pub fn move_first<const L: usize, const M: usize>(
    points: &mut [Point<L>],
    locals: &mut [u32],
    scratch: &mut Scratch<L, M>,
    is_first: impl Fn(&Point<L>) -> bool,
) -> usize {
    let Scratch { moved_points, moved_locals, .. } = scratch;
    let n = points.len();
    if moved_points.len() < n {
        moved_points.resize(n, [0; L]);
        moved_locals.resize(n, 0);
    }
    let (moved_points, moved_locals) = (&mut moved_points[..n], &mut moved_locals[..n]);
    let locals = &mut locals[..n];
    let mut n_first = 0;
    for place in 0..n {
        let point = points[place];
        let local = locals[place];
        let n_moved = place - n_first;
        points[n_first] = point;
        locals[n_first] = local;
        moved_points[n_moved] = point;
        moved_locals[n_moved] = local;
        n_first += usize::from(is_first(&point));
    }
    points[n_first..].copy_from_slice(&moved_points[..n - n_first]);
    locals[n_first..].copy_from_slice(&moved_locals[..n - n_first]);
    n_first
}
