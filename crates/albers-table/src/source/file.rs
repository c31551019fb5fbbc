//! A table in one file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use albers_storage::input::{self, InputFile, Packing};

use super::csv::{TextPart, TextScan, TextSizes, TextTable};
use super::parquet::{ParquetScan, ParquetTable};
use super::{
    ColumnRequest, ReadOptions, RequestedTypes, Scan, Source, SourceColumn, Stamp, Wanted,
};
use crate::Result;
use crate::format::Format;

/// A CSV, TSV or Parquet file. It is opened once, however often it is scanned.
pub struct FileSource {
    file: Arc<InputFile>,
    options: ReadOptions,
    table: FileTable,
}

/// What a file holds.
pub(super) enum FileTable {
    /// Text, and how it is packed.
    Text(Box<TextTable>, Packing),
    /// Parquet.
    Parquet(Arc<ParquetTable>),
}

impl FileSource {
    /// Opens a file in the format that is given, or else told by the ending of its name.
    ///
    /// The delimiter of a text is told from its header, unless the options give it or the format is
    /// given as TSV.
    pub fn open(path: &Path, format: Option<Format>, options: &ReadOptions) -> Result<FileSource> {
        FileSource::open_sized(path, format, options, Arc::default(), TextSizes::default())
    }

    /// The same; the bytes that are read count into `read_bytes`, and text is read in these sizes.
    pub(super) fn open_sized(
        path: &Path,
        format: Option<Format>,
        options: &ReadOptions,
        read_bytes: Arc<AtomicU64>,
        sizes: TextSizes,
    ) -> Result<FileSource> {
        // A folder or a pipe is refused as such, whatever its ending.
        let file = Arc::new(input::open(path)?.counted_by(read_bytes));
        let name = path.display().to_string();
        let table = match format.map_or_else(|| Format::for_reading(path), Ok)? {
            Format::Parquet => {
                FileTable::Parquet(Arc::new(ParquetTable::open(&name, file.clone())?))
            }
            Format::Csv | Format::Tsv => {
                let packing = Packing::of(path);
                let delimiter = given_delimiter(format, options);
                let text = file.unpacked(packing)?;
                let table = TextTable::open(&name, text, delimiter, options, sizes)?;
                FileTable::Text(Box::new(table), packing)
            }
        };
        Ok(FileSource { file, options: options.clone(), table })
    }

    /// What it holds.
    pub(super) fn table(&self) -> &FileTable {
        &self.table
    }

    /// Its text from the first row on.
    pub(super) fn text_part(&self, table: &TextTable, packing: Packing) -> Result<TextPart> {
        table.part(|| Ok(self.file.unpacked(packing)?))
    }
}

impl Source for FileSource {
    fn name(&self) -> &str {
        match &self.table {
            FileTable::Text(table, _) => table.name(),
            FileTable::Parquet(table) => table.name(),
        }
    }

    fn columns(&self) -> &[SourceColumn] {
        match &self.table {
            FileTable::Text(table, _) => table.columns(),
            FileTable::Parquet(table) => table.columns(),
        }
    }

    fn delimiter(&self) -> Option<u8> {
        match &self.table {
            FileTable::Text(table, _) => Some(table.delimiter()),
            FileTable::Parquet(_) => None,
        }
    }

    fn n_rows(&self) -> Option<u64> {
        match &self.table {
            FileTable::Text(table, Packing::Plain) => {
                Some(table.estimated_rows(self.file.n_bytes()))
            }
            FileTable::Text(..) => None,
            FileTable::Parquet(table) => Some(table.n_rows()),
        }
    }

    fn stamp(&self) -> Option<Stamp> {
        // A file that can no longer be looked at was changed.
        Some(Stamp::Files(vec![self.file.stamp().unwrap_or((u64::MAX, None))]))
    }

    fn types(&self, requests: &[ColumnRequest]) -> Result<RequestedTypes> {
        match &self.table {
            FileTable::Text(table, _) => table.types(requests, &self.options),
            FileTable::Parquet(table) => table.types(requests),
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
            FileTable::Text(table, packing) => {
                let mut part = Some(self.text_part(table, *packing)?);
                Box::new(TextScan::new(table.name(), wanted, Box::new(move || Ok(part.take()))))
            }
            FileTable::Parquet(table) => {
                let mut table = Some(table.clone());
                Box::new(ParquetScan::new(wanted, Box::new(move || Ok(table.take()))))
            }
        })
    }

    fn read_bytes(&self) -> u64 {
        self.file.read_bytes()
    }
}

/// The byte between cells as far as it is given.
pub(super) fn given_delimiter(format: Option<Format>, options: &ReadOptions) -> Option<u8> {
    options.delimiter.or((format == Some(Format::Tsv)).then_some(b'\t'))
}
