//! Findings that can be seen in any table, ours or not: cells are hashed as rows are read, the rest
//! is told by the audit.
//!
//! Guarantee: counts of values are exact up to a number of distinct ones, the same in any memory,
//! and beyond it estimates, which is said.

use albers_measure::RowRuns;
use albers_measure::audit::SensitiveReached;
use albers_measure::exposure::{CountedRows, Exposure, ExposurePlan, counts_of};
use albers_measure::risk::Risk;
use albers_privacy::{Criterion, Requirement};
use albers_storage::memory_budget::Reservation;
use albers_table::chunk::ColumnChunk;
use albers_table::distinct_sample::DistinctSample;
use albers_table::mix::mix;
use albers_table::row::RowId;
use albers_table::schema::{ColumnType, Role};
use albers_table::source::{ColumnRequest, Source, place_of};
use albers_table::value_hash::{NumberedValues, value_hashes};

use super::columns::AuditedColumns;
use super::concerned::RowHashes;
use super::listed::{ChunkNames, ListedNames, NameCount};
use crate::error::Result;
use crate::finding::{Finding, FindingName};
use crate::findings::{
    about, is_list_of_itself, is_listed, rows_per_person, secret_without_rule, unique_keep,
    unique_keeps,
};
use crate::job::Job;
use crate::plan::counted_identifiers;
use crate::report::ConcernedRows;
use crate::rows::most_repeated;
use crate::runs::RunChunk;

/// Distinct values of all counted columns that are counted exactly.
const MAX_VALUES: usize = 1 << 18;

/// The columns that are only counted as rows are first read, as texts: those that a job keeps, and
/// its identifiers.
pub(super) fn counted_columns(
    job: &Job,
    source: &dyn Source,
) -> Result<(Vec<ColumnRequest>, usize)> {
    let as_text = |name: &str| ColumnRequest {
        name: name.to_owned(),
        column_type: Some(ColumnType::Text),
        coded: true,
        carried: false,
    };
    let mut requests = Vec::new();
    for name in job.with_role(Role::Keep) {
        let column = &source.columns()[place_of(source.name(), source.columns(), name)?];
        if column.can_be_coded() {
            requests.push(as_text(name));
        }
    }
    let n_kept = requests.len();
    let identifiers = counted_identifiers(job, source.columns());
    requests.extend(identifiers.iter().map(|name| as_text(name)));
    Ok((requests, n_kept))
}

/// What a chunk tells: how often its cells occur, the names that it shows, and the hashes of its
/// rows where their numbers are wanted.
pub(super) struct ChunkCells {
    /// The kept columns, beside what the quasi-identifiers show.
    kept: CountedRows,
    identifiers: Vec<Vec<(u64, u32)>>,
    names: Vec<ChunkNames>,
    rows: Option<ChunkHashes>,
}

/// The hashes of the cells of a chunk, row by row.
pub(super) struct ChunkHashes {
    pub(super) first_row: RowId,
    /// What the quasi-identifiers show, one number for each row.
    pub(super) shown: Vec<u64>,
    /// The person of each row, where a column tells it.
    pub(super) subjects: Vec<u64>,
    pub(super) sensitive: Vec<Vec<u64>>,
    /// The kept columns, then the identifiers.
    pub(super) counted: Vec<Vec<u64>>,
}

impl ChunkCells {
    /// Looks at the columns of a chunk, and at those that are only counted.
    pub(super) fn of(
        columns: &AuditedColumns,
        chunk: &RunChunk,
        counted: &[ColumnChunk],
        wants_rows: bool,
    ) -> ChunkCells {
        let mut shown = vec![0u64; chunk.n_runs()];
        if wants_rows || columns.n_kept > 0 {
            for cells in chunk.shown.iter().map(value_hashes) {
                shown.iter_mut().zip(cells).for_each(|(hash, cell)| *hash = mix(*hash ^ cell));
            }
        }
        // A chunk without rows has no columns.
        let (kept, identifiers) = counted.split_at(columns.n_kept.min(counted.len()));
        let kept: Vec<NumberedValues> = kept.iter().map(NumberedValues::of).collect();
        let sizes: Vec<u32> = chunk.sizes().collect();
        let count = |cells: &ColumnChunk| counts_of(&NumberedValues::of(cells));
        ChunkCells {
            kept: CountedRows::of(&RowRuns::of_sizes(sizes.iter().copied()), &shown, &kept),
            identifiers: identifiers.iter().map(count).collect(),
            names: chunk.shown.iter().map(|cells| ChunkNames::of(cells, &sizes)).collect(),
            rows: wants_rows.then(|| ChunkHashes::of(columns, chunk, &shown, counted)),
        }
    }
}

impl ChunkHashes {
    fn of(
        columns: &AuditedColumns,
        chunk: &RunChunk,
        shown: &[u64],
        counted: &[ColumnChunk],
    ) -> ChunkHashes {
        let mut others = chunk.others.iter().map(value_hashes);
        let n_subjects = usize::from(columns.has_subject);
        ChunkHashes {
            first_row: chunk.first_row,
            shown: chunk.spread(shown),
            subjects: others.by_ref().take(n_subjects).next().unwrap_or_default(),
            sensitive: others.collect(),
            counted: counted.iter().map(value_hashes).collect(),
        }
    }
}

/// What is counted as rows are read.
pub(super) struct CellCounts {
    n_kept: usize,
    kept: Exposure,
    identifiers: Vec<DistinctSample>,
    names: Vec<ListedNames>,
    /// The hashes of all rows, where their numbers are wanted, and what they take.
    rows: Option<(RowHashes, Reservation)>,
    /// What they would take, where their numbers are wanted.
    row_bytes: u64,
}

impl CellCounts {
    /// Of no row yet; with the hashes of all rows where there is a reservation for them.
    pub(super) fn new(columns: &AuditedColumns, rows: Option<Reservation>) -> CellCounts {
        let (n_kept, n_counted) = (columns.n_kept, columns.counted.0.len());
        let max_values = MAX_VALUES / (n_counted + 2);
        CellCounts {
            n_kept,
            kept: Exposure::new(&ExposurePlan { n_kept, n_secrets: 0, max_values }),
            identifiers: (n_kept..n_counted).map(|_| DistinctSample::new(max_values / 2)).collect(),
            names: (0..columns.n_quasi).map(|_| ListedNames::default()).collect(),
            rows: rows.map(|memory| (RowHashes::default(), memory)),
            row_bytes: 0,
        }
    }

    /// What the hashes of all rows would take, if they were wanted and did not fit.
    pub(super) fn missing_row_bytes(&self) -> Option<u64> {
        (self.row_bytes > 0 && self.rows.is_none()).then_some(self.row_bytes)
    }

    /// Adds the rows of a chunk.
    pub(super) fn add(&mut self, chunk: ChunkCells) {
        self.kept.add_counted(&chunk.kept);
        for (sample, counts) in self.identifiers.iter_mut().zip(&chunk.identifiers) {
            counts.iter().for_each(|&(hash, n_rows)| sample.add(mix(hash), n_rows));
        }
        self.names.iter_mut().zip(&chunk.names).for_each(|(own, more)| own.add(more));
        let Some(hashes) = chunk.rows else { return };
        let n_bytes = RowHashes::bytes_of(&hashes);
        self.row_bytes += n_bytes as u64;
        let fits = self.rows.as_mut().is_some_and(|(_, memory)| memory.try_grow(n_bytes).is_ok());
        match &mut self.rows {
            Some((rows, _)) if fits => rows.add(hashes),
            // The pass goes on without them, to tell how much would do.
            _ => self.rows = None,
        }
    }
}

/// What an audit saw.
pub(super) struct Seen<'a> {
    pub(super) job: &'a Job,
    pub(super) columns: &'a AuditedColumns,
    pub(super) requirement: &'a Requirement,
    pub(super) sensitive: &'a [SensitiveReached],
    pub(super) risk: &'a Risk,
    /// The k that is reached.
    pub(super) k: u64,
    /// The k that is asked for, where one is; else what is reached.
    pub(super) asked_k: u64,
    pub(super) n_rows: u64,
    pub(super) counts: &'a CellCounts,
}

impl Seen<'_> {
    /// What puts people at risk, whatever holds.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let Seen { requirement, n_rows, asked_k, counts, .. } = *self;
        let mut findings: Vec<Finding> = self.low_k().into_iter().collect();
        let (kept, identifiers) = self.columns.counted.0.split_at(counts.n_kept);
        for (place, request) in kept.iter().enumerate() {
            let (alone, n_values) =
                (counts.kept.alone_by_value(place), counts.kept.n_values(place));
            findings.extend(unique_keep(&request.name, alone, n_values, n_rows, asked_k));
        }
        findings.extend(unique_keeps(&counts.kept, kept.len()));
        for (place, (column, reached)) in
            requirement.columns().iter().zip(self.sensitive).enumerate()
        {
            let is_rule = |(own, criterion): &(usize, Criterion)| {
                *own == place && criterion.asks_for_something()
            };
            if !requirement.rules().iter().any(is_rule) {
                let (n_shared, share) = (reached.shared_rows, reached.max_share);
                findings.push(secret_without_rule(&column.name, n_shared, n_rows, share));
            }
        }
        let shown = self.columns.requests.iter().zip(&counts.names);
        findings.extend(shown.filter_map(|(request, names)| self.text_list(&request.name, names)));
        let names: Vec<String> = identifiers.iter().map(|own| own.name.clone()).collect();
        let repeated = most_repeated(&names, &counts.identifiers);
        findings.extend(repeated.map(|own| rows_per_person(&own, n_rows)));
        findings
    }

    /// The rows that findings are about, where they were wanted.
    pub(super) fn concerned(&self, findings: &[Finding]) -> Vec<ConcernedRows> {
        let Some((rows, _)) = &self.counts.rows else { return Vec::new() };
        rows.concerned(findings, self.columns)
    }

    fn text_list(&self, name: &str, names: &ListedNames) -> Option<Finding> {
        let own = self.job.columns.get(name);
        // Labels of a hierarchy are no lists of values.
        if own.is_some_and(|own| own.hierarchy.is_some()) {
            return None;
        }
        let NameCount { n_names, n_single, is_about } =
            names.count(own.and_then(|own| own.column_type))?;
        is_listed(n_names).then(|| Finding {
            name: FindingName::TextList,
            column: Some(name.to_owned()),
            count: n_names,
            is_about,
            is_severe: is_list_of_itself(n_names, n_single),
            sentence: format!(
                "'{name}' is text without a hierarchy that shows {about}{n_names} of its own \
                 values, of which at least {about}{n_single} are of one row each: a value that one \
                 person has is there to be searched for",
                about = about(is_about),
            )
            .into(),
        })
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
