//! Findings about the table itself: for its owner, never in a manifest.

use albers_storage::wording;
use albers_storage::wording::Field;

use super::published::about;
use super::{Finding, FindingName};
use crate::rows::Repeated;

/// Of the rows, those that share an identifier that make it severe.
const SEVERE_REPEATED_SHARE: f64 = 0.01;

/// Of so many rows that were read, some share an identifier.
pub(crate) fn rows_per_person(repeated: &Repeated, n_rows: u64) -> Finding {
    let Repeated { column, n_rows: n_repeated, is_about } = repeated;
    Finding {
        name: FindingName::RowsPerPerson,
        column: None,
        count: *n_repeated,
        is_about: *is_about,
        is_severe: *n_repeated as f64 >= SEVERE_REPEATED_SHARE * n_rows as f64,
        sentence: wording![
            format!(
                "{}{n_repeated} of {n_rows} rows share their value of '{column}' with others, and \
                 each counts as a person: k rows may be one; name the column that tells persons \
                 apart with ",
                about(*is_about),
            ),
            Field::Subject,
        ],
    }
}
