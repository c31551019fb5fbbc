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
//! - `layout`: where the names stand, and what separates cells.
//! - `header`: whether the first line holds names.
//! - `records`: the cells of a block.
//! - `parser`: a block into a chunk.
//! - `types`: what the cells of all columns look like.
//! - `scan`: chunk after chunk, and whether their types are those of all rows.

mod blocks;
mod header;
mod layout;
mod parser;
mod records;
mod scan;
mod types;

use std::io::Read;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use albers_storage::StorageError;

use self::blocks::{BlockReader, ReadHeader};
use self::header::FirstLine;
use self::layout::Layout;
use self::parser::BlockParser;
use self::records::{BlankLines, Records};
use super::allowance::{Allowance, BLOCK_BYTES};
use super::encoding::Detected;
use super::places::Places;
use super::{
    ColumnRequest, ReadOptions, Remark, Remarks, RequestedTypes, SourceColumn, TextEncoding,
    Wanted, check_names, encoding, table_error,
};
use crate::Result;

pub(super) use self::layout::DELIMITERS;
pub(super) use self::scan::{TextPart, TextParts, TextScan};
pub(super) use self::types::TypeSamples;

/// How a text is read; tests use absurdly small sizes.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextSizes {
    /// Bytes of a block.
    pub(super) block_bytes: usize,
    /// Bytes that are looked at before the first row is read; the same in any memory, since they
    /// tell whether the first line holds names.
    pub(super) first_bytes: usize,
    /// Rows of which types are told before all rows are seen.
    pub(super) first_rows: usize,
    /// What long records may take.
    pub(super) allowance: Allowance,
}

impl TextSizes {
    /// For somebody who reads with these options.
    pub(super) fn within(options: &ReadOptions) -> TextSizes {
        let allowance = Allowance::of(options);
        let block_bytes = allowance.block_bytes();
        TextSizes { block_bytes, first_bytes: BLOCK_BYTES, first_rows: 20_000, allowance }
    }

    /// Absurdly small ones.
    #[cfg(test)]
    pub(super) fn tiny(block_bytes: usize, first_rows: usize) -> TextSizes {
        let allowance = Allowance::default();
        TextSizes { block_bytes, first_bytes: block_bytes, first_rows, allowance }
    }
}

/// A text whose header and first block were read.
pub(super) struct TextTable {
    name: String,
    given_delimiter: Option<u8>,
    options: ReadOptions,
    sizes: TextSizes,
    /// How letters are stored as bytes.
    encoding: TextEncoding,
    delimiter: u8,
    columns: Vec<SourceColumn>,
    /// Columns behind these that have neither names nor cells.
    n_empty_columns: usize,
    /// What was found out about it so far.
    remarks: Remarks,
    /// The first rows, of which types are told before all rows are seen.
    first_rows: Vec<u8>,
    /// How many lines and bytes the first block has, and whether it is all there is.
    first_block: FirstBlock,
    /// The text from the first block on, until somebody reads it.
    started: Mutex<Option<TextPart>>,
    /// What messages call its lines.
    places: Places,
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
        let (input, encoding) = in_utf_8(name, input, options)?;
        let mut blocks = BlockReader::new(name, input, given_delimiter, sizes);
        let (columns, header) = read_columns(&mut blocks, options)?;
        let remarks = Remarks::default();
        remark_on(&remarks, &columns, &header, encoding.filter(|_| options.encoding.is_none()));
        let n_empty_columns = header.layout.n_empty_columns;
        let block = blocks.first_block()?.unwrap_or_default();
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
            options: options.clone(),
            sizes,
            encoding: encoding.unwrap_or(TextEncoding::UTF_8),
            delimiter: blocks.delimiter,
            n_empty_columns,
            remarks,
            first_rows: block[..n_first_bytes].to_vec(),
            first_block,
            started: Mutex::new(Some(TextPart::new(
                name,
                (columns.len(), n_empty_columns),
                blocks.again(block),
            ))),
            columns,
            places: Places::default(),
        })
    }

    /// The same; messages call its lines so.
    pub(super) fn with_places(mut self, places: Places) -> TextTable {
        let started = self.started.get_mut().unwrap_or_else(PoisonError::into_inner);
        *started = started.take().map(|part| part.with_places(places.clone()));
        TextTable { places, ..self }
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

    /// How it is read.
    pub(super) fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// What was found out about it so far, to which scans add.
    pub(super) fn remarks(&self) -> &Remarks {
        &self.remarks
    }

    /// How letters are stored, where all rows may tell it: nobody said it, and the first did not.
    pub(super) fn has_open_encoding(&self) -> bool {
        self.options.encoding.is_none() && self.encoding == TextEncoding::UTF_8
    }

    /// Its rows from the first on, in another encoding than its own if one is given. What was read
    /// of them already is not read again, but only the first time; then `reopen` gives the bytes
    /// anew.
    pub(super) fn part(
        &self,
        other_encoding: Option<TextEncoding>,
        reopen: impl FnOnce() -> Result<Box<dyn Read + Send>>,
    ) -> Result<TextPart> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(part) = started.filter(|_| other_encoding.is_none()) {
            return Ok(part);
        }
        let input = encoding::decoded(reopen()?, other_encoding.unwrap_or(self.encoding));
        let mut blocks = BlockReader::new(&self.name, input, self.given_delimiter, self.sizes);
        let (columns, _) = read_columns(&mut blocks, &self.options)?;
        if columns != self.columns || blocks.delimiter != self.delimiter {
            return Err(table_error(
                &self.name,
                "the header was changed while the table was read",
                "try again when nobody writes to it",
            ));
        }
        let n_columns = (columns.len(), self.n_empty_columns);
        let part = TextPart::new(&self.name, n_columns, blocks);
        Ok(part.with_places(self.places.clone()))
    }

    /// Looks at the first rows, as long as there are too few.
    pub(super) fn sample(&self, wanted: &Wanted<'_>, samples: &mut TypeSamples) {
        let parser = BlockParser::new(wanted, self.delimiter, self.columns.len());
        parser.sample(&self.first_rows, samples);
    }

    /// The types of the requested columns, told from the first rows: a scan tells if those of all
    /// rows are others.
    pub(super) fn types(
        &self,
        requests: &[ColumnRequest],
        options: &ReadOptions,
    ) -> Result<RequestedTypes> {
        let none = RequestedTypes::plain(Vec::new(), Vec::new());
        let wanted = Wanted::new(self.name(), &self.columns, requests, &none, options)?;
        let mut samples = TypeSamples::of_first(self.sizes.first_rows, requests);
        self.sample(&wanted, &mut samples);
        Ok(samples.types(requests, options))
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

fn read_columns(
    blocks: &mut BlockReader,
    options: &ReadOptions,
) -> Result<(Vec<SourceColumn>, ReadHeader)> {
    let header = blocks.read_header(options)?;
    let column = |name: &String| SourceColumn { name: name.clone(), data_type: None };
    Ok((header.names.iter().map(column).collect(), header))
}

/// The text in UTF-8, and the encoding if it had another.
fn in_utf_8(
    table: &str,
    input: Box<dyn Read + Send>,
    options: &ReadOptions,
) -> Result<(Box<dyn Read + Send>, Option<TextEncoding>)> {
    let read_error = |source| StorageError::Read { path: PathBuf::from(table), source };
    let (input, found) = match options.encoding {
        Some(said) => (input, said),
        None => {
            let (first, input) = encoding::peek(input, BLOCK_BYTES).map_err(read_error)?;
            match encoding::detect(&first, first.len() < BLOCK_BYTES) {
                Detected::Surely(found) => (input, found),
                Detected::Perhaps(found) => return Err(encoding::unclear(table, found)),
            }
        }
    };
    let other = Some(found).filter(|&found| found != TextEncoding::UTF_8);
    Ok((encoding::decoded(input, found), other))
}

/// Says what nobody has said of a text and its first lines told.
fn remark_on(
    remarks: &Remarks,
    columns: &[SourceColumn],
    header: &ReadHeader,
    encoding: Option<TextEncoding>,
) {
    let Layout { n_title_lines, n_empty_columns, is_first_unnamed, .. } = header.layout;
    if let Some(encoding) = encoding {
        remarks.add(Remark::Encoding(encoding));
    }
    if n_title_lines > 0 {
        remarks.add(Remark::TitleLines { n_lines: n_title_lines });
    }
    if is_first_unnamed || header.is_first_empty {
        remarks.add(Remark::Unnamed { column: columns[0].name.clone() });
    }
    if n_empty_columns > 0 {
        remarks.add(Remark::EmptyColumns { n_columns: n_empty_columns });
    }
}

fn count_lines(block: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', block).count() as u64
}
