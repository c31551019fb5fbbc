//! Where a recoding by subtrees starts: the best levels of a full-domain search.
//!
//! A recoding from the top down takes the step that saves most, and may end where all values of some
//! column are shown coarser than in the best release of whole levels. So one of its tries goes on
//! from there, and it never loses more than `incognito`, where that search is small enough.

use albers_classes::Attribute;
use albers_classes::class_block::Groups;
use albers_classes::points::Points;
use albers_lattice::choose::{Minimize, best};
use albers_lattice::counted_table::CountedTable;
use albers_lattice::frequency_set::Workspace;
use albers_lattice::incognito::Variant;
use albers_lattice::lattice::count_nodes;
use albers_lattice::search::{Algorithm, Generalization, search, too_many_nodes};
use albers_partition::mondrian::Plan as CutSettings;
use albers_partition::specialize::{self, SpecializePlan};
use albers_privacy::Facts;
use albers_storage::watch::Phase;

use super::full_domain::LatticeSearch;
use crate::context::Context;
use crate::error::Result;
use crate::job::Method;
use crate::plan::{SearchPlan, Specialization};
use crate::protection::Protection;
use crate::rows::Table;

/// Generalizations times rows that are looked at, at most: beyond, a search takes longer than all
/// else. It follows from the table and its hierarchies alone, and not from any clock.
const MAX_LOOKS: u128 = 4_000_000_000;

const ALGORITHM: Algorithm = Algorithm::Incognito(Variant::SuperRoots);

/// The classes of a recoding by subtrees or by ordered values.
pub(super) fn groups(
    run: &Context<'_>,
    (table, points): (&Table, Points),
    protection: &Protection,
    (settings, kind): (&CutSettings<'_>, Specialization),
) -> Result<Groups> {
    let start = match kind {
        Specialization::Subtree => start(run, (table, &points), protection, settings.facts)?,
        Specialization::OrderedSet | Specialization::Tds => None,
    };
    let max_suppressed = run.plan.max_left_out(table.n_rows as u64) as usize;
    let plan = SpecializePlan { plan: settings, max_suppressed, start: start.as_deref() };
    Ok(specialize::partition(points, &plan, run.watch)?)
}

/// The level of each quasi-identifier's hierarchy at which a full-domain release loses least; nothing
/// if none satisfies, or if there are too many to look at.
fn start(
    run: &Context<'_>,
    (table, points): (&Table, &Points),
    protection: &Protection,
    facts: &Facts,
) -> Result<Option<Vec<usize>>> {
    let has_levels = |own: &Attribute| own.domain.hierarchy().is_some();
    if !table.attributes.iter().all(has_levels) || table.n_rows == 0 {
        return Ok(None);
    }
    let heights: Vec<u16> = table
        .attributes
        .iter()
        .filter_map(|own| own.domain.hierarchy())
        .map(|own| u16::try_from(own.height()).unwrap_or(u16::MAX))
        .collect();
    let n_looks = count_nodes(heights.iter().copied()).saturating_mul(table.n_rows as u128);
    if n_looks > MAX_LOOKS || too_many_nodes(&heights, ALGORITHM).is_some() {
        return Ok(None);
    }
    let plan = SearchPlan {
        method: Method::Incognito,
        algorithm: ALGORITHM,
        minimize: Minimize::Ncp,
        all_or_nothing: false,
        time: None,
        levels: None,
        suppress: 0.0,
    };
    let max_left_out = run.plan.max_left_out(table.n_rows as u64);
    let lattice = LatticeSearch::new(&plan, &table.attributes, table.n_rows as u64, max_left_out)?;
    let workspace =
        Workspace { budget: &run.memory.budget, store: &run.memory.store, watch: run.watch };
    let requirement = &protection.requirements[0];
    run.watch.phase(Phase::Search, None);
    let counted = CountedTable::of_points(
        &lattice.dimensions,
        workspace,
        (points, None),
        facts,
        requirement,
    )?;
    let question = lattice.question(requirement);
    let found = search(&counted, &question, ALGORITHM)?;
    let least = best(&counted, &question, &found, Minimize::Ncp)?;
    let levels = |generalization: Generalization| {
        let levels = generalization.levels.iter().zip(&lattice.dimensions);
        levels.map(|(&level, dimension)| dimension.hierarchy_level(level)).collect()
    };
    Ok(least.map(levels))
}
