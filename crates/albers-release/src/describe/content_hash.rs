//! What a cell shows as one number, which decides where its class stands in the release.
//!
//! Guarantee: cells with the same text have the same number, in whatever table: neither the codes
//! behind the text nor the values of rows that are left out have a part in it. Cells of one table
//! with different texts have different numbers, all but surely.
//! Cost: a few nanoseconds for each end of an interval, label or member; no text is written but
//! that of floats.
//!
//! ```text
//!   48   Teaching   *                   the hash of the text
//!   [48, 62]                            of the texts of both ends
//!   {A, B}   {, [48, 62]}               of the members, in any order; that of the missing one is
//!                                       the hash of no text
//! ```

use albers_classes::space::Shown;
use albers_table::mix::mix;
use albers_table::value::{self, TickFormat};

use super::text_hash::TextHash;
use super::{ANY, CellContent, Describer, ShownCell, WITH_MISSING, bits_of, codes_of};

/// Where all codes are below this, the hashes of their values are taken once.
const N_FIRST_HASHES: u32 = 1024;

impl Describer<'_> {
    /// A number that depends on the text of the cell and on nothing else.
    pub fn content_hash(&self, cell: ShownCell) -> u64 {
        let (hash, with_missing) = match self.attribute.shown {
            Shown::Set if self.is_bit_set => (self.bits_hash(bits_of(cell)), false),
            Shown::Set => (self.numbers.hash_of(cell.a), false),
            Shown::Interval if self.missing != Some(cell.a) => {
                let (lo, hi) = (cell.a, cell.b & !WITH_MISSING);
                (self.interval_hash(lo, hi), cell.b & WITH_MISSING != 0)
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
                (name_hash(label), with_missing)
            }
            CellContent::Interval { lo, hi, with_missing } => {
                (self.interval_hash(lo, hi), with_missing)
            }
            CellContent::Missing | CellContent::Set(_) => (TextHash::of(""), false),
            CellContent::Everything => (TextHash::of(ANY), false),
        }
    }

    /// The number of a set that is given by its codes.
    pub(super) fn set_hash(&self, codes: &[u32]) -> u64 {
        match codes {
            [code] => self.value_hash(*code),
            _ => members_hash(codes.iter().map(|&code| self.value_hash(code))),
        }
    }

    /// The hashes of the first values, so that they need not be taken each time.
    pub(super) fn first_hashes(&self) -> Vec<u64> {
        let (first, last) = self.attribute.domain.code_range();
        let last = last.max(self.missing.unwrap_or(0));
        if !self.has_values || last >= N_FIRST_HASHES {
            return Vec::new();
        }
        let stands_for_one = |code: u32| code >= first || self.missing == Some(code);
        let hash_of = |code| if stands_for_one(code) { self.taken_hash(code) } else { 0 };
        (0..=last).map(hash_of).collect()
    }

    /// The hash of the text of a value; of no text for the missing one.
    #[inline]
    fn value_hash(&self, code: u32) -> u64 {
        match self.first_hashes.get(code as usize) {
            Some(&hash) => hash,
            None => self.taken_hash(code),
        }
    }

    /// The hash of what [`albers_table::domain::Domain::write_value`] writes.
    fn taken_hash(&self, code: u32) -> u64 {
        let domain = &self.attribute.domain;
        let mut hash = TextHash::new();
        if self.missing == Some(code) {
            return hash.finish();
        }
        if let (Some(ticks), Some(format)) = (domain.ticks(code), domain.tick_format()) {
            if format == TickFormat::Integer {
                return TextHash::of_integer(ticks);
            }
            hash.push_ticks(format, ticks);
        } else if let Some(name) = domain.category(code) {
            return name_hash(name);
        } else if let Some(number) = domain.float(code) {
            hash.push(&value::float_text(number));
        }
        hash.finish()
    }

    fn bits_hash(&self, bits: u64) -> u64 {
        let hash_of = |code: u32| self.value_hash(code);
        match bits.is_power_of_two() {
            true => hash_of(bits.trailing_zeros()),
            false => members_hash(codes_of(bits).map(hash_of)),
        }
    }

    fn interval_hash(&self, lo: u32, hi: u32) -> u64 {
        let lo_hash = self.value_hash(lo);
        if lo == hi { lo_hash } else { ends_hash(lo_hash, self.value_hash(hi)) }
    }
}

/// The number of a name or label. One that looks like an interval has the number of the interval:
/// a column may hold numbers in one table and names in another.
fn name_hash(name: &str) -> u64 {
    let inner = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inner.and_then(|ends| ends.split_once(", ")) {
        Some((lo, hi)) => ends_hash(TextHash::of(lo), TextHash::of(hi)),
        None => TextHash::of(name),
    }
}

/// The number of an interval whose ends have these hashes.
fn ends_hash(lo: u64, hi: u64) -> u64 {
    mix(lo.wrapping_mul(3).wrapping_add(hi.rotate_left(32)))
}

/// The number of a set with members of these hashes, in whatever order they come.
fn members_hash(members: impl Iterator<Item = u64>) -> u64 {
    mix(members.fold(0u64, |sum, member| sum.wrapping_add(mix(member))))
}
