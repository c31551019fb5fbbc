//! The coding of a table: which value of which column has which code.
//!
//! ```text
//!   chunks ──► ColumnSurvey ──finish──► ColumnCoding ──encode──► codes
//!                                         │      ▲
//!                              grown ─────┘      └───── write_to, read_from
//! ```
//!
//! A [`Coding`] is the only builder of [`Domain`]s. It is made of the values that a survey found,
//! and its codes never change after that but through [`Coding::grown`], whose maps are monotone:
//! a cut that separated two rows before separates them after. For that the order of siblings in a
//! hierarchy is frozen when the coding is made, and the missing value always lies at the same end:
//! below all ordered values, above all categories.
//!
//! A coding holds every raw value of its columns: it is the owner's, and never lies beside a
//! release.

mod bytes;
mod column;
mod fit;
mod grow;
mod survey;

use arrow_schema::DataType;

use crate::Result;
use crate::chunk::ColumnChunk;
use crate::domain::{Domain, DomainKind};
use crate::hierarchy::{Hierarchy, HierarchySpec};
use crate::schema::ColumnType;

pub use bytes::ReadCodingError;
pub use column::{ColumnCoder, ColumnCoding};
pub use fit::{Fit, Placed};
pub use grow::CodeMap;
pub use survey::{ChunkSurvey, ColumnSurvey, Look};

/// How a column is to be coded.
#[derive(Debug, Clone, Copy)]
pub enum CodingPlan<'a> {
    /// As points on a line; for ordered types only.
    Ordered,
    /// As names in natural order, or as the leaves of a hierarchy.
    Categories {
        /// The hierarchy, if there is one.
        hierarchy: Option<&'a HierarchySpec>,
        /// Whether siblings may be reordered so that frequent values come first.
        by_frequency: bool,
    },
}

/// A column as read, before it is coded.
pub struct RawColumn {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub column_type: ColumnType,
    /// Its type in a typed file.
    pub data_type: Option<DataType>,
    /// Its cells, in file order.
    pub chunks: Vec<ColumnChunk>,
}

/// A column of codes, chunk by chunk as it was read.
pub struct CodedColumn {
    /// What the codes mean.
    pub domain: Domain,
    /// The codes of each chunk.
    pub codes: Vec<Vec<u32>>,
}

/// Turns a column of cells into a column of codes.
pub fn encode(column: RawColumn, plan: CodingPlan<'_>) -> Result<CodedColumn> {
    let (coding, codes) = code_column(column, plan)?;
    Ok(CodedColumn { domain: coding.domain, codes })
}

impl CodedColumn {
    /// A column of cells that were brought under labels before: the place of each cell's label,
    /// chunk by chunk, or nothing where it is missing. The labels are the whole domain, whatever
    /// cells there are; nothing if they are not all different.
    pub fn of_labels(
        name: &str,
        column_type: ColumnType,
        labels: &[String],
        places: Vec<Vec<Option<u32>>>,
    ) -> Option<CodedColumn> {
        let hierarchy = Hierarchy::of_labels(labels)?;
        let n_missing = places.iter().flatten().filter(|place| place.is_none()).count() as u64;
        let missing = hierarchy.n_leaves();
        let code = |place: Option<u32>| place.unwrap_or(missing);
        let codes = places.into_iter().map(|chunk| chunk.into_iter().map(code).collect());
        let kind = DomainKind::Tree { hierarchy, numbers: None };
        let name = name.to_owned();
        let domain = Domain { name, column_type, data_type: None, kind, n_missing, n_single: None };
        Some(CodedColumn { domain, codes: codes.collect() })
    }
}

/// The coding of a column, and its codes.
fn code_column(column: RawColumn, plan: CodingPlan<'_>) -> Result<(ColumnCoding, Vec<Vec<u32>>)> {
    let RawColumn { name, column_type, data_type, chunks } = column;
    let survey_by = |look| {
        let mut survey = ColumnSurvey::new(&name, look);
        for chunk in &chunks {
            survey.add(ChunkSurvey::of(chunk, look))?;
        }
        Result::Ok(survey)
    };
    let mut survey = survey_by(Look::for_column(column_type, plan))?;
    if survey.needs_values() {
        survey = survey_by(Look::Values)?;
    }
    survey.finish(column_type, data_type, plan)?.encode_all(chunks)
}

/// The codings of some columns of a table.
#[derive(Clone)]
pub struct Coding {
    columns: Vec<ColumnCoding>,
}

impl Coding {
    /// Of these columns.
    pub fn new(columns: Vec<ColumnCoding>) -> Coding {
        Coding { columns }
    }

    /// The columns, in the order in which they were given.
    pub fn columns(&self) -> &[ColumnCoding] {
        &self.columns
    }

    /// The coding that also knows the values of more rows, given column by column, and how the
    /// codes of each column change.
    ///
    /// # Panics
    /// When there are not as many columns as this coding has.
    pub fn grown(&self, more: &[Vec<ColumnChunk>]) -> Result<(Coding, Vec<CodeMap>)> {
        assert_eq!(self.columns.len(), more.len(), "some rows of the same columns");
        let grown = self.columns.iter().zip(more).map(|(column, chunks)| column.grown(chunks));
        let (columns, maps) = grown.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        Ok((Coding { columns }, maps))
    }
}

#[cfg(test)]
mod tests;
