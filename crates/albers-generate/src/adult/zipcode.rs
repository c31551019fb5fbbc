//! A postal code of five digits, dense in some places and sparse in others.
//!
//! ```text
//!   01000 ▇▅▃▂▁▁▁···········01490 ▂▁▁▁·············01980 ▇▆▅▃▂▂▁▁···   a run of codes for each town
//! ```
//!
//! Source: none; age, education and a third column of the census have so few tuples that a large
//! table of them hides everybody as it is. A column with many values and uneven density is what
//! methods that follow density need.
//! Guarantee: the codes have random numbers of their own, so that the other columns are the same
//! with them and without.

use arrow_array::ArrayRef;

use super::super::draw::{Draw, Weighted, labels};
use super::super::{HierarchyRows, rounded_digits};

/// Part of the seed of the codes, far from the tags of tables.
const ZIPCODE_TAG: u64 = 0x21;

const N_TOWNS: usize = 200;
const CODES_PER_TOWN: usize = 25;
/// From the first code of a town to the first of the next one.
const TOWN_STEP: usize = 490;
const FIRST_CODE: usize = 1_000;

/// The weights of towns, and of the codes of a town.
pub(crate) struct Zipcodes {
    codes: Vec<String>,
    towns: Weighted,
    within_town: Weighted,
}

impl Default for Zipcodes {
    fn default() -> Zipcodes {
        let weights: Vec<f64> = (0..CODES_PER_TOWN).map(|idx| 1.0 / (idx + 1) as f64).collect();
        Zipcodes {
            codes: numbers().map(|number| format!("{number:05}")).collect(),
            towns: Weighted::skewed(N_TOWNS),
            within_town: Weighted::new(&weights),
        }
    }
}

impl Zipcodes {
    /// The codes of one block.
    pub(crate) fn column(&self, seed: u64, block_idx: u64, n_rows: usize) -> ArrayRef {
        let mut draw = Draw::new(seed, ZIPCODE_TAG, block_idx);
        let picked: Vec<usize> = (0..n_rows)
            .map(|_| {
                let town = self.towns.pick(&mut draw);
                town * CODES_PER_TOWN + self.within_town.pick(&mut draw)
            })
            .collect();
        labels(&picked, &self.codes)
    }
}

/// Every code, in order.
fn numbers() -> impl Iterator<Item = u32> {
    let of_town = |town: usize| (0..CODES_PER_TOWN).map(move |idx| town * TOWN_STEP + idx);
    (0..N_TOWNS).flat_map(of_town).map(|place| (FIRST_CODE + place) as u32)
}

/// Digits are hidden from the right.
pub(crate) fn hierarchy() -> HierarchyRows {
    rounded_digits(numbers().map(|number| (format!("{number:05}"), number)), 5)
}
