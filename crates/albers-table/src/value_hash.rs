//! Numbers that tell the values of a column apart: equal values have equal numbers in every chunk,
//! whatever stands beside them.

use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::chunk::{Cells, ColumnChunk, TickUnit};
use crate::mix::mix;

/// The number of a missing value.
pub const MISSING: u64 = 0;

/// The number of each row's value.
pub fn value_hashes(chunk: &ColumnChunk) -> Vec<u64> {
    let mut numbers: Vec<u64> = match &chunk.cells {
        Cells::Ticks { base, offsets, unit } => {
            let of_tick = |tick: i64| tick_hash(tick, *unit);
            offsets.iter().map(|&offset| of_tick(base.wrapping_add(i64::from(offset)))).collect()
        }
        Cells::WideTicks { ticks, unit } => {
            ticks.iter().map(|&tick| tick_hash(tick, *unit)).collect()
        }
        Cells::Floats(floats) => floats.iter().map(|float| number(float.to_bits())).collect(),
        Cells::Names { names, places } => {
            let numbers: Vec<u64> = names.iter().map(|name| name_hash(name)).collect();
            let of_place = |&place: &u32| numbers.get(place as usize).copied().unwrap_or(MISSING);
            places.iter().map(of_place).collect()
        }
    };
    chunk.missing.iter().for_each(|&row| numbers[row as usize] = MISSING);
    numbers
}

#[inline]
fn number(bits: u64) -> u64 {
    mix(bits).max(MISSING + 1)
}

#[inline]
fn tick_hash(tick: i64, unit: TickUnit) -> u64 {
    number(canonical(tick, unit))
}

fn name_hash(name: &str) -> u64 {
    number(FxBuildHasher.hash_one(name))
}

/// The values of a chunk by numbers, each of which has the hash of its value.
pub struct NumberedValues {
    /// The number of each row's value, below that of the hashes.
    pub numbers: Vec<u32>,
    /// The hash of each number's value.
    pub hashes: Vec<u64>,
}

impl NumberedValues {
    /// Of a chunk. Names have numbers already, and whole numbers that lie near each other.
    pub fn of(chunk: &ColumnChunk) -> NumberedValues {
        let n_rows = chunk.n_rows();
        let near = |offsets: &[u32]| {
            offsets.iter().max().is_some_and(|&last| (last as usize) < 2 * n_rows)
        };
        let (mut numbers, mut hashes): (Vec<u32>, Vec<u64>) = match &chunk.cells {
            Cells::Names { names, places } => {
                (places.clone(), names.iter().map(|own| name_hash(own)).collect())
            }
            Cells::Ticks { base, offsets, unit } if near(offsets) => {
                let n_values = offsets.iter().max().map_or(0, |&last| last + 1);
                let hash = |offset: u32| tick_hash(base.wrapping_add(i64::from(offset)), *unit);
                (offsets.clone(), (0..n_values).map(hash).collect())
            }
            _ => return NumberedValues::of_hashes(&value_hashes(chunk)),
        };
        let missing = hashes.len() as u32;
        if !chunk.missing.is_empty() {
            hashes.push(MISSING);
            chunk.missing.iter().for_each(|&row| numbers[row as usize] = missing);
        }
        NumberedValues { numbers, hashes }
    }

    fn of_hashes(of_rows: &[u64]) -> NumberedValues {
        let mut number_of: FxHashMap<u64, u32> = FxHashMap::default();
        let mut hashes = Vec::new();
        let numbers = of_rows.iter().map(|&hash| {
            *number_of.entry(hash).or_insert_with(|| {
                hashes.push(hash);
                hashes.len() as u32 - 1
            })
        });
        NumberedValues { numbers: numbers.collect(), hashes }
    }

    /// The hash of a row's value.
    #[inline]
    pub fn hash(&self, row: usize) -> u64 {
        self.hashes[self.numbers[row] as usize]
    }
}

/// Adds to each row's hash what its value contributes: a multiple of a number that tells the values
/// of the column apart. Hashes are to be mixed when all columns have been added. The factor is odd.
pub fn add_values(chunk: &ColumnChunk, factor: u64, hashes: &mut [u64]) {
    let Some((base, offsets)) = plain_ticks(chunk) else {
        let values = match &chunk.cells {
            // A chunk may be wide where another is not.
            Cells::WideTicks { ticks, unit } if !matches!(unit, TickUnit::Decimal(_)) => {
                let mut values: Vec<u64> = ticks.iter().map(|&tick| tick as u64).collect();
                chunk.missing.iter().for_each(|&row| values[row as usize] = MISSING_TICK);
                values
            }
            _ => value_hashes(chunk),
        };
        for (hash, value) in hashes.iter_mut().zip(values) {
            *hash = hash.wrapping_add(value.wrapping_mul(factor));
        }
        return;
    };
    let least = (base as u64).wrapping_mul(factor);
    for (hash, &offset) in hashes.iter_mut().zip(offsets) {
        *hash = hash.wrapping_add(least).wrapping_add(u64::from(offset).wrapping_mul(factor));
    }
    // What stands in a missing cell's place is taken back.
    for &row in &chunk.missing {
        let tick = base.wrapping_add(i64::from(offsets[row as usize])) as u64;
        let hash = &mut hashes[row as usize];
        *hash = hash.wrapping_add(MISSING_TICK.wrapping_sub(tick).wrapping_mul(factor));
    }
}

/// Ticks that are the same number for the same value in every chunk.
fn plain_ticks(chunk: &ColumnChunk) -> Option<(i64, &[u32])> {
    match &chunk.cells {
        Cells::Ticks { unit: TickUnit::Decimal(_), .. } => None,
        Cells::Ticks { base, offsets, .. } => Some((*base, offsets)),
        _ => None,
    }
}

/// What a missing value contributes in place of ticks.
const MISSING_TICK: u64 = 0x6a09_e667_f3bc_c909;

/// A number that does not depend on how many digits after the point the other cells of a chunk
/// have: 1.5 is the same value as 1.50.
#[inline]
fn canonical(mut tick: i64, unit: TickUnit) -> u64 {
    let TickUnit::Decimal(mut scale) = unit else { return tick as u64 };
    while scale > 0 && tick % 10 == 0 {
        tick /= 10;
        scale -= 1;
    }
    mix(u64::from(scale)) ^ tick as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::{TextColumnBuilder, narrow_ticks};
    use crate::schema::ColumnType;

    fn hashes(column_type: ColumnType, cells: &[&str]) -> Vec<u64> {
        let mut builder = TextColumnBuilder::new(column_type);
        for cell in cells {
            match cell.is_empty() {
                true => builder.push_missing(),
                false => builder.push(cell.as_bytes()).unwrap(),
            }
        }
        value_hashes(&builder.finish().map_err(|_| "valid").unwrap())
    }

    #[test]
    fn a_name_has_one_number_in_every_chunk() {
        let a = hashes(ColumnType::Text, &["x", "y", "", "x"]);
        let b = hashes(ColumnType::Text, &["y", "", "z"]);
        assert_eq!((a[0], a[1], a[2]), (a[3], b[0], b[1]));
        assert_ne!(a[0], a[1]);
        assert_ne!(b[0], b[2]);
        assert_eq!(a[2], MISSING);
    }

    #[test]
    fn a_decimal_has_one_number_whatever_stands_beside_it() {
        let a = hashes(ColumnType::Decimal, &["1.5", "20", "0"]);
        let b = hashes(ColumnType::Decimal, &["1.5", "20.0", "0", "7.125"]);
        assert_eq!(a[..], b[..3]);
        assert_eq!(a.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
    }

    #[test]
    fn numbers_have_one_number_wherever_a_chunk_begins() {
        let of = |ticks: Vec<i64>| {
            let cells = narrow_ticks(ticks, &[], TickUnit::Integer);
            value_hashes(&ColumnChunk { cells, missing: Vec::new() })
        };
        assert_eq!(of(vec![5, 9])[1], of(vec![9, i64::MAX])[0]);
    }

    #[test]
    fn values_that_are_numbered_have_their_hashes() {
        let cells = ["7", "-3", "", "7", "2000000000000", "", "8"];
        let near = ["7", "-3", "", "7", "5", "", "8"];
        for column_type in [ColumnType::Integer, ColumnType::Text, ColumnType::Float] {
            for cells in [&cells[..], &near[..], &cells[2..3], &[]] {
                let mut builder = TextColumnBuilder::new(column_type);
                for cell in cells {
                    match cell.is_empty() {
                        true => builder.push_missing(),
                        false => builder.push(cell.as_bytes()).unwrap(),
                    }
                }
                let chunk = builder.finish().map_err(|_| "valid").unwrap();
                let numbered = NumberedValues::of(&chunk);
                let hashes: Vec<u64> = (0..cells.len()).map(|row| numbered.hash(row)).collect();
                assert_eq!(hashes, value_hashes(&chunk));
            }
        }
    }

    /// Narrow and wide chunks, and what stands in a missing cell's place, do not matter.
    #[test]
    fn contributions_are_those_of_values_whatever_the_chunk() {
        let of = |ticks: Vec<i64>, missing: Vec<u32>| {
            let cells = narrow_ticks(ticks, &missing, TickUnit::Integer);
            let mut hashes = vec![7; 3];
            add_values(&ColumnChunk { cells, missing }, 0x9e37_79b9_7f4a_7c15, &mut hashes);
            hashes
        };
        let narrow = of(vec![5, -9, 70], vec![]);
        let wide = of(vec![5, -9, i64::MAX], vec![]);
        assert_eq!(narrow[..2], wide[..2]);
        assert_ne!(narrow[0], narrow[1]);
        let (one, other) = (of(vec![5, 8, 70], vec![1]), of(vec![5, 11, i64::MIN], vec![1]));
        assert_eq!(one[..2], other[..2]);
        assert!(!narrow.contains(&one[1]));
        // A chunk without any value has nothing to stand for its cells.
        let all_missing = of(vec![0, 0, 0], vec![0, 1, 2]);
        assert_eq!(all_missing, [one[1]; 3]);
    }
}
