//! Where spilled bytes go: the operating system behind two methods, so that tests can replace it.

mod faulty;
mod file;
mod memory;

use std::io;
use std::sync::Arc;

pub use faulty::{Fault, FaultyBackend};
pub use file::FileBackend;
pub use memory::MemoryBackend;

/// Bytes by their offset, written and read by any thread at any time.
///
/// Nobody reads bytes that were not written, nor writes the same bytes from two threads at a time.
pub trait Backend: Send + Sync {
    /// Writes all of `bytes` at `offset`, beyond the end if need be.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Fills `bytes` with what stands at `offset`.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;
}

/// A shared backend, so that a test can look at the one that a store uses.
impl<B: Backend + ?Sized> Backend for Arc<B> {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        (**self).write_at(offset, bytes)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        (**self).read_at(offset, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backends(folder: &std::path::Path) -> [Box<dyn Backend>; 3] {
        [
            Box::new(FileBackend::in_folder(folder)),
            Box::new(MemoryBackend::new()),
            Box::new(FaultyBackend::new(Box::new(MemoryBackend::new()), None)),
        ]
    }

    #[test]
    fn bytes_read_back_as_written_in_any_order() {
        let folder = tempfile::tempdir().unwrap();
        for backend in backends(folder.path()) {
            backend.write_at(10, b"later").unwrap();
            backend.write_at(0, b"sooner").unwrap();
            backend.write_at(12, b"TE").unwrap();
            let mut bytes = [0; 5];
            backend.read_at(10, &mut bytes).unwrap();
            assert_eq!(&bytes, b"laTEr");
            backend.read_at(1, &mut bytes).unwrap();
            assert_eq!(&bytes, b"ooner");
        }
    }

    #[test]
    fn bytes_beyond_the_end_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for backend in backends(folder.path()) {
            let mut bytes = [0; 4];
            let error = backend.read_at(0, &mut bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
            backend.write_at(0, b"abc").unwrap();
            for offset in [0, 1, 3, 4, 1 << 40] {
                let error = backend.read_at(offset, &mut bytes).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{offset}");
            }
        }
    }

    #[test]
    fn a_fault_strikes_once_at_its_turn() {
        let fault = Fault::Write { nth: 2, kind: io::ErrorKind::StorageFull };
        let backend = FaultyBackend::new(Box::new(MemoryBackend::new()), Some(fault));
        let outcomes = [0, 1, 2].map(|offset| backend.write_at(offset, b"x").is_ok());
        assert_eq!(outcomes, [true, false, true]);
        assert_eq!((backend.n_writes(), backend.n_reads()), (3, 0));

        let fault = Fault::Read { nth: 1, kind: io::ErrorKind::TimedOut };
        let backend = FaultyBackend::new(Box::new(MemoryBackend::new()), Some(fault));
        backend.write_at(0, b"x").unwrap();
        let mut bytes = [0];
        let error = backend.read_at(0, &mut bytes).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        backend.read_at(0, &mut bytes).unwrap();
        assert_eq!((backend.n_writes(), backend.n_reads()), (1, 2));
    }
}
