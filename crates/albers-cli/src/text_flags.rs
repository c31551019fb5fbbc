//! How a text is written: flags of all commands that read tables.

use albers::{DateFormat, DecimalMark, Job, TextEncoding};
use clap::Args;

use crate::values::{Assignment, choice};

/// How a text is written.
#[derive(Args, Default, Clone)]
pub struct TextFlags {
    /// How letters are stored in a CSV file, such as utf-16, windows-1252 or latin1; told from its
    /// bytes when not given
    #[arg(long, value_name = "ENCODING")]
    pub encoding: Option<TextEncoding>,
    /// The decimal mark of all numbers in a CSV file; told from all rows when not given
    #[arg(long, value_parser = choice::<DecimalMark>())]
    pub decimal: Option<DecimalMark>,
    /// How the dates of a column are written, such as birth=%d.%m.%Y or, with the first of the
    /// hundred years that two digits mean, birth=%d-%b-%y@1930; told from all rows when not given
    #[arg(long = "date-format", value_name = "COLUMN=FORMAT")]
    pub date_formats: Vec<Assignment<DateFormat>>,
}

impl TextFlags {
    /// Puts them into a job.
    pub fn apply(self, job: &mut Job) {
        job.encoding = self.encoding.or(job.encoding);
        job.decimal = self.decimal.or(job.decimal);
        for Assignment { column, value } in self.date_formats {
            job.column(&column).date_format = Some(value);
        }
    }
}
