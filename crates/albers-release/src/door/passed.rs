//! What those who measure a release get to see.

use albers_classes::packed::PackedRowIds;
use albers_classes::points::{codes_hash, row_fingerprint};
use albers_classes::{Attribute, ClassId};
use albers_privacy::{Facts, Requirement};
use albers_storage::memory_budget::Reservation;
use albers_table::code::Code;
use albers_table::mix::mix;
use albers_table::row::{RowId, RowIdx};
use arrow_schema::Field;

use super::giant::GiantClass;
use super::plan::DoorPlan;
use crate::describe::Describer;
use crate::error::Result;
use crate::publish::{CarriedColumn, CellCounts, Payload};
use crate::verify::{Class, InMemory, Verified};

/// Some rows that passed the door, or were left out before it, for those who measure them.
pub enum Passed<'p, 'a> {
    /// Classes in memory.
    Classes(PassedClasses<'p, 'a>),
    /// A class that does not fit there.
    Giant(&'p GiantClass<'a>),
    /// Some of its rows, which follow it until all have come.
    GiantRows(GiantRows<'p, 'a>),
    /// The rows that are left out, once for each release that has any.
    LeftOut(&'p LeftOut),
}

/// Some rows of a class that does not fit in memory.
#[derive(Clone, Copy)]
pub struct GiantRows<'p, 'a> {
    /// The class.
    pub class: &'p GiantClass<'a>,
    /// The numbers of the rows in their table.
    pub row_ids: &'p PackedRowIds,
    /// The codes of the rows, one row after the other.
    pub codes: &'p [u32],
    /// What the requirement looks at, in the order of the rows.
    pub facts: &'p Facts,
    /// The columns that leave as they came, in the order of the rows.
    pub carried: &'p [CarriedColumn],
    /// What the class was found to satisfy.
    pub requirement: &'p Requirement,
}

/// Classes that passed the door.
#[derive(Clone, Copy)]
pub struct PassedClasses<'p, 'a> {
    pub(super) classes: &'p Verified<'a>,
    /// The numbers of the rows in their table, where it is not in memory as a whole.
    pub(super) row_ids: Option<&'p PackedRowIds>,
    pub(super) sensitive: &'p [Vec<u32>],
    pub(super) facts: &'p Facts,
    pub(super) carried: &'p [CarriedColumn],
    pub(super) requirement: &'p Requirement,
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
    pub fn class(self, class_id: ClassId) -> Class<'p> {
        self.classes.class(class_id)
    }

    /// The published classes in the order in which a pass over all rows is fastest.
    pub fn classes_by_memory(self) -> &'p [InMemory] {
        self.classes.classes_by_memory()
    }

    /// A published class that is met in memory.
    pub fn class_of(self, met: &'p InMemory) -> Class<'p> {
        self.classes.class_of(met)
    }

    /// The number in its table of a row of the classes.
    pub fn row_id(self, row_idx: RowIdx) -> RowId {
        self.row_ids.map_or_else(|| row_idx.into(), |row_ids| row_ids.of(row_idx))
    }

    /// The codes of each sensitive column by the rows' numbers in the classes.
    pub fn sensitive(self) -> &'p [Vec<u32>] {
        self.sensitive
    }

    /// What the requirement looks at, by the rows' numbers in the classes.
    pub fn facts(self) -> &'p Facts {
        self.facts
    }

    /// The columns that leave as they came, by the rows' numbers in the classes.
    pub fn carried(self) -> &'p [CarriedColumn] {
        self.carried
    }

    /// What the classes were found to satisfy.
    pub fn requirement(self) -> &'p Requirement {
        self.requirement
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
        let met = classes.classes_by_memory().iter();
        met.for_each(|met| self.add(classes.class_of(met).n_rows() as u64));
    }
}

/// Rows that are left out of all releases.
pub struct LeftOut {
    tuples: Vec<(u64, u64)>,
    fingerprint: u64,
    memory: Option<Reservation>,
    /// The codes of missing values, and how many rows have each.
    missing: Vec<(Option<Code>, u64)>,
    /// The rows, where the table is in memory.
    row_idxs: Vec<RowIdx>,
    /// What the cells of the columns that leave as they came look like, where rows are packed.
    cells: Vec<CellCounts>,
}

impl LeftOut {
    /// No row yet; what they take is reserved where memory is counted.
    pub(super) fn of(attributes: &[Attribute], memory: Option<Reservation>) -> LeftOut {
        let missing = attributes.iter().map(|attribute| (attribute.domain.missing_code(), 0));
        LeftOut {
            tuples: Vec::new(),
            fingerprint: 0,
            memory,
            missing: missing.collect(),
            row_idxs: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Adds a row.
    pub(super) fn add(
        &mut self,
        row_id: RowId,
        codes: &[u32],
        sensitive: impl Iterator<Item = u32>,
    ) -> Result<()> {
        if let Some(memory) = &mut self.memory {
            // Once here, and once for those who sort them anew.
            memory.try_grow(2 * size_of::<(u64, u64)>())?;
        } else {
            self.row_idxs.push(RowIdx::of_id(row_id));
        }
        for ((missing, n_rows), &code) in self.missing.iter_mut().zip(codes) {
            *n_rows += u64::from(*missing == Some(Code::new(code)));
        }
        self.tuples.push((secret_hash(sensitive), codes_hash(codes)));
        self.fingerprint = self.fingerprint.wrapping_add(row_fingerprint(row_id, codes));
        Ok(())
    }

    /// Adds what rows carry, column by column.
    pub(super) fn add_cells(&mut self, carried: &[CarriedColumn]) {
        self.cells.resize(carried.len(), CellCounts::nothing());
        self.cells.iter_mut().zip(carried).for_each(|(cells, column)| cells.add(&column.counts()));
    }

    /// Of which attributes all missing values are left out.
    pub(super) fn hides_missing(&self, plan: &DoorPlan<'_>) -> Vec<bool> {
        let own: Vec<u64> = plan.attributes.iter().map(|own| own.domain.n_missing()).collect();
        let n_missing = plan.n_missing.as_ref().unwrap_or(&own);
        let hides = |(&n_missing, &(missing, n_rows)): (&u64, &(Option<Code>, u64))| {
            missing.is_some() && n_rows == n_missing
        };
        n_missing.iter().zip(&self.missing).map(hides).collect()
    }

    /// The fields of the columns that leave as they came, for the rows that are published.
    pub(super) fn fields_of_table(&self, carried: &[CarriedColumn]) -> Result<Vec<Field>> {
        let field = |column: &CarriedColumn| {
            let mut published = column.counts();
            published.remove(&column.counts_of(&self.row_idxs)?);
            Ok(column.field(&published))
        };
        carried.iter().map(field).collect()
    }

    /// The same where rows are packed.
    pub(super) fn fields_of_payload(&self, payload: &Payload) -> Vec<Field> {
        let nothing = CellCounts::nothing();
        let left_out = self.cells.iter().chain(std::iter::repeat(&nothing));
        payload.fields().iter().zip(left_out).map(|(field, cells)| field.field(cells)).collect()
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

    /// A number for the secret of each row and one for its codes, sorted.
    pub fn tuples(&self) -> &[(u64, u64)] {
        &self.tuples
    }
}

/// A number that tells rows with different sensitive codes apart, all but surely.
pub fn secret_hash(sensitive: impl Iterator<Item = u32>) -> u64 {
    sensitive.fold(0, |hash, code| mix(hash ^ u64::from(code)))
}
