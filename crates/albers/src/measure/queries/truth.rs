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
        let nothing = || (vec![0u64; queries.len()], vec![0u32; ROWS_PER_BLOCK]);
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

    /// How many rows of a block satisfy all terms; there is room for all of them in `left`.
    fn satisfying_of(
        &self,
        rows: std::ops::Range<usize>,
        terms: &[(usize, Between)],
        left: &mut [u32],
    ) -> u64 {
        let Some((&(axis, first), others)) = terms.split_first() else { return rows.len() as u64 };
        let column = &self.columns[axis][rows.clone()];
        // What is asked is told apart before the rows are looked at, not for each of them.
        let mut n_left = match first {
            Between::Range(lo, hi) => found(column, left, |code| code.wrapping_sub(lo) <= hi - lo),
            Between::Either(a, b) => found(column, left, |code| (code == a) | (code == b)),
        };
        for &(axis, between) in others {
            let column = &self.columns[axis][rows.clone()];
            let left = &mut left[..n_left];
            n_left = match between {
                Between::Range(lo, hi) => {
                    kept(column, left, |code| code.wrapping_sub(lo) <= hi - lo)
                }
                Between::Either(a, b) => kept(column, left, |code| (code == a) | (code == b)),
            };
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

/// Puts the places of codes that are asked for first, and returns how many they are.
fn found(column: &[u32], left: &mut [u32], is_asked: impl Fn(u32) -> bool) -> usize {
    let left = &mut left[..column.len()];
    let mut n_left = 0;
    for (place, &code) in column.iter().enumerate() {
        left[n_left] = place as u32;
        n_left += usize::from(is_asked(code));
    }
    n_left
}

/// Keeps those of some places whose codes are asked for, and returns how many they are.
fn kept(column: &[u32], left: &mut [u32], is_asked: impl Fn(u32) -> bool) -> usize {
    let mut n_left = 0;
    for at in 0..left.len() {
        let place = left[at];
        left[n_left] = place;
        n_left += usize::from(is_asked(column[place as usize]));
    }
    n_left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_several_blocks_are_counted_as_one_by_one() {
        let n_rows = 2 * ROWS_PER_BLOCK + 17;
        let column = |factor: usize| -> Vec<u32> {
            (0..n_rows).map(|row| (row * factor % 101) as u32).collect()
        };
        let codes = [column(7), column(13), column(29)];
        let published: Vec<RowIdx> = RowIdx::FIRST.take(n_rows).step_by(2).collect();
        let query = |terms: &[(usize, Between)]| DrawnQuery { terms: terms.to_vec() };
        let queries = [
            query(&[(1, Between::Range(10, 60))]),
            query(&[(0, Between::Range(0, 70)), (2, Between::Either(5, 90))]),
            query(&[(0, Between::Either(3, 3)), (1, Between::Range(0, 100))]),
            query(&[]),
        ];
        for rows in [None, Some(&published[..])] {
            let counted = Counted::of(&codes, rows);
            let satisfies = |row: usize, query: &DrawnQuery| {
                query.terms.iter().all(|&(axis, between)| between.has(codes[axis][row]))
            };
            let all: Vec<usize> = match rows {
                Some(rows) => rows.iter().map(|row| row.index()).collect(),
                None => (0..n_rows).collect(),
            };
            let expected = queries
                .iter()
                .map(|query| all.iter().filter(|&&row| satisfies(row, query)).count() as u64);
            let expected: Vec<u64> = expected.collect();
            assert_eq!((counted.n_rows(), counted.satisfying(&queries)), (all.len(), expected));
        }
    }
}
