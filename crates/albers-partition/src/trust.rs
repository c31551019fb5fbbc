//! Which splits a sample supports.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 5.2.1.

/// What tells whether a sample supports a split.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Test {
    /// The exact tail of the number of sampled rows.
    #[default]
    Exact,
    /// The normal approximation of the paper.
    Normal,
    /// None: what holds of the sample is taken to hold of the rows.
    Naive,
}

/// How far a sample is trusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trust {
    /// What tells whether a split is supported.
    pub test: Test,
    /// The greatest height of a sampled top.
    pub height: Option<usize>,
    /// The tuples of a sample; as the grain says when not given.
    pub sample_rows: Option<usize>,
}
