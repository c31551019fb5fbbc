//! Files to read, with gzip and zstd undone on the way.
//!
//! ```text
//!   path ──► InputFile ──► reads at any place, by any thread
//!                │
//!                └──► InputReader ──► unpacked ──► bytes one after another
//! ```
//!
//! A file is opened once and then read as often as needed, so that all reads see the same file
//! even if another takes its name meanwhile.

mod listing;
mod opens;
mod whole;

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::decoding::Guarded;
use crate::positioned::Positioned;
use crate::{Result, StorageError};

pub use listing::{Entry, entries_of, is_pattern, matches_of};
pub use opens::OpenCount;
pub use whole::{read_whole, whole_of};

const BUFFER_BYTES: usize = 1 << 20;

/// How a file's bytes are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// As they are.
    Plain,
    /// `.gz`
    Gzip,
    /// `.zst` or `.zstd`
    Zstd,
}

impl Packing {
    /// The packing that the ending of `path` stands for.
    pub fn of(path: &Path) -> Packing {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("gz") => Packing::Gzip,
            Some("zst" | "zstd") => Packing::Zstd,
            _ => Packing::Plain,
        }
    }

    /// The packing that the first bytes stand for, where there is no name to tell it.
    pub fn of_content(first: &[u8]) -> Packing {
        if first.starts_with(&[0x1f, 0x8b]) {
            Packing::Gzip
        } else if first.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Packing::Zstd
        } else {
            Packing::Plain
        }
    }
}

/// The length and the time of the last change of a file, as far as they are known.
pub type FileStamp = (u64, Option<SystemTime>);

/// A file that is open for reading, at any place and by any thread.
#[derive(Debug)]
pub struct InputFile {
    path: PathBuf,
    file: Positioned,
    n_bytes: u64,
    read_bytes: Arc<AtomicU64>,
}

impl InputFile {
    /// A file that is open already; `path` is what it is called.
    pub(crate) fn of(file: File, path: &Path) -> io::Result<InputFile> {
        let file = Positioned::new(file);
        let n_bytes = file.metadata()?.len();
        Ok(InputFile { path: path.to_owned(), file, n_bytes, read_bytes: Arc::default() })
    }

    /// The file, whose bytes count into `read_bytes` from now on when they are read.
    #[must_use]
    pub fn counted_by(self, read_bytes: Arc<AtomicU64>) -> InputFile {
        InputFile { read_bytes, ..self }
    }

    /// What it is called.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length when it was opened.
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Bytes that were read from it so far.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    /// What tells whether it was changed, as it is now.
    pub fn stamp(&self) -> Result<FileStamp> {
        let metadata = self.file.metadata();
        metadata.map(|metadata| stamp_in(&metadata)).map_err(|source| self.read_error(source))
    }

    /// Fills `bytes` with what stands at `offset`.
    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_at(offset, bytes)?;
        self.read_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Its first bytes, no more than so many, for a look at what it is: they do not count as read.
    pub fn first_bytes(&self, n_most: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; n_most];
        let mut n_bytes = 0;
        while n_bytes < n_most {
            let read = self.file.read_some_at(n_bytes as u64, &mut bytes[n_bytes..]);
            match read.map_err(|source| self.read_error(source))? {
                0 => break,
                n_read => n_bytes += n_read,
            }
        }
        bytes.truncate(n_bytes);
        Ok(bytes)
    }

    /// Its bytes from `offset` on, one after another.
    pub fn reader_at(self: &Arc<Self>, offset: u64) -> InputReader {
        InputReader { file: self.clone(), offset }
    }

    /// Its bytes from the first on, unpacked.
    pub fn unpacked(
        self: &Arc<Self>,
        packing: Packing,
        limit_bytes: Option<u64>,
    ) -> Result<Box<dyn Read + Send>> {
        let buffered = BufReader::with_capacity(BUFFER_BYTES, self.reader_at(0));
        unpacked(buffered, packing, limit_bytes).map_err(|source| self.read_error(source))
    }

    /// Turns an I/O error of a read into one that names the file.
    pub fn read_error(&self, source: io::Error) -> StorageError {
        StorageError::Read { path: self.path.clone(), source }
    }
}

/// The bytes of an [`InputFile`] one after another. Others may read the same file at a time.
#[derive(Debug)]
pub struct InputReader {
    file: Arc<InputFile>,
    offset: u64,
}

impl Read for InputReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n_read = self.file.file.read_some_at(self.offset, bytes)?;
        self.offset += n_read as u64;
        self.file.read_bytes.fetch_add(n_read as u64, Ordering::Relaxed);
        Ok(n_read)
    }
}

impl Seek for InputReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let offset = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(by) => self.offset.checked_add_signed(by),
            SeekFrom::End(by) => self.file.n_bytes.checked_add_signed(by),
        };
        self.offset = offset.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.offset)
    }
}

/// Counts the bytes that are read through it.
pub struct CountedReader<R> {
    inner: R,
    n_bytes: Arc<AtomicU64>,
}

impl<R> CountedReader<R> {
    /// A reader that adds to `n_bytes`.
    pub fn new(inner: R, n_bytes: Arc<AtomicU64>) -> CountedReader<R> {
        CountedReader { inner, n_bytes }
    }
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n_read = self.inner.read(bytes)?;
        self.n_bytes.fetch_add(n_read as u64, Ordering::Relaxed);
        Ok(n_read)
    }
}

/// Opens a file, refusing folders and pipes with messages of their own.
pub fn open(path: &Path) -> Result<InputFile> {
    let read_error = |source| StorageError::Read { path: path.to_owned(), source };
    // Looked at before it is opened, since the opening of a pipe waits for a writer.
    let metadata = std::fs::metadata(path).map_err(read_error)?;
    if metadata.is_dir() {
        return Err(StorageError::IsFolder { path: path.to_owned() });
    }
    if !metadata.is_file() {
        return Err(StorageError::NotAFile { path: path.to_owned() });
    }
    let file = File::open(path).map_err(read_error)?;
    opens::count(path);
    InputFile::of(file, path).map_err(read_error)
}

/// What tells whether a file that is not open was changed.
pub fn stamp_of(path: &Path) -> Result<FileStamp> {
    let metadata = std::fs::metadata(path);
    metadata
        .map(|metadata| stamp_in(&metadata))
        .map_err(|source| StorageError::Read { path: path.to_owned(), source })
}

fn stamp_in(metadata: &Metadata) -> FileStamp {
    (metadata.len(), metadata.modified().ok())
}

/// Opens a file for sequential reading and unpacks it by the ending of its name.
pub fn open_unpacked(path: &Path) -> Result<Box<dyn Read + Send>> {
    Arc::new(open(path)?).unpacked(Packing::of(path), None)
}

/// The unpacked bytes of what `packed` reads, by somebody who may take this much memory for all.
pub fn unpacked(
    packed: impl BufRead + Send + 'static,
    packing: Packing,
    limit_bytes: Option<u64>,
) -> io::Result<Box<dyn Read + Send>> {
    Ok(match packing {
        Packing::Plain => Box::new(packed),
        Packing::Gzip => Box::new(Guarded::new(flate2::bufread::MultiGzDecoder::new(packed))),
        Packing::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
            decoder.window_log_max(window_log(limit_bytes))?;
            Box::new(Guarded::new(Windowed(decoder)))
        }
    })
}

/// The logarithm of the largest window that zstd may look back into: an eighth of the memory, but
/// what is usual in any.
fn window_log(limit_bytes: Option<u64>) -> u32 {
    const USUAL_LOG: u32 = 23;
    const LARGEST_LOG: u32 = 27;
    let eighth = limit_bytes.unwrap_or(u64::MAX) / 8;
    eighth.max(1).ilog2().clamp(USUAL_LOG, LARGEST_LOG)
}

/// Says of a window that is too large that it is.
struct Windowed<R>(R);

impl<R: Read> Read for Windowed<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes).map_err(|error| match error.to_string().contains("too much memory") {
            true => io::Error::new(
                io::ErrorKind::OutOfMemory,
                "to unpack it takes a larger window than the memory allows (it was packed with \
                 --long or --ultra)",
            ),
            false => error,
        })
    }
}

/// The first bytes that a reader gives, fewer than `n_first` only if there are no more, and a reader
/// of all of them.
pub fn peek(
    mut reader: impl Read + Send + 'static,
    n_first: usize,
) -> io::Result<(Vec<u8>, impl BufRead + Send + 'static)> {
    let mut first = Vec::new();
    (&mut reader).take(n_first as u64).read_to_end(&mut first)?;
    let all = Cursor::new(first.clone()).chain(reader);
    Ok((first, BufReader::with_capacity(BUFFER_BYTES, all)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_open_file_serves_readers_at_several_places() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, "0123456789").unwrap();
        let opens = OpenCount::of(&path);
        let file = Arc::new(open(&path).unwrap());
        let (mut early, mut late) = (file.reader_at(0), file.reader_at(5));
        let mut bytes = [0; 3];
        late.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"567");
        early.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"012");
        file.read_at(9, &mut bytes[..1]).unwrap();
        assert_eq!((bytes[0], file.read_bytes()), (b'9', 7));
        early.seek(SeekFrom::End(-1)).unwrap();
        assert_eq!(early.read(&mut bytes).unwrap(), 1);
        assert!(early.seek(SeekFrom::Current(-11)).is_err(), "nothing stands before the first");
        assert_eq!(file.first_bytes(4).unwrap(), b"0123");
        assert_eq!(opens.n_opens(), 1);
    }

    #[test]
    fn a_file_that_takes_the_name_meanwhile_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, "old").unwrap();
        let file = Arc::new(open(&path).unwrap());
        std::fs::write(folder.path().join("new"), "newer").unwrap();
        std::fs::rename(folder.path().join("new"), &path).unwrap();
        let mut text = String::new();
        file.reader_at(0).read_to_string(&mut text).unwrap();
        assert_eq!(text, "old");
        assert_eq!(file.stamp().unwrap().0, 3);
        assert_eq!(stamp_of(&path).unwrap().0, 5);
    }

    #[test]
    fn what_was_peeked_at_is_read_again() {
        for text in ["", "ab", "abcdefgh"] {
            let (first, mut reader) = peek(Cursor::new(text.as_bytes()), 4).unwrap();
            assert_eq!(first, &text.as_bytes()[..text.len().min(4)]);
            let mut all = String::new();
            reader.read_to_string(&mut all).unwrap();
            assert_eq!(all, text);
        }
        assert_eq!(Packing::of_content(b"\x1f\x8b\x08"), Packing::Gzip);
        assert_eq!(Packing::of_content(b"a,b"), Packing::Plain);
    }
}
