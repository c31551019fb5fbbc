//! Several files as one table.
//!
//! The first file tells the columns. The files after it are opened when a scan reaches them, or
//! when the first have too few rows to tell the types of a text; those wait open for the first
//! scan, so that no file is opened more than twice, unless all rows turn out to have other types.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use albers_storage::input::{self, FileStamp};

use super::arrow::types_of;
use super::csv::{TextParts, TextScan, TextSizes, TextTable, TypeSamples};
use super::file::{FileSource, FileTable};
use super::parquet::{ParquetParts, ParquetScan};
use super::unchanged;
use super::{
    ColumnRequest, Layout, ReadOptions, Remark, Remarks, RequestedTypes, Scan, Source,
    SourceColumn, Stamp, Wanted, table_error,
};
use crate::format::Format;
use crate::{Result, TableError};

/// Types are told from no more files than this, since they all stay open.
const MAX_SAMPLED_FILES: usize = 64;

/// Several files of one format that have the same columns in the same order. Rows are numbered on
/// from file to file.
pub struct FilesSource {
    name: String,
    paths: Vec<PathBuf>,
    /// What they were when the first was opened.
    stamps: Vec<FileStamp>,
    layout: Layout,
    given_format: Option<Format>,
    options: ReadOptions,
    sizes: TextSizes,
    columns: Vec<SourceColumn>,
    delimiter: Option<u8>,
    n_rows: Option<u64>,
    /// The first files, open, until a scan reads them.
    waiting: Mutex<Vec<Option<FileSource>>>,
    read_bytes: Arc<AtomicU64>,
    remarks: Remarks,
}

impl FilesSource {
    /// Opens the first of the files; all are of the format that is given, or else told by the
    /// endings of their names.
    pub fn open(
        paths: Vec<PathBuf>,
        format: Option<Format>,
        options: &ReadOptions,
    ) -> Result<FilesSource> {
        FilesSource::open_sized(paths, format, options, TextSizes::within(options))
    }

    /// The same; text is read in these sizes.
    pub(super) fn open_sized(
        paths: Vec<PathBuf>,
        format: Option<Format>,
        options: &ReadOptions,
        sizes: TextSizes,
    ) -> Result<FilesSource> {
        let Some(first_path) = paths.first() else {
            return Err(table_error("the input", "there are no files", "name at least one"));
        };
        if format.is_none() {
            check_formats(&paths)?;
        }
        let read_bytes = Arc::new(AtomicU64::new(0));
        let first = FileSource::open_sized(first_path, format, options, read_bytes.clone(), sizes)?;
        let stamps =
            paths.iter().map(|path| Ok(input::stamp_of(path)?)).collect::<Result<Vec<_>>>()?;
        let n_bytes = stamps.iter().map(|&(n_bytes, _)| n_bytes).sum();
        Ok(FilesSource {
            name: match paths.len() {
                1 => first.name().to_owned(),
                n_files => format!("{} and {} more files", first.name(), n_files - 1),
            },
            layout: first.layout(),
            given_format: format,
            options: first.options().clone(),
            sizes,
            columns: first.columns().to_vec(),
            delimiter: first.delimiter(),
            n_rows: estimated_rows(&first, stamps[0].0, n_bytes),
            waiting: Mutex::new(vec![Some(first)]),
            read_bytes,
            remarks: Remarks::default(),
            paths,
            stamps,
        })
    }

    /// A file that waits open, or is opened now. Its columns are those of the first.
    fn file(&self, file_idx: usize) -> Result<FileSource> {
        let waiting = self.waiting().get_mut(file_idx).and_then(Option::take);
        match waiting {
            Some(file) => Ok(file),
            None => self.open_file(file_idx),
        }
    }

    fn open_file(&self, file_idx: usize) -> Result<FileSource> {
        let path = &self.paths[file_idx];
        let file = FileSource::open_sized(
            path,
            self.given_format,
            &self.options,
            self.read_bytes.clone(),
            self.sizes,
        )?;
        // The others of them may be read already.
        if file.opened().is_some_and(|opened| opened.stamp() != self.stamps[file_idx]) {
            return Err(unchanged::changed(file.name()));
        }
        if file.layout() != self.layout {
            return Err(table_error(
                file.name(),
                format!(
                    "the file is {}, but {} is {}",
                    file.layout().words(),
                    self.paths[0].display(),
                    self.layout.words()
                ),
                "read files of one format as one table",
            ));
        }
        if file.columns() != self.columns {
            return Err(self.other_columns(file.name(), file.columns()));
        }
        Ok(file)
    }

    /// Says in what a file differs from the first, but for names that may be cells.
    fn other_columns(&self, table: &str, columns: &[SourceColumn]) -> TableError {
        let first = self.paths[0].display();
        let problem = if columns.len() != self.columns.len() {
            let (n_given, n_own) = (columns.len(), self.columns.len());
            format!("the table has {n_given} columns where {first} has {n_own}")
        } else {
            let same = columns.iter().zip(&self.columns).take_while(|(a, b)| a == b).count();
            let what = match columns[same].name == self.columns[same].name {
                true => "type",
                false => "name",
            };
            format!("column {} has another {what} than in {first}", same + 1)
        };
        table_error(table, problem, "give all files the same columns in the same order")
    }

    /// Adds what was found out about one of the files.
    fn remark_on(&self, table: &TextTable) {
        self.remarks.add_all(table.remarks());
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Option<FileSource>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The types of text, told from the first rows of the first files: a scan tells if those of
    /// all rows are others.
    fn text_types(&self, requests: &[ColumnRequest]) -> Result<RequestedTypes> {
        let none = RequestedTypes::plain(Vec::new(), Vec::new());
        let wanted = self.wanted(requests, &none)?;
        let mut samples = TypeSamples::of_first(self.sizes.first_rows, requests);
        let mut n_bytes = 0;
        for file_idx in 0..self.paths.len().min(MAX_SAMPLED_FILES) {
            let file = self.file(file_idx)?;
            let FileTable::Text(text) = file.table() else {
                unreachable!("all files have the layout of the first")
            };
            let table = text.table();
            table.sample(&wanted, &mut samples);
            let first_block = table.first_block();
            n_bytes += first_block.n_bytes;
            let mut waiting = self.waiting();
            while waiting.len() <= file_idx {
                waiting.push(None);
            }
            waiting[file_idx] = Some(file);
            if samples.is_enough() || !first_block.is_whole || n_bytes >= self.sizes.first_bytes {
                break;
            }
        }
        Ok(samples.types(requests, &self.options))
    }

    fn wanted<'a>(
        &'a self,
        requests: &'a [ColumnRequest],
        types: &'a RequestedTypes,
    ) -> Result<Wanted<'a>> {
        Wanted::new(&self.name, &self.columns, requests, types, &self.options)
    }
}

impl Source for FilesSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn delimiter(&self) -> Option<u8> {
        self.delimiter
    }

    fn layout(&self) -> Layout {
        self.layout
    }

    fn n_rows(&self) -> Option<u64> {
        self.n_rows
    }

    fn remarks(&self) -> Vec<Remark> {
        self.remarks.all()
    }

    fn stamp(&self) -> Option<Stamp> {
        // A file that can no longer be looked at was changed.
        let stamp = |path: &PathBuf| input::stamp_of(path).unwrap_or((u64::MAX, None));
        Some(Stamp::Files(self.paths.iter().map(stamp).collect()))
    }

    fn types(&self, requests: &[ColumnRequest]) -> Result<RequestedTypes> {
        match self.layout {
            Layout::Typed => types_of(&self.name, &self.columns, requests, &self.options),
            _ => self.text_types(requests),
        }
    }

    fn scan<'s>(
        &'s self,
        requests: &'s [ColumnRequest],
        types: &'s RequestedTypes,
    ) -> Result<Box<dyn Scan + 's>> {
        let wanted = self.wanted(requests, types)?;
        let mut files = (0..self.paths.len()).map(|file_idx| self.file(file_idx));
        Ok(match self.layout {
            Layout::Typed => {
                let parts: ParquetParts<'s> = Box::new(move || {
                    let Some(file) = files.next().transpose()? else { return Ok(None) };
                    match file.table() {
                        FileTable::Parquet(table) => Ok(Some(table.clone())),
                        FileTable::Text(..) => unreachable!("all files are Parquet"),
                    }
                });
                Box::new(ParquetScan::new(wanted, parts))
            }
            _ => {
                let parts: TextParts<'s> = Box::new(move || {
                    let Some(file) = files.next().transpose()? else { return Ok(None) };
                    match file.table() {
                        FileTable::Text(text) => {
                            self.remark_on(text.table());
                            Ok(Some(file.text_part(text, None)?))
                        }
                        FileTable::Parquet(_) => unreachable!("all files are text"),
                    }
                });
                Box::new(TextScan::new(&self.name, wanted, parts).remarking(&self.remarks))
            }
        })
    }

    fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }
}

/// Refuses files of several formats, told by the endings of their names.
fn check_formats(paths: &[PathBuf]) -> Result<()> {
    let format = Format::for_reading(&paths[0])?;
    for path in paths {
        let other = Format::for_reading(path)?;
        if other != format {
            return Err(table_error(
                &path.display().to_string(),
                format!("the file is {other}, but {} is {format}", paths[0].display()),
                "read files of one format as one table",
            ));
        }
    }
    Ok(())
}

/// How many rows so many bytes have, if all files are like the first.
fn estimated_rows(first: &FileSource, n_first_bytes: u64, n_bytes: u64) -> Option<u64> {
    let n_rows = u128::from(first.n_rows()?) * u128::from(n_bytes);
    u64::try_from(n_rows / u128::from(n_first_bytes.max(1))).ok()
}

/// The files that a name stands for: the tables of a folder, what matches a pattern, or the file
/// itself. They come in the order of their names.
///
/// In a folder, files without a known ending are no tables, nor are those that are hidden or begin
/// with an underscore. A name with `*`, `?` or brackets is a pattern, unless a file has just this
/// name.
pub fn expand(path: &Path) -> Result<Vec<PathBuf>> {
    if input::is_pattern(path) {
        let matches = input::matches_of(path)?;
        return match matches.is_empty() {
            true => Err(table_error(
                &path.display().to_string(),
                "no file matches this pattern",
                "check the name and the folder",
            )),
            false => Ok(matches),
        };
    }
    match path.is_dir() {
        true => tables_of_folder(path),
        false => Ok(vec![path.to_owned()]),
    }
}

fn tables_of_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    let name = folder.display().to_string();
    let mut tables: Vec<PathBuf> = Vec::new();
    for entry in input::entries_of(folder)? {
        let entry_name = entry.path.file_name().unwrap_or_default();
        if entry_name.as_encoded_bytes().starts_with(b"_") {
            continue;
        }
        if entry.is_folder {
            return Err(table_error(
                &name,
                "the folder holds other folders",
                "name one of them, or give a pattern such as 'folder/*/*.parquet'",
            ));
        }
        let Some(format) = Format::of(&entry.path) else { continue };
        if tables.first().is_some_and(|first| Format::of(first) != Some(format)) {
            return Err(table_error(
                &name,
                "the folder holds tables of several formats",
                "give a pattern such as 'folder/*.csv'",
            ));
        }
        tables.push(entry.path);
    }
    match tables.is_empty() {
        true => Err(table_error(
            &name,
            "the folder holds no tables",
            "tables end in .csv, .tsv, .jsonl, .parquet, .xlsx or .ods, text perhaps packed as \
             .gz or .zst",
        )),
        false => Ok(tables),
    }
}
