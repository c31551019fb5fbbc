//! Hierarchies in files: one row per leaf, from specific to general, as ARX users have them.
//!
//! ```text
//! Tech-support;Technical;*
//! Craft-repair;Technical;*
//! Other-service;Other;*
//! ```
//!
//! Rules:
//! - The delimiter is `;`, tab, `|` or `,`: the one that makes most leaves values of the column,
//!   then one with the same number of fields in all rows, then the first of these. The first 1,000
//!   rows decide. If no row has any of them, the file is a list of leaves, under an added `*`.
//! - Fields may be quoted with `"`, doubled inside. Lines end with LF or CRLF; a byte order mark
//!   and blank lines are skipped. Names ending in `.gz` and `.zst` are unpacked.
//! - The first row is a header if its leaf is no value of the column while another row's leaf is,
//!   none of its labels stands in another row at the same level, and its leaf is the column's name,
//!   or cannot be a value of the column's type, or reads `value`, `leaf` or `level0`. When in
//!   doubt it is a leaf.
//! - A leaf is matched to values in canonical form. It may come twice, with the same path.
//! - Empty fields are refused: a published empty cell would read as a missing one.
//! - If the top level has several labels, a root `*` is added.
//! - A row has at most 255 fields.

pub(super) mod inspect;
mod records;
pub(super) mod rows;

use std::path::Path;

use albers_storage::input::read_whole;
use rustc_hash::FxHashSet;

use self::records::{Malformed, Record, Records};
use super::builder::{Builder, Conflict};
use super::{Hierarchy, Place};
use crate::schema::ColumnType;
use crate::value::canonical;
use crate::{Result, TableError};

/// In order of preference; the comma comes last because it is common inside labels.
const DELIMITERS: [char; 4] = [';', '\t', '|', ','];
const N_SNIFFED_ROWS: usize = 1000;
/// More than anybody means; searches go between levels, and what they keep grows with the pairs.
const MAX_LEVELS: usize = 255;

/// The values of the column, to tell which leaves occur.
struct Column<'a> {
    name: &'a str,
    column_type: ColumnType,
    values: FxHashSet<&'a str>,
}

impl<'a> Column<'a> {
    fn new(name: &'a str, column_type: ColumnType, values: &'a [String]) -> Column<'a> {
        Column { name, column_type, values: values.iter().map(String::as_str).collect() }
    }

    fn has(&self, leaf: &str) -> bool {
        canonical(self.column_type, leaf).is_some_and(|leaf| self.values.contains(leaf.as_str()))
    }
}

/// Builds a hierarchy from the bytes of a file.
pub(super) fn build(
    bytes: &[u8],
    place: &Place,
    column_type: ColumnType,
    values: &[String],
) -> Result<Hierarchy> {
    let column = Column::new(place.column, column_type, values);
    let records = header_and_rows(bytes, place, &column)?;
    let builder = gather(&records, place, column_type)?;
    check_complete(&builder, &column, place)?;
    builder.finish().map_err(|conflict| refusal(conflict, place))
}

/// The rows of a file, without a header.
fn header_and_rows<'t>(bytes: &'t [u8], place: &Place, column: &Column) -> Result<Vec<Record<'t>>> {
    let text = decode(bytes, place)?;
    let delimiter = sniff_delimiter(text, column);
    let mut records: Vec<Record> = Records::new(text, delimiter)
        .collect::<std::result::Result<_, Malformed>>()
        .map_err(|Malformed { line, problem }| {
            let hint = "double quotes inside a quoted field, and close it before the delimiter";
            place.error_at(Some(line), problem, hint)
        })?;
    if has_header(&records, column) {
        records.remove(0);
    }
    match records.iter().find(|record| record.n_fields > MAX_LEVELS) {
        None => Ok(records),
        Some(Record { line, n_fields, .. }) => Err(place.error_at(
            Some(*line),
            format!("a hierarchy has at most {MAX_LEVELS} levels, found {n_fields}"),
            "leave out levels that nobody needs, or check that this is the column's hierarchy",
        )),
    }
}

/// The bytes of a file, unpacked; refused if they would take more than this while they become a
/// hierarchy.
pub(super) fn read(path: &Path, limit_bytes: u64) -> Result<Vec<u8>> {
    Ok(read_whole(path, "the file of a hierarchy", limit_bytes)?)
}

fn decode<'a>(bytes: &'a [u8], place: &Place) -> Result<&'a str> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = &bytes[..error.valid_up_to()];
        let line = 1 + valid.iter().filter(|&&byte| byte == b'\n').count() as u64;
        place.error_at(Some(line), "the text is not UTF-8", "save the file as UTF-8")
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The delimiter of the file, or `None` for a list of leaves.
fn sniff_delimiter(text: &str, column: &Column) -> Option<char> {
    let score = |delimiter: char| {
        let sample: Vec<Record> = Records::new(text, Some(delimiter))
            .take(N_SNIFFED_ROWS)
            .map_while(std::result::Result::ok)
            .collect();
        let n_fields = sample.first().map_or(0, |record| record.n_fields);
        let is_used = sample.iter().any(|record| record.fields.len() > 1);
        let n_matches = sample.iter().filter(|record| column.has(&record.fields[0])).count();
        let is_even = sample.iter().all(|record| record.n_fields == n_fields);
        is_used.then_some((n_matches, is_even))
    };
    let as_list = Records::new(text, None)
        .take(N_SNIFFED_ROWS)
        .map_while(std::result::Result::ok)
        .filter(|record| column.has(&record.fields[0]))
        .count();
    // Of equal scores `max_by_key` takes the last.
    DELIMITERS
        .into_iter()
        .rev()
        .filter_map(|delimiter| Some((delimiter, score(delimiter)?)))
        .max_by_key(|&(_, score)| score)
        .filter(|&(_, (n_matches, _))| n_matches >= as_list)
        .map(|(delimiter, _)| delimiter)
}

fn has_header(records: &[Record], column: &Column) -> bool {
    let [first, others @ ..] = records else { return false };
    let leaf = first.fields[0].trim();
    let names_values = leaf.eq_ignore_ascii_case(column.name)
        || canonical(column.column_type, leaf).is_none()
        || is_level_name(leaf);
    let is_repeated = |other: &Record| {
        first.fields[1..].iter().zip(&other.fields[1..]).any(|(label, other)| label == other)
    };
    names_values
        && !others.is_empty()
        && !column.has(leaf)
        && (column.values.is_empty() || others.iter().any(|other| column.has(&other.fields[0])))
        && !others.iter().any(is_repeated)
}

/// `Value`, `leaf`, `level0`, `Level 0`, `level-1`.
fn is_level_name(text: &str) -> bool {
    let word: String =
        text.to_lowercase().chars().filter(|letter| !" _-".contains(*letter)).collect();
    matches!(word.as_str(), "value" | "values" | "leaf" | "leaves" | "level" | "level0" | "level1")
}

fn gather(records: &[Record], place: &Place, column_type: ColumnType) -> Result<Builder> {
    let Some(first) = records.first() else {
        return Err(place.error("the file is empty", "write one line per value of the column"));
    };
    let n_levels = first.fields.len();
    let mut builder = Builder::new(n_levels - 1);
    for Record { line, fields, .. } in records {
        let refuse = |problem: String, hint: &str| place.error_at(Some(*line), problem, hint);
        if fields.len() != n_levels {
            return Err(refuse(
                format!("expected {n_levels} levels, found {}", fields.len()),
                "give every value the same number of levels, repeating a label where a level adds \
                 nothing",
            ));
        }
        if let Some(level) = fields.iter().position(|field| field.is_empty()) {
            return Err(refuse(
                format!("the label of level {level} is empty"),
                "fill it in, or remove the line if it is for missing cells, which need none",
            ));
        }
        let leaf = canonical(column_type, &fields[0]).ok_or_else(|| {
            refuse(
                format!("the leaf is not of the column's type, {column_type}"),
                "remove the line (missing cells need none) or give the column another type",
            )
        })?;
        builder.add(*line, &leaf, &fields[1..]).map_err(|conflict| refusal(conflict, place))?;
    }
    Ok(builder)
}

fn check_complete(builder: &Builder, column: &Column, place: &Place) -> Result<()> {
    let n_values = column.values.len();
    let n_missing = column.values.iter().filter(|value| !builder.has_leaf(value)).count();
    if n_missing == 0 {
        return Ok(());
    }
    let hint = if n_missing == n_values {
        "check that this is the file for this column and that its first field is the value"
    } else {
        "add a line for each of them"
    };
    let problem =
        format!("{n_missing} of the column's {n_values} values are missing in the hierarchy");
    Err(place.error(problem, hint))
}

fn refusal(conflict: Conflict, place: &Place) -> TableError {
    match conflict {
        Conflict::LeafTwice { first_line, line } => place.error_at(
            Some(line),
            format!("the leaf of line {first_line} comes again with other labels"),
            "keep one of the two lines",
        ),
        Conflict::TwoParents { level, first_line, line } => place.error_at(
            Some(line),
            format!(
                "the label of level {level} stands under another label of level {} than in line \
                 {first_line}",
                level + 1
            ),
            "use the same label above it, or give the two groups different labels",
        ),
        Conflict::TwoMeanings { lower, upper, first_line, line } => place.error_at(
            Some(line),
            format!(
                "a label of level {lower} stands at level {upper} for other values too (see line \
                 {first_line})"
            ),
            "give each group a label of its own (the top is `*` where the last level names \
             several), and call the first field of a header like the column",
        ),
    }
}

#[cfg(test)]
mod tests;
