//! A table that goes to a stream, such as standard output.
//!
//! What has left through a stream cannot be taken back. So the whole table is put aside first, in a
//! file without a name, and leaves only when it may appear.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use albers_storage::StorageError;
use albers_storage::digest::Digested;
use albers_storage::input::InputFile;
use albers_storage::output::{Place, Purpose, SealedFile, begin_stream};
use albers_storage::scratch::ScratchFile;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::file::text_file;
use super::writer::{TableWriter, check_types};
use super::{RunBatch, Sealed, Sink, WriteOptions};
use crate::Result;
use crate::format::Format;

const BUFFER_BYTES: usize = 1 << 20;

/// A stream that gets a table when it is whole, and the file where its manifest goes.
pub struct StreamSink {
    output: Box<dyn Write + Send>,
    name: String,
    format: Format,
    folder: PathBuf,
    manifest: Option<Place>,
    purpose: Purpose,
    writer: Option<TableWriter<BufWriter<Digested<ScratchFile>>>>,
}

impl StreamSink {
    /// A stream, what people call it, and the folder where the table waits without a name.
    pub fn new(
        output: Box<dyn Write + Send>,
        name: &str,
        format: Format,
        folder: &Path,
        manifest: Option<PathBuf>,
    ) -> StreamSink {
        let (name, folder) = (name.to_owned(), folder.to_owned());
        let manifest = manifest.map(|path| Place::look(&path));
        let purpose = Purpose::Appear;
        StreamSink { output, name, format, folder, manifest, purpose, writer: None }
    }

    /// The same stream, whose manifest replaces nothing.
    pub fn only_new(mut self) -> StreamSink {
        self.manifest = self.manifest.map(|place| Place::free(place.path()));
        self
    }

    /// The same stream for a purpose: nothing leaves to it where it is only rehearsed.
    pub fn with_purpose(mut self, purpose: Purpose) -> StreamSink {
        self.purpose = purpose;
        self
    }
}

fn write_error(folder: &Path, source: io::Error) -> StorageError {
    StorageError::SpillWrite { folder: folder.to_owned(), source }
}

impl Sink for StreamSink {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_typed(&self) -> bool {
        self.format.is_typed()
    }

    fn shows_bounds(&self) -> bool {
        self.format.shows_bounds()
    }

    fn begin(&mut self, schema: SchemaRef, options: WriteOptions) -> Result<()> {
        check_types(self.format, &schema)?;
        let scratch = Digested::new(ScratchFile::create(&self.folder)?);
        let output = BufWriter::with_capacity(BUFFER_BYTES, scratch);
        let writer = TableWriter::new(output, self.format, schema, options);
        self.writer = Some(writer.map_err(|source| write_error(&self.folder, source))?);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.write_runs(&RunBatch::of_rows(batch))
    }

    fn write_runs(&mut self, rows: &RunBatch) -> Result<()> {
        let writer = self.writer.as_mut().expect("a table begins before its rows");
        writer.write(rows, |source| write_error(&self.folder, source))
    }

    fn seal(self: Box<Self>) -> Result<Box<dyn Sealed>> {
        let writer = self.writer.expect("a table begins before it ends");
        let scratch = writer
            .finish()
            .and_then(|buffered| buffered.into_inner().map_err(io::IntoInnerError::into_error))
            .map_err(|source| write_error(&self.folder, source))?;
        let (scratch, digest) = scratch.finish();
        Ok(Box::new(SealedStream {
            output: self.output,
            name: self.name,
            folder: self.folder,
            table: Some(Arc::new(scratch.into_input()?)),
            digest,
            manifest: None,
            place: self.manifest,
            purpose: self.purpose,
            has_left: false,
        }))
    }
}

/// A table that waits to leave.
struct SealedStream {
    output: Box<dyn Write + Send>,
    name: String,
    folder: PathBuf,
    table: Option<Arc<InputFile>>,
    digest: String,
    manifest: Option<SealedFile>,
    place: Option<Place>,
    purpose: Purpose,
    has_left: bool,
}

impl SealedStream {
    /// Copies the table to the stream. A reader that wants no more of it is no fault of ours.
    fn send(&mut self, table: &Arc<InputFile>) -> Result<()> {
        let mut rows = table.reader_at(0);
        let mut piece = vec![0; BUFFER_BYTES];
        loop {
            let n_read = io::Read::read(&mut rows, &mut piece).map_err(|source| {
                StorageError::SpillRead { folder: self.folder.clone(), source }
            })?;
            let is_end = n_read == 0;
            self.has_left |= !is_end;
            let sent = match is_end {
                true => self.output.flush(),
                false => self.output.write_all(&piece[..n_read]),
            };
            match sent {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                Err(source) => {
                    let name = self.name.clone();
                    return Err(StorageError::Send { name, source }.into());
                }
                Ok(()) if is_end => return Ok(()),
                Ok(()) => {}
            }
        }
    }
}

impl Sealed for SealedStream {
    fn digest(&self) -> Option<&str> {
        Some(&self.digest)
    }

    fn attach(&mut self, manifest: &str) -> Result<()> {
        if let Some(place) = &self.place {
            self.manifest = Some(text_file(self.purpose, place, manifest)?.seal()?.last());
        }
        Ok(())
    }

    fn files(&mut self) -> Vec<SealedFile> {
        self.manifest.take().into_iter().collect()
    }

    fn appear(&mut self) -> Result<()> {
        let Some(table) = self.table.take() else { return Ok(()) };
        if self.purpose == Purpose::Rehearse {
            return Ok(());
        }
        begin_stream();
        self.send(&table)
    }

    fn withdraw(&mut self) -> std::result::Result<(), String> {
        match std::mem::take(&mut self.has_left) {
            true => Err(format!("what went to {} (it cannot be taken back)", self.name)),
            false => Ok(()),
        }
    }
}
