//! How a store is created and opened, and what a crash left behind is removed.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use redb::{Database, ReadableDatabase as _, TableError};

use super::catalogue::{CATALOGUE, EXTENTS, Format, Head, MAGIC, NEW_CATALOGUE, extents_of};
use super::disk::{Disk, DiskFile, Held, Hold, Opening};
use super::engine::{self, Engine, EngineResult, caught, is_damage};
use super::error::StoreError;
use super::page_file::{FIRST_PAGE, LAYOUT, PageFile, Slot, page_file_name};
use super::shared::{Access, Ledger, Shared, engine_error};
use super::space::Space;
use crate::secret_bits::{SecretBits as _, SystemBits};
use crate::{Result, StorageError};

/// The file that is locked; it holds nothing.
const LOCK: &str = "lock";
/// How many bytes of a file are overwritten at once.
const WIPE_BYTES: usize = 1024 * 1024;
/// What is said of a catalogue that the engine would have to mend.
pub(super) const NOT_AS_WRITTEN: &str = "a page of it is not as it was written";

/// Refuses a disk that holds anything but what an interrupted creation left.
pub(super) fn check_empty(disk: &dyn Disk) -> Result<()> {
    let names = disk.names().map_err(|source| io_error(disk.path(""), "read", source))?;
    // What an interrupted creation leaves has no catalogue yet.
    if !names.iter().all(|name| name == LOCK || is_leftover(name, None)) {
        return Err(StoreError::NotEmpty { folder: disk.path("") }.into());
    }
    Ok(())
}

/// Creates the files of a store.
pub(super) fn create(disk: Arc<dyn Disk>, format: Format, cache_bytes: usize) -> Result<Shared> {
    check_empty(&*disk)?;
    let held = hold(&*disk, Access::Write)?;
    remove_leftovers(&*disk, None)?;
    let mut bits = SystemBits::new();
    let mut store_id = [0; 16];
    store_id[..8].copy_from_slice(&bits.word()?.to_le_bytes());
    store_id[8..].copy_from_slice(&bits.word()?.to_le_bytes());
    let head = Head::new(format, store_id);
    PageFile::create(&*disk, head.generation, store_id)?.sync()?;
    write_catalogue(&*disk, cache_bytes, |database| {
        let transaction = database.begin_write()?;
        head.write(&transaction)?;
        Ok(transaction.commit()?)
    })?;
    publish_catalogue(&*disk)?;
    open(disk, held, format, Access::Write, cache_bytes)
}

/// Opens the files of a store that is held.
pub(super) fn open(
    disk: Arc<dyn Disk>,
    held: Held,
    format: Format,
    access: Access,
    cache_bytes: usize,
) -> Result<Shared> {
    let opening = if access == Access::Write { Opening::Write } else { Opening::Read };
    let file = open_catalogue(&*disk, opening)?;
    let database = match access {
        Access::Write => {
            // A commit or a rename that a killed process made may be seen and not be on the disk. It
            // must be there before pages that it freed are used again, and files that it replaced go.
            sync_folder(&*disk)?;
            file.sync().map_err(|source| io_error(disk.path(CATALOGUE), "sync", source))?;
            // An engine that may write would mend what is damaged, and nobody would learn of it.
            let unchanged = open_catalogue(&*disk, Opening::Read)?;
            drop(open_whole(&*disk, unchanged, cache_bytes)?);
            let opened = engine::open_to_write(file, cache_bytes);
            opened.map_err(|error| open_error(&*disk, error))?
        }
        Access::Read => open_whole(&*disk, file, cache_bytes)?,
    };
    let head = read_head(&*disk, &database, format)?;
    let pages = PageFile::open(&*disk, head.generation, head.store_id, opening)?;
    let space = match access {
        Access::Write => {
            remove_leftovers(&*disk, Some(head.generation))?;
            free_space(&*disk, &database, &head, &pages)?
        }
        Access::Read => Space::starting_at(FIRST_PAGE),
    };
    let ledger = Mutex::new(Ledger::new(space, head.next_extent));
    let failed = AtomicBool::new(false);
    Ok(Shared { database, pages, head, format, access, cache_bytes, failed, ledger, disk, held })
}

/// Holds the folder, or says who else does.
pub(super) fn hold(disk: &dyn Disk, access: Access) -> Result<Held> {
    let hold = if access == Access::Write { Hold::Exclusive } else { Hold::Shared };
    let held = disk.hold(hold).map_err(|source| io_error(disk.path(LOCK), "lock", source))?;
    let to_write = access == Access::Write;
    Ok(held.ok_or_else(|| StoreError::Taken { folder: disk.path(""), to_write })?)
}

/// Opens the file of the catalogue, if it begins as one.
pub(super) fn open_catalogue(disk: &dyn Disk, opening: Opening) -> Result<Box<dyn DiskFile>> {
    let path = || disk.path(CATALOGUE);
    let file = disk.open(CATALOGUE, opening).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => {
            StorageError::from(StoreError::Missing { folder: disk.path("") })
        }
        _ => io_error(path(), "open", source),
    })?;
    let n_bytes = file.n_bytes().map_err(|source| io_error(path(), "read", source))?;
    let mut magic = vec![0; MAGIC.len().min(n_bytes as usize)];
    file.read_at(0, &mut magic).map_err(|source| io_error(path(), "read", source))?;
    if magic != MAGIC {
        let what = "it does not begin as a catalogue".to_owned();
        return Err(StoreError::Foreign { path: path(), what }.into());
    }
    Ok(file)
}

/// Opens the engine on a file that stays as it is, if every page of the catalogue has its checksum.
/// What a crash left half done is no damage: the engine has put it right in memory before it looks.
fn open_whole(disk: &dyn Disk, file: Box<dyn DiskFile>, cache_bytes: usize) -> Result<Engine> {
    let looked_at = engine::open_to_read(file, cache_bytes, |_| {})
        .and_then(|mut database| Ok((database.is_whole()?, database)));
    match looked_at.map_err(|error| open_error(disk, error))? {
        (true, database) => Ok(database),
        (false, _) => {
            let what = NOT_AS_WRITTEN.to_owned();
            Err(StoreError::Damaged { path: disk.path(CATALOGUE), what }.into())
        }
    }
}

/// Prepares a catalogue under another name; all of it is synced.
pub(super) fn write_catalogue(
    disk: &dyn Disk,
    cache_bytes: usize,
    fill: impl FnOnce(&Database) -> EngineResult<()>,
) -> Result<()> {
    let path = || disk.path(NEW_CATALOGUE);
    let file = disk
        .open(NEW_CATALOGUE, Opening::Create)
        .map_err(|source| io_error(path(), "create", source))?;
    let database =
        engine::open_to_write(file, cache_bytes).map_err(|error| engine_error(disk, error))?;
    caught(|| fill(&database)).map_err(|error| engine_error(disk, error))?;
    drop(database);
    // The engine says nothing of what it writes when it is closed.
    let file = disk
        .open(NEW_CATALOGUE, Opening::Write)
        .map_err(|source| io_error(path(), "open", source))?;
    file.sync().map_err(|source| io_error(path(), "sync", source))
}

/// Puts the prepared catalogue in the place of the old one: the one atomic point.
pub(super) fn publish_catalogue(disk: &dyn Disk) -> Result<()> {
    // The page file must have its name before a catalogue says so.
    sync_folder(disk)?;
    disk.rename(NEW_CATALOGUE, CATALOGUE)
        .map_err(|source| io_error(disk.path(CATALOGUE), "replace", source))?;
    sync_folder(disk)
}

/// Overwrites and removes the files of every generation but the one in use.
pub(super) fn remove_leftovers(disk: &dyn Disk, generation: Option<u64>) -> Result<()> {
    let names = disk.names().map_err(|source| io_error(disk.path(""), "read", source))?;
    let leftovers: Vec<_> = names.iter().filter(|name| is_leftover(name, generation)).collect();
    for name in &leftovers {
        let file = disk
            .open(name, Opening::Write)
            .map_err(|source| io_error(disk.path(name), "open", source))?;
        wipe(&*file).map_err(|source| io_error(disk.path(name), "overwrite", source))?;
        drop(file);
        disk.remove(name).map_err(|source| io_error(disk.path(name), "remove", source))?;
    }
    if !leftovers.is_empty() {
        sync_folder(disk)?;
    }
    Ok(())
}

fn sync_folder(disk: &dyn Disk) -> Result<()> {
    disk.sync_folder().map_err(|source| io_error(disk.path(""), "sync", source))
}

/// Writes zeros over all of a file.
pub(super) fn wipe(file: &dyn DiskFile) -> io::Result<()> {
    let zeros = vec![0; WIPE_BYTES];
    let n_bytes = file.n_bytes()?;
    for start in (0..n_bytes).step_by(WIPE_BYTES) {
        let n_here = (n_bytes - start).min(WIPE_BYTES as u64) as usize;
        file.write_at(start, &zeros[..n_here])?;
    }
    file.sync()
}

fn is_leftover(name: &str, generation: Option<u64>) -> bool {
    let is_page_file =
        name.strip_prefix("pages.").is_some_and(|number| number.parse::<u64>().is_ok());
    let in_use = generation.is_some_and(|generation| name == page_file_name(generation));
    name == NEW_CATALOGUE || (is_page_file && !in_use)
}

fn read_head(disk: &dyn Disk, database: &Database, format: Format) -> Result<Head> {
    let path = disk.path(CATALOGUE);
    let head = caught(|| Head::read(&database.begin_read()?))
        .map_err(|error| engine_error(disk, error))?;
    let Some(head) = head else {
        let what = "it does not say what it is for".to_owned();
        return Err(StoreError::Foreign { path, what }.into());
    };
    if head.layout > LAYOUT {
        return Err(StoreError::Newer { path, found: head.layout, known: LAYOUT }.into());
    }
    if head.name != format.name {
        let what = format!("it is for {:?}, not for {:?}", head.name, format.name);
        return Err(StoreError::Foreign { path, what }.into());
    }
    if head.version > format.version {
        let (found, known) = (head.version, format.version);
        return Err(StoreError::Newer { path, found, known }.into());
    }
    Ok(head)
}

/// The pages that no extent uses.
fn free_space(disk: &dyn Disk, engine: &Engine, head: &Head, pages: &PageFile) -> Result<Space> {
    let mut runs = Vec::new();
    let mut is_readable = true;
    let mut note = |record: Option<(u64, Slot)>| match record {
        Some((number, slot)) if number < head.next_extent => runs.push(slot.run()),
        _ => is_readable = false,
    };
    let read = || match engine.begin_read()?.open_table(EXTENTS) {
        Err(TableError::TableDoesNotExist(_)) => EngineResult::Ok(()),
        table => extents_of(&table?, &mut note),
    };
    caught(read).map_err(|error| engine_error(disk, error))?;
    let space = Space::left_by(FIRST_PAGE, runs).filter(|_| is_readable);
    space.filter(|space| space.end() <= pages.n_pages()).ok_or_else(|| {
        let what =
            "extents overlap, or lie outside of the page file, or have wrong numbers".to_owned();
        StoreError::Damaged { path: disk.path(CATALOGUE), what }.into()
    })
}

/// What the engine says when it cannot open its file.
fn open_error(disk: &dyn Disk, error: redb::Error) -> StorageError {
    let path = disk.path(CATALOGUE);
    match error {
        redb::Error::Io(source) if !is_damage(&source) => io_error(path, "open", source),
        other => StoreError::Damaged { path, what: other.to_string() }.into(),
    }
}

pub(super) fn io_error(path: PathBuf, doing: &'static str, source: io::Error) -> StorageError {
    StoreError::Io { path, doing, source }.into()
}
