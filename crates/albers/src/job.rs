//! What is to be done, as a job file or as flags say it.

mod choices;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use albers_privacy::{Criterion, PrivacyError};
use albers_release::publish::Values;
use albers_storage::memory_budget;
use albers_table::hierarchy::HierarchySpec;
use albers_table::read::ReadOptions;
use albers_table::schema::{ColumnType, Role};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

pub use choices::{
    Categories, GranularityChoice, Method, MinimizeChoice, SearchVariant, SplitPolicy,
};

/// A job. Every field can stand in a job file; flags of the program override them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Job {
    /// The file that the job was read from, which must not be overwritten.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// The table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<PathBuf>,
    /// The release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// Rows (or subjects, where a column has that role) per class, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<u64>,
    /// How classes are found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// How cuts are chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitPolicy>,
    /// How a lattice is searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<SearchVariant>,
    /// What the best full-domain generalization has least of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimize: Option<MinimizeChoice>,
    /// The share of the rows that may be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress: Option<f64>,
    /// The time that a search may take, such as `30s`: the best found by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// How categories are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub categories: Option<Categories>,
    /// How intervals are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
    /// Whether classes show the bounds of their rows; otherwise their regions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compact: Option<bool>,
    /// Decides the order of classes and rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// More releases of the same index, coarser ones: the k of each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_k: Vec<u64>,
    /// How leaves of the index are brought together for these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granularity: Option<GranularityChoice>,
    /// The memory to work in, such as `256MB`; a quarter of the machine's when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Where temporary data goes that does not fit in memory; beside the release when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill_dir: Option<PathBuf>,
    /// Threads to work on; all cores when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// The character between the cells of a CSV file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
    /// Texts that stand for a missing value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What is known of each column, by name.
    pub columns: BTreeMap<String, ColumnJob>,
}

/// What is known of one column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ColumnJob {
    /// Its role; without one it is dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Its type; told from the file when not given.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub column_type: Option<ColumnType>,
    /// Its hierarchy: a file, or the name of a built-in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hierarchy: Option<String>,
    /// How much a loss on it counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The level of its hierarchy at which a full-domain release shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u16>,
    /// Whether it is cut before all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias: Option<bool>,
    /// `distinct:3`, `entropy:3` or `recursive:c,l`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l_diversity: Option<String>,
    /// The greatest distance of a class's distribution from the table's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_closeness: Option<f64>,
    /// The greatest share of one value in a class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// The least variance within a class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variance: Option<f64>,
}

impl Job {
    /// Reads a job file. Paths in it are relative to the file.
    pub fn from_file(path: &Path) -> Result<Job> {
        let text = std::fs::read_to_string(path).map_err(|source| {
            albers_storage::StorageError::Read { path: path.to_owned(), source }
        })?;
        let mut job: Job = toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map(|before| before.matches('\n').count() + 1);
            let place = line.map(|line| format!(", line {line}")).unwrap_or_default();
            Error::usage(
                format!("{}{place}: {}", path.display(), error.message()),
                "see 'albers init --help' for a job file with all its fields",
            )
        })?;
        job.file = Some(path.to_owned());
        let folder = path.parent().unwrap_or(Path::new(""));
        let rebase = |path: &mut PathBuf| *path = folder.join(&*path);
        job.input.iter_mut().for_each(rebase);
        job.output.iter_mut().for_each(rebase);
        job.spill_dir.iter_mut().for_each(rebase);
        for column in job.columns.values_mut() {
            if let Some(Ok(HierarchySpec::File(file))) =
                column.hierarchy.as_deref().map(str::parse::<HierarchySpec>)
            {
                column.hierarchy = Some(folder.join(file).to_string_lossy().into_owned());
            }
        }
        Ok(job)
    }

    /// The column's entry, made if there is none.
    pub fn column(&mut self, name: &str) -> &mut ColumnJob {
        self.columns.entry(name.to_owned()).or_default()
    }

    /// Gives a column a role; a second, different role is a contradiction.
    pub fn set_role(&mut self, name: &str, role: Role) -> Result<()> {
        let column = self.column(name);
        match column.role {
            Some(earlier) if earlier != role => Err(Error::usage(
                format!("column '{name}' is said to be both {earlier} and {role}"),
                "give each column one role",
            )),
            _ => {
                column.role = Some(role);
                Ok(())
            }
        }
    }

    /// The names of the columns with a role, in name order.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &str> {
        let columns = self.columns.iter();
        columns.filter(move |(_, job)| job.role == Some(role)).map(|(name, _)| name.as_str())
    }

    /// How classes are found; the best for the table when not said, a full-domain release when
    /// levels are.
    pub fn method(&self) -> Method {
        match self.method.unwrap_or_default() {
            Method::Auto if self.has_levels() => Method::Incognito,
            method => method,
        }
    }

    /// Whether the job says at which levels columns are shown.
    pub(crate) fn has_levels(&self) -> bool {
        self.columns.values().any(|column| column.level.is_some())
    }

    /// How many of so many rows may be left out.
    pub(crate) fn max_suppressed(&self, n_rows: usize) -> usize {
        // A share such as 0.07 of 100 rows is 7 rows, though the product is a little less.
        (self.suppress.unwrap_or(0.0) * n_rows as f64 * (1.0 + 1e-12)).floor() as usize
    }

    /// Whether the job asks for what only an index gives.
    pub(crate) fn is_indexed(&self) -> bool {
        self.method() == Method::Rtree || (self.method() == Method::Auto && !self.also_k.is_empty())
    }

    /// The memory to work in.
    pub fn memory_bytes(&self) -> Result<usize> {
        const UNKNOWN_MACHINE_BYTES: u64 = 4 << 30;
        const LEAST_BYTES: u64 = 64_000;
        let n_bytes = match &self.memory {
            None => memory_budget::machine_memory_bytes().unwrap_or(UNKNOWN_MACHINE_BYTES) / 4,
            Some(text) => memory_budget::parse_bytes(text).map_err(|problem| {
                Error::usage(format!("memory '{text}': {problem}"), "use for example 256MB or 2GB")
            })?,
        };
        if let (Some(text), true) = (&self.memory, n_bytes < LEAST_BYTES) {
            return Err(Error::usage(
                format!("memory '{text}' is less than the 64KB that any table needs"),
                "add the unit, for example 256MB",
            ));
        }
        Ok(usize::try_from(n_bytes).unwrap_or(usize::MAX))
    }

    /// How files are to be read.
    pub fn read_options(&self) -> Result<ReadOptions> {
        let delimiter = match self.delimiter {
            None => None,
            Some(delimiter) if delimiter.is_ascii() && !"\"\r\n".contains(delimiter) => {
                Some(delimiter as u8)
            }
            Some(_) => {
                return Err(Error::usage(
                    "the delimiter is not a single ASCII character",
                    "use one of , ; | or a tab",
                ));
            }
        };
        Ok(ReadOptions { delimiter, missing: self.missing.clone() })
    }
}

impl ColumnJob {
    /// The hierarchy, parsed.
    pub fn hierarchy_spec(&self, name: &str) -> Result<Option<HierarchySpec>> {
        let parse = |text: &String| {
            text.parse::<HierarchySpec>().map_err(|problem| {
                Error::usage(
                    format!("hierarchy of column '{name}': {problem}"),
                    "use a file, prefix, ranges:SIZES, dates or suppress",
                )
            })
        };
        self.hierarchy.as_ref().map(parse).transpose()
    }

    /// The requirements on this column, besides k-anonymity.
    pub fn criteria(&self, name: &str) -> Result<Vec<Criterion>> {
        let mut criteria = Vec::new();
        if let Some(text) = &self.l_diversity {
            let diversity = albers_privacy::parse_diversity(text);
            criteria.push(diversity.map_err(|error| about_column(name, error))?);
        }
        criteria.extend(self.t_closeness.map(|t| Criterion::TCloseness { t }));
        criteria.extend(self.alpha.map(|alpha| Criterion::AlphaK { alpha }));
        criteria.extend(self.variance.map(|minimum| Criterion::Variance { minimum }));
        for criterion in &criteria {
            criterion.check().map_err(|error| about_column(name, error))?;
        }
        Ok(criteria)
    }
}

/// The same error, with the column that it is about.
fn about_column(name: &str, error: PrivacyError) -> Error {
    match error {
        PrivacyError::Parameter { parameter, given, hint } => {
            Error::usage(format!("{parameter} of column '{name}' is {given}"), hint)
        }
        PrivacyError::Syntax { text, problem } => Error::usage(
            format!("l-diversity of column '{name}': '{text}' cannot be read: {problem}"),
            "use distinct:3, entropy:3 or recursive:2,3",
        ),
        other => other.into(),
    }
}
