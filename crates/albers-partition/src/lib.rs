//! Top-down partitioning of points into classes.
//!
//! - [`split`]: policies that choose where to cut a set of points.
//! - [`features`]: what is known beside the attributes, as cells.
//! - [`grain`]: sizes that decide which cuts are made.
//! - [`counts`]: the same splits, chosen by counts of values.
//! - [`grow`]: the one grower; [`split_tree`]: what it grows.
//! - [`cell`]: points that are split to the end, at once or divided first.
//! - [`local`]: local recoding, rows grouped by least added loss.
//! - [`mondrian`]: the recursion that cuts until no allowable cut is left.
//! - [`outliers`]: rows whose absence saves most loss.
//! - [`plan`]: what all of them are given.
//! - [`portfolio`]: several ways of which the one that loses least is taken.
//! - [`sample`]: a sample of a table that is a function of its content.
//! - [`specialize`]: one recoding of each attribute for all rows, found by specialization.
//! - [`top`]: the first cuts of a large table, chosen on a sample.
//! - [`trust`]: which cuts a sample supports.

pub mod cell;
pub mod counts;
pub mod features;
pub mod grain;
pub mod grow;
pub mod local;
pub mod mondrian;
pub mod outliers;
pub mod plan;
pub mod portfolio;
pub mod sample;
pub mod specialize;
pub mod split;
pub mod split_tree;
pub mod top;
pub mod trust;

/// Calls `f::<L, M>(args)` with as many lanes as the attributes need; `sets` tells whether some
/// attribute is shown as a small set.
#[macro_export]
macro_rules! with_lanes {
    ($n_attributes:expr, $sets:expr, $f:ident($($args:expr),* $(,)?)) => {
        match ($n_attributes, $sets) {
            (0..=8, false) => $f::<8, 0>($($args),*),
            (0..=8, true) => $f::<8, 8>($($args),*),
            (9..=12, false) => $f::<12, 0>($($args),*),
            (9..=12, true) => $f::<12, 12>($($args),*),
            (13..=24, false) => $f::<24, 0>($($args),*),
            (13..=24, true) => $f::<24, 24>($($args),*),
            (_, false) => $f::<64, 0>($($args),*),
            (_, true) => $f::<64, 64>($($args),*),
        }
    };
}

/// As how many attributes points take, since they are made of whole vectors.
pub fn n_lanes(n_attributes: usize) -> usize {
    fn lanes_of<const L: usize, const M: usize>() -> usize {
        L
    }
    with_lanes!(n_attributes, false, lanes_of())
}
