//! Files to write: a file in the target's folder that has no name until all is written.
//!
//! ```text
//!   create ──► without a name, or .albers-XXXXXX.tmp ──write──► sync ──[naming]──► target
//!                    │ dropped, failed or interrupted
//!                    ▼
//!                  gone
//! ```

mod naming;
mod system;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use tempfile::TempPath;

pub use naming::{Staged, name_files};
use system::Facts;

use crate::digest::Digested;
use crate::input::Packing;
use crate::scratch::nameless;
use crate::{Result, StorageError};

/// What this process has written and is writing, so that an interrupt can clean up and tell the
/// truth.
static FILES: Mutex<Files> =
    Mutex::new(Files { unfinished: BTreeSet::new(), named: BTreeSet::new(), has_streamed: false });

struct Files {
    /// Temporary files that exist now.
    unfinished: BTreeSet<PathBuf>,
    /// Files that have appeared and were not taken back.
    named: BTreeSet<PathBuf>,
    /// Whether bytes have left to a stream.
    has_streamed: bool,
}

/// What had appeared when a process was interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appeared {
    /// The files.
    pub files: Vec<PathBuf>,
    /// Whether bytes have left to a stream, such as standard output.
    pub has_streamed: bool,
}

/// Removes every temporary file that is being written, and tells what has appeared already. For
/// interrupt handlers: after this call the process must end, since outputs can be neither created
/// nor finished any more.
pub fn remove_unfinished() -> Appeared {
    let files = lock();
    for path in &files.unfinished {
        // The file may be gone already; at an interrupt there is nobody left to tell.
        let _ = std::fs::remove_file(path);
    }
    let appeared =
        Appeared { files: files.named.iter().cloned().collect(), has_streamed: files.has_streamed };
    // Kept locked, so that no thread creates or names another file before the process ends.
    std::mem::forget(files);
    appeared
}

/// Says that bytes leave to a stream from now on, which nobody can take back.
pub fn begin_stream() {
    lock().has_streamed = true;
}

/// A name for a file to be, and what it means now: a file takes its place only if that is still so
/// at the end.
#[derive(Debug, Clone)]
pub struct Place {
    path: PathBuf,
    before: Option<Facts>,
}

impl Place {
    /// A name that is free, or whose file is to be replaced.
    pub fn look(path: &Path) -> Place {
        Place { path: path.to_owned(), before: Facts::of(path) }
    }

    /// A name that must be free.
    pub fn free(path: &Path) -> Place {
        Place { path: path.to_owned(), before: None }
    }

    /// The name.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What becomes of a file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// It appears when it is whole and named.
    #[default]
    Appear,
    /// It has no name at any time and never appears: a dry run.
    Rehearse,
}

/// How a file waits for its name.
#[derive(Debug, Default)]
enum Waits {
    /// Without a name, for ever.
    #[default]
    Rehearsed,
    /// Without a name, which it can be given.
    Unnamed,
    /// Under a name that nobody takes for that of a release.
    Beside(TempPath),
}

/// A file that appears under its name only when [`OutputFile::finish`] succeeds.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    waits: Waits,
    place: Place,
}

impl OutputFile {
    /// Creates a file that takes its place at `target`.
    pub fn create(target: &Path) -> Result<OutputFile> {
        OutputFile::create_for(Purpose::Appear, Place::look(target))
    }

    /// The same for a purpose, with what was known of its place at some time before.
    pub fn create_for(purpose: Purpose, place: Place) -> Result<OutputFile> {
        if place.path.is_dir() {
            return Err(StorageError::IsFolder { path: place.path });
        }
        let folder = folder_of(&place.path);
        // The error's own text names the temporary file, which says nothing to the user.
        let refused = |error: io::Error| StorageError::Write {
            path: place.path.clone(),
            source: nameless(&error),
        };
        if purpose == Purpose::Rehearse {
            let file = tempfile::tempfile_in(folder).map_err(refused)?;
            return Ok(OutputFile { file, waits: Waits::Rehearsed, place });
        }
        if let Some(file) = system::unnamed(folder).map_err(refused)? {
            return Ok(OutputFile { file, waits: Waits::Unnamed, place });
        }
        let (file, waits) = waiting_beside(folder).map_err(refused)?;
        Ok(OutputFile { file, waits, place })
    }

    /// Turns an I/O error of this file into one that names the target.
    pub fn write_error(&self, source: io::Error) -> StorageError {
        StorageError::Write { path: self.place.path.clone(), source }
    }

    /// Writes the bytes to disk and gives them their name, with the permissions of an ordinary new
    /// file, or of the one whose place it takes.
    pub fn finish(self) -> Result<()> {
        self.seal()?.name()
    }

    /// Writes the bytes to disk, so that nothing but the name is missing.
    pub fn seal(self) -> Result<SealedFile> {
        let mode = self.place.before.and_then(|before| before.mode);
        allow_access(&self.file, mode).map_err(|source| self.write_error(source))?;
        self.seal_private()
    }

    /// The same for a file that only its owner may read.
    pub fn seal_private(mut self) -> Result<SealedFile> {
        let flushed = self.file.flush().and_then(|()| self.file.sync_all());
        flushed.map_err(|source| self.write_error(source))?;
        Ok(SealedFile { output: self, is_last: false })
    }
}

/// A file whose bytes are on disk but not yet under their name.
#[derive(Debug)]
pub struct SealedFile {
    output: OutputFile,
    is_last: bool,
}

impl SealedFile {
    /// The same file, which gets its name after all that do not come last, since it tells of them.
    pub fn last(mut self) -> SealedFile {
        self.is_last = true;
        self
    }

    /// Gives it its name, unless it was only rehearsed.
    pub fn name(self) -> Result<()> {
        name_files(vec![self])
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Not all that write into it try again: packers hand an interrupted call on as a failed one.
        loop {
            match self.file.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Waits::Beside(path) = std::mem::take(&mut self.waits) {
            // An interrupt waits for the lock, so that it finds the file or finds it gone.
            let mut files = lock();
            files.unfinished.remove(&*path);
            drop(path);
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
        PackedOutput::around(OutputFile::create(target)?, Packing::of(target))
    }

    /// Packs what goes to a file as told.
    pub fn around(file: OutputFile, packing: Packing) -> Result<PackedOutput> {
        const BUFFER_BYTES: usize = 1 << 20;
        let target = file.place.path.clone();
        let file = Digested::new(file);
        Ok(match packing {
            Packing::Plain => PackedOutput::Plain(io::BufWriter::with_capacity(BUFFER_BYTES, file)),
            Packing::Gzip => PackedOutput::Gzip(EvenBlocks::new(flate2::write::GzEncoder::new(
                file,
                flate2::Compression::default(),
            ))),
            Packing::Zstd => PackedOutput::Zstd(EvenBlocks::new(
                zstd::stream::write::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)
                    .map_err(|source| StorageError::Write { path: target, source })?,
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

fn lock() -> MutexGuard<'static, Files> {
    // A poisoned lock still guards usable sets: insertions and removals cannot be half done.
    FILES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The folder of a file.
fn folder_of(target: &Path) -> &Path {
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Makes something under a free name in a folder that nobody takes for that of a release.
fn named_beside<T>(
    folder: &Path,
    make: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<(T, TempPath)> {
    let mut builder = tempfile::Builder::new();
    Ok(builder.prefix(".albers-").suffix(".tmp").make_in(folder, make)?.into_parts())
}

/// A new file under a name beside those to be, which an interrupt removes.
fn waiting_beside(folder: &Path) -> io::Result<(File, Waits)> {
    // An interrupt waits for the lock, so that it finds every file that was created.
    let mut files = lock();
    let (file, beside) = named_beside(folder, private_file)?;
    files.unfinished.insert(beside.to_path_buf());
    Ok((file, Waits::Beside(beside)))
}

/// A new file that only its owner may read.
fn private_file(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A temporary file is private to its owner; the finished one gets the rights of the one whose place
/// it takes, or what the creation mask allows.
#[cfg(unix)]
fn allow_access(file: &File, mode: Option<u32>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = mode.unwrap_or_else(|| 0o666 & !creation_mask());
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn allow_access(_file: &File, _mode: Option<u32>) -> io::Result<()> {
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
