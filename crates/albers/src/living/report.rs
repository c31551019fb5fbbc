//! What an index tells of itself, and of what was done to it: all of it is its owner's.

use serde::{Deserialize, Serialize};

use crate::report::Report;

/// What a batch did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BatchReport {
    /// Whether the index is as it was, since that was all that was asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Rows that were not there before.
    pub inserted: u64,
    /// Rows that hold something else now.
    pub updated: u64,
    /// Rows that are gone.
    pub deleted: u64,
    /// Rows that were there as they came.
    pub unchanged: u64,
    /// Rows of the index after it.
    pub rows: u64,
    /// The time that it took.
    pub seconds: f64,
    /// The most memory that the process has held.
    pub peak_rss_bytes: u64,
}

/// What an index is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct IndexInfo {
    /// Rows of the table.
    pub rows: u64,
    /// Leaves of the tree; rows that wait in buffers are in none.
    pub leaves: u64,
    /// Parts that the leaves are stored in.
    pub parts: u64,
    /// Rows that are in no part yet.
    pub buffered: u64,
    /// Batches that were committed.
    pub batches: u64,
    /// The column that tells rows apart.
    pub key: String,
    /// What every class must satisfy.
    pub requirement: String,
    /// What was released, in order.
    pub releases: Vec<ReleaseInfo>,
    /// Bytes of all files.
    pub bytes: u64,
}

/// A release of an index, as its ledger knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReleaseInfo {
    /// Its number, from 1 on.
    pub release: u64,
    /// What every class of it satisfies.
    pub requirement: String,
    /// The k of coarser releases that appeared with it.
    pub also_k: Vec<u64>,
    /// Rows published.
    pub rows: u64,
    /// Its classes.
    pub classes: u64,
    /// Whether earlier classes stayed as they were.
    pub batch: bool,
    /// Whether sets below the requirement were accepted.
    pub linkage_accepted: bool,
}

/// What came of a release of an index.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ReleaseReport {
    /// What there is to tell of any release. Of its times, `partition` is that of emptying buffers and
    /// mending leaves, and `read` that of handing the rows of the parts to the door.
    #[serde(flatten)]
    pub report: Report,
    /// Its number, from 1 on.
    pub release: u64,
    /// Rows of the smallest set of rows that all releases together cannot tell apart.
    pub smallest_set: Option<u64>,
    /// Rows of sets that this release leaves below the requirement.
    pub rows_below: u64,
    /// Rows that wait for more like them.
    pub waiting: u64,
    /// Rows that were cut anew, since rows had come or gone where they lie.
    pub rows_cut: u64,
    /// The time that the test of all sets took; a part of that of verifying.
    pub sets_seconds: f64,
}

/// What is wrong with an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexProblem {
    /// What it is, and where.
    pub problem: String,
}

/// What a look at all of an index found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexCheck {
    /// Rows that were looked at.
    pub rows: u64,
    /// Leaves.
    pub leaves: u64,
    /// Pages and records that are not what they should be; none if all is well.
    pub problems: Vec<IndexProblem>,
}
