//! Columns that leave as they came.
//!
//! Guarantee: the field of a column tells of the cells that are published only. What leaves holds
//! no bytes of other rows.

mod bytes;
mod hashes;
mod payload;
mod typing;

use albers_table::TableError;
use albers_table::row::RowIdx;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::{DataType, Field};
use arrow_select::interleave::interleave;
use rayon::prelude::*;

use crate::error::{ReleaseError, Result};

pub use bytes::CarriedBytes;
pub use hashes::{RowKeys, cell_hashes};
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
        let places = RowPlaces::of(std::slice::from_ref(self), row_idxs);
        Ok(CellCounts::of(&self.as_read(&places)?, self.typing))
    }

    /// The column's field in a release whose cells look like this.
    pub fn field(&self, published: &CellCounts) -> Field {
        published_field(&self.name, &self.read_as, self.typing, published)
    }

    /// The cells of some rows, in the type of the release.
    pub fn take(&self, row_idxs: &[RowIdx], data_type: &DataType) -> Result<ArrayRef> {
        self.take_at(&RowPlaces::of(std::slice::from_ref(self), row_idxs), data_type)
    }

    /// The same of rows whose places were found before.
    pub fn take_at(&self, rows: &RowPlaces<'_>, data_type: &DataType) -> Result<ArrayRef> {
        let taken = self.as_read(rows)?;
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
    fn as_read(&self, rows: &RowPlaces<'_>) -> Result<ArrayRef> {
        if rows.row_idxs.is_empty() {
            return Ok(new_empty_array(&self.read_as));
        }
        let own_places: Vec<(usize, usize)>;
        let places = match rows.first_rows == self.first_rows {
            true => &rows.places,
            false => {
                own_places = places_in(&self.first_rows, rows.row_idxs);
                &own_places
            }
        };
        let chunks: Vec<&dyn Array> = self.chunks.iter().map(AsRef::as_ref).collect();
        let taken = interleave(&chunks, places)
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

    fn refused(&self, problem: &str) -> ReleaseError {
        ReleaseError::Table(TableError::Column {
            column: self.name.clone(),
            problem: format!("cells of type {} {problem}", self.read_as),
            hint: "convert the column to text, or leave it out".into(),
        })
    }
}

/// Where some rows lie in the chunks of columns that were read together: found once for all of them.
pub struct RowPlaces<'r> {
    row_idxs: &'r [RowIdx],
    /// The first row of each chunk, and the chunk of each row with its place there.
    first_rows: &'r [RowIdx],
    places: Vec<(usize, usize)>,
}

impl<'r> RowPlaces<'r> {
    /// The places of rows in some columns.
    pub fn of(columns: &'r [CarriedColumn], row_idxs: &'r [RowIdx]) -> RowPlaces<'r> {
        let first_rows = columns.first().map_or(&[][..], |column| &column.first_rows);
        let places = match first_rows.is_empty() {
            true => Vec::new(),
            false => places_in(first_rows, row_idxs),
        };
        RowPlaces { row_idxs, first_rows, places }
    }
}

fn places_in(first_rows: &[RowIdx], row_idxs: &[RowIdx]) -> Vec<(usize, usize)> {
    row_idxs.iter().map(|&row| place_in(first_rows, row)).collect()
}

fn place_in(first_rows: &[RowIdx], row: RowIdx) -> (usize, usize) {
    let chunk = first_rows.partition_point(|&first| first <= row) - 1;
    (chunk, row.index() - first_rows[chunk].index())
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

#[cfg(test)]
mod tests;
