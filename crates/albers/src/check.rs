//! Audits a table, ours or anybody's: which requirement holds, and how likely a person is found.

use std::collections::BTreeMap;

use albers_measure::audit::{Audit, Missed, SensitiveReached, audit};
use albers_measure::risk::{Risk, SizeBin, size_bins};
use albers_measure::{Classes, Codes};
use albers_privacy::{Criterion, Facts, Requirement, SensitiveColumn};
use albers_storage::memory_budget::Reservation;
use albers_storage::watch::{Phase, Watch};
use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::domain::{CodedColumn, Coding, RawColumn, encode};
use albers_table::schema::Role;
use albers_table::source::{Source, place_of};
use rayon::prelude::*;
use serde::Serialize;

use crate::columns::{ShownIn, WantedColumn, intern, read_columns};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::memory::{Memory, on_threads};
use crate::plan::{Resources, check_criteria_have_roles, criteria_of};
use crate::protection::{interleave, sensitive_column};
use crate::report::{ClassSize, Note};

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
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
    pub notes: Vec<Note>,
}

/// Audits a table by the roles and the requirement of a job. A risk above the threshold is too high.
///
/// ```
/// use albers::source::{ReadOptions, StreamSource};
/// use albers::{Job, Role, Silent, check};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = "age\n[30-39]\n[30-39]\n[50-59]\n[50-59]\n".as_bytes();
/// let table = StreamSource::text(Box::new(text), "a release", None, &ReadOptions::default())?;
/// let mut job = Job { k: Some(3), ..Job::default() };
/// job.set_role("age", Role::Quasi)?;
/// let report = check(&job, &table, 0.09, &Silent)?;
/// assert_eq!((report.k, report.holds), (2, Some(false)));
/// # Ok(())
/// # }
/// ```
pub fn check(
    job: &Job,
    table: &dyn Source,
    threshold: f64,
    watch: &dyn Watch,
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
    check_criteria_have_roles(job)?;
    let job = job.with_hierarchies()?;
    let resources = Resources::of(&job)?;
    on_threads(resources.n_threads, || {
        let memory = Memory::of_resources(&resources);
        let mut audited = AuditedTable::read(&job, table, &memory, watch)?;
        let quasi: Vec<Codes<'_>> = audited.quasi.iter().map(InternedColumn::codes).collect();
        watch.phase(Phase::Audit, None);
        let classes = Classes::of(audited.n_rows, &quasi);
        let (mut requirement, facts) = audited.requirement(&job)?;
        watch.check()?;
        let found = audit(&classes, &facts, &mut requirement);
        Ok(report(&job, threshold, &requirement, found, audited.notes))
    })
}

fn report(
    job: &Job,
    threshold: f64,
    requirement: &Requirement,
    found: Audit,
    notes: Vec<Note>,
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
struct InternedColumn {
    codes: Vec<u32>,
    n_values: u32,
}

impl InternedColumn {
    fn of(column: RawColumn) -> Result<InternedColumn> {
        let column = intern(column)?;
        let n_values = u32::try_from(column.domain.n_values()).expect("codes have 32 bits");
        Ok(InternedColumn { codes: column.codes.concat(), n_values })
    }

    fn codes(&self) -> Codes<'_> {
        Codes { codes: &self.codes, n_values: self.n_values }
    }
}

/// The columns that an audit looks at.
struct AuditedTable {
    n_rows: usize,
    quasi: Vec<InternedColumn>,
    subjects: Vec<u32>,
    sensitive: Vec<CodedColumn>,
    notes: Vec<Note>,
    _memory: Reservation,
}

impl AuditedTable {
    fn read(
        job: &Job,
        source: &dyn Source,
        memory: &Memory,
        watch: &dyn Watch,
    ) -> Result<AuditedTable> {
        let (mut wanted, mut notes) = quasi_columns(job, source)?;
        let n_quasi = wanted.len();
        let subject = subject_column(job, source)?;
        wanted.extend(subject.map(|name| WantedColumn::as_it_stands(source.columns(), name)));
        let n_exact = wanted.len();
        for name in job.with_role(Role::Sensitive) {
            place_of(source.name(), source.columns(), name)?;
            let column_type = job.columns[name].column_type;
            wanted.push(WantedColumn { name: name.to_owned(), column_type });
        }
        let whole = read_columns(source, wanted, memory, watch)?;
        let mut exact = whole.columns;
        let sensitive = exact.split_off(n_exact);
        let mut exact: Vec<InternedColumn> =
            exact.into_par_iter().map(InternedColumn::of).collect::<Result<_>>()?;
        let subjects = exact.split_off(n_quasi).pop().map(|column| column.codes);
        let sensitive = sensitive
            .into_iter()
            .map(|column| {
                let hierarchy = job.columns[&column.name].hierarchy.as_ref();
                Ok(encode(column, Coding::Categories { hierarchy, by_frequency: false })?)
            })
            .collect::<Result<Vec<CodedColumn>>>()?;
        let missing = sensitive.iter().filter(|column| column.domain.n_missing() > 0);
        notes.extend(missing.map(|column| Note::MissingValues {
            column: column.domain.name().to_owned(),
            n_missing: column.domain.n_missing(),
        }));
        Ok(AuditedTable {
            n_rows: whole.n_rows,
            quasi: exact,
            subjects: subjects.unwrap_or_default(),
            sensitive,
            notes,
            _memory: whole.memory,
        })
    }

    /// What is asked, and the rows it looks at.
    fn requirement(&mut self, job: &Job) -> Result<(Requirement, Facts)> {
        let mut columns: Vec<SensitiveColumn> = Vec::new();
        let mut rules: Vec<(usize, Criterion)> = Vec::new();
        let mut codes = Vec::new();
        for column in self.sensitive.drain(..) {
            let name = column.domain.name();
            let criteria = criteria_of(name, &job.columns[name])?;
            rules.extend(criteria.iter().map(|criterion| (columns.len(), *criterion)));
            columns.push(sensitive_column(&column.domain, &criteria, &mut self.notes)?);
            codes.push(column.codes.concat());
        }
        let subjects = std::mem::take(&mut self.subjects);
        let all: Vec<usize> = (0..codes.len()).collect();
        let facts = Facts {
            sensitive: interleave(&codes, &all, self.n_rows),
            n_sensitive: codes.len(),
            subjects,
        };
        let counts_subjects = !facts.subjects.is_empty();
        let requirement = Requirement::new(job.k.unwrap_or(1), counts_subjects, columns, rules)?;
        Ok((requirement, facts))
    }
}

/// The columns that show the quasi-identifiers, and what the user should know of them.
fn quasi_columns(job: &Job, source: &dyn Source) -> Result<(Vec<WantedColumn>, Vec<Note>)> {
    let mut wanted = Vec::new();
    let mut notes = Vec::new();
    for name in job.with_role(Role::Quasi) {
        let shown_in = ShownIn::find(source, name)?;
        notes.extend(shown_in.note(name));
        let names = shown_in.names().iter();
        wanted.extend(names.map(|name| WantedColumn::as_it_stands(source.columns(), name)));
    }
    if wanted.is_empty() {
        return Err(Error::usage(
            "no column is a quasi-identifier, so all rows would be one class",
            wording!["name the columns that others know with ", Field::Quasi],
        ));
    }
    Ok((wanted, notes))
}

/// The column that tells which rows belong to the same person.
fn subject_column<'j>(job: &'j Job, source: &dyn Source) -> Result<Option<&'j str>> {
    let mut names = job.with_role(Role::Subject);
    let Some(name) = names.next() else { return Ok(None) };
    if names.next().is_some() {
        return Err(Error::usage("there are several subject columns", "name one"));
    }
    if !source.columns().iter().any(|column| column.name == name) {
        return Err(Error::usage(
            format!("{} has no column '{name}' that tells persons apart", source.name()),
            "a release drops it; check with flags instead of the job to count rows, or check the \
             table before the column was dropped",
        ));
    }
    Ok(Some(name))
}
