//! A store as it was after a commit, for as long as somebody wants to see it.

use std::fmt::{self, Debug, Formatter};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use redb::{ReadTransaction, ReadableDatabase as _, TableError};

use super::catalogue::{
    CATALOGUE, Definition, EXTENTS, EachRecord, ReadTable, Table, next_record, slot_in, value_of,
};
use super::error::StoreError;
use super::page_file::{Extent, Slot};
use super::shared::Shared;
use crate::Result;

/// The store as it was when the snapshot was taken; any thread may read it, also while others commit.
///
/// While it lives, no page that it can see is used again, and the store stays open.
pub struct Snapshot {
    transaction: ReadTransaction,
    extents: Option<ReadTable>,
    /// Tables that were opened before: looking a table up costs as much as looking a key up.
    tables: Mutex<Vec<(Table, Arc<ReadTable>)>>,
    seen: Seen,
}

/// Tells the store when the snapshot is gone, after everything else of it is.
struct Seen {
    shared: Arc<Shared>,
    n_commits: u64,
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.shared.ledger().remove_snapshot(self.n_commits);
    }
}

impl Snapshot {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Snapshot> {
        shared.expect_usable()?;
        let n_commits = shared.ledger().add_snapshot();
        let seen = Seen { shared: Arc::clone(shared), n_commits };
        let transaction = shared.engine(|| shared.database.begin_read())?;
        let extents = open_table(shared, &transaction, EXTENTS)?;
        Ok(Snapshot { transaction, extents, tables: Mutex::default(), seen })
    }

    /// The value of a key, if it has one.
    pub fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(table) = self.table(table)? else { return Ok(None) };
        self.seen.shared.engine(|| value_of(&*table, key))
    }

    /// Shows keys and values in the order of the keys, from the first that is not below `start`,
    /// until there is none left or `each` wants no more.
    pub fn for_each(
        &self,
        table: Table,
        start: Option<&[u8]>,
        each: &mut EachRecord<'_>,
    ) -> Result<()> {
        let Some(table) = self.table(table)? else { return Ok(()) };
        let shared = &self.seen.shared;
        let mut records = shared.engine(|| table.range(start.unwrap_or_default()..))?;
        while let Some((key, value)) = shared.engine(|| next_record(&mut records))? {
            if each(key.value(), value.value())?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// All bytes of an extent.
    pub fn read(&self, extent: Extent) -> Result<Vec<u8>> {
        self.read_range(extent, 0..extent.n_bytes)
    }

    /// Some bytes of an extent, fewer where it ends before; only the pages that hold them are read
    /// and checked.
    pub fn read_range(&self, extent: Extent, range: Range<u64>) -> Result<Vec<u8>> {
        let slot = self.slot(extent)?;
        self.seen.shared.pages.read(extent.number, slot, range)
    }

    fn slot(&self, extent: Extent) -> Result<Slot> {
        let shared = &self.seen.shared;
        let slot = match &self.extents {
            Some(table) => shared.engine(|| slot_in(table, extent.number))?,
            None => None,
        };
        expect_slot(shared, extent, slot)
    }

    pub(super) fn extents(&self) -> Option<&ReadTable> {
        self.extents.as_ref()
    }

    fn table(&self, table: Table) -> Result<Option<Arc<ReadTable>>> {
        let mut tables = self.tables.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, opened)) = tables.iter().find(|(name, _)| *name == table) {
            return Ok(Some(Arc::clone(opened)));
        }
        let opened = open_table(&self.seen.shared, &self.transaction, table.definition())?;
        let Some(opened) = opened.map(Arc::new) else { return Ok(None) };
        tables.push((table, Arc::clone(&opened)));
        Ok(Some(opened))
    }
}

/// A table of the catalogue, if it is there.
pub(super) fn open_table(
    shared: &Shared,
    transaction: &ReadTransaction,
    definition: Definition,
) -> Result<Option<ReadTable>> {
    shared.engine(|| match transaction.open_table(definition) {
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        opened => opened.map(Some),
    })
}

/// The slot of an extent, if it is there and as long as whoever asks believes.
pub(super) fn expect_slot(shared: &Shared, extent: Extent, slot: Option<Slot>) -> Result<Slot> {
    match slot {
        Some(slot) if slot.n_bytes == extent.n_bytes => Ok(slot),
        _ => {
            let path = shared.disk.path(CATALOGUE);
            Err(StoreError::NoExtent { path, extent: extent.number }.into())
        }
    }
}

impl Debug for Snapshot {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "snapshot of {:?}", self.seen.shared)
    }
}
