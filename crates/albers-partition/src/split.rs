//! Policies that choose where to cut a set of points.
//!
//! A policy is a pure function from points to a [`Split`]; the grower acts on it. A split
//! is *allowable* when every part satisfies the requirement.
//!
//! What is decided on is always points, one for each row, or for the rows that a tuple of a sample
//! stands for. Counts of values for each attribute would tell less: not the boxes of both sides,
//! which `compact` weighs. `gain` counts the values of targets along each attribute as it goes.
//!
//! - [`mod@compact`]: the least loss of the parts, over all allowable cuts of all attributes.
//! - [`mod@kernel`]: the same in nodes of few points, cut to the end at once.
//! - [`mod@sizes`]: the smallest classes, and of like cuts the least loss of the parts.
//! - [`mod@median`]: the widest attribute, cut nearest its median.
//! - [`mod@gain`]: what tells most about the targets of a workload; one of the others goes on where
//!   nothing tells enough. [`mod@tally`] counts their values.
//! - [`mod@selection`]: what spares the predicates of a workload most rows; tried before all others.
//! - [`mod@cut`]: a split in two as it is kept. [`mod@state`]: what a node knows of the splits above it.
//! - [`mod@apply`] acts on a choice, [`mod@place`] puts its cut between the points of both sides.

pub mod apply;
pub mod compact;
pub mod cut;
pub mod extent;
pub mod gain;
pub mod kernel;
pub mod majority;
pub mod median;
pub mod place;
pub mod rule;
pub mod selection;
pub mod sizes;
pub mod state;
pub mod tally;
pub mod workload;

use albers_classes::space::{AxisKind, LabelTree, Space, Specialization};
use albers_storage::choice::Choice as WordChoice;

use extent::{Extent, Weigher};
use gain::{GainScratch, Gains};
use kernel::Board;
use rule::{Allowance, RuleScratch};
use state::NodeState;
use workload::Predicate;

/// The most attributes a point can have.
pub const MAX_ATTRIBUTES: usize = 64;

/// The ways to choose a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// See [`mod@compact`].
    #[default]
    Compact,
    /// See [`mod@median`].
    Median,
    /// See [`mod@sizes`]. No word asks for it: it is what `compact` is where the discernibility is to
    /// be least.
    Sizes,
}

impl WordChoice for Policy {
    const ALL: &'static [Policy] = &[Policy::Compact, Policy::Median];

    fn name(self) -> &'static str {
        match self {
            Policy::Compact | Policy::Sizes => "compact",
            Policy::Median => "median",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Policy::Compact => "The least loss over all cuts of all columns",
            Policy::Median => "The widest column, nearest its median: faster, loses more",
            Policy::Sizes => "The smallest classes over all cuts of all columns",
        }
    }
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A division of points into parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Into the points with codes up to `code` and the rest.
    Cut {
        /// The attribute.
        axis: usize,
        /// The last code of the first part.
        code: u32,
    },
    /// The same, at the bound of a predicate: it stays where it is, although other codes would
    /// divide the points alike.
    Bound {
        /// The attribute.
        axis: usize,
        /// The last code of the first part.
        code: u32,
    },
    /// Into the points with codes from `lo` to `hi` and the rest: one child of a label against its
    /// siblings.
    Peel {
        /// The attribute.
        axis: usize,
        /// The first code of the first part.
        lo: u32,
        /// The last code of the first part.
        hi: u32,
    },
    /// Into the parts of a specialization that satisfy the requirement, and the rest as one part.
    Specialize {
        /// The attribute.
        axis: usize,
        /// The step down its hierarchy.
        step: Specialization,
    },
}

/// Points with their codes in fixed-width lanes; lanes beyond the attributes are 0.
pub type Point<const L: usize> = [u32; L];

/// Buffers that a policy reuses from node to node.
#[derive(Default)]
pub struct Scratch<const L: usize, const M: usize> {
    /// Order of points along an attribute: code or part in the upper half, place in the lower.
    pub keys: Vec<u64>,
    pub(crate) values: Vec<u32>,
    pub(crate) costs: Vec<f32>,
    pub(crate) runs: Vec<Extent<L, M>>,
    pub(crate) rests: Vec<Extent<L, M>>,
    pub(crate) sample: Vec<Point<L>>,
    pub(crate) rule: RuleScratch,
    pub(crate) gain: GainScratch,
    pub(crate) moved_points: Vec<Point<L>>,
    pub(crate) moved_locals: Vec<u32>,
    pub(crate) board: Board,
}

/// Everything a policy looks at besides the points and what their parts must satisfy.
pub struct Chooser<'a, const L: usize, const M: usize> {
    /// The attributes.
    pub space: &'a Space,
    /// The loss of a box.
    pub(crate) weigher: Weigher<'a, L, M>,
    /// What is tried first.
    pub(crate) predicates: &'a [Predicate],
    /// What is tried next.
    gains: Option<Gains<'a>>,
    policy: Policy,
    /// Whether cuts of large nodes may be weighed on a sample of their points.
    may_sample: bool,
    /// Whether every cut is weighed from the start.
    is_exact: bool,
    /// Whether a label is never cut into two runs of its children, which both might show it.
    pub(crate) labels_apart: bool,
    /// The vector instructions of this machine.
    arch: pulp::Arch,
}

/// A choice about to be made. A type of its own, so that all of it is compiled for each instruction
/// set: a closure would be compiled once, for the least.
struct Choice<'n, 'c, const L: usize, const M: usize> {
    chooser: &'n Chooser<'c, L, M>,
    allowance: &'n Allowance<'c>,
    points: &'n [Point<L>],
    locals: &'n [u32],
    scratch: &'n mut Scratch<L, M>,
}

impl<const L: usize, const M: usize> pulp::WithSimd for Choice<'_, '_, L, M> {
    type Output = Option<Split>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> Option<Split> {
        let Choice { chooser, allowance, points, locals, scratch } = self;
        match chooser.policy {
            Policy::Compact => compact::choose(chooser, allowance, points, locals, scratch),
            Policy::Median => median::choose(chooser, allowance, points, locals, scratch),
            Policy::Sizes => sizes::choose(chooser, allowance, points, locals, scratch),
        }
    }
}

impl<'a, const L: usize, const M: usize> Chooser<'a, L, M> {
    /// Chooses by a policy; `may_sample` if cuts of large nodes may be weighed on a sample of their
    /// points.
    pub fn new(space: &'a Space, policy: Policy, may_sample: bool) -> Chooser<'a, L, M> {
        let weigher = Weigher::new(space);
        let arch = pulp::Arch::new();
        Chooser {
            space,
            weigher,
            predicates: &[],
            gains: None,
            policy,
            may_sample,
            is_exact: false,
            labels_apart: false,
            arch,
        }
    }

    /// The same; if `is_exact`, every cut of a node is weighed on all its points, however large it
    /// is.
    pub fn with_exactness(self, is_exact: bool) -> Chooser<'a, L, M> {
        Chooser { is_exact, may_sample: self.may_sample && !is_exact, ..self }
    }

    /// The ways in which cuts are weighed, one after another as long as none is allowable: between
    /// any two values if it tells so, between stretches of codes where a node is large otherwise.
    pub(crate) fn passes(&self) -> &'static [bool] {
        if self.is_exact { &[true] } else { &[false, true] }
    }

    /// The same; if `labels_apart`, no class on one side of a split in two can show what one on the
    /// other side shows.
    pub fn with_labels_apart(self, labels_apart: bool) -> Chooser<'a, L, M> {
        Chooser { labels_apart, ..self }
    }

    /// The same; splits that spare some of these predicates rows are chosen before all others, of
    /// nodes whose state knows their region.
    pub fn with_predicates(self, predicates: &'a [Predicate]) -> Chooser<'a, L, M> {
        Chooser { predicates, ..self }
    }

    /// The same; splits that tell enough about the targets of a workload are chosen first.
    pub fn with_gains(self, gains: Option<Gains<'a>>) -> Chooser<'a, L, M> {
        Chooser { gains, ..self }
    }

    /// The chosen split of some points, or nothing if no split is allowable. `locals` names the
    /// points' places in the facts that the requirement looks at. A workload has no say in a node that
    /// it has cut unevenly too often.
    ///
    /// Runs with the widest vector instructions that the machine has.
    pub fn choose(
        &self,
        allowance: &Allowance<'_>,
        points: &[Point<L>],
        locals: &[u32],
        state: &mut NodeState,
        scratch: &mut Scratch<L, M>,
    ) -> Option<Split> {
        if points.len() < 2 * allowance.min_rows {
            return None;
        }
        if !state.is_worn() {
            let spared = selection::choose(self, state, allowance, points, locals, scratch);
            let by_workload = spared.or_else(|| {
                let gains = self.gains.as_ref()?;
                gain::choose(self, gains, allowance, points, locals, scratch)
            });
            if by_workload.is_some() {
                return by_workload;
            }
        }
        if points.len() <= kernel::MAX_POINTS && self.weighs_in_integers() {
            return kernel::choose(self, allowance, points, locals, &mut scratch.board);
        }
        self.arch.dispatch(Choice { chooser: self, allowance, points, locals, scratch })
    }

    /// Whether small nodes are weighed in integers, see [`mod@kernel`]: where nothing but the loss
    /// decides, and no label, which is weighed by its hierarchy.
    pub(crate) fn weighs_in_integers(&self) -> bool {
        let is_plain = self.predicates.is_empty() && self.gains.is_none() && !self.is_exact;
        self.policy == Policy::Compact && is_plain && self.weigher.labels.is_empty()
    }

    /// The hierarchy of an axis that is shown as labels.
    #[inline(always)]
    pub(crate) fn label_tree(&self, axis: usize) -> Option<&LabelTree> {
        match &self.space.axes[axis].kind {
            AxisKind::Label(tree) => Some(tree),
            AxisKind::Interval { .. } | AxisKind::Set { .. } => None,
        }
    }
}

/// Fills `keys` with the points' codes on an attribute and their places, in code order. `lo` and
/// `hi` are the least and greatest of the codes.
#[inline(always)]
pub(crate) fn sort_by_code<const L: usize>(
    points: &[Point<L>],
    axis: usize,
    (lo, hi): (u32, u32),
    short_keys: &mut Vec<u32>,
    keys: &mut Vec<u64>,
) {
    keys.clear();
    let place_bits = usize::BITS - points.len().leading_zeros();
    let code_bits = u32::BITS - (hi - lo).leading_zeros();
    if place_bits + code_bits > u32::BITS {
        keys.extend(
            (0u64..).zip(points).map(|(place, point)| (u64::from(point[axis]) << 32) | place),
        );
        keys.sort_unstable();
        return;
    }
    // Half as wide, and sorted in about half the time.
    short_keys.clear();
    short_keys.extend(
        (0u32..).zip(points).map(|(place, point)| ((point[axis] - lo) << place_bits) | place),
    );
    short_keys.sort_unstable();
    let place_mask = (1 << place_bits) - 1;
    keys.extend(
        short_keys
            .iter()
            .map(|&key| (u64::from(lo + (key >> place_bits)) << 32) | u64::from(key & place_mask)),
    );
}

/// Fills `keys` with the points' parts under a specialization and their places, in part order.
pub(crate) fn sort_by_part<const L: usize>(
    points: &[Point<L>],
    axis: usize,
    tree: &LabelTree,
    step: Specialization,
    keys: &mut Vec<u64>,
) {
    keys.clear();
    keys.extend(
        points.iter().enumerate().map(|(place, point)| {
            (u64::from(tree.part_of(step, point[axis])) << 32) | place as u64
        }),
    );
    keys.sort_unstable();
}

/// Which parts of a specialization stand alone: those that satisfy the requirement. The others stay
/// together under the label they have; if they do not satisfy the requirement together, the
/// smallest parts join them until they do. Nothing if no part would stand alone.
///
/// `keys` must be in the order of `sort_by_part`.
pub(crate) fn kept_parts(
    allowance: &Allowance<'_>,
    keys: &[u64],
    locals: &[u32],
    scratch: &mut RuleScratch,
) -> Option<Vec<bool>> {
    let parts: Vec<&[u64]> = keys.chunk_by(|a, b| value_of(*a) == value_of(*b)).collect();
    let part_rows: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    kept_of(&part_rows, |some| {
        let own = || some.iter().map(|&at| parts[at]);
        allowance.holds(own().map(<[u64]>::len).sum(), scratch, || {
            own().flat_map(|part| part.iter().map(|&key| locals[place_of(key)]))
        })
    })
}

/// The same for parts of so many rows, where `is_allowed` tells whether some of them satisfy the
/// requirement together.
pub(crate) fn kept_of(
    part_rows: &[usize],
    mut is_allowed: impl FnMut(&[usize]) -> bool,
) -> Option<Vec<bool>> {
    let n_parts = part_rows.len();
    let mut kept: Vec<bool> = (0..n_parts).map(|at| is_allowed(&[at])).collect();
    let mut smallest_first: Vec<usize> = (0..n_parts).filter(|&at| kept[at]).collect();
    smallest_first.sort_by_key(|&at| part_rows[at]);
    let mut n_joined = 0;
    loop {
        let rest: Vec<usize> = (0..n_parts).filter(|&at| !kept[at]).collect();
        if rest.is_empty() || is_allowed(&rest) {
            break;
        }
        kept[*smallest_first.get(n_joined)?] = false;
        n_joined += 1;
    }
    let n_kept = smallest_first.len() - n_joined;
    let n_shown = n_kept + usize::from(n_kept < n_parts);
    (n_kept > 0 && n_shown > 1).then_some(kept)
}

/// The value of a key, without its place.
#[inline(always)]
pub(crate) fn value_of(key: u64) -> u32 {
    (key >> 32) as u32
}

/// The place of a key's point.
#[inline(always)]
pub(crate) fn place_of(key: u64) -> usize {
    (key & 0xffff_ffff) as usize
}
