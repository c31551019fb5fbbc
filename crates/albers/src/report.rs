//! What a job tells of itself, and to whom.
//!
//! ```text
//!   manifest   beside the release, for everybody: what anybody can compute from the release file,
//!              the job and the number of rows left out
//!   codebook   beside the release, for everybody: what can be told from the release file, the job
//!              and the files of its hierarchies
//!   owner      --json, the summary, --owner-report: the same, and figures of the table itself
//! ```
//!
//! - `manifest`: what is published.
//! - `codebook`: how a recipient reads the release.
//! - `owner`: what only the owner of the table may see.
//! - `prepared`: releases that wait for their names.
//! - `chosen`: what was taken of several ways to find classes.
//! - `clock`, `notes`: where the time goes; things the user should know.

mod chosen;
mod clock;
mod codebook;
mod manifest;
mod notes;
mod owner;
mod prepared;

use albers_classes::space::Shown;
use albers_table::row::RowId;
use serde::{Deserialize, Serialize};

pub(crate) use chosen::Chosen;
pub(crate) use clock::Clock;
pub(crate) use codebook::{CODEBOOK, Example, Told, ToldCells, ToldSink, reads};
pub use codebook::{Codebook, CodebookColumn, CodebookHierarchy};
pub use manifest::{AlsoFile, Manifest, PrivacyReport, PublishedColumn};
pub use notes::{Distance, Note};
pub(crate) use owner::{AUDIENCE, DROPPED, LEVEL, MEAN, REGIONS};
pub use owner::{
    AlsoReport, ColumnReport, GeneralizationReport, KlBasis, MovedBytes, PassesReport, Report,
    SamplesReport, Seconds, TriedReport,
};
pub use prepared::Prepared;

/// The rows that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConcernedRows {
    /// The finding, as an acceptance names it.
    pub finding: String,
    /// Its rows in the table, ascending.
    pub rows: Vec<RowId>,
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

/// The word for how an attribute is shown.
pub(crate) fn shown_word(shown: Shown) -> &'static str {
    match shown {
        Shown::Interval => "interval",
        Shown::Set => "set",
        Shown::Label => "label",
    }
}

/// The word for labels and sets that are shown by their places in an order.
pub(crate) const PLACES: &str = "places";

/// The most memory this process has held, where the system tells it.
pub(crate) fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
