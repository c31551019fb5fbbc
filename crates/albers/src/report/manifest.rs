//! What is published beside a release.
//!
//! Guarantee: every field can be computed from the release file, the job and the number of rows
//! left out, so that it tells nothing that these do not.

use albers_measure::PublishedLoss;
use serde::{Deserialize, Serialize};

use super::ClassSize;
use crate::finding::PublishedFinding;

/// The manifest of a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
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
    /// How classes were to be found, in the words of the job.
    pub method: String,
    /// What decided the order of classes and rows.
    pub seed: u64,
    /// Whether the same rows, job and seed give the same release; said where they may not, since
    /// the job limits the time of the search.
    #[serde(skip_serializing_if = "is_true", default = "yes")]
    pub repeatable: bool,
    /// What the release loses by what it shows.
    pub loss: PublishedLoss,
    /// The columns of the release, those that show a quasi-identifier by its bounds as one.
    pub columns: Vec<PublishedColumn>,
    /// What of the release puts people at risk although the requirement holds, counted on it.
    #[serde(default)]
    pub findings: Vec<PublishedFinding>,
    /// What the job accepts of that.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub accepted: Vec<String>,
    /// The SHA-256 of the release's bytes, where it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Coarser releases of the same index.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub also: Vec<AlsoFile>,
    /// The program's version.
    pub version: String,
}

/// A column of a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedColumn {
    /// Its name.
    pub name: String,
    /// Its role; `level` for the column that tells how deep the regions of classes lie.
    pub role: String,
    /// `interval`, `label`, `set`, `depth` or `as is`.
    pub shown: String,
    /// What classes show of its values beside that: `mean`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub statistics: Vec<String>,
    /// The hierarchy that labels or distances are of: `file`, or the name of a built-in one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hierarchy: Option<String>,
    /// How much a loss on a quasi-identifier counts, where that is not 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub weight: Option<f64>,
}

/// A coarser release of the same index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlsoFile {
    /// Its k.
    pub k: u64,
    /// The name of its file, in whatever folder.
    pub file: String,
}

impl Manifest {
    /// The manifest as it stands beside its release.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("a manifest has only plain fields") + "\n"
    }
}

fn is_true(value: &bool) -> bool {
    *value
}

fn yes() -> bool {
    true
}
