//! What those who measure a release get to see.

use albers_classes::points::{codes_hash, row_fingerprint};
use albers_storage::memory_budget::Reservation;
use albers_table::mix::mix;

use super::giant::GiantClass;
use crate::describe::Describer;
use crate::error::Result;
use crate::verify::{Class, Verified};

/// Some rows that passed the door, or were left out before it, for those who measure them.
pub enum Passed<'p, 'a> {
    /// Classes in memory.
    Classes(PassedClasses<'p, 'a>),
    /// A class that does not fit there.
    Giant(&'p GiantClass<'a>),
    /// The rows that are left out, once for each release that has any.
    LeftOut(&'p LeftOut),
}

/// Classes that passed the door.
#[derive(Clone, Copy)]
pub struct PassedClasses<'p, 'a> {
    pub(super) classes: &'p Verified<'a>,
    pub(super) sensitive: &'p [Vec<u32>],
}

impl<'p, 'a> PassedClasses<'p, 'a> {
    /// One describer per attribute.
    pub fn describers(self) -> &'p [Describer<'a>] {
        self.classes.describers()
    }

    /// Number of rows.
    pub fn n_rows(self) -> u64 {
        self.classes.n_rows()
    }

    /// Number of published classes.
    pub fn n_classes(self) -> usize {
        self.classes.n_classes()
    }

    /// A published class, in the order of publication.
    pub fn class(self, class_idx: usize) -> Class<'p> {
        self.classes.class(class_idx)
    }

    /// The published classes, by their place in the order of publication, in the order in which a
    /// pass over all rows is fastest.
    pub fn classes_by_memory(self) -> &'p [u32] {
        self.classes.classes_by_memory()
    }

    /// The codes of each sensitive column by the rows' numbers in the classes.
    pub fn sensitive(self) -> &'p [Vec<u32>] {
        self.sensitive
    }
}

/// The sizes of the classes of a release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassSizes {
    /// Number of classes.
    pub n_classes: u64,
    /// Rows of all classes.
    pub n_rows: u64,
    /// Rows of the smallest; 0 where there are no classes.
    pub min: u64,
    /// Rows of the largest.
    pub max: u64,
}

impl ClassSizes {
    /// The mean number of rows; 0 where there are no classes.
    pub fn mean(&self) -> f64 {
        self.n_rows as f64 / self.n_classes.max(1) as f64
    }

    pub(super) fn add(&mut self, n_rows: u64) {
        self.min = if self.n_classes == 0 { n_rows } else { self.min.min(n_rows) };
        self.max = self.max.max(n_rows);
        self.n_classes += 1;
        self.n_rows += n_rows;
    }

    pub(super) fn add_all(&mut self, classes: &Verified<'_>) {
        (0..classes.n_classes()).for_each(|class| self.add(classes.class(class).n_rows() as u64));
    }
}

/// Rows that are left out of all releases.
pub struct LeftOut {
    n_original: u64,
    tuples: Vec<(u64, u64)>,
    fingerprint: u64,
    memory: Option<Reservation>,
}

impl LeftOut {
    /// No row yet, of so many; what they take is reserved where memory is counted.
    pub(super) fn of(n_original: u64, memory: Option<Reservation>) -> LeftOut {
        LeftOut { n_original, tuples: Vec::new(), fingerprint: 0, memory }
    }

    /// Adds a row.
    pub(super) fn add(
        &mut self,
        row_id: u32,
        codes: &[u32],
        sensitive: impl Iterator<Item = u32>,
    ) -> Result<()> {
        if let Some(memory) = &mut self.memory {
            // Once here, and once for those who sort them anew.
            memory.try_grow(2 * size_of::<(u64, u64)>())?;
        }
        self.tuples.push((secret_hash(sensitive), codes_hash(codes)));
        self.fingerprint = self.fingerprint.wrapping_add(row_fingerprint(row_id, codes));
        Ok(())
    }

    /// No more rows come.
    pub(super) fn finish(&mut self) {
        self.tuples.sort_unstable();
    }

    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Number of rows left out.
    pub fn n_rows(&self) -> u64 {
        self.tuples.len() as u64
    }

    /// Number of rows that were read.
    pub fn n_original(&self) -> u64 {
        self.n_original
    }

    /// A number for the secret of each row and one for its codes, sorted.
    pub fn tuples(&self) -> &[(u64, u64)] {
        &self.tuples
    }
}

/// A number that tells rows with different sensitive codes apart, all but surely.
pub fn secret_hash(sensitive: impl Iterator<Item = u32>) -> u64 {
    sensitive.fold(0, |hash, code| mix(hash ^ u64::from(code)))
}
