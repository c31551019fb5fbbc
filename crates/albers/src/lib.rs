//! Anonymizes tables about people: hides every person in a group and loses as little as possible.
//!
//! ```text
//!   Job ──check──► table, roles, requirement ──► method ──► verified release ──► file + manifest
//! ```
//!
//! - [`job`]: what is to be done, as a job file or as flags say it.
//! - [`anonymize`](mod@anonymize): the main job.
//! - [`report`]: what a job tells of itself.

pub mod anonymize;
pub mod error;
pub mod job;
mod paths;
pub mod report;
mod secrets;
mod table;

pub use albers_measure::Loss;
pub use albers_partition::mondrian::MAX_ATTRIBUTES;
pub use albers_privacy::{Criterion, parse_diversity};
pub use albers_release::publish::Values;
pub use albers_storage::output::remove_unfinished;
pub use albers_table::generate;
pub use albers_table::hierarchy::HierarchySpec;
pub use albers_table::progress::{Progress, Silent};
pub use albers_table::read::ReadOptions;
pub use albers_table::schema::{ColumnType, Role};
pub use albers_table::write;
pub use anonymize::anonymize;
pub use error::{Error, Result};
pub use job::{Categories, ColumnJob, Job, Method, SplitPolicy};
pub use report::Report;
