//! What cannot be told from the cells of a column.

use albers_storage::wording;
use albers_storage::wording::{Field, Wording};

/// Why it cannot be told how a column is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// Each number has one separator and three digits after it.
    Thousands,
    /// Both formats read all dates or nearly all of them.
    DayOrMonth {
        /// The format with the day first.
        day_first: String,
        /// The format with the month first.
        month_first: String,
        /// Whether some dates are read by one of them only, and some by the other only.
        is_mixed: bool,
    },
    /// Years have two digits.
    Century {
        /// The formats that read the dates, but for their century.
        formats: Vec<String>,
    },
}

impl Doubt {
    /// What can be read in two ways, for a message. It shows no cell.
    pub fn problem(&self) -> String {
        match self {
            Doubt::Thousands => "its numbers have one separator with three digits after it, which \
                 can be read in two ways: 1.234 is a little more than one, or a thousand and more"
                .to_owned(),
            Doubt::DayOrMonth { day_first, month_first, is_mixed } => format!(
                "its dates can be read in two ways, as {day_first} and as {month_first}: {}",
                match is_mixed {
                    true => "some are dates only as the one, some only as the other",
                    false => "no day is after the twelfth",
                }
            ),
            Doubt::Century { formats } => format!(
                "its dates have years of two digits, which are read as {} of two centuries",
                formats.join(" or ")
            ),
        }
    }

    /// What the user can do, for a message.
    pub fn hint(&self, column: &str) -> Wording {
        let format = |format: &str| Field::DateFormat.of_column(column, format);
        let or_text =
            || wording![", or read it as names with ", Field::Type.of_column(column, "text")];
        let mut hint = match self {
            Doubt::Thousands => wording![
                "say ",
                Field::Decimal.of("point"),
                " or ",
                Field::Decimal.of("comma"),
                " for all numbers"
            ],
            Doubt::DayOrMonth { day_first, month_first, .. } => {
                wording!["say ", format(day_first), " or ", format(month_first)]
            }
            Doubt::Century { formats } => {
                let first = formats.first().map_or("%d.%m.%y", String::as_str);
                wording![
                    "say ",
                    format(&format!("{first}@1930")),
                    " if they are of 1930 to 2029, and so on"
                ]
            }
        };
        hint.append(or_text());
        hint
    }
}
