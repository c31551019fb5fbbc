//! What can go wrong with a store, by what the user can do about it.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use crate::{MORE_FILES, is_out_of_files};

/// What can go wrong with a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder holds no store.
    #[error("{} holds no index: it has no file catalogue.redb; name the folder of an index, or create one", folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
    },
    /// A store is to be created where something else is.
    #[error("{} exists and is not empty; name a new folder", folder.display())]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
    },
    /// The file was not written by us, or for something else.
    #[error("{} is foreign: {what}; name the folder of an index", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// The file was written by a newer version.
    #[error(
        "{} is of the newer format {found}, and this version reads {known} at most; \
         use the version that wrote it, or a newer one",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u32,
        /// The newest format that is known.
        known: u32,
    },
    /// The file is not as it was written.
    #[error("{} is damaged: {what}; check the index and its disk, and restore a copy", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A page of an extent is not as it was written.
    #[error(
        "{} is damaged: page {page} (at byte {offset}), of extent {extent}, is not as it was written; \
         check the index and its disk, and restore a copy",
        path.display()
    )]
    DamagedPage {
        /// The page file.
        path: PathBuf,
        /// The number of the extent.
        extent: u64,
        /// The number of the page in the file.
        page: u64,
        /// Where the page begins in the file.
        offset: u64,
    },
    /// Somebody else has the store open.
    #[error(
        "{} is in use by another process, which {}; wait until it is done",
        folder.display(),
        if *to_write { "reads or writes it" } else { "writes it" }
    )]
    Taken {
        /// The folder.
        folder: PathBuf,
        /// Whether it was to be opened for writing.
        to_write: bool,
    },
    /// Earlier work on the store failed, so that more could harm it.
    #[error(
        "earlier work on {} failed; nothing that was committed is lost; open it again",
        folder.display()
    )]
    Failed {
        /// The folder.
        folder: PathBuf,
    },
    /// Somebody in this process works on the store.
    #[error("{} is busy: {what}; wait until that is done", folder.display())]
    Busy {
        /// The folder.
        folder: PathBuf,
        /// What is done with it.
        what: &'static str,
    },
    /// A store that is open for reading is to be changed.
    #[error("{} is open for reading only; open it for writing", folder.display())]
    ReadOnly {
        /// The folder.
        folder: PathBuf,
    },
    /// No extent has this number and this size.
    #[error(
        "{} has no extent {extent}; it was freed, or is of another index; check the index",
        path.display()
    )]
    NoExtent {
        /// The catalogue.
        path: PathBuf,
        /// The number of the extent.
        extent: u64,
    },
    /// The operating system refuses.
    #[error("cannot {doing} {}: {source}; nothing that was committed is lost; {}", path.display(), hint(source))]
    Io {
        /// The file or the folder.
        path: PathBuf,
        /// What was to be done with it.
        doing: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
}

/// What the user can do about what the operating system refuses.
fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "make room, and open it again"
        }
        ErrorKind::PermissionDenied => "ask for the right to it",
        ErrorKind::NotFound => "check the name of the folder",
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => "name another folder",
        _ if is_out_of_files(source) => MORE_FILES,
        _ => "check the disk, and open it again",
    }
}
