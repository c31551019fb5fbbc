//! What is found of rows that are recoded, before any class is.

use albers_storage::wording;

use crate::finding::{Finding, FindingName};

/// Rows that are recoded by the function of an earlier release, and are not those of it.
pub(crate) fn second_release(n_rows: u64) -> Finding {
    Finding {
        name: FindingName::SecondRelease,
        column: None,
        count: n_rows,
        is_about: false,
        is_severe: true,
        sentence: wording![format!(
            "these {n_rows} rows are not exactly those that the recoding function was made of: who is \
             in both tables is in two releases, and what differs between these tells of the few rows \
             between the tables"
        )],
    }
}
