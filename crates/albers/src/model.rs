//! The recoding function of a job as a file: a tree of splits, what each of its leaves shows, and the
//! coding of the values that it looks at.
//!
//! ```text
//!   "albers model" | version | n_head | head | frame | frame | ... | 0 | SHA-256, 64 digits
//!
//!   head    job, hierarchies, columns and types, coding, rows, key of the fingerprint
//!   frame   n_bytes | item | item | ...
//!   items   Turns   the way to the next part: how many turns it shares with the way before
//!           Cut     a split of the part, what lies inside first
//!           Leaf    its rows, and the codes that tell what it shows
//!           End     leaves of all parts, fingerprint of the rows
//! ```
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 4 (recoding functions for classes of rows that
//! come later).
//! Departures: a leaf keeps codes and not texts, so that it is shown by the code that shows classes.
//! Guarantee: what was written is read back as it was, or refused: bytes that are changed or missing,
//! and those of a newer version. Nothing is allocated that the file has no bytes for.
//! Cost: written as parts come, a frame at a time; read into memory as a tree.
//!
//! A model holds every value of the quasi-identifiers: it is the owner's, has mode 0600 from its first
//! byte on, and never lies beside a release.

mod fingerprint;
mod items;
mod read;
mod write;

use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::coding::Coding;
use albers_table::hierarchy::{HierarchyRows, HierarchySpec};
use albers_table::schema::ColumnType;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::job::Job;

pub(crate) use fingerprint::{Fingerprint, RowPrinter};
pub(crate) use items::LeafShape;
pub(crate) use read::{Keep, Model, ModelFile};
pub(crate) use write::{ModelOrder, ModelWriter};

const MAGIC: &[u8] = b"albers model";
/// What the rest looks like; another number for every change of it.
const VERSION: u16 = 1;
/// The digits of the checksum.
const CHECKSUM_BYTES: usize = 64;

/// What a model holds beside its tree.
#[derive(Serialize, Deserialize)]
pub(crate) struct Head {
    /// The job, in the form of a job file.
    pub(crate) job: String,
    /// The hierarchies that came from files, by column: what messages call them, and their rows.
    hierarchies: Vec<(String, String, Vec<u8>)>,
    /// The columns with a role, in the order of the table.
    pub(crate) columns: Vec<String>,
    /// The types of the quasi-identifiers.
    pub(crate) types: Vec<ColumnType>,
    /// The coding of the quasi-identifiers.
    coding: Vec<u8>,
    /// Whether leaves have regions.
    pub(crate) has_regions: bool,
    /// Rows that the tree was grown on.
    pub(crate) n_rows: u64,
    /// The key of their fingerprint.
    key: u128,
}

/// What of a job a model keeps: what decides which classes there are and how they are shown.
pub(crate) struct ModelJob {
    text: String,
    hierarchies: Vec<(String, String, Vec<u8>)>,
}

impl ModelJob {
    /// Of a job whose files of hierarchies are read.
    pub(crate) fn of(job: &Job) -> Result<ModelJob> {
        let mut job = job.clone();
        (job.file, job.input, job.output) = (None, None, None);
        (job.from, job.to, job.force) = (None, None, None);
        (job.manifest, job.codebook, job.owner_report, job.model) = (None, None, None, None);
        (job.memory, job.spill_dir, job.threads) = (None, None, None);
        // How a file of other rows is written is its own matter, and what is accepted too.
        (job.delimiter, job.header, job.sheet) = (None, None, None);
        (job.encoding, job.decimal) = (None, None);
        job.accept.clear();
        let mut hierarchies = Vec::new();
        for (name, column) in &mut job.columns {
            column.date_format = None;
            if let Some(spec @ HierarchySpec::Rows(rows)) = &column.hierarchy {
                hierarchies.push((name.clone(), spec.to_string(), rows.bytes().to_vec()));
                column.hierarchy = None;
            }
        }
        let text = toml::to_string(&job)
            .map_err(|_| Error::usage("the job cannot be written down", "check its fields"))?;
        Ok(ModelJob { text, hierarchies })
    }
}

impl Head {
    /// The job.
    fn parsed_job(&self) -> Option<Job> {
        let mut job: Job = toml::from_str(&self.job).ok()?;
        for (name, origin, bytes) in &self.hierarchies {
            let rows = HierarchyRows::of_bytes(origin, bytes.clone());
            job.column(name).hierarchy = Some(HierarchySpec::Rows(rows.into()));
        }
        Some(job)
    }

    /// The coding of the quasi-identifiers.
    fn parsed_coding(&self) -> Option<Coding> {
        Coding::read_from(&mut &self.coding[..]).ok()
    }
}

/// The bytes of a coding.
fn coding_bytes(coding: &Coding) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let written = coding.write_to(&mut bytes);
    written.map_err(|_| too_much())?;
    Ok(bytes)
}

fn too_much() -> Error {
    Error::usage("the recoding function cannot be written down", wording!["drop ", Field::Model])
}

#[cfg(test)]
mod tests;
