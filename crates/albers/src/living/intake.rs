//! Rows of a batch on their way into an index.
//!
//! ```text
//!   source ──chunks──► stretch ──► keys: new, known, twice? ──► coding grows ──► packed rows
//!                                                                                  │ by part
//!                       few rows: the engine's own table  ◄───────────────────────┴──► a run
//! ```
//!
//! A batch is taken in stretches that fit in memory, all of them in one transaction. Rows wait in runs
//! for the parts that they belong to; what a batch costs does not depend on the rows that are there,
//! but for one pass over half of the hashes of their keys.

use albers_classes::packed::{RowBlock, RowLayout};
use albers_index::living::DirectoryRouter;
use albers_storage::store::Changes;
use albers_storage::watch::Watch;
use albers_table::chunk::ColumnChunk;
use albers_table::coding::ColumnCoding;
use albers_table::row::RowId;
use albers_table::schema::Role;
use albers_table::source::{Scan, SourceChunk, for_each_chunk};
use albers_table::value_hash::value_hashes;
use rayon::prelude::*;

use super::catalogue::{ArrivalPiece, ArrivalRun, PENDING, PendingKey, Records as _, encoded};
use super::decide::{Decision, Known, Purpose, decide, twice_in_batch};
use super::events::{self, Event};
use super::keys::{self, KeyEntry, KeyHash};
use super::row_number::RowNumber;
use super::state::{State, Tabled};
use super::stored_table::{LookedAt, Schema};
use crate::error::{Error, Result};
use crate::rows::kept_bytes;

/// Some rows of a batch, and what they hold beside their values.
struct Looked {
    chunk: SourceChunk,
    looked: LookedAt,
}

/// A row that is to be put into the index.
struct Put {
    chunk: usize,
    row: usize,
    number: RowNumber,
}

/// What becomes of a batch.
pub(super) struct Intake<'i> {
    state: &'i mut State,
    changes: &'i mut Changes,
    purpose: Purpose<'i>,
    limit_bytes: usize,
    /// The number of the first row of the batch.
    first: RowNumber,
    stretch: Vec<Looked>,
    n_stretch_bytes: usize,
    /// Whether some of its rows are in runs.
    is_large: bool,
}

impl<'i> Intake<'i> {
    /// Of no row yet; a stretch takes no more than some bytes.
    pub(super) fn new(
        state: &'i mut State,
        changes: &'i mut Changes,
        purpose: Purpose<'i>,
        limit_bytes: usize,
    ) -> Intake<'i> {
        let first = RowNumber::new(state.counters.next_row);
        Intake {
            state,
            changes,
            purpose,
            limit_bytes,
            first,
            stretch: Vec::new(),
            n_stretch_bytes: 0,
            is_large: false,
        }
    }

    /// Takes all rows of a scan.
    pub(super) fn take(mut self, scan: &mut dyn Scan, watch: &dyn Watch) -> Result<()> {
        let schema = self.state.schema()?;
        let map = |chunk: SourceChunk| {
            let looked = match chunk.n_rows {
                0 => None,
                _ => Some(schema.look(&chunk)),
            };
            Ok((chunk, looked))
        };
        let mut failed = None;
        let taken = for_each_chunk(scan, watch, &map, &mut |(chunk, looked)| {
            let added = looked.map_or(Ok(()), |looked| self.add(chunk, looked?));
            added.map_err(|error| {
                failed = Some(error);
                albers_storage::StorageError::Stopped.into()
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        taken?;
        self.finish()
    }

    fn add(&mut self, chunk: SourceChunk, looked: LookedAt) -> Result<()> {
        self.n_stretch_bytes += kept_bytes(&chunk) + looked.n_bytes();
        self.stretch.push(Looked { chunk, looked });
        match self.n_stretch_bytes > self.limit_bytes {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn finish(mut self) -> Result<()> {
        let n_rows: usize = self.stretch.iter().map(|own| own.chunk.n_rows).sum();
        if self.is_large || n_rows > self.state.small_rows()? {
            return self.flush();
        }
        self.put_pending()
    }

    /// Takes the rows of the stretch into runs.
    fn flush(&mut self) -> Result<()> {
        if !self.is_large {
            self.state.flush_pending(self.changes)?;
            self.is_large = true;
        }
        let stretch = std::mem::take(&mut self.stretch);
        self.n_stretch_bytes = 0;
        let decisions = self.decisions(&stretch, &[])?;
        let puts = puts_of(&stretch, &decisions);
        self.grow(&stretch, &puts)?;
        let tabled = self.state.tabled()?;
        let blocks = tabled.pack(&stretch, &puts, &self.state.router()?)?;
        if let Some(run) = run_of(tabled.layout(), tabled.coding.epoch(), &blocks, self.changes)? {
            self.state.catalogue.arrivals.push(run);
        }
        let mut entries: Vec<KeyEntry> = Vec::new();
        let mut events: Vec<Event> = Vec::new();
        for decision in decisions.into_iter().flatten() {
            entries.extend(decision.entry);
            events.extend(decision.event);
        }
        self.state.add_keys(entries, self.changes)?;
        self.state.add_events(&events, self.changes)
    }

    /// What becomes of each row of a stretch, in order. `pending` is what the engine's own table knows
    /// of their keys, if it knows any.
    fn decisions(
        &mut self,
        stretch: &[Looked],
        pending: &[Option<PendingKey>],
    ) -> Result<Vec<Option<Decision>>> {
        let hashes: Vec<KeyHash> =
            stretch.iter().flat_map(|own| own.looked.keys.iter().copied()).collect();
        let mut order: Vec<u32> = (0..hashes.len() as u32).collect();
        order.par_sort_unstable_by_key(|&place| (hashes[place as usize], place));
        let twice =
            order.windows(2).filter(|own| hashes[own[0] as usize] == hashes[own[1] as usize]);
        if let Some(place) = twice.map(|own| own[1]).min() {
            return Err(twice_in_batch(row_at(stretch, place as usize)));
        }
        let sorted: Vec<KeyHash> = order.iter().map(|&place| hashes[place as usize]).collect();
        let pages = self.changes.pages()?;
        let read = |extent, range| pages.read_range(extent, range);
        let found = keys::find(&self.state.catalogue.keys, &sorted, &read)?;
        let mut known = vec![None; hashes.len()];
        order.iter().zip(found).for_each(|(&place, entry)| known[place as usize] = entry);
        let contents = stretch.iter().flat_map(|own| own.looked.contents.iter().copied());
        let mut decisions = Vec::with_capacity(hashes.len());
        for (place, ((hash, content), entry)) in hashes.iter().zip(contents).zip(known).enumerate()
        {
            let newer = pending.get(place).and_then(Option::as_ref);
            let known = newer.map(Known::from).or(entry.map(Known::from));
            decisions.push(self.decide(stretch, place, (*hash, content), known)?);
        }
        Ok(decisions)
    }

    /// What becomes of a row, by what is known of its key.
    fn decide(
        &mut self,
        stretch: &[Looked],
        place: usize,
        (hash, content): (KeyHash, u64),
        known: Option<Known>,
    ) -> Result<Option<Decision>> {
        if known.is_some_and(|own| own.row >= self.first) {
            return Err(twice_in_batch(row_at(stretch, place)));
        }
        let next = RowNumber::new(self.state.counters.next_row);
        let row = || row_at(stretch, place);
        let decision = decide(&mut self.purpose, (hash, content), known, next, &row)?;
        if decision.as_ref().is_some_and(|own| own.is_put) {
            if next.get() + 1 >= RowNumber::END {
                return Err(Error::usage(
                    "the index has given all its row numbers",
                    "create an index anew from the rows that it has",
                ));
            }
            self.state.counters.next_row += 1;
            self.state.counters.n_rows += u64::from(known.is_none_or(|own| own.is_gone));
        }
        Ok(decision)
    }

    /// Lets the coding learn the values of all rows that are put.
    fn grow(&mut self, stretch: &[Looked], puts: &[Put]) -> Result<()> {
        let mut is_put = vec![false; stretch.len()];
        puts.iter().for_each(|put| is_put[put.chunk] = true);
        let schema = self.state.schema()?;
        let places: Vec<usize> = schema.surveyed_places();
        let columns: Vec<Vec<(RowId, &ColumnChunk)>> = places
            .iter()
            .map(|&place| {
                let chunks = stretch.iter().zip(&is_put).filter(|(_, is_put)| **is_put);
                chunks.map(|(own, _)| (own.chunk.first_row, &own.chunk.coded[place])).collect()
            })
            .collect();
        self.state.grow(&columns, self.changes)
    }

    /// Takes a few rows into the engine's own table.
    fn put_pending(&mut self) -> Result<()> {
        let stretch = std::mem::take(&mut self.stretch);
        let hashes = stretch.iter().flat_map(|own| &own.looked.keys);
        let mut pending: Vec<Option<PendingKey>> =
            hashes.map(|hash| self.changes.pending(&hash.to_bytes())).collect::<Result<_>>()?;
        let decisions = self.decisions(&stretch, &pending)?;
        let puts = puts_of(&stretch, &decisions);
        self.grow(&stretch, &puts)?;
        let tabled = self.state.tabled()?;
        let (epoch, layout) = (tabled.coding.epoch(), tabled.layout());
        // Rows come out in the order in which they were put.
        let blocks = tabled.pack(&stretch, &puts, &self.state.router()?)?;
        let rows = blocks.iter().flat_map(|own| (0..own.rows.n_rows()).map(|row| (&own.rows, row)));
        let mut packed = rows.map(|(rows, row)| {
            let mut alone = RowBlock::default();
            alone.extend_row(layout, rows, row);
            let mut bytes = Vec::new();
            alone.write_to(&mut bytes);
            (epoch, bytes)
        });
        let mut records = Vec::with_capacity(puts.len());
        let mut n_more = 0;
        for (decision, earlier) in decisions.into_iter().zip(&mut pending) {
            let Some(decision) = decision else { continue };
            n_more += u64::from(earlier.is_none());
            let mut events = earlier.take().map_or_else(Vec::new, |own| own.events);
            decision.event.into_iter().for_each(|event| {
                events::add(&mut events, event);
            });
            let Decision { row, content, .. } = decision;
            let own = packed.next().expect("every row that is put was packed");
            let record = PendingKey { row, content, packed: Some(own), events };
            records.push((decision.hash.to_bytes(), encoded(&record)));
        }
        self.changes.put_all(PENDING, records)?;
        self.state.counters.n_pending += n_more;
        self.state.flush_pending_if_many(self.changes)
    }
}

/// Where a row of a stretch stands in its batch.
fn row_at(stretch: &[Looked], mut place: usize) -> RowId {
    for own in stretch {
        if place < own.chunk.n_rows {
            return own.chunk.first_row + place as u64;
        }
        place -= own.chunk.n_rows;
    }
    unreachable!("every place is that of a row")
}

fn puts_of(stretch: &[Looked], decisions: &[Option<Decision>]) -> Vec<Put> {
    let mut decisions = decisions.iter();
    let mut puts = Vec::new();
    for (chunk, own) in stretch.iter().enumerate() {
        for (row, decision) in (0..own.chunk.n_rows).zip(&mut decisions) {
            if let Some(decision) = decision.as_ref().filter(|own| own.is_put) {
                puts.push(Put { chunk, row, number: decision.row });
            }
        }
    }
    puts
}

/// Packed rows of a chunk, and the parts that they belong to.
struct PackedChunk {
    rows: RowBlock,
    parts: Vec<u32>,
}

impl Tabled {
    /// Packs the rows that are put.
    fn pack(
        &self,
        stretch: &[Looked],
        puts: &[Put],
        router: &DirectoryRouter,
    ) -> Result<Vec<PackedChunk>> {
        let of_chunks: Vec<&[Put]> = puts.chunk_by(|a, b| a.chunk == b.chunk).collect();
        let packed = of_chunks.into_par_iter().map(|puts| {
            let Looked { chunk, looked } = &stretch[puts[0].chunk];
            self.pack_chunk(chunk, looked, puts, router)
        });
        packed.collect()
    }

    fn pack_chunk(
        &self,
        chunk: &SourceChunk,
        looked: &LookedAt,
        puts: &[Put],
        router: &DirectoryRouter,
    ) -> Result<PackedChunk> {
        let CodedRows { codes, facts } =
            code_rows(&self.schema, self.coding.coding.columns(), chunk, puts)?;
        let n_attributes = self.schema.n_attributes();
        let layout = self.layout();
        let mut rows = RowBlock::with_capacity(layout, puts.len());
        let mut payload = Vec::new();
        for (at, put) in puts.iter().enumerate() {
            looked.payload(put.row, &mut payload);
            let own = codes[at * n_attributes..(at + 1) * n_attributes].iter().copied();
            let values = own.chain(facts.iter().map(|column| column[at]));
            rows.push(layout, put.number.id(), values, &payload);
        }
        let parts = router.route(&codes).into_iter().map(|part| part.0).collect();
        Ok(PackedChunk { rows, parts })
    }
}

/// Codes of some rows, row by row, and their facts, column by column.
struct CodedRows {
    codes: Vec<u32>,
    facts: Vec<Vec<u32>>,
}

fn code_rows(
    schema: &Schema,
    codings: &[ColumnCoding],
    chunk: &SourceChunk,
    puts: &[Put],
) -> Result<CodedRows> {
    let n_attributes = schema.n_attributes();
    let mut codes = vec![0; puts.len() * n_attributes];
    let (mut subject, mut sensitive) = (None, Vec::new());
    let mut codings = codings.iter();
    let mut attribute = 0;
    for (column, cells) in schema.known.coded_columns().zip(&chunk.coded) {
        if schema.known.planned[column].role == Role::Subject {
            let numbers = value_hashes(cells);
            let half = |shift: u32| -> Vec<u32> {
                puts.iter().map(|put| (numbers[put.row] >> shift) as u32).collect()
            };
            subject = Some([half(0), half(32)]);
            continue;
        }
        let coding = codings.next().expect("every other column has a coding");
        let own = coding.encode(cells.clone())?;
        let of_puts = puts.iter().map(|put| own[put.row]);
        match schema.known.planned[column].role {
            Role::Quasi => {
                let slots = codes[attribute..].iter_mut().step_by(n_attributes);
                slots.zip(of_puts).for_each(|(slot, code)| *slot = code);
                attribute += 1;
            }
            _ => sensitive.push(of_puts.collect()),
        }
    }
    let facts = subject.into_iter().flatten().chain(sensitive).collect();
    Ok(CodedRows { codes, facts })
}

/// Writes packed rows as one run, sorted by part; nothing if there are none.
fn run_of(
    layout: &RowLayout,
    epoch: u32,
    blocks: &[PackedChunk],
    changes: &mut Changes,
) -> Result<Option<ArrivalRun>> {
    let mut order: Vec<(u32, u32, u32)> = Vec::new();
    for (block, own) in (0u32..).zip(blocks) {
        order.extend((0u32..).zip(&own.parts).map(|(row, &part)| (part, block, row)));
    }
    order.par_sort_unstable();
    let (mut bytes, mut pieces) = (Vec::new(), Vec::new());
    for of_part in order.chunk_by(|a, b| a.0 == b.0) {
        let mut rows = RowBlock::with_capacity(layout, of_part.len());
        for &(_, block, row) in of_part {
            rows.extend_row(layout, &blocks[block as usize].rows, row as usize);
        }
        let start = bytes.len() as u64;
        rows.write_to(&mut bytes);
        let n_bytes = bytes.len() as u64 - start;
        let n_rows = of_part.len() as u64;
        pieces.push(ArrivalPiece { part: of_part[0].0, start, n_bytes, n_rows });
    }
    match pieces.is_empty() {
        true => Ok(None),
        false => Ok(Some(ArrivalRun { extent: changes.write(&bytes)?, epoch, pieces })),
    }
}

/// Writes rows that are packed already as one run: those of the engine's own table.
pub(super) fn run_of_packed(
    tabled: &Tabled,
    rows: RowBlock,
    router: &DirectoryRouter,
    changes: &mut Changes,
) -> Result<Option<ArrivalRun>> {
    let layout = tabled.layout();
    let n_attributes = layout.n_attributes();
    let mut codes = vec![0; rows.n_rows() * n_attributes];
    for (row, out) in codes.chunks_exact_mut(n_attributes).enumerate() {
        rows.codes(layout, row, out);
    }
    let parts = router.route(&codes).into_iter().map(|part| part.0).collect();
    run_of(layout, tabled.coding.epoch(), &[PackedChunk { rows, parts }], changes)
}
