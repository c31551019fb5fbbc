//! What the header of a page tells, by Thrift's compact protocol.

use std::io::{BufRead, Read};

/// The kinds of Thrift's compact protocol that a header needs.
mod kind {
    pub(super) const STOP: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const STRUCT: u8 = 12;
}

/// Fields of a struct that are looked at, and none before the first.
const N_FIELDS: i64 = 8;
const N_NUMBERS: usize = N_FIELDS as usize;

/// What a page says of itself.
pub(super) struct PageHeader {
    pub(super) n_bytes: u64,
    pub(super) is_dictionary: bool,
    pub(super) page_bytes: u64,
    pub(super) packed_bytes: u64,
    /// Cells of a data page, be they missing or not.
    pub(super) n_cells: u64,
    /// Whether its texts are told by what they share with those before them.
    pub(super) shares: bool,
    /// Bytes in front of what is packed that are not.
    pub(super) plain_bytes: u64,
    /// Whether what is behind them is packed, if the column is.
    pub(super) is_packed: bool,
}

impl PageHeader {
    /// Reads the header that `input` begins with.
    pub(super) fn read(input: impl BufRead) -> Option<PageHeader> {
        const DICTIONARY_PAGE: i64 = 2;
        const DELTA_BYTE_ARRAY: i64 = 7;
        let mut input = Compact { input, n_bytes: 0 };
        let (mut field, mut told, mut data) = (0, [None; 4], (0, [None; N_NUMBERS]));
        let mut second = None;
        while let Some((next, own)) = input.field(field)? {
            field = next;
            match (field, own) {
                (1..=3, 4..=kind::I64) => told[field as usize] = Some(input.number()?),
                (5 | 8, kind::STRUCT) => {
                    data = (next, input.numbers()?);
                    second = Some(data.1).filter(|_| next == 8).or(second);
                }
                _ => input.skip(own, 0)?,
            }
        }
        // The encoding stands behind numbers of missing cells and rows in the second version.
        let encoding = if data.0 == 8 { data.1[4] } else { data.1[2] };
        // Others read these numbers with 32 bits.
        let size = |told: Option<i64>| u64::try_from(i32::try_from(told?).ok()?).ok();
        // Only pages of the second version tell what is packed of them.
        let (plain_bytes, is_packed) = match second {
            Some(told) => (size(told[5])? + size(told[6])?, told[7] != Some(0)),
            None => (0, true),
        };
        Some(PageHeader {
            n_bytes: input.n_bytes,
            is_dictionary: told[1]? == DICTIONARY_PAGE,
            page_bytes: size(told[2])?,
            packed_bytes: size(told[3])?,
            n_cells: size(data.1[1].or(Some(0)))?,
            shares: encoding == Some(DELTA_BYTE_ARRAY),
            plain_bytes,
            is_packed,
        })
    }
}

/// Values of Thrift's compact protocol, as far as they have to be passed over.
struct Compact<R> {
    input: R,
    n_bytes: u64,
}

impl<R: BufRead> Compact<R> {
    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte).ok()?;
        self.n_bytes += 1;
        Some(byte[0])
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for place in 0..10 {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn number(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The number and the kind of the next field; nothing at the end of the struct.
    fn field(&mut self, last: i64) -> Option<Option<(i64, u8)>> {
        let byte = self.byte()?;
        match (byte & 0x0f, byte >> 4) {
            (kind::STOP, _) => Some(None),
            (kind, 0) => Some(Some((self.number()?, kind))),
            (kind, delta) => Some(Some((last.checked_add(i64::from(delta))?, kind))),
        }
    }

    /// The first numbers and flags of a struct, by their fields.
    fn numbers(&mut self) -> Option<[Option<i64>; N_NUMBERS]> {
        let (mut field, mut told) = (0, [None; N_NUMBERS]);
        while let Some((next, own)) = self.field(field)? {
            field = next;
            match (field, own) {
                (1..N_FIELDS, 4..=kind::I64) => told[field as usize] = Some(self.number()?),
                (1..N_FIELDS, kind::TRUE) => told[field as usize] = Some(1),
                (1..N_FIELDS, kind::FALSE) => told[field as usize] = Some(0),
                _ => self.skip(own, 1)?,
            }
        }
        Some(told)
    }

    fn skip_bytes(&mut self, n_bytes: u64) -> Option<()> {
        let n_skipped = std::io::copy(&mut (&mut self.input).take(n_bytes), &mut std::io::sink());
        self.n_bytes += n_bytes;
        (n_skipped.ok()? == n_bytes).then_some(())
    }

    fn skip(&mut self, own: u8, depth: usize) -> Option<()> {
        const DEEPEST: usize = 16;
        if depth > DEEPEST {
            return None;
        }
        match own {
            kind::TRUE | kind::FALSE => Some(()),
            kind::BYTE => self.skip_bytes(1),
            4..=kind::I64 => self.unsigned().map(drop),
            kind::DOUBLE => self.skip_bytes(8),
            kind::BINARY => {
                let n_bytes = self.unsigned()?;
                self.skip_bytes(n_bytes)
            }
            kind::LIST | kind::SET => {
                let byte = self.byte()?;
                let n_items = match byte >> 4 {
                    15 => self.unsigned()?,
                    n_items => u64::from(n_items),
                };
                let item = byte & 0x0f;
                let is_flag = matches!(item, kind::TRUE | kind::FALSE);
                (0..n_items).try_for_each(|_| match is_flag {
                    true => self.skip_bytes(1),
                    false => self.skip(item, depth + 1),
                })
            }
            kind::STRUCT => {
                let mut field = 0;
                while let Some((next, inner)) = self.field(field)? {
                    field = next;
                    self.skip(inner, depth + 1)?;
                }
                Some(())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_to_its_end_whatever_it_holds() {
        // type = 0, sizes 300 and 20, a crc, and a data page header with statistics.
        let header = [
            0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0x28, 0x15, 0x02, 0x1c, 0x15, 0x0a, 0x15, 0x00,
            0x2c, 0x18, 0x03, b'a', b'b', b'c', 0x11, 0x00, 0x00, 0x00, 0xff,
        ];
        let read = PageHeader::read(&header[..]).unwrap();
        assert_eq!((read.page_bytes, read.packed_bytes, read.is_dictionary), (300, 20, false));
        assert_eq!(read.n_bytes as usize, header.len() - 1);
    }

    #[test]
    fn a_header_tells_how_many_cells_its_page_has_and_whether_they_share_beginnings() {
        // A data page of 5 cells in encoding 0, and one of the second version, of 5 in encoding 7.
        let first = [0x15, 0x00, 0x15, 0x28, 0x15, 0x28, 0x2c, 0x15, 0x0a, 0x15, 0x00, 0x00, 0x00];
        let second = [
            0x15, 0x06, 0x15, 0x28, 0x15, 0x28, 0x5c, 0x15, 0x0a, 0x15, 0x00, 0x15, 0x0a, 0x15,
            0x0e, 0x15, 0x04, 0x15, 0x02, 0x00, 0x00,
        ];
        for (header, shares) in [(&first[..], false), (&second[..], true)] {
            let read = PageHeader::read(header).unwrap();
            assert_eq!((read.n_cells, read.shares), (5, shares));
            // What is in front of the cells is packed with them, or stands there as it is.
            assert_eq!((read.plain_bytes, read.is_packed), (if shares { 3 } else { 0 }, true));
        }
        let mut plain = second[..second.len() - 2].to_vec();
        plain.extend([0x12, 0x00, 0x00]);
        assert!(!PageHeader::read(&plain[..]).unwrap().is_packed);
    }

    #[test]
    fn a_size_that_the_reader_would_cut_is_none() {
        let header = |n_bytes: u64| {
            let mut header = vec![0x15, 0x00, 0x15];
            let mut rest = 2 * u128::from(n_bytes);
            while rest > 0x7f {
                header.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            header.extend([rest as u8, 0x15, 0x28, 0x00]);
            PageHeader::read(&header[..]).map(|header| header.page_bytes)
        };
        assert_eq!(header(i32::MAX as u64), Some(i32::MAX as u64));
        for n_bytes in [1 << 31, 1 << 32, i64::MAX as u64] {
            assert_eq!(header(n_bytes), None, "{n_bytes}");
        }
    }

    #[test]
    fn a_header_that_is_cut_off_or_has_no_sizes_is_none() {
        assert!(PageHeader::read(&[0x15, 0x00, 0x15][..]).is_none());
        assert!(PageHeader::read(&[0x15, 0x00, 0x00][..]).is_none());
        assert!(PageHeader::read(&[0x15, 0x00, 0x15, 0x01, 0x15, 0x28, 0x00][..]).is_none());
        assert!(PageHeader::read(&[0x1c; 64][..]).is_none());
    }
}
