//! A backend that fails when it is told to, for tests that try every n.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Backend;

/// Which operation fails, counted from 1, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The n-th write fails; nothing of it is written.
    Write {
        /// Which.
        nth: u64,
        /// How.
        kind: io::ErrorKind,
    },
    /// The n-th read fails.
    Read {
        /// Which.
        nth: u64,
        /// How.
        kind: io::ErrorKind,
    },
}

/// Another backend, of which one operation may fail, and a count of its operations.
pub struct FaultyBackend {
    inner: Box<dyn Backend>,
    fault: Option<Fault>,
    n_writes: AtomicU64,
    n_reads: AtomicU64,
}

impl FaultyBackend {
    /// Passes everything on to `inner` but what `fault` says; without one, it only counts.
    pub fn new(inner: Box<dyn Backend>, fault: Option<Fault>) -> FaultyBackend {
        FaultyBackend { inner, fault, n_writes: AtomicU64::new(0), n_reads: AtomicU64::new(0) }
    }

    /// How many writes were asked for, failed ones included.
    pub fn n_writes(&self) -> u64 {
        self.n_writes.load(Ordering::Relaxed)
    }

    /// How many reads were asked for, failed ones included.
    pub fn n_reads(&self) -> u64 {
        self.n_reads.load(Ordering::Relaxed)
    }
}

impl Backend for FaultyBackend {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let turn = self.n_writes.fetch_add(1, Ordering::Relaxed) + 1;
        match self.fault {
            Some(Fault::Write { nth, kind }) if nth == turn => Err(kind.into()),
            _ => self.inner.write_at(offset, bytes),
        }
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let turn = self.n_reads.fetch_add(1, Ordering::Relaxed) + 1;
        match self.fault {
            Some(Fault::Read { nth, kind }) if nth == turn => Err(kind.into()),
            _ => self.inner.read_at(offset, bytes),
        }
    }
}
