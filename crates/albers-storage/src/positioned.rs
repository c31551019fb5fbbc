//! Files whose reads and writes say where, so that threads need not agree on a place in them.

use std::fs::File;
use std::io;

/// A file whose reads and writes say where.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct Positioned(File);

#[cfg(unix)]
impl Positioned {
    pub(crate) fn new(file: File) -> Positioned {
        Positioned(file)
    }

    /// Writes all of `bytes` at `offset`.
    pub(crate) fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, offset)
    }

    /// Fills `bytes` with what stands at `offset`.
    pub(crate) fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, bytes, offset)
    }

    /// Reads some bytes at `offset`, none at the end.
    pub(crate) fn read_some_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        uninterrupted(|| std::os::unix::fs::FileExt::read_at(&self.0, bytes, offset))
    }

    /// What the operating system knows of the file now.
    pub(crate) fn metadata(&self) -> io::Result<std::fs::Metadata> {
        self.0.metadata()
    }

    /// Cuts the file, or lengthens it by zeros.
    pub(crate) fn set_len(&self, n_bytes: u64) -> io::Result<()> {
        self.0.set_len(n_bytes)
    }

    /// Returns when everything written stands on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// Where the operating system has no positioned reads and writes, one thread moves and acts at a
/// time.
#[cfg(not(unix))]
#[derive(Debug)]
pub(crate) struct Positioned(std::sync::Mutex<File>);

#[cfg(not(unix))]
impl Positioned {
    pub(crate) fn new(file: File) -> Positioned {
        Positioned(std::sync::Mutex::new(file))
    }

    /// Writes all of `bytes` at `offset`.
    pub(crate) fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        io::Write::write_all(&mut *self.at(offset)?, bytes)
    }

    /// Fills `bytes` with what stands at `offset`.
    pub(crate) fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        io::Read::read_exact(&mut *self.at(offset)?, bytes)
    }

    /// Reads some bytes at `offset`, none at the end.
    pub(crate) fn read_some_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        uninterrupted(|| io::Read::read(&mut *self.at(offset)?, bytes))
    }

    /// What the operating system knows of the file now.
    pub(crate) fn metadata(&self) -> io::Result<std::fs::Metadata> {
        self.lock().metadata()
    }

    /// Cuts the file, or lengthens it by zeros.
    pub(crate) fn set_len(&self, n_bytes: u64) -> io::Result<()> {
        self.lock().set_len(n_bytes)
    }

    /// Returns when everything written stands on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.lock().sync_data()
    }

    fn at(&self, offset: u64) -> io::Result<std::sync::MutexGuard<'_, File>> {
        let mut file = self.lock();
        io::Seek::seek(&mut *file, io::SeekFrom::Start(offset))?;
        Ok(file)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, File> {
        // A file is usable after a panic, since every access sets the position first.
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Does again what the system interrupts and the standard library does once.
pub(crate) fn uninterrupted<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match act() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
