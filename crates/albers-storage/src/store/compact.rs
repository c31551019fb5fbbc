//! Rewrites a store without what was deleted.
//!
//! ```text
//!   pages.1, catalogue.redb                              the old one
//!   pages.1, catalogue.redb, pages.2, catalogue.new      both, the new one is synced
//!   pages.1, catalogue.redb = new, pages.2               the rename: the one atomic point
//!   catalogue.redb, pages.2                              the old one is overwritten and removed
//! ```
//!
//! Guarantee: a crash at any moment leaves the old or the new store; the next open for writing
//! overwrites and removes the files of the other. After it, no file of the store holds bytes that
//! were deleted before.
//! Cost: reads and writes all that is in use once, and overwrites all old files once.

use redb::WriteTransaction;
use redb::{Database, ReadTransaction, ReadableDatabase as _, TableDefinition, TableHandle as _};

use super::catalogue::{CATALOGUE, EXTENTS, Head, OWN_PREFIX, extent_key, extents_of, slot_value};
use super::check::check_catalogue;
use super::disk::Opening;
use super::engine::EngineResult;
use super::error::StoreError;
use super::opening::{io_error, open, publish_catalogue, wipe, write_catalogue};
use super::page_file::{FIRST_PAGE, PageFile, Slot};
use super::shared::{Access, Shared};
use super::snapshot::open_table;
use crate::{Result, StorageError};

/// The same store without what was deleted.
pub(super) fn compact(shared: Shared) -> Result<Shared> {
    shared.expect_usable()?;
    if shared.access == Access::Read {
        return Err(StoreError::ReadOnly { folder: shared.disk.path("") }.into());
    }
    // Damage that is copied would look whole.
    if let Some(what) = check_catalogue(&shared)? {
        return Err(StoreError::Damaged { path: shared.disk.path(CATALOGUE), what }.into());
    }
    prepare(&shared)?;
    let Shared { database, pages, format, cache_bytes, disk, held, .. } = shared;
    // The engine writes to its file a last time.
    drop(database);
    let old_catalogue = disk
        .open(CATALOGUE, Opening::Write)
        .map_err(|source| io_error(disk.path(CATALOGUE), "open", source))?;
    publish_catalogue(&*disk)?;
    // The old catalogue has no name any more and goes when nobody has it open.
    wipe(&*old_catalogue)
        .map_err(|source| io_error(disk.path(CATALOGUE), "overwrite the old", source))?;
    drop((old_catalogue, pages));
    // The old page file is a leftover now.
    open(disk, held, format, Access::Write, cache_bytes)
}

/// Writes the new files beside the old ones and syncs them.
fn prepare(shared: &Shared) -> Result<()> {
    let disk = &*shared.disk;
    let transaction = shared.engine(|| shared.database.begin_read())?;
    let head = shared.engine(|| Head::read(&transaction))?.ok_or_else(|| no_head(shared))?;
    let head = Head { generation: head.generation + 1, ..head };
    let pages = PageFile::create(disk, head.generation, head.store_id)?;
    let extents = copy_extents(shared, &transaction, &pages)?;
    pages.sync()?;
    write_catalogue(disk, shared.cache_bytes, |database: &Database| {
        let new = database.begin_write()?;
        head.write(&new)?;
        let mut table = new.open_table(EXTENTS)?;
        for (number, slot) in extents {
            table.insert(extent_key(number).as_slice(), slot_value(slot).as_slice())?;
        }
        drop(table);
        copy_tables(&transaction, &new)?;
        Ok(new.commit()?)
    })
}

/// Copies all extents in the order of their numbers, without gaps, and says where they stand then.
fn copy_extents(
    shared: &Shared,
    transaction: &ReadTransaction,
    new: &PageFile,
) -> Result<Vec<(u64, Slot)>> {
    let mut extents = Vec::new();
    let mut is_readable = true;
    if let Some(table) = open_table(shared, transaction, EXTENTS)? {
        let mut note = |record| match record {
            Some(extent) => extents.push(extent),
            None => is_readable = false,
        };
        shared.engine(|| extents_of(&table, &mut note))?;
    }
    if !is_readable {
        return Err(no_head(shared));
    }
    let mut first_page = FIRST_PAGE;
    for (number, slot) in &mut extents {
        let bytes = shared.pages.read(*number, *slot, 0..slot.n_bytes)?;
        *slot = Slot { first_page, n_bytes: slot.n_bytes };
        new.write(*number, *slot, &bytes)?;
        first_page += slot.run().n_pages;
    }
    Ok(extents)
}

/// Copies the tables of the store's user.
fn copy_tables(old: &ReadTransaction, new: &WriteTransaction) -> EngineResult<()> {
    for handle in old.list_tables()? {
        if handle.name().starts_with(OWN_PREFIX) {
            continue;
        }
        let definition: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new(handle.name());
        let mut to = new.open_table(definition)?;
        for record in old.open_table(definition)?.range::<&[u8]>(..)? {
            let (key, value) = record?;
            to.insert(key.value(), value.value())?;
        }
    }
    Ok(())
}

fn no_head(shared: &Shared) -> StorageError {
    let what = "its own records cannot be read".to_owned();
    StoreError::Damaged { path: shared.disk.path(CATALOGUE), what }.into()
}
