//! How classes are found: one arm per method.
//!
//! A method sees points, facts and summaries. It opens no files, and has no way out but the door.

mod access;
mod bang;
mod draw;
mod features;
pub(crate) mod full_domain;
pub(crate) mod given;
mod grid;
mod index;
mod load;
mod packed;
mod private;
pub(crate) mod recoded;
mod rothko_tree;
mod scales;
pub(crate) mod selects;
mod specialized;
mod targets;

use albers_classes::Attribute;
use albers_classes::class_block::Groups;
use albers_classes::points::Points;
use albers_classes::space::{Shown, Space};
use albers_partition::local;
use albers_partition::mondrian::{self, Plan as CutSettings};
use albers_partition::plan::PlannedWorkload;
use albers_partition::sample::Tuples;
use albers_partition::specialize;
use albers_partition::split::Policy;
use albers_partition::top::SampledTops;
use albers_privacy::Facts;
use albers_release::door::{Door, RowStore, TableRows};
use albers_storage::StorageError;
use albers_storage::memory_budget::format_bytes;
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use albers_table::TableError;
use albers_table::sink::Sink;

use crate::context::{Context, DoorRows, Story};
use crate::error::{Error, ErrorKind, Result};
use crate::job::External;
use crate::memory::Memory;
use crate::plan::{CutPlan, MethodPlan, Plan, PortfolioPlan, Specialization};
use crate::protection::{Protection, TableFacts, facts_of, sensitive_codes};
use crate::report::{Chosen, Note, Prepared};
use crate::rows::{Surveyed, Table, Wanted};
use features::cells_of_table;
use index::Coarser;
pub(crate) use scales::scales_of;
use selects::SelectedRows;
use targets::{TableWorkload, TargetDomains};

/// How a method wants its rows.
pub(crate) fn wanted(plan: &Plan, memory: &Memory) -> Wanted {
    let budget_bytes = memory.budget.limit_bytes();
    match &plan.method {
        MethodPlan::Index { .. } if plan.asks_for_leaves_only() => {
            Wanted::Table { limit_bytes: budget_bytes }
        }
        MethodPlan::Index { .. } | MethodPlan::Bang { .. } => Wanted::Survey {
            // Rows that are kept are packed as they are given up, and need their room twice.
            limit_bytes: budget_bytes / 4,
        },
        // The tree of splits comes out of an index, part by part, and outliers are found among its
        // leaves: in any memory the same.
        MethodPlan::Cuts { cuts } if plan.writes_model || cuts.suppress > 0.0 => {
            Wanted::Survey { limit_bytes: budget_bytes / 4 }
        }
        MethodPlan::Recoded { .. } => Wanted::Survey { limit_bytes: budget_bytes / 4 },
        // Of a table that fits, an experiment says that it does not.
        MethodPlan::Cuts { cuts } if cuts.counts_outside() => {
            Wanted::Survey { limit_bytes: budget_bytes / 4 }
        }
        // Frequency sets need memory too.
        MethodPlan::FullDomain(_) => Wanted::Table { limit_bytes: budget_bytes / 2 },
        MethodPlan::Cuts { cuts } if !cuts.is_only_in_memory() => {
            Wanted::Table { limit_bytes: budget_bytes }
        }
        _ => Wanted::OnlyTable { limit_bytes: budget_bytes },
    }
}

/// Finds classes in a table that fits in memory, and publishes them.
pub(crate) fn in_memory(
    mut run: Context<'_>,
    mut table: Table,
    sinks: Vec<Box<dyn Sink>>,
) -> Result<Prepared> {
    if let Some(promise) = run.plan.method.promise() {
        return private::publish(run, table, promise, sinks);
    }
    let sensitive = sensitive_codes(&table);
    let protection = Protection::of(run.plan, &TableFacts::of_table(&table, &sensitive, None))?;
    let facts = facts_of(&mut table, &protection.ruled, &sensitive);
    run.clock.read();

    let fingerprint = table.points.fingerprint();
    let mut notes = protection.notes.clone();
    let (mut generalization, mut tops, mut chosen) = (None, None, None);
    let groups = match &run.plan.method {
        MethodPlan::FullDomain(search) => {
            let found = full_domain::in_memory(&run, search, &mut table, &protection, &facts)?;
            notes.extend(found.notes);
            generalization = Some(found.report);
            found.groups
        }
        _ => {
            let tuples = table.tuples();
            let points = table.take_points();
            let found =
                groups_of(&run, &table, (points, tuples), &protection, (&facts, &sensitive))?;
            notes.extend(found.notes);
            (tops, chosen) = (found.tops, found.chosen);
            found.groups
        }
    };
    let is_grouped = chosen.as_ref().is_some_and(|own: &Chosen| own.is_grouped);
    if is_grouped || matches!(run.plan.method, MethodPlan::Local { .. }) {
        notes.push(Note::Overlap);
    }
    run.clock.partition();

    let rows = TableRows { facts: &facts, sensitive: &sensitive, carried: &table.carried };
    let door_plan = run.door_plan(DoorRows {
        attributes: &table.attributes,
        columns: &table.output_columns,
        shows_regions: shows_regions(run.plan),
        n_rows: table.n_rows as u64,
        fingerprint,
        rows: RowStore::Memory(rows),
    })?;
    let mut door = Door::open(&door_plan, protection.requirements, run.watch)?;
    door.admit_groups(groups)?;
    let story = Story {
        attributes: &table.attributes,
        column_types: &table.column_types,
        may_overlap: chosen.as_ref().is_some_and(|own: &Chosen| own.may_overlap),
        has_history: false,
        generalization,
        tops,
        chosen,
        passes: None,
        notes,
        ncp_before: None,
        n_given_notes: 0,
    };
    run.close(door, sinks, &story)
}

/// Finds classes in a table that does not fit in memory, and publishes them.
pub(crate) fn outside<'r>(
    run: Context<'r>,
    surveyed: Surveyed<'r>,
    sinks: Vec<Box<dyn Sink>>,
) -> Result<Prepared> {
    match &run.plan.method {
        MethodPlan::Index { cuts, granularity, fan_out, draws } => {
            let (granularity, fan_out) = (*granularity, *fan_out);
            let (cuts, coarser) = (*cuts, Coarser { granularity, fan_out, draws: *draws });
            index::publish(run, surveyed, cuts, coarser, sinks)
        }
        MethodPlan::Cuts { cuts } if cuts.external == Some(External::Tree) => {
            let cuts = *cuts;
            rothko_tree::publish(run, surveyed, cuts, sinks)
        }
        MethodPlan::Cuts { cuts } => {
            let cuts = *cuts;
            index::publish(run, surveyed, cuts, Default::default(), sinks)
        }
        MethodPlan::FullDomain(search) => full_domain::outside(run, search, surveyed, sinks),
        MethodPlan::Bang { .. } => bang::publish(run, surveyed, sinks),
        _ => unreachable!("other methods want tables in memory only"),
    }
}

/// The error of a method that has no other way, where a table does not fit.
pub(crate) fn works_in_memory(error: Error, method: &str, advice: Wording) -> Error {
    let mut advice = advice;
    if let Error::Table(TableError::Storage(StorageError::OverBudget { needed_bytes, .. })) = &error
    {
        let enough = format!("; about {} would do", format_bytes(*needed_bytes));
        advice.append(wording![enough]);
    }
    match error.kind() {
        ErrorKind::Memory => Error::DoesNotFit { method: method.to_owned(), advice },
        _ => error,
    }
}

/// What to do where a method of `anonymize` works in memory only.
pub(crate) fn another_method() -> Wording {
    wording!["use ", Field::Method.of("auto"), ", or give more ", Field::Memory]
}

/// Whether classes show their regions instead of their rows' bounds.
fn shows_regions(plan: &Plan) -> bool {
    match &plan.method {
        MethodPlan::Cuts { cuts }
        | MethodPlan::Index { cuts, .. }
        | MethodPlan::Recoded { cuts } => cuts.shows_regions,
        MethodPlan::Bang { shows_regions, .. }
        | MethodPlan::Access { shows_regions, .. }
        | MethodPlan::Grid { shows_regions, .. } => *shows_regions,
        MethodPlan::Specialize { .. } => true,
        _ => false,
    }
}

/// What a method that looks at points has found.
struct FoundGroups {
    groups: Groups,
    /// What became of the trees that were grown on samples, where there are any.
    tops: Option<SampledTops>,
    /// What was chosen of several ways.
    chosen: Option<Chosen>,
    /// What the user should know.
    notes: Vec<Note>,
}

/// The classes of the methods that look at points, and what the user should know of them.
fn groups_of(
    run: &Context<'_>,
    table: &Table,
    (points, tuples): (Points, Option<Tuples>),
    protection: &Protection,
    (facts, sensitive): (&Facts, &[Vec<u32>]),
) -> Result<FoundGroups> {
    let space = Space { axes: table.attributes.iter().map(Attribute::axis).collect() };
    let cuts = match &run.plan.method {
        MethodPlan::Cuts { cuts } | MethodPlan::Index { cuts, .. } => Some(cuts),
        _ => None,
    };
    let mut workload = TableWorkload::of(run.plan, &TargetDomains::of_table(table))?;
    let mut selected = SelectedRows::new(workload.as_ref().map(|own| &own.selects));
    selected.add_points(&points);
    let notes = selected.notes(run.plan.ks[0]);
    let grain = run.plan.method.grain().unwrap_or_default();
    let cells = match &mut workload {
        Some(own) => cells_of_table(own, table, &points, sensitive, &grain)?,
        None => None,
    };
    let carried = workload.as_ref().map(|own| own.carried_codes(table, sensitive, cells));
    let workload = workload.as_ref().zip(carried.as_ref());
    let ways = cuts.and_then(|own| own.portfolio).and_then(PortfolioPlan::ways);
    let settings = CutSettings {
        space: &space,
        requirement: &protection.requirements[0],
        facts,
        workload: workload
            .map(|(own, carried)| PlannedWorkload { workload: &own.workload, carried }),
        policy: cuts.map_or_else(Policy::default, |own| own.policy),
        keep_regions: shows_regions(run.plan),
        labels_apart: false,
        grain,
        is_exact: cuts.is_some_and(|own| own.is_exact),
        trust: cuts.and_then(CutPlan::trust),
        portfolio: ways.as_ref(),
        seed: run.plan.show.seed,
    };
    let mut local_loss = None;
    let (groups, tops) = match &run.plan.method {
        MethodPlan::Cuts { cuts } if cuts.regroups() => {
            let found = local::partition_weighed(points, tuples, &settings, run.watch)?;
            local_loss = Some((found.grouped_loss, found.is_grouped()));
            (found.groups, None)
        }
        MethodPlan::Local { .. } => {
            let max_out = run.plan.max_left_out(table.n_rows as u64);
            let found =
                local::partition_without_outliers(points, tuples, &settings, max_out, run.watch)?;
            (found, None)
        }
        MethodPlan::Specialize { kind, .. } => {
            check_sets(&table.attributes, *kind)?;
            let groups = match kind {
                Specialization::Tds => specialize::tds::partition(points, &settings, run.watch)?,
                _ => specialized::groups(run, (table, points), protection, (&settings, *kind))?,
            };
            (groups, None)
        }
        MethodPlan::Access { relative, .. } => {
            (access::groups(run, table, points, (*relative, &settings))?, None)
        }
        MethodPlan::Grid { .. } => (grid::groups(run, table, points, &settings)?, None),
        _ => mondrian::partition_counted(points, tuples, &settings, run.watch)?,
    };
    let local_loss = local_loss.map(|own| (own, table.n_rows));
    let chosen = ways.and_then(|ways| Chosen::of(&ways, &space, local_loss));
    Ok(FoundGroups { groups, tops, chosen, notes })
}

/// Refuses sets that would fill every cell with a list of thousands of names; subtrees show none.
fn check_sets(attributes: &[Attribute], kind: Specialization) -> Result<()> {
    const MAX_NAMES: u64 = 1_000;
    let is_long = |attribute: &&Attribute| {
        let is_set = attribute.shown == Shown::Set && kind != Specialization::Subtree;
        is_set && attribute.domain.n_values() > MAX_NAMES
    };
    let Some(attribute) = attributes.iter().find(is_long) else { return Ok(()) };
    let (name, n_values) = (attribute.domain.name(), attribute.domain.n_values());
    let mut advice = wording!["give ", Field::Type.of_column(name, "integer")];
    advice.append(match kind {
        Specialization::Tds => {
            wording![" if they are numbers, or ", Field::Hierarchy.of_column(name, "prefix")]
        }
        _ => wording![" if they are numbers, or use ", Field::Method.of("subtree")],
    });
    Err(Error::usage(
        format!(
            "column '{name}' has {n_values} values without distances, more than the {MAX_NAMES} \
             that {} can list in a cell",
            kind.method()
        ),
        advice,
    ))
}
