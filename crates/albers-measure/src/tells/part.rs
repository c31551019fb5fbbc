//! The values of a carried column in some classes, counted before anything is looked up by row.
//!
//! ```text
//!   hashes of cells, by row number ──► a place for each value, its rows ──► which values are few
//!   rows, class by class ──place──► codes of the values that still tell something
//! ```
//!
//! Departures: most values of a column that tells nothing are done after a few of their rows, and
//! once all are, no other row is looked at.
//! Guarantee: what comes out is what one row after another would give, in any order.
//! Cost: a look into a small table for each row, and one at a number for each row of a class until
//! no value is left that tells anything.

use albers_release::door::PassedClasses;
use albers_table::code::Code;
use albers_table::distinct_sample::halved;
use albers_table::mix::mix;
use albers_table::row::RowIdx;
use rustc_hash::FxHashMap;

use super::{Told, Value, coarser_cells};

/// No value, or none that is counted.
const NO_PLACE: u32 = u32::MAX;

/// The rows of some classes, and what these show coarser.
pub(super) struct PublishedRows<'p, 'a> {
    classes: PassedClasses<'p, 'a>,
    /// Of each class one after another, attribute by attribute.
    coarser: Vec<bool>,
    /// No row of a class has this number or a greater one.
    n_numbers: usize,
    /// Which rows are in a class, by row number, where not all up to there are.
    are_published: Option<Vec<bool>>,
}

impl<'p, 'a> PublishedRows<'p, 'a> {
    /// Those of some classes.
    pub(super) fn of(classes: PassedClasses<'p, 'a>) -> PublishedRows<'p, 'a> {
        let describers = classes.describers();
        let met = classes.classes_by_memory().iter().map(|met| classes.class_of(met));
        let coarser = met.flat_map(|class| coarser_cells(describers, class.cells)).collect();
        let mut rows = PublishedRows { classes, coarser, n_numbers: 0, are_published: None };
        rows.n_numbers = rows.row_numbers().max().map_or(0, |last| last + 1);
        if rows.n_numbers as u64 != classes.n_rows() {
            let mut are_published = vec![false; rows.n_numbers];
            rows.row_numbers().for_each(|row| are_published[row] = true);
            rows.are_published = Some(are_published);
        }
        rows
    }

    fn row_numbers(&self) -> impl Iterator<Item = usize> {
        let met = self.classes.classes_by_memory().iter();
        let parts = met.flat_map(|met| self.classes.class_of(met).parts());
        parts.flat_map(|(row_idxs, _)| row_idxs.iter().map(|row| row.index()))
    }

    /// The hashes of the cells of a column, which stand by row number; 0 for rows of no class.
    fn published<'h>(&'h self, hashes: &'h [u64]) -> impl Iterator<Item = u64> + 'h {
        let is_own = |row: usize| self.are_published.as_ref().is_none_or(|own| own[row]);
        let hashes = hashes.iter().take(self.n_numbers).enumerate();
        hashes.map(move |(row, &hash)| if is_own(row) { hash } else { 0 })
    }

    /// The rows, class by class, each with what the class shows coarser.
    fn stretches(&self) -> impl Iterator<Item = Stretch<'_>> {
        let n_attributes = self.n_attributes().max(1);
        let met = self.classes.classes_by_memory().iter().map(|met| self.classes.class_of(met));
        met.zip(self.coarser.chunks_exact(n_attributes)).flat_map(|(class, coarser)| {
            class.parts().map(move |(row_idxs, codes)| Stretch { row_idxs, codes, coarser })
        })
    }

    fn n_attributes(&self) -> usize {
        self.classes.describers().len()
    }
}

/// Rows of a class: their numbers, their codes row by row, and what the class shows coarser.
struct Stretch<'s> {
    row_idxs: &'s [RowIdx],
    codes: &'s [u32],
    coarser: &'s [bool],
}

/// The rows of a value.
#[derive(Default, Clone, Copy)]
struct ValueRows {
    n_rows: u64,
    /// Those that are still to be looked at; none where it tells nothing.
    n_open: u64,
    /// Where it stands among those that were not dropped.
    slot: usize,
}

/// Values with what they tell.
pub(super) struct PartValues {
    n_attributes: usize,
    limit: usize,
    bound: Option<u64>,
    /// The place of each value by its hash, of those below the bound.
    places: FxHashMap<u64, u32>,
    /// By place, also of values that were dropped.
    counts: Vec<ValueRows>,
    /// What each value that is left tells, slot by slot and attribute by attribute.
    told: Vec<Told>,
}

impl PartValues {
    /// Counts the cells of some classes by their hashes, which stand by row number; 0 is no value. At
    /// most so many values, below such a bound.
    pub(super) fn of(
        rows: &PublishedRows<'_, '_>,
        hashes: &[u64],
        limits: (usize, Option<u64>),
    ) -> PartValues {
        let hashes = rows.published(hashes);
        PartValues::counted(rows.n_attributes(), hashes, limits, rows.stretches())
    }

    fn counted<'s>(
        n_attributes: usize,
        hashes: impl Iterator<Item = u64>,
        (limit, bound): (usize, Option<u64>),
        stretches: impl Iterator<Item = Stretch<'s>>,
    ) -> PartValues {
        let (places, counts, told) = (FxHashMap::default(), Vec::new(), Vec::new());
        let mut values = PartValues { n_attributes, limit, bound, places, counts, told };
        let places: Vec<u32> = hashes.map(|hash| values.place(hash)).collect();
        values.give_slots();
        values.look(stretches, &places);
        values
    }

    /// Counts the cell of a row, and gives the place of its value.
    #[inline]
    fn place(&mut self, hash: u64) -> u32 {
        let number = mix(hash);
        if hash == 0 || self.bound.is_some_and(|bound| number >= bound) {
            return NO_PLACE;
        }
        let next = self.counts.len() as u32;
        let place = *self.places.entry(number).or_insert(next);
        if place == next {
            self.counts.push(ValueRows::default());
            while self.places.len() > self.limit {
                let bound = halved(self.bound);
                self.bound = Some(bound);
                self.places.retain(|&number, _| number < bound);
            }
        }
        self.counts[place as usize].n_rows += 1;
        place
    }

    /// Makes room for what the values tell that are left.
    fn give_slots(&mut self) {
        for (slot, &place) in self.places.values().enumerate() {
            let own = &mut self.counts[place as usize];
            (own.n_open, own.slot) = (own.n_rows, slot);
        }
        let nothing = Told { code: None, n_coarser: 0 };
        self.told = vec![nothing; self.places.len() * self.n_attributes];
    }

    /// Looks at the rows of all values until none of them tells anything, or all were seen.
    fn look<'s>(&mut self, stretches: impl Iterator<Item = Stretch<'s>>, places: &[u32]) {
        let mut n_open: u64 = self.counts.iter().map(|own| own.n_open).sum();
        for Stretch { row_idxs, codes, coarser } in stretches {
            if n_open == 0 {
                return;
            }
            for (row, codes) in row_idxs.iter().zip(codes.chunks_exact(self.n_attributes)) {
                let place = places[row.index()];
                if place != NO_PLACE {
                    n_open -= self.see(place as usize, codes, coarser);
                }
            }
        }
    }

    /// Looks at a row of a value, and tells how many rows need no look any more.
    #[inline]
    fn see(&mut self, place: usize, codes: &[u32], coarser: &[bool]) -> u64 {
        let own = &mut self.counts[place];
        if own.n_open == 0 {
            return 0;
        }
        let told = &mut self.told[own.slot * self.n_attributes..][..self.n_attributes];
        if own.n_open == own.n_rows {
            let of_code = |&code: &u32| Told { code: Some(Code::new(code)), n_coarser: 0 };
            told.iter_mut().zip(codes).for_each(|(told, code)| *told = of_code(code));
        }
        let mut tells_any = false;
        for ((told, &code), &is_coarser) in told.iter_mut().zip(codes).zip(coarser) {
            told.code = told.code.filter(|&own| own == Code::new(code));
            told.n_coarser += u32::from(is_coarser);
            tells_any |= told.code.is_some();
        }
        let n_seen = if tells_any { 1 } else { own.n_open };
        own.n_open -= n_seen;
        n_seen
    }

    /// Values of this hash or more are not among them.
    pub(super) fn bound(&self) -> Option<u64> {
        self.bound
    }

    /// The values by their hashes.
    pub(super) fn into_values(self) -> impl Iterator<Item = (u64, Value)> {
        let PartValues { n_attributes, places, counts, told, .. } = self;
        places.into_iter().map(move |(number, place)| {
            let ValueRows { n_rows, slot, .. } = counts[place as usize];
            let own = &told[slot * n_attributes..][..n_attributes];
            let tells_any = own.iter().any(|told| told.code.is_some());
            let told = if tells_any { own.into() } else { Box::default() };
            (number, Value { n_rows, told })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::CarriedValues;
    use super::*;

    /// Rows with a hash, codes of two attributes, and a class.
    #[derive(Debug, Clone)]
    struct Table {
        rows: Vec<(u64, [u32; 2], usize)>,
        coarser: Vec<[bool; 2]>,
        n_left_out: usize,
    }

    fn table() -> impl Strategy<Value = Table> {
        let n_values = prop_oneof![1..6u64, 20..200u64];
        n_values.prop_flat_map(|n_values| {
            let row = (0..=n_values, prop::array::uniform2(0..4u32), 0..5usize);
            let rows = prop::collection::vec(row, 0..200);
            let coarser = prop::collection::vec(prop::array::uniform2(any::<bool>()), 5);
            (rows, coarser, 0..3usize).prop_map(|(rows, coarser, n_left_out)| Table {
                rows,
                coarser,
                n_left_out,
            })
        })
    }

    impl Table {
        /// The rows of each class but the last ones, which are left out.
        fn classes(&self) -> Vec<(Vec<RowIdx>, Vec<u32>, &[bool])> {
            let of_class = |class: usize| {
                let own = self.rows.iter().enumerate().filter(move |(_, row)| row.2 == class);
                let row_idxs = own.clone().map(|(at, _)| RowIdx::of_index(at)).collect();
                (row_idxs, own.flat_map(|(_, row)| row.1).collect(), &self.coarser[class][..])
            };
            (self.n_left_out..5).map(of_class).collect()
        }

        fn part(&self, limits: (usize, Option<u64>)) -> PartValues {
            let classes = self.classes();
            let is_own = |row: &&(u64, [u32; 2], usize)| row.2 >= self.n_left_out;
            let hashes =
                self.rows.iter().map(|row| Some(row).filter(is_own).map_or(0, |row| row.0));
            let stretches = classes.iter();
            let stretches =
                stretches.map(|(row_idxs, codes, coarser)| Stretch { row_idxs, codes, coarser });
            PartValues::counted(2, hashes, limits, stretches)
        }
    }

    fn values_of(limit: usize) -> CarriedValues {
        let mut values = CarriedValues::new("born", limit);
        values.limit = limit;
        values
    }

    /// What is known of each value, in the order of their hashes.
    type Known = (u64, u64, Vec<(Option<Code>, u32)>);

    fn known(values: &CarriedValues) -> (Option<u64>, Vec<Known>) {
        let of_value = |(&hash, value): (&u64, &Value)| {
            let told = value.told.iter().map(|told| (told.code, told.n_coarser));
            (hash, value.n_rows, told.collect())
        };
        let mut known: Vec<Known> = values.values.iter().map(of_value).collect();
        known.sort_by_key(|own| own.0);
        (values.bound, known)
    }

    proptest! {
        #[test]
        fn parts_give_what_one_row_after_another_gives(
            tables in prop::collection::vec(table(), 1..4),
            limit in prop_oneof![1..8usize, Just(1000)],
        ) {
            let (mut plain, mut by_parts) = (values_of(limit), values_of(limit));
            for table in &tables {
                for (row_idxs, codes, coarser) in table.classes() {
                    for (row, codes) in row_idxs.iter().zip(codes.chunks_exact(2)) {
                        plain.add_cell(table.rows[row.index()].0, codes, coarser);
                    }
                }
                by_parts.take(table.part((by_parts.limit, by_parts.bound)));
            }
            prop_assert_eq!(known(&by_parts), known(&plain));
        }
    }
}
