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
//! Cost: one pass over the rows per column, 12 bytes per row.

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
        let mut class_of = vec![0u32; n_rows];
        let mut n_classes = u32::from(n_rows > 0);
        for column in columns {
            assert_eq!(column.codes.len(), n_rows, "a code for each row");
            n_classes = refine(&mut class_of, n_classes, *column);
        }
        let mut starts = vec![0u32; n_classes as usize + 1];
        class_of.iter().for_each(|&class| starts[class as usize + 1] += 1);
        for class in 0..n_classes as usize {
            starts[class + 1] += starts[class];
        }
        let mut next = starts.clone();
        let own_rows = RowIdx::FIRST.take(n_rows);
        let mut rows: Vec<RowIdx> = own_rows.clone().collect();
        for (row, &class) in own_rows.zip(&class_of) {
            let place = &mut next[class as usize];
            rows[*place as usize] = row;
            *place += 1;
        }
        Classes { rows, starts }
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

/// Splits classes by one more column and returns how many there are then.
fn refine(class_of: &mut [u32], n_classes: u32, column: Codes<'_>) -> u32 {
    const NONE: u32 = u32::MAX;
    let mut n_refined = 0u32;
    let mut number = |refined: &mut u32| {
        if *refined == NONE {
            *refined = n_refined;
            n_refined += 1;
        }
        *refined
    };
    let n_pairs = u64::from(n_classes) * u64::from(column.n_values);
    if n_pairs <= 4 * class_of.len() as u64 + (1 << 16) {
        let mut table = vec![NONE; n_pairs as usize];
        for (class, &code) in class_of.iter_mut().zip(column.codes) {
            let pair = *class as usize * column.n_values as usize + code as usize;
            *class = number(&mut table[pair]);
        }
    } else {
        let mut table: FxHashMap<u64, u32> = FxHashMap::default();
        for (class, &code) in class_of.iter_mut().zip(column.codes) {
            let pair = u64::from(*class) << 32 | u64::from(code);
            *class = number(table.entry(pair).or_insert(NONE));
        }
    }
    n_refined
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn without_columns_all_rows_show_the_same() {
        assert_eq!(Classes::of(3, &[]).n_classes(), 1);
        assert_eq!(Classes::of(0, &[]).n_classes(), 0);
    }
}
