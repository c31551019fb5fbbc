//! Whether spilled blocks are packed, learned from the blocks themselves.
//!
//! Guarantee: only the size of what is stored depends on it, never what is read back.
//! Cost: zstd at its fastest for blocks that shrink; one trial in sixteen blocks for those that do
//! not. A trial takes memory of three quarters of its block, which no budget counts.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// The fastest level of zstd's ordinary ones.
const LEVEL: i32 = 1;

/// How many blocks are stored plain without a trial after one that did not shrink.
const N_SKIPPED: u32 = 15;

/// Packs blocks while it pays.
#[derive(Debug, Default)]
pub(super) struct Packer {
    n_to_skip: AtomicU32,
}

impl Packer {
    /// The block packed, or nothing if it is better stored plain.
    pub(super) fn pack(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.skips() {
            return None;
        }
        let packed = pack_if_smaller(bytes);
        if packed.is_none() {
            self.n_to_skip.store(N_SKIPPED, Ordering::Relaxed);
        }
        packed
    }

    fn skips(&self) -> bool {
        let one_less = |n: u32| n.checked_sub(1);
        self.n_to_skip.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }
}

/// The packed bytes, if they are fewer by a quarter.
fn pack_if_smaller(bytes: &[u8]) -> Option<Vec<u8>> {
    // The room is the threshold: zstd gives up when the packed bytes do not fit.
    let mut packed = Vec::with_capacity(bytes.len() / 4 * 3);
    let mut compressor = zstd::bulk::Compressor::new(LEVEL).ok()?;
    compressor.compress_to_buffer(bytes, &mut packed).ok()?;
    Some(packed)
}

/// The `n_bytes` that were packed.
pub(super) fn unpack(packed: &[u8], n_bytes: usize) -> io::Result<Vec<u8>> {
    let bytes = zstd::bulk::decompress(packed, n_bytes)?;
    if bytes.len() == n_bytes { Ok(bytes) } else { Err(io::ErrorKind::InvalidData.into()) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{random_bytes, text_bytes};
    use super::*;

    #[test]
    fn text_is_packed_every_time_and_unpacks_to_itself() {
        let packer = Packer::default();
        for n_bytes in [100, 4_000, 100_000] {
            let bytes = text_bytes(n_bytes);
            let packed = packer.pack(&bytes).unwrap();
            assert!(packed.len() <= n_bytes * 3 / 4);
            assert_eq!(unpack(&packed, n_bytes).unwrap(), bytes);
        }
    }

    #[test]
    fn after_a_block_that_does_not_shrink_fifteen_are_not_tried() {
        let packer = Packer::default();
        assert!(packer.pack(&random_bytes(1, 10_000)).is_none());
        let text = text_bytes(10_000);
        assert!((0..N_SKIPPED).all(|_| packer.pack(&text).is_none()));
        assert!((0..100).all(|_| packer.pack(&text).is_some()));
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let packed = pack_if_smaller(&text_bytes(1_000)).unwrap();
        assert!(unpack(&packed, 999).is_err());
        assert!(unpack(&packed, 1_001).is_err());
        assert!(unpack(&packed[..packed.len() - 1], 1_000).is_err());
        assert!(unpack(b"nothing of the kind", 1_000).is_err());
    }
}
