//! How the engine of the catalogue reads and writes: through the disk of the store.
//!
//! The engine writes to its file already when it opens it. A reader has no right to that, and others
//! may read at the same time; so what its engine writes stays in memory, block by block.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, ErrorKind};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard};

use redb::{Builder, Database, RepairSession, StorageBackend};

use super::disk::DiskFile;
use crate::decoding::guarded;

/// The result of what the engine is asked to do.
pub(super) type EngineResult<T> = Result<T, redb::Error>;

/// What the engine writes at once.
const BLOCK_BYTES: usize = 4096;

/// Opens the engine on a file that it may write to; an empty file becomes an empty catalogue.
pub(super) fn open_to_write(file: Box<dyn DiskFile>, cache_bytes: usize) -> EngineResult<Engine> {
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes);
    Ok(Engine(Some(caught(|| builder.create_with_backend(Direct(file)))?)))
}

/// Opens the engine on a file that stays as it is.
pub(super) fn open_to_read(
    file: Box<dyn DiskFile>,
    cache_bytes: usize,
    on_repair: impl Fn(f64) + 'static,
) -> EngineResult<Engine> {
    let n_bytes = file.n_bytes()?;
    let written = Mutex::new(Written { blocks: BTreeMap::new(), n_bytes, n_base_bytes: n_bytes });
    let overlay = Overlay { base: Arc::from(file), written };
    let mut builder = Builder::new();
    builder
        .set_cache_size(cache_bytes)
        .set_repair_callback(move |session: &mut RepairSession| on_repair(session.progress()));
    Ok(Engine(Some(caught(|| builder.create_with_backend(overlay))?)))
}

/// What the engine answers; where it panics, as it does over some damaged bytes, that they are damaged.
pub(super) fn caught<T, E: Into<redb::Error>>(
    work: impl FnOnce() -> Result<T, E>,
) -> EngineResult<T> {
    // What the engine was doing when it panicked is never looked at again.
    match guarded(work) {
        Ok(done) => done.map_err(Into::into),
        Err(_) => Err(redb::Error::Corrupted("the engine cannot read it".to_owned())),
    }
}

/// Whether the engine was refused what no undamaged file makes it ask for: a page behind the end.
pub(super) fn is_damage(source: &io::Error) -> bool {
    matches!(source.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof)
}

/// An open engine. It writes a last time when it is dropped, and may panic over damaged bytes then.
pub(super) struct Engine(Option<Database>);

impl Engine {
    /// Whether every page has its checksum; before it is asked the engine looks at none of a file
    /// that was closed cleanly. It mends what it can, in the file, by going back to an older commit:
    /// so ask one that was opened to read, whose file stays as it is.
    pub(super) fn is_whole(&mut self) -> EngineResult<bool> {
        caught(|| self.check_integrity())
    }
}

impl Deref for Engine {
    type Target = Database;

    fn deref(&self) -> &Database {
        self.0.as_ref().expect("the database is there until the end")
    }
}

impl DerefMut for Engine {
    fn deref_mut(&mut self) -> &mut Database {
        self.0.as_mut().expect("the database is there until the end")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let database = self.0.take();
        // What was committed is safe already, and the next open repairs the rest.
        let _ = caught(|| {
            drop(database);
            EngineResult::Ok(())
        });
    }
}

/// Everything goes to the file.
#[derive(Debug)]
struct Direct(Box<dyn DiskFile>);

impl StorageBackend for Direct {
    fn len(&self) -> io::Result<u64> {
        self.0.n_bytes()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_n_bytes(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, data)
    }
}

/// What is written lies in memory over the file.
#[derive(Debug)]
struct Overlay {
    base: Arc<dyn DiskFile>,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    blocks: BTreeMap<u64, Vec<u8>>,
    n_bytes: u64,
    /// What was cut off the file and lengthened again holds zeros.
    n_base_bytes: u64,
}

impl Overlay {
    fn lock(&self) -> MutexGuard<'_, Written> {
        // A block is whole whenever somebody can see it.
        self.written.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A block of the file, with zeros behind its end.
    fn base_block(&self, block: u64, n_base_bytes: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; BLOCK_BYTES];
        let start = block * BLOCK_BYTES as u64;
        let n_bytes = n_base_bytes.saturating_sub(start).min(BLOCK_BYTES as u64) as usize;
        self.base.read_at(start, &mut bytes[..n_bytes])?;
        Ok(bytes)
    }
}

/// The blocks that `n_bytes` at `offset` touch: block, where in it, and how many bytes.
fn blocks_of(offset: u64, n_bytes: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let start = (at % BLOCK_BYTES as u64) as usize;
        let n_here = (BLOCK_BYTES - start).min(n_bytes - done);
        done += n_here;
        (n_here > 0).then_some((at / BLOCK_BYTES as u64, start, n_here))
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().n_bytes)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.lock();
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > written.n_bytes) {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let untouched =
            blocks_of(offset, out.len()).all(|(b, ..)| !written.blocks.contains_key(&b));
        if untouched && offset + out.len() as u64 <= written.n_base_bytes {
            drop(written);
            return self.base.read_at(offset, out);
        }
        let mut rest = out;
        for (block, start, n_here) in blocks_of(offset, rest.len()) {
            let (part, behind) = rest.split_at_mut(n_here);
            match written.blocks.get(&block) {
                Some(bytes) => part.copy_from_slice(&bytes[start..start + n_here]),
                None => {
                    let bytes = self.base_block(block, written.n_base_bytes)?;
                    part.copy_from_slice(&bytes[start..start + n_here]);
                }
            }
            rest = behind;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.lock();
        if len < written.n_bytes {
            let n_kept = len.div_ceil(BLOCK_BYTES as u64);
            written.blocks.split_off(&n_kept);
            let last = len / BLOCK_BYTES as u64;
            if let Some(bytes) = written.blocks.get_mut(&last) {
                bytes[(len % BLOCK_BYTES as u64) as usize..].fill(0);
            }
            written.n_base_bytes = written.n_base_bytes.min(len);
        }
        written.n_bytes = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.lock();
        let n_base_bytes = written.n_base_bytes;
        let mut rest = data;
        for (block, start, n_here) in blocks_of(offset, data.len()) {
            let (part, behind) = rest.split_at(n_here);
            let bytes = match written.blocks.entry(block) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(self.base_block(block, n_base_bytes)?),
            };
            bytes[start..start + n_here].copy_from_slice(part);
            rest = behind;
        }
        written.n_bytes = written.n_bytes.max(offset + data.len() as u64);
        Ok(())
    }
}
