//! What the resolutions of a grid come to: the k that each reaches, for those who choose one.

use std::collections::BTreeMap;

use albers_index::grid::Grid;
use albers_storage::watch::Watch;
use albers_table::source::Source;
use serde::Serialize;

use crate::error::Result;
use crate::job::Job;
use crate::memory::{Memory, on_threads};
use crate::method::{another_method, scales_of, works_in_memory};
use crate::plan::Plan;
use crate::report::{AUDIENCE, Clock, Seconds};
use crate::rows::{Reading, Rows, Wanted};

/// All resolutions of a grid that part cells from each other. It is for the owner of the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ResolutionsReport {
    /// Whom it is for: `owner`.
    pub audience: &'static str,
    /// Rows of the table.
    pub rows: u64,
    /// What k counts: `rows` or `subjects`.
    pub k_counts: &'static str,
    /// The quasi-identifiers, in file order.
    pub columns: Vec<String>,
    /// The resolutions, from the coarsest on.
    pub resolutions: Vec<ResolutionReport>,
    /// Where the time went.
    pub seconds: Seconds,
}

/// What a resolution comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResolutionReport {
    /// How often space is halved.
    pub halvings: u64,
    /// How many ranges of each quasi-identifier hold rows.
    pub ranges: BTreeMap<String, u64>,
    /// Cells that hold rows.
    pub cells: u64,
    /// Rows, or persons, of the smallest of these.
    pub k: u64,
}

/// Tells what the resolutions of a job's grid come to. Nothing is published.
pub fn resolutions(job: &Job, source: &dyn Source, watch: &dyn Watch) -> Result<ResolutionsReport> {
    let plan = Plan::of_resolutions(&job.with_hierarchies()?, source.name(), source.columns())?;
    on_threads(plan.resources.n_threads, || look(&plan, source, watch))
}

fn look(plan: &Plan, source: &dyn Source, watch: &dyn Watch) -> Result<ResolutionsReport> {
    let mut clock = Clock::start();
    let memory = Memory::of(plan);
    let wanted = Wanted::OnlyTable { limit_bytes: memory.budget.limit_bytes() };
    let reading = Reading { plan, source, memory: &memory, typed_output: false, key: None, watch };
    let rows = reading.read(wanted);
    let rows = rows.map_err(|error| works_in_memory(error, "grid", another_method()))?;
    let Rows::InMemory(mut table) = rows else { unreachable!("only tables in memory are wanted") };
    clock.read();
    let points = table.take_points();
    let grid = Grid::of(&points, scales_of(plan, &table, &points)?, watch)?;
    let columns: Vec<String> =
        table.attributes.iter().map(|own| own.domain.name().to_owned()).collect();
    let found = grid.resolutions(table.subjects.as_deref(), watch)?;
    clock.partition();
    let resolutions = found.into_iter().map(|own| ResolutionReport {
        halvings: own.n_halvings as u64,
        ranges: columns.iter().cloned().zip(own.n_ranges).collect(),
        cells: own.n_cells,
        k: own.k,
    });
    Ok(ResolutionsReport {
        audience: AUDIENCE,
        rows: table.n_rows as u64,
        k_counts: if table.subjects.is_some() { "subjects" } else { "rows" },
        resolutions: resolutions.collect(),
        columns,
        seconds: clock.seconds(),
    })
}
