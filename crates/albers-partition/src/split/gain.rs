//! The split that tells most about the targets of a workload: over every attribute and every
//! allowable cut, the one whose parts are least impure. It is `info-gain` where targets are classes
//! and `regression` where they are numbers.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 3.1.1 (equations 3 and 4), 3.1.2
//! (equations 5 and 6) and 3.1.3 (what is known beside the attributes); footnote 18 for the gain
//! below which another policy goes on.
//! Departures: see [`crate::split::workload`]. A label is also specialized into one child and the others.
//! A split into many parts is weighed like one in two, which favours it, as in the paper.
//! Guarantee: every part of a chosen split satisfies the requirement; of splits that tell the same,
//! the most balanced is chosen, then the first attribute, then the least code. Nothing is chosen
//! where all rows agree, or no split tells enough.
//! Cost: O(points * attributes * targets) per node. Nodes of up to 4,096 points are cut between any
//! two values, larger ones between 1,024 stretches of codes, or between any two values if that
//! leaves nothing or cuts are chosen exactly.

use albers_classes::TargetCodes;

use super::extent::Extent;
use super::rule::{Allowance, Sweep};
use super::tally::Tally;
use super::{
    Chooser, Point, Scratch, Split, kept_parts, place_of, sort_by_code, sort_by_part, value_of,
};
use crate::split::workload::{CellNumbers, Workload};

/// Nodes up to this size are cut between any two values.
const SMALL_NODE: usize = 4096;
/// The stretches of codes between which larger nodes are cut, as bits.
const BUCKET_BITS: u32 = 10;
/// Labels with more children than this are only specialized into all of them.
pub(crate) const MAX_SIBLINGS: usize = 64;

/// A workload as a chooser sees it.
pub struct Gains<'a> {
    workload: Workload,
    scales: Vec<f64>,
    carried: Option<&'a TargetCodes>,
}

/// Buffers that are reused from node to node.
#[derive(Default)]
pub(crate) struct GainScratch {
    /// The values of each target, by the places of the points.
    values: Vec<Vec<u32>>,
    /// Their cells in the feature space, where there is one.
    cells: CellNumbers,
    /// Tallies of no rows between nodes: of the rows after a cut, which are all at first, and of
    /// those before it.
    after: Vec<Tally>,
    before: Vec<Tally>,
    /// Where the points of each stretch of codes go.
    next: Vec<u32>,
    /// Cuts that would be better than the best, with the points before them.
    candidates: Vec<(usize, f64)>,
}

impl<'a> Gains<'a> {
    /// What a workload gains by splits of these points; their impurities are those of the whole
    /// table if it does not know any.
    pub fn new<const L: usize>(
        workload: &Workload,
        carried: Option<&'a TargetCodes>,
        points: &[Point<L>],
    ) -> Gains<'a> {
        let workload = match workload.roots.is_empty() {
            true => workload.rooted(points, carried),
            false => workload.clone(),
        };
        Gains { scales: workload.scales(), workload, carried }
    }

    /// The same, of a workload that knows the impurities of the whole table; nothing is carried.
    pub fn of_rooted(workload: &Workload) -> Gains<'static> {
        Gains { scales: workload.scales(), workload: workload.clone(), carried: None }
    }

    pub(crate) fn workload(&self) -> &Workload {
        &self.workload
    }

    pub(crate) fn score(&self, tallies: &[Tally]) -> f64 {
        tallies.iter().zip(&self.scales).map(|(tally, scale)| scale * tally.impurity()).sum()
    }
}

/// The best split so far.
pub(crate) struct Best {
    score: f64,
    /// How uneven its parts are.
    imbalance: usize,
    pub(crate) split: Option<Split>,
}

impl Best {
    /// None yet; one must not score more than this.
    pub(crate) fn none(most: f64) -> Best {
        Best { score: most, imbalance: usize::MAX, split: None }
    }

    pub(crate) fn is_better(&self, score: f64, imbalance: usize) -> bool {
        score < self.score
            || score == self.score && (self.split.is_none() || imbalance < self.imbalance)
    }

    pub(crate) fn offer(&mut self, score: f64, imbalance: usize, split: Split) {
        if self.is_better(score, imbalance) {
            *self = Best { score, imbalance, split: Some(split) };
        }
    }
}

/// The points of a node, about to be split.
struct Node<'n, 'c, const L: usize, const M: usize> {
    chooser: &'n Chooser<'c, L, M>,
    gains: &'n Gains<'c>,
    allowance: &'n Allowance<'c>,
    points: &'n [Point<L>],
    locals: &'n [u32],
    /// The values of each target, by the places of the points.
    values: &'n [Vec<u32>],
    /// Their cells in the feature space; none where there is no such space.
    cells: &'n [u32],
}

/// Chooses a split; see the module.
pub(crate) fn choose<const L: usize, const M: usize>(
    chooser: &Chooser<'_, L, M>,
    gains: &Gains<'_>,
    allowance: &Allowance<'_>,
    points: &[Point<L>],
    locals: &[u32],
    scratch: &mut Scratch<L, M>,
) -> Option<Split> {
    let mut values = std::mem::take(&mut scratch.gain.values);
    gains.workload.values(points, locals, gains.carried, &mut values);
    let mut cells = std::mem::take(&mut scratch.gain.cells);
    gains.workload.cells(locals, gains.carried, &mut cells);
    if scratch.gain.after.is_empty() {
        scratch.gain.after = gains.workload.tallies();
        scratch.gain.before = gains.workload.tallies();
    }
    let mut whole = std::mem::take(&mut scratch.gain.after);
    let node =
        Node { chooser, gains, allowance, points, locals, values: &values, cells: &cells.of_rows };
    (0..points.len()).for_each(|place| node.add(place, &mut whole));
    let split = node.best_split(&mut whole, scratch);
    (0..points.len()).for_each(|place| node.remove(place, &mut whole));
    scratch.gain.after = whole;
    scratch.gain.values = values;
    scratch.gain.cells = cells;
    split
}

impl<const L: usize, const M: usize> Node<'_, '_, L, M> {
    /// The best allowable split of the preferred attributes, or of the others if those have none.
    /// `whole` are the tallies of all rows, before and after.
    fn best_split(&self, whole: &mut Vec<Tally>, scratch: &mut Scratch<L, M>) -> Option<Split> {
        let score = self.gains.score(whole);
        let most = score - self.gains.workload.least_gain() * self.points.len() as f64;
        // All rows agree, or nearly so: no split can tell enough.
        if most < 0.0 || score == 0.0 {
            return None;
        }
        let extent = Extent::<L, M>::of(self.points);
        let axes = &self.chooser.space.axes;
        for preferred in [true, false] {
            let mut best = Best::none(most);
            for &exactly in self.chooser.passes() {
                let mut is_exact = true;
                for axis in 0..axes.len() {
                    let range = (extent.lo[axis], extent.hi[axis]);
                    if axes[axis].preferred != preferred || range.0 == range.1 {
                        continue;
                    }
                    if self.chooser.label_tree(axis).is_some() {
                        if exactly == self.chooser.is_exact {
                            self.weigh_label(axis, whole, scratch, &mut best);
                        }
                    } else {
                        is_exact &=
                            self.weigh_cuts((axis, range), exactly, whole, scratch, &mut best);
                    }
                }
                if best.split.is_some() {
                    return best.split;
                }
                if is_exact {
                    break;
                }
            }
        }
        None
    }

    fn add(&self, place: usize, tallies: &mut [Tally]) {
        let own = tallies.iter_mut().zip(self.values);
        match self.cells.get(place) {
            None => own.for_each(|(tally, values)| tally.add(values[place])),
            Some(&cell) => own.for_each(|(tally, values)| tally.add_in(cell, values[place])),
        }
    }

    fn remove(&self, place: usize, tallies: &mut [Tally]) {
        let own = tallies.iter_mut().zip(self.values);
        match self.cells.get(place) {
            None => own.for_each(|(tally, values)| tally.remove(values[place])),
            Some(&cell) => own.for_each(|(tally, values)| tally.remove_in(cell, values[place])),
        }
    }

    /// How uneven a part and the rest are.
    fn imbalance(&self, n_part: usize) -> usize {
        (2 * n_part).abs_diff(self.points.len())
    }

    /// Weighs the cuts of an attribute. Returns whether no cut was passed over.
    fn weigh_cuts(
        &self,
        (axis, range): (usize, (u32, u32)),
        exactly: bool,
        whole: &mut Vec<Tally>,
        scratch: &mut Scratch<L, M>,
        best: &mut Best,
    ) -> bool {
        let n_points = self.points.len();
        let (first, last) = (self.allowance.min_rows, n_points - self.allowance.min_rows);
        let Scratch { keys, values, rule: rule_scratch, gain, .. } = scratch;
        let wants_any_cut = exactly || n_points <= SMALL_NODE;
        let code_bits = u32::BITS - (range.1 - range.0).leading_zeros();
        let is_dense = ((range.1 - range.0) as usize) < 2 * n_points;
        let shift = match wants_any_cut || code_bits <= BUCKET_BITS {
            true => 0,
            false => code_bits - BUCKET_BITS,
        };
        match shift == 0 && !is_dense {
            true => sort_by_code(self.points, axis, range, values, keys),
            false => count_by_stretch(self.points, axis, range, shift, &mut gain.next, keys),
        }
        let GainScratch { before, candidates, .. } = gain;
        candidates.clear();
        for n_before in 1..n_points {
            let place = place_of(keys[n_before - 1]);
            self.add(place, before);
            self.remove(place, whole);
            let is_cut = value_of(keys[n_before - 1]) != value_of(keys[n_before]);
            if is_cut && (first..=last).contains(&n_before) {
                let score = self.gains.score(before) + self.gains.score(whole);
                if best.is_better(score, self.imbalance(n_before)) {
                    candidates.push((n_before, score));
                }
            }
        }
        // All but the last have changed sides; now the sides change.
        let last_place = place_of(keys[n_points - 1]);
        self.add(last_place, before);
        self.remove(last_place, whole);
        std::mem::swap(whole, before);
        let cut = |n_before: usize| {
            let last = value_of(keys[n_before - 1]);
            // A stretch ends below the next one.
            Split::Cut { axis, code: range.0 + ((((last - range.0) >> shift) + 1) << shift) - 1 }
        };
        let candidates = candidates.iter().copied();
        match &self.allowance.rule {
            None => candidates.for_each(|(n_before, score)| {
                best.offer(score, self.imbalance(n_before), cut(n_before));
            }),
            Some(rule) => {
                let mut sweep = Sweep::new(rule, keys, self.locals, 0, rule_scratch);
                for (n_before, score) in candidates {
                    let imbalance = self.imbalance(n_before);
                    if best.is_better(score, imbalance) && sweep.holds_at(n_before) {
                        best.offer(score, imbalance, cut(n_before));
                    }
                }
            }
        }
        shift == 0
    }

    /// Weighs the ways to specialize a label: into the parts that satisfy the requirement and the
    /// rest, and into one part and the others.
    fn weigh_label(
        &self,
        axis: usize,
        whole: &mut [Tally],
        scratch: &mut Scratch<L, M>,
        best: &mut Best,
    ) {
        let tree = self.chooser.label_tree(axis).expect("called for label axes");
        let step = tree.specialization(self.points.iter().map(|point| point[axis]));
        let Scratch { keys, rule, .. } = scratch;
        sort_by_part(self.points, axis, tree, step, keys);
        let parts: Vec<&[u64]> = keys.chunk_by(|a, b| value_of(*a) == value_of(*b)).collect();
        // What stands alone of all rows: each part in turn, and what is left without it.
        let mut scores = Vec::with_capacity(parts.len());
        for part in &parts {
            let mut own = self.gains.workload.tallies();
            for &key in *part {
                self.add(place_of(key), &mut own);
                self.remove(place_of(key), whole);
            }
            scores.push((self.gains.score(&own), self.gains.score(whole)));
            part.iter().for_each(|&key| self.add(place_of(key), whole));
        }
        if let Some(kept) = kept_parts(self.allowance, keys, self.locals, rule) {
            let score = self.score_of_parts(&parts, &kept, &scores);
            let largest = parts.iter().map(|part| part.len()).max().unwrap_or(0);
            best.offer(score, self.imbalance(largest), Split::Specialize { axis, step });
        }
        if !(3..=MAX_SIBLINGS).contains(&parts.len()) {
            return;
        }
        for (place, part) in parts.iter().enumerate() {
            let (score, imbalance) =
                (scores[place].0 + scores[place].1, self.imbalance(part.len()));
            let locals = |part: &[u64]| -> Vec<u32> {
                part.iter().map(|&key| self.locals[place_of(key)]).collect()
            };
            let others = || {
                let others = parts.iter().enumerate().filter(|(other, _)| *other != place);
                others.flat_map(|(_, other)| locals(other)).collect::<Vec<u32>>()
            };
            let n_others = self.points.len() - part.len();
            if best.is_better(score, imbalance)
                && self.allowance.holds(part.len(), rule, || locals(part).into_iter())
                && self.allowance.holds(n_others, rule, || others().into_iter())
            {
                let (lo, hi) = tree.part_range(step, self.points[place_of(part[0])][axis]);
                best.offer(score, imbalance, Split::Peel { axis, lo, hi });
            }
        }
    }

    /// The score of parts that stand alone, and of the others together.
    fn score_of_parts(&self, parts: &[&[u64]], kept: &[bool], scores: &[(f64, f64)]) -> f64 {
        let alone = kept.iter().zip(scores).filter(|(kept, _)| **kept).map(|(_, own)| own.0);
        let mut rest = self.gains.workload.tallies();
        for (part, _) in parts.iter().zip(kept).filter(|(_, kept)| !**kept) {
            part.iter().for_each(|&key| self.add(place_of(key), &mut rest));
        }
        alone.sum::<f64>() + self.gains.score(&rest)
    }
}

/// Fills `keys` with the points' codes along an attribute and their places, so that those of a
/// stretch of codes stand together, with the first code of the stretch as their value.
fn count_by_stretch<const L: usize>(
    points: &[Point<L>],
    axis: usize,
    (lo, hi): (u32, u32),
    shift: u32,
    next: &mut Vec<u32>,
    keys: &mut Vec<u64>,
) {
    let n_stretches = ((hi - lo) >> shift) as usize + 1;
    next.clear();
    next.resize(n_stretches + 1, 0);
    for point in points {
        next[((point[axis] - lo) >> shift) as usize + 1] += 1;
    }
    for stretch in 0..n_stretches {
        next[stretch + 1] += next[stretch];
    }
    keys.resize(points.len(), 0);
    for (place, point) in (0u64..).zip(points) {
        let stretch = (point[axis] - lo) >> shift;
        let slot = &mut next[stretch as usize];
        keys[*slot as usize] = (u64::from(lo + (stretch << shift)) << 32) | place;
        *slot += 1;
    }
}
