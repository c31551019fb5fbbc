//! The audit of a table whose columns are in memory.

use albers_measure::audit::{Audit, audit as audit_classes};
use albers_measure::{Classes, Codes};
use albers_privacy::{Facts, Requirement};
use albers_storage::watch::{Phase, Watch};
use albers_table::code::Code;
use albers_table::coding::{CodedColumn, RawColumn, encode};
use albers_table::domain::Domain;
use rayon::prelude::*;

use super::asked::requirement_of;
use super::columns::{AuditedColumns, coding};
use super::looked::Looked;
use crate::columns::{WholeColumns, intern};
use crate::error::Result;
use crate::job::Job;
use crate::protection::interleave;
use crate::report::Note;

/// A column by its distinct texts.
pub(super) struct InternedColumn {
    pub(super) name: String,
    /// Of each run of rows, where the column shows a quasi-identifier; else of each row.
    pub(super) codes: Vec<u32>,
    n_values: u32,
    domain: Domain,
}

impl InternedColumn {
    fn of(column: RawColumn) -> Result<InternedColumn> {
        let column = intern(column)?;
        let n_values = u32::try_from(column.domain.n_values()).expect("codes have 32 bits");
        let CodedColumn { domain, codes } = column;
        Ok(InternedColumn {
            name: domain.name().to_owned(),
            codes: codes.concat(),
            n_values,
            domain,
        })
    }

    /// The text of a code; none for the missing one.
    pub(super) fn text(&self, code: Code) -> &str {
        self.domain.category(code).unwrap_or_default()
    }

    /// All its codes.
    pub(super) fn codes(&self) -> Codes<'_> {
        Codes { codes: &self.codes, n_values: self.n_values }
    }
}

/// Audits all rows at once.
pub(super) fn audit(
    job: &Job,
    columns: &AuditedColumns,
    whole: WholeColumns,
    looked: &mut Looked<'_>,
    watch: &dyn Watch,
    notes: &mut Vec<Note>,
) -> Result<(Requirement, Audit)> {
    let WholeColumns { runs, columns: mut exact, memory: _memory } = whole;
    let sensitive = exact.split_off(columns.first_sensitive());
    let mut exact: Vec<InternedColumn> =
        exact.into_par_iter().map(InternedColumn::of).collect::<Result<_>>()?;
    let subjects = exact.split_off(columns.n_quasi).pop().map(|column| column.codes);
    let encoded = |column: RawColumn| {
        let coding = coding(job, &column.name);
        Ok(encode(column, coding)?)
    };
    let sensitive: Vec<CodedColumn> = sensitive.into_iter().map(encoded).collect::<Result<_>>()?;
    watch.phase(Phase::Audit, None);
    let quasi: Vec<Codes<'_>> = exact.iter().map(InternedColumn::codes).collect();
    let classes = Classes::of(runs, &quasi);
    looked.look(job, &classes, &exact);
    drop(exact);
    let domains: Vec<_> = sensitive.iter().map(|column| &column.domain).collect();
    let mut requirement = requirement_of(job, &domains, columns.has_subject, notes)?;
    let codes: Vec<Vec<u32>> = sensitive.iter().map(|column| column.codes.concat()).collect();
    let all: Vec<usize> = (0..codes.len()).collect();
    let facts = Facts {
        sensitive: interleave(&codes, &all, classes.n_rows()),
        n_sensitive: codes.len(),
        subjects: subjects.unwrap_or_default().into_iter().map(u64::from).collect(),
    };
    watch.check()?;
    let found = audit_classes(&classes, &facts, &mut requirement);
    Ok((requirement, found))
}
