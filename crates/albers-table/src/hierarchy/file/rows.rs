//! The rows of a hierarchy file as it tells them itself, without the table that it was made for.
//!
//! Guarantee: what is told is a function of the file, the name of its column and names that are known
//! to stand in it. Where the table decides how the file is read (see the module above), these names
//! decide instead: those that a release shows.
//! Cost: a few passes over the file.

use rustc_hash::{FxHashMap, FxHashSet};

use super::records::{Record, Records};
use super::{DELIMITERS, MAX_LEVELS, N_SNIFFED_ROWS, is_level_name};
use crate::infer::TypeSample;
use crate::schema::ColumnType;
use crate::value::canonical;

/// The fields of all rows but a header's, in the order of the leaves' places.
pub(in crate::hierarchy) fn fields(
    bytes: &[u8],
    column: &str,
    known: &[String],
) -> Option<Vec<Vec<String>>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let delimiter = delimiter_of(text, known);
    let records: Vec<Record> = Records::new(text, delimiter).collect::<Result<_, _>>().ok()?;
    let records = if has_header(&records, column, known) { &records[1..] } else { &records[..] };
    let n_levels = records.first()?.n_fields;
    let is_other = |record: &Record| record.n_fields != n_levels;
    if n_levels > MAX_LEVELS || records.iter().any(is_other) {
        return None;
    }
    let mut seen = FxHashSet::default();
    let is_new = |row: &Vec<String>| seen.insert(row[0].clone());
    let to_row = |record: &Record| record.fields.iter().map(|own| own.to_string()).collect();
    Some(in_places(records.iter().map(to_row).filter(is_new).collect()))
}

/// The delimiter by which most of the known names are fields, then one with the same number of
/// fields in all rows, then the first of these.
fn delimiter_of(text: &str, known: &[String]) -> Option<char> {
    let known: FxHashSet<&str> = known.iter().map(String::as_str).collect();
    let score = |delimiter: Option<char>| {
        let sample: Vec<Record> =
            Records::new(text, delimiter).take(N_SNIFFED_ROWS).map_while(Result::ok).collect();
        let fields = sample.iter().flat_map(|record| record.fields.iter());
        let found: FxHashSet<&str> =
            fields.map(|field| &**field).filter(|field| known.contains(field)).collect();
        let n_fields = sample.first().map_or(0, |record| record.n_fields);
        let is_used = sample.iter().any(|record| record.fields.len() > 1);
        let is_even = sample.iter().all(|record| record.n_fields == n_fields);
        (found.len(), is_used, is_even)
    };
    // Of equal scores `max_by_key` takes the last.
    let preferred = std::iter::once(None).chain(DELIMITERS.into_iter().rev().map(Some));
    preferred.max_by_key(|&delimiter| score(delimiter)).flatten()
}

/// As the file is read with its table, where values are those that the other rows look like.
fn has_header(records: &[Record], column: &str, known: &[String]) -> bool {
    let [first, others @ ..] = records else { return false };
    let leaf = first.fields[0].trim();
    let is_other = || {
        let mut sample = TypeSample::default();
        others.iter().for_each(|record| sample.add(record.fields[0].as_bytes()));
        let others_type: ColumnType = sample.column_type();
        canonical(others_type, leaf).is_none()
    };
    let is_repeated = |other: &Record| {
        first.fields[1..].iter().zip(&other.fields[1..]).any(|(label, other)| label == other)
    };
    !others.is_empty()
        && !known.iter().any(|name| name == leaf)
        && (leaf.eq_ignore_ascii_case(column) || is_level_name(leaf) || is_other())
        && !others.iter().any(is_repeated)
}

/// Rows of one label that stand apart are brought together where the first of them stands.
fn in_places(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let n_levels = rows.first().map_or(0, Vec::len);
    for level in 1..n_levels {
        let mut first: FxHashMap<String, usize> = FxHashMap::default();
        for (at, row) in rows.iter().enumerate() {
            first.entry(row[level].clone()).or_insert(at);
        }
        rows.sort_by_key(|row| first[&row[level]]);
    }
    rows
}
