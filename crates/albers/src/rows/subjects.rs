//! Subjects: told apart by a number made of their cells.
//!
//! Guarantee: two rows of one person always have the same number. Where rows are packed, two persons
//! share a number with a chance of one in four billion, and then count as one: a class can only be
//! thought smaller than it is.

use std::hash::BuildHasher;

use albers_table::chunk::{Cells, ColumnChunk, TickUnit};
use albers_table::mix::mix;
use rustc_hash::FxBuildHasher;

/// The number of all rows without a subject: they count as one person.
const MISSING: u64 = 0;

/// The number of each row's subject.
pub(super) fn numbers_of(chunk: &ColumnChunk) -> Vec<u64> {
    let number = |bits: u64| mix(bits).max(MISSING + 1);
    let of_tick = |tick: i64, unit: TickUnit| number(canonical(tick, unit));
    let mut numbers: Vec<u64> = match &chunk.cells {
        Cells::Ticks { base, offsets, unit } => offsets
            .iter()
            .map(|&offset| of_tick(base.wrapping_add(i64::from(offset)), *unit))
            .collect(),
        Cells::WideTicks { ticks, unit } => {
            ticks.iter().map(|&tick| of_tick(tick, *unit)).collect()
        }
        Cells::Floats(floats) => floats.iter().map(|float| number(float.to_bits())).collect(),
        Cells::Names { names, places } => {
            let numbers: Vec<u64> =
                names.iter().map(|name| number(FxBuildHasher.hash_one(name))).collect();
            places.iter().map(|&at| numbers.get(at as usize).copied().unwrap_or(MISSING)).collect()
        }
    };
    chunk.missing.iter().for_each(|&row| numbers[row as usize] = MISSING);
    numbers
}

/// The same in 32 bits, for rows that are packed.
pub(super) fn short_numbers_of(chunk: &ColumnChunk) -> Vec<u32> {
    let short = |number: u64| match number {
        MISSING => 0,
        number => ((number >> 32) as u32).max(1),
    };
    numbers_of(chunk).into_iter().map(short).collect()
}

/// A number that does not depend on how many digits after the point the other cells of a chunk
/// have: 1.5 is the same person as 1.50.
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
    use albers_table::chunk::TextColumnBuilder;
    use albers_table::schema::ColumnType;

    use super::*;

    #[test]
    fn a_person_has_one_code_in_every_chunk() {
        let chunk = |cells: &[&str]| {
            let mut builder = TextColumnBuilder::new(ColumnType::Text);
            for cell in cells {
                match cell.is_empty() {
                    true => builder.push_missing(),
                    false => builder.push(cell.as_bytes()).unwrap(),
                }
            }
            numbers_of(&builder.finish().map_err(|_| "valid").unwrap())
        };
        let (a, b) = (chunk(&["x", "y", "", "x"]), chunk(&["y", "", "z"]));
        assert_eq!((a[0], a[1], a[2]), (a[3], b[0], b[1]));
        assert_ne!(a[0], a[1]);
        assert_ne!(b[0], b[2]);
        assert_eq!(a[2], MISSING);
    }

    #[test]
    fn a_decimal_has_one_code_whatever_stands_beside_it() {
        let of = |cells: &[&str]| {
            let mut builder = TextColumnBuilder::new(ColumnType::Decimal);
            cells.iter().for_each(|cell| builder.push(cell.as_bytes()).unwrap());
            numbers_of(&builder.finish().map_err(|_| "valid").unwrap())
        };
        let (a, b) = (of(&["1.5", "20", "0"]), of(&["1.5", "20.0", "0", "7.125"]));
        assert_eq!(a[..], b[..3]);
        assert_eq!(a.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
    }

    #[test]
    fn numbers_have_one_code_wherever_a_chunk_begins() {
        use albers_table::chunk::narrow_ticks;
        let of = |ticks: Vec<i64>| {
            let cells = narrow_ticks(ticks, &[], TickUnit::Integer);
            numbers_of(&ColumnChunk { cells, missing: Vec::new() })
        };
        assert_eq!(of(vec![5, 9])[1], of(vec![9, i64::MAX])[0]);
    }
}
