//! Classes of a BANG file: tables of any size, regions that may lie in each other.
//!
//! ```text
//!   survey ──► domains, requirement ──► scales
//!   rows once more ──► packed rows ──► key buffers ──► units, the outer ones first ──┬─► release for k
//!                                                                                    └─► for other k
//! ```
//!
//! Of several releases the coarser ones are made unit by unit. Where the job does not say how blocks
//! are brought together, all ways are tried on all units first, and the one that loses least is
//! taken.

use std::sync::Arc;

use albers_classes::class_block::ClassDetails;
use albers_classes::space::Shown;
use albers_classes::{ClassId, FeatureValue, Span};
use albers_index::bang_file::LotSizes;
use albers_index::bang_file::space::HalvedSpace;
use albers_index::buffer_tree::{BulkPlan, Intake, Sizes};
use albers_index::granularity::dendrogram::{Closeness, Dendrogram};
use albers_index::granularity::nested::ClassTree;
use albers_index::granularity::{self, Coarsening, FAN_OUT, Granularity};
use albers_index::key_buffers::{
    BangGiant, BangLoad, BangUnit, KeyBuffers, LoadedUnit, SortedFile, Visit,
};
use albers_partition::cell::TableSize;
use albers_partition::mondrian::Plan as CutSettings;
use albers_partition::sample::Tuples;
use albers_partition::split::Policy;
use albers_privacy::{Facts, Requirement};
use albers_release::ReleaseError;
use albers_release::door::{Door, GiantLeaf, LeafClasses, LeafRows, PackedRows, RowStore};
use albers_storage::memory_budget::Reservation;
use albers_storage::watch::{Phase, Watch};
use albers_table::sink::Sink;

use super::draw::Picture;
use super::index::story_of;
use super::load::{LoadedRows, load};
use super::packed::{layout_of, sensitive_facts, space_of};
use super::scales::scales_of_survey;
use super::shows_regions;
use crate::context::{Context, DoorRows};
use crate::error::{Error, Result};
use crate::plan::{MethodPlan, Plan};
use crate::protection::{Protection, TableFacts};
use crate::report::{Note, Prepared};
use crate::rows::Surveyed;

/// Builds a file unit by unit and publishes its blocks.
pub(super) fn publish<'r>(
    mut run: Context<'r>,
    mut surveyed: Surveyed<'r>,
    sinks: Vec<Box<dyn Sink>>,
) -> Result<Prepared> {
    run.memory.check_folder()?;
    let protection = Protection::of(run.plan, &TableFacts::of_survey(&surveyed))?;
    let budget = &run.memory.budget;
    let space = space_of(&surveyed);
    let (layout, facts) = layout_of(&surveyed, &protection, &[]);
    let n_kept = surveyed.n_kept_facts();
    let grain = run.plan.method.grain().unwrap_or_default();
    let n_rows = surveyed.n_rows;
    let table = TableSize::of(n_rows, &grain);
    let tuples = match table {
        TableSize::Small => Tuples::default(),
        TableSize::Large => surveyed.tuples()?,
    };
    surveyed.sample.clear();
    // After the sample is gone, whose size follows the order of the rows.
    let halved = Arc::new(HalvedSpace::new(scales_of_survey(&run, &mut surveyed)?));
    let no_facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
    let bulk = BulkPlan {
        plan: CutSettings {
            space: &space,
            requirement: &protection.requirements[0],
            facts: &no_facts,
            workload: None,
            policy: Policy::default(),
            keep_regions: true,
            labels_apart: false,
            is_exact: false,
            trust: None,
            portfolio: None,
            grain,
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
    let has_labels = surveyed.known.shown.contains(&Shown::Label);
    let bang = BangLoad {
        bulk: &bulk,
        space: &halved,
        nests: matches!(run.plan.method, MethodPlan::Bang { nests: true, .. }),
        lot_sizes: LotSizes::of(n_rows, &grain),
        // Only labels may show the same of different regions.
        is_one_unit: bulk.has_coarser && has_labels,
    };
    let buffers = KeyBuffers::new(bang, &tuples, n_rows, surveyed.payload_bytes)?;
    drop(tuples);
    let loaded = load(&run, surveyed, buffers, None, None)?;
    run.clock.read();
    let sensitive_facts = sensitive_facts(&layout, &facts, n_kept);
    publish_loaded(run, &bulk, loaded, &protection, &sensitive_facts, sinks)
}

/// Publishes all releases of a file that has its rows.
fn publish_loaded(
    run: Context<'_>,
    bulk: &BulkPlan<'_>,
    loaded: LoadedRows<KeyBuffers<'_>>,
    protection: &Protection,
    sensitive_facts: &[usize],
    sinks: Vec<Box<dyn Sink>>,
) -> Result<Prepared> {
    let LoadedRows { table, intake: buffers, payload, fingerprint, notes, _memory, .. } = loaded;
    let (n_rows, payload_bytes) = (buffers.n_rows(), buffers.n_payload_bytes());
    run.watch.phase(Phase::Partition, Some(n_rows));
    let mut file = buffers.sort(run.watch)?;
    let requirements = &protection.requirements;
    let method = match &run.plan.method {
        MethodPlan::Bang { nests, granularity: None, .. } if requirements.len() > 1 => {
            let shown = (*nests, shows_regions(run.plan));
            let chosen = least_loss(bulk, &mut file, shown, requirements, run.watch)?;
            run.plan.method.with_granularity(chosen)
        }
        method => method.clone(),
    };
    let plan = Plan { method, ..run.plan.clone() };
    let mut run = run.with_plan(&plan);
    let rows = PackedRows {
        layout: bulk.layout,
        facts: bulk.facts,
        sensitive_facts,
        payload: &payload,
        payload_bytes,
        budget: bulk.budget,
        store: &run.memory.release_store,
    };
    let door_plan = run.door_plan(DoorRows {
        attributes: &table.attributes,
        columns: &table.output_columns,
        shows_regions: shows_regions(run.plan),
        n_rows,
        fingerprint,
        rows: RowStore::Packed(rows),
    })?;
    let mut door = Door::open(&door_plan, requirements.clone(), run.watch)?;
    let mut publisher = Publisher::of(bulk, run.plan, door.n_releases());
    file.visit(Visit::Last, run.watch, &mut |loaded| -> std::result::Result<(), ReleaseError> {
        match loaded {
            LoadedUnit::Unit(unit) => {
                publisher.admit(&unit, &mut door)?;
                Ok(run.watch.done(unit.order.len() as u64)?)
            }
            LoadedUnit::Giant(giant) => {
                publisher.admit_giant(&giant, &mut door)?;
                Ok(run.watch.done(giant.n_rows)?)
            }
        }
    })?;
    drop(file);
    let drawing = publisher.picture.map(Picture::draw).transpose()?;
    run.clock.partition();
    let mut notes = [protection.notes.clone(), notes].concat();
    notes.extend((sinks.len() > 1).then_some(Note::BoundTogether));
    let mut prepared = run.close(door, sinks, &story_of(&table, notes))?;
    prepared.drawing = drawing;
    Ok(prepared)
}

/// The granularity whose coarser releases lose least in all; of equal ones, the first.
fn least_loss(
    bulk: &BulkPlan<'_>,
    file: &mut SortedFile<'_>,
    (nests, shows_regions): (bool, bool),
    requirements: &[Requirement],
    watch: &dyn Watch,
) -> Result<Granularity> {
    let candidates: &[Granularity] = match nests {
        true => &[
            Granularity::Nested,
            Granularity::DendrogramCut,
            Granularity::Dendrogram,
            Granularity::Cut,
        ],
        false => &[Granularity::DendrogramCut, Granularity::Dendrogram, Granularity::Cut],
    };
    let mut coarser: Vec<&Requirement> = requirements.iter().collect();
    coarser.sort_by_key(|requirement| requirement.k());
    let mut losses = vec![0.0; candidates.len()];
    file.visit(Visit::Again, watch, &mut |loaded| -> Result<()> {
        // A block that is a class of every release loses the same in all of them.
        let LoadedUnit::Unit(unit) = loaded else { return Ok(()) };
        let _memory = reserved(bulk, &unit, Granularity::Dendrogram)?;
        for (loss, &granularity) in losses.iter_mut().zip(candidates) {
            let leaves = unit.leaf_runs(bulk);
            let made = granularity::releases(
                leaves,
                coarsening(bulk, granularity),
                &coarser[1..],
                &mut |_, of_leaf| Ok::<_, Error>(of_leaf.to_vec()),
            )?;
            let of_releases = made.classes[1..].iter();
            let regions = shows_regions.then_some(&unit.regions[..]);
            let losses = of_releases.map(|own| granularity::loss(leaves, own, regions, &bulk.plan));
            *loss += losses.sum::<f64>();
        }
        Ok(())
    })?;
    let best = (0..candidates.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
    Ok(candidates[best.unwrap_or(0)])
}

/// The memory of a dendrogram of a unit, where there is one.
fn reserved(
    bulk: &BulkPlan<'_>,
    unit: &BangUnit<'_>,
    granularity: Granularity,
) -> albers_storage::Result<Reservation> {
    let n_bytes = match granularity.has_dendrogram() {
        true => Dendrogram::work_bytes(unit.ends.len(), bulk.layout.n_attributes()),
        false => 0,
    };
    bulk.budget.try_reserve("the dendrogram of a unit", n_bytes)
}

fn coarsening<'p>(bulk: &'p BulkPlan<'p>, granularity: Granularity) -> Coarsening<'p> {
    let closeness = Closeness::default();
    Coarsening { granularity, fan_out: FAN_OUT, closeness, plan: &bulk.plan }
}

/// Hands classes on, and knows how deep units lie. A unit comes before those that lie in it, so that
/// its own depth is known when it comes.
struct Publisher<'p> {
    bulk: &'p BulkPlan<'p>,
    /// Whether levels are shown.
    is_nested: bool,
    granularity: Granularity,
    picture: Option<Picture>,
    /// How many classes lie around each unit, release by release.
    n_around: Vec<Vec<u32>>,
}

impl<'p> Publisher<'p> {
    fn of(bulk: &'p BulkPlan<'p>, plan: &Plan, n_releases: usize) -> Publisher<'p> {
        let (granularity, draws) = match plan.method {
            MethodPlan::Bang { granularity, draws, .. } => (granularity, draws),
            _ => (None, false),
        };
        Publisher {
            bulk,
            is_nested: plan.method.is_nested(),
            granularity: granularity.unwrap_or(Granularity::Nested),
            picture: draws.then(Picture::default),
            n_around: vec![vec![0]; n_releases],
        }
    }

    fn n_around(&self, release: usize, unit: u32) -> u32 {
        self.n_around[release].get(unit as usize).copied().unwrap_or(0)
    }

    fn set_around(&mut self, release: usize, unit: u32, n_around: u32) {
        let own = &mut self.n_around[release];
        own.resize(own.len().max(unit as usize + 1), 0);
        own[unit as usize] = n_around;
    }

    /// Hands the classes of a unit on.
    fn admit(
        &mut self,
        unit: &BangUnit<'_>,
        door: &mut Door<'_>,
    ) -> std::result::Result<(), ReleaseError> {
        let leaves = LeafRows {
            layout: self.bulk.layout,
            rows: unit.rows,
            order: &unit.order,
            ends: &unit.ends,
            boxes: &unit.boxes,
            regions: Some(&unit.regions),
        };
        let of_leaves = self.classes(unit, leaves, door)?;
        let mut classes = Vec::new();
        for (release, of_leaf) in of_leaves.into_iter().enumerate() {
            let details = self.is_nested.then(|| self.details(release, unit, &of_leaf));
            classes.push(LeafClasses { of_leaf: Some(of_leaf), details });
        }
        door.admit_leaves(leaves, &classes)
    }

    /// The class of each block in each release.
    fn classes(
        &mut self,
        unit: &BangUnit<'_>,
        leaves: LeafRows<'_>,
        door: &Door<'_>,
    ) -> std::result::Result<Vec<Vec<ClassId>>, ReleaseError> {
        if door.n_releases() == 1 {
            return Ok(vec![ClassId::first(unit.ends.len()).collect()]);
        }
        let _memory = reserved(self.bulk, unit, self.granularity)?;
        let chain = door.chain();
        let coarser: Vec<_> = chain[1..].iter().map(|&release| door.requirement(release)).collect();
        let made = granularity::releases(
            unit.leaf_runs(self.bulk),
            coarsening(self.bulk, self.granularity),
            &coarser,
            &mut |place, of_leaf| {
                let release = chain[place];
                let features = match self.is_nested {
                    true => self.levels(release, unit, &ClassTree::of(&unit.file, of_leaf)),
                    false => Vec::new(),
                };
                door.shown_together(release, leaves, (of_leaf, &features))
            },
        )?;
        if let (Some(picture), Some(dendrogram)) = (&mut self.picture, made.dendrogram) {
            picture.add(dendrogram);
        }
        let mut classes = vec![Vec::new(); door.n_releases()];
        for (&release, of_leaf) in chain.iter().zip(made.classes) {
            classes[release] = of_leaf;
        }
        Ok(classes)
    }

    /// The level of each class.
    fn levels(&self, release: usize, unit: &BangUnit<'_>, tree: &ClassTree) -> Vec<FeatureValue> {
        let n_around = self.n_around(release, unit.number);
        let level = |class| FeatureValue::integer((n_around + tree.depth(class)).into());
        ClassId::first(tree.n_classes()).map(level).collect()
    }

    /// The levels and holes of all classes of a unit; from then on it is known how deep the units lie
    /// that lie in it.
    fn details(
        &mut self,
        release: usize,
        unit: &BangUnit<'_>,
        of_leaf: &[ClassId],
    ) -> ClassDetails {
        let tree = ClassTree::of(&unit.file, of_leaf);
        let levels = self.levels(release, unit, &tree);
        let mut holes: Vec<Vec<Span>> = ClassId::first(tree.n_classes())
            .map(|class| {
                let own = tree.holes(class).iter();
                own.flat_map(|&block| unit.file.region_box(block)).collect()
            })
            .collect();
        let n_around = self.n_around(release, unit.number);
        let inner = unit.inner.iter().zip(unit.file.around_inner()).zip(unit.file.inner_boxes());
        for ((&inner, block), region) in inner {
            let class = of_leaf[block as usize];
            holes[class.index()].extend(region);
            self.set_around(release, inner, n_around + tree.depth(class) + 1);
        }
        let mut details = ClassDetails::default();
        for (level, holes) in levels.iter().zip(&holes) {
            details.push(&[*level], holes);
        }
        details
    }

    /// Hands a block on as one class that does not fit in memory.
    fn admit_giant(
        &mut self,
        giant: &BangGiant,
        door: &mut Door<'_>,
    ) -> std::result::Result<(), ReleaseError> {
        self.picture.iter_mut().for_each(|own| own.add_leaf(giant.n_rows));
        let mut levels = Vec::new();
        for release in 0..self.n_around.len() {
            let n_around = self.n_around(release, giant.number);
            levels.push(FeatureValue::integer(n_around.into()));
            giant.inner.iter().for_each(|&inner| self.set_around(release, inner, n_around + 1));
        }
        door.admit_giant(GiantLeaf {
            layout: self.bulk.layout,
            store: self.bulk.store,
            blocks: &giant.blocks,
            region: Some(&giant.region),
            holes: if self.is_nested { &giant.holes } else { &[] },
            features: if self.is_nested { &levels } else { &[] },
        })
    }
}
