//! Delimited text: parsed block by block, several blocks at a time.
//!
//! ```text
//!   bytes ──► blocks that end where a record ends ──► one parser per block ──► chunks in order
//! ```
//!
//! A block's end is found by following the quotes, so that a line break inside a quoted cell does
//! not end a record.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use albers_storage::input::{self, Packing};
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, StringArray};
use rayon::prelude::*;

use super::{
    ColumnRequest, HeaderColumn, ReadOptions, SourceChunk, SourceColumns, file_error, read_error,
};
use crate::chunk::TextColumnBuilder;
use crate::infer::TypeSample;
use crate::progress::Progress;
use crate::schema::ColumnType;
use crate::value::ParseProblem;
use crate::{Result, TableError};

const BLOCK_BYTES: usize = 4 << 20;
const LONGEST_RECORD_BYTES: usize = 256 << 20;
const INFERENCE_ROWS: usize = 20_000;
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The columns named in the first line.
pub fn header(path: &Path, options: &ReadOptions) -> Result<Vec<HeaderColumn>> {
    let mut blocks = BlockReader::open(path, options)?;
    let names = blocks.read_header()?;
    Ok(names.into_iter().map(|name| HeaderColumn { name, data_type: None }).collect())
}

/// Reads the columns at `places`.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    requests: &[ColumnRequest],
    places: &[usize],
    progress: &dyn Progress,
    sink: &mut dyn FnMut(SourceChunk) -> Result<()>,
) -> Result<SourceColumns> {
    let mut blocks = BlockReader::open(path, options)?;
    let n_columns = blocks.read_header()?.len();
    let delimiter = blocks.delimiter;
    let mut parser = BlockParser {
        path,
        options,
        delimiter,
        n_columns,
        requests,
        places,
        column_types: Vec::new(),
    };
    let mut next = blocks.next_block()?;
    parser.column_types = parser.infer_types(next.as_deref().unwrap_or_default())?;
    progress.phase("read", next.as_deref().and_then(|block| estimated_rows(path, block)));

    let mut first_line = blocks.first_data_line;
    while let Some(block) = next {
        let mut round = vec![block];
        while round.len() < rayon::current_num_threads() {
            match blocks.next_block()? {
                Some(block) => round.push(block),
                None => break,
            }
        }
        let parsed: Vec<_> = round.par_iter().map(|block| parser.parse(block)).collect();
        for (block, outcome) in round.iter().zip(parsed) {
            let chunk = outcome.map_err(|fault| fault.at(&parser, block, first_line))?;
            first_line += count_lines(block);
            progress.advance(chunk.n_rows as u64);
            if chunk.n_rows > 0 {
                sink(chunk)?;
            }
        }
        next = blocks.next_block()?;
    }
    Ok(SourceColumns {
        data_types: vec![None; requests.len()],
        column_types: parser.column_types,
        delimiter: Some(delimiter),
    })
}

fn count_lines(block: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', block).count() as u64
}

fn estimated_rows(path: &Path, first_block: &[u8]) -> Option<u64> {
    if Packing::of(path) != Packing::Plain {
        return None;
    }
    let bytes = std::fs::metadata(path).ok()?.len();
    let lines = count_lines(first_block).max(1);
    Some(bytes * lines / (first_block.len().max(1) as u64))
}

/// Cuts a file into blocks of whole records.
struct BlockReader<'a> {
    path: &'a Path,
    input: Box<dyn Read + Send>,
    pending: Vec<u8>,
    at_end: bool,
    delimiter: u8,
    given_delimiter: Option<u8>,
    first_data_line: u64,
    /// Lines before the pending bytes.
    n_lines_done: u64,
}

impl<'a> BlockReader<'a> {
    fn open(path: &'a Path, options: &ReadOptions) -> Result<BlockReader<'a>> {
        Ok(BlockReader {
            path,
            input: input::open_unpacked(path)?,
            pending: Vec::new(),
            at_end: false,
            delimiter: options.delimiter.unwrap_or(b','),
            given_delimiter: options.delimiter,
            first_data_line: 1,
            n_lines_done: 0,
        })
    }

    /// Reads the first record and leaves the rest for [`BlockReader::next_block`].
    fn read_header(&mut self) -> Result<Vec<String>> {
        self.fill(BLOCK_BYTES)?;
        if self.pending.starts_with(b"\xef\xbb\xbf") {
            self.pending.drain(..3);
        }
        let n_blank = self.pending.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        let n_blank_lines = count_lines(&self.pending[..n_blank]);
        self.pending.drain(..n_blank);
        if self.pending.is_empty() {
            return Err(file_error(
                self.path,
                "the file is empty",
                "a table needs a first line with the column names and at least one row",
            ));
        }
        let end = match first_record_end(&self.pending, self.given_delimiter) {
            Ok(end) => end.unwrap_or(self.pending.len()),
            Err(start) => {
                let line = 1 + n_blank_lines + count_lines(&self.pending[..start]);
                return Err(self.open_quote(line));
            }
        };
        let line: Vec<u8> = self.pending.drain(..end).collect();
        if self.given_delimiter.is_none() {
            self.delimiter = sniff_delimiter(&line);
        }
        self.first_data_line = 1 + n_blank_lines + count_lines(&line);
        self.n_lines_done = self.first_data_line - 1;
        let mut names = Vec::new();
        let mut records = Records::new(&line, self.delimiter);
        if let Some(cells) = records.next_record() {
            for cell_idx in 0..cells.len() {
                let name =
                    std::str::from_utf8(cells.get(cell_idx)).map_err(|_| TableError::Line {
                        path: self.path.to_owned(),
                        line: 1 + n_blank_lines,
                        problem: format!("the name of column {} is not valid UTF-8", cell_idx + 1),
                        hint: ParseProblem::NotUtf8.hint(""),
                    })?;
                names.push(name.trim().to_owned());
            }
        }
        Ok(names)
    }

    fn next_block(&mut self) -> Result<Option<Vec<u8>>> {
        let mut wanted = BLOCK_BYTES;
        loop {
            self.fill(wanted)?;
            if self.pending.is_empty() {
                return Ok(None);
            }
            let (end, open_quote) = last_record_end(&self.pending, self.delimiter);
            if self.at_end {
                if let Some(start) = open_quote {
                    let line = 1 + self.n_lines_done + count_lines(&self.pending[..start]);
                    return Err(self.open_quote(line));
                }
                return Ok(Some(std::mem::take(&mut self.pending)));
            }
            if let Some(end) = end {
                let rest = self.pending.split_off(end);
                self.n_lines_done += count_lines(&self.pending);
                return Ok(Some(std::mem::replace(&mut self.pending, rest)));
            }
            if wanted > LONGEST_RECORD_BYTES {
                return Err(file_error(
                    self.path,
                    format!("a row is longer than {} MB", LONGEST_RECORD_BYTES >> 20),
                    "look for a quote that is never closed",
                ));
            }
            wanted *= 2;
        }
    }

    fn open_quote(&self, line: u64) -> TableError {
        TableError::Line {
            path: self.path.to_owned(),
            line,
            problem: "a quoted cell starts here and never ends".to_owned(),
            hint: "close the quote, or double it if it is part of the text".to_owned(),
        }
    }

    /// Reads until `wanted` bytes are pending or the file ends.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        if self.at_end || self.pending.len() >= wanted {
            return Ok(());
        }
        let missing = (wanted - self.pending.len()) as u64;
        let n_read = (&mut self.input)
            .take(missing)
            .read_to_end(&mut self.pending)
            .map_err(|source| read_error(self.path, source))?;
        self.at_end = (n_read as u64) < missing;
        Ok(())
    }
}

/// The delimiter that occurs most often in the header, a comma if none does.
fn sniff_delimiter(header: &[u8]) -> u8 {
    let mut best = (0, b',');
    for delimiter in DELIMITERS {
        let mut quoted = false;
        let count = header
            .iter()
            .filter(|&&byte| {
                quoted ^= byte == b'"';
                !quoted && byte == delimiter
            })
            .count();
        if count > best.0 {
            best = (count, delimiter);
        }
    }
    best.1
}

/// The end of the first line that does not break inside quotes, or where a quote is never closed.
///
/// A quote opens a cell only at the cell's start, as in [`last_record_end`], but here the delimiter
/// may not be known yet.
fn first_record_end(
    bytes: &[u8],
    delimiter: Option<u8>,
) -> std::result::Result<Option<usize>, usize> {
    let is_delimiter = |byte: u8| match delimiter {
        Some(delimiter) => byte == delimiter,
        None => DELIMITERS.contains(&byte),
    };
    let mut quoted_from = None;
    let mut skip_until = 0;
    for at in memchr::memchr2_iter(b'"', b'\n', bytes) {
        if at < skip_until {
            continue;
        }
        match (bytes[at], quoted_from) {
            (b'\n', None) => return Ok(Some(at + 1)),
            (b'\n', Some(_)) => {}
            (_, Some(_)) if bytes.get(at + 1) == Some(&b'"') => skip_until = at + 2,
            (_, Some(_)) => quoted_from = None,
            (_, None) => {
                quoted_from = Some(at).filter(|&at| at == 0 || is_delimiter(bytes[at - 1]));
            }
        }
    }
    quoted_from.map_or(Ok(None), Err)
}

/// The end of the last whole record, and where the quoted cell starts inside which the bytes end.
///
/// A quote opens a cell only at the cell's start; inside a quoted cell two quotes stand for one.
fn last_record_end(bytes: &[u8], delimiter: u8) -> (Option<usize>, Option<usize>) {
    if memchr::memchr(b'"', bytes).is_none() {
        return (memchr::memrchr(b'\n', bytes).map(|at| at + 1), None);
    }
    let mut quoted_from = None;
    let mut end = None;
    let mut skip_until = 0;
    for at in memchr::memchr2_iter(b'"', b'\n', bytes) {
        if at < skip_until {
            continue;
        }
        if bytes[at] == b'\n' {
            if quoted_from.is_none() {
                end = Some(at + 1);
            }
        } else if quoted_from.is_some() {
            if bytes.get(at + 1) == Some(&b'"') {
                skip_until = at + 2;
            } else {
                quoted_from = None;
            }
        } else {
            let starts_cell =
                at == 0 || matches!(bytes[at - 1], b'\n' | b'\r') || bytes[at - 1] == delimiter;
            quoted_from = starts_cell.then_some(at);
        }
    }
    (end, quoted_from)
}

/// The records of a block, one after the other.
struct Records<'a> {
    reader: csv_core::Reader,
    block: &'a [u8],
    rest: &'a [u8],
    text: Vec<u8>,
    ends: Vec<usize>,
    n_cells: usize,
    /// Where the last record starts in the block.
    start: usize,
}

/// The cells of one record.
struct CellsOfRecord<'a> {
    text: &'a [u8],
    ends: &'a [usize],
}

impl CellsOfRecord<'_> {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, cell_idx: usize) -> &[u8] {
        let start = if cell_idx == 0 { 0 } else { self.ends[cell_idx - 1] };
        &self.text[start..self.ends[cell_idx]]
    }
}

impl<'a> Records<'a> {
    fn new(block: &'a [u8], delimiter: u8) -> Records<'a> {
        Records {
            reader: csv_core::ReaderBuilder::new().delimiter(delimiter).build(),
            block,
            rest: block,
            text: vec![0; 4096],
            ends: vec![0; 64],
            n_cells: 0,
            start: 0,
        }
    }

    /// The next record, which starts at `self.start`, perhaps after blank lines.
    fn next_record(&mut self) -> Option<CellsOfRecord<'_>> {
        self.start = self.block.len() - self.rest.len();
        let mut n_text = 0;
        let mut n_ends = 0;
        loop {
            let (result, n_in, n_out, n_new_ends) = self.reader.read_record(
                self.rest,
                &mut self.text[n_text..],
                &mut self.ends[n_ends..],
            );
            self.rest = &self.rest[n_in..];
            n_text += n_out;
            n_ends += n_new_ends;
            match result {
                csv_core::ReadRecordResult::InputEmpty => {}
                csv_core::ReadRecordResult::OutputFull => {
                    self.text.resize(self.text.len() * 2, 0);
                }
                csv_core::ReadRecordResult::OutputEndsFull => {
                    self.ends.resize(self.ends.len() * 2, 0);
                }
                csv_core::ReadRecordResult::Record => {
                    self.n_cells = n_ends;
                    return Some(CellsOfRecord {
                        text: &self.text[..n_text],
                        ends: &self.ends[..self.n_cells],
                    });
                }
                csv_core::ReadRecordResult::End => return None,
            }
        }
    }
}

/// Parses blocks into chunks; shared by all threads.
struct BlockParser<'a> {
    path: &'a Path,
    options: &'a ReadOptions,
    delimiter: u8,
    n_columns: usize,
    requests: &'a [ColumnRequest],
    places: &'a [usize],
    column_types: Vec<ColumnType>,
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
    /// The error, for a block that begins at line `first_line` of its file.
    fn at(self, parser: &BlockParser<'_>, block: &[u8], first_line: u64) -> TableError {
        let is_break = |byte: &&u8| matches!(byte, b'\n' | b'\r');
        let n_breaks = block[self.start..].iter().take_while(is_break).count();
        let line = first_line + count_lines(&block[..self.start + n_breaks]);
        match self.what {
            FaultKind::Ragged { n_cells } => TableError::Line {
                path: parser.path.to_owned(),
                line,
                problem: format!(
                    "the row has {n_cells} cells where the header has {}",
                    parser.n_columns
                ),
                hint: "quote cells that hold the delimiter, or name it with --delimiter".to_owned(),
            },
            FaultKind::Cell { request_idx, problem } => {
                let column = &parser.requests[request_idx].name;
                TableError::Cell {
                    path: parser.path.to_owned(),
                    place: format!("line {line}"),
                    column: column.clone(),
                    problem: problem.problem(),
                    hint: problem.hint(column),
                }
            }
        }
    }
}

impl BlockParser<'_> {
    fn infer_types(&self, block: &[u8]) -> Result<Vec<ColumnType>> {
        let mut samples = vec![TypeSample::default(); self.requests.len()];
        if self.requests.iter().any(|request| request.column_type.is_none()) {
            let mut records = Records::new(block, self.delimiter);
            for _ in 0..INFERENCE_ROWS {
                let Some(cells) = records.next_record() else { break };
                for (sample, &place) in samples.iter_mut().zip(self.places) {
                    if place < cells.len() && !self.options.is_missing(cells.get(place)) {
                        sample.add(cells.get(place));
                    }
                }
            }
        }
        let types = self.requests.iter().zip(&samples);
        Ok(types
            .map(|(request, sample)| request.column_type.unwrap_or_else(|| sample.column_type()))
            .collect())
    }

    fn parse(&self, block: &[u8]) -> std::result::Result<SourceChunk, Fault> {
        let mut coded: Vec<Option<TextColumnBuilder>> = self
            .requests
            .iter()
            .zip(&self.column_types)
            .map(|(request, &kind)| request.coded.then(|| TextColumnBuilder::new(kind)))
            .collect();
        let mut carried: Vec<Option<StringBuilder>> =
            self.requests.iter().map(|request| request.carried.then(StringBuilder::new)).collect();
        let mut records = Records::new(block, self.delimiter);
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
        Ok(SourceChunk { n_rows, coded: finished, carried })
    }

    fn start_of_row(&self, block: &[u8], row_idx: usize) -> usize {
        let mut records = Records::new(block, self.delimiter);
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
        for (request_idx, &place) in self.places.iter().enumerate() {
            let cell = cells.get(place);
            if let Some(builder) = &mut coded[request_idx] {
                if self.options.is_missing(cell) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_by_the_line_on_which_its_row_starts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        for (text, expected) in [
            ("a,b\n1,2\n3\n", 3),
            ("a,b\n1\n3,3\n", 2),
            ("a,b\r\n1,2\r\n3\r\n", 3),
            ("a,b\r\n1\r\n3,4\r\n", 2),
            ("\n\na,b\n1,2\n3", 5),
            ("a,b\n1,2\n\"x\ny\",4\n\n5,6\n3\n", 7),
            ("\"a\nx\",b\n1\n", 3),
        ] {
            std::fs::write(&path, text).unwrap();
            let request = |name: String| ColumnRequest {
                name,
                column_type: Some(ColumnType::Text),
                coded: true,
                carried: false,
            };
            let options = ReadOptions::default();
            let names = header(&path, &options).unwrap().into_iter().map(|column| column.name);
            let requests: Vec<ColumnRequest> = names.map(request).collect();
            let silent = crate::progress::Silent;
            let outcome = read(&path, &options, &requests, &[0, 1], &silent, &mut |_| Ok(()));
            let Err(TableError::Line { line, .. }) = outcome else { panic!("{text:?} is ragged") };
            assert_eq!(line, expected, "{text:?}");
        }
    }

    #[test]
    fn a_stray_quote_in_a_name_does_not_swallow_the_first_rows() {
        assert_eq!(first_record_end(b"5\" pipe,b\n1,\"2\"\n", None), Ok(Some(10)));
        assert_eq!(first_record_end(b"\"a\"\"\n\",b\n1,2\n", None), Ok(Some(9)));
        assert_eq!(first_record_end(b"a,\"b\n1,2\n", None), Err(2));
        assert_eq!(first_record_end(b"a,b", None), Ok(None));
    }

    #[test]
    fn a_line_break_inside_quotes_does_not_end_a_record() {
        let bytes = b"a,\"b\nc\",d\ne,\"f\n";
        assert_eq!(last_record_end(bytes, b','), (Some(10), Some(12)));
    }

    #[test]
    fn a_quote_inside_an_unquoted_cell_is_text() {
        let bytes = b"5\" pipe,x\n6\" pipe,y\nz";
        assert_eq!(last_record_end(bytes, b','), (Some(20), None));
    }

    #[test]
    fn doubled_quotes_stay_inside_their_cell() {
        let bytes = b"\"a\"\"\n\"\"b\",c\nd";
        assert_eq!(last_record_end(bytes, b','), (Some(12), None));
    }

    #[test]
    fn the_delimiter_is_the_most_frequent_candidate_outside_quotes() {
        assert_eq!(sniff_delimiter(b"a;b;\"c,d,e,f\""), b';');
        assert_eq!(sniff_delimiter(b"a\tb"), b'\t');
        assert_eq!(sniff_delimiter(b"alone"), b',');
    }
}
