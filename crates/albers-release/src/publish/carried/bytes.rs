//! What carried cells take while they wait in a slab.
//!
//! Cost: one look at the lengths of the texts, chunk by chunk, only where these could fill a slab.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_schema::DataType;
use rayon::prelude::*;

use super::CarriedColumn;
use crate::publish::SlabLimits;

/// What a cell takes whose size does not depend on what it holds.
const FIXED_BYTES: usize = 16;

/// What the carried cells of each row take, as far as it matters.
pub struct CarriedBytes {
    /// Of every row: cells that are no texts.
    pub of_each_row: usize,
    /// The texts of each row; empty where they could not fill a slab before its rows do.
    pub of_texts: Vec<u32>,
}

impl CarriedBytes {
    /// Of some columns, in slabs of this size.
    pub fn of(columns: &[CarriedColumn], limits: SlabLimits) -> CarriedBytes {
        let (texts, others): (Vec<_>, Vec<_>) = columns.iter().partition(|own| own.is_text());
        let of_others = others.len() * FIXED_BYTES;
        let longest: usize = texts.iter().map(|own| own.longest_text_bytes()).sum();
        let fills = |n_bytes: usize| n_bytes.saturating_mul(limits.n_rows) > limits.n_bytes / 2;
        let mut of_texts = Vec::new();
        if fills(longest) {
            of_texts.resize(texts[0].n_rows(), 0);
            texts.iter().for_each(|own| own.add_text_bytes(&mut of_texts));
        }
        let of_each_row = if fills(of_others + longest) { of_others } else { 0 };
        CarriedBytes { of_each_row, of_texts }
    }
}

impl CarriedColumn {
    fn n_rows(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    fn is_text(&self) -> bool {
        self.chunks.first().is_some_and(|chunk| lengths(chunk).is_some())
    }

    /// The most that the text of any row takes.
    fn longest_text_bytes(&self) -> usize {
        let longest = |chunk: &ArrayRef| lengths(chunk).and_then(Iterator::max).unwrap_or(0);
        self.chunks.par_iter().map(longest).max().unwrap_or(0) as usize
    }

    /// Adds what the text of each row takes.
    fn add_text_bytes(&self, rows: &mut [u32]) {
        let mut rest = rows;
        for chunk in &self.chunks {
            let (own, later) = rest.split_at_mut(chunk.len());
            let texts = lengths(chunk).into_iter().flatten();
            own.iter_mut().zip(texts).for_each(|(sum, n_bytes)| *sum = sum.saturating_add(n_bytes));
            rest = later;
        }
    }
}

/// A number for each cell of a chunk.
type Lengths<'c> = Box<dyn Iterator<Item = u32> + 'c>;

/// How long the text of each cell is; nothing where cells are no texts.
fn lengths(chunk: &ArrayRef) -> Option<Lengths<'_>> {
    Some(match chunk.data_type() {
        DataType::Utf8 => between(chunk.as_string::<i32>().value_offsets()),
        DataType::Binary => between(chunk.as_binary::<i32>().value_offsets()),
        DataType::LargeUtf8 => between(chunk.as_string::<i64>().value_offsets()),
        DataType::LargeBinary => between(chunk.as_binary::<i64>().value_offsets()),
        // The low half of a view is the length of its value.
        DataType::Utf8View => {
            Box::new(chunk.as_string_view().views().iter().map(|&own| own as u32))
        }
        DataType::BinaryView => {
            Box::new(chunk.as_binary_view().views().iter().map(|&own| own as u32))
        }
        _ => return None,
    })
}

/// How far the ends of texts lie apart.
fn between<O: OffsetSizeTrait>(ends: &[O]) -> Lengths<'_> {
    let length = |own: &[O]| u32::try_from((own[1] - own[0]).as_usize()).unwrap_or(u32::MAX);
    Box::new(ends.windows(2).map(length))
}
