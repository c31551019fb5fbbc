//! Jobs that show every value of a column at the same level of its hierarchy.
//!
//! ```text
//!   table ──► frequency set ──search──► generalizations that satisfy ──best──► levels
//!     │                                                                          │
//!     └────────────────────────── rows at these levels ◄─────────────────────────┘
//!                                          │
//!                                 verify, publish (or a report of all)
//! ```

pub(crate) mod asked;
mod draw;
mod external;
mod report;

use std::path::Path;

use albers_classes::Attribute;
use albers_classes::class_block::Groups;
use albers_classes::points::Points;
use albers_lattice::bounded;
use albers_lattice::choose::best;
use albers_lattice::dimension::Dimension;
use albers_lattice::frequency_set::Room;
use albers_lattice::ground::Ground;
use albers_lattice::lattice::Levels;
use albers_lattice::question::{Question, Verdict};
use albers_lattice::recode;
use albers_lattice::search::{Effort, Found, Generalization, search};
use albers_measure::released::{Pairing, loss_of_part};
use albers_measure::{Loss, loss_of};
use albers_privacy::ClassSummary;
use albers_release::publish::publish;
use albers_release::verify::{Expectation, Verified, verify};
use albers_storage::memory_budget::MemoryBudget;
use albers_storage::spill::{self, SpillStore};
use albers_table::progress::Progress;
use albers_table::read::Format;

use self::asked::{Asked, given_levels};
use crate::anonymize::{Clock, Outcome, destination_of, manifest_of, report_of, seed_of};
use crate::error::{Error, Result};
use crate::job::{Job, Method};
use crate::report::{ClassSize, GeneralizationReport, Report};
use crate::secrets::{Protection, protect};
use crate::table::{self, Table};

pub use report::{LatticeColumn, LatticeReport, LatticeSeconds, MinimalReport, SortBy, lattice};

/// Runs a job: searches the lattice, and publishes the best or the chosen levels.
pub fn run(job: &Job, input: &Path, output: &Path, progress: &dyn Progress) -> Result<Report> {
    let mut clock = Clock::start();
    let asked = Asked::of(job)?;
    let reading = asked.reading(job);
    let typed_output = Format::of(output) == Format::Parquet;
    let Some(mut table) = load(&reading, input, typed_output, progress)? else {
        return external::run(job, &asked, input, output, progress);
    };
    let mut protection = protect(job, &mut table)?;
    clock.seconds.read = clock.lap();

    let scene = Scene::new(job, &asked, &table.attributes, table.n_rows, folder_of(job, output))?;
    let budget_bytes = job.memory_bytes()?.saturating_sub(table.n_bytes);
    let chosen = scene.with_room(budget_bytes, |room| {
        progress.phase("search", None);
        let points = &table.points;
        let (facts, requirement) = (&protection.facts, &protection.requirement);
        let ground = Ground::of_points(&scene.dimensions, room, points, facts, requirement)?;
        scene.choose(&ground, &scene.question(&protection.requirement))
    })?;
    show_levels(&mut table.attributes, &scene.dimensions, &chosen.levels);
    let release = recoded(job, &table, &mut protection, &scene, &chosen.levels)?;
    clock.seconds.partition = clock.lap();
    let codes = match release.n_suppressed() {
        0 => Vec::new(),
        _ => codes_by_column(&table.points),
    };
    let loss = loss_with_suppressed(&release, table.n_rows, &codes, &protection);
    clock.seconds.verify = clock.lap();

    let destination = destination_of(job, &table, output, &table.carried);
    let pending = publish(&release, &destination, progress)?;
    clock.seconds.write = clock.lap();
    clock.seconds.total = clock.start.elapsed().as_secs_f64();
    let sizes = (0..release.n_classes()).map(|class| release.class(class).n_rows() as u64);
    let outcome = Outcome {
        n_rows: release.n_rows() as u64,
        n_suppressed: release.n_suppressed() as u64,
        n_classes: release.n_classes() as u64,
        class_size: ClassSize::of(sizes),
        requirement: &protection.requirement,
        method: method_words(job, &asked),
        loss,
        notes: [protection.notes.clone(), scene.notes, chosen.notes].concat(),
        spilled_bytes: chosen.spilled_bytes,
        generalization: Some(chosen.report),
    };
    let report = report_of(job, &table, outcome, clock.seconds);
    pending.finish(&manifest_of(&report))?;
    Ok(report)
}

/// Reads a table, unless it would take more than half of the memory: frequency sets need some too.
fn load(
    job: &Job,
    input: &Path,
    typed_output: bool,
    progress: &dyn Progress,
) -> Result<Option<Table>> {
    let limit_bytes = job.memory_bytes()? / 2;
    match table::load(job, input, typed_output, Some(limit_bytes), progress) {
        Ok(table) => Ok(Some(table)),
        Err(error) if error.is_over_budget() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where temporary data goes.
fn folder_of<'j>(job: &'j Job, output: &'j Path) -> &'j Path {
    let beside = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    job.spill_dir.as_deref().or(beside).unwrap_or(Path::new("."))
}

/// What all steps of a job look at.
struct Scene<'j> {
    job: &'j Job,
    asked: &'j Asked,
    dimensions: Vec<Dimension>,
    n_rows: usize,
    max_suppressed: usize,
    folder: &'j Path,
    notes: Vec<String>,
}

/// The levels of a release, and how they were found.
struct Chosen {
    levels: Levels,
    report: GeneralizationReport,
    notes: Vec<String>,
    spilled_bytes: u64,
}

/// What a search found, exactly or in the time given.
enum Searched {
    Exact(Found),
    Bounded(bounded::Bounded),
}

impl<'j> Scene<'j> {
    fn new(
        job: &'j Job,
        asked: &'j Asked,
        attributes: &[Attribute],
        n_rows: usize,
        folder: &'j Path,
    ) -> Result<Scene<'j>> {
        let dimensions = asked.dimensions(attributes);
        if !job.has_levels() {
            asked.check_size(&dimensions)?;
        }
        spill::check_folder(folder)?;
        let max_suppressed = job.max_suppressed(n_rows);
        let added = attributes.iter().filter(|attribute| {
            attribute.domain.hierarchy().is_some_and(|hierarchy| hierarchy.added_top())
        });
        let note = |attribute: &Attribute| {
            format!(
                "the hierarchy of '{}' has several values at its top: a level '*' above them was \
                 added, so that the column can be suppressed",
                attribute.domain.name()
            )
        };
        let notes = added.map(note).collect();
        Ok(Scene { job, asked, dimensions, n_rows, max_suppressed, folder, notes })
    }

    /// Does something with memory and a place for what does not fit there.
    fn with_room<T>(
        &self,
        budget_bytes: usize,
        work: impl FnOnce(Room<'_>) -> Result<T>,
    ) -> Result<T> {
        let budget = MemoryBudget::new(budget_bytes);
        let store = SpillStore::in_folder(self.folder, budget.clone()).with_room(budget_bytes / 2);
        work(Room { budget: &budget, store: &store })
    }

    fn question<'s>(&'s self, requirement: &'s albers_privacy::Requirement) -> Question<'s> {
        Question {
            dimensions: &self.dimensions,
            requirement,
            n_rows: self.n_rows as u64,
            max_suppressed: self.max_suppressed as u64,
        }
    }

    fn search(&self, ground: &Ground<'_>, question: &Question<'_>) -> Result<Searched> {
        Ok(match self.asked.time {
            Some(time) => {
                Searched::Bounded(bounded::search(ground, question, self.asked.minimize, time)?)
            }
            None => Searched::Exact(search(ground, question, self.asked.algorithm)?),
        })
    }

    /// The levels that the job gives, or the best that the search finds.
    fn choose(&self, ground: &Ground<'_>, question: &Question<'_>) -> Result<Chosen> {
        let store = ground.room.store;
        if let Some(levels) = given_levels(self.job, &self.dimensions)? {
            let set = ground.derive_all(ground.table(), &levels)?;
            let verdict = question.judge(ground.room, &set)?;
            if !verdict.holds {
                return Err(self.refused(ground, &levels, &verdict));
            }
            let own = Generalization { levels, verdict };
            let looked = Effort { checked: 1, ..Effort::default() };
            return Ok(self.chosen(ground, own, &looked, None, store.written_bytes()));
        }
        match self.search(ground, question)? {
            Searched::Exact(found) => {
                let own = best(ground, question, &found, self.asked.minimize)?;
                let own = own.ok_or_else(|| self.nothing_satisfies())?;
                let n_satisfying = Some(found.satisfying.len() as u64);
                Ok(self.chosen(ground, own, &found.effort, n_satisfying, store.written_bytes()))
            }
            Searched::Bounded(bounded) => {
                let effort = Effort { checked: bounded.checked, ..Effort::default() };
                let (gap, bound) = (bounded.gap(), bounded.bound);
                let own = bounded.best.ok_or_else(|| self.nothing_satisfies())?;
                let mut chosen = self.chosen(ground, own, &effort, None, store.written_bytes());
                chosen.report.bound = Some(bound);
                chosen.report.gap = Some(gap);
                chosen.notes.push(self.gap_note(gap));
                Ok(chosen)
            }
        }
    }

    fn gap_note(&self, gap: f64) -> String {
        let minimize = self.job.minimize.unwrap_or_default().name();
        match gap <= 0.0 {
            true => format!("the search proved that no generalization has a lower {minimize}"),
            false => format!(
                "the search ended before it could prove the best: no generalization can have a \
                 {minimize} lower by more than {:.1} %; another time may find another one",
                gap * 100.0
            ),
        }
    }

    fn chosen(
        &self,
        ground: &Ground<'_>,
        own: Generalization,
        effort: &Effort,
        n_satisfying: Option<u64>,
        spilled_bytes: u64,
    ) -> Chosen {
        let names = self.dimensions.iter().map(|dimension| dimension.name().to_owned());
        let report = GeneralizationReport {
            levels: names.zip(own.levels.iter().copied()).collect(),
            height: ground.height(&own.levels) as u64,
            precision: ground.precision(&own.levels, &own.verdict),
            checked: effort.checked,
            satisfying: n_satisfying,
            bound: None,
            gap: None,
        };
        Chosen { levels: own.levels, report, notes: Vec::new(), spilled_bytes }
    }

    /// Why the levels that the job gives cannot be published.
    fn refused(&self, ground: &Ground<'_>, levels: &[u16], verdict: &Verdict) -> Error {
        let named = self.dimensions.iter().zip(levels);
        let shown: Vec<String> =
            named.map(|(dimension, level)| format!("{}={level}", dimension.name())).collect();
        let levels = shown.join(",");
        let (n_rows, n_suppressed) = (ground.n_rows(), verdict.n_suppressed);
        let max_suppressed = self.max_suppressed as u64;
        if n_suppressed > max_suppressed {
            return Error::LevelsViolate { levels, n_suppressed, max_suppressed, n_rows };
        }
        let problem = match verdict.n_classes {
            0 => "no class at these levels satisfies the requirement",
            _ => "the classes are not close enough to the distribution of the rows that are left",
        };
        Error::LevelsUnfit { levels, problem }
    }

    fn nothing_satisfies(&self) -> Error {
        Error::NothingSatisfies {
            n_rows: self.n_rows as u64,
            max_suppressed: self.max_suppressed as u64,
        }
    }
}

fn method_words(job: &Job, asked: &Asked) -> String {
    let method = job.method().name();
    if job.has_levels() {
        return format!("{method}, given levels");
    }
    let minimize = job.minimize.unwrap_or_default().name();
    let variant = match (job.method(), asked.time) {
        (_, Some(_)) => ", bounded".to_owned(),
        (Method::AttributeSuppression, None) => String::new(),
        _ => asked::variant_name(asked.algorithm).map_or(String::new(), |name| format!(", {name}")),
    };
    format!("{method}{variant}, least {minimize}")
}

/// Every value of a column is shown at its level.
fn show_levels(attributes: &mut [Attribute], dimensions: &[Dimension], levels: &[u16]) {
    for ((attribute, dimension), &level) in attributes.iter_mut().zip(dimensions).zip(levels) {
        attribute.level = Some(dimension.hierarchy_level(level));
    }
}

/// The rows at some levels, verified.
fn recoded<'t>(
    job: &Job,
    table: &'t Table,
    protection: &mut Protection,
    scene: &Scene<'_>,
    levels: &[u16],
) -> Result<Verified<'t>> {
    let Protection { requirement, facts, .. } = &*protection;
    let groups = recode::groups(&scene.dimensions, levels, &table.points, requirement, facts);
    bind_to_published(protection, &groups);
    let expected = Expectation {
        requirement: &protection.requirement,
        facts: &protection.facts,
        n_rows: table.n_rows,
        max_suppressed: scene.max_suppressed,
        fingerprint: table.points.fingerprint(),
        row_ids: None,
        seed: seed_of(job),
        show_regions: false,
    };
    Ok(verify(groups, &table.attributes, &expected)?)
}

/// Where rows are left out, closeness is to the distribution of those that are published.
fn bind_to_published(protection: &mut Protection, groups: &Groups) {
    if groups.suppressed.row_ids.is_empty() || protection.requirement.is_only_row_count().is_some()
    {
        return;
    }
    let mut published = ClassSummary::new(protection.requirement.shape());
    for block in &groups.blocks {
        block.row_ids.iter().for_each(|&row| protection.facts.add(row as usize, &mut published));
    }
    if published.n_rows() > 0 {
        protection.requirement.bind(&published);
    }
}

/// The codes of each attribute, row by row.
pub(crate) fn codes_by_column(points: &Points) -> Vec<Vec<u32>> {
    let column = |attribute: usize| {
        let chunks = points.chunks().iter();
        chunks.flat_map(|chunk| chunk.columns[attribute].iter().copied()).collect()
    };
    (0..points.n_attributes()).map(column).collect()
}

/// What a release of `n_original` rows loses; rows that are left out lose everything.
pub(crate) fn loss_with_suppressed(
    release: &Verified<'_>,
    n_original: usize,
    codes: &[Vec<u32>],
    protection: &Protection,
) -> Loss {
    if release.n_suppressed() == 0 {
        return loss_of(release, &protection.sensitive);
    }
    let mut published = Vec::with_capacity(release.n_rows());
    for class in 0..release.n_classes() {
        release.class(class).parts().for_each(|(rows, _)| published.extend_from_slice(rows));
    }
    let sensitive = &protection.sensitive;
    let pairing = Pairing { original_rows: &published, codes, sensitive };
    loss_of_part(release, n_original, &pairing)
}
