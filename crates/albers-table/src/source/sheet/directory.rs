//! The list of the parts of a container, which stands at its end and is in memory as a whole.
//!
//! ```text
//!   parts ... │ list of parts │ (its end in 64 bits) │ its end: how long it is │ a remark
//! ```
//!
//! Guarantee: a list is refused before it takes more memory than it may. What its end says of its
//! length is believed only as far as the list is read then: one that goes on is damaged.
//! Cost: the list is read once more, and no part.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use albers_storage::input::{InputFile, InputReader};
use zip::ZipArchive;

use super::damaged;
use crate::Result;
use crate::source::allowance::Allowance;

/// The first bytes of the end of a list, and of what stands before it where numbers need 64 bits.
const END: &[u8] = b"PK\x05\x06";
const PLACE_OF_WIDE_END: &[u8] = b"PK\x06\x07";
const WIDE_END: &[u8] = b"PK\x06\x06";

/// How often the list may be read while the archive is opened, and what is read beside it.
const MOST_TIMES: u64 = 4;
const BESIDE_BYTES: u64 = 1 << 20;

/// Refuses a container whose list of parts takes more than it may, and one that has none.
pub(super) fn check(name: &str, file: &Arc<InputFile>, allowance: Allowance) -> Result<()> {
    let n_bytes = announced_bytes(file).ok_or_else(|| damaged(name, None))?;
    allowance.check_parts(n_bytes)?;
    let n_left = n_bytes.saturating_mul(MOST_TIMES).saturating_add(BESIDE_BYTES);
    let limited = Limited { input: file.reader_at(0), n_left };
    ZipArchive::new(BufReader::new(limited)).map(drop).map_err(|_| damaged(name, None))
}

/// How long the list is by what its end says; nothing where there is no end.
fn announced_bytes(file: &InputFile) -> Option<u64> {
    /// Bytes of the end before its remark, and of the place of the wide end, which is before it.
    const END_BYTES: usize = 22;
    const PLACE_BYTES: usize = 20;
    const MOST_BYTES: usize = END_BYTES + PLACE_BYTES + u16::MAX as usize;
    let n_last = file.n_bytes().min(MOST_BYTES as u64) as usize;
    let mut last = vec![0; n_last];
    file.read_at(file.n_bytes() - n_last as u64, &mut last).ok()?;
    let ends = &last[..n_last.checked_sub(END_BYTES - END.len())?];
    let at = memchr::memmem::rfind(ends, END)?;
    let told = u64::from(u32::from_le_bytes(*last[at + 12..].first_chunk()?));
    let wide = at.checked_sub(PLACE_BYTES).and_then(|place| wide_bytes(file, &last[place..at]));
    let n_bytes = match told == u64::from(u32::MAX) {
        true => wide.unwrap_or(told),
        false => told.max(wide.unwrap_or(0)),
    };
    // No list is longer than its file.
    Some(n_bytes.min(file.n_bytes()))
}

/// The same by the wide end, if this is the place of one.
fn wide_bytes(file: &InputFile, place: &[u8]) -> Option<u64> {
    let place = place.strip_prefix(PLACE_OF_WIDE_END)?;
    let at = u64::from_le_bytes(*place.get(4..)?.first_chunk()?);
    let mut end = [0; 48];
    file.read_at(at, &mut end).ok()?;
    end.starts_with(WIDE_END).then_some(())?;
    Some(u64::from_le_bytes(*end[40..].first_chunk()?))
}

/// A reader that gives no more than so many bytes, wherever it is asked to read.
struct Limited {
    input: InputReader,
    n_left: u64,
}

impl Read for Limited {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n_most = usize::try_from(self.n_left).unwrap_or(usize::MAX).min(bytes.len());
        if n_most == 0 && !bytes.is_empty() {
            return Err(io::Error::other("the list of parts goes on behind its end"));
        }
        let n_read = self.input.read(&mut bytes[..n_most])?;
        self.n_left -= n_read as u64;
        Ok(n_read)
    }
}

impl Seek for Limited {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.input.seek(to)
    }
}
