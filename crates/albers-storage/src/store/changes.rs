//! A batch of changes: all of them happen, or none.
//!
//! ```text
//!   write pages to free slots -> sync the page file -> commit the catalogue (the one atomic point)
//! ```
//!
//! Guarantee: no page that a committed state or a snapshot can see is ever written to.

use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLockWriteGuard};

use redb::{ReadableTable as _, WriteTransaction};

use super::catalogue::{
    EXTENTS, EachRecord, Table, extent_key, next_record, slot_in, slot_value, value_of,
    write_next_extent,
};
use super::engine::EngineResult;
use super::error::StoreError;
use super::page_file::{Extent, Slot, n_pages_of};
use super::pages::{Pages, Written};
use super::shared::{Access, Shared};
use super::snapshot::expect_slot;
use super::space::Run;
use crate::Result;

/// How many bytes of records are copied at once for whoever looks at all of a table.
const SCAN_BYTES: usize = 64 * 1024;

/// Keys and values.
type Copies = Vec<(Vec<u8>, Vec<u8>)>;

/// A batch of changes to a store; dropping it without a commit undoes all of them.
pub struct Changes {
    /// There until the end.
    transaction: Option<WriteTransaction>,
    shared: Arc<Shared>,
    next_extent: u64,
    /// Extents that nobody else knows yet.
    written: Written,
    /// Pages that others can still see.
    freed: Vec<Run>,
}

impl Changes {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Changes> {
        shared.expect_usable()?;
        if shared.access == Access::Read {
            return Err(StoreError::ReadOnly { folder: shared.disk.path("") }.into());
        }
        let next_extent = {
            let mut ledger = shared.ledger();
            if !ledger.begin_writing() {
                return Err(shared.busy("another batch of changes is under way"));
            }
            ledger.next_extent
        };
        let mut changes = Changes {
            transaction: None,
            shared: Arc::clone(shared),
            next_extent,
            written: Written::default(),
            freed: Vec::new(),
        };
        changes.transaction = Some(shared.engine(|| shared.database.begin_write())?);
        Ok(changes)
    }

    /// The value of a key, if it has one.
    pub fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.shared.expect_usable()?;
        let table = self.shared.engine(|| self.transaction().open_table(table.definition()))?;
        self.shared.engine(|| value_of(&table, key))
    }

    /// Gives a key a value, in the place of the one it had. Values are small: one of a few KiB and more
    /// belongs into an extent, and one of exactly 2^n bytes would take twice as much of the file.
    pub fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        self.shared.expect_usable()?;
        let mut table = self.shared.engine(|| self.transaction().open_table(table.definition()))?;
        self.shared.engine(|| table.insert(key, value))?;
        Ok(())
    }

    /// Gives many keys their values; the table is looked up once for all of them.
    pub fn put_all<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        table: Table,
        records: impl IntoIterator<Item = (K, V)>,
    ) -> Result<()> {
        self.shared.expect_usable()?;
        let mut table = self.shared.engine(|| self.transaction().open_table(table.definition()))?;
        for (key, value) in records {
            self.shared.engine(|| table.insert(key.as_ref(), value.as_ref()))?;
        }
        Ok(())
    }

    /// Removes a key and says whether it was there.
    pub fn remove(&mut self, table: Table, key: &[u8]) -> Result<bool> {
        self.shared.expect_usable()?;
        let mut table = self.shared.engine(|| self.transaction().open_table(table.definition()))?;
        let removed = self.shared.engine(|| table.remove(key))?;
        Ok(removed.is_some())
    }

    /// Shows keys and values, those of this batch too, in the order of the keys, from the first that
    /// is not below `start`, until there is none left or `each` wants no more.
    pub fn for_each(
        &self,
        table: Table,
        start: Option<&[u8]>,
        each: &mut EachRecord<'_>,
    ) -> Result<()> {
        let mut start = start.unwrap_or_default().to_vec();
        loop {
            // The table is closed again before anybody sees a record, who may want to look into it.
            let (records, more) = self.some_records(table, &start)?;
            for (key, value) in &records {
                if each(key, value)?.is_break() {
                    return Ok(());
                }
            }
            match records.into_iter().next_back() {
                Some((last, _)) if more => start = last,
                _ => return Ok(()),
            }
            // The next key in the order of bytes.
            start.push(0);
        }
    }

    /// The first records that are not below `start`, and whether there may be more.
    fn some_records(&self, table: Table, start: &[u8]) -> Result<(Copies, bool)> {
        self.shared.expect_usable()?;
        let table = self.shared.engine(|| self.transaction().open_table(table.definition()))?;
        let mut records = Vec::new();
        let mut n_bytes = 0;
        let mut range = self.shared.engine(|| table.range(start..))?;
        while let Some((key, value)) = self.shared.engine(|| next_record(&mut range))? {
            let (key, value) = (key.value().to_vec(), value.value().to_vec());
            n_bytes += key.len() + value.len();
            records.push((key, value));
            if n_bytes >= SCAN_BYTES {
                return Ok((records, true));
            }
        }
        Ok((records, false))
    }

    /// Writes a byte string and says how to find it again.
    pub fn write(&mut self, bytes: &[u8]) -> Result<Extent> {
        self.shared.expect_usable()?;
        let extent = Extent { number: self.next_extent, n_bytes: bytes.len() as u64 };
        let n_pages = n_pages_of(extent.n_bytes);
        let first_page = self.shared.ledger().space.take(n_pages);
        self.next_extent += 1;
        let slot = Slot { first_page, n_bytes: extent.n_bytes };
        self.written().insert(extent.number, slot);
        self.shared.or_fail(self.shared.pages.write(extent.number, slot, bytes))?;
        let mut table = self.shared.engine(|| self.transaction().open_table(EXTENTS))?;
        let key = extent_key(extent.number);
        self.shared.engine(|| table.insert(key.as_slice(), slot_value(slot).as_slice()))?;
        Ok(extent)
    }

    /// All bytes of an extent, of this batch or of an earlier one.
    pub fn read(&self, extent: Extent) -> Result<Vec<u8>> {
        self.read_range(extent, 0..extent.n_bytes)
    }

    /// Some bytes of an extent, fewer where it ends before; only the pages that hold them are read
    /// and checked.
    pub fn read_range(&self, extent: Extent, range: Range<u64>) -> Result<Vec<u8>> {
        let slot = self.slot(extent)?;
        self.shared.pages.read(extent.number, slot, range)
    }

    /// Frees an extent.
    pub fn free(&mut self, extent: Extent) -> Result<()> {
        let slot = self.slot(extent)?;
        let mut table = self.shared.engine(|| self.transaction().open_table(EXTENTS))?;
        let key = extent_key(extent.number);
        drop(self.shared.engine(|| table.remove(key.as_slice()))?);
        drop(table);
        let written = self.written().remove(&extent.number);
        match written {
            Some(slot) => self.shared.ledger().space.give_back(slot.run()),
            None => self.freed.push(slot.run()),
        }
        Ok(())
    }

    /// Makes the changes durable: afterwards all of them survive a crash. After an error it is known
    /// at the next open whether all of them happened or none.
    pub fn commit(mut self) -> Result<()> {
        self.shared.expect_usable()?;
        let transaction = self.transaction.take().expect("the transaction is there until the end");
        let wrote = self.next_extent > self.shared.ledger().next_extent;
        if wrote {
            if !self.written().is_empty() {
                self.shared.or_fail(self.shared.pages.sync())?;
            }
            self.shared.engine(|| write_next_extent(&transaction, self.next_extent))?;
        }
        self.shared.engine(|| transaction.commit())?;
        self.written().clear();
        let freed = std::mem::take(&mut self.freed);
        self.shared.ledger().note_commit(freed, self.next_extent);
        Ok(())
    }

    /// What reads extents on any thread, also those that this batch will still write.
    pub fn pages(&self) -> Result<Pages> {
        Pages::new(&self.shared, &self.written)
    }

    fn written(&self) -> RwLockWriteGuard<'_, HashMap<u64, Slot>> {
        self.written.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, extent: Extent) -> Result<Slot> {
        self.shared.expect_usable()?;
        let table = self.shared.engine(|| self.transaction().open_table(EXTENTS))?;
        let slot = self.shared.engine(|| slot_in(&table, extent.number))?;
        expect_slot(&self.shared, extent, slot)
    }

    fn transaction(&self) -> &WriteTransaction {
        self.transaction.as_ref().expect("the transaction is there until the end")
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let transaction = self.transaction.take();
        // What cannot be undone over damaged bytes is undone by the next open.
        let _ = self.shared.engine(|| {
            drop(transaction);
            EngineResult::Ok(())
        });
        let failed = self.shared.failed.load(Ordering::Acquire);
        let mut ledger = self.shared.ledger();
        // After a failed commit nobody knows whether the pages are in use.
        if !failed {
            let mut written = self.written.write().unwrap_or_else(PoisonError::into_inner);
            for (_, slot) in written.drain() {
                ledger.space.give_back(slot.run());
            }
        }
        ledger.end_writing();
    }
}

impl Debug for Changes {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "changes to {:?}", self.shared)
    }
}
