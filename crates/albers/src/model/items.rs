//! What the frames of a model hold.

use albers_classes::packed::{RowBlock, RowLayout};
use albers_classes::space::Shown;
use albers_classes::{Attribute, Span};
use albers_table::code::Code;
use serde::{Deserialize, Serialize};

/// A frame is written when it has at least this many bytes.
pub(super) const FRAME_BYTES: usize = 1 << 16;

/// An item of a model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Item {
    /// The way to the next part.
    Turns {
        /// How many turns it shares with the way before.
        n_shared: u32,
        /// The others.
        turns: Vec<StoredTurn>,
    },
    /// A split: codes of an attribute from `lo` to `hi` lie inside.
    Cut(StoredCut),
    /// A leaf.
    Leaf {
        /// Its rows.
        n_rows: u64,
        /// For each attribute: how many codes follow, the codes, and the ends of its region where
        /// leaves have regions.
        shown: Vec<u32>,
    },
    /// All parts were there.
    End {
        /// Leaves of all parts.
        n_leaves: u64,
        /// The fingerprint of all rows.
        sum: u128,
    },
}

/// A split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredCut {
    pub(super) axis: u32,
    pub(super) lo: u32,
    pub(super) hi: u32,
}

/// A step of a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredTurn {
    pub(super) cut: StoredCut,
    pub(super) is_inside: bool,
}

/// How leaves are told: what each attribute shows.
pub(crate) struct LeafShape {
    attributes: Vec<AttributeShape>,
}

#[derive(Clone, Copy)]
struct AttributeShape {
    is_set: bool,
    missing: Option<u32>,
}

impl LeafShape {
    /// Of these quasi-identifiers.
    pub(crate) fn of(attributes: &[Attribute]) -> LeafShape {
        let of = |own: &Attribute| AttributeShape {
            is_set: own.shown == Shown::Set,
            missing: own.domain.missing_code().map(Code::get),
        };
        LeafShape { attributes: attributes.iter().map(of).collect() }
    }

    /// No row of a leaf yet.
    pub(crate) fn nothing(&self) -> ShownCodes<'_> {
        let none = || OwnCodes { lo: u32::MAX, hi: 0, has_missing: false, set: Vec::new() };
        ShownCodes { shape: self, own: self.attributes.iter().map(|_| none()).collect(), n_rows: 0 }
    }
}

/// The codes that tell what a leaf shows: both ends and the missing one, or all of a set.
pub(crate) struct ShownCodes<'s> {
    shape: &'s LeafShape,
    own: Vec<OwnCodes>,
    n_rows: u64,
}

struct OwnCodes {
    lo: u32,
    hi: u32,
    has_missing: bool,
    set: Vec<u32>,
}

impl ShownCodes<'_> {
    /// Adds rows of the leaf, and the box around them where it is known.
    pub(crate) fn add(
        &mut self,
        layout: &RowLayout,
        rows: &RowBlock,
        places: &(impl Iterator<Item = usize> + Clone),
        around: Option<&[Span]>,
    ) {
        self.n_rows += places.clone().count() as u64;
        for (attribute, (shape, own)) in self.shape.attributes.iter().zip(&mut self.own).enumerate()
        {
            if let (Some(spans), false, None) = (around, shape.is_set, shape.missing) {
                let (lo, hi) = spans[attribute];
                (own.lo, own.hi) = (own.lo.min(lo.get()), own.hi.max(hi.get()));
                continue;
            }
            let codes = places.clone().map(|row| rows.code(layout, row, attribute));
            if shape.is_set {
                own.set.extend(codes);
                own.set.sort_unstable();
                own.set.dedup();
                continue;
            }
            for code in codes {
                if shape.missing == Some(code) {
                    own.has_missing = true;
                } else {
                    own.lo = own.lo.min(code);
                    own.hi = own.hi.max(code);
                }
            }
        }
    }

    /// The leaf as it is stored.
    pub(super) fn item(&self, region: Option<&[Span]>) -> Item {
        let mut shown = Vec::new();
        for (attribute, (shape, own)) in self.shape.attributes.iter().zip(&self.own).enumerate() {
            let at = shown.len();
            shown.push(0);
            match shape.is_set {
                true => shown.extend_from_slice(&own.set),
                false => {
                    let ends = [own.lo, own.hi].into_iter().filter(|_| own.lo <= own.hi);
                    shown.extend(ends.take(if own.lo == own.hi { 1 } else { 2 }));
                    shown.extend(shape.missing.filter(|_| own.has_missing));
                }
            }
            shown[at] = (shown.len() - at - 1) as u32;
            if let Some((lo, hi)) = region.map(|spans| spans[attribute]) {
                shown.extend([lo.get(), hi.get()]);
            }
        }
        Item::Leaf { n_rows: self.n_rows, shown }
    }
}
