//! What is known of columns that are asked for.

use arrow_schema::DataType;

use crate::notation::{Notation, TextEncoding};
use crate::schema::ColumnType;

/// What is known of the requested columns before their rows arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedTypes {
    /// The type of each requested column.
    pub column_types: Vec<ColumnType>,
    /// The type of each requested column in a typed source.
    pub data_types: Vec<Option<DataType>>,
    /// How the cells of each requested column are written, where they are text.
    pub notations: Vec<Notation>,
    /// How letters are stored as bytes, where that showed only as all rows were read.
    pub encoding: Option<TextEncoding>,
}

impl RequestedTypes {
    /// Types of columns whose cells are written as the program writes them.
    pub fn plain(
        column_types: Vec<ColumnType>,
        data_types: Vec<Option<DataType>>,
    ) -> RequestedTypes {
        let notations = vec![Notation::Plain; column_types.len()];
        RequestedTypes { column_types, data_types, notations, encoding: None }
    }

    /// Adds the types of columns that are asked for behind these.
    pub fn append(&mut self, others: RequestedTypes) {
        self.column_types.extend(others.column_types);
        self.data_types.extend(others.data_types);
        self.notations.extend(others.notations);
    }

    /// Drops the types of all but the first columns.
    pub fn truncate(&mut self, n_columns: usize) {
        self.column_types.truncate(n_columns);
        self.data_types.truncate(n_columns);
        self.notations.truncate(n_columns);
    }
}
