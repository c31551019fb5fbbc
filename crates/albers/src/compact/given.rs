//! A release to be compacted: which rows show the same, and whose they are.

use std::path::Path;

use albers_classes::points::row_fingerprint;
use albers_classes::space::Shown;
use albers_measure::Classes;
use albers_measure::released::{Pairing, ReleasedColumn, loss_of_released};
use albers_privacy::ClassSummary;
use albers_table::progress::Progress;
use albers_table::schema::Role;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use crate::error::{Error, Result};
use crate::job::Job;
use crate::measure::{self, Released, pairs};
use crate::secrets::Protection;
use crate::table::Table;

/// A release to be compacted.
pub struct Given {
    released: Released,
    /// Its rows that show the same.
    pub classes: Classes,
    /// The row of the original that belongs to each of its rows.
    pub original_rows: Vec<u32>,
    /// Things the user should know.
    pub notes: Vec<String>,
}

impl Given {
    /// Reads the quasi-identifiers and the key, and finds the rows of the original.
    pub fn read(
        job: &Job,
        original: &Path,
        release: &Path,
        key: &str,
        progress: &dyn Progress,
    ) -> Result<Given> {
        // Of a release only the quasi-identifiers are needed; all else comes from the original.
        let mut quasi_only = job.clone();
        quasi_only.columns.retain(|_, column| column.role == Some(Role::Quasi));
        let mut released = Released::read(&quasi_only, release, Some(key), progress)?;
        let keys = released.key.take().expect("a key was asked for");
        let original_rows = pairs::pair(job, original, release, &keys, progress)?;
        let notes = std::mem::take(&mut released.notes);
        Ok(Given { classes: released.classes_of_texts(), released, original_rows, notes })
    }

    /// The k of a job that gives none: what the release reaches.
    pub fn set_k(&mut self, job: &mut Job, table: &Table) {
        if job.k.is_some() {
            return;
        }
        let n_units = |class: &[u32]| match &table.subjects {
            None => class.len(),
            Some(subjects) => {
                let rows = class.iter().map(|&row| self.original_rows[row as usize]);
                rows.map(|row| subjects[row as usize]).collect::<FxHashSet<u32>>().len()
            }
        };
        let k = self.classes.iter().map(n_units).min().expect("a release has rows") as u64;
        let unit = if table.subjects.is_some() { "subjects" } else { "rows" };
        self.notes.push(format!(
            "no k was given: the smallest class of the release has {k} {unit}, so k is {k}"
        ));
        job.k = Some(k);
    }

    /// Refuses a release that does not satisfy the requirement, also where its compaction would.
    pub fn check_requirement(&self, release: &Path, protection: &Protection) -> Result<()> {
        let Protection { requirement, facts, .. } = protection;
        let mut summary = ClassSummary::new(requirement.shape());
        for class in self.classes.iter() {
            summary.clear();
            for &row in class {
                facts.add(self.original_rows[row as usize] as usize, &mut summary);
            }
            if !requirement.holds(&summary) {
                return Err(Error::GivenViolates {
                    path: release.to_owned(),
                    first_row: u64::from(class[0]) + 1,
                    n_rows: summary.n_rows(),
                    violations: requirement.violations(&summary),
                });
            }
        }
        Ok(())
    }

    /// What the release loses as it is; a note tells why if its cells do not say it.
    pub fn ncp_before(
        &mut self,
        job: &Job,
        release: &Path,
        table: &mut Table,
        codes: &[Vec<u32>],
    ) -> Option<f64> {
        let shown: Vec<Shown> = table.attributes.iter().map(|attribute| attribute.shown).collect();
        measure::find_sets(job, &self.released, &mut table.attributes);
        let ncp = self.try_ncp_before(release, table, codes);
        for (attribute, shown) in table.attributes.iter_mut().zip(shown) {
            attribute.shown = shown;
        }
        ncp.map_err(|error| {
            self.notes.push(format!("the loss before compaction is not known: {error}"));
        })
        .ok()
    }

    fn try_ncp_before(&self, release: &Path, table: &Table, codes: &[Vec<u32>]) -> Result<f64> {
        let columns = table
            .attributes
            .par_iter()
            .map(|attribute| self.released.column(release, attribute))
            .collect::<Result<Vec<ReleasedColumn<'_>>>>()?;
        let differing = measure::differing_quasi(&columns, &self.pairing(codes, &[]));
        if !differing.is_empty() {
            return Err(Error::DoesNotDescribe { path: release.to_owned(), columns: differing });
        }
        Ok(loss_of_released(&columns, &self.classes, table.n_rows, None).ncp)
    }

    /// The same, as measures want it.
    pub fn pairing<'a>(&'a self, codes: &'a [Vec<u32>], sensitive: &'a [Vec<u32>]) -> Pairing<'a> {
        Pairing { original_rows: &self.original_rows, codes, sensitive }
    }

    /// What is left of the rows that were read, by number and fingerprint, when those that the
    /// release leaves out are taken away.
    pub fn without_suppressed(&self, whole: u64, codes: &[Vec<u32>], n_rows: usize) -> Accounted {
        let mut is_released = vec![false; n_rows];
        self.original_rows.iter().for_each(|&row| is_released[row as usize] = true);
        let mut accounted = Accounted { n_rows, fingerprint: whole };
        for row in (0..n_rows).filter(|&row| !is_released[row]) {
            let point: Vec<u32> = codes.iter().map(|column| column[row]).collect();
            accounted.n_rows -= 1;
            accounted.fingerprint =
                accounted.fingerprint.wrapping_sub(row_fingerprint(row as u32, &point));
        }
        accounted
    }
}

/// The rows that a release must hold.
pub struct Accounted {
    /// How many they are.
    pub n_rows: usize,
    /// The fingerprint of their codes.
    pub fingerprint: u64,
}
