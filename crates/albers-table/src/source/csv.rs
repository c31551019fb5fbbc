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
//! The header and the first block are read when a text is opened; the first scan goes on from
//! there, so that a text that can be read only once is read once.

mod blocks;
mod records;

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use albers_storage::wording;
use albers_storage::wording::Field;
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, StringArray};
use rayon::prelude::*;

use self::blocks::{BLOCK_BYTES, BlockReader};
use self::records::{BlankLines, CellsOfRecord, Records};
use super::{
    ColumnRequest, ReadOptions, RequestedTypes, Scan, SourceChunk, SourceColumn, Wanted,
    check_names, table_error,
};
use crate::chunk::TextColumnBuilder;
use crate::infer::TypeSample;
use crate::value::ParseProblem;
use crate::{Result, TableError};

/// Rows of which types are told.
const INFERENCE_ROWS: usize = 20_000;

/// Bytes of which types are told; a text has no more than that in its first block.
pub(super) const INFERENCE_BYTES: usize = BLOCK_BYTES;

/// A text whose header and first block were read.
pub(super) struct TextTable {
    name: String,
    given_delimiter: Option<u8>,
    delimiter: u8,
    columns: Vec<SourceColumn>,
    /// The first rows, of which types are told.
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
    ) -> Result<TextTable> {
        let mut blocks = BlockReader::new(name, input, given_delimiter);
        let columns = read_columns(&mut blocks)?;
        check_names(name, &columns)?;
        let block = blocks.next_block()?.unwrap_or_default();
        let n_lines = count_lines(&block);
        let first_block = FirstBlock { n_lines, n_bytes: block.len(), is_whole: blocks.is_done() };
        let blank_lines = BlankLines::of(columns.len());
        let mut records = Records::new(&block, blocks.delimiter, blank_lines);
        let n_first_bytes = records.end_of(INFERENCE_ROWS);
        Ok(TextTable {
            name: name.to_owned(),
            given_delimiter,
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

    /// The columns named in the first line.
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
        let mut blocks = BlockReader::new(&self.name, reopen()?, self.given_delimiter);
        let columns = read_columns(&mut blocks)?;
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

    /// The types of the requested columns, told from the first rows.
    pub(super) fn types(
        &self,
        requests: &[ColumnRequest],
        options: &ReadOptions,
    ) -> Result<RequestedTypes> {
        let wanted = Wanted::new(self.name(), &self.columns, requests, &[], options)?;
        let mut samples = TypeSamples::new(requests);
        self.sample(&wanted, &mut samples);
        Ok(samples.types(requests))
    }
}

fn read_columns(blocks: &mut BlockReader) -> Result<Vec<SourceColumn>> {
    let names = blocks.read_header()?;
    Ok(names.into_iter().map(|name| SourceColumn { name, data_type: None }).collect())
}

/// What the first cells of the requested columns look like, over one text or several.
pub(super) struct TypeSamples {
    samples: Vec<TypeSample>,
    n_missing_rows: usize,
}

impl TypeSamples {
    /// Nothing was looked at yet; nothing has to be if all types are given.
    pub(super) fn new(requests: &[ColumnRequest]) -> TypeSamples {
        let is_needed = requests.iter().any(|request| request.column_type.is_none());
        TypeSamples {
            samples: vec![TypeSample::default(); requests.len()],
            n_missing_rows: if is_needed { INFERENCE_ROWS } else { 0 },
        }
    }

    /// Whether enough was seen.
    pub(super) fn is_enough(&self) -> bool {
        self.n_missing_rows == 0
    }

    /// The types, those that are given first.
    pub(super) fn types(&self, requests: &[ColumnRequest]) -> RequestedTypes {
        let column_types = requests
            .iter()
            .zip(&self.samples)
            .map(|(request, sample)| request.column_type.unwrap_or_else(|| sample.column_type()))
            .collect();
        RequestedTypes { column_types, data_types: vec![None; requests.len()] }
    }
}

/// A text on its way.
pub(super) struct TextPart {
    name: Arc<str>,
    n_columns: usize,
    /// A block that was read already; empty when there is none.
    first_block: Vec<u8>,
    blocks: BlockReader,
    /// The 1-based line of the next block.
    next_line: u64,
}

/// A block, and what is needed to parse it.
struct TextBlock {
    table: Arc<str>,
    delimiter: u8,
    n_columns: usize,
    first_line: u64,
    bytes: Vec<u8>,
}

impl TextPart {
    fn new(name: &str, n_columns: usize, first_block: Vec<u8>, blocks: BlockReader) -> TextPart {
        let next_line = blocks.first_data_line;
        TextPart { name: name.into(), n_columns, first_block, blocks, next_line }
    }

    fn next_block(&mut self) -> Result<Option<TextBlock>> {
        let mut bytes = std::mem::take(&mut self.first_block);
        if bytes.is_empty() {
            match self.blocks.next_block()? {
                Some(block) => bytes = block,
                None => return Ok(None),
            }
        }
        let first_line = self.next_line;
        self.next_line += count_lines(&bytes);
        let TextPart { n_columns, .. } = *self;
        let delimiter = self.blocks.delimiter;
        Ok(Some(TextBlock { table: self.name.clone(), delimiter, n_columns, first_line, bytes }))
    }
}

/// Gives the texts of a table, one after another.
pub(super) type TextParts<'s> = Box<dyn FnMut() -> Result<Option<TextPart>> + Send + 's>;

/// The rows of one or several texts, in their order.
pub(super) struct TextScan<'s> {
    wanted: Wanted<'s>,
    parts: TextParts<'s>,
    part: Option<TextPart>,
    next_row: u64,
    /// What is wrong behind the rows that were handed on.
    fault: Option<TableError>,
    is_done: bool,
}

impl<'s> TextScan<'s> {
    /// The rows of all that `parts` gives.
    pub(super) fn new(wanted: Wanted<'s>, parts: TextParts<'s>) -> TextScan<'s> {
        TextScan { wanted, parts, part: None, next_row: 0, fault: None, is_done: false }
    }

    /// As many blocks as there are threads; fewer at the end, or before something wrong.
    fn next_blocks(&mut self) -> Vec<TextBlock> {
        let mut round = Vec::new();
        while round.len() < rayon::current_num_threads().max(1) && !self.is_done {
            match self.next_block() {
                Ok(Some(block)) => round.push(block),
                Ok(None) => self.is_done = true,
                Err(fault) => self.end_with(fault),
            }
        }
        round
    }

    fn next_block(&mut self) -> Result<Option<TextBlock>> {
        loop {
            if let Some(part) = &mut self.part
                && let Some(block) = part.next_block()?
            {
                return Ok(Some(block));
            }
            self.part = (self.parts)()?;
            if self.part.is_none() {
                return Ok(None);
            }
        }
    }

    fn end_with(&mut self, fault: TableError) {
        self.fault = Some(fault);
        self.part = None;
        self.is_done = true;
    }
}

impl Scan for TextScan<'_> {
    fn next_round(&mut self) -> Result<Vec<SourceChunk>> {
        let mut chunks = Vec::new();
        while chunks.is_empty() && self.fault.is_none() {
            let round = self.next_blocks();
            if round.is_empty() {
                break;
            }
            let wanted = &self.wanted;
            let parsed: Vec<_> = round
                .par_iter()
                .map(|block| BlockParser::of(wanted, block).parse(&block.bytes))
                .collect();
            for (block, outcome) in round.iter().zip(parsed) {
                match outcome {
                    Ok(mut chunk) if chunk.n_rows > 0 => {
                        chunk.first_row = self.next_row;
                        self.next_row += chunk.n_rows as u64;
                        chunks.push(chunk);
                    }
                    Ok(_) => {}
                    Err(fault) => {
                        // The rows before it are handed on first, so that what is found wrong with
                        // them does not depend on the number of threads.
                        self.end_with(fault.at(&self.wanted, block));
                        break;
                    }
                }
            }
        }
        match self.fault.take_if(|_| chunks.is_empty()) {
            Some(fault) => Err(fault),
            None => Ok(chunks),
        }
    }
}

fn count_lines(block: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', block).count() as u64
}

/// Parses a block into a chunk.
struct BlockParser<'a> {
    wanted: &'a Wanted<'a>,
    delimiter: u8,
    n_columns: usize,
}

/// What is wrong with a block, in the record that starts at this place in it.
struct Fault {
    start: usize,
    what: FaultKind,
}

enum FaultKind {
    Ragged { n_cells: usize },
    Cell { request_idx: usize, problem: ParseProblem },
}

impl Fault {
    /// The error, told by the line on which the record starts.
    fn at(self, wanted: &Wanted<'_>, block: &TextBlock) -> TableError {
        let line = block.first_line + count_lines(&block.bytes[..self.start]);
        let table = block.table.to_string();
        match self.what {
            FaultKind::Ragged { n_cells } => TableError::Line {
                table,
                line,
                problem: format!(
                    "the row has {n_cells} cells where the header has {}",
                    block.n_columns
                ),
                hint: wording![
                    "quote cells that hold the delimiter, or name it with ",
                    Field::Delimiter
                ],
            },
            FaultKind::Cell { request_idx, problem } => {
                let column = &wanted.requests[request_idx].name;
                TableError::Cell {
                    table,
                    place: format!("line {line}"),
                    column: column.clone(),
                    problem: problem.problem(),
                    hint: problem.hint(column),
                }
            }
        }
    }
}

impl<'a> BlockParser<'a> {
    fn of(wanted: &'a Wanted<'a>, block: &TextBlock) -> BlockParser<'a> {
        BlockParser { wanted, delimiter: block.delimiter, n_columns: block.n_columns }
    }

    fn records<'b>(&self, block: &'b [u8]) -> Records<'b> {
        Records::new(block, self.delimiter, BlankLines::of(self.n_columns))
    }

    fn builder(&self, request_idx: usize) -> TextColumnBuilder {
        let kind = self.wanted.column_types[request_idx];
        match self.wanted.requests[request_idx].column_type {
            Some(_) => TextColumnBuilder::new(kind),
            None => TextColumnBuilder::inferred(kind),
        }
    }

    /// Looks at the cells of a block, as long as too few were seen.
    fn sample(&self, block: &[u8], samples: &mut TypeSamples) {
        let mut records = self.records(block);
        while samples.n_missing_rows > 0 {
            let Some(cells) = records.next_record() else { break };
            samples.n_missing_rows -= 1;
            for (sample, &place) in samples.samples.iter_mut().zip(&self.wanted.places) {
                if place < cells.len() && !self.wanted.options.is_missing(cells.get(place)) {
                    sample.add(cells.get(place));
                }
            }
        }
    }

    fn parse(&self, block: &[u8]) -> std::result::Result<SourceChunk, Fault> {
        let requests = self.wanted.requests;
        let mut coded: Vec<Option<TextColumnBuilder>> = requests
            .iter()
            .enumerate()
            .map(|(request_idx, request)| request.coded.then(|| self.builder(request_idx)))
            .collect();
        let mut carried: Vec<Option<StringBuilder>> =
            requests.iter().map(|request| request.carried.then(StringBuilder::new)).collect();
        let mut records = self.records(block);
        let mut n_rows = 0;
        while let Some(cells) = records.next_record() {
            let outcome = if cells.len() == self.n_columns {
                self.push_row(&cells, &mut coded, &mut carried)
                    .map_err(|(request_idx, problem)| FaultKind::Cell { request_idx, problem })
            } else {
                Err(FaultKind::Ragged { n_cells: cells.len() })
            };
            outcome.map_err(|what| Fault { start: records.start, what })?;
            n_rows += 1;
        }
        let mut finished = Vec::new();
        for (request_idx, builder) in coded.into_iter().enumerate() {
            let Some(builder) = builder else { continue };
            finished.push(builder.finish().map_err(|(row_idx, problem)| Fault {
                start: self.start_of_row(block, row_idx),
                what: FaultKind::Cell { request_idx, problem },
            })?);
        }
        let carried = carried
            .into_iter()
            .flatten()
            .map(|mut builder| Arc::new(builder.finish()) as ArrayRef)
            .inspect(|array| debug_assert!(array.as_any().is::<StringArray>()))
            .collect();
        Ok(SourceChunk { first_row: 0, n_rows, coded: finished, carried })
    }

    fn start_of_row(&self, block: &[u8], row_idx: usize) -> usize {
        let mut records = self.records(block);
        for _ in 0..=row_idx {
            records.next_record();
        }
        records.start
    }

    fn push_row(
        &self,
        cells: &CellsOfRecord<'_>,
        coded: &mut [Option<TextColumnBuilder>],
        carried: &mut [Option<StringBuilder>],
    ) -> std::result::Result<(), (usize, ParseProblem)> {
        for (request_idx, &place) in self.wanted.places.iter().enumerate() {
            let cell = cells.get(place);
            if let Some(builder) = &mut coded[request_idx] {
                if self.wanted.options.is_missing(cell) {
                    builder.push_missing();
                } else {
                    builder.push(cell).map_err(|problem| (request_idx, problem))?;
                }
            }
            if let Some(builder) = &mut carried[request_idx] {
                let text =
                    std::str::from_utf8(cell).map_err(|_| (request_idx, ParseProblem::NotUtf8))?;
                builder.append_option((!text.is_empty()).then_some(text));
            }
        }
        Ok(())
    }
}
