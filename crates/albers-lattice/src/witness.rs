//! Small classes that show of a generalization that it violates, without its frequency set.
//!
//! Source: none of the papers; bitmaps per value are those of O'Neil 1987.
//! Departures: does not apply.
//! Guarantee: a class with fewer rows than k is found only where there is one, so that a search that
//! looks at witnesses first finds what it finds without them. Nothing is said where k is not all that
//! is asked for, or rows may be left out.
//! Cost: a bit per tuple and value of every level, within the budget; a look is one `and` over the bits
//! of as many values as there are attributes, some hundred times less than to add up a set.
//!
//! ```text
//!   tuples of the set     0 1 2 3 4 5 6 7
//!   age [20,39]           1 1 . 1 . . 1 .
//!   zip 53*               1 . . 1 . 1 1 1     and
//!   the class             1 . . 1 . . 1 .     its rows: the counts of 0, 3 and 6
//! ```

use std::sync::Arc;

use albers_storage::Result;
use albers_storage::memory_budget::Reservation;

use crate::counted_table::CountedTable;
use crate::dimension::Dimension;
use crate::frequency_set::{FrequencySet, Workspace};
use crate::question::Question;

/// Tuples are looked at by so many words of bits at a time.
const CHUNK_WORDS: usize = 16;

/// A class that has too few rows, at the levels where it was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Witness {
    levels: Vec<u16>,
    values: Vec<u32>,
}

impl Witness {
    /// The smallest class of a set, where it has fewer rows than are asked for.
    pub(crate) fn of(
        workspace: Workspace<'_>,
        question: &Question<'_>,
        set: &FrequencySet,
    ) -> Result<Option<Arc<Witness>>> {
        let Some(k) = question.least_rows(set.layout()) else { return Ok(None) };
        let mut least: Option<(u32, Vec<u32>)> = None;
        set.visit_classes(workspace, false, &mut |entries| {
            for (at, &count) in entries.counts.iter().enumerate() {
                let most = least.as_ref().map_or(k, |(least, _)| u64::from(*least));
                if u64::from(count) < most {
                    let key = entries.key(at);
                    let values = set.layout().fields().iter().map(|field| field.get(key));
                    least = Some((count, values.collect()));
                }
            }
        })?;
        let levels = set.layout().levels();
        Ok(least.map(|(_, values)| Arc::new(Witness { levels: levels.to_vec(), values })))
    }

    /// The values of its class at levels above.
    #[cfg(test)]
    pub(crate) fn values_at(&self, dimensions: &[Dimension], levels: &[u16]) -> Vec<u32> {
        let own = self.levels.iter().zip(&self.values).zip(dimensions).zip(levels);
        own.map(|(((&from, &value), dimension), &to)| value_at(dimension, (from, value), to))
            .collect()
    }
}

/// What a value of one level is on a higher one.
fn value_at(dimension: &Dimension, (from, value): (u16, u32), to: u16) -> u32 {
    dimension.map(from, to).map_or(value, |map| map[value as usize])
}

/// Which tuples of a set have which values, level by level.
pub(crate) struct TupleBits<'a> {
    /// Attribute by attribute of the set.
    lanes: Vec<Lane<'a>>,
    /// The rows of each tuple, with nothing behind the last one.
    counts: Vec<u32>,
    n_words: usize,
    _memory: Reservation,
}

/// The bits of one attribute.
struct Lane<'a> {
    dimension: &'a Dimension,
    /// The lowest level.
    first: u16,
    /// The bits of all values of each level; none where a level has one value, which all tuples have.
    levels: Vec<Vec<u64>>,
}

impl<'a> TupleBits<'a> {
    /// Of a set; nothing if the memory that is free does not suffice.
    pub(crate) fn of(
        counted: &CountedTable<'a>,
        set: &FrequencySet,
    ) -> Result<Option<TupleBits<'a>>> {
        let n_tuples = set.n_entries() as usize;
        let n_words = n_tuples.div_ceil(u64::BITS as usize).next_multiple_of(CHUNK_WORDS);
        let layout = set.layout();
        let attributes = layout.attributes().iter().zip(layout.levels());
        let mut lanes: Vec<Lane<'_>> = attributes
            .map(|(&attribute, &first)| {
                let dimension = &counted.dimensions[attribute];
                Lane { dimension, first, levels: Vec::new() }
            })
            .collect();
        let n_values: usize = lanes.iter().map(Lane::n_values).sum();
        let n_bytes = (n_values * size_of::<u64>() + 64 * size_of::<u32>()).saturating_mul(n_words);
        // Some memory stays free for the work on sets.
        let budget = counted.workspace.budget;
        let memory = budget.try_reserve("the bits of tuples", n_bytes).ok();
        let Some(memory) = memory.filter(|_| budget.free_bytes() >= n_bytes) else {
            return Ok(None);
        };
        lanes.iter_mut().for_each(|lane| lane.levels.push(lane.room(lane.first, n_words)));
        let mut counts = Vec::with_capacity(n_words * u64::BITS as usize);
        set.visit_classes(counted.workspace, false, &mut |entries| {
            for (at, &count) in entries.counts.iter().enumerate() {
                let (word, bit) = (counts.len() / 64, counts.len() % 64);
                for (lane, field) in lanes.iter_mut().zip(layout.fields()) {
                    let bits = &mut lane.levels[0];
                    if !bits.is_empty() {
                        bits[field.get(entries.key(at)) as usize * n_words + word] |= 1 << bit;
                    }
                }
                counts.push(count);
            }
        })?;
        counts.resize(n_words * u64::BITS as usize, 0);
        lanes.iter_mut().for_each(|lane| lane.rise(n_words));
        Ok(Some(TupleBits { lanes, counts, n_words, _memory: memory }))
    }

    /// Whether at these levels the class that a witness lies in has fewer rows than so many.
    pub(crate) fn is_below(&self, witness: &Witness, levels: &[u16], k: u64) -> bool {
        let own = self.lanes.iter().zip(witness.levels.iter().zip(&witness.values)).zip(levels);
        let values: Vec<&[u64]> = own
            .map(|((lane, (&from, &value)), &to)| {
                lane.bits(to, value_at(lane.dimension, (from, value), to), self.n_words)
            })
            .filter(|bits| !bits.is_empty())
            .collect();
        let mut n_rows = 0;
        for start in (0..self.n_words).step_by(CHUNK_WORDS) {
            let mut chunk = [u64::MAX; CHUNK_WORDS];
            for bits in &values {
                let own = &bits[start..start + CHUNK_WORDS];
                chunk.iter_mut().zip(own).for_each(|(all, own)| *all &= own);
            }
            n_rows += self.n_rows(start, &chunk);
            if n_rows >= k {
                return false;
            }
        }
        true
    }

    /// The rows of the tuples of some bits.
    fn n_rows(&self, start: usize, chunk: &[u64; CHUNK_WORDS]) -> u64 {
        let mut n_rows = 0;
        for (word, &bits) in (start..).zip(chunk).filter(|(_, bits)| **bits != 0) {
            let mut rest = bits;
            while rest != 0 {
                let tuple = word * u64::BITS as usize + rest.trailing_zeros() as usize;
                n_rows += u64::from(self.counts[tuple]);
                rest &= rest - 1;
            }
        }
        n_rows
    }
}

impl Lane<'_> {
    /// Values of all levels that need bits.
    fn n_values(&self) -> usize {
        let levels = self.first..=self.dimension.height();
        let n_values = levels.map(|level| self.dimension.n_values(level) as usize);
        n_values.filter(|&n_values| n_values > 1).sum()
    }

    /// Room for the bits of a level.
    fn room(&self, level: u16, n_words: usize) -> Vec<u64> {
        match self.dimension.n_values(level) {
            1 => Vec::new(),
            n_values => vec![0; n_values as usize * n_words],
        }
    }

    /// Adds all levels above the lowest.
    fn rise(&mut self, n_words: usize) {
        for level in self.first + 1..=self.dimension.height() {
            let mut bits = self.room(level, n_words);
            let below = self.levels.last().map_or(&[][..], Vec::as_slice);
            let map = self.dimension.map(level - 1, level).unwrap_or_default();
            if !bits.is_empty() {
                for (own, &value) in below.chunks_exact(n_words).zip(map) {
                    let all = &mut bits[value as usize * n_words..][..n_words];
                    all.iter_mut().zip(own).for_each(|(all, own)| *all |= own);
                }
            }
            self.levels.push(bits);
        }
    }

    /// The bits of a value; none if all tuples have it.
    fn bits(&self, level: u16, value: u32, n_words: usize) -> &[u64] {
        let of_level = &self.levels[usize::from(level - self.first)];
        match of_level.is_empty() {
            true => &[],
            false => &of_level[value as usize * n_words..][..n_words],
        }
    }
}
