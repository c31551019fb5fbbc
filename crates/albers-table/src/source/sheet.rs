//! A sheet of a workbook, turned into delimited text for the text reader.
//!
//! ```text
//!   workbook ──archive──► unpacked and counted, within the budget
//!       │
//!       └──xlsx, ods──► cells, row by row ──first pass──► where the table lies, which columns
//!                                │                         hold times of day
//!                                └──────second pass──────► records in a file without a name
//! ```
//!
//! - `archive`: what the container really unpacks to. `directory`: the list of its parts.
//! - `xlsx`, `ods`: the cells of a sheet.
//! - `cell`: one cell as text.
//!
//! Guarantee: a workbook is refused before it takes more memory or more disk than it may, whatever
//! it says of its own sizes.
//! Cost: the container is unpacked once to be counted, and a sheet twice to be read; memory for the
//! texts that cells share and for one row.

mod archive;
mod cell;
mod directory;
mod ods;
mod xlsx;

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use albers_storage::decoding::guarded;
use albers_storage::input::InputFile;
use albers_storage::scratch::ScratchFile;
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};

pub(super) use self::archive::encrypted;
use self::archive::{Kind, Measured};
use self::cell::SheetCell;
use self::ods::Ods;
use self::xlsx::Xlsx;
use super::allowance::{Allowance, LONGEST_RECORD_BYTES};
use super::unchanged::changed;
use super::{ReadOptions, table_error};
use crate::sink::push_text;
use crate::{Result, TableError};

/// The widest sheet that any program writes.
const MOST_COLUMNS: u32 = 16_384;
/// What the memory of a cell may have to be kept for the next row.
const KEPT_BYTES: usize = 1 << 10;
/// Names of sheets that a message lists. Of more sheets each may be about one person, and be named so.
const MOST_NAMES: usize = 3;

/// The text of a sheet, in a file without a name.
pub(super) struct SheetText {
    /// The text.
    pub(super) file: Arc<InputFile>,
    /// The rows of the sheet, where they are not one line after another: a line of the text from
    /// which on this many are to be added to its number, or taken away.
    shifts: Vec<(u64, i64)>,
}

impl SheetText {
    /// The text of the one sheet that is asked for.
    pub(super) fn of(
        name: &str,
        file: &Arc<InputFile>,
        options: &ReadOptions,
    ) -> Result<SheetText> {
        let text = guarded(|| SheetText::decoded(name, file, options));
        text.unwrap_or_else(|_| Err(damaged(name, None)))
    }

    fn decoded(name: &str, file: &Arc<InputFile>, options: &ReadOptions) -> Result<SheetText> {
        let limit_bytes = options.limit_bytes.unwrap_or(u64::MAX);
        let allowance = Allowance::of(options);
        let measured = archive::measure(name, file, allowance)?;
        if measured.needed_bytes() > limit_bytes {
            return Err(too_large(name, measured));
        }
        let mut workbook: Box<dyn Workbook> = match measured.kind {
            Kind::Xlsx => Box::new(Xlsx::open(name, file)?),
            Kind::Ods => Box::new(Ods::open(name, file, allowance)?),
        };
        let sheet = chosen(name, workbook.as_mut(), options.sheet.as_deref())?;
        let area = Area::of(name, workbook.as_mut(), &sheet, (limit_bytes, allowance))?;
        let folder = options.folder.clone().unwrap_or_else(std::env::temp_dir);
        let mut text = TextWriter::new(name, &folder, area, (limit_bytes, options))?;
        workbook.read(&sheet, &mut |row, column, cell| text.take(row, column, &cell))?;
        text.finish()
    }

    /// The row of the sheet that begins at a line of the text, from 1 on.
    pub(super) fn row_of(&self, line: u64) -> u64 {
        let after = self.shifts.partition_point(|&(from, _)| from <= line);
        let shift = after.checked_sub(1).map_or(0, |at| self.shifts[at].1);
        line.saturating_add_signed(shift)
    }
}

/// What takes the cells of a sheet: row and column from 0 on; says whether it wants more.
type TakeCell<'a> = dyn FnMut(u32, u32, SheetCell<'_>) -> Result<bool> + 'a;

/// Sheets with cells.
trait Workbook {
    /// The names of its sheets, in their order.
    fn sheets(&mut self) -> Result<Vec<String>>;

    /// Hands on the cells of a sheet that are not empty, row by row.
    fn read(&mut self, sheet: &str, take: &mut TakeCell<'_>) -> Result<()>;
}

/// The sheet that is asked for, or the only one that holds anything.
fn chosen(name: &str, workbook: &mut dyn Workbook, asked: Option<&str>) -> Result<String> {
    let sheets = workbook.sheets()?;
    let listed = |sheets: &[String]| {
        let names: Vec<String> = sheets.iter().map(|own| format!("'{own}'")).collect();
        (sheets.len() <= MOST_NAMES).then(|| names.join(", "))
    };
    if let Some(asked) = asked {
        return match sheets.iter().any(|own| own == asked) {
            true => Ok(asked.to_owned()),
            false => Err(table_error(
                name,
                format!("there is no sheet '{asked}'"),
                match listed(&sheets) {
                    Some(names) => format!("the sheets are {names}"),
                    None => format!("there are {} sheets with other names", sheets.len()),
                },
            )),
        };
    }
    let mut filled = Vec::new();
    for sheet in sheets {
        let mut has_cell = false;
        workbook.read(&sheet, &mut |_, _, _| {
            has_cell = true;
            Ok(false)
        })?;
        if has_cell {
            filled.push(sheet);
        }
    }
    match filled.len() {
        0 => Err(empty(name)),
        1 => Ok(filled.remove(0)),
        _ => Err(table_error(
            name,
            match listed(&filled) {
                Some(names) => format!("several sheets hold something: {names}"),
                None => format!("{} sheets hold something", filled.len()),
            },
            wording!["name one with ", Field::Sheet.of("NAME")],
        )),
    }
}

fn empty(name: &str) -> TableError {
    table_error(
        name,
        "the sheet is empty",
        "a table needs a first row with the column names and at least one more",
    )
}

/// Where the table lies in its sheet.
struct Area {
    columns: (u32, u32),
    /// Of each column whether a cell of it is a date with a time of day.
    has_times: Vec<bool>,
}

impl Area {
    fn of(
        name: &str,
        workbook: &mut dyn Workbook,
        sheet: &str,
        (limit_bytes, allowance): (u64, Allowance),
    ) -> Result<Area> {
        let mut n_bytes = 0u64;
        let mut row_bytes = RowBytes::new(name, allowance);
        let mut columns: Option<(u32, u32)> = None;
        let mut has_times: Vec<bool> = Vec::new();
        workbook.read(sheet, &mut |row, column, cell| {
            if column >= MOST_COLUMNS {
                return Err(damaged(name, Some(row)));
            }
            // Cells that are written once and repeated, or refer to one text, take no time to be
            // packed, but here.
            row_bytes.count(row, &cell)?;
            n_bytes = n_bytes.saturating_add(cell.n_bytes());
            if n_bytes > limit_bytes {
                return Err(too_long(name));
            }
            let (first, last) = columns.unwrap_or((column, column));
            columns = Some((first.min(column), last.max(column)));
            if matches!(cell, SheetCell::Moment { time: Some(_), .. }) {
                has_times.resize(has_times.len().max(column as usize + 1), false);
                has_times[column as usize] = true;
            }
            Ok(true)
        })?;
        row_bytes.check()?;
        let columns = columns.ok_or_else(|| empty(name))?;
        has_times.resize(columns.1 as usize + 1, false);
        Ok(Area { columns, has_times })
    }
}

/// How long the row at hand is: no row may be longer than a record of any text.
struct RowBytes<'a> {
    name: &'a str,
    allowance: Allowance,
    row: u32,
    n_bytes: u64,
}

impl<'a> RowBytes<'a> {
    fn new(name: &'a str, allowance: Allowance) -> RowBytes<'a> {
        RowBytes { name, allowance, row: 0, n_bytes: 0 }
    }

    /// Counts a cell; the row before it is refused when another begins, to say what would do.
    fn count(&mut self, row: u32, cell: &SheetCell<'_>) -> Result<()> {
        if self.row != row {
            self.check()?;
            (self.row, self.n_bytes) = (row, 0);
        }
        self.n_bytes = self.n_bytes.saturating_add(cell.n_bytes());
        Ok(())
    }

    /// Refuses the row at hand if it is too long.
    fn check(&self) -> Result<()> {
        match self.n_bytes > self.allowance.record_bytes() as u64 {
            true => Err(too_long_row(self.name, self.row, self.n_bytes, self.allowance)),
            false => Ok(()),
        }
    }
}

/// Makes records of cells.
struct TextWriter<'a> {
    name: &'a str,
    options: &'a ReadOptions,
    area: Area,
    output: BufWriter<ScratchFile>,
    limit_bytes: u64,
    n_bytes: u64,
    /// The row at hand, its length, its cells from the first column on, and what is written of it.
    row: Option<u32>,
    row_bytes: RowBytes<'a>,
    cells: Vec<String>,
    n_cells: usize,
    record: Vec<u8>,
    n_lines: u64,
    shifts: Vec<(u64, i64)>,
}

impl<'a> TextWriter<'a> {
    fn new(
        name: &'a str,
        folder: &Path,
        area: Area,
        (limit_bytes, options): (u64, &'a ReadOptions),
    ) -> Result<TextWriter<'a>> {
        let n_columns = (area.columns.1 - area.columns.0) as usize + 1;
        Ok(TextWriter {
            name,
            options,
            area,
            output: BufWriter::with_capacity(1 << 18, ScratchFile::create(folder)?),
            limit_bytes,
            n_bytes: 0,
            row: None,
            row_bytes: RowBytes::new(name, Allowance::of(options)),
            cells: vec![String::new(); n_columns],
            n_cells: 0,
            record: Vec::new(),
            n_lines: 0,
            shifts: Vec::new(),
        })
    }

    /// Takes a cell; rows come in their order, and each column of a row once.
    fn take(&mut self, row: u32, column: u32, cell: &SheetCell<'_>) -> Result<bool> {
        if self.row != Some(row) {
            if self.row.is_some_and(|own| own > row) {
                return Err(damaged(self.name, Some(row)));
            }
            self.end_row()?;
            self.row = Some(row);
        }
        let (first, last) = self.area.columns;
        if column < first || column > last {
            return Err(changed(self.name));
        }
        if let SheetCell::Error(shown) = cell
            && !self.options.is_missing(shown.as_bytes())
        {
            return Err(error_cell(self.name, row, column));
        }
        // No copy is made of what is refused, should the first look have seen another sheet.
        self.row_bytes.count(row, cell)?;
        self.row_bytes.check()?;
        let has_times = self.area.has_times[column as usize];
        let own = &mut self.cells[(column - first) as usize];
        own.clear();
        cell.push(own, has_times);
        self.n_cells += 1;
        Ok(true)
    }

    /// Writes the record of the row at hand; a row without cells is nothing.
    fn end_row(&mut self) -> Result<()> {
        let Some(row) = self.row.filter(|_| self.n_cells > 0) else { return Ok(()) };
        self.record.clear();
        for (cell_idx, cell) in self.cells.iter_mut().enumerate() {
            if cell_idx > 0 {
                self.record.push(b',');
            }
            if !cell.is_empty() || self.area.columns.0 == self.area.columns.1 {
                push_text(&mut self.record, cell.as_bytes(), b',');
            }
            // A long text in one row of each column would be the longest row many times.
            match cell.capacity() > KEPT_BYTES {
                true => *cell = String::new(),
                false => cell.clear(),
            }
        }
        self.record.push(b'\n');
        self.n_cells = 0;
        let shift = i64::from(row) - self.n_lines as i64;
        if self.shifts.last().map_or(0, |&(_, own)| own) != shift {
            self.shifts.push((self.n_lines + 1, shift));
        }
        self.n_lines += memchr::memchr_iter(b'\n', &self.record).count() as u64;
        self.n_bytes += self.record.len() as u64;
        if self.n_bytes > self.limit_bytes {
            return Err(too_long(self.name));
        }
        let written = self.output.write_all(&self.record);
        Ok(written.map_err(|source| self.output.get_ref().write_error(source))?)
    }

    fn finish(mut self) -> Result<SheetText> {
        self.end_row()?;
        let flushed = self.output.flush();
        flushed.map_err(|source| self.output.get_ref().write_error(source))?;
        let (scratch, _) = self.output.into_parts();
        Ok(SheetText { file: Arc::new(scratch.into_input()?), shifts: self.shifts })
    }
}

/// The letters of a column, A for 0.
fn letters(mut column: u32) -> String {
    let mut letters = String::new();
    loop {
        letters.insert(0, char::from(b'A' + (column % 26) as u8));
        match column / 26 {
            0 => return letters,
            above => column = above - 1,
        }
    }
}

fn error_cell(name: &str, row: u32, column: u32) -> TableError {
    TableError::Cell {
        table: name.to_owned(),
        place: format!("row {}", row + 1),
        column: letters(column),
        problem: "the cell shows an error instead of a value".to_owned(),
        hint: wording![
            "mend or clear it, or take such cells for missing with ",
            Field::Missing.of("'#N/A'"),
            " or what they show"
        ],
    }
}

/// A workbook that cannot be read as what it says that it is.
fn damaged(name: &str, row: Option<u32>) -> TableError {
    let place = row.map(|row| format!(" in row {} or near it", row + 1)).unwrap_or_default();
    table_error(
        name,
        format!("the workbook is damaged{place}"),
        "open it in a spreadsheet program and save it again",
    )
}

fn too_large(name: &str, measured: Measured) -> TableError {
    let hint: Wording = match measured.is_whole {
        true => {
            let mb = measured.needed_bytes().div_ceil(1_000_000);
            wording!["allow that with ", Field::Memory.of(format!("{mb}MB"))]
        }
        false => "save the sheet as CSV, which is read in any memory".into(),
    };
    let problem = match measured.is_whole {
        true => "the workbook unpacks to more than the memory allows",
        false => "the workbook unpacks to hundreds of times its size, as no table does",
    };
    table_error(name, problem, hint)
}

/// Refuses a row of so many bytes.
fn too_long_row(name: &str, row: u32, n_bytes: u64, allowance: Allowance) -> TableError {
    if n_bytes <= LONGEST_RECORD_BYTES as u64 {
        return allowance.refuse_record(n_bytes);
    }
    table_error(
        name,
        format!("row {} is longer than {} MB", row + 1, LONGEST_RECORD_BYTES >> 20),
        "look for a cell with a long text that is repeated along the row",
    )
}

fn too_long(name: &str) -> TableError {
    table_error(
        name,
        "the text of the sheet is longer than the memory allows",
        wording!["allow more with ", Field::Memory, ", or save the sheet as CSV"],
    )
}
