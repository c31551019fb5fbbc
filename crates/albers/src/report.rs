//! What a job tells of itself: the summary, and the manifest beside the release.

use std::collections::BTreeMap;

use albers_measure::Loss;
use serde::{Deserialize, Serialize};

/// The manifest of a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// What the release loses.
    pub loss: Loss,
    /// What the divergence is over.
    pub kl_basis: KlBasis,
    /// The levels of a full-domain release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generalization: Option<GeneralizationReport>,
    /// What became of each column of the table.
    pub columns: Vec<ColumnReport>,
    /// Things the user should know.
    pub notes: Vec<String>,
    /// Where the time went.
    pub seconds: Seconds,
    /// The most memory the process held.
    pub peak_rss_bytes: u64,
    /// Bytes written to temporary files.
    pub spilled_bytes: u64,
    /// Bytes read back from them.
    pub read_back_bytes: u64,
    /// Coarser releases of the same index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<AlsoReport>,
    /// The program's version.
    pub version: String,
}

/// The levels of a full-domain release, and how they were found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlsoReport {
    /// Its k.
    pub k: u64,
    /// Where it was written.
    pub path: String,
    /// Its own manifest.
    pub report: Report,
}

/// Rows per class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
        let mut all = ClassSizes::default();
        sizes.for_each(|size| all.add(size));
        all.finish()
    }
}

/// Sizes of classes that come one by one.
#[derive(Default)]
pub(crate) struct ClassSizes {
    n_classes: u64,
    n_rows: u64,
    min: Option<u64>,
    max: u64,
}

impl ClassSizes {
    /// Adds a class of so many rows.
    pub(crate) fn add(&mut self, size: u64) {
        self.n_classes += 1;
        self.n_rows += size;
        self.min = Some(self.min.map_or(size, |min| min.min(size)));
        self.max = self.max.max(size);
    }

    /// How many there were.
    pub(crate) fn n_classes(&self) -> u64 {
        self.n_classes
    }

    /// All of them, summed up.
    pub(crate) fn finish(&self) -> ClassSize {
        let mean = self.n_rows as f64 / self.n_classes.max(1) as f64;
        ClassSize { min: self.min.unwrap_or(0), mean, max: self.max }
    }
}

/// What a divergence is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// Where the time went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// Reading and coding.
    pub read: f64,
    /// Finding the classes.
    pub partition: f64,
    /// Verifying and measuring.
    pub verify: f64,
    /// Writing.
    pub write: f64,
    /// All of it.
    pub total: f64,
}

/// The most memory this process has held, where the system tells it.
pub(crate) fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
