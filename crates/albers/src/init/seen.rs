//! Findings that can be seen in a table before there is a release of it.

use albers_table::schema::Role;

use super::LookedAt;
use super::roles::{Choice, Facts};
use crate::finding::{Finding, FindingName};
use crate::findings::{is_unique_severely, rows_per_person};
use crate::rows::Repeated;

/// Of the values that are counted on a sample, the share that may be off.
const SAMPLE_ERROR: f64 = 0.02;

/// What a job with these choices would run into, and what it would if it kept what is dropped.
pub(super) fn findings(table: &LookedAt, choices: &[Choice], k: u64) -> Vec<Finding> {
    let columns = || {
        let places = choices.iter().enumerate();
        places.filter_map(|(column_idx, choice)| Some((choice, table.facts(column_idx)?)))
    };
    let dropped = columns().filter(|(choice, _)| choice.role.is_none());
    let mut findings: Vec<Finding> = dropped
        .filter_map(|(_, facts)| match facts.is_free_text() {
            true => Some(text_list(&facts)),
            false => unique_keep(&facts, k),
        })
        .collect();
    let identifiers = columns().filter(|(choice, _)| choice.role == Some(Role::Identifier));
    let repeated = identifiers.filter_map(|(_, facts)| repeated(&facts));
    // The first of several that are alike.
    let most = repeated.reduce(|a, b| if b.n_rows > a.n_rows { b } else { a });
    findings.extend(most.map(|most| rows_per_person(&most, table.profile.n_rows)));
    findings
}

/// A column that was dropped, if it were kept.
fn unique_keep(facts: &Facts<'_>, k: u64) -> Option<Finding> {
    let n_alone = facts.profile.n_unique.round() as u64;
    let (name, n_rows) = (facts.name, facts.n_rows);
    let about = if facts.profile.is_estimate { "about " } else { "" };
    (n_alone > 0).then(|| Finding {
        name: FindingName::UniqueKeep,
        column: Some(name.to_owned()),
        count: n_alone,
        is_about: facts.profile.is_estimate,
        is_severe: is_unique_severely(name, n_alone, facts.profile.n_distinct, n_rows, k),
        sentence: format!(
            "if it were kept, {about}{n_alone} of {n_rows} rows would have a value of '{name}' that \
             nobody else has"
        )
        .into(),
    })
}

/// A column that was dropped, if it were a quasi-identifier.
fn text_list(facts: &Facts<'_>) -> Finding {
    let (name, n_values) = (facts.name, facts.profile.n_distinct);
    let about = if facts.profile.is_estimate { "about " } else { "" };
    Finding {
        name: FindingName::TextList,
        column: Some(name.to_owned()),
        count: n_values,
        is_about: facts.profile.is_estimate,
        is_severe: true,
        sentence: format!(
            "'{name}' is text of {about}{n_values} values, half of them of one row each: without a \
             hierarchy it would be published as lists of itself"
        )
        .into(),
    }
}

/// Rows that share an identifier, beyond what an estimate may be off by.
fn repeated(facts: &Facts<'_>) -> Option<Repeated> {
    let n_filled = facts.n_rows - facts.profile.n_missing;
    let n_rows = n_filled.saturating_sub(facts.profile.n_unique.round() as u64);
    let is_about = facts.profile.is_estimate;
    let least = if is_about { SAMPLE_ERROR * n_filled as f64 } else { 0.0 };
    (n_rows as f64 > least).then(|| Repeated { column: facts.name.to_owned(), n_rows, is_about })
}
