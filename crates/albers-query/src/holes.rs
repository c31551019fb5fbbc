//! Of classes that lie within each other, what belongs to the inner ones.
//!
//! Source: Raschia & Anjum 2011, sections 3.1 and 3.2: a block is its region without the regions
//! nested in it; the innermost region around a point is the right one.
//! Departures: the paper enumerates elementary ranges, whose number is a product over the axes.
//! Here a class meets a query if it has more positions in it than its holes have: holes of one
//! class share nothing, so that their positions add up. Boxes that are bounds of rows, not regions,
//! may reach beyond those around them; what reaches beyond is a hole of the next one outside.
//! Guarantee: positions are counted in whole numbers, exactly. No position of a hole is that of a
//! row of the class, as long as every row belongs to the greatest level around it.
//! Cost: pairs of boxes that meet are found by dividing space; a class has about as many holes as
//! boxes lie directly in it.

use num_bigint::BigUint;
use rayon::prelude::*;

use crate::cells::AxisCells;
use crate::cover::{Asked, Cover, Missing, intersection, length};
use crate::term::{Term, minus};

/// Pairs of boxes that are compared at most before levels are given up.
const MAX_PAIRS: usize = 200_000_000;
/// Groups of so few boxes are compared pair by pair.
const FEW: usize = 32;
/// Into so many pieces a hole may be divided by those around it; what would be more is no hole.
const MAX_PIECES: usize = 64;

/// The holes of all classes.
pub(crate) struct Holes {
    /// Where those of each class begin, and where those of the last one end.
    starts: Vec<u32>,
    /// What holes cover on all axes.
    pieces: Vec<Vec<Asked>>,
}

impl Holes {
    /// The holes of boxes with levels; nothing if boxes of one level share something.
    pub(crate) fn of(axes: &[&AxisCells], levels: &[u32]) -> Option<Holes> {
        let hulls: Vec<Vec<Hull>> =
            axes.iter().map(|axis| axis.cells.iter().map(Hull::of).collect()).collect();
        let search = Search { axes, hulls, levels };
        let all: Vec<u32> = (0..levels.len() as u32).collect();
        let mut pairs = search.pairs(&all)?;
        pairs.par_sort_unstable();
        pairs.dedup();
        if pairs.iter().any(|&(a, b)| levels[a as usize] == levels[b as usize]) {
            return None;
        }
        let by_inner: Vec<&[(u32, u32)]> = pairs.chunk_by(|a, b| a.0 == b.0).collect();
        let pieces = by_inner.into_par_iter().flat_map_iter(|own| search.pieces(own));
        let mut pieces: Vec<(u32, Vec<Asked>)> = pieces.collect();
        pieces.par_sort_by_key(|(class, _)| *class);
        let mut starts = vec![0u32; levels.len() + 1];
        pieces.iter().for_each(|(class, _)| starts[*class as usize + 1] += 1);
        (1..starts.len()).for_each(|class| starts[class] += starts[class - 1]);
        Some(Holes { starts, pieces: pieces.into_iter().map(|(_, piece)| piece).collect() })
    }

    fn of_class(&self, class: usize) -> &[Vec<Asked>] {
        &self.pieces[self.starts[class] as usize..self.starts[class + 1] as usize]
    }

    /// The share of a class in a term, given that of its box; nothing if all that the box has in
    /// the term belongs to others.
    pub(crate) fn share(
        &self,
        axes: &[&AxisCells],
        class: usize,
        term: &Term,
        of_box: f64,
    ) -> Option<f64> {
        let holes = self.of_class(class);
        if holes.is_empty() {
            return Some(of_box);
        }
        let covers: Vec<&Cover> =
            axes.iter().map(|axis| &axis.cells[axis.cell_of[class] as usize]).collect();
        let whole: Vec<Asked> = covers.iter().map(|cover| region(cover)).collect();
        let mut in_holes = Count::default();
        let (mut lost_inside, mut lost) = (0.0, 0.0);
        for hole in holes {
            in_holes.add(positions_in(hole, term));
            let parts = || axes.iter().zip(&covers).zip(hole);
            let shares = parts().map(|((axis, cover), own)| axis.scale.share(cover, own));
            lost += shares.product::<f64>();
            let inside = parts().enumerate().map(|(axis_idx, ((axis, cover), own))| {
                match term.iter().find(|(axis, _)| *axis == axis_idx) {
                    Some((_, asked)) => axis.scale.share(cover, &own.and(asked)),
                    None => axis.scale.share(cover, own),
                }
            });
            lost_inside += inside.product::<f64>();
        }
        let mut in_box = Count::default();
        in_box.add(positions_in(&whole, term));
        if in_box <= in_holes {
            return None;
        }
        let left = 1.0 - lost;
        let share = if left > f64::EPSILON { (of_box - lost_inside) / left } else { of_box };
        Some(share.clamp(0.0, 1.0))
    }
}

/// All that a cell covers.
fn region(cover: &Cover) -> Asked {
    Asked { spans: cover.spans.clone(), missing: cover.missing != Missing::No }
}

/// How many positions a region has in a term, as one factor for each axis.
fn positions_in<'a>(region: &'a [Asked], term: &'a Term) -> impl Iterator<Item = u64> + 'a {
    region.iter().enumerate().map(|(axis_idx, own)| {
        match term.iter().find(|(axis, _)| *axis == axis_idx) {
            Some((_, asked)) => {
                length(intersection(&own.spans, &asked.spans))
                    + u64::from(own.missing && asked.missing)
            }
            None => length(own.spans.iter().copied()) + u64::from(own.missing),
        }
    })
}

/// A sum of products, exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Count {
    Small(u128),
    Large(BigUint),
}

impl Default for Count {
    fn default() -> Count {
        Count::Small(0)
    }
}

impl PartialOrd for Count {
    fn partial_cmp(&self, other: &Count) -> Option<std::cmp::Ordering> {
        Some(match (self, other) {
            (Count::Small(a), Count::Small(b)) => a.cmp(b),
            _ => self.large().cmp(&other.large()),
        })
    }
}

impl Count {
    fn large(&self) -> BigUint {
        match self {
            Count::Small(own) => BigUint::from(*own),
            Count::Large(own) => own.clone(),
        }
    }

    fn add(&mut self, factors: impl Iterator<Item = u64>) {
        let factors: Vec<u64> = factors.collect();
        if factors.contains(&0) {
            return;
        }
        let product = factors
            .iter()
            .try_fold(1u128, |product, &factor| product.checked_mul(u128::from(factor)));
        let sum = match (&*self, product) {
            (Count::Small(own), Some(product)) => own.checked_add(product),
            _ => None,
        };
        *self = match sum {
            Some(sum) => Count::Small(sum),
            None => Count::Large(self.large() + factors.into_iter().product::<BigUint>()),
        };
    }
}

/// The first and the last position of a cell, the missing value before all others.
#[derive(Clone, Copy)]
struct Hull {
    first: u32,
    last: u32,
}

impl Hull {
    fn of(cover: &Cover) -> Hull {
        let last = cover.spans.last().map_or(0, |own| own.1 + 1);
        let first = match (cover.missing, cover.spans.first()) {
            (Missing::No, Some(own)) => own.0 + 1,
            _ => 0,
        };
        Hull { first, last }
    }
}

struct Search<'a> {
    axes: &'a [&'a AxisCells],
    /// Of the cells of each axis.
    hulls: Vec<Vec<Hull>>,
    levels: &'a [u32],
}

impl Search<'_> {
    fn hull(&self, axis: usize, class: u32) -> Hull {
        self.hulls[axis][self.axes[axis].cell_of[class as usize] as usize]
    }

    fn region(&self, class: u32) -> Vec<Asked> {
        let cover = |axis: &&AxisCells| region(&axis.cells[axis.cell_of[class as usize] as usize]);
        self.axes.iter().map(cover).collect()
    }

    /// The pairs of boxes that meet, the one of the greater level first, some of them twice; nothing
    /// if there are too many to compare.
    fn pairs(&self, group: &[u32]) -> Option<Vec<(u32, u32)>> {
        let parts = match group.len() <= FEW {
            true => None,
            false => (0..self.axes.len())
                .map(|axis| self.parts(group, axis))
                .min_by_key(|parts| parts.iter().map(Vec::len).max()),
        };
        let is_smaller =
            |parts: &[Vec<u32>; 2]| parts.iter().all(|part| part.len() * 10 <= group.len() * 9);
        match parts.filter(is_smaller) {
            Some([below, above]) => {
                let (mut pairs, more) = rayon::join(|| self.pairs(&below), || self.pairs(&above));
                pairs.as_mut()?.extend(more?);
                pairs.filter(|own| own.len() <= MAX_PAIRS)
            }
            None => self.compared(group),
        }
    }

    /// The boxes that begin up to a cut, and those that end behind it: two that meet are in one of
    /// these together.
    fn parts(&self, group: &[u32], axis: usize) -> [Vec<u32>; 2] {
        let mut ends: Vec<u32> = group.iter().map(|&class| self.hull(axis, class).last).collect();
        let middle = ends.len() / 2;
        let cut = *ends.select_nth_unstable(middle).1;
        let with = |fits: &dyn Fn(Hull) -> bool| -> Vec<u32> {
            group.iter().copied().filter(|&class| fits(self.hull(axis, class))).collect()
        };
        [with(&|hull| hull.first <= cut), with(&|hull| hull.last > cut)]
    }

    fn compared(&self, group: &[u32]) -> Option<Vec<(u32, u32)>> {
        if group.len() * group.len() > MAX_PAIRS {
            return None;
        }
        let mut pairs = Vec::new();
        for (place, &a) in group.iter().enumerate() {
            for &b in &group[place + 1..] {
                if self.meet(a, b) {
                    let is_inner = self.levels[a as usize] >= self.levels[b as usize];
                    pairs.push(if is_inner { (a, b) } else { (b, a) });
                }
            }
        }
        Some(pairs)
    }

    fn meet(&self, a: u32, b: u32) -> bool {
        let hulls_meet = (0..self.axes.len()).all(|axis| {
            let (a, b) = (self.hull(axis, a), self.hull(axis, b));
            a.first <= b.last && b.first <= a.last
        });
        hulls_meet
            && self.axes.iter().all(|axis| {
                let cover = |class: u32| &axis.cells[axis.cell_of[class as usize] as usize];
                cover(a).meets(&region(cover(b)))
            })
    }

    /// What a box takes from those of lesser levels: of each what no level between takes already.
    /// All pairs have the same inner box.
    fn pieces(&self, pairs: &[(u32, u32)]) -> Vec<(u32, Vec<Asked>)> {
        let inner = self.region(pairs[0].0);
        let mut outer: Vec<u32> = pairs.iter().map(|&(_, outer)| outer).collect();
        outer.sort_by_key(|&class| std::cmp::Reverse(self.levels[class as usize]));
        let n_positions: Vec<u32> = self.axes.iter().map(|axis| axis.n_positions).collect();
        let as_term = |region: &[Asked]| -> Term { region.iter().cloned().enumerate().collect() };
        // What no box between takes; those of one level share nothing, and may all be taken away.
        let mut rest: Vec<Term> = vec![as_term(&inner)];
        let mut found = Vec::new();
        for of_level in outer.chunk_by(|&a, &b| self.levels[a as usize] == self.levels[b as usize])
        {
            for &class in of_level {
                let region = self.region(class);
                for piece in &rest {
                    let shared = piece.iter().zip(&region).map(|((_, a), b)| a.and(b));
                    let shared: Vec<Asked> = shared.collect();
                    if shared.iter().all(|own| !own.is_nothing()) {
                        found.push((class, shared));
                    }
                }
            }
            for &class in of_level {
                let term = as_term(&self.region(class));
                rest = rest.iter().flat_map(|piece| minus(piece, &term, &n_positions)).collect();
                if rest.len() > MAX_PIECES {
                    return found;
                }
            }
            if rest.is_empty() {
                break;
            }
        }
        found
    }
}
