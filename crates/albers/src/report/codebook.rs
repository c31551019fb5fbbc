//! The page for recipients: what stands in a release, and how it is read.
//!
//! ```text
//!   OUT                  the release
//!   OUT.codebook.md      for people: columns, promises, recipes
//!   OUT.codebook.json    for programs: the same columns
//!   OUT.manifest.json    figures
//! ```
//!
//! - `told`: what the published cells look like, told as they are written.
//! - `cells`: the notation of cells, as far as it is needed to see that.
//! - `sentences`: how columns are read, in words.
//! - `page`: the text for people.
//! - `recipes` (`pandas`, `r`, `duckdb`, `spreadsheet`): how tools read this very release.
//!
//! Guarantee: a codebook is a function of the release file, the job and the files of its
//! hierarchies. What a column holds is told by its published cells, never by the table, so that rows
//! that are left out, and values that nobody published, have no say.
//! Cost: a look at each published cell that differs from the one before it.

mod cells;
mod page;
mod recipes;
mod sentences;
mod told;

use std::io;

use albers_table::schema::ColumnType;
use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

pub(crate) use sentences::reads;
pub(crate) use told::{Example, Told, ToldCells, ToldSink};

/// The version of the form.
pub(crate) const CODEBOOK: u32 = 1;

/// The codebook of a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Codebook {
    /// The version of this form.
    pub codebook: u32,
    /// The name of the release's file, without folders.
    pub release: String,
    /// The SHA-256 of the release's bytes, as in the manifest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub digest: Option<String>,
    /// `csv`, `tsv`, `jsonl` or `parquet`.
    pub format: String,
    /// The character between cells, of text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delimiter: Option<String>,
    /// What is published, in the order of the release.
    pub columns: Vec<CodebookColumn>,
    /// Columns that the job names and that are not published.
    pub dropped: Vec<String>,
    /// What is promised of the release.
    pub promised: Vec<String>,
    /// What is not.
    pub not_promised: Vec<String>,
    /// The program's version.
    pub version: String,
}

/// A column of the table as a release shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CodebookColumn {
    /// Its name.
    pub name: String,
    /// Its role; `level` for the column that tells how deep the regions of classes lie.
    pub role: String,
    /// `interval`, `set`, `label`, `places`, `depth` or `as is`.
    pub shown: String,
    /// The columns of the file that show it.
    #[serde(rename = "in")]
    pub shown_in: Vec<String>,
    /// The column of the file that has the means of its classes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean: Option<String>,
    /// What its values are, as far as that is told.
    #[serde(rename = "type")]
    pub column_type: String,
    /// What tells the type: `job`, or the published `cells`. Between ends that are whole numbers there
    /// may be others then.
    pub type_from: String,
    /// Of quasi-identifiers: whether the ends of intervals and the members of sets are `values` of the
    /// class's rows, or those of its `regions`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ends: Option<String>,
    /// Whether some cell shows a missing value.
    pub missing: bool,
    /// The hierarchy that labels or places are of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hierarchy: Option<CodebookHierarchy>,
    /// How its cells are read, in words.
    pub reads: String,
}

/// The hierarchy of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum CodebookHierarchy {
    /// That of a file.
    File {
        /// Its rows, from specific to general, each leaf once and in the order of the leaves' places.
        rows: Vec<Vec<String>>,
    },
    /// Characters are stripped from the right.
    Prefix,
    /// Nested intervals.
    Ranges {
        /// As the job says it: `ranges:5,10,20`.
        spec: String,
    },
    /// Stretches of the calendar.
    Dates {
        /// As the job says it, where it chose levels: `dates:month,year`. Otherwise they are month,
        /// quarter and year, above the days of times.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spec: Option<String>,
    },
    /// The value or `*`.
    Suppress,
}

impl Codebook {
    /// The codebook for programs, as it stands beside its release.
    pub fn text(&self) -> String {
        let mut bytes = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut bytes, Shallow::default());
        self.serialize(&mut serializer).expect("a codebook has only plain fields");
        String::from_utf8(bytes).expect("JSON is UTF-8") + "\n"
    }

    /// The codebook for people. Recipes show what they do on an example of each column, in the order
    /// of the columns.
    pub(crate) fn page(&self, examples: &[Option<Example>]) -> String {
        page::text(self, examples)
    }
}

impl CodebookColumn {
    /// Whether cells are intervals in one column of text.
    fn is_interval_text(&self) -> bool {
        let has_ranges = matches!(self.hierarchy, Some(CodebookHierarchy::Ranges { .. }));
        self.shown_in.len() == 1
            && (self.shown == "interval" || (self.shown == "label" && has_ranges))
    }

    /// Whether cells are a least and a greatest value in two columns.
    fn is_by_bounds(&self) -> bool {
        self.shown_in.len() > 1
    }

    /// Whether its values are numbers.
    fn is_number(&self) -> bool {
        let numbers = [ColumnType::Integer, ColumnType::Decimal, ColumnType::Float];
        numbers.iter().any(|own| own.name() == self.column_type) || self.shown == "places"
    }

    /// Whether its values are days or points in time.
    fn is_time(&self) -> bool {
        let times = [ColumnType::Date, ColumnType::Timestamp];
        self.shown != "places" && times.iter().any(|own| own.name() == self.column_type)
    }
}

/// JSON of one line for each field of a column, however long its rows are.
#[derive(Default)]
struct Shallow {
    pretty: PrettyFormatter<'static>,
    depth: usize,
}

impl Shallow {
    /// Columns are listed line by line, and their fields are.
    const DEPTH: usize = 3;

    fn is_deep(&self) -> bool {
        self.depth > Shallow::DEPTH
    }
}

impl Formatter for Shallow {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.is_deep() { writer.write_all(b"[") } else { self.pretty.begin_array(writer) }
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let is_deep = self.is_deep();
        self.depth -= 1;
        if is_deep { writer.write_all(b"]") } else { self.pretty.end_array(writer) }
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        is_first: bool,
    ) -> io::Result<()> {
        match self.is_deep() {
            true if is_first => Ok(()),
            true => writer.write_all(b", "),
            false => self.pretty.begin_array_value(writer, is_first),
        }
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.is_deep() { Ok(()) } else { self.pretty.end_array_value(writer) }
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.is_deep() { writer.write_all(b"{") } else { self.pretty.begin_object(writer) }
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let is_deep = self.is_deep();
        self.depth -= 1;
        if is_deep { writer.write_all(b"}") } else { self.pretty.end_object(writer) }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        is_first: bool,
    ) -> io::Result<()> {
        match self.is_deep() {
            true if is_first => Ok(()),
            true => writer.write_all(b", "),
            false => self.pretty.begin_object_key(writer, is_first),
        }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.is_deep() { Ok(()) } else { self.pretty.end_object_value(writer) }
    }
}
