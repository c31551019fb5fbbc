//! The one door out: writes a verified release and its manifest.
//!
//! Guarantee: only a [`Verified`] release can be written; data and manifest appear under their names
//! only when both are complete; rows leave class by class, and within a class in an order that
//! depends on the seed and on what the rows hold, never on the order of the input.
//! Cost: one pass over the classes; memory for a slab of rows.

mod carried;
mod columns;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use albers_storage::output::OutputFile;
use albers_table::TableError;
use albers_table::progress::Progress;
use albers_table::write::{BatchWriter, WriteOptions};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use rayon::prelude::*;

use crate::cell::ShownCell;
use crate::error::{ReleaseError, Result};
use crate::verify::Verified;

pub use carried::CarriedColumn;
pub use columns::Values;

use carried::RowKeys;

/// Rows that are built before they are written.
const SLAB_ROWS: usize = 1 << 18;

/// A column of the release.
pub enum OutputColumn {
    /// A quasi-identifier, by its place among the attributes.
    Attribute(usize),
    /// A column that leaves as it came, by its place among the carried columns.
    Carried(usize),
}

/// Where and how a release is written.
pub struct Destination<'a> {
    /// The file; its ending tells the format.
    pub path: &'a Path,
    /// The byte between the cells of a text file, where the ending does not tell it.
    pub delimiter: Option<u8>,
    /// How intervals are written.
    pub values: Values,
    /// The columns, in order.
    pub columns: &'a [OutputColumn],
    /// The columns that leave as they came.
    pub carried: &'a [CarriedColumn],
    /// Decides the order of rows within a class.
    pub seed: u64,
}

/// A release whose data is written but not yet under its name.
pub struct Pending {
    data: BatchWriter,
    path: PathBuf,
}

/// Where the manifest of a release stands.
pub fn manifest_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".manifest.json");
    PathBuf::from(name)
}

/// Writes the rows of a verified release; nothing appears before [`Pending::finish`].
pub fn publish(
    release: &Verified<'_>,
    destination: &Destination<'_>,
    progress: &dyn Progress,
) -> Result<Pending> {
    progress.phase("write", Some(release.n_rows() as u64));
    let mut fields: Vec<Field> = Vec::new();
    for column in destination.columns {
        match column {
            OutputColumn::Attribute(at) => {
                fields.extend(columns::fields(&release.describers()[*at], destination.values));
            }
            OutputColumn::Carried(at) => fields.push(destination.carried[*at].field()),
        }
    }
    check_names(&fields)?;
    let schema = Arc::new(Schema::new(fields));
    let options = WriteOptions { delimiter: destination.delimiter, has_runs: true };
    let mut data = BatchWriter::create_with(destination.path, schema.clone(), options)?;
    let keys = RowKeys::of(destination.carried, destination.seed);
    let mut slab = Slab::collect(release, 0, keys.as_ref());
    while slab.n_rows > 0 {
        let (written, next) = rayon::join(
            || {
                let batch = slab.batch(release, destination, &schema);
                data.write(&batch)
            },
            || Slab::collect(release, slab.end, keys.as_ref()),
        );
        written?;
        progress.advance(slab.n_rows as u64);
        slab = next;
    }
    Ok(Pending { data, path: destination.path.to_owned() })
}

/// Bounds take new names, which a column that leaves as it came may already have.
fn check_names(fields: &[Field]) -> Result<()> {
    for (at, field) in fields.iter().enumerate() {
        if fields[..at].iter().any(|earlier| earlier.name() == field.name()) {
            return Err(ReleaseError::Table(TableError::Column {
                column: field.name().clone(),
                problem: "the release would have two columns of this name, one of them a bound"
                    .to_owned(),
                hint: "rename the column, or write intervals with --values interval".to_owned(),
            }));
        }
    }
    Ok(())
}

impl Pending {
    /// Gives data and manifest their names.
    pub fn finish(self, manifest: &str) -> Result<()> {
        let path = manifest_path(&self.path);
        let mut output = OutputFile::create(&path)?;
        output.write_all(manifest.as_bytes()).map_err(|error| output.write_error(error))?;
        self.data.finish()?;
        output.finish()?;
        Ok(())
    }
}

/// A run of classes that is written at once.
struct Slab {
    /// The first class after the slab.
    end: usize,
    n_rows: usize,
    /// Rows of each class.
    sizes: Vec<u32>,
    /// What each class shows, attribute by attribute.
    cells: Vec<ShownCell>,
    /// All rows, class by class; empty when no column is carried.
    row_ids: Vec<u32>,
}

impl Slab {
    fn collect(release: &Verified<'_>, first: usize, keys: Option<&RowKeys>) -> Slab {
        let mut slab = Slab {
            end: first,
            n_rows: 0,
            sizes: Vec::new(),
            cells: Vec::new(),
            row_ids: Vec::new(),
        };
        while slab.end < release.n_classes() && slab.n_rows < SLAB_ROWS {
            let class = release.class(slab.end);
            slab.cells.extend_from_slice(class.cells);
            slab.sizes.push(class.n_rows() as u32);
            slab.n_rows += class.n_rows();
            if let Some(keys) = keys {
                let start = slab.row_ids.len();
                class.parts().for_each(|(ids, _)| slab.row_ids.extend_from_slice(ids));
                keys.order(&mut slab.row_ids[start..]);
            }
            slab.end += 1;
        }
        slab
    }

    /// The rows as they leave.
    fn batch(
        &self,
        release: &Verified<'_>,
        destination: &Destination<'_>,
        schema: &SchemaRef,
    ) -> RecordBatch {
        let arrays: Vec<Vec<ArrayRef>> = destination
            .columns
            .par_iter()
            .map(|column| match column {
                OutputColumn::Attribute(at) => {
                    columns::arrays(release, self, *at, destination.values)
                }
                OutputColumn::Carried(at) => vec![destination.carried[*at].take(&self.row_ids)],
            })
            .collect();
        RecordBatch::try_new(schema.clone(), arrays.into_iter().flatten().collect())
            .expect("columns are built by the schema and have the slab's rows")
    }

    /// What the classes show on one attribute.
    fn cells_of(&self, attribute: usize) -> impl Iterator<Item = ShownCell> + '_ {
        let n_attributes = self.cells.len() / self.sizes.len();
        self.cells[attribute..].iter().step_by(n_attributes).copied()
    }
}
