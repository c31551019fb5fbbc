//! Columns that leave as they came, and the order of rows within a class.
//!
//! Guarantee: the field of a column tells of the cells that are published only. What leaves holds
//! no bytes of other rows.

mod payload;
mod typing;

use std::hash::{BuildHasher, Hasher};

use albers_table::TableError;
use albers_table::mix::mix;
use albers_table::row::RowIdx;
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, StringArray, UInt32Array, downcast_primitive_array,
    new_empty_array,
};
use arrow_cast::can_cast_types;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, Field};
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use crate::error::{ReleaseError, Result};

pub use payload::{CarriedSurvey, Payload, PayloadField};
pub use typing::{CellCounts, Typing};

/// A column that is published as it is.
pub struct CarriedColumn {
    name: String,
    /// The type in the release, unless its text becomes typed.
    read_as: DataType,
    typing: Typing,
    chunks: Vec<ArrayRef>,
    /// The first row of each chunk.
    first_rows: Vec<RowIdx>,
}

impl CarriedColumn {
    /// A column as read, and whether its text becomes typed. Dictionaries leave as their values.
    pub fn new(name: String, typing: Typing, chunks: Vec<ArrayRef>) -> CarriedColumn {
        let read_as = match chunks.first().map(|chunk| chunk.data_type()) {
            Some(own) => unfolded(own).clone(),
            None => DataType::Utf8,
        };
        let chunks = unfolded_chunks(&chunks).unwrap_or(chunks);
        let mut first_rows = Vec::with_capacity(chunks.len());
        let mut n_rows = 0;
        for chunk in &chunks {
            first_rows.push(RowIdx::of_index(n_rows));
            n_rows += chunk.len();
        }
        CarriedColumn { name, read_as, typing, chunks, first_rows }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A number for the cell of each row that tells the texts of the column apart, all but surely;
    /// 0 where there is no value.
    pub fn cell_hashes(&self) -> Result<Vec<u64>> {
        let mut hashes = Vec::with_capacity(self.chunks.iter().map(|chunk| chunk.len()).sum());
        for chunk in &self.chunks {
            let cells = cell_hashes(chunk).map_err(|_| self.refused("have no text form"))?;
            hashes.extend(cells.into_iter().map(|cell| cell.map_or(0, |hash| hash.max(1))));
        }
        Ok(hashes)
    }

    /// What the cells of all rows look like.
    pub fn counts(&self) -> CellCounts {
        let counts = self.chunks.par_iter().map(|chunk| CellCounts::of(chunk, self.typing));
        counts.reduce(CellCounts::nothing, |mut all, other| {
            all.add(&other);
            all
        })
    }

    /// What the cells of some rows look like.
    pub fn counts_of(&self, row_idxs: &[RowIdx]) -> Result<CellCounts> {
        Ok(CellCounts::of(&self.as_read(row_idxs)?, self.typing))
    }

    /// The column's field in a release whose cells look like this.
    pub fn field(&self, published: &CellCounts) -> Field {
        published_field(&self.name, &self.read_as, self.typing, published)
    }

    /// The cells of some rows, in the type of the release.
    pub fn take(&self, row_idxs: &[RowIdx], data_type: &DataType) -> Result<ArrayRef> {
        let taken = self.as_read(row_idxs)?;
        if taken.data_type() == data_type {
            return Ok(taken);
        }
        let typed = match taken.data_type() {
            DataType::Utf8 => typing::typed(taken.as_string(), data_type),
            _ => arrow_cast::cast(&taken, data_type).ok(),
        };
        typed.ok_or_else(|| self.refused("do not fit into their column"))
    }

    /// The cells of some rows as they were read.
    fn as_read(&self, row_idxs: &[RowIdx]) -> Result<ArrayRef> {
        if row_idxs.is_empty() {
            return Ok(new_empty_array(&self.read_as));
        }
        let places: Vec<(usize, usize)> = row_idxs.iter().map(|&row| self.place_of(row)).collect();
        let chunks: Vec<&dyn Array> = self.chunks.iter().map(AsRef::as_ref).collect();
        let taken = interleave(&chunks, &places)
            .map_err(|_| self.refused("cannot be put in another order"))?;
        // What was unfolded leaves as the text that every reader knows. Views would hold the text
        // of all rows.
        Ok(match taken.data_type() {
            own if own != &self.read_as => arrow_cast::cast(&taken, &self.read_as)
                .map_err(|_| self.refused("cannot be put in another order"))?,
            DataType::Utf8View => std::sync::Arc::new(taken.as_string_view().gc()),
            DataType::BinaryView => std::sync::Arc::new(taken.as_binary_view().gc()),
            _ => taken,
        })
    }

    /// The bytes that the text of a row's cell takes.
    pub fn cell_bytes(&self, row: RowIdx) -> usize {
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

    fn place_of(&self, row: RowIdx) -> (usize, usize) {
        let chunk = self.first_rows.partition_point(|&first| first <= row) - 1;
        (chunk, row.index() - self.first_rows[chunk].index())
    }

    fn refused(&self, problem: &str) -> ReleaseError {
        ReleaseError::Table(TableError::Column {
            column: self.name.clone(),
            problem: format!("cells of type {} {problem}", self.read_as),
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

/// The type of plain values, where a type is that of a dictionary.
fn unfolded(own: &DataType) -> &DataType {
    match own {
        DataType::Dictionary(_, values) => match values.as_ref() {
            DataType::LargeUtf8 => &DataType::Utf8,
            other => other,
        },
        other => other,
    }
}

/// The field of a column in a release whose cells look like this.
fn published_field(
    name: &str,
    read_as: &DataType,
    typing: Typing,
    published: &CellCounts,
) -> Field {
    let typed = published.data_type(typing).filter(|_| read_as == &DataType::Utf8);
    Field::new(name, typed.unwrap_or_else(|| read_as.clone()), published.has_missing())
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
                let start = first_row.index();
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
    pub fn order(&self, row_idxs: &mut [RowIdx]) {
        row_idxs.sort_unstable_by_key(|row| self.keys[row.index()]);
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
    // Rows of a class show the same: one text for all of them is enough.
    let (firsts, run_of) = match run_starts(&values) {
        Some(starts) => (take(&values, &UInt32Array::from(starts.clone()), None)?, Some(starts)),
        None => (values, None),
    };
    let n_nulls = firsts.logical_null_count();
    match arrow_cast::cast(&firsts, &DataType::Utf8) {
        Ok(texts) if texts.logical_null_count() == n_nulls => {
            match run_of {
                None => add_text_hashes(texts.as_string::<i32>().iter(), keys),
                Some(starts) => add_run_hashes(texts.as_string::<i32>(), &starts, keys),
            }
            Ok(())
        }
        _ => add_formatted_hashes(chunk, keys),
    }
}

/// Where runs of equal cells start, for numbers that mostly repeat the cell before them.
fn run_starts(values: &ArrayRef) -> Option<Vec<u32>> {
    let starts: Vec<u32> = downcast_primitive_array!(
        values => {
            let (cells, nulls) = (values.values(), values.nulls());
            let is_null = |row: usize| nulls.is_some_and(|nulls| nulls.is_null(row));
            let is_new = |&row: &u32| {
                let row = row as usize;
                row == 0 || is_null(row) != is_null(row - 1) || cells[row].is_ne(cells[row - 1])
            };
            (0..cells.len() as u32).filter(is_new).collect()
        },
        _ => return None
    );
    (2 * starts.len() < values.len()).then_some(starts)
}

/// Adds the hash of each text to the keys of its run.
fn add_run_hashes(texts: &StringArray, starts: &[u32], keys: &mut [u64]) {
    let ends = starts[1..].iter().map(|&start| start as usize).chain([keys.len()]);
    for ((text, &start), end) in texts.iter().zip(starts).zip(ends.collect::<Vec<_>>()) {
        let hash = hash_of(text.map(str::as_bytes));
        keys[start as usize..end].iter_mut().for_each(|key| *key = mix(*key ^ hash));
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

#[cfg(test)]
mod tests;
