//! Records in the spill store, divided by the first bits of their prefixes.
//!
//! ```text
//!   bits of a prefix   01 10 11 ...
//!                      │  └──── a bucket that does not fit is divided by the next bits
//!                      └─────── its bucket
//! ```
//!
//! Guarantee: the records of a class come into one bucket, unless it has no other records.
//! Cost: a buffer per bucket while records are divided; each record is written once per division.

use albers_storage::Result;
use albers_storage::memory_budget::{MemoryBudget, Reservation};
use albers_storage::spill::{Block, SpillStore};

use super::records::{KEY_BYTES, Layout, PREFIX_BYTES};

const KEY_BITS: usize = 8 * KEY_BYTES;

/// Records that share the first bits of their prefixes.
pub(super) struct Bucket {
    blocks: Vec<Block>,
    n_records: u64,
    /// The first of all prefixes.
    first: [u8; PREFIX_BYTES],
    /// Whether all records have its key.
    is_one_class: bool,
    /// Whether all records have its key and its person.
    is_one_person: bool,
    /// Bits that all prefixes share.
    n_shared_bits: usize,
}

impl Bucket {
    fn new(n_shared_bits: usize) -> Bucket {
        Bucket {
            blocks: Vec::new(),
            n_records: 0,
            first: [0; PREFIX_BYTES],
            is_one_class: true,
            is_one_person: true,
            n_shared_bits,
        }
    }

    /// Number of records.
    pub(super) fn n_records(&self) -> u64 {
        self.n_records
    }

    /// Whether all records are of one class.
    pub(super) fn is_one_class(&self) -> bool {
        self.is_one_class
    }

    /// Whether all records are of one class and, where persons are counted, of one person.
    pub(super) fn is_one_person(&self) -> bool {
        self.is_one_person
    }

    /// Its records, block by block, which leave the store as they are read.
    pub(super) fn into_blocks(self) -> impl Iterator<Item = Block> {
        self.blocks.into_iter()
    }

    /// All its records side by side, and the memory for them and for so much beside each; the
    /// bucket itself if they do not fit.
    pub(super) fn load(
        self,
        store: &SpillStore,
        budget: &MemoryBudget,
        beside_bytes: usize,
    ) -> Result<std::result::Result<(Vec<u8>, Reservation), Bucket>> {
        let n_bytes: usize = self.blocks.iter().map(Block::n_bytes).sum();
        let block_bytes = self.blocks.iter().map(Block::n_bytes).max().unwrap_or(0);
        // A table has fewer than 2^32 rows.
        let n_records = usize::try_from(self.n_records).unwrap_or(usize::MAX);
        let all_bytes =
            n_records.saturating_mul(beside_bytes).saturating_add(n_bytes + block_bytes);
        let Ok(memory) = budget.try_reserve("the records of a bucket", all_bytes) else {
            return Ok(Err(self));
        };
        let mut records = Vec::with_capacity(n_bytes);
        for block in self.blocks {
            records.extend_from_slice(&store.take(block)?);
        }
        Ok(Ok((records, memory)))
    }

    /// Where records are to be divided next: keys that are all the same divide none.
    pub(super) fn next_bit(&self) -> usize {
        if self.is_one_class { self.n_shared_bits.max(KEY_BITS) } else { self.n_shared_bits }
    }

    fn see(&mut self, prefix: &[u8]) {
        let first = &mut self.first[..prefix.len()];
        if self.n_records == 0 {
            first.copy_from_slice(prefix);
        } else if self.is_one_class && first != prefix {
            self.is_one_person = false;
            self.is_one_class = first[..KEY_BYTES] == prefix[..KEY_BYTES];
        }
        self.n_records += 1;
    }
}

/// Divides records into buckets.
pub(super) struct Divider<'a> {
    store: &'a SpillStore,
    layout: Layout,
    first_bit: usize,
    sizes: Sizes,
    buckets: Vec<(Bucket, Vec<u8>)>,
    _memory: Reservation,
}

/// How records are divided.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    n_bits: usize,
    block_bytes: usize,
}

impl Sizes {
    fn within(limit_bytes: usize, record_bytes: usize) -> Sizes {
        const MOST_BITS: u32 = 6;
        let buffer_bytes = limit_bytes / 4;
        let block_bytes = (buffer_bytes >> MOST_BITS).clamp(2 << 10, 128 << 10);
        let block_bytes = (block_bytes / record_bytes).max(1) * record_bytes;
        let n_bits = (buffer_bytes / block_bytes).max(2).ilog2().min(MOST_BITS);
        Sizes { n_bits: n_bits as usize, block_bytes }
    }
}

impl<'a> Divider<'a> {
    /// Divides by the bits from this one on.
    pub(super) fn new(
        store: &'a SpillStore,
        budget: &MemoryBudget,
        layout: Layout,
        first_bit: usize,
    ) -> Result<Divider<'a>> {
        let mut sizes = Sizes::within(budget.limit_bytes(), layout.n_bytes());
        // Bits of persons would divide a class; they come when there is no other class.
        if first_bit < KEY_BITS {
            sizes.n_bits = sizes.n_bits.min(KEY_BITS - first_bit);
        }
        let n_buckets = 1 << sizes.n_bits;
        let what = "the buffers of an audit";
        let memory = budget.try_reserve(what, n_buckets * sizes.block_bytes)?;
        let n_shared_bits = first_bit + sizes.n_bits;
        let bucket = || (Bucket::new(n_shared_bits), Vec::with_capacity(sizes.block_bytes));
        let buckets = (0..n_buckets).map(|_| bucket()).collect();
        Ok(Divider { store, layout, first_bit, sizes, buckets, _memory: memory })
    }

    /// Adds records.
    pub(super) fn add(&mut self, records: &[u8]) -> Result<()> {
        let Sizes { n_bits, block_bytes } = self.sizes;
        for record in records.chunks_exact(self.layout.n_bytes()) {
            let prefix = &record[..self.layout.prefix_bytes()];
            let (bucket, buffer) = &mut self.buckets[digit(prefix, self.first_bit, n_bits)];
            bucket.see(prefix);
            buffer.extend_from_slice(record);
            if buffer.len() == block_bytes {
                // The store keeps the bytes, or has written them.
                let full = std::mem::replace(buffer, Vec::with_capacity(block_bytes));
                bucket.blocks.push(self.store.put(full)?);
            }
        }
        Ok(())
    }

    /// The buckets that have records.
    pub(super) fn finish(self) -> Result<Vec<Bucket>> {
        let Divider { store, buckets, .. } = self;
        let mut finished = Vec::new();
        for (mut bucket, buffer) in buckets {
            if !buffer.is_empty() {
                bucket.blocks.push(store.put(buffer)?);
            }
            if bucket.n_records > 0 {
                finished.push(bucket);
            }
        }
        Ok(finished)
    }
}

/// The bits of a prefix from the first one on, at most 8; bits beyond its end are zero.
fn digit(prefix: &[u8], first_bit: usize, n_bits: usize) -> usize {
    let byte = |at: usize| usize::from(prefix.get(at).copied().unwrap_or(0));
    let at = first_bit / 8;
    let window = byte(at) << 8 | byte(at + 1);
    window >> (16 - first_bit % 8 - n_bits) & ((1 << n_bits) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digits_of_a_prefix_are_its_bits_one_after_another() {
        let prefix: Vec<u8> = (1..=PREFIX_BYTES as u8).map(|byte| byte.wrapping_mul(89)).collect();
        let bit =
            |at: usize| usize::from(prefix.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8)) & 1);
        for n_bits in 1..=6 {
            for first_bit in 0..8 * PREFIX_BYTES {
                let bits = (first_bit..first_bit + n_bits).fold(0, |all, at| all << 1 | bit(at));
                assert_eq!(digit(&prefix, first_bit, n_bits), bits, "{first_bit} {n_bits}");
            }
        }
    }

    #[test]
    fn no_division_cuts_a_class_by_its_persons_while_there_are_others() {
        let budget = MemoryBudget::new(1 << 20);
        let store = SpillStore::in_folder(&std::env::temp_dir(), budget.clone());
        let layout = Layout { has_subject: true, n_sensitive: 0 };
        let mut divider = Divider::new(&store, &budget, layout, KEY_BITS - 2).unwrap();
        let keys = [0u128, 0, 0, 1, 1, 2];
        let subjects = [0u64, u64::MAX, 5, 7, u64::MAX / 3, 9];
        divider.add(&layout.write(&keys, &subjects, &[])).unwrap();
        let buckets = divider.finish().unwrap();
        let classes: Vec<_> = buckets.iter().map(|own| (own.n_records, own.is_one_class)).collect();
        assert_eq!(classes, [(3, true), (2, true), (1, true)]);
        assert!(!buckets[0].is_one_person && buckets[2].is_one_person);
        assert!(buckets.iter().all(|own| own.next_bit() == KEY_BITS));
    }
}
