//! Delimited text: parsed block by block, several blocks at a time.
//!
//! ```text
//!   bytes ──► blocks that end where a record ends ──► one parser per block ──► chunks in order
//! ```
//!
//! A block's end is found by following the quotes, so that a line break inside a quoted cell does
//! not end a record. In a table of one column a blank line is a row whose cell is missing; in any
//! other it is nothing.

mod blocks;
mod records;

use std::path::Path;
use std::sync::Arc;

use albers_storage::input::Packing;
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, StringArray};
use rayon::prelude::*;

use self::blocks::BlockReader;
use self::records::{BlankLines, CellsOfRecord, Records};
use super::{ColumnRequest, HeaderColumn, ReadOptions, SourceChunk, SourceColumns};
use crate::chunk::TextColumnBuilder;
use crate::infer::TypeSample;
use crate::progress::Progress;
use crate::schema::ColumnType;
use crate::value::ParseProblem;
use crate::{Result, TableError};

const INFERENCE_ROWS: usize = 20_000;

/// The columns named in the first line.
pub fn header(path: &Path, options: &ReadOptions) -> Result<Vec<HeaderColumn>> {
    let mut blocks = BlockReader::open(path, options)?;
    let names = blocks.read_header()?;
    Ok(names.into_iter().map(|name| HeaderColumn { name, data_type: None }).collect())
}

/// What is known of the columns at `places` before their rows are read.
pub fn source_columns(
    path: &Path,
    options: &ReadOptions,
    requests: &[ColumnRequest],
    places: &[usize],
) -> Result<SourceColumns> {
    let mut blocks = BlockReader::open(path, options)?;
    let n_columns = blocks.read_header()?.len();
    let delimiter = blocks.delimiter;
    let column_types = Vec::new();
    let parser =
        BlockParser { path, options, delimiter, n_columns, requests, places, column_types };
    let first = blocks.next_block()?;
    Ok(SourceColumns {
        column_types: parser.infer_types(first.as_deref().unwrap_or_default())?,
        data_types: vec![None; requests.len()],
        delimiter: Some(delimiter),
    })
}

/// Reads the columns at `places`; `map` sees every chunk on the thread that is free, `sink` what it
/// made of them, in file order.
pub fn read<T: Send>(
    path: &Path,
    options: &ReadOptions,
    requests: &[ColumnRequest],
    places: &[usize],
    progress: &dyn Progress,
    map: &(dyn Fn(SourceChunk) -> Result<T> + Sync),
    sink: &mut (dyn FnMut(T) -> Result<()> + Send),
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
    let mut first_row = 0;
    while let Some(block) = next {
        let mut round = vec![block];
        while round.len() < rayon::current_num_threads() {
            match blocks.next_block()? {
                Some(block) => round.push(block),
                None => break,
            }
        }
        let parsed: Vec<_> = round.par_iter().map(|block| parser.parse(block)).collect();
        let mut chunks = Vec::with_capacity(round.len());
        for (block, outcome) in round.iter().zip(parsed) {
            let mut chunk = outcome.map_err(|fault| fault.at(&parser, block, first_line))?;
            first_line += count_lines(block);
            progress.advance(chunk.n_rows as u64);
            chunk.first_row = first_row;
            first_row += chunk.n_rows as u64;
            if chunk.n_rows > 0 {
                chunks.push(chunk);
            }
        }
        drop(round);
        let mapped: Vec<Result<T>> = chunks.into_par_iter().map(map).collect();
        for outcome in mapped {
            sink(outcome?)?;
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
        let line = first_line + count_lines(&block[..self.start]);
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
    fn records<'b>(&self, block: &'b [u8]) -> Records<'b> {
        let blank_lines =
            if self.n_columns == 1 { BlankLines::Records } else { BlankLines::Skipped };
        Records::new(block, self.delimiter, blank_lines)
    }

    fn builder(&self, request_idx: usize) -> TextColumnBuilder {
        let kind = self.column_types[request_idx];
        match self.requests[request_idx].column_type {
            Some(_) => TextColumnBuilder::new(kind),
            None => TextColumnBuilder::inferred(kind),
        }
    }

    fn infer_types(&self, block: &[u8]) -> Result<Vec<ColumnType>> {
        let mut samples = vec![TypeSample::default(); self.requests.len()];
        if self.requests.iter().any(|request| request.column_type.is_none()) {
            let mut records = self.records(block);
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
            .enumerate()
            .map(|(request_idx, request)| request.coded.then(|| self.builder(request_idx)))
            .collect();
        let mut carried: Vec<Option<StringBuilder>> =
            self.requests.iter().map(|request| request.carried.then(StringBuilder::new)).collect();
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

    fn read_all(
        path: &Path,
        column_type: Option<ColumnType>,
        sink: &mut (dyn FnMut(SourceChunk) -> Result<()> + Send),
    ) -> Result<SourceColumns> {
        let options = ReadOptions::default();
        let names = header(path, &options)?.into_iter().map(|column| column.name);
        let requests: Vec<ColumnRequest> = names
            .map(|name| ColumnRequest { name, column_type, coded: true, carried: false })
            .collect();
        let places: Vec<usize> = (0..requests.len()).collect();
        read(path, &options, &requests, &places, &crate::progress::Silent, &Ok, sink)
    }

    /// The text after the header is so long that it takes several blocks.
    const N_MANY: usize = 1 << 21;

    #[test]
    fn blank_lines_of_one_column_are_rows_in_every_block() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, format!("x\n{}z\n", "\n7\n\r\n".repeat(N_MANY))).unwrap();
        let (mut n_rows, mut n_missing) = (0, 0);
        let outcome = read_all(&path, Some(ColumnType::Text), &mut |chunk| {
            n_rows += chunk.n_rows;
            n_missing += chunk.coded[0].missing.len();
            Ok(())
        });
        assert!(outcome.is_ok());
        assert_eq!((n_rows, n_missing), (3 * N_MANY + 1, 2 * N_MANY));
        let outcome = read_all(&path, Some(ColumnType::Integer), &mut |_| Ok(()));
        let Err(TableError::Cell { place, .. }) = outcome else { panic!("z is no integer") };
        assert_eq!(place, format!("line {}", 3 * N_MANY + 2));
    }

    #[test]
    fn a_leading_zero_after_the_sample_is_refused_unless_the_type_is_declared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, format!("x,y\n{}00123,1\n", "7,1\n".repeat(30_000))).unwrap();
        let outcome = read_all(&path, None, &mut |_| Ok(()));
        let Err(TableError::Cell { place, column, hint, .. }) = outcome else {
            panic!("the zero would be lost")
        };
        assert_eq!((place.as_str(), column.as_str()), ("line 30002", "x"));
        assert!(hint.ends_with("--type 'x=code'"), "{hint}");
        assert!(read_all(&path, Some(ColumnType::Integer), &mut |_| Ok(())).is_ok());
    }

    #[test]
    fn lines_that_end_in_a_carriage_return_alone_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        for text in ["a,b\r1,2\r3,4\r", "a,b\r1,2\n3,4\n", "a\r1", "\"a\",b\r\"1\",2\r"] {
            std::fs::write(&path, text).unwrap();
            let outcome = header(&path, &ReadOptions::default());
            let Err(TableError::File { problem, .. }) = outcome else { panic!("{text:?}") };
            assert!(problem.contains("carriage return"), "{problem}");
        }
        std::fs::write(&path, "\"a\rb\",c\r\n1,2\r\n").unwrap();
        assert_eq!(header(&path, &ReadOptions::default()).unwrap().len(), 2);
    }

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
            let outcome = read_all(&path, Some(ColumnType::Text), &mut |_| Ok(()));
            let Err(TableError::Line { line, .. }) = outcome else { panic!("{text:?} is ragged") };
            assert_eq!(line, expected, "{text:?}");
        }
    }
}
