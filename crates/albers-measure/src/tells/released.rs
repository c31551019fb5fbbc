//! What carried columns tell of a release that was read back, with its original.
//!
//! Rows of the two need not be paired: a carried value stands in both. The original tells which
//! values go with one code of an attribute, the release how often the classes of such a value show
//! the attribute coarser. How many rows of a code are shown coarser by chance are those of the
//! original less those that the release shows exactly.
//!
//! Guarantee: without rows left out, the count is that of the same rows at the door. Rows left out
//! are among those of the original: where one of them has another code than the published rows of
//! its value, that value tells nothing here, and by chance it counts as shown coarser.
//! Cost: a look at each cell of the original and of the release.

use albers_release::describe::CellContent;
use albers_table::code::Code;
use albers_table::domain::Domain;
use albers_table::mix::mix;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{CarriedValues, TellParts};
use crate::counted_codes::CountedCodes;
use crate::released::ReleasedColumn;

/// The cells of a carried column: numbers that tell its values apart, the same in both tables. 0 is
/// no value, or one that the original lacks.
pub struct CarriedCells {
    /// The column.
    pub name: String,
    /// Those of the original, row by row.
    pub original: Vec<u64>,
    /// Those of the release, row by row.
    pub released: Vec<u64>,
}

impl TellParts {
    /// Adds a release that was read back, with the codes of all rows of its original, attribute by
    /// attribute.
    pub fn add_released(
        &mut self,
        released: &[ReleasedColumn<'_>],
        codes: &[Vec<u32>],
        carried: &[CarriedCells],
    ) {
        self.n_rows += codes.first().map_or(0, Vec::len) as u64;
        let attributes = self.attributes.par_iter_mut().zip(released).zip(codes);
        attributes.for_each(|((counted, column), codes)| count_codes(counted, column, codes));
        self.name_columns(carried.iter().map(|own| own.name.as_str()));
        let columns = self.columns.par_iter_mut().zip(carried);
        columns.for_each(|(values, cells)| values.add_released(released, codes, cells));
    }
}

/// Counts the codes of the original; those that the release does not show exactly are coarser.
fn count_codes(counted: &mut CountedCodes, column: &ReleasedColumn<'_>, codes: &[u32]) {
    let domain = &column.attribute.domain;
    let exact = column.cells.iter().map(|cell| match cell.lost_steps {
        0 => only_code(&cell.content, domain),
        _ => None,
    });
    let exact: Vec<Option<Code>> = exact.collect();
    let mut n_exact: FxHashMap<Code, u32> = FxHashMap::default();
    for (rows, &place) in column.runs.iter().zip(&column.places) {
        if let Some(code) = exact[place as usize] {
            *n_exact.entry(code).or_insert(0) += rows.len() as u32;
        }
    }
    for (code, n_rows) in rows_of_codes(codes) {
        let n_exact = n_exact.get(&code).copied().unwrap_or(0);
        counted.add(code, n_rows, n_rows.saturating_sub(n_exact));
    }
}

/// The codes that occur, and how many rows have each.
fn rows_of_codes(codes: &[u32]) -> Vec<(Code, u32)> {
    let n_codes = codes.iter().max().map_or(0, |&last| last as usize + 1);
    if n_codes <= codes.len() {
        let mut n_rows = vec![0u32; n_codes];
        codes.iter().for_each(|&code| n_rows[code as usize] += 1);
        let all = (0u32..).map(Code::new).zip(n_rows);
        return all.filter(|&(_, n_rows)| n_rows > 0).collect();
    }
    let mut n_rows: FxHashMap<u32, u32> = FxHashMap::default();
    codes.iter().for_each(|&code| *n_rows.entry(code).or_insert(0) += 1);
    n_rows.into_iter().map(|(code, n_rows)| (Code::new(code), n_rows)).collect()
}

/// The code of a cell that shows one value.
fn only_code(content: &CellContent, domain: &Domain) -> Option<Code> {
    match content {
        CellContent::Missing => domain.missing_code(),
        CellContent::Interval { lo, hi, with_missing: false } => (lo == hi).then_some(*lo),
        CellContent::Set(codes) => match codes[..] {
            [code] => Some(code),
            _ => None,
        },
        CellContent::Label { node, with_missing: false } => {
            let leaves = domain.hierarchy()?.leaves_of(*node);
            (leaves.len() == 1).then_some(leaves.start)
        }
        _ => None,
    }
}

impl CarriedValues {
    fn add_released(
        &mut self,
        released: &[ReleasedColumn<'_>],
        codes: &[Vec<u32>],
        cells: &CarriedCells,
    ) {
        let nothing = vec![false; codes.len()];
        let mut of_row = Vec::with_capacity(codes.len());
        for (row, &number) in cells.original.iter().enumerate() {
            of_row.clear();
            of_row.extend(codes.iter().map(|column| column[row]));
            self.add_cell(number, &of_row, &nothing);
        }
        let Some(runs) = released.first().map(|column| column.runs) else { return };
        for (run, rows) in runs.iter().enumerate() {
            for &number in cells.released[rows].iter().filter(|own| **own != 0) {
                let Some(value) = self.values.get_mut(&mix(number)) else { continue };
                for (told, column) in value.told.iter_mut().zip(released) {
                    told.n_coarser += u32::from(column.cell(run).lost_steps > 0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_counted_code_by_code(
            codes in prop::collection::vec(0u32..40, 0..60),
            factor in prop_oneof![Just(1), Just(1 << 20)],
        ) {
            let codes: Vec<u32> = codes.into_iter().map(|code| code * factor).collect();
            let mut found = rows_of_codes(&codes);
            found.sort_unstable();
            let mut sorted = codes.clone();
            sorted.sort_unstable();
            let runs = sorted.chunk_by(|a, b| a == b);
            let expected = runs.map(|own| (Code::new(own[0]), own.len() as u32));
            prop_assert!(found.into_iter().eq(expected));
        }
    }
}
