//! Blocks of whole records, and the first line before them.

use std::io::Read;
use std::path::PathBuf;

use albers_storage::StorageError;

use super::count_lines;
use super::records::{BlankLines, Records};
use crate::source::table_error;
use crate::value::ParseProblem;
use crate::{Result, TableError};

/// Bytes of a block, and bytes among which the header is looked for.
pub(super) const BLOCK_BYTES: usize = 4 << 20;
const LONGEST_RECORD_BYTES: usize = 256 << 20;
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

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
    /// Bytes of a block, as long as records are shorter.
    block_bytes: usize,
}

impl BlockReader {
    /// The text that `input` gives, and what its table is called.
    pub(super) fn new(
        table: &str,
        input: Box<dyn Read + Send>,
        delimiter: Option<u8>,
        block_bytes: usize,
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
            block_bytes,
        }
    }

    /// Whether all of the text was handed on.
    pub(super) fn is_done(&self) -> bool {
        self.at_end && self.pending.is_empty()
    }

    /// Reads the names in the first record and leaves the rest for [`BlockReader::next_block`].
    /// Without a header the columns are named by their numbers, and the first record is left too.
    pub(super) fn read_header(&mut self, header: Option<bool>) -> Result<Vec<String>> {
        self.fill(BLOCK_BYTES)?;
        if self.pending.starts_with(b"\xef\xbb\xbf") {
            self.pending.drain(..3);
        }
        let n_blank = self.pending.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        let n_blank_lines = count_lines(&self.pending[..n_blank]);
        let text = &self.pending[n_blank..];
        if text.is_empty() {
            return Err(table_error(
                &self.table,
                "the file is empty",
                "a table needs a first line with the column names and at least one row",
            ));
        }
        if header.is_none() && super::header::is_json(text) {
            return Err(table_error(
                &self.table,
                "this looks like JSON, not like a table of text",
                "convert it to CSV or Parquet first",
            ));
        }
        let end = match first_record_end(text, self.given_delimiter) {
            Ok(end) => end.unwrap_or(text.len()),
            Err(start) => {
                let line = 1 + n_blank_lines + count_lines(&text[..start]);
                return Err(self.open_quote(line));
            }
        };
        let line = text[..end].to_vec();
        if self.given_delimiter.is_none() {
            self.delimiter = sniff_delimiter(&line);
        }
        let names = match header {
            Some(false) => self.numbered_columns(&line)?,
            _ => self.column_names(&line, 1 + n_blank_lines)?,
        };
        let n_done = match (header, BlankLines::of(names.len())) {
            (Some(false), BlankLines::Records) => 0,
            (Some(false), BlankLines::Skipped) => n_blank,
            _ => n_blank + end,
        };
        self.n_lines_done = count_lines(&self.pending[..n_done]);
        self.first_data_line = 1 + self.n_lines_done;
        self.pending.drain(..n_done);
        Ok(names)
    }

    /// The names in the first record, which is all that its line may hold.
    fn column_names(&self, line: &[u8], line_number: u64) -> Result<Vec<String>> {
        let mut names = Vec::new();
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

    pub(super) fn next_block(&mut self) -> Result<Option<Vec<u8>>> {
        let mut wanted = self.block_bytes;
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
            if wanted > LONGEST_RECORD_BYTES {
                return Err(table_error(
                    &self.table,
                    format!("a row is longer than {} MB", LONGEST_RECORD_BYTES >> 20),
                    "look for a quote that is never closed",
                ));
            }
            wanted *= 2;
        }
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
        let missing = (wanted - self.pending.len()) as u64;
        let n_read = (&mut self.input)
            .take(missing)
            .read_to_end(&mut self.pending)
            .map_err(|source| StorageError::Read { path: PathBuf::from(&self.table), source })?;
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

#[cfg(test)]
mod tests {
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
        assert_eq!(sniff_delimiter(b"a;b;\"c,d,e,f\""), b';');
        assert_eq!(sniff_delimiter(b"a\tb"), b'\t');
        assert_eq!(sniff_delimiter(b"alone"), b',');
    }
}
