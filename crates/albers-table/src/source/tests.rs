//! Tables read from all sources are the same rows in the same order, and no file is opened more
//! often than it must.

mod batches;
mod changed;
mod damaged;
mod files;
mod notations;
mod order;
mod settled;
mod sheets;
mod spill;
mod streams;
mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::file::properties::WriterProperties;
use albers_storage::watch::Silent;
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};

use super::*;
use crate::chunk::{Cells, ColumnChunk};
use crate::sink::{FileSink, Sink as _, WriteOptions};

/// All columns, coded and carried.
fn requests_of(source: &dyn Source, column_type: Option<ColumnType>) -> Vec<ColumnRequest> {
    let names = source.columns().iter().map(|column| column.name.clone());
    names.map(|name| ColumnRequest { name, column_type, coded: true, carried: true }).collect()
}

/// Hands all chunks to `sink`, in the order of the scan.
fn read_as(
    source: &dyn Source,
    column_type: Option<ColumnType>,
    sink: &mut (dyn FnMut(SourceChunk) + Send),
) -> Result<RequestedTypes> {
    let requests = requests_of(source, column_type);
    let types = source.types(&requests)?;
    let mut scan = source.scan(&requests, &types)?;
    for_each_chunk(&mut *scan, &Silent, &Ok, &mut |chunk| {
        sink(chunk);
        Ok(())
    })?;
    drop(scan);
    Ok(types)
}

/// All chunks, in the order of the scan.
fn chunks_of(source: &dyn Source) -> Result<Vec<SourceChunk>> {
    let mut chunks = Vec::new();
    read_as(source, None, &mut |chunk| chunks.push(chunk))?;
    Ok(chunks)
}

/// The whole numbers of a coded column, in the order of the rows' numbers.
fn numbers_of(mut chunks: Vec<SourceChunk>, column_idx: usize) -> Vec<i64> {
    chunks.sort_by_key(|chunk| chunk.first_row);
    let mut numbers = Vec::new();
    for chunk in &chunks {
        assert_eq!(
            chunk.first_row,
            RowId::new(numbers.len() as u64),
            "rows are numbered without a gap"
        );
        match &chunk.coded[column_idx].cells {
            Cells::Ticks { base, offsets, .. } => {
                numbers.extend(offsets.iter().map(|&offset| base + i64::from(offset)));
            }
            Cells::WideTicks { ticks, .. } => numbers.extend(ticks),
            _ => panic!("the column has no whole numbers"),
        }
    }
    numbers
}

/// Rows whose id is their number from `first` on, and a text.
fn numbered(first: i64, n_rows: i64) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + n_rows));
    let names = (first..first + n_rows).map(|id| format!("n{}", id % 7));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(names));
    RecordBatch::try_from_iter([("id", ids), ("name", names)]).unwrap()
}

/// Writes a table, one row group per batch where it is Parquet.
fn write_table(path: &Path, batches: &[RecordBatch]) {
    if path.extension().is_some_and(|ending| ending == "parquet") {
        let file = std::fs::File::create(path).unwrap();
        let packed = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut writer = ArrowWriter::try_new(file, batches[0].schema(), Some(packed)).unwrap();
        for batch in batches {
            writer.write(batch).unwrap();
            writer.flush().unwrap();
        }
        writer.close().unwrap();
        return;
    }
    let mut sink = FileSink::new(path, None, None).unwrap();
    sink.begin(batches[0].schema(), WriteOptions::default()).unwrap();
    for batch in batches {
        sink.write(batch).unwrap();
    }
    sink.finish().unwrap();
}

fn open(path: &Path) -> FileSource {
    FileSource::open(path, None, &ReadOptions::default()).unwrap()
}
