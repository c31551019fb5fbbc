//! How many rows satisfy queries.
//!
//! Guarantee: every row is compared with every query.
//! Cost: rows are taken in blocks whose codes stay near the processor while all queries look at
//! them. In a block a query looks at all rows on its most selective attribute, and on the others
//! at those that are left.

use std::borrow::Cow;

use albers_table::row::RowIdx;
use rayon::prelude::*;

use super::draw::{Between, DrawnQuery};

/// Rows whose codes of some attributes stay near the processor.
const ROWS_PER_BLOCK: usize = 4096;
/// Rows on which it is found out how selective the terms of a query are.
const ROWS_OF_SAMPLE: usize = 512;

/// The rows that are counted, as codes.
pub(super) struct Counted<'a> {
    columns: Vec<Cow<'a, [u32]>>,
    n_rows: usize,
}

impl<'a> Counted<'a> {
    /// All rows, or only those behind a release.
    pub(super) fn of(codes: &'a [Vec<u32>], published: Option<&[RowIdx]>) -> Counted<'a> {
        let n_all = codes.first().map_or(0, Vec::len);
        let some = published.filter(|rows| rows.len() < n_all);
        let column = |own: &'a Vec<u32>| match some {
            Some(rows) => Cow::Owned(rows.iter().map(|row| own[row.index()]).collect()),
            None => Cow::Borrowed(&own[..]),
        };
        let columns = codes.par_iter().map(column).collect();
        Counted { columns, n_rows: some.map_or(n_all, <[RowIdx]>::len) }
    }

    /// How many rows there are.
    pub(super) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// How many rows satisfy each query.
    pub(super) fn satisfying(&self, queries: &[DrawnQuery]) -> Vec<u64> {
        let ordered: Vec<Vec<(usize, Between)>> =
            queries.par_iter().map(|query| self.most_selective_first(query)).collect();
        let n_blocks = self.n_rows.div_ceil(ROWS_PER_BLOCK);
        let nothing = || (vec![0u64; queries.len()], Vec::with_capacity(ROWS_PER_BLOCK));
        let blocks = (0..n_blocks).into_par_iter();
        let counts = blocks.fold(nothing, |(mut counts, mut left), block| {
            let rows = block * ROWS_PER_BLOCK..self.n_rows.min((block + 1) * ROWS_PER_BLOCK);
            for (count, terms) in counts.iter_mut().zip(&ordered) {
                *count += self.satisfying_of(rows.clone(), terms, &mut left);
            }
            (counts, left)
        });
        let plus = |mut sum: Vec<u64>, more: Vec<u64>| {
            sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            sum
        };
        counts.map(|(counts, _)| counts).reduce(|| vec![0; queries.len()], plus)
    }

    /// The rows of a block that satisfy all terms.
    fn satisfying_of(
        &self,
        rows: std::ops::Range<usize>,
        terms: &[(usize, Between)],
        left: &mut Vec<u32>,
    ) -> u64 {
        let Some((&(axis, first), others)) = terms.split_first() else { return rows.len() as u64 };
        let column = &self.columns[axis][rows.clone()];
        if others.is_empty() {
            return column.iter().map(|&code| u64::from(first.has(code))).sum();
        }
        left.clear();
        left.resize(column.len(), 0);
        let mut n_left = 0;
        for (row, &code) in column.iter().enumerate() {
            left[n_left] = row as u32;
            n_left += usize::from(first.has(code));
        }
        for &(axis, asked) in others {
            let column = &self.columns[axis][rows.clone()];
            let n_before = std::mem::take(&mut n_left);
            for place in 0..n_before {
                let row = left[place];
                left[n_left] = row;
                n_left += usize::from(asked.has(column[row as usize]));
            }
        }
        n_left as u64
    }

    /// The terms of a query, by how many rows of a sample satisfy each.
    fn most_selective_first(&self, query: &DrawnQuery) -> Vec<(usize, Between)> {
        let step = (self.n_rows / ROWS_OF_SAMPLE).max(1);
        let n_satisfying = |&(axis, asked): &(usize, Between)| {
            self.columns[axis].iter().step_by(step).filter(|&&code| asked.has(code)).count()
        };
        let mut terms = query.terms.clone();
        terms.sort_by_cached_key(n_satisfying);
        terms
    }
}
