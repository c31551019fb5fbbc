//! What a cell of a release shows, in the codes of the table it was made from.

use albers_classes::Span;
use albers_table::code::{Code, CodeRange};
use albers_table::domain::Domain;
use albers_table::hierarchy::Node;

/// The text of a cell that may stand for any value.
pub(crate) const ANY: &str = "*";

/// What a cell shows, spelled out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CellContent {
    /// Only missing values.
    Missing,
    /// An interval of ordered codes, perhaps with the missing value.
    Interval {
        /// Least code.
        lo: Code,
        /// Greatest code.
        hi: Code,
        /// Whether the missing value is shown too.
        with_missing: bool,
    },
    /// A node of the hierarchy, perhaps with the missing value.
    Label {
        /// The node.
        node: Node,
        /// Whether the missing value is shown too.
        with_missing: bool,
    },
    /// A set of codes, ascending; the missing code is one of them.
    Set(Vec<Code>),
    /// Any value: the cell is suppressed.
    Everything,
}

impl CellContent {
    /// What the content loses, in steps of the domain; see [`crate::Describer::lost_steps`].
    pub fn lost_steps(&self, domain: &Domain) -> u64 {
        match self {
            CellContent::Missing => 0,
            CellContent::Everything
            | CellContent::Interval { with_missing: true, .. }
            | CellContent::Label { with_missing: true, .. } => domain.n_steps(),
            CellContent::Interval { lo, hi, .. } => domain.interval_steps(*lo, *hi),
            CellContent::Label { .. } | CellContent::Set(_) => {
                self.n_covered(domain).saturating_sub(1)
            }
        }
    }

    /// How many values of the domain the content covers.
    pub fn n_covered(&self, domain: &Domain) -> u64 {
        match self {
            CellContent::Missing => 1,
            CellContent::Everything => domain.n_values(),
            CellContent::Set(codes) => codes.len() as u64,
            CellContent::Interval { lo, hi, with_missing } => {
                domain.n_distinct_between(*lo, *hi) + u64::from(*with_missing)
            }
            CellContent::Label { node, with_missing } => {
                let hierarchy = domain.hierarchy();
                let leaves = hierarchy.map_or(CodeRange::EMPTY, |tree| tree.leaves_of(*node));
                leaves.len() as u64 + u64::from(*with_missing)
            }
        }
    }

    /// Whether a row with one of some codes, given as ascending runs, may stand behind the cell.
    pub fn overlaps(&self, domain: &Domain, runs: &[Span]) -> bool {
        let is_in = |code: Code| runs.iter().any(|&(lo, hi)| (lo..=hi).contains(&code));
        let meets = |lo: Code, end: Code| runs.iter().any(|run| run.0 < end && lo <= run.1);
        let missing = |shown: bool| shown && domain.missing_code().is_some_and(is_in);
        match self {
            CellContent::Missing => missing(true),
            CellContent::Everything => !runs.is_empty(),
            CellContent::Set(codes) => codes.iter().any(|&code| is_in(code)),
            CellContent::Interval { lo, hi, with_missing } => {
                meets(*lo, *hi + 1) || missing(*with_missing)
            }
            CellContent::Label { node, with_missing } => {
                let leaves = domain.hierarchy().map(|tree| tree.leaves_of(*node));
                leaves.is_some_and(|own| meets(own.start, own.end)) || missing(*with_missing)
            }
        }
    }

    /// Whether a row with this code may stand behind the cell.
    pub fn covers(&self, domain: &Domain, code: Code) -> bool {
        let is_missing = domain.missing_code() == Some(code);
        match self {
            CellContent::Missing => is_missing,
            CellContent::Everything => true,
            CellContent::Set(codes) => codes.binary_search(&code).is_ok(),
            CellContent::Interval { with_missing, .. }
            | CellContent::Label { with_missing, .. }
                if is_missing =>
            {
                *with_missing
            }
            CellContent::Interval { lo, hi, .. } => (*lo..=*hi).contains(&code),
            CellContent::Label { node, .. } => {
                domain.hierarchy().is_some_and(|tree| tree.leaves_of(*node).contains(code))
            }
        }
    }
}

/// So many steps as a share of the domain's, from 0 to 1.
pub(crate) fn share_of_steps(domain: &Domain, n_steps: u64) -> f64 {
    n_steps as f64 / domain.n_steps() as f64
}
