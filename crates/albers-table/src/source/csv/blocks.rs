//! Blocks of whole records, and the first line before them.

use std::io::Read;
use std::path::PathBuf;

use albers_storage::StorageError;

use super::layout::{DELIMITERS, FirstText, Layout};
use super::records::{BlankLines, Records};
use super::{TextSizes, count_lines};
use crate::source::allowance::{BLOCK_BYTES, LONGEST_RECORD_BYTES};
use crate::source::{ReadOptions, table_error};
use crate::value::ParseProblem;
use crate::{Result, TableError};

/// The names of the columns, and how the text is laid out.
pub(super) struct ReadHeader {
    pub(super) names: Vec<String>,
    pub(super) layout: Layout,
    /// Whether the first name was empty.
    pub(super) is_first_empty: bool,
}

/// Bytes of a block for each column, where there are many columns.
const COLUMN_BYTES: usize = 512;

/// Cuts a text into blocks of whole records.
pub(super) struct BlockReader {
    table: String,
    input: Box<dyn Read + Send>,
    pending: Vec<u8>,
    at_end: bool,
    /// The byte between cells; sniffed when the header is read.
    pub(super) delimiter: u8,
    given_delimiter: Option<u8>,
    /// The 1-based line of the first row.
    pub(super) first_data_line: u64,
    /// Lines before the pending bytes.
    n_lines_done: u64,
    /// Bytes of a block, as long as records are shorter, and how much longer they may be.
    sizes: TextSizes,
}

impl BlockReader {
    /// The text that `input` gives, and what its table is called.
    pub(super) fn new(
        table: &str,
        input: Box<dyn Read + Send>,
        delimiter: Option<u8>,
        sizes: TextSizes,
    ) -> BlockReader {
        BlockReader {
            table: table.to_owned(),
            input,
            pending: Vec::new(),
            at_end: false,
            delimiter: delimiter.unwrap_or(b','),
            given_delimiter: delimiter,
            first_data_line: 1,
            n_lines_done: 0,
            sizes,
        }
    }

    /// Whether all of the text was handed on.
    pub(super) fn is_done(&self) -> bool {
        self.at_end && self.pending.is_empty()
    }

    /// Reads the names in the first record and leaves the rest for [`BlockReader::next_block`].
    /// Without a header the columns are named by their numbers, and the first record is left too.
    pub(super) fn read_header(&mut self, options: &ReadOptions) -> Result<ReadHeader> {
        self.fill(BLOCK_BYTES)?;
        if self.pending.starts_with(b"\xef\xbb\xbf") {
            self.pending.drain(..3);
        }
        let n_blank = self.pending.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        let text = &self.pending[n_blank..];
        if text.is_empty() {
            return Err(table_error(
                &self.table,
                "the file is empty",
                "a table needs a first line with the column names and at least one row",
            ));
        }
        let header = options.header;
        if header.is_none() && super::header::is_json(text) {
            return Err(table_error(
                &self.table,
                "this looks like JSON, not like a table of text",
                super::header::json_hint(text),
            ));
        }
        let first = FirstText {
            table: &self.table,
            text,
            is_all: self.at_end,
            delimiter: self.given_delimiter,
            options,
        };
        let layout = first.layout()?;
        self.delimiter = layout.delimiter;
        let n_skipped = n_blank + layout.n_skipped_bytes;
        let n_skipped_lines = count_lines(&self.pending[..n_skipped]);
        let line = self.first_record(n_skipped)?;
        let mut names = match header {
            Some(false) => self.numbered_columns(&line)?,
            _ => self.column_names(&line, 1 + n_skipped_lines, &layout)?,
        };
        let is_first_empty = names.len() > 1 && names[0].is_empty();
        if is_first_empty {
            names[0] = name_of_row_numbers(&names);
        }
        let n_done = match (header, BlankLines::of(names.len())) {
            (Some(false), BlankLines::Records) => 0,
            (Some(false), BlankLines::Skipped) => n_skipped,
            _ => n_skipped + line.len(),
        };
        self.n_lines_done = count_lines(&self.pending[..n_done]);
        self.first_data_line = 1 + self.n_lines_done;
        // Every block has arrays of its own for each column, which cost more than a few cells.
        let least_bytes = (names.len() * COLUMN_BYTES).min(self.sizes.first_bytes);
        self.sizes.block_bytes = self.sizes.block_bytes.max(least_bytes);
        self.pending.drain(..n_done);
        Ok(ReadHeader { names, layout, is_first_empty })
    }

    /// The first record behind so many bytes, as long as any record may be.
    fn first_record(&mut self, n_skipped: usize) -> Result<Vec<u8>> {
        let most = n_skipped + self.sizes.allowance.record_bytes();
        let mut wanted = BLOCK_BYTES;
        loop {
            let text = &self.pending[n_skipped..];
            let end = first_record_end(text, Some(self.delimiter));
            match end {
                Ok(Some(end)) => return Ok(text[..end].to_vec()),
                Ok(None) if self.at_end => return Ok(text.to_vec()),
                Err(start) if self.at_end => {
                    let line = 1 + count_lines(&self.pending[..n_skipped + start]);
                    return Err(self.open_quote(line));
                }
                _ if wanted >= most => {
                    return Err(self.too_long(end.err().map(|start| n_skipped + start)));
                }
                _ => {}
            }
            wanted = most.min(wanted * 2);
            self.fill(wanted)?;
        }
    }

    /// The names in the first record, which is all that its line may hold.
    fn column_names(&self, line: &[u8], line_number: u64, layout: &Layout) -> Result<Vec<String>> {
        let mut names = Vec::new();
        names.extend(layout.is_first_unnamed.then(String::new));
        self.for_each_cell(line, &mut |cell_idx, cell| {
            let name = std::str::from_utf8(cell).map_err(|_| TableError::Line {
                table: self.table.clone(),
                line: line_number,
                problem: format!("the name of column {} is not valid UTF-8", cell_idx + 1),
                hint: ParseProblem::NotUtf8.hint(""),
            })?;
            names.push(name.trim().to_owned());
            Ok(())
        })?;
        for _ in 0..layout.n_empty_columns {
            names.pop_if(|name| name.is_empty());
        }
        Ok(names)
    }

    /// `c1`, `c2` and so on, one for each cell of the first record.
    fn numbered_columns(&self, line: &[u8]) -> Result<Vec<String>> {
        let mut names = Vec::new();
        self.for_each_cell(line, &mut |cell_idx, _| {
            names.push(format!("c{}", cell_idx + 1));
            Ok(())
        })?;
        Ok(names)
    }

    fn for_each_cell(
        &self,
        line: &[u8],
        act: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut records = Records::new(line, self.delimiter, BlankLines::Skipped);
        if let Some(cells) = records.next_record() {
            // A name takes far more than the delimiter that stands for it.
            self.sizes.allowance.check_columns(cells.len() as u64)?;
            for cell_idx in 0..cells.len() {
                act(cell_idx, cells.get(cell_idx))?;
            }
        }
        match records.next_record().is_some() {
            true => Err(table_error(
                &self.table,
                "the first line ends in a carriage return (CR) without a line feed (LF)",
                "convert the line ends to LF, for example with tr '\\r' '\\n'",
            )),
            false => Ok(()),
        }
    }

    /// The first block, as long as what is looked at before rows are read.
    pub(super) fn first_block(&mut self) -> Result<Option<Vec<u8>>> {
        self.block_of(self.sizes.first_bytes)
    }

    /// The same reader, before it gave this block.
    pub(super) fn again(mut self, mut block: Vec<u8>) -> BlockReader {
        if !self.is_done() {
            self.n_lines_done -= count_lines(&block);
        }
        block.append(&mut self.pending);
        self.pending = block;
        self
    }

    /// The next whole records; nothing when there are no more.
    pub(super) fn next_block(&mut self) -> Result<Option<Vec<u8>>> {
        self.block_of(self.sizes.block_bytes)
    }

    fn block_of(&mut self, n_bytes: usize) -> Result<Option<Vec<u8>>> {
        let most = self.sizes.allowance.record_bytes().max(n_bytes);
        let mut wanted = n_bytes;
        loop {
            self.fill(wanted)?;
            if self.pending.is_empty() {
                return Ok(None);
            }
            let n_bytes = wanted.min(self.pending.len());
            let (end, open_quote) = last_record_end(&self.pending[..n_bytes], self.delimiter);
            if self.at_end && n_bytes == self.pending.len() {
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
            if wanted >= most {
                return Err(self.too_long(open_quote));
            }
            wanted = most.min(wanted * 2);
        }
    }

    /// Refuses the record that is pending; the rest of it is read to say what would do, and given up
    /// as it comes.
    fn too_long(&mut self, open_quote: Option<usize>) -> TableError {
        let open_line =
            open_quote.map(|start| 1 + self.n_lines_done + count_lines(&self.pending[..start]));
        let mut is_quoted = open_line.is_some();
        let mut n_bytes = self.pending.len();
        self.pending = Vec::new();
        let mut piece = vec![0; 1 << 16];
        while n_bytes <= LONGEST_RECORD_BYTES {
            let n_read = match self.input.read(&mut piece) {
                Ok(n_read) => n_read,
                Err(source) if source.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(source) => return self.unread(source).into(),
            };
            for at in memchr::memchr2_iter(b'"', b'\n', &piece[..n_read]) {
                match (piece[at], is_quoted) {
                    (b'\n', false) => {
                        return self.sizes.allowance.refuse_record((n_bytes + at) as u64);
                    }
                    (b'\n', true) => {}
                    _ => is_quoted = !is_quoted,
                }
            }
            n_bytes += n_read;
            match (n_read, open_line) {
                (0, Some(line)) if is_quoted => return self.open_quote(line),
                (0, _) => return self.sizes.allowance.refuse_record(n_bytes as u64),
                _ => {}
            }
        }
        table_error(
            &self.table,
            format!("a row is longer than {} MB", LONGEST_RECORD_BYTES >> 20),
            "look for a quote that is never closed",
        )
    }

    fn open_quote(&self, line: u64) -> TableError {
        TableError::Line {
            table: self.table.clone(),
            line,
            problem: "a quoted cell starts here and never ends".to_owned(),
            hint: "close the quote, or double it if it is part of the text".into(),
        }
    }

    /// Reads until `wanted` bytes are pending or the text ends.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        if self.at_end || self.pending.len() >= wanted {
            return Ok(());
        }
        let missing = wanted - self.pending.len();
        if wanted > BLOCK_BYTES && self.pending.try_reserve_exact(missing + 32).is_err() {
            return Err(self.sizes.allowance.refuse_record(wanted as u64));
        }
        let read = (&mut self.input).take(missing as u64).read_to_end(&mut self.pending);
        let n_read = read.map_err(|source| self.unread(source))?;
        self.at_end = n_read < missing;
        Ok(())
    }

    fn unread(&self, source: std::io::Error) -> StorageError {
        StorageError::Read { path: PathBuf::from(&self.table), source }
    }
}

/// A name that no other column has.
fn name_of_row_numbers(names: &[String]) -> String {
    let mut name = "row".to_owned();
    while names.contains(&name) {
        name.push('_');
    }
    name
}

/// The end of the first line that does not break inside quotes, or where a quote is never closed.
///
/// A quote opens a cell only at the cell's start, as in [`last_record_end`], but here the delimiter
/// may not be known yet.
pub(super) fn first_record_end(
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

#[cfg(test)]
mod tests {
    use super::super::layout::sniff_line;
    use super::*;

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
        assert_eq!(sniff_line(b"a;b;\"c,d,e,f\""), b';');
        assert_eq!(sniff_line(b"a\tb"), b'\t');
        assert_eq!(sniff_line(b"alone"), b',');
    }
}
