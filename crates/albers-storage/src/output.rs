//! Files to write: a temporary file in the target's folder, renamed when all is written.
//!
//! ```text
//!   create ──► .albers-XXXXXX.tmp ──write──► sync ──rename──► target
//!                    │ dropped, failed or interrupted
//!                    ▼
//!                 removed
//! ```

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use tempfile::TempPath;

use crate::digest::Digested;
use crate::input::Packing;
use crate::{Result, StorageError};

/// Temporary files that exist now, so that an interrupt can remove them.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes every temporary file that is being written. For interrupt handlers: after this call the
/// process must end, since outputs can be neither created nor finished any more.
pub fn remove_unfinished() {
    let unfinished = lock();
    for path in unfinished.iter() {
        // The file may be gone already; at an interrupt there is nobody left to tell.
        let _ = std::fs::remove_file(path);
    }
    // Kept locked, so that no thread creates another file before the process ends.
    std::mem::forget(unfinished);
}

/// Removes a file that had its name already.
pub fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// A file that appears under its name only when [`OutputFile::finish`] succeeds.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    temporary: Option<TempPath>,
    target: PathBuf,
}

impl OutputFile {
    /// Creates the temporary file beside `target`.
    pub fn create(target: &Path) -> Result<OutputFile> {
        if target.is_dir() {
            return Err(StorageError::IsFolder { path: target.to_owned() });
        }
        let folder = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        // An interrupt waits for the lock, so that it finds every file that was created.
        let mut unfinished = lock();
        let created = tempfile::Builder::new()
            .prefix(".albers-")
            .suffix(".tmp")
            .tempfile_in(folder)
            // The error's own text names the temporary file, which says nothing to the user.
            .map_err(|error| StorageError::Write {
                path: target.to_owned(),
                source: error.kind().into(),
            })?;
        let (file, temporary) = created.into_parts();
        unfinished.insert(temporary.to_path_buf());
        Ok(OutputFile { file, temporary: Some(temporary), target: target.to_owned() })
    }

    /// Turns an I/O error of this file into one that names the target.
    pub fn write_error(&self, source: io::Error) -> StorageError {
        StorageError::Write { path: self.target.clone(), source }
    }

    /// Writes the bytes to disk and gives them their name, with the permissions of an ordinary new
    /// file.
    pub fn finish(self) -> Result<()> {
        self.seal()?.name()
    }

    /// Writes the bytes to disk, so that nothing but the name is missing.
    pub fn seal(self) -> Result<SealedFile> {
        allow_ordinary_access(&self.file).map_err(|source| self.write_error(source))?;
        self.seal_private()
    }

    /// The same for a file that only its owner may read.
    pub fn seal_private(mut self) -> Result<SealedFile> {
        let flushed = self.file.flush().and_then(|()| self.file.sync_all());
        flushed.map_err(|source| self.write_error(source))?;
        Ok(SealedFile { output: self })
    }
}

/// A file whose bytes are on disk but not yet under their name.
#[derive(Debug)]
pub struct SealedFile {
    output: OutputFile,
}

impl SealedFile {
    /// The name that it will have.
    pub fn target(&self) -> &Path {
        &self.output.target
    }

    /// Gives it its name.
    pub fn name(mut self) -> Result<()> {
        let temporary = self.output.temporary.take().expect("taken only here and on drop");
        let path = temporary.to_path_buf();
        let target = self.output.target.clone();
        let named = temporary.persist(&target);
        unregister(&path);
        named.map_err(|error| StorageError::Write { path: target, source: error.error })
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            unregister(&temporary);
        }
    }
}

/// An [`OutputFile`] that packs what is written, and takes the digest of the packed bytes. These are
/// a function of the bytes, in whatever pieces they come.
pub enum PackedOutput {
    /// As it is.
    Plain(io::BufWriter<Digested<OutputFile>>),
    /// `.gz`
    Gzip(EvenBlocks<flate2::write::GzEncoder<Digested<OutputFile>>>),
    /// `.zst` or `.zstd`
    Zstd(EvenBlocks<zstd::stream::write::Encoder<'static, Digested<OutputFile>>>),
}

/// Hands bytes on in blocks of one size: what packers make of bytes depends on the pieces in which
/// they are given.
pub struct EvenBlocks<W> {
    inner: W,
    block: Vec<u8>,
}

const BLOCK_BYTES: usize = 1 << 18;

impl<W: Write> EvenBlocks<W> {
    fn new(inner: W) -> EvenBlocks<W> {
        EvenBlocks { inner, block: Vec::with_capacity(BLOCK_BYTES) }
    }

    /// Hands the last block on.
    fn into_inner(mut self) -> io::Result<W> {
        self.inner.write_all(&self.block)?;
        Ok(self.inner)
    }
}

impl<W: Write> Write for EvenBlocks<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n_bytes = bytes.len().min(BLOCK_BYTES - self.block.len());
        self.block.extend_from_slice(&bytes[..n_bytes]);
        if self.block.len() == BLOCK_BYTES {
            self.inner.write_all(&self.block)?;
            self.block.clear();
        }
        Ok(n_bytes)
    }

    /// What fills no block stays until the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl PackedOutput {
    /// Creates the temporary file beside `target`, packed by the ending of its name.
    pub fn create(target: &Path) -> Result<PackedOutput> {
        PackedOutput::create_as(target, Packing::of(target))
    }

    /// Creates the temporary file beside `target`, packed as told.
    pub fn create_as(target: &Path, packing: Packing) -> Result<PackedOutput> {
        const BUFFER_BYTES: usize = 1 << 20;
        let file = Digested::new(OutputFile::create(target)?);
        Ok(match packing {
            Packing::Plain => PackedOutput::Plain(io::BufWriter::with_capacity(BUFFER_BYTES, file)),
            Packing::Gzip => PackedOutput::Gzip(EvenBlocks::new(flate2::write::GzEncoder::new(
                file,
                flate2::Compression::default(),
            ))),
            Packing::Zstd => PackedOutput::Zstd(EvenBlocks::new(
                zstd::stream::write::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)
                    .map_err(|source| StorageError::Write { path: target.to_owned(), source })?,
            )),
        })
    }

    /// Ends the packing, writes the bytes to disk and gives them their name.
    pub fn finish(self, target: &Path) -> Result<()> {
        self.seal(target)?.0.name()
    }

    /// Ends the packing and writes the bytes to disk; returns their SHA-256 too.
    pub fn seal(self, target: &Path) -> Result<(SealedFile, String)> {
        let (file, digest) = self.ended(target)?;
        Ok((file.seal()?, digest))
    }

    /// The same for a file that only its owner may read.
    pub fn seal_private(self, target: &Path) -> Result<(SealedFile, String)> {
        let (file, digest) = self.ended(target)?;
        Ok((file.seal_private()?, digest))
    }

    fn ended(self, target: &Path) -> Result<(OutputFile, String)> {
        let write_error = |source| StorageError::Write { path: target.to_owned(), source };
        let file = match self {
            PackedOutput::Plain(buffered) => {
                buffered.into_inner().map_err(|error| write_error(error.into_error()))?
            }
            PackedOutput::Gzip(blocks) => blocks
                .into_inner()
                .and_then(flate2::write::GzEncoder::finish)
                .map_err(write_error)?,
            PackedOutput::Zstd(blocks) => blocks
                .into_inner()
                .and_then(zstd::stream::write::Encoder::finish)
                .map_err(write_error)?,
        };
        Ok(file.finish())
    }
}

impl Write for PackedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            PackedOutput::Plain(inner) => inner.write(bytes),
            PackedOutput::Gzip(inner) => inner.write(bytes),
            PackedOutput::Zstd(inner) => inner.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            PackedOutput::Plain(inner) => inner.flush(),
            PackedOutput::Gzip(inner) => inner.flush(),
            PackedOutput::Zstd(inner) => inner.flush(),
        }
    }
}

fn unregister(path: &Path) {
    lock().remove(path);
}

fn lock() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A poisoned lock still guards a usable set: insertions and removals cannot be half done.
    UNFINISHED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A temporary file is private to its owner; the finished one gets what the creation mask allows.
#[cfg(unix)]
fn allow_ordinary_access(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mask = creation_mask();
    file.set_permissions(std::fs::Permissions::from_mode(0o666 & !mask))
}

#[cfg(not(unix))]
fn allow_ordinary_access(_file: &File) -> io::Result<()> {
    Ok(())
}

/// The process's creation mask, as Linux tells it; a private file where it does not.
#[cfg(unix)]
fn creation_mask() -> u32 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status.lines().find(|line| line.starts_with("Umask:"))?.to_owned();
            u32::from_str_radix(line.trim_start_matches("Umask:").trim(), 8).ok()
        })
        .unwrap_or(0o077)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn an_output_dropped_before_finish_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.csv");
        let mut output = OutputFile::create(&target).unwrap();
        output.write_all(b"half").unwrap();
        drop(output);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_finished_output_replaces_its_target_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.csv");
        std::fs::write(&target, "old").unwrap();
        let mut output = OutputFile::create(&target).unwrap();
        output.write_all(b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "old");
        output.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn packed_outputs_read_back_as_written() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.csv", "a.csv.gz", "a.csv.zst"] {
            let target = folder.path().join(name);
            let mut output = PackedOutput::create(&target).unwrap();
            output.write_all(b"a,b\n1,2\n").unwrap();
            output.finish(&target).unwrap();
            let mut text = String::new();
            let mut input = crate::input::open_unpacked(&target).unwrap();
            input.read_to_string(&mut text).unwrap();
            assert_eq!(text, "a,b\n1,2\n", "{name}");
        }
    }

    #[test]
    fn packed_bytes_are_the_same_in_whatever_pieces_they_come() {
        let folder = tempfile::tempdir().unwrap();
        let rows = (0..120_000u64).map(|row| format!("{},{}\n", row % 977, row * row % 10_007));
        let text = rows.collect::<String>().into_bytes();
        for name in ["a.csv.gz", "a.csv.zst"] {
            let target = folder.path().join(name);
            let packed = |n_bytes: usize| {
                let mut output = PackedOutput::create(&target).unwrap();
                text.chunks(n_bytes).for_each(|piece| output.write_all(piece).unwrap());
                output.finish(&target).unwrap();
                std::fs::read(&target).unwrap()
            };
            let whole = packed(text.len());
            for n_bytes in [997, 65_536, 300_000] {
                assert!(packed(n_bytes) == whole, "{name} in pieces of {n_bytes}");
            }
        }
    }

    #[test]
    fn a_folder_as_target_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(OutputFile::create(folder.path()), Err(StorageError::IsFolder { .. })));
    }
}
