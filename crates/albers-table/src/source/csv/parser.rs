//! Blocks into chunks.

use std::sync::Arc;

use albers_storage::wording;
use albers_storage::wording::Field;
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, StringArray};

use super::count_lines;
use super::records::{BlankLines, CellsOfRecord, Records};
use super::scan::TextBlock;
use super::types::TypeSamples;
use crate::TableError;
use crate::chunk::{ColumnChunk, TextColumnBuilder};
use crate::infer::{PointCounts, TypeSample};
use crate::notation::Notation;
use crate::row::RowId;
use crate::schema::ColumnType;
use crate::source::{SourceChunk, Wanted};
use crate::value::ParseProblem;

/// Parses a block into a chunk.
pub(super) struct BlockParser<'a> {
    wanted: &'a Wanted<'a>,
    delimiter: u8,
    n_columns: usize,
    /// Columns behind these that have no cells.
    n_empty_columns: usize,
    /// The places of columns that nobody asked for, where they may tell how numbers are written.
    beside: Vec<usize>,
}

/// A block as read.
pub(super) struct ParsedBlock {
    /// Its rows.
    pub(super) chunk: SourceChunk,
    /// What they look like.
    pub(super) samples: TypeSamples,
}

/// What is wrong with a block, in the record that starts at this place in it.
pub(super) struct Fault {
    start: usize,
    what: FaultKind,
}

enum FaultKind {
    Ragged { n_cells: usize },
    Cell { request_idx: usize, problem: ParseProblem },
}

/// What is known of the cells of a column beside the cells themselves.
#[derive(Default)]
struct Seen {
    /// What decimals and floats look like that are written as the program writes them.
    points: PointCounts,
    /// Cells that stand for a missing value, as all others are typed.
    n_known_missing: u64,
    /// What cells look like that are written in another way.
    foreign: TypeSample,
}

impl Fault {
    /// Whether all rows together may show that the column is to be read in another way.
    pub(super) fn may_be_read_otherwise(&self, wanted: &Wanted<'_>) -> bool {
        match self.what {
            FaultKind::Ragged { .. } => false,
            FaultKind::Cell { request_idx, .. } => {
                let request = &wanted.requests[request_idx];
                let is_said = wanted.options.date_format(&request.name).is_some();
                let is_text =
                    matches!(request.column_type, Some(ColumnType::Text | ColumnType::Code));
                !is_said && !is_text
            }
        }
    }

    /// Whether bytes are not UTF-8.
    pub(super) fn is_of_encoding(&self) -> bool {
        matches!(self.what, FaultKind::Cell { problem: ParseProblem::NotUtf8, .. })
    }

    /// The error, told by the line on which the record starts.
    pub(super) fn at(self, wanted: &Wanted<'_>, block: &TextBlock) -> TableError {
        let line = block.first_line + count_lines(&block.bytes[..self.start]);
        let table = block.table.to_string();
        match self.what {
            FaultKind::Ragged { n_cells } => TableError::Line {
                table,
                line,
                problem: format!(
                    "the row has {n_cells} {} where the header has {}",
                    if n_cells == 1 { "cell" } else { "cells" },
                    block.n_columns
                ),
                hint: match n_cells {
                    1 => wording![
                        "take away what is no row of the table, such as lines below it, or name ",
                        "the delimiter with ",
                        Field::Delimiter
                    ],
                    _ => wording![
                        "quote cells that hold the delimiter, or name it with ",
                        Field::Delimiter
                    ],
                },
            },
            FaultKind::Cell { request_idx, problem } => {
                let column = &wanted.requests[request_idx].name;
                TableError::Cell {
                    table,
                    place: block.places.name(line),
                    column: column.clone(),
                    problem: problem.problem(),
                    hint: problem.hint(column),
                }
            }
        }
    }
}

impl<'a> BlockParser<'a> {
    pub(super) fn of(wanted: &'a Wanted<'a>, block: &TextBlock) -> BlockParser<'a> {
        let n_empty_columns = block.n_empty_columns;
        BlockParser {
            n_empty_columns,
            ..BlockParser::new(wanted, block.delimiter, block.n_columns)
        }
    }

    pub(super) fn new(wanted: &'a Wanted<'a>, delimiter: u8, n_columns: usize) -> BlockParser<'a> {
        let is_said =
            wanted.options.said_mark().is_some() || !TypeSamples::are_open(wanted.requests);
        // A column that is asked for as text tells as much as one that is not asked for.
        let places = wanted.places.iter().zip(wanted.requests);
        let looked_at = places.filter(|(_, request)| TypeSamples::is_open(request));
        let looked_at: Vec<usize> = looked_at.map(|(&place, _)| place).collect();
        let beside = (0..n_columns).filter(|place| !is_said && !looked_at.contains(place));
        BlockParser { wanted, delimiter, n_columns, n_empty_columns: 0, beside: beside.collect() }
    }

    fn records<'b>(&self, block: &'b [u8]) -> Records<'b> {
        Records::new(block, self.delimiter, BlankLines::of(self.n_columns))
    }

    fn builder(&self, request_idx: usize) -> TextColumnBuilder {
        let kind = self.wanted.types.column_types[request_idx];
        match self.wanted.requests[request_idx].column_type {
            Some(_) => TextColumnBuilder::new(kind),
            None => TextColumnBuilder::inferred(kind),
        }
    }

    /// Looks at the cells of a block, as long as too few were seen.
    pub(super) fn sample(&self, block: &[u8], samples: &mut TypeSamples) {
        samples.look_at_delimiter(self.delimiter);
        let mut records = self.records(block);
        while samples.wants_row() {
            let Some(cells) = records.next_record() else { break };
            self.look_beside(&cells, samples);
            let columns = samples.samples_mut().iter_mut().zip(&self.wanted.places).enumerate();
            for (request_idx, (sample, &place)) in columns {
                if let Some(sample) = sample
                    && place < cells.len()
                {
                    self.look_at(request_idx, cells.get(place), sample);
                }
            }
        }
    }

    fn look_at(&self, request_idx: usize, cell: &[u8], sample: &mut TypeSample) {
        if !self.wanted.is_missing(request_idx, cell) {
            sample.add(cell);
        }
    }

    /// Looks at numbers with commas in columns that nobody asked for.
    #[inline]
    fn look_beside(&self, cells: &CellsOfRecord<'_>, samples: &mut TypeSamples) {
        if self.beside.is_empty() || memchr::memchr(b',', cells.text()).is_none() {
            return;
        }
        for &place in self.beside.iter().filter(|&&place| place < cells.len()) {
            let cell = cells.get(place);
            if cell.contains(&b',') {
                samples.look_beside(cell);
            }
        }
    }

    pub(super) fn parse(&self, block: &[u8]) -> Result<ParsedBlock, Fault> {
        let requests = self.wanted.requests;
        let mut coded: Vec<Option<TextColumnBuilder>> = requests
            .iter()
            .enumerate()
            .map(|(request_idx, request)| request.coded.then(|| self.builder(request_idx)))
            .collect();
        // A builder sets memory aside for many cells if nothing is said, and there may be many builders.
        let empty = || StringBuilder::with_capacity(0, 0);
        let mut carried: Vec<Option<StringBuilder>> =
            requests.iter().map(|request| request.carried.then(empty)).collect();
        let mut samples = TypeSamples::of_all(requests);
        samples.look_at_delimiter(self.delimiter);
        let mut seen: Vec<Seen> = requests.iter().map(|_| Seen::default()).collect();
        let mut records = self.records(block);
        let mut n_rows = 0;
        while let Some(cells) = records.next_record() {
            let outcome = if self.is_whole(&cells) {
                self.look_beside(&cells, &mut samples);
                self.push_row(&cells, (&mut coded, &mut seen), &mut carried, samples.samples_mut())
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
            let column = builder.finish().map_err(|(row_idx, problem)| Fault {
                start: self.start_of_row(block, row_idx),
                what: FaultKind::Cell { request_idx, problem },
            })?;
            if let Some(sample) = &mut samples.samples_mut()[request_idx] {
                *sample =
                    self.seen_of(request_idx, &column, std::mem::take(&mut seen[request_idx]));
            }
            finished.push(column);
        }
        let carried = carried
            .into_iter()
            .flatten()
            .map(|mut builder| Arc::new(builder.finish()) as ArrayRef)
            .inspect(|array| debug_assert!(array.as_any().is::<StringArray>()))
            .collect();
        let chunk = SourceChunk { first_row: RowId::FIRST, n_rows, coded: finished, carried };
        Ok(ParsedBlock { chunk, samples })
    }

    fn start_of_row(&self, block: &[u8], row_idx: usize) -> usize {
        let mut records = self.records(block);
        for _ in 0..=row_idx {
            records.next_record();
        }
        records.start
    }

    /// Whether a record has a cell for each column, and none behind them.
    fn is_whole(&self, cells: &CellsOfRecord<'_>) -> bool {
        let n_cells = cells.len();
        n_cells == self.n_columns
            || (n_cells > self.n_columns
                && n_cells <= self.n_columns + self.n_empty_columns
                && (self.n_columns..n_cells).all(|at| cells.get(at).trim_ascii().is_empty()))
    }

    /// What the cells of a column that was read look like.
    fn seen_of(&self, request_idx: usize, column: &ColumnChunk, seen: Seen) -> TypeSample {
        let types = self.wanted.types;
        let mut sample = match types.notations[request_idx] {
            Notation::Numbers(_) | Notation::Dates(_) => seen.foreign,
            Notation::Plain | Notation::Undecided(_) => {
                TypeSample::of_read(types.column_types[request_idx], column, &seen.points)
            }
        };
        sample.add_known_missing(seen.n_known_missing);
        sample
    }

    fn push_row(
        &self,
        cells: &CellsOfRecord<'_>,
        (coded, seen): (&mut [Option<TextColumnBuilder>], &mut [Seen]),
        carried: &mut [Option<StringBuilder>],
        samples: &mut [Option<TypeSample>],
    ) -> Result<(), (usize, ParseProblem)> {
        for (request_idx, &place) in self.wanted.places.iter().enumerate() {
            let cell = cells.get(place);
            let fault = |problem| (request_idx, problem);
            if let Some(builder) = &mut coded[request_idx] {
                self.push_cell(request_idx, cell, builder, &mut seen[request_idx])
                    .map_err(fault)?;
            } else if let Some(sample) = &mut samples[request_idx] {
                self.look_at(request_idx, cell, sample);
            }
            if let Some(builder) = &mut carried[request_idx] {
                self.carry(request_idx, cell, builder).map_err(fault)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn push_cell(
        &self,
        request_idx: usize,
        cell: &[u8],
        builder: &mut TextColumnBuilder,
        seen: &mut Seen,
    ) -> Result<(), ParseProblem> {
        if self.wanted.is_missing(request_idx, cell) {
            builder.push_missing();
            return Ok(());
        }
        let kind = self.wanted.types.column_types[request_idx];
        let outcome = match &self.wanted.types.notations[request_idx] {
            Notation::Plain | Notation::Undecided(_) => match kind {
                ColumnType::Decimal | ColumnType::Float => {
                    builder.push(cell).inspect(|()| seen.points.add(cell.trim_ascii()))
                }
                ColumnType::Code if self.wanted.is_known_missing(request_idx, cell) => {
                    Err(ParseProblem::NotA(kind))
                }
                _ => builder.push(cell),
            },
            notation => {
                let mut buffer = Vec::new();
                notation
                    .plain(kind, cell, &mut buffer)
                    .and_then(|plain| builder.push(plain))
                    .inspect(|()| seen.foreign.add(cell))
            }
        };
        match outcome {
            Err(_) if self.wanted.is_known_missing(request_idx, cell) => {
                builder.push_missing();
                seen.n_known_missing += 1;
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Carries a cell as it is, but for numbers and dates that are written in another way, and for
    /// texts that stand for a missing one: a release has one notation.
    fn carry(
        &self,
        request_idx: usize,
        cell: &[u8],
        builder: &mut StringBuilder,
    ) -> Result<(), ParseProblem> {
        let types = self.wanted.types;
        let kind = types.column_types[request_idx];
        // Where all others are numbers or dates, a text for a missing value would make them text.
        if kind != ColumnType::Text
            && (self.wanted.is_missing(request_idx, cell)
                || self.wanted.is_known_missing(request_idx, cell))
        {
            builder.append_null();
            return Ok(());
        }
        let mut buffer = Vec::new();
        let plain = match &types.notations[request_idx] {
            Notation::Plain | Notation::Undecided(_) => Ok(cell),
            notation => notation.plain(kind, cell, &mut buffer),
        };
        let text = std::str::from_utf8(plain.unwrap_or(cell)).map_err(|_| ParseProblem::NotUtf8)?;
        builder.append_option((!text.is_empty()).then_some(text));
        Ok(())
    }
}
