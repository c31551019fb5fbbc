//! Nodes of few points, cut to the end at once: the splits that lose least, weighed in integers.
//!
//! Source: as [`mod@super::compact`]; the points are put in the order of an attribute when it is first
//! weighed, and the orders are divided as the node is (Shafer, Agrawal & Mehta 1996, section 3: attribute lists).
//! Departures: codes are scaled by their weight so that no attribute loses more than 15 bits hold.
//! Attributes less than a quarter as wide as the widest are weighed, and put in order, only where those
//! have no allowable cut: that loses no more, and sometimes less.
//! Guarantee: both sides of every cut are allowable; a leaf has no allowable cut, whatever its
//! attribute. The cuts depend on the points and what is known of them, not on their order, nor on the
//! instructions of the machine.
//! Cost: O(points * attributes) for each level, sixteen attributes an instruction; points are moved
//! once, at the end.
//!
//! ```text
//!   lanes    point 0: [age zip ...]       orders   age:    3 0 2 1 | 4 6 5
//!            point 1: [age zip ...]                zip:    0 3 1 2 | 6 4 5
//!            ...        scaled                     place:  0 1 2 3 | 4 5 6   a node is a stretch of
//!                                                                            every order
//! ```
//!
//! Labels are weighed by hierarchies, which is left to [`mod@super::compact`].

mod lanes;
mod order;
mod screened;
mod weigh;

use crate::split::extent::{Extent, Weigher};
use crate::split::rule::{Allowance, RuleScratch, Stop};
use crate::split::{Chooser, MAX_ATTRIBUTES, Point, Split};
use lanes::{Lanes, Vector};
use order::{Order, Sorter, divide_order, place_of, rank_of};
use screened::Screened;

/// The most points of a node that is cut here.
pub const MAX_POINTS: usize = 128;
/// What the attribute loses that loses most: lengths stay within 15 bits.
const WIDEST: f32 = 32_000.0;
/// The attributes of a vector.
const N_LANES: usize = 16;
/// The vectors of a point with as many attributes as there may be.
const MAX_VECTORS: usize = MAX_ATTRIBUTES / N_LANES;

/// The vector instructions that the kernel knows, on a machine that has them.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn vectors() -> Option<pulp::x86::V3> {
    pulp::x86::V3::try_new()
}

/// The vector instructions that the kernel knows: none.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
fn vectors() -> Option<lanes::Plain> {
    None
}

/// A node that is being cut.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    start: usize,
    end: usize,
    /// The attributes that may have several values, a bit for each.
    open: u64,
    /// The attributes in whose order the points are.
    sorted: u64,
}

impl Stretch {
    fn n_points(&self) -> usize {
        self.end - self.start
    }
}

/// An attribute that is shown as a small set.
struct SetLane {
    /// What one more value loses, scaled.
    per_value: i32,
    /// The value of each point, as a bit.
    seen: [u64; MAX_POINTS],
}

/// The points of a node, in the orders that were asked for. Kept from node to node for its memory.
#[derive(Default)]
pub struct Board {
    /// The scaled codes of each point, in as many vectors as the attributes need.
    lanes: Vec<Vector>,
    n_vectors: usize,
    sets: Vec<SetLane>,
    /// By attribute, and last by place.
    orders: Vec<Order>,
    /// Which attributes are cut before all others, a bit for each.
    preferred: u64,
    weighed: weigh::Weighed,
    screened: Screened,
    rule: RuleScratch,
}

/// A cut of a stretch: its attribute, and the points before it in the order of that attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chosen {
    axis: usize,
    n_before: usize,
}

impl Board {
    /// Takes the points of a node, and returns them as one stretch.
    #[inline(always)]
    fn load<const L: usize, const M: usize>(
        &mut self,
        chooser: &Chooser<'_, L, M>,
        points: &[Point<L>],
    ) -> Stretch {
        let axes = &chooser.space.axes;
        let n_axes = axes.len();
        self.n_vectors = n_axes.div_ceil(N_LANES).next_power_of_two();
        self.lanes.resize(MAX_POINTS * self.n_vectors, [0; N_LANES]);
        self.orders.resize(n_axes + 1, [0; MAX_POINTS]);
        let whole = Extent::<L, 0>::of(points);
        let mut open = 0;
        self.preferred = 0;
        for axis in 0..n_axes {
            self.preferred |= u64::from(axes[axis].preferred) << axis;
            open |= u64::from(whole.lo[axis] < whole.hi[axis]) << axis;
        }
        for (slot, place) in self.orders[n_axes].iter_mut().zip(0..) {
            *slot = place;
        }
        self.load_sets(&chooser.weigher, points);
        self.screened.forget();
        Stretch { start: 0, end: points.len(), open, sorted: 0 }
    }

    fn load_sets<const L: usize, const M: usize>(
        &mut self,
        weigher: &Weigher<'_, L, M>,
        points: &[Point<L>],
    ) {
        let new_set = || SetLane { per_value: 0, seen: [0; MAX_POINTS] };
        self.sets.resize_with(weigher.sets.len(), new_set);
        for (set, &(axis, _)) in self.sets.iter_mut().zip(&weigher.sets) {
            for (seen, point) in set.seen.iter_mut().zip(points) {
                *seen = 1u64.wrapping_shl(point[axis]);
            }
        }
    }

    /// Scales the codes of a stretch by what its attributes lose, so that none loses more than
    /// [`WIDEST`]; returns what each loses.
    #[inline(always)]
    fn scale<const L: usize, const M: usize>(
        &mut self,
        weigher: &Weigher<'_, L, M>,
        node: Stretch,
        points: &[Point<L>],
    ) -> [u16; MAX_ATTRIBUTES] {
        let Board { lanes, n_vectors, sets, orders, .. } = self;
        let places = &orders[orders.len() - 1][node.start..node.end];
        let mut whole = Extent::<L, M>::EMPTY;
        places.iter().for_each(|&key| whole.add(&points[place_of(key)]));
        let mut losses: [f32; MAX_ATTRIBUTES] = [0.0; MAX_ATTRIBUTES];
        for lane in 0..L {
            let length = (whole.hi[lane] - whole.lo[lane]) as i32 as f32;
            losses[lane] = length * weigher.per_code[lane];
        }
        for &(axis, per_value) in &weigher.sets {
            losses[axis] = (whole.seen[axis].count_ones() - 1) as f32 * per_value;
        }
        // Where nothing is lost, or next to nothing, all cuts cost the same.
        let scale = WIDEST / losses.iter().copied().fold(0.0, f32::max);
        let scale = if scale.is_finite() { scale } else { 0.0 };
        let factors: [f32; L] = std::array::from_fn(|lane| weigher.per_code[lane] * scale);
        for &key in places {
            let (place, mut scaled) = (place_of(key), [[0u16; N_LANES]; MAX_VECTORS]);
            for lane in 0..L {
                let offset = (points[place][lane] - whole.lo[lane]) as i32 as f32;
                scaled[lane / N_LANES][lane % N_LANES] = rounded(offset * factors[lane]);
            }
            let own = &mut lanes[place * *n_vectors..][..*n_vectors];
            own.iter_mut().zip(&scaled).for_each(|(vector, scaled)| *vector = *scaled);
        }
        for (set, &(_, per_value)) in sets.iter_mut().zip(&weigher.sets) {
            set.per_value = i32::from(rounded(per_value * scale));
        }
        losses.map(|loss| rounded(loss * scale))
    }

    /// Puts a stretch into the order of those attributes in whose order it is not yet.
    #[inline(always)]
    fn sort<A: Lanes, const L: usize>(
        &mut self,
        lanes: A,
        node: &mut Stretch,
        axes: u64,
        points: &[Point<L>],
    ) {
        let Some((by_place, by_axis)) = self.orders.split_last_mut() else { return };
        let places = &by_place[node.start..node.end];
        for axis in axes_of(axes & !node.sorted) {
            let order = &mut by_axis[axis][node.start..node.end];
            Sorter { places, code_of: |place: usize| points[place][axis] }.sort(lanes, order);
        }
        node.sorted |= axes;
    }

    /// Divides all orders of a stretch at a cut. Attributes that have one value left on a side are
    /// closed there.
    #[inline(always)]
    fn divide(&mut self, node: Stretch, chosen: Chosen) -> [Stretch; 2] {
        let Stretch { start, end, open, sorted } = node;
        let middle = start + chosen.n_before;
        let mut is_first = [0u8; MAX_POINTS];
        for &key in &self.orders[chosen.axis][start..middle] {
            is_first[place_of(key)] = 1;
        }
        let by_place = self.orders.len() - 1;
        divide_order(&mut self.orders[by_place][start..end], &is_first);
        for axis in axes_of(open & sorted & !(1 << chosen.axis)) {
            divide_order(&mut self.orders[axis][start..end], &is_first);
        }
        [(start, middle), (middle, end)].map(|(start, end)| {
            let is_closed = |axis: &usize| {
                let order = &self.orders[*axis];
                rank_of(order[start]) == rank_of(order[end - 1])
            };
            let closed = axes_of(open & sorted).filter(is_closed);
            let open = closed.fold(open, |open, axis| open & !(1 << axis));
            Stretch { start, end, open, sorted }
        })
    }

    /// The codes on both sides of a cut, on its attribute.
    fn gap<const L: usize>(
        &self,
        points: &[Point<L>],
        node: Stretch,
        Chosen { axis, n_before }: Chosen,
    ) -> (u32, u32) {
        let first = node.start + n_before;
        let code = |at: usize| points[place_of(self.orders[axis][at])][axis];
        (code(first - 1), code(first))
    }

    /// The places of a stretch's points, in the order in which they came.
    #[inline(always)]
    fn by_place(&self, node: Stretch) -> impl Iterator<Item = usize> {
        let order = &self.orders[self.orders.len() - 1];
        order[node.start..node.end].iter().map(|&key| place_of(key))
    }
}

/// A number of at most 15 bits, rounded. Adding two to the power of 23 leaves it in the last bits,
/// which takes one instruction for many numbers, where a conversion minds all that a float can be.
#[inline(always)]
fn rounded(number: f32) -> u16 {
    (number + 8_388_608.0).to_bits() as u16
}

/// The attributes of a set of them, ascending.
#[inline(always)]
fn axes_of(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let axis = (set != 0).then_some(set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(axis)
    })
}

/// What becomes of a node. Those before a cut come next, and then those after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is cut between two codes of an attribute.
    Cut {
        /// The attribute.
        axis: usize,
        /// The codes on both sides.
        gap: (u32, u32),
    },
    /// It is a leaf.
    Leaf {
        /// Its points.
        n_rows: usize,
    },
}

/// A node about to be cut to the end. A type of its own, so that all of it is compiled for each
/// instruction set.
struct Growing<'n, 'a, A, const L: usize, const M: usize> {
    lanes: A,
    chooser: &'n Chooser<'a, L, M>,
    stop: &'n Stop<'a>,
    board: &'n mut Board,
    points: &'n mut [Point<L>],
    places: &'n mut [u32],
    keep: &'n mut dyn FnMut(Step),
}

impl<A: Lanes, const L: usize, const M: usize> pulp::NullaryFnOnce for Growing<'_, '_, A, L, M> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Growing { lanes, chooser, stop, board, points, places, keep } = self;
        let mut own_places: Vec<u32> = Vec::with_capacity(points.len());
        let mut pending = vec![board.load(chooser, points)];
        while let Some(mut node) = pending.pop() {
            own_places.clear();
            own_places.extend(board.by_place(node).map(|place| places[place]));
            // No closure: what is called in one is not compiled for the instruction set.
            let chosen = match stop(&own_places) {
                Some(allowance) => {
                    let weigher = &chooser.weigher;
                    board.choose(lanes, weigher, &mut node, &allowance, points, places)
                }
                None => None,
            };
            let Some(chosen) = chosen else {
                keep(Step::Leaf { n_rows: node.n_points() });
                continue;
            };
            keep(Step::Cut { axis: chosen.axis, gap: board.gap(points, node, chosen) });
            let [first, second] = board.divide(node, chosen);
            pending.push(second);
            pending.push(first);
        }
        let whole = Stretch { start: 0, end: points.len(), open: 0, sorted: 0 };
        own_places.clear();
        own_places.extend(board.by_place(whole).map(|place| places[place]));
        let moved: Vec<Point<L>> = board.by_place(whole).map(|place| points[place]).collect();
        places.copy_from_slice(&own_places);
        points.copy_from_slice(&moved);
    }
}

/// Cuts some points to the end, and tells what becomes of each node; those of a leaf become
/// neighbours, in the order in which they came.
pub(crate) fn grow<'a, const L: usize, const M: usize>(
    chooser: &Chooser<'a, L, M>,
    stop: &Stop<'a>,
    board: &mut Board,
    (points, places): (&mut [Point<L>], &mut [u32]),
    keep: &mut dyn FnMut(Step),
) {
    match vectors() {
        Some(lanes) => run(lanes, Growing { lanes, chooser, stop, board, points, places, keep }),
        None => {
            let lanes = lanes::Plain;
            let growing = Growing { lanes, chooser, stop, board, points, places, keep };
            pulp::NullaryFnOnce::call(growing);
        }
    }
}

/// A choice about to be made.
struct Choosing<'n, 'a, A, const L: usize, const M: usize> {
    lanes: A,
    chooser: &'n Chooser<'a, L, M>,
    board: &'n mut Board,
    points: &'n [Point<L>],
    locals: &'n [u32],
    allowance: &'n Allowance<'n>,
}

impl<A: Lanes, const L: usize, const M: usize> pulp::NullaryFnOnce for Choosing<'_, '_, A, L, M> {
    type Output = Option<Split>;

    #[inline(always)]
    fn call(self) -> Option<Split> {
        let Choosing { lanes, chooser, board, points, locals, allowance } = self;
        let mut node = board.load(chooser, points);
        let weigher = &chooser.weigher;
        let chosen = board.choose(lanes, weigher, &mut node, allowance, points, locals)?;
        Some(Split::Cut { axis: chosen.axis, code: board.gap(points, node, chosen).0 })
    }
}

/// The first of the cuts that [`grow`] would make.
pub(crate) fn choose<const L: usize, const M: usize>(
    chooser: &Chooser<'_, L, M>,
    allowance: &Allowance<'_>,
    points: &[Point<L>],
    locals: &[u32],
    board: &mut Board,
) -> Option<Split> {
    match vectors() {
        Some(lanes) => run(lanes, Choosing { lanes, chooser, board, points, locals, allowance }),
        None => {
            let lanes = lanes::Plain;
            let choosing = Choosing { lanes, chooser, board, points, locals, allowance };
            pulp::NullaryFnOnce::call(choosing)
        }
    }
}

/// Runs with the vector instructions of a machine.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn run<F: pulp::NullaryFnOnce>(vectors: pulp::x86::V3, f: F) -> F::Output {
    vectors.vectorize(f)
}

/// Runs without vector instructions.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
fn run<F: pulp::NullaryFnOnce>(_: lanes::Plain, f: F) -> F::Output {
    f.call()
}

#[cfg(test)]
mod tests;
