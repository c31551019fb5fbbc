//! The keys of some rows, sorted: every region is a run of them.

use rayon::prelude::*;

use super::space::HalvedSpace;

/// Keys are made for so many rows at once.
const STRETCH_ROWS: usize = 4096;

/// The keys of some rows, in their order.
#[derive(Debug)]
pub struct SortedKeys {
    n_words: usize,
    n_levels: usize,
    words: Vec<u64>,
    /// The row at each place.
    row_ids: Vec<u32>,
}

impl SortedKeys {
    /// Of so many rows; `codes` writes those of a row.
    pub fn of(
        space: &HalvedSpace,
        n_rows: usize,
        codes: impl Fn(usize, &mut [u32]) + Sync,
    ) -> SortedKeys {
        let n_words = space.n_words();
        let unsorted = words_of(space, n_rows, codes);
        let key = |row: u32| &unsorted[row as usize * n_words..(row as usize + 1) * n_words];
        let first_words = unsorted.par_iter().step_by(n_words).copied();
        let mut order: Vec<(u64, u32)> = first_words.zip(0..n_rows as u32).collect();
        order.par_sort_unstable();
        if n_words > 1 {
            let runs: Vec<&mut [(u64, u32)]> = order.chunk_by_mut(|a, b| a.0 == b.0).collect();
            runs.into_par_iter().for_each(|run| {
                run.sort_unstable_by(|a, b| key(a.1).cmp(key(b.1)).then(a.1.cmp(&b.1)));
            });
        }
        let row_ids: Vec<u32> = order.into_par_iter().map(|(_, row)| row).collect();
        let mut words = vec![0; unsorted.len()];
        let slots = words.par_chunks_exact_mut(n_words).zip(&row_ids).with_min_len(STRETCH_ROWS);
        slots.for_each(|(slot, &row)| slot.copy_from_slice(key(row)));
        SortedKeys { n_words, n_levels: space.n_levels(), words, row_ids }
    }

    /// Of rows that are in the order of their keys already.
    pub fn of_sorted(
        space: &HalvedSpace,
        n_rows: usize,
        codes: impl Fn(usize, &mut [u32]) + Sync,
    ) -> SortedKeys {
        let words = words_of(space, n_rows, codes);
        let row_ids = (0..n_rows as u32).collect();
        SortedKeys { n_words: space.n_words(), n_levels: space.n_levels(), words, row_ids }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.row_ids.len()
    }

    /// How often space can be halved.
    pub(crate) fn n_levels(&self) -> usize {
        self.n_levels
    }

    /// The key at a place.
    #[inline]
    pub fn key(&self, place: u32) -> &[u64] {
        &self.words[place as usize * self.n_words..(place as usize + 1) * self.n_words]
    }

    /// All keys, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &[u64]> {
        self.words.chunks_exact(self.n_words)
    }

    /// The row at each place.
    pub fn row_ids(&self) -> &[u32] {
        &self.row_ids
    }

    /// The rows at some places.
    pub(super) fn rows<'s>(&'s self, places: &'s [u32]) -> impl Iterator<Item = u32> + Clone + 's {
        places.iter().map(|&place| self.row_ids[place as usize])
    }
}

/// The keys of so many rows, one after another; `codes` writes those of a row.
pub fn words_of(
    space: &HalvedSpace,
    n_rows: usize,
    codes: impl Fn(usize, &mut [u32]) + Sync,
) -> Vec<u64> {
    let n_words = space.n_words();
    let mut words = vec![0; n_rows * n_words];
    let stretches = words.par_chunks_mut(STRETCH_ROWS * n_words).enumerate();
    stretches.for_each(|(stretch, words)| {
        let mut own = vec![0; space.n_attributes()];
        let mut cells = vec![0; space.n_attributes()];
        for (row, key) in words.chunks_exact_mut(n_words).enumerate() {
            codes(stretch * STRETCH_ROWS + row, &mut own);
            space.write_key(&own, &mut cells, key);
        }
    });
    words
}
