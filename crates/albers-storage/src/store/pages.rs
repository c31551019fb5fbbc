//! Extents for many threads while a batch of changes is under way.

use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use super::page_file::{Extent, Slot};
use super::shared::Shared;
use super::snapshot::Snapshot;
use crate::Result;

/// Extents that nobody but a batch of changes knows yet.
pub(super) type Written = Arc<RwLock<HashMap<u64, Slot>>>;

/// Reads extents of a batch of changes and of what was committed before it, on any thread; those that
/// the batch has freed are still there.
#[derive(Clone)]
pub struct Pages {
    snapshot: Arc<Snapshot>,
    shared: Arc<Shared>,
    written: Written,
}

impl Pages {
    pub(super) fn new(shared: &Arc<Shared>, written: &Written) -> Result<Pages> {
        let snapshot = Arc::new(Snapshot::new(shared)?);
        Ok(Pages { snapshot, shared: Arc::clone(shared), written: Arc::clone(written) })
    }

    /// All bytes of an extent.
    pub fn read(&self, extent: Extent) -> Result<Vec<u8>> {
        self.read_range(extent, 0..extent.n_bytes())
    }

    /// Some bytes of an extent, fewer where it ends before.
    pub fn read_range(&self, extent: Extent, range: Range<u64>) -> Result<Vec<u8>> {
        let own = self.written.read().unwrap_or_else(PoisonError::into_inner);
        match own.get(&extent.number()).copied() {
            Some(slot) => {
                drop(own);
                self.shared.pages.read(extent.number(), slot, range)
            }
            None => self.snapshot.read_range(extent, range),
        }
    }
}

impl Debug for Pages {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "pages of {:?}", self.shared)
    }
}
