//! Anonymizes tables about people: hides every person in a group and loses as little as possible.
//!
//! ```text
//!   Job ──► Plan ──► Source ──► rows ──► method ──► door ──► Sinks + Report
//! ```
//!
//! - [`job`]: what is to be done, as a job file or as flags say it.
//! - [`plan`]: a job, checked once.
//! - [`anonymize`](mod@anonymize): the main job.
//! - [`compact`](mod@compact): the tightest description of the classes of any release.
//! - [`lattice`](mod@lattice): all ways to show every value of a column at the same level.
//! - [`living`]: an index that lasts, while rows come, change and go.
//! - [`init`](mod@init): looks at a table and proposes a job.
//! - [`hierarchy_file`]: writes, checks and draws hierarchy files.
//! - [`check`](mod@check): audits a table, ours or anybody's.
//! - [`measure`](mod@measure): what a release loses, from it and the original.
//! - [`query`](mod@query): what a release answers, without the original.
//! - [`experiment`](mod@experiment): the experiments of the papers, repeated.
//! - [`finding`]: what puts people at risk although the requirement holds.
//! - [`files`]: files, folders and pipes as sources and sinks.
//! - [`chart`]: line charts.
//! - [`report`]: what a job tells of itself.
//! - [`source`], [`sink`]: where tables come from, and where they go: files, pipes, Arrow batches.
//!
//! ```no_run
//! use albers::{HierarchySpec, Job, Role, Silent, anonymize_files};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut job = Job { k: Some(5), ..Job::default() };
//! job.input = Some("examples/patients.csv".into());
//! job.output = Some("patients.anonymized.csv".into());
//! job.set_role("age", Role::Quasi)?;
//! job.set_role("zip", Role::Quasi)?;
//! job.set_role("diagnosis", Role::Sensitive)?;
//! job.column("zip").hierarchy = Some(HierarchySpec::Prefix);
//! job.column("diagnosis").l_diversity = Some("distinct:3".parse()?);
//! let report = anonymize_files(&job, &Silent)?;
//! println!("{} classes, ncp {:.4}", report.classes, report.table_loss.ncp);
//! # Ok(())
//! # }
//! ```

pub mod anonymize;
pub mod chart;
pub mod check;
mod columns;
pub mod compact;
pub mod condition;
mod context;
pub mod error;
pub mod experiment;
pub mod files;
pub mod finding;
mod findings;
pub mod hierarchy_file;
pub mod init;
pub mod job;
pub mod lattice;
pub mod living;
pub mod measure;
mod memory;
mod method;
mod model;
mod names;
pub mod plan;
mod protection;
pub mod query;
pub mod recode;
mod released;
pub mod report;
mod resolutions;
mod rows;
mod run;
mod runs;

pub use albers_generate as generate;
pub use albers_index::access_methods::Relative;
pub use albers_index::bang_file::scale::ScaleSpec;
pub use albers_index::granularity::Granularity;
pub use albers_lattice::choose::Minimize;
pub use albers_measure::risk::ThresholdFrom;
pub use albers_measure::{Loss, PublishedLoss, Relation};
pub use albers_partition::mondrian::MAX_ATTRIBUTES;
pub use albers_partition::split::Policy;
pub use albers_partition::trust::Test;
pub use albers_privacy::Criterion;
pub use albers_privacy::violation::figure;
pub use albers_release::publish::Values;
pub use albers_storage::choice::Choice;
pub use albers_storage::memory_budget::format_bytes;
pub use albers_storage::output::{Appeared, Place, remove_unfinished};
pub use albers_storage::spelling;
pub use albers_storage::watch::{Phase, Silent, Watch};
pub use albers_storage::wording;
pub use albers_table::format::Format;
pub use albers_table::hierarchy::{Finest, HierarchyRows, HierarchySpec};
pub use albers_table::notation::{DateFormat, DecimalMark, TextEncoding};
pub use albers_table::row::RowId;
pub use albers_table::schema::{ColumnType, Role};
pub use albers_table::{TableError, sink, source};
pub use anonymize::{anonymize, anonymize_files, prepare, prepare_files};
pub use check::{Beside, CheckReport, Original, check, check_beside, check_release};
pub use compact::{compact, prepare_compact};
pub use condition::Condition;
pub use error::{Error, ErrorKind, Result};
pub use experiment::{ExperimentReport, ExperimentScale, experiment};
pub use finding::{Acceptance, Finding, FindingName};
pub use init::init;
pub use job::{
    ByteSize, Categories, ColumnJob, Diversity, Effort, External, Job, Knobs, Method,
    SearchVariant, SelectSpec, Split, TargetKind, TargetSpec, TimeLimit, WorkloadJob,
};
pub use lattice::{LatticeReport, LatticeRequest, MinimalReport, SortBy, lattice};
pub use living::{Index, ReleaseRequest};
pub use measure::queries::{MeasuredQueries, Predicates, QueryAnswers, QueryKind, QueryWorkload};
pub use measure::{
    LossDomain, MeasureOptions, MeasureReport, MeasuredSelection, MeasuredSelections,
    MeasuredTarget, measure, measure_with, query_answers,
};
pub use memory::pool;
pub use plan::Plan;
pub use query::{
    Dialect, GroupAnswer, QueryAnswer, QueryReport, Question, ReleaseBeside, SqlSource, Total,
    Totals, conditions_of, query, query_sql,
};
pub use recode::{
    LearningReport, Outside, PreparedTable, RecodeJob, prepare_learning, prepare_learning_files,
    prepare_recode, prepare_recode_files, recode, recode_files,
};
pub use report::{
    Codebook, CodebookColumn, CodebookHierarchy, ConcernedRows, Manifest, Note, Prepared,
    PrivacyReport, Report,
};
pub use resolutions::{ResolutionReport, ResolutionsReport, resolutions};
