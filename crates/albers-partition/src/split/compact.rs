//! The split that loses least: over every attribute and every allowable cut, the one whose parts
//! have the least certainty penalty, as it will be shown.
//!
//! Source: Iwuchukwu & Naughton 2007, section 2 (the R-tree's area-minimising split), with the
//! certainty penalty in place of the area.
//! Departures: attributes shown as labels are specialized into all children of a hierarchy node
//! (LeFevre et al. 2008, section 2.2), or into one child, or a run of children, and the rest.
//! Guarantee: every part of a chosen split satisfies the requirement; if nothing is chosen, no cut
//! of any attribute is allowable.
//! Cost: O(points * attributes) per node for large nodes, which are cut between buckets of codes;
//! O(points log points * attributes) for small ones, which are cut between any two values.

use crate::split::extent::Extent;
use crate::split::rule::Rule;
use crate::split::{
    Chooser, Point, Scratch, Split, place_of, sort_by_code, sort_by_part, value_of,
};

/// Nodes up to this size are cut exactly.
const SMALL_NODE: usize = 64;
const N_BUCKETS: usize = 64;

/// The best split so far.
struct Best {
    cost: f32,
    split: Option<Split>,
}

impl Best {
    fn offer(&mut self, cost: f32, split: Split) {
        if cost < self.cost {
            self.cost = cost;
            self.split = Some(split);
        }
    }
}

/// Chooses a split; see the module.
#[inline(always)]
pub fn choose<const L: usize, const SETS: bool>(
    chooser: &Chooser<'_, L, SETS>,
    points: &[Point<L>],
    locals: &[u32],
    scratch: &mut Scratch<L>,
) -> Option<Split> {
    let whole = Extent::of::<SETS>(points);
    let axes = &chooser.space.axes;
    for preferred in [true, false] {
        let candidates = || {
            (0..axes.len()).filter(|&axis| {
                axes[axis].preferred == preferred && whole.lo[axis] < whole.hi[axis]
            })
        };
        let mut best = Best { cost: f32::INFINITY, split: None };
        let mut is_exact = true;
        for axis in candidates() {
            if chooser.label_tree(axis).is_some() {
                weigh_label(chooser, points, locals, axis, &whole, scratch, &mut best);
            } else if points.len() <= SMALL_NODE {
                weigh_exactly(chooser, points, locals, axis, scratch, &mut best);
            } else {
                is_exact &=
                    weigh_buckets(chooser, points, locals, axis, &whole, scratch, &mut best);
            }
        }
        if best.split.is_none() && !is_exact {
            for axis in candidates().filter(|&axis| chooser.label_tree(axis).is_none()) {
                weigh_exactly(chooser, points, locals, axis, scratch, &mut best);
            }
        }
        if best.split.is_some() {
            return best.split;
        }
    }
    None
}

/// A walk along an attribute, step by step; a cut may fall between two steps.
trait Walk<const L: usize> {
    fn n_steps(&self) -> usize;
    fn n_rows(&self, step: usize) -> usize;
    fn add_to<const SETS: bool>(&self, step: usize, extent: &mut Extent<L>);
    /// Whether the step's last value differs from the next step's first.
    fn may_cut_after(&self, step: usize) -> bool;
    fn cut_after(&self, step: usize) -> Split;
    /// The places of the step's points.
    fn places(&self, step: usize) -> impl Iterator<Item = usize>;
}

/// Weighs every cut of a walk.
#[inline(always)]
fn weigh_cuts<const L: usize, const SETS: bool>(
    chooser: &Chooser<'_, L, SETS>,
    walk: &impl Walk<L>,
    n_points: usize,
    locals: &[u32],
    costs: &mut Vec<f32>,
    rule_scratch: &mut crate::split::rule::RuleScratch,
    best: &mut Best,
) {
    let n_steps = walk.n_steps();
    let min_rows = chooser.allowance.min_rows;
    costs.clear();
    costs.resize(n_steps, f32::INFINITY);

    let mut extent = Extent::EMPTY;
    let mut n_before = 0;
    for step in 0..n_steps - 1 {
        walk.add_to::<SETS>(step, &mut extent);
        n_before += walk.n_rows(step);
        if n_points - n_before < min_rows {
            break;
        }
        if n_before >= min_rows && walk.may_cut_after(step) {
            costs[step] = n_before as f32 * chooser.weigher.loss(&extent);
        }
    }
    let mut extent = Extent::EMPTY;
    let mut n_after = 0;
    for step in (1..n_steps).rev() {
        walk.add_to::<SETS>(step, &mut extent);
        n_after += walk.n_rows(step);
        if n_points - n_after < min_rows {
            break;
        }
        let before = costs[step - 1];
        if before < best.cost {
            let cost = before + n_after as f32 * chooser.weigher.loss(&extent);
            if chooser.allowance.rule.is_none() {
                best.offer(cost, walk.cut_after(step - 1));
            }
            costs[step - 1] = cost;
        } else {
            costs[step - 1] = f32::INFINITY;
        }
    }
    if let Some(rule) = &chooser.allowance.rule {
        offer_allowed(rule, walk, locals, costs, rule_scratch, best);
    }
}

/// Offers the cuts whose both sides satisfy the whole requirement.
fn offer_allowed<const L: usize>(
    rule: &Rule<'_>,
    walk: &impl Walk<L>,
    locals: &[u32],
    costs: &[f32],
    scratch: &mut crate::split::rule::RuleScratch,
    best: &mut Best,
) {
    if !costs.iter().any(|&cost| cost < best.cost) {
        return;
    }
    let (left, right) = rule.sides(scratch);
    for &local in locals {
        rule.facts.add(local as usize, right);
    }
    for step in 0..walk.n_steps() - 1 {
        for place in walk.places(step) {
            let local = locals[place] as usize;
            rule.facts.add(local, left);
            rule.facts.remove(local, right);
        }
        let is_better = costs[step] < best.cost;
        if is_better && rule.requirement.holds(left) && rule.requirement.holds(right) {
            best.offer(costs[step], walk.cut_after(step));
        }
    }
}

/// A walk from point to point.
struct ExactWalk<'a, const L: usize> {
    points: &'a [Point<L>],
    axis: usize,
    keys: &'a [u64],
}

impl<const L: usize> Walk<L> for ExactWalk<'_, L> {
    #[inline(always)]
    fn n_steps(&self) -> usize {
        self.keys.len()
    }

    #[inline(always)]
    fn n_rows(&self, _step: usize) -> usize {
        1
    }

    #[inline(always)]
    fn add_to<const SETS: bool>(&self, step: usize, extent: &mut Extent<L>) {
        extent.add::<SETS>(&self.points[place_of(self.keys[step])]);
    }

    #[inline(always)]
    fn may_cut_after(&self, step: usize) -> bool {
        value_of(self.keys[step]) != value_of(self.keys[step + 1])
    }

    #[inline(always)]
    fn cut_after(&self, step: usize) -> Split {
        Split::Cut { axis: self.axis, code: value_of(self.keys[step]) }
    }

    fn places(&self, step: usize) -> impl Iterator<Item = usize> {
        std::iter::once(place_of(self.keys[step]))
    }
}

#[inline(always)]
fn weigh_exactly<const L: usize, const SETS: bool>(
    chooser: &Chooser<'_, L, SETS>,
    points: &[Point<L>],
    locals: &[u32],
    axis: usize,
    scratch: &mut Scratch<L>,
    best: &mut Best,
) {
    let Scratch { keys, costs, rule, .. } = scratch;
    sort_by_code(points, axis, keys);
    let walk = ExactWalk { points, axis, keys };
    weigh_cuts(chooser, &walk, points.len(), locals, costs, rule, best);
}

/// Points of a large node, put in buckets along an attribute.
pub struct Buckets<const L: usize> {
    extents: Vec<Extent<L>>,
    counts: Vec<u32>,
    /// The buckets that hold points, in order.
    occupied: Vec<u32>,
    /// Where each occupied bucket's points end in the order by bucket.
    ends: Vec<u32>,
}

impl<const L: usize> Default for Buckets<L> {
    fn default() -> Self {
        Buckets {
            extents: vec![Extent::EMPTY; N_BUCKETS],
            counts: vec![0; N_BUCKETS],
            occupied: Vec::with_capacity(N_BUCKETS),
            ends: Vec::with_capacity(N_BUCKETS),
        }
    }
}

/// A walk from bucket to bucket.
struct BucketWalk<'a, const L: usize> {
    buckets: &'a Buckets<L>,
    axis: usize,
    first_code: u32,
    shift: u32,
    /// The points' places in bucket order; only filled when a rule asks for them.
    order: &'a [u32],
}

impl<const L: usize> Walk<L> for BucketWalk<'_, L> {
    #[inline(always)]
    fn n_steps(&self) -> usize {
        self.buckets.occupied.len()
    }

    #[inline(always)]
    fn n_rows(&self, step: usize) -> usize {
        self.buckets.counts[self.buckets.occupied[step] as usize] as usize
    }

    #[inline(always)]
    fn add_to<const SETS: bool>(&self, step: usize, extent: &mut Extent<L>) {
        extent.merge::<SETS>(&self.buckets.extents[self.buckets.occupied[step] as usize]);
    }

    #[inline(always)]
    fn may_cut_after(&self, _step: usize) -> bool {
        true
    }

    #[inline(always)]
    fn cut_after(&self, step: usize) -> Split {
        let last = ((self.buckets.occupied[step] + 1) << self.shift) - 1;
        Split::Cut { axis: self.axis, code: self.first_code + last }
    }

    fn places(&self, step: usize) -> impl Iterator<Item = usize> {
        let start = if step == 0 { 0 } else { self.buckets.ends[step - 1] };
        let end = self.buckets.ends[step];
        self.order[start as usize..end as usize].iter().map(|&place| place as usize)
    }
}

/// Weighs the cuts between buckets; returns whether every bucket holds a single value, so that no
/// cut was overlooked.
#[inline(always)]
fn weigh_buckets<const L: usize, const SETS: bool>(
    chooser: &Chooser<'_, L, SETS>,
    points: &[Point<L>],
    locals: &[u32],
    axis: usize,
    whole: &Extent<L>,
    scratch: &mut Scratch<L>,
    best: &mut Best,
) -> bool {
    let Scratch { buckets, costs, order, rule, .. } = scratch;
    let first_code = whole.lo[axis];
    let length = whole.hi[axis] - first_code;
    let n_bits = u32::BITS - length.leading_zeros();
    let shift = n_bits.saturating_sub(N_BUCKETS.ilog2());
    let n_buckets = (length >> shift) as usize + 1;

    let Buckets { extents, counts, occupied, ends } = &mut *buckets;
    let extents = &mut extents[..n_buckets];
    let counts = &mut counts[..n_buckets];
    extents.fill(Extent::EMPTY);
    counts.fill(0);
    for point in points {
        let bucket = ((point[axis] - first_code) >> shift) as usize;
        counts[bucket] += 1;
        extents[bucket].add::<SETS>(point);
    }
    occupied.clear();
    occupied.extend((0..n_buckets as u32).filter(|&bucket| counts[bucket as usize] > 0));
    if occupied.len() > 1 {
        if chooser.allowance.rule.is_some() {
            order_by_bucket(points, axis, first_code, shift, counts, occupied, ends, order);
        }
        let walk = BucketWalk { buckets, axis, first_code, shift, order };
        weigh_cuts(chooser, &walk, points.len(), locals, costs, rule, best);
    }
    shift == 0
}

/// Lists the points' places bucket by bucket.
#[expect(clippy::too_many_arguments, reason = "the parts of one walk, borrowed separately")]
fn order_by_bucket<const L: usize>(
    points: &[Point<L>],
    axis: usize,
    first_code: u32,
    shift: u32,
    counts: &[u32],
    occupied: &[u32],
    ends: &mut Vec<u32>,
    order: &mut Vec<u32>,
) {
    let mut next = [0u32; N_BUCKETS];
    let mut total = 0;
    ends.clear();
    for &bucket in occupied {
        next[bucket as usize] = total;
        total += counts[bucket as usize];
        ends.push(total);
    }
    order.clear();
    order.resize(points.len(), 0);
    for (place, point) in points.iter().enumerate() {
        let slot = &mut next[((point[axis] - first_code) >> shift) as usize];
        order[*slot as usize] = place as u32;
        *slot += 1;
    }
}

/// The points of one part of a specialization.
struct Part<const L: usize> {
    extent: Extent<L>,
    /// Where its keys start and end.
    keys: std::ops::Range<usize>,
    /// All codes of the part.
    codes: (u32, u32),
}

/// Weighs the ways to specialize a label: into all its parts, into a run of parts and the rest, and
/// into one part and the rest.
fn weigh_label<const L: usize, const SETS: bool>(
    chooser: &Chooser<'_, L, SETS>,
    points: &[Point<L>],
    locals: &[u32],
    axis: usize,
    whole: &Extent<L>,
    scratch: &mut Scratch<L>,
    best: &mut Best,
) {
    let tree = chooser.label_tree(axis).expect("called for label axes");
    let step = tree.specialization(whole.lo[axis], whole.hi[axis]);
    let Scratch { keys, rule: rule_scratch, .. } = scratch;
    sort_by_part(points, axis, tree, step, keys);
    let mut parts: Vec<Part<L>> = Vec::new();
    for (key_idx, &key) in keys.iter().enumerate() {
        let point = &points[place_of(key)];
        let starts_part = key_idx == 0 || value_of(key) != value_of(keys[key_idx - 1]);
        if starts_part {
            parts.push(Part {
                extent: Extent::EMPTY,
                keys: key_idx..key_idx,
                codes: tree.part_range(step, point[axis]),
            });
        }
        let part = parts.last_mut().expect("the first key starts a part");
        part.extent.add::<SETS>(point);
        part.keys.end = key_idx + 1;
    }
    let min_rows = chooser.allowance.min_rows;
    let row = |key: &u64| locals[place_of(*key)];
    let mut allowed = |ranges: &[&[u64]]| {
        ranges.iter().map(|range| range.len()).sum::<usize>() >= min_rows
            && chooser.allowance.rule.as_ref().is_none_or(|rule| {
                rule.holds(ranges.iter().flat_map(|range| range.iter().map(row)), rule_scratch)
            })
    };
    let cost_of = |extent: &Extent<L>, n: usize| n as f32 * chooser.weigher.loss(extent);

    let all: f32 = parts.iter().map(|part| cost_of(&part.extent, part.keys.len())).sum();
    if all < best.cost && parts.iter().all(|part| allowed(&[&keys[part.keys.clone()]])) {
        best.offer(all, Split::Specialize { axis, step });
    }
    if parts.len() == 2 {
        return;
    }
    let merged = |range: std::ops::Range<usize>| {
        let mut extent = Extent::EMPTY;
        parts[range].iter().for_each(|part| extent.merge::<SETS>(&part.extent));
        extent
    };
    for part_idx in 0..parts.len() {
        let part = &parts[part_idx];
        let (before, after) = (&keys[..part.keys.start], &keys[part.keys.end..]);
        let own = &keys[part.keys.clone()];
        let mut rest = merged(0..part_idx);
        rest.merge::<SETS>(&merged(part_idx + 1..parts.len()));
        let cost = cost_of(&part.extent, own.len()) + cost_of(&rest, before.len() + after.len());
        if cost < best.cost && allowed(&[own]) && allowed(&[before, after]) {
            best.offer(cost, Split::Peel { axis, lo: part.codes.0, hi: part.codes.1 });
        }
        if part_idx > 0 && part_idx + 1 < parts.len() {
            let up_to = &keys[..part.keys.end];
            let cost = cost_of(&merged(0..part_idx + 1), up_to.len())
                + cost_of(&merged(part_idx + 1..parts.len()), after.len());
            if cost < best.cost && allowed(&[up_to]) && allowed(&[after]) {
                best.offer(cost, Split::Cut { axis, code: part.codes.1 });
            }
        }
    }
}
