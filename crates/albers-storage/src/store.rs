//! A store that survives: a folder of records and large byte strings, changed in whole batches.
//!
//! ```text
//!   folder (0700)
//!   |- lock             held by one writer or by many readers
//!   |- catalogue.redb   records, where extents stand, which page file is in use; the engine is redb
//!   |- pages.N          extents: large byte strings in pages with checksums
//! ```
//!
//! A commit syncs the pages first and commits the catalogue last, so that the catalogue never names
//! pages that are not there. Pages are written to free places only; places that a commit freed are
//! used again when it is durable and no snapshot sees them. What is free follows from the catalogue.
//!
//! Guarantee: after a crash or a power cut at any moment the store opens as it was after the last
//! commit, or after the one that was under way, whole; damage of the catalogue is found when it is
//! opened, damaged pages are found when they are read.
//! Cost: a commit syncs one file, and two when it wrote extents; opening reads all of the catalogue,
//! some times (16 ms for 17 MB); memory is the engine's cache.
//! Departures: file systems that forget writes whose sync failed, and disks that sync nothing, are
//! not survived. After a crash a damaged last commit cannot be told from one that was never finished,
//! and the one before it is read.

mod catalogue;
mod changes;
mod check;
mod compact;
pub mod disk;
mod engine;
mod error;
mod opening;
mod page_file;
mod pages;
mod shared;
mod snapshot;
mod space;

use std::fmt::{self, Debug, Formatter};
use std::path::Path;
use std::sync::Arc;

pub use catalogue::{EachRecord, Format, Table};
pub use changes::Changes;
pub use check::CheckProblem;
pub use error::StoreError;
pub use page_file::Extent;
pub use pages::Pages;
pub use shared::Access;
pub use snapshot::Snapshot;

use catalogue::CATALOGUE;
use disk::{Disk, FolderDisk, Opening};
use opening::io_error;
use shared::Shared;

use crate::Result;

/// The memory of the engine's cache when nobody says otherwise.
pub const CACHE_BYTES: usize = 16 * 1024 * 1024;

/// An open store.
pub struct Store {
    shared: Arc<Shared>,
}

impl Store {
    /// Creates a store in a folder that does not exist or is empty.
    pub fn create(folder: &Path, format: Format) -> Result<Store> {
        if folder.is_dir() {
            // A folder that is refused stays as open to others as it was.
            opening::check_empty(&FolderDisk::new(folder))?;
        }
        let disk = FolderDisk::create(folder)
            .map_err(|source| io_error(folder.to_owned(), "create", source))?;
        Store::create_on(Arc::new(disk), format, CACHE_BYTES)
    }

    /// Opens the store in a folder.
    pub fn open(folder: &Path, format: Format, access: Access) -> Result<Store> {
        Store::open_on(Arc::new(FolderDisk::new(folder)), format, access, CACHE_BYTES)
    }

    /// Creates a store on an empty disk, with so much memory for the engine's cache.
    pub fn create_on(disk: Arc<dyn Disk>, format: Format, cache_bytes: usize) -> Result<Store> {
        Ok(Store { shared: Arc::new(opening::create(disk, format, cache_bytes)?) })
    }

    /// Opens the store on a disk, with so much memory for the engine's cache.
    pub fn open_on(
        disk: Arc<dyn Disk>,
        format: Format,
        access: Access,
        cache_bytes: usize,
    ) -> Result<Store> {
        // A folder that is no store is left as it is, without a lock.
        opening::open_catalogue(&*disk, Opening::Read)?;
        let held = opening::hold(&*disk, access)?;
        let shared = opening::open(disk, held, format, access, cache_bytes)?;
        Ok(Store { shared: Arc::new(shared) })
    }

    /// Begins a batch of changes; there is one at a time.
    pub fn begin(&self) -> Result<Changes> {
        Changes::new(&self.shared)
    }

    /// The store as it is after the last commit.
    pub fn snapshot(&self) -> Result<Snapshot> {
        Snapshot::new(&self.shared)
    }

    /// What reads extents of the last commit on any thread.
    pub fn pages(&self) -> Result<Pages> {
        Pages::new(&self.shared, &Default::default())
    }

    /// Reads everything and reports what is not as it was written; there must be no batch of changes
    /// under way.
    pub fn check(&self, report: &mut dyn FnMut(CheckProblem)) -> Result<()> {
        check::check(&self.shared, report)
    }

    /// Rewrites the store without what was deleted, and overwrites the old files: afterwards none of
    /// them holds deleted bytes. There must be no batch of changes under way and no snapshot left.
    pub fn compact(self) -> Result<Store> {
        let shared = Arc::try_unwrap(self.shared)
            .map_err(|shared| shared.busy("a snapshot or a batch of changes is still in use"))?;
        Ok(Store { shared: Arc::new(compact::compact(shared)?) })
    }

    /// The version of what is in the store, as recorded when it was created.
    pub fn version(&self) -> u32 {
        self.shared.head.version
    }

    /// How long the files of the store are, together.
    pub fn n_bytes(&self) -> Result<u64> {
        let disk = &self.shared.disk;
        let length = || disk.open(CATALOGUE, Opening::Read)?.n_bytes();
        let catalogue_bytes =
            length().map_err(|source| io_error(disk.path(CATALOGUE), "read", source))?;
        Ok(catalogue_bytes + self.shared.pages.n_bytes()?)
    }
}

impl Debug for Store {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.shared)
    }
}
