//! Delimited text: parsed block by block, several blocks at a time.
//!
//! ```text
//!   bytes ──► blocks that end where a record ends ──► one parser per block ──► chunks in order
//! ```
//!
//! A block's end is found by following the quotes, so that a line break inside a quoted cell does
//! not end a record. In a table of one column a blank line is a row whose cell is missing; in any
//! other it is nothing.
//!
//! The first line and the first block are read when a text is opened; the first scan goes on from
//! there, so that a text that can be read only once is read once. A first line that looks like a
//! record is refused, unless the options say what it is.
//!
//! - `blocks`: the first line, and blocks of whole records.
//! - `header`: whether the first line holds names.
//! - `records`: the cells of a block.
//! - `parser`: a block into a chunk.
//! - `types`: what the cells of all columns look like.
//! - `scan`: chunk after chunk, and whether their types are those of all rows.

mod blocks;
mod header;
mod parser;
mod records;
mod scan;
mod types;

use std::io::Read;
use std::sync::{Mutex, PoisonError};

use self::blocks::{BLOCK_BYTES, BlockReader};
use self::header::FirstLine;
use self::parser::BlockParser;
use self::records::{BlankLines, Records};
use super::{
    ColumnRequest, ReadOptions, RequestedTypes, SourceColumn, Wanted, check_names, table_error,
};
use crate::Result;

pub(super) use self::scan::{TextPart, TextParts, TextScan};
pub(super) use self::types::TypeSamples;

/// How a text is read; tests use absurdly small sizes.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextSizes {
    /// Bytes of a block.
    pub(super) block_bytes: usize,
    /// Rows of which types are told before all rows are seen.
    pub(super) first_rows: usize,
}

impl Default for TextSizes {
    fn default() -> TextSizes {
        TextSizes { block_bytes: BLOCK_BYTES, first_rows: 20_000 }
    }
}

/// A text whose header and first block were read.
pub(super) struct TextTable {
    name: String,
    given_delimiter: Option<u8>,
    header: Option<bool>,
    sizes: TextSizes,
    delimiter: u8,
    columns: Vec<SourceColumn>,
    /// The first rows, of which types are told before all rows are seen.
    first_rows: Vec<u8>,
    /// How many lines and bytes the first block has, and whether it is all there is.
    first_block: FirstBlock,
    /// The text from the first block on, until somebody reads it.
    started: Mutex<Option<TextPart>>,
}

/// What is known of a text from its first block.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstBlock {
    n_lines: u64,
    /// Its bytes.
    pub(super) n_bytes: usize,
    /// Whether it is all there is.
    pub(super) is_whole: bool,
}

impl TextTable {
    /// Reads the header and the first block.
    pub(super) fn open(
        name: &str,
        input: Box<dyn Read + Send>,
        given_delimiter: Option<u8>,
        options: &ReadOptions,
        sizes: TextSizes,
    ) -> Result<TextTable> {
        let mut blocks = BlockReader::new(name, input, given_delimiter, sizes.block_bytes);
        let columns = read_columns(&mut blocks, options.header)?;
        let block = blocks.next_block()?.unwrap_or_default();
        let n_lines = count_lines(&block);
        let first_block = FirstBlock { n_lines, n_bytes: block.len(), is_whole: blocks.is_done() };
        let blank_lines = BlankLines::of(columns.len());
        let mut records = Records::new(&block, blocks.delimiter, blank_lines);
        let n_first_bytes = records.end_of(sizes.first_rows);
        let rows = Records::new(&block[..n_first_bytes], blocks.delimiter, blank_lines);
        check_first_line(name, &columns, rows, options)?;
        Ok(TextTable {
            name: name.to_owned(),
            given_delimiter,
            header: options.header,
            sizes,
            delimiter: blocks.delimiter,
            first_rows: block[..n_first_bytes].to_vec(),
            first_block,
            started: Mutex::new(Some(TextPart::new(name, columns.len(), block, blocks))),
            columns,
        })
    }

    /// What people call it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The columns, by the names in the first line, or by number if there are none.
    pub(super) fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    /// The byte between cells.
    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// What is known of it from its first block.
    pub(super) fn first_block(&self) -> FirstBlock {
        self.first_block
    }

    /// How many rows a text of so many bytes has, if all of it is like its first block.
    pub(super) fn estimated_rows(&self, n_bytes: u64) -> u64 {
        match self.first_block.n_bytes {
            0 => 0,
            n_first_bytes => n_bytes * self.first_block.n_lines.max(1) / n_first_bytes as u64,
        }
    }

    /// Its rows from the first on. What was read of them already is not read again, but only the
    /// first time; then `reopen` gives the bytes anew.
    pub(super) fn part(
        &self,
        reopen: impl FnOnce() -> Result<Box<dyn Read + Send>>,
    ) -> Result<TextPart> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(part) = started {
            return Ok(part);
        }
        let TextTable { given_delimiter, header, sizes, .. } = *self;
        let mut blocks =
            BlockReader::new(&self.name, reopen()?, given_delimiter, sizes.block_bytes);
        let columns = read_columns(&mut blocks, header)?;
        if columns != self.columns || blocks.delimiter != self.delimiter {
            return Err(table_error(
                &self.name,
                "the header was changed while the table was read",
                "try again when nobody writes to it",
            ));
        }
        Ok(TextPart::new(&self.name, columns.len(), Vec::new(), blocks))
    }

    /// Looks at the first rows, as long as there are too few.
    pub(super) fn sample(&self, wanted: &Wanted<'_>, samples: &mut TypeSamples) {
        let parser =
            BlockParser { wanted, delimiter: self.delimiter, n_columns: self.columns.len() };
        parser.sample(&self.first_rows, samples);
    }

    /// The types of the requested columns, told from the first rows: a scan tells if those of all
    /// rows are others.
    pub(super) fn types(
        &self,
        requests: &[ColumnRequest],
        options: &ReadOptions,
    ) -> Result<RequestedTypes> {
        let wanted = Wanted::new(self.name(), &self.columns, requests, &[], options)?;
        let mut samples = TypeSamples::of_first(self.sizes.first_rows, requests);
        self.sample(&wanted, &mut samples);
        Ok(samples.types(requests))
    }
}

/// Refuses a first line that does not name the columns.
fn check_first_line(
    table: &str,
    columns: &[SourceColumn],
    rows: Records<'_>,
    options: &ReadOptions,
) -> Result<()> {
    let are_names = match options.header {
        Some(_) => true,
        None => match header::judge(columns, rows, options) {
            FirstLine::Names { surely } => surely,
            FirstLine::Record { column_idx } => {
                return Err(header::not_names(table, column_idx));
            }
        },
    };
    check_names(table, columns, are_names)
}

fn read_columns(blocks: &mut BlockReader, header: Option<bool>) -> Result<Vec<SourceColumn>> {
    let names = blocks.read_header(header)?;
    Ok(names.into_iter().map(|name| SourceColumn { name, data_type: None }).collect())
}

fn count_lines(block: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', block).count() as u64
}
