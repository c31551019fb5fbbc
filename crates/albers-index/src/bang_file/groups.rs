//! The blocks as classes of a release.

use albers_classes::class_block::{ClassBlock, Groups};
use albers_classes::points::Points;
use albers_classes::{ClassRegion, FeatureValue};
use albers_table::row::RowIdx;
use rayon::prelude::*;

use super::BangFile;

/// A run of classes is closed when it has so many rows.
const RUN_ROWS: usize = 1 << 14;

impl BangFile {
    /// The blocks with their regions and holes, and the depth of each where regions lie in each
    /// other.
    pub fn groups(&self, points: Points) -> Groups {
        let n_attributes = points.n_attributes();
        let mut columns = vec![Vec::with_capacity(points.n_rows()); n_attributes];
        for chunk in points.into_chunks() {
            columns.iter_mut().zip(&chunk.columns).for_each(|(all, own)| all.extend(own));
        }
        let blocks: Vec<u32> = (0..self.n_blocks() as u32).collect();
        let mut n_rows = 0;
        let mut is_last = |block: u32| {
            n_rows += self.blocks[block as usize].places.len();
            let is_full = n_rows >= RUN_ROWS;
            n_rows = if is_full { 0 } else { n_rows };
            is_full
        };
        let runs: Vec<&[u32]> = blocks.chunk_by(|&block, _| !is_last(block)).collect();
        let runs = runs.into_par_iter().map(|run| self.classes_of(run, &columns)).collect();
        Groups::of_all(n_attributes, runs)
    }

    fn classes_of(&self, run: &[u32], columns: &[Vec<u32>]) -> ClassBlock {
        let mut classes = ClassBlock::default();
        for &block in run {
            let row_idxs: Vec<RowIdx> = self.rows_of(block).map(RowIdx::new).collect();
            let row = |row: &RowIdx| {
                let row = row.index();
                columns.iter().map(move |codes| codes[row])
            };
            let codes: Vec<u32> = row_idxs.iter().flat_map(row).collect();
            let outer = self.region_box(block);
            let depth = FeatureValue::integer(self.nesting.depth(block).into());
            match self.is_nested {
                true => {
                    let region = ClassRegion::Nested { outer, holes: self.hole_boxes(block) };
                    classes.push_class(&row_idxs, &codes, &region, &[depth]);
                }
                false => classes.push_class(&row_idxs, &codes, &ClassRegion::Box(outer), &[]),
            }
        }
        classes
    }
}
