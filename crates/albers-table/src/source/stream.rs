//! A table that comes from a stream, such as standard input.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use albers_storage::StorageError;
use albers_storage::input::{CountedReader, Packing, peek, unpacked};
use albers_storage::scratch::ScratchFile;
use albers_storage::wording;
use albers_storage::wording::Field;

use super::csv::{TextScan, TextTable};
use super::file::given_delimiter;
use super::parquet::{ParquetScan, ParquetTable};
use super::{
    ColumnRequest, ReadOptions, RequestedTypes, Scan, Source, SourceColumn, Stamp, Wanted,
    table_error,
};
use crate::format::Format;
use crate::{Result, TableError};

/// The bytes with which every Parquet file begins.
const PARQUET_MAGIC: &[u8] = b"PAR1";

/// A table that is read from a stream. Text can be scanned once; Parquet is put aside as a whole
/// before anything of it is read, and can be scanned again.
pub struct StreamSource {
    read_bytes: Arc<AtomicU64>,
    options: ReadOptions,
    table: StreamTable,
}

enum StreamTable {
    Text(Box<TextTable>),
    Parquet(Arc<ParquetTable>),
}

impl StreamSource {
    /// A text, plain or packed, which its first bytes tell.
    pub fn text(
        reader: Box<dyn Read + Send>,
        name: &str,
        format: Option<Format>,
        options: &ReadOptions,
    ) -> Result<StreamSource> {
        let read_error = |source| StorageError::Read { path: PathBuf::from(name), source };
        let read_bytes = Arc::new(AtomicU64::new(0));
        let counted = CountedReader::new(reader, read_bytes.clone());
        let (first, all) = peek(counted).map_err(read_error)?;
        if format.is_none() && first == PARQUET_MAGIC {
            return Err(table_error(
                name,
                "this is Parquet, not text",
                wording!["say so with ", Field::From.of("parquet")],
            ));
        }
        let text = unpacked(all, Packing::of_content(&first)).map_err(read_error)?;
        let table = TextTable::open(name, text, given_delimiter(format, options))?;
        let table = StreamTable::Text(Box::new(table));
        Ok(StreamSource { read_bytes, options: options.clone(), table })
    }

    /// A Parquet file, whose end must be read first: it is copied to a file without a name in
    /// `folder`.
    pub fn parquet(
        mut reader: Box<dyn Read + Send>,
        name: &str,
        folder: &Path,
        options: &ReadOptions,
    ) -> Result<StreamSource> {
        let mut scratch = ScratchFile::create(folder)?;
        let n_bytes = copy(&mut reader, &mut scratch, name)?;
        let file = Arc::new(scratch.into_input()?);
        let table = StreamTable::Parquet(Arc::new(ParquetTable::open(name, file)?));
        let read_bytes = Arc::new(AtomicU64::new(n_bytes));
        Ok(StreamSource { read_bytes, options: options.clone(), table })
    }
}

/// Copies all bytes, and tells apart which side an error is of.
fn copy(reader: &mut dyn Read, scratch: &mut ScratchFile, name: &str) -> Result<u64> {
    const PIECE_BYTES: usize = 1 << 20;
    let mut piece = vec![0; PIECE_BYTES];
    let mut n_bytes = 0;
    loop {
        let n_read = match reader.read(&mut piece) {
            Ok(0) => return Ok(n_bytes),
            Ok(n_read) => n_read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(source) => {
                return Err(StorageError::Read { path: PathBuf::from(name), source }.into());
            }
        };
        io::Write::write_all(scratch, &piece[..n_read])
            .map_err(|source| scratch.write_error(source))?;
        n_bytes += n_read as u64;
    }
}

impl Source for StreamSource {
    fn name(&self) -> &str {
        match &self.table {
            StreamTable::Text(table) => table.name(),
            StreamTable::Parquet(table) => table.name(),
        }
    }

    fn columns(&self) -> &[SourceColumn] {
        match &self.table {
            StreamTable::Text(table) => table.columns(),
            StreamTable::Parquet(table) => table.columns(),
        }
    }

    fn delimiter(&self) -> Option<u8> {
        match &self.table {
            StreamTable::Text(table) => Some(table.delimiter()),
            StreamTable::Parquet(_) => None,
        }
    }

    fn n_rows(&self) -> Option<u64> {
        match &self.table {
            StreamTable::Text(_) => None,
            StreamTable::Parquet(table) => Some(table.n_rows()),
        }
    }

    fn stamp(&self) -> Option<Stamp> {
        match &self.table {
            StreamTable::Text(_) => None,
            StreamTable::Parquet(_) => Some(Stamp::Fixed),
        }
    }

    fn types(&self, requests: &[ColumnRequest]) -> Result<RequestedTypes> {
        match &self.table {
            StreamTable::Text(table) => table.types(requests, &self.options),
            StreamTable::Parquet(table) => table.types(requests),
        }
    }

    fn scan<'s>(
        &'s self,
        requests: &'s [ColumnRequest],
        types: &'s RequestedTypes,
    ) -> Result<Box<dyn Scan + 's>> {
        let wanted =
            Wanted::new(self.name(), self.columns(), requests, &types.column_types, &self.options)?;
        Ok(match &self.table {
            StreamTable::Text(table) => {
                let again = || Err(TableError::ReadTwice { table: table.name().to_owned() });
                let mut part = Some(table.part(again)?);
                Box::new(TextScan::new(wanted, Box::new(move || Ok(part.take()))))
            }
            StreamTable::Parquet(table) => {
                let mut table = Some(table.clone());
                Box::new(ParquetScan::new(wanted, Box::new(move || Ok(table.take()))))
            }
        })
    }

    fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }
}
