//! Bytes in and out: the only crate that opens files.
//!
//! - [`decoding`] makes errors of the panics of decoders.
//! - [`digest`] takes the digest of bytes while they are written.
//! - [`input`] opens files for reading, at any place and by any thread, and undoes gzip or zstd.
//! - [`output`] writes to a file without a name in the target's folder and names it at the end, so
//!   that a reader never sees half a file and a failure leaves all as it was.
//! - [`memory_budget`] counts the memory that is set aside and refuses more than the limit.
//! - [`replay`] puts a stream aside as it comes, so that it can be read again.
//! - [`scratch`] is a file without a name, for bytes that must be read again.
//! - [`secret_bits`] are random bits that nobody else knows.
//! - [`spelling`] finds the names that were meant by names that are not there.
//! - [`spill`] keeps bytes in memory while the budget allows it and in a temporary file otherwise.
//! - [`store`] is a folder that survives: records and large byte strings, changed in whole batches.
//! - [`threads`] tells how many threads there are to work on, and starts none.
//! - [`watch`] is told how far long work is, and can cancel it.

pub mod choice;
pub mod decoding;
pub mod digest;
pub mod input;
pub mod memory_budget;
pub mod output;
mod positioned;
pub mod replay;
pub mod scratch;
pub mod secret_bits;
pub mod spelling;
pub mod spill;
pub mod store;
pub mod threads;
pub mod watch;
pub mod wording;

use std::io::ErrorKind;
use std::path::PathBuf;

use memory_budget::{advised_bytes, format_bytes};
use store::StoreError;
use wording::{Field, Wording};

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
        "{} is a pipe or a device, but files are read more than once; \
         read it from standard input with -",
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
    /// Another process wrote the file first.
    #[error(
        "{} was written by another program while this job ran; nothing was written; look at it, and \
         run the job again or name another file",
        path.display()
    )]
    Overtaken {
        /// The file that was to be written.
        path: PathBuf,
    },
    /// Some files have their names, another one could not have its own, and the system refused to
    /// take the names back.
    #[error("{}; these could not be taken back: {}", source.cause(), left.join(", "))]
    HalfNamed {
        /// Why the other one does not have its name.
        source: Box<StorageError>,
        /// What stands where, and why.
        left: Vec<String>,
    },
    /// All files have their names, but some that were replaced are still there.
    #[error(
        "everything was written, but what was there before cannot be removed: {source}; remove {}",
        listed(paths)
    )]
    OldStays {
        /// Where they are.
        paths: Vec<PathBuf>,
        /// What the operating system said of the first one.
        source: std::io::Error,
    },
    /// A stream does not take what is written to it.
    #[error("cannot write to {name}: {source}; what went there is not whole, throw it away")]
    Send {
        /// What the stream is called.
        name: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The operating system gives no random bits.
    #[error(
        "the operating system gives no random bits: {problem}; nothing was written; run the job where \
         it does"
    )]
    NoRandomBits {
        /// What it said.
        problem: String,
    },
    /// The memory budget is too small.
    #[error(
        "the memory budget of {} is too small for {what}; {}",
        format_bytes(*limit_bytes),
        self.advice().unwrap_or_default()
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
        self.advice().unwrap_or_default()
    )]
    SpillWrite {
        /// The folder of the temporary data.
        folder: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Temporary data cannot be read back.
    #[error(
        "cannot read temporary data back from {}: {source}; nothing was published; {}",
        folder.display(),
        self.advice().unwrap_or_default()
    )]
    SpillRead {
        /// The folder of the temporary data.
        folder: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A store cannot be opened, read or changed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The result of a storage operation.
pub type Result<T> = std::result::Result<T, StorageError>;

/// Files as a message names them.
fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// What the user can do about a file that cannot be read.
fn read_hint(source: &std::io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::NotFound => "check the name and the folder",
        ErrorKind::PermissionDenied => "ask for the right to read it",
        _ if is_out_of_files(source) => MORE_FILES,
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

const MORE_FILES: &str = "allow the program more open files (ulimit -n)";

/// Whether the program, or the system, has as many open files as it may. The standard library has no
/// kind for that.
fn is_out_of_files(source: &std::io::Error) -> bool {
    const TOO_MANY: [i32; 2] = [23, 24];
    cfg!(unix) && source.raw_os_error().is_some_and(|code| TOO_MANY.contains(&code))
}

/// What the user can do about a file that cannot be written.
fn write_hint(source: &std::io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "make room, or write to another disk"
        }
        ErrorKind::PermissionDenied => "ask for the right to write there, or name another folder",
        _ if is_out_of_files(source) => MORE_FILES,
        _ => "check the folder and its disk, or name another",
    }
}

impl StorageError {
    /// What went wrong, without what became of the files.
    pub fn cause(&self) -> String {
        match self {
            StorageError::Write { path, source } => {
                format!("cannot write {}: {source}", path.display())
            }
            StorageError::Overtaken { path } => {
                format!("{} was written by another program while this job ran", path.display())
            }
            other => other.to_string(),
        }
    }

    /// What the user can do, with settings that each face names in its own words.
    pub fn advice(&self) -> Option<Wording> {
        match self {
            StorageError::OverBudget { needed_bytes, .. } => {
                let needed = advised_bytes(*needed_bytes);
                Some(wording!["give ", Field::Memory.of(needed), " or more"])
            }
            StorageError::SpillWrite { source, .. } => Some(spill_write_hint(source)),
            StorageError::SpillRead { .. } => {
                Some(wording!["check the disk, or name another folder with ", Field::SpillDir])
            }
            _ => None,
        }
    }
}

/// What the user can do about temporary data that cannot be written.
fn spill_write_hint(source: &std::io::Error) -> Wording {
    let another = "or name another folder with ";
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            wording!["make room there, ", another, Field::SpillDir]
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            wording!["name a folder that exists with ", Field::SpillDir]
        }
        ErrorKind::PermissionDenied => {
            wording!["ask for the right to write there, ", another, Field::SpillDir]
        }
        _ if is_out_of_files(source) => wording![MORE_FILES],
        _ => wording!["check the folder and its disk, ", another, Field::SpillDir],
    }
}
