//! Rows that are built and written at once.
//!
//! Guarantee: a slab stays within its limits, or is a single row; the slabs' rows one after another
//! are the rows of the release, whatever the limits.
//! Cost: one pass over the classes; memory for a slab and for the row numbers of one class.

use albers_table::TableError;

use super::carried::{CarriedColumn, RowKeys};
use crate::cell::ShownCell;
use crate::error::Result;
use crate::verify::Verified;

/// How much is built before it is written. A row larger than that is built alone.
#[derive(Debug, Clone, Copy)]
pub struct SlabLimits {
    /// Rows of a slab.
    pub n_rows: usize,
    /// Bytes of text in a slab, all columns together.
    pub n_bytes: usize,
}

impl Default for SlabLimits {
    fn default() -> SlabLimits {
        // Far below the 2 GiB that one array of text can hold.
        SlabLimits { n_rows: 1 << 18, n_bytes: 256 << 20 }
    }
}

/// Pieces of classes that are written at once.
#[derive(Default)]
pub struct Slab {
    /// Rows of all pieces.
    pub n_rows: usize,
    /// Rows of each piece.
    pub sizes: Vec<u32>,
    /// What each piece's class shows, attribute by attribute.
    cells: Vec<ShownCell>,
    /// All rows, piece by piece; empty when no column is carried.
    pub row_ids: Vec<u32>,
}

impl Slab {
    /// What the pieces show on one attribute.
    pub fn cells_of(&self, attribute: usize) -> impl Iterator<Item = ShownCell> + '_ {
        let n_attributes = self.cells.len() / self.sizes.len();
        self.cells[attribute..].iter().step_by(n_attributes).copied()
    }
}

/// Cuts the classes of a release into slabs.
pub struct Cutter<'r> {
    release: &'r Verified<'r>,
    carried: &'r [CarriedColumn],
    keys: Option<&'r RowKeys>,
    limits: SlabLimits,
    /// Whether the carried cells could fill a slab before its rows do.
    are_carried_long: bool,
    /// The class at hand.
    class_idx: usize,
    /// How many rows it has.
    n_class_rows: usize,
    /// Its rows in the order of publication, if a column is carried.
    class_rows: Vec<u32>,
    /// How many of its rows are in slabs already.
    n_taken: usize,
    /// Text that it shows in each of its rows.
    shown_bytes: usize,
}

impl<'r> Cutter<'r> {
    /// Starts at the first class.
    pub fn new(
        release: &'r Verified<'r>,
        carried: &'r [CarriedColumn],
        keys: Option<&'r RowKeys>,
        limits: SlabLimits,
    ) -> Cutter<'r> {
        let longest: usize = carried.iter().map(CarriedColumn::longest_cell_bytes).sum();
        Cutter {
            release,
            carried,
            keys,
            limits,
            are_carried_long: longest.saturating_mul(limits.n_rows) > limits.n_bytes / 2,
            class_idx: 0,
            n_class_rows: 0,
            class_rows: Vec::new(),
            n_taken: 0,
            shown_bytes: 0,
        }
    }

    /// The next slab; it has no rows when there are no more.
    pub fn next_slab(&mut self) -> Result<Slab> {
        let mut slab = Slab::default();
        let mut n_bytes = 0;
        while self.class_idx < self.release.n_classes() {
            if self.n_taken == 0 {
                self.open_class()?;
            }
            let (n_rows, n_more_bytes) = self.fitting(slab.n_rows, n_bytes);
            if n_rows == 0 {
                break;
            }
            let end = self.n_taken + n_rows;
            if self.keys.is_some() {
                slab.row_ids.extend_from_slice(&self.class_rows[self.n_taken..end]);
            }
            slab.cells.extend_from_slice(self.release.class(self.class_idx).cells);
            slab.sizes.push(n_rows as u32);
            slab.n_rows += n_rows;
            n_bytes += n_more_bytes;
            self.n_taken = end;
            if end < self.n_class_rows {
                break;
            }
            self.class_idx += 1;
            self.n_taken = 0;
        }
        Ok(slab)
    }

    fn open_class(&mut self) -> Result<()> {
        let class = self.release.class(self.class_idx);
        self.n_class_rows = class.n_rows();
        self.shown_bytes = 0;
        for (describer, &cell) in self.release.describers().iter().zip(class.cells) {
            let cell_bytes = describer.text_bytes(cell);
            if i32::try_from(cell_bytes).is_err() {
                return Err(too_long(describer.attribute().domain.name()).into());
            }
            self.shown_bytes += cell_bytes;
        }
        self.class_rows.clear();
        if let Some(keys) = self.keys {
            class.parts().for_each(|(ids, _)| self.class_rows.extend_from_slice(ids));
            keys.order(&mut self.class_rows);
        }
        Ok(())
    }

    /// How many of the class's next rows still fit, and their bytes; at least one fits into an
    /// empty slab.
    fn fitting(&self, n_slab_rows: usize, n_slab_bytes: usize) -> (usize, usize) {
        let n_left = self.n_class_rows - self.n_taken;
        let n_rows = n_left.min(self.limits.n_rows.saturating_sub(n_slab_rows));
        let room_bytes = self.limits.n_bytes.saturating_sub(n_slab_bytes);
        let least = usize::from(n_slab_rows == 0);
        if !self.are_carried_long {
            let n_fitting = room_bytes / self.shown_bytes.max(1);
            let n_rows = n_rows.min(n_fitting).max(least);
            return (n_rows, n_rows * self.shown_bytes);
        }
        let mut n_bytes = 0;
        for (idx, &row) in self.class_rows[self.n_taken..self.n_taken + n_rows].iter().enumerate() {
            let carried: usize = self.carried.iter().map(|column| column.cell_bytes(row)).sum();
            let row_bytes = self.shown_bytes + carried;
            if idx >= least && n_bytes + row_bytes > room_bytes {
                return (idx, n_bytes);
            }
            n_bytes += row_bytes;
        }
        (n_rows, n_bytes)
    }
}

fn too_long(column: &str) -> TableError {
    TableError::Column {
        column: column.to_owned(),
        problem: "a class would show more text in one cell than a table can hold".to_owned(),
        hint: "give the column a hierarchy, or choose a smaller k".to_owned(),
    }
}
