//! A bucket in memory: its classes as blocks, and what they add up to.

use albers_classes::class_block::{ClassBlock, ClassDetails};
use albers_table::row::RowIdx;
use rayon::prelude::*;

use super::scatter::Scattered;
use super::{BucketPlan, Totals};

impl Scattered {
    /// What the classes and what they are made of add up to. Runs of a part that lie in different
    /// classes are counted apart, so that a part that was torn apart is noticed.
    pub(in crate::door) fn part_totals(&self, plan: &BucketPlan<'_>) -> Totals {
        let mut totals = Totals { n_rows: self.rows.n_rows() as u64, ..Totals::default() };
        let mut row = 0;
        for run in &self.runs {
            for _ in 0..run.n_rows {
                totals.add_row(run, self.rows.row_id(plan.rows.layout, row));
                row += 1;
            }
        }
        let mut parts: Vec<(u64, u64, u64)> = self
            .runs
            .iter()
            .map(|run| (run.class_id, run.part_id, u64::from(run.n_rows)))
            .collect();
        parts.sort_unstable();
        for class in parts.chunk_by(|a, b| a.0 == b.0) {
            for part in class.chunk_by(|a, b| a.1 == b.1) {
                totals.parts.add_whole(part[0].1, part.iter().map(|run| run.2).sum());
            }
            totals.classes.add_whole(class[0].0, class.iter().map(|run| run.2).sum());
        }
        totals
    }

    /// The codes of each sensitive column.
    pub(in crate::door) fn sensitive(&self, plan: &BucketPlan<'_>) -> Vec<Vec<u32>> {
        let rows = 0..self.rows.n_rows();
        let column = |&fact: &usize| {
            rows.clone().map(|row| self.rows.fact(plan.rows.layout, row, fact)).collect()
        };
        plan.rows.sensitive_facts.iter().map(column).collect()
    }

    /// The classes, each with all its runs, wherever they lie.
    pub(in crate::door) fn class_blocks(&self, plan: &BucketPlan<'_>) -> Vec<ClassBlock> {
        const BLOCK_ROWS: usize = 16_384;
        let mut starts = Vec::with_capacity(self.runs.len());
        let mut row = 0u32;
        for run in &self.runs {
            starts.push(row);
            row += run.n_rows;
        }
        let mut order: Vec<u32> = (0..self.runs.len() as u32).collect();
        order.sort_by_key(|&run| self.runs[run as usize].class_id);
        let class_of = |run: &u32| self.runs[*run as usize].class_id;
        let classes: Vec<&[u32]> = order.chunk_by(|a, b| class_of(a) == class_of(b)).collect();
        // Whole classes, about so many rows at a time.
        let mut tasks: Vec<&[&[u32]]> = Vec::new();
        let (mut first, mut n_rows) = (0, 0);
        for (place, class) in classes.iter().enumerate() {
            n_rows +=
                class.iter().map(|&run| self.runs[run as usize].n_rows as usize).sum::<usize>();
            if n_rows >= BLOCK_ROWS || place + 1 == classes.len() {
                tasks.push(&classes[first..=place]);
                (first, n_rows) = (place + 1, 0);
            }
        }
        let block_of = |classes: &&[&[u32]]| self.block_of(plan, classes, &starts);
        tasks.par_iter().map(block_of).collect()
    }

    /// Some classes; `starts` are the first rows of the runs.
    fn block_of(&self, plan: &BucketPlan<'_>, classes: &[&[u32]], starts: &[u32]) -> ClassBlock {
        let n_attributes = plan.attributes.len();
        let n_features = plan.options.n_features;
        let mut block = ClassBlock::default();
        let mut details = ClassDetails::default();
        for class in classes {
            for &run in *class {
                let start = starts[run as usize];
                let rows = start..start + self.runs[run as usize].n_rows;
                let n_codes = block.codes.len();
                block.codes.resize(n_codes + rows.len() * n_attributes, 0);
                let slots = block.codes[n_codes..].chunks_exact_mut(n_attributes);
                for (row, slot) in rows.clone().zip(slots) {
                    self.rows.codes(plan.rows.layout, row as usize, slot);
                }
                block.row_idxs.extend(rows.map(RowIdx::new));
            }
            block.class_ends.push(block.row_idxs.len() as u32);
            // All runs of a class have the same region, features and holes.
            let first = class[0] as usize;
            let n_region = plan.region_len();
            let region = &self.regions[first * n_region..(first + 1) * n_region];
            block.regions.extend_from_slice(region);
            details.push(self.details.features_of(first, n_features), self.details.holes.of(first));
        }
        let has_details = plan.options.is_nested || n_features > 0;
        block.details = has_details.then(|| Box::new(details));
        block
    }
}
