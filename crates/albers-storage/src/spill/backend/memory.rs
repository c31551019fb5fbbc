//! A backend without a disk, for tests.

use std::io;
use std::sync::{Mutex, MutexGuard};

use super::Backend;

/// Bytes in memory that no budget counts.
#[derive(Default)]
pub struct MemoryBackend {
    bytes: Mutex<Vec<u8>>,
}

impl MemoryBackend {
    /// A backend without bytes.
    pub fn new() -> MemoryBackend {
        MemoryBackend::default()
    }

    /// How far it was written.
    pub fn n_bytes(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        // Bytes have no invariants that a panic could break.
        self.bytes.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Backend for MemoryBackend {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let end = start.checked_add(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        let mut all = self.lock();
        if all.len() < end {
            all.resize(end, 0);
        }
        all[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let end = start.checked_add(bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        let all = self.lock();
        bytes.copy_from_slice(all.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}
