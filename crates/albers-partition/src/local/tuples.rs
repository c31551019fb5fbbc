//! The distinct tuples of a table, with the rows that have them.

use albers_classes::points::{Points, codes_hash};
use albers_table::row::RowIdx;
use rayon::prelude::*;

/// Distinct tuples of codes, and the rows of each.
pub struct Tuples {
    n_attributes: usize,
    /// The codes of each tuple, tuple by tuple.
    codes: Vec<u32>,
    /// The rows, tuple by tuple.
    row_idxs: Vec<RowIdx>,
    /// Where the rows of each tuple end.
    ends: Vec<u32>,
}

impl Tuples {
    /// Brings rows with equal codes together.
    pub fn new(points: Points) -> Tuples {
        let (n_rows, n_attributes) = (points.n_rows(), points.n_attributes());
        let mut rows = vec![0u32; n_rows * n_attributes];
        for chunk in points.into_chunks() {
            let first = chunk.first_row.index() * n_attributes;
            for (attribute, column) in chunk.columns.iter().enumerate() {
                let places = rows[first..].iter_mut().skip(attribute).step_by(n_attributes);
                places.zip(column).for_each(|(place, &code)| *place = code);
            }
        }
        let codes_of = |row: u32| &rows[row as usize * n_attributes..][..n_attributes];
        let mut keys: Vec<(u64, u32)> = (0..n_rows as u32)
            .into_par_iter()
            .map(|row| (codes_hash(codes_of(row)), row))
            .collect();
        // Equal hashes of different codes are told apart; rows of one tuple stay together, so that
        // their order decides nothing.
        keys.par_sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| codes_of(a.1).cmp(codes_of(b.1))).then(a.1.cmp(&b.1))
        });
        let mut tuples = Tuples {
            n_attributes,
            codes: Vec::new(),
            row_idxs: keys.iter().map(|&(_, row)| RowIdx::new(row)).collect(),
            ends: Vec::new(),
        };
        let is_same = |a: &(u64, u32), b: &(u64, u32)| a.0 == b.0 && codes_of(a.1) == codes_of(b.1);
        let mut end = 0;
        for run in keys.chunk_by(is_same) {
            end += run.len() as u32;
            tuples.codes.extend_from_slice(codes_of(run[0].1));
            tuples.ends.push(end);
        }
        tuples
    }

    /// The rows as points again.
    pub fn points(&self) -> Points {
        let column = |attribute: usize| {
            let mut column = vec![0; self.row_idxs.len()];
            for tuple in 0..self.len() as u32 {
                let code = self.codes(tuple)[attribute];
                self.row_idxs(tuple).iter().for_each(|row| column[row.index()] = code);
            }
            vec![column]
        };
        Points::new((0..self.n_attributes).into_par_iter().map(column).collect())
    }

    /// Number of distinct tuples.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Number of attributes.
    pub fn n_attributes(&self) -> usize {
        self.n_attributes
    }

    /// The codes of a tuple.
    pub fn codes(&self, tuple: u32) -> &[u32] {
        &self.codes[tuple as usize * self.n_attributes..][..self.n_attributes]
    }

    /// The rows that have a tuple.
    pub fn row_idxs(&self, tuple: u32) -> &[RowIdx] {
        let start = if tuple == 0 { 0 } else { self.ends[tuple as usize - 1] };
        &self.row_idxs[start as usize..self.ends[tuple as usize] as usize]
    }

    /// How many rows have a tuple.
    pub fn n_rows(&self, tuple: u32) -> u32 {
        self.row_idxs(tuple).len() as u32
    }
}
