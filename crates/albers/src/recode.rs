//! Rows that came later, by the recoding function of an earlier job: as a release, or for learning.
//!
//! ```text
//!   model ──► job, coding, tree ─────────────┐
//!   rows ──► those inside the coding ──► leaf of each ──┬─► door ──► a release of its own
//!            those outside: left out, or refused        └─► stored cells: no release
//! ```
//!
//! Guarantee: a model is only read. A release passes the door as any other, and what its owner accepts
//! is said anew; a table for learning is for its owner alone, and says so.

mod learning;
mod outside;

use std::path::PathBuf;

use albers_storage::choice::Choice;
use albers_storage::watch::Watch;
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::schema::Role;
use albers_table::sink::Sink;
use albers_table::source::Source;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::files;
use crate::finding::Finding;
use crate::job::Job;
use crate::memory::{Memory, on_threads};
use crate::method;
use crate::method::recoded;
use crate::model::{Keep, ModelFile};
use crate::plan::Plan;
use crate::report::{Prepared, Report};
use crate::rows::{KnownColumns, Rows};

pub use learning::{LearningReport, PreparedTable, prepare_learning, prepare_learning_files};
use outside::{LaterRows, check_columns};

/// What becomes of rows with values that a recoding function does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outside {
    /// They are left out of a release; for learning they show nothing of their quasi-identifiers.
    #[default]
    Suppress,
    /// For learning, a value beyond the known ones goes the way of the nearest.
    Edge,
    /// Nothing is written.
    Refuse,
}

albers_storage::choices!(Outside {
    Suppress: "suppress", "Left out and counted; with --for-learning, shown as * (default)";
    Edge: "edge", "As if the value were the nearest known one, only with --for-learning";
    Refuse: "refuse", "Nothing is written, and the first such row is named";
});

/// Rows that are to be recoded by a model.
#[derive(Debug, Clone, Default)]
pub struct RecodeJob {
    /// The model, as `Job::model` has written it.
    pub model: PathBuf,
    /// What becomes of rows with values that the model does not know.
    pub outside: Outside,
    /// Where the rows come from and go to, what may be used, and what is accepted of findings. All
    /// else is that of the job which the model was written by.
    pub job: Job,
}

impl RecodeJob {
    /// The job of the model, with what is said anew.
    fn merged(&self, of_model: &Job) -> Job {
        let own = self.job.clone();
        Job {
            file: own.file,
            input: own.input,
            output: own.output,
            from: own.from,
            to: own.to,
            force: own.force,
            manifest: own.manifest,
            codebook: own.codebook,
            owner_report: own.owner_report,
            memory: own.memory,
            spill_dir: own.spill_dir,
            threads: own.threads,
            delimiter: own.delimiter,
            header: own.header,
            sheet: own.sheet,
            missing: if own.missing.is_empty() { of_model.missing.clone() } else { own.missing },
            encoding: own.encoding,
            decimal: own.decimal,
            accept: own.accept,
            ..of_model.clone()
        }
    }
}

/// A model that is opened for rows of a source: the plan, and what the rows are asked for.
struct Opened {
    model: ModelFile,
    plan: Plan,
}

impl Opened {
    fn of(recode: &RecodeJob, model: ModelFile, source: &dyn Source) -> Result<Opened> {
        let mut job = recode.merged(&model.job);
        let columns = check_columns(&model, &mut job, source)?;
        let mut plan = Plan::of_recoding(&job, source.name(), &columns)?;
        // Text is read as what the rows of the model were.
        let quasi = plan.columns.iter_mut().filter(|column| column.role == Role::Quasi);
        for (column, &kind) in quasi.zip(&model.head().types) {
            let own = columns.iter().find(|own| own.name == column.name);
            if own.is_some_and(|own| own.data_type.is_none()) {
                column.column_type = Some(kind);
            }
        }
        Ok(Opened { model, plan })
    }
}

/// Releases rows by a model: those with values that it does not know are left out and counted, and so
/// are those of leaves that miss the requirement.
///
/// ```
/// use albers::sink::BatchSink;
/// use albers::source::{ReadOptions, StreamSource};
/// use albers::{Job, RecodeJob, Role, Silent, anonymize, recode};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let table = |text: &'static str| {
///     StreamSource::text(Box::new(text.as_bytes()), "people", None, &ReadOptions::default())
/// };
/// let mut job = Job { k: Some(2), model: Some(folder.path().join("model")), ..Job::default() };
/// job.set_role("age", Role::Quasi)?;
/// let (sink, _release) = BatchSink::new();
/// anonymize(&job, &table("age\n30\n31\n52\n55\n")?, vec![Box::new(sink)], &Silent)?;
///
/// let mut later = RecodeJob { model: folder.path().join("model"), ..RecodeJob::default() };
/// later.job.accept = vec!["second-release".parse()?];
/// let (sink, release) = BatchSink::new();
/// let report = recode(&later, &table("age\n31\n30\n90\n")?, Box::new(sink), &Silent)?;
/// assert_eq!((report.rows, report.suppressed), (2, 1));
/// assert_eq!(release.take()[0].num_rows(), 2);
/// # Ok(())
/// # }
/// ```
pub fn recode(
    job: &RecodeJob,
    source: &dyn Source,
    sink: Box<dyn Sink>,
    watch: &dyn Watch,
) -> Result<Report> {
    prepare_recode(job, source, sink, watch)?.name()
}

/// The same, but for the last step: all is verified and written, and waits for its name.
pub fn prepare_recode(
    job: &RecodeJob,
    source: &dyn Source,
    sink: Box<dyn Sink>,
    watch: &dyn Watch,
) -> Result<Prepared> {
    let model = ModelFile::open(&job.model, job.job.limit_bytes())?;
    prepare_opened(job, (model, Vec::new()), source, sink, watch)
}

/// The same with a model that is open, and what was found before rows were read.
fn prepare_opened(
    job: &RecodeJob,
    (model, found): (ModelFile, Vec<Finding>),
    source: &dyn Source,
    sink: Box<dyn Sink>,
    watch: &dyn Watch,
) -> Result<Prepared> {
    if job.outside == Outside::Edge {
        return Err(Error::usage(
            wording![
                Field::Outside.of(Outside::Edge.name()),
                " is for learning only: a release would say of people what is not true of them"
            ],
            wording!["drop it, or add ", Field::ForLearning],
        ));
    }
    let Opened { model, plan } = Opened::of(job, model, source)?;
    on_threads(plan.resources.n_threads, || {
        let memory = Memory::of(&plan);
        let coding = model.coding.clone();
        let rows = LaterRows::new(source, &model, job.outside == Outside::Refuse)?;
        let model = model.read_tree(Keep::Regions, &memory.budget)?;
        let mut context = Context::new(&plan, &rows, &memory, std::slice::from_ref(&sink), watch)?;
        let reading = context.reading(None);
        let known = KnownColumns::of(&reading)?.settled(coding);
        let wanted = method::wanted(&plan, &memory);
        let read = reading.read_counted(known, wanted).map_err(|error| rows.explained(error))?;
        let (Rows::Outside(surveyed), repeated) = read else {
            unreachable!("rows that are recoded are surveyed")
        };
        (context.repeated, context.found_before) = (repeated, found);
        recoded::publish(context, *surveyed, &model, &|| rows.n_outside(), sink)
    })
}

/// The same for a job that names its table and its release: files, or standard input and output.
pub fn recode_files(job: &RecodeJob, watch: &dyn Watch) -> Result<Report> {
    prepare_recode_files(job, watch)?.name()
}

/// The same, but for the last step: all is verified and written, what is the owner's too, and waits
/// for its name.
pub fn prepare_recode_files(job: &RecodeJob, watch: &dyn Watch) -> Result<Prepared> {
    let (job, model) = with_settings_of_model(job)?;
    let found = files::findings_beside(&job.job, &job.model);
    files::check_findings(&job.job, &found)?;
    let sink = files::open_outputs(&job.job, &[&job.model])?.remove(0);
    let source = files::open_input(&job.job)?;
    let prepared = prepare_opened(&job, (model, found), source.as_ref(), sink, watch)?;
    files::with_owner_files(&job.job, prepared)
}

/// A job with what of its model says how a table is read, and the model.
fn with_settings_of_model(recode: &RecodeJob) -> Result<(RecodeJob, ModelFile)> {
    let mut job = recode.clone();
    let model = ModelFile::open(&job.model, job.job.limit_bytes())?;
    if job.job.missing.is_empty() {
        job.job.missing.clone_from(&model.job.missing);
    }
    job.job.spill_dir = Some(files::spill_folder(&job.job));
    Ok((job, model))
}
