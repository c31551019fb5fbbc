//! Parquet files: row groups read on all threads, handed on in file order.

use std::path::Path;

use albers_storage::input;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Fields, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use rayon::prelude::*;

use super::{ColumnRequest, HeaderColumn, ReadOptions, SourceChunk, SourceColumns, file_error};
use crate::chunk::{Cells, ColumnChunk, NameBuilder, TextColumnBuilder, TickUnit, narrow_ticks};
use crate::progress::Progress;
use crate::schema::ColumnType;
use crate::value::ParseProblem;
use crate::{Result, TableError};

const CHUNK_ROWS: usize = 65_536;

/// The columns of the file's schema.
pub fn header(path: &Path) -> Result<Vec<HeaderColumn>> {
    let metadata = open(path)?;
    let fields = metadata.schema().fields().iter();
    Ok(fields
        .map(|field| HeaderColumn {
            name: field.name().clone(),
            data_type: Some(field.data_type().clone()),
        })
        .collect())
}

/// Reads the columns at `places`.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    requests: &[ColumnRequest],
    places: &[usize],
    progress: &dyn Progress,
    sink: &mut (dyn FnMut(SourceChunk) -> Result<()> + Send),
) -> Result<SourceColumns> {
    let reader = GroupReader::open(path, options, requests, places)?;
    let groups = reader.metadata.metadata().row_groups();
    progress.phase("read", Some(groups.iter().map(|group| group.num_rows().max(0) as u64).sum()));
    let mut first_row = 0;
    let group_ids: Vec<usize> = (0..groups.len()).collect();
    if rayon::current_num_threads() == 1 {
        // Nothing is gained from whole groups, which may be large, so only a chunk is held.
        for group_idx in group_ids {
            reader.read_group(group_idx, first_row, progress, sink)?;
            first_row += groups[group_idx].num_rows().max(0) as u64;
        }
        return Ok(reader.columns());
    }
    for round in group_ids.chunks(rayon::current_num_threads()) {
        let mut starts = Vec::new();
        for &group_idx in round {
            starts.push((group_idx, first_row));
            first_row += groups[group_idx].num_rows().max(0) as u64;
        }
        let outcomes: Vec<Result<Vec<SourceChunk>>> = starts
            .par_iter()
            .map(|&(group_idx, first_row)| {
                let mut chunks = Vec::new();
                reader.read_group(group_idx, first_row, progress, &mut |chunk| {
                    chunks.push(chunk);
                    Ok(())
                })?;
                Ok(chunks)
            })
            .collect();
        for chunks in outcomes {
            for chunk in chunks? {
                sink(chunk)?;
            }
        }
    }
    Ok(reader.columns())
}

/// What is known of the columns at `places` before their rows are read.
pub fn source_columns(
    path: &Path,
    options: &ReadOptions,
    requests: &[ColumnRequest],
    places: &[usize],
) -> Result<SourceColumns> {
    Ok(GroupReader::open(path, options, requests, places)?.columns())
}

/// How many row groups are read at once when rows need not come in file order. A constant, since
/// the order of the chunks depends on it.
const LANES: usize = 4;

/// Rows of a chunk of a lane.
const LANE_ROWS: usize = 16_384;

/// A row group that is being read.
struct Lane {
    first_row: u64,
    batches: ParquetRecordBatchReader,
}

/// Reads the columns at `places`, several row groups side by side, one chunk of each at a time.
pub fn read_mapped<T: Send>(
    path: &Path,
    options: &ReadOptions,
    requests: &[ColumnRequest],
    places: &[usize],
    progress: &dyn Progress,
    map: &(dyn Fn(SourceChunk) -> Result<T> + Sync),
    sink: &mut (dyn FnMut(T) -> Result<()> + Send),
) -> Result<SourceColumns> {
    let reader = GroupReader::open(path, options, requests, places)?;
    let groups = reader.metadata.metadata().row_groups();
    progress.phase("read", Some(groups.iter().map(|group| group.num_rows().max(0) as u64).sum()));
    let mut lanes: Vec<Option<Lane>> = (0..LANES).map(|_| None).collect();
    let mut next_group = 0;
    let mut next_row = 0;
    let mut ready: Vec<Result<T>> = Vec::new();
    loop {
        for lane in lanes.iter_mut().filter(|lane| lane.is_none()) {
            if next_group < groups.len() {
                let batches = reader.batches(next_group, LANE_ROWS)?;
                *lane = Some(Lane { first_row: next_row, batches });
                next_row += groups[next_group].num_rows().max(0) as u64;
                next_group += 1;
            }
        }
        // What was read in the last round is handed on while the next is read.
        let last = std::mem::take(&mut ready);
        let (handed_on, outcomes) = rayon::join(
            || last.into_iter().try_for_each(|outcome| sink(outcome?)),
            || -> Vec<Option<Result<T>>> {
                lanes.par_iter_mut().map(|lane| reader.next_chunk(lane, progress, map)).collect()
            },
        );
        handed_on?;
        ready.extend(outcomes.into_iter().flatten());
        if ready.is_empty() && next_group == groups.len() && lanes.iter().all(Option::is_none) {
            return Ok(reader.columns());
        }
    }
}

/// The type of each requested column.
fn column_types(
    requests: &[ColumnRequest],
    places: &[usize],
    fields: &Fields,
) -> Result<Vec<ColumnType>> {
    requests
        .iter()
        .zip(places)
        .map(|(request, &place)| {
            let native = native_type(&request.name, fields[place].data_type())?;
            Ok(request.column_type.unwrap_or(native))
        })
        .collect()
}

/// Whether cells of this Arrow type can be coded.
pub fn can_be_coded(data_type: &DataType) -> bool {
    native_type("", data_type).is_ok()
}

fn open(path: &Path) -> Result<ArrowReaderMetadata> {
    let file = input::open(path)?;
    ArrowReaderMetadata::load(&file, Default::default())
        .map_err(|_| damaged(path, "the file is not a whole Parquet file"))
}

/// An error of the Parquet reader; its own text is left out since it may quote bytes of the data.
fn damaged(path: &Path, problem: &str) -> TableError {
    file_error(path, problem, "copy the file again; it may have been cut off on its way")
}

/// The type that a column of this Arrow type has when the user does not say otherwise.
fn native_type(column: &str, data_type: &DataType) -> Result<ColumnType> {
    Ok(match data_type {
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64 => ColumnType::Integer,
        DataType::Decimal128(_, 0..=18) => ColumnType::Decimal,
        DataType::Float32 | DataType::Float64 => ColumnType::Float,
        DataType::Date32 | DataType::Date64 => ColumnType::Date,
        DataType::Timestamp(..) => ColumnType::Timestamp,
        DataType::Boolean => ColumnType::Boolean,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => {
            ColumnType::Text
        }
        DataType::Dictionary(_, values) => return native_type(column, values),
        other => {
            return Err(TableError::Column {
                column: column.to_owned(),
                problem: format!("cells of the Parquet type {other} cannot be anonymized"),
                hint: "drop the column, or store it as numbers, dates or text".to_owned(),
            });
        }
    })
}

/// Reads row groups; shared by all threads.
struct GroupReader<'a> {
    path: &'a Path,
    metadata: ArrowReaderMetadata,
    options: &'a ReadOptions,
    requests: &'a [ColumnRequest],
    places: &'a [usize],
    column_types: Vec<ColumnType>,
}

impl<'a> GroupReader<'a> {
    fn open(
        path: &'a Path,
        options: &'a ReadOptions,
        requests: &'a [ColumnRequest],
        places: &'a [usize],
    ) -> Result<GroupReader<'a>> {
        let metadata = open(path)?;
        let column_types = column_types(requests, places, metadata.schema().fields())?;
        Ok(GroupReader { path, metadata, options, requests, places, column_types })
    }

    fn read_group(
        &self,
        group_idx: usize,
        first_row: u64,
        progress: &dyn Progress,
        sink: &mut (dyn FnMut(SourceChunk) -> Result<()> + Send),
    ) -> Result<()> {
        let mut row = first_row;
        for batch in self.batches(group_idx, CHUNK_ROWS)? {
            let batch = batch.map_err(|_| self.broken())?;
            progress.advance(batch.num_rows() as u64);
            sink(self.chunk_of(&batch, row)?)?;
            row += batch.num_rows() as u64;
        }
        Ok(())
    }

    /// The rows of a row group, a batch at a time.
    fn batches(&self, group_idx: usize, batch_rows: usize) -> Result<ParquetRecordBatchReader> {
        // A file of its own: clones of one file would share their place in it across threads.
        let file = input::open(self.path)?;
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), self.places.iter().copied());
        builder
            .with_row_groups(vec![group_idx])
            .with_projection(mask)
            .with_batch_size(batch_rows)
            .build()
            .map_err(|_| self.broken())
    }

    /// The next chunk of a lane, mapped; a lane at its end becomes free.
    fn next_chunk<T>(
        &self,
        lane: &mut Option<Lane>,
        progress: &dyn Progress,
        map: &(dyn Fn(SourceChunk) -> Result<T> + Sync),
    ) -> Option<Result<T>> {
        let open = lane.as_mut()?;
        let Some(batch) = open.batches.next() else {
            *lane = None;
            return None;
        };
        let chunk = batch.map_err(|_| self.broken()).and_then(|batch| {
            progress.advance(batch.num_rows() as u64);
            let first_row = open.first_row;
            open.first_row += batch.num_rows() as u64;
            self.chunk_of(&batch, first_row)
        });
        Some(chunk.and_then(map))
    }

    fn broken(&self) -> TableError {
        damaged(self.path, "the Parquet file is damaged or cut off")
    }

    fn columns(&self) -> SourceColumns {
        let fields = self.metadata.schema().fields();
        let data_type = |&place: &usize| Some(fields[place].data_type().clone());
        SourceColumns {
            column_types: self.column_types.clone(),
            data_types: self.places.iter().map(data_type).collect(),
            delimiter: None,
        }
    }

    fn chunk_of(&self, batch: &RecordBatch, first_row: u64) -> Result<SourceChunk> {
        let mut coded = Vec::new();
        let mut carried = Vec::new();
        for (request_idx, request) in self.requests.iter().enumerate() {
            let array = batch.column(self.place_in_batch(request_idx));
            if request.coded {
                let kind = self.column_types[request_idx];
                let cells = code_array(array, kind, self.options);
                coded.push(cells.map_err(|(row_idx, problem)| TableError::Cell {
                    path: self.path.to_owned(),
                    place: format!("row {}", first_row + row_idx as u64 + 1),
                    column: request.name.clone(),
                    problem: problem.problem(),
                    hint: problem.hint(&request.name),
                })?);
            }
            if request.carried {
                carried.push(array.clone());
            }
        }
        Ok(SourceChunk { first_row, n_rows: batch.num_rows(), coded, carried })
    }

    /// A projection keeps the file's column order.
    fn place_in_batch(&self, request_idx: usize) -> usize {
        let place = self.places[request_idx];
        let mut earlier: Vec<usize> =
            self.places.iter().copied().filter(|&other| other < place).collect();
        earlier.sort_unstable();
        earlier.dedup();
        earlier.len()
    }
}

type CellFault = (usize, ParseProblem);
type TickOutcome = std::result::Result<i64, ParseProblem>;

/// The typed cells of an array, or the row that does not fit and why.
fn code_array(
    array: &ArrayRef,
    kind: ColumnType,
    options: &ReadOptions,
) -> std::result::Result<ColumnChunk, CellFault> {
    let missing = missing_rows(array);
    let cells = match (array.data_type(), kind) {
        (DataType::Int32, ColumnType::Integer) if missing.is_empty() => {
            narrow_i32(array.as_primitive::<Int32Type>().values())
        }
        (DataType::Int32, ColumnType::Integer) => whole::<Int32Type>(array, &missing, i64::from),
        (DataType::Int64, ColumnType::Integer) => whole::<Int64Type>(array, &missing, |v| v),
        (DataType::Int16, ColumnType::Integer) => whole::<Int16Type>(array, &missing, i64::from),
        (DataType::Int8, ColumnType::Integer) => whole::<Int8Type>(array, &missing, i64::from),
        (DataType::UInt32, ColumnType::Integer) => whole::<UInt32Type>(array, &missing, i64::from),
        (DataType::UInt16, ColumnType::Integer) => whole::<UInt16Type>(array, &missing, i64::from),
        (DataType::UInt8, ColumnType::Integer) => whole::<UInt8Type>(array, &missing, i64::from),
        (DataType::UInt64, ColumnType::Integer) => {
            checked(array, &missing, TickUnit::Integer, |row_idx| {
                let value = array.as_primitive::<UInt64Type>().value(row_idx);
                i64::try_from(value).map_err(|_| ParseProblem::BeyondI64(kind))
            })?
        }
        (&DataType::Decimal128(_, scale), ColumnType::Decimal) => {
            let unit = TickUnit::Decimal(u8::try_from(scale).expect("checked by native_type"));
            checked(array, &missing, unit, |row_idx| {
                let value = array.as_primitive::<Decimal128Type>().value(row_idx);
                i64::try_from(value).map_err(|_| ParseProblem::BeyondI64(kind))
            })?
        }
        (DataType::Date32, ColumnType::Date) => {
            let days = array.as_primitive::<Date32Type>().values().iter();
            narrow_ticks(days.map(|&days| i64::from(days)).collect(), &missing, TickUnit::Date)
        }
        (DataType::Date64, ColumnType::Date) => {
            let milliseconds = array.as_primitive::<Date64Type>().values().iter();
            let days = milliseconds.map(|&ms| ms.div_euclid(86_400_000)).collect();
            narrow_ticks(days, &missing, TickUnit::Date)
        }
        (DataType::Timestamp(unit, zone), ColumnType::Timestamp) => {
            let unit_of_chunk = TickUnit::Timestamp { zoned: zone.is_some() };
            let ticks = microseconds(array, *unit);
            checked(array, &missing, unit_of_chunk, ticks)?
        }
        (DataType::Float64, ColumnType::Float) => {
            let values = array.as_primitive::<Float64Type>().values().iter().copied();
            floats(values, &missing)?
        }
        (DataType::Float32, ColumnType::Float) => {
            let values = array.as_primitive::<Float32Type>().values().iter();
            // Through the shortest text, so that 0.1 stays 0.1.
            floats(values.map(|v| v.to_string().parse().unwrap_or(f64::NAN)), &missing)?
        }
        _ => return code_as_text(array, kind, options),
    };
    Ok(ColumnChunk { cells, missing })
}

/// The commonest case, without a detour over 64 bits.
fn narrow_i32(values: &[i32]) -> Cells {
    let base = values.iter().copied().min().unwrap_or(0);
    let offsets = values.iter().map(|&value| value.wrapping_sub(base) as u32).collect();
    Cells::Ticks { base: i64::from(base), offsets, unit: TickUnit::Integer }
}

fn missing_rows(array: &ArrayRef) -> Vec<u32> {
    match array.logical_nulls() {
        Some(nulls) if nulls.null_count() > 0 => {
            (0..array.len()).filter(|&row| nulls.is_null(row)).map(|row| row as u32).collect()
        }
        _ => Vec::new(),
    }
}

fn whole<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    missing: &[u32],
    widen: impl Fn(T::Native) -> i64,
) -> Cells {
    let ticks = array.as_primitive::<T>().values().iter().map(|&value| widen(value)).collect();
    narrow_ticks(ticks, missing, TickUnit::Integer)
}

fn checked(
    array: &ArrayRef,
    missing: &[u32],
    unit: TickUnit,
    tick: impl Fn(usize) -> TickOutcome,
) -> std::result::Result<Cells, CellFault> {
    let mut ticks = Vec::with_capacity(array.len());
    for row_idx in 0..array.len() {
        if array.is_null(row_idx) {
            ticks.push(0);
        } else {
            ticks.push(tick(row_idx).map_err(|problem| (row_idx, problem))?);
        }
    }
    Ok(narrow_ticks(ticks, missing, unit))
}

fn microseconds(array: &ArrayRef, unit: TimeUnit) -> Box<dyn Fn(usize) -> TickOutcome + '_> {
    const BEYOND: ParseProblem = ParseProblem::BeyondI64(ColumnType::Timestamp);
    match unit {
        TimeUnit::Second => {
            let values = array.as_primitive::<TimestampSecondType>();
            Box::new(|row_idx| values.value(row_idx).checked_mul(1_000_000).ok_or(BEYOND))
        }
        TimeUnit::Millisecond => {
            let values = array.as_primitive::<TimestampMillisecondType>();
            Box::new(|row_idx| values.value(row_idx).checked_mul(1_000).ok_or(BEYOND))
        }
        TimeUnit::Microsecond => {
            let values = array.as_primitive::<TimestampMicrosecondType>();
            Box::new(|row_idx| Ok(values.value(row_idx)))
        }
        TimeUnit::Nanosecond => {
            let values = array.as_primitive::<TimestampNanosecondType>();
            Box::new(|row_idx| match values.value(row_idx) {
                value if value % 1_000 == 0 => Ok(value / 1_000),
                _ => Err(ParseProblem::BeyondMicrosecond),
            })
        }
    }
}

fn floats(
    values: impl Iterator<Item = f64>,
    missing: &[u32],
) -> std::result::Result<Cells, CellFault> {
    let mut values: Vec<f64> = values.map(|v| if v == 0.0 { 0.0 } else { v }).collect();
    for &row in missing {
        values[row as usize] = 0.0;
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(row_idx) => Err((row_idx, ParseProblem::NotFinite)),
        None => Ok(Cells::Floats(values)),
    }
}

/// Any other pair of types: through the text of the cells.
fn code_as_text(
    array: &ArrayRef,
    kind: ColumnType,
    options: &ReadOptions,
) -> std::result::Result<ColumnChunk, CellFault> {
    let not = (0, ParseProblem::NotA(kind));
    let texts = arrow_cast::cast(array, &DataType::Utf8).map_err(|_| not)?;
    let texts = texts.as_string::<i32>();
    if matches!(kind, ColumnType::Text | ColumnType::Code) {
        let mut names = NameBuilder::default();
        let mut missing = Vec::new();
        for row_idx in 0..texts.len() {
            if texts.is_null(row_idx) || options.is_missing(texts.value(row_idx).as_bytes()) {
                missing.push(row_idx as u32);
                names.push_missing();
            } else {
                names.push(texts.value(row_idx).as_bytes()).map_err(|p| (row_idx, p))?;
            }
        }
        return Ok(ColumnChunk { cells: names.finish(), missing });
    }
    let mut builder = TextColumnBuilder::new(kind);
    for row_idx in 0..texts.len() {
        if texts.is_null(row_idx) || options.is_missing(texts.value(row_idx).as_bytes()) {
            builder.push_missing();
        } else {
            builder.push(texts.value(row_idx).as_bytes()).map_err(|p| (row_idx, p))?;
        }
    }
    builder.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::TimestampNanosecondArray;

    use super::*;

    #[test]
    fn nanoseconds_are_taken_if_they_are_whole_microseconds() {
        let coded = |values: Vec<Option<i64>>| {
            let array: ArrayRef = Arc::new(TimestampNanosecondArray::from(values));
            code_array(&array, ColumnType::Timestamp, &ReadOptions::default())
        };
        let chunk = coded(vec![Some(-3_000), None, Some(2_000)]).map_err(|_| "fine").unwrap();
        assert!(matches!(chunk.cells, Cells::Ticks { base: -3, .. }));
        let fault = coded(vec![Some(1_000), Some(-1)]).err();
        assert_eq!(fault, Some((1, ParseProblem::BeyondMicrosecond)));
    }
}
