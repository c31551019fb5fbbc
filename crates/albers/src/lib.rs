//! Anonymizes tables about people: hides every person in a group and loses as little as possible.
//!
//! ```text
//!   Job ──check──► table, roles, requirement ──► method ──► verified release ──► file + manifest
//! ```
//!
//! - [`job`]: what is to be done, as a job file or as flags say it.
//! - [`anonymize`](mod@anonymize): the main job.
//! - [`compact`](mod@compact): the tightest description of the classes of any release.
//! - [`full_domain`]: every value of a column at the same level, and all ways to do that.
//! - [`init`](mod@init): looks at a table and proposes a job.
//! - [`check`](mod@check): audits a table, ours or anybody's.
//! - [`measure`](mod@measure): what a release loses, from its file and the original.
//! - [`report`]: what a job tells of itself.
//!
//! ```no_run
//! use albers::{Job, Role, Silent, anonymize};
//!
//! # fn main() -> albers::Result<()> {
//! let mut job = Job { k: Some(5), ..Job::default() };
//! job.input = Some("examples/patients.csv".into());
//! job.output = Some("patients.anonymized.csv".into());
//! job.set_role("age", Role::Quasi)?;
//! job.set_role("zip", Role::Quasi)?;
//! job.set_role("diagnosis", Role::Sensitive)?;
//! job.column("zip").hierarchy = Some("prefix".to_owned());
//! job.column("diagnosis").l_diversity = Some("distinct:3".to_owned());
//! let report = anonymize(&job, &Silent)?;
//! println!("{} classes, ncp {:.4}", report.classes, report.loss.ncp);
//! # Ok(())
//! # }
//! ```

pub mod anonymize;
pub mod check;
mod columns;
pub mod compact;
pub mod error;
pub mod full_domain;
mod indexed;
pub mod init;
pub mod job;
pub mod measure;
mod paths;
pub mod report;
mod roles;
mod secrets;
mod table;

pub use albers_generate as generate;
pub use albers_measure::Loss;
pub use albers_partition::mondrian::MAX_ATTRIBUTES;
pub use albers_privacy::violation::figure;
pub use albers_privacy::{Criterion, parse_diversity};
pub use albers_release::publish::Values;
pub use albers_storage::memory_budget::format_bytes;
pub use albers_storage::output::remove_unfinished;
pub use albers_table::hierarchy::HierarchySpec;
pub use albers_table::progress::{Progress, Silent};
pub use albers_table::read::ReadOptions;
pub use albers_table::schema::{ColumnType, Role};
pub use albers_table::write;
pub use anonymize::anonymize;
pub use check::{CheckReport, check};
pub use compact::{CompactReport, compact};
pub use error::{Error, Result};
pub use full_domain::{LatticeReport, MinimalReport, SortBy, lattice};
pub use init::init;
pub use job::{
    Categories, ColumnJob, GranularityChoice, Job, Method, MinimizeChoice, SearchVariant,
    SplitPolicy,
};
pub use measure::{MeasureReport, measure};
pub use report::Report;
