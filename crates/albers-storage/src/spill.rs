//! Bytes that do not fit in memory: blocks that stay there while the budget allows it.
//!
//! Source: the storage backend of redb and the spill manager of DataFusion, which only moves and
//! counts bytes.
//! Departures: one file without a name for all blocks, whose space is used again, instead of a file
//! per run.
//! Guarantee: a block reads back as it was put, or an error says why not; other users see no file,
//! and none is left behind, however the process ends.
//! Cost: nothing but a reservation for a block in memory; one write and one read for another. While
//! a block is packed or unpacked its packed form needs memory too, which the budget does not count.
//!
//! ```text
//!                      put(bytes)
//!                          │
//!            does the budget grant them, and
//!            does the room kept free remain?
//!               │ yes                │ no
//!               ▼                    ▼
//!   memory  [ block ]         pack, if that pays
//!               │                    │ write
//!               │                    ▼
//!   backend     │       0 ──[ block ][ free ][ block ]── end
//!               │                    │ read, unpack
//!               └───► take, read ◄───┘
//! ```

pub mod backend;
mod packer;
mod space;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::memory_budget::{MemoryBudget, Reservation};
use crate::{Result, StorageError};
use backend::{Backend, FileBackend};
use packer::Packer;
use space::{Extent, Space};

/// What the budget's memory is reserved for.
const WHAT: &str = "blocks in memory";

/// Checks that `folder` is a folder where a file can be created and written.
pub fn check_folder(folder: &Path) -> Result<()> {
    let write_error = |source| StorageError::SpillWrite { folder: folder.to_owned(), source };
    let metadata = std::fs::metadata(folder).map_err(write_error)?;
    if !metadata.is_dir() {
        return Err(write_error(io::ErrorKind::NotADirectory.into()));
    }
    FileBackend::in_folder(folder).write_at(0, b"check").map_err(write_error)
}

/// Blocks in memory and, beyond the budget, at a backend. Any thread may use it at any time.
pub struct SpillStore {
    backend: Arc<dyn Backend>,
    folder: PathBuf,
    budget: MemoryBudget,
    room_bytes: Arc<AtomicUsize>,
    space: Space,
    packer: Arc<Packer>,
    written_bytes: AtomicU64,
    read_bytes: AtomicU64,
}

impl SpillStore {
    /// A store that spills to a file without a name in `folder`, created when first needed.
    pub fn in_folder(folder: &Path, budget: MemoryBudget) -> SpillStore {
        let backend = Box::new(FileBackend::in_folder(folder));
        SpillStore::with_backend(backend, folder.to_owned(), budget)
    }

    /// A store that spills to `backend`; messages name `folder`.
    pub fn with_backend(
        backend: Box<dyn Backend>,
        folder: PathBuf,
        budget: MemoryBudget,
    ) -> SpillStore {
        SpillStore {
            backend: Arc::from(backend),
            folder,
            budget,
            room_bytes: Arc::default(),
            space: Space::default(),
            packer: Arc::default(),
            written_bytes: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
        }
    }

    /// The same store, whose bytes are counted apart: blocks of one can be taken from the other.
    #[must_use]
    pub fn counted_apart(&self) -> SpillStore {
        SpillStore {
            backend: Arc::clone(&self.backend),
            folder: self.folder.clone(),
            budget: self.budget.clone(),
            room_bytes: Arc::clone(&self.room_bytes),
            space: self.space.clone(),
            packer: Arc::clone(&self.packer),
            written_bytes: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
        }
    }

    /// The store, with as much kept free as [`SpillStore::keep_free`] says.
    #[must_use]
    pub fn with_room(self, n_bytes: usize) -> SpillStore {
        self.keep_free(n_bytes);
        self
    }

    /// From now on a block stays in memory only if `n_bytes` of the budget are free beside it, so
    /// that working memory can still be reserved. At first this is zero.
    pub fn keep_free(&self, n_bytes: usize) {
        self.room_bytes.store(n_bytes, Ordering::Relaxed);
    }

    /// Keeps `bytes`, in memory if the budget allows it, else at the backend.
    pub fn put(&self, bytes: Vec<u8>) -> Result<Block> {
        let n_bytes = bytes.len();
        let place = match self.keep(bytes) {
            Ok(kept) => Place::Memory(kept),
            Err(bytes) => Place::Backend(self.write(&bytes)?),
        };
        Ok(Block { n_bytes, place })
    }

    /// The bytes of `block`, whose memory and space are free from then on, also after an error.
    /// The budget no longer counts what is returned: that is the caller's to reserve.
    pub fn take(&self, block: Block) -> Result<Vec<u8>> {
        match block.place {
            Place::Memory(kept) => Ok(kept.bytes),
            Place::Backend(stored) => self.read_stored(&stored, block.n_bytes),
        }
    }

    /// A copy of the bytes of `block`, which stays where it is. The budget does not count the copy.
    pub fn read(&self, block: &Block) -> Result<Vec<u8>> {
        match &block.place {
            Place::Memory(kept) => Ok(kept.bytes.clone()),
            Place::Backend(stored) => self.read_stored(stored, block.n_bytes),
        }
    }

    /// The folder that messages name.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How many bytes were written to the backend, as packed as they were.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed)
    }

    /// How many bytes were read from the backend, as packed as they were.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    /// How much space at the backend the blocks take now, in whole pages.
    pub fn space_bytes(&self) -> u64 {
        self.space.taken_bytes()
    }

    /// How large the backend has become, which is the most disk that was needed.
    pub fn peak_space_bytes(&self) -> u64 {
        self.space.peak_bytes()
    }

    /// The bytes with their reservation, or the bytes alone if they must be spilled.
    fn keep(&self, mut bytes: Vec<u8>) -> std::result::Result<Kept, Vec<u8>> {
        if bytes.is_empty() {
            let reservation = self.budget.reserve_nothing(WHAT);
            return Ok(Kept { bytes: Vec::new(), _reservation: reservation });
        }
        // A little slack is cheaper to reserve than to copy the bytes for.
        let is_slack = bytes.capacity() - bytes.len() > bytes.len() / 8;
        let n_bytes = if is_slack { bytes.len() } else { bytes.capacity() };
        let room_bytes = self.room_bytes.load(Ordering::Relaxed);
        match self.budget.reserve_beside(WHAT, n_bytes, room_bytes) {
            Some(reservation) => {
                if is_slack {
                    bytes.shrink_to_fit();
                }
                Ok(Kept { bytes, _reservation: reservation })
            }
            None => Err(bytes),
        }
    }

    fn write(&self, bytes: &[u8]) -> Result<Stored> {
        let packed = self.packer.pack(bytes);
        let stored = packed.as_deref().unwrap_or(bytes);
        // Dropped, and thus free again, if the write fails.
        let extent = self.space.allocate(stored.len() as u64);
        self.backend
            .write_at(extent.offset(), stored)
            .map_err(|source| StorageError::SpillWrite { folder: self.folder.clone(), source })?;
        self.written_bytes.fetch_add(stored.len() as u64, Ordering::Relaxed);
        Ok(Stored { extent, n_bytes: stored.len(), is_packed: packed.is_some() })
    }

    fn read_stored(&self, stored: &Stored, n_bytes: usize) -> Result<Vec<u8>> {
        assert!(stored.extent.space().is(&self.space), "the block is of another store");
        let read_error = |source| StorageError::SpillRead { folder: self.folder.clone(), source };
        let mut bytes = vec![0; stored.n_bytes];
        self.backend.read_at(stored.extent.offset(), &mut bytes).map_err(read_error)?;
        self.read_bytes.fetch_add(stored.n_bytes as u64, Ordering::Relaxed);
        if stored.is_packed {
            packer::unpack(&bytes, n_bytes).map_err(read_error)
        } else {
            Ok(bytes)
        }
    }
}

impl fmt::Debug for SpillStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpillStore").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// One run of bytes that a [`SpillStore`] keeps. What it takes, in memory or at the backend, is
/// free again on drop.
pub struct Block {
    n_bytes: usize,
    place: Place,
}

impl Block {
    /// How many bytes were put.
    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Whether the bytes are at the backend.
    pub fn is_spilled(&self) -> bool {
        matches!(self.place, Place::Backend(_))
    }
}

/// Without the bytes, which are people's.
impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("n_bytes", &self.n_bytes)
            .field("is_spilled", &self.is_spilled())
            .finish()
    }
}

enum Place {
    Memory(Kept),
    Backend(Stored),
}

/// Bytes that the budget counts.
struct Kept {
    bytes: Vec<u8>,
    _reservation: Reservation,
}

/// Bytes at the backend.
struct Stored {
    extent: Extent,
    /// As packed as they are.
    n_bytes: usize,
    is_packed: bool,
}
