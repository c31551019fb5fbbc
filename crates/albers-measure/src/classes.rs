//! Rows that show the same, in any table.
//!
//! ```text
//!   class so far   code of the next column        class
//!        0               7                   ──►    0      pairs are numbered as they come
//!        0               3                   ──►    1
//!        1               7                   ──►    2
//! ```
//!
//! Guarantee: rows are in one class if and only if all their codes are equal; numbers, not hashes,
//! are compared.
//! Cost: one pass over the rows per column that compares neighbours, and a look into a table for each
//! run of rows that show the same: a release comes class by class. 5 bytes per row, 8 per run.

use std::ops::Range;

use albers_classes::ClassId;
use albers_table::row::RowIdx;
use rustc_hash::FxHashMap;

/// A column of codes.
#[derive(Clone, Copy)]
pub struct Codes<'a> {
    /// One per row.
    pub codes: &'a [u32],
    /// Codes are below this.
    pub n_values: u32,
}

/// The class of each row, run by run: rows that follow each other and show the same are a run.
pub struct ClassNumbers {
    n_rows: usize,
    n_classes: u32,
    /// The first row of each run.
    run_starts: Vec<u32>,
    /// The class of each run.
    class_of_run: Vec<u32>,
}

impl ClassNumbers {
    /// Numbers the rows' classes, in the order of their first rows.
    ///
    /// # Panics
    /// When a column has not `n_rows` codes, or there are 2^32 rows or more.
    pub fn of(n_rows: usize, columns: &[Codes<'_>]) -> ClassNumbers {
        let run_starts = run_starts(n_rows, columns);
        let mut class_of_run = vec![0u32; run_starts.len()];
        let mut n_classes = u32::from(n_rows > 0);
        for column in columns {
            n_classes = refine(&mut class_of_run, &run_starts, n_classes, *column);
        }
        ClassNumbers { n_rows, n_classes, run_starts, class_of_run }
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.n_classes as usize
    }

    /// The rows of each run, and their class. A class that was not met before is the next one.
    pub fn runs(&self) -> impl Iterator<Item = (Range<usize>, ClassId)> {
        let ends = self.run_starts.iter().skip(1).map(|&start| start as usize);
        let ends = ends.chain(std::iter::once(self.n_rows));
        let starts = self.run_starts.iter().map(|&start| start as usize);
        let classes = self.class_of_run.iter().map(|&class| ClassId::new(class));
        starts.zip(ends).zip(classes).map(|((start, end), class)| (start..end, class))
    }

    /// The rows, class by class.
    fn into_classes(self) -> Classes {
        let mut starts = vec![0u32; self.n_classes() + 1];
        self.runs().for_each(|(rows, class)| starts[class.index() + 1] += rows.len() as u32);
        for class in 0..self.n_classes() {
            starts[class + 1] += starts[class];
        }
        let mut next = starts.clone();
        let mut rows = vec![RowIdx::FIRST; self.n_rows];
        for (run, class) in self.runs() {
            let place = &mut next[class.index()];
            let own = &mut rows[*place as usize..][..run.len()];
            own.iter_mut().zip(run.clone()).for_each(|(slot, row)| *slot = RowIdx::of_index(row));
            *place += run.len() as u32;
        }
        Classes { rows, starts }
    }
}

/// The first row of each run of rows that show the same.
fn run_starts(n_rows: usize, columns: &[Codes<'_>]) -> Vec<u32> {
    assert!(u32::try_from(n_rows).is_ok(), "rows are numbered by 32 bits");
    let mut differs = vec![false; n_rows];
    differs.iter_mut().take(1).for_each(|own| *own = true);
    for column in columns {
        assert_eq!(column.codes.len(), n_rows, "a code for each row");
        let neighbours = column.codes.iter().zip(column.codes.iter().skip(1));
        let later = differs.iter_mut().skip(1);
        later.zip(neighbours).for_each(|(own, (before, code))| *own |= before != code);
    }
    (0u32..).zip(differs).filter(|(_, differs)| *differs).map(|(row, _)| row).collect()
}

/// The rows of a table, class by class.
pub struct Classes {
    rows: Vec<RowIdx>,
    /// Class `i` has the rows from `starts[i]` to `starts[i + 1]`.
    starts: Vec<u32>,
}

impl Classes {
    /// Groups rows by all their codes. Classes are in the order of their first rows.
    ///
    /// # Panics
    /// When a column has not `n_rows` codes, or there are 2^32 rows or more.
    pub fn of(n_rows: usize, columns: &[Codes<'_>]) -> Classes {
        ClassNumbers::of(n_rows, columns).into_classes()
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// The rows of a class, ascending.
    pub fn rows_of(&self, class: ClassId) -> &[RowIdx] {
        let class = class.index();
        &self.rows[self.starts[class] as usize..self.starts[class + 1] as usize]
    }

    /// The rows of each class.
    pub fn iter(&self) -> impl Iterator<Item = &[RowIdx]> {
        ClassId::first(self.n_classes()).map(|class| self.rows_of(class))
    }
}

/// Splits the classes of runs by one more column and returns how many there are then.
fn refine(class_of_run: &mut [u32], run_starts: &[u32], n_classes: u32, column: Codes<'_>) -> u32 {
    const NONE: u32 = u32::MAX;
    let mut n_refined = 0u32;
    let mut number = |refined: &mut u32| {
        if *refined == NONE {
            *refined = n_refined;
            n_refined += 1;
        }
        *refined
    };
    let codes = run_starts.iter().map(|&start| column.codes[start as usize]);
    let n_pairs = u64::from(n_classes) * u64::from(column.n_values);
    if n_pairs <= 4 * class_of_run.len() as u64 + (1 << 16) {
        let mut table = vec![NONE; n_pairs as usize];
        for (class, code) in class_of_run.iter_mut().zip(codes) {
            let pair = *class as usize * column.n_values as usize + code as usize;
            *class = number(&mut table[pair]);
        }
    } else {
        let mut table: FxHashMap<u64, u32> = FxHashMap::default();
        for (class, code) in class_of_run.iter_mut().zip(codes) {
            let pair = u64::from(*class) << 32 | u64::from(code);
            *class = number(table.entry(pair).or_insert(NONE));
        }
    }
    n_refined
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_with_equal_codes_are_one_class() {
        let (a, b) = ([0, 1, 0, 0, 1], [5, 5, 5, 6, 5]);
        // A domain too large for a table of pairs must give the same classes.
        for n_values in [7, u32::MAX] {
            let columns = [Codes { codes: &a, n_values: 2 }, Codes { codes: &b, n_values }];
            let classes = Classes::of(5, &columns);
            let rows = |own: &[RowIdx]| own.iter().map(|row| row.get()).collect::<Vec<_>>();
            assert!(classes.iter().map(rows).eq([vec![0, 2], vec![1, 4], vec![3]]));
        }
    }

    proptest! {
        #[test]
        fn runs_are_numbered_as_single_rows_are(
            rows in proptest::collection::vec((0u32..3, 0u32..3, 1usize..5), 0..60),
            n_values in prop_oneof![Just(3), Just(u32::MAX)],
        ) {
            let spread = |code: fn(&(u32, u32, usize)) -> u32| -> Vec<u32> {
                rows.iter().flat_map(|own| vec![code(own); own.2]).collect()
            };
            let (a, b) = (spread(|own| own.0), spread(|own| own.1));
            let columns = [Codes { codes: &a, n_values }, Codes { codes: &b, n_values: 3 }];
            let mut expected: Vec<Vec<u32>> = Vec::new();
            let mut number_of: HashMap<(u32, u32), usize> = HashMap::new();
            for (row, pair) in (0..).zip(a.iter().copied().zip(b.iter().copied())) {
                let n_known = number_of.len();
                let number = *number_of.entry(pair).or_insert(n_known);
                expected.resize(number_of.len(), Vec::new());
                expected[number].push(row);
            }
            let classes = Classes::of(a.len(), &columns);
            let found: Vec<Vec<u32>> =
                classes.iter().map(|own| own.iter().map(|row| row.get()).collect()).collect();
            prop_assert_eq!(&found, &expected);
            let numbers = ClassNumbers::of(a.len(), &columns);
            prop_assert_eq!(numbers.n_classes(), expected.len());
            let mut seen = 0;
            for (run, class) in numbers.runs() {
                prop_assert_eq!(run.start, seen);
                prop_assert!(run.clone().all(|row| expected[class.index()].contains(&(row as u32))));
                seen = run.end;
            }
            prop_assert_eq!(seen, a.len());
        }
    }

    #[test]
    fn without_columns_all_rows_show_the_same() {
        assert_eq!(Classes::of(3, &[]).n_classes(), 1);
        assert_eq!(Classes::of(0, &[]).n_classes(), 0);
    }
}
