//! A split in two as it is kept: the codes of one attribute that go inside, and all others.

use albers_classes::Region;
use albers_classes::region::{Span, span};
use albers_table::code::Code;

use super::Split;

/// All codes of an attribute.
const ALL: (u32, u32) = (0, u32::MAX);

/// A split in two. Its codes are plain numbers, as those of the points that it is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The attribute that decides.
    pub axis: u32,
    /// The least code that goes inside.
    pub lo: u32,
    /// The greatest code that goes inside.
    pub hi: u32,
    /// What is known of the codes that go outside.
    pub rest: (u32, u32),
}

/// One step down a tree of splits: a cut, and the side of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The cut.
    pub cut: Cut,
    /// Whether the way goes on with the codes that it names.
    pub is_inside: bool,
}

impl Cut {
    /// Codes from `lo` to `hi` against all others.
    pub fn new(axis: usize, lo: u32, hi: u32) -> Cut {
        Cut { axis: axis as u32, lo, hi, rest: ALL }
    }

    /// Whether a code goes inside.
    #[inline]
    pub fn takes(&self, code: u32) -> bool {
        (self.lo..=self.hi).contains(&code)
    }

    /// The same cut, of which nothing is known but what goes inside.
    pub fn without_rest(self) -> Cut {
        Cut { rest: ALL, ..self }
    }

    /// A split that has two parts.
    ///
    /// # Panics
    /// When it has more.
    pub fn of(split: &Split) -> Cut {
        match *split {
            Split::Cut { axis, code } | Split::Bound { axis, code } => Cut::new(axis, 0, code),
            Split::Peel { axis, lo, hi } => Cut::new(axis, lo, hi),
            Split::Specialize { .. } => unreachable!("a split into many parts is several cuts"),
        }
    }

    /// The regions of both sides. What is left of a region when a piece is taken from its middle
    /// keeps the whole of it.
    pub fn regions(&self, region: &Region) -> [Region; 2] {
        let axis = self.axis as usize;
        self.spans(region[axis]).map(|own| {
            let mut side = region.clone();
            side[axis] = own;
            side
        })
    }

    /// The same on its own attribute.
    pub fn spans(&self, (lo, hi): Span) -> [Span; 2] {
        let (first, last) = span(self.lo, self.hi);
        let inside = (lo.max(first), hi.min(last));
        let (lo, hi) = match (first <= lo, hi <= last) {
            (true, false) => (last + 1, hi),
            (false, true) => (lo, Code::new(self.lo - 1)),
            _ => (lo, hi),
        };
        let rest = span(self.rest.0, self.rest.1);
        [inside, (lo.max(rest.0), hi.min(rest.1))]
    }
}
