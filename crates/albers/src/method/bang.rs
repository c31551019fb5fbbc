//! Classes of a BANG file: tables of any size, regions that may lie in each other.
//!
//! ```text
//!   survey ──► domains, requirement ──► scales
//!   rows once more ──► packed rows ──► key buffers ──► units, the outer ones first ──► release
//! ```

use std::sync::Arc;

use albers_classes::class_block::ClassDetails;
use albers_classes::{FeatureValue, Span};
use albers_index::bang_file::LotSizes;
use albers_index::bang_file::scale::{CodeCounts, Scale, ScaleProblem};
use albers_index::bang_file::space::HalvedSpace;
use albers_index::buffer_tree::{BulkPlan, Intake, Sizes};
use albers_index::key_buffers::{BangGiant, BangLoad, BangUnit, KeyBuffers, LoadedUnit};
use albers_partition::cell::TableSize;
use albers_partition::mondrian::Plan as CutSettings;
use albers_partition::sample::Tuples;
use albers_partition::split::Policy;
use albers_privacy::Facts;
use albers_release::ReleaseError;
use albers_release::door::{Door, GiantLeaf, LeafClasses, LeafRows, PackedRows, RowStore};
use albers_storage::watch::Phase;
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::schema::Role;
use albers_table::sink::Sink;

use super::index::story_of;
use super::load::{LoadedRows, load};
use super::packed::{layout_of, sensitive_facts, space_of};
use super::shows_regions;
use crate::context::{Context, DoorRows};
use crate::error::{Error, Result};
use crate::protection::{Protection, TableFacts};
use crate::report::Prepared;
use crate::rows::Surveyed;

/// Builds a file unit by unit and publishes its blocks.
pub(super) fn publish<'r>(
    mut run: Context<'r>,
    mut surveyed: Surveyed<'r>,
    sinks: Vec<Box<dyn Sink>>,
) -> Result<Prepared> {
    run.memory.check_folder()?;
    let protection = Protection::of(run.plan, &TableFacts::of_survey(&surveyed))?;
    let halved = Arc::new(HalvedSpace::new(scales(&run, &mut surveyed)?));
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
    let bang = BangLoad {
        bulk: &bulk,
        space: &halved,
        nests: run.plan.method.is_nested(),
        lot_sizes: LotSizes::of(n_rows, &grain),
    };
    let buffers = KeyBuffers::new(bang, &tuples, n_rows, surveyed.payload_bytes)?;
    drop(tuples);
    let loaded = load(&run, surveyed, buffers, None)?;
    run.clock.read();
    let sensitive_facts = sensitive_facts(&layout, &facts, n_kept);
    publish_loaded(run, &bulk, loaded, &protection, &sensitive_facts, sinks)
}

/// Publishes a file that has its rows.
fn publish_loaded(
    mut run: Context<'_>,
    bulk: &BulkPlan<'_>,
    loaded: LoadedRows<KeyBuffers<'_>>,
    protection: &Protection,
    sensitive_facts: &[usize],
    sinks: Vec<Box<dyn Sink>>,
) -> Result<Prepared> {
    let LoadedRows { table, intake: buffers, payload, fingerprint, notes, _memory } = loaded;
    let rows = PackedRows {
        layout: bulk.layout,
        facts: bulk.facts,
        sensitive_facts,
        payload: &payload,
        payload_bytes: buffers.n_payload_bytes(),
        budget: bulk.budget,
        store: &run.memory.release_store,
    };
    let door_plan = run.door_plan(DoorRows {
        attributes: &table.attributes,
        columns: &table.output_columns,
        shows_regions: shows_regions(run.plan),
        n_rows: buffers.n_rows(),
        fingerprint,
        rows: RowStore::Packed(rows),
    })?;
    let mut door = Door::open(&door_plan, protection.requirements.clone(), run.watch)?;
    run.watch.phase(Phase::Partition, Some(buffers.n_rows()));
    let mut depths = Depths { is_nested: run.plan.method.is_nested(), of_unit: vec![0] };
    buffers.drain(run.watch, &mut |loaded| -> std::result::Result<(), ReleaseError> {
        match loaded {
            LoadedUnit::Unit(unit) => {
                depths.admit(bulk, &unit, &mut door)?;
                Ok(run.watch.done(unit.order.len() as u64)?)
            }
            LoadedUnit::Giant(giant) => {
                depths.admit_giant(bulk, &giant, &mut door)?;
                Ok(run.watch.done(giant.n_rows)?)
            }
        }
    })?;
    run.clock.partition();
    let notes = [protection.notes.clone(), notes].concat();
    run.close(door, sinks, &story_of(&table, notes))
}

/// How deep units lie. A unit comes before those that lie in it, so that its own depth is known when
/// it comes.
struct Depths {
    is_nested: bool,
    of_unit: Vec<u32>,
}

impl Depths {
    fn set(&mut self, unit: u32, depth: u32) {
        let n_known = self.of_unit.len().max(unit as usize + 1);
        self.of_unit.resize(n_known, 0);
        self.of_unit[unit as usize] = depth;
    }

    /// Hands the blocks of a unit on as classes.
    fn admit(
        &mut self,
        bulk: &BulkPlan<'_>,
        unit: &BangUnit<'_>,
        door: &mut Door<'_>,
    ) -> std::result::Result<(), ReleaseError> {
        let first = self.of_unit.get(unit.number as usize).copied().unwrap_or(0);
        let nesting = unit.file.nesting();
        for (&inner, block) in unit.inner.iter().zip(unit.file.around_inner()) {
            self.set(inner, first + nesting.depth(block) + 1);
        }
        let leaves = LeafRows {
            layout: bulk.layout,
            rows: unit.rows,
            order: &unit.order,
            ends: &unit.ends,
            boxes: &unit.boxes,
            regions: Some(&unit.regions),
        };
        let details = self.is_nested.then(|| {
            let mut details = ClassDetails::default();
            for block in 0..unit.file.n_blocks() as u32 {
                let depth = FeatureValue::integer((first + nesting.depth(block)).into());
                details.push(&[depth], &unit.file.hole_boxes(block).concat());
            }
            details
        });
        door.admit_leaves(leaves, &[LeafClasses { of_leaf: None, details }])
    }

    /// Hands a block on as one class that does not fit in memory.
    fn admit_giant(
        &mut self,
        bulk: &BulkPlan<'_>,
        giant: &BangGiant,
        door: &mut Door<'_>,
    ) -> std::result::Result<(), ReleaseError> {
        let depth = self.of_unit.get(giant.number as usize).copied().unwrap_or(0);
        giant.inner.iter().for_each(|&inner| self.set(inner, depth + 1));
        let holes: &[Span] = if self.is_nested { &giant.holes } else { &[] };
        let features = [FeatureValue::integer(depth.into())];
        door.admit_giant(GiantLeaf {
            layout: bulk.layout,
            store: bulk.store,
            blocks: &giant.blocks,
            region: Some(&giant.region),
            holes,
            features: if self.is_nested { &features } else { &[] },
        })
    }
}

/// The scale of each quasi-identifier. Rows are looked at once more where one wants them counted.
fn scales<'s>(run: &Context<'s>, surveyed: &mut Surveyed<'s>) -> Result<Vec<Scale>> {
    let planned = surveyed.known.planned.clone();
    let quasi: Vec<_> = planned.iter().filter(|column| column.role == Role::Quasi).collect();
    let coders = surveyed.coders_of(Role::Quasi);
    let wanted = quasi.iter().zip(coders);
    let mut counts: Vec<Option<CodeCounts>> = wanted
        .map(|(column, coder)| CodeCounts::wanted(column.scale.as_ref(), coder.domain()))
        .collect();
    let n_bytes = counts.iter().flatten().map(CodeCounts::n_bytes).sum();
    let _memory = run.memory.budget.try_reserve("the values of the scales", n_bytes)?;
    if n_bytes > 0 {
        let n_attributes = quasi.len();
        surveyed.look_again(&run.reading(None), &mut |chunk| {
            for row in chunk.codes.chunks_exact(n_attributes) {
                let counted = counts.iter_mut().zip(row);
                counted.for_each(|(counts, &code)| counts.iter_mut().for_each(|own| own.add(code)));
            }
        })?;
    }
    let known = surveyed.known.planned.iter().zip(&surveyed.known.shown);
    let shown = known.filter(|(column, _)| column.role == Role::Quasi).map(|(_, &shown)| shown);
    let domains = surveyed.coders_of(Role::Quasi).map(|coder| coder.domain()).zip(shown);
    let scales = quasi.iter().zip(domains).zip(&counts);
    let scales = scales.map(|((column, domain), counts)| {
        let scale = Scale::of_counts(column.scale.as_ref(), domain, counts.as_ref());
        scale.map_err(|ScaleProblem { problem, hint }| {
            let name = &column.name;
            Error::usage(
                format!("the scale of column '{name}' {problem}"),
                wording![hint, ", or drop ", Field::Scale.naming(name)],
            )
        })
    });
    scales.collect()
}
