//! Record batches, and what is common to all sources whose cells have Arrow types.

mod code;

use std::sync::{Mutex, PoisonError};

use albers_storage::threads;
use albers_storage::wording;
use albers_storage::wording::Field;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use rayon::prelude::*;

use self::code::{TextCells, code_array, native_type};
use super::{
    ColumnRequest, ReadOptions, RequestedTypes, Scan, Source, SourceChunk, SourceColumn, Stamp,
    Wanted, check_names, place_of, table_error,
};
use crate::notation::Notation;
use crate::row::RowId;
use crate::schema::ColumnType;
use crate::{Result, TableError};

/// Larger batches are cut into chunks of this many rows.
const CHUNK_ROWS: usize = 65_536;

const DEFAULT_NAME: &str = "the record batches";

/// Gives the batches of a table.
pub type Batches = Box<dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>> + Send>;

/// Whether cells of this Arrow type can be coded.
pub(super) fn can_be_coded(data_type: &DataType) -> bool {
    native_type("", data_type).is_ok()
}

/// The columns of a schema.
pub(super) fn columns_of(schema: &SchemaRef) -> Vec<SourceColumn> {
    let fields = schema.fields().iter();
    fields
        .map(|field| SourceColumn {
            name: field.name().clone(),
            data_type: Some(field.data_type().clone()),
        })
        .collect()
}

/// The types of requested columns that have Arrow types.
pub(super) fn types_of(
    table: &str,
    columns: &[SourceColumn],
    requests: &[ColumnRequest],
    options: &ReadOptions,
) -> Result<RequestedTypes> {
    let mut types = RequestedTypes::plain(Vec::new(), Vec::new());
    for request in requests {
        let column = &columns[place_of(table, columns, &request.name)?];
        let data_type = column.data_type.as_ref().expect("columns of a typed source have types");
        let native = native_type(&request.name, data_type)?;
        let (kind, notation) = said_of(request, native, options)?;
        types.column_types.push(kind);
        types.notations.push(notation);
        types.data_types.push(Some(data_type.clone()));
    }
    Ok(types)
}

/// The type of a column, and how its cells are written as far as somebody said it: typed cells are
/// what they are, and those of texts are not told from the rows.
fn said_of(
    request: &ColumnRequest,
    native: ColumnType,
    options: &ReadOptions,
) -> Result<(ColumnType, Notation)> {
    let is_text = native == ColumnType::Text;
    if let Some(format) = options.date_format(&request.name) {
        if !is_text {
            return Err(TableError::Column {
                column: request.name.clone(),
                problem: format!("its cells are of type {native}, and have no format of dates"),
                hint: wording!["drop ", Field::DateFormat, " for it"],
            });
        }
        let told = if format.has_time() { ColumnType::Timestamp } else { ColumnType::Date };
        return Ok((request.column_type.unwrap_or(told), Notation::Dates(format.clone())));
    }
    let kind = request.column_type.unwrap_or(native);
    let is_number = matches!(kind, ColumnType::Integer | ColumnType::Decimal | ColumnType::Float);
    let notation = match options.decimal {
        Some(mark) if is_text && is_number => Notation::Numbers(mark),
        _ => Notation::Plain,
    };
    Ok((kind, notation))
}

/// Where a batch stands in its table.
pub(super) struct BatchPlace<'a> {
    /// What messages call the table, or the part of it.
    pub(super) table: &'a str,
    /// The number of the first row in that part, for messages.
    pub(super) row_in_part: RowId,
    /// The number of the first row in the table.
    pub(super) first_row: RowId,
}

/// The requested columns of a batch; `places` are theirs in it.
pub(super) fn chunk_of(
    batch: &RecordBatch,
    wanted: &Wanted<'_>,
    places: &[usize],
    at: &BatchPlace<'_>,
) -> Result<SourceChunk> {
    let mut coded = Vec::new();
    let mut carried = Vec::new();
    for (request_idx, request) in wanted.requests.iter().enumerate() {
        let array = batch.column(places[request_idx]);
        if request.coded {
            let text = TextCells {
                is_missing: &|cell| wanted.is_missing(request_idx, cell),
                notation: &wanted.types.notations[request_idx],
            };
            let cells = code_array(array, wanted.types.column_types[request_idx], &text);
            coded.push(cells.map_err(|(row_idx, problem)| TableError::Cell {
                table: at.table.to_owned(),
                place: format!("row {}", at.row_in_part + row_idx as u64),
                column: request.name.clone(),
                problem: problem.problem(),
                hint: problem.hint(&request.name),
            })?);
        }
        if request.carried {
            carried.push(array.clone());
        }
    }
    Ok(SourceChunk { first_row: at.first_row, n_rows: batch.num_rows(), coded, carried })
}

/// Record batches in memory, or on their way.
pub struct BatchSource {
    name: String,
    schema: SchemaRef,
    columns: Vec<SourceColumn>,
    options: ReadOptions,
    batches: BatchSupply,
}

enum BatchSupply {
    /// Taken by the first scan.
    Once(Mutex<Option<Batches>>),
    Kept(Vec<RecordBatch>),
}

impl BatchSource {
    /// Batches that come one after another and can be read only once.
    pub fn once(schema: SchemaRef, batches: Batches, options: &ReadOptions) -> Result<BatchSource> {
        BatchSource::new(schema, BatchSupply::Once(Mutex::new(Some(batches))), options)
    }

    /// Batches that are there and can be read again; all have the schema of the first.
    pub fn of(batches: Vec<RecordBatch>, options: &ReadOptions) -> Result<BatchSource> {
        let Some(first) = batches.first() else {
            let hint = "give at least one, be it without rows, so that the columns are known";
            return Err(table_error(DEFAULT_NAME, "there are none", hint));
        };
        BatchSource::new(first.schema(), BatchSupply::Kept(batches), options)
    }

    fn new(schema: SchemaRef, batches: BatchSupply, options: &ReadOptions) -> Result<BatchSource> {
        let columns = columns_of(&schema);
        check_names(DEFAULT_NAME, &columns, true)?;
        let options = options.clone();
        Ok(BatchSource { name: DEFAULT_NAME.to_owned(), schema, columns, options, batches })
    }

    /// The same, called `name` in messages.
    #[must_use]
    pub fn named(self, name: &str) -> BatchSource {
        BatchSource { name: name.to_owned(), ..self }
    }
}

impl Source for BatchSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn n_rows(&self) -> Option<u64> {
        match &self.batches {
            BatchSupply::Once(_) => None,
            BatchSupply::Kept(batches) => {
                Some(batches.iter().map(|batch| batch.num_rows() as u64).sum())
            }
        }
    }

    fn stamp(&self) -> Option<Stamp> {
        match self.batches {
            BatchSupply::Once(_) => None,
            BatchSupply::Kept(_) => Some(Stamp::Fixed),
        }
    }

    fn types(&self, requests: &[ColumnRequest]) -> Result<RequestedTypes> {
        types_of(&self.name, &self.columns, requests, &self.options)
    }

    fn scan<'s>(
        &'s self,
        requests: &'s [ColumnRequest],
        types: &'s RequestedTypes,
    ) -> Result<Box<dyn Scan + 's>> {
        let wanted = Wanted::new(&self.name, &self.columns, requests, types, &self.options)?;
        let batches: Box<dyn Iterator<Item = _> + Send + 's> = match &self.batches {
            BatchSupply::Once(batches) => {
                let taken = batches.lock().unwrap_or_else(PoisonError::into_inner).take();
                taken.ok_or_else(|| TableError::ReadTwice { table: self.name.clone() })?
            }
            BatchSupply::Kept(batches) => Box::new(batches.iter().cloned().map(Ok)),
        };
        Ok(Box::new(BatchScan {
            source: self,
            wanted,
            batches,
            rest: None,
            next_row: RowId::FIRST,
            fault: None,
        }))
    }

    fn read_bytes(&self) -> u64 {
        // What is in memory was read by somebody else.
        0
    }
}

/// Batches on their way.
struct BatchScan<'s> {
    source: &'s BatchSource,
    wanted: Wanted<'s>,
    batches: Box<dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>> + Send + 's>,
    /// What is left of a large batch.
    rest: Option<RecordBatch>,
    next_row: RowId,
    /// What is wrong behind the rows that were handed on.
    fault: Option<TableError>,
}

impl BatchScan<'_> {
    /// The next rows, no more than a chunk's.
    fn next_slice(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let batch = match self.rest.take() {
                Some(rest) => rest,
                None => match self.batches.next() {
                    Some(batch) => self.checked(batch)?,
                    None => return Ok(None),
                },
            };
            if batch.num_rows() > CHUNK_ROWS {
                self.rest = Some(batch.slice(CHUNK_ROWS, batch.num_rows() - CHUNK_ROWS));
                return Ok(Some(batch.slice(0, CHUNK_ROWS)));
            }
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }

    /// A batch that is a piece of the table.
    fn checked(&self, batch: std::result::Result<RecordBatch, ArrowError>) -> Result<RecordBatch> {
        // The error's own text is left out, since it may quote cells.
        let batch = batch.map_err(|_| {
            let hint = "look at what makes the batches";
            table_error(&self.source.name, "the batches ended with an error", hint)
        })?;
        let fields = self.source.schema.fields().iter().zip(batch.schema_ref().fields());
        let is_alike = batch.num_columns() == self.source.columns.len()
            && fields.into_iter().all(|(own, given)| {
                own.name() == given.name() && own.data_type() == given.data_type()
            });
        match is_alike {
            true => Ok(batch),
            false => Err(table_error(
                &self.source.name,
                "a batch has other columns than the schema",
                "give every batch the columns of the schema, in the same order",
            )),
        }
    }

    /// As many stretches of rows as there are threads; fewer at the end, or before something wrong.
    fn next_slices(&mut self) -> Vec<(RowId, RecordBatch)> {
        let mut slices = Vec::new();
        while slices.len() < threads::of_pool() && self.fault.is_none() {
            match self.next_slice() {
                Ok(Some(slice)) => {
                    let first_row = self.next_row;
                    self.next_row += slice.num_rows() as u64;
                    slices.push((first_row, slice));
                }
                Ok(None) => break,
                Err(fault) => self.end_with(fault),
            }
        }
        slices
    }

    fn end_with(&mut self, fault: TableError) {
        self.fault = Some(fault);
        self.rest = None;
        self.batches = Box::new(std::iter::empty());
    }
}

impl Scan for BatchScan<'_> {
    fn next_round(&mut self) -> Result<Vec<SourceChunk>> {
        let slices = match self.fault {
            Some(_) => Vec::new(),
            None => self.next_slices(),
        };
        let (source, wanted) = (self.source, &self.wanted);
        let outcomes: Vec<Result<SourceChunk>> = slices
            .par_iter()
            .map(|(first_row, slice)| {
                let (table, first_row) = (source.name.as_str(), *first_row);
                let at = BatchPlace { table, row_in_part: first_row, first_row };
                chunk_of(slice, wanted, &wanted.places, &at)
            })
            .collect();
        let mut chunks = Vec::new();
        for outcome in outcomes {
            match outcome {
                Ok(chunk) => chunks.push(chunk),
                Err(fault) => {
                    // The rows before it are handed on first.
                    self.end_with(fault);
                    break;
                }
            }
        }
        match self.fault.take_if(|_| chunks.is_empty()) {
            Some(fault) => Err(fault),
            None => Ok(chunks),
        }
    }
}
