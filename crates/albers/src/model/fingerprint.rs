//! A number that tells some rows from all others, whatever their order.
//!
//! Guarantee: equal for the same rows in any order, and different for others but with a chance of
//! about one in 2^128: it is a sum of keyed hashes of the whole rows, and its key follows from the
//! values of the quasi-identifiers, so that nobody without them can look for rows of an equal sum.
//! Cost: a hash of the cells of each row.

use std::hash::Hasher as _;

use albers_storage::digest::digest_of;
use siphasher::sip128::{Hasher128 as _, SipHasher24};

/// The fingerprint of some rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// The key of the hashes.
    pub(crate) key: u128,
    /// Their sum.
    pub(crate) sum: u128,
    /// How many there are.
    pub(crate) n_rows: u64,
}

/// Takes the hashes of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowPrinter {
    pub(crate) key: u128,
    /// How many of the facts of a row are those of its subject; the others are carried too.
    pub(crate) n_subject_facts: usize,
}

/// The key that follows from a coding.
pub(super) fn key_of(coding: &[u8]) -> u128 {
    let digest = digest_of(coding).expect("bytes in memory can be read");
    u128::from_str_radix(&digest[..32], 16).expect("a digest has 64 hexadecimal digits")
}

impl RowPrinter {
    /// The hash of a row: the codes of its quasi-identifiers, its facts and what it carries.
    pub(crate) fn of_row(
        &self,
        codes: &[u32],
        facts: impl Iterator<Item = u32>,
        carried: &[u8],
    ) -> u128 {
        let mut hasher = SipHasher24::new_with_keys((self.key >> 64) as u64, self.key as u64);
        codes.iter().for_each(|&code| hasher.write_u32(code));
        facts.take(self.n_subject_facts).for_each(|fact| hasher.write_u32(fact));
        hasher.write(carried);
        hasher.finish128().as_u128()
    }
}
