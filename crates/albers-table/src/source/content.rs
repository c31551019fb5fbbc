//! What a file is, told by its first bytes as well as by its name.

use std::io::{Cursor, Read};
use std::path::Path;

use albers_storage::input::{InputFile, Packing, unpacked};
use albers_storage::wording;
use albers_storage::wording::Field;

use super::foreign::Foreign;
use super::{json_lines, sheet, table_error};
use crate::format::{Format, ending_of, packed_parquet};
use crate::{Result, TableError};

/// Bytes at the beginning of a file that are looked at, and as many unpacked ones.
const HEAD_BYTES: usize = 16 << 10;

/// The bytes with which every Parquet file begins.
pub(super) const PARQUET_MAGIC: &[u8] = b"PAR1";

/// The bytes with which archives of zip begin, and so workbooks.
pub(super) const ZIP_MAGIC: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// The bytes with which compound files begin.
const COMPOUND_MAGIC: &[u8] = &[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/// How a file is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Content {
    /// What it holds.
    pub(super) format: Format,
    /// How it is packed.
    pub(super) packing: Packing,
}

impl Content {
    /// Of a file, whose format may be given; what is no table is refused as what it is.
    pub(super) fn of(
        (name, path): (&str, &Path),
        file: &InputFile,
        given: Option<Format>,
    ) -> Result<Content> {
        let head = file.first_bytes(HEAD_BYTES)?;
        let packing = match Packing::of(path) {
            Packing::Plain => Packing::of_content(&head),
            told => told,
        };
        let head = unpacked_head(head, packing);
        let ending = ending_of(path, Packing::of(path));
        if head.starts_with(COMPOUND_MAGIC) && given != Some(Format::Parquet) {
            return Err(compound(name, file));
        }
        if is_zip_archive(&head) && packing != Packing::Plain {
            return Err(table_error(
                name,
                "a workbook or archive is packed again",
                "unpack it first",
            ));
        }
        let format = match given {
            Some(given) => check_given(name, &head, given)?,
            None => told(name, path, ending.as_deref(), &head)?,
        };
        if format == Format::Parquet && packing != Packing::Plain {
            return Err(packed_parquet(path, "unpack it first"));
        }
        Ok(Content { format, packing })
    }
}

fn is_zip_archive(head: &[u8]) -> bool {
    ZIP_MAGIC.iter().any(|magic| head.starts_with(magic))
}

/// Refuses a compound file, which old programs of Office write, and new ones to encrypt.
fn compound(name: &str, file: &InputFile) -> TableError {
    const LOOKED_AT_BYTES: usize = 32 << 20;
    let bytes = file.first_bytes(LOOKED_AT_BYTES).unwrap_or_default();
    let holds = |part: &str| {
        let wide: Vec<u8> = part.encode_utf16().flat_map(u16::to_le_bytes).collect();
        memchr::memmem::find(&bytes, &wide).is_some()
    };
    if holds("EncryptedPackage") {
        return sheet::encrypted(name);
    }
    let ending = if holds("WordDocument") { "doc" } else { "xls" };
    Foreign::of_ending(ending).expect("it is known").refuse(name)
}

/// What the first bytes unpack to, as far as they do.
fn unpacked_head(head: Vec<u8>, packing: Packing) -> Vec<u8> {
    if packing == Packing::Plain {
        return head;
    }
    let mut first = Vec::new();
    if let Ok(reader) = unpacked(Cursor::new(head), packing, None) {
        // The end of what was looked at is no end of what is packed: it may fail there.
        let _ = reader.take(HEAD_BYTES as u64).read_to_end(&mut first);
    }
    first
}

/// The format by first bytes and ending, where none is given.
fn told(name: &str, path: &Path, ending: Option<&str>, head: &[u8]) -> Result<Format> {
    if head.starts_with(PARQUET_MAGIC) {
        return Ok(Format::Parquet);
    }
    if is_zip_archive(head) {
        return Ok(Format::Sheet);
    }
    if let Some(foreign) = Foreign::of_content(head) {
        return Err(foreign.refuse(name));
    }
    // Text under the ending of a spreadsheet is common, and is read as text.
    let is_utf_16 = [b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| head.starts_with(*mark));
    let is_text = is_utf_16 || !head.contains(&0);
    match ending {
        Some("xls" | "xlsx" | "ods" | "xlsb" | "db" | "doc") if is_text => Ok(Format::Csv),
        Some(ending) if Foreign::of_ending(ending).is_some() => {
            Err(Foreign::of_ending(ending).expect("just found").refuse(name))
        }
        _ => Format::for_reading(path),
    }
}

/// The format that is given, unless the first bytes say that it cannot be.
fn check_given(name: &str, head: &[u8], given: Format) -> Result<Format> {
    let is_zip = is_zip_archive(head);
    let is_parquet = head.starts_with(PARQUET_MAGIC);
    match given {
        Format::Parquet => return Ok(given),
        Format::Sheet if is_zip => return Ok(given),
        _ => {}
    }
    if let Some(foreign) = Foreign::of_content(head) {
        return Err(foreign.refuse(name));
    }
    let truly = match (is_parquet, is_zip) {
        (true, _) => Some(("Parquet", Format::Parquet)),
        (_, true) => Some(("a spreadsheet or an archive of zip", Format::Sheet)),
        _ => None,
    };
    match (truly, given) {
        (Some((what, truly)), _) => Err(table_error(
            name,
            format!("this is {what}, not {given}"),
            wording!["drop ", Field::From, ", or say ", Field::From.of(truly.to_string())],
        )),
        (None, Format::Sheet) => Err(table_error(
            name,
            "this is no spreadsheet of .xlsx or .ods",
            wording!["drop ", Field::From, ", or say what it is"],
        )),
        (None, Format::JsonLines) if head.trim_ascii_start().starts_with(b"[") => {
            Err(json_lines::json_array(name))
        }
        (None, given) => Ok(given),
    }
}
