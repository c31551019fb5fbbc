//! The classes as groups of the release.

use albers_classes::class_block::{ClassBlock, Groups, Suppressed};
use albers_classes::region::span;
use albers_table::row::RowIdx;
use rayon::prelude::*;

use super::classes::{Class, Classes};
use super::column::{Column, Span};

/// A block is closed when it has so many rows.
const BLOCK_ROWS: usize = 1 << 14;

/// What the release gets: satisfying classes with the groups they show, and the rows of the others.
pub fn groups_of(classes: &Classes, spans: &[Span], columns: &[Column<'_>]) -> Groups {
    let (left_out, kept): (Vec<u32>, Vec<u32>) =
        (0..classes.all().len() as u32).partition(|&class| classes.all()[class as usize].violates);
    let mut n_rows = 0;
    let mut starts_block = |class: u32| {
        n_rows += classes.all()[class as usize].rows.len();
        let is_full = n_rows >= BLOCK_ROWS;
        n_rows = if is_full { 0 } else { n_rows };
        is_full
    };
    let runs: Vec<&[u32]> = kept.chunk_by(|&class, _| !starts_block(class)).collect();
    let blocks = runs.into_par_iter().map(|run| block_of(run, classes, spans, columns)).collect();
    let mut suppressed = Suppressed::default();
    for class in classes.of(&left_out) {
        push_rows(class, columns, &mut suppressed.row_idxs, &mut suppressed.codes);
    }
    Groups { n_attributes: columns.len(), blocks, suppressed }
}

fn block_of(run: &[u32], classes: &Classes, spans: &[Span], columns: &[Column<'_>]) -> ClassBlock {
    let mut block = ClassBlock::default();
    for &number in run {
        let class = &classes.all()[number as usize];
        push_rows(class, columns, &mut block.row_idxs, &mut block.codes);
        block.class_ends.push(block.row_idxs.len() as u32);
        let groups = columns.iter().zip(classes.groups_of(number));
        let shown = groups.map(|(column, group)| column.code_range(spans[group as usize]));
        block.regions.extend(shown.map(|(lo, hi)| span(lo, hi)));
    }
    block
}

fn push_rows(
    class: &Class,
    columns: &[Column<'_>],
    row_idxs: &mut Vec<RowIdx>,
    codes: &mut Vec<u32>,
) {
    row_idxs.extend(class.rows.iter().map(|&row| RowIdx::new(row)));
    for &row in &class.rows {
        codes
            .extend(columns.iter().map(|column| column.codes[column.ranks[row as usize] as usize]));
    }
}
