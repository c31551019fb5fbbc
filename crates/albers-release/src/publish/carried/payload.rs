//! Columns that leave as they came, for tables that are not kept in memory.
//!
//! A first pass over the source tells what the cells of each column look like; then the cells of
//! each row travel as bytes, as they were read, and become columns again when they are written.

use albers_storage::wording;
use albers_table::TableError;
use arrow_array::{Array, ArrayRef};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, Field};

use super::{CarriedColumn, CellCounts, Typing, published_field, unfolded};
use crate::error::{ReleaseError, Result};

/// What the chunks of a carried column so far tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedSurvey {
    /// The type of the cells as read.
    read_as: Option<DataType>,
    typing: Typing,
    counts: CellCounts,
}

impl CarriedSurvey {
    /// Looks at a chunk.
    pub fn of(chunk: &ArrayRef, typing: Typing) -> CarriedSurvey {
        let counts = CellCounts::of(chunk, typing);
        CarriedSurvey { read_as: Some(chunk.data_type().clone()), typing, counts }
    }

    /// Of no chunk at all.
    pub fn nothing(typing: Typing) -> CarriedSurvey {
        CarriedSurvey { read_as: None, typing, counts: CellCounts::nothing() }
    }

    /// Adds what another chunk tells.
    pub fn add(&mut self, other: &CarriedSurvey) {
        self.read_as = self.read_as.take().or_else(|| other.read_as.clone());
        self.counts.add(&other.counts);
    }

    /// What the column becomes.
    pub fn finish(self, name: &str) -> PayloadField {
        let read_as = self.read_as.unwrap_or(DataType::Utf8);
        let plain = unfolded(&read_as).clone();
        PayloadField {
            name: name.to_owned(),
            is_folded: plain != read_as,
            read_as: plain,
            typing: self.typing,
            counts: self.counts,
        }
    }
}

/// A carried column all of whose cells have been seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadField {
    name: String,
    /// The type in the release, unless its text becomes typed.
    read_as: DataType,
    typing: Typing,
    /// What the cells of all rows look like.
    counts: CellCounts,
    /// Whether cells come in dictionaries.
    is_folded: bool,
}

impl PayloadField {
    /// A column of cells of this type, of which nothing is known but that.
    pub fn as_read(name: &str, read_as: DataType) -> PayloadField {
        let counts = CellCounts::nothing();
        let typing = Typing::AsRead;
        PayloadField { name: name.to_owned(), read_as, typing, counts, is_folded: true }
    }

    /// Its name, and whether its text becomes typed.
    pub(in crate::publish) fn naming(&self) -> (String, Typing) {
        (self.name.clone(), self.typing)
    }

    /// Its field in a release from which rows with such cells are left out.
    pub fn field(&self, left_out: &CellCounts) -> Field {
        let mut published = self.counts.clone();
        published.remove(left_out);
        published_field(&self.name, &self.read_as, self.typing, &published)
    }

    fn refused(&self, problem: &str) -> ReleaseError {
        ReleaseError::Table(TableError::Column {
            column: self.name.clone(),
            problem: format!("cells of type {} {problem}", self.read_as),
            hint: "convert the column to text, or leave it out".into(),
        })
    }
}

/// Turns carried cells into the bytes of a row, and back.
pub struct Payload {
    fields: Vec<PayloadField>,
    converter: RowConverter,
}

impl Payload {
    /// For columns whose types are settled.
    pub fn new(fields: Vec<PayloadField>) -> Result<Payload> {
        for field in &fields {
            let alone = vec![SortField::new(field.read_as.clone())];
            if !RowConverter::supports_fields(&alone) {
                return Err(field.refused("cannot be carried through temporary files"));
            }
        }
        let sort_fields = fields.iter().map(|field| SortField::new(field.read_as.clone()));
        let converter = RowConverter::new(sort_fields.collect()).map_err(|_| too_wide())?;
        Ok(Payload { fields, converter })
    }

    /// Whether there are any columns.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The columns.
    pub fn fields(&self) -> &[PayloadField] {
        &self.fields
    }

    /// The cells of a chunk, row by row as bytes.
    pub fn encode(&self, chunks: &[ArrayRef]) -> Result<Rows> {
        let columns: Vec<ArrayRef> = chunks
            .iter()
            .zip(&self.fields)
            .map(|(chunk, field)| match field.is_folded {
                _ if chunk.data_type() == &field.read_as => Ok(chunk.clone()),
                false => Ok(chunk.clone()),
                true => arrow_cast::cast(chunk, &field.read_as)
                    .map_err(|_| field.refused("cannot be made of what was read")),
            })
            .collect::<Result<_>>()?;
        self.converter.convert_columns(&columns).map_err(|_| too_wide())
    }

    /// The cells of some rows, from their bytes, column by column.
    pub fn decode_arrays<'r>(&self, rows: impl Iterator<Item = &'r [u8]>) -> Result<Vec<ArrayRef>> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let parser = self.converter.parser();
        let rows = rows.map(|bytes| parser.parse(bytes));
        self.converter.convert_rows(rows).map_err(|_| too_wide())
    }

    /// The columns of some rows, from their bytes.
    pub fn decode<'r>(&self, rows: impl Iterator<Item = &'r [u8]>) -> Result<Vec<CarriedColumn>> {
        let columns = self.decode_arrays(rows)?;
        Ok(columns
            .into_iter()
            .zip(&self.fields)
            .map(|(array, field)| CarriedColumn::new(field.name.clone(), field.typing, vec![array]))
            .collect())
    }
}

fn too_wide() -> ReleaseError {
    ReleaseError::Table(TableError::Column {
        column: "(kept and sensitive columns)".to_owned(),
        problem: "their cells cannot be carried through temporary files".to_owned(),
        hint: wording!["give more ", wording::Field::Memory, ", or leave some of them out"],
    })
}
