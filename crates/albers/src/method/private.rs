//! Differentially private releases: rows drawn in secret, in the cells of a fixed grid.
//!
//! ```text
//!   table ──fixed scales──► cells ──drawn in secret──► cells of k or more ──► door
//!     (rows/table)                  (index::grid::sampled)                    verifies k once more
//! ```
//!
//! Source: see [`albers_privacy::differential`], where the promise is proved.
//! Departures: the release is no function of the rows, the job and a seed: no two runs draw the same
//! rows, and that is the point.
//! Guarantee: the release file and its manifest are functions of the job and of how many rows of each
//! published cell were drawn. Whether nothing could be published has no part in whether the job ends
//! well; only that somebody has several rows, which the proof excludes, ends it.
//! Cost: a random word and a look at a table of cells for each row.

use albers_classes::class_block::{ClassBlock, Groups};
use albers_classes::points::Points;
use albers_index::grid::sampled::drawn;
use albers_privacy::{DifferentialPrivacy, Requirement};
use albers_release::door::{Door, RowStore, TableRows};
use albers_storage::secret_bits::SystemBits;
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::row::RowIdx;
use albers_table::sink::Sink;
use rustc_hash::FxHashMap;

use crate::context::{Context, DoorRows, Story};
use crate::error::{Error, Result};
use crate::protection::facts_of;
use crate::report::{Note, Prepared};
use crate::rows::{NO_PERSON, Repeated, Table};

/// Draws rows of a table, and publishes those in cells of enough of them.
pub(super) fn publish(
    mut run: Context<'_>,
    mut table: Table,
    promise: DifferentialPrivacy,
    sinks: Vec<Box<dyn Sink>>,
) -> Result<Prepared> {
    if let Some(repeated) = &run.repeated {
        return Err(several_rows(repeated));
    }
    let facts = facts_of(&mut table, &[], &[]);
    run.clock.read();
    let counts_subjects = run.plan.counts_subjects();
    let is_known = |&person: &u64| (person != NO_PERSON).then_some(person);
    let persons: Vec<Option<u64>> = facts.subjects.iter().map(is_known).collect();
    let points = table.take_points();
    let fingerprint = points.fingerprint();
    let cells = cells_of(&points);
    let persons_of_rows = counts_subjects.then_some(&persons[..]);
    let rows = drawn(&cells, persons_of_rows, &promise, &mut SystemBits::new())?;
    let groups = groups_of(&points, &cells, &rows);
    let mut notes = table.unfit_notes();
    let n_without = persons.iter().filter(|person| person.is_none()).count() as u64;
    notes.extend((n_without > 0).then_some(Note::WithoutPerson { n_rows: n_without }));
    if rows.is_empty() {
        notes.push(Note::NothingDrawn { k: promise.k });
    }
    run.clock.partition();

    let requirement = Requirement::new(promise.k, counts_subjects, Vec::new(), Vec::new())?;
    let door_plan = run.door_plan(DoorRows {
        attributes: &table.attributes,
        columns: &table.output_columns,
        shows_regions: false,
        n_rows: table.n_rows as u64,
        fingerprint,
        rows: RowStore::Memory(TableRows { facts: &facts, sensitive: &[], carried: &[] }),
    })?;
    let mut door = Door::open(&door_plan, vec![requirement], run.watch)?;
    door.admit_groups(groups)?;
    let story = Story {
        attributes: &table.attributes,
        column_types: &table.column_types,
        may_overlap: false,
        has_history: false,
        tops: None,
        chosen: None,
        passes: None,
        generalization: None,
        notes,
        ncp_before: None,
        n_given_notes: 0,
    };
    run.close(door, sinks, &story)
}

/// The refusal of a table in which somebody has several rows.
fn several_rows(Repeated { column, .. }: &Repeated) -> Error {
    Error::usage(
        wording![
            format!("rows share their value of '{column}', and "),
            Field::Epsilon,
            " promises nothing of people who have several rows"
        ],
        wording!["name the column that tells persons apart with ", Field::Subject.naming(column)],
    )
}

/// The cell of each row: rows with the same ranges have the same.
fn cells_of(points: &Points) -> Vec<u32> {
    let mut numbers: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
    let mut cells = Vec::with_capacity(points.n_rows());
    for chunk in points.chunks() {
        for row in 0..chunk.n_rows {
            let codes: Vec<u32> = chunk.columns.iter().map(|codes| codes[row]).collect();
            let next = numbers.len() as u32;
            cells.push(*numbers.entry(codes).or_insert(next));
        }
    }
    cells
}

/// The drawn rows as classes, and all others as left out.
fn groups_of(points: &Points, cells: &[u32], rows: &[u32]) -> Groups {
    let chunks = points.chunks();
    let codes_of = |row: u32| {
        let row = RowIdx::new(row);
        let chunk = &chunks[chunks.partition_point(|own| own.first_row <= row) - 1];
        let place = row.index() - chunk.first_row.index();
        chunk.columns.iter().map(move |codes| codes[place])
    };
    let mut by_cell = rows.to_vec();
    by_cell.sort_unstable_by_key(|&row| (cells[row as usize], row));
    let mut classes = ClassBlock::default();
    for class in by_cell.chunk_by(|&a, &b| cells[a as usize] == cells[b as usize]) {
        classes.row_idxs.extend(class.iter().map(|&row| RowIdx::new(row)));
        classes.codes.extend(class.iter().flat_map(|&row| codes_of(row)));
        classes.class_ends.push(classes.row_idxs.len() as u32);
    }
    let blocks = if rows.is_empty() { Vec::new() } else { vec![classes] };
    let mut groups = Groups::of_all(points.n_attributes(), blocks);
    let mut is_drawn = vec![false; cells.len()];
    rows.iter().for_each(|&row| is_drawn[row as usize] = true);
    for row in (0..cells.len() as u32).filter(|&row| !is_drawn[row as usize]) {
        groups.suppressed.row_idxs.push(RowIdx::new(row));
        groups.suppressed.codes.extend(codes_of(row));
    }
    groups
}
