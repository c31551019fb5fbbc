//! The one door out: writes a verified release and its manifest.
//!
//! Guarantee: only a [`Verified`] release can be written; data and manifest appear under their
//! names only when both are complete; rows leave class by class, and within a class in an order
//! that depends on the seed and on what the rows hold, never on the order of the input.
//! Cost: one pass over the classes; memory for a slab of rows.

mod carried;
mod columns;
mod slab;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use albers_storage::output::{OutputFile, SealedFile};
use albers_table::TableError;
use albers_table::progress::Progress;
use albers_table::write::{BatchWriter, WriteOptions};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use rayon::prelude::*;

use crate::cell::Describer;
use crate::error::{ReleaseError, Result};
use crate::verify::Verified;

/// The bytes of carried cells, row by row.
pub use arrow_row::Rows as PayloadRows;
pub use carried::{CarriedColumn, CarriedSurvey, Payload, PayloadField};
pub use columns::Values;
pub use slab::SlabLimits;

pub(crate) use carried::RowKeys;
use slab::{Cutter, Slab};

/// A number for each row that depends on the seed and on the cells that it carries, and on nothing
/// else; none when nothing is carried.
pub fn row_keys(carried: &[CarriedColumn], seed: u64) -> Result<Vec<u64>> {
    Ok(RowKeys::of(carried, seed)?.map_or(Vec::new(), RowKeys::into_keys))
}

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
    publish_in_slabs(release, destination, SlabLimits::default(), progress)
}

/// The same, with the size of what is built at once; the rows and their order do not depend on it.
pub fn publish_in_slabs(
    release: &Verified<'_>,
    destination: &Destination<'_>,
    limits: SlabLimits,
    progress: &dyn Progress,
) -> Result<Pending> {
    progress.phase("write", Some(release.n_rows() as u64));
    let carried: Vec<Field> = destination.carried.iter().map(CarriedColumn::field).collect();
    let group_bytes = WriteOptions::default().group_bytes;
    let mut writer =
        Writer::create(release.describers(), destination, &carried, limits, group_bytes)?;
    writer.write(release, destination.carried, progress)?;
    Ok(writer.into_pending())
}

/// A release that is being written, some classes at a time.
pub(crate) struct Writer<'a> {
    destination: &'a Destination<'a>,
    schema: SchemaRef,
    data: BatchWriter,
    limits: SlabLimits,
}

impl<'a> Writer<'a> {
    /// Starts the data, with these fields for the columns that leave as they came.
    pub(crate) fn create(
        describers: &[Describer<'_>],
        destination: &'a Destination<'a>,
        carried: &[Field],
        limits: SlabLimits,
        group_bytes: usize,
    ) -> Result<Writer<'a>> {
        let mut fields: Vec<Field> = Vec::new();
        for column in destination.columns {
            match column {
                OutputColumn::Attribute(at) => {
                    fields.extend(columns::fields(&describers[*at], destination.values));
                }
                OutputColumn::Carried(at) => fields.push(carried[*at].clone()),
            }
        }
        check_names(&fields)?;
        let schema = Arc::new(Schema::new(fields));
        let delimiter = destination.delimiter;
        let options = WriteOptions { delimiter, has_runs: true, group_bytes };
        let data = BatchWriter::create_with(destination.path, schema.clone(), options)?;
        Ok(Writer { destination, schema, data, limits })
    }

    /// Writes verified classes, in their order.
    pub(crate) fn write(
        &mut self,
        release: &Verified<'_>,
        carried: &[CarriedColumn],
        progress: &dyn Progress,
    ) -> Result<()> {
        let Writer { destination, schema, data, limits } = self;
        let keys = RowKeys::of(carried, destination.seed)?;
        let mut cutter = Cutter::new(release, carried, keys.as_ref(), *limits);
        let mut slab = cutter.next_slab()?;
        while slab.n_rows > 0 {
            let (written, next) = rayon::join(
                || -> Result<()> {
                    let batch = batch_of(&slab, release, destination, carried, schema)?;
                    Ok(data.write(&batch)?)
                },
                || cutter.next_slab(),
            );
            written?;
            progress.advance(slab.n_rows as u64);
            slab = next?;
        }
        Ok(())
    }

    /// All is written.
    pub(crate) fn into_pending(self) -> Pending {
        Pending { data: self.data, path: self.destination.path.to_owned() }
    }
}

/// The rows of a slab as they leave.
fn batch_of(
    slab: &Slab,
    release: &Verified<'_>,
    destination: &Destination<'_>,
    carried: &[CarriedColumn],
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let arrays: Vec<Vec<ArrayRef>> = destination
        .columns
        .par_iter()
        .map(|column| match column {
            OutputColumn::Attribute(at) => {
                Ok(columns::arrays(release, slab, *at, destination.values))
            }
            OutputColumn::Carried(at) => Ok(vec![carried[*at].take(&slab.row_ids)?]),
        })
        .collect::<Result<_>>()?;
    Ok(RecordBatch::try_new(schema.clone(), arrays.into_iter().flatten().collect())
        .expect("columns are built by the schema and have the slab's rows"))
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
        name_all(vec![self.seal(manifest)?])
    }

    /// Writes data and manifest to disk, so that nothing but their names is missing.
    pub fn seal(self, manifest: &str) -> Result<Sealed> {
        let mut output = OutputFile::create(&manifest_path(&self.path))?;
        output.write_all(manifest.as_bytes()).map_err(|error| output.write_error(error))?;
        Ok(Sealed { data: self.data.seal()?, manifest: output.seal()? })
    }
}

/// A release that is on disk as a whole, but not yet under its name.
pub struct Sealed {
    data: SealedFile,
    manifest: SealedFile,
}

/// Names some releases, each with its manifest. If one cannot be named, none of them stays: what
/// belongs together appears together.
pub fn name_all(releases: Vec<Sealed>) -> Result<()> {
    let mut named: Vec<PathBuf> = Vec::new();
    for Sealed { data, manifest } in releases {
        for file in [data, manifest] {
            let target = file.target().to_owned();
            if let Err(source) = file.name() {
                return Err(match named.is_empty() {
                    true => source.into(),
                    false => ReleaseError::NoManifest { source, consequence: removed(&named) },
                });
            }
            named.push(target);
        }
    }
    Ok(())
}

/// Removes files that had their names already, and says what became of them.
fn removed(named: &[PathBuf]) -> String {
    let left: Vec<String> = named
        .iter()
        .filter_map(|path| {
            let error = std::fs::remove_file(path).err()?;
            Some(format!("{} ({error})", path.display()))
        })
        .collect();
    match left.is_empty() {
        true => "the release was removed, since it may not stand without the rest; write it again"
            .to_owned(),
        false => format!("these stand without the rest, remove them: {}", left.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_does_not_stay_without_its_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("release.csv");
        let schema = Arc::new(Schema::empty());
        let data = BatchWriter::create(&path, schema).unwrap();
        let sealed = Pending { data, path: path.clone() }.seal("{}").unwrap();
        // A folder takes the manifest's name at the last moment.
        std::fs::create_dir_all(manifest_path(&path).join("inside")).unwrap();
        let error = name_all(vec![sealed]).unwrap_err();
        assert!(matches!(error, ReleaseError::NoManifest { .. }));
        assert!(error.to_string().contains("release.csv.manifest.json"), "{error}");
        assert!(error.to_string().contains("was removed"), "{error}");
        assert!(!path.exists());
    }
}
