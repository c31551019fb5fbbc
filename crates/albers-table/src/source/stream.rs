//! A table that comes from a stream, such as standard input.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use albers_storage::StorageError;
use albers_storage::input::{CountedReader, Packing, peek, unpacked};
use albers_storage::replay::Replay;
use albers_storage::scratch::ScratchFile;
use albers_storage::wording;
use albers_storage::wording::Field;

use super::content::{PARQUET_MAGIC, ZIP_MAGIC};
use super::csv::{TextScan, TextSizes, TextTable, TypeSamples};
use super::file::{FileSource, given_delimiter};
use super::foreign::Foreign;
use super::parquet::{ParquetScan, ParquetTable};
use super::{
    ColumnRequest, ReadOptions, Remark, RequestedTypes, Scan, Source, SourceColumn, Stamp, Wanted,
    table_error,
};
use crate::format::Format;
use crate::{Result, TableError};

/// Bytes of a stream that tell what it is.
const FIRST_BYTES: usize = 512;

/// A table that is read from a stream. Text can be scanned once, and again as long as its types are
/// not settled; Parquet is put aside as a whole before anything of it is read, and can be scanned
/// again.
pub struct StreamSource {
    read_bytes: Arc<AtomicU64>,
    options: ReadOptions,
    table: StreamTable,
}

enum StreamTable {
    Text(Box<StreamText>),
    Parquet(Arc<ParquetTable>),
}

/// A text that is put aside as it comes, in case that its types are not those of its first rows.
struct StreamText {
    table: TextTable,
    replay: Arc<Replay>,
    packing: Packing,
}

impl StreamText {
    /// Its bytes from the first on, unpacked.
    fn reopen(&self) -> Result<Box<dyn Read + Send>> {
        let name = self.table.name();
        let Some(reader) = self.replay.reader()? else {
            return Err(TableError::ReadTwice { table: name.to_owned() });
        };
        let limit_bytes = self.table.options().limit_bytes;
        let text = unpacked(BufReader::new(reader), self.packing, limit_bytes);
        Ok(text.map_err(|source| StorageError::Read { path: PathBuf::from(name), source })?)
    }
}

impl StreamSource {
    /// A text, plain or packed, which its first bytes tell. What has to be read again is put aside
    /// where the system keeps temporary files.
    pub fn text(
        reader: Box<dyn Read + Send>,
        name: &str,
        format: Option<Format>,
        options: &ReadOptions,
    ) -> Result<StreamSource> {
        StreamSource::text_by_way_of(&std::env::temp_dir(), reader, name, format, options)
    }

    /// The same; what has to be read again is put aside in a file without a name in `folder`.
    pub fn text_by_way_of(
        folder: &Path,
        reader: Box<dyn Read + Send>,
        name: &str,
        format: Option<Format>,
        options: &ReadOptions,
    ) -> Result<StreamSource> {
        StreamSource::text_sized(folder, reader, name, format, options, TextSizes::within(options))
    }

    /// The same; the text is read in these sizes.
    pub(super) fn text_sized(
        folder: &Path,
        reader: Box<dyn Read + Send>,
        name: &str,
        format: Option<Format>,
        options: &ReadOptions,
        sizes: TextSizes,
    ) -> Result<StreamSource> {
        let read_error = |source| StorageError::Read { path: PathBuf::from(name), source };
        let read_bytes = Arc::new(AtomicU64::new(0));
        let counted = CountedReader::new(reader, read_bytes.clone());
        let replay = Arc::new(Replay::new(Box::new(counted), folder));
        let reader = replay.reader()?.expect("nothing was read, so nothing is forgotten");
        let (first, all) = peek(reader, FIRST_BYTES).map_err(read_error)?;
        if format.is_none() && first.starts_with(PARQUET_MAGIC) {
            return Err(table_error(
                name,
                "this is Parquet, not text",
                wording!["say so with ", Field::From.of("parquet")],
            ));
        }
        if format.is_none() && ZIP_MAGIC.iter().any(|magic| first.starts_with(magic)) {
            return Err(table_error(
                name,
                "this is a spreadsheet or an archive of zip, not text",
                wording!["if it is .xlsx or .ods, say so with ", Field::From.of("sheet")],
            ));
        }
        if let Some(foreign) = Foreign::of_content(&first) {
            return Err(foreign.refuse(name));
        }
        let packing = Packing::of_content(&first);
        let text = unpacked(all, packing, options.limit_bytes).map_err(read_error)?;
        let delimiter = given_delimiter(format, options);
        let table = TextTable::open(name, text, delimiter, options, sizes)?;
        let table = StreamTable::Text(Box::new(StreamText { table, replay, packing }));
        Ok(StreamSource { read_bytes, options: options.clone(), table })
    }

    /// A table that must be read more than once, or not from its first byte on: it is copied to a
    /// file without a name in `folder`.
    pub fn put_aside(
        mut reader: Box<dyn Read + Send>,
        name: &str,
        folder: &Path,
        format: Format,
        options: &ReadOptions,
    ) -> Result<FileSource> {
        let mut scratch = ScratchFile::create(folder)?;
        copy(&mut reader, &mut scratch, name)?;
        let file = Arc::new(scratch.into_input()?);
        let (path, format) = (Path::new(name), Some(format));
        FileSource::of_file((file, None), path, format, options, TextSizes::within(options))
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
        let table =
            StreamTable::Parquet(Arc::new(ParquetTable::open(name, (file, None), options)?));
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
            StreamTable::Text(text) => text.table.name(),
            StreamTable::Parquet(table) => table.name(),
        }
    }

    fn columns(&self) -> &[SourceColumn] {
        match &self.table {
            StreamTable::Text(text) => text.table.columns(),
            StreamTable::Parquet(table) => table.columns(),
        }
    }

    fn delimiter(&self) -> Option<u8> {
        match &self.table {
            StreamTable::Text(text) => Some(text.table.delimiter()),
            StreamTable::Parquet(_) => None,
        }
    }

    fn n_rows(&self) -> Option<u64> {
        match &self.table {
            StreamTable::Text(_) => None,
            StreamTable::Parquet(table) => Some(table.n_rows()),
        }
    }

    fn remarks(&self) -> Vec<Remark> {
        match &self.table {
            StreamTable::Text(text) => text.table.remarks().all(),
            StreamTable::Parquet(_) => Vec::new(),
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
            StreamTable::Text(text) => text.table.types(requests, &self.options),
            StreamTable::Parquet(table) => table.types(requests, &self.options),
        }
    }

    fn scan<'s>(
        &'s self,
        requests: &'s [ColumnRequest],
        types: &'s RequestedTypes,
    ) -> Result<Box<dyn Scan + 's>> {
        let wanted = Wanted::new(self.name(), self.columns(), requests, types, &self.options)?;
        Ok(match &self.table {
            StreamTable::Text(text) => {
                let mut part = Some(text.table.part(types.encoding, || text.reopen())?);
                if !TypeSamples::are_open(requests) && !text.table.has_open_encoding() {
                    text.replay.forget();
                }
                let parts = Box::new(move || Ok(part.take()));
                let scan = TextScan::new(text.table.name(), wanted, parts)
                    .remarking(text.table.remarks())
                    .with_open_encoding(text.table.has_open_encoding());
                Box::new(scan.when_settled(Box::new(|| text.replay.forget())))
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
