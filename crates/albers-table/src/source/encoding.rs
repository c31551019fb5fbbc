//! Bytes to letters, whatever they are stored in.
//!
//! ```text
//!   a mark at the start             UTF-8 or UTF-16, as it says
//!   every other byte is zero        UTF-16
//!   valid UTF-8                     UTF-8
//!   UTF-8 with a few bad bytes      UTF-8, and damaged: refused where they stand
//!   anything else                   Windows-1252 (which Latin-1 is a part of) if the detector of
//!                                   the Chromium and Firefox family says so, else refused with
//!                                   what it takes the text for; a byte that is no letter of
//!                                   Windows-1252 is one of DOS or of an old Mac
//! ```

use std::io::{self, Cursor, Read};

use albers_storage::wording;
use albers_storage::wording::Field;
use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_16BE, UTF_16LE};

use crate::TableError;
use crate::notation::TextEncoding;

/// Bytes that stand for no letter of Windows-1252, and for one in encodings of DOS and of old Macs.
const GAPS_OF_WINDOWS_1252: [u8; 5] = [0x81, 0x8d, 0x8f, 0x90, 0x9d];

/// What the bytes of a text are taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detected {
    /// They are read in this encoding.
    Surely(TextEncoding),
    /// They are no UTF-8, and look like this.
    Perhaps(TextEncoding),
}

/// Tells how the letters of a text are stored by its first bytes; `is_all` if there are no more.
pub(super) fn detect(bytes: &[u8], is_all: bool) -> Detected {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return Detected::Surely(TextEncoding::of(encoding));
    }
    if let Some(encoding) = utf_16_of(bytes) {
        return Detected::Surely(TextEncoding::of(encoding));
    }
    let (mut n_letters, mut n_bad) = (0u64, 0u64);
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        n_letters += chunk.valid().bytes().filter(|&byte| byte >= 0xc0).count() as u64;
        // A letter may be cut in two where the bytes end.
        let is_cut = chunks.peek().is_none() && !is_all;
        n_bad += u64::from(!chunk.invalid().is_empty() && !is_cut);
    }
    if n_bad == 0 || n_letters > n_bad {
        return Detected::Surely(TextEncoding::UTF_8);
    }
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(bytes, is_all);
    let encoding = TextEncoding::of(detector.guess(None, chardetng::Utf8Detection::Deny));
    let has_gap = bytes.iter().any(|byte| GAPS_OF_WINDOWS_1252.contains(byte));
    match encoding.coding() == encoding_rs::WINDOWS_1252 && !has_gap {
        true => Detected::Surely(encoding),
        false => Detected::Perhaps(encoding),
    }
}

/// The refusal of a text that is neither UTF-8 nor surely anything else.
pub(super) fn unclear(table: &str, looks_like: TextEncoding) -> TableError {
    let hint = match looks_like.coding() == encoding_rs::WINDOWS_1252 {
        true => wording![
            "if a program of DOS wrote it, convert it, for example with iconv -f CP850 -t UTF-8; if \
             an old Mac did, say ",
            Field::Encoding.of("macintosh")
        ],
        false => wording![
            "it looks like ",
            looks_like.name(),
            ": say ",
            Field::Encoding.of(looks_like.name()),
            " if it is that, or convert the file to UTF-8"
        ],
    };
    TableError::File { table: table.to_owned(), problem: "the text is not UTF-8".to_owned(), hint }
}

/// UTF-16 without a mark: nearly every other byte is zero.
fn utf_16_of(bytes: &[u8]) -> Option<&'static Encoding> {
    const N_BYTES: usize = 1024;
    let bytes = &bytes[..bytes.len().min(N_BYTES)];
    let zeros =
        |first: usize| bytes.iter().skip(first).step_by(2).filter(|&&byte| byte == 0).count();
    let (even, odd, half) = (zeros(0), zeros(1), bytes.len() / 2);
    match half > 1 {
        true if odd * 10 >= half * 7 && even * 10 <= half => Some(UTF_16LE),
        true if even * 10 >= half * 7 && odd * 10 <= half => Some(UTF_16BE),
        _ => None,
    }
}

/// The text of some whole records, in UTF-8.
pub(super) fn decode(encoding: TextEncoding, bytes: &[u8]) -> Vec<u8> {
    encoding.coding().decode_without_bom_handling(bytes).0.into_owned().into_bytes()
}

/// The first bytes of a reader, at most so many, and a reader of all of them.
pub(super) fn peek(
    mut input: Box<dyn Read + Send>,
    n_bytes: usize,
) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut first = Vec::new();
    (&mut input).take(n_bytes as u64).read_to_end(&mut first)?;
    Ok((first.clone(), Box::new(Cursor::new(first).chain(input))))
}

/// The same text in UTF-8, without a mark at its start.
pub(super) fn decoded(input: Box<dyn Read + Send>, encoding: TextEncoding) -> Box<dyn Read + Send> {
    match encoding == TextEncoding::UTF_8 {
        // The reader of the first line takes a mark away.
        true => input,
        false => Box::new(DecodedReader {
            input,
            decoder: encoding.coding().new_decoder_with_bom_removal(),
            encoding,
            raw: Vec::new(),
            n_raw_done: 0,
            text: vec![0; 4 * PIECE_BYTES],
            ready: 0..0,
            is_at_end: false,
            is_done: false,
        }),
    }
}

const PIECE_BYTES: usize = 1 << 16;

struct DecodedReader {
    input: Box<dyn Read + Send>,
    decoder: Decoder,
    encoding: TextEncoding,
    raw: Vec<u8>,
    n_raw_done: usize,
    text: Vec<u8>,
    /// The part of `text` that nobody has read yet.
    ready: std::ops::Range<usize>,
    is_at_end: bool,
    is_done: bool,
}

impl DecodedReader {
    fn fill(&mut self) -> io::Result<()> {
        if self.n_raw_done == self.raw.len() && !self.is_at_end {
            self.raw.clear();
            self.n_raw_done = 0;
            let n_read = (&mut self.input).take(PIECE_BYTES as u64).read_to_end(&mut self.raw)?;
            self.is_at_end = n_read < PIECE_BYTES;
        }
        let (result, n_read, n_written) = self.decoder.decode_to_utf8_without_replacement(
            &self.raw[self.n_raw_done..],
            &mut self.text,
            self.is_at_end,
        );
        self.n_raw_done += n_read;
        self.ready = 0..n_written;
        match result {
            DecoderResult::Malformed(..) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the bytes are no text in {}; say another encoding", self.encoding),
            )),
            DecoderResult::InputEmpty => {
                self.is_done = self.is_at_end;
                Ok(())
            }
            DecoderResult::OutputFull => Ok(()),
        }
    }
}

impl Read for DecodedReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() && !self.is_done {
            self.fill()?;
        }
        let n_bytes = self.ready.len().min(bytes.len());
        bytes[..n_bytes].copy_from_slice(&self.text[self.ready.start..][..n_bytes]);
        self.ready.start += n_bytes;
        Ok(n_bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(text: &str, label: &str) -> Vec<u8> {
        match label {
            "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            "utf-16be" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            _ => {
                let encoding: TextEncoding = label.parse().unwrap();
                encoding.coding().encode(text).0.into_owned()
            }
        }
    }

    fn read(bytes: &[u8], encoding: TextEncoding) -> io::Result<String> {
        let mut text = String::new();
        decoded(Box::new(Cursor::new(bytes.to_vec())), encoding).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn encodings_are_told_from_their_bytes() {
        let text = "name;stadt\nJürgen Müller;Köln\nÄnne Größe;München\n";
        for (label, expected) in [
            ("utf-8", "UTF-8"),
            ("windows-1252", "windows-1252"),
            ("latin1", "windows-1252"),
            ("utf-16le", "UTF-16LE"),
            ("utf-16be", "UTF-16BE"),
        ] {
            let bytes = encoded(text, label);
            let Detected::Surely(found) = detect(&bytes, true) else { panic!("{label} is told") };
            assert_eq!(found.name(), expected);
            assert_eq!(read(&bytes, found).unwrap(), text);
        }
        let marked = [b"\xff\xfe".to_vec(), encoded(text, "utf-16le")].concat();
        let Detected::Surely(found) = detect(&marked, true) else { panic!("a mark tells") };
        assert_eq!(read(&marked, found).unwrap(), text);
    }

    #[test]
    fn one_bad_byte_does_not_make_utf_8_another_encoding() {
        let bytes = ["Köln Düren Füssen ".as_bytes(), b"\xfc"].concat();
        assert_eq!(detect(&bytes, true), Detected::Surely(TextEncoding::UTF_8));
        assert_eq!(
            detect("Köl".as_bytes().split_last().unwrap().1, false),
            Detected::Surely(TextEncoding::UTF_8)
        );
    }

    #[test]
    fn what_is_neither_utf_8_nor_windows_1252_is_not_read_unasked() {
        let bytes = encoded("имя;город\nИван Петров;Москва\nАнна;Казань\n", "windows-1251");
        assert!(matches!(detect(&bytes, true), Detected::Perhaps(_)));
    }

    #[test]
    fn bytes_that_an_encoding_does_not_have_are_refused() {
        let error = read(b"a\x00\x00\xd8b\x00", "utf-16le".parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains("UTF-16LE"), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_survives_utf_16(text in "\\PC{0,200}", pieces in 1usize..7) {
            let text = text.repeat(pieces);
            for label in ["utf-16le", "utf-16be"] {
                let decoded = read(&encoded(&text, label), label.parse().unwrap()).unwrap();
                prop_assert_eq!(&decoded, &text);
            }
        }

        #[test]
        fn any_western_text_survives_windows_1252(text in "[ -~€äöüßÄÖÜéèêñç]{0,300}") {
            let bytes = encoded(&text, "windows-1252");
            prop_assert_eq!(read(&bytes, "windows-1252".parse().unwrap()).unwrap(), text);
        }

        #[test]
        fn valid_utf_8_is_never_taken_for_anything_else(text in "[^\0]{0,200}") {
            prop_assert_eq!(detect(text.as_bytes(), true), Detected::Surely(TextEncoding::UTF_8));
        }
    }
}
