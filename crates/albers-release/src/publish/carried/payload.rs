//! Columns that leave as they came, for tables that are not kept in memory.
//!
//! A first pass over the file settles the type of each column; then the cells of each row travel as
//! bytes, and become columns again when they are written.

use albers_storage::wording;
use albers_table::TableError;
use albers_table::schema::ColumnType;
use arrow_array::{Array, ArrayRef};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, Field};

use super::{CarriedColumn, longest_fraction, time_separator, typed_chunks};
use crate::error::{ReleaseError, Result};

/// What the chunks of a carried column so far have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedSurvey {
    has_nulls: bool,
    /// The type of the cells as read.
    read_as: Option<DataType>,
    /// How the text of all chunks so far could be typed.
    typed: Typed,
}

/// How text could be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Typed {
    /// No chunk had a cell that would tell; the type that the column would have.
    Unknown(Option<DataType>),
    /// All chunks alike: this type, and for times what stands between day and time.
    As(DataType, Option<char>),
    /// Not at all, or not all chunks alike.
    No,
}

impl CarriedSurvey {
    /// Looks at a chunk; `typed` tells whether text is to become typed.
    pub fn of(chunk: &ArrayRef, column_type: ColumnType, typed: bool) -> CarriedSurvey {
        let has_nulls = chunk.logical_null_count() > 0;
        let read_as = Some(chunk.data_type().clone());
        let typed = if !typed {
            Typed::No
        } else if chunk.logical_null_count() == chunk.len() {
            let typed = typed_chunks(std::slice::from_ref(chunk), column_type);
            Typed::Unknown(typed.map(|chunks| chunks[0].data_type().clone()))
        } else {
            let chunks = std::slice::from_ref(chunk);
            match typed_chunks(chunks, column_type) {
                Some(of_type) => {
                    let is_time = column_type == ColumnType::Timestamp;
                    let separator = is_time.then(|| time_separator(chunks));
                    debug_assert!(
                        column_type != ColumnType::Decimal || longest_fraction(chunk) < 19
                    );
                    Typed::As(of_type[0].data_type().clone(), separator)
                }
                None => Typed::No,
            }
        };
        CarriedSurvey { has_nulls, read_as, typed }
    }

    /// Of no chunk at all.
    pub fn nothing() -> CarriedSurvey {
        CarriedSurvey { has_nulls: false, read_as: None, typed: Typed::Unknown(None) }
    }

    /// Adds what another chunk tells.
    pub fn add(&mut self, other: &CarriedSurvey) {
        self.has_nulls |= other.has_nulls;
        self.read_as = self.read_as.take().or_else(|| other.read_as.clone());
        match (&self.typed, &other.typed) {
            (Typed::Unknown(_), _) => self.typed = other.typed.clone(),
            (_, Typed::Unknown(_)) => {}
            (own, other) if own == other => {}
            _ => self.typed = Typed::No,
        }
    }

    /// What the column becomes.
    pub fn finish(self, name: &str) -> PayloadField {
        let (data_type, convert) = match (self.typed, self.read_as) {
            (Typed::As(data_type, _) | Typed::Unknown(Some(data_type)), _) => (data_type, true),
            (_, Some(DataType::Dictionary(_, values))) => (*values, true),
            (_, Some(read_as)) => (read_as, false),
            (_, None) => (DataType::Utf8, false),
        };
        PayloadField { name: name.to_owned(), data_type, has_nulls: self.has_nulls, convert }
    }
}

/// A carried column whose type is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadField {
    name: String,
    data_type: DataType,
    has_nulls: bool,
    /// Whether cells as read have another type.
    convert: bool,
}

impl PayloadField {
    /// Its field in the release.
    pub fn field(&self) -> Field {
        Field::new(&self.name, self.data_type.clone(), self.has_nulls)
    }

    fn refused(&self, problem: &str) -> ReleaseError {
        ReleaseError::Table(TableError::Column {
            column: self.name.clone(),
            problem: format!("cells of type {} {problem}", self.data_type),
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
            let alone = vec![SortField::new(field.data_type.clone())];
            if !RowConverter::supports_fields(&alone) {
                return Err(field.refused("cannot be carried through temporary files"));
            }
        }
        let sort_fields = fields.iter().map(|field| SortField::new(field.data_type.clone()));
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
            .map(|(chunk, field)| match field.convert {
                false => Ok(chunk.clone()),
                true => arrow_cast::cast(chunk, &field.data_type)
                    .map_err(|_| field.refused("cannot be made of what was read")),
            })
            .collect::<Result<_>>()?;
        self.converter.convert_columns(&columns).map_err(|_| too_wide())
    }

    /// The columns of some rows, from their bytes.
    pub fn decode<'r>(&self, rows: impl Iterator<Item = &'r [u8]>) -> Result<Vec<CarriedColumn>> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let parser = self.converter.parser();
        let rows = rows.map(|bytes| parser.parse(bytes));
        let columns = self.converter.convert_rows(rows).map_err(|_| too_wide())?;
        Ok(columns
            .into_iter()
            .zip(&self.fields)
            .map(|(array, field)| CarriedColumn {
                name: field.name.clone(),
                data_type: field.data_type.clone(),
                first_rows: vec![0],
                chunks: vec![array],
                has_nulls: field.has_nulls,
            })
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
