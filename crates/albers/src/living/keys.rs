//! Which row of an index belongs to which key: sorted runs of keyed hashes.
//!
//! Source: O'Neil et al. 1996 (log-structured merge trees), of which this is the simplest: runs are
//! written once, and merged when there are many of a size.
//! Departures: what is kept of a key is a keyed hash of 128 bits, so that two keys are all but surely
//! told apart and no key can be read; a key that was removed stays, with the number of its last row,
//! so that one that comes back continues its history.
//! Guarantee: of several entries of a key the newest counts.
//! Cost: 28 bytes per entry; a batch of keys is compared with the runs in one pass over half of the
//! hashes, and a single key by one page of each run.
//!
//! ```text
//!   run    | block | block | ...      up to 4,096 entries each, sorted by hash
//!   block  | upper halves | lower halves | rows | contents |
//!   fences   the upper half of the first hash of each block, in memory
//! ```

use std::hash::Hasher as _;
use std::ops::Range;

use albers_storage::store::Extent;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128 as _, SipHasher24};

use super::row_number::RowNumber;
use crate::error::Result;

/// Reads some bytes of an extent, on any thread.
pub(super) type ReadPages<'p> =
    dyn Fn(Extent, Range<u64>) -> albers_storage::Result<Vec<u8>> + Sync + 'p;

/// Entries of a block.
const BLOCK_ENTRIES: usize = 4096;
/// Blocks of an extent, so that a run of any length is written in pieces.
const EXTENT_BLOCKS: usize = 64;
/// Bytes of an entry.
const ENTRY_BYTES: usize = 28;
/// The bit of a row's number that says that the row is gone.
const GONE: u32 = 1 << 31;
/// So many runs of about one size are merged.
const MAX_ALIKE: usize = 8;

/// A keyed hash of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct KeyHash {
    pub(super) upper: u64,
    pub(super) lower: u64,
}

impl KeyHash {
    /// None is less.
    pub(super) const LEAST: KeyHash = KeyHash { upper: 0, lower: 0 };

    /// Of a key's text, by a secret.
    pub(super) fn of(secret: &[u8; 16], key: &[u8]) -> KeyHash {
        let mut hasher = SipHasher24::new_with_key(secret);
        hasher.write(key);
        let hash = hasher.finish128();
        KeyHash { upper: hash.h1, lower: hash.h2 }
    }

    /// As the key of a table.
    pub(super) fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.upper.to_be_bytes());
        bytes[8..].copy_from_slice(&self.lower.to_be_bytes());
        bytes
    }

    /// The hash of a key of a table.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<KeyHash> {
        let (upper, lower) = bytes.split_at_checked(8)?;
        let half = |bytes: &[u8]| Some(u64::from_be_bytes(bytes.try_into().ok()?));
        Some(KeyHash { upper: half(upper)?, lower: half(lower)? })
    }
}

/// What is known of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyEntry {
    pub(super) hash: KeyHash,
    /// Its row, or its last one.
    pub(super) row: RowNumber,
    /// Whether that row was removed.
    pub(super) is_gone: bool,
    /// A keyed hash of all that the row holds.
    pub(super) content: u64,
}

/// A run as the catalogue knows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct KeyRun {
    n_entries: u64,
    extents: Vec<Extent>,
    fences: Vec<u64>,
}

impl KeyRun {
    /// The extents that it takes.
    pub(super) fn extents(&self) -> impl Iterator<Item = Extent> + '_ {
        self.extents.iter().copied()
    }

    /// Writes entries that come sorted by hash, each once.
    pub(super) fn write(
        entries: impl Iterator<Item = Result<KeyEntry>>,
        write: &mut dyn FnMut(&[u8]) -> Result<Extent>,
    ) -> Result<KeyRun> {
        let mut run = KeyRun { n_entries: 0, extents: Vec::new(), fences: Vec::new() };
        let mut block: Vec<KeyEntry> = Vec::with_capacity(BLOCK_ENTRIES);
        let mut bytes = Vec::new();
        for entry in entries {
            block.push(entry?);
            if block.len() == BLOCK_ENTRIES {
                run.put_block(&block, &mut bytes);
                block.clear();
                if run.fences.len().is_multiple_of(EXTENT_BLOCKS) {
                    run.extents.push(write(&bytes)?);
                    bytes.clear();
                }
            }
        }
        if !block.is_empty() {
            run.put_block(&block, &mut bytes);
        }
        if !bytes.is_empty() {
            run.extents.push(write(&bytes)?);
        }
        Ok(run)
    }

    fn put_block(&mut self, block: &[KeyEntry], out: &mut Vec<u8>) {
        self.fences.push(block[0].hash.upper);
        self.n_entries += block.len() as u64;
        block.iter().for_each(|own| out.extend_from_slice(&own.hash.upper.to_le_bytes()));
        block.iter().for_each(|own| out.extend_from_slice(&own.hash.lower.to_le_bytes()));
        for own in block {
            let row = own.row.get() | if own.is_gone { GONE } else { 0 };
            out.extend_from_slice(&row.to_le_bytes());
        }
        block.iter().for_each(|own| out.extend_from_slice(&own.content.to_le_bytes()));
    }

    fn n_blocks(&self) -> usize {
        self.fences.len()
    }

    fn block_entries(&self, block: usize) -> usize {
        (self.n_entries as usize - block * BLOCK_ENTRIES).min(BLOCK_ENTRIES)
    }

    /// The extent of a block and where its bytes begin there.
    fn place(&self, block: usize) -> (Extent, u64) {
        let in_extent = block % EXTENT_BLOCKS * BLOCK_ENTRIES * ENTRY_BYTES;
        (self.extents[block / EXTENT_BLOCKS], in_extent as u64)
    }

    /// The upper halves of a block's hashes.
    fn uppers(&self, block: usize, read: &ReadPages<'_>) -> Result<Vec<u64>> {
        let (extent, start) = self.place(block);
        let n_bytes = 8 * self.block_entries(block) as u64;
        Ok(words(&read(extent, start..start + n_bytes)?))
    }

    /// All entries of a block.
    fn entries(&self, block: usize, read: &ReadPages<'_>) -> Result<Vec<KeyEntry>> {
        let (extent, start) = self.place(block);
        let n_entries = self.block_entries(block);
        let n_bytes = (n_entries * ENTRY_BYTES) as u64;
        let bytes = read(extent, start..start + n_bytes)?;
        let (uppers, rest) = bytes.split_at(8 * n_entries);
        let (lowers, rest) = rest.split_at(8 * n_entries);
        let (rows, contents) = rest.split_at(4 * n_entries);
        let (uppers, lowers, contents) = (words(uppers), words(lowers), words(contents));
        let entry = |(at, row): (usize, &[u8])| {
            let row = u32::from_le_bytes(row.try_into().expect("four bytes"));
            KeyEntry {
                hash: KeyHash { upper: uppers[at], lower: lowers[at] },
                row: RowNumber::new(row & !GONE),
                is_gone: row & GONE != 0,
                content: contents[at],
            }
        };
        Ok(rows.chunks_exact(4).enumerate().map(entry).collect())
    }

    /// The blocks that may hold a hash: more than one where upper halves collide at a fence.
    fn blocks_of(&self, hash: KeyHash) -> Range<usize> {
        let end = self.fences.partition_point(|&fence| fence <= hash.upper);
        let first = self.fences.partition_point(|&fence| fence < hash.upper);
        first.saturating_sub(1)..end
    }

    /// The entries of some hashes, which are sorted; those that are there, with their places.
    fn find(
        &self,
        hashes: &[KeyHash],
        places: &[u32],
        read: &ReadPages<'_>,
    ) -> Result<Vec<(u32, KeyEntry)>> {
        // Which of the hashes each block is asked for: those of several blocks are asked of each.
        let mut asked: Vec<(usize, Range<usize>)> = Vec::new();
        let mut at = 0;
        while at < places.len() {
            let blocks = self.blocks_of(hashes[places[at] as usize]);
            let next_fence = self.fences.get(blocks.end).copied().unwrap_or(u64::MAX);
            let own_fence = blocks.end.checked_sub(1).map_or(0, |last| self.fences[last]);
            // What lies between two fences is in the block of the first.
            let n_own = places[at + 1..].partition_point(|&place| {
                let upper = hashes[place as usize].upper;
                upper < next_fence && upper > own_fence
            });
            let end = at + 1 + n_own;
            for block in blocks {
                match asked.last_mut().filter(|(own, range)| *own == block && range.end == at) {
                    Some((_, range)) => range.end = end,
                    None => asked.push((block, at..end)),
                }
            }
            at = end;
        }
        let found: Vec<Vec<(u32, KeyEntry)>> = asked
            .into_par_iter()
            .map(|(block, range)| self.find_in(block, hashes, &places[range], read))
            .collect::<Result<_>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    fn find_in(
        &self,
        block: usize,
        hashes: &[KeyHash],
        places: &[u32],
        read: &ReadPages<'_>,
    ) -> Result<Vec<(u32, KeyEntry)>> {
        let uppers = self.uppers(block, read)?;
        let mut at = 0;
        let is_there = places.iter().any(|&place| {
            let upper = hashes[place as usize].upper;
            at += n_below(&uppers[at..], upper);
            uppers.get(at) == Some(&upper)
        });
        if !is_there {
            return Ok(Vec::new());
        }
        let entries = self.entries(block, read)?;
        let found = places.iter().filter_map(|&place| {
            let at = entries.binary_search_by_key(&hashes[place as usize], |own| own.hash);
            Some((place, entries[at.ok()?]))
        });
        Ok(found.collect())
    }
}

/// How many of some ascending numbers are below one that is not far.
fn n_below(numbers: &[u64], end: u64) -> usize {
    const NEAR: usize = 16;
    let near = numbers.iter().take(NEAR).take_while(|&&own| own < end).count();
    match near < NEAR {
        true => near,
        false => near + numbers[near..].partition_point(|&own| own < end),
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    bytes.chunks_exact(8).map(word).collect()
}

/// What is known of each of some hashes, which are sorted: the newest entry. `runs` come from the
/// oldest to the newest.
pub(super) fn find(
    runs: &[KeyRun],
    hashes: &[KeyHash],
    read: &ReadPages<'_>,
) -> Result<Vec<Option<KeyEntry>>> {
    let mut known = vec![None; hashes.len()];
    let mut open: Vec<u32> = (0..hashes.len() as u32).collect();
    for run in runs.iter().rev() {
        for (place, entry) in run.find(hashes, &open, read)? {
            known[place as usize] = Some(entry);
        }
        open.retain(|&place| known[place as usize].is_none());
        if open.is_empty() {
            break;
        }
    }
    Ok(known)
}

/// The newest entries of all keys of some runs, by hash; those of rows that are gone too.
pub(super) struct NewestKeys<'r> {
    runs: Vec<Cursor<'r>>,
    read: &'r ReadPages<'r>,
}

struct Cursor<'r> {
    run: &'r KeyRun,
    next_block: usize,
    entries: std::vec::IntoIter<KeyEntry>,
    head: Option<KeyEntry>,
}

impl<'r> NewestKeys<'r> {
    /// Of runs from the oldest to the newest.
    pub(super) fn new(runs: &'r [KeyRun], read: &'r ReadPages<'r>) -> Result<NewestKeys<'r>> {
        NewestKeys::from(runs, KeyHash::LEAST, read)
    }

    /// The same from a hash on.
    pub(super) fn from(
        runs: &'r [KeyRun],
        first: KeyHash,
        read: &'r ReadPages<'r>,
    ) -> Result<NewestKeys<'r>> {
        let cursor = |run: &'r KeyRun| -> Result<Cursor<'r>> {
            let entries = Vec::new().into_iter();
            let next_block = run.blocks_of(first).start;
            let mut cursor = Cursor { run, next_block, entries, head: None };
            cursor.step(read)?;
            while cursor.head.is_some_and(|entry| entry.hash < first) {
                cursor.step(read)?;
            }
            Ok(cursor)
        };
        Ok(NewestKeys { runs: runs.iter().map(cursor).collect::<Result<_>>()?, read })
    }

    fn newest(&mut self) -> Result<Option<KeyEntry>> {
        let heads = self.runs.iter().filter_map(|cursor| cursor.head);
        let Some(least) = heads.map(|entry| entry.hash).min() else { return Ok(None) };
        let mut newest = None;
        for cursor in &mut self.runs {
            if cursor.head.is_some_and(|own| own.hash == least) {
                newest = cursor.head;
                cursor.step(self.read)?;
            }
        }
        Ok(newest)
    }
}

impl Cursor<'_> {
    fn step(&mut self, read: &ReadPages<'_>) -> Result<()> {
        self.head = self.entries.next();
        if self.head.is_none() && self.next_block < self.run.n_blocks() {
            self.entries = self.run.entries(self.next_block, read)?.into_iter();
            self.next_block += 1;
            self.head = self.entries.next();
        }
        Ok(())
    }
}

impl Iterator for NewestKeys<'_> {
    type Item = Result<KeyEntry>;

    fn next(&mut self) -> Option<Result<KeyEntry>> {
        self.newest().transpose()
    }
}

/// The runs that are due to be merged, if any: from this one to the newest.
pub(super) fn due(runs: &[KeyRun]) -> Option<usize> {
    let size = |run: &KeyRun| (run.n_entries / BLOCK_ENTRIES as u64 + 1).ilog(MAX_ALIKE as u64);
    let newest = size(runs.last()?);
    let n_alike = runs.iter().rev().take_while(|run| size(run) <= newest).count();
    (n_alike > MAX_ALIKE).then(|| runs.len() - n_alike)
}

#[cfg(test)]
mod tests;
