//! Parquet: several row groups side by side, from one open file.
//!
//! ```text
//!   row groups   0 1 2 3 │ 4 5 ...
//!                │ │ │ │
//!   lanes        ▼ ▼ ▼ ▼    a chunk of each in every round; a lane that ends takes the next group
//! ```

use std::io::BufReader;
use std::sync::Arc;

use albers_storage::input::{InputFile, InputReader};
use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::reader::{ChunkReader, Length};
use rayon::prelude::*;

use super::arrow::{BatchPlace, chunk_of, columns_of, types_of};
use super::{
    ColumnRequest, RequestedTypes, Scan, SourceChunk, SourceColumn, Wanted, check_names,
    table_error,
};
use crate::row::RowId;
use crate::{Result, TableError};

/// How many row groups are read at once. A constant, since the order of the chunks depends on it.
const LANES: usize = 4;

/// Rows of a chunk of a lane.
const LANE_ROWS: usize = 16_384;

/// A Parquet file whose footer was read.
pub(super) struct ParquetTable {
    name: String,
    file: Arc<InputFile>,
    metadata: ArrowReaderMetadata,
    columns: Vec<SourceColumn>,
}

impl ParquetTable {
    /// Reads the footer.
    pub(super) fn open(name: &str, file: Arc<InputFile>) -> Result<ParquetTable> {
        let metadata = ArrowReaderMetadata::load(&Chunks(file.clone()), Default::default())
            .map_err(|_| damaged(name, "the file is not a whole Parquet file"))?;
        let columns = columns_of(metadata.schema());
        check_names(name, &columns, true)?;
        Ok(ParquetTable { name: name.to_owned(), file, metadata, columns })
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
        (0..self.n_groups()).map(|group_idx| self.n_group_rows(group_idx)).sum()
    }

    /// The types of some of its columns.
    pub(super) fn types(&self, requests: &[ColumnRequest]) -> Result<RequestedTypes> {
        types_of(&self.name, &self.columns, requests)
    }

    fn n_groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    fn n_group_rows(&self, group_idx: usize) -> u64 {
        self.metadata.metadata().row_group(group_idx).num_rows().max(0) as u64
    }

    /// The rows of a row group, a batch at a time.
    fn batches(&self, group_idx: usize, places: &[usize]) -> Result<ParquetRecordBatchReader> {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
            Chunks(self.file.clone()),
            self.metadata.clone(),
        );
        let mask = ProjectionMask::roots(builder.parquet_schema(), places.iter().copied());
        builder
            .with_row_groups(vec![group_idx])
            .with_projection(mask)
            .with_batch_size(LANE_ROWS)
            .build()
            .map_err(|_| self.broken())
    }

    fn broken(&self) -> TableError {
        damaged(&self.name, "the Parquet file is damaged or cut off")
    }
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
        let mut bytes = vec![0; length];
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
    /// The number of the next row in the table.
    next_row: RowId,
    batches: ParquetRecordBatchReader,
}

impl<'s> ParquetScan<'s> {
    /// The rows of all that `parts` gives; their columns are alike.
    pub(super) fn new(wanted: Wanted<'s>, parts: ParquetParts<'s>) -> ParquetScan<'s> {
        let places_in_batch = places_in_batch(&wanted.places);
        let lanes = (0..LANES).map(|_| None).collect();
        ParquetScan {
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

    /// Gives every free lane a row group, as long as there are some.
    fn fill_lanes(&mut self) -> Result<()> {
        for lane_idx in 0..LANES {
            if self.lanes[lane_idx].is_none() {
                self.lanes[lane_idx] = self.next_lane()?;
            }
        }
        Ok(())
    }

    fn next_lane(&mut self) -> Result<Option<Lane>> {
        loop {
            if let Some(queue) = &mut self.part
                && queue.next_group < queue.table.n_groups()
            {
                let batches = queue.table.batches(queue.next_group, &self.wanted.places)?;
                let table = queue.table.clone();
                let (file_row, next_row) = (queue.first_row, self.next_row);
                self.next_row += table.n_group_rows(queue.next_group);
                queue.next_group += 1;
                return Ok(Some(Lane { table, file_row, next_row, batches }));
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
            let is_over = self.is_done && self.lanes.iter().all(Option::is_none);
            if !chunks.is_empty() || (is_over && self.fault.is_none()) {
                return Ok(chunks);
            }
        }
    }
}

/// The next chunk of a lane; a lane at its end becomes free.
fn next_chunk(
    lane: &mut Option<Lane>,
    wanted: &Wanted<'_>,
    places: &[usize],
) -> Option<Result<SourceChunk>> {
    let open = lane.as_mut()?;
    let Some(batch) = open.batches.next() else {
        *lane = None;
        return None;
    };
    let coded = |batch: RecordBatch| {
        let first_row = open.next_row;
        open.next_row += batch.num_rows() as u64;
        let row_in_part = RowId::new(first_row - open.file_row);
        let at = BatchPlace { table: open.table.name(), row_in_part, first_row };
        chunk_of(&batch, wanted, places, &at)
    };
    Some(batch.map_err(|_| open.table.broken()).and_then(coded))
}

/// Where columns stand in a batch that has them and no others: a projection keeps the file's order.
fn places_in_batch(places: &[usize]) -> Vec<usize> {
    let mut sorted = places.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    places.iter().map(|place| sorted.partition_point(|other| other < place)).collect()
}
