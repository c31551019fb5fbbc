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
use crate::chunk::TextColumnBuilder;
use crate::infer::TypeSample;
use crate::row::RowId;
use crate::source::{SourceChunk, Wanted};
use crate::value::ParseProblem;

/// Parses a block into a chunk.
pub(super) struct BlockParser<'a> {
    pub(super) wanted: &'a Wanted<'a>,
    pub(super) delimiter: u8,
    pub(super) n_columns: usize,
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

impl Fault {
    /// Whether a cell does not fit a column whose type nobody gave.
    pub(super) fn is_of_inferred(&self, wanted: &Wanted<'_>) -> bool {
        match self.what {
            FaultKind::Ragged { .. } => false,
            FaultKind::Cell { request_idx, .. } => {
                wanted.requests[request_idx].column_type.is_none()
            }
        }
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
    pub(super) fn of(wanted: &'a Wanted<'a>, block: &TextBlock) -> BlockParser<'a> {
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
    pub(super) fn sample(&self, block: &[u8], samples: &mut TypeSamples) {
        let mut records = self.records(block);
        while samples.wants_row() {
            let Some(cells) = records.next_record() else { break };
            for (sample, &place) in samples.samples_mut().iter_mut().zip(&self.wanted.places) {
                if let Some(sample) = sample
                    && place < cells.len()
                {
                    self.look_at(cells.get(place), sample);
                }
            }
        }
    }

    fn look_at(&self, cell: &[u8], sample: &mut TypeSample) {
        if !self.wanted.options.is_missing(cell) {
            sample.add(cell);
        }
    }

    pub(super) fn parse(&self, block: &[u8]) -> Result<ParsedBlock, Fault> {
        let requests = self.wanted.requests;
        let mut coded: Vec<Option<TextColumnBuilder>> = requests
            .iter()
            .enumerate()
            .map(|(request_idx, request)| request.coded.then(|| self.builder(request_idx)))
            .collect();
        let mut carried: Vec<Option<StringBuilder>> =
            requests.iter().map(|request| request.carried.then(StringBuilder::new)).collect();
        let mut samples = TypeSamples::of_all(requests);
        let mut records = self.records(block);
        let mut n_rows = 0;
        while let Some(cells) = records.next_record() {
            let outcome = if cells.len() == self.n_columns {
                self.push_row(&cells, &mut coded, &mut carried, samples.samples_mut())
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
                *sample = TypeSample::of_read(self.wanted.column_types[request_idx], &column);
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

    fn push_row(
        &self,
        cells: &CellsOfRecord<'_>,
        coded: &mut [Option<TextColumnBuilder>],
        carried: &mut [Option<StringBuilder>],
        samples: &mut [Option<TypeSample>],
    ) -> Result<(), (usize, ParseProblem)> {
        for (request_idx, &place) in self.wanted.places.iter().enumerate() {
            let cell = cells.get(place);
            if let Some(builder) = &mut coded[request_idx] {
                if self.wanted.options.is_missing(cell) {
                    builder.push_missing();
                } else {
                    builder.push(cell).map_err(|problem| (request_idx, problem))?;
                }
            } else if let Some(sample) = &mut samples[request_idx] {
                self.look_at(cell, sample);
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
