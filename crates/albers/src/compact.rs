//! Compaction as a tool of its own: the tightest description of the classes of any release.

use albers_storage::watch::Watch;
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::schema::Role;
use albers_table::sink::Sink;
use albers_table::source::{Source, place_of};

use crate::columns::level_of;
use crate::error::Result;
use crate::job::Job;
use crate::measure::check_key;
use crate::memory::{Memory, on_threads};
use crate::method::given::GivenRelease;
use crate::method::works_in_memory;
use crate::plan::Plan;
use crate::released::{Released, ReleasedColumns};
use crate::report::{Prepared, Report};
use crate::run;

/// Publishes the tightest description of the classes of a release. The key is a column that is
/// unique in the original and in the release, and tells which rows belong together.
///
/// Without a k of the job, the smallest class of the release decides it. What the job says of the
/// method is that of the release that it made, and has no part in this one. The report's losses count
/// the rows that the given release leaves out.
///
/// ```
/// use albers::sink::BatchSink;
/// use albers::source::{ReadOptions, StreamSource};
/// use albers::{Job, Role, Silent, compact};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let table = |text: &'static str| {
///     StreamSource::text(Box::new(text.as_bytes()), "a table", None, &ReadOptions::default())
/// };
/// let original = table("id,age\n1,30\n2,31\n3,52\n4,55\n")?;
/// let wide = table("id,age\n1,20-39\n2,20-39\n3,40-59\n4,40-59\n")?;
/// let mut job = Job::default();
/// job.set_role("age", Role::Quasi)?;
/// let (sink, _release) = BatchSink::new();
/// let report = compact(&job, &original, &wide, "id", Box::new(sink), &Silent)?;
/// assert!(report.table_loss.ncp < report.ncp_before.flatten().unwrap_or(0.0));
/// # Ok(())
/// # }
/// ```
pub fn compact(
    job: &Job,
    original: &dyn Source,
    release: &dyn Source,
    key: &str,
    sink: Box<dyn Sink>,
    watch: &dyn Watch,
) -> Result<Report> {
    prepare_compact(job, original, release, key, sink, watch)?.name()
}

/// The same, but for the last step: all is verified and written, and waits for its name.
pub fn prepare_compact(
    job: &Job,
    original: &dyn Source,
    release: &dyn Source,
    key: &str,
    sink: Box<dyn Sink>,
    watch: &dyn Watch,
) -> Result<Prepared> {
    let job = job.with_hierarchies()?;
    let level = level_of(&job, release)?;
    let plan = Plan::of_given(&job, level, original.name(), original.columns())?;
    check_key(&job, Some(key))?;
    place_of(original.name(), original.columns(), key)?;
    on_threads(plan.resources.n_threads, || {
        let memory = Memory::of(&plan);
        // Of a release only the quasi-identifiers are needed; all else comes from the original.
        let columns = ReleasedColumns {
            quasi: job.with_role(Role::Quasi).collect(),
            level,
            key: Some(key),
            sensitive: Vec::new(),
            targets: Vec::new(),
        };
        let released = Released::read(release, &columns, &memory, watch).map_err(|error| {
            works_in_memory(error, "compact", wording!["give more ", Field::Memory])
        })?;
        let given = GivenRelease { key, released };
        run::run(&plan, original, &memory, Some(given), vec![sink], watch)
    })
}
