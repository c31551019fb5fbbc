//! The first pass of an audit: all rows, or what their sensitive columns hold.

use std::sync::atomic::{AtomicBool, Ordering};

use albers_storage::StorageError;
use albers_storage::memory_budget::Reservation;
use albers_storage::spill::check_folder;
use albers_storage::watch::{Phase, Watch};
use albers_table::TableError;
use albers_table::coding::{ChunkSurvey, ColumnCoder, ColumnSurvey, Look};
use albers_table::source::{Source, SourceChunk, SpilledChunks, Stamp, for_each_chunk};

use super::columns::{AuditedColumns, coding};
use super::seen::{CellCounts, ChunkCells};
use crate::columns::WholeColumns;
use crate::error::Result;
use crate::job::Job;
use crate::memory::Memory;
use crate::rows::check_size;
use crate::runs::RunChunk;

/// The rows of a table that is audited.
pub(super) enum AuditedRows<'s> {
    /// All of them.
    Whole(WholeColumns),
    /// What their sensitive columns hold, and a way to see them once more.
    Outside(OutsideRows<'s>),
}

/// Rows that do not fit in memory.
pub(super) struct OutsideRows<'s> {
    /// The coders of the sensitive columns.
    pub(super) coders: Vec<ColumnCoder>,
    /// Number of rows.
    pub(super) n_rows: u64,
    /// The rows, once more.
    pub(super) again: Again<'s>,
    /// What the values of the columns take.
    pub(super) _values: Reservation,
}

/// Where rows can be read once more.
pub(super) enum Again<'s> {
    /// In the spill store.
    Spilled(SpilledChunks<'s>),
    /// In the source, if it is still what it was.
    Source(Option<Stamp>),
}

/// What becomes of the rows as they arrive.
struct Intake<'s> {
    source: &'s dyn Source,
    memory: &'s Memory,
    /// Columns that are neither shown nor sensitive.
    n_subjects: usize,
    kept: Kept<'s>,
    n_rows: u64,
    /// Of the sensitive columns, once not all rows are kept in memory.
    surveys: Vec<ColumnSurvey>,
    values: Reservation,
    /// Whether the values did not fit, and are only counted.
    is_over: bool,
    counts: CellCounts,
}

/// Rows that were read.
enum Kept<'s> {
    /// All so far, in memory.
    Memory(Vec<RunChunk>, Reservation),
    /// All so far, in the spill store.
    Spilled(SpilledChunks<'s>),
    /// None: the source can be read again.
    Nothing,
}

/// A chunk as it comes to the intake: surveyed, if rows are no longer all kept in memory; the rows
/// come along unless the source will give them again.
type Arrival = (u64, Option<Vec<ChunkSurvey>>, Option<RunChunk>);

/// All rows, and what was counted of their cells.
pub(super) type ReadRows<'s> = (AuditedRows<'s>, CellCounts);

/// Reads all rows; once more, if all of them have other types than the first.
pub(super) fn read<'s>(
    job: &Job,
    source: &'s dyn Source,
    columns: &mut AuditedColumns,
    wants_rows: bool,
    (memory, watch): (&'s Memory, &dyn Watch),
) -> Result<ReadRows<'s>> {
    let stamp = source.stamp();
    let intake = match Intake::read(source, columns, wants_rows, (memory, watch)) {
        Err(TableError::OtherTypes { mut types, .. }) => {
            types.truncate(columns.requests.len());
            columns.types = *types;
            Intake::read(source, columns, wants_rows, (memory, watch))?
        }
        outcome => outcome?,
    };
    check_size(source, intake.n_rows)?;
    let Intake { kept, n_rows, surveys, values, is_over, counts, .. } = intake;
    if let Some(row_bytes) = counts.missing_row_bytes() {
        // The other half is for the rows themselves, or for their records.
        let (needed_bytes, limit_bytes) = (2 * row_bytes, memory.budget.limit_bytes() as u64);
        let what = "the numbers of rows";
        return Err(StorageError::OverBudget { what, needed_bytes, limit_bytes }.into());
    }
    let again = match kept {
        Kept::Memory(chunks, memory) => {
            let whole = WholeColumns::of(&columns.requests, &columns.types, chunks, memory);
            return Ok((AuditedRows::Whole(whole), counts));
        }
        Kept::Spilled(spilled) => Again::Spilled(spilled),
        Kept::Nothing => Again::Source(stamp),
    };
    if is_over {
        return Err(over_budget(&surveys, memory).into());
    }
    let coders = coders(job, columns, surveys)?;
    let outside = OutsideRows { coders, n_rows, again, _values: values };
    Ok((AuditedRows::Outside(outside), counts))
}

/// The coders of the sensitive columns.
fn coders(
    job: &Job,
    columns: &AuditedColumns,
    surveys: Vec<ColumnSurvey>,
) -> Result<Vec<ColumnCoder>> {
    let first = columns.first_sensitive();
    let mut coders = Vec::with_capacity(surveys.len());
    for (column_idx, survey) in (first..).zip(surveys) {
        let coding = coding(job, &columns.requests[column_idx].name);
        let data_type = columns.types.data_types[column_idx].clone();
        coders.push(survey.finish(columns.types.column_types[column_idx], data_type, coding)?);
    }
    Ok(coders)
}

/// What would do for the values of the columns.
fn over_budget(surveys: &[ColumnSurvey], memory: &Memory) -> StorageError {
    // The rest of the budget is for the records of the rows.
    let needed_bytes = 3 * surveys.iter().map(ColumnSurvey::memory_bytes).sum::<usize>() as u64;
    let limit_bytes = memory.budget.limit_bytes() as u64;
    StorageError::OverBudget { what: "the values of the columns", needed_bytes, limit_bytes }
}

/// What a chunk tells of its sensitive columns.
fn survey(chunk: &RunChunk, n_subjects: usize) -> Vec<ChunkSurvey> {
    let sensitive = chunk.others.iter().skip(n_subjects);
    sensitive.map(|cells| ChunkSurvey::of(cells, Look::Values)).collect()
}

impl<'s> Intake<'s> {
    /// Reads the source to its end.
    fn read(
        source: &'s dyn Source,
        columns: &AuditedColumns,
        wants_rows: bool,
        (memory, watch): (&'s Memory, &dyn Watch),
    ) -> albers_table::Result<Intake<'s>> {
        let n_subjects = usize::from(columns.has_subject);
        let sensitive = columns.requests[columns.first_sensitive()..].iter();
        let rows = wants_rows.then(|| memory.budget.reserve_nothing("the numbers of rows"));
        let mut intake = Intake {
            source,
            memory,
            n_subjects,
            kept: Kept::Memory(Vec::new(), memory.budget.reserve_nothing("the columns of a table")),
            n_rows: 0,
            surveys: sensitive.map(|own| ColumnSurvey::new(&own.name, Look::Values)).collect(),
            values: memory.budget.reserve_nothing("the values of the sensitive columns"),
            is_over: false,
            counts: CellCounts::new(columns, rows),
        };
        let is_outside = AtomicBool::new(false);
        let is_kept = AtomicBool::new(true);
        let n_coded = columns.requests.len();
        let map = |mut chunk: SourceChunk| -> albers_table::Result<(Arrival, ChunkCells)> {
            let counted = chunk.coded.split_off(n_coded.min(chunk.coded.len()));
            let chunk = RunChunk::of(chunk, columns.n_quasi);
            let cells = ChunkCells::of(columns, &chunk, &counted, wants_rows);
            let is_outside = is_outside.load(Ordering::Relaxed);
            let surveys = is_outside.then(|| survey(&chunk, n_subjects));
            let n_rows = chunk.n_rows as u64;
            Ok(((n_rows, surveys, is_kept.load(Ordering::Relaxed).then_some(chunk)), cells))
        };
        watch.phase(Phase::Read, source.n_rows());
        let (requests, types) = columns.with_counted();
        let mut scan = source.scan(&requests, &types)?;
        for_each_chunk(scan.as_mut(), watch, &map, &mut |(arrival, cells)| {
            intake.counts.add(cells);
            intake.take(arrival)?;
            is_outside.store(!matches!(intake.kept, Kept::Memory(..)), Ordering::Relaxed);
            is_kept.store(!matches!(intake.kept, Kept::Nothing), Ordering::Relaxed);
            Ok(())
        })?;
        drop(scan);
        Ok(intake)
    }

    fn take(&mut self, (n_rows, surveys, chunk): Arrival) -> albers_table::Result<()> {
        self.n_rows += n_rows;
        match (surveys, &chunk) {
            (Some(surveys), _) => self.add(surveys)?,
            // It was on its way when the rows no longer fitted.
            (None, Some(chunk)) if !matches!(self.kept, Kept::Memory(..)) => {
                self.add(survey(chunk, self.n_subjects))?;
            }
            _ => {}
        }
        match (&mut self.kept, chunk) {
            (Kept::Memory(chunks, memory), Some(chunk)) => {
                let n_bytes = whole_bytes(&chunk);
                chunks.push(chunk);
                // Half is left for the classes and for what the requirement looks at.
                let is_within = memory.n_bytes() + n_bytes <= self.memory.budget.limit_bytes() / 2;
                if !is_within || memory.try_grow(n_bytes).is_err() {
                    self.give_up_memory()?;
                }
            }
            (Kept::Spilled(spilled), Some(chunk)) => spilled.put(chunk.into_rows())?,
            (Kept::Nothing, _) | (_, None) => {}
        }
        Ok(())
    }

    /// The rows no longer fit: what they hold is surveyed, and they go where they can be read
    /// again.
    fn give_up_memory(&mut self) -> albers_table::Result<()> {
        check_folder(self.memory.store.folder())?;
        let can_reread = self.source.stamp().is_some();
        let outside = match can_reread {
            true => Kept::Nothing,
            false => Kept::Spilled(SpilledChunks::new(&self.memory.store)),
        };
        let kept = std::mem::replace(&mut self.kept, outside);
        let Kept::Memory(chunks, mut memory) = kept else { return Ok(()) };
        for chunk in chunks {
            memory.shrink(whole_bytes(&chunk).min(memory.n_bytes()));
            self.add(survey(&chunk, self.n_subjects))?;
            if let Kept::Spilled(spilled) = &mut self.kept {
                spilled.put(chunk.into_rows())?;
            }
        }
        Ok(())
    }

    /// Adds what a chunk tells.
    fn add(&mut self, chunk: Vec<ChunkSurvey>) -> albers_table::Result<()> {
        for (survey, of_chunk) in self.surveys.iter_mut().zip(chunk) {
            survey.add(of_chunk)?;
        }
        let n_bytes: usize = self.surveys.iter().map(ColumnSurvey::memory_bytes).sum();
        let more_bytes = n_bytes.saturating_sub(self.values.n_bytes());
        if !self.is_over && self.values.try_grow(more_bytes).is_err() {
            // The pass goes on without them, to tell how much would do.
            self.is_over = true;
            self.surveys.iter_mut().for_each(ColumnSurvey::only_estimate);
        }
        Ok(())
    }
}

/// What a chunk takes while all rows are in memory: its cells as they are, or coded.
fn whole_bytes(chunk: &RunChunk) -> usize {
    chunk.kept_bytes().max(chunk.cell_bytes())
}
