//! Rows that come in runs, such as the classes of a release: what a run shows stands there once.
//!
//! ```text
//!   run_rows   of runs    of rows         what readers see
//!      3       [20, 29]   a  b  c         [20, 29] a   [20, 29] b   [20, 29] c
//!      2       [30, 35]   d  e            [30, 35] d   [30, 35] e
//! ```
//!
//! Cost: a cell of a run is built once; who needs it in every row expands it.

use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::concat::concat;
use arrow_select::take::take;
use rayon::prelude::*;

use crate::{Result, TableError};

/// Some rows of a table, run by run.
#[derive(Clone)]
pub struct RunBatch {
    schema: SchemaRef,
    run_rows: Vec<u32>,
    n_rows: usize,
    columns: Vec<RunColumn>,
}

/// A column of rows that come in runs.
#[derive(Clone)]
pub enum RunColumn {
    /// One cell for each run, which all its rows show.
    OfRuns(ArrayRef),
    /// One cell for each row.
    OfRows(ArrayRef),
}

impl RunColumn {
    /// The cells, one for each run or one for each row.
    pub fn cells(&self) -> &ArrayRef {
        match self {
            RunColumn::OfRuns(cells) | RunColumn::OfRows(cells) => cells,
        }
    }

    /// What `change` makes of the cells, for as many runs or rows.
    fn try_map(
        &self,
        change: impl Fn(&ArrayRef) -> std::result::Result<ArrayRef, ArrowError>,
    ) -> std::result::Result<RunColumn, ArrowError> {
        Ok(match self {
            RunColumn::OfRuns(cells) => RunColumn::OfRuns(change(cells)?),
            RunColumn::OfRows(cells) => RunColumn::OfRows(change(cells)?),
        })
    }
}

impl RunBatch {
    /// Runs of so many rows each, and a column for each field: as long as there are runs or rows.
    pub fn try_new(
        schema: SchemaRef,
        run_rows: Vec<u32>,
        columns: Vec<RunColumn>,
    ) -> Result<RunBatch> {
        let n_rows = run_rows.iter().map(|&n_rows| n_rows as usize).sum();
        for (idx, field) in schema.fields().iter().enumerate() {
            let is_fit = columns.get(idx).is_some_and(|column| {
                let n_cells = match column {
                    RunColumn::OfRuns(_) => run_rows.len(),
                    RunColumn::OfRows(_) => n_rows,
                };
                column.cells().len() == n_cells && column.cells().data_type() == field.data_type()
            });
            if !is_fit {
                return Err(TableError::Column {
                    column: field.name().clone(),
                    problem: "its cells are too few, too many or of another type".to_owned(),
                    hint: "give a cell of the column's type for each run, or for each row".into(),
                });
            }
        }
        Ok(RunBatch { schema, run_rows, n_rows, columns })
    }

    /// Rows each of which is told by itself: one run, of which no cell is known to be the same.
    pub fn of_rows(batch: &RecordBatch) -> RunBatch {
        let n_rows = batch.num_rows();
        // More rows than a run can have are some runs.
        let run_rows = (0..n_rows)
            .step_by(u32::MAX as usize)
            .map(|start| (n_rows - start).min(u32::MAX as usize) as u32);
        RunBatch {
            schema: batch.schema(),
            run_rows: run_rows.collect(),
            n_rows,
            columns: batch.columns().iter().cloned().map(RunColumn::OfRows).collect(),
        }
    }

    /// The columns' names and types.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How many rows each run has.
    pub fn run_rows(&self) -> &[u32] {
        &self.run_rows
    }

    /// How many rows all runs have.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The columns, in the order of the schema.
    pub fn columns(&self) -> &[RunColumn] {
        &self.columns
    }

    /// The row after the last one of each run.
    pub fn run_ends(&self) -> Vec<usize> {
        let mut end = 0;
        let ends = self.run_rows.iter().map(|&n_rows| {
            end += n_rows as usize;
            end
        });
        ends.collect()
    }

    /// The rows as a batch that shows every cell in every row.
    pub fn expanded(&self) -> Result<RecordBatch> {
        let run_of = self.run_of_rows();
        let expand = |(column, name): (&RunColumn, &str)| match column {
            RunColumn::OfRows(cells) => Ok(cells.clone()),
            RunColumn::OfRuns(cells) => take(cells, &run_of, None).map_err(|_| too_long(name)),
        };
        let fields = self.schema.fields();
        let named = self.columns.par_iter().enumerate();
        let arrays = named
            .map(|(idx, column)| expand((column, fields[idx].name())))
            .collect::<Result<Vec<ArrayRef>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.n_rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options);
        batch.map_err(|error| TableError::Column {
            column: fields.first().map_or_else(String::new, |field| field.name().clone()),
            problem: format!("the columns are not those of the table: {error}"),
            hint: "give every batch the columns that the table was started with".into(),
        })
    }

    /// The run of each row, by its number.
    pub(super) fn run_of_rows(&self) -> UInt32Array {
        let runs = (0u32..).zip(&self.run_rows);
        let mut run_of = Vec::with_capacity(self.n_rows);
        runs.for_each(|(run, &n_rows)| run_of.extend(std::iter::repeat_n(run, n_rows as usize)));
        run_of.into()
    }

    /// Some rows of these, that start at `offset`.
    pub(super) fn slice(&self, offset: usize, n_rows: usize) -> RunBatch {
        let ends = self.run_ends();
        let first = ends.partition_point(|&end| end <= offset);
        let runs = match n_rows {
            0 => first..first,
            _ => first..ends.partition_point(|&end| end < offset + n_rows) + 1,
        };
        let rows_of = |run: usize| {
            let start = ends[run] - self.run_rows[run] as usize;
            (ends[run].min(offset + n_rows) - start.max(offset)) as u32
        };
        let columns = self.columns.iter().map(|column| match column {
            RunColumn::OfRuns(cells) => RunColumn::OfRuns(cells.slice(runs.start, runs.len())),
            RunColumn::OfRows(cells) => RunColumn::OfRows(cells.slice(offset, n_rows)),
        });
        RunBatch {
            schema: self.schema.clone(),
            columns: columns.collect(),
            n_rows,
            run_rows: runs.map(rows_of).collect(),
        }
    }

    /// The same rows, without the memory of what they were cut from.
    pub(super) fn shrunk(&self) -> std::result::Result<RunBatch, ArrowError> {
        let own = |cells: &ArrayRef| concat(&[cells.as_ref()]);
        let columns = self.columns.iter().map(|column| column.try_map(own));
        Ok(RunBatch { columns: columns.collect::<std::result::Result<_, _>>()?, ..self.clone() })
    }
}

fn too_long(column: &str) -> TableError {
    TableError::Column {
        column: column.to_owned(),
        problem: "the rows of a batch show more text than an array can hold".to_owned(),
        hint: "give fewer rows at a time".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, StringArray};
    use arrow_schema::{DataType, Field, Schema};
    use proptest::prelude::*;

    use super::*;

    /// A column of the numbers of the runs, and one of the numbers of the rows.
    fn numbered(run_rows: &[u32]) -> RunBatch {
        let field = |name: &str, own| Field::new(name, own, false);
        let fields = vec![field("run", DataType::Utf8), field("row", DataType::Int64)];
        let runs = (0..run_rows.len()).map(|run| format!("run {run}"));
        let n_rows: u32 = run_rows.iter().sum();
        let columns = vec![
            RunColumn::OfRuns(Arc::new(StringArray::from_iter_values(runs))),
            RunColumn::OfRows(Arc::new(Int64Array::from_iter_values(0..i64::from(n_rows)))),
        ];
        RunBatch::try_new(Arc::new(Schema::new(fields)), run_rows.to_vec(), columns).unwrap()
    }

    proptest! {
        #[test]
        fn a_slice_shows_the_rows_that_it_was_cut_from(
            run_rows in proptest::collection::vec(1u32..5, 0..12),
            start: prop::sample::Index,
            end: prop::sample::Index,
        ) {
            let rows = numbered(&run_rows);
            let (start, end) = (start.index(rows.n_rows() + 1), end.index(rows.n_rows() + 1));
            let (start, end) = (start.min(end), start.max(end));
            let slice = rows.slice(start, end - start);
            prop_assert_eq!(slice.run_rows().iter().sum::<u32>() as usize, end - start);
            prop_assert!(slice.run_rows().iter().all(|&n_rows| n_rows > 0));
            let expected = rows.expanded().unwrap().slice(start, end - start);
            prop_assert_eq!(slice.expanded().unwrap(), expected.clone());
            prop_assert_eq!(slice.shrunk().unwrap().expanded().unwrap(), expected);
        }
    }

    #[test]
    fn cells_that_are_too_few_are_refused() {
        let rows = numbered(&[2, 1]);
        let refused = RunBatch::try_new(rows.schema.clone(), vec![2, 1, 1], rows.columns.clone());
        assert!(refused.err().unwrap().to_string().contains("'run'"));
    }
}
