//! Published ends that are the value of few rows: whoever knows that somebody has the least or the
//! greatest value of a class, an outlier, reads it off.
//!
//! Guarantee: an end counts if some published rows have just this value, and fewer than asked. Both
//! are counted over all published rows where the codes of a column are few, and beyond that over
//! the codes of least hash, which is said. Of a release that was read back, rows are those of its
//! original, also if it leaves some out.
//! Cost: a count per row and ordered attribute; memory that is given.

use albers_classes::Attribute;
use albers_classes::space::Shown;
use albers_release::describe::{CellContent, Describer, ShownCell};
use albers_release::door::{Class, Passed};
use albers_release::parse::ReadCell;
use albers_table::code::Code;
use rayon::prelude::*;

use crate::counted_codes::CountedCodes;
use crate::released::ReleasedColumn;

/// Classes that are looked at together, column by column.
pub(crate) const CLASSES_PER_BLOCK: usize = 2048;

/// The ends of each attribute, from what passes the door.
pub struct EndParts {
    /// Nothing for attributes that show no intervals.
    columns: Vec<Option<ColumnEnds>>,
}

/// How many published ends of an attribute are values of few rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnEnds {
    /// Distinct ends that are the value of some rows, but of fewer than asked.
    pub n_few: u64,
    /// Distinct ends.
    pub n_ends: u64,
    /// Whether both are estimates.
    pub is_about: bool,
}

/// The codes of an attribute, with their rows, and which of them are ends.
enum ColumnEnds {
    /// All of them, by code: the rows as far as [`MOST_ROWS`], and [`IS_END`].
    Few(Vec<u16>),
    /// With all their rows, where more are asked for, or not all codes fit.
    Counted(CountedCodes),
}

/// Marks a code that is an end.
const IS_END: u16 = 1 << 15;
/// Rows of a code beyond this are not counted: no more are asked for.
const MOST_ROWS: u16 = IS_END - 1;

impl EndParts {
    /// Of no part yet, in so many bytes; no more than `most_k` rows will be asked for.
    pub fn new(attributes: &[Attribute], n_bytes: usize, most_k: u64) -> EndParts {
        let is_shown = |own: &&Attribute| own.shown == Shown::Interval;
        let n_columns = attributes.iter().filter(is_shown).count().max(1);
        let column = |attribute: &Attribute| {
            is_shown(&attribute).then(|| {
                let greatest = attribute.domain.code_range().1;
                ColumnEnds::new(greatest, n_bytes / n_columns, most_k)
            })
        };
        EndParts { columns: attributes.iter().map(column).collect() }
    }

    /// Adds some classes. Rows that are left out show nothing.
    pub fn add(&mut self, part: &Passed<'_, '_>) {
        match part {
            Passed::Classes(classes) => {
                // A block of classes stays in a cache while all columns look at it.
                for block in classes.classes_by_memory().chunks(CLASSES_PER_BLOCK) {
                    let block: Vec<Class<'_>> =
                        block.iter().map(|met| classes.class_of(met)).collect();
                    let describers = classes.describers();
                    self.each_column(|attribute, column| column.add(describers, &block, attribute));
                }
            }
            Passed::Giant(giant) => self.each_column(|attribute, column| {
                column.add_ends(&giant.describers[attribute], giant.cells[attribute]);
            }),
            Passed::GiantRows(rows) => self.each_column(|attribute, column| {
                column.add_codes(rows.codes, attribute, rows.class.describers.len());
            }),
            Passed::LeftOut(_) => {}
        }
    }

    /// Does something with each attribute that shows intervals.
    fn each_column(&mut self, work: impl Fn(usize, &mut ColumnEnds) + Sync) {
        let columns = self.columns.par_iter_mut().enumerate();
        let columns = columns.filter_map(|(attribute, own)| Some((attribute, own.as_mut()?)));
        columns.for_each(|(attribute, column)| work(attribute, column));
    }

    /// Adds a release that was read back, and the codes of all rows of its original, attribute by
    /// attribute.
    pub fn add_released(&mut self, released: &[ReleasedColumn<'_>], codes: &[Vec<u32>]) {
        let columns = self.columns.par_iter_mut().zip(released).zip(codes);
        let columns =
            columns.filter_map(|((own, released), codes)| Some((own.as_mut()?, released, codes)));
        columns.for_each(|(column, released, codes)| {
            column.add_codes(codes, 0, 1);
            released.cells.iter().for_each(|cell| column.add_read_ends(cell));
        });
    }

    /// The ends of each attribute that fewer than `k` rows have; nothing where no intervals are.
    pub fn own_ends(&self, k: u64) -> Vec<Option<OwnEnds>> {
        let columns = self.columns.iter();
        columns.map(|column| column.as_ref().map(|column| column.own_ends(k))).collect()
    }
}

impl ColumnEnds {
    fn new(greatest: Code, n_bytes: usize, most_k: u64) -> ColumnEnds {
        let all_bytes = (greatest.index() + 1).saturating_mul(size_of::<u16>());
        match all_bytes <= n_bytes && most_k <= u64::from(MOST_ROWS) {
            true => ColumnEnds::Few(vec![0; greatest.index() + 1]),
            false => ColumnEnds::Counted(CountedCodes::new(greatest, n_bytes)),
        }
    }

    fn add(&mut self, describers: &[Describer<'_>], block: &[Class<'_>], attribute: usize) {
        for class in block {
            for (_, codes) in class.parts() {
                self.add_codes(codes, attribute, describers.len());
            }
            self.add_ends(&describers[attribute], class.cells[attribute]);
        }
    }

    /// Counts the rows that have these codes, which stand row by row.
    fn add_codes(&mut self, codes: &[u32], attribute: usize, n_attributes: usize) {
        let own = codes.iter().skip(attribute).step_by(n_attributes);
        match self {
            ColumnEnds::Few(counts) => own.for_each(|&code| {
                let count = &mut counts[code as usize];
                *count += u16::from(*count & MOST_ROWS < MOST_ROWS);
            }),
            ColumnEnds::Counted(counts) => {
                own.for_each(|&code| counts.add(Code::new(code), 1, 0));
            }
        }
    }

    /// Marks an end.
    fn add_end(&mut self, code: Code) {
        match self {
            ColumnEnds::Few(counts) => counts[code.index()] |= IS_END,
            ColumnEnds::Counted(counts) => counts.add(code, 0, 1),
        }
    }

    /// Marks the ends that a class shows.
    fn add_ends(&mut self, describer: &Describer<'_>, cell: ShownCell) {
        describer.end_values(cell).into_iter().flatten().for_each(|code| self.add_end(code));
    }

    /// Marks the ends of a cell that was read back.
    fn add_read_ends(&mut self, cell: &ReadCell) {
        if let CellContent::Interval { lo, hi, .. } = cell.content {
            let ends = [lo, hi].into_iter().zip(cell.are_values);
            ends.filter(|(_, is_value)| *is_value).for_each(|(code, _)| self.add_end(code));
        }
    }

    fn own_ends(&self, k: u64) -> OwnEnds {
        let (mut n_few, mut n_ends) = (0u64, 0u64);
        let mut see = |n_rows: u64, is_end: bool| {
            n_ends += u64::from(is_end);
            n_few += u64::from(is_end && n_rows > 0 && n_rows < k);
        };
        let share = match self {
            ColumnEnds::Few(counts) => {
                let each = counts.iter().map(|own| (u64::from(own & MOST_ROWS), own & IS_END > 0));
                each.for_each(|(n_rows, is_end)| see(n_rows, is_end));
                1.0
            }
            ColumnEnds::Counted(counts) => {
                counts.for_each(|n_rows, n_times_end| see(n_rows.into(), n_times_end > 0));
                counts.sampled_share()
            }
        };
        let all = |n: u64| (n as f64 / share).round() as u64;
        OwnEnds { n_few: all(n_few), n_ends: all(n_ends), is_about: share < 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_ends(codes: CountedCodes, k: u64) -> OwnEnds {
        ColumnEnds::Counted(codes).own_ends(k)
    }

    #[test]
    fn rows_that_are_counted_as_far_as_is_asked_tell_the_same_ends() {
        let codes: Vec<u32> = (0..400).flat_map(|code| vec![code; (code % 13) as usize]).collect();
        let found = |most_k: u64| {
            let mut ends = ColumnEnds::new(Code::new(400), 1 << 12, most_k);
            assert_eq!(matches!(ends, ColumnEnds::Few(_)), most_k < 1000);
            (0..90).for_each(|_| ends.add_codes(&codes, 0, 1));
            (0..400).filter(|code| code % 3 == 0).for_each(|code| ends.add_end(Code::new(code)));
            ends.add_codes(&vec![7; 40_000], 0, 1);
            [2, 91, 300, 900].map(|k| ends.own_ends(k))
        };
        assert_eq!(found(900), found(100_000));
    }

    #[test]
    fn ends_of_few_rows_are_told_from_those_of_many_and_of_none() {
        for n_bytes in [0, 1 << 20] {
            let mut codes = CountedCodes::new(Code::new(100), n_bytes);
            for (code, n_rows, is_end) in [(3, 4, 1), (9, 5, 1), (20, 0, 1), (21, 1, 0), (3, 0, 1)]
            {
                codes.add(Code::new(code), n_rows, is_end);
            }
            let found = own_ends(codes, 5);
            assert_eq!((found.n_few, found.n_ends, found.is_about), (1, 3, false));
        }
    }

    #[test]
    fn many_codes_are_sampled_with_all_their_rows_and_that_is_said() {
        let mut codes = CountedCodes::new(Code::new(1 << 20), 0);
        for _ in 0..2 {
            // Half of the ends have two rows, half of them four.
            for code in 0..40_000 {
                codes.add(Code::new(code), 1 + code % 2, u32::from(code % 4 < 2));
            }
        }
        let found = own_ends(codes, 3);
        assert!(found.is_about);
        assert!((8_000..12_000).contains(&found.n_few), "{found:?}");
        assert!((16_000..24_000).contains(&found.n_ends), "{found:?}");
    }
}
