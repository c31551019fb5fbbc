//! What is recorded of each release.

use albers_privacy::ClassSummary;
use serde::{Deserialize, Serialize};

/// What is published: later kinds follow these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ReleaseKind {
    /// Classes were made anew.
    Plain,
    /// Earlier classes as they were or joined, new rows in classes of their own.
    Batch,
}

/// A release that is about to be tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRelease {
    /// The name by which manifest and ledger call it.
    pub id: String,
    /// How its classes came about.
    pub kind: ReleaseKind,
    /// The k of its finest member.
    pub k: u64,
    /// Its requirement in words.
    pub requirement: String,
    /// The ks of the coarser releases that were made of its classes.
    pub coarser_ks: Vec<u64>,
    /// The name of its file.
    pub file_name: Option<String>,
    /// Rows that wait for the next release.
    pub n_waiting: u64,
    /// What later versions add, each under a tag of its own.
    pub extra: Vec<(u16, Vec<u8>)>,
}

impl NewRelease {
    /// A release of classes that were made anew, alone and without a file yet.
    pub fn new(id: impl Into<String>, k: u64, requirement: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            kind: ReleaseKind::Plain,
            k,
            requirement: requirement.into(),
            coarser_ks: Vec::new(),
            file_name: None,
            n_waiting: 0,
            extra: Vec::new(),
        }
    }
}

/// A release that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// The name by which manifest and ledger call it.
    pub id: String,
    /// How its classes came about.
    pub kind: ReleaseKind,
    /// The k of its finest member.
    pub k: u64,
    /// Its requirement in words.
    pub requirement: String,
    /// The ks of the coarser releases that were made of its classes.
    pub coarser_ks: Vec<u64>,
    /// The name of its file.
    pub file_name: Option<String>,
    /// Rows that waited for the next release.
    pub n_waiting: u64,
    /// Rows published.
    pub n_rows: u64,
    /// Classes of its finest member.
    pub n_classes: u32,
    /// Whether sets below the requirement were accepted.
    pub linkage_accepted: bool,
    /// What later versions add, each under a tag of its own.
    pub extra: Vec<(u16, Vec<u8>)>,
}

impl Release {
    /// A release of so many rows and classes, which accepts nothing yet.
    pub(crate) fn of(new: NewRelease, n_rows: u64, n_classes: u32) -> Self {
        Self {
            id: new.id,
            kind: new.kind,
            k: new.k,
            requirement: new.requirement,
            coarser_ks: new.coarser_ks,
            file_name: new.file_name,
            n_waiting: new.n_waiting,
            n_rows,
            n_classes,
            linkage_accepted: false,
            extra: new.extra,
        }
    }
}

/// A release with what only the ledger looks at.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recorded {
    pub release: Release,
    pub first_set: u32,
    pub n_sets: u32,
    pub whole: Option<Whole>,
}

/// How often each sensitive code occurs in a release.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Whole {
    pub n_rows: u64,
    pub counts: Vec<Vec<(u32, u64)>>,
}

impl Whole {
    pub fn of(summary: &ClassSummary, n_columns: u32) -> Self {
        let counts = |column: u32| summary.histogram(column as usize).iter().collect();
        Self { n_rows: summary.n_rows(), counts: (0..n_columns).map(counts).collect() }
    }

    /// Whether every column counts every row.
    pub fn is_sound(&self, n_columns: u32) -> bool {
        let sum = |counts: &Vec<(u32, u64)>| {
            counts.iter().try_fold(0_u64, |sum, &(_, n)| sum.checked_add(n))
        };
        let ascends = |counts: &Vec<(u32, u64)>| counts.windows(2).all(|w| w[0].0 < w[1].0);
        self.n_rows > 0
            && self.counts.len() == n_columns as usize
            && self.counts.iter().all(|counts| sum(counts) == Some(self.n_rows) && ascends(counts))
    }

    pub fn recode(&mut self, code_of: &dyn Fn(usize, u32) -> u32) {
        for (column, counts) in self.counts.iter_mut().enumerate() {
            counts.iter_mut().for_each(|(code, _)| *code = code_of(column, *code));
            counts.sort_unstable();
            counts.dedup_by(|next, first| {
                let same = next.0 == first.0;
                first.1 += if same { next.1 } else { 0 };
                same
            });
        }
    }
}
