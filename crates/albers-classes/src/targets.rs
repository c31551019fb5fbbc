//! What rows carry of the targets and features of a workload: the twin of the facts that a
//! requirement looks at.

use albers_table::row::RowIdx;

/// Codes of carried targets, row by row; the last may be the cell of a row's features.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetCodes {
    /// The codes, row by row.
    pub codes: Vec<u32>,
    /// Codes per row.
    pub n_columns: usize,
}

impl TargetCodes {
    /// Columns side by side, which must be of equal length.
    pub fn of_columns(columns: &[&[u32]]) -> TargetCodes {
        let n_rows = columns.first().map_or(0, |column| column.len());
        let mut codes = Vec::with_capacity(n_rows * columns.len());
        for row in 0..n_rows {
            codes.extend(columns.iter().map(|column| column[row]));
        }
        TargetCodes { codes, n_columns: columns.len() }
    }

    /// The codes of a row.
    #[inline]
    pub fn of_row(&self, row: usize) -> &[u32] {
        &self.codes[row * self.n_columns..(row + 1) * self.n_columns]
    }

    /// The codes of some rows, in their order.
    pub fn gather(&self, rows: &[RowIdx]) -> TargetCodes {
        let mut codes = Vec::with_capacity(rows.len() * self.n_columns);
        rows.iter().for_each(|row| codes.extend_from_slice(self.of_row(row.index())));
        TargetCodes { codes, n_columns: self.n_columns }
    }
}
