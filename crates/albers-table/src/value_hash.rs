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
}
