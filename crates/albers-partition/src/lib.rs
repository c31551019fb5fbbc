//! Top-down partitioning of points into classes.
//!
//! - [`space`]: the attributes as axes, and the loss of a box as it will be shown.
//! - [`split`]: policies that choose where to cut a set of points.
//! - [`mondrian`]: the recursion that cuts until no allowable cut is left.
//! - [`groups`]: what a method hands to the release.

pub mod groups;
pub mod mondrian;
pub mod space;
pub mod split;

pub use groups::{GroupBlock, Groups};
