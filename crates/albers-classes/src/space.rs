//! The attributes as axes of a space, and the loss of a box as it will be shown.
//!
//! Axes are what methods compute with, row by row: the codes that they take are plain numbers of
//! columns of codes, see [`albers_table::code`].

use albers_table::code::Code;
use albers_table::domain::{Domain, Ruler};
use albers_table::hierarchy::{Hierarchy, Node};

/// How the values of a class are shown on one attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The least and the greatest value.
    Interval,
    /// The values that occur.
    Set,
    /// The label of the lowest common ancestor.
    Label,
}

/// One attribute.
pub struct Axis {
    /// How it is shown, with what a policy needs to weigh that.
    pub kind: AxisKind,
    /// How much a loss on it counts.
    pub weight: f64,
    /// Whether it is cut before all others.
    pub preferred: bool,
}

/// An axis by how it is shown.
pub enum AxisKind {
    /// An interval; `scale` is the loss of one code.
    Interval {
        /// Loss per code.
        scale: f64,
        /// Where cuts are placed between its values.
        ruler: Ruler,
    },
    /// A set; `scale` is the loss of one more value.
    Set {
        /// Loss per value beyond the first.
        scale: f64,
        /// Number of codes, the missing one included.
        n_codes: u32,
    },
    /// A label.
    Label(LabelTree),
}

/// A hierarchy as a policy sees it. The missing code, if there is one, follows the leaves.
pub struct LabelTree {
    n_leaves: u32,
    /// Per level from the leaves up: the node of each leaf.
    node_of: Vec<Vec<u32>>,
    /// Per level from the leaves up: the number of leaves below each node.
    size_of: Vec<Vec<u32>>,
    scale: f64,
    /// The lowest level that may be shown.
    finest: usize,
}

/// All attributes.
pub struct Space {
    /// The axes, in the order of the codes of a point.
    pub axes: Vec<Axis>,
}

impl Axis {
    /// The axis of a domain.
    pub fn new(domain: &Domain, shown: Shown, weight: f64, preferred: bool) -> Axis {
        let per_value = 1.0 / (domain.n_values().max(2) - 1) as f64;
        let kind = match shown {
            Shown::Interval => {
                let (lo, hi) = domain.code_range();
                let ruler = domain.ruler().expect("intervals are of ordered values");
                AxisKind::Interval { scale: 1.0 / f64::from((hi - lo).max(1)), ruler }
            }
            Shown::Set => {
                let n_codes = u32::try_from(domain.n_values()).expect("codes have 32 bits");
                AxisKind::Set { scale: per_value, n_codes }
            }
            Shown::Label => {
                let hierarchy = domain.hierarchy().expect("labels need a hierarchy");
                AxisKind::Label(LabelTree::new(hierarchy, per_value))
            }
        };
        Axis { kind, weight, preferred }
    }

    /// How wide a range of codes is, as a share of the whole domain and before weights.
    pub fn width(&self, lo: u32, hi: u32) -> f64 {
        match &self.kind {
            AxisKind::Interval { scale, .. } | AxisKind::Set { scale, .. } => {
                f64::from(hi - lo) * scale
            }
            AxisKind::Label(tree) => tree.loss(lo, hi),
        }
    }
}

impl LabelTree {
    fn new(hierarchy: &Hierarchy, scale: f64) -> LabelTree {
        let n_leaves = hierarchy.n_leaves();
        let levels = 0..=hierarchy.height();
        let node_of = levels
            .clone()
            .map(|level| {
                let codes = (0..n_leaves).map(Code::new);
                codes.map(|code| hierarchy.node_at(level, code) as u32).collect()
            })
            .collect();
        let size_of = levels
            .map(|level| {
                let nodes = 0..hierarchy.n_nodes(level);
                nodes.map(|index| hierarchy.leaves_of(Node { level, index }).len() as u32).collect()
            })
            .collect();
        LabelTree { n_leaves, node_of, size_of, scale, finest: hierarchy.finest() }
    }

    /// The level of the top, which all leaves share.
    pub fn height(&self) -> usize {
        self.node_of.len() - 1
    }

    /// The lowest level that may be shown.
    pub fn finest(&self) -> usize {
        self.finest
    }

    /// What the label of the codes from `lo` to `hi` loses; everything if it mixes the missing
    /// value with others.
    pub fn loss(&self, lo: u32, hi: u32) -> f64 {
        if lo == hi && (self.finest == 0 || lo == self.n_leaves) {
            return 0.0;
        }
        if hi == self.n_leaves {
            return 1.0;
        }
        let level = self.common_level(lo, hi);
        let node = self.node_of[level][lo as usize];
        f64::from(self.size_of[level][node as usize] - 1) * self.scale
    }

    /// The lowest level that may be shown at which both leaves have the same ancestor.
    fn common_level(&self, lo: u32, hi: u32) -> usize {
        let (lo, hi) = (lo as usize, hi as usize);
        let above = self.node_of[self.finest..].iter().position(|nodes| nodes[lo] == nodes[hi]);
        self.finest + above.expect("all leaves share the root")
    }

    /// How a label can be specialized: into the children of the lowest common ancestor of some
    /// codes, with the missing value, if it is among them, as a part of its own.
    pub fn specialization(&self, codes: impl Iterator<Item = u32>) -> Specialization {
        let present = codes.filter(|&code| code < self.n_leaves);
        let (lo, hi) = present.fold((u32::MAX, 0), |(lo, hi), code| (lo.min(code), hi.max(code)));
        let level = if lo >= hi { 0 } else { self.common_level(lo, hi).saturating_sub(1) };
        Specialization { level: level.max(self.finest) }
    }

    /// Which part of a specialization a code falls in; parts are numbered in code order.
    #[inline]
    pub fn part_of(&self, specialization: Specialization, code: u32) -> u32 {
        if code < self.n_leaves {
            self.node_of[specialization.level][code as usize]
        } else {
            MISSING_PART
        }
    }

    /// The codes of the whole part that a code falls in.
    pub fn part_range(&self, specialization: Specialization, code: u32) -> (u32, u32) {
        if code >= self.n_leaves {
            return (code, code);
        }
        let nodes = &self.node_of[specialization.level];
        let node = nodes[code as usize];
        let first = nodes.partition_point(|&other| other < node) as u32;
        (first, first + self.size_of[specialization.level][node as usize] - 1)
    }
}

/// The number of the missing value's part: after all others.
pub const MISSING_PART: u32 = u32::MAX;

/// A step down a hierarchy: into the nodes of a level, and the missing value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Specialization {
    /// The level, 0 for the leaves.
    pub level: usize,
}
