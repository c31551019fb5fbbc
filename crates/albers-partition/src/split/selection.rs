//! The split that spares selections most: over every attribute and every allowable cut, the one
//! after which predicates return the fewest rows that do not satisfy them.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 3.2 (equation 7).
//! Departures: cuts are also made at the bounds of the predicates themselves, where no row need be;
//! a node that no cut helps is cut by another policy, and its parts are looked at again. A region is
//! what `--no-compact` shows: what is left of a label keeps the label where a child is gone from its
//! middle. Values without an order are cut in the order of their codes.
//! Guarantee: every part of a chosen split satisfies the requirement, and the predicates return fewer
//! wrong rows than before; of splits that spare the same, the most balanced is chosen, then the first
//! attribute, then the least code.
//! Cost: O(points * (predicates + attributes log points)) per node that overlaps a predicate without
//! lying in it.
//!
//! A predicate returns all rows of the regions that it overlaps. So a cut spares rows where one of
//! its sides no longer overlaps: on an attribute that a predicate bounds, the rows below its least
//! code or above its greatest.
//!
//! ```text
//!            least        greatest
//!   ─────────┤   predicate   ├──────────
//!    cut here^               ^or here, where the row counts allow it
//! ```

use albers_classes::Region;
use albers_classes::region::Span;
use albers_table::code::Code;

use super::cut::Cut;
use super::rule::{Allowance, Sweep};
use super::state::NodeState;
use super::workload::{Predicate, Term};
use super::{
    Chooser, Point, Scratch, Split, kept_parts, place_of, sort_by_code, sort_by_part, value_of,
};
use crate::split::extent::Extent;

/// The most predicates: one bit each.
pub const MAX_PREDICATES: usize = 64;

/// The region of a node, and the predicates that it overlaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    region: Region,
    overlapped: u64,
}

impl Selected {
    /// Of a region; nothing if no predicate overlaps it.
    ///
    /// # Panics
    /// When there are more than [`MAX_PREDICATES`].
    pub fn new(region: &Region, predicates: &[Predicate]) -> Option<Selected> {
        assert!(predicates.len() <= MAX_PREDICATES, "checked when the job was planned");
        let overlapped = (0..).zip(predicates).fold(0, |bits, (place, predicate)| {
            bits | (u64::from(predicate.overlaps(region)) << place)
        });
        (overlapped != 0).then(|| Selected { region: region.clone(), overlapped })
    }

    /// Of both sides of a cut.
    pub fn sides(&self, cut: &Cut, predicates: &[Predicate]) -> [Option<Selected>; 2] {
        cut.regions(&self.region).map(|region| Selected::new(&region, predicates))
    }

    /// The predicates that overlap.
    fn among<'p>(&self, predicates: &'p [Predicate]) -> Vec<&'p Predicate> {
        let places = (0..).zip(predicates);
        places.filter(|(place, _)| self.overlapped >> place & 1 == 1).map(|(_, own)| own).collect()
    }
}

/// The rows that a cut of an attribute spares for each of its sides that no longer overlaps.
struct Bounds {
    /// For each code from which on the right side alone overlaps: what a row on the left counts
    /// for up to that code. Ascending, with the sums of all from each on.
    below: Vec<(u32, f64)>,
    /// For each code up to which the left side alone overlaps: what a row on the right counts for
    /// from there on. Ascending, with the sums of all up to each.
    above: Vec<(u32, f64)>,
    /// The codes at which cuts spare most, ascending.
    codes: Vec<u32>,
}

impl Bounds {
    /// Of the predicates that bound an attribute within a region.
    fn of(predicates: &[&Predicate], axis: usize, span: Span) -> Bounds {
        let mut bounds = Bounds { below: Vec::new(), above: Vec::new(), codes: Vec::new() };
        for predicate in predicates {
            let Some((least, greatest)) = predicate.hull(axis, span) else { continue };
            if least > span.0 {
                bounds.below.push((least.get() - 1, predicate.weight));
            }
            if greatest < span.1 {
                bounds.above.push((greatest.get(), predicate.weight));
            }
        }
        let both = bounds.below.iter().chain(&bounds.above);
        bounds.codes = both.map(|&(code, _)| code).collect();
        bounds.codes.sort_unstable();
        bounds.codes.dedup();
        // Stable sorts of what stands in the order of the predicates: the same sums in any run.
        bounds.below.sort_by_key(|&(code, _)| code);
        bounds.above.sort_by_key(|&(code, _)| code);
        let sum_up = |sum: &mut f64, weight: &mut f64| {
            *sum += *weight;
            *weight = *sum;
        };
        let mut sum = 0.0;
        bounds.below.iter_mut().rev().for_each(|(_, weight)| sum_up(&mut sum, weight));
        let mut sum = 0.0;
        bounds.above.iter_mut().for_each(|(_, weight)| sum_up(&mut sum, weight));
        bounds
    }

    /// What a cut after a code spares, with so many rows on its sides.
    fn spared(&self, code: u32, n_left: usize, n_right: usize) -> f64 {
        let at_left = self.below.partition_point(|&(own, _)| own < code);
        let left = self.below.get(at_left).map_or(0.0, |&(_, sum)| sum);
        let at_right = self.above.partition_point(|&(own, _)| own <= code);
        let right = if at_right == 0 { 0.0 } else { self.above[at_right - 1].1 };
        left * n_left as f64 + right * n_right as f64
    }

    /// The codes of cuts between two neighbouring values that are worth a look: the bounds there,
    /// where nothing spares more, or the first value, which may be moved.
    fn cuts(&self, axis: usize, value: u32, next: u32) -> impl Iterator<Item = (u32, Split)> {
        let first = self.codes.partition_point(|&code| code < value);
        let end = self.codes.partition_point(|&code| code < next);
        let bounds = self.codes[first..end].iter();
        let at_value = (first == end).then_some((value, Split::Cut { axis, code: value }));
        bounds.map(move |&code| (code, Split::Bound { axis, code })).chain(at_value)
    }
}

/// The best split so far.
struct Best {
    spared: f64,
    /// How uneven its parts are.
    imbalance: usize,
    split: Option<Split>,
}

impl Best {
    fn is_better(&self, spared: f64, imbalance: usize) -> bool {
        spared > self.spared
            || self.split.is_some() && spared == self.spared && imbalance < self.imbalance
    }

    fn offer(&mut self, spared: f64, imbalance: usize, split: Split) {
        if self.is_better(spared, imbalance) {
            *self = Best { spared, imbalance, split: Some(split) };
        }
    }
}

/// The keys of a part of a label, and the codes of the part.
type Part<'k> = (&'k [u64], (u32, u32));

/// The points of a node, about to be split.
struct Node<'n, 'c, const L: usize, const M: usize> {
    chooser: &'n Chooser<'c, L, M>,
    predicates: Vec<&'n Predicate>,
    region: &'n Region,
    allowance: &'n Allowance<'c>,
    points: &'n [Point<L>],
    locals: &'n [u32],
}

/// Chooses a split; see the module. A node in which every row satisfies every predicate that
/// overlaps it is not looked at again.
pub(crate) fn choose<const L: usize, const M: usize>(
    chooser: &Chooser<'_, L, M>,
    state: &mut NodeState,
    allowance: &Allowance<'_>,
    points: &[Point<L>],
    locals: &[u32],
    scratch: &mut Scratch<L, M>,
) -> Option<Split> {
    let selected = state.selected.as_ref()?;
    let mut predicates = selected.among(chooser.predicates);
    predicates.retain(|own| !points.iter().all(|point| own.selects(&point[..])));
    if predicates.is_empty() {
        state.selected = None;
        return None;
    }
    let region = &selected.region;
    let node = Node { chooser, predicates, region, allowance, points, locals };
    node.best_split(scratch)
}

impl<const L: usize, const M: usize> Node<'_, '_, L, M> {
    /// The best allowable split of the preferred attributes, or of the others if those have none.
    fn best_split(&self, scratch: &mut Scratch<L, M>) -> Option<Split> {
        let extent = Extent::<L, M>::of(self.points);
        let axes = &self.chooser.space.axes;
        for preferred in [true, false] {
            let mut best = Best { spared: 0.0, imbalance: usize::MAX, split: None };
            for axis in 0..axes.len() {
                let range = (extent.lo[axis], extent.hi[axis]);
                if axes[axis].preferred != preferred || range.0 == range.1 {
                    continue;
                }
                match self.chooser.label_tree(axis) {
                    Some(_) => self.weigh_label(axis, scratch, &mut best),
                    None => self.weigh_cuts(axis, range, scratch, &mut best),
                }
            }
            if best.split.is_some() {
                return best.split;
            }
        }
        None
    }

    /// How uneven a part and the rest are.
    fn imbalance(&self, n_part: usize) -> usize {
        (2 * n_part).abs_diff(self.points.len())
    }

    /// Weighs the cuts of an attribute.
    fn weigh_cuts(
        &self,
        axis: usize,
        range: (u32, u32),
        scratch: &mut Scratch<L, M>,
        best: &mut Best,
    ) {
        let bounds = Bounds::of(&self.predicates, axis, self.region[axis]);
        if bounds.codes.is_empty() {
            return;
        }
        let Scratch { keys, values, rule: rule_scratch, .. } = scratch;
        sort_by_code(self.points, axis, range, values, keys);
        let n_points = keys.len();
        let min_rows = self.allowance.min_rows.max(1);
        let sweep = self.allowance.rule.as_ref();
        let mut sweep = sweep.map(|rule| Sweep::new(rule, keys, self.locals, 0, rule_scratch));
        for n_left in min_rows..(n_points + 1).saturating_sub(min_rows) {
            let (value, next) = (value_of(keys[n_left - 1]), value_of(keys[n_left]));
            if value == next {
                continue;
            }
            for (code, split) in bounds.cuts(axis, value, next) {
                let spared = bounds.spared(code, n_left, n_points - n_left);
                let imbalance = self.imbalance(n_left);
                if best.is_better(spared, imbalance)
                    && sweep.as_mut().is_none_or(|sweep| sweep.holds_at(n_left))
                {
                    best.offer(spared, imbalance, split);
                }
            }
        }
    }

    /// Weighs the ways to specialize a label: into the parts that satisfy the requirement and the
    /// rest, and into one part and the others.
    fn weigh_label(&self, axis: usize, scratch: &mut Scratch<L, M>, best: &mut Best) {
        if !self.predicates.iter().any(|own| own.terms.iter().any(|term| term.axis == axis)) {
            return;
        }
        let tree = self.chooser.label_tree(axis).expect("called for label axes");
        let step = tree.specialization(self.points.iter().map(|point| point[axis]));
        let Scratch { keys, rule, .. } = scratch;
        sort_by_part(self.points, axis, tree, step, keys);
        let parts = keys.chunk_by(|a, b| value_of(*a) == value_of(*b));
        let range_of = |part: &[u64]| tree.part_range(step, self.points[place_of(part[0])][axis]);
        let parts: Vec<Part<'_>> = parts.map(|part| (part, range_of(part))).collect();
        if let Some(kept) = kept_parts(self.allowance, keys, self.locals, rule) {
            let largest = parts.iter().map(|(part, _)| part.len()).max().unwrap_or(0);
            let spared = self.spared_by_parts(axis, &parts, &kept);
            best.offer(spared, self.imbalance(largest), Split::Specialize { axis, step });
        }
        let locals = |part: &[u64]| -> Vec<u32> {
            part.iter().map(|&key| self.locals[place_of(key)]).collect()
        };
        for (place, &(part, (lo, hi))) in parts.iter().enumerate() {
            let others = || {
                let others = parts.iter().enumerate().filter(|(other, _)| *other != place);
                others.flat_map(|(_, (other, _))| locals(other)).collect::<Vec<u32>>()
            };
            let (n_part, n_others) = (part.len(), keys.len() - part.len());
            let [inside, outside] = Cut::new(axis, lo, hi).spans(self.region[axis]);
            let spared = self.spared(axis, inside, n_part) + self.spared(axis, outside, n_others);
            let imbalance = self.imbalance(n_part);
            if best.is_better(spared, imbalance)
                && self.allowance.holds(n_part, rule, || locals(part).into_iter())
                && self.allowance.holds(n_others, rule, || others().into_iter())
            {
                best.offer(spared, imbalance, Split::Peel { axis, lo, hi });
            }
        }
    }

    /// What parts of a label spare of which some stand alone and the others stay together.
    fn spared_by_parts(&self, axis: usize, parts: &[Part<'_>], kept: &[bool]) -> f64 {
        let mut alone: Vec<&Part<'_>> =
            parts.iter().zip(kept).filter(|(_, kept)| **kept).map(|(part, _)| part).collect();
        let mut rest: Vec<&Part<'_>> =
            parts.iter().zip(kept).filter(|(_, kept)| !**kept).map(|(part, _)| part).collect();
        if rest.is_empty() {
            rest.extend(alone.pop());
        }
        let mut span = self.region[axis];
        let mut spared = 0.0;
        for (part, (lo, hi)) in alone {
            let [inside, outside] = Cut::new(axis, *lo, *hi).spans(span);
            spared += self.spared(axis, inside, part.len());
            span = outside;
        }
        // Where what is left is one part, it is known where it lies.
        if let [(_, (lo, hi))] = rest[..] {
            span = (span.0.max(Code::new(*lo)), span.1.min(Code::new(*hi)));
        }
        let n_rest = rest.iter().map(|(part, _)| part.len()).sum();
        spared + self.spared(axis, span, n_rest)
    }

    /// What a part of an attribute spares that has so many rows.
    fn spared(&self, axis: usize, span: Span, n_rows: usize) -> f64 {
        let away = self.predicates.iter().filter(|own| !own.overlaps_on(axis, span));
        away.map(|own| own.weight).sum::<f64>() * n_rows as f64
    }
}

impl Predicate {
    fn term(&self, axis: usize) -> Option<&Term> {
        self.terms.iter().find(|term| term.axis == axis)
    }

    /// Whether it overlaps codes of an attribute.
    fn overlaps_on(&self, axis: usize, span: Span) -> bool {
        self.term(axis)
            .is_none_or(|term| term.codes.iter().any(|&(lo, hi)| lo <= span.1 && span.0 <= hi))
    }

    /// Whether it overlaps a region.
    pub fn overlaps(&self, region: &Region) -> bool {
        self.terms.iter().all(|term| self.overlaps_on(term.axis, region[term.axis]))
    }

    /// Whether it selects a point.
    pub fn selects(&self, codes: &[u32]) -> bool {
        self.terms.iter().all(|term| {
            let code = Code::new(codes[term.axis]);
            term.codes.iter().any(|&(lo, hi)| (lo..=hi).contains(&code))
        })
    }

    /// The least and the greatest code of an attribute that it selects within a span; nothing where
    /// it does not look at it.
    fn hull(&self, axis: usize, span: Span) -> Option<Span> {
        let term = self.term(axis)?;
        let inside = term.codes.iter().map(|&(lo, hi)| (lo.max(span.0), hi.min(span.1)));
        inside.filter(|(lo, hi)| lo <= hi).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }
}
