//! The type of a column of text, told from its cells.
//!
//! A type is taken when nearly all cells have it, not only when all do: a date column with one bad
//! date is then refused where the bad date stands, instead of being read as names.
//!
//! Guarantee: the type is a function of how many cells look like what, whatever their order. What
//! is known of cells that were read as a type (`TypeSample::of_read`) stands for their texts: as
//! long as the type is one that the rule gave to some of the column's cells, all of them together
//! get the type that a look at every text gives them.
//!
//! ```text
//!   read as              is known of the texts                      and not, as it decides nothing
//!   integer              whole numbers without leading zeros
//!   decimal              decimals, their longest parts, and how     which of them are whole
//!                        many could be whole thousands
//!   float                floats, and the same                       which are decimals: some are
//!                                                                   not, or too long
//!   date, time, boolean  just that
//!   text, code           all distinct texts, with their numbers
//! ```
//!
//! Numbers are counted by what they are with a decimal point and with a decimal comma. Most are the
//! same with both, `1.5` and `1,234.5` are numbers with a point only, `1,5` and `1.234.567` with a
//! comma only, and `45.310` is one number with a point and another with a comma.

mod numbers;

use self::numbers::{DIGITS_OF_DAY, Lookalikes, MOST_DIGITS, NumberCounts, ends_in_zero};
use crate::chunk::{Cells, ColumnChunk};
use crate::notation::{
    DateShapes, DecimalMark, Doubt, Notation, ToldDates, is_known_missing, is_undecided_decimal,
    is_written_for_missing, plain_number,
};
use crate::schema::ColumnType;
use crate::value::{self, ParseProblem};

pub(crate) use self::numbers::PointCounts;

/// Numbers whose whole parts are months are months where so many of these occur: a rate that stays
/// around `1.2000` has one or two.
const FEWEST_MONTHS: u32 = 3;

/// What some cells of one column look like.
#[derive(Debug, Clone, Default)]
pub struct TypeSample {
    /// Cells that are not missing, nor known to stand for a missing value.
    n_cells: u64,
    /// Cells that stand for a missing value where all others are typed.
    n_known_missing: u64,
    /// Those of them that programs write for it, and hardly anybody else.
    n_written_for_missing: u64,
    /// Numbers that are the same with a decimal point and with a decimal comma.
    by_both: NumberCounts,
    /// Numbers with a decimal point that are none with a comma, or others.
    by_point: NumberCounts,
    /// Numbers with a decimal comma that are none with a point, or others.
    by_comma: NumberCounts,
    /// Cells that are one number with a point and another with a comma.
    n_undecided: u64,
    /// Whether one of these ends in a zero.
    has_final_zero: bool,
    /// Numbers that may be codes or months.
    lookalikes: Lookalikes,
    /// Whether a number has a comma, whatever it stands for.
    has_comma: bool,
    /// Whole numbers whose thousands are separated by spaces, as telephone numbers are.
    n_spaced: u64,
    n_dates: u64,
    n_timestamps: u64,
    n_booleans: u64,
    /// Dates and times that are not written as the program writes them.
    shapes: DateShapes,
}

impl TypeSample {
    /// Looks at one cell that is not missing.
    pub fn add(&mut self, cell: &[u8]) {
        self.add_times(cell, 1);
    }

    /// Looks at so many cells of one text, which is not missing.
    fn add_times(&mut self, cell: &[u8], n_cells: u64) {
        let cell = cell.trim_ascii();
        self.n_cells += n_cells;
        let is_told = match cell.first() {
            Some(b'0'..=b'9' | b'-' | b'+' | b'.') => self.add_number_or_date(cell, n_cells),
            Some(b't' | b'T' | b'f' | b'F') if value::parse_boolean(cell).is_ok() => {
                self.n_booleans += n_cells;
                true
            }
            Some(b'i' | b'I') if value::parse_float(cell) == Err(ParseProblem::NotFinite) => {
                self.by_both.n_floats += n_cells;
                true
            }
            Some(b',' | b'\xc2' | b'\xe2') => self.add_foreign_number(cell, n_cells),
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.shapes.add(cell, n_cells),
            _ => false,
        };
        if !is_told && is_known_missing(cell) {
            self.n_cells -= n_cells;
            self.n_known_missing += n_cells;
            self.n_written_for_missing += n_cells * u64::from(is_written_for_missing(cell));
        }
    }

    /// Whether it was one.
    fn add_number_or_date(&mut self, cell: &[u8], n_cells: u64) -> bool {
        if let Some(has_point) = is_short_number(cell) {
            match has_point {
                false => {
                    self.lookalikes.add_integer(cell, n_cells);
                    self.by_both.add_integer(cell, n_cells);
                }
                true => self.add_plain_decimal(cell, n_cells),
            }
        } else if !matches!(value::parse_integer(cell), Err(ParseProblem::NotA(_))) {
            self.by_both.add_integer(cell, n_cells);
        } else if value::parse_decimal(cell).is_ok() {
            self.by_point.add_decimal(cell, n_cells);
        } else if !matches!(value::parse_float(cell), Err(ParseProblem::NotA(_))) {
            self.lookalikes.add(cell, n_cells);
            match cell.contains(&b'.') {
                true => self.by_point.n_floats += n_cells,
                false => self.by_both.n_floats += n_cells,
            }
            if is_undecided_decimal(cell) {
                self.n_undecided += n_cells;
                self.has_final_zero |= ends_in_zero(cell);
                self.by_comma.n_foreign += n_cells;
                self.by_comma.n_floats += n_cells;
            }
        } else if !matches!(value::parse_date(cell), Err(ParseProblem::NotA(_))) {
            self.n_dates += n_cells;
        } else if !matches!(value::parse_timestamp(cell), Err(ParseProblem::NotA(_))) {
            self.n_timestamps += n_cells;
        } else {
            return self.add_foreign_number(cell, n_cells) || self.shapes.add(cell, n_cells);
        }
        true
    }

    fn add_plain_decimal(&mut self, cell: &[u8], n_cells: u64) {
        self.lookalikes.add(cell, n_cells);
        self.by_point.add_decimal(cell, n_cells);
        if is_undecided_decimal(cell) {
            self.n_undecided += n_cells;
            self.has_final_zero |= ends_in_zero(cell);
            self.by_comma.n_foreign += n_cells;
            self.by_comma.n_integers += n_cells;
            // Six digits at most, which is no more than a decimal holds.
            self.by_comma.n_decimals += n_cells;
            self.by_comma.n_floats += n_cells;
        }
    }

    /// Counts a number that is not written as the program writes it, if the cell is one.
    fn add_foreign_number(&mut self, cell: &[u8], n_cells: u64) -> bool {
        let (mut point, mut comma) = (Vec::new(), Vec::new());
        let by_point = plain_number(cell, DecimalMark::Point, &mut point);
        let by_comma = plain_number(cell, DecimalMark::Comma, &mut comma);
        let Some(text) = by_point.or(by_comma) else { return false };
        self.has_comma |= cell.contains(&b',');
        self.n_spaced += n_cells * u64::from(text.is_spaced && text.is_whole);
        match (by_point, by_comma) {
            (Some(text), Some(_)) if point == comma => {
                self.by_both.add_foreign(text, &point, n_cells);
            }
            (by_point, by_comma) => {
                let is_both = by_point.is_some() && by_comma.is_some();
                self.n_undecided += n_cells * u64::from(is_both);
                self.has_final_zero |= is_both && ends_in_zero(cell);
                if let Some(text) = by_point {
                    self.by_point.add_foreign(text, &point, n_cells);
                }
                if let Some(text) = by_comma {
                    self.by_comma.add_foreign(text, &comma, n_cells);
                }
            }
        }
        true
    }

    /// What is known of the texts of cells that were read as a type, as the program writes it; of
    /// decimals and floats also what was counted of their points.
    pub(crate) fn of_read(
        column_type: ColumnType,
        chunk: &ColumnChunk,
        points: &PointCounts,
    ) -> TypeSample {
        let n_cells = (chunk.n_rows() - chunk.missing.len()) as u64;
        let mut sample = TypeSample { n_cells, ..TypeSample::default() };
        match column_type {
            ColumnType::Integer => {
                sample.by_both.n_integers = n_cells;
                sample.by_both.n_decimals = n_cells;
                sample.by_both.n_floats = n_cells;
                sample.by_both.count_digits_of_ticks(&chunk.cells);
                sample.by_both.has_integers = n_cells > 0;
                sample.by_both.has_long_integers = sample.by_both.most_digits_before > 3;
                if sample.by_both.most_digits_before >= DIGITS_OF_DAY {
                    sample.lookalikes.add_ticks(&chunk.cells);
                }
            }
            ColumnType::Decimal => {
                let &PointCounts { n_whole, n_leading_zeros, n_undecided, n_decided, .. } = points;
                sample.add_looks(points);
                sample.by_both.n_integers = n_whole;
                sample.by_both.n_leading_zeros = n_leading_zeros;
                sample.by_both.n_decimals = n_whole;
                sample.by_both.n_floats = n_whole;
                sample.by_point.n_decimals = n_undecided + n_decided;
                sample.by_point.n_floats = n_undecided + n_decided;
                sample.by_point.count_digits_of_ticks(&chunk.cells);
                sample.count_thousands(n_undecided);
            }
            ColumnType::Float => {
                let &PointCounts { n_whole, n_undecided, n_decided, .. } = points;
                sample.add_looks(points);
                sample.by_both.n_floats = n_whole;
                sample.by_point.n_floats = n_undecided + n_decided;
                sample.count_thousands(n_undecided);
            }
            ColumnType::Date => sample.n_dates = n_cells,
            ColumnType::Timestamp => sample.n_timestamps = n_cells,
            ColumnType::Boolean => sample.n_booleans = n_cells,
            ColumnType::Text | ColumnType::Code => return TypeSample::of_names(chunk),
        }
        sample
    }

    /// Adds what was seen of the digits of decimals or floats.
    fn add_looks(&mut self, points: &PointCounts) {
        self.by_both.has_integers = points.has_integers;
        self.by_both.has_long_integers = points.has_long_integers;
        self.has_final_zero = points.has_final_zero;
        self.lookalikes = points.lookalikes;
    }

    /// Counts decimals that are whole thousands with a decimal comma.
    fn count_thousands(&mut self, n_cells: u64) {
        self.n_undecided = n_cells;
        self.by_comma.n_foreign = n_cells;
        self.by_comma.n_integers = n_cells;
        self.by_comma.n_decimals = n_cells;
        self.by_comma.n_floats = n_cells;
    }

    /// So many cells were read as missing since they are known to stand for that.
    pub(crate) fn add_known_missing(&mut self, n_cells: u64) {
        self.n_known_missing += n_cells;
    }

    /// How many cells are known to stand for a missing value.
    pub(crate) fn n_known_missing(&self) -> u64 {
        self.n_known_missing
    }

    /// How many cells programs write where there is no value.
    pub(crate) fn n_written_for_missing(&self) -> u64 {
        self.n_written_for_missing
    }

    fn of_names(chunk: &ColumnChunk) -> TypeSample {
        let n_cells = (chunk.n_rows() - chunk.missing.len()) as u64;
        let mut sample = TypeSample::default();
        let Cells::Names { names, .. } = &chunk.cells else { return sample };
        let is_text = |name: &String| {
            sample.add(name.as_bytes());
            sample.is_nothing_but_text()
        };
        if names.iter().all(is_text) {
            // Nothing but text, which need not be counted name by name.
            return TypeSample { n_cells, ..TypeSample::default() };
        }
        let mut sample = TypeSample::default();
        chunk.for_each_name(|name, n_rows| sample.add_times(name.as_bytes(), n_rows));
        debug_assert_eq!(
            sample.n_cells + sample.n_known_missing,
            n_cells,
            "every row that is not missing has a name"
        );
        sample
    }

    fn is_nothing_but_text(&self) -> bool {
        !self.has_value() && self.n_booleans + self.n_known_missing == 0
    }

    /// Adds what other cells of the column look like.
    pub fn merge(&mut self, other: &TypeSample) {
        self.n_cells += other.n_cells;
        self.n_known_missing += other.n_known_missing;
        self.n_written_for_missing += other.n_written_for_missing;
        self.by_both.merge(&other.by_both);
        self.by_point.merge(&other.by_point);
        self.by_comma.merge(&other.by_comma);
        self.n_undecided += other.n_undecided;
        self.has_final_zero |= other.has_final_zero;
        self.lookalikes.merge(&other.lookalikes);
        self.has_comma |= other.has_comma;
        self.n_spaced += other.n_spaced;
        self.n_dates += other.n_dates;
        self.n_timestamps += other.n_timestamps;
        self.n_booleans += other.n_booleans;
        self.shapes.merge(&other.shapes);
    }

    /// Whether decimals would not fit in 64 bits, brought to one length after the point. More cells
    /// never change that.
    pub(crate) fn is_too_wide(&self, notation: &Notation) -> bool {
        match notation {
            Notation::Numbers(mark) => self.numbers(*mark).is_too_wide(),
            _ => self.numbers(DecimalMark::Point).is_too_wide(),
        }
    }

    /// The type that fits cells as the program writes them; text when none does or when every cell
    /// is missing.
    pub fn column_type(&self) -> ColumnType {
        self.told(Some(DecimalMark::Point)).0
    }

    fn nearly_all(&self, n: u64) -> bool {
        n * 20 >= self.n_cells * 19
    }

    /// The numbers with a decimal mark.
    fn numbers(&self, mark: DecimalMark) -> NumberCounts {
        let mut counts = self.by_both;
        counts.merge(match mark {
            DecimalMark::Point => &self.by_point,
            DecimalMark::Comma => &self.by_comma,
        });
        counts
    }

    /// The decimal mark that the cells tell, if they are numbers and tell one.
    pub(crate) fn told_mark(&self) -> Option<DecimalMark> {
        let (n_point, n_comma) = (self.by_point.n_floats, self.by_comma.n_floats);
        let is_numbers = |n: u64| n > 0 && self.nearly_all(self.by_both.n_floats + n);
        match n_point.cmp(&n_comma) {
            std::cmp::Ordering::Greater if is_numbers(n_point) => Some(DecimalMark::Point),
            std::cmp::Ordering::Less if is_numbers(n_comma) => Some(DecimalMark::Comma),
            _ => None,
        }
    }

    /// Whether a cell is a number, a date or a time, in any notation.
    pub(crate) fn has_value(&self) -> bool {
        let n_numbers = self.by_both.n_floats + self.by_point.n_floats + self.by_comma.n_floats;
        n_numbers + self.n_dates + self.n_timestamps > 0 || !self.shapes.is_empty()
    }

    /// Whether a number has a comma, whatever it stands for.
    pub(crate) fn has_comma(&self) -> bool {
        self.has_comma
    }

    /// Whether each number with a separator is another with a decimal comma, as `1.234` is.
    pub(crate) fn is_all_undecided(&self) -> bool {
        self.n_undecided > 0
            && self.by_point.n_floats == self.n_undecided
            && self.by_comma.n_floats == self.n_undecided
    }

    /// Whether they are, and numbers look as where a point stands between thousands: those without a
    /// separator are below a thousand, and one with a separator ends in a zero. Whoever writes `980`
    /// for 980.000 writes no zeros at the ends of decimals.
    pub(crate) fn may_be_thousands(&self) -> bool {
        let whole = &self.by_both;
        let is_short = whole.has_integers && !whole.has_long_integers;
        self.is_all_undecided() && is_short && self.has_final_zero
    }

    /// Whether a number that is another with a decimal comma ends in a zero.
    pub(crate) fn has_final_zero(&self) -> bool {
        self.has_final_zero
    }

    /// Whether the cells are days such as `31.12.2020`, which are written where a comma is decimal.
    pub(crate) fn has_dotted_days(&self) -> bool {
        let n_dotted = self.shapes.n_dotted();
        n_dotted > 0 && self.nearly_all(n_dotted)
    }

    /// Whether the cells are months such as `03.2019`, which no number is written as, or `3.2019` of
    /// several months.
    pub(crate) fn are_months(&self) -> bool {
        let Lookalikes { n_months, n_months_with_zero, months, .. } = self.lookalikes;
        let is_varied = months.count_ones() >= FEWEST_MONTHS;
        (n_months_with_zero > 0 || is_varied) && self.nearly_all(n_months)
    }

    /// Whether all cells are whole numbers that could be days such as `20201231`.
    pub(crate) fn may_be_days(&self) -> bool {
        self.n_cells > 0 && self.lookalikes.n_days == self.n_cells
    }

    /// Whether all numbers look like codes such as `1E10`.
    fn are_codes_with_exponent(&self) -> bool {
        let n_numbers = self.by_both.n_floats + self.by_point.n_floats + self.by_comma.n_floats;
        self.lookalikes.n_codes > 0 && self.lookalikes.n_codes == n_numbers
    }

    /// The type that fits and how its cells are written; text when none does or when every cell is
    /// missing. `mark` is the decimal mark where it is known: of the table, if the cells do not tell
    /// it.
    pub(crate) fn told(&self, mark: Option<DecimalMark>) -> (ColumnType, Notation) {
        let text = (ColumnType::Text, Notation::Plain);
        if self.n_cells == 0 || self.are_months() || self.are_codes_with_exponent() {
            return text;
        }
        let is_number = |mark: DecimalMark| {
            let n_numbers = self.numbers(mark).n_floats;
            // Telephone numbers are written with spaces too, but all of them.
            self.nearly_all(n_numbers) && self.n_spaced < n_numbers
        };
        if is_number(DecimalMark::Point) || is_number(DecimalMark::Comma) {
            let notation = self.number_notation(mark);
            let kind = match &notation {
                Notation::Numbers(mark) => self.numbers(*mark).column_type(),
                _ => self.numbers(DecimalMark::Point).column_type(),
            };
            return match (notation, kind) {
                // With a mark that somebody said they may be no numbers.
                (Notation::Numbers(mark), _) if !is_number(mark) => text,
                (Notation::Plain, _) if !is_number(DecimalMark::Point) => text,
                (doubt @ Notation::Undecided(_), _) => (ColumnType::Text, doubt),
                (_, ColumnType::Code) => (ColumnType::Code, Notation::Plain),
                (notation, kind) => (kind, notation),
            };
        }
        if self.nearly_all(self.n_dates) {
            return (ColumnType::Date, Notation::Plain);
        }
        if self.nearly_all(self.n_timestamps) {
            return (ColumnType::Timestamp, Notation::Plain);
        }
        if self.n_booleans == self.n_cells {
            return (ColumnType::Boolean, Notation::Plain);
        }
        match self.shapes.told(self.n_dates, |n| self.nearly_all(n)) {
            Some((false, ToldDates::In(format))) => (ColumnType::Date, Notation::Dates(format)),
            Some((true, ToldDates::In(format))) => (ColumnType::Timestamp, Notation::Dates(format)),
            Some((_, ToldDates::Undecided(doubt))) => {
                (ColumnType::Text, Notation::Undecided(doubt))
            }
            None => text,
        }
    }

    /// How cells are written that are of this type.
    pub(crate) fn told_notation(&self, kind: ColumnType, mark: Option<DecimalMark>) -> Notation {
        match kind {
            ColumnType::Integer | ColumnType::Decimal | ColumnType::Float => {
                self.number_notation(mark)
            }
            ColumnType::Date | ColumnType::Timestamp => {
                match self.shapes.told(self.n_dates, |n| self.nearly_all(n)) {
                    Some((has_time, _)) if has_time != (kind == ColumnType::Timestamp) => {
                        Notation::Plain
                    }
                    Some((_, ToldDates::In(format))) => Notation::Dates(format),
                    Some((_, ToldDates::Undecided(doubt))) => Notation::Undecided(doubt),
                    None => Notation::Plain,
                }
            }
            ColumnType::Boolean | ColumnType::Text | ColumnType::Code => Notation::Plain,
        }
    }

    /// How numbers are written: with the mark that somebody said, that the cells tell, or that the
    /// rest of the table tells.
    fn number_notation(&self, mark: Option<DecimalMark>) -> Notation {
        let is_same_with_both = self.by_point.n_floats == 0 && self.by_comma.n_floats == 0;
        let mark = match mark {
            Some(mark) => mark,
            None if is_same_with_both => DecimalMark::Point,
            None => return Notation::Undecided(Doubt::Thousands),
        };
        match (mark, self.numbers(mark).n_foreign) {
            (DecimalMark::Point, 0) => Notation::Plain,
            (DecimalMark::Comma, 0) if self.by_point.n_floats == 0 => Notation::Plain,
            (mark, _) => Notation::Numbers(mark),
        }
    }
}

/// Whether a cell is a plain number of few digits, and then whether it has a point. Nearly all
/// numbers are, and need not be parsed to be known as what they are.
fn is_short_number(cell: &[u8]) -> Option<bool> {
    let digits = match cell {
        [b'-' | b'+', digits @ ..] => digits,
        digits => digits,
    };
    let mut has_point = false;
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {}
            b'.' if !has_point => has_point = true,
            _ => return None,
        }
    }
    let n_digits = digits.len() - usize::from(has_point);
    (1..=MOST_DIGITS).contains(&n_digits).then_some(has_point)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_are_what_parsing_says() {
        let bytes = b"-+.0127e ";
        let n_texts = bytes.len().pow(5);
        for at in 0..n_texts {
            let text: Vec<u8> =
                (0..5).map(|i| bytes[at / bytes.len().pow(i) % bytes.len()]).collect();
            let cell = text.trim_ascii();
            let parsed =
                match (value::parse_integer(cell).is_ok(), value::parse_decimal(cell).is_ok()) {
                    (true, _) => Some(false),
                    (false, true) => Some(true),
                    (false, false) => None,
                };
            assert_eq!(is_short_number(cell), parsed, "{cell:?}");
        }
    }

    fn inferred(cells: &[&str]) -> ColumnType {
        let mut sample = TypeSample::default();
        cells.iter().for_each(|cell| sample.add(cell.as_bytes()));
        sample.column_type()
    }

    #[test]
    fn types_are_told_from_their_cells() {
        assert_eq!(inferred(&["1", "-2", "30"]), ColumnType::Integer);
        assert_eq!(inferred(&["01234", "99999"]), ColumnType::Code);
        assert_eq!(inferred(&["1.50", "2"]), ColumnType::Decimal);
        assert_eq!(inferred(&["1e5", "2"]), ColumnType::Float);
        assert_eq!(inferred(&["1E10", "2E10"]), ColumnType::Text);
        assert_eq!(inferred(&["1E10", "2.5E10"]), ColumnType::Float);
        assert_eq!(inferred(&["1E+10", "2E+10"]), ColumnType::Float);
        assert_eq!(inferred(&["03.2019", "12.2019"]), ColumnType::Text);
        assert_eq!(inferred(&["3.2019", "12.2019"]), ColumnType::Decimal);
        assert_eq!(inferred(&["3.2019", "12.2019", "5.2020"]), ColumnType::Text);
        assert_eq!(inferred(&["03.2019", "13.2019"]), ColumnType::Decimal);
        assert_eq!(inferred(&["0.1234567890123456789", "2.5"]), ColumnType::Float);
        assert_eq!(inferred(&["2024-01-31"]), ColumnType::Date);
        assert_eq!(inferred(&["2024-01-31 10:00:00"]), ColumnType::Timestamp);
        assert_eq!(inferred(&["true", "False"]), ColumnType::Boolean);
        assert_eq!(inferred(&["a", "1"]), ColumnType::Text);
        assert_eq!(inferred(&[]), ColumnType::Text);
    }

    #[test]
    fn decimals_that_do_not_fit_in_64_bits_at_their_longest_fraction_are_floats() {
        assert_eq!(inferred(&["748.1234567890123", "0.12345678901234567"]), ColumnType::Float);
        assert_eq!(inferred(&["-748.1234567890123", "0.5"]), ColumnType::Decimal);
        assert_eq!(inferred(&["0.123456789012345678", "0.5"]), ColumnType::Decimal);
        assert_eq!(inferred(&["0.1234567890123456", "748"]), ColumnType::Float);
        assert_eq!(inferred(&["9223372036854775808", "0.5"]), ColumnType::Float);
    }

    #[test]
    fn one_decimal_among_many_integers_makes_the_column_decimal() {
        let mut cells = vec!["7"; 30];
        cells.push("7.5");
        assert_eq!(inferred(&cells), ColumnType::Decimal);
    }

    #[test]
    fn one_bad_date_among_many_does_not_make_the_column_text() {
        let mut cells = vec!["2024-01-31"; 30];
        cells.push("31.1.2024");
        assert_eq!(inferred(&cells), ColumnType::Date);
    }
}
