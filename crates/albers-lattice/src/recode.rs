//! The classes of a table at chosen levels.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2005, section 2.1.
//! Departures: none.
//! Guarantee: rows are in one class if and only if all their values become the same; classes that
//! violate the requirement are left out as a whole.
//! Cost: one sort of the rows by their keys.

use albers_partition::groups::{GroupBlock, Groups, Suppressed};
use albers_partition::split::rule::Facts;
use albers_privacy::{ClassSummary, Requirement};
use albers_table::points::{PointChunk, Points};
use rayon::prelude::*;

use crate::dimension::Dimension;
use crate::layout::{KeyLayout, Mapping};

/// Blocks are verified in parallel.
const BLOCK_ROWS: usize = 1 << 14;

/// Groups the rows of a table by what they show at some levels.
pub fn groups(
    dimensions: &[Dimension],
    levels: &[u16],
    points: &Points,
    requirement: &Requirement,
    facts: &Facts,
) -> Groups {
    let keys = Keys::of(dimensions, levels, points);
    let mut order: Vec<u32> = (0..points.n_rows() as u32).collect();
    order.par_sort_unstable_by(|&a, &b| keys.of_row(a).cmp(keys.of_row(b)).then(a.cmp(&b)));
    let classes: Vec<&[u32]> = order.chunk_by(|&a, &b| keys.of_row(a) == keys.of_row(b)).collect();
    let holds = |summary: &mut ClassSummary, rows: &&[u32]| {
        if let Some(k) = requirement.is_only_row_count() {
            return rows.len() as u64 >= k;
        }
        summary.clear();
        rows.iter().for_each(|&row| facts.add(row as usize, summary));
        requirement.holds(summary)
    };
    let new_summary = || ClassSummary::new(requirement.shape());
    let kept: Vec<bool> = classes.par_iter().map_init(new_summary, holds).collect();
    let n_attributes = dimensions.len();
    let columns = columns_of(points);
    let codes_of = |row: u32| columns.iter().map(move |column| column.code(row));
    let mut suppressed = Suppressed::default();
    let mut tasks: Vec<Vec<&[u32]>> = vec![Vec::new()];
    let mut n_task_rows = 0;
    for (rows, is_kept) in classes.into_iter().zip(kept) {
        if !is_kept {
            suppressed.row_ids.extend_from_slice(rows);
            rows.iter().for_each(|&row| suppressed.codes.extend(codes_of(row)));
            continue;
        }
        if n_task_rows >= BLOCK_ROWS {
            tasks.push(Vec::new());
            n_task_rows = 0;
        }
        n_task_rows += rows.len();
        tasks.last_mut().expect("one was pushed").push(rows);
    }
    let block_of = |classes: &Vec<&[u32]>| {
        let mut block = GroupBlock::default();
        for rows in classes {
            block.row_ids.extend_from_slice(rows);
            rows.iter().for_each(|&row| block.codes.extend(codes_of(row)));
            block.class_ends.push(block.row_ids.len() as u32);
        }
        block
    };
    Groups { n_attributes, blocks: tasks.par_iter().map(block_of).collect(), suppressed }
}

/// The keys of all rows.
struct Keys {
    n_words: usize,
    words: Vec<u64>,
}

impl Keys {
    fn of(dimensions: &[Dimension], levels: &[u16], points: &Points) -> Keys {
        let attributes: Vec<usize> = (0..dimensions.len()).collect();
        let bottom = KeyLayout::bottom(dimensions, &[]);
        let layout = KeyLayout::new(dimensions, &[], attributes, levels.to_vec());
        let mapping = Mapping::new(dimensions, &bottom, &layout);
        let keys_of = |chunk: &PointChunk| {
            let mut words = Vec::with_capacity(chunk.n_rows * layout.n_words());
            let (mut key, mut out) = (Vec::new(), vec![0; layout.n_words()]);
            for row in 0..chunk.n_rows {
                key.clear();
                let codes = chunk.columns.iter().map(|column| column[row]);
                bottom.pack(codes, std::iter::empty(), &mut key);
                mapping.apply(&key, &mut out);
                words.extend_from_slice(&out);
            }
            words
        };
        let words: Vec<Vec<u64>> = points.chunks().par_iter().map(keys_of).collect();
        Keys { n_words: layout.n_words(), words: words.concat() }
    }

    fn of_row(&self, row: u32) -> &[u64] {
        &self.words[row as usize * self.n_words..(row as usize + 1) * self.n_words]
    }
}

/// The codes of one attribute, in the pieces that they were read in.
struct CodeColumn<'p> {
    attribute: usize,
    chunks: &'p [PointChunk],
}

impl CodeColumn<'_> {
    fn code(&self, row: u32) -> u32 {
        let at = self.chunks.partition_point(|chunk| chunk.first_row <= row) - 1;
        let chunk = &self.chunks[at];
        chunk.columns[self.attribute][(row - chunk.first_row) as usize]
    }
}

fn columns_of(points: &Points) -> Vec<CodeColumn<'_>> {
    let chunks = points.chunks();
    (0..points.n_attributes()).map(|attribute| CodeColumn { attribute, chunks }).collect()
}
