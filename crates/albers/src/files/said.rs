//! What a job says of a table in vain, since the table says it itself or knows no such thing.

use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::notation::DecimalMark;
use albers_table::source::{Layout, Source};

use crate::error::{Error, Result};
use crate::job::Job;

/// Refuses what only a text can be told about.
pub(super) fn of_text_only(job: &Job, source: Box<dyn Source>) -> Result<Box<dyn Source>> {
    let said =
        [(Field::Delimiter, job.delimiter.is_some()), (Field::Encoding, job.encoding.is_some())];
    let layout = source.layout();
    match said.into_iter().find(|(_, is_said)| *is_said && layout != Layout::Text) {
        Some((field, _)) => Err(no_effect(field, layout)),
        None if job.decimal == Some(DecimalMark::Comma)
            && matches!(layout, Layout::JsonLines | Layout::Sheet) =>
        {
            Err(Error::usage(
                wording![
                    Field::Decimal.of("comma"),
                    format!(" would change the numbers of {}, which are numbers", layout.words())
                ],
                "drop it, and make numbers of the texts first",
            ))
        }
        None => Ok(source),
    }
}

/// Refuses what is said of a table in vain, as it says that itself.
pub(super) fn with_effect(job: &Job, source: Box<dyn Source>) -> Result<Box<dyn Source>> {
    let layout = source.layout();
    match job.header {
        Some(header) if matches!(layout, Layout::Typed | Layout::JsonLines) => Err(Error::usage(
            wording![
                Field::Header.of(header.to_string()),
                format!(" has no effect on {}, which names its columns itself", layout.words())
            ],
            "drop it",
        )),
        _ if job.sheet.is_some() && layout != Layout::Sheet => Err(no_effect(Field::Sheet, layout)),
        _ => Ok(source),
    }
}

/// Refuses what is said of another layout than that of a table.
fn no_effect(field: Field, layout: Layout) -> Error {
    Error::usage(wording![field, format!(" has no effect on {}", layout.words())], "drop it")
}
