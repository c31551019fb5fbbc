//! Numbers that tell the values of a column apart: equal values have equal numbers in every chunk,
//! whatever stands beside them.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use crate::chunk::{Cells, ColumnChunk, TickUnit};
use crate::mix::mix;

/// The number of a missing value.
pub const MISSING: u64 = 0;

/// The number of each row's value.
pub fn value_hashes(chunk: &ColumnChunk) -> Vec<u64> {
    let number = |bits: u64| mix(bits).max(MISSING + 1);
    let mut numbers: Vec<u64> = match &chunk.cells {
        Cells::Ticks { base, offsets, unit } => {
            let of_tick = |tick: i64| number(canonical(tick, *unit));
            offsets.iter().map(|&offset| of_tick(base.wrapping_add(i64::from(offset)))).collect()
        }
        Cells::WideTicks { ticks, unit } => {
            ticks.iter().map(|&tick| number(canonical(tick, *unit))).collect()
        }
        Cells::Floats(floats) => floats.iter().map(|float| number(float.to_bits())).collect(),
        Cells::Names { names, places } => {
            let numbers: Vec<u64> =
                names.iter().map(|name| number(FxBuildHasher.hash_one(name))).collect();
            let of_place = |&place: &u32| numbers.get(place as usize).copied().unwrap_or(MISSING);
            places.iter().map(of_place).collect()
        }
    };
    chunk.missing.iter().for_each(|&row| numbers[row as usize] = MISSING);
    numbers
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
