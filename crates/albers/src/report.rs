//! What a job tells of itself: the summary, and the manifest beside the release.

mod clock;
mod notes;

use std::collections::BTreeMap;

use albers_classes::space::Shown;
use albers_measure::Loss;
use serde::Serialize;

pub(crate) use clock::Clock;
pub use notes::{Distance, Note};

/// The manifest of a release.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
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
    /// How the classes were found.
    pub method: String,
    /// What decided the order of classes and rows.
    pub seed: u64,
    /// Whether the same rows, job and seed give the same release; said where they may not, since
    /// the time decided what was found.
    #[serde(skip_serializing_if = "is_true")]
    pub repeatable: bool,
    /// What the release loses.
    pub loss: Loss,
    /// What the divergence is over.
    pub kl_basis: KlBasis,
    /// The levels of a full-domain release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generalization: Option<GeneralizationReport>,
    /// What became of each column of the table.
    pub columns: Vec<ColumnReport>,
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
    /// Bytes moved, by what for; not in the manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<MovedBytes>,
    /// Coarser releases of the same index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<AlsoReport>,
    /// The program's version.
    pub version: String,
    /// The ncp of a given release that was compacted; nothing if its cells are not understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ncp_before: Option<Option<f64>>,
}

fn is_true(value: &bool) -> bool {
    *value
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

/// A coarser release of the same index.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlsoReport {
    /// Its k.
    pub k: u64,
    /// Where it was written.
    pub path: String,
    /// Its own manifest.
    pub report: Report,
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

/// Rows per class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassSize {
    /// The smallest class.
    pub min: u64,
    /// Rows over classes.
    pub mean: f64,
    /// The largest class.
    pub max: u64,
}

impl ClassSize {
    /// The sizes of some classes, summed up.
    pub(crate) fn of(sizes: impl Iterator<Item = u64>) -> ClassSize {
        let (mut n_classes, mut n_rows, mut min, mut max) = (0u64, 0u64, u64::MAX, 0u64);
        for size in sizes {
            n_classes += 1;
            n_rows += size;
            min = min.min(size);
            max = max.max(size);
        }
        let mean = n_rows as f64 / n_classes.max(1) as f64;
        ClassSize { min: if n_classes == 0 { 0 } else { min }, mean, max }
    }
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
}

impl KlBasis {
    /// The basis of every divergence of this program, over tuples of these columns.
    pub(crate) fn over(columns: Vec<String>) -> KlBasis {
        KlBasis {
            base: "e (nats)".to_owned(),
            domain: "ordered columns: the values that occur in the original; categories: the \
                     leaves of the hierarchy, else the values that occur"
                .to_owned(),
            columns,
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
    /// `interval`, `label`, `set`, `as is` or `dropped`.
    pub shown: String,
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

/// The word for how an attribute is shown.
pub(crate) fn shown_word(shown: Shown) -> &'static str {
    match shown {
        Shown::Interval => "interval",
        Shown::Set => "set",
        Shown::Label => "label",
    }
}

/// The most memory this process has held, where the system tells it.
pub(crate) fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
