//! Classes of a table that does not fit in memory, cut by counts of its values as it would be there.
//!
//! ```text
//!   survey ──► domains, requirement
//!   rows once more ──► packed rows, counts of the root ──► Rothko-T ──► subtrees ──► release
//! ```
//!
//! What it promises and costs is said where it is done, in `albers_index::rothko_tree`.

use albers_classes::TargetCodes;
use albers_index::buffer_tree::{BulkPlan, Sizes};
use albers_index::rothko_tree::{RothkoPlan, RothkoTree};
use albers_partition::cell::TableSize;
use albers_partition::counts;
use albers_partition::mondrian::Plan as CutSettings;
use albers_partition::plan::PlannedWorkload;
use albers_privacy::Facts;
use albers_release::ReleaseError;
use albers_table::schema::Role;
use albers_table::sink::Sink;

use super::index::{Coarser, Drain, Drained, PartSink, model_of, publish_loaded};
use super::load::load;
use super::packed::{layout_of, sensitive_facts, space_of};
use super::targets::{TableWorkload, TargetDomains};
use crate::context::Context;
use crate::error::Result;
use crate::plan::CutPlan;
use crate::protection::{Protection, TableFacts};
use crate::report::Prepared;
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
            portfolio: None,
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
    let model = model_of(&mut run, &surveyed, cuts.shows_regions)?;
    let printer = model.as_ref().map(|own| own.printer);
    let loaded = load(&run, surveyed, tree, None, printer)?;
    run.clock.read();
    let sensitive_facts = sensitive_facts(&layout, &facts, n_kept);
    let loaded = (loaded, model);
    publish_loaded(run, &bulk, loaded, &protection, (&sensitive_facts, Coarser::default()), sinks)
}

impl<'a> Drain<'a> for RothkoTree<'a> {
    fn drain_into(self, sink: &mut PartSink<'_>) -> std::result::Result<Drained, ReleaseError> {
        Ok(Drained { tops: None, passes: Some(self.drain(sink)?) })
    }
}
