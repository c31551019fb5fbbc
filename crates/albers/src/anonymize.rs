//! The main job: a table in, verified releases out.

use albers_storage::watch::Watch;
use albers_table::sink::Sink;
use albers_table::source::Source;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::files;
use crate::finding::Finding;
use crate::job::Job;
use crate::memory::{Memory, on_threads};
use crate::model::ModelOrder;
use crate::plan::Plan;
use crate::report::{Prepared, Report};
use crate::run;

/// Runs a job: reads the source, finds classes, verifies, measures and writes them. There is a sink
/// for the job's k, and one for each k of `also_k` after it; what the job says of files has no part
/// in it, but for the recoding function that it may keep.
///
/// Whatever goes wrong, nothing appears at any of the sinks.
///
/// ```
/// use albers::sink::BatchSink;
/// use albers::source::{ReadOptions, StreamSource};
/// use albers::{Job, Role, Silent, anonymize};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = "age,zip\n30,10115\n31,10117\n52,20095\n55,20097\n".as_bytes();
/// let people = StreamSource::text(Box::new(text), "people", None, &ReadOptions::default())?;
/// let mut job = Job { k: Some(2), ..Job::default() };
/// job.set_role("age", Role::Quasi)?;
/// job.set_role("zip", Role::Quasi)?;
/// let (sink, release) = BatchSink::new();
/// let report = anonymize(&job, &people, vec![Box::new(sink)], &Silent)?;
/// assert_eq!(report.classes, 2);
/// assert_eq!(release.take()[0].num_rows(), 4);
/// # Ok(())
/// # }
/// ```
pub fn anonymize(
    job: &Job,
    source: &dyn Source,
    sinks: Vec<Box<dyn Sink>>,
    watch: &dyn Watch,
) -> Result<Report> {
    prepare(job, source, sinks, watch)?.name()
}

/// The same, but for the last step: all is verified and written, and waits for its name.
pub fn prepare(
    job: &Job,
    source: &dyn Source,
    sinks: Vec<Box<dyn Sink>>,
    watch: &dyn Watch,
) -> Result<Prepared> {
    prepare_found(job, source, sinks, watch, Vec::new())
}

/// The same where something is found already.
fn prepare_found(
    job: &Job,
    source: &dyn Source,
    sinks: Vec<Box<dyn Sink>>,
    watch: &dyn Watch,
    found: Vec<Finding>,
) -> Result<Prepared> {
    if sinks.len() != 1 + job.also_k.len() {
        return Err(Error::usage(
            format!("{} sinks for {} releases", sinks.len(), 1 + job.also_k.len()),
            "give a sink for k, and one for each other k",
        ));
    }
    let job = job.with_hierarchies()?;
    let plan = Plan::of(&job, source.name(), source.columns())?;
    let model = job.model.as_deref().map(|path| ModelOrder::of(&job, path)).transpose()?;
    on_threads(plan.resources.n_threads, || {
        let memory = Memory::of(&plan);
        let mut context = Context::new(&plan, source, &memory, &sinks, watch)?;
        (context.model, context.found_before) = (model, found);
        run::run_with(context, None, sinks)
    })
}

/// The same for a job that names its table and its release: files, or standard input and output.
///
/// ```
/// use albers::{Job, Role, Silent, anonymize_files};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (people, release) = (folder.path().join("people.csv"), folder.path().join("release.csv"));
/// std::fs::write(&people, "age\n30\n31\n52\n55\n")?;
/// let mut job = Job { k: Some(2), input: Some(people), ..Job::default() };
/// job.output = Some(release.clone());
/// job.set_role("age", Role::Quasi)?;
/// anonymize_files(&job, &Silent)?;
/// assert!(std::fs::read_to_string(release)?.contains("\"[30, 31]\""));
/// # Ok(())
/// # }
/// ```
pub fn anonymize_files(job: &Job, watch: &dyn Watch) -> Result<Report> {
    prepare_files(job, watch)?.name()
}

/// The same, but for the last step: all is verified and written, what is the owner's too, and waits
/// for its name.
pub fn prepare_files(job: &Job, watch: &dyn Watch) -> Result<Prepared> {
    files::check_spill_folder(job)?;
    let sinks = files::open_outputs(job, &[])?;
    let source = files::open_input(job)?;
    let job = Job { spill_dir: Some(files::spill_folder(job)), ..job.clone() };
    let found = files::model_findings(&job);
    let prepared = prepare_found(&job, source.as_ref(), sinks, watch, found)?;
    files::with_owner_files(&job, prepared)
}
