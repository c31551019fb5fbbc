//! The split that leaves the smallest classes: the least sum of squared class sizes that its parts
//! can still come to, and of like ones the least loss.
//!
//! ```text
//!   17 rows, k = 5      8 + 9    64 + 81      = 145   nothing can be cut any more
//!                       5 + 12   25 + 36 + 36 =  97   12 can still be 6 and 6
//! ```
//!
//! Source: Bayardo & Agrawal 2005 for the discernibility, of which this is the greedy descent.
//! Departures: a part counts as what it would come to if it were cut as evenly as its rows allow, not
//! as it stands: halves of equal size are often too small to be halved again. Of a node of many
//! classes every cut comes to nearly the same, so that its loss decides, see [`mod@super::compact`].
//! Guarantee: every part of a chosen split satisfies the requirement; if nothing is chosen, no cut of
//! any attribute is allowable.
//! Cost: O(points log points * attributes) per node, and a pass over its points for each cut that is
//! as good as the best so far.

use crate::split::compact::{self, MAX_SIBLINGS, is_allowed};
use crate::split::extent::Extent;
use crate::split::rule::Allowance;
use crate::split::{Chooser, Point, Scratch, Split, kept_parts, place_of, sort_by_part, value_of};

/// Nodes that may come to more classes than this are cut by their loss alone.
const MAX_CLASSES: usize = 16;

/// The best split so far: what it comes to, what it loses, and itself.
struct Best {
    sizes: u64,
    loss: f32,
    split: Option<Split>,
}

/// The points of a node.
struct Node<'n, 'c, const L: usize, const M: usize> {
    chooser: &'n Chooser<'c, L, M>,
    allowance: &'n Allowance<'c>,
    points: &'n [Point<L>],
    locals: &'n [u32],
}

/// Chooses a split; see the module.
pub fn choose<const L: usize, const M: usize>(
    chooser: &Chooser<'_, L, M>,
    allowance: &Allowance<'_>,
    points: &[Point<L>],
    locals: &[u32],
    scratch: &mut Scratch<L, M>,
) -> Option<Split> {
    if points.len() > MAX_CLASSES.saturating_mul(allowance.min_rows) {
        return compact::choose(chooser, allowance, points, locals, scratch);
    }
    let node = Node { chooser, allowance, points, locals };
    let whole = Extent::<L, 0>::of(points);
    let axes = &chooser.space.axes;
    for preferred in [true, false] {
        let mut best = Best { sizes: u64::MAX, loss: f32::INFINITY, split: None };
        for axis in 0..axes.len() {
            if axes[axis].preferred != preferred || whole.lo[axis] == whole.hi[axis] {
                continue;
            }
            match chooser.label_tree(axis).is_some() {
                true => node.weigh_label(axis, scratch, &mut best),
                false => node.weigh_cuts(axis, scratch, &mut best),
            }
        }
        if best.split.is_some() {
            return best.split;
        }
    }
    None
}

/// The least sum of squared sizes of the classes that so many rows can be divided into.
fn least_sizes(n_rows: usize, min_rows: usize) -> u64 {
    let (n_rows, min_rows) = (n_rows as u64, min_rows as u64);
    let n_classes = (n_rows / min_rows).max(1);
    let (size, n_larger) = (n_rows / n_classes, n_rows % n_classes);
    (n_classes - n_larger) * size * size + n_larger * (size + 1) * (size + 1)
}

impl<const L: usize, const M: usize> Node<'_, '_, L, M> {
    /// What a split into so many points and the others comes to; nothing if either are too few.
    fn sizes(&self, n_first: usize) -> Option<u64> {
        let (n_second, min_rows) = (self.points.len() - n_first, self.allowance.min_rows);
        let is_enough = n_first.min(n_second) >= min_rows;
        is_enough.then(|| least_sizes(n_first, min_rows) + least_sizes(n_second, min_rows))
    }

    /// Weighs the cuts between any two values of an attribute.
    fn weigh_cuts(&self, axis: usize, scratch: &mut Scratch<L, M>, best: &mut Best) {
        let mut codes = std::mem::take(&mut scratch.values);
        codes.clear();
        codes.extend(self.points.iter().map(|point| point[axis]));
        codes.sort_unstable();
        for n_first in 1..codes.len() {
            let code = codes[n_first - 1];
            if code != codes[n_first]
                && let Some(sizes) = self.sizes(n_first)
            {
                self.offer(sizes, Split::Cut { axis, code }, scratch, best);
            }
        }
        scratch.values = codes;
    }

    /// Weighs the ways to specialize a label: into its parts, into one part and the others, and into
    /// a run of parts and the others.
    fn weigh_label(&self, axis: usize, scratch: &mut Scratch<L, M>, best: &mut Best) {
        let &Node { chooser, allowance, points, locals } = self;
        let Some(tree) = chooser.label_tree(axis) else { return };
        let step = tree.specialization(points.iter().map(|point| point[axis]));
        let mut keys = std::mem::take(&mut scratch.keys);
        sort_by_part(points, axis, tree, step, &mut keys);
        let parts: Vec<&[u64]> = keys.chunk_by(|a, b| value_of(*a) == value_of(*b)).collect();
        let weighs_siblings = (3..=MAX_SIBLINGS).contains(&parts.len());
        let kept = kept_parts(allowance, &keys, locals, &mut scratch.rule)
            .filter(|kept| !weighs_siblings || kept.iter().all(|&kept| kept));
        if let Some(kept) = kept {
            let of_kept = parts.iter().zip(&kept).filter(|(_, kept)| **kept);
            let n_kept: usize = of_kept.clone().map(|(part, _)| part.len()).sum();
            let sizes = of_kept.map(|(part, _)| least_sizes(part.len(), allowance.min_rows));
            let sizes = sizes.sum::<u64>() + least_sizes(points.len() - n_kept, allowance.min_rows);
            self.offer(sizes, Split::Specialize { axis, step }, scratch, best);
        }
        if weighs_siblings {
            let part_of = |part: &&[u64]| {
                let code = points[place_of(part[0])][axis];
                (part.len(), tree.part_range(step, code))
            };
            let parts: Vec<(usize, (u32, u32))> = parts.iter().map(part_of).collect();
            self.weigh_siblings(axis, &parts, scratch, best);
        }
        scratch.keys = keys;
    }

    /// Weighs one part against the others, and each run of first parts against the others. A part
    /// has so many points, and these codes.
    fn weigh_siblings(
        &self,
        axis: usize,
        parts: &[(usize, (u32, u32))],
        scratch: &mut Scratch<L, M>,
        best: &mut Best,
    ) {
        let mut n_before = 0;
        for (at, &(n_points, (lo, hi))) in parts.iter().enumerate() {
            n_before += n_points;
            if let Some(sizes) = self.sizes(n_points) {
                self.offer(sizes, Split::Peel { axis, lo, hi }, scratch, best);
            }
            let is_run = !self.chooser.labels_apart && at > 0 && at + 1 < parts.len();
            if let Some(sizes) = self.sizes(n_before).filter(|_| is_run) {
                self.offer(sizes, Split::Cut { axis, code: hi }, scratch, best);
            }
        }
    }

    /// Takes a split if it is better than the best so far, and allowable.
    fn offer(&self, sizes: u64, split: Split, scratch: &mut Scratch<L, M>, best: &mut Best) {
        let &Node { chooser, allowance, points, locals } = self;
        if sizes > best.sizes {
            return;
        }
        let loss = self.loss(split);
        let is_better = sizes < best.sizes || loss < best.loss;
        if is_better && is_allowed(chooser, allowance, split, points, locals, scratch) {
            *best = Best { sizes, loss, split: Some(split) };
        }
    }

    /// What all points lose, each with those on its side.
    fn loss(&self, split: Split) -> f32 {
        let mut sides: Vec<(u32, usize, Extent<L, M>)> = Vec::new();
        for point in self.points {
            let own = self.side(split, point);
            let side = match sides.iter_mut().find(|(side, ..)| *side == own) {
                Some(side) => side,
                None => {
                    sides.push((own, 0, Extent::EMPTY));
                    sides.last_mut().expect("it has just been added")
                }
            };
            side.1 += 1;
            side.2.add(point);
        }
        let weigher = &self.chooser.weigher;
        sides.iter().map(|(_, n_points, extent)| *n_points as f32 * weigher.loss(extent)).sum()
    }

    /// On which side of a split a point is. Parts that would stay together count as apart.
    fn side(&self, split: Split, point: &Point<L>) -> u32 {
        match split {
            Split::Cut { axis, code } | Split::Bound { axis, code } => {
                u32::from(point[axis] > code)
            }
            Split::Peel { axis, lo, hi } => u32::from(!(lo..=hi).contains(&point[axis])),
            Split::Specialize { axis, step } => match self.chooser.label_tree(axis) {
                Some(tree) => tree.part_of(step, point[axis]),
                None => 0,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over all ways to divide some rows, by trying them.
    fn least_by_trial(n_rows: usize, min_rows: usize) -> u64 {
        let cuts = (min_rows..=n_rows.saturating_sub(min_rows))
            .map(|first| (first * first) as u64 + least_by_trial(n_rows - first, min_rows));
        cuts.fold((n_rows * n_rows) as u64, u64::min)
    }

    #[test]
    fn no_division_into_classes_has_smaller_squares() {
        for min_rows in 1..6 {
            for n_rows in min_rows..22 {
                let least = least_by_trial(n_rows, min_rows);
                assert_eq!(least_sizes(n_rows, min_rows), least, "{n_rows} rows by {min_rows}");
            }
        }
    }
}
