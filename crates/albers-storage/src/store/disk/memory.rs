//! A disk in memory that knows what a power cut would leave of it.
//!
//! ```text
//!   file:    synced bytes | write, write, cut, write ..   not synced yet
//!   folder:  synced names | create, rename, remove ..     not synced yet
//! ```
//!
//! After a power cut a file holds its synced bytes and any part of what was not synced, in pieces of
//! 512 bytes, and the folder has its synced names and the first few of the later changes, since file
//! systems keep those in order.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Disk, DiskFile, Held, Hold, Opening};

/// What a disk writes as a whole, or not at all.
const SECTOR_BYTES: usize = 512;

/// A disk in memory, of which a power cut can be tried; clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk {
    folder: Arc<Mutex<Folder>>,
    holders: Arc<Mutex<Holders>>,
}

#[derive(Debug, Default)]
struct Folder {
    names: BTreeMap<String, MemoryFile>,
    synced_names: BTreeMap<String, MemoryFile>,
    changes: Vec<NameChange>,
}

#[derive(Debug, Clone)]
enum NameChange {
    Put(String, MemoryFile),
    Rename(String, String),
    Remove(String),
}

#[derive(Debug, Clone, Default)]
struct MemoryFile(Arc<Mutex<Content>>);

#[derive(Debug, Clone, Default)]
struct Content {
    bytes: Vec<u8>,
    synced: Vec<u8>,
    changes: Vec<ByteChange>,
}

#[derive(Debug, Clone)]
enum ByteChange {
    Write(u64, Vec<u8>),
    SetLength(u64),
}

#[derive(Debug, Default)]
struct Holders {
    exclusive: bool,
    n_shared: usize,
}

struct Holding {
    holders: Arc<Mutex<Holders>>,
    hold: Hold,
}

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> MemoryDisk {
        MemoryDisk::default()
    }

    /// The disk after a power cut now; of what was not synced, `seed` decides what is left.
    pub fn crash(&self, seed: u64) -> MemoryDisk {
        let mut random = Random(seed);
        let folder = lock(&self.folder);
        let mut names = folder.synced_names.clone();
        let n_kept = random.below(folder.changes.len() as u64 + 1) as usize;
        for change in &folder.changes[..n_kept] {
            change.apply(&mut names);
        }
        for file in names.values_mut() {
            let bytes = lock(&file.0).after_crash(&mut random);
            *file = MemoryFile::synced(bytes);
        }
        let crashed = Folder { synced_names: names.clone(), names, changes: Vec::new() };
        MemoryDisk { folder: Arc::new(Mutex::new(crashed)), holders: Arc::default() }
    }

    /// The bytes of a file as they are read now, or nothing where there is none.
    pub fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        lock(&self.folder).names.get(name).map(|file| lock(&file.0).bytes.clone())
    }

    /// Puts a file of these bytes there, synced, for tests of damage.
    pub fn set_bytes(&self, name: &str, bytes: Vec<u8>) {
        let file = MemoryFile::synced(bytes);
        let mut folder = lock(&self.folder);
        folder.names.insert(name.to_owned(), file.clone());
        folder.synced_names.insert(name.to_owned(), file);
    }

    /// Another disk with the same files, and the same of them not synced.
    pub fn copy(&self) -> MemoryDisk {
        let mut copies = BTreeMap::new();
        let mut copied = |file: &MemoryFile| -> MemoryFile {
            let copy = copies.entry(Arc::as_ptr(&file.0)).or_insert_with(|| {
                let content = lock(&file.0).clone();
                MemoryFile(Arc::new(Mutex::new(content)))
            });
            copy.clone()
        };
        let folder = lock(&self.folder);
        let mut named = |names: &BTreeMap<String, MemoryFile>| {
            names.iter().map(|(name, file)| (name.clone(), copied(file))).collect()
        };
        let (names, synced_names) = (named(&folder.names), named(&folder.synced_names));
        let changes = folder.changes.iter().map(|change| match change {
            NameChange::Put(name, file) => NameChange::Put(name.clone(), copied(file)),
            other => other.clone(),
        });
        let folder = Folder { names, synced_names, changes: changes.collect() };
        MemoryDisk { folder: Arc::new(Mutex::new(folder)), holders: Arc::default() }
    }

    fn change(&self, change: NameChange) {
        let mut folder = lock(&self.folder);
        change.apply(&mut folder.names);
        folder.changes.push(change);
    }

    fn existing(&self, name: &str) -> io::Result<MemoryFile> {
        let folder = lock(&self.folder);
        folder.names.get(name).cloned().ok_or_else(|| ErrorKind::NotFound.into())
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, MemoryFile>) {
        match self {
            NameChange::Put(name, file) => {
                names.insert(name.clone(), file.clone());
            }
            NameChange::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
            NameChange::Remove(name) => {
                names.remove(name);
            }
        }
    }
}

impl Disk for MemoryDisk {
    fn open(&self, name: &str, opening: Opening) -> io::Result<Box<dyn DiskFile>> {
        match (self.existing(name), opening) {
            (Ok(_), Opening::Create) => Err(ErrorKind::AlreadyExists.into()),
            (Ok(file), _) => Ok(Box::new(file)),
            (Err(_), Opening::Create) => {
                let file = MemoryFile::default();
                self.change(NameChange::Put(name.to_owned(), file.clone()));
                Ok(Box::new(file))
            }
            (Err(error), _) => Err(error),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.existing(from)?;
        self.change(NameChange::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.existing(name)?;
        self.change(NameChange::Remove(name.to_owned()));
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(lock(&self.folder).names.keys().cloned().collect())
    }

    fn sync_folder(&self) -> io::Result<()> {
        let mut folder = lock(&self.folder);
        folder.synced_names = folder.names.clone();
        folder.changes.clear();
        Ok(())
    }

    fn hold(&self, hold: Hold) -> io::Result<Option<Held>> {
        let mut holders = lock(&self.holders);
        if holders.exclusive || (hold == Hold::Exclusive && holders.n_shared > 0) {
            return Ok(None);
        }
        match hold {
            Hold::Exclusive => holders.exclusive = true,
            Hold::Shared => holders.n_shared += 1,
        }
        Ok(Some(Box::new(Holding { holders: Arc::clone(&self.holders), hold })))
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("memory").join(name)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        let mut holders = lock(&self.holders);
        match self.hold {
            Hold::Exclusive => holders.exclusive = false,
            Hold::Shared => holders.n_shared -= 1,
        }
    }
}

impl MemoryFile {
    fn synced(bytes: Vec<u8>) -> MemoryFile {
        let content = Content { synced: bytes.clone(), bytes, changes: Vec::new() };
        MemoryFile(Arc::new(Mutex::new(content)))
    }

    fn change(&self, change: ByteChange) {
        let mut content = lock(&self.0);
        change.apply(&mut content.bytes);
        content.changes.push(change);
    }
}

impl DiskFile for MemoryFile {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let content = lock(&self.0);
        let first = usize::try_from(offset).map_err(|_| ErrorKind::UnexpectedEof)?;
        let found = first.checked_add(bytes.len()).and_then(|end| content.bytes.get(first..end));
        bytes.copy_from_slice(found.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.change(ByteChange::Write(offset, bytes.to_vec()));
        Ok(())
    }

    fn n_bytes(&self) -> io::Result<u64> {
        Ok(lock(&self.0).bytes.len() as u64)
    }

    fn set_n_bytes(&self, n_bytes: u64) -> io::Result<()> {
        self.change(ByteChange::SetLength(n_bytes));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut content = lock(&self.0);
        let changes = std::mem::take(&mut content.changes);
        for change in &changes {
            change.apply(&mut content.synced);
        }
        Ok(())
    }
}

impl Content {
    fn after_crash(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        for change in &self.changes {
            match (change, random.below(3)) {
                (_, 0) => {}
                (ByteChange::Write(offset, written), 1) => {
                    for (idx, sector) in written.chunks(SECTOR_BYTES).enumerate() {
                        if random.below(2) == 0 {
                            write_into(&mut bytes, offset + (idx * SECTOR_BYTES) as u64, sector);
                        }
                    }
                }
                (change, _) => change.apply(&mut bytes),
            }
        }
        bytes
    }
}

impl ByteChange {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            ByteChange::Write(offset, written) => write_into(bytes, *offset, written),
            ByteChange::SetLength(n_bytes) => bytes.resize(*n_bytes as usize, 0),
        }
    }
}

fn write_into(bytes: &mut Vec<u8>, offset: u64, written: &[u8]) {
    let first = offset as usize;
    let end = first + written.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[first..end].copy_from_slice(written);
}

/// Numbers that look random and follow from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change of the content is made whole before anything can panic.
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
