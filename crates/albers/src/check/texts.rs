//! The texts in which a table shows its quasi-identifiers, whoever made it.

use albers_measure::{ClassNumbers, Codes, RowRuns};
use albers_table::code::Code;
use albers_table::value::{parse_date, parse_timestamp};

use super::whole::InternedColumn;
use crate::plan::BOUND_ENDINGS;

/// The label of any value.
pub(super) const ANY: &str = "*";

/// What begins a cell that shows the missing value beside an interval or a label.
pub(super) const WITH_MISSING: &str = "{, ";

/// The codes of the columns that show a text.
pub(super) type TextKey = [u32; 3];

/// The texts of one quasi-identifier, bounds as intervals.
pub(super) struct ShownTexts<'c> {
    columns: Vec<&'c InternedColumn>,
    /// Each text by its codes, and its rows.
    met: Vec<(TextKey, u64)>,
}

/// What an interval shows.
pub(super) struct ShownEnds {
    pub(super) lo: f64,
    pub(super) hi: f64,
    pub(super) with_missing: bool,
    pub(super) n_rows: u64,
}

impl<'c> ShownTexts<'c> {
    /// Of the column of that name, or of its bounds; nothing if neither is there.
    pub(super) fn of(
        name: &str,
        columns: &'c [InternedColumn],
        runs: &RowRuns,
    ) -> Option<ShownTexts<'c>> {
        let find = |name: &str| columns.iter().find(|column| column.name == name);
        let columns = match find(name) {
            Some(column) => vec![column],
            None => {
                let [min, max, missing] = BOUND_ENDINGS.map(|end| find(&format!("{name}{end}")));
                [Some(min?), Some(max?), missing].into_iter().flatten().collect()
            }
        };
        let mut shown = ShownTexts { columns, met: Vec::new() };
        let codes: Vec<Codes<'_>> = shown.columns.iter().map(|column| column.codes()).collect();
        let numbers = ClassNumbers::of(runs.n_runs(), &codes);
        let mut n_rows = vec![0u64; numbers.n_classes()];
        for (rows, number) in runs.iter().zip(numbers.of_runs()) {
            n_rows[number.index()] += rows.len() as u64;
        }
        let keys = numbers.first_runs().map(|run| shown.key(run));
        shown.met = keys.zip(n_rows).collect();
        Some(shown)
    }

    /// The codes of a run of rows.
    pub(super) fn key(&self, run: usize) -> TextKey {
        let mut key = [0; 3];
        self.columns.iter().zip(&mut key).for_each(|(column, code)| *code = column.codes[run]);
        key
    }

    /// Each text, with its codes and its rows.
    pub(super) fn texts(&self) -> impl Iterator<Item = (TextKey, String, u64)> {
        self.met.iter().map(|&(key, n_rows)| (key, self.text(key), n_rows))
    }

    /// The texts as intervals, without that of the missing value; nothing if one is none. A bound
    /// that stands in many of them is read once.
    pub(super) fn ends(&self) -> Option<Vec<ShownEnds>> {
        let (lows, highs) = match self.columns[..] {
            [lows, highs, ..] => (lows, highs),
            _ => return self.ends_of_texts(),
        };
        let ends = |column: &InternedColumn| -> Vec<Option<f64>> {
            (0..column.codes().n_values).map(|code| end_of(column.text(Code::new(code)))).collect()
        };
        let (ends_of_lows, ends_of_highs) = (ends(lows), ends(highs));
        let shown = self.met.iter().filter(|(key, _)| !lows.text(Code::new(key[0])).is_empty());
        let ends = shown.map(|&(key, n_rows)| {
            let [lo, hi] = [ends_of_lows[key[0] as usize]?, ends_of_highs[key[1] as usize]?];
            Some(ShownEnds { lo, hi, with_missing: self.shows_missing(key), n_rows })
        });
        ends.collect()
    }

    fn ends_of_texts(&self) -> Option<Vec<ShownEnds>> {
        let shown = self.texts().filter(|(_, text, _)| !text.is_empty());
        let ends = shown.map(|(_, text, n_rows)| {
            let (lo, hi, with_missing) = ends_of(&text)?;
            Some(ShownEnds { lo: end_of(lo)?, hi: end_of(hi)?, with_missing, n_rows })
        });
        ends.collect()
    }

    fn text(&self, key: TextKey) -> String {
        let text = |at: usize| self.columns[at].text(Code::new(key[at]));
        if self.columns.len() == 1 {
            return text(0).to_owned();
        }
        match (text(0), text(1)) {
            (lo, _) if lo.is_empty() => lo.to_owned(),
            (lo, hi) if self.shows_missing(key) => format!("{WITH_MISSING}[{lo}, {hi}]}}"),
            (lo, hi) => format!("[{lo}, {hi}]"),
        }
    }

    /// Whether a third column beside two bounds says so.
    fn shows_missing(&self, key: TextKey) -> bool {
        self.columns.get(2).is_some_and(|column| column.text(Code::new(key[2])) == "true")
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
