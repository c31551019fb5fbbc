//! All minimal generalizations of a table, side by side.

mod draw;

use std::collections::BTreeMap;

use albers_lattice::counted_table::{CountedTable, fact_fields};
use albers_lattice::dimension::Dimension;
use albers_lattice::frequency_set::Workspace;
use albers_lattice::question::Question;
use albers_lattice::search::{Effort, Generalization, MovedTuples};
use albers_storage::watch::{Phase, Watch};
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::source::Source;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::job::{Job, Method};
use crate::memory::{Memory, on_threads};
use crate::method::full_domain::outside::{StoredTable, store};
use crate::method::full_domain::{LatticeSearch, SearchOutcome};
use crate::plan::{MethodPlan, Plan, SearchPlan};
use crate::protection::{Protection, TableFacts, facts_of, sensitive_codes};
use crate::report::{Clock, Note, peak_rss_bytes};
use crate::rows::{KnownColumns, Reading, Rows, Surveyed, Table, Wanted};

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

albers_storage::choices!(SortBy {
    Ncp: "ncp", "The normalized certainty penalty, by the weights of the columns";
    Height: "height", "The sum of the levels";
    Suppressed: "suppressed", "The rows left out";
    Classes: "classes", "The classes, the most first";
    Discernibility: "discernibility", "The sum of the squared class sizes";
    Precision: "precision", "How little values have risen, the greatest first";
    Weights: "weights", "The levels as shares of their hierarchies, by the weights of the columns";
});

impl SortBy {
    fn key(self, minimal: &MinimalReport) -> f64 {
        match self {
            SortBy::Ncp => minimal.ncp,
            SortBy::Height => minimal.height as f64,
            SortBy::Suppressed => minimal.suppressed as f64,
            SortBy::Classes => -(minimal.classes as f64),
            SortBy::Discernibility => minimal.discernibility,
            SortBy::Precision => -minimal.precision,
            SortBy::Weights => minimal.weighted_height,
        }
    }
}

/// All minimal generalizations of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
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
    /// Tuples of frequency sets that were moved to compute others, where all sets are counted.
    #[serde(skip)]
    pub moved: MovedTuples,
    /// Those that were moved before the search.
    #[serde(skip)]
    pub cube_moved: MovedTuples,
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
    pub notes: Vec<Note>,
    /// Where the time went.
    pub seconds: LatticeSeconds,
    /// The most memory the process held.
    pub peak_rss_bytes: u64,
    /// Bytes written to temporary files.
    pub spilled_bytes: u64,
    /// The lattice as a picture (SVG), if one was asked for.
    #[serde(skip)]
    pub drawing: Option<String>,
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

/// What is asked of a search beside its job.
#[derive(Debug, Clone, Copy, Default)]
pub struct LatticeRequest {
    /// What the generalizations are sorted by.
    pub sort: SortBy,
    /// Whether the lattice is to be drawn.
    pub draws: bool,
}

/// Finds all minimal generalizations of a table, and draws the lattice if that is asked for.
///
/// ```
/// use albers::source::{ReadOptions, StreamSource};
/// use albers::{Job, LatticeRequest, Role, Silent, lattice};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = "age,sex\n30,f\n31,m\n52,f\n55,m\n".as_bytes();
/// let people = StreamSource::text(Box::new(text), "people", None, &ReadOptions::default())?;
/// let mut job = Job { k: Some(2), ..Job::default() };
/// for (name, hierarchy) in [("age", "ranges:10,20"), ("sex", "suppress")] {
///     job.set_role(name, Role::Quasi)?;
///     job.column(name).hierarchy = Some(hierarchy.parse()?);
/// }
/// let report = lattice(&job, &people, LatticeRequest::default(), &Silent)?;
/// assert!(report.minimal.iter().any(|minimal| minimal.levels["sex"] == 1));
/// # Ok(())
/// # }
/// ```
pub fn lattice(
    job: &Job,
    source: &dyn Source,
    request: LatticeRequest,
    watch: &dyn Watch,
) -> Result<LatticeReport> {
    if request.draws && job.time.is_some() {
        return Err(Error::usage(
            "a search with a time limit does not know the lattice that it would draw",
            wording!["drop ", Field::Svg, " or ", Field::Time],
        ));
    }
    let job = job.with_hierarchies()?;
    let plan = Plan::of_search(&job, source.name(), source.columns())?;
    let MethodPlan::FullDomain(search) = &plan.method else {
        unreachable!("a search is planned as one")
    };
    on_threads(plan.resources.n_threads, || {
        let memory = Memory::of(&plan);
        let reading =
            Reading { plan: &plan, source, memory: &memory, typed_output: false, key: None, watch };
        let look = Look { reading, plan: search, request, clock: Clock::start() };
        let known = KnownColumns::of(&look.reading)?;
        if let Some((table, counts)) = look.reading.count(&known)? {
            return look.in_memory(table, Some(&counts));
        }
        let limit_bytes = memory.budget.limit_bytes() / 2;
        match look.reading.read_known(known, Wanted::Table { limit_bytes })? {
            Rows::InMemory(table) => look.in_memory(*table, None),
            Rows::Outside(surveyed) => look.outside(*surveyed),
        }
    })
}

/// A look at a lattice.
struct Look<'a> {
    reading: Reading<'a>,
    plan: &'a SearchPlan,
    request: LatticeRequest,
    clock: Clock,
}

impl<'a> Look<'a> {
    fn workspace(&self) -> Workspace<'a> {
        let memory = self.reading.memory;
        Workspace { budget: &memory.budget, store: &memory.store, watch: self.reading.watch }
    }

    fn in_memory(mut self, mut table: Table, counts: Option<&[u32]>) -> Result<LatticeReport> {
        let sensitive = sensitive_codes(&table);
        let facts = match counts {
            None => TableFacts::of_table(&table, &sensitive, None),
            Some(counts) => TableFacts::of_counted(&table, &sensitive, counts),
        };
        let n_rows = facts.n_rows;
        let protection = Protection::of(self.reading.plan, &facts)?;
        let facts = facts_of(&mut table, &protection.ruled, &sensitive);
        let search = self.search(&table.attributes, n_rows)?;
        self.clock.read();
        self.reading.watch.phase(Phase::Search, None);
        let requirement = &protection.requirements[0];
        let workspace = self.workspace();
        let points = (&table.points, counts);
        let counted =
            CountedTable::of_points(&search.dimensions, workspace, points, &facts, requirement)?;
        self.report(&search, &counted, &search.question(requirement), protection.notes.clone())
    }

    fn outside(mut self, surveyed: Surveyed<'_>) -> Result<LatticeReport> {
        let memory = self.reading.memory;
        memory.check_folder()?;
        let budget = &memory.budget;
        let workspace = Workspace { budget, store: &memory.store, watch: self.reading.watch };
        let stored = store(&self.reading, self.plan, surveyed, workspace, false)?;
        let _copies = budget.try_reserve("copies of frequency sets", budget.limit_bytes() / 3)?;
        let StoredTable { table, protection, keys, .. } = stored;
        let search = self.search(&table.attributes, keys.n_rows())?;
        self.clock.read();
        self.reading.watch.phase(Phase::Search, None);
        let requirement = &protection.requirements[0];
        let counted =
            CountedTable::new(&search.dimensions, workspace, fact_fields(requirement), keys)?;
        self.report(&search, &counted, &search.question(requirement), protection.notes.clone())
    }

    fn search(
        &self,
        attributes: &[albers_classes::Attribute],
        n_rows: u64,
    ) -> Result<LatticeSearch<'a>> {
        let max_left_out = self.reading.plan.max_left_out(n_rows);
        LatticeSearch::new(self.plan, attributes, n_rows, max_left_out)
    }

    fn report(
        &self,
        search: &LatticeSearch<'_>,
        counted: &CountedTable<'_>,
        question: &Question<'_>,
        notes: Vec<Note>,
    ) -> Result<LatticeReport> {
        if self.request.draws {
            draw::check_size(&counted.heights())?;
        }
        let notes = [notes, search.notes.clone()].concat();
        let mut report = self.empty_report(search, question, notes);
        let found = match search.search(counted, question)? {
            SearchOutcome::Exact(found) => {
                report.satisfying = found.satisfying.len() as u64;
                // A binary search finds those of the least height only.
                report.complete = self.plan.method != Method::Samarati;
                let draws = self.request.draws;
                report.drawing =
                    draws.then(|| draw::svg(&search.dimensions, &found, report.complete));
                report.note_effort(&found.effort);
                found.minimal
            }
            SearchOutcome::Bounded(bounded) => {
                (report.bound, report.gap) = (Some(bounded.bound), Some(bounded.gap()));
                report.notes.push(search.gap_note(bounded.gap()));
                report.checked = bounded.checked;
                report.satisfying = u64::from(bounded.best.is_some());
                bounded.best.into_iter().collect()
            }
        };
        if found.is_empty() {
            return Err(search.nothing_satisfies());
        }
        report.minimal =
            found.iter().map(|own| minimal_report(&search.dimensions, counted, own)).collect();
        let by = |own: &MinimalReport| (self.request.sort.key(own), own.ncp);
        report.minimal.sort_by(|a, b| by(a).partial_cmp(&by(b)).expect("figures are numbers"));
        if !question.is_monotone() {
            report.notes.push(Note::NotMonotone);
        }
        let seconds = self.clock.seconds_now();
        report.seconds.read = seconds.read;
        report.seconds.search = seconds.total - seconds.read - report.seconds.cube;
        report.seconds.total = seconds.total;
        report.peak_rss_bytes = peak_rss_bytes();
        report.spilled_bytes = counted.workspace.store.written_bytes();
        Ok(report)
    }

    fn empty_report(
        &self,
        search: &LatticeSearch<'_>,
        question: &Question<'_>,
        notes: Vec<Note>,
    ) -> LatticeReport {
        let column = |own: &Dimension| LatticeColumn {
            name: own.name().to_owned(),
            height: own.height(),
            values: (0..=own.height()).map(|level| own.n_values(level)).collect(),
            weight: own.weight(),
        };
        let n_nodes = search.dimensions.iter().map(|own| f64::from(own.height()) + 1.0).product();
        let variant = self.plan.variant().filter(|_| self.plan.time.is_none());
        LatticeReport {
            rows: question.n_rows,
            requirement: question.requirement.describe(),
            max_suppressed: question.max_suppressed,
            method: self.plan.method.to_string(),
            variant: variant.map(str::to_owned),
            columns: search.dimensions.iter().map(column).collect(),
            nodes: n_nodes,
            checked: 0,
            checked_by_size: Vec::new(),
            satisfying: 0,
            complete: false,
            scans: 0,
            rollups: 0,
            cube_sets: 0,
            moved: MovedTuples::default(),
            cube_moved: MovedTuples::default(),
            bound: None,
            gap: None,
            sorted_by: self.request.sort.to_string(),
            minimal: Vec::new(),
            notes,
            seconds: LatticeSeconds::default(),
            peak_rss_bytes: 0,
            spilled_bytes: 0,
            drawing: None,
        }
    }
}

impl LatticeReport {
    fn note_effort(&mut self, effort: &Effort) {
        self.checked = effort.checked;
        self.checked_by_size = effort.checked_by_size.clone();
        self.scans = effort.scans;
        self.rollups = effort.rollups;
        self.cube_sets = effort.cube_sets;
        (self.moved, self.cube_moved) = (effort.moved, effort.cube_moved);
        self.seconds.cube = effort.cube_seconds;
    }
}

fn minimal_report(
    dimensions: &[Dimension],
    counted: &CountedTable<'_>,
    generalization: &Generalization,
) -> MinimalReport {
    let Generalization { levels, verdict } = generalization;
    let names = dimensions.iter().map(|dimension| dimension.name().to_owned());
    MinimalReport {
        levels: names.zip(levels.iter().copied()).collect(),
        height: counted.height(levels) as u64,
        suppressed: verdict.n_suppressed,
        classes: verdict.n_classes,
        ncp: counted.ncp(levels, verdict),
        discernibility: verdict.discernibility,
        precision: counted.precision(levels, verdict),
        weighted_height: counted.weighted_height(levels),
    }
}
