//! The texts in which a table shows its quasi-identifiers, whoever made it.

use albers_measure::{ClassNumbers, Codes};
use albers_table::code::Code;
use albers_table::value::{parse_date, parse_timestamp};
use rustc_hash::FxHashMap;

use super::whole::InternedColumn;
use crate::plan::BOUND_ENDINGS;

/// The label of any value.
pub(super) const ANY: &str = "*";

/// What begins a cell that shows the missing value beside an interval or a label.
pub(super) const WITH_MISSING: &str = "{, ";

/// The texts of one quasi-identifier, bounds as intervals.
pub(super) struct ShownTexts<'c> {
    columns: Vec<&'c InternedColumn>,
    /// Each text with its rows, by the codes of the columns that show it.
    pub(super) texts: FxHashMap<[u32; 3], (String, u64)>,
}

impl<'c> ShownTexts<'c> {
    /// Of the column of that name, or of its bounds; nothing if neither is there.
    pub(super) fn of(name: &str, columns: &'c [InternedColumn]) -> Option<ShownTexts<'c>> {
        let find = |name: &str| columns.iter().find(|column| column.name == name);
        let columns = match find(name) {
            Some(column) => vec![column],
            None => {
                let [min, max, missing] = BOUND_ENDINGS.map(|end| find(&format!("{name}{end}")));
                [Some(min?), Some(max?), missing].into_iter().flatten().collect()
            }
        };
        let mut shown = ShownTexts { columns, texts: FxHashMap::default() };
        let codes: Vec<Codes<'_>> = shown.columns.iter().map(|column| column.codes()).collect();
        let numbers = ClassNumbers::of(shown.columns[0].codes.len(), &codes);
        // The first row of each text, and its rows.
        let mut met: Vec<(usize, u64)> = Vec::with_capacity(numbers.n_classes());
        for (rows, number) in numbers.runs() {
            if number.index() == met.len() {
                met.push((rows.start, 0));
            }
            met[number.index()].1 += rows.len() as u64;
        }
        for (first_row, n_rows) in met {
            let key = shown.key(first_row);
            shown.texts.insert(key, (shown.text(key), n_rows));
        }
        Some(shown)
    }

    /// The codes of a row.
    pub(super) fn key(&self, row: usize) -> [u32; 3] {
        let mut key = [0; 3];
        self.columns.iter().zip(&mut key).for_each(|(column, code)| *code = column.codes[row]);
        key
    }

    fn text(&self, key: [u32; 3]) -> String {
        let text = |at: usize| self.columns[at].text(Code::new(key[at]));
        if self.columns.len() == 1 {
            return text(0);
        }
        let is_missing = self.columns.len() == 3 && text(2) == "true";
        match (text(0), text(1)) {
            (lo, _) if lo.is_empty() => lo,
            (lo, hi) if is_missing => format!("{WITH_MISSING}[{lo}, {hi}]}}"),
            (lo, hi) => format!("[{lo}, {hi}]"),
        }
    }
}

/// The ends of an interval, the same twice for a value, and whether the missing value is shown too.
pub(super) fn ends_of(text: &str) -> Option<(&str, &str, bool)> {
    let with_missing = text.strip_prefix(WITH_MISSING).and_then(|rest| rest.strip_suffix('}'));
    let shown = with_missing.unwrap_or(text);
    let ends = shown.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let (lo, hi) = ends.map_or(Some((shown, shown)), |ends| ends.split_once(", "))?;
    Some((lo, hi, with_missing.is_some()))
}

/// A number, or a day or a point in time in microseconds.
pub(super) fn end_of(text: &str) -> Option<f64> {
    const DAY_MICROSECONDS: f64 = 86_400e6;
    if let Ok(number) = text.parse::<f64>() {
        return Some(number);
    }
    match parse_date(text.as_bytes()) {
        Ok(days) => Some(days as f64 * DAY_MICROSECONDS),
        Err(_) => parse_timestamp(text.as_bytes()).ok().map(|(ticks, _)| ticks as f64),
    }
}
