//! A disk whose calls pass through somebody who may stop them.

use std::fmt::Debug;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Disk, DiskFile, Held, Hold, Opening};

/// A kind of call of the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// A file is opened or created.
    Open,
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// A file is cut or lengthened.
    SetLength,
    /// A file is synced.
    Sync,
    /// A file is renamed.
    Rename,
    /// A file is removed.
    Remove,
    /// The folder is synced.
    SyncFolder,
}

impl Call {
    /// Whether the call may change what is on the disk.
    pub fn changes(self) -> bool {
        !matches!(self, Call::Open | Call::Read)
    }
}

/// What becomes of a call.
pub(super) enum Verdict {
    /// It is made.
    Pass,
    /// It fails, and nothing of it is done.
    Fail(io::Error),
    /// It fails; of a write, one half is done.
    FailHalfDone(io::Error),
}

/// Somebody who sees each call before and after it is made.
pub(super) trait Tap: Debug + Send + Sync {
    fn before(&self, call: Call) -> Verdict;
    fn after(&self, call: Call);
}

#[derive(Debug)]
pub(super) struct TappedDisk<T> {
    pub(super) inner: Arc<dyn Disk>,
    pub(super) tap: Arc<T>,
}

#[derive(Debug)]
struct TappedFile<T> {
    inner: Box<dyn DiskFile>,
    tap: Arc<T>,
}

fn pass<R>(tap: &impl Tap, call: Call, make: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
    match tap.before(call) {
        Verdict::Pass => {}
        Verdict::Fail(error) | Verdict::FailHalfDone(error) => return Err(error),
    }
    let made = make();
    tap.after(call);
    made
}

impl<T: Tap + 'static> Disk for TappedDisk<T> {
    fn open(&self, name: &str, opening: Opening) -> io::Result<Box<dyn DiskFile>> {
        let inner = pass(&*self.tap, Call::Open, || self.inner.open(name, opening))?;
        Ok(Box::new(TappedFile { inner, tap: Arc::clone(&self.tap) }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        pass(&*self.tap, Call::Rename, || self.inner.rename(from, to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        pass(&*self.tap, Call::Remove, || self.inner.remove(name))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.inner.names()
    }

    fn sync_folder(&self) -> io::Result<()> {
        pass(&*self.tap, Call::SyncFolder, || self.inner.sync_folder())
    }

    fn hold(&self, hold: Hold) -> io::Result<Option<Held>> {
        self.inner.hold(hold)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.inner.path(name)
    }
}

impl<T: Tap> DiskFile for TappedFile<T> {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        pass(&*self.tap, Call::Read, || self.inner.read_at(offset, bytes))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        match self.tap.before(Call::Write) {
            Verdict::Pass => {}
            Verdict::Fail(error) => return Err(error),
            Verdict::FailHalfDone(error) => {
                self.inner.write_at(offset, &bytes[..bytes.len() / 2])?;
                return Err(error);
            }
        }
        let written = self.inner.write_at(offset, bytes);
        self.tap.after(Call::Write);
        written
    }

    fn n_bytes(&self) -> io::Result<u64> {
        self.inner.n_bytes()
    }

    fn set_n_bytes(&self, n_bytes: u64) -> io::Result<()> {
        pass(&*self.tap, Call::SetLength, || self.inner.set_n_bytes(n_bytes))
    }

    fn sync(&self) -> io::Result<()> {
        pass(&*self.tap, Call::Sync, || self.inner.sync())
    }
}

/// The methods of a disk, each passed on to the field that does the work.
macro_rules! pass_on_to {
    ($field:ident) => {
        fn open(
            &self,
            name: &str,
            opening: super::Opening,
        ) -> std::io::Result<Box<dyn super::DiskFile>> {
            self.$field.open(name, opening)
        }

        fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
            self.$field.rename(from, to)
        }

        fn remove(&self, name: &str) -> std::io::Result<()> {
            self.$field.remove(name)
        }

        fn names(&self) -> std::io::Result<Vec<String>> {
            self.$field.names()
        }

        fn sync_folder(&self) -> std::io::Result<()> {
            self.$field.sync_folder()
        }

        fn hold(&self, hold: super::Hold) -> std::io::Result<Option<super::Held>> {
            self.$field.hold(hold)
        }

        fn path(&self, name: &str) -> std::path::PathBuf {
            self.$field.path(name)
        }
    };
}
pub(super) use pass_on_to;
