//! The classes of a given release, described anew.
//!
//! ```text
//!   release  ──► texts ──► rows that show the same ──┐
//!   key      ──► pairs of rows ──────────────────────┼──► groups ──► door
//!   original ──► domains, codes ─────────────────────┘
//! ```
//!
//! Source: Iwuchukwu & Naughton 2007, section 2.3.
//! Departures: classes are told from the release's text alone, so that any notation will do.
//! Guarantee: the rows of a class of the release stay together, and what they show is recomputed
//! from the original; classes that show the same then are one. Rows that the release leaves out
//! stay left out. Where a level tells classes apart, it stays beside them: boxes only become smaller,
//! so that the innermost box around a row is still that of its class. The requirement is checked on the given classes, and verified on the published
//! rows as for any other release.
//! Cost: one pass over the release and one over the original; their codes in memory, twice.

use albers_classes::FeatureValue;
use albers_classes::class_block::{ClassBlock, Groups};
use albers_classes::space::Shown;
use albers_measure::released::{Pairing, ReleasedColumn, loss_of_released};
use albers_measure::{ClassRows, Classes, ColumnSteps};
use albers_privacy::{ClassSummary, Facts, Requirement};
use albers_release::door::{Door, RowStore, TableRows};
use albers_table::row::RowIdx;
use albers_table::schema::Role;
use albers_table::sink::Sink;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::context::{Context, DoorRows, Story};
use crate::error::{Error, Result};
use crate::plan::MethodPlan;
use crate::protection::{Protection, TableFacts, facts_of, sensitive_codes};
use crate::released::{Released, codes_of, differing_quasi, find_sets, pairs};
use crate::report::{Note, Prepared};
use crate::rows::Table;

/// A release whose classes are to be described anew.
pub(crate) struct GivenRelease<'k> {
    /// The column that pairs its rows with those of the original.
    pub(crate) key: &'k str,
    /// Its texts.
    pub(crate) released: Released,
}

/// A given release whose rows are paired with those of the original.
struct PairedRelease {
    released: Released,
    /// Its rows that show the same.
    classes: Classes,
    /// The row of the original that belongs to each of its rows.
    original_rows: Vec<RowIdx>,
    notes: Vec<Note>,
}

impl GivenRelease<'_> {
    /// Publishes the tightest description of its classes.
    pub(crate) fn publish(
        self,
        mut run: Context<'_>,
        mut table: Table,
        sinks: Vec<Box<dyn Sink>>,
    ) -> Result<Prepared> {
        let key = self.key;
        let mut paired = self.paired(run.source.name(), &mut table)?;
        let k = paired.k(run.plan, &table);
        let sensitive = sensitive_codes(&table);
        let facts = TableFacts::of_table(&table, &sensitive, Some(&paired.original_rows));
        let protection = Protection::with_ks(run.plan, &[k], &facts)?;
        let facts = facts_of(&mut table, &protection.ruled, &sensitive);
        paired.check_requirement(&protection.requirements[0], &facts)?;
        run.clock.read();

        let fingerprint = table.points.fingerprint();
        let codes = codes_of(&mut table);
        let levels = paired.released.level_numbers()?;
        let rows = (&paired.original_rows[..], levels.as_deref());
        let mut groups = groups_of(&paired.classes, rows, &codes);
        paired.leave_out_others(&mut groups, &codes, table.n_rows);
        let ncp_before = paired.ncp_before(run.plan.show.categories, &mut table, &codes);
        run.clock.partition();

        let rows = TableRows { facts: &facts, sensitive: &sensitive, carried: &table.carried };
        let door_plan = run.door_plan(DoorRows {
            attributes: &table.attributes,
            columns: &table.output_columns,
            shows_regions: false,
            n_rows: table.n_rows as u64,
            fingerprint,
            rows: RowStore::Memory(rows),
        })?;
        let mut door = Door::open(&door_plan, protection.requirements, run.watch)?;
        door.admit_groups(groups)?;
        let n_given_notes = paired.notes.len();
        let is_kept = |column: &crate::plan::TableColumn| {
            column.name == key && column.role == Some(Role::Keep)
        };
        if run.plan.table.iter().any(is_kept) {
            paired.notes.push(Note::KeyPublished { column: key.to_owned() });
        }
        paired.notes.extend(protection.notes);
        let story = Story {
            attributes: &table.attributes,
            column_types: &table.column_types,
            may_overlap: false,
            has_history: false,
            tops: None,
            chosen: None,
            passes: None,
            generalization: None,
            notes: paired.notes,
            ncp_before: Some(ncp_before),
            n_given_notes,
        };
        run.close(door, sinks, &story)
    }

    /// Finds the rows of the original.
    fn paired(self, original: &str, table: &mut Table) -> Result<PairedRelease> {
        let mut released = self.released;
        let keys = released.key.take().expect("a key was asked for");
        let of_original = table.key.take().expect("a key was asked for");
        let original_rows = pairs::pair((original, &of_original), (&released.name, &keys))?;
        let notes = std::mem::take(&mut released.notes);
        let classes = released.classes_of_texts();
        Ok(PairedRelease { classes, released, original_rows, notes })
    }
}

impl PairedRelease {
    /// The k of the plan, or what the release reaches.
    fn k(&mut self, plan: &crate::plan::Plan, table: &Table) -> u64 {
        if let MethodPlan::Given { k: Some(k), .. } = plan.method {
            return k;
        }
        let n_units = |class: ClassRows<'_>| match &table.subjects {
            None => class.n_rows(),
            Some(subjects) => {
                let rows = class.rows().map(|row| self.original_rows[row.index()]);
                rows.map(|row| subjects[row.index()]).collect::<FxHashSet<u64>>().len()
            }
        };
        let k = self.classes.iter().map(n_units).min().expect("a release has rows") as u64;
        let counts = if table.subjects.is_some() { "subjects" } else { "rows" };
        self.notes.push(Note::GivenK { k, counts });
        k
    }

    /// Refuses a release that does not satisfy the requirement, also where its compaction would.
    fn check_requirement(&self, requirement: &Requirement, facts: &Facts) -> Result<()> {
        let mut summary = ClassSummary::new(requirement.shape());
        for class in self.classes.iter() {
            summary.clear();
            for row in class.rows() {
                facts.add(self.original_rows[row.index()].index(), &mut summary);
            }
            if !requirement.holds(&summary) {
                return Err(Error::GivenViolates {
                    release: self.released.name.clone(),
                    first_row: class.first_row().into(),
                    n_rows: summary.n_rows(),
                    violations: requirement.violations(&summary),
                });
            }
        }
        Ok(())
    }

    /// Leaves out the rows that the release leaves out.
    fn leave_out_others(&self, groups: &mut Groups, codes: &[Vec<u32>], n_rows: usize) {
        let mut is_released = vec![false; n_rows];
        self.original_rows.iter().for_each(|row| is_released[row.index()] = true);
        for row in RowIdx::FIRST.take(n_rows).filter(|row| !is_released[row.index()]) {
            groups.suppressed.row_idxs.push(row);
            groups.suppressed.codes.extend(codes.iter().map(|column| column[row.index()]));
        }
    }

    /// What the release loses as it is; a note tells why if its cells do not say it.
    fn ncp_before(
        &mut self,
        categories: Option<crate::job::Categories>,
        table: &mut Table,
        codes: &[Vec<u32>],
    ) -> Option<f64> {
        let shown: Vec<Shown> = table.attributes.iter().map(|attribute| attribute.shown).collect();
        find_sets(categories, &self.released, &mut table.attributes);
        let ncp = self.try_ncp_before(table, codes);
        for (attribute, shown) in table.attributes.iter_mut().zip(shown) {
            attribute.shown = shown;
        }
        ncp.map_err(|error| self.notes.push(Note::LossUnknown { why: error.to_string() })).ok()
    }

    fn try_ncp_before(&self, table: &Table, codes: &[Vec<u32>]) -> Result<f64> {
        let columns = table
            .attributes
            .par_iter()
            .map(|attribute| self.released.column(attribute))
            .collect::<Result<Vec<ReleasedColumn<'_>>>>()?;
        let pairing = Pairing { original_rows: &self.original_rows, codes, sensitive: &[] };
        let differing = differing_quasi(&columns, &pairing);
        if !differing.is_empty() {
            let release = self.released.name.clone();
            return Err(Error::DoesNotDescribe { release, columns: differing });
        }
        let steps: Vec<ColumnSteps> =
            columns.iter().map(|own| ColumnSteps::declared(&own.attribute.domain)).collect();
        Ok(loss_of_released((&columns, &steps), &self.classes, table.n_rows, None).0.ncp)
    }
}

/// The classes of a release as groups of rows of the original, with their levels where these are told.
fn groups_of(
    classes: &Classes,
    (original_rows, levels): (&[RowIdx], Option<&[i64]>),
    codes: &[Vec<u32>],
) -> Groups {
    /// Blocks are described in parallel.
    const ROWS_PER_BLOCK: usize = 1 << 16;
    let mut blocks = Vec::new();
    let mut block = ClassBlock::default();
    for class in classes.iter() {
        for released_row in class.rows() {
            let row = original_rows[released_row.index()];
            block.row_idxs.push(row);
            block.codes.extend(codes.iter().map(|column| column[row.index()]));
        }
        block.class_ends.push(block.row_idxs.len() as u32);
        if let Some(levels) = levels {
            let level = FeatureValue::integer(levels[class.first_run()]);
            block.details.get_or_insert_default().features.push(level);
        }
        if block.row_idxs.len() >= ROWS_PER_BLOCK {
            blocks.push(std::mem::take(&mut block));
        }
    }
    if !block.class_ends.is_empty() {
        blocks.push(block);
    }
    Groups::of_all(codes.len(), blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use albers_measure::{Codes, RowRuns};

    #[test]
    fn groups_hold_the_rows_of_the_original_class_by_class() {
        let texts = [0, 1, 0];
        let classes = Classes::of(RowRuns::single(3), &[Codes { codes: &texts, n_values: 2 }]);
        let rows = [3, 0, 1].map(RowIdx::new);
        let groups = groups_of(&classes, (&rows, None), &[vec![10, 11, 12, 13], vec![5, 6, 7, 8]]);
        assert_eq!((groups.n_rows(), groups.n_classes()), (3, 2));
        let [block] = &groups.blocks[..] else { panic!("a small release is one block") };
        assert_eq!(block.row_idxs, [3, 1, 0].map(RowIdx::new));
        assert_eq!(block.codes, [13, 8, 11, 6, 10, 5]);
        assert_eq!(block.class_ends, [2, 3]);
    }

    #[test]
    fn a_large_release_is_cut_into_blocks_of_whole_classes() {
        let texts: Vec<u32> = (0..200_000).map(|row| row % 5).collect();
        let runs = RowRuns::single(texts.len());
        let classes = Classes::of(runs, &[Codes { codes: &texts, n_values: 5 }]);
        let rows: Vec<RowIdx> = RowIdx::FIRST.take(200_000).collect();
        let groups = groups_of(&classes, (&rows, None), std::slice::from_ref(&texts));
        assert_eq!((groups.n_rows(), groups.n_classes()), (200_000, 5));
        assert_eq!(groups.blocks.len(), 3);
    }
}
