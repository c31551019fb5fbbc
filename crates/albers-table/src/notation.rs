//! How people write numbers, dates and missing values, and how a column was found to write them.
//!
//! The program itself writes `1234.5`, `2020-12-31` and an empty cell. Whatever else a column holds
//! is brought to that notation before it is parsed, by a [`Notation`] that is told from all rows of
//! the column or said by the user.
//!
//! ```text
//!   1.234,5   1 234,5   1,234.5   1'234.5  ──► 1234.5          `number`
//!   31.12.2020   12/31/2020   31-Dec-2020  ──► 2020-12-31      `date` by a format, `shape` tells it
//!   NA   N/A   NULL   ?   -   unknown      ──► missing         `missing`
//! ```
//!
//! Guarantee: nothing is guessed. What can be read in two ways, such as `1.234` in a table that also
//! has `0,5`, or `03/04/2020` in a column without a day after the twelfth, is a [`Doubt`].

mod date;
mod doubt;
mod encoding;
mod missing;
mod number;
mod shape;

pub use self::date::DateFormat;
pub use self::doubt::Doubt;
pub use self::encoding::TextEncoding;
pub(crate) use self::missing::{is_known_missing, is_written_for_missing};
pub use self::number::DecimalMark;
pub(crate) use self::number::{NumberText, is_undecided_decimal, plain_number};
pub(crate) use self::shape::{DateShapes, ToldDates, is_day_without_separators, month_of_year};

use crate::schema::ColumnType;
use crate::value::ParseProblem;

/// How the cells of a column are written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Notation {
    /// As the program writes them.
    #[default]
    Plain,
    /// Numbers, perhaps with separators between thousands.
    Numbers(DecimalMark),
    /// Dates or times in a format.
    Dates(DateFormat),
    /// In one of two ways that nothing tells apart; read as names where that does not matter.
    Undecided(Doubt),
}

impl Notation {
    /// The cell of a column of this type as the program would write it, put into `buffer` where that
    /// differs.
    pub(crate) fn plain<'c>(
        &self,
        kind: ColumnType,
        cell: &'c [u8],
        buffer: &'c mut Vec<u8>,
    ) -> Result<&'c [u8], ParseProblem> {
        match self {
            Notation::Plain | Notation::Undecided(_) => Ok(cell),
            Notation::Numbers(mark) => match plain_number(cell, *mark, buffer) {
                Some(_) => Ok(buffer),
                None => Err(ParseProblem::NotA(kind)),
            },
            Notation::Dates(format) => match format.plain(cell, buffer) {
                Some(()) => Ok(buffer),
                None => Err(ParseProblem::NotA(kind)),
            },
        }
    }
}
