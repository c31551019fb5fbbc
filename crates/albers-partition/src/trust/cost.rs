//! How often all rows are divided anew, where every split halves.
//!
//! Source: LeFevre, DeWitt & Ramakrishnan 2008, section 5.3.2.
//! Cost: O(log rows) per repartition.

use super::tail::deviation;
use super::{ALPHA, N_PARTS, Population, normal_quantile};

/// The splits one below the other that a sample supports by the normal approximation, where every
/// split halves its rows and parts are to have k rows.
pub fn levels(k: u64, population: Population) -> u32 {
    let share = k as f64 / population.n_rows.max(1) as f64;
    let excess = normal_quantile(ALPHA / N_PARTS) * deviation(share, population);
    let supports = |level: &u32| 0.5f64.powi(*level as i32) - share >= excess;
    (1..64).take_while(supports).last().unwrap_or(0)
}

/// How often all rows of a table are divided anew until each part fits in memory, which has room for
/// so many rows; samples fill it. Where a sample supports no split at all, parts stay as they are.
///
/// Every time the rows are read to be divided, and their parts once more for the next sample: a run
/// reads all rows 2 r + 1 times and writes them r times.
pub fn repartitions(k: u64, n_rows: u64, memory_rows: u64) -> u32 {
    let mut n_times = 0;
    let mut n_left = n_rows;
    while n_left > memory_rows {
        let found = levels(k, Population { n_rows: n_left, n_sampled: memory_rows });
        if found == 0 {
            break;
        }
        n_times += 1;
        n_left >>= found;
    }
    n_times
}
