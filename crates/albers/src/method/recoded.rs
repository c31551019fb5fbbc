//! Rows that came later, by the leaves of a recoding function: a release of its own.
//!
//! ```text
//!   rows inside the coding ──route──► leaf buffers ──┬─ leaves that satisfy ──────► door
//!                                                    └─ the others: left out, counted
//! ```
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 4.
//! Departures: what a leaf shows is told anew from its rows by the door, as of any class; a leaf whose
//! rows miss the requirement is left out.
//! Guarantee: every published class satisfies the requirement, with closeness to the distribution of
//! the published rows, measured on the values of all rows: leaves are left out until those that are
//! left satisfy it. The rows that the function was made of come to the release that they came to
//! then.
//! Cost: two passes over the rows, and one over their leaves; one more for each round in which leaves
//! are left out under closeness.

use std::sync::Arc;

use albers_classes::Span;
use albers_classes::packed::{FactColumns, RowBlock, RowLayout};
use albers_index::buffer_tree::Sizes;
use albers_index::leaf_buffers::{LeafBuffers, LeafGroups, LeafPlan, LoadedLeaves, Recoded};
use albers_privacy::{ClassSummary, Criterion, Requirement};
use albers_release::ReleaseError;
use albers_release::door::{Door, GiantLeaf, LeafClasses, LeafRows, PackedRows, RowStore};
use albers_storage::StorageError;
use albers_storage::spill::{Block, SpillStore};
use albers_storage::watch::Phase;
use albers_table::TableError;
use albers_table::coding::CodeMap;
use albers_table::sink::Sink;
use rayon::prelude::*;

use super::index::story_of;
use super::load::{LoadedRows, load};
use super::packed::{layout_of, n_subject_facts, sensitive_facts};
use crate::context::{Context, DoorRows};
use crate::error::{Error, Result};
use crate::findings;
use crate::model::{Fingerprint, Model, RowPrinter};
use crate::protection::{Protection, TableFacts};
use crate::report::{Note, Prepared};
use crate::rows::Surveyed;

/// Publishes rows by the leaves of a recoding function. `n_outside` is asked for when all rows have
/// been read.
pub(crate) fn publish(
    mut run: Context<'_>,
    surveyed: Surveyed<'_>,
    model: &Model,
    n_outside: &dyn Fn() -> u64,
    sink: Box<dyn Sink>,
) -> Result<Prepared> {
    run.memory.check_folder()?;
    let mut protection = Protection::of_some(run.plan, &TableFacts::of_survey(&surveyed))?;
    let (layout, facts) = layout_of(&surveyed, &protection, &[]);
    let sensitive_facts = sensitive_facts(&layout, &facts, surveyed.kept_targets().count());
    let budget = &run.memory.budget;
    let plan = LeafPlan {
        layout: &layout,
        budget,
        store: &run.memory.store,
        sizes: Sizes::within(budget.limit_bytes()),
    };
    let changes = surveyed.changes.clone();
    let tree = Arc::new(model.tree(&changes).ok_or_else(not_whole)?);
    let expected = (surveyed.n_rows, surveyed.payload_bytes);
    let buffers = LeafBuffers::new(plan, tree, &model.weights, expected)?;
    let key = model.fingerprint.key;
    let printer = RowPrinter { key, n_subject_facts: n_subject_facts(&surveyed) };
    let n_missing = surveyed.n_missing.clone();
    let loaded = load(&run, surveyed, buffers, None, Some(printer))?;
    run.clock.read();
    let LoadedRows { table, intake, payload, fingerprint, print, notes, _memory } = loaded;
    let mut groups = intake.gathered()?;
    (run.n_missing, run.n_outside) = (Some(n_missing), n_outside());
    let own = Fingerprint { key, sum: print, n_rows: groups.n_rows() };
    let is_same = is_training(&model.fingerprint, &own, &changes) && run.n_outside == 0;
    if !is_same {
        run.found_before.push(findings::second_release(groups.n_rows() + run.n_outside));
    }

    let rows = PackedRows {
        layout: &layout,
        facts: &facts,
        sensitive_facts: &sensitive_facts,
        payload: &payload,
        payload_bytes: groups.n_payload_bytes(),
        budget,
        store: &run.memory.release_store,
    };
    let door_plan = run.door_plan(DoorRows {
        attributes: &table.attributes,
        columns: &table.output_columns,
        shows_regions: super::shows_regions(run.plan),
        n_rows: groups.n_rows(),
        fingerprint,
        rows: RowStore::Packed(rows),
    })?;
    let judge = Judge { layout: &layout, facts: &facts, store: &run.memory.store };
    let mut left_out = vec![false; model.n_leaves()];
    judge.leave_out(&mut groups, &mut protection.requirements[0], &mut left_out)?;
    let mut door = Door::open(&door_plan, protection.requirements.clone(), run.watch)?;
    run.watch.phase(Phase::Partition, Some(groups.n_rows()));
    let admission = Admission { judge, model, changes: &changes, left_out: &left_out };
    let n_below = admission.admit(&run, &mut groups, &protection.requirements[0], &mut door)?;
    run.clock.partition();
    let mut notes = [protection.notes, notes].concat();
    let n_rows = run.n_outside;
    notes.extend((n_rows > 0).then_some(Note::OutsideModel { n_rows }));
    notes.extend((n_below > 0).then_some(Note::BelowRequirement { n_rows: n_below }));
    let mut story = story_of(&table, notes);
    // The same rows and the same job could have come to other classes, with other rows before.
    story.has_history = !is_same;
    run.close(door, vec![sink], &story)
}

/// Whether rows are exactly those that a function was made of.
fn is_training(of_model: &Fingerprint, own: &Fingerprint, changes: &[CodeMap]) -> bool {
    // A value that got a code of its own is not one of these rows.
    of_model == own && changes.iter().all(CodeMap::is_identity)
}

/// A model whose parts make no tree.
pub(crate) fn not_whole() -> Error {
    Error::Table(TableError::File {
        table: "the model".to_owned(),
        problem: "its tree is not whole".to_owned(),
        hint: "write the model anew".into(),
    })
}

/// Tells which leaves satisfy a requirement.
#[derive(Clone, Copy)]
struct Judge<'a> {
    layout: &'a RowLayout,
    facts: &'a FactColumns,
    store: &'a SpillStore,
}

impl Judge<'_> {
    fn add(&self, rows: &RowBlock, places: impl Iterator<Item = u32>, summary: &mut ClassSummary) {
        let mut codes = Vec::with_capacity(self.facts.ruled.len());
        for row in places {
            codes.clear();
            let ruled = self.facts.ruled.iter();
            codes.extend(ruled.map(|&fact| rows.fact(self.layout, row as usize, fact)));
            summary.add(self.facts.subject_of(self.layout, rows, row), &codes);
        }
    }

    /// What is known of the rows of each of some leaves.
    fn summaries(&self, leaves: &LoadedLeaves<'_>, requirement: &Requirement) -> Vec<ClassSummary> {
        let of_leaf = |place: usize| {
            let mut summary = ClassSummary::new(requirement.shape());
            self.add(leaves.rows, rows_of(leaves, place).iter().copied(), &mut summary);
            summary
        };
        (0..leaves.ends.len()).into_par_iter().map(of_leaf).collect()
    }

    fn summary_of_giant(
        &self,
        blocks: &[Block],
        requirement: &Requirement,
    ) -> albers_storage::Result<ClassSummary> {
        let mut summary = ClassSummary::new(requirement.shape());
        for block in blocks {
            let rows = self.read(block)?;
            self.add(&rows, 0..rows.n_rows() as u32, &mut summary);
        }
        Ok(summary)
    }

    fn read(&self, block: &Block) -> albers_storage::Result<RowBlock> {
        let mut rows = RowBlock::default();
        rows.read_from(self.layout, &self.store.read(block)?);
        Ok(rows)
    }

    /// Where closeness is asked for, leaves out what is not close until all that is left is close to
    /// what is left: every leaf that is left out changes what the others are compared with.
    fn leave_out(
        &self,
        groups: &mut LeafGroups<'_>,
        requirement: &mut Requirement,
        left_out: &mut [bool],
    ) -> Result<()> {
        let is_close = |rule: &Criterion| matches!(rule, Criterion::TCloseness { .. });
        if !requirement.rules().iter().any(|(_, rule)| is_close(rule)) {
            return Ok(());
        }
        loop {
            let mut published = ClassSummary::new(requirement.shape());
            let mut n_new = 0;
            let mut look = |leaf: u32, summary: &ClassSummary| {
                let is_out = &mut left_out[leaf as usize];
                match () {
                    () if *is_out => {}
                    () if requirement.holds(summary) => published.merge(summary),
                    () => {
                        *is_out = true;
                        n_new += 1;
                    }
                }
            };
            groups.visit(&mut |recoded| -> std::result::Result<(), StorageError> {
                match recoded {
                    Recoded::Leaves(leaves) => {
                        let summaries = self.summaries(&leaves, requirement);
                        let all = leaves.leaves.iter().zip(&summaries);
                        all.for_each(|(&leaf, summary)| look(leaf, summary));
                    }
                    Recoded::Giant { leaf, blocks, .. } => {
                        look(leaf, &self.summary_of_giant(blocks, requirement)?);
                    }
                }
                Ok(())
            })?;
            if n_new == 0 {
                return Ok(());
            }
            if published.n_rows() > 0 {
                requirement.bind(&published);
            }
        }
    }
}

/// The rows of a leaf, by their places.
fn rows_of<'l>(leaves: &'l LoadedLeaves<'_>, place: usize) -> &'l [u32] {
    let start = if place == 0 { 0 } else { leaves.ends[place - 1] };
    &leaves.order[start as usize..leaves.ends[place] as usize]
}

/// Takes leaves to the door, or leaves them out.
struct Admission<'a> {
    judge: Judge<'a>,
    model: &'a Model,
    changes: &'a [CodeMap],
    /// Leaves that are left out whatever their rows.
    left_out: &'a [bool],
}

impl Admission<'_> {
    /// Takes all leaves through; tells how many rows are left out.
    fn admit(
        &self,
        run: &Context<'_>,
        groups: &mut LeafGroups<'_>,
        requirement: &Requirement,
        door: &mut Door<'_>,
    ) -> Result<u64> {
        let mut n_left_out = 0;
        groups.visit(&mut |recoded| -> std::result::Result<(), ReleaseError> {
            let (n_rows, n_out) = match recoded {
                Recoded::Leaves(leaves) => {
                    (leaves.order.len() as u64, self.admit_leaves(&leaves, requirement, door)?)
                }
                Recoded::Giant { leaf, blocks, n_rows } => {
                    (n_rows, self.admit_giant((leaf, blocks, n_rows), requirement, door)?)
                }
            };
            n_left_out += n_out;
            Ok(run.watch.done(n_rows)?)
        })?;
        Ok(n_left_out)
    }

    fn admit_leaves(
        &self,
        leaves: &LoadedLeaves<'_>,
        requirement: &Requirement,
        door: &mut Door<'_>,
    ) -> std::result::Result<u64, ReleaseError> {
        let layout = self.judge.layout;
        let n_attributes = layout.n_attributes();
        let holds: Vec<bool> = match requirement.is_only_row_count() {
            Some(k) => {
                let n_rows = |place: usize| rows_of(leaves, place).len() as u64;
                (0..leaves.ends.len()).map(|place| n_rows(place) >= k).collect()
            }
            None => {
                let summaries = self.judge.summaries(leaves, requirement);
                summaries.iter().map(|summary| requirement.holds(summary)).collect()
            }
        };
        let (mut order, mut ends) = (Vec::with_capacity(leaves.order.len()), Vec::new());
        let (mut boxes, mut regions) = (Vec::new(), Vec::new());
        let mut below = Vec::new();
        for (place, &leaf) in leaves.leaves.iter().enumerate() {
            let rows = rows_of(leaves, place);
            if !holds[place] || self.left_out[leaf as usize] {
                below.extend_from_slice(rows);
                continue;
            }
            order.extend_from_slice(rows);
            ends.push(order.len() as u32);
            boxes
                .extend_from_slice(&leaves.boxes[place * n_attributes..(place + 1) * n_attributes]);
            regions.extend(self.region(leaf));
        }
        let n_below = below.len() as u64;
        door.leave_out_packed(layout, leaves.rows, below.into_iter())?;
        let regions: Option<Vec<Span>> =
            self.model.has_regions().then(|| regions.into_iter().flatten().collect());
        let admitted = LeafRows {
            layout,
            rows: leaves.rows,
            order: &order,
            ends: &ends,
            boxes: &boxes,
            regions: regions.as_deref(),
        };
        door.admit_leaves(admitted, &[LeafClasses::default()])?;
        Ok(n_below)
    }

    fn admit_giant(
        &self,
        (leaf, blocks, n_rows): (u32, &[Block], u64),
        requirement: &Requirement,
        door: &mut Door<'_>,
    ) -> std::result::Result<u64, ReleaseError> {
        let Judge { layout, store, .. } = self.judge;
        let summary = self.judge.summary_of_giant(blocks, requirement)?;
        if requirement.holds(&summary) && !self.left_out[leaf as usize] {
            let region = self.region(leaf);
            let region = region.as_deref();
            let (holes, features) = (&[][..], &[][..]);
            door.admit_giant(GiantLeaf { layout, store, blocks, region, holes, features })?;
            return Ok(0);
        }
        for block in blocks {
            let rows = self.judge.read(block)?;
            door.leave_out_packed(layout, &rows, 0..rows.n_rows() as u32)?;
        }
        Ok(n_rows)
    }

    fn region(&self, leaf: u32) -> Option<Vec<Span>> {
        self.model.region(leaf, self.changes)
    }
}
