//! What must hold of every equivalence class before it may be published.
//!
//! ```text
//! rows --add/remove--> ClassSummary --merge--> ClassSummary --Requirement::holds--> publish?
//!                      n_rows, n_subjects,                   k, and per sensitive column:
//!                      one Histogram per                     l-diversity, t-closeness,
//!                      sensitive column                      (alpha, k), variance
//! ```
//!
//! Invariants:
//! - A [`Requirement`] sees only a [`ClassSummary`]. The split test, the prune and the final
//!   verifier therefore run the same code.
//! - A [`Requirement`] is built only through its checked constructor.
//! - Every criterion is monotone: when two classes satisfy it, so does their union. The tests try
//!   to falsify this.
//! - Counts are exact integers. Floating point appears only in the last step of a check, over
//!   codes in ascending order, so that a verdict depends neither on the order nor on the history
//!   of the rows.
//! - No message and no `Debug` output holds a cell value: only column names and figures.
//!
//! Deliberately absent: reading tables, choosing splits, anything that touches a disk.

pub mod alpha_k;
pub mod class_summary;
pub mod criterion;
pub mod differential;
pub mod error;
pub mod facts;
pub mod histogram;
pub mod k_anonymity;
pub mod l_diversity;
pub mod parse;
pub mod requirement;
pub mod screen;
pub mod sensitive_column;
pub mod t_closeness;
mod tolerance;
pub mod variance_diversity;
pub mod violation;

pub use class_summary::{ClassSummary, SummaryShape};
pub use criterion::Criterion;
pub use differential::{DifferentialPrivacy, SamplingRate};
pub use error::PrivacyError;
pub use facts::Facts;
pub use histogram::Histogram;
pub use parse::{parse_description, parse_diversity};
pub use requirement::Requirement;
pub use screen::Screen;
pub use sensitive_column::{GroundDistance, SensitiveColumn};
pub use tolerance::RELATIVE_TOLERANCE;
pub use violation::{Bound, Violation};
