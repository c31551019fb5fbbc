//! Carried cells that tell a quasi-identifier which their class hides: a birth year that is kept
//! beside an age that is generalized.
//!
//! A value of a carried column tells an attribute if all its rows have one code of it. Rare values
//! do so by chance, so what chance would give is taken off: the rows that would be told if the
//! column were shuffled over all rows. That is not drawn but computed. A value of m among n rows
//! falls on one code of n_x rows with the chance C(n_x, m) / C(n, m), and its rows are then shown
//! coarser as often as those of the code are; a value of one row tells by chance alone.
//!
//! Guarantee: rows count whose class shows the attribute coarser than its value. Values beyond a
//! bounded number are those of least hash, each with all its rows, and so are codes; then the count
//! is said to be an estimate. It is a function of the rows and their classes, in any memory. Of a
//! release that was read back, a value is looked up in the original, see [`released`].
//! Cost: a hash per row and carried column, and a look at each attribute while a value tells any, see
//! `part`.

mod part;
pub mod released;

use std::collections::BTreeMap;

use albers_classes::Attribute;
use albers_release::describe::{Describer, ShownCell};
use albers_release::door::{Class, GiantRows, Passed};
use albers_release::publish::CarriedColumn;
use albers_table::code::Code;
use albers_table::distinct_sample::halved;
use albers_table::mix::mix;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use self::part::{PartValues, PublishedRows};
use crate::bounds::CLASSES_PER_BLOCK;
use crate::counted_codes::CountedCodes;

/// What a value takes beside its codes, in a table that is half full.
const VALUE_BYTES: usize = 80;
/// Values of a column that are looked at in any memory.
const LEAST_VALUES: usize = 1 << 10;
/// A chance that is none.
const NO_CHANCE: f64 = 1e-12;

/// What carried columns tell, from what passes the door.
pub struct TellParts {
    n_bytes: usize,
    n_rows: u64,
    /// The codes of each attribute, and how many of their rows are shown coarser.
    attributes: Vec<CountedCodes>,
    columns: Vec<CarriedValues>,
    /// Whether the cells of some rows could not be looked at.
    has_gaps: bool,
}

/// What a carried column tells of the attribute that it tells most of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldRows {
    /// The carried column.
    pub column: String,
    /// The place of the attribute.
    pub attribute: usize,
    /// Rows that are told beyond chance.
    pub n_rows: u64,
    /// Whether it is an estimate.
    pub is_about: bool,
}

/// The values of a carried column.
struct CarriedValues {
    name: String,
    limit: usize,
    /// Values of this hash or more are not among them; nothing where all are.
    bound: Option<u64>,
    values: FxHashMap<u64, Value>,
}

/// The rows of a value.
#[derive(Default)]
struct Value {
    n_rows: u64,
    /// What it tells of each attribute; empty when nothing.
    told: Box<[Told]>,
}

impl Value {
    /// Takes in other rows of the same value.
    fn merge(&mut self, other: Value) {
        let n_before = self.n_rows;
        self.n_rows += other.n_rows;
        if n_before == 0 {
            self.told = other.told;
            return;
        }
        if other.told.is_empty() {
            self.told = Box::default();
        }
        for (told, other) in self.told.iter_mut().zip(&other.told) {
            told.code = told.code.filter(|&own| other.code == Some(own));
            told.n_coarser += other.n_coarser;
        }
        if self.told.iter().all(|told| told.code.is_none()) {
            self.told = Box::default();
        }
    }
}

/// The one code of a value's rows, and how many of them are shown coarser.
#[derive(Clone, Copy)]
struct Told {
    code: Option<Code>,
    n_coarser: u32,
}

impl TellParts {
    /// Of no part yet, in so many bytes.
    pub fn new(attributes: &[Attribute], n_bytes: usize) -> TellParts {
        let n_attributes = attributes.len().max(1);
        let codes = |attribute: &Attribute| {
            CountedCodes::new(attribute.domain.code_range().1, n_bytes / 2 / n_attributes)
        };
        TellParts {
            n_bytes: n_bytes / 2,
            n_rows: 0,
            attributes: attributes.iter().map(codes).collect(),
            columns: Vec::new(),
            has_gaps: false,
        }
    }

    /// Adds some classes. Rows that are left out tell nothing.
    pub fn add(&mut self, part: &Passed<'_, '_>) {
        match part {
            Passed::Classes(classes) if !classes.carried().is_empty() => {
                self.n_rows += classes.n_rows();
                // A block of classes stays in a cache while all attributes look at it.
                for block in classes.classes_by_memory().chunks(CLASSES_PER_BLOCK) {
                    let block: Vec<Class<'_>> =
                        block.iter().map(|met| classes.class_of(met)).collect();
                    let attributes = self.attributes.par_iter_mut().enumerate();
                    attributes.for_each(|(attribute, counted)| {
                        count_codes(classes.describers(), &block, attribute, counted);
                    });
                }
                let rows = PublishedRows::of(*classes);
                self.add_carried(classes.carried(), |values, hashes| values.add(&rows, hashes));
            }
            Passed::GiantRows(rows) if !rows.carried.is_empty() => {
                self.add_giant_rows(*rows);
            }
            Passed::Classes(_) | Passed::Giant(_) | Passed::GiantRows(_) | Passed::LeftOut(_) => {}
        }
    }

    fn add_giant_rows(&mut self, rows: GiantRows<'_, '_>) {
        let n_attributes = self.attributes.len();
        let coarser = coarser_cells(&rows.class.describers, &rows.class.cells);
        self.n_rows += (rows.codes.len() / n_attributes.max(1)) as u64;
        for codes in rows.codes.chunks_exact(n_attributes) {
            let counted = self.attributes.iter_mut().zip(codes).zip(&coarser);
            counted.for_each(|((own, &code), &coarser)| {
                own.add(Code::new(code), 1, u32::from(coarser));
            });
        }
        self.add_carried(rows.carried, |values, hashes| {
            for (&hash, codes) in hashes.iter().zip(rows.codes.chunks_exact(n_attributes)) {
                values.add_cell(hash, codes, &coarser);
            }
        });
    }

    /// Adds the cells of each carried column, by their hashes.
    fn add_carried(
        &mut self,
        carried: &[CarriedColumn],
        add: impl Fn(&mut CarriedValues, &[u64]) + Sync,
    ) {
        self.name_columns(carried.iter().map(CarriedColumn::name));
        #[expect(clippy::disallowed_methods, reason = "it is called on the pool of a job")]
        let n_at_once = rayon::current_num_threads().max(1);
        // A few at a time, so that there are hashes of no more columns than threads.
        for (own, carried) in self.columns.chunks_mut(n_at_once).zip(carried.chunks(n_at_once)) {
            let added = own.par_iter_mut().zip(carried).map(|(values, carried)| {
                let hashes = carried.cell_hashes().ok();
                hashes.map(|hashes| add(values, &hashes)).is_none()
            });
            self.has_gaps |= added.reduce(|| false, |a, b| a | b);
        }
    }

    /// Makes room for the values of the carried columns, if none were added yet.
    fn name_columns<'n>(&mut self, names: impl ExactSizeIterator<Item = &'n str>) {
        if self.columns.is_empty() {
            let value_bytes = VALUE_BYTES + size_of::<Told>() * self.attributes.len();
            let limit = self.n_bytes / value_bytes / names.len().max(1);
            self.columns = names.map(|name| CarriedValues::new(name, limit)).collect();
        }
    }

    /// What each carried column tells beyond chance, of the attribute that it tells most of.
    pub fn told(&self) -> Vec<ToldRows> {
        let chances: Vec<Chances> = self.attributes.iter().map(Chances::of).collect();
        let most = |column: &CarriedValues| {
            let of_attribute = |(attribute, chances): (usize, &Chances)| ToldRows {
                column: column.name.clone(),
                attribute,
                n_rows: column.n_told(attribute, chances, self.n_rows),
                is_about: column.bound.is_some() || chances.share < 1.0 || self.has_gaps,
            };
            // The first of several that are alike.
            let told = chances.iter().enumerate().map(of_attribute);
            told.reduce(|a, b| if b.n_rows > a.n_rows { b } else { a })
        };
        self.columns.iter().filter_map(most).filter(|told| told.n_rows > 0).collect()
    }
}

/// Which attributes a class shows coarser than its values.
fn coarser_cells(describers: &[Describer<'_>], cells: &[ShownCell]) -> Vec<bool> {
    describers.iter().zip(cells).map(|(own, &cell)| own.lost_steps(cell) > 0).collect()
}

/// Counts the codes of an attribute, and those whose class shows them coarser.
fn count_codes(
    describers: &[Describer<'_>],
    block: &[Class<'_>],
    attribute: usize,
    counted: &mut CountedCodes,
) {
    for class in block {
        let is_coarser = describers[attribute].lost_steps(class.cells[attribute]) > 0;
        for (_, codes) in class.parts() {
            let own = codes[attribute..].iter().step_by(describers.len());
            own.for_each(|&code| counted.add(Code::new(code), 1, u32::from(is_coarser)));
        }
    }
}

impl CarriedValues {
    fn new(name: &str, limit: usize) -> CarriedValues {
        let values = FxHashMap::default();
        CarriedValues { name: name.to_owned(), limit: limit.max(LEAST_VALUES), bound: None, values }
    }

    /// Adds the rows of some classes, whose cells have these hashes by their numbers; 0 is no value.
    fn add(&mut self, rows: &PublishedRows<'_, '_>, hashes: &[u64]) {
        self.take(PartValues::of(rows, hashes, (self.limit, self.bound)));
    }

    /// Takes in the values of some rows.
    fn take(&mut self, part: PartValues) {
        self.bound = part.bound();
        if let Some(bound) = self.bound {
            self.values.retain(|&hash, _| hash < bound);
        }
        for (hash, value) in part.into_values() {
            // The bound falls while values come.
            if self.bound.is_none_or(|bound| hash < bound) {
                self.values.entry(hash).or_default().merge(value);
                self.keep_to_limit();
            }
        }
    }

    /// Adds the cell of a row by its hash; 0 is no value.
    fn add_cell(&mut self, hash: u64, codes: &[u32], coarser: &[bool]) {
        if hash != 0 {
            self.add_row(mix(hash), codes, coarser);
        }
    }

    fn add_row(&mut self, hash: u64, codes: &[u32], coarser: &[bool]) {
        if self.bound.is_some_and(|bound| hash >= bound) {
            return;
        }
        let value = self.values.entry(hash).or_default();
        value.n_rows += 1;
        if value.n_rows == 1 {
            let of_code = |&code: &u32| Told { code: Some(Code::new(code)), n_coarser: 0 };
            value.told = codes.iter().map(of_code).collect();
        }
        let mut tells_any = false;
        for ((told, &code), &is_coarser) in value.told.iter_mut().zip(codes).zip(coarser) {
            told.code = told.code.filter(|&own| own == Code::new(code));
            told.n_coarser += u32::from(is_coarser);
            tells_any |= told.code.is_some();
        }
        if !tells_any {
            value.told = Box::default();
        }
        self.keep_to_limit();
    }

    /// Where values are too many, keeps those below half of the bound, about half of them.
    fn keep_to_limit(&mut self) {
        while self.values.len() > self.limit {
            let bound = halved(self.bound);
            self.bound = Some(bound);
            self.values.retain(|&hash, _| hash < bound);
        }
    }

    /// Rows of values that tell an attribute, less those that would if the values were shuffled.
    fn n_told(&self, attribute: usize, chances: &Chances, n_rows: u64) -> u64 {
        let mut n_told = 0;
        let mut n_values_by_rows: BTreeMap<u64, u64> = BTreeMap::new();
        for value in self.values.values().filter(|value| value.n_rows > 1) {
            *n_values_by_rows.entry(value.n_rows).or_insert(0) += 1;
            let told = value.told.get(attribute).filter(|told| told.code.is_some());
            n_told += told.map_or(0, |told| u64::from(told.n_coarser));
        }
        let by_chance = n_values_by_rows
            .iter()
            .map(|(&n_own, &n_values)| (n_own * n_values) as f64 * chances.of_rows(n_own, n_rows));
        let share = self.bound.map_or(1.0, |bound| bound as f64 / 2f64.powi(64));
        ((n_told as f64 - by_chance.sum::<f64>()) / share).max(0.0).round() as u64
    }
}

/// The rows of each code of an attribute, the most first, and the share of them shown coarser.
struct Chances {
    codes: Vec<(u64, f64)>,
    /// The share of the codes that are known.
    share: f64,
}

impl Chances {
    fn of(counted: &CountedCodes) -> Chances {
        let mut codes = Vec::new();
        counted.for_each(|n_rows, n_coarser| {
            if n_coarser > 0 {
                codes.push((u64::from(n_rows), f64::from(n_coarser) / f64::from(n_rows)));
            }
        });
        codes.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.total_cmp(&b.1)));
        Chances { codes, share: counted.sampled_share() }
    }

    /// The chance that `n_own` rows drawn from all fall on one code and are shown coarser.
    fn of_rows(&self, n_own: u64, n_rows: u64) -> f64 {
        let codes = self.codes.iter().take_while(|(n_code, _)| *n_code >= n_own);
        let mut chance = 0.0;
        for &(n_code, coarser) in codes {
            let own = chance_of_one(n_own, n_code, n_rows);
            chance += coarser * own;
            if own < NO_CHANCE {
                break;
            }
        }
        (chance / self.share).min(1.0)
    }
}

/// C(n_code, n_own) / C(n_rows, n_own): the chance that all of some rows fall on one code.
fn chance_of_one(n_own: u64, n_code: u64, n_rows: u64) -> f64 {
    let mut chance = 1.0;
    for drawn in 0..n_own {
        chance *= (n_code - drawn) as f64 / (n_rows - drawn).max(1) as f64;
        if chance < NO_CHANCE {
            return 0.0;
        }
    }
    chance
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a column tells of one attribute, of which all rows are shown coarser or none.
    fn n_told(rows: &[(u64, u32)], is_coarser: bool, limit: usize) -> u64 {
        let mut values = CarriedValues::new("born", limit);
        values.limit = limit;
        let mut codes = CountedCodes::new(Code::new(1 << 10), 1 << 20);
        for &(value, code) in rows {
            values.add_row(mix(value), &[code], &[is_coarser]);
            codes.add(Code::new(code), 1, u32::from(is_coarser));
        }
        values.n_told(0, &Chances::of(&codes), rows.len() as u64)
    }

    #[test]
    fn a_value_that_goes_with_one_code_tells_it_where_it_is_hidden() {
        let rows: Vec<(u64, u32)> = (0..300).map(|row| (row / 3, row as u32 / 6)).collect();
        assert_eq!(n_told(&rows, true, 1 << 10), 300);
        assert_eq!(n_told(&rows, false, 1 << 10), 0);
        let about = n_told(&rows, true, 40);
        assert!((150..450).contains(&about), "{about}");
    }

    #[test]
    fn values_of_one_row_and_what_chance_gives_are_not_told() {
        let unique: Vec<(u64, u32)> = (0..300).map(|row| (row, row as u32 / 6)).collect();
        assert_eq!(n_told(&unique, true, 1 << 10), 0);
        // Pairs of values over two codes, drawn anew each time: half of the pairs are alike.
        let paired = |draw: u64| -> Vec<(u64, u32)> {
            (0..2000).map(|row| (row / 2, (mix(row ^ draw << 32) % 2) as u32)).collect()
        };
        let mean = (1..=20).map(|draw| n_told(&paired(draw), true, 1 << 12)).sum::<u64>() / 20;
        assert!(mean < 60, "of about 1000 rows that are told by chance: {mean}");
    }

    #[test]
    fn the_chance_of_one_code_is_that_of_drawing_without_putting_back() {
        assert_eq!(chance_of_one(1, 3, 12), 0.25);
        assert!((chance_of_one(2, 3, 12) - 3.0 / 66.0).abs() < 1e-12);
        assert_eq!(chance_of_one(50, 60, 10_000), 0.0);
    }
}
