//! A table in a file, with its manifest and other texts in files beside it.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use albers_storage::StorageError;
use albers_storage::input::Packing;
use albers_storage::output::{OutputFile, PackedOutput, Place, Purpose, SealedFile};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::writer::{TableWriter, check_types};
use super::{RunBatch, Sealed, Sink, WriteOptions, name_all};
use crate::Result;
use crate::format::Format;

/// A file that appears under its name, with its manifest, when the table is whole.
pub struct FileSink {
    place: Place,
    name: String,
    format: Format,
    manifest: Option<Place>,
    texts: Vec<Place>,
    is_private: bool,
    purpose: Purpose,
    writer: Option<TableWriter<PackedOutput>>,
}

impl FileSink {
    /// A file in the format that is given, or else told by the ending of its name, and where its
    /// manifest goes. Nothing is created before [`Sink::begin`], and what is there already is replaced
    /// at the end if it is still the same.
    pub fn new(path: &Path, format: Option<Format>, manifest: Option<PathBuf>) -> Result<FileSink> {
        if path.is_dir() {
            return Err(StorageError::IsFolder { path: path.to_owned() }.into());
        }
        let name = path.display().to_string();
        let format = match format {
            Some(format) => format.check_written(&name)?,
            None => Format::for_writing(path)?,
        };
        let (place, texts, is_private) = (Place::look(path), Vec::new(), false);
        let manifest = manifest.map(|path| Place::look(&path));
        let purpose = Purpose::Appear;
        Ok(FileSink { place, name, format, manifest, texts, is_private, purpose, writer: None })
    }

    /// The same file, and where the texts go that appear with it.
    pub fn with_texts(mut self, texts: &[PathBuf]) -> FileSink {
        self.texts = texts.iter().map(|path| Place::look(path)).collect();
        self
    }

    /// The same file, which replaces nothing, and neither does what belongs to it.
    pub fn only_new(mut self) -> FileSink {
        let places = self.texts.iter_mut().chain(&mut self.manifest);
        for place in std::iter::once(&mut self.place).chain(places) {
            *place = Place::free(place.path());
        }
        self
    }

    /// The same file, which only its owner may read.
    pub fn private(mut self) -> FileSink {
        self.is_private = true;
        self
    }

    /// The same file, written for a purpose with all that belongs to it.
    pub fn with_purpose(mut self, purpose: Purpose) -> FileSink {
        self.purpose = purpose;
        self
    }

    /// Ends a table that has no manifest, and lets it appear.
    pub fn finish(self) -> Result<()> {
        name_all(vec![Box::new(self).seal()?])
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

    fn shows_bounds(&self) -> bool {
        self.format.shows_bounds()
    }

    fn format_beside(&self) -> Option<Format> {
        (!self.texts.is_empty()).then_some(self.format)
    }

    fn begin(&mut self, schema: SchemaRef, options: WriteOptions) -> Result<()> {
        check_types(self.format, &schema)?;
        let packing = match self.format.may_be_packed() {
            true => Packing::of(self.place.path()),
            false => Packing::Plain,
        };
        let file = OutputFile::create_for(self.purpose, self.place.clone())?;
        let output = PackedOutput::around(file, packing)?;
        let writer = TableWriter::new(output, self.format, schema, options);
        self.writer = Some(writer.map_err(|source| write_error(self.place.path(), source))?);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.write_runs(&RunBatch::of_rows(batch))
    }

    fn write_runs(&mut self, rows: &RunBatch) -> Result<()> {
        let writer = self.writer.as_mut().expect("a table begins before its rows");
        writer.write(rows, |source| write_error(self.place.path(), source))
    }

    fn seal(self: Box<Self>) -> Result<Box<dyn Sealed>> {
        let writer = self.writer.expect("a table begins before it ends");
        let output = writer.finish().map_err(|source| write_error(self.place.path(), source))?;
        let (data, digest) = match self.is_private {
            true => output.seal_private(self.place.path())?,
            false => output.seal(self.place.path())?,
        };
        let files = vec![data];
        let FileSink { manifest, texts, purpose, .. } = *self;
        Ok(Box::new(SealedTable { files, digest, manifest, texts, purpose }))
    }
}

/// A table that waits for its texts, its manifest and its name.
struct SealedTable {
    files: Vec<SealedFile>,
    digest: String,
    manifest: Option<Place>,
    texts: Vec<Place>,
    purpose: Purpose,
}

impl Sealed for SealedTable {
    fn digest(&self) -> Option<&str> {
        Some(&self.digest)
    }

    fn attach_texts(&mut self, texts: &[String]) -> Result<()> {
        for (place, text) in self.texts.iter().zip(texts) {
            self.files.push(text_file(self.purpose, place, text)?.seal()?);
        }
        Ok(())
    }

    fn attach(&mut self, manifest: &str) -> Result<()> {
        if let Some(place) = &self.manifest {
            self.files.push(text_file(self.purpose, place, manifest)?.seal()?.last());
        }
        Ok(())
    }

    fn files(&mut self) -> Vec<SealedFile> {
        std::mem::take(&mut self.files)
    }
}

/// A text that waits for its name, in a file that only its owner may read.
pub fn private_text(purpose: Purpose, place: &Place, text: &str) -> Result<Box<dyn Sealed>> {
    Ok(sealed_file(text_file(purpose, place, text)?.seal_private()?))
}

/// A file that waits for its name.
pub fn sealed_file(file: SealedFile) -> Box<dyn Sealed> {
    Box::new(OneFile(Some(file)))
}

/// A file with a small text.
pub(super) fn text_file(purpose: Purpose, place: &Place, text: &str) -> Result<OutputFile> {
    let mut output = OutputFile::create_for(purpose, place.clone())?;
    output.write_all(text.as_bytes()).map_err(|error| output.write_error(error))?;
    Ok(output)
}

struct OneFile(Option<SealedFile>);

impl Sealed for OneFile {
    fn files(&mut self) -> Vec<SealedFile> {
        self.0.take().into_iter().collect()
    }
}
