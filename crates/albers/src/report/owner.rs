//! What only the owner of a table may see of its release: all that is published, and figures of the
//! table itself.

use std::collections::BTreeMap;

use albers_index::rothko_tree::Passes;
use albers_measure::{Loss, PublishedLoss, Relation};
use albers_partition::top::SampledTops;
use serde::Serialize;

use crate::finding::Finding;

use super::{AlsoFile, Chosen, ClassSize, Manifest, Note, PrivacyReport, PublishedColumn};

/// Whom a report is for.
pub(crate) const AUDIENCE: &str = "owner";

/// The owner's report of a release. What the manifest has too stands at the same places.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Whom it is for: `owner`.
    pub audience: &'static str,
    /// Whether nothing was written, since that was all that was asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Rows published.
    pub rows: u64,
    /// Rows left out.
    pub suppressed: u64,
    /// Published classes: groups of rows that show the same.
    pub classes: u64,
    /// Rows per class.
    pub class_size: ClassSize,
    /// The requirement that was verified.
    pub requirement: String,
    /// What is promised of the release, where it is differential privacy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privacy: Option<PrivacyReport>,
    /// How classes were to be found, in the words of the job.
    pub method: String,
    /// How they were found.
    pub ran: String,
    /// The ways that were tried, where the job leaves open how the table is cut, and what each loses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<TriedReport>,
    /// What decided the order of classes and rows.
    pub seed: u64,
    /// Whether the same rows, job and seed give the same release; said where they may not, since
    /// the time decided what was found, or rows were drawn in secret.
    #[serde(skip_serializing_if = "is_true")]
    pub repeatable: bool,
    /// What the release loses by what it shows.
    pub loss: PublishedLoss,
    /// What it loses over the domain of the table.
    pub table_loss: Loss,
    /// How the classes lie to each other in space, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_relation: Option<Relation>,
    /// The divergence of the release from the table over the quasi-identifiers, where shown classes
    /// do not overlap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kl: Option<f64>,
    /// What it is at most, where they may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kl_at_most: Option<f64>,
    /// The same, or what it is at most, with the sensitive columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kl_with_sensitive: Option<f64>,
    /// What the divergence is over.
    pub kl_basis: KlBasis,
    /// The levels of a full-domain release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generalization: Option<GeneralizationReport>,
    /// What became of the first cuts of a large table, which are chosen on samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<SamplesReport>,
    /// Bytes of rows that were moved, where a table was cut outside of memory by counts of its values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<PassesReport>,
    /// What became of each column of the table.
    pub columns: Vec<ColumnReport>,
    /// What puts people at risk although the requirement holds.
    pub findings: Vec<Finding>,
    /// What the job accepts of that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// Things the user should know.
    pub notes: Vec<Note>,
    /// Where the time went.
    pub seconds: Seconds,
    /// The most memory the process held.
    pub peak_rss_bytes: u64,
    /// Bytes written to temporary files.
    pub spilled_bytes: u64,
    /// Bytes read back from them.
    pub read_back_bytes: u64,
    /// Bytes moved, by what for.
    pub bytes: MovedBytes,
    /// The SHA-256 of the release's bytes, where it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Coarser releases of the same index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<AlsoReport>,
    /// The program's version.
    pub version: String,
    /// The ncp of a given release that was compacted; nothing if its cells are not understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ncp_before: Option<Option<f64>>,
}

impl Report {
    /// What may be published of it. Everything is named here one by one, so that nothing is
    /// published by the way.
    pub fn manifest(&self) -> Manifest {
        // What is drawn in secret is told by the release file alone.
        let is_told = self.privacy.is_none();
        Manifest {
            rows: self.rows,
            suppressed: is_told.then_some(self.suppressed),
            classes: self.classes,
            class_size: self.class_size.clone(),
            requirement: self.requirement.clone(),
            privacy: self.privacy.clone(),
            method: self.method.clone(),
            seed: is_told.then_some(self.seed),
            repeatable: self.repeatable,
            loss: is_told.then(|| self.loss.clone()),
            columns: self.columns.iter().filter_map(ColumnReport::published).collect(),
            findings: is_told
                .then(|| self.findings.iter().filter_map(Finding::published).collect()),
            accepted: if is_told { self.accepted.clone() } else { Vec::new() },
            digest: self.digest.clone(),
            also: self.also.iter().map(AlsoReport::published).collect(),
            version: self.version.clone(),
        }
    }

    /// The report as a file holds it.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report has only plain fields") + "\n"
    }
}

fn is_true(value: &bool) -> bool {
    *value
}

/// A way to find classes that was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TriedReport {
    /// Which one.
    pub method: String,
    /// What the table loses by it, or a sample of it.
    pub ncp: f64,
    /// Whether a sample told, since the table is too large to be cut at once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sampled: bool,
}

impl TriedReport {
    /// All of what was chosen from.
    pub(crate) fn of(chosen: &Chosen) -> Vec<TriedReport> {
        let is_local = |method: &str| method == "local";
        let of_way = |(method, ncp): &(String, f64)| TriedReport {
            sampled: chosen.is_sampled && !is_local(method),
            method: method.clone(),
            ncp: *ncp,
        };
        chosen.tried.iter().map(of_way).collect()
    }
}

/// The levels of a full-domain release, and how they were found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GeneralizationReport {
    /// The level of each quasi-identifier, 0 for its own values.
    pub levels: BTreeMap<String, u16>,
    /// The sum of the levels.
    pub height: u64,
    /// One minus the mean share of their hierarchies that values have risen.
    pub precision: f64,
    /// Generalizations whose frequency set was looked at.
    pub checked: u64,
    /// Generalizations that satisfy, if all are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub satisfying: Option<u64>,
    /// No generalization has less of what was minimized, where the search had a time limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// How far this one is above that bound, as a share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
}

/// What became of the cuts of a large table that were chosen on samples. The figures are the same
/// whatever the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SamplesReport {
    /// How often rows were divided anew at most: trees one below the other.
    pub repartitions: u64,
    /// Trees that were grown on samples, and along which rows were divided.
    pub trees: u64,
    /// Their splits.
    pub splits: u64,
    /// Splits that were undone, since with all rows some part violated the requirement.
    pub pruned: u64,
    /// Parts whose sample supported no split that held with all rows, and that were divided without
    /// a test.
    pub fell_back: u64,
    /// Parts too large to be cut at once that stayed whole, although some split of them may be
    /// allowable.
    pub maybe_divisible: u64,
}

impl SamplesReport {
    /// Of what was counted.
    pub(crate) fn of(tops: SampledTops) -> SamplesReport {
        let SampledTops { repartitions, trees, splits, pruned, fell_back, maybe_divisible } = tops;
        SamplesReport { repartitions, trees, splits, pruned, fell_back, maybe_divisible }
    }
}

/// Bytes of rows that were moved while a table was cut outside of memory, before they are packed for
/// the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PassesReport {
    /// Written while the rows were read; the values of all of them were counted then.
    pub imported_bytes: u64,
    /// Read to count the values of parts of them.
    pub counted_bytes: u64,
    /// Read to be divided among partitions.
    pub repartitioned_read: u64,
    /// Written then.
    pub repartitioned_written: u64,
    /// Read to be cut in memory.
    pub loaded_bytes: u64,
    /// How many parts were repartitioned.
    pub repartitions: u64,
    /// How often a part was read to count its values.
    pub scans: u64,
}

impl PassesReport {
    /// Of what was counted.
    pub(crate) fn of(passes: Passes) -> PassesReport {
        PassesReport {
            imported_bytes: passes.imported_bytes,
            counted_bytes: passes.counted_bytes,
            repartitioned_read: passes.repartitioned_read,
            repartitioned_written: passes.repartitioned_written,
            loaded_bytes: passes.loaded_bytes,
            repartitions: passes.n_repartitions,
            scans: passes.n_scans,
        }
    }
}

/// A coarser release of the same index.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlsoReport {
    /// Its k.
    pub k: u64,
    /// The name of its file.
    pub file: String,
    /// Where it was written.
    pub path: String,
    /// Its own report.
    pub report: Report,
}

impl AlsoReport {
    fn published(&self) -> AlsoFile {
        AlsoFile { k: self.k, file: self.file.clone() }
    }
}

/// Bytes moved, by what for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MovedBytes {
    /// Read from the source, as packed as it is.
    pub source: u64,
    /// Written to temporary files while classes were found.
    pub partition_spilled: u64,
    /// Read back from them.
    pub partition_read_back: u64,
    /// Written to temporary files on the way out.
    pub release_spilled: u64,
    /// Read back from them.
    pub release_read_back: u64,
}

/// What a divergence is over.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KlBasis {
    /// The base of its logarithms.
    pub base: String,
    /// The values that a cell is spread over.
    pub domain: String,
    /// The columns of its tuples.
    pub columns: Vec<String>,
    /// The columns that `kl_with_sensitive` adds to them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sensitive: Vec<String>,
}

impl KlBasis {
    /// The basis of every divergence of this program, over tuples of these columns.
    pub(crate) fn over(columns: Vec<String>, sensitive: Vec<String>) -> KlBasis {
        KlBasis {
            base: "e (nats)".to_owned(),
            domain: "ordered columns: the values that occur in the original; categories: the \
                     leaves of the hierarchy, else the values that occur"
                .to_owned(),
            columns,
            sensitive,
        }
    }
}

/// What became of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnReport {
    /// Its name.
    pub name: String,
    /// Its role; a column without one was dropped.
    pub role: Option<String>,
    /// The type of its values, where they were looked at.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub column_type: Option<String>,
    /// Cells without a value, where they were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
    /// `interval`, `label`, `set`, `depth`, `as is` or `dropped`.
    pub shown: String,
    /// Whose values the ends of intervals are: `regions`, where they need not be anybody's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<String>,
    /// What classes show of its values beside that: `mean`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statistics: Vec<String>,
    /// The hierarchy that labels or distances are of: `file`, or the name of a built-in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hierarchy: Option<String>,
    /// How much a loss on a quasi-identifier counts, where that is not 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

/// The statistic that a column shows beside its bounds.
pub(crate) const MEAN: &str = "mean";

/// What the ends of intervals are that need not be anybody's values.
pub(crate) const REGIONS: &str = "regions";

/// The role of the column that tells how deep the regions of classes lie, and what it shows.
pub(crate) const LEVEL: (&str, &str) = ("level", "depth");

/// What a column shows that is not published.
pub(crate) const DROPPED: &str = "dropped";

impl ColumnReport {
    /// The column that tells how deep the regions of classes lie.
    pub(crate) fn of_level(name: &str) -> ColumnReport {
        let (role, shown) = LEVEL;
        ColumnReport {
            name: name.to_owned(),
            role: Some(role.to_owned()),
            column_type: None,
            missing: None,
            shown: shown.to_owned(),
            ends: None,
            statistics: Vec::new(),
            hierarchy: None,
            weight: None,
        }
    }

    /// What may be published of it; nothing of a column that is not.
    fn published(&self) -> Option<PublishedColumn> {
        let role = self.role.clone().filter(|_| self.shown != DROPPED)?;
        Some(PublishedColumn {
            name: self.name.clone(),
            role,
            shown: self.shown.clone(),
            ends: self.ends.clone(),
            statistics: self.statistics.clone(),
            hierarchy: self.hierarchy.clone(),
            weight: self.weight,
        })
    }
}

/// Where the time went, by the clock on the wall: the four parts add up to the total, in every
/// report.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// Every pass over the source, coding and packing included.
    pub read: f64,
    /// Finding the classes.
    pub partition: f64,
    /// Verifying and measuring.
    pub verify: f64,
    /// Writing, as far as it does not go on beside the verification.
    pub write: f64,
    /// All of it.
    pub total: f64,
}
