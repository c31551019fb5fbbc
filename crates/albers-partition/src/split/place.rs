//! Where in the gap between its two sides a chosen cut is placed.
//!
//! A policy names the last code of the left side. What a class shows of its region should not be
//! anybody's value, so that the cut is moved to a round value of the gap.
//!
//! Guarantee: no point changes its side.
//! Cost: one look at the points of a node; for a cell, its codes on each interval, sorted.

use albers_classes::space::{Axis, AxisKind, Space};
use albers_table::code::Code;
use albers_table::domain::Ruler;

use super::{Point, Split};

/// Places cuts between points.
#[derive(Default)]
pub struct Placement {
    /// The codes that points have, ascending, for each attribute of which they must be known.
    taken: Vec<Vec<u32>>,
}

impl Placement {
    /// At values that none of these points has, where there are such.
    pub fn among<const L: usize>(points: &[Point<L>], space: &Space) -> Placement {
        let taken = |(lane, axis): (usize, &Axis)| {
            let mut codes = Vec::new();
            if ruler_of(axis).is_some_and(Ruler::asks_for_codes) {
                codes.extend(points.iter().map(|point| point[lane]));
                codes.sort_unstable();
                codes.dedup();
                codes.shrink_to_fit();
            }
            codes
        };
        Placement { taken: space.axes.iter().enumerate().map(taken).collect() }
    }

    /// The split, with its cut moved inside the gap between the points of its sides.
    pub fn place<const L: usize>(
        &self,
        split: Split,
        space: &Space,
        left: &[Point<L>],
        right: &[Point<L>],
    ) -> Split {
        let Split::Cut { axis, .. } = split else { return split };
        let Some(ruler) = ruler_of(&space.axes[axis]) else { return split };
        let last = left.iter().map(|point| point[axis]).max();
        let first = right.iter().map(|point| point[axis]).min();
        let (Some(last), Some(first)) = (last, first) else { return split };
        let taken = self.taken.get(axis).map_or(&[][..], Vec::as_slice);
        let code = ruler.cut(Code::new(last), Code::new(first), taken);
        Split::Cut { axis, code: code.get() }
    }
}

fn ruler_of(axis: &Axis) -> Option<&Ruler> {
    match &axis.kind {
        AxisKind::Interval { ruler, .. } => Some(ruler),
        AxisKind::Set { .. } | AxisKind::Label(_) => None,
    }
}
