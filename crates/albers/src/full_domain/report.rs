//! All minimal generalizations of a table, side by side.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use albers_lattice::frequency_set::Room;
use albers_lattice::ground::{Ground, fact_fields};
use albers_lattice::question::Question;
use albers_lattice::search::{Effort, Generalization};
use albers_storage::output::OutputFile;
use albers_storage::spill::SpillStore;
use albers_table::progress::Progress;
use albers_table::schema::Role;
use serde::Serialize;

use super::asked::{Asked, variant_name};
use super::draw;
use super::external::{self, Reading};
use super::{Scene, Searched, folder_of, load};
use crate::anonymize::{files_read, on_threads};
use crate::error::{Error, Result};
use crate::job::{Job, Method};
use crate::paths;
use crate::report::peak_rss_bytes;
use crate::roles;
use crate::secrets::protect;

/// What the generalizations are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortBy {
    /// The normalized certainty penalty.
    #[default]
    Ncp,
    /// The sum of the levels.
    Height,
    /// The rows left out.
    Suppressed,
    /// The classes, the most first.
    Classes,
    /// The discernibility.
    Discernibility,
    /// The precision, the greatest first.
    Precision,
    /// The levels as shares of their hierarchies, with the weights of the columns.
    Weights,
}

impl SortBy {
    /// The word used in flags and reports.
    pub fn name(self) -> &'static str {
        match self {
            SortBy::Ncp => "ncp",
            SortBy::Height => "height",
            SortBy::Suppressed => "suppressed",
            SortBy::Classes => "classes",
            SortBy::Discernibility => "discernibility",
            SortBy::Precision => "precision",
            SortBy::Weights => "weights",
        }
    }

    fn key(self, own: &MinimalReport) -> f64 {
        match self {
            SortBy::Ncp => own.ncp,
            SortBy::Height => own.height as f64,
            SortBy::Suppressed => own.suppressed as f64,
            SortBy::Classes => -(own.classes as f64),
            SortBy::Discernibility => own.discernibility,
            SortBy::Precision => -own.precision,
            SortBy::Weights => own.weighted_height,
        }
    }
}

/// All minimal generalizations of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LatticeReport {
    /// Rows of the table.
    pub rows: u64,
    /// What every published class satisfies.
    pub requirement: String,
    /// Rows that may be left out.
    pub max_suppressed: u64,
    /// How the lattice was searched.
    pub method: String,
    /// The variant of the method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The quasi-identifiers, in file order.
    pub columns: Vec<LatticeColumn>,
    /// Generalizations in the lattice, which may be more than can be counted.
    pub nodes: f64,
    /// Generalizations whose frequency set was looked at, of any subset of the columns.
    pub checked: u64,
    /// The same by the size of the subset, from 1 on.
    pub checked_by_size: Vec<u64>,
    /// Generalizations that satisfy, as far as the search tells.
    pub satisfying: u64,
    /// Whether all satisfying generalizations are known.
    pub complete: bool,
    /// Frequency sets that were computed from the table.
    pub scans: u64,
    /// Frequency sets that were computed from another one.
    pub rollups: u64,
    /// Frequency sets that were computed before the search.
    pub cube_sets: u64,
    /// No generalization has less of what was minimized, where the search had a time limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// How far the best one is above that bound, as a share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
    /// What the minimal generalizations are sorted by.
    pub sorted_by: String,
    /// The generalizations that generalize no other satisfying one.
    pub minimal: Vec<MinimalReport>,
    /// Things the user should know.
    pub notes: Vec<String>,
    /// Where the time went.
    pub seconds: LatticeSeconds,
    /// The most memory the process held.
    pub peak_rss_bytes: u64,
    /// Bytes written to temporary files.
    pub spilled_bytes: u64,
}

/// A quasi-identifier.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LatticeColumn {
    /// Its name.
    pub name: String,
    /// The level of its top.
    pub height: u16,
    /// The number of values at each level.
    pub values: Vec<u32>,
    /// How much it counts.
    pub weight: f64,
}

/// A minimal generalization.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MinimalReport {
    /// The level of each quasi-identifier.
    pub levels: BTreeMap<String, u16>,
    /// The sum of the levels.
    pub height: u64,
    /// Rows left out.
    pub suppressed: u64,
    /// Classes published.
    pub classes: u64,
    /// The normalized certainty penalty.
    pub ncp: f64,
    /// The sum of the squared class sizes, and all rows for each row left out.
    pub discernibility: f64,
    /// One minus the mean share of their hierarchies that values have risen.
    pub precision: f64,
    /// The levels as shares of their hierarchies, with the weights of the columns.
    pub weighted_height: f64,
}

/// Where the time went.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LatticeSeconds {
    /// Reading and coding.
    pub read: f64,
    /// Computing frequency sets before the search.
    pub cube: f64,
    /// The search.
    pub search: f64,
    /// All of it.
    pub total: f64,
}

/// Finds all minimal generalizations of a job's table, and draws the lattice if a file is named.
pub fn lattice(
    job: &Job,
    sort: SortBy,
    svg: Option<&Path>,
    progress: &dyn Progress,
) -> Result<LatticeReport> {
    let job = searching(job)?;
    on_threads(&job, || run(&job, sort, svg, progress))
}

/// The job without what only a release needs.
fn searching(job: &Job) -> Result<Job> {
    let mut job = job.clone();
    if job.method.unwrap_or_default() == Method::Auto {
        job.method = Some(Method::Incognito);
    }
    if !job.method().is_full_domain() {
        return Err(Error::usage(
            format!("{} does not search a lattice", job.method().name()),
            "use --method incognito, samarati, bottom-up or attribute-suppression",
        ));
    }
    for column in job.columns.values_mut() {
        column.level = None;
        if matches!(column.role, Some(Role::Keep | Role::Identifier)) {
            *column = crate::job::ColumnJob::default();
        }
    }
    Ok(job)
}

fn run(
    job: &Job,
    sort: SortBy,
    svg: Option<&Path>,
    progress: &dyn Progress,
) -> Result<LatticeReport> {
    let start = Instant::now();
    let input = job.input.as_deref();
    let input = input
        .ok_or_else(|| Error::usage("there is no table to read", "name a CSV or Parquet file"))?;
    albers_storage::input::open(input)?;
    if let Some(svg) = svg {
        let read = files_read(job, input)?;
        paths::check_place(svg, &read.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    }
    roles::check_roles(job)?;
    roles::check_columns(job, input, albers_release::publish::Values::Interval)?;
    let asked = Asked::of(job)?;
    if job.minimize.is_some() && job.time.is_none() {
        return Err(Error::usage(
            "--minimize has no effect, since all minimal generalizations are found",
            "drop it, or give --time; --sort orders what is printed",
        ));
    }
    if svg.is_some() && job.time.is_some() {
        return Err(Error::usage(
            "a search with a time limit does not know the lattice that it would draw",
            "drop --svg or --time",
        ));
    }
    let request = Request { job, asked: &asked, input, sort, svg, start };
    match load(&asked.reading(job), input, false, progress)? {
        Some(table) => request.in_memory(table, progress),
        None => request.external(progress),
    }
}

/// A report that is asked for.
struct Request<'a> {
    job: &'a Job,
    asked: &'a Asked,
    input: &'a Path,
    sort: SortBy,
    svg: Option<&'a Path>,
    start: Instant,
}

impl Request<'_> {
    fn folder(&self) -> &Path {
        folder_of(self.job, self.svg.unwrap_or(Path::new("")))
    }

    fn in_memory(
        &self,
        mut table: crate::table::Table,
        progress: &dyn Progress,
    ) -> Result<LatticeReport> {
        let protection = protect(self.job, &mut table)?;
        let Request { job, asked, .. } = *self;
        let scene = Scene::new(job, asked, &table.attributes, table.n_rows, self.folder())?;
        let read = self.start.elapsed().as_secs_f64();
        let budget_bytes = job.memory_bytes()?.saturating_sub(table.n_bytes);
        scene.with_room(budget_bytes, |room| {
            progress.phase("search", None);
            let (facts, requirement) = (&protection.facts, &protection.requirement);
            let points = &table.points;
            let ground = Ground::of_points(&scene.dimensions, room, points, facts, requirement)?;
            self.report(&scene, &ground, &scene.question(requirement), protection.notes, read)
        })
    }

    fn external(&self, progress: &dyn Progress) -> Result<LatticeReport> {
        let Request { job, asked, input, .. } = *self;
        let budget = external::budget_of(job)?;
        let store = SpillStore::in_folder(self.folder(), budget.clone());
        let room = Room { budget: &budget, store: &store.with_room(budget.limit_bytes() / 2) };
        let reading_job = asked.reading(job);
        let reading = Reading { job: &reading_job, asked, input, output: None, room };
        let stored = reading.read(progress)?;
        let (table, requirement) = (&stored.table, &stored.requirement);
        let scene = Scene::new(job, asked, &table.attributes, table.n_rows, self.folder())?;
        let read = self.start.elapsed().as_secs_f64();
        progress.phase("search", None);
        let fields = fact_fields(requirement);
        let ground = Ground::new(&scene.dimensions, room, fields, stored.keys)?;
        self.report(&scene, &ground, &scene.question(requirement), stored.notes, read)
    }

    fn report(
        &self,
        scene: &Scene<'_>,
        ground: &Ground<'_>,
        question: &Question<'_>,
        notes: Vec<String>,
        read: f64,
    ) -> Result<LatticeReport> {
        if self.svg.is_some() {
            draw::check_size(&ground.heights())?;
        }
        let mut report = self.empty_report(scene, question, [notes, scene.notes.clone()].concat());
        let found = match scene.search(ground, question)? {
            Searched::Exact(found) => {
                report.satisfying = found.satisfying.len() as u64;
                // A binary search finds those of the least height only.
                report.complete = self.job.method() != Method::Samarati;
                if let Some(svg) = self.svg {
                    write(svg, &draw::svg(scene, &found, report.complete))?;
                }
                report.note_effort(&found.effort);
                found.minimal
            }
            Searched::Bounded(bounded) => {
                (report.bound, report.gap) = (Some(bounded.bound), Some(bounded.gap()));
                report.notes.push(scene.gap_note(bounded.gap()));
                report.checked = bounded.checked;
                report.satisfying = u64::from(bounded.best.is_some());
                bounded.best.into_iter().collect()
            }
        };
        if found.is_empty() {
            return Err(scene.nothing_satisfies());
        }
        report.minimal = found.iter().map(|own| minimal_report(scene, ground, own)).collect();
        let by = |own: &MinimalReport| (self.sort.key(own), own.ncp);
        report.minimal.sort_by(|a, b| by(a).partial_cmp(&by(b)).expect("figures are numbers"));
        if !question.is_monotone() {
            report.notes.push(NOT_MONOTONE.to_owned());
        }
        let total = self.start.elapsed().as_secs_f64();
        report.seconds.read = read;
        report.seconds.search = total - read - report.seconds.cube;
        report.seconds.total = total;
        report.peak_rss_bytes = peak_rss_bytes();
        report.spilled_bytes = ground.room.store.written_bytes();
        Ok(report)
    }

    fn empty_report(
        &self,
        scene: &Scene<'_>,
        question: &Question<'_>,
        notes: Vec<String>,
    ) -> LatticeReport {
        let column = |own: &albers_lattice::dimension::Dimension| LatticeColumn {
            name: own.name().to_owned(),
            height: own.height(),
            values: (0..=own.height()).map(|level| own.n_values(level)).collect(),
            weight: own.weight(),
        };
        let n_nodes = scene.dimensions.iter().map(|own| f64::from(own.height()) + 1.0).product();
        let variant = variant_name(self.asked.algorithm).filter(|_| self.asked.time.is_none());
        LatticeReport {
            rows: question.n_rows,
            requirement: question.requirement.describe(),
            max_suppressed: question.max_suppressed,
            method: self.job.method().name().to_owned(),
            variant: variant.map(str::to_owned),
            columns: scene.dimensions.iter().map(column).collect(),
            nodes: n_nodes,
            checked: 0,
            checked_by_size: Vec::new(),
            satisfying: 0,
            complete: false,
            scans: 0,
            rollups: 0,
            cube_sets: 0,
            bound: None,
            gap: None,
            sorted_by: self.sort.name().to_owned(),
            minimal: Vec::new(),
            notes,
            seconds: LatticeSeconds::default(),
            peak_rss_bytes: 0,
            spilled_bytes: 0,
        }
    }
}

const NOT_MONOTONE: &str = "with rows left out this requirement is not monotone: a generalization of \
    a satisfying one need not satisfy; every one that could was looked at";

impl LatticeReport {
    fn note_effort(&mut self, effort: &Effort) {
        self.checked = effort.checked;
        self.checked_by_size = effort.checked_by_size.clone();
        self.scans = effort.scans;
        self.rollups = effort.rollups;
        self.cube_sets = effort.cube_sets;
        self.seconds.cube = effort.cube_seconds;
    }
}

fn minimal_report(scene: &Scene<'_>, ground: &Ground<'_>, own: &Generalization) -> MinimalReport {
    let Generalization { levels, verdict } = own;
    let names = scene.dimensions.iter().map(|dimension| dimension.name().to_owned());
    MinimalReport {
        levels: names.zip(levels.iter().copied()).collect(),
        height: ground.height(levels) as u64,
        suppressed: verdict.n_suppressed,
        classes: verdict.n_classes,
        ncp: ground.ncp(levels, verdict),
        discernibility: verdict.discernibility,
        precision: ground.precision(levels, verdict),
        weighted_height: ground.weighted_height(levels),
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    let mut file = OutputFile::create(path)?;
    let written = file.write_all(text.as_bytes());
    written.map_err(|source| file.write_error(source))?;
    Ok(file.finish()?)
}
