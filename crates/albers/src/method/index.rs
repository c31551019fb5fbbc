//! Classes from an index: tables of any size, and several releases of one build.
//!
//! ```text
//!   survey ──► domains, requirement, sample ──► top of the tree
//!   rows once more ──► packed rows ──► buffer tree ──► subtrees ──┬─► release for k
//!                                                                 └─► releases for other k
//! ```

use albers_classes::TargetCodes;
use albers_classes::packed::RowBlock;
use albers_index::buffer_tree::{BufferTree, BulkPlan, Giant, Intake, Loaded, Sizes, Subtree};
use albers_index::granularity::dendrogram::{Closeness, Dendrogram};
use albers_index::granularity::{self, Coarsening, FAN_OUT, Granularity};
use albers_index::outliers::{Remaining, WaitingUnits};
use albers_index::rothko_tree::Passes;
use albers_partition::cell::TableSize;
use albers_partition::mondrian::Plan as CutSettings;
use albers_partition::plan::PlannedWorkload;
use albers_partition::sample::Tuples;
use albers_partition::split::workload::TargetPlace;
use albers_partition::top::SampledTops;
use albers_privacy::Facts;
use albers_release::ReleaseError;
use albers_release::door::{Door, GiantLeaf, LeafClasses, LeafRows, PackedRows, RowStore};
use albers_storage::watch::Phase;
use albers_table::coding::Coding;
use albers_table::schema::Role;
use albers_table::sink::Sink;

use super::draw::Picture;
use super::features::FeatureCounts;
use super::load::{LoadedRows, load};
use super::packed::{PackedTable, layout_of, n_subject_facts, sensitive_facts, space_of};
use super::targets::{TableWorkload, TargetDomains};
use crate::context::{Context, DoorRows, Story};
use crate::error::Result;
use crate::model::{LeafShape, ModelWriter};
use crate::plan::{CutPlan, PortfolioPlan};
use crate::protection::{Protection, TableFacts};
use crate::report::{Chosen, Note, Prepared};
use crate::rows::Surveyed;

/// How coarser releases come about, and whether that is drawn.
#[derive(Clone, Copy)]
pub(super) struct Coarser {
    pub(super) granularity: Granularity,
    /// The most children of a node, where nodes bring leaves together.
    pub(super) fan_out: usize,
    pub(super) draws: bool,
}

impl Default for Coarser {
    fn default() -> Coarser {
        Coarser { granularity: Granularity::default(), fan_out: FAN_OUT, draws: false }
    }
}

/// Builds an index part by part and publishes all releases.
pub(super) fn publish<'r>(
    mut run: Context<'r>,
    mut surveyed: Surveyed<'r>,
    cuts: CutPlan,
    coarser: Coarser,
    sinks: Vec<Box<dyn Sink>>,
) -> Result<Prepared> {
    run.memory.check_folder()?;
    let protection = Protection::of(run.plan, &TableFacts::of_survey(&surveyed))?;
    let budget = &run.memory.budget;
    let space = space_of(&surveyed);
    let workload = workload_of(&run, &mut surveyed, &cuts)?;
    let carried = workload.as_ref().map_or(&[][..], |own| &own.carried);
    let (layout, facts) = layout_of(&surveyed, &protection, carried);
    let n_kept = surveyed.n_kept_facts();
    let table = TableSize::of(surveyed.n_rows, &cuts.grain);
    let no_targets = TargetCodes::default();
    let ways = cuts.portfolio.and_then(PortfolioPlan::ways);
    let no_facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
    let mut bulk = BulkPlan {
        plan: CutSettings {
            space: &space,
            requirement: &protection.requirements[0],
            facts: &no_facts,
            workload: workload
                .as_ref()
                .map(|own| PlannedWorkload { workload: &own.workload, carried: &no_targets }),
            policy: cuts.policy,
            keep_regions: cuts.shows_regions,
            labels_apart: run.plan.ks.len() > 1,
            grain: cuts.grain,
            is_exact: cuts.is_exact,
            trust: cuts.trust(),
            portfolio: ways.as_ref(),
            seed: run.plan.show.seed,
        },
        strictest: protection.strictest(),
        has_coarser: run.plan.ks.len() > 1,
        layout: &layout,
        facts: &facts,
        table,
        budget,
        store: &run.memory.store,
        sizes: Sizes::within(budget.limit_bytes()),
    };
    let n_rows = surveyed.n_rows;
    let mut tuples = tuples_of(&run, &mut surveyed, &bulk)?;
    (bulk.plan.policy, bulk.plan.grain) = bulk.decided(&tuples);
    let rooted = bulk.rooted(&tuples, n_rows);
    let bulk = bulk.with_workload(rooted.as_ref());
    let n_heavy = bulk.plan.drop_heavy(&mut tuples);
    let top = bulk.top_of_table(&tuples, n_rows - n_heavy);
    drop(tuples);
    let tree = BufferTree::new(&bulk, top, n_rows, surveyed.payload_bytes)?;
    let selects = workload.as_ref().map(|own| &own.selects);
    let model = model_of(&mut run, &surveyed, cuts.shows_regions)?;
    let printer = model.as_ref().map(|own| own.printer);
    let loaded = load(&run, surveyed, tree, selects, printer)?;
    run.clock.read();
    let sensitive_facts = sensitive_facts(&layout, &facts, n_kept);
    let loaded = (loaded, model);
    publish_loaded(run, &bulk, loaded, &protection, (&sensitive_facts, coarser), sinks)
}

/// The recoding function, where it is to be kept.
pub(super) fn model_of(
    run: &mut Context<'_>,
    surveyed: &Surveyed<'_>,
    has_regions: bool,
) -> Result<Option<ModelWriter>> {
    let Some(order) = run.model.take() else { return Ok(None) };
    let codings = surveyed.coders_of(Role::Quasi).map(|coder| coder.coding().clone());
    let coding = Coding::new(codings.collect());
    let writer = order.begin(run.plan, &surveyed.known, &coding, (surveyed.n_rows, has_regions))?;
    Ok(Some(writer))
}

/// What is told of a tree whose parts have been handed on.
#[derive(Default)]
pub(super) struct Drained {
    pub(super) tops: Option<SampledTops>,
    pub(super) passes: Option<Passes>,
}

/// Where the parts of a tree go.
pub(super) type PartSink<'s> = dyn FnMut(Loaded<'_>) -> std::result::Result<(), ReleaseError> + 's;

/// A tree that has its rows, and hands on its parts from left to right.
pub(super) trait Drain<'a>: Intake<'a> {
    fn drain_into(self, sink: &mut PartSink<'_>) -> std::result::Result<Drained, ReleaseError>;
}

impl<'a> Drain<'a> for BufferTree<'a> {
    fn drain_into(self, sink: &mut PartSink<'_>) -> std::result::Result<Drained, ReleaseError> {
        let is_large = self.table() == TableSize::Large;
        let tops = self.drain(sink)?;
        Ok(Drained { tops: is_large.then_some(tops), passes: None })
    }
}

/// Publishes all releases of a tree that has its rows.
pub(super) fn publish_loaded<'a>(
    mut run: Context<'_>,
    bulk: &BulkPlan<'_>,
    (loaded, model): (LoadedRows<impl Drain<'a>>, Option<ModelWriter>),
    protection: &Protection,
    (sensitive_facts, coarser): (&[usize], Coarser),
    sinks: Vec<Box<dyn Sink>>,
) -> Result<Prepared> {
    let LoadedRows { table, intake: tree, payload, fingerprint, print, notes, _memory } = loaded;
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
    let shape = LeafShape::of(&table.attributes);
    let mut outlets = Outlets {
        door: &mut door,
        picture: coarser.draws.then(Picture::default),
        model: model.map(|writer| (writer, &shape)),
    };
    run.watch.phase(Phase::Partition, Some(tree.n_rows()));
    let drained = match run.plan.max_left_out(tree.n_rows()) {
        0 => {
            tree.drain_into(&mut |loaded| admit_loaded(&run, bulk, &loaded, coarser, &mut outlets))?
        }
        max_rows => {
            let mut units = WaitingUnits::new(bulk, max_rows);
            let drained = tree.drain_into(&mut |loaded| {
                run.watch.check()?;
                Ok(units.add(loaded)?)
            })?;
            units.drain(&mut |remaining| {
                admit_remaining(&run, bulk, &remaining, coarser, &mut outlets)
            })?;
            drained
        }
    };
    let (picture, model) = (outlets.picture, outlets.model.map(|(writer, _)| writer));
    let drawing = picture.map(Picture::draw).transpose()?;
    run.clock.partition();
    let mut notes = [protection.notes.clone(), notes].concat();
    notes.extend((sinks.len() > 1).then_some(Note::BoundTogether));
    let Drained { tops, passes } = drained;
    let chosen = bulk.plan.portfolio.and_then(|ways| Chosen::of(ways, bulk.plan.space, None));
    let may_overlap = chosen.as_ref().is_some_and(|own| own.may_overlap);
    let story = Story { tops, passes, chosen, may_overlap, ..story_of(&table, notes) };
    let mut prepared = run.close(door, sinks, &story)?;
    prepared.drawing = drawing;
    if let Some(model) = model {
        prepared.add(model.finish(print)?);
    }
    Ok(prepared)
}

/// Where the parts of an index go: to the door, and to what its owner keeps of it.
struct Outlets<'o, 'a> {
    door: &'o mut Door<'a>,
    picture: Option<Picture>,
    model: Option<(ModelWriter, &'o LeafShape)>,
}

pub(super) fn story_of(table: &PackedTable, notes: Vec<Note>) -> Story<'_> {
    Story {
        attributes: &table.attributes,
        column_types: &table.column_types,
        may_overlap: false,
        has_history: false,
        generalization: None,
        tops: None,
        chosen: None,
        passes: None,
        notes,
        ncp_before: None,
        n_given_notes: 0,
    }
}

/// The workload of the plan. Features are looked at once more for that, and rows are coded with
/// their cells from then on.
fn workload_of<'s>(
    run: &Context<'s>,
    surveyed: &mut Surveyed<'s>,
    cuts: &CutPlan,
) -> Result<Option<TableWorkload>> {
    let domains = TargetDomains::of_survey(surveyed);
    let Some(mut workload) = TableWorkload::of(run.plan, &domains)? else { return Ok(None) };
    let (features, n_rows) = (&domains.features, surveyed.n_rows);
    let counts = FeatureCounts::of(features, &workload.workload, n_rows, &cuts.grain)?;
    let Some(mut counts) = counts else { return Ok(Some(workload)) };
    let n_attributes = domains.quasi.len();
    let first = n_subject_facts(surveyed);
    let class_place = counts.class_place();
    let _memory = run.memory.budget.try_reserve("the values of the features", counts.n_bytes())?;
    surveyed.look_again(&run.reading(None), &mut |chunk| {
        let class = |row: usize| match class_place {
            None => 0,
            Some(TargetPlace::Axis(axis)) => chunk.codes[row * n_attributes + axis],
            Some(TargetPlace::Carried(place)) => chunk.facts[first + workload.carried[place]][row],
        };
        counts.add(chunk.features.iter().map(Vec::as_slice), class);
    })?;
    let space = counts.finish()?;
    workload.add_features(&space);
    surveyed.feature_space = Some(space);
    Ok(Some(workload))
}

/// The sample on which the top of the tree of a large table is grown, with what its rows hold that
/// tests look at, and what they carry of a workload.
fn tuples_of<'s>(
    run: &Context<'s>,
    surveyed: &mut Surveyed<'s>,
    bulk: &BulkPlan<'_>,
) -> Result<Tuples> {
    if bulk.table == TableSize::Small {
        surveyed.sample.clear();
        return Ok(Tuples::default());
    }
    let mut tuples = surveyed.tuples()?;
    surveyed.sample.clear();
    let BulkPlan { plan, facts, .. } = bulk;
    let tested = facts.ruled.iter().filter(|_| plan.n_tested_columns() > 0);
    let places: Vec<usize> = tested.chain(&facts.targets).copied().collect();
    if !places.is_empty() {
        let limit = plan.grain.sample_tuples(surveyed.coders_of(Role::Quasi).count());
        // Facts take about as much again as the sample, and more.
        let n_bytes = 2 * plan.grain.sample_bytes;
        let _memory = run.memory.budget.try_reserve("what a sample holds", n_bytes)?;
        surveyed.count_facts(&run.reading(None), &mut tuples, &places, limit)?;
    }
    Ok(tuples)
}

/// Hands the classes of a part to all releases.
fn admit_loaded(
    run: &Context<'_>,
    bulk: &BulkPlan<'_>,
    loaded: &Loaded<'_>,
    coarser: Coarser,
    outlets: &mut Outlets<'_, '_>,
) -> std::result::Result<(), ReleaseError> {
    match loaded {
        Loaded::Subtree(subtree) => {
            admit(bulk, subtree, coarser, outlets)?;
            Ok(run.watch.done(subtree.tree.n_rows() as u64)?)
        }
        Loaded::Giant(giant) => {
            outlets.picture.iter_mut().for_each(|own| own.add_leaf(giant.n_rows));
            if let Some((writer, shape)) = &mut outlets.model {
                keep_giant(bulk, giant, writer, shape)?;
            }
            outlets.door.admit_giant(GiantLeaf {
                layout: bulk.layout,
                store: bulk.store,
                blocks: &giant.blocks,
                region: giant.region.as_deref().filter(|_| bulk.plan.keep_regions),
                holes: &[],
                features: &[],
            })?;
            Ok(run.watch.done(giant.n_rows)?)
        }
    }
}

/// Hands the classes of a part to all releases, and tells them which of its rows are left out.
fn admit_remaining(
    run: &Context<'_>,
    bulk: &BulkPlan<'_>,
    remaining: &Remaining<'_>,
    coarser: Coarser,
    outlets: &mut Outlets<'_, '_>,
) -> std::result::Result<(), ReleaseError> {
    admit_loaded(run, bulk, &remaining.loaded, coarser, outlets)?;
    let Some(left_out) = remaining.left_out else { return Ok(()) };
    run.watch.done(left_out.places.len() as u64)?;
    let places = left_out.places.iter().copied();
    outlets.door.leave_out_packed(bulk.layout, left_out.rows, places)
}

fn admit(
    bulk: &BulkPlan<'_>,
    subtree: &Subtree<'_>,
    coarser: Coarser,
    outlets: &mut Outlets<'_, '_>,
) -> std::result::Result<(), ReleaseError> {
    let region = subtree.region.as_ref().filter(|_| bulk.plan.keep_regions);
    let regions = region.map(|whole| subtree.tree.leaf_regions(whole));
    let leaves = LeafRows {
        layout: bulk.layout,
        rows: subtree.rows,
        order: &subtree.order,
        ends: subtree.tree.leaf_ends(),
        boxes: subtree.tree.leaf_boxes(),
        regions: regions.as_deref(),
    };
    let Outlets { door, picture, model } = outlets;
    if let Some((writer, shape)) = model {
        let (tree, n_attributes) = (&subtree.tree, bulk.layout.n_attributes());
        let mut shown = |leaf: u32| {
            let rows = subtree.order[tree.rows_of(leaf..leaf + 1)].iter().map(|&row| row as usize);
            let around = leaf as usize * n_attributes..(leaf as usize + 1) * n_attributes;
            let mut codes = shape.nothing();
            codes.add(bulk.layout, subtree.rows, &rows, Some(&tree.leaf_boxes()[around]));
            codes
        };
        writer.add_tree(&subtree.way, tree, regions.as_ref(), &mut shown)?;
    }
    let classes = match door.n_releases() {
        1 => vec![LeafClasses::default()],
        _ => nested_classes(bulk, subtree, coarser, leaves, (door, picture))?,
    };
    door.admit_leaves(leaves, &classes)
}

/// Keeps a leaf whose rows do not fit in memory.
fn keep_giant(
    bulk: &BulkPlan<'_>,
    giant: &Giant,
    writer: &mut ModelWriter,
    shape: &LeafShape,
) -> std::result::Result<(), ReleaseError> {
    let mut codes = shape.nothing();
    for block in &giant.blocks {
        let mut rows = RowBlock::default();
        rows.read_from(bulk.layout, &bulk.store.read(block)?);
        codes.add(bulk.layout, &rows, &(0..rows.n_rows()), None);
    }
    let region = giant.region.as_ref().filter(|_| bulk.plan.keep_regions);
    Ok(writer.add_leaf(&giant.way, region, &codes)?)
}

/// The classes of each of several releases: each made of those of the next finer one, as shown.
fn nested_classes(
    bulk: &BulkPlan<'_>,
    subtree: &Subtree<'_>,
    Coarser { granularity, fan_out, .. }: Coarser,
    leaves: LeafRows<'_>,
    (door, picture): (&Door<'_>, &mut Option<Picture>),
) -> std::result::Result<Vec<LeafClasses>, ReleaseError> {
    let chain = door.chain();
    let coarser: Vec<_> = chain[1..].iter().map(|&release| door.requirement(release)).collect();
    let n_bytes = match granularity.has_dendrogram() {
        true => Dendrogram::work_bytes(subtree.tree.n_leaves(), bulk.layout.n_attributes()),
        false => 0,
    };
    let _memory = bulk.budget.try_reserve("the dendrogram of a part", n_bytes)?;
    let closeness = Closeness::default();
    let coarsening = Coarsening { granularity, fan_out, closeness, plan: &bulk.plan };
    let releases = granularity::releases(
        subtree.leaf_runs(bulk),
        coarsening,
        &coarser,
        &mut |place, of_leaf| door.shown_together(chain[place], leaves, (of_leaf, &[])),
    )?;
    if let (Some(picture), Some(dendrogram)) = (picture, releases.dendrogram) {
        picture.add(dendrogram);
    }
    let mut classes = vec![LeafClasses::default(); door.n_releases()];
    for (&release, of_leaf) in chain.iter().zip(releases.classes) {
        classes[release] = LeafClasses::from(Some(of_leaf));
    }
    Ok(classes)
}
