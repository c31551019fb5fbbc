//! What the values of a column look like, whatever they are: how texts are built, how numbers lie.
//!
//! Guarantee: yes or no, counts, and round numbers; no value can be read off them.

use crate::chunk::{Cells, ColumnChunk, TickUnit};
use crate::row::RowId;

/// Of the texts of a column so many look like names of people when it holds such names.
const MOST: f64 = 0.9;
/// Numbers are counted on where half of the numbers between them occur.
const DENSE_SHARE: f64 = 0.5;
/// The intervals of the finest size that a column is cut into, at most.
const N_INTERVALS: f64 = 20.0;
/// Words of a name, as people write it.
const NAME_WORDS: std::ops::RangeInclusive<usize> = 2..=4;

/// What the values of a column look like.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ValueShape {
    /// Whether the cells are the numbers of their rows, from 0 or from 1 on, none missing.
    pub is_row_number: bool,
    /// Whether whole numbers lie so close together that they were counted on.
    pub is_dense: bool,
    /// The number of digits or characters of every value, where all have as many.
    pub same_width: Option<usize>,
    /// Whether no number has a fraction, also where it is written with a point.
    pub all_whole: bool,
    /// A round number that cuts what lies between the numbers of the column in some twenty parts.
    pub round_width: Option<RoundWidth>,
    /// Words of a text, in the mean.
    pub n_words: f64,
    /// What all texts look like.
    pub look: Look,
}

/// What texts look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Look {
    /// Nothing in particular.
    #[default]
    Plain,
    /// Addresses of mail.
    Emails,
    /// Universally unique identifiers.
    Uuids,
    /// One word each, with a digit in it.
    Codes,
    /// Names of people.
    Names,
}

/// `digit` times ten to the `exponent`; the digit is 1, 2 or 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundWidth {
    /// 1, 2 or 5.
    pub digit: u8,
    /// The power of ten.
    pub exponent: i32,
}

impl RoundWidth {
    /// A round width of some twenty intervals between two numbers.
    pub fn between(least: f64, greatest: f64) -> Option<RoundWidth> {
        RoundWidth::at_least((greatest - least) / N_INTERVALS)
    }

    /// Sizes of intervals from this width on, each of which divides the next, as `ranges` takes them:
    /// `5,10,20`. Nothing where whole numbers lie too close for intervals.
    pub fn sizes(self, all_whole: bool) -> Option<String> {
        let multiples: &[u32] = match self.digit {
            _ if all_whole && self.exponent < 0 => return None,
            1 if all_whole && self.exponent == 0 => &[5, 10],
            1 => &[1, 5, 10],
            2 => &[2, 10, 20],
            _ => &[5, 10, 20],
        };
        let size = |&multiple: &u32| match usize::try_from(self.exponent) {
            Ok(n_zeros) => format!("{multiple}{}", "0".repeat(n_zeros)),
            Err(_) => {
                let n_decimals = self.exponent.unsigned_abs() as usize;
                let digits = format!("{multiple:0>width$}", width = n_decimals + 1);
                let (whole, decimals) = digits.split_at(digits.len() - n_decimals);
                let text = format!("{whole}.{decimals}");
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
        };
        Some(multiples.iter().map(size).collect::<Vec<_>>().join(","))
    }

    /// The least that is not below a positive number.
    fn at_least(number: f64) -> Option<RoundWidth> {
        let exponent = number.log10().floor();
        if !number.is_finite() || number <= 0.0 || !(-18.0..18.0).contains(&exponent) {
            return None;
        }
        let exponent = exponent as i32;
        let is_enough =
            |digit: u8| f64::from(digit) * 10f64.powi(exponent) >= number * (1.0 - 1e-9);
        let digit = [1, 2, 5].into_iter().find(|&digit| is_enough(digit));
        Some(match digit {
            Some(digit) => RoundWidth { digit, exponent },
            None => RoundWidth { digit: 1, exponent: exponent + 1 },
        })
    }
}

/// Looks at the values of a column, chunk by chunk.
#[derive(Default)]
pub(super) struct ShapeProfiler {
    n_values: u64,
    numbers: Numbers,
    texts: Texts,
    /// The first row's number, while every row's number follows from it.
    rows: RowNumbers,
}

#[derive(Default)]
enum RowNumbers {
    #[default]
    Unseen,
    From(i64),
    No,
}

struct Numbers {
    least: f64,
    greatest: f64,
    all_whole: bool,
    digits: (usize, usize),
}

impl Default for Numbers {
    fn default() -> Numbers {
        let (least, greatest) = (f64::INFINITY, f64::NEG_INFINITY);
        Numbers { least, greatest, all_whole: true, digits: (usize::MAX, 0) }
    }
}

struct Texts {
    n: u64,
    n_words: u64,
    n_like_names: u64,
    widths: (usize, usize),
    all_emails: bool,
    all_uuids: bool,
    all_codes: bool,
}

impl Default for Texts {
    fn default() -> Texts {
        Texts {
            n: 0,
            n_words: 0,
            n_like_names: 0,
            widths: (usize::MAX, 0),
            all_emails: true,
            all_uuids: true,
            all_codes: true,
        }
    }
}

impl ShapeProfiler {
    /// Looks at the cells of a column from a row of the table on.
    pub(super) fn add(&mut self, chunk: &ColumnChunk, first_row: RowId) {
        let n_filled = chunk.n_rows() - chunk.missing.len();
        self.n_values += n_filled as u64;
        match &chunk.cells {
            Cells::Names { names, .. } => names.iter().for_each(|name| self.texts.add(name)),
            Cells::Floats(values) => {
                for_each_filled(chunk, |row_idx| self.numbers.add(values[row_idx], None));
            }
            Cells::Ticks { base, offsets, unit } => {
                let tick = |row_idx: usize| base.wrapping_add(i64::from(offsets[row_idx]));
                for_each_filled(chunk, |row_idx| self.numbers.add_tick(tick(row_idx), *unit));
            }
            Cells::WideTicks { ticks, unit } => {
                for_each_filled(chunk, |row_idx| self.numbers.add_tick(ticks[row_idx], *unit));
            }
        }
        self.rows.add(chunk, first_row);
    }

    /// What was seen of a column of so many distinct values.
    pub(super) fn finish(self, n_distinct: u64) -> ValueShape {
        let Numbers { least, greatest, all_whole, digits } = self.numbers;
        let has_numbers = least <= greatest;
        let span = greatest - least;
        let width = |(shortest, longest): (usize, usize)| (shortest == longest).then_some(shortest);
        ValueShape {
            is_row_number: matches!(self.rows, RowNumbers::From(_)) && self.n_values > 1,
            is_dense: has_numbers && all_whole && n_distinct as f64 >= DENSE_SHARE * (span + 1.0),
            same_width: if has_numbers { width(digits) } else { width(self.texts.widths) },
            all_whole: has_numbers && all_whole,
            round_width: RoundWidth::between(least, greatest).filter(|_| has_numbers),
            n_words: self.texts.n_words as f64 / self.texts.n.max(1) as f64,
            look: self.texts.look(),
        }
    }
}

impl RowNumbers {
    fn add(&mut self, chunk: &ColumnChunk, first_row: RowId) {
        let tick = |row_idx: usize| match &chunk.cells {
            Cells::Ticks { base, offsets, unit: TickUnit::Integer } => {
                Some(base.wrapping_add(i64::from(offsets[row_idx])))
            }
            Cells::WideTicks { ticks, unit: TickUnit::Integer } => Some(ticks[row_idx]),
            _ => None,
        };
        if chunk.n_rows() == 0 {
            return;
        }
        let row = |row_idx: usize| first_row.get() as i64 + row_idx as i64;
        let from = match self {
            RowNumbers::No => return,
            RowNumbers::From(from) => Some(*from),
            RowNumbers::Unseen => tick(0).map(|tick| tick.wrapping_sub(row(0))),
        };
        let all_follow = |from: i64| {
            let follows = |row_idx| tick(row_idx) == Some(from.wrapping_add(row(row_idx)));
            chunk.missing.is_empty() && (0..chunk.n_rows()).all(follows)
        };
        *self = match from.filter(|&from| (from == 0 || from == 1) && all_follow(from)) {
            Some(from) => RowNumbers::From(from),
            None => RowNumbers::No,
        };
    }
}

impl Numbers {
    fn add(&mut self, number: f64, n_digits: Option<usize>) {
        if !number.is_finite() {
            return;
        }
        self.least = self.least.min(number);
        self.greatest = self.greatest.max(number);
        self.all_whole &= number.fract() == 0.0;
        let n_digits = n_digits.unwrap_or(0);
        self.digits = (self.digits.0.min(n_digits), self.digits.1.max(n_digits));
    }

    /// Days and times are no numbers here.
    fn add_tick(&mut self, tick: i64, unit: TickUnit) {
        match unit {
            TickUnit::Integer => {
                let n_digits =
                    tick.unsigned_abs().checked_ilog10().map_or(1, |log| log as usize + 1);
                self.add(tick as f64, Some(n_digits));
            }
            TickUnit::Decimal(scale) => self.add(tick as f64 / 10f64.powi(i32::from(scale)), None),
            TickUnit::Date | TickUnit::Timestamp { .. } => {}
        }
    }
}

impl Texts {
    fn add(&mut self, text: &str) {
        let n_chars = text.chars().count();
        let words: Vec<&str> = text.split_whitespace().collect();
        let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
        self.n += 1;
        self.n_words += words.len() as u64;
        self.n_like_names += u64::from(is_like_name(&words));
        self.widths = (self.widths.0.min(n_chars), self.widths.1.max(n_chars));
        self.all_emails &= words.len() == 1
            && text
                .split_once('@')
                .is_some_and(|(_, host)| host.contains('.') && !host.contains('@'));
        self.all_uuids &= is_uuid(text);
        self.all_codes &= words.len() == 1 && has_digit;
    }

    fn look(&self) -> Look {
        match () {
            () if self.n == 0 => Look::Plain,
            () if self.all_emails => Look::Emails,
            () if self.all_uuids => Look::Uuids,
            () if self.all_codes => Look::Codes,
            () if self.n_like_names as f64 >= MOST * self.n as f64 => Look::Names,
            () => Look::Plain,
        }
    }
}

fn for_each_filled(chunk: &ColumnChunk, mut visit: impl FnMut(usize)) {
    let mut holes = chunk.missing.iter().copied().peekable();
    for row_idx in 0..chunk.n_rows() {
        if holes.next_if_eq(&(row_idx as u32)).is_none() {
            visit(row_idx);
        }
    }
}

/// Two to four words of letters, each of which begins with a capital.
fn is_like_name(words: &[&str]) -> bool {
    let is_name = |word: &&str| {
        let mut characters = word.chars();
        characters.next().is_some_and(char::is_uppercase)
            && characters.all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’' | '.' | ','))
    };
    NAME_WORDS.contains(&words.len()) && words.iter().all(is_name)
}

fn is_uuid(text: &str) -> bool {
    let parts = text.split('-').map(str::len);
    let is_hexadecimal = text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    is_hexadecimal && (text.len() == 32 || parts.eq([8, 4, 4, 4, 12]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::TextColumnBuilder;
    use crate::schema::ColumnType;

    fn shape_of(column_type: ColumnType, parts: &[&[&str]]) -> ValueShape {
        let mut profiler = ShapeProfiler::default();
        let mut first_row = 0;
        for part in parts {
            let mut builder = TextColumnBuilder::new(column_type);
            for cell in *part {
                match *cell {
                    "" => builder.push_missing(),
                    cell => builder.push(cell.as_bytes()).unwrap(),
                }
            }
            profiler.add(&builder.finish().unwrap(), RowId::new(first_row));
            first_row += part.len() as u64;
        }
        profiler.finish(first_row)
    }

    #[test]
    fn row_numbers_are_seen_over_all_chunks() {
        let is_row_number = |parts: &[&[&str]]| shape_of(ColumnType::Integer, parts).is_row_number;
        assert!(is_row_number(&[&["1", "2"], &["3"]]));
        assert!(is_row_number(&[&["0", "1"], &["2", "3"]]));
        assert!(!is_row_number(&[&["1", "2"], &["4"]]));
        assert!(!is_row_number(&[&["1", "2"], &["", "4"]]));
        assert!(!is_row_number(&[&["20", "21", "22"]]), "they begin with 0 or 1");
        assert!(!is_row_number(&[&["1"]]));
        assert!(!shape_of(ColumnType::Decimal, &[&["1.0", "2.0"]]).is_row_number);
    }

    #[test]
    fn numbers_that_were_counted_on_are_dense() {
        assert!(shape_of(ColumnType::Integer, &[&["7", "5", "9", "6"]]).is_dense);
        assert!(!shape_of(ColumnType::Integer, &[&["7", "5", "90", "6"]]).is_dense);
        assert!(!shape_of(ColumnType::Decimal, &[&["0.1", "0.2", "0.3"]]).is_dense);
        assert_eq!(shape_of(ColumnType::Integer, &[&["70001", "-90005"]]).same_width, Some(5));
        assert_eq!(shape_of(ColumnType::Integer, &[&["7", "50"]]).same_width, None);
    }

    #[test]
    fn widths_are_round_and_missing_cells_have_no_say() {
        let width = |cells: &[&str]| {
            let RoundWidth { digit, exponent } =
                shape_of(ColumnType::Decimal, &[cells]).round_width.unwrap();
            (digit, exponent)
        };
        assert_eq!(width(&["18.0", "", "88.0"]), (5, 0));
        assert_eq!(width(&["18.0", "38.0"]), (1, 0));
        assert_eq!(width(&["0.3", "1.1"]), (5, -2));
        assert_eq!(width(&["-1000", "3000.5"]), (5, 2));
        assert_eq!(shape_of(ColumnType::Decimal, &[&["1.5", "1.5"]]).round_width, None);
        assert!(shape_of(ColumnType::Decimal, &[&["18.0", "", "19.0"]]).all_whole);
        assert!(!shape_of(ColumnType::Decimal, &[&["18.0", "19.5"]]).all_whole);
    }

    #[test]
    fn sizes_are_round_and_fit_the_numbers() {
        let sizes = |digit, exponent, all_whole| {
            RoundWidth { digit, exponent }.sizes(all_whole).unwrap_or_default()
        };
        assert_eq!(sizes(5, 0, true), "5,10,20");
        assert_eq!(sizes(1, 0, true), "5,10");
        assert_eq!(sizes(2, 2, true), "200,1000,2000");
        assert_eq!(sizes(5, -2, false), "0.05,0.1,0.2");
        assert_eq!(sizes(1, -1, false), "0.1,0.5,1");
        assert_eq!(sizes(5, -1, true), "", "whole numbers have no parts");
    }

    #[test]
    fn texts_look_like_what_they_are() {
        let look = |cells: &[&str]| shape_of(ColumnType::Text, &[cells]).look;
        assert_eq!(look(&["a@b.org", "c.d@e.net"]), Look::Emails);
        assert_eq!(look(&["a@b.org", "c.d@e"]), Look::Plain);
        assert_eq!(look(&["6f1c9f0a-0b1c-4d2e-8f30-0123456789ab"]), Look::Uuids);
        assert_eq!(look(&["V-770", "V-771"]), Look::Codes);
        assert_eq!(look(&["Ada Lovelace", "Doe, Jane", "Jean-Luc O'Neill"]), Look::Names);
        assert_eq!(look(&["came in with a cough", "Was well"]), Look::Plain);
        assert_eq!(shape_of(ColumnType::Text, &[&["a b c", "a"]]).n_words, 2.0);
    }
}
