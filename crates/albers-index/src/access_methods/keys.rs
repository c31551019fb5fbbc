//! The keys of all rows, and the order in which every region of halved space is a run.

use std::ops::Range;

use albers_classes::Span;
use rayon::prelude::*;

use crate::bang_file::key::{bit, common_bits};
use crate::bang_file::scale::Scale;
use crate::bang_file::sorted::words_of;
use crate::bang_file::space::HalvedSpace;

/// A key for each row.
pub(super) struct Keys {
    space: HalvedSpace,
    n_words: usize,
    words: Vec<u64>,
    /// All rows by their keys. Rows with equal keys are never parted, so that their own order
    /// matters to nobody.
    order: Vec<u32>,
}

impl Keys {
    /// The keys of rows with these codes, attribute by attribute.
    pub(super) fn of(columns: &[Vec<u32>], scales: Vec<Scale>) -> Keys {
        let space = HalvedSpace::new(scales);
        let n_rows = columns.first().map_or(0, Vec::len);
        let words = words_of(&space, n_rows, |row, codes| {
            codes.iter_mut().zip(columns).for_each(|(code, column)| *code = column[row]);
        });
        let mut keys = Keys { n_words: space.n_words(), space, words, order: Vec::new() };
        let mut order: Vec<u32> = (0..n_rows as u32).collect();
        order.par_sort_unstable_by(|&a, &b| keys.key(a).cmp(keys.key(b)).then(a.cmp(&b)));
        keys.order = order;
        keys
    }

    /// All rows, by their keys.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    /// How often each attribute can be halved.
    pub(super) fn n_bits(&self) -> impl Iterator<Item = u32> {
        self.space.scales().iter().map(Scale::n_bits)
    }

    /// How often space can be halved.
    pub(super) fn n_levels(&self) -> usize {
        self.space.n_levels()
    }

    #[inline]
    fn key(&self, row: u32) -> &[u64] {
        &self.words[row as usize * self.n_words..(row as usize + 1) * self.n_words]
    }

    /// How many halvings leave two rows together.
    #[inline]
    pub(super) fn n_common(&self, a: u32, b: u32) -> usize {
        common_bits(self.key(a), self.key(b)).min(self.n_levels())
    }

    /// How many halvings leave some rows together, which are in key order.
    pub(super) fn n_common_of(&self, rows: &[u32]) -> usize {
        match rows {
            [first, .., last] => self.n_common(*first, *last),
            _ => self.n_levels(),
        }
    }

    /// The two halves of the smallest region around some rows, both with rows: how many of them are
    /// in the first, and the bits of either. Nothing if all rows have the same key.
    pub(super) fn halves(&self, rows: &[u32]) -> Option<(usize, usize)> {
        let level = self.n_common_of(rows);
        let middle = || rows.partition_point(|&row| !bit(self.key(row), level));
        (level < self.n_levels()).then(|| (middle(), level + 1))
    }

    /// The codes of the region that is the first so many bits of a row's key.
    pub(super) fn region_box(&self, row: u32, n_bits: usize) -> Vec<Span> {
        self.space.region_box(self.key(row), n_bits)
    }

    /// Where the rows of that region stand among all rows.
    pub(super) fn run(&self, row: u32, n_bits: usize) -> Range<usize> {
        let is_in = |other: u32| self.n_common(row, other) >= n_bits;
        let is_before = |&other: &u32| !is_in(other) && self.key(other) < self.key(row);
        let start = self.order.partition_point(is_before);
        start..start + self.order[start..].partition_point(|&other| is_in(other))
    }
}
