//! Batches: rows in, rows out, rows replaced, or the whole table compared.

use albers_storage::choice::Choice as _;
use albers_storage::store::Changes;
use albers_storage::watch::{Phase, Watch};
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::notation::Notation;
use albers_table::row::RowId;
use albers_table::source::{ColumnRequest, RequestedTypes, Source, SourceChunk, for_each_chunk};

use super::catalogue::{PENDING, PendingKey, Records as _, encoded};
use super::decide::{Kind, Known, Purpose, RowSet, remove};
use super::events::{self, Content, Event};
use super::intake::Intake;
use super::keys::{self, KeyEntry, KeyHash, NewestKeys};
use super::report::BatchReport;
use super::state::State;
use super::stored_table::{StoredTable, key_requests, place_in};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::memory::Memory;
use crate::plan::Plan;
use crate::rows::{KnownColumns, Reading, Rows, Wanted};

/// So many rows are removed at once.
const AT_ONCE: usize = 1 << 18;

/// What a batch works on.
pub(super) struct Batch<'b> {
    pub(super) state: &'b mut State,
    pub(super) changes: &'b mut Changes,
    pub(super) memory: &'b Memory,
    pub(super) watch: &'b dyn Watch,
}

impl Batch<'_> {
    /// Takes in the rows of a source, as new ones or in the place of others.
    pub(super) fn put(&mut self, kind: Kind, source: &dyn Source) -> Result<BatchReport> {
        let mut report = BatchReport::default();
        let n_bytes = self.state.counters.next_row as usize / 8;
        let _memory = self.memory.budget.try_reserve("the rows of the batch", n_bytes)?;
        let mut seen = RowSet::default();
        let seen = (kind == Kind::Update).then_some(&mut seen);
        self.put_all(Purpose { kind, report: &mut report, seen }, source)?;
        Ok(report)
    }

    fn put_all(&mut self, purpose: Purpose<'_>, source: &dyn Source) -> Result<()> {
        let limit_bytes = self.memory.budget.limit_bytes() / 6;
        let Batch { state, changes, memory, watch } = self;
        if state.is_untouched() {
            return first_rows(state, changes, (purpose, limit_bytes), source, memory, *watch);
        }
        let schema = state.schema()?;
        let (requests, types) = schema.asked(source)?;
        check_said(&state.job.job, requests, &types)?;
        let _memory = memory.budget.try_reserve("a batch of rows", 2 * limit_bytes)?;
        watch.phase(Phase::Read, source.n_rows());
        let mut scan = source.scan(requests, &types)?;
        let taken = Intake::new(state, changes, purpose, limit_bytes).take(scan.as_mut(), *watch);
        taken.map_err(Error::of_rows_read_once)
    }

    /// Removes the rows whose keys a source has.
    pub(super) fn delete(&mut self, source: &dyn Source) -> Result<BatchReport> {
        let rows = self.keys_of(source)?;
        let n_rows = rows.len() as u64;
        match rows.len() <= self.state.small_rows()? {
            true => self.remove_pending(&rows)?,
            false => self.remove_many(&rows)?,
        }
        Ok(BatchReport { deleted: n_rows, ..BatchReport::default() })
    }

    /// The hashes of all keys of a source, with their rows.
    fn keys_of(&mut self, source: &dyn Source) -> Result<Vec<(KeyHash, RowId)>> {
        let schema = self.state.schema()?;
        let request = [key_requests(&self.state.catalogue.key)[0].clone()];
        place_in(source, &self.state.catalogue.key)?;
        let types = source.types(&request)?;
        let mut rows: Vec<(KeyHash, RowId)> = Vec::new();
        let mut memory = self.memory.budget.reserve_nothing("the keys of a batch");
        let mut failed = None;
        let mut scan = source.scan(&request, &types)?;
        self.watch.phase(Phase::Read, source.n_rows());
        let taken = for_each_chunk(scan.as_mut(), self.watch, &Ok, &mut |chunk: SourceChunk| {
            let Some(cells) = chunk.coded.first().filter(|_| chunk.n_rows > 0) else {
                return Ok(());
            };
            match schema.key_hashes(cells, &chunk) {
                Ok(hashes) => {
                    // Once as they come, and once more while the list grows.
                    memory.try_grow(2 * size_of::<(KeyHash, RowId)>() * hashes.len())?;
                    let ids = (0..).map(|row| chunk.first_row + row);
                    rows.extend(hashes.into_iter().zip(ids));
                    Ok(())
                }
                Err(error) => {
                    failed = Some(error);
                    Err(albers_storage::StorageError::Stopped.into())
                }
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        taken?;
        rows.sort_unstable_by_key(|&(hash, row)| (hash, row.get()));
        let twice = rows.windows(2).find(|own| own[0].0 == own[1].0);
        match twice {
            None => Ok(rows),
            Some(own) => Err(Error::usage(
                format!("rows {} and {} have the same key", own[0].1, own[1].1),
                "name every row once; the index is as it was",
            )),
        }
    }

    fn remove_pending(&mut self, rows: &[(KeyHash, RowId)]) -> Result<()> {
        for &(hash, row) in rows {
            let pending = self.changes.pending(&hash.to_bytes())?;
            let known = match &pending {
                Some(pending) => Some(Known::from(pending)),
                None => self.state.find_key(hash, self.changes)?.map(Known::from),
            };
            let decision = remove(hash, known, row)?;
            self.state.counters.n_rows -= 1;
            self.state.counters.n_pending += u64::from(pending.is_none());
            let mut events = pending.map_or_else(Vec::new, |own| own.events);
            let last = (decision.row, Content(decision.content));
            let earlier = decision.event.and_then(|event| events::add(&mut events, event));
            let (row, Content(content)) = earlier.unwrap_or(last);
            let record = PendingKey { row, content, packed: None, events };
            self.changes.put(PENDING, &hash.to_bytes(), &encoded(&record))?;
        }
        self.state.flush_pending_if_many(self.changes)
    }

    /// Removes rows whose keys are sorted.
    fn remove_many(&mut self, rows: &[(KeyHash, RowId)]) -> Result<()> {
        self.state.flush_pending(self.changes)?;
        // All are looked up among those that were there before.
        let runs = self.state.catalogue.keys.clone();
        for some in rows.chunks(AT_ONCE) {
            let hashes: Vec<KeyHash> = some.iter().map(|&(hash, _)| hash).collect();
            let pages = self.changes.pages()?;
            let read = |extent, range| pages.read_range(extent, range);
            let found = keys::find(&runs, &hashes, &read)?;
            let (mut entries, mut events) = (Vec::new(), Vec::new());
            for (&(hash, row), known) in some.iter().zip(found) {
                let decision = remove(hash, known.map(Known::from), row)?;
                entries.extend(decision.entry);
                events.extend(decision.event);
            }
            self.state.counters.n_rows -= entries.len() as u64;
            self.state.add_keys_unmerged(entries, self.changes)?;
            self.state.add_events(&events, self.changes)?;
        }
        self.state.merge_keys_if_due(self.changes)
    }

    /// Makes the index hold the rows of a source and no others; refuses to remove more than a share
    /// of its rows.
    pub(super) fn sync(&mut self, source: &dyn Source, max_deletes: f64) -> Result<BatchReport> {
        let n_before = self.state.counters.n_rows;
        let mut report = BatchReport::default();
        let n_numbers = self.state.counters.next_row;
        let _memory =
            self.memory.budget.try_reserve("the rows of the extract", n_numbers as usize / 8)?;
        let mut seen = RowSet::of(n_numbers);
        let purpose = Purpose { kind: Kind::Sync, report: &mut report, seen: Some(&mut seen) };
        self.put_all(purpose, source)?;
        self.state.flush_pending(self.changes)?;
        report.deleted = self.remove_unseen(&seen, n_numbers)?;
        let most = (max_deletes * n_before as f64).floor() as u64;
        match report.deleted <= most {
            true => Ok(report),
            false => Err(Error::usage(
                format!(
                    "{} of the {n_before} rows of the index are not in {}, and no more than {most} \
                     may be removed",
                    report.deleted,
                    source.name()
                ),
                "check that the extract is whole, or allow more with --max-deletes; the index is \
                 as it was",
            )),
        }
    }

    /// Removes the rows that are not in an extract; later ones, whose numbers begin at `end`, are.
    fn remove_unseen(&mut self, seen: &RowSet, end: u32) -> Result<u64> {
        let runs = self.state.catalogue.keys.clone();
        let mut n_removed = 0;
        let mut from = KeyHash::LEAST;
        loop {
            let mut entries: Vec<KeyEntry> = Vec::new();
            let pages = self.changes.pages()?;
            let read = |extent, range| pages.read_range(extent, range);
            let mut is_done = true;
            for entry in NewestKeys::from(&runs, from, &read)? {
                let entry = entry?;
                let is_old = entry.row.get() < end && !entry.is_gone;
                if is_old && !seen.contains(entry.row) {
                    if entries.len() == AT_ONCE {
                        (from, is_done) = (entry.hash, false);
                        break;
                    }
                    entries.push(KeyEntry { is_gone: true, ..entry });
                }
            }
            n_removed += entries.len() as u64;
            let events: Vec<Event> =
                entries.iter().map(|entry| Event::Removed { row: entry.row }).collect();
            self.state.counters.n_rows -= entries.len() as u64;
            self.state.add_keys_unmerged(entries, self.changes)?;
            self.state.add_events(&events, self.changes)?;
            if is_done {
                self.state.merge_keys_if_due(self.changes)?;
                return Ok(n_removed);
            }
        }
    }
}

/// Batches of an index come one after another, and each must be read as the others are: what is not
/// written as the program writes it is said in the job.
fn check_said(job: &Job, requests: &[ColumnRequest], types: &RequestedTypes) -> Result<()> {
    for (request, notation) in requests.iter().zip(&types.notations) {
        let name = &request.name;
        let format = job.columns.get(name).and_then(|column| column.date_format.as_ref());
        let setting = match notation {
            Notation::Numbers(mark) if job.decimal.is_none() => Field::Decimal.of(mark.name()),
            Notation::Dates(told) if format.is_none() => {
                Field::DateFormat.of_column(name, told.to_string())
            }
            _ => continue,
        };
        return Err(Error::usage(
            format!("column '{name}' is written in a notation that the index was not told"),
            wording!["create the index with ", setting, ", so that all batches are read alike"],
        ));
    }
    Ok(())
}

/// The first rows of an index settle the types of its columns and their codes.
fn first_rows(
    state: &mut State,
    changes: &mut Changes,
    (purpose, limit_bytes): (Purpose<'_>, usize),
    source: &dyn Source,
    memory: &Memory,
    watch: &dyn Watch,
) -> Result<()> {
    if purpose.kind == Kind::Update {
        // Refuses it: there is no row to take the place of.
        state.schema()?;
    }
    let job = state.job.job.with_hierarchies()?;
    let plan = Plan::of(&job, source.name(), source.columns())?;
    let plan = Plan { identifiers: Vec::new(), ..plan };
    let reading = Reading { plan: &plan, source, memory, typed_output: false, key: None, watch };
    let known = KnownColumns::of(&reading)?;
    let known = known.with_texts(&key_requests(&state.catalogue.key), source)?;
    let wanted = Wanted::Survey { limit_bytes: memory.budget.limit_bytes() / 4 };
    let Rows::Outside(mut surveyed) = reading.read_known(known, wanted)? else {
        unreachable!("a survey was asked for")
    };
    check_said(&job, &surveyed.known.requests, &surveyed.known.types)?;
    surveyed.sample.clear();
    let again = surveyed.again.take();
    let known = surveyed.known;
    let columns = surveyed.coders.into_iter().flatten().map(|coder| coder.into_coding()).collect();
    let (scan, stamp) = again.into_scan(&reading, &known)?;
    let mut scan = super::peek::Peeked::new(scan)?;
    let Some(first) = scan.first() else { return Ok(()) };
    let stored = StoredTable::of(source, &known, first);
    state.settle_table(stored, columns, changes)?;
    Intake::new(state, changes, purpose, limit_bytes).take(&mut scan, watch)?;
    drop(scan);
    crate::rows::check_unchanged(&reading, stamp.as_ref())
}
