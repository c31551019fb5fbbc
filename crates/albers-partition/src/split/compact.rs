//! The split that loses least: over every attribute and every allowable cut, the one whose parts
//! have the least certainty penalty, as it will be shown.
//!
//! Source: Iwuchukwu & Naughton 2007, section 2 (the R-tree's area-minimising split), with the
//! certainty penalty in place of the area.
//! Departures: attributes shown as labels are specialized into the children of a hierarchy node (LeFevre
//! et al. 2008, section 2.2), those that do not satisfy the requirement staying together, or into one
//! child, or a run of children, and the others.
//! Guarantee: every part of a chosen split satisfies the requirement; if nothing is chosen, no cut
//! of any attribute is allowable.
//! Cost: O(points * attributes) per node. Nodes of up to 128 points, and samples, are left to
//! [`mod@super::kernel`] where nothing but the loss decides and no label is weighed. Else nodes of up to
//! 64 points are cut between any two values, larger ones between 64 stretches of codes, or between any
//! two values if that leaves no allowable cut or cuts are chosen exactly. In large tables a node of more
//! than 128 points is weighed on 64 of them, and its cut checked against all.

use albers_classes::space::{LabelTree, Specialization};

use crate::split::extent::{Extent, Weigher};
use crate::split::rule::{Allowance, Rule, RuleScratch, Sweep};
use crate::split::{
    Chooser, Point, Scratch, Split, kept_parts, kernel, place_of, sort_by_code, sort_by_part,
    value_of,
};

/// Nodes above this size may be weighed on a sample.
const LARGE_NODE: usize = 128;
const SAMPLE_ROWS: usize = 64;
/// Nodes up to this size are cut between any two values.
const SMALL_NODE: usize = 64;
/// The stretches of codes between which larger nodes are cut.
const N_BUCKETS: usize = 64;

/// The cheapest cuts of an attribute that are looked at one by one, before all are in a sweep.
const N_TRIED: usize = 2;

/// Labels with more children than this are only specialized into all of them.
pub(super) const MAX_SIBLINGS: usize = 64;

/// The best split so far.
struct Best {
    cost: f32,
    split: Option<Split>,
}

impl Best {
    const NONE: Best = Best { cost: f32::INFINITY, split: None };

    #[inline(always)]
    fn offer(&mut self, cost: f32, split: Split) {
        if cost < self.cost {
            self.cost = cost;
            self.split = Some(split);
        }
    }
}

/// Chooses a split; see the module.
#[inline(always)]
pub fn choose<const L: usize, const M: usize>(
    chooser: &Chooser<'_, L, M>,
    allowance: &Allowance<'_>,
    points: &[Point<L>],
    locals: &[u32],
    scratch: &mut Scratch<L, M>,
) -> Option<Split> {
    if chooser.may_sample && points.len() > LARGE_NODE {
        let split = choose_on_sample(chooser, allowance, points, scratch);
        if split.is_some_and(|split| is_allowed(chooser, allowance, split, points, locals, scratch))
        {
            return split;
        }
    }
    best_split(chooser, allowance, points, locals, scratch)
}

/// The best split of a sample of the points, by counts alone; it remains to be seen whether it is
/// allowable.
#[inline(always)]
fn choose_on_sample<const L: usize, const M: usize>(
    chooser: &Chooser<'_, L, M>,
    allowance: &Allowance<'_>,
    points: &[Point<L>],
    scratch: &mut Scratch<L, M>,
) -> Option<Split> {
    let mut sample = std::mem::take(&mut scratch.sample);
    sample.clear();
    sample.extend((0..SAMPLE_ROWS).map(|at| points[at * points.len() / SAMPLE_ROWS]));
    // Half as many again as the share of the least part, so that few choices turn out too small.
    let min_rows = allowance.min_rows * SAMPLE_ROWS * 3 / (points.len() * 2) + 1;
    let allowance = Allowance { min_rows, rule: None };
    let split = match chooser.weighs_in_integers() {
        true => kernel::choose(chooser, &allowance, &sample, &[], &mut scratch.board),
        false => best_split(chooser, &allowance, &sample, &[], scratch),
    };
    scratch.sample = sample;
    split
}

/// Whether all parts of a split satisfy the requirement.
pub(super) fn is_allowed<const L: usize, const M: usize>(
    chooser: &Chooser<'_, L, M>,
    allowance: &Allowance<'_>,
    split: Split,
    points: &[Point<L>],
    locals: &[u32],
    scratch: &mut Scratch<L, M>,
) -> bool {
    let (axis, codes) = match split {
        Split::Cut { axis, code } | Split::Bound { axis, code } => (axis, 0..=code),
        Split::Peel { axis, lo, hi } => (axis, lo..=hi),
        Split::Specialize { axis, step } => {
            let tree = chooser.label_tree(axis).expect("only labels are specialized");
            let Scratch { keys, rule, .. } = scratch;
            sort_by_part(points, axis, tree, step, keys);
            return kept_parts(allowance, keys, locals, rule).is_some();
        }
    };
    let is_first = |point: &Point<L>| codes.contains(&point[axis]);
    let n_first = points.iter().filter(|point| is_first(point)).count();
    let min_rows = allowance.min_rows;
    if n_first < min_rows || points.len() - n_first < min_rows {
        return false;
    }
    allowance.rule.as_ref().is_none_or(|rule| {
        let rows = points.iter().zip(locals);
        if rule.refuses_a_side(&rows.map(|(point, &local)| (local, is_first(point)))) {
            return false;
        }
        let (first, second) = rule.sides(&mut scratch.rule);
        for (point, &local) in points.iter().zip(locals) {
            rule.facts.add(local as usize, if is_first(point) { first } else { second });
        }
        rule.requirement.holds(first) && rule.requirement.holds(second)
    })
}

/// The best allowable split of the preferred attributes, or of the others if those have none.
#[inline(always)]
fn best_split<const L: usize, const M: usize>(
    chooser: &Chooser<'_, L, M>,
    allowance: &Allowance<'_>,
    points: &[Point<L>],
    locals: &[u32],
    scratch: &mut Scratch<L, M>,
) -> Option<Split> {
    let whole = Extent::of(points);
    let axes = &chooser.space.axes;
    for preferred in [true, false] {
        let mut best = Best::NONE;
        for &exactly in chooser.passes() {
            let mut is_exact = true;
            for axis in 0..axes.len() {
                if axes[axis].preferred != preferred || whole.lo[axis] == whole.hi[axis] {
                    continue;
                }
                let node = Node { chooser, allowance, points, locals, axis, whole: &whole };
                if chooser.label_tree(axis).is_none() {
                    is_exact &= weigh_cuts(&node, exactly, scratch, &mut best);
                } else if exactly == chooser.is_exact {
                    weigh_label(&node, scratch, &mut best);
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

/// The points of a node, about to be cut along an attribute.
struct Node<'n, 'c, const L: usize, const M: usize> {
    chooser: &'n Chooser<'c, L, M>,
    allowance: &'n Allowance<'c>,
    points: &'n [Point<L>],
    locals: &'n [u32],
    axis: usize,
    whole: &'n Extent<L, M>,
}

/// Weighs the cuts of an attribute: between any two values in a small node or where `exactly` is
/// asked for, between buckets of codes otherwise. Returns whether no cut was passed over.
#[inline(always)]
fn weigh_cuts<const L: usize, const M: usize>(
    node: &Node<'_, '_, L, M>,
    exactly: bool,
    scratch: &mut Scratch<L, M>,
    best: &mut Best,
) -> bool {
    let &Node { chooser, allowance, points, axis, whole, .. } = node;
    // Cuts with enough rows on both sides leave `first..=last` rows before them.
    let (first, last) = (allowance.min_rows, points.len() - allowance.min_rows);
    if first > last {
        return true;
    }
    let Scratch { keys, values, costs, runs, rests, rule: rule_scratch, .. } = scratch;
    let range = (whole.lo[axis], whole.hi[axis]);
    let wants_any_cut = exactly || points.len() <= SMALL_NODE;
    let shift = if wants_any_cut && (range.1 - range.0) as usize >= N_BUCKETS {
        sort_by_code(points, axis, range, values, keys);
        0
    } else {
        sort_by_bucket(points, axis, range, keys)
    };
    let cut = |n_before: usize| {
        let last_code = match shift {
            0 => value_of(keys[n_before - 1]),
            shift => range.0 + ((value_of(keys[n_before - 1]) + 1) << shift) - 1,
        };
        Split::Cut { axis, code: last_code }
    };
    grow_extents(points, &keys[..last], first, runs);
    grow_extents_back(points, &keys[first..], last - first, rests);
    let walk = Walk { keys, weigher: &chooser.weigher, runs, rests, first, last };
    match &allowance.rule {
        None => walk.find_cheapest(best, |n_before, cost, best| best.offer(cost, cut(n_before))),
        Some(rule) => {
            costs.clear();
            costs.resize(points.len(), f32::INFINITY);
            walk.find_cheapest(best, |n_before, cost, _| costs[n_before] = cost);
            offer_allowed(rule, keys, node.locals, costs, rule_scratch, best, cut);
        }
    }
    shift == 0
}

/// The extents of the first `n_first` points, and of each longer run of them.
#[inline(always)]
fn grow_extents<const L: usize, const M: usize>(
    points: &[Point<L>],
    keys: &[u64],
    n_first: usize,
    runs: &mut Vec<Extent<L, M>>,
) {
    runs.clear();
    let mut extent = Extent::EMPTY;
    for &key in &keys[..n_first] {
        extent.add(&points[place_of(key)]);
    }
    runs.push(extent);
    for &key in &keys[n_first..] {
        extent.add(&points[place_of(key)]);
        runs.push(extent);
    }
}

/// The extents of the points from `n_first` on, and of each longer run back from the end.
#[inline(always)]
fn grow_extents_back<const L: usize, const M: usize>(
    points: &[Point<L>],
    keys: &[u64],
    n_first: usize,
    rests: &mut Vec<Extent<L, M>>,
) {
    rests.clear();
    let mut extent = Extent::EMPTY;
    for &key in keys[n_first..].iter().rev() {
        extent.add(&points[place_of(key)]);
    }
    rests.push(extent);
    for &key in keys[..n_first].iter().rev() {
        extent.add(&points[place_of(key)]);
        rests.push(extent);
    }
}

/// The cuts of a node along an attribute, by the number of points before them.
struct Walk<'w, 'c, const L: usize, const M: usize> {
    keys: &'w [u64],
    weigher: &'w Weigher<'c, L, M>,
    /// The extents before each cut, from the first cut on.
    runs: &'w [Extent<L, M>],
    /// The extents after each cut, from the last cut back.
    rests: &'w [Extent<L, M>],
    first: usize,
    last: usize,
}

impl<const L: usize, const M: usize> Walk<'_, '_, L, M> {
    /// Whether the points before and after a cut differ in value.
    #[inline(always)]
    fn may_cut(&self, n_before: usize) -> bool {
        value_of(self.keys[n_before - 1]) != value_of(self.keys[n_before])
    }

    #[inline(always)]
    fn loss_before(&self, n_before: usize) -> f32 {
        self.weigher.loss(&self.runs[n_before - self.first])
    }

    #[inline(always)]
    fn loss_after(&self, n_before: usize) -> f32 {
        self.weigher.loss(&self.rests[self.last - n_before])
    }

    #[inline(always)]
    fn cost(&self, n_before: usize, loss_before: f32, loss_after: f32) -> f32 {
        n_before as f32 * loss_before + (self.keys.len() - n_before) as f32 * loss_after
    }

    /// Offers every cut that may cost less than the best.
    ///
    /// A longer run loses at least what a shorter one does. So the losses at both ends of a stretch
    /// of cuts bound the cost of all cuts within, and most stretches need no closer look.
    #[inline(always)]
    fn find_cheapest(&self, best: &mut Best, mut offer: impl FnMut(usize, f32, &mut Best)) {
        let stride = ((self.last - self.first) / 8).max(3);
        let (mut start, mut start_loss) = (self.first, self.loss_before(self.first));
        if self.may_cut(start) {
            offer(start, self.cost(start, start_loss, self.loss_after(start)), best);
        }
        while start < self.last {
            let end = (start + stride).min(self.last);
            let (end_loss, rest_loss) = (self.loss_before(end), self.loss_after(end));
            if self.may_cut(end) {
                offer(end, self.cost(end, end_loss, rest_loss), best);
            }
            let bound = |n_before: usize| self.cost(n_before, start_loss, rest_loss);
            if bound(start + 1).min(bound(end - 1)) < best.cost {
                for n_before in start + 1..end {
                    if self.may_cut(n_before) && bound(n_before) < best.cost {
                        let losses = (self.loss_before(n_before), self.loss_after(n_before));
                        offer(n_before, self.cost(n_before, losses.0, losses.1), best);
                    }
                }
            }
            (start, start_loss) = (end, end_loss);
        }
    }
}

/// Fills `keys` with the points' buckets along an attribute and their places, in bucket order.
/// Returns the number of low bits of a code that its bucket leaves out; with none left out, the
/// keys hold codes.
#[inline(always)]
fn sort_by_bucket<const L: usize>(
    points: &[Point<L>],
    axis: usize,
    (lo, hi): (u32, u32),
    keys: &mut Vec<u64>,
) -> u32 {
    let code_bits = u32::BITS - (hi - lo).leading_zeros();
    let shift = code_bits.saturating_sub(N_BUCKETS.ilog2());
    let mut next = [0u32; N_BUCKETS + 1];
    for point in points {
        next[((point[axis] - lo) >> shift) as usize + 1] += 1;
    }
    for bucket in 0..((hi - lo) >> shift) as usize {
        next[bucket + 1] += next[bucket];
    }
    keys.resize(points.len(), 0);
    for (place, point) in (0u64..).zip(points) {
        let bucket = (point[axis] - lo) >> shift;
        let slot = &mut next[bucket as usize];
        let value = if shift == 0 { point[axis] } else { bucket };
        keys[*slot as usize] = (u64::from(value) << 32) | place;
        *slot += 1;
    }
    shift
}

/// Offers the cheapest of the cuts whose both sides satisfy the whole requirement, and of like ones
/// the first. What cuts cost is lost.
fn offer_allowed(
    rule: &Rule<'_>,
    keys: &[u64],
    locals: &[u32],
    costs: &mut [f32],
    scratch: &mut RuleScratch,
    best: &mut Best,
    cut: impl Fn(usize) -> Split,
) {
    for cost in costs.iter_mut().filter(|cost| **cost >= best.cost) {
        *cost = f32::INFINITY;
    }
    if cheapest(costs).is_none() {
        return;
    }
    rule.screen_cuts(&keys.iter().map(|&key| locals[place_of(key)]), costs);
    for _ in 0..N_TRIED {
        let Some(n_before) = cheapest(costs) else { return };
        if Sweep::new(rule, keys, locals, n_before, scratch).holds_at(n_before) {
            best.offer(costs[n_before], cut(n_before));
            return;
        }
        costs[n_before] = f32::INFINITY;
    }
    if cheapest(costs).is_none() {
        return;
    }
    let (before, after) = rule.sides(scratch);
    for &local in locals {
        rule.facts.add(local as usize, after);
    }
    for n_before in 1..keys.len() {
        let local = locals[place_of(keys[n_before - 1])] as usize;
        rule.facts.add(local, before);
        rule.facts.remove(local, after);
        let is_better = costs[n_before] < best.cost;
        if is_better && rule.requirement.holds(before) && rule.requirement.holds(after) {
            best.offer(costs[n_before], cut(n_before));
        }
    }
}

/// The first of the cheapest cuts that are open.
fn cheapest(costs: &[f32]) -> Option<usize> {
    let open = costs.iter().copied().enumerate().filter(|(_, cost)| cost.is_finite());
    let least = open.reduce(|best, own| if own.1 < best.1 { own } else { best });
    least.map(|(n_before, _)| n_before)
}

/// The points of one part of a specialization.
struct Part<const L: usize, const M: usize> {
    extent: Extent<L, M>,
    /// Where its keys start and end.
    keys: std::ops::Range<usize>,
    /// All codes of the part.
    codes: (u32, u32),
}

/// The parts that a label's points fall into, in code order; fills `keys` in that order.
fn parts_of<const L: usize, const M: usize>(
    node: &Node<'_, '_, L, M>,
    tree: &LabelTree,
    step: Specialization,
    keys: &mut Vec<u64>,
) -> Vec<Part<L, M>> {
    sort_by_part(node.points, node.axis, tree, step, keys);
    let mut parts: Vec<Part<L, M>> = Vec::new();
    for (key_idx, &key) in keys.iter().enumerate() {
        let point = &node.points[place_of(key)];
        if key_idx == 0 || value_of(key) != value_of(keys[key_idx - 1]) {
            parts.push(Part {
                extent: Extent::EMPTY,
                keys: key_idx..key_idx,
                codes: tree.part_range(step, point[node.axis]),
            });
        }
        let part = parts.last_mut().expect("the first key starts a part");
        part.extent.add(point);
        part.keys.end = key_idx + 1;
    }
    parts
}

/// Weighs the ways to specialize a label: into the parts that satisfy the requirement and the rest,
/// into a run of parts and the others, and into one part and the others.
fn weigh_label<const L: usize, const M: usize>(
    node: &Node<'_, '_, L, M>,
    scratch: &mut Scratch<L, M>,
    best: &mut Best,
) {
    let &Node { chooser, allowance, points, locals, axis, .. } = node;
    let tree = chooser.label_tree(axis).expect("called for label axes");
    let step = tree.specialization(points.iter().map(|point| point[axis]));
    let Scratch { keys, rule, .. } = scratch;
    let parts = parts_of(node, tree, step, keys);
    let cost_of = |extent: &Extent<L, M>, n: usize| n as f32 * chooser.weigher.loss(extent);
    // Where all siblings are weighed one by one, leaving some of them together is too greedy: it
    // gains most at once and leaves the rest with the widest label.
    let weighs_siblings = (3..=MAX_SIBLINGS).contains(&parts.len());
    let kept = kept_parts(allowance, keys, locals, rule)
        .filter(|kept| !weighs_siblings || kept.iter().all(|&kept| kept));
    if let Some(kept) = kept {
        let mut cost = 0.0;
        let (mut rest, mut n_rest) = (Extent::EMPTY, 0);
        for (part, kept) in parts.iter().zip(kept) {
            if kept {
                cost += cost_of(&part.extent, part.keys.len());
            } else {
                rest.merge(&part.extent);
                n_rest += part.keys.len();
            }
        }
        if n_rest > 0 {
            cost += cost_of(&rest, n_rest);
        }
        best.offer(cost, Split::Specialize { axis, step });
    }
    if weighs_siblings {
        weigh_siblings(node, &parts, keys, rule, best);
    }
}

/// Weighs one part against the others, and each run of first parts against the others.
fn weigh_siblings<const L: usize, const M: usize>(
    node: &Node<'_, '_, L, M>,
    parts: &[Part<L, M>],
    keys: &[u64],
    rule: &mut RuleScratch,
    best: &mut Best,
) {
    let &Node { chooser, allowance, locals, axis, .. } = node;
    let mut allowed = |ranges: &[&[u64]]| {
        allowance.holds(ranges.iter().map(|range| range.len()).sum(), rule, || {
            ranges.iter().flat_map(|range| range.iter().map(|&key| locals[place_of(key)]))
        })
    };
    let cost_of = |extent: &Extent<L, M>, n: usize| n as f32 * chooser.weigher.loss(extent);
    // befores[i] is the extent of the parts before part i, afters[i] of those from part i on.
    let mut befores = vec![Extent::<L, M>::EMPTY; parts.len() + 1];
    let mut afters = befores.clone();
    for (at, part) in parts.iter().enumerate() {
        befores[at + 1] = befores[at];
        befores[at + 1].merge(&part.extent);
    }
    for (at, part) in parts.iter().enumerate().rev() {
        afters[at] = afters[at + 1];
        afters[at].merge(&part.extent);
    }
    for (at, part) in parts.iter().enumerate() {
        let (before, after) = (&keys[..part.keys.start], &keys[part.keys.end..]);
        let own = &keys[part.keys.clone()];
        let mut rest = befores[at];
        rest.merge(&afters[at + 1]);
        let cost = cost_of(&part.extent, own.len()) + cost_of(&rest, before.len() + after.len());
        if cost < best.cost && allowed(&[own]) && allowed(&[before, after]) {
            best.offer(cost, Split::Peel { axis, lo: part.codes.0, hi: part.codes.1 });
        }
        if !chooser.labels_apart && at > 0 && at + 1 < parts.len() {
            let up_to = &keys[..part.keys.end];
            let cost =
                cost_of(&befores[at + 1], up_to.len()) + cost_of(&afters[at + 1], after.len());
            if cost < best.cost && allowed(&[up_to]) && allowed(&[after]) {
                best.offer(cost, Split::Cut { axis, code: part.codes.1 });
            }
        }
    }
}
