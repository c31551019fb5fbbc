//! What is published beside a release.
//!
//! Guarantee: every field can be computed from the release file, the job and the number of rows
//! left out, so that it tells nothing that these do not. Beside a differentially private release
//! stands less: what the release file tells, and the promise.

use albers_measure::PublishedLoss;
use albers_privacy::DifferentialPrivacy;
use serde::{Deserialize, Serialize};

use super::ClassSize;
use crate::finding::PublishedFinding;

/// The manifest of a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// Rows published.
    pub rows: u64,
    /// Rows left out; not said beside a differentially private release.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub suppressed: Option<u64>,
    /// Published classes: groups of rows that show the same.
    pub classes: u64,
    /// Rows per class.
    pub class_size: ClassSize,
    /// The requirement that was verified.
    pub requirement: String,
    /// What is promised of the release, where it is differential privacy.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub privacy: Option<PrivacyReport>,
    /// How classes were to be found, in the words of the job.
    pub method: String,
    /// What decided the order of classes and rows, where nothing else decides what is published.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seed: Option<u64>,
    /// Whether the same rows, job and seed give the same release; said where they may not, since
    /// the job limits the time of the search, or rows are drawn in secret.
    #[serde(skip_serializing_if = "is_true", default = "yes")]
    pub repeatable: bool,
    /// What the release loses by what it shows; not said beside a differentially private one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss: Option<PublishedLoss>,
    /// The columns of the release, those that show a quasi-identifier by its bounds as one.
    pub columns: Vec<PublishedColumn>,
    /// What of the release puts people at risk although the requirement holds, counted on it; not
    /// said beside a differentially private one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub findings: Option<Vec<PublishedFinding>>,
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
    /// `interval`, `label`, `set`, `places` (in the order of the hierarchy file, else among the ends that
    /// the release shows), `depth` or `as is`.
    pub shown: String,
    /// Whose values the ends of intervals are: `regions`, where they need not be anybody's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ends: Option<String>,
    /// What classes show of its values beside that: `mean`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub statistics: Vec<String>,
    /// The hierarchy that labels, places or distances are of: `file`, or the name of a built-in one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hierarchy: Option<String>,
    /// How much a loss on a quasi-identifier counts, where that is not 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub weight: Option<f64>,
}

/// What is promised of a differentially private release, and what keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrivacyReport {
    /// How much likelier one person may make a release, as a logarithm.
    pub epsilon: f64,
    /// How likely it may be that this does not hold.
    pub delta: f64,
    /// Rows, or persons, that were drawn of every published class at least.
    pub k: u64,
    /// How likely each was drawn.
    pub sampling_rate: f64,
}

impl PrivacyReport {
    /// Of a promise.
    pub(crate) fn of(promise: &DifferentialPrivacy) -> PrivacyReport {
        let DifferentialPrivacy { epsilon, delta, k, rate } = *promise;
        PrivacyReport { epsilon, delta, k, sampling_rate: rate.share() }
    }
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
