//! Where in the gap between its two sides a chosen cut is placed.
//!
//! A policy names the last code of the left side. What a class shows of its region should not be
//! anybody's value, so that the cut is moved to a round value of the gap.
//!
//! Guarantee: no point changes its side.
//! Cost: one look at the points of a node; for a cell, its codes on each interval, sorted.

use std::sync::Arc;

use albers_classes::space::{Axis, AxisKind, Space};
use albers_table::code::Code;
use albers_table::domain::Ruler;

use super::{Point, Split};

/// Places cuts between points.
#[derive(Clone, Default)]
pub struct Placement {
    /// The codes that points have, ascending, for each attribute of which they must be known.
    taken: Arc<[Vec<u32>]>,
}

impl Placement {
    /// At values that none of these points has, where there are such.
    pub fn among<const L: usize>(points: &[Point<L>], space: &Space) -> Placement {
        Placement::at_none_of(space, |lane| {
            let mut codes: Vec<u32> = points.iter().map(|point| point[lane]).collect();
            codes.sort_unstable();
            codes.dedup();
            codes.shrink_to_fit();
            codes
        })
    }

    /// The same; `codes_of` tells the codes that points have on an attribute, ascending.
    pub fn at_none_of(space: &Space, mut codes_of: impl FnMut(usize) -> Vec<u32>) -> Placement {
        let taken = |(lane, axis): (usize, &Axis)| match asks_for_codes(axis) {
            true => codes_of(lane),
            false => Vec::new(),
        };
        Placement { taken: space.axes.iter().enumerate().map(taken).collect() }
    }

    /// What the codes take.
    pub fn n_bytes(&self) -> usize {
        self.taken.iter().map(|codes| size_of_val(codes.as_slice())).sum()
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
        Split::Cut { axis, code: self.between(axis, ruler, (last, first)) }
    }

    /// The same for a cut between the last code of the left side and the first of the right.
    pub(crate) fn place_between(&self, split: Split, space: &Space, gap: (u32, u32)) -> Split {
        let Split::Cut { axis, .. } = split else { return split };
        let Some(ruler) = ruler_of(&space.axes[axis]) else { return split };
        Split::Cut { axis, code: self.between(axis, ruler, gap) }
    }

    fn between(&self, axis: usize, ruler: &Ruler, (last, first): (u32, u32)) -> u32 {
        let taken = self.taken.get(axis).map_or(&[][..], Vec::as_slice);
        ruler.cut(Code::new(last), Code::new(first), taken).get()
    }
}

/// Whether a cut of an attribute is placed by all codes that occur.
fn asks_for_codes(axis: &Axis) -> bool {
    ruler_of(axis).is_some_and(Ruler::asks_for_codes)
}

fn ruler_of(axis: &Axis) -> Option<&Ruler> {
    match &axis.kind {
        AxisKind::Interval { ruler, .. } => Some(ruler),
        AxisKind::Set { .. } | AxisKind::Label(_) => None,
    }
}
