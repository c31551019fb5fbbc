//! Bytes in and out: the only crate that opens files.
//!
//! - [`input`] opens a file for reading and undoes gzip or zstd.
//! - [`output`] writes to a temporary file in the target's folder and renames it at the end, so that
//!   a reader never sees half a file and a failure leaves nothing behind.

pub mod input;
pub mod output;

use std::path::PathBuf;

/// What can go wrong with a file, by what the user can do about it.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The path names a folder where a file is needed.
    #[error("{} is a folder, not a file; name a file", path.display())]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The file cannot be created or written.
    #[error("cannot write {}: {source}; nothing was written", path.display())]
    Write {
        /// The file that was to be written.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// The result of a storage operation.
pub type Result<T> = std::result::Result<T, StorageError>;
