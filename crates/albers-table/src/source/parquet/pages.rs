//! The pages of a row group with many columns, of which nothing is kept between two pages.
//!
//! What unpacks zstd takes 96 KB however small a page is, and a reader of a column has one from its
//! first page to its last: 600 columns take 60 MB for that alone. So where columns are many, each
//! page has a reader of its own, which knows of that page only and is gone once it is unpacked.
//!
//! ```text
//!   column    | dictionary | page | page | page |
//!                            ^ at   ^ of which the next reader is told
//! ```
//!
//! Guarantee: the same pages as those of one reader for all of a column.
//! Cost: the header of a page is read two or three times, and what unpacks it is made anew.

use std::sync::Arc;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, RowGroups, RowSelection, RowSelector,
};
use parquet::arrow::parquet_to_arrow_field_levels;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader as _;
use parquet::file::serialized_reader::SerializedPageReader;

use super::Chunks;
use super::header::PageHeader;

/// The rows of a row group behind the first `n_done`, so many at a time.
pub(super) fn batches(
    chunks: Chunks,
    metadata: &ArrowReaderMetadata,
    group_idx: usize,
    mask: ProjectionMask,
    (n_done, batch_rows): (usize, usize),
) -> Result<ParquetRecordBatchReader> {
    let fields = metadata.schema().fields();
    let levels = parquet_to_arrow_field_levels(metadata.parquet_schema(), mask, Some(fields))?;
    let group =
        Group { chunks: Arc::new(chunks), metadata: metadata.metadata().clone(), group_idx };
    let rest = group.num_rows().saturating_sub(n_done);
    let rows = vec![RowSelector::skip(n_done), RowSelector::select(rest)];
    let selection = (n_done > 0).then(|| RowSelection::from(rows));
    ParquetRecordBatchReader::try_new_with_row_groups(&levels, &group, batch_rows, selection)
}

/// A row group of a file.
struct Group {
    chunks: Arc<Chunks>,
    metadata: Arc<ParquetMetaData>,
    group_idx: usize,
}

impl Group {
    fn own(&self) -> &RowGroupMetaData {
        self.metadata.row_group(self.group_idx)
    }
}

impl RowGroups for Group {
    fn num_rows(&self) -> usize {
        usize::try_from(self.own().num_rows()).unwrap_or(0)
    }

    fn column_chunks(&self, column_idx: usize) -> Result<Box<dyn PageIterator>> {
        let column = self.own().column(column_idx);
        let pages = ColumnPages::of(self.chunks.clone(), column, self.num_rows())?;
        Ok(Box::new(OneColumn(Some(pages))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.own()))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// A column of one row group, as those of several are wanted.
struct OneColumn(Option<ColumnPages>);

impl Iterator for OneColumn {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(|pages| Ok(Box::new(pages) as Box<dyn PageReader>))
    }
}

impl PageIterator for OneColumn {}

/// The pages of a column from some place on.
struct ColumnPages {
    chunks: Arc<Chunks>,
    /// What readers must know of the column besides the place of a page.
    column: ColumnChunkMetaData,
    n_rows: usize,
    at: u64,
    end: u64,
}

/// A page that has not been read.
struct UnreadPage {
    reader: SerializedPageReader<Chunks>,
    /// Where the page behind it begins.
    end: u64,
}

impl ColumnPages {
    fn of(chunks: Arc<Chunks>, column: &ColumnChunkMetaData, n_rows: usize) -> Result<ColumnPages> {
        let offset = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let at = u64::try_from(offset).map_err(|_| damaged())?;
        let n_bytes = u64::try_from(column.compressed_size()).map_err(|_| damaged())?;
        let end = at.checked_add(n_bytes).ok_or_else(damaged)?;
        // Without its statistics, which every reader would have a copy of.
        let column = ColumnChunkMetaData::builder(column.column_descr_ptr())
            .set_compression(column.compression())
            .set_num_values(column.num_values())
            .build()?;
        Ok(ColumnPages { chunks, column, n_rows, at, end })
    }

    /// The next page, if there is one.
    fn next_unread(&self) -> Result<Option<UnreadPage>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let header = PageHeader::read(self.chunks.get_read(self.at)?).ok_or_else(damaged)?;
        let n_bytes = header.n_bytes.checked_add(header.packed_bytes).ok_or_else(damaged)?;
        if n_bytes > self.end - self.at {
            return Err(damaged());
        }
        let number = |own: u64| i64::try_from(own).map_err(|_| damaged());
        let column = self.column.clone().into_builder();
        let column = column
            .set_data_page_offset(number(self.at)?)
            .set_total_compressed_size(number(n_bytes)?)
            .build()?;
        let reader = SerializedPageReader::new(self.chunks.clone(), &column, self.n_rows, None)?;
        Ok(Some(UnreadPage { reader, end: self.at + n_bytes }))
    }
}

impl PageReader for ColumnPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        while let Some(mut unread) = self.next_unread()? {
            self.at = unread.end;
            // Pages of other kinds than those of cells and dictionaries are passed over.
            if let Some(page) = unread.reader.get_next_page()? {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        match self.next_unread()? {
            Some(mut unread) => unread.reader.peek_next_page(),
            None => Ok(None),
        }
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.at = self.next_unread()?.map_or(self.end, |unread| unread.end);
        Ok(())
    }
}

impl Iterator for ColumnPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

fn damaged() -> ParquetError {
    ParquetError::General("a page is not where it should be".to_owned())
}

#[cfg(test)]
mod tests {
    use albers_storage::decoding::guarded;
    use albers_storage::input;
    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
    use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};

    use super::super::ParquetTable;
    use super::*;
    use crate::source::ReadOptions;

    const N_ROWS: i64 = 60;

    /// Pages of a few cells, of every version, with dictionaries and without.
    fn properties() -> Vec<WriterPropertiesBuilder> {
        let codecs = [
            Compression::ZSTD(ZstdLevel::default()),
            Compression::GZIP(GzipLevel::default()),
            Compression::SNAPPY,
            Compression::UNCOMPRESSED,
        ];
        let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
        let of_version = |version| {
            codecs.map(|codec| {
                WriterProperties::builder()
                    .set_writer_version(version)
                    .set_compression(codec)
                    .set_dictionary_enabled(codec != Compression::SNAPPY)
                    .set_data_page_row_count_limit(7)
                    .set_write_batch_size(7)
            })
        };
        versions.into_iter().flat_map(of_version).collect()
    }

    fn file_of(properties: WriterProperties) -> Vec<u8> {
        let numbers = Int64Array::from_iter((0..N_ROWS).map(|row| (row % 5 > 0).then_some(row)));
        let texts = (0..N_ROWS).map(|row| (row % 3 > 0).then(|| format!("text {}", row % 11)));
        let columns: [(&str, ArrayRef); 2] =
            [("n", Arc::new(numbers)), ("text", Arc::new(StringArray::from_iter(texts)))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer =
            ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    /// The rows behind the first `n_done`; none if the file is refused.
    fn rows_of(bytes: &[u8], n_done: usize, is_lean: bool) -> Option<Vec<RecordBatch>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let file = Arc::new(input::open(file.path()).unwrap());
        let table = ParquetTable::open("t.parquet", (file, None), &ReadOptions::default()).ok()?;
        let batches = table.batches(0, &[0, 1], (n_done, 9), is_lean).ok()?;
        guarded(|| batches.collect::<std::result::Result<_, _>>().ok()).ok().flatten()
    }

    #[test]
    fn readers_of_single_pages_read_what_readers_of_columns_read() {
        for properties in properties() {
            let bytes = file_of(properties.build());
            for n_done in [0, 1, 6, 7, 8, 30, N_ROWS as usize - 1, N_ROWS as usize] {
                let rows = rows_of(&bytes, n_done, true).unwrap();
                let n_rows: usize = rows.iter().map(RecordBatch::num_rows).sum();
                assert_eq!(n_rows, N_ROWS as usize - n_done);
                assert_eq!(Some(rows), rows_of(&bytes, n_done, false), "{n_done}");
            }
        }
    }

    #[test]
    fn pages_are_told_one_by_one_and_may_be_passed_over() {
        let bytes = file_of(properties().remove(4).build());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        let file = Arc::new(input::open(file.path()).unwrap());
        let table =
            ParquetTable::open("t.parquet", (file.clone(), None), &ReadOptions::default()).unwrap();
        let column = table.metadata.metadata().row_group(0).column(1);
        let pages = || ColumnPages::of(Arc::new(Chunks(file.clone())), column, N_ROWS as usize);
        let (mut read, mut passed) = (pages().unwrap(), pages().unwrap());
        assert!(passed.peek_next_page().unwrap().unwrap().is_dict);
        let mut n_pages = 0;
        while let Some(page) = read.get_next_page().unwrap() {
            let told = passed.peek_next_page().unwrap().unwrap();
            assert_eq!(told.is_dict, page.is_dictionary_page());
            passed.skip_next_page().unwrap();
            assert_eq!(passed.at, read.at);
            n_pages += 1;
        }
        assert!(n_pages > 8 && passed.at_record_boundary().unwrap());
        assert!(passed.peek_next_page().unwrap().is_none());
    }

    #[test]
    fn of_a_damaged_file_is_read_what_readers_of_columns_read_or_nothing() {
        let (mut n_read, mut n_refused) = (0, 0);
        for properties in [0, 4].map(|place| properties().remove(place)) {
            let plain = properties.set_column_encoding("n".into(), Encoding::PLAIN);
            let bytes = file_of(plain.build());
            for at in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x11;
                let [lean, whole] = [true, false].map(|is_lean| rows_of(&damaged, 0, is_lean));
                // Sizes that a file tells of its columns are looked at here, and not there.
                assert!(lean.is_none() || lean == whole, "byte {at}");
                n_read += usize::from(lean.is_some());
                n_refused += usize::from(lean.is_none());
            }
        }
        assert!(n_read > 100 && n_refused > 100, "{n_read} read, {n_refused} refused");
    }
}
