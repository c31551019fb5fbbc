//! Pages of a column chunk as bytes: runs of small numbers, compressed, behind their headers.
//!
//! Source: the Parquet format, encodings `RLE` and `RLE_DICTIONARY` and data pages of version 1.
//! Departures: numbers are written in runs only, never packed by bits: where rows come in runs, a
//! run takes less.

use std::io::Write as _;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, EncodingMask, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// Small numbers, each with how often it follows itself.
#[derive(Default)]
pub(super) struct Runs {
    runs: Vec<(u32, u32)>,
}

impl Runs {
    /// Appends a number some times.
    #[inline]
    pub(super) fn push(&mut self, number: u32, n_times: u32) {
        match self.runs.last_mut() {
            Some((last, n_last)) if *last == number => *n_last += n_times,
            _ => self.runs.push((number, n_times)),
        }
    }

    /// No number any more.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }

    /// Appends the runs as bytes: how long each is, and its number in `n_bits`.
    fn encode(&self, n_bits: u32, out: &mut Vec<u8>) {
        let n_bytes = n_bits.div_ceil(8) as usize;
        for &(number, n_times) in &self.runs {
            // The lowest bit tells runs from numbers that are packed by bits.
            let mut head = u64::from(n_times) << 1;
            while head >= 0x80 {
                out.push(head as u8 | 0x80);
                head >>= 7;
            }
            out.push(head as u8);
            out.extend_from_slice(&number.to_le_bytes()[..n_bytes]);
        }
    }
}

/// The values of a page.
#[derive(Clone, Copy)]
pub(super) enum PageContent<'a> {
    /// Numbers of a dictionary that has so many values so far.
    Numbers(&'a Runs, u32),
    /// The values themselves, encoded.
    Plain(&'a [u8]),
}

/// The data pages of a column so far.
#[derive(Default)]
pub(super) struct PageList {
    /// All pages, compressed, behind their headers.
    bytes: Vec<u8>,
    /// The page at hand as it is before it is compressed; kept for its memory.
    body: Vec<u8>,
    offsets: Vec<(u64, usize, usize)>,
    sizes: Sizes,
    n_rows: usize,
    n_dictionary_pages: i32,
    n_plain_pages: i32,
}

/// Bytes of pages with their headers, before they were compressed and after.
#[derive(Default)]
struct Sizes {
    n_uncompressed: usize,
    n_compressed: usize,
}

impl Sizes {
    fn add(&mut self, page: &PageWriteSpec) {
        self.n_uncompressed += page.uncompressed_size;
        self.n_compressed += page.compressed_size;
    }
}

impl PageList {
    /// What it takes.
    pub(super) fn n_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a page of some rows; `levels` tell which of them have a value, where some need not.
    pub(super) fn add(
        &mut self,
        n_rows: usize,
        levels: Option<&Runs>,
        content: PageContent<'_>,
    ) -> Result<()> {
        self.body.clear();
        if let Some(levels) = levels {
            let n_length_bytes = size_of::<u32>();
            self.body.resize(n_length_bytes, 0);
            levels.encode(1, &mut self.body);
            let n_level_bytes = (self.body.len() - n_length_bytes) as u32;
            self.body[..n_length_bytes].copy_from_slice(&n_level_bytes.to_le_bytes());
        }
        let encoding = match content {
            PageContent::Numbers(numbers, n_values) => {
                let n_bits = (u32::BITS - n_values.saturating_sub(1).leading_zeros()).max(1);
                self.body.push(n_bits as u8);
                numbers.encode(n_bits, &mut self.body);
                self.n_dictionary_pages += 1;
                Encoding::RLE_DICTIONARY
            }
            PageContent::Plain(values) => {
                self.body.extend_from_slice(values);
                self.n_plain_pages += 1;
                Encoding::PLAIN
            }
        };
        let page = Page::DataPage {
            buf: compressed(&self.body)?,
            num_values: n_rows as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let written = write_page(&mut self.bytes, CompressedPage::new(page, self.body.len()))?;
        self.offsets.push((written.offset, written.compressed_size, n_rows));
        self.sizes.add(&written);
        self.n_rows += n_rows;
        Ok(())
    }

    /// The whole chunk, with its dictionary before its pages, and what the file says of it.
    pub(super) fn close(
        mut self,
        column: ColumnDescPtr,
        dictionary: &[u8],
        n_dictionary_values: u32,
    ) -> Result<(Bytes, ColumnCloseResult)> {
        let mut chunk = Vec::with_capacity(dictionary.len() + self.bytes.len());
        if self.n_dictionary_pages > 0 {
            let page = Page::DictionaryPage {
                buf: compressed(dictionary)?,
                num_values: n_dictionary_values,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            let written = write_page(&mut chunk, CompressedPage::new(page, dictionary.len()))?;
            self.sizes.add(&written);
        }
        let n_before = chunk.len() as i64;
        chunk.append(&mut self.bytes);
        let metadata = ColumnChunkMetaData::builder(column)
            .set_compression(Compression::SNAPPY)
            .set_encodings_mask(EncodingMask::new_from_encodings(self.encodings().iter()))
            .set_page_encoding_stats(self.encoding_stats())
            .set_total_compressed_size(self.sizes.n_compressed as i64)
            .set_total_uncompressed_size(self.sizes.n_uncompressed as i64)
            .set_num_values(self.n_rows as i64)
            .set_data_page_offset(n_before)
            .set_dictionary_page_offset((n_before > 0).then_some(0))
            .build()?;
        let mut offsets = OffsetIndexBuilder::new();
        for &(offset, n_bytes, n_rows) in &self.offsets {
            offsets.append_offset_and_size(n_before + offset as i64, n_bytes as i32);
            offsets.append_row_count(n_rows as i64);
            offsets.append_unencoded_byte_array_data_bytes(None);
        }
        let closed = ColumnCloseResult {
            bytes_written: self.sizes.n_compressed as u64,
            rows_written: self.n_rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: Some(offsets.build()),
        };
        Ok((chunk.into(), closed))
    }

    fn encodings(&self) -> Vec<Encoding> {
        let mut encodings = vec![Encoding::PLAIN, Encoding::RLE];
        if self.n_dictionary_pages > 0 {
            encodings.push(Encoding::RLE_DICTIONARY);
        }
        encodings
    }

    /// How many pages of which kind there are, in their order.
    fn encoding_stats(&self) -> Vec<PageEncodingStats> {
        let stats = |page_type, encoding, count| PageEncodingStats { page_type, encoding, count };
        let has_dictionary = i32::from(self.n_dictionary_pages > 0);
        let all = [
            stats(PageType::DICTIONARY_PAGE, Encoding::PLAIN, has_dictionary),
            stats(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY, self.n_dictionary_pages),
            stats(PageType::DATA_PAGE, Encoding::PLAIN, self.n_plain_pages),
        ];
        all.into_iter().filter(|own| own.count > 0).collect()
    }
}

fn compressed(body: &[u8]) -> Result<Bytes> {
    let compressed = snap::raw::Encoder::new().compress_vec(body);
    Ok(compressed.map_err(|error| ParquetError::External(Box::new(error)))?.into())
}

/// Appends a page with its header.
fn write_page(out: &mut Vec<u8>, page: CompressedPage) -> Result<PageWriteSpec> {
    let start = out.len() as u64;
    let mut tracked = TrackedWrite::new(out);
    let mut written = SerializedPageWriter::new(&mut tracked).write_page(page)?;
    tracked.flush()?;
    written.offset = start;
    Ok(written)
}
