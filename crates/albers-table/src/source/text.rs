//! Where the text of a table comes from: a file as it is, or text that is made of a file.

use std::io::Read;
use std::sync::Arc;

use albers_storage::input::{InputFile, Packing};

use super::csv::{TextPart, TextSizes, TextTable};
use super::json_lines::{JsonText, Keys};
use super::places::Places;
use super::sheet::SheetText;
use super::{Layout, ReadOptions, TextEncoding};
use crate::Result;

/// What the text of a file is.
#[derive(Clone)]
pub(super) enum TextKind {
    /// Its bytes, packed or not.
    Plain(Packing),
    /// The objects of its lines, packed or not.
    JsonLines(Packing, Arc<Keys>),
    /// A sheet of a workbook.
    Sheet(Arc<SheetText>),
}

/// A table of text, and the file that it comes from.
pub(super) struct FileText {
    table: TextTable,
    kind: TextKind,
}

impl FileText {
    /// Reads the header and the first block.
    pub(super) fn open(
        (name, file): (&str, &Arc<InputFile>),
        kind: TextKind,
        delimiter: Option<u8>,
        options: &ReadOptions,
        sizes: TextSizes,
    ) -> Result<FileText> {
        let text = kind.open(name, file, options.limit_bytes)?;
        // What is made of objects and sheets has commas between cells, and numbers of its own.
        let made = ReadOptions {
            encoding: Some(TextEncoding::UTF_8),
            numbers_are_plain: true,
            ..options.clone()
        };
        let table = match &kind {
            TextKind::Plain(_) => TextTable::open(name, text, delimiter, options, sizes)?,
            TextKind::JsonLines(..) => {
                // The keys are names.
                let options = ReadOptions { header: Some(true), ..made };
                TextTable::open(name, text, Some(b','), &options, sizes)?
            }
            TextKind::Sheet(_) => TextTable::open(name, text, Some(b','), &made, sizes)?,
        };
        let table = table.with_places(kind.places(name, file, options.limit_bytes));
        Ok(FileText { table, kind })
    }

    /// The text.
    pub(super) fn table(&self) -> &TextTable {
        &self.table
    }

    /// Its rows from the first on.
    pub(super) fn part(
        &self,
        file: &Arc<InputFile>,
        other_encoding: Option<TextEncoding>,
    ) -> Result<TextPart> {
        let limit_bytes = self.table.options().limit_bytes;
        self.table.part(other_encoding, || self.kind.open(self.table.name(), file, limit_bytes))
    }

    /// What it is laid out as.
    pub(super) fn layout(&self) -> Layout {
        match self.kind {
            TextKind::Plain(_) => Layout::Text,
            TextKind::JsonLines(..) => Layout::JsonLines,
            TextKind::Sheet(_) => Layout::Sheet,
        }
    }

    /// About how many rows it has, where the length of its file tells it.
    pub(super) fn estimated_rows(&self, file: &InputFile) -> Option<u64> {
        match &self.kind {
            TextKind::Plain(Packing::Plain) => Some(self.table.estimated_rows(file.n_bytes())),
            TextKind::Sheet(text) => Some(self.table.estimated_rows(text.file.n_bytes())),
            TextKind::Plain(_) | TextKind::JsonLines(..) => None,
        }
    }
}

impl TextKind {
    /// The text from its first byte on.
    fn open(
        &self,
        name: &str,
        file: &Arc<InputFile>,
        limit_bytes: Option<u64>,
    ) -> Result<Box<dyn Read + Send>> {
        Ok(match self {
            TextKind::Plain(packing) => file.unpacked(*packing, limit_bytes)?,
            TextKind::JsonLines(packing, keys) => {
                let input = file.unpacked(*packing, limit_bytes)?;
                Box::new(JsonText::new(name, input, keys.clone()))
            }
            TextKind::Sheet(text) => text.file.unpacked(Packing::Plain, None)?,
        })
    }

    /// What messages call its lines.
    fn places(&self, name: &str, file: &Arc<InputFile>, limit_bytes: Option<u64>) -> Places {
        match self {
            TextKind::Plain(_) => Places::default(),
            TextKind::JsonLines(packing, keys) => {
                let (name, file, packing, keys) =
                    (name.to_owned(), file.clone(), *packing, keys.clone());
                // The file is read once more: a message is worth that, a list of lines is not.
                Places::told_by(move |line| {
                    let input = file.unpacked(packing, limit_bytes).ok();
                    let own = input
                        .and_then(|input| JsonText::new(&name, input, keys.clone()).line_of(line));
                    own.map_or_else(|| "a line".to_owned(), |own| format!("line {own}"))
                })
            }
            TextKind::Sheet(text) => {
                let text = text.clone();
                Places::told_by(move |line| format!("row {}", text.row_of(line)))
            }
        }
    }
}
