//! The columns that an audit looks at.

use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::coding::CodingPlan;
use albers_table::schema::Role;
use albers_table::source::{ColumnRequest, RequestedTypes, Source, place_of};

use super::seen::counted_columns;
use crate::columns::{ShownIn, WantedColumn, level_of};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::report::Note;

/// What is read: the columns that show the quasi-identifiers, the subject, the sensitive columns.
pub(super) struct AuditedColumns {
    /// How the columns are read, in this order.
    pub(super) requests: Vec<ColumnRequest>,
    /// Their types.
    pub(super) types: RequestedTypes,
    /// How many of them show quasi-identifiers, or the levels of nested classes.
    pub(super) n_quasi: usize,
    /// Columns that are only counted as rows are first read, kept ones before identifiers, and their
    /// types.
    pub(super) counted: (Vec<ColumnRequest>, RequestedTypes),
    /// How many of these are kept.
    pub(super) n_kept: usize,
    /// Whether a column tells which rows belong to the same person.
    pub(super) has_subject: bool,
}

impl AuditedColumns {
    /// The columns of a job, and what the user should know of them.
    pub(super) fn of(job: &Job, source: &dyn Source) -> Result<(AuditedColumns, Vec<Note>)> {
        let (mut wanted, notes) = quasi_columns(job, source)?;
        // What tells classes apart beside their quasi-identifiers is part of what they show.
        let level = level_of(job, source)?;
        wanted.extend(level.map(|name| WantedColumn::as_it_stands(source.columns(), name)));
        let n_quasi = wanted.len();
        let subject = subject_column(job, source)?;
        wanted.extend(subject.map(|name| WantedColumn::as_it_stands(source.columns(), name)));
        for name in job.with_role(Role::Sensitive) {
            place_of(source.name(), source.columns(), name)?;
            let column_type = job.columns[name].column_type;
            wanted.push(WantedColumn { name: name.to_owned(), column_type });
        }
        let requests: Vec<ColumnRequest> = wanted.into_iter().map(WantedColumn::request).collect();
        let types = source.types(&requests)?;
        let has_subject = subject.is_some();
        let (counted, n_kept) = counted_columns(job, source)?;
        let counted_types = source.types(&counted)?;
        let counted = (counted, counted_types);
        Ok((AuditedColumns { requests, types, n_quasi, counted, n_kept, has_subject }, notes))
    }

    /// What is asked for when rows are read for the first time: those that are only counted
    /// behind the rest.
    pub(super) fn with_counted(&self) -> (Vec<ColumnRequest>, RequestedTypes) {
        let (requests, types) = &self.counted;
        let mut all = (self.requests.clone(), self.types.clone());
        all.0.extend_from_slice(requests);
        all.1.append(types.clone());
        all
    }

    /// The place of the first sensitive column; all after it are sensitive too.
    pub(super) fn first_sensitive(&self) -> usize {
        self.n_quasi + usize::from(self.has_subject)
    }
}

/// How a sensitive column is coded.
pub(super) fn coding<'j>(job: &'j Job, name: &str) -> CodingPlan<'j> {
    let hierarchy = job.columns[name].hierarchy.as_ref();
    CodingPlan::Categories { hierarchy, by_frequency: false }
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
