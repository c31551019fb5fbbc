//! What the experiments of the papers set by hand, and a job finds out by itself.

use albers_partition::trust::Test;

/// The knobs of Rothko: of a large table that is cut by counts of values, or by a sample.
///
/// Source: LeFevre, DeWitt & Ramakrishnan 2008, section 6. What is not set follows from the rows,
/// the job and, where it decides nothing but the way to the same release, the memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Knobs {
    /// The tuples of a sample.
    pub sample_rows: Option<usize>,
    /// The count groups that are held in memory together, the paper's `F_CACHE`.
    pub count_groups: Option<usize>,
    /// The rows that fit in memory, the paper's `TM`.
    pub memory_rows: Option<usize>,
    /// What tells whether a sample supports a split.
    pub test: Test,
    /// The greatest height of a sampled top.
    pub height: Option<usize>,
}
