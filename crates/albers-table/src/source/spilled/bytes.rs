//! A chunk as bytes, and back.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema};

use crate::chunk::{Cells, ColumnChunk, TickUnit};
use crate::row::RowId;
use crate::source::SourceChunk;

const TICKS: u8 = 0;
const WIDE_TICKS: u8 = 1;
const FLOATS: u8 = 2;
const NAMES: u8 = 3;

/// Sources refuse all but numbers, times and texts, which this format knows.
const REASON: &str = "a buffer in memory takes all, and sources give no other types";

/// The bytes of a chunk.
pub(super) fn to_bytes(chunk: &SourceChunk) -> Vec<u8> {
    let mut out = Vec::with_capacity(n_bytes(chunk));
    out.extend(chunk.first_row.get().to_le_bytes());
    out.extend((chunk.n_rows as u64).to_le_bytes());
    out.extend((chunk.coded.len() as u32).to_le_bytes());
    for column in &chunk.coded {
        push_all(&mut out, &column.missing, u32::to_le_bytes);
        push_cells(&mut out, &column.cells);
    }
    push_carried(out, &chunk.carried)
}

/// The chunk that has these bytes; nothing if there is none.
pub(super) fn from_bytes(bytes: &[u8]) -> Option<SourceChunk> {
    let mut input = Input(bytes);
    let first_row = RowId::new(u64::from_le_bytes(input.take()?));
    let n_rows = usize::try_from(u64::from_le_bytes(input.take()?)).ok()?;
    let n_coded = u32::from_le_bytes(input.take()?);
    let mut coded = Vec::new();
    for _ in 0..n_coded {
        let missing = input.take_all(u32::from_le_bytes)?;
        let column = ColumnChunk { cells: take_cells(&mut input)?, missing };
        coded.push(Some(column).filter(|column| column.n_rows() == n_rows)?);
    }
    let carried = carried_of(input.0, n_rows)?;
    Some(SourceChunk { first_row, n_rows, coded, carried })
}

/// About how many bytes a chunk will have.
fn n_bytes(chunk: &SourceChunk) -> usize {
    let coded: usize = chunk.coded.iter().map(|column| column.n_bytes() + 64).sum();
    let carried: usize = chunk
        .carried
        .iter()
        .map(|array| array.to_data().get_slice_memory_size().unwrap_or(0))
        .sum();
    coded + carried + 1024
}

fn push_cells(out: &mut Vec<u8>, cells: &Cells) {
    match cells {
        Cells::Ticks { base, offsets, unit } => {
            out.push(TICKS);
            out.extend(unit_bytes(*unit));
            out.extend(base.to_le_bytes());
            push_all(out, offsets, u32::to_le_bytes);
        }
        Cells::WideTicks { ticks, unit } => {
            out.push(WIDE_TICKS);
            out.extend(unit_bytes(*unit));
            push_all(out, ticks, i64::to_le_bytes);
        }
        Cells::Floats(values) => {
            out.push(FLOATS);
            push_all(out, values, f64::to_le_bytes);
        }
        Cells::Names { names, places } => {
            out.push(NAMES);
            let lengths: Vec<u32> = names.iter().map(|name| name.len() as u32).collect();
            push_all(out, &lengths, u32::to_le_bytes);
            names.iter().for_each(|name| out.extend_from_slice(name.as_bytes()));
            push_all(out, places, u32::to_le_bytes);
        }
    }
}

fn take_cells(input: &mut Input<'_>) -> Option<Cells> {
    let [kind] = input.take()?;
    Some(match kind {
        TICKS => {
            let unit = unit_of(input.take()?)?;
            let base = i64::from_le_bytes(input.take()?);
            Cells::Ticks { base, offsets: input.take_all(u32::from_le_bytes)?, unit }
        }
        WIDE_TICKS => {
            let unit = unit_of(input.take()?)?;
            Cells::WideTicks { ticks: input.take_all(i64::from_le_bytes)?, unit }
        }
        FLOATS => Cells::Floats(input.take_all(f64::from_le_bytes)?),
        NAMES => {
            let lengths = input.take_all(u32::from_le_bytes)?;
            let name = |&length: &u32| {
                let bytes = input.take_slice(length as usize)?;
                Some(std::str::from_utf8(bytes).ok()?.to_owned())
            };
            let names = lengths.iter().map(name).collect::<Option<Vec<String>>>()?;
            Cells::Names { names, places: input.take_all(u32::from_le_bytes)? }
        }
        _ => return None,
    })
}

fn unit_bytes(unit: TickUnit) -> [u8; 2] {
    match unit {
        TickUnit::Integer => [0, 0],
        TickUnit::Decimal(scale) => [1, scale],
        TickUnit::Date => [2, 0],
        TickUnit::Timestamp { zoned } => [3, u8::from(zoned)],
    }
}

fn unit_of(bytes: [u8; 2]) -> Option<TickUnit> {
    Some(match bytes {
        [0, 0] => TickUnit::Integer,
        [1, scale] => TickUnit::Decimal(scale),
        [2, 0] => TickUnit::Date,
        [3, zoned @ 0..=1] => TickUnit::Timestamp { zoned: zoned == 1 },
        _ => return None,
    })
}

/// Appends a number of values and the values.
fn push_all<T: Copy, const N: usize>(
    out: &mut Vec<u8>,
    values: &[T],
    bytes_of: impl Fn(T) -> [u8; N],
) {
    out.extend((values.len() as u64).to_le_bytes());
    out.reserve(values.len() * N);
    values.iter().for_each(|&value| out.extend_from_slice(&bytes_of(value)));
}

/// The carried columns in Arrow's own format, which knows every type; nothing if there are none.
fn push_carried(mut out: Vec<u8>, carried: &[ArrayRef]) -> Vec<u8> {
    if carried.is_empty() {
        return out;
    }
    let field = |(idx, array): (usize, &ArrayRef)| {
        Field::new(idx.to_string(), array.data_type().clone(), true)
    };
    let fields: Vec<Field> = carried.iter().enumerate().map(field).collect();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), carried.to_vec())
        .expect("the schema is made of the columns, which have the chunk's rows");
    let mut writer = StreamWriter::try_new(&mut out, &schema).expect(REASON);
    writer.write(&batch).and_then(|()| writer.finish()).expect(REASON);
    drop(writer);
    out
}

fn carried_of(bytes: &[u8], n_rows: usize) -> Option<Vec<ArrayRef>> {
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    let mut reader = StreamReader::try_new(bytes, None).ok()?;
    let batch = reader.next()?.ok()?;
    (batch.num_rows() == n_rows).then(|| batch.columns().to_vec())
}

/// Bytes that are taken from the front.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn take_slice(&mut self, n_bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n_bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn take_all<T, const N: usize>(&mut self, of_bytes: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
        let n_values = usize::try_from(u64::from_le_bytes(self.take()?)).ok()?;
        let bytes = self.take_slice(n_values.checked_mul(N)?)?;
        let value = |bytes: &[u8]| of_bytes(bytes.try_into().expect("pieces have N bytes"));
        Some(bytes.chunks_exact(N).map(value).collect())
    }
}
