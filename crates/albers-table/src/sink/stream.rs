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
use albers_storage::scratch::ScratchFile;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::file::{SealedFiles, text_file};
use super::writer::{TableWriter, check_types};
use super::{Sealed, Sink, WriteOptions};
use crate::format::Format;
use crate::{Result, TableError};

const BUFFER_BYTES: usize = 1 << 20;

/// A stream that gets a table when it is whole, and the file where its manifest goes.
pub struct StreamSink {
    output: Box<dyn Write + Send>,
    name: String,
    format: Format,
    folder: PathBuf,
    manifest: Option<PathBuf>,
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
        StreamSink { output, name, format, folder, manifest, writer: None }
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

    fn begin(&mut self, schema: SchemaRef, options: WriteOptions) -> Result<()> {
        check_types(self.format, &schema)?;
        let scratch = Digested::new(ScratchFile::create(&self.folder)?);
        let output = BufWriter::with_capacity(BUFFER_BYTES, scratch);
        let writer = TableWriter::new(output, self.format, schema, options);
        self.writer = Some(writer.map_err(|source| write_error(&self.folder, source))?);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let writer = self.writer.as_mut().expect("a table begins before its rows");
        writer.write(batch, |source| write_error(&self.folder, source))
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
            manifest: SealedFiles::new(Vec::new()),
            manifest_path: self.manifest,
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
    manifest: SealedFiles,
    manifest_path: Option<PathBuf>,
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
        if let Some(path) = &self.manifest_path {
            self.manifest.add(text_file(path, manifest)?.seal()?);
        }
        Ok(())
    }

    fn name(&mut self) -> Result<()> {
        // The manifest first: it can be taken back.
        self.manifest.name()?;
        let Some(table) = self.table.take() else { return Ok(()) };
        let sent = self.send(&table);
        match self.manifest.has_names() {
            true => sent.map_err(|source| TableError::Withdrawn {
                source: Box::new(source),
                left: self.manifest.withdraw().err().into_iter().collect(),
            }),
            false => sent,
        }
    }

    fn withdraw(&mut self) -> std::result::Result<(), String> {
        let manifest = self.manifest.withdraw();
        let sent = match std::mem::take(&mut self.has_left) {
            true => Err(format!("what went to {} (it cannot be taken back)", self.name)),
            false => Ok(()),
        };
        match (sent, manifest) {
            (Err(sent), Err(manifest)) => Err(format!("{sent}, {manifest}")),
            (sent, manifest) => sent.and(manifest),
        }
    }
}
