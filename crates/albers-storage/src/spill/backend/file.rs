//! A temporary file that has no name, so that nothing can stay behind and no one else can open it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::Backend;
use crate::positioned::Positioned;
use crate::scratch::create_unlinked;

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
