//! Audits a table, ours or anybody's: which requirement holds, and how likely a person is found.
//!
//! ```text
//!   source ──► chunks ──keep while they fit──► all of them: classes in memory ──┐
//!                 │ too many                                                    │
//!                 ▼                                                             ├──► Auditor
//!              survey of the sensitive columns                                  │       │
//!                 │                                                             │       ▼
//!   rows once more ──► records ──► buckets by what rows show ──► classes ───────┘     report
//! ```
//!
//! Guarantee: the report is the same either way, for any budget and any number of threads, but for
//! what only all texts together tell (how classes lie to each other, and the loss that a manifest
//! says); rows that show different things count as one class with a chance of one in 2^128 per pair.
//! Cost: one pass over the rows; of a table that does not fit a second one, a small record per row
//! in the spill store, and the distinct values of the sensitive columns in memory.

mod asked;
mod buckets;
mod columns;
mod concerned;
mod listed;
mod looked;
mod loss;
mod manifest;
mod original;
mod outside;
mod read;
mod records;
mod relation;
mod seen;
mod texts;
mod whole;

use std::collections::BTreeMap;

use albers_measure::Relation;
use albers_measure::audit::{Audit, Missed, SensitiveReached};
use albers_measure::risk::{Risk, SizeBin, Threshold, size_bins};
use albers_privacy::Requirement;
use albers_storage::watch::Watch;
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use albers_table::schema::Role;
use albers_table::source::Source;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::finding;
use crate::finding::{Acceptance, Finding};
use crate::job::Job;
use crate::memory::{Memory, on_threads};
use crate::plan::{Resources, check_criteria_have_roles};
use crate::report::{ClassSize, ConcernedRows, Manifest, Note};

use columns::AuditedColumns;
use looked::Looked;
use original::Comparison;
use read::AuditedRows;
use seen::Seen;

pub use manifest::{Differs, ManifestCheck, check_release};
pub use original::Original;

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CheckReport {
    /// Rows of the table.
    pub rows: u64,
    /// Groups of rows that show the same on the quasi-identifiers.
    pub classes: u64,
    /// Rows per class.
    pub class_size: ClassSize,
    /// How the classes lie to each other, where what they show tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_relation: Option<Relation>,
    /// The k that is reached: rows, or subjects, of the smallest class.
    pub k: u64,
    /// What k counts: `rows` or `subjects`.
    pub k_counts: &'static str,
    /// What the worst class reaches on each sensitive column.
    pub sensitive: BTreeMap<String, SensitiveReached>,
    /// How likely a person is found.
    pub risk: Risk,
    /// Classes by size.
    pub sizes: Vec<SizeBin>,
    /// The requirement, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// Whether it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// The parts of it that do not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<Missed>,
    /// What came of the comparison with its manifest, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<ManifestCheck>,
    /// What puts people at risk, whatever holds.
    pub findings: Vec<Finding>,
    /// What the job accepts of that, and what the job of the release did by its manifest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// The severe findings that nobody accepts, as an acceptance names them.
    pub not_accepted: Vec<String>,
    /// Things the user should know.
    pub notes: Vec<Note>,
    /// Bytes written to temporary files, where the table did not fit in memory.
    #[serde(skip_serializing_if = "is_zero")]
    pub spilled_bytes: u64,
}

/// Audits a table by the roles and the requirement of a job. A risk above the threshold is too
/// high: the one that is given, else that of a class of k, else 0.2.
///
/// ```
/// use albers::source::{ReadOptions, StreamSource};
/// use albers::{Job, Role, Silent, check};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = "age\n[30-39]\n[30-39]\n[50-59]\n[50-59]\n".as_bytes();
/// let table = StreamSource::text(Box::new(text), "a release", None, &ReadOptions::default())?;
/// let mut job = Job { k: Some(3), ..Job::default() };
/// job.set_role("age", Role::Quasi)?;
/// let report = check(&job, &table, None, &Silent)?;
/// assert_eq!((report.k, report.holds), (2, Some(false)));
/// # Ok(())
/// # }
/// ```
pub fn check(
    job: &Job,
    table: &dyn Source,
    threshold: Option<f64>,
    watch: &dyn Watch,
) -> Result<CheckReport> {
    let (mut report, _) = audited(job, table, threshold, Looked::default(), watch)?;
    report.accept(job, None);
    Ok(report)
}

/// What stands beside a table that is audited, and what is wanted of it.
#[derive(Clone, Copy, Default)]
pub struct Beside<'a> {
    /// The manifest of a release, and the digest of its bytes: see [`check_release`].
    pub manifest: Option<(&'a Manifest, &'a str)>,
    /// The table that it was made of, for the findings that need it.
    pub original: Option<Original<'a>>,
    /// Whether the numbers of the rows are wanted that findings of the table itself are about.
    pub wants_rows: bool,
}

/// The same with what stands beside the table, and with the rows that findings are about.
pub fn check_beside(
    job: &Job,
    table: &dyn Source,
    beside: &Beside<'_>,
    threshold: Option<f64>,
    watch: &dyn Watch,
) -> Result<(CheckReport, Vec<ConcernedRows>)> {
    let Beside { manifest, original, wants_rows } = *beside;
    if let Some((manifest, digest)) = manifest {
        let looked = Looked { wants_rows, original, ..Looked::beside(manifest) };
        return manifest::compared(job, (table, looked), (manifest, digest), threshold, watch);
    }
    let looked = Looked { wants_rows, original, ..Looked::default() };
    let (mut report, looked) = audited(job, table, threshold, looked, watch)?;
    report.accept(job, None);
    Ok((report, looked.rows))
}

/// The same, with what the texts of the quasi-identifiers lose.
fn audited<'m>(
    job: &Job,
    table: &dyn Source,
    threshold: Option<f64>,
    mut looked: Looked<'m>,
    watch: &dyn Watch,
) -> Result<(CheckReport, Looked<'m>)> {
    if let Some(threshold) = threshold.filter(|own| !(0.0..=1.0).contains(own)) {
        return Err(Error::usage(
            format!("the threshold {threshold} is not a risk"),
            "use a number between 0 and 1, for example 0.09",
        ));
    }
    if job.k == Some(0) {
        return Err(Error::usage("k = 0 hides nobody", "use a k of 2 or more"));
    }
    check_criteria_have_roles(job)?;
    let job = job.with_hierarchies()?;
    let resources = Resources::of(&job)?;
    if let Some(original) = &looked.original {
        original.check(&job, table)?;
    }
    on_threads(resources.n_threads, || {
        let memory = Memory::of_resources(&resources);
        let of_table = match looked.original {
            Some(_) => without_dropped_subject(&job, table),
            None => job.clone(),
        };
        let mut report = audit_within(&of_table, (table, &mut looked), threshold, &memory, watch)?;
        if let Some(original) = looked.original {
            let comparison = Comparison {
                k: job.k.unwrap_or(report.k),
                job: original::told_by(&job, looked.manifest)?,
                release: table,
                original,
                memory: &memory,
                watch,
            };
            let compared = comparison.compare()?;
            report.findings.extend(compared.findings);
            report.notes.extend(compared.notes);
        }
        Ok((report, looked))
    })
}

/// The job without a subject that only the original has: of the release, rows are counted.
fn without_dropped_subject(job: &Job, release: &dyn Source) -> Job {
    let mut job = job.clone();
    let is_there = |name: &str| release.columns().iter().any(|own| own.name == name);
    let subjects = job.columns.iter_mut().filter(|(_, own)| own.role == Some(Role::Subject));
    for (_, own) in subjects.filter(|(name, _)| !is_there(name)) {
        own.role = None;
    }
    job
}

/// Audits a table by a job whose hierarchies are read.
fn audit_within(
    job: &Job,
    (table, looked): (&dyn Source, &mut Looked<'_>),
    threshold: Option<f64>,
    memory: &Memory,
    watch: &dyn Watch,
) -> Result<CheckReport> {
    let (mut columns, mut notes) = AuditedColumns::of(job, table)?;
    let (rows, counts) = read::read(job, table, &mut columns, looked.wants_rows, (memory, watch))?;
    let (requirement, found) = match rows {
        AuditedRows::Whole(whole) => whole::audit(job, &columns, whole, looked, watch, &mut notes)?,
        AuditedRows::Outside(rows) => {
            let reading = outside::Reading { source: table, columns: &columns, watch };
            reading.audit(job, rows, memory, &mut notes)?
        }
    };
    let spilled_bytes = memory.store.written_bytes();
    let sensitive = found.sensitive.clone();
    let mut report = report(job, threshold, &requirement, found, notes, spilled_bytes);
    let seen = Seen {
        job,
        columns: &columns,
        requirement: &requirement,
        sensitive: &sensitive,
        risk: &report.risk,
        k: report.k,
        asked_k: job.k.unwrap_or(report.k),
        n_rows: report.rows,
        counts: &counts,
    };
    report.findings = seen.findings();
    looked.rows = seen.concerned(&report.findings);
    report.class_relation = looked.relation;
    Ok(report)
}

fn report(
    job: &Job,
    threshold: Option<f64>,
    requirement: &Requirement,
    found: Audit,
    notes: Vec<Note>,
    spilled_bytes: u64,
) -> CheckReport {
    let is_asked = job.k.is_some() || !requirement.rules().is_empty();
    let sizes = &found.sizes;
    let (rows, classes) = (sizes.n_rows(), sizes.n_classes());
    let (min, max) = sizes.row_ends();
    let names = requirement.columns().iter().map(|column| column.name.clone());
    CheckReport {
        rows,
        classes,
        class_size: ClassSize { min, mean: rows as f64 / classes.max(1) as f64, max },
        class_relation: None,
        k: sizes.least_group_size(),
        k_counts: if requirement.shape().counts_subjects { "subjects" } else { "rows" },
        risk: Risk::of(sizes, Threshold::of(threshold, job.k)),
        sizes: size_bins(sizes),
        sensitive: names.zip(found.sensitive).collect(),
        requirement: is_asked.then(|| requirement.describe()),
        holds: is_asked.then_some(found.missed.is_empty()),
        missed: found.missed,
        manifest: None,
        findings: Vec::new(),
        accepted: Vec::new(),
        not_accepted: Vec::new(),
        notes,
        spilled_bytes,
    }
}

impl CheckReport {
    /// Says what is accepted of the findings: by the job, and by the manifest of a release, whose
    /// owner decided it then.
    fn accept(&mut self, job: &Job, manifest: Option<&Manifest>) {
        let by_manifest = manifest.map_or(&[][..], |own| &own.accepted);
        // A name that this version does not know meets nothing that it finds.
        let by_manifest = by_manifest.iter().filter_map(|text| text.parse::<Acceptance>().ok());
        let mut all = job.accept.clone();
        all.extend(by_manifest.filter(|own| !job.accept.contains(own)));
        let idle = finding::without_effect(&self.findings, &job.accept);
        self.notes.extend(idle.into_iter().map(|accepted| Note::NothingToAccept { accepted }));
        let not_accepted = finding::not_accepted(&self.findings, &all);
        self.not_accepted = not_accepted.iter().map(Finding::label).collect();
        self.accepted = all.iter().map(ToString::to_string).collect();
    }

    /// Whether a finding is severe, and accepted.
    pub fn is_accepted(&self, finding: &Finding) -> bool {
        finding.is_severe && !self.not_accepted.contains(&finding.label())
    }

    /// What to do about severe findings that nobody accepts, if there are any.
    pub fn advice(&self) -> Option<Wording> {
        let accept = Field::Accept.of(self.not_accepted.join(","));
        let advice = wording!["hide them, or say that this is meant with ", accept];
        (!self.not_accepted.is_empty()).then_some(advice)
    }
}

fn is_zero(n_bytes: &u64) -> bool {
    *n_bytes == 0
}

#[cfg(test)]
mod tests;
