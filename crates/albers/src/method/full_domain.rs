//! Every value of a column at the same level of its hierarchy.
//!
//! ```text
//!   rows ──► frequency set ──search──► generalizations that satisfy ──best──► levels
//!     │                                                                         │
//!     └───────────────────────── rows at these levels ◄─────────────────────────┘
//!                                         │
//!                                       door
//! ```

pub(crate) mod outside;
pub(crate) mod search;

use albers_classes::Attribute;
use albers_classes::class_block::Groups;
use albers_lattice::counted_table::CountedTable;
use albers_lattice::dimension::Dimension;
use albers_lattice::frequency_set::Workspace;
use albers_lattice::recode;
use albers_privacy::Facts;
use albers_storage::watch::Phase;

use crate::context::Context;
use crate::error::Result;
use crate::plan::SearchPlan;
use crate::protection::Protection;
use crate::report::{GeneralizationReport, Note};
use crate::rows::Table;

pub(crate) use outside::publish as outside;
pub(crate) use search::{LatticeSearch, SearchOutcome};

/// The classes of the levels that were found.
pub(crate) struct FullDomainClasses {
    pub(crate) groups: Groups,
    pub(crate) report: GeneralizationReport,
    pub(crate) notes: Vec<Note>,
}

/// Searches a table in memory; its attributes show their values at the levels that are found.
pub(crate) fn in_memory(
    run: &Context<'_>,
    plan: &SearchPlan,
    table: &mut Table,
    protection: &Protection,
    facts: &Facts,
) -> Result<FullDomainClasses> {
    let max_left_out = run.plan.max_left_out(table.n_rows as u64);
    let search = LatticeSearch::new(plan, &table.attributes, table.n_rows as u64, max_left_out)?;
    let workspace =
        Workspace { budget: &run.memory.budget, store: &run.memory.store, watch: run.watch };
    let requirement = &protection.requirements[0];
    run.watch.phase(Phase::Search, None);
    let points = (&table.points, None);
    let counted =
        CountedTable::of_points(&search.dimensions, workspace, points, facts, requirement)?;
    let chosen = search.choose(&counted, &search.question(requirement))?;
    drop(counted);
    show_levels(&mut table.attributes, &search.dimensions, &chosen.levels);
    let points = table.take_points();
    let groups = recode::groups(&search.dimensions, &chosen.levels, &points, requirement, facts);
    let notes = [search.notes, chosen.notes].concat();
    Ok(FullDomainClasses { groups, report: chosen.report, notes })
}

/// Every value of a column is shown at its level.
fn show_levels(attributes: &mut [Attribute], dimensions: &[Dimension], levels: &[u16]) {
    for ((attribute, dimension), &level) in attributes.iter_mut().zip(dimensions).zip(levels) {
        attribute.level = Some(dimension.hierarchy_level(level));
    }
}
