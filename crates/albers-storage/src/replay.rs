//! A stream whose bytes are put aside as they come, so that it can be read again from its first.
//!
//! ```text
//!   stream ──read on──► readers at the end of what was read
//!                │
//!                └─put aside─► memory, then a file without a name ──► readers further back
//! ```
//!
//! Guarantee: every reader sees the same bytes from the first on, and no byte is asked for twice of
//! the stream.
//! Cost: one copy of the bytes, of which no more than 8 MB are in memory.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::positioned::Positioned;
use crate::scratch::create_unlinked;
use crate::{Result, StorageError};

/// What is put aside in memory, before there is a file.
const MEMORY_BYTES: usize = 8 << 20;

/// A stream that can be read again, until that is no longer wanted.
pub struct Replay {
    folder: PathBuf,
    memory_bytes: usize,
    state: Mutex<State>,
}

struct State {
    stream: Box<dyn Read + Send>,
    n_bytes: u64,
    aside: Aside,
}

/// What was put aside.
enum Aside {
    /// All bytes so far, in memory.
    Memory(Vec<u8>),
    /// All bytes so far, in a file.
    File(Positioned),
    /// Nothing any more: it is not wanted.
    Forgotten,
    /// Nothing any more: there was no place for it.
    Failed(io::ErrorKind),
}

impl Replay {
    /// A stream; what does not stay in memory goes to a file without a name in `folder`.
    pub fn new(stream: Box<dyn Read + Send>, folder: &Path) -> Replay {
        Replay::with_memory(stream, folder, MEMORY_BYTES)
    }

    fn with_memory(stream: Box<dyn Read + Send>, folder: &Path, memory_bytes: usize) -> Replay {
        let state = State { stream, n_bytes: 0, aside: Aside::Memory(Vec::new()) };
        Replay { folder: folder.to_owned(), memory_bytes, state: Mutex::new(state) }
    }

    /// The bytes from the first on; nothing if they were read and forgotten.
    ///
    /// That they could not be put aside is told only here: whoever reads a stream once does not
    /// need it.
    pub fn reader(self: &Arc<Self>) -> Result<Option<ReplayReader>> {
        let state = self.state();
        match state.aside {
            Aside::Forgotten if state.n_bytes > 0 => Ok(None),
            Aside::Failed(kind) => {
                Err(StorageError::SpillWrite { folder: self.folder.clone(), source: kind.into() })
            }
            _ => Ok(Some(ReplayReader { replay: self.clone(), offset: 0 })),
        }
    }

    /// The bytes will not be read again.
    pub fn forget(&self) {
        self.state().aside = Aside::Forgotten;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Reads bytes that no reader has seen.
    fn read_on(&mut self, bytes: &mut [u8], replay: &Replay) -> io::Result<usize> {
        let n_read = self.stream.read(bytes)?;
        if let Err(error) = self.put_aside(&bytes[..n_read], replay) {
            self.aside = Aside::Failed(error.kind());
        }
        self.n_bytes += n_read as u64;
        Ok(n_read)
    }

    fn put_aside(&mut self, bytes: &[u8], replay: &Replay) -> io::Result<()> {
        match &mut self.aside {
            Aside::Memory(aside) if aside.len() + bytes.len() <= replay.memory_bytes => {
                aside.extend_from_slice(bytes);
            }
            Aside::Memory(aside) => {
                let file = Positioned::new(create_unlinked(&replay.folder)?);
                file.write_at(0, aside)?;
                file.write_at(self.n_bytes, bytes)?;
                self.aside = Aside::File(file);
            }
            Aside::File(file) => file.write_at(self.n_bytes, bytes)?,
            Aside::Forgotten | Aside::Failed(_) => {}
        }
        Ok(())
    }

    /// Reads bytes that were read before.
    fn read_again(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let n_wanted = bytes.len().min((self.n_bytes - offset) as usize);
        match &self.aside {
            Aside::Memory(aside) => {
                bytes[..n_wanted].copy_from_slice(&aside[offset as usize..][..n_wanted]);
                Ok(n_wanted)
            }
            Aside::File(file) => file.read_some_at(offset, &mut bytes[..n_wanted]),
            Aside::Forgotten => Err(io::ErrorKind::NotFound.into()),
            Aside::Failed(kind) => Err((*kind).into()),
        }
    }
}

/// The bytes of a [`Replay`] one after another.
pub struct ReplayReader {
    replay: Arc<Replay>,
    offset: u64,
}

impl Read for ReplayReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut state = self.replay.state();
        let n_read = match self.offset < state.n_bytes {
            true => state.read_again(self.offset, bytes)?,
            false => state.read_on(bytes, &self.replay)?,
        };
        drop(state);
        self.offset += n_read as u64;
        Ok(n_read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn replay(folder: &Path, text: &str, memory_bytes: usize) -> Arc<Replay> {
        let stream = Box::new(Cursor::new(text.as_bytes().to_vec()));
        Arc::new(Replay::with_memory(stream, folder, memory_bytes))
    }

    fn rest_of(mut reader: ReplayReader) -> String {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn every_reader_sees_all_bytes_wherever_the_others_are() {
        let folder = tempfile::tempdir().unwrap();
        let text = "0123456789".repeat(50);
        for memory_bytes in [0, 1, 7, 100, 1_000] {
            let replay = replay(folder.path(), &text, memory_bytes);
            let mut early = replay.reader().unwrap().unwrap();
            let mut bytes = [0; 33];
            for _ in 0..5 {
                early.read_exact(&mut bytes).unwrap();
            }
            assert_eq!(rest_of(replay.reader().unwrap().unwrap()), text);
            assert_eq!(rest_of(early), text[5 * 33..]);
            assert_eq!(rest_of(replay.reader().unwrap().unwrap()), text);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
    }

    #[test]
    fn what_was_forgotten_is_read_on_and_not_again() {
        let folder = tempfile::tempdir().unwrap();
        let replay = replay(folder.path(), "one, two", 4);
        let mut reader = replay.reader().unwrap().unwrap();
        reader.read_exact(&mut [0; 5]).unwrap();
        replay.forget();
        assert_eq!(rest_of(reader), "two");
        assert!(replay.reader().unwrap().is_none());
    }

    #[test]
    fn a_missing_folder_is_told_to_who_reads_again_and_to_nobody_else() {
        let replay = replay(Path::new("/no/such/folder"), "one, two", 4);
        assert_eq!(rest_of(replay.reader().unwrap().unwrap()), "one, two");
        let error = replay.reader().err().unwrap().to_string();
        assert!(error.contains("/no/such/folder"), "{error}");
    }
}
