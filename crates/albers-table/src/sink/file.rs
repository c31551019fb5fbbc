//! A table in a file, with its manifest and other texts in files beside it.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use albers_storage::StorageError;
use albers_storage::input::Packing;
use albers_storage::output::{OutputFile, PackedOutput, SealedFile, remove};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::writer::{TableWriter, check_types};
use super::{Sealed, Sink, WriteOptions};
use crate::format::Format;
use crate::{Result, TableError};

/// A file that appears under its name, with its manifest, when the table is whole.
pub struct FileSink {
    path: PathBuf,
    name: String,
    format: Format,
    manifest: Option<PathBuf>,
    texts: Vec<PathBuf>,
    is_private: bool,
    writer: Option<TableWriter<PackedOutput>>,
}

impl FileSink {
    /// A file in the format that is given, or else told by the ending of its name, and where its
    /// manifest goes. Nothing is created before [`Sink::begin`].
    pub fn new(path: &Path, format: Option<Format>, manifest: Option<PathBuf>) -> Result<FileSink> {
        if path.is_dir() {
            return Err(StorageError::IsFolder { path: path.to_owned() }.into());
        }
        let format = format.map_or_else(|| Format::for_writing(path), Ok)?;
        let name = path.display().to_string();
        let (path, texts, is_private) = (path.to_owned(), Vec::new(), false);
        Ok(FileSink { path, name, format, manifest, texts, is_private, writer: None })
    }

    /// The same file, and where the texts go that appear with it.
    pub fn with_texts(mut self, texts: Vec<PathBuf>) -> FileSink {
        self.texts = texts;
        self
    }

    /// The same file, which only its owner may read.
    pub fn private(mut self) -> FileSink {
        self.is_private = true;
        self
    }

    /// Ends a table that has no manifest, and lets it appear.
    pub fn finish(self) -> Result<()> {
        Box::new(self).seal()?.name()
    }
}

fn write_error(path: &Path, source: io::Error) -> StorageError {
    StorageError::Write { path: path.to_owned(), source }
}

impl Sink for FileSink {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_typed(&self) -> bool {
        self.format.is_typed()
    }

    fn format_beside(&self) -> Option<Format> {
        (!self.texts.is_empty()).then_some(self.format)
    }

    fn begin(&mut self, schema: SchemaRef, options: WriteOptions) -> Result<()> {
        check_types(self.format, &schema)?;
        let packing = match self.format {
            Format::Csv | Format::Tsv => Packing::of(&self.path),
            Format::Parquet => Packing::Plain,
        };
        let output = PackedOutput::create_as(&self.path, packing)?;
        let writer = TableWriter::new(output, self.format, schema, options);
        self.writer = Some(writer.map_err(|source| write_error(&self.path, source))?);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let writer = self.writer.as_mut().expect("a table begins before its rows");
        writer.write(batch, |source| write_error(&self.path, source))
    }

    fn seal(self: Box<Self>) -> Result<Box<dyn Sealed>> {
        let writer = self.writer.expect("a table begins before it ends");
        let output = writer.finish().map_err(|source| write_error(&self.path, source))?;
        let (data, digest) = match self.is_private {
            true => output.seal_private(&self.path)?,
            false => output.seal(&self.path)?,
        };
        let files = SealedFiles::new(vec![data]);
        let FileSink { manifest, texts, .. } = *self;
        Ok(Box::new(SealedTable { files, digest, manifest, texts }))
    }
}

/// A table that waits for its texts, its manifest and its name.
struct SealedTable {
    files: SealedFiles,
    digest: String,
    manifest: Option<PathBuf>,
    texts: Vec<PathBuf>,
}

impl Sealed for SealedTable {
    fn digest(&self) -> Option<&str> {
        Some(&self.digest)
    }

    fn attach_texts(&mut self, texts: &[String]) -> Result<()> {
        for (path, text) in self.texts.iter().zip(texts) {
            self.files.add(text_file(path, text)?.seal()?);
        }
        Ok(())
    }

    fn attach(&mut self, manifest: &str) -> Result<()> {
        if let Some(path) = &self.manifest {
            self.files.add(text_file(path, manifest)?.seal()?);
        }
        Ok(())
    }

    fn name(&mut self) -> Result<()> {
        self.files.name()
    }

    fn withdraw(&mut self) -> std::result::Result<(), String> {
        self.files.withdraw()
    }
}

/// A text that waits for its name, in a file that only its owner may read.
pub fn private_text(path: &Path, text: &str) -> Result<Box<dyn Sealed>> {
    Ok(Box::new(SealedFiles::new(vec![text_file(path, text)?.seal_private()?])))
}

/// A file that waits for its name.
pub fn sealed_file(file: SealedFile) -> Box<dyn Sealed> {
    Box::new(SealedFiles::new(vec![file]))
}

/// A file with a small text.
pub(super) fn text_file(path: &Path, text: &str) -> Result<OutputFile> {
    let mut output = OutputFile::create(path)?;
    output.write_all(text.as_bytes()).map_err(|error| output.write_error(error))?;
    Ok(output)
}

/// Files that appear together.
pub(super) struct SealedFiles {
    waiting: Vec<SealedFile>,
    named: Vec<PathBuf>,
}

impl SealedFiles {
    /// Files that appear in this order.
    pub(super) fn new(waiting: Vec<SealedFile>) -> SealedFiles {
        SealedFiles { waiting, named: Vec::new() }
    }

    /// One more, after the others.
    pub(super) fn add(&mut self, file: SealedFile) {
        self.waiting.push(file);
    }

    /// Whether some have appeared.
    pub(super) fn has_names(&self) -> bool {
        !self.named.is_empty()
    }
}

impl Sealed for SealedFiles {
    fn name(&mut self) -> Result<()> {
        for file in std::mem::take(&mut self.waiting) {
            let target = file.target().to_owned();
            if let Err(source) = file.name() {
                let source = TableError::from(source);
                return Err(match self.named.is_empty() {
                    true => source,
                    false => TableError::Withdrawn {
                        source: Box::new(source),
                        left: self.withdraw().err().into_iter().collect(),
                    },
                });
            }
            self.named.push(target);
        }
        Ok(())
    }

    fn withdraw(&mut self) -> std::result::Result<(), String> {
        let mut left = Vec::new();
        for path in self.named.drain(..) {
            if let Err(error) = remove(&path) {
                left.push(format!("{} ({error})", path.display()));
            }
        }
        match left.is_empty() {
            true => Ok(()),
            false => Err(left.join(", ")),
        }
    }
}
