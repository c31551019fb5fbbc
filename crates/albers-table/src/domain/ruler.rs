//! Where in the gap between two neighbouring values a cut is placed.
//!
//! ```text
//!   rows of the left side   27 ....... 34      rows of the right side
//!   the left side ends at        29|30         the right side begins at
//! ```
//!
//! Guarantee: no row changes its side. If there is room, neither side ends at a value of a row that
//! is known to the ruler.
//! Cost: that of finding a round value, see [`super::round`].

use std::sync::Arc;

use super::round::roundest_ticks;
use super::scale::{Grid, Scale};
use super::{Domain, DomainKind};
use crate::code::Code;
use crate::value::TickFormat;

/// Places cuts on an ordered domain.
#[derive(Clone)]
pub struct Ruler {
    first_code: Code,
    grid: Grid,
    marks: Marks,
}

/// What codes stand for.
#[derive(Clone)]
enum Marks {
    /// Ticks, from those of the first code on.
    Near { min: i64, format: TickFormat },
    /// Places on a scale.
    Far(Arc<Scale>),
}

impl Ruler {
    /// The ruler of whole numbers that are their own codes.
    pub fn of_codes() -> Ruler {
        let grid = Grid { unit: 1, is_single: false };
        let marks = Marks::Near { min: 0, format: TickFormat::Integer };
        Ruler { first_code: Code::ZERO, grid, marks }
    }

    /// Whether it must be told which codes rows have.
    pub fn asks_for_codes(&self) -> bool {
        matches!(self.marks, Marks::Near { .. })
    }

    /// The last code of the left side of a cut between `left`, the greatest code of its rows, and
    /// `right`, the least code of the rows on the other side. `taken` are codes that other rows
    /// have, ascending: a column of them, and so plain numbers.
    pub fn cut(&self, left: Code, right: Code, taken: &[u32]) -> Code {
        if left < self.first_code || right <= left {
            // Between the missing value and the others nothing lies that could be shown.
            return left;
        }
        let (min, format) = match &self.marks {
            Marks::Near { min, format } => (*min, *format),
            Marks::Far(scale) => {
                let (left, right) = (left - self.first_code, right - self.first_code);
                return self.first_code + scale.roundest_cut(left, right, self.grid);
            }
        };
        let ticks_of = |code: Code| min + i64::from(code - self.first_code);
        let code_of = |ticks: i64| self.first_code + (ticks - min) as u32;
        let unit = self.grid.unit;
        let start = taken.partition_point(|&code| code <= left.get());
        let end = taken.partition_point(|&code| code < right.get());
        let between = &taken[start..end.max(start)];
        let is_taken = |ticks: i64| between.binary_search(&code_of(ticks).get()).is_ok();
        let is_free = |t: i64| t % unit == 0 && !is_taken(t) && !is_taken(t - unit);
        let room = self.grid.room(ticks_of(left), ticks_of(right));
        let first = roundest_ticks(format, room, is_free)
            .or_else(|| {
                let (lo, hi) = widest_gap(left, right, between)?;
                let room = self.grid.room(ticks_of(lo), ticks_of(hi));
                roundest_ticks(format, room, |t| t % unit == 0)
            })
            .or_else(|| roundest_ticks(format, room, |t| t % unit == 0));
        first.map_or(left, |first| code_of(first - 1))
    }
}

/// The widest gap between neighbours of some codes, if any code lies between the first two.
fn widest_gap(left: Code, right: Code, between: &[u32]) -> Option<(Code, Code)> {
    let (first, last) = (Code::new(*between.first()?), Code::new(*between.last()?));
    let inner = between.windows(2).map(|pair| (Code::new(pair[0]), Code::new(pair[1])));
    let gaps = [(left, first)].into_iter().chain(inner).chain([(last, right)]);
    gaps.reduce(|widest, gap| if gap.1 - gap.0 > widest.1 - widest.0 { gap } else { widest })
}

impl Domain {
    /// The ruler of an ordered domain.
    pub fn ruler(&self) -> Option<Ruler> {
        let (first_code, marks) = match &self.kind {
            DomainKind::Near { min, first_code, format, .. } => {
                (*first_code, Marks::Near { min: *min, format: *format })
            }
            DomainKind::Far { scale, first_code } => (*first_code, Marks::Far(scale.clone())),
            DomainKind::Names { .. } | DomainKind::Tree { .. } => return None,
        };
        Some(Ruler { first_code, grid: self.grid(), marks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::TextColumnBuilder;
    use crate::coding::{CodingPlan, RawColumn, encode};
    use crate::domain::End;
    use crate::schema::ColumnType;

    /// A column, and the codes of its cells.
    fn coded(column_type: ColumnType, cells: &[&str]) -> (Domain, Vec<Code>) {
        let mut builder = TextColumnBuilder::new(column_type);
        for cell in cells {
            match cell.is_empty() {
                true => builder.push_missing(),
                false => builder.push(cell.as_bytes()).unwrap(),
            }
        }
        let chunks = vec![builder.finish().unwrap()];
        let column = RawColumn { name: "x".to_owned(), column_type, data_type: None, chunks };
        let coded = encode(column, CodingPlan::Ordered).unwrap();
        (coded.domain, coded.codes.concat().into_iter().map(Code::new).collect())
    }

    /// The texts at both sides of the cut between two cells.
    fn sides(column_type: ColumnType, cells: &[&str], left: usize, right: usize) -> [String; 2] {
        let (domain, codes) = coded(column_type, cells);
        let mut taken: Vec<u32> = codes.iter().map(|code| code.get()).collect();
        taken.sort_unstable();
        let cut = domain.ruler().unwrap().cut(codes[left], codes[right], &taken);
        assert!((codes[left]..codes[right]).contains(&cut));
        [(cut, End::High), (cut + 1, End::Low)].map(|(code, end)| {
            let code = domain.shown_code(code, end);
            let mut text = String::new();
            domain.write_ordered(domain.region_end(code, end), &mut text);
            text
        })
    }

    #[test]
    fn near_cuts_lie_at_round_values() {
        use ColumnType::{Date, Decimal, Integer, Timestamp};
        let cases: [(ColumnType, &[&str], [&str; 2]); 8] = [
            (Integer, &["27", "34"], ["29", "30"]),
            (Integer, &["-34", "27"], ["-1", "0"]),
            (Integer, &["20", "21"], ["20", "21"]),
            (Integer, &["20", "22"], ["20", "21"]),
            (Integer, &["20", "23"], ["21", "22"]),
            (Decimal, &["1.83", "2.61"], ["1.99", "2"]),
            (Date, &["1999-05-03", "2003-07-09"], ["1999-12-31", "2000-01-01"]),
            (
                Timestamp,
                &["2024-01-01 10:52:01", "2024-01-01 11:02:00"],
                ["2024-01-01 10:59:59.999999", "2024-01-01 11:00:00"],
            ),
        ];
        for (kind, cells, expected) in cases {
            assert_eq!(sides(kind, cells, 0, 1), expected);
            // The same where a cell is missing, and codes begin further up.
            let more = [cells, &[""]].concat();
            assert_eq!(sides(kind, &more, 0, 1), expected);
        }
    }

    #[test]
    fn far_cuts_lie_at_round_values() {
        use ColumnType::{Float, Integer, Timestamp};
        let cases: [(ColumnType, &[&str], [&str; 2]); 5] = [
            (Integer, &["27", "34", "99999999999"], ["29", "30"]),
            (Integer, &["20", "21", "99999999999"], ["20", "21"]),
            (Float, &["1.83", "2.61"], ["2.0", "2.0"]),
            (Float, &["1.8312", "1.8315", "1e300"], ["1.8313", "1.8313"]),
            (
                Timestamp,
                &["1999-05-03 10:00:00", "2003-05-03 10:00:00"],
                ["1999-12-31 23:59:59.999999", "2000-01-01 00:00:00"],
            ),
        ];
        for (kind, cells, expected) in cases {
            assert_eq!(sides(kind, cells, 0, 1), expected);
            let more = [cells, &[""]].concat();
            assert_eq!(sides(kind, &more, 0, 1), expected);
        }
    }

    #[test]
    fn values_of_other_rows_are_passed_over() {
        let pay = ["1200", "2000", "3000", "4000", "4900"];
        assert_eq!(sides(ColumnType::Integer, &pay, 0, 4), ["2499", "2500"]);
        let wide = ["1200", "2000", "3000", "4000", "4900", "99999999999"];
        assert_eq!(sides(ColumnType::Integer, &wide, 0, 4), ["2499", "2500"]);
        let floats = ["1200", "2000", "3000", "4000", "4900"];
        assert_eq!(sides(ColumnType::Float, &floats, 0, 4), ["2500.0", "2500.0"]);
        // All values but one gap are taken.
        let mut dense: Vec<String> = (0..100).chain(103..200).map(|n| n.to_string()).collect();
        let cells: Vec<&str> = dense.iter().map(String::as_str).collect();
        assert_eq!(sides(ColumnType::Integer, &cells, 0, 196), ["100", "101"]);
        // Nothing is free: the roundest value lies at least between the rows of both sides.
        dense = (0..200).map(|n| n.to_string()).collect();
        let cells: Vec<&str> = dense.iter().map(String::as_str).collect();
        assert_eq!(sides(ColumnType::Integer, &cells, 3, 196), ["99", "100"]);
    }

    #[test]
    fn nothing_is_cut_between_the_missing_value_and_the_others() {
        for cells in [["", "27", "34"], ["", "27", "99999999999"]] {
            let (domain, codes) = coded(ColumnType::Integer, &cells);
            let ruler = domain.ruler().unwrap();
            assert_eq!(ruler.cut(codes[0], codes[1], &[]), codes[0]);
            assert_eq!(ruler.cut(codes[0], codes[2], &[]), codes[0]);
        }
    }

    #[test]
    fn the_outermost_ends_are_the_least_and_the_greatest_value() {
        for (kind, cells) in [
            (ColumnType::Integer, ["27", "34", "99999999999"]),
            (ColumnType::Float, ["0.27", "34.5", "1e80"]),
        ] {
            let (domain, codes) = coded(kind, &cells);
            for (at, end) in [(0, End::Low), (2, End::High)] {
                let mut text = String::new();
                domain.write_ordered(domain.region_end(codes[at], end), &mut text);
                assert_eq!(text, cells[at]);
            }
        }
    }
}
