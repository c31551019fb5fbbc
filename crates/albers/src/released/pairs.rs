//! Which rows of two tables belong together, by a key that is unique in both.

use albers_measure::released::Pairing;
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use albers_table::TableError;
use albers_table::code::Code;
use albers_table::coding::CodedColumn;
use albers_table::row::{RowId, RowIdx};
use albers_table::value;
use rustc_hash::FxHashMap;

use crate::error::{DifferingColumn, Error, Result};
use crate::rows::Table;

/// The row of the original that belongs to each row of the release, by the keys of both.
pub(crate) fn pair(
    original: (&str, &CodedColumn),
    release: (&str, &CodedColumn),
) -> Result<Vec<RowIdx>> {
    let (original, of_original) = original;
    let (release, keys) = release;
    let row_of_code = unique_rows(original, of_original)?;
    unique_rows(release, keys)?;
    let row_of: FxHashMap<&str, Option<RowIdx>> =
        of_original.domain.categories().map(|(_, name)| name).zip(row_of_code).collect();
    let row_of = |&code: &u32| *row_of.get(keys.domain.category(Code::new(code))?)?;
    let rows = || keys.codes.iter().flatten().map(row_of);
    if let Some(rows) = rows().collect() {
        return Ok(rows);
    }
    let first = rows().take_while(Option::is_some).count();
    let n_rows = rows().filter(Option::is_none).count();
    let problem = format!("the original has no row with this key, {}", so_many(n_rows));
    let advice = "make sure that both files belong together".into();
    Err(key_error(release, RowId::new(first as u64), keys, problem, advice))
}

/// The row of each value of a key; one that is missing or not unique is refused.
fn unique_rows(table: &str, keys: &CodedColumn) -> Result<Vec<Option<RowIdx>>> {
    let advice = || wording!["name a column with ", Field::Key, " that tells every row apart"];
    let missing = keys.domain.missing_code();
    let mut row_of_code = vec![None; keys.domain.n_values() as usize];
    let (mut first_missing, mut n_missing) = (None, 0);
    let (mut first_repeat, mut n_repeats) = (None, 0);
    for (row_idx, &code) in keys.codes.iter().flatten().enumerate() {
        let row_idx = RowIdx::of_index(row_idx);
        let row = &mut row_of_code[code as usize];
        if missing == Some(Code::new(code)) {
            first_missing = first_missing.or(Some(row_idx));
            n_missing += 1;
        } else if let Some(earlier) = *row {
            first_repeat = first_repeat.or(Some((row_idx, RowId::from(earlier))));
            n_repeats += 1;
        } else {
            *row = Some(row_idx);
        }
    }
    if let Some(row_idx) = first_missing {
        let problem = format!("the key is missing, {}", so_many(n_missing));
        return Err(key_error(table, row_idx.into(), keys, problem, advice()));
    }
    if let Some((row_idx, earlier)) = first_repeat {
        let problem =
            format!("row {earlier} has the same key; a key repeats {}", so_many(n_repeats));
        return Err(key_error(table, row_idx.into(), keys, problem, advice()));
    }
    Ok(row_of_code)
}

/// How many rows have a fault of which the first is named.
fn so_many(n_rows: usize) -> String {
    if n_rows == 1 { "in this row only".to_owned() } else { format!("in {n_rows} rows in all") }
}

fn key_error(table: &str, row: RowId, keys: &CodedColumn, problem: String, hint: Wording) -> Error {
    Error::Table(TableError::Cell {
        table: table.to_owned(),
        place: format!("row {row}"),
        column: keys.domain.name().to_owned(),
        problem,
        hint,
    })
}

/// The sensitive columns whose values are not those of the original.
pub(crate) fn differing_sensitive(
    released: &[CodedColumn],
    table: &Table,
    pairing: &Pairing<'_>,
) -> Vec<DifferingColumn> {
    let mut differing = Vec::new();
    for (data, codes) in table.sensitive.iter().zip(pairing.sensitive) {
        let domain = &data.column.domain;
        let name = domain.name();
        let shown = released.iter().find(|column| column.domain.name() == name);
        let Some(shown) = shown else { continue };
        let canonical = |text: &str| value::canonical(domain.column_type(), text);
        let code_of: FxHashMap<String, Code> =
            domain.categories().filter_map(|(code, text)| Some((canonical(text)?, code))).collect();
        let n_values = u32::try_from(shown.domain.n_values()).expect("codes have 32 bits");
        let original_code: Vec<Option<Code>> = (0..n_values)
            .map(Code::new)
            .map(|code| match shown.domain.category(code) {
                Some(text) => canonical(text).and_then(|text| code_of.get(&text).copied()),
                None => domain.missing_code(),
            })
            .collect();
        let rows = shown.codes.iter().flatten().zip(pairing.original_rows).enumerate();
        let mut faults = rows.filter(|(_, (code, row))| {
            original_code[**code as usize] != Some(Code::new(codes[row.index()]))
        });
        if let Some((first_row, _)) = faults.next() {
            differing.push(DifferingColumn {
                column: name.to_owned(),
                n_rows: 1 + faults.count() as u64,
                first_row: RowId::new(first_row as u64),
            });
        }
    }
    differing
}
