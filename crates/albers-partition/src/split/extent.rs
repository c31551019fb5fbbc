//! Boxes around points, and what they lose as they will be shown.
//!
//! All attributes of a point lie in `L` lanes that are compared at once; the loops are written so
//! that the compiler turns them into vector instructions.

use albers_classes::space::{AxisKind, LabelTree, Space};

use crate::split::Point;

/// The least and greatest code per attribute, and the values seen where few are possible.
///
/// `M` is `L` where some attribute is shown as a small set, and 0 where none is.
#[derive(Clone, Copy)]
pub struct Extent<const L: usize, const M: usize> {
    /// Least codes.
    pub lo: [u32; L],
    /// Greatest codes.
    pub hi: [u32; L],
    /// One bit per value seen, for codes below 64.
    pub seen: [u64; M],
}

impl<const L: usize, const M: usize> Extent<L, M> {
    /// Around no points.
    pub const EMPTY: Extent<L, M> = Extent { lo: [u32::MAX; L], hi: [0; L], seen: [0; M] };

    /// Takes in a point.
    #[inline(always)]
    pub fn add(&mut self, point: &Point<L>) {
        for lane in 0..L {
            self.lo[lane] = self.lo[lane].min(point[lane]);
            self.hi[lane] = self.hi[lane].max(point[lane]);
        }
        for lane in 0..M {
            self.seen[lane] |= 1u64.wrapping_shl(point[lane]);
        }
    }

    /// Takes in all points of another extent.
    #[inline(always)]
    pub fn merge(&mut self, other: &Extent<L, M>) {
        for lane in 0..L {
            self.lo[lane] = self.lo[lane].min(other.lo[lane]);
            self.hi[lane] = self.hi[lane].max(other.hi[lane]);
        }
        for lane in 0..M {
            self.seen[lane] |= other.seen[lane];
        }
    }

    /// Around some points.
    #[inline(always)]
    pub fn of(points: &[Point<L>]) -> Extent<L, M> {
        let mut extent = Extent::EMPTY;
        for point in points {
            extent.add(point);
        }
        extent
    }
}

/// The weighted loss of an extent, attribute by attribute as each will be shown.
///
/// Sets of more than 64 possible values are weighed by their range of codes, an upper bound.
pub struct Weigher<'a, const L: usize, const M: usize> {
    /// Loss per code, for intervals and for large sets.
    pub(super) per_code: [f32; L],
    /// Attributes shown as small sets, with the loss per value.
    pub(super) sets: Vec<(usize, f32)>,
    /// Attributes shown as labels, with their weight.
    pub(super) labels: Vec<(usize, f32, &'a LabelTree)>,
}

/// The most values a set may have to be followed bit by bit.
const SMALL_SET: u32 = 64;

/// Whether any attribute of a space is shown as a small set.
pub fn has_small_sets(space: &Space) -> bool {
    space.axes.iter().any(|axis| match axis.kind {
        AxisKind::Set { n_codes, .. } => n_codes <= SMALL_SET,
        _ => false,
    })
}

impl<'a, const L: usize, const M: usize> Weigher<'a, L, M> {
    /// The weigher of a space.
    pub fn new(space: &'a Space) -> Self {
        let mut per_code = [0.0; L];
        let mut sets = Vec::new();
        let mut labels = Vec::new();
        for (lane, axis) in space.axes.iter().enumerate() {
            match &axis.kind {
                AxisKind::Interval { scale, .. } => per_code[lane] = (axis.weight * scale) as f32,
                AxisKind::Set { scale, n_codes } if *n_codes <= SMALL_SET => {
                    sets.push((lane, (axis.weight * scale) as f32));
                }
                AxisKind::Set { scale, .. } => per_code[lane] = (axis.weight * scale) as f32,
                AxisKind::Label(tree) => labels.push((lane, axis.weight as f32, tree)),
            }
        }
        Weigher { per_code, sets, labels }
    }

    /// The loss per record of a box with this extent.
    #[inline(always)]
    pub fn loss(&self, extent: &Extent<L, M>) -> f32 {
        let mut sums = [0f32; 4];
        for group in 0..L / 4 {
            for lane in 0..4 {
                let at = group * 4 + lane;
                // Codes have at most 31 bits, so the signed conversion is exact in sign.
                let length = extent.hi[at].wrapping_sub(extent.lo[at]) as i32 as f32;
                sums[lane] += length * self.per_code[at];
            }
        }
        let mut loss = (sums[0] + sums[2]) + (sums[1] + sums[3]);
        if M > 0 {
            for &(lane, per_value) in &self.sets {
                loss += (extent.seen[lane].count_ones() - 1) as f32 * per_value;
            }
        }
        for &(lane, weight, tree) in &self.labels {
            loss += tree.loss(extent.lo[lane], extent.hi[lane]) as f32 * weight;
        }
        loss
    }
}
