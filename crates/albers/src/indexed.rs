//! Jobs on an index: tables of any size, and several releases of one build.
//!
//! ```text
//!   pass 1   table ──► domains, requirement, sample ──► top of the tree
//!   pass 2   table ──► packed rows ──► buffer tree ──► subtrees ──┬─► release for k
//!                                                                 └─► releases for other k
//! ```

pub(crate) mod load;
pub(crate) mod releases;
mod subjects;
pub(crate) mod survey;

use std::path::Path;

use albers_classes::packed::FactColumns;
use albers_classes::packed::RowLayout;
use albers_classes::space::{Axis, Space};
use albers_index::buffer_tree::{BufferTree, BulkPlan, Sizes};
use albers_partition::mondrian::Plan;
use albers_partition::top::{CELL_ROWS, Top, WHOLE_ROWS};
use albers_privacy::Facts;
use albers_privacy::{ClassSummary, Requirement};
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::{self, SpillStore};
use albers_table::progress::Progress;
use albers_table::read::Format;
use albers_table::schema::Role;

use self::load::Loader;
use self::releases::{Targets, publish_all};
use self::survey::{Surveyed, Surveyor};
use crate::anonymize::{Clock, policy_of};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::report::Report;
use crate::secrets::{self, Rules};

/// Runs a job on an index.
pub fn run(job: &Job, input: &Path, output: &Path, progress: &dyn Progress) -> Result<Report> {
    let mut clock = Clock::start();
    let targets = Targets::of(job, input, output)?;
    let budget_bytes = job.memory_bytes()?;
    let budget = MemoryBudget::new(budget_bytes);
    let folder = match &job.spill_dir {
        Some(folder) => folder.as_path(),
        None => output
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new(".")),
    };
    spill::check_folder(folder)?;
    // Blocks stay in memory as long as there is room for the work besides.
    let store = SpillStore::in_folder(folder, budget.clone()).with_room(budget_bytes / 5 * 3);
    let sizes = Sizes::within(budget_bytes);
    let reading = budget.try_reserve("reading the table", budget_bytes / 8)?;
    let surveyor = Surveyor {
        job,
        path: input,
        typed_output: Format::of(output) == Format::Parquet,
        greatest_k: targets.greatest_k(),
        sample_rows: sizes.sample_rows,
        budget: &budget,
    };
    let stamp = stamp_of(input);
    let mut surveyed = surveyor.survey(progress)?;
    let protection = Protection::of(job, &targets, &surveyed)?;
    clock.seconds.read = clock.lap();

    let space = space_of(&surveyed);
    let (layout, facts) = layout_of(&surveyed, &protection);
    let no_facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
    let plan = BulkPlan {
        plan: Plan {
            space: &space,
            requirement: &protection.requirements[0],
            facts: &no_facts,
            policy: policy_of(job),
            keep_regions: job.compact == Some(false),
        },
        strictest: protection.strictest(),
        layout: &layout,
        facts: &facts,
        may_sample: surveyed.n_rows as usize > WHOLE_ROWS,
        budget: &budget,
        store: &store,
        sizes,
    };
    progress.phase("partition", Some(surveyed.n_rows));
    let (top, n_sampled) = top_of(&plan, &mut surveyed)?;
    let (n_rows, payload_bytes) = (surveyed.n_rows, surveyed.payload_bytes);
    let tree = BufferTree::new(&plan, top, n_sampled, n_rows, payload_bytes)?;
    let loader = Loader { job, path: input, budget: &budget };
    let loaded = loader.load(surveyed, tree, progress)?;
    drop(reading);
    if stamp_of(input) != stamp {
        return Err(load::changed(input));
    }
    publish_all(job, &targets, &protection, &plan, loaded, clock, progress)
}

/// What tells whether a file was changed, as far as the system tells it.
pub(crate) fn stamp_of(path: &Path) -> Option<(u64, std::time::SystemTime)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

/// The requirements of all releases of a job.
pub(crate) struct Protection {
    /// The first is that of the finest release; bound to the whole table.
    pub(crate) requirements: Vec<Requirement>,
    /// The places of the columns with a requirement among the sensitive ones.
    ruled: Vec<usize>,
    /// Things the user should know.
    pub(crate) notes: Vec<String>,
}

impl Protection {
    pub(crate) fn of(job: &Job, targets: &Targets, surveyed: &Surveyed) -> Result<Protection> {
        let has_subjects = job.with_role(Role::Subject).next().is_some();
        let n_rows = surveyed.n_rows as usize;
        for k in targets.ks() {
            secrets::checked_k(k, has_subjects, surveyed.n_subjects, n_rows)?;
        }
        let sensitive: Vec<_> = surveyed.sensitive().collect();
        let occurring: Vec<_> =
            sensitive.iter().map(|coder| (coder.domain(), coder.counts().len())).collect();
        let mut requirements = Vec::new();
        let rules = Rules::of(job, targets.base_k(), &occurring)?;
        let counts: Vec<Vec<(u32, u64)>> =
            rules.ruled.iter().map(|&at| sensitive[at].counts().to_vec()).collect();
        for k in targets.ks() {
            let Rules { columns, rules, .. } = Rules::of(job, k, &occurring)?;
            let mut requirement = Requirement::new(k, has_subjects, columns, rules)?;
            if requirement.is_only_row_count().is_none() {
                let (n_rows, n_subjects) = (surveyed.n_rows, surveyed.n_subjects);
                let shape = requirement.shape();
                let whole = ClassSummary::of_counts(shape, n_rows, n_subjects, &counts);
                requirement.bind(&whole);
                let n_all = surveyed.n_rows as usize;
                if !requirement.holds(&whole)
                    && !secrets::may_hold_without_some(job, &requirement, n_all)
                {
                    let violations = requirement.violations(&whole);
                    return Err(Error::CannotHold { n_rows, violations });
                }
            }
            requirements.push(requirement);
        }
        Ok(Protection { requirements, ruled: rules.ruled, notes: rules.notes })
    }

    /// The requirement that implies all others: they differ in k only.
    fn strictest(&self) -> &Requirement {
        self.requirements.iter().max_by_key(|own| own.k()).expect("a job has a requirement")
    }
}

impl Surveyed {
    /// The coders of the columns with a role, in file order.
    pub(crate) fn coders_of(
        &self,
        role: Role,
    ) -> impl Iterator<Item = &albers_table::domain::ColumnCoder> + '_ {
        let columns = self.planned.iter().zip(&self.coders);
        columns
            .filter(move |(column, _)| column.role == role)
            .filter_map(|(_, coder)| coder.as_ref())
    }

    fn sensitive(&self) -> impl Iterator<Item = &albers_table::domain::ColumnCoder> + '_ {
        self.coders_of(Role::Sensitive)
    }
}

fn space_of(surveyed: &Surveyed) -> Space {
    let columns = surveyed.planned.iter().zip(&surveyed.coders).zip(&surveyed.shown);
    let quasi = columns.filter(|((column, _), _)| column.role == Role::Quasi);
    let axes = quasi.filter_map(|((column, coder), &shown)| {
        let domain = coder.as_ref()?.domain();
        Some(Axis::new(domain, shown, column.weight, column.preferred))
    });
    Space { axes: axes.collect() }
}

/// How rows are packed, and where their facts stand: the subject, then all sensitive columns.
pub(crate) fn layout_of(surveyed: &Surveyed, protection: &Protection) -> (RowLayout, FactColumns) {
    let greatest = |coder: &albers_table::domain::ColumnCoder| {
        let domain = coder.domain();
        domain.code_range().1.max(domain.missing_code().unwrap_or(0))
    };
    let attributes: Vec<u32> = surveyed.coders_of(Role::Quasi).map(greatest).collect();
    let has_subject = surveyed.planned.iter().any(|column| column.role == Role::Subject);
    let subject = has_subject.then_some(u32::MAX);
    let facts: Vec<u32> = subject.into_iter().chain(surveyed.sensitive().map(greatest)).collect();
    let layout = RowLayout::new(&attributes, &facts, !surveyed.payload.is_empty());
    let first = usize::from(has_subject);
    let ruled = protection.ruled.iter().map(|&at| first + at).collect();
    (layout, FactColumns { subject: has_subject.then_some(0), ruled })
}

/// The top of the tree, and on how many rows it was grown.
fn top_of(plan: &BulkPlan<'_>, surveyed: &mut Surveyed) -> Result<(Top, usize)> {
    if !plan.may_sample {
        return Ok((Top::single(&plan.plan), 1));
    }
    let sample = load::sample_rows(plan, surveyed)?;
    let n_rows = surveyed.n_rows as usize;
    surveyed.sample.clear();
    let top = albers_index::buffer_tree::top_of(plan, &sample, n_rows, CELL_ROWS);
    Ok((top, sample.n_rows()))
}
