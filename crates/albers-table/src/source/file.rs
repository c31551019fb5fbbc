//! A table in one file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use albers_storage::input::{self, InputFile};

use super::allowance::Allowance;
use super::content::Content;
use super::csv::{TextPart, TextScan, TextSizes};
use super::json_lines::Keys;
use super::parquet::{ParquetScan, ParquetTable};
use super::sheet::SheetText;
use super::text::{FileText, TextKind};
use super::unchanged::Opened;
use super::{
    ColumnRequest, Layout, ReadOptions, Remark, RequestedTypes, Scan, Source, SourceColumn, Stamp,
    TextEncoding, Wanted,
};
use crate::Result;
use crate::format::Format;

/// A file of text, JSON Lines or Parquet, or a workbook. It is opened once, however often it is scanned.
pub struct FileSource {
    file: Arc<InputFile>,
    options: ReadOptions,
    table: FileTable,
    /// What it was when it was opened, unless nobody else can write to it.
    opened: Option<Arc<Opened>>,
}

/// What a file holds.
pub(super) enum FileTable {
    /// Text, or what becomes text.
    Text(Box<FileText>),
    /// Parquet.
    Parquet(Arc<ParquetTable>),
}

impl FileSource {
    /// Opens a file in the format that is given, or else told by its first bytes and the ending of
    /// its name.
    ///
    /// The delimiter of a text is told from its header, unless the options give it or the format is
    /// given as TSV.
    pub fn open(path: &Path, format: Option<Format>, options: &ReadOptions) -> Result<FileSource> {
        FileSource::open_sized(path, format, options, Arc::default(), TextSizes::within(options))
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
        let opened = Arc::new(Opened::now(&path.display().to_string(), &file)?);
        FileSource::of_file((file, Some(opened)), path, format, options, sizes)
    }

    /// A file that is open, what it was then unless nobody else can write to it, and what it is
    /// called.
    pub(super) fn of_file(
        (file, opened): (Arc<InputFile>, Option<Arc<Opened>>),
        path: &Path,
        given: Option<Format>,
        options: &ReadOptions,
        sizes: TextSizes,
    ) -> Result<FileSource> {
        let name = path.display().to_string();
        let Content { format, packing } = Content::of((&name, path), &file, given)?;
        let text = |kind| -> Result<FileTable> {
            let delimiter = given_delimiter(given, options);
            let text = FileText::open((&name, &file), kind, delimiter, options, sizes)?;
            Ok(FileTable::Text(Box::new(text)))
        };
        let table = match format {
            Format::Parquet => {
                let own = (file.clone(), opened.clone());
                FileTable::Parquet(Arc::new(ParquetTable::open(&name, own, options)?))
            }
            Format::Csv | Format::Tsv => text(TextKind::Plain(packing))?,
            Format::JsonLines => {
                let keys = Keys::of(
                    &name,
                    file.unpacked(packing, options.limit_bytes)?,
                    Allowance::of(options),
                )?;
                text(TextKind::JsonLines(packing, Arc::new(keys)))?
            }
            Format::Sheet => {
                let sheet = SheetText::of(&name, &file, options)?;
                // From here on the text of the sheet is read, and not the workbook.
                opened.as_ref().map_or(Ok(()), |opened| opened.check_unchanged())?;
                text(TextKind::Sheet(Arc::new(sheet)))?
            }
        };
        let options = match &table {
            FileTable::Text(text) => text.table().options().clone(),
            FileTable::Parquet(_) => options.clone(),
        };
        Ok(FileSource { file, options, table, opened })
    }

    /// What it was when it was opened.
    pub(super) fn opened(&self) -> Option<&Opened> {
        self.opened.as_deref()
    }

    /// How it is read.
    pub(super) fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// What it holds.
    pub(super) fn table(&self) -> &FileTable {
        &self.table
    }

    /// Its text from the first row on.
    pub(super) fn text_part(
        &self,
        text: &FileText,
        other_encoding: Option<TextEncoding>,
    ) -> Result<TextPart> {
        let part = text.part(&self.file, other_encoding)?;
        Ok(match text.layout() {
            Layout::Sheet => part,
            _ => part.with_opened(self.opened.clone()),
        })
    }
}

impl Source for FileSource {
    fn name(&self) -> &str {
        match &self.table {
            FileTable::Text(text) => text.table().name(),
            FileTable::Parquet(table) => table.name(),
        }
    }

    fn columns(&self) -> &[SourceColumn] {
        match &self.table {
            FileTable::Text(text) => text.table().columns(),
            FileTable::Parquet(table) => table.columns(),
        }
    }

    fn delimiter(&self) -> Option<u8> {
        match &self.table {
            FileTable::Text(text) => Some(text.table().delimiter()),
            FileTable::Parquet(_) => None,
        }
    }

    fn layout(&self) -> Layout {
        match &self.table {
            FileTable::Text(text) => text.layout(),
            FileTable::Parquet(_) => Layout::Typed,
        }
    }

    fn n_rows(&self) -> Option<u64> {
        match &self.table {
            FileTable::Text(text) => text.estimated_rows(&self.file),
            FileTable::Parquet(table) => Some(table.n_rows()),
        }
    }

    fn remarks(&self) -> Vec<Remark> {
        match &self.table {
            FileTable::Text(text) => text.table().remarks().all(),
            FileTable::Parquet(_) => Vec::new(),
        }
    }

    fn stamp(&self) -> Option<Stamp> {
        // A file that can no longer be looked at was changed.
        Some(Stamp::Files(vec![self.file.stamp().unwrap_or((u64::MAX, None))]))
    }

    fn types(&self, requests: &[ColumnRequest]) -> Result<RequestedTypes> {
        match &self.table {
            FileTable::Text(text) => text.table().types(requests, &self.options),
            FileTable::Parquet(table) => table.types(requests, &self.options),
        }
    }

    fn scan<'s>(
        &'s self,
        requests: &'s [ColumnRequest],
        types: &'s RequestedTypes,
    ) -> Result<Box<dyn Scan + 's>> {
        let wanted = Wanted::new(self.name(), self.columns(), requests, types, &self.options)?;
        Ok(match &self.table {
            FileTable::Text(text) => {
                let table = text.table();
                let mut part = Some(self.text_part(text, types.encoding)?);
                let scan = TextScan::new(table.name(), wanted, Box::new(move || Ok(part.take())));
                let scan = scan.remarking(table.remarks());
                Box::new(scan.with_open_encoding(table.has_open_encoding()))
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
