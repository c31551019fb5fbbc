//! What is to be done, as a job file or as flags say it.
//!
//! Every field is typed: what is wrong in itself is refused when a job is read, what contradicts
//! another field or the table when it becomes a plan: no method looks at a job.

mod choices;
mod explain;
mod knobs;
mod values;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use albers_index::bang_file::scale::{ScaleFileError, ScaleSpec};
use albers_index::granularity::Granularity;
use albers_lattice::choose::Minimize;
use albers_partition::split::Policy;
use albers_release::publish::Values;
use albers_storage::StorageError;
use albers_storage::memory_budget;
use albers_storage::output::Purpose;
use albers_storage::wording;
use albers_table::TableError;
use albers_table::format::Format;
use albers_table::hierarchy::{Finest, HierarchySpec};
use albers_table::notation::{DateFormat, DecimalMark, TextEncoding};
use albers_table::schema::{ColumnType, Role};
use albers_table::source::{ReadOptions, Undecided};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::error::{Error, Result};
use crate::finding::Acceptance;

pub use choices::{Categories, Effort, External, Method, SearchVariant, Split, TargetKind};
pub use knobs::Knobs;
pub use values::{ByteSize, Diversity, TargetSpec, TimeLimit};
pub(crate) use values::{as_plain_text, as_text, as_texts, as_word};

/// What the column is called that tells how deep the region of a class lies, unless a job says so.
const LEVEL_COLUMN: &str = "level";

/// A job. Every field can stand in a job file; flags of the program override them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Job {
    /// The file that the job was read from, which must not be overwritten.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// Whether all is done but nothing written: a dry run, which only a flag asks for.
    #[serde(skip)]
    pub dry_run: bool,
    /// The table: a file, a folder of files, a pattern, or `-` for standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<PathBuf>,
    /// The format of the table; told by the ending of its name when not given.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_word")]
    #[schemars(schema_with = "as_word::schema::<Format>")]
    pub from: Option<Format>,
    /// The release: a file, or `-` for standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// The format of the release; told by the ending of its name when not given.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_word")]
    #[schemars(schema_with = "as_word::schema::<Format>")]
    pub to: Option<Format>,
    /// The manifest; beside the release when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<PathBuf>,
    /// Whether a codebook, which tells recipients how to read the release, stands beside it; it does
    /// when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codebook: Option<bool>,
    /// The owner's report, which is not for publication; not written when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_report: Option<PathBuf>,
    /// Whether files that are there already are replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// Rows (or subjects, where a column has that role) per class, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<u64>,
    /// Differential privacy of a grid: how much likelier one person may make a release, as a
    /// logarithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Differential privacy of a grid: how likely it may be that this does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// How classes are found.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_word")]
    #[schemars(schema_with = "as_word::schema::<Method>")]
    pub method: Option<Method>,
    /// How much `auto` tries to lose less; `balanced` when not given.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_word")]
    #[schemars(schema_with = "as_word::schema::<Effort>")]
    pub effort: Option<Effort>,
    /// Whether no two classes of `auto` may overlap as they are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disjoint: Option<bool>,
    /// How cuts are chosen.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_word")]
    #[schemars(schema_with = "as_word::schema::<Split>")]
    pub split: Option<Split>,
    /// How cuts are chosen where the targets of the workload have no say.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_word")]
    #[schemars(schema_with = "as_word::schema::<Policy>")]
    pub then: Option<Policy>,
    /// Whether every cut is weighed on all rows, also the first ones of a large table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<bool>,
    /// How a table is cut that need not fit in memory.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_word")]
    #[schemars(schema_with = "as_word::schema::<External>")]
    pub external: Option<External>,
    /// What experiments set that repeat a paper.
    #[serde(skip)]
    pub knobs: Knobs,
    /// What the release will be used for.
    #[serde(skip_serializing_if = "WorkloadJob::is_empty")]
    pub workload: WorkloadJob,
    /// How a lattice is searched.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_word")]
    #[schemars(schema_with = "as_word::schema::<SearchVariant>")]
    pub variant: Option<SearchVariant>,
    /// What the best full-domain generalization has least of, or what cuts are chosen by.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_word")]
    #[schemars(schema_with = "as_word::schema::<Minimize>")]
    pub minimize: Option<Minimize>,
    /// The share of the rows that may be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress: Option<f64>,
    /// The time that a search may take, such as `30s`: the best found by then.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub time: Option<TimeLimit>,
    /// How columns with a hierarchy are shown.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_word")]
    #[schemars(schema_with = "as_word::schema::<Categories>")]
    pub categories: Option<Categories>,
    /// How intervals are written.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_word")]
    #[schemars(schema_with = "as_word::schema::<Values>")]
    pub values: Option<Values>,
    /// Whether classes show the bounds of their rows; otherwise their regions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compact: Option<bool>,
    /// Whether the regions of a BANG file may lie in each other; they may when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nesting: Option<bool>,
    /// The column that tells how deep the region of a class lies in others; `level` when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level_column: Option<String>,
    /// Decides the order of classes and rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// More releases of the same index, coarser ones: the k of each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_k: Vec<u64>,
    /// How leaves of the index are brought together for these.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_word")]
    #[schemars(schema_with = "as_word::schema::<Granularity>")]
    pub granularity: Option<Granularity>,
    /// The most children of a node, where leaves are brought together by nodes; 4 when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fan_out: Option<u64>,
    /// A drawing of how they were merged, which is not for publication; not drawn when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dendrogram: Option<PathBuf>,
    /// The recoding function that other rows can be recoded by, which is not for publication; not
    /// written when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
    /// The memory to work in, such as `256MB`; a quarter of the machine's when not given.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub memory: Option<ByteSize>,
    /// The release is the same in any memory from this much on: the sizes of samples and of what is
    /// cut at once follow from it, `64MB` when not given.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub least_memory: Option<ByteSize>,
    /// Where temporary data goes that does not fit in memory; beside the release when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill_dir: Option<PathBuf>,
    /// Threads to work on; all cores when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// The character between the cells of a CSV file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
    /// Whether the first line of a CSV file holds the names of the columns; if it does not, they
    /// are called c1, c2 and so on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// The sheet of a workbook that holds the table; the only one that holds anything when not
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
    /// Texts that stand for a missing value; `age=99` for one of the column `age`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// How letters are stored in a text, such as `windows-1252`; told from its bytes when not given.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub encoding: Option<TextEncoding>,
    /// The decimal mark of all numbers of a text; told from all rows when not given.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_word")]
    #[schemars(schema_with = "as_word::schema::<DecimalMark>")]
    pub decimal: Option<DecimalMark>,
    /// Findings that do not stop the release, such as `unique-keep:note`.
    #[serde(skip_serializing_if = "Vec::is_empty", with = "as_texts")]
    #[schemars(with = "Vec<String>")]
    pub accept: Vec<Acceptance>,
    /// What is known of each column, by name.
    pub columns: BTreeMap<String, ColumnJob>,
}

/// What a release will be used for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkloadJob {
    /// Columns that classes should tell: `class`, `salary:number`, `class:class:2`.
    #[serde(skip_serializing_if = "Vec::is_empty", with = "as_texts")]
    #[schemars(with = "Vec<String>")]
    pub targets: Vec<TargetSpec>,
    /// Kept columns that will be known beside the quasi-identifiers when targets are predicted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// What the release will be asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub select: Vec<SelectSpec>,
}

/// Rows that a release will be asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SelectSpec {
    /// Which rows: `age >= 40 and sex = 'M'`.
    #[serde(rename = "where", with = "as_plain_text")]
    #[schemars(with = "String")]
    pub condition: Condition,
    /// How much a row that is returned in vain counts; 1 when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

impl WorkloadJob {
    /// Whether nothing is said of it.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty() && self.features.is_empty() && self.select.is_empty()
    }
}

/// What is known of one column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ColumnJob {
    /// Its role; without one it is dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "role_schema")]
    pub role: Option<Role>,
    /// Its type; told from the file when not given.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "type_schema")]
    pub column_type: Option<ColumnType>,
    /// How its dates are written in a text, such as `%d.%m.%Y`; told from all rows when not given.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub date_format: Option<DateFormat>,
    /// Texts that stand for a missing value in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Its hierarchy: a file, or the name of a built-in one.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub hierarchy: Option<HierarchySpec>,
    /// The lowest level of its hierarchy that may be shown: `1`, `year`, `3-characters`.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub finest: Option<Finest>,
    /// How much a loss on it counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The level of its hierarchy at which a full-domain release shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u16>,
    /// Whether it is cut before all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias: Option<bool>,
    /// How a BANG file, a grid, or a relative that halves regularly halves it: `equal`, `quantile`,
    /// `hierarchy` or a file of ranges.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub scale: Option<ScaleSpec>,
    /// `distinct:3`, `entropy:3` or `recursive:c,l`.
    #[serde(skip_serializing_if = "Option::is_none", with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub l_diversity: Option<Diversity>,
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

fn role_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let words = Role::ALL.map(Role::name);
    schemars::json_schema!({ "type": "string", "enum": words })
}

/// The text of a job file: what is longer than anybody writes is no job.
fn read_short(path: &Path) -> Result<String> {
    const LONGEST_BYTES: u64 = 4 << 20;
    // What a job says takes up to two hundred times its length in memory; its comments do not.
    const MOST_SAID_BYTES: usize = 256 << 10;
    let read_error = |source| StorageError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(read_error)?;
    file.take(LONGEST_BYTES + 1).read_to_end(&mut bytes).map_err(read_error)?;
    // Looked at before it is decoded: what is cut off may end within a letter.
    if bytes.len() as u64 > LONGEST_BYTES {
        return Err(Error::usage(
            format!("{} is longer than {} MB", path.display(), LONGEST_BYTES >> 20),
            "name a job file, as 'albers init' writes one",
        ));
    }
    let text = decoded(bytes, path)?;
    match said_bytes(&text) > MOST_SAID_BYTES {
        true => Err(Error::usage(
            format!(
                "{} has more than {} KiB besides comments",
                path.display(),
                MOST_SAID_BYTES >> 10
            ),
            "leave out what need not be said, such as columns without a role, or name columns by \
             flags",
        )),
        false => Ok(text),
    }
}

/// How long a job file is without its comments.
fn said_bytes(text: &str) -> usize {
    let of_line = |line: &str| match line.trim_start().starts_with('#') {
        // Its end stays.
        true => 1,
        false => line.len(),
    };
    text.split_inclusive('\n').map(of_line).sum()
}

fn type_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let words = ColumnType::ALL.map(ColumnType::name);
    schemars::json_schema!({ "type": "string", "enum": words })
}

impl Job {
    /// Reads a job file. Paths in it are relative to the file.
    pub fn from_file(path: &Path) -> Result<Job> {
        let text = read_short(path)?;
        let mut job: Job = toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map(|before| before.matches('\n').count() + 1);
            let place = line.map(|line| format!(", line {line}")).unwrap_or_default();
            Error::usage(
                format!("{}{place}: {}", path.display(), explain::problem(&text, &error)),
                "see 'albers init' for a job file with all its fields, and their schema",
            )
        })?;
        job.file = Some(path.to_owned());
        let folder = path.parent().unwrap_or(Path::new(""));
        let rebase = |path: &mut PathBuf| {
            // Standard input and output lie in no folder.
            if path.as_os_str() != "-" {
                *path = folder.join(&*path);
            }
        };
        job.input.iter_mut().for_each(rebase);
        job.output.iter_mut().for_each(rebase);
        job.manifest.iter_mut().for_each(rebase);
        job.owner_report.iter_mut().for_each(rebase);
        job.dendrogram.iter_mut().for_each(rebase);
        job.model.iter_mut().for_each(rebase);
        job.spill_dir.iter_mut().for_each(rebase);
        for column in job.columns.values_mut() {
            if let Some(HierarchySpec::File(file)) = &mut column.hierarchy {
                *file = folder.join(&*file);
            }
            if let Some(ScaleSpec::File(file)) = &mut column.scale {
                *file = folder.join(&*file);
            }
        }
        Ok(job)
    }

    /// The JSON schema of a job file.
    pub fn schema() -> String {
        let schema = Job::schema_value();
        serde_json::to_string_pretty(&schema).expect("a schema has only plain fields") + "\n"
    }

    fn schema_value() -> serde_json::Value {
        schemars::schema_for!(Job).to_value()
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
        let has_levels = self.columns.values().any(|column| column.level.is_some());
        match self.method.unwrap_or_default() {
            Method::Auto if has_levels => Method::Incognito,
            method => method,
        }
    }

    /// The column that tells how deep the region of a class lies in others, where classes may be
    /// nested.
    pub fn level_column(&self) -> Option<&str> {
        let is_plain = self.granularity.is_some_and(|own| !own.needs_nesting());
        let may_nest = self.method.is_some_and(Method::may_nest);
        let is_nested = may_nest && self.nesting != Some(false) && !is_plain;
        self.level_column.as_deref().or(is_nested.then_some(LEVEL_COLUMN))
    }

    /// What becomes of the files that it writes.
    pub(crate) fn purpose(&self) -> Purpose {
        if self.dry_run { Purpose::Rehearse } else { Purpose::Appear }
    }

    /// What it may take of memory.
    pub fn limit_bytes(&self) -> u64 {
        self.memory.map_or_else(memory_budget::default_bytes, |memory| memory.0)
    }

    /// How tables are to be read.
    pub fn read_options(&self) -> Result<ReadOptions> {
        let delimiter = match self.delimiter {
            None => None,
            Some(delimiter) if delimiter.is_ascii() && !"\"\r\n".contains(delimiter) => {
                Some(delimiter as u8)
            }
            Some(_) => {
                return Err(Error::usage(
                    wording!["the delimiter is not a single ASCII character"],
                    "use one of , ; | or a tab",
                ));
            }
        };
        // Whether the first line is one of names must not depend on rows that a promise is about.
        let header = self.header.or(self.epsilon.map(|_| true));
        let of_columns = || self.columns.iter();
        let formats =
            of_columns().filter_map(|(name, own)| Some((name.clone(), own.date_format.clone()?)));
        let missing_in = of_columns()
            .flat_map(|(name, own)| own.missing.iter().map(|text| (name.clone(), text.clone())));
        Ok(ReadOptions {
            delimiter,
            missing: self.missing.clone(),
            header,
            encoding: self.encoding,
            decimal: self.decimal,
            date_formats: formats.collect(),
            missing_in: missing_in.collect(),
            undecided: Undecided::Refused,
            // Nor may how numbers and dates are written.
            is_fixed: self.epsilon.is_some(),
            numbers_are_plain: false,
            sheet: self.sheet.clone(),
            limit_bytes: Some(self.limit_bytes()),
            n_threads: self.threads,
            folder: None,
        })
    }

    /// The job with the files of its hierarchies and scales read, so that nothing below it needs a
    /// path.
    pub(crate) fn with_hierarchies(&self) -> Result<Job> {
        let mut job = self.clone();
        let limit_bytes = self.limit_bytes();
        for (name, column) in &mut job.columns {
            if let Some(spec) = &mut column.hierarchy {
                spec.read_file_within(limit_bytes).map_err(|error| match error {
                    TableError::Storage(error @ StorageError::OverBudget { .. }) => error.into(),
                    error => Error::usage(
                        format!("hierarchy of column '{name}': {error}"),
                        "or use prefix, ranges:5,10,20, dates or suppress, which need no file",
                    ),
                })?;
            }
            if let Some(spec) = &mut column.scale {
                spec.read_file_within(limit_bytes).map_err(|error| match error {
                    ScaleFileError::Storage(error @ StorageError::OverBudget { .. }) => {
                        error.into()
                    }
                    error => Error::usage(
                        format!("scale of column '{name}': {error}"),
                        "or use equal, quantile or hierarchy, which need no file",
                    ),
                })?;
            }
        }
        Ok(job)
    }
}

/// Bytes of a file as text.
pub(crate) fn decoded(bytes: Vec<u8>, path: &Path) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| {
        Error::usage(format!("{} is not UTF-8", path.display()), "save it as UTF-8, or name a text")
    })
}
