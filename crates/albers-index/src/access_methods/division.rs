//! What comes of a method: buckets with their regions, as classes of a release.

use albers_classes::class_block::{ClassBlock, Groups};
use albers_classes::{ClassRegion, FeatureValue, Span};
use albers_table::row::RowIdx;
use rayon::prelude::*;

use super::bucket::Grown;
use super::nesting::Nesting;

/// A run of classes is closed when it has so many rows.
const RUN_ROWS: usize = 1 << 14;

/// All rows in buckets.
pub struct Division {
    /// The codes of all rows, attribute by attribute.
    columns: Vec<Vec<u32>>,
    buckets: Vec<Grown>,
    /// How regions lie in each other, where they may.
    nesting: Option<Nesting>,
}

impl Division {
    pub(super) fn of(columns: Vec<Vec<u32>>, buckets: Vec<Grown>, is_nested: bool) -> Division {
        let runs = || buckets.iter().filter_map(|bucket| bucket.run.clone()).collect::<Vec<_>>();
        let nesting = is_nested.then(|| Nesting::of(&runs()));
        Division { columns, buckets, nesting }
    }

    /// Number of buckets.
    pub fn n_buckets(&self) -> usize {
        self.buckets.len()
    }

    /// The rows of a bucket.
    pub fn rows_of(&self, bucket: usize) -> &[u32] {
        &self.buckets[bucket].rows
    }

    /// The codes of a bucket's region.
    pub fn region_box(&self, bucket: usize) -> &[Span] {
        &self.buckets[bucket].region
    }

    /// How many regions lie around a bucket's, where they may.
    pub fn depth(&self, bucket: usize) -> Option<u32> {
        self.nesting.as_ref().map(|nesting| nesting.depths[bucket])
    }

    /// The buckets whose regions lie directly in a bucket's.
    pub fn children(&self, bucket: usize) -> &[usize] {
        self.nesting.as_ref().map_or(&[], |nesting| &nesting.children[bucket])
    }

    /// The buckets as classes, with their regions and holes, and the depth of each where regions may
    /// lie in each other.
    pub fn groups(&self) -> Groups {
        let buckets: Vec<usize> = (0..self.n_buckets()).collect();
        let mut n_rows = 0;
        let mut is_last = |bucket: usize| {
            n_rows += self.rows_of(bucket).len();
            let is_full = n_rows >= RUN_ROWS;
            n_rows = if is_full { 0 } else { n_rows };
            is_full
        };
        let runs: Vec<&[usize]> = buckets.chunk_by(|&bucket, _| !is_last(bucket)).collect();
        let runs = runs.into_par_iter().map(|run| self.classes_of(run)).collect();
        Groups::of_all(self.columns.len(), runs)
    }

    fn classes_of(&self, run: &[usize]) -> ClassBlock {
        let mut classes = ClassBlock::default();
        for &bucket in run {
            let rows = self.rows_of(bucket);
            let row_idxs: Vec<RowIdx> = rows.iter().copied().map(RowIdx::new).collect();
            let of_row = |&row: &u32| self.columns.iter().map(move |codes| codes[row as usize]);
            let codes: Vec<u32> = rows.iter().flat_map(of_row).collect();
            let outer = self.region_box(bucket).to_vec();
            match self.depth(bucket) {
                Some(depth) => {
                    let holes = self.children(bucket).iter();
                    let holes = holes.map(|&child| self.region_box(child).to_vec()).collect();
                    let region = ClassRegion::Nested { outer, holes };
                    let depth = FeatureValue::integer(depth.into());
                    classes.push_class(&row_idxs, &codes, &region, &[depth]);
                }
                None => classes.push_class(&row_idxs, &codes, &ClassRegion::Box(outer), &[]),
            }
        }
        classes
    }
}
