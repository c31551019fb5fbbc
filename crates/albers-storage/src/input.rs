//! Files to read, with gzip and zstd undone on the way.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use crate::{Result, StorageError};

/// How a file's bytes are packed, told by the ending of its name.
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
}

/// Opens a file, refusing folders and pipes with messages of their own.
pub fn open(path: &Path) -> Result<File> {
    let read_error = |source| StorageError::Read { path: path.to_owned(), source };
    // Looked at before it is opened, since the opening of a pipe waits for a writer.
    let metadata = std::fs::metadata(path).map_err(read_error)?;
    if metadata.is_dir() {
        return Err(StorageError::IsFolder { path: path.to_owned() });
    }
    if !metadata.is_file() {
        return Err(StorageError::NotAFile { path: path.to_owned() });
    }
    File::open(path).map_err(read_error)
}

/// Opens a file for sequential reading and unpacks it by the ending of its name.
pub fn open_unpacked(path: &Path) -> Result<Box<dyn Read + Send>> {
    const BUFFER_BYTES: usize = 1 << 20;
    let file = BufReader::with_capacity(BUFFER_BYTES, open(path)?);
    Ok(match Packing::of(path) {
        Packing::Plain => Box::new(file),
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        Packing::Zstd => Box::new(
            zstd::stream::read::Decoder::with_buffer(file)
                .map_err(|source| StorageError::Read { path: path.to_owned(), source })?,
        ),
    })
}
