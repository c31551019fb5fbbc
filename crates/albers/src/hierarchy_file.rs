//! Hierarchy files: a skeleton of one, what does not fit of one, and how it looks.
//!
//! ```text
//!   column ──► distinct values, rows of each ─┬─► skeleton: one line per value, for a spreadsheet
//!   file ─────────────────────────────────────┼─► what does not fit, by counts and lines
//!                                             └─► drawing: labels, and what lies below them
//! ```
//!
//! A skeleton is read back before it is written: it gives the hierarchy that it was made from.
//! Guarantee: a skeleton holds every value of its column and is its owner's alone. What is told of a
//! file are counts and lines; a drawing shows labels, and of values how many there are.

mod draw;
mod skeleton;

use std::path::{Path, PathBuf};

use albers_storage::output::{Place, Purpose};
use albers_storage::watch::Watch;
use albers_table::hierarchy::{Hierarchy, HierarchyRows, HierarchySpec};
use albers_table::schema::ColumnType;
use albers_table::sink::{name_all, private_text};
use serde::Serialize;

use crate::columns::{WantedColumn, intern, read_columns};
use crate::error::{Error, Result};
use crate::files;
use crate::job::Job;
use crate::memory::{Memory, on_threads};
use crate::plan::place_of;

pub use skeleton::Like;

/// The column that a hierarchy is for.
#[derive(Debug, Clone, PartialEq)]
pub struct HierarchyRequest {
    /// The table, how it is read, and whether an existing file is replaced.
    pub job: Job,
    /// The column.
    pub column: String,
    /// The type of its values; told from the table when not given.
    pub column_type: Option<ColumnType>,
}

/// The values of a column and the rows of each, read once.
pub struct ColumnValues {
    column: String,
    column_type: ColumnType,
    /// Distinct values as canonical text, in the natural order of the type.
    values: Vec<String>,
    /// Rows of each value.
    rows: Vec<u64>,
    n_missing: u64,
    n_rows: u64,
    /// What the command may take of memory.
    limit_bytes: u64,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SkeletonReport {
    /// The column.
    pub column: String,
    /// The type of its values.
    #[serde(rename = "type")]
    pub column_type: String,
    /// Like what its levels are: a built-in hierarchy, or `groups`.
    pub like: String,
    /// Distinct values, one line each.
    pub values: u64,
    /// Levels above the value.
    pub levels: u64,
    /// Whether the first line holds names.
    pub header: bool,
    /// The file.
    pub file: PathBuf,
}

/// What does not fit of a hierarchy file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HierarchyCheck {
    /// The column.
    pub column: String,
    /// Lines that stand for a value.
    pub lines: u64,
    /// Levels above the value.
    pub levels: u64,
    /// Distinct values of the column.
    pub values: u64,
    /// Values that no line stands for.
    pub values_without_line: u64,
    /// Rows of the table with such a value.
    pub rows_without_line: u64,
    /// Lines whose value the column does not have, by number.
    pub lines_without_value: Vec<u64>,
    /// What makes it no hierarchy.
    pub problems: Vec<HierarchyProblem>,
    /// Whether the table can be anonymized with it.
    pub fits: bool,
}

/// A fault of a hierarchy file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HierarchyProblem {
    /// The line, from 1 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What is wrong there.
    pub problem: String,
}

/// A hierarchy file that is not written yet.
pub struct Skeleton {
    /// What is to be said of it.
    pub report: SkeletonReport,
    place: Place,
    text: String,
}

impl Skeleton {
    /// Writes it, for its owner alone.
    pub fn write(&self) -> Result<()> {
        Ok(name_all(vec![private_text(Purpose::Appear, &self.place, &self.text)?])?)
    }
}

impl ColumnValues {
    /// Reads the column of a request.
    pub fn read(request: &HierarchyRequest, watch: &dyn Watch) -> Result<ColumnValues> {
        on_threads(request.job.threads, || ColumnValues::read_here(request, watch))
    }

    fn read_here(request: &HierarchyRequest, watch: &dyn Watch) -> Result<ColumnValues> {
        let HierarchyRequest { job, column, column_type } = request;
        let source = files::open_input(job)?;
        place_of(source.name(), source.columns(), column)?;
        let wanted = WantedColumn { name: column.clone(), column_type: *column_type };
        let memory = Memory::new(usize::MAX, None);
        let mut whole = read_columns(source.as_ref(), vec![wanted], 0, (&memory, watch))?;
        let raw = whole.columns.remove(0);
        let column_type = raw.column_type;
        let coded = intern(raw)?;
        let values: Vec<String> =
            coded.domain.categories().map(|(_, name)| name.to_owned()).collect();
        let mut rows = vec![0; values.len()];
        for &code in coded.codes.iter().flatten() {
            // The code of a missing cell lies beyond those of all values.
            if let Some(n_rows) = rows.get_mut(code as usize) {
                *n_rows += 1;
            }
        }
        let n_rows = whole.runs.n_rows() as u64;
        let n_missing = n_rows - rows.iter().sum::<u64>();
        let (column, limit_bytes) = (column.clone(), job.limit_bytes());
        Ok(ColumnValues { column, column_type, values, rows, n_missing, n_rows, limit_bytes })
    }

    /// The hierarchy of a skeleton that is made like this.
    pub fn like(&self, like: &Like) -> Result<Hierarchy> {
        Ok(Hierarchy::build(&self.spec(like)?, &self.column, self.column_type, &self.values)?)
    }

    /// The hierarchy of a file.
    pub fn of_file(&self, file: &Path) -> Result<Hierarchy> {
        let rows = HierarchyRows::read_within(file, self.limit_bytes)?;
        let spec = HierarchySpec::Rows(rows.into());
        Ok(Hierarchy::build(&spec, &self.column, self.column_type, &self.values)?)
    }

    /// A skeleton, which will replace nothing unless the job says so.
    pub fn skeleton(&self, job: &Job, like: &Like, file: &Path) -> Result<Skeleton> {
        let place = files::check_rows_place(job, file, &[])?;
        if self.values.is_empty() {
            return Err(Error::usage(
                format!("column '{}' has no values", self.column),
                "there is nothing to write a hierarchy of",
            ));
        }
        let spec = self.spec(like)?;
        let hierarchy = Hierarchy::build(&spec, &self.column, self.column_type, &self.values)?;
        let (text, has_header) = skeleton::text(self, &hierarchy, &spec)?;
        let report = SkeletonReport {
            column: self.column.clone(),
            column_type: self.column_type.to_string(),
            like: if *like == Like::Groups { "groups".to_owned() } else { spec.to_string() },
            values: self.values.len() as u64,
            levels: hierarchy.height() as u64,
            header: has_header,
            file: file.to_owned(),
        };
        Ok(Skeleton { report, place, text })
    }

    /// What does not fit of a file.
    pub fn check(&self, file: &Path) -> Result<HierarchyCheck> {
        let rows = HierarchyRows::read_within(file, self.limit_bytes)?;
        let found = Hierarchy::inspect(&rows, &self.column, self.column_type, &self.values)?;
        let fits = found.values_without_line.is_empty() && found.problems.is_empty();
        let without = found.values_without_line.iter().map(|&at| self.rows[at]);
        Ok(HierarchyCheck {
            column: self.column.clone(),
            lines: found.n_lines,
            levels: found.n_levels.saturating_sub(1) as u64,
            values: found.n_values,
            values_without_line: found.values_without_line.len() as u64,
            rows_without_line: without.sum(),
            lines_without_value: found.lines_without_value,
            problems: found
                .problems
                .into_iter()
                .map(|(line, problem)| HierarchyProblem { line, problem })
                .collect(),
            fits: fits && found.n_lines > 0,
        })
    }

    /// The lines of a drawing of a hierarchy of the column.
    pub fn draw(&self, hierarchy: &Hierarchy) -> Vec<String> {
        draw::lines(self, hierarchy)
    }

    /// The number of distinct values.
    pub fn n_values(&self) -> u64 {
        self.values.len() as u64
    }

    fn spec(&self, like: &Like) -> Result<HierarchySpec> {
        skeleton::spec(like, self)
    }
}
