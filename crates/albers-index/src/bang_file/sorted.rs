//! The keys of all rows, sorted: every region is a run of them.

use albers_classes::points::{PointChunk, Points};
use rayon::prelude::*;

use super::key::Interleaving;
use super::scale::Scale;

/// The keys of all rows, in their order.
pub(super) struct SortedKeys {
    interleaving: Interleaving,
    n_words: usize,
    words: Vec<u64>,
    /// The row at each place.
    row_ids: Vec<u32>,
}

impl SortedKeys {
    pub(super) fn of(points: &Points, scales: &[Scale]) -> SortedKeys {
        let interleaving = Interleaving::new(scales.iter().map(Scale::n_bits).collect());
        let n_words = interleaving.n_words();
        let of_chunk = |chunk: &PointChunk| {
            let mut words = vec![0; chunk.n_rows * n_words];
            let mut cells = vec![0; scales.len()];
            for (row, key) in words.chunks_exact_mut(n_words).enumerate() {
                let columns = chunk.columns.iter().zip(scales).zip(&mut cells);
                columns.for_each(|((codes, scale), cell)| *cell = scale.cell(codes[row]));
                interleaving.write_key(&mut cells, key);
            }
            words
        };
        let unsorted = points.chunks().par_iter().map(of_chunk).collect::<Vec<_>>().concat();
        let key = |row: u32| &unsorted[row as usize * n_words..(row as usize + 1) * n_words];
        let mut row_ids: Vec<u32> = (0..points.n_rows() as u32).collect();
        row_ids.par_sort_unstable_by(|&a, &b| key(a).cmp(key(b)).then(a.cmp(&b)));
        let words = row_ids.iter().flat_map(|&row| key(row)).copied().collect();
        SortedKeys { interleaving, n_words, words, row_ids }
    }

    /// Number of rows.
    pub(super) fn n_rows(&self) -> usize {
        self.row_ids.len()
    }

    /// How keys are made of cells.
    pub(super) fn interleaving(&self) -> &Interleaving {
        &self.interleaving
    }

    /// How often space can be halved.
    pub(super) fn n_levels(&self) -> usize {
        self.interleaving.n_levels()
    }

    /// The key at a place.
    #[inline]
    pub(super) fn key(&self, place: u32) -> &[u64] {
        &self.words[place as usize * self.n_words..(place as usize + 1) * self.n_words]
    }

    /// The rows at some places.
    pub(super) fn rows<'s>(&'s self, places: &'s [u32]) -> impl Iterator<Item = u32> + Clone + 's {
        places.iter().map(|&place| self.row_ids[place as usize])
    }
}
