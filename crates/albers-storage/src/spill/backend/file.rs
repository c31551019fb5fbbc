//! A temporary file that has no name, so that nothing can stay behind and no one else can open it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::Backend;

/// An unlinked temporary file, created at the first write.
#[derive(Debug)]
pub struct FileBackend {
    folder: PathBuf,
    file: OnceLock<Positioned>,
}

impl FileBackend {
    /// A file in `folder`, which is not touched before the first write.
    pub fn in_folder(folder: &Path) -> FileBackend {
        FileBackend { folder: folder.to_owned(), file: OnceLock::new() }
    }

    fn file(&self) -> io::Result<&Positioned> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        // Two threads may both create a file; that of the slower one vanishes unused.
        let created = create_unlinked(&self.folder)?;
        Ok(self.file.get_or_init(|| Positioned::new(created)))
    }
}

impl Backend for FileBackend {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file()?.write_at(offset, bytes)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        match self.file.get() {
            Some(file) => file.read_at(offset, bytes),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Creates a file in `folder` that has no name there and is readable to its owner only.
fn create_unlinked(folder: &Path) -> io::Result<File> {
    // The error's own text names the temporary file, which says nothing to the user.
    tempfile::tempfile_in(folder).map_err(|error| error.kind().into())
}

/// A file whose reads and writes say where.
#[cfg(unix)]
#[derive(Debug)]
struct Positioned(File);

#[cfg(unix)]
impl Positioned {
    fn new(file: File) -> Positioned {
        Positioned(file)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, offset)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, bytes, offset)
    }
}

/// Where the operating system has no positioned reads and writes, one thread moves and acts at a
/// time.
#[cfg(not(unix))]
#[derive(Debug)]
struct Positioned(std::sync::Mutex<File>);

#[cfg(not(unix))]
impl Positioned {
    fn new(file: File) -> Positioned {
        Positioned(std::sync::Mutex::new(file))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        io::Write::write_all(&mut *self.at(offset)?, bytes)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        io::Read::read_exact(&mut *self.at(offset)?, bytes)
    }

    fn at(&self, offset: u64) -> io::Result<std::sync::MutexGuard<'_, File>> {
        // A file is usable after a panic, since every access sets the position first.
        let mut file = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        io::Seek::seek(&mut *file, io::SeekFrom::Start(offset))?;
        Ok(file)
    }
}
