//! The operating system as a store sees it: a folder of few files, behind one small trait, so that
//! tests can let any call fail, cut the power, or kill the process.

mod faulty;
mod folder;
mod killing;
mod memory;
mod tapped;

use std::any::Any;
use std::fmt::Debug;
use std::io;
use std::path::PathBuf;

pub use faulty::{Fault, FaultyDisk};
pub use folder::FolderDisk;
pub use killing::{KillingDisk, Moment};
pub use memory::MemoryDisk;
pub use tapped::Call;

/// For what a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// For reading a file that exists.
    Read,
    /// For reading and writing a file that exists.
    Write,
    /// For reading and writing a file that must not exist yet.
    Create,
}

/// Who else may hold a folder at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Nobody.
    Exclusive,
    /// Others that share.
    Shared,
}

/// A folder that is held; dropping it lets go.
pub type Held = Box<dyn Any + Send + Sync>;

/// A folder of files, without folders in it.
pub trait Disk: Debug + Send + Sync {
    /// Opens the file of this name.
    fn open(&self, name: &str, opening: Opening) -> io::Result<Box<dyn DiskFile>>;

    /// Gives the file `from` the name `to`, in the place of the one that had it, at once.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes the file of this name.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Returns when the names of the files stand on the disk.
    fn sync_folder(&self) -> io::Result<()>;

    /// Holds the folder, or says at once that somebody else does, by nothing.
    fn hold(&self, hold: Hold) -> io::Result<Option<Held>>;

    /// How the user calls the file of this name; the folder itself for an empty name.
    fn path(&self, name: &str) -> PathBuf;
}

/// A file whose reads and writes say where, so that threads need not agree on a place in it.
pub trait DiskFile: Debug + Send + Sync {
    /// Fills `bytes` with what stands at `offset`; an error when the file ends before.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`, lengthening the file where needed.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// How long the file is.
    fn n_bytes(&self) -> io::Result<u64>;

    /// Cuts the file, or lengthens it by zeros.
    fn set_n_bytes(&self, n_bytes: u64) -> io::Result<()>;

    /// Returns when everything written stands on the disk.
    fn sync(&self) -> io::Result<()>;
}
