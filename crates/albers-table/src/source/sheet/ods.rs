//! The cells of an `.ods` workbook, row by row.
//!
//! Cells and rows that are alike may be written once with a count: they are handed on one by one,
//! and are nowhere held together.

use std::borrow::Cow;
use std::io::{BufReader, Read};
use std::sync::Arc;

use albers_storage::input::InputFile;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::archive::{self, Archive};
use super::cell::{SheetCell, clock};
use super::xlsx::iso_moment;
use super::{MOST_COLUMNS, TakeCell, Workbook, damaged, too_long_row};
use crate::Result;
use crate::source::allowance::Allowance;

/// The longest sheet that any program writes.
const MOST_ROWS: u32 = 16_777_216;

/// A workbook.
pub(super) struct Ods<'a> {
    name: &'a str,
    archive: Archive,
    allowance: Allowance,
}

impl<'a> Ods<'a> {
    /// Opens a workbook that was measured.
    pub(super) fn open(
        name: &'a str,
        file: &Arc<InputFile>,
        allowance: Allowance,
    ) -> Result<Ods<'a>> {
        Ok(Ods { name, archive: archive::open(name, file)?, allowance })
    }

    /// Reads the sheets until `visit` wants no more: their names, and the rows of those that it
    /// wants.
    fn content(
        &mut self,
        want: &mut dyn FnMut(&str) -> Want,
        take: &mut TakeCell<'_>,
    ) -> Result<()> {
        let name = self.name;
        let part = self.archive.by_name("content.xml").map_err(|_| damaged(name, None))?;
        let mut content = Content::of(name, part, self.allowance);
        loop {
            match content.next()? {
                Some(Tag { name: Local::Table, is_start: true, attributes, .. }) => {
                    let sheet = attributes.name.unwrap_or_default();
                    if want(&sheet) == Want::Cells {
                        return content.table(take);
                    }
                }
                Some(_) => {}
                None => return Ok(()),
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum Want {
    Cells,
    Nothing,
}

impl Workbook for Ods<'_> {
    fn sheets(&mut self) -> Result<Vec<String>> {
        let mut sheets = Vec::new();
        self.content(
            &mut |sheet| {
                // What is kept of other files stands there as sheets too.
                if !sheet.is_empty() && !sheet.starts_with("'file:") {
                    sheets.push(sheet.to_owned());
                }
                Want::Nothing
            },
            &mut |_, _, _| Ok(true),
        )?;
        Ok(sheets)
    }

    fn read(&mut self, sheet: &str, take: &mut TakeCell<'_>) -> Result<()> {
        let want = &mut |own: &str| if own == sheet { Want::Cells } else { Want::Nothing };
        self.content(want, take)
    }
}

/// The elements that matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Local {
    Table,
    Row,
    Cell,
    Paragraph,
    Space,
    Tab,
    Break,
    /// What a cell shows beside its text.
    Aside,
    Other,
}

/// What the attributes of an element say.
#[derive(Debug, Clone, Default)]
struct Said {
    name: Option<String>,
    kind: Option<String>,
    value: Option<String>,
    day: Option<String>,
    time: Option<String>,
    boolean: Option<String>,
    text: Option<String>,
    is_error: bool,
    n_repeated: Option<u32>,
    n_spaces: Option<u32>,
}

/// The beginning or the end of an element; an empty one is both.
struct Tag {
    name: Local,
    is_start: bool,
    is_end: bool,
    attributes: Said,
}

/// The text of a cell. What is longer than a row may be is counted to its end, and not kept.
struct CellText {
    kept: String,
    n_bytes: u64,
    most_bytes: u64,
}

impl CellText {
    fn push_str(&mut self, text: &str) {
        self.n_bytes += text.len() as u64;
        if self.n_bytes <= self.most_bytes {
            self.kept.push_str(text);
        }
    }

    fn push(&mut self, letter: char) {
        self.push_str(letter.encode_utf8(&mut [0; 4]));
    }

    /// Gives the text and how long it is, and begins another.
    fn take(&mut self) -> (String, u64) {
        (std::mem::take(&mut self.kept), std::mem::take(&mut self.n_bytes))
    }
}

struct Content<'a, R: Read> {
    table: &'a str,
    reader: Reader<BufReader<R>>,
    buffer: Vec<u8>,
    /// Text since it was asked for.
    text: CellText,
    takes_text: bool,
    row: u32,
    allowance: Allowance,
}

impl<'a, R: Read> Content<'a, R> {
    fn of(table: &'a str, input: R, allowance: Allowance) -> Content<'a, R> {
        let reader = Reader::from_reader(BufReader::with_capacity(1 << 16, input));
        let most_bytes = allowance.record_bytes() as u64;
        let text = CellText { kept: String::new(), n_bytes: 0, most_bytes };
        Content { table, reader, buffer: Vec::new(), text, takes_text: false, row: 0, allowance }
    }

    fn fault(&self) -> crate::TableError {
        damaged(self.table, (self.row > 0).then_some(self.row))
    }

    /// The next tag; the text before it is kept if it is wanted.
    fn next(&mut self) -> Result<Option<Tag>> {
        loop {
            self.buffer.clear();
            let row = (self.row > 0).then_some(self.row);
            let event = self.reader.read_event_into(&mut self.buffer);
            match event.map_err(|_| damaged(self.table, row))? {
                Event::Start(start) => {
                    let attributes = said(&start).ok_or_else(|| damaged(self.table, row))?;
                    let name = local(start.name().as_ref());
                    return Ok(Some(Tag { name, is_start: true, is_end: false, attributes }));
                }
                Event::Empty(start) => {
                    let attributes = said(&start).ok_or_else(|| damaged(self.table, row))?;
                    let name = local(start.name().as_ref());
                    return Ok(Some(Tag { name, is_start: true, is_end: true, attributes }));
                }
                Event::End(end) => {
                    let (name, attributes) = (local(end.name().as_ref()), Said::default());
                    return Ok(Some(Tag { name, is_start: false, is_end: true, attributes }));
                }
                Event::Text(text) if self.takes_text => {
                    // Spaces that count are written as elements.
                    for letter in text.into_inner().chars() {
                        match letter.is_ascii_whitespace() {
                            true if is_blank_before(&self.text.kept) => {}
                            true => self.text.push(' '),
                            false => self.text.push(letter),
                        }
                    }
                }
                Event::CData(text) if self.takes_text => self.text.push_str(&text.into_inner()),
                Event::GeneralRef(reference) if self.takes_text => {
                    let reference = format!("&{};", reference.into_inner());
                    let text = quick_xml::escape::unescape(&reference);
                    self.text.push_str(&text.map_err(|_| damaged(self.table, row))?);
                }
                Event::Eof => return Ok(None),
                _ => {}
            }
        }
    }

    /// Hands on the cells of the table whose beginning was read.
    fn table(&mut self, take: &mut TakeCell<'_>) -> Result<()> {
        let mut depth = 1;
        loop {
            let tag = self.next()?.ok_or_else(|| self.fault())?;
            match tag.name {
                Local::Table => {
                    depth += i32::from(tag.is_start) - i32::from(tag.is_end);
                    if depth == 0 {
                        return Ok(());
                    }
                }
                Local::Row if tag.is_start && depth == 1 => {
                    let n_repeated = tag.attributes.n_repeated.unwrap_or(1);
                    let cells = if tag.is_end { Vec::new() } else { self.row()? };
                    if !self.hand_on(&cells, n_repeated, take)? {
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
    }

    /// Hands on the cells of a row as often as it stands there.
    fn hand_on(
        &mut self,
        cells: &[(u32, u32, SheetCell<'static>)],
        n_repeated: u32,
        take: &mut TakeCell<'_>,
    ) -> Result<bool> {
        let end = self.row.saturating_add(n_repeated);
        // Rows behind the last are often written as one that is repeated to the end.
        if cells.is_empty() {
            self.row = end;
            return Ok(true);
        }
        if end > MOST_ROWS {
            return Err(self.fault());
        }
        for row in self.row..end {
            for (column, n_columns, cell) in cells {
                for column in *column..column + n_columns {
                    if !take(row, column, cell.borrowed())? {
                        return Ok(false);
                    }
                }
            }
        }
        self.row = end;
        Ok(true)
    }

    /// The cells of the row whose beginning was read that are not empty: column, how many columns,
    /// and what they hold. A row that is too long is read to its end, to say what would do.
    fn row(&mut self) -> Result<Vec<(u32, u32, SheetCell<'static>)>> {
        let most_bytes = self.allowance.record_bytes() as u64;
        let mut n_bytes = 0u64;
        let mut cells = Vec::new();
        let mut column = 0u32;
        loop {
            let tag = self.next()?.ok_or_else(|| self.fault())?;
            match tag.name {
                Local::Row if tag.is_end && n_bytes > most_bytes => {
                    return Err(too_long_row(self.table, self.row, n_bytes, self.allowance));
                }
                Local::Row if tag.is_end => return Ok(cells),
                Local::Cell if tag.is_start => {
                    let (text, n_text) = if tag.is_end { Default::default() } else { self.cell()? };
                    let n_repeated = tag.attributes.n_repeated.unwrap_or(1);
                    let end = column.saturating_add(n_repeated);
                    if let Some(cell) = cell_of(tag.attributes, text).ok_or_else(|| self.fault())? {
                        if end > MOST_COLUMNS {
                            return Err(self.fault());
                        }
                        let n_own = cell.n_bytes().max(n_text) * u64::from(n_repeated);
                        n_bytes = n_bytes.saturating_add(n_own);
                        if n_bytes <= most_bytes {
                            cells.push((column, n_repeated, cell));
                        }
                    }
                    column = end;
                }
                _ => {}
            }
        }
    }

    /// The text of the cell whose beginning was read, its paragraphs on lines of their own, and how
    /// long it is; what somebody remarked about it, and what is drawn there, is no part of it.
    fn cell(&mut self) -> Result<(String, u64)> {
        self.text.take();
        let (mut n_paragraphs, mut is_in_paragraph, mut n_aside) = (0, false, 0u32);
        loop {
            let tag = self.next()?.ok_or_else(|| self.fault())?;
            if tag.name == Local::Aside {
                n_aside += u32::from(tag.is_start);
                n_aside -= u32::from(tag.is_end).min(n_aside);
                self.takes_text = is_in_paragraph && n_aside == 0;
                continue;
            }
            if n_aside > 0 {
                continue;
            }
            match tag.name {
                Local::Cell if tag.is_end => {
                    self.takes_text = false;
                    return Ok(self.text.take());
                }
                Local::Paragraph => {
                    if tag.is_start && n_paragraphs > 0 {
                        self.text.push('\n');
                    }
                    n_paragraphs += u32::from(tag.is_start);
                    is_in_paragraph = !tag.is_end;
                    self.takes_text = is_in_paragraph;
                }
                Local::Space if tag.is_start => {
                    let n_spaces = tag.attributes.n_spaces.unwrap_or(1).min(1 << 15);
                    self.text.push_str(&" ".repeat(n_spaces as usize));
                }
                Local::Tab if tag.is_start => self.text.push('\t'),
                Local::Break if tag.is_start => self.text.push('\n'),
                _ => {}
            }
        }
    }
}

/// Whether a blank behind this text is one too many.
fn is_blank_before(text: &str) -> bool {
    text.is_empty() || text.ends_with([' ', '\n'])
}

fn local(name: &str) -> Local {
    match name {
        "table:table" => Local::Table,
        "table:table-row" => Local::Row,
        "table:table-cell" | "table:covered-table-cell" => Local::Cell,
        "text:p" => Local::Paragraph,
        "text:s" => Local::Space,
        "text:tab" => Local::Tab,
        "text:line-break" => Local::Break,
        "office:annotation" => Local::Aside,
        drawn if drawn.starts_with("draw:") => Local::Aside,
        _ => Local::Other,
    }
}

/// What the attributes of an element say; nothing if they are damaged.
fn said(start: &BytesStart<'_>) -> Option<Said> {
    let mut said = Said::default();
    for attribute in start.attributes().with_checks(false) {
        let attribute = attribute.ok()?;
        let value = || quick_xml::escape::unescape(&attribute.value).ok().map(Cow::into_owned);
        match attribute.key.as_ref() {
            "table:name" => said.name = Some(value()?),
            "office:value-type" => said.kind = Some(value()?),
            "office:value" => said.value = Some(value()?),
            "office:date-value" => said.day = Some(value()?),
            "office:time-value" => said.time = Some(value()?),
            "office:boolean-value" => said.boolean = Some(value()?),
            "office:string-value" => said.text = Some(value()?),
            "calcext:value-type" => said.is_error = value()? == "error",
            "table:number-columns-repeated" | "table:number-rows-repeated" => {
                // What stands there no time at all would vanish without a word.
                said.n_repeated = Some(value()?.parse().ok().filter(|&times: &u32| times > 0)?);
            }
            "text:c" => said.n_spaces = Some(value()?.parse().ok()?),
            _ => {}
        }
    }
    Some(said)
}

/// What a cell holds, if anything; nothing at all if it is damaged.
fn cell_of(said: Said, text: String) -> Option<Option<SheetCell<'static>>> {
    if said.is_error {
        const SHOWN: [&str; 7] =
            ["#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"];
        let shown = SHOWN.into_iter().find(|own| *own == text).unwrap_or("#ERROR!");
        return Some(Some(SheetCell::Error(shown)));
    }
    let cell = match said.kind.as_deref() {
        Some("float" | "percentage" | "currency") => {
            SheetCell::Number(said.value?.parse().ok().filter(|number: &f64| number.is_finite())?)
        }
        Some("date") => iso_moment(&said.day?),
        Some("time") => SheetCell::Text(Cow::Owned(clock(seconds_of(&said.time?)?))),
        Some("boolean") => SheetCell::Boolean(said.boolean? == "true"),
        _ => SheetCell::Text(Cow::Owned(said.text.filter(|own| !own.is_empty()).unwrap_or(text))),
    };
    Some(Some(cell).filter(|cell| !cell.is_empty()))
}

/// The seconds of a length of time such as `PT12H34M56.5S`.
fn seconds_of(text: &str) -> Option<f64> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let (days, time) = text.strip_prefix('P')?.split_once('T')?;
    let days: f64 = match days.strip_suffix('D') {
        Some(days) => days.parse().ok()?,
        None => 0.0,
    };
    let mut seconds = days * 86_400.0;
    let mut rest = time;
    // Letters such as those of infinity are numbers elsewhere.
    let is_number = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ',' | '-');
    for (letter, factor) in [('H', 3600.0), ('M', 60.0), ('S', 1.0)] {
        if let Some((number, behind)) = rest.split_once(letter) {
            let number = Some(number).filter(|number| number.chars().all(is_number))?;
            seconds += number.replace(',', ".").parse::<f64>().ok()? * factor;
            rest = behind;
        }
    }
    Some(sign * seconds).filter(|seconds| rest.is_empty() && seconds.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_counted_in_seconds() {
        assert_eq!(seconds_of("PT12H34M56.5S"), Some(45_296.5));
        assert_eq!(seconds_of("PT00H01M00S"), Some(60.0));
        assert_eq!(seconds_of("-P1DT0H"), Some(-86_400.0));
        for damaged in ["noon", "PTnanH0M0S", "PT0HinfM0S", "PinfDT0H", "PT12", "PT1H2"] {
            assert_eq!(seconds_of(damaged), None, "{damaged}");
        }
    }
}
