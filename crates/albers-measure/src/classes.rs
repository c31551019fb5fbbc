//! Rows that show the same, in any table.
//!
//! ```text
//!   rows         0  1  2  3  4  5  6  7
//!   runs         ├─ 0 ─┤ ├ 1 ┤ ├── 2 ──┤     rows that stand together and show the same
//!   codes           7      3       7         one of each column for each run
//!   classes         0      1       0         runs are numbered as they come
//! ```
//!
//! A release comes class by class, so that it has hardly more runs than classes: whatever is done
//! with a run instead of with each of its rows is done once for many rows.
//!
//! Guarantee: rows are in one class if and only if all their codes are equal; a hash only tells with
//! which earlier run a run is compared, code by code.
//! Cost: one pass over the codes of the runs per column, and a look into a table for each run; 24
//! bytes per run, and nothing per row.

use std::ops::Range;

use albers_classes::ClassId;
use albers_table::mix::mix;
use albers_table::row::RowIdx;
use rustc_hash::FxHashMap;

/// A column of codes.
#[derive(Clone, Copy)]
pub struct Codes<'a> {
    /// One per run.
    pub codes: &'a [u32],
    /// Codes are below this.
    pub n_values: u32,
}

/// Rows that stand together and show the same, in the order of the rows. Runs that follow each other
/// may show the same too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowRuns {
    /// The first row of each run, and the number of all rows.
    starts: Vec<u32>,
}

impl RowRuns {
    /// Runs of so many rows each.
    ///
    /// # Panics
    /// When a run has no rows, or there are 2^32 rows or more.
    pub fn of_sizes(sizes: impl IntoIterator<Item = u32>) -> RowRuns {
        let mut end = 0u32;
        let ends = sizes.into_iter().map(|size| {
            assert!(size > 0, "a run has rows");
            end = end.checked_add(size).expect("rows are numbered by 32 bits");
            end
        });
        RowRuns { starts: std::iter::once(0).chain(ends).collect() }
    }

    /// So many rows, each of which is a run.
    ///
    /// # Panics
    /// When there are 2^32 rows or more.
    pub fn single(n_rows: usize) -> RowRuns {
        let n_rows = u32::try_from(n_rows).expect("rows are numbered by 32 bits");
        RowRuns { starts: (0..=n_rows).collect() }
    }

    /// Number of runs.
    pub fn n_runs(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.starts.last().map_or(0, |&end| end as usize)
    }

    /// The rows of a run.
    #[inline]
    pub fn rows(&self, run: usize) -> Range<usize> {
        self.starts[run] as usize..self.starts[run + 1] as usize
    }

    /// The rows of each run.
    pub fn iter(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.windows(2).map(|ends| ends[0] as usize..ends[1] as usize)
    }
}

/// The class of each run.
pub struct ClassNumbers {
    /// A run of each class: the first.
    first_runs: Vec<u32>,
    class_of_run: Vec<u32>,
}

impl ClassNumbers {
    /// Numbers the classes of so many runs, in the order of their first runs.
    ///
    /// # Panics
    /// When a column has not `n_runs` codes, or there are 2^32 runs or more.
    pub fn of(n_runs: usize, columns: &[Codes<'_>]) -> ClassNumbers {
        assert!(u32::try_from(n_runs).is_ok(), "runs are numbered by 32 bits");
        assert!(columns.iter().all(|own| own.codes.len() == n_runs), "a code for each run");
        match columns {
            [] => ClassNumbers::of_one_class(n_runs),
            [one] if one.n_values as usize <= 4 * n_runs + (1 << 16) => ClassNumbers::of_one(*one),
            _ => ClassNumbers::of_several(n_runs, columns),
        }
    }

    fn of_one_class(n_runs: usize) -> ClassNumbers {
        let first_runs = if n_runs > 0 { vec![0] } else { Vec::new() };
        ClassNumbers { first_runs, class_of_run: vec![0; n_runs] }
    }

    /// A class for each code of a column that has few of them.
    fn of_one(column: Codes<'_>) -> ClassNumbers {
        const NONE: u32 = u32::MAX;
        let mut class_of_code = vec![NONE; column.n_values as usize];
        let mut first_runs = Vec::new();
        let numbers = (0u32..).zip(column.codes).map(|(run, &code)| {
            let class = &mut class_of_code[code as usize];
            if *class == NONE {
                *class = first_runs.len() as u32;
                first_runs.push(run);
            }
            *class
        });
        ClassNumbers { class_of_run: numbers.collect(), first_runs }
    }

    fn of_several(n_runs: usize, columns: &[Codes<'_>]) -> ClassNumbers {
        const NONE: u32 = u32::MAX;
        let is_same = |a: u32, b: u32| {
            columns.iter().all(|own| own.codes[a as usize] == own.codes[b as usize])
        };
        // Classes whose codes have the same hash are listed from the latest on.
        let mut latest: FxHashMap<u64, u32> = FxHashMap::default();
        let mut earlier: Vec<u32> = Vec::new();
        let mut first_runs: Vec<u32> = Vec::new();
        let mut class_of_run = Vec::with_capacity(n_runs);
        for (run, hash) in (0u32..).zip(hashes(n_runs, columns)) {
            let listed = latest.entry(hash).or_insert(NONE);
            let mut class = *listed;
            while class != NONE && !is_same(first_runs[class as usize], run) {
                class = earlier[class as usize];
            }
            if class == NONE {
                class = first_runs.len() as u32;
                first_runs.push(run);
                earlier.push(std::mem::replace(listed, class));
            }
            class_of_run.push(class);
        }
        ClassNumbers { first_runs, class_of_run }
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.first_runs.len()
    }

    /// The first run of each class.
    pub fn first_runs(&self) -> impl ExactSizeIterator<Item = usize> {
        self.first_runs.iter().map(|&run| run as usize)
    }

    /// The class of each run. A class that was not met before is the next one.
    pub fn of_runs(&self) -> impl ExactSizeIterator<Item = ClassId> {
        self.class_of_run.iter().map(|&class| ClassId::new(class))
    }

    /// The runs, class by class, and where each class begins among them.
    fn by_class(&self) -> (Vec<u32>, Vec<u32>) {
        let mut starts = vec![0u32; self.n_classes() + 1];
        self.class_of_run.iter().for_each(|&class| starts[class as usize + 1] += 1);
        for class in 0..self.n_classes() {
            starts[class + 1] += starts[class];
        }
        let mut next = starts.clone();
        let mut runs = vec![0u32; self.class_of_run.len()];
        for (run, &class) in (0u32..).zip(&self.class_of_run) {
            let place = &mut next[class as usize];
            runs[*place as usize] = run;
            *place += 1;
        }
        (runs, starts)
    }
}

/// A hash of the codes of each run.
fn hashes(n_runs: usize, columns: &[Codes<'_>]) -> Vec<u64> {
    let mut hashes = vec![0u64; n_runs];
    for column in columns {
        let codes = hashes.iter_mut().zip(column.codes);
        codes.for_each(|(hash, &code)| *hash = mix(*hash ^ u64::from(code)));
    }
    hashes
}

/// The rows of a table, class by class.
pub struct Classes {
    runs: RowRuns,
    /// The runs, class by class.
    order: Vec<u32>,
    /// Class `i` has the runs from `starts[i]` to `starts[i + 1]` in that order.
    starts: Vec<u32>,
}

impl Classes {
    /// Groups runs by all their codes. Classes are in the order of their first rows.
    ///
    /// # Panics
    /// When a column has not a code for each run.
    pub fn of(runs: RowRuns, columns: &[Codes<'_>]) -> Classes {
        let (order, starts) = ClassNumbers::of(runs.n_runs(), columns).by_class();
        Classes { runs, order, starts }
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.runs.n_rows()
    }

    /// The runs that are grouped.
    pub fn row_runs(&self) -> &RowRuns {
        &self.runs
    }

    /// The rows of a class.
    #[inline]
    pub fn class(&self, class: ClassId) -> ClassRows<'_> {
        let class = class.index();
        let own = &self.order[self.starts[class] as usize..self.starts[class + 1] as usize];
        ClassRows { runs: &self.runs, own }
    }

    /// The rows of each class.
    pub fn iter(&self) -> impl Iterator<Item = ClassRows<'_>> {
        ClassId::first(self.n_classes()).map(|class| self.class(class))
    }
}

/// The rows of a class: one run of them, or several.
#[derive(Clone, Copy)]
pub struct ClassRows<'a> {
    runs: &'a RowRuns,
    /// Ascending.
    own: &'a [u32],
}

impl<'a> ClassRows<'a> {
    /// Its first run, which shows what all of them do.
    #[inline]
    pub fn first_run(self) -> usize {
        self.own[0] as usize
    }

    /// Its first row.
    pub fn first_row(self) -> RowIdx {
        RowIdx::of_index(self.runs.rows(self.first_run()).start)
    }

    /// Its runs, ascending.
    pub fn runs(self) -> impl Iterator<Item = usize> + Clone + 'a {
        self.own.iter().map(|&run| run as usize)
    }

    /// How many rows it has.
    pub fn n_rows(self) -> usize {
        self.runs().map(|run| self.runs.rows(run).len()).sum()
    }

    /// Its rows, ascending.
    pub fn rows(self) -> impl Iterator<Item = RowIdx> + Clone + 'a {
        let rows = self.runs().flat_map(move |run| self.runs.rows(run));
        rows.map(RowIdx::of_index)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn rows_of(classes: &Classes) -> Vec<Vec<u32>> {
        let rows = |own: ClassRows<'_>| own.rows().map(|row| row.get()).collect();
        classes.iter().map(rows).collect()
    }

    #[test]
    fn rows_with_equal_codes_are_one_class() {
        let (a, b) = ([0, 1, 0, 0, 1], [5, 5, 5, 6, 5]);
        // A domain too large for a table of codes must give the same classes.
        for n_values in [7, u32::MAX] {
            let columns = [Codes { codes: &a, n_values: 2 }, Codes { codes: &b, n_values }];
            let classes = Classes::of(RowRuns::single(5), &columns);
            assert_eq!(rows_of(&classes), [vec![0, 2], vec![1, 4], vec![3]]);
            let classes = Classes::of(RowRuns::single(5), &columns[1..]);
            assert_eq!(rows_of(&classes), [vec![0, 1, 2, 4], vec![3]]);
        }
    }

    proptest! {
        #[test]
        fn runs_are_numbered_as_single_rows_are(
            rows in proptest::collection::vec((0u32..3, 0u32..3, 1u32..5), 0..60),
            n_values in prop_oneof![Just(3), Just(u32::MAX)],
            n_columns in 0usize..3,
        ) {
            let runs = RowRuns::of_sizes(rows.iter().map(|own| own.2));
            let a: Vec<u32> = rows.iter().map(|own| own.0).collect();
            let b: Vec<u32> = rows.iter().map(|own| own.1).collect();
            let columns = [Codes { codes: &a, n_values }, Codes { codes: &b, n_values: 3 }];
            let columns = &columns[..n_columns];
            let mut expected: Vec<Vec<u32>> = Vec::new();
            let mut number_of: HashMap<Vec<u32>, usize> = HashMap::new();
            let mut next_row = 0;
            for (run, &(.., size)) in rows.iter().enumerate() {
                let key = columns.iter().map(|own| own.codes[run]).collect();
                let n_known = number_of.len();
                let number = *number_of.entry(key).or_insert(n_known);
                expected.resize(number_of.len(), Vec::new());
                expected[number].extend(next_row..next_row + size);
                next_row += size;
            }
            let classes = Classes::of(runs.clone(), columns);
            prop_assert_eq!(&rows_of(&classes), &expected);
            prop_assert_eq!(classes.n_rows(), next_row as usize);
            for (class, rows) in classes.iter().zip(&expected) {
                prop_assert_eq!(class.n_rows(), rows.len());
                prop_assert_eq!(class.first_row().get(), rows[0]);
                prop_assert_eq!(runs.rows(class.first_run()).start, rows[0] as usize);
            }
            let numbers = ClassNumbers::of(runs.n_runs(), columns);
            let firsts = numbers.first_runs().map(|run| runs.rows(run).start as u32);
            prop_assert!(firsts.eq(expected.iter().map(|rows| rows[0])));
            for (rows, class) in runs.iter().zip(numbers.of_runs()) {
                let of_class = &expected[class.index()];
                prop_assert!(rows.into_iter().all(|row| of_class.contains(&(row as u32))));
            }
        }
    }

    #[test]
    fn without_columns_all_rows_show_the_same() {
        assert_eq!(Classes::of(RowRuns::single(3), &[]).n_classes(), 1);
        assert_eq!(Classes::of(RowRuns::single(0), &[]).n_classes(), 0);
    }
}
