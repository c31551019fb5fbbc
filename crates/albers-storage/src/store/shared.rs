//! What a store, its changes and its snapshots share.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::catalogue::{CATALOGUE, Format, Head};
use super::disk::{Disk, Held};
use super::engine::{Engine, caught, is_damage};
use super::error::StoreError;
use super::page_file::PageFile;
use super::space::{Run, Space};
use crate::{Result, StorageError};

/// For what a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// For reading and changing, by one process.
    Write,
    /// For reading, by any number of processes while none writes.
    Read,
}

/// An open store. The fields are dropped in this order: the folder is let go when all is closed.
pub(super) struct Shared {
    pub(super) database: Engine,
    pub(super) pages: PageFile,
    /// As it was when the store was opened.
    pub(super) head: Head,
    pub(super) format: Format,
    pub(super) access: Access,
    pub(super) cache_bytes: usize,
    pub(super) failed: AtomicBool,
    pub(super) ledger: Mutex<Ledger>,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) held: Held,
}

impl Shared {
    /// Refuses further work after a failure.
    pub(super) fn expect_usable(&self) -> Result<()> {
        if self.failed.load(Ordering::Acquire) {
            return Err(StoreError::Failed { folder: self.disk.path("") }.into());
        }
        Ok(())
    }

    /// Refuses further work from now on where `result` is a failure.
    pub(super) fn or_fail<T>(&self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.failed.store(true, Ordering::Release);
        }
        result
    }

    /// Lets the engine work, names the file in what it says, and refuses further work after what it cannot recover from.
    pub(super) fn engine<T, E: Into<redb::Error>>(
        &self,
        work: impl FnOnce() -> std::result::Result<T, E>,
    ) -> Result<T> {
        caught(work).map_err(|error| {
            if !matches!(error, redb::Error::ValueTooLarge(_)) {
                self.failed.store(true, Ordering::Release);
            }
            engine_error(&*self.disk, error)
        })
    }

    /// The ledger of this process.
    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // A panic inside can only leave pages unused.
        self.ledger.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn busy(&self, what: &'static str) -> StorageError {
        StoreError::Busy { folder: self.disk.path(""), what }.into()
    }
}

impl Debug for Shared {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        // Neither keys nor values may ever be shown.
        write!(formatter, "store {} for {:?}", self.disk.path("").display(), self.access)
    }
}

/// What the engine says, with the name of the file.
pub(super) fn engine_error(disk: &dyn Disk, error: redb::Error) -> StorageError {
    let path = disk.path(CATALOGUE);
    match error {
        redb::Error::Io(source) if !is_damage(&source) => {
            let doing = "use";
            StoreError::Io { path, doing, source }.into()
        }
        redb::Error::PreviousIo | redb::Error::DatabaseClosed => {
            StoreError::Failed { folder: disk.path("") }.into()
        }
        other => StoreError::Damaged { path, what: other.to_string() }.into(),
    }
}

/// Who uses which pages in this process.
///
/// Commits are counted. Pages that the n-th commit freed are used again when no snapshot is left that
/// was taken before it.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) space: Space,
    pub(super) next_extent: u64,
    writing: bool,
    n_commits: u64,
    /// How many snapshots were taken after how many commits.
    snapshots: BTreeMap<u64, usize>,
    /// Pages by the commit that freed them.
    freed: BTreeMap<u64, Vec<Run>>,
}

impl Ledger {
    pub(super) fn new(space: Space, next_extent: u64) -> Ledger {
        Ledger {
            space,
            next_extent,
            writing: false,
            n_commits: 0,
            snapshots: BTreeMap::new(),
            freed: BTreeMap::new(),
        }
    }

    /// Whether the caller may change the store now, who then says when that ends.
    pub(super) fn begin_writing(&mut self) -> bool {
        !std::mem::replace(&mut self.writing, true)
    }

    /// Lets others change the store.
    pub(super) fn end_writing(&mut self) {
        self.writing = false;
    }

    /// Notes a commit that is durable and the pages that it freed.
    pub(super) fn note_commit(&mut self, freed: Vec<Run>, next_extent: u64) {
        self.n_commits += 1;
        self.next_extent = next_extent;
        self.freed.insert(self.n_commits, freed);
        self.reuse();
    }

    /// Notes a snapshot that is about to be taken; the answer is its number of commits.
    pub(super) fn add_snapshot(&mut self) -> u64 {
        *self.snapshots.entry(self.n_commits).or_insert(0) += 1;
        self.n_commits
    }

    /// Notes that a snapshot is gone.
    pub(super) fn remove_snapshot(&mut self, n_commits: u64) {
        if let Some(count) = self.snapshots.get_mut(&n_commits) {
            *count -= 1;
            if *count == 0 {
                self.snapshots.remove(&n_commits);
            }
        }
        self.reuse();
    }

    fn reuse(&mut self) {
        let oldest = self.snapshots.keys().next().copied().unwrap_or(self.n_commits);
        let kept = self.freed.split_off(&(oldest + 1));
        for run in std::mem::replace(&mut self.freed, kept).into_values().flatten() {
            self.space.give_back(run);
        }
    }
}
