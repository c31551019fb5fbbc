//! Columns that leave as they came, and the order of rows within a class.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use albers_table::points::mix;
use albers_table::schema::ColumnType;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::{DataType, Field, TimeUnit};
use arrow_select::interleave::interleave;
use rustc_hash::FxBuildHasher;

/// A column that is published as it is.
pub struct CarriedColumn {
    name: String,
    data_type: DataType,
    chunks: Vec<ArrayRef>,
    /// The number of each chunk's first row.
    first_rows: Vec<u32>,
}

impl CarriedColumn {
    /// A column as read. Text of a typed column becomes typed if `typed` is asked for and every
    /// cell can be.
    pub fn new(
        name: String,
        column_type: ColumnType,
        chunks: Vec<ArrayRef>,
        typed: bool,
    ) -> CarriedColumn {
        let chunks = match typed_chunks(&chunks, column_type) {
            Some(converted) if typed => converted,
            _ => chunks,
        };
        let mut first_rows = Vec::with_capacity(chunks.len());
        let mut n_rows = 0;
        for chunk in &chunks {
            first_rows.push(n_rows);
            n_rows += chunk.len() as u32;
        }
        let data_type = chunks.first().map_or(DataType::Utf8, |chunk| chunk.data_type().clone());
        CarriedColumn { name, data_type, chunks, first_rows }
    }

    /// The column's field in the release.
    pub fn field(&self) -> Field {
        let has_nulls = self.chunks.iter().any(|chunk| chunk.logical_null_count() > 0);
        Field::new(&self.name, self.data_type.clone(), has_nulls)
    }

    /// The cells of some rows.
    pub fn take(&self, row_ids: &[u32]) -> ArrayRef {
        if row_ids.is_empty() {
            return new_empty_array(&self.data_type);
        }
        let places: Vec<(usize, usize)> = row_ids
            .iter()
            .map(|&row| {
                let chunk = self.first_rows.partition_point(|&first| first <= row) - 1;
                (chunk, (row - self.first_rows[chunk]) as usize)
            })
            .collect();
        let chunks: Vec<&dyn Array> = self.chunks.iter().map(AsRef::as_ref).collect();
        interleave(&chunks, &places).expect("all chunks have the column's type")
    }
}

/// The chunks of a text column in the type that its values have, if all of them fit.
fn typed_chunks(chunks: &[ArrayRef], column_type: ColumnType) -> Option<Vec<ArrayRef>> {
    if chunks.iter().any(|chunk| chunk.data_type() != &DataType::Utf8) {
        return None;
    }
    let target = match column_type {
        ColumnType::Integer => DataType::Int64,
        ColumnType::Float => DataType::Float64,
        ColumnType::Date => DataType::Date32,
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::Decimal => {
            let scale = chunks.iter().map(longest_fraction).max()?;
            DataType::Decimal128(38, i8::try_from(scale).ok().filter(|&scale| scale <= 18)?)
        }
        ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        ColumnType::Text | ColumnType::Code => return None,
    };
    chunks
        .iter()
        .map(|chunk| {
            let typed = arrow_cast::cast(chunk, &target).ok()?;
            // A cell that does not fit would become a missing one; then the text stays.
            (typed.null_count() == chunk.null_count()).then_some(typed)
        })
        .collect()
}

fn longest_fraction(chunk: &ArrayRef) -> usize {
    let cells = chunk.as_string::<i32>().iter().flatten();
    cells.map(|cell| cell.find('.').map_or(0, |point| cell.len() - point - 1)).max().unwrap_or(0)
}

/// A number per row that depends on the seed and on what the row's carried cells hold.
///
/// Rows of a class are ordered by it: whoever knows the seed still learns nothing of the order in
/// which the rows came in.
pub struct RowKeys {
    keys: Vec<u64>,
}

impl RowKeys {
    /// The keys of all rows; none are needed when nothing is carried.
    pub fn of(carried: &[CarriedColumn], seed: u64) -> Option<RowKeys> {
        let first = carried.first()?;
        let n_rows = first.chunks.iter().map(|chunk| chunk.len()).sum();
        let mut keys = vec![mix(seed ^ 0xbb67_ae85_84ca_a73b); n_rows];
        for column in carried {
            for (chunk, &first_row) in column.chunks.iter().zip(&column.first_rows) {
                let start = first_row as usize;
                add_hashes(chunk, &mut keys[start..start + chunk.len()]);
            }
        }
        Some(RowKeys { keys })
    }

    /// Puts the rows of a class in order.
    pub fn order(&self, row_ids: &mut [u32]) {
        row_ids.sort_unstable_by_key(|&row| self.keys[row as usize]);
    }
}

fn add_hashes(chunk: &ArrayRef, keys: &mut [u64]) {
    let texts: ArrayRef = if chunk.data_type() == &DataType::Utf8 {
        Arc::clone(chunk)
    } else {
        arrow_cast::cast(chunk, &DataType::Utf8).unwrap_or_else(|_| Arc::clone(chunk))
    };
    let Some(texts) = texts.as_string_opt::<i32>() else { return };
    for (row, key) in keys.iter_mut().enumerate() {
        let mut hasher = FxBuildHasher.build_hasher();
        if texts.is_null(row) {
            hasher.write_u8(0);
        } else {
            hasher.write(texts.value(row).as_bytes());
        }
        *key = mix(*key ^ hasher.finish());
    }
}
