//! The cuts of a stretch, weighed: the losses on both sides, and the cheapest that is allowable.

use super::lanes::{Lanes, Partial, Vector};
use super::{Board, Chosen, MAX_POINTS, N_LANES, SetLane, Stretch, axes_of, place_of};
use crate::split::Point;
use crate::split::extent::Weigher;
use crate::split::rule::{Allowance, Rule, RuleScratch};

/// Attributes less wide than this share of the widest are weighed only where those have no
/// allowable cut.
const NARROW: u32 = 4;
/// The cheapest cuts that are looked at one by one, before those of each attribute are looked at in
/// a sweep.
const N_TRIED: usize = 4;
/// What a cut costs that would part points of one value.
const NO_CUT: u32 = u32::MAX;

/// What cuts cost, and buffers for it.
#[derive(Default)]
pub struct Weighed {
    /// By attribute: the cost of each cut, from the first on that leaves enough points.
    costs: Vec<[u32; MAX_POINTS]>,
}

/// The cuts of a stretch that leave enough points on both sides.
#[derive(Debug, Clone, Copy)]
struct Cuts {
    /// The fewest points before a cut.
    first: usize,
    /// The most.
    last: usize,
}

impl Cuts {
    fn n_cuts(self) -> usize {
        self.last - self.first + 1
    }
}

/// The cheapest cut so far.
#[derive(Debug, Clone, Copy)]
struct Best {
    cost: u32,
    chosen: Option<Chosen>,
}

impl Best {
    const NONE: Best = Best { cost: NO_CUT, chosen: None };
}

impl Board {
    /// The cheapest allowable cut of a stretch; `locals` names the places of the points in what the
    /// requirement looks at.
    #[inline(always)]
    pub(super) fn choose<A: Lanes, const L: usize, const M: usize>(
        &mut self,
        lanes: A,
        weigher: &Weigher<'_, L, M>,
        node: &mut Stretch,
        allowance: &Allowance<'_>,
        points: &[Point<L>],
        locals: &[u32],
    ) -> Option<Chosen> {
        let min_rows = allowance.min_rows.max(1);
        if node.open == 0 || node.n_points() < 2 * min_rows {
            return None;
        }
        let cuts = Cuts { first: min_rows, last: node.n_points() - min_rows };
        let widths = self.scale(weigher, *node, points);
        for group in [node.open & self.preferred, node.open & !self.preferred] {
            let wide = wide_of(group, &widths);
            for axes in [wide, group & !wide] {
                self.sort(lanes, node, axes, points);
                let best = self.weigh_all(lanes, *node, axes, cuts);
                let chosen = match &allowance.rule {
                    None => best.chosen,
                    Some(rule) => self.cheapest_allowed(rule, *node, axes, cuts, best, locals),
                };
                if chosen.is_some() {
                    return chosen;
                }
            }
        }
        None
    }

    /// Weighs all cuts of some attributes.
    #[inline(always)]
    fn weigh_all<A: Lanes>(&mut self, lanes: A, node: Stretch, axes: u64, cuts: Cuts) -> Best {
        let n_axes = self.orders.len();
        if self.weighed.costs.len() < n_axes {
            self.weighed.costs.resize(n_axes, [0; MAX_POINTS]);
        }
        let mut best = Best::NONE;
        for axis in axes_of(axes) {
            match self.n_vectors {
                1 => self.weigh::<A, 1>(lanes, node, axis, cuts, &mut best),
                2 => self.weigh::<A, 2>(lanes, node, axis, cuts, &mut best),
                _ => self.weigh::<A, 4>(lanes, node, axis, cuts, &mut best),
            }
        }
        best
    }

    #[inline(always)]
    fn weigh<A: Lanes, const V: usize>(
        &mut self,
        lanes: A,
        node: Stretch,
        axis: usize,
        cuts: Cuts,
        best: &mut Best,
    ) {
        let Board { lanes: codes, orders, sets, weighed, .. } = self;
        let codes: &[[Vector; V]; MAX_POINTS] =
            codes.as_chunks().0.try_into().expect("vectors for each point");
        let order = &orders[axis][node.start..node.end];
        let Cuts { first, last } = cuts;
        let (n_points, n_cuts) = (order.len(), cuts.n_cuts());
        let (mut before, mut after) = ([0; N_LOSSES], [0; N_LOSSES]);
        grow_losses(lanes, codes, &order[..last], first, |at, eight| {
            before[at..at + 8].copy_from_slice(&eight);
        });
        // From the other end: the losses of longer runs stand before those of shorter ones.
        let reversed = (0..n_points - first).map(|at| order[n_points - 1 - at]);
        let mut backwards = [0; MAX_POINTS];
        backwards.iter_mut().zip(reversed).for_each(|(slot, key)| *slot = key);
        let n_after = n_points - last;
        grow_losses(lanes, codes, &backwards[..n_points - first], n_after, |at, mut eight| {
            eight.reverse();
            let end = N_LOSSES - at;
            after[end - 8..end].copy_from_slice(&eight);
        });
        let before = &mut before[..n_cuts];
        let after = &mut after[N_LOSSES - n_cuts..];
        for set in sets.iter() {
            set.add_losses(order[..last].iter(), first, before.iter_mut());
            set.add_losses(order[first..].iter().rev(), n_after, after.iter_mut().rev());
        }
        let costs = &mut weighed.costs[axis][..n_cuts];
        let keys = order[first - 1..last].iter().zip(&order[first..=last]);
        let losses = before.iter().zip(after.iter());
        let mut cheapest = NO_CUT;
        for (((cost, (key, next)), (before, after)), n_before) in
            costs.iter_mut().zip(keys).zip(losses).zip(first as u32..)
        {
            let sum = n_before * *before as u32 + (n_points as u32 - n_before) * *after as u32;
            // Points of one value have one rank.
            *cost = if key ^ next >= 1 << 8 { sum } else { NO_CUT };
            cheapest = cheapest.min(*cost);
        }
        if cheapest < best.cost {
            let at = costs.iter().position(|&cost| cost == cheapest);
            let n_before = first + at.expect("the least of them is one of them");
            *best = Best { cost: cheapest, chosen: Some(Chosen { axis, n_before }) };
        }
    }

    /// The cheapest cut whose both sides satisfy the whole requirement. `best` is the cheapest of all.
    fn cheapest_allowed(
        &mut self,
        rule: &Rule<'_>,
        node: Stretch,
        axes: u64,
        cuts: Cuts,
        best: Best,
        locals: &[u32],
    ) -> Option<Chosen> {
        if let Ok(chosen) = self.try_cheapest(rule, node, (axes, cuts), best, locals) {
            return chosen;
        }
        if !rule.requirement.screens().is_empty() {
            self.screen_all(rule, node, axes, cuts, locals);
            let best = self.cheapest(axes, cuts);
            if let Ok(chosen) = self.try_cheapest(rule, node, (axes, cuts), best, locals) {
                return chosen;
            }
        }
        let Board { orders, weighed, rule: scratch, .. } = self;
        let mut best = Best::NONE;
        for axis in axes_of(axes) {
            let order = &orders[axis][node.start..node.end];
            let costs = &weighed.costs[axis][..cuts.n_cuts()];
            sweep(rule, order, locals, (axis, cuts.first, costs), scratch, &mut best);
        }
        best.chosen
    }

    /// The cheapest allowable cut, or none, if a few looks tell it.
    fn try_cheapest(
        &mut self,
        rule: &Rule<'_>,
        node: Stretch,
        (axes, cuts): (u64, Cuts),
        mut best: Best,
        locals: &[u32],
    ) -> Result<Option<Chosen>, Untold> {
        for _ in 0..N_TRIED {
            let Some(chosen) = best.chosen else { return Ok(None) };
            let Board { orders, weighed, screened, rule: scratch, .. } = self;
            let order = &orders[chosen.axis][node.start..node.end];
            if !screened.refuses(rule, order, chosen, locals)
                && holds_on_both_sides(rule, order, chosen.n_before, locals, scratch)
            {
                return Ok(Some(chosen));
            }
            weighed.costs[chosen.axis][chosen.n_before - cuts.first] = NO_CUT;
            best = self.cheapest(axes, cuts);
        }
        Err(Untold)
    }

    /// The cheapest of all cuts that are left.
    fn cheapest(&self, axes: u64, cuts: Cuts) -> Best {
        let mut best = Best::NONE;
        for axis in axes_of(axes) {
            let costs = &self.weighed.costs[axis][..cuts.n_cuts()];
            let cheapest = costs.iter().copied().fold(NO_CUT, u32::min);
            if cheapest < best.cost
                && let Some(at) = costs.iter().position(|&cost| cost == cheapest)
            {
                let n_before = cuts.first + at;
                best = Best { cost: cheapest, chosen: Some(Chosen { axis, n_before }) };
            }
        }
        best
    }

    /// Leaves out the cuts that screens refuse.
    fn screen_all(
        &mut self,
        rule: &Rule<'_>,
        node: Stretch,
        axes: u64,
        cuts: Cuts,
        locals: &[u32],
    ) {
        let Board { orders, weighed, screened, .. } = self;
        for axis in axes_of(axes) {
            let order = &orders[axis][node.start..node.end];
            let costs = &mut weighed.costs[axis];
            let range = (cuts.first, cuts.last);
            screened.for_each_refused(rule, order, range, locals, |n_before| {
                costs[n_before - cuts.first] = NO_CUT;
            });
        }
    }
}

/// A few looks did not tell which cut is the cheapest allowable one.
struct Untold;

impl SetLane {
    /// Adds what the runs of points lose that have at least `n_first` of them, run by run.
    #[inline(always)]
    fn add_losses<'n>(
        &self,
        keys: impl Iterator<Item = &'n u16>,
        n_first: usize,
        losses: impl Iterator<Item = &'n mut i32>,
    ) {
        let mut seen = 0;
        let mut runs = keys.map(|&key| {
            seen |= self.seen[place_of(key)];
            (seen.count_ones() as i32 - 1) * self.per_value
        });
        let runs = runs.by_ref().skip(n_first - 1);
        runs.zip(losses).for_each(|(own, loss)| *loss += own);
    }
}

/// Those of some attributes that are at least a quarter as wide as the widest.
#[inline(always)]
fn wide_of(axes: u64, widths: &[u16]) -> u64 {
    let widest = axes_of(axes).fold(0, |widest, axis| widths[axis].max(widest));
    let is_wide = |axis: &usize| u32::from(widths[*axis]) * NARROW >= u32::from(widest);
    axes_of(axes).filter(is_wide).fold(0, |wide, axis| wide | 1 << axis)
}

/// A box around points, in scaled codes.
struct Around<const V: usize> {
    lo: [Vector; V],
    hi: [Vector; V],
}

impl<const V: usize> Around<V> {
    #[inline(always)]
    fn add<A: Lanes>(&mut self, lanes: A, point: &[Vector; V]) {
        for vector in 0..V {
            self.lo[vector] = lanes.min(self.lo[vector], point[vector]);
            self.hi[vector] = lanes.max(self.hi[vector], point[vector]);
        }
    }

    #[inline(always)]
    fn lengths<A: Lanes>(&self, lanes: A) -> Partial {
        let mut lengths = lanes.lengths(self.hi[0], self.lo[0]);
        for vector in 1..V {
            lengths = lanes.add(lengths, lanes.lengths(self.hi[vector], self.lo[vector]));
        }
        lengths
    }
}

/// The losses of as many runs as there may be, and of those that fill up the last eight.
const N_LOSSES: usize = MAX_POINTS + 8;

/// The losses of the boxes around the first `n_first` of some points, and around each longer run of
/// them, eight by eight with the place of their first; the last may be of no meaning.
#[inline(always)]
fn grow_losses<A: Lanes, const V: usize>(
    lanes: A,
    codes: &[[Vector; V]; MAX_POINTS],
    keys: &[u16],
    n_first: usize,
    mut put: impl FnMut(usize, [i32; 8]),
) {
    let mut around = Around::<V> { lo: [[u16::MAX; N_LANES]; V], hi: [[0; N_LANES]; V] };
    let (early, late) = keys.split_at(n_first - 1);
    for &key in early {
        around.add(lanes, &codes[place_of(key)]);
    }
    let mut eight: [Partial; 8] = [[0; 8]; 8];
    for (at, keys) in late.chunks(8).enumerate() {
        for (slot, &key) in eight.iter_mut().zip(keys) {
            around.add(lanes, &codes[place_of(key)]);
            *slot = around.lengths(lanes);
        }
        put(8 * at, lanes.sums(&eight));
    }
}

/// Whether the requirement holds on both sides of a cut.
fn holds_on_both_sides(
    rule: &Rule<'_>,
    order: &[u16],
    n_before: usize,
    locals: &[u32],
    scratch: &mut RuleScratch,
) -> bool {
    let (before, after) = rule.sides(scratch);
    let (first, second) = order.split_at(n_before);
    first.iter().for_each(|&key| rule.facts.add(locals[place_of(key)] as usize, before));
    if !rule.requirement.holds(before) {
        return false;
    }
    second.iter().for_each(|&key| rule.facts.add(locals[place_of(key)] as usize, after));
    rule.requirement.holds(after)
}

/// Offers the cuts of an attribute whose both sides satisfy the requirement.
fn sweep(
    rule: &Rule<'_>,
    order: &[u16],
    locals: &[u32],
    (axis, first, costs): (usize, usize, &[u32]),
    scratch: &mut RuleScratch,
    best: &mut Best,
) {
    if !costs.iter().any(|&cost| cost < best.cost) {
        return;
    }
    let (before, after) = rule.sides(scratch);
    let local_of = |key: u16| locals[place_of(key)] as usize;
    let (early, late) = order.split_at(first - 1);
    early.iter().for_each(|&key| rule.facts.add(local_of(key), before));
    late.iter().for_each(|&key| rule.facts.add(local_of(key), after));
    for (at, &cost) in costs.iter().enumerate() {
        let local = local_of(late[at]);
        rule.facts.add(local, before);
        rule.facts.remove(local, after);
        if cost < best.cost && rule.requirement.holds(before) && rule.requirement.holds(after) {
            *best = Best { cost, chosen: Some(Chosen { axis, n_before: first + at }) };
        }
    }
}
