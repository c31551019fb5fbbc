//! Voters of one town: age, postal code and salary.
//!
//! Source: the table `Voter list` of the BangA paper, 54,803 rows.
//! Departures: only the names of the columns and the number of rows are the paper's.

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Schema};

use super::draw::{Draw, Weighted, field, from_quantiles, integers, labels, scattered};

const N_ZIPCODES: usize = 120;

/// Twenty equally frequent groups of ages, from the youngest voters to the oldest.
const AGE_QUANTILES: [f64; 21] = [
    18.0, 21.0, 23.5, 26.0, 28.5, 31.0, 33.5, 36.0, 38.5, 41.0, 43.5, 46.0, 48.5, 51.5, 54.5, 58.0,
    62.0, 66.5, 72.0, 80.0, 99.0,
];

/// Twenty equally frequent groups of salaries, before age and neighbourhood change them.
const SALARY_QUANTILES: [f64; 21] = [
    6e3, 12e3, 16e3, 19e3, 22e3, 25e3, 27.5e3, 30e3, 32.5e3, 35e3, 38e3, 41e3, 44.5e3, 48e3,
    52.5e3, 58e3, 65e3, 74e3, 88e3, 115e3, 240e3,
];

/// The weights of the neighbourhoods and how well they pay.
pub(super) struct Voters {
    zipcodes: Vec<String>,
    zipcode_weights: Weighted,
    /// Per postal code, in a thousand.
    pay: Vec<f64>,
}

impl Default for Voters {
    fn default() -> Voters {
        Voters {
            zipcodes: (0..N_ZIPCODES).map(|idx| format!("{:05}", 2_100 + idx)).collect(),
            zipcode_weights: Weighted::skewed(N_ZIPCODES),
            pay: scattered(N_ZIPCODES).into_iter().map(|rank| 700.0 + 6.0 * rank as f64).collect(),
        }
    }
}

impl Voters {
    /// The columns of one block.
    pub(super) fn columns(&self, draw: &mut Draw, n_rows: usize) -> Vec<ArrayRef> {
        let (mut age, mut salary) = (Vec::with_capacity(n_rows), Vec::with_capacity(n_rows));
        let mut zipcode = Vec::with_capacity(n_rows);
        for _ in 0..n_rows {
            let years = from_quantiles(draw, &AGE_QUANTILES) as i32;
            let place = self.zipcode_weights.pick(draw);
            let by_age = match years {
                ..25 => 0.55,
                25..35 => 0.9,
                35..60 => 1.15,
                60..67 => 1.0,
                67.. => 0.6,
            };
            let pay = from_quantiles(draw, &SALARY_QUANTILES) * by_age * self.pay[place] / 1000.0;
            age.push(years);
            zipcode.push(place);
            salary.push((pay / 100.0).round() as i32 * 100);
        }
        vec![integers(age), labels(&zipcode, &self.zipcodes), integers(salary)]
    }
}

/// The three attributes.
pub(super) fn schema() -> Schema {
    Schema::new(vec![
        field("age", DataType::Int32),
        field("zipcode", DataType::Utf8),
        field("salary", DataType::Int32),
    ])
}
