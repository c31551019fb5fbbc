//! A grid: space halved equally often everywhere.
//!
//! ```text
//!   ┌───┬───┬───┬───┐    keys, sorted     000 001 011 │ 100 101 │ 110 111 111
//!   │ · │ ··│   │ · │    bits in common       2   1   0    2   1    2   3
//!   ├───┼───┼───┼───┤    at 1 halving, cells end where fewer than 1 are in common, and so on:
//!   │ · │   │ ··│ · │    one number for each row tells the cells of every resolution
//!   └───┴───┴───┴───┘
//! ```
//!
//! Source: Raschia & Anjum 2011, section 2.2: the resolution of the grid as the parameter of
//! privacy; scales and keys as in [`crate::bang_file`].
//! Departures: the paper adapts the resolution to a k; here it is adapted to any requirement. No row
//! is left out: where cells begin follows from all rows, and would tell of those that are not there.
//! Guarantee: a class is a cell that holds rows, so that classes share no point, and each satisfies
//! the requirement; at the next resolution some cell does not. The grid is a function of the rows,
//! the scales and the requirement, whatever the order of the rows and the threads.
//! Cost: O(rows log rows) for the keys, and a pass over the rows for each resolution that is tried,
//! the logarithm of their number.
//!
//! - `figures`: what each resolution comes to. [`fixed`]: scales that do not look at the rows.
//!   [`sampled`]: rows that are drawn in secret.

mod figures;
pub mod fixed;
pub mod sampled;

use std::ops::Range;

use albers_classes::class_block::{ClassBlock, Groups};
use albers_classes::points::Points;
use albers_partition::split::rule::{Allowance, RuleScratch};
use albers_storage::Result;
use albers_storage::watch::{Phase, Watch};
use albers_table::row::RowIdx;
use rayon::prelude::*;

use crate::bang_file::key::common_bits;
use crate::bang_file::scale::Scale;
use crate::bang_file::sorted::SortedKeys;
use crate::bang_file::space::HalvedSpace;

pub use figures::Resolution;

/// A run of classes is closed when it has so many rows.
const RUN_ROWS: usize = 1 << 14;

/// All rows in the order of their keys.
pub struct Grid {
    space: HalvedSpace,
    keys: SortedKeys,
    /// How many halvings do not part the row at each place from the one before it.
    n_common: Vec<u32>,
}

impl Grid {
    /// The grid of all points.
    pub fn of(points: &Points, scales: Vec<Scale>, watch: &dyn Watch) -> Result<Grid> {
        watch.phase(Phase::Partition, Some(points.n_rows() as u64));
        let space = HalvedSpace::new(scales);
        let chunks = points.chunks();
        let keys = SortedKeys::of(&space, points.n_rows(), |row, codes| {
            let chunk = chunks.partition_point(|chunk| chunk.first_row.index() <= row) - 1;
            let place = row - chunks[chunk].first_row.index();
            let columns = chunks[chunk].columns.iter();
            codes.iter_mut().zip(columns).for_each(|(code, column)| *code = column[place]);
        });
        watch.check()?;
        let places: Vec<&[u64]> = keys.keys().collect();
        let common = |pair: &[&[u64]]| common_bits(pair[0], pair[1]).min(keys.n_levels()) as u32;
        let n_common = std::iter::once(0).chain(places.windows(2).map(common)).collect();
        Ok(Grid { space, keys, n_common })
    }

    /// How often space can be halved.
    pub fn n_levels(&self) -> usize {
        self.space.n_levels()
    }

    /// The cells that hold rows after so many halvings, as places in the order of keys.
    pub fn cells(&self, n_halvings: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut start = 0;
        let n_rows = self.keys.n_rows();
        std::iter::from_fn(move || {
            let rest = self.n_common.get(start + 1..).unwrap_or_default();
            let is_other = |&n_common: &u32| (n_common as usize) < n_halvings;
            let n_more = rest.iter().position(is_other).unwrap_or(rest.len());
            let cell = (start < n_rows).then(|| start..start + 1 + n_more)?;
            start = cell.end;
            Some(cell)
        })
    }

    /// The most halvings after which every cell satisfies the requirement; nothing if all rows
    /// together do not.
    pub fn finest(&self, allowance: &Allowance<'_>, watch: &dyn Watch) -> Result<Option<usize>> {
        let holds = |n_halvings: usize| -> Result<bool> {
            watch.check()?;
            let mut scratch = RuleScratch::default();
            let satisfies = |cell: Range<usize>| {
                let rows = || self.keys.row_ids()[cell.clone()].iter().copied();
                allowance.holds(cell.len(), &mut scratch, rows)
            };
            Ok(self.cells(n_halvings).all(satisfies))
        };
        // Cells of a coarser grid are unions of cells of a finer one: what holds there holds here.
        if !holds(0)? {
            return Ok(None);
        }
        let (mut fine, mut too_fine) = (0, self.n_levels() + 1);
        while fine + 1 < too_fine {
            let between = fine.midpoint(too_fine);
            match holds(between)? {
                true => fine = between,
                false => too_fine = between,
            }
        }
        Ok(Some(fine))
    }

    /// The cells after so many halvings as classes, each with its region.
    pub fn groups(&self, points: Points, n_halvings: usize) -> Groups {
        let n_attributes = points.n_attributes();
        let mut columns = vec![Vec::with_capacity(points.n_rows()); n_attributes];
        for chunk in points.into_chunks() {
            columns.iter_mut().zip(&chunk.columns).for_each(|(all, own)| all.extend(own));
        }
        let cells: Vec<Range<usize>> = self.cells(n_halvings).collect();
        let mut n_rows = 0;
        let mut is_last = |cell: &Range<usize>| {
            n_rows += cell.len();
            let is_full = n_rows >= RUN_ROWS;
            n_rows = if is_full { 0 } else { n_rows };
            is_full
        };
        let runs: Vec<&[Range<usize>]> = cells.chunk_by(|cell, _| !is_last(cell)).collect();
        let runs = runs.into_par_iter();
        let blocks = runs.map(|run| self.classes_of(run, n_halvings, &columns)).collect();
        Groups::of_all(n_attributes, blocks)
    }

    fn classes_of(
        &self,
        run: &[Range<usize>],
        n_halvings: usize,
        columns: &[Vec<u32>],
    ) -> ClassBlock {
        let mut classes = ClassBlock::default();
        for cell in run {
            for &row in &self.keys.row_ids()[cell.clone()] {
                classes.row_idxs.push(RowIdx::new(row));
                classes.codes.extend(columns.iter().map(|own| own[row as usize]));
            }
            classes.class_ends.push(classes.row_idxs.len() as u32);
            let key = self.keys.key(cell.start as u32);
            classes.regions.extend(self.space.region_box(key, n_halvings));
        }
        classes
    }
}

#[cfg(test)]
mod tests;
