//! Findings that can be seen in any table, ours or not: kept columns are hashed as rows are read,
//! the rest is told by the audit.
//!
//! Guarantee: counts of kept values are exact up to a number of distinct values, the same in any
//! memory, and beyond it estimates, which is said.

use albers_measure::audit::SensitiveReached;
use albers_measure::exposure::RowCount;
use albers_measure::risk::Risk;
use albers_privacy::Requirement;
use albers_table::chunk::ColumnChunk;
use albers_table::distinct_sample::DistinctSample;
use albers_table::mix::mix;
use albers_table::schema::{ColumnType, Role};
use albers_table::source::{ColumnRequest, Source, place_of};
use albers_table::value_hash::{MISSING, value_hashes};

use crate::error::Result;
use crate::findings::{Finding, FindingName, secret_without_rule, unique_keep};
use crate::job::Job;

/// Distinct values of all kept columns that are counted exactly.
const MAX_VALUES: usize = 1 << 18;

/// The columns that a job keeps, as texts.
pub(super) fn kept_columns(job: &Job, source: &dyn Source) -> Result<Vec<ColumnRequest>> {
    let mut requests = Vec::new();
    for name in job.with_role(Role::Keep) {
        let column = &source.columns()[place_of(source.name(), source.columns(), name)?];
        if column.can_be_coded() {
            requests.push(ColumnRequest {
                name: name.to_owned(),
                column_type: Some(ColumnType::Text),
                coded: true,
                carried: false,
            });
        }
    }
    Ok(requests)
}

/// What is counted of the kept columns.
pub(super) struct KeptCounts(Vec<DistinctSample>);

impl KeptCounts {
    /// Of no row yet.
    pub(super) fn new(n_columns: usize) -> KeptCounts {
        let sample = || DistinctSample::new(MAX_VALUES / 2 / n_columns.max(1));
        KeptCounts((0..n_columns).map(|_| sample()).collect())
    }

    /// Adds the rows of a chunk, by the hashes of their cells.
    pub(super) fn add(&mut self, columns: &[Vec<u64>]) {
        for (counts, hashes) in self.0.iter_mut().zip(columns) {
            let told = hashes.iter().filter(|&&hash| hash != MISSING);
            told.for_each(|&hash| counts.add(mix(hash), 1));
        }
    }
}

/// The hashes of the cells of some columns.
pub(super) fn hashes_of(columns: &[ColumnChunk]) -> Vec<Vec<u64>> {
    columns.iter().map(value_hashes).collect()
}

/// What an audit saw.
pub(super) struct Seen<'a> {
    pub(super) requirement: &'a Requirement,
    pub(super) sensitive: &'a [SensitiveReached],
    pub(super) risk: &'a Risk,
    /// The k that is reached.
    pub(super) k: u64,
    /// The k that is asked for, where one is; else what is reached.
    pub(super) asked_k: u64,
    pub(super) n_rows: u64,
    pub(super) kept: &'a [ColumnRequest],
    pub(super) counts: &'a KeptCounts,
}

impl Seen<'_> {
    /// What puts people at risk, whatever holds.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let Seen { requirement, n_rows, asked_k, .. } = *self;
        let mut findings: Vec<Finding> = self.low_k().into_iter().collect();
        for (request, counts) in self.kept.iter().zip(&self.counts.0) {
            let n_rows_alone = counts.n_unique().round() as u64;
            let alone = RowCount { n_rows: n_rows_alone, is_about: counts.is_estimate() };
            findings.extend(unique_keep(
                &request.name,
                alone,
                counts.n_distinct(),
                n_rows,
                asked_k,
            ));
        }
        for (place, (column, reached)) in
            requirement.columns().iter().zip(self.sensitive).enumerate()
        {
            if requirement.rules().iter().all(|(own, _)| *own != place) {
                let (n_shared, share) = (reached.shared_rows, reached.max_share);
                findings.push(secret_without_rule(&column.name, n_shared, n_rows, share));
            }
        }
        findings
    }

    fn low_k(&self) -> Option<Finding> {
        let n_alone = self.risk.rows_in_smallest_classes;
        let n_rows = self.n_rows;
        (self.k == 1).then(|| Finding {
            name: FindingName::LowK,
            column: None,
            count: n_alone,
            is_about: false,
            is_severe: true,
            sentence: format!(
                "{n_alone} of {n_rows} rows are in classes of one: nothing hides whom they are about"
            )
            .into(),
        })
    }
}
