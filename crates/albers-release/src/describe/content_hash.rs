//! What a cell shows as one number, which decides where its class stands in the release.
//!
//! Guarantee: cells with the same text have the same number, in whatever table: neither the codes
//! behind the text nor the values of rows that are left out have a part in it. Cells of one table
//! with different texts have different numbers, all but surely. Only a top that every class shows
//! has the number of its label, whether or not it stands for missing values too.
//! Cost: a few nanoseconds for each end of an interval, label or member; no text is written.
//!
//! ```text
//!   48   Teaching   *                   the hash of the text
//!   [48, 62]                            of the texts of both ends
//!   {A, B}   {, [48, 62]}               of the members, in any order; that of the missing one is
//!                                       the hash of no text
//! ```

use albers_classes::Span;
use albers_classes::space::Shown;
use albers_table::code::Code;
use albers_table::domain::OrderedValue;
use albers_table::mix::mix;
use albers_table::value::{self, TickFormat};

use super::name::{push_quoted, reads_otherwise};
use super::text_hash::TextHash;
use super::{ANY, CellContent, Describer, ShownCell, bits_of, codes_of};

/// Numbers from here on have more than 15 digits.
const LONG_MANTISSA: u64 = 1_000_000_000_000_000;

/// Where all codes are below this, the hashes of their values are taken once.
const N_FIRST_HASHES: usize = 1024;

impl Describer<'_> {
    /// A number that depends on the text of the cell and on nothing else.
    pub fn content_hash(&self, cell: ShownCell) -> u64 {
        let (hash, with_missing) = match self.attribute.shown {
            Shown::Set if self.shows_places => self.places_hash(cell),
            Shown::Set if self.is_bit_set => (self.bits_hash(bits_of(cell)), false),
            Shown::Set => (self.numbers.hash_of(cell.a), false),
            Shown::Interval if !self.is_missing(cell) => {
                let hash = match self.ends(cell).filter(|_| cell.is_in_gaps()) {
                    Some((lo, hi)) => self.ends_hash(lo, hi),
                    None => self.interval_hash(cell.codes()),
                };
                (hash, cell.with_missing())
            }
            Shown::Interval | Shown::Label => self.label_hash(cell),
        };
        match with_missing {
            true => members_hash([TextHash::of(""), hash].into_iter()),
            false => hash,
        }
    }

    /// The number of a label, and whether the missing value is shown beside it.
    fn label_hash(&self, cell: ShownCell) -> (u64, bool) {
        match self.content(cell) {
            CellContent::Label { node, with_missing } => {
                let hierarchy = self.attribute.domain.hierarchy();
                let label = hierarchy.map_or("", |hierarchy| hierarchy.label(node));
                // Whether the top stands for missing values is the same for all classes, and not
                // known before all of them have come.
                let with_missing = with_missing && !self.is_top_for_all(node);
                match self.is_bare(node, label, with_missing) {
                    true => (text_hash(label), with_missing),
                    false => (name_hash(label), with_missing),
                }
            }
            CellContent::Interval { lo, hi, with_missing } => {
                (self.interval_hash((lo, hi)), with_missing)
            }
            CellContent::Missing | CellContent::Set(_) => (TextHash::of(""), false),
            CellContent::Everything => (TextHash::of(ANY), false),
        }
    }

    /// The number of a set that is shown by its least and its greatest value, and whether the missing
    /// value is shown beside them.
    fn places_hash(&self, cell: ShownCell) -> (u64, bool) {
        match &self.set_order {
            Some(order) if !self.is_missing(cell) => {
                (self.interval_hash(self.end_codes(order, cell)), cell.with_missing())
            }
            _ => (TextHash::of(""), false),
        }
    }

    /// The number of a set that is given by its codes.
    pub(super) fn set_hash(&self, codes: &[Code]) -> u64 {
        match codes {
            [code] => self.value_hash(*code),
            _ => members_hash(codes.iter().map(|&code| self.value_hash(code))),
        }
    }

    /// The hashes of the first values, so that they need not be taken each time.
    pub(super) fn first_hashes(&self) -> Vec<u64> {
        let domain = &self.attribute.domain;
        let (first, last) = (domain.code_range().0, domain.greatest_code());
        if !self.has_values || last.index() >= N_FIRST_HASHES {
            return Vec::new();
        }
        let stands_for_one = |code: Code| code >= first || self.missing == Some(code);
        let hash_of = |code| if stands_for_one(code) { self.taken_hash(code) } else { 0 };
        (0..=last.get()).map(Code::new).map(hash_of).collect()
    }

    /// The hash of the text of a value; of no text for the missing one.
    #[inline]
    fn value_hash(&self, code: Code) -> u64 {
        match self.first_hashes.get(code.index()) {
            Some(&hash) => hash,
            None => self.taken_hash(code),
        }
    }

    /// The hash of what [`albers_table::domain::Domain::write_value`] writes.
    fn taken_hash(&self, code: Code) -> u64 {
        let domain = &self.attribute.domain;
        if self.missing == Some(code) {
            return TextHash::new().finish();
        }
        match (domain.category(code), domain.value(code)) {
            (Some(name), _) => name_hash(name),
            (None, Some(value)) => self.ordered_hash(value),
            (None, None) => TextHash::new().finish(),
        }
    }

    /// The hash of what [`albers_table::domain::Domain::write_ordered`] writes.
    fn ordered_hash(&self, value: OrderedValue) -> u64 {
        let mut hash = TextHash::new();
        match (value, self.attribute.domain.tick_format()) {
            (OrderedValue::Float(number), _) => return float_hash(number),
            (OrderedValue::Ticks(ticks), Some(TickFormat::Integer)) => {
                return TextHash::of_integer(ticks);
            }
            // So many digits could also be those of a float.
            (OrderedValue::Ticks(ticks), Some(format @ TickFormat::Decimal { .. }))
                if ticks.unsigned_abs() >= LONG_MANTISSA =>
            {
                return number_hash(&format.text(ticks));
            }
            (OrderedValue::Ticks(ticks), Some(format)) => hash.push_ticks(format, ticks),
            (OrderedValue::Ticks(_), None) => {}
        }
        hash.finish()
    }

    fn ends_hash(&self, lo: OrderedValue, hi: OrderedValue) -> u64 {
        let lo_hash = self.ordered_hash(lo);
        if lo == hi { lo_hash } else { ends_hash(lo_hash, self.ordered_hash(hi)) }
    }

    fn bits_hash(&self, bits: u64) -> u64 {
        let hash_of = |code: Code| self.value_hash(code);
        match bits.is_power_of_two() {
            true => hash_of(Code::new(bits.trailing_zeros())),
            false => members_hash(codes_of(bits).map(hash_of)),
        }
    }

    fn interval_hash(&self, (lo, hi): Span) -> u64 {
        let lo_hash = self.value_hash(lo);
        if lo == hi { lo_hash } else { ends_hash(lo_hash, self.value_hash(hi)) }
    }
}

/// The number of a name, by how it is written. One that looks like a float has the number of that:
/// a column may hold numbers in one table and names in another.
fn name_hash(name: &str) -> u64 {
    if !reads_otherwise(name) {
        return number_hash(name);
    }
    let mut quoted = String::with_capacity(name.len() + 2);
    push_quoted(name, &mut quoted);
    TextHash::of(&quoted)
}

/// The number of a label that is written as it is. One that looks like an interval has the number
/// of that.
fn text_hash(label: &str) -> u64 {
    let inner = label.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inner.and_then(|ends| ends.split_once(", ")) {
        Some((lo, hi)) => ends_hash(number_hash(lo), number_hash(hi)),
        None => number_hash(label),
    }
}

/// The number of a text that may be that of a float.
fn number_hash(text: &str) -> u64 {
    let may_be_float = text.starts_with(|first: char| first.is_ascii_digit() || first == '-')
        && text.contains(['.', 'e']);
    match text.parse::<f64>() {
        Ok(number) if may_be_float && value::float_text(number) == text => float_hash(number),
        _ => TextHash::of(text),
    }
}

/// The number of a float: the hash of its text where that is short, else of its bits, since it
/// takes long to write out all digits.
fn float_hash(number: f64) -> u64 {
    match short_decimal(number) {
        Some((mantissa, scale)) => {
            let mut hash = TextHash::new();
            hash.push_decimal(mantissa, scale);
            hash.finish()
        }
        None => mix(number.to_bits() ^ 0x9b05_688c_2b3e_6c1f),
    }
}

/// The digits and the scale that a float is written with, if these are at most 15 digits without an
/// exponent: then they are the only ones of that length that read back as the float.
fn short_decimal(number: f64) -> Option<(i64, u8)> {
    const LEAST: f64 = 1e-4;
    const GREATEST: f64 = 1e14;
    if number.to_bits() == 0 {
        return Some((0, 1));
    }
    if !(LEAST..GREATEST).contains(&number.abs()) {
        return None;
    }
    // As many digits as there may be. Digits and unit are exact, so that their quotient is rounded
    // once, as a number that is read.
    let mut scale = 15 - number.abs().log10().floor() as i32;
    while (number * 10f64.powi(scale)).abs() >= LONG_MANTISSA as f64 {
        scale -= 1;
    }
    let unit = 10f64.powi(scale);
    let digits = (number * unit).round();
    if digits / unit != number || digits.abs() >= LONG_MANTISSA as f64 {
        return None;
    }
    let (mut mantissa, mut scale) = (digits as i64, scale as u8);
    while scale > 1 && mantissa % 10 == 0 {
        (mantissa, scale) = (mantissa / 10, scale - 1);
    }
    Some((mantissa, scale))
}

/// The number of an interval whose ends have these hashes.
fn ends_hash(lo: u64, hi: u64) -> u64 {
    mix(lo.wrapping_mul(3).wrapping_add(hi.rotate_left(32)))
}

/// The number of a set with members of these hashes, in whatever order they come.
fn members_hash(members: impl Iterator<Item = u64>) -> u64 {
    mix(members.fold(0u64, |sum, member| sum.wrapping_add(mix(member))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn floats() -> impl Strategy<Value = f64> {
        prop_oneof![
            prop::num::f64::NORMAL,
            (any::<i32>(), 0i32..12).prop_map(|(n, scale)| f64::from(n) / 10f64.powi(scale)),
            (any::<i64>(), 0i32..30).prop_map(|(n, scale)| n as f64 / 10f64.powi(scale)),
            (-1_000_000i64..1_000_000).prop_map(|n| n as f64),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn short_floats_are_written_with_their_digits(number in floats()) {
            if let Some((mantissa, scale)) = short_decimal(number) {
                let written = value::parse_decimal(value::float_text(number).as_bytes()).unwrap();
                prop_assert_eq!((written.mantissa, written.scale), (mantissa, scale));
            }
        }

        #[test]
        fn a_decimal_of_few_digits_that_a_float_is_written_as_has_its_number(
            mantissa in -999_999_999_999_999i64..=999_999_999_999_999,
            n_less in 0u32..15,
            scale in 1u8..=18,
        ) {
            let mantissa = mantissa / 10i64.pow(n_less);
            let text = TickFormat::Decimal { scale }.text(mantissa);
            prop_assert_eq!(name_hash(&text), TextHash::of(&text), "{}", text);
        }

        #[test]
        fn a_float_has_the_number_of_its_text(number in floats()) {
            prop_assert_eq!(float_hash(number), name_hash(&value::float_text(number)));
        }
    }
}
