//! Chunks put aside in the spill store, to be read again.
//!
//! A source that can be read only once is put aside in its one pass. What the store keeps of a
//! chunk, numbers with their lowest byte first:
//!
//! ```text
//!   first row (8) | rows (8) | coded columns (4) | column, column, ... | carried columns, by Arrow
//!
//!   column   missing rows: number (8), rows (4 each)
//!            kind (1): 0 ticks       unit (2) | base (8) | number (8) | offsets (4 each)
//!                      1 wide ticks  unit (2) | number (8) | ticks (8 each)
//!                      2 floats      number (8) | floats (8 each)
//!                      3 names       number (8) | lengths (4 each) | texts
//!                                    number (8) | places (4 each)
//! ```
//!
//! Guarantee: a chunk reads back as it was put, or an error says why not.
//! Cost: one copy of the bytes each way; memory for as many chunks as there are threads.

mod bytes;

use albers_storage::StorageError;
use albers_storage::spill::{Block, SpillStore};
use albers_storage::threads;
use rayon::prelude::*;

use super::{Scan, SourceChunk};
use crate::Result;

/// Chunks in a spill store, in the order in which they were put.
pub struct SpilledChunks<'a> {
    store: &'a SpillStore,
    blocks: Vec<Block>,
    n_rows: u64,
}

/// The bytes of a chunk, as the store keeps them.
pub struct SpillableChunk {
    bytes: Vec<u8>,
    n_rows: u64,
}

impl SpillableChunk {
    /// The bytes of a chunk. Several threads can make them before one puts them.
    pub fn of(chunk: &SourceChunk) -> SpillableChunk {
        SpillableChunk { bytes: bytes::to_bytes(chunk), n_rows: chunk.n_rows as u64 }
    }
}

impl<'a> SpilledChunks<'a> {
    /// No chunks yet.
    pub fn new(store: &'a SpillStore) -> SpilledChunks<'a> {
        SpilledChunks { store, blocks: Vec::new(), n_rows: 0 }
    }

    /// Puts a chunk aside.
    pub fn put(&mut self, chunk: SourceChunk) -> Result<()> {
        let bytes = SpillableChunk::of(&chunk);
        // Its memory is free before the bytes ask for some.
        drop(chunk);
        self.put_bytes(bytes)
    }

    /// Puts a chunk aside whose bytes are made.
    pub fn put_bytes(&mut self, chunk: SpillableChunk) -> Result<()> {
        self.blocks.push(self.store.put(chunk.bytes)?);
        self.n_rows += chunk.n_rows;
        Ok(())
    }

    /// Rows of all chunks.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// The chunks in their order; they stay.
    pub fn scan(&self) -> Box<dyn Scan + '_> {
        let blocks = self.blocks.iter().map(|block| move |store: &SpillStore| store.read(block));
        Box::new(SpilledScan { store: self.store, blocks })
    }

    /// The chunks in their order; what they take in the store is free as soon as they are read.
    pub fn into_scan(self) -> Box<dyn Scan + 'a> {
        let blocks =
            self.blocks.into_iter().map(|block| move |store: &SpillStore| store.take(block));
        Box::new(SpilledScan { store: self.store, blocks })
    }
}

/// Chunks on their way back; each block knows how its bytes are got.
struct SpilledScan<'a, I> {
    store: &'a SpillStore,
    blocks: I,
}

impl<I, F> Scan for SpilledScan<'_, I>
where
    I: Iterator<Item = F> + Send,
    F: FnOnce(&SpillStore) -> albers_storage::Result<Vec<u8>> + Send,
{
    fn next_round(&mut self) -> Result<Vec<SourceChunk>> {
        let n_threads = threads::of_pool();
        let round: Vec<F> = self.blocks.by_ref().take(n_threads).collect();
        let store = self.store;
        round
            .into_par_iter()
            .map(|block| {
                let bytes = block(store)?;
                bytes::from_bytes(&bytes).ok_or_else(|| damaged(store).into())
            })
            .collect()
    }
}

fn damaged(store: &SpillStore) -> StorageError {
    let source = std::io::ErrorKind::InvalidData.into();
    StorageError::SpillRead { folder: store.folder().to_owned(), source }
}
