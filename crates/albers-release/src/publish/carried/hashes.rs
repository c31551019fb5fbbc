//! Carried cells as numbers that tell them apart, and the order of rows within a class.
//!
//! Guarantee: the number of a cell follows from what it holds and from its column's type, whatever
//! rows lie beside it. Whole numbers have the same as text and as numbers, so that rows leave in one
//! order whichever of the two they were read as.
//! Cost: one look at each cell; numbers need no text.

use std::hash::{BuildHasher, Hasher};

use albers_table::mix::mix;
use albers_table::row::RowIdx;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_cast::can_cast_types;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType};
use rayon::prelude::*;
use rustc_hash::FxBuildHasher;

use super::CarriedColumn;
use crate::error::Result;

type ArrowResult<T> = std::result::Result<T, ArrowError>;

/// A number per row that depends on the seed and on what the row's carried cells hold.
///
/// Rows of a class are ordered by it: whoever knows the seed still learns nothing of the order in
/// which the rows came in.
pub struct RowKeys {
    keys: Vec<u64>,
}

impl RowKeys {
    /// The keys of all rows; none are needed when nothing is carried. A column whose cells cannot
    /// be told apart is refused: its rows would leave in the order of the input.
    pub fn of(carried: &[CarriedColumn], seed: u64) -> Result<Option<RowKeys>> {
        let Some(first) = carried.first() else { return Ok(None) };
        let n_rows = first.chunks.iter().map(|chunk| chunk.len()).sum();
        let mut keys = vec![mix(seed ^ 0xbb67_ae85_84ca_a73b); n_rows];
        for column in carried {
            let mut rest = &mut keys[..];
            let mut parts = Vec::with_capacity(column.chunks.len());
            for chunk in &column.chunks {
                let (part, later) = rest.split_at_mut(chunk.len());
                parts.push((chunk, part));
                rest = later;
            }
            let added = parts.into_par_iter().try_for_each(|(chunk, part)| add_hashes(chunk, part));
            added.map_err(|_| column.refused("have no text form"))?;
        }
        Ok(Some(RowKeys { keys }))
    }

    /// The key of a row.
    pub(crate) fn key_of(&self, row: usize) -> u64 {
        self.keys[row]
    }

    /// Puts the rows of a class in order.
    pub fn order(&self, row_idxs: &mut [RowIdx]) {
        row_idxs.sort_unstable_by_key(|row| self.keys[row.index()]);
    }
}

/// A number for each cell that tells the texts of a column apart, all but surely; nothing where
/// there is no value.
pub fn cell_hashes(chunk: &ArrayRef) -> ArrowResult<Vec<Option<u64>>> {
    let mut hashes = vec![0; chunk.len()];
    add_hashes(chunk, &mut hashes)?;
    let nulls = chunk.logical_nulls();
    let is_null = |row_idx| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row_idx));
    let cells = hashes.into_iter().enumerate();
    Ok(cells.map(|(row_idx, hash)| (!is_null(row_idx)).then_some(hash)).collect())
}

/// Mixes the number of each cell into the key of its row.
fn add_hashes(chunk: &ArrayRef, keys: &mut [u64]) -> ArrowResult<()> {
    macro_rules! integers {
        ($type:ty) => {
            add_numbers::<$type>(chunk, keys, |own| hash_of_integer(own.into()))
        };
    }
    match chunk.data_type() {
        DataType::Utf8 => add_texts(chunk.as_string::<i32>().iter(), keys),
        DataType::LargeUtf8 => add_texts(chunk.as_string::<i64>().iter(), keys),
        DataType::Utf8View => add_texts(chunk.as_string_view().iter(), keys),
        DataType::Binary => add_bytes(chunk.as_binary::<i32>().iter(), keys),
        DataType::LargeBinary => add_bytes(chunk.as_binary::<i64>().iter(), keys),
        DataType::BinaryView => add_bytes(chunk.as_binary_view().iter(), keys),
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt8 => integers!(UInt8Type),
        DataType::UInt16 => integers!(UInt16Type),
        DataType::UInt32 => integers!(UInt32Type),
        DataType::UInt64 => add_numbers::<UInt64Type>(chunk, keys, hash_of_unsigned),
        DataType::Float32 => {
            add_numbers::<Float32Type>(chunk, keys, |own| hash_of_float(own.into()));
        }
        DataType::Float64 => add_numbers::<Float64Type>(chunk, keys, hash_of_float),
        // Points in time may have no text form, but they are counts of ticks.
        own if own.is_temporal() && can_cast_types(own, &DataType::Int64) => {
            let ticks = arrow_cast::cast(chunk, &DataType::Int64)?;
            add_numbers::<Int64Type>(&ticks, keys, hash_of_integer);
        }
        _ => add_formatted(chunk, keys)?,
    }
    Ok(())
}

fn add_numbers<T: ArrowPrimitiveType>(
    chunk: &ArrayRef,
    keys: &mut [u64],
    hash: impl Fn(T::Native) -> u64,
) {
    let cells = chunk.as_primitive::<T>();
    let add = |(key, hash): (&mut u64, u64)| *key = mix(*key ^ hash);
    let hashes = cells.values().iter().map(|&own| hash(own));
    match cells.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => keys.iter_mut().zip(hashes).for_each(add),
        Some(nulls) => {
            let missing = hash_of(None);
            let hashes = hashes.zip(nulls);
            let hashes = hashes.map(|(hash, is_valid)| if is_valid { hash } else { missing });
            keys.iter_mut().zip(hashes).for_each(add);
        }
    }
}

fn add_texts<'t>(texts: impl Iterator<Item = Option<&'t str>>, keys: &mut [u64]) {
    for (text, key) in texts.zip(keys) {
        *key = mix(*key ^ hash_of_text(text.map(str::as_bytes)));
    }
}

fn add_bytes<'t>(cells: impl Iterator<Item = Option<&'t [u8]>>, keys: &mut [u64]) {
    for (cell, key) in cells.zip(keys) {
        *key = mix(*key ^ hash_of(cell));
    }
}

/// For cells of any other type that can be shown: by the texts that Arrow makes of all of them, or
/// else cell by cell, where some have none.
fn add_formatted(chunk: &ArrayRef, keys: &mut [u64]) -> ArrowResult<()> {
    let n_nulls = chunk.logical_null_count();
    match arrow_cast::cast(chunk, &DataType::Utf8) {
        Ok(texts) if texts.logical_null_count() == n_nulls => {
            add_texts(texts.as_string::<i32>().iter(), keys);
            return Ok(());
        }
        _ => {}
    }
    let options = FormatOptions::new().with_display_error(false);
    let formatter = ArrayFormatter::try_new(chunk.as_ref(), &options)?;
    let nulls = chunk.logical_nulls();
    for (row_idx, key) in keys.iter_mut().enumerate() {
        let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row_idx));
        let text = formatter.value(row_idx).try_to_string()?;
        *key = mix(*key ^ hash_of_text((!is_null).then_some(text.as_bytes())));
    }
    Ok(())
}

fn hash_of(cell: Option<&[u8]>) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    match cell {
        None => hasher.write_u8(0),
        Some(bytes) => hasher.write(bytes),
    }
    hasher.finish()
}

/// The number of a text: that of the whole number which it writes as every number is written.
fn hash_of_text(text: Option<&[u8]>) -> u64 {
    match text.and_then(plain_integer) {
        Some(integer) => hash_of_integer(integer),
        None => hash_of(text),
    }
}

/// The number of a whole number: zero is not what a missing cell is.
fn hash_of_integer(integer: i64) -> u64 {
    integer as u64 ^ 0x243f_6a88_85a3_08d3
}

fn hash_of_unsigned(number: u64) -> u64 {
    match i64::try_from(number) {
        Ok(integer) => hash_of_integer(integer),
        Err(_) => hash_of(Some(number.to_string().as_bytes())),
    }
}

/// The number of a float: all that are no number are shown as one text, and both zeros as two.
fn hash_of_float(number: f64) -> u64 {
    let number = if number.is_nan() { f64::NAN } else { number };
    hash_of(Some(&number.to_bits().to_le_bytes()))
}

/// The whole number that a text is, if writing the number gives the very text again.
fn plain_integer(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let is_plain = match digits {
        [b'0'] => !is_negative,
        // The first of no more than 19 digits, and no zero.
        [b'1'..=b'9', ..] => digits.len() <= 19,
        _ => false,
    };
    if !is_plain {
        return None;
    }
    let mut size = 0u64;
    for &digit in digits {
        size = size * 10 + u64::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    match is_negative {
        true => 0i64.checked_sub_unsigned(size),
        false => i64::try_from(size).ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float32Array, Float64Array, Int64Array, StringArray, UInt64Array};
    use proptest::prelude::*;

    use super::*;

    fn hashes_of(chunk: impl Array + 'static) -> Vec<Option<u64>> {
        cell_hashes(&(Arc::new(chunk) as ArrayRef)).unwrap()
    }

    proptest! {
        #[test]
        fn a_whole_number_has_one_hash_as_text_and_as_number(
            wide: i64,
            short in -1000i64..1000,
            unsigned: u64,
        ) {
            for number in [wide, short, i64::MIN, i64::MAX, 0] {
                let text = StringArray::from(vec![number.to_string()]);
                prop_assert_eq!(hashes_of(text), hashes_of(Int64Array::from(vec![number])));
            }
            let text = StringArray::from(vec![unsigned.to_string()]);
            prop_assert_eq!(hashes_of(text), hashes_of(UInt64Array::from(vec![unsigned])));
        }

        #[test]
        fn a_text_is_a_plain_number_only_if_the_number_is_written_so(text in "-?[0-9a]{0,21}") {
            let expected = text.parse::<i64>().ok().filter(|number| number.to_string() == text);
            prop_assert_eq!(plain_integer(text.as_bytes()), expected);
        }
    }

    #[test]
    fn a_missing_cell_is_told_from_zero() {
        let keys = |chunk: Int64Array| {
            let mut keys = vec![7; chunk.len()];
            add_hashes(&(Arc::new(chunk) as ArrayRef), &mut keys).unwrap();
            keys
        };
        let both = keys(Int64Array::from(vec![None, Some(0)]));
        assert_ne!(both[0], both[1]);
        assert!(hashes_of(Int64Array::from(vec![0]))[0].is_some_and(|hash| hash != 0));
    }

    #[test]
    fn floats_are_told_apart_as_their_texts_are() {
        let other_nan = f64::from_bits(f64::NAN.to_bits() | 1);
        let floats = vec![0.0, -0.0, 0.5, f64::INFINITY, f64::NAN, other_nan];
        let hashes = hashes_of(Float64Array::from(floats));
        assert_eq!(hashes[4], hashes[5]);
        let mut distinct = hashes[..5].to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 5);
        let short = hashes_of(Float32Array::from(vec![0.5f32]));
        assert_eq!(short[0], hashes[2]);
    }

    #[test]
    fn texts_that_mean_one_number_are_told_apart() {
        let texts = ["7", "07", "+7", "7.0", " 7", "-0", "0", "00", ""];
        let mut hashes = hashes_of(StringArray::from(texts.to_vec()));
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), texts.len());
    }
}
