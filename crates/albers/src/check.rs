//! Audits a table, ours or anybody's: which requirement holds, and how likely a person is found.

use std::collections::BTreeMap;
use std::path::Path;

use albers_measure::audit::{Audit, Missed, SensitiveReached, audit};
use albers_measure::risk::{Risk, SizeBin, size_bins};
use albers_measure::{Classes, Codes};
use albers_privacy::Facts;
use albers_privacy::{Criterion, Requirement, SensitiveColumn};
use albers_table::domain::{CodedColumn, Coding, RawColumn, encode};
use albers_table::progress::Progress;
use albers_table::read::{self, HeaderColumn};
use albers_table::schema::Role;
use rayon::prelude::*;
use serde::Serialize;

use crate::columns::{ShownIn, Wanted, intern, read_columns};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::report::ClassSize;
use crate::secrets;

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckReport {
    /// Rows of the table.
    pub rows: u64,
    /// Groups of rows that show the same on the quasi-identifiers.
    pub classes: u64,
    /// Rows per class.
    pub class_size: ClassSize,
    /// The k that is reached: rows, or subjects, of the smallest class.
    pub k: u64,
    /// What k counts: `rows` or `subjects`.
    pub k_counts: &'static str,
    /// What the worst class reaches on each sensitive column.
    pub sensitive: BTreeMap<String, SensitiveReached>,
    /// How likely a person is found.
    pub risk: Risk,
    /// Classes by size.
    pub sizes: Vec<SizeBin>,
    /// The requirement, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// Whether it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// The parts of it that do not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<Missed>,
    /// Things the user should know.
    pub notes: Vec<String>,
}

/// Audits a table by the roles and the requirement of a job. A risk above the threshold is too high.
pub fn check(
    job: &Job,
    path: &Path,
    threshold: f64,
    progress: &dyn Progress,
) -> Result<CheckReport> {
    if !(0.0..=1.0).contains(&threshold) {
        return Err(Error::usage(
            format!("the threshold {threshold} is not a risk"),
            "use a number between 0 and 1, for example 0.09",
        ));
    }
    if job.k == Some(0) {
        return Err(Error::usage("k = 0 hides nobody", "use a k of 2 or more"));
    }
    secrets::check_criteria_have_roles(job)?;
    let mut looked_at = LookedAt::read(job, path, progress)?;
    let quasi: Vec<Codes<'_>> = looked_at.quasi.iter().map(Interned::codes).collect();
    progress.phase("group", None);
    let classes = Classes::of(looked_at.n_rows, &quasi);
    let (mut requirement, facts) = looked_at.requirement(job)?;
    progress.phase("audit", None);
    let found = audit(&classes, &facts, &mut requirement);
    Ok(report(job, threshold, &requirement, found, looked_at.notes))
}

fn report(
    job: &Job,
    threshold: f64,
    requirement: &Requirement,
    found: Audit,
    notes: Vec<String>,
) -> CheckReport {
    let is_asked = job.k.is_some() || !requirement.rules().is_empty();
    let rows: u64 = found.sizes.iter().map(|class| class.n_rows).sum();
    let classes = found.sizes.len() as u64;
    let names = requirement.columns().iter().map(|column| column.name.clone());
    CheckReport {
        rows,
        classes,
        class_size: ClassSize::of(found.sizes.iter().map(|class| class.n_rows)),
        k: found.sizes.iter().map(|class| class.group_size).min().unwrap_or(0),
        k_counts: if requirement.shape().counts_subjects { "subjects" } else { "rows" },
        risk: Risk::of(&found.sizes, threshold),
        sizes: size_bins(&found.sizes),
        sensitive: names.zip(found.sensitive).collect(),
        requirement: is_asked.then(|| requirement.describe()),
        holds: is_asked.then_some(found.missed.is_empty()),
        missed: found.missed,
        notes,
    }
}

/// A column by its distinct texts.
struct Interned {
    codes: Vec<u32>,
    n_values: u32,
}

impl Interned {
    fn of(column: RawColumn) -> Result<Interned> {
        let column = intern(column)?;
        let n_values = u32::try_from(column.domain.n_values()).expect("codes have 32 bits");
        Ok(Interned { codes: column.codes.concat(), n_values })
    }

    fn codes(&self) -> Codes<'_> {
        Codes { codes: &self.codes, n_values: self.n_values }
    }
}

/// The columns that an audit looks at.
struct LookedAt {
    n_rows: usize,
    quasi: Vec<Interned>,
    subjects: Vec<u32>,
    sensitive: Vec<CodedColumn>,
    notes: Vec<String>,
}

impl LookedAt {
    fn read(job: &Job, path: &Path, progress: &dyn Progress) -> Result<LookedAt> {
        let options = job.read_options()?;
        let header = read::header(path, &options)?;
        let (mut wanted, mut notes) = quasi_columns(job, path, &header)?;
        let n_quasi = wanted.len();
        let subject = subject_column(job, path, &header)?;
        wanted.extend(subject.map(|name| Wanted::as_it_stands(&header, name)));
        let n_exact = wanted.len();
        for name in job.with_role(Role::Sensitive) {
            read::place_of(path, &header, name)?;
            let column_type = job.columns[name].column_type;
            wanted.push(Wanted { name: name.to_owned(), column_type });
        }
        let (n_rows, mut exact) = read_columns(path, &options, wanted, progress)?;
        let sensitive = exact.split_off(n_exact);
        let mut exact: Vec<Interned> =
            exact.into_par_iter().map(Interned::of).collect::<Result<_>>()?;
        let subjects = exact.split_off(n_quasi).pop().map(|column| column.codes);
        let sensitive = sensitive
            .into_iter()
            .map(|column| {
                let hierarchy = job.columns[&column.name].hierarchy_spec(&column.name)?;
                let coding =
                    Coding::Categories { hierarchy: hierarchy.as_ref(), by_frequency: false };
                Ok(encode(column, coding)?)
            })
            .collect::<Result<Vec<CodedColumn>>>()?;
        let missing = sensitive.iter().filter(|column| column.domain.n_missing() > 0);
        notes.extend(missing.map(|column| {
            let (name, n_missing) = (column.domain.name(), column.domain.n_missing());
            format!("'{name}' misses {n_missing} values, which count as a value of their own")
        }));
        let subjects = subjects.unwrap_or_default();
        Ok(LookedAt { n_rows, quasi: exact, subjects, sensitive, notes })
    }

    /// What is asked, and the rows it looks at.
    fn requirement(&mut self, job: &Job) -> Result<(Requirement, Facts)> {
        let mut columns: Vec<SensitiveColumn> = Vec::new();
        let mut rules: Vec<(usize, Criterion)> = Vec::new();
        let mut codes = Vec::new();
        for column in self.sensitive.drain(..) {
            let name = column.domain.name();
            let criteria = job.columns[name].criteria(name)?;
            rules.extend(criteria.iter().map(|criterion| (columns.len(), *criterion)));
            columns.push(secrets::sensitive_column(&column.domain, &criteria, &mut self.notes)?);
            codes.push(column.codes.concat());
        }
        let subjects = std::mem::take(&mut self.subjects);
        let all: Vec<usize> = (0..codes.len()).collect();
        let facts = Facts {
            sensitive: secrets::interleave(&codes, &all, self.n_rows),
            n_sensitive: codes.len(),
            subjects,
        };
        let counts_subjects = !facts.subjects.is_empty();
        let requirement = Requirement::new(job.k.unwrap_or(1), counts_subjects, columns, rules)?;
        Ok((requirement, facts))
    }
}

/// The columns that show the quasi-identifiers, and what the user should know of them.
fn quasi_columns(
    job: &Job,
    path: &Path,
    header: &[HeaderColumn],
) -> Result<(Vec<Wanted>, Vec<String>)> {
    let mut wanted = Vec::new();
    let mut notes = Vec::new();
    for name in job.with_role(Role::Quasi) {
        let shown_in = ShownIn::find(path, header, name)?;
        notes.extend(shown_in.note(name));
        wanted.extend(shown_in.names().iter().map(|name| Wanted::as_it_stands(header, name)));
    }
    if wanted.is_empty() {
        return Err(Error::usage(
            "no column is a quasi-identifier, so all rows would be one class",
            "name the columns that others know with --quasi",
        ));
    }
    Ok((wanted, notes))
}

/// The column that tells which rows belong to the same person.
fn subject_column<'j>(
    job: &'j Job,
    path: &Path,
    header: &[HeaderColumn],
) -> Result<Option<&'j str>> {
    let mut names = job.with_role(Role::Subject);
    let Some(name) = names.next() else { return Ok(None) };
    if names.next().is_some() {
        return Err(Error::usage("there are several subject columns", "name one"));
    }
    if !header.iter().any(|column| column.name == name) {
        return Err(Error::usage(
            format!("{} has no column '{name}' that tells persons apart", path.display()),
            "a release drops it; check with flags instead of the job to count rows, \
             or check the table before the column was dropped",
        ));
    }
    Ok(Some(name))
}
