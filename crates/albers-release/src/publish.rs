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
use albers_table::progress::Progress;
use albers_table::write::BatchWriter;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use rayon::prelude::*;

use crate::error::Result;
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
    let schema = Arc::new(Schema::new(fields));
    let mut data = BatchWriter::create_with_delimiter(
        destination.path,
        schema.clone(),
        destination.delimiter,
    )?;
    let keys = RowKeys::of(destination.carried, destination.seed);
    let mut class_idx = 0;
    while class_idx < release.n_classes() {
        let slab = Slab::collect(release, class_idx, &keys);
        let arrays: Vec<Vec<ArrayRef>> = destination
            .columns
            .par_iter()
            .map(|column| match column {
                OutputColumn::Attribute(at) => {
                    columns::arrays(release, &slab, *at, destination.values)
                }
                OutputColumn::Carried(at) => vec![destination.carried[*at].take(&slab.row_ids)],
            })
            .collect();
        let arrays: Vec<ArrayRef> = arrays.into_iter().flatten().collect();
        let batch = RecordBatch::try_new(schema.clone(), arrays)
            .expect("columns are built by the schema and have the slab's rows");
        data.write(&batch)?;
        progress.advance(batch.num_rows() as u64);
        class_idx = slab.classes.end;
    }
    Ok(Pending { data, path: destination.path.to_owned() })
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
    classes: std::ops::Range<usize>,
    /// Rows of each class.
    sizes: Vec<u32>,
    /// All rows, class by class.
    row_ids: Vec<u32>,
}

impl Slab {
    fn collect(release: &Verified<'_>, first: usize, keys: &RowKeys) -> Slab {
        let mut sizes = Vec::new();
        let mut row_ids: Vec<u32> = Vec::with_capacity(SLAB_ROWS);
        let mut class_idx = first;
        while class_idx < release.n_classes() && row_ids.len() < SLAB_ROWS {
            let start = row_ids.len();
            for (ids, _) in release.class(class_idx).parts() {
                row_ids.extend_from_slice(ids);
            }
            keys.order(&mut row_ids[start..]);
            sizes.push((row_ids.len() - start) as u32);
            class_idx += 1;
        }
        Slab { classes: first..class_idx, sizes, row_ids }
    }
}
