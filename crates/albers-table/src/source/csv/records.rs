//! The records of a block, and their cells.

/// What a line without any byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlankLines {
    /// Nothing.
    Skipped,
    /// A record of one empty cell, in a table of one column.
    Records,
}

impl BlankLines {
    /// What it is in a table of so many columns.
    pub(super) fn of(n_columns: usize) -> BlankLines {
        if n_columns == 1 { BlankLines::Records } else { BlankLines::Skipped }
    }
}

/// The records of a block, one after the other.
pub(super) struct Records<'a> {
    reader: csv_core::Reader,
    block: &'a [u8],
    rest: &'a [u8],
    text: Vec<u8>,
    ends: Vec<usize>,
    n_cells: usize,
    /// Where the last record starts in the block.
    pub(super) start: usize,
    blank_lines: BlankLines,
}

/// The cells of one record.
pub(super) struct CellsOfRecord<'a> {
    text: &'a [u8],
    ends: &'a [usize],
}

impl CellsOfRecord<'_> {
    /// All cells, one after another.
    pub(super) fn text(&self) -> &[u8] {
        &self.text[..self.ends.last().copied().unwrap_or(0)]
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, cell_idx: usize) -> &[u8] {
        let start = if cell_idx == 0 { 0 } else { self.ends[cell_idx - 1] };
        &self.text[start..self.ends[cell_idx]]
    }
}

impl<'a> Records<'a> {
    pub(super) fn new(block: &'a [u8], delimiter: u8, blank_lines: BlankLines) -> Records<'a> {
        let mut reader = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        // The library takes a byte order mark away from the first bytes that it is given, but a
        // block is not the beginning of a file: an empty line goes before it.
        reader.read_record(b"\n", &mut [0], &mut [0]);
        Records {
            reader,
            block,
            rest: block,
            text: vec![0; 4096],
            ends: vec![0; 64],
            n_cells: 0,
            start: 0,
            blank_lines,
        }
    }

    /// The next record, which starts at `self.start`.
    pub(super) fn next_record(&mut self) -> Option<CellsOfRecord<'_>> {
        if self.blank_lines == BlankLines::Skipped {
            let n_breaks = self.rest.iter().take_while(|&&byte| is_break(byte)).count();
            self.rest = &self.rest[n_breaks..];
        }
        self.start = self.block.len() - self.rest.len();
        if self.rest.first().is_some_and(|&byte| is_break(byte)) {
            self.rest = &self.rest[1..];
            self.skip_line_feed();
            self.ends[0] = 0;
            self.n_cells = 1;
            return Some(CellsOfRecord { text: &[], ends: &self.ends[..1] });
        }
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
                    self.skip_line_feed();
                    return Some(CellsOfRecord {
                        text: &self.text[..n_text],
                        ends: &self.ends[..self.n_cells],
                    });
                }
                csv_core::ReadRecordResult::End => return None,
            }
        }
    }

    /// Where the block's first `n_records` end, or the block if it has fewer.
    pub(super) fn end_of(&mut self, n_records: usize) -> usize {
        for _ in 0..n_records {
            if self.next_record().is_none() {
                return self.block.len();
            }
        }
        self.block.len() - self.rest.len()
    }

    /// Takes the second byte of a line break of two.
    fn skip_line_feed(&mut self) {
        let end = self.block.len() - self.rest.len();
        if end > 0 && self.block[end - 1] == b'\r' && self.rest.first() == Some(&b'\n') {
            self.rest = &self.rest[1..];
        }
    }
}

fn is_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records_of(block: &str, blank_lines: BlankLines) -> Vec<(usize, String)> {
        let mut records = Records::new(block.as_bytes(), b',', blank_lines);
        let mut found = Vec::new();
        while let Some(cells) = records.next_record() {
            let cells: Vec<&[u8]> = (0..cells.len()).map(|idx| cells.get(idx)).collect();
            let text = String::from_utf8(cells.join(&b'|')).unwrap();
            found.push((records.start, text));
        }
        found
    }

    #[test]
    fn blank_lines_of_one_column_are_records_and_the_end_of_the_last_line_is_none() {
        for (block, expected) in [
            ("a\n\nb\n", vec![(0, "a"), (2, ""), (3, "b")]),
            ("\n\na", vec![(0, ""), (1, ""), (2, "a")]),
            ("a\r\n\r\n\r\nb\r\n", vec![(0, "a"), (3, ""), (5, ""), (7, "b")]),
            ("a\n\n", vec![(0, "a"), (2, "")]),
            ("\"x\n\ny\"\n\"\"\n\nz", vec![(0, "x\n\ny"), (7, ""), (10, ""), (11, "z")]),
            ("", vec![]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|(at, s)| (at, s.to_owned())).collect();
            assert_eq!(records_of(block, BlankLines::Records), expected, "{block:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_at_the_beginning_of_a_block_is_text() {
        for blank_lines in [BlankLines::Records, BlankLines::Skipped] {
            let records = records_of("\u{feff}a,\u{feff}b\n\u{feff}\n", blank_lines);
            let expected = [(0, "\u{feff}a|\u{feff}b".to_owned()), (10, "\u{feff}".to_owned())];
            assert_eq!(records, expected);
        }
    }

    #[test]
    fn the_first_records_end_where_the_next_begins() {
        let block = b"a,\"x\ny\"\r\nb,c\n\nd,e\n";
        let end = |n| Records::new(block, b',', BlankLines::Skipped).end_of(n);
        assert_eq!([end(0), end(1), end(2), end(3), end(4)], [0, 9, 13, 18, 18]);
    }

    #[test]
    fn blank_lines_of_several_columns_are_skipped() {
        let expected = [(1, "a|b".to_owned()), (7, "c|d".to_owned())];
        assert_eq!(records_of("\na,b\r\n\nc,d\n\n\n", BlankLines::Skipped), expected);
    }
}
