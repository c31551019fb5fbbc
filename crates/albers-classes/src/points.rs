//! The table as points: one code per row and attribute.

use albers_table::mix::mix;
use albers_table::row::{RowId, RowIdx};
use rayon::prelude::*;

/// Rows as points, in chunks of columns as they were read.
pub struct Points {
    n_rows: usize,
    n_attributes: usize,
    chunks: Vec<PointChunk>,
}

/// A stretch of rows.
pub struct PointChunk {
    /// The place of the first row in the table.
    pub first_row: RowIdx,
    /// Number of rows.
    pub n_rows: usize,
    /// The codes of each attribute.
    pub columns: Vec<Vec<u32>>,
}

impl Points {
    /// Puts coded columns side by side; all must have the same chunks.
    pub fn new(columns: Vec<Vec<Vec<u32>>>) -> Points {
        let n_attributes = columns.len();
        let n_chunks = columns.first().map_or(0, Vec::len);
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        let mut chunks = Vec::with_capacity(n_chunks);
        let mut first_row = RowIdx::FIRST;
        for _ in 0..n_chunks {
            let of_chunk: Vec<Vec<u32>> = columns
                .iter_mut()
                .map(|column| column.next().expect("all columns have the same chunks"))
                .collect();
            let n_rows = of_chunk[0].len();
            assert!(of_chunk.iter().all(|codes| codes.len() == n_rows), "columns of equal length");
            chunks.push(PointChunk { first_row, n_rows, columns: of_chunk });
            first_row = RowIdx::of_index(first_row.index() + n_rows);
        }
        Points { n_rows: first_row.index(), n_attributes, chunks }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of attributes.
    pub fn n_attributes(&self) -> usize {
        self.n_attributes
    }

    /// The chunks, in file order.
    pub fn chunks(&self) -> &[PointChunk] {
        &self.chunks
    }

    /// Gives up the chunks, in file order.
    pub fn into_chunks(self) -> Vec<PointChunk> {
        self.chunks
    }

    /// A sum over all rows that tells whether every row is still there with its own codes,
    /// whatever the order of the rows.
    pub fn fingerprint(&self) -> u64 {
        self.chunks
            .par_iter()
            .map(|chunk| {
                let rows = chunk.first_row.take(chunk.n_rows).map(RowId::from);
                let mut hashes: Vec<u64> = rows.map(row_factor).collect();
                for (attribute, codes) in chunk.columns.iter().enumerate() {
                    let factor = attribute_factor(attribute);
                    for (hash, &code) in hashes.iter_mut().zip(codes) {
                        *hash = hash.wrapping_add(u64::from(code).wrapping_mul(factor));
                    }
                }
                hashes.iter().fold(0u64, |sum, &hash| sum.wrapping_add(mix(hash)))
            })
            .reduce(|| 0, u64::wrapping_add)
    }
}

/// The contribution of one row to [`Points::fingerprint`].
#[inline]
pub fn row_fingerprint(row_id: RowId, codes: &[u32]) -> u64 {
    mix(row_factor(row_id).wrapping_add(codes_hash(codes)))
}

/// A number that tells rows with different codes apart, all but surely.
#[inline]
pub fn codes_hash(codes: &[u32]) -> u64 {
    // The products do not wait for each other.
    codes.iter().enumerate().fold(0u64, |sum, (attribute, &code)| {
        sum.wrapping_add(u64::from(code).wrapping_mul(attribute_factor(attribute)))
    })
}

#[inline]
fn row_factor(row_id: RowId) -> u64 {
    (row_id.get() + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// An odd number per attribute.
#[inline]
fn attribute_factor(attribute: usize) -> u64 {
    ATTRIBUTE_FACTORS[attribute % ATTRIBUTE_FACTORS.len()]
}

const ATTRIBUTE_FACTORS: [u64; 64] = attribute_factors();

const fn attribute_factors() -> [u64; 64] {
    let mut factors = [0; 64];
    let mut attribute = 0;
    while attribute < 64 {
        factors[attribute] = mix(attribute as u64) | 1;
        attribute += 1;
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_notices_swapped_codes_and_not_the_order_of_rows() {
        let points = Points::new(vec![vec![vec![1, 2], vec![3]], vec![vec![4, 5], vec![6]]]);
        let of = |rows: &[(u64, [u32; 2])]| {
            rows.iter().fold(0u64, |sum, (id, codes)| {
                sum.wrapping_add(row_fingerprint(RowId::new(*id), codes))
            })
        };
        assert_eq!(points.fingerprint(), of(&[(2, [3, 6]), (0, [1, 4]), (1, [2, 5])]));
        assert_ne!(points.fingerprint(), of(&[(2, [3, 6]), (0, [2, 5]), (1, [1, 4])]));
    }
}
