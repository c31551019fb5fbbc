//! Words about settings that each face says in its own way.
//!
//! A message may have to name a setting of the job: the program calls it by its flag, a job file by
//! its field, a library by its own name. So messages keep settings apart from plain words.
//!
//! ```text
//!   wording!["drop ", Field::Suppress, ", or use ", Field::Method.of("incognito")]
//!     library    drop `suppress`, or use `method = incognito`
//!     program    drop --suppress, or use --method incognito
//! ```

use std::fmt;

/// A setting of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Field {
    /// Findings that do not stop a release.
    Accept,
    /// More releases of one build.
    AlsoK,
    /// Columns whose mean is asked for.
    Avg,
    /// Columns that are cut before all others.
    Bias,
    /// How categories are shown.
    Categories,
    /// Whether a codebook stands beside the release.
    Codebook,
    /// Whether classes show their bounds or their regions.
    Compact,
    /// How the dates of a column are written.
    DateFormat,
    /// What stands between the whole part of a number and the rest.
    Decimal,
    /// How likely a promise may be broken.
    Delta,
    /// The byte between cells.
    Delimiter,
    /// Where the drawing of merged leaves goes.
    Dendrogram,
    /// Whether classes must not overlap.
    Disjoint,
    /// How much is tried to lose less.
    Effort,
    /// How letters are stored as bytes.
    Encoding,
    /// How much likelier one person may make a release.
    Epsilon,
    /// Whether every cut is weighed on all rows.
    Exact,
    /// How a table is cut that does not fit in memory.
    External,
    /// Columns that are known beside the quasi-identifiers.
    Features,
    /// The lowest level of a column's hierarchy that may be shown.
    Finest,
    /// Whether rows are recoded for learning, and not as a release.
    ForLearning,
    /// Whether a file that is there may be replaced.
    Force,
    /// The format of what is read.
    From,
    /// How coarser releases come about.
    Granularity,
    /// The most children of a node.
    FanOut,
    /// The column whose values are answered one by one.
    GroupBy,
    /// Whether the first line of a text holds the names of its columns.
    Header,
    /// The hierarchy of a column.
    Hierarchy,
    /// What the table is read from.
    Input,
    /// Columns that are published as they are.
    Keep,
    /// The column that pairs the rows of two tables.
    Key,
    /// Rows per class.
    K,
    /// The memory from which on a release is the same.
    LeastMemory,
    /// The level at which a column is shown.
    Level,
    /// The column of a release that tells how deep the region of a class lies.
    LevelColumn,
    /// Where the manifest goes.
    Manifest,
    /// The memory to work in.
    Memory,
    /// How classes are found.
    Method,
    /// What the best generalization has least of.
    Minimize,
    /// Texts that stand for a missing value.
    Missing,
    /// Where the recoding function goes.
    Model,
    /// Whether the regions of classes may lie in each other.
    Nesting,
    /// Where the release goes.
    Output,
    /// What becomes of rows with values that a recoding function does not know.
    Outside,
    /// Where the owner's report goes.
    OwnerReport,
    /// Of which columns random queries ask.
    Predicates,
    /// Columns that identify people in combination.
    Quasi,
    /// How many random queries a release is asked.
    Queries,
    /// How the values of a column become cells.
    Scale,
    /// What decides the order of classes and rows.
    Seed,
    /// What a release will be asked for.
    Select,
    /// Columns that must not be linked to a person.
    Sensitive,
    /// The sheet of a workbook.
    Sheet,
    /// What generalizations are sorted by.
    Sort,
    /// Where temporary data goes.
    SpillDir,
    /// How cuts are chosen.
    Split,
    /// The column that tells persons apart.
    Subject,
    /// Columns whose values are added up.
    Sum,
    /// The share of the rows that may be left out.
    Suppress,
    /// Where a drawing goes.
    Svg,
    /// What a release is to tell.
    Target,
    /// How cuts are chosen where targets have no say.
    Then,
    /// Threads to work on.
    Threads,
    /// The time that a search may take.
    Time,
    /// The format of what is written.
    To,
    /// The type of a column.
    Type,
    /// How intervals are written.
    Values,
    /// How a lattice is searched.
    Variant,
    /// How much a loss on a column counts.
    Weight,
}

impl Field {
    /// The field of a job file, or of a request.
    pub fn name(self) -> &'static str {
        match self {
            Field::Accept => "accept",
            Field::AlsoK => "also-k",
            Field::Bias => "bias",
            Field::Categories => "categories",
            Field::Codebook => "codebook",
            Field::Compact => "compact",
            Field::DateFormat => "date-format",
            Field::Decimal => "decimal",
            Field::Delta => "delta",
            Field::Delimiter => "delimiter",
            Field::Dendrogram => "dendrogram",
            Field::Disjoint => "disjoint",
            Field::Effort => "effort",
            Field::Encoding => "encoding",
            Field::Epsilon => "epsilon",
            Field::Exact => "exact",
            Field::External => "external",
            Field::FanOut => "fan-out",
            Field::Features => "features",
            Field::Finest => "finest",
            Field::ForLearning => "for-learning",
            Field::Force => "force",
            Field::From => "from",
            Field::Granularity => "granularity",
            Field::GroupBy => "group-by",
            Field::Sum => "sum",
            Field::Avg => "avg",
            Field::Header => "header",
            Field::Hierarchy => "hierarchy",
            Field::Input => "input",
            Field::Keep => "keep",
            Field::Key => "key",
            Field::K => "k",
            Field::LeastMemory => "least-memory",
            Field::Level => "level",
            Field::LevelColumn => "level-column",
            Field::Manifest => "manifest",
            Field::Memory => "memory",
            Field::Method => "method",
            Field::Minimize => "minimize",
            Field::Missing => "missing",
            Field::Model => "model",
            Field::Nesting => "nesting",
            Field::Output => "output",
            Field::Outside => "outside",
            Field::OwnerReport => "owner-report",
            Field::Predicates => "predicates",
            Field::Quasi => "quasi",
            Field::Queries => "queries",
            Field::Scale => "scale",
            Field::Seed => "seed",
            Field::Select => "select",
            Field::Sensitive => "sensitive",
            Field::Sheet => "sheet",
            Field::Sort => "sort",
            Field::SpillDir => "spill-dir",
            Field::Split => "split",
            Field::Subject => "subject",
            Field::Suppress => "suppress",
            Field::Svg => "svg",
            Field::Target => "target",
            Field::Then => "then",
            Field::Threads => "threads",
            Field::Time => "time",
            Field::To => "to",
            Field::Type => "type",
            Field::Values => "values",
            Field::Variant => "variant",
            Field::Weight => "weight",
        }
    }

    /// The setting with a value.
    pub fn of(self, value: impl Into<String>) -> Setting {
        Setting { field: self, column: None, value: Some(value.into()) }
    }

    /// The setting of a column with a value.
    pub fn of_column(self, column: &str, value: impl Into<String>) -> Setting {
        Setting { field: self, column: Some(column.to_owned()), value: Some(value.into()) }
    }

    /// The setting that names a column: its role, for example.
    pub fn naming(self, column: &str) -> Setting {
        Setting { field: self, column: Some(column.to_owned()), value: None }
    }
}

/// A setting, perhaps of one column, perhaps with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Which setting.
    pub field: Field,
    /// The column that it is about.
    pub column: Option<String>,
    /// The value that it is to have.
    pub value: Option<String>,
}

/// A piece of a wording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Plain words.
    Words(String),
    /// A setting.
    Setting(Setting),
}

/// Words and settings. Shown by itself, it names settings as a job file does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wording {
    parts: Vec<Part>,
}

impl Wording {
    /// Of these parts.
    pub fn of_parts(parts: Vec<Part>) -> Wording {
        Wording { parts }
    }

    /// Goes on with other words.
    pub fn append(&mut self, other: Wording) {
        self.parts.extend(other.parts);
    }

    /// The settings that it names.
    pub fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.parts.iter().filter_map(|part| match part {
            Part::Words(_) => None,
            Part::Setting(setting) => Some(setting),
        })
    }

    /// The text, with settings named by a face.
    pub fn text(&self, name: &dyn Fn(&Setting) -> String) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Words(words) => words.clone(),
            Part::Setting(setting) => name(setting),
        });
        parts.collect()
    }
}

impl fmt::Display for Wording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&|setting: &Setting| setting.to_string()))
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.field.name();
        match (&self.column, &self.value) {
            (None, None) => write!(f, "`{name}`"),
            (None, Some(value)) => write!(f, "`{name} = {value}`"),
            (Some(column), None) => write!(f, "`{name}` for column '{column}'"),
            (Some(column), Some(value)) => write!(f, "`{name} = {value}` for column '{column}'"),
        }
    }
}

impl From<&str> for Part {
    fn from(words: &str) -> Part {
        Part::Words(words.to_owned())
    }
}

impl From<String> for Part {
    fn from(words: String) -> Part {
        Part::Words(words)
    }
}

impl From<Field> for Part {
    fn from(field: Field) -> Part {
        Part::Setting(Setting { field, column: None, value: None })
    }
}

impl From<Setting> for Part {
    fn from(setting: Setting) -> Part {
        Part::Setting(setting)
    }
}

impl<P: Into<Part>> From<P> for Wording {
    fn from(part: P) -> Wording {
        Wording { parts: vec![part.into()] }
    }
}

/// Words and settings in a row.
#[macro_export]
macro_rules! wording {
    ($($part:expr),* $(,)?) => {
        $crate::wording::Wording::of_parts(vec![$($crate::wording::Part::from($part)),*])
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wording_is_said_by_each_face_in_its_own_way() {
        let words = wording!["drop ", Field::Suppress, ", or use ", Field::Method.of("incognito")];
        assert_eq!(words.to_string(), "drop `suppress`, or use `method = incognito`");
        let flags = words.text(&|setting| {
            let value = setting.value.as_ref().map(|value| format!(" {value}"));
            format!("--{}{}", setting.field.name(), value.unwrap_or_default())
        });
        assert_eq!(flags, "drop --suppress, or use --method incognito");
        assert_eq!(words.settings().count(), 2);
    }
}
