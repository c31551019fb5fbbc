//! Rows that are drawn in secret, and published where enough of them share a cell.
//!
//! Source: as in [`albers_privacy::differential`], where the promise is proved.
//! Departures: of a person with several rows one is drawn, each as likely as the others, so that
//! everybody has one row at most. Whichever it is, the proof holds; so it holds of the draw.
//! Guarantee: if the cell of a row depends on that row alone, what is published is differentially
//! private: a row more, or a person more, changes the probability of no set of releases by more than
//! the promise says. Nothing else of the rows has a part in which are published.
//! Cost: a random word for each row or person, and one more for a row of several.

use albers_privacy::DifferentialPrivacy;
use albers_storage::Result;
use albers_storage::secret_bits::SecretBits;
use rustc_hash::FxHashMap;

/// The rows that are published, ascending, given the cell of each row. Where rows belong to persons,
/// these are given by row; a row without one is never published.
pub fn drawn(
    cells: &[u32],
    persons: Option<&[Option<u64>]>,
    promise: &DifferentialPrivacy,
    bits: &mut dyn SecretBits,
) -> Result<Vec<u32>> {
    let candidates = match persons {
        None => (0..cells.len() as u32).collect(),
        Some(persons) => one_of_each(persons, bits)?,
    };
    let mut taken = Vec::new();
    for row in candidates {
        if promise.rate.takes(bits.word()?) {
            taken.push(row);
        }
    }
    let mut n_taken: FxHashMap<u32, u64> = FxHashMap::default();
    for &row in &taken {
        *n_taken.entry(cells[row as usize]).or_insert(0) += 1;
    }
    taken.retain(|&row| n_taken[&cells[row as usize]] >= promise.k);
    taken.sort_unstable();
    Ok(taken)
}

/// One row of each person, each of theirs as likely as the others.
fn one_of_each(persons: &[Option<u64>], bits: &mut dyn SecretBits) -> Result<Vec<u32>> {
    let mut rows_of: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
    for (row, person) in (0..).zip(persons) {
        if let Some(person) = person {
            rows_of.entry(*person).or_default().push(row);
        }
    }
    let draw = |rows: Vec<u32>| match rows[..] {
        [only] => Ok(only),
        _ => Ok(rows[bits.below(rows.len() as u64)? as usize]),
    };
    rows_of.into_values().map(draw).collect()
}

#[cfg(test)]
mod tests;
