//! The cells of an `.xlsx` workbook.

use std::borrow::Cow;
use std::io::BufReader;
use std::sync::Arc;

use albers_storage::decoding::guarded;
use albers_storage::input::{InputFile, InputReader};
use calamine::{DataRef, ExcelDateTime, Reader as _, SheetType, Xlsx as Library};

use super::cell::{SheetCell, clock};
use super::{TakeCell, Workbook, damaged};
use crate::Result;

const SECONDS_PER_DAY: f64 = 86_400.0;

/// A workbook, whose shared texts and styles are in memory.
pub(super) struct Xlsx<'a> {
    name: &'a str,
    library: Library<BufReader<InputReader>>,
}

impl<'a> Xlsx<'a> {
    /// Opens a workbook that was measured.
    pub(super) fn open(name: &'a str, file: &Arc<InputFile>) -> Result<Xlsx<'a>> {
        let library = Library::new(BufReader::new(file.reader_at(0)));
        Ok(Xlsx { name, library: library.map_err(|_| damaged(name, None))? })
    }
}

impl Workbook for Xlsx<'_> {
    fn sheets(&mut self) -> Result<Vec<String>> {
        let sheets = self.library.sheets_metadata().iter();
        let sheets = sheets.filter(|sheet| sheet.typ == SheetType::WorkSheet);
        Ok(sheets.map(|sheet| sheet.name.clone()).collect())
    }

    fn read(&mut self, sheet: &str, take: &mut TakeCell<'_>) -> Result<()> {
        let name = self.name;
        let mut cells =
            self.library.worksheet_cells_reader(sheet).map_err(|_| damaged(name, None))?;
        let mut last = None;
        loop {
            let row_of_last = || last.map(|(row, _)| row);
            // The library computes with numbers of a damaged file as they are.
            let next = guarded(|| cells.next_cell());
            let cell = match next {
                Ok(Ok(Some(cell))) => cell,
                Ok(Ok(None)) => break,
                Ok(Err(_)) | Err(_) => return Err(damaged(name, row_of_last())),
            };
            let (row, column) = cell.get_position();
            // Two cells in one place would be one person instead of two.
            if last.is_some_and(|last| last >= (row, column)) {
                return Err(damaged(name, Some(row)));
            }
            last = Some((row, column));
            let Some(cell) = cell_of(cell.get_value()) else { continue };
            if !cell.is_empty() && !take(row, column, cell)? {
                return Ok(());
            }
        }
        // Behind the end of the rows there is no cell and no other end, but only that of the sheet:
        // rows behind it would be persons that nobody misses.
        match guarded(|| cells.next_cell()) {
            Ok(Ok(_)) => Err(damaged(name, last.map(|(row, _)| row))),
            Ok(Err(_)) | Err(_) => Ok(()),
        }
    }
}

fn cell_of<'c>(value: &'c DataRef<'_>) -> Option<SheetCell<'c>> {
    Some(match value {
        DataRef::Empty => return None,
        DataRef::Int(number) => SheetCell::Text(Cow::Owned(number.to_string())),
        DataRef::Float(number) => SheetCell::Number(*number),
        DataRef::String(text) => SheetCell::Text(Cow::Borrowed(text)),
        DataRef::SharedString(text) => SheetCell::Text(Cow::Borrowed(text)),
        DataRef::Bool(value) => SheetCell::Boolean(*value),
        DataRef::DateTime(moment) => moment_of(moment),
        DataRef::DateTimeIso(text) => iso_moment(text),
        DataRef::DurationIso(text) => SheetCell::Text(Cow::Borrowed(text)),
        DataRef::Error(error) => SheetCell::Error(shown(error)),
    })
}

/// A number of days that is shown as a date, a time or a length of time.
fn moment_of(moment: &ExcelDateTime) -> SheetCell<'static> {
    let days = moment.as_f64();
    // A time without a day is a part of the day before the first.
    if moment.is_duration() || (0.0..1.0).contains(&days) {
        return SheetCell::Text(Cow::Owned(clock(days * SECONDS_PER_DAY)));
    }
    let (year, month, day, hours, minutes, seconds, milliseconds) = moment.to_ymd_hms_milli();
    let whole = u32::from(hours) * 3600 + u32::from(minutes) * 60 + u32::from(seconds);
    let seconds = f64::from(whole) + f64::from(milliseconds) / 1000.0;
    SheetCell::Moment {
        day: format!("{year:04}-{month:02}-{day:02}"),
        time: (seconds > 0.0).then(|| clock(seconds)),
    }
}

/// A date as text, perhaps with a time of day behind it.
pub(super) fn iso_moment(text: &str) -> SheetCell<'static> {
    let text = text.trim();
    let text = text.strip_suffix('Z').unwrap_or(text);
    match text.split_once('T') {
        Some((day, time)) => {
            let time = match time.contains('.') {
                true => time.trim_end_matches('0').trim_end_matches('.'),
                false => time,
            };
            let is_midnight = time.bytes().all(|byte| matches!(byte, b'0' | b':'));
            let time = (!is_midnight).then(|| time.to_owned());
            SheetCell::Moment { day: day.to_owned(), time }
        }
        None => SheetCell::Moment { day: text.to_owned(), time: None },
    }
}

/// What a cell with an error shows.
fn shown(error: &calamine::CellErrorType) -> &'static str {
    use calamine::CellErrorType as Error;
    match error {
        Error::Div0 => "#DIV/0!",
        Error::NA => "#N/A",
        Error::Name => "#NAME?",
        Error::Null => "#NULL!",
        Error::Num => "#NUM!",
        Error::Ref => "#REF!",
        Error::Value => "#VALUE!",
        _ => "#ERROR!",
    }
}
