//! The rows of texts, with a verdict at their end: whether all of them have the types with which
//! they were read.
//!
//! ```text
//!              all cells fit                        the end
//!   reading ──────────────────► chunks, chunks, ... ───────► types as read?  yes ─► done
//!      │                                                          │ no
//!      │ a cell does not fit, or the digits                       ▼
//!      ▼ of decimals become too many                         read again, with these
//!   judging: the rest is only looked at ──► the end ──► types as read?  no ──┘
//!                                                            │ yes
//!                                                            ▼
//!                                                       the cell is refused
//! ```
//!
//! Guarantee: rows are taken only with the types that [`TypeSample`](crate::infer::TypeSample)
//! gives all of them together, whatever their order, and a cell is refused only if it has not the
//! type of its column in this sense.
//! Cost: one look at every distinct text of a block, and at the least and the greatest of its
//! numbers.

use std::sync::Arc;

use rayon::prelude::*;

use super::blocks::BlockReader;
use super::count_lines;
use super::parser::{BlockParser, Fault, ParsedBlock};
use super::types::TypeSamples;
use crate::row::RowId;
use crate::source::{RequestedTypes, Scan, SourceChunk, Wanted};
use crate::{Result, TableError};

/// A text on its way.
pub(crate) struct TextPart {
    name: Arc<str>,
    n_columns: usize,
    /// A block that was read already; empty when there is none.
    first_block: Vec<u8>,
    blocks: BlockReader,
    /// The 1-based line of the next block.
    next_line: u64,
}

/// A block, and what is needed to parse it.
pub(super) struct TextBlock {
    pub(super) table: Arc<str>,
    pub(super) delimiter: u8,
    pub(super) n_columns: usize,
    pub(super) first_line: u64,
    pub(super) bytes: Vec<u8>,
}

impl TextPart {
    pub(super) fn new(
        name: &str,
        n_columns: usize,
        first_block: Vec<u8>,
        blocks: BlockReader,
    ) -> TextPart {
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
pub(crate) type TextParts<'s> = Box<dyn FnMut() -> Result<Option<TextPart>> + Send + 's>;

/// The rows of one or several texts, in their order.
pub(crate) struct TextScan<'s> {
    table: &'s str,
    wanted: Wanted<'s>,
    parts: TextParts<'s>,
    part: Option<TextPart>,
    next_row: RowId,
    /// What all rows so far look like.
    samples: TypeSamples,
    /// Why the rest is only looked at, once it is.
    doubt: Option<Doubt>,
    /// What is wrong behind the rows that were handed on.
    fault: Option<TableError>,
    is_done: bool,
    /// What is to be done when all rows turned out to have the types with which they were read.
    when_settled: Option<Box<dyn FnOnce() + Send + 's>>,
    is_judged: bool,
}

/// Why a column may have another type than the one with which it was read.
enum Doubt {
    /// This cell does not fit.
    Misfit(TableError),
    /// Its digits are too many for decimals, which it therefore cannot be.
    TooWide,
}

impl<'s> TextScan<'s> {
    /// The rows of all that `parts` gives.
    pub(crate) fn new(table: &'s str, wanted: Wanted<'s>, parts: TextParts<'s>) -> TextScan<'s> {
        TextScan {
            table,
            samples: TypeSamples::of_all(wanted.requests),
            wanted,
            parts,
            part: None,
            next_row: RowId::FIRST,
            doubt: None,
            fault: None,
            is_done: false,
            when_settled: None,
            is_judged: false,
        }
    }

    /// The same; `act` is called when it is certain that the rows need not be read again for their
    /// types.
    pub(crate) fn when_settled(self, act: Box<dyn FnOnce() + Send + 's>) -> TextScan<'s> {
        TextScan { when_settled: Some(act), ..self }
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

    /// The chunks of some blocks, as far as they can be handed on.
    fn read(&mut self, round: &[TextBlock]) -> Vec<SourceChunk> {
        let wanted = &self.wanted;
        let parsed: Vec<std::result::Result<ParsedBlock, Fault>> = round
            .par_iter()
            .map(|block| BlockParser::of(wanted, block).parse(&block.bytes))
            .collect();
        let mut chunks = Vec::new();
        for (block_idx, outcome) in parsed.into_iter().enumerate() {
            let block = &round[block_idx];
            match outcome {
                Ok(ParsedBlock { mut chunk, samples }) => {
                    self.samples.merge(&samples);
                    if self.samples.are_too_wide_for(self.wanted.column_types) {
                        self.doubt = Some(Doubt::TooWide);
                        self.look_at(&round[block_idx + 1..]);
                        break;
                    }
                    if chunk.n_rows > 0 {
                        chunk.first_row = self.next_row;
                        self.next_row += chunk.n_rows as u64;
                        chunks.push(chunk);
                    }
                }
                // The rows before it are handed on first, so that what is found wrong with them
                // does not depend on the number of threads.
                Err(fault) if fault.is_of_inferred(&self.wanted) => {
                    self.doubt = Some(Doubt::Misfit(fault.at(&self.wanted, block)));
                    self.look_at(&round[block_idx..]);
                    break;
                }
                Err(fault) => {
                    self.end_with(fault.at(&self.wanted, block));
                    break;
                }
            }
        }
        chunks
    }

    /// Looks at blocks whose rows are not handed on.
    fn look_at(&mut self, round: &[TextBlock]) {
        let wanted = &self.wanted;
        let looked: Vec<TypeSamples> = round
            .par_iter()
            .map(|block| {
                let mut samples = TypeSamples::of_all(wanted.requests);
                BlockParser::of(wanted, block).sample(&block.bytes, &mut samples);
                samples
            })
            .collect();
        looked.iter().for_each(|samples| self.samples.merge(samples));
    }

    /// The end of the rows, where it shows whether all of them have the types with which they were
    /// read.
    fn judge(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_judged, true) {
            return Ok(());
        }
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let RequestedTypes { column_types, .. } = self.samples.types(self.wanted.requests);
        if column_types != self.wanted.column_types {
            return Err(TableError::OtherTypes { table: self.table.to_owned(), column_types });
        }
        match self.doubt.take() {
            Some(Doubt::Misfit(fault)) => return Err(fault),
            Some(Doubt::TooWide) => unreachable!("columns with too many digits are no decimals"),
            None => {}
        }
        if let Some(act) = self.when_settled.take() {
            act();
        }
        Ok(())
    }
}

impl Scan for TextScan<'_> {
    fn next_round(&mut self) -> Result<Vec<SourceChunk>> {
        loop {
            let round = self.next_blocks();
            if round.is_empty() {
                self.judge()?;
                return Ok(Vec::new());
            }
            if self.doubt.is_some() {
                self.look_at(&round);
                // Whoever watches hears that it goes on, and can end it.
                return Ok(vec![SourceChunk::without_rows(self.next_row)]);
            }
            let chunks = self.read(&round);
            if !chunks.is_empty() {
                return Ok(chunks);
            }
        }
    }
}
