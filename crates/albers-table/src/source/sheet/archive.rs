//! What the container of a workbook really unpacks to, told by unpacking it into nothing.
//!
//! What a container says of the sizes of its parts is not believed: they are unpacked and counted
//! before anything else is made of them. A container that unpacks to hundreds of times its size is
//! not looked at any further.

use std::io::{BufReader, Read};
use std::sync::Arc;

use albers_storage::input::{InputFile, InputReader};
use zip::ZipArchive;

use super::{damaged, directory};
use crate::source::allowance::Allowance;
use crate::source::foreign::Foreign;
use crate::source::table_error;
use crate::{Result, TableError};

/// Bytes of memory for each byte of a part that is kept: texts that cells share are kept one by
/// one, of which the shortest take the most.
const KEPT_FACTOR: u64 = 4;

/// Unpacked bytes for each packed one beyond which nobody looks on, and what is always looked at.
/// Deflate cannot do more than 1032; rows that are all alike come to 250.
const MOST_RATIO: u64 = 400;
const ALWAYS_BYTES: u64 = 64 << 20;

/// More parts than any workbook has.
const MOST_PARTS: usize = 65_536;

/// What a workbook is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Office Open XML.
    Xlsx,
    /// OpenDocument.
    Ods,
}

/// What a container unpacks to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) kind: Kind,
    /// Bytes of the parts that are read row by row.
    streamed_bytes: u64,
    /// The longest stretch of these that is in memory at a time.
    stretch_bytes: u64,
    /// Bytes of the other parts.
    kept_bytes: u64,
    /// Whether all of it was unpacked.
    pub(super) is_whole: bool,
}

impl Measured {
    /// The budget within which it is read.
    pub(super) fn needed_bytes(&self) -> u64 {
        match self.is_whole {
            true => {
                let kept = self.kept_bytes.saturating_add(self.stretch_bytes);
                self.streamed_bytes.saturating_add(kept.saturating_mul(KEPT_FACTOR))
            }
            false => u64::MAX,
        }
    }
}

/// The parts of a container, by any thread that reads them.
pub(super) type Archive = ZipArchive<BufReader<InputReader>>;

/// Opens a container.
pub(super) fn open(name: &str, file: &Arc<InputFile>) -> Result<Archive> {
    ZipArchive::new(BufReader::new(file.reader_at(0))).map_err(|_| damaged(name, None))
}

/// Unpacks all parts of a container into nothing.
pub(super) fn measure(name: &str, file: &Arc<InputFile>, allowance: Allowance) -> Result<Measured> {
    directory::check(name, file, allowance)?;
    let mut archive = open(name, file)?;
    if archive.len() > MOST_PARTS {
        return Err(damaged(name, None));
    }
    let kind = kind_of(name, &mut archive)?;
    let most_bytes = file.n_bytes().saturating_mul(MOST_RATIO).max(ALWAYS_BYTES);
    let mut measured =
        Measured { kind, streamed_bytes: 0, stretch_bytes: 0, kept_bytes: 0, is_whole: true };
    for part_idx in 0..archive.len() {
        let part = archive.by_index(part_idx).map_err(|_| damaged(name, None))?;
        let part_name = part.name().map_err(|_| damaged(name, None))?.into_owned();
        let n_before = measured.streamed_bytes.saturating_add(measured.kept_bytes);
        let part = Part::of(name, &part_name, part.take(most_bytes - n_before + 1))?;
        match use_of(kind, &part_name.to_ascii_lowercase()) {
            Use::Kept => measured.kept_bytes += part.n_bytes,
            Use::Streamed => {
                measured.streamed_bytes += part.n_bytes;
                measured.stretch_bytes = measured.stretch_bytes.max(part.stretch_bytes);
            }
            Use::Unread => measured.streamed_bytes += part.n_bytes,
        }
        if n_before + part.n_bytes > most_bytes {
            return Ok(Measured { is_whole: false, ..measured });
        }
    }
    Ok(measured)
}

/// What is done with a part.
enum Use {
    /// It is in memory as a whole.
    Kept,
    /// It is read row by row.
    Streamed,
    /// Nothing, as with pictures.
    Unread,
}

fn use_of(kind: Kind, part: &str) -> Use {
    let is_xml = part.ends_with(".xml") || part.ends_with(".rels");
    match kind {
        _ if !is_xml => Use::Unread,
        Kind::Xlsx if part.contains("worksheets/") => Use::Streamed,
        Kind::Xlsx => Use::Kept,
        Kind::Ods => Use::Streamed,
    }
}

/// What was seen of a part.
struct Part {
    n_bytes: u64,
    stretch_bytes: u64,
}

impl Part {
    /// Reads a part to its end, or to that of its limit.
    fn of(name: &str, part: &str, mut input: impl Read) -> Result<Part> {
        let mut piece = vec![0; 1 << 16];
        let mut seen = Part { n_bytes: 0, stretch_bytes: 0 };
        let mut stretch_bytes = 0;
        let mut head = Vec::new();
        let is_shared = part.to_ascii_lowercase().ends_with("sharedstrings.xml");
        loop {
            let n_read = match input.read(&mut piece) {
                Ok(0) => break,
                Ok(n_read) => n_read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => return Err(damaged(name, None)),
            };
            let bytes = &piece[..n_read];
            if seen.n_bytes == 0 && part.ends_with(".xml") && !is_xml_of_bytes(bytes) {
                return Err(damaged(name, None));
            }
            seen.n_bytes += n_read as u64;
            let mut start = 0;
            for at in memchr::memchr_iter(b'<', bytes) {
                seen.stretch_bytes = seen.stretch_bytes.max(stretch_bytes + (at - start) as u64);
                (stretch_bytes, start) = (0, at);
            }
            stretch_bytes += (n_read - start) as u64;
            seen.stretch_bytes = seen.stretch_bytes.max(stretch_bytes);
            if is_shared && head.len() < 1 << 20 {
                head.extend_from_slice(bytes);
            }
        }
        // The number of texts is believed by the library before it has seen any.
        match is_shared && claimed_texts(&head).is_none_or(|n_texts| n_texts > seen.n_bytes) {
            true => Err(damaged(name, None)),
            false => Ok(seen),
        }
    }
}

/// Whether a part is no XML in letters of two bytes, of which no program makes workbooks.
fn is_xml_of_bytes(first: &[u8]) -> bool {
    !matches!(first, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'<', 0, ..] | [0, b'<', ..])
}

/// How many texts a part claims to have; nothing if it claims what is no number.
fn claimed_texts(head: &[u8]) -> Option<u64> {
    let end = memchr::memmem::find(head, b"<si").unwrap_or(head.len());
    let head = &head[..end];
    let Some(at) = memchr::memmem::rfind(head, b"uniqueCount") else { return Some(0) };
    let rest = std::str::from_utf8(&head[at + b"uniqueCount".len()..]).ok()?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    rest[1..].split(quote).next()?.parse().ok()
}

/// What a container holds, told by the names of its parts.
fn kind_of(name: &str, archive: &mut Archive) -> Result<Kind> {
    let refuse = |ending: &str| Foreign::of_ending(ending).expect("it is known").refuse(name);
    let is_encrypted = (0..archive.len())
        .any(|part_idx| archive.by_index_raw(part_idx).is_ok_and(|part| part.encrypted()));
    let names: Vec<String> =
        archive.file_names().filter_map(|own| own.ok().map(|own| own.to_lowercase())).collect();
    let has = |part: &str| names.iter().any(|own| own == part);
    let begins = |with: &str| names.iter().any(|own| own.starts_with(with));
    if is_encrypted && !has("xl/workbook.xml") && !has("content.xml") {
        return Err(refuse("zip"));
    }
    if is_encrypted || is_encrypted_ods(archive) {
        return Err(encrypted(name));
    }
    if has("xl/workbook.xml") {
        Ok(Kind::Xlsx)
    } else if has("content.xml") && (mimetype(archive).contains("spreadsheet")) {
        Ok(Kind::Ods)
    } else if has("xl/workbook.bin") {
        Err(refuse("xlsb"))
    } else if begins("word/") || begins("ppt/") || has("content.xml") {
        Err(refuse("docx"))
    } else {
        Err(refuse("zip"))
    }
}

/// Refuses a workbook that is locked.
pub(in crate::source) fn encrypted(name: &str) -> TableError {
    table_error(
        name,
        "the workbook is encrypted",
        "open it with its password, and save it without one or as CSV",
    )
}

fn mimetype(archive: &mut Archive) -> String {
    text_of(archive, "mimetype", 256)
}

/// Whether the list of parts names a way of encryption.
fn is_encrypted_ods(archive: &mut Archive) -> bool {
    text_of(archive, "META-INF/manifest.xml", 1 << 20).contains("encryption-data")
}

/// The beginning of a part; nothing where there is none.
fn text_of(archive: &mut Archive, part: &str, most_bytes: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(part) = archive.by_name(part) {
        // A part that cannot be read is found damaged later.
        let _ = part.take(most_bytes).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_number_of_texts_is_read_wherever_it_stands_before_them() {
        let claims = |head: &str| claimed_texts(head.as_bytes());
        assert_eq!(claims("<sst count=\"3\" uniqueCount=\"2\"><si>"), Some(2));
        assert_eq!(claims("<sst uniqueCount = '99999999999'>"), Some(99_999_999_999));
        assert_eq!(claims("<sst><si><t>uniqueCount=\"7\"</t></si>"), Some(0));
        assert_eq!(claims("<sst uniqueCount=\"many\">"), None);
    }
}
