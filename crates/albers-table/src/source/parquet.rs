//! Parquet: several row groups side by side, from one open file.
//!
//! ```text
//!   row groups   0 1 2 3 │ 4 5 ...
//!                │ │ │ │
//!   lanes        ▼ ▼ ▼ ▼    a chunk of each in every round; a lane that ends takes the next group
//! ```
//!
//! How many lanes are open and how many rows a chunk has follows from what the pages and the cells of
//! their row groups take; a group whose pages alone take more than reading may is refused. What unpacks
//! pages is kept from one page of a column to the next where there is room for it.

mod header;
mod pages;
mod sizes;

use std::io::BufReader;
use std::sync::Arc;

use albers_storage::decoding::guarded;
use albers_storage::input::{InputFile, InputReader};
use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::reader::{ChunkReader, Length};
use rayon::prelude::*;

use self::sizes::{GroupSizes, sizes_of};
use super::allowance::Allowance;
use super::arrow::{BatchPlace, chunk_of, columns_of, types_of};
use super::unchanged::Opened;
use super::{
    ColumnRequest, ReadOptions, RequestedTypes, Scan, SourceChunk, SourceColumn, Wanted,
    check_names, table_error,
};
use crate::row::RowId;
use crate::{Result, TableError};

/// How many row groups are read at once, at most.
const LANES: usize = 4;

/// Rows of a chunk of a lane, at most.
const LANE_ROWS: usize = 16_384;

/// What unpacks a column takes besides its pages, and what is left of it where it is given up between
/// two pages.
const DECODER_BYTES: u64 = 128 << 10;
const LEAN_DECODER_BYTES: u64 = 32 << 10;

/// A Parquet file whose footer was read.
pub(super) struct ParquetTable {
    name: String,
    file: Arc<InputFile>,
    metadata: ArrowReaderMetadata,
    columns: Vec<SourceColumn>,
    /// What the file was when it was opened, unless nobody else can write to it.
    opened: Option<Arc<Opened>>,
}

impl ParquetTable {
    /// Reads the footer.
    pub(super) fn open(
        name: &str,
        (file, opened): (Arc<InputFile>, Option<Arc<Opened>>),
        options: &ReadOptions,
    ) -> Result<ParquetTable> {
        let not_whole = || damaged(name, "the file is not a whole Parquet file");
        Allowance::of(options).check_footer(footer_bytes(&file).ok_or_else(not_whole)?)?;
        let chunks = Chunks(file.clone());
        let metadata = guarded(|| ArrowReaderMetadata::load(&chunks, Default::default()))
            .map_err(|_| not_whole())?
            .map_err(|_| not_whole())?;
        let columns = columns_of(metadata.schema());
        check_names(name, &columns, true)?;
        let table = ParquetTable { name: name.to_owned(), file, metadata, columns, opened };
        // Rows are numbered from group to group, and no file has more than numbers of its kind.
        match i64::try_from(table.n_rows()) {
            Ok(_) => Ok(table),
            Err(_) => Err(table.broken()),
        }
    }

    /// What people call it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The columns of its schema.
    pub(super) fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    /// How many rows its footer announces.
    pub(super) fn n_rows(&self) -> u64 {
        let groups = (0..self.n_groups()).map(|group_idx| self.n_group_rows(group_idx));
        // A damaged footer may announce more than there can be.
        groups.fold(0, u64::saturating_add)
    }

    /// The types of some of its columns.
    pub(super) fn types(
        &self,
        requests: &[ColumnRequest],
        options: &ReadOptions,
    ) -> Result<RequestedTypes> {
        types_of(&self.name, &self.columns, requests, options)
    }

    fn n_groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    fn n_group_rows(&self, group_idx: usize) -> u64 {
        self.metadata.metadata().row_group(group_idx).num_rows().max(0) as u64
    }

    /// What some columns of a row group take.
    fn sizes(&self, group_idx: usize, places: &[usize], most_bytes: u64) -> Result<GroupSizes> {
        let chunks = Arc::new(Chunks(self.file.clone()));
        let group = self.metadata.metadata().row_group(group_idx);
        guarded(|| sizes_of(&chunks, group, places, most_bytes))
            .ok()
            .flatten()
            .ok_or_else(|| self.broken())
    }

    /// The rows of a row group behind the first `n_done`, so many at a time.
    fn batches(
        &self,
        group_idx: usize,
        places: &[usize],
        (n_done, batch_rows): (usize, usize),
        is_lean: bool,
    ) -> Result<ParquetRecordBatchReader> {
        let batches = guarded(|| {
            let (chunks, metadata) = (Chunks(self.file.clone()), self.metadata.clone());
            let mask = ProjectionMask::roots(metadata.parquet_schema(), places.iter().copied());
            if is_lean {
                return pages::batches(chunks, &metadata, group_idx, mask, (n_done, batch_rows));
            }
            ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, metadata)
                .with_row_groups(vec![group_idx])
                .with_projection(mask)
                .with_offset(n_done)
                .with_batch_size(batch_rows)
                .build()
        });
        batches.map_err(|_| self.broken())?.map_err(|_| self.broken())
    }

    fn check_unchanged(&self) -> Result<()> {
        self.opened.as_ref().map_or(Ok(()), |opened| opened.check_unchanged())
    }

    fn broken(&self) -> TableError {
        damaged(&self.name, "the Parquet file is damaged or cut off")
    }
}

/// How long the footer of a file says that it is, in front of the last letters.
fn footer_bytes(file: &InputFile) -> Option<u64> {
    let mut end = [0; 8];
    file.read_at(file.n_bytes().checked_sub(8)?, &mut end).ok()?;
    let [a, b, c, d, ..] = end;
    Some(u64::from(u32::from_le_bytes([a, b, c, d])).min(file.n_bytes()))
}

/// An error of the Parquet reader; its own text is left out since it may quote bytes of the data.
fn damaged(table: &str, problem: &str) -> TableError {
    table_error(table, problem, "copy the file again; it may have been cut off on its way")
}

/// An open file as Parquet wants it; all lanes read from the same one.
struct Chunks(Arc<InputFile>);

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.n_bytes()
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<InputReader>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<BufReader<InputReader>> {
        Ok(BufReader::new(self.0.reader_at(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        // A damaged footer may ask for more bytes than any memory has.
        if (length as u64) > self.0.n_bytes() {
            return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
        }
        let mut bytes = Vec::new();
        let no_memory = |_| std::io::Error::from(std::io::ErrorKind::OutOfMemory);
        bytes.try_reserve_exact(length).map_err(no_memory)?;
        bytes.resize(length, 0);
        self.0.read_at(start, &mut bytes)?;
        Ok(bytes.into())
    }
}

/// Gives the Parquet files of a table, one after another.
pub(super) type ParquetParts<'s> =
    Box<dyn FnMut() -> Result<Option<Arc<ParquetTable>>> + Send + 's>;

/// The rows of one or several Parquet files.
pub(super) struct ParquetScan<'s> {
    wanted: Wanted<'s>,
    /// The places of the requested columns in a batch that has no others.
    places_in_batch: Vec<usize>,
    parts: ParquetParts<'s>,
    /// The file whose row groups are next, and which of them, and where it begins in the table.
    part: Option<GroupQueue>,
    lanes: Vec<Option<Lane>>,
    allowance: Allowance,
    /// A row group that waits until others leave room for it.
    waiting: Option<Lane>,
    next_row: RowId,
    /// What is wrong behind the rows that were handed on.
    fault: Option<TableError>,
    is_done: bool,
}

/// The row groups of a file that wait for a lane.
struct GroupQueue {
    table: Arc<ParquetTable>,
    first_row: RowId,
    next_group: usize,
}

/// A row group that is being read.
struct Lane {
    table: Arc<ParquetTable>,
    /// The number of the table's row that the file's first is.
    file_row: RowId,
    /// The number of its first row in the table, and of the next.
    first_row: RowId,
    next_row: RowId,
    /// The number of the row after its last, as the footer announces it.
    end_row: RowId,
    group_idx: usize,
    /// What its pages take, and what unpacks them.
    page_bytes: u64,
    /// Whether what unpacks a page is given up behind it.
    is_lean: bool,
    /// What a chunk may take, and how many rows that is.
    chunk_bytes: u64,
    batch_rows: usize,
    /// Not yet open while the lane waits.
    batches: Option<ParquetRecordBatchReader>,
}

impl Lane {
    /// Begins to read behind the first `n_done` rows.
    fn open_at(&mut self, n_done: u64, places: &[usize]) -> Result<()> {
        let from = (n_done as usize, self.batch_rows);
        self.batches = Some(self.table.batches(self.group_idx, places, from, self.is_lean)?);
        Ok(())
    }

    /// Takes fewer rows at a time from now on, if these took far more than a chunk may.
    fn slow_down(&mut self, batch: &RecordBatch, places: &[usize]) -> Result<()> {
        const MOST_TIMES: u64 = 3;
        let n_bytes = batch.get_array_memory_size() as u64;
        let is_over = n_bytes > MOST_TIMES.saturating_mul(self.chunk_bytes);
        if !is_over || batch.num_rows() < self.batch_rows || self.batch_rows == 1 {
            return Ok(());
        }
        let row_bytes = n_bytes / batch.num_rows() as u64;
        self.batch_rows = (self.chunk_bytes / row_bytes.max(1)).max(1) as usize;
        self.open_at(self.next_row - self.first_row, places)
    }
}

impl<'s> ParquetScan<'s> {
    /// The rows of all that `parts` gives; their columns are alike.
    pub(super) fn new(wanted: Wanted<'s>, parts: ParquetParts<'s>) -> ParquetScan<'s> {
        let places_in_batch = places_in_batch(&wanted.places);
        let lanes = (0..LANES).map(|_| None).collect();
        ParquetScan {
            allowance: Allowance::of(wanted.options),
            waiting: None,
            wanted,
            places_in_batch,
            parts,
            part: None,
            lanes,
            next_row: RowId::FIRST,
            fault: None,
            is_done: false,
        }
    }

    /// Gives every free lane a row group, as long as there are some, and room for their pages.
    fn fill_lanes(&mut self) -> Result<()> {
        for lane_idx in 0..LANES {
            if self.lanes[lane_idx].is_some() {
                continue;
            }
            let next = match self.waiting.take() {
                Some(waiting) => Some(waiting),
                None => self.next_lane()?,
            };
            let Some(mut lane) = next else { return Ok(()) };
            if lane.page_bytes > self.allowance.lane_bytes() {
                return Err(self.allowance.refuse_lane(lane.page_bytes));
            }
            let open = self.lanes.iter().flatten().map(|open| open.page_bytes);
            let taken = open.fold(lane.page_bytes, u64::saturating_add);
            if taken > self.allowance.lane_bytes() {
                self.waiting = Some(lane);
                return Ok(());
            }
            lane.open_at(0, &self.wanted.places)?;
            self.lanes[lane_idx] = Some(lane);
        }
        Ok(())
    }

    fn next_lane(&mut self) -> Result<Option<Lane>> {
        loop {
            if let Some(queue) = &mut self.part
                && queue.next_group < queue.table.n_groups()
            {
                let (table, group_idx) = (queue.table.clone(), queue.next_group);
                let (file_row, next_row) = (queue.first_row, self.next_row);
                self.next_row += table.n_group_rows(group_idx);
                queue.next_group += 1;
                let end_row = self.next_row;
                let most_bytes = self.allowance.lane_bytes();
                let GroupSizes { page_bytes, row_bytes } =
                    table.sizes(group_idx, &self.wanted.places, most_bytes)?;
                let n_columns = self.wanted.places.len() as u64;
                let is_lean = page_bytes.saturating_add(n_columns * DECODER_BYTES) > most_bytes;
                let decoder_bytes = if is_lean { LEAN_DECODER_BYTES } else { DECODER_BYTES };
                let chunk_bytes = self.allowance.chunk_bytes(LANES);
                // Readers set memory aside for all rows of a batch, be they there or not.
                let most_rows = (LANE_ROWS as u64).min(end_row - next_row).max(1);
                let batch_rows = (chunk_bytes / row_bytes.max(1)).clamp(1, most_rows);
                return Ok(Some(Lane {
                    table,
                    file_row,
                    first_row: next_row,
                    next_row,
                    end_row,
                    group_idx,
                    page_bytes: page_bytes.saturating_add(n_columns * decoder_bytes),
                    is_lean,
                    chunk_bytes,
                    batch_rows: batch_rows as usize,
                    batches: None,
                }));
            }
            if self.is_done {
                return Ok(None);
            }
            self.part = (self.parts)()?.map(|table| GroupQueue {
                table,
                first_row: self.next_row,
                next_group: 0,
            });
            self.is_done = self.part.is_none();
        }
    }

    fn end_with(&mut self, fault: TableError) {
        self.fault = Some(fault);
        self.part = None;
        self.is_done = true;
        self.waiting = None;
        self.lanes.fill_with(|| None);
    }

    /// A chunk of each lane; nothing when all are at their end.
    fn next_chunks(&mut self) -> Result<Vec<SourceChunk>> {
        self.fill_lanes()?;
        let (wanted, places) = (&self.wanted, self.places_in_batch.as_slice());
        let outcomes: Vec<Option<Result<SourceChunk>>> =
            self.lanes.par_iter_mut().map(|lane| next_chunk(lane, wanted, places)).collect();
        let mut chunks = Vec::new();
        for outcome in outcomes.into_iter().flatten() {
            match outcome {
                Ok(chunk) => chunks.push(chunk),
                Err(fault) => {
                    // The rows before it are handed on first.
                    self.end_with(fault);
                    break;
                }
            }
        }
        Ok(chunks)
    }
}

impl Scan for ParquetScan<'_> {
    fn next_round(&mut self) -> Result<Vec<SourceChunk>> {
        loop {
            if let Some(fault) = self.fault.take() {
                return Err(fault);
            }
            let chunks = match self.next_chunks() {
                Ok(chunks) => chunks,
                Err(fault) => {
                    self.end_with(fault);
                    continue;
                }
            };
            let is_over =
                self.is_done && self.waiting.is_none() && self.lanes.iter().all(Option::is_none);
            if !chunks.is_empty() || (is_over && self.fault.is_none()) {
                return Ok(chunks);
            }
        }
    }
}

/// The next chunk of a lane; a lane at its end becomes free, and so does one that cannot be read
/// any further: a decoder that failed once is not asked again.
fn next_chunk(
    lane: &mut Option<Lane>,
    wanted: &Wanted<'_>,
    places: &[usize],
) -> Option<Result<SourceChunk>> {
    let open = lane.as_mut()?;
    let table = open.table.clone();
    let chunk = guarded(|| decoded(open, wanted, places));
    let chunk = chunk.unwrap_or_else(|_| Some(Err(table.broken())));
    if !matches!(chunk, Some(Ok(_))) {
        *lane = None;
    }
    chunk
}

/// Decodes the next batch of a lane, and makes a chunk of it.
fn decoded(lane: &mut Lane, wanted: &Wanted<'_>, places: &[usize]) -> Option<Result<SourceChunk>> {
    let batch = match lane.batches.as_mut()?.next() {
        Some(Ok(batch)) => batch,
        // Rows that are announced and are not there are persons that nobody would miss.
        None if lane.next_row == lane.end_row => {
            return lane.table.check_unchanged().err().map(Err);
        }
        None | Some(Err(_)) => return Some(Err(lane.table.broken())),
    };
    let first_row = lane.next_row;
    lane.next_row += batch.num_rows() as u64;
    if lane.next_row > lane.end_row {
        return Some(Err(lane.table.broken()));
    }
    if let Err(fault) = lane.slow_down(&batch, &wanted.places) {
        return Some(Err(fault));
    }
    let row_in_part = RowId::new(first_row - lane.file_row);
    let at = BatchPlace { table: lane.table.name(), row_in_part, first_row };
    Some(chunk_of(&batch, wanted, places, &at))
}

/// Where columns stand in a batch that has them and no others: a projection keeps the file's order.
fn places_in_batch(places: &[usize]) -> Vec<usize> {
    let mut sorted = places.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    places.iter().map(|place| sorted.partition_point(|other| other < place)).collect()
}
