//! Buffers are emptied: rows that wait reach their leaves, and leaves are mended.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use albers_classes::packed::{FactColumns, RowBlock, RowLayout};
use albers_classes::space::{Axis, Space};
use albers_index::buffer_tree::{BulkPlan, Sizes};
use albers_index::living::{LivingPlan, settle};
use albers_ledger::Needs;
use albers_partition::cell::TableSize;
use albers_partition::mondrian::Plan as CutSettings;
use albers_privacy::{Criterion, Facts, Requirement};
use albers_storage::store::{Changes, Pages};
use albers_storage::watch::Watch;
use albers_table::code::Code;
use albers_table::schema::Role;
use rustc_hash::{FxHashMap, FxHashSet};

use super::catalogue::{EventRun, decoded};
use super::coding::LivingCoding;
use super::decide::RowSet;
use super::ledger::{self, GoneFacts};
use super::parts::{Shelf, StoredRows};
use super::row_number::RowNumber;
use super::state::{State, Tabled};
use super::stored_table::Schema;
use crate::error::Result;
use crate::memory::Memory;
use crate::protection::{Protection, TableFacts, value_counts};

/// What the requirement of an index must know of its rows.
pub(super) struct RowCounts {
    pub(super) n_subjects: Option<u64>,
    pub(super) sensitive: Vec<Vec<(Code, u64)>>,
}

impl RowCounts {
    /// The requirements for each k of so many rows; refuses what even all of them together do not
    /// satisfy.
    pub(super) fn protection(&self, state: &State, ks: &[u64], n_rows: u64) -> Result<Protection> {
        let tabled = state.tabled()?;
        let domains = tabled.coding.sensitive_domains();
        let facts = TableFacts {
            n_rows,
            n_subjects: self.n_subjects,
            sensitive: domains.zip(self.sensitive.iter().cloned()).collect(),
        };
        Protection::with_ks(&tabled.schema.plan, ks, &facts)
    }

    /// The counts of the columns with rules.
    pub(super) fn ruled(&self, ruled: &[usize]) -> Vec<Vec<(u32, u64)>> {
        ruled.iter().map(|&column| value_counts(&self.sensitive[column])).collect()
    }
}

/// Counts what a requirement must know, row by row.
pub(super) struct RowCounter<'c> {
    facts: FactColumns,
    layout: &'c RowLayout,
    greatest_k: u64,
    subjects: FxHashSet<u64>,
    counts: Vec<FxHashMap<u32, u64>>,
}

impl<'c> RowCounter<'c> {
    /// Of no row yet. Subjects are counted up to the greatest k.
    pub(super) fn new(tabled: &'c Tabled, greatest_k: u64) -> RowCounter<'c> {
        let n_sensitive = tabled.coding.sensitive_domains().count();
        RowCounter {
            facts: tabled.schema.facts(&(0..n_sensitive).collect::<Vec<_>>()),
            layout: tabled.layout(),
            greatest_k,
            subjects: FxHashSet::default(),
            counts: vec![FxHashMap::default(); n_sensitive],
        }
    }

    pub(super) fn add(&mut self, rows: &RowBlock, row: usize) {
        if self.facts.subject.is_some() && (self.subjects.len() as u64) < self.greatest_k {
            self.subjects.insert(self.facts.subject_of(self.layout, rows, row as u32));
        }
        for (counts, &fact) in self.counts.iter_mut().zip(&self.facts.ruled) {
            *counts.entry(rows.fact(self.layout, row, fact)).or_insert(0) += 1;
        }
    }

    pub(super) fn finish(self) -> RowCounts {
        let sorted = |counts: FxHashMap<u32, u64>| {
            let mut counts: Vec<(Code, u64)> =
                counts.into_iter().map(|(code, n)| (Code::new(code), n)).collect();
            counts.sort_unstable();
            counts
        };
        RowCounts {
            n_subjects: self.facts.subject.map(|_| self.subjects.len() as u64),
            sensitive: self.counts.into_iter().map(sorted).collect(),
        }
    }
}

/// Whether a requirement looks at more than the number of rows.
pub(super) fn has_rules(schema: &Schema) -> bool {
    let is_ruled = |column: &crate::plan::PlannedColumn| !column.criteria.is_empty();
    schema.has_subject() || schema.plan.columns.iter().any(is_ruled)
}

/// Counts what the requirement must know, looking at all rows where it looks at more than their
/// number.
pub(super) fn count_rows(
    state: &State,
    pages: Pages,
    removed: &RowSet,
    greatest_k: u64,
) -> Result<RowCounts> {
    let tabled = state.tabled()?;
    let mut counter = RowCounter::new(tabled, greatest_k);
    if has_rules(&tabled.schema) {
        let parts = state.catalogue.parts.clone();
        let rows = StoredRows::new(parts, &state.catalogue.arrivals, pages, &tabled.coding);
        let count = &mut |rows: &RowBlock, row: usize| counter.add(rows, row);
        rows.each_row(state.directory.parts(), removed, count)?;
    }
    Ok(counter.finish())
}

/// The rows that are gone and that some part or run still has.
pub(super) fn removed_rows(state: &State, pages: &Pages) -> Result<RowSet> {
    let mut removed = RowSet::of(state.counters.next_row);
    for EventRun { extent, .. } in &state.catalogue.removed {
        let rows: Vec<u32> = decoded(&pages.read(*extent)?, "the rows that are gone")?;
        rows.into_iter().for_each(|row| removed.add(RowNumber::new(row)));
    }
    Ok(removed)
}

/// The axes of an index.
pub(super) fn space_of(schema: &Schema, coding: &LivingCoding) -> Space {
    let known = &schema.known;
    let columns = known.surveyed().zip(coding.coding.columns());
    let quasi = columns.filter(|(column, _)| known.planned[*column].role == Role::Quasi);
    let axis = |(column, coding): (usize, &albers_table::coding::ColumnCoding)| {
        let planned = &known.planned[column];
        Axis::new(coding.domain(), known.shown[column], planned.weight, planned.preferred)
    };
    Space { axes: quasi.map(axis).collect() }
}

/// What everything about an index is split and checked with.
pub(super) struct Growth {
    pub(super) space: Space,
    pub(super) facts: FactColumns,
    no_facts: Facts,
}

impl Growth {
    /// Of an index, if these of its sensitive columns have rules.
    pub(super) fn of(schema: &Schema, coding: &LivingCoding, ruled: &[usize]) -> Growth {
        let no_facts = Facts { subjects: Vec::new(), sensitive: Vec::new(), n_sensitive: 0 };
        Growth { space: space_of(schema, coding), facts: schema.facts(ruled), no_facts }
    }

    /// How rows are split so that every leaf satisfies a requirement.
    pub(super) fn bulk<'g>(
        &'g self,
        schema: &Schema,
        coding: &'g LivingCoding,
        requirement: &'g Requirement,
        memory: &'g Memory,
    ) -> BulkPlan<'g> {
        let cuts = schema.cuts();
        BulkPlan {
            plan: CutSettings {
                space: &self.space,
                requirement,
                facts: &self.no_facts,
                workload: None,
                policy: cuts.policy,
                keep_regions: false,
                labels_apart: false,
                is_exact: false,
                trust: None,
                portfolio: None,
                grain: cuts.grain,
                seed: schema.plan.show.seed,
            },
            strictest: requirement,
            has_coarser: false,
            layout: coding.layout(),
            facts: &self.facts,
            table: TableSize::Small,
            budget: &memory.budget,
            store: &memory.store,
            sizes: Sizes::within(memory.budget.limit_bytes()),
        }
    }
}

/// Empties all buffers and tells the ledger what happened to rows; gives the number of rows that were
/// cut anew for that.
pub(super) fn settle_all(
    state: &mut State,
    changes: &mut Changes,
    protection: &Protection,
    memory: &Memory,
    watch: &dyn Watch,
) -> Result<u64> {
    state.touch();
    let pages = changes.pages()?;
    let removed = removed_rows(state, &pages)?;
    let requirement = &protection.requirements[0];
    let asked = (requirement, &protection.ruled[..]);
    let (gone, n_cut) = settle_parts(state, changes, (&pages, &removed), asked, (memory, watch))?;
    for run in std::mem::take(&mut state.catalogue.removed) {
        changes.free(run.extent)?;
    }
    for run in std::mem::take(&mut state.catalogue.arrivals) {
        changes.free(run.extent)?;
    }
    let has_releases = state.catalogue.ledger.epoch().is_some();
    if has_releases || !state.catalogue.events.is_empty() {
        let n_bytes = state.catalogue.ledger.memory_bytes(state.counters.next_row);
        let _memory = memory.budget.try_reserve("the ledger of the releases", n_bytes)?;
        let read = |extent| Ok(pages.read(extent)?);
        let mut ledger = state.catalogue.ledger.read(Needs::of(requirement), &read)?;
        ledger::tell(&mut ledger, state, (&gone, &protection.ruled), changes)?;
        if ledger.n_releases() > 0 {
            let epoch = state.tabled()?.coding.epoch();
            state.catalogue.ledger.write(&mut ledger, epoch, changes)?;
        }
    }
    forget_epochs(state, changes)?;
    Ok(n_cut)
}

type Asked<'a> = (&'a Requirement, &'a [usize]);

/// Lets parts take in what changed; gives the facts of rows that are gone, where the requirement
/// looks at any, and the number of rows that were cut anew.
fn settle_parts(
    state: &mut State,
    changes: &mut Changes,
    (pages, removed): (&Pages, &RowSet),
    (requirement, ruled): Asked<'_>,
    (memory, watch): (&Memory, &dyn Watch),
) -> Result<(GoneFacts, u64)> {
    let parts = std::mem::take(&mut state.catalogue.parts);
    let arrivals = std::mem::take(&mut state.catalogue.arrivals);
    let mut directory = state.directory.clone();
    let tabled = state.tabled()?;
    let (schema, coding) = (&tabled.schema, &tabled.coding);
    let growth = Growth::of(schema, coding, ruled);
    let keeps_facts = requirement.is_only_row_count().is_none();
    let is_closeness = |rule: &(usize, Criterion)| matches!(rule.1, Criterion::TCloseness { .. });
    let plan = LivingPlan {
        bulk: growth.bulk(schema, coding, requirement, memory),
        part_rows: schema.cuts().grain.cell_rows,
        // The whole that classes are close to has changed.
        looks_at_all: requirement.rules().iter().any(is_closeness),
    };
    let is_removed =
        |row: albers_table::row::RowId| removed.contains(RowNumber::new(row.get() as u32));
    let has_removed = !removed.is_empty();
    let shelf = Shelf::new(parts);
    let rows = StoredRows::new(BTreeMap::new(), &arrivals, pages.clone(), coding);
    let gone = keeps_facts.then(|| (&growth.facts, Mutex::default()));
    let next_part = state.catalogue.next_part;
    let (settled, next_part, gone) = shelf.while_writing(coding, changes, |shelving| {
        let mut stored = shelving.parts(rows, next_part, removed, gone);
        let settled = settle(&mut directory, &mut stored, &plan, &is_removed, has_removed, watch)?;
        let gone = stored.gone.map(|(_, gone)| gone.into_inner());
        let gone = gone.map(|gone| gone.unwrap_or_else(PoisonError::into_inner));
        Ok((settled, stored.next_part, gone))
    })?;
    state.catalogue.parts = shelf.into_parts()?;
    state.catalogue.next_part = next_part;
    state.catalogue.arrivals = arrivals;
    state.directory = directory;
    Ok((gone.unwrap_or_default(), settled.n_grown))
}

/// Forgets the epochs that nothing is of any more.
pub(super) fn forget_epochs(state: &mut State, changes: &mut Changes) -> Result<()> {
    let parts = state.catalogue.parts.values().map(|part| part.epoch);
    let arrivals = state.catalogue.arrivals.iter().map(|run| run.epoch);
    let ledger = state.catalogue.ledger.epoch();
    let tabled = state.tabled()?;
    let oldest = parts.chain(arrivals).chain(ledger).min().unwrap_or(tabled.coding.epoch());
    state.tabled_mut()?.coding.forget_before(oldest, changes)
}
