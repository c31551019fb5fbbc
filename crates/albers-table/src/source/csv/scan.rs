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

use albers_storage::threads;
use rayon::prelude::*;

use super::blocks::BlockReader;
use super::count_lines;
use super::parser::{BlockParser, Fault, ParsedBlock};
use super::types::TypeSamples;
use crate::notation::{Doubt as Ambiguity, Notation};
use crate::row::RowId;
use crate::schema::ColumnType;
use crate::source::encoding::{self, Detected};
use crate::source::places::Places;
use crate::source::remark::{Remark, Remarks};
use crate::source::unchanged::Opened;
use crate::source::{
    ColumnRequest, ReadOptions, RequestedTypes, Scan, SourceChunk, TextEncoding, Undecided, Wanted,
    table_error,
};
use crate::{Result, TableError};

/// A text on its way.
pub(crate) struct TextPart {
    name: Arc<str>,
    n_columns: usize,
    /// Columns behind these that have no cells.
    n_empty_columns: usize,
    blocks: BlockReader,
    /// The 1-based line of the next block.
    next_line: u64,
    places: Places,
    /// What its file was when it was opened, if somebody may change it.
    opened: Option<Arc<Opened>>,
}

/// A block, and what is needed to parse it.
pub(super) struct TextBlock {
    pub(super) table: Arc<str>,
    pub(super) delimiter: u8,
    pub(super) n_columns: usize,
    pub(super) n_empty_columns: usize,
    pub(super) first_line: u64,
    pub(super) places: Places,
    pub(super) bytes: Vec<u8>,
}

impl TextPart {
    pub(super) fn new(
        name: &str,
        (n_columns, n_empty_columns): (usize, usize),
        blocks: BlockReader,
    ) -> TextPart {
        let next_line = blocks.first_data_line;
        TextPart {
            name: name.into(),
            n_columns,
            n_empty_columns,
            blocks,
            next_line,
            places: Places::default(),
            opened: None,
        }
    }

    /// The same; messages call its lines so.
    pub(super) fn with_places(self, places: Places) -> TextPart {
        TextPart { places, ..self }
    }

    /// The same; at its end its file must be what it was when it was opened.
    pub(crate) fn with_opened(self, opened: Option<Arc<Opened>>) -> TextPart {
        TextPart { opened, ..self }
    }

    fn next_block(&mut self) -> Result<Option<TextBlock>> {
        let Some(bytes) = self.blocks.next_block()? else {
            self.opened.as_ref().map_or(Ok(()), |opened| opened.check_unchanged())?;
            return Ok(None);
        };
        let first_line = self.next_line;
        self.next_line += count_lines(&bytes);
        Ok(Some(TextBlock {
            table: self.name.clone(),
            delimiter: self.blocks.delimiter,
            n_columns: self.n_columns,
            n_empty_columns: self.n_empty_columns,
            first_line,
            places: self.places.clone(),
            bytes,
        }))
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
    /// Whether all rows may show that letters are not stored as UTF-8.
    has_open_encoding: bool,
    /// How they are stored, once that shows.
    other_encoding: Option<TextEncoding>,
    /// Whether letters of UTF-8 were read.
    has_letters: bool,
    /// What was found out, for the owner of the table.
    remarks: Remarks,
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
            has_open_encoding: false,
            other_encoding: None,
            has_letters: false,
            remarks: Remarks::default(),
        }
    }

    /// The same; what is found out is added to these remarks.
    pub(crate) fn remarking(self, remarks: &Remarks) -> TextScan<'s> {
        TextScan { remarks: remarks.clone(), ..self }
    }

    /// The same; if `is_open`, all rows may show that letters are not stored as UTF-8.
    pub(crate) fn with_open_encoding(self, is_open: bool) -> TextScan<'s> {
        let is_open = is_open && self.wanted.types.encoding.is_none();
        TextScan { has_open_encoding: is_open, ..self }
    }

    /// The same; `act` is called when it is certain that the rows need not be read again for their
    /// types.
    pub(crate) fn when_settled(self, act: Box<dyn FnOnce() + Send + 's>) -> TextScan<'s> {
        TextScan { when_settled: Some(act), ..self }
    }

    /// As many blocks as there are threads; fewer at the end, or before something wrong.
    fn next_blocks(&mut self) -> Vec<TextBlock> {
        let mut round = Vec::new();
        while round.len() < threads::of_pool() && !self.is_done {
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
                    self.has_letters |= !block.bytes.is_ascii();
                    self.samples.merge(&samples);
                    if self.samples.are_too_wide_for(self.wanted.types) {
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
                Err(fault) if self.may_be_read_otherwise(&fault, block) => {
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

    /// Whether all rows together may show that a cell is to be read in another way.
    fn may_be_read_otherwise(&mut self, fault: &Fault, block: &TextBlock) -> bool {
        if fault.is_of_encoding() && self.has_open_encoding && !self.has_letters {
            match encoding::detect(&block.bytes, true) {
                Detected::Surely(found) if found != TextEncoding::UTF_8 => {
                    self.other_encoding = Some(found);
                    return true;
                }
                _ => {}
            }
        }
        fault.may_be_read_otherwise(&self.wanted)
    }

    /// Looks at blocks whose rows are not handed on.
    fn look_at(&mut self, round: &[TextBlock]) {
        // What is UTF-8 elsewhere is not of another encoding here: the letter is broken.
        let is_utf_8 = |block: &TextBlock| {
            !block.bytes.is_ascii() && std::str::from_utf8(&block.bytes).is_ok()
        };
        if self.other_encoding.is_some() && round.iter().any(is_utf_8) {
            self.other_encoding = None;
        }
        let (wanted, other_encoding) = (&self.wanted, self.other_encoding);
        let looked: Vec<TypeSamples> = round
            .par_iter()
            .map(|block| {
                let mut samples = TypeSamples::of_all(wanted.requests);
                let parser = BlockParser::of(wanted, block);
                match other_encoding {
                    Some(other) => {
                        parser.sample(&encoding::decode(other, &block.bytes), &mut samples);
                    }
                    None => parser.sample(&block.bytes, &mut samples),
                }
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
        let Wanted { requests, options, types: own, .. } = self.wanted;
        let mut types = self.samples.types(requests, options);
        types.encoding = self.other_encoding.or(own.encoding);
        check_decided(self.table, requests, &types, options)?;
        if types != *own {
            let (table, types) = (self.table.to_owned(), Box::new(types));
            return Err(TableError::OtherTypes { table, types });
        }
        match self.doubt.take() {
            Some(Doubt::Misfit(fault)) => return Err(fault),
            Some(Doubt::TooWide) => unreachable!("columns with too many digits are no decimals"),
            None => {}
        }
        self.remark();
        if let Some(act) = self.when_settled.take() {
            act();
        }
        Ok(())
    }

    /// Says what nobody has said and the rows told.
    fn remark(&self) {
        let Wanted { requests, types, .. } = &self.wanted;
        for (request_idx, request) in requests.iter().enumerate() {
            if let Some(remark) = self.remark_on(request_idx, request) {
                self.remarks.add(remark);
            }
            let is_text = types.column_types[request_idx] == ColumnType::Text;
            let n_rows = match is_text {
                true => self.samples.n_written_for_missing(request_idx),
                false => self.samples.n_known_missing(request_idx),
            };
            if n_rows > 0 {
                let columns = vec![(request.name.clone(), n_rows)];
                self.remarks.add(match is_text {
                    true => Remark::WordsForMissing { columns },
                    false => Remark::KnownMissing { columns },
                });
            }
        }
        if let Some(encoding) = types.encoding {
            self.remarks.add(Remark::Encoding(encoding));
        }
    }

    /// How a column is read, if that is not as the program writes it or not as it may be meant.
    fn remark_on(&self, request_idx: usize, request: &ColumnRequest) -> Option<Remark> {
        let Wanted { options, types, .. } = &self.wanted;
        let columns = vec![request.name.clone()];
        let kind = types.column_types[request_idx];
        let is_open = request.column_type.is_none();
        let is_plain = options.numbers_are_plain;
        let is_fraction = matches!(kind, ColumnType::Decimal | ColumnType::Float);
        let is_told = options.said_mark().is_none()
            && (!is_plain || self.samples.has_texts_for_numbers(request_idx));
        match &types.notations[request_idx] {
            Notation::Numbers(mark) if options.decimal.is_none() => {
                Some(Remark::Numbers { columns, mark: *mark })
            }
            Notation::Dates(format) if options.date_format(&request.name).is_none() => {
                Some(Remark::Dates { columns, format: format.clone() })
            }
            Notation::Plain
                if is_told && is_fraction && self.samples.is_point_assumed(request_idx) =>
            {
                Some(Remark::AssumedPoint { columns })
            }
            Notation::Plain if is_open && self.samples.are_months(request_idx) => {
                Some(Remark::Months { columns })
            }
            Notation::Plain
                if is_open
                    && kind == ColumnType::Integer
                    && self.samples.may_be_days(request_idx) =>
            {
                Some(Remark::Days { columns })
            }
            Notation::Plain
                if is_open
                    && is_plain
                    && kind == ColumnType::Text
                    && self.samples.are_texts_of_numbers(request_idx) =>
            {
                Some(Remark::TextsOfNumbers { columns })
            }
            _ => None,
        }
    }
}

/// Refuses columns that can be read in two ways and are to be coded.
fn check_decided(
    table: &str,
    requests: &[ColumnRequest],
    types: &RequestedTypes,
    options: &ReadOptions,
) -> Result<()> {
    for (request, notation) in requests.iter().zip(&types.notations) {
        let may_be_names = options.undecided == Undecided::Names && request.column_type.is_none();
        // Dates that leave as they came are nobody's business; numbers become typed.
        let matters = |doubt: &Ambiguity| request.coded || *doubt == Ambiguity::Thousands;
        if let Notation::Undecided(doubt) = notation
            && matters(doubt)
            && !may_be_names
        {
            let problem = format!("column '{}': {}", request.name, doubt.problem());
            return Err(table_error(table, problem, doubt.hint(&request.name)));
        }
    }
    Ok(())
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
