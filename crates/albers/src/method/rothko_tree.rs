//! Classes of a table that does not fit in memory, cut by counts of its values as it would be there.
//!
//! ```text
//!   survey ──► domains, requirement
//!   rows once more ──► packed rows, counts of the root ──► Rothko-T ──► subtrees ──► release
//! ```

use albers_classes::TargetCodes;
use albers_index::buffer_tree::{BulkPlan, Intake, Sizes};
use albers_index::rothko_tree::{Passes, RothkoPlan, RothkoTree};
use albers_partition::cell::TableSize;
use albers_partition::counts;
use albers_partition::mondrian::Plan as CutSettings;
use albers_partition::plan::PlannedWorkload;
use albers_privacy::Facts;
use albers_release::ReleaseError;
use albers_release::door::{Door, PackedRows, RowStore};
use albers_storage::watch::Phase;
use albers_table::schema::Role;
use albers_table::sink::Sink;

use super::index::{admit_loaded, story_of};
use super::load::{LoadedRows, load};
use super::packed::{layout_of, sensitive_facts, space_of};
use super::targets::{TableWorkload, TargetDomains};
use crate::context::{Context, DoorRows};
use crate::error::Result;
use crate::plan::CutPlan;
use crate::protection::{Protection, TableFacts};
use crate::report::{PassesReport, Prepared};
use crate::rows::Surveyed;

/// Cuts a table part by part and publishes its release.
pub(super) fn publish<'r>(
    mut run: Context<'r>,
    mut surveyed: Surveyed<'r>,
    cuts: CutPlan,
    sinks: Vec<Box<dyn Sink>>,
) -> Result<Prepared> {
    run.memory.check_folder()?;
    surveyed.sample.clear();
    let protection = Protection::of(run.plan, &TableFacts::of_survey(&surveyed))?;
    let space = space_of(&surveyed);
    let workload = TableWorkload::of(run.plan, &TargetDomains::of_survey(&surveyed))?;
    let is_decided = workload.as_ref().is_none_or(|own| counts::decide(&own.workload));
    assert!(is_decided, "checked when the job was planned");
    let carried = workload.as_ref().map_or(&[][..], |own| &own.carried);
    let (layout, facts) = layout_of(&surveyed, &protection, carried);
    let n_kept = surveyed.n_kept_facts();
    let no_targets = TargetCodes::default();
    let no_facts = Facts::default();
    let bulk = BulkPlan {
        plan: CutSettings {
            space: &space,
            requirement: &protection.requirements[0],
            facts: &no_facts,
            workload: workload
                .as_ref()
                .map(|own| PlannedWorkload { workload: &own.workload, carried: &no_targets }),
            policy: cuts.policy,
            keep_regions: cuts.shows_regions,
            labels_apart: false,
            grain: cuts.grain,
            is_exact: true,
            trust: None,
            seed: run.plan.show.seed,
        },
        strictest: protection.strictest(),
        has_coarser: false,
        layout: &layout,
        facts: &facts,
        table: TableSize::Small,
        budget: &run.memory.budget,
        store: &run.memory.store,
        sizes: Sizes::within(run.memory.budget.limit_bytes()),
    };
    let (count_groups, memory_rows) = (cuts.knobs.count_groups, cuts.knobs.memory_rows);
    let plan = RothkoPlan { bulk: &bulk, count_groups, memory_rows };
    let quasi = surveyed.coders_of(Role::Quasi);
    let greatest: Vec<u32> = quasi.map(|own| own.domain().greatest_code().get()).collect();
    let tree = RothkoTree::new(&plan, surveyed.n_rows, &greatest)?;
    let loaded = load(&run, surveyed, tree, None)?;
    run.clock.read();
    let sensitive_facts = sensitive_facts(&layout, &facts, n_kept);
    publish_loaded(run, &bulk, loaded, (&protection, &sensitive_facts), sinks)
}

/// Publishes the release of a tree that has its rows.
fn publish_loaded(
    mut run: Context<'_>,
    bulk: &BulkPlan<'_>,
    loaded: LoadedRows<RothkoTree<'_>>,
    (protection, sensitive_facts): (&Protection, &[usize]),
    sinks: Vec<Box<dyn Sink>>,
) -> Result<Prepared> {
    let LoadedRows { table, intake: tree, payload, fingerprint, notes, _memory } = loaded;
    let rows = PackedRows {
        layout: bulk.layout,
        facts: bulk.facts,
        sensitive_facts,
        payload: &payload,
        payload_bytes: tree.n_payload_bytes(),
        budget: bulk.budget,
        store: &run.memory.release_store,
    };
    let door_plan = run.door_plan(DoorRows {
        attributes: &table.attributes,
        columns: &table.output_columns,
        shows_regions: bulk.plan.keep_regions,
        n_rows: tree.n_rows(),
        fingerprint,
        rows: RowStore::Packed(rows),
    })?;
    let mut door = Door::open(&door_plan, protection.requirements.clone(), run.watch)?;
    run.watch.phase(Phase::Partition, Some(tree.n_rows()));
    let passes: Passes = tree.drain(&mut |loaded| -> std::result::Result<(), ReleaseError> {
        admit_loaded(&run, bulk, &loaded, Default::default(), (&mut door, &mut None))
    })?;
    run.clock.partition();
    let notes = [protection.notes.clone(), notes].concat();
    let mut prepared = run.close(door, sinks, &story_of(&table, notes))?;
    prepared.report.passes = Some(PassesReport::of(passes));
    Ok(prepared)
}
