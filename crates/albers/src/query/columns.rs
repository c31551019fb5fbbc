//! The columns of a release: what stands beside it says what they show, or whoever asks does.

use std::sync::Arc;

use albers_storage::wording;
use albers_storage::wording::Field;
use albers_table::hierarchy::{HierarchyRows, HierarchySpec};
use albers_table::schema::{ColumnType, Role};
use albers_table::source::Source;

use super::ReleaseBeside;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::plan::{BOUND_ENDINGS, MEAN_ENDING};
use crate::report::{Codebook, CodebookHierarchy, LEVEL};

/// A column of a release, as conditions name it.
#[derive(Debug, Clone)]
pub(super) struct ReleaseColumn {
    /// What it is called.
    pub(super) name: String,
    /// What it is to its rows.
    pub(super) kind: ColumnKind,
    /// The columns of the file that show it: one, or two bounds and perhaps one for missing values.
    pub(super) shown_in: Vec<String>,
    /// The column of the file that shows the mean of each class.
    pub(super) mean: Option<String>,
    /// `interval`, `set`, `label`, `places` or `as is`, where a manifest says so.
    pub(super) shown: Option<String>,
    /// What labels are of, where it is known.
    pub(super) hierarchy: Option<HierarchySpec>,
    /// What its values are, where it is known.
    pub(super) column_type: Option<ColumnType>,
    /// Whether all values are of that type, and not only those that are shown.
    pub(super) is_type_sure: bool,
    /// Whether ends of intervals and members of sets are values of rows.
    pub(super) ends_are_values: bool,
}

/// What a column of a release is to its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    /// It is shown by what a class shows.
    Quasi,
    /// It leaves as it came.
    Carried,
    /// It tells how deep classes lie in each other.
    Level,
}

/// The columns of a release.
#[derive(Debug)]
pub(super) struct ReleaseColumns {
    /// All that something is known of.
    pub(super) columns: Vec<ReleaseColumn>,
    /// Whether a manifest says what they are.
    pub(super) is_ours: bool,
}

impl ReleaseColumns {
    /// The columns of a release, as its manifest and its codebook tell, or else a job.
    pub(super) fn of(
        job: &Job,
        release: &dyn Source,
        beside: &ReleaseBeside<'_>,
    ) -> Result<ReleaseColumns> {
        let mut columns = match (beside.manifest, beside.codebook) {
            (Some(manifest), _) => {
                let told = manifest.columns.iter().map(|own| ToldColumn {
                    name: &own.name,
                    role: &own.role,
                    shown: &own.shown,
                    has_mean: own.statistics.iter().any(|own| own == "mean"),
                    hierarchy: own.hierarchy.as_deref(),
                });
                told_beside(job, release, told)?
            }
            (None, Some(codebook)) => {
                let told = codebook.columns.iter().map(|own| ToldColumn {
                    name: &own.name,
                    role: &own.role,
                    shown: &own.shown,
                    has_mean: own.mean.is_some(),
                    hierarchy: own.hierarchy.as_ref().map(name_of),
                });
                told_beside(job, release, told)?
            }
            (None, None) => told_by_job(job, release)?,
        };
        let is_known = |name: &&String| columns.iter().any(|own| own.name == **name);
        if let Some(name) = job.columns.keys().find(|name| !is_known(name)) {
            return Err(unknown_column(release, name));
        }
        for column in &mut columns {
            let given = job.columns.get(&column.name);
            if let Some(codebook) = beside.codebook {
                explain(column, codebook);
            }
            // Whoever asks may know better.
            if let Some(own) = given.and_then(|own| own.hierarchy.clone()) {
                column.hierarchy = Some(own);
            }
            if let Some(own) = given.and_then(|own| own.column_type) {
                (column.column_type, column.is_type_sure) = (Some(own), true);
            }
        }
        Ok(ReleaseColumns {
            columns,
            is_ours: beside.manifest.is_some() || beside.codebook.is_some(),
        })
    }

    /// The column of a name.
    pub(super) fn named(&self, name: &str) -> Option<&ReleaseColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The columns of a kind.
    pub(super) fn of_kind(&self, kind: ColumnKind) -> impl Iterator<Item = &ReleaseColumn> {
        self.columns.iter().filter(move |column| column.kind == kind)
    }
}

/// What a codebook says of a column.
fn explain(column: &mut ReleaseColumn, codebook: &Codebook) {
    let Some(own) = codebook.columns.iter().find(|own| own.name == column.name) else { return };
    column.column_type = own.column_type.parse().ok();
    column.is_type_sure = own.type_from == "job";
    column.ends_are_values = own.ends.as_deref() == Some("values");
    if let Some(CodebookHierarchy::File { rows }) = &own.hierarchy {
        column.hierarchy = Some(rows_of(&column.name, rows));
    }
}

/// The rows of a hierarchy as a file has them.
fn rows_of(column: &str, rows: &[Vec<String>]) -> HierarchySpec {
    let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
    let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",");
    let text = rows.iter().map(line).collect::<Vec<_>>().join("\n");
    let origin = format!("the hierarchy of '{column}' in the codebook");
    HierarchySpec::Rows(Arc::new(HierarchyRows::of_text(&origin, &text)))
}

/// What a manifest calls a hierarchy.
fn name_of(hierarchy: &CodebookHierarchy) -> &str {
    match hierarchy {
        CodebookHierarchy::File { .. } => "file",
        CodebookHierarchy::Prefix => "prefix",
        CodebookHierarchy::Ranges { spec } => spec,
        CodebookHierarchy::Dates { spec } => spec.as_deref().unwrap_or("dates"),
        CodebookHierarchy::Suppress => "suppress",
    }
}

/// A column as a manifest or a codebook tells of it.
struct ToldColumn<'a> {
    name: &'a str,
    role: &'a str,
    shown: &'a str,
    has_mean: bool,
    hierarchy: Option<&'a str>,
}

fn told_beside<'a>(
    job: &Job,
    release: &dyn Source,
    told: impl Iterator<Item = ToldColumn<'a>>,
) -> Result<Vec<ReleaseColumn>> {
    if job.columns.values().any(|own| own.role.is_some()) || job.level_column.is_some() {
        return Err(Error::usage(
            "what the columns of this release are stands in the manifest or the codebook beside it",
            wording!["drop ", Field::Quasi, ", ", Field::Keep, " and ", Field::LevelColumn],
        ));
    }
    let columns = told.map(|told| {
        let kind = match told.role {
            "quasi" => ColumnKind::Quasi,
            role if role == LEVEL.0 => ColumnKind::Level,
            _ => ColumnKind::Carried,
        };
        let shown_in = shown_in(release, told.name, kind).ok_or_else(|| {
            let what = if kind == ColumnKind::Level {
                "the levels of its classes"
            } else {
                "one of its columns"
            };
            Error::usage(
                format!(
                    "{} has no column '{}': what stands beside it names it for {what}",
                    release.name(),
                    told.name
                ),
                "the file was changed after it was released, or stands beside those of another",
            )
        })?;
        let mean = format!("{}{MEAN_ENDING}", told.name);
        let built_in = told.hierarchy.filter(|own| *own != "file");
        Ok(ReleaseColumn {
            name: told.name.to_owned(),
            kind,
            shown_in,
            mean: Some(mean).filter(|mean| told.has_mean && has(release, mean)),
            shown: Some(told.shown.to_owned()),
            hierarchy: built_in.and_then(|own| own.parse().ok()),
            column_type: None,
            is_type_sure: false,
            ends_are_values: false,
        })
    });
    columns.collect()
}

fn told_by_job(job: &Job, release: &dyn Source) -> Result<Vec<ReleaseColumn>> {
    let mut named: Vec<(String, ColumnKind)> = Vec::new();
    for (name, own) in &job.columns {
        let kind = match own.role {
            Some(Role::Quasi) => ColumnKind::Quasi,
            Some(Role::Sensitive | Role::Keep) => ColumnKind::Carried,
            _ => continue,
        };
        named.push((name.clone(), kind));
    }
    named.extend(job.level_column.clone().map(|name| (name, ColumnKind::Level)));
    let columns = named.into_iter().map(|(name, kind)| {
        let shown_in = shown_in(release, &name, kind);
        let shown_in = match shown_in {
            Some(shown_in) => shown_in,
            None => return Err(unknown_column(release, &name)),
        };
        let mean = format!("{name}{MEAN_ENDING}");
        Ok(ReleaseColumn {
            kind,
            shown_in,
            mean: Some(mean).filter(|mean| kind == ColumnKind::Quasi && has(release, mean)),
            shown: None,
            hierarchy: None,
            column_type: None,
            is_type_sure: false,
            ends_are_values: false,
            name,
        })
    });
    columns.collect()
}

fn unknown_column(release: &dyn Source, name: &str) -> Error {
    match albers_table::source::place_of(release.name(), release.columns(), name) {
        Err(error) => error.into(),
        Ok(_) => Error::usage(
            format!("nothing tells what column '{name}' of {} shows", release.name()),
            wording!["say it with ", Field::Quasi, " or ", Field::Keep],
        ),
    }
}

fn has(release: &dyn Source, name: &str) -> bool {
    release.columns().iter().any(|own| own.name == name)
}

/// The columns of the file that show one: that of its name, or two bounds.
fn shown_in(release: &dyn Source, name: &str, kind: ColumnKind) -> Option<Vec<String>> {
    if has(release, name) {
        return Some(vec![name.to_owned()]);
    }
    let [min, max, missing] = BOUND_ENDINGS.map(|ending| format!("{name}{ending}"));
    let are_bounds = kind == ColumnKind::Quasi && has(release, &min) && has(release, &max);
    are_bounds.then(|| {
        let missing = Some(missing).filter(|name| has(release, name));
        [min, max].into_iter().chain(missing).collect()
    })
}
