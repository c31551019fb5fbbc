//! Relatives of the BANG file: other point access methods with a minimum occupancy.
//!
//! ```text
//!   kd-trie        pr-quadtree     kd-b-trie       grid-file       bd-tree, hb-tree
//!   ┌────┬────┐    ┌────┬────┐    ┌────┬────┐    ┌──┬─┬────┐    ┌─────────┐
//!   │    │    │    │    │    │    │    ├────┤    │  │ │    │    │  ┌────┐ │
//!   ├────┤    │    ├──┬─┼────┤    │    ├────┤    ├──┴─┼────┤    │  │┌─┐ │ │
//!   │    │    │    ├──┼─┤    │    │    │    │    │    │    │    │  └┴─┴─┘ │
//!   └────┴────┘    └──┴─┴────┘    └────┴────┘    └────┴────┘    └─────────┘
//!   one attribute  all of them    any of them    lines that all  a block is taken out,
//!   after another  at once                       buckets share   the rest keeps its region
//! ```
//!
//! Source: Raschia & Anjum 2011, section 2.2 and table 2, which asks for this comparison; each
//! method names its own.
//! Departures: no bucket is split at a fixed size, but wherever every part that holds rows satisfies
//! the whole requirement. Whole buckets are split, not single insertions, so that the order of the
//! rows has no part in it. There are no pages and no directory, but for what a method decides by.
//! Guarantee: every row is in one bucket; every bucket satisfies the requirement, if all rows
//! together do. Regions lie side by side or in each other, and a row's bucket is that of the
//! smallest region around it. The result is a function of the rows, the scales and the requirement,
//! whatever the order of the rows and the threads.
//! Cost: each round looks at the rows of all buckets that were split in the last one; in memory.
//!
//! - `bucket`: what a method is; rows and what is known of their region; what may be split; the
//!   rounds.
//! - `keys`, `cells`: rows in halved space. `extract`: how a block is taken out of another.
//! - `kd_trie`, `pr_quadtree`, `kd_b_trie`, `grid_file`: regions side by side.
//!   `bd_tree`, `hb_tree`: regions in each other; `nesting`: which in which.
//! - `division`: what comes of it, as classes. `invariants`: what must be true of every division.

mod bd_tree;
mod bucket;
mod cells;
mod division;
mod extract;
mod grid_file;
mod hb_tree;
mod invariants;
mod kd_b_trie;
mod kd_trie;
mod keys;
mod nesting;
mod pr_quadtree;

use albers_classes::points::Points;
use albers_classes::space::Space;
use albers_partition::split::rule::Allowance;
use albers_storage::watch::{Phase, Watch};

use crate::bang_file::scale::Scale;
use bd_tree::BdTree;
use bucket::grow;
use cells::Cells;
use grid_file::GridFile;
use hb_tree::HbTree;
use kd_b_trie::KdBTrie;
use kd_trie::KdTrie;
use keys::Keys;
use pr_quadtree::PrQuadtree;

pub use bucket::Stop;
pub use division::Division;
pub use grid_file::MAX_CELLS;
pub use pr_quadtree::MAX_ATTRIBUTES;

/// A point access method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relative {
    /// Halves, one attribute after another.
    KdTrie,
    /// Halves of all attributes at once.
    PrQuadtree,
    /// Halves of any attribute.
    KdBTrie,
    /// Lines through all of space.
    GridFile,
    /// Halves of halves, taken out of what is around them.
    BdTree,
    /// The same, of a tree of cuts at medians.
    HbTree,
}

impl Relative {
    /// Whether regions may lie in each other.
    pub fn is_nested(self) -> bool {
        matches!(self, Relative::BdTree | Relative::HbTree)
    }

    /// Whether space is halved where scales say, and not where rows lie.
    pub fn is_regular(self) -> bool {
        self != Relative::HbTree
    }
}

/// What a method is given.
pub struct AccessPlan<'a> {
    /// Which method.
    pub relative: Relative,
    /// The scale of each attribute; empty for a method that halves none.
    pub scales: Vec<Scale>,
    /// The attributes.
    pub space: &'a Space,
    /// What every bucket must satisfy.
    pub allowance: Allowance<'a>,
}

/// Divides all points, which together must satisfy what every bucket must.
pub fn divide(points: Points, plan: AccessPlan<'_>, watch: &dyn Watch) -> Result<Division, Stop> {
    watch.phase(Phase::Partition, Some(points.n_rows() as u64));
    let AccessPlan { relative, scales, space, allowance } = plan;
    let columns = columns_of(points);
    watch.check()?;
    let grown = match relative {
        Relative::KdTrie => grow(&mut KdTrie::new(Keys::of(&columns, scales)), allowance, watch)?,
        Relative::PrQuadtree => {
            grow(&mut PrQuadtree::new(Keys::of(&columns, scales)), allowance, watch)?
        }
        Relative::BdTree => grow(&mut BdTree::new(Keys::of(&columns, scales)), allowance, watch)?,
        Relative::KdBTrie => {
            grow(&mut KdBTrie::new(Cells::of(&columns, scales)), allowance, watch)?
        }
        Relative::GridFile => {
            grow(&mut GridFile::new(Cells::of(&columns, scales)), allowance, watch)?
        }
        Relative::HbTree => {
            grow(&mut HbTree::build(&columns, space, allowance.min_rows, watch)?, allowance, watch)?
        }
    };
    Ok(Division::of(columns, grown, relative.is_nested()))
}

/// The codes of all rows, attribute by attribute.
fn columns_of(points: Points) -> Vec<Vec<u32>> {
    let n_rows = points.n_rows();
    let mut columns: Vec<Vec<u32>> =
        (0..points.n_attributes()).map(|_| Vec::with_capacity(n_rows)).collect();
    for chunk in points.into_chunks() {
        columns.iter_mut().zip(&chunk.columns).for_each(|(all, own)| all.extend(own));
    }
    columns
}

#[cfg(test)]
mod tests;
