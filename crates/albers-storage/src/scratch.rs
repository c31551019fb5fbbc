//! A file without a name, for bytes that must be read again: nothing can stay behind, and nobody
//! else can open it.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::input::InputFile;
use crate::{Result, StorageError};

/// An unlinked temporary file that is written from its start to its end, and then read.
#[derive(Debug)]
pub struct ScratchFile {
    file: File,
    folder: PathBuf,
}

impl ScratchFile {
    /// Creates the file in `folder`, where it has no name.
    pub fn create(folder: &Path) -> Result<ScratchFile> {
        let file = create_unlinked(folder)
            .map_err(|source| StorageError::SpillWrite { folder: folder.to_owned(), source })?;
        Ok(ScratchFile { file, folder: folder.to_owned() })
    }

    /// Turns an I/O error of a write into one that names the folder.
    pub fn write_error(&self, source: io::Error) -> StorageError {
        StorageError::SpillWrite { folder: self.folder.clone(), source }
    }

    /// What was written, for reading; errors name the folder.
    pub fn into_input(self) -> Result<InputFile> {
        InputFile::of(self.file, &self.folder)
            .map_err(|source| StorageError::SpillRead { folder: self.folder, source })
    }
}

impl Write for ScratchFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Creates a file in `folder` that has no name there and is readable to its owner only.
pub(crate) fn create_unlinked(folder: &Path) -> io::Result<File> {
    // The error's own text names the temporary file, which says nothing to the user.
    tempfile::tempfile_in(folder).map_err(|error| nameless(&error))
}

/// An error as the operating system tells it, without the name of a temporary file.
pub(crate) fn nameless(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => error.kind().into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn bytes_read_back_and_no_name_is_ever_seen() {
        let folder = tempfile::tempdir().unwrap();
        let mut scratch = ScratchFile::create(folder.path()).unwrap();
        scratch.write_all(b"one, two").unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let input = Arc::new(scratch.into_input().unwrap());
        let mut text = String::new();
        input.reader_at(5).read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), input.n_bytes()), ("two", 8));
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = ScratchFile::create(Path::new("/no/such/folder")).unwrap_err();
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }

    #[test]
    fn an_error_keeps_the_number_that_the_system_gave_it() {
        const TOO_MANY: i32 = 24;
        let error = nameless(&io::Error::from_raw_os_error(TOO_MANY));
        assert_eq!(error.raw_os_error(), Some(TOO_MANY));
        let folder = PathBuf::from("spill");
        let error = StorageError::SpillWrite { folder, source: error };
        assert!(error.to_string().contains("Too many open files"), "{error}");
        assert!(error.to_string().contains("ulimit -n"), "{error}");
        let named = io::Error::new(io::ErrorKind::NotFound, "at path .tmpX");
        assert!(!nameless(&named).to_string().contains(".tmpX"));
    }
}
