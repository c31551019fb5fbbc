//! Columns that leave as they came, and the order of rows within a class.

use std::hash::{BuildHasher, Hasher};

use albers_table::TableError;
use albers_table::mix::mix;
use albers_table::schema::ColumnType;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_cast::can_cast_types;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};
use arrow_select::interleave::interleave;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use crate::error::{ReleaseError, Result};

/// A column that is published as it is.
pub struct CarriedColumn {
    name: String,
    /// The type in the release.
    data_type: DataType,
    chunks: Vec<ArrayRef>,
    /// The number of each chunk's first row.
    first_rows: Vec<u32>,
    /// Whether cells of the whole column are missing.
    has_nulls: bool,
}

impl CarriedColumn {
    /// A column as read. Text of a typed column becomes typed if `typed` is asked for and every
    /// cell reads back as it was. Dictionaries leave as their values.
    pub fn new(
        name: String,
        column_type: ColumnType,
        chunks: Vec<ArrayRef>,
        typed: bool,
    ) -> CarriedColumn {
        let first_type = chunks.first().map(|chunk| chunk.data_type());
        let is_dictionary = matches!(first_type, Some(DataType::Dictionary(..)));
        let converted = if typed { typed_chunks(&chunks, column_type) } else { None };
        let chunks = converted.or_else(|| unfolded_chunks(&chunks)).unwrap_or(chunks);
        let mut first_rows = Vec::with_capacity(chunks.len());
        let mut n_rows = 0;
        for chunk in &chunks {
            first_rows.push(n_rows);
            n_rows += chunk.len() as u32;
        }
        let data_type = match chunks.first().map(|chunk| chunk.data_type()) {
            // What was unfolded leaves as the text that every reader knows.
            Some(DataType::Utf8View) if is_dictionary => DataType::Utf8,
            Some(own) => own.clone(),
            None => DataType::Utf8,
        };
        let has_nulls = chunks.iter().any(|chunk| chunk.logical_null_count() > 0);
        CarriedColumn { name, data_type, chunks, first_rows, has_nulls }
    }

    /// The column's field in the release.
    pub fn field(&self) -> Field {
        Field::new(&self.name, self.data_type.clone(), self.has_nulls)
    }

    /// The cells of some rows.
    pub fn take(&self, row_ids: &[u32]) -> Result<ArrayRef> {
        if row_ids.is_empty() {
            return Ok(new_empty_array(&self.data_type));
        }
        let places: Vec<(usize, usize)> = row_ids.iter().map(|&row| self.place_of(row)).collect();
        let chunks: Vec<&dyn Array> = self.chunks.iter().map(AsRef::as_ref).collect();
        interleave(&chunks, &places)
            .and_then(|taken| match taken.data_type() == &self.data_type {
                true => Ok(taken),
                false => arrow_cast::cast(&taken, &self.data_type),
            })
            .map_err(|_| self.refused("cannot be put in another order"))
    }

    /// The bytes that the text of a row's cell takes.
    pub fn cell_bytes(&self, row: u32) -> usize {
        let (chunk_idx, row_idx) = self.place_of(row);
        cell_bytes(&self.chunks[chunk_idx], row_idx)
    }

    /// The most that any cell takes.
    pub fn longest_cell_bytes(&self) -> usize {
        let longest = |chunk: &ArrayRef| match chunk.data_type() {
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView => {
                (0..chunk.len()).map(|row_idx| cell_bytes(chunk, row_idx)).max().unwrap_or(0)
            }
            _ => FIXED_BYTES,
        };
        self.chunks.par_iter().map(longest).max().unwrap_or(0)
    }

    fn place_of(&self, row: u32) -> (usize, usize) {
        let chunk = self.first_rows.partition_point(|&first| first <= row) - 1;
        (chunk, (row - self.first_rows[chunk]) as usize)
    }

    fn refused(&self, problem: &str) -> ReleaseError {
        ReleaseError::Table(TableError::Column {
            column: self.name.clone(),
            problem: format!("cells of type {} {problem}", self.data_type),
            hint: "convert the column to text, or leave it out".into(),
        })
    }
}

/// What a cell takes whose size does not depend on what it holds.
const FIXED_BYTES: usize = 16;

fn cell_bytes(chunk: &ArrayRef, row_idx: usize) -> usize {
    match chunk.data_type() {
        DataType::Utf8 => chunk.as_string::<i32>().value_length(row_idx) as usize,
        DataType::LargeUtf8 => chunk.as_string::<i64>().value_length(row_idx) as usize,
        DataType::Binary => chunk.as_binary::<i32>().value_length(row_idx) as usize,
        DataType::LargeBinary => chunk.as_binary::<i64>().value_length(row_idx) as usize,
        // The low half of a view is the length of its value.
        DataType::Utf8View => chunk.as_string_view().views()[row_idx] as u32 as usize,
        DataType::BinaryView => chunk.as_binary_view().views()[row_idx] as u32 as usize,
        _ => FIXED_BYTES,
    }
}

/// The chunks of a column of dictionaries as plain values, if they are dictionaries.
///
/// Dictionaries of several chunks need not fit into one. Text becomes views of the dictionaries'
/// text, so that unfolding does not repeat it.
fn unfolded_chunks(chunks: &[ArrayRef]) -> Option<Vec<ArrayRef>> {
    let DataType::Dictionary(_, values) = chunks.first()?.data_type() else { return None };
    let plain = match values.as_ref() {
        DataType::Utf8 | DataType::LargeUtf8 => &DataType::Utf8View,
        other => other,
    };
    chunks.iter().map(|chunk| arrow_cast::cast(chunk, plain).ok()).collect()
}

/// The chunks of a text column in the type that its values have, if every value of that type is
/// written as the very text that was read.
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
    let separator = time_separator(chunks);
    chunks
        .par_iter()
        .map(|chunk| {
            let typed = arrow_cast::cast(chunk, &target).ok()?;
            let written = arrow_cast::cast(&typed, &DataType::Utf8).ok()?;
            let mut cells = chunk.as_string::<i32>().iter().zip(written.as_string::<i32>());
            let is_same = cells.all(|cells| match cells {
                (Some(read), Some(written)) if column_type == ColumnType::Timestamp => {
                    written.split_once('T').is_some_and(|(day, time)| {
                        read.strip_prefix(day).and_then(|rest| rest.strip_prefix(separator))
                            == Some(time)
                    })
                }
                (read, written) => read == written,
            });
            is_same.then_some(typed)
        })
        .collect()
}

/// What stands between day and time in the first cell: a column may have a `T` or a space, but one
/// that has both would lose which.
fn time_separator(chunks: &[ArrayRef]) -> char {
    let first = chunks.iter().flat_map(|chunk| chunk.as_string::<i32>().iter().flatten()).next();
    if first.is_some_and(|cell| cell.contains('T')) { 'T' } else { ' ' }
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
    /// The keys of all rows; none are needed when nothing is carried. A column whose cells cannot
    /// be told apart is refused: its rows would leave in the order of the input.
    pub fn of(carried: &[CarriedColumn], seed: u64) -> Result<Option<RowKeys>> {
        let Some(first) = carried.first() else { return Ok(None) };
        let n_rows = first.chunks.iter().map(|chunk| chunk.len()).sum();
        let mut keys = vec![mix(seed ^ 0xbb67_ae85_84ca_a73b); n_rows];
        for column in carried {
            for (chunk, &first_row) in column.chunks.iter().zip(&column.first_rows) {
                let start = first_row as usize;
                add_hashes(chunk, &mut keys[start..start + chunk.len()])
                    .map_err(|_| column.refused("have no text form"))?;
            }
        }
        Ok(Some(RowKeys { keys }))
    }

    /// The keys, by row number.
    pub fn into_keys(self) -> Vec<u64> {
        self.keys
    }

    /// The key of a row.
    pub(crate) fn key_of(&self, row: usize) -> u64 {
        self.keys[row]
    }

    /// Puts the rows of a class in order.
    pub fn order(&self, row_ids: &mut [u32]) {
        row_ids.sort_unstable_by_key(|&row| self.keys[row as usize]);
    }
}

/// A number for each cell that tells the texts of a column apart, all but surely; nothing where
/// there is no value.
pub fn cell_hashes(chunk: &ArrayRef) -> std::result::Result<Vec<Option<u64>>, ArrowError> {
    let mut hashes = vec![0; chunk.len()];
    add_hashes(chunk, &mut hashes)?;
    let nulls = chunk.logical_nulls();
    let is_null = |row_idx| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row_idx));
    let cells = hashes.into_iter().enumerate();
    Ok(cells.map(|(row_idx, hash)| (!is_null(row_idx)).then_some(hash)).collect())
}

fn add_hashes(chunk: &ArrayRef, keys: &mut [u64]) -> std::result::Result<(), ArrowError> {
    match chunk.data_type() {
        DataType::Utf8 => add_text_hashes(chunk.as_string::<i32>().iter(), keys),
        DataType::LargeUtf8 => add_text_hashes(chunk.as_string::<i64>().iter(), keys),
        DataType::Utf8View => add_text_hashes(chunk.as_string_view().iter(), keys),
        DataType::Binary => add_byte_hashes(chunk.as_binary::<i32>().iter(), keys),
        DataType::LargeBinary => add_byte_hashes(chunk.as_binary::<i64>().iter(), keys),
        DataType::BinaryView => add_byte_hashes(chunk.as_binary_view().iter(), keys),
        _ => add_value_hashes(chunk, keys)?,
    }
    Ok(())
}

/// For values that are not text. Their type alone decides how they are hashed: what else lies in
/// the chunk, which is a matter of the order of the input, does not.
fn add_value_hashes(chunk: &ArrayRef, keys: &mut [u64]) -> std::result::Result<(), ArrowError> {
    let own = chunk.data_type();
    // Points in time may have no text form, but they are counts of ticks.
    let is_ticks = own.is_temporal() && can_cast_types(own, &DataType::Int64);
    let values = match is_ticks {
        true => arrow_cast::cast(chunk, &DataType::Int64)?,
        false => chunk.clone(),
    };
    let n_nulls = chunk.logical_null_count();
    match arrow_cast::cast(&values, &DataType::Utf8) {
        Ok(texts) if texts.logical_null_count() == n_nulls => {
            add_text_hashes(texts.as_string::<i32>().iter(), keys);
            Ok(())
        }
        _ => add_formatted_hashes(chunk, keys),
    }
}

fn add_text_hashes<'t>(texts: impl Iterator<Item = Option<&'t str>>, keys: &mut [u64]) {
    add_byte_hashes(texts.map(|text| text.map(str::as_bytes)), keys);
}

fn add_byte_hashes<'t>(cells: impl Iterator<Item = Option<&'t [u8]>>, keys: &mut [u64]) {
    for (cell, key) in cells.zip(keys) {
        *key = mix(*key ^ hash_of(cell));
    }
}

/// For cells of any other type that can be shown.
fn add_formatted_hashes(chunk: &ArrayRef, keys: &mut [u64]) -> std::result::Result<(), ArrowError> {
    let options = FormatOptions::new().with_display_error(false);
    let formatter = ArrayFormatter::try_new(chunk.as_ref(), &options)?;
    let nulls = chunk.logical_nulls();
    let mut texts = Vec::with_capacity(keys.len());
    for row_idx in 0..chunk.len() {
        let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row_idx));
        let text = formatter.value(row_idx).try_to_string()?;
        texts.push((!is_null).then_some(text));
    }
    add_text_hashes(texts.iter().map(Option::as_deref), keys);
    Ok(())
}

fn hash_of(cell: Option<&[u8]>) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    match cell {
        None => hasher.write_u8(0),
        Some(bytes) => hasher.write(bytes),
    }
    hasher.finish()
}

mod payload;

pub use payload::{CarriedSurvey, Payload, PayloadField};

#[cfg(test)]
mod tests;
