//! Bytes in and out: the only crate that opens files.
//!
//! - [`input`] opens a file for reading and undoes gzip or zstd.
//! - [`output`] writes to a temporary file in the target's folder and renames it at the end, so that
//!   a reader never sees half a file and a failure leaves nothing behind.
//! - [`memory_budget`] counts the memory that is set aside and refuses more than the limit.
//! - [`spill`] keeps bytes in memory while the budget allows it and in a temporary file otherwise.

pub mod input;
pub mod memory_budget;
pub mod output;
pub mod spill;
pub mod watch;

use std::io::ErrorKind;
use std::path::PathBuf;

use memory_budget::{advised_bytes, format_bytes};

/// What can go wrong with a file, by what the user can do about it.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {source}; {}", path.display(), read_hint(source))]
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
    /// The path names something that cannot be read twice.
    #[error(
        "{} is a pipe or a device, but files are read more than once; write it to a file first",
        path.display()
    )]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// Whoever was to take the bytes wants no more of them.
    #[error("the work was stopped")]
    Stopped,
    /// Whoever watches the work wants no more of it.
    #[error("the job was cancelled; nothing was written")]
    Cancelled,
    /// The file cannot be created or written.
    #[error("cannot write {}: {source}; nothing was written; {}", path.display(), write_hint(source))]
    Write {
        /// The file that was to be written.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The memory budget is too small.
    #[error(
        "the memory budget of {} is too small for {what}; give --memory {} or more",
        format_bytes(*limit_bytes),
        advised_bytes(*needed_bytes)
    )]
    OverBudget {
        /// What the memory was asked for.
        what: &'static str,
        /// The least limit with which the reservation would have succeeded.
        needed_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// Temporary data cannot be written.
    #[error(
        "cannot write temporary data in {}: {source}; nothing was published; {}",
        folder.display(),
        spill_write_hint(source)
    )]
    SpillWrite {
        /// The folder of the temporary data.
        folder: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Temporary data cannot be read back.
    #[error(
        "cannot read temporary data back from {}: {source}; nothing was published; \
         check the disk, or name another folder with --spill-dir",
        folder.display()
    )]
    SpillRead {
        /// The folder of the temporary data.
        folder: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// The result of a storage operation.
pub type Result<T> = std::result::Result<T, StorageError>;

/// What the user can do about a file that cannot be read.
fn read_hint(source: &std::io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::NotFound => "check the name and the folder",
        ErrorKind::PermissionDenied => "ask for the right to read it",
        // What zstd finds wrong is of no kind of its own.
        ErrorKind::InvalidInput
        | ErrorKind::InvalidData
        | ErrorKind::UnexpectedEof
        | ErrorKind::Other => {
            "check that the file is whole and packed as the ending of its name says"
        }
        _ => "check the file and its disk",
    }
}

/// What the user can do about a file that cannot be written.
fn write_hint(source: &std::io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "make room, or write to another disk"
        }
        ErrorKind::PermissionDenied => "ask for the right to write there, or name another folder",
        _ => "check the folder and its disk, or name another",
    }
}

/// What the user can do about temporary data that cannot be written.
fn spill_write_hint(source: &std::io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "make room there, or name another folder with --spill-dir"
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            "name a folder that exists with --spill-dir"
        }
        ErrorKind::PermissionDenied => {
            "ask for the right to write there, or name another folder with --spill-dir"
        }
        _ => "check the folder and its disk, or name another folder with --spill-dir",
    }
}
