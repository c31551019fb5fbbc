//! Anonymizing as building a spatial index with a minimum leaf occupancy.
//!
//! - [`rplus_tree`]: the index: disjoint regions, minimum bounding boxes, leaves that satisfy the
//!   requirement.
//! - [`buffer_tree`]: loads it from more rows than fit in memory.
//! - [`outliers`]: its units without the rows whose absence saves most.
//! - [`rothko_tree`]: cuts more rows than fit in memory as they would be cut there.
//! - [`bang_file`]: another index: regions that may lie in each other.
//! - [`key_buffers`]: loads it from more rows than fit in memory.
//! - [`leaf_buffers`]: later rows by the leaves of a tree that was grown before.
//! - [`living`]: the index kept, while rows come and go.
//! - [`access_methods`]: relatives of it, for comparison.
//! - [`grid`]: space halved equally often everywhere.
//! - [`granularity`]: coarser releases from the leaves of an index built once.

pub mod access_methods;
pub mod bang_file;
pub mod buffer_tree;
pub mod granularity;
pub mod grid;
pub mod key_buffers;
pub mod leaf_buffers;
pub mod living;
pub mod outliers;
pub mod rothko_tree;
pub mod rplus_tree;

#[cfg(test)]
mod drawn;
