//! What an audit asks of the sensitive columns.

use albers_privacy::{Criterion, Requirement, SensitiveColumn};
use albers_table::domain::Domain;

use crate::error::Result;
use crate::job::Job;
use crate::plan::criteria_of;
use crate::protection::sensitive_column;
use crate::report::Note;

/// The requirement of a job on all sensitive columns of a table, also those it asks nothing of.
pub(super) fn requirement_of(
    job: &Job,
    domains: &[&Domain],
    counts_subjects: bool,
    notes: &mut Vec<Note>,
) -> Result<Requirement> {
    let missing = domains.iter().filter(|domain| domain.n_missing() > 0);
    notes.extend(missing.map(|domain| Note::MissingValues {
        column: domain.name().to_owned(),
        n_missing: domain.n_missing(),
    }));
    let mut columns: Vec<SensitiveColumn> = Vec::new();
    let mut rules: Vec<(usize, Criterion)> = Vec::new();
    for domain in domains {
        let name = domain.name();
        let criteria = criteria_of(name, &job.columns[name])?;
        rules.extend(criteria.iter().map(|criterion| (columns.len(), *criterion)));
        columns.push(sensitive_column(domain, &criteria, notes)?);
    }
    Ok(Requirement::new(job.k.unwrap_or(1), counts_subjects, columns, rules)?)
}
